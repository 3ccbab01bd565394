"""Wrong and right answers to `SwiGLU`. The reference (08-blocks-further):

class SwiGLU(nn.Module):
    def __init__(self, embed_dim, ff_dim):
        super().__init__()
        self.gate = nn.Linear(embed_dim, ff_dim, bias=False)
        self.up = nn.Linear(embed_dim, ff_dim, bias=False)
        self.down = nn.Linear(ff_dim, embed_dim, bias=False)

    def forward(self, x):
        gate = F.silu(self.gate(x))  # (..., F): how much
        return self.down(gate * self.up(x))  # (..., C)
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class sigmoid_written_out(RightAnswer):
    edits = {"gate = F.silu(self.gate(x))": "z = self.gate(x)\ngate = z * torch.sigmoid(z)"}


class functional(RightAnswer):
    edits = {"self.down(gate * self.up(x))": "F.linear(F.linear(x, self.up.weight).mul(gate), self.down.weight)"}


class einsum(RightAnswer):
    edits = {
        "self.gate(x)": "torch.einsum('...c,fc->...f', x, self.gate.weight)",
        "self.down(gate * self.up(x))": "torch.einsum('...f,...f,cf->...c', gate, self.up(x), self.down.weight)",
    }


# Mistakes


class no_activation(Misconception):
    """There is no SiLU: the gate would be a plain linear map."""

    edits = {"F.silu(self.gate(x))": "self.gate(x)"}


class gate_and_up_swapped(Minor):
    """The SiLU stands on the branch `up`: it belongs on `gate`, and `up` stays linear."""

    based_on = no_activation
    edits = {"self.up(x)": "F.silu(self.up(x))"}


class silu_on_both(Misconception):
    """The SiLU acts on both branches: on `gate` alone; `up` stays linear."""

    edits = {"self.up(x)": "F.silu(self.up(x))"}


class silu_on_the_product(Misconception):
    """The SiLU acts on the product, on the result or on x: it acts on what the layer `gate` gives, before the two
    branches meet.
    """

    variants = [
        gate_and_up_swapped.edited({"gate * F.silu(self.up(x))": "F.silu(gate * self.up(x))"}),
        gate_and_up_swapped.edited({"self.down(gate * F.silu(self.up(x)))": "F.silu(self.down(gate * self.up(x)))"}),
        {"F.silu(self.gate(x))": "self.gate(F.silu(x))"},
    ]


class other_activation(Minor):
    """Another activation than SiLU bends the gate (σ as in the first gated networks, GLU; ReLU, GELU …): SiLU(z) =
    z · σ(z).
    """

    edits = {
        "F.silu": [
            *("torch.sigmoid", "F.relu", "F.gelu", "torch.tanh", "F.softplus", "F.elu", "F.mish"),
            "(lambda z: z * torch.sigmoid(1.702 * z))",  # the quick approximation of GELU
            "(lambda z: F.gelu(z, approximate='tanh'))",
        ]
    }


class added(Misconception):
    """The branches are added: they are multiplied, number by number, so that a gate at 0 lets nothing through."""

    edits = {"*": "+"}


class up_missing(Misconception):
    """The branch `up` or the branch `gate` plays no part: the result is down(SiLU(gate(x)) ⊙ up(x))."""

    variants = [{"gate * self.up(x)": "gate"}, {"gate * self": "self"}]


class one_branch_for_both(Misconception):
    """Gate and value come from the same layer: `gate` and `up` are two matrices."""

    variants = [{"up(x)": "gate(x)"}, {"gate(x)": "up(x)"}]


class gates_x(Misconception):
    """The gate is multiplied by x itself, or acts after `down`: it meets up(x), in the hidden layer."""

    edits = {
        "self.down(gate * self.up(x))": ["x * self.down(gate * self.up(x))", "self.down(gate) * self.down(self.up(x))"]
    }


class in_series(Misconception):
    """The layers stand one behind the other: gate and up both read x, side by side."""

    edits = {
        "up = nn.Linear(embed_dim, ff_dim, bias=False)": "up = nn.Linear(ff_dim, ff_dim, bias=False)",
        "up(x)": "up(self.gate(x))",
    }


class biases(Minor):
    """The layers have biases: SwiGLU has none (`bias=False`)."""

    variants = [
        {"False": "True"},
        {"embed_dim, bias=False": "embed_dim"},
        {"gate = nn.Linear(embed_dim, ff_dim, bias=False)": "gate = nn.Linear(embed_dim, ff_dim)"},
        {"up = nn.Linear(embed_dim, ff_dim, bias=False)": "up = nn.Linear(embed_dim, ff_dim)"},
        {"ff_dim, embed_dim, bias=False": "ff_dim, embed_dim"},
    ]


class two_thirds(Minor):
    """The hidden width is changed (two thirds of ff_dim, or rounded up): it is ff_dim, as given."""

    edits = {
        "__init__()": [
            "__init__()\nff_dim = int(2 * ff_dim / 3)",
            "__init__()\nff_dim = max(1, 2 * ff_dim // 3)",
            "__init__()\nff_dim = 8 * ((ff_dim + 7) // 8)",
        ]
    }


class ff_dim_ignored(Misconception):
    """ff_dim is taken to be a multiple of embed_dim: use the ff_dim that is given."""

    edits = {"__init__()": ["__init__()\nff_dim = 4 * embed_dim", "__init__()\nff_dim = 8 * embed_dim // 3"]}


class widths_swapped(Minor):
    """embed_dim and ff_dim have changed places: SwiGLU(embed_dim, ff_dim)."""

    edits = {"embed_dim, ff_dim)": "ff_dim, embed_dim)"}


class down_missing(Misconception):
    """The result is not brought back to embed_dim: the layer `down` comes last."""

    edits = {"self.down(gate * self.up(x))": "gate * self.up(x)"}


class other_names(Minor):
    """The layers have other names: `gate`, `up` and `down` let weights be loaded."""

    edits = {".gate": ".w1", ".up": ".w3", "down": "w2"}


class one_matrix_for_two(Misconception):
    """`gate` and `up` are one layer (of twice the width, or the same one twice): each is a layer of its own."""

    variants = [
        {
            "gate = nn.Linear(embed_dim, ff_dim, bias=False)": "gate_up = nn.Linear(embed_dim, 2 * ff_dim, bias=False)",
            "self.up = nn.Linear(embed_dim, ff_dim, bias=False)": "",
            "gate = F.silu(self.gate(x))": "gate, up = self.gate_up(x).chunk(2, dim=-1)",
            "gate * self.up(x)": "F.silu(gate) * up",
        },
        {"up = nn.Linear(embed_dim, ff_dim, bias=False)": "up = self.gate"},
    ]


class bare_parameters(Misconception):
    """The layers are bare matrices (nn.Parameter): nn.Linear(…, bias=False) starts the weight well."""

    edits = {
        "Linear(embed_dim, ff_dim, bias=False)": "Parameter(torch.randn(embed_dim, ff_dim))",
        "Linear(ff_dim, embed_dim, bias=False)": "Parameter(torch.randn(ff_dim, embed_dim))",
        "self.gate(x)": "x @ self.gate",
        "self.down(gate * self.up(x))": "(gate * (x @ self.up)) @ self.down",
    }


class layers_made_in_forward(Fundamental, shared_mistakes.layers_made_in_forward):
    edits = {"self.gate(x)": "nn.Linear(x.shape[-1], self.gate.out_features, bias=False)(x)"}


class residual(Minor):
    """x is added to the result, or there is dropout in training: neither is asked for, both belong to the block."""

    variants = [
        {"return self": "return x + self"},
        {
            "self.down(gate * self.up(x))": [
                "F.dropout(self.down(gate * self.up(x)), 0.1, self.training)",
                "self.down(F.dropout(gate * self.up(x), 0.1, self.training))",
            ]
        },
    ]


class normalised(Misconception):
    """A norm is applied: it belongs to the block."""

    variants = [
        {"gate(x)": "gate(F.layer_norm(x, x.shape[-1:]))"},
        {"self.down(gate * self.up(x))": "F.rms_norm(self.down(gate * self.up(x)), x.shape[-1:])"},
    ]


class three_dimensions_only(Misconception):
    """x is taken to have three dimensions: any number of them is allowed before the last."""

    edits = {"gate = F": "B, T, C = x.shape\ngate = F"}


class other_signature(Minor):
    """A parameter has another name than in the signature: SwiGLU(embed_dim, ff_dim), forward(x)."""

    edits = {"(self, x):": "(self, tokens):\n    x = tokens"}


class no_super(Fundamental, shared_mistakes.no_super):
    edits = {"super().__init__()": ""}


class not_a_module(Fundamental, shared_mistakes.not_a_module):
    based_on = no_super
    edits = {"(nn.Module)": "", "forward": "__call__"}


class forward_misspelt(Fundamental, shared_mistakes.forward_misspelt):
    edits = {"forward": "foward"}
