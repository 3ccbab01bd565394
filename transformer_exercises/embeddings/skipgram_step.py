"""`skipgram_step`: both tables after one step, rows that occur once and rows that occur often, large scores."""

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import a_pair, a_tensor, same_tensor, unchanged
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import generator_unchanged, normal
from autograder.spec.student import Student

from .common import some_ids, stays_on_device

ARGUMENTS = ("vectors", "contexts", "centre", "context", "negatives", "learning_rate")
NAMES = ("The new `vectors`", "The new `contexts`")
INPUTS = "`vectors`, `contexts`, `centre`, `context`, `negatives`"


def _stepped(args: list) -> list[torch.Tensor]:
    """By autograd, which is the other road to it than the reference's."""
    *tables, centre, context, negatives, rate = args
    vectors, contexts = (table.clone().requires_grad_(True) for table in tables)
    true = (vectors[centre] * contexts[context]).sum(-1)
    drawn = torch.einsum("bc,bkc->bk", vectors[centre], contexts[negatives])
    loss = (F.softplus(-true) + F.softplus(drawn).sum(-1)).mean()
    gradients = torch.autograd.grad(loss, [vectors, contexts])
    return [table - rate * gradient for table, gradient in zip(tables, gradients, strict=True)]


def _different(V: int, *, B: int, K: int) -> list[torch.Tensor]:
    """Ids of which none occurs twice in its table."""
    shuffled = normal(V).argsort()
    return [normal(V).argsort()[:B], shuffled[:B], shuffled[B : B + B * K].reshape(B, K)]


def _tables(V: int, C: int, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [normal(V, C, dtype=dtype), normal(V, C, dtype=dtype)]


def _two(got: Any, args: list[Any], where: str, rough: bool = False) -> None:
    for mine, own, name in zip(a_pair(got, "(vectors, contexts)"), _stepped(args), NAMES, strict=True):
        same_tensor(mine, own, name, where, rough)


def _asked(student: Student, args: list[Any], where: str, rough: bool = False) -> None:
    with student.case():
        _two(student.value("skipgram_step", *args, where=where), args, where, rough)


def _values(student: Student) -> None:
    tables = [torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[2.0, 5.0], [-1.0, 3.0]])]
    ids = [torch.tensor([0]), torch.tensor([0]), torch.tensor([[1]])]
    _asked(student, [*tables, *ids, 1.0], "for the pair of the example")
    for V, C, B, K, rate in ((12, 3, 2, 4, 0.5), (9, 4, 1, 3, 2.0), (15, 5, 6, 1, 0.1), (11, 2, 3, 2, 25.0)):
        where = f"for V = {V}, C = {C}, B = {B}, K = {K}, learning rate {rate:g}, no id twice"
        _asked(student, [*_tables(V, C), *_different(V, B=B, K=K), rate], where)


def _repeated(student: Student) -> None:
    for centre, context, negatives, where in (
        ([1, 1, 1], [0, 2, 3], [[4, 5], [6, 7], [8, 9]], "when one centre has three contexts"),
        ([0, 2, 3], [5, 5, 5], [[1, 2], [3, 4], [6, 7]], "when one context has three centres"),
        ([0, 2], [1, 3], [[4, 4, 4], [5, 6, 7]], "when a negative is drawn three times for one pair"),
        ([0, 2], [1, 3], [[4, 5, 6], [4, 5, 6]], "when two pairs have the same negatives"),
        ([0, 2], [1, 3], [[1, 5, 6], [7, 1, 3]], "when a negative happens to be a true context"),
        ([0, 0], [0, 0], [[0], [0]], "when it is the same id throughout"),
    ):
        ids = [torch.tensor(centre), torch.tensor(context), torch.tensor(negatives)]
        _asked(student, [*_tables(10, 3), *ids, 1.5], where)
    for V, B, K in ((6, 40, 5), (4, 17, 3)):
        ids = [some_ids((B,), V), some_ids((B,), V), some_ids((B, K), V)]
        _asked(student, [*_tables(V, 4), *ids, 3.0], f"for V = {V}, B = {B}, K = {K}")


def _stable(student: Student) -> None:
    ids = [torch.tensor([3, 1]), torch.tensor([0, 0]), torch.tensor([[1, 2, 4], [3, 2, 1]])]
    for true, drawn in ((-1e4, 1e4), (1e4, -1e4), (-200.0, 0.5), (0.5, 200.0)):
        contexts = torch.full((5, 4), drawn / 40)
        contexts[0] = true / 40
        where = f"when the scores with contexts are {true:g} and with negatives {drawn:g}"
        _asked(student, [torch.full((5, 4), 10.0), contexts, *ids, 2.0], where, rough=True)


_PROBES = """
def kept(tensor): return tensor.clone()
def trained(tensor): return tensor.requires_grad
"""


def _again(student: Student) -> None:
    """Ask twice with the very same tables, as a training loop or a careful reader would pass them twice."""
    tables, ids = _tables(9, 3), _different(9, B=2, K=3)
    keeping = student.probe("kept", _PROBES)
    theirs = [student.call(keeping, [table], keep=True, record=False)["value"] for table in tables]
    for where in ("the first time", "the second time, with the same arguments"):
        with student.case():
            got = student.call("skipgram_step", [*theirs, *ids, 2.0], where=where)["value"]
            _two(got, [*tables, *ids, 2.0], where)
            if any(a_tensor(one, "A table").was_differentiable for one in got):  # type: ignore[attr-defined]
                what = "A graph hangs on the result (`requires_grad` is True), which each further step makes longer"
                raise Wrong(f"{what}: return both tables detached.", "graph_kept")
            if any(student.value(student.probe("trained", _PROBES), table) for table in theirs):
                what = "The tables that were given ask for gradients now (`requires_grad_`)"
                raise Wrong(f"{what}: they should stay as they were. Work with copies.", "input_changed")


def _manners(student: Student) -> None:
    for V, dtype in ((10, torch.float32), (13, torch.float64)):
        with student.case():
            args: list[Any] = [*_tables(V, 3, dtype), *_different(V, B=2, K=3), 1.5]
            answer = student.call("skipgram_step", args)
            _two(answer["value"], args, "in float64" if dtype == torch.float64 else "")
            unchanged(answer["inputs"], args[:5], INPUTS)
            generator_unchanged(answer)
    *_, centre, context, negatives, _ = args
    turned = [normal(3, 13).T, normal(3, 13).T, centre, context, negatives.T.contiguous().T, 1.5]
    _asked(student, turned, "for transposes (not contiguous)")
    with student.case():
        given, where = dict(zip(ARGUMENTS, turned, strict=True)), "with arguments given by name"
        _two(student.call("skipgram_step", [], given, where=where)["value"], turned, where)
    with student.case():
        stays_on_device(student, "skipgram_step", [*_tables(10, 3), *_different(10, B=2, K=3), 1.5])


EXERCISE = Exercise(
    Check("both tables after a step, every id once", 2.25, _values),
    Check("rows that occur several times get all their gradients", 1.0, _repeated),
    Check("stable for scores of ±1e4", 0.5, _stable, further=True),
    Check("the same call twice, and no graph on the result", 0.5, _again, further=True),
    Check("dtype kept, inputs unchanged, any device", 0.75, _manners, further=True),
)
