"""Load the models of notebook 10, and draw its figures."""

from notebook_tools import GREY, RED, SKY, heat_map, show, subplots

import contextlib
import os
import threading
from pathlib import Path
from typing import Any

FILES = ("config.json", "generation_config.json", "model.safetensors", "tokenizer*.json", "vocab.json", "merges.txt")
SMALL = "gpt2-stories"
BLOCK = """
import math, torch, torch.nn.functional as F
from functools import partial
from torch import nn
class Block(nn.TransformerEncoderLayer):  # around which notebook 09 asks for a GPT
    def __init__(self, config):
        gelu, sizes = partial(F.gelu, approximate="tanh"), (config.n_embd, config.n_head, 4 * config.n_embd)
        super().__init__(*sizes, config.dropout, gelu, batch_first=True, norm_first=True, bias=config.bias)
    def forward(self, x, mask=None):
        return super().forward(x, src_mask=mask)
"""
_loaded = SMALL  # the name of the model at hand


def load_gpt2(wanted="gpt2"):
    """Return (model, tokenizer, name): from a folder, the cache or the hub, or else the small model's."""
    global _loaded
    import torch
    from huggingface_hub import snapshot_download

    wanted, found = os.environ.get("COURSE_GPT2", wanted) if wanted == "gpt2" else wanted, None
    if Path(wanted).is_dir():
        found, _loaded = _from_folder(wanted), Path(wanted).name
    for cached in (True, False):
        if not found and not cached and not _hub_has(wanted):
            print(f"{wanted} is not in the cache, and the hub does not answer, so here is the small model.")
        elif not found:
            try:
                found = _from_folder(snapshot_download(wanted, allow_patterns=list(FILES), local_files_only=cached))
                _loaded = wanted
            except Exception as error:  # not in the cache; or cut off, which must not stop the notebook
                if not cached:
                    print(f"{wanted} cannot be loaded ({type(error).__name__}: {error}), so here is the small model.")
    if not found:
        found, _loaded = _from_folder(SMALL), SMALL
    if _loaded == SMALL:
        torch.set_num_threads(1)  # a second thread gains a model this small little, and can cost minutes
    print("This notebook runs with", _loaded)
    return *found, _loaded


def _hub_has(name, seconds=8):
    """Whether the hub answers within some seconds: asked in a thread, since a dead network may be slow to say so."""
    answers: list = []

    def ask():
        from huggingface_hub import model_info

        with contextlib.suppress(Exception):
            answers.append(model_info(name, timeout=seconds))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return bool(answers)


def _from_folder(folder):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()  # loading takes a second; the download keeps its bar
    model: Any = AutoModelForCausalLM.from_pretrained(folder)  # transformers says nothing of what `to` takes
    return model.to("cuda" if torch.cuda.is_available() else "cpu").eval(), AutoTokenizer.from_pretrained(folder)


def tell(small, published):
    """Show the paragraph that is true of the model at hand."""
    from IPython.display import Markdown, display

    display(Markdown(small if _loaded == SMALL else published))


def own_gpt(config, file="../09-gpt/09-gpt.ipynb"):
    """Return a new GPT of your notebook 09, in the folder beside this one, of the sizes in a GPT2Config."""
    import json
    from types import SimpleNamespace

    found: dict = {"GPTConfig": SimpleNamespace}
    exec(BLOCK, found)
    for cell in json.loads(Path(file).read_text("utf-8"))["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "GPT":
            exec("".join(cell["source"]), found)
    more = {"block_size": config.n_positions, "dropout": 0.0, "bias": True, "tie_weights": True}
    return found["GPT"](SimpleNamespace(**config.to_dict(), **more))


def filled(given, load, model):
    """Return (a GPT with the numbers of `model`, whose it is): yours if it is there, else a `given` one; or None."""
    for make, whose in ((own_gpt, "your own GPT, from notebook 09"), (given, "the given GPT")):
        try:
            gpt = make(model.config).to(model.device).eval()
            load(gpt, model)
            return gpt, whose
        except (FileNotFoundError, NotImplementedError):  # no notebook 09 here, or not answered yet
            continue
        except Exception as error:
            if make is given:
                raise
            print(f"Your own GPT could not be filled ({type(error).__name__}: {error}), so the given one is.")
    print("load_gpt2_weights is not answered yet: answer it, then run this cell again.")
    return None, "nobody's GPT"


def draw_bars(title, labels, groups, unit, lines=(), digits=3, what=""):
    """Draw a horizontal bar for each label, in groups {name: numbers}; lines: {name: place}."""
    fig, ax = subplots(figsize=(8.5, 1.2 + 0.3 * len(labels) * len(groups) + 0.12 * len(labels)), layout="constrained")
    high, lines = 0.8 / len(groups), dict(lines)
    for i, (name, numbers) in enumerate(groups.items()):
        places = [y + high * (i - (len(groups) - 1) / 2) for y in range(len(labels))]
        bars = ax.barh(places, numbers, 0.95 * high, color=(GREY, SKY)[i - (len(groups) == 1)], label=name)
        ax.bar_label(bars, [f"{x:.{digits}f}" for x in numbers], padding=3, fontsize=9)
    for name, place in lines.items():
        ax.axvline(place, color=RED, ls="--", label=f"{name} {place:.2f}")
    ax.set_yticks(range(len(labels)), labels)
    ax.set(title=title, xlabel=unit, ylabel=what, xlim=(0, 1.15 * max(*lines.values(), *map(max, groups.values()), 0)))
    ax.invert_yaxis()
    fig.legend(loc="outside lower center", ncols=3, frameon=False)
    said = [f"{name}, {a}: {x:.{digits}f}" for name, n in groups.items() for a, x in zip(labels, n, strict=True)]
    show(fig, f"Bar chart, {unit}. {title}. {'; '.join(said)}.")


def draw_table(title, values, rows, columns, words=None, xlabel="", ylabel="", unit="probability"):
    """Draw numbers from 0 to 1 as colours; words: what stands in the cells, row by row, if not the numbers."""
    fig, ax = subplots(figsize=(3 + 0.85 * len(columns), 1.6 + 0.42 * len(rows)), layout="constrained")
    digits = 2 if len(columns) < 10 else 1
    said = iter(words if words is not None else [f"{x:.{digits}f}" for row in values for x in row])
    image = heat_map(ax, values, rows, columns, lambda value: next(said), vmin=0, vmax=1, aspect="auto")
    ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
    fig.colorbar(image, label=unit)
    cells = [(f"{a}, {b}", x) for a, row in zip(rows, values, strict=True) for b, x in zip(columns, row, strict=True)]
    show(fig, f"Table. {title}. Above 0.3: {'; '.join(f'{name}: {x:.2f}' for name, x in cells if x > 0.3)}.")
