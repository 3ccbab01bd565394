"""Who is next: a queue in which nobody waits for one who hands in a hundred times, or whose notebook never ends.

It knows students, slots and a clock, and neither processes nor files. Each student has one submission in work and, for
each assignment, one that waits: the newest. Whoever has used least time in the last hour comes first.

What has run for longer than `patience` is slow, and so is all that is handed in by somebody whose budget for the hour
is used up. Slow ones have `spare` slots and no more: what turns slow while these are taken is set aside, and starts
anew when there is one. The other slots are always there for those who come.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

What = TypeVar("What")

WINDOW = 3600.0  # seconds: the hour that budgets are for


@dataclass(eq=False)
class Work(Generic[What]):
    """A submission that waits or is in work."""

    student: str
    assignment: str
    what: What
    number: int  # the order of arrival
    started: float = 0.0
    slow: bool = False  # takes one of the spare slots
    long: bool = False  # was set aside once


class Queue(Generic[What]):
    """Submissions in, order out."""

    def __init__(
        self,
        quick: int,
        spare: int,
        budget: float = 600.0,
        patience: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`quick` and `spare` are numbers of slots; `budget` is each student's, in seconds an hour."""
        self.quick, self.spare, self.budget, self.patience, self.clock = quick, spare, budget, patience, clock
        self.running: dict[str, Work[What]] = {}  # by student
        self._waiting: dict[tuple[str, str], Work[What]] = {}
        self._spent: defaultdict[str, deque[tuple[float, float]]] = defaultdict(deque)  # until when, how long
        self._count = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, student: str, assignment: str, what: What) -> None:
        """A submission has come. One by the same student that still waits gives it its place."""
        older = self._waiting.get((student, assignment))
        if older is not None:
            older.what, older.long = what, False
            return
        self._waiting[student, assignment] = Work(student, assignment, what, self._count)
        self._count += 1

    def take(self, free: Callable[[str], bool] = lambda assignment: True) -> Work[What] | None:
        """The next to be worked on, if there is a slot for one; only of assignments that are `free`."""
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
        """It is no longer in work; the time counts."""
        del self.running[work.student]
        self.charge(work.student, self.clock() - work.started)

    def again(self, work: Work[What]) -> None:
        """As `done`, but it waits once more, unless a newer one does."""
        self.done(work)
        work.slow = False
        self._waiting.setdefault((work.student, work.assignment), work)

    def set_aside(self) -> list[Work[What]]:
        """What has turned slow and has no slot any more. Whoever works on it has to stop."""
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
        """Seconds of the last hour in which something of a student's was in work."""
        since = self.clock() - WINDOW
        spent = self._spent.get(student)
        while spent and spent[0][0] <= since:
            spent.popleft()
        found = sum(min(seconds, until - since) for until, seconds in spent or ())
        if student in self.running:
            found += self.clock() - max(self.running[student].started, since)
        return found

    def charge(self, student: str, seconds: float, ago: float = 0.0) -> None:
        """Count time that ended some seconds ago. The oldest comes first."""
        if ago < WINDOW:
            self._spent[student].append((self.clock() - ago, seconds))
