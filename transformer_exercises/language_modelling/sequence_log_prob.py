"""`sequence_log_prob`: sums of logarithms for short, very long, single-token and impossible texts, and gradients.

The mistakes: the product before its logarithm, steps missed or counted twice, rows for columns, an epsilon for −∞.
"""

from __future__ import annotations

import torch

from autograder.spec.compare import dtype_name, same_tensor
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept
from autograder.spec.student import Student

from .common import gradient_agrees, quiet_and_pure, rows_of_probs, same_values, text_of

sequence_log_prob = reference("sequence_log_prob")


def _log_values(student: Student) -> None:
    for ids, vocab_size in (([0, 1, 1], 2), ([1, 0], 2), ([2, 0, 2, 2, 1, 0], 3), ([4, 4, 0, 3, 1, 2, 0, 4], 5)):
        with student.case():
            given, probs, where = torch.tensor(ids), rows_of_probs(vocab_size, vocab_size), f"for ids {ids}"
            got = student.value("sequence_log_prob", given, probs, where=where)
            same_values(got, sequence_log_prob(given, probs), "The result", where)
    for n, vocab_size in ((12, 7), (30, 4)):
        with student.case():
            given, probs, where = text_of(n, vocab_size), rows_of_probs(vocab_size, vocab_size), f"for {n} ids"
            got = student.value("sequence_log_prob", given, probs, where=where)
            same_values(got, sequence_log_prob(given, probs), "The result", where)
    with student.case():
        given, probs = torch.tensor([0, 1, 2, 0]), torch.eye(3).roll(1, dims=1)
        where = "for a text that is certain (each step has probability 1)"
        got = student.value("sequence_log_prob", given, probs, where=where)
        same_values(got, sequence_log_prob(given, probs), "The result", where)


def _log_long(student: Student) -> None:
    for n, vocab_size, dtype in ((200, 6, torch.float32), (2000, 4, torch.float32), (1500, 5, torch.float64)):
        with student.case():
            given, probs = text_of(n, vocab_size), rows_of_probs(vocab_size, vocab_size, dtype=dtype)
            where = f"for {n} ids, whose probability is too small for {dtype_name(probs)}"
            got = student.value("sequence_log_prob", given, probs, where=where)
            same_values(got, sequence_log_prob(given, probs), "The result", where)
    with student.case():
        tiny = torch.tensor([[1.0, 1e-30], [1e-25, 1.0]])
        given, where = torch.tensor([0, 1, 0, 0, 1, 1]), "when single steps are as improbable as 1e-30"
        got = student.value("sequence_log_prob", given, tiny, where=where)
        same_values(got, sequence_log_prob(given, tiny), "The result", where)


def _log_edges(student: Student) -> None:
    for vocab_size, start in ((3, 1), (4, 0)):
        with student.case():
            given, probs, where = torch.tensor([start]), rows_of_probs(vocab_size, vocab_size), "for a single id"
            got = student.value("sequence_log_prob", given, probs, where=where)
            same_values(got, sequence_log_prob(given, probs), "The result", where)
    for ids, where in (
        ([0, 1, 2, 0], "when a step has probability 0"),
        ([1, 2, 1, 2, 0], "when two steps have probability 0"),
        ([0, 1, 0, 0, 1], "when zeros stand in the table, but no step meets one"),
    ):
        with student.case():
            probs = torch.tensor([[0.75, 0.25, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
            given = torch.tensor(ids)
            got = student.value("sequence_log_prob", given, probs, where=where)
            same_values(got, sequence_log_prob(given, probs), "The result", where)


def _log_gradient(student: Student) -> None:
    for ids, dtype, where in (
        ([2, 0, 2, 2, 1, 2, 0], torch.float32, ""),
        ([0, 3, 1], torch.float64, "in float64"),
    ):
        with student.case():
            args = [torch.tensor(ids), rows_of_probs(max(ids) + 1, max(ids) + 1, dtype=dtype)]
            gradient_agrees(student, "sequence_log_prob", sequence_log_prob, args, "`probs`", where)


def _log_manners(student: Student) -> None:
    for dtype in (torch.float32, torch.float64):
        with student.case():
            ids, probs = torch.tensor([3, 0, 1, 1, 2, 0]), rows_of_probs(4, 4, dtype=dtype)
            expected = sequence_log_prob(ids, probs)
            quiet_and_pure(student, "sequence_log_prob", [ids, probs], expected, "The result", "`ids`, `probs`")
    for dtype in (torch.float32, torch.float64):
        with student.case():
            ids, probs = torch.tensor([2]), rows_of_probs(4, 4, dtype=dtype)
            where = f"for a single id and {dtype_name(probs)} probabilities"
            got = student.value("sequence_log_prob", ids, probs, where=where)
            same_tensor(got, sequence_log_prob(ids, probs), "The result", where)
    with student.case():
        ids, probs, where = text_of(12, 4)[::2], rows_of_probs(4, 4).T, "for tensors that are not contiguous"
        same_tensor(
            student.value("sequence_log_prob", ids, probs, where=where),
            sequence_log_prob(ids, probs),
            "The result",
            where,
        )
    for ids in (torch.tensor([1, 0, 1, 1]), torch.tensor([1])):
        device_is_kept(student, "sequence_log_prob", [ids, rows_of_probs(3, 3)])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("log p(x2 .. xN given x1)", 1.25, _log_values),
        Check("long and improbable texts do not underflow", 0.75, _log_long, further=True),
        Check("one token: 0; an impossible step: −inf", 0.5, _log_edges, further=True),
        Check("gradients", 0.25, _log_gradient, further=True),
        Check(
            "a scalar tensor of the dtype of `probs`, inputs unchanged, any device", 0.25, _log_manners, further=True
        ),
    ],
    working=r"""
import torch
import torch.nn.functional as F

def sequence_log_prob(ids, probs):
    return -F.nll_loss(F.embedding(ids[:-1], probs).log(), ids[1:], reduction="sum")
""",
    takes="tensor",
    gives="scalar",
)
