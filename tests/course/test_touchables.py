"""Tests of the interactive pictures: rejected input, the fallback without scripts, and their behaviour in a browser."""

from __future__ import annotations

import importlib.util
import json
import re

import numpy as np
import pytest
from bs4 import BeautifulSoup
from conftest import NOTEBOOKS, ROOT, read

from autograder.authoring import put_beside
from autograder.nbgrader_plugin.intake import sanitize
from autograder.spec.course import home

BESIDE = home() / "handout" / "beside"
MERGES = [("t", "h"), ("th", "e")]
CUTS = {"the": [["t", "h", "e"], ["th", "e"], ["the"]], "<b>": [["<", "b", ">"]] * 3}
TOKENS = [9, 7, 6]
COUNTED = {0.1: [3.0, 2.0, 1.0], 1.0: [3.0, 2.5, 2.0]}
NEW = {0.1: [3.0, 2.0, 2.75], 1.0: [3.0, 2.5, 3.25]}
LINES = {"true floor": 0.5, "log₂ V": 5.0}
SPEEDS = [1.0, 0.5]


def spun(vector, way=1):
    """A vector of two pairs at 12 positions."""
    z = np.array(vector).reshape(2, 2) @ [1, 1j] * np.exp(way * 1j * np.outer(np.arange(12), SPEEDS))
    return np.stack([z.real, z.imag], axis=-1).reshape(12, 4)


HANDS = {"query": spun([1.0, 0.0, 0.5, 0.5]), "key": spun([0.5, 0.5, 1.0, 0.0])}
SCORES = {"turned": HANDS["query"] @ HANDS["key"].T, "added": np.arange(144.0).reshape(12, 12) / 24}


@pytest.fixture(scope="module")
def touchables():
    spec = importlib.util.spec_from_file_location("touchables", BESIDE / "touchables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def shown(touchables, monkeypatch):
    """What is displayed, as it is displayed."""
    made = []
    monkeypatch.setattr(touchables, "display", lambda bundle, raw: made.append(bundle))
    return made


def show_all(touchables):
    touchables.step_merges(MERGES, CUTS, TOKENS)
    touchables.slide_orders(COUNTED, NEW, LINES, {1: 3.0, 2: 1.75})
    touchables.turn({"position": HANDS["key"]}, SPEEDS)
    touchables.turn(HANDS, SPEEDS, SCORES)


def data(bundle):
    return json.loads(BeautifulSoup(bundle["text/html"], "html.parser").find(type="application/json").string)


def still(bundle):
    table = BeautifulSoup(bundle["text/html"], "html.parser").select_one(".still table")
    return [[cell.get_text() for cell in row.find_all(["th", "td"])] for row in table.find_all("tr")]


def test_where_no_script_runs_a_table_says_it(touchables, shown):
    show_all(touchables)
    merges, orders, clocks, dials = map(still, shown)
    assert ["the", "t | h | e", "the"] in merges
    assert merges[-1] == ["tokens of the text", "9", "6"]
    assert orders == [["α", "n = 1", "n = 2", "n = 3"], ["0.1", "3.00", "2.00", "2.75"], ["1", "3.00", "2.50", "3.25"]]
    assert clocks[1] == ["0", "(0.50, 0.50)", "(1.00, 0.00)"]
    assert ["3 and 1", f"{SCORES['turned'][3, 1]:.2f}", "1.54"] in dials
    assert all("3.25" in shown[1][kind] for kind in ("text/html", "text/plain"))


def test_words_are_no_markup(touchables, shown):
    touchables.step_merges([], {"</script><b>": [["</script><b>"]]}, [1])
    page = BeautifulSoup(shown[0]["text/html"], "html.parser")
    assert page.find("b") is None
    assert len(page.find_all("script")) == 2
    assert data(shown[0])["data"]["words"][0]["word"] == "</script><b>"


def test_only_the_merges_that_change_a_word_are_written_down(touchables, shown):
    show_all(touchables)
    the, other = data(shown[0])["data"]["words"]
    assert the["changes"] == [[0, ["t", "h", "e"]], [1, ["th", "e"]], [2, ["the"]]]
    assert other["changes"] == [[0, ["<", "b", ">"]]]


def test_the_same_data_give_the_same_page_and_others_another(touchables, shown):
    for tokens in (TOKENS, TOKENS, [9, 8, 6]):
        touchables.step_merges(MERGES, CUTS, tokens)
    first, again, other = (bundle["text/html"] for bundle in shown)
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda t: t.step_merges(MERGES, {"the": CUTS["the"][:2]}, TOKENS), "3 stages of each word; 'the' has 2"),
        (lambda t: t.step_merges(MERGES, CUTS, TOKENS[:2]), "3 numbers of tokens; these are 2"),
        (lambda t: t.step_merges([], {"the": [["t", "e"]]}, [1]), "do not spell 'the'"),
        (lambda t: t.slide_orders(COUNTED, {0.1: NEW[0.1]}, LINES, {}), "the same values of alpha"),
        (lambda t: t.slide_orders(COUNTED, NEW | {1.0: [3.0, 2.0]}, LINES, {}), "as many numbers for each"),
        (lambda t: t.slide_orders(COUNTED, NEW | {1.0: [3.0, np.inf, 2.0]}, LINES, {}), "alpha must be greater than 0"),
        (lambda t: t.turn(HANDS | {"value": HANDS["key"]}, SPEEDS), "one or two tables"),
        (lambda t: t.turn({"key": HANDS["key"]}, [1.0]), "4 features are 2 pairs, but there are 1 speeds"),
        (lambda t: t.turn(HANDS, SPEEDS), "Two vectors have scores"),
        (lambda t: t.turn(HANDS, SPEEDS, {"turned": SCORES["turned"][:3]}), r"\[12, 12\] for these"),
        (lambda t: t.turn(HANDS, SPEEDS, {"turned": SCORES["turned"].T + 1}), "dot products of the two vectors"),
    ],
)
def test_what_does_not_fit_together_is_refused_in_a_sentence(touchables, call, said):
    with pytest.raises(ValueError, match=said):
        call(touchables)


def test_the_page_asks_nothing_of_a_network():
    page = (BESIDE / "touchables.page").read_text("utf-8")
    assert set(re.findall(r"https?://[^\s\"']+", page)) == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert not re.search(r"\bimport\b|\bfetch\b|XMLHttpRequest|innerHTML|<link", page)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_they_lie_beside_the_notebooks_that_import_them(name):
    assert not put_beside(ROOT / "solutions" / name / f"{name}.ipynb")
    imports = any("from touchables import" in cell.source for cell in read("solutions", name).cells)
    assert imports == (name[:2] in ("01", "02", "04"))
    for folder in ("solutions", "course"):
        found = [file.name for file in (ROOT / folder / name).glob("touchables.*")]
        assert sorted(found) == (["touchables.page", "touchables.py"] if imports else [])


@pytest.mark.parametrize("name", ["01-language-modelling", "02-tokenisation", "04-positional-encoding"])
def test_what_a_notebook_shows_is_made_by_the_page_that_lies_beside_it(name):
    """A page that was changed after the notebook ran would be shown in the site and not by the cell."""
    page = (BESIDE / "touchables.page").read_text("utf-8")
    script = page[page.rindex("<script>") : page.index("  // The same picture")]
    outputs = [out for cell in read("solutions", name).cells for out in cell.get("outputs", []) if "data" in out]
    kept = [out.data["text/html"] for out in outputs if "data-touchable" in out.data.get("text/html", "")]
    assert kept
    assert all(script in one for one in kept)


def test_a_page_of_feedback_keeps_the_table_and_drops_the_script(touchables, shown):
    show_all(touchables)
    for bundle in shown:
        kept = BeautifulSoup(sanitize.html(bundle["text/html"]), "html.parser")
        assert not kept.find_all(["script", "style", "svg"])
        assert len(kept.select("table tbody tr")) == len(still(bundle)) - 1
        assert '"kind"' not in kept.get_text(), "the data stand there as text"
