"""Sphinx's settings for the website. sources.py writes the pages' sources."""

import json
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from autograder.nbgrader_plugin.feedback.mathml import mathml
from autograder.spec.course import course

project = course().title
author = "The authors of this course"
project_copyright = "2026, the authors of this course"
language = "en"  # with en_GB, Sphinx 9 lacks plural rules, and the search fails

extensions = ["myst_nb"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_dmath_double_inline = True
myst_heading_anchors = 3  # guides link to headings as on GitHub
# Jupyter shows this syntax unchanged; MyST would interpret it.
myst_disable_syntax = ["myst_role", "myst_target", "myst_line_comment", "myst_block_break"]
nb_execution_mode = "off"
nb_merge_streams = True
nb_ipywidgets_js = {}  # would be loaded from another host; sources.py omits controls
myst_update_mathjax = False

html_theme = "sphinx_book_theme"
html_title = course().title
html_copy_source = False
html_show_sourcelink = False
html_use_index = False
html_scaled_image_link = False  # all figures are scaled down: no keyboard stop at each of them
html_static_path = ["static"]
html_favicon = "static/icon.svg"
html_css_files = ["course.css"]
html_context = {"default_mode": "auto"}  # light or dark like the reader's system; a button changes it
html_math_renderer = "mathml"
html_permalinks_icon = "#"
html_theme_options = {
    "use_download_button": False,  # a notebook alone lacks the files of its folder: pages link to a zip
    "navbar_persistent": [],  # the search field is in the sidebar
    "home_page_in_toc": True,
    "show_toc_level": 2,
    "search_bar_text": "Search the course …",
    "extra_footer": "Text and figures are under CC BY 4.0, code is under the MIT licence.",
}

LONG = 30  # characters of LaTeX above which an inline formula may be wider than a phone's screen


def inline_formula(self: nodes.NodeVisitor, node: nodes.math) -> None:
    made = mathml(node.astext())
    if len(node.astext()) > LONG:
        made = f'<span class="long-formula" tabindex="0">{made}</span>'  # lets the keyboard scroll on narrow screens
    self.body.append(made)  # type: ignore[attr-defined]
    raise nodes.SkipNode


def formula(self: nodes.NodeVisitor, node: nodes.math_block) -> None:
    self.body.append(f'<div class="formula">{mathml(node.astext(), block=True)}</div>')  # type: ignore[attr-defined]
    raise nodes.SkipNode


def describe(app: Sphinx, doctree: nodes.document) -> None:
    """Give each figure its text alternative, and show the same text in a fold. Raise ValueError if one has none."""
    figures = json.loads(Path(app.srcdir, "figures.json").read_text("utf-8"))
    for image in list(doctree.findall(nodes.image)):
        alt = figures.get(Path(image["uri"]).stem)
        if alt is None:
            raise ValueError(f"{image['uri']} in {app.env.docname} has no description in figures.json")
        image["alt"] = alt
        words = f"<details class='in-words'><summary>The figure in words</summary><p>{escape(alt)}</p></details>"
        image.parent.insert(image.parent.index(image) + 1, nodes.raw("", words, format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline_formula, None), (formula, None))
    app.connect("doctree-read", describe)
    # Opened as files, pages may not be fetched for the words around what was found: then the search shows titles only
    without = 'if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;'
    app.add_js_file(None, body=without)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
