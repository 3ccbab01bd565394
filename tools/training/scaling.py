"""Measures how a GPT's loss falls with model size and data, above a known floor, for 09-gpt-further.

    python -m tools.training.scaling            about 15 minutes of one core; resumes where it was stopped
    python -m tools.training.scaling --show     print the table of saved results only

Each run trains a GPT-2 of notebook 09's shape on a number of tokens, none of which is repeated, at one of two rates.
Its schedule ends with the tokens, so each amount of data is a separate training (Hoffmann and others 2022).
"""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.table import Table
from torch import Tensor
from tqdm import tqdm
from transformers import GPT2Config, GPT2LMHeadModel

from autograder.files import write_atomically
from transformer_exercises.stories import sample, true_nll

from .checkpoints import console
from .gpt2 import TRAIN_SEED, VALIDATION_SEED, Validation, byte_level_bpe, fit, gpt2_config, start_as_copier

KEPT = Path(__file__).resolve().parents[2] / "solutions" / "09-gpt-further" / "scaling.json"
WIDTHS = (16, 28, 48, 80, 128)
TOKENS = (250_000, 500_000, 1_000_000, 2_000_000)
RATES = (0.1, 0.05)  # times 1 / √width: small models need larger rates
LAYERS, HEADS = 2, 4
CONTEXT = 72  # as in the notebook: length of the longest story
ROWS = 12  # windows in a step
LEARNT_FROM = 2_000_000  # characters of stories for the tokenizer, as in the notebook
VALIDATION = 100_000  # characters
SEED = 9

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Run:
    """One training and its result."""

    width: int
    parameters: int
    tokens: int  # each seen once
    rate: float  # the highest learning rate
    loss: float  # nats per token of the validation stories


class Stories:
    """Tokenized stories: training windows in order, and validation stories, one per row."""

    def __init__(self, tokens: int):
        text = sample("english", characters=LEARNT_FROM, seed=TRAIN_SEED)
        # Notebook 09's tokenizer for English, whose alphabet is the bytes that occur
        self.tokenizer = byte_level_bpe([text], 1_000, all_bytes=False)
        [self.newline] = self.tokenizer.encode("\n").ids  # before each story
        characters = LEARNT_FROM
        while len(windows := self._windows(text)) * CONTEXT < tokens:
            characters = round(characters * max(1.1, 1.05 * tokens / (len(windows) * CONTEXT)))
            text = sample("english", characters=characters, seed=TRAIN_SEED)
        self.windows = windows  # [N, CONTEXT + 1]
        held = sample("english", characters=VALIDATION, seed=VALIDATION_SEED)
        self.validation = Validation.of(self._encoded(held), self.newline, true_nll(held))

    def _encoded(self, text: str) -> list[list[int]]:
        return [code.ids for code in self.tokenizer.encode_batch(text.splitlines(keepends=True))]

    def _windows(self, text: str) -> Tensor:
        """Return windows that begin with the line break before a story and do not overlap."""
        ids = torch.tensor([self.newline, *(token for row in self._encoded(text) for token in row)])
        starts, behind = [], 0
        for position in (ids == self.newline).nonzero().squeeze(1).tolist():
            if position >= behind and position + CONTEXT < len(ids):
                starts.append(position)
                behind = position + CONTEXT
        return ids[torch.tensor(starts)[:, None] + torch.arange(CONTEXT + 1)]


def config(vocabulary: int, width: int) -> GPT2Config:
    return gpt2_config(vocabulary, CONTEXT, LAYERS, HEADS, width, end=None)


def train(stories: Stories, width: int, tokens: int, rate: float) -> Run:
    """Train a new model on `tokens`, which are whole batches."""
    torch.manual_seed(SEED)
    model = GPT2LMHeadModel(config(stories.tokenizer.get_vocab_size(), width))
    start_as_copier(model)  # as in notebook 09
    steps = tokens // (ROWS * CONTEXT)
    batches = ((rows[:, :-1], rows[:, 1:]) for rows in stories.windows.split(ROWS)[:steps])
    losses = fit(model, batches, steps, rate, warmup=steps // 20)
    for _ in tqdm(losses, total=steps, desc=f"{width} {tokens:,} {rate}", leave=False):
        pass
    return Run(width, model.num_parameters(), tokens, rate, stories.validation.loss(model, 64))


def settings(stories: Stories) -> dict[str, Any]:
    """Return the settings that all runs share."""
    shape = {"layers": LAYERS, "heads": HEADS, "context": CONTEXT, "rows": ROWS, "seed": SEED}
    return {"floor": stories.validation.floor, "vocabulary": stories.tokenizer.get_vocab_size(), **shape}


def kept_runs(path: Path) -> tuple[dict[str, Any], list[Run]]:
    """Return the settings and runs of the file; both are empty if there is none."""
    kept = json.loads(path.read_text("utf-8")) if path.is_file() else {"settings": {}, "runs": []}
    return kept["settings"], [Run(**run) for run in kept["runs"]]


def keep_runs(path: Path, shared: dict[str, Any], runs: list[Run]) -> None:
    """Save the runs, one per line."""
    ordered = sorted(runs, key=lambda run: (run.tokens, run.width, run.rate))
    lines = ",\n".join("    " + json.dumps(asdict(run)) for run in ordered)
    write_atomically(path, f'{{\n  "settings": {json.dumps(shared)},\n  "runs": [\n{lines}\n  ]\n}}\n'.encode())


def best(runs: list[Run]) -> dict[tuple[int, int], Run]:
    """Return the run with the lowest loss for each (parameters, tokens)."""
    return {(run.parameters, run.tokens): run for run in sorted(runs, key=lambda run: -run.loss)}


def table(shared: dict[str, Any], runs: list[Run]) -> Table:
    """Return a table of the losses above the floor: a row per size, a column per amount of data."""
    found = best(runs)
    rows, amounts = (sorted({key[i] for key in found}) for i in (0, 1))
    title = f"Validation loss above the floor of {shared['floor']:.4f}, nats per token (the best rate)"
    shown = Table("parameters", *(f"{tokens:,} tokens" for tokens in amounts), title=title)
    for size in rows:
        cells = [found.get((size, tokens)) for tokens in amounts]
        excess = ["" if run is None else f"{run.loss - shared['floor']:.4f} ({run.rate:g})" for run in cells]
        shown.add_row(f"{size:,}", *excess)
    return shown


@app.command()
def main(show: Annotated[bool, typer.Option("--show", help="Print what is kept and train nothing.")] = False) -> None:
    """Train each size on each amount of data at each rate, except saved runs; print the table."""
    shared, runs = kept_runs(KEPT)
    if not show:
        torch.set_num_threads(1)  # a second thread gains little for models this small
        stories = Stories(max(TOKENS))
        before, shared = shared, settings(stories)
        if runs and shared != before:
            raise SystemExit(f"{KEPT} keeps runs with other settings: delete it")
        done = {(run.width, run.tokens, run.rate) for run in runs}
        batch = ROWS * CONTEXT
        wanted = [(C, D // batch * batch, round(rate / C**0.5, 5)) for rate in RATES for D in TOKENS for C in WIDTHS]
        for C, D, peak in tqdm([one for one in wanted if one not in done], desc="runs"):
            started = time.process_time()
            runs.append(train(stories, C, D, peak))
            tqdm.write(f"{runs[-1]}, {time.process_time() - started:.0f} s of one core")
            keep_runs(KEPT, shared, runs)
    console.print(table(shared, runs))


if __name__ == "__main__":
    app()
