"""Train a GPT on any text, for as long as you like, on any machine.

    python -m tools.training.grow                            the course's stories, with their exact floor
    python -m tools.training.grow diary.txt --minutes 60     your own text
    python -m tools.training.grow --size bangla              a published size, on the course's Bangla sentences
    python -m tools.training.grow --list                     the sizes: parameters, arithmetic, memory
    python -m tools.training.grow big.txt --size gpt2        GPT-2's 124 million, for one large GPU

The folder --out gets a model that transformers can read, its loss curve and samples. After a kill, the same command
resumes the run. The schedule and the parameter groups are answers to exercises of notebook 09 and its optional one.
"""

import contextlib
import hashlib
import importlib.util
import math
import shlex
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import typer
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, NullFormatter
from rich.table import Table
from torch import Tensor, nn
from tqdm import tqdm
from transformers import GPT2LMHeadModel
from transformers.utils import logging
from typer import Option

from autograder.files import WouldOverwrite, refuse_foreign, write_atomically
from autograder.spec.course import reference

from . import checkpoints
from .checkpoints import OtherRun, console
from .device import best_device, default_precision, peak_flops, synchronize
from .gpt2 import continued, keep_model, loss_of, new_gpt2
from .sizes import SIZES, Size, size_named
from .texts import TOKENS, BadText, TrainingText, read_file, stories

WARMUP = 0.05  # share of the run
SAMPLE = 60  # tokens
SEED = 9  # of the weights and the windows
Precision = Literal["float32", "bfloat16", "float16"]

app = typer.Typer(add_completion=False)


class Unusable(RuntimeError):
    """Raised when the loss is no number. The message says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Recipe(checkpoints.Recipe):
    size: Size
    seed: int
    compiled: bool


def new_model(size: Size, material: TrainingText, seed: int) -> GPT2LMHeadModel:
    """Return an untrained GPT-2 of this size."""
    torch.manual_seed(seed)
    rows = size.rows_of_table(len(material.tokenizer))
    return new_gpt2(size.config(rows, material.tokenizer.eos_token_id))


@dataclass
class Progress(checkpoints.Progress):
    samples: list[str] = field(default_factory=list)


class Run(checkpoints.Run):
    """A run on a text. Each measurement also writes a sample."""

    other = "another text"
    now: Progress

    def __init__(self, material: TrainingText, recipe: Recipe, folder: Path):
        self.material, size = material, recipe.size
        self.rows_of_table = size.rows_of_table(len(material.tokenizer))
        model: Any = new_model(size, material, recipe.seed)
        model.to(recipe.device).train()
        self.called: Callable = torch.compile(model) if recipe.compiled else model
        self.learning_rate = reference("learning_rate")
        optimizer = torch.optim.AdamW(
            reference("parameter_groups")(model, size.decay),
            lr=0.0,
            betas=(0.9, 0.95),
            fused=True if recipe.device in ("cpu", "cuda") else None,
        )
        # Small gradients underflow in float16: the loss is scaled up, and the gradients are scaled down again
        self.scaler = torch.amp.GradScaler(recipe.device, enabled=recipe.precision == "float16")
        # The same for the same text and settings, on any device
        settings = (size, recipe.minutes, recipe.steps, recipe.seed, recipe.precision)
        name = hashlib.sha256(repr((settings, material.name, len(material.tokenizer))).encode()).hexdigest()
        super().__init__(folder, name, model, optimizer, recipe, Progress())
        self.peak = peak_flops(recipe.device, recipe.precision)

    def train(self, title: str) -> None:
        self.resume()
        if self.recipe.compiled and self.now.share < 1:
            console.print("Compiling …")  # before the time of the training is measured
            self.gradients()
            self.optimizer.zero_grad()
            synchronize(self.recipe.device)
        super().train(title)

    def gradients(self) -> Tensor:
        """Accumulate the gradients of all parts of this step's batch; return its mean loss in nats per token."""
        size, recipe = self.recipe.size, self.recipe
        total = torch.zeros((), device=recipe.device)
        for part in range(size.accumulate):
            number = self.taken * size.accumulate + part
            windows = self.material.windows(size.rows, size.context, recipe.seed, number)
            inputs, targets = (one.to(recipe.device) for one in windows)
            torch.manual_seed(recipe.seed + number)  # dropout depends on the step alone, so a resumed run is the same
            with recipe.autocast():
                loss = loss_of(self.called, inputs, targets) / size.accumulate
            self.scaler.scale(loss).backward()
            total += loss.detach()
        return total

    def step(self) -> float:
        """Make one update; return the loss in nats per token. Raise Unusable if it is not finite."""
        peak = self.recipe.size.peak
        rate = self.learning_rate(self.now.share, 1.0, WARMUP, peak, 0.0)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        loss = self.gradients().item()  # item() waits for the device
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        self.taken += 1
        if not math.isfinite(loss):
            raise Unusable(f"The loss is {loss} at step {self.taken:,}. Try a lower rate, --peak {peak / 3:.1g}.")
        return loss

    def sample(self) -> str:
        """Return a sample: a new story, or the prompt, a bar and the continuation."""
        material, given = self.material, self.material.prompt
        most = min(SAMPLE, self.recipe.size.context - len(given))
        [made] = continued(self.model, given, most, self.recipe.seed, min(50, len(material.tokenizer)))
        decode = partial(material.tokenizer.decode, skip_special_tokens=True)
        return f"{decode(list(given))}|{decode(made)}" if material.starts is None else str(decode(made))

    def more_state(self) -> dict[str, Any]:
        return {"scaler": self.scaler.state_dict()}

    def restore(self, state: dict[str, Any]) -> None:
        self.scaler.load_state_dict(state["scaler"])

    def measure(self) -> str:
        now, size, model = self.now, self.recipe.size, self.model
        before = now.points[-1] if now.points else {"tokens": 0, "minutes": 0.0}
        tokens = self.taken * size.tokens_per_step
        speed = (tokens - before["tokens"]) / max(now.seconds - 60 * before["minutes"], 1e-9)
        used = speed * size.flops_per_token(self.rows_of_table) / self.peak
        training = statistics.fmean(now.recent)
        validation = self.material.validation.loss(model, size.rows, self.recipe.autocast)
        now.points.append(
            {
                "step": self.taken,
                "tokens": tokens,
                "training": training,  # mean loss since the last measurement, nats per token
                "validation": validation,
                "minutes": now.seconds / 60,  # of training, without measurements
                "tokens_per_second": speed,  # since the last measurement
                "utilisation": used,  # share of the speed that the device reaches in one large matrix product
            }
        )
        now.samples.append(self.sample())
        self.compare(validation, checkpoints.weights_of(model))
        self.keep_curve((7.5, 4.2))
        samples = (f"--- {p['tokens']:,} tokens\n{s}" for p, s in zip(now.points, now.samples, strict=True))
        write_atomically(self.folder / "samples.txt", ("\n\n".join(samples) + "\n").encode())
        tqdm.write(f"{tokens:,} tokens, validation {validation:.3f}: {' '.join(now.samples[-1].split())[:160]}")
        return f"loss {training:.3f}, validation {validation:.3f}, {speed:,.0f} tokens/s, {used:.0%} used"

    def draw(self, figure: Figure) -> None:
        """Draw the losses, and the floor if it is known."""
        floor, axes = self.material.validation.floor, figure.subplots()
        checkpoints.draw_lines(axes, self.now.points, "tokens", {"training": "training", "validation": "validation"})
        if not math.isnan(floor):
            axes.axhline(floor, color="#000000", ls="--", lw=1, label=f"the floor of this text, {floor:.3f}")
        title = f"{self.recipe.size.name} on {self.material.title}: validation {self.now.best:.3f}"
        axes.set(title=title, xlabel="tokens read", ylabel="loss (nats per token)", xscale="log")
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))  # 300k, 1M
        axes.xaxis.set_minor_formatter(NullFormatter())

    def facts(self) -> list[tuple[str, str]]:
        """Return the rows of the report and of the model card."""
        now, size, material = self.now, self.recipe.size, self.material
        V, different = self.rows_of_table, len(material.tokenizer)
        parameters, tokens = size.parameters(V), self.taken * size.tokens_per_step
        shape = f"{size.layers} layers, {size.heads} heads, width {size.width}, context {size.context}"
        took = f"{self.taken:,} steps, {now.seconds / 60:.2g} minutes"
        rows = [
            ("text", f"{material.title}: {len(material.tokens):,} tokens to learn from, {different:,} different ones"),
            ("size", f"{size.name}: {shape}"),
            ("parameters N", f"{parameters:,}" + (f"; {V - different:,} rows unused" if different < V else "")),
            ("tokens read D", f"{tokens:,}, {tokens / parameters:.1f} for each parameter"),
            ("6ND", f"{6 * parameters * tokens:.2e} FLOP; with attention {size.flops_per_token(V) * tokens:.2e}"),
            ("training", f"{took} on {self.recipe.device} in {self.recipe.precision}"),
        ]
        if now.points:
            speed = tokens / max(now.seconds, 1e-9)
            used = speed * size.flops_per_token(V) / self.peak
            bits = now.best / math.log(2) / material.characters
            rows += [
                ("tokens per second", f"{speed:,.0f}; {used:.0%} of what one large matrix product reaches here"),
                ("validation loss", f"{now.best:.4f} nats per token, {bits:.3f} bits per character"),
            ]
        if self.recipe.device == "cuda":
            half = self.recipe.precision != "float32"
            most, estimated = (count / 1e9 for count in (torch.cuda.max_memory_allocated(), size.memory(V, half=half)))
            rows.append(("memory", f"{most:.2f} GB at most; estimated {estimated:.2f} GB"))
        floor = material.validation.floor
        if now.points and not math.isnan(floor):
            rows.append(("floor", f"{floor:.4f} nats per token; the loss is {now.best / floor - 1:.1%} above it"))
        return rows

    def keep_model(self) -> None:
        """Write the model with the lowest validation loss: the files that from_pretrained reads, and a model card."""
        if self.now.weights:
            self.model.load_state_dict(self.now.weights)
        keep_model(self.folder, self.model, self.material.tokenizer, "grown by `make grow`.", self.facts())


def sizes_listed() -> Table:
    """Return a table of the sizes, with costs computed by arithmetic."""
    table = Table(
        *("", "made for", "layers × heads × width", "context", "parameters N", "tokens a step"),
        *("FLOP a step, 6N each", "FLOP for D = 20 N", "memory, float32 | 16 bits"),
        title="Sizes, with their largest vocabulary (a short text gets a smaller one)",
        show_lines=True,
    )
    for size in SIZES:
        N = size.parameters()
        table.add_row(
            size.name,
            size.machine,
            f"{size.layers} × {size.heads} × {size.width}",
            f"{size.context:,}",
            f"{N / 1e6:.2f} M",
            f"{size.tokens_per_step:,}",
            f"{6 * N * size.tokens_per_step:.1e}",
            f"{6 * N * 20 * N:.1e}",
            f"{size.memory() / 1e9:.2f} | {size.memory(half=True) / 1e9:.2f} GB",
        )
    return table


def grow(material: TrainingText, recipe: Recipe, folder: Path) -> Run:
    """Train or resume, save the model, and print the results. Return the run."""
    size, different = recipe.size, len(material.tokenizer)
    V = size.rows_of_table(different)
    length = f"{recipe.steps:,} steps" if recipe.steps else f"{recipe.minutes:g} minutes of training"
    how = f"{recipe.device} in {recipe.precision}{', compiled' if recipe.compiled else ''}"
    memory = size.memory(V, half=recipe.precision != "float32") / 1e9
    console.print(
        f"{size.name}: {size.parameters(V):,} parameters for {len(material.tokens):,} tokens of {material.title} "
        f"({different:,} different ones); {length} on {how}; about {memory:.2f} GB of memory for the training"
    )
    run = Run(material, recipe, folder)
    try:
        run.train(folder.name)
    except KeyboardInterrupt:
        run.keep()
        run.keep_model()
        raise
    run.keep_model()
    run.finish()
    with contextlib.suppress(PermissionError):  # Windows deletes no file that is still mapped
        (folder / TOKENS).unlink(missing_ok=True)
    table = Table(show_header=False, box=None)
    for row in run.facts():
        table.add_row(*row)
    console.print(table)
    if run.now.best_step < run.taken:
        console.print(
            f"The validation loss was lowest after {run.now.best_step:,} steps, and those weights are kept: from there "
            "on the text was learnt by heart. More text helps, fewer minutes, or --dropout 0.2."
        )
    console.print(f"Kept in {folder}: the model, its curve (curve.png, curve.csv) and what it wrote (samples.txt).")
    place = shlex.quote(str(folder.resolve()))
    console.print(f"Notebook 10 looks inside it: COURSE_GPT2={place} make learn", soft_wrap=True, markup=False)
    return run


@app.command()
def main(
    text: Annotated[Path | None, typer.Argument(help="A UTF-8 text file.", show_default="the course's stories")] = None,
    minutes: Annotated[float, Option(min=0.001, help="How long to train; looks at the loss not counted.")] = 10.0,
    size: Annotated[str | None, Option(help="A name from --list.", show_default="laptop, on a GPU gpu")] = None,
    told_in: Annotated[Literal["english", "bangla"] | None, Option("--stories", show_default="the size's")] = None,
    out: Annotated[Path | None, Option(help="The folder to keep.", show_default="grown-NAME")] = None,
    listed: Annotated[bool, Option("--list", help="Print the sizes and what they cost, and stop.")] = False,
    context: Annotated[int | None, Option(min=8, help="Tokens that the model sees at once.")] = None,
    rows: Annotated[int | None, Option(min=1, help="Windows computed at once: less memory with fewer.")] = None,
    accumulate: Annotated[int | None, Option(min=1, help="Times so many, before the weights change.")] = None,
    peak: Annotated[float | None, Option(min=1e-8, help="The highest learning rate.")] = None,
    dropout: Annotated[float | None, Option(min=0.0, max=0.9)] = None,
    device: Annotated[str | None, Option(help="cuda, mps or cpu.", show_default="the best there is")] = None,
    precision: Annotated[Precision | None, Option(show_default="bfloat16 where a GPU has it")] = None,
    steps: Annotated[int, Option(min=0, hidden=True, help="So many steps, however long they take.")] = 0,
) -> None:
    """Train a GPT on a text, show its loss and samples, and save it in a form that transformers can read."""
    if listed:
        console.print(sizes_listed())
        return
    logging.disable_progress_bar()
    device = device or best_device()
    try:
        chosen = size_named(size or ("gpu" if device == "cuda" else "laptop"))
    except KeyError as error:
        raise typer.BadParameter(error.args[0], param_hint="--size") from None
    recipe = Recipe(
        size=chosen.but(context=context, rows=rows, accumulate=accumulate, peak=peak, dropout=dropout, stories=told_in),
        minutes=minutes,
        steps=steps,
        seed=SEED,
        device=device,
        precision=precision or default_precision(device),
        # On a CPU, torch.compile rarely saves the minute that it takes
        compiled=device == "cuda" and importlib.util.find_spec("triton") is not None,
    )
    told = recipe.size.stories
    folder = out or Path(f"grown-{text.stem if text else 'stories' if told == 'english' else told}")
    try:
        refuse_foreign(folder, (checkpoints.UNFINISHED, TOKENS, "samples.txt"), "model that was grown here")
        if text is not None:
            material = read_file(text, folder, recipe.size.vocabulary, recipe.size.context)
        else:
            material = stories(folder, recipe.size.vocabulary, recipe.size.context, language=told)
        grow(material, recipe, folder)
    except (BadText, Unusable, OtherRun, WouldOverwrite) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    except torch.OutOfMemoryError:
        half = max(recipe.size.rows // 2, 1)
        typer.echo(
            f"The GPU's memory is full. The same batch in smaller parts: --rows {half} --accumulate "
            f"{recipe.size.accumulate * recipe.size.rows // half}; then a smaller --context or --size.",
            err=True,
        )
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo(f"Stopped. The same command goes on from here; {folder} holds the best model so far.", err=True)
        raise typer.Exit(130) from None


if __name__ == "__main__":
    app()
