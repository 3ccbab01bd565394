"""Search for two mistakes at once: if no single catalogued variant explains an answer, run programs that combine two.

The fingerprints of the two single variants decide which pairs run first. A wrong pair is dropped at its first reply
that differs from the student's. A search ends after a fixed effort, not after a fixed time, so that a diagnosis does
not depend on the machine. It runs in a process of its own, with limits of time and memory, because nobody has seen
these programs run.
"""

import contextlib
import ctypes
import json
import logging
import multiprocessing
import os
import signal
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...spec.catalogue import FUNDAMENTAL, MINOR
from ...spec.exercise import Check, Exercise, Wrong
from ...untrusted.wire import Packet, is_tensor
from ..run_check import run_check, student_with_answer
from ..student import RecordedReplies, Reply, Send, Student, agree
from .compose import composed
from .fingerprints import Fingerprints
from .reply_hash import ReplyHash

EFFORT = 450_000  # function calls that a search for one answer may take: about half a CPU second
PRICED = 9  # programs run to estimate how many calls a request takes
SECONDS = 10  # CPU seconds, for programs that never end
PATIENCE = 60.0  # seconds of wall-clock time, on a busy machine
MEMORY = 2 * 2**30  # bytes above the present use
PR_SET_PDEATHSIG = 1

log = logging.getLogger(__name__)

Errors = list[tuple[str, str]]  # types and messages, in order


@dataclass(frozen=True)
class Pair:
    """Two variants whose merged program answers every check as the student did, with its errors by check."""

    variants: tuple[int, int]
    errors: dict[str, Errors]


@dataclass(frozen=True)
class StudentReplies:
    """One student's answers: the replies and their hash for each failed check, and the checks that passed."""

    replies: RecordedReplies
    hashes: dict[str, ReplyHash]
    passed: tuple[str, ...]


def search(
    exercise: Exercise, fingerprints: Fingerprints, actual: StudentReplies, first: Sequence[tuple[int, int]] = ()
) -> list[Pair] | None:
    """Return the pairs, each of different mistakes, whose merged programs answer as the student did.

    `first` are run first. Several pairs mean that the answers do not tell which it is. None means that the search did
    not finish.
    """
    problems = [problem for answers in actual.replies.values() for problem in _problems(answers)]
    if not hasattr(os, "fork") or any(problem.get("kind") in ("time", "died") for problem in problems):
        return []  # no program that runs here times out or ends its process
    found = _in_fork(lambda: _search(exercise, fingerprints, actual, first))
    return None if found is None else [read(pair) for pair in found]


def read(stored: Any) -> Pair:
    """Return a pair parsed from JSON data. Raises ValueError, TypeError or KeyError if it is malformed."""
    one, other = map(int, stored["variants"])
    texts = {str(title): [(str(kind), str(text)) for kind, text in each] for title, each in stored["errors"].items()}
    return Pair((one, other), texts)


def errors(answers: list[Reply]) -> Iterator[tuple[str, str]]:
    """Yield the type and the message of each error among these answers, in order."""
    for problem in _problems(answers):
        if problem.get("kind") == "raised":
            yield str(problem.get("type")), str(problem.get("text"))


def _problems(answers: list[Reply]) -> Iterator[dict[str, Any]]:
    found = (answer.get("problem") for answer in answers if isinstance(answer, dict))
    return (problem for problem in found if isinstance(problem, dict))


def _search(
    exercise: Exercise, fingerprints: Fingerprints, actual: StudentReplies, first: Sequence[tuple[int, int]]
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    seen: set[frozenset[str]] = set()
    tried: set[str] = set()
    comparison = _Comparison(exercise, actual)
    limit: float = EFFORT
    for one, other in (*first, *ordered(exercise, fingerprints, actual)):
        if comparison.effort >= limit:
            break
        names = frozenset({fingerprints.names[one], fingerprints.names[other]})
        if names in seen:
            continue
        source = composed(exercise.name, fingerprints.variants[one], fingerprints.variants[other])
        if source is None or source in tried:
            continue
        tried.add(source)
        if (found_errors := comparison.errors_if_alike(source)) is not None:
            seen.add(names)
            if not found:  # other pairs that answer the same way follow soon after it
                limit = min(EFFORT, 2 * comparison.effort + EFFORT / 4)
            found.append({"variants": (one, other), "errors": found_errors})
    return found


class _AnswerDiffers(BaseException):
    """Raised at an answer that is not the student's, to stop asking. A BaseException, so that no check catches it."""


class _Comparison:
    """Runs programs to find out whether they answer like the student, and counts the effort."""

    def __init__(self, exercise: Exercise, actual: StudentReplies) -> None:
        self.exercise, self.replies = exercise, actual.replies
        self.failed = [check for check in exercise.checks if check.title in actual.replies]
        self.passed = [check for check in exercise.checks if check.title in actual.passed]
        self.requests = 0
        self.costs_of: list[float] = []  # calls per request, of the first programs
        self.requests_of = {check.title: 0 for check in self.failed}  # requests
        self.refuted = {check.title: 0 for check in self.failed}  # programs

    @property
    def effort(self) -> float:
        return self.requests * statistics.median(self.costs_of) if self.costs_of else 0.0

    def errors_if_alike(self, source: str) -> dict[str, Errors] | None:
        """Return a program's errors by check if it fails the same checks with the student's answers; else None."""
        if len(self.costs_of) == PRICED:
            return self._compare(source)
        calls = 0

        def called(frame: object, event: str, argument: object) -> None:
            nonlocal calls
            calls += event == "call"

        before = self.requests
        sys.setprofile(called)
        try:
            return self._compare(source)
        finally:
            sys.setprofile(None)
            self.costs_of.append(calls / max(1, self.requests - before))

    def _compare(self, source: str) -> dict[str, Errors] | None:
        try:
            student = student_with_answer(self.exercise, source)
        except Exception:  # the changes do not work together in one program
            return None
        found_errors: dict[str, Errors] = {}
        # Those that refute most programs per request come first; at the beginning each gets a turn.
        sent, refuted = self.requests_of, self.refuted
        for check in sorted(self.failed, key=lambda each: (sent[each.title] + 1) / (refuted[each.title] + 1)):
            title, before = check.title, self.requests
            expected = self.replies[title]
            same = self._fails(check, student, expected) and agree(expected, student.replies[title], single=True)
            self.requests_of[title] += self.requests - before
            if not same:
                self.refuted[title] += 1
                return None
            found_errors[title] = list(errors(student.replies[title]))
        return None if any(self._fails(check, student) for check in self.passed) else found_errors

    def _fails(self, check: Check, student: Student, expected: list[Reply] | None = None) -> bool:
        """Return whether a program fails a check, with these answers if given; False if it answers differently."""
        seen = 0

        def compared(packet: Packet, send: Send) -> Packet:
            """Compare the answers so far before each request, when a check's notes are in place."""
            nonlocal seen
            if expected is not None:
                answers = student.replies[check.title]
                if len(answers) > len(expected):
                    raise _AnswerDiffers
                for actual, answer in zip(expected[seen:], answers[seen:], strict=False):
                    if not agree(actual, answer, single=True) and not _may_agree_later(actual, answer):
                        raise _AnswerDiffers
                seen = len(answers)
            self.requests += 1
            return send(packet)

        try:
            with student.intercepted(compared):
                run_check(self.exercise, check, student)
        except Wrong:
            return True
        except _AnswerDiffers:
            pass
        return False


def _may_agree_later(expected: Any, answer: Any) -> bool:
    """Return whether a check may yet note something in place of a tensor or of None, after further requests."""
    if not (isinstance(expected, dict) and isinstance(answer, dict)):
        return False
    value = answer.get("value")
    return isinstance(expected.get("value"), (str, dict)) and (value is None or is_tensor(value))


def ordered(exercise: Exercise, fingerprints: Fingerprints, actual: StudentReplies) -> list[tuple[int, int]]:
    """Return the pairs of variants that may explain these answers, the most plausible first.

    If one of two has no effect on a check, the answers should be the other's. If one leaves everything but numbers as
    it is, the rest should be as with the other. The fewer checks contradict this, the more plausible the pair.
    """
    columns = {check.title: column for column, check in enumerate(exercise.checks)}
    passed = [columns[title] for title in actual.passed if title in columns]
    failed = [columns[title] for title in actual.replies if title in columns]
    rows = np.flatnonzero(~fingerprints.failed[:, passed].any(axis=1) & fingerprints.failed[:, failed].any(axis=1))
    count = len(rows)
    against = np.zeros((count, count))
    for title in actual.replies:
        against += _contradictions(fingerprints, rows, columns[title], actual.hashes[title])
    names = np.array(fingerprints.names)[rows]
    one, other = np.triu_indices(count, 1)
    chosen = names[one] != names[other]
    one, other = one[chosen], other[chosen]
    severity = np.array([{MINOR: 0, FUNDAMENTAL: 2}.get(exercise.severities.get(name, ""), 1) for name in names])
    spread = fingerprints.failed[rows].sum(axis=1)
    keys = (one + other, severity[one] + severity[other], spread[one] + spread[other], against[one, other])
    return [(int(rows[one[at]]), int(rows[other[at]])) for at in np.lexsort(keys)]


def _contradictions(fingerprints: Fingerprints, rows: np.ndarray, column: int, actual: ReplyHash) -> np.ndarray:
    """Return booleans [rows, rows]: whether this check speaks against two variants together."""

    def near(single: np.ndarray, double: np.ndarray, reach: tuple[float, ...]) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            gaps = fingerprints.single[rows, column] - single, fingerprints.double[rows, column] - double
            single_near, double_near = (np.abs(gap).max(-1) <= limit for gap, limit in zip(gaps, reach, strict=False))
        return np.asarray(single_near & double_near)

    right = _right(fingerprints, column)
    if right is None:
        return np.zeros((len(rows), len(rows)), bool)
    digests = fingerprints.digests[rows, column]
    looks, plain = digests == actual.digest, digests == fingerprints.digests[right, column]
    same = looks & near(actual.sums[0], actual.sums[1], actual.far)
    idle = plain & near(fingerprints.single[right, column], fingerprints.double[right, column], (1e-3, 1e-7))
    by_looks = np.where(plain[:, None], ~looks[None, :], np.where(plain[None, :], ~looks[:, None], False))
    return np.where(idle[:, None], ~same[None, :], np.where(idle[None, :], ~same[:, None], by_looks))


def _right(fingerprints: Fingerprints, column: int) -> int | None:
    """Return a variant that passes a check with the most common answer, the reference's; None if none passes."""
    passing = np.flatnonzero(~fingerprints.failed[:, column])
    if not len(passing):
        return None
    _, first, counts = np.unique(fingerprints.digests[passing, column], return_index=True, return_counts=True)
    return int(passing[first[counts.argmax()]])


def _in_fork(work: Callable[[], Any]) -> Any:
    """Return the result of `work` (as JSON), run in a fork of this process; None if that fails or times out.

    A fork that uses up its CPU time gives [].
    """
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if not child:
        try:
            receiver.close()
            _set_limits()
            message = json.dumps({"result": work()})
        except BaseException as error:
            message = json.dumps({"trouble": repr(error)})
        try:
            sender.send_bytes(message.encode())
        finally:
            os._exit(0)
    sender.close()
    answer: dict[str, Any] = {}
    try:
        with receiver, contextlib.suppress(EOFError, OSError, ValueError):  # the fork has ended, in the middle perhaps
            answer = json.loads(receiver.recv_bytes()) if receiver.poll(PATIENCE) else {}
    finally:  # a signal may end the waiting, too
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)  # it has sent everything, or it is too late
        _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return []  # one of its programs never ends, and never will
    if "trouble" in answer:
        log.warning("the search for two mistakes at once stopped: %s", answer["trouble"])
    return answer.get("result")


def _set_limits() -> None:
    """Set the fork's own limits, tie its life to its parent's, and discard its output."""
    import resource

    def limit(kind: int, maximum: int) -> None:
        with contextlib.suppress(ValueError, OSError):
            _, hard = resource.getrlimit(kind)
            maximum = maximum if hard == resource.RLIM_INFINITY else min(maximum, hard)
            resource.setrlimit(kind, (maximum, hard))

    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        limit(resource.RLIMIT_AS, used + MEMORY)
    limit(resource.RLIMIT_CPU, SECONDS)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    logging.disable(logging.CRITICAL)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    sys.settrace(None)  # it slows each call so much that no search would finish
    sys.setprofile(None)
