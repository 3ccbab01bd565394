"""The environment variables of the template and of notebooks: next to nothing of the grader's."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PACKAGE_ROOT = Path(__file__).resolve().parents[2]
FROM_GRADER = ("LANG", "LC_ALL", "TZ")  # the only ones whose values are the grader's
FIXED = {
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "COURSE_BOOK": "stories",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONHASHSEED": "0",
    "NBGRADER_EXECUTION": "autograde",
}


def of_template() -> dict[str, str]:
    """What the template is started with; it must find Python and this package."""
    return {**_kept(("PATH", *FROM_GRADER)), "PYTHONPATH": str(PACKAGE_ROOT), **FIXED}


def of_notebook(home: str, temporary: str) -> dict[str, str]:
    """What a notebook sees, of a template with the environment above: a few that every program needs."""
    path = dict.fromkeys(
        [*(os.path.join(prefix, "bin") for prefix in (sys.prefix, sys.base_prefix)), "/usr/bin", "/bin"]
    )
    own = {"PATH": ":".join(path), "HOME": home, "TMPDIR": temporary, "USER": "student"}
    return {**_kept((*FROM_GRADER, *FIXED)), **own, "MPLCONFIGDIR": os.path.join(temporary, "matplotlib")}


def seen() -> set[str]:
    """The names of all variables that a notebook may see; its shell adds the last."""
    return {*FROM_GRADER, *FIXED, *of_notebook("", ""), "IPYTHONDIR"}


def _kept(names: tuple[str, ...]) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}
