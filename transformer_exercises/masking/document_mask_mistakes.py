"""Wrong and right answers to `document_mask`. The reference (06-masking-further):

def document_mask(document_ids):
    same = document_ids[..., :, None] == document_ids[..., None, :]  # (..., T, T)
    T = document_ids.shape[-1]
    future = torch.ones(T, T, dtype=torch.bool, device=document_ids.device).triu(1)  # (T, T)
    return future | ~same
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class positions(RightAnswer):
    code = """
    ids = document_ids; t = torch.arange(ids.size(-1), device=ids.device)
    return (t[None, :] > t[:, None]) | (ids.unsqueeze(-1) != ids.unsqueeze(-2))
    """


class triangle_of_the_open_ones(RightAnswer):
    code = "seen = (document_ids.unsqueeze(-1) == document_ids.unsqueeze(-2)).tril(); return torch.logical_not(seen)"


class loops(RightAnswer):
    code = """
    T = document_ids.shape[-1]; mask = torch.ones(*document_ids.shape, T, dtype=torch.bool, device=document_ids.device)
    for t in range(T):
        for s in range(t + 1): mask[..., t, s] = document_ids[..., t] != document_ids[..., s]
    return mask
    """


# Mistakes


class future_open(Misconception):
    """The future is open: it must be blocked, too, also within a document."""

    edits = {"= torch.ones(": "= torch.zeros("}


class causal_only(Fundamental):
    """Only the future is blocked: earlier documents must be blocked, too."""

    edits = {"future | ~same": ["future.expand(same.shape)", "future"]}


class and_(Misconception):
    """The two rules are joined with *and*: a key is blocked if it is in the future *or* of another document (`|`)."""

    edits = {"future |": "future &"}


class same_blocked(Misconception):
    """The token's own document is blocked and the others are open: it is the other way round."""

    edits = {"~same": "same"}


class inverted(Misconception):
    """True and False are swapped: here True = blocked."""

    edits = {"future | ~same": "~(future | ~same)"}


class one_inverted(Misconception):
    """The causal rule is inverted before the two are joined: True = blocked in both."""

    edits = {"future |": "~future |"}


class past_blocked(Misconception):
    """The past is blocked instead of the future: rows are queries, columns are keys."""

    edits = {"future | ~same": "(future | ~same).transpose(-2, -1)"}


class diagonal_blocked(Minor):
    """The diagonal is blocked too: a token always sees itself."""

    edits = {"future |": "torch.ones_like(future).triu() |"}


class one_step_ahead(Minor):
    """Each token may see the next one: the future begins right after the token itself."""

    edits = {"future |": "future.triu(2) |"}


class runs_only(Misconception):
    """A document is taken to end where the id changes: equal ids are one document, also after an interruption."""

    edits = {
        "same =": """
            changed = document_ids[..., 1:] != document_ids[..., :-1]
            start = torch.zeros_like(document_ids[..., :1])
            document_ids = torch.cat([start, changed.long().cumsum(-1)], dim=-1)
            same =
        """
    }


class sorted_first(Misconception):
    """The ids are sorted first, which moves tokens to other places: they need not be sorted."""

    edits = {"same =": "document_ids = document_ids.sort(dim=-1).values\nsame ="}


class later_documents_open(Misconception):
    """Documents with a larger, or with a smaller, id stay open: only keys with an *equal* id are (`==`, not `<=` or
    `>=`).
    """

    edits = {"==": ["<=", ">="]}


class zero_is_padding(Misconception):
    """The id 0 or a negative id is treated as padding: no id is special."""

    edits = {
        "~same": [
            "~same | (document_ids == 0)[..., None, :]",
            "~same | (document_ids < 0)[..., None, :]",
            "~same | (document_ids == -1)[..., None, :]",
        ]
    }


class one_hot(Misconception):
    """The ids are used as positions (one-hot, a table): they are any integers, also negative and large."""

    edits = {
        "same = document_ids[..., :, None] == document_ids[..., None, :]": """
            hot = torch.nn.functional.one_hot(document_ids.long()).float()
            same = hot @ hot.transpose(-2, -1) > 0
        """
    }


class floats_compared(Misconception):
    """The ids are turned into floats before they are compared: large ids that differ become equal."""

    based_on = later_documents_open
    edits = {"] <= document_ids[..., None, :]": "].float() == document_ids[..., None, :].float()"}


class small_integers(Minor):
    """The ids are cast to a smaller integer type: large ids that differ become equal."""

    edits = {"same =": "document_ids = document_ids.int()\nsame ="}


class first_sequence(Misconception):
    """All rows of the batch get the mask of the first one: each has its own documents."""

    edits = {
        "same =": """
            document_ids = document_ids[:1].expand_as(document_ids) if document_ids.dim() > 1 else document_ids
            same =
        """
    }


class flattened(Misconception):
    """The batch is flattened into one long row: (..., T, T) is asked for, a mask for each row."""

    edits = {"same =": "document_ids = document_ids.flatten()\nsame ="}


class one_row_only(Misconception):
    """Only a single row of ids works: count dimensions from the end, `document_ids[..., :, None]`."""

    variants = [{"[..., :, None] == document_ids[..., None, :]": "[:, None] == document_ids[None, :]"}, {"-1": "0"}]
    variants += [{"[..., :, None] == document_ids[..., None, :]": "[:, None] == document_ids[None, :]", "-1": "0"}]


class two_dimensions_only(Misconception):
    """Only ids of shape (B, T) work: any number of dimensions may come first, also none."""

    variants = [
        {"..., :, None] == document_ids[...": ":, :, None] == document_ids[:"},
        {"same =": "B, T = document_ids.shape\nsame ="},
    ]


class head_dimension(Misconception):
    """A dimension for heads is added: (..., T, T) is asked for."""

    edits = {"future | ~same": "(future | ~same).unsqueeze(-3)"}


class leading_dimension(Minor, shared_mistakes.leading_dimension):
    edits = {"future | ~same": "(future | ~same)[None]"}


class floats(Minor):
    """The mask is a float tensor of ones and zeros: a boolean tensor is asked for."""

    edits = {"future | ~same": "(future | ~same).float()"}


class integers(Minor, shared_mistakes.integers):
    edits = {"future | ~same": ["(future | ~same).long()", "(future | ~same).int()", "(future | ~same).byte()"]}


class added(Minor):
    """The two rules are added as numbers, which gives 0, 1 and 2: join booleans with `|`."""

    edits = {"future | ~same": ["future.int() + (~same).int()", "future.float() + (~same).float()"]}


class infinities(shared_mistakes.infinities):
    edits = {
        "future | ~same": [
            "torch.zeros(same.shape).masked_fill(future | ~same, float('-inf'))",
            "torch.zeros(same.shape).masked_fill(future | ~same, -1e9)",
        ]
    }


class python_or(Fundamental, shared_mistakes.python_or):
    edits = {"future |": "future or"}


class pair_returned(Misconception):
    """The two masks are returned one by one: join them with `|` into one."""

    edits = {"future |": "future,"}


class device_dropped(shared_mistakes.device_dropped):
    edits = {", device=document_ids.device": ""}


class everything_blocked(Fundamental, shared_mistakes.everything_blocked):
    edits = {"~same": "~same | True"}


class rounded(Fundamental, common_mistakes.rounded):
    pass
