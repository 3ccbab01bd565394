"""Saves the model, state and curve of a `translate` run in its folder. `grow` saves its state with it too."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from safetensors.torch import save
from tokenizers import Tokenizer
from torch import Tensor

from autograder.files import replace_atomically
from autograder.spec.course import exercises, given_in

from . import say

UNFINISHED = "unfinished.pt"
OURS = (UNFINISHED, "translator.py")  # a folder with one of these was written by `translate`


@dataclass(frozen=True)
class Point:
    """The state of the training at one measurement."""

    step: int
    minutes: float
    training: float  # mean smoothed loss since the last measurement, nats per target token
    validation: float  # without smoothing
    bleu: float | None = None  # by sacrebleu, on held-out sentences; None: sacrebleu is not installed
    chrf: float | None = None


def keep_model(
    folder: Path, state: Mapping[str, Tensor], about: Mapping[str, Any], source: Tokenizer, target: Tokenizer
) -> None:
    """Write everything that say.py needs into the folder. Each file is replaced atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in fused(state).items()}
    replace_atomically(folder / "model.safetensors", lambda path: path.write_bytes(save(weights)))
    replace_atomically(folder / "source.json", lambda path: source.save(str(path)))
    replace_atomically(folder / "target.json", lambda path: target.save(str(path)))
    text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
    replace_atomically(folder / "model.json", lambda path: path.write_text(text, encoding="utf-8"))
    replace_atomically(folder / "translator.py", lambda path: path.write_text(architecture(), encoding="utf-8"))
    replace_atomically(folder / "say.py", lambda path: shutil.copyfile(say.__file__, path))


def architecture() -> str:
    """Return the source of notebook 11's translator: its locked cells, and the reference answers that it needs."""
    wanted = ("DecoderBlock", "greedy_decode", "beam_search")
    answers = [exercise.source for exercise in exercises("11-translation") if exercise.name in wanted]
    return '"""The translator of notebook 11: its parts, and how it writes."""\n\n' + "\n\n\n".join(
        [given_in("11-translation").strip(), *(answer.strip() for answer in answers)]
    )


def fused(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights for fused attention: the three projections of all heads become rows of one matrix."""
    result = {name: tensor for name, tensor in state.items() if "_projs." not in name}
    for prefix in {name.split("q_projs.")[0] for name in state if "q_projs." in name}:
        for kind in ("weight", "bias"):
            rows = []
            for part in ("q", "k", "v"):
                heads = sum(name.startswith(f"{prefix}{part}_projs.") and name.endswith(kind) for name in state)
                rows += [state[f"{prefix}{part}_projs.{head}.{kind}"] for head in range(heads)]
            result[f"{prefix}in_proj_{kind}"] = torch.cat(rows)
    return result


# --- resuming after a kill --------------------------------------------------------------------------------------------


def keep_state(folder: Path, state: Mapping[str, Any]) -> None:
    """Save the state of an unfinished training."""
    folder.mkdir(parents=True, exist_ok=True)
    replace_atomically(folder / UNFINISHED, lambda path: torch.save(dict(state), path))


def kept_state(folder: Path, device: str) -> dict[str, Any] | None:
    """Return the state that `keep_state` saved, or None. Only numbers, texts and tensors are read: no code is run."""
    path = folder / UNFINISHED
    return torch.load(path, map_location=device, weights_only=True) if path.is_file() else None


def finished(folder: Path) -> None:
    (folder / UNFINISHED).unlink(missing_ok=True)


# --- the curve --------------------------------------------------------------------------------------------------------


def keep_curve(folder: Path, points: Sequence[Point], title: str) -> None:
    """Write curve.csv and curve.png."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "curve.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [one.name for one in fields(Point)])
        writer.writeheader()
        writer.writerows(asdict(point) for point in points)
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    loss, quality = figure.subplots(1, 2)
    steps = [point.step for point in points]
    loss.plot(steps, [point.training for point in points], color="#56B4E9", label="training, smoothed targets")
    loss.plot(steps, [point.validation for point in points], color="#0072B2", marker="o", ms=3, label="validation")
    loss.set(title=title, xlabel="step", ylabel="loss (nats per target token)")
    for name, colour, style in (("bleu", "#0072B2", "-"), ("chrf", "#D55E00", "--")):
        values = [getattr(point, name) for point in points]
        if None not in values:
            label = {"bleu": "BLEU", "chrf": "chrF"}[name]
            quality.plot(steps, values, color=colour, ls=style, marker="o", ms=3, label=label)
    highest = max([10.0, *(1.1 * value for point in points for value in (point.bleu, point.chrf) if value is not None)])
    quality.set(
        title="On held-out sentences, by sacrebleu", xlabel="step", ylabel="score (0 to 100)", ylim=(0, highest)
    )
    for axes in (loss, quality):
        axes.spines[["top", "right"]].set_visible(False)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False)
    figure.savefig(folder / "curve.png", dpi=110)
