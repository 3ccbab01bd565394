"""Clean a student's notebook, for feedback pages and Formgrader: keep nothing that runs or loads anything."""

import base64
import re
from typing import Any
from urllib.parse import unquote

import nh3

MAX_HTML = 300_000  # characters of one output; text cells with highlighted code hold more
MAX_TAGS = 10_000  # in one output; a nested tag costs time for each tag above it
MAX_FORMULAS = 200  # environments in one cell; the search for the end of each may read all text after it
MAX_LINKS = 1_000  # brackets in one cell; nbconvert searches for the end of each
MAX_TEXT = 100_000  # characters of one output that is Markdown
MAX_DESCRIPTION = 2_000  # characters of a picture's description
MAX_PICTURE = 8 * 2**20  # characters of base64
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
SVG = "image/svg+xml"
TEXTS = ("text/plain", "text/latex")

TAGS = {
    *("a", "abbr", "b", "blockquote", "br", "caption", "center", "code", "col", "colgroup", "dd", "del", "details"),
    *("div", "dl", "dt", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "input"),
    *("ins", "kbd", "li", "mark", "ol", "p", "pre", "q", "s", "samp", "small", "span", "strike", "strong", "sub"),
    *("summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "tt", "u", "ul", "var"),
}
ATTRIBUTES = {
    "*": {"title", "style", "lang", "dir", "align", "valign", "id", "class"},
    "a": {"href"},
    "col": {"span", "width"},
    "colgroup": {"span", "width"},
    "details": {"open"},
    "img": {"src", "alt", "width", "height"},
    "input": {"type", "checked", "disabled"},
    "li": {"value"},
    "ol": {"start", "type"},
    "table": {"border", "cellpadding", "cellspacing", "width"},
    "td": {"colspan", "rowspan", "width"},
    "th": {"colspan", "rowspan", "width", "scope"},
}
STYLES = {  # none that can move an element over other parts of the page
    *("background-color", "border", "border-collapse", "border-spacing", "color", "font-family", "font-size"),
    *("font-style", "font-weight", "height", "line-height", "max-width", "padding", "text-align", "text-decoration"),
    *("vertical-align", "white-space", "width"),
}
# Classes of nbconvert's highlighted code, tables and lists. Classes of the page's own parts are removed.
CLASSES = re.compile(r"[a-z]{1,2}\d?|highlight|hl-\w+|dataframe|anchor-link|task-list-item(-checkbox)?")
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=\s]*", re.IGNORECASE)
ADDRESS = re.compile(r"(https?://|mailto:|#)", re.IGNORECASE)
SKIPPED_BY_BROWSERS = re.compile(r"[\x00-\x20]")
SCHEME = re.compile(r"\s*([a-z][a-z0-9+.-]*:|//|\\)", re.IGNORECASE)


def _attribute(tag: str, name: str, value: str) -> str | None:
    if name == "class":
        return " ".join(word for word in value.split() if CLASSES.fullmatch(word)) or None
    if name == "id":
        return value if tag in HEADINGS else None
    if name == "src":
        return value if PICTURE.fullmatch(value) or _is_relative(value) else None
    if name == "href":
        return value if ADDRESS.match(SKIPPED_BY_BROWSERS.sub("", value)) or _is_relative(value) else None
    if tag == "input" and name == "type":
        return value if value == "checkbox" else None
    if name == "style" and "(" in value:
        return None  # url(…), expression(…)
    return value


def _is_relative(address: str) -> bool:
    """Return True if an address stays in the notebook's folder or below it; other addresses could trigger actions."""
    read = unquote(SKIPPED_BY_BROWSERS.sub("", address)).replace("\\", "/")
    path = re.split(r"[?#]", read, maxsplit=1)[0]
    return not SCHEME.match(read) and not path.startswith("/") and ".." not in path.split("/")


_CONTROL = {n: 0xFFFD for n in (*range(32), *range(127, 160)) if chr(n) not in "\n\r\t\x1b\b"}

_CLEANER = nh3.Cleaner(
    tags=TAGS,
    clean_content_tags={"script", "style", "iframe", "object", "embed", "template", "noscript", "math", "svg"},
    attributes=ATTRIBUTES,
    attribute_filter=_attribute,
    strip_comments=True,
    link_rel="noopener noreferrer nofollow",
    url_schemes={"http", "https", "mailto", "data"},
    filter_style_properties=STYLES,
)


def html(markup: str, scale: int = 4) -> str:
    """Return markup without parts that run, load, or cover the rest of a page. `scale` multiplies the limits."""
    if len(markup) > MAX_HTML * scale or markup.count("<") > MAX_TAGS * scale:
        return f"<p>[HTML of {len(markup):,} characters is not shown.]</p>"
    return _CLEANER.clean(printable(markup))


def printable(text: str) -> str:
    """Return text that UTF-8 can encode, without control characters except line ends, tabs and those of terminals."""
    return text.encode("utf-8", "replace").decode().translate(_CONTROL)


def markdown(text: str) -> str:
    """Return Markdown that converts to HTML quickly: break environments and links beyond the limits."""
    if text.count("\\begin{") > MAX_FORMULAS:
        text = text.replace("\\begin{", "begin{")
    if text.count("[") > MAX_LINKS:
        text = text.replace("[", "(")
    return printable(text)


def all_printable(value: Any) -> Any:
    """Return plain data with `printable` applied to every text."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {all_printable(key): all_printable(item) for key, item in value.items()}
    return [all_printable(item) for item in value] if isinstance(value, (list, tuple)) else value


def bundle(data: dict[str, Any]) -> dict[str, str]:
    """Return the representations of an output that can be shown, cleaned, by MIME type."""
    found: dict[str, str] = {}
    for kind, value in data.items():
        text = "".join(part for part in value if isinstance(part, str)) if isinstance(value, list) else value
        if not isinstance(text, str):
            continue
        if kind in TEXTS:
            found[kind] = printable(text)
        elif kind == "text/html":
            found[kind] = html(text, scale=1)
        elif kind == "text/markdown":
            found[kind] = markdown(text[:MAX_TEXT])  # becomes HTML with the text cells
        elif kind in PICTURES and len(text) <= MAX_PICTURE and re.fullmatch(r"[A-Za-z0-9+/=\s]*", text):
            found[kind] = text
        elif kind == SVG and len(text) <= MAX_HTML and "text/html" not in data:
            found["text/html"] = f'<img src="data:{SVG};base64,{base64.b64encode(printable(text).encode()).decode()}">'
    return found or {"text/plain": "[This output cannot be shown here.]"}


def about(metadata: Any, data: dict[str, str]) -> dict[str, Any]:
    """Return the sizes and descriptions of pictures from an output's metadata, by MIME type."""
    found: dict[str, Any] = {}
    for kind in data:
        own = metadata.get(kind) if isinstance(metadata, dict) else None
        if kind in PICTURES and isinstance(own, dict):
            sizes = {name: own[name] for name in ("width", "height") if type(own.get(name)) is int}
            found[kind] = {name: size for name, size in sizes.items() if 0 < size < 10_000}
            if isinstance(own.get("alt"), str) and own["alt"].strip():
                found[kind]["alt"] = printable(own["alt"][:MAX_DESCRIPTION])
    return found


def pictures_of(attachments: Any) -> dict[str, dict[str, str]]:
    """Return the attachments of a cell that are pictures, by name."""
    found = {}
    for name, data in attachments.items() if isinstance(attachments, dict) else ():
        shown = bundle(data) if isinstance(data, dict) else {}
        if kept := {kind: text for kind, text in shown.items() if kind in PICTURES}:
            found[str(name)] = kept
    return found
