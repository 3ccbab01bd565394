"""What a mistake costs: what a teacher would take off, never the other way round, and nothing for an empty answer."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from conftest import ROOT
from submissions import ANSWERS, POINTS, mark
from typer.testing import CliRunner

from autograder.asked import catalogue
from autograder.asked.course import course, exercise, exercises
from autograder.asked.declare import UNANSWERED, Exercise
from autograder.asked.slips import SLIPS
from autograder.cli import app
from autograder.grading.class_data import _judged
from autograder.judge import costs, learning
from autograder.judge.asking import answering
from autograder.judge.costs import Costs, CostsError, read
from autograder.judge.mark import Verdict, by_lines, gave_a_value, points_of_version, share_of
from autograder.judge.mark import mark as judged
from autograder.judge.price_list import markdown, prices
from autograder.judge.report import html, plain

EXERCISES = [pytest.param(exercise, id=exercise.name) for exercise in exercises()]
ATTENTION = exercise("scaled_dot_product_attention")
SOFTMAX = exercise("softmax")


def verdict_on(declared: Exercise, source: str) -> Verdict:
    return judged(declared.name, answering(declared, source), [source])


def changed(source: str, *edits: tuple[str, str]) -> str:
    for old, new in edits:
        assert old in source
        source = source.replace(old, new)
    return source


NO_SCALE = changed(ATTENTION.source, (" / math.sqrt(d_k)", ""))
NO_SHIFT = changed(SOFTMAX.source, ("scores - scores.amax(dim=dim, keepdim=True)", "scores"))


# --- the order, over everything that is catalogued --------------------------------------------------------------------


def grade_of(declared: Exercise, mistake: str, lost: float) -> str:
    """What the guide says: a mistake whose lines cost no more than a slip is one, whatever it is called."""
    said = declared.grades.get(mistake, "")
    return catalogue.SLIP if not said and lost <= Costs.slip else said or catalogue.MISCONCEPTION


@pytest.mark.parametrize("declared", EXERCISES)
def test_a_worse_mistake_never_earns_more(declared):
    """Reference > slip > misconception > blank; and where the point is missed, the lines alone count."""
    known = learning.of(declared.name)
    marks: dict[str, list[float]] = {grade: [] for grade in catalogue.GRADES}
    for version, mistake in enumerate(known.names):
        earned, alone = points_of_version(declared, known, version), by_lines(declared, known, version)
        assert alone <= earned < declared.points
        grade = grade_of(declared, mistake, 1 - alone / declared.points)
        marks[grade].append(earned)
        if grade == catalogue.MISSED:
            assert earned == alone
        else:
            assert earned > 0
    slips, misconceptions = marks[catalogue.SLIP], marks[catalogue.MISCONCEPTION]
    assert slips
    assert max(misconceptions, default=0.0) < min(slips)


@pytest.mark.parametrize("declared", EXERCISES)
def test_whoever_fails_more_lines_by_as_grave_a_mistake_earns_no_more(declared):
    known = learning.of(declared.name)
    found = [
        (declared.grades.get(mistake, ""), frozenset(known.failed[version].nonzero()[0]), version)
        for version, mistake in enumerate(known.names)
    ]
    for grade, failed, version in found:
        for other_grade, other_failed, other in found:
            if grade == other_grade and failed < other_failed:
                assert points_of_version(declared, known, other) <= points_of_version(declared, known, version)


def test_two_mistakes_cost_both_and_never_less_than_one():
    for points in (1.0, 3.0, 8.0):
        shares = [0.05, 0.25, 0.5, 0.75, 1.0]
        for one in shares:
            for other in shares:
                both = costs.by_costs(points, [one, other])
                assert both <= min(costs.by_costs(points, [one]), costs.by_costs(points, [other]))
                assert 0 <= both < points


def test_every_grade_is_one_that_is_known_and_is_about_a_mistake_of_its_room():
    for declared in exercises():
        graded = catalogue.grades(declared.wrong)
        assert set(graded.values()) <= set(catalogue.GRADES)
        assert set(graded) <= {mistake.name for mistake in declared.mistakes}, declared.name


def test_most_of_what_is_catalogued_is_neither_excused_nor_condemned():
    """If nearly everything were a slip, or the point missed, the three words would say nothing."""
    grades = [mistake.grade for declared in exercises() for mistake in declared.mistakes]
    assert grades.count("") > len(grades) / 3
    assert grades.count(catalogue.SLIP) > grades.count(catalogue.MISSED) > len(exercises())


# --- nothing for nothing ----------------------------------------------------------------------------------------------


def empty_answers(declared: Exercise) -> list[str]:
    """Answers that compute nothing: constants, the input as it came, errors."""
    tree = ast.parse(declared.source)
    [node] = [n for n in tree.body if getattr(n, "name", "") == declared.name]
    results = ["None", "0", "0.0", "1.0", "''", "[]", "{}", "True", "(0, 0)", "torch.zeros(1)", "torch.zeros(2, 3)"]
    if isinstance(node, ast.ClassDef):
        [forward] = [n for n in node.body if getattr(n, "name", "") == "forward"]
        first = forward.args.args[1].arg
        forward.body = ast.parse("return RESULT").body
        function = forward
    else:
        first = node.args.args[0].arg
        node.body = ast.parse("return RESULT").body
        function = node
    sources = []
    for result in [*results, first]:
        function.body = ast.parse(f"return {result}").body
        sources.append(ast.unparse(node))
    for error in ("TypeError", "RuntimeError", "ValueError", "KeyError"):
        function.body = ast.parse(f"raise {error}('no')").body
        sources.append(ast.unparse(node))
    return [*sources, f"def {declared.name}(*a, **k):\n    pass\n", f"class {declared.name}(nn.Module):\n    pass\n"]


def assert_gains_nothing(declared: Exercise) -> None:
    for source in empty_answers(declared):
        verdict = verdict_on(declared, source)
        assert not verdict.reckoning, source
        assert verdict.earned == share_of(declared, sum(line.weight for line in verdict.lines if line.passed)), source


@pytest.mark.parametrize("declared", [pytest.param(e, id=e.name) for e in exercises("05-attention")])
def test_an_answer_that_computes_nothing_gains_nothing(declared):
    assert_gains_nothing(declared)


@pytest.mark.slow
@pytest.mark.parametrize("declared", [pytest.param(e, id=e.name) for e in exercises() if e.notebook != "05-attention"])
def test_an_answer_that_computes_nothing_gains_nothing_in_any_notebook(declared):
    assert_gains_nothing(declared)


def test_what_never_gave_a_value_is_no_answer_that_is_right_otherwise():
    assert not gave_a_value({"values": [{"value": None}, {"problem": {"kind": "raised"}}], "more": []})
    assert gave_a_value({"values": [{"value": None}, {"value": (None, [0.5])}]})


def test_an_unanswered_exercise_stays_at_zero():
    stub = "def softmax(scores, dim=-1):\n    raise NotImplementedError('x')\n"
    verdict = verdict_on(SOFTMAX, stub)
    assert (verdict.earned, verdict.remark, verdict.reckoning) == (0.0, UNANSWERED, "")


def test_a_ban_stands_above_what_mistakes_cost():
    banned = "def softmax(scores, dim=-1):\n    return torch.softmax(2 * scores, dim)\n"
    versions = next(mistake for mistake in SOFTMAX.mistakes if mistake.name == "temperature").sources
    assert verdict_on(SOFTMAX, versions[1]).earned == SOFTMAX.points * (1 - Costs.misconception)
    assert verdict_on(SOFTMAX, banned).earned == 0.0


# --- one answer, as the student reads it ------------------------------------------------------------------------------


def test_a_forgotten_scale_is_wrong_in_its_values_and_in_nothing_else():
    verdict = verdict_on(ATTENTION, NO_SCALE)
    wrong = [line for line in verdict.lines if not line.passed and line.judged]
    assert [line.title for line in wrong] == [ATTENTION.checks[0].title]
    assert {line.message for line in verdict.lines if not line.judged} == {"Not judged: the values differ."}
    assert verdict.earned == 6.0
    assert "This is a slip in an answer that is right otherwise: it costs 2 of 8 points." in plain(verdict)
    assert html(verdict).count("✗") == 1
    assert html(verdict).count("not judged") == sum(not line.judged for line in verdict.lines) > 3


def test_what_is_wrong_whatever_the_values_are_is_still_said():
    """Beside a missing scale a dtype that is lost shows by itself."""
    source = changed(NO_SCALE, ("weights @ V, weights", "(weights @ V).float(), weights.float()"))
    verdict = verdict_on(ATTENTION, source)
    [line] = [line for line in verdict.lines if line.title.startswith("float64")]
    assert line.judged
    assert "float32" in line.message


def test_values_that_differ_excuse_no_line_while_all_values_are_right():
    verdict = verdict_on(SOFTMAX, NO_SHIFT)
    assert verdict.lines[0].passed
    assert all(line.judged for line in verdict.lines)


def test_two_named_mistakes_cost_both():
    """Both fail lines of their own: together they cost what each costs, or the lines if those cost less."""
    result = "exps / exps.sum(dim=dim, keepdim=True)"
    single = (f"return {result}", f"return ({result}).float()")
    sources = (NO_SHIFT, changed(SOFTMAX.source, single), changed(NO_SHIFT, single))
    no_shift, narrow, both = (verdict_on(SOFTMAX, source) for source in sources)
    assert {one.mistake for one in both.diagnoses} == {"no_shift", "single_precision"}
    shares = {one.mistake: one.share for one in (*no_shift.diagnoses, *narrow.diagnoses)}
    assert {one.mistake: one.share for one in both.diagnoses} == shares
    passed = sum(line.weight for line in both.lines if line.passed)
    assert both.earned == max(costs.by_costs(SOFTMAX.points, [*shares.values()]), share_of(SOFTMAX, passed))
    assert both.earned < min(no_shift.earned, narrow.earned)


def test_a_mistake_that_leaves_something_unexplained_gains_nothing():
    source = changed(NO_SCALE, ("return weights @ V, weights", "return weights @ V * 1.001, weights"))
    verdict = verdict_on(ATTENTION, source)
    assert not verdict.reckoning
    assert verdict.earned == share_of(ATTENTION, sum(line.weight for line in verdict.lines if line.passed))


def test_an_error_with_other_words_may_be_another_mistake():
    """The type of an error alone is soon met; so what it says must be the same."""
    [mistake] = [one for one in ATTENTION.mistakes if one.name == "mask_as_condition"]
    assert verdict_on(ATTENTION, mistake.source).reckoning
    other = changed(
        mistake.source,
        ("if mask:", "if mask is not None and mask.numel() > 1:\n        raise RuntimeError('no')\n    if mask:"),
    )
    verdict = verdict_on(ATTENTION, other)
    assert [one.mistake for one in verdict.diagnoses] == ["mask_as_condition"]
    assert not verdict.reckoning


def test_in_the_class_report_a_line_that_was_not_judged_is_neither_passed_nor_failed():
    found = _judged("ana", verdict_on(ATTENTION, NO_SCALE).as_data(), "")
    states = [line.passed for line in found.lines]
    assert states.count(False) == 1
    assert states.count(None) > 3


# --- other exercises --------------------------------------------------------------------------------------------------


def test_no_mark_depends_on_a_mistake_in_another_exercise(template, short):
    """SelfAttention calls the student's own attention: its missing scale costs there, and there alone."""
    _, verdicts = mark(template, short, ANSWERS | {ATTENTION.name: NO_SCALE})
    assert verdicts[ATTENTION.name].earned == 6.0
    assert verdicts["SelfAttention"].full
    swapped = changed(
        ANSWERS["SelfAttention"],
        (
            "return scaled_dot_product_attention(Q, K, V, mask)",
            "return scaled_dot_product_attention(Q, K, V, mask)[::-1]",
        ),
    )
    _, alone = mark(template, short, ANSWERS | {"SelfAttention": swapped})
    _, both = mark(template, short, ANSWERS | {"SelfAttention": swapped, ATTENTION.name: NO_SCALE})
    assert alone["SelfAttention"].earned == both["SelfAttention"].earned == 6.0
    assert both["SelfAttention"].reckoning == alone["SelfAttention"].reckoning
    assert alone[ATTENTION.name].earned == POINTS[ATTENTION.name]


# --- what an instructor may say ---------------------------------------------------------------------------------------


def test_the_file_says_what_mistakes_cost(monkeypatch):
    said = read('slip = 0.125\n[scaled_dot_product_attention]\nno_scale = "misconception"\nscale_d_k = 0.75\n')
    assert said.of("softmax", "rounded", catalogue.SLIP) == 0.125
    assert said.of("softmax", "no_shift", "") == Costs.misconception
    monkeypatch.setattr(costs, "costs", lambda: said)
    verdict = verdict_on(ATTENTION, NO_SCALE)
    assert verdict.earned == 4.0
    assert "a misconception" in verdict.reckoning
    assert verdict_on(ATTENTION, changed(ATTENTION.source, ("math.sqrt(d_k)", "d_k"))).earned == 2.0


def test_costs_that_change_nothing_leave_the_lines_alone(monkeypatch):
    monkeypatch.setattr(costs, "costs", lambda: read("slip = 1.0\nmisconception = 1.0\n"))
    for declared in (ATTENTION, SOFTMAX):
        known = learning.of(declared.name)
        for version in range(len(known.versions)):
            assert points_of_version(declared, known, version) == by_lines(declared, known, version)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("slip = ", "cannot be read"),
        ("slip = 0", "a share of the points above 0"),
        ("slip = true", "a share of the points above 0"),
        ("misconception = 1.5", "a share of the points above 0"),
        ("slip = 0.6", "a slip costs more than a misconception"),
        ("blunder = 0.1", "'blunder' is none of slip, misconception"),
        ("[sofmax]\nno_shift = 0.1", "sofmax"),
        ("[softmax]\nno_shfit = 0.1", "softmax has no catalogued mistake 'no_shfit'"),
        ('[softmax]\nno_shift = "grave"', "softmax.no_shift is 'grave'"),
    ],
)
def test_a_file_that_cannot_be_followed_is_refused_in_a_sentence(text, said):
    with pytest.raises(CostsError, match=re.escape(said)):
        read(text, Path("costs.toml"))


def test_the_file_lies_beside_nbgraders_configuration(tmp_path, monkeypatch):
    class Elsewhere:
        root = tmp_path

    monkeypatch.setattr(costs, "course", lambda: Elsewhere)
    assert costs.costs.__wrapped__() == Costs()
    (tmp_path / costs.FILE).write_text("slip = 0.1\n")
    assert costs.costs.__wrapped__().slip == 0.1
    assert (ROOT / "nbgrader_config.py").is_file()
    assert course().root == ROOT


# --- the guide --------------------------------------------------------------------------------------------------------


def test_the_guides_table_and_file_are_what_the_program_says():
    guide = (ROOT / "docs" / "instructors.md").read_text("utf-8")
    assert markdown(course().commonest) in guide
    done = CliRunner().invoke(app, ["mistakes", "--costs"])
    assert done.exit_code == 0, done.output
    assert done.output.strip() in guide
    [example] = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)
    said = read(example)
    assert (said.slip, said.misconception) == (Costs.slip, Costs.misconception)
    assert said.single


def test_what_each_mistake_of_an_exercise_earns_can_be_looked_up():
    done = CliRunner().invoke(app, ["mistakes", "softmax", "--costs"])
    assert done.exit_code == 0, done.output
    assert "no_shift" in done.output
    assert {price.mistake for price in prices("softmax")} == {mistake.name for mistake in SOFTMAX.mistakes}
    assert CliRunner().invoke(app, ["mistakes"]).exit_code == 2


def test_what_goes_wrong_everywhere_is_a_slip_unless_an_empty_answer_looks_alike():
    assert {slip.name for slip in SLIPS if slip.grade == catalogue.MISSED} == {"nothing_returned", "array_returned"}
    assert all(slip.grade in (catalogue.SLIP, catalogue.MISSED) for slip in SLIPS)
