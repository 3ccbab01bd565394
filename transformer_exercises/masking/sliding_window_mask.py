"""`sliding_window_mask`: open exactly from the token itself back to the edge of the window, for windows narrow and wide.

The mistakes: off by one, one side only, both sides, blocks or a fixed window instead of one that slides.
"""

from __future__ import annotations

from autograder.spec.compare import same_tensor
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.student import Student

sliding_window_mask = reference("sliding_window_mask")


def _compared(student: Student, T: int, window: int) -> None:
    with student.case():
        where = f"for T = {T} and window = {window}"
        got = student.value("sliding_window_mask", T, window, where=where)
        same_tensor(got, sliding_window_mask(T, window), "The mask", where)


def _slides(student: Student) -> None:
    for T, window in ((5, 2), (6, 3), (8, 3), (7, 4), (9, 5), (3, 2), (40, 7), (130, 33), (520, 129)):
        _compared(student, T, window)


def _edges(student: Student) -> None:
    for T, window in ((6, 1), (5, 4), (5, 5), (5, 6), (4, 9), (7, 200), (1, 1), (1, 3), (2, 1), (2, 2)):
        _compared(student, T, window)
    with student.case():
        named, where = {"T": 4, "window": 2}, "with arguments given by name"
        got = student.call("sliding_window_mask", [], named, where=where)["value"]
        same_tensor(got, sliding_window_mask(4, 2), "The mask", where)


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("open within the window, blocked before and after it", 2.0, _slides),
        Check("windows of 1, of T and of more than T", 1.0, _edges),
    ],
    working=r"""
import torch
from torch import nn

def sliding_window_mask(T, window):
    causal = nn.Transformer.generate_square_subsequent_mask(T).isinf()
    return causal | causal.T.roll(window - 1, dims=0).tril(-window)
""",
    takes="number",
    gives="tensor",
)
