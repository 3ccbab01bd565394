"""Tests of `autograder watch` in a copy of the course: it marks submissions as they arrive, with feedback at once."""

import errno
import os
import re
import shutil
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import nbformat
import psutil
import pytest
from class_copies import BEST, FULL, NAME, copy_of_the_course, gradebook, notebook, put, run, start
from conftest import ROOT, wait_for
from forked_commands import run_command
from nbgrader.exchange import ExchangeError, ExchangeFactory
from nbgrader.utils import get_username
from submissions import insert_before

from autograder.batch import inbox
from autograder.batch.inbox import Exchange, Folders
from autograder.batch.pool import start_server
from autograder.batch.tasks import Marked
from autograder.batch.watch import Watcher
from autograder.batch.workers import Worker
from autograder.nbgrader_plugin.converters import settings
from autograder.spec.course import exercises

WRONG = BEST | {e.name: e.mistakes[0].source for e in exercises(NAME)}


def handed_in(answers=BEST, extra=""):
    filled = notebook(answers)
    return insert_before(filled, "softmax", extra) if extra else filled


@pytest.fixture
def clocked(monkeypatch, tmp_path):
    now = [0.0]
    folders = Folders(tmp_path / "submitted", [NAME], without=["left-out"])
    folders.settling.clock = lambda: now[0]
    return folders, tmp_path, now


def seen(folders, now, seconds=inbox.SETTLED_AFTER + 0.01):
    now[0] += seconds
    return [(student, assignment) for student, assignment, _ in folders.arrivals()]


def test_a_submission_is_announced_once_and_again_after_each_change(clocked):
    folders, classroom, now = clocked
    assert seen(folders, now) == []
    put(classroom, "ada", b"{}")
    assert [seen(folders, now) for _ in range(4)] == [[], [("ada", NAME)], [], []]
    for length in range(1, 20):  # it is being copied, with long pauses
        put(classroom, "ada", b'{"cells": [' + b" " * length)
        assert seen(folders, now, 1.0) == seen(folders, now, 3.0) == []
    put(classroom, "ada", b'{"a": 1}')
    assert [seen(folders, now) for _ in range(3)] == [[], [("ada", NAME)], []]


def test_hidden_and_linked_folders_are_not_announced(clocked):
    folders, classroom, now = clocked
    for student in (".hidden", "left-out"):
        put(classroom, student, b"{}")
    (classroom / "elsewhere" / NAME).mkdir(parents=True)
    (classroom / "submitted").mkdir(exist_ok=True)
    (classroom / "submitted" / "link").symlink_to(classroom / "elsewhere")
    assert [seen(folders, now, inbox.STALLED_AFTER / 2) for _ in range(4)] == [[]] * 4


def test_a_file_that_is_no_notebook_is_announced_all_the_same(clocked):
    folders, classroom, now = clocked
    put(classroom, "ada", b"this is my homework")
    assert [seen(folders, now, inbox.STALLED_AFTER / 2) for _ in range(4)] == [[], [], [("ada", NAME)], []]


def test_each_look_takes_little_and_all_have_their_turn(clocked, monkeypatch):
    folders, classroom, now = clocked
    for number in range(20):
        put(classroom, f"student-{number:02}", b"{}")
    seen(folders, now)
    assert len(seen(folders, now)) == 20
    monkeypatch.setattr(inbox, "SCAN_SECONDS", 0.0)
    looks, look = [], inbox.snapshot
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
    """Return an exchange's folder, a function that collects from it and tells what, and what the exchange says."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COURSE_CLASSROOM", str(tmp_path))
    location = tmp_path / "exchange" / "transformers" / "inbound"
    location.mkdir(parents=True)
    location.parents[1].chmod(0o777)
    monkeypatch.setattr(inbox, "SETTLED_AFTER", 0.0)
    output = []

    def collect(exchange=None, times=2):
        exchange = exchange or Exchange(str(tmp_path), [NAME], output.append)
        found = [(student, when) for _ in range(times) for student, _, when in exchange.collect()]
        assert not [when for _, when in found if isinstance(when, str)]
        return [student for student, _ in found]

    return location, collect, output


def hand_in(inbound, student, day, secret="secret", content=b"{}", when="2026-01-{:02} 10:00:00.000000 UTC"):
    folder = inbound / f"{student}+{NAME}+{when.format(day)}+random"
    folder.mkdir()
    (folder / f"{NAME}.ipynb").write_bytes(content)
    (folder / "timestamp.txt").write_text(when.format(day))
    if secret:
        (folder / "submission_secret.txt").write_text(secret)
    return folder


def collected(inbound, student):
    return {path.name: path.read_text() for path in (inbound.parents[2] / "submitted" / student / NAME).iterdir()}


def test_the_newest_of_each_student_is_collected_once(inbound):
    location, collect, _ = inbound
    for day in (3, 5, 4):
        hand_in(location, "ada", day, content=b"%d" % day)
    hand_in(location, "bob", 1)
    assert sorted(collect(times=4)) == ["ada", "bob"]
    assert collected(location, "ada")[f"{NAME}.ipynb"] == "5"
    assert collect() == []  # by the next watcher
    (hand_in(location, "cleo", 1) / "timestamp.txt").write_text("garbage")
    assert collect() == ["cleo"]
    for student in ("cleo", "ada"):
        hand_in(location, student, 6, content=b"6")
        assert collect() == [student]
        assert collected(location, student)[f"{NAME}.ipynb"] == "6"


@pytest.mark.parametrize(("first", "last"), [("01:50:00 PDT", "01:10:00 PST"), ("01:10:00 BST", "01:50:00 BST")])
def test_the_newest_is_known_by_its_zone_where_that_is_clear(inbound, first, last):
    location, collect, _ = inbound
    hand_in(location, "ada", 1, when=f"2026-11-{{:02}} {first}", content=b"1")
    assert collect() == ["ada"]
    hand_in(location, "ada", 1, when=f"2026-11-{{:02}} {last}", content=b"2")
    assert collect() == ["ada"]
    assert collected(location, "ada")[f"{NAME}.ipynb"] == "2"
    assert collect() == []


def test_an_incomplete_submission_is_not_collected(inbound):
    location, collect, _ = inbound
    folder = hand_in(location, "ada", 1, secret="")
    assert collect() == []
    (folder / "submission_secret.txt").write_text("secret")
    assert collect() == ["ada"]


def test_a_full_disk_ends_the_watch_and_fails_no_student(tmp_path):
    worker = Worker(start_server(None), tmp_path, Path.write_text, Path("/dev/full"), "a page")
    try:
        with pytest.raises(OSError, match="No space left"):
            Watcher._receive(SimpleNamespace(_workers=[worker]), 60.0)
    finally:
        worker.end()
    with pytest.raises(RuntimeError, match="no room"):
        Watcher._marked(SimpleNamespace(), worker, SimpleNamespace(), Marked(hopeless="no room"))


@pytest.mark.parametrize("command", ["watch", "collect"])
def test_a_submission_that_is_copied_in_part_is_not_collected(inbound, tmp_path, monkeypatch, command):
    location, collect, output = inbound
    hand_in(location, "ada", 1, content=b"a whole answer")
    app = settings(str(tmp_path))
    app.coursedir.assignment_id = NAME
    by_hand = ExchangeFactory(parent=app).Collect(coursedir=app.coursedir, parent=app, authenticator=None)

    def full(source, target, **_):
        Path(target).write_bytes(Path(source).read_bytes()[:7])
        if str(source).endswith(".ipynb"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr(shutil, "copy2", full)
        if command == "watch":
            exchange = Exchange(str(tmp_path), [NAME], output.append)
            [(_, _, why)] = [found for _ in range(2) for found in exchange.collect()]
        else:
            with pytest.raises(ExchangeError) as caught:
                by_hand.start()
            why = str(caught.value)
    assert "nothing of it was collected: [Errno 28] No space left on device" in why
    assert not list((tmp_path / "submitted" / "ada").iterdir())
    if command == "watch":
        assert collect() == ["ada"]  # by the next watcher
    else:
        by_hand.start()
    assert collected(location, "ada")[f"{NAME}.ipynb"] == "a whole answer"


def test_a_submission_under_another_name_is_reported(inbound):
    location, collect, output = inbound
    hand_in(location, "somebody-else", 1)  # under another name
    collect()
    assert [line for line in output if "claims to be submitted by somebody-else" in line]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files to others")
@pytest.mark.parametrize("command", ["watch", "collect", "collect, nothing of her own"])
def test_what_another_account_puts_under_a_students_name_is_not_hers(inbound, tmp_path, command):
    location, collect, output = inbound
    if "nothing" not in command:
        chown(hand_in(location, "nobody", 1, content=b"her own"), "nobody")
    forged = hand_in(location, "nobody", 2, content=b"forged")
    chown(forged, "daemon")
    hand_in(location, "ada", 1, content=b"by whom collects")
    if command == "watch":
        assert sorted(collect(times=4)) == ["ada", "nobody"]
        assert len([line for line in output if str(forged) in line and "owned by daemon" in line]) == 1
    else:
        app = settings(str(tmp_path))
        app.coursedir.assignment_id = NAME
        with pytest.raises(ExchangeError, match="others own them"):
            ExchangeFactory(parent=app).Collect(coursedir=app.coursedir, parent=app, authenticator=None).start()
        assert collected(location, "ada")[f"{NAME}.ipynb"] == "by whom collects"
    if "nothing" in command:
        assert not (tmp_path / "submitted" / "nobody" / NAME).exists()
    else:
        assert collected(location, "nobody")[f"{NAME}.ipynb"] == "her own"


def chown(folder, account):
    for path in (folder, *folder.iterdir()):
        shutil.chown(path, account)


def test_neither_linked_files_nor_folders_with_unsafe_names_are_collected(inbound, tmp_path):
    location, collect, _ = inbound
    for name in ("..", ".hidden", ""):
        hand_in(location, name, 1)
    for name in ("no date", f"a+{NAME}+yesterday, perhaps+x"):
        (location / name).mkdir()
    (tmp_path / "solution.ipynb").write_text("the key")
    folder = hand_in(location, "eve", 1)
    (folder / f"{NAME}.ipynb").unlink()
    (folder / f"{NAME}.ipynb").symlink_to(tmp_path / "solution.ipynb")
    (folder / "folder").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    assert collect() == ["eve"]
    assert sorted(collected(location, "eve")) == ["submission_secret.txt", "timestamp.txt"]
    assert not (tmp_path / NAME).exists()


def test_feedback_without_a_timestamp_is_refused_in_a_sentence(inbound, tmp_path):
    location, _, output = inbound
    exchange = Exchange(str(tmp_path), [NAME], output.append)
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
    assert [path.read_text() for path in (location.parent / "feedback").iterdir()] == ["page"]


class Watching:
    """Runs a watcher in a process of its own, and knows what it says."""

    def __init__(self, root: Path, classroom: Path, *options: str):
        classroom.mkdir(exist_ok=True)
        self.classroom, self.log = classroom, classroom / f"said-{time.monotonic_ns()}.txt"
        command = ("autograder", "watch", NAME, *options)
        self.process = start(root, classroom, *command, stdout=self.log.open("w"), start_new_session=True)
        try:
            wait_for(lambda: "ready" in self.output() or self.process.poll() is not None, 300)
            assert self.process.poll() is None, self.output()
        except BaseException:
            self.end(signal.SIGKILL)
            raise

    def output(self) -> str:
        return self.log.read_text(encoding="utf8")

    def marked(self) -> list[str]:
        return re.findall(rf"^\S+  (.+?)  {NAME}  \S+  [\d.]+ s$", self.output(), re.MULTILINE)

    def family(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def end(self, number=signal.SIGINT) -> None:
        """End it, and see that it leaves no process behind."""
        family = self.family()
        self.process.send_signal(number)
        self.process.wait(60)
        wait_for(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in family))


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return copy_of_the_course(tmp_path_factory.mktemp("watched") / "a course", "c.Judge.cell_timeout = 20.0\n")


@pytest.fixture
def watching(course, tmp_path):
    started = []

    def begin(*options):
        started.append(Watching(course, tmp_path / "class", *options))
        return started[-1]

    yield begin
    for each in started:
        if each.process.poll() is None:
            each.end(signal.SIGKILL)


def page(classroom, student):
    return classroom / "feedback" / student / NAME / f"{NAME}.html"


def scores(classroom):
    return {student: about["score"][0] for student, about in gradebook(classroom).items() if student != "students"}


@pytest.mark.long
def test_a_restarted_watcher_marks_each_submission_only_once(watching, course):
    watcher = watching()
    classroom = watcher.classroom
    for student, answers in (("ada", BEST), ("bob", WRONG)):
        put(classroom, student, handed_in(answers), when="2026-07-01 10:00:00 BST")
        wait_for(lambda student=student: student in watcher.marked())
        assert page(classroom, student).is_file()
    assert scores(classroom)["ada"] == FULL
    assert 0 < scores(classroom)["bob"] < FULL
    assert "bob (BST is +0100 in Britain, +0600 in Bangladesh)" in watcher.output()
    put(classroom, "broken", b"this is my homework")
    wait_for(lambda: "broken" in watcher.marked())
    assert "another autograder watch is at work" in run(course, classroom, "autograder", "watch", NAME, status=1)
    for number in range(3):
        put(classroom, f"late-{number}", handed_in(WRONG, extra=f"# {number}"))
    wait_for(lambda: len(watcher.marked()) > 3)
    watcher.end(signal.SIGKILL)
    history = classroom / "marked" / "history.jsonl"
    before = len(history.read_text().splitlines())
    second = watching()
    records = [classroom / "marked" / NAME / f"late-{number}.json" for number in range(3)]
    wait_for(lambda: all(record.is_file() for record in records))  # one may have been written, and not been printed
    assert not {"ada", "bob", "broken"} & set(second.marked())
    assert set(second.marked()).isdisjoint(watcher.marked())
    assert len(history.read_text().splitlines()) - before <= 3
    assert all(page(classroom, f"late-{number}").is_file() for number in range(3))
    second.end(signal.SIGINT)


@pytest.mark.long
def test_nobody_waits_for_a_hundred_submissions_or_for_endless_notebooks(watching):
    watcher = watching("--workers", "3", "--budget", "0.5")
    classroom = watcher.classroom
    for number, work in enumerate(["pass", "__import__('time').sleep(1)", "__import__('time').sleep(2)"]):
        put(classroom, f"endless-{number}", handed_in(extra=f"while True: {work}"))
    for number in range(100):
        put(classroom, "eager", handed_in(WRONG, extra=f"# {number}"))
        if number == 10:
            put(classroom, "ada", handed_in())
        time.sleep(0.05)
    wait_for(lambda: "ada" in watcher.marked())
    assert "ada" in watcher.marked()[:2]
    wait_for(lambda: "takes long; set aside" in watcher.output())
    wait_for(lambda: sum(one.nice() >= 10 for one in watcher.family()) >= 2)
    put(classroom, "bob", handed_in(WRONG))
    wait_for(lambda: "bob" in watcher.marked())
    assert not [name for name in watcher.marked() if name.startswith("endless")]
    assert watcher.marked().count("eager") < 30
    wait_for(lambda: len([name for name in watcher.marked() if name.startswith("endless")]) == 3, 400)
    watcher.end(signal.SIGTERM)


@pytest.mark.slow
def test_who_hands_in_through_the_exchange_can_fetch_feedback(watching, course, tmp_path, monkeypatch):
    classroom, home, student = tmp_path / "class", tmp_path / "home", get_username()
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(home / "data"))
    (home / NAME).mkdir(parents=True)
    (classroom / "exchange").mkdir(parents=True)
    (classroom / "exchange").chmod(0o777)

    def nbgrader(*command, location=home):
        exchange = ("--Exchange.root", str(classroom / "exchange"), "--course", "transformers")
        environment = os.environ | {"COURSE_CLASSROOM": str(classroom), "PYTHONPATH": str(course)}
        status, output = run_command("nbgrader", *command, NAME, *exchange, folder=location, environment=environment)
        assert status == 0, output

    nbgrader("generate_assignment", location=course)
    nbgrader("release_assignment", location=course)
    watcher = watching()
    for count, answers in enumerate((WRONG, BEST), start=1):
        (home / NAME / f"{NAME}.ipynb").write_text(nbformat.writes(handed_in(answers)))
        nbgrader("submit")
        wait_for(lambda count=count: len(watcher.marked()) == count and page(classroom, student).is_file())
    nbgrader("fetch_feedback")
    first, last = sorted((home / NAME / "feedback").glob(f"*/{NAME}.html"))
    assert last.read_bytes() == page(classroom, student).read_bytes() != first.read_bytes()
    assert scores(classroom) == {student: FULL}
