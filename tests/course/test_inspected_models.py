"""Tests of the small models that notebook 07 inspects: they match the notebook's code and the text's numbers."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

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
