"""Fills the tables that say how long the notebooks take: in README.md and in the instructor's guide.

    python -m tools.fill_guides

`make release` runs it. A table stands between `<!-- NAME -->` and `<!-- end -->`.
"""

import re
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path

from autograder.handout import Chapter, chapters
from autograder.workload import notebook, rounded

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/instructors.md")
BLOCK = re.compile(r"(<!-- ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

# For a term of so many weeks: which notebooks are left out, and which share a week with the one before.
TERMS = {8: ((2, 11), (5, 8)), 10: ((11,), (5,)), 12: ((), ())}


def filled(page: Path) -> str:
    """Return the page's text with its tables as the notebooks have them today."""
    return BLOCK.sub(lambda found: found[1] + BLOCKS[found[2]](chapters(ROOT)) + found[3], page.read_text("utf-8"))


def notebooks_table(found: Sequence[Chapter]) -> str:
    """Return a table of the main notebooks with their minutes, and a sentence with the optional ones."""
    main, optional = ([one for one in found if one.optional == which] for which in (False, True))
    lines = ["| notebook | to read and try | to answer |", "| --- | --- | --- |"]
    sums = [0, 0]
    for one in main:
        minutes = [rounded(each) for each in notebook(one.name).minutes]
        lines.append(f"| {_link(one, one.title)} | {minutes[0]} | {minutes[1]} |")
        sums = [before + more for before, more in zip(sums, minutes, strict=True)]
    lines.append(f"| together, about {_hours(sum(sums))} hours | {sums[0]} | {sums[1]} |")
    links = ", ".join(_link(one, str(_number(one))) for one in optional)
    hours = _hours(sum(one.minutes for one in optional))
    return "\n".join([*lines, "", f"Optional, about {hours} hours: more on {links}.", ""])


def terms_table(found: Sequence[Chapter]) -> str:
    """Return a table of weeks: the numbers of the notebooks and their hours, for each length of a term."""
    minutes = {_number(one): one.minutes for one in found if not one.optional}
    columns = []
    for left_out, joined in TERMS.values():
        weeks: list[list[int]] = []
        for number in minutes:
            if number in joined:
                weeks[-1].append(number)
            elif number not in left_out:
                weeks.append([number])
        cells = [f"{' and '.join(map(str, week))}: {sum(map(minutes.__getitem__, week)) / 60:.1f} h" for week in weeks]
        whole = sum(minutes[number] for week in weeks for number in week)
        columns.append([*cells, *[""] * (max(TERMS) - len(cells)), f"{_hours(whole)} h"])
    first = [*map(str, range(1, max(TERMS) + 1)), "together"]
    lines = [f"| week | {' | '.join(f'{weeks} weeks' for weeks in TERMS)} |", "| --- " * (len(TERMS) + 1) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in zip_longest(first, *columns)), ""])


BLOCKS: dict[str, Callable[[Sequence[Chapter]], str]] = {"notebooks": notebooks_table, "terms": terms_table}


def _link(one: Chapter, words: str) -> str:
    return f"[{words}](course/{one.name}/{one.name}.ipynb)"


def _number(one: Chapter) -> int:
    return int(one.name.partition("-")[0])


def _hours(minutes: float) -> int:
    return round(minutes / 60)


def main() -> None:
    for page in (ROOT / name for name in PAGES):
        page.write_text(filled(page), "utf-8")


if __name__ == "__main__":
    main()
