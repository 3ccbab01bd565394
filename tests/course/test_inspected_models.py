"""Tests of the small models that notebook 07 inspects: they match the notebook's code and the text's numbers."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from typer.testing import CliRunner

from tools.training import inspected_models
from tools.training.inspected_models import SOLUTIONS, given

pytestmark = pytest.mark.slow  # each runs a notebook's cells that make its texts
CELLS = ("setup", "headlines", "headline-data", "two-layers", "three-ways")


def test_the_kept_heads_fit_the_notebooks_model_and_are_near_its_floor():
    notebook = given("07-multi-head", *CELLS)
    model = notebook["HeadsOnly"](notebook["right"])
    model.load_state_dict(torch.load(SOLUTIONS / "07-multi-head" / "heads.pt", weights_only=True))
    rows = notebook["test_ids"]
    with torch.no_grad():
        loss = F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()).item()
    assert 0 < loss - notebook["LINES"]["true floor"] < 0.06


@pytest.mark.long
def test_a_few_steps_write_the_same_weights_twice(tmp_path, monkeypatch):
    files = [tmp_path / "one.pt", tmp_path / "two.pt"]
    monkeypatch.setattr(inspected_models, "STEPS", 2)
    for file in files:
        monkeypatch.setattr(inspected_models, "HEADS", file)
        result = CliRunner().invoke(inspected_models.app)
        assert result.exit_code == 0, result.output
    one, two = (torch.load(file, weights_only=True) for file in files)
    torch.testing.assert_close(one, two, rtol=0, atol=0)
