"""Search for two mistakes at once: if no single catalogued version explains an answer, run programs that combine two.

The signatures of the two single versions decide which pairs run first. A wrong pair is dropped at its first reply that
differs from the student's. A search ends after a fixed effort, not after a fixed time, so that a diagnosis does not
depend on the machine. It runs in a process of its own, with limits of time and memory, because nobody has seen these
programs run.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import logging
import os
import select
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...spec.catalogue import MISSED, SLIP
from ...spec.exercise import Check, Exercise, Wrong
from ...untrusted.uses import end_profilers
from ...untrusted.wire import Packet, is_tensor
from ..run_check import run_check, student_with_answer
from ..student import Student, agree
from .compose import composed
from .signatures import Signatures
from .sketch import Sketch

EFFORT = 450_000  # function calls that a search for one answer may take: about half a CPU second
PRICED = 9  # programs run to estimate how many calls a question takes
SECONDS = 10  # CPU seconds, for programs that never end
PATIENCE = 60.0  # seconds of wall-clock time, on a busy machine
MEMORY = 2 * 2**30  # bytes above the present use
LINUX = sys.platform.startswith("linux")
PR_SET_PDEATHSIG = 1

log = logging.getLogger(__name__)

Errors = list[tuple[str, str]]  # types and messages, in order


@dataclass(frozen=True)
class Pair:
    """Two versions whose merged program answers every check as the student did, with its errors by check."""

    versions: tuple[int, int]
    errors: dict[str, Errors]


@dataclass(frozen=True)
class StudentAnswers:
    """One student's answers: the answers and their sketch for each failed check, and the checks that passed."""

    record: dict[str, list]
    sketches: dict[str, Sketch]
    passed: tuple[str, ...]


def search(
    exercise: Exercise, signatures: Signatures, mine: StudentAnswers, first: Sequence[tuple[int, int]] = ()
) -> list[Pair] | None:
    """Return the pairs, each of different mistakes, whose merged programs answer as the student did.

    `first` are run first. Several pairs mean that the answers do not tell which it is. None means that the search did
    not finish.
    """
    if not hasattr(os, "fork") or any(_ended_early(answers) for answers in mine.record.values()):
        return []
    found = _in_fork(lambda: _search(exercise, signatures, mine, first))
    return None if found is None else [read(pair) for pair in found]


def read(said: Any) -> Pair:
    """Return a pair parsed from JSON data. Raises ValueError, TypeError or KeyError if it is malformed."""
    one, other = map(int, said["versions"])
    texts = {str(title): [(str(kind), str(text)) for kind, text in each] for title, each in said["errors"].items()}
    return Pair((one, other), texts)


def errors(answers: list) -> Iterator[tuple[str, str]]:
    """Yield the type and the message of each error among these answers, in order."""
    for answer in answers:
        problem = answer.get("problem") if isinstance(answer, dict) else None
        if isinstance(problem, dict) and problem.get("kind") == "raised":
            yield str(problem.get("type")), str(problem.get("text"))


def _ended_early(answers: list) -> bool:
    """Return whether an answer timed out or ended its process: no program that runs here answers like that."""
    problems = (answer.get("problem") for answer in answers if isinstance(answer, dict))
    return any(isinstance(problem, dict) and problem.get("kind") in ("time", "died") for problem in problems)


# --- running pairs ----------------------------------------------------------------------------------------------------


def _search(
    exercise: Exercise, signatures: Signatures, mine: StudentAnswers, first: Sequence[tuple[int, int]]
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    seen: set[frozenset[str]] = set()
    tried: set[str] = set()
    comparison = _Comparison(exercise, mine)
    most: float = EFFORT
    for versions in (*first, *ordered(exercise, signatures, mine)):
        if comparison.effort >= most:
            break
        names = frozenset(signatures.names[version] for version in versions)
        source = (
            None if names in seen else composed(exercise.name, *(signatures.versions[version] for version in versions))
        )
        if source is None or source in tried:
            continue
        tried.add(source)
        if (said := comparison.errors_if_alike(source)) is not None:
            seen.add(names)
            if not found:  # other pairs that answer the same way follow soon after it
                most = min(EFFORT, 2 * comparison.effort + EFFORT / 4)
            found.append({"versions": versions, "errors": said})
    return found


class _AnswerDiffers(BaseException):
    """Raised at an answer that is not the student's, to stop asking. A BaseException, so that no check catches it."""


class _Comparison:
    """Runs programs to find out whether they answer like the student, and counts the effort."""

    def __init__(self, exercise: Exercise, mine: StudentAnswers) -> None:
        self.exercise, self.mine = exercise, mine
        self.failed = [check for check in exercise.checks if check.title in mine.record]
        self.passed = [check for check in exercise.checks if check.title in mine.passed]
        self.questions = 0
        self.prices: list[float] = []  # calls per question, of the first programs
        self.asked = {check.title: 0 for check in self.failed}  # questions
        self.refuted = {check.title: 0 for check in self.failed}  # programs

    @property
    def effort(self) -> float:
        return self.questions * statistics.median(self.prices) if self.prices else 0.0

    def errors_if_alike(self, source: str) -> dict[str, Errors] | None:
        """Return a program's errors by check if it fails the same checks with the student's answers; else None."""
        if len(self.prices) == PRICED:
            return self._compare(source)
        calls = 0

        def called(frame: Any, event: str, argument: Any) -> None:
            nonlocal calls
            calls += event == "call"

        before = self.questions
        sys.setprofile(called)
        try:
            return self._compare(source)
        finally:
            sys.setprofile(None)
            self.prices.append(calls / max(1, self.questions - before))

    def _compare(self, source: str) -> dict[str, Errors] | None:
        try:
            student = student_with_answer(self.exercise, source)
        except Exception:  # the changes do not work together in one program
            return None
        through = student.send
        said: dict[str, Errors] = {}
        for check in self._failed_checks():
            title, before = check.title, self.questions
            student.send = self._comparing(student, through, title)
            same = self._fails(check, student) and agree(self.mine.record[title], student.record[title])
            self.asked[title] += self.questions - before
            if not same:
                self.refuted[title] += 1
                return None
            said[title] = list(errors(student.record[title]))
        student.send = self._counting(through)
        return None if any(self._fails(check, student) for check in self.passed) else said

    def _failed_checks(self) -> list[Check]:
        """Return the failed checks, those that refute most programs per question first; at first each gets a turn."""
        return sorted(self.failed, key=lambda check: (self.asked[check.title] + 1) / (self.refuted[check.title] + 1))

    def _fails(self, check: Check, student: Student) -> bool:
        """Return whether a program fails a check with the student's answers; False if it answers differently."""
        try:
            run_check(self.exercise, check, student)
        except Wrong:
            return True
        except _AnswerDiffers:
            return False
        return False

    def _counting(self, through: Callable[[Packet], Packet]) -> Callable[[Packet], Packet]:
        def line(packet: Packet) -> Packet:
            self.questions += 1
            return through(packet)

        return line

    def _comparing(
        self, student: Student, through: Callable[[Packet], Packet], title: str
    ) -> Callable[[Packet], Packet]:
        """Return a sender that compares the answers so far before each question, when a check's notes are in place."""
        line, theirs = self._counting(through), self.mine.record[title]
        seen = 0

        def compared(packet: Packet) -> Packet:
            nonlocal seen
            answers = student.record[title]
            if len(answers) > len(theirs):
                raise _AnswerDiffers
            while seen < len(answers):
                if not agree(theirs[seen], answers[seen]) and not _may_agree_later(theirs[seen], answers[seen]):
                    raise _AnswerDiffers
                seen += 1
            return line(packet)

        return compared


def _may_agree_later(theirs: Any, answer: Any) -> bool:
    """Return whether a check may yet replace a tensor by a text, as it does after further questions."""
    return (
        isinstance(theirs, dict)
        and isinstance(theirs.get("value"), str)
        and isinstance(answer, dict)
        and is_tensor(answer.get("value"))
    )


# --- the order of pairs -----------------------------------------------------------------------------------------------


def ordered(exercise: Exercise, signatures: Signatures, mine: StudentAnswers) -> list[tuple[int, int]]:
    """Return the pairs of versions that may explain these answers, the most plausible first.

    If one of two has no effect on a check, the answers should be the other's. If one leaves everything but numbers as
    it is, the rest should be as with the other. The fewer checks contradict this, the more plausible the pair.
    """
    columns = {check.title: column for column, check in enumerate(exercise.checks)}
    passed = [columns[title] for title in mine.passed if title in columns]
    failed = [columns[title] for title in mine.record if title in columns]
    rows = np.flatnonzero(~signatures.failed[:, passed].any(axis=1) & signatures.failed[:, failed].any(axis=1))
    count = len(rows)
    against = np.zeros((count, count))
    for title in mine.record:
        against += _contradictions(signatures, rows, columns[title], mine.sketches[title])
    names = np.array(signatures.names)[rows]
    one, other = np.triu_indices(count, 1)
    chosen = names[one] != names[other]
    one, other = one[chosen], other[chosen]
    grade = np.array([_grade(exercise, name) for name in names])
    spread = signatures.failed[rows].sum(axis=1)
    keys = (one + other, grade[one] + grade[other], spread[one] + spread[other], against[one, other])
    return [(int(rows[one[at]]), int(rows[other[at]])) for at in np.lexsort(keys)]


def _grade(exercise: Exercise, name: str) -> int:
    return {SLIP: 0, MISSED: 2}.get(exercise.grades.get(name, ""), 1)


def _contradictions(signatures: Signatures, rows: np.ndarray, column: int, mine: Sketch) -> np.ndarray:
    """Return booleans [rows, rows]: whether this check speaks against two versions together."""
    digests, right = signatures.digests[rows, column], _right(signatures, column)
    same = (digests == mine.digest) & _near(signatures, rows, column, mine.sums[0], mine.sums[1], mine.far)
    looks = digests == mine.digest
    if right is None:
        return np.zeros((len(rows), len(rows)), bool)
    plain = digests == signatures.digests[right, column]
    reach = 1e-3, 1e-7
    idle = plain & _near(
        signatures, rows, column, signatures.single[right, column], signatures.double[right, column], reach
    )
    by_looks = np.where(plain[:, None], ~looks[None, :], np.where(plain[None, :], ~looks[:, None], False))
    return np.where(idle[:, None], ~same[None, :], np.where(idle[None, :], ~same[:, None], by_looks))


def _right(signatures: Signatures, column: int) -> int | None:
    """Return a version that passes a check with the most common answer, the reference's; None if none passes."""
    passing = np.flatnonzero(~signatures.failed[:, column])
    if not len(passing):
        return None
    _, first, counts = np.unique(signatures.digests[passing, column], return_index=True, return_counts=True)
    return int(passing[first[counts.argmax()]])


def _near(
    signatures: Signatures,
    rows: np.ndarray,
    column: int,
    single: np.ndarray,
    double: np.ndarray,
    reach: tuple[float, ...],
) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return (np.abs(signatures.single[rows, column] - single).max(-1) <= reach[0]) & (
            np.abs(signatures.double[rows, column] - double).max(-1) <= reach[1]
        )


# --- a separate process -----------------------------------------------------------------------------------------------


def _in_fork(work: Callable[[], Any]) -> Any:
    """Return the result of `work` (as JSON), run in a fork of this process; None if that fails or times out.

    A fork that uses up its CPU time gives [].
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with open(writing, "w") as out:
            try:
                os.close(reading)
                _set_limits()
                json.dump({"result": work()}, out)
            except BaseException as error:
                json.dump({"trouble": repr(error)}, out)
            finally:
                out.flush()
                os._exit(0)
    os.close(writing)
    try:
        said = _read_all(reading)
    finally:
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)  # it has sent everything, or it is too late
        _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return []  # one of its programs never ends, and never will
    try:
        answer = json.loads(said or "{}")
    except ValueError:  # truncated
        return None
    if "trouble" in answer:
        log.warning("the search for two mistakes at once stopped: %s", answer["trouble"])
    return answer.get("result")


def _read_all(reading: int) -> bytes:
    parts: list[bytes] = []
    deadline = time.monotonic() + PATIENCE
    while (left := deadline - time.monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            part = os.read(reading, 2**16)
            if not part:
                return b"".join(parts)
            parts.append(part)
    return b""


def _set_limits() -> None:
    """Set the fork's own limits, tie its life to its parent's, and discard its output."""
    import resource

    if LINUX:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        _limit(resource.RLIMIT_AS, used + MEMORY)
    _limit(resource.RLIMIT_CPU, SECONDS)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    logging.disable(logging.CRITICAL)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    end_profilers()  # a tracer slows each call so much that no search would finish


def _limit(kind: int, most: int) -> None:
    import resource

    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, hard))
