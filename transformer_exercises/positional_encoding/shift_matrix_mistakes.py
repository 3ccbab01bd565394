"""Wrong and right answers to `shift_matrix`. The reference (04-positional-encoding):

def shift_matrix(k, d_model):
    if d_model % 2 != 0:
        raise ValueError(f"d_model must be even, because sines and cosines come in pairs; got {d_model}")
    even = torch.arange(0, d_model, 2)  # (d_model / 2,): the columns of sines, 2i
    odd = even + 1  # the columns of cosines, 2i + 1
    angles = k * 10000.0 ** (-even / d_model)  # (d_model / 2,): how far each pair turns in k steps
    matrix = torch.zeros(d_model, d_model)
    matrix[even, even] = angles.cos()  # sin -> sin
    matrix[odd, even] = angles.sin()  # cos -> sin
    matrix[even, odd] = -angles.sin()  # sin -> cos
    matrix[odd, odd] = angles.cos()  # cos -> cos
    return matrix
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class block_diag(RightAnswer):
    code = """
    if d_model % 2 != 0: raise ValueError('d_model must be even')
    angles = k * 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
    c, s = angles.cos(), angles.sin()
    return torch.block_diag(*[torch.tensor([[a, -b], [b, a]]) for a, b in zip(c.tolist(), s.tolist())])
    """


class loop(RightAnswer):
    code = """
    if d_model % 2 != 0: raise ValueError('d_model must be even')
    M = torch.zeros((d_model, d_model))
    for i in range(d_model // 2):
        w = 1 / 10000 ** (i * 2 / d_model)
        M[2 * i, 2 * i] = M[2 * i + 1, 2 * i + 1] = math.cos(k * w)
        M[2 * i + 1, 2 * i] = math.sin(k * w)
        M[2 * i, 2 * i + 1] = -math.sin(k * w)
    return M
    """


class diagonals(RightAnswer):
    based_on = block_diag
    edits = {
        "return torch.block_diag(*[torch.tensor([[a, -b], [b, a]]) for a, b in zip(c.tolist(), s.tolist())])": """
            beside = torch.stack([s, torch.zeros_like(s)], 1).flatten()[: d_model - 1]
            return torch.diag(c.repeat_interleave(2)) + torch.diag(beside, -1) - torch.diag(beside, 1)
        """
    }


# Mistakes


class transposed(Minor):
    """The matrix moves by −k (it is transposed): PE[p] is a row and stands on the left, PE[p] @ M."""

    edits = {"return matrix": "return matrix.T"}


class both_signs_alike(Minor):
    """A sign is wrong: sin(α + β) has two plus signs, cos(α + β) = cos α cos β − sin α sin β."""

    variants = [
        {"-angles": "angles"},
        {"= angles.sin": "= -angles.sin"},
        {"[odd, odd] = angles": "[odd, odd] = -angles"},
        {"[even, even] = angles": "[even, even] = -angles"},
    ]


class sine_and_cosine_swapped(Minor):
    """Sine and cosine are swapped: cosines of the angle stand on the diagonal."""

    edits = {"angles.cos()": "COS", ".sin": ".cos", "COS": "angles.sin()"}


class cosine_first(Misconception):
    """The matrix fits pairs (cos, sin): here the sine stands first, in column 2i, and the cosine in column 2i+1."""

    based_on = block_diag
    edits = {
        "[torch.tensor([[a, -b], [b, a]]) for a, b in zip(c.tolist(), s.tolist())]": [
            "torch.stack([s, c, c, -s], dim=1).view(-1, 2, 2)",
            "torch.stack([-s, c, c, s], dim=1).view(-1, 2, 2)",
        ]
    }


class halves(Misconception):
    """The blocks join columns i and i + d_model/2: here a pair stands side by side, in columns 2i and 2i+1."""

    edits = {
        "matrix[even, even]": [
            """
            even = even // 2
            odd = even + d_model // 2
            matrix[even, even]
            """,
            """
            even = even // 2
            odd = even + d_model // 2
            angles = -angles
            matrix[even, even]
            """,
        ]
    }


class blocks_overlap(Misconception):
    """The blocks overlap: pair i stands in rows and columns 2i and 2i+1, not i and i+1."""

    based_on = loop
    variants = [{"2 * i": "i"}, {"2 * i": "i", "k * w": "-k * w"}]


class diagonal_only(Misconception):
    """Only the diagonal is filled: a shift mixes the sine and cosine of each pair, in entries beside it."""

    edits = {
        "matrix[odd, even] = angles.sin()  # cos -> sin": "",
        "matrix[even, odd] = -angles.sin()  # sin -> cos": "",
    }


class entry_missing(Minor):
    """One of the four entries of each 2 × 2 block is never filled."""

    variants = [
        {"matrix[odd, even] = angles.sin()  # cos -> sin": ""},
        {"matrix[even, odd] = -angles.sin()  # sin -> cos": ""},
        {"matrix[odd, odd] = angles.cos()  # cos -> cos": ""},
        {"matrix[even, even] = angles.cos()  # sin -> sin": ""},
    ]


class one_rate(Misconception):
    """All pairs turn by the same angle: pair i turns by k / 10000^(2i/d_model)."""

    edits = {"10000.0 ** (-even / d_model)": "torch.ones(d_model // 2)"}


class first_pair_only(Misconception):
    """Only the first pair is turned: each pair has a block of its own."""

    variants = [
        {
            "return matrix": """
                result = torch.eye(d_model)
                result[:2, :2] = matrix[:2, :2]
                return result
            """
        },
        {"return": "matrix[2:, 2:] = 0\nreturn"},
    ]


class last_pair_missing(Minor):
    """The last pair is left out: `range` ends before its second number."""

    edits = {"return": ["matrix[-2:, -2:] = 0\nreturn", "matrix[-2:, -2:] = torch.eye(2)\nreturn"]}


class blocks_only(Misconception):
    """The blocks themselves are returned: they belong on the diagonal of one matrix (d_model, d_model)."""

    based_on = cosine_first
    edits = {
        "block_diag(*torch.stack([s, c, c, -s], dim=1).view(-1, 2, 2)": [
            "tensor([[c[0], -s[0]], [s[0], c[0]]]",
            "stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2",
            "stack([torch.stack([c, s], -1), torch.stack([-s, c], -1)], -2",
        ]
    }


class rows_moved(Fundamental):
    """Rows or columns are moved: a shift of positions turns each pair of columns by an angle."""

    edits = {
        "return matrix": [
            "return torch.eye(d_model).roll(k, 0)",
            "return torch.eye(d_model).roll(k, 1)",
            "return torch.diag(torch.ones(max(d_model - abs(k), 0)), k)[:d_model, :d_model]",
        ]
    }


class identity(Fundamental):
    """The identity is returned: that moves nothing, which is right for k = 0 only."""

    edits = {"return matrix": "return torch.eye(d_model)"}


class k_ignored(Misconception):
    """k is not used: pair i turns by k · 10000^(−2i/d_model), for every k."""

    edits = {"k * 10000": "10000"}


class k_forward_only(Misconception):
    """The sign of k is lost: a negative k moves backwards."""

    edits = {"k *": "abs(k) *"}


class negative_refused(Minor):
    """A negative k, or k = 0, is refused or fails: the matrix exists for every whole k."""

    variants = [
        {
            "if d_model": [
                "if k < 0: raise ValueError('k')\nif d_model",
                "if k <= 0: raise ValueError('k')\nif d_model",
                "assert k > 0\nif d_model",
            ]
        },
        k_ignored.edited({"return matrix": "return torch.linalg.matrix_power(matrix, max(k, 0))"}),
        block_diag.edited(
            {
                "angles = k * 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)": (
                    "row = sinusoidal_encoding(k + 1, d_model)[k]"
                ),
                "c, s = angles.cos(), angles.sin()": "s, c = row[0::2], row[1::2]",
            }
        ),
    ]


class exponent(Misconception):
    """The rates are not those of the table: pair i turns by k / 10000^(2i/d_model)."""

    variants = [
        {"k * 10000.0 ** (-even / d_model)": ["10000.0 ** (-k * even / d_model)", "k * 1000.0 ** (-even / d_model)"]},
        {"k * 10000.0": "k / 10000.0"},
        {"-even / d_model": "-even"},
        {"-even / d_model": ["even / d_model", "-2 * even / d_model", "-odd / d_model", "-even / 2 / d_model"]},
    ]


class degrees(Minor, shared_mistakes.degrees):
    edits = {"k *": ["math.pi / 180 * k *", "2 * math.pi * k *"]}


class whole_numbers(Misconception):
    """The entries are cut to whole numbers, because the matrix was made with an integer dtype."""

    based_on = loop
    variants = [
        {"zeros((d_model, d_model))": "zeros((d_model, d_model), dtype=torch.long)"},
        {"zeros((d_model, d_model))": "zeros((d_model, d_model), dtype=torch.long)", "return M": "return M.float()"},
    ]


class other_dtype(Misconception):
    """The matrix is not float32, PyTorch's default: convert it (`.float()`)."""

    edits = {"return matrix": "return matrix.double()"}


class table_returned(Fundamental):
    """Sinusoids are returned: the matrix that turns PE[p] into PE[p + k] is asked for."""

    based_on = transposed
    edits = {
        "matrix.T": [
            "sinusoidal_encoding(abs(k) + 1, d_model)[-1]",
            "sinusoidal_encoding(d_model, d_model)",
            "sinusoidal_encoding(abs(k) + 1, d_model)",
        ]
    }


class fitted_to_few_positions(Misconception):
    """The matrix is fitted to a table, and a fit need not hold everywhere: derive it from sin(α + β) and cos(α + β)."""

    variants = [
        block_diag.edited(
            {
                "angles = k * 10000.0 ** (-torch.arange(0, d_model, 2) /": (
                    "PE = sinusoidal_encoding(d_model + abs(k) + 1,"
                ),
                "c, s = angles.cos(), angles.sin(": (
                    "a, b = (PE[: len(PE) - k], PE[k:]) if k >= 0 else (PE[-k:], PE[:k]"
                ),
                "block_diag(*[torch.tensor([[a, -b], [b, a]]) for a, b in zip(c.tolist(), s.tolist())])": (
                    "linalg.pinv(a[: d_model // 2]) @ b[: d_model // 2]"
                ),
            }
        ),
        """
        if d_model % 2 != 0: raise ValueError("d_model must be even")
        rates, p = 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model), torch.arange(2000).double()[:, None]
        old, new = (torch.stack([(q * rates).sin(), (q * rates).cos()], -1).flatten(1) for q in (p, p + k))
        return torch.linalg.lstsq(old, new).solution.float()
        """,
    ]


class bad_input_accepted(common_mistakes.bad_input_accepted):
    edits = {"d_model % 2 != 0": "False", "arange(0, d_model, 2)": "arange(0, d_model - 1, 2)"}


class error_of_another_type(common_mistakes.error_of_another_type):
    based_on = bad_input_accepted
    edits = {
        ", d_model - 1, 2)": [
            ", d_model, 2)\ntorch.zeros(d_model, d_model)[even, even + 1]",
            ", d_model, 2)\nfor i in even: torch.zeros(d_model, d_model)[i:i + 2, i:i + 2] = torch.zeros(2, 2)",
        ]
    }


class not_a_tensor(Minor, shared_mistakes.not_a_tensor):
    edits = {"return matrix": "return matrix.tolist()"}


class array_returned(common_mistakes.array_returned):
    edits = {"return matrix": "return matrix.numpy()"}
