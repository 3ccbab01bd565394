"""`skipgram_step`: both tables after one step, rows that occur once and rows that occur often, large scores."""

from typing import Any

import torch

from autograder.spec import (
    Cases,
    Check,
    Exercise,
    Student,
    Wrong,
    a_pair,
    behaves,
    cases_of,
    device,
    normal,
    reference,
    same_tensor,
    shuffled,
)

from .random_inputs import some_ids

sgns_loss = reference("sgns_loss")
ARGUMENTS = ("vectors", "contexts", "centre", "context", "negatives", "learning_rate")


def _stepped(vectors: Any, contexts: Any, centre: Any, context: Any, negatives: Any, learning_rate: float) -> Any:
    """By autograd, which is the other road to it than the reference's."""
    v, u = tables = [table.clone().requires_grad_(True) for table in (vectors, contexts)]
    gradients = torch.autograd.grad(sgns_loss(v[centre], u[context], u[negatives]), tables)
    return vectors - learning_rate * gradients[0], contexts - learning_rate * gradients[1]


def _inputs(V: int, C: int, B: int, K: int, rate: float, dtype: torch.dtype = torch.float32) -> list[Any]:
    """Return two tables, ids of which none occurs twice in its table, and a learning rate."""
    tables = [normal(V, C, dtype=dtype), normal(V, C, dtype=dtype)]
    shuffled = normal(V).argsort()
    return [*tables, normal(V).argsort()[:B], shuffled[:B], shuffled[B : B + B * K].reshape(B, K), rate]


def _two(got: Any, expected: tuple[torch.Tensor, ...], _: str, where: str, rough: bool = False) -> None:
    for actual, own, name in zip(a_pair(got, "(vectors, contexts)"), expected, ARGUMENTS, strict=False):
        same_tensor(actual, own, f"The new `{name}`", where, rough)


cases = cases_of("skipgram_step", by=_stepped, same=_two)


@cases
def _values() -> Cases:
    tables = [torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[2.0, 5.0], [-1.0, 3.0]])]
    ids = [torch.tensor([0]), torch.tensor([0]), torch.tensor([[1]])]
    yield [*tables, *ids, 1.0], "for the pair of the example"
    for V, C, B, K, rate in ((12, 3, 2, 4, 0.5), (9, 4, 1, 3, 2.0), (15, 5, 6, 1, 0.1), (11, 2, 3, 2, 25.0)):
        where = f"for V = {V}, C = {C}, B = {B}, K = {K}, learning rate {rate:g}, no id twice"
        yield _inputs(V, C, B, K, rate), where


@cases
def _repeated() -> Cases:
    for centre, context, negatives, where in (
        ([1, 1, 1], [0, 2, 3], [[4, 5], [6, 7], [8, 9]], "when one centre has three contexts"),
        ([0, 2, 3], [5, 5, 5], [[1, 2], [3, 4], [6, 7]], "when one context has three centres"),
        ([0, 2], [1, 3], [[4, 4, 4], [5, 6, 7]], "when a negative is drawn three times for one pair"),
        ([0, 2], [1, 3], [[4, 5, 6], [4, 5, 6]], "when two pairs have the same negatives"),
        ([0, 2], [1, 3], [[1, 5, 6], [7, 1, 3]], "when a negative happens to be a true context"),
        ([0, 0], [0, 0], [[0], [0]], "when it is the same id throughout"),
    ):
        ids = [torch.tensor(centre), torch.tensor(context), torch.tensor(negatives)]
        yield [normal(10, 3), normal(10, 3), *ids, 1.5], where
    for V, B, K in ((6, 40, 5), (4, 17, 3)):
        ids = [some_ids((B,), V), some_ids((B,), V), some_ids((B, K), V)]
        yield [normal(V, 4), normal(V, 4), *ids, 3.0], f"for V = {V}, B = {B}, K = {K}"


@cases
def _stable() -> Cases:
    order = torch.tensor([0, *shuffled([1, 2, 3, 4])])
    ids = [order[ids] for ids in ([3, 1], [0, 0], torch.tensor([[1, 2, 4], [3, 2, 1]]))]
    for true, drawn in ((-1e4, 1e4), (1e4, -1e4), (-200.0, 0.5), (0.5, 200.0)):
        contexts = torch.full((5, 4), drawn / 40)
        contexts[0] = true / 40
        where = f"when the scores with contexts are {true:g} and with negatives {drawn:g}"
        yield [torch.full((5, 4), 10.0), contexts, *ids, 2.0], where, True


_PROBES = """
def kept(tensor): return tensor.clone()
def trained(tensor): return tensor.requires_grad
"""


def _again(student: Student) -> None:
    """Ask twice with the very same tables, as a training loop or a careful reader would pass them twice."""
    args = _inputs(9, 3, 2, 3, 2.0)
    keeping = student.probe("kept", _PROBES)
    kept_tables = [student.call(keeping, [table], keep=True, record=False)["value"] for table in args[:2]]
    for where in ("the first time", "the second time, with the same arguments"):
        with student.case():
            got = student.value("skipgram_step", *kept_tables, *args[2:], where=where)
            _two(got, _stepped(*args), "", where)
            if any(table.was_differentiable for table in got):
                what = "A graph hangs on the result (`requires_grad` is True), which each further step makes longer"
                raise Wrong(f"{what}: return both tables detached.", "graph_kept")
            if any(student.value(student.probe("trained", _PROBES), table) for table in kept_tables):
                what = "The tables that were given ask for gradients now (`requires_grad_`)"
                raise Wrong(f"{what}: they should stay as they were. Work with copies.", "input_changed")


@cases
def _side_effects() -> Cases:
    for V, dtype, where in ((10, torch.float32, ""), (13, torch.float64, "in float64")):
        args = _inputs(V, 3, 2, 3, 1.5, dtype)
        yield behaves(args, ", ".join(ARGUMENTS[:5]), where)
    centre, context, negatives, rate = args[2:]
    turned = [normal(3, 13).T, normal(3, 13).T, centre, context, negatives.T.contiguous().T, rate]
    yield turned, "for transposes (not contiguous)"
    yield dict(zip(ARGUMENTS, turned, strict=True)), "with arguments given by name"
    yield device(_inputs(10, 3, 2, 3, 1.5))


EXERCISE = Exercise(
    Check("both tables after a step, every id once", 2.25, _values),
    Check("rows that occur several times get all their gradients", 1.0, _repeated),
    Check("stable for scores of ±1e4", 0.5, _stable, dependent=True),
    Check("the same call twice, and no graph on the result", 0.5, _again, dependent=True),
    Check("dtype kept, inputs unchanged, any device", 0.75, _side_effects, dependent=True),
    takes="tensor",
    gives="pair",
    harmless=("gradient_cut_off", "squeezed", "global_generator"),
)
