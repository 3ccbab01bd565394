"""Writes the results of `make grow` into its folder: a model for transformers, a loss curve, samples, a model card."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, NullFormatter
from transformers import GPT2LMHeadModel

from autograder.files import replace_atomically

from .texts import TrainingText


@dataclass(frozen=True)
class Point:
    """The state of the training at one measurement."""

    step: int
    tokens: int
    training: float  # mean loss since the last measurement, nats per token
    validation: float
    minutes: float  # of training, without measurements
    tokens_per_second: float  # since the last measurement
    utilisation: float  # share of the speed that the device reaches in one large matrix product


def keep_curve(folder: Path, points: Sequence[Point], title: str, floor: float | None) -> None:
    """Write curve.csv and curve.png. Draw the floor if it is known."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "curve.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [one.name for one in fields(Point)])
        writer.writeheader()
        writer.writerows(asdict(point) for point in points)
    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    tokens = [point.tokens for point in points]
    axes.plot(tokens, [point.training for point in points], color="#56B4E9", label="training")
    axes.plot(tokens, [point.validation for point in points], color="#0072B2", marker="o", ms=4, label="validation")
    if floor is not None:
        axes.axhline(floor, color="#000000", ls="--", lw=1, label=f"the floor of this text, {floor:.3f}")
    axes.set(title=title, xlabel="tokens read", ylabel="loss (nats per token)", xscale="log")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))  # 300k, 1M
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.legend(frameon=False, loc="upper right")
    replace_atomically(folder / "curve.png", lambda path: figure.savefig(path, dpi=110, format="png"))


def keep_samples(folder: Path, samples: Sequence[str]) -> None:
    text = "\n\n".join(samples) + "\n"
    replace_atomically(folder / "samples.txt", lambda path: path.write_text(text, encoding="utf-8"))


def keep_model(folder: Path, model: GPT2LMHeadModel, material: TrainingText, facts: Sequence[tuple[str, str]]) -> None:
    """Write the files that from_pretrained reads, and the model card. Each file is replaced atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as fresh:
        model.save_pretrained(fresh)
        material.tokenizer.save_pretrained(fresh)
        for file in Path(fresh).iterdir():
            file.chmod(0o644)  # safetensors makes it readable by the owner only
            file.replace(folder / file.name)
    text = card(folder.name, facts)
    replace_atomically(folder / "README.md", lambda path: path.write_text(text, encoding="utf-8", newline="\n"))


def card(name: str, facts: Sequence[tuple[str, str]]) -> str:
    rows = "\n".join(f"| {what} | {value} |" for what, value in facts)
    return (
        "---\nlibrary_name: transformers\npipeline_tag: text-generation\n---\n"
        f"# {name}\n\nA language model in GPT-2's format, grown by `make grow`.\n\n| | |\n| --- | --- |\n{rows}\n\n"
        "It has read this one text and knows nothing else. Not for use beyond teaching.\n"
    )
