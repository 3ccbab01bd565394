"""Wrong and right answers to `causal_mask`. The reference (06-masking):

def causal_mask(T, device=None):
    ones = torch.ones(T, T, dtype=torch.bool, device=device)
    return ones.triu(diagonal=1)  # (T, T): keeps the part above the diagonal
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class compare_positions(RightAnswer):
    edits = {
        "ones = torch.ones(T, T, dtype=torch.bool, device=device)": "t = torch.arange(T, device=device)",
        "ones.triu(diagonal=1)": "t[None, :] > t[:, None]",
    }


class inverted_tril(RightAnswer):
    code = """
    def causal_mask(T: int, device=None):
        return ~torch.tril(torch.ones((T, T), device=device)).bool()
    """


class list_comprehension(RightAnswer):
    edits = {
        "ones = torch.ones(T, T, dtype=torch.bool, device=device)": (
            "return torch.tensor([[s > t for s in range(T)] for t in range(T)], device=device)"
        ),
        "return ones.triu(diagonal=1)": "",
    }


# Mistakes


class diagonal_blocked(Misconception):
    """The diagonal is blocked too: a token may look at itself. True is *strictly* above it, diagonal=1."""

    edits = {"=1": "=0"}


class one_step_ahead(Misconception):
    """Each token may still see the next one, which it has to predict: diagonal=1, not 2."""

    edits = {"=1": "=2"}


class inverted(Misconception):
    """True and False are swapped: here True = blocked, so the part on and below the diagonal is False."""

    edits = {"triu(diagonal=1)": "tril()"}


class past_blocked(Misconception):
    """The past is blocked instead of the future: True belongs above the diagonal (triu), not below it (tril)."""

    edits = {"triu(diagonal=1)": "tril(diagonal=-1)"}


class past_and_self_open_inverted(Misconception):
    """True stands on and below the diagonal and one above: inverted, and off by one."""

    edits = {"triu": "tril"}


class off_by_one_below(Misconception):
    """The triangle starts below the diagonal (diagonal=-1), so each token's own past is blocked as well."""

    edits = {"=1": "=-1"}


class floats(Minor):
    """The mask is a float tensor of ones and zeros: a boolean tensor is asked for (dtype=torch.bool)."""

    edits = {"dtype=torch.bool,": ""}


class integers(Minor, shared_mistakes.integers):
    edits = {"bool": ["long", "uint8", "int32"]}


class infinities(shared_mistakes.infinities):
    edits = {
        "ones.triu(diagonal=1)": [
            "torch.zeros(T, T, device=device).masked_fill(ones.triu(diagonal=1), float('-inf'))",
            "torch.zeros(T, T, device=device).masked_fill(ones.triu(diagonal=1), -1e9)",
        ]
    }


class flipped(Misconception):
    """The triangle lies on the diagonal from the lower left: a mask was flipped instead of transposed."""

    edits = {"triu(diagonal=1)": ["tril(diagonal=-1).flip(0)", "tril(diagonal=-1).flip(1)"]}


class loop_ends_early(Minor):
    """The last row or column is never written: a `range(n)` ends at n − 1 already."""

    edits = {
        "return ones.triu(diagonal=1)": [
            """
            mask = ones.triu(diagonal=1)
            mask[:, -1] = False
            return mask
            """,
            """
            mask = ones.triu(diagonal=1)
            mask[:, :1] = False
            mask[0] = False
            return mask
            """,
        ]
    }


class next_token_only(Misconception):
    """Only the next token is blocked, not the whole future: everything above the diagonal is True."""

    edits = {"(diagonal=1)": "(diagonal=1).tril(diagonal=1)"}


class one_row(Fundamental):
    """The mask has one row only: (T, T) is asked for, one row for each query."""

    edits = {
        "ones.triu(diagonal=1)": [
            "torch.arange(T, device=device) > torch.arange(T, device=device)",
            "ones.triu(diagonal=1)[0]",
        ]
    }


class no_device(Misconception):
    """`device` is not a parameter: keep the signature causal_mask(T, device=None)."""

    edits = {", device=None": "", ", device=device": ""}


class device_always_needed(Misconception):
    """`device` is used as if it were always given: by default it is None."""

    edits = {"=None": ""}


class nothing_blocked(Fundamental, shared_mistakes.nothing_blocked):
    edits = {"ones.triu(diagonal=1)": "~ones"}


class everything_blocked(Fundamental, shared_mistakes.everything_blocked):
    edits = {".triu(diagonal=1)": ""}


class leading_dimension(Minor, shared_mistakes.leading_dimension):
    edits = {"(diagonal=1)": ["(diagonal=1)[None]", "(diagonal=1)[None, None]"]}


class list_(Minor):
    """A list is returned: a tensor is asked for."""

    edits = {"(diagonal=1)": "(diagonal=1).tolist()"}


class array_returned(common_mistakes.array_returned):
    edits = {"(diagonal=1)": "(diagonal=1).numpy()"}


class inverted_numbers(shared_mistakes.inverted_numbers):
    variants = [
        floats.edited({"triu(diagonal=1)": "tril()"}),
        {"bool": ["long", "int32"], "triu(diagonal=1)": "tril()"},
    ]


class fixed_size(Misconception):
    """The size is fixed, or has a fixed maximum: the mask must be (T, T) for every T."""

    variants = [
        {"(T, T": "(4, 4"},
        {"(T, T": ["(8, 8", "(16, 16", "(512, 512"], "(diagonal=1)": "(diagonal=1)[:T, :T]"},
    ]


class device_ignored(Misconception):
    """`device` is ignored: the mask is always made on the CPU."""

    edits = {", device=device": ""}


class rounded(Fundamental, common_mistakes.rounded):
    pass
