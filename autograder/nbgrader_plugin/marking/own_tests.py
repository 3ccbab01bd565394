"""Explain failures of tests that an instructor wrote as plain assertions, without the source of hidden ones."""

import re
from collections.abc import Iterable
from typing import Any

from nbformat import NotebookNode, from_dict
from nbgrader.utils import determine_grade, is_grade, is_solution

from ...sandbox.limits import Ending
from ..hidden_tests import visible
from ..intake.repair import grade_id
from .notices import ending_in

MAX_MESSAGE = 2_000  # characters of an error's message
MAX_LINES = 5  # lines of a notebook that one error names
MAX_LINE = 300  # characters of each line of the reasons
LINE = re.compile(r"^-+> (\d+) (.*)$", re.MULTILINE)  # IPython marks the line at which a frame stands
NO_NUMBER = "The test returned {value}, which is no number of points from 0 to {points:g}, so none are counted."
ON_STDERR = "Something was written to stderr, which by nbgrader's rule counts as a failure:"
NOT_SHOWN = "The test ended in an error that was not shown."
TOO_MUCH = "The test made more outputs than are read, so its result is not known."


def deciding(outputs: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Return a list of the first output that decides on the mark, or an empty list."""
    kinds = ("error", "execute_result")
    return [one for one in outputs if one.output_type in kinds or one.get("name") == "stderr"][:1]


def pass_stderr(outputs: Iterable[Any]) -> None:
    """Turn text on stderr into text on stdout, which is shown and decides nothing."""
    for output in outputs:
        if isinstance(output, dict) and output.get("name") == "stderr":
            output["name"] = "stdout"


def reasons(cell: NotebookNode) -> list[str]:
    """Return why a marked test failed: its error with the student's line, then what was written to stderr."""
    outputs = cell.get("outputs", [])
    found = []
    for output in [output for output in outputs if output.get("output_type") == "error"][:1]:
        message, *lines = output.get("traceback") or [""]
        found += [message.split("\n")[0][:MAX_LINE], *(line[:MAX_LINE] for line in lines[-1:])]
    if written := "".join(str(output.get("text", "")) for output in outputs if output.get("name") == "stderr").strip():
        found.append(f"{ON_STDERR} {written[:MAX_LINE]}")
    return found


def explain_failure(cell: NotebookNode, ending: Ending, cut: bool, cells: Iterable[NotebookNode]) -> None:
    """Replace a failed test's errors by one that the student may see. `cut` says that outputs may be missing."""
    errors = [output for output in cell.outputs if output.output_type == "error"]
    name, message = "ValueError", ""
    if stopped := next(filter(None, map(ending_in, cell.outputs)), ""):
        name, message = "CellTimeoutError" if ending == "time" else "DeadKernelError", stopped
    elif errors:
        name, message = errors[0].ename[:MAX_LINE], errors[0].evalue[:MAX_MESSAGE]
    elif ending != "ok":
        message = NOT_SHOWN
    elif cut and not deciding(cell.outputs):
        message = TOO_MUCH
    else:
        try:
            determine_grade(cell)
            return
        except (ValueError, KeyError):
            [result] = [one for one in deciding(cell.outputs) if one.output_type == "execute_result"]
            value = result.data.get("text/plain", "")[:100] or "nothing that can be shown"
            message = NO_NUMBER.format(value=value, points=float(cell.metadata.nbgrader.points))
    trace = "\n".join(line for one in errors for line in one.traceback)
    lines = [f"{name}: {message}" if message else name, *lines_in(trace, cells)]
    error = from_dict({"output_type": "error", "ename": name, "evalue": message, "traceback": lines})
    others = [output for output in cell.outputs if output.output_type not in ("error", "execute_result")]
    warnings = [output for output in others if output.get("name") == "stderr"]
    cell.outputs = [*(output for output in others if output not in warnings), error, *warnings]


def lines_in(trace: str, cells: Iterable[NotebookNode]) -> list[str]:
    """Return a traceback's lines that are in these cells and not in hidden tests, the innermost last."""
    known: dict[str, list[tuple[int, str]]] = {}
    for cell in cells:
        test = is_grade(cell) and not is_solution(cell)
        for number, line in enumerate((visible(cell.source) if test else cell.source).splitlines(), 1):
            known.setdefault(line.strip(), []).append((number, grade_id(cell) or "another cell"))
    found = []
    for number, line in LINE.findall(trace):
        if positions := known.get(line.strip()):
            found_at, name = next((one for one in positions if one[0] == int(number)), positions[0])
            found.append(f"in {name}, line {found_at}: {line.strip()}")
    return list(dict.fromkeys(found))[-MAX_LINES:]
