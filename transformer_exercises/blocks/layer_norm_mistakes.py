"""Wrong and right answers to `LayerNorm`. The reference (08-blocks):

class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)  # (..., 1)
        variance = x.var(dim=-1, keepdim=True, unbiased=False)  # (..., 1)
        normalised = (x - mean) / torch.sqrt(variance + self.eps)  # (..., dim): eps saves rows that are constant
        return self.weight * normalised + self.bias
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

DEVIATION = "torch.sqrt(variance + self.eps)"
VARIANCE = "x.var(dim=-1, keepdim=True, unbiased=False)"

# Right answers in other styles


class written_out(RightAnswer):
    edits = {
        VARIANCE: "((x - mean) ** 2).sum(dim=-1, keepdim=True) / x.shape[-1]",
        "/ torch.sqrt(variance + self.eps)": "* (variance + self.eps).rsqrt()",
    }


class std_squared(RightAnswer):
    edits = {DEVIATION: "(x.std(dim=-1, keepdim=True, correction=0) ** 2 + self.eps) ** 0.5"}


class moments(RightAnswer):
    edits = {
        VARIANCE: "torch.linalg.vecdot(x - mean, x - mean)[..., None] / x.size(-1)",
        "self.weight * normalised": "torch.einsum('...c,c->...c', normalised, self.weight)",
    }


# Mistakes


class unbiased_variance(Minor):
    """The variance divides by dim − 1, PyTorch's default: here it divides by dim (`unbiased=False`)."""

    edits = {"False": "True"}


class unbiased_std_plus_eps(Minor):
    """`std` divides by dim − 1, and eps is outside the root: √(variance + eps), unbiased=False."""

    edits = {DEVIATION: "(x.std(dim=-1, keepdim=True) + self.eps)"}


class eps_outside(Minor):
    """eps is not added to the variance, but to the standard deviation, or it is squared or a lower bound: it belongs
    inside the root, √(variance + eps).
    """

    variants = [
        {DEVIATION: ["(torch.sqrt(variance) + self.eps)", "torch.sqrt(variance).clamp(min=self.eps)"]},
        {"variance + self.eps": ["variance.clamp(min=self.eps)", "variance + self.eps**2"]},
    ]


class no_eps(Minor):
    """eps is not used, so a row of equal numbers gives 0/0 = NaN: divide by √(variance + eps)."""

    edits = {"variance + self.eps": "variance"}


class eps_fixed(Misconception):
    """The argument eps is ignored: the number in the formula must be the one that was given."""

    edits = {"= eps": ["= 1e-5", "= 1e-6"]}


class eps_default(Minor):
    """The default of eps is not 1e-5: LayerNorm(dim, eps=1e-5)."""

    edits = {"-5": ["-6", "-8", "-12", "-3", "-4", "-7"]}


class divided_by_variance(Minor):
    """x − mean is divided by the variance, or multiplied by its root: divide by the root, the standard deviation."""

    variants = [{"torch.sqrt": ""}, {"/": "*"}]


class mean_square(Misconception):
    """The mean of x² is not the variance: subtract the mean before squaring."""

    edits = {"var(dim=-1, keepdim=True, unbiased=False)": "pow(2).mean(dim=-1, keepdim=True)"}


class mean_not_subtracted(Misconception):
    """The mean is not subtracted from x: (x − mean) is divided by the root."""

    variants = [{"(x - mean)": "x"}, mean_square.edited({"(x - mean)": "x"})]


class not_divided(Misconception):
    """The variance plays no part, or x itself is scaled: after the mean is subtracted, divide by √(variance + eps)."""

    variants = [{"/ torch.sqrt(variance + self.eps)": ""}, {"* normalised": "* x"}]


class brackets(Minor):
    """Brackets are missing: (x − mean) as a whole is divided by the root, and multiplied with weight."""

    variants = [
        {"* normalised": "* x - mean / torch.sqrt(variance + self.eps)"},
        {"(x - mean)": "x - mean"},
        {"(variance + self.eps)": "(variance) + self.eps"},
    ]


class sum_of_squares(Minor):
    """The squares are added up, not averaged: the variance divides by dim."""

    edits = {VARIANCE: "(x - mean).pow(2).sum(dim=-1, keepdim=True)"}


class absolute_deviation(Misconception):
    """The deviations are averaged without being squared: the variance is the mean of (x − mean)²."""

    edits = {VARIANCE: "(x - mean).abs().mean(dim=-1, keepdim=True)"}


class cancellation(Misconception):
    """mean(x²) − mean(x)² loses all its digits in float32 where the mean is large: average (x − mean)²."""

    edits = {"var(dim=-1, keepdim=True, unbiased=False)": "pow(2).mean(dim=-1, keepdim=True) - mean**2"}


class over_tokens(Misconception):
    """Mean and variance run over the tokens, or over the batch (batch normalisation): each vector is normalised by
    itself, over dim=-1.
    """

    variants = [
        {"(dim=-": "(dim="},
        {"(dim=-1": ["(dim=-2", "(dim=0", "(dim=min(1, x.dim() - 1)"]},
        {"mean(dim=-1": ["mean(dim=1", "mean(dim=-2", "mean(dim=0"]},
        {"var(dim=-1": ["var(dim=1", "var(dim=-2", "var(dim=0"]},
    ]


class over_everything(Misconception):
    """One mean and variance serve several dimensions: each vector is normalised by itself, over dim=-1."""

    variants = [
        {"dim=-1, keepdim=True, unbiased=False": ["unbiased=False", ""], "mean(dim=-1, keepdim=True)": "mean()"},
        {
            "(dim=-1": [
                "(dim=(-2, -1)",
                "(dim=(1, 2)",
                "(dim=(-2, -1)[-x.dim() :]",
                "(dim=tuple(range(1, x.dim()))",
                "(dim=tuple(range(1, x.dim())) or -1",
            ]
        },
        {"mean(dim=-1, keepdim=True)": "mean()"},
        {"dim=-1, keepdim=True, unbiased": "unbiased"},
    ]


class keepdim_forgotten(Minor):
    """mean or variance lose their last dimension (`keepdim=True` is missing) and fit x by chance."""

    variants = [
        {", keepdim=True": ""},
        {"keepdim=True, unbiased": "unbiased"},
        {"mean(dim=-1, keepdim=True)": "mean(dim=-1)"},
    ]


class three_dimensions_only(Misconception):
    """x is taken to have three dimensions: [..., dim] may have any number of them, one too."""

    variants = [{"mean =": "B, T, C = x.shape\nmean ="}, {"(dim=-1": "(dim=2"}]


class weight_and_bias_unused(Misconception):
    """weight or bias is not used: the result is weight · normalised + bias."""

    edits = {
        "self.weight * normalised + self.bias": ["normalised + self.bias", "normalised", "self.weight * normalised"]
    }


class weight_and_bias_swapped(Minor):
    """weight and bias are swapped, or the bias is added before the weight multiplies: weight · normalised + bias."""

    variants = [
        {"weight * normalised + self.bias": "bias * normalised + self.weight"},
        {"normalised + self.bias": "(normalised + self.bias)"},
    ]


class weight_and_bias_first(Misconception):
    """weight and bias act on x, before it is normalised, which takes most of them away: they come last."""

    edits = {"mean =": "x = self.weight * x + self.bias\nmean =", "self.weight * normalised + self.bias": "normalised"}


class running_statistics(Misconception):
    """In evaluation mode, mean and variance are kept from training, as in batch normalisation: each vector is
    normalised by its own, in both modes.
    """

    edits = {
        "self.eps = eps": """
            self.eps = eps
            self.register_buffer("kept_mean", torch.zeros(1))
            self.register_buffer("kept_variance", torch.ones(1))
        """,
        "normalised =": """
            if self.training:
                self.kept_mean = 0.9 * self.kept_mean + 0.1 * mean.mean().detach()
                self.kept_variance = 0.9 * self.kept_variance + 0.1 * variance.mean().detach()
            else:
                mean, variance = self.kept_mean.to(x.dtype), self.kept_variance.to(x.dtype)
            normalised =
        """,
    }


class other_start(Minor):
    """weight and bias start at other numbers: at one and zero, a fresh layer only normalises. (Nor is 1 + weight the
    factor: weight itself multiplies.)
    """

    variants = [
        {"ones": ["zeros", "randn"]},
        {"self.weight *": "(1 + self.weight) *", "ones": "zeros"},
        {"ones": "randn", "zeros": "randn"},
        {"zeros": "ones"},
        {"ones": "zeros", "bias = nn.Parameter(torch.zeros(dim))": "bias = nn.Parameter(torch.ones(dim))"},
    ]


class other_shape(Misconception):
    """weight and bias are single numbers, or have more than one dimension: each has the shape (dim,), a number for
    each column, and broadcasts by itself.
    """

    variants = [
        {"(dim)": ["(1)", "(1, dim)", "(1, 1, dim)"]},
        {"ones(dim)": "tensor(1.0)", "zeros(dim)": "tensor(0.0)"},
    ]


class not_parameters(Misconception):
    """weight or bias is missing, or a plain tensor or buffer, which nothing trains: wrap each in nn.Parameter."""

    variants = [
        {"nn.Parameter(torch.": "(torch."},
        {
            "weight = nn.Parameter(torch.ones(dim))": "register_buffer('weight', torch.ones(dim))",
            "bias = nn.Parameter(torch.zeros(dim))": "register_buffer('bias', torch.zeros(dim))",
        },
        {"self.bias = nn.Parameter(torch.zeros(dim))": "", "+ self.bias": ""},
        {
            "bias = nn.Parameter(torch.zeros(dim))": [
                "register_buffer('bias', torch.zeros(dim))",
                "bias = torch.zeros(dim)",
            ]
        },
        {
            "weight = nn.Parameter(torch.ones(dim))": [
                "register_buffer('weight', torch.ones(dim))",
                "weight = torch.ones(dim)",
            ]
        },
    ]


class other_names(Minor):
    """The parameters have other names: `weight` and `bias`, as in nn.LayerNorm, let weights be loaded."""

    variants = [{"weight": "gamma", ".bias": ".beta"}, {"weight": "scale", ".bias": ".shift"}]


class statistics_detached(Misconception):
    """Part is cut off (`detach`, `.data`, `no_grad`): gradients flow through mean and variance too."""

    variants = [
        {"(dim=-1, keepdim=True, unbiased=False)": "(dim=-1, keepdim=True, unbiased=False).detach()"},
        {
            "mean(dim=-1, keepdim=True)": "mean(dim=-1, keepdim=True).detach()",
            "(dim=-1, keepdim=True, unbiased=False)": "(dim=-1, keepdim=True, unbiased=False).detach()",
        },
        {
            "self.weight * normalised + self.bias": [
                "(self.weight * normalised + self.bias).detach()",
                "self.weight.data * normalised + self.bias.data",
            ]
        },
    ]


class single_precision_inside(common_mistakes.single_precision_inside):
    edits = {"mean =": "x = x.float()\nmean ="}


class no_super(Fundamental, shared_mistakes.no_super):
    edits = {"super().__init__()": ""}


class not_a_module(Fundamental, shared_mistakes.not_a_module):
    based_on = no_super
    edits = {"(nn.Module)": "", "forward": "__call__"}


class forward_misspelt(Fundamental, shared_mistakes.forward_misspelt):
    edits = {"forward": "foward"}
