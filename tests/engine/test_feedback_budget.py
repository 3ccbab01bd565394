"""Tests that a feedback page stays within the instructor's limits for any notebook, and always has mark and rubric."""

import threading

import pytest
from conftest import ends, missing, read
from markupsafe import escape
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from pygments import lex
from pygments.lexers import get_lexer_by_name
from test_feedback_pages import COSTLY, HANDED_OUT, MISTAKEN, Exporter, HideTests, marked, text_of, whole
from test_feedback_pages import SETTINGS as PAGES
from traitlets.config import Config

from autograder.judge.parsing import MAX_SOURCE
from autograder.nbgrader_plugin.feedback import lexer, rendering
from autograder.nbgrader_plugin.feedback.budget import LEFT_OUT, Budget
from autograder.nbgrader_plugin.intake import sanitize
from autograder.nbgrader_plugin.intake.repair import MAX_TEXT, MAX_TEXTS


def page(notebook, seconds, size=2**25):
    settings = Config(PAGES)
    settings.FeedbackExporter.work_timeout = seconds  # as in nbgrader_config.py
    settings.FeedbackExporter.max_size = size
    exporter = Exporter(config=settings)
    exporter.handed_out = HANDED_OUT
    exporter.register_preprocessor(HideTests, enabled=True)
    about = {"notebook": "n", "assignment": "05-attention", "student": "ada", "score": 1, "max_score": 2}
    return exporter.from_notebook_node(notebook, {"nbgrader": about | {"late_penalty": 0}})[0]


def test_what_there_is_no_time_for_is_shown_as_plain_text_and_the_page_says_so():
    cells = [new_markdown_cell("*first*"), new_code_cell("x = 1", outputs=[new_output("stream", text="a < b")])]
    made = page(whole([*cells, *marked(MISTAKEN).cells]), seconds=0)
    said = text_of(made)
    assert "took longer than the 0 seconds" in said
    assert not missing(made, "<pre>*first*</pre>", "<pre>a &lt; b</pre>", "58 % are NaN")
    assert "Left out" not in made


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nested divisions", "tables"])
def test_a_full_notebook_made_to_cost_is_plain_text_once_the_budget_is_spent(kind):
    """As many texts as repair leaves in a notebook: without a budget, a quarter or half of a minute."""
    text = sanitize.markdown(COSTLY[kind] * (MAX_TEXT // len(COSTLY[kind])))
    texts = ["*first*", *[text] * (MAX_TEXTS // MAX_TEXT), "*last*"]
    with ends():
        made = page(whole([*map(new_markdown_cell, texts), *marked(MISTAKEN).cells]), seconds=2)
    assert not missing(made, "took longer than the 2 seconds", "<em>first</em>")
    assert made.count(str(escape(text))) >= 2, "what was stopped in the middle, and what came later"
    assert "<pre>*last*</pre>" in made
    assert "58 % are NaN" in made, "the rubric is there"


def test_what_there_is_no_room_for_is_left_out_and_the_page_says_so():
    cells = [new_markdown_cell("y" * 5_000), new_markdown_cell("*short*")]
    made = page(whole([*cells, *marked({}).cells]), seconds=30, size=4_000)
    assert "y" * 100 not in made
    assert not missing(made, LEFT_OUT, "<em>short</em>")
    assert "would be larger than the 0.0038147 MiB" in text_of(made)


def test_an_honest_page_says_nothing_of_a_budget():
    made = page(marked(MISTAKEN, written="Because $\\sqrt{d_k}$."), seconds=30)
    assert not [words for words in ("plain text", "Left out") if words in made]


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
        rendering.code("x" + unit * (MAX_SOURCE // len(unit)) + "x")


def test_code_is_highlighted_as_ipython_does():
    magics = ["%time x\n", "!ls\nx\n", "%%bash\nls\n", "x?\n", "x.y*?\n", "files = !ls\n", "%matplotlib inline\nx\n"]
    code = [cell.source for cell in read("solutions", "05-attention").cells if cell.cell_type == "code"]
    for source in magics + code:
        assert list(lex(source, lexer.NotebookLexer())) == list(lex(source, get_lexer_by_name("ipython3")))
