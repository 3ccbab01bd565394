"""Tests of interactive figures: rejected input, what stands where no script runs, and no other hosts."""

import base64
import json
import re

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from conftest import ROOT, read
from pictures import CUTS, HANDS, MERGES, SCORES, SHARED, SPEEDS, TOKENS, WORDS, module, show_all

from autograder.nbgrader_plugin.intake import sanitize

FIGURES = ("attention_explorer", "interactive_figures")
SHOWN_IN = sorted(path.parent.name for path in ROOT.glob("solutions/*/interactive_figures.py"))


@pytest.fixture
def explorer(monkeypatch):
    return module("attention_explorer", monkeypatch)


@pytest.fixture
def figures(monkeypatch):
    return module("interactive_figures", monkeypatch)


def soup(bundle):
    return BeautifulSoup(bundle["text/html"], "html.parser")


def data(bundle):
    return json.loads(soup(bundle).find(type="application/json").string)


def still(bundle):
    return [[cell.get_text() for cell in row.find_all(["th", "td"])] for row in soup(bundle).select(".still table tr")]


@pytest.mark.parametrize("shape", [(4, 4), (3, 4, 4), (2, 3, 4, 4)])
def test_weights_come_back_out_of_the_page(explorer, shape):
    given = torch.randn(*shape, generator=torch.Generator().manual_seed(1)).softmax(-1)
    explorer[0].explore(given, WORDS, title="one")
    [kind] = data(explorer[1][0])["kinds"]
    assert (kind["name"], kind["looking"], kind["looked"]) == ("one", WORDS, WORDS)
    assert (kind["L"], kind["H"]) == (1, 1, *shape)[-4:-2]
    numbers = np.frombuffer(base64.b64decode(kind["weights"]), np.uint8) / 255
    np.testing.assert_allclose(numbers, given.flatten(), atol=0.5 / 255 + 1e-6)


def test_without_scripts_attention_is_a_described_picture(explorer):
    explorer[0].explore(torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.2, 0.6]]), ["it", "was"], ["dog", "sea", "sun"])
    picture = soup(explorer[1][0]).select_one(".still svg")
    assert len(picture.find_all("rect")) == 6
    for words in (picture["aria-label"], explorer[1][0]["text/plain"]):
        assert "it: dog 0.90; was: sun 0.60." in words


@pytest.mark.parametrize(
    ("given", "looking", "looked_at", "output"),
    [
        (torch.ones(2), ["a", "b"], None, "2 to 4 dimensions"),
        (torch.ones(2, 3), ["a", "b"], None, "2 by 3"),
        (torch.ones(2, 3), ["a"], ["a", "b", "c"], "1 tokens that look"),
        (torch.full((1, 1), 1.5), ["a"], None, "shares from 0 to 1"),
        (torch.full((1, 1), float("nan")), ["a"], None, "shares from 0 to 1"),
    ],
)
def test_what_are_no_weights_is_refused_in_a_sentence(explorer, given, looking, looked_at, output):
    with pytest.raises(ValueError, match=output):
        explorer[0].explore(given, looking, looked_at)


def test_where_no_script_runs_a_table_says_it_and_feedback_keeps_no_more(figures):
    show_all(figures[0])
    merges, clocks, dials = map(still, figures[1])
    assert ["the", "t | h | e", "the"] in merges
    assert merges[-1] == ["tokens of the text", "9", "6"]
    assert clocks[1] == ["0", "(0.50, 0.50)", "(1.00, 0.00)"]
    assert ["3 and 1", f"{SCORES['turned'][3, 1]:.2f}", "1.54"] in dials
    assert "(0.50, 0.50)" in figures[1][1]["text/plain"]
    for bundle in figures[1]:
        kept = BeautifulSoup(sanitize.html(bundle["text/html"]), "html.parser")
        assert not kept.find_all(["script", "style", "svg"])
        assert len(kept.select("table tbody tr")) == len(still(bundle)) - 1
        assert '"kind"' not in kept.get_text(), "the data stand there as text"


def test_only_the_merges_that_change_a_word_are_written_down(figures):
    figures[0].step_merges(MERGES, CUTS, TOKENS)
    the, other = data(figures[1][0])["data"]["words"]
    assert the["changes"] == [[0, ["t", "h", "e"]], [1, ["th", "e"]], [2, ["the"]]]
    assert other["changes"] == [[0, ["<", "b", ">"]]]


@pytest.mark.parametrize(
    ("call", "output"),
    [
        (lambda t: t.step_merges(MERGES, {"the": CUTS["the"][:2]}, TOKENS), "3 stages of each word; 'the' has 2"),
        (lambda t: t.step_merges(MERGES, CUTS, TOKENS[:2]), "3 numbers of tokens; these are 2"),
        (lambda t: t.step_merges([], {"the": [["t", "e"]]}, [1]), "do not spell 'the'"),
        (lambda t: t.turn(HANDS | {"value": HANDS["key"]}, SPEEDS), "one or two tables"),
        (lambda t: t.turn({"key": HANDS["key"]}, [1.0]), "4 features are 2 pairs, but there are 1 speeds"),
        (lambda t: t.turn(HANDS, SPEEDS), "Two vectors have scores"),
        (lambda t: t.turn(HANDS, SPEEDS, {"turned": SCORES["turned"][:3]}), r"\[12, 12\] for these"),
        (lambda t: t.turn(HANDS, SPEEDS, {"turned": SCORES["turned"].T + 1}), "dot products of the two vectors"),
    ],
)
def test_what_does_not_fit_together_is_refused_in_a_sentence(figures, call, output):
    with pytest.raises(ValueError, match=output):
        call(figures[0])


def test_words_are_no_markup(explorer, figures):
    explorer[0].explore(torch.eye(2), ["</script><b>", "<!--"], ["a", '"'], title="</figure>")
    figures[0].step_merges([], {"</script><b>": [["</script><b>"]]}, [1])
    for bundle in explorer[1] + figures[1]:
        assert soup(bundle).find("b") is None
        assert len(soup(bundle).find_all("script")) == 2
    assert data(explorer[1][0])["kinds"][0]["looking"] == ["</script><b>", "<!--"]
    assert data(figures[1][0])["data"]["words"][0]["word"] == "</script><b>"


def test_the_same_data_give_the_same_page_and_others_another(explorer, figures):
    for other in (0, 0, 1):
        explorer[0].explore(torch.eye(2) if other else torch.full((2, 2), 0.5), ["a", "b"])
        figures[0].step_merges(MERGES, CUTS, [9, 7 + other, 6])
    for shown in (explorer[1], figures[1]):
        first, again, changed = (bundle["text/html"] for bundle in shown)
        assert first == again != changed


@pytest.mark.parametrize("name", FIGURES)
def test_a_page_asks_nothing_of_a_network(name):
    page = (SHARED / f"{name}.html.j2").read_text("utf-8")
    assert set(re.findall(r"https?://[^\s\"']+", page)) == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert not re.search(r"\bimport\b|\bfetch\b|XMLHttpRequest|innerHTML|<link", page)


@pytest.mark.parametrize("name", SHOWN_IN)
def test_a_notebook_shows_figures_made_by_the_present_template(name):
    """A page that was changed after the notebook ran would be shown in the site and not by the cell."""
    page = (SHARED / "interactive_figures.html.j2").read_text("utf-8")
    script = page[page.rindex("<script>") : page.index("  // The same picture")]
    outputs = [out for cell in read("solutions", name).cells for out in cell.get("outputs", [])]
    pages = [out.get("data", {}).get("text/html", "") for out in outputs]
    shown = [html for html in pages if "data-interactive-figure" in html]
    assert [script in one for one in shown] == [True] * len(shown) != []
