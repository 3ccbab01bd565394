"""Writes the sources of the website's pages: a front page, the guides, and released notebooks with figures.

Text and code come from course/. A cell's outputs come from solutions/ if students get exactly the same cell.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_output

from autograder import handout
from autograder.spec.course import course, notebooks

from . import colab_binder, guides, menu

READY = "ready"  # grade_id of the environment check; importing it from nbgrader_plugin.release would need nbgrader
TITLE = re.compile(r"# @title (.+)\n")  # Colab's title of a folded cell
WIDGET = "application/vnd.jupyter.widget-view+json"
CONTROL = "Here the notebook has a control to try: a field, a slider or a list. It needs Python, so open the notebook."
KINDS = ("text/html", "text/markdown", "image/png", "image/svg+xml", "text/plain")  # that a page can show
ALTS = "figures.json"  # for conf.py: each figure's description, by the hash of its file


def write(root: Path, target: Path, address: colab_binder.Address | None) -> None:
    """Write the sources of all pages into the empty folder `target`. `root` is the checkout."""
    figures: dict[str, str] = {}
    for name in notebooks():
        page = page_of(_read(root / "course", name), _read(root / "solutions", name))
        title, _, rest = page.cells[0].source.partition("\n")
        page.cells[0].source = f"{title}\n\n{_ways_in(name, address)}\n\n{rest}"
        for cell in page.cells:
            if cell.cell_type == "markdown":
                cell.source = guides.relinked(cell.source, root, f"course/{name}", address)
        figures |= dict(described(page))
        nbformat.write(page, target / f"{name}.ipynb")
    (target / ALTS).write_text(json.dumps(figures, ensure_ascii=False, indent=1), "utf-8")
    guides.write(root, target, address)
    (target / "index.md").write_text(_start(root, address), "utf-8")


def _read(folder: Path, name: str) -> NotebookNode:
    return nbformat.read(folder / name / f"{name}.ipynb", as_version=4)


def page_of(released: NotebookNode, solved: NotebookNode) -> NotebookNode:
    """Return the released notebook without the environment check, with the outputs of given cells."""
    given = {cell.id: cell for cell in solved.cells if cell.cell_type == "code"}
    cells = []
    for cell in released.cells:
        about = cell.metadata.get("nbgrader", {})
        if about.get("grade_id") == READY:
            continue
        cell.metadata = _looks(cell, about)
        if cell.cell_type == "code":
            twin = given.get(cell.id)
            same = twin is not None and twin.source == cell.source and not about.get("solution")
            cell.outputs = list(_shown(twin.outputs)) if twin is not None and same else []
            cell.source = TITLE.sub("", cell.source, count=1)
        cells.append(cell)
    released.cells = cells
    return released


def _looks(cell: NotebookNode, about: dict[str, Any]) -> NotebookNode:
    """Return the metadata that the page needs: folded cells with their titles, and answer cells."""
    tags, kept = ["answer"] if about.get("solution") else [], {}
    if cell.metadata.get("jupyter", {}).get("source_hidden"):
        found = TITLE.match(cell.source)
        title = found[1] if found else "Code of this cell"
        tags.insert(0, "hide-input")
        kept["mystnb"] = {"code_prompt_show": title, "code_prompt_hide": title}
    return NotebookNode(kept | {"tags": tags})


def _shown(outputs: list[NotebookNode]) -> Iterator[NotebookNode]:
    """Yield the outputs that a page can show: no progress bars, and a sentence instead of interactive controls."""
    for output in outputs:
        if output.output_type == "stream":
            yield output
        elif WIDGET in output.get("data", {}):
            if output.data.get("text/plain", "").startswith("interactive("):
                yield new_output("display_data", data={"text/markdown": f"*{CONTROL}*"})
        elif output.output_type in ("display_data", "execute_result"):
            data = {kind: value for kind, value in output.data.items() if kind in KINDS}
            yield new_output("display_data", data=data, metadata=output.get("metadata", {}))


def described(page: NotebookNode) -> Iterator[tuple[str, str]]:
    """Yield the hash of each figure's file, by which myst-nb names it, and the figure's description."""
    for cell in page.cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                data = base64.b64decode(output.data["image/png"])
                yield hashlib.sha256(data).hexdigest(), output.metadata["image/png"]["alt"]


def _ways_in(name: str, address: colab_binder.Address | None) -> str:
    links = [("Download", f"download/{name}.zip", "the notebook with all that it needs beside it")]
    if address:
        links.append(("Open in Colab", address.colab(name), "needs an account there"))
        links.append(("Open in Binder", address.binder(name), "starts in some minutes"))
    parts = [f'<a class="way-in" href="{escape(to)}">{words}</a> <span>{about}</span>' for words, to, about in links]
    return f'<p class="ways-in">{" ".join(parts)}</p>'


def _start(root: Path, address: colab_binder.Address | None) -> str:
    """Return the start page: an introduction to the course, and a card for each notebook."""
    chapters = handout.chapters(root)
    cores = [chapter for chapter in chapters if not chapter.optional]
    hours = round(sum(chapter.minutes for chapter in cores) / 60)
    needs = [re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(chapter.needs, quote=False)) for chapter in chapters]
    cards = "\n".join(
        f'<li><a href="{chapter.name}.html"><img src="_static/start/{chapter.name}.png" alt="{chapter.alt}" '
        f'loading="lazy"><strong>{escape(chapter.title)}</strong></a>'
        f"<span>{chapter.minutes} minutes{', optional' if chapter.optional else ''}. Builds on: {built_on}.</span></li>"
        for chapter, built_on in zip(chapters, needs, strict=True)
    )
    clone = f"`git clone {address.repository_url}`" if address else "clone the course's repository"
    online = " At the top of its page you can also open it in Colab or Binder and install nothing." if address else ""
    return f"""# {course().title}

You build a language model, from counting letters to a GPT that writes stories and a machine that translates. These
pages are the course to read, with its figures. In its notebooks you write each part yourself, and are told at once what
is wrong and why. {len(cores)} notebooks take about {hours} hours in all; Python and a little PyTorch are enough to
begin.

{guides.pictures(root)}

## Start here

- **Read**: begin with [notebook 1]({chapters[0].name}.ipynb). Pictures that answer to mouse and keyboard do so here,
  too.{online}
- **Write the answers yourself**: download <a href="download/students.zip">students.zip</a>, all notebooks with their
  data, and [install it](students.md#install). One notebook alone can be downloaded at the top of its page.
- **Have every answer checked, alone**: {clone}, then `make learn`. It opens your own copy of the
  course and names your mistakes: [learning alone](learning-alone.md).
- **Teach it**: the [instructor's guide](instructors.md).

## The notebooks

<ul class="chapters">
{cards}
</ul>

Each notebook needs its own folder and nothing else: none needs your answers to another. The [glossary](glossary.md)
has every term, with the notebooks that explain it; [the last page](end.md) says what you can do at the end.

{menu.entries([chapter.name for chapter in chapters], root)}"""


def write_downloads(root: Path, target: Path) -> None:
    """Write students.zip, and a zip of each notebook with its data. Raise NotReady if one contains an answer."""
    target.mkdir(parents=True)
    handout.write_zip(root, target / "students.zip")
    found = {key.removeprefix(f"{handout.FOLDER}/"): path for key, path in handout.contents(root).items()}
    for name in notebooks():
        wanted = {key: path for key, path in found.items() if key.startswith(f"{name}/") or key in handout.ENVIRONMENT}
        handout.pack(target / f"{name}.zip", wanted)
