"""Tests that mistakes are named by what they answer, two in one answer both, and that no other mistake is named."""

import json
import os
import re
import sys
from collections import Counter

import psutil
import pytest
from two_mistakes import drawn, marked, outcome

from autograder.judge.diagnosis import diagnose, fingerprint_store, pair_cache, pairs
from autograder.judge.diagnosis.compose import composed
from autograder.judge.mark import Verdict, mark
from autograder.judge.run_check import student_with_answer
from autograder.spec.catalogue import replaced
from autograder.spec.course import exercise, exercises, notebooks
from autograder.spec.exercise import Exercise

SOFTMAX = exercise("softmax")
NO_SHIFT = replaced(SOFTMAX.source, "scores - scores.amax(dim=dim, keepdim=True)", "scores")
TWO = replaced(NO_SHIFT, "return exps / exps.sum(dim=dim, keepdim=True)", "return exps")
NO_KEEPDIM = replaced(NO_SHIFT, "keepdim=True", "keepdim=False")
ODD = replaced(SOFTMAX.source, "return exps", "return 1.0625 * exps.sin()")
FEW = [exercise(name) for name in ("softmax", "causal_mask", "encode", "perplexity", "split_heads", "learning_rate")]
ALL = [declared for notebook in notebooks() for declared in exercises(notebook)[:3]]


@pytest.fixture(autouse=True)
def nothing_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def searches(monkeypatch) -> list[str]:
    """Return the exercises about whose answers pairs are tried, as it happens."""
    names: list[str] = []
    search = pairs.search
    monkeypatch.setattr(pairs, "search", lambda *args: names.append(args[0].name) or search(*args))
    return names


def verdict_on(source: str, declared: Exercise = SOFTMAX) -> Verdict:
    return mark(declared.name, student_with_answer(declared, source))


def source_of(name: str, mistake: str) -> str:
    return next(one.source for one in exercise(name).mistakes if one.name == mistake)


def named(verdict: Verdict) -> set[str]:
    return {one.mistake for one in verdict.diagnoses}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "count", "both", "wrong"),
    [(FEW, 3, 0.8, 0), pytest.param(ALL, 2, 0.65, 1 / 30, marks=pytest.mark.long)],  # a part may look like a third
    ids=["quick to ask", "of all notebooks"],
)
def test_of_two_mistakes_both_are_named_and_never_another(asked, count, both, wrong):
    found: Counter[str] = Counter()
    for declared in asked:
        found.update(outcome(declared, two, marked(declared, two)) for two in drawn(declared, count, seed=4 - count))
    assert found.total() == count * len(asked)
    assert found["both"] >= both * found.total(), found
    assert found["wrong"] <= wrong * found.total(), found


def test_changes_of_two_variants_combine_into_one_program():
    other = replaced(SOFTMAX.source, "return exps / exps.sum(dim=dim, keepdim=True)", "return exps")
    assert composed("softmax", NO_SHIFT, other) == composed("softmax", other, NO_SHIFT) == TWO
    behind = SOFTMAX.source + "print()\n"  # is not a change of the last line
    assert composed("softmax", other, behind) == other + "print()\n"


def test_changes_of_the_same_lines_do_not_combine():
    same_place = replaced(SOFTMAX.source, "scores - scores.amax(dim=dim, keepdim=True)", "scores - scores.mean()")
    for other in (same_place, "def softmax(scores, dim=-1):\n    return scores\n", NO_SHIFT):
        assert composed("softmax", NO_SHIFT, other) is None


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [("embedding_cost", "megabytes", "swapped"), ("label_smoothed_loss", "spread_over_the_others", "summed")],
)
def test_two_mistakes_of_one_line_or_one_number_are_both_named(name, one, other):
    declared = exercise(name)
    both = composed(name, source_of(name, one), source_of(name, other))
    assert named(verdict_on(both, declared)) == {one, other}


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        ("LearnedPositionalEmbedding", "full_length_refused"),
        ("GPT", "full_length_refused"),
        ("noam_rate", "first_step_refused"),
    ],
)
def test_the_wording_of_an_error_of_ones_own_costs_nothing(name, mistake):
    declared, source = exercise(name), source_of(name, mistake)
    reworded = re.sub(r"raise ValueError\(.*\)", 'raise ValueError("too many or too few")', source)
    assert reworded != source
    assert [one.mistake for one in verdict_on(reworded, declared).diagnoses] == [mistake]
    assert verdict_on(reworded, declared).earned == verdict_on(source, declared).earned > declared.points / 2


def test_a_generic_mistake_is_made_in_the_program_with_the_other():
    known = fingerprint_store.of("softmax")
    slips = [source for name, source in zip(known.names, known.variants, strict=True) if name == "squeezed"]
    both = [composed("softmax", NO_SHIFT, slip) for slip in slips]
    assert any(source and "amax" not in source and ".squeeze()" in source for source in both)


def test_both_sentences_are_given_and_both_are_paid_for():
    both, alone = verdict_on(NO_KEEPDIM), verdict_on(NO_SHIFT)
    assert named(both) == {"no_shift", "no_keepdim"}
    assert {one.sentence for one in both.diagnoses} == {SOFTMAX.sentences[name] for name in named(both)}
    failed = {line.title for line in both.lines if not line.passed}
    assert {title for one in both.diagnoses for title in one.checks} == failed
    assert all(len(one.checks) == len({*one.checks}) for one in both.diagnoses), "each is said once"
    assert 0 <= both.earned < alone.earned
    assert (
        both.earned <= max(0, SOFTMAX.points * (1 - sum(one.share for one in both.diagnoses)))
        or not both.score_explanation
    )


def test_one_mistake_made_in_two_places_is_named_once_and_paid_for_once():
    declared = exercise("TransformerBlock")
    first, second = next(one.sources for one in declared.mistakes if one.name == "norm_used_twice")[:2]
    both = composed(declared.name, first, second)
    twice = verdict_on(both, declared)
    assert [one.mistake for one in twice.diagnoses] == ["norm_used_twice"]
    assert len(twice.diagnoses[0].checks) == len({*twice.diagnoses[0].checks}) > 0
    assert twice.diagnoses[0].share <= max(verdict_on(one, declared).diagnoses[0].share for one in (first, second))


def test_a_single_mistake_asks_for_no_search_and_a_class_pays_once_for_two(searches, nothing_kept, monkeypatch):
    for mistake in SOFTMAX.mistakes[:6]:
        assert named(verdict_on(mistake.source)) == {mistake.name}
    assert not searches
    first = [named(verdict_on(source)) for source in (ODD, NO_KEEPDIM)]
    assert not first[0], "no two mistakes explain it"
    assert searches == ["softmax"] * 2
    assert [named(verdict_on(f"{source}\n# by somebody else\n")) for source in (ODD, NO_KEEPDIM)] == first
    assert len(searches) == 2
    for path in pair_cache.home("softmax").glob("*.json"):  # cut off, or written by somebody else
        path.write_text(path.read_text()[: len(path.read_text()) // 2])
    assert [named(verdict_on(source)) for source in (ODD, NO_KEEPDIM)] == first
    assert len(searches) == 4
    assert all(json.loads(path.read_text()) for path in pair_cache.home("softmax").glob("*.json"))
    monkeypatch.setattr(pair_cache.keys, "exact_text_hash", lambda *_, **__: "other")  # of another state of the files
    verdict_on(NO_KEEPDIM)
    assert len(searches) == 5


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
    assert pairs._in_fork(lambda: {1, 2}) is None, "what is not JSON"

    def interrupt(*_: object) -> None:  # no signal: a process in the background may have been told to ignore it
        raise KeyboardInterrupt

    monkeypatch.setattr(pairs.multiprocessing.connection.Connection, "poll", interrupt)
    with pytest.raises(KeyboardInterrupt):
        pairs._in_fork(for_ever)
    assert psutil.Process().children() == children


def test_a_search_ends_after_the_same_effort_each_time(monkeypatch):
    monkeypatch.setattr(pairs, "EFFORT", 20_000)
    monkeypatch.setattr(pairs, "_in_fork", lambda work: work())
    spent: list[int] = []
    like = pairs._Comparison.errors_if_alike

    def counted(self, source):
        found = like(self, source)
        spent[-1] = self.requests
        return found

    monkeypatch.setattr(pairs._Comparison, "errors_if_alike", counted)
    for number in range(3):
        spent.append(0)
        assert not verdict_on(replaced(SOFTMAX.source, "return exps", f"return 1.06{number} * exps.sin()")).diagnoses
    assert 0 < spent[1] == spent[2] < 1000  # the first search fills caches


def test_a_version_that_passes_a_check_is_never_why_it_failed(monkeypatch):
    known = fingerprint_store.of("masked_softmax")
    failed = {source: known.failed[row] for row, source in enumerate(known.variants)}
    asked = []
    honest = diagnose._answers

    def answers(name, source, check):
        asked.append(failed[source][check])
        return honest(name, source, check)

    monkeypatch.setattr(diagnose, "_answers", answers)
    rounded = source_of("masked_softmax", "rounded")
    source = rounded.replace("decimals=4", "decimals=5")
    assert source != rounded
    assert not verdict_on(source, exercise("masked_softmax")).full
    assert asked
    assert all(asked)


@pytest.mark.parametrize(
    ("name", "mistake"),
    [("LayerNorm", "eps_outside"), ("scaled_dot_product_attention", "rounded"), ("masked_softmax", "rounded")],
)
def test_a_variant_that_explains_everything_is_named_at_once(name, mistake, monkeypatch):
    asked = []
    monkeypatch.setattr(diagnose, "_answers", lambda *about: asked.append(about) or [])
    verdict = verdict_on(source_of(name, mistake), exercise(name))
    assert [one.mistake for one in verdict.diagnoses] == [mistake]
    assert not asked


@pytest.mark.parametrize(
    ("name", "mistake", "old", "new"),
    [
        ("attention_parameters", "bias_ignored", "return", "nn.Linear(2, 3)\n    return"),
        ("skipgram_pairs", "each_pair_once", "list(set(pairs))", "sorted(set(pairs))[::-1]"),
        ("FeedForward", "activation_ignored", "linear", "layer_"),
        ("LearnedPositionalEmbedding", "length_first", "self.table", "self.weight"),
    ],
)
def test_neither_draws_nor_order_nor_names_that_are_free_hide_a_mistake(name, mistake, old, new):
    assert named(verdict_on(source_of(name, mistake).replace(old, new), exercise(name))) == {mistake}


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("count_bigrams", "first * vocab", "first / vocab"),  # bincount refuses floats, as rounding does integers
        ("generate", "num_samples=1, ", ""),  # a TypeError, as where the pair of logits and loss is indexed
        ("top_next_tokens", "logits[0, -1], dim=-1", "logits[0, -1]"),
        ("attention_maps", "model.train(was_training)", "model.eval(was_training)"),
        ("load_gpt2_weights", "mine.shape !=", "mine.shape =="),  # refuses all, as where everything is transposed
        ("NeuralNgram", "torch.relu", "torch.gelu"),  # there is none; nor has a list, as two other mistakes meet
        ("generate_bigram", "ids[-1]", "ids[1]"),
    ],
)
def test_no_mistake_is_named_by_the_types_of_errors_alone(name, old, new):
    source = replaced(exercise(name).source, old, new)
    assert named(verdict_on(source, exercise(name))) == {"stops_with_an_error"}


def test_two_mistakes_are_named_though_a_tracer_would_end_their_search(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    own, seen, before = os.getpid(), 0, (sys.gettrace(), sys.getprofile())

    def trace(frame, *_):
        nonlocal seen
        # not what the standard library does after each fork for every logger and handler of the process
        seen += os.getpid() != own and frame.f_globals.get("__name__", "").startswith("autograder.")
        if seen > 2_000:
            os._exit(1)
        return trace

    sys.settrace(trace)
    sys.setprofile(trace)
    try:
        verdict = verdict_on(NO_KEEPDIM)
        assert (sys.gettrace(), sys.getprofile()) == (trace, trace)
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    assert named(verdict) == {"no_shift", "no_keepdim"}
