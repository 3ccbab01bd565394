"""Records how the seed changes what twelve blocks of notebook 08 learn, for two sentences of its section 8.

    python -m tools.training.order_runs           about a minute of one core

Each run executes the notebook's own cells. `order-runs.json` keeps the mean loss of each run's last 20 steps; a claim
of the notebook holds the sentences to it.
"""

from typing import Any

import typer
from tqdm import tqdm

from .checkpoints import console
from .dropout_runs import keep
from .inspected_models import SOLUTIONS, given

KEPT = SOLUTIONS / "08-blocks" / "order-runs.json"
CELLS = ("setup", "attention", "data", "stack", "train")
SEEDS = (1, 2, 3)
SCHEDULES = {  # the share of the rate at a step, as in the notebook
    "full rate": lambda step: 1.0,
    "warm-up": lambda step: min(1.0, (step + 1) / 50),
    "half the rate": lambda step: 0.5,
    "half after ten full steps": lambda step: 1.0 if step < 10 else 0.5,
}


def main() -> None:
    """Train with each schedule and seed, and save and print where the loss ends."""
    notebook = given("08-blocks", *CELLS)
    torch, kept = notebook["torch"], {}

    def block(*sizes: int, norm_first: bool) -> object:
        return torch.nn.TransformerEncoderLayer(*sizes, dropout=0.0, batch_first=True, norm_first=norm_first)

    runs: dict[str, tuple[bool, dict[str, Any]]]
    runs = {name: (False, {"share": share}) for name, share in SCHEDULES.items()}
    runs |= {f"0.001, {order}": (order == "pre-norm", {"rate": 1e-3}) for order in ("post-norm", "pre-norm")}
    for name, (norm_first, options) in tqdm(runs.items(), desc="runs"):
        losses = [notebook["train"](block, norm_first, name, seed=seed, **options)[1] for seed in SEEDS]
        kept[name] = [round(sum(run[-20:]) / 20, 2) for run in losses]
    keep(KEPT, kept)
    console.print(kept)


if __name__ == "__main__":
    typer.run(main)
