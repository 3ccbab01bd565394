"""Of two mistakes that stop at the same checks, the one with the student's own error message is named."""

from __future__ import annotations

from autograder.exercises import question_or_exercise
from autograder.judge.mark import mark, namespace_with
from autograder.judge.student import in_process


def test_errors_of_one_type_are_told_apart_by_their_messages():
    exercise = question_or_exercise("generate")
    for name in ("dimension_lost", "logits_drawn_from"):
        [mistake] = [mistake for mistake in exercise.mistakes if mistake.name == name]
        verdict = mark("generate", in_process(namespace_with(exercise, mistake.source)), [mistake.source])
        assert [diagnosis.mistake for diagnosis in verdict.diagnoses][:1] == [name]


def test_forged_records_are_not_compared_by_message():
    from autograder.judge.mark import _same_words

    error = {"problem": {"kind": "raised", "text": "no"}}
    assert _same_words([error, error, 5], [error, {"problem": "no"}, error]) == 1
