"""Trains the small models that notebooks inspect. They are stored beside the notebooks, so that the text stays true.

`python -m tools.training.inspected_models heads` trains notebook 07's model of eight heads, and
`... inspected_models stream` notebook 08's stack of blocks. The models, their texts and notebook 07's training come
from the notebooks' given cells, so that nothing is defined twice.
"""

from __future__ import annotations

import contextlib
import json
import math
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import typer
from torch import nn
from tqdm import tqdm

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
HEADS, STREAM = SOLUTIONS / "07-multi-head" / "heads.pt", SOLUTIONS / "08-blocks" / "stream.pt"
HEADS_STEPS, STREAM_STEPS = 2_000, 5_000

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
    texts = [[ids[word] for word in notebook["headlines"](dice)[0]] for _ in range(HEADS_STEPS * notebook["B"])]
    notebook["train_ids"] = torch.tensor(texts)  # read by the notebook's `train`
    model, losses = notebook["train"](notebook["right"], HEADS_STEPS, "eight heads")
    torch.save(weights(model), HEADS)
    typer.echo(f"{HEADS}: training loss {sum(losses[-50:]) / len(losses[-50:]):.3f}")


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
