"""Tests in a real browser: figures, pictures that one can touch, a feedback page."""

# ruff: noqa: F811
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pictures
import pytest
import torch
from browsing import (  # noqa: F401 (fixtures among them)
    NEEDS_BROWSER,
    browser,
    cell,
    in_view,
    kept,
    opened,
    ours,
    page,
    press,
    run,
    served,
    without_findings,
    wrote,
)
from conftest import ROOT, read
from feedback_pages import HANDED_OUT, MISTAKEN, marked
from feedback_pages import page as feedback_page
from marked_class import blocked, collected, make_class
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.sync_api import Page, expect

from autograder.nbgrader_plugin.report.html_page import page as class_report
from autograder.nbgrader_plugin.report.html_page import page_of_student

TYPED = """
from attention_explorer import explore
from ipywidgets import Combobox, interact

def look(sentence):
    words = sentence.split()
    explore([[1 / len(words)] * len(words)] * len(words), words)

view = interact(look, sentence=Combobox(value="one two", continuous_update=False))
"""
TOUCH = """
from interactive_figures import turn
turn({"position": [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]}, [1.5708])
"""
SAVE = """async ([path, content]) => {
    const token = (document.cookie.match(/_xsrf=([^;]+)/) || [])[1];
    const said = await fetch(`/api/contents/${path}`, {
        method: "PUT", headers: { "Content-Type": "application/json", "X-XSRFToken": token },
        body: JSON.stringify({ type: "notebook", format: "json", content }),
    });
    return said.status;
}"""
pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Return JupyterLab in a fresh copy of what students get. Its address."""
    folder = tmp_path_factory.mktemp("student") / "course"
    shutil.copytree(ROOT / "course", folder)
    kernel = {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}}
    small = {"05-attention/typed": TYPED, "04-positional-encoding/touch": TOUCH}
    for name, source in small.items():  # the course's own wait for an hour's work
        nbformat.write(new_notebook(cells=[new_code_cell(source)], metadata=kernel), folder / f"{name}.ipynb")
    with served(["jupyter", "lab"], folder, tmp_path_factory.mktemp("home"), JUPYTER_CONFIG_PATH=".jupyter") as address:
        yield address


@pytest.fixture(scope="module")
def learners(tmp_path_factory):
    """Return JupyterLab as `make learn` starts it, in a fresh copy of the course. Its address."""
    folder = tmp_path_factory.mktemp("alone")
    command = [sys.executable, "-m", "autograder.cli", "learn", "--folder", str(folder / "learn")]
    with served(command, ROOT, folder) as address:
        yield address


def test_a_notebook_opened_from_the_start_page_stays_unchanged(lab, page):
    page.goto(f"{lab}/lab?reset")
    page.locator(".jp-LauncherCard", has_text="Start page").click()
    expect(page.locator(".jp-MarkdownViewer h1")).to_be_visible()
    page.locator(".jp-MarkdownViewer a", has_text="Masking").first.click()
    expect(page.get_by_text("| Idle")).to_be_visible()
    page.wait_for_timeout(3000)  # JupyterLab notes the kernel's version in the notebook
    assert page.locator(".jp-mod-dirty").count() == 0
    assert "Validate" not in page.locator(".jp-NotebookPanel-toolbar").first.inner_text()
    in_view(page, page.locator(".jp-CodeCell", has_text="def shift_targets(")).locator(".cm-content").click()
    page.keyboard.insert_text("x")
    expect(page.locator(".jp-mod-dirty").first).to_be_visible()
    assert not ours(page.errors)


def test_a_learner_alone_reads_the_mistake_by_its_name_and_what_comes_next(learners, page):
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(learners)
    page.locator(".jp-MarkdownViewer a", has_text="Attention: every word").first.click()
    expect(page.locator(".jp-NotebookPanel h1")).to_be_visible()
    expect(page.get_by_text("| Idle")).to_be_visible()
    page.wait_for_timeout(2000)
    wrote(page, "q5_1 = None", 'q5_1 = "b"')  # no cell above it has run, as after a pause
    expect(cell(page, "Test of q5_1").locator(".jp-OutputArea")).to_contain_text("The order is no hindrance")
    shared = "    exps = torch.exp(scores - scores.max())\n    return exps / exps.sum(dim=dim, keepdim=True)"
    wrote(page, "def softmax(", f"def softmax(scores, dim=-1):\n{shared}")
    message = cell(page, "Test of softmax").locator(".jp-OutputArea")
    expect(message).to_contain_text("Choose Run → Run All Above Selected Cell")
    in_view(page, page.locator(".jp-NotebookPanel h1")).click()
    press(page, *["Shift+Enter"] * 4)
    wrote(page, "def softmax(", f"def softmax(scores, dim=-1):\n{shared}")
    expect(message).to_contain_text("One maximum is subtracted from all")
    expect(message).to_contain_text("Reread “2. A weighted sum”")
    without_findings(page, ".jp-OutputArea-output")  # the rest is JupyterLab's
    kept(page, "a_learner_alone_reads_the_mistake_by_its_name")
    for item in ("Settings", "Theme", "JupyterLab Dark"):
        page.locator(".lm-MenuBar-itemLabel, .lm-Menu-itemLabel").get_by_text(item, exact=True).click()
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", "false")
    expect(message.locator(".wrong").first).to_have_css("color", "rgb(255, 157, 146)")
    without_findings(page, ".jp-OutputArea-output")
    kept(page, "a_learner_alone_in_the_dark")
    page.locator(".lm-TabBar-tab", has_text="START.md").first.click()
    expect(page.locator(".jp-MarkdownViewer table").first).to_contain_text("2 of 12 tried, 3.25 of 34 points")
    without_findings(page, ".jp-MarkdownViewer")
    page.locator(".jp-MarkdownViewer a", has_text="Exercise: softmax in").click()
    expect(page.locator(".jp-NotebookPanel h3", has_text="Exercise: softmax")).to_be_in_viewport()
    assert not ours(page.errors)


def test_figures_have_their_description_in_jupyterlab(lab, page):
    outputs = (output for cell in read("solutions", "05-attention").cells for output in cell.get("outputs", []))
    drawn = next(output for output in outputs if "image/png" in output.get("data", {}))
    words, other = drawn.metadata["image/png"]["alt"], new_output("display_data", data=drawn.data)
    notebook = new_notebook(cells=[new_code_cell("show(fig, alt)", outputs=[drawn, other])])
    page.goto(lab)
    page.locator(".jp-MarkdownViewer h1").wait_for()  # the start page comes first
    assert page.evaluate(SAVE, ["05-attention/figure.ipynb", json.loads(nbformat.writes(notebook))]) == 201
    page.goto(f"{lab}/lab/tree/05-attention/figure.ipynb?reset")
    page.locator(".jp-RenderedImage img").nth(1).wait_for()
    first, second = page.locator(".jp-RenderedImage img").all()
    assert first.get_attribute("alt") == words
    assert not second.get_attribute("alt"), "without a description there is none to give"
    assert page.get_by_role("img", name=words).count() == 1, "this is what a screen reader asks for"
    assert not ours(page.errors)


def test_a_feedback_page_is_accessible_and_needs_no_network(page, tmp_path):
    path = tmp_path / "feedback.html"
    path.write_text(feedback_page(marked(MISTAKEN, written="Because $\\sqrt{d_k}$."), HANDED_OUT), "utf-8")
    page.goto(path.as_uri())
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
    assert not page.errors
    assert page.locator("math").count() > 0
    page.emulate_media(color_scheme="dark")
    without_findings(page)


@pytest.mark.parametrize("width", [390, 1366])
def test_the_class_report_and_a_students_page_are_accessible(page, width, tmp_path):
    data = collected(make_class(tmp_path / "term", {f"student-{n}": blocked() for n in range(6)}, ["eve"]))
    page.set_viewport_size({"width": width, "height": 900})
    for name, text in (("class", class_report(data)), ("student", page_of_student(data, "student-3"))):
        (tmp_path / f"{name}.html").write_text(text, "utf-8")
        page.goto((tmp_path / f"{name}.html").as_uri())
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            without_findings(page, least="minor")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        titles = "[...document.querySelectorAll('caption span, h1, h2, h3')]"
        assert page.evaluate(f"Math.max(...{titles}.map(one => one.getBoundingClientRect().right))") <= width


def explorer_page(explorer) -> None:
    """Return two explorers: two layers of three heads with another kind, and a single head."""
    words, others = ["the", "dog", "drinks", "water"], ["mmiri", "na-atọ"]
    maps = torch.full((2, 3, 4, 4), 0.04)
    for head in range(3):
        maps[:, head, torch.arange(4), (torch.arange(4) - head).clamp(min=0)] = 0.88
    explorer.explore(maps, words, title="self", also={"cross": (torch.full((2, 4), 0.25), others, words)})
    explorer.explore(torch.eye(4), words)


def show(page: Page, name: str, make: Callable, path: Path) -> None:
    """Open a page with the pictures that a module beside the notebooks shows."""
    with pytest.MonkeyPatch.context() as patch:
        module, made = pictures.module(name, patch)
        make(module)
    head = "<!doctype html><html lang=en><meta charset=utf-8><title>x</title>"
    path.write_text(f"{head}<main>{''.join(one['text/html'] for one in made)}</main>", "utf-8")
    page.goto(path.as_uri())


def test_the_explorer_answers_to_mouse_and_keyboard(page, tmp_path):
    show(page, "attention_explorer", explorer_page, tmp_path / "explorer.html")
    assert page.locator(".explorer .still").count() == 0, "the picture for where no script runs gives way"
    keys = page.locator(".explorer .keys").all_inner_texts()
    assert [("another head" in each, "another layer" in each) for each in keys] == [(True, True), (False, False)]
    first, message = page.locator(".explorer").first, page.locator(".explorer figcaption").first
    expect(message).to_contain_text("layer 1, mean of the heads: the looks at the")
    first.locator(".grid button").nth(1).click()
    expect(message).to_contain_text("layer 0, head 1: the looks at the 0.88")
    first.locator(".head").focus()
    for key, words in (
        ("ArrowDown", "layer 0, head 1: dog looks at the 0.88"),
        ("ArrowRight", "layer 0, head 2: dog looks at the 0.88"),
        ("PageDown", "layer 1, head 2: dog"),
        ("ArrowDown", "drinks looks at the 0.88"),
    ):
        page.keyboard.press(key)
        expect(message).to_contain_text(words)
    first.get_by_label("beside it").select_option(label="head 0")
    expect(message).to_contain_text("drinks looks at drinks 0.88")
    assert first.locator(".head").count() == 2
    first.locator(".map .token", has_text="water").first.hover()
    expect(message).to_contain_text("head 2: water looks at dog 0.88")
    first.get_by_label("kind").select_option(label="cross")
    expect(message).to_contain_text("cross: mmiri looks at the 0.25")
    expect(page.locator(".explorer figcaption").last).to_contain_text("the looks at the 1.00")
    without_findings(page)
    assert not page.errors


def test_the_pictures_to_touch_answer_to_mouse_and_keyboard(page, tmp_path):
    show(page, "interactive_figures", pictures.show_all, tmp_path / "interactive_figures.html")
    assert page.locator(".interactive-figure .still").count() == 0, "the table for where no script runs gives way"
    merges, clocks, _ = page.locator(".interactive-figure").all()
    message = page.locator(".interactive-figure figcaption").all()
    merge, clock, _, key, both = page.locator(".interactive-figure").get_by_role("slider").all()
    score = f"Score, turned: {pictures.SCORES['turned'][6, 4]:+.2f}"
    expect(message[0]).to_contain_text("No merge yet")
    for name, words in (
        ("next change", "Merge 1 joins “t” and “h”, 2 times in the text. Now “the” is th | e."),
        ("next change", "Merge 2 joins “th” and “e”, once in the text. Now “the” is the."),
        ("previous change", "Merge 1"),
    ):
        merges.get_by_role("button", name=name).click()
        expect(message[0]).to_contain_text(words)
    for picture, slider, keys, words in (
        (0, merge, "End", "Merge 2 joins “th” and “e”"),
        (1, clock, "Home", "Position 0: (0.50, 0.50), (1.00, 0.00)."),
        (2, both, "", "query at 6, key at 4: key stands 2 before query."),
        (2, both, "", score),
        (2, both, "ArrowRight ArrowRight", "query at 8, key at 6: key stands 2 before query."),
        (2, both, "", score),
        (2, both, "End", "query at 11, key at 9"),  # the first to arrive stops both
        (2, key, "End", "query at 11, key at 11: key and query stand at one place."),
    ):
        slider.focus()
        press(page, *keys.split())
        expect(message[picture]).to_contain_text(words)
    assert merges.locator("rect").count() == 1 + 3
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid", "focus can be seen"

    hand = clocks.locator(".grip").nth(1).bounding_box()
    dial = clocks.locator("svg circle").first.bounding_box()
    x, y = dial["x"] + dial["width"] / 2, dial["y"] + dial["height"] / 2
    page.mouse.move(hand["x"] + hand["width"] / 2, hand["y"] + hand["height"] / 2)
    page.mouse.down()
    page.mouse.move(x - 40, y - 40, steps=8)  # a quarter of a turn anticlockwise: π/2 words at one radian a word
    page.mouse.up()
    expect(message[1]).to_contain_text("Position 2:")

    page.emulate_media(color_scheme="dark")
    page.add_style_tag(content="body { background: #111; color: #ddd }")
    without_findings(page)
    assert [url for url in page.asked if not url.startswith("file:")] == []
    assert not page.errors


@pytest.mark.long
@pytest.mark.parametrize(
    ("notebook", "moves", "presses"),
    [
        ("05-attention/typed", ".explorer .head", {"ArrowDown": "new looks at a 0.25"}),
        (
            "04-positional-encoding/touch",
            ".interactive-figure input",
            {"Home": "Position 0:", "ArrowUp": "Position 1: (0.00, 1.00)."},
        ),
    ],
)
def test_a_figure_in_jupyterlab_handles_its_own_keys(lab, page, notebook, moves, presses):
    opened(page, f"{lab}/lab/tree/{notebook}.ipynb")
    run(page, "Run All Cells")
    for field in page.locator(".widget-interact input").all():  # as in notebook 11
        field.fill("a new sentence here")
        page.keyboard.press("Enter")
        expect(page.locator("figcaption")).to_contain_text("a looks at a 0.25, new 0.25")
    page.locator(moves).scroll_into_view_if_needed()
    page.locator(moves).focus()
    active = page.locator(".jp-Cell.jp-mod-active").first.element_handle()
    for key, message in presses.items():
        page.keyboard.press(key)
        expect(page.locator("figcaption")).to_contain_text(message)
    assert active.evaluate("cell => cell.classList.contains('jp-mod-active')"), "the key went to the notebook"
    assert not ours(page.errors)
