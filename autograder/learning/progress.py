"""Remember what a learner has answered, in one file for each answer, and write it on the start page."""

import functools
import json
import os
import re
import urllib.parse
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import files
from ..judge.formatting import number

FOLDER = ".learning"  # in a copy of the course
START = "START.md"
PRACTICE = "practise.ipynb"
TEST = re.compile(r"# @title Test of (\w+)")  # how the cell below an answer begins
SAID = re.compile(r"print\(['\"][✓●]")  # how its last statement begins if it passes; in a copy the verdict says it
FIRST_CELL = "learning"  # the id of the cell that comes first in each notebook of a copy
SHOWN = 3  # answers to practise that the start page lists; the others are folded
NEW = "-new"  # suffix of a folder with a newer version of a notebook


@dataclass(frozen=True)
class Answer:
    """A notebook's facts about an answer that is marked."""

    points: float
    title: str  # "Exercise: NAME"
    section: str  # "2. A weighted sum"
    cell: str  # the id of the text cell above it
    hints: list[str]  # in Markdown
    written: bool = False  # the learner marks it


@dataclass
class State:
    """A learner's progress on one answer."""

    tries: int = 0
    earned: float = 0.0  # by the best try
    hints: int = 0  # that were opened
    missed: bool = False  # a try was not fully right
    practised: bool = False  # it is right now, and so was a fresh case after that


@dataclass(frozen=True)
class Copy:
    """A learner's copy of the course."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / FOLDER / "course.json"

    @functools.cached_property
    def about(self) -> Any:
        return json.loads(self.path.read_text("utf-8"))

    @functools.cached_property
    def notebooks(self) -> dict[str, dict[str, Answer]]:
        """Return the answers of each notebook, by name."""
        return {
            notebook: {name: Answer(**about) for name, about in one["answers"].items()}
            for notebook, one in self.about["notebooks"].items()
        }

    def title(self, notebook: str) -> str:
        return str(self.about["notebooks"][notebook]["title"])

    def notebook_in(self, folder: Path) -> str:
        """Return the notebook whose folder this is, of whatever version; "" if it is none's."""
        name = re.sub(f"({NEW})+$", "", folder.name)
        return name if name in self.notebooks else ""

    def link_to(self, notebook: str) -> str:
        """Return the link to a notebook from the start page, also if the learner has renamed the file."""
        own = self.folder / notebook / f"{notebook}.ipynb"
        others = [] if own.exists() else [path for path in own.parent.glob("*.ipynb") if is_one_of_the_course(path)]
        found = max(others, key=lambda path: path.stat().st_mtime, default=own)
        return urllib.parse.quote(found.relative_to(self.folder).as_posix())

    def home(self, name: str) -> str:
        """Return the notebook of an answer; "" if there is none of this name."""
        return next((notebook for notebook, answers in self.notebooks.items() if name in answers), "")

    def state(self, name: str) -> State:
        try:
            return State(**json.loads(self._path(name).read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return State()

    def remember(self, name: str, state: State) -> None:
        """Keep a state. Practising an answer does not make it the one that was tried last."""
        path = self._path(name)
        tried = path.stat().st_mtime if state.practised and path.exists() else None
        files.write_with_folders(path, json.dumps(asdict(state)).encode())
        if tried:
            os.utime(path, (tried, tried))
        self.write_start()

    def last(self, notebook: str = "") -> str:
        """Return the name of the answer, in a notebook or in any, that was tried last; "" if there is none."""
        tried = [path for path in self._path("x").parent.glob("*.json") if notebook in ("", self.home(path.stem))]
        return max(tried, key=lambda path: path.stat().st_mtime).stem if tried else ""

    def _path(self, name: str) -> Path:
        return self.folder / FOLDER / "answers" / f"{name}.json"

    def done(self, notebook: str) -> str:
        """Return what is done in a notebook: "7 of 13 tried, 21 of 28 points"; then what the learner marked."""
        found = [(answer, self.state(name)) for name, answer in self.notebooks[notebook].items()]
        judged = [(answer, state) for answer, state in found if not answer.written]
        tried, earned = sum(state.tries > 0 for _, state in judged), sum(state.earned for _, state in judged)
        points = sum(answer.points for answer, _ in judged)
        text = f"{tried} of {len(judged)} tried, {number(earned)} of {number(points)} points"
        for answer, state in found:
            if answer.written:
                marks = f"{number(state.earned)} of {number(answer.points)} by your own marks"
                text += f"; written answer: {marks if state.tries else 'open'}"
        return text

    def is_open(self, name: str) -> bool:
        """Return whether an answer lacks points. A written answer is done with any marks."""
        answer, state = self.notebooks[self.home(name)][name], self.state(name)
        return not state.tries if answer.written else state.earned < answer.points

    def following(self, notebook: str, since: str = "") -> tuple[str, str] | None:
        """Return (notebook, name) of the first open answer: from `since` on, in this notebook, or in another."""
        for home in sorted(self.notebooks, key=lambda one: one != notebook):
            open_ones = list(filter(self.is_open, self.notebooks[home]))
            order = list(self.notebooks[home])
            below = [name for name in open_ones if since in order and order.index(name) >= order.index(since)]
            if found := below or open_ones:
                return home, found[0]
        return None

    def what_next(self, notebook: str, since: str = "") -> str:
        """Return what comes next from an answer on, and how much was left above it; or in which other notebook."""
        if (found := self.following(notebook, since)) is None:
            return "Everything is answered: `practise.ipynb` and START.md have the rest."
        home, name = found
        where = "" if home == notebook else f" in “{self.title(home)}”: open it from START.md"
        text = f"Next: {self.notebooks[home][name].title}{where}."
        order = list(self.notebooks[home])
        if left := [self.notebooks[home][one].title for one in order[: order.index(name)] if self.is_open(one)]:
            text += f" Not full yet, above: {left[0]}{f' and {len(left) - 1} more' if left[1:] else ''}."
        return text

    def write_start(self) -> None:
        """Write the start page, with what is done and what comes next."""
        text = str(self.about["start"]).replace("[[next]]", self._next() + self._practice() + self._newer())
        for notebook in self.notebooks:
            text = text.replace(f"[[{notebook}]]", self.done(notebook))
            text = text.replace(f"]({notebook}/{notebook}.ipynb", f"]({self.link_to(notebook)}")
        files.write_with_folders(self.folder / START, text.encode())

    def to_practise(self) -> tuple[list[str], list[str]]:
        """Return the answers that were once wrong and are right now: those to practise, and those that are done."""
        found = [
            (name, state)
            for answers in self.notebooks.values()
            for name, answer in answers.items()
            if (state := self.state(name)).missed and state.earned >= answer.points
        ]
        due, done = ([name for name, state in found if state.practised == which] for which in (False, True))
        return due, done

    def _practice(self) -> str:
        """Return what to practise again, or that all is done; "" if nothing was ever wrong."""
        due, done = self.to_practise()
        if due:
            links = list(map(self._link, due))
            left = len(links) - SHOWN
            more = f"\n\n<details><summary>and {left} more</summary>\n\n{', '.join(links[SHOWN:])}\n\n</details>"
            return (
                f"\n\n**[Practise again]({PRACTICE})**, a minute each, what was once wrong and is right now: "
                f"{', '.join(links[:SHOWN])}{more if left > 0 else '.'}"
            )
        number = "the one answer that was" if len(done) == 1 else f"all {len(done)} answers that were"
        return f"\n\n**Practised again:** {number} once wrong." if done else ""

    def _link(self, name: str) -> str:
        home = self.home(name)
        answer = self.notebooks[home][name]
        return f"[{answer.title}]({home}/{home}.ipynb#cell-id={answer.cell})"

    def _newer(self) -> str:
        """Return a sentence about the newer versions that lie next to notebooks in use; "" if there are none."""
        paths = sorted(path.relative_to(self.folder).as_posix() for path in self.folder.glob(f"*{NEW}/[0-9]*.ipynb"))
        links = ", ".join(f"[{path.split('/')[0]}]({path})" for path in paths)
        return f"\n\n**Newer versions**, beside those that you have worked in: {links}." if links else ""

    def _next(self) -> str:
        last = self.last()
        if (found := self.following(self.home(last), last)) is None:
            return "Everything is answered, with full points."
        notebook, name = found
        answer, link = self.notebooks[notebook][name], f"{notebook}/{notebook}.ipynb"
        if not last:
            return f"**Next:** [begin with “{self.title(notebook)}”]({link})."
        return f"**Next:** [{answer.title} in “{self.title(notebook)}”]({link}#cell-id={answer.cell})."


def grade_id(cell: dict[str, Any]) -> str:
    """Return a cell's grade_id, from a notebook's JSON; "" if it has none."""
    return str(cell["metadata"].get("nbgrader", {}).get("grade_id", ""))


def is_one_of_the_course(path: Path) -> bool:
    """Return whether a file is a notebook of the course in a copy, whatever its name: the first cell tells."""
    try:
        return any(cell.get("id") == FIRST_CELL for cell in json.loads(path.read_text("utf-8"))["cells"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # no notebook, or half of one
        return False


def copy_around(folder: Path) -> Copy | None:
    """Return the copy of the course that a folder lies in; None if it lies in none."""
    return next((Copy(parent) for parent in (folder, *folder.parents) if (parent / FOLDER).is_dir()), None)
