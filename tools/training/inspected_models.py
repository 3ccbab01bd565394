"""Trains the small model that notebook 07 inspects. It is stored beside the notebook, so that the text stays true.

`python -m tools.training.inspected_models` trains its model of eight heads. The model, its texts and the training come
from the notebook's given cells, so that nothing is defined twice.
"""

from __future__ import annotations

import contextlib
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import typer
from torch import nn

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
HEADS = SOLUTIONS / "07-multi-head" / "heads.pt"
STEPS = 2_000

app = typer.Typer(add_completion=False)


def given(notebook: str, *names: str) -> dict[str, Any]:
    """Run the notebook's given cells with these grade ids in its folder. Return the names that they define."""
    folder = SOLUTIONS / notebook
    cells = json.loads((folder / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    source = {cell["metadata"].get("nbgrader", {}).get("grade_id"): "".join(cell["source"]) for cell in cells}
    found: dict[str, Any] = {}
    with contextlib.chdir(folder), beside(folder):
        for name in names:
            exec(compile(source[name], f"{notebook}:{name}", "exec"), found)
    return found


@contextlib.contextmanager
def beside(folder: Path) -> Iterator[None]:
    """Let cells import the modules that lie in the folder."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def weights(model: nn.Module) -> dict[str, torch.Tensor]:
    """Return the model's weights in half precision: enough to inspect them, and half the file size."""
    return {name: tensor.half() for name, tensor in model.state_dict().items() if tensor.is_floating_point()}


@app.command()
def heads() -> None:
    """Train notebook 07's model of two layers with four heads on new headlines (about half a minute)."""
    notebook = given("07-multi-head", "setup", "headlines", "headline-data", "two-layers", "three-ways", "train")
    dice, ids = random.Random(11), notebook["stoi"]
    texts = [[ids[word] for word in notebook["headlines"](dice)[0]] for _ in range(STEPS * notebook["B"])]
    notebook["train_ids"] = torch.tensor(texts)  # read by the notebook's `train`
    model, losses = notebook["train"](notebook["right"], STEPS, "eight heads")
    torch.save(weights(model), HEADS)
    typer.echo(f"{HEADS}: training loss {sum(losses[-50:]) / len(losses[-50:]):.3f}")


if __name__ == "__main__":
    app()
