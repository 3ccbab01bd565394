"""Notebook 04: sinusoids, learned positions, the linear map that shifts them, and rotary embeddings."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import nn

from .compare import a_tensor, dtype_name, kind, same_gradients, same_tensor, shape_name, unchanged
from .declare import Alternative, Check, Exercise, Mistake, Question, Wrong, edited, written
from .draw import device_is_kept, gradients_agree, normal, quietly_called

# --- references -------------------------------------------------------------------------------------------------------


def sinusoidal_encoding(max_len, d_model):
    """Table of sinusoids, one row for each position (Vaswani et al. 2017, section 3.5).

    Returns a FloatTensor PE [max_len, d_model], d_model even (an odd one is a ValueError):
    PE[p, 2i] = sin(p / 10000^(2i/d_model)), PE[p, 2i+1] = cos(p / 10000^(2i/d_model)).
    Example: (2, 4) -> [[0, 1, 0, 1], [sin 1, cos 1, sin 0.01, cos 0.01]]
    """
    if d_model % 2 != 0:
        raise ValueError(f"d_model must be even, because sines and cosines come in pairs; got {d_model}")
    positions = torch.arange(max_len)  # (max_len,)
    rates = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)  # (d_model / 2,): radians per step, from 1 to ~1/10000
    angles = positions[:, None] * rates  # (max_len, d_model / 2)
    table = torch.empty(max_len, d_model)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table


class LearnedPositionalEmbedding(nn.Module):
    """Adds one learned vector to each position, as BERT and GPT-2 do (Gehring et al. 2017, section 3.1).

    max_len: the longest sequence; embed_dim: the width C of x.
    One parameter: a table [max_len, embed_dim].
    forward: x [B, T, C] -> x[b, t] + table[t], of the same shape; T > max_len is a ValueError.
    """

    def __init__(self, max_len, embed_dim):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim))  # (max_len, C); small, as in GPT-2

    def forward(self, x):
        T, max_len = x.shape[1], self.table.shape[0]
        if max_len < T:  # the table knows no such positions: there is nothing to add
            raise ValueError(f"x has {T} positions, more than max_len = {max_len}")
        return x + self.table[:T]  # (B, T, C) + (T, C): the same rows for every sequence of the batch


def shift_matrix(k, d_model):
    """The matrix that moves sinusoidal positions by k: PE[p + k] == PE[p] @ shift_matrix(k, d_model) for every p.

    k: int, negative too; d_model: even (an odd one is a ValueError).
    Returns a FloatTensor [d_model, d_model]: zeros, but for a 2 x 2 rotation for each pair of columns (2i, 2i+1).
    From sin(α + β) = sin α cos β + cos α sin β and cos(α + β) = cos α cos β - sin α sin β (Vaswani et al. 2017,
    section 3.5, claim it). Example: shift_matrix(0, d_model) is the identity.
    """
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


def apply_rope(x, positions, base=10000.0):
    """Rotary position embedding: turn each pair of features by an angle (Su et al. 2021, section 3.4.2).

    x: [..., T, d_k], d_k even, queries or keys; positions: [T], any numbers. Returns the shape and dtype of x.
    With θ = positions[t] / base^(2i/d_k), the pair (u, v) at (2i, 2i+1) becomes (u cos θ - v sin θ, u sin θ + v cos θ).
    Lengths are kept, and dot products of rotated queries and keys depend on relative positions only.
    Example: x [[1., 0.]], positions [2] -> [[cos 2, sin 2]]
    """
    d_k = x.shape[-1]
    rates = base ** (-torch.arange(0, d_k, 2, dtype=x.dtype, device=x.device) / d_k)  # (d_k / 2,): radians per step
    angles = positions.to(x.dtype)[:, None] * rates  # (T, d_k / 2)
    cos, sin = angles.cos(), angles.sin()
    u, v = x[..., 0::2], x[..., 1::2]  # (..., T, d_k / 2) each
    pairs = torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1)  # (..., T, d_k / 2, 2)
    return pairs.flatten(-2)  # (..., T, d_k): the pairs side by side again


# --- what the checks share --------------------------------------------------------------------------------------------


def _mistake(name: str, sentence: str, *sources: str) -> Mistake:
    return Mistake(name, sentence, sources[0], sources[1:])


def _around(reference: Any, *lines: str) -> str:
    """A function that does something around the right answer: in its lines, RIGHT is a call of the reference."""
    name, parameters = reference.__name__, inspect.signature(reference).parameters.values()
    call = f"right_{name}({', '.join(parameter.name for parameter in parameters)})"
    body = "\n    ".join(lines).replace("RIGHT", call)
    signature = ", ".join(map(str, parameters))
    source = edited(reference, (f"def {name}(", f"def right_{name}("))
    return written(f"{source}\n\ndef {name}({signature}):\n    {body}\n")


def _answers(student: Any) -> list:
    """The answers recorded for the check that is running, by which a mistake is recognised."""
    return list(student.record.values())[-1]


def _sinusoids(positions: torch.Tensor, d_model: int) -> torch.Tensor:
    """The rows of these positions, in float64."""
    rates = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = positions.double()[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


def _near(got: Any, expected: torch.Tensor, reach: Any, what: str, where: str) -> None:
    """Values up to the rounding of float32: an angle of p radians is known to about p · 1e-7, however it was computed.

    `reach`: the largest angle of each row, a number or a tensor (rows, 1). The dtype is marked elsewhere.
    """
    got = a_tensor(got, what)
    if got.shape == expected.shape and got.is_floating_point() and got.device.type == "cpu":
        size = max(1.0, expected.abs().max().item()) if expected.numel() else 1.0
        if got.isfinite().all() and not ((got.double() - expected).abs() > size * (2e-5 + 2e-6 * reach)).any():
            return
        got = got.float()
    same_tensor(got, expected.float(), what, where)
    raise Wrong(f"{what} {where}: the values are only roughly right: a rounding, or a rate that is a little off?")


def _refused(student: Any, name: str, good: list, bad: list[list], argument: str) -> None:
    """A ValueError for each of the bad arguments, and none for the good ones."""
    with student.case():
        shape = a_tensor(student.value(name, *good), "The result").shape
        if len(shape) != 2 or shape[-1] != good[-1]:
            raise Wrong(f"The result for {argument} = {good[-1]} should have two dimensions and {good[-1]} columns.")
    for args in bad:
        with student.case():
            where = f"{argument} = {args[-1]}"
            try:
                student.value(name, *args)
            except Wrong as wrong:
                facts = getattr(wrong, "facts", {})
                if facts.get("kind") != "raised" or facts.get("type") == "NotImplementedError":
                    raise
                if facts.get("type") != "ValueError":
                    raise Wrong(f"{where} should raise a ValueError; yours raised {facts.get('type')}.") from None
            else:
                if isinstance(_answers(student)[-1].get("value"), torch.Tensor):
                    _answers(student)[-1]["value"] = "a tensor"  # what it holds makes no difference
                raise Wrong(f"{where} is odd and should raise a ValueError; yours returned something.")


# --- sinusoidal_encoding ----------------------------------------------------------------------------------------------


def _table(student: Any, max_len: int, d_model: int) -> None:
    with student.case():
        where = f"for max_len = {max_len} and d_model = {d_model}"
        positions = torch.arange(max_len)
        got = student.value("sinusoidal_encoding", max_len, d_model, where=where)
        _near(got, _sinusoids(positions, d_model), positions[:, None], "The table", where)


def _sinusoidal_values(student: Any) -> None:
    for max_len, d_model in ((6, 8), (10, 2), (5, 12), (8, 8), (7, 4), (3, 64), (2, 6), (50, 10)):
        _table(student, max_len, d_model)


def _sinusoidal_lengths(student: Any) -> None:
    for max_len, d_model in ((1, 4), (5000, 6), (1200, 16), (1, 2)):
        _table(student, max_len, d_model)


def _sinusoidal_odd(student: Any) -> None:
    _refused(student, "sinusoidal_encoding", [3, 4], [[5, 7], [4, 1], [2, 3], [10, 511]], "d_model")


def _sinusoidal_manners(student: Any) -> None:
    for max_len, d_model in ((4, 6), (9, 2)):
        with student.case():
            where = f"for max_len = {max_len} and d_model = {d_model}"
            answer = student.call("sinusoidal_encoding", [max_len, d_model], where=where)
            expected = _sinusoids(torch.arange(max_len), d_model).float()
            same_tensor(answer["value"], expected, "The table", where)
            quietly_called(answer)
    with student.case():
        got = student.value("sinusoidal_encoding", max_len=3, d_model=2)
        same_tensor(got, _sinusoids(torch.arange(3), 2).float(), "The table", "with arguments given by name")


def _encoding(*lines: str) -> str:
    return written("def sinusoidal_encoding(max_len, d_model):\n    " + "\n    ".join(lines) + "\n")


_ODD = "if d_model % 2 != 0:\n        raise ValueError('d_model must be even')"
_RATES = "10000.0 ** (-torch.arange(0, d_model, 2) / d_model)"
_ANGLES = f"angles = torch.arange(max_len)[:, None] * {_RATES}"
_GUARD = (
    "    if d_model % 2 != 0:\n"
    '        raise ValueError(f"d_model must be even, because sines and cosines come in pairs; got {d_model}")\n'
)
_RAISE = 'raise ValueError(f"d_model must be even, because sines and cosines come in pairs; got {d_model}")'

SINUSOIDAL_ENCODING = Exercise(
    name="sinusoidal_encoding",
    notebook="04-positional-encoding",
    points=4,
    reference=sinusoidal_encoding,
    checks=[
        Check("sines in even columns, cosines in odd ones", 2.25, _sinusoidal_values),
        Check("tables of no, one and thousands of rows", 0.5, _sinusoidal_lengths),
        Check("an odd d_model is a ValueError", 0.75, _sinusoidal_odd),
        Check("a float32 tensor, nothing left to chance", 0.5, _sinusoidal_manners),
    ],
    working=written(
        """
        import torch

        def sinusoidal_encoding(max_len, d_model):
            if d_model % 2:
                raise ValueError("d_model must be even")
            positions = torch.arange(max_len, dtype=torch.float64)
            angles = torch.outer(positions, torch.logspace(0, -4, d_model // 2 + 1, dtype=torch.float64)[:-1])
            return torch.view_as_real(torch.polar(torch.ones_like(angles), torch.pi / 2 - angles)).flip(-1).flatten(1).float()
        """
    ).replace("torch.pi / 2 - angles)).flip(-1)", "angles)).flip(-1)"),
    mistakes=[
        _mistake(
            "sine_and_cosine_swapped",
            "Sines and cosines are swapped: sines stand in the even columns (0, 2, …), so that row 0 is 0, 1, 0, 1 and so on.",
            edited(
                sinusoidal_encoding,
                ("0::2] = angles.sin", "0::2] = angles.cos"),
                ("1::2] = angles.cos", "1::2] = angles.sin"),
            ),
        ),
        _mistake(
            "halves",
            "All the sines stand on the left and all the cosines on the right: they alternate here, sin cos sin cos … (some programs use "
            "halves, which is another order of the same columns).",
            edited(sinusoidal_encoding, ("0::2]", ": d_model // 2]"), ("1::2]", "d_model // 2 :]")),
            edited(sinusoidal_encoding, ("0::2]", "d_model // 2 :]"), ("1::2]", ": d_model // 2]")),
        ),
        _mistake(
            "reshaped",
            "Sines and cosines were stacked in the wrong dimension and then cut anew by a reshape, which scrambles the rows: stack them on a new last "
            "dimension, then flatten it.",
            edited(
                sinusoidal_encoding,
                ("return table", "return torch.stack([angles.sin(), angles.cos()]).reshape(max_len, d_model)"),
            ),
            edited(
                sinusoidal_encoding,
                ("return table", "return torch.cat([angles.sin(), angles.cos()]).reshape(max_len, d_model)"),
            ),
        ),
        _mistake(
            "exponent_of_cosine",
            "The cosine of a pair has another rate than its sine: columns 2i and 2i+1 share the exponent 2i/d_model.",
            edited(
                sinusoidal_encoding,
                ("angles.cos()", "(positions[:, None] * 10000.0 ** (-torch.arange(1, d_model, 2) / d_model)).cos()"),
            ),
            _encoding(
                _ODD,
                "angles = torch.arange(max_len)[:, None] * 10000.0 ** (-2 * torch.arange(d_model) / d_model)",
                "angles[:, 0::2], angles[:, 1::2] = angles[:, 0::2].sin(), angles[:, 1::2].cos()",
                "return angles",
            ),
        ),
        _mistake(
            "exponent_halved",
            "The exponent is i/d_model where it should be 2i/d_model: i counts pairs, from 0 to d_model/2 − 1.",
            edited(
                sinusoidal_encoding, ("torch.arange(0, d_model, 2) / d_model", "torch.arange(d_model // 2) / d_model")
            ),
        ),
        _mistake(
            "exponent_doubled",
            "The 2 of the exponent is there twice: torch.arange(0, d_model, 2) holds the numbers 2i already.",
            edited(sinusoidal_encoding, ("-torch.arange(0, d_model, 2)", "-2 * torch.arange(0, d_model, 2)")),
            edited(sinusoidal_encoding, ("2) / d_model", "2) / (d_model // 2)")),
        ),
        _mistake(
            "exponent_off_by_one",
            "The exponents begin at 2/d_model: the first pair has i = 0, a rate of 1.",
            edited(sinusoidal_encoding, ("torch.arange(0, d_model, 2)", "torch.arange(2, d_model + 2, 2)")),
            edited(sinusoidal_encoding, ("torch.arange(0, d_model, 2)", "torch.arange(1, d_model + 1, 2)")),
        ),
        _mistake(
            "multiplied",
            "The position is multiplied by 10000^(2i/d_model): it is divided by it, so that later pairs turn ever more slowly.",
            edited(sinusoidal_encoding, ("(-torch.arange", "(torch.arange")),
            edited(
                sinusoidal_encoding, (_RATES, "torch.exp(torch.arange(0, d_model, 2) * (math.log(10000.0) / d_model))")
            ),
            edited(
                sinusoidal_encoding, (_RATES, "10000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)")
            ),
        ),
        _mistake(
            "exponent_without_d_model",
            "The exponent is not divided by d_model: 2i/d_model runs from 0 to just below 1.",
            edited(sinusoidal_encoding, ("2) / d_model", "2).float()")),
        ),
        _mistake(
            "other_range",
            "The rates run from 1 to exactly 1/10000: with the exponent 2i/d_model, the last one stops short of it.",
            edited(sinusoidal_encoding, ("2) / d_model", "2) / max(d_model - 2, 1)")),
            edited(sinusoidal_encoding, ("2) / d_model", "2) / (d_model - 1)")),
        ),
        _mistake(
            "other_base",
            "The base is not 10000.",
            *[
                edited(sinusoidal_encoding, ("10000.0", base))
                for base in ("1000.0", "100000.0", "math.e", "10.0", "1024.0", "math.exp(4)")
            ],
        ),
        _mistake(
            "one_rate",
            "All the pairs turn at the same rate: i is missing from the formula (or fixed in a loop).",
            edited(sinusoidal_encoding, (_RATES, "torch.ones(d_model // 2)")),
            edited(sinusoidal_encoding, (_RATES, "torch.full((d_model // 2,), 1 / 10000)")),
        ),
        _mistake(
            "rate_rounded_to_0",
            "The exponent is rounded to a whole number (`//`, or integers): 2i/d_model is a fraction.",
            edited(sinusoidal_encoding, ("2) / d_model", "2) // d_model")),
        ),
        _mistake(
            "from_one",
            "The positions begin at 1: row 0 belongs to position 0 and is 0, 1, 0, 1 and so on.",
            edited(sinusoidal_encoding, ("torch.arange(max_len)", "torch.arange(1, max_len + 1)")),
        ),
        _mistake(
            "only_sines",
            "Only sines (or only cosines) fill the table: sines stand in the even columns, cosines in the odd ones.",
            edited(sinusoidal_encoding, ("angles.cos()", "angles.sin()")),
            edited(sinusoidal_encoding, ("angles.sin()", "angles.cos()")),
        ),
        _mistake(
            "cosines_missing",
            "Half of the columns are never filled: the sines go into the even ones and the cosines into the odd ones.",
            edited(sinusoidal_encoding, ("torch.empty", "torch.zeros"), ("    table[:, 1::2] = angles.cos()\n", "")),
            edited(sinusoidal_encoding, ("torch.empty", "torch.zeros"), ("    table[:, 0::2] = angles.sin()\n", "")),
        ),
        _mistake(
            "half_as_wide",
            "The table has d_model / 2 columns, or 2 · d_model: a sine and a cosine for each of d_model / 2 pairs are d_model columns.",
            edited(sinusoidal_encoding, ("return table", "return angles.sin()")),
            edited(sinusoidal_encoding, ("return table", "return angles.sin() + angles.cos()")),
            edited(sinusoidal_encoding, ("return table", "return table.repeat(1, 2)")),
        ),
        _mistake(
            "angles_returned",
            "The angles are returned as they are: their sines and cosines are asked for.",
            edited(sinusoidal_encoding, ("return table", "return angles.repeat_interleave(2, dim=1)")),
            edited(sinusoidal_encoding, ("return table", "return angles")),
        ),
        _mistake(
            "degrees",
            "The angles are taken for degrees: sin and cos want radians, as they are.",
            edited(sinusoidal_encoding, ("    table =", "    angles = torch.deg2rad(angles)\n    table =")),
            edited(sinusoidal_encoding, ("    table =", "    angles = 2 * math.pi * angles\n    table =")),
        ),
        _mistake(
            "transposed",
            "The table is transposed: one row for each position, (max_len, d_model).",
            edited(sinusoidal_encoding, ("return table", "return table.T")),
        ),
        _mistake(
            "batch_dimension",
            "The table has a dimension too many: (max_len, d_model) is asked for.",
            edited(sinusoidal_encoding, ("return table", "return table[None]")),
            edited(sinusoidal_encoding, ("return table", "return table[:, None]")),
        ),
        _mistake(
            "one_row_too_many",
            "The number of rows is off by one, or fixed: max_len rows are asked for.",
            _around(sinusoidal_encoding, "return right_sinusoidal_encoding(max_len + 1, d_model)"),
            _around(sinusoidal_encoding, "return right_sinusoidal_encoding(5000, d_model)"),
            _around(sinusoidal_encoding, "return right_sinusoidal_encoding(512, d_model)"),
            _around(sinusoidal_encoding, "return right_sinusoidal_encoding(1000, d_model)"),
        ),
        _mistake(
            "odd_not_refused",
            "An odd d_model is not refused: sines and cosines come in pairs, so raise a ValueError that says so.",
            edited(sinusoidal_encoding, (_GUARD, "")),
            edited(sinusoidal_encoding, (_GUARD, ""), ("= angles.cos()", "= angles[:, : d_model // 2].cos()")),
            edited(sinusoidal_encoding, (_RAISE, "d_model += 1")),
        ),
        _mistake(
            "assertion",
            "An odd d_model raises an error of another type: a ValueError is asked for (`raise ValueError(…)`, not `assert`).",
            edited(sinusoidal_encoding, (_GUARD, "    assert d_model % 2 == 0, 'd_model must be even'\n")),
            edited(sinusoidal_encoding, ("raise ValueError", "raise TypeError")),
            edited(sinusoidal_encoding, ("raise ValueError", "raise Exception")),
        ),
        _mistake(
            "error_returned",
            "The ValueError is returned or printed: it has to be raised.",
            edited(sinusoidal_encoding, ("raise ValueError", "return ValueError")),
            edited(sinusoidal_encoding, (_RAISE, "print('d_model must be even')\n        return")),
        ),
        _mistake(
            "even_refused",
            "Even widths are refused: only an odd d_model is an error.",
            edited(sinusoidal_encoding, ("% 2 != 0", "% 2 == 0")),
            edited(sinusoidal_encoding, ("% 2 != 0", "% 4 != 0")),
        ),
        _mistake(
            "other_dtype",
            "The table is not float32, PyTorch's default: convert it (`.float()`).",
            edited(sinusoidal_encoding, ("return table", "return table.double()")),
            edited(sinusoidal_encoding, ("return table", "return table.half()")),
        ),
        _mistake(
            "whole_numbers",
            "The values are cut to whole numbers, because the table was made with an integer dtype.",
            edited(
                sinusoidal_encoding,
                ("torch.empty(max_len, d_model)", "torch.empty(max_len, d_model, dtype=torch.long)"),
            ),
            edited(
                sinusoidal_encoding,
                ("torch.empty(max_len, d_model)", "torch.empty(max_len, d_model, dtype=torch.long)"),
                ("return table", "return table.float()"),
            ),
        ),
        _mistake(
            "not_a_tensor",
            "A list or a NumPy array is returned: a tensor is asked for.",
            edited(sinusoidal_encoding, ("return table", "return table.numpy()")),
            edited(sinusoidal_encoding, ("return table", "return table.tolist()")),
            edited(sinusoidal_encoding, ("return table", "return list(table)")),
        ),
        _mistake(
            "noise",
            "The table is random, or noise is added to it: it follows from the formula alone.",
            edited(sinusoidal_encoding, ("return table", "return torch.randn(max_len, d_model)")),
            edited(sinusoidal_encoding, ("return table", "return table + 0.1 * torch.randn(max_len, d_model)")),
            edited(sinusoidal_encoding, ("return table", "return nn.functional.dropout(table, 0.1)")),
        ),
        _mistake(
            "scaled",
            "The table is scaled: sines and cosines stand in it as they are.",
            edited(sinusoidal_encoding, ("return table", "return table * d_model**-0.5")),
            edited(sinusoidal_encoding, ("return table", "return table * d_model**0.5")),
            edited(sinusoidal_encoding, ("return table", "return table / table.norm(dim=-1, keepdim=True)")),
        ),
        _mistake(
            "last_left_out",
            "The last row, or the last pair of columns, is left out: `range` ends before its second number.",
            edited(sinusoidal_encoding, ("return table", "table[-1:] = 0\n    return table")),
            edited(sinusoidal_encoding, ("return table", "table[:, -2:] = 0\n    return table")),
        ),
        _mistake(
            "returned_too_early",
            "`return` stands inside a loop, so that only one row or pair is filled.",
            edited(sinusoidal_encoding, ("return table", "table[1:] = 0\n    return table")),
            edited(sinusoidal_encoding, ("return table", "table[:, 2:] = 0\n    return table")),
        ),
        _mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the table.",
            edited(sinusoidal_encoding, ("    return table\n", "")),
        ),
    ],
    alternatives=[
        Alternative(
            "loops",
            _encoding(
                _ODD,
                "table = torch.zeros(max_len, d_model)",
                "for p in range(max_len):",
                "    for i in range(d_model // 2):",
                "        angle = p / 10000 ** (2 * i / d_model)",
                "        table[p, 2 * i], table[p, 2 * i + 1] = math.sin(angle), math.cos(angle)",
                "return table",
            ),
        ),
        Alternative(
            "annotated_transformer",
            _encoding(
                "if d_model % 2 == 1:",
                "    raise ValueError(f'd_model={d_model} is odd')",
                "pe = torch.zeros(max_len, d_model)",
                "position = torch.arange(0, max_len).unsqueeze(1).float()",
                "div_term = torch.exp(torch.arange(0, d_model, 2).float() * -(math.log(10000.0) / d_model))",
                "pe[:, 0::2] = torch.sin(position * div_term)",
                "pe[:, 1::2] = torch.cos(position * div_term)",
                "return pe",
            ),
        ),
        Alternative(
            "stacked",
            _encoding(
                _ODD,
                "w = 1 / torch.pow(10000, torch.arange(d_model // 2) * 2 / d_model)",
                "a = torch.outer(torch.arange(max_len, dtype=torch.float32), w)",
                "return torch.stack((a.sin(), a.cos()), dim=2).reshape(max_len, d_model)",
            ),
        ),
        Alternative(
            "shifted_sine",
            _encoding(
                _ODD,
                "column = torch.arange(d_model, dtype=torch.float64)",
                "rate = 10000 ** (-(column - column % 2) / d_model)",
                "angles = torch.arange(max_len, dtype=torch.float64).unsqueeze(1) * rate + column % 2 * math.pi / 2",
                "return torch.sin(angles).to(torch.float32)",
            ),
        ),
    ],
)


# --- LearnedPositionalEmbedding ---------------------------------------------------------------------------------------

_TENSORS = """
def tensors(module):
    return [t.detach() for m in module.modules() for t in [*m.buffers(recurse=False), *vars(m).values()]
            if isinstance(t, torch.Tensor)]
"""


def _is_table(value: Any, max_len: int, embed_dim: int) -> bool:
    """(max_len, embed_dim), or the same with dimensions of size 1 before it."""
    shaped = isinstance(value, torch.Tensor) and value.dim() >= 2 and tuple(value.shape[-2:]) == (max_len, embed_dim)
    return shaped and value.numel() == max_len * embed_dim


def _state(student: Any, module: Any) -> dict:
    """The module's state. What the parameters are called, and how they begin, is nobody's mistake: their shapes are recorded."""
    state = student.state(module)
    tensors = [p for p in state["parameters"].values() if isinstance(p, torch.Tensor)]
    kinds = sorted((dtype_name(p), list(p.shape)) for p in tensors)
    _answers(student)[-1] = {"value": [kinds, len(state["trainable"])]}
    return state


def _learned(student: Any, max_len: int, embed_dim: int, dtype: str = "") -> tuple[Any, torch.Tensor, str]:
    """A built module, the numbers in its table, and the name of that parameter, which may be any.

    Where no parameter is a table, a buffer or plain tensor of that shape will do: that is marked elsewhere.
    """
    module = student.build("LearnedPositionalEmbedding", max_len, embed_dim)
    if dtype:
        student.move(module, dtype)
    parameters = _state(student, module)["parameters"]
    for name, value in parameters.items():
        if _is_table(value, max_len, embed_dim):
            table = normal(*value.shape, dtype=torch.float64 if dtype else torch.float32)
            student.load(module, {name: table})
            return module, table.reshape(max_len, embed_dim), name
    others = student.value(student.probe("tensors", _TENSORS), module)
    _answers(student).pop()
    for value in others if isinstance(others, list) else []:
        if _is_table(value, max_len, embed_dim):
            return module, value.reshape(max_len, embed_dim), ""
    raise Wrong(
        f"LearnedPositionalEmbedding({max_len}, {embed_dim}) holds no table of shape ({max_len}, {embed_dim}): make one parameter "
        "of that shape in `__init__`."
    )


def _learned_parameters(student: Any) -> None:
    for max_len, embed_dim in ((7, 4), (3, 6)):
        with student.case():
            state = _state(student, student.build("LearnedPositionalEmbedding", max_len, embed_dim))
            parameters = state["parameters"]
            tables = [name for name, value in parameters.items() if _is_table(value, max_len, embed_dim)]
            if not parameters:
                raise Wrong(
                    "There is no parameter, so nothing can be learned: make the table an nn.Parameter or an nn.Embedding."
                )
            if not tables:
                shapes = ", ".join(str(tuple(p.shape)) for p in parameters.values() if isinstance(p, torch.Tensor))
                raise Wrong(
                    f"The table should have shape ({max_len}, {embed_dim}), one row for each position; yours: {shapes[:80]}."
                )
            if len(parameters) > 1:
                raise Wrong(
                    f"There should be one parameter, the table; yours has {', '.join(map(str, parameters))[:120]}."
                )
            if tables[0] not in state["trainable"]:
                raise Wrong("The table is frozen (requires_grad=False), so it cannot be learned.")
            if parameters[tables[0]].dtype != torch.float32:
                raise Wrong(
                    f"The table should be float32, PyTorch's default; yours is {dtype_name(parameters[tables[0]])}."
                )
    with student.case():
        named = _state(student, student.build("LearnedPositionalEmbedding", max_len=5, embed_dim=2))["parameters"]
        if not any(_is_table(value, 5, 2) for value in named.values()):
            raise Wrong(
                "LearnedPositionalEmbedding(max_len=5, embed_dim=2) should build the same as LearnedPositionalEmbedding(5, 2)."
            )


def _learned_values(student: Any) -> None:
    for max_len, B, T, C in (
        *((9, 2, 5, 4), (6, 3, 6, 4), (8, 1, 3, 2), (5, 4, 1, 3), (4, 4, 4, 4), (12, 2, 7, 1), (1, 2, 1, 5)),
        *((3, 6, 2, 3), (40, 2, 33, 3)),
    ):
        with student.case():
            module, table, _ = _learned(student, max_len, C)
            x = normal(B, T, C)
            where = f"for max_len = {max_len}, B = {B}, T = {T}, C = {C}"
            same_tensor(student.value(module, x, where=where), x + table[:T], "The result", where)


def _learned_modes(student: Any) -> None:
    module, table, _ = _learned(student, 7, 40)
    x = normal(3, 5, 40)
    for training, where in ((True, "in training mode"), (False, "in evaluation mode"), (True, "in a second call")):
        with student.case():
            got = student.call(module, [x], where=where, training=training)["value"]
            same_tensor(got, x + table[:5], "The result", where)


def _learned_too_long(student: Any) -> None:
    module, table, _ = _learned(student, 6, 3)
    full = normal(2, 6, 3)
    same_tensor(student.value(module, full), full + table, "The result", "for T = max_len")
    for T in (7, 9, 60):
        with student.case():
            where = f"T = {T} with max_len = 6"
            try:
                student.value(module, normal(2, T, 3))
            except Wrong as wrong:
                facts = getattr(wrong, "facts", {})
                if facts.get("kind") != "raised":
                    raise
                if facts.get("type") != "ValueError":
                    raise Wrong(f"{where} should raise a ValueError; yours raised {facts.get('type')}.") from None
            else:
                raise Wrong(f"{where} should raise a ValueError; yours returned something.")


def _learned_gradient(student: Any) -> None:
    for max_len, B, T, C in ((7, 3, 4, 5), (5, 2, 5, 3)):
        with student.case():
            module, table, name = _learned(student, max_len, C)
            x, upstream = normal(B, T, C), normal(B, T, C)
            where = f"for max_len = {max_len}, T = {T}"
            answer = student.call(module, [x], where=where, upstream=[upstream])
            same_tensor(answer["value"], x + table[:T], "The result", where)
            expected = torch.cat([upstream.sum(0), torch.zeros(max_len - T, C)])
            gradients = answer["gradients"]
            mine = gradients.get("parameters", {}).get(name)
            if isinstance(mine, torch.Tensor) and mine.numel() == expected.numel():
                mine = mine.reshape(expected.shape)
                mine.was_differentiable = False
            gradients["parameters"] = {"table": mine}  # in the record too, whatever its name
            same_gradients([mine], [expected], ["the table"], where)
            same_gradients(gradients.get("inputs", []), [upstream], ["x"], where)


def _learned_manners(student: Any) -> None:
    module, table, name = _learned(student, 6, 3)
    other, other_table, _ = _learned(student, 6, 3)
    x = normal(2, 4, 3)
    answer = student.call(module, [x])
    same_tensor(answer["value"], x + table[:4], "The result")
    unchanged(answer["inputs"], [x], "x")
    same_tensor(student.value(other, x), x + other_table[:4], "The result", "of a second module")
    after = _state(student, module)["parameters"].get(name)
    if isinstance(after, torch.Tensor) and not torch.equal(after.reshape(6, 3), table):
        raise Wrong("A call changes the table: only training may do that.")
    with student.case():
        module, table, _ = _learned(student, 5, 3, "float64")
        x = normal(2, 4, 3, dtype=torch.float64)
        same_tensor(student.value(module, x, where="in float64"), x + table[:4], "The result", "in float64")
    with student.case():
        _learned_device(student)


def _learned_device(student: Any) -> None:
    module, _, _ = _learned(student, 5, 3)
    device_is_kept(student, module, [normal(2, 4, 3)])


def _class(*edits: tuple[str, str]) -> str:
    return edited(LearnedPositionalEmbedding, *edits)


def _module(init: str, *forward: str) -> str:
    first, body = "\n        ".join(init.split("\n")), "\n        ".join(forward)
    return written(
        "class LearnedPositionalEmbedding(nn.Module):\n    def __init__(self, max_len, embed_dim):\n        super().__init__()\n"
        f"        {first}\n\n    def forward(self, x):\n        {body}\n"
    )


_PARAMETER = "self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim))"
_DRAW = "0.02 * torch.randn(max_len, embed_dim)"
_RETURN = "return x + self.table[:T]"
_LIMIT = "max_len < T"
_TOO_LONG = (
    "        if max_len < T:  # the table knows no such positions: there is nothing to add\n"
    '            raise ValueError(f"x has {T} positions, more than max_len = {max_len}")\n'
)
_LAYER = "self.max_len = max_len\nself.embedding = nn.Embedding(max_len, embed_dim)"
_CHECKED = ("T = x.shape[1]", "if T > self.max_len:", "    raise ValueError('too long')")

LEARNED_POSITIONAL_EMBEDDING = Exercise(
    name="LearnedPositionalEmbedding",
    notebook="04-positional-encoding",
    points=4,
    reference=LearnedPositionalEmbedding,
    checks=[
        Check("one parameter: a table (max_len, embed_dim)", 0.75, _learned_parameters),
        Check("adds row t to position t", 1.25, _learned_values),
        Check("the same in training and evaluation", 0.25, _learned_modes),
        Check("T > max_len is a ValueError", 0.75, _learned_too_long),
        Check("gradients in the rows used, and in x", 0.5, _learned_gradient),
        Check("float64, input unchanged, device", 0.5, _learned_manners),
    ],
    working=written(
        """
        import torch
        from torch import nn

        class LearnedPositionalEmbedding(nn.Module):
            def __init__(self, max_len, embed_dim):
                super().__init__()
                self.positions = nn.Embedding(max_len, embed_dim)

            def forward(self, x):
                if x.shape[1] > self.positions.num_embeddings:
                    raise ValueError("x is longer than max_len")
                return x + self.positions(torch.arange(x.shape[1], device=x.device))
        """
    ),
    mistakes=[
        _mistake(
            "positions_only",
            "Only the rows of the table are returned: they are added to x.",
            _class((_RETURN, "return self.table[:T]")),
            _class((_RETURN, "return self.table[:T].expand_as(x)")),
        ),
        _mistake(
            "x_only",
            "x is returned as it came: the rows of the table are to be added.",
            _class((_RETURN, "return x")),
            _class((_RETURN, "x + self.table[:T]\n        return x")),
        ),
        _mistake(
            "multiplied",
            "x is multiplied with the table, or the table subtracted: its rows are added.",
            _class((_RETURN, "return x * self.table[:T]")),
            _class((_RETURN, "return x - self.table[:T]")),
        ),
        _mistake(
            "concatenated",
            "The positions are put beside x (or before it): they are added, so that the shape stays (B, T, C).",
            _class((_RETURN, "return torch.cat([x, self.table[:T].expand_as(x)], dim=-1)")),
            _class((_RETURN, "return torch.cat([self.table[:T].expand_as(x), x], dim=1)")),
        ),
        _mistake(
            "not_refused",
            "A sequence longer than max_len is not refused by you: test T before using the table, and raise a ValueError that "
            "says what was wrong.",
            _class((_TOO_LONG, "")),
            _module(_LAYER, "return x + self.embedding(torch.arange(x.shape[1], device=x.device))"),
        ),
        _mistake(
            "other_error",
            "A sequence longer than max_len raises an error of another type: a ValueError is asked for (`raise ValueError(…)`).",
            _class((_TOO_LONG, "        assert T <= max_len\n")),
            _class(("raise ValueError", "raise TypeError")),
        ),
        _mistake(
            "cut_off",
            "A sequence longer than max_len is quietly cut off, or its last positions get a row twice: it should be refused with a ValueError.",
            _class((_TOO_LONG, "        x, T = x[:, :max_len], min(T, max_len)\n")),
            _class(
                (_TOO_LONG, ""),
                ("self.table[:T]", "self.table[torch.arange(T, device=x.device).clamp(max=max_len - 1)]"),
            ),
            _class((_TOO_LONG, ""), ("self.table[:T]", "self.table[torch.arange(T, device=x.device) % max_len]")),
        ),
        _mistake(
            "error_returned",
            "The ValueError is returned or printed: it has to be raised.",
            _class(("raise ValueError", "return ValueError")),
            _class(
                (
                    'raise ValueError(f"x has {T} positions, more than max_len = {max_len}")',
                    "print('too long')\n            return x",
                )
            ),
        ),
        _mistake(
            "full_length_refused",
            "T = max_len is refused, but the table has a row for each of these positions: only T > max_len is an error.",
            _class((_LIMIT, "max_len <= T")),
        ),
        _mistake(
            "full_length_only",
            "Only T = max_len works: a shorter sequence gets the first T rows of the table.",
            _class(("self.table[:T]", "self.table")),
            _class((_LIMIT, "max_len != T")),
        ),
        _mistake(
            "batch_for_length",
            "The length is taken from the wrong dimension: x is (B, T, C), so T is x.shape[1].",
            _class(("x.shape[1]", "x.shape[0]")),
            _class(("x.shape[1]", "x.shape[2]")),
            _class(("x.shape[1]", "len(x)")),
        ),
        _mistake(
            "length_first",
            "x is taken as (T, B, C), with the positions first: it is (B, T, C).",
            _class(("x.shape[1]", "x.shape[0]"), ("self.table[:T]", "self.table[:T, None]")),
            _class(("x.shape[1]", "x.size(0)"), ("self.table[:T]", "self.table[:T].unsqueeze(1)")),
        ),
        _mistake(
            "one_row",
            "All positions get the same row: position t gets row t.",
            _class(("self.table[:T]", "self.table[0]")),
            _class(("self.table[:T]", "self.table[T - 1]")),
            _class(("self.table[:T]", "self.table[:T].mean(dim=0)")),
            _class(("self.table[:T]", "self.table[:T].sum(dim=0)")),
        ),
        _mistake(
            "rows_shifted",
            "The rows are off by one: position 0 gets row 0.",
            _class(("self.table[:T]", "self.table.roll(-1, 0)[:T]")),
            _class(("self.table[:T]", "self.table.roll(1, 0)[:T]")),
            _module(_LAYER, *_CHECKED, "return x + self.embedding(torch.arange(1, T + 1, device=x.device))"),
        ),
        _mistake(
            "last_rows",
            "The last rows of the table are used, or the rows in reverse: position t gets row t.",
            _class(("self.table[:T]", "self.table[-T:]")),
            _class(("self.table[:T]", "self.table[:T].flip(0)")),
            _class(("self.table[:T]", "self.table.flip(0)[:T]")),
        ),
        _mistake(
            "columns",
            "Columns of the table are used for positions: it has a row for each position.",
            _class(
                (_DRAW, "0.02 * torch.randn(embed_dim, max_len)"),
                ("self.table.shape[0]", "self.table.shape[1]"),
                ("self.table[:T]", "self.table[:, :T].T"),
            ),
            _class((_DRAW, "0.02 * torch.randn(embed_dim, max_len)")),
            _class(("self, max_len, embed_dim", "self, embed_dim, max_len")),
            _module(
                "self.max_len = max_len\nself.embedding = nn.Embedding(embed_dim, max_len)",
                *_CHECKED,
                "return x + self.embedding(torch.arange(T, device=x.device))",
            ),
        ),
        _mistake(
            "linear_layer",
            "An nn.Linear is no table of positions: it holds its numbers transposed, and a bias. Use nn.Embedding(max_len, embed_dim), or a parameter "
            "of that shape.",
            _module(
                "self.max_len = max_len\nself.linear = nn.Linear(max_len, embed_dim)",
                *_CHECKED,
                "return x + self.linear(torch.eye(self.max_len, dtype=x.dtype, device=x.device)[:T])",
            ),
        ),
        _mistake(
            "fixed_size",
            "The number of rows is not max_len, but a fixed number, or one more: the table has one row for each of max_len positions.",
            *[
                _module(
                    f"self.max_len = max_len\nself.embedding = nn.Embedding({rows}, embed_dim)",
                    *_CHECKED,
                    "return x + self.embedding(torch.arange(T, device=x.device))",
                )
                for rows in ("max_len + 1", "512", "1000", "1024", "5000")
            ],
        ),
        _mistake(
            "x_looked_up",
            "x is looked up in the table as if it held ids: it holds vectors already, and the table is asked for rows 0 … T-1.",
            _module(_LAYER, *_CHECKED, "return x + self.embedding(x.long())"),
            _module(_LAYER, *_CHECKED, "return self.embedding(x)"),
            _module(_LAYER, *_CHECKED, "return self.embedding(x.long())"),
        ),
        _mistake(
            "two_results",
            "Two tensors are returned: only the sum is asked for.",
            _class((_RETURN, "return x + self.table[:T], self.table[:T]")),
        ),
        _mistake(
            "not_a_parameter",
            "The table is a plain tensor or a buffer, so that no optimizer would train it: wrap it in nn.Parameter (or use nn.Embedding).",
            _class((_PARAMETER, f"self.table = {_DRAW}")),
            _class((_PARAMETER, f"self.register_buffer('table', {_DRAW})")),
            _class((_PARAMETER, f"self.table = {_DRAW}.requires_grad_()")),
        ),
        _mistake(
            "no_table",
            "The module keeps no table: what is computed or made in forward is never trained. Make one parameter in `__init__`.",
            _module(
                "self.max_len, self.embed_dim = max_len, embed_dim",
                *_CHECKED,
                "return x + sinusoidal_encoding(T, 2 * self.embed_dim)[:, : self.embed_dim].to(x)",
            ),
            _module(
                "self.max_len = max_len",
                *_CHECKED,
                "return x + nn.Embedding(self.max_len, x.shape[2])(torch.arange(T))",
            ),
        ),
        _mistake(
            "sinusoids",
            "The table is filled with sinusoids and never trained: here it is learned, a parameter.",
            _class(
                (
                    _PARAMETER,
                    "self.register_buffer('table', sinusoidal_encoding(max_len, 2 * embed_dim)[:, :embed_dim])",
                )
            ),
        ),
        _mistake(
            "frozen",
            "The table is frozen (requires_grad=False, freeze=True): it is there to be learned.",
            _class((_DRAW, f"{_DRAW}, requires_grad=False")),
        ),
        _mistake(
            "detached",
            "The table is cut off from the result (`.data`, `.detach()`, `no_grad`): no gradient would ever reach it.",
            _class(("self.table[:T]", "self.table.data[:T]")),
            _class(("self.table[:T]", "self.table[:T].detach()")),
            _class((_RETURN, "with torch.no_grad():\n            return x + self.table[:T]")),
        ),
        _mistake(
            "new_table_each_call",
            "The rows added are drawn anew in each call of forward: add those of the table made in `__init__`.",
            _class((_RETURN, "return x + 0.02 * torch.randn_like(self.table)[:T]")),
        ),
        _mistake(
            "dropout",
            "Dropout is applied in training: only the rows of the table are added here.",
            _class((_RETURN, "return nn.functional.dropout(x + self.table[:T], 0.1, self.training)")),
            _class(
                (_PARAMETER, f"{_PARAMETER}\n        self.dropout = nn.Dropout(0.1)"),
                (_RETURN, "return self.dropout(x + self.table[:T])"),
            ),
        ),
        _mistake(
            "extra_parameters",
            "There are parameters beside the table (a norm, a bias, a second table): one table is all that is learned.",
            _class(
                (_PARAMETER, f"{_PARAMETER}\n        self.norm = nn.LayerNorm(embed_dim)"),
                (_RETURN, "return self.norm(x + self.table[:T])"),
            ),
            _class((_PARAMETER, f"{_PARAMETER}\n        self.norm = nn.LayerNorm(embed_dim)")),
            _class(
                (_PARAMETER, f"{_PARAMETER}\n        self.scale = nn.Parameter(torch.ones(1))"),
                (_RETURN, "return x + self.scale * self.table[:T]"),
            ),
            _class((_PARAMETER, f"{_PARAMETER}\n        self.tokens = nn.Embedding(max_len, embed_dim)")),
            _class((_PARAMETER, f"{_PARAMETER}\n        self.scale = nn.Parameter(torch.tensor(1.0))")),
        ),
        _mistake(
            "scaled",
            "x or the rows are scaled: the result is x plus the rows as they are.",
            _class((_RETURN, "return x * x.shape[-1] ** 0.5 + self.table[:T]")),
            _class((_RETURN, "return x + self.table[:T] * x.shape[-1] ** 0.5")),
            _class((_RETURN, "return (x + self.table[:T]) / 2")),
        ),
        _mistake(
            "rows_for_sequences",
            "The rows are given to the sequences of the batch instead of the positions: each sequence gets rows 0 … T-1.",
            _class(("self.table[:T]", "self.table[torch.arange(x.shape[0], device=x.device) % max_len][:, None]")),
        ),
        _mistake(
            "changed_in_place",
            "The caller's x is changed (`x += …`): make a new tensor, `x + …`.",
            _class((_RETURN, "x += self.table[:T]\n        return x")),
            _class((_RETURN, "return x.add_(self.table[:T])")),
            _class(
                (
                    _RETURN,
                    "result = x + self.table[:T]\n        with torch.no_grad():\n            x.zero_()\n        return result",
                )
            ),
        ),
        _mistake(
            "one_sequence",
            "A batch dimension is lost or added: the result has the shape of x, (B, T, C).",
            _class((_RETURN, "return (x + self.table[:T])[0]")),
            _class((_RETURN, "return (x + self.table[:T]).squeeze()")),
            _class((_RETURN, "return (x + self.table[:T])[None]")),
            _class((_RETURN, "return (x + self.table[:T]).mean(dim=1)")),
        ),
        _mistake(
            "device_dropped",
            "The positions are made without `device=x.device`: on a GPU the look-up fails.",
            _module(_LAYER, *_CHECKED, "return x + self.embedding(torch.arange(T))"),
        ),
        _mistake(
            "float32_only",
            "The result is always float32 (`.float()`): keep the dtype of x.",
            _class((_RETURN, "return x.float() + self.table[:T].float()")),
        ),
        _mistake(
            "nothing_returned",
            "Nothing is returned by forward (None): `return` the sum.",
            _class((_RETURN, "x + self.table[:T]")),
        ),
        _mistake(
            "not_a_module",
            "The class is no nn.Module: write `class LearnedPositionalEmbedding(nn.Module)`, and call super().__init__() first.",
            _class(("(nn.Module)", ""), ("        super().__init__()\n", "")),
            _class(("(nn.Module)", "")),
        ),
    ],
    alternatives=[
        Alternative(
            "embedding_layer", _module(_LAYER, *_CHECKED, "return x + self.embedding(torch.arange(T, device=x.device))")
        ),
        Alternative(
            "leading_dimension",
            _module(
                "self.pos = nn.Parameter(torch.zeros(1, max_len, embed_dim))\nnn.init.trunc_normal_(self.pos, std=0.02)",
                "B, T, C = x.shape",
                "if T > self.pos.size(1):",
                "    raise ValueError(f'sequence of {T} is longer than {self.pos.size(1)}')",
                "return x + self.pos[:, :T, :]",
            ),
        ),
        Alternative(
            "buffer_of_positions",
            _module(
                "self.wpe = nn.Embedding(max_len, embed_dim)\nself.register_buffer('ids', torch.arange(max_len))",
                "if x.size(1) > len(self.ids):",
                "    raise ValueError('x is too long')",
                "return self.wpe(self.ids[: x.size(1)]).unsqueeze(0).expand(x.size(0), -1, -1) + x",
            ),
        ),
        Alternative(
            "loop",
            _module(
                "self.max_len = max_len\nself.P = nn.Parameter(torch.rand(max_len, embed_dim) - 0.5)",
                "if not x.shape[1] <= self.max_len:",
                "    raise ValueError('T must not exceed max_len')",
                "return torch.stack([x[:, t] + self.P[t] for t in range(x.shape[1])], dim=1)",
            ),
        ),
    ],
)


# --- shift_matrix -----------------------------------------------------------------------------------------------------


def _shifts(student: Any, k: int, d_model: int) -> None:
    """PE[p + k] == PE[p] @ M, for many p: no other matrix does that, so that nothing is asked about its entries."""
    with student.case():
        where = f"for k = {k} and d_model = {d_model}"
        matrix = a_tensor(student.value("shift_matrix", k, d_model, where=where), "The matrix")
        if tuple(matrix.shape) != (d_model, d_model):
            raise Wrong(
                f"The matrix {where} should have shape ({d_model}, {d_model}), yours has {tuple(matrix.shape)}.",
                "wrong_shape",
            )
        if not matrix.is_floating_point():
            raise Wrong(f"The matrix {where} should hold floats; yours holds {dtype_name(matrix)}.", "wrong_dtype")
        start = max(0, -k)
        positions = torch.cat([torch.arange(start, start + 40), torch.arange(start + 40, start + 400, 23)])
        before, after = _sinusoids(positions, d_model), _sinusoids(positions + k, d_model)
        got = before @ matrix.double()
        if not matrix.isfinite().all() or ((got - after).abs() > 3e-5 + 2e-6 * abs(k)).any():
            reverse = ((before @ matrix.double().mT - after).abs() < 1e-3).all()
            hint = " (its transpose would do: PE[p] is a row, on the left of the matrix)" if reverse else ""
            raise Wrong(f"PE[p] @ M is not PE[p + k] {where}{hint}.")


def _shift_forward(student: Any) -> None:
    for k, d_model in ((1, 4), (3, 8), (2, 2), (5, 6), (7, 16), (12, 10), (1, 32)):
        _shifts(student, k, d_model)


def _shift_backward(student: Any) -> None:
    for k, d_model in ((-1, 4), (-3, 8), (0, 6), (-10, 2), (0, 2), (-7, 12)):
        _shifts(student, k, d_model)


def _shift_far(student: Any) -> None:
    for k, d_model in ((100, 8), (1000, 6), (-512, 4), (4000, 12)):
        _shifts(student, k, d_model)


def _shift_odd(student: Any) -> None:
    _refused(student, "shift_matrix", [2, 4], [[1, 3], [2, 7], [0, 5], [-1, 1]], "d_model")


def _shift_manners(student: Any) -> None:
    for k, d_model in ((2, 6), (-1, 4), (0, 2)):
        with student.case():
            _shifts(student, k, d_model)
            answer = student.call("shift_matrix", [k, d_model])
            got = a_tensor(answer["value"], "The matrix")
            if got.dtype != torch.float32:
                raise Wrong(
                    f"The matrix should be float32, PyTorch's default; yours is {dtype_name(got)}.", "wrong_dtype"
                )
            quietly_called(answer)
    with student.case():
        got = student.value("shift_matrix", k=0, d_model=4)
        same_tensor(got, torch.eye(4), "The matrix", "for k = 0, with arguments given by name")


def _shift(*lines: str) -> str:
    return written("def shift_matrix(k, d_model):\n    " + "\n    ".join(lines) + "\n")


_COS, _SIN = "angles.cos()", "angles.sin()"
_BLOCK = "".join(
    f"    matrix[{row}, {column}] = {value}\n"
    for row, column, value in (
        ("even", "even", "angles.cos()  # sin -> sin"),
        ("odd", "even", "angles.sin()  # cos -> sin"),
        ("even", "odd", "-angles.sin()  # sin -> cos"),
        ("odd", "odd", "angles.cos()  # cos -> cos"),
    )
)
_TURN = "k * 10000.0 ** (-even / d_model)"
_SETUP = (_ODD, "angles = k * 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)", "c, s = angles.cos(), angles.sin()")

SHIFT_MATRIX = Exercise(
    name="shift_matrix",
    notebook="04-positional-encoding",
    points=5,
    reference=shift_matrix,
    checks=[
        Check("moves every position by k", 2.5, _shift_forward),
        Check("backwards too, and not at all for k = 0", 1.0, _shift_backward),
        Check("by hundreds of steps", 0.5, _shift_far),
        Check("an odd d_model is a ValueError", 0.5, _shift_odd),
        Check("a float32 tensor, nothing left to chance", 0.5, _shift_manners),
    ],
    working=written(
        """
        import torch

        def shift_matrix(k, d_model):
            if d_model % 2:
                raise ValueError("d_model must be even")
            turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
            generator = torch.block_diag(*(10000.0 ** (-i / d_model) * turn for i in range(0, d_model, 2)))
            return torch.matrix_exp(k * generator).float()
        """
    ),
    mistakes=[
        _mistake(
            "transposed",
            "The matrix moves the wrong way, by −k (it is transposed): PE[p] is a row and stands on the left, PE[p] @ M.",
            edited(shift_matrix, ("return matrix", "return matrix.T")),
            edited(shift_matrix, (_TURN, f"-{_TURN}")),
        ),
        _mistake(
            "both_signs_alike",
            "A minus sign is missing (or one too many): cos(α + β) = cos α cos β − sin α sin β, and sin(α + β) has two plus signs.",
            edited(shift_matrix, ("-angles.sin()", "angles.sin()")),
            edited(shift_matrix, ("[odd, even] = angles.sin()", "[odd, even] = -angles.sin()")),
            edited(shift_matrix, ("[odd, odd] = angles.cos()", "[odd, odd] = -angles.cos()")),
            edited(shift_matrix, ("[even, even] = angles.cos()", "[even, even] = -angles.cos()")),
        ),
        _mistake(
            "sine_and_cosine_swapped",
            "Sine and cosine are swapped: the cosines of the angle stand on the diagonal (for k = 0 the matrix is the identity).",
            edited(shift_matrix, ("angles.cos()", "COS"), ("angles.sin()", "angles.cos()"), ("COS", "angles.sin()")),
            edited(
                shift_matrix,
                ("angles.cos()", "COS"),
                ("angles.sin()", "angles.cos()"),
                ("COS", "angles.sin()"),
                ("-angles.cos()", "angles.cos()"),
                ("[odd, even] = angles.cos()", "[odd, even] = -angles.cos()"),
            ),
        ),
        _mistake(
            "cosine_first",
            "The matrix fits pairs (cos, sin), or mixes up its rows: the sine stands first here, in column 2i, and the cosine in column 2i+1.",
            _shift(*_SETUP, "return torch.block_diag(*torch.stack([s, c, c, -s], dim=1).view(-1, 2, 2))"),
            _shift(*_SETUP, "return torch.block_diag(*torch.stack([-s, c, c, s], dim=1).view(-1, 2, 2))"),
        ),
        _mistake(
            "halves",
            "The blocks join column i with column i + d_model/2: in this table the sine and cosine of a pair stand side by side, in "
            "columns 2i and 2i+1.",
            edited(
                shift_matrix,
                (
                    _BLOCK,
                    "    half = d_model // 2\n    a, b = torch.arange(half), torch.arange(half) + half\n    matrix[a, a] = angles.cos()\n    matrix[b, a] = angles.sin()\n    matrix[a, b] = -angles.sin()\n    matrix[b, b] = angles.cos()\n",
                ),
            ),
            edited(
                shift_matrix,
                (
                    _BLOCK,
                    "    half = d_model // 2\n    a, b = torch.arange(half), torch.arange(half) + half\n    matrix[a, a] = angles.cos()\n    matrix[b, a] = -angles.sin()\n    matrix[a, b] = angles.sin()\n    matrix[b, b] = angles.cos()\n",
                ),
            ),
        ),
        _mistake(
            "blocks_overlap",
            "The blocks overlap: pair i stands in rows and columns 2i and 2i+1, not i and i+1.",
            _shift(
                _ODD,
                "M = torch.zeros(d_model, d_model)",
                "for i in range(d_model // 2):",
                "    t = k / 10000 ** (2 * i / d_model)",
                "    M[i, i], M[i, i + 1], M[i + 1, i], M[i + 1, i + 1] = math.cos(t), -math.sin(t), math.sin(t), math.cos(t)",
                "return M",
            ),
            _shift(
                _ODD,
                "M = torch.zeros(d_model, d_model)",
                "for i in range(d_model // 2):",
                "    t = k / 10000 ** (2 * i / d_model)",
                "    M[i, i], M[i, i + 1], M[i + 1, i], M[i + 1, i + 1] = math.cos(t), math.sin(t), -math.sin(t), math.cos(t)",
                "return M",
            ),
        ),
        _mistake(
            "diagonal_only",
            "Only the diagonal is filled: a shift mixes the sine and cosine of each pair, so there are entries beside the diagonal.",
            edited(
                shift_matrix,
                ("    matrix[odd, even] = angles.sin()  # cos -> sin\n", ""),
                ("    matrix[even, odd] = -angles.sin()  # sin -> cos\n", ""),
            ),
        ),
        _mistake(
            "entry_missing",
            "One of the four entries of each 2 × 2 block is never filled.",
            edited(shift_matrix, ("    matrix[odd, even] = angles.sin()  # cos -> sin\n", "")),
            edited(shift_matrix, ("    matrix[even, odd] = -angles.sin()  # sin -> cos\n", "")),
            edited(shift_matrix, ("    matrix[odd, odd] = angles.cos()  # cos -> cos\n", "")),
            edited(shift_matrix, ("    matrix[even, even] = angles.cos()  # sin -> sin\n", "")),
        ),
        _mistake(
            "one_rate",
            "All pairs turn by the same angle: pair i turns by k / 10000^(2i/d_model).",
            edited(shift_matrix, (_TURN, "k * torch.ones(d_model // 2)")),
        ),
        _mistake(
            "first_pair_only",
            "Only the first pair is turned: each pair has a block of its own.",
            edited(
                shift_matrix,
                (
                    "return matrix",
                    "result = torch.eye(d_model)\n    result[:2, :2] = matrix[:2, :2]\n    return result",
                ),
            ),
            edited(shift_matrix, ("return matrix", "matrix[2:, 2:] = 0\n    return matrix")),
        ),
        _mistake(
            "last_pair_missing",
            "The last pair is left out: `range` ends before its second number.",
            edited(shift_matrix, ("return matrix", "matrix[-2:, -2:] = 0\n    return matrix")),
            edited(shift_matrix, ("return matrix", "matrix[-2:, -2:] = torch.eye(2)\n    return matrix")),
        ),
        _mistake(
            "blocks_only",
            "The blocks themselves are returned: they belong on the diagonal of one matrix (d_model, d_model).",
            _shift(*_SETUP, "return torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)"),
            _shift(*_SETUP, "return torch.stack([torch.stack([c, s], -1), torch.stack([-s, c], -1)], -2)"),
            _shift(*_SETUP, "return torch.tensor([[c[0], -s[0]], [s[0], c[0]]])"),
        ),
        _mistake(
            "rows_moved",
            "This moves rows or columns of the table (roll, or ones beside the diagonal): a shift of the positions turns each pair of columns by an angle.",
            edited(shift_matrix, ("return matrix", "return torch.eye(d_model).roll(k, 0)")),
            edited(shift_matrix, ("return matrix", "return torch.eye(d_model).roll(k, 1)")),
            edited(
                shift_matrix,
                ("return matrix", "return torch.diag(torch.ones(max(d_model - abs(k), 0)), k)[:d_model, :d_model]"),
            ),
        ),
        _mistake(
            "identity",
            "The identity is returned: that moves nothing, which is right for k = 0 only.",
            edited(shift_matrix, ("return matrix", "return torch.eye(d_model)")),
        ),
        _mistake(
            "k_ignored",
            "k is not used: pair i turns by k · 10000^(−2i/d_model), for every k.",
            edited(shift_matrix, (_TURN, "10000.0 ** (-even / d_model)")),
        ),
        _mistake(
            "k_forward_only",
            "The sign of k is lost: a negative k moves backwards.",
            edited(shift_matrix, (_TURN, "abs(k) * 10000.0 ** (-even / d_model)")),
        ),
        _mistake(
            "negative_refused",
            "A negative k, or k = 0, is refused or fails: the matrix exists for every whole k (k = 0 moves nothing).",
            _around(shift_matrix, "if k < 0:", "    raise ValueError('k')", "return RIGHT"),
            _around(shift_matrix, "if k <= 0:", "    raise ValueError('k')", "return RIGHT"),
            _around(shift_matrix, "assert k > 0", "return RIGHT"),
            _shift(
                _ODD,
                "row = sinusoidal_encoding(k + 1, d_model)[k]",
                "blocks = [torch.tensor([[c, -s], [s, c]]) for s, c in row.view(-1, 2).tolist()]",
                "return torch.block_diag(*blocks)",
            ),
            _around(
                shift_matrix,
                "matrix = torch.eye(d_model)",
                "for _ in range(k):",
                "    matrix = matrix @ right_shift_matrix(1, d_model)",
                "return matrix",
            ),
        ),
        _mistake(
            "exponent",
            "The rates are not those of the table: pair i turns by k / 10000^(2i/d_model).",
            edited(shift_matrix, ("(-even / d_model)", "(even / d_model)")),
            edited(shift_matrix, ("(-even / d_model)", "(-even / 2 / d_model)")),
            edited(shift_matrix, ("(-even / d_model)", "(-2 * even / d_model)")),
            edited(shift_matrix, ("(-even / d_model)", "(-odd / d_model)")),
            edited(shift_matrix, ("10000.0", "1000.0")),
            edited(shift_matrix, (_TURN, "10000.0 ** (-k * even / d_model)")),
        ),
        _mistake(
            "degrees",
            "The angles are taken for degrees (or multiplied by 2π): sin and cos want radians, as they are.",
            edited(shift_matrix, (_TURN, f"math.pi / 180 * {_TURN}")),
            edited(shift_matrix, (_TURN, f"2 * math.pi * {_TURN}")),
        ),
        _mistake(
            "whole_numbers",
            "The entries are cut to whole numbers, because the matrix was made with an integer dtype.",
            *[
                _shift(
                    _ODD,
                    "M = torch.zeros(d_model, d_model, dtype=torch.long)",
                    "for i in range(0, d_model, 2):",
                    "    angle = k / 10000 ** (i / d_model)",
                    "    M[i, i] = M[i + 1, i + 1] = math.cos(angle)",
                    "    M[i + 1, i], M[i, i + 1] = math.sin(angle), -math.sin(angle)",
                    f"return {result}",
                )
                for result in ("M", "M.float()")
            ],
        ),
        _mistake(
            "other_dtype",
            "The matrix is not float32, PyTorch's default: convert it (`.float()`).",
            edited(shift_matrix, ("return matrix", "return matrix.double()")),
        ),
        _mistake(
            "table_returned",
            "A row or table of sinusoids is returned: a matrix (d_model, d_model) that turns PE[p] into PE[p + k] is asked for.",
            edited(shift_matrix, ("return matrix", "return sinusoidal_encoding(abs(k) + 1, d_model)[-1]")),
            edited(shift_matrix, ("return matrix", "return sinusoidal_encoding(d_model, d_model)")),
            edited(shift_matrix, ("return matrix", "return sinusoidal_encoding(abs(k) + 1, d_model)")),
        ),
        _mistake(
            "fitted_to_few_positions",
            "The matrix is fitted to a few positions, and does not hold for the others: derive it from the formulas of sin(α + β) and cos(α + β).",
            _shift(
                _ODD,
                "PE = sinusoidal_encoding(d_model + abs(k) + 1, d_model)",
                "a, b = (PE[: len(PE) - k], PE[k:]) if k >= 0 else (PE[-k:], PE[:k])",
                "return torch.linalg.pinv(a[: d_model // 2]) @ b[: d_model // 2]",
            ),
        ),
        _mistake(
            "odd_not_refused",
            "An odd d_model is not refused: sines and cosines come in pairs, so raise a ValueError that says so.",
            edited(shift_matrix, (_GUARD, "")),
            edited(shift_matrix, (_GUARD, "    d_model = d_model // 2 * 2\n")),
        ),
        _mistake(
            "assertion",
            "An odd d_model raises an error of another type: a ValueError is asked for (`raise ValueError(…)`, not `assert`).",
            edited(shift_matrix, (_GUARD, "    assert d_model % 2 == 0, 'd_model must be even'\n")),
            edited(shift_matrix, ("raise ValueError", "raise TypeError")),
        ),
        _mistake(
            "error_returned",
            "The ValueError is returned or printed: it has to be raised.",
            edited(shift_matrix, ("raise ValueError", "return ValueError")),
            edited(shift_matrix, (_RAISE, "print('d_model must be even')\n        return")),
        ),
        _mistake(
            "not_a_tensor",
            "A list or a NumPy array is returned: a tensor is asked for.",
            edited(shift_matrix, ("return matrix", "return matrix.tolist()")),
            edited(shift_matrix, ("return matrix", "return matrix.numpy()")),
        ),
        _mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the matrix.",
            edited(shift_matrix, ("    return matrix\n", "")),
        ),
    ],
    alternatives=[
        Alternative(
            "block_diag",
            _shift(
                *_SETUP,
                "return torch.block_diag(*[torch.tensor([[a, -b], [b, a]]) for a, b in zip(c.tolist(), s.tolist())])",
            ),
        ),
        Alternative(
            "loop",
            _shift(
                _ODD,
                "M = torch.zeros((d_model, d_model))",
                "for i in range(d_model // 2):",
                "    w = 1 / 10000 ** (2 * i / d_model)",
                "    M[2 * i, 2 * i] = M[2 * i + 1, 2 * i + 1] = math.cos(k * w)",
                "    M[2 * i + 1, 2 * i] = math.sin(k * w)",
                "    M[2 * i, 2 * i + 1] = -math.sin(k * w)",
                "return M",
            ),
        ),
        Alternative(
            "diagonals",
            _shift(
                *_SETUP,
                "zero = torch.zeros_like(s)",
                "beside = torch.stack([s, zero], 1).flatten()[: d_model - 1]",
                "return torch.diag(c.repeat_interleave(2)) + torch.diag(beside, -1) - torch.diag(beside, 1)",
            ),
        ),
        Alternative(
            "from_the_table",
            _shift(
                "row = sinusoidal_encoding(abs(k) + 1, d_model)[-1]  # sin and cos of |k| steps",
                "s, c = row[0::2] * (1 if k >= 0 else -1), row[1::2]",
                "matrix = torch.zeros(d_model // 2, 2, d_model // 2, 2)",
                "i = torch.arange(d_model // 2)",
                "matrix[i, 0, i, 0] = matrix[i, 1, i, 1] = c",
                "matrix[i, 1, i, 0], matrix[i, 0, i, 1] = s, -s",
                "return matrix.view(d_model, d_model)",
            ),
        ),
    ],
)


# --- apply_rope -------------------------------------------------------------------------------------------------------


def _rotated(x: torch.Tensor, positions: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
    """The reference in float64."""
    return apply_rope(x.double(), positions.double(), base)


def _rope(student: Any, x: torch.Tensor, positions: torch.Tensor, where: str, **options: float) -> None:
    with student.case():
        got = student.value("apply_rope", x, positions, where=where, **options)
        _near(got, _rotated(x, positions, **options), positions.double().abs()[:, None], "The result", where)


def _rope_values(student: Any) -> None:
    for shape in (
        (5, 4),
        (2, 6, 8),
        (2, 3, 5, 6),
        (3, 2),
        (4, 4),
        (2, 2, 2, 2),
        (1, 6),
        (7, 1, 3, 10),
        (2, 1, 3, 4, 6),
        (2, 20, 64),
    ):
        _rope(student, normal(*shape), torch.arange(shape[-2]), f"for x of shape {shape} and positions 0 … T-1")


def _rope_positions(student: Any) -> None:
    for positions in (
        *([3, 4, 5, 6], [0, 2, 5, 9], [7, 7, 7, 0], [9, 3, 8, 1], [-1, -4, 0, 2], [1000, 5, 30, 4095]),
        *([0, 0, 0, 0], [100000, 3, -2, 8]),
    ):
        _rope(student, normal(2, 3, 4, 6), torch.tensor(positions), f"for positions {positions}")
    _rope(student, normal(3, 8), torch.tensor([0.0, 2.5, 7.0]), "for positions [0.0, 2.5, 7.0] (floats)")
    _rope(student, normal(2, 1, 4), torch.tensor([11]), "for a single token at position 11")


def _rope_base(student: Any) -> None:
    for base, shape in ((100.0, (2, 4, 6)), (500000.0, (5, 8)), (10.0, (3, 2, 4)), (1000, (3, 4))):
        positions = torch.arange(shape[-2]) * 3 + 1
        _rope(student, normal(*shape), positions, f"with base = {base}", base=base)
    with student.case():
        x, positions = normal(3, 6), torch.arange(3)
        got = student.value("apply_rope", x, positions, 50.0)
        same_tensor(got, _rotated(x, positions, 50.0).float(), "The result", "with base given by position")


def _rope_relative(student: Any) -> None:
    """What any rotary embedding does, whichever pairs it turns and in whichever direction."""
    q, k = normal(2, 5, 6), normal(2, 5, 6)
    here = torch.arange(5)

    def turned(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        got = a_tensor(student.value("apply_rope", x, positions), "The result")
        if got.shape != x.shape or not got.is_floating_point() or got.device.type != "cpu":
            raise Wrong(f"The result should have the shape of x, {shape_name(x)}; yours is {kind(got)}.", "wrong_shape")
        return got.double()

    first = turned(q, here)
    if not ((first.norm(dim=-1) - q.double().norm(dim=-1)).abs() < 1e-3).all():
        raise Wrong("Vectors do not keep their length: each pair is rotated, which makes nothing longer or shorter.")
    if not ((first[:, 0] - q[:, 0].double()).abs() < 1e-3).all():
        raise Wrong("At position 0 nothing turns: the vector should stay as it is.")
    if ((first[:, 1:] - q[:, 1:].double()).abs().amax(-1) < 1e-3).any():
        raise Wrong("At a position other than 0 the vector comes back as it was: it should be rotated.")
    scores = first @ turned(k, here).mT
    for shift in (3, 40):
        with student.case():
            if not ((turned(q, here + shift) @ turned(k, here + shift).mT - scores).abs() < 5e-3).all():
                raise Wrong(
                    "Scores change when all positions are moved by the same number: they may depend on relative positions only."
                )
    with student.case():
        if ((first @ turned(k, here + 3).mT - scores).abs() < 1e-3).all():
            raise Wrong("Scores stay the same when only the keys are moved: they should depend on relative positions.")


def _rope_gradient(student: Any) -> None:
    for shape in ((2, 3, 4, 6), (5, 2)):
        with student.case():
            positions = torch.arange(shape[-2]) + 2
            gradients_agree(
                student, "apply_rope", apply_rope, [normal(*shape)], ["x"], (positions,), f"for x of shape {shape}"
            )


def _rope_precision(student: Any) -> None:
    """float64 in, float64 out. Rates and angles in float32, as most codes have them, are precise enough."""
    for positions in (torch.tensor([0, 3, 20, 500]), torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)):
        with student.case():
            x = normal(2, 4, 6, dtype=torch.float64)
            where = f"for x in float64 and {dtype_name(positions)} positions"
            got, expected = student.value("apply_rope", x, positions, where=where), _rotated(x, positions)
            fits = isinstance(got, torch.Tensor) and got.shape == expected.shape and got.dtype == torch.float64
            if fits and (got - expected).abs().max() < 1e-3:
                continue
            same_tensor(got, expected, "The result", where)


def _rope_manners(student: Any) -> None:
    for positions in (torch.tensor([2, 0, 5, 1]), torch.tensor([2, 0, 5, 1], dtype=torch.int32)):
        with student.case():
            x = normal(2, 4, 6)
            where = f"for {dtype_name(positions)} positions"
            answer = student.call("apply_rope", [x, positions], where=where)
            same_tensor(answer["value"], _rotated(x, positions).float(), "The result", where)
            unchanged(answer["inputs"], [x, positions], "x, positions")
    with student.case():
        device_is_kept(student, "apply_rope", [normal(2, 4, 6), torch.arange(4)])


def _turning(*lines: str) -> str:
    return written("def apply_rope(x, positions, base=10000.0):\n    " + "\n    ".join(lines) + "\n")


def _r(*edits: tuple[str, str]) -> str:
    return edited(apply_rope, *edits)


_THETA = "base ** (-torch.arange(0, d_k, 2, dtype=x.dtype, device=x.device) / d_k)"
_SLICES = "u, v = x[..., 0::2], x[..., 1::2]"
_PAIRS = "torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1)"
_FLAT = "return pairs.flatten(-2)"
_START = (
    "d_k = x.shape[-1]",
    "rates = base ** (-torch.arange(0, d_k, 2, dtype=x.dtype, device=x.device) / d_k)",
    "angles = positions.to(x.dtype)[:, None] * rates",
    "cos, sin = angles.cos(), angles.sin()",
)
_LLAMA = (
    *_START,
    "cos, sin = torch.cat([cos, cos], dim=-1), torch.cat([sin, sin], dim=-1)",
    "left, right = x[..., : d_k // 2], x[..., d_k // 2 :]",
)

_CAT = "torch.cat([cos, cos], -1), torch.cat([sin, sin], -1)"
_INTERLEAVED = "cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1)"

APPLY_ROPE = Exercise(
    name="apply_rope",
    notebook="04-positional-encoding",
    points=6,
    reference=apply_rope,
    checks=[
        Check("rotates the pairs (2i, 2i+1)", 2.0, _rope_values),
        Check("by the positions that are given", 1.0, _rope_positions),
        Check("lengths kept, scores relative", 1.0, _rope_relative),
        Check("at rates that follow from base", 0.5, _rope_base),
        Check("gradients reach x", 0.5, _rope_gradient),
        Check("float64 stays float64", 0.5, _rope_precision),
        Check("inputs unchanged, device", 0.5, _rope_manners),
    ],
    working=written(
        """
        import torch

        def apply_rope(x, positions, base=10000.0):
            d_k = x.shape[-1]
            rates = base ** (-torch.arange(0, d_k, 2, dtype=x.dtype, device=x.device) / d_k)
            angles = positions.to(x.dtype)[:, None] * rates
            turns = torch.polar(torch.ones_like(angles), angles)
            pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
            return torch.view_as_real(pairs * turns).flatten(-2)
        """
    ),
    mistakes=[
        _mistake(
            "halves",
            "Feature i is paired with feature i + d_k/2 (`rotate_half`, as in LLaMA's code at Hugging Face): here neighbours are paired, 2i with 2i+1.",
            _turning(*_LLAMA, "return x * cos + torch.cat([-right, left], dim=-1) * sin"),
            _r(
                (_SLICES, "u, v = x[..., : d_k // 2], x[..., d_k // 2 :]"),
                (_PAIRS, "torch.cat([u * cos - v * sin, u * sin + v * cos], dim=-1)"),
                (_FLAT, "return pairs"),
            ),
        ),
        _mistake(
            "not_interleaved",
            "The results are put together in another order than they were taken apart: even and odd features stand side by side again, not in two halves "
            "(stack on a last dimension and flatten it, instead of cat).",
            _r((_PAIRS, "torch.cat([u * cos - v * sin, u * sin + v * cos], dim=-1)"), (_FLAT, "return pairs")),
            _r((_SLICES, "u, v = x[..., : d_k // 2], x[..., d_k // 2 :]")),
            _r((_PAIRS, "torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-2)")),
        ),
        _mistake(
            "rotate_half_mixed",
            "Two conventions are mixed: here the angles are laid out as neighbours (repeat_interleave), and (u, v) is turned into (−v, u) pair by pair, "
            "put together with stack and flatten, not with cat.",
            *[
                _turning(*_START, f"cos, sin = {layout}", f"turned = {turned}", "return x * cos + turned * sin")
                for layout, turned in (
                    (_CAT, "torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)"),
                    (_CAT, "torch.cat([-x[..., 1::2], x[..., 0::2]], -1)"),
                    (_INTERLEAVED, "torch.cat([-x[..., 1::2], x[..., 0::2]], -1)"),
                    (_INTERLEAVED, "torch.cat([-x[..., d_k // 2 :], x[..., : d_k // 2]], -1)"),
                )
            ],
        ),
        _mistake(
            "angles_cut",
            "The angles are cut to whole numbers (`//`): divide with `/`.",
            _r(("positions.to(x.dtype)[:, None] * rates", "(positions.to(x.dtype)[:, None] * rates).floor()")),
        ),
        _mistake(
            "backwards",
            "The pairs turn the other way, by −θ: (u, v) becomes (u cos θ − v sin θ, u sin θ + v cos θ).",
            _r((_PAIRS, "torch.stack([u * cos + v * sin, v * cos - u * sin], dim=-1)")),
            _r(("positions.to(x.dtype)", "-positions.to(x.dtype)")),
        ),
        _mistake(
            "sign",
            "A sign is wrong, so that this is no rotation (lengths change): (u cos θ − v sin θ, u sin θ + v cos θ).",
            _r((_PAIRS, "torch.stack([u * cos + v * sin, u * sin + v * cos], dim=-1)")),
            _r((_PAIRS, "torch.stack([u * cos - v * sin, u * sin - v * cos], dim=-1)")),
            _r((_PAIRS, "torch.stack([u * cos - v * sin, v * cos - u * sin], dim=-1)")),
        ),
        _mistake(
            "sine_and_cosine_swapped",
            "Sine and cosine are swapped: at position 0 nothing turns, because cos 0 = 1.",
            _r(("cos, sin = angles.cos(), angles.sin()", "cos, sin = angles.sin(), angles.cos()")),
        ),
        _mistake(
            "features_swapped",
            "The two features of a pair are swapped: u is feature 2i, v is 2i+1.",
            _r((_SLICES, "v, u = x[..., 0::2], x[..., 1::2]")),
            _r((_PAIRS, "torch.stack([u * sin + v * cos, u * cos - v * sin], dim=-1)")),
        ),
        _mistake(
            "overwritten_too_early",
            "The first feature of a pair is overwritten before the second is computed, which needs the old one: compute both, then put them together.",
            _turning(
                *_START,
                "out = x.clone()",
                "out[..., 0::2] = out[..., 0::2] * cos - out[..., 1::2] * sin",
                "out[..., 1::2] = out[..., 0::2] * sin + out[..., 1::2] * cos",
                "return out",
            ),
            _turning(
                *_START,
                "u, v = x[..., 0::2], x[..., 1::2]",
                "u = u * cos - v * sin",
                "v = u * sin + v * cos",
                "return torch.stack([u, v], dim=-1).flatten(-2)",
            ),
        ),
        _mistake(
            "written_into_x",
            "The caller's x is overwritten: `x[..., 0::2] = …` writes into it. Make a new tensor (torch.stack, torch.empty_like).",
            _turning(
                *_START,
                "u, v = x[..., 0::2].clone(), x[..., 1::2].clone()",
                "x[..., 0::2] = u * cos - v * sin",
                "x[..., 1::2] = u * sin + v * cos",
                "return x",
            ),
            _turning(
                *_START,
                "x[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin",
                "x[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos",
                "return x",
            ),
            _around(apply_rope, "result = RIGHT", "with torch.no_grad():", "    x.copy_(result)", "return result"),
        ),
        _mistake(
            "positions_ignored",
            "`positions` is not used: the rows are numbered 0 … T-1 instead. A cache, or a text that begins later, needs other positions.",
            _r(("positions.to(x.dtype)", "torch.arange(x.shape[-2], dtype=x.dtype, device=x.device)")),
        ),
        _mistake(
            "table_looked_up",
            "The angles are looked up in a table of non-negative whole positions: compute them from `positions` as they are, which may be negative, large or "
            "fractions.",
            _r(
                (
                    "positions.to(x.dtype)[:, None] * rates",
                    "(torch.arange(4096, dtype=x.dtype, device=x.device)[:, None] * rates)[positions]",
                )
            ),
            _r(
                (
                    "positions.to(x.dtype)[:, None] * rates",
                    "(torch.arange(int(positions.max()) + 1, dtype=x.dtype, device=x.device)[:, None] * rates)[positions]",
                )
            ),
            _r(
                (
                    "positions.to(x.dtype)[:, None] * rates",
                    "(torch.arange(10000, dtype=x.dtype, device=x.device)[:, None] * rates)[positions]",
                )
            ),
            _r(
                (
                    "positions.to(x.dtype)[:, None] * rates",
                    "(torch.arange(200000, dtype=x.dtype, device=x.device)[:, None] * rates)[positions]",
                )
            ),
        ),
        _mistake(
            "whole_positions",
            "Positions are cut to whole numbers (`.long()`): they may be fractions.",
            _r(("positions.to(x.dtype)", "positions.long().to(x.dtype)")),
        ),
        _mistake(
            "first_position_only",
            "All tokens are turned by the angle of one position (or of relative positions): token t is turned by positions[t].",
            _r(("positions.to(x.dtype)[:, None]", "positions.to(x.dtype)[:1, None]")),
            _r(("positions.to(x.dtype)[:, None]", "(positions - positions[0]).to(x.dtype)[:, None]")),
        ),
        _mistake(
            "from_one",
            "The positions are taken to begin at 1: at position 0 nothing turns.",
            _r(("positions.to(x.dtype)", "(positions.to(x.dtype) + 1)")),
        ),
        _mistake(
            "base_ignored",
            "`base` is not used: 10000 stands in the code.",
            _r(("base **", "10000.0 **")),
        ),
        _mistake(
            "exponent",
            "The rates are others: pair i turns by 1 / base^(2i/d_k) for each step, from 1 downwards.",
            _r(("(-torch.arange(0, d_k, 2", "(torch.arange(0, d_k, 2")),
            _r(("(-torch.arange(0, d_k, 2", "(-0.5 * torch.arange(0, d_k, 2")),
            _r(("(-torch.arange(0, d_k, 2", "(-2 * torch.arange(0, d_k, 2")),
            _r(("torch.arange(0, d_k, 2", "torch.arange(1, d_k, 2")),
            _r(("torch.arange(0, d_k, 2", "torch.arange(2, d_k + 2, 2")),
            _r(("device=x.device) / d_k", "device=x.device) / max(d_k - 2, 1)")),
        ),
        _mistake(
            "one_rate",
            "All pairs turn at the same rate: pair i turns by positions / base^(2i/d_k).",
            _r((_THETA, "torch.ones(d_k // 2, dtype=x.dtype, device=x.device)")),
        ),
        _mistake(
            "rates_reversed",
            "The rates are in reverse: the first pair turns fastest, by 1 radian for each step.",
            _r((_THETA, f"({_THETA}).flip(0)")),
        ),
        _mistake(
            "degrees",
            "The angles are taken for degrees (or multiplied by 2π): sin and cos want radians, as they are.",
            _r(("    cos, sin", "    angles = torch.deg2rad(angles)\n    cos, sin")),
            _r(("    cos, sin", "    angles = 2 * math.pi * angles\n    cos, sin")),
        ),
        _mistake(
            "added",
            "Sinusoids are added to x (or multiplied with it): a rotary embedding rotates each pair instead.",
            _r((_PAIRS, "torch.stack([u + sin, v + cos], dim=-1)")),
            _r((_PAIRS, "torch.stack([u * sin, v * cos], dim=-1)")),
            _r((_PAIRS, "torch.stack([u * cos, v * sin], dim=-1)")),
            _r((_PAIRS, "torch.stack([u * cos, v * cos], dim=-1)")),
        ),
        _mistake(
            "first_pair_only",
            "Only some of the pairs are turned: all d_k / 2 of them are.",
            _around(apply_rope, "result = x.clone()", "result[..., :2] = RIGHT[..., :2]", "return result"),
            _around(
                apply_rope,
                "result = x.clone()",
                "result[..., : x.shape[-1] // 2] = RIGHT[..., : x.shape[-1] // 2]",
                "return result",
            ),
        ),
        _mistake(
            "last_pair_missing",
            "The last pair is left out: `range` ends before its second number.",
            _around(apply_rope, "result = RIGHT.clone()", "result[..., -2:] = x[..., -2:]", "return result"),
            _around(apply_rope, "result = RIGHT.clone()", "result[..., -2:] = 0", "return result"),
        ),
        _mistake(
            "heads_for_positions",
            "The positions run along the wrong dimension: T is the last but one of x, (…, T, d_k).",
            _around(apply_rope, "x = x.transpose(-2, -3)", "return RIGHT.transpose(-2, -3)"),
            _r(("[:, None] * rates", "[:, None] * rates\n    angles = angles[:, None, :]")),
        ),
        _mistake(
            "fixed_dimensions",
            "It works for one number of dimensions only: x is (…, T, d_k), with any number of leading dimensions, also none.",
            _r(("d_k = x.shape[-1]", "B, T, d_k = x.shape")),
            _r(("d_k = x.shape[-1]", "B, H, T, d_k = x.shape")),
            _r(("d_k = x.shape[-1]", "T, d_k = x.shape")),
        ),
        _mistake(
            "pairs_returned",
            "The pairs are returned in a dimension of their own: the result has the shape of x.",
            _r((_FLAT, "return pairs")),
        ),
        _mistake(
            "complex_returned",
            "Complex numbers are returned: torch.view_as_real makes pairs of real numbers of them.",
            _r((_FLAT, "return torch.view_as_complex(pairs)")),
        ),
        _mistake(
            "parts_returned",
            "Several tensors are returned (even and odd features, or cos and sin): one tensor of the shape of x is asked for.",
            _r((_FLAT, "return u * cos - v * sin, u * sin + v * cos")),
            _r((_FLAT, "return cos, sin")),
        ),
        _mistake(
            "unchanged_x",
            "x comes back as it was: the rotated pairs are to be returned.",
            _r((_FLAT, "return x")),
            _r((_FLAT, "return x.clone()")),
        ),
        _mistake(
            "scaled",
            "The vectors are scaled as well: a rotation keeps lengths.",
            _r((_FLAT, "return pairs.flatten(-2) * d_k**-0.5")),
            _r((_FLAT, "return nn.functional.normalize(pairs.flatten(-2), dim=-1)")),
        ),
        _mistake(
            "float32_only",
            "The result is always float32 (`.float()`), or float64: it keeps the dtype of x.",
            _r((_FLAT, "return pairs.flatten(-2).float()")),
            _around(apply_rope, "x = x.float()", "return RIGHT"),
        ),
        _mistake(
            "always_float64",
            "The result is always float64: it keeps the dtype of x (`.to(x.dtype)`).",
            _around(apply_rope, "x = x.double()", "return RIGHT"),
        ),
        _mistake(
            "detached",
            "The result is cut off from x (`.detach()`, `.data`, `no_grad`): queries and keys must stay differentiable.",
            _around(apply_rope, "return RIGHT.detach()"),
            _around(apply_rope, "with torch.no_grad():", "    return RIGHT"),
            _turning(
                *_START,
                "out = torch.empty_like(x)",
                "out.data[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin",
                "out.data[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos",
                "return out",
            ),
        ),
        _mistake(
            "device_dropped",
            "The rates are made without `device=x.device`: on a GPU the product fails.",
            _r((", device=x.device", "")),
        ),
        _mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the rotated x.",
            _r((_FLAT, "pairs.flatten(-2)")),
        ),
    ],
    alternatives=[
        Alternative(
            "angles_in_float32",
            _r(
                (", dtype=x.dtype, device", ", dtype=torch.float32, device"),
                ("positions.to(x.dtype)", "positions.float()"),
                (
                    "cos, sin = angles.cos(), angles.sin()",
                    "cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)",
                ),
            ),
        ),
        Alternative("rates_in_float32", _r((", dtype=x.dtype, device", ", device"))),
        Alternative(
            "new_tensor_filled",
            _turning(
                *_START,
                "result = torch.empty_like(x)",
                "result[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin",
                "result[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos",
                "return result",
            ),
        ),
        Alternative(
            "rotated_neighbours",
            _turning(
                "half = torch.arange(x.shape[-1] // 2, device=x.device, dtype=x.dtype)",
                "theta = torch.exp(-math.log(base) * 2 * half / x.shape[-1])",
                "angles = torch.outer(positions.to(theta), theta).repeat_interleave(2, dim=-1)",
                "turned = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).reshape(x.shape)",
                "return x * torch.cos(angles) + turned * torch.sin(angles)",
            ),
        ),
        Alternative(
            "complex",
            _turning(
                "d = x.size(-1)",
                "freqs = 1.0 / (base ** (torch.arange(0, d, 2, device=x.device).to(x.dtype) / d))",
                "angles = positions.to(x.dtype).unsqueeze(-1) * freqs",
                "z = torch.view_as_complex(x.reshape(*x.shape[:-1], d // 2, 2))",
                "return torch.view_as_real(z * torch.exp(1j * angles)).reshape(x.shape)",
            ),
        ),
        Alternative(
            "loops_and_matrices",
            _turning(
                "rows = []",
                "for t, p in enumerate(positions.tolist()):",
                "    blocks = []",
                "    for i in range(x.shape[-1] // 2):",
                "        a = p / base ** (2 * i / x.shape[-1])",
                "        c, s = math.cos(a), math.sin(a)",
                "        blocks.append(torch.tensor([[c, s], [-s, c]], dtype=x.dtype, device=x.device))",
                "    rows.append(x[..., t, :] @ torch.block_diag(*blocks))",
                "return torch.stack(rows, dim=-2)",
            ),
        ),
    ],
)


EXERCISES = [SINUSOIDAL_ENCODING, LEARNED_POSITIONAL_EMBEDDING, SHIFT_MATRIX, APPLY_ROPE]
QUESTIONS = [
    Question(
        name="q4_1",
        notebook="04-positional-encoding",
        points=1,
        key="C",
        explanations={
            "A": (
                "This needs only two words, so it looks easy. But swap the two and the outputs are merely "
                "permuted: their mean, and with it the answer, is the same for both orders."
            ),
            "B": (
                "Each word sees all the others, so 'the' and the animal do meet. But which word stands right "
                "after which is a matter of order, and a shuffled text has the same mean."
            ),
            "C": (
                "Right. Which words occur, and how often, is the same for every order of the text. A bag of "
                "words holds this, and it is all that the model has."
            ),
            "D": (
                "A palindrome is defined by order alone: most shuffles of one are none any more. The mean of the "
                "outputs is the same for all these shuffles."
            ),
        },
    ),
    Question(
        name="q4_2",
        notebook="04-positional-encoding",
        points=1,
        key="A",
        explanations={
            "A": (
                "Right. Each multiplication turns every clock on by five words, wherever it stands, and turning "
                "twice adds the angles. The matrix knows nothing of p, so it does not matter how large p is."
            ),
            "B": (
                "That would be so for a matrix fitted to a random table. This one is written down from the "
                "speeds alone: look at whether p occurs anywhere in its entries."
            ),
            "C": (
                "A product of matrices is one map after the other. Think of the clock: what do five minutes and "
                "then another five minutes do to the minute hand?"
            ),
            "D": (
                "Rotations do not shorten anything: sine squared plus cosine squared stays 1 for each clock. The "
                "tip of the hand stays on its circle."
            ),
        },
    ),
    Question(
        name="q4_3",
        notebook="04-positional-encoding",
        points=1,
        key="B",
        explanations={
            "A": (
                "It is true that the scores depend on relative positions only. But list the relative positions "
                "that occur in a text of 64 symbols, and those that occurred in training."
            ),
            "B": (
                "Right. Moving a text leaves all its distances as they were, so all scores are the same. Longer "
                "texts bring distances of 16 and more; what the scores are there, nobody has trained."
            ),
            "C": (
                "New positions look dangerous, and for a learned table they are. For rotary, work out a score at "
                "positions 103 and 101 and compare it with the one at 3 and 1."
            ),
            "D": (
                "Both tests do turn queries and keys by angles that are new. But a score only feels the "
                "difference of two angles: check for each test whether those differences are new."
            ),
        },
    ),
]
