"""Tests of `autograder watch` in a copy of the course: it marks submissions as they arrive, with feedback at once."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT, read
from nbgrader.api import Gradebook
from nbgrader.exchange import ExchangeError

from autograder.cluster import inbox
from autograder.cluster.inbox import Exchange, Folders
from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.sample_class import filled_in
from autograder.spec.course import exercises, in_notebook, questions

NAME = "05-attention"
BEST = {e.name: e.source for e in exercises(NAME)} | {q.name: f'{q.name} = "{q.key}"' for q in questions(NAME)}
WRONG = BEST | {e.name: e.mistakes[0].source for e in exercises(NAME)}
FULL = sum(declared.points for declared in in_notebook(NAME) if declared.name in BEST)


def notebook(answers=BEST, extra=""):
    filled = filled_in(read("course", NAME), answers)
    filled.metadata.pop("name")
    if extra:
        [index] = [i for i, cell in enumerate(filled.cells) if grade_id(cell) == "softmax"]
        filled.cells.insert(index, nbformat.v4.new_code_cell(extra, id="extra"))
    return nbformat.writes(filled).encode()


def put(classroom: Path, student: str, content: bytes) -> None:
    path = classroom / "submitted" / student / NAME / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def wait_for(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    assert found, condition
    return found


# --- what has come, and what is still coming --------------------------------------------------------------------------


@pytest.fixture
def clocked(monkeypatch, tmp_path):
    """The folders of a class, and a clock."""
    now = [0.0]
    folders = Folders(tmp_path / "submitted", [NAME], without=["left-out"])
    folders._settling.clock = lambda: now[0]
    return folders, tmp_path, now


def seen(folders, now, seconds=inbox.SETTLED_AFTER + 0.01):
    now[0] += seconds
    return [(student, assignment) for student, assignment, _ in folders.arrivals()]


def test_a_submission_is_told_of_once_when_it_rests_and_again_when_it_changes(clocked):
    folders, classroom, now = clocked
    assert seen(folders, now) == []
    put(classroom, "ada", b"{}")
    assert [seen(folders, now) for _ in range(4)] == [[], [("ada", NAME)], [], []]
    put(classroom, "ada", b'{"a": 1}')
    assert [seen(folders, now) for _ in range(3)] == [[], [("ada", NAME)], []]


def test_a_submission_that_is_being_copied_is_left_alone(clocked):
    folders, classroom, now = clocked
    for length in range(1, 20):  # it grows, with long pauses
        put(classroom, "ada", b'{"cells": [' + b" " * length)
        assert seen(folders, now, 1.0) == []
        assert seen(folders, now, 3.0) == []
    put(classroom, "ada", b'{"cells": []}\n')
    assert [seen(folders, now) for _ in range(2)] == [[], [("ada", NAME)]]


def test_what_never_becomes_a_notebook_is_told_of_all_the_same(clocked):
    folders, classroom, now = clocked
    put(classroom, "ada", b"this is my homework")
    assert [seen(folders, now, inbox.STALLED_AFTER / 2) for _ in range(4)] == [[], [], [("ada", NAME)], []]


def test_hidden_excluded_and_linked_folders_are_no_submissions(clocked):
    folders, classroom, now = clocked
    for student in (".hidden", "left-out"):
        put(classroom, student, b"{}")
    (classroom / "elsewhere" / NAME).mkdir(parents=True)
    (classroom / "submitted" / "link").symlink_to(classroom / "elsewhere")
    assert [seen(folders, now) for _ in range(3)] == [[], [], []]


def test_each_look_takes_little_and_all_have_their_turn(clocked, monkeypatch):
    folders, classroom, now = clocked
    for number in range(20):
        put(classroom, f"student-{number:02}", b"{}")
    seen(folders, now)
    assert len(seen(folders, now)) == 20
    monkeypatch.setattr(inbox, "SCAN_SECONDS", 0.0)
    looks = []
    look = inbox.snapshot
    monkeypatch.setattr(inbox, "snapshot", lambda folder: looks.append(folder) or look(folder))
    path = classroom / "submitted" / "student-13" / NAME / f"{NAME}.ipynb"
    path.write_bytes(b'{"changed": 1}')  # in place: its folder's time stays
    found = []
    for _ in range(30):
        looks.clear()
        found += seen(folders, now)
        assert len(looks) <= 2
    assert found == [("student-13", NAME)]


@pytest.fixture
def inbound(monkeypatch, tmp_path):
    """An exchange into which anybody may write, and a function that collects from it and tells what it collected."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COURSE_CLASSROOM", str(tmp_path))
    place = tmp_path / "exchange" / "transformers" / "inbound"
    place.mkdir(parents=True)
    place.parents[1].chmod(0o777)
    monkeypatch.setattr(inbox, "SETTLED_AFTER", 0.0)
    said = []

    def collect(exchange=None, times=2):
        exchange = exchange or Exchange(str(tmp_path), [NAME], said.append)
        return [
            (student, when if isinstance(when, str) else "collected")
            for _ in range(times)
            for student, _, when in exchange.collect()
        ]

    return place, collect, said


def hand_in(inbound, student, day, secret="secret", content=b"{}"):
    folder = inbound / f"{student}+{NAME}+2026-01-{day:02} 10:00:00.000000 UTC+random"
    folder.mkdir()
    (folder / f"{NAME}.ipynb").write_bytes(content)
    (folder / "timestamp.txt").write_text(f"2026-01-{day:02} 10:00:00.000000 UTC")
    if secret:
        (folder / "submission_secret.txt").write_text(secret)
    return folder


def collected(inbound, student):
    folder = inbound.parents[2] / "submitted" / student / NAME
    return {path.name: path.read_text() for path in folder.iterdir()} if folder.exists() else None


def test_the_newest_of_each_student_is_collected_once(inbound):
    place, collect, _ = inbound
    for day in (3, 5, 4):
        hand_in(place, "ada", day, content=b"%d" % day)
    hand_in(place, "bob", 1)
    assert sorted(collect(times=4)) == [("ada", "collected"), ("bob", "collected")]
    assert collected(place, "ada")[f"{NAME}.ipynb"] == "5"
    assert collect() == []  # by the next watcher
    hand_in(place, "ada", 6, content=b"6")
    assert collect() == [("ada", "collected")]
    assert collected(place, "ada")[f"{NAME}.ipynb"] == "6"


def test_what_is_still_being_handed_in_is_not_collected(inbound):
    place, collect, _ = inbound
    folder = hand_in(place, "ada", 1, secret="")
    assert collect() == []
    (folder / "submission_secret.txt").write_text("secret")
    assert collect() == [("ada", "collected")]


def test_what_a_link_points_to_is_not_collected(inbound, tmp_path):
    place, collect, _ = inbound
    (tmp_path / "solution.ipynb").write_text("the key")
    folder = hand_in(place, "eve", 1)
    (folder / f"{NAME}.ipynb").unlink()
    (folder / f"{NAME}.ipynb").symlink_to(tmp_path / "solution.ipynb")
    (folder / "folder").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    assert collect() == [("eve", "collected")]
    assert sorted(collected(place, "eve")) == ["submission_secret.txt", "timestamp.txt"]


def test_names_that_lead_elsewhere_are_not_collected(inbound):
    place, collect, _ = inbound
    for name in ("..", ".hidden", ""):
        hand_in(place, name, 1)
    (place / "no date").mkdir()
    (place / f"a+{NAME}+yesterday, perhaps+x").mkdir()
    assert collect() == []
    assert not (place.parents[2] / NAME).exists()


def test_a_timestamp_that_nobody_can_read_keeps_no_later_submission_out(inbound):
    place, collect, _ = inbound
    (hand_in(place, "ada", 1) / "timestamp.txt").write_text("garbage")
    assert collect() == [("ada", "collected")]
    hand_in(place, "ada", 2, content=b"2")
    assert collect() == [("ada", "collected")]
    assert collected(place, "ada")[f"{NAME}.ipynb"] == "2"


def test_who_hands_in_under_another_name_is_reported(inbound):
    place, collect, said = inbound
    hand_in(place, "somebody-else", 1)
    collect()
    assert [line for line in said if "claims to be submitted by somebody-else" in line]


def test_feedback_without_a_timestamp_is_refused_in_a_sentence(inbound, tmp_path):
    place, _, said = inbound
    exchange = Exchange(str(tmp_path), [NAME], said.append)
    folder = tmp_path / "feedback" / "ada" / NAME
    folder.mkdir(parents=True)
    (folder / f"{NAME}.html").write_text("page")
    (folder / "submission_secret.txt").write_text("secret")
    with pytest.raises(ExchangeError, match=r"no timestamp\.txt"):
        exchange.release("ada", NAME)
    (folder / "timestamp.txt").write_text("2026-01-01 10:00:00.000000 UTC")
    assert not exchange.is_released("ada", NAME)
    exchange.release("ada", NAME)
    assert exchange.is_released("ada", NAME)
    assert [path.read_text() for path in (place.parent / "feedback").iterdir()] == ["page"]


# --- the whole road ---------------------------------------------------------------------------------------------------


def processes_of(classroom: Path) -> list[int]:
    """All that were started for this classroom."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if f"COURSE_CLASSROOM={classroom}".encode() in (place / "environ").read_bytes():
                found.append(int(place.name))
        except OSError:  # gone, or not ours
            continue
    return found


def descendants(pid: int) -> list[int]:
    from autograder.sandbox import monitor

    return monitor.tree(pid)


class Watching:
    """A watcher in a process of its own, and what it says."""

    def __init__(self, root: Path, classroom: Path, *options: str):
        classroom.mkdir(exist_ok=True)
        self.classroom, self.log = classroom, classroom / f"said-{time.monotonic_ns()}.txt"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "autograder.cli", "watch", NAME, *options],
            cwd=root,
            env=environment(root, classroom),
            stdout=self.log.open("w"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            wait_for(lambda: "ready" in self.said() or self.process.poll() is not None, 300)
            assert self.process.poll() is None, self.said()
        except BaseException:
            self.end(signal.SIGKILL)
            raise

    def said(self) -> str:
        return self.log.read_text(encoding="utf8")

    def marked(self) -> list[str]:
        """Students, in the order in which their feedback came."""
        return re.findall(rf"^\S+  (.+?)  {NAME}  \S+  [\d.]+ s$", self.said(), re.MULTILINE)

    def end(self, number=signal.SIGINT) -> list[int]:
        """The processes that it leaves behind, after a moment."""
        family = descendants(self.process.pid)
        self.process.send_signal(number)
        started = time.monotonic()
        self.process.wait(20)
        self.seconds = time.monotonic() - started
        end = time.monotonic() + 10
        while (left := [pid for pid in family if _lives(pid)]) and time.monotonic() < end:
            time.sleep(0.05)
        return left


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _nice(pid: int) -> int:
    try:
        return os.getpriority(os.PRIO_PROCESS, pid)
    except OSError:
        return 0


def environment(root, classroom, **more):
    return os.environ | {"COURSE_CLASSROOM": str(classroom), "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"} | more


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = tmp_path_factory.mktemp("watched") / "a course"
    root.mkdir()
    for package in ("autograder", "transformer_exercises"):
        shutil.copytree(ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "solutions" / NAME, root / "solutions" / NAME)
    shutil.copytree(ROOT / "course" / NAME, root / "course" / NAME)
    shutil.copy(ROOT / "nbgrader_config.py", root)
    with (root / "nbgrader_config.py").open("a") as config:
        config.write("\nc.Judge.cell_timeout = 20.0\n")
    return root


@pytest.fixture
def watching(course, tmp_path):
    """Starts watchers; none outlives its test."""
    started = []

    def start(*options, classroom="class"):
        started.append(Watching(course, tmp_path / classroom, *options))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.end(signal.SIGKILL)


def page(classroom, student):
    return classroom / "feedback" / student / NAME / f"{NAME}.html"


def scores(classroom):
    with Gradebook(f"sqlite:///{classroom}/gradebook.db") as gradebook:
        return {found.student.id: found.score for found in gradebook.assignment_submissions(NAME)}


def history(classroom):
    lines = (classroom / "marked" / "history.jsonl").read_text().splitlines()
    return [json.loads(line)["student"] for line in lines]


@pytest.mark.long
@pytest.mark.slow
def test_what_arrives_is_marked_once_and_a_stopped_watcher_goes_on_where_it_was(watching, course):
    watcher = watching()
    classroom = watcher.classroom
    for student, answers in (("ada", BEST), ("bob", WRONG)):
        put(classroom, student, notebook(answers))
        wait_for(lambda student=student: student in watcher.marked())
        assert page(classroom, student).is_file()
    assert scores(classroom)["ada"] == FULL
    assert 0 < scores(classroom)["bob"] < FULL
    put(classroom, "broken", b"this is my homework")
    wait_for(lambda: "broken" in watcher.marked())
    again = subprocess.run(
        [sys.executable, "-m", "autograder.cli", "watch", NAME],
        cwd=course,
        env=environment(course, classroom),
        capture_output=True,
        text=True,
    )
    assert again.returncode == 1
    assert "another autograder watch is at work" in again.stdout
    for number in range(3):
        put(classroom, f"late-{number}", notebook(WRONG, extra=f"# {number}"))
    wait_for(lambda: len(watcher.marked()) > 3)
    assert watcher.end(signal.SIGKILL) == []
    before = len(history(classroom))
    second = watching()
    records = [classroom / "marked" / NAME / f"late-{number}.json" for number in range(3)]
    wait_for(lambda: all(record.is_file() for record in records))  # one may have been written, and not been printed
    assert not {"ada", "bob", "broken"} & set(second.marked())
    assert set(second.marked()).isdisjoint(watcher.marked())
    assert len(history(classroom)) - before <= 3
    assert all(page(classroom, f"late-{number}").is_file() for number in range(3))
    assert second.end(signal.SIGINT) == []
    assert second.seconds < 5
    print(watcher.said(), second.said())


@pytest.mark.long
@pytest.mark.slow
def test_nobody_waits_for_a_hundred_submissions_or_for_endless_notebooks(watching):
    watcher = watching("--workers", "3", "--budget", "0.5")
    classroom = watcher.classroom
    for number, work in enumerate(["pass", "__import__('time').sleep(1)", "__import__('time').sleep(2)"]):
        put(classroom, f"endless-{number}", notebook(extra=f"while True: {work}"))
    for number in range(100):
        put(classroom, "eager", notebook(WRONG, extra=f"# {number}"))
        if number == 10:
            put(classroom, "ada", notebook())
        time.sleep(0.05)
    wait_for(lambda: "ada" in watcher.marked())
    assert "ada" in watcher.marked()[:2]
    wait_for(lambda: "takes long; set aside" in watcher.said())
    wait_for(lambda: sum(_nice(pid) >= 10 for pid in descendants(watcher.process.pid)) >= 2)
    put(classroom, "bob", notebook(WRONG))
    wait_for(lambda: "bob" in watcher.marked())
    assert not [name for name in watcher.marked() if name.startswith("endless")]
    assert watcher.marked().count("eager") < 30
    wait_for(lambda: len([name for name in watcher.marked() if name.startswith("endless")]) == 3, 400)
    assert watcher.end(signal.SIGTERM) == []
    print(watcher.said())


@pytest.mark.slow
def test_who_hands_in_through_the_exchange_can_fetch_feedback(watching, course, tmp_path):
    classroom, home = tmp_path / "class", tmp_path / "home"
    (home / NAME).mkdir(parents=True)
    (classroom / "exchange").mkdir(parents=True, mode=0o777)
    (classroom / "exchange").chmod(0o777)
    nbgrader(course, classroom, home, course, "release_assignment", NAME)
    watcher = watching()
    for answers in (WRONG, BEST):
        (home / NAME / f"{NAME}.ipynb").write_bytes(notebook(answers))
        nbgrader(course, classroom, home, home, "submit", NAME)
        wait_for(lambda: page(classroom, os_user()).is_file() and watcher.marked())
        count = 1 + (answers is BEST)
        wait_for(lambda count=count: len(watcher.marked()) == count)
    nbgrader(course, classroom, home, home, "fetch_feedback", NAME)
    fetched = sorted((home / NAME / "feedback").glob(f"*/{NAME}.html"))
    assert len(fetched) == 2
    assert fetched[-1].read_bytes() == page(classroom, os_user()).read_bytes()
    assert fetched[0].read_bytes() != fetched[1].read_bytes()
    assert scores(classroom) == {os_user(): FULL}
    print(watcher.said())


def os_user():
    from nbgrader.utils import get_username

    return get_username()


def nbgrader(course, classroom, home, place, *command):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "nbgrader",
            *command,
            "--Exchange.root",
            str(classroom / "exchange"),
            "--course",
            "transformers",
        ],
        cwd=place,
        env=environment(course, classroom, JUPYTER_DATA_DIR=str(home / "data")),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
