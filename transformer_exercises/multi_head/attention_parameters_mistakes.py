"""Wrong and right answers to `attention_parameters`. The reference (07-multi-head):

def attention_parameters(embed_dim, bias=True):
    weights = embed_dim * embed_dim  # of one projection
    biases = embed_dim if bias else 0
    return 4 * (weights + biases)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Minor, Misconception, RightAnswer

# Right answers in other styles


class one_line(RightAnswer):
    code = "return 4 * embed_dim**2 + (4 * embed_dim if bias else 0)"


class booleans_are_numbers(RightAnswer):
    code = """
    def attention_parameters(embed_dim: int, bias: bool = True) -> int:
        return 4 * embed_dim * (embed_dim + bias)
    """


class counted(RightAnswer):
    code = """
    return 4 * sum(p.numel() for p in nn.Linear(embed_dim, embed_dim, bias=bias, device='meta').parameters())
    """


# Mistakes


class output_forgotten(Minor):
    """Only three projections are counted: the output projection is the fourth."""

    edits = {"4 * (weights + biases)": ["3 * (weights + biases)", "3 * weights + 4 * biases"]}


class three_biases(Minor):
    """One bias too few, or only one in all: each of the four layers has C biases."""

    edits = {"(weights + biases)": ["weights + 3 * biases", "weights + biases"]}


class bias_as_matrix(Minor):
    """A bias counts as much as a matrix, or as one number: it is a vector, C numbers for a layer with C outputs."""

    variants = [{"if": "* embed_dim if"}, {"embed_dim if": "1 if"}]


class bias_ignored(Misconception):
    """`bias` makes no difference: with bias=False the 4C biases are not there."""

    variants = [{"if bias else 0": ""}, {"embed_dim if bias else 0": "0"}]


class output_keeps_its_bias(Minor):
    """With bias=False the output projection keeps its bias: then none of the four has one."""

    edits = {"4 * (weights + biases)": "4 * weights + 3 * biases + embed_dim"}


class bias_inverted(Minor):
    """bias=True and bias=False are swapped."""

    edits = {"embed_dim if bias else 0": "0 if bias else embed_dim"}


class conditional_for_all(Minor):
    """`a + b if bias else 0` means `(a + b) if bias else 0`: write a + (b if bias else 0)."""

    edits = {"(weights + biases)": ["weights + 4 * biases if bias else 0", "weights + 4 * biases if bias else None"]}


class caret(Misconception):
    """`^` is no power in Python (it is exclusive or): write `embed_dim ** 2`."""

    variants = [
        {"(weights + biases)": "embed_dim ^ 2 + 4 * biases"},
        {"embed_dim * embed_dim": "(embed_dim ^ 2)"},
        {"4 * (weights + biases)": ["(4 * embed_dim ^ 2) + 4 * biases", "4 * (embed_dim ^ 2 + biases)"]},
    ]


class bias_default(Minor):
    """The default of `bias` is True: attention_parameters(embed_dim, bias=True)."""

    edits = {"True": "False"}


class bias_not_a_parameter(Misconception):
    """`bias` is not a parameter, or has no default: attention_parameters(embed_dim, bias=True)."""

    variants = [bias_ignored.edited({"embed_dim, bias=True": "embed_dim"}), {"=True": ""}]


class one_projection(Misconception):
    """Only one projection is counted: there are four, for queries, keys, values and output."""

    edits = {"4 * (weights + biases)": "weights + biases"}


class square_of_sum(Misconception):
    """The four is squared too, or C is not: each of the four layers has C · C weights."""

    variants = [
        {"embed_dim * embed_dim": "(4 * embed_dim) ** 2", "4 * (weights + biases)": "weights + 4 * biases"},
        {"embed_dim * embed_dim": ["embed_dim", "2 * embed_dim"]},
    ]


class times_heads(Misconception):
    """The projections are counted once for each head: the heads share the width."""

    variants = [
        {
            "True": "True, num_heads=8",
            "4 * (weights + biases)": "num_heads * 3 * (weights + biases) + weights + biases",
        },
        {"True": "True, num_heads=8", "(weights + biases)": "num_heads * (weights + biases)"},
    ]


class whole_block(Misconception):
    """A whole block is counted (12C²): here only the attention, without feed-forward network and norms."""

    edits = {
        "4 * (weights + biases)": [
            "12 * weights + 13 * biases",
            "12 * weights",
            "4 * (weights + biases) + 4 * embed_dim",
        ]
    }


class float_(Minor):
    """The result is not an int (a division, a tensor): numbers of parameters are whole."""

    edits = {"4 * (weights + biases)": ["torch.tensor(4 * (weights + biases))", "4.0 * (weights + biases)"]}


class text_returned(common_mistakes.text_returned):
    edits = {"4 * (weights + biases)": "f'{4 * (weights + biases):,}'"}


class pair(Minor):
    """Weights and biases are returned apart: one number is asked for, their sum."""

    edits = {"(weights + biases)": "weights, 4 * biases"}
