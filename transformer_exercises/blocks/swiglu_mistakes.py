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

from autograder.spec import common_mistakes
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
    """The SiLU acts on the product: it acts on `gate` alone, before the two branches meet."""

    based_on = gate_and_up_swapped
    edits = {"gate * F.silu(self.up(x))": "F.silu(gate * self.up(x))"}


class silu_last(Misconception):
    """The SiLU acts on the result: it acts on `gate`, before the product."""

    based_on = gate_and_up_swapped
    edits = {"self.down(gate * F.silu(self.up(x)))": "F.silu(self.down(gate * self.up(x)))"}


class silu_of_x(Misconception):
    """The SiLU acts on x, before the layer `gate`: first the linear map, then the SiLU."""

    edits = {"F.silu(self.gate(x))": "self.gate(F.silu(x))"}


class sigmoid(Minor):
    """The gate is σ(z), as in the first gated networks (GLU): SwiGLU has SiLU(z) = z · σ(z)."""

    edits = {"F.silu(": "torch.sigmoid("}


class other_activation(Minor):
    """Another activation than SiLU bends the gate (ReGLU, GEGLU …): SiLU(z) = z · σ(z)."""

    edits = {"F.silu": ["torch.tanh", "F.relu", "F.gelu", "F.softplus", "F.mish", "F.hardswish"]}


class silu_scaled(Minor):
    """The SiLU is not z · σ(z): a factor stands in it, or a sign is turned."""

    edits = {
        "gate = F.silu(self.gate(x))": [
            "z = self.gate(x)\ngate = z * torch.sigmoid(1.702 * z)",
            "z = self.gate(x)\ngate = z * torch.sigmoid(-z)",
        ]
    }


class added(Misconception):
    """The branches are added: they are multiplied, number by number, so that a gate at 0 lets nothing through."""

    edits = {"*": "+"}


class softmax_gate(Misconception):
    """The gates share out a total of 1 (softmax): each hidden feature has a gate of its own, SiLU(z)."""

    edits = {"F.silu(self.gate(x))": "torch.softmax(self.gate(x), dim=-1)"}


class up_missing(Misconception):
    """The branch `up` plays no part: the result is down(SiLU(gate(x)) ⊙ up(x))."""

    edits = {"gate * self.up(x)": "gate"}


class gate_missing(Misconception):
    """The branch `gate` plays no part: the result is down(SiLU(gate(x)) ⊙ up(x))."""

    edits = {"gate * self": "self"}


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

    variants = [{"False": "True"}, {"embed_dim, bias=False": "embed_dim"}]


class two_thirds(Minor):
    """The hidden width is changed (two thirds of ff_dim, rounded up): it is ff_dim, as given."""

    edits = {"__init__()": ["__init__()\nff_dim = int(2 * ff_dim / 3)", "__init__()\nff_dim = 8 * ((ff_dim + 7) // 8)"]}


class ff_dim_ignored(Misconception):
    """ff_dim is taken to be a multiple of embed_dim: use the ff_dim that is given."""

    edits = {"__init__()": ["__init__()\nff_dim = 4 * embed_dim", "__init__()\nff_dim = 8 * embed_dim // 3"]}


class sizes_fixed(Fundamental):
    """The sizes are fixed numbers: they are embed_dim and ff_dim."""

    edits = {"embed_dim, ff_dim,": "512, 1365,", "ff_dim, embed_dim": "1365, 512"}


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
    """`gate` and `up` are one layer of twice the width: two layers let weights be loaded."""

    edits = {
        "gate = nn.Linear(embed_dim, ff_dim, bias=False)": "gate_up = nn.Linear(embed_dim, 2 * ff_dim, bias=False)",
        "self.up = nn.Linear(embed_dim, ff_dim, bias=False)": "",
        "gate = F.silu(self.gate(x))": "gate, up = self.gate_up(x).chunk(2, dim=-1)",
        "gate * self.up(x)": "F.silu(gate) * up",
    }


class tied(Minor):
    """`gate` and `up` are the same layer under two names: each has its own matrix."""

    variants = [
        {"up = nn.Linear(embed_dim, ff_dim, bias=False)": "up = self.gate"},
        {"self.down =": "self.up.load_state_dict(self.gate.state_dict())\nself.down ="},
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


class layers_in_a_list(Fundamental, shared_mistakes.layers_in_a_list):
    edits = {
        "embed_dim, bias=False)": """
            embed_dim, bias=False)
            self.layers = [self.gate, self.up, self.down]
            del self.gate, self.up, self.down
        """,
        "self.gate(x)": "self.layers[0](x)",
        "self.down(gate * self.up(x))": "self.layers[2](gate * self.layers[1](x))",
    }


class same_start(Misconception):
    """A layer starts with all its weights alike (zeros, ones): every hidden feature would learn the same."""

    edits = {
        "(ff_dim, embed_dim, bias=False)": [
            "(ff_dim, embed_dim, bias=False)\nnn.init.zeros_(self.down.weight)",
            "(ff_dim, embed_dim, bias=False)\nnn.init.ones_(self.gate.weight)",
        ]
    }


class frozen(Minor):
    """Parameters do not train (requires_grad=False)."""

    edits = {
        "(ff_dim, embed_dim, bias=False)": [
            "(ff_dim, embed_dim, bias=False)\nself.requires_grad_(False)",
            "(ff_dim, embed_dim, bias=False)\nself.gate.requires_grad_(False)",
        ]
    }


class gradient_cut_off(common_mistakes.gradient_cut_off):
    variants = [{"gate *": "gate.detach() *"}, {"up(x)": "up(x.detach())"}]


class residual(Minor):
    """x is added to the result: the residual connection belongs to the block."""

    edits = {"return self": "return x + self"}


class normalised(Misconception):
    """A norm is applied: it belongs to the block."""

    variants = [
        {"gate(x)": "gate(F.layer_norm(x, x.shape[-1:]))"},
        {"self.down(gate * self.up(x))": "F.rms_norm(self.down(gate * self.up(x)), x.shape[-1:])"},
    ]


class dropout(Minor):
    """There is dropout in training: it was not asked for here."""

    edits = {"self.down(gate * self.up(x))": "F.dropout(self.down(gate * self.up(x)), 0.1, self.training)"}


class three_dimensions_only(Misconception):
    """x is taken to have three dimensions: any number of them is allowed before the last."""

    edits = {"gate = F": ["B, T, C = x.shape\ngate = F", "assert x.dim() <= 4\ngate = F"]}


class mixes_positions(Misconception):
    """Positions are mixed: each goes through the three layers on its own."""

    edits = {"gate * self.up(x)": "(gate * self.up(x)).cumsum(dim=0)"}


class single_precision(common_mistakes.single_precision):
    variants = [{"gate(x)": "gate(x.float())"}, {"(self.gate(x))": "(self.gate(x)).float()"}]


class input_changed(common_mistakes.input_changed):
    edits = {
        "(self.gate(x))": """
            (self.gate(x))
            x *= 2
            x /= 2
            x += 1
        """
    }


class size_limited(shared_mistakes.size_limited):
    edits = {
        "gate = F": [
            "assert x.shape[-1] <= 512\ngate = F",
            "assert x.dim() < 2 or x.shape[-2] <= 512\ngate = F",
            "x = x[..., :512, :] if x.dim() > 1 else x\ngate = F",
        ]
    }


class beginning_of_memory(shared_mistakes.beginning_of_memory):
    edits = {"gate = F": "x = torch.as_strided(x, x.shape, x.stride(), 0)\ngate = F"}


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
