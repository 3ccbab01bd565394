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


class drawn_in_vain(RightAnswer):  # where the rate is 0, which changes nothing but the state of the generator
    based_on = dropout_by_hand
    edits = {" or self.rate == 0": ""}


# Mistakes


class no_activation(Misconception):
    """There is no activation between the layers: two linear maps in a row are only one linear map."""

    edits = {"activation(self.linear1(x))": "linear1(x)"}


class activation_ignored(Misconception):
    """The argument `activation` is ignored: whatever function is given stands between the layers."""

    edits = {"= activation": ["= F.relu", "= F.gelu if activation is not F.relu else F.relu"]}


class other_default(Minor):
    """Where no activation is given, another function than ReLU stands between the layers: keep the argument, whose
    default is F.relu, and call it.
    """

    variants = [{"F.relu": ["F.gelu", "F.silu"]}, {"= activation": ["= F.gelu", "= nn.GELU('tanh')", "= F.silu"]}]


class activation_last(Misconception):
    """The activation is applied to the result, or to x: it stands between the two layers, and nowhere else."""

    variants = [
        no_activation.edited({"linear2(hidden)": "activation(self.linear2(hidden))"}),
        {"linear2(hidden)": "activation(self.linear2(hidden))"},
        {"activation(self.linear1(x))": "linear1(self.activation(x))"},
    ]


class activation_in_sequential(Fundamental):
    """`activation` is a function of a tensor: `__init__` keeps it, and forward calls it. (nn.Sequential takes modules
    only, F.relu is none; and `activation()` has no tensor to act on.)
    """

    edits = {
        "self.activation = activation": [
            "self.net = nn.Sequential(self.linear1, activation, self.linear2, self.dropout)",
            "self.activation = activation()",
        ]
    }


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
    """Dropout is applied to the hidden layer or to x: it comes last, after the second linear layer."""

    based_on = dropout_unused
    variants = [
        {"activation(self.linear1(x))": "dropout(self.activation(self.linear1(x)))"},
        {"(x)": "(self.dropout(x))"},
    ]


class dropout_twice(Misconception):
    """Dropout is applied in two places: only once, after the second linear layer."""

    variants = [
        {"activation(self.linear1(x))": "dropout(self.activation(self.linear1(x)))"},
        {"linear2(hidden)": "dropout(self.linear2(hidden))"},
    ]


class dropout_without_scale(Minor):
    """What dropout leaves is not divided by 1 − p, so in training all sums are smaller than in evaluation: nn.Dropout
    does it by itself.
    """

    variants = [
        dropout_by_hand.edited({"y / (1 - self.rate)": "y"}),
        dropout_by_hand.edited(
            {
                "if not self.training or self.rate == 0: return y": "",
                "return torch.where(torch.rand_like(y) >= self.rate, y / (1 - self.rate), 0.0)": (
                    "return y * torch.bernoulli(torch.full_like(y, 1 - self.rate)) if self.training else y"
                ),
            }
        ),
    ]


class dropout_in_evaluation(shared_mistakes.dropout_in_evaluation):
    edits = {
        "self.dropout(self.linear2(hidden))": [
            "F.dropout(self.linear2(hidden), self.dropout.p)",
            "F.dropout(self.linear2(hidden), self.dropout.p, training=not self.training)",
        ]
    }


class dropout_fixed(Minor):
    """The probability of dropout is a fixed number, or its default is not 0: use nn.Dropout(dropout)."""

    variants = [{"(dropout)": ["(0.1)", "()"]}, {"0.0": ["0.1", "0.5"]}]


class keep_probability(Minor):
    """`dropout` is the probability of dropping a number, not of keeping it."""

    edits = {"(dropout)": ["(1 - dropout)", "(1 - dropout if dropout else 0.0)"]}


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


class no_bias(Minor, shared_mistakes.no_bias):
    variants = [
        {"_dim)": "_dim, bias=False)"},
        {"(embed_dim, ff_dim)": "(embed_dim, ff_dim, bias=False)"},
        {"ff_dim, embed_dim": "ff_dim, embed_dim, bias=False"},
    ]


class three_dimensions_only(Misconception):
    """x is taken to have three dimensions: any number of them is allowed before the last."""

    variants = [
        {"hidden =": "B, T, C = x.shape\nhidden ="},
        {"(self.linear2(hidden))": "(self.linear2(hidden)).flatten(0, 1).view(x.shape[0], x.shape[1], -1)"},
    ]


class residual(Minor):
    """x is added to the result: the residual connection belongs to the block."""

    edits = {"(self.linear2(hidden))": "(self.linear2(hidden)) + x"}


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


class no_super(Fundamental, shared_mistakes.no_super):
    edits = {"super().__init__()": ""}


class not_a_module(Fundamental, shared_mistakes.not_a_module):
    based_on = no_super
    edits = {"(nn.Module)": "", "forward": "__call__"}


class forward_misspelt(Fundamental, shared_mistakes.forward_misspelt):
    edits = {"forward": "foward"}
