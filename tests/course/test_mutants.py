"""Tests of the checks without the catalogue: small generated mistakes lose marks too."""

from __future__ import annotations

import ast
import contextlib
import logging
import signal
from collections.abc import Iterator

import pytest

from autograder.spec.course import exercises
from autograder.spec.exercise import Exercise
from mutants import mutants
from equivalent_mutants import EQUIVALENT
from autograder.untrusted.responder import Responder
from autograder.judge.run_check import run_check, namespace_with
from autograder.judge.student import Student

SECONDS = 5.0  # of the processor for one mutant, which may never end; no right answer takes half of that
EXERCISES = [pytest.param(exercise, id=exercise.name) for exercise in exercises()]


class Impatient(Student):
    """A student who is asked no more once a case has failed."""

    @contextlib.contextmanager
    def case(self) -> Iterator[None]:
        yield


class TooLongError(Exception):
    """The mutant has had its time."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Ends what takes longer; processor time is counted, so that a busy machine changes nothing."""

    def stop(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.5)  # and again, should the mutant catch the first
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def keeps_all_marks(exercise: Exercise, source: str, seconds: float = SECONDS) -> bool:
    """Whether every check passes. Whatever stops on the way, a class that cannot be defined too, costs marks."""
    try:
        with limited(seconds):
            student = Impatient(Responder(namespace_with(exercise, source)).answer)
            for check in exercise.checks:
                run_check(exercise, check, student)
    except Exception:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_mutant_loses_marks_but_those_that_are_right(exercise, caplog):
    caplog.set_level(logging.CRITICAL)  # strange answers are what mutants give
    assert keeps_all_marks(exercise, exercise.source), "the reference itself should"
    made = mutants(exercise.source)
    survivors = {m.description for m in made if keeps_all_marks(exercise, m.source)}
    listed = set(EQUIVALENT.get(exercise.name, ()))
    assert not survivors - listed, "sharpen a check, or list these in equivalent_mutants.py with the reason"
    lost = listed - survivors
    assert not lost, "these lose marks: strike them out of equivalent_mutants.py"
    assert not listed - {m.description for m in made}, "there are no such mutants any more: strike them out"


def test_the_list_of_right_mutants_names_exercises_and_reasons():
    assert set(EQUIVALENT) <= {exercise.name for exercise in exercises()}
    assert all(reason.endswith(".") for reasons in EQUIVALENT.values() for reason in reasons.values())


# --- the mutator ------------------------------------------------------------------------------------------------------


def made_from(source: str) -> list[str]:
    return [mutant.description for mutant in mutants(source)]


def test_each_place_of_a_program_is_changed_in_turn():
    source = '''
def clip(x, low=0):
    """Not below low = 0."""
    if x < low:
        raise ValueError(f"{x + 1} is too low")
    return max(x, low)
'''
    head, guard, message = "def clip(x, low=0):", "if x < low:", "raise ValueError(f'{x + 1} is too low')"
    assert made_from(source) == [
        f"{head} => def clip(x, low):",
        f"{head} => def clip(x, low=1):",
        f"{head} => def clip(x, low=2):",
        f"{guard} => if True:",
        f"{guard} => if False:",
        f"{guard} => if x <= low:",
        f"{message} => pass",
        f"{message} => {message.replace('ValueError', 'RuntimeError')}",
        "return max(x, low) => return max(low, x)",
        "return max(x, low) => return min(x, low)",
    ]
    assert [mutant.line for mutant in mutants(source)][-1] == 6


@pytest.mark.parametrize("exercise", EXERCISES)
def test_mutants_are_programs_that_differ_from_the_reference_and_from_each_other(exercise):
    found = mutants(exercise.source)
    programs = [ast.dump(ast.parse(mutant.source)) for mutant in found]
    assert found == mutants(exercise.source), "another order, or other mutants, each time"
    assert len({*programs, ast.dump(ast.parse(ast.unparse(ast.parse(exercise.source))))}) == len(found) + 1
    assert len({mutant.description for mutant in found}) == len(found) >= 3
    lines = range(1, len(exercise.source.splitlines()) + 1)
    assert all(mutant.line in lines for mutant in found)


def test_an_endless_mutant_loses_marks():
    [exercise] = [exercise for exercise in exercises() if exercise.name == "perplexity"]
    assert not keeps_all_marks(exercise, "def perplexity(mean_nll):\n    while True:\n        pass\n", seconds=0.5)
