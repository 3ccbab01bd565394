"""Wrong and right answers to `split_heads`. The reference (07-multi-head):

def split_heads(x, num_heads):
    B, T, C = x.shape
    if C % num_heads != 0:
        raise ValueError(f"num_heads must divide the width of x; got {num_heads} heads and width {C}")
    x = x.view(B, T, num_heads, C // num_heads)  # (B, T, H, d_k): every row is cut where it is
    return x.transpose(1, 2)  # (B, H, T, d_k): the heads step forward, as a batch dimension
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class loop_over_heads(RightAnswer):
    code = """
    d_k, rest = divmod(x.size(-1), num_heads)
    if rest: raise ValueError('num_heads does not divide C')
    return torch.stack([x[:, :, h * d_k : (h + 1) * d_k] for h in range(num_heads)], dim=1)
    """


class by_transposing(RightAnswer):
    edits = {
        "x.view(B, T, num_heads, C // num_heads)": "x.mT.reshape(B, num_heads, C // num_heads, T)",
        "transpose(1, 2)": "mT",
    }


class written_into_a_new_tensor(RightAnswer):
    edits = {
        "x = x.view(B, T, num_heads, C // num_heads)": "heads = x.new_empty(B, num_heads, T, C // num_heads)",
        "return x.transpose(1, 2)": """
            for h in range(num_heads): heads[:, h] = x[..., h * (C // num_heads) : (h + 1) * (C // num_heads)]
            return heads
        """,
    }


# Mistakes


class no_transpose(Misconception):
    """`view` or `reshape` straight to (B, H, T, d_k) cuts the numbers in the order in which they lie, so a head holds
    pieces of other tokens: view(B, T, H, d_k) cuts each row where it is, then transpose(1, 2).
    """

    variants = [
        {
            "view(B, T, num_heads, C // num_heads)": [
                "view(B, num_heads, T, C // num_heads)",
                "reshape(B, num_heads, T, C // num_heads)",
                "mT.reshape(B, num_heads, T, C // num_heads)",
            ],
            ".transpose(1, 2)": "",
        },
        by_transposing.edited({".mT.": "."}),
    ]


class tokens_first(Misconception):
    """The result is (B, T, H, d_k): the heads belong before the tokens, (B, H, T, d_k)."""

    edits = {".transpose(1, 2)": ""}


class interleaved(Misconception):
    """Head h gets every H-th column: it gets d_k in a row. Cut into (B, T, H, d_k), not (B, T, d_k, H)."""

    edits = {"num_heads, C //": "C // num_heads,", "transpose(1, 2)": "permute(0, 3, 1, 2)"}


class width_for_heads(Minor):
    """The number of heads and their width are swapped: num_heads heads, each C / num_heads wide."""

    variants = [{"num_heads, C //": "C // num_heads,"}, {"transpose(1, 2)": "permute(0, 3, 1, 2)"}]


class heads_reversed(Minor):
    """The heads stand in reverse order: head 0 gets the first columns."""

    edits = {"transpose(1, 2)": "transpose(1, 2).flip(1)"}


class last_two_swapped(Minor):
    """The last two dimensions are the wrong way round: (B, H, T, d_k) is asked for."""

    edits = {"transpose(1, 2)": "permute(0, 2, 3, 1)"}


class other_dimensions_swapped(Misconception):
    """The wrong two dimensions are swapped: `transpose(1, 2)` brings H before T."""

    variants = [{"1, 2": ["2, 3", "0, 1", "0, 2"]}, {", 2": ", 3"}]


class heads_before_batch(Misconception):
    """The heads come before the batch, or are reshaped from there, which mixes texts and heads: stack them along
    dimension 1, (B, H, T, d_k).
    """

    variants = [
        {"transpose(1, 2)": "permute(2, 0, 1, 3)"},
        {
            "x.view(B, T, num_heads, C // num_heads)": (
                "torch.stack(x.split(C // num_heads, -1)).reshape(B, num_heads, T, -1)"
            ),
            ".transpose(1, 2)": "",
        },
    ]


class batch_and_heads_in_one(Minor):
    """Batch and heads are one dimension, (B · H, T, d_k): here they stay apart, (B, H, T, d_k)."""

    edits = {"(1, 2)": "(1, 2).reshape(B * num_heads, T, -1)"}


class tokens_divided(Misconception):
    """The tokens are divided among the heads: every head sees every token, but only its own columns."""

    edits = {"view(B, T, num_heads, C // num_heads)": "view(B, num_heads, T // num_heads, C)", ".transpose(1, 2)": ""}


class every_head_everything(Misconception):
    """Every head gets all C columns: each gets its own C / H of them."""

    edits = {".view(B, T, num_heads, C // num_heads)": "[:, :, None].expand(B, T, num_heads, C)"}


class heads_overlap(Misconception):
    """The heads overlap: head h begins at column h · d_k, where head h − 1 ends."""

    edits = {"view(B, T, num_heads, C // num_heads)": "unfold(2, C // num_heads, 1)[:, :, :num_heads]"}


class one_head_only(Misconception):
    """Only one head is returned: all of them are asked for, along dimension 1."""

    edits = {"(1, 2)": ["(1, 2)[:, 0]", "(1, 2)[:, :1]"]}


class list_of_heads(Minor):
    """The heads come as a list or a tuple: one tensor is asked for (`torch.stack(…, dim=1)`)."""

    edits = {"x.transpose(1, 2)": ["list(x.unbind(2))", "x.unbind(2)"]}


class not_refused(Misconception):
    """A width that num_heads does not divide gives no ValueError (columns are dropped, say, or another error comes):
    check `C % num_heads` before cutting.
    """

    variants = [
        {"!= 0": "< 0"},
        {
            'raise ValueError(f"num_heads must divide the width of x; got {num_heads} heads and width {C}")': [
                "raise AssertionError('num_heads')",
                "raise AssertionError",  # as a bare `assert` does
                "raise TypeError('num_heads')",
                """
                return None
                raise ValueError(f"num_heads must divide the width of x; got {num_heads} heads and width {C}")
                """,
            ]
        },
        "return torch.stack(x.chunk(num_heads, dim=-1), dim=1)",
        {"!= 0": "< 0", ".view": "[..., : C // num_heads * num_heads].view"},
    ]


class refused_without_reason(Fundamental):
    """Sizes are refused that are right: every num_heads that divides C is allowed."""

    edits = {"!= 0": ["== 0", "!= 0 or num_heads == 1", "!= 0 or num_heads == C"]}


class sizes_fixed(Fundamental):
    """The number of heads or their width is a fixed number: they are num_heads and C / num_heads."""

    edits = {"num_heads, C // num_heads": ["8, C // 8", "C // 64, 64", "2, C // 2"]}


class batch_lost(Misconception):
    """The batch dimension is lost: each sequence is split by itself, (B, H, T, d_k)."""

    edits = {"(1, 2)": "(1, 2)[0]"}


class view_needed(shared_mistakes.view_needed):
    edits = {"B, T, num_heads": "-1).view(B, T, num_heads"}


class device_dropped(shared_mistakes.device_dropped):
    based_on = written_into_a_new_tensor
    edits = {
        "x.new_empty(B, num_heads, T, C // num_heads)": "torch.zeros(B, num_heads, T, C // num_heads, dtype=x.dtype)"
    }
