"""Tests that the class report is correct, as a page, in the terminal and as an export, and groups unnamed answers."""

import csv
import dataclasses
import itertools
import json
import random
import re
import shutil
import sys
from collections import Counter
from datetime import datetime

import nbformat
import pytest
from bs4 import BeautifulSoup
from conftest import ROOT, cell_of, missing
from marked_class import DIAGONAL, NAME, POINTS, WRITTEN, Student, blocked, collected, make_class, url, wrong
from nbgrader.api import Gradebook
from typer.testing import CliRunner

from autograder.cli import app
from autograder.judge.diagnosis import fingerprint_store
from autograder.judge.diagnosis.behaviour import alike
from autograder.judge.formatting import MIME
from autograder.judge.mark import mark, mark_choice, zero
from autograder.judge.run_check import student_with_answer
from autograder.nbgrader_plugin.export.verdict_table import COLUMNS, rows, write_csv, write_parquet
from autograder.nbgrader_plugin.marking.notebook_marker import zero_everywhere
from autograder.nbgrader_plugin.marking.notices import RESTARTED
from autograder.nbgrader_plugin.marking.tampering import Sign, write_signs
from autograder.nbgrader_plugin.preprocessors import _about_this_submission
from autograder.nbgrader_plugin.report.data import sections
from autograder.nbgrader_plugin.report.html_page import page, page_of_student
from autograder.nbgrader_plugin.report.items import FEWEST, items
from autograder.nbgrader_plugin.report.marks import NoClass, folders, read_marks
from autograder.nbgrader_plugin.report.similar_answers import similar_pairs
from autograder.nbgrader_plugin.report.student import student_page
from autograder.nbgrader_plugin.report.summary import duration, misconceptions, progress, rates, time_spent
from autograder.nbgrader_plugin.report.terminal import _sheets
from autograder.nbgrader_plugin.report.unnamed_answers import groups
from autograder.spec import catalogue
from autograder.spec.course import exercise, question_or_exercise
from autograder.spec.messages import UNANSWERED

MARKED = ["shift_targets", "q6_1", "causal_mask", "padding_mask", "attention_mask", "q6_2", "masked_softmax", "q6_3"]
MARKED += ["sees_the_future"]
HOSTILE = '<script>alert("x")</script>[bold red]\x1b[31m\ud800\u202e{{ 7 * 7 }}&amp;'
SHORT = "def causal_mask(T, device=None):\n    return torch.triu(torch.ones(T, T, dtype=torch.bool), 1)\n"
OWN = '''def sees_the_future(attend, T=6, C=8):
    """{doc}"""
    {tensor} = torch.linspace(-1, 1, T * C).reshape(1, T, C)
    {plain} = attend({tensor}.clone())
    {leaks} = []
    for {place} in range(T - 1, 0, -1):  # {doc}
        for {scale} in (10.0, -10.0, 0.5):
            {other} = torch.cat([{tensor}[:, :{place}], {scale} * {tensor}[:, {place}:].flip(1)], dim=1)
            {gap} = (attend({other})[:, :{place}] - {plain}[:, :{place}]).abs()
            {leaks}.append(float({gap}.max()) > 1e-6)
    return any({leaks})
'''
SLOTS = ("doc", "tensor", "plain", "leaks", "place", "scale", "other", "gap")
ONE = OWN.format(**{slot: slot for slot in SLOTS})
RENAMED = OWN.format(**{slot: f"{slot[0]}{number}" for number, slot in enumerate(SLOTS)})
KNOWN = max((one.source for one in exercise("sees_the_future").alternatives), key=len)
BROKEN = ONE.replace("any(", "any((")  # no Python: compared all the same


def unreadable(notebook):
    zero_everywhere(notebook, "The file is empty.")
    notebook.cells.insert(0, _about_this_submission(["The file is empty."], failed=True))


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    students = {
        "ada": Student(written=2.0, name=("Ada", "Lovelace"), penalty=2.0),
        "ben": blocked(),
        "cleo": blocked("def causal_mask(T, device=None):\n    # cleo was here\n    return ones(T).triu() # Cleo\n"),
        "dan": Student({name: zero(name, UNANSWERED) for name in MARKED}, waits=True, penalty=1.0),
    }
    return make_class(tmp_path_factory.mktemp("small") / "term", students, ["eve"])


@pytest.fixture
def term(small, tmp_path):
    return shutil.copytree(small, tmp_path / "term")


def the_only(folder):
    [assignment] = collected(folder).assignments
    return assignment


def report(folder, *arguments):
    done = CliRunner().invoke(app, ["report", "--classroom", str(folder), *map(str, arguments)])
    return done.exit_code, " ".join(done.output.replace("│", " ").split())


def exported(folder, *arguments):
    done = CliRunner().invoke(app, ["export", *map(str, arguments), "--classroom", str(folder)])
    return done.exit_code, " ".join(done.output.replace("│", " ").split())


def test_marks_are_nbgraders_with_what_waits_and_what_was_taken_off(small):
    before = (small / "gradebook.db").read_bytes()
    sheets = {sheet.student: sheet for sheet in the_only(small).sheets}
    found = {who: (one.raw, one.total, one.waiting, one.penalty) for who, one in sheets.items()}
    assert found["ada"] == (POINTS - 1, POINTS - 3, 0, 2.0)
    assert found["ben"] == (POINTS - 5, POINTS - 5, 0, 0.0)
    assert found["dan"] == (0.0, 0.0, 1, 1.0), "never below zero"
    assert sheets["dan"].waiting_points == 3.0
    with Gradebook(url(small), "transformers") as gradebook:
        for student, sheet in sheets.items():
            expected = gradebook.find_submission(NAME, student)
            assert (sheet.raw, sheet.points, POINTS) == (expected.score, expected.max_score, expected.max_score)
            assert sheet.penalty == expected.late_submission_penalty
    assert (small / "gradebook.db").read_bytes() == before


def test_pass_rates_are_of_those_who_answered(small):
    matrix = {row.exercise: row for row in rates(the_only(small))}
    assert list(matrix) == MARKED, "in the order of the notebook"
    row, checks = matrix["causal_mask"], exercise("causal_mask").checks
    assert (row.handed_in, row.answered) == (4, 3)
    assert [(one.title, one.passed, one.judged) for one in row.checks] == [(one.title, 1, 3) for one in checks]
    assert [(one.passed, one.judged) for one in matrix["q6_1"].checks] == [(3, 3)]


def test_an_unreadable_file_and_a_blank_cell_are_no_answers(tmp_path):
    term = make_class(tmp_path / "term", {"ada": Student(), "tunde": Student(change=unreadable)})
    assert {row.answered for row in rates(the_only(term))} == {1}
    answered = {(row["student"], row["exercise"]): row["answered"] for row in rows(collected(term))}
    assert not answered["ada", WRITTEN]
    assert answered["ada", "causal_mask"]
    _, words = report(term)
    assert "tunde all: the file could not be read" in words
    assert words.count("The file is empty.") == 1


def test_misconceptions_are_counted_by_student_across_exercises_and_ranked(tmp_path):
    def holds(*names):
        return Student({name: wrong(name, "nothing_returned", f"No return in {name}.") for name in names})

    question = question_or_exercise("q6_1")
    letter = min(set(question.explanations) - {question.key})
    students = {"s01": holds("causal_mask", "padding_mask"), "s02": holds("padding_mask"), "s03": blocked()}
    students["s04"] = Student({"q6_1": mark_choice(question, letter)})
    first, *others = misconceptions(collected(make_class(tmp_path / "term", students)))
    assert (first.name, first.students) == ("nothing_returned", 2)
    assert [(one.exercise, one.students) for one in first.occurrences] == [
        ("padding_mask", 2),
        ("causal_mask", 1),
    ]
    assert first.occurrences[1].sentence == "No return in causal_mask."
    first_of = {(one.name, one.students): one.occurrences[0] for one in others}
    assert first_of["diagonal_blocked", 1].section == "4. The triangle › Exercise: causal mask"
    assert first_of[f"q6_1: {letter}", 1].sentence == question.explanations[letter]


def test_every_exercise_of_the_course_has_a_section_to_revisit():
    for path in ROOT.glob("course/*/*.ipynb"):
        found = sections(nbformat.read(path, as_version=4).cells)
        assert found
        assert all(found.values()), path


def test_a_comment_in_a_code_block_is_no_section():
    cell = nbformat.v4.new_code_cell("", metadata={"nbgrader": {"grade_id": "f", "solution": True}})
    text = "# Title\n## 1. Of $d_k$\n```\n# a comment\n## another\n```\n"
    assert sections([nbformat.v4.new_markdown_cell(text), cell]) == {"f": "1. Of d_k"}


def test_absent_unmarked_and_unreadable_students_are_told_apart(term):
    assert the_only(term).troubles == [], "unanswered exercises did not fail to run"
    for student in ("fay", "ada"):
        (term / "submitted" / student / NAME).mkdir(parents=True)
    (term / "autograded" / "ben" / NAME / f"{NAME}.ipynb").write_text('{"cells": [')
    shutil.rmtree(term / "autograded" / "cleo")
    assignment = the_only(term)
    assert (assignment.absent, assignment.unmarked, assignment.unreadable) == (["eve"], ["fay"], ["ben", "cleo"])
    assert {one.student: one.total for one in assignment.sheets}["ben"] == POINTS - 5, "its mark stands all the same"
    assert "ben" in page(collected(term))


def test_what_did_not_run_and_signs_of_tampering_are_listed(tmp_path):
    def shows(where, *output, **about):
        shown = [nbformat.v4.new_output(*output, **about)]
        return lambda notebook: cell_of(notebook, where).update(outputs=shown)

    sign = Sign(3, "causal_mask", "import gc  # <b>", "searches the memory of the process")
    changes = {
        "s01": shows("causal_mask", "stream", name="stdout", text=f"[{RESTARTED}]\n"),
        "s02": shows("padding_mask", "error", ename="NameError", evalue="no x", traceback=[]),
        "s03": shows("masked_softmax", "stream", name="stdout", text="[I printed this]\n"),
        "s04": unreadable,
        "s05": lambda notebook: notebook.cells.insert(0, _about_this_submission(["A cell was copied."], failed=False)),
        "s06": lambda notebook: write_signs(notebook, [sign]),
    }
    folder = make_class(tmp_path / "term", {s: Student(change=c) for s, c in changes.items()})
    assignment = the_only(folder)
    assert [(one.student, one.where, one.what) for one in assignment.troubles] == [
        ("s01", "causal_mask", RESTARTED),
        ("s02", "padding_mask", "NameError: no x"),
        ("s04", "the whole notebook", "The file is empty."),
    ]
    assert assignment.signs == [("s06", sign)]
    assert "import gc  # &lt;b&gt;" in page(collected(folder))
    assert "import gc" in report(folder, NAME, "--db-url", url(folder))[1]


def honest(count):
    """Return answers to the long exercise that have little in common."""
    parts = (
        "x = attend(x)",
        "a @= x.mT",
        "for b in x:\n        a -= b",
        "x = x[:, {n}:]",
        "assert a is not x",
        "del b",
        "while len(a) < {n}:\n        a = a * x",
        "a = [b ** {n} for b in a]",
        "if a.sum() > {n}:\n        x = -x",
        "x = max(a, key=len)",
        "with torch.no_grad():\n        a = x / {n}",
        "a = {{x: b | {n}}}",
        "print(a, x, {n})",
    )
    draws = [random.Random(n) for n in range(count)]
    bodies = [["pass", *(draw.choice(parts).format(n=draw.randrange(99)) for _ in range(12))] for draw in draws]
    return {f"h{n:02}": "\n    ".join([OWN.split("\n")[0], *body]) for n, body in enumerate(bodies)}


CLASSES = {  # answers by student, and the pairs that stand out
    "a copy": (honest(12) | {"zoe": ONE, "yan": RENAMED}, [(("yan", "zoe"), ["sees_the_future"], 1.0)]),
    "a broken copy": (honest(12) | {"zoe": BROKEN, "yan": BROKEN}, [(("yan", "zoe"), ["sees_the_future"], 1.0)]),
    "short answers": (honest(12), []),
    "half the class": (honest(6) | {f"c{n}": ONE for n in range(6)}, []),
    "a catalogued answer": (honest(12) | {"zoe": KNOWN, "yan": KNOWN}, []),
    "few answers": ({"zoe": ONE, "yan": RENAMED}, []),
}


@pytest.mark.parametrize(("answers", "pairs"), CLASSES.values(), ids=CLASSES)
def test_copies_stand_out_and_nothing_else(tmp_path, answers, pairs):
    students = {who: Student(answers={"causal_mask": SHORT, "sees_the_future": text}) for who, text in answers.items()}
    found = similar_pairs(the_only(make_class(tmp_path / "term", students)))
    assert [(pair.students, list(pair.exercises), pair.alike) for pair in found] == pairs


def test_examples_and_the_anonymous_page_name_nobody_and_are_short(tmp_path):
    def holds(mistake, lines, name=(None, None)):
        source = "def causal_mask(T, device=None):\n" + "".join(f"    {line}\n" for line in lines)
        return Student({"causal_mask": wrong("causal_mask", mistake, "Said.")}, {"causal_mask": source}, name=name)

    last = "return torch.ones(T, T).triu(0).bool()"
    named = ["zebedee_mask = torch.ones(T, T)  # zebedee's", "who = 'ZEBEDEE van Dijk'", "dijk = 'Dijk'; zebedees = 1"]
    students = {
        "zebedee": holds("named", [*named, '"""by zebedee"""', last], ("Zebedee", "van Dijk")),
        "ones": holds("called like a function", [last], ("Torch", "Mask")),
        "waits": Student(waits=True),
        "s01": holds("long", [f"x{n} = {'1 + ' * 100}1" for n in range(200)]),
    }
    folder = make_class(tmp_path / "term", students, ["absent-zebedee"])
    write_history(folder, marking("zebedee", 3), marking("zebedee", 9))
    data = collected(folder)
    assert re.search("zebedee|van dijk", page(data), re.IGNORECASE)
    assert not re.search("zebedee|van dijk", page(data, anonymous=True), re.IGNORECASE)
    found = {one.name: one.example for one in misconceptions(data)}
    assert not re.search("zebedee|dijk", found["named"], re.IGNORECASE)
    assert last in found["named"]
    assert "#" not in found["named"]
    assert last in found["called like a function"]
    assert len(found["long"].splitlines()) <= 14
    assert max(map(len, found["long"].splitlines())) <= 110


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Return a class whose names, code, errors and messages hold markup, terminal codes, half characters."""
    name = HOSTILE.replace("\ud800", "")  # what a database can hold
    student = blocked(f"def causal_mask(T, device=None):\n    return '{HOSTILE}'\n")
    verdict = student.verdicts["causal_mask"]
    verdict.lines[0].message = verdict.remark = verdict.diagnoses[0].sentence = HOSTILE
    student.name = (name, "=HYPERLINK(1)")
    student.change = lambda notebook: write_signs(notebook, [Sign(1, HOSTILE, HOSTILE, HOSTILE)])
    return make_class(tmp_path_factory.mktemp("hostile") / "term", {"=x<i>[red]": student, "s02": Student()})


def elements(text):
    """Return a page's elements, counted by name and in order. Each that is opened is closed."""
    found = BeautifulSoup(text, "html.parser").find_all(True)
    names = Counter(element.name for element in found)
    for name in names.keys() - {"meta", "br", "link", "img"}:
        ends = text.count(f"</{name}>") + len(re.findall(rf"<{name}\b[^>]*/>", text))
        assert ends == names[name], name
    return names, found


def test_hostile_text_stays_text_on_the_page(hostile, small):
    data = collected(hostile)
    text = page(data)
    assert text.encode("utf-8")
    assert elements(text)[0].keys() <= elements(page(collected(small)))[0].keys()
    assert not missing(text, "&lt;script&gt;alert(", "{{ 7 * 7 }}")
    own = [page_of_student(data, sheet.student) for sheet in data.assignments[0].sheets]
    assert all(elements(one)[0].keys() <= elements(page_of_student(collected(small), "ben"))[0].keys() for one in own)
    assert not set("\x1b\u202e") & set("".join([text, *own]))


def test_hostile_text_stays_text_in_the_terminal(hostile):
    status, text_shown = report(hostile, "--db-url", url(hostile))
    assert status == 0, text_shown
    assert "[bold red]" in text_shown
    assert not set("\x1b\u202e\ud800") & set(text_shown)


def test_hostile_text_stays_text_in_the_table(hostile, tmp_path):
    data = collected(hostile)
    table = written(data, tmp_path / "all.csv")
    assert {row["student"] for row in table} == {"'=x<i>[red]", "s02"}
    assert not [cell for row in table for cell in row.values() if cell.startswith(("=", "+", "-", "@"))]


def test_a_formula_in_wide_letters_is_text_in_the_table_of_checks(small, tmp_path):
    data = collected(small)
    data.names = dict.fromkeys(data.names, "＝1+1")
    assert {row["name"] for row in written(data, tmp_path / "all.csv")} == {"'＝1+1"}


def written(data, path):
    assert write_csv(data, path) == len(list(rows(data)))
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_page_shows_the_class_and_its_numbers(small):
    text = page(collected(small), made=datetime(2026, 1, 2, 3, 4))
    assert not missing(
        text,
        "02 January 2026",
        "Ada Lovelace (ada)",
        "+ up to 3",
        "− 1",
        "diagonal blocked: 2 students",
        "Revisit: 4. The triangle › Exercise: causal mask",
        "No history of markings was kept",
    )


def test_easy_and_hard_items_show_how_many_met_each_mistake(small, tmp_path):
    named = {item.exercise: item for item in items(the_only(small))}
    assert (named["causal_mask"].answered, named["causal_mask"].mistakes) == (3, (("diagonal_blocked", 2),))
    assert named["causal_mask"].share == pytest.approx(1 / 3)
    assert named["q6_1"].remark == "", "three answers say little"
    data = collected(make_class(tmp_path / "term", {f"s{number}": blocked() for number in range(FEWEST)}))
    remarks = {item.exercise: item.remark for item in items(data.assignments[0]) if item.remark}
    assert remarks == {"causal_mask": "too hard?"} | dict.fromkeys({*MARKED} - {"causal_mask"}, "too easy?")
    assert "diagonal blocked: 5 of 5 (100 %)" in page(data)


def test_a_students_page_has_marks_and_mistakes_of_nobody_else(tmp_path):
    twice = {
        "causal_mask": wrong("causal_mask", "diagonal_blocked", DIAGONAL),
        "attention_mask": wrong("attention_mask", "diagonal_blocked", DIAGONAL, [0]),
    }
    students = {"ada": Student(twice, waits=True, name=("Ada", "Lovelace"), penalty=2.0), "ben": blocked()}
    data = collected(make_class(tmp_path / "term", students))
    found = student_page(data, "ada")
    assert [(one.name, len(one.places)) for one in found.repeated] == [("diagonal_blocked", 2)]
    assert [one.exercise for one in found.practise] == ["attention_mask", "causal_mask"], "most points first"
    assert found.earned == found.marks[0].sheet.total
    assert student_page(data, "ben").repeated == []
    text = page_of_student(data, "ada")
    assert not missing(text, "Ada Lovelace", "1 answer not read yet: up to 3 more", "2 taken off for handing in late")
    assert "ben" not in text
    assert student_page(data, "nobody").marks[0].sheet is None


def test_the_students_pages_are_theirs_alone_and_overwrite_nothing_else(small, tmp_path):
    status, words = report(small, "--pages", tmp_path / "pages")
    assert (status, "4 students' pages are in" in words) == (0, True)
    written = {path.stem: path for path in (tmp_path / "pages").iterdir()}
    assert {*written} == {"ada", "ben", "cleo", "dan"}
    assert {path.stat().st_mode & 0o077 for path in written.values()} == {0}
    written["ben"].write_text("a letter to Ben")
    before = written["ada"].read_text("utf-8")
    status, words = report(small, "--pages", tmp_path / "pages")
    assert (status, "is no page of ours" in words) == (2, True)
    assert (written["ben"].read_text(), written["ada"].read_text("utf-8")) == ("a letter to Ben", before)


@pytest.mark.parametrize("of", ["class", "student"])
def test_the_page_loads_nothing_and_links_only_within_itself(small, of):
    data = collected(small)
    text = page(data) if of == "class" else page_of_student(data, "ben")
    assert not [word for word in ("//", "@import", "url(") if word in text]
    names, found = elements(text)
    assert not {"script", "link", "img", "iframe", "object"} & names.keys()
    links = [one[name] for one in found for name in ("href", "src", "xlink:href") if name in one.attrs]
    ids = {f"#{one['id']}" for one in found if "id" in one.attrs}
    assert bool(links) == (of == "class")
    assert set(links) <= ids


def test_the_page_can_be_read_by_ear_and_its_picture_counts_everybody_once(term):
    write_history(term, marking("ada", 3), marking("ada", 9))
    names, found = elements(page(collected(term)))
    assert found[0]["lang"] == "en"
    levels = [int(one.name[1]) for one in found if re.fullmatch(r"h\d", one.name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert names["table"] == names["caption"]
    assert all("scope" in one.attrs and one.get_text() for one in found if one.name == "th")
    pictures = [one for one in found if one.name == "svg" and one.get("aria-hidden") != "true"]
    [labels, _] = [one["aria-label"] for one in pictures]  # beside the others stands a number that says the same
    assert "1 with 0 to 10 %; 3 with 80 to 90 %; median 82 %" in labels


def marking(student, earned, at="2026-01-02T10:00:00+00:00", seconds=1.5, assignment=NAME):
    return {"at": at, "student": student, "assignment": assignment, "seconds": seconds, "earned": earned, "points": 10}


def write_history(folder, *lines):
    (folder / "marked").mkdir(exist_ok=True)
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / "marked" / "history.jsonl").write_text("\n".join(texts))


def test_progress_and_time_are_read_from_a_history_with_broken_lines(term):
    write_history(
        term,
        marking("ben", 9, at="2026-01-03T10:00:00+00:00"),
        marking("ben", 3),
        "not JSON",
        "[]",
        "7",
        '{"at": "yesterday"}',
        marking("cleo", 5, seconds=4),
        marking("cleo", float("nan")),
        marking("ada", 8, assignment="05-attention"),
        json.dumps(marking("ada", 8))[:-9],
    )
    data = collected(term)
    [again] = progress(data, data.assignments[0])
    assert (again.student, again.shares) == ("ben", (0.3, 0.9))
    assert again.gain == pytest.approx(0.6)
    spent = time_spent(data, data.assignments[0])
    assert (spent.markings, spent.seconds, spent.median, spent.longest) == (3, 7.0, 1.5, 4.0)
    assert not missing(page(data), "+60", "7.0 s")


def test_durations_are_given_in_readable_units():
    assert [*map(duration, (4.21, 59.99, 200, 7500))] == ["4.2 s", "1 min 0 s", "3 min 20 s", "2 h 5 min"]


def test_a_history_without_markings_of_the_class_is_reported(term):
    write_history(term)
    assert "The history holds no marking of these assignments." in page(collected(term))


def test_the_table_has_one_row_for_each_student_exercise_and_check(small, tmp_path):
    table = written(collected(small), tmp_path / "all.csv")
    checks = sum(len(getattr(question_or_exercise(name), "checks", [None])) for name in MARKED)
    assert len(table) == 4 * (checks + 1)
    assert list(table[0]) == list(COLUMNS)
    assert list(dict.fromkeys(row["exercise"] for row in table)) == [*MARKED, WRITTEN], "in the notebook's order"
    assert len({(row["student"], row["exercise"], row["check"]) for row in table}) == len(table)
    [ben] = [row for row in table if row["student"] == "ben" and row["check"] == "True exactly above the diagonal"]
    text_shown = ("false", "Line 0 is wrong.", "diagonal_blocked", "1.5", "0")
    assert text_shown == tuple(ben[one] for one in ("passed", "message", "mistakes", "points", "exercise_earned"))
    assert sum(float(row["points"]) for row in table if row["student"] == "ben") == pytest.approx(POINTS)
    reasons = {(one.student, one.exercise): one.reasons for one in the_only(small).answers}
    assert [reasons[who, "causal_mask"] for who in ("ben", "dan")] == [[DIAGONAL], [UNANSWERED]]
    [dan] = [row for row in table if row["student"] == "dan" and row["exercise"] == WRITTEN]
    assert (dan["kind"], dan["passed"], dan["needs_person"]) == ("written", "", "true")


def test_without_pyarrow_an_export_says_what_to_install(small, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for checks in ((), ("--checks",)):
        status, text_shown = exported(small, "parquet", *checks, "--to", tmp_path / "all.parquet")
        assert (status, "pip install pyarrow" in text_shown) == (1, True)
    assert not list(tmp_path.iterdir())


def test_parquet_has_the_same_rows_and_types(small, tmp_path):
    data = collected(small)
    parquet = pytest.importorskip("pyarrow.parquet")
    count = write_parquet(data, tmp_path / "all.parquet")
    found = parquet.read_table(tmp_path / "all.parquet").to_pylist()
    assert (found, len(found)) == (list(rows(data)), count)


def test_waiting_answers_are_counted_alike_in_terminal_and_page(small):
    waiting = sum(sheet.waiting for sheet in the_only(small).sheets)
    overview = BeautifulSoup(page(collected(small)), "html.parser").table
    assert [cell.get_text() for cell in overview.find_all("th")][6] == "answers that wait for a person"
    assert overview.find_all("td")[-1].get_text() == str(waiting) == "1"
    table = _sheets(collected(small), the_only(small))
    assert table.columns[-1].header == "answers that wait\nfor a person"
    assert sorted(table.columns[-1].cells) == ["", "", "", "1"]


def test_a_folder_without_a_marked_class_is_refused_and_stays_empty(small, tmp_path):
    folder = make_class(tmp_path / "term", {}, ["ada"])
    for location, names, sentence in (
        (folder, (), "nothing has been marked in .*; run `autograder grade NOTEBOOK` first"),
        (folder, (NAME,), f"nothing has been marked for {NAME} in .*; run `autograder grade {NAME}` first"),
        (small, ("06-maskin",), r"there is no notebook '06-maskin'\. Did you mean 06-masking\?"),
        (tmp_path, (), "there is no gradebook at"),
    ):
        with pytest.raises(NoClass, match=sentence):
            collected(location, *names)
    status, text_shown = report(tmp_path / "nowhere")
    assert status == 2
    assert "there is no folder" in text_shown
    assert list(tmp_path.iterdir()) == [folder]


def test_a_file_that_is_no_gradebook_is_refused_and_kept(tmp_path):
    for content, sentence in (("", "holds no gradebook"), ("no database, longer than a header", "cannot be opened")):
        (tmp_path / "gradebook.db").write_text(content)
        with pytest.raises(NoClass, match=sentence):
            read_marks(url(tmp_path))
        assert (tmp_path / "gradebook.db").read_text() == content


def test_a_folder_without_a_configuration_has_its_own_gradebook(tmp_path):
    for location in (tmp_path, ROOT / "classroom"):  # the configuration names the database
        assert folders(location, None).db_url == f"sqlite:///{location}/gradebook.db?timeout=60"


def test_a_wrong_database_address_is_refused_without_its_password():
    with pytest.raises(NoClass, match="is no database's URL"):
        read_marks("grades")
    with pytest.raises(NoClass) as refused:
        read_marks("postgresql+nodriver://me:secret@localhost:1/grades")
    assert "secret" not in str(refused.value)


def test_a_marked_notebook_that_was_edited_spoils_no_report(tmp_path):
    def edit(notebook, change):
        data = cell_of(notebook, "test_causal_mask").outputs[0]["data"]
        data[MIME] = change(data[MIME])

    parts = ({"exercise": "causal_mask"}, {"lines": [1]}, {"diagnoses": [{}]}, {"lines": [{"weight": "a"}]})
    changes = [lambda _: 7, lambda _: {}, lambda _: parts[0], lambda verdict: verdict]
    changes += [lambda verdict, part=part: verdict | part for part in parts[1:]]
    students = {f"s{n}": Student(change=lambda one, to=to: edit(one, to)) for n, to in enumerate(changes)}
    data = collected(make_class(tmp_path / "term", students))
    assert [sheet.total for sheet in data.assignments[0].sheets] == [POINTS - 3] * len(changes)
    assert "causal_mask" in page(data)


def test_an_assignment_that_is_no_notebook_of_the_course_has_its_marks(tmp_path):
    folder = make_class(tmp_path / "term", {"ada": Student()})
    with Gradebook(url(folder), "transformers") as gradebook:
        gradebook.add_assignment("extra")
        for notebook in ("first", "second"):  # with cells of one name
            gradebook.add_notebook(notebook, "extra")
            gradebook.add_grade_cell("task", notebook, "extra", max_score=2, cell_type="code")
        for notebook, mark in zip(gradebook.add_submission("extra", "ada").notebooks, (2, 1), strict=True):
            notebook.grades[0].auto_score = mark
        gradebook.db.commit()
    data = collected(folder)
    assert [assignment.name for assignment in data.assignments] == [NAME, "extra"]
    assert data.assignments[1].sheets[0].total == 3.0
    assert data.assignments[1].exercises == ["first: task", "second: task"]
    assert "75 %" in page(data)


def test_the_command_prints_and_writes(term, tmp_path):
    write_history(term, marking("ben", 3), marking("ben", 9))
    status, words = report(term, "--html", tmp_path / "report.html")
    assert status == 0, words
    assert not missing(
        words,
        "Ada Lovelace (ada)",
        "not handed in: eve",
        "who passed which check",
        "diagonal blocked: 2 students",
        "return ones(T).triu()",
        "30 % → 90 %",
        "2 markings took 3.0 s together",
        "median 82 %",
    )
    assert "<h1>Class report</h1>" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_marks_and_the_checks_of_all_are_exported(small, tmp_path):
    status, text_shown = exported(small, "csv", "--to", tmp_path / "marks.csv")
    assert (status, text_shown.endswith(f"(1): dan Grades are in {tmp_path}/marks.csv")) == (0, True), text_shown
    with (tmp_path / "marks.csv").open(encoding="utf-8", newline="") as file:
        marks = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert {sheet.student: sheet.total for sheet in the_only(small).sheets}.items() <= marks.items()
    status, text_shown = exported(small, "csv", NAME, "--checks", "--to", tmp_path / "checks.csv")
    assert (status, text_shown) == (0, f"{len(list(rows(collected(small))))} rows are in {tmp_path}/checks.csv")
    before = (tmp_path / "marks.csv").read_bytes()
    for kind, name, sentence in (
        ("csv", "05-attention", "nothing has been marked for 05-attention"),
        ("canvas", "05-attention", "nothing has been marked for 05-attention"),
        ("csv", "05-atention", "Did you mean 05-attention?"),
    ):
        status, text_shown = exported(small, kind, name, "--to", tmp_path / "marks.csv")
        assert (status, sentence in text_shown) == (1, True), text_shown
    assert (tmp_path / "marks.csv").read_bytes() == before


def test_what_is_about_other_tables_is_refused(small):
    for arguments, sentence in (
        (("moodle", "--checks"), "--checks is about csv and parquet"),
        (("csv", "--scale"), "are about canvas and moodle"),
        (("csv", "--to", ROOT / "table-of-a-test"), "would be published"),  # by git
    ):
        status, text_shown = exported(small, *arguments)
        assert (status > 0, sentence in text_shown) == (True, True), text_shown


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--html", "/no/such/folder/report.html"), "cannot be written"),
        (("--anonymous",), "--html"),
        (("--pages", "/proc/pages"), "cannot be written"),
        (("--pages", ROOT / "report-of-a-test"), "would be published"),
        (("--html", ROOT / "report-of-a-test"), "would be published"),  # by git
    ],
)
def test_what_the_command_cannot_do_is_refused_with_a_sentence(small, arguments, sentence):
    status, text_shown = report(small, *arguments)
    assert status == 2
    assert sentence in text_shown
    assert not (ROOT / "report-of-a-test").exists()


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
    return mark("causal_mask", student_with_answer(exercise("causal_mask"), source))


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
    one, other = verdict(SECOND), exercise("causal_mask").checks[1].title
    [(first, found)] = one.behaviour.items()
    odd = dataclasses.replace(one, behaviour={first: found, other: found})
    partly = dataclasses.replace(one, behaviour={other: found})
    students = {"ada": Student({"causal_mask": odd}), "ben": Student({"causal_mask": partly})}
    made = groups(collected(make_class(classroom.parent / "partly", students)))
    assert [group.students for group in made] == [("ada",), ("ben",)]
    assert first not in dict(made[1].fails)


def test_an_entry_that_is_shown_answers_like_the_whole_group(classroom, tmp_path, monkeypatch):
    [group, *_] = groups(collected(classroom))
    lines = group.entry().replace("name_of_the_mistake", "every_second")
    (tmp_path / "shown_mistakes.py").write_text(f"from autograder.spec.catalogue import Misconception\n\n\n{lines}")
    monkeypatch.syspath_prepend(tmp_path)
    [entry] = catalogue.load("shown_mistakes").wrong
    assert entry.name == "every_second"
    [program] = entry.programs(exercise("causal_mask").source)
    assert program != SECOND_AGAIN
    like = [alike(verdict(one).behaviour, verdict(program).behaviour) for one in (SECOND, SECOND_AGAIN, THIRD)]
    assert like == [True, True, False]


def test_older_verdicts_without_a_behaviour_can_be_read(tmp_path):
    location = make_class(tmp_path / "term", {"ada": Student({"causal_mask": wrong("causal_mask")})})
    path = location / "autograded" / "ada" / NAME / f"{NAME}.ipynb"
    notebook = json.loads(path.read_text())
    text = json.dumps(notebook)
    assert '"behaviour": {}, ' in text or ', "behaviour": {}' in text
    path.write_text(text.replace('"behaviour": {}, ', "").replace(', "behaviour": {}', ""))
    assert groups(collected(location)) == []


def said_of(location, *options):
    database = f"sqlite:///{location}/gradebook.db"
    text_shown = CliRunner().invoke(app, ["unknown", *options, "--classroom", str(location), "--db-url", database])
    assert text_shown.exit_code == 0, text_shown.output
    return text_shown.output.replace("\\", "/")


def test_the_command_prints_groups_with_a_class_for_the_catalogue(classroom, tmp_path):
    fingerprint_store.of.cache_clear()
    text_shown = said_of(classroom, NAME)
    for words in (
        "4 wrong answers that nothing catalogued explains, in 3 groups",
        "1. causal_mask, 06-masking",
        "ada, cleo",
        "ing/causal_mask_mistakes.py",
        "class name_of_the_mistake(",
        "LookupError",
    ):
        assert words in text_shown
    few = said_of(classroom, "--most", "1")
    assert "2 more groups" in few
    assert "LookupError" not in few
    named = make_class(tmp_path / "term", {"ada": Student(), "dan": handed_in(CATALOGUED)})
    assert "Every wrong answer that could be judged has its name." in said_of(named)
