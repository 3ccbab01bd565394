"""Formulas as MathML, which browsers set themselves: pages need no script, no font and no network for them.

latex2mathml translates; what it makes of a student's formula is taken apart again and only known elements and
attributes are kept. What it cannot translate is shown as it was written.
"""

from __future__ import annotations

import functools
import re
from html import escape, unescape
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element

MAX_FORMULA = 2_000  # characters: each is read several times
MAX_DEPTH = 40  # of braces and environments
TAGS = {
    *("math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "ms", "msub", "msup", "msubsup", "mmultiscripts"),
    *("mprescripts", "none", "mfrac", "msqrt", "mroot", "munder", "mover", "munderover", "mtable", "mtr", "mtd"),
    *("mstyle", "mpadded", "mphantom", "menclose"),
}
ATTRIBUTES = {
    *("display", "mathvariant", "stretchy", "fence", "form", "separator", "lspace", "rspace", "minsize", "maxsize"),
    *("displaystyle", "scriptlevel", "linethickness", "width", "height", "depth", "columnalign", "rowspacing"),
    *("columnspacing", "movablelimits", "accent", "accentunder", "largeop", "symmetric", "notation"),
}
ALIGNED = re.compile(
    r"\\(begin|end)\{(?:aligned|split|align|gather|gathered|multline|equation)\*?\}"
)  # known as `align*` only
LARGE = ("∑", "∏", "⋃", "⋂")  # in a display, what they run over stands below them, within brackets too
LIMITS = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
NAMED = re.compile(r"\\(arg|argmax|argmin|Var|sign)\b")  # functions that it does not know by themselves
VALUE = re.compile(r"[\w.+%-]+( [\w.+%-]+)*")


@functools.lru_cache(4096)
def mathml(latex: str, block: bool = False) -> str:
    """Markup of a formula, given without its dollar signs."""
    try:
        if len(latex) > MAX_FORMULA or max(latex.count("{"), latex.count("\\left")) > 10 * MAX_DEPTH or _deep(latex):
            raise ValueError("too long")
        plain = NAMED.sub(r"\\operatorname{\1}", ALIGNED.sub(r"\\\1{align*}", latex.strip()))
        made = convert_to_element(plain, display="block" if block else "inline")
        made = _known(made)
        if block:
            made.set("tabindex", "0")  # where it is wider than the page, the keyboard can scroll it
        return ElementTree.tostring(made, encoding="unicode", short_empty_elements=False)
    except Exception:  # whatever it stumbles over, the student sees what was written
        return f"<code>{escape(latex)}</code>"


def _deep(latex: str) -> bool:
    """Whether braces are nested deeper than anybody writes."""
    depth = 0
    for sign in re.findall(r"\\left\b|\\right\b|\\begin\b|\\end\b|(?<!\\)[{}^_]", latex):
        depth += {"{": 1, "\\left": 1, "\\begin": 1, "}": -1, "\\right": -1, "\\end": -1}.get(sign, 0)
        if depth > MAX_DEPTH:
            return True
    return False


def _known(element: Element) -> Element:
    """The same element with what we know of it. Raises ValueError if it is none that we know."""
    if element.tag not in TAGS:
        raise ValueError(f"no element of a formula: {element.tag}")
    kept = Element(element.tag, {k: v for k, v in element.attrib.items() if k in ATTRIBUTES and VALUE.fullmatch(v)})
    kept.text = unescape(element.text or "")  # it writes its signs as references
    if re.match(r"\\[a-zA-Z]|&", kept.text) and element.tag == "mi":
        raise ValueError(f"not translated: {kept.text}")
    kept.extend([_known(child) for child in element])
    if len(kept) and kept[0].tag == "mo" and kept[0].text in LARGE:
        kept.tag = LIMITS.get(kept.tag, kept.tag)
    return kept
