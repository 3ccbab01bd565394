"""Records how notebook 09's model trains in other ways, and how a GPT grows on another text.

    python -m tools.training.gpt_runs           about 50 minutes of one core; resumes where it was stopped
    python -m tools.training.gpt_runs --show    print the saved results only

Each run executes the notebook's own cells: its answers, text, batches and steps. Only what its name says differs. Runs
that differ little are repeated with other weights and batches. The last is a run of `grow` on the text of the course's
notebooks. Notebook 09 reads all from `gpt-runs.json`.
"""

import json
import math
import re
import tempfile
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.table import Table
from tqdm import tqdm

from autograder.files import write_atomically
from transformer_exercises.stories import prefix_log_prob

from . import grow
from .checkpoints import console
from .inspected_models import SOLUTIONS, given
from .sizes import size_named
from .texts import read_file

COURSE = SOLUTIONS.parent / "course"
KEPT = SOLUTIONS / "09-gpt" / "gpt-runs.json"
CELLS = (
    *("setup", "gpt-config", "block", "my-parts", "GPT", "language", "read-stories", "make-tokenizer"),
    *("guess-line", "reference-lines", "get_batch", "learning_rate", "train_step", "story-windows", "validation-loss"),
    *("copier", "fit", "new-gpt", "next_token_distribution", "generate", "pronouns"),
)
EVERY = 25  # steps between two measurements
RUNS: dict[str, dict[str, Any]] = {
    "copier 2e-3": {},
    "plain 2e-3": {"copier": False},
    "copier 5e-4": {"peak": 5e-4},
    "copier 8e-3": {"peak": 8e-3},
}
FURTHER: dict[str, dict[str, Any]] = {  # the first peak rate
    "plain, 3,600 steps": {"copier": False, "steps": 3600},
    "copier, get_batch": {"anywhere": True},
    "copier, no warm-up": {"warmup": 0},
    "copier, no decay": {"decay": False},
    "copier, no clipping": {"max_norm": math.inf},
    "leaking mask": {"leak": True},
}
REPEATED = ("copier 2e-3", "plain 2e-3", *(name for name in FURTHER if name.startswith("copier")))
SEEDS = 3  # of the repeated runs, the first included
GROWN_STEPS, GROWN_ROWS = 900, 8

app = typer.Typer(add_completion=False)


def train(
    notebook: dict[str, Any],
    name: str,
    *,
    copier: bool = True,
    peak: float = 2e-3,
    steps: int | None = None,
    warmup: int | None = None,
    decay: bool = True,
    max_norm: float = 1.0,
    anywhere: bool = False,
    leak: bool = False,
    seed: int = 0,
    every: int = EVERY,
) -> tuple[list[tuple[int, float]], int, str]:
    """Train the notebook's model as its cell does. Return (step, validation loss) of each measurement.

    Also return how many steps were clipped, and the story that the model tells greedily. With `anywhere`, windows begin
    at any token, not only where a story begins. With `leak`, each token also sees the next one. A seed above 0 gives
    other weights and batches.
    """
    model, steps = notebook["new_gpt"](copier, None, 9 + seed), steps or notebook["STEPS"]
    for block in model.blocks if leak else ():
        block.register_forward_pre_hook(lambda _, inputs: (inputs[0], inputs[1].triu(2)))
    matrices = [p for p in model.blocks.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if not any(p is matrix for matrix in matrices)]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.95), fused=True)
    generator, found, clipped = torch.Generator().manual_seed(1 + seed), [], 0
    warmup, rows = notebook["WARMUP"] if warmup is None else warmup, notebook["BATCH"]
    for step in tqdm(range(steps), desc=name, leave=False):
        for group in optimizer.param_groups:
            group["lr"] = notebook["learning_rate"](step, steps, warmup, peak, 0.0 if decay else peak)
        if anywhere:
            batch = notebook["get_batch"](notebook["train_ids"], notebook["CONTEXT"], rows, generator)
        else:
            batch = notebook["story_batch"](rows, generator)
        notebook["train_step"](model, optimizer, *batch, max_norm)
        norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
        clipped += norm.item() > 0.9999 * max_norm  # a clipped gradient is as long as max_norm
        if (step + 1) % every == 0:
            found.append((step + 1, round(notebook["validation_loss"](model), 4)))
    newline = torch.tensor([[notebook["NEWLINE"]]])
    told = notebook["generate"](model, newline, notebook["CONTEXT"], temperature=0)[0, 1:].tolist()
    return found, clipped, notebook["tokenizer"].decode(told).split("\n")[0]


def floors(notebook: dict[str, Any]) -> dict[str, tuple[int, float]]:
    """Return how many validation tokens there are of each kind, and their surprise under the grammar in nats."""
    found = dict.fromkeys(("new names", "names again", "pronouns", "the rest"), (0, 0.0))
    for story in notebook["texts"]["validation"].splitlines(keepends=True):
        encoded, before = notebook["tokenizer"].encode(story), 0.0
        for kind, (_, end) in zip(notebook["kinds_of"](encoded.ids), encoded.offsets, strict=True):
            log_prob = prefix_log_prob(story[:end])  # a token's surprise is that of its characters
            number, nats = found[kind]
            found[kind], before = (number + 1, nats + before - log_prob), log_prob
    return {kind: (number, round(nats, 2)) for kind, (number, nats) in found.items()}


def course_text() -> str:
    """Return what the course's notebooks say, without code and tags."""
    texts = []
    for path in sorted(COURSE.glob("[0-9]*/*.ipynb")):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        texts += ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    return re.sub(r"<[^>]*>", " ", "\n\n".join(texts)) + "\n"


def grown() -> dict[str, Any]:
    """Grow a GPT on the course's text. Return its losses by tokens read, and what it wrote."""
    size = size_named("laptop").but(rows=GROWN_ROWS)
    with tempfile.TemporaryDirectory() as top:
        text, folder = Path(top, "our-notebooks.txt"), Path(top, "grown")
        text.write_text(course_text(), encoding="utf-8")
        material = read_file(text, folder, size.vocabulary, size.context)
        recipe = grow.Recipe(
            size=size, minutes=0.0, steps=GROWN_STEPS, seed=grow.SEED, device="cpu", precision="float32", compiled=False
        )
        now = grow.grow(material, recipe, folder).now
    curves = {name: [[p["tokens"], round(p[name], 3)] for p in now.points] for name in ("validation", "training")}
    sizes = {"characters": len(course_text()), "tokens": len(material.tokens)}  # tokens: without the last tenth
    return sizes | {"curves": curves, "samples": now.samples}


def keep(path: Path, kept: dict[str, Any]) -> None:
    """Save the lines, the runs and what was grown, a line for each curve."""
    parts = []
    for name, part in kept.items():
        rows = ",\n".join(f"    {json.dumps(key)}: {json.dumps(row, ensure_ascii=False)}" for key, row in part.items())
        parts.append(f"  {json.dumps(name)}: {{\n{rows}\n  }}")
    write_atomically(path, ("{\n" + ",\n".join(parts) + "\n}\n").encode())


def table(kept: dict[str, Any]) -> Table:
    """Return the losses after all steps, with their distance from the floor."""
    floor = kept["lines"]["true floor"]
    shown = Table("run", "steps", "validation loss", "above the floor", title=f"Floor {floor:.3f} nats per token")
    for name, curve in (kept["runs"] | kept["further"]).items():
        steps, loss = curve[-1]
        shown.add_row(name, f"{steps}", f"{loss:.3f}", f"{loss / floor - 1:.0%}")
    return shown


@app.command()
def main(show: Annotated[bool, typer.Option("--show", help="Print what is kept and train nothing.")] = False) -> None:
    """Train the notebook's model in each way, except saved runs; print the table."""
    kept: dict[str, Any] = {"lines": {}, "runs": {}, "further": {}, "seeds": {}, "clipped": {}, "greedy": {}}
    if KEPT.is_file():
        kept |= json.loads(KEPT.read_text("utf-8"))
    if not show:
        notebook = given("09-gpt", *CELLS)
        kept["lines"] = {name: round(value, 4) for name, value in notebook["LINES"].items()}
        kept["floors"] = floors(notebook)
        for part, runs in (("runs", RUNS), ("further", FURTHER)):
            for name in tqdm([name for name in runs if name not in kept[part]], desc=part):
                kept[part][name], kept["clipped"][name], kept["greedy"][name] = train(notebook, name, **runs[name])
                keep(KEPT, kept)
        for name in tqdm([name for name in REPEATED if name not in kept["seeds"]], desc="seeds"):
            way, steps = (RUNS | FURTHER)[name], notebook["STEPS"]
            first = (kept["runs"] | kept["further"])[name][-1][1]
            others = [train(notebook, name, **way, seed=seed, every=steps)[0][-1][1] for seed in range(1, SEEDS)]
            kept["seeds"][name] = [first, *others]
            keep(KEPT, kept)
        if "grown" not in kept:
            kept["grown"] = grown()
            keep(KEPT, kept)
    console.print(table(kept))


if __name__ == "__main__":
    app()
