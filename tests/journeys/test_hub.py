"""Tests of `make hub`, a classroom on this machine, and of users' rights to each other's files."""

# ruff: noqa: F811
import io
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import types
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import psutil
import pytest
from browsing import BROWSER, answered, browser, cell, free_port, opened, ours, page, run  # noqa: F401 (fixtures)
from conftest import ROOT, wait_for
from nbgrader.api import Gradebook
from packaging.utils import canonicalize_name
from playwright.sync_api import expect
from requirements import LINUX, everything_needed, lines, lock

from tools.hub import classroom

NAME = "06-masking"
TEACHER, AMINA, JOSE, _ = EVERYBODY = [one.account for one in (classroom.TEACHER, *classroom.STUDENTS)]


def missing() -> str:
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "the local hub makes users of its own, so it needs Linux and root"
    if BROWSER is None:
        return "there is no Chromium on this machine: apt install chromium"
    if not classroom.installed():
        return "the hub's packages are missing: make hub installs them"
    if any(map(classroom.account, EVERYBODY)):
        return "the users of a hub are on this machine: make hub-clean"
    return ""


NEEDS = missing()
# What somebody asks who looks for others' work; each line says what came of it. "own" shows that it would say so.
PROBE = """
import json, os
DO = {"list": os.listdir, "kill": lambda number: os.kill(number, 0),
      "write": lambda path: os.rename(path, path + "-gone"), "read": lambda path: len(open(path, "rb").read(100))}
def ask(what, path):
    try:
        return f"READ {DO[what](path)!r}"
    except OSError as error:
        return type(error).__name__
print("PROBE", json.dumps({name: ask(*asked) for name, asked in ASKED.items()}))
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """Return a running hub: its address, its passwords, its folder, what it has said, and its process."""
    folder = tmp_path_factory.mktemp("hub") / "hub"
    said = folder.parent / "said"
    port = free_port()
    kept_names = {key: value for key, value in os.environ.items() if key != "COURSE_CLASSROOM"}
    command = [sys.executable, ROOT / "tools" / "hub" / "classroom.py", NAME, f"--folder={folder}", f"--port={port}"]
    with said.open("w") as log:
        process = subprocess.Popen(command, env=kept_names, stdout=log, stderr=subprocess.STDOUT)
    hub = Hub(folder, said, process, f"http://127.0.0.1:{port}")
    try:
        hub.hears("ready: ", 600)
        hub.passwords = dict(re.findall(r"^    (course-\w+) +(\S+)", said.read_text(), re.MULTILINE))
        yield hub
    finally:
        hub.end()
        subprocess.run([*command, "--clean", "--yes"], env=kept_names, check=True, timeout=120)
        assert not folder.exists()
        assert not {one.pw_name for one in pwd.getpwall()} & set(EVERYBODY)


@dataclass
class Hub:
    folder: Path
    said: Path
    process: subprocess.Popen
    address: str
    passwords: dict[str, str] = field(default_factory=dict)

    def hears(self, what: str, seconds: float = 180) -> str:
        """Wait for the line of the terminal in which this stands, and return it."""

        def found() -> list[str]:
            assert self.process.poll() is None, self.said.read_text()
            return [line for line in self.said.read_text().splitlines() if what in line]

        return wait_for(found, seconds)[0]

    def home(self, name: str) -> Path:
        return self.folder / "homes" / name

    @property
    def course(self) -> Path:
        return self.home(TEACHER) / "course"

    def at(self, name: str, path: str) -> str:
        return f"{self.address}/user/{name}/{path}"

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(120)


def log_in(page, hub, name, password=None):
    page.goto(f"{hub.address}/hub/login")
    page.fill("#username_input", name)
    page.fill("#password_input", password or hub.passwords[name])
    page.click("#login_submit")


def assignment_list(page):
    page.locator(".lm-MenuBar-itemLabel", has_text="Nbgrader").first.click()
    page.locator(".lm-Menu-itemLabel", has_text="Assignment List").first.click()


def until(page, what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come"
        page.wait_for_timeout(500)


def row(page, button):
    """Return the button of the assignment in nbgrader's list."""
    found = page.locator(".list_item", has_text=NAME).get_by_role("button", name=button, exact=True)
    expect(found.first).to_be_visible()
    return found.first


def asked_of(hub) -> dict[str, tuple[str, object]]:
    """Return what nobody but the teacher may read, and what is somebody else's."""
    inbound = hub.folder / "exchange" / "transformers" / "inbound"
    (inbound / "other").mkdir(mode=0o700, exist_ok=True)
    return {
        "another's home": ("list", str(hub.home(JOSE))),
        "another's notebook": ("read", str(hub.home(JOSE) / "secret.txt")),
        "the homes": ("list", str(hub.home(JOSE).parent)),
        "the teacher's course": ("list", str(hub.course)),
        "the solution": ("read", str(hub.course / "solutions" / NAME / f"{NAME}.ipynb")),
        "the gradebook": ("read", str(hub.course / "classroom" / "gradebook.db")),
        "the checkout's solution": ("read", str(ROOT / "solutions" / NAME / f"{NAME}.ipynb")),
        "the checkout's exercises": ("list", str(ROOT / "transformer_exercises")),
        "the submissions": ("list", str(inbound)),
        "moving another's submission": ("write", str(inbound / "other")),
        "moving the releases": ("write", str(inbound.parent / "outbound")),
        "moving the exchange": ("write", str(inbound.parent)),
        "the feedback": ("list", str(inbound.parent / "feedback")),
        "the hub's log": ("read", str(hub.folder / "hub" / "log")),
        "the hub's keys": ("read", str(hub.folder / "hub" / "cookie_secret")),
        "the terminal of the hub": ("read", f"/proc/{hub.process.pid}/environ"),
        "ending the hub": ("kill", hub.process.pid),
    }


def probe(asked: dict[str, tuple[str, object]]) -> str:
    return f"ASKED = {asked!r}\n{PROBE}"


def reads_nothing(text: str) -> dict[str, str]:
    """Fail if what the probe has printed is something that is not its own. Return the rest of what came of it."""
    found = json.loads(re.search(r"PROBE (\{.*\})", text)[1])
    assert found.pop("own").startswith("READ")
    assert NAME in found.pop("the releases", NAME)
    assert {name: said for name, said in found.items() if said.startswith("READ")} == {}
    return found


# --- without a hub ----------------------------------------------------------------------------------------------------


def test_the_hubs_pins_are_what_it_brings_beyond_the_courses_lock():
    pinned = dict(line.split("==") for line in lines("tools/hub/constraints.txt"))
    pinned = {canonicalize_name(name): version for name, version in pinned.items()}
    assert not set(pinned) & set(lock()), "one version, in one place"
    wanted = [line for line in lines("tools/hub/requirements.txt") if line[0] != "-"]
    if not classroom.installed():
        pytest.skip("the hub's packages are missing: pip install -r tools/hub/requirements.txt")
    assert everything_needed(wanted, LINUX) - set(lock()) == set(pinned)


def test_without_root_it_says_what_it_needs(monkeypatch):
    monkeypatch.setattr(classroom.sys, "platform", "linux")
    monkeypatch.setattr(classroom.os, "geteuid", lambda: 1000)
    with pytest.raises(classroom.CannotRun, match="sudo make hub"):
        classroom.check_machine()


def test_nothing_of_somebody_elses_is_taken_or_removed(monkeypatch, tmp_path):
    other = types.SimpleNamespace(pw_gecos="Amina Bello", pw_dir="/home/amina")
    monkeypatch.setattr(classroom.pwd, "getpwnam", lambda name: other)
    with pytest.raises(classroom.CannotRun, match="none of ours"):
        classroom.account(AMINA)
    monkeypatch.setattr(classroom, "check_machine", lambda: None)
    (tmp_path / "thesis.tex").write_text("years of work")
    for what in (classroom.make_folders, lambda folder: classroom.clean(folder, sure=True)):
        with pytest.raises(classroom.CannotRun):
            what(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_hub_is_not_removed_without_a_word_of_consent(monkeypatch, tmp_path):
    monkeypatch.setattr(classroom, "check_machine", lambda: None)
    classroom.make_folders(tmp_path / "hub")
    work = tmp_path / "hub" / "homes" / "thesis.tex"
    work.write_text("years of work")
    for said in ("", "yes\n", "n\n"):
        monkeypatch.setattr(classroom.sys, "stdin", io.StringIO(said))
        with pytest.raises(classroom.CannotRun, match="Nothing was removed"):
            classroom.clean(tmp_path / "hub", sure=False)
    assert work.read_text() == "years of work"


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root makes views of the file system")
def test_an_installed_course_is_hidden_and_a_copy_of_it_is_not(monkeypatch, tmp_path):
    environment, hub = tmp_path / "environment", tmp_path / "hub"
    installed, copy = environment / "packages" / "other_course", hub / "course"
    for folder in (installed, copy, environment / "packages" / "torch"):
        folder.mkdir(parents=True)
        (folder / "answers.py").touch()
    (tmp_path / "link").symlink_to(environment)
    monkeypatch.setattr(classroom, "private_folders", lambda: (str(installed),))
    monkeypatch.setattr(classroom.sys, "prefix", str(tmp_path / "link"))
    enter = classroom.enter(hub, "nobody", copy)
    asked = [ROOT / "solutions", copy, *environment.glob("packages/*"), *(tmp_path / "link").glob("packages/*")]
    listed = subprocess.run([*enter, "/bin/ls", *asked], capture_output=True, text=True).stdout
    shown = {part.splitlines()[0].rstrip(":") for part in listed.split("\n\n") if "answers.py" in part}
    assert shown == {str(location) for location in asked if location.name in ("course", "torch")}, listed


@pytest.fixture
def checkout(monkeypatch, tmp_path):
    """Return a small course to hand out, as whoever runs the tests; and what a start of the hub says of it."""
    for name in (f"solutions/{NAME}", f"course/{NAME}", "course/start", "course/.jupyter", "autograder/spec"):
        shutil.copytree(ROOT / name, tmp_path / "checkout" / name)
    for name in ("nbgrader_config.py", "course/START.md"):
        shutil.copy(ROOT / name, tmp_path / "checkout" / name)
    monkeypatch.setattr(classroom, "ROOT", tmp_path / "checkout")
    monkeypatch.setattr(classroom, "chown_tree", lambda path, name: None)
    classroom.make_folders(tmp_path / "hub")
    for name in EVERYBODY:
        (tmp_path / "hub" / "homes" / name).mkdir()
    return tmp_path / "checkout", tmp_path / "hub" / "homes", lambda: classroom.hand_out(tmp_path / "hub")


def test_the_hub_keeps_what_a_teacher_changed_and_updates_the_rest(checkout):
    root, homes, start = checkout
    assert start() == []
    course = homes / TEACHER / "course"
    solution = f"solutions/{NAME}/{NAME}.ipynb"
    changed = {name: (course / name).read_text() + "\n# mine\n" for name in (solution, "nbgrader_config.py")}
    changed |= {f"solutions/{NAME}/mine.csv": "a,b", f"course/{NAME}/notes.txt": "noted"}
    for name, text in changed.items():
        (course / name).write_text(text)
    assert start() == [], "nothing new, nothing to say"
    for name in (solution, "autograder/spec/course.py"):
        (root / name).write_text((root / name).read_text() + "\n\n")
    (root / "autograder/spec/common_mistakes.py").unlink()
    [said] = start()
    assert solution in said
    assert "nbgrader_config.py" not in said
    assert start() == [], "said once"
    assert {name: (course / name).read_text() for name in changed} == changed
    assert (course / "autograder/spec/course.py").read_text() == (root / "autograder/spec/course.py").read_text()
    assert not (course / "autograder/spec/common_mistakes.py").exists()
    [new] = (course / "updates").glob(f"*/{solution}")
    assert new.read_text() == (root / solution).read_text()
    assert len([*course.glob(f"solutions/{NAME}/*.ipynb*")]) == 1, "nothing beside it that would be released with it"


def test_the_hub_keeps_what_students_and_teachers_wrote(checkout):
    _, homes, start = checkout
    actual, first = homes / TEACHER / "course" / "nbgrader_config.py", homes / AMINA / "START.md"
    actual.parent.mkdir()
    actual.write_text("# mine")
    [said] = start()
    assert "nbgrader_config.py" in said
    first.write_text(first.read_text() + "\nDone: 1, 2\n")
    start()
    assert actual.read_text() == "# mine"
    assert first.read_text().endswith("Done: 1, 2\n")


# --- with one; in this order ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(bool(NEEDS), reason=NEEDS)
@pytest.mark.usefixtures("hub")
class TestHub:
    def test_everybody_has_a_password_of_their_own_and_no_other_opens(self, hub, page):
        assert len(set(hub.passwords.values())) == 4
        log_in(page, hub, TEACHER, hub.passwords[AMINA])
        expect(page.locator(".login_error")).to_contain_text("Invalid")

    def test_nothing_listens_beyond_this_machine(self, hub):
        ours = psutil.Process(hub.process.pid).children(recursive=True)
        heard = {one.laddr for process in ours for one in process.net_connections("inet") if one.status == "LISTEN"}
        assert len(heard) >= 3
        assert {location.ip for location in heard} <= {"127.0.0.1", "::1"}

    def test_a_student_fetches_answers_submits_and_reads_feedback(self, hub, page):
        log_in(page, hub, AMINA)
        expect(page.locator(".jp-MarkdownViewer h1")).to_be_visible()
        expect(page.locator(".jp-MarkdownViewer blockquote")).to_contain_text("Fetch a notebook there first")
        assignment_list(page)
        row(page, "Fetch").click()
        row(page, "Submit")

        opened(page, hub.at(AMINA, f"lab/tree/{NAME}/{NAME}.ipynb"))
        run(page, "Run All Cells")
        expect(cell(page, "Test of shift_targets").locator(".jp-OutputArea")).to_contain_text("Not answered yet")
        answered(page, "ids[:, 1:], ids[:, :-1]", "✗ the inputs")
        answered(page, "ids[:, :-1], ids[:, 1:]", "✓ shift_")
        page.keyboard.press("Escape")
        page.keyboard.press("b")  # a cell of their own, which looks around while it is marked
        page.keyboard.press("Enter")
        (hub.home(JOSE) / "secret.txt").write_text("José's")
        page.keyboard.insert_text(probe(asked_of(hub) | {"own": ("list", ".")}))
        page.keyboard.press("Control+s")
        saved = hub.home(AMINA) / NAME / f"{NAME}.ipynb"
        until(page, lambda: "PROBE" in saved.read_text())
        page.get_by_role("button", name="Validate").click()
        expect(page.locator(".jp-Dialog")).to_contain_text("Validation Results", timeout=600_000)
        expect(page.locator(".jp-Dialog")).to_contain_text("Test of causal_mask")  # the next one, unanswered
        page.locator(".jp-Dialog").get_by_role("button", name="Ok").click()

        assignment_list(page)
        row(page, "Submit").click()
        line = hub.hears(f"{AMINA}  {NAME}  ")
        row(page, "Fetch Feedback")
        earned, points = re.search(r"([\d.]+)/(\d+)  [\d.]+ s", line).groups()
        assert (float(earned), int(points)) == (3.0, 36), line

        def fetched():  # the list is not drawn anew by itself
            row(page, "Fetch Feedback").click()
            return page.get_by_text("(view feedback)").count()

        until(page, fetched)
        [path] = hub.home(AMINA).glob(f"{NAME}/feedback/*/{NAME}.html")
        assert path.owner() == AMINA
        page.goto(path.as_uri())
        expect(page.locator("body")).to_contain_text(re.compile(r"3\s+of\s+36"))
        assert not ours(page.errors)

    def test_what_a_submission_does_while_it_is_marked_reads_nothing_of_others(self, hub):
        [path] = hub.course.glob(f"classroom/autograded/{AMINA}/{NAME}/{NAME}.ipynb")
        cells = nbformat.read(path, as_version=4).cells
        reads_nothing("".join(out.get("text", "") for cell in cells for out in cell.get("outputs", [])))

    def test_a_students_kernel_reads_nothing_of_others(self, hub, page):
        asked = asked_of(hub) | {
            "own": ("list", str(hub.home(AMINA))),
            "the releases": ("list", str(hub.folder / "exchange" / "transformers" / "outbound")),
        }
        kernel = {"kernelspec": {"display_name": "Python 3", "name": "python3"}}
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(probe(asked))], metadata=kernel)
        location = hub.home(AMINA) / "probe.ipynb"
        nbformat.write(notebook, location)
        os.chown(location, pwd.getpwnam(AMINA).pw_uid, -1)
        log_in(page, hub, AMINA)
        opened(page, hub.at(AMINA, "lab/tree/probe.ipynb"))
        run(page, "Run All Cells")
        expect(page.locator(".jp-OutputArea").first).to_contain_text("PROBE")
        found = reads_nothing(page.locator(".jp-OutputArea").first.inner_text().replace("\n", " "))
        assert set(found) == set(asked_of(hub))

    def test_the_teacher_marks_a_written_answer_in_formgrader(self, hub, page):
        log_in(page, hub, TEACHER)
        expect(page.locator(".lm-MenuBar")).to_be_visible()
        page.goto(hub.at(TEACHER, f"formgrader/manage_submissions/{NAME}"))
        expect(page.locator("#main-table")).to_contain_text("Bello, Amina")
        with gradebook(hub) as book:
            sheet = book.find_submission_notebook(NAME, NAME, AMINA).id
        page.goto(hub.at(TEACHER, f"formgrader/submissions/{sheet}/"), wait_until="networkidle")
        page.locator("#written_no_mask").fill("2")
        page.locator("#shift_targets-comment").focus()

        def saved():
            with gradebook(hub) as book:
                return book.find_grade("written_no_mask", NAME, NAME, AMINA).manual_score == 2

        until(page, saved)
        assert not ours(page.errors)

    def test_formgrader_is_the_teachers_alone(self, hub, page):
        assert "course-teacher/api" in (hub.folder / "hub" / "log").read_text(), "the teacher's server runs"
        log_in(page, hub, AMINA)
        page.wait_for_url("**/user/course-amina/**")
        assert page.request.get(hub.at(AMINA, "formgrader")).status == 404
        for path in ("formgrader/manage_students", "lab", f"files/classroom/autograded/{AMINA}/{NAME}/{NAME}.ipynb"):
            reply = page.goto(hub.at(TEACHER, path))
            assert reply.status in (403, 404), path
        page.goto(hub.at(AMINA, "lab"))
        page.locator(".lm-MenuBar-itemLabel", has_text="Nbgrader").click()
        expect(page.locator(".lm-Menu-itemLabel", has_text="Assignment List")).to_be_visible()
        assert page.locator(".lm-Menu-itemLabel", has_text="Formgrader").count() == 0

    def test_ctrl_c_leaves_no_process_behind(self, hub):
        assert classroom.processes(), "somebody is at work"
        hub.end()
        assert hub.process.returncode == 0, hub.said.read_text()
        assert classroom.processes() == []
        running = [" ".join(one.info["cmdline"] or []) for one in psutil.process_iter(["cmdline"])]
        assert [command for command in running if str(hub.folder) in command] == []
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", int(hub.address.rpartition(":")[2])))


def gradebook(hub):
    return Gradebook(f"sqlite:///{hub.course}/classroom/gradebook.db", "transformers")
