"""The checks are sharp: every catalogued mistake loses marks and is named, every right answer gets all of them."""

from __future__ import annotations

import logging

import pytest
import torch
import torch.nn.functional as F

from autograder.asked.course import exercises, questions, reference
from autograder.asked.declare import Exercise
from autograder.judge.asking import namespace_with
from autograder.judge.mark import Verdict, mark
from autograder.judge.rules import uses
from autograder.judge.student import in_process

MISTAKES = [
    pytest.param(exercise, mistake, source, id=f"{exercise.name}-{mistake.name}-{number}")
    for exercise in exercises()
    for mistake in exercise.mistakes
    for number, source in enumerate(mistake.sources)
]
ALTERNATIVES = [
    pytest.param(exercise, alternative.source, id=f"{exercise.name}-{alternative.name}")
    for exercise in exercises()
    for alternative in exercise.alternatives
]
EXERCISES = [pytest.param(exercise, id=exercise.name) for exercise in exercises()]
MANY = {
    *("scaled_dot_product_attention", "SelfAttention", "masked_softmax", "attention_mask", "sees_the_future"),
    *("split_heads", "MultiHeadAttention", "LayerNorm", "TransformerBlock", "GPT", "generate", "get_batch"),
    *("next_token_distribution", "load_gpt2_weights", "attention_maps"),
    *("DecoderBlock", "greedy_decode", "beam_search", "bleu"),
}


def marked(exercise: Exercise, source: str) -> Verdict:
    return mark(exercise.name, in_process(namespace_with(exercise, source)), [source])


def explain(verdict: Verdict) -> str:
    return verdict.remark + "\n".join(f"{line.title}: {line.message}" for line in verdict.lines if not line.passed)


@pytest.mark.parametrize(("exercise", "mistake", "source"), MISTAKES)
def test_a_mistake_loses_marks_and_is_named(exercise, mistake, source, caplog):
    with caplog.at_level(logging.ERROR):
        verdict = marked(exercise, source)
    assert not verdict.full, "the checks accept this wrong answer"
    assert [d.mistake for d in verdict.diagnoses][:1] == [mistake.name], explain(verdict)
    assert not caplog.records, "a check stopped on this answer instead of judging it"


@pytest.mark.parametrize(("exercise", "source"), ALTERNATIVES)
def test_a_right_answer_in_another_style_gets_full_marks(exercise, source):
    verdict = marked(exercise, source)
    assert verdict.full, explain(verdict)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_reference_gets_full_marks(exercise):
    verdict = marked(exercise, exercise.source)
    assert verdict.full, explain(verdict)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_working_version_made_of_pytorchs_parts_agrees_with_the_reference(exercise):
    student = in_process(namespace_with(exercise, exercise.working))
    verdict = mark(exercise.name, student)  # without its source: a working version may use what the exercise bans
    wrong = [line for line in verdict.lines if not line.passed]
    assert not wrong, explain(verdict)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_mistake_costs_nothing_in_the_exercises_built_on_it(exercise):
    """With every answer right but one, only that one loses marks, though others call it."""
    others = [other for other in exercises(exercise.notebook) if other.name != exercise.name]
    built_on_it = [other for other in others if exercise.name in uses(other.name, [other.source])]
    for mistake in exercise.mistakes:
        for other in built_on_it:
            namespace = namespace_with(exercise, "")
            for source in (*(each.source for each in others), mistake.source):
                exec(source, namespace)
            verdict = mark(other.name, in_process(namespace), [other.source])
            assert verdict.full, f"{mistake.name} costs marks in {other.name}: {explain(verdict)}"


@pytest.mark.parametrize("exercise", EXERCISES)
def test_an_unanswered_exercise_gets_zero_and_says_so(exercise):
    names = "class {name}(nn.Module):\n    def __init__(self, *a, **k):\n" if exercise.name[0].isupper() else ""
    stub = (names or "def {name}(*a, **k):\n").format(name=exercise.name) + "        raise NotImplementedError('x')\n"
    verdict = marked(exercise, stub)
    assert verdict.earned == 0
    assert "not been answered" in verdict.remark


@pytest.mark.parametrize("exercise", EXERCISES)
def test_there_are_enough_mistakes_and_alternatives(exercise):
    assert len(exercise.mistakes) >= (6 if exercise.name in MANY else 3)
    assert exercise.alternatives
    names = [mistake.name for mistake in exercise.mistakes]
    assert len(set(names)) == len(names)
    assert all(mistake.sentence.rstrip().endswith((".", ")", "?")) for mistake in exercise.mistakes)


@pytest.mark.parametrize("question", questions(), ids=lambda question: question.name)
def test_exactly_one_letter_is_right_and_each_has_its_explanation(question):
    earned = {}
    for letter in sorted(question.explanations):
        verdict = mark(question.name, in_process({question.name: letter}))
        earned[letter] = verdict.earned
        assert verdict.lines[0].message == question.explanations[letter]
    assert [letter for letter, points in earned.items() if points] == [question.key]
    assert len(set(question.explanations.values())) == len(question.explanations) == 4


@pytest.mark.parametrize("answer", [None, "", "E", "AB", ["A"], 1, True, {"A": 1}], ids=repr)
def test_anything_but_a_letter_earns_nothing(answer):
    for question in questions():
        assert mark(question.name, in_process({question.name: answer})).earned == 0


# --- references against PyTorch's own ---------------------------------------------------------------------------------


def test_the_references_agree_with_pytorch():
    softmax, simple_attention, causal_mask = map(reference, ("softmax", "simple_attention", "causal_mask"))
    scaled_dot_product_attention, masked_softmax = map(reference, ("scaled_dot_product_attention", "masked_softmax"))
    generator = torch.Generator().manual_seed(3)
    Q, K, V = (torch.randn(2, 4, n, d, generator=generator) for n, d in ((5, 8), (7, 8), (7, 3)))
    mask = torch.rand(5, 7, generator=generator) > 0.6
    mask[:, 0] = False
    scores = Q @ K.mT
    torch.testing.assert_close(softmax(scores, dim=2), torch.softmax(scores, dim=2))
    torch.testing.assert_close(simple_attention(Q), F.scaled_dot_product_attention(Q, Q, Q, scale=1.0))
    torch.testing.assert_close(
        scaled_dot_product_attention(Q, K, V, mask)[0], F.scaled_dot_product_attention(Q, K, V, attn_mask=~mask)
    )
    torch.testing.assert_close(
        causal_mask(6), torch.nn.Transformer.generate_square_subsequent_mask(6).isinf(), check_dtype=True
    )
    filled = torch.softmax(scores.masked_fill(mask, -torch.inf), -1)
    torch.testing.assert_close(masked_softmax(scores, mask), filled)
