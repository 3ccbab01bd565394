"""Of two mistakes that stop at the same checks, the one with the student's own error message is named."""

from __future__ import annotations

import pytest

from autograder.asked.course import question_or_exercise
from autograder.judge.asking import namespace_with
from autograder.judge.mark import mark
from autograder.judge.sketch import sketch
from autograder.judge.student import in_process


@pytest.mark.slow
def test_errors_of_one_type_are_told_apart_by_their_messages():
    exercise = question_or_exercise("generate")
    for name in ("dimension_lost", "logits_drawn_from"):
        [mistake] = [mistake for mistake in exercise.mistakes if mistake.name == name]
        verdict = mark("generate", in_process(namespace_with(exercise, mistake.source)), [mistake.source])
        assert [diagnosis.mistake for diagnosis in verdict.diagnoses][:1] == [name]


def test_the_words_of_errors_tell_nothing_apart_by_themselves():
    one, other = ([{"problem": {"kind": "raised", "type": "ValueError", "text": text}}] for text in ("no", "never"))
    assert sketch(one).digest == sketch(other).digest
    assert sketch(one).words != sketch(other).words
    assert sketch([{"problem": "no"}, 5]).words == sketch([]).words  # a forged record has no words
