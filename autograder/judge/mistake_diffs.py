"""Show catalogued programs as unified diffs of the reference."""

import ast
import difflib
from collections.abc import Iterator

from ..spec.exercise import Exercise, Mistake


def diffs(declared: Exercise, mistake: Mistake) -> Iterator[str]:
    """Yield a diff for each variant of a mistake."""
    made = declared.common.get(mistake.name, ())
    for number, source in enumerate(mistake.sources, 1):
        reference = declared.source
        if source in made:  # from the syntax tree: the reference is laid out in the same way
            reference = ast.unparse(ast.parse(reference)) + "\n"
        title = f"{mistake.name}, variant {number} of {len(mistake.sources)}"
        lines = difflib.unified_diff(reference.splitlines(), source.splitlines(), declared.name, title, lineterm="")
        yield "\n".join(lines)
