"""Translate formulas to MathML, which browsers render without scripts. Only known elements and attributes are kept."""

import functools
import itertools
import re
from html import escape, unescape
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element

MAX_FORMULA = 2_000  # characters; each is read several times
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
# Of these environments latex2mathml knows only `align*`.
ALIGNED = re.compile(r"\\(begin|end)\{(?:aligned|split|align|gather|gathered|multline|equation)\*?\}")
LARGE = ("∑", "∏", "⋃", "⋂")  # their limits stand below and above them, within brackets too
LIMITS = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
NAMED = re.compile(r"\\(arg|argmax|argmin|Var|sign)\b")  # functions that latex2mathml does not know
NESTING = re.compile(r"(\\left\b|\\begin\b|(?<!\\){)|\\right\b|\\end\b|(?<!\\)}")
VALUE = re.compile(r"[\w.+%-]+( [\w.+%-]+)*")


@functools.lru_cache(4096)
def mathml(latex: str, block: bool = False) -> str:
    """Return the MathML of a formula, given without its dollar signs, or its source as code if translation fails."""
    try:
        if len(latex) > MAX_FORMULA or max(latex.count("{"), latex.count("\\left")) > 10 * MAX_DEPTH:
            raise ValueError("too long")
        if max(itertools.accumulate(1 if one[1] else -1 for one in NESTING.finditer(latex)), default=0) > MAX_DEPTH:
            raise ValueError("too deep")
        plain = NAMED.sub(r"\\operatorname{\1}", ALIGNED.sub(r"\\\1{align*}", latex.strip()))
        made = _known(convert_to_element(plain, display="block" if block else "inline"))
        if block:
            made.set("tabindex", "0")  # so that the keyboard can scroll a formula wider than the page
        return ElementTree.tostring(made, encoding="unicode", short_empty_elements=False)
    except Exception:  # latex2mathml may raise anything; the student then sees the formula's source
        return f"<code>{escape(latex)}</code>"


def _known(element: Element) -> Element:
    """Return a copy of the element with known attributes only. Raise ValueError if it or a child is unknown."""
    if element.tag not in TAGS:
        raise ValueError(f"no element of a formula: {element.tag}")
    kept = Element(element.tag, {k: v for k, v in element.attrib.items() if k in ATTRIBUTES and VALUE.fullmatch(v)})
    kept.text = unescape(element.text or "")  # latex2mathml writes symbols as character references
    if re.match(r"\\[a-zA-Z]|&", kept.text) and element.tag == "mi":
        raise ValueError(f"not translated: {kept.text}")
    kept.extend([_known(child) for child in element])
    if len(kept) and kept[0].tag == "mo" and kept[0].text in LARGE:
        kept.tag = LIMITS.get(kept.tag, kept.tag)
    return kept
