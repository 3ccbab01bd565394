"""Tests that of two mistakes that fail at the same checks, the one with the student's own error message is named."""

import pytest

from autograder.judge.diagnosis import diagnose, signature_store
from autograder.judge.diagnosis.sketch import sketch
from autograder.judge.mark import mark
from autograder.judge.run_check import namespace_with
from autograder.judge.student import in_process
from autograder.spec.course import question_or_exercise


def marked(name, source):
    return mark(name, in_process(namespace_with(question_or_exercise(name), source)), [source])


def source_of(name, mistake):
    return next(one.source for one in question_or_exercise(name).mistakes if one.name == mistake)


@pytest.mark.slow
@pytest.mark.parametrize("mistake", ["dimension_lost", "logits_drawn_from"])
def test_errors_of_one_type_are_told_apart_by_their_messages(mistake):
    verdict = marked("generate", source_of("generate", mistake))
    assert [one.mistake for one in verdict.diagnoses][:1] == [mistake]


def test_the_words_of_errors_tell_nothing_apart_by_themselves():
    one, other = ([{"problem": {"kind": "raised", "type": "ValueError", "text": text}}] for text in ("no", "never"))
    assert sketch(one).digest == sketch(other).digest
    assert sketch(one).words != sketch(other).words
    assert sketch([{"problem": "no"}, 5]).words == sketch([]).words  # a forged record has no words


def test_a_version_that_passes_a_check_is_never_why_it_failed(monkeypatch):
    """Results rounded as no version does lie near those of dozens that pass; none of these is even asked."""
    known = signature_store.of("masked_softmax")
    failed = {source: known.failed[row] for row, source in enumerate(known.versions)}
    asked = []
    honest = diagnose._answers

    def answers(name, source, check):
        asked.append(failed[source][check])
        return honest(name, source, check)

    monkeypatch.setattr(diagnose, "_answers", answers)
    rounded = source_of("masked_softmax", "rounded")
    source = rounded.replace("decimals=4", "decimals=5")
    assert source != rounded
    assert not marked("masked_softmax", source).full
    assert asked
    assert all(asked)


@pytest.mark.parametrize(
    ("name", "mistake"),
    [("LayerNorm", "eps_outside"), ("scaled_dot_product_attention", "rounded"), ("masked_softmax", "rounded")],
)
def test_a_version_that_surely_explains_everything_is_named_before_any_other_is_asked(name, mistake, monkeypatch):
    """Others lie nearer than the sketches can tell, and asking them takes a hundred times as long as all the rest."""
    asked = []
    monkeypatch.setattr(diagnose, "_answers", lambda *about: asked.append(about) or [])
    verdict = marked(name, source_of(name, mistake))
    assert [one.mistake for one in verdict.diagnoses] == [mistake]
    assert not asked
