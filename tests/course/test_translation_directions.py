"""Tests of notebook 11 in both directions: texts, maps and floors follow SOURCE and TARGET; the floors are right."""

import itertools
import re
import sys
from collections import defaultdict
from types import SimpleNamespace

import pytest
from conftest import ROOT, read

from transformer_exercises.stories import derivations

FOLDER = ROOT / "solutions" / "11-translation"
LESS = {  # so that a run takes seconds
    "first-look": ("max_len=40", "max_len=6"),
    "first-try": ("train(narrow, SHORT", "train(narrow, 10"),
    "train": ("STEPS, WARMUP, EPSILON = 900", "STEPS, WARMUP, EPSILON = 10"),
    "run-beam": (")[0]][:30]", ")[0]][:3]"),
}


@pytest.fixture(scope="module", params=["english", "igbo"])
def ran(request):
    """Return the notebook's names after a short run from this language, and what it printed, drew and explored."""
    source = request.param
    target = {"english": "igbo", "igbo": "english"}[source]
    printed: list[str] = []
    drawn: dict[str, list] = {}
    defined: dict = {"__name__": "notebook", "print": lambda *args, **_: printed.append(" ".join(map(str, args)))}
    less = {**LESS, "read-pairs": ('"igbo", "english"  #', f'"{source}", "{target}"  #')}
    patch = pytest.MonkeyPatch()
    patch.chdir(FOLDER)
    patch.syspath_prepend(str(FOLDER))  # as Jupyter does: what is imported lies there
    for name in [name for name in sys.modules if name.endswith("_tools")]:
        patch.delitem(sys.modules, name)  # another notebook's
    for cell in read("solutions", FOLDER.name).cells:
        if cell.cell_type != "code" or cell.id.startswith("test_"):
            continue
        text = cell.source
        if cell.id in less:
            old, new = less[cell.id]
            assert text.count(old) == 1, cell.id
            text = text.replace(old, new)
        text = text.replace("from attention_explorer import explore\n", "")
        exec(compile(text, cell.id, "exec"), defined)
        if cell.id in ("setup", "stand-ins"):  # which import what draws
            for name in ("draw_machine", "draw_masks", "draw_lines", "explore"):
                defined[name] = lambda *args, name=name, **options: drawn.setdefault(name, []).append((args, options))
            patch.setattr("resumable.redraw", lambda live, draw, *args, **options: draw(*args, **options))
            defined["display"] = lambda *_, **__: None
    yield SimpleNamespace(**defined, printed="\n".join(printed), drawn=drawn)
    patch.undo()


@pytest.mark.long
def test_texts_figures_and_floors_follow_the_direction(ran):
    source, target = ran.SOURCE.capitalize(), ran.TARGET.capitalize()
    assert ran.drawn["draw_machine"] == [((source, target), {})]
    [((masks,), _)] = ran.drawn["draw_masks"]
    labels = {"english": ["Who", "sang", "?"], "igbo": ["Onye", "gụrụ", "egwu"]}
    *_, (blocked, keys, queries) = masks.values()
    assert (keys[:3], queries[1:4]) == (labels[ran.SOURCE], labels[ran.TARGET])
    assert [len(row) for row in blocked] == [len(keys)] * len(queries)
    [((weights, looking, looked_at), others)] = ran.drawn["explore"]
    assert looked_at[:2] == {"english": ["The", "dog"], "igbo": ["Nkịta", "ahụ"]}[ran.SOURCE]
    assert weights.shape[2:] == (len(looking), len(looked_at))
    assert set(others["also"]) == {"encoder attention", "decoder attention"}
    assert ("true floor" in ran.LINES) == (ran.SOURCE == "igbo"), "from English it is not 0, and not known exactly"
    assert len(ran.TESTS["new shape"]) > 100
    shape = re.compile(ran.NEW_SHAPE)
    assert not any(shape.fullmatch(side) for pair in ran.train_pairs + ran.TESTS["held out"] for side in pair)
    assert f"{source} tokens" in ran.printed
    lists = r"(\w+), (\w+), (\w+), (\w+) (?:and|na) (\w+)"
    assert len(ran.longer_lists(5)) > 50
    for pair in ran.longer_lists(5)[:10]:
        ours, expected = (re.match(lists, side).groups() for side in pair)
        assert ours == expected, "they grow by the same names on both sides"


def test_english_hides_how_many_sheep_or_deer_and_igbo_hides_nothing():
    messages = [defaultdict(set), defaultdict(set)]
    for story in itertools.islice(derivations(5), 6_000):
        for (source, english), (_, igbo) in zip(story.sentences("english"), story.sentences("igbo"), strict=True):
            if source.alone:
                messages[0][english.strip()].add(igbo.strip())
                messages[1][igbo.strip()].add(english.strip())
    unclear = [english for english, ways in messages[0].items() if len(ways) > 1]
    assert len(unclear) > 10
    assert all(re.search(r"\b(sheep|deer)\b", english) for english in unclear)
    assert not any(len(ways) > 1 for ways in messages[1].values())
