"""Wrong and right answers to `padding_mask`. The reference (06-masking):

def padding_mask(lengths, max_len):
    positions = torch.arange(max_len, device=lengths.device)  # (max_len,)
    return positions >= lengths[:, None]  # (max_len,) against (B, 1) gives (B, max_len)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class loop(RightAnswer):
    code = """
    mask = torch.zeros(len(lengths), max_len, dtype=torch.bool, device=lengths.device)
    for b, n in enumerate(lengths.tolist()): mask[b, n:] = True
    return mask
    """


class inverted_less_than(RightAnswer):
    edits = {
        "positions = torch.arange(max_len, device=lengths.device)": (
            "idx = torch.arange(max_len, device=lengths.device).expand(lengths.shape[0], max_len)"
        ),
        "positions >= lengths[:, None]": "~(idx < lengths.unsqueeze(1))",
    }


class comprehension(RightAnswer):
    edits = {
        "positions = torch.arange(max_len, device=lengths.device)": (
            "rows = [[j >= int(n) for j in range(max_len)] for n in lengths]"
        ),
        "positions >= lengths[:, None]": "torch.tensor(rows, dtype=torch.bool, device=lengths.device)",
    }


# Mistakes


class inverted(Misconception):
    """True and False are swapped: True marks padding (blocked), False the real tokens."""

    edits = {">=": "<"}


class off_by_one(Minor):
    """The first padding is left open: with length 3 it is position 3, since we count from 0 (`>=`)."""

    edits = {">=": ">"}


class last_token_blocked(Minor):
    """Off by one: the last real token is blocked too. With length 3, positions 0, 1 and 2 are real."""

    variants = [{">= lengths": ">= -1 + lengths"}, {"(max_len,": "(1, max_len + 1,"}]


class inverted_off_by_one(Misconception):
    """True and False are swapped (True marks padding), and the boundary is off by one."""

    edits = {">=": "<="}


class reshaped(Misconception):
    """`view` or `reshape` scrambles a mask made the other way round: use `transpose`, or lengths (B, 1)."""

    variants = [
        {"positions >= lengths[:, None]": "(positions[:, None] >= lengths).reshape(len(lengths), max_len)"},
        {"positions >=": "positions.repeat_interleave(len(lengths)).view(len(lengths), max_len) >="},
    ]


class inverted_numbers(shared_mistakes.inverted_numbers):
    edits = {
        "positions >= lengths[:, None]": [
            f"(positions < lengths[:, None]){cast}()" for cast in (".float", ".long", ".int")
        ]
    }


class negative_slice(Minor):
    """`mask[b, -n:]` takes the whole row when n is 0: slice from the length on, `mask[b, length:]`."""

    variants = [
        {
            "return": "mask =",
            "None]  #": """
                None]
                mask[lengths == max_len] = True
                return mask  #
            """,
        },
        loop.edited({"lengths.tolist()": "lengths", "n:]": "-(max_len - n):]"}),
    ]


class empty_row_opened(Minor):
    """A length of 0 is taken for 1 (`clamp`): a row without tokens is nothing but padding, blocked throughout."""

    edits = {">= lengths": ">= lengths.clamp(min=1)"}


class zero_is_full(Minor):
    """A length of 0 is taken for a full row (`if length:`): a row without tokens is nothing but padding."""

    based_on = loop
    edits = {"mask[b, n:] = True": "mask[b, n:] = n > 0"}


class last_position_always(Minor):
    """The last position is always marked: a length of max_len is a row without padding."""

    edits = {">= lengths": ">= lengths.clamp(max=max_len - 1)"}


class last_position_only(Minor):
    """A loop stops one too early, so the last position is never marked: `range(n)` ends at n − 1."""

    edits = {
        "return": "mask =",
        "None]  #": """
            None]
            mask[:, -1] = False
            return mask  #
        """,
    }


class square(Misconception):
    """The mask is square: (B, max_len) is asked for, one number for each position of each sequence."""

    variants = [
        {"return": "mask =", "[:": "[:, None]\nreturn mask[:, None, :] | mask[:, :"},
        {"return": "mask =", "None]  #": "None]\nreturn mask[:, None, :].expand(-1, max_len, -1)  #"},
    ]


class size_limited(shared_mistakes.size_limited):
    edits = {"(max_len": ["(min(max_len, 16)", "(min(max_len, 512)", "(16"]}


class ids_expected(Misconception):
    """`lengths` is taken for the ids themselves (`== 0`): it holds how many real tokens each sequence has."""

    edits = {"positions >= lengths[:, None]": ["(lengths == 0)[:, None].expand(-1, max_len)", "lengths == 0"]}


class nothing_blocked(Fundamental, shared_mistakes.nothing_blocked):
    edits = {"positions >= lengths[:, None]": "(positions >= lengths[:, None]) & False"}


class real_tokens_on_the_right(Misconception):
    """True marks real tokens, at the end of each row: it marks the padding, and the real tokens come first."""

    edits = {">=": ">= max_len -"}


class left_padding(Misconception):
    """The padding is marked on the left: the real tokens come first here."""

    edits = {">=": "< max_len -"}


class longest(Minor):
    """The mask is as wide as the longest sequence of the batch; it should be max_len wide."""

    edits = {"(max_len": "(int(lengths.max())"}


class transposed(Minor):
    """The mask is transposed: (B, max_len) is asked for, one row for each sequence."""

    edits = {"lengths[:, None]": "lengths", "device)": "device)[:, None]"}


class no_broadcast_dimension(Misconception):
    """Lengths (B,) and positions (max_len,) are paired one with one: use `lengths[:, None]`."""

    edits = {"[:, None]": ""}


class equal_only(Misconception):
    """Only one position of each row is marked: everything from the length on is padding."""

    edits = {">=": "=="}


class floats(Minor):
    """The mask is a float tensor: a boolean tensor is asked for, True at padding."""

    edits = {"positions >= lengths[:, None]": "(positions >= lengths[:, None]).float()"}


class integers(Minor, shared_mistakes.integers):
    edits = {
        "positions >= lengths[:, None]": [
            f"(positions >= lengths[:, None]){cast}()" for cast in (".long", ".int", ".byte")
        ]
    }


class infinities(shared_mistakes.infinities):
    based_on = square
    edits = {"mask[:, None, :] | mask[:, :, None]": "torch.zeros(mask.shape).masked_fill(mask, float('-inf'))"}


class extra_dimensions(Minor):
    """The mask has extra dimensions: (B, max_len) is asked for."""

    edits = {
        "positions >= lengths[:, None]": [
            "(positions >= lengths[:, None])[:, None]",
            "(positions >= lengths[:, None])[:, None, None]",
        ]
    }


class list_(Minor):
    """A list is returned: a tensor is asked for."""

    edits = {
        "positions >= lengths[:, None]": [
            "(positions >= lengths[:, None]).tolist()",
            "list(positions >= lengths[:, None])",
        ]
    }


class array_returned(common_mistakes.array_returned):
    edits = {"positions >= lengths[:, None]": "(positions >= lengths[:, None]).numpy()"}


class device_dropped(shared_mistakes.device_dropped):
    edits = {", device=lengths.device": ""}


class rounded(Fundamental, common_mistakes.rounded):
    pass


class small_integers(Minor):
    """One is taken from the lengths: in uint8 0 − 1 is 255. Lengths may be integers of any type."""

    edits = {">= lengths[:, None]": "> lengths[:, None] - 1"}
