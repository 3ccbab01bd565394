"""`bigram_step`: the new logits after one step over a whole text, and what a training loop would stumble over."""

import torch

from autograder.spec import (
    Cases,
    Check,
    Exercise,
    Student,
    a_tensor,
    behaves,
    cases_of,
    device,
    normal,
    reference,
    refusing,
    same_values,
    shuffled,
)

from .random_inputs import some_ids

refuse = refusing("bigram_step")

cases = cases_of("bigram_step", same=same_values)


@cases
def _values() -> Cases:
    yield [torch.zeros(3, 3), torch.tensor([1, 0, 2, 0, 2, 0]), 3.0], "for banana, from zeros"
    yield [torch.tensor([[0.5, -1.0], [2.0, 0.0]]), torch.tensor([0, 0, 1]), 1.0], "for the text 0 0 1"
    sizes = ((4, 7, 0.1), (7, 60, 2.0), (5, 12, 20.0), (3, 200, 0.7), (11, 11, 5.0), (2, 3, 1.0), (6, 3000, 9.0))
    for V, N, rate in sizes:
        yield [normal(V, V, scale=1.5), some_ids(V, N), rate], f"for V = {V}, N = {N}, learning rate {rate:g}"


@cases
def _rows() -> Cases:
    """Nothing is learnt about a row that no pair begins with, and nothing at all from a text without pairs."""
    for text, what in (("2", "one token"), ("", "no tokens"), ("13", "a single pair"), ("0004", "0 0 0 4, 4 once")):
        yield [normal(5, 5), torch.tensor([*map(int, text)], dtype=torch.int64), 2.5], f"for a text of {what}"


@cases
def _stable() -> Cases:
    for rows, ids, where in (
        ([[1e4, 0.0, -1e4], [0.0, 1e4, 1e4 - 1], [-1e4, -1e4 + 2, -1e4]], [0, 1, 2, 2, 1, 0, 0], "for logits of ±1e4"),
        ([[200.0, -200.0], [-1e4, -1e4 - 1]], [0, 1, 1, 0, 0], "for rows near 200 and near −1e4"),
    ):
        order = shuffled([*range(len(rows))])
        logits, places = torch.tensor(rows)[order][:, order], torch.tensor([*map(order.index, ids)])
        yield [logits, places, 3.0], where, True
        yield [logits.double(), places, 3.0], f"{where}, in float64", True


_PROBES = """
def kept(tensor): return tensor.clone()
def asked(tensor): return tensor.requires_grad or tensor.grad is not None
def shared(one, other):
    return isinstance(other, torch.Tensor) and other.numel() > 0 and one.data_ptr() == other.data_ptr()
"""


def _again(student: Student) -> None:
    """Ask twice with the very same tensor, as a training loop passes it."""
    logits, ids = normal(4, 4), some_ids(4, 15)
    kept_table = student.call(student.probe("kept", _PROBES), [logits], keep=True, record=False)["value"]
    for where in ("the first time", "the second time, with the same arguments"):
        with student.case():
            got = a_tensor(student.value("bigram_step", kept_table, ids, 2.0, where=where), "The new table")
            same_values(got, reference("bigram_step")(logits, ids, 2.0), "The new table", where)
            refuse(got.was_differentiable, "graph_kept")  # type: ignore[attr-defined]  # decoding sets it
    asks_now = student.value(student.probe("asked", _PROBES), kept_table)
    refuse(asks_now is True, "caller_asked_for_gradients")
    with student.case():
        answer = student.call("bigram_step", [kept_table, ids[:1], 2.0], where="for a text of one token", keep=True)
        same = student.value(student.probe("shared", _PROBES), kept_table, answer["value"])
        refuse(same is True, "same_tensor_back")


@cases_of("bigram_step")
def _side_effects() -> Cases:
    for logits, ids, where in (
        (normal(4, 4), some_ids(4, 9), ""),
        (normal(6, 6, dtype=torch.float64), some_ids(6, 20), "in float64"),
        (normal(5, 5), torch.tensor([3]), "for a text of one token"),
        (normal(5, 5).T, some_ids(5, 18)[::2], "for tensors that are not contiguous"),
    ):
        yield behaves([logits, ids, 1.5], "`logits`, `ids`", where)
    yield device([normal(4, 4), some_ids(4, 9), 1.5])


EXERCISE = Exercise(
    Check("logits − learning rate · gradient of the mean loss", 2.0, _values),
    Check("rows without a pair, and texts without one, as they were", 0.5, _rows),
    Check("stable for logits of ±1e4", 0.5, _stable, dependent=True),
    Check("the same call twice, and no graph on the result", 0.5, _again, dependent=True),
    Check("dtype kept, inputs unchanged, any device", 0.5, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("gradient_cut_off", "squeezed", "other_signature", "global_generator"),
    library_equivalent=r"""
def bigram_step(logits, ids, learning_rate):
    table = torch.nn.Parameter(logits.detach().clone())
    if len(ids) > 1:
        F.cross_entropy(table[ids[:-1]], ids[1:]).backward()
        torch.optim.SGD([table], lr=learning_rate).step()
    return table.detach()
""",
)
