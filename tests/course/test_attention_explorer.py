"""Tests of the attention explorer: rejected input, its text alternative, and that it loads nothing from other hosts."""

from __future__ import annotations

import importlib.util
import json
import re

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from conftest import NOTEBOOKS, ROOT, read

from autograder.authoring import put_beside
from autograder.spec.course import home

BESIDE = home() / "handout" / "beside"
WORDS = ["the", "<dog>", "&", "drinks"]


@pytest.fixture(scope="module")
def explorer():
    spec = importlib.util.spec_from_file_location("attention_explorer", BESIDE / "attention_explorer.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def shown(explorer, monkeypatch):
    """What is displayed, as it is displayed."""
    made = []
    monkeypatch.setattr(explorer, "display", lambda bundle, raw: made.append(bundle))
    return made


def weights(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1)).softmax(-1)


def data(bundle):
    return json.loads(BeautifulSoup(bundle["text/html"], "html.parser").find(type="application/json").string)


@pytest.mark.parametrize("shape", [(4, 4), (3, 4, 4), (2, 3, 4, 4)])
def test_weights_come_back_out_of_the_page(explorer, shown, shape):
    given = weights(*shape)
    explorer.explore(given, WORDS, title="one")
    [kind] = data(shown[0])["kinds"]
    assert (kind["name"], kind["looking"], kind["looked"]) == ("one", WORDS, WORDS)
    numbers = np.frombuffer(explorer.base64.b64decode(kind["weights"]), np.uint8) / 255
    assert numbers.reshape(kind["L"], kind["H"], 4, 4).shape[:2] == (1, 1, *shape)[-4:-2]
    np.testing.assert_allclose(numbers, given.flatten(), atol=0.5 / 255 + 1e-6)


def test_tokens_are_no_markup(explorer, shown):
    explorer.explore(weights(2, 2), ["</script><b>", "<!--"], ["a", '"'], title="</figure>")
    page = BeautifulSoup(shown[0]["text/html"], "html.parser")
    assert page.find("b") is None
    assert len(page.find_all("script")) == 2
    assert data(shown[0])["kinds"][0]["looking"] == ["</script><b>", "<!--"]


def test_where_no_script_runs_there_is_a_picture_with_a_description(explorer, shown):
    given = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.2, 0.6]])
    explorer.explore(given, ["it", "was"], ["dog", "sea", "sun"])
    still = BeautifulSoup(shown[0]["text/html"], "html.parser").select_one(".still svg")
    assert "it: dog 0.90; was: sun 0.60." in still["aria-label"]
    assert len(still.find_all("rect")) == 6
    assert "it: dog 0.90; was: sun 0.60." in shown[0]["text/plain"]


def test_the_same_weights_give_the_same_page_and_others_another(explorer, shown):
    for seed in (1, 1, 2):
        explorer.explore(torch.rand(2, 2, generator=torch.Generator().manual_seed(seed)), ["a", "b"])
    first, again, other = (bundle["text/html"] for bundle in shown)
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("given", "looking", "looked_at", "said"),
    [
        (torch.ones(2), ["a", "b"], None, "2 to 4 dimensions"),
        (torch.ones(2, 3), ["a", "b"], None, "2 by 3"),
        (torch.ones(2, 3), ["a"], ["a", "b", "c"], "1 tokens that look"),
        (torch.full((1, 1), 1.5), ["a"], None, "shares from 0 to 1"),
        (torch.full((1, 1), float("nan")), ["a"], None, "shares from 0 to 1"),
    ],
)
def test_what_are_no_weights_is_refused_in_a_sentence(explorer, given, looking, looked_at, said):
    with pytest.raises(ValueError, match=said):
        explorer.explore(given, looking, looked_at)


def test_the_page_asks_nothing_of_a_network():
    page = (BESIDE / "attention_explorer.page").read_text("utf-8")
    assert set(re.findall(r"https?://[^\s\"']+", page)) == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert not re.search(r"\bimport\b|\bfetch\b|XMLHttpRequest|innerHTML|<link", page)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_what_a_notebook_imports_of_the_course_lies_beside_it(name):
    path = ROOT / "solutions" / name / f"{name}.ipynb"
    assert not put_beside(path)
    imports = any("from attention_explorer import" in cell.source for cell in read("solutions", name).cells)
    for folder in ("solutions", "course"):
        found = [file.name for file in (ROOT / folder / name).glob("attention_explorer.*")]
        assert sorted(found) == (["attention_explorer.page", "attention_explorer.py"] if imports else [])


def test_four_notebooks_have_it():
    using = [name for name in NOTEBOOKS if (ROOT / "course" / name / "attention_explorer.py").exists()]
    assert [name[:2] for name in using] == ["05", "07", "10", "11"]
