"""`bigram_step`: the new logits after one step over a whole text, against the gradient that autograd finds.

The mistakes: a sum for the mean, probabilities of the wrong rows or columns, uphill, pairs lost, gradients that pile up.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from autograder.spec.compare import a_tensor, same_tensor, unchanged
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import device_is_kept, generator_unchanged, normal
from autograder.spec.student import Student

from .common import same_values, text_of

WHAT = "The new table"


def _stepped(logits: torch.Tensor, ids: torch.Tensor, learning_rate: float) -> torch.Tensor:
    """By autograd, which is the other road to it than the reference's."""
    if len(ids) < 2:
        return logits.clone()
    table = logits.clone().requires_grad_(True)
    [gradient] = torch.autograd.grad(F.cross_entropy(table[ids[:-1]], ids[1:]), [table])
    return logits - learning_rate * gradient


def _asked(
    student: Student, logits: torch.Tensor, ids: torch.Tensor, rate: float, where: str, rough: bool = False
) -> None:
    with student.case():
        got = student.value("bigram_step", logits, ids, rate, where=where)
        same_values(got, _stepped(logits, ids, rate), WHAT, where, rough)


def _step_values(student: Student) -> None:
    banana = torch.tensor([1, 0, 2, 0, 2, 0])
    _asked(student, torch.zeros(3, 3), banana, 3.0, "for banana, from zeros")
    _asked(student, torch.tensor([[0.5, -1.0], [2.0, 0.0]]), torch.tensor([0, 0, 1]), 1.0, "for the text 0 0 1")
    for V, N, rate in (
        (4, 7, 0.1),
        (7, 60, 2.0),
        (5, 12, 20.0),
        (3, 200, 0.7),
        (11, 11, 5.0),
        (2, 3, 1.0),
        (6, 3000, 9.0),
    ):
        ids = text_of(N, V)
        _asked(student, normal(V, V, scale=1.5), ids, rate, f"for V = {V}, N = {N}, learning rate {rate:g}")


def _step_rows(student: Student) -> None:
    """Nothing is learnt about a row that no pair begins with, and nothing at all from a text without pairs."""
    for ids, where in (
        ([2], "for a text of one token"),
        ([], "for an empty text"),
        ([1, 3], "for a single pair"),
        ([0, 0, 0, 4], "for 0 0 0 4, in which 4 is only ever the last"),
    ):
        _asked(student, normal(5, 5), torch.tensor(ids, dtype=torch.int64), 2.5, where)


def _step_stable(student: Student) -> None:
    for rows, ids, where in (
        ([[1e4, 0.0, -1e4], [0.0, 1e4, 1e4 - 1], [-1e4, -1e4 + 2, -1e4]], [0, 1, 2, 2, 1, 0, 0], "for logits of ±1e4"),
        ([[200.0, -200.0], [-1e4, -1e4 - 1]], [0, 1, 1, 0, 0], "for rows near 200 and near −1e4"),
    ):
        _asked(student, torch.tensor(rows), torch.tensor(ids), 3.0, where, rough=True)
        _asked(student, torch.tensor(rows).double(), torch.tensor(ids), 3.0, f"{where}, in float64")


_KEPT = """
def kept(tensor):
    return tensor.clone()
"""

_ASKED = """
def asked(tensor):
    return tensor.requires_grad or tensor.grad is not None
"""

_SHARED = """
def shared(one, other):
    return isinstance(other, torch.Tensor) and other.numel() > 0 and one.data_ptr() == other.data_ptr()
"""


def _step_again(student: Student) -> None:
    """The very same tensor, as a training loop or a careful reader would pass it twice."""
    logits, ids = normal(4, 4), text_of(15, 4)
    expected = _stepped(logits, ids, 2.0)
    theirs = student.call(student.probe("kept", _KEPT), [logits], keep=True, record=False)["value"]
    for where in ("the first time", "the second time, with the same arguments"):
        with student.case():
            got = a_tensor(student.call("bigram_step", [theirs, ids, 2.0], where=where)["value"], WHAT)
            same_values(got, expected, WHAT, where)
            if got.was_differentiable:  # type: ignore[attr-defined]  # decoding sets it
                raise Wrong(
                    "A graph hangs on the result (`requires_grad` is True): each further step makes it longer, and a "
                    "thousand of them fill the memory. Return it detached.",
                    "graph_kept",
                )
    if student.value(student.probe("asked", _ASKED), theirs) is True:
        raise Wrong(
            "After the call the caller's own table asks for gradients (`requires_grad`): it should stay as it was.",
            "caller_asked_for_gradients",
        )
    with student.case():
        answer = student.call("bigram_step", [theirs, ids[:1], 2.0], where="for a text of one token", keep=True)
        shared = student.value(student.probe("shared", _SHARED), theirs, answer["value"])
        if shared is True:
            raise Wrong(
                "For a text of one token the tensor that was passed in comes back itself: a new tensor is asked for.",
                "same_tensor_back",
            )


def _step_manners(student: Student) -> None:
    for V, N, dtype in ((4, 9, torch.float32), (6, 20, torch.float64)):
        with student.case():
            logits, ids = normal(V, V, dtype=dtype), text_of(N, V)
            answer = student.call("bigram_step", [logits, ids, 1.5])
            same_tensor(answer["value"], _stepped(logits, ids, 1.5), WHAT)
            unchanged(answer["inputs"], [logits, ids], "`logits`, `ids`")
            generator_unchanged(answer)
    with student.case():
        logits = normal(5, 5)
        answer = student.call("bigram_step", [logits, torch.tensor([3]), 1.5])
        same_tensor(answer["value"], logits, WHAT, "for a text of one token")
        unchanged(answer["inputs"], [logits], "`logits`")
    with student.case():
        logits, ids, where = normal(5, 5).T, text_of(18, 5)[::2], "for tensors that are not contiguous"
        same_tensor(
            student.value("bigram_step", logits, ids, 1.5, where=where), _stepped(logits, ids, 1.5), WHAT, where
        )
    with student.case():
        device_is_kept(student, "bigram_step", [normal(4, 4), text_of(9, 4), 1.5])


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("logits − learning rate · gradient of the mean loss", 2.0, _step_values),
        Check("rows without a pair, and texts without one, as they were", 0.5, _step_rows),
        Check("stable for logits of ±1e4", 0.5, _step_stable, further=True),
        Check("the same call twice, and no graph on the result", 0.5, _step_again, further=True),
        Check("dtype kept, inputs unchanged, any device", 0.5, _step_manners, further=True),
    ],
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
    takes="tensor",
    gives="tensor",
)
