"""Tests that of two mistakes that fail at the same checks, the one with the student's own error message is named."""

from __future__ import annotations

import pytest

from autograder.judge.diagnosis import diagnose, signature_store
from autograder.judge.diagnosis.sketch import sketch
from autograder.judge.mark import mark
from autograder.judge.run_check import namespace_with
from autograder.judge.student import in_process
from autograder.spec.course import question_or_exercise


@pytest.mark.slow
def test_errors_of_one_type_are_told_apart_by_their_messages():
    exercise = question_or_exercise("generate")
    for name in ("dimension_lost", "logits_drawn_from"):
        [mistake] = [mistake for mistake in exercise.mistakes if mistake.name == name]
        verdict = mark("generate", in_process(namespace_with(exercise, mistake.source)), [mistake.source])
        assert [one.mistake for one in verdict.diagnoses][:1] == [name]


def test_the_words_of_errors_tell_nothing_apart_by_themselves():
    one, other = ([{"problem": {"kind": "raised", "type": "ValueError", "text": text}}] for text in ("no", "never"))
    assert sketch(one).digest == sketch(other).digest
    assert sketch(one).words != sketch(other).words
    assert sketch([{"problem": "no"}, 5]).words == sketch([]).words  # a forged record has no words


def test_a_version_that_passes_a_check_is_never_why_it_failed(monkeypatch):
    """Results rounded as no version does lie near those of dozens that pass; none of these is even asked."""
    exercise = question_or_exercise("masked_softmax")
    known = signature_store.of("masked_softmax")
    failed = {source: known.failed[row] for row, source in enumerate(known.versions)}
    asked = []

    def answers(name, source, check):
        asked.append(failed[source][check])
        return honest(name, source, check)

    honest = diagnose._answers
    monkeypatch.setattr(diagnose, "_answers", answers)
    [rounded] = [mistake for mistake in exercise.mistakes if mistake.name == "rounded"]
    source = rounded.source.replace("decimals=4", "decimals=5")
    assert source != rounded.source
    verdict = mark("masked_softmax", in_process(namespace_with(exercise, source)), [source])
    assert not verdict.full
    assert asked
    assert all(asked)


@pytest.mark.parametrize(
    ("name", "mistake"),
    [("LayerNorm", "eps_outside"), ("scaled_dot_product_attention", "rounded"), ("masked_softmax", "rounded")],
)
def test_a_version_that_surely_explains_everything_is_named_before_any_other_is_asked(name, mistake, monkeypatch):
    """Others lie nearer than the sketches can tell, and asking them takes a hundred times as long as all the rest."""
    exercise = question_or_exercise(name)
    [wrong] = [one for one in exercise.mistakes if one.name == mistake]
    asked = []
    monkeypatch.setattr(diagnose, "_answers", lambda *about: asked.append(about) or [])
    verdict = mark(name, in_process(namespace_with(exercise, wrong.source)), [wrong.source])
    assert [one.mistake for one in verdict.diagnoses] == [mistake]
    assert not asked
