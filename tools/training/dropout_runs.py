"""Records how dropout changes what the blocks of notebook 08 learn from a short text, for the curves of its section 9.

    python -m tools.training.dropout_runs           about 10 minutes of one core; resumes where it was stopped
    python -m tools.training.dropout_runs --show    print the saved results only

Each run executes the notebook's own cells: its answers, text and model. Notebook 08 reads `dropout-runs.json`.
"""

import json
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.table import Table
from tqdm import tqdm

from autograder.files import write_atomically

from .checkpoints import console
from .inspected_models import SOLUTIONS, given

KEPT = SOLUTIONS / "08-blocks" / "dropout-runs.json"
CELLS = ("setup", "attention", "LayerNorm", "FeedForward", "TransformerBlock", "data", "stack")
RUNS: dict[str, tuple[int, float, int]] = {  # characters to learn from, probability of dropout, seed
    f"{characters} characters, p = {p}, seed {seed}": (characters, p, seed)
    for characters, probabilities, seeds in ((2000, (0.0, 0.1, 0.2, 0.5), 3), (280_000, (0.0, 0.1), 1))
    for p in probabilities
    for seed in range(seeds)
}
BLOCKS, ROWS, STEPS, EVERY, RATE = 4, 32, 800, 50, 3e-3
UNSEEN = 280_000  # no run learns from what follows

app = typer.Typer(add_completion=False)


def windows(text: torch.Tensor, count: int, generator: torch.Generator, T: int = 32) -> torch.Tensor:
    """Return `count` random windows of T + 1 characters."""
    starts = torch.randint(len(text) - T, (count,), generator=generator)
    return text[starts[:, None] + torch.arange(T + 1)]


def train(notebook: dict[str, Any], characters: int, p: float, seed: int) -> list[list[float]]:
    """Train pre-norm blocks. Return [step, loss on unseen text, loss on their own], measured without dropout."""
    torch.manual_seed(seed)

    def block(*sizes: int, norm_first: bool) -> torch.nn.Module:
        made: torch.nn.Module = notebook["TransformerBlock"](*sizes, dropout=p, norm_first=norm_first)
        return made

    model = notebook["Stack"](block, True, BLOCKS)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    own, unseen = notebook["data"][:characters], notebook["data"][UNSEEN:]
    tests = [windows(text, 500, torch.Generator().manual_seed(5)) for text in (unseen, own)]
    generator, found = torch.Generator().manual_seed(seed), []
    for step in tqdm(range(1, STEPS + 1), leave=False):
        optimizer.zero_grad()
        model.train()(windows(own, ROWS, generator))[0].backward()
        optimizer.step()
        if step % EVERY == 0:
            with torch.no_grad():
                found.append([step, *(round(model.eval()(rows)[0].item(), 3) for rows in tests)])
    return found


def keep(path: Path, kept: dict[str, Any]) -> None:
    """Save the runs, a line for each."""
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(points)}" for name, points in kept.items())
    write_atomically(path, f"{{\n{rows}\n}}\n".encode())


def table(kept: dict[str, Any]) -> Table:
    """Return each run's losses on unseen text: the lowest, with its step, and the last."""
    shown = Table("run", "lowest", "at step", "last", "last, own text")
    for name, points in kept.items():
        step, lowest, _ = min(points, key=lambda point: float(point[1]))
        shown.add_row(name, f"{lowest:.2f}", f"{step}", f"{points[-1][1]:.2f}", f"{points[-1][2]:.2f}")
    return shown


@app.command()
def main(show: Annotated[bool, typer.Option("--show", help="Print what is kept and train nothing.")] = False) -> None:
    """Train with each probability of dropout, except saved runs; print the table."""
    kept: dict[str, Any] = json.loads(KEPT.read_text("utf-8")) if KEPT.is_file() else {}
    if not show:
        notebook = given("08-blocks", *CELLS)
        for name in tqdm([name for name in RUNS if name not in kept], desc="runs"):
            kept[name] = train(notebook, *RUNS[name])
            keep(KEPT, kept)
    console.print(table(kept))


if __name__ == "__main__":
    app()
