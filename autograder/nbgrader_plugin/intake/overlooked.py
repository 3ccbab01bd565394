"""List files in the folder of submissions that are not read: nbgrader skips all but STUDENT/ASSIGNMENT/."""

import os
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path

from ...close_names import did_you_mean
from . import student_folder

# Names of files and folders that programs create, as are names that begin with a dot
NOT_MEANT = frozenset({"Thumbs.db", "desktop.ini", "__MACOSX", "__pycache__", ".ipynb_checkpoints"})
MAX_SENTENCES = 20  # sentences


def overlooked(submitted: Path, assignments: Collection[str]) -> list[str]:
    """Return a sentence for each file or folder that no assignment's marking reads, with what to do about it."""
    found = list(_sentences(submitted, assignments))
    more = [f"{len(found) - MAX_SENTENCES} more are like these."] if len(found) > MAX_SENTENCES else []
    return [student_folder.shown(sentence, 1000) for sentence in found[:MAX_SENTENCES]] + more


def _sentences(submitted: Path, assignments: Collection[str]) -> Iterator[str]:
    yield from _twins(submitted)
    for student in _entries(submitted):
        path = Path(student.path)
        where = str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
        if not student.is_dir():
            name = student.name.partition(".")[0]
            yield f"{where} is a file, not a student's folder, so it was not marked: move it to {name}/ASSIGNMENT/."
        elif not student.is_symlink():
            inside = _entries(student)
            yield from _too_deep(where, [entry for entry in inside if entry.name in assignments])
            others = [entry for entry in inside if entry.name not in assignments]
            yield from _in_folder(student, where, others, assignments)


def _twins(submitted: Path) -> Iterator[str]:
    """Yield a sentence for students' folders whose names differ only in case or in how letters are composed."""
    alike = defaultdict(list)
    for entry in _entries(submitted):
        if entry.is_dir():
            alike[unicodedata.normalize("NFKC", entry.name).casefold()].append(entry.name)
    for names in alike.values():
        if len(names) > 1:
            # ascii shows what differs in names that look the same
            shown = ", ".join(f"{name} ({name!a})" for name in names)
            yield f"These folders have the same name but for how it is written, and count as several students: {shown}."


def _too_deep(where: str, submissions: list[os.DirEntry[str]]) -> Iterator[str]:
    """Yield a sentence for a notebook in a subfolder of an assignment's folder that has no notebook itself."""
    for submission in submissions:
        inside = _entries(submission) if submission.is_dir(follow_symlinks=False) else []
        if not any(entry.name.endswith(".ipynb") for entry in inside):
            deeper = (found for entry in inside if entry.is_dir(follow_symlinks=False) for found in _entries(entry))
            for found in [found.path for found in deeper if found.name.endswith(".ipynb")][:1]:
                name = os.path.relpath(found, Path(submission.path).parent)
                yield f"{where}/{name} is one folder too deep, so it was not read."


def _in_folder(
    student: os.DirEntry[str], where: str, inside: list[os.DirEntry[str]], assignments: Collection[str]
) -> Iterator[str]:
    folders = [entry.name for entry in inside if entry.is_dir()]
    if student.name in assignments and folders:
        yield (
            f"{where}/ is named like an assignment, so {', '.join(sorted(folders)[:5])} in it was not marked: the "
            "student's folder comes first, STUDENT/ASSIGNMENT/."
        )
        return
    for name in folders:
        yield f"{where}/{name} matches no assignment, so it was not marked.{did_you_mean(name, assignments)}"
    if loose := sorted(entry.name for entry in inside if entry.name.endswith(".ipynb") and not entry.is_dir()):
        yield f"{where}/{loose[0]} is in no assignment's folder, so it was not marked: move it to {where}/ASSIGNMENT/."


def _entries(folder: Path | os.DirEntry[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if not entry.name.startswith(".") and entry.name not in NOT_MEANT]
    except OSError:  # missing or not readable; marking reports that
        return []
    return sorted(found, key=lambda entry: entry.name)
