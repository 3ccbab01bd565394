"""The grader's messages in a cell's outputs: notices in brackets, and verdicts."""

import re
from typing import Any

from nbformat import NotebookNode

from ...judge.formatting import MIME
from ..intake.repair import KEY

FAILED = "This submission could not be marked"  # heading of the notice in a notebook that could not be marked
LEFT_OUT = "There are more outputs here than are shown."
TIME_UP = "The time for the whole notebook was used up before this cell, so it was not run."
TIME_UP_EXERCISE = "The time for the whole notebook was used up before this exercise, so it was not marked."
TOO_MUCH_WORK = (
    "Comparing what this answer returned took more time than the marking of one exercise may take, so it earns "
    "nothing: return only what `{name}` is to return."
)
TOO_MUCH_READING = (
    "Reading the cells of this notebook took more time than marking may take, so this exercise was not marked: "
    "leave out the cells that no answer needs."
)
TOO_LONG = (
    "Reading this notebook took more time than marking may take, so nothing in it was marked: leave out the cells that "
    "no answer needs, and hand it in again."
)
RESTARTED = (
    "This cell ended the Python process. The cells before it were run again in a new one; this one was left out."
)
TOO_OFTEN = "The notebook ended its Python process too often; the cells from here on were not run."
SKIPPED = "This cell came with the notebook. Nothing that is marked depends on it, so it was not run again."
STALLED = "This cell was stopped at its time limit of {limit:.0f} seconds."

# The notices on cells that did not run to their end.
ENDINGS = re.compile(
    "|".join(map(re.escape, (TIME_UP, TOO_OFTEN, RESTARTED, STALLED))).replace(r"\{limit:\.0f\}", r"\d+")
)
NOTICE = re.compile(r"\[(.+)\]\n?")


def notice_in(output: NotebookNode) -> str:
    """Return the text of the grader's notice in an output; "" if it is none."""
    found = NOTICE.fullmatch(str(output.get("text", ""))) if output.get("output_type") == "stream" else None
    return found[1] if found else ""


def ending_in(output: NotebookNode) -> str:
    """Return the notice in an output if it says that the cell did not run to its end; else ""."""
    notice = notice_in(output)
    return notice if ENDINGS.fullmatch(notice) else ""


def refusal(cells: list[NotebookNode]) -> str | None:
    """Return why nothing of a notebook could be read, from the notice in its marked version; None if it was read."""
    for cell in cells:
        heading, *lines = str(cell.source).split("\n")
        if cell.metadata.get(KEY) == "notice" and FAILED in heading:
            return " ".join(line.removeprefix("- ") for line in lines if line.strip())
    return None


def verdict_in(cell: NotebookNode) -> dict[str, Any] | None:
    """Return the verdict written into a cell, as data; None if there is none."""
    found = (output.get("data", {}).get(MIME) for output in cell.get("outputs", []))
    return next((verdict for verdict in found if isinstance(verdict, dict)), None)
