"""Feedback pages are nbconvert's own, to the letter, whatever stands in a notebook, and the second one comes cheap."""

from __future__ import annotations

import time
from pathlib import Path

import nbgrader
import pytest
from conftest import read
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell
from traitlets.config import Config

from autograder.grading.pages import FeedbackExporter

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TORN = [
    "</div>",
    "a </p> b",
    "<div>\n\n*open*",
    "<b>open",
    "<!-- open",
    "closed -->",
    '<a title="open',
    "<script>open",
    "</script></body></html>",
    "<table><tr><td>",
    "</td></tr></table>",
    "<![CDATA[ open",
    "]]> <textarea>",
    "</textarea>",
    "<style>open </main>",
    "</br> x </img>",
]
SOUND = [
    "",
    " ",
    "just *text* with `code` & an ampersand, &nbsp; &amp;amp; &lt;b&gt; &#39; &copy; é 中 \x0c",
    "# A heading\n\n- a list\n- of two\n\n| a | b |\n|---|---|\n| $x < y$ | $$\\frac{a}{b}$$ |",
    "<details><summary>More</summary>\n\nhidden\n</details>",
    "![](picture.png) <img src=x> <img alt='' src=y> ![text](files/z.png)",
    '<a href="files/notes.txt">notes</a>',
    '<div class="jp-Notebook"><div class="jp-OutputArea-output">x</div></div>',
    "<x-end></x-end> <x-piece></x-piece>",
    "<br><br/><hr> a  <br>  b",
    "<pre>\n\n  kept  \n</pre>   \n\n<p>text",
    "```python\nfor x in y:\n    print('<b>')\n```",
    "<!-- closed --> <!DOCTYPE html> <?php ?>",
    "<p class='a  b' CLASS=c data-x=\"'\">x</p>",
]


FORMGRADER = Path(nbgrader.__file__).parent / "server_extensions" / "formgrader"
SETTINGS = Config()  # as `nbgrader generate_feedback` sets them
SETTINGS.HTMLExporter.template_name = "feedback"
SETTINGS.HTMLExporter.extra_template_basedirs = [str(FORMGRADER / "templates")]
SETTINGS.HTMLExporter.extra_template_paths = [str(FORMGRADER / "static/node_modules/bootstrap/dist/css")]
SETTINGS.Exporter.default_preprocessors = []


def pages(notebook):
    """The page as HTMLExporter makes it, and as ours does: twice, since the second is made from memory."""
    ours = FeedbackExporter(config=SETTINGS)
    return [page(exporter, notebook) for exporter in (HTMLExporter(config=SETTINGS), ours, ours)]


def page(exporter, notebook):
    about = {"notebook": "n", "score": 1, "max_score": 2, "late_penalty": 0}
    return exporter.from_notebook_node(notebook, {"nbgrader": about, "inlining": {"css": []}})[0]


def whole(cells):
    return new_notebook(cells=cells, metadata={"language_info": {"name": "python", "pygments_lexer": "ipython3"}})


def everywhere(text):
    """A notebook that shows a text in every way there is, among the cells of others."""
    outputs = [
        new_output("display_data", data={"text/html": text, "text/plain": text}),
        new_output("display_data", data={"text/html": text}, metadata={"text/html": {"isolated": True}}),
        new_output("display_data", data={"text/markdown": text}),
        new_output("display_data", data={"text/latex": text}),
        new_output("display_data", data={"image/svg+xml": text}),
        new_output("display_data", data={"image/png": PIXEL}),
        new_output("stream", text=text + "\n\x1b[31mred\x1b[0m"),
        new_output("error", ename=text, evalue=text, traceback=[text]),
        new_output("execute_result", data={"text/plain": text}, execution_count=1),
    ]
    graded = {"grade_id": "a", "grade": False, "solution": True, "comment": text}
    cells = [new_markdown_cell("before *it*"), new_code_cell("x = 1  # before\n"), new_markdown_cell(text)]
    cells += [
        new_code_cell(text, outputs=outputs),
        new_code_cell(text, metadata={"nbgrader": graded}),
        new_raw_cell(text),
    ]
    return whole([*cells, new_markdown_cell("after <b>it</b>"), new_code_cell("y = 2 < 3\n")])


@pytest.mark.parametrize("text", [*TORN, *SOUND])
def test_a_page_is_the_same_to_the_letter(text):
    theirs, first, second = pages(everywhere(text))
    assert first == theirs
    assert second == theirs


def test_a_page_with_a_script_is_the_same():
    script = new_output("display_data", data={"application/javascript": "</script><!-- open"})
    theirs, *ours = pages(whole([new_code_cell("1", outputs=[script]), new_markdown_cell("after <b>it</b>")]))
    start = theirs.index("<body>")
    assert [len(other) for other in ours] == [len(theirs)] * 2  # they hold random names
    assert all(other[:start] == theirs[:start] for other in ours)


def test_pictures_attached_to_a_cell_are_its_own():
    twins = [new_markdown_cell("![p](attachment:p.png)") for _ in range(2)]
    for twin, data in zip(twins, (PIXEL, PIXEL[::-1]), strict=True):
        twin.attachments = {"p.png": {"image/png": data}}
    theirs, first, second = pages(whole(twins))
    assert first == second == theirs
    assert PIXEL in first
    assert PIXEL[::-1] in first


@pytest.mark.parametrize("name", ["05-attention", "11-translation"])
def test_the_course_s_own_notebooks_come_out_the_same_and_from_memory(name, caplog):
    notebook = read("solutions", name)
    for cell in notebook.cells:
        cell.metadata.get("nbgrader", {})["score"] = 1.0
    caplog.set_level("DEBUG", "traitlets")
    theirs, first, second = pages(notebook)
    assert first == second == theirs
    assert "Template paths" in caplog.text  # the log is listened to
    assert "torn" not in caplog.text


def test_a_second_page_costs_less_than_a_third_of_the_first():
    notebook = whole([new_code_cell(f"def function_{n}(x): return [x + {n}, 'a']\n" * 40) for n in range(40)])
    exporter = FeedbackExporter(config=SETTINGS)
    costs = []
    for _ in range(2):
        started = time.process_time()
        page(exporter, notebook)
        costs.append(time.process_time() - started)
    assert costs[1] < costs[0] / 3
