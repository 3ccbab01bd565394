"""Tests of Formgrader's marking queue: one after another, visible to all requests, and always with an answer."""

import asyncio
import sys

import pytest

from autograder.nbgrader_plugin.formgrader.marking_queue import MarkingQueue

MARKS = """
import json, sys, time

def say(**message):
    print(json.dumps(message), flush=True)

served = 0
while line := sys.stdin.readline():
    assignment, student = json.loads(line)
    say(done=0, of=0)
    say(done=1, of=2)
    if student == "slow":
        time.sleep(0.5)
    if student == "dies":
        sys.exit(3)
    if student == "talks":
        print("something else", flush=True)
    served += 1
    say(success=True, log=f"{student} was number {served}" + " " * 200_000)
    if student == "last":
        break
"""
ENDED = "Marking came to no end: RuntimeError: its process ended with 3; the server's log may say why"
BY_TURNS = {  # who asks, and what is answered
    "in their order": (("slow", "bo", "ada"), ["slow was number 1", "bo was number 2", "ada was number 3"]),
    "the same twice": (("slow", "slow"), ["slow was number 1"] * 2),
    "a process ends": (("dies", "bo"), [ENDED, "bo was number 1"]),
    "a process has ended": (
        ("last", "bo", "last", "ada"),
        ["last was number 1", "bo was number 1", "last was number 1", "ada was number 2"],
    ),
}


@pytest.fixture
def queue(tmp_path):
    """Return a queue with a process that answers as the real one does, at once."""
    (tmp_path / "marks.py").write_text(MARKS)
    return MarkingQueue(tmp_path, (sys.executable, "marks.py"))


def asked(queue, *students):
    """Return what each was answered, in a row; all ask at once."""

    async def ask():
        found = await asyncio.gather(*(queue.mark("05-attention", student) for student in students))
        await queue._end()
        return found

    return [one["log"].strip() if one["success"] else one["error"] for one in asyncio.run(ask())]


@pytest.mark.parametrize(("students", "answers"), BY_TURNS.values(), ids=BY_TURNS)
def test_one_process_marks_one_after_the_other_and_is_started_again(queue, students, answers):
    assert asked(queue, *students) == answers


def test_a_line_that_is_no_message_is_a_sentence(queue):
    first, second = asked(queue, "talks", "bo")
    assert first.startswith("Marking came to no end: JSONDecodeError")
    assert second == "bo was number 1"


def test_it_knows_how_far_each_is_and_who_waits(queue):
    async def watch():
        tasks = [asyncio.create_task(queue.mark("05-attention", student)) for student in ("slow", "bo")]
        other = asyncio.create_task(queue.mark("06-masking", "bo"))
        while queue.progress("05-attention").get("slow", {}).get("done") != 1:
            await asyncio.sleep(0.01)
        seen = queue.progress("05-attention"), queue.progress("06-masking")
        await asyncio.gather(*tasks, other)
        await asyncio.sleep(0)
        left = queue.progress("05-attention")
        await queue._end()
        return *seen, left

    attention, masking, left = asyncio.run(asyncio.wait_for(watch(), 60))
    assert attention == {"slow": {"before": 0, "done": 1, "of": 2}, "bo": {"before": 1, "done": 0, "of": 0}}
    assert masking == {"bo": {"before": 2, "done": 0, "of": 0}}
    assert left == {}


def test_it_goes_on_when_who_asked_goes_away(queue):
    async def leave():
        asking = asyncio.create_task(queue.mark("05-attention", "slow"))
        await asyncio.sleep(0.1)
        asking.cancel()
        answer = await queue.mark("05-attention", "slow")
        await queue._end()
        return answer

    assert asyncio.run(leave())["log"].startswith("slow was number 1 ")
