"""Wrong and right answers to `block_parameters`. The reference (08-blocks):

def block_parameters(embed_dim, ff_dim):
    attention = 4 * (embed_dim * embed_dim + embed_dim)
    feed_forward = (embed_dim * ff_dim + ff_dim) + (ff_dim * embed_dim + embed_dim)
    norms = 2 * (embed_dim + embed_dim)
    return attention + feed_forward + norms
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Minor, Misconception, RightAnswer

TOTAL = "attention + feed_forward + norms"

# Right answers in other styles


class closed_form(RightAnswer):
    code = "return 4 * embed_dim**2 + 2 * embed_dim * ff_dim + 9 * embed_dim + ff_dim"


class counted(RightAnswer):
    code = """
    block = TransformerBlock(embed_dim, 1, ff_dim)
    return sum(p.numel() for p in block.parameters())
    """


class sum_of_layers(RightAnswer):
    code = """
    linear = lambda n, m: n * m + m
    C, F = embed_dim, ff_dim
    return sum([linear(C, C)] * 4) + linear(C, F) + linear(F, C) + 2 * (2 * C)
    """


# Mistakes


class ff_biases(Minor):
    """The biases of the feed-forward network are wrong: ff_dim in the first layer, embed_dim in the second."""

    edits = {
        "(embed_dim * ff_dim + ff_dim) + (ff_dim * embed_dim + embed_dim)": [
            "2 * embed_dim * ff_dim",
            "2 * embed_dim * ff_dim + embed_dim",
            "2 * (embed_dim * ff_dim + embed_dim)",
            "2 * (embed_dim * ff_dim + ff_dim)",
        ]
    }


class no_biases(Misconception):
    """The biases are missing: each linear layer has one for each output, and each norm has C."""

    based_on = ff_biases
    variants = [
        {"(embed_dim * embed_dim + embed_dim)": "embed_dim * embed_dim"},
        {"(embed_dim * embed_dim + embed_dim)": "embed_dim * embed_dim", "(embed_dim + embed_dim)": "embed_dim"},
    ]


class embed_dim_missing(Minor):
    """embed_dim numbers are missing: a bias in a linear layer, or the weight or bias of a norm?"""

    edits = {"(embed_dim * embed_dim + embed_dim)": "embed_dim * embed_dim + 3 * embed_dim"}


class four_embed_dim_missing(Misconception):
    """4 or 8 · embed_dim numbers are missing: the biases of attention's four layers, the two norms, or both."""

    variants = [
        {"feed_forward + norms": "feed_forward"},
        {"(embed_dim * embed_dim + embed_dim)": "embed_dim * embed_dim"},  # the same numbers, but beside other faults
        {"feed_forward + norms": "feed_forward", "(embed_dim * embed_dim + embed_dim)": "embed_dim * embed_dim"},
    ]


class caret(Misconception):
    """`^` is no power in Python (it is exclusive or): write `embed_dim ** 2`."""

    variants = [
        {"embed_dim * embed_dim": "(embed_dim ^ 2)"},
        {
            "4 * (embed_dim * embed_dim + embed_dim)": [
                "4 * (embed_dim ^ 2 + embed_dim)",
                "4 * embed_dim ^ 2 + 4 * embed_dim",
                "(4 * embed_dim ^ 2) + 4 * embed_dim",
            ]
        },
        "return 4 * embed_dim ^ 2 + 2 * embed_dim * ff_dim + 9 * embed_dim + ff_dim",
    ]


class one_attention_bias(Minor):
    """Only one bias of attention is counted: each of its four layers has C."""

    edits = {"(embed_dim * embed_dim + embed_dim)": "embed_dim * embed_dim + embed_dim"}


class norms_halved(Minor):
    """Too few parameters of the norms are counted: each of the two has a weight *and* a bias, with C entries each."""

    variants = [{"(embed_dim + embed_dim)": "embed_dim"}, {"2 * (embed_dim + embed_dim)": ["4", "2"]}]


class norm_of_ff_dim(Misconception):
    """A norm is counted with ff_dim numbers: both normalise vectors of width embed_dim."""

    edits = {"2 * (embed_dim + embed_dim)": ["4 * ff_dim", "2 * (embed_dim + ff_dim)"]}


class norms_three(Minor):
    """The number of norms is not two (a final norm belongs to the model, not to the block)."""

    edits = {"2 *": "3 *"}


class output_projection(Minor):
    """Attention has four layers: the output projection is missing."""

    variants = [
        {"4 *": "3 *"},
        {"4 * (embed_dim * embed_dim + embed_dim)": "3 * embed_dim * embed_dim + 4 * embed_dim"},
    ]


class one_projection(Misconception):
    """Attention has four linear layers (queries, keys, values, output), not one."""

    edits = {"4 * (embed_dim * embed_dim + embed_dim)": "embed_dim * embed_dim + embed_dim"}


class one_ff_layer(Misconception):
    """Only one layer of the feed-forward network is counted: there are two, C → F and F → C."""

    edits = {
        "(embed_dim * ff_dim + ff_dim) + (ff_dim * embed_dim + embed_dim)": [
            "embed_dim * ff_dim + ff_dim",
            "ff_dim * embed_dim + embed_dim",
            "ff_dim * embed_dim",
        ]
    }


class ff_dim_ignored(Misconception):
    """ff_dim is taken to be 4 · embed_dim (12C² + 13C): use the ff_dim that is given."""

    variants = [{"feed_forward =": "ff_dim = 4 * embed_dim\nfeed_forward ="}, "return 12 * embed_dim**2"]


class widths_swapped(Minor):
    """embed_dim and ff_dim are swapped: block_parameters(embed_dim, ff_dim)."""

    edits = {"embed_dim, ff_dim)": "ff_dim, embed_dim)"}


class part_missing(Misconception):
    """A whole part is missing: attention, feed-forward network and two norms are added up."""

    edits = {TOTAL: ["attention", "feed_forward + norms", "attention + norms"]}


class float_(Minor):
    """The result is not an int (a division, a tensor): numbers of parameters are whole."""

    edits = {TOTAL: [f"float({TOTAL})", f"torch.tensor({TOTAL})"]}


class apart(Minor):
    """The parts are returned one by one: one number is asked for, their sum."""

    edits = {TOTAL: ["attention, feed_forward, norms", "{'attention': attention, 'ff': feed_forward, 'norms': norms}"]}


class text_returned(common_mistakes.text_returned):
    edits = {TOTAL: f"f'{{{TOTAL}:,}}'"}


class argument_names(Misconception):
    """The parameters have other names or a third is required: block_parameters(embed_dim, ff_dim)."""

    edits = {"(embed_dim, ff_dim):": "(C, F):\n    embed_dim, ff_dim = C, F"}
