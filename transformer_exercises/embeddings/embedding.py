"""`Embedding`: its one parameter, rows for ids of any shape, IndexErrors, how `weight` starts and what trains."""

from itertools import starmap
from typing import Any

import torch

from autograder.spec import (
    Check,
    CheckFunction,
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

from .random_inputs import some_ids

Table = tuple[Any, torch.Tensor, str]  # a built module, the numbers in its table, and the name of its parameter

_PUT = """
def put(module, value):
    with torch.no_grad():
        module.weight.copy_(value)
"""


def _state(student: Student, module: Any) -> tuple[dict[str, torch.Tensor], list[str]]:
    """Return its parameters, and which train; what it begins with and its table's other names tell of no mistake."""
    state = student.state(module)
    parameters = {str(name): p for name, p in state["parameters"].items() if isinstance(p, torch.Tensor)}
    places = {"weight": "weight"} | {name: "inside" for name in parameters if "." in name}
    kinds = [(places.get(name, "other"), dtype_name(p), list(p.shape)) for name, p in parameters.items()]
    student.note([kinds, len(state["trainable"])])
    return parameters, state["trainable"]


def _table(student: Student, V: int, C: int, dtype: str = "") -> Table:
    """Build a module and put numbers into its table, whatever that is."""
    module = student.build("Embedding", V, C)
    if dtype:
        student.move(module, dtype)
    weight = normal(V, C, dtype=torch.float64 if dtype else torch.float32)
    tables = [name for name, p in _state(student, module)[0].items() if tuple(p.shape) == (V, C)]
    name = "weight" if "weight" in tables or not tables else tables[0]
    if tables:
        student.load(module, {name: weight})
    else:
        try:
            student.value(student.probe("put", _PUT), module, weight)
        except Problem:
            raise Wrong(f"Embedding({V}, {C}) holds no table `weight` of shape ({V}, {C}).", "no_table") from None
    return module, weight, name


def _look_up(student: Student, table: Table, ids: torch.Tensor, where: str) -> None:
    module, weight, _ = table
    same_tensor(student.value(module, ids, where=where), weight[ids.long()], "The result", where)


def _refuses(*bad: Any) -> CheckFunction:
    """Make a check of ids that must raise an IndexError; right ones do not, before them."""

    def check(student: Student) -> None:
        table = _table(student, 5, 3)
        with student.case(), only_values():
            for right in ([0, 1, 2, 3, 4], [4, 0]):
                _look_up(student, table, torch.tensor(right), "for ids in range")
        for ids in bad:
            with student.case(), raises_error(f"Ids {ids} with num_embeddings = 5", IndexError):
                student.value(table[0], torch.tensor(ids))

    return check


def _parameters(student: Student) -> None:
    for V, C in starmap(other_sizes, ((7, 3), (4, 9))):
        with student.case():
            parameters, trainable = _state(student, student.build("Embedding", V, C))
            weight, there = parameters.get("weight"), ", ".join(parameters)[:100] or "none"
            if weight is None:
                message = f"Embedding({V}, {C}) has no parameter `weight` (there is {there}): make it in `__init__`."
                raise Wrong(message, "no_table")
            if weight.shape != (V, C):
                yours = tuple(weight.shape)
                raise Wrong(f"`weight` should have shape ({V}, {C}), one row for each id; yours: {yours}.")
            if "weight" not in trainable:
                raise Wrong("`weight` is frozen (requires_grad=False), so it cannot be trained.")
            if weight.dtype != torch.float32:
                raise Wrong(f"`weight` should be float32, PyTorch's default; yours is {dtype_name(weight)}.")
            if len(parameters) > 1:
                raise Wrong(f"There should be one parameter, `weight`; yours has {there}.")
    with student.case():
        parameters, _ = _state(student, student.build("Embedding", num_embeddings=5, embedding_dim=2))
        if shape_of(parameters.get("weight")) != (5, 2):
            raise Wrong("Embedding(num_embeddings=5, embedding_dim=2) should build the same as Embedding(5, 2).")


def _values(student: Student) -> None:
    for shape, V, C in (
        *(((5,), 7, 3), ((2, 3), 4, 6), ((2, 3, 4), 5, 2), ((), 6, 4), ((1, 1), 1, 3), ((3, 1), 5, 1)),
        *(((4, 4), 4, 4), ((40,), 6, 2), ((1,), 9, 5)),
    ):
        with student.case():
            where = f"for ids of shape {shape}, Embedding({V}, {C})"
            _look_up(student, _table(student, V, C), some_ids(shape, V), where)


def _gradient(student: Student) -> None:
    for shape, V, C in (((3,), 6, 4), ((2, 5), 9, 3), ((), 4, 2)):
        with student.case():
            module, weight, name = _table(student, V, C)
            ids, where = some_ids(shape, V), f"for ids of shape {shape}"
            upstream = normal(*shape, C)
            answer = student.call(module, [ids], where=where, upstream=[upstream])
            actual = answer["gradients"].get("parameters", {}).get(name)
            student.note_gradients({"weight": actual})  # whatever its name
            same_tensor(answer["value"], weight[ids], "The result", where)
            expected = torch.zeros_like(weight).index_put((ids,), upstream, accumulate=True)
            unused = expected.abs().sum(-1) == 0
            if shape_of(actual) == shape_of(expected) and actual[unused].abs().sum() > 0:
                raise Wrong("Rows of ids that do not occur get a gradient: only the rows used may get one.")
            same_gradients([actual], [expected], ["`weight`"], where)


def _fresh(student: Student) -> None:
    """Return properties of 6,000 draws from N(0, 1), six standard errors wide: a right table fails one in 10^8."""
    parameters, _ = _state(student, student.build("Embedding", 120, 50))
    weight = next((p for p in parameters.values() if p.shape == (120, 50)), None)
    if weight is None or weight.device.type != "cpu":
        message = "There is no parameter of shape (num_embeddings, embedding_dim) whose first values can be seen."
        raise Wrong(message, "no_table")
    weight = weight.double()
    if not weight.isfinite().all():
        raise Wrong("The fresh `weight` holds values that are not finite: is its memory left as it was (torch.empty)?")
    mean, std, far = weight.mean().item(), weight.std().item(), (weight.abs() > 2).double().mean().item()
    alike = max(weight.mean(0).std().item(), weight.mean(1).std().item()) > 0.3 * std or std == 0
    tails = ((weight - mean) ** 4).mean().item() / max(std, 1e-9) ** 4  # 1.8 if uniform, 3 if normal
    zero_row = (weight == 0).all(1).any().item()
    student.note([alike, "uniform" if tails < 2.2 else "normal", abs(std - 1) < 0.06, zero_row])
    if zero_row and not alike:
        raise Wrong("A row of the fresh `weight` is zero: every number is a draw of its own.", "zero_row")
    if abs(mean) > 0.08 or abs(std - 1) > 0.06:
        raise Wrong(f"`weight` should start as draws from N(0, 1); yours has mean {mean:.2g} and deviation {std:.2g}.")
    if not 0.03 < far < 0.062:
        raise Wrong("`weight` starts with mean 0 and variance 1, but it is not normal: see the values beyond ±2.")
    if alike:
        raise Wrong("The rows or columns of the fresh `weight` are alike: every number is a draw of its own.")


def _side_effects(student: Student) -> None:
    module, weight, name = _table(student, 6, 3)
    other, ids = _table(student, 6, 3), torch.tensor([[2, 5, 2], [0, 1, 5]])
    for training in (True, False):
        answer = student.call(module, [ids], training=training)
        same_tensor(answer["value"], weight[ids], "The result", f"in {'training' if training else 'evaluation'} mode")
        unchanged(answer["inputs"], [ids], "ids")
    _look_up(student, other, ids, "of a second module")
    if not torch.equal(_state(student, module)[0].get(name, weight), weight):
        raise Wrong("A call changes the table: only training may do that.")
    for read, V, dtype, where in (
        (ids.T, 6, "", "for ids that are not contiguous (a transpose)"),
        *((some_ids(shape, 5).int(), 5, "", f"for int32 ids of shape {shape}") for shape in ((6,), (2, 3))),
        *((some_ids(shape, 4), 4, "", f"for no ids, of shape {shape}") for shape in ((0,), (2, 0))),
        (ids % 5, 5, "float64", "in float64"),
    ):
        with student.case():
            _look_up(student, _table(student, V, 3, dtype), read, where)
    with student.case():
        device_is_kept(student, _table(student, 6, 3)[0], [ids])


EXERCISE = Exercise(
    Check("one parameter, `weight`, of shape (num_embeddings, embedding_dim)", 0.75, _parameters),
    Check("the rows of the ids, for ids of any shape", 1.25, _values),
    Check("gradients in the rows used, and only there", 0.5, _gradient, dependent=True),
    Check("`weight` starts as draws from N(0, 1)", 0.5, _fresh, dependent=True),
    Check(
        "an id beyond the last row is an IndexError", 0.3, _refuses(5, [0, 5, 1], [[1, 2], [3, 1000]]), dependent=True
    ),
    Check("a negative id is an IndexError", 0.3, _refuses(-1, [0, 4, -1], [[1, -5], [3, 2]], [-6]), dependent=True),
    Check("int32 ids, no ids at all, float64, inputs unchanged, device", 0.4, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("other_signature", "global_generator"),
    library_equivalent=r"""
class Embedding(nn.Embedding):
    def __init__(self, num_embeddings, embedding_dim):
        super().__init__(num_embeddings, embedding_dim)
""",
)
