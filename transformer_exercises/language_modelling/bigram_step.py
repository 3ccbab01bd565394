"""`bigram_step`: the new logits after one step over a whole text, against the gradient that autograd finds."""

import torch
import torch.nn.functional as F

from autograder.spec.compare import a_tensor, same_tensor, unchanged
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import device_is_kept, generator_unchanged, normal
from autograder.spec.student import Student

from ..asking import Cases, asks
from .common import same_values, text_of

WHAT = "The new table"


def _stepped(logits: torch.Tensor, ids: torch.Tensor, learning_rate: float) -> torch.Tensor:
    """By autograd, which is the other road to it than the reference's."""
    if len(ids) < 2:
        return logits.clone()
    table = logits.clone().requires_grad_(True)
    [gradient] = torch.autograd.grad(F.cross_entropy(table[ids[:-1]], ids[1:]), [table])
    return logits - learning_rate * gradient


asked = asks("bigram_step", by=_stepped, same=same_values)


@asked
def _values() -> Cases:
    yield [torch.zeros(3, 3), torch.tensor([1, 0, 2, 0, 2, 0]), 3.0], "for banana, from zeros"
    yield [torch.tensor([[0.5, -1.0], [2.0, 0.0]]), torch.tensor([0, 0, 1]), 1.0], "for the text 0 0 1"
    sizes = ((4, 7, 0.1), (7, 60, 2.0), (5, 12, 20.0), (3, 200, 0.7), (11, 11, 5.0), (2, 3, 1.0), (6, 3000, 9.0))
    for V, N, rate in sizes:
        ids = text_of(N, V)
        yield [normal(V, V, scale=1.5), ids, rate], f"for V = {V}, N = {N}, learning rate {rate:g}"


@asked
def _rows() -> Cases:
    """Nothing is learnt about a row that no pair begins with, and nothing at all from a text without pairs."""
    for text, what in (("2", "one token"), ("", "no tokens"), ("13", "a single pair"), ("0004", "0 0 0 4, 4 once")):
        yield [normal(5, 5), torch.tensor([*map(int, text)], dtype=torch.int64), 2.5], f"for a text of {what}"


@asked
def _stable() -> Cases:
    for rows, ids, where in (
        ([[1e4, 0.0, -1e4], [0.0, 1e4, 1e4 - 1], [-1e4, -1e4 + 2, -1e4]], [0, 1, 2, 2, 1, 0, 0], "for logits of ±1e4"),
        ([[200.0, -200.0], [-1e4, -1e4 - 1]], [0, 1, 1, 0, 0], "for rows near 200 and near −1e4"),
    ):
        yield [torch.tensor(rows), torch.tensor(ids), 3.0], where, True
        yield [torch.tensor(rows).double(), torch.tensor(ids), 3.0], f"{where}, in float64", True


_PROBES = """
def kept(tensor): return tensor.clone()
def asked(tensor): return tensor.requires_grad or tensor.grad is not None
def shared(one, other):
    return isinstance(other, torch.Tensor) and other.numel() > 0 and one.data_ptr() == other.data_ptr()
"""


def _again(student: Student) -> None:
    """Ask twice with the very same tensor, as a training loop passes it."""
    logits, ids = normal(4, 4), text_of(15, 4)
    theirs = student.call(student.probe("kept", _PROBES), [logits], keep=True, record=False)["value"]
    for where in ("the first time", "the second time, with the same arguments"):
        with student.case():
            got = a_tensor(student.call("bigram_step", [theirs, ids, 2.0], where=where)["value"], WHAT)
            same_values(got, _stepped(logits, ids, 2.0), WHAT, where)
            if got.was_differentiable:  # type: ignore[attr-defined]  # decoding sets it
                what = "A graph hangs on the result (`requires_grad` is True), which each further step makes longer"
                raise Wrong(f"{what}: return it detached.", "graph_kept")
    if student.value(student.probe("asked", _PROBES), theirs) is True:
        what = "After the call the caller's own table asks for gradients (`requires_grad`)"
        raise Wrong(f"{what}: it should stay as it was.", "caller_asked_for_gradients")
    with student.case():
        answer = student.call("bigram_step", [theirs, ids[:1], 2.0], where="for a text of one token", keep=True)
        if student.value(student.probe("shared", _PROBES), theirs, answer["value"]) is True:
            what = "For a text of one token the tensor that was passed in comes back itself"
            raise Wrong(f"{what}: a new tensor is asked for.", "same_tensor_back")


def _manners(student: Student) -> None:
    for logits, ids, where in (
        (normal(4, 4), text_of(9, 4), ""),
        (normal(6, 6, dtype=torch.float64), text_of(20, 6), "in float64"),
        (normal(5, 5), torch.tensor([3]), "for a text of one token"),
        (normal(5, 5).T, text_of(18, 5)[::2], "for tensors that are not contiguous"),
    ):
        with student.case():
            answer = student.call("bigram_step", [logits, ids, 1.5], where=where)
            same_tensor(answer["value"], _stepped(logits, ids, 1.5), WHAT, where)
            unchanged(answer["inputs"], [logits, ids], "`logits`, `ids`")
            generator_unchanged(answer)
    with student.case():
        device_is_kept(student, "bigram_step", [normal(4, 4), text_of(9, 4), 1.5])


EXERCISE = Exercise(
    Check("logits − learning rate · gradient of the mean loss", 2.0, _values),
    Check("rows without a pair, and texts without one, as they were", 0.5, _rows),
    Check("stable for logits of ±1e4", 0.5, _stable, further=True),
    Check("the same call twice, and no graph on the result", 0.5, _again, further=True),
    Check("dtype kept, inputs unchanged, any device", 0.5, _manners, further=True),
    working=r"""
import torch
import torch.nn.functional as F

def bigram_step(logits, ids, learning_rate):
    table = torch.nn.Parameter(logits.detach().clone())
    optimizer = torch.optim.SGD([table], lr=learning_rate)
    if len(ids) > 1:
        F.cross_entropy(table[ids[:-1]], ids[1:]).backward()
        optimizer.step()
    return table.detach()
""",
)
