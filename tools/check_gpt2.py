"""Run notebook 10 with the published GPT-2 and report which of its claims hold.

    python -m tools.check_gpt2 [--model NAME_OR_FOLDER] [--record FILE]

The first run downloads 0.5 GB. The exit status is 1 if a claim does not hold, and 2 if there is no model to run with.
With --record it runs no notebook and writes what the model says, with probabilities, to FILE: see record_model.
"""

import argparse
import ast
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled
from nbformat import NotebookNode
from tqdm import tqdm

from autograder.authoring import Client, results
from autograder.cell_counts import CLAIM
from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.spec.course import notebook_path
from tools import record_model

NOTEBOOK = "10-hugging-face-gpt2"


@dataclass(frozen=True)
class Claims:
    """The results of a notebook's `claim` cells, which assert what its text claims. Cells are named by their ids."""

    held: list[str]
    failed: dict[str, str]  # with the assertion's message
    stopped: dict[str, str]  # other cells that ended in an error: later results are not reliable
    notebook: NotebookNode  # with its outputs


def check_claims(path: Path, environment: Mapping[str, str]) -> Claims:
    """Execute a solution notebook without its tests and past errors; return its claims. The file is not written."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if not (grade_id(cell) or "").startswith("test_")]
    client = Client(notebook, timeout=None, allow_errors=True, resources={"metadata": {"path": str(path.parent)}})
    code = sum(cell.cell_type == "code" for cell in notebook.cells)
    with tqdm(total=code, desc=path.stem, unit=" cells") as bar:
        client.on_cell_complete = lambda cell, cell_index: bar.update()
        client.execute(env=os.environ | environment)
    claims = Claims([], {}, {}, notebook)
    for cell in notebook.cells:
        errors = results(cell, "error")
        claim = CLAIM in cell.metadata.get("tags", [])
        if errors:
            message = f"{errors[0].ename}: {errors[0].evalue}".strip(": ")
            of_claim = claim and errors[0].ename == "AssertionError"
            (claims.failed if of_claim else claims.stopped)[cell.id] = message
        elif claim:
            claims.held.append(cell.id)
    return claims


class NotDownloaded(Exception):
    """Raised when a model cannot be downloaded. The message says why and what to do."""


def fetch(model: str, path: Path) -> Path:
    """Download into the cache the files of a model that the notebook at `path` needs. Return their folder."""
    sources = [file.read_text("utf-8") for file in path.parent.glob("*_tools.py")]
    [wanted] = [found[1] for text in sources if (found := re.search(r"^FILES = (\(.*\))$", text, re.MULTILINE))]
    try:
        return Path(snapshot_download(model, allow_patterns=list(ast.literal_eval(wanted))))
    except (LocalEntryNotFoundError, HfHubHTTPError, OfflineModeIsEnabled) as error:
        raise NotDownloaded(
            f"{model} is not in the cache and cannot be fetched: {error}\n"
            "HTTPS_PROXY, HF_ENDPOINT and HF_HOME say by which way, from where, and where it is kept."
        ) from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Report the claims that do not hold, and return the exit status."""
    parser = argparse.ArgumentParser(description="Run notebook 10 with the published model; report which claims hold.")
    parser.add_argument("--model", default="gpt2", help="the model's name on the hub, or a folder with its files")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write what the model says instead, as JSON")
    options = parser.parse_args(arguments)
    model, path = options.model, notebook_path(NOTEBOOK)
    if Path(model).is_dir():
        wanted, folder = str(Path(model).resolve()), Path(model)
    else:
        wanted = model
        try:
            folder = fetch(model, path)
        except NotDownloaded as reason:
            print(reason)
            return 2
    if options.record:
        record_model.write(folder, options.record)
        print(f"{options.record} has what {model} says.")
        return 0
    claims = check_claims(path, {"COURSE_GPT2": wanted, "HF_HUB_OFFLINE": "1"})
    for name, message in (claims.failed | claims.stopped).items():
        print(f"{name} {'does not hold' if name in claims.failed else 'stopped'}: {message}")
    print(f"{len(claims.held)} of {len(claims.held) + len(claims.failed)} cells of claims hold with {model}")
    return 1 if claims.failed or claims.stopped else 0


if __name__ == "__main__":
    sys.exit(main())
