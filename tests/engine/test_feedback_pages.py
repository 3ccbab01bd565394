"""Tests of feedback pages: summary, view of the notebook, limits, and that no student content runs or loads."""

import html
import re
import threading
from itertools import pairwise

import pytest
from bs4 import BeautifulSoup
from conftest import NOTEBOOKS, ROOT, cell_of, ends, missing, read
from feedback_pages import (
    _TEXTS,
    ABOUT,
    COSTLY,
    EVIL,
    HANDED_OUT,
    MINOR,
    MISTAKEN,
    ODD,
    PIXEL,
    everywhere,
    exporter,
    in_formgrader,
    marked,
    page,
    whole,
)
from markupsafe import escape
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from own_assignments import graded
from pygments import lex
from pygments.lexers import get_lexer_by_name

from autograder.judge.diagnosis.diagnose import Line
from autograder.judge.formatting import prose, without_emphasis
from autograder.judge.mark import Verdict
from autograder.judge.parsing import MAX_SOURCE
from autograder.nbgrader_plugin.feedback import lexer, rendering, sections
from autograder.nbgrader_plugin.feedback.budget import LEFT_OUT, Budget
from autograder.nbgrader_plugin.feedback.exporter import POLICY
from autograder.nbgrader_plugin.feedback.mathml import TAGS, mathml
from autograder.nbgrader_plugin.intake import sanitize
from autograder.nbgrader_plugin.intake.repair import KEY, MAX_TEXT, MAX_TEXTS, PROVIDED
from autograder.nbgrader_plugin.marking.notebook_marker import _cleaned
from autograder.nbgrader_plugin.marking.notices import FAILED, RESTARTED, SKIPPED
from autograder.nbgrader_plugin.release import released_notebook

BY_HAND = {"answer": True, "by_hand": True, "text": True}


def text_of(markup):
    return " ".join(BeautifulSoup(str(markup), "html.parser").get_text(" ").split()).replace(" .", ".")


def soup_of(notebook, **about):
    return BeautifulSoup(page(notebook, HANDED_OUT, **about), "html.parser")


@pytest.fixture(scope="module")
def mistaken():
    notebook = marked(MISTAKEN, written="Because $\\sqrt{d_k}$.")
    return soup_of(notebook, student_name="Ada Lovelace", score=17.5, max_score=31)


def rows(soup):
    return {row.th.get_text(): row for row in soup.select("table.marks tbody tr")}


def test_the_top_shows_the_title_the_student_and_the_mark(mistaken):
    assert [heading.get_text() for heading in mistaken.select("h1")] == ["5. Attention: every word looks at the others"]
    assert "Ada Lovelace (ada)" in mistaken.header.get_text()
    assert mistaken.select_one("h2").get_text() == "Your mark so far: 17.5 of 28 points"


def test_a_row_shows_an_exercises_mark_and_what_to_read_again(mistaken):
    found = rows(mistaken)
    assert list(found) == [str(sections.in_line(spot.title)) for spot in HANDED_OUT.spots.values()]
    row = found["Exercise: softmax"]
    assert row.td.get_text().startswith("2.25 of 4")
    assert MINOR.replace("`", "") in row.get_text()
    assert "58 % are NaN" not in row.get_text()  # the rubric below says it
    section = row.select_one(".reread a")
    assert section.get_text() == "2. A weighted sum"
    assert mistaken.find(id=section["href"][1:]).get_text() == "2. A weighted sum"
    assert mistaken.find(id=row.th.a["href"][1:]).select_one("pre.code").get_text().startswith("def softmax")


def test_a_row_without_a_named_mistake_says_what_failed_first(mistaken):
    found = rows(mistaken)
    assert "values: 24 of 24 differ, x." in text_of(found["Exercise: simple attention"])
    [line] = MISTAKEN["q5_2"].lines
    assert line.message.replace("`", "")[:40] in found["Question 5.2"].get_text()


def test_a_written_answers_row_waits_for_a_person(mistaken):
    row = rows(mistaken)["Written answer: scaling"]
    assert row["class"] == ["waits"]
    assert "Read by a person" in row.get_text()
    assert mistaken.find(id="answer-written_scaling").find("math") is not None


def test_of_what_gives_no_points_only_what_passed_is_called_right():
    cells = [graded("passed", "assert 1"), graded("failed", "assert 0, 'none'"), graded("written", "So.", **BY_HAND)]
    for cell in cells:
        cell.metadata.nbgrader.update(grade=True, score=0.0, points=0.0, waits=cell.cell_type == "markdown")
    error = {"ename": "AssertionError", "evalue": "none", "traceback": ["AssertionError: none"]}
    cells[1].outputs = [new_output("error", **error)]
    soup = BeautifulSoup(page(whole(cells)), "html.parser")
    assert {name: row["class"] for name, row in rows(soup).items()} == {
        "passed": ["right"],
        "failed": ["wrong"],
        "written": ["waits"],
    }
    assert "AssertionError: none" in rows(soup)["failed"].get_text()
    assert "points are open" not in soup.select_one("[aria-labelledby=next]").get_text()


def test_the_next_steps_list_mistakes_before_unanswered_exercises(mistaken):
    first, then, unanswered, last = mistaken.select("[aria-labelledby=next] li")
    assert first.a.get_text() == "Exercise: softmax"
    assert "1.75 points" in first.get_text()
    assert [link.get_text() for link in then.select("a")] == ["Exercise: simple attention", "Question 5.2"]
    assert [link.get_text() for link in unanswered.select("a")] == ["Exercise: self-attention"]
    assert "Restart Kernel and Run All Cells" in last.get_text()
    assert "Next in the course: 06-masking" in text_of(soup_of(marked({}, written="Because.")))


def test_unjudged_lines_and_unknown_fields_are_tolerated():
    notebook = marked({"softmax": Verdict("softmax", 4.0, 2.0, [Line("values", 2.0, False, "They differ.")])})
    [data] = [o.data for o in cell_of(notebook, "test_softmax").outputs if "data" in o and len(o.data) > 1]
    [kind] = [kind for kind in data if "autograder" in kind]
    data[kind] |= {"score_explanation": "It costs half a point.", "later": 1}
    data[kind]["lines"].insert(0, {"title": "x", "weight": 1.0, "passed": False, "judged": False, "message": "no"})
    assert "values: They differ." in text_of(rows(soup_of(notebook))["Exercise: softmax"])


def test_what_was_not_run_is_said_once_with_its_reason():
    notebook = marked({})
    cell_of(notebook, "softmax").outputs = [new_output("stream", text=f"[{RESTARTED}]\n")]
    failed = new_output("error", ename="NameError", evalue="name 'x' is not defined", traceback=["x"])
    notebook.cells.append(new_code_cell("x", outputs=[failed]))
    soup = soup_of(notebook)
    assert SKIPPED not in soup.get_text()
    first, second, own = soup.select("[aria-labelledby=not-run] li")
    assert first.a["href"] == "#answer-softmax"
    assert RESTARTED in first.get_text()
    assert "NameError" in second.get_text()
    assert soup.find(id=second.a["href"][1:]).select_one("pre.code").get_text() == "x"
    assert re.match(r"\d+ of the course’s own cells", own.get_text())


def test_a_notice_stands_at_the_top():
    notebook = marked({})
    notebook.cells.insert(0, new_markdown_cell("### About\n\n- It was named “x.ipynb”.", metadata={KEY: "notice"}))
    soup = soup_of(notebook)
    assert "“x.ipynb”" in soup.select_one("[aria-labelledby=mark]").get_text()
    assert "“x.ipynb”" not in soup.select_one(".notebook").get_text()


def test_an_unreadable_submission_gets_only_its_notice():
    notebook = marked({}, written="Because.")
    notebook.cells.insert(0, new_markdown_cell(f"### {FAILED}\n\n- The file is empty.", metadata={KEY: "notice"}))
    soup = soup_of(notebook)
    assert [heading.get_text() for heading in soup.select("h2, h3")][1:] == [FAILED, "What to do next"]
    assert not soup.select("table, pre")


def test_a_comment_and_a_late_penalty_are_shown():
    message = page(marked({}, comment="Well done, *Ada*."), HANDED_OUT, late_penalty=0.75)
    assert not missing(message, "Well done, <em>Ada</em>.", "Handed in late")
    assert "Well done, Ada." in rows(BeautifulSoup(message, "html.parser"))["Written answer: scaling"].get_text()


def test_nbgraders_own_comment_is_not_shown():
    message = page(marked({}, comment="No response."), HANDED_OUT)
    assert not [words for words in ("Your instructor says", "Handed in late") if words in message]


@pytest.mark.parametrize(
    ("message", "written"),
    [
        ("over the *other* tokens", "over the <em>other</em> tokens"),
        ("after *the keys to the cabinet*", "after <em>the keys to the cabinet</em>"),
        ("*Nf3* stands in *ada's* games", "<em>Nf3</em> stands in <em>ada&#x27;s</em> games"),
        ("*minus* the `a *b* c` of *all*:", "<em>minus</em> the <code>a *b* c</code> of <em>all</em>:"),
        ("2*x*3, f(*args), **bold**, 2 * x * 3", "2*x*3, f(*args), **bold**, 2 * x * 3"),
        ("<b> *<b>*", "&lt;b&gt; *&lt;b&gt;*"),
        ("one ` and *two*", "one ` and *two*"),
    ],
)
def test_what_is_said_of_a_mistake_has_its_code_and_its_emphasis(message, written):
    assert prose(message) == written
    code = re.sub("</?code>", "`", re.sub("</?em>", "", written))
    assert without_emphasis(message) == html.unescape(code), "in text the asterisks of emphasis go, and no others"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_answer_of_the_course_has_a_title_and_a_linked_section(name):
    handed_out = released_notebook.read(ROOT / "course" / name / f"{name}.ipynb")
    texts = [cell for cell in read("course", name).cells if cell.cell_type == "markdown"]
    made = page(whole(texts), handed_out, assignment=name)
    found = {heading.get_text(): heading.get("id") for heading in BeautifulSoup(made, "html.parser").select("h3")}
    assert re.match(r"\d+(, further)?\. .", handed_out.title)
    assert handed_out.spots
    for spot in handed_out.spots.values():
        assert spot.title.startswith(("Exercise: ", "Question ", "Written answer: ")), spot
        section = BeautifulSoup(str(sections.in_line(spot.section)), "html.parser").get_text()
        assert found[section], spot


def test_provided_text_is_folded_and_answers_are_open(mistaken):
    assert mistaken.find(id="answer-softmax").find_parent("details") is None
    for folded in ("torch.manual_seed", "only the rest of the sentence says"):
        paths = [t.parent for t in mistaken.select_one(".notebook").find_all(string=re.compile(folded))]
        assert paths
        assert all(path.find_parent("details") for path in paths)


def test_a_students_note_in_a_provided_cell_is_open():
    notebook = marked({})
    [cell] = [cell for cell in notebook.cells if cell.source.startswith("## 2.")]
    cell.source += "\n\nMy note."
    [note] = soup_of(notebook).find_all(string=re.compile("My note"))
    assert note.find_parent("details") is None
    assert "Your own text" in note.find_parent(class_="cell").get_text()


def test_headings_are_in_order_whatever_a_student_writes():
    sources = "##### deep\n\n# high\n\n<h1>raw</h1>\n\n<h6>deep</h6>", "</h3><h1>open"
    output = new_output("display_data", data={"text/html": "<h1>mine</h1><h5>x</h5>"})
    cells = [*map(new_markdown_cell, sources), new_code_cell("1", outputs=[output])]
    made = BeautifulSoup(page(whole(cells)), "html.parser")
    levels = [int(heading.name[1]) for heading in made.select("h1, h2, h3, h4, h5, h6")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_a_page_declares_its_language_and_landmarks(mistaken):
    assert mistaken.html["lang"] == "en"
    assert [len(mistaken.select(mark)) for mark in ("header", "main", "footer")] == [1, 1, 1]
    labels = [section["aria-labelledby"] for section in mistaken.select("section")]
    assert all(mistaken.find(id=label).name == "h2" for label in labels)


def test_links_within_a_page_lead_to_its_unique_ids(mistaken):
    names = [element["id"] for element in mistaken.select("[id]")]
    paths = [link["href"][1:] for link in mistaken.select("a[href^='#']")]
    assert len(paths) > 20
    assert set(paths) <= set(names)
    assert len(names) == len(set(names))


def test_a_page_loads_nothing(mistaken):
    assert mistaken.select_one("meta[http-equiv]")["content"] == POLICY
    assert POLICY.startswith("default-src 'none'")
    assert "script-src" not in POLICY
    assert not mistaken.select("script, link, iframe, object, embed, img:not([src^='data:'])")
    assert not [word for word in ("url(", "@import") if word in mistaken.style.get_text()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_their_ground(scheme):
    """The contrast is 4.5 to 1 (WCAG AA) for all colours that words have, on both grounds."""
    style = (ROOT / "autograder/nbgrader_plugin/feedback/feedback_page/style.css").read_text()
    block = re.findall(r":root \{(.*?)\}", style, re.DOTALL)[scheme == "dark"]
    bright = {name: 0.05 + _luminance(colour) for name, colour in re.findall(r"--([a-z]+): (#[0-9a-f]{6})", block)}
    words = bright.keys() - {"paper", "panel", "line", "bar"}
    assert len(words) == 10
    pairs = [(word, ground) for word in words for ground in ("paper", "panel")]
    assert not [pair for pair in pairs if max(map(bright.get, pair)) / min(map(bright.get, pair)) < 4.5]


def _luminance(colour):
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_descriptions_of_pictures_reach_the_page():
    about = {"image/png": {"alt": 'A "curve" <that> rises.', "width": 9, "height": 7}}
    described = {"output_type": "display_data", "data": {"image/png": PIXEL}, "metadata": about}
    drawn = new_output("display_data", data={"image/png": PIXEL})
    cell = new_code_cell("1", outputs=[sanitised_output(described), drawn])
    first, second = BeautifulSoup(page(whole([cell])), "html.parser").select("img")
    assert first["alt"] == 'A "curve" <that> rises.'
    assert (first["width"], first["height"]) == ("9", "7")
    assert second["alt"] == rendering.NO_DESCRIPTION
    twins = [new_markdown_cell("![p](attachment:p.png)") for _ in range(2)]
    for twin, data in zip(twins, (PIXEL, PIXEL[::-1]), strict=True):
        twin.attachments = {"p.png": {"image/png": data}}  # each cell has its own
    assert not missing(shown([*twins, new_markdown_cell("![none](attachment:gone)")]), PIXEL, PIXEL[::-1], 'alt="none"')


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_formula_of_the_course_is_set(name, monkeypatch):
    found = []
    monkeypatch.setattr(rendering, "mathml", lambda *formula: found.append(mathml(*formula)) or found[-1])
    for cell in read("solutions", name).cells:
        if cell.cell_type == "markdown":
            soup = BeautifulSoup(rendering._markdown(cell.source, {}), "html.parser")
            for code in soup.select("code, pre"):
                code.extract()
            assert "$" not in soup.get_text(), cell.source
    assert found or name.startswith(("02-tokenisation", "12-it-trains"))
    for markup in found:
        assert markup.startswith("<math"), markup
        assert "\\" not in BeautifulSoup(markup, "html.parser").get_text(), markup


def test_a_formula_runs_nothing_and_costs_nothing():
    texts = [r"\text{<script>alert(1)</script>}", r"\style{position:fixed}{x}", r"\color{red;position:fixed}{x}"]
    texts += [r"\href{javascript:alert(1)}{x}", r"\class{panel}{x}", r"\hspace{1em;position:fixed} x"]
    texts += [r"</math><img src=x onerror=alert(1)>", "{" * 300, r"\frac" * 500, r"\left(" * 300, "x" * 100_000, ""]
    assert mathml(r"\nosuch{x}") == r"<code>\nosuch{x}</code>"  # shown as it was written
    with ends():
        soup = BeautifulSoup("".join(map(mathml, [*texts, "_{" * 200 + "}" * 200])), "html.parser")
    for element in soup.find_all(True):
        assert element.name in TAGS | {"code"}
        assert not [one for one in element.attrs if one[:2] == "on" or one in ("href", "class", "style", "src")]
    formula = r"$\text{ onerror=alert(1) }$"  # in an attribute it stays text
    made = rendering.markdown(f"![a {formula} b](x.png) [c](https://example.org '{formula}')\n\n# {formula}")
    [picture] = BeautifulSoup(made, "html.parser").select("img")
    assert set(picture.attrs) == {"src", "alt"}
    assert "onerror" in picture["alt"]


def shown(cells):
    empty, full = page(whole([])), page(whole(cells))
    assert full[: full.index("<main")] == empty[: empty.index("<main")]
    return full[full.index("<main") :]


def dangers(markup):
    """Return the elements and attributes, as a browser would read them, that are not on a list of our own."""
    soup = BeautifulSoup(markup, "html.parser")
    found = soup.select("script, style, iframe, object, embed, form, svg, base, link, meta")
    for name, value in (pair for element in soup.find_all(True) for pair in element.attrs.items()):
        text = " ".join(value) if isinstance(value, list) else value
        loads = name == "src" and not text.startswith("data:image/") and ":" in text
        if loads or name.startswith("on") or re.search(r"javascript|evil\.example|position", text):
            found.append(f"{name}={text}")
    return found


def test_student_text_runs_and_loads_nothing_on_a_page():
    for text in EVIL:
        markup = shown([cell for cell in everywhere(text) if cell.cell_type != "raw"])
        assert set(dangers(markup)) <= {f"alt={text}"}, "no more than a picture described by it, word for word"
        assert 'class="panel' not in markup
        assert markup.count('id="notebook"') == 1
        assert 'name="top"' not in markup


def test_student_text_runs_and_loads_nothing_in_formgrader():
    made = in_formgrader(map(new_markdown_cell, [*EVIL, "```python\nfor x in y:\n    pass\n```"]))
    assert dangers(made) == []
    assert '<span class="k">for</span>' in made


def test_no_kind_of_output_runs():
    about = {"image/png": {"width": "1 onerror=alert(1)"}, "isolated": True, "text/html": {"isolated": True}}
    for data in _TEXTS["outputs"]:
        output = new_output("display_data", metadata=about)
        output.data = data
        assert dangers(shown([new_code_cell("1", outputs=[output])])) == [], data


def test_what_a_student_opens_or_closes_stays_in_its_cell():
    made = BeautifulSoup(page(whole([cell for text in ODD for cell in everywhere(text)])), "html.parser")
    assert [element.name for element in made.body.find_all(True, recursive=False)] == ["header", "main", "footer"]
    cells = made.select_one(".notebook").find_all(class_="cell", recursive=False)
    assert len(cells) == sum(4 + bool(text.strip()) * 2 for text in ODD)
    after = [path for path, cell in enumerate(cells) if cell.b and cell.b.get_text() == "it"]
    assert len(after) == len(ODD)
    assert all(cells[path - 1].select_one("pre.code").get_text() == "y = 2 < 3" for path in after)
    assert not any(cells[path].em for path in after)


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
    assert not missing(
        markup,
        'class="dataframe"',
        "text-align:right",
        "<td>2.5</td>",
        PIXEL,
        'width="9"',
        "data:image/svg+xml;base64,",
        "<mi>x</mi><mo>&lt;</mo><mi>y</mi>",
        "ansi-red",
        "&lt;b&gt;",
        "<em>words</em>",
        "<mi>a</mi><mo>&lt;</mo>",
        'href="https://pytorch.org"',
        "<summary>More",
    )


def sanitised_output(output):
    [clean] = _cleaned(output, 1)
    return clean


def test_the_students_page_leaves_out_what_nobody_reads():
    notebook = marked(MISTAKEN)
    looks = new_code_cell("look_around()", metadata={"tags": [PROVIDED], "nbgrader": {"grade_id": "ready"}})
    notebook.cells.insert(0, looks)  # as in notebooks that import no tools
    made = page(notebook, HANDED_OUT)
    assert "look_around" not in made
    assert "Test of scaled_dot_product_attention" not in made
    assert "Test of softmax" in made, "tests are shown where marks are missing"
    assert len(made) < 250_000
    assert page(marked(MISTAKEN), HANDED_OUT) == made


@pytest.mark.slow
@pytest.mark.parametrize("unit", COSTLY.values(), ids=COSTLY)
def test_a_page_of_a_text_made_to_cost_ends(unit):
    cell = new_markdown_cell(sanitize.markdown(unit * (200_000 // len(unit))))
    output = {"output_type": "display_data", "metadata": {}, "data": {"text/html": unit * (290_000 // len(unit))}}
    with ends():
        shown([cell, new_code_cell("1", outputs=[sanitised_output(output)])])


def page_within(notebook, seconds, size=2**25):
    made = exporter(work_timeout=seconds, max_size=size)
    made.handed_out = HANDED_OUT
    return made.from_notebook_node(notebook, {"nbgrader": ABOUT})[0]


def test_content_beyond_the_time_budget_is_shown_as_plain_text():
    cells = [new_markdown_cell("*first*"), new_code_cell("x = 1", outputs=[new_output("stream", text="a < b")])]
    made = page_within(whole([*cells, *marked(MISTAKEN).cells]), seconds=0)
    assert "took longer than the 0 seconds" in text_of(made)
    assert not missing(made, "<pre>*first*</pre>", "<pre>a &lt; b</pre>", "58 % are NaN")
    assert "Left out" not in made


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nested divisions", "tables"])
def test_a_costly_notebook_is_plain_text_once_the_budget_is_spent(kind):
    text = sanitize.markdown(COSTLY[kind] * (MAX_TEXT // len(COSTLY[kind])))
    texts = ["*first*", *[text] * (MAX_TEXTS // MAX_TEXT), "*last*"]
    with ends():
        made = page_within(whole([*map(new_markdown_cell, texts), *marked(MISTAKEN).cells]), seconds=2)
    assert not missing(made, "took longer than the 2 seconds", "<em>first</em>")
    assert made.count(str(escape(text))) >= 2, "what was stopped in the middle, and what came later"
    assert "<pre>*last*</pre>" in made
    assert "58 % are NaN" in made, "the rubric is there"


def test_what_there_is_no_room_for_is_left_out_and_the_page_says_so():
    cells = [new_markdown_cell("y" * 5_000), new_markdown_cell("*short*")]
    made = page_within(whole([*cells, *marked({}).cells]), seconds=30, size=4_000)
    assert "y" * 100 not in made
    assert not missing(made, LEFT_OUT, "<em>short</em>")
    assert "would be larger than the 0.0038147 MiB" in text_of(made)
    made = page_within(marked(MISTAKEN, written="Because $\\sqrt{d_k}$."), seconds=30)
    assert not [words for words in ("plain text", "Left out") if words in made], "an honest page says nothing of it"


def test_one_piece_that_takes_too_long_is_stopped_in_the_middle():
    found = []

    def make_a_page():
        budget = Budget(seconds=0.5)
        endless = budget.piece(lambda: rendering.Markup("".join(iter(lambda: "", None))), "what it was <made> of")
        found.append((endless, budget.piece(lambda: rendering.Markup("never"), "plain"), bool(budget.sentences)))

    make_a_page()
    thread = threading.Thread(target=make_a_page)  # where signals do not come
    thread.start()
    thread.join()
    assert found == 2 * [("<pre>what it was &lt;made&gt; of</pre>", "<pre>plain</pre>", True)]


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
