"""Feedback pages and Formgrader's views of notebooks that tests make."""

import functools
import tomllib

from conftest import ROOT, read
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell
from submissions import ANSWERS, NAME
from traitlets.config import Config

from autograder.judge.diagnosis.diagnose import Diagnosis, Line
from autograder.judge.mark import Verdict, mark_choice, zero
from autograder.nbgrader_plugin.feedback.exporter import FeedbackExporter
from autograder.nbgrader_plugin.intake.repair import PROVIDED, grade_id
from autograder.nbgrader_plugin.marking.notebook_marker import write_verdict
from autograder.nbgrader_plugin.marking.notices import SKIPPED
from autograder.nbgrader_plugin.preprocessors import HideTests
from autograder.nbgrader_plugin.release import released_notebook
from autograder.spec.course import question_or_exercise
from autograder.spec.messages import UNANSWERED

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_TEXTS = tomllib.loads((ROOT / "tests" / "hostile_texts.toml").read_text("utf-8"))
EVIL, ODD, COSTLY = _TEXTS["evil"], _TEXTS["odd"], _TEXTS["costly"]
SETTINGS = Config()  # as nbgrader_config.py sets them
SETTINGS.FeedbackExporter.template_name = "feedback_page"
SETTINGS.FeedbackExporter.extra_template_basedirs = [str(ROOT / "autograder" / "nbgrader_plugin" / "feedback")]
SETTINGS.Exporter.default_preprocessors = []
ABOUT = {"notebook": "n", "assignment": "05-attention", "student": "ada", "score": 1, "max_score": 2, "late_penalty": 0}
NOTHING, HANDED_OUT = released_notebook.Released(), released_notebook.read(ROOT / "course" / NAME / f"{NAME}.ipynb")
MINOR = "The largest score is not subtracted first: `exp` overflows."
SOFTMAX = [Line("values", 2.0, True), Line("stable", 1.0, False, "58 % are NaN")]
MISTAKEN = {
    "softmax": Verdict("softmax", 4.0, 2.25, SOFTMAX, [Diagnosis("no_shift", MINOR, ["stable"])]),
    "simple_attention": Verdict("simple_attention", 3.0, 0.0, [Line("values", 3.0, False, "24 of 24 differ, `x`.")]),
    "SelfAttention": zero("SelfAttention", UNANSWERED),
    "q5_2": mark_choice(question_or_exercise("q5_2"), min(set("ABCD") - {question_or_exercise("q5_2").key})),
}
# nbconvert's exporter with our filter for text cells
FILTERS = {"markdown2html": "autograder.nbgrader_plugin.formgrader.server.markdown2html"}
FORMGRADER = HTMLExporter(config=Config(HTMLExporter={"filters": FILTERS}))


class Exporter(FeedbackExporter):
    """Exports pages, and knows without a course's folder what was handed out."""

    handed_out = NOTHING

    def _released(self, about):
        return self.handed_out


@functools.cache
def exporter(**limits):
    """Return one exporter for all pages, as nbgrader has: it compiles its template once."""
    made = Exporter(config=SETTINGS, **limits)
    made.register_preprocessor(HideTests, enabled=True)
    return made


def page(notebook, handed_out=NOTHING, **about):
    exporter().handed_out = handed_out
    return exporter().from_notebook_node(notebook, {"nbgrader": ABOUT | about})[0]


def whole(cells):
    return new_notebook(cells=cells, metadata={"language_info": {"name": "python", "pygments_lexer": "ipython3"}})


def everywhere(text):
    """Return cells that show a text in every way there is, and cells of others behind them."""
    kinds = ("text/html", "text/markdown", "text/latex", "image/svg+xml")
    outputs = [new_output("display_data", data={kind: text, "text/plain": text}) for kind in kinds]
    outputs += [
        new_output("display_data", data={"text/html": text}, metadata={"text/html": {"isolated": True}}),
        new_output("display_data", data={"image/png": PIXEL}, metadata={"image/png": {"alt": text}}),
        new_output("stream", text=text + "\n\x1b[31mred\x1b[0m"),
        new_output("error", ename=text, evalue=text, traceback=[text]),
        new_output("execute_result", data={"text/plain": text}, execution_count=1),
    ]
    graded = {"grade_id": "a", "grade": False, "solution": True, "comment": text}
    return [
        new_markdown_cell(text),
        new_raw_cell(text),
        new_code_cell(text, outputs=outputs),
        new_code_cell(text, metadata={"nbgrader": graded}),
        new_code_cell("y = 2 < 3\n"),
        new_markdown_cell("after <b>it</b>"),
    ]


def marked(verdicts, written="", comment=None):
    """Return notebook 05 as marking leaves it: all right but for these verdicts."""
    notebook = read("course", NAME)
    for cell in notebook.cells:
        graded = cell.metadata.get("nbgrader", {})
        name = grade_id(cell)
        if graded.get("solution"):
            if cell.cell_type == "markdown":
                cell.source, graded["waits"] = written or cell.source, bool(written)
                graded["score"], graded["points"] = 0.0, 3.0
            elif name not in verdicts or verdicts[name].remark != UNANSWERED:
                cell.source = ANSWERS[name]
            graded["comment"] = comment
        elif graded.get("grade"):
            name = name.removeprefix("test_")
            points = question_or_exercise(name).points
            verdict = verdicts.get(name) or Verdict(name, points, points)
            write_verdict(cell, verdict)
            graded["score"], graded["points"] = verdict.earned, verdict.points
        elif cell.cell_type == "code":
            cell.metadata.tags = [PROVIDED]
            cell.outputs = [new_output("stream", text=f"[{SKIPPED}]\n")]
    return notebook


def in_formgrader(cells):
    """Return what formgrader shows of cells, without the page around them."""
    made = FORMGRADER.from_notebook_node(whole(list(cells)))[0]
    return made[made.index("<main") : made.rindex("</main>")]
