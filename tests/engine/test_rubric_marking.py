"""Tests of marking written answers by rubric, in a real gradebook, through what the page's requests call."""

import dataclasses
import shutil
from pathlib import Path

import pytest
from essay_class import FULL, HALF, RELEASED, RUBRIC, class_in, write_rubric
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory

from autograder.nbgrader_plugin.formgrader import answer_marks, rubric_page
from autograder.nbgrader_plugin.formgrader.answer_marks import Mark
from autograder.nbgrader_plugin.formgrader.rubric_items import Item, comment_of, items_of, read, total

ANSWERS = {
    "ada": "The variance is $d_k$.",
    "ben": "The  variance is\n$d_k$.",
    "chi": "",
    "dan": RELEASED,
    "eve": "<script>hacked = 1</script><img src=x onerror='hacked = 1'> </script> No idea.",
}


class Class:
    """A class's folder, and a page of its question as a browser holds it."""

    def __init__(self, folder: Path, book: Gradebook) -> None:
        self.folder, self.book = folder, book
        self.directory = CourseDirectory(root=str(folder))
        self.open()

    def sheet(self):
        return rubric_page.sheet_of(self.book.engine, self.directory, "essay", "essay", "why")

    def open(self) -> None:
        """Load the page anew."""
        sheet = self.sheet()
        self.rubric, self.rows = sheet.version, {answer.student: sheet.row(answer) for answer in sheet.question.answers}

    def post(self, students, **body):
        answers = [{"id": self.rows[one]["id"], "seen": self.rows[one]["seen"]} for one in students]
        return rubric_page.save(self.sheet, self.book.engine, {"rubric": self.rubric, "answers": answers} | body)

    def save(self, students, levels, note=""):
        status, reply = self.post(students, levels=levels, note=note)
        assert status == 200, reply
        self.rows |= {row["student"]: row for row in reply["answers"]}

    def mark(self, student):
        """Return points, comment, and whether the answer waits, as stock nbgrader reads them."""
        self.book.db.expire_all()
        grade = self.book.find_grade("why", "essay", "essay", student)
        comment = self.book.find_comment("why", "essay", "essay", student)
        return grade.score, comment.comment, grade.needs_manual_grade

    def type_in_formgrader(self, student, points, comment):
        grade = self.book.find_grade("why", "essay", "essay", student)
        grade.manual_score, grade.needs_manual_grade = points, False
        self.book.find_comment("why", "essay", "essay", student).manual_comment = comment
        self.book.db.commit()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class")
    class_in(folder, ANSWERS)
    return folder


@pytest.fixture
def marking(made, tmp_path):
    folder = shutil.copytree(made, tmp_path / "class")
    with Gradebook(f"sqlite:///{folder}/gradebook.db", "essays") as book:
        yield Class(folder, book)


def test_items_become_ordinary_points_and_a_comment(marking):
    marking.save(["ada"], [1, 0.5], "Which gradients?")
    assert marking.mark("ada") == (2, f"{HALF}\n\nWhich gradients?", False)
    marking.open()
    row = marking.rows["ada"]
    assert (row["levels"], row["note"], row["byHand"]) == ((1, 0.5), "Which gradients?", False)


def test_equal_and_empty_answers_form_groups(marking):
    question = marking.sheet().question
    groups = [sorted(answer.student for answer in group) for group in question.groups()]
    assert sorted(groups[:2]) == [["ada", "ben"], ["chi", "dan"]]
    assert groups[2:] == [["eve"]]
    marking.save(["chi", "dan"], [0, 0])
    assert [marking.mark(one)[0] for one in ("chi", "dan")] == [0, 0]


def test_the_second_of_two_assistants_is_told_and_overwrites_nothing(marking):
    second = Class(marking.folder, marking.book)
    marking.save(["ada"], [1, 1])
    status, reply = second.post(["ben", "ada"], levels=[0, 0], note="")
    assert status == 409
    assert "Somebody else has marked" in reply["sentence"]
    assert [(row["student"], row["seen"]["points"]) for row in reply["answers"]] == [("ada", 3)]
    assert (marking.mark("ada")[0], marking.mark("ben")[2]) == (3, True), "all or none"
    second.rows |= {row["student"]: row for row in reply["answers"]}
    second.save(["ben", "ada"], [0, 1])
    assert marking.mark("ada")[0] == 2, "whoever has seen it may overwrite it"


def test_a_mark_written_between_look_and_save_stays(marking):
    [answer] = [one for one in marking.sheet().question.answers if one.student == "ada"]
    marking.type_in_formgrader("ada", 1.5, "Mine.")
    assert not answer_marks.save(marking.book.engine, [Mark(answer, 3, "Other.")])
    assert marking.mark("ada") == (1.5, "Mine.", False)
    stale = dataclasses.replace(answer, seen=dataclasses.replace(answer.seen, points=1.5))
    assert not answer_marks.save(marking.book.engine, [Mark(stale, 3, "Other.")]), "the comment is not as it was seen"
    assert marking.mark("ada") == (1.5, "Mine.", False)


def test_changed_points_of_an_item_change_all_marks_with_it(marking):
    marking.save(["ada"], [1, 0.5], "Good.")
    marking.save(["eve"], [0, 1])
    marking.type_in_formgrader("ben", 2.75, FULL)
    write_rubric(marking.folder, RUBRIC.replace("1 point:", "2 points:").replace("- 2 points: says", "- 1 point: says"))
    stale = marking.post(["eve"], levels=[1, 1], note="")
    assert stale == (409, {"sentence": rubric_page.CHANGED})
    marking.open()
    shown = rubric_page.page(marking.sheet(), "", "n")
    assert "<li>Item 2 was worth 2, and is worth 1.</li>" in shown
    changed = [student for student, row in marking.rows.items() if row["change"]]
    assert sorted(changed) == ["ada", "ben", "eve"]
    assert marking.post(changed, change=True)[0] == 200
    assert marking.mark("ada")[0] == 2.5
    assert marking.mark("ada")[1].endswith("alone.)\n\nGood.")
    assert marking.mark("eve")[0] == 1
    assert marking.mark("ben")[0] == 2.75, "what a person typed stays"
    marking.open()
    assert not any(row["change"] for row in marking.rows.values())


def test_a_reworded_item_keeps_its_points(marking):
    marking.save(["ada"], [1, 0.5])
    write_rubric(marking.folder, RUBRIC.replace("names the", "derives the"))
    marking.open()
    assert marking.rows["ada"]["change"]
    marking.post(["ada"], change=True)
    assert marking.mark("ada")[:2] == (2, HALF.replace("names", "derives"))


def test_an_item_that_is_gone_leaves_mark_and_comment(marking):
    marking.save(["ada"], [1, 0.5], "Good.")
    write_rubric(marking.folder, RUBRIC.replace("- 1 point: names the *variance*.\n", ""))
    marking.open()
    row = marking.rows["ada"]
    assert row["reason"] == "The rubric no longer has the item “names the *variance*.”."
    assert "names the *variance*" in rubric_page.page(marking.sheet(), "", "n").partition("These keep")[2]
    assert not row["change"]
    assert row["note"] == "1. 1 of 1 point: names the *variance*.\n\nGood."
    assert marking.mark("ada") == (2, f"{HALF}\n\nGood.", False)


def test_points_typed_in_formgrader_are_kept_with_a_new_comment(marking):
    marking.type_in_formgrader("ada", 2.25, "Fine.")
    marking.open()
    assert (marking.rows["ada"]["levels"], marking.rows["ada"]["byHand"]) == (None, True)
    marking.save(["ada"], None, "Very fine.")
    assert marking.mark("ada") == (2.25, "Very fine.", False)


def test_an_answer_marked_anew_meanwhile_is_not_overwritten(marking):
    path = marking.folder / "autograded" / "ada" / "essay" / "essay.ipynb"
    path.write_text(path.read_text("utf-8").replace("variance", "spread"), "utf-8")
    assert marking.post(["ada"], levels=[1, 1], note="") == (409, {"sentence": rubric_page.GONE})
    assert marking.mark("ada")[2]


@pytest.mark.parametrize("body", [{"levels": [2, 0]}, {"levels": "11"}, {"note": "x" * 20_001}, {"answers": [{}]}])
def test_a_request_that_the_page_does_not_make_saves_nothing(marking, body):
    status, reply = marking.post(["ada"], **{"levels": [1, 1], "note": ""} | body)
    assert (status, reply["sentence"][:9]) == (400, "Not saved")
    assert marking.mark("ada")[2]


def test_the_page_runs_no_script_of_a_student(marking):
    shown = rubric_page.page(marking.sheet(), "", "n0nce")
    assert shown.count("<script") == 2
    assert "onerror" not in shown.partition('<script type="application/json"')[0]
    assert "No idea." in shown
    [eve] = [answer for answer in marking.sheet().question.answers if answer.student == "eve"]
    assert f'<img src="/formgrader/submissions/{eve.submission}/x">' in shown, "a picture beside the notebook"


def test_a_question_without_a_rubric_says_how_to_write_one(marking):
    write_rubric(marking.folder, "Why?")
    assert "This question has no rubric" in rubric_page.page(marking.sheet(), "", "n")


def test_a_rubric_that_adds_up_to_more_gives_no_more_than_the_answer(marking):
    write_rubric(marking.folder, RUBRIC.replace("- 2 points", "- 4 points"))
    marking.open()
    marking.save(["ada"], [1, 1])
    assert marking.mark("ada")[0] == 3
    assert "add up to 5" in rubric_page.page(marking.sheet(), "", "n")


def test_a_notebooks_questions_are_listed_with_those_who_wait(marking):
    listed = rubric_page.links(marking.book.engine, "/formgrader", "essay", "essay")
    assert '<a href="/formgrader/written/essay/essay/why">why</a>: 4 to mark' in listed
    assert not rubric_page.links(marking.book.engine, "/formgrader", "essay", "other")


def test_items_without_points_share_the_answers_points():
    items = items_of("**Rubric** One each.\n\n- one\n- two (half if late)\n* three", 3)
    assert items == (Item(1, "one"), Item(1, "two", "(half if late)"), Item(1, "three"))
    thirds = items_of("- one\n- two\n- three", 1)
    assert total(thirds, [1, 1, 1], 1) == 1
    assert read(comment_of(thirds, [1, 0.5, 0], ""), thirds).levels == (1, 0.5, 0)


def test_a_comment_without_lines_of_a_rubric_is_a_note():
    note = f"1. First\n2. Second: 1 of 2\n{'9' * 5000}. {'9' * 5000} of 1 point: names the *variance*."
    reading = read(note, items_of(RUBRIC, 3))
    assert (reading.levels, reading.note) == (None, note)
