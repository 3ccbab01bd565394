"""Wrong and right answers to `FeedForward`. The reference (08-blocks):

class FeedForward(nn.Module):
    def __init__(self, embed_dim, ff_dim, dropout=0.0, activation=F.relu):
        super().__init__()
        self.linear1 = nn.Linear(embed_dim, ff_dim)
        self.linear2 = nn.Linear(ff_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)
        self.activation = activation

    def forward(self, x):
        hidden = self.activation(self.linear1(x))  # (..., ff_dim)
        return self.dropout(self.linear2(hidden))  # (..., C)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

RETURN = "return self.dropout(self.linear2(hidden))"

# Right answers in other styles


class two_sequentials(RightAnswer):
    edits = {
        "linear2 = nn.Linear(ff_dim, embed_dim)": (
            "outer = nn.Sequential(nn.Linear(ff_dim, embed_dim), nn.Dropout(p=dropout))"
        ),
        "self.dropout = nn.Dropout(dropout)": "",
        "dropout(self.linear2(hidden))": "outer(hidden)",
    }


class functional_dropout(RightAnswer):
    edits = {
        "linear1": "w1",
        "linear2": "w2",
        "dropout = nn.Dropout(dropout)": "p = dropout",
        "self.dropout(self.w2(hidden))": "F.dropout(self.w2(hidden), p=self.p, training=self.training)",
    }


class dropout_by_hand(RightAnswer):
    edits = {
        "self.dropout = nn.Dropout(dropout)": "self.rate = dropout",
        RETURN: """
            y = F.linear(hidden, self.linear2.weight, self.linear2.bias)
            if not self.training or self.rate == 0: return y
            return torch.where(torch.rand_like(y) >= self.rate, y / (1 - self.rate), 0.0)
        """,
    }


# Mistakes


class no_activation(Misconception):
    """There is no activation between the layers: two linear maps in a row are only one linear map."""

    edits = {"activation(self.linear1(x))": "linear1(x)"}


class activation_ignored(Misconception):
    """The argument `activation` is ignored: whatever function is given stands between the layers."""

    edits = {"= activation": ["= F.relu", "= F.gelu if activation is not F.relu else F.relu"]}


class other_default(Minor):
    """The default activation is not ReLU: activation=F.relu."""

    variants = [{"F.relu": ["F.gelu", "F.silu", "torch.tanh"]}, {"= activation": "= F.gelu"}]


class activation_last(Misconception):
    """The activation is applied to the result: it stands between the two layers, and nowhere else."""

    variants = [
        no_activation.edited({"linear2(hidden)": "activation(self.linear2(hidden))"}),
        {"linear2(hidden)": "activation(self.linear2(hidden))"},
    ]


class activation_first(Misconception):
    """The activation is applied to x, before the first layer: it stands between the two layers."""

    edits = {"activation(self.linear1(x))": "linear1(self.activation(x))"}


class activation_in_sequential(Fundamental):
    """nn.Sequential takes modules, F.relu is a function: call it in forward."""

    edits = {
        "self.activation = activation": (
            "self.net = nn.Sequential(self.linear1, activation, self.linear2, self.dropout)"
        )
    }


class activation_called_at_once(Fundamental):
    """`activation` is called in `__init__`: keep the function, and call it in forward."""

    edits = {"= activation": "= activation()"}


class activation_required(Misconception):
    """The parameters of `__init__` are not (embed_dim, ff_dim, dropout=0.0, activation=F.relu)."""

    variants = [
        {
            "dropout=0.0, activation=F.relu": [
                "activation=F.relu, dropout=0.0",
                "dropout, activation",
                "dropout=0.0, *, activation=F.relu",
            ]
        },
        {"activation=": "act=", "= activation": "= act"},
    ]


class dropout_unused(Misconception):
    """Dropout is never applied: it comes after the second layer."""

    edits = {"self.dropout(": "("}


class dropout_inside(Misconception):
    """Dropout is applied to the hidden layer: it comes last, after the second linear layer."""

    based_on = dropout_unused
    edits = {"activation(self.linear1(x))": "dropout(self.activation(self.linear1(x)))"}


class dropout_twice(Misconception):
    """Dropout is applied in two places: only once, after the second linear layer."""

    variants = [
        {"activation(self.linear1(x))": "dropout(self.activation(self.linear1(x)))"},
        {"linear2(hidden)": "dropout(self.linear2(hidden))"},
    ]


class dropout_of_input(Misconception):
    """Dropout is applied to x: it comes last, after the second linear layer."""

    based_on = dropout_unused
    edits = {"(x)": "(self.dropout(x))"}


class dropout_in_evaluation(shared_mistakes.dropout_in_evaluation):
    edits = {
        "self.dropout(self.linear2(hidden))": [
            "F.dropout(self.linear2(hidden), self.dropout.p)",
            "F.dropout(self.linear2(hidden), self.dropout.p, training=not self.training)",
        ]
    }


class dropout_fixed(Minor):
    """The probability of dropout is a fixed number, or its default is not 0: use nn.Dropout(dropout)."""

    variants = [{"(dropout)": ["(0.1)", "()", "(0.2)"]}, {"0.0": ["0.1", "0.5"]}]


class keep_probability(Minor):
    """`dropout` is the probability of dropping a number, not of keeping it."""

    edits = {"(dropout)": "(1 - dropout)"}


class dropout_without_scale(Misconception):
    """What is not dropped is not scaled up by 1/(1 − p), as nn.Dropout does."""

    edits = {
        RETURN: """
            result = self.linear2(hidden)
            if not self.training: return result
            return result * (torch.rand_like(result) >= self.dropout.p)
        """
    }


class dropout_of_tokens(Misconception):
    """Whole tokens or columns are dropped: each number is dropped on its own (nn.Dropout)."""

    variants = [
        {"Dropout": "Dropout1d"},
        {
            RETURN: """
                result = self.linear2(hidden)
                return result * self.dropout(torch.ones_like(result[..., :1]))
            """
        },
    ]


class sizes_do_not_fit(Misconception):
    """The two layers do not fit together: the second goes from ff_dim back to embed_dim."""

    edits = {"ff_dim, embed_dim": ["embed_dim, ff_dim", "ff_dim, ff_dim", "embed_dim, embed_dim"]}


class widths_swapped(Minor):
    """The two widths are swapped: the first layer goes from embed_dim to ff_dim, the second back."""

    based_on = sizes_do_not_fit
    edits = {"linear1 = nn.Linear(embed_dim, ff_dim)": "linear1 = nn.Linear(ff_dim, embed_dim)"}


class ff_dim_ignored(Misconception):
    """The hidden width is not ff_dim (4 · embed_dim is common, but here it is given)."""

    edits = {
        "__init__()": [
            "__init__()\nff_dim = 4 * embed_dim",
            "__init__()\nff_dim = embed_dim",
            "__init__()\nff_dim = 2048",
        ]
    }


class one_layer(Fundamental):
    """There is one layer only: a second one leads from ff_dim back to embed_dim."""

    edits = {"self.linear2 = nn.Linear(ff_dim, embed_dim)": "", "self.linear2(hidden)": "hidden"}


class three_layers(Misconception):
    """There is a layer too many: embed_dim → ff_dim → embed_dim, two layers."""

    variants = [
        {
            "(ff_dim, embed_dim)": "(ff_dim, embed_dim)\nself.linear3 = nn.Linear(ff_dim, ff_dim)",
            "linear1(x)": "linear3(self.activation(self.linear1(x)))",
        },
        {
            "(ff_dim, embed_dim)": """
                (ff_dim, embed_dim)
                self.linear3 = nn.Linear(embed_dim, embed_dim)
            """,
            "linear2(hidden)": "linear3(self.linear2(hidden))",
        },
    ]


class shared_weights(Misconception):
    """The second layer uses the first one's weights: it has its own."""

    variants = [
        {
            "linear2 = nn.Linear(ff_dim, embed_dim)": "bias = nn.Parameter(torch.zeros(embed_dim))",
            "self.linear2(hidden)": "(hidden @ self.linear1.weight + self.bias)",
        },
        {"self.linear2(hidden)": "(hidden @ self.linear1.weight + self.linear2.bias)"},
    ]


class second_layer_unused(Misconception):
    """One of the two layers is never used: embed_dim → ff_dim → embed_dim."""

    variants = [
        {
            "self.activation(self.linear1(x))": "x",
            "self.linear2(hidden)": "(hidden + 0 * self.linear2(self.linear1(hidden)))",
        },
        {"self.linear2(hidden)": "hidden"},
    ]


class no_bias(Minor, shared_mistakes.no_bias):
    variants = [
        {"_dim)": "_dim, bias=False)"},
        {"(embed_dim, ff_dim)": "(embed_dim, ff_dim, bias=False)"},
        {"ff_dim, embed_dim": "ff_dim, embed_dim, bias=False"},
    ]


class positions_mixed(Misconception):
    """Positions are mixed (a mean, a flatten, a layer over T): each goes through the layers on its own."""

    edits = {
        "(x)": [
            "(x.mean(-2, True).expand_as(x) if x.dim() > 1 else x)",
            "(x + x.mean(-2, True) if x.dim() > 1 else x)",
            "(x.cumsum(dim=-2) if x.dim() > 1 else x)",
        ]
    }


class three_dimensions_only(Misconception):
    """x is taken to have three dimensions: any number of them is allowed before the last."""

    variants = [
        {"hidden =": ["B, T, C = x.shape\nhidden =", "assert x.dim() <= 4\nhidden ="]},
        {"(self.linear2(hidden))": "(self.linear2(hidden)).flatten(0, 1).view(x.shape[0], x.shape[1], -1)"},
    ]


class residual(Minor):
    """x is added to the result: the residual connection belongs to the block."""

    edits = {"return self": "return x + self"}


class normalised(Misconception):
    """A layer norm is applied: it belongs to the block."""

    variants = [
        {"(x)": "(F.layer_norm(x, x.shape[-1:]))"},
        {"self.dropout(self.linear2(hidden))": "F.layer_norm(self.dropout(self.linear2(hidden)), x.shape[-1:])"},
        {
            "dropout(self.linear2(hidden))": [
                "norm(self.dropout(self.linear2(hidden)))",
                "norm(x + self.dropout(self.linear2(hidden)))",
            ],
            "(dropout)": "(dropout)\nself.norm = nn.LayerNorm(embed_dim)",
        },
    ]


class bare_parameters(Misconception):
    """The layers are bare matrices (nn.Parameter): nn.Linear holds weight and bias, and starts them well."""

    edits = {
        "linear1 = nn.Linear(embed_dim, ff_dim)": [
            "w1 = nn.Parameter(torch.randn(embed_dim, ff_dim))",
            "w1 = nn.Parameter(torch.zeros(embed_dim, ff_dim))",
        ],
        "linear2 = nn.Linear(ff_dim, embed_dim)": "w2 = nn.Parameter(self.w1.detach().mT.clone())",
        "(dropout)": """
            (dropout)
            self.b1, self.b2 = nn.Parameter(torch.zeros(ff_dim)), nn.Parameter(torch.zeros(embed_dim))
        """,
        "self.linear1(x)": "x @ self.w1 + self.b1",
        "self.linear2(hidden)": "hidden @ self.w2 + self.b2",
    }


class layers_made_in_forward(Fundamental, shared_mistakes.layers_made_in_forward):
    edits = {"self.linear1(x)": "nn.Linear(x.shape[-1], self.linear1.out_features)(x)"}


class layers_in_a_list(Fundamental, shared_mistakes.layers_in_a_list):
    based_on = one_layer
    edits = {
        "linear1(x)": "layers[0](x)",
        "linear1 = nn.Linear(embed_dim, ff_dim)": (
            "layers = [nn.Linear(embed_dim, ff_dim), nn.Linear(ff_dim, embed_dim)]"
        ),
        "dropout(hidden)": "dropout(self.layers[1](hidden))",
    }


class same_start(Misconception):
    """A layer starts with all its weights alike (zeros, ones): every hidden feature would learn the same."""

    edits = {
        "self.dropout =": [
            "nn.init.zeros_(self.linear2.weight)\nself.dropout =",
            "nn.init.ones_(self.linear1.weight)\nself.dropout =",
        ]
    }


class frozen(Minor):
    """Parameters do not train (requires_grad=False)."""

    edits = {"(dropout)": "(dropout)\nself.requires_grad_(False)"}


class single_precision(common_mistakes.single_precision):
    edits = {"(x)": "(x.float())"}


class input_changed(common_mistakes.input_changed):
    variants = [
        {"hidden =": "x -= x.mean(dim=-1, keepdim=True)\nhidden ="},
        {RETURN: "x += self.dropout(self.linear2(hidden))\nreturn x"},
    ]


class size_limited(shared_mistakes.size_limited):
    edits = {
        "hidden =": [
            "assert x.shape[-1] <= 512\nhidden =",
            "assert x.dim() < 2 or x.shape[-2] <= 512\nhidden =",
            "x = x[..., :512, :] if x.dim() > 1 else x\nhidden =",
        ]
    }


class beginning_of_memory(shared_mistakes.beginning_of_memory):
    edits = {"hidden =": "x = torch.as_strided(x, x.shape, x.stride(), 0)\nhidden ="}


class no_super(Fundamental, shared_mistakes.no_super):
    edits = {"super().__init__()": ""}


class not_a_module(Fundamental, shared_mistakes.not_a_module):
    based_on = no_super
    edits = {"(nn.Module)": "", "forward": "__call__"}


class forward_misspelt(Fundamental, shared_mistakes.forward_misspelt):
    edits = {"forward": "foward"}
