"""Tests of notebook 11 in both directions: texts, maps and floors follow SOURCE and TARGET; the floors are right."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest
from conftest import ROOT, read
from test_stories import every_sentence

from transformer_exercises.stories import derivations
from transformer_exercises.stories.engine import SLOT

FOLDER = ROOT / "solutions" / "11-translation"
LESS = {  # so that a run takes seconds
    "train": ("STEPS, BATCH, WARMUP = 900, 48", "STEPS, BATCH, WARMUP = 8, 16"),
    "fixed-rate": ("train_data, 300, BATCH, 100", "train_data, 10, BATCH, 5"),
    "choose-greedy": ("MAX_LEN = 40", "MAX_LEN = 6"),
    "run-beam": ('("longer", longer_pairs))', '("longer", longer_pairs[:3]))'),
}
LEFT_OUT = {"explorer", "interactive", "layouts", "layout-run", "layout-figure", "layout-claims"}


def seen(fig, alt: str) -> str:
    return " | ".join([*(text.get_text() for text in fig.findobj(plt.Text)), alt])


@pytest.fixture(scope="module", params=["english", "igbo"])
def ran(request):
    """The notebook's names after a short run from this language, what it printed, and its figures' texts by cell."""
    source = request.param
    target = {"english": "igbo", "igbo": "english"}[source]
    defined: dict = {"__name__": "notebook", "print": lambda *args, **_: printed.append(" ".join(map(str, args)))}
    printed: list[str] = []
    figures: dict[str, str] = {}
    less = {**LESS, "read-pairs": ('"english", "igbo"  #', f'"{source}", "{target}"  #')}
    patch = pytest.MonkeyPatch()
    patch.chdir(FOLDER)
    patch.syspath_prepend(str(FOLDER))  # as Jupyter does: goes_on.py lies there
    for cell in read("solutions", FOLDER.name).cells:
        if cell.cell_type != "code" or cell.id.startswith("test_") or cell.id in LEFT_OUT:
            continue
        text = cell.source
        if cell.id in less:
            old, new = less[cell.id]
            assert text.count(old) == 1, cell.id
            text = text.replace(old, new)
        defined["show"] = lambda fig, alt, name=cell.id: (figures.__setitem__(name, seen(fig, alt)), plt.close(fig))
        exec(compile(text, cell.id, "exec"), defined)
        if cell.id == "setup":
            defined["display"] = lambda *_, **__: SimpleNamespace(update=lambda *_: None)
    yield SimpleNamespace(**defined, printed="\n".join(printed), figures=figures)
    patch.undo()


@pytest.mark.long
def test_texts_figures_and_floors_follow_the_direction(ran):
    source, target = ran.SOURCE.capitalize(), ran.TARGET.capitalize()
    assert f"{source} ids" in ran.figures["machine-figure"]
    assert f"{target} ids so far" in ran.figures["machine-figure"]
    assert f"{target} ids |" not in ran.figures["machine-figure"]
    for title in (
        f"1  encoder: {source} looks at {source}",
        f"2  decoder: {target} looks back",
        f"3  cross: {target} looks at {source}",
        {"english": "The dog drank the water", "igbo": "Nkịta ahụ ṅụrụ mmiri ahụ"}[ran.SOURCE],
    ):
        assert title in ran.figures["three-maps"]
    assert f"{target} tokens per second" in ran.printed
    assert (ran.LINES["true floor, at most"] == 0) == (ran.SOURCE == "igbo")
    assert len(ran.shape_pairs) > 100
    assert not any(map(ran.is_new_shape, ran.train_pairs + ran.held_pairs))
    lists = r"(\w+), (\w+), (\w+), (\w+) (?:and|na) (\w+)"
    for pair in ran.longer_lists(ran.train_pairs, 5)[:10]:
        ours, theirs = (re.match(lists, side).groups() for side in pair)
        assert ours == theirs, "they grow by the same names on both sides"


def shapes(pattern: tuple[str, ...]) -> tuple[str, str]:
    """English and Igbo of a pattern, its roles numbered in the order of the English."""
    numbers: dict[str, int] = {}
    for match in SLOT.finditer(pattern[0]):
        numbers.setdefault(match.group(1).lower(), len(numbers))
    return tuple(
        SLOT.sub(lambda match: f"{{{numbers.get(match.group(1).lower())}.{match.group(2) or ''}}}", side)
        for side in pattern[:2]
    )


def test_english_hides_how_many_sheep_or_deer_and_how_one_has_a_thing_and_igbo_hides_nothing():
    told = [defaultdict(set), defaultdict(set)]
    for story in itertools.islice(derivations(5), 6_000):
        for (source, english), (_, igbo) in zip(story.sentences("english"), story.sentences("igbo"), strict=True):
            if source.alone:
                told[0][english.strip()].add(igbo.strip())
                told[1][igbo.strip()].add(english.strip())
    unclear = [english for english, ways in told[0].items() if len(ways) > 1]
    assert len(unclear) > 10
    assert all(re.search(r"\b(sheep|deer)\b", english) for english in unclear)
    assert not any(len(ways) > 1 for ways in told[1].values())
    patterns = defaultdict(set)  # what a sample is too small to show: two patterns with one English
    for say in every_sentence():
        if say.alone:
            english, igbo = shapes(say.patterns)
            patterns[english].add(igbo)
    [(english, ways)] = [(english, ways) for english, ways in patterns.items() if len(ways) > 1]
    assert re.fullmatch(r"\S+ had \S+ \S+ \S+ and \S+ had \S+ \S+ \S+\.", english)
    assert {re.search(r"nwere|ji", way).group() for way in ways} == {"nwere", "ji"}
