"""Run one check on a student's work, and build the namespace in which a source is the answer to an exercise."""

import contextlib
import functools
import logging
import math
import re
import sys
from collections.abc import Iterator
from typing import Any

from ..spec.course import blank_namespace, compiled, right_programs
from ..spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from ..spec.seeds import restart_seeds
from .student import Enough, Student, in_process

log = logging.getLogger(__name__)


@contextlib.contextmanager
def _gradients_on() -> Iterator[None]:
    """Switch gradients on: an answer that leaves them off in this process must not affect the next check."""
    with sys.modules["torch"].enable_grad() if "torch" in sys.modules else contextlib.nullcontext():
        yield


@_gradients_on()
def run_check(exercise: Exercise, check: Check, student: Student, drawn_for: str = "", cases: float = math.inf) -> None:
    """Run a check and record the replies in `student.replies`. Raises `Wrong` if the check fails.

    With `drawn_for`, a secret text of a submission, the inputs are drawn for it. The check ends after so many `cases`.
    """
    student.begin(check.title, cases)
    student.names_asked = _names_of_parts(exercise)
    restart_seeds(f"{exercise.name}: {check.title}", drawn_for)
    try:
        with contextlib.suppress(Enough):
            check.run(student)
        student.finish()
    except ValuesDiffer as found:
        found.besides = student.failed_otherwise
        raise
    except Wrong:
        raise
    except Exception as error:  # the answer is so strange that comparing it failed: wrong, and logged for the authors
        log.exception("%s: the check %r stopped on a strange answer", exercise.name, check.title)
        raise Wrong("The result could not be compared: it is not of the kind that was asked for.") from error
    finally:
        student.sort_replies()


@functools.cache
def _names_of_parts(exercise: Exercise) -> list[str]:
    """Return the names that the box gives to layers and parameters: those that the reference sets."""
    return sorted(set(re.findall(r"\bself\.(\w+) = ", exercise.source)))


def namespace_with(exercise: Exercise, source: str) -> dict[str, Any]:
    """Return a notebook's namespace in which this source is the answer and the other exercises are right."""
    namespace = blank_namespace(exercise.notebook)
    for other, text in right_programs(exercise.notebook).items():
        if other != exercise.name:
            exec(compiled(text, "<right program>"), namespace)
    with _gradients_on():
        exec(compiled(source, f"<{exercise.name}>"), namespace)
    return namespace


def student_with_answer(exercise: Exercise, source: str) -> Student:
    """Return a student in this process whose answer is this source."""
    return in_process(namespace_with(exercise, source))
