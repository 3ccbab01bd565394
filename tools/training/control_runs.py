"""Records how notebook 12's model without a bug trains at each team's learning rate, for the grey bands of its figures.

    python -m tools.training.control_runs           about a minute of one core

It executes the notebook's own cells: its text and its training. Notebook 12 reads `control-runs.json`.
"""

import json
import math
from typing import Any

import torch

from autograder.files import write_atomically

from .broken_models import PACKED, SUSPECTS, WARD, source
from .inspected_models import given

KEPT = PACKED.with_name("control-runs.json")
SLOWER = 1e-3  # than any team: what a low rate alone does to a loss
RATES = sorted({SLOWER, *(rate for group in (SUSPECTS, WARD) for _, rate in group.values())})


def main() -> None:
    """Train the model at each rate, from the weights with which all models begin, and save its losses."""
    notebook = given(PACKED.parent.name, "setup", "stories", "train")
    names: dict[str, Any] = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "math": math}
    exec(compile(source({}), "<sound model>", "exec"), names)
    rows = []
    for rate in RATES:
        torch.manual_seed(7)
        losses = notebook["train"](names["Patient"](notebook["V"], 48, 4, 2, 33), rate)
        print(f"rate {rate}: loss {sum(losses[-5:]) / 5:.2f} at the end")
        rows.append(f'  "{rate}": {json.dumps([round(loss, 3) for loss in losses])}')
    write_atomically(KEPT, ("{\n" + ",\n".join(rows) + "\n}\n").encode())


if __name__ == "__main__":
    main()
