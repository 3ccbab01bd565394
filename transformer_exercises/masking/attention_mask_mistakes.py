"""Wrong and right answers to `attention_mask`. The reference (06-masking):

def attention_mask(lengths, max_len):
    future = causal_mask(max_len, device=lengths.device)  # (T, T)
    padding = padding_mask(lengths, max_len)  # (B, T), about keys
    return future | padding[:, None, None, :]  # (B, 1, T, T)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

EITHER = "future | padding[:, None, None, :]"

# Right answers in other styles


class positions_only(RightAnswer):
    edits = {
        "future = causal_mask": "pos = torch.arange",
        "padding = padding_mask(lengths, max_len)": "query, key = pos.view(1, 1, -1, 1), pos.view(1, 1, 1, -1)",
        EITHER: "(key > query) | (key >= lengths.view(-1, 1, 1, 1))",
    }


class allowed_inverted(RightAnswer):
    code = """
    past = torch.ones(max_len, max_len, device=lengths.device).tril().bool(); real = ~padding_mask(lengths, max_len)
    allowed = torch.logical_and(past.unsqueeze(0).unsqueeze(0), real.unsqueeze(1).unsqueeze(2))
    return torch.logical_not(allowed)
    """


class stacked(RightAnswer):
    code = """
    base = causal_mask(max_len, lengths.device)
    return torch.stack([base | row for row in padding_mask(lengths, max_len)]).unsqueeze(1)
    """


# Mistakes


class and_(Misconception):
    """The two masks are joined with *and*: a key is blocked if it is in the future *or* is padding (`|`)."""

    edits = {"future |": "future &"}


class exclusive_or(Misconception):
    """The two masks are joined with `^` or `!=`, which opens a key that is in the future *and* padding: use `|`."""

    edits = {"future |": "future ^"}


class padding_on_queries(Misconception):
    """Padded queries are blocked: padding is about keys, padding[:, None, None, :]."""

    edits = {"None, :": ":, None"}


class left_padding(Misconception):
    """The padding is marked on the left: the real tokens come first here."""

    edits = {"padding_mask(lengths, max_len)": "padding_mask(lengths, max_len).flip(1)"}


class no_head_dimension(Minor):
    """The dimension for the heads is missing: (B, 1, T, T) is asked for."""

    edits = {"None, :": ":"}


class head_dimension_first(Minor):
    """The dimension of size 1 stands in the wrong place: (B, 1, T, T) is asked for."""

    edits = {
        EITHER: [f"(future | padding[:, None, :]){part}" for part in ("[None]", ".unsqueeze(2)", ".unsqueeze(-1)")]
    }


class inverted_numbers(shared_mistakes.inverted_numbers):
    edits = {EITHER: [f"(~({EITHER})).float()", f"(~({EITHER})).int()"]}


class several_heads(Minor):
    """The dimension for the heads has another size than 1: (B, 1, T, T) broadcasts over any number."""

    edits = {EITHER: [f"({EITHER}).expand(-1, 8, -1, -1)", f"({EITHER}).expand(-1, len(lengths), -1, -1)"]}


class empty_rows_reopened(Misconception):
    """Rows that are fully blocked are opened again: the mask says what is blocked, nothing else."""

    edits = {"return": "mask =", ":]  #": ":]\nreturn mask & ~mask.all(dim=-1, keepdim=True)  #"}


class reopened(Misconception):
    """The diagonal, or the rows of padded queries, are opened again: no query gets special treatment."""

    edits = {
        "return": "mask =",
        ":]  #": [
            ":]\nreturn mask & ~torch.eye(max_len, dtype=torch.bool, device=lengths.device)  #",
            ":]\nreturn mask & ~padding[:, None, :, None]  #",
        ],
    }


class python_or(Fundamental, shared_mistakes.python_or):
    edits = {"future |": "future or"}


class pair_returned(Misconception):
    """The two masks are returned one by one: join them with `|` into one."""

    edits = {EITHER: "future, padding"}


class padding_only(Misconception):
    """Only padding is blocked; the future is missing."""

    edits = {"causal_mask(max_len,": "torch.zeros(max_len, max_len, dtype=torch.bool,"}


class padding_not_expanded(Misconception):
    """All queries share one row, (B, 1, 1, T), without the future: each needs its own, (B, 1, T, T)."""

    edits = {"future | padding": "padding"}


class causal_only(Misconception):
    """Only the future is blocked: padded keys are blocked for every query, also for padded ones."""

    edits = {"padding_mask(lengths, max_len)": "torch.zeros_like(padding_mask(lengths, max_len))"}


class inverted(Misconception):
    """True and False are swapped: here True = blocked."""

    edits = {EITHER: f"~({EITHER})"}


class one_inverted(Misconception):
    """One of the two masks is inverted before they are joined: True = blocked in both."""

    variants = [{"future |": "~future |"}, {"future | padding": "future | ~padding"}]


class transposed(Misconception):
    """The causal part is transposed: the past is blocked instead of the future."""

    edits = {"future |": "future.T |"}


class all_transposed(Misconception):
    """Rows and columns are exchanged: the mask's rows are queries, its columns are keys."""

    edits = {EITHER: f"({EITHER}).transpose(-2, -1)"}


class diagonal_blocked(Minor):
    """The diagonal is blocked too: a token may look at itself."""

    edits = {"[:, None, None, :]": "[:, None, None, :] | torch.eye(max_len, dtype=torch.bool, device=lengths.device)"}


class one_step_ahead(Minor):
    """Each token may still see the next one: True begins right above the diagonal."""

    edits = {"future |": "future.triu(2) |"}


class padding_off_by_one(Minor):
    """The padding is off by one: the first padded key is left open, or the last real token is blocked."""

    edits = {
        "padding_mask(lengths, max_len)": ["padding_mask(lengths + 1, max_len)", "padding_mask(lengths - 1, max_len)"]
    }


class longest(Minor):
    """The mask is as large as the longest sequence of the batch instead of max_len."""

    edits = {"future =": "max_len = int(lengths.max())\nfuture ="}


class first_sequence(Misconception):
    """All sequences get the mask of one, the first or the last (is it overwritten in the loop?): each has its own."""

    edits = {
        EITHER: [
            "(future | padding[:1, None, None, :]).expand(len(lengths), 1, max_len, max_len)",
            "(future | padding[-1:, None, None, :]).expand(len(lengths), 1, max_len, max_len)",
            "(future | padding[-1:, None, None, :])",
        ]
    }


class batch_paired_with_rows(Misconception):
    """Sequences are paired with queries: give padding its dimensions, padding[:, None, None, :]."""

    edits = {
        EITHER: [
            "(future | padding)[:, None]",
            "(future | padding)[None, None]",
            "(future | padding).expand(len(lengths), 1, max_len, max_len)",
            "future | padding",
        ]
    }


class floats(Minor):
    """The mask is not boolean: a tensor of dtype torch.bool is asked for."""

    edits = {EITHER: [f"({EITHER}){cast}()" for cast in (".float", ".long", ".int", ".byte")]}


class added(Minor):
    """The two masks are added as numbers, which gives 0, 1 and 2: join booleans with `|`."""

    edits = {
        EITHER: [
            "future.int() + padding[:, None, None, :].int()",
            "future.float() + padding[:, None, None, :].float()",
            "future.long() + padding[:, None, None, :].long()",
        ]
    }


class infinities(shared_mistakes.infinities):
    edits = {"return": "mask =", ":]  #": ":]\nreturn torch.zeros(mask.shape).masked_fill(mask, float('-inf'))  #"}


class squeezed(common_mistakes.squeezed):
    edits = {EITHER: f"({EITHER}).squeeze(0)"}


class device_dropped(shared_mistakes.device_dropped):
    edits = {", device=lengths.device": ""}


class rounded(Fundamental, common_mistakes.rounded):
    pass
