"""Notebook 05: softmax, simple attention, scaled dot-product attention and self-attention."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from .compare import a_pair, a_tensor, same_gradients, same_tensor, unchanged
from .declare import Alternative, Ban, Check, Exercise, Mistake, Question, Wrong, edited, written
from .draw import device_is_kept, gradients_agree, gradients_of, normal, quietly_called

# --- references -------------------------------------------------------------------------------------------------------


def softmax(scores, dim=-1):
    """Turn scores into shares: positive numbers that sum to 1 along `dim`.

    scores: [...]. Returns the same shape, dtype and device; the input is unchanged.
    Stable at scores of 1e4; an entry of -inf gets exactly 0.
    Not allowed: torch.softmax or its relatives (F.softmax, Tensor.softmax, nn.Softmax, log_softmax).
    A slice of nothing but -inf gives nan, as in PyTorch.
    Source: Bridle 1990, "Probabilistic Interpretation of Feedforward Classification Network Outputs".
    """
    shifted = scores - scores.amax(dim=dim, keepdim=True)  # the largest becomes 0: exp cannot overflow
    exps = torch.exp(shifted)
    return exps / exps.sum(dim=dim, keepdim=True)


def simple_attention(x):
    """Blend every row of x with all the others, by the softmax of their dot products.

    x: [..., T, C]. Returns [..., T, C]: softmax(x x^T) x, unprojected and unscaled.
    The softmax runs over the words looked at (the last dimension of the scores).
    Source: the weighted sum of Bahdanau et al. 2015, section 3.1, with dot products as scores.
    """
    scores = x @ x.transpose(-2, -1)  # (..., T, T): entry [t, s] says how alike tokens t and s are
    weights = torch.softmax(scores, dim=-1)  # (..., T, T): each row sums to 1
    return weights @ x  # (..., T, C)


def scaled_dot_product_attention(Q, K, V, mask=None):
    """Blend values by how well each query fits each key.

    Q: [..., T, d_k], K: [..., S, d_k], V: [..., S, d_v]. Returns output [..., T, d_v] and weights [..., T, S].
    mask: boolean, True = blocked, broadcastable to [..., T, S]; a blocked key gets weight exactly 0.
    A row in which every key is blocked is the subject of notebook 06 (here it gives nan).
    Source: Vaswani et al. 2017, section 3.2.1, equation 1.
    """
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k)  # (..., T, S)
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))  # exp(-inf) is exactly 0
    weights = torch.softmax(scores, dim=-1)  # (..., T, S)
    return weights @ V, weights  # (..., T, d_v), (..., T, S)


class SelfAttention(nn.Module):
    """One head of self-attention: queries, keys and values are linear maps of the same x.

    embed_dim: width C of x; head_dim: width of queries, keys, values and output.
    Parameters: q_proj, k_proj, v_proj, each nn.Linear(embed_dim, head_dim).
    forward: x [B, T, C] -> output [B, T, head_dim], weights [B, T, T];
    mask: boolean, True = blocked, broadcastable to [B, T, T].
    Source: Vaswani et al. 2017, sections 3.2.1 and 3.2.3.
    """

    def __init__(self, embed_dim, head_dim):
        super().__init__()
        self.q_proj = nn.Linear(embed_dim, head_dim)
        self.k_proj = nn.Linear(embed_dim, head_dim)
        self.v_proj = nn.Linear(embed_dim, head_dim)

    def forward(self, x, mask=None):
        Q = self.q_proj(x)  # (B, T, head_dim)
        K = self.k_proj(x)  # (B, T, head_dim)
        V = self.v_proj(x)  # (B, T, head_dim)
        return scaled_dot_product_attention(Q, K, V, mask)


# The parts of the references that mistakes change.
_TOP = "scores.amax(dim=dim, keepdim=True)"
_SUM = "exps.sum(dim=dim, keepdim=True)"
_SHARES = f"return exps / {_SUM}"
_SOFT = "torch.softmax(scores, dim=-1)"
_XX = "x @ x.transpose(-2, -1)"
_AVERAGE = "return weights @ x"
_QK = "Q @ K.transpose(-2, -1)"
_ROOT = "math.sqrt(d_k)"
_BLOCK = 'scores.masked_fill(mask, float("-inf"))'
_PAIR = "return weights @ V, weights"
_IF = "if mask is not None:"


# --- softmax ----------------------------------------------------------------------------------------------------------


def _softmax_values(student: Any) -> None:
    for shape in ((5,), (3, 4), (2, 3, 5), (2, 1, 4, 3), (1,), (6, 1), (4, 33), (2, 2, 1, 3, 2)):
        with student.case():
            scores, where = normal(*shape, scale=2.0), f"for scores of shape {shape}"
            got = student.value("softmax", scores, where=where)
            same_tensor(got, torch.softmax(scores, -1), "The result", where)
    for rows, where in (
        ([[0.0, 1.0, -1.0], [2.0, 0.0, 3.0]], "for whole numbers, 0 among them"),
        ([[2.0, 2.0, 2.0], [0.0, 0.0, 0.0], [-1.0, -1.0, 4.0]], "where scores are equal"),
        ([[-3.0, -1.0, -2.0], [5.0, 1.0, 0.5]], "where all scores of a row have one sign"),
    ):
        with student.case():
            scores = torch.tensor(rows)
            same_tensor(student.value("softmax", scores, where=where), torch.softmax(scores, -1), "The result", where)


def _softmax_dim(student: Any) -> None:
    for shape, dim in (
        ((3, 4), 0),
        ((3, 4), 1),
        ((2, 3, 5), 1),
        ((2, 3, 5), -2),
        ((2, 3, 5), 0),
        ((4, 4), 0),
        ((4,), 0),
    ):
        with student.case():
            scores = normal(*shape)
            where = f"for shape {shape} with dim={dim}"
            got = student.call("softmax", [scores], {"dim": dim}, where=where)["value"]
            same_tensor(got, torch.softmax(scores, dim), "The result", where)
    scores = normal(3, 4)
    got = student.value("softmax", scores, 0, where="with dim given by position")
    same_tensor(got, torch.softmax(scores, 0), "The result", "with dim given by position")


def _softmax_stable(student: Any) -> None:
    rows = torch.tensor([[1e4, 1e4 - 1, 1e4 - 3], [-1e4, -1e4 + 2, -1e4], [1e4, -1e4, 0.0], [0.3, -0.2, 0.1]])
    for scores, where in (
        (rows[0], "for scores near 1e4"),
        (rows[1], "for scores near −1e4"),
        (rows[2], "for scores between −1e4 and 1e4"),
        (rows, "when rows near 1e4 and near −1e4 stand in one batch (each row needs its own maximum)"),
        (rows.double(), "for float64 scores near ±1e4"),
    ):
        with student.case():
            same_tensor(
                student.value("softmax", scores, where=where),
                torch.softmax(scores, -1),
                "The result",
                where,
                rough=True,
            )
    columns = rows.T.contiguous()
    where = "for columns near ±1e4 with dim=0"
    got = student.call("softmax", [columns], {"dim": 0}, where=where)["value"]
    same_tensor(got, torch.softmax(columns, 0), "The result", where, rough=True)


def _softmax_blocked(student: Any) -> None:
    scores = normal(4, 5)
    scores[0, 1] = scores[2, :4] = scores[3, 0] = scores[3, 4] = -math.inf
    got = student.value("softmax", scores, where="when some scores are −inf")
    same_tensor(got, torch.softmax(scores, -1), "The result", "when some scores are −inf")
    if got[scores == -math.inf].abs().max() != 0:
        raise Wrong("A score of −inf must get a weight of exactly 0, not just a small one.")
    for low, where in (
        (torch.tensor([[-1e4, -math.inf, -1e4 + 1]]), "when −inf stands next to scores near −1e4"),
        (torch.tensor([[-1e10, -math.inf, -2e10]]), "when −inf stands next to scores lower than any finite fill"),
    ):
        with student.case():
            got = student.value("softmax", low, where=where)
            same_tensor(got, torch.softmax(low, -1), "The result", where, rough=True)


def _softmax_gradient(student: Any) -> None:
    blocked = normal(3, 4)
    blocked[1, 2] = -math.inf
    for scores, where in (
        (normal(3, 4), ""),
        (normal(2, 3, 4, dtype=torch.float64), "in float64"),
        (torch.tensor([[1e4, 1e4 - 1, 0.0]]), "for scores near 1e4"),
        (blocked, "when a score is −inf"),
    ):
        with student.case():
            gradients_agree(student, "softmax", softmax, [scores], ["`scores`"], where=where, rough="1e4" in where)


def _softmax_precision(student: Any) -> None:
    for shape, dim in (((3, 4), -1), ((2, 3, 4), 1)):
        with student.case():
            scores = normal(*shape, dtype=torch.float64, scale=3.0)
            got = student.call("softmax", [scores], {"dim": dim}, where="for float64 scores")["value"]
            same_tensor(got, torch.softmax(scores, dim), "The result", "for float64 scores")


def _softmax_manners(student: Any) -> None:
    scores = normal(3, 4)
    for turn in ("", "when called a second time"):
        answer = student.call("softmax", [scores], where=turn)
        same_tensor(answer["value"], torch.softmax(scores, -1), "The result", turn)
        unchanged(answer["inputs"], [scores], "`scores`")
        quietly_called(answer)
    for turned in (normal(4, 3).T, normal(2, 4, 3, 5).transpose(1, 2)):
        answer = student.call("softmax", [turned], where="for a tensor that is not contiguous (a transpose)")
        same_tensor(answer["value"], torch.softmax(turned, -1), "The result", "for a tensor that is not contiguous")
        unchanged(answer["inputs"], [turned], "`scores`")
    device_is_kept(student, "softmax", [normal(3, 4)])


def _softmax_trial(student: Any) -> set[str]:
    return set(student.call("softmax", [normal(3, 4)], trace=True)["operations"])


_UNSTABLE = """
    exps = torch.exp(scores)
    return exps / exps.sum(dim=dim, keepdim=True)
"""


def _softmax_with(body: str) -> str:
    return written("def softmax(scores, dim=-1):\n" + body)


SOFTMAX = Exercise(
    name="softmax",
    notebook="05-attention",
    points=4,
    reference=softmax,
    checks=[
        Check("values for one to five dimensions", 1.0, _softmax_values),
        Check("the dimension that was asked for", 0.75, _softmax_dim),
        Check("stable for scores of ±1e4", 0.75, _softmax_stable),
        Check("−inf gets exactly 0", 0.5, _softmax_blocked),
        Check("gradients", 0.5, _softmax_gradient),
        Check("float64 stays float64, with its precision", 0.25, _softmax_precision),
        Check("inputs unchanged, any layout and device", 0.25, _softmax_manners),
    ],
    ban=Ban(
        names=frozenset({"softmax", "log_softmax", "Softmax", "LogSoftmax", "Softmax2d", "softmin", "Softmin"}),
        operations=frozenset({"_softmax", "_log_softmax", "_safe_softmax", "softmax", "log_softmax"})
        | {"_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_fused_attention_overrideable"},
        sentence="This exercise is to be written without torch's own softmax and its relatives, so it earns no points.",
        trial=_softmax_trial,
    ),
    working="import torch\n\ndef softmax(scores, dim=-1):\n    return torch.softmax(scores, dim)\n",
    mistakes=[
        Mistake(
            "no_shift",
            "This is what softmax gives when the largest score is not subtracted first: exp(1e4) overflows to infinity, and "
            "inf / inf is NaN. Subtracting the maximum of each row changes nothing in exact arithmetic.",
            _softmax_with(_UNSTABLE),
        ),
        Mistake(
            "global_shift",
            "The maximum of the whole tensor is subtracted, not that of each row: a row whose scores are all far below it "
            "underflows to 0/0. Take the maximum along `dim`, with keepdim=True.",
            edited(softmax, (_TOP, "scores.max()")),
        ),
        Mistake(
            "shift_last_dim",
            "The maximum is taken along the last dimension even when another `dim` is asked for. With large scores the "
            "exponentials then underflow or overflow. Shift along the same `dim` that you normalise.",
            edited(softmax, (_TOP, "scores.amax(dim=-1, keepdim=True)")),
        ),
        Mistake(
            "shift_by_minimum",
            "The smallest score is subtracted instead of the largest, so the exponentials still overflow.",
            edited(softmax, ("scores.amax", "scores.amin")),
        ),
        Mistake(
            "shift_by_absolute",
            "The largest *absolute* value is subtracted instead of the largest score: rows of large negative scores, or with "
            "a −inf, underflow to 0/0.",
            edited(softmax, ("scores.amax", "scores.abs().amax")),
        ),
        Mistake(
            "shift_added",
            "The maximum is added instead of subtracted, so the exponentials overflow even sooner.",
            edited(softmax, ("scores - scores.amax", "scores + scores.amax")),
        ),
        Mistake(
            "shift_in_denominator_only",
            "The maximum is subtracted in the numerator or the denominator only. Use the same exponentials in both.",
            _softmax_with(
                "    shifted = torch.exp(scores - scores.amax(dim=dim, keepdim=True))\n"
                "    return torch.exp(scores) / shifted.sum(dim=dim, keepdim=True)"
            ),
            (
                _softmax_with(
                    "    shifted = torch.exp(scores - scores.amax(dim=dim, keepdim=True))\n"
                    "    return shifted / torch.exp(scores).sum(dim=dim, keepdim=True)"
                ),
            ),
        ),
        Mistake(
            "divided_by_maximum",
            "The scores are divided by their maximum (or another size of the row) instead of shifted: that changes the weights. "
            "Subtract the maximum, which changes nothing.",
            edited(softmax, ("scores - scores.amax", "scores / scores.amax")),
            (
                edited(softmax, ("scores - scores.amax", "scores / scores.abs().amax")),
                edited(softmax, ("scores - scores.amax(", "scores / scores.norm(")),
                edited(softmax, ("scores - scores.amax(", "scores / scores.std(")),
            ),
        ),
        Mistake(
            "shift_by_mean",
            "The mean is subtracted instead of the maximum: large scores stay large and overflow, and one of −inf makes the mean "
            "−inf too.",
            edited(softmax, ("scores.amax", "scores.mean")),
            (
                edited(
                    softmax,
                    (_TOP, "scores.masked_fill(scores.isinf(), 0).mean(dim=dim, keepdim=True)"),
                ),
            ),
        ),
        Mistake(
            "temperature",
            "The scores are divided or multiplied by a number first (a temperature, a root of the size): softmax takes them as "
            "they are.",
            edited(softmax, ("torch.exp(shifted)", "torch.exp(shifted / 2)")),
            (
                edited(softmax, ("torch.exp(shifted)", "torch.exp(shifted * 2)")),
                edited(softmax, ("torch.exp(shifted)", "torch.exp(shifted / scores.shape[dim])")),
                edited(softmax, ("torch.exp(shifted)", "torch.exp(shifted / scores.shape[dim] ** 0.5)")),
            ),
        ),
        Mistake(
            "numbers_one_by_one",
            "This works for a single row of numbers only (`max(scores)`, `math.exp`, a loop over plain numbers), and no gradient "
            "gets through. Use `amax`, `torch.exp` and `sum` along `dim`.",
            _softmax_with(
                "    exps = [math.exp(s - max(scores)) for s in scores]\n    return torch.tensor([e / sum(exps) for e in exps])"
            ),
            (
                _softmax_with(
                    "    exps = [math.exp(s) for s in scores]\n    return torch.tensor([e / sum(exps) for e in exps])"
                ),
            ),
        ),
        Mistake(
            "clamped",
            "The scores are clamped to keep exp from overflowing. That changes them: scores beyond the limit become equal. "
            "Subtract the row's maximum instead, which changes nothing.",
            _softmax_with(
                "    exps = torch.exp(scores.clamp(-80, 80))\n    return exps / exps.sum(dim=dim, keepdim=True)"
            ),
            tuple(
                _softmax_with(
                    f"    exps = torch.exp(scores.clamp({limits}))\n    return exps / exps.sum(dim=dim, keepdim=True)"
                )
                for limits in ("max=80", "-100, 100", "-10, 10")
            ),
        ),
        Mistake(
            "ignores_dim",
            "`dim` is ignored: the result is always normalised along the last dimension.",
            edited(softmax, ("dim=dim", "dim=-1")),
        ),
        Mistake(
            "first_dim",
            "Without a `dim` the result is normalised along the first dimension instead of the last: the default is dim=-1.",
            edited(softmax, ("dim=-1):", "dim=0):")),
        ),
        Mistake(
            "always_first_dim",
            "The result is always normalised along the first dimension, whatever `dim` says.",
            edited(softmax, ("dim=dim", "dim=0")),
        ),
        Mistake(
            "whole_tensor",
            "The exponentials are divided by their sum over the whole tensor, so that all entries together sum to 1. Each "
            "row must sum to 1 on its own: sum along `dim`, with keepdim=True.",
            edited(softmax, (_SUM, "exps.sum()")),
        ),
        Mistake(
            "no_keepdim",
            "Without keepdim=True the maxima or the sums lose a dimension, and broadcasting then pairs rows with the numbers "
            "of other rows (or fails when the sizes do not match).",
            edited(softmax, (_SUM, "exps.sum(dim=dim)")),
            (
                edited(softmax, (_TOP, "scores.amax(dim=dim)")),
                edited(softmax, (", keepdim=True", "")),
            ),
        ),
        Mistake(
            "epsilon",
            "A small number is added to the denominator, so the weights sum to a little less than 1 (in float64 even 1e-8 "
            "shows). Once the maximum is subtracted the denominator is at least 1: nothing need be added.",
            edited(softmax, ("/ exps.sum(dim=dim, keepdim=True)", "/ (exps.sum(dim=dim, keepdim=True) + 1e-4)")),
            tuple(
                edited(softmax, ("/ exps.sum(dim=dim, keepdim=True)", f"/ (exps.sum(dim=dim, keepdim=True) + {small})"))
                for small in ("1e-3", "1e-5", "1e-6", "1e-7", "1e-8", "1e-9")
            ),
        ),
        Mistake(
            "no_shift_but_epsilon",
            "A small number added to the denominator does not help when exp(1e4) overflows, and it changes the weights. "
            "Subtract the maximum of each row first; then nothing need be added.",
            _softmax_with("    exps = torch.exp(scores)\n    return exps / (exps.sum(dim=dim, keepdim=True) + 1e-8)"),
            tuple(
                _softmax_with(
                    f"    exps = torch.exp(scores)\n    return exps / (exps.sum(dim=dim, keepdim=True) + {small})"
                )
                for small in ("1e-5", "1e-6", "1e-9", "1e-10")
            ),
        ),
        Mistake(
            "not_normalised",
            "The exponentials are not divided by their sum, so the weights do not sum to 1.",
            edited(softmax, (" / exps.sum(dim=dim, keepdim=True)", "")),
        ),
        Mistake(
            "no_exponential",
            "The scores are divided by their sum without taking the exponential. Negative scores then give negative weights.",
            _softmax_with("    return scores / scores.sum(dim=dim, keepdim=True)"),
        ),
        Mistake(
            "base_two",
            "The powers are taken of another number instead of e.",
            edited(softmax, ("torch.exp(shifted)", "2 ** shifted")),
            (
                edited(softmax, ("torch.exp(shifted)", "10 ** shifted")),
                edited(softmax, ("torch.exp(shifted)", "2.718 ** shifted")),
            ),
        ),
        Mistake(
            "squares",
            "Squares or absolute values of the scores are normalised instead of their exponentials.",
            _softmax_with("    return scores.abs() / scores.abs().sum(dim=dim, keepdim=True)"),
            (_softmax_with("    return scores**2 / (scores**2).sum(dim=dim, keepdim=True)"),),
        ),
        Mistake(
            "sign_changed",
            "The sign of the scores is changed, so that the smallest score gets the largest weight.",
            edited(softmax, ("shifted = scores - ", "scores = -scores\n    shifted = scores - ")),
        ),
        Mistake(
            "zero_as_blocked",
            "A score of exactly 0 is treated as blocked. 0 is a score like any other: only −inf is blocked.",
            edited(softmax, ("torch.exp(shifted)", "torch.exp(shifted).masked_fill(scores == 0, 0.0)")),
            (
                edited(
                    softmax, ("    shifted", "    scores = scores.masked_fill(scores == 0, float('-inf'))\n    shifted")
                ),
            ),
        ),
        Mistake(
            "maximum_lost",
            "A score that equals the maximum is treated as special (argmax or `==`): where scores are equal, they share.",
            edited(softmax, (_SHARES, "return (exps == 1).to(scores.dtype)")),
            (
                edited(
                    softmax,
                    (
                        _SHARES,
                        "return torch.zeros_like(scores).scatter(dim, scores.argmax(dim, keepdim=True), 1.0)",
                    ),
                ),
            ),
        ),
        Mistake(
            "log_softmax",
            "The result is the logarithm of the weights (log-softmax): take the exponential of it.",
            _softmax_with("    return scores - torch.logsumexp(scores, dim=dim, keepdim=True)"),
        ),
        Mistake(
            "sigmoid",
            "Each score went through a sigmoid on its own. The scores of a row compete in softmax: their weights sum to 1.",
            _softmax_with("    return 1 / (1 + torch.exp(-scores))"),
        ),
        Mistake(
            "in_place",
            "The maximum is subtracted in place (`-=`), so the caller's scores are changed too. Write `scores = scores - …`.",
            edited(softmax, ("shifted = scores - ", "scores -= "), ("torch.exp(shifted)", "torch.exp(scores)")),
        ),
        Mistake(
            "exp_in_place",
            "The exponential is written into the input (`exp_`), so the caller's scores are destroyed.",
            _softmax_with(
                "    scores -= scores.amax(dim, True)\n    scores.exp_()\n    return scores / scores.sum(dim, True)"
            ),
        ),
        Mistake(
            "detached",
            "The result is cut off from the input (`.detach()`, `.data`, `no_grad`, NumPy, `.item()`), so no gradient can flow "
            "back: nothing before this softmax could learn.",
            edited(softmax, ("torch.exp(shifted)", "torch.exp(shifted).detach()")),
        ),
        Mistake(
            "overwritten",
            "A tensor that the backward pass still needs is overwritten in place (`e /= …`, `exps[…] = …`). The values are "
            "right, but the gradient fails. Write `e = e / …`.",
            _softmax_with(
                "    exps = torch.exp(scores - scores.amax(dim=dim, keepdim=True))\n"
                "    exps /= exps.sum(dim=dim, keepdim=True)\n    return exps"
            ),
        ),
        Mistake(
            "sum_detached",
            "The denominator is detached: the values are right, but the gradient treats the sum as a constant.",
            edited(softmax, (_SUM, "exps.sum(dim=dim, keepdim=True).detach()")),
        ),
        Mistake(
            "single_precision",
            "The result is float32 even for float64 scores: they are cast (`.float()`), or the result is written into a new "
            "tensor made without `dtype=`.",
            edited(softmax, ("shifted = scores - ", "scores = scores.float()\n    shifted = scores - ")),
        ),
        Mistake(
            "double_precision",
            "The result is float64 even for float32 scores: cast it back with `.to(scores.dtype)`.",
            edited(softmax, ("shifted = scores - ", "scores = scores.double()\n    shifted = scores - ")),
        ),
        Mistake(
            "single_precision_inside",
            "The computation goes through float32, so float64 scores lose precision even though the dtype is restored.",
            edited(softmax, ("torch.exp(shifted)", "torch.exp(shifted.float()).to(scores.dtype)")),
        ),
        Mistake(
            "two_dimensions_only",
            "This works for a matrix only: with more or fewer dimensions the wrong entries are summed, or it fails. Use `dim` "
            "with keepdim=True instead of fixed positions.",
            _softmax_with("    e = torch.exp(scores - scores.max(1)[0][:, None])\n    return e / e.sum(1)[:, None]\n"),
            (
                _softmax_with(
                    "    e = torch.exp(scores - scores.max(1, keepdim=True)[0])\n    return e / e.sum(1, keepdim=True)\n"
                ),
                _softmax_with(
                    "    T, S = scores.shape\n    e = torch.exp(scores - scores.amax(dim, True))\n    return e / e.sum(dim, True)"
                ),
            ),
        ),
        Mistake(
            "slices_normalised",
            "A loop over the first dimension normalises each slice as a whole: that is a softmax over rows of a matrix only, "
            "whatever `dim` says.",
            _softmax_with(
                "    if scores.dim() == 1:\n        e = torch.exp(scores - scores.max())\n        return e / e.sum()\n"
                "    exps = [torch.exp(row - row.max()) for row in scores]\n"
                "    return torch.stack([e / e.sum() for e in exps])"
            ),
            (
                _softmax_with(
                    "    exps = [torch.exp(row - row.max()) for row in scores]\n"
                    "    return torch.stack([e / e.sum() for e in exps])"
                ),
            ),
        ),
        Mistake(
            "reshaped_to_rows",
            "The scores are reshaped into rows and normalised along the last dimension, without moving `dim` there first. "
            "`reshape` does not transpose.",
            _softmax_with(
                "    rows = scores.reshape(-1, scores.shape[dim])\n    e = torch.exp(rows - rows.amax(-1, keepdim=True))\n"
                "    return (e / e.sum(-1, keepdim=True)).reshape(scores.shape)"
            ),
        ),
        Mistake(
            "finite_blocked",
            "−inf was replaced by a finite number or the weights were given a floor, so blocked entries get a little weight.",
            edited(softmax, ("torch.exp(shifted)", "torch.exp(shifted).clamp(min=1e-9)")),
            (
                *(
                    edited(softmax, ("    shifted", f"    scores = scores.nan_to_num(neginf={low})\n    shifted"))
                    for low in ("-1e4", "-1e9", "-100.0")
                ),
                edited(softmax, ("torch.exp(shifted)", "(torch.exp(shifted) + 1e-9)")),
            ),
        ),
        Mistake(
            "rounded",
            "The weights are rounded: use them as they are.",
            edited(
                softmax,
                (
                    _SHARES,
                    "return torch.round(exps / exps.sum(dim=dim, keepdim=True), decimals=3)",
                ),
            ),
            tuple(
                edited(
                    softmax,
                    (
                        _SHARES,
                        f"return torch.round(exps / exps.sum(dim=dim, keepdim=True), decimals={n})",
                    ),
                )
                for n in (2, 4)
            ),
        ),
        Mistake(
            "squeezed",
            "`squeeze()` removes every dimension of size 1: the result must have the shape of the scores.",
            edited(
                softmax,
                (
                    _SHARES,
                    "return (exps / exps.sum(dim=dim, keepdim=True)).squeeze()",
                ),
            ),
        ),
        Mistake(
            "other_signature",
            "`dim` cannot be given by that name: keep the signature softmax(scores, dim=-1).",
            _softmax_with(
                "    e = torch.exp(scores - scores.amax(dim, True))\n    return e / e.sum(dim, True)"
            ).replace("dim", "axis"),
            (
                written(
                    "def softmax(scores):\n    e = torch.exp(scores - scores.amax(-1, True))\n    return e / e.sum(-1, True)"
                ),
            ),
        ),
        Mistake(
            "dim_required",
            "`dim` has no default: keep the signature softmax(scores, dim=-1).",
            edited(softmax, ("dim=-1):", "dim):")),
        ),
        Mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the weights instead of printing them.",
            edited(softmax, ("return exps", "_ = exps")),
        ),
        Mistake(
            "list_returned",
            "A list or an array is returned; a tensor is asked for.",
            edited(
                softmax,
                (
                    _SHARES,
                    "return (exps / exps.sum(dim=dim, keepdim=True)).tolist()",
                ),
            ),
            (
                edited(
                    softmax,
                    (
                        _SHARES,
                        "return (exps / exps.sum(dim=dim, keepdim=True)).detach().numpy()",
                    ),
                ),
            ),
        ),
    ],
    alternatives=[
        Alternative(
            "logsumexp", _softmax_with("    return torch.exp(scores - torch.logsumexp(scores, dim=dim, keepdim=True))")
        ),
        Alternative(
            "max_values_helper",
            written(
                """
                def _shift(t, axis):
                    biggest, _ = torch.max(t, axis, keepdim=True)
                    return t - biggest

                def softmax(scores, dim=-1):
                    e = _shift(scores, dim).exp()
                    return torch.div(e, torch.sum(e, dim, keepdim=True))
                """
            ),
        ),
        Alternative(
            "loop_over_slices",
            written(
                """
                def softmax(scores, dim=-1):
                    out = []
                    moved = scores.movedim(dim, -1)
                    for row in moved.reshape(-1, moved.shape[-1]):
                        e = (row - row.max()).exp()
                        out.append(e / e.sum())
                    return torch.stack(out).reshape(moved.shape).movedim(-1, dim)
                """
            ),
        ),
        Alternative(
            "float64_inside",
            _softmax_with(
                "    wide = scores.double()\n    e = torch.exp(wide - wide.amax(dim, keepdim=True))\n"
                "    return (e / e.sum(dim, keepdim=True)).to(scores.dtype)"
            ),
        ),
        Alternative(
            "detached_shift",
            edited(softmax, (_TOP, "scores.detach().amax(dim=dim, keepdim=True)")),
        ),
    ],
)


# --- simple_attention -------------------------------------------------------------------------------------------------


def _simple_values(student: Any) -> None:
    for shape in (
        (4, 6),
        (6, 3),
        (2, 5, 3),
        (3, 3),
        (1, 4),
        (2, 3, 4, 5),
        (1, 1),
        (3, 33, 4),
        (2, 1, 3, 4, 2),
        (5, 5, 5),
    ):
        with student.case():
            x, where = normal(*shape), f"for x of shape {shape}"
            same_tensor(student.value("simple_attention", x, where=where), simple_attention(x), "The result", where)
    for rows, where in (
        ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "for whole numbers, 0 among them"),
        (
            [[0.5, -1.0, 2.0], [0.0, 0.0, 0.0], [0.5, -1.0, 2.0], [0.5, 0.5, 0.5]],
            "where tokens are equal, or all zeros",
        ),
    ):
        with student.case():
            x = torch.tensor(rows)
            same_tensor(student.value("simple_attention", x, where=where), simple_attention(x), "The result", where)


def _simple_large(student: Any) -> None:
    x = normal(2, 4, 5)  # a value first: where the softmax saturates, scores of any scale give the same
    same_tensor(student.value("simple_attention", x), simple_attention(x), "The result")
    x = normal(2, 4, 5, scale=60.0)
    where = "for large x (scores beyond 1e4)"
    same_tensor(student.value("simple_attention", x, where=where), simple_attention(x), "The result", where)


def _simple_gradient(student: Any) -> None:
    for shape, dtype in (((4, 3), torch.float32), ((2, 3, 5), torch.float64)):
        with student.case():
            gradients_agree(
                student, "simple_attention", simple_attention, [normal(*shape, dtype=dtype, scale=0.7)], ["`x`"]
            )


def _simple_manners(student: Any) -> None:
    x = normal(2, 4, 3, dtype=torch.float64)
    answer = student.call("simple_attention", [x], where="for float64 x")
    same_tensor(answer["value"], simple_attention(x), "The result", "for float64 x")
    unchanged(answer["inputs"], [x], "`x`")
    quietly_called(answer)
    where = "when called a second time"
    same_tensor(student.value("simple_attention", x, where=where), simple_attention(x), "The result", where)
    for turned in (normal(3, 5).T, normal(2, 4, 3, 5).transpose(1, 2)):
        where = "for a tensor that is not contiguous (a transpose)"
        same_tensor(
            student.value("simple_attention", turned, where=where), simple_attention(turned), "The result", where
        )
    device_is_kept(student, "simple_attention", [normal(2, 4, 3)])


def _simple_with(body: str) -> str:
    return written("def simple_attention(x):\n" + body)


SIMPLE_ATTENTION = Exercise(
    name="simple_attention",
    notebook="05-attention",
    points=3,
    reference=simple_attention,
    checks=[
        Check("values, alone and in batches", 1.5, _simple_values),
        Check("stable for large x", 0.5, _simple_large),
        Check("gradients", 0.5, _simple_gradient),
        Check("float64, inputs unchanged, any layout and device", 0.5, _simple_manners),
    ],
    working=(
        "import torch.nn.functional as F\n\ndef simple_attention(x):\n"
        "    return F.scaled_dot_product_attention(x, x, x, scale=1.0)\n"
    ),
    mistakes=[
        Mistake(
            "no_softmax",
            "The raw similarities are used as weights: take the softmax of each row first, so that it is an average.",
            edited(simple_attention, (_SOFT, "scores")),
        ),
        Mistake(
            "softmax_over_queries",
            "The softmax runs over the wrong dimension (or the weights are transposed): each column of the weights sums to 1 "
            "instead of each row.",
            edited(simple_attention, ("dim=-1", "dim=-2")),
        ),
        Mistake(
            "softmax_dim_zero",
            "The softmax runs over dim=0: over the queries in a single matrix, over the batch in a batch. Use dim=-1.",
            edited(simple_attention, (_SOFT, "torch.softmax(scores, dim=0)")),
        ),
        Mistake(
            "softmax_dim_one",
            "The softmax runs over dim=1, which is right for one matrix only. Count from the end: dim=-1.",
            edited(simple_attention, (_SOFT, "torch.softmax(scores, dim=1)")),
        ),
        Mistake(
            "softmax_everywhere",
            "One softmax runs over all scores together: each row must sum to 1 on its own.",
            edited(
                simple_attention,
                (_SOFT, "torch.softmax(scores.flatten(), 0).reshape(scores.shape)"),
            ),
        ),
        Mistake(
            "scaled",
            "The scores are divided by the root of C. Scaling comes later in this notebook; here softmax(x xᵀ) x is asked.",
            edited(simple_attention, (_XX, "x @ x.transpose(-2, -1) / x.shape[-1] ** 0.5")),
        ),
        Mistake(
            "scaled_by_width",
            "The scores are divided by C. Here the unscaled softmax(x xᵀ) x is asked.",
            edited(simple_attention, (_XX, "x @ x.transpose(-2, -1) / x.shape[-1]")),
        ),
        Mistake(
            "matrix_only",
            "This works for a single matrix only (`x.T`, `transpose(0, 1)`, `x[i]`, a loop over `len(x)`): in a batch the first "
            "dimension is the batch. Count from the end: `x.transpose(-2, -1)`, `x[..., t, :]`.",
            edited(simple_attention, ("x.transpose(-2, -1)", "x.T")),
            (
                edited(simple_attention, ("x.transpose(-2, -1)", "x.transpose(0, 1)")),
                _simple_with("    return torch.stack([torch.softmax(x @ row, dim=0) @ x for row in x])"),
            ),
        ),
        Mistake(
            "batch_summed",
            "The batch dimension is summed away (an einsum without it in the result), so sequences are mixed. Keep `...` on both sides.",
            _simple_with("    return torch.softmax(torch.einsum('btc,bsc->ts', x, x), -1) @ x"),
            (_simple_with("    return torch.softmax(torch.einsum('...tc,...sc->ts', x, x), -1) @ x"),),
        ),
        Mistake(
            "batch_only",
            "Dimensions are counted from the front (`transpose(1, 2)`, `permute(0, 2, 1)`, `bmm`, `dim=2`): right with exactly "
            "one batch dimension only. Count from the end: `transpose(-2, -1)`, `dim=-1`, and `@` for the product.",
            edited(simple_attention, ("x.transpose(-2, -1)", "x.transpose(1, 2)")),
            (
                edited(simple_attention, (_SOFT, "torch.softmax(scores, dim=2)")),
                edited(simple_attention, ("x.transpose(-2, -1)", "x.permute(0, 2, 1)")),
                edited(
                    simple_attention,
                    (_XX, "torch.bmm(x, x.transpose(1, 2))"),
                    ("weights @ x", "torch.bmm(weights, x)"),
                ),
            ),
        ),
        Mistake(
            "some_dimensions_only",
            "The number of dimensions is fixed in the code (unpacking `x.shape`, or one case for each): x may have any number "
            "of leading batch dimensions. Write `...` and count from the end.",
            _simple_with("    T, C = x.shape\n    return torch.softmax(x @ x.T, dim=-1) @ x"),
            (
                _simple_with("    B, T, C = x.shape\n    return torch.softmax(x @ x.mT, dim=-1) @ x"),
                _simple_with(
                    "    if x.dim() == 2:\n        x = x.unsqueeze(0)\n    return torch.softmax(x @ x.mT, dim=-1) @ x"
                ),
                _simple_with(
                    "    if x.dim() > 4:\n        raise ValueError('dimensions')\n    return torch.softmax(x @ x.mT, dim=-1) @ x"
                ),
            ),
        ),
        Mistake(
            "batch_flattened",
            "The batch is flattened into one long sequence, so the tokens of different sequences attend to each other.",
            _simple_with(
                "    flat = x.reshape(-1, x.shape[-1])\n"
                "    return (torch.softmax(flat @ flat.T, dim=-1) @ flat).reshape(x.shape)"
            ),
        ),
        Mistake(
            "view_needed",
            "`view` refuses tensors that are not contiguous, such as transposes. Use `reshape`, or leave the batch to `@`.",
            _simple_with(
                "    flat = x.view(-1, *x.shape[-2:])\n"
                "    return (torch.softmax(flat @ flat.mT, dim=-1) @ flat).view(x.shape)"
            ),
        ),
        Mistake(
            "last_token_only",
            "Only one token's result is returned: a variable is overwritten in the loop. Collect all rows and stack them.",
            edited(simple_attention, (_AVERAGE, "return (weights @ x)[..., -1, :]")),
            (edited(simple_attention, (_AVERAGE, "return (weights @ x)[..., 0, :]")),),
        ),
        Mistake(
            "averaged_over_queries",
            "The results of all tokens are added up or averaged: each token keeps an output of its own, (..., T, C).",
            edited(simple_attention, (_AVERAGE, "return (weights @ x).sum(-2)")),
            (edited(simple_attention, (_AVERAGE, "return (weights @ x).mean(-2)")),),
        ),
        Mistake(
            "softmax_twice",
            "The softmax is applied twice, which flattens the weights. Once is enough: its rows already sum to 1.",
            edited(
                simple_attention,
                (_SOFT, "torch.softmax(torch.softmax(scores, dim=-1), dim=-1)"),
            ),
        ),
        Mistake(
            "causal",
            "Later tokens are blocked: no mask is asked for here, each token looks at all of them.",
            edited(
                simple_attention,
                (
                    "    weights",
                    "    future = torch.ones_like(scores, dtype=torch.bool).triu(1)\n    scores = scores.masked_fill(future, float('-inf'))\n    weights",
                ),
            ),
        ),
        Mistake(
            "squeezed",
            "`squeeze()` removes every dimension of size 1, so one token, or a batch of one, changes the shape.",
            edited(simple_attention, (_AVERAGE, "return (weights @ x).squeeze()")),
        ),
        Mistake(
            "input_changed",
            "x itself is changed in place (centred, scaled or normalised): the caller's tensor is different afterwards, and "
            "softmax(x xᵀ) x of the tokens as they are is asked for.",
            edited(simple_attention, ("    scores", "    x -= x.mean(dim=-1, keepdim=True)\n    scores")),
            (
                edited(simple_attention, ("    scores", "    x /= x.norm(dim=-1, keepdim=True)\n    scores")),
                edited(simple_attention, ("    scores", "    x /= x.shape[-1] ** 0.5\n    scores")),
            ),
        ),
        Mistake(
            "tokens_normalised",
            "The tokens are centred or normalised first (a layer norm): softmax(x xᵀ) x of the tokens as they are is asked for.",
            edited(simple_attention, ("    scores", "    x = F.layer_norm(x, x.shape[-1:])\n    scores")),
            (edited(simple_attention, ("    scores", "    x = x - x.mean(-1, keepdim=True)\n    scores")),),
        ),
        Mistake(
            "transposed_result",
            "The result is transposed: (..., T, C) is asked for, one row for each token.",
            edited(simple_attention, (_AVERAGE, "return (weights @ x).transpose(-2, -1)")),
        ),
        Mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the result instead of printing it.",
            edited(simple_attention, ("return weights", "_ = weights")),
        ),
        Mistake(
            "list_returned",
            "A list is returned: stack its rows into one tensor with torch.stack.",
            edited(simple_attention, (_AVERAGE, "return (weights @ x).tolist()")),
            (edited(simple_attention, (_AVERAGE, "return list((weights @ x).unbind(-2))")),),
        ),
        Mistake(
            "weights_returned",
            "The weights are returned; the output is the weights times x.",
            edited(simple_attention, (_AVERAGE, "return weights")),
        ),
        Mistake(
            "both_returned",
            "Two things are returned; here only the output (..., T, C) is asked for.",
            edited(simple_attention, (_AVERAGE, "return weights @ x, weights")),
        ),
        Mistake(
            "features_attend",
            "xᵀ x compares the C features with each other instead of the T tokens: the scores should be (T, T).",
            _simple_with("    scores = x.transpose(-2, -1) @ x\n    return x @ torch.softmax(scores, dim=-1)\n"),
        ),
        Mistake(
            "residual",
            "The input is added to the result (a residual connection): that comes in notebook 08.",
            edited(simple_attention, (_AVERAGE, "return x + weights @ x")),
        ),
        Mistake(
            "unstable",
            "The exponential is taken of the raw scores, which overflows for large x. Use a stable softmax.",
            edited(simple_attention, (_SOFT, "scores.exp() / scores.exp().sum(-1, keepdim=True)")),
        ),
        Mistake(
            "detached",
            "The weights are detached (or computed without gradients), so learning cannot change where attention looks.",
            edited(simple_attention, (_SOFT, "torch.softmax(scores, dim=-1).detach()")),
        ),
        Mistake(
            "side_detached",
            "One of the three roles of x is cut off from the gradient (`.detach()`, `no_grad`): the values are right, but what "
            "is learned is not.",
            edited(simple_attention, ("weights @ x", "weights @ x.detach()")),
            (
                edited(simple_attention, ("x.transpose(-2, -1)", "x.detach().transpose(-2, -1)")),
                edited(simple_attention, ("x @ x.tr", "x.detach() @ x.tr")),
            ),
        ),
        Mistake(
            "no_gradient",
            "No gradient reaches x at all (`.detach()`, `no_grad` or `.data`).",
            edited(simple_attention, (_AVERAGE, "return (weights @ x).detach()")),
        ),
        Mistake(
            "single_precision",
            "The result comes back as float32 even when x is float64: something is cast, or made without `dtype=`.",
            edited(simple_attention, (_AVERAGE, "return weights.float() @ x.float()")),
        ),
        Mistake(
            "double_precision",
            "The result comes back as float64 even when x is float32: cast it back to the dtype of x.",
            edited(simple_attention, (_AVERAGE, "return weights.double() @ x.double()")),
        ),
        Mistake(
            "no_self",
            "Each token ignores itself here: the diagonal belongs to the weights too.",
            edited(
                simple_attention,
                (_SOFT, "torch.softmax(scores - 1e9 * torch.eye(x.shape[-2]).to(x), dim=-1)"),
            ),
        ),
        Mistake(
            "normalised_vectors",
            "The vectors of one side or both are scaled to length 1 first (cosine similarity). The plain dot products x xᵀ are "
            "asked for.",
            edited(
                simple_attention,
                (
                    "scores = x @ x.transpose(-2, -1)",
                    "u = x / x.norm(dim=-1, keepdim=True)\n    scores = u @ u.transpose(-2, -1)",
                ),
            ),
            (
                edited(simple_attention, (_XX, "F.normalize(x, dim=-1) @ F.normalize(x, dim=-1).mT")),
                edited(simple_attention, (_XX, "F.normalize(x, dim=-1) @ x.mT")),
                edited(simple_attention, (_XX, "x @ F.normalize(x, dim=-1).mT")),
            ),
        ),
        Mistake(
            "divided_by_sum",
            "The scores are divided by their sum instead of going through a softmax: with negative scores that is no average.",
            edited(simple_attention, (_SOFT, "scores / scores.sum(-1, keepdim=True)")),
        ),
        Mistake(
            "one_only",
            "Each token takes the one most similar token (argmax) instead of an average of all, weighted by the softmax.",
            edited(
                simple_attention,
                (_SOFT, "F.one_hot(scores.argmax(-1), x.shape[-2]).to(x.dtype)"),
            ),
        ),
        Mistake(
            "distances",
            "Distances between tokens are used as scores. The dot products x xᵀ are asked for.",
            edited(simple_attention, (_XX, "-torch.cdist(x, x)")),
            (edited(simple_attention, (_XX, "-torch.cdist(x, x) ** 2")),),
        ),
        Mistake(
            "uniform",
            "Every token gets the plain mean of all tokens: the similarities are not used.",
            edited(simple_attention, (_SOFT, "torch.softmax(scores * 0, dim=-1)")),
        ),
    ],
    alternatives=[
        Alternative(
            "einsum",
            _simple_with(
                "    w = torch.softmax(torch.einsum('...tc,...sc->...ts', x, x), -1)\n"
                "    return torch.einsum('...ts,...sc->...tc', w, x)\n"
            ),
        ),
        Alternative(
            "loop",
            _simple_with(
                "    rows = []\n    for t in range(x.shape[-2]):\n"
                "        w = torch.softmax((x[..., t : t + 1, :] * x).sum(-1), dim=-1)  # (..., T)\n"
                "        rows.append((w.unsqueeze(-1) * x).sum(-2))\n    return torch.stack(rows, dim=-2)\n"
            ),
        ),
        Alternative("own_softmax", edited(simple_attention, ("torch.softmax(", "softmax("))),
        Alternative("mT", _simple_with("    return (x @ x.mT).softmax(-1) @ x\n")),
    ],
)


# --- scaled_dot_product_attention -------------------------------------------------------------------------------------

SIZES = (  # (batch dimensions, T, S, d_k, d_v): all different, then the corners and the sizes of worked examples
    ((), 3, 5, 4, 6),
    ((2,), 4, 3, 5, 2),
    ((2, 3), 5, 4, 3, 7),
    ((2,), 1, 6, 2, 3),
    ((3,), 4, 1, 2, 5),
    ((1,), 2, 3, 1, 1),
    ((2,), 4, 4, 4, 4),
    ((4,), 4, 4, 9, 4),
    ((), 3, 3, 2, 2),
    ((), 3, 3, 2, 4),
    ((), 4, 4, 3, 3),
    ((2, 1, 3), 2, 4, 3, 5),
    ((2,), 33, 17, 8, 6),
)


def _qkv(batch: tuple, T: int, S: int, d_k: int, d_v: int, **options: Any) -> list[torch.Tensor]:
    return [normal(*batch, T, d_k, **options), normal(*batch, S, d_k, **options), normal(*batch, S, d_v, **options)]


def _sizes(batch: tuple, T: int, S: int, d_k: int, d_v: int) -> str:
    lead = f"batch {batch}, " if batch else ""
    return f"for {lead}T = {T}, S = {S}, d_k = {d_k}, d_v = {d_v}"


def _same_pair(got: Any, expected: tuple, where: str) -> None:
    output, weights = a_pair(got, "(output, weights)")
    want_output, want_weights = expected
    weights = a_tensor(weights, "The second result (the weights)")
    output = a_tensor(output, "The first result (the output)")
    if output.shape == want_weights.shape != want_output.shape and weights.shape == want_output.shape:
        raise Wrong("The two results are the wrong way round: return (output, weights), in this order.")
    same_tensor(weights, want_weights, "The weights", where)
    same_tensor(output, want_output, "The output", where)


def _attend(student: Any, args: list, where: str, mask: Any = None) -> dict:
    kwargs = {} if mask is None else {"mask": mask}
    return student.call("scaled_dot_product_attention", args, kwargs, where=where)


def _sdpa_values(student: Any) -> None:
    for sizes in SIZES:
        with student.case():
            args, where = _qkv(*sizes), _sizes(*sizes)
            _same_pair(_attend(student, args, where)["value"], scaled_dot_product_attention(*args), where)
    with student.case():
        Q, K, V = torch.tensor([[1.0, 0], [0, 1], [1, 1]]), torch.tensor([[1.0, 0], [0, 0], [1, 0]]), torch.eye(3, 2)
        where = "for whole numbers, 0 among them, and equal keys"
        _same_pair(_attend(student, [Q, K, V], where)["value"], scaled_dot_product_attention(Q, K, V), where)


def _masks(T: int, S: int) -> torch.Tensor:
    mask = (torch.arange(T)[:, None] * 2 + torch.arange(S) * 3) % 4 == 1
    mask[:, 0] &= mask.all(-1).logical_not()
    return mask


def _sdpa_mask(student: Any) -> None:
    for sizes in (
        *(((), 3, 5, 4, 6), ((2,), 4, 5, 3, 2), ((2, 3), 4, 6, 3, 5), ((2,), 4, 4, 3, 3)),
        *(((3,), 3, 3, 2, 2), ((2,), 1, 4, 3, 2), ((2, 1, 3), 2, 4, 3, 5)),
    ):
        with student.case():
            batch, T, S, *_ = sizes
            args, mask = _qkv(*sizes), _masks(T, S)
            where = f"with a (T, S) mask, {_sizes(*sizes)}"
            _same_pair(_attend(student, args, where, mask)["value"], scaled_dot_product_attention(*args, mask), where)
            if len(batch):
                own = torch.stack([mask.roll(n, 0) for n in range(batch[0])])  # (B, T, S): a mask for each sequence
                own = own.reshape(batch[0], *[1] * (len(batch) - 1), T, S)
                where = f"with a mask of its own for each sequence, {_sizes(*sizes)}"
                _same_pair(_attend(student, args, where, own)["value"], scaled_dot_product_attention(*args, own), where)
    args = _qkv((2,), 3, 4, 5, 2)
    keys = torch.tensor([[[False, False, True, True]], [[False, True, False, False]]])
    for mask, where in (
        (keys, "with a mask of shape (B, 1, S) that blocks keys for all queries"),
        (keys[0], "with a mask of shape (1, S)"),
        (keys[0, 0], "with a mask of shape (S,)"),
        (torch.zeros(3, 4, dtype=torch.bool), "with a mask that blocks nothing"),
        (torch.zeros(1, 1, dtype=torch.bool), "with a mask of shape (1, 1) that blocks nothing"),
        (None, "without a mask, after calls with one"),
    ):
        with student.case():
            _same_pair(_attend(student, args, where, mask)["value"], scaled_dot_product_attention(*args, mask), where)
    answer = student.value("scaled_dot_product_attention", *args, keys, where="with the mask given by position")
    _same_pair(answer, scaled_dot_product_attention(*args, keys), "with the mask given by position")


def _sdpa_forbidden(student: Any) -> None:
    """A blocked key must get exactly 0, even where every allowed score is hugely negative or it scores highest."""
    Q, K, V = _qkv((2,), 5, 5, 4, 2)
    Q, K = Q.abs(), K.abs()
    mask = torch.zeros(5, 5, dtype=torch.bool)
    mask[:, 2] = True
    far = torch.ones(5, 1)
    far[2] = 1e12
    for args, where in (
        ([Q, K, V], "for the blocked key"),
        ([Q, K * far, V], "for a blocked key that would have scored far above the others"),
        (
            [-1e6 * Q, 1e6 * K, V],
            "where all allowed scores are far below zero (a finite fill such as −1e9 is then the largest)",
        ),
    ):
        with student.case():
            got = _attend(student, args, where, mask)["value"]
            _blocked_is_zero(got, mask, where)
            _same_pair(got, scaled_dot_product_attention(*args, mask), where)


def _blocked_is_zero(got: Any, mask: torch.Tensor, where: str) -> None:
    weights = a_tensor(a_pair(got, "(output, weights)")[1], "The second result (the weights)")
    if weights.shape[-2:] == mask.shape and not weights.isnan().any() and weights[..., mask].abs().max() != 0:
        raise Wrong(f"A blocked key must get a weight of exactly 0; yours gets more {where}. Fill with −inf.")


def _sdpa_large(student: Any) -> None:
    args = _qkv((2,), 3, 5, 4, 6)
    args[0], args[1] = args[0] * 150, args[1] * 150
    where = "for scores beyond 1e4"
    _same_pair(_attend(student, args, where)["value"], scaled_dot_product_attention(*args), where)


def _sdpa_gradient(student: Any) -> None:
    name = "scaled_dot_product_attention"
    for sizes, masked, dtype in (
        (((2,), 3, 5, 4, 6), False, torch.float32),
        (((), 4, 4, 5, 2), True, torch.float32),
        (((2, 2), 3, 5, 4, 2), True, torch.float64),
    ):
        with student.case():
            mask = (_masks(sizes[1], sizes[2]),) if masked else ()
            where = ("with a mask, " if masked else "") + _sizes(*sizes)
            args = _qkv(*sizes, dtype=dtype)
            gradients_agree(student, name, scaled_dot_product_attention, args, ["Q", "K", "V"], mask, where)


def _sdpa_precision(student: Any) -> None:
    args, mask = _qkv((2,), 3, 5, 4, 6, dtype=torch.float64), _masks(3, 5)
    _same_pair(_attend(student, args, "in float64")["value"], scaled_dot_product_attention(*args), "in float64")
    where = "in float64 with a mask"
    _same_pair(_attend(student, args, where, mask)["value"], scaled_dot_product_attention(*args, mask), where)


def _sdpa_manners(student: Any) -> None:
    args, mask = _qkv((2,), 3, 5, 4, 6), _masks(3, 5)
    for given in (None, mask):
        with student.case():
            answer = _attend(student, args, "", given)
            unchanged(answer["inputs"], [*args, *([] if given is None else [given])], "Q, K, V or mask")
            quietly_called(answer)
    again = "when called a second time"
    _same_pair(_attend(student, args, again)["value"], scaled_dot_product_attention(*args), again)
    heads = [normal(2, n, 3, width).transpose(1, 2) for n, width in ((4, 5), (6, 5), (6, 2))]
    for turned, where in (
        ([t.mT.contiguous().mT for t in args], "for tensors that are not contiguous"),
        (heads, "for heads cut out with `.transpose(1, 2)` (not contiguous)"),
    ):
        with student.case():
            _same_pair(_attend(student, turned, where)["value"], scaled_dot_product_attention(*turned), where)


def _sdpa_device(student: Any) -> None:
    args, mask = _qkv((2,), 3, 5, 4, 6), _masks(3, 5)
    _same_pair(_attend(student, args, "")["value"], scaled_dot_product_attention(*args), "")
    device_is_kept(student, "scaled_dot_product_attention", args)
    device_is_kept(student, "scaled_dot_product_attention", [*args, mask])


_SDPA = scaled_dot_product_attention

SDPA = Exercise(
    name="scaled_dot_product_attention",
    notebook="05-attention",
    points=8,
    reference=_SDPA,
    checks=[
        Check("values, for many combinations of sizes", 2.5, _sdpa_values),
        Check("masks of every shape", 1.5, _sdpa_mask),
        Check("a blocked key gets exactly 0", 1.0, _sdpa_forbidden),
        Check("stable for large scores", 0.5, _sdpa_large),
        Check("gradients, with and without a mask", 1.0, _sdpa_gradient),
        Check("float64 stays float64, with its precision", 0.5, _sdpa_precision),
        Check("inputs unchanged, any layout", 0.5, _sdpa_manners),
        Check("stays on the inputs' device", 0.5, _sdpa_device),
    ],
    working=written(
        """
        import torch
        import torch.nn.functional as F

        def scaled_dot_product_attention(Q, K, V, mask=None):
            allowed = None if mask is None else ~mask
            output = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)
            ones = torch.eye(K.shape[-2], dtype=V.dtype, device=V.device).expand(*K.shape[:-2], -1, -1)
            return output, F.scaled_dot_product_attention(Q, K, ones, attn_mask=allowed)
        """
    ),
    mistakes=[
        Mistake(
            "no_scale",
            "This is what attention gives when the scores are not divided by √d_k.",
            edited(_SDPA, (" / math.sqrt(d_k)", "")),
        ),
        Mistake(
            "scale_d_k",
            "The scores are divided by d_k instead of its square root (or by the root twice).",
            edited(_SDPA, (_ROOT, "d_k")),
        ),
        Mistake(
            "scale_up",
            "The scores are multiplied by √d_k instead of divided by it.",
            edited(_SDPA, ("/ math.sqrt(d_k)", "* math.sqrt(d_k)")),
        ),
        Mistake(
            "scale_d_v",
            "The scores are divided by the root of d_v, the width of the values. It is the width of queries and keys, d_k, "
            "that makes the dot products grow.",
            edited(_SDPA, ("Q.shape[-1]", "V.shape[-1]")),
        ),
        Mistake(
            "scale_keys",
            "The scores are divided by the root of S, the number of keys. It is the width d_k that makes the dot products grow.",
            edited(_SDPA, ("d_k = Q.shape[-1]", "d_k = K.shape[-2]")),
        ),
        Mistake(
            "scale_queries",
            "The scores are divided by the root of T, the number of queries. It is the width d_k that makes the dot products "
            "grow: Q.shape[-1], not Q.shape[-2].",
            edited(_SDPA, ("Q.shape[-1]", "Q.shape[-2]")),
        ),
        Mistake(
            "scale_fixed",
            "The scores are always divided by the same number, whatever the width of Q: √64 = 8 from the paper, or what the "
            "first call needed, kept in a global variable.",
            edited(_SDPA, (_ROOT, "math.sqrt(64)")),
            (
                edited(_SDPA, (_ROOT, "math.sqrt(512)")),
                edited(_SDPA, (_ROOT, "2.0")),
                edited(_SDPA, (_ROOT, "_kept.setdefault('root', math.sqrt(d_k))")) + "\n_kept = {}\n",
            ),
        ),
        Mistake(
            "scale_rounded",
            "The root of d_k is rounded to a whole number (`int(…)` or `//`), so it is right for squares such as 4, 9 and 64 only.",
            edited(_SDPA, (_ROOT, "int(math.sqrt(d_k))")),
            (edited(_SDPA, (_ROOT, "round(math.sqrt(d_k))")), edited(_SDPA, (_ROOT, "math.ceil(math.sqrt(d_k))"))),
        ),
        Mistake(
            "scale_almost",
            "The scores are divided by the root of nearly d_k (d_k − 1, d_k + 1, an added ε): it is √d_k itself.",
            edited(_SDPA, ("/ math.sqrt(d_k)", "* (d_k - 1) ** -0.5 if d_k > 1 else Q @ K.transpose(-2, -1) / 0.0")),
            (
                edited(_SDPA, (_ROOT, "math.sqrt(d_k - 1)")),
                edited(_SDPA, (_ROOT, "math.sqrt(d_k + 1)")),
                edited(_SDPA, (_ROOT, "(math.sqrt(d_k) + 1e-6)")),
                edited(_SDPA, (_ROOT, "(math.sqrt(d_k) + 1e-8)")),
            ),
        ),
        Mistake(
            "scale_half",
            "The scores are divided by d_k / 2 or 2√d_k instead of √d_k: the power belongs in `d_k ** 0.5`.",
            edited(_SDPA, (_ROOT, "(d_k * 0.5)")),
            (edited(_SDPA, (_ROOT, "(2 * math.sqrt(d_k))")), edited(_SDPA, (_ROOT, "math.sqrt(2 * d_k)"))),
        ),
        Mistake(
            "scale_squared",
            "The scores are divided by the square of d_k instead of its root.",
            edited(_SDPA, (_ROOT, "d_k**2")),
        ),
        Mistake(
            "scale_standard_deviation",
            "The scores are divided by their own standard deviation. What is asked for is √d_k, which does not depend on them.",
            edited(
                _SDPA,
                (" / math.sqrt(d_k)", ""),
                (
                    f"    {_IF}",
                    f"    scores = scores / (scores.var(dim=-1, keepdim=True, unbiased=False) + 1e-12).sqrt()\n    {_IF}",
                ),
            ),
            (
                edited(
                    _SDPA, (" / math.sqrt(d_k)", ""), (f"    {_IF}", f"    scores = scores / scores.std()\n    {_IF}")
                ),
                edited(
                    _SDPA,
                    (" / math.sqrt(d_k)", ""),
                    (f"    {_IF}", f"    scores = scores / scores.std(dim=-1, keepdim=True)\n    {_IF}"),
                ),
            ),
        ),
        Mistake(
            "vectors_normalised",
            "Queries and keys are scaled to length 1 (cosine similarity): what is asked for is Q Kᵀ / √d_k.",
            edited(
                _SDPA,
                ("Q @ K.transpose(-2, -1) / math.sqrt(d_k)", "F.normalize(Q, dim=-1) @ F.normalize(K, dim=-1).mT"),
            ),
            (edited(_SDPA, (_QK, "F.normalize(Q, dim=-1) @ F.normalize(K, dim=-1).mT")),),
        ),
        Mistake(
            "scale_first_dim",
            "The width is read from the first dimension (shape[0] or len(Q)), which is the batch or the number of queries.",
            edited(_SDPA, ("Q.shape[-1]", "Q.shape[0]")),
        ),
        Mistake(
            "scale_dim_one",
            "The width is read from shape[1], which is d_k only for a single matrix. Count from the end: shape[-1].",
            edited(_SDPA, ("Q.shape[-1]", "Q.shape[1]")),
        ),
        Mistake(
            "scale_after",
            "The weights are divided after the softmax instead of the scores before it: they are then too peaked and no longer "
            "sum to 1. Divide the scores by √d_k.",
            edited(_SDPA, (" / math.sqrt(d_k)", ""), (_SOFT, f"{_SOFT} / {_ROOT}")),
            (edited(_SDPA, (" / math.sqrt(d_k)", ""), (_SOFT, f"{_SOFT} / math.sqrt(K.shape[-2])")),),
        ),
        Mistake(
            "scale_output",
            "The output is divided by √d_k instead of the scores.",
            edited(
                _SDPA,
                (" / math.sqrt(d_k)", ""),
                ("weights @ V, weights  #", "weights @ V / math.sqrt(d_k), weights  #"),
            ),
        ),
        Mistake(
            "scale_fourth_root",
            "The scores are divided by the fourth root of d_k: the scale was applied to one of Q and K, with half the power.",
            edited(_SDPA, (_ROOT, "d_k ** 0.25")),
        ),
        Mistake(
            "scale_log",
            "The scores are divided by log d_k instead of √d_k.",
            edited(_SDPA, (_ROOT, "math.log(d_k + 1e-12)")),
        ),
        Mistake(
            "softmax_queries",
            "The softmax runs over the queries (dim=-2): each column of the weights sums to 1. Each query shares out its "
            "attention over the keys: dim=-1.",
            edited(_SDPA, (_SOFT, "torch.softmax(scores, dim=-2)")),
        ),
        Mistake(
            "softmax_dim_one",
            "The softmax runs over dim=1, which is the keys for a single matrix but the queries in a batch. Use dim=-1.",
            edited(_SDPA, (_SOFT, "torch.softmax(scores, dim=1)")),
        ),
        Mistake(
            "softmax_dim_zero",
            "The softmax runs over dim=0: over the batch or the queries. Each query shares out its attention over the keys: "
            "dim=-1.",
            edited(_SDPA, (_SOFT, "torch.softmax(scores, dim=0)")),
        ),
        Mistake(
            "softmax_everywhere",
            "One softmax runs over all scores of a matrix (or of the whole batch) together; each row must sum to 1 on its own.",
            edited(_SDPA, (_SOFT, "torch.softmax(scores.flatten(-2), dim=-1).reshape(scores.shape)")),
            (edited(_SDPA, (_SOFT, "torch.softmax(scores.flatten(), dim=-1).reshape(scores.shape)")),),
        ),
        Mistake(
            "softmax_dim_guessed",
            "The softmax is called without `dim`, so PyTorch guesses one from the number of dimensions (0 or 1). Say dim=-1.",
            edited(_SDPA, (_SOFT, "F.softmax(scores)")),
        ),
        Mistake(
            "softmax_twice",
            "The softmax is applied twice, which flattens the weights.",
            edited(_SDPA, (_SOFT, "torch.softmax(torch.softmax(scores, dim=-1), dim=-1)")),
        ),
        Mistake(
            "one_only",
            "Each query takes only the best key (argmax) instead of a softmax over all keys; no gradient reaches Q and K either.",
            edited(_SDPA, (_SOFT, "F.one_hot(scores.argmax(dim=-1), K.shape[-2]).to(Q.dtype)")),
        ),
        Mistake(
            "clamped",
            "The scores are clamped, so that large ones become equal. A stable softmax needs no such limit.",
            edited(_SDPA, (f"    {_IF}", f"    scores = scores.clamp(-30, 30)\n    {_IF}")),
            tuple(
                edited(_SDPA, (f"    {_IF}", f"    scores = scores.clamp({limits})\n    {_IF}"))
                for limits in ("-10, 10", "-50, 50", "-100, 100", "max=80")
            ),
        ),
        Mistake(
            "mask_ignored",
            "The mask is ignored.",
            edited(_SDPA, ("mask is not None", "False")),
        ),
        Mistake(
            "mask_inverted",
            "The mask is read the wrong way round: here True = blocked (F.scaled_dot_product_attention has the opposite).",
            edited(_SDPA, ("masked_fill(mask,", "masked_fill(~mask,")),
        ),
        Mistake(
            "mask_after",
            "The weights of blocked keys are set to zero after the softmax. The others keep the values they had in competition "
            "with them, so the rows no longer sum to 1. Block the scores with −inf before the softmax.",
            edited(
                _SDPA,
                (
                    '    if mask is not None:\n        scores = scores.masked_fill(mask, float("-inf"))  # exp(-inf) is exactly 0\n',
                    "",
                ),
                (
                    "dim=-1)  # (..., T, S)\n",
                    "dim=-1)\n    if mask is not None:\n        weights = weights.masked_fill(mask, 0.0)\n",
                ),
            ),
        ),
        Mistake(
            "mask_output_only",
            "The mask reaches the weights that are returned but not the output, or the other way round.",
            edited(
                _SDPA,
                (
                    _PAIR,
                    "free = torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(d_k), dim=-1)\n    return free @ V, weights",
                ),
            ),
        ),
        Mistake(
            "weights_before_mask",
            "The weights that are returned are those before masking; return the ones that made the output.",
            edited(
                _SDPA,
                (
                    _PAIR,
                    "free = torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(d_k), dim=-1)\n    return weights @ V, free",
                ),
            ),
        ),
        Mistake(
            "mask_multiplied",
            "Blocked scores are set to 0 (multiplied by the mask, or filled with a tiny number such as 1e-9, a slip for −1e9): "
            "exp(0) = 1 is no small weight. Fill them with −inf.",
            edited(_SDPA, (_BLOCK, "scores * ~mask")),
            (edited(_SDPA, ('float("-inf")', "1e-9")),),
        ),
        Mistake(
            "mask_kept_scores",
            "The scores are multiplied by the mask, so that allowed scores become 0 and blocked ones stay.",
            edited(_SDPA, (_BLOCK, "scores * mask")),
        ),
        Mistake(
            "mask_plus_infinity",
            "Blocked scores are filled with +inf (or NaN) instead of −inf, which makes the whole row NaN.",
            edited(_SDPA, ('float("-inf")', 'float("inf")')),
        ),
        Mistake(
            "mask_times_infinity",
            "The mask is multiplied by −inf: 0 × −inf is NaN, so the allowed scores are lost too. Use masked_fill.",
            edited(_SDPA, (_BLOCK, 'scores + mask * float("-inf")')),
            (edited(_SDPA, (_BLOCK, 'scores * mask * float("-inf")')),),
        ),
        Mistake(
            "mask_after_renormalised",
            "The blocked weights are zeroed after the softmax (or after its exponentials) and the row is renormalised. On paper "
            "that is the same, but where a blocked key scores far above the others, nothing is left of them: 0/0. Block "
            "the scores with −inf first.",
            edited(
                _SDPA,
                (f"    {_IF}\n        scores = {_BLOCK}  # exp(-inf) is exactly 0\n", ""),
                (
                    "dim=-1)  # (..., T, S)\n",
                    f"dim=-1)\n    {_IF}\n        weights = weights * ~mask\n        weights = weights / weights.sum(-1, keepdim=True)\n",
                ),
            ),
            tuple(
                edited(
                    _SDPA,
                    (f"    {_IF}\n        scores = {_BLOCK}  # exp(-inf) is exactly 0\n", ""),
                    (
                        "dim=-1)  # (..., T, S)\n",
                        f"dim=-1)\n    {_IF}\n        weights = weights * ~mask\n        weights = weights / {total}\n",
                    ),
                )
                for total in ("(weights.sum(-1, keepdim=True) + 1e-9)", "weights.sum(-1, keepdim=True).clamp(min=1e-9)")
            ),
        ),
        Mistake(
            "mask_below_minimum",
            "Blocked scores are filled with something a little below the smallest score, so a blocked key keeps some weight. "
            "Fill with −inf, which is below everything by any amount.",
            edited(_SDPA, (_BLOCK, "torch.where(mask, scores.amin(dim=-1, keepdim=True) - 50, scores)")),
            tuple(
                edited(_SDPA, (_BLOCK, f"torch.where(mask, {low}, scores)"))
                for low in ("scores.min()", "scores.min() - 1", "scores.min() - 100")
            ),
        ),
        Mistake(
            "mask_convention",
            "The output comes from F.scaled_dot_product_attention, whose mask says True = *allowed*: it takes the opposite of "
            "the course's mask, so the output does not belong to the weights.",
            edited(_SDPA, (_PAIR, "return F.scaled_dot_product_attention(Q, K, V, attn_mask=mask), weights")),
        ),
        Mistake(
            "mask_in_place",
            "The caller's mask is changed in place (`logical_not_()`, `mask[…] = …`): the next layer would get another mask.",
            edited(
                _SDPA,
                (
                    f"scores = {_BLOCK}",
                    'mask.logical_not_()\n        scores = scores.masked_fill(~mask, float("-inf"))',
                ),
            ),
            (edited(_SDPA, (f"scores = {_BLOCK}", f"scores = {_BLOCK}\n        mask.zero_()")),),
        ),
        Mistake(
            "mask_indexed",
            "`scores[mask] = …` needs a mask of exactly the shape of the scores. The mask may be smaller and broadcast: use "
            "masked_fill or torch.where.",
            edited(_SDPA, (f"scores = {_BLOCK}", 'scores[mask] = float("-inf")')),
        ),
        Mistake(
            "mask_as_condition",
            "`if mask:` asks a whole tensor for one truth value, which fails. Ask `if mask is not None:`.",
            edited(_SDPA, (_IF, "if mask:")),
            (edited(_SDPA, (_IF, "if mask != None and mask == True:")),),
        ),
        Mistake(
            "mask_unsqueezed",
            "The mask is given a further dimension (unsqueeze), so the results gain one too, or the batch is paired with the "
            "wrong dimension. Use the mask as it comes: it broadcasts by itself.",
            edited(_SDPA, (_BLOCK, 'scores.masked_fill(mask.unsqueeze(0), float("-inf"))')),
            (
                edited(
                    _SDPA, (_BLOCK, 'scores.masked_fill(mask.unsqueeze(0) if mask.dim() == 2 else mask, float("-inf"))')
                ),
                edited(
                    _SDPA, (_BLOCK, 'scores.masked_fill(mask.unsqueeze(1) if mask.dim() == 3 else mask, float("-inf"))')
                ),
                edited(_SDPA, (_BLOCK, 'scores.masked_fill(mask.unsqueeze(1), float("-inf"))')),
            ),
        ),
        Mistake(
            "mask_sometimes",
            "The mask is used for one number of dimensions only and ignored for the others. Let it broadcast, whatever its shape.",
            edited(_SDPA, (_IF, "if mask is not None and scores.dim() == 3:")),
            tuple(
                edited(_SDPA, (_IF, f"if mask is not None and {when}:"))
                for when in (
                    "scores.dim() == 2",
                    "scores.dim() == 4",
                    "mask.dim() == 2",
                    "mask.dim() == 3",
                    "mask.shape == scores.shape",
                    "Q.shape == K.shape",
                )
            ),
        ),
        Mistake(
            "mask_square_only",
            "The mask is cut or expanded with T in the place of S (or the other way round): it is (..., T, S).",
            edited(_SDPA, ("masked_fill(mask,", "masked_fill(mask.expand(*Q.shape[:-2], Q.shape[-2], Q.shape[-2]),")),
        ),
        Mistake(
            "mask_finite",
            "Blocked scores are filled with a finite number (−1e9, −1e4 …). Where every allowed score is lower still, the "
            "blocked key gets all the weight. Fill with −inf, which is below everything.",
            edited(_SDPA, ('float("-inf")', "-1e9")),
        ),
        Mistake(
            "mask_too_small",
            "Blocked scores are filled with a small finite number (−10 or the like): the blocked key keeps a visible weight. "
            "Fill with −inf.",
            edited(_SDPA, ('float("-inf")', "-10.0")),
            tuple(edited(_SDPA, ('float("-inf")', fill)) for fill in ("-1.0", "-5.0")),
        ),
        Mistake(
            "mask_added",
            "The boolean mask is added to the scores, which adds 1 to blocked scores. Fill them with −inf.",
            edited(_SDPA, (_BLOCK, "scores + mask")),
        ),
        Mistake(
            "mask_subtracted",
            "A multiple of the mask is subtracted from the scores: a finite penalty, which a large enough difference overcomes. "
            "Fill with −inf.",
            edited(_SDPA, (_BLOCK, "scores - 1e9 * mask")),
            tuple(edited(_SDPA, (_BLOCK, f"scores - {penalty} * mask")) for penalty in ("1e4", "10")),
        ),
        Mistake(
            "mask_two_dimensions",
            "The mask is used as one (T, S) matrix for the whole batch (only its first sequence counts). It may have leading "
            "dimensions: let broadcasting do the work.",
            edited(_SDPA, ("masked_fill(mask,", "masked_fill(mask.reshape(-1, *mask.shape[-2:])[0],")),
        ),
        Mistake(
            "mask_transposed",
            "The mask is transposed: its rows are queries, its columns are keys.",
            edited(_SDPA, ("masked_fill(mask,", "masked_fill(mask.transpose(-2, -1),")),
            (
                edited(_SDPA, ("masked_fill(mask,", "masked_fill(mask.mT,")),
                edited(_SDPA, ("masked_fill(mask,", "masked_fill(mask.T,")),
            ),
        ),
        Mistake(
            "swapped_results",
            "The two results are the wrong way round: (output, weights) is asked for.",
            edited(_SDPA, (_PAIR, "return weights, weights @ V")),
        ),
        Mistake(
            "output_only",
            "Only the output is returned; the weights are asked for too.",
            edited(_SDPA, (_PAIR, "return weights @ V")),
        ),
        Mistake(
            "list_returned",
            "A list is returned; return the tuple (output, weights).",
            edited(_SDPA, (_PAIR, "return [weights @ V, weights]")),
        ),
        Mistake(
            "lists_in_the_pair",
            "The results are lists of tensors: stack them into tensors with torch.stack.",
            edited(_SDPA, (_PAIR, "return list(weights @ V), list(weights)")),
            (
                edited(
                    _SDPA,
                    (_PAIR, "return (weights @ V, weights) if mask is None else (list(weights @ V), list(weights))"),
                ),
                edited(_SDPA, (_PAIR, "return (weights @ V).tolist(), weights.tolist()")),
            ),
        ),
        Mistake(
            "dictionary_returned",
            "A dictionary or one joined tensor is returned; return the tuple (output, weights).",
            edited(_SDPA, (_PAIR, "return {'output': weights @ V, 'weights': weights}")),
            (edited(_SDPA, (_PAIR, "return torch.cat([weights @ V, weights], dim=-1)")),),
        ),
        Mistake(
            "three_returned",
            "Three things are returned (the scores too?); return the pair (output, weights).",
            edited(_SDPA, (_PAIR, "return weights @ V, weights, scores")),
        ),
        Mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the two results instead of printing them.",
            edited(_SDPA, (_PAIR, "_ = weights @ V, weights")),
        ),
        Mistake(
            "scores_returned",
            "The raw scores are returned in place of the weights: the second result should be after the softmax.",
            edited(_SDPA, (_PAIR, "return weights @ V, scores")),
        ),
        Mistake(
            "matrix_only",
            "`K.T` and `transpose(0, 1)` work for single matrices only: in a batch they move the batch dimension. Use "
            "`K.transpose(-2, -1)` or `K.mT`.",
            edited(_SDPA, ("K.transpose(-2, -1)", "K.T")),
            (edited(_SDPA, ("K.transpose(-2, -1)", "K.transpose(0, 1)")),),
        ),
        Mistake(
            "one_batch_dimension_only",
            "Dimensions are counted from the front (`transpose(1, 2)`, `permute(0, 2, 1)`, `bmm`, `dim=2`): right with exactly "
            "one batch dimension. Count from the end, `transpose(-2, -1)` and `dim=-1`, and multiply with `@`.",
            edited(_SDPA, ("K.transpose(-2, -1)", "K.transpose(1, 2)")),
            (
                edited(_SDPA, (_SOFT, "torch.softmax(scores, dim=2)")),
                edited(
                    _SDPA,
                    (_QK, "torch.bmm(Q, K.transpose(-2, -1))"),
                    ("weights @ V,", "torch.bmm(weights, V),"),
                ),
            ),
        ),
        Mistake(
            "heads_only",
            "Dimensions are counted from the front (`transpose(2, 3)`, `permute(0, 1, 3, 2)`, `dim=3`): right with exactly two "
            "leading dimensions. Count from the end: `transpose(-2, -1)`, `dim=-1`.",
            edited(_SDPA, ("K.transpose(-2, -1)", "K.transpose(2, 3)")),
            (edited(_SDPA, (_SOFT, "torch.softmax(scores, dim=3)")),),
        ),
        Mistake(
            "dimensions_listed",
            "Some numbers of dimensions are treated one by one and the others refused. Any number of leading batch dimensions is "
            "allowed: `transpose(-2, -1)` and `@` need no cases.",
            edited(_SDPA, ("    d_k =", "    if Q.dim() > 4:\n        raise ValueError('dimensions')\n    d_k =")),
            tuple(
                edited(_SDPA, ("    d_k =", f"    {case}\n    d_k ="))
                for case in (
                    "if Q.dim() > 3:\n        raise ValueError('dimensions')",
                    "if Q.dim() > 4:\n        raise UnboundLocalError('K_transposed')",
                    "assert Q.dim() <= 4",
                    "B, T, d = Q.shape",
                    "B, H, T, d = Q.shape",
                    "T, d = Q.shape",
                )
            ),
        ),
        Mistake(
            "view_needed",
            "`view` refuses tensors that are not contiguous, such as heads cut out with `.transpose(1, 2)`. Use `reshape`, or "
            "leave the batch to `@`.",
            edited(
                _SDPA,
                ("    d_k =", "    Q, K, V = (t.view(-1, *t.shape[-2:]).view(t.shape) for t in (Q, K, V))\n    d_k ="),
            ),
        ),
        Mistake(
            "batch_flattened",
            "The batch is flattened into one long sequence, so queries of one sequence look at keys of another.",
            edited(
                _SDPA,
                (
                    "    d_k =",
                    "    shape = Q.shape\n    Q, K, V = (t.reshape(-1, t.shape[-1]) for t in (Q, K, V))\n    d_k =",
                ),
                (_PAIR, "return (weights @ V).reshape(*shape[:-1], V.shape[-1]), weights"),
            ),
        ),
        Mistake(
            "reshape_for_transpose",
            "`view` or `reshape` was used to swap the dimensions of K. That does not transpose: it re-cuts the numbers into "
            "other rows. Use `transpose(-2, -1)`.",
            edited(_SDPA, ("K.transpose(-2, -1)", "K.reshape(*K.shape[:-2], K.shape[-1], K.shape[-2])")),
        ),
        Mistake(
            "keys_as_queries",
            "Queries and keys are swapped: the scores are K Qᵀ, so the roles of rows and columns are exchanged.",
            edited(_SDPA, (_QK, "K @ Q.transpose(-2, -1)")),
        ),
        Mistake(
            "square_only",
            "Queries and keys are swapped, and the result is turned back: right only when T = S and masks and softmax do not "
            "care.",
            edited(_SDPA, (_QK, "(K @ Q.transpose(-2, -1)).reshape(*Q.shape[:-1], K.shape[-2])")),
        ),
        Mistake(
            "values_ignored",
            "The output is made of the keys instead of the values.",
            edited(_SDPA, ("weights @ V, weights  #", "weights @ K, weights  #")),
        ),
        Mistake(
            "query_ignored",
            "The keys are compared with themselves: Q plays no part in the scores.",
            edited(_SDPA, (_QK, "K @ K.transpose(-2, -1)")),
        ),
        Mistake(
            "uniform",
            "All weights are equal: Q and K play no part.",
            edited(_SDPA, ("Q @ K.transpose(-2, -1) / math.sqrt(d_k)", "0 * (Q @ K.transpose(-2, -1))")),
        ),
        Mistake(
            "values_returned",
            "V is returned unchanged as the output.",
            edited(_SDPA, (_PAIR, "return V, weights")),
        ),
        Mistake(
            "no_softmax",
            "The scaled scores are used as weights without a softmax.",
            edited(_SDPA, (_SOFT, "scores")),
        ),
        Mistake(
            "exponentials_only",
            "The exponentials of the scores are not divided by their sum, so the rows do not sum to 1.",
            edited(_SDPA, (_SOFT, "torch.exp(scores)")),
        ),
        Mistake(
            "log_softmax",
            "The weights are logarithms (log_softmax): they should be the softmax itself.",
            edited(_SDPA, (_SOFT, "torch.log_softmax(scores, dim=-1)")),
        ),
        Mistake(
            "sigmoid",
            "Each score went through a sigmoid on its own instead of a softmax over the keys.",
            edited(_SDPA, (_SOFT, "torch.sigmoid(scores)")),
        ),
        Mistake(
            "unstable",
            "The exponential is taken of the raw scores, which overflows for large ones. Use a stable softmax.",
            edited(_SDPA, (_SOFT, "scores.exp() / scores.exp().sum(-1, keepdim=True)")),
        ),
        Mistake(
            "epsilon",
            "A small number is added to a sum that the weights are divided by, so the rows sum to a little less than 1.",
            edited(
                _SDPA,
                (
                    f"weights = {_SOFT}",
                    "e = torch.exp(scores - scores.amax(-1, keepdim=True))\n    weights = e / (e.sum(-1, keepdim=True) + 1e-8)",
                ),
            ),
            tuple(
                edited(
                    _SDPA,
                    (
                        f"weights = {_SOFT}",
                        f"e = torch.exp(scores - scores.amax(-1, keepdim=True))\n    weights = e / (e.sum(-1, keepdim=True) + {small})",
                    ),
                )
                for small in ("1e-5", "1e-6")
            )
            + tuple(
                edited(
                    _SDPA,
                    (
                        f"weights = {_SOFT}",
                        f"weights = {_SOFT}\n    weights = weights / (weights.sum(-1, keepdim=True) + {small})",
                    ),
                )
                for small in ("1e-6", "1e-8")
            ),
        ),
        Mistake(
            "query_in_place",
            "Q is scaled in place (`Q /= …`), so the caller's queries are changed.",
            edited(
                _SDPA,
                (
                    "scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k)",
                    "Q /= math.sqrt(d_k)\n    scores = Q @ K.transpose(-2, -1)",
                ),
            ),
        ),
        Mistake(
            "detached_weights",
            "The weights are detached, so no gradient reaches Q and K through the output: the model could not learn where to look.",
            edited(_SDPA, (_SOFT, f"{_SOFT}.detach()")),
            (edited(_SDPA, (_PAIR, "return weights.detach() @ V, weights")),),
        ),
        Mistake(
            "input_detached",
            "One of Q, K and V is cut off from the gradient (`.detach()`, `.data`, a tensor built anew), so it cannot be trained.",
            edited(_SDPA, ("weights @ V,", "weights @ V.detach(),")),
            (
                edited(_SDPA, ("K.transpose", "K.detach().transpose")),
                edited(_SDPA, ("scores = Q @", "scores = Q.detach() @")),
            ),
        ),
        Mistake(
            "overwritten",
            "A tensor that the backward pass still needs is overwritten in place (`weights.masked_fill_`, `weights[mask] = 0`). "
            "The values are right, but the gradient fails.",
            edited(
                _SDPA,
                ("# (..., T, S)\n    return", f"\n    {_IF}\n        weights.masked_fill_(mask, 0.0)\n    return"),
            ),
            (edited(_SDPA, ("# (..., T, S)\n    return", "\n    weights *= 1.0\n    return")),),
        ),
        Mistake(
            "returned_weights_detached",
            "The weights that are returned are detached. They are right, but nothing can be learned through them.",
            edited(_SDPA, (_PAIR, "return weights @ V, weights.detach()")),
        ),
        Mistake(
            "no_gradient",
            "The result is cut off from its inputs (`.detach()`, `.data` or `no_grad`), so nothing could be trained.",
            edited(_SDPA, (_PAIR, "return (weights @ V).detach(), weights.detach()")),
        ),
        Mistake(
            "single_precision",
            "The result comes back as float32 even when the inputs are float64: something is cast, or written into a new tensor "
            "made without `dtype=`.",
            edited(_SDPA, ("d_k = Q.shape[-1]", "Q, K, V = Q.float(), K.float(), V.float()\n    d_k = Q.shape[-1]")),
            (
                edited(
                    _SDPA,
                    (f"    {_IF}", f"    scores = scores.float()\n    {_IF}"),
                    ("weights @ V,", "weights.to(V.dtype) @ V,"),
                ),
                edited(
                    _SDPA,
                    (f"    {_IF}", f"    scores = scores.float()\n    {_IF}"),
                    ("weights @ V,", "weights @ V.float(),"),
                ),
                edited(_SDPA, (f"    {_IF}", f"    scores = scores.float()\n    {_IF}")),
                edited(_SDPA, ("weights @ V,", "(weights @ V).float(),")),
            ),
        ),
        Mistake(
            "double_precision",
            "The result comes back as float64 even when the inputs are float32: cast it back to their dtype.",
            edited(_SDPA, ("d_k = Q.shape[-1]", "Q, K, V = Q.double(), K.double(), V.double()\n    d_k = Q.shape[-1]")),
        ),
        Mistake(
            "half_precision",
            "The scores or weights go through half precision (float16), which keeps three digits and overflows beyond 65504.",
            edited(_SDPA, (_SOFT, "torch.softmax(scores.half().float(), dim=-1).to(Q.dtype)")),
            (
                edited(_SDPA, (_SOFT, "torch.softmax(scores.half(), dim=-1).to(Q.dtype)")),
                edited(_SDPA, (_SOFT, "torch.softmax(scores.bfloat16(), dim=-1).to(Q.dtype)")),
            ),
        ),
        Mistake(
            "rounded",
            "The weights are rounded: use them as they are.",
            edited(_SDPA, (_SOFT, f"torch.round({_SOFT}, decimals=4)")),
            (edited(_SDPA, (_SOFT, f"torch.round({_SOFT}, decimals=3)")),),
        ),
        Mistake(
            "single_precision_inside",
            "The computation goes through float32, so float64 inputs lose precision even though the dtype is restored.",
            edited(_SDPA, (_SOFT, "torch.softmax(scores.float(), dim=-1).to(V.dtype)")),
        ),
        Mistake(
            "single_precision_mask",
            "A tensor for the mask is made without the dtype of the scores, so with a mask float64 fails or becomes float32.",
            edited(
                _SDPA,
                (
                    _BLOCK,
                    '(scores + torch.zeros(mask.shape).masked_fill(mask, float("-inf"))).float()',
                ),
            ),
        ),
        Mistake(
            "device_dropped",
            "A new tensor is made without `device=`: it lands on the CPU, and on a GPU the computation fails. Make it with "
            "`device=scores.device`, or use masked_fill, which needs no new tensor.",
            edited(
                _SDPA,
                (
                    _BLOCK,
                    'torch.where(mask, torch.full(scores.shape, float("-inf"), dtype=scores.dtype), scores)',
                ),
            ),
        ),
        Mistake(
            "dropout",
            "Chance plays a part (dropout, or noise added to the scores): the result must depend on the inputs only.",
            edited(_SDPA, (_SOFT, f"F.dropout({_SOFT}, 0.1)")),
            (edited(_SDPA, (f"    {_IF}", f"    scores = scores + 1e-3 * torch.randn_like(scores)\n    {_IF}")),),
        ),
        Mistake(
            "squeezed",
            "`squeeze()` removes every dimension of size 1, so a batch of one, a single query or a single key changes the "
            "shape of the result.",
            edited(_SDPA, (_PAIR, "return (weights @ V).squeeze(), weights.squeeze()")),
            (
                edited(_SDPA, (_PAIR, "return (weights @ V).squeeze(), weights")),
                edited(_SDPA, (_PAIR, "return weights @ V, weights.squeeze()")),
                edited(_SDPA, (_PAIR, "return (weights @ V).squeeze(0), weights.squeeze(0)")),
                edited(_SDPA, (_PAIR, "return (weights @ V).squeeze(-2), weights.squeeze(-2)")),
            ),
        ),
        Mistake(
            "causal_always",
            "Later keys are blocked even when no mask asks for it. Causal masks are notebook 06's subject: apply the mask "
            "that is given, nothing else.",
            edited(
                _SDPA,
                (
                    "    if mask is not None",
                    "    past = torch.ones(scores.shape[-2:], dtype=torch.bool, device=Q.device).triu(1)\n    scores = scores.masked_fill(past, float('-inf'))\n    if mask is not None",
                ),
            ),
            (
                edited(
                    _SDPA,
                    (
                        _IF,
                        "if mask is None:\n        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=Q.device).triu(1)\n    if True:",
                    ),
                ),
            ),
        ),
        Mistake(
            "first_of_batch",
            "Only the first sequence of the batch is computed (its weights, or all of it) and used for all the others.",
            edited(
                _SDPA,
                (
                    _PAIR,
                    "output = weights @ V\n    if output.dim() > 2:\n        output, weights = output[:1].expand_as(output), weights[:1].expand_as(weights)\n    return output, weights",
                ),
            ),
            (
                edited(
                    _SDPA,
                    (
                        _PAIR,
                        "if weights.dim() > 2:\n        weights = weights[:1].expand_as(weights)\n    return weights @ V, weights",
                    ),
                ),
                edited(
                    _SDPA,
                    (
                        _PAIR,
                        "if weights.dim() > 2:\n        return (weights @ V)[0], weights[0]\n    return weights @ V, weights",
                    ),
                ),
            ),
        ),
        Mistake(
            "output_like_queries",
            "The output is made with the shape of Q, but it is (..., T, d_v): its width is that of V.",
            edited(
                _SDPA,
                (
                    _PAIR,
                    "output = torch.zeros_like(Q)\n    for t in range(Q.shape[-2]):\n        output[..., t, :] = (weights[..., t, :].unsqueeze(-1) * V).sum(dim=-2)\n    return output, weights",
                ),
            ),
            (edited(_SDPA, (_PAIR, "return (weights @ V).reshape(Q.shape), weights")),),
        ),
        Mistake(
            "loops_to_T",
            "The keys are cut to T, the number of queries (by a loop or a slice): there are S keys.",
            edited(
                _SDPA,
                (
                    _QK,
                    "torch.stack([(Q * K[..., s, None, :]).sum(-1) for s in range(Q.shape[-2])], dim=-1)",
                ),
            ),
            (
                edited(
                    _SDPA,
                    ("    d_k =", "    n = Q.shape[-2]\n    K, V = K[..., :n, :], V[..., :n, :]\n    d_k ="),
                    ("masked_fill(mask,", "masked_fill(mask[..., :n],"),
                ),
            ),
        ),
        Mistake(
            "products_not_summed",
            "The products of queries and keys are taken element by element (`*`), not as dot products: use `@`.",
            edited(_SDPA, (_QK, "Q * K")),
        ),
        Mistake(
            "transposed_output",
            "The weights are transposed before they meet V (or returned transposed): row t of the weights belongs to query t.",
            edited(_SDPA, (_PAIR, "return weights.mT @ V, weights")),
            (
                edited(_SDPA, (_PAIR, "return weights @ V, weights.mT")),
                edited(_SDPA, (_PAIR, "return (weights @ V).mT, weights")),
            ),
        ),
    ],
    alternatives=[
        Alternative(
            "einsum",
            written(
                """
                def scaled_dot_product_attention(Q, K, V, mask=None):
                    scores = torch.einsum("...td,...sd->...ts", Q, K) * Q.size(-1) ** -0.5
                    if mask is not None:
                        scores = torch.where(mask, torch.tensor(float("-inf"), dtype=scores.dtype), scores)
                    weights = scores.softmax(dim=-1)
                    return torch.einsum("...ts,...sd->...td", weights, V), weights
                """
            ),
        ),
        Alternative(
            "scaled_query_additive_mask",
            written(
                """
                def _additive(mask, like):
                    bias = torch.zeros(mask.shape, dtype=like.dtype, device=like.device)
                    return bias.masked_fill(mask, -torch.inf)

                def scaled_dot_product_attention(Q, K, V, mask=None):
                    scores = (Q / Q.shape[-1] ** 0.5) @ K.mT
                    if mask is not None:
                        scores = scores + _additive(mask, scores)
                    weights = F.softmax(scores, dim=-1)
                    return weights.matmul(V), weights
                """
            ),
        ),
        Alternative(
            "loop_over_queries",
            written(
                """
                def scaled_dot_product_attention(Q, K, V, mask=None):
                    T, S = Q.shape[-2], K.shape[-2]
                    if mask is not None:
                        mask = mask.expand(*Q.shape[:-2], T, S)
                    outputs, rows = [], []
                    for t in range(T):
                        scores = (Q[..., t, None, :] * K).sum(-1) / torch.sqrt(torch.tensor(Q.shape[-1]))
                        if mask is not None:
                            scores = scores.masked_fill(mask[..., t, :], -math.inf)
                        w = nn.functional.softmax(scores, -1)
                        rows.append(w)
                        outputs.append((w[..., None] * V).sum(-2))
                    return torch.stack(outputs, -2), torch.stack(rows, -2)
                """
            ),
        ),
        Alternative(
            "float64_inside",
            written(
                """
                def scaled_dot_product_attention(Q, K, V, mask=None):
                    kind = Q.dtype
                    Q, K, V = (t.to(torch.float64) for t in (Q, K, V))
                    scores = torch.matmul(Q, K.swapaxes(-1, -2)).div(Q.shape[-1] ** 0.5)
                    if mask is not None:
                        scores = scores.masked_fill(mask, float("-inf"))
                    weights = torch.softmax(scores, -1)
                    return torch.matmul(weights, V).to(kind), weights.to(kind)
                """
            ),
        ),
        Alternative(
            "pytorch_output",
            written(
                """
                def scaled_dot_product_attention(Q, K, V, mask=None):
                    scores = Q @ K.transpose(-1, -2) / math.sqrt(K.shape[-1])
                    if mask is not None:
                        scores[mask.expand_as(scores)] = float("-inf")
                    weights = torch.softmax(scores, dim=-1)
                    allowed = None if mask is None else ~mask
                    return F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed), weights
                """
            ),
        ),
        Alternative("own_softmax", edited(_SDPA, ("torch.softmax(", "softmax("))),
    ],
)


# --- SelfAttention ----------------------------------------------------------------------------------------------------

PROJECTIONS = ("q_proj", "k_proj", "v_proj")


def _weights_for(embed_dim: int, head_dim: int, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    state = {}
    for name in PROJECTIONS:
        state[f"{name}.weight"] = normal(head_dim, embed_dim, scale=0.8, dtype=dtype)
        state[f"{name}.bias"] = normal(head_dim, dtype=dtype)
    return state


def _expected(state: dict[str, torch.Tensor], x: torch.Tensor, mask: torch.Tensor | None = None) -> tuple:
    Q, K, V = (F.linear(x, state[f"{name}.weight"], state[f"{name}.bias"]) for name in PROJECTIONS)
    return scaled_dot_product_attention(Q, K, V, mask)


def _built(student: Any, embed_dim: int, head_dim: int, dtype: str = "") -> tuple[Any, dict[str, torch.Tensor]]:
    module = student.build("SelfAttention", embed_dim, head_dim)
    state = _weights_for(embed_dim, head_dim, torch.float64 if dtype else torch.float32)
    if dtype:
        student.move(module, dtype)
    student.load(module, state)
    return module, state


def _self_parameters(student: Any) -> None:
    for embed_dim, head_dim in ((6, 4), (3, 8)):
        with student.case():
            module = student.build("SelfAttention", embed_dim, head_dim)
            state = student.state(module)
            parameters = state["parameters"]
            for name in PROJECTIONS:
                for part, shape in (("weight", (head_dim, embed_dim)), ("bias", (head_dim,))):
                    found = parameters.get(f"{name}.{part}")
                    if not isinstance(found, torch.Tensor):
                        raise Wrong(
                            f"SelfAttention({embed_dim}, {head_dim}) has no parameter `{name}.{part}`: make "
                            f"`self.{name} = nn.Linear(embed_dim, head_dim)` in `__init__` (with its bias)."
                        )
                    if tuple(found.shape) != shape:
                        raise Wrong(
                            f"`{name}.{part}` of SelfAttention({embed_dim}, {head_dim}) should have shape {shape}, yours has "
                            f"{tuple(found.shape)}: `nn.Linear(embed_dim, head_dim)`."
                        )
                    if f"{name}.{part}" not in state["trainable"]:
                        raise Wrong(f"`{name}.{part}` is frozen (requires_grad=False), so it cannot be trained.")
            extra = sorted(set(parameters) - {f"{n}.{p}" for n in PROJECTIONS for p in ("weight", "bias")})
            if extra:
                raise Wrong(f"There are parameters that do not belong here: {', '.join(map(str, extra))[:120]}.")


def _self_values(student: Any) -> None:
    for B, T, embed_dim, head_dim in (
        *((2, 5, 6, 4), (1, 3, 2, 7), (3, 1, 4, 3), (1, 1, 3, 2), (2, 4, 4, 4)),
        *((3, 3, 5, 2), (2, 12, 3, 5), (1, 40, 4, 3), (9, 2, 8, 2)),
    ):
        with student.case():
            module, state = _built(student, embed_dim, head_dim)
            x = normal(B, T, embed_dim)
            where = f"for B = {B}, T = {T}, embed_dim = {embed_dim}, head_dim = {head_dim}"
            _same_pair(student.value(module, x, where=where), _expected(state, x), where)


def _self_mask(student: Any) -> None:
    module, state = _built(student, 6, 5)
    x = normal(2, 4, 6)
    mask = _masks(4, 4)
    own = torch.stack([mask, mask.roll(1, 0)])
    for given, training, where in (
        (mask, True, "with a mask of shape (T, T)"),
        (own, True, "with a mask of shape (B, T, T)"),
        (own[:, :1], True, "with a mask of shape (B, 1, T)"),
        (own[0, 0], True, "with a mask of shape (T,), about keys"),
        (mask, False, "with a mask, in evaluation mode"),
        (None, True, "without a mask, after calls with one"),
    ):
        with student.case():
            kwargs = {} if given is None else {"mask": given}
            got = student.call(module, [x], kwargs, where=where, training=training)["value"]
            _same_pair(got, _expected(state, x, given), where)
    where = "with the mask given by position, for a single token"
    one, open_ = normal(2, 1, 6), torch.zeros(1, 1, dtype=torch.bool)
    _same_pair(student.value(module, one, open_, where=where), _expected(state, one, open_), where)


def _self_forbidden(student: Any) -> None:
    """A blocked token must get exactly 0, also where every allowed score is hugely negative or it scores highest."""
    mask = torch.zeros(5, 5, dtype=torch.bool)
    mask[:, 2] = True
    for scale, sign, where in (
        (1.0, 1.0, "for the blocked token"),
        (1e6, 1.0, "for a blocked token that would have scored far above the others"),
        (1e6, -1.0, "where all allowed scores are far below zero (a finite fill such as −1e9 is then the largest)"),
    ):
        with student.case():
            module = student.build("SelfAttention", 3, 4)
            state = {name: value.abs() for name, value in _weights_for(3, 4).items()}
            state["k_proj.weight"], state["k_proj.bias"] = sign * state["k_proj.weight"], sign * state["k_proj.bias"]
            student.load(module, state)
            x = normal(2, 5, 3).abs() * (1.0 if sign > 0 else scale)
            x[:, 2] *= scale if sign > 0 else 1.0
            got = student.call(module, [x], {"mask": mask}, where=where)["value"]
            _blocked_is_zero(got, mask, where)
            _same_pair(got, _expected(state, x, mask), where)


def _self_gradient(student: Any) -> None:
    for masked in (False, True):
        with student.case():
            module, state = _built(student, 6, 4)
            x, mask = normal(2, 5, 6), _masks(5, 5) if masked else None
            names = list(state)
            expected, upstream = gradients_of(
                lambda x, *values, names=names, mask=mask: _expected(dict(zip(names, values, strict=True)), x, mask),
                [x, *state.values()],
            )
            kwargs = {"mask": mask} if masked else {}
            answer = student.call(module, [x], kwargs, upstream=upstream)
            grads = answer["gradients"]
            same_gradients(grads.get("inputs", []), expected[:1], ["x"])
            mine = [grads.get("parameters", {}).get(name) for name in names]
            same_gradients(mine, expected[1:], [f"`{name}`" for name in names])


def _self_manners(student: Any) -> None:
    module, state = _built(student, 7, 4)
    other, other_state = _built(student, 7, 4)
    x = normal(2, 5, 7)
    answer = student.call(module, [x])
    unchanged(answer["inputs"], [x], "x")
    where = "when two modules exist (each needs layers of its own)"
    _same_pair(answer["value"], _expected(state, x), where)
    _same_pair(student.value(other, x), _expected(other_state, x), where)
    after = student.state(module)["parameters"]
    if any(name in after and not torch.equal(after[name], state[name]) for name in state):
        raise Wrong("A call changes the module's parameters: only training may do that.")
    for training in (True, False):
        with student.case():
            answer = student.call(module, [x], training=training)
            _same_pair(answer["value"], _expected(state, x), "in training mode" if training else "in evaluation mode")
    wide, wide_state = _built(student, 5, 4, "float64")
    x = normal(2, 4, 5, dtype=torch.float64)
    _same_pair(student.value(wide, x, where="in float64"), _expected(wide_state, x), "in float64")
    keyword = student.build("SelfAttention", embed_dim=3, head_dim=2)
    shape = student.state(keyword)["parameters"].get("q_proj.weight")
    if not isinstance(shape, torch.Tensor) or tuple(shape.shape) != (2, 3):
        raise Wrong("SelfAttention(embed_dim=3, head_dim=2) should build the same as SelfAttention(3, 2).")


def _self_device(student: Any) -> None:
    module, state = _built(student, 6, 4)
    x = normal(2, 5, 6)
    _same_pair(student.value(module, x), _expected(state, x), "")
    device_is_kept(student, module, [normal(2, 5, 6)])
    device_is_kept(student, module, [normal(2, 5, 6), _masks(5, 5)])


def _self_fresh(student: Any) -> None:
    """Layers start as nn.Linear does: not all zero, not all alike."""
    module = student.build("SelfAttention", 6, 4)
    parameters = student.state(module)["parameters"]
    weights = [parameters.get(f"{name}.weight") for name in PROJECTIONS]
    if not all(isinstance(w, torch.Tensor) for w in weights):
        raise Wrong("The layers q_proj, k_proj and v_proj are not all there.")
    if all(w.device.type == "cpu" for w in weights):
        if any(not w.isfinite().all() or w.std() < 1e-4 for w in weights):
            raise Wrong("A projection starts with all its weights alike: every feature would learn the same.")
        if any(torch.equal(weights[i], weights[j]) for i, j in ((0, 1), (1, 2), (0, 2))):
            raise Wrong("Two projections start with the same weights: use three separate nn.Linear layers.")


_CALL = "return scaled_dot_product_attention(Q, K, V, mask)"


def _self_edited(*edits: tuple[str, str]) -> str:
    return edited(SelfAttention, *edits)


def _returning(results: str) -> str:
    """The module with something else made of `output` and `weights` before they are returned."""
    return _self_edited(
        (_CALL, f"output, weights = scaled_dot_product_attention(Q, K, V, mask)\n        return {results}")
    )


def _calling(arguments: str) -> str:
    """The module with other arguments for the call of scaled_dot_product_attention."""
    return _self_edited((_CALL, f"return scaled_dot_product_attention({arguments})"))


def _inline(scale: str = "math.sqrt(Q.shape[-1])", fill: str = "float('-inf')", dim: str = "-1") -> tuple[str, str]:
    """The call to the earlier exercise, written out, with one thing changed."""
    lines = [
        f"scores = Q @ K.transpose(-2, -1) / {scale}",
        "if mask is not None:",
        f"    scores = scores.masked_fill(mask, {fill})",
        f"weights = torch.softmax(scores, dim={dim})",
        _PAIR,
    ]
    return _CALL, ("\n" + 8 * " ").join(lines)


SELF_ATTENTION = Exercise(
    name="SelfAttention",
    notebook="05-attention",
    points=8,
    reference=SelfAttention,
    checks=[
        Check("q_proj, k_proj and v_proj, and nothing else", 1.5, _self_parameters),
        Check("values with given weights, for many combinations of sizes", 2.5, _self_values),
        Check("masks of every shape, in training and evaluation", 1.0, _self_mask),
        Check("a blocked token gets exactly 0", 0.5, _self_forbidden),
        Check("gradients reach the input and every parameter", 1.0, _self_gradient),
        Check("inputs unchanged, modules independent, float64", 0.75, _self_manners),
        Check("stays on the inputs' device", 0.5, _self_device),
        Check("fresh layers differ from each other", 0.25, _self_fresh),
    ],
    working=written(
        """
        import torch
        from torch import nn

        class SelfAttention(nn.Module):
            def __init__(self, embed_dim, head_dim):
                super().__init__()
                self.q_proj = nn.Linear(embed_dim, head_dim)
                self.k_proj = nn.Linear(embed_dim, head_dim)
                self.v_proj = nn.Linear(embed_dim, head_dim)

            def forward(self, x, mask=None):
                allowed = None if mask is None else ~mask
                q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
                eye = torch.eye(x.shape[-2], dtype=x.dtype, device=x.device).expand(x.shape[0], -1, -1)
                attend = nn.functional.scaled_dot_product_attention
                return attend(q, k, v, attn_mask=allowed), attend(q, k, eye, attn_mask=allowed)
        """
    ),
    mistakes=[
        Mistake(
            "no_bias",
            "The projections have no bias (`bias=False`): nn.Linear(embed_dim, head_dim) with its default bias is asked for.",
            _self_edited(("nn.Linear(embed_dim, head_dim)", "nn.Linear(embed_dim, head_dim, bias=False)")),
        ),
        Mistake(
            "square_projections",
            "A projection (or all three) is nn.Linear(embed_dim, embed_dim): all should end in head_dim features.",
            _self_edited(("nn.Linear(embed_dim, head_dim)", "nn.Linear(embed_dim, embed_dim)")),
            (
                _self_edited(
                    ("self.v_proj = nn.Linear(embed_dim, head_dim)", "self.v_proj = nn.Linear(embed_dim, embed_dim)")
                ),
            ),
        ),
        Mistake(
            "sizes_swapped",
            "The two sizes are swapped, in the signature or in the layers: SelfAttention(embed_dim, head_dim) makes layers from "
            "embed_dim features to head_dim features.",
            _self_edited(("nn.Linear(embed_dim, head_dim)", "nn.Linear(head_dim, embed_dim)")),
        ),
        Mistake(
            "some_bias_missing",
            "One of the projections has no bias: all three are nn.Linear(embed_dim, head_dim) with the default bias.",
            _self_edited(
                (
                    "self.k_proj = nn.Linear(embed_dim, head_dim)",
                    "self.k_proj = nn.Linear(embed_dim, head_dim, bias=False)",
                )
            ),
            (
                _self_edited(
                    (
                        "self.q_proj = nn.Linear(embed_dim, head_dim)",
                        "self.q_proj = nn.Linear(embed_dim, head_dim, bias=False)",
                    )
                ),
                _self_edited(
                    (
                        "self.v_proj = nn.Linear(embed_dim, head_dim)",
                        "self.v_proj = nn.Linear(embed_dim, head_dim, bias=False)",
                    )
                ),
                _self_edited(
                    (
                        "self.q_proj = nn.Linear(embed_dim, head_dim)",
                        "self.q_proj = nn.Linear(embed_dim, head_dim, bias=False)",
                    ),
                    (
                        "self.k_proj = nn.Linear(embed_dim, head_dim)",
                        "self.k_proj = nn.Linear(embed_dim, head_dim, bias=False)",
                    ),
                ),
            ),
        ),
        Mistake(
            "bare_parameters",
            "The projections are bare matrices (nn.Parameter) instead of layers: nn.Linear(embed_dim, head_dim) "
            "holds a weight and a bias and is called as `self.q_proj(x)`.",
            _self_edited(
                (
                    "nn.Linear(embed_dim, head_dim)",
                    "nn.Parameter(torch.randn(embed_dim, head_dim) / math.sqrt(embed_dim))",
                ),
                ("self.q_proj(x)", "x @ self.q_proj"),
                ("self.k_proj(x)", "x @ self.k_proj"),
                ("self.v_proj(x)", "x @ self.v_proj"),
            ),
        ),
        Mistake(
            "sizes_fixed",
            "The sizes of the layers are fixed numbers: they must come from embed_dim and head_dim.",
            _self_edited(("nn.Linear(embed_dim, head_dim)", "nn.Linear(32, 16)")),
            (
                _self_edited(("nn.Linear(embed_dim, head_dim)", "nn.Linear(64, 64)")),
                _self_edited(("nn.Linear(embed_dim, head_dim)", "nn.Linear(512, 64)")),
            ),
        ),
        Mistake(
            "divisible_only",
            "Sizes are refused that are allowed here: embed_dim need not be divisible by head_dim (that rule "
            "belongs to several heads, in notebook 07).",
            _self_edited(
                (
                    "        super().__init__()\n",
                    "        super().__init__()\n        if embed_dim % head_dim != 0:\n            raise ValueError('sizes')\n",
                )
            ),
            (
                _self_edited(
                    (
                        "        super().__init__()\n",
                        "        super().__init__()\n        assert embed_dim % head_dim == 0\n",
                    )
                ),
            ),
        ),
        Mistake(
            "several_heads",
            "nn.MultiheadAttention does the work: here one head with q_proj, k_proj and v_proj of its own is "
            "asked for.",
            written(
                """
                class SelfAttention(nn.Module):
                    def __init__(self, embed_dim, head_dim):
                        super().__init__()
                        self.attention = nn.MultiheadAttention(embed_dim, embed_dim // head_dim, batch_first=True)

                    def forward(self, x, mask=None):
                        return self.attention(x, x, x, attn_mask=mask)
                """
            ),
            (
                written(
                    """
                    class SelfAttention(nn.Module):
                        def __init__(self, embed_dim, head_dim):
                            super().__init__()
                            self.attention = nn.MultiheadAttention(embed_dim, 1, batch_first=True)

                        def forward(self, x, mask=None):
                            return self.attention(x, x, x, attn_mask=mask)
                    """
                ),
            ),
        ),
        Mistake(
            "no_mask_parameter",
            "forward does not take a mask: keep the signature forward(x, mask=None).",
            _self_edited(
                ("def forward(self, x, mask=None)", "def forward(self, x)"),
                (_CALL, "return scaled_dot_product_attention(Q, K, V)"),
            ),
        ),
        Mistake(
            "mask_required",
            "forward cannot be called without a mask: give it the default None, forward(x, mask=None).",
            _self_edited(("def forward(self, x, mask=None)", "def forward(self, x, mask)")),
            (_calling("Q, K, V, mask.bool()"),),
        ),
        Mistake(
            "mask_sometimes",
            "The mask is used in one mode only (training or evaluation). What is blocked is blocked in both.",
            _calling("Q, K, V, mask if self.training else None"),
            (_calling("Q, K, V, None if self.training else mask"),),
        ),
        Mistake(
            "mask_remembered",
            "The first mask is kept and used in later calls too. A call uses the mask it is given, or none.",
            _self_edited(
                ("        super().__init__()\n", "        super().__init__()\n        self.mask = None\n"),
                (
                    _CALL,
                    "self.mask = mask if self.mask is None else self.mask\n        return scaled_dot_product_attention(Q, K, V, self.mask)",
                ),
            ),
            (
                _self_edited(
                    ("        super().__init__()\n", "        super().__init__()\n        self.mask = None\n"),
                    (
                        _CALL,
                        "self.mask = self.mask if mask is None else mask\n        return scaled_dot_product_attention(Q, K, V, self.mask)",
                    ),
                ),
            ),
        ),
        Mistake(
            "mask_unsqueezed",
            "The mask is given a further dimension (unsqueeze), so that some masks no longer fit or the results "
            "gain a dimension. Pass it on as it comes: it broadcasts by itself.",
            _calling("Q, K, V, None if mask is None else mask.unsqueeze(0)"),
            (
                _calling("Q, K, V, None if mask is None else mask.unsqueeze(1)"),
                _calling("Q, K, V, None if mask is None else mask[:, None, None, :]"),
            ),
        ),
        Mistake(
            "mask_convention",
            "F.scaled_dot_product_attention reads True as *allowed*, the opposite of the course's masks, so under "
            "a mask the output does not belong to the weights.",
            _self_edited(
                (
                    _CALL,
                    "_, weights = scaled_dot_product_attention(Q, K, V, mask)\n        return F.scaled_dot_product_attention(Q, K, V, mask), weights",
                )
            ),
        ),
        Mistake(
            "mask_finite",
            "Blocked scores are filled with a finite number (−1e9, −1e4 …). Where every allowed score is lower "
            "still, the blocked token gets all the weight. Fill with −inf.",
            _self_edited(_inline(fill="-1e9")),
            (
                _self_edited(_inline(fill="-1e4")),
                _self_edited(_inline(fill="-10.0")),
            ),
        ),
        Mistake(
            "length_limited",
            "The number of tokens is limited by a fixed maximum (a buffer, or a slice of x): any T is allowed.",
            _self_edited(("        Q = self.q_proj(x)", "        x = x[:, :8]\n        Q = self.q_proj(x)")),
            (
                _self_edited(("        Q = self.q_proj(x)", "        x = x[:, :10]\n        Q = self.q_proj(x)")),
                _self_edited(("        Q = self.q_proj(x)", "        x = x[:, :16]\n        Q = self.q_proj(x)")),
                _self_edited(("        Q = self.q_proj(x)", "        x = x[:, :32]\n        Q = self.q_proj(x)")),
                _self_edited(
                    (
                        "        Q = self.q_proj(x)",
                        "        if x.shape[1] > 16:\n            raise ValueError('too long')\n        Q = self.q_proj(x)",
                    )
                ),
            ),
        ),
        Mistake(
            "batch_second",
            "Attention runs over the batch: x is (B, T, C) here, with the batch first (nn.MultiheadAttention's "
            "default has the tokens first).",
            _self_edited(
                ("        Q = self.q_proj(x)", "        x = x.transpose(0, 1)\n        Q = self.q_proj(x)"),
                (
                    _CALL,
                    "output, weights = scaled_dot_product_attention(Q, K, V, mask)\n        return output.transpose(0, 1), weights",
                ),
            ),
            (
                _self_edited(
                    ("        Q = self.q_proj(x)", "        x = x.transpose(0, 1)\n        Q = self.q_proj(x)")
                ),
            ),
        ),
        Mistake(
            "input_normalised",
            "The tokens are normalised or centred before they are projected (a layer norm): that comes in notebook 08.",
            _self_edited(
                ("        Q = self.q_proj(x)", "        x = F.layer_norm(x, x.shape[-1:])\n        Q = self.q_proj(x)")
            ),
        ),
        Mistake(
            "parameters_changed",
            "Every call changes the parameters (`weight.data.div_`): the next call gives another result. Scale "
            "the scores or the queries instead.",
            _self_edited(
                (
                    "        Q = self.q_proj(x)",
                    "        self.q_proj.weight.data.div_(math.sqrt(self.q_proj.out_features))\n        self.q_proj.bias.data.div_(math.sqrt(self.q_proj.out_features))\n        Q = self.q_proj(x)",
                ),
                _inline(scale="1.0"),
            ),
            (
                _self_edited(
                    (
                        "        Q = self.q_proj(x)",
                        "        self.q_proj.weight.data.div_(math.sqrt(self.q_proj.out_features))\n        Q = self.q_proj(x)",
                    ),
                    _inline(scale="1.0"),
                ),
            ),
        ),
        Mistake(
            "same_start",
            "The projections start alike (copied or constant weights): each needs random weights of its own, as "
            "nn.Linear makes them.",
            _self_edited(
                (
                    "        self.v_proj = nn.Linear(embed_dim, head_dim)",
                    "        self.v_proj = nn.Linear(embed_dim, head_dim)\n        for layer in (self.q_proj, self.k_proj, self.v_proj):\n            nn.init.zeros_(layer.weight)",
                )
            ),
            (
                _self_edited(
                    (
                        "        self.v_proj = nn.Linear(embed_dim, head_dim)",
                        "        self.v_proj = nn.Linear(embed_dim, head_dim)\n        for layer in (self.q_proj, self.k_proj, self.v_proj):\n            nn.init.ones_(layer.weight)",
                    )
                ),
                _self_edited(
                    (
                        "        self.v_proj = nn.Linear(embed_dim, head_dim)",
                        "        self.v_proj = nn.Linear(embed_dim, head_dim)\n        self.k_proj.load_state_dict(self.q_proj.state_dict())",
                    )
                ),
            ),
        ),
        Mistake(
            "nothing_returned",
            "forward returns nothing (None): `return` output and weights.",
            _self_edited((_CALL, "scaled_dot_product_attention(Q, K, V, mask)")),
        ),
        Mistake(
            "list_returned",
            "A list is returned; return the tuple (output, weights).",
            _self_edited((_CALL, "return list(scaled_dot_product_attention(Q, K, V, mask))")),
        ),
        Mistake(
            "scale_fixed",
            "The scores are divided by a fixed number whatever head_dim is: use √head_dim.",
            _self_edited(_inline(scale="8.0")),
            (
                _self_edited(_inline(scale="4.0")),
                _self_edited(_inline(scale="2.0")),
            ),
        ),
        Mistake(
            "other_names",
            "The layers have other names: q_proj, k_proj and v_proj are asked for, so that weights can be loaded.",
            _self_edited(("q_proj", "query"), ("k_proj", "key"), ("v_proj", "value")),
        ),
        Mistake(
            "short_names",
            "The layers have other names (W_q …): q_proj, k_proj and v_proj are asked for, so that weights can be loaded.",
            _self_edited(("q_proj", "W_q"), ("k_proj", "W_k"), ("v_proj", "W_v")),
        ),
        Mistake(
            "shared_projection",
            "One layer serves for queries, keys and values: `self.q_proj = self.k_proj = …` shares its weights. Three "
            "separate layers are needed.",
            _self_edited(
                ("self.k_proj = nn.Linear(embed_dim, head_dim)", "self.k_proj = self.q_proj"),
                ("self.v_proj = nn.Linear(embed_dim, head_dim)", "self.v_proj = self.q_proj"),
            ),
        ),
        Mistake(
            "shared_query_key",
            "Queries and keys share one layer, so attention becomes symmetric. Three separate layers are needed.",
            _self_edited(("self.k_proj = nn.Linear(embed_dim, head_dim)", "self.k_proj = self.q_proj")),
        ),
        Mistake(
            "fused",
            "One fused layer makes queries, keys and values. That is how real code does it, but here q_proj, k_proj and "
            "v_proj are asked for.",
            written(
                """
                class SelfAttention(nn.Module):
                    def __init__(self, embed_dim, head_dim):
                        super().__init__()
                        self.qkv_proj = nn.Linear(embed_dim, 3 * head_dim)

                    def forward(self, x, mask=None):
                        Q, K, V = self.qkv_proj(x).chunk(3, dim=-1)
                        return scaled_dot_product_attention(Q, K, V, mask)
                """
            ),
        ),
        Mistake(
            "output_projection",
            "There is a further layer after attention: an output projection comes in notebook 07, not here.",
            _self_edited(
                (
                    "self.v_proj = nn.Linear(embed_dim, head_dim)",
                    "self.v_proj = nn.Linear(embed_dim, head_dim)\n        self.out_proj = nn.Linear(head_dim, head_dim)",
                ),
                (
                    _CALL,
                    "output, weights = scaled_dot_product_attention(Q, K, V, mask)\n        return self.out_proj(output), weights",
                ),
            ),
        ),
        Mistake(
            "no_super",
            "`super().__init__()` is missing: nn.Module must be set up before layers can be assigned.",
            _self_edited(("        super().__init__()\n", "")),
        ),
        Mistake(
            "not_a_module",
            "The class does not inherit from nn.Module: its layers cannot be found, moved, saved or trained.",
            _self_edited(
                ("class SelfAttention(nn.Module)", "class SelfAttention"),
                ("        super().__init__()\n", ""),
                ("def forward", "def __call__"),
            ),
        ),
        Mistake(
            "fresh_layers_each_time",
            "The layers are made anew in every forward pass, so nothing that is learned or loaded is ever used.",
            _self_edited(
                (
                    "Q = self.q_proj(x)  # (B, T, head_dim)",
                    "make = lambda: nn.Linear(x.shape[-1], self.q_proj.out_features)\n        Q = make()(x)",
                ),
                ("K = self.k_proj(x)", "K = make()(x)"),
                ("V = self.v_proj(x)", "V = make()(x)"),
            ),
            (
                written(
                    """
                    class SelfAttention(nn.Module):
                        def __init__(self, embed_dim, head_dim):
                            super().__init__()
                            self.sizes = embed_dim, head_dim

                        def forward(self, x, mask=None):
                            self.q_proj, self.k_proj, self.v_proj = (nn.Linear(*self.sizes) for _ in range(3))
                            return scaled_dot_product_attention(self.q_proj(x), self.k_proj(x), self.v_proj(x), mask)
                    """
                ),
            ),
        ),
        Mistake(
            "layers_in_a_list",
            "The layers are kept in a plain Python list or dictionary, where nn.Module cannot see them: no parameters, no "
            "training. Assign each to an attribute of its own.",
            written(
                """
                class SelfAttention(nn.Module):
                    def __init__(self, embed_dim, head_dim):
                        super().__init__()
                        self.layers = [nn.Linear(embed_dim, head_dim) for _ in range(3)]

                    def forward(self, x, mask=None):
                        Q, K, V = (layer(x) for layer in self.layers)
                        return scaled_dot_product_attention(Q, K, V, mask)
                """
            ),
        ),
        Mistake(
            "query_is_input",
            "The queries are the tokens themselves: x goes in unprojected where q_proj(x) belongs.",
            _calling("x, K, V, mask"),
        ),
        Mistake(
            "value_is_input",
            "The values are the tokens themselves: x goes in unprojected where v_proj(x) belongs, so the output has the "
            "width of x.",
            _calling("Q, K, x, mask"),
        ),
        Mistake(
            "key_value_swapped",
            "Keys and values are swapped: k_proj makes what is compared, v_proj makes what is averaged.",
            _calling("Q, V, K, mask"),
        ),
        Mistake(
            "query_key_swapped",
            "Queries and keys are swapped: row t of the weights belongs to the query of token t.",
            _calling("K, Q, V, mask"),
        ),
        Mistake(
            "query_value_swapped",
            "Queries and values are swapped.",
            _calling("V, K, Q, mask"),
        ),
        Mistake(
            "values_from_keys",
            "The keys are used as values too: v_proj plays no part.",
            _calling("Q, K, K, mask"),
        ),
        Mistake(
            "keys_from_queries",
            "The queries are used as keys too: k_proj plays no part, and attention becomes symmetric.",
            _calling("Q, Q, V, mask"),
        ),
        Mistake(
            "mask_dropped",
            "The mask is not passed on.",
            _calling("Q, K, V"),
        ),
        Mistake(
            "mask_inverted",
            "The mask is inverted on the way: here True = blocked all through.",
            _calling("Q, K, V, None if mask is None else ~mask"),
        ),
        Mistake(
            "mask_transposed",
            "The mask is transposed: its rows are queries, its columns are keys.",
            _calling("Q, K, V, None if mask is None else mask.expand(x.shape[0], x.shape[1], x.shape[1]).mT"),
        ),
        Mistake(
            "always_causal",
            "Later tokens are blocked even without a mask: apply the mask that is given, nothing else.",
            _self_edited(
                (
                    _CALL,
                    "future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)\n        return scaled_dot_product_attention(Q, K, V, future if mask is None else mask | future)",
                )
            ),
            (
                _self_edited(
                    (
                        _CALL,
                        "future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)\n        return scaled_dot_product_attention(Q, K, V, future if mask is None else mask)",
                    )
                ),
            ),
        ),
        Mistake(
            "scale_embed_dim",
            "The scores are divided by the root of embed_dim. The dot products run over head_dim numbers: use √head_dim.",
            _self_edited(_inline(scale="math.sqrt(x.shape[-1])")),
        ),
        Mistake(
            "no_scale",
            "This is what self-attention gives when the scores are not divided by √head_dim (or the division is undone).",
            _self_edited(_inline(scale="1.0")),
        ),
        Mistake(
            "scale_head_dim",
            "The scores are divided by head_dim instead of its square root. (Were they scaled here and once more in "
            "scaled_dot_product_attention, which divides by √d_k already?)",
            _self_edited(_inline(scale="Q.shape[-1]")),
        ),
        Mistake(
            "scale_tokens",
            "The scores are divided by the root of T, the number of tokens, instead of √head_dim.",
            _self_edited(_inline(scale="math.sqrt(x.shape[1])")),
        ),
        Mistake(
            "softmax_queries",
            "The softmax runs over the queries: each column of the weights sums to 1 instead of each row.",
            _self_edited(_inline(dim="1")),
        ),
        Mistake(
            "softmax_batch",
            "The softmax runs over the batch (dim=0).",
            _self_edited(_inline(dim="0")),
        ),
        Mistake(
            "mask_zero",
            "Blocked scores are filled with 0 instead of −inf: exp(0) = 1 is no small weight.",
            _self_edited(_inline(fill="0.0")),
        ),
        Mistake(
            "mask_after",
            "The mask is applied after the softmax, so rows with blocked keys no longer sum to 1.",
            _self_edited(
                (
                    _CALL,
                    "output, weights = scaled_dot_product_attention(Q, K, V)\n        if mask is not None:\n            weights = weights.masked_fill(mask, 0.0)\n        return weights @ V, weights",
                )
            ),
        ),
        Mistake(
            "no_softmax",
            "The scaled scores are used as weights without a softmax.",
            _self_edited(
                (
                    _CALL,
                    "weights = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])\n        return weights @ V, weights",
                )
            ),
        ),
        Mistake(
            "output_only",
            "Only the output is returned; (output, weights) is asked for.",
            _self_edited((_CALL, "return scaled_dot_product_attention(Q, K, V, mask)[0]")),
        ),
        Mistake(
            "swapped_results",
            "The two results are the wrong way round: (output, weights) is asked for.",
            _self_edited((_CALL, "return scaled_dot_product_attention(Q, K, V, mask)[::-1]")),
        ),
        Mistake(
            "weights_detached",
            "The weights or the projections are cut off from the gradient, so q_proj and k_proj could never learn.",
            _calling("Q.detach(), K.detach(), V, mask"),
        ),
        Mistake(
            "returned_weights_detached",
            "The weights that are returned are detached. They are right, but nothing can be learned through them.",
            _returning("output, weights.detach()"),
        ),
        Mistake(
            "no_gradient",
            "The result is computed without gradients (`no_grad` or `.detach()`), so nothing could be trained.",
            _returning("output.detach(), weights.detach()"),
        ),
        Mistake(
            "input_detached",
            "The input is detached first, so no gradient flows back to the layers before this one.",
            _self_edited(("Q = self.q_proj(x)", "x = x.detach()\n        Q = self.q_proj(x)")),
        ),
        Mistake(
            "residual",
            "The tokens are added to the output (a residual connection): that comes in notebook 08.",
            _returning("output + x[..., :1], weights"),
            (
                _returning("output + x, weights"),
                _returning("(output + x if output.shape == x.shape else output), weights"),
            ),
        ),
        Mistake(
            "dropout",
            "Dropout is applied to the weights or the output: it is not part of this module.",
            _returning("nn.functional.dropout(output, 0.1, self.training), weights"),
            (
                _self_edited(
                    (
                        _CALL,
                        "_, weights = scaled_dot_product_attention(Q, K, V, mask)\n        weights = F.dropout(weights, 0.1, self.training)\n        return weights @ V, weights",
                    )
                ),
            ),
        ),
        Mistake(
            "activation",
            "A non-linearity (ReLU, tanh …) follows the projections or the output: nothing but the softmax bends here.",
            _self_edited(
                ("self.q_proj(x)", "torch.relu(self.q_proj(x))"), ("self.k_proj(x)", "torch.relu(self.k_proj(x))")
            ),
            (
                _self_edited(
                    *((f"self.{name}(x)", f"torch.relu(self.{name}(x))") for name in PROJECTIONS),
                ),
                _self_edited(("self.v_proj(x)", "torch.relu(self.v_proj(x))")),
                *(
                    _self_edited(
                        (
                            _CALL,
                            f"output, weights = scaled_dot_product_attention(Q, K, V, mask)\n        return torch.{bend}(output), weights",
                        )
                    )
                    for bend in ("relu", "tanh")
                ),
            ),
        ),
        Mistake(
            "frozen",
            "The parameters are frozen (requires_grad=False), so they cannot be trained.",
            _self_edited(
                (
                    "        self.v_proj = nn.Linear(embed_dim, head_dim)",
                    "        self.v_proj = nn.Linear(embed_dim, head_dim)\n        self.requires_grad_(False)",
                )
            ),
        ),
        Mistake(
            "single_precision",
            "The tokens are cast to float32, so a float64 model fails or loses its precision.",
            _self_edited(("Q = self.q_proj(x)", "x = x.float()\n        Q = self.q_proj(x)")),
        ),
        Mistake(
            "squeezed",
            "`squeeze()` removes every dimension of size 1, so a batch of one or a single token changes the shape.",
            _returning("output.squeeze(), weights.squeeze()"),
            (
                _returning("output.squeeze(0), weights.squeeze(0)"),
                _returning("output, weights.squeeze(0)"),
                _returning("output, weights.squeeze()"),
                _returning("output.squeeze(), weights"),
            ),
        ),
        Mistake(
            "in_place",
            "x is changed in place: the caller's tensor is different afterwards. Work on a new tensor.",
            _self_edited(("Q = self.q_proj(x)", "x -= x.mean(-1, keepdim=True)\n        Q = self.q_proj(x)")),
            (_self_edited(("Q = self.q_proj(x)", "x *= x.shape[-1] ** 0.5\n        Q = self.q_proj(x)")),),
        ),
        Mistake(
            "class_layers",
            "The layers are stored in a place that all instances share, so two modules overwrite each other's weights.",
            written(
                """
                _layers = {}

                def _shared(name, embed_dim, head_dim):
                    return _layers.setdefault((name, embed_dim, head_dim), nn.Linear(embed_dim, head_dim))

                class SelfAttention(nn.Module):
                    def __init__(self, embed_dim, head_dim):
                        super().__init__()
                        self.q_proj = _shared("q", embed_dim, head_dim)
                        self.k_proj = _shared("k", embed_dim, head_dim)
                        self.v_proj = _shared("v", embed_dim, head_dim)

                    def forward(self, x, mask=None):
                        return scaled_dot_product_attention(self.q_proj(x), self.k_proj(x), self.v_proj(x), mask)
                """
            ),
            (
                written(
                    """
                    class SelfAttention(nn.Module):
                        made = {}

                        def __init__(self, embed_dim, head_dim):
                            super().__init__()
                            if (embed_dim, head_dim) not in self.made:
                                self.made[embed_dim, head_dim] = [nn.Linear(embed_dim, head_dim) for _ in range(3)]
                            self.q_proj, self.k_proj, self.v_proj = self.made[embed_dim, head_dim]

                        def forward(self, x, mask=None):
                            return scaled_dot_product_attention(self.q_proj(x), self.k_proj(x), self.v_proj(x), mask)
                    """
                ),
            ),
        ),
    ],
    alternatives=[
        Alternative(
            "written_out",
            written(
                """
                class SelfAttention(nn.Module):
                    def __init__(self, embed_dim: int, head_dim: int):
                        super().__init__()
                        self.scale = head_dim ** -0.5
                        self.v_proj = nn.Linear(embed_dim, head_dim)
                        self.k_proj = nn.Linear(embed_dim, head_dim)
                        self.q_proj = nn.Linear(embed_dim, head_dim)

                    def forward(self, x, mask=None):
                        att = torch.einsum("btd,bsd->bts", self.q_proj(x), self.k_proj(x)) * self.scale
                        if mask is not None:
                            att = torch.where(mask, float("-inf"), att)
                        att = att.softmax(-1)
                        return att.bmm(self.v_proj(x)), att
                """
            ),
        ),
        Alternative(
            "private_helper",
            written(
                """
                class SelfAttention(nn.Module):
                    def __init__(self, embed_dim, head_dim):
                        super().__init__()
                        for name in ("q_proj", "k_proj", "v_proj"):
                            setattr(self, name, nn.Linear(embed_dim, head_dim))
                        self.register_buffer("root", torch.tensor(float(head_dim)).sqrt(), persistent=False)

                    def _weights(self, x, mask):
                        scores = self.q_proj(x) @ self.k_proj(x).mT / self.root
                        return softmax(scores if mask is None else scores.masked_fill(mask, -torch.inf))

                    def forward(self, x, mask=None):
                        weights = self._weights(x, mask)
                        return weights @ self.v_proj(x), weights
                """
            ),
        ),
        Alternative(
            "functional_and_pytorch",
            written(
                """
                class SelfAttention(nn.Module):
                    def __init__(self, embed_dim, head_dim):
                        super(SelfAttention, self).__init__()
                        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(embed_dim, head_dim) for _ in range(3))

                    def forward(self, x, mask=None):
                        q, k, v = [p(x) for p in (self.q_proj, self.k_proj, self.v_proj)]
                        out = F.scaled_dot_product_attention(q, k, v, attn_mask=None if mask is None else ~mask)
                        _, weights = scaled_dot_product_attention(q, k, v, mask=mask)
                        return out, weights
                """
            ),
        ),
    ],
)

EXERCISES = [SOFTMAX, SIMPLE_ATTENTION, SDPA, SELF_ATTENTION]
QUESTIONS = [
    Question(
        name="q5_1",
        notebook="05-attention",
        points=1,
        key="C",
        explanations={
            "A": (
                "The attention in the experiment had no parameters at all, and it still felt the first word. What "
                "matters is the way from input to output, not how much can be stored."
            ),
            "B": (
                "Attention has no reading direction: it compares all pairs at once. In the figure its gradient is "
                "about as large at the first position as in the middle."
            ),
            "C": (
                "Right. Every input is one step away in attention. In the recurrence the gradient is a product of "
                "one factor per step, and a product of many factors below 1 vanishes."
            ),
            "D": (
                "It is true that tanh flattens, but near 0 its slope is 1. And no slope of a softmax exceeds 1/4. "
                "Ask how many such factors lie between the first word and the last output."
            ),
        },
    ),
    Question(
        name="q5_2",
        notebook="05-attention",
        points=1,
        key="A",
        explanations={
            "A": (
                "Right. Positive shares that sum to 1 make a weighted mean, coordinate by coordinate. A mean never "
                "leaves the range of what it averages."
            ),
            "B": (
                "That would be a hard look-up. The softmax gives every word a share: in the example 'it' took 70 % "
                "of 'dog', 26 % of itself and a little of the others."
            ),
            "C": (
                "Tempting, because the diagonal is often large. But a longer vector in the same direction scores "
                "higher: 'it' scored 6 with 'dog' and 5 with itself."
            ),
            "D": (
                "The shares sum to 1, but they multiply vectors of any length. Try two rows equal to [3, 0]: what "
                "is every blend of them?"
            ),
        },
    ),
    Question(
        name="q6_1",
        notebook="05-attention",
        points=1,
        key="B",
        explanations={
            "A": (
                "The entries keep their variance, but a dot product adds up d_k products of them. Look at the "
                "orange line in the first panel of the figure."
            ),
            "B": "Right. The variance is d_k, so the standard deviation is its root: 8 for 64 and 16 for 256.",
            "C": (
                "That is what happens to the variance. The question asks for the standard deviation, the typical "
                "size of a score."
            ),
            "D": (
                "A mean of many terms gets steadier with more terms. A dot product is a sum and is not divided by "
                "their number."
            ),
        },
    ),
    Question(
        name="q6_2",
        notebook="05-attention",
        points=1,
        key="D",
        explanations={
            "A": (
                "This is K times Q transposed: the words looked at have taken the rows. There should be one blend "
                "for each query."
            ),
            "B": (
                "An output is a blend of values, so it is as wide as one of them. 16 is the width of a query and of "
                "a key."
            ),
            "C": (
                "Each query shares out its attention over the keys. Find one query in the matrix of weights, and "
                "see in which direction its keys lie."
            ),
            "D": (
                "Right. One row of weights for each of the 5 queries, over the 7 keys, and a blend of values of "
                "width 3 for each."
            ),
        },
    ),
    Question(
        name="q6_3",
        notebook="05-attention",
        points=1,
        key="C",
        explanations={
            "A": (
                "A softmax along the rows looks at one row at a time, so it need not keep what holds across rows. "
                "Compare 'it' looking at 'dog' with 'dog' looking at 'it' in the first heat map."
            ),
            "B": (
                "The roles keep their names, but with the same layer each word's query is the same vector as its "
                "key. Write out q_i · k_j and q_j · k_i for two words and compare."
            ),
            "C": (
                "Right. With equal queries and keys the score of (i, j) is that of (j, i), as in simple attention. "
                "The division by row sums then breaks the symmetry of the weights."
            ),
            "D": (
                "Before any softmax, write out q_i · k_j and q_j · k_i when every query equals its key. And the "
                "softmax evens out nothing across rows: it sees one row at a time."
            ),
        },
    ),
]
