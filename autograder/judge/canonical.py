"""Write text in a canonical form: without the digits of its floats and without addresses, which differ between runs.

The last digits of a float depend on the processor and on the libraries, wherever it is written: in a string that is
returned, in an error's message, in the `repr` of a set or of a dictionary's key. So floats are taken out of a text and
compared as numbers.
"""

import itertools
import operator
import re
from collections.abc import Iterable
from typing import Any

# Linear in the length of any text: a run of digits is read once, from its beginning.
FLOAT = re.compile(
    r"[-+]?(?:(?<![0-9])[0-9]++(?:\.[0-9]*+(?:[eE][-+]?[0-9]++)?|[eE][-+]?[0-9]++)|\.[0-9]++(?:[eE][-+]?[0-9]++)?)"
)
HINT = re.compile(r"[0-9][.eE]|\.[0-9]")  # ten times as fast as FLOAT
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}")
# The parts of a message that name parts of the program.
NAMED = re.compile(r"(?<!\w)'[^']*'|\"[^\"]*\"|(?<![\w.])[\w.]++\(\)|[0-9]+")


def split(text: str) -> tuple[str, list[float]]:
    """Return the text with every float written as 0.0 and every address as 0x0, and the floats in their order."""
    if "0x" in text:
        text = ADDRESS.sub("0x0", text)
    if not HINT.search(text):
        return text, []
    return FLOAT.sub("0.0", text), [float(one) for one in FLOAT.findall(text)]


def unordered(values: Iterable[Any]) -> tuple[list[str], list[float]]:
    """Return the texts of a set's members and their floats, in an order that does not depend on a last digit.

    Members that differ in their floats alone are sorted number by number: two that are nearly equal may change places.
    """
    members = sorted(map(key, values))
    numbers: list[float] = []
    for _, alike in itertools.groupby(members, key=operator.itemgetter(0)):
        for column in zip(*(found for _, found, _ in alike), strict=True):
            numbers += sorted(column)
    return [text for text, *_ in members], numbers


def key(value: Any) -> tuple[str, list[float], str]:
    """Return the sort key of a hashable value: its text, its floats, and how they are written.

    The last tells names apart that are no numbers, such as "block.1.weight" and "block.10.weight".
    """
    written = _spelled(value)
    return (*split(written), written)


def _spelled(value: Any) -> str:
    """Return `repr`, with the members of sets in a fixed order."""
    if isinstance(value, (set, frozenset)):
        return f"{type(value).__name__}({', '.join(sorted(map(_spelled, value), key=split))})"
    if isinstance(value, tuple):
        return f"({', '.join(map(_spelled, value))},)"
    return repr(value)


def message(text: str, own: bool) -> str:
    """Return the part of an error's message that does not depend on the versions of Python and its libraries.

    A message that the program itself raises (`own`) keeps everything but its floats. Other messages are worded by
    Python or a library, and differently by the next version: only names and whole numbers of their first sentence stay.
    """
    plain, _ = split(text)
    return plain if own else " ".join(NAMED.findall(plain.split(". ")[0]))
