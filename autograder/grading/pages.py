"""Feedback pages: HTMLExporter's, with nothing in them that runs but its own, at a fraction of the cost.

nbconvert highlights every cell anew, and reads the finished page again with BeautifulSoup, to give pictures a text,
before it writes it out: four fifths of the time, nearly all of it for the spans of highlighted code. Most of that code
is the course's own and the same on every page. Here each piece of markup is rendered and read once; in the page that
BeautifulSoup reads, an empty element stands for it.
"""

from __future__ import annotations

import functools
import os
import re
import secrets
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

from bs4 import BeautifulSoup
from jinja2 import pass_context
from jinja2.runtime import Context
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.highlight import Highlight2HTML
from nbconvert.filters.strings import strip_files_prefix
from nbformat import NotebookNode
from traitlets import Bool

from ..judge.mime import MIME
from . import sanitised

# Scripts: MathJax alone. It sets itself up by evaluating a block of the page, hence 'unsafe-eval'; its `Safe` keeps
# formulas from linking to scripts.
MATHJAX = "https://cdnjs.cloudflare.com/ajax/libs/mathjax/"
POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="'
    f"default-src 'none'; script-src {MATHJAX} 'unsafe-eval'; style-src 'unsafe-inline'; font-src data: {MATHJAX}; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'\">"
)
SPACES = " \n\t\f\r"  # what BeautifulSoup takes for white space
REMEMBERED = 2048  # pieces: some twenty notebooks' worth
MAX_REMEMBERED = 2**16  # characters in one piece

# The elements around a cell, and one of our own. What a piece leaves open (an element, a comment, a quoted attribute, a
# script) swallows the mark behind it; what it closes too much of moves the mark out.
BEFORE = "<html><body><main><div><x-piece>"
BEHIND = "<x-end></x-end></x-piece>-->]]>'>\"></script></style></textarea></title>"
CLOSED_TWICE = re.compile(r"</\s*(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)\b", re.I)


class Torn(Exception):
    """A piece of markup closes what it did not open, or leaves something open: it has a meaning only in its page."""


def _remembering(work: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, with a memory for what it made of short texts."""
    remembered = functools.lru_cache(REMEMBERED)(work)

    @functools.wraps(work)
    def remembering(text: str, *rest: Any) -> Any:
        return (remembered if len(text) <= MAX_REMEMBERED else work)(text, *rest)

    return remembering


class SafeExporter(HTMLExporter):
    """HTMLExporter for notebooks of strangers: what they show is cleaned, and the page says what it may load."""

    def from_notebook_node(
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **kwargs: Any
    ) -> tuple[Any, dict[str, Any]]:
        page, found = super().from_notebook_node(nb, resources, **kwargs)
        return page.replace("<head>", f"<head>\n{POLICY}", 1), found

    def _preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        nb, resources = super()._preprocess(nb, resources)
        for cell in nb.cells:
            if "attachments" in cell:
                cell.attachments = sanitised.pictures_of(cell.attachments)
            for output in cell.get("outputs", []):
                if "data" in output and MIME not in output.data:  # what has it, the grader wrote
                    output.data = NotebookNode(sanitised.bundle(output.data))
                    output.metadata = NotebookNode(sanitised.about(output.metadata, output.data))
        return nb, resources

    @pass_context
    def markdown2html(self, context: Context, source: str) -> str:
        return sanitised.html(super().markdown2html(context, source))


class FeedbackExporter(SafeExporter):
    """Writes what SafeExporter writes, but does not do the same work again for every page."""

    optimistic_validation = Bool(True, help="Validate once, after all preprocessors").tag(config=True)

    _pieces: list[str] | None = (
        None  # of the page in hand, as they will stand in it; None: the page is made in one piece
    )
    _without_text = 0  # pictures in them

    def __init__(self, **kwargs: Any) -> None:
        self._tag = f"x-{secrets.token_hex(8)}"  # that of the elements that stand for pieces; nobody can know it
        self._highlighted, self._rendered = _remembering(self._highlight), _remembering(self._render)
        super().__init__(**kwargs)
        if hasattr(self.parent, "assignments"):
            self._take_in_everybody()

    def _take_in_everybody(self) -> None:
        """nbgrader lists by patterns, which miss students whose names have brackets or begin with a dot."""
        converter: Any = self.parent
        settings = converter.coursedir
        top = Path(settings.format_path(settings.autograded_directory, "x", "y")).parents[1]
        for student in sorted(os.listdir(top)) if top.is_dir() else []:
            folder = top / student / settings.assignment_id
            if folder.is_dir() and (student == settings.student_id or fnmatchcase(student, settings.student_id)):
                marked = [str(path) for path in sorted(folder.iterdir()) if path.suffix == ".ipynb"]
                if marked:
                    converter.assignments.setdefault(str(folder), marked)

    def from_notebook_node(
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **kwargs: Any
    ) -> tuple[Any, dict[str, Any]]:
        if (
            self.template_name == "feedback" and not self.sanitize_html
        ):  # other templates may filter what they are given
            self._pieces, self._without_text = [], 0
            try:
                page, found = super().from_notebook_node(nb, resources, **kwargs)
                return self._put_in(page), found
            except Torn:
                self.log.debug("This page has torn markup, so it is made in one piece")
            finally:
                self._pieces = None
        return super().from_notebook_node(nb, resources, **kwargs)

    def _keep(self, markup: str) -> str:
        """An empty element that stands for this markup until the page is done."""
        core = markup.strip(SPACES)
        if self._pieces is None or not core:
            return markup
        tidied, without_text = _tidied(core)
        self._pieces.append(tidied)
        self._without_text += without_text
        return markup.replace(core, f'<{self._tag} n="{len(self._pieces) - 1}"></{self._tag}>')

    def _put_in(self, page: str) -> str:
        pieces = self._pieces or []
        page = re.sub(rf'<{self._tag} n="(\d+)"></{self._tag}>', lambda found: pieces[int(found[1])], page)
        if self._tag in page or 'class="jp-Notebook' in page:
            raise Torn
        if self._without_text:
            self.log.warning("Alternative text is missing on %s image(s).", self._without_text)
        return page

    # --- where pieces come from ---------------------------------------------------------------------------------------

    def _preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        nb, resources = super()._preprocess(nb, resources)
        for output in (output for cell in nb.cells for output in cell.get("outputs", []) if "data" in output):
            if "text/html" in output.data and not output.metadata.get("text/html", {}).get("isolated"):
                output.data["text/html"] = self._keep(output.data["text/html"])
        return nb, resources

    def register_filter(self, name: str, jinja_filter: Any) -> Any:
        if isinstance(jinja_filter, Highlight2HTML):
            self._highlighter, jinja_filter = jinja_filter, self._code
        return super().register_filter(name, jinja_filter)

    def _code(self, source: str, language: str | None = None, metadata: Any = None) -> str:
        language = language or self._highlighter.pygments_lexer
        return self._keep(self._highlighted(source, language, (metadata or {}).get("magics_language")))

    def _highlight(self, source: str, language: str, magics: str | None) -> str:
        return self._highlighter(source, language, {"magics_language": magics} if magics else {})

    @pass_context
    def markdown2html(self, context: Context, source: str) -> str:
        if context.get("cell", {}).get("attachments") or self.embed_images:
            return self._keep(super().markdown2html(context, source))
        return self._keep(self._rendered(source))

    def _render(self, source: str) -> str:
        return super().markdown2html(cast(Context, {}), source)


@_remembering
def _tidied(markup: str) -> tuple[str, int]:
    """Markup as HTMLExporter would leave it in its page, and how many of its pictures have no text."""
    soup = BeautifulSoup(BEFORE + markup + BEHIND, features="html.parser")
    assert soup.div is not None  # BEFORE opens it
    piece, ends = soup.div.find("x-piece", recursive=False), soup.find_all("x-end")
    apart = markup.startswith("<") and markup.endswith(">")  # text at its edges would run together with the page's
    if piece is None or not apart or len(ends) != 1 or ends[0].parent is not piece or CLOSED_TWICE.search(markup):
        raise Torn
    if strip_files_prefix(markup) != markup or "jp-Notebook" in markup:
        raise Torn  # nbconvert treats these according to where they stand
    ends[0].extract()
    without_text = piece.select("img:not([alt])")
    for picture in without_text:
        picture.attrs["alt"] = "No description has been provided for this image"
    return piece.decode_contents(), len(without_text)
