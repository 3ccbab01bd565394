"""Tests of the queue of `autograder watch` alone, with a simulated clock."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.batch.scheduler import WINDOW, Scheduler, Work

NAME = "05-attention"
STUDENTS = ("ada", "bob", "eve", "kim", "lee")
LENGTHS = (0.5, 3.0, 30.0, 900.0)  # seconds that a student's notebooks take
ACTIONS = st.tuples(st.just("put"), st.sampled_from(STUDENTS), st.sampled_from(("05", "06")))
ACTIONS |= st.tuples(st.just("wait"), st.floats(0.1, 60.0))


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def queue(quick=1, spare=1, budget=600.0):
    clock = Clock()
    return Scheduler(quick, spare, budget, patience=10.0, clock=clock), clock


def served(queue, clock, seconds):
    order = []
    while (work := queue.take()) is not None:
        order.append((work.student, work.what))
        clock.now += seconds
        queue.done(work)
    return order


def test_only_a_students_newest_submission_of_an_assignment_waits():
    waiting, clock = queue()
    for number in range(100):
        waiting.put("ada", "05", number)
    waiting.put("ada", "06", "hers")
    waiting.put("bob", "05", "his")
    assert waiting.take(lambda assignment: assignment == "07") is None, "while theirs are not free"
    assert served(waiting, clock, 1.0) == [("ada", 99), ("bob", "his"), ("ada", "hers")]


def test_who_has_used_least_time_comes_first_whoever_came_before():
    waiting, clock = queue()
    waiting.put("ada", NAME, 1)
    served(waiting, clock, 5.0)
    waiting.put("bob", NAME, 1)
    served(waiting, clock, 3.0)
    for student in ("ada", "bob", "eve"):
        waiting.put(student, NAME, 2)
    assert served(waiting, clock, 0.1) == [("eve", 2), ("bob", 2), ("ada", 2)]


def test_used_time_counts_for_one_hour_even_across_a_restart():
    waiting, clock = queue()
    waiting.charge("ada", 60.0)
    waiting.charge("bob", 700.0, ago=100.0)
    waiting.charge("eve", 700.0, ago=2 * WINDOW)
    assert [waiting.used(student) for student in ("ada", "bob", "eve")] == [60.0, 700.0, 0.0]
    clock.now += WINDOW - 30
    assert waiting.used("ada") == 30.0
    clock.now += 31
    assert (waiting.used("ada"), waiting.used("bob")) == (0.0, 0.0)


def test_those_over_the_budget_leave_slots_for_who_comes():
    waiting, _ = queue(quick=2, spare=1, budget=60.0)
    for student in ("ada", "bob"):
        waiting.charge(student, 61.0)
        waiting.put(student, NAME, 1)
    assert waiting.take().student == "ada"
    assert waiting.take() is None
    waiting.put("new", NAME, 1)
    assert waiting.take().student == "new"


@pytest.mark.parametrize("comes", ["before", "after"])
def test_a_newer_submission_replaces_one_that_was_set_aside(comes):
    waiting, clock = queue(quick=1, spare=1)
    for student in ("one", "two"):
        waiting.put(student, NAME, "old")
        waiting.take()
    clock.now += 11
    if comes == "before":
        waiting.put("two", NAME, "new")
    waiting.set_aside()
    if comes == "after":
        assert waiting.take() is None
        waiting.put("two", NAME, "new")
    assert len(waiting) == 1
    assert waiting.take().what == "new"  # which may be quick


class Room:
    """A room full of students, marked by a queue: each action is followed by all that can happen."""

    def __init__(self, quick, spare, budget, lengths):
        self.queue, self.clock = queue(quick, spare, budget)
        self.lengths = dict(zip(STUDENTS, lengths, strict=True))
        self.ends: dict[Work, float] = {}
        self.asides: dict[int, int] = {}
        self.last: dict[tuple[str, str], int] = {}
        self.finished: dict[tuple[str, str], int] = {}
        self.count = 0

    def put(self, student, assignment):
        self.count += 1
        self.last[student, assignment] = self.count
        self.queue.put(student, assignment, self.count)
        self.settle()

    def wait(self, seconds):
        until = self.clock.now + seconds
        while self.clock.now < until:
            self.clock.now = min([until, self.clock.now + 1.0, *self.ends.values()])
            self.settle()

    def settle(self):
        for work in [work for work, end in self.ends.items() if end <= self.clock.now]:
            del self.ends[work]
            self.queue.done(work)
            self.finished[work.student, work.assignment] = work.what
        for work in self.queue.set_aside():
            del self.ends[work]
            self.asides[work.what] = self.asides.get(work.what, 0) + 1
        while (work := self.queue.take()) is not None:
            self.ends[work] = self.clock.now + self.lengths[work.student]
        self.holds()

    def holds(self):
        running = self.queue.running
        slow = [w for w in running.values() if w.slow or self.clock.now - w.started >= self.queue.patience]
        assert set(self.ends) == set(running.values())
        assert len(running) <= self.queue.quick + self.queue.spare
        assert len(slow) <= self.queue.spare
        assert all(times == 1 for times in self.asides.values())  # nothing is started again and again
        fresh = [
            work
            for work in self.queue._waiting.values()
            if work.student not in running and not work.long and self.queue.used(work.student) < self.queue.budget
        ]
        if fresh:  # somebody waits: then the slots are taken, and not by those who take long
            assert len(running) - len(slow) >= self.queue.quick


SLOWNESS = st.lists(st.sampled_from(LENGTHS), min_size=len(STUDENTS), max_size=len(STUDENTS))
ROOMS = st.builds(Room, st.integers(1, 3), st.integers(1, 2), st.sampled_from((20.0, 600.0)), SLOWNESS)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(ROOMS, st.lists(ACTIONS, max_size=40))
def test_slow_ones_never_take_more_than_their_slots_and_nobody_starves(room, actions):
    for action, *arguments in actions:
        getattr(room, action)(*arguments)
    room.wait(len(STUDENTS) * 2 * (max(LENGTHS) + 11))
    assert room.finished == room.last
    assert not room.ends
    assert not len(room.queue)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 3), st.lists(st.tuples(st.integers(0, 2), st.floats(0.0, 20.0)), min_size=1, max_size=60))
def test_each_other_student_delays_a_newcomer_by_at_most_one_patience(quick, storm):
    room = Room(quick, 1, 600.0, (900.0, 900.0, 900.0, 900.0, 1.0))
    for number, pause in storm:
        room.put(STUDENTS[number], "05")
        room.wait(pause) if pause else None
    room.put("lee", "05")
    room.wait(room.queue.patience * math.ceil(3 / quick) + 2.0)
    assert ("lee", "05") in room.finished
