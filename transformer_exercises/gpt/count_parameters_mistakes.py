"""Wrong and right answers to `count_parameters`. The reference (09-gpt):

def count_parameters(config):
    V, C = config.vocab_size, config.n_embd
    biases = 1 if config.bias else 0

    attention = 4 * (C * C + biases * C)  # query, key, value and output: (C, C) each
    feed_forward = (C * 4 * C + biases * 4 * C) + (4 * C * C + biases * C)  # C -> 4C -> C
    norm = C + biases * C
    block = attention + feed_forward + 2 * norm

    embeddings = V * C + config.block_size * C  # tokens and positions
    head = 0 if config.tie_weights else V * C  # never a bias, as in GPT-2
    return embeddings + config.n_layer * block + norm + head
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

# Right answers in other styles


class one_formula(RightAnswer):
    code = """
    C = config.n_embd
    per_block = 12 * C**2 + (13 * C if config.bias else 2 * C)
    tables = config.vocab_size * (2 - config.tie_weights) + config.block_size
    return C * tables + config.n_layer * per_block + C * (1 + config.bias)
    """


class layer_by_layer(RightAnswer):
    edits = {
        "attention = 4 * (C * C + biases * C)": "linear = lambda inputs, outputs: (inputs + biases) * outputs",
        "(C * 4 * C + biases * 4 * C) + (4 * C * C + biases * C)": "linear(C, 4 * C) + linear(4 * C, C)",
        "block = attention + feed_forward + 2 * norm": """
            total = 0
            for _ in range(config.n_layer): total += norm + linear(C, 3 * C) + linear(C, C) + norm + feed_forward
        """,
        "embeddings + config.n_layer * block + norm": "embeddings + total + norm",
    }


class shapes(RightAnswer):
    code = """
    C, F4 = config.n_embd, 4 * config.n_embd
    block = [(C, C)] * 4 + [(C, F4), (F4, C)] + ([(C, 9), (F4, 1)] if config.bias else [(C, 2)])
    ends = [(config.vocab_size, C), (config.block_size, C), (1, C)] + [(1, C)] * bool(config.bias)
    if not config.tie_weights: ends.append((config.vocab_size, C))
    return int(config.n_layer * sum(a * b for a, b in block) + sum(a * b for a, b in ends))
    """


# Mistakes


class tied_weights_counted_twice(Minor):
    """lm_head adds V × C numbers with tie_weights=False, and only then: tied, it shares the token table, which counts
    once.
    """

    edits = {
        "0 if config.tie_weights else V * C": [
            "V * C",
            "0",
            "V * C if config.tie_weights else 0",
            "-V * C if config.tie_weights else V * C",
        ]
    }


class head_bias(Minor):
    """A bias of V numbers is counted for lm_head, which has none."""

    variants = [
        {"+ head": ["+ head + V", "+ head + biases * V"]},
        {"else V * C": ["else V * C + V", "else V * C + biases * V"]},
    ]


class biases_always(Misconception):
    """config.bias is ignored: with bias=False no layer has a bias, the norms included."""

    edits = {"1 if config.bias else 0": "1"}


class norm_biases_always(Misconception):
    """With bias=False a norm has C numbers, the final one too: it keeps its weights, and has no bias."""

    variants = [
        {"= C + biases": "= 2"},
        {"= C +": "= 2 *"},
        {"2 * norm": "4 * biases * C"},
        {"+ norm": ["+ 2 * biases * C", "+ 2 * C"]},
    ]


class biases_never(Misconception):
    """The biases are missing: each linear layer has one bias for every output, each norm has weight and bias."""

    variants = [{"1 if config.bias else 0": "0"}, {"norm = C + biases * C": "norm = C"}]


class linear_biases(Minor):
    """A linear layer has one bias for each output: 4 times C in attention, then 4C and C."""

    variants = [
        {"(C * C + biases * C)": ["C * C", "C * C + biases * C", "C * C + 3 * biases * C"]},
        {"+ biases * 4 * C) + (4 * C * C + biases * C)": ") + 4 * C * C"},
        {"* C * C + biases * C": "* C * C + biases * 4 * C"},
    ]


class output_projection_missing(Minor):
    """Attention has four matrices: after the heads are merged comes an output projection."""

    edits = {"= 4": "= 3"}


class heads_counted(Misconception):
    """The number of heads does not matter: they share C, and together have (C, C) matrices."""

    variants = [
        {"= 4": "= config.n_head * 4"},
        {"= 4 *": "= config.n_head * 3 * (C * C + biases * C) +"},
        {"(C * C + biases * C)": ["(config.n_head * C * C + biases * C)", "(C * (C // config.n_head) + biases * C)"]},
        {"4 * (C * C + biases * C)": "3 * (C * (C // config.n_head) + biases * C) + C * C + biases * C"},
    ]


class feed_forward_width(Misconception):
    """The feed-forward network is not 4C wide: its matrices are (C, 4C) and (4C, C)."""

    variants = [
        {
            "(C * 4 * C + biases * 4 * C) + (4 * C * C + biases * C)": [
                "2 * (C * C + biases * C)",
                "4 * C * C + 3 * biases * C",
            ]
        },
        {"4 * C + biases * 4 * C) + (4 * C": "2048 + biases * 2048) + (2048"},
    ]


class second_matrix_missing(Minor):
    """The feed-forward network has two matrices: C to 4C, and back from 4C to C."""

    variants = [{"+ (4 * C * C + biases * C)": ""}, {"(4 * C * C + biases * C)": "biases * C"}]


class feed_forward_missing(Misconception):
    """Half of the block is missing: it has attention, with four matrices (C, C), and a feed-forward network."""

    edits = {"attention + feed_forward": ["attention", "feed_forward"]}


class one_norm_each(Minor):
    """Each block has two norms, one before attention and one before the feed-forward network."""

    edits = {"2 * norm": "norm"}


class no_norms_in_blocks(Misconception):
    """The norms inside the blocks are missing: two in each."""

    edits = {"+ 2 * norm": ""}


class caret(Misconception):
    """`^` is no power in Python (it is exclusive or): write `C ** 2`."""

    variants = [
        {"C * C +": ["(C ^ 2) +", "C ^ 2 +"]},
        {"4 * (C * C +": ["4 * ((C ^ 2) +", "4 * (C ^ 2 +"]},
        one_formula.edited({"C**2": "C ^ 2"}),
        one_formula.edited({"12 * C**2": "(12 * C ^ 2)"}),
    ]


class final_norm_missing(Minor):
    """The final norm is missing, or counted for each layer: it comes once, after the last block."""

    variants = [{"norm + head": "head"}, {"block + norm": "(block + norm)"}]


class positions_missing(Misconception):
    """A table is missing: the token embedding has V × C numbers, the position embedding block_size × C."""

    variants = [{"+ config.block_size * C": ""}, {"V * C + config": "config"}]


class positions_by_vocabulary(Minor):
    """The position embedding has another number of rows than block_size: it has one for each position."""

    edits = {"config.block_size": ["V", "C", "(config.block_size + 1)"]}


class everything_times_layers(Misconception):
    """The blocks count n_layer times, and nothing else does: the embeddings come once."""

    variants = [
        {"embeddings + config.n_layer * block": "config.n_layer * (embeddings + block)"},
        {"config.n_layer * block": "block"},
    ]


class width_fixed(Fundamental):
    """A size is fixed in the code (768, 1024 or 50257, say): take all of them from config."""

    variants = [{"config.n_embd": "768"}, {"config.vocab_size": "50257"}, "return 124439808"]


class not_an_int(Minor):
    """A float is returned (from `/`, say): parameters are whole, and a large float loses its last digits."""

    variants = [
        {"+ head": "+ head + 0.0"},
        {
            "embeddings + config.n_layer * block + norm + head": (
                "int(embeddings + config.n_layer * block + norm + head + 0.0)"
            )
        },
    ]


class text_returned(common_mistakes.text_returned):
    edits = {
        "embeddings + config.n_layer * block + norm + head": (
            "f'{embeddings + config.n_layer * block + norm + head:,}'"
        )
    }


class model_built(Misconception):
    """A model (or a layer) is built in order to count: take a closed form, from the numbers of config alone."""

    variants = [
        "with torch.device('meta'): return sum(p.numel() for p in GPT(config).parameters())",
        "return sum(p.numel() for p in GPT(config).parameters())",  # half a gigabyte, so it is not asked first
    ]


class in_millions(Minor):
    """The count is divided, or given in bytes: the number of parameters itself is asked for."""

    edits = {
        "embeddings + config.n_layer * block + norm + head": [
            "(embeddings + config.n_layer * block + norm + head) / 1e6",
            "4 * (embeddings + config.n_layer * block + norm + head)",
        ]
    }
