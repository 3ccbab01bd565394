"""Read a feedback page's marks from the gradebook, in a few queries for all cells at once."""

from typing import Any

from nbformat import NotebookNode
from nbgrader.api import Comment, Grade, Gradebook, Student
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import List

from ..gradebook.rows import by_cell


class Marks(NbGraderPreprocessor):
    """nbgrader's GetGrades, with the student's name and a flag on cells that still need manual marking."""

    display_data_priority: List[Any] = List(config=True)  # unused; the page's exporter sets it for all preprocessors

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        about = resources["nbgrader"]
        with Gradebook(about["db_url"]) as book:
            sheet = book.find_submission_notebook(about["notebook"], about["assignment"], about["student"])
            grades, comments = by_cell(book, Grade, sheet), by_cell(book, Comment, sheet)
            for cell in nb.cells:
                graded = cell.metadata.get("nbgrader", {})
                name = graded.get("grade_id")
                if name in grades:
                    graded["score"], graded["points"] = grades[name].score, grades[name].max_score
                    graded["waits"] = bool(grades[name].needs_manual_grade)
                if name in comments:
                    graded["comment"] = comments[name].comment
            student = book.db.get(Student, about["student"])
            late = sheet.late_submission_penalty or 0
            about["student_name"] = " ".join(filter(None, (student.first_name, student.last_name))) if student else ""
            about["score"], about["max_score"], about["late_penalty"] = sheet.score - late, sheet.max_score, late
        return nb, resources
