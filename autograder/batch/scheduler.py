"""A fair queue: a student who submits a hundred times, or whose notebook never ends, does not delay the others.

Who used the least time in the last hour comes first, with one submission at a time and the newest of each assignment.
Slow ones, beyond `patience` or their student's budget, share `spare` slots; the others are set aside meanwhile.
"""

import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

What = TypeVar("What")

WINDOW = 3600.0  # seconds: the period of a budget


@dataclass(eq=False)
class Work(Generic[What]):
    student: str
    assignment: str
    what: What
    number: int  # in order of arrival
    started: float = 0.0
    slow: bool = False  # uses a spare slot
    long: bool = False  # was set aside once


class Scheduler(Generic[What]):
    def __init__(
        self,
        quick: int,
        spare: int,
        budget: float = 600.0,
        patience: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create a queue of `quick` + `spare` slots. `budget`: seconds per student and hour; `patience`: seconds."""
        self.quick, self.spare, self.budget, self.patience, self.clock = quick, spare, budget, patience, clock
        self.running: dict[str, Work[What]] = {}  # by student
        self._waiting: dict[tuple[str, str], Work[What]] = {}
        self._spent: defaultdict[str, deque[tuple[float, float]]] = defaultdict(deque)  # by student: (end, seconds)
        self._count = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, student: str, assignment: str, what: What) -> None:
        """Add a submission. It replaces a waiting one by the same student for the same assignment."""
        older = self._waiting.get((student, assignment))
        if older is not None:
            older.what, older.long = what, False
            return
        self._waiting[student, assignment] = Work(student, assignment, what, self._count)
        self._count += 1

    def take(self, free: Callable[[str], bool] = lambda assignment: True) -> Work[What] | None:
        """Start the next submission of an assignment that is `free`; return it, or None if none can start."""
        if len(self.running) >= self.quick + self.spare:
            return None
        room = sum(work.slow for work in self.running.values()) < self.spare
        candidates = [
            (over, used, work.number, work)
            for work in self._waiting.values()
            if work.student not in self.running and free(work.assignment)
            for used in [self.used(work.student)]
            for over in [used >= self.budget]
            if room or not (over or work.long)
        ]
        if not candidates:
            return None
        over, *_, chosen = min(candidates)
        del self._waiting[chosen.student, chosen.assignment]
        chosen.started, chosen.slow = self.clock(), over or chosen.long
        self.running[chosen.student] = chosen
        return chosen

    def done(self, work: Work[What]) -> None:
        """Remove a running submission and charge its time to the student."""
        del self.running[work.student]
        self.charge(work.student, self.clock() - work.started)

    def again(self, work: Work[What]) -> None:
        """Remove a running submission, charge its time, and put it back unless a newer one waits."""
        self.done(work)
        work.slow = False
        self._waiting.setdefault((work.student, work.assignment), work)

    def set_aside(self) -> list[Work[What]]:
        """Put back the submissions that turned slow and have no spare slot; return them. The caller must stop them."""
        aside = []
        slow = sum(work.slow for work in self.running.values())
        for work in sorted(self.running.values(), key=lambda work: work.started):
            if work.slow or self.clock() - work.started < self.patience:
                continue
            if slow < self.spare:
                work.slow = True
                slow += 1
            else:
                work.long = True
                self.again(work)
                aside.append(work)
        return aside

    def used(self, student: str) -> float:
        """Return for how many seconds of the last hour a submission by this student was running."""
        since = self.clock() - WINDOW
        spent = self._spent.get(student)
        while spent and spent[0][0] <= since:
            spent.popleft()
        found = sum(min(seconds, until - since) for until, seconds in spent or ())
        if student in self.running:
            found += self.clock() - max(self.running[student].started, since)
        return found

    def charge(self, student: str, seconds: float, ago: float = 0.0) -> None:
        """Charge a student for `seconds` that ended `ago` seconds ago. Call it in order, oldest first."""
        if ago < WINDOW:
            self._spent[student].append((self.clock() - ago, seconds))
