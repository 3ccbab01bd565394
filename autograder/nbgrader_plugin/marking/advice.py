"""Explain effects of a student's cell that neither its error nor the marks of its answers show."""

import ast
import re
from collections.abc import Iterable, Iterator, Set

from ...judge.parsing import parse_cell
from ...judge.source_rules import defined_in
from ...sandbox.limits import CellResult
from ..intake.merge_marks import unresolved_merge
from ..intake.sanitize import printable

LOST = frozenset({"folder", "path"})  # changes after which files in the notebook's folder are not found
NOT_FOUND = re.compile(r"\w*NotFoundError|ImportError|NotADirectoryError|PermissionError|OSError|Missing")
INPUT = re.compile(r"\binput\s*\(")
# A line that changes the working folder. Blanks are never given back (`*+`): long runs of them would take the square.
MOVING_LINE = re.compile(r"^[ \t]*+(?:%?+[ \t]*+(?:cd|pushd|popd)\b|[^\n#]*\bchdir[ \t]*+\()[^\n]*", re.MULTILINE)
# Cell magics that run a cell in a namespace or process of its own
SEPARATE = re.compile(
    r"\s*%%(timeit|writefile|bash|sh|script|html|js|javascript|latex|markdown|svg|perl|ruby|python3?)\b"
)

MOVED = (
    "{line} left the notebook's own folder, and what stands below stopped with {error}. Files and modules that came "
    "with the notebook are found from its own folder only: take that line out, or go back before this one."
)
NO_GRADIENTS = (
    "PyTorch's gradients are switched off here and left off, as by torch.set_grad_enabled(False): nothing below can be "
    "trained. Switch them on again, or write `with torch.no_grad():` around what needs none. Answers are marked with "
    "gradients on."
)
NO_INPUT = (
    "`input()` waits for somebody to type, and nobody does while a notebook is marked: the cell stops there, and what "
    "stands below in it is not defined. Write the value itself, or put `input()` into a cell of its own."
)
IN_MAGIC = (
    "`%%{magic}` runs a cell apart from the notebook: what it defines ({names}) is not there afterwards. Take that "
    "line out of the answer's cell."
)
NOT_COMPILED = (
    "torch.compile has no effect while a notebook is marked: the function runs as it is written, with the same results."
)


class Advisor:
    """Remembers, from cell to cell, the changes that cells leave for the cells below."""

    def __init__(self, sources: Iterable[str], answers: Set[str]) -> None:
        """Take the sources of all code cells, and the names that answers define."""
        kept = (defined_in(source) for source in sources if not SEPARATE.match(source))
        self._lost = frozenset(answers).difference(*kept)  # names that no cell leaves for the cells below
        self._left: Set[str] = frozenset()  # see `CellResult.left`
        self._mover = ""  # the line or cell after which files in the notebook's folder are not found

    def advise(self, source: str, result: CellResult, error: str) -> Iterator[str]:
        """Yield sentences on why a cell failed, and on changes that it leaves. `error` is the cell's last error."""
        if result.ending == "error":
            if merge := unresolved_merge(source):
                yield f"Marks of a merge that was not finished are left in it: {merge}"
            if error.startswith("EOFError") and INPUT.search(source):
                yield NO_INPUT
        if (magic := SEPARATE.match(source)) and (names := self._lost.intersection(defined_in(source))):
            yield IN_MAGIC.format(magic=magic[1], names=", ".join(f"`{name}`" for name in sorted(names)[:5]))
        if "compile" in source and any(map(_compiles, ast.walk(parse_cell(source) or ast.Module([], [])))):
            yield NOT_COMPILED
        if result.ending in ("time", "died"):
            return  # the changes that it left are not known
        if result.left & LOST and not self._left & LOST:
            lines = MOVING_LINE.findall(source) if "folder" in result.left else []
            self._mover = f"`{printable(lines[-1].strip())[:100]}`" if lines else "A cell of yours"
        if result.ending == "error" and result.left & LOST and NOT_FOUND.match(error):
            yield MOVED.format(line=self._mover, error=error)
        if "gradients" in result.left - self._left:
            yield NO_GRADIENTS
        self._left = result.left


def _compiles(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node) == "torch.compile"
