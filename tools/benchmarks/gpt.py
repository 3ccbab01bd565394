"""Compares training and generation with notebook 09's GPT to the usual implementations, in one run.

    python tools/benchmarks/gpt.py [corpus.txt]

1. Time per step of the reference solution and of a plain loop of the same configuration, in the manner of nanoGPT's
   small CPU setting (4 layers, 4 heads, 128 wide, windows of 64 characters, batches of 12, no dropout), in turns.
2. The notebook's last section, "the same loss sooner", on the same text: the steps to the plain loop's validation loss,
   and the time per step.
3. Tokens per second of the notebook's generation with a KV cache and of Hugging Face's generate, on the same weights.

The corpus should be tiny Shakespeare (any long text will do). Default: the course's stories.
Goals: no more time per step than the plain loop; its final loss in at most half its time; 0.8 of the tokens per second.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import torch
import torch.nn.functional as F
from timing import ROOT, console, medians, table
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

from autograder.spec.course import given, reference

GPT, get_batch, train_step = map(reference, ("GPT", "get_batch", "train_step"))
GPTConfig = given("GPTConfig", "09-gpt")
ReadingGPT = given("GPT", "10-hugging-face-gpt2")  # notebook 10's, because it takes a GPT2Config

NOTEBOOK = ROOT / "solutions" / "09-gpt" / "09-gpt.ipynb"
CELLS = (
    *("setup", "gpt-config", "language", "read-stories", "choose-rate", "race-text", "plain-gpt", "race"),
    *("sublayers", "cached-forward", "cached-generate"),
)
SIZES = {"n_layer": 4, "n_head": 4, "n_embd": 128}
T, B, STEPS = 64, 12, 2_000


def of_the_notebook(corpus: Path | None) -> dict[str, Any]:
    """Run the notebook's own cells with the reference solutions, beside the corpus. Return the names they define."""
    sources = {cell.id: cell.source for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"}
    namespace: dict[str, Any] = {name: reference(name) for name in ("learning_rate", "cached_attention")}
    namespace |= {"Model": GPT, "gpt": None, "ready": lambda name, works: True}  # the references always are ready
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for file in NOTEBOOK.parent.glob("stories*"):
            os.symlink(file, file.name)
        if corpus:
            os.symlink(corpus.resolve(), "tiny-shakespeare.txt")
        for name in CELLS:
            exec(compile(sources[name], f"<{name}>", "exec"), namespace)
    namespace["RACE_STEPS"] = STEPS
    return namespace


def steps_compared(notebook: dict[str, Any]) -> float:
    """Print the time of a training step. Return the reference's time divided by the plain loop's."""
    data, V = notebook["race_train"], len(notebook["alphabet"])
    generator = torch.Generator().manual_seed(0)

    def plain() -> Callable[[], float]:
        model = notebook["PlainGPT"](V, T, *SIZES.values(), fused=False).to(data.device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1)

        def step() -> float:
            starts = torch.randint(len(data) - T, (B,), generator=generator)
            rows = torch.stack([data[i : i + T + 1] for i in starts])
            loss = F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            return loss.item()

        return step

    def reference() -> Callable[[], float]:
        model = GPT(GPTConfig(V, T, **SIZES)).to(data.device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1, fused=True)
        return lambda: train_step(model, optimizer, *get_batch(data, T, B, generator))

    median = medians({"plain loop": plain(), "reference solution": reference()}, 20, 5)
    shown = table(f"One training step: 4 layers, 4 heads, 128 wide, {B} windows of {T}", "", "ms per step", "/ plain")
    for name, milliseconds in median.items():
        shown.add_row(name, f"{milliseconds:.1f}", f"{milliseconds / median['plain loop']:.2f}")
    console.print(shown)
    return median["reference solution"] / median["plain loop"]


def race_compared(notebook: dict[str, Any], corpus: str) -> float:
    """Print the notebook's race. Return how many times faster its last runner reaches the first's loss; 0 if never."""
    sources = {cell.id: cell.source for cell in nbformat.read(NOTEBOOK, as_version=4).cells}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(sources["run-race"], "<run-race>", "exec"), notebook)
    taken, fastest, ends = notebook["taken"], notebook["fastest"], notebook["ends"]
    seconds = {name: steps * fastest[name] for name, steps in taken.items()}
    first, *_, last = taken
    title = f"Training to the plain loop's validation loss on {corpus}"
    shown = table(title, "", "steps", "ms each", "seconds", "loss", "times as fast")
    for name, steps in taken.items():
        figures = (f"{1000 * fastest[name]:.1f}", f"{seconds[name]:.1f}", f"{ends[name]:.3f}")
        shown.add_row(name, f"{steps:,}", *figures, f"{seconds[first] / seconds[name]:.1f}")
    console.print(shown)
    return seconds[first] / seconds[last] if ends[last] <= ends[first] else 0.0


def generation_compared(notebook: dict[str, Any], new: int = 200) -> float:
    """Print the tokens per second of each way to generate. Return the notebook's divided by Hugging Face's."""
    config = GPT2Config(vocab_size=1000, n_positions=256, bos_token_id=0, eos_token_id=0, **SIZES)
    config.block_size = config.n_positions  # notebook 09's name for it
    theirs, ours = GPT2LMHeadModel(config).eval(), ReadingGPT(config).eval()
    reference("load_gpt2_weights")(ours, theirs)
    title = f"Writing {new} tokens after one, context 256, same weights"
    shown = table(title, "rows", "Hugging Face", "with cache", "/", "without")
    ratios = []
    for rows in (1, 8):
        prompt = torch.ones(rows, 1, dtype=torch.long)
        options = {"do_sample": True, "max_new_tokens": new, "min_new_tokens": new, "top_k": 0, "pad_token_id": 0}
        runs = {
            "theirs": partial(theirs.generate, prompt, attention_mask=torch.ones_like(prompt), **options),
            "ours": partial(notebook["generate_cached"], ours, prompt, new),
            "without": partial(reference("generate"), ours, prompt, new),
        }
        median = medians(runs, 7)
        speed = {name: 1000 * rows * new / milliseconds for name, milliseconds in median.items()}
        ratios.append(speed["ours"] / speed["theirs"])
        figures = [f"{speed[name]:,.0f}" for name in ("theirs", "ours", "without")]
        shown.add_row(str(rows), *figures[:2], f"{ratios[-1]:.2f}", figures[2])
    console.print(shown)
    return min(ratios)


def main(corpus: str = "") -> None:
    torch.manual_seed(0)
    notebook = of_the_notebook(Path(corpus) if corpus else None)
    cost = steps_compared(notebook)
    speed = generation_compared(notebook)
    faster = race_compared(notebook, Path(corpus).name if corpus else "the course's stories")
    print(f"a training step: goal at most 1.00 of the plain loop's time; it took {cost:.2f}")
    print(
        f"the same loss sooner: goal the plain loop's loss in at most half its time; it took {1 / faster:.2f}"
        if faster
        else "the same loss sooner: the plain loop's loss was not reached"
    )
    print(f"writing with a cache: goal at least 0.80 of Hugging Face's tokens per second; it reached {speed:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
