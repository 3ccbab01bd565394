"""Refuse to release what is between delimiters that nbgrader does not know, such as hidden tests in small letters."""

import re
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme, NbGraderPreprocessor

MEANT = re.compile(r"\W*(begin|end)[\W_]*(hidden[\W_]*tests?|mark[\W_]*scheme)\W*", re.IGNORECASE)  # a whole line


class RefuseDelimiters(NbGraderPreprocessor):
    """Raise NbGraderException for a line that is meant as a delimiter: nbgrader would release what follows it."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        hidden, scheme = ClearHiddenTests(config=self.config), ClearMarkScheme(config=self.config)
        known = {
            "hidden": (hidden.begin_test_delimeter, hidden.end_test_delimeter),
            "mark": (scheme.begin_mark_scheme_delimeter, scheme.end_mark_scheme_delimeter),
        }
        delimiters = [delimiter for pair in known.values() for delimiter in pair]
        for cell in nb.cells:
            for line in cell.source.splitlines():
                meant = MEANT.fullmatch(line)
                if meant is None or any(delimiter in line for delimiter in delimiters):
                    continue
                first, last = known["hidden" if meant[2].lower().startswith("hidden") else "mark"]
                file = f"{Path(resources['metadata']['path']).name}/{resources['metadata']['name']}.ipynb"
                where = cell.metadata.get("nbgrader", {}).get("grade_id") or cell.get("id")
                raise NbGraderException(
                    f"{file}: “{line.strip()}” in the cell “{where}” keeps nothing from students, so nothing was "
                    f"released. Write {first if meant[1].lower() == 'begin' else last}."
                )
        return nb, resources
