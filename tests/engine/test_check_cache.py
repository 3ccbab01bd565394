"""Tests that a judged answer is not judged again, and that no other answer gets its result."""

from dataclasses import replace

import pytest
import torch

from autograder.judge import check_cache
from autograder.judge.check_cache import CheckCache, digest
from autograder.judge.run_check import run_check, student_with_answer
from autograder.judge.student import Student
from autograder.spec.course import exercise
from autograder.spec.exercise import Check, ValuesDiffer, Wrong
from autograder.untrusted.wire import Packet, encode

NAME = "scaled_dot_product_attention"
RIGHT = exercise(NAME)
CHECK = max(RIGHT.checks, key=lambda check: check.weight)
UNSCALED = next(mistake for mistake in RIGHT.mistakes if mistake.name == "no_scale").source


class Counted(Student):
    """A student in this process who remembers what was asked."""

    def __init__(self, source: str) -> None:
        answer = student_with_answer(RIGHT, source).send
        self.heard: list[bytes] = []
        super().__init__(lambda packet: self.heard.append(digest(packet)) or answer(packet))


@pytest.fixture
def counting(monkeypatch):
    """Return the titles of the checks that ran in earnest."""
    runs = []
    monkeypatch.setattr(check_cache, "run_check", lambda *args: runs.append(args[1].title) or run_check(*args))
    return runs


def test_the_same_answers_are_judged_once_and_get_the_same_sentence(counting):
    cache = CheckCache()
    first, second = Counted(RIGHT.source), Counted(RIGHT.source)
    for student in (first, second):
        cache.run(RIGHT, CHECK, student)
    assert counting == [CHECK.title]
    assert (first.heard, str(first.record), first.called) == (second.heard, str(second.record), second.called)
    assert NAME in second.called
    with pytest.raises(Wrong, match="never"):  # a check of the same title is another one
        cache.run(RIGHT, stopping(Wrong("never")), Counted(RIGHT.source))
    sentences = set()
    for _ in range(3):
        with pytest.raises(Wrong) as found:
            cache.run(RIGHT, CHECK, Counted(UNSCALED))
        sentences.add(str(found.value))
    assert counting == [CHECK.title] * 3
    assert len(sentences) == 1


def test_another_answer_is_judged_in_earnest_and_nothing_is_asked_twice(counting):
    cache = CheckCache()
    cache.run(RIGHT, CHECK, Counted(RIGHT.source))
    other, alone = Counted(UNSCALED), Counted(UNSCALED)
    for student, asking in ((other, cache.run), (alone, run_check)):
        with pytest.raises(Wrong):
            asking(RIGHT, CHECK, student)
    assert len(counting) == 2
    assert other.heard == alone.heard
    assert str(other.record) == str(alone.record)
    cache.run(RIGHT, CHECK, Counted(RIGHT.source))  # the right one is still known
    assert len(counting) == 2


def stopping(error: BaseException | type[BaseException]) -> Check:
    """Return a check that asks once, and stops with this error."""

    def ask(student):
        student.call(NAME, [torch.ones(1, 2, 3)] * 3)
        raise error

    return replace(CHECK, ask=ask)


def test_a_check_that_stopped_or_was_interrupted_is_run_again(counting, caplog):
    cache, check = CheckCache(), stopping(ZeroDivisionError)
    for _ in range(2):
        with pytest.raises(Wrong, match="could not be compared"):
            cache.run(RIGHT, check, Counted(RIGHT.source))
    assert len(counting) == len(caplog.records) == 2
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            cache.run(RIGHT, stopping(KeyboardInterrupt), Counted(RIGHT.source))


def test_what_is_kept_is_bounded():
    small = CheckCache(most=200_000)
    for number in range(30):
        source = RIGHT.source + f"\n_answer = {NAME}\ndef {NAME}(*a, **k):\n    return _answer(*a, **k), {number}\n"
        with pytest.raises(Wrong):
            small.run(RIGHT, CHECK, Counted(source))
        assert small.size < 400_000


def test_messages_that_differ_are_told_apart():
    for one, other in (
        *((True, 1), (1, 1.0), ([1], (1,)), ("1", 1)),
        *((torch.tensor(0.0), torch.tensor(-0.0)), (torch.ones(2, 3), torch.ones(3, 2))),
        (torch.tensor([1, 2]), torch.tensor([1, 2], dtype=torch.int32)),
        (torch.ones(2, requires_grad=True), torch.ones(2)),
    ):
        assert digest(encode(one)) == digest(encode(one)) != digest(encode(other))
    tree: list = []
    for _ in range(100_000):
        tree = [tree]
    assert digest(Packet(tree)) != digest(Packet(tree)), "too deep to be written, it is like no other"


def test_where_values_differ_it_is_known_what_else_was_found():
    def asks(student):
        student.call(NAME, [torch.ones(1, 2, 3)] * 3)
        for wrong in (ValuesDiffer("differs"), Wrong("changed"), Wrong("more")):
            with student.case():
                raise wrong

    cache, check = CheckCache(), replace(CHECK, ask=asks)
    for _ in range(2):  # asked, and looked up
        with pytest.raises(ValuesDiffer, match=r"^differs$") as found:
            cache.run(RIGHT, check, Counted(RIGHT.source))
        assert str(found.value.besides) == "changed"
