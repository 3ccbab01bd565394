"""Tests that notebook 09 keeps a trained model beside itself, over no other file, and that only its reader has it.

Notebook 10 opens it.
"""

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
from autograder.spec.course import home, notebooks, reference

NINE = {
    cell.metadata.get("nbgrader", {}).get("grade_id", cell.id): cell.source
    for cell in read("solutions", "09-gpt").cells
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the folder of a reader's notebook, with the module that keeps models."""
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


# --- notebook 10 opens it -------------------------------------------------------------------------------------------

TEN = {cell.id: cell.source for cell in read("solutions", "10-hugging-face-gpt2").cells}


@pytest.fixture
def ten(folder, monkeypatch):
    """Return the module of notebook 10, whose folder is beside an empty one of notebook 09."""
    monkeypatch.syspath_prepend(ROOT / "solutions" / "10-hugging-face-gpt2")
    monkeypatch.delitem(sys.modules, "own_gpt", raising=False)
    (folder / "09-gpt").mkdir()
    (folder / "10").mkdir()
    (folder / "10" / "gpt2-stories").symlink_to(ROOT / "solutions" / "10-hugging-face-gpt2" / "gpt2-stories")
    monkeypatch.chdir(folder / "10")
    import own_gpt

    return own_gpt


@pytest.fixture
def given():
    """Return the GPT that notebook 10 shows."""
    names: dict = {}
    exec("import torch\nimport torch.nn.functional as F\nfrom torch import nn", names)
    exec(TEN["gpt"], names)
    return names["GPT"]


def own_block(config):
    """Return a block made of the answers to 07 and 08."""
    block = reference("TransformerBlock")(config.n_embd, config.n_head, 4 * config.n_embd, 0.0, norm_first=True)
    block.attn = reference("MultiHeadAttention")(config.n_embd, config.n_head)
    block.ff = reference("FeedForward")(config.n_embd, 4 * config.n_embd, 0.0, torch.nn.GELU("tanh"))
    return block


@pytest.mark.parametrize(("bias", "block"), [(True, None), (False, None), (True, own_block)])
def test_notebook_10_opens_what_09_kept(keep, ten, given, folder, monkeypatch, bias, block):
    names: dict = {}
    exec("import math, torch\nimport torch.nn.functional as F\nfrom dataclasses import dataclass\n"
         "from functools import partial\nfrom torch import nn", names)  # fmt: skip
    for part in ("gpt-config", "block", "GPT"):
        exec(NINE[part], names)
    names["Block"] = block or names["Block"]
    gpt = names["GPT"](names["GPTConfig"](7, 5, 2, 2, 8, bias=bias)).eval()
    with torch.no_grad():
        for p in gpt.parameters():
            p.add_(torch.randn(p.shape, generator=torch.Generator().manual_seed(1)))
    vocabulary = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])).to_str()
    monkeypatch.chdir(folder / "09-gpt")
    keep("gpt-english", config=vars(gpt.config), state=gpt.state_dict(), vocabulary=vocabulary, language="english")
    monkeypatch.chdir(folder / "10")
    found = ten.kept_gpt(given)
    ids = torch.arange(5)[None]
    assert torch.allclose(found.gpt(ids)[0], gpt(ids)[0], atol=1e-5)
    assert found.name == "yours, gpt-english-1.pt"
    assert found.tokenizer.encode("aab").ids == [0, 2]


def test_without_a_kept_model_notebook_10_opens_ours_and_says_so(ten, given, folder, monkeypatch, capsys):
    assert ten.kept_gpt(given).name == "gpt2-stories"
    assert capsys.readouterr().out.count("\n") == 1
    (folder / "09-gpt" / MODELS).mkdir()
    (folder / "09-gpt" / MODELS / "gpt-english-1.pt").write_bytes(b"somebody's")
    assert ten.kept_gpt(given).name == "gpt2-stories"
    assert "gpt-english-1.pt cannot be opened" in capsys.readouterr().out
    monkeypatch.setenv("COURSE_MODELS", "temporary")
    assert ten.kept_gpt(given).name == "gpt2-stories"
    assert "has kept no model" in capsys.readouterr().out, "outputs that are compared depend on no file"


@pytest.mark.parametrize(
    ("nine", "whose"), [("solutions", "your own generate"), ("course", "a given generate"), (None, "a given generate")]
)
def test_notebook_10_writes_with_the_generate_of_09_if_it_is_answered(ten, folder, nine, whose):
    if nine:
        (folder / "09-gpt" / "09-gpt.ipynb").symlink_to(ROOT / nine / "09-gpt" / "09-gpt.ipynb")
    generate, by_whom = ten.own_generate()
    assert by_whom.startswith(whose)
    ours = ten.kept_gpt(None).gpt
    ids = torch.tensor([[12, 5]])
    greedy = {"max_new_tokens": 6, "do_sample": False, "eos_token_id": None, "attention_mask": torch.ones_like(ids)}
    assert torch.equal(generate(ours, ids, 6, temperature=0), ours.model.generate(ids, **greedy))
    drawn = [generate(ours, ids, 6, generator=torch.Generator().manual_seed(4)) for _ in range(2)]
    assert torch.equal(*drawn)
    assert drawn[0].shape == (1, 8)
