"""Wrong and right answers to `merge_heads`. The reference (07-multi-head):

def merge_heads(x):
    B, H, T, d_k = x.shape
    x = x.transpose(1, 2)  # (B, T, H, d_k): all heads of one token together
    return x.reshape(B, T, H * d_k)  # (B, T, C); view would fail, since the transpose moved no numbers
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class contiguous_view(RightAnswer):
    edits = {"reshape(B, T, H * d_k)": "contiguous().view(B, T, -1)"}


class flatten(RightAnswer):
    code = "return x.permute(0, 2, 1, 3).flatten(start_dim=2)"


class loop_over_heads(RightAnswer):
    code = """
    heads = [x[:, h] for h in range(x.shape[1])]
    return torch.cat(heads, dim=2)
    """


# Mistakes


class no_transpose(Misconception):
    """The heads are merged without a transpose, so a row holds several tokens of one head: `transpose(1, 2)`."""

    edits = {"x = x.transpose(1, 2)": ""}


class interleaved(Misconception):
    """The columns of the heads are mixed: all columns of head 0 come first."""

    edits = {"transpose(1, 2)": "permute(0, 2, 3, 1)"}


class view_fails(Minor):
    """`view` fails after a transpose, which moves no numbers: use `reshape`."""

    edits = {"reshape": "view"}


class not_merged(Misconception):
    """The result is still (B, T, H, d_k): the last two dimensions become one, H · d_k wide."""

    edits = {".reshape(B, T, H * d_k)": ""}


class summed(Misconception):
    """The heads are added up or averaged: they stand side by side, H · d_k columns in all."""

    edits = {"reshape(B, T, H * d_k)": ["sum(dim=2)", "mean(dim=2)"]}


class tokens_joined(Misconception):
    """The heads are joined along the tokens, (B, H · T, d_k): they stand side by side along the last dimension."""

    variants = [no_transpose.edited({"T, H *": "H * T,"}), {"T, H *": "T * H,"}]


class columns_first(Minor):
    """The result is (B, H · d_k, T): tokens come before columns."""

    edits = {"(B, T, H * d_k)": "(B, T, H * d_k).mT"}


class columns_scrambled(Misconception):
    """The wrong dimensions are swapped before the reshape: `transpose(1, 2)` brings H beside d_k."""

    variants = [
        {
            "transpose(1, 2)": [
                "transpose(2, 3)",
                "transpose(0, 1)",
                "transpose(0, 2)",
                "transpose(1, 3)",
                "permute(0, 3, 1, 2)",
            ]
        },
        {"(B, T, H * d_k)": "(B, H * d_k, T).mT"},
    ]


class heads_reversed(Minor):
    """The heads stand in reverse order: head 0 gives the first d_k columns."""

    edits = {"x.transpose": "x.flip(1).transpose"}


class sizes_misread(Minor):
    """The shape is read in the wrong order: x is (B, H, T, d_k)."""

    variants = [{"H, T": "T, H"}, {"B, H": "H, B"}, no_transpose.edited({"H, T": "T, H"})]


class batch_merged(Misconception):
    """The batch is merged with the tokens, or only its first sequence is left: (B, T, H · d_k) keeps all apart."""

    variants = [{"B, T": "B * T"}, {"(B, T, H * d_k)": "(B, T, H * d_k)[0]"}]


class squeezed(common_mistakes.squeezed):
    edits = {"reshape(B, T, H * d_k)": "squeeze(2).reshape(B, T, H * d_k).squeeze(1)"}


class sizes_fixed(Fundamental):
    """A size is a fixed number: take all of them from x.shape."""

    variants = [
        {"H * d_k)": ["512)", "8 * d_k)"]},
        {"x.transpose": ["x[:, :2].transpose", "x[:, :4].transpose", "x[:, :8].transpose"], "H * d_k)": "-1)"},
    ]


class view_needed(Minor, shared_mistakes.view_needed):
    edits = {"transpose": "view(B, H * T, d_k).view(B, H, T, d_k).transpose"}


class device_dropped(shared_mistakes.device_dropped):
    edits = {"x.reshape(B, T, H * d_k)": "torch.empty(B, T, H * d_k, dtype=x.dtype).copy_(x.reshape(B, T, H * d_k))"}
