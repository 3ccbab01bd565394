"""`LearnedPositionalEmbedding`: one trainable table under any name, its rows added, T > max_len refused.

The mistakes: rows of the batch for positions, texts cut off in silence, tables that are frozen, fixed or made anew.
"""

from __future__ import annotations

from typing import Any

import torch

from autograder.spec.compare import dtype_name, same_gradients, same_tensor, unchanged
from autograder.spec.exercise import Check, Exercise, Problem, Wrong
from autograder.spec.inputs import device_is_kept, devices_differ, normal, raises_error
from autograder.spec.student import Student

_TENSORS = """
def tensors(module):
    return [t.detach() for m in module.modules() for t in [*m.buffers(recurse=False), *vars(m).values()]
            if isinstance(t, torch.Tensor)]
"""


def _is_table(value: Any, max_len: int, embed_dim: int) -> bool:
    """(max_len, embed_dim), or the same with dimensions of size 1 before it."""
    shaped = isinstance(value, torch.Tensor) and value.dim() >= 2 and tuple(value.shape[-2:]) == (max_len, embed_dim)
    return shaped and value.numel() == max_len * embed_dim


def _state(student: Student, module: Any) -> dict:
    """The module's state.

    What the parameters are called, and how they begin, is nobody's mistake: their shapes are recorded.
    """
    state = student.state(module)
    tensors = [p for p in state["parameters"].values() if isinstance(p, torch.Tensor)]
    kinds = sorted((dtype_name(p), list(p.shape)) for p in tensors)
    student.note([kinds, len(state["trainable"])])
    return state


def _learned(student: Student, max_len: int, embed_dim: int, dtype: str = "") -> tuple[Any, torch.Tensor, str]:
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
    others = student.call(student.probe("tensors", _TENSORS), [module], record=False)["value"]
    for value in others if isinstance(others, list) else []:
        if _is_table(value, max_len, embed_dim):
            return module, value.reshape(max_len, embed_dim), ""
    raise Wrong(
        f"LearnedPositionalEmbedding({max_len}, {embed_dim}) holds no table of shape ({max_len}, {embed_dim}): make "
        "one parameter of that shape in `__init__`."
    )


def _learned_device(student: Student) -> None:
    """Like device_is_kept, and once more with every new tensor that names no device somewhere else.

    nn.Embedding takes ids of another device without a word when there are no numbers to look up.
    """
    module, table, _ = _learned(student, 5, 3)
    x = normal(2, 4, 3)
    try:
        answer = student.call(module, [x], strict_device=True)
    except Problem as problem:
        left = devices_differ(problem)  # but not: made elsewhere, and moved to x afterwards
    else:
        value = answer["value"]
        left = not isinstance(value, torch.Tensor) or value.shape != x.shape or not torch.allclose(value, x + table[:4])
        if left:  # what comes back is whatever was in memory
            student.note("not on the device")
    if left:
        raise Wrong(
            "The result does not stay on the device of x: somewhere a tensor is made without `device=x.device`. It "
            "works on a CPU and fails on a GPU.",
            "device_not_kept",
        )
    device_is_kept(student, module, [x])


def _learned_parameters(student: Student) -> None:
    for max_len, embed_dim in ((7, 4), (3, 6)):
        with student.case():
            state = _state(student, student.build("LearnedPositionalEmbedding", max_len, embed_dim))
            parameters = state["parameters"]
            tables = [name for name, value in parameters.items() if _is_table(value, max_len, embed_dim)]
            if not parameters:
                raise Wrong(
                    "There is no parameter, so nothing can be learned: make the table an nn.Parameter or an "
                    "nn.Embedding."
                )
            if not tables:
                shapes = ", ".join(str(tuple(p.shape)) for p in parameters.values() if isinstance(p, torch.Tensor))
                raise Wrong(
                    f"The table should have shape ({max_len}, {embed_dim}), one row for each position; yours: "
                    f"{shapes[:80]}."
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
                "LearnedPositionalEmbedding(max_len=5, embed_dim=2) should build the same as "
                "LearnedPositionalEmbedding(5, 2)."
            )


def _learned_values(student: Student) -> None:
    for max_len, B, T, C in (
        *((9, 2, 5, 4), (6, 3, 6, 4), (8, 1, 3, 2), (5, 4, 1, 3), (4, 4, 4, 4), (12, 2, 7, 1), (1, 2, 1, 5)),
        *((3, 6, 2, 3), (40, 2, 33, 3), (1200, 1, 1100, 2)),
    ):
        with student.case():
            module, table, _ = _learned(student, max_len, C)
            x = normal(B, T, C)
            where = f"for max_len = {max_len}, B = {B}, T = {T}, C = {C}"
            same_tensor(student.value(module, x, where=where), x + table[:T], "The result", where)


def _learned_modes(student: Student) -> None:
    module, table, _ = _learned(student, 7, 40)
    x = normal(3, 5, 40)
    for training, where in ((True, "in training mode"), (False, "in evaluation mode"), (True, "in a second call")):
        with student.case():
            got = student.call(module, [x], where=where, training=training)["value"]
            same_tensor(got, x + table[:5], "The result", where)


def _learned_too_long(student: Student) -> None:
    module, table, _ = _learned(student, 6, 3)
    full = normal(2, 6, 3)
    same_tensor(student.value(module, full), full + table, "The result", "for T = max_len")
    for T in (7, 9, 60):
        with student.case(), raises_error(f"T = {T} with max_len = 6"):
            try:
                student.value(module, normal(2, T, 3))
            except Problem as problem:
                if problem.error == "ValueError" and not problem.text.strip():
                    student.note("an error without words")
                    raise Wrong(
                        f"The ValueError for T = {T} with max_len = 6 says nothing: say what is wrong."
                    ) from None
                raise


def _learned_gradient(student: Student) -> None:
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
                mine.was_differentiable = False  # type: ignore[attr-defined]  # as if it had come over the wire so
            student.note_gradients({"table": mine})  # whatever its name
            same_gradients([mine], [expected], ["the table"], where)
            same_gradients(gradients.get("inputs", []), [upstream], ["x"], where)


def _learned_manners(student: Student) -> None:
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
    for length in (2, 6):
        with student.case():
            where, other_x = f"in a later call with T = {length}", normal(3, length, 3)
            same_tensor(student.value(module, other_x, where=where), other_x + table[:length], "The result", where)
    with student.case():
        turned, where = normal(2, 3, 4).mT, "for a transpose (not contiguous), given by name"
        got = student.call(module, [], {"x": turned}, where=where)["value"]
        same_tensor(got, turned + table[:4], "The result", where)
    with student.case():
        module, table, _ = _learned(student, 5, 3, "float64")
        x = normal(2, 4, 3, dtype=torch.float64)
        same_tensor(student.value(module, x, where="in float64"), x + table[:4], "The result", "in float64")
    with student.case():
        _learned_device(student)


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("one parameter: a table (max_len, embed_dim)", 0.75, _learned_parameters),
        Check("adds row t to position t", 1.25, _learned_values),
        Check("the same in training and evaluation", 0.25, _learned_modes, further=True),
        Check("T > max_len is a ValueError", 0.75, _learned_too_long),
        Check("gradients in the rows used, and in x", 0.5, _learned_gradient, further=True),
        Check("float64, input unchanged, device", 0.5, _learned_manners, further=True),
    ],
    working=r"""
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
""",
    takes="tensor",
    gives="tensor",
)
