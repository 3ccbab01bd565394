"""Records what 08's blocks learn from other seeds, rates and depths, for sentences of its section 8.

    python -m tools.training.order_runs           about a minute of one core

Each run executes the notebook's own cells. `order-runs.json` keeps the mean loss of each run's last 20 steps; a claim
of the notebook holds the sentences to it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import torch
import typer
from torch import Tensor, nn
from tqdm import tqdm

from .checkpoints import console
from .dropout_runs import keep
from .inspected_models import SOLUTIONS, given

KEPT = SOLUTIONS / "08-blocks" / "order-runs.json"
CELLS = ("setup", "attention", "data", "stack", "train")
SEEDS = (1, 2, 3)
SMALL_EPSILON = "epsilon 1e-16"  # in place of 1e-8, beside which gradients may be small
SCHEDULES = {  # the share of the rate at a step, as in the notebook
    "full rate": lambda step: 1.0,
    "warm-up": lambda step: min(1.0, (step + 1) / 50),
    "half the rate": lambda step: 0.5,
    "half after ten full steps": lambda step: 1.0 if step < 10 else 0.5,
}


class Replacing(nn.TransformerEncoderLayer):
    """The notebook's pre-norm block without additions, which it defines in a cell that trains."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:  # type: ignore[override]
        x = self.norm1(x)
        x = self.self_attn(x, x, x, attn_mask=mask, need_weights=False)[0]
        return self.linear2(nn.functional.relu(self.linear1(self.norm2(x))))


def _block(kind: Callable[..., nn.Module], *sizes: int, norm_first: bool) -> nn.Module:
    return kind(*sizes, dropout=0.0, batch_first=True, norm_first=norm_first)


def main() -> None:
    """Train each kind of block with each schedule and seed, and save and print where the loss ends."""
    notebook = given("08-blocks", *CELLS)
    adam = torch.optim.AdamW
    block = partial(_block, nn.TransformerEncoderLayer)
    runs: dict[str, tuple[Any, bool, dict[str, Any]]]
    runs = {name: (block, False, {"share": share}) for name, share in SCHEDULES.items()}
    runs |= {f"0.001, {order}": (block, order == "pre-norm", {"rate": 1e-3}) for order in ("post-norm", "pre-norm")}
    runs["0.0003, no additions"] = (partial(_block, Replacing), True, {"rate": 3e-4})
    runs["four blocks"] = (block, False, {"L": 4})
    runs[SMALL_EPSILON] = (block, False, {})
    kept = {}
    for name, (kind, norm_first, options) in tqdm(runs.items(), desc="runs"):
        epsilon = 1e-16 if name == SMALL_EPSILON else 1e-8
        with mock.patch.object(torch.optim, "AdamW", partial(adam, eps=epsilon)):
            losses = [notebook["train"](kind, norm_first, name, seed=seed, **options)[1] for seed in SEEDS]
        kept[name] = [round(sum(run[-20:]) / 20, 2) for run in losses]
    keep(KEPT, kept)
    console.print(kept)


if __name__ == "__main__":
    typer.run(main)
