"""Tests of learning alone: a copy that updates leave alone, and notebooks that mark answers themselves."""

import errno
import json
import os
import random
import re
import shutil
import signal
from pathlib import Path

import nbformat
import pytest
import torch
from conftest import ROOT
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
from typer.testing import CliRunner

from autograder import files
from autograder.cli import app
from autograder.files import WouldOverwrite
from autograder.judge.diagnosis.diagnose import Line
from autograder.judge.mark import VALUES_DIFFER, Verdict
from autograder.learning import advice, course_copy, local_marking, practice, self_marking, verdict_page
from autograder.learning.course_copy import lay_out
from autograder.learning.progress import TEST, Copy, State
from autograder.nbgrader_plugin.feedback import exporter
from autograder.nbgrader_plugin.formgrader import written_answers
from autograder.nbgrader_plugin.release.student_version import TITLE
from autograder.spec.course import exercise, exercises, notebook_path, questions

NAME = "05-attention"
ONE_MAXIMUM = """def softmax(scores, dim=-1):
    exps = torch.exp(scores - scores.max())
    return exps / exps.sum(dim=dim, keepdim=True)"""
LOOPS = "def softmax(scores, dim=-1):\n    while True: pass"
LOOPS_AGAIN = """def softmax(scores, dim=-1):
    try:
        while True: pass
    except:
        pass
    while True: pass"""


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("laid_out") / "learn"
    lay_out(folder)
    return folder


@pytest.fixture
def location(laid_out, tmp_path):
    return shutil.copytree(laid_out, tmp_path / "learn")


def notebook_in(location: Path, folder: str = NAME) -> Path:
    return location / folder / f"{NAME}.ipynb"


def cells_of(path: Path) -> dict[str, str]:
    return {cell.id: cell.source for cell in nbformat.read(path, as_version=4).cells}


def shown(location: Path, sources: list[str]) -> list[str]:
    """Run these cells in a kernel in the copy's notebook folder; return what each shows, as text."""
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    where = {"metadata": {"path": str(location / NAME)}}
    NotebookClient(notebook, allow_errors=True, timeout=120, resources=where, coalesce_streams=True).execute()
    return ["\n".join(map(_text, cell.outputs)) for cell in notebook.cells]


def _text(output) -> str:
    if output.output_type == "error":
        return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(output.traceback))
    data = output.get("data", {})
    return output.get("text") or data.get("text/html") or data.get("text/markdown") or data.get("text/plain")


def test_tests_are_known_by_their_titles_of_this_version_and_of_1_0_0():
    for title in (TITLE, "# @title Test of {name}: run it, open it to read what is asked\n"):
        assert TEST.match(title.format(name="sinusoidal_encoding"))[1] == "sinusoidal_encoding"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "switch"),
    [("", "test_q5_1"), ("import os\nif hasattr(os, 'fork'): del os.fork", "learning")],
    ids=["switched on by a test", "without fork"],
)
def test_the_cell_below_an_answer_marks_it_and_hints_and_solutions_help(location, first, switch):
    cells = cells_of(notebook_in(location))
    [question] = [question for question in questions(NAME) if question.name == "q5_1"]
    wrong = min(set(question.explanations) - {question.key})
    message = shown(
        location,
        [
            first,
            cells[switch],
            cells["ready"],
            cells["setup"],
            cells["q5_1"],
            cells["test_q5_1"],
            f'q5_1 = "{wrong}"',
            cells["test_q5_1"],
            cells["softmax"],
            cells["test_softmax"],
            'solution("softmax")',
            'hint("softmax")',
            'hint("softmax")',
            "def softmax(scores, dim=-1):\n    return scors",
            cells["test_softmax"],
            ONE_MAXIMUM,
            cells["test_softmax"],
            'solution("softmax")',
            'solution("q5_1")',
            'hint("sofmax")',
            exercise("softmax").source,
            cells["test_softmax"],
            "softmax.__name__",
        ],
    )
    assert "0 of 12 tried" in message[1]
    assert ("<code>q5_1</code> is not answered yet" in message[1]) == (switch == "test_q5_1")
    assert not message[2], "nothing is missing, and nothing is said of it"
    assert message[5].startswith("<p>○ <code>q5_1</code> is not answered yet")
    assert "✗ q5_1: 0 of 1 points" in message[7]
    assert question.explanations[wrong][:30] in message[7]
    assert message[9].startswith("○ softmax: Not answered yet")
    assert "<strong>" not in message[9], "what is not answered is not marked"
    assert message[10].startswith("<p>Try <code>softmax</code> first")
    assert "Hint 1" in message[11]
    assert "Hint 2" not in message[11]
    assert "Hint 2" in message[12]
    assert "✗ softmax: 0 of 4 points" in message[14], "a misspelt name is an answer"
    assert "✗ softmax: 3.25 of 4 points" in message[16]
    assert '<div class="course-verdict partly">' in message[16]
    assert "One maximum is subtracted from all" in message[16]
    assert "Reread “2. A weighted sum”" in message[16]
    assert "amax" in message[17]
    assert f"{question.key} is right" in message[18]
    assert "There is no exercise or question" in message[19]
    assert "✓ softmax: 4 of 4 points" in message[21]
    assert "all tests that you can see pass" not in message[21], "the verdict says more"
    start = (location / "START.md").read_text("utf-8")
    assert "2 of 12 tried, 4 of 34 points" in start
    assert f"{NAME}.ipynb#cell-id=q5-1-question" in start, "what is not right yet comes next"


@pytest.mark.slow
def test_a_kernel_of_the_copy_marks_from_its_first_cell_on(location, monkeypatch):
    monkeypatch.setenv("JUPYTER_PATH", str(location / ".jupyter"))
    cells = cells_of(notebook_in(location))
    [question] = [question for question in questions(NAME) if question.name == "q5_1"]
    wrong = min(set(question.explanations) - {question.key})
    not_run = "○ Not tested yet: <code>torch</code> comes from a cell above that has not run in this kernel"
    steps = [  # a cell, and what it shows
        (cells["test_q5_1"], "0 of 12 tried"),
        (f'q5_1 = "{question.key.lower()}"', "● <code>q5_1</code> is defined. Now run the cell below it"),
        (cells["test_q5_1"], "✓ q5_1: 1 of 1 points"),
        (f'q5_1 = "{wrong}"', ""),
        (cells["test_q5_1"], "✗ q5_1: 0 of 1 points"),
        ('q5_1 = "B and C"', ""),
        (cells["test_q5_1"], "○ <code>q5_1</code> is not marked yet. Answer with one letter"),
        ("hint(q5_1)", "as in <code>hint(&quot;q5_1&quot;)</code>"),
        (cells["test_softmax"], not_run),
        (ONE_MAXIMUM, ""),
        ("check(softmax)", not_run),
        (cells["learning"], ""),
        (cells["setup"], ""),
        (LOOPS_AGAIN, ""),
        ("from autograder.learning import local_marking; local_marking.SECONDS = 1", ""),
        (cells["test_softmax"], "■ The test of <code>softmax</code> was stopped after 1 seconds"),
        ("local_marking.SECONDS = 10", ""),
        ("def softmax(scores, dim=-1):\n    return scors", ""),
        (cells["test_softmax"], "name 'scors' is not defined"),
        ("hint(softmax)", "Hint 1"),
        ('hint("softmx")', "Did you mean softmax?"),
        ("solution(softmax)", "A worked softmax"),
    ]
    message = shown(location, [source for source, _ in steps])
    for (source, wanted), found in zip(steps, message, strict=True):
        assert wanted in found, source
    assert "○ <code>q5_1</code> is not answered yet, or the cell of the answer has not run" in message[0]
    assert "NameError" not in "".join(message[:16])
    assert not message[11], "marking is on already"
    assert "1 of 12 tried, 1 of 34 points" in message[4], "the best try counts"
    assert "Next: Exercise: simple attention. Not full yet, above: Exercise: softmax." in message[2]
    assert "the verdict follows in about 1 seconds" in message[15]
    assert "✗ softmax: 0 of 4 points" in message[15]
    assert "2 of 12 tried" in message[15], "a test without the cells above is no try"
    assert "✗ softmax: 0 of 4 points" in message[18], "the name is in no cell above"
    assert Copy(location).state("q5_1") == State(tries=2, earned=1, missed=True)


@pytest.mark.slow
def test_an_earlier_answer_is_not_marked_after_a_syntax_error(location):
    cells = cells_of(notebook_in(location))
    unclosed, misspelt = ONE_MAXIMUM.replace("scores.max())", "scores.max()"), ONE_MAXIMUM.replace("softmax", "sofmax")
    again = ("test_softmax", "test_softmax")
    sources = [misspelt, cells[again[0]], ONE_MAXIMUM, unclosed, cells[again[0]], ONE_MAXIMUM, cells[again[1]]]
    _, other, _, _, broken, _, marked = shown(location, [cells["learning"], cells["setup"], *sources])[2:]
    assert "<code>sofmax</code> is defined: was it to be <code>softmax</code>?" in other
    assert "○ <code>softmax</code> is not marked: its cell stopped with SyntaxError" in broken
    assert "of 4 points" not in broken
    assert "✗ softmax: 3.25 of 4 points" in marked
    assert Copy(location).state("softmax").tries == 1
    calls = shown(location, [cells["learning"], "hint()", "solution()", "check()", 'hint("q5_1")'])
    assert all("in quotation marks, as in" in text for text in calls[1:4])
    assert "says what is true of each letter" in calls[4]


@pytest.mark.slow
def test_a_test_that_ended_python_is_named_when_the_notebook_begins_again(location):
    note = location / ".learning" / "running" / "softmax"
    note.parent.mkdir()
    note.touch()
    first, again = (shown(location, [cells_of(notebook_in(location))["learning"]])[0] for _ in range(2))
    assert "Python ended while the test of <code>softmax</code> ran" in first
    assert "Python ended" not in again


@pytest.mark.slow
def test_a_learner_marks_a_written_answer_beside_the_samples(location):
    path, name = notebook_in(location), "written_scaling"
    rubric = written_answers.rubrics(notebook_path(NAME))[name]
    below = 'mark_yourself("written_scaling", '
    cell = cells_of(path)[f"marks-{name}"]
    assert f"{below}None, None, None)" in cell
    before = shown(location, [cell, f'solution("{name}")'])
    for text in before:
        assert "is not answered yet in the notebook as it was last saved. Write 30 words or more" in text
    path.with_name("broken.ipynb").write_text("[]")
    path = path.rename(path.with_name("mine.ipynb"))  # whatever its name
    path.write_text(path.read_text("utf-8").replace(self_marking.STUB, "The variance grows. " * 20), "utf-8")
    assert "written answer: open" in (location / "START.md").read_text("utf-8")
    bad = [f"{below}{marks})" for marks in ("1, 1", "1, 1, 2", "1, None, 1", '"a", 1, 1')]
    good = f"{below}1, 0.5, 1)"
    compare, *refused, marked, also, hinted = shown(location, [cell, *bad, good, f'check("{name}")', f'hint("{name}")'])
    for text in (compare, marked, also):
        assert text.count("<details>") == 4, "the rubric, and answers of three, two points and one"
        assert "1 point: the variance, derived" in text
        assert rubric.samples[0].answer in text
    assert all("Give a mark for each of the 3 items of the rubric, 1, 0.5 or 0" in text for text in refused)
    assert "2.5 of 3 points, by your own marks" in marked
    assert "No hint is written" in hinted
    start = (location / "START.md").read_text("utf-8")
    assert "0 of 12 tried, 0 of 34 points; written answer: 2.5 of 3 by your own marks" in start


@pytest.mark.parametrize(("words", "told"), [(1, "has 1 word in"), (29, "has 29 words in"), (30, "")])
def test_a_short_written_answer_is_told_its_words_and_how_many_are_asked(tmp_path, words, told):
    cell = {"metadata": {"nbgrader": {"grade_id": "why"}}, "source": [self_marking.STUB + " word" * words]}
    (tmp_path / "any.ipynb").write_text(json.dumps({"cells": [cell]}))
    sentence = self_marking.what_is_missing("why", tmp_path)
    assert told in sentence
    assert ("Write 30 words or more in the cell above, save" in sentence) == bool(told)


def test_what_comes_next_names_the_notebook_if_it_is_another(location):
    course = Copy(location)
    assert course.what_next(NAME) == "Next: Exercise: softmax."
    for name, answer in course.notebooks[NAME].items():
        course.remember(name, State(tries=1, earned=answer.points))
    assert "in “1. Language modelling: what comes next?”" in course.what_next(NAME)
    assert course.what_next(NAME).endswith("open it from START.md.")


def test_what_comes_next_stands_below_what_was_answered_last(location):
    course = Copy(location)
    course.remember("softmax", State(tries=1, earned=3.25, missed=True))
    assert course.what_next(NAME, "softmax") == "Next: Exercise: softmax."
    course.remember("q5_2", State(tries=1, earned=1))
    left = "Not full yet, above: Exercise: softmax and 2 more."
    assert course.what_next(NAME, course.last(NAME)) == f"Next: Question 5.3. {left}"
    assert "[Question 5.3 in" in (location / "START.md").read_text("utf-8")
    os.utime(location / ".learning" / "answers" / "softmax.json", (1, 1))
    course.remember("softmax", State(tries=2, earned=4, missed=True, practised=True))
    assert course.last() == "q5_2", "practising does not lead back"
    for name in course.notebooks[NAME]:
        if name not in ("q5_1", "q5_2"):
            course.remember(name, State(tries=1, earned=course.notebooks[NAME][name].points))
    assert course.what_next(NAME, "q5_7") == "Next: Question 5.1.", "nothing is left below"


def test_a_place_to_stop_says_how_to_go_on(location):
    for name in ("01-language-modelling", NAME, "09-gpt"):
        cells = nbformat.read(location / name / f"{name}.ipynb", as_version=4).cells
        stops = [cell.source for cell in cells if "stop" in cell.metadata.get("tags", [])]
        assert stops
        assert all("Run All Above Selected Cell" in text for text in stops)


def test_no_sample_answer_is_in_the_copy(location):
    for name in ("05-attention", "09-gpt"):
        for written, rubric in written_answers.rubrics(notebook_path(name)).items():
            assert cells_of(location / name / f"{name}.ipynb")[f"marks-{written}"]
            for sample in rubric.samples:
                text = json.dumps(sample.answer[:60], ensure_ascii=False)[1:-1].encode()
                assert not [path for path in location.rglob("*") if path.is_file() and text in path.read_bytes()]


def test_the_copy_has_the_glossary_and_the_last_page(location):
    for page in ("GLOSSARY.md", "END.md"):
        assert (location / page).read_bytes() == (ROOT / "course" / page).read_bytes()


def test_an_edited_notebook_is_kept_and_the_new_one_put_beside_it(location, tmp_path, monkeypatch):
    actual = notebook_in(location)
    notebook = json.loads(actual.read_text("utf-8"))
    notebook["cells"][0]["source"] = "my notes"
    actual.write_text(json.dumps(notebook), "utf-8")
    kept, other = actual.read_bytes(), location / "06-masking" / "06-masking.ipynb"
    assert lay_out(location) == [], "the course has not changed"
    newer = shutil.copytree(ROOT / "course", tmp_path / "newer")
    for name in (NAME, "06-masking"):
        path = newer / name / f"{name}.ipynb"
        path.write_text(path.read_text("utf-8").replace("You will be able to", "Soon you will be able to"), "utf-8")
    monkeypatch.setattr(course_copy, "released", lambda: newer)
    assert lay_out(location) == [notebook_in(location, f"{NAME}-new")]
    assert actual.read_bytes() == kept
    assert "Soon you" in other.read_text("utf-8"), "nobody had worked in it"
    assert f"[{NAME}-new]({NAME}-new/{NAME}.ipynb)" in (location / "START.md").read_text("utf-8")
    assert lay_out(location) == [], "it is offered once"
    Copy(location).path.unlink()
    monkeypatch.undo()
    offered = {path.parent.name for path in lay_out(location)}
    assert offered == {f"{NAME}-new-new", "06-masking-new"}, "without its list, what differs counts as the learner's"
    assert actual.read_bytes() == kept


def test_a_renamed_notebook_is_linked_and_no_empty_one_is_put_beside_it(location):
    path = notebook_in(location)
    path = path.rename(path.with_name("my attention.ipynb"))
    path.with_name("scratch.ipynb").write_text(json.dumps({"cells": [{"id": "a"}]}))
    path.with_name("broken.ipynb").write_text("[]")
    Copy(location).remember("q5_1", State(tries=1, earned=0, missed=True))
    for _ in range(2):
        start = (location / "START.md").read_text("utf-8")
        assert f"({NAME}/my%20attention.ipynb)" in start
        assert f"({NAME}/my%20attention.ipynb#cell-id=" in start
        assert f"{NAME}/{NAME}.ipynb" not in start
        lay_out(location)
        assert not notebook_in(location).exists()
    path.unlink()
    lay_out(location)
    assert notebook_in(location).is_file(), "a notebook that is missing is put back"


def test_an_update_that_the_disk_stops_loses_nothing_and_can_be_repeated(location, tmp_path, monkeypatch):
    actual, newer = notebook_in(location), shutil.copytree(ROOT / "course", tmp_path / "newer")
    actual.write_text(actual.read_text("utf-8").replace("YOUR CODE HERE", "my code"), "utf-8")
    before = files.contents(location)
    for path in newer.glob("[0-9]*/*.ipynb"):
        path.write_text(path.read_text("utf-8").replace("You will be able to", "Soon you will be able to"), "utf-8")
    monkeypatch.setattr(course_copy, "released", lambda: newer)
    with monkeypatch.context() as disk:
        fill(disk, OSError(errno.ENOSPC, "No space left on device"), after=40)
        message = CliRunner().invoke(app, ["learn", "--folder", str(location)])
    assert message.exit_code == 1
    assert "No space left on device. What was there is kept" in message.output
    there = files.contents(location)
    assert before.keys() <= there.keys(), "old or new, each file is there"
    assert actual.read_bytes() == before[f"{NAME}/{NAME}.ipynb"]
    assert lay_out(location) == [notebook_in(location, f"{NAME}-new")], "nothing else counts as the learner's"


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 1, "No space left on device"),
        (KeyboardInterrupt(), 130, "Stop"),
    ],
    ids=["full disk", "ctrl-c"],
)
@pytest.mark.parametrize("command", [("init",), ("learn", "--folder")], ids=["init", "learn"])
def test_what_cannot_be_written_whole_leaves_nothing(command, error, status, message, tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    fill(monkeypatch, error, after=4)
    for folder in ("new/deep", "there"):
        done = CliRunner().invoke(app, [*command, str(tmp_path / folder)])
        assert done.exit_code == status
        assert message in done.output
        assert "Nothing was written" in done.output
        assert [*tmp_path.rglob("*")] == [tmp_path / "there"]


@pytest.mark.parametrize("command", [("init",), ("learn", "--folder")], ids=["init", "learn"])
def test_an_impossible_folder_is_named_with_the_reason(command, tmp_path):
    (tmp_path / "file").touch()
    for name, reason in (("file/below", os.strerror(errno.ENOTDIR)), ("x" * 300, os.strerror(errno.ENAMETOOLONG))):
        done = CliRunner().invoke(app, [*command, str(tmp_path / name)])
        assert done.exit_code == 1
        assert f"cannot be written: {reason}. Nothing was written" in done.output
    done = CliRunner().invoke(app, [*command, str(tmp_path)])  # it holds a file
    assert (done.exit_code, [*tmp_path.iterdir()]) == (1, [tmp_path / "file"])
    assert "name " in done.output


def fill(monkeypatch, error: BaseException, after: int) -> None:
    """Have each file but the first ones fail to be written, half of it."""
    left, write = iter(range(after)), Path.write_bytes

    def written(path: Path, content: bytes) -> int:
        if next(left, None) is None:
            write(path, content[: len(content) // 2])
            raise error
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", written)


def test_jupyterlab_starts_the_kernel_of_the_copy_and_finds_the_users_own(location, monkeypatch):
    for variable in ("JUPYTER_PATH", "JUPYTER_CONFIG_PATH"):
        monkeypatch.setenv(variable, "mine")
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    monkeypatch.chdir(location)
    monkeypatch.setattr("jupyterlab.labapp.main", lambda options: None)
    course_copy.open_lab(location, [])
    assert KernelSpecManager().get_kernel_spec("python3").argv[-1] == course_copy.MARKING
    assert os.environ["JUPYTER_PATH"].endswith(f"{os.pathsep}mine")


@pytest.mark.slow
@pytest.mark.long
def test_a_notebook_run_by_nbclient_has_each_verdict_in_its_outputs(location):
    name = "04-positional-encoding"
    notebook = nbformat.read(location / name / f"{name}.ipynb", as_version=4)
    right = {one.name: one.source for one in exercises(name)}
    right |= {one.name: f'{one.name} = "{one.key}"' for one in questions(name)}
    for cell in notebook.cells:
        cell.source = right.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
    where = {"metadata": {"path": str(location / name)}}
    NotebookClient(notebook, timeout=300, resources=where, coalesce_streams=True).execute()
    tests = {found[1]: cell for cell in notebook.cells if (found := TEST.match(cell.source))}
    assert tests.keys() == right.keys()
    for answer, cell in tests.items():
        [output] = cell.outputs
        for kind in ("text/plain", "text/html"):
            assert re.search(rf"{answer}: (\d+) of \1 points", output.data[kind]), kind


def test_a_notebook_is_known_by_its_folder_whatever_its_version(tmp_path):
    names = ("02-tokenisation", "02-tokenisation-further")
    about = json.dumps({"notebooks": {name: {"answers": {}} for name in names}}).encode()
    files.write_with_folders(Copy(tmp_path).path, about)
    for name in names:
        assert {Copy(tmp_path).notebook_in(tmp_path / f"{name}{newer}") for newer in ("", "-new", "-new-new")} == {name}
    assert Copy(tmp_path).notebook_in(tmp_path / "start") == ""


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").touch()
    with pytest.raises(WouldOverwrite, match="photos"):
        lay_out(tmp_path / "photos")


def test_progress_is_kept_where_the_list_of_files_is_damaged(location):
    Copy(location).remember("softmax", State(tries=2, earned=3.25))
    (location / ".learning" / "course.json").write_text('{"laid": ')  # cut off
    lay_out(location)
    assert Copy(location).state("softmax") == State(tries=2, earned=3.25)
    assert "1 of 12 tried, 3.25 of 34 points" in (location / "START.md").read_text("utf-8")


# --- in the notebook's process ----------------------------------------------------------------------------------------


def namespace(*sources: str) -> dict:
    found = {"__name__": "notebook", "torch": torch, "In": ["", *sources]}
    for source in sources:
        exec(source, found)
    return found


def test_marking_leaves_the_notebook_as_it_was():
    simple = "def simple_attention(x):\n    return softmax(x @ x.transpose(-2, -1)) @ x"
    here = namespace(ONE_MAXIMUM, simple)
    before, states = dict(here), (random.getstate(), torch.get_rng_state())
    verdict = local_marking.verdict_on("simple_attention", here)
    assert verdict.full, "the mistake in softmax costs nothing here"
    assert here == before
    assert random.getstate() == states[0]
    assert torch.equal(torch.get_rng_state(), states[1])


@pytest.mark.parametrize("hung", [False, True])
@pytest.mark.parametrize("answer", [LOOPS, LOOPS_AGAIN], ids=["loops", "catches the interrupt"])
def test_an_answer_that_never_ends_is_stopped(answer, hung, monkeypatch):
    monkeypatch.setattr(local_marking, "SECONDS", 0.2)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a kernel, also where tests run in the background
    verdict = local_marking.verdict_on("softmax", namespace(answer), hung)
    assert verdict.earned == 0
    assert "did not come back" in verdict.lines[0].message


def test_the_learner_can_stop_an_answer():
    stops = "def softmax(scores, dim=-1):\n    raise KeyboardInterrupt"
    with pytest.raises(KeyboardInterrupt):
        local_marking.verdict_on("softmax", namespace(stops))


def test_an_answer_is_not_blamed_for_a_cell_above_that_has_not_run():
    here = namespace(ONE_MAXIMUM)
    del here["torch"]
    with pytest.raises(local_marking.NotRun, match="torch"):
        local_marking.verdict_on("softmax", here)
    verdict = local_marking.verdict_on("softmax", namespace("def softmax(scores, dim=-1):\n    return scors"))
    assert "scors" in verdict.lines[0].message, "it is in no cell above"


def test_names_above_are_what_cells_but_tests_define_or_import():
    above = local_marking.names_above("simple_attention")
    assert {"torch", "F", "words", "draw_shares", "softmax", "q5_1", "scores_in_loops"} <= above
    assert not {"simple_attention", "result", "scaled_dot_product_attention"} & above


# --- what is in the way -----------------------------------------------------------------------------------------------


@pytest.fixture
def advise(location):
    """Say what is advised after an error, in a folder of the copy."""

    def advised(error: BaseException, folder: Path = location / NAME, cell: str = "") -> str:
        return advice.about(error, cell, folder, Copy(location) if folder.is_relative_to(location) else None)

    return advised


def test_a_cell_after_a_restart_is_told_to_run_the_cells_above(advise, location):
    sentence = advise(NameError(name="draw_shares"))
    assert "`draw_shares` comes from another cell" in sentence
    assert "Run All Above Selected Cell" in sentence
    assert not advise(NameError(name="my_own")), "the cell itself is the cause"
    assert not advise(NameError(name="draw_shares"), location), "practise.ipynb has no such cell"
    assert '`"written_scaling"`' in advise(NameError(name="written_scaling"))
    for call in ("hint", "solution"):
        assert '`"softmax"`' in advise(NameError(name="softmax"), cell=f"{call}(softmax)"), "that needs no cell above"
    assert "Run All Above" in advise(NameError(name="softmax"), cell="check(softmax)")
    assert not advise(ValueError("bad"))
    assert not advise(None)


def test_a_notebook_outside_its_folder_is_told_where_it_belongs(advise, location, tmp_path):
    missing = type("Missing", (Exception,), {})()
    cell = cells_of(notebook_in(location))["ready"]
    for folder in (location, location / "06-masking", tmp_path):
        for error in (ModuleNotFoundError(name="attention_explorer"), missing):
            assert f"runs in {folder}. Move it" in advise(error, folder, cell)
    assert "the folder `05-attention` of your copy" in advise(missing, location, cell)
    (location / NAME / "attention_tools.py").unlink()
    assert "run `autograder learn` again" in advise(missing, location / NAME, cell)
    lay_out(location)
    assert (location / NAME / "attention_tools.py").is_file()
    assert not advise(ModuleNotFoundError(name="pandas"))


@pytest.mark.slow
def test_advice_comes_before_a_traceback_or_alone(location):
    cells = cells_of(notebook_in(location))
    called = "def own(): return draw_shares\nown()"
    _, alone, first, own = shown(location, [cells["learning"], "draw_shares(1)", called, "1 / 0"])
    assert alone.startswith("○ draw_shares comes from another cell")
    assert "Traceback" not in alone
    assert re.match(r"○ draw_shares comes .*Traceback .*in own\(\)", first, re.DOTALL)
    assert own.startswith("---"), "an error of the cell's own is Python's to explain"


@pytest.mark.slow
def test_a_kernel_says_why_it_records_nothing(location, tmp_path, monkeypatch):
    refused = (
        "import pathlib; from autograder import files\ndef refuse(*_): raise PermissionError(13, 'Permission denied')"
    )
    steps = [cells_of(notebook_in(location))["learning"], refused, "files.write_with_folders = refuse", 'q5_1 = "A"']
    *_, marked = shown(location, [*steps, 'check("q5_1")'])
    assert "cannot be written to, so nothing is kept. In a terminal, <code>chmod -R u+w" in marked
    assert "q5_1:" in marked, "the verdict is there"
    unwritable = "import os; os.access = lambda *_: False"
    first, _ = shown(location, [f"{unwritable}\n{steps[0]}", "1"])
    assert advice.READ_ONLY.split("`")[0].format(folder=location) in first, "said before anything is lost"
    (location / ".learning" / "course.json").write_text("{")
    damaged, _, marked = shown(location, [steps[0], steps[3], 'check("q5_1")'])
    assert "cannot be read. In a terminal, run <code>autograder learn</code> again" in damaged
    assert "q5_1:" in marked


# --- practising again -------------------------------------------------------------------------------------------------


def test_an_answer_that_was_once_wrong_is_practised_when_it_is_right(location):
    course = Copy(location)
    course.remember("softmax", State(tries=2, earned=4, missed=True))
    course.remember("q5_1", State(tries=1, earned=0, missed=True))
    course.remember("q5_2", State(tries=1, earned=1))
    assert course.to_practise() == (["softmax"], [])
    start = (location / "START.md").read_text("utf-8")
    assert "**[Practise again](practise.ipynb)**, a minute each" in start
    assert f"right now: [Exercise: softmax]({NAME}/{NAME}.ipynb#cell-id=exercise-softmax)." in start
    for number in (2, 3, 4, 5):
        course.remember(f"q5_{number}", State(tries=2, earned=1, missed=True))
    listed, folded = (location / "START.md").read_text("utf-8").split("<summary>and 2 more</summary>")
    assert all(f"[Question 5.{number}](" in listed for number in (2, 3))
    assert all(f"[Question 5.{number}](" in folded for number in (4, 5))
    for number in (2, 3, 4, 5):
        course.remember(f"q5_{number}", State(tries=1, earned=1))
    course.remember("softmax", State(tries=2, earned=4, missed=True, practised=True))
    assert course.to_practise() == ([], ["softmax"])
    assert "**Practised again:** the one answer that was once wrong" in (location / "START.md").read_text("utf-8")


@pytest.mark.slow
def test_practising_draws_a_fresh_case_until_each_is_right(location):
    for name, points in (("softmax", 4), ("q5_1", 1)):
        Copy(location).remember(name, State(tries=2, earned=points, missed=True))
    right = "from autograder.learning import hints; practise(hints._cases[-1].right)"
    [cell] = [one.source for one in nbformat.read(location / "practise.ipynb", 4).cells if one.cell_type == "code"]
    first, wrong, second, done, again = shown(location, [cell, "practise([7])", right, right, cell])
    assert "**1 of 2: softmax.**" in first
    assert "**✗ The reference gives" in wrong
    assert "**1 of 2: softmax.**" in wrong, "with another case"
    assert "**✓ Right: `softmax` is done.**" in second
    assert "**2 of 2: q5_1.**" in second
    for text in (done, again):
        assert "**All done:** 2 of 2" in text
    assert "**Practised again:** all 2 answers" in (location / "START.md").read_text("utf-8")


def test_questions_can_be_practised_away_from_their_notebooks():
    pointing = re.compile(r"\b(as|tokeniser|text|cell|figure|section) above\b|\bsuch layers\b")
    assert not [one.name for one in questions() if pointing.search(practice.draw(one.name, random.Random(1)).text)]


@pytest.mark.parametrize("name", ["count_bigrams", "encode", "softmax", "SelfAttention", "q5_1"])
def test_a_case_is_drawn_and_compared_with_the_reference(name):
    cases = [practice.draw(name, random.Random(seed)) for seed in range(4)]
    assert len({case.text for case in cases}) > 1, "each time another one"
    for case in cases:
        assert practice.is_right(case, case.right)
        assert not any(practice.is_right(case, other) for other in (None, "nothing", [], {}, 1e9))
        if case.choice:
            assert case.right in re.findall(r"\*\*([A-D])\*\*", case.text)
            assert not practice.is_right(case, "ABCD".replace(case.right, "")[0])


def test_a_result_may_be_rounded_and_come_in_any_container():
    case = practice.Case("softmax", "", [[0.2447, 0.7553]], "")
    for answer in ([[0.24, 0.76]], ((0.245, 0.755),), torch.tensor([[0.2447, 0.7553]])):
        assert practice.is_right(case, answer)
    for answer in ([0.24, 0.76], [[0.3, 0.7]], [[0.24]], [["a", "b"]]):
        assert not practice.is_right(case, answer)
    for right, kind in ((0.5, "0.25"), ([1], "[7, 7]"), ([[0.5]], "[[0.25, 0.25], [0.25, 0.25]]"), ("a", '"word"')):
        assert practice._example(right) == kind, "it shows how a result is nested"
    small = practice.Case("noam_rate", "", 0.00091, "")
    assert practice.is_right(small, 0.00092)
    assert not practice.is_right(small, 0.001)


# --- how a verdict looks ----------------------------------------------------------------------------------------------


IN_NUMPY = """def softmax(scores, dim=-1):
    exps = np.exp(scores - np.max(scores, axis=dim, keepdims=True))
    return exps / np.sum(exps, axis=dim, keepdims=True)"""


def test_an_answer_in_numpy_is_told_to_stay_in_torch():
    here = namespace("import numpy as np", IN_NUMPY)
    shown = verdict_page.with_advice(local_marking.verdict_on("softmax", here), here)
    assert "uses NumPy (`np.exp`). Stay in torch" in verdict_page.plain(shown)
    assert "uses NumPy (<code>np.exp</code>). Stay in torch" in verdict_page.page(shown)
    here = namespace(ONE_MAXIMUM)
    assert not verdict_page.with_advice(local_marking.verdict_on("softmax", here), here).remark


def test_an_explanation_in_text_has_no_asterisks():
    for name, letter in (("q1_1", "B"), ("q1_5", "D")):
        verdict = local_marking.verdict_on(name, {name: letter})
        assert "*" not in verdict_page.plain(verdict) + verdict_page.page(verdict)


def test_lines_that_are_not_judged_for_one_reason_are_one_line():
    not_judged = [Line(f"check {letter}", 1.0, False, VALUES_DIFFER, judged=False) for letter in "abcde"]
    verdict = Verdict("softmax", 4, 1.0, [Line("values", 1.0, False, "They differ."), *not_judged])
    for text in (verdict_page.plain(verdict), verdict_page.page(verdict)):
        assert text.count(VALUES_DIFFER) == 1
        assert "5 checks" in text
        assert "check e" in text


@pytest.mark.parametrize(("earned", "share"), [(4, "right"), (1.5, "partly"), (0, "wrong")])
def test_a_verdict_has_the_colours_of_the_feedback_page_light_and_dark(earned, share):
    lines = [Line("values", 1.0, earned > 0, "no <td>✓ right</td>"), Line("dtype", 1.0, earned == 4, "no")]
    text = verdict_page.page(Verdict("softmax", 4, earned, lines))
    assert f'<div class="course-verdict {share}">' in text
    assert text.count('<strong class="right">') == sum(line.passed for line in lines), "no message is coloured"
    style = (Path(exporter.__file__).parent / "feedback_page" / "style.css").read_text("utf-8")
    colours = re.findall(r"--(good|bad|half): (#\w{6})", verdict_page.STYLE)
    assert colours == re.findall(r"--(good|bad|half): (#\w{6})", style), "three in light, three in dark"
