"""Wrong and right answers to `RMSNorm`. The reference (08-blocks-further):

class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        mean_square = x.square().mean(dim=-1, keepdim=True)  # (..., 1)
        normalised = x / torch.sqrt(mean_square + self.eps)  # (..., dim): eps saves rows of zeros
        return self.weight * normalised
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

ROOT = "torch.sqrt(mean_square + self.eps)"

# Right answers in other styles


class rsqrt(RightAnswer):
    edits = {"/ torch.sqrt": "* torch.rsqrt", "square()": "pow(2)"}


class einsum(RightAnswer):
    edits = {
        "x.square().mean(dim=-1, keepdim=True)": "torch.einsum('...c,...c->...', x, x)[..., None] / x.size(-1)",
        ROOT: "(mean_square + self.eps) ** 0.5",
    }


class wide_inside(RightAnswer):
    edits = {
        "mean_square =": "wide = x.to(torch.promote_types(x.dtype, torch.float32))\nmean_square =",
        "x.square()": "(wide * wide)",
        "x / torch.sqrt(mean_square + self.eps)": "(wide * torch.rsqrt(mean_square + self.eps)).to(x.dtype)",
    }


# Mistakes


class mean_subtracted(Misconception):
    """The mean is subtracted, as in layer normalisation: RMSNorm only divides by the root mean square."""

    variants = [
        {"x /": "(x - x.mean(dim=-1, keepdim=True)) /"},
        {"mean_square =": "x = x - x.mean(dim=-1, keepdim=True)\nmean_square ="},
    ]


class variance(Misconception):
    """x is divided by its standard deviation, from which the mean is subtracted: take the mean of x² itself."""

    edits = {
        "square().mean(dim=-1, keepdim=True)": [
            "var(dim=-1, keepdim=True)",
            "var(dim=-1, keepdim=True, unbiased=False)",
        ]
    }


class sum_of_squares(Minor):
    """The sum of the squares is not divided by dim, but by dim − 1 or not at all: the mean square divides by dim."""

    variants = [
        {".mean": ".sum"},
        {"mean(dim=-1, keepdim=True)": "sum(dim=-1, keepdim=True) / max(x.shape[-1] - 1, 1)"},
    ]


class square_of_mean(Misconception):
    """The mean is squared, or one of the two is forgotten: first x², then the mean."""

    edits = {
        "square().mean(dim=-1, keepdim=True)": [
            "mean(dim=-1, keepdim=True).square()",
            "mean(dim=-1, keepdim=True)",
            "square()",
        ]
    }


class mean_absolute(Misconception):
    """The absolute values are averaged: the mean of x² is asked for."""

    variants = [{".square": ".abs"}, square_of_mean.edited({"x.": "x.abs()."})]


class no_root(Minor):
    """x is divided by the mean square, or multiplied by its root: divide by the root."""

    variants = [{"torch.sqrt": ""}, {"sqrt": "rsqrt"}]


class not_divided(Misconception):
    """The root mean square plays no part: divide x by √(mean of x² + eps)."""

    edits = {"x / torch.sqrt(mean_square + self.eps)": "x"}


class eps_outside(Minor):
    """eps is not added to the mean square, but outside the root, or it is squared or a lower bound: √(mean square +
    eps). The difference shows in short vectors.
    """

    variants = [
        {ROOT: ["(torch.sqrt(mean_square) + self.eps)", "torch.sqrt(mean_square).clamp(min=self.eps)"]},
        {"mean_square + self.eps": ["mean_square.clamp(min=self.eps)", "mean_square + self.eps**2"]},
    ]


class no_eps(Minor):
    """eps is not used, so that a row of zeros gives 0/0 = NaN: divide by √(mean square + eps)."""

    edits = {"mean_square + self.eps": "mean_square"}


class eps_fixed(Misconception):
    """The argument eps is ignored: the number in the formula must be the one that was given."""

    edits = {"= eps": ["= 1e-6", "= 1e-5"]}


class eps_default(Minor):
    """The default of eps is not 1e-6: RMSNorm(dim, eps=1e-6)."""

    edits = {"-6": ["-5", "-8", "-12", "-3", "-4", "-7"]}


class over_tokens(Misconception):
    """The mean square runs over the tokens or over the batch: each vector is normalised by itself, over dim=-1."""

    variants = [{"-1": ["1", "-2"]}, {"(dim=-1": "(dim=0"}]


class over_everything(Misconception):
    """One mean square is taken over several dimensions: each vector is normalised by itself, over dim=-1."""

    edits = {
        "(dim=-1, keepdim=True)": [
            "()",
            "(dim=(-2, -1), keepdim=True)",
            "(dim=(1, 2), keepdim=True)",
            "(dim=tuple(range(1, x.dim())), keepdim=True)",
        ]
    }


class keepdim_forgotten(Minor):
    """The mean square loses its last dimension (`keepdim=True` is missing) and fits x by chance."""

    edits = {", keepdim=True": ""}


class three_dimensions_only(Misconception):
    """x is taken to have three dimensions: [..., dim] may have any number of them, one too."""

    variants = [{"mean_square =": "B, T, C = x.shape\nmean_square ="}, {"(dim=-1": "(dim=2"}]


class weight_unused(Misconception):
    """`weight` is not used: it multiplies what was normalised, feature by feature."""

    edits = {"self.weight * normalised": "normalised"}


class weight_before_norm(Misconception):
    """`weight` multiplies x before the mean square is taken: normalise first, then multiply."""

    based_on = weight_unused
    edits = {"mean_square =": "x = self.weight * x\nmean_square ="}


class other_start(Minor):
    """`weight` starts at other numbers than one: a fresh layer only normalises. (Nor is 1 + weight the factor, as in
    Gemma: weight itself multiplies.)
    """

    variants = [
        {"ones": ["zeros", "randn", "rand"]},
        {"self.weight *": "(1 + self.weight) *"},
        {"torch.ones": "0.02 * torch.randn"},
    ]


class a_bias(Minor):
    """There is a bias: RMSNorm has `weight` alone."""

    variants = [
        {
            "(torch.ones(dim))": f"(torch.ones(dim))\nself.{name} = nn.Parameter(torch.zeros(dim))",
            "* normalised": f"* normalised + self.{name}",
        }
        for name in ("bias", "beta", "shift")
    ]


class other_shape(Misconception):
    """`weight` is a single number, or has more than one dimension: its shape is (dim,), a number for each feature; it
    broadcasts by itself.
    """

    edits = {"ones(dim)": ["tensor(1.0)", "ones(1)", "ones(1, dim)", "ones(1, 1, dim)"]}


class not_a_parameter(Misconception):
    """`weight` is missing, or a plain tensor or a buffer, which nothing trains: wrap it in nn.Parameter."""

    variants = [
        {
            "weight = nn.Parameter(torch.ones(dim))": [
                "register_buffer('weight', torch.ones(dim))",
                "weight = torch.ones(dim)",
            ]
        },
        weight_unused.edited({"self.weight = nn.Parameter(torch.ones(dim))": ""}),
    ]


class other_names(Minor):
    """The parameter has another name: `weight`, as in nn.RMSNorm, lets weights be loaded."""

    edits = {"weight": ["scale", "gamma", "g"]}


class statistics_detached(Misconception):
    """Part is cut off (`detach`, `.data`, `no_grad`): gradients flow through the root too."""

    variants = [
        {"(dim=-1, keepdim=True)": "(dim=-1, keepdim=True).detach()"},
        {"weight * normalised": ["weight.data * normalised", "weight * normalised.detach()"]},
    ]


class single_precision_inside(common_mistakes.single_precision_inside):
    edits = {"mean_square =": "x = x.float()\nmean_square ="}


class other_signature(Minor):
    """A parameter has another name than in the signature: RMSNorm(dim, eps=1e-6), forward(x)."""

    edits = {"(self, x):": "(self, tokens):\n    x = tokens"}


class no_super(Fundamental, shared_mistakes.no_super):
    edits = {"super().__init__()": ""}


class not_a_module(Fundamental, shared_mistakes.not_a_module):
    based_on = no_super
    edits = {"(nn.Module)": "", "forward": "__call__"}


class forward_misspelt(Fundamental, shared_mistakes.forward_misspelt):
    edits = {"forward": "foward"}
