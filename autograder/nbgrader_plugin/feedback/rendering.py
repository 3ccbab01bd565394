"""Render text cells, code and outputs as markup for a feedback page: cleaned, with formulas, without scripts."""

import functools
import re
import secrets
from html import escape
from typing import Any

from markupsafe import Markup
from nbconvert.filters.ansi import ansi2html
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter

from ...judge.formatting import MIME
from ..intake import sanitize
from .lexer import NotebookLexer
from .mathml import mathml

CACHE_SIZE = 4096  # cached pieces: enough for some twenty notebooks
MAX_CACHED = 2**16  # characters of a cached piece
MAX_FORMULAS = 1_000  # formulas rendered per cell
NO_DESCRIPTION = "A picture that this cell made; it came without a description."
# The style sheet has no rule for these classes.
UNSTYLED = re.compile(r'<span class="(?:n|p|w|o|nb|bp|nn|nc|fm|vm|kc|si|se|sa|nf)">([^<]*)</span>')
HEADING = re.compile(r"<(/?)h([1-6])(?=[\s>])")
TITLE = re.compile(r"\A<p><strong>\w+: [\d.]+ of [\d.]+ points</strong></p>")  # of a rubric; the page shows it above
FORMULA = f"formula{secrets.token_hex(8)}x"  # placeholder for a formula while text is cleaned; random, not guessable
# For screen readers an empty heading cell is useless; a tabindex lets the keyboard scroll a table wider than the page.
READABLE = {"<th></th>": "<td></td>", "<table>": '<table tabindex="0">'}
PLACEHOLDER = re.compile(rf"{FORMULA}(\d+)x")
PIECES = re.compile(rf'(<(?:"[^"]*"|[^">])*>)|{FORMULA}(\d+)x')


class _Renderer(IPythonRenderer):
    """Render notebooks' Markdown. Headings go one level down, since the page has the first; formulas are set aside."""

    def __init__(self, attachments: dict[str, Any]) -> None:
        super().__init__(escape=False, attachments=attachments)
        self.formulas: list[tuple[str, bool]] = []

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        name = re.sub(r"\s+", "-", re.sub(r"<[^>]*>", "", text).strip())
        return f'<h{min(level + 1, 6)} id="{escape(name)}">{text}</h{min(level + 1, 6)}>\n'

    def block_mermaidjs(self, code: str) -> str:
        return f"<pre>{escape(code)}</pre>"

    def _embed_image_or_attachment(self, src: str) -> str:
        if src.startswith("attachment:") and src.removeprefix("attachment:") not in self.attachments:
            return ""
        return super()._embed_image_or_attachment(src)

    def _aside(self, latex: str, block: bool, written: str) -> str:
        if len(self.formulas) >= MAX_FORMULAS:
            return written
        self.formulas.append((latex, block))
        return f"{FORMULA}{len(self.formulas) - 1}x"

    def inline_math(self, body: str) -> str:
        return self._aside(body, False, super().inline_math(body))

    def block_math(self, body: str) -> str:
        return self._aside(body, True, super().block_math(body))

    def latex_environment(self, name: str, body: str) -> str:
        latex = f"\\begin{{{name}}}{body}\\end{{{name}}}"
        return self._aside(latex, True, super().latex_environment(name, body))


def markdown(source: str, attachments: Any = None) -> Markup:
    rare = attachments or len(source) > MAX_CACHED
    return _markdown(source, attachments) if rare else _cached_markdown(source)


def _markdown(source: str, attachments: Any = None) -> Markup:
    renderer = _Renderer(sanitize.pictures_of(attachments))
    clean = sanitize.html(MarkdownWithMath(renderer=renderer).render(sanitize.printable(source)))
    for written, wanted in READABLE.items():
        clean = clean.replace(written, wanted)

    def put_in(found: re.Match[str]) -> str:
        """Render formulas in text only: within a tag, such as a picture's description, keep their source."""
        if found[1] is not None:
            return PLACEHOLDER.sub(lambda one: escape(renderer.formulas[int(one[1])][0]), found[1])
        return mathml(*renderer.formulas[int(found[2])])

    return Markup(PIECES.sub(put_in, clean) if renderer.formulas else clean)


_cached_markdown = functools.lru_cache(CACHE_SIZE)(_markdown)


def code(source: str) -> Markup:
    return (_code.__wrapped__ if len(source) > MAX_CACHED else _code)(source)


@functools.lru_cache(CACHE_SIZE)
def _code(source: str) -> Markup:
    made = UNSTYLED.sub(r"\1", highlight(source, NotebookLexer(), HtmlFormatter(nowrap=True)))
    return Markup(f'<pre class="code"><code>{made.rstrip()}</code></pre>')


def output(one: NotebookNode) -> Markup:
    """Return the markup of an output, from the richest of its representations."""
    if one.output_type == "stream":
        return _terminal(str(one.text), "stream")
    if one.output_type == "error":
        return _terminal("\n".join(map(str, one.traceback)), "error")
    data = one.get("data", {})
    if is_verdict(one):
        return Markup(f'<div class="rubric">{TITLE.sub("", data["text/html"], count=1)}</div>')
    shown = sanitize.bundle(data)
    if "text/html" in shown:
        described = re.sub(r"<img(?![^>]*\salt=)", f'<img alt="{NO_DESCRIPTION}"', shown["text/html"])
        return Markup(f'<div class="table" tabindex="0">{described}</div>')
    if "text/markdown" in shown:
        return Markup(f'<div class="text">{markdown(shown["text/markdown"])}</div>')
    if "text/latex" in shown:
        formula = re.fullmatch(r"\s*(\$\$?)(.*?)\1\s*", shown["text/latex"], re.DOTALL)
        made = mathml(formula[2], formula[1] == "$$") if formula else mathml(shown["text/latex"], True)
        return Markup(f'<div class="text">{made}</div>')
    for kind in sanitize.PICTURES:
        if kind in shown:
            about = sanitize.about(one.get("metadata"), shown).get(kind, {})
            sizes = "".join(f' {name}="{about[name]}"' for name in ("width", "height") if name in about)
            description = escape(about.get("alt") or NO_DESCRIPTION)
            return Markup(f'<img src="data:{kind};base64,{"".join(shown[kind].split())}" alt="{description}"{sizes}>')
    return _terminal(shown.get("text/plain", ""), "stream")


def is_verdict(one: NotebookNode) -> bool:
    return MIME in one.get("data", {})


def plain(one: NotebookNode) -> str:
    if one.output_type == "stream":
        return str(one.text)
    if one.output_type == "error":
        return f"{one.ename}: {one.evalue}"
    return str(one.get("data", {}).get("text/plain", ""))


def _terminal(text: str, kind: str) -> Markup:
    return Markup(f'<pre class="{kind}">{ansi2html(sanitize.printable(text).rstrip())}</pre>')


def in_order(markup: str) -> str:
    """Renumber headings so that only the first has level 1 and no level is skipped, whatever levels a student chose."""
    level = 0
    open_now: list[int] = []

    def renumbered(found: re.Match[str]) -> str:
        nonlocal level
        if found[1]:
            return f"</h{open_now.pop() if open_now else found[2]}"
        level = max(2, min(int(found[2]), level + 1)) if level else 1
        open_now.append(level)
        return f"<h{level}"

    return HEADING.sub(renumbered, markup)
