"""Tests that a cell which spoils an answer from outside is named: what it did, and what to do."""

import json

import pytest
from conftest import cell_of, graded_only, read
from nbformat.v4 import new_code_cell
from submissions import ANSWERS, FILES, LIMITS, NAME, POINTS, mended

from autograder.nbgrader_plugin.intake.merge_marks import unresolved_merge
from autograder.nbgrader_plugin.intake.repair import KEY, load
from autograder.nbgrader_plugin.marking.notebook_marker import NotebookMarker
from autograder.sample_class import filled_in

SOFTMAX = ANSWERS["softmax"]
SPOILT = {  # by exercise: its cell, whether it still earns its points, and words of the advice
    "softmax": ("name = input('Your name? ')\n{}", False, "`input()` waits for somebody to type"),
    "simple_attention": ("%%timeit\n{}", False, "what it defines (`simple_attention`) is not there afterwards"),
    "scaled_dot_product_attention": ("@torch.compile(fullgraph=True)\n{}", True, "torch.compile has no effect"),
    "SelfAttention": ("\n<<<<<<< local\n{0}\n=======\n{0}\n>>>>>>> remote", False, "line 2 is `<<<<<<< local`"),
    "recall_step": ("{}\ntorch.set_grad_enabled(False)", True, "torch.set_grad_enabled(False)"),
}


def test_what_spoils_answers_is_named_and_costs_no_others(template):
    short = graded_only(NAME)
    spoilt = {name: cell.format(ANSWERS[name]) for name, (cell, _, _) in SPOILT.items()}
    notebook = mended(filled_in(short, ANSWERS | spoilt), short)
    marker = NotebookMarker(notebook, template, FILES, LIMITS)
    verdicts = {verdict.exercise: verdict for verdict in marker.run().values()}
    lost = {name: 0 for name, (_, earns, _) in SPOILT.items() if not earns}
    assert {name: verdict.earned for name, verdict in verdicts.items()} == POINTS | lost
    for name, (_, earns, words) in SPOILT.items():
        assert any(words in output.get("text", "") for output in cell_of(notebook, name).outputs)
        assert [words in remark for remark in marker.remarks if f"“{name}”" in remark] == [True]
        assert earns or words in verdicts[name].remark


def test_harmless_cells_are_not_advised_on(template):
    short = graded_only(NAME)
    harmless = f"%%time\n# no input() and no torch.compile\n{SOFTMAX}\nwith torch.no_grad():\n    pass"
    notebook = mended(filled_in(short, ANSWERS | {"softmax": harmless}), short)
    marker = NotebookMarker(notebook, template, FILES, LIMITS)
    marker.run()
    assert marker.remarks == []


def test_magics_on_cells_that_hold_no_answer_are_not_advised_on(template):
    short = graded_only(NAME)
    notebook = mended(filled_in(short, ANSWERS), short)
    timed = "%%timeit -n1 -r1\nweights = softmax(torch.zeros(3))"
    for source in ("%%writefile kept.py\ndef half(x):\n    return x / 2", f"%%writefile mine.py\n{SOFTMAX}", timed):
        notebook.cells.append(new_code_cell(source))
    marker = NotebookMarker(notebook, template, FILES, LIMITS)
    marker.run()
    assert marker.remarks == []


@pytest.mark.parametrize("base", ["", "||||||| merged common ancestors\n  1,\n"])
def test_an_unfinished_merge_in_the_file_is_named_with_its_line(tmp_path, base):
    text = json.dumps(filled_in(read("course", NAME), ANSWERS), indent=1)
    lines = text.splitlines()
    lines[9:10] = ["<<<<<<< HEAD", lines[9], base + "=======", lines[9], ">>>>>>> 1f2e3d4 (my changes)"]
    path = tmp_path / f"{NAME}.ipynb"
    path.write_text("\n".join(lines))
    problem = load(path, read("course", NAME)).metadata[KEY]["problem"]
    assert "line 10 is `<<<<<<< HEAD`" in problem
    assert f"git checkout --ours {NAME}.ipynb" in problem


@pytest.mark.parametrize(
    "text", ["<<<<<<< no end", "a << b\n=======\n>>>>>>>", "'<<<<<<< HEAD\\n=======\\n>>>>>>> x'", ""]
)
def test_other_texts_are_no_unfinished_merge(text):
    assert unresolved_merge(text) == ""
