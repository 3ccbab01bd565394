"""Configure nbgrader: every command, run from the course's folder, marks with this engine."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import Any

from . import preprocessors
from .gradebook import manual_grades


def configure(c: Any, root: Path, source: str = "solutions", release: str = "course") -> None:
    """Set in nbgrader's configuration `c` what marking, release, feedback, intake and export need.

    `root` is the folder of nbgrader_config.py; `source` and `release` are its folders of notebooks. A term's working
    data lie in its folder `classroom`.
    """
    # By default the collector walks over all of torch and nbgrader again and again: a second for every command. As in
    # mypy.
    gc.set_threshold(20_000, 20, 50)

    # nbgrader calls `alembic` as a program when it first makes the gradebook: found even in a venv that is not
    # activated.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    classroom = os.environ.get("COURSE_CLASSROOM", "classroom")  # another folder for another term, or for `make demo`
    (root / classroom).mkdir(parents=True, exist_ok=True)  # SQLite makes files but no folders

    def place(name: str) -> str:
        return os.path.normpath(os.path.join(classroom, name))

    c.CourseDirectory.root = str(root)
    c.CourseDirectory.source_directory = source
    c.CourseDirectory.release_directory = os.environ.get("COURSE_RELEASE", release)  # another folder for `make demo`
    c.CourseDirectory.submitted_directory = place("submitted")
    c.CourseDirectory.autograded_directory = place("autograded")
    c.CourseDirectory.feedback_directory = place("feedback")
    c.CourseDirectory.solution_directory = place("solution")
    c.CourseDirectory.source_with_tests_directory = place("source_with_tests")
    c.CourseDirectory.db_url = (
        f"sqlite:///{root / classroom}/gradebook.db?timeout=60"  # wait for a lock, do not abort the batch
    )
    c.Exchange.root = str(root / classroom / "exchange")
    (root / classroom / "exchange").mkdir(exist_ok=True)  # where students have accounts, they need rights in it
    c.ExchangeFactory.release_feedback = "autograder.nbgrader_plugin.feedback.release_feedback.ReleaseFeedback"

    # In and out: what is downloaded from a learning-management system, and tables of marks, stay where git does not
    # look.
    c.ZipCollectApp.downloaded_directory = f"{classroom}/downloaded"
    c.ZipCollectApp.extractor_plugin = "autograder.nbgrader_plugin.intake.unpack.CarefulExtractor"
    c.ZipCollectApp.collector_plugin = "autograder.nbgrader_plugin.intake.lms_collect.LmsCollector"
    c.ExportApp.plugin_class = "autograder.nbgrader_plugin.export.lms.CsvExport"
    c.MarksExport.folder = str(root / classroom)

    # Release: answers become stubs that say what to do, and multiple-choice answers become None.
    c.ReleaseStubs.code_stub = {"python": f'# YOUR CODE HERE\nraise NotImplementedError("{preprocessors.STUB}")'}
    c.GenerateAssignment.exporter_class = "autograder.nbgrader_plugin.release.generate.ReleaseExporter"
    c.ReleaseExporter.replaced = str(root / classroom / "replaced")
    c.GenerateAssignment.preprocessors = [
        "nbgrader.preprocessors.IncludeHeaderFooter",
        preprocessors.ReleaseStubs,
        "autograder.nbgrader_plugin.release.student_version.Ready",  # a first cell, and tests that speak plainly
        "nbgrader.preprocessors.LockCells",
        "nbgrader.preprocessors.ClearOutput",
        "nbgrader.preprocessors.CheckCellMetadata",
        "nbgrader.preprocessors.ComputeChecksums",
        "nbgrader.preprocessors.SaveCells",
        "nbgrader.preprocessors.ClearHiddenTests",
        "nbgrader.preprocessors.ClearMarkScheme",
        "nbgrader.preprocessors.ComputeChecksums",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]

    # Marking: submissions are mended as they are read, which gives them the release's kernel too, and the judge stands
    # in the place of `Execute`.
    c.Autograde.exporter_class = preprocessors.SubmissionExporter
    c.Autograde.sanitize_preprocessors = [
        "nbgrader.preprocessors.ClearOutput",
        preprocessors.RestoreCells,
        preprocessors.CheckMetadata,
    ]
    c.Autograde.autograde_preprocessors = [
        preprocessors.Judge,
        "nbgrader.preprocessors.LimitOutput",
        manual_grades.SaveMarks,  # an answer that a person has marked does not ask for it again until it changes
        "nbgrader.preprocessors.AssignLatePenalties",
    ]

    # Feedback: a page of our own, without the hidden tests.
    c.GenerateFeedback.exporter_class = "autograder.nbgrader_plugin.feedback.exporter.FeedbackExporter"
    c.FeedbackExporter.template_name = "feedback_page"
    c.FeedbackExporter.extra_template_basedirs = [str(Path(__file__).parent / "feedback")]
    c.GenerateFeedback.preprocessors = [preprocessors.HideTests, "autograder.nbgrader_plugin.feedback.marks.Marks"]

    # Formgrader shows students' notebooks in pages of the Jupyter server. Their outputs were cleaned when they were
    # marked; this cleans their text. What may run in those pages is said in nbgrader_plugin/formgrader/server.py:
    # Formgrader reads this file in the server's process.
    if "jupyter_server.serverapp" in sys.modules:
        from autograder.nbgrader_plugin.formgrader import server

        server.guard_server()
    c.HTMLExporter.filters = {
        "markdown2html": "autograder.nbgrader_plugin.formgrader.server.markdown2html",
        "highlight_code": "autograder.nbgrader_plugin.formgrader.server.highlight_code",
    }
