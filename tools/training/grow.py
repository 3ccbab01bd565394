"""Train a GPT on any text, for as long as you like, on any machine.

    python -m tools.training.grow                            the course's stories, with their exact floor
    python -m tools.training.grow diary.txt --minutes 60     your own text
    python -m tools.training.grow --size bangla              a published size, on the course's Bangla sentences
    python -m tools.training.grow --list                     the sizes: parameters, arithmetic, memory
    python -m tools.training.grow big.txt --size gpt2        GPT-2's 124 million, for one large GPU

The folder --out gets a model that transformers can read (so notebook 10 can open it), its loss curve and samples
written during training. After a kill, the same command resumes the run.

The model is transformers' GPT-2. Its schedule and its parameter groups are the answers to notebook 09's exercises. A
CUDA GPU is used if there is one, or Apple's (MPS).
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import math
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import torch
import torch.nn.functional as F
import typer
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from tqdm import tqdm
from transformers import GenerationConfig, GPT2LMHeadModel
from transformers.utils import logging

from autograder.files import WouldOverwrite, refuse_foreign
from autograder.spec.course import reference

from . import checkpoints, grow_results
from .device import best_device, can_compile, default_precision, peak_flops, synchronize
from .sizes import SIZES, Size, size_named
from .stories_gpt2 import IGNORED
from .texts import CORPORA, TOKENS, TrainingText, UnusableText, read_file, stories

WARMUP = 0.05  # share of the run
EVERY = 60.0  # seconds after which the state is saved again
LOOKS = 20  # measurements in a run
SAMPLE = 60  # tokens
PRECISIONS = ("float32", "bfloat16", "float16")

app = typer.Typer(add_completion=False)
console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)


class Unusable(RuntimeError):
    """Raised when the run cannot start or continue. The message says why and what to do."""


# --- training ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The settings of a training run."""

    size: Size
    minutes: float
    steps: int  # 0: as many as the minutes allow
    seed: int
    device: str
    precision: str
    compiled: bool

    def autocast(self) -> contextlib.AbstractContextManager:
        if self.precision == "float32":
            return contextlib.nullcontext()
        return torch.autocast(self.device, getattr(torch, self.precision))

    def name(self, material: TrainingText) -> str:
        """Return a hash that identifies the run: the same for the same text and settings, on any device."""
        settings = (self.size, self.minutes, self.steps, self.seed, self.precision)
        return hashlib.sha256(repr((settings, material.name, len(material.tokenizer))).encode()).hexdigest()


def new_model(size: Size, material: TrainingText, seed: int) -> GPT2LMHeadModel:
    """Return an untrained GPT-2 of this size."""
    torch.manual_seed(seed)
    end = material.tokenizer.eos_token_id
    model = GPT2LMHeadModel(size.config(size.rows_of_table(len(material.tokenizer)), end))
    # Set the padding token here: in the configuration it makes calls warn about a missing attention mask
    model.generation_config = GenerationConfig(bos_token_id=end, eos_token_id=end, pad_token_id=end)
    return model


def loss_of(model: Callable, inputs: Tensor, targets: Tensor, reduction: str = "mean") -> Tensor:
    """Return the cross-entropy in nats, computed in float32."""
    logits = model(inputs, use_cache=False).logits  # (B, T, V)
    return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction=reduction)


class Trainer:
    """A model with its optimizer, trained step by step."""

    def __init__(self, model: GPT2LMHeadModel, recipe: Recipe):
        self.model, self.recipe = model, recipe
        self.called: Callable = torch.compile(model) if recipe.compiled else model
        self.learning_rate = reference("learning_rate")
        self.optimizer = torch.optim.AdamW(
            reference("parameter_groups")(model, recipe.size.decay),
            lr=0.0,
            betas=(0.9, 0.95),
            fused=True if recipe.device in ("cpu", "cuda") else None,
        )
        # Small gradients underflow in float16: the loss is scaled up, and the gradients are scaled down again
        self.scaler = torch.amp.GradScaler(recipe.device, enabled=recipe.precision == "float16")
        self.taken = 0

    def gradients(self, material: TrainingText) -> Tensor:
        """Accumulate the gradients of all parts of this step's batch; return its mean loss in nats per token."""
        size, recipe = self.recipe.size, self.recipe
        total = torch.zeros((), device=recipe.device)
        for part in range(size.accumulate):
            number = self.taken * size.accumulate + part
            windows = material.windows(size.rows, size.context, recipe.seed, number)
            inputs, targets = (one.to(recipe.device) for one in windows)
            torch.manual_seed(recipe.seed + number)  # dropout depends on the step alone, so a resumed run is the same
            with recipe.autocast():
                loss = loss_of(self.called, inputs, targets) / size.accumulate
            self.scaler.scale(loss).backward()
            total += loss.detach()
        return total

    def step(self, material: TrainingText, share: float) -> float:
        """Make one update at the learning rate for this `share` of the run; return the loss in nats per token.

        Raise Unusable if the loss is not finite.
        """
        rate = self.learning_rate(share, 1.0, WARMUP, self.recipe.size.peak, 0.0)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        loss = self.gradients(material).item()  # item() waits for the device
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        self.taken += 1
        if not math.isfinite(loss):
            raise Unusable(
                f"The loss is {loss} at step {self.taken:,}. Try a lower rate, --peak {self.recipe.size.peak / 3:.1g}."
            )
        return loss

    def warm_up(self, material: TrainingText) -> None:
        """Compile the model before the time of the training is measured."""
        self.gradients(material)
        self.optimizer.zero_grad()
        synchronize(self.recipe.device)


@torch.no_grad()
def validation_loss(trainer: Trainer, material: TrainingText) -> float:
    """Return the mean loss on the held-back text, in nats per token."""
    recipe, model = trainer.recipe, trainer.model
    model.eval()
    total = 0.0
    rows = recipe.size.rows
    for inputs, targets in zip(material.inputs.split(rows), material.targets.split(rows), strict=True):
        with recipe.autocast():
            total += loss_of(model, inputs.to(recipe.device), targets.to(recipe.device), "sum").item()
    model.train()
    return total / int((material.targets != IGNORED).sum())


@torch.no_grad()
def written(trainer: Trainer, material: TrainingText) -> str:
    """Return a sample: a new story, or the prompt, a bar and the continuation."""
    model: Any = trainer.model  # types cannot follow how its methods are wrapped
    recipe = trainer.recipe
    prompt = torch.tensor([material.prompt], device=recipe.device)  # (1, T)
    torch.manual_seed(recipe.seed)
    model.eval()
    ids = model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=min(SAMPLE, recipe.size.context - prompt.shape[1]),
        do_sample=True,
        top_k=min(50, len(material.tokenizer)),
    )
    model.train()
    given, made = ids[0].tensor_split([prompt.shape[1]])
    decode = partial(material.tokenizer.decode, skip_special_tokens=True)
    return f"{decode(given)}|{decode(made)}" if material.starts is None else str(decode(made))


@dataclass
class Progress:
    """The progress of a training run: all that is needed to resume it exactly."""

    best: float = math.inf
    best_step: int = 0
    weights: dict[str, Tensor] = field(default_factory=dict)  # those with the lowest validation loss
    seconds: float = 0.0  # of training
    processor: float = 0.0  # CPU seconds of training
    share: float = 0.0  # share of the run that is done
    looked: float = 0.0  # the share at the last measurement
    looked_at: tuple[int, float] = (0, 0.0)  # step and seconds at the last measurement
    recent: list[float] = field(default_factory=list)  # losses since the last measurement
    points: list[grow_results.Point] = field(default_factory=list)
    samples: list[str] = field(default_factory=list)


class Run:
    """A training run and its folder."""

    def __init__(self, material: TrainingText, recipe: Recipe, folder: Path):
        self.material, self.recipe, self.folder = material, recipe, folder
        self.name = recipe.name(material)
        model: Any = new_model(recipe.size, material, recipe.seed)
        self.trainer = Trainer(model.to(recipe.device).train(), recipe)
        self.now = Progress()
        self.peak = peak_flops(recipe.device, recipe.precision)
        self.kept_at = time.perf_counter()

    @property
    def rows_of_table(self) -> int:
        return self.recipe.size.rows_of_table(len(self.material.tokenizer))

    def train(self) -> None:
        """Train to the end of the minutes or steps; keep the weights with the lowest validation loss."""
        self.take_up()
        now, recipe = self.now, self.recipe
        if recipe.compiled and now.share < 1:
            console.print("Compiling …")
            self.trainer.warm_up(self.material)
        with tqdm(total=100, desc=self.folder.name, bar_format="{desc}: {n:.0f} %|{bar}| {elapsed}{postfix}") as bar:
            while now.share < 1:
                started, processor = time.perf_counter(), time.process_time()
                now.recent.append(self.trainer.step(self.material, now.share))
                now.seconds += time.perf_counter() - started
                now.processor += time.process_time() - processor
                elapsed = now.seconds / (60 * recipe.minutes)
                now.share = min(1.0, self.trainer.taken / recipe.steps if recipe.steps else elapsed)
                bar.update(100 * now.share - bar.n)
                if looks(now.share) > looks(now.looked):
                    point = self.look()
                    bar.set_postfix_str(
                        f"loss {point.training:.3f}, validation {point.validation:.3f}, "
                        f"{point.tokens_per_second:,.0f} tokens/s, {point.utilisation:.0%} used"
                    )
                    tqdm.write(
                        f"{point.tokens:,} tokens, validation {point.validation:.3f}: {one_line(now.samples[-1])}"
                    )
                    self.keep()
                elif time.perf_counter() - self.kept_at > EVERY:
                    self.keep()

    def look(self) -> grow_results.Point:
        """Measure, write a sample, add a point to the curve, and keep the weights if they are the best so far."""
        now, size = self.now, self.recipe.size
        step, seconds = now.looked_at
        read = (self.trainer.taken - step) * size.tokens_per_step
        speed = read / max(now.seconds - seconds, 1e-9)
        point = grow_results.Point(
            step=self.trainer.taken,
            tokens=self.trainer.taken * size.tokens_per_step,
            training=sum(now.recent) / len(now.recent),
            validation=validation_loss(self.trainer, self.material),
            minutes=now.seconds / 60,
            tokens_per_second=speed,
            utilisation=speed * size.flops_per_token(self.rows_of_table) / self.peak,
        )
        now.points.append(point)
        now.samples.append(written(self.trainer, self.material))
        now.looked, now.looked_at, now.recent = now.share, (self.trainer.taken, now.seconds), []
        if point.validation < now.best:
            now.best, now.best_step = point.validation, point.step
            now.weights = copy.deepcopy({name: one.cpu() for name, one in self.trainer.model.state_dict().items()})
        title = f"{size.name} on {self.material.title}: validation {now.best:.3f}"
        grow_results.keep_curve(self.folder, now.points, title, self.material.floor)
        grow_results.keep_samples(
            self.folder, [f"--- {p.tokens:,} tokens\n{s}" for p, s in zip(now.points, now.samples, strict=True)]
        )
        return point

    # Resuming after a kill

    def keep(self) -> None:
        """Save the state of the training: numbers, texts and tensors."""
        progress = {name: value for name, value in vars(self.now).items() if name != "points"}
        checkpoints.keep_state(
            self.folder,
            {
                "run": self.name,
                "model": self.trainer.model.state_dict(),
                "optimizer": self.trainer.optimizer.state_dict(),
                "scaler": self.trainer.scaler.state_dict(),
                "taken": self.trainer.taken,
                "progress": progress,
                "points": [asdict(point) for point in self.now.points],
            },
        )
        self.kept_at = time.perf_counter()

    def take_up(self) -> None:
        """Resume an earlier run if the folder has its state. Raise Unusable if that has other text or settings."""
        kept = checkpoints.kept_state(self.folder, self.recipe.device)
        if kept is None:
            return
        if kept["run"] != self.name:
            raise Unusable(
                f"{self.folder} holds the unfinished training of another text or with other settings. "
                "Name another folder with --out (make grow OUT=…), or delete that one."
            )
        self.trainer.model.load_state_dict(kept["model"])
        self.trainer.optimizer.load_state_dict(kept["optimizer"])
        self.trainer.scaler.load_state_dict(kept["scaler"])
        self.trainer.taken = kept["taken"]
        progress = kept["progress"]
        progress["weights"] = {name: one.cpu() for name, one in progress["weights"].items()}
        self.now = Progress(**progress, points=[grow_results.Point(**point) for point in kept["points"]])
        console.print(f"Going on after step {self.trainer.taken:,}, where an earlier run ended.")

    # Results

    def facts(self) -> list[tuple[str, str]]:
        """Return the rows of the report and of the model card."""
        now, size, material = self.now, self.recipe.size, self.material
        V, different = self.rows_of_table, len(material.tokenizer)
        parameters, tokens = size.parameters(V), self.trainer.taken * size.tokens_per_step
        shape = f"{size.layers} layers, {size.heads} heads, width {size.width}, context {size.context}"
        took = f"{self.trainer.taken:,} steps, {now.seconds / 60:.2g} minutes"
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
            used_most = torch.cuda.max_memory_allocated()
            estimated = size.memory(V, half=self.recipe.precision != "float32")
            rows.append(("memory", f"{used_most / 1e9:.2f} GB at most; estimated {estimated / 1e9:.2f} GB"))
        if material.floor is not None and now.points:
            above = 100 * (now.best / material.floor - 1)
            rows.append(("floor", f"{material.floor:.4f} nats per token; the model is {above:.1f} % above it"))
        return rows

    def finish(self) -> None:
        """Write the model with the lowest validation loss into its folder."""
        if self.now.weights:
            self.trainer.model.load_state_dict(self.now.weights)
        grow_results.keep_model(self.folder, self.trainer.model.eval(), self.material, self.facts())


def one_line(sample: str, most: int = 160) -> str:
    """Return the sample on one line, cut after `most` characters."""
    text = " ".join(sample.split())
    return text if len(text) <= most else f"{text[:most]} …"


def looks(share: float) -> int:
    """Return how many measurements are due at this share of the run. The summand makes 3 / 60 count as one."""
    return math.floor(LOOKS * share + 1e-9)


# --- the command ------------------------------------------------------------------------------------------------------


def sizes_listed() -> Table:
    """Return a table of the sizes, with costs computed by arithmetic."""
    table = Table(title="Sizes, with their largest vocabulary (a short text gets a smaller one)", show_lines=True)
    for column in ("", "made for", "layers × heads × width", "context", "parameters N", "tokens a step"):
        table.add_column(column)
    for column in ("FLOP a step, 6N each", "FLOP for D = 20 N", "memory, float32 | 16 bits"):
        table.add_column(column)
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


def shown(rows: list[tuple[str, str]]) -> Table:
    table = Table(show_header=False, box=None)
    for row in rows:
        table.add_row(*row)
    return table


def announce(material: TrainingText, recipe: Recipe) -> None:
    size, different = recipe.size, len(material.tokenizer)
    V = size.rows_of_table(different)
    asked = f"{recipe.steps:,} steps" if recipe.steps else f"{recipe.minutes:g} minutes of training"
    how = f"{recipe.device} in {recipe.precision}{', compiled' if recipe.compiled else ''}"
    memory = size.memory(V, half=recipe.precision != "float32") / 1e9
    console.print(
        f"{size.name}: {size.parameters(V):,} parameters for {len(material.tokens):,} tokens of {material.title} "
        f"({different:,} different ones); {asked} on {how}; about {memory:.2f} GB of memory for the training"
    )


def grow(material: TrainingText, recipe: Recipe, folder: Path) -> Run:
    """Train or resume, save the model, and print the results. Return the run."""
    announce(material, recipe)
    run = Run(material, recipe, folder)
    try:
        run.train()
    except KeyboardInterrupt:
        run.keep()
        run.finish()
        raise
    run.finish()
    checkpoints.finished(folder)
    with contextlib.suppress(PermissionError):  # Windows deletes no file that is still mapped
        (folder / TOKENS).unlink(missing_ok=True)
    console.print(shown(run.facts()))
    if run.now.best_step < run.trainer.taken:
        console.print(
            f"The validation loss was lowest after {run.now.best_step:,} steps, and those weights are kept: from there "
            "on the text was learnt by heart. More text helps, fewer minutes, or --dropout 0.2."
        )
    console.print(f"Kept in {folder}: the model, its curve (curve.png, curve.csv) and what it wrote (samples.txt).")
    place = shlex.quote(str(folder.resolve()))
    console.print(f"Notebook 10 looks inside it: COURSE_GPT2={place} make lab", soft_wrap=True, markup=False)
    return run


@app.command()
def main(
    text: Annotated[Path | None, typer.Argument(help="A UTF-8 text file.", show_default="the course's stories")] = None,
    minutes: Annotated[float, typer.Option(min=0.001, help="How long to train; looks at the loss not counted.")] = 10.0,
    size: Annotated[str | None, typer.Option(help="A name from --list.", show_default="laptop, on a GPU gpu")] = None,
    told_in: Annotated[
        str | None,
        typer.Option("--stories", help="english or bangla.", show_default="the size's; nearly always english"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The folder to keep.", show_default="grown-NAME")] = None,
    listed: Annotated[bool, typer.Option("--list", help="Print the sizes and what they cost, and stop.")] = False,
    context: Annotated[int | None, typer.Option(min=8, help="Tokens that the model sees at once.")] = None,
    rows: Annotated[int | None, typer.Option(min=1, help="Windows computed at once: less memory with fewer.")] = None,
    accumulate: Annotated[int | None, typer.Option(min=1, help="Times so many, before the weights change.")] = None,
    peak: Annotated[float | None, typer.Option(min=1e-8, help="The highest learning rate.")] = None,
    dropout: Annotated[float | None, typer.Option(min=0.0, max=0.9)] = None,
    device: Annotated[str | None, typer.Option(help="cuda, mps or cpu.", show_default="the best there is")] = None,
    precision: Annotated[
        str | None, typer.Option(help="float32, bfloat16 or float16.", show_default="bfloat16 where a GPU has it")
    ] = None,
    compiled: Annotated[
        bool | None, typer.Option("--compile/--no-compile", show_default="on a CUDA GPU with Triton")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the weights and the windows.")] = 9,
    steps: Annotated[int, typer.Option(min=0, hidden=True, help="So many steps, however long they take.")] = 0,
) -> None:
    """Train a GPT on a text, show its loss and samples, and save it in a form that transformers can read."""
    if listed:
        console.print(sizes_listed())
        return
    logging.disable_progress_bar()
    device = device or best_device()
    precision = precision or default_precision(device)
    if precision not in PRECISIONS:
        raise typer.BadParameter(f"{', '.join(PRECISIONS)}, not {precision}", param_hint="--precision")
    try:
        chosen = size_named(size or ("gpu" if device == "cuda" else "laptop"))
    except KeyError as error:
        raise typer.BadParameter(error.args[0], param_hint="--size") from None
    if told_in not in (None, *CORPORA):
        raise typer.BadParameter(f"{' or '.join(CORPORA)}, not {told_in}", param_hint="--stories")
    recipe = Recipe(
        size=chosen.but(context=context, rows=rows, accumulate=accumulate, peak=peak, dropout=dropout, stories=told_in),
        minutes=minutes,
        steps=steps,
        seed=seed,
        device=device,
        precision=precision,
        compiled=can_compile(device) if compiled is None else compiled,
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
    except (UnusableText, Unusable, WouldOverwrite) as error:
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
