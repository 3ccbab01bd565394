"""Tests that a cell which spoils an answer from outside is named: what it did, and what to do."""

import json

import pytest
from conftest import cell_of, graded_only, read
from submissions import ANSWERS, FILES, LIMITS, NAME, POINTS, mended

from autograder.nbgrader_plugin.intake.merge_marks import unresolved_merge
from autograder.nbgrader_plugin.intake.repair import KEY, load
from autograder.nbgrader_plugin.marking.notebook_marker import NotebookMarker
from autograder.sample_class import filled_in

SOFTMAX = ANSWERS["softmax"]
MERGE = f"<<<<<<< local\n{SOFTMAX}\n=======\n{SOFTMAX.upper()}\n>>>>>>> remote"
SPOILT = {  # the answer's cell, its points, and words of the advice
    "input": (f"name = input('Your name? ')\n{SOFTMAX}", 0, "`input()` waits for somebody to type"),
    "timeit": (
        f"%%timeit\n{SOFTMAX}",
        0,
        "`%%timeit` runs a cell apart from the notebook: what it defines (`softmax`)",
    ),
    "writefile": (f"%%writefile a.py\n{SOFTMAX}", 0, "`%%writefile` runs a cell apart"),
    "gradients": (f"{SOFTMAX}\ntorch.set_grad_enabled(False)", 4, "torch.set_grad_enabled(False)"),
    "compile": (f"@torch.compile\n{SOFTMAX}", 4, "torch.compile has no effect"),
    "whole graph": (f"{SOFTMAX}\nsoftmax = torch.compile(softmax, fullgraph=True)", 4, "torch.compile has no effect"),
    "merge": (MERGE, 0, "line 1 is `<<<<<<< local`"),
}


@pytest.mark.parametrize(("source", "points", "words"), SPOILT.values(), ids=SPOILT)
def test_what_spoils_an_answer_is_named_and_costs_no_other(template, source, points, words):
    short = graded_only(NAME)
    notebook = mended(filled_in(short, ANSWERS | {"softmax": source}), short)
    marker = NotebookMarker(notebook, template, FILES, LIMITS)
    verdicts = {verdict.exercise: verdict for verdict in marker.run().values()}
    assert {name: verdict.earned for name, verdict in verdicts.items()} == POINTS | {"softmax": points}
    assert any(words in output.get("text", "") for output in cell_of(notebook, "softmax").outputs)
    [remark] = marker.remarks
    assert remark.startswith("In the cell “softmax”: ")
    assert words in remark
    assert points or words in verdicts["softmax"].remark


def test_harmless_cells_are_not_advised_on(template):
    short = graded_only(NAME)
    harmless = f"%%time\n# no input() and no torch.compile\n{SOFTMAX}\nwith torch.no_grad():\n    pass"
    notebook = mended(filled_in(short, ANSWERS | {"softmax": harmless}), short)
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
