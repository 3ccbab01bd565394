"""Tests that a notebook's figures have their description and all their pixels, in JupyterLab and in feedback."""

# ruff: noqa: F811
from __future__ import annotations

import json

import nbformat
import pytest
from conftest import read
from nbformat.v4 import new_code_cell, new_notebook, new_output
from test_browser import browser, lab, ours, page, pytestmark  # noqa: F401  (fixtures, and when they are skipped)
from test_feedback_pages import page as page_of
from test_feedback_pages import sanitised_output, whole

SAVE = """async ([path, content]) => {
    const token = (document.cookie.match(/_xsrf=([^;]+)/) || [])[1];
    const said = await fetch(`/api/contents/${path}`, {
        method: "PUT", headers: { "Content-Type": "application/json", "X-XSRFToken": token },
        body: JSON.stringify({ type: "notebook", format: "json", content }),
    });
    return said.status;
}"""


@pytest.fixture
def fine(browser):
    """A page on a screen that has two pixels where others have one."""
    with browser.new_context(viewport={"width": 1600, "height": 1000}, device_scale_factor=2) as context:
        context.set_default_timeout(90_000)
        yield context.new_page()


def figure(name: str):
    """The first figure of a notebook as it is kept, with its description."""
    outputs = (output for cell in read("solutions", name).cells for output in cell.get("outputs", []))
    return next(output for output in outputs if "image/png" in output.get("data", {}))


def shown(page, lab, name: str, *outputs) -> None:
    """Open a notebook whose one cell has these outputs, each of them a figure."""
    notebook = new_notebook(cells=[new_code_cell("show(fig, alt)", outputs=list(outputs))])
    page.goto(lab)
    page.locator(".jp-MarkdownViewer h1").wait_for()
    assert page.evaluate(SAVE, [f"{name}/figure.ipynb", json.loads(nbformat.writes(notebook))]) == 201
    page.goto(f"{lab}/lab/tree/{name}/figure.ipynb?reset")
    page.locator(".jp-RenderedImage img").nth(len(outputs) - 1).wait_for()


def test_figures_have_their_description_in_jupyterlab(lab, page):
    drawn = figure("05-attention")
    words = drawn.metadata["image/png"]["alt"]
    shown(page, lab, "05-attention", drawn, new_output("display_data", data=drawn.data))
    first, second = page.locator(".jp-RenderedImage img").all()
    assert first.get_attribute("alt") == words
    assert not second.get_attribute("alt"), "without a description there is none to give"
    assert page.get_by_role("img", name=words).count() == 1, "this is what a screen reader asks for"
    assert not ours(page.errors)


def test_figures_are_sharp_on_fine_screens_in_jupyterlab(lab, fine):
    drawn = figure("06-masking")
    shown(fine, lab, "06-masking", drawn)
    fine.wait_for_function("() => document.querySelector('.jp-RenderedImage img').naturalWidth > 0")
    sharp(fine.locator(".jp-RenderedImage img"), drawn)


def test_figures_are_sharp_on_fine_screens_in_feedback(fine, tmp_path):
    drawn = figure("06-masking")
    path = tmp_path / "feedback.html"
    own = new_code_cell("show(fig, alt)", outputs=[sanitised_output(drawn)])
    path.write_text(page_of(whole([own])), "utf-8")
    fine.goto(path.as_uri())
    fine.locator("img").scroll_into_view_if_needed()
    sharp(fine.locator("img"), drawn)


def sharp(image, drawn) -> None:
    about = drawn.metadata["image/png"]
    sizes = "[one.naturalWidth, one.clientWidth, one.naturalHeight, one.clientHeight, one.alt]"
    width, shown, height, high, words = image.evaluate(f"one => {sizes}")
    assert (width, height) == (2 * about["width"], 2 * about["height"])
    assert 0 < shown <= about["width"], "as wide as it was drawn for, or as the column is"
    assert abs(high / shown - height / width) < 0.01, "not stretched"
    assert words == about["alt"]
