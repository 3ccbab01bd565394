"""Trains the small model that notebook 07 inspects, by the notebook's given cells, and stores it next to the notebook.

python -m tools.training.inspected_models
"""

import contextlib
import json
import random
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import torch

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
HEADS = SOLUTIONS / "07-multi-head" / "heads.pt"
STEPS = 2_000


def given(notebook: str, *names: str) -> dict[str, Any]:
    """Run the notebook's cells with these ids in its folder. Return the names that they define."""
    folder = SOLUTIONS / notebook
    cells = json.loads((folder / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    source = {cell["id"]: "".join(cell["source"]) for cell in cells}
    found: dict[str, Any] = {}
    with contextlib.chdir(folder), mock.patch.object(sys, "path", [str(folder), *sys.path]):  # for modules next to it
        for name in names:
            exec(compile(source[name], f"{notebook}:{name}", "exec"), found)
    return found


def heads() -> None:
    """Train notebook 07's model of two layers with four heads on new headlines (about half a minute)."""
    notebook = given("07-multi-head", "setup", "headlines", "headline-data", "two-layers", "three-ways", "train")
    dice, ids = random.Random(11), notebook["stoi"]
    texts = [[ids[word] for word in notebook["headlines"](dice)[0]] for _ in range(STEPS * notebook["B"])]
    notebook["train_ids"] = torch.tensor(texts)  # read by the notebook's `train`
    model, losses = notebook["train"](notebook["right"], STEPS, "eight heads")
    found = model.state_dict().items()
    torch.save({name: one.half() for name, one in found if one.is_floating_point()}, HEADS)  # enough to inspect
    print(f"{HEADS}: training loss {sum(losses[-50:]) / len(losses[-50:]):.3f}")


if __name__ == "__main__":
    heads()
