"""Tests that visible tests give an answer what later cells give it: what passes them does not stop in these cells."""

import json
import shutil

import pytest
from conftest import NOTEBOOKS, ROOT, cell_of, read
from nbformat.v4 import new_code_cell
from short_trainings import SHORTER

from autograder.authoring import Client
from autograder.cell_counts import CLAIM
from autograder.judge.cell_effects import needed_by
from autograder.judge.run_check import namespace_with
from autograder.nbgrader_plugin.hidden_tests import HIDDEN
from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.spec.course import exercise, exercises


def code_cells(notebook):
    """Return the cells that a student runs, shortened, and without hidden tests."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and CLAIM not in cell.metadata.get("tags", [])]
    for cell in cells:
        cell.source = HIDDEN.sub("", cell.source)
        for long, short in SHORTER.get(notebook.metadata.name, {}).items():
            cell.source = cell.source.replace(long, short)
    return cells


@pytest.mark.long
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_later_cells_give_answers_nothing_that_the_visible_test_did_not(name, tmp_path, monkeypatch):
    """For example, no tensor that is not contiguous, or of another dtype or number of dimensions."""
    notebook = read("solutions", name)
    answers, cells = {exercise.name for exercise in exercises(name)}, code_cells(notebook)
    own = answers | {f"test_{answer}" for answer in answers}
    if not any(needed_by(cell.source) & answers for cell in cells if grade_id(cell) not in own):
        return  # no later cell calls an answer: there is nothing to run
    for cell in cells:
        cell.source = f"import layouts\nlayouts.cell = {grade_id(cell) or cell.id!r}\n{cell.source}"
        if grade_id(cell) in answers:
            cell.source += f"\n{grade_id(cell)} = layouts.recorded({grade_id(cell)!r}, {grade_id(cell)})"
    notebook.cells = [*cells, new_code_cell("print(layouts.report())")]
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    folder = shutil.copytree(ROOT / "solutions" / name, tmp_path / name)
    Client(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    new = []
    for answer, found in json.loads(notebook.cells[-1].outputs[0].text).items():
        tested = found.pop(f"test_{answer}")
        new += [
            f"{where} gives {answer} an argument {argument} with the trait “{trait}”, which test_{answer} does not"
            for where, traits in found.items()
            for argument, trait in traits
            if [argument, trait] not in tested
        ]
    assert not new


FAIL_LATER = [  # an answer, the piece of the reference that is written otherwise, and what the visible test says of it
    ("NeuralNgram", "ing(context)", "ing(context.view(-1)).view(*context.shape, -1)", "contexts is a slice"),
    ("merge_pair", "tuple(merged)", "tuple(merged) if len(symbols) > 1 else ()", "a word of one symbol"),
    ("SelfAttention", "Q = self.q_proj(x)", "x = x.detach(); Q = self.q_proj(x)", "no gradient reached x"),
    ("TransformerBlock", "return x + self.ff", "x += self.ff(self.norm2(x)); return x #", "inplace operation"),
    ("GPT", "targets.flatten()", "targets.view(-1)", "targets are slices of a larger tensor"),  # as nanoGPT writes it
    ("GPT", "self.blocks", "self.h", r"fixed names.*\['blocks'\]"),
    ("train_step", "model(x, y)", "0, F.cross_entropy(model(x)[0].flatten(0, 1), y.view(-1))", "view size"),
    ("train_step", "model.parameters()", "optimizer.param_groups[0]['params']", "each of the optimiser's groups"),
    ("logit_lens", "ln_f(hidden)", "ln_f(hidden.view(-1, hidden.shape[-1])).view(hidden.shape)", "hidden is a slice"),
    ("DecoderBlock", "return self.norm3(x +", "x += self.ff(x); return self.norm3(x) #", "inplace operation"),
    ("DecoderBlock", "context=memory", "context=memory.detach()", r"does not reach \['memory'\]"),
    ("label_smoothed_loss", "targets != pad", "targets.view(-1).view(targets.shape) != pad", "targets is a slice"),
    ("label_smoothed_loss", "logits[real]", "logits.detach()[real]", "no gradient reaches the logits"),
    ("label_smoothed_loss", "evenly = log_", "log_probs *= 1; evenly = log_", "inplace operation"),
    ("greedy_decode", "rows = target", "model.train(); rows = target", "was in eval mode"),
    ("bleu", "+= ours.total()", "+= len(hypothesis) - n + 1", "never fewer than none"),
]


@pytest.mark.parametrize(("name", "old", "new", "output"), FAIL_LATER, ids=[row[0] for row in FAIL_LATER])
def test_a_visible_test_catches_what_would_fail_in_a_later_cell(name, old, new, output):
    one = exercise(name)
    test = HIDDEN.sub("", cell_of(read("solutions", one.notebook), f"test_{name}").source)
    exec(test, namespace_with(one, one.source))
    assert old in one.source
    with pytest.raises((AssertionError, RuntimeError), match=output):
        exec(test, namespace_with(one, one.source.replace(old, new)))
