"""Trains the small models that notebook 07 inspects. They are stored beside the notebook, so that the text stays true.

`python -m tools.training.inspected_models` trains its five models of eight heads. The models, their texts and the
training come from the notebook's given cells, so that nothing is defined twice.
"""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import typer
from torch import nn

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
HEADS = SOLUTIONS / "07-multi-head" / "heads.pt"
STEPS = 2_000
MODELS = 5  # the seed of each is its number

app = typer.Typer(add_completion=False)


def given(notebook: str, *names: str) -> dict[str, Any]:
    """Run the notebook's given cells with these grade ids in its folder. Return the names that they define."""
    folder = SOLUTIONS / notebook
    cells = json.loads((folder / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    source = {cell["metadata"].get("nbgrader", {}).get("grade_id"): "".join(cell["source"]) for cell in cells}
    found: dict[str, Any] = {}
    with contextlib.chdir(folder):
        for name in names:
            exec(compile(source[name], f"{notebook}:{name}", "exec"), found)
    return found


def weights(model: nn.Module) -> dict[str, torch.Tensor]:
    """Return the model's weights in half precision: enough to inspect them, and half the file size."""
    return {name: tensor.half() for name, tensor in model.state_dict().items() if tensor.is_floating_point()}


@app.command()
def heads() -> None:
    """Train notebook 07's models of two layers with four heads on new headlines (about two minutes)."""
    cells = ("setup", "headlines", "headline-data", "two-layers", "three-ways", "train", "attention-maps", "roles")
    notebook = given("07-multi-head", *cells)
    dice, ids = random.Random(11), notebook["stoi"]
    texts = [[ids[word] for word in notebook["headlines"](dice)[0]] for _ in range(STEPS * notebook["B"])]
    notebook["train_ids"] = torch.tensor(texts)  # read by the notebook's `train`
    trained, histories = [], []
    for seed in range(MODELS):
        history: list[list[float]] = []
        watch = watcher(notebook, history)
        model, losses = notebook["train"](notebook["right"], STEPS, f"model {seed}", seed, watch)
        watch(STEPS, model)
        trained.append(weights(model))
        histories.append(history)
        typer.echo(f"model {seed}: training loss {sum(losses[-50:]) / len(losses[-50:]):.3f}")
    torch.save({"models": trained, "history": torch.tensor(histories)}, HEADS)


def watcher(notebook: dict[str, Any], history: list[list[float]]) -> Callable[[int, nn.Module], None]:
    """Return a callback that appends to `history` the step and three measurements of a model in training.

    They are the test loss at verbs told before, the test loss at all other words, and the largest share of weight that
    a head of the second layer gives from a repeated animal to its verb.
    """
    role = list(notebook["PAIRS"]).index("repeated animal: its verb")
    texts, queries, _ = notebook["PAIRS"]["repeated animal: its verb"]  # the word after such a query is a repeated verb
    told = torch.zeros(notebook["test_ids"][:, 1:].shape, dtype=torch.bool)
    told[texts, queries] = True
    rows = notebook["test_ids"]

    @torch.no_grad()
    def watch(step: int, model: nn.Module) -> None:
        loss = nn.functional.cross_entropy(model(rows[:, :-1]).transpose(1, 2), rows[:, 1:], reduction="none")
        share = notebook["role_shares"](model)[1, :, role].max()
        history.append([step, loss[told].mean().item(), loss[~told].mean().item(), share.item()])

    return watch


if __name__ == "__main__":
    app()
