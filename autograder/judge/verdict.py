"""Write a verdict: HTML and plain text for the student, and data for the class report."""

from collections.abc import Iterable
from html import escape
from typing import Any

from .diagnosis.diagnose import Line
from .formatting import MIME, number, prose, without_emphasis
from .mark import Verdict

_STYLE = "border-collapse:collapse;border:0;margin:.3em 0"
_CELL = "text-align:left;vertical-align:top;border:0;padding:.15em .8em .15em 0"


def plain(verdict: Verdict) -> str:
    lines = [f"{verdict.exercise}: {number(verdict.earned)} of {number(verdict.points)} points"]
    lines += [verdict.remark] if verdict.remark else []
    sentences = [diagnosis.sentence for diagnosis in verdict.diagnoses]
    lines += [f"What probably happened: {sentence}" for sentence in sentences]
    lines += [verdict.score_explanation] if verdict.score_explanation else []
    for line in verdict.lines:
        lines.append(f"  {'right' if line.passed else 'WRONG' if line.judged else '  –  '}  {line.title}")
        if line.message and line.message not in sentences:
            lines.append(f"         {line.message}")
    return without_emphasis("\n".join(lines))


def html(verdict: Verdict, at_a_glance: bool = False) -> str:
    """Return the page. `at_a_glance`: with ✓ or ✗ in front, and the lines folded if all are right."""
    sign = ("✓ " if verdict.full else "✗ ") if at_a_glance else ""
    title = f"{sign}{escape(verdict.exercise)}: {number(verdict.earned)} of {number(verdict.points)} points"
    sentences = [diagnosis.sentence for diagnosis in verdict.diagnoses]
    parts = [f"<p><strong>{title}</strong></p>"]
    parts += [f"<p>{prose(verdict.remark)}</p>"] if verdict.remark else []
    parts += [f"<p><strong>What probably happened:</strong> {prose(sentence)}</p>" for sentence in sentences]
    parts += [f"<p>{prose(verdict.score_explanation)}</p>"] if verdict.score_explanation else []
    if verdict.lines:
        rows = []
        for lines in grouped(verdict.lines):
            first = lines[0]
            sign = "✓ right" if first.passed else "✗ wrong" if first.judged else "– not judged"
            message = prose(first.message) if first.message not in sentences else ""
            details = escape(first.title) + (f"<br>{message}" if message else "")
            if len(lines) > 1:
                titles = "<br>".join(escape(line.title) for line in lines)
                details = f"<details><summary>{len(lines)} checks. {message}</summary>{titles}</details>"
            rows.append(
                f'<tr style="border:0"><td style="{_CELL};white-space:nowrap">{sign}</td>'
                f'<td style="{_CELL}">{details}</td></tr>'
            )
        table = f'<table style="{_STYLE}" role="presentation">{"".join(rows)}</table>'
        folded = at_a_glance and verdict.full and len(rows) > 1
        parts.append(f"<details><summary>What was looked at</summary>{table}</details>" if folded else table)
    return "".join(parts)


def grouped(lines: Iterable[Line]) -> Iterable[list[Line]]:
    """Return the lines of each row: those that are not judged for the same reason share one, where the first stands.

    This keeps the line that says what is wrong in sight.
    """
    rows: dict[object, list[Line]] = {}
    for position, line in enumerate(lines):
        rows.setdefault(position if line.judged else line.message, []).append(line)
    return rows.values()


def bundle(verdict: Verdict) -> dict[str, Any]:
    """Return the MIME bundle of a Jupyter output."""
    return {"text/plain": plain(verdict), "text/html": html(verdict), MIME: verdict.as_data()}
