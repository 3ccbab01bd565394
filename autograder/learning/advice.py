"""Say what to run after an error that no answer caused: a restarted kernel, or a notebook outside its folder."""

import re
from pathlib import Path

from ..new_folder import released
from .local_marking import names_in
from .progress import Copy

NOT_RUN = (
    "○ `{name}` comes from another cell of this notebook, which has not run since you opened the notebook or restarted "
    "its kernel. Choose Run → Run All Above Selected Cell in the menu, then run this cell again."
)
QUOTED = 'Put the name in quotation marks: `"{name}"`.'
MISPLACED = (
    "○ This notebook needs files of the folder {there}, and runs in {here}. Move it into that folder, then choose "
    "Kernel → Restart Kernel and Run All Above Selected Cell."
)
LACKING = "○ Files of the course are missing in {here}. In a terminal, run `autograder learn` again: it puts them back."
OUTSIDE = (
    "○ This notebook lies outside your copy of the course, so nothing is recorded. `autograder learn` in a terminal "
    "opens your copy: work in the notebook there."
)
DAMAGED = "○ {file} cannot be read. In a terminal, run `autograder learn` again: it repairs it and keeps your work."
READ_ONLY = (
    "{folder} cannot be written to, so nothing is kept. In a terminal, `chmod -R u+w {folder}` gives you the right to "
    "write there. If that is refused, copy this folder to a place of your own and work in the copy."
)
FULL = "{folder} cannot be written to, so nothing is kept: {reason}. Make room there, then run this cell again."
FILE = re.compile(r"'([\w.-]+\.\w+)'")


def about(error: BaseException | None, cell: str, folder: Path, course: Copy | None) -> str:
    """Return a sentence that says what to run after an error in a cell; "" if the cell itself is the cause."""
    if type(error) is NameError and course:
        home = course.notebook_in(folder)
        name = str(error.name)
        where = course.home(name)
        if where and (course.notebooks[where][name].written or re.search(rf"\b(?:hint|solution)\( *{name}\b", cell)):
            return QUOTED.format(name=name)
        return NOT_RUN.format(name=name) if home and name in names_in(home) else ""
    if isinstance(error, ModuleNotFoundError):
        return _about_files({f"{error.name}.py"}, folder, course)
    if type(error).__name__ == "Missing":  # of the notebook's first cell, which lists its files
        return _about_files(set(FILE.findall(cell)), folder, course)
    return ""


def _about_files(files: set[str], folder: Path, course: Copy | None) -> str:
    """Return where a notebook belongs that does not find these files; "" if they are not the course's."""
    homes = [path.name for path in sorted(released().glob("[0-9]*")) if _has(path, files)]
    if not homes or _has(folder, files):
        return ""
    if course and course.notebook_in(folder) in homes:
        return LACKING.format(here=folder)
    there = f"`{homes[0]}`" if len(homes) == 1 else "that has its number"
    return MISPLACED.format(there=f"{there} of your copy, {course.folder}" if course else there, here=folder)


def _has(folder: Path, files: set[str]) -> bool:
    return bool(files) and all((folder / name).is_file() for name in files)
