"""`bigram_probs`: rows that sum to 1, with alpha and without, unseen rows; mistakes in what is divided by what.

Totals without alpha, columns for rows, NaN or zeros where nothing was counted, an alpha that is ignored or cut off.
"""

from __future__ import annotations

import torch

from autograder.spec.compare import same_tensor
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import device_is_kept, gradients_agree, normal
from autograder.spec.student import Student

from .common import quiet_and_pure, same_values

bigram_probs = reference("bigram_probs")


def _counts(vocab_size: int, high: int = 9) -> torch.Tensor:
    """Whole numbers, about a quarter of them 0, another total in each row."""
    return (normal(vocab_size, vocab_size) * high).long().clamp(min=0) + (
        normal(vocab_size, vocab_size).abs() * 2
    ).long()


def _probs_values(student: Student) -> None:
    with student.case():
        counts, where = torch.tensor([[3, 1], [0, 0]]), "for counts [[3, 1], [0, 0]] and no alpha given"
        same_values(student.value("bigram_probs", counts, where=where), bigram_probs(counts), "The table", where)
    for vocab_size, alpha in ((3, 0.5), (5, 1), (7, 0.1), (4, 2.0), (30, 0.01), (1, 1.0)):
        with student.case():
            counts, where = _counts(vocab_size), f"for V = {vocab_size} and alpha = {alpha}"
            got = student.value("bigram_probs", counts, alpha, where=where)
            same_values(got, bigram_probs(counts, alpha), "The table", where)
    with student.case():
        counts, where = _counts(4), "with alpha given by name"
        got = student.call("bigram_probs", [counts], {"alpha": 0.25}, where=where)["value"]
        same_values(got, bigram_probs(counts, 0.25), "The table", where)
    with student.case():
        counts, where = _counts(6), "when no alpha is given"
        same_values(student.value("bigram_probs", counts, where=where), bigram_probs(counts), "The table", where)


def _probs_unsmoothed(student: Student) -> None:
    for rows, where in (
        ([[3, 1, 0], [2, 2, 4], [0, 5, 0]], "with alpha = 0"),
        ([[0, 7], [1, 1]], "with alpha = 0"),
    ):
        for alpha in (0, 0.0):
            with student.case():
                counts = torch.tensor(rows)
                got = student.value("bigram_probs", counts, alpha, where=where)
                same_values(got, bigram_probs(counts, alpha), "The table", where)
                if got[counts == 0].any():
                    raise Wrong(
                        "With alpha = 0 a pair that was never seen, in a row that was, has probability exactly 0; "
                        "yours is a little more. Is something added to keep a division from failing?",
                        "epsilon_in_counts",
                    )


def _probs_unseen(student: Student) -> None:
    for rows, where in (
        ([[3, 1, 0], [0, 0, 0], [0, 5, 0]], "with alpha = 0 and a row without counts"),
        ([[0, 0, 0, 0], [0, 1, 0, 2], [0, 0, 0, 0], [4, 0, 0, 0]], "with alpha = 0 and two rows without counts"),
        ([[0]], "with alpha = 0 and V = 1"),
        ([[0, 0], [0, 0]], "with alpha = 0 and no counts at all"),
    ):
        with student.case():
            counts = torch.tensor(rows)
            got = student.value("bigram_probs", counts, 0.0, where=where)
            same_values(got, bigram_probs(counts, 0.0), "The table", where)
    for alpha in (0.5, 0.01):
        with student.case():
            counts, where = (
                torch.tensor([[0, 0, 0], [1, 2, 3], [0, 0, 1]]),
                f"with alpha = {alpha}, a row without counts",
            )
            got = student.value("bigram_probs", counts, alpha, where=where)
            same_values(got, bigram_probs(counts, alpha), "The table", where)


def _probs_manners(student: Student) -> None:
    counts = _counts(5)
    quiet_and_pure(student, "bigram_probs", [counts, 0.5], bigram_probs(counts, 0.5), "The table", "`counts`")
    real = _counts(4).float()
    quiet_and_pure(student, "bigram_probs", [real, 0.5], bigram_probs(real, 0.5), "The table", "`counts`")
    empty = torch.tensor([[0, 0, 0], [1, 2, 3], [0, 4, 0]])
    for given in (empty, empty.float()):
        quiet_and_pure(student, "bigram_probs", [given, 0.0], bigram_probs(given, 0.0), "The table", "`counts`")
    device_is_kept(student, "bigram_probs", [counts, 0.5])
    device_is_kept(student, "bigram_probs", [empty, 0.0])


def _probs_precision(student: Student) -> None:
    where = "for float64 counts"
    many, empty = _counts(5).double(), torch.tensor([[0, 0, 0], [1, 2, 3], [0, 4, 0]]).double()
    for counts, alpha in ((many, 0.3), (many, 0.0), (empty, 0.0)):
        with student.case():
            same_tensor(
                student.value("bigram_probs", counts, alpha, where=where),
                bigram_probs(counts, alpha),
                "The table",
                where,
            )
    with student.case():
        gradients_agree(student, "bigram_probs", bigram_probs, [_counts(4).float()], ["`counts`"], fixed=(0.7,))


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("add-alpha smoothing, each row a distribution", 1.5, _probs_values),
        Check("alpha = 0: shares of the counts, exactly", 0.4, _probs_unsmoothed),
        Check("alpha = 0: an unseen row is uniform", 0.6, _probs_unseen),
        Check("float32 from whole numbers, inputs unchanged, any device", 0.3, _probs_manners, further=True),
        Check("float64 stays float64; gradients", 0.2, _probs_precision, further=True),
    ],
    working=r"""
import torch
import torch.nn.functional as F

def bigram_probs(counts, alpha=1.0):
    real = counts if counts.is_floating_point() else counts.to(torch.get_default_dtype())
    shares = F.normalize(real + alpha, p=1, dim=1, eps=1e-30)
    return shares + (1 - shares.sum(dim=1, keepdim=True)).clamp(min=0).round() / len(counts)
""",
    takes="tensor",
    gives="tensor",
)
