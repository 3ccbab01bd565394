"""Tests of the students' notebooks: the environment check, folded tests, and plain error messages."""

import importlib.util
import json
import os
import re
import sys

import pytest
from conftest import NOTEBOOKS, ROOT, missing, read
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from autograder.judge.cell_effects import Effects
from autograder.judge.source_rules import needed_by
from autograder.nbgrader_plugin.release.student_version import GOES_ON, LOOK, NAME
from autograder.spec.course import exercises, home

STOPPED = r"■ Stopped, in line 2:  raise KeyboardInterrupt\n  Run the cell again when you like\."
SAID = {  # a cell, and what it shows: nothing of assertions, but the line in the answer or in the test
    "test of open": "○ shift_targets: Not answered yet: replace this line with your code, then run the cell again.",
    "test of wrong": r"✗ the inputs of 5 2 7 9 are 5 2 7, got \[2, 7, 9\]: which token has no successor\?.*",
    "test of stops": r"✗ AttributeError: 'Tensor' object has no attribute 'nothing'\n  in your code, line .*"
    r"return ids\[:, 1:\], ids\.nothing\n  called in the test, line \d+:  result = shift_targets\(ids\)(\n.*)?",
    "test of nothing": "✗ .*returned nothing.*",
    "test of no pair": "✗ TypeError: cannot unpack.*in the test, line.*inputs, targets = result.*",
    "test of right": "✓ shift_targets: all tests that you can see pass. More run when you hand in.\n",
    "bare letter": r'✗ q6_1: write the letter in quotation marks, q6_1 = "C"',
    "bare name": "",
    "test of bare name": r'✗ q6_1: write the letter in quotation marks, such as q6_1 = "A"',
    "small letter": "",
    "test of small letter": r'✗ q6_1 is "c": write one capital letter of the options',
    "no letter": "",
    "test of no letter": r"○ q6_1 is not answered yet: .*",
    "syntax": r".*def f\(:.*SyntaxError.*",  # elsewhere errors are Python's own
    "own": ".*Traceback.*assert 1 == 2.*",
    "stopped": STOPPED,
    "stopped test": STOPPED,
    "after": "still here\n",
}


def released(name):
    return read("course", name).cells


@pytest.fixture(scope="module")
def tools():
    path = home() / "shared_modules" / "notebook_tools.py"
    specification = importlib.util.spec_from_file_location("notebook_tools", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def shown():
    """Return what cells show in a kernel that imported the tools."""
    cells = {cell.id: cell for cell in released("06-masking")}
    test, answer = cells["test_shift_targets"].source, cells["shift_targets"].source
    stub = answer.partition("    # YOUR CODE HERE")[0]
    answers = {
        "open": answer,
        "wrong": stub + "    return ids[:, 1:], ids[:, :-1]",
        "stops": stub + "    return ids[:, 1:], ids.nothing",
        "nothing": stub + "    pass",
        "no pair": stub + "    return 7",
        "right": stub + "    return ids[:, :-1], ids[:, 1:]",
    }
    sources = {"ready": cells["setup"].source, "setup": "import torch"}
    for name, source in answers.items():
        sources |= {name: source, f"test of {name}": test}
    choices = {
        "bare letter": "q6_1 = C  # replace None",
        "bare name": "B = 64\nq6_1 = B",
        "small letter": 'q6_1 = "c"',
        "no letter": "q6_1 = None",
    }
    for name, source in choices.items():
        sources |= {name: source, f"test of {name}": cells["test_q6_1"].source}
    sources |= {
        "syntax": "def f(:\n    pass",
        "own": "def g():\n    assert 1 == 2\n\ng()",
        "stopped": "def h(*ids):\n    raise KeyboardInterrupt\n\nh()",
        "stopped test": test.replace("shift_targets(", "h(", 1),
        "after": "print('still here')",
    }
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources.values()])
    beside = {"metadata": {"path": str(ROOT / "course" / "06-masking")}}
    NotebookClient(notebook, allow_errors=True, timeout=120, resources=beside, coalesce_streams=True).execute()
    return dict(zip(sources, (_text(cell) for cell in notebook.cells), strict=True))


def _text(cell):
    output = ("\n".join(one.traceback) if one.output_type == "error" else one.text for one in cell.outputs)
    return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(output))  # without colours


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_release_begins_with_the_cell_that_checks_its_files(name):
    cells = released(name)
    beside = {path.name for path in (ROOT / "course" / name).iterdir() if path.suffix not in (".ipynb", "")}
    assert cells[1].id == NAME
    assert not cells[1].metadata.deletable
    assert cells[1].metadata.jupyter.source_hidden
    assert all(repr(needed) in cells[1].source for needed in beside), "what lies beside its notebook is named"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_release_folds_its_tests_and_runs_on_past_them(name):
    cells = released(name)
    tests = [cell for cell in cells if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade")]
    assert tests
    assert all(cell.metadata.jupyter.source_hidden for cell in tests)
    assert all(re.match('# @title Test of .*print\\("[✓●]', cell.source, re.DOTALL) for cell in tests)
    assert all(GOES_ON in cell.metadata.tags for cell in tests), "Run All stops at them"


@pytest.mark.parametrize("name", [name for name in NOTEBOOKS if released(name)[1].id == NAME])
def test_marking_never_needs_the_first_cell(name):
    """What another cell needs is caught up when it is marked: this one would look for a network in the sandbox."""
    cells = [cell for cell in released(name) if cell.cell_type == "code"]
    answers = [exercise.source for exercise in exercises(name)]
    others = [*answers, *(cell.source for cell in cells if cell.id != NAME)]
    defined = Effects([cells[0].source, *others]).changed_by(cells[0].source)
    assert cells[0].id == NAME
    assert not defined & set().union(*map(needed_by, others))


@pytest.mark.parametrize("cell", SAID)
def test_errors_are_said_plainly_in_tests_and_by_python_elsewhere(shown, cell):
    assert re.fullmatch(SAID[cell], shown[cell], re.DOTALL), shown[cell]


def test_what_is_in_the_way_is_said_in_a_sentence_each(tools, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tools.look_around()
    fine = capsys.readouterr().out
    assert not missing(fine, "torch 2.", "Everything is here.")
    assert "✗" not in fine
    monkeypatch.setattr(sys, "version_info", (3, 9))
    tools.look_around()
    [wrong] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("✗")]
    assert "too old" in wrong


def test_a_read_only_folder_is_told_once_in_a_copy_that_marks(tools, monkeypatch, capsys):
    monkeypatch.setattr(os, "access", lambda *_: False)
    for module, told in (("autograder.learning", False), ("another", True)):
        with monkeypatch.context() as loaded:
            loaded.delitem(sys.modules, "autograder.learning", raising=False)
            loaded.setitem(sys.modules, module, sys)
            tools.look_around()
        assert ("cannot be written to" in capsys.readouterr().out) == told


def test_a_renamed_notebook_is_found_in_the_folder_beside(tools, tmp_path, monkeypatch):
    (tmp_path / "08-blocks").mkdir()
    (tmp_path / "07-heads").mkdir()
    monkeypatch.chdir(tmp_path / "08-blocks")
    with pytest.raises(FileNotFoundError, match=r"no notebook of the course in \.\./07-heads"):
        tools.cells_of("07-heads")
    own, notes = ({"metadata": {"nbgrader": about}, "source": []} for about in ({"grade_id": "merge_heads"}, {}))
    for number, (name, cell) in enumerate({"mine": own, "notes": notes}.items()):
        path = tmp_path / "07-heads" / f"{name}.ipynb"
        path.write_text(json.dumps({"cells": [cell]}))
        os.utime(path, (number, number))
    assert tools.cells_of("07-heads") == [own]
    (tmp_path / "07-heads" / "07-heads.ipynb").write_text(json.dumps({"cells": [own, own]}))
    assert tools.cells_of("07-heads") == [own, own], "its own name comes first"


@pytest.mark.parametrize(
    ("files", "libraries", "output"),
    [
        (["here.txt", "gone.txt"], [], "✗ Not beside this notebook: gone.txt. Open it in its own folder"),
        (["here.txt"], ["torch", "nosuchlibrary"], "✗ Not installed here: nosuchlibrary. Run %pip install nosuch"),
    ],
)
def test_what_a_notebook_lacks_is_said_by_its_first_cell(tmp_path, monkeypatch, files, libraries, output):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.txt").touch()
    cell: dict = {}
    exec(LOOK, cell)
    cell["look_beside"](["here.txt"], ["torch"])
    with pytest.raises(Exception, match=r"^Not") as error:
        cell["look_beside"](files, libraries)
    assert error.value._render_traceback_()[0].startswith(output)


@pytest.mark.parametrize(
    ("guess", "truth", "options", "output"),
    [
        (None, 3.2404, {"unit": "bits"}, "No guess yet: the answer is 3.24 bits."),
        (..., "sad", {}, "No guess yet: the answer is sad."),
        (6, 6, {}, "Well guessed: it is 6."),
        (3, 3.2404, {"unit": "bits"}, "Well guessed: you said 3, and it is 3.24 bits."),
        (3, 3.2404, {"unit": "bits", "close": 0.05}, "You guessed 3; the answer is 3.24 bits."),
        (1, 300_108, {"unit": "characters"}, "You guessed 1; the answer is 300,108 characters."),
        (-2, 2, {}, "You guessed -2; the answer is 2."),
        (" Sad", "sad", {}, "Well guessed: it is sad."),
        ("happy", "sad", {}, "You guessed happy; the answer is sad."),
        ("many", 40, {}, "You guessed many; the answer is 40."),
        ([1, 2], 40, {}, "You guessed [1, 2]; the answer is 40."),
    ],
)
def test_a_guess_is_compared_in_a_kind_sentence(tools, capsys, guess, truth, options, output):
    tools.compare_guess(guess, truth, **options)
    assert capsys.readouterr().out == f"{output}\n"
