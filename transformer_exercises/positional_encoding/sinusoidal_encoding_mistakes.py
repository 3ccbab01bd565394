"""Wrong and right answers to `sinusoidal_encoding`. The reference (04-positional-encoding):

def sinusoidal_encoding(max_len, d_model):
    if d_model % 2 != 0:
        raise ValueError(f"d_model must be even, because sines and cosines come in pairs; got {d_model}")
    positions = torch.arange(max_len)  # (max_len,)
    rates = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)  # (d_model / 2,): radians per step, from 1 to ~1/10000
    angles = positions[:, None] * rates  # (max_len, d_model / 2)
    table = torch.empty(max_len, d_model)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class loops(RightAnswer):
    code = """
    if d_model % 2 != 0: raise ValueError('d_model must be even')
    table = torch.zeros(max_len, d_model)
    for p in range(max_len):
        for i in range(d_model // 2):
            angle = p / 10000 ** (2 * i / d_model)
            table[p, 2 * i], table[p, 2 * i + 1] = math.sin(angle), math.cos(angle)
    return table
    """


class annotated_transformer(RightAnswer):
    code = """
    if d_model % 2 == 1: raise ValueError(f'd_model={d_model} is odd')
    pe = torch.zeros(max_len, d_model)
    position = torch.arange(0, max_len).unsqueeze(1).float()
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * -(math.log(10000.0) / d_model))
    pe[:, 0::2], pe[:, 1::2] = torch.sin(position * div_term), torch.cos(position * div_term)
    return pe
    """


class stacked(RightAnswer):
    code = """
    if d_model % 2 != 0: raise ValueError('d_model must be even')
    a = torch.outer(torch.arange(max_len).float(), 1 / torch.pow(10000, torch.arange(d_model // 2) * 2 / d_model))
    return torch.stack((a.sin(), a.cos()), dim=2).reshape(max_len, d_model)
    """


# Mistakes


class sine_and_cosine_swapped(Minor):
    """Sines and cosines are swapped: sines stand in the even columns, so row 0 is 0, 1, 0, 1."""

    edits = {"] = angles.sin": "] = angles.cos", "1::2] = angles.cos": "1::2] = angles.sin"}


class halves(Misconception):
    """Sines and cosines stand in two halves, or scrambled: they alternate, stacked on a new last dimension."""

    variants = [
        {"0::2]": ": d_model // 2]", "1::2]": "d_model // 2 :]"},
        {"0::2]": "d_model // 2 :]", "1::2]": ": d_model // 2]"},
        {"return table": "return torch.stack([angles.sin(), angles.cos()]).reshape(max_len, d_model)"},
    ]


class exponent_of_cosine(Misconception):
    """The cosine of a pair has another rate than its sine: both have the exponent 2i/d_model."""

    edits = {"angles.cos": "(positions[:, None] * 10000.0 ** (-torch.arange(1, d_model, 2) / d_model)).cos"}


class exponent_halved(Misconception):
    """The exponent is halved, doubled or not divided: it is 2i/d_model, and torch.arange(0, d_model, 2) holds 2i."""

    variants = [
        {"0, d_model,": "d_model //"},
        {"-torch": "-2 * torch"},
        {
            "angles.cos": "(positions[:, None] * 10000.0 ** (-2 * torch.arange(1, d_model + 1, 2) / d_model)).cos",
            "-torch.arange(0, d_model, 2) /": "-2 * torch.arange(0, d_model, 2) /",
        },
        {") / d_model": ").float()"},
    ]


class exponent_off_by_one(Minor):
    """The exponents begin at 2/d_model: the first pair has i = 0, a rate of 1."""

    edits = {"0, d_model": ["2, d_model + 2", "1, d_model + 1"]}


class multiplied(Misconception):
    """The position is multiplied by 10000^(2i/d_model): divide by it, so that later pairs turn more slowly."""

    variants = [
        {"(-": "("},
        {"* rates": "/ rates"},  # other digits: float32 rounds large angles
        {
            "10000.0 ** (-torch.arange(0, d_model, 2) / d_model)": [
                "torch.exp(torch.arange(0, d_model, 2) * (math.log(10000.0) / d_model))",
                "10000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)",
            ]
        },
    ]


class other_range(Misconception):
    """The rates run from 1 to exactly 1/10000: with the exponent 2i/d_model, the last one stops short of it."""

    edits = {") / d_model": [") / max(d_model - 2, 1)", ") / (d_model - 1)"]}


class other_base(Minor):
    """The base is not 10000: the rates are 10000^(−2i/d_model)."""

    variants = [{"10000": ["1000", "100000", "10", "1024"]}, {"10000.0": ["math.e", "math.exp(4)"]}]


class one_rate(Misconception):
    """All the pairs turn at the same rate: i is missing from the formula (or fixed in a loop)."""

    edits = {
        "10000.0 ** (-torch.arange(0, d_model, 2) / d_model)": [
            "torch.ones(d_model // 2)",
            "torch.full((d_model // 2,), 1 / 10000)",
        ]
    }


class rate_rounded_to_0(Misconception):
    """The exponent is rounded to a whole number (`//`, or integers): 2i/d_model is a fraction."""

    edits = {") /": ") //"}


class divided_by_the_length(Misconception):
    """Positions are divided by max_len: row p belongs to position p, however long the table is."""

    variants = [{"(max_len)  #": "(max_len) / max_len  #"}, {"torch.arange(max_len)": "torch.linspace(0, 1, max_len)"}]


class from_one(Minor):
    """The positions begin at 1: row 0 belongs to position 0 and is 0, 1, 0, 1 and so on."""

    edits = {"(max_len)": "(1, max_len + 1)"}


class only_sines(Misconception):
    """Half of the columns are wrong or never filled: sines in the even columns, cosines in the odd ones."""

    variants = [
        {".cos": ".sin"},
        {".sin": ".cos"},
        {"empty": "zeros", "table[:, 1::2] = angles.cos()": ""},
        {"empty": "zeros", "table[:, 0::2] = angles.sin()": ""},
    ]


class half_as_wide(Misconception):
    """The table has d_model / 2 or 2 · d_model columns: a sine and a cosine for each of d_model / 2 pairs."""

    edits = {"return table": ["return angles.sin()", "return angles.sin() + angles.cos()", "return table.repeat(1, 2)"]}


class angles_returned(Misconception):
    """The angles are returned as they are: their sines and cosines are asked for."""

    edits = {"return table": ["return angles.repeat_interleave(2, dim=1)", "return angles"]}


class degrees(Minor, shared_mistakes.degrees):
    edits = {"table =": ["angles = torch.deg2rad(angles)\ntable =", "angles = 2 * math.pi * angles\ntable ="]}


class transposed(Minor):
    """The table is transposed, or has a dimension too many: one row for each position, (max_len, d_model)."""

    variants = [
        {"return table": "return table.T"},
        {"return table": ["return table[None]", "return table[:, None]"]},
    ]


class one_row_too_many(Minor):
    """The number of rows is off by one, or fixed: max_len rows are asked for."""

    edits = {
        "if d_model % 2": [
            "max_len = max_len + 1\nif d_model % 2",
            "max_len = 5000\nif d_model % 2",
            "max_len = 512\nif d_model % 2",
            "max_len = 1000\nif d_model % 2",
        ]
    }


class even_refused(Fundamental):
    """Even widths are refused: only an odd d_model is an error."""

    edits = {"2 !": ["4 !", "2 ="]}


class other_dtype(Misconception):
    """The table is not float32, PyTorch's default: convert it (`.float()`)."""

    edits = {"return table": ["return table.double()", "return table.half()"]}


class whole_numbers(Misconception):
    """The values are cut to whole numbers, because the table was made with an integer dtype."""

    variants = [
        {"empty(max_len, d_model)": "empty(max_len, d_model, dtype=torch.long)"},
        {
            "empty(max_len, d_model)": "empty(max_len, d_model, dtype=torch.long)",
            "return table": "return table.float()",
        },
    ]


class not_a_tensor(Minor, shared_mistakes.not_a_tensor):
    edits = {"return table": ["return table.tolist()", "return list(table)"]}


class array_returned(common_mistakes.array_returned):
    edits = {"return table": "return table.numpy()"}


class noise(Fundamental):
    """The table is random, or noise is added to it: it follows from the formula alone."""

    edits = {
        "return table": [
            "return torch.randn(max_len, d_model)",
            "return table + 0.1 * torch.randn(max_len, d_model)",
            "return nn.functional.dropout(table, 0.1)",
        ]
    }


class scaled(Minor):
    """The table is scaled: sines and cosines stand in it as they are."""

    edits = {
        "return table": [
            "return table * d_model**-0.5",
            "return table * d_model**0.5",
            "return table / table.norm(dim=-1, keepdim=True)",
        ]
    }


class last_left_out(Minor):
    """The last row, or the last pair of columns, is left out: `range` ends before its second number."""

    edits = {"return": ["table[-1:] = 0\nreturn", "table[:, -2:] = 0\nreturn"]}


class returned_too_early(Misconception):
    """`return` stands inside a loop, so that only one row or pair is filled."""

    edits = {"return": ["table[1:] = 0\nreturn", "table[:, 2:] = 0\nreturn"]}
