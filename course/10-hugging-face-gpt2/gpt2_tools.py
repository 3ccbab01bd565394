"""Find the models of notebook 10, and draw its figures."""

from notebook_tools import GREY, ORANGE, RED, SKY, heat_map, show, subplots

import contextlib
import os
import re
import threading
from pathlib import Path

FILES = ("config.json", "generation_config.json", "model.safetensors", "tokenizer*.json", "vocab.json", "merges.txt")
SMALL = "gpt2-stories"
_loaded = SMALL  # the name of the model at hand


def find_gpt2(wanted="gpt2"):
    """Return (folder, name) of a model: a folder that is named, the cache's, the hub's, or else the small model's."""
    global _loaded
    import torch
    from huggingface_hub import snapshot_download
    from transformers import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()  # loading takes a second; the download keeps its bar
    wanted = os.environ.get("COURSE_GPT2", wanted) if wanted == "gpt2" else wanted
    folder, _loaded = (wanted, Path(wanted).name) if Path(wanted).is_dir() else (None, wanted)
    for cached in (True, False):
        if not folder and not cached and not _hub_has(wanted):
            print(f"{wanted} is not in the cache, and the hub does not answer, so here is the small model.")
        elif not folder:
            try:
                found = snapshot_download(wanted, allow_patterns=list(FILES), local_files_only=cached)
                folder = found if _whole(found) else None
            except Exception as error:  # not in the cache; or cut off, which must not stop the notebook
                if not cached:
                    print(f"{wanted} cannot be loaded ({type(error).__name__}: {error}), so here is the small model.")
    if not folder:
        folder, _loaded = SMALL, SMALL
    if _loaded == SMALL:
        torch.set_num_threads(1)  # a second thread gains a model this small little, and can cost minutes
    print("This notebook runs with", _loaded)
    return folder, _loaded


def _whole(folder):
    """Return whether a folder holds a model and its tokenizer: another program may have fetched a part of them."""
    names = {file.name for file in Path(folder).iterdir()}
    return names >= {"config.json", "model.safetensors"} and bool(names & {"tokenizer.json", "vocab.json"})


def _hub_has(name, seconds=8):
    """Return whether the hub answers within some seconds, asked in a thread: a dead network may be slow to say so."""
    answers: list = []

    def ask():
        from huggingface_hub import model_info

        with contextlib.suppress(Exception):
            answers.append(model_info(name, timeout=seconds))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return bool(answers)


def tell(small, published):
    """Show the paragraph that is true of the model at hand."""
    from IPython.display import Markdown, display

    display(Markdown(small if _loaded == SMALL else published))


def answered(answer, *given):
    """Return what an answer makes of these arguments, as text with two decimals, or what stands in its way."""
    try:
        return re.sub(r"\d+\.\d+(e-?\d+)?", lambda number: f"{float(number[0]):.2f}", str(answer(*given)))
    except Exception as error:  # an answer that is missing or wrong must not stop the notebook
        return f"no result yet ({type(error).__name__}: {error})"


def draw_bars(title, labels, groups, unit, lines=(), digits=3, what="", longest=0.0):
    """Draw a horizontal bar for each label, in groups {name: numbers}; lines: {name: place}.

    Charts that are to be compared need the same `longest`: the number that the axis has room for.
    """
    fig, ax = subplots(figsize=(8.5, 1.2 + 0.3 * len(labels) * len(groups) + 0.12 * len(labels)), layout="constrained")
    high, lines = 0.8 / len(groups), dict(lines)
    for i, (name, numbers) in enumerate(groups.items()):
        places = [y + high * (i - (len(groups) - 1) / 2) for y in range(len(labels))]
        bars = ax.barh(places, numbers, 0.95 * high, color=(GREY, SKY)[i - (len(groups) == 1)], label=name)
        ax.bar_label(bars, [f"{x:.{digits}f}" for x in numbers], padding=3, fontsize=9)
    for name, place in lines.items():
        ax.axvline(place, color=RED, ls="--", label=f"{name} {place:.2f}")
    ax.set_yticks(range(len(labels)), labels)
    ax.set(
        title=title,
        xlabel=unit,
        ylabel=what,
        xlim=(0, 1.15 * max(longest, *lines.values(), *map(max, groups.values()))),
    )
    ax.invert_yaxis()
    if lines or len(groups) > 1:
        fig.legend(loc="outside lower center", ncols=3, frameon=False)
    said = [f"{name}, {a}: {x:.{digits}f}" for name, n in groups.items() for a, x in zip(labels, n, strict=True)]
    show(fig, f"Bar chart, {unit}. {title}. {'; '.join(said)}.")


def draw_tokens(text, rows):
    """Draw a text's tokens as boxes with their ids, in rows {name: (tokens, ids)} from top to bottom."""
    fig, ax = subplots(figsize=(11, 2.8), layout="constrained")
    said = []
    for y, (name, (pieces, ids)) in enumerate(rows.items()):
        ax.text(-0.6, y, f"{name}: {len(pieces)} tokens", ha="right", va="center")
        left = 0.0
        for piece, number in zip(pieces, ids, strict=True):
            size = max(len(piece), 3.6)
            ax.barh(y, size, 0.8, left, color=(SKY, ORANGE)[y], alpha=0.35, ec=GREY)
            ax.text(left + size / 2, y, f"{piece}\n{number}", ha="center", va="center", fontsize=10)
            left += size + 0.4
        said.append(
            " ".join([*name.split(), *(f"{piece} {number}" for piece, number in zip(pieces, ids, strict=True))])
        )
    ax.set(title=f"“{text}” in tokens, with their ids", xlim=(-14, 64), ylim=(-0.6, len(rows) - 0.4))
    ax.invert_yaxis()
    ax.axis("off")
    show(fig, f"“{text}” cut into tokens, with their ids. {'; '.join(said)}.")


def draw_table(title, values, rows, columns, words=None, xlabel="", ylabel="", unit="probability"):
    """Draw numbers from 0 to 1 as colours; words: what stands in the cells, row by row, if not the numbers."""
    fig, ax = subplots(figsize=(3 + 0.85 * len(columns), 1.6 + 0.42 * len(rows)), layout="constrained")
    digits = 2 if len(columns) < 10 else 1
    texts = words or [f"{x:.{digits}f}" for row in values for x in row]
    said = iter(texts)
    image = heat_map(ax, values, rows, columns, lambda value: next(said), vmin=0, vmax=1, aspect="auto")
    ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
    fig.colorbar(image, label=unit)
    places = [(a, b, x) for a, row in zip(rows, values, strict=True) for b, x in zip(columns, row, strict=True)]
    found = [
        f"{a}, {b}: {f'{text} ' if words else ''}{x:.2f}"
        for i, ((a, b, x), text) in enumerate(zip(places, texts, strict=True), 1)
        if x > 0.3 or (words and i % len(columns) == 0)  # of words, the whole last column
    ]
    show(fig, f"Table. {title}. Above 0.3{', and the last column' * bool(words)}: {'; '.join(found)}.")
