"""Tests that notebook 09 keeps a trained model beside itself, over no other file, and that only its reader has it."""

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from conftest import ROOT, read
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import find_all_files
from tokenizers import Tokenizer, models
from traitlets.config import Config

from autograder import authoring, handout
from autograder.files import MODELS
from autograder.nbgrader_plugin.configuration import configure
from autograder.spec.course import home, notebooks

NINE = {
    cell.metadata.get("nbgrader", {}).get("grade_id", cell.id): cell.source
    for cell in read("solutions", "09-gpt").cells
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of a reader's notebook, with the module that keeps models."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COURSE_MODELS", raising=False)
    monkeypatch.syspath_prepend(home() / "shared_modules")
    monkeypatch.delitem(sys.modules, "my_models", raising=False)
    return tmp_path


@pytest.fixture
def keep(folder):
    import my_models

    assert my_models.FOLDER == MODELS
    return my_models.keep


def kept(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.pt"))


def test_another_model_gets_the_next_number_and_no_file_changes(keep, folder, capsys):
    (folder / MODELS).mkdir()
    (folder / MODELS / "gpt-1.pt").write_bytes(b"somebody's")
    assert keep("gpt", state={"w": torch.ones(2)}).name == "gpt-2.pt"
    assert keep("gpt", state={"w": torch.zeros(2)}).name == "gpt-3.pt"
    assert (folder / MODELS / "gpt-1.pt").read_bytes() == b"somebody's"
    assert torch.load(folder / MODELS / "gpt-2.pt")["state"]["w"].tolist() == [1, 1]
    assert "my-models/gpt-3.pt" in capsys.readouterr().out


def test_the_same_model_is_kept_once(keep, folder):
    for _ in range(3):
        keep("gpt", state={"w": torch.arange(4.0)}, steps=900)
    assert kept(folder) == ["my-models/gpt-1.pt"]


def test_a_full_disk_leaves_no_half_of_a_model(keep, folder, monkeypatch):
    whole = Path.open

    def full(path, mode):
        file = whole(path, mode)
        file.write(b"half")
        file.close()
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(OSError, match="No space"):
        keep("gpt", state={})
    assert kept(folder) == []


def test_where_outputs_are_compared_a_temporary_folder_has_the_model(folder):
    program = "import my_models; path = my_models.keep('gpt', steps=1); print(path, path.is_absolute(), path.exists())"
    environment = authoring.environment() | {"PYTHONPATH": str(home() / "shared_modules")}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    said, path = run.stdout.splitlines()
    assert said.startswith("Kept as my-models/gpt-1.pt")
    assert path.endswith("True False"), "in a folder elsewhere, which is gone"
    assert kept(folder) == []


@pytest.mark.parametrize("name", notebooks())
@pytest.mark.parametrize("top", ["solutions", "course", "learn"])
def test_git_ignores_kept_models(name, top):
    path = f"{top}/{name}/{MODELS}/gpt-1.pt"
    assert subprocess.run(["git", "check-ignore", "-q", path], cwd=ROOT).returncode == 0


def test_the_students_zip_has_no_kept_model(tmp_path):
    for name in handout.ENVIRONMENT:
        (tmp_path / name).touch()
    for name in (*handout.page_names(), "start", handout.SETTINGS, *notebooks()):
        (tmp_path / "course" / name / MODELS).mkdir(parents=True)
        (tmp_path / "course" / name / MODELS / "gpt-1.pt").touch()
        (tmp_path / "course" / name / "released.txt").touch()
    assert {Path(name).name for name in handout.contents(tmp_path)} == {"released.txt", *handout.ENVIRONMENT}


def test_a_release_has_no_kept_model(tmp_path):
    for name in notebooks():
        (tmp_path / "solutions" / name / MODELS).mkdir(parents=True)
        (tmp_path / "solutions" / name / MODELS / "gpt-1.pt").touch()
    authoring.stage(tmp_path / "solutions", tmp_path / "staged", [])
    assert len([*(tmp_path / "staged").iterdir()]) == len(notebooks())
    assert kept(tmp_path / "staged") == []


def test_nbgrader_hands_in_no_kept_model(tmp_path):
    config = Config()
    configure(config, tmp_path)
    ignored = CourseDirectory(config=config).ignore
    (tmp_path / "09-gpt" / MODELS).mkdir(parents=True)
    for name in ("09-gpt.ipynb", f"{MODELS}/gpt-1.pt"):
        (tmp_path / "09-gpt" / name).touch()
    found = find_all_files(str(tmp_path / "09-gpt"), ignored)
    assert [Path(path).name for path in found] == ["09-gpt.ipynb"]


def test_the_notebooks_lines_bring_a_kept_model_back(folder):
    vocabulary = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    names = {
        "LANGUAGE": "english",
        "own_gpt": True,
        "losses": [1.0],
        "reached": 1.0,
        "tokenizer": vocabulary,
        "device": "cpu",
    }
    for part in ("gpt-config", "block", "GPT"):
        exec("import math, torch\nimport torch.nn.functional as F\nfrom dataclasses import dataclass\n"
             "from functools import partial\nfrom torch import nn", names)  # fmt: skip
        exec(NINE[part], names)
    exec("torch.manual_seed(1)\ngpt = trained = GPT(GPTConfig(7, 5, 2, 2, 8))", names)
    exec(NINE["keep"], names)
    [lines] = re.findall(r"```python\n(.*?)```", NINE["keep-text"], re.DOTALL)
    exec("torch.manual_seed(2)\n" + lines, names)
    found = SimpleNamespace(**names)
    assert found.gpt is not found.trained
    assert found.gpt.config == found.trained.config
    ids = torch.arange(5)[None]
    assert torch.equal(found.gpt(ids)[0], found.trained(ids)[0])
    assert Tokenizer.from_str(found.kept["vocabulary"]).encode("aab").ids == [0, 2]
