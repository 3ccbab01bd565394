"""`LearnedPositionalEmbedding`: one trainable table under any name, its rows added, T > max_len refused."""

from typing import Any

import torch

from autograder.spec import (
    Check,
    Exercise,
    Problem,
    Student,
    Wrong,
    device_is_kept,
    dtype_name,
    normal,
    only_values,
    other_sizes,
    raises_error,
    same_gradients,
    same_tensor,
    shape_of,
    unchanged,
)

NAME = "LearnedPositionalEmbedding"

_FILL = """
def fill(module, table):
    for m in module.modules():
        for t in [*m.buffers(recurse=False), *vars(m).values()]:
            if isinstance(t, torch.Tensor) and [n for n in t.shape if n != 1] == [n for n in table.shape if n != 1]:
                t.data.copy_(table.view_as(t))
                return True
    return False
"""


def _is_table(value: Any, max_len: int, embed_dim: int) -> bool:
    """Return whether it is (max_len, embed_dim), or the same with dimensions of size 1 before or between the two."""
    *rows, columns = shape_of(value) or [0]
    return columns == embed_dim and max_len in rows and value.numel() == max_len * embed_dim


def _rows(value: torch.Tensor, max_len: int, embed_dim: int) -> torch.Tensor:
    """Return a table as (max_len, embed_dim). It may be stored the other way round: that is marked elsewhere."""
    return value.reshape(max_len, embed_dim) if _is_table(value, max_len, embed_dim) else value.T


def _state(student: Student, module: Any, max_len: int, embed_dim: int) -> dict:
    """Return the module's state. What parameters are called, and how they begin, may vary: shapes are recorded."""
    state = student.state(module)
    tensors = [p for p in state["parameters"].values() if isinstance(p, torch.Tensor)]
    shapes = [[max_len, embed_dim] if _is_table(p, max_len, embed_dim) else list(p.shape) for p in tensors]
    student.note([sorted(zip(map(dtype_name, tensors), shapes, strict=True)), len(state["trainable"])])
    return state


def _learned(student: Student, max_len: int, embed_dim: int, dtype: str = "") -> tuple[Any, torch.Tensor, str]:
    """Return a built module, the numbers in its table, and the name of that parameter, which may be any.

    Where no parameter is a table, a buffer or plain tensor of that shape will do: that is marked elsewhere.
    """
    module = student.build(NAME, max_len, embed_dim)
    if dtype:
        student.move(module, dtype)
    for name, value in _state(student, module, max_len, embed_dim)["parameters"].items():
        if _is_table(value, max_len, embed_dim) or shape_of(value) == (embed_dim, max_len):
            table = normal(*value.shape, dtype=torch.float64 if dtype else torch.float32)
            student.load(module, {name: table})
            return module, _rows(table, max_len, embed_dim), name
    table = normal(max_len, embed_dim)
    if student.call(student.probe("fill", _FILL), [module, table], record=False)["value"] is True:
        return module, table, ""
    raise Wrong(f"{NAME}({max_len}, {embed_dim}) holds no table of shape ({max_len}, {embed_dim}): make one parameter.")


def _adds(student: Student, module: Any, table: torch.Tensor, x: torch.Tensor, where: str, **how: Any) -> dict:
    """Raise `Wrong` unless the module adds its rows to x; return the answer."""
    answer = student.call(module, [] if "kwargs" in how else [x], where=where, **how)
    same_tensor(answer["value"], x + table[: x.shape[1]], "The result", where)
    return answer


def _parameters(student: Student) -> None:
    for known, names in (((7, 4), ()), ((3, 6), ()), ((5, 2), ("max_len", "embed_dim"))):
        with student.case():
            max_len, embed_dim = sizes = other_sizes(*known)
            args, named = ([] if names else sizes), dict(zip(names, sizes, strict=False))
            state = _state(student, student.build(NAME, *args, **named), max_len, embed_dim)
            parameters = state["parameters"]
            tables = [(name, value) for name, value in parameters.items() if _is_table(value, max_len, embed_dim)]
            if len(parameters) != 1 or not tables:
                found = ", ".join(f"{name} {shape_of(value)}" for name, value in parameters.items())[:120] or "none"
                raise Wrong(f"One parameter is asked for, a table of shape ({max_len}, {embed_dim}); yours: {found}.")
            [(name, table)] = tables
            if name not in state["trainable"]:
                raise Wrong("The table is frozen (requires_grad=False), so it cannot be learned.")
            if table.dtype != torch.float32:
                raise Wrong(f"The table should be float32; yours is {dtype_name(table)}.")


def _values(student: Student) -> None:
    for max_len, *shape in (  # B, T, C
        *((9, 2, 5, 4), (6, 3, 6, 4), (8, 1, 3, 2), (5, 4, 1, 3), (4, 4, 4, 4), (12, 2, 7, 1), (1, 2, 1, 5)),
        *((3, 6, 2, 3), (40, 2, 33, 3), (1200, 1, 1100, 2)),
    ):
        with student.case():
            module, table, _ = _learned(student, max_len, shape[-1])
            _adds(student, module, table, normal(*shape), f"for max_len = {max_len} and x of shape {tuple(shape)}")


def _modes(student: Student) -> None:
    module, table, _ = _learned(student, 7, 40)
    x = normal(3, 5, 40)
    for training, where in ((True, "in training mode"), (False, "in evaluation mode"), (True, "in a second call")):
        with student.case():
            _adds(student, module, table, x, where, training=training)


def _too_long(student: Student) -> None:
    module, table, _ = _learned(student, 6, 3)
    with student.case(), only_values():
        _adds(student, module, table, normal(2, 6, 3), "for T = max_len")
    for T in (7, 9, 60):
        with student.case(), raises_error(f"T = {T} with max_len = 6"):
            try:
                student.value(module, normal(2, T, 3))
            except Problem as problem:
                if problem.is_a(ValueError) and not problem.text.strip():
                    student.note("an error without words")
                    raise Wrong(f"The ValueError for T = {T} says nothing: say what is wrong.") from None
                raise


def _gradient(student: Student) -> None:
    for max_len, B, T, C in ((7, 3, 4, 5), (5, 2, 5, 3)):
        with student.case():
            module, table, name = _learned(student, max_len, C)
            x, upstream = normal(B, T, C), normal(B, T, C)
            where = f"for max_len = {max_len}, T = {T}"
            answer = student.call(module, [x], where=where, upstream=[upstream])
            gradients = answer["gradients"]
            expected = torch.cat([upstream.sum(0), torch.zeros(max_len - T, C)])
            actual = gradients.get("parameters", {}).get(name)
            if isinstance(actual, torch.Tensor) and actual.numel() == expected.numel():
                actual = _rows(actual, max_len, C)
                actual.was_differentiable = False  # type: ignore[attr-defined]  # as if it had come over the wire so
            student.note_gradients({"table": actual})  # whatever its name
            same_tensor(answer["value"], x + table[:T], "The result", where)
            same_gradients([actual], [expected], ["the table"], where)
            same_gradients(gradients.get("inputs", []), [upstream], ["x"], where)


def _side_effects(student: Student) -> None:
    module, table, name = _learned(student, 6, 3)
    other, other_table, _ = _learned(student, 6, 3)
    x = normal(2, 4, 3)
    unchanged(_adds(student, module, table, x, "")["inputs"], [x], "x")
    _adds(student, other, other_table, x, "of a second module")
    after = _state(student, module, 6, 3)["parameters"].get(name)
    if isinstance(after, torch.Tensor) and not torch.equal(_rows(after, 6, 3), table):
        raise Wrong("A call changes the table: only training may do that.")
    for T in (2, 6):
        with student.case():
            _adds(student, module, table, normal(3, T, 3), f"in a later call with T = {T}")
    with student.case():
        turned = normal(2, 3, 4).mT
        _adds(student, module, table, turned, "for a transpose (not contiguous), given by name", kwargs={"x": turned})
    with student.case():
        module, table, _ = _learned(student, 5, 3, "float64")
        _adds(student, module, table, normal(2, 4, 3, dtype=torch.float64), "in float64")
    device_is_kept(student, _learned(student, 5, 3)[0], [x])


EXERCISE = Exercise(
    Check("one parameter: a table (max_len, embed_dim)", 0.75, _parameters),
    Check("adds row t to position t", 1.25, _values),
    Check("the same in training and evaluation", 0.25, _modes, dependent=True),
    Check("T > max_len is a ValueError", 0.75, _too_long, dependent=True),
    Check("gradients in the rows used, and in x", 0.5, _gradient, dependent=True),
    Check("float64, input unchanged, device", 0.5, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("squeezed", "other_signature", "global_generator"),
)
