"""Trains the small models that notebooks inspect. They are stored beside the notebooks, so that the text stays true.

`python -m tools.training.inspected_models heads` trains notebook 07's five models of eight heads, and
`... inspected_models stream` notebook 08's stack of blocks. The models, their texts and notebook 07's training come
from the notebooks' given cells, so that nothing is defined twice.
"""

from __future__ import annotations

import contextlib
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import typer
from torch import nn
from tqdm import tqdm

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
HEADS, STREAM = SOLUTIONS / "07-multi-head" / "heads.pt", SOLUTIONS / "08-blocks" / "stream.pt"
HEADS_STEPS, STREAM_STEPS = 2_000, 5_000
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
    texts = [[ids[word] for word in notebook["headlines"](dice)[0]] for _ in range(HEADS_STEPS * notebook["B"])]
    notebook["train_ids"] = torch.tensor(texts)  # read by the notebook's `train`
    trained, histories = [], []
    for seed in range(MODELS):
        history: list[list[float]] = []
        watch = watcher(notebook, history)
        model, losses = notebook["train"](notebook["right"], HEADS_STEPS, f"model {seed}", seed, watch)
        watch(HEADS_STEPS, model)
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


@app.command()
def stream() -> None:
    """Train notebook 08's pre-norm stack of 12 blocks on the stories (about ten minutes)."""
    notebook = given("08-blocks", "setup", "data", "stack")
    torch.manual_seed(0)
    model = notebook["Stack"](norm_first=True, L=12)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / 100) * (1 + math.cos(math.pi * step / STREAM_STEPS)) / 2
    )
    generator, bar, mean = torch.Generator().manual_seed(1), tqdm(range(STREAM_STEPS), mininterval=5), math.log(53)
    for _ in bar:
        loss, _ = model(notebook["batch"](generator, B=32))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        mean = 0.98 * mean + 0.02 * loss.item()
        bar.set_postfix(loss=f"{mean:.3f}", refresh=False)
    torch.save(weights(model), STREAM)
    typer.echo(f"{STREAM}: training loss {mean:.3f}, floor {notebook['floor']:.3f}")


if __name__ == "__main__":
    app()
