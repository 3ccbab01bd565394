"""Tests that two mistakes in one answer are both named, and that no other mistake is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter

import psutil
import pytest
from conftest import ROOT
from two_mistakes import drawn, marked, outcome

from autograder.judge.diagnosis import pair_cache, pairs, signature_store
from autograder.judge.diagnosis.compose import composed
from autograder.judge.mark import Verdict, mark
from autograder.judge.run_check import student_with_answer
from autograder.spec.catalogue import replaced
from autograder.spec.course import exercise, exercises, notebooks

FEW = ("softmax", "causal_mask", "encode", "perplexity", "split_heads", "learning_rate")  # quick to ask
MANY = [declared.name for notebook in notebooks() for declared in exercises(notebook)[:3]]
SOFTMAX = exercise("softmax")
NO_SHIFT = replaced(SOFTMAX.source, "scores - scores.amax(dim=dim, keepdim=True)", "scores")
TWO = replaced(NO_SHIFT, "return exps / exps.sum(dim=dim, keepdim=True)", "return exps")


@pytest.fixture(autouse=True)
def nothing_kept(tmp_path, monkeypatch):
    """A machine on which nobody has searched before."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def searches(monkeypatch) -> list[str]:
    """The exercises about whose answers pairs are tried, as it happens."""
    names: list[str] = []
    search = pairs.search
    monkeypatch.setattr(pairs, "search", lambda *args: names.append(args[0].name) or search(*args))
    return names


def verdict_on(source: str) -> Verdict:
    return mark("softmax", student_with_answer(SOFTMAX, source), [source])


def named(verdict: Verdict) -> set[str]:
    return {one.mistake for one in verdict.diagnoses}


# --- over the catalogue -----------------------------------------------------------------------------------------------


def outcomes(names: tuple[str, ...] | list[str], count: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for name in names:
        declared = exercise(name)
        for two in drawn(declared, count, seed=1):
            verdict = marked(declared, two)
            said = outcome(declared, two, verdict)
            assert said != "wrong", f"{name}: {sorted(two.names)} is named {named(verdict)}\n{two.source}"
            found[said] += 1
    return found


@pytest.mark.slow
def test_of_two_mistakes_both_are_named_and_never_another():
    found = outcomes(FEW, 3)
    assert found.total() == 3 * len(FEW)
    assert found["both"] >= 0.85 * found.total(), found


@pytest.mark.slow
def test_of_two_mistakes_most_are_both_named_in_all_notebooks(request):
    """In every third exercise; with --all, in each."""
    asked = MANY if request.config.getoption("--all") else MANY[::3]
    found: Counter[str] = Counter()
    for name in asked:
        declared = exercise(name)
        found.update(outcome(declared, two, marked(declared, two)) for two in drawn(declared, 2, seed=2))
    assert len(MANY) >= 30
    assert found["both"] >= 0.65 * found.total(), found
    assert found["wrong"] <= max(1, found.total() / 30), found  # a part that looks like a third mistake


# --- composing --------------------------------------------------------------------------------------------------------


def test_what_two_versions_change_stands_in_one_program():
    one, other = NO_SHIFT, replaced(SOFTMAX.source, "return exps / exps.sum(dim=dim, keepdim=True)", "return exps")
    assert composed("softmax", one, other) == composed("softmax", other, one) == TWO


def test_versions_that_change_the_same_place_have_no_common_program():
    other = replaced(SOFTMAX.source, "scores - scores.amax(dim=dim, keepdim=True)", "scores - scores.mean()")
    assert composed("softmax", NO_SHIFT, other) is None
    assert composed("softmax", NO_SHIFT, "def softmax(scores, dim=-1):\n    return scores\n") is None
    assert composed("softmax", NO_SHIFT, NO_SHIFT) is None


def test_a_slip_is_made_from_the_program_with_the_other_mistake():
    known = signature_store.of("softmax")
    slips = [source for name, source in zip(known.names, known.versions, strict=True) if name == "squeezed"]
    both = [composed("softmax", NO_SHIFT, slip) for slip in slips]
    assert any(source and "amax" not in source and ".squeeze()" in source for source in both)


# --- searching --------------------------------------------------------------------------------------------------------


def test_both_sentences_are_given_and_both_are_paid_for():
    source = replaced(NO_SHIFT, "keepdim=True", "keepdim=False")
    both, alone = verdict_on(source), verdict_on(NO_SHIFT)
    assert named(both) == {"no_shift", "no_keepdim"}
    assert {one.sentence for one in both.diagnoses} == {SOFTMAX.sentences[name] for name in named(both)}
    assert {title for one in both.diagnoses for title in one.checks} == {
        line.title for line in both.lines if not line.passed
    }
    assert 0 <= both.earned < alone.earned
    assert both.earned <= max(0, SOFTMAX.points * (1 - sum(one.share for one in both.diagnoses))) or not both.reckoning


def test_a_single_mistake_asks_for_no_search(searches):
    for mistake in SOFTMAX.mistakes[:6]:
        assert named(verdict_on(mistake.source)) == {mistake.name}
    assert not searches


def test_what_no_two_mistakes_explain_is_given_the_name_of_none(searches):
    odd = replaced(SOFTMAX.source, "return exps", "return 1.0625 * exps.sin()")
    assert not verdict_on(odd).diagnoses
    assert searches == ["softmax"]


def test_a_class_pays_once_whether_something_is_found_or_not(searches, nothing_kept):
    odd = replaced(SOFTMAX.source, "return exps", "return 1.0625 * exps.sin()")
    two = replaced(NO_SHIFT, "keepdim=True", "keepdim=False")
    first = [named(verdict_on(source)) for source in (odd, two)]
    assert len(searches) == 2
    again = [named(verdict_on(f"{source}\n# by somebody else\n")) for source in (odd, two)]
    assert first == again
    assert len(searches) == 2
    for path in pair_cache.home("softmax").glob("*.json"):  # cut off, or written by somebody else
        path.write_text(path.read_text()[: len(path.read_text()) // 2])
    assert [named(verdict_on(source)) for source in (odd, two)] == first
    assert len(searches) == 4
    assert all(json.loads(path.read_text()) for path in pair_cache.home("softmax").glob("*.json"))


def test_what_was_kept_for_another_state_of_the_files_is_not_used(searches, monkeypatch):
    verdict_on(TWO)
    monkeypatch.setattr(pair_cache.keys, "letter_key", lambda name: "other letters")
    verdict_on(TWO)
    assert len(searches) == 2


@pytest.mark.slow
def test_two_processes_at_once_find_the_same(nothing_kept):
    program = (
        "import sys; sys.path[:0] = ['tests', 'tests/engine']\n"
        "from test_pairs import NO_SHIFT, named, replaced, verdict_on\n"
        "print(sorted(named(verdict_on(replaced(NO_SHIFT, 'keepdim=True', 'keepdim=False')))))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"}
    both = [
        subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [process.communicate()[0].strip() for process in both] == ["['no_keepdim', 'no_shift']"] * 2
    [entry] = pair_cache.home("softmax").iterdir()
    assert len(json.loads(entry.read_text())["pairs"]) == 1


def test_a_program_that_never_ends_or_fails_harms_nobody(monkeypatch):
    monkeypatch.setattr(pairs, "SECONDS", 1)
    children = psutil.Process().children()  # other tests may have some that stay

    def for_ever() -> None:
        while True:
            pass

    assert pairs._in_fork(for_ever) == []
    assert pairs._in_fork(lambda: bytearray(2**40) and 1) is None
    assert pairs._in_fork(lambda: os._exit(3)) is None
    assert pairs._in_fork(lambda: [print("noise"), 7]) == [None, 7]
    assert psutil.Process().children() == children


def test_a_search_ends_after_the_same_effort_each_time(monkeypatch):
    monkeypatch.setattr(pairs, "EFFORT", 20_000)
    monkeypatch.setattr(pairs, "_in_fork", lambda work: work())
    spent: list[int] = []
    like = pairs._Comparison.errors_if_alike

    def counted(self, source):
        found = like(self, source)
        spent[-1] = self.questions
        return found

    monkeypatch.setattr(pairs._Comparison, "errors_if_alike", counted)
    for number in range(2):
        spent.append(0)
        assert not verdict_on(replaced(SOFTMAX.source, "return exps", f"return 1.06{number} * exps.sin()")).diagnoses
    assert 0 < spent[0] == spent[1] < 1000
