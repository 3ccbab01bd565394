"""Puts right answers through tools that touch notebooks, marks them, and compares with the guide's table.

The guide is docs/what-tools-do-to-notebooks.md. `make crossings` runs this; `--write` writes the table anew. The tools
are in `.venv-crossings` and in `node_modules` beside this file; what marks is in the environment that runs this. Each
treatment is one student of a made-up class, which `autograder grade` marks.
"""

import argparse
import ast
import copy
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.api import Gradebook

from autograder.nbgrader_plugin.intake.repair import grade_id, load
from autograder.sample_class import filled_in
from autograder.spec.course import exercises, in_notebook, questions

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
PAGE = ROOT / "docs" / "what-tools-do-to-notebooks.md"
TOOLS = ROOT / ".venv-crossings" / "bin"
NAME = "05-attention"
HEADINGS = ("tool", "version", "ids", "metadata", "texts", "outputs", "cells", "format", "answers", "nbval")
MINUTES = 5  # for one tool


@dataclass(frozen=True)
class Treatment:
    """Describe one use of a tool: the package whose version counts, and the shell commands that rewrite `n.ipynb`."""

    tool: str
    package: str
    command: str


def _through(form: str, suffix: str, back: str = "") -> str:
    return f"jupytext -q --to {form} n.ipynb && {back or 'rm n.ipynb && jupytext -q --to notebook'} n.{suffix}"


def _python(code: str) -> str:
    return f'python -c "{code}"'


def _script(program: str, file: str, arguments: str = "") -> str:
    return f"{program} {shlex.quote(str(HERE / file))} {arguments} n.ipynb"


EXECUTE = "jupyter nbconvert --to notebook --execute --inplace"
FAILING = _python(  # adds a cell that raises
    "import nbformat as f; n = f.read('n.ipynb', 4); n.cells.append(f.v4.new_code_cell('1 / 0')); f.write(n, 'n.ipynb')"
)


TREATMENTS = (
    Treatment("nbconvert, clear outputs", "nbconvert", "jupyter nbconvert --clear-output --inplace n.ipynb"),
    Treatment(
        "nbconvert, clear metadata",
        "nbconvert",
        "jupyter nbconvert --to notebook --inplace --ClearMetadataPreprocessor.enabled=True n.ipynb",
    ),
    Treatment(
        "nbformat, written as version 3",
        "nbformat",
        "jupyter nbconvert --to notebook --nbformat 3 --output o n.ipynb && mv o.ipynb n.ipynb",
    ),
    Treatment("ruff format", "ruff", "ruff format --isolated n.ipynb"),
    Treatment(
        "nbmerge, both sides the same", "nbdime", "cp n.ipynb a.ipynb && nbmerge a.ipynb n.ipynb a.ipynb --out n.ipynb"
    ),
    Treatment(
        "ruff check, all fixes", "ruff", "ruff check --isolated --select ALL --fix --unsafe-fixes --exit-zero n.ipynb"
    ),
    Treatment("black", "black", "black n.ipynb"),
    Treatment("ruff check, safe fixes", "ruff", "ruff check --isolated --fix --exit-zero n.ipynb"),
    Treatment("nbqa isort", "isort", "nbqa isort n.ipynb"),
    Treatment("nbqa autopep8", "autopep8", "nbqa autopep8 -i -a n.ipynb"),
    Treatment("nbqa yapf", "yapf", "nbqa yapf --in-place n.ipynb"),
    Treatment("nbqa pyupgrade", "pyupgrade", "nbqa pyupgrade --py311-plus n.ipynb || true"),  # exits 1 after a change
    Treatment(
        "nbqa docformatter", "docformatter", "nbqa docformatter --in-place n.ipynb || true"
    ),  # exits 3 after a change
    Treatment("nbqa autoflake", "autoflake", "nbqa autoflake --in-place --remove-unused-variables n.ipynb"),
    Treatment("jupytext, percent and back", "jupytext", _through("py:percent", "py")),
    Treatment("jupytext, MyST and back", "jupytext", _through("md:myst", "md")),
    Treatment("jupytext, light and back", "jupytext", _through("py:light", "py")),
    Treatment("jupytext, Markdown and back", "jupytext", _through("md", "md")),
    Treatment("jupytext, R Markdown and back", "jupytext", _through("Rmd", "Rmd")),
    Treatment("jupytext, Hydrogen and back", "jupytext", _through("py:hydrogen", "py")),
    Treatment("jupytext, Spin and back", "jupytext", _through("R:spin", "R")),
    Treatment("jupytext, Sphinx-Gallery and back", "jupytext", _through("py:sphinx", "py")),
    Treatment("jupytext, without markers and back", "jupytext", _through("py:nomarker", "py")),
    Treatment(
        "jupytext, percent without metadata",
        "jupytext",
        _through("py:percent --opt cell_metadata_filter=-all", "py"),
    ),
    Treatment(
        "jupytext, percent, `--update`", "jupytext", _through("py:percent", "py", "jupytext -q --to notebook --update")
    ),
    Treatment(
        "jupytext, paired and synced",
        "jupytext",
        "jupytext -q --set-formats ipynb,py:percent n.ipynb && sleep 1 && touch n.py && jupytext -q --sync n.py",
    ),
    Treatment("nbstripout", "nbstripout", "nbstripout n.ipynb"),
    Treatment(
        "nbstripout, keeping ids, outputs and counts",
        "nbstripout",
        "nbstripout --keep-id --keep-output --keep-count n.ipynb",
    ),
    Treatment("nb-clean", "nb-clean", "nb-clean clean n.ipynb"),
    Treatment(
        "nb-clean, preserving what it can",
        "nb-clean",
        "nb-clean clean --preserve-cell-metadata --preserve-cell-outputs --preserve-execution-counts n.ipynb",
    ),
    Treatment("nbdev-clean", "nbdev", "nbdev-clean --fname n.ipynb"),
    Treatment(
        "nbfmt, the formatter of TensorFlow's documents",
        "tensorflow-docs",
        "python -m tensorflow_docs.tools.nbfmt n.ipynb",
    ),
    Treatment("databooks meta", "databooks", "databooks meta n.ipynb --yes"),
    Treatment(
        "papermill, prepared only",
        "papermill",
        "papermill --prepare-only --no-progress-bar n.ipynb o.ipynb && mv o.ipynb n.ipynb",
    ),
    Treatment("papermill, run", "papermill", "papermill --no-progress-bar n.ipynb n.ipynb"),
    Treatment(
        "papermill, run with a parameter", "papermill", "papermill --no-progress-bar -p rate 0.1 n.ipynb n.ipynb"
    ),
    Treatment("jupyter execute", "nbclient", "jupyter execute --inplace n.ipynb"),
    Treatment("nbconvert, executed", "nbconvert", f"{EXECUTE} n.ipynb"),
    Treatment("nbconvert, executed past an error", "nbconvert", f"{FAILING} && {EXECUTE} --allow-errors n.ipynb"),
    Treatment(
        "papermill, stopped by an error",
        "papermill",
        f"{FAILING} && {{ ! papermill --no-progress-bar n.ipynb n.ipynb; }}",
    ),
    Treatment("nbmake, overwriting", "nbmake", "python -m pytest -q --nbmake --overwrite n.ipynb"),
    Treatment(
        "jupyter-cache, executed and merged",
        "jupyter-cache",
        "yes | jcache notebook -p cache add n.ipynb && jcache project -p cache execute"
        " && jcache notebook -p cache merge n.ipynb n.ipynb && rm -r cache",
    ),
    Treatment("jupyter trust", "nbformat", "jupyter trust n.ipynb"),
    Treatment(
        "nbformat, to version 3 and back",
        "nbformat",
        "jupyter nbconvert --to notebook --nbformat 3 --output o n.ipynb && rm n.ipynb"
        " && jupyter nbconvert --to notebook --output n o.ipynb",
    ),
    Treatment(
        "nbformat, upgraded from 4.4",
        "nbformat",
        _python(
            "import json, nbformat as f; n = json.load(open('n.ipynb')); n['nbformat_minor'] = 4;"
            " [c.pop('id') for c in n['cells']];"
            " f.write(f.v4.upgrade(f.from_dict(n), from_minor=4), 'n.ipynb')"
        ),
    ),
    Treatment(
        "JupyterLab's server, opened and saved",
        "jupyter_server",
        _python(
            "from jupyter_server.services.contents.filemanager import FileContentsManager as F; f = F(root_dir='.');"
            " f.save(f.get('n.ipynb'), 'n.ipynb')"
        ),
    ),
    Treatment(
        "jupyter-collaboration's document",
        "jupyter_ydoc",
        _python(
            "import json; from jupyter_ydoc import YNotebook; y = YNotebook(); y.set(json.load(open('n.ipynb')));"
            " s = json.dumps(y.get()); open('n.ipynb', 'w').write(s)"
        ),
    ),
    Treatment("JupyterLab's document", "@jupyter/ydoc", _script("node", "editors.mjs", "jupyterlab")),
    Treatment(
        "VS Code, opened and saved",
        "@codingame/monaco-vscode-ipynb-default-extension",
        _script("node", "editors.mjs", "vscode"),
    ),
    Treatment("nteract's document", "@nteract/commutable", _script("node", "editors.mjs", "nteract")),
    Treatment("Colab's form", "", _script("python", "colab.py")),
    Treatment(
        "Deepnote and back",
        "deepnote-cli",
        "deepnote convert n.ipynb -o n.deepnote && rm n.ipynb && deepnote convert n.deepnote -o o && mv o/n.ipynb .",
    ),
    Treatment(
        "marimo and back",
        "marimo",
        "marimo -y convert n.ipynb -o n.py && rm n.ipynb && marimo -y export ipynb n.py -o n.ipynb",
    ),
    Treatment(
        "pandoc, notebook to notebook",
        "pypandoc_binary",
        _python("import pypandoc; pypandoc.convert_file('n.ipynb', 'ipynb', outputfile='o.ipynb')")
        + " && mv o.ipynb n.ipynb",
    ),
    Treatment(
        "pandoc, Markdown and back",
        "pypandoc_binary",
        _python(
            "import pypandoc;"
            " pypandoc.convert_file('n.ipynb', 'markdown', outputfile='n.md', extra_args=['--extract-media', '.']);"
            " pypandoc.convert_file('n.md', 'ipynb', outputfile='n.ipynb')"
        ),
    ),
    Treatment(
        "ipynb-py-convert and back",
        "ipynb-py-convert",
        "ipynb-py-convert n.ipynb n.py && ipynb-py-convert n.py n.ipynb",
    ),
    Treatment("pre-commit's pretty-format-json", "pre_commit_hooks", "pretty-format-json --autofix n.ipynb || true"),
    Treatment(
        "pre-commit's ends of lines and of the file",
        "pre_commit_hooks",
        "mixed-line-ending --fix=crlf n.ipynb; trailing-whitespace-fixer n.ipynb; end-of-file-fixer n.ipynb; true",
    ),
    Treatment("Prettier", "prettier", "prettier --parser json --write n.ipynb"),
    Treatment(
        "saved in UTF-16",
        "",
        _python("from pathlib import Path; p = Path('n.ipynb'); p.write_text(p.read_text('utf-8'), 'utf-16')"),
    ),
)


def _program(source: str) -> str:
    try:
        return ast.dump(ast.parse(source))
    except SyntaxError:  # a written answer, or a magic
        return source.strip()


def _texts(read: NotebookNode, before: NotebookNode) -> str:
    sources, old = [cell.source for cell in read.cells], [cell.source for cell in before.cells]
    if sources == old:
        return "kept"
    if [source.rstrip() for source in sources] == [source.rstrip() for source in old]:
        return "last line's end lost"
    programs, expected = ([_program(cell.source) for cell in notebook.cells] for notebook in (read, before))
    return "formatted" if programs == expected else "rewritten"


def _ids(ids: Sequence[object], old: Sequence[str]) -> str:
    if list(ids) == list(old):
        return "kept"
    if None in ids:
        return "lost"
    if all(str(name).isdecimal() for name in ids):
        return "numbered"
    return "some new" if set(ids) & set(old) else "new"


def _metadata(read: NotebookNode, before: NotebookNode) -> str:
    for cell in read.cells:
        cell.metadata.pop("collapsed", None)  # a field of format 3
    new, old = ([dict(cell.metadata) for cell in notebook.cells] for notebook in (read, before))
    if new == old:
        return "kept"
    names, expected = ([m["nbgrader"].get("grade_id") for m in all_ if "nbgrader" in m] for all_ in (new, old))
    if names != expected:
        return "lost" if not names else "partly lost"
    if len(new) == len(old) and all(o.items() <= n.items() for n, o in zip(new, old, strict=True)):
        added = {key for n, o in zip(new, old, strict=True) for key in n.keys() - o.keys()}
        return f"{' and '.join(sorted(added)) if len(added) < 4 else f'{len(added)} fields'} added"
    return "nbgrader's kept"


def _outputs(read: NotebookNode, before: NotebookNode) -> str:
    new, old = ([cell.get("outputs", []) for cell in notebook.cells] for notebook in (read, before))
    if new == old:
        return "kept"
    return "rewritten" if any(new) else "lost"


def _cells(read: NotebookNode, before: NotebookNode) -> str:
    if more := len(read.cells) - len(before.cells):
        return f"{abs(more)} {'more' if more > 0 else 'fewer'}"
    kinds, expected = ([cell.cell_type for cell in notebook.cells] for notebook in (read, before))
    return "kept" if kinds == expected else "other types"


def _json(path: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(path.read_bytes())  # bytes, so that it finds UTF-16 by itself
    return notebook


def changes(path: Path, before: NotebookNode) -> list[str]:
    """Return what happened to a notebook, now in this file: ids, metadata, texts, outputs, cells, format."""
    after = _json(path)
    cells = after["worksheets"][0]["cells"] if "worksheets" in after else after["cells"]
    read = nbformat.reads(json.dumps(after), 4)
    return [
        _ids([cell.get("id") for cell in cells], [cell.id for cell in before.cells]),
        _metadata(read, before),
        _texts(read, before),
        _outputs(read, before),
        _cells(read, before),
        f"{after['nbformat']}.{after['nbformat_minor']}",
    ]


def answers() -> dict[str, str]:
    """Return right answers to all exercises and questions."""
    return {e.name: e.source for e in exercises(NAME)} | {q.name: f'{q.name} = "{q.key}"' for q in questions(NAME)}


def finds_all(path: Path, release: NotebookNode, before: NotebookNode) -> bool:
    """Return True if marking finds all answers in this file, unchanged as programs."""
    found = {grade_id(cell): _program(cell.source) for cell in load(path, release).cells}
    right = {grade_id(cell): _program(cell.source) for cell in before.cells}
    return all(found[name] == right[name] for name in answers())


def rows() -> dict[str, list[str]]:
    """Return the rows of the guide's table, by the tool's name."""
    pattern = "^" + r"\| ([^|]+) " * len(HEADINGS) + r"\|$"
    return {
        tool: row
        for tool, *row in re.findall(pattern, PAGE.read_text("utf-8"), re.MULTILINE)
        if tool not in ("tool", "---")
    }


def _table(found: dict[str, list[str]]) -> str:
    lines = [HEADINGS, ["---"] * len(HEADINGS), *([tool, *row] for tool, row in found.items())]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _run(command: str, folder: Path, kernels: Path | None = None) -> str:
    """Run a command with the tools' environment in a folder; return what it said, or "" if it succeeded."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COURSE"))}
    environment["PATH"] = os.pathsep.join([str(TOOLS), str(HERE / "node_modules" / ".bin"), environment["PATH"]])
    if kernels:
        environment["JUPYTER_PATH"] = str(kernels)
    shell = ["bash", "-c", command]
    try:
        done = subprocess.run(shell, cwd=folder, env=environment, capture_output=True, text=True, timeout=60 * MINUTES)
    except subprocess.TimeoutExpired:
        return f"took more than {MINUTES} minutes"
    return (done.stdout + done.stderr or f"exit status {done.returncode}") if done.returncode else ""


def npm_versions() -> dict[str, str]:
    """Return the locked versions of npm's packages that are asked for, by their names with underscores."""
    packages = json.loads((HERE / "package-lock.json").read_text("utf-8"))["packages"]
    wanted = packages[""]["dependencies"]
    return {name.replace("-", "_"): packages[f"node_modules/{name}"]["version"] for name in wanted}


def _kernel(folder: Path) -> Path:
    """Write a kernelspec for `python3` and return its path. It runs this Python: the tools' own has no torch."""
    spec = folder / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec.write_text(json.dumps({"argv": command, "display_name": "Python 3", "language": "python"}), "utf-8")
    return folder


def _versions() -> dict[str, str]:
    listed = subprocess.run(
        [TOOLS / "python", "-m", "pip", "list", "--format", "json"], capture_output=True, check=True
    )
    versions = {entry["name"].lower().replace("-", "_"): entry["version"] for entry in json.loads(listed.stdout)}
    return versions | npm_versions()


def _submission() -> NotebookNode:
    """Return the notebook with right answers and the outputs that the solution has."""
    filled = filled_in(nbformat.read(ROOT / "course" / NAME / f"{NAME}.ipynb", 4), answers())
    outputs = {cell.id: cell for cell in nbformat.read(ROOT / "solutions" / NAME / f"{NAME}.ipynb", 4).cells}
    for cell in filled.cells:
        if cell.cell_type == "code" and cell.id in outputs:
            cell.outputs, cell.execution_count = outputs[cell.id].outputs, outputs[cell.id].execution_count
    return filled


def _small() -> NotebookNode:
    """Return a notebook for nbval: prose, an output, and one that differs from run to run and says so by its tag."""
    tag = {"tags": ["nbval-ignore-output"]}
    kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
    cells = [
        new_markdown_cell("# Title\n\nText."),
        new_code_cell("x = {'a': 1}\nprint(x)"),
        new_code_cell("import random\n\nrandom.random()", metadata=tag),
        new_code_cell("x"),
    ]
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def _nbval(folder: Path) -> dict[str, str]:
    """Run nbval on the notebooks in these subfolders; return for each whether it passes, fails or compares nothing."""
    nbval = "python -m pytest --nbval -q -p no:cacheprovider --continue-on-collection-errors"
    _run(f"{nbval} --junit-xml=results.xml */n.ipynb", folder)
    passed: set[str] = set()
    failed: set[str] = set()
    for case in ElementTree.parse(folder / "results.xml").iter("testcase"):
        fails = case.find("failure") is not None or case.find("error") is not None
        (failed if fails else passed).add(case.attrib["classname"].split(".")[0])
    result = {}
    for path in folder.glob("*/n.ipynb"):
        stored = any(cell.get("outputs") for cell in nbformat.reads(json.dumps(_json(path)), 4).cells)
        fine = path.parent.name in passed - failed  # a notebook that cannot be read is in neither
        result[path.parent.name] = ("passes" if stored else "compares nothing") if fine else "fails"
    return result


def _graded(classroom: Path, students: Iterable[str]) -> dict[str, str]:
    """Mark the class; return for each student "" or, without full marks, the points."""
    environment = os.environ | {"COURSE_CLASSROOM": str(classroom)}
    subprocess.run([sys.executable, "-m", "autograder.cli", "grade", NAME], cwd=ROOT, env=environment, check=True)
    best = sum(declared.points for declared in in_notebook(NAME))
    with Gradebook(f"sqlite:///{classroom}/gradebook.db", "transformers") as book:
        scores = {student: book.find_submission(NAME, student).score for student in students}
    return {name: "" if score == best else f"{score:g} of {best:g}" for name, score in scores.items()}


def observed(treatments: Sequence[Treatment], keep: Path, say: Callable[[str], None]) -> dict[str, list[str]]:
    """Put the notebook through these treatments and mark it; return the rows of the table."""
    before, release = _submission(), nbformat.read(ROOT / "course" / NAME / f"{NAME}.ipynb", 4)
    keep.mkdir(exist_ok=True)
    kernels = _kernel(keep / "jupyter")
    executed = keep / "small.ipynb"
    nbformat.write(_small(), executed)
    if said := _run(f"jupyter execute --inplace {executed}", keep):
        raise RuntimeError(said)
    versions = _versions()
    found: dict[str, list[str]] = {}
    students: dict[str, str] = {}
    for treatment in treatments:
        student = re.sub(r"[^a-z0-9]+", "-", treatment.tool.lower()).strip("-")
        folder = keep / "submitted" / student / NAME
        folder.mkdir(parents=True)
        for file in (ROOT / "course" / NAME).glob("*.*"):
            if file.suffix != ".ipynb":
                (folder / file.name).write_bytes(file.read_bytes())
        path = folder / "n.ipynb"
        nbformat.write(copy.deepcopy(before), path)
        if said := _run(treatment.command, folder, kernels):
            say(f"{treatment.tool}: failed\n{said}")
            shutil.rmtree(folder)
            continue
        row = changes(path, before)
        path.rename(folder / f"{NAME}.ipynb")
        answered = "found" if finds_all(folder / f"{NAME}.ipynb", release, before) else "changed"
        small = keep / "small" / student
        small.mkdir(parents=True)
        shutil.copy(executed, small / "n.ipynb")
        if said := _run(treatment.command, small, kernels):
            raise RuntimeError(said)
        found[treatment.tool] = [versions.get(treatment.package.replace("-", "_"), "–"), *row, answered]
        students[treatment.tool] = student
        say(f"{treatment.tool}: {', '.join(found[treatment.tool])}")
    if not found:
        return {}
    compared, marks = _nbval(keep / "small"), _graded(keep, students.values())
    for tool, row in found.items():
        mark = marks[students[tool]]
        if mark:  # an answer that the tool made another program may deserve less
            row[-1] += f", marked {mark}"
        elif row[-1] == "changed":
            row[-1] += ", full marks"
        row.append(compared[students[tool]])
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the treatments that are named by a part of their name, or all; return 1 if a row is not as the guide says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="treatments with this in their name; all if none")
    parser.add_argument("--write", action="store_true", help="write the rows into the guide")
    parser.add_argument("--keep", type=Path, help="an empty folder that keeps the class")
    wanted = parser.parse_args(arguments)
    treatments = [t for t in TREATMENTS if not wanted.parts or any(part in t.tool for part in wanted.parts)]
    with tempfile.TemporaryDirectory() as folder:
        found = observed(treatments, wanted.keep or Path(folder), lambda line: print(line, flush=True))
    said = rows()
    if wanted.write:
        page, every = PAGE.read_text("utf-8"), said | found
        table = _table({t.tool: every[t.tool] for t in TREATMENTS if t.tool in every})
        PAGE.write_text(re.sub(r"(?m)(^\|.*\|\n)+", lambda _: table, page, count=1), "utf-8")
        return 0
    changed = [t.tool for t in treatments if t.tool not in found or found[t.tool] != said.get(t.tool)]
    for tool in changed:
        print(f"CHANGED {tool}\n  was {said.get(tool)}\n  is  {found.get(tool)}")
    print(f"{len(treatments) - len(changed)} the same, {len(changed)} changed")
    return bool(changed)


if __name__ == "__main__":
    sys.exit(main())
