"""Tests of the checks: every catalogued mistake loses marks and is named, and every right answer gets full marks."""

import ast
import logging
from collections import Counter

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaMLP, LlamaRMSNorm, repeat_kv

from autograder.judge.diagnosis import fingerprint_store, fingerprints, reply_hash
from autograder.judge.diagnosis.fingerprints import replies_to
from autograder.judge.mark import Verdict, mark, points_of_variant
from autograder.judge.run_check import namespace_with, student_with_answer
from autograder.judge.source_rules import uses
from autograder.judge.student import in_process
from autograder.spec.catalogue import syntax
from autograder.spec.common_mistakes import COMMON_MISTAKES
from autograder.spec.course import exercise_files, exercises, mistakes_file, questions, reference
from autograder.spec.exercise import Exercise

EXERCISES = [pytest.param(exercise, id=exercise.name) for exercise in exercises()]


def marked(exercise: Exercise, source: str) -> Verdict:
    return mark(exercise.name, in_process(namespace_with(exercise, source)))


def explain(verdict: Verdict) -> str:
    return verdict.remark + "\n".join(f"{line.title}: {line.message}" for line in verdict.lines if not line.passed)


@pytest.mark.slow
@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_catalogued_mistake_loses_marks_and_is_named(exercise, everything, caplog):
    """One version of each (all of them with --all) is asked everything; what is kept must be what it answers now."""
    kept = fingerprint_store.of(exercise.name)
    rows = list(enumerate((mistake, source) for mistake in exercise.mistakes for source in mistake.sources))
    if not everything:
        rows = [(row, (mistake, source)) for row, (mistake, source) in rows if source == mistake.source]
    faults = []
    with caplog.at_level(logging.ERROR):
        for row, (mistake, source) in rows:
            student = student_with_answer(exercise, source)
            verdict = mark(exercise.name, student)
            named = [diagnosis.mistake for diagnosis in verdict.diagnoses][:1]
            if verdict.full:
                faults.append(f"{mistake.name}: the checks accept this wrong answer\n{source}")
            elif named != [mistake.name]:
                faults.append(f"{mistake.name} is named {named}: {explain(verdict)}\n{source}")
            if caplog.records:
                faults.append(f"{mistake.name}: a check stopped on this answer instead of judging it\n{source}")
                caplog.clear()
            for column, line in enumerate(verdict.lines):
                actual = reply_hash.reply_hash(student.replies[line.title])
                if reply_hash.compare(actual, kept.reply_hash(row, column)) is False:
                    faults.append(f"{mistake.name}: the signature kept of {line.title!r} is not what it answers")
                assert kept.failed[row, column] != line.passed
            assert verdict.earned == points_of_variant(exercise, kept, row), f"{mistake.name}\n{source}"
    assert not faults, "\n\n".join(faults)


# PyTorch, MKL and oneDNN take other paths then, as on a processor without these instructions: last digits change.
AN_OLDER_PROCESSOR = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "SSE41"}
FEW = 9  # of so many versions one is asked on the older processor, too


@pytest.mark.long
@pytest.mark.parametrize("exercise", EXERCISES)
def test_what_is_kept_is_what_a_version_answers_on_another_processor(exercise):
    sources = fingerprints.sources_of(exercise.name)[::FEW]
    with fingerprint_store.Worker(**AN_OLDER_PROCESSOR) as worker:
        expected = worker.compute(exercise.name, list(range(0, FEW * len(sources), FEW)))
    faults = []
    for row, source in enumerate(sources):
        someone = student_with_answer(exercise, source)
        for column, check in enumerate(exercise.checks):
            actual = reply_hash.reply_hash(replies_to(exercise, check, someone).replies)
            if reply_hash.compare(actual, expected.reply_hash(row, column)) is False:
                faults.append(f"{check.title}\n{source}")
                break
    # The place of the largest among equals, the sign of a zero: what is discrete may hang on a last digit
    assert len(faults) <= max(1, len(sources) // 10), "\n\n".join(faults)


@pytest.mark.slow
@pytest.mark.parametrize("exercise", EXERCISES)
def test_right_answers_in_other_styles_get_full_marks(exercise):
    assert exercise.alternatives
    for alternative in exercise.alternatives:
        verdict = marked(exercise, alternative.source)
        assert verdict.full, f"{alternative.name}: {explain(verdict)}"


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_reference_and_pytorchs_own_get_full_marks(exercise):
    assert (verdict := marked(exercise, exercise.source)).full, explain(verdict)
    student = in_process(namespace_with(exercise, exercise.library_equivalent or exercise.source))
    verdict = mark(exercise.name, student)
    assert all(line.passed for line in verdict.lines), explain(verdict)


BUILT_ON = [
    pytest.param(below, above, id=f"{above.name} on {below.name}")
    for below in exercises()
    for above in exercises(below.notebook)
    if above.name != below.name and below.name in uses(above.name, [above.source])
]


@pytest.mark.slow
@pytest.mark.parametrize(("below", "above"), BUILT_ON)
def test_a_mistake_costs_nothing_in_the_exercises_built_on_it(below, above, everything):
    """With every answer right but one (a fifth of them, or all), only that one loses marks, though others call it."""
    others = [other for other in exercises(below.notebook) if other.name != below.name]
    for mistake in below.mistakes[:: 1 if everything else 5]:
        namespace = namespace_with(below, "")
        for source in (*(each.source for each in others), mistake.source):
            exec(source, namespace)
        verdict = mark(above.name, in_process(namespace))
        assert verdict.full, f"{mistake.name} costs marks in {above.name}: {explain(verdict)}"


@pytest.mark.parametrize("exercise", EXERCISES)
def test_an_unanswered_exercise_gets_zero_and_says_so(exercise):
    head = "class {}(nn.Module):\n    def __init__" if exercise.name[0].isupper() else "def {}"
    stub = f"{head.format(exercise.name)}(*a, **k):\n        raise NotImplementedError('x')\n"
    verdict = marked(exercise, stub)
    assert verdict.earned == 0
    assert "not been answered" in verdict.remark


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_exercise_has_a_catalogue_worth_the_name(exercise):
    assert len(exercise.mistakes) >= 15, f"{mistakes_file(exercise.name)} declares too few mistakes"
    for sentence in (mistake.sentence for mistake in exercise.mistakes):
        assert len(sentence) > 20, sentence
        assert sentence.rstrip().endswith((".", ")", "?")), sentence
    for file in exercise_files(exercise.name):
        assert len(file.read_text("utf-8").splitlines()) <= 600


@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_module_of_mistakes_begins_with_the_reference(exercise):
    title, _, shown = ast.get_docstring(ast.parse(mistakes_file(exercise.name).read_text("utf-8"))).partition("\n\n")
    assert title == f"Wrong and right answers to `{exercise.name}`. The reference ({exercise.notebook}):"
    assert syntax(shown) == syntax(exercise.source)


@pytest.mark.slow
@pytest.mark.parametrize("exercise", EXERCISES)
def test_what_can_go_wrong_everywhere_is_known_here(exercise, everything):
    """Where a common mistake that an exercise leaves out loses marks after all, a mistake of its own names it."""
    for slip in (slip for slip in COMMON_MISTAKES if slip.name in exercise.harmless):
        variants = exercise.with_common_mistake(slip, exercise.source)
        assert variants, f"{slip.name} does not fit here: it need not be left out"
        for source in variants if everything else variants[:1]:
            verdict = marked(exercise, source)
            assert verdict.full or verdict.diagnoses, f"{slip.name} loses marks here, and nothing names it"


def test_at_least_eight_exercises_are_built_on_others():
    assert len(BUILT_ON) >= 8


def test_every_common_mistake_is_listed_under_one_name():
    found = Counter(mistake.name for exercise in exercises() for mistake in exercise.mistakes)
    assert found["nothing_returned"] >= len(exercises()) - 3  # three answers have nothing to return
    with_edits = [common.name for common in COMMON_MISTAKES if common.always or common.giving or common.taking]
    assert len(with_edits) >= 17
    assert all(found[name] >= 3 for name in with_edits), {name: found[name] for name in with_edits}


@pytest.mark.parametrize("question", questions(), ids=lambda question: question.name)
def test_exactly_one_letter_is_right_and_each_has_its_explanation(question):
    found = {letter: mark(question.name, in_process({question.name: letter})) for letter in question.explanations}
    assert {letter: verdict.lines[0].message for letter, verdict in found.items()} == question.explanations
    assert [letter for letter, verdict in found.items() if verdict.earned] == [question.key]
    assert len(set(question.explanations.values())) == len(question.explanations) == 4


@pytest.mark.parametrize("answer", [None, "", "E", "AB", ["A"], 1, True, {"A": 1}], ids=repr)
def test_anything_but_a_letter_earns_nothing(answer):
    assert not any(mark(question.name, in_process({question.name: answer})).earned for question in questions())


def test_the_references_agree_with_pytorch():
    generator = torch.Generator().manual_seed(3)
    Q, K, V = (torch.randn(2, 6, n, d, generator=generator) for n, d in ((5, 8), (7, 8), (7, 3)))
    mask = torch.rand(5, 7, generator=generator) > 0.6
    mask[:, 0] = False
    scores, attention = Q @ K.mT, F.scaled_dot_product_attention
    for ours, expected in (
        (reference("softmax")(scores, dim=2), torch.softmax(scores, dim=2)),
        (reference("simple_attention")(Q), attention(Q, Q, Q, scale=1.0)),
        (reference("scaled_dot_product_attention")(Q, K, V, mask)[0], attention(Q, K, V, attn_mask=~mask)),
        (reference("causal_mask")(6), torch.nn.Transformer.generate_square_subsequent_mask(6).isinf()),
        (reference("masked_softmax")(scores, mask), torch.softmax(scores.masked_fill(mask, -torch.inf), -1)),
    ):
        torch.testing.assert_close(ours, expected)
    for groups in (1, 2, 3, 6):
        ours = reference("grouped_query_attention")(Q, K[:, :groups], V[:, :groups], mask)
        all_heads = (repeat_kv(heads[:, :groups], 6 // groups) for heads in (K, V))  # Llama's
        for expected in (
            attention(Q, K[:, :groups], V[:, :groups], attn_mask=~mask, enable_gqa=True),
            attention(Q, *all_heads, attn_mask=~mask),
        ):
            torch.testing.assert_close(ours, expected)


def test_the_references_of_modern_layers_agree_with_pytorch_and_llama():
    x, norm, swiglu = 3 * torch.randn(2, 5, 6) + 2, reference("RMSNorm")(6), reference("SwiGLU")(6, 11)
    nn.init.normal_(norm.weight)
    llama = LlamaMLP(LlamaConfig(hidden_size=6, intermediate_size=11, num_attention_heads=2))
    for ours, expected, suffix in (
        *((norm, kind(6, eps=1e-6), ".") for kind in (nn.RMSNorm, LlamaRMSNorm)),
        (swiglu, llama, "_proj."),
    ):
        expected.load_state_dict({name.replace(".", suffix): weight for name, weight in ours.state_dict().items()})
        torch.testing.assert_close(ours(x), expected(x))
