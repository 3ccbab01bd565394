"""Tests that mistakes cost what a teacher would take off: a worse one never earns more, an empty answer nothing."""

import ast
import itertools
import re
from html import escape
from pathlib import Path

import pytest
from conftest import ROOT
from submissions import ANSWERS, POINTS, mark
from typer.testing import CliRunner

from autograder.cli import app
from autograder.judge.cost_table import costs_of, markdown, span
from autograder.judge.diagnosis import fingerprint_store, mistake_costs
from autograder.judge.diagnosis.mistake_costs import Costs, CostsError, read
from autograder.judge.mark import Verdict, by_lines, gave_a_value, points_of_variant, share_of
from autograder.judge.mark import mark as judged
from autograder.judge.run_check import student_with_answer
from autograder.judge.verdict import html, plain
from autograder.nbgrader_plugin.report.data import _judged
from autograder.spec import catalogue, common_mistakes
from autograder.spec.course import course, exercise, exercises
from autograder.spec.exercise import Exercise
from autograder.spec.messages import UNANSWERED

EXERCISES = [pytest.param(exercise, id=exercise.name) for exercise in exercises()]
ATTENTION = exercise("scaled_dot_product_attention")
SOFTMAX = exercise("softmax")
QUICK = ("softmax", "simple_attention", "scaled_dot_product_attention", "decode")  # the last has a line on refusals


def verdict_on(declared: Exercise, source: str) -> Verdict:
    return judged(declared.name, student_with_answer(declared, source))


def changed(source: str, *edits: tuple[str, str]) -> str:
    for old, new in edits:
        assert old in source
        source = source.replace(old, new)
    return source


NO_SCALE = changed(ATTENTION.source, (" / math.sqrt(d_k)", ""))
NO_SHIFT = changed(SOFTMAX.source, ("scores - scores.amax(dim=dim, keepdim=True)", "scores"))
RESULTS = ("None", "0", "1.0", "[]", "True", "(0, 0)", "torch.zeros(2, 3)")
OF_ITS_SHAPE = ("RESULT * 0", "RESULT * 0 + 1", "RESULT & False", "RESULT | True", "RESULT[:0]", "type(RESULT)()")


@pytest.mark.parametrize("declared", EXERCISES)
def test_a_worse_mistake_never_earns_more(declared):
    """A slip costs least; where the point is missed the lines alone count; failing more lines never earns more."""
    assert {mistake.name for mistake in declared.catalogue.wrong} <= {mistake.name for mistake in declared.mistakes}
    known = fingerprint_store.of(declared.name)
    marks: dict[str, list[float]] = {severity: [] for severity in catalogue.SEVERITIES}
    found = []
    for variant, mistake in enumerate(known.names):
        earned, alone = points_of_variant(declared, known, variant), by_lines(declared, known, variant)
        assert alone <= earned < declared.points
        output = declared.severities[mistake]
        # what costs no more than a slip is one, whatever it is called
        cheap = output == catalogue.MISCONCEPTION and 1 - alone / declared.points <= Costs.slip
        severity = catalogue.MINOR if cheap else output
        marks[severity].append(earned)
        assert earned == alone if severity == catalogue.FUNDAMENTAL else earned > 0
        if mistake != "single_precision_inside":  # which costs the same everywhere
            found.append((output, frozenset(known.failed[variant].nonzero()[0]), earned))
    assert marks[catalogue.MINOR]
    assert max(marks[catalogue.MISCONCEPTION], default=0.0) < min(marks[catalogue.MINOR])
    for severity, failed, earned in found:
        assert not [one for one in found if one[0] == severity and failed < one[1] and one[2] > earned]


def empty_answers(declared: Exercise) -> list[str]:
    """Return answers that compute nothing: constants, of the right shape too, the input as it came, errors."""
    sources = [f"def {declared.name}(*a, **k):\n    pass\n", f"class {declared.name}(nn.Module):\n    pass\n"]
    for template in OF_ITS_SHAPE:
        whole = ast.parse(declared.source)
        if common_mistakes.result(template)(common_mistakes.answering(whole, declared.name)):
            sources.append(ast.unparse(ast.fix_missing_locations(whole)))
    tree = ast.parse(declared.source)
    function = common_mistakes.answering(tree, declared.name)
    first = next(argument.arg for argument in function.args.args if argument.arg != "self")
    returned = [f"return {one}" for one in (*RESULTS, first)]
    for statement in (*returned, "raise TypeError('no')", "raise ValueError('no')"):
        function.body = ast.parse(statement).body
        sources.append(ast.unparse(tree))
    return sources


@pytest.mark.slow
@pytest.mark.parametrize(
    "declared", [pytest.param(e, id=e.name, marks=() if e.name in QUICK else pytest.mark.long) for e in exercises()]
)
def test_an_answer_that_computes_nothing_gains_nothing(declared):
    for source in empty_answers(declared):
        verdict = verdict_on(declared, source)
        assert not verdict.score_explanation, source
        assert verdict.earned == of_its_lines(declared, verdict), source


def of_its_lines(declared: Exercise, verdict: Verdict) -> float:
    return share_of(declared, sum(line.weight for line in verdict.lines if line.passed))


def test_what_never_gave_a_value_is_no_answer_that_is_right_otherwise():
    assert not gave_a_value({"values": [{"value": None}, {"problem": {"kind": "raised"}}], "more": []})
    assert gave_a_value({"values": [{"value": None}, {"value": (None, [0.5])}]})
    verdict = verdict_on(SOFTMAX, "def softmax(scores, dim=-1):\n    raise NotImplementedError('x')\n")
    assert (verdict.earned, verdict.remark, verdict.score_explanation) == (0.0, UNANSWERED, "")


def test_a_ban_stands_above_what_mistakes_cost():
    variants = next(mistake for mistake in SOFTMAX.mistakes if mistake.name == "temperature").sources
    assert verdict_on(SOFTMAX, variants[1]).earned == SOFTMAX.points * (1 - Costs.misconception)
    banned = "def softmax(scores, dim=-1):\n    return torch.softmax(2 * scores, dim)\n"
    assert verdict_on(SOFTMAX, banned).earned == 0.0


def test_a_forgotten_scale_is_wrong_in_its_values_and_in_nothing_else():
    verdict = verdict_on(ATTENTION, NO_SCALE)
    wrong = [line for line in verdict.lines if not line.passed and line.judged]
    assert [line.title for line in wrong] == [ATTENTION.checks[0].title]
    assert {line.message for line in verdict.lines if not line.judged} == {"Not judged: the values differ."}
    assert verdict.earned == 6.0
    assert "This is a slip in an answer that is right otherwise: it costs 2 of 8 points." in plain(verdict)
    assert html(verdict).count("✗") == 1
    marks = {line.title: "right" if line.passed else "WRONG" if line.judged else "–" for line in verdict.lines}
    assert all(f"  {mark:^5}  {title}" in plain(verdict).splitlines() for title, mark in marks.items())
    unjudged = list(marks.values()).count("–")
    assert unjudged > 3
    assert html(verdict).count("– not judged") == 1, "one row for all of them"
    assert f"<summary>{unjudged} checks. Not judged: the values differ.</summary>" in html(verdict)
    assert all(escape(line.title) in html(verdict) for line in verdict.lines)
    states = [line.passed for line in _judged("ana", verdict, "").lines]  # in the class report
    assert states.count(False) == 1
    assert states.count(None) > 3


def test_values_that_differ_excuse_no_line_that_is_wrong_by_itself():
    """A dtype that is lost shows beside a missing scale; and nothing is excused while all values are right."""
    source = changed(NO_SCALE, ("weights @ V, weights", "(weights @ V).float(), weights.float()"))
    verdict = verdict_on(ATTENTION, source)
    [line] = [line for line in verdict.lines if line.title.startswith("float64")]
    assert line.judged
    assert "float32" in line.message
    verdict = verdict_on(SOFTMAX, NO_SHIFT)
    assert verdict.lines[0].passed
    assert all(line.judged for line in verdict.lines)


def test_an_error_that_names_other_sizes_is_the_same_fault():
    declared = exercise("padding_mask")
    [mistake] = [one for one in declared.mistakes if one.name == "no_broadcast_dimension"]
    verdict = verdict_on(declared, mistake.source)
    assert "The size of tensor a (5) must match" in verdict.lines[0].message
    assert [line.judged for line in verdict.lines] == [True] + [False] * (len(verdict.lines) - 1)


def test_two_named_mistakes_cost_both_and_never_less_than_one():
    """Ids in another order, and an error of another type: each fails lines of its own."""
    declared = exercise("encode")
    [mistake] = [one for one in declared.mistakes if one.name == "sorted_ids"]
    both = verdict_on(declared, changed(mistake.source, ("ValueError", "KeyError")))
    assert [one.mistake for one in both.diagnoses] == ["sorted_ids", "error_of_another_type"]
    alone = verdict_on(declared, mistake.source)
    assert (alone.earned, both.earned) == (1.0, 0.5)
    output = (
        "These are a misconception (1) and a slip (0.5) in an answer that is right otherwise: together they cost 1.5"
    )
    assert output in both.score_explanation
    shares = [0.05, 0.25, 0.5, 0.75, 1.0]
    for points, one, other in itertools.product((1.0, 3.0, 8.0), shares, shares):
        together = mistake_costs.by_costs(points, [one, other])
        assert 0 <= together < points
        assert together <= min(mistake_costs.by_costs(points, [one]), mistake_costs.by_costs(points, [other]))


def test_two_mistakes_in_one_answer_cost_the_failed_lines():
    last = "return exps / exps.sum(dim=dim, keepdim=True)"
    single = (last, last.replace("return ", "return (") + ").float()")
    both = verdict_on(SOFTMAX, changed(NO_SHIFT, single))
    assert {one.mistake for one in both.diagnoses} == {"no_shift", "single_precision"}
    assert not both.score_explanation


def test_an_answer_with_an_unexplained_rest_costs_the_failed_lines():
    source = changed(NO_SCALE, ("return weights @ V, weights", "return weights @ V * 1.001, weights"))
    verdict = verdict_on(ATTENTION, source)
    assert not verdict.score_explanation
    assert verdict.earned == of_its_lines(ATTENTION, verdict)


def test_another_error_message_costs_the_failed_lines():
    """The type of an error alone is soon met; so its message must be the same."""
    [mistake] = [one for one in ATTENTION.mistakes if one.name == "mask_as_condition"]
    assert verdict_on(ATTENTION, mistake.source).score_explanation
    raises = "if mask is not None and mask.numel() > 1:\n        raise RuntimeError('no')\n    if mask:"
    verdict = verdict_on(ATTENTION, changed(mistake.source, ("if mask:", raises)))
    assert [one.mistake for one in verdict.diagnoses] == ["mask_as_condition"]
    assert not verdict.score_explanation


def test_what_is_refused_as_asked_is_said_in_everybodys_own_words():
    declared = exercise("bleu")
    [mistake] = [one for one in declared.mistakes if one.name == "scale_of_one"]
    own_words = re.sub(r"raise ValueError\(.*\)", 'raise ValueError("as many of these, please")', mistake.source)
    assert own_words != mistake.source
    assert verdict_on(declared, own_words).earned == verdict_on(declared, mistake.source).earned > 0


@pytest.mark.slow
def test_no_mark_depends_on_a_mistake_in_another_exercise(template, short):
    """SelfAttention calls the student's own attention: its missing scale costs there, and there alone."""
    call = "return scaled_dot_product_attention(Q, K, V, mask)"
    swapped = {"SelfAttention": changed(ANSWERS["SelfAttention"], (call, f"{call}[::-1]"))}
    _, alone = mark(template, short, ANSWERS | swapped)
    _, both = mark(template, short, ANSWERS | swapped | {ATTENTION.name: NO_SCALE})
    assert both[ATTENTION.name].earned == alone["SelfAttention"].earned == both["SelfAttention"].earned == 6.0
    assert both["SelfAttention"].score_explanation == alone["SelfAttention"].score_explanation
    assert alone[ATTENTION.name].earned == POINTS[ATTENTION.name]


def test_the_file_beside_nbgraders_configuration_says_what_mistakes_cost(tmp_path, monkeypatch):
    monkeypatch.setattr(mistake_costs, "root", lambda: tmp_path)
    assert mistake_costs.costs.__wrapped__() == Costs()
    (tmp_path / mistake_costs.FILE).write_text("slip = 0.1\n")
    assert mistake_costs.costs.__wrapped__().slip == 0.1
    output = read('slip = 0.125\n[scaled_dot_product_attention]\nno_scale = "misconception"\nscale_d_k = 0.75\n')
    assert output.of("softmax", "rounded", catalogue.MINOR) == 0.125
    assert output.of("softmax", "no_shift", "") == Costs.misconception
    monkeypatch.setattr(mistake_costs, "costs", lambda: output)
    verdict = verdict_on(ATTENTION, NO_SCALE)
    assert verdict.earned == 4.0
    assert "a misconception" in verdict.score_explanation
    assert verdict_on(ATTENTION, changed(ATTENTION.source, ("math.sqrt(d_k)", "d_k"))).earned == 2.0
    output = read("slip = 1.0\nmisconception = 1.0\n")  # costs that change nothing leave the lines alone
    known = fingerprint_store.of(SOFTMAX.name)
    for variant in range(len(known.variants)):
        assert points_of_variant(SOFTMAX, known, variant) == by_lines(SOFTMAX, known, variant)
    output = read("[scaled_dot_product_attention]\nno_scale = 0.625\n")  # another price is no other word
    verdict = verdict_on(ATTENTION, NO_SCALE)
    assert verdict.score_explanation == "This is a slip in an answer that is right otherwise: it costs 5 of 8 points."


@pytest.mark.parametrize(
    ("text", "output"),
    [
        *((text, "a share of the points above 0") for text in ("slip = 0", "slip = true", "misconception = 1.5")),
        ("slip = ", "cannot be read"),
        ("slip = 0.6", "a slip costs more than a misconception"),
        ("blunder = 0.1", "'blunder' is none of slip, misconception"),
        ("[sofmax]\nno_shift = 0.1", "sofmax"),
        ("[softmax]\nno_shfit = 0.1", "softmax has no catalogued mistake 'no_shfit'"),
        ('[softmax]\nno_shift = "grave"', "softmax.no_shift is 'grave'"),
    ],
)
def test_a_file_that_cannot_be_followed_is_refused_in_a_sentence(text, output):
    with pytest.raises(CostsError, match=re.escape(output)):
        read(text, Path("costs.toml"))


def test_the_guides_table_and_file_are_what_the_program_says():
    guide = (ROOT / "docs" / "instructors.md").read_text("utf-8")
    assert markdown(course().commonest) in guide
    assert (span((0.5, 2)), span((2, 2))) == ("0.5 to 2", "2")
    for names, output in (((), markdown(course().commonest)), (("softmax",), "no_shift")):
        done = CliRunner().invoke(app, ["mistakes", *names, "--costs"])
        assert done.exit_code == 0, done.output
        assert output in done.output
        assert names or done.output.strip() in guide
    assert {cost_range.mistake for cost_range in costs_of("softmax")} == {mistake.name for mistake in SOFTMAX.mistakes}
    assert CliRunner().invoke(app, ["mistakes"]).exit_code == 2
    [example] = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)
    output = read(example)
    assert (output.slip, output.misconception) == (Costs.slip, Costs.misconception)
    assert output.single
