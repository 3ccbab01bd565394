"""Two mistakes at once: where no single catalogued version explains an answer, pairs of them are composed and asked.

Which pairs are tried first is told by what is known of the two by themselves; a pair that is wrong is given up at its
first reply that differs from the student's. A search ends after some effort, not after some time, so that what an
answer is called depends on no machine. It happens in a process of its own, bounded in time and memory: nobody has ever
seen these programs run.
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
import torch

from ...spec.catalogue import MISSED, SLIP
from ...spec.exercise import Check, Exercise, Wrong
from ...untrusted.call_tracing import end_profilers
from ...untrusted.wire import Packet
from ..run_check import answering, ask
from ..student import Student, agree
from .compose import composed
from .signatures import Signatures
from .sketch import Sketch

EFFORT = 450_000  # calls of functions that trying pairs for one answer may take: about half a CPU second
PRICED = 9  # programs tried before it is known how many calls a question takes
SECONDS = 10  # of CPU, for programs that never end
PATIENCE = 60.0  # seconds by the clock, on a machine that has much else to do
MEMORY = 2 * 2**30  # bytes above what is in use
LINUX = sys.platform.startswith("linux")
PR_SET_PDEATHSIG = 1

log = logging.getLogger(__name__)

Errors = list[tuple[str, str]]  # types and messages, in order


@dataclass(frozen=True)
class Pair:
    """Two versions whose program answers every check as the student did, and by check what its errors said."""

    versions: tuple[int, int]
    errors: dict[str, Errors]


@dataclass(frozen=True)
class Answered:
    """One student's answers: by failed check what was answered and its sketch, and the checks that were passed."""

    record: dict[str, list]
    sketches: dict[str, Sketch]
    passed: tuple[str, ...]


def search(
    exercise: Exercise, known: Signatures, mine: Answered, first: Sequence[tuple[int, int]] = ()
) -> list[Pair] | None:
    """The pairs, each of other mistakes, whose composed programs answer as the student did; `first` are tried first.

    If there are several, nobody can say which it is. None if the search did not come to an end.
    """
    if not hasattr(os, "fork") or any(_never_came_back(answers) for answers in mine.record.values()):
        return []
    found = _in_a_process(lambda: _search(exercise, known, mine, first))
    return None if found is None else [read(pair) for pair in found]


def read(said: Any) -> Pair:
    """A pair that was written down as JSON. Raises ValueError, TypeError or KeyError if it was none."""
    one, other = map(int, said["versions"])
    texts = {str(title): [(str(kind), str(text)) for kind, text in each] for title, each in said["errors"].items()}
    return Pair((one, other), texts)


def errors(answers: list) -> Iterator[tuple[str, str]]:
    """What was raised among these answers, in order: the type, and what was said."""
    for answer in answers:
        problem = answer.get("problem") if isinstance(answer, dict) else None
        if isinstance(problem, dict) and problem.get("kind") == "raised":
            yield str(problem.get("type")), str(problem.get("text"))


def _never_came_back(answers: list) -> bool:
    """No program that is asked here answers like this."""
    problems = (answer.get("problem") for answer in answers if isinstance(answer, dict))
    return any(isinstance(problem, dict) and problem.get("kind") in ("time", "died") for problem in problems)


# --- trying pairs -----------------------------------------------------------------------------------------------------


def _search(
    exercise: Exercise, known: Signatures, mine: Answered, first: Sequence[tuple[int, int]]
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    seen: set[frozenset[str]] = set()
    tried: set[str] = set()
    asked = _Asked(exercise, mine)
    most: float = EFFORT
    for versions in (*first, *ordered(exercise, known, mine)):
        if asked.effort >= most:
            break
        names = frozenset(known.names[version] for version in versions)
        source = None if names in seen else composed(exercise.name, *(known.versions[version] for version in versions))
        if source is None or source in tried:
            continue
        tried.add(source)
        if (said := asked.like(source)) is not None:
            seen.add(names)
            if not found:  # others that answer the same way stand near it
                most = min(EFFORT, 2 * asked.effort + EFFORT / 4)
            found.append({"versions": versions, "errors": said})
    return found


class _Differs(BaseException):
    """An answer is not the student's: nothing more need be asked. No check may catch it."""


class _Asked:
    """Asks programs whether they answer like the student, and reckons the effort."""

    def __init__(self, exercise: Exercise, mine: Answered) -> None:
        self.exercise, self.mine = exercise, mine
        self.failed = [check for check in exercise.checks if check.title in mine.record]
        self.passed = [check for check in exercise.checks if check.title in mine.passed]
        self.questions = 0
        self.prices: list[float] = []  # calls a question, of the first programs
        self.asked = {check.title: 0 for check in self.failed}  # questions
        self.refuted = {check.title: 0 for check in self.failed}  # programs

    @property
    def effort(self) -> float:
        return self.questions * statistics.median(self.prices) if self.prices else 0.0

    def like(self, source: str) -> dict[str, Errors] | None:
        """What a program's errors say, by check, if it answers each failed check as the student and fails no other."""
        if len(self.prices) == PRICED:
            return self._like(source)
        calls = 0

        def called(frame: Any, event: str, argument: Any) -> None:
            nonlocal calls
            calls += event == "call"

        before = self.questions
        sys.setprofile(called)
        try:
            return self._like(source)
        finally:
            sys.setprofile(None)
            self.prices.append(calls / max(1, self.questions - before))

    def _like(self, source: str) -> dict[str, Errors] | None:
        try:
            someone = answering(self.exercise, source)
        except Exception:  # changes that do not go together in one program
            return None
        through = someone.pass_on
        said: dict[str, Errors] = {}
        for check in self._telling():
            title, before = check.title, self.questions
            someone.pass_on = self._comparing(someone, through, title)
            same = self._fails(check, someone) and agree(self.mine.record[title], someone.record[title])
            self.asked[title] += self.questions - before
            if not same:
                self.refuted[title] += 1
                return None
            said[title] = list(errors(someone.record[title]))
        someone.pass_on = self._counting(through)
        return None if any(self._fails(check, someone) for check in self.passed) else said

    def _telling(self) -> list[Check]:
        """The failed checks, those first that refuted most programs for a question; each is tried at the beginning."""
        return sorted(self.failed, key=lambda check: (self.asked[check.title] + 1) / (self.refuted[check.title] + 1))

    def _fails(self, check: Check, someone: Student) -> bool:
        """Whether it fails; an answer that is not the student's is no failure of the student's."""
        try:
            ask(self.exercise, check, someone)
        except Wrong:
            return True
        except _Differs:
            return False
        return False

    def _counting(self, through: Callable[[Packet], Packet]) -> Callable[[Packet], Packet]:
        def line(packet: Packet) -> Packet:
            self.questions += 1
            return through(packet)

        return line

    def _comparing(
        self, someone: Student, through: Callable[[Packet], Packet], title: str
    ) -> Callable[[Packet], Packet]:
        """Before each question, the answers so far are compared: what a check notes of one stands there by then."""
        line, theirs = self._counting(through), self.mine.record[title]
        seen = 0

        def compared(packet: Packet) -> Packet:
            nonlocal seen
            answers = someone.record[title]
            if len(answers) > len(theirs):
                raise _Differs
            while seen < len(answers):
                if not agree(theirs[seen], answers[seen]) and not _may_still_agree(theirs[seen], answers[seen]):
                    raise _Differs
                seen += 1
            return line(packet)

        return compared


def _may_still_agree(theirs: Any, answer: Any) -> bool:
    """A check may note in words, when it has asked for more, what a tensor came to."""
    return (
        isinstance(theirs, dict)
        and isinstance(theirs.get("value"), str)
        and isinstance(answer, dict)
        and isinstance(answer.get("value"), torch.Tensor)
    )


# --- which pairs first ------------------------------------------------------------------------------------------------


def ordered(exercise: Exercise, known: Signatures, mine: Answered) -> list[tuple[int, int]]:
    """The pairs of versions that may explain these answers, the most plausible first.

    Where one of two has no effect on a check, the answers should be the other's; where one leaves all that is not a
    number as it is, the rest should be as with the other. The fewer checks of which that is not so, the better.
    """
    columns = {check.title: column for column, check in enumerate(exercise.checks)}
    passed = [columns[title] for title in mine.passed if title in columns]
    failed = [columns[title] for title in mine.record if title in columns]
    rows = np.flatnonzero(~known.failed[:, passed].any(axis=1) & known.failed[:, failed].any(axis=1))
    count = len(rows)
    against = np.zeros((count, count))
    for title in mine.record:
        against += _against(known, rows, columns[title], mine.sketches[title])
    names = np.array(known.names)[rows]
    one, other = np.triu_indices(count, 1)
    chosen = names[one] != names[other]
    one, other = one[chosen], other[chosen]
    grade = np.array([_grade(exercise, name) for name in names])
    spread = known.failed[rows].sum(axis=1)
    keys = (one + other, grade[one] + grade[other], spread[one] + spread[other], against[one, other])
    return [(int(rows[one[at]]), int(rows[other[at]])) for at in np.lexsort(keys)]


def _grade(exercise: Exercise, name: str) -> int:
    return {SLIP: 0, MISSED: 2}.get(exercise.grades.get(name, ""), 1)


def _against(known: Signatures, rows: np.ndarray, column: int, mine: Sketch) -> np.ndarray:
    """[rows, rows] of truth values: what this check says against two versions together."""
    digests, right = known.digests[rows, column], _right(known, column)
    same = (digests == mine.digest) & _near(known, rows, column, mine.sums[0], mine.sums[1], mine.far)
    looks = digests == mine.digest
    if right is None:
        return np.zeros((len(rows), len(rows)), bool)
    plain = digests == known.digests[right, column]
    reach = 1e-3, 1e-7
    idle = plain & _near(known, rows, column, known.single[right, column], known.double[right, column], reach)
    by_looks = np.where(plain[:, None], ~looks[None, :], np.where(plain[None, :], ~looks[:, None], False))
    return np.where(idle[:, None], ~same[None, :], np.where(idle[None, :], ~same[:, None], by_looks))


def _right(known: Signatures, column: int) -> int | None:
    """A version that passes a check and answers it as most of those do: as the reference."""
    passing = np.flatnonzero(~known.failed[:, column])
    if not len(passing):
        return None
    _, first, counts = np.unique(known.digests[passing, column], return_index=True, return_counts=True)
    return int(passing[first[counts.argmax()]])


def _near(
    known: Signatures, rows: np.ndarray, column: int, single: np.ndarray, double: np.ndarray, reach: tuple[float, ...]
) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return (np.abs(known.single[rows, column] - single).max(-1) <= reach[0]) & (
            np.abs(known.double[rows, column] - double).max(-1) <= reach[1]
        )


# --- a process of its own ---------------------------------------------------------------------------------------------


def _in_a_process(work: Callable[[], Any]) -> Any:
    """What `work` returns (what JSON can say), done in a fork of this process; None if that does not come back."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with open(writing, "w") as out:
            try:
                os.close(reading)
                _enter()
                json.dump({"result": work()}, out)
            except BaseException as error:
                json.dump({"trouble": repr(error)}, out)
            finally:
                out.flush()
                os._exit(0)
    os.close(writing)
    try:
        said = _all_of(reading)
    finally:
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)  # it has said everything, or nobody waits for it any longer
        _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return []  # one of its programs never ends: that will be so the next time
    try:
        answer = json.loads(said or "{}")
    except ValueError:  # cut off
        return None
    if "trouble" in answer:
        log.warning("the search for two mistakes at once stopped: %s", answer["trouble"])
    return answer.get("result")


def _all_of(reading: int) -> bytes:
    parts: list[bytes] = []
    deadline = time.monotonic() + PATIENCE
    while (left := deadline - time.monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            part = os.read(reading, 2**16)
            if not part:
                return b"".join(parts)
            parts.append(part)
    return b""


def _enter() -> None:
    """The fork's own limits; it ends with the process that it came from, and what it prints is nobody's business."""
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
    torch.set_num_threads(1)
    end_profilers()  # a tracer makes each call so slow that no search would come to its end


def _limit(kind: int, most: int) -> None:
    import resource

    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, hard))
