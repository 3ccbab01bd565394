"""`SelfAttention`: its parameters, values with given weights, masks, gradients, how fresh layers start.

The mistakes: projections fused, swapped or shared, the scale of another width, the mask or the weights treated wrongly.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import same_gradients, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import device_is_kept, gradients_of, normal, parameters_unchanged
from autograder.spec.student import Student

from .common import blocked_is_zero, same_pair, striped_mask

scaled_dot_product_attention = reference("scaled_dot_product_attention")

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


def _built(student: Student, embed_dim: int, head_dim: int, dtype: str = "") -> tuple[Any, dict[str, torch.Tensor]]:
    module = student.build("SelfAttention", embed_dim, head_dim)
    state = _weights_for(embed_dim, head_dim, torch.float64 if dtype else torch.float32)
    if dtype:
        student.move(module, dtype)
    student.load(module, state)
    return module, state


def _self_parameters(student: Student) -> None:
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
                            f"`{name}.{part}` of SelfAttention({embed_dim}, {head_dim}) should have shape {shape}, "
                            f"yours has {tuple(found.shape)}: `nn.Linear(embed_dim, head_dim)`."
                        )
                    if f"{name}.{part}" not in state["trainable"]:
                        raise Wrong(f"`{name}.{part}` is frozen (requires_grad=False), so it cannot be trained.")
            extra = sorted(set(parameters) - {f"{n}.{p}" for n in PROJECTIONS for p in ("weight", "bias")})
            if extra:
                raise Wrong(f"There are parameters that do not belong here: {', '.join(map(str, extra))[:120]}.")


def _self_values(student: Student) -> None:
    for B, T, embed_dim, head_dim in (
        *((2, 5, 6, 4), (1, 3, 2, 7), (3, 1, 4, 3), (1, 1, 3, 2), (2, 4, 4, 4)),
        *((3, 3, 5, 2), (2, 12, 3, 5), (1, 40, 4, 3), (9, 2, 8, 2), (1, 150, 2, 3)),
    ):
        with student.case():
            module, state = _built(student, embed_dim, head_dim)
            x = normal(B, T, embed_dim)
            where = f"for B = {B}, T = {T}, embed_dim = {embed_dim}, head_dim = {head_dim}"
            same_pair(student.value(module, x, where=where), _expected(state, x), where)


def _self_mask(student: Student) -> None:
    module, state = _built(student, 6, 5)
    x = normal(2, 4, 6)
    mask = striped_mask(4, 4)
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
            same_pair(got, _expected(state, x, given), where)
    where = "with the mask given by position, for a single token"
    one, open_ = normal(2, 1, 6), torch.zeros(1, 1, dtype=torch.bool)
    same_pair(student.value(module, one, open_, where=where), _expected(state, one, open_), where)


def _self_forbidden(student: Student) -> None:
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
            blocked_is_zero(got, mask, where)
            same_pair(got, _expected(state, x, mask), where)


def _self_gradient(student: Student) -> None:
    for masked in (False, True):
        with student.case():
            module, state = _built(student, 6, 4)
            x, mask = normal(2, 5, 6), striped_mask(5, 5) if masked else None
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


def _self_manners(student: Student) -> None:
    module, state = _built(student, 7, 4)
    other, other_state = _built(student, 7, 4)
    x = normal(2, 5, 7)
    answer = student.call(module, [x])
    unchanged(answer["inputs"], [x], "x")
    where = "when two modules exist (each needs layers of its own)"
    same_pair(answer["value"], _expected(state, x), where)
    same_pair(student.value(other, x), _expected(other_state, x), where)
    parameters_unchanged(student, module, state)
    for training in (True, False):
        with student.case():
            answer = student.call(module, [x], training=training)
            same_pair(answer["value"], _expected(state, x), "in training mode" if training else "in evaluation mode")
    with student.case():
        turned, mask = normal(2, 7, 5).mT, striped_mask(5, 5)
        where = "for x that is not contiguous (a transpose), with arguments given by name"
        got = student.call(module, [], {"x": turned, "mask": mask}, where=where)["value"]
        same_pair(got, _expected(state, turned, mask), where)
    wide, wide_state = _built(student, 5, 4, "float64")
    x = normal(2, 4, 5, dtype=torch.float64)
    same_pair(student.value(wide, x, where="in float64"), _expected(wide_state, x), "in float64")
    keyword = student.build("SelfAttention", embed_dim=3, head_dim=2)
    shape = student.state(keyword)["parameters"].get("q_proj.weight")
    if not isinstance(shape, torch.Tensor) or tuple(shape.shape) != (2, 3):
        raise Wrong("SelfAttention(embed_dim=3, head_dim=2) should build the same as SelfAttention(3, 2).")


def _self_device(student: Student) -> None:
    module, state = _built(student, 6, 4)
    x = normal(2, 5, 6)
    same_pair(student.value(module, x), _expected(state, x), "")
    device_is_kept(student, module, [normal(2, 5, 6)])
    device_is_kept(student, module, [normal(2, 5, 6), striped_mask(5, 5)])


def _spread(numbers: Any, bound: float) -> bool:
    """Different numbers up to `bound`; none at all is marked elsewhere."""
    if not isinstance(numbers, torch.Tensor):
        return True
    return bool(numbers.abs().max() <= 1.001 * bound and numbers.double().std() > bound / 10)


def _as_linear(numbers: torch.Tensor, bound: float) -> bool:
    return _spread(numbers, bound) and abs(numbers.double().std().item() * 3**0.5 / bound - 1) < 0.08


def _self_fresh(student: Student) -> None:
    """Layers start as nn.Linear does: uniform up to 1/√embed_dim, each number drawn by itself.

    A standard deviation of 2,048 such draws is known to 1 %: a right layer fails one time in 10^12.
    """
    module = student.build("SelfAttention", 64, 32)
    parameters = student.state(module)["parameters"]
    weights = [parameters.get(f"{name}.weight") for name in PROJECTIONS]
    if not all(isinstance(w, torch.Tensor) for w in weights):
        raise Wrong("The layers q_proj, k_proj and v_proj are not all there.")
    if all(w.device.type == "cpu" for w in weights):
        if any(not w.isfinite().all() or w.std() < 1e-4 for w in weights):
            raise Wrong("A projection starts with all its weights alike: every feature would learn the same.")
        if any(torch.equal(weights[i], weights[j]) for i, j in ((0, 1), (1, 2), (0, 2))):
            raise Wrong("Two projections start with the same weights: use three separate nn.Linear layers.")
        biases = [parameters.get(f"{name}.bias") for name in PROJECTIONS]
        bound = 64**-0.5
        student.note([_as_linear(w, bound) for w in weights] + [_spread(b, bound) for b in biases])
        if not all(_as_linear(w, bound) for w in weights) or not all(_spread(b, bound) for b in biases):
            raise Wrong("A projection does not start as nn.Linear starts by itself: leave its initialisation alone.")


EXERCISE = Exercise(
    points=8,
    checks=[
        Check("q_proj, k_proj and v_proj, and nothing else", 1.5, _self_parameters),
        Check("values with given weights, for many combinations of sizes", 2.5, _self_values),
        Check("masks of every shape, in training and evaluation", 1.0, _self_mask, further=True),
        Check("a blocked token gets exactly 0", 0.5, _self_forbidden, further=True),
        Check("gradients reach the input and every parameter", 1.0, _self_gradient, further=True),
        Check("inputs unchanged, modules independent, float64", 0.75, _self_manners, further=True),
        Check("stays on the inputs' device", 0.5, _self_device, further=True),
        Check("fresh layers differ from each other", 0.25, _self_fresh),
    ],
    working=r"""
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
""",
    takes="tensor",
    gives="pair",
)
