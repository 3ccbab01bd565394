"""Runs a training, measures it twenty times, draws its curve, and resumes it after a kill with the same numbers."""

import contextlib
import csv
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console
from torch import Tensor, nn
from tqdm import tqdm

from autograder.files import replace_atomically

UNFINISHED = "unfinished.pt"
EVERY = 60.0  # seconds after which the state is saved again
MEASUREMENTS = 20  # in a run
STYLES: tuple[dict[str, Any], ...] = ({"color": "#56B4E9"}, {"color": "#0072B2", "marker": "o", "ms": 3})  # of a curve

Point = dict[str, Any]  # a measurement: a row of curve.csv
console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)


class OtherRun(RuntimeError):
    """Raised when the folder holds the state of another run. The message says what to do."""


@dataclass
class Progress:
    """The progress of a training run: all that is needed to resume it exactly."""

    best: float = math.inf
    best_step: int = 0
    weights: dict[str, Tensor] = field(default_factory=dict)  # those with the lowest validation loss
    seconds: float = 0.0  # of training
    processor: float = 0.0  # CPU seconds of training
    share: float = 0.0  # share of the run that is done
    measured: float = 0.0  # the share at the last measurement
    recent: list[float] = field(default_factory=list)  # losses since the last measurement
    points: list[Point] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The settings that every training run has."""

    minutes: float
    steps: int = 0  # 0: as many as the minutes allow
    device: str
    precision: str  # of matrix products

    def autocast(self) -> contextlib.AbstractContextManager:
        """Return a context in which matrix products are computed in this precision."""
        if self.precision == "float32":
            return contextlib.nullcontext()
        return torch.autocast(self.device, getattr(torch, self.precision))


class Run:
    """A training run: its folder, model and optimizer, its settings and progress, and the number of steps taken."""

    other = "other data"  # how a run that cannot be resumed differs

    def __init__(self, folder: Path, name: str, model: Any, optimizer: torch.optim.Optimizer, recipe: Any, now: Any):
        self.folder, self.name, self.model, self.optimizer = folder, name, model, optimizer
        self.recipe, self.now, self.taken = recipe, now, 0

    def step(self) -> float:
        """Make one update; return the loss."""
        raise NotImplementedError

    def measure(self) -> str:
        """Add a point to the curve, keep the best weights; return a remark for the bar."""
        raise NotImplementedError

    def draw(self, figure: Figure) -> None:
        """Draw the curve."""
        raise NotImplementedError

    def more_state(self) -> dict[str, Any]:
        """Return what `restore` needs besides the model, its optimizer and the progress."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `more_state` returned."""

    def share(self) -> float:
        """Return the share of the minutes or of the steps that is done."""
        recipe = self.recipe
        return self.taken / recipe.steps if recipe.steps else self.now.seconds / (60 * recipe.minutes)

    def train(self, title: str) -> None:
        """Train to the end of the minutes or steps, and save the state at each measurement and each minute."""
        now, kept_at = self.now, time.perf_counter()
        with tqdm(total=100, desc=title, bar_format="{desc}: {n:.0f} %|{bar}| {elapsed}{postfix}") as bar:
            while now.share < 1:
                started, processor = time.perf_counter(), time.process_time()
                now.recent.append(self.step())
                now.seconds += time.perf_counter() - started
                now.processor += time.process_time() - processor
                now.share = min(1.0, self.share())
                bar.update(100 * now.share - bar.n)
                due = measurements(now.share) > measurements(now.measured)
                if due:
                    bar.set_postfix_str(self.measure())
                    now.measured, now.recent = now.share, []
                if due or time.perf_counter() - kept_at > EVERY:
                    self.keep()
                    kept_at = time.perf_counter()

    def keep_curve(self, size: tuple[float, float]) -> None:
        """Write curve.csv, and curve.png with what `draw` draws."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "curve.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self.now.points[0].keys())
            writer.writeheader()
            writer.writerows(self.now.points)
        figure = Figure(figsize=size, layout="constrained")
        self.draw(figure)
        for axes in figure.axes:
            axes.spines[["top", "right"]].set_visible(False)
            axes.legend(frameon=False)
        replace_atomically(self.folder / "curve.png", lambda path: figure.savefig(path, dpi=110, format="png"))

    def compare(self, validation: float, weights: dict[str, Tensor]) -> None:
        """Keep the weights if their validation loss is the lowest so far."""
        if validation < self.now.best:
            self.now.best, self.now.best_step, self.now.weights = validation, self.taken, weights

    def keep(self) -> None:
        """Save the state of the training: numbers, texts and tensors."""
        state = {"run": self.name, "taken": self.taken, "progress": vars(self.now)} | self.more_state()
        state |= {name: getattr(self, name).state_dict() for name in ("model", "optimizer")}
        self.folder.mkdir(parents=True, exist_ok=True)
        replace_atomically(self.folder / UNFINISHED, lambda path: torch.save(state, path))

    def resume(self) -> None:
        """Go on with an earlier run if the folder has its state. Raise OtherRun if that is another run's."""
        path = self.folder / UNFINISHED
        if not path.is_file():
            return
        state = torch.load(path, map_location="cpu", weights_only=True)  # no code in it is run
        if state["run"] != self.name:
            raise OtherRun(
                f"{self.folder} holds the unfinished training of {self.other} or with other settings. "
                "Name another folder with --out (make: OUT=…), or delete that one."
            )
        for name in ("model", "optimizer"):
            getattr(self, name).load_state_dict(state[name])
        self.taken, self.now = state["taken"], type(self.now)(**state["progress"])
        self.restore(state)
        console.print(f"Going on after step {self.taken:,}, where an earlier run ended.")

    def finish(self) -> None:
        """Delete the state, which nothing needs any more."""
        (self.folder / UNFINISHED).unlink(missing_ok=True)


def measurements(share: float) -> int:
    """Return how many measurements are due at this share of the run. The summand makes 3 / 60 count as one."""
    return math.floor(MEASUREMENTS * share + 1e-9)


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Return a copy of the model's weights, in the computer's memory."""
    return {name: one.detach().to("cpu", copy=True) for name, one in model.state_dict().items()}


def draw_lines(axes: Axes, points: Sequence[Point], along: str, labels: dict[str, str]) -> None:
    """Draw one or two columns of the points, which have these labels, along another column."""
    for (column, label), style in zip(labels.items(), STYLES, strict=False):
        axes.plot([point[along] for point in points], [point[column] for point in points], label=label, **style)
