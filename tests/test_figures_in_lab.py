"""What a screen reader meets in JupyterLab where a notebook shows a figure: its description."""

from __future__ import annotations

import io
import json
import zipfile

import nbformat
import pytest
from conftest import NOTEBOOKS, ROOT, read
from nbformat.v4 import new_code_cell, new_notebook, new_output
from test_browser import browser, kept, lab, ours, page, pytestmark  # noqa: F401  (fixtures, and when they are skipped)

from autograder.asked.course import home

EXTENSION = home() / "handout" / ".jupyter" / "labextensions" / "course-figures"
SAVE = """async ([path, content]) => {
    const token = (document.cookie.match(/_xsrf=([^;]+)/) || [])[1];
    const said = await fetch(`/api/contents/${path}`, {
        method: "PUT", headers: { "Content-Type": "application/json", "X-XSRFToken": token },
        body: JSON.stringify({ type: "notebook", format: "json", content }),
    });
    return said.status;
}"""


def figure(name: str):
    """The first figure of a notebook as it is kept, with its description."""
    outputs = (output for cell in read("solutions", name).cells for output in cell.get("outputs", []))
    return next(output for output in outputs if "image/png" in output.get("data", {}))


def test_figures_have_their_description_in_jupyterlab(lab, page):  # noqa: F811
    drawn = figure("05-attention")
    bare = new_output("display_data", data=drawn.data)
    cell = new_code_cell("show(fig, alt)", outputs=[drawn, bare])
    content = json.loads(nbformat.writes(new_notebook(cells=[cell])))
    page.goto(lab)
    page.locator(".jp-MarkdownViewer h1").wait_for()
    assert page.evaluate(SAVE, ["05-attention/figure.ipynb", content]) == 201
    page.goto(f"{lab}/lab/tree/05-attention/figure.ipynb?reset")
    page.locator(".jp-RenderedImage img").nth(1).wait_for()
    first, second = page.locator(".jp-RenderedImage img").all()
    assert first.get_attribute("alt") == drawn.metadata["image/png"]["alt"]
    assert not second.get_attribute("alt"), "without a description there is none to give"
    named = page.get_by_role("img", name=drawn.metadata["image/png"]["alt"])
    assert named.count() == 1, "this is what a screen reader asks for"
    kept(page, "figure-described")
    assert not ours(page.errors)


def test_what_describes_figures_goes_with_what_students_get(tmp_path):
    from autograder.handout import write_zip

    settings = json.loads((EXTENSION.parents[1] / "jupyter_lab_config.json").read_text("utf-8"))
    [place] = settings["LabApp"]["extra_labextensions_path"]
    write_zip(ROOT, tmp_path / "students.zip")
    with zipfile.ZipFile(io.BytesIO((tmp_path / "students.zip").read_bytes())) as archive:
        about = json.loads(archive.read(f"course/{place}/course-figures/package.json"))
        assert archive.read(f"course/{place}/course-figures/{about['jupyterlab']['_build']['load']}")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_figure_brings_its_description_where_jupyterlab_is_shown_to_look(name):
    for cell in read("solutions", name).cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                assert len(output.metadata["image/png"]["alt"]) > 40, cell.id
