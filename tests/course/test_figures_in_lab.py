"""Tests that JupyterLab gives a notebook's figures their description, and opens the start page."""

# ruff: noqa: F811
from __future__ import annotations

import json

import nbformat
from conftest import read
from nbformat.v4 import new_code_cell, new_notebook, new_output
from test_browser import browser, lab, ours, page, pytestmark  # noqa: F401  (fixtures, and when they are skipped)

NAME = "05-attention"
SAVE = """async ([path, content]) => {
    const token = (document.cookie.match(/_xsrf=([^;]+)/) || [])[1];
    const said = await fetch(`/api/contents/${path}`, {
        method: "PUT", headers: { "Content-Type": "application/json", "X-XSRFToken": token },
        body: JSON.stringify({ type: "notebook", format: "json", content }),
    });
    return said.status;
}"""


def test_figures_have_their_description_in_jupyterlab(lab, page):
    outputs = (output for cell in read("solutions", NAME).cells for output in cell.get("outputs", []))
    drawn = next(output for output in outputs if "image/png" in output.get("data", {}))
    words, other = drawn.metadata["image/png"]["alt"], new_output("display_data", data=drawn.data)
    notebook = new_notebook(cells=[new_code_cell("show(fig, alt)", outputs=[drawn, other])])
    page.goto(lab)
    page.locator(".jp-MarkdownViewer h1").wait_for()  # the start page comes first
    assert page.evaluate(SAVE, [f"{NAME}/figure.ipynb", json.loads(nbformat.writes(notebook))]) == 201
    page.goto(f"{lab}/lab/tree/{NAME}/figure.ipynb?reset")
    page.locator(".jp-RenderedImage img").nth(1).wait_for()
    first, second = page.locator(".jp-RenderedImage img").all()
    assert first.get_attribute("alt") == words
    assert not second.get_attribute("alt"), "without a description there is none to give"
    assert page.get_by_role("img", name=words).count() == 1, "this is what a screen reader asks for"
    assert not ours(page.errors)
