"""Configure nbgrader so that its commands, run from a course's folder, use this engine."""

import gc
import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

from nbgrader.preprocessors import Execute

from ..files import MODELS
from ..plain_output import escape_logs
from . import preprocessors, privacy
from .gradebook import manual_grades
from .intake import resubmission

EXCHANGE = {
    "collect": "autograder.nbgrader_plugin.intake.exchange_collect.Collect",
    "release_feedback": "autograder.nbgrader_plugin.feedback.release_feedback.ReleaseFeedback",
}


def configure(c: Any, root: Path, source: str = "solutions", release: str = "course") -> None:
    """Set nbgrader's configuration `c`. `root` is the folder of its file, `source` and `release` those of notebooks."""
    classroom = os.environ.get("COURSE_CLASSROOM", "classroom")  # another folder for another term, or for `make demo`
    (root / classroom).mkdir(parents=True, exist_ok=True)  # SQLite creates files but no folders

    c.CourseDirectory.root = str(root)
    c.CourseDirectory.ignore.append(MODELS)  # a reader's trained models are no part of a release or a submission
    c.CourseDirectory.source_directory = source
    c.CourseDirectory.release_directory = os.environ.get("COURSE_RELEASE", release)  # another folder for `make demo`
    for step in ("submitted", "autograded", "feedback", "solution", "source_with_tests"):
        setattr(c.CourseDirectory, f"{step}_directory", os.path.normpath(os.path.join(classroom, step)))
    # The timeout is that of locks: nbgrader waits and does not abort the batch.
    c.CourseDirectory.db_url = f"sqlite:///{root / classroom}/gradebook.db?timeout=60"
    c.Exchange.root = str(root / classroom / "exchange")
    (root / classroom / "exchange").mkdir(exist_ok=True)  # students with accounts need access to it

    # Downloads from a learning-management system and tables of marks stay in a folder that git ignores.
    c.ZipCollectApp.downloaded_directory = f"{classroom}/downloaded"
    c.ZipCollectApp.extractor_plugin = "autograder.nbgrader_plugin.intake.unpack.CarefulExtractor"
    c.ZipCollectApp.collector_plugin = "autograder.nbgrader_plugin.intake.lms_collect.LmsCollector"
    c.ExportApp.plugin_class = "autograder.nbgrader_plugin.export.lms.CsvExport"
    c.MarksExport.folder = str(root / classroom)

    # Release: answers become stubs that tell the student what to do, and multiple-choice answers become None.
    c.ReleaseStubs.code_stub = {"python": f'# YOUR CODE HERE\nraise NotImplementedError("{preprocessors.STUB}")'}
    c.GenerateAssignment.exporter_class = "autograder.nbgrader_plugin.release.generate.ReleaseExporter"
    c.ReleaseExporter.replaced = str(root / classroom / "replaced")
    c.GenerateAssignment.preprocessors = [
        "nbgrader.preprocessors.IncludeHeaderFooter",
        "nbgrader.preprocessors.InstantiateTests",
        preprocessors.ReleaseStubs,
        "autograder.nbgrader_plugin.release.student_version.StudentVersion",  # adds a first cell and readable tests
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
    _plug_in(c)


def mark_with_autograder(c: Any) -> None:
    """Set an ordinary configuration `c` so that this engine marks and writes feedback; all else stays as it is."""
    _plug_in(c)
    if "plugin_class" not in c.ExportApp:
        c.ExportApp.plugin_class = "autograder.nbgrader_plugin.export.lms.PrivateCsvExport"
    seconds = c.Execute.get("timeout", c.ExecutePreprocessor.get("timeout", Execute.timeout.default_value))
    if "cell_timeout" not in c.Judge and seconds and seconds > 0:  # 0 and less mean no limit
        c.Judge.cell_timeout = float(seconds)


def _plug_in(c: Any) -> None:
    escape_logs()
    privacy.keep(c)
    # With the default the garbage collector walks over all of torch and nbgrader, which costs each command a second.
    gc.set_threshold(20_000, 20, 50)

    # nbgrader runs the program `alembic` when it creates the gradebook. This finds it in a venv that is not activated,
    # and where `pip install --user` puts programs.
    folders = [str(Path(sys.executable).parent), sysconfig.get_path("scripts", f"{os.name}_user")]
    os.environ["PATH"] = os.pathsep.join(dict.fromkeys([*folders, *os.environ.get("PATH", "").split(os.pathsep)]))

    # nbgrader releases hidden tests between delimiters in small letters. This comes first: a refusal changes nothing.
    c.GenerateAssignment.preprocessors.insert(0, "autograder.nbgrader_plugin.release.delimiters.RefuseDelimiters")

    # Marking: the exporter repairs submissions as it reads them. The judge replaces `Execute`.
    c.Autograde.exporter_class = preprocessors.SubmissionExporter
    c.Autograde.sanitize_preprocessors = [
        "nbgrader.preprocessors.ClearOutput",
        preprocessors.RestoreCells,
        preprocessors.CheckMetadata,
    ]
    c.Autograde.autograde_preprocessors = [
        preprocessors.Judge,
        "nbgrader.preprocessors.IgnorePattern",
        "nbgrader.preprocessors.LimitOutput",
        manual_grades.SaveMarks,  # a manual mark stays until the answer changes
        resubmission.LatePenalties,  # with nbgrader's settings: c.AssignLatePenalties
    ]

    # The exchange: nobody's submission under another's name; pages that are readable there and nowhere else. A course
    # with an exchange of its own names that.
    for step, plugin in EXCHANGE.items():
        if step not in c.ExchangeFactory:
            c.ExchangeFactory[step] = plugin

    # Feedback: this package's own page, without the hidden tests.
    c.GenerateFeedback.exporter_class = "autograder.nbgrader_plugin.feedback.exporter.FeedbackExporter"
    c.FeedbackExporter.template_name = "feedback_page"
    c.FeedbackExporter.extra_template_basedirs = [str(Path(__file__).parent / "feedback")]
    c.GenerateFeedback.preprocessors = [preprocessors.HideTests, "autograder.nbgrader_plugin.feedback.marks.Marks"]

    # Formgrader shows students' notebooks in pages of the Jupyter server, which reads this file in its own process.
    # Marking has cleaned their outputs; these filters clean their text, and server.py limits the pages' scripts.
    if "jupyter_server.serverapp" in sys.modules:
        from autograder.nbgrader_plugin.formgrader import server

        server.guard_server()
    c.HTMLExporter.filters = {
        "markdown2html": "autograder.nbgrader_plugin.formgrader.server.markdown2html",
        "highlight_code": "autograder.nbgrader_plugin.formgrader.server.highlight_code",
    }
