"""What was proved is not proved again; what has changed, is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import proofs
import pytest
from conftest import ROOT

USED = re.compile(r"\(proof\b|, proof\b|mark\.depends_on\(")  # the fixture as an argument, the marker


class Item(SimpleNamespace):
    """Of a test, what a proof asks."""

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self.mark.mark if name == "depends_on" else None


@pytest.fixture
def item(tmp_path, monkeypatch):
    """A test that depends on a folder, and a file in which nothing is proved yet."""
    (tmp_path / "autograder" / "batch").mkdir(parents=True)
    (tmp_path / "autograder" / "batch" / "grade.py").write_text("one = 1\n")
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    monkeypatch.setattr(proofs, "ROOT", tmp_path)
    monkeypatch.setattr(proofs, "KEPT", tmp_path / "proved.json")
    proofs._kept.cache_clear()
    yield Item(
        config=SimpleNamespace(getoption=lambda name: False),
        path=tmp_path / "test_it.py",
        name="test_it",
        mark=pytest.mark.depends_on("batch"),
    )
    proofs._kept.cache_clear()


def skipped(item: Item) -> bool:
    """Whether it is skipped by a process that begins now."""
    proofs.state_of.cache_clear()
    proofs._kept.cache_clear()
    item.user_properties = []
    try:
        proofs.skip_what_is_proved(item)  # type: ignore[arg-type]
    except pytest.skip.Exception:
        return True
    return False


def proved(item: Item) -> str:
    """As `--prove` writes it down; gives the state."""
    skipped(item)
    [(what, (name, state))] = item.user_properties
    assert (what, name) == (proofs.PROPERTY, "test_it::test_it")
    proofs.keep({name: state})
    return state


def proved_out_of_turn(item: Item) -> None:
    """In a state in which it is not its turn."""
    for number in range(200):
        (item.path.parent / "autograder" / "batch" / "number.py").write_text(f"{number}\n")
        proved(item)
        if skipped(item):
            return
    pytest.fail("it is never left out")


def test_what_nothing_is_known_of_is_run(item):
    assert not skipped(item)


@pytest.mark.parametrize("changed", ["autograder/cluster/grade.py", "autograder/cluster/new.py", "test_it.py"])
def test_what_is_proved_is_run_again_when_a_letter_changes(item, changed):
    proved_out_of_turn(item)
    path = item.path.parent / changed
    before = path.read_text() if path.exists() else ""
    path.write_text(f"{before}# a comment\n")
    assert not skipped(item)


def test_one_state_in_thirty_is_tried_all_the_same(item):
    tried = 0
    for number in range(600):
        (item.path.parent / "autograder" / "batch" / "number.py").write_text(f"{number}\n")
        proved(item)
        tried += not skipped(item)
    assert 8 <= tried <= 40


def test_all_of_a_file_have_their_turn_together_where_they_say_so(item):
    item.mark = pytest.mark.depends_on("batch", together=True)
    for number in range(200):
        (item.path.parent / "autograder" / "batch" / "number.py").write_text(f"{number}\n")
        found = set()
        for name in ("test_it", "test_that"):
            item.name = name
            skipped(item)
            [(_, (whole, state))] = item.user_properties
            proofs.keep({whole: state})
            found.add(skipped(item))
        assert len(found) == 1


def test_with_prove_all_is_run(item):
    proved_out_of_turn(item)
    item.config.getoption = lambda name: name == "--prove"
    assert not skipped(item)


def test_a_place_that_is_not_there_is_an_error(item):
    item.mark = pytest.mark.depends_on("somewhere")
    with pytest.raises(FileNotFoundError, match="somewhere"):
        skipped(item)


def test_make_prove_names_every_file_that_proves_something():
    using = {path.name for path in Path(__file__).parent.glob("test_*.py") if USED.search(path.read_text("utf-8"))}
    [line] = re.findall(r"^PROVING := ((?:.*\\\n)*.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert using - {Path(__file__).name} == {Path(name).name for name in line.replace("\\", " ").split()}


def test_what_is_written_down_is_of_tests_that_there_are():
    known = json.loads((ROOT / "tests" / "proved.json").read_text())
    assert all((ROOT / "tests" / f"{name.split('::')[0]}.py").is_file() for name in known if "nbval::" not in name)
