"""Tests that uncatalogued wrong answers are grouped by behaviour, and that one entry names a whole group."""

import dataclasses
import json

import pytest
from test_class_report import NAME, Student, collected, make_class, wrong
from typer.testing import CliRunner

from autograder.cli import app
from autograder.judge.diagnosis import signature_store
from autograder.judge.diagnosis.behaviour import alike
from autograder.judge.mark import mark
from autograder.judge.run_check import student_with_answer
from autograder.nbgrader_plugin.report.unnamed_answers import groups
from autograder.spec import catalogue
from autograder.spec.course import exercise

# Two programs that block the same odd thing, one that blocks another, one that raises, one that is catalogued.
SECOND = """def causal_mask(T, device=None):
    i = torch.arange(T, device=device)
    return (i[None] % 2 == 1) & (i[None] > i[:, None])
"""
SECOND_AGAIN = """def causal_mask(T, device=None):
    # every second of the future
    mask = torch.zeros(T, T, dtype=torch.bool, device=device)
    for q in range(T):
        for k in range(q + 1, T):
            mask[q, k] = k % 2 == 1
    return mask
"""
THIRD = SECOND.replace("% 2 == 1", "% 3 == 1")
RAISES = 'def causal_mask(T, device=None):\n    raise LookupError("no such mask")\n'
CATALOGUED = exercise("causal_mask").mistakes[0].source


def verdict(source):
    return mark("causal_mask", student_with_answer(exercise("causal_mask"), source), [source])


def handed_in(source):
    return Student({"causal_mask": verdict(source)}, {"causal_mask": source})


@pytest.fixture(scope="module")
def classroom(tmp_path_factory):
    answers = {"ada": SECOND, "ben": THIRD, "cleo": SECOND_AGAIN, "dan": CATALOGUED, "eve": RAISES}
    students = {student: handed_in(source) for student, source in answers.items()} | {"fay": Student()}
    return make_class(tmp_path_factory.mktemp("unknown") / "term", students)


def test_answers_that_do_the_same_are_one_group_however_they_are_written(classroom):
    found = groups(collected(classroom))
    assert [set(group.students) for group in found] == [{"ada", "cleo"}, {"ben"}, {"eve"}]
    assert {group.exercise for group in found} == {"causal_mask"}
    assert "every second" not in found[0].example  # no comments
    assert found[0].example in SECOND
    assert all(group.fails and all(message for _, message in group.fails) for group in found)


def test_what_is_named_in_part_is_grouped_by_the_rest(classroom):
    """A mistake that explains one of two failed lines leaves the other to be named."""
    odd = verdict(SECOND)
    [first, *others] = odd.behaviour
    partly = dataclasses.replace(odd, behaviour={title: odd.behaviour[title] for title in others})
    assert others
    students = {"ada": Student({"causal_mask": odd}), "ben": Student({"causal_mask": partly})}
    found = groups(collected(make_class(classroom.parent / "partly", students)))
    assert [group.students for group in found] == [("ada",), ("ben",)]
    assert first not in dict(found[1].fails)


def test_an_entry_that_is_shown_answers_like_the_whole_group(classroom):
    [group, *_] = groups(collected(classroom))
    lines = group.entry().replace("name_of_the_mistake", "every_second")
    [entry] = catalogue.entries(lines, exercise("causal_mask").source)
    assert entry.name == "every_second"
    assert entry.sources[0] != SECOND_AGAIN
    like = [alike(verdict(one).behaviour, verdict(entry.sources[0]).behaviour) for one in (SECOND, SECOND_AGAIN, THIRD)]
    assert like == [True, True, False]


def test_verdicts_of_an_older_version_have_no_behaviour_and_are_read_all_the_same(tmp_path):
    place = make_class(tmp_path / "term", {"ada": Student({"causal_mask": wrong("causal_mask")})})
    path = place / "autograded" / "ada" / NAME / f"{NAME}.ipynb"
    notebook = json.loads(path.read_text())
    text = json.dumps(notebook)
    assert '"behaviour": {}, ' in text or ', "behaviour": {}' in text
    path.write_text(text.replace('"behaviour": {}, ', "").replace(', "behaviour": {}', ""))
    assert groups(collected(place)) == []


def said_of(place, *options):
    database = f"sqlite:///{place}/gradebook.db"
    said = CliRunner().invoke(app, ["unknown", *options, "--classroom", str(place), "--db-url", database])
    assert said.exit_code == 0, said.output
    return said.output.replace("\\", "/")


def test_the_command_prints_groups_with_lines_for_the_catalogue(classroom, tmp_path):
    signature_store.of.cache_clear()
    said = said_of(classroom, NAME)
    for words in (
        "4 wrong answers that nothing catalogued explains, in 3 groups",
        *("1. causal_mask, 06-masking", "ada, cleo", "masking/causal_mask.py", "name_of_the_mistake: ", "LookupError"),
    ):
        assert words in said
    few = said_of(classroom, "--most", "1")
    assert "2 more groups" in few
    assert "LookupError" not in few
    named = make_class(tmp_path / "term", {"ada": Student(), "dan": handed_in(CATALOGUED)})
    assert "Every wrong answer that could be judged has its name." in said_of(named)
