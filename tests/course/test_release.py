"""Tests that course/ is what solutions/ generates, and runs as students get it: alone, without this package."""

import io
import os
import shutil
import subprocess
import sys
import tokenize

import nbformat
import pytest
from conftest import NOTEBOOKS, ROOT, read
from nbformat.v4 import new_output
from short_trainings import SHORTER

from autograder.authoring import Client, tidy
from autograder.handout import prepare_start
from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.nbgrader_plugin.preprocessors import STUB


def test_prose_changed_in_jupyter_needs_no_run(tmp_path):
    """Outputs stay; what Jupyter adds goes."""
    path = tmp_path / "05-attention.ipynb"
    shutil.copy(ROOT / "solutions" / "05-attention" / path.name, path)
    assert not tidy(path)
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[3].source += "\n\nAnother sentence."
    wanted = nbformat.from_dict(notebook)
    notebook.metadata.language_info = {"name": "python", "version": "3.99", "file_extension": ".py"}
    notebook.metadata.widgets = {"state": {}}
    setup = next(cell for cell in notebook.cells if cell.id == "setup")  # where the tools say what machine it is
    setup.outputs = [new_output("stream", text="Python 3.99 · 2 CPU cores")]
    notebook.cells[1].metadata.execution = {"iopub.execute_input": "2026-01-01T00:00:00Z"}
    nbformat.write(notebook, path)
    assert tidy(path)
    assert nbformat.read(path, as_version=4) == wanted


def test_the_release_is_in_step_with_the_solutions(tmp_path):
    for item in ("autograder", "transformer_exercises", "solutions", "nbgrader_config.py"):
        source = ROOT / item
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / item)
    subprocess.run(
        [sys.executable, "-m", "nbgrader", "generate_assignment", "--assignment", "*"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        env={key: value for key, value in os.environ.items() if key != "COURSE_CLASSROOM"},
    )
    prepare_start(tmp_path, tmp_path)()
    generated, committed = (
        {
            path.relative_to(root): path.read_bytes()
            for path in root.glob("course/**/*")
            if path.is_file()
            and path.parent.name != "__pycache__"  # of tests that import what lies beside a notebook
            and path != root / "course" / "README.md"  # describes the folder, and is no part of the release
        }
        for root in (tmp_path, ROOT)
    )
    assert generated.keys() == committed.keys()
    different = [str(path) for path in generated if generated[path] != committed[path]]
    assert not different, f"{different} are not what solutions/ generates: run `make release`"


@pytest.mark.parametrize("folder", ["solutions", "course"])
def test_no_first_line_declares_an_encoding(folder):
    """A comment that ends in “coding: run” would (PEP 263), and black refuses the notebook."""
    sources = {str(path): path.read_bytes() for path in (ROOT / folder).glob("*/*.py")}
    for name in NOTEBOOKS:
        code = (cell for cell in read(folder, name).cells if cell.cell_type == "code")
        sources |= {f"{name}, {cell.id}": cell.source.encode() for cell in code}
    assert sources
    for location, source in sources.items():
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)  # a SyntaxError if it is unknown
        assert encoding == "utf-8", location


QUICK = ("02-tokenisation", "05-attention")  # run by `make test` too; the others by `make test-all`


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in NOTEBOOKS]
)
def test_the_release_runs_alone_and_unanswered_exercises_say_what_to_do(name, tmp_path, monkeypatch):
    """A student opens the folder and runs all cells before answering anything."""
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "block.py").write_text("import sys; sys.modules['autograder'] = None")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("PYTHONPATH", "")
    folder = tmp_path / name
    shutil.copytree(ROOT / "course" / name, folder)
    notebook = nbformat.read(folder / f"{name}.ipynb", as_version=4)
    for long, short in SHORTER.get(name, {}).items():
        for cell in notebook.cells:
            cell.source = cell.source.replace(long, short)
    Client(notebook, timeout=240, allow_errors=True, resources={"metadata": {"path": str(folder)}}).execute()
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        errors = [output for output in cell.outputs if output.output_type == "error"]
        if not grade_id(cell) or not cell.metadata.nbgrader.grade:
            assert not errors, f"{cell.id}: {errors[0].ename}: {errors[0].evalue}"
        else:
            assert errors, f"{grade_id(cell)} accepts an unanswered exercise"
            assert STUB in errors[0].evalue or "not answered" in errors[0].evalue, errors[0].evalue
