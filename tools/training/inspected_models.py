"""Trains the small models of notebook 07 by its given cells, and stores what it inspects next to the notebook.

python -m tools.training.inspected_models
"""

import contextlib
import io
import json
import random
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torch.nn.functional as F

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
HEADS = SOLUTIONS / "07-multi-head" / "heads.pt"
FORMATION = HEADS.with_name("formation.json")
TRAINING_CELLS = ("setup", "headlines", "headline-data", "two-layers", "three-ways", "train")
# They open HEADS and FORMATION
INSPECTION_CELLS = ("attention-maps", "roles", "roles-figure", "circuit", "circuit-run", "composition")
STEPS, SEEDS, EVERY, SHOWN = 2_000, 5, 10, 800  # of SHOWN steps a run's curves are stored


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


def train(notebook: dict[str, Any], seed: int) -> tuple[torch.nn.Module, list[float]]:
    """Train a model of two layers with four heads on new headlines. Return it and its loss at each step."""
    dice, ids = random.Random(11), notebook["stoi"]
    texts = [[ids[word] for word in notebook["headlines"](dice)[0]] for _ in range(STEPS * notebook["B"])]
    notebook["train_ids"] = torch.tensor(texts)  # read by the notebook's `train`
    model, losses = notebook["train"](notebook["right"], STEPS, f"seed {seed}", seed)
    return model, losses


def heads() -> None:
    """Store the model that the notebook opens (about a minute)."""
    model, losses = train(given("07-multi-head", *TRAINING_CELLS), seed=0)
    found = model.state_dict().items()
    torch.save({name: one.half() for name, one in found if one.is_floating_point()}, HEADS)  # enough to inspect
    print(f"{HEADS}: training loss {sum(losses[-50:]) / len(losses[-50:]):.3f}")


def formation() -> None:
    """Store how the induction heads of five models form: see `followed` (about five minutes)."""
    with contextlib.redirect_stdout(io.StringIO()):  # the cells draw figures
        notebook = given("07-multi-head", *TRAINING_CELLS, *INSPECTION_CELLS)
    runs = [followed(notebook, seed) for seed in range(SEEDS)]
    FORMATION.write_text(json.dumps({"every": EVERY, "runs": runs}) + "\n", "utf-8")
    print(f"{FORMATION}: weights at the end {[run['weight_at_the_end'] for run in runs]}")


def followed(notebook: dict[str, Any], seed: int) -> dict[str, Any]:
    """Train a model. Return its loss at verbs that are repeated, its induction head's weight on them, and its roles.

    The loss is the mean over the texts of `EVERY` steps; the weight is measured on the test texts before these steps.
    """
    ids, role = notebook["stoi"], notebook["ROLES"].index("repeated animal: its verb")
    animals = torch.tensor([ids[animal + s] for animal in notebook["ANIMALS"] for s in ("", "s")])
    losses: list[float] = []
    weights: list[list[float]] = []  # of each head of layer 1

    @torch.no_grad()
    def look(model: torch.nn.Module, inputs: tuple[torch.Tensor], logits: torch.Tensor) -> None:
        if len(losses) % EVERY == 0 and len(losses) < SHOWN:
            weights.append(notebook["role_shares"](model)[1, :, role].tolist())
        words = inputs[0]
        repeated = (torch.isin(words, animals) & (words == ids["then"]).cumsum(1).bool())[:, :-1]  # a verb comes next
        losses.append(F.cross_entropy(logits[:, :-1][repeated], words[:, 1:][repeated]).item())

    def heads_only(attend: Any) -> torch.nn.Module:
        model: torch.nn.Module = plain(attend)
        model.register_forward_hook(look)
        return model

    plain = notebook["HeadsOnly"]
    with mock.patch.dict(notebook, {"HeadsOnly": heads_only}):
        model, _ = train(notebook, seed)
    roles = notebook["role_shares"](model)  # [L, H, roles]
    at_the_end = roles[1, :, role]
    head = int(at_the_end.argmax())
    means = torch.tensor(losses[:SHOWN]).view(-1, EVERY).mean(1).tolist()
    return {
        "seed": seed,
        "loss": [round(loss, 3) for loss in means],
        "weight": [round(by_head[head], 3) for by_head in weights],
        "weight_at_the_end": round(float(at_the_end[head]), 3),
        "without_the_note": without_the_note(notebook, model, head),
        "roles": [[[round(share, 3) for share in head] for head in layer] for layer in roles.tolist()],
    }


@torch.no_grad()
def without_the_note(notebook: dict[str, Any], model: Any, head: int) -> list[float]:
    """Return what this head of layer 1 gives to the right verb when its queries, or its keys, miss a note.

    The note is what one head of layer 0 writes: the one without which least goes to that verb.
    """
    after, pruned, on_verbs = (notebook[name] for name in ("after_layer_0", "pruned", "on_verbs"))
    layer, norm = model.layers[1], model.norms[1]

    def given(for_queries: torch.Tensor, for_keys: torch.Tensor) -> float:
        q, k = norm(for_queries), norm(for_keys)
        weights = layer(q, k, k, attn_mask=notebook["FUTURE"], average_attn_weights=False)[1][:, head]
        return round(on_verbs(weights)[0], 3)

    whole = after(model)
    missing = min((after(pruned(model, (0, h))) for h in range(notebook["H"])), key=lambda less: given(less, less))
    return [given(missing, whole), given(whole, missing)]


if __name__ == "__main__":
    heads()
    formation()
