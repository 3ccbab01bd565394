"""Lay out a learner's own copy of the course, and bring it up to date without changing what the learner wrote."""

import contextlib
import json
import os
import re
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import nbformat
from ipykernel.kernelspec import KERNEL_NAME, RESOURCES, get_kernel_dict
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from .. import files
from ..handout import SETTINGS, START, chapters, pages
from ..nbgrader_plugin.release import released_notebook
from ..new_folder import released
from ..spec.course import in_notebook, names_in, sources
from .progress import (
    FIRST_CELL,
    FOLDER,
    NEW,
    PRACTICE,
    SAID,
    TEST,
    Answer,
    Copy,
    is_one_of_the_course,
)
from .self_marking import cell_for, rubric_of

FIRST = """\
from autograder.learning import check, hint, solution

# The cell below an answer marks it fully. hint("{name}") opens the next hint, solution("{name}") a worked answer."""
MARKING = "--ext=autograder.learning"  # switches marking on in a kernel from its first cell on
SWITCH = "from autograder.learning import check  # switches marking on, if no cell has yet"
PRACTISE = """\
# Practise again

What was once wrong and is right now comes back here, with a fresh small case each time: a minute each. Run the cell
below, write your result between the brackets, and run it again. The [start page](START.md) says what is left."""
GO_ON = """

**To go on another day**, open this notebook again, select this cell, and choose *Run → Run All Above Selected Cell*."""
HELP = re.compile(r"<details><summary>((?:Hint|Help)\b.*?)</summary>\s*(.*?)\s*</details>", re.DOTALL)


def lay_out(folder: Path) -> list[Path]:
    """Write the course to `folder`, or bring it up to date; return the notebooks written next to ones in use.

    Raise files.WouldOverwrite if `folder` holds something else. A new copy is written whole or not at all; an update
    that fails leaves each notebook old or new, and can be repeated.
    """
    files.refuse_foreign(folder, [FOLDER], "course of yours")
    with contextlib.nullcontext() if (folder / FOLDER).is_dir() else files.all_or_nothing(folder):
        (folder / FOLDER).mkdir(exist_ok=True)  # first: after a power failure, too, the command can be repeated
        return _lay_out(folder)


def _lay_out(folder: Path) -> list[Path]:
    course, home, found = Copy(folder), released(), chapters(sources().parent)
    try:
        laid = course.about["laid"]
    except (OSError, ValueError, KeyError, TypeError):  # none, or damaged
        laid = {}
    offered, about = [], {}
    for chapter in found:
        name, fresh = chapter.name, files.contents(home / chapter.name)
        fresh[f"{name}.ipynb"] = _marking(fresh[f"{name}.ipynb"], name)
        target = _lay_folder(folder, name, fresh, laid)
        if target.name != name:
            offered.append(target / f"{name}.ipynb")
        files.write_with_folders(folder / "start" / f"{name}.png", chapter.picture)
        about[name] = {"title": chapter.title, "answers": answers_in(home / name)}
    for file, content in _settings(home / SETTINGS).items():
        files.write_with_folders(folder / SETTINGS / file, content)
    texts = pages(found, {name: f"[[{name}]]" for name in about})
    written = {"laid": laid, "start": texts.pop(START), "notebooks": about}
    for page, text in texts.items():
        files.write_with_folders(folder / page, text.encode())
    if not (folder / PRACTICE).exists():  # the learner may have written in it
        files.write_with_folders(folder / PRACTICE, _practice_notebook())
    files.write_with_folders(course.path, json.dumps(written, indent=1, ensure_ascii=False).encode())
    Copy(folder).write_start()
    return offered


def _practice_notebook() -> bytes:
    text = new_markdown_cell(PRACTISE, id="practise-again")
    code = new_code_cell("from autograder.learning import practise\n\npractise()", id="practise")
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": KERNEL_NAME}
    return str(nbformat.writes(new_notebook(cells=[text, code], metadata={"kernelspec": kernel}))).encode()


def _settings(folder: Path) -> dict[str, bytes]:
    """Return the files of JupyterLab's settings: a release's, without nbgrader, and a kernel that marks."""
    found = files.contents(folder)
    disabled = json.loads(found["labconfig/page_config.json"])["disabledExtensions"] | {"@jupyter/nbgrader": True}
    found["labconfig/page_config.json"] = json.dumps({"disabledExtensions": disabled}).encode()
    kernel = files.contents(Path(RESOURCES)) | {"kernel.json": json.dumps(get_kernel_dict([MARKING])).encode()}
    return found | {f"kernels/{KERNEL_NAME}/{file}": content for file, content in kernel.items()}


def _lay_folder(folder: Path, name: str, fresh: dict[str, bytes], laid: dict[str, dict[str, list[str]]]) -> Path:
    """Write a notebook's folder, or one next to it if the learner changed anything there; enter it in `laid`."""
    new, target = files.manifest_of(fresh), folder / name
    if laid.get(name) != new:
        while not _untouched(target, laid.get(target.name, new), new):
            target = target.with_name(f"{target.name}{NEW}")  # the learner wrote in the other
        with tempfile.TemporaryDirectory(dir=folder / FOLDER) as scratch:  # what fails there leaves the older version
            for file, content in fresh.items():
                files.write_with_folders(Path(scratch, name, file), content)
            shutil.rmtree(target, ignore_errors=True)  # an older version that nobody touched
            Path(scratch, name).rename(target)
    laid[name] = laid[target.name] = new
    renamed = any(map(is_one_of_the_course, target.glob("*.ipynb")))  # by the learner: a second one would be empty
    for file, content in fresh.items():
        if not (target / file).exists() and not (renamed and file.endswith(".ipynb")):
            files.write_with_folders(target / file, content)
    return target


def _untouched(folder: Path, *versions: files.Manifest) -> bool:
    """Return True if all files of a folder are as in one version; an interrupted update has laid the new one."""
    found = files.manifest_of(files.contents(folder))
    return any(found.items() <= version.items() for version in versions)


def _marking(content: bytes, home: str) -> bytes:
    """Return a notebook's file in which the first cell and each test switch marking on, whatever kernel runs it.

    Below a written answer comes a cell in which the learner marks it.
    """
    notebook, names = json.loads(content), names_in(home)
    answers = [name for cell in notebook["cells"] if (name := _answer_of(cell))]
    example = next((name for name in answers if name in names), answers[0])
    source = FIRST.format(name=example).splitlines(keepends=True)
    first = new_code_cell(id=FIRST_CELL) | {"source": source}
    notebook["cells"].insert(1, first)
    for cell in [*notebook["cells"]]:
        if "stop" in cell["metadata"].get("tags", []):
            cell["source"] = "".join([*cell["source"], GO_ON]).splitlines(keepends=True)
        if written := _written_in(cell):
            below = notebook["cells"].index(cell) + 1
            source = cell_for(written, rubric_of(home, written)).splitlines(keepends=True)
            notebook["cells"].insert(below, new_code_cell(id=f"marks-{written}") | {"source": source})
        title, *test = cell["source"] if cell["cell_type"] == "code" and cell["source"] else [""]
        if found := TEST.match(title):
            kept = test if found[1] in names else []  # of a question, marking says all
            kept = kept[:-1] if kept and SAID.match(kept[-1]) else kept
            cell["source"] = "".join([title, f"{SWITCH}\n", *kept]).rstrip("\n").splitlines(keepends=True)
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def _answer_of(cell: dict[str, Any]) -> str:
    about = cell["metadata"].get("nbgrader", {})
    return about["grade_id"] if cell["cell_type"] == "code" and about.get("solution") else ""


def _written_in(cell: dict[str, Any]) -> str:
    """Return the name of a written answer; "" for any other cell."""
    about = cell["metadata"].get("nbgrader", {})
    return about["grade_id"] if cell["cell_type"] == "markdown" and about.get("solution") else ""


def answers_in(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what the start page and hints say of each answer that is marked, in the notebook's order, by its name."""
    path = folder / f"{folder.name}.ipynb"
    spots = released_notebook.read(path).spots
    points = {declared.name: declared.points for declared in in_notebook(folder.name)}
    found: dict[str, dict[str, Any]] = {}
    hints: list[str] = []
    above = ""
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        name = _answer_of(cell)
        if written := _written_in(cell):
            points_of_it, spot = rubric_of(folder.name, written).points, spots[written]
            found[written] = asdict(Answer(points_of_it, spot.title, spot.section, above, [], written=True))
        elif cell["cell_type"] == "markdown":
            above = cell["id"]
            hints += [f"**{title}**\n\n{text}" for title, text in HELP.findall("".join(cell["source"]))]
        elif name in points:
            found[name] = asdict(Answer(points[name], spots[name].title, spots[name].section, above, hints))
            hints = []
    return found


def open_lab(folder: Path, options: list[str]) -> None:
    """Start JupyterLab in a copy of the course, with its settings and its kernel."""
    os.chdir(folder)
    for variable, path in (("JUPYTER_CONFIG_PATH", SETTINGS), ("JUPYTER_PATH", str(Path.cwd() / SETTINGS))):
        os.environ[variable] = os.pathsep.join(filter(None, [path, os.environ.get(variable)]))
    os.environ["PYTHONHASHSEED"] = "0"  # as where the catalogued mistakes were tried: the order of a set is the same
    from jupyterlab.labapp import main

    main(options)
