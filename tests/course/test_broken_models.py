"""Tests that nothing a student is given says which of notebook 12's models has which bug."""

import ast
import base64
import inspect
import json
import re
import zlib

import pytest
import torch
from conftest import ROOT, read

from autograder.spec.course import questions
from tools.training.broken_models import PACKED, SUSPECTS, WARD, models
from transformer_exercises.it_trains_anyway.diagnose import MODELS, WORDS

NAME = "12-it-trains-anyway"
RELEASED = sorted(path for path in (ROOT / "course" / NAME).rglob("*") if "__pycache__" not in path.parts)
GROUPS = {"suspects": SUSPECTS, "ward": WARD}
NAMES = [f"student {number}" for number in range(60)]


@pytest.fixture
def patients(monkeypatch):
    """Return the function that builds the models, as it lies beside the released notebook."""
    monkeypatch.chdir(ROOT / "course" / NAME)
    monkeypatch.syspath_prepend(str(ROOT / "course" / NAME))
    return __import__("diagnosis_tools").broken_models


def orders(patients, group, names):
    """Return for each name the findings by letter: those at which `right` counts a letter."""
    found = []
    for name in names:
        made, right = patients(group, name, V=31)
        letters = [letter for letter in made if letter != "sound"]
        findings = [finding for finding in GROUPS[group] if finding != "sound"]
        nothing = dict.fromkeys(letters, "?")
        found.append({a: next(f for f in findings if right(nothing | {a: f})) for a in letters})
    return found


def text(path):
    return path.read_text("utf-8") if path.suffix in (".py", ".ipynb", ".packed", ".json") else ""


def test_the_packed_file_holds_the_models_and_python_3_11_can_read_them():
    packed = zlib.decompress(base64.b85decode(PACKED.read_text("ascii").replace("\n", "")))
    assert json.loads(packed) == json.loads(json.dumps(models()))
    for group, found in json.loads(packed).items():
        assert list(found) not in (sorted(found), list(GROUPS[group])), "the order would be known without unpacking"
    for group in models().values():
        assert [ast.parse(source, feature_version=(3, 11)) for source, _ in group.values()]


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.name)
def test_no_released_file_reveals_what_is_wrong_with_a_model(path):
    edits = [code for group in GROUPS.values() for ways, _ in group.values() for code in ways.values()]
    hidden = [code for _, ways, _ in MODELS.values() for code in ways.values()]
    for code in (*edits, *hidden):
        assert len(code) < 12 or code not in text(path), code
    if path.name in ("diagnosis_tools.py", PACKED.name):
        findings = {*WORDS, *SUSPECTS} - {"sound"}
        assert not findings & set(re.findall(r"[a-z]+", text(path).lower()))
    assert not {"patient", "suspect", *WORDS, *SUSPECTS} & set(re.findall(r"[a-z]+", path.stem.lower()))


def says_who_has_what(message):
    """Return whether a letter of a model and a finding stand together, as in `patient E: leak` and `"A": "merge"`."""
    findings = "|".join(dict.fromkeys((*WORDS, *SUSPECTS)))
    return bool(re.search(rf"\b[A-L]\b[\"'*`]*\s*(?:[:=,]|is|has)\s*[\"'*`\\]*(?:{findings})\b", message))


@pytest.mark.parametrize("kind", ["course", "solutions"])
def test_no_cell_and_no_stored_output_says_who_has_what(kind):
    """The website shows the outputs of given cells."""
    for cell in read(kind, NAME).cells:
        outputs = [] if "claim" in cell.metadata.get("tags", []) else cell.get("outputs", [])
        drawn = [output for output in outputs if "image/png" in output.get("data", {})]
        message = [json.dumps(output, ensure_ascii=False) for output in outputs if output not in drawn]
        message += [output["metadata"]["image/png"]["alt"] for output in drawn]
        message += [cell.source] if kind == "course" else []
        assert not [one for one in message if says_who_has_what(one)], cell.id


@pytest.mark.parametrize("group", GROUPS)
def test_the_name_decides_which_finding_each_letter_has(patients, group):
    found = orders(patients, group, NAMES)
    assert found == orders(patients, group, NAMES)
    findings = {*GROUPS[group]} - {"sound"}
    for letter in found[0]:
        assert {order[letter] for order in found} == findings


@pytest.mark.parametrize("group", GROUPS)
def test_without_a_name_the_order_is_drawn_anew(patients, group):
    found = orders(patients, group, [""] * 12)
    assert any(order != found[0] for order in found)


@pytest.mark.parametrize("group", GROUPS)
def test_a_models_class_source_and_part_names_reveal_nothing(patients, group):
    made, _ = patients(group, "Ada", V=31)
    all_models = [model for model, _ in made.values()]
    assert len({repr(model) for model in all_models}) == 1
    assert len({tuple(model.state_dict()) for model in all_models}) == 1
    for model in all_models:
        with pytest.raises((OSError, TypeError)):
            inspect.getsource(type(model))
        assert all(torch.equal(a, b) for a, b in zip(model.parameters(), all_models[0].parameters(), strict=False))


def test_the_release_holds_no_right_letter():
    """The message of a visible test gives "A" as an example of how to answer, whatever is right."""
    for question in questions(NAME):
        example = re.compile(rf'such as {question.name} = \\*"A')
        given = re.compile(rf"{question.name}\W*=\W*{question.key}\b")
        for path in RELEASED:
            assert not given.search(example.sub("", text(path))), (question.name, path.name)
