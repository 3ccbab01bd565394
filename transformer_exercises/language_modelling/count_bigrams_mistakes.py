"""Wrong and right answers to `count_bigrams`. The reference (01-language-modelling):

def count_bigrams(ids, vocab_size):
    if ((ids < 0) | (ids >= vocab_size)).any():
        raise ValueError(f"ids must lie between 0 and vocab_size - 1 = {vocab_size - 1}")
    first, second = ids[:-1], ids[1:]  # (N-1,), (N-1,): every pair of neighbours
    cells = first * vocab_size + second  # (N-1,): the number of cell (i, j) when the table is read row by row
    counts = torch.bincount(cells, minlength=vocab_size**2)  # (V*V,): pairs that never occur count 0
    return counts.view(vocab_size, vocab_size)  # (V, V)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

CHECK = "if len(ids) and (ids.min() < 0 or ids.max() >= vocab_size):"

# Right answers in other styles


class index_put(RightAnswer):
    code = """
    if len(ids) and (ids.min() < 0 or ids.max() >= vocab_size): raise ValueError("ids: out of range")
    counts = torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device)
    counts.index_put_((ids[:-1], ids[1:]), torch.ones_like(ids[1:]), accumulate=True)
    return counts
    """


class own_error(RightAnswer):
    based_on = index_put
    edits = {"raise ValueError(": 'raise type("UnknownId", (ValueError,), {})('}


class one_hot_product(RightAnswer):
    code = """
    if len(ids) and (ids.min() < 0 or ids.max() >= vocab_size): raise ValueError("ids: out of range")
    before = F.one_hot(ids[:-1], vocab_size); after = F.one_hot(ids[1:], vocab_size); return before.T @ after
    """


class scatter_add(RightAnswer):
    based_on = index_put
    edits = {
        "torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device": (
            "ids.new_zeros(vocab_size * vocab_size"
        ),
        "index_put_((ids[:-1], ids[1:]), torch.ones_like(ids[1:]), accumulate=True": (
            "scatter_add_(0, ids[:-1] * vocab_size + ids[1:], torch.ones_like(ids[1:])"
        ),
        "return counts": "return counts.reshape(vocab_size, vocab_size)",
    }


# Mistakes


class bad_input_accepted(Minor):
    """Ids outside 0 … V − 1 give no ValueError: some count in another cell, unnoticed, or end in another error."""

    variants = [
        {
            "((ids < 0) | (ids >= vocab_size)).any()": [
                "False",
                "(ids > vocab_size).any()",
                "(ids >= vocab_size).any()",
                "(ids[:-1] >= vocab_size).any() or (ids[:-1] < 0).any()",
            ]
        },
        index_put.edited({CHECK: "if False:"}),
    ]


class transposed(Misconception):
    """The table is transposed: counts[i, j] says how often j follows i, so the row is the earlier token."""

    variants = [
        {"first * vocab_size + second": "second * vocab_size + first"},
        index_put.edited({"(ids[:-1], ids[1:])": "(ids[1:], ids[:-1])", CHECK: "if False:"}),
        bad_input_accepted.edited({"first * vocab_size + second": "second * vocab_size + first"}),
    ]


class repeats_counted_once(Misconception):
    """`counts[i, j] += 1` with index *tensors* adds once a cell, however often a pair occurs."""

    variants = [{"view": "clamp(max=1).view"}, index_put.edited({CHECK: "if False:", "True": "False"})]


class repeats_counted_once_on_the_cpu(Misconception):
    """`counts[i, j] += 1` with index *tensors* adds once a cell, however often a pair occurs. And the table, made
    without `device=ids.device`, lies on the CPU.
    """

    variants = [
        index_put.edited({"True": "False", ", device=ids.device": ""}),
        index_put.edited({"True": "False", ", device=ids.device": "", CHECK: "if False:"}),
    ]


class wraps_round(Minor):
    """The last token is paired with the first (`torch.roll`, or index −1): N tokens have N − 1 pairs."""

    variants = [
        {"[:-1], ids[1:]": ", ids.roll(-1)"},
        bad_input_accepted.edited({"[:-1], ids[1:]": ", ids.roll(-1)"}),
        {
            "first, second = ids[:-1], ids[1:]": """
                if len(ids) < 2: return ids.new_zeros(vocab_size, vocab_size)
                first, second = ids, ids.roll(-1)
            """
        },
    ]


class last_pair_missed(Minor):
    """The last pair is not counted: N tokens have N − 1 pairs, and `range(n)` ends at n − 1 already."""

    variants = [{"1], ids[1:": "2], ids[1:-1"}, bad_input_accepted.edited({"1], ids[1:": "2], ids[1:-1"})]


class first_pair_missed(Minor):
    """The first pair is not counted: it begins with the token at position 0."""

    edits = {":-1], ids[1": "1:-1], ids[2"}


class without_overlap(Misconception):
    """Every other pair is missed: the pairs overlap, and an inner token belongs to two."""

    edits = {"], ids[1:": ":2], ids[1::2"}


class both_directions(Misconception):
    """Each pair is counted in both directions: only counts[i, j] grows when j follows i."""

    edits = {
        "counts.view(vocab_size, vocab_size)": (
            "(counts.view(vocab_size, vocab_size)) + counts.view(vocab_size, vocab_size).T"
        )
    }


class two_apart(Misconception):
    """Tokens two apart are paired instead of neighbours: shift by one."""

    edits = {"1], ids[1": "2], ids[2"}


class any_later_token(Misconception):
    """Every later token is counted as a follower, not just the next one."""

    based_on = index_put
    edits = {
        "counts.index_put_((ids[:-1], ids[1:]), torch.ones_like(ids[1:]), accumulate=True)": """
            for k in range(len(ids)):
                for j in ids[k + 1 :]:
                    counts[ids[k], j] += 1
        """
    }


class repeated_token_skipped(Misconception):
    """A token that follows itself is left out: such pairs belong on the diagonal."""

    edits = {"(vocab_size, vocab_size)": "(vocab_size, vocab_size).fill_diagonal_(0)"}


class loop_runs_too_far(Fundamental):
    """The loop reaches beyond the last token: the last k has no ids[k + 1]."""

    variants = [
        any_later_token.edited(
            {"for j in ids[k + 1 :]:": "counts[ids[k], ids[k + 1]] += 1", "counts[ids[k], j] += 1": ""}
        ),
        """
        counts = torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device)
        for k in range(len(ids)): counts[ids[k], ids[k + 1]] += 1
        return counts
        """,
    ]


class rows_shared(Misconception):
    """`[[0] * V] * V` holds one row V times: make a row for each, torch.zeros(V, V, dtype=torch.long)."""

    code = """
    counts = [[0] * vocab_size] * vocab_size
    for i, j in zip(ids[:-1], ids[1:]): counts[i][j] += 1
    return torch.tensor(counts)
    """


class first_token_has_a_predecessor(Misconception):
    """The first token is counted as a follower of token 0: nothing stands before it."""

    based_on = index_put
    edits = {
        "counts.index_put_((ids[:-1], ids[1:]), torch.ones_like(ids[1:]), accumulate=True)": """
            i = 0
            for j in ids: counts[i, j] += 1; i = j
        """
    }


class single_tokens(Fundamental):
    """Single tokens are counted, not pairs: what matters is which token comes next."""

    edits = {
        "counts.view(vocab_size, vocab_size)": [
            "torch.bincount(ids, minlength=vocab_size)",
            "torch.bincount(ids, minlength=vocab_size).expand(vocab_size, vocab_size)",
            "torch.diag(torch.bincount(ids, minlength=vocab_size))",
        ]
    }


class smoothed_already(Misconception):
    """The table starts at ones: that is smoothing, which is the next exercise. Counts start at zero."""

    edits = {"(vocab_size, vocab_size)": "(vocab_size, vocab_size) + 1"}


class probabilities(Misconception):
    """Probabilities are returned: the counts themselves are asked for, undivided."""

    variants = [
        {"(vocab_size, vocab_size)": "(vocab_size, vocab_size) / max(len(ids) - 1, 1)"},
        {
            "counts.view(vocab_size, vocab_size)": (
                "counts.view(vocab_size, vocab_size) / counts.view(vocab_size, vocab_size).sum(1, "
                "keepdim=True).clamp(min=1)"
            )
        },
    ]


class size_from_the_text(Misconception):
    """The table's size comes from the text (`ids.max() + 1`): it must be vocab_size on each side."""

    variants = [
        {
            "first,": [
                "vocab_size = int(ids.max()) + 1 if len(ids) else vocab_size\nfirst,",
                "vocab_size = len(ids.unique())\nfirst,",
                "vocab_size = int(ids.max()) + 1\nfirst,",
            ]
        },
        bad_input_accepted.edited({"first,": "vocab_size = int(ids.max()) + 1\nfirst,"}),
    ]


class width_from_the_text(Misconception):
    """Cells are numbered with `ids.max() + 1` to a row, so counts slide: both times take vocab_size."""

    edits = {"* vocab_size": "* (int(ids.max()) + 1 if len(ids) else vocab_size)"}


class no_minlength(Minor):
    """`bincount` ends at the largest cell that occurs: give it minlength=vocab_size**2."""

    variants = [{", minlength=vocab_size**2": ""}, bad_input_accepted.edited({", minlength=vocab_size**2": ""})]


class wrong_multiplier(Misconception):
    """Different pairs share a cell: the number of cell (i, j), read row by row, is i * vocab_size + j."""

    edits = {"* vocab_size +": ["* (vocab_size - 1) +", "+", "*"]}


class flat(Minor):
    """The counts are a flat list of V·V numbers: shape them to (V, V) at the end."""

    variants = [{".view(vocab_size, vocab_size)": ""}, {"vocab_size,": "1, vocab_size,"}]


class short_texts_refused(Misconception):
    """A text of 0 or 1 tokens fails or is refused: it has no pairs, so its table is all zeros."""

    variants = [
        {
            "return": [
                "if len(ids) < 2: raise ValueError('ids: too short')\nreturn",
                "if len(ids) < 2: return None\nreturn",
                "if len(ids) < 2: return 0\nreturn",
                "if len(ids) < 2: return torch.zeros(0, 0, dtype=torch.long)\nreturn",
                "assert len(ids) > 1\nreturn",
            ]
        },
        {"((ids < 0) | (ids >= vocab_size)).any()": "ids.min() < 0 or ids.max() >= vocab_size"},
    ]


class python_loop(Misconception):
    """Python takes token by token: torch counts all pairs at once, from two slices."""

    edits = {
        "counts = torch.bincount(cells, minlength=vocab_size**2)": """
            counts = cells.new_zeros(vocab_size**2)
            for cell in cells:
                counts[cell] += 1
        """
    }


class first_id_unchecked(Minor):
    """The first id is never looked at, so an unknown one is accepted: look at all of `ids`."""

    variants = [
        {"ids < 0) | (ids": "ids[1:] < 0) | (ids[1:]"},
        index_put.edited(
            {"len(ids) and (ids.min() < 0 or ids.max()": "len(ids) > 1 and (ids[1:].min() < 0 or ids[1:].max()"}
        ),
    ]


class one_token_unchecked(Minor):
    """The id of a text of one token is never looked at, so an unknown one is accepted: look before you return early."""

    edits = {"if ((ids <": "if len(ids) > 1 and ((ids <"}


class beginning_only(Misconception):
    """Only the beginning of a long text is counted: every pair of neighbours counts."""

    edits = {", ids[1:]": ["[:1024], ids[1:][:1024]", "[:10_000], ids[1:][:10_000]"]}


class floats(Misconception):
    """The table has another dtype (floats, smaller integers): counts are whole numbers, dtype=torch.long."""

    variants = [
        {"(vocab_size, vocab_size)": ["(vocab_size, vocab_size).float()", "(vocab_size, vocab_size).double()"]},
        bad_input_accepted.edited({"(vocab_size, vocab_size)": "(vocab_size, vocab_size).float()"}),
        """
    counts = torch.zeros(vocab_size, vocab_size, device=ids.device)
    counts.index_put_((ids[:-1], ids[1:]), torch.ones(len(ids[1:]), device=ids.device), accumulate=True); return counts
        """,
        {"(vocab_size, vocab_size)": ["(vocab_size, vocab_size).int()", "(vocab_size, vocab_size).short()"]},
    ]


class overflow(Minor):
    """Counts overflow: 8 bits end at 127 or 255, 16 bits at 32,767. Use torch.long."""

    edits = {
        "(vocab_size, vocab_size)": [
            "(vocab_size, vocab_size).byte()",
            "(vocab_size, vocab_size).byte().long()",
            "(vocab_size, vocab_size).to(torch.int8)",
        ]
    }


class dictionary(Misconception):
    """A dictionary of pairs is returned: a tensor of shape (V, V) is asked for."""

    code = """
    counts = {}
    for pair in zip(ids.tolist(), ids.tolist()[1:]): counts[pair] = counts.get(pair, 0) + 1
    return counts
    """


class device_not_kept(shared_mistakes.device_not_kept):
    based_on = index_put
    edits = {", device=ids.device": ""}


class input_changed(common_mistakes.input_changed):
    edits = {"first * vocab_size": "first.mul_(vocab_size)"}


class rounded(Fundamental, common_mistakes.rounded):
    pass
