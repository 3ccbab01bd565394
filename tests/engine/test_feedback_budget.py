"""Tests that a feedback page stays within the instructor's limits for any notebook, and always has mark and rubric."""

from __future__ import annotations

import functools
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from bs4 import BeautifulSoup
from conftest import ends
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from test_feedback_pages import (
    COSTLY,
    HANDED_OUT,
    MISTAKEN,
    Exporter,
    HideTests,
    marked,
    rows,
    sanitised_output,
    text_of,
    whole,
)
from test_feedback_pages import SETTINGS as PAGES
from traitlets.config import Config

from autograder.judge.parsing import MAX_SOURCE
from autograder.nbgrader_plugin.feedback import lexer, rendering
from autograder.nbgrader_plugin.feedback.budget import LEFT_OUT, Budget
from autograder.nbgrader_plugin.intake import sanitize
from autograder.nbgrader_plugin.intake.repair import MAX_TEXT, MAX_TEXTS
from autograder.nbgrader_plugin.marking.notebook_marker import MAX_SHOWN

COSTLIEST = {name: COSTLY[name] for name in ("formulas", "nested divisions", "links", "tables")} | {
    "another language": "```perl\n",
    "code that is emphasised": "***a",
    "colours": "\x1b[31m",
    "ampersands": "&",
}


def page(notebook, seconds, size=2**25):
    settings = Config(PAGES)
    settings.FeedbackExporter.work_timeout = seconds  # as in nbgrader_config.py
    settings.FeedbackExporter.max_size = size
    exporter = Exporter(config=settings)
    exporter.handed_out = HANDED_OUT
    exporter.register_preprocessor(HideTests, enabled=True)
    about = {"notebook": "n", "assignment": "05-attention", "student": "ada", "score": 1, "max_score": 2}
    return exporter.from_notebook_node(notebook, {"nbgrader": about | {"late_penalty": 0}})[0]


def repeated(unit, size):
    return unit * (size // len(unit))


@functools.cache
def full(unit):
    """A marked notebook with as much of it, above everything else, as repair and marking leave in one."""
    notebook = marked(MISTAKEN)
    text = sanitize.markdown(repeated(unit, MAX_TEXT))
    own = [new_markdown_cell(text) for _ in range(MAX_TEXTS // MAX_TEXT)]
    own += [new_code_cell(repeated(unit, MAX_SOURCE)) for _ in range(MAX_TEXTS // MAX_SOURCE)]
    outputs = {
        "text/html": repeated(unit, sanitize.MAX_HTML),
        "text/markdown": repeated(unit, sanitize.MAX_TEXT),
        "text/latex": repeated(unit, sanitize.MAX_TEXT),
        "text/plain": repeated(unit, 2**22),
    }
    shown = 0
    while shown <= MAX_SHOWN:
        for kind, value in outputs.items():
            clean = sanitised_output({"output_type": "display_data", "metadata": {}, "data": {kind: value}})
            shown += len(str(clean))
            own.append(new_code_cell("1", outputs=[clean]))
    notebook.cells = [*own, *notebook.cells]
    return notebook


def page_and_costs(unit):
    """The page with two seconds for it; what it cost, and what it costs with none: then all is written plainly."""
    notebook, costs = full(unit), []
    for seconds in (0, 2):
        started = time.process_time()
        made = page(notebook, seconds=seconds)
        costs.append(time.process_time() - started)
    full.cache_clear()
    return made, *costs


@pytest.fixture(scope="module")
def fresh_process():
    """A page is made in a process that does nothing else; here, other tests have left threads and much to collect."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as process:
        yield process


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("unit", COSTLIEST.values(), ids=COSTLIEST)
def test_a_full_notebook_made_to_cost_has_its_page_within_the_budget(unit, fresh_process):
    made, plain, spent = fresh_process.submit(page_and_costs, unit).result()
    assert spent < 2 + 3 * plain + 4  # without a budget: half a minute and more
    assert len(made) < 2 * 2**25
    soup = BeautifulSoup(made[: made.index('aria-labelledby="notebook"')] + "</section></main>", "html.parser")
    assert len(rows(soup)) == len(HANDED_OUT.spots)
    assert "58 % are NaN" in made, "the rubric is there"


def test_what_there_is_no_time_for_is_shown_as_plain_text_and_the_page_says_so():
    cells = [new_markdown_cell("*first*"), new_code_cell("x = 1", outputs=[new_output("stream", text="a < b")])]
    made = page(whole([*cells, *marked(MISTAKEN).cells]), seconds=0)
    said = text_of(made)
    assert "took longer than the 0 seconds" in said
    assert "<pre>*first*</pre>" in made
    assert "<pre>a &lt; b</pre>" in made
    assert "58 % are NaN" in made
    assert "Left out" not in made


def test_what_there_is_no_room_for_is_left_out_and_the_page_says_so():
    cells = [new_markdown_cell("y" * 5_000), new_markdown_cell("*short*")]
    made = page(whole([*cells, *marked({}).cells]), seconds=30, size=4_000)
    assert "y" * 100 not in made
    assert LEFT_OUT in made
    assert "<em>short</em>" in made
    assert "would be larger than the 0.0038147 MiB" in text_of(made)


def test_an_honest_page_says_nothing_of_a_budget():
    made = page(marked(MISTAKEN, written="Because $\\sqrt{d_k}$."), seconds=30)
    assert "plain text" not in made
    assert "Left out" not in made


def test_one_piece_that_takes_too_long_is_stopped_in_the_middle():
    budget = Budget(seconds=0.5)
    made = budget.piece(lambda: rendering.Markup("".join(iter(lambda: "", None))), "what it was <made> of")
    assert made == "<pre>what it was &lt;made&gt; of</pre>"
    assert budget.sentences


def test_where_signals_do_not_come_it_is_looked_at_between_two_pieces():
    made = []

    def work():
        budget = Budget(seconds=0.0)
        made.append(budget.piece(lambda: rendering.Markup("never"), "plain"))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert made == ["<pre>plain</pre>"]


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["***a", "*a", "a.", "\n", "\n\t", "x \n", '"""\n', "%%", "? "])
def test_highlighting_ends(unit):
    with ends():
        rendering.code("x" + repeated(unit, MAX_SOURCE) + "x")


def test_code_is_highlighted_as_ipython_does(solution):
    from pygments import lex
    from pygments.lexers import get_lexer_by_name

    magics = ["%time x\n", "!ls\nx\n", "%%bash\nls\n", "x?\n", "x.y*?\n", "files = !ls\n", "%matplotlib inline\nx\n"]
    sources = magics + [cell.source for cell in solution.cells if cell.cell_type == "code"]
    for source in sources:
        assert list(lex(source, lexer.NotebookLexer())) == list(lex(source, get_lexer_by_name("ipython3")))
