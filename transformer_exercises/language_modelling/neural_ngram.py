"""`NeuralNgram`: its three parts, logits with given weights, leading dimensions, gradients.

The mistakes: vectors summed instead of set side by side, no ReLU, a softmax too many, dimensions counted from the front.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import dtype_name, same_gradients, same_tensor, shape_name, shape_of, unchanged
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import device_is_kept, generator_unchanged, normal, outline, parameters_unchanged
from autograder.spec.student import Student

ROLES = ("embedding.weight", "hidden.weight", "hidden.bias", "output.weight", "output.bias")
LOGITS = "The logits"


def _shapes(V: int, n: int, E: int, H: int) -> dict[str, tuple[int, ...]]:
    return dict(zip(ROLES, ((V, E), (H, (n - 1) * E), (H,), (V, H), (V,)), strict=True))


def _names(parameters: dict, shapes: dict[str, tuple[int, ...]], sizes: str) -> dict[str, str]:
    """What the parts are called in a student's module; other names are marked elsewhere."""
    found: dict[str, str] = {}
    for role, shape in shapes.items():
        free = [str(n) for n, p in parameters.items() if shape_of(p) == shape and str(n) not in found.values()]
        if not free:
            raise Wrong(f"NeuralNgram({sizes}) holds no parameter `{role}` of shape {shape_name(torch.empty(shape))}.")
        found[role] = role if role in free else free[0]
    return found


def _built(
    student: Student, V: int, n: int, E: int, H: int, dtype: str = ""
) -> tuple[Any, dict[str, torch.Tensor], dict[str, str]]:
    """A module, the numbers put into its parts under the names of ROLES, and the names they have there."""
    module = student.build("NeuralNgram", V, n, E, H)
    if dtype:
        student.move(module, dtype)
    shapes = _shapes(V, n, E, H)
    try:
        names = _names(student.state(module, record=False)["parameters"], shapes, f"{V}, {n}, {E}, {H}")
    except Wrong:
        outline(student, module, 0)
        raise
    state = {role: normal(*shape, dtype=torch.float64 if dtype else torch.float32) for role, shape in shapes.items()}
    student.load(module, {names[role]: value for role, value in state.items()})
    return module, state, names


def _logits(state: dict[str, torch.Tensor], context: torch.Tensor) -> torch.Tensor:
    vectors = F.embedding(context, state["embedding.weight"]).flatten(-2)
    hidden = F.relu(F.linear(vectors, state["hidden.weight"], state["hidden.bias"]))
    return F.linear(hidden, state["output.weight"], state["output.bias"])


def _contexts(V: int, *shape: int) -> torch.Tensor:
    return (normal(*shape).mul(997).abs().long() % V).contiguous()


def _asked(student: Student, leading: tuple[int, ...], V: int, n: int, E: int, H: int) -> None:
    with student.case():
        module, state, _ = _built(student, V, n, E, H)
        context = _contexts(V, *leading, n - 1)
        where = f"for contexts of shape {shape_name(context)} and NeuralNgram({V}, {n}, {E}, {H})"
        same_tensor(student.value(module, context, where=where), _logits(state, context), LOGITS, where)


def _ngram_parts(student: Student) -> None:
    for V, n, E, H in ((7, 4, 3, 5), (11, 2, 6, 4), (5, 9, 2, 13)):
        with student.case():
            module = student.build("NeuralNgram", V, n, E, H)
            outline(student, module, 2)
            state = student.state(module, record=False)
            parameters, sizes = state["parameters"], f"NeuralNgram({V}, {n}, {E}, {H})"
            for role, shape in _shapes(V, n, E, H).items():
                if not isinstance(parameters.get(role), torch.Tensor):
                    there = ", ".join(map(str, parameters))[:120] or "nothing"
                    raise Wrong(f"{sizes} has no parameter `{role}`; there is {there}.")
                if shape_of(parameters[role]) != shape:
                    mine = shape_name(parameters[role])
                    wanted = shape_name(torch.empty(shape))
                    raise Wrong(f"`{role}` of {sizes} should have shape {wanted}; yours has {mine}.")
                if parameters[role].dtype != torch.float32:
                    raise Wrong(f"`{role}` should be float32; yours is {dtype_name(parameters[role])}.")
                if role not in state["trainable"]:
                    raise Wrong(f"`{role}` is frozen (requires_grad=False), so it cannot be trained.")
                if role.endswith("weight") and parameters[role].std() < 1e-4:
                    raise Wrong(f"All numbers of `{role}` begin alike, so they would learn the same.")
            extra = sorted(set(map(str, parameters)) - set(ROLES))
            if extra:
                raise Wrong(f"Three parts are all there is; yours has more parameters: {', '.join(extra)[:120]}.")
    with student.case():
        named = student.build("NeuralNgram", vocab_size=4, n=3, embed_dim=2, hidden_dim=5)
        _names(student.state(named, record=False)["parameters"], _shapes(4, 3, 2, 5), "4, 3, 2, 5")


def _ngram_values(student: Student) -> None:
    for leading, V, n, E, H in (
        ((4,), 7, 4, 3, 5),
        ((5,), 11, 2, 6, 4),
        ((1,), 5, 9, 2, 13),
        ((3,), 3, 4, 3, 3),
        ((40,), 6, 17, 4, 8),
        ((2,), 9, 3, 1, 2),
    ):
        _asked(student, leading, V, n, E, H)


def _ngram_leading(student: Student) -> None:
    for leading in ((2, 6), (), (3, 1, 4), (2, 1, 1, 2)):
        _asked(student, leading, 7, 5, 3, 4)


def _ngram_gradient(student: Student) -> None:
    for leading, dtype in (((6,), torch.float32), ((2, 5), torch.float64)):
        with student.case():
            module, state, names = _built(student, 5, 4, 3, 6, dtype="float64" if dtype == torch.float64 else "")
            context = _contexts(5, *leading, 3)
            where = f"for contexts of shape {shape_name(context)}"
            leaves = {role: value.clone().requires_grad_(True) for role, value in state.items()}
            result = _logits(leaves, context)
            upstream = normal(*result.shape, dtype=dtype)
            expected = torch.autograd.grad((result * upstream).sum(), list(leaves.values()))
            answer = student.call(module, [context], where=where, upstream=[upstream])
            same_tensor(answer["value"], result.detach(), LOGITS, where)
            mine = [answer["gradients"].get("parameters", {}).get(names[role]) for role in ROLES]
            student.note_gradients(dict(zip(ROLES, mine, strict=True)))
            same_gradients(mine, list(expected), [f"`{role}`" for role in ROLES], where)


def _ngram_manners(student: Student) -> None:
    module, state, names = _built(student, 7, 4, 3, 5)
    other, other_state, _ = _built(student, 7, 4, 3, 5)
    context = _contexts(7, 6, 3)
    for training, where in ((True, "in training mode"), (False, "in evaluation mode")):
        answer = student.call(module, [context], training=training, where=where)
        same_tensor(answer["value"], _logits(state, context), LOGITS, where)
        unchanged(answer["inputs"], [context], "`context`")
        generator_unchanged(answer)
    same_tensor(student.value(other, context), _logits(other_state, context), LOGITS, "of a second module")
    parameters_unchanged(student, module, {names[role]: value for role, value in state.items()}, record=False)
    with student.case():
        wide, wide_state, _ = _built(student, 6, 3, 4, 5, dtype="float64")
        context = _contexts(6, 5, 2)
        where = "in float64"
        same_tensor(student.value(wide, context, where=where), _logits(wide_state, context), LOGITS, where)
    with student.case():
        turned, where = _contexts(7, 3, 6).T, "for contexts that are not contiguous"
        same_tensor(student.value(module, turned, where=where), _logits(state, turned), LOGITS, where)
    device_is_kept(student, module, [_contexts(7, 6, 3)])


EXERCISE = Exercise(
    points=5,
    checks=[
        Check("the three parts, and nothing else", 1.0, _ngram_parts),
        Check("logits with given weights", 2.0, _ngram_values),
        Check("any number of leading dimensions", 0.75, _ngram_leading, further=True),
        Check("gradients reach every part", 0.5, _ngram_gradient, further=True),
        Check(
            "float64, input unchanged, modules independent, any layout and device", 0.75, _ngram_manners, further=True
        ),
    ],
    working=r"""
from torch import nn

class NeuralNgram(nn.Sequential):
    def __init__(self, vocab_size, n, embed_dim, hidden_dim):
        super().__init__()
        self.add_module("embedding", nn.Embedding(vocab_size, embed_dim))
        self.add_module("side_by_side", nn.Flatten(-2))
        self.add_module("hidden", nn.Linear((n - 1) * embed_dim, hidden_dim))
        self.add_module("relu", nn.ReLU())
        self.add_module("output", nn.Linear(hidden_dim, vocab_size))
""",
    takes="tensor",
    gives="tensor",
)
