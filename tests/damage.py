"""Hypothesis strategies for submissions that are damaged in ways that have occurred or that a parser must expect."""

import contextlib
import functools
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, AnyStr

from conftest import ends, read
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from submissions import answers

from autograder.sample_class import filled_in

# The tests draw the same examples in every run; `make fuzz` draws new ones, and keeps those that failed.
ALL = list(HealthCheck)
settings.register_profile("claims", derandomize=True, database=None, deadline=None, suppress_health_check=ALL)
settings.register_profile("fuzz", deadline=None, suppress_health_check=ALL, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "claims"))

NAMES = ("05-attention", "06-masking", "02-tokenisation", "11-translation")


def _peak() -> int:
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


@contextlib.contextmanager
def bounded(size: int, memory: int = 2**28) -> Iterator[None]:
    """Fail if the block costs minutes, or more memory than this and 2 KB for each of `size` bytes."""
    with contextlib.suppress(OSError):  # resets the peak
        Path("/proc/self/clear_refs").write_text("5")
    before = _peak()
    with ends():
        yield
    grown, room = _peak() - before, memory + 2_000 * size
    assert grown <= room, f"{grown / 2**20:.0f} MiB for {size:,} bytes; {room / 2**20:.0f} are allowed"


TOKENS = [
    "def f(x):\n    ", "class A:\n    ", "lambda x: ", "return ", "yield ", "await ", "async ", "global zq\n", "nonlocal zq\n",
    "if zq: ", "elif zq:", "else:", "for zq in ", "while zq:", "try:\n    ", "except* zq:\n    ", "finally:", "with zq as zr:\n",
    "match zq:\n    case ", "case _ if ", "type Z = ", "import ", "from . import ", " as ", "import math.\\\n", "pass", "del ",
    "(", ")", "[", "]", "{", "}", ",", ":", ";", ".", "...", "=", ":=", "==", "<", "->", "@", "*", "**", "~", "-", "not ",
    "zq", "zr", "softmax", "torch", "self", "é", "ﬁ", "𝔵", "__debug__", "None", "True", "0", "0x", "1_0", "9" * 30, "1e999", "1j",
    "'", '"', "'''", '"""', "f'", "f'{", "f'{zq!r:{zr}}'", 'f"{f\'{1}\'}"', "f'{'", "}'", "rb'\\", "u'", "t'{zq}'", "\\", "\\N{",
    "\n", "\n    ", "\n\t", "\n        ", "\r", "\r\n", "\x0c", "\x00", "\ufeff", "\u2028", "\x1c", "\ud800", "\u202e", " ", "#", "# -*- coding: utf-7 -*-\n",
    "%time ", "%%bash\n", "%%timeit zq\n", "!ls", "!!ls", "zq = !ls\n", "zq = %pwd\n", "zq?", "??zq", "zq.*?", ",zq ", ";zq ", "/zq ", "%", "%%",
    ">>> ", "... ", "In [1]: ", "In [999999999]:", "$", "`", "?", "!", "<div>", "check('softmax')", "\n### BEGIN HIDDEN TESTS\n",
    "getattr(zq, zr)", "sys.modules", "__import__('os')", "events.register", "zq.events.register()", "global zq; zq = 1",
]  # fmt: skip
UNITS = [
    "(", "[", "{", "f(", "f'{", "x[", "-", "not ", "lambda: ", "lambda x=", "if 1:\n ", "x.", "x()", "x+", "x<", "x,", "x=", "x;",
    "x if x else ", "elif 0: pass\n", "[x for x in ", "@x\n", "with x:\n", "*", "'' ", "f'' ", "'x'", "\n", " ", "\t", "\\\n", "#", "%x\n",
    "!x\n", "x?\n", "def f():\n ", "class A:\n ", "case x:\n", "x: ", "(x:=", "async ", "await ", "yield ", "é", "0", "9", "\r", "\x0c", "'''",
    "x = y\n", "global x\n", "def x(x): x\n", "x.x(x)\n", "for x in x:\n ", "try:\n ", "except: pass\n", "…", "$x$ ",
]  # fmt: skip


def mutated(draw: st.DrawFn, text: AnyStr, pieces: st.SearchStrategy[AnyStr]) -> AnyStr:
    """Return the text with pieces inserted or replaced, and parts removed, doubled or cut off."""
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        match draw(st.sampled_from(["in", "in", "out", "instead", "twice", "cut"])):
            case "in":
                text = text[:start] + draw(pieces) + text[start:]
            case "out":
                text = text[:start] + text[end:]
            case "instead":
                text = text[:start] + draw(pieces) + text[end:]
            case "twice":
                text = text[:end] + text[start:end] + text[end:]
            case _:
                text = text[:start]
    return text


@st.composite
def mixtures(draw: st.DrawFn, real: Callable[[], list[str]], pieces: list[str], units: list[str], most: int) -> str:
    """Draw a real text with typing mistakes, joined pieces, or units that are repeated or nested many times."""
    glued = st.lists(st.sampled_from(pieces), max_size=35).map("".join)
    match draw(st.sampled_from(["real", "real", "glued", "glued", "repeated", "nested", "anything"])):
        case "real":
            return mutated(draw, draw(st.sampled_from(real())), st.sampled_from(pieces))
        case "glued":
            return draw(glued)
        case "repeated":
            unit = "".join(draw(st.lists(st.sampled_from(units), min_size=1, max_size=3)))
            return draw(glued) + unit * draw(st.integers(1, most // len(unit))) + draw(glued)
        case "nested":
            opens, closes = draw(st.sampled_from(units)), draw(st.sampled_from(units))
            times = draw(st.integers(1, 3_000))
            return opens * times + draw(glued) + closes * times
        case _:
            return draw(st.text(max_size=200))


def sources() -> st.SearchStrategy[str]:
    """Return a strategy for text like Python."""
    real = functools.cache(lambda: [source for name in NAMES for source in answers(name).values()])
    return mixtures(real, TOKENS, [*UNITS, *TOKENS], 60_000)


# Tokens that do not change the meaning of other cells, wherever they are.
HARMLESS = [t for t in TOKENS if not re.search(r"softmax|torch|self|ls|os|import|sys|True|while|del|!", t)]


@st.composite
def harmless_sources(draw: st.DrawFn) -> str:
    """Draw a source that does not change the meaning of a notebook's other cells."""
    if draw(st.booleans()):
        return "".join(draw(st.lists(st.sampled_from(HARMLESS), max_size=25)))
    unit = draw(st.sampled_from([u for u in UNITS if "!" not in u])).replace("f", "zq").replace("x", "zq")
    return unit * draw(st.integers(1, 60_000 // len(unit)))


ODD_WORDS = ["x y", "", "\ud800", "\x00", "a" * 70]
WORDS = st.sampled_from("code markdown raw softmax test_softmax nbgrader ../x é".split() + ODD_WORDS)
LEAVES = st.none() | st.booleans() | st.integers(-3, 6) | WORDS
LEAVES |= st.sampled_from([2**63, -(2**70), 10**40, 1e308, float("inf"), float("nan"), -0.0])
ODD = st.recursive(LEAVES, lambda i: st.lists(i, max_size=4) | st.dictionaries(WORDS, i, max_size=4), max_leaves=6)
FIELDS = ["cell_type", "source", "metadata", "id", "outputs", "execution_count", "attachments", "zq"]
GRADED = ["grade_id", "grade", "points", "solution", "locked", "task", "schema_version", "cell_type", "checksum", "zq"]
WHOLE = ["cells", "metadata", "nbformat", "nbformat_minor", "worksheets", "zq"]


@functools.cache
def _written(name: str) -> str:
    return json.dumps(filled_in(read("course", name), answers(name)))


@functools.cache
def released(name: str) -> Any:
    return read("course", name)


@dataclass
class Damaged:
    """A damaged notebook file, and the cells that were damaged."""

    name: str
    content: bytes
    whole: bool = True  # True while it is a notebook whose cells are in place
    touched: set[str] = field(default_factory=set)  # grade ids
    done: list[str] = field(default_factory=list)


@st.composite
def notebooks(draw: st.DrawFn) -> Damaged:
    """Draw a released notebook with right answers, damaged in one to six places."""
    name = draw(st.sampled_from(NAMES))
    data = json.loads(_written(name))
    damaged = Damaged(name, b"")
    for _ in range(draw(st.integers(1, 6))):
        cells = data.get("cells")
        if draw(st.integers(0, 9)) and isinstance(cells, list) and cells:
            _damage_cell(draw, cells, damaged)
        else:
            _damage_whole(draw, data, damaged)
    text = json.dumps(data, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    if not draw(st.integers(0, 4)):
        text = _damage_bytes(draw, text)
        damaged.whole = False
    damaged.content = text
    return damaged


def _damage_whole(draw: st.DrawFn, data: dict, damaged: Damaged) -> None:
    key = draw(st.sampled_from(WHOLE))
    damaged.done.append(f"{key} of the notebook")
    if key != "zq" and key != "metadata":
        damaged.whole = False
    match draw(st.sampled_from(["set", "out", "old"])):
        case "set":
            data[key] = draw(ODD)
        case "out":
            data.pop(key, None)
        case _:  # the form of notebook format 3
            data["nbformat"] = draw(st.integers(1, 5))
            data["worksheets"] = [{"cells": data.get("cells", [])}, draw(ODD)]
            damaged.whole = False


def _damage_cell(draw: st.DrawFn, cells: list, damaged: Damaged) -> None:
    position = draw(st.integers(0, len(cells) - 1))
    what = draw(st.sampled_from(["field", "graded", "source", "twice", "out", "move", "junk", "identity", "parts"]))
    damaged.done.append(f"{what} of cell {position}")
    cell = cells[position] if isinstance(cells[position], dict) else {}
    damaged.touched |= _names(cell)
    metadata = cell.get("metadata")
    match what:
        case "field":
            cell[draw(st.sampled_from(FIELDS))] = draw(ODD)
        case "graded" if isinstance(metadata, dict):
            graded = metadata.setdefault(draw(st.sampled_from(["nbgrader", "nbgrader", "tags"])), {})
            if isinstance(graded, dict):
                graded[draw(st.sampled_from(GRADED))] = draw(ODD)
        case "source":
            cell["source"] = draw(sources())
        case "twice":
            cells.insert(draw(st.integers(0, len(cells))), json.loads(json.dumps(cell)))
        case "out":
            cells.pop(position)
        case "move":
            cells.insert(draw(st.integers(0, len(cells) - 1)), cells.pop(position))
        case "junk":
            cells.insert(position, draw(ODD))
        case "identity":
            other = cells[draw(st.integers(0, len(cells) - 1))]
            if isinstance(other, dict) and other is not cell:
                damaged.touched |= _names(other)
                key = draw(st.sampled_from(["id", "metadata"]))
                cell[key] = other.get(key)
        case "parts":
            cell["source"] = [*str(cell.get("source", "")).splitlines(True), draw(ODD)]
    damaged.touched |= _names(cell)


def _names(cell: dict) -> set[str]:
    """Return a set with the cell's grade_id, or an empty set."""
    metadata = cell.get("metadata")
    graded = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = graded.get("grade_id") if isinstance(graded, dict) else None
    return {name} if isinstance(name, str) else set()


def _damage_bytes(draw: st.DrawFn, text: bytes) -> bytes:
    odd = st.sampled_from([*(bytes([one]) for one in b'"{}[],:\\\x00\xff'), b"\xed\xa0\x80", b"9" * 5000, b"[" * 3000])
    text = mutated(draw, text, odd | st.binary(min_size=1, max_size=3))
    match draw(st.sampled_from(["as it is", "as it is", "front", "wide"])):
        case "front":
            return draw(st.sampled_from([b"\xef\xbb\xbf", b"\xff\xfe", b"\n", b"\x00"])) + text
        case "wide":
            return text.decode("utf-8", "replace").encode(draw(st.sampled_from(["utf-16", "utf-32", "utf-7"])))
    return text


MARKUP = [
    "<", ">", "</", "/>", "<!--", "-->", "<![CDATA[", "]]>", "<?", "<!DOCTYPE html>", "&", "&#", "&#x6a;", "&lt;", "&Tab;", "=", "'", '"', "`", " ", "\n", "\n\n",
    "<div>", "</div>", "<p>", "<table><tr><td>", "</table>", "<a href=", "javascript:alert(1)", "data:text/html,", "//evil.example", "<img src=", "x onerror=alert(1)",
    "<svg>", "<svg onload=alert(1)>", "<math>", "<mtext>", "<annotation-xml encoding='text/html'>", "<style>", "</style>", "<script>", "</script>", "<iframe srcdoc='",
    "<noscript>", "<template>", "<textarea>", "<title>", "<xmp>", "<plaintext>", "<select>", "<option>", "<frameset>", "<body onload=alert(1)>", "<base href=//evil.example>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>", "<link rel=stylesheet href=//evil.example>", "<form action=//evil.example>", "<input autofocus onfocus=alert(1)>",
    "style='position:fixed'", "style=\"background:url(//evil.example)\"", "class='panel'", "id=notebook", "name=top", "<details open ontoggle=alert(1)>", "</main>", "</html>",
    "# ", "## ", "- ", "1. ", "> ", "| a | b |\n|---|---|\n| ", "```\n", "```mermaid\n", "~~~", "    ", "***", "**", "_", "`` ", "~~", "==", "^", "[", "](", ")", "![", "][", "]: ", "[^1]", "[^1]: ",
    "$", "$$", "\\(", "\\)", "\\[", "\\]", "\\begin{a}", "\\end{a}", "\\begin{align}", "\\end{align}", "\\frac", "\\sqrt[", "{", "}", "^", "_", "&", "\\\\", "\\left(", "\\right)", "\\text{", "\\unicode{x3c}",
    "\\href{javascript:alert(1)}{x}", "\\class{panel}{", "\\style{", "\\color{red", "\\require{html}", "\\def\\a{", "\\newcommand", "\\substack{", "\\hline", "\\mathbb ", "\\limits", "\\middle|", "'",
    "attachment:p.png", "files/x.png", "https://pytorch.org", "http://a b", "<https://x.example>", "www.x.example", "\x00", "\x0c", "\x1b[31m", "\x1b[38;5;", "\x1b[0;", "\x9b", "\ud800", "\u202e", "é", "中",
    "<b", "</b", "<a title=\"", "<x-y>", "<h1>", "</h2>", "<h7>", "<li>", "<pre>\n", "<code>", "<input type=checkbox>", "<span class='k'>", "<td colspan=9999999999>", "<ol start=-9>",
]  # fmt: skip


def markup() -> st.SearchStrategy[str]:
    """Return a strategy for Markdown, HTML and formulas together."""
    real = functools.cache(lambda: [one.source for one in released(NAMES[0]).cells if one.cell_type == "markdown"])
    return mixtures(real, MARKUP, MARKUP, 20_000)


def formulas() -> st.SearchStrategy[str]:
    """Return a strategy for text like LaTeX, without dollar signs around it."""
    parts = [part for part in MARKUP if part.startswith("\\") or part in "{}^_&'<>[]()"] + list("ax1+ ,.") + ["\\" + w for w in (
        *("alpha sum int lim sqrt frac over atop choose binom overset underset mathrm operatorname hat bar vec").split(),
        *("begin{matrix} end{matrix} begin{cases} end{cases} begin{array}{cc} end{array} hspace{1em} kern quad ,").split(),
        *("bigl Bigg| left. right. phantom{ fbox{ boldsymbol{ rm bf displaystyle scriptstyle tag{ label{ not prime").split(),
        *("href{x}{y} text{ mbox{ char` # $ % { } | ! ; : > xrightarrow[ overbrace{ underbrace{ sideset stackrel").split(),
    )]  # fmt: skip
    return mixtures(lambda: [r"\frac{QK^\top}{\sqrt{d_k}}"], parts, parts, 2_000)


KINDS = st.sampled_from(
    "text/plain text/html text/markdown text/latex image/png image/svg+xml image/jpeg zq/zq application/javascript"
    " application/vnd.autograder+json application/vnd.jupyter.widget-view+json".split()
)
TEXT, TEXTS = markup() | ODD, st.lists(markup() | ODD, max_size=3)
ABOUT = st.dictionaries(st.sampled_from(["width", "height", "alt", "isolated"]), TEXT, max_size=3)
OUTPUTS = st.fixed_dictionaries(
    {},
    optional={
        "output_type": st.sampled_from(["stream", "error", "display_data", "execute_result", "zq"]) | ODD,
        "name": st.sampled_from(["stdout", "stderr"]) | ODD,
        "data": st.dictionaries(KINDS | WORDS, TEXTS | TEXT, max_size=3) | ODD,
        "metadata": st.dictionaries(KINDS, ABOUT | ODD) | ODD,
        "traceback": TEXTS | ODD,
        "execution_count": ODD,
    }
    | dict.fromkeys(("text", "ename", "evalue"), TEXT),
)
