"""Find the folders that no notebook may see: answer keys, checks and solutions, and a person's own files."""

import contextlib
import functools
import importlib.util
import os
from collections.abc import Iterator
from importlib.metadata import Distribution, entry_points
from pathlib import Path

from ..spec.course import GROUP, SETTINGS, NoCourse, home, root

ENGINE = Path(__file__).resolve().parents[1]
SHARED = frozenset({"..", "__pycache__"})  # first parts of an installed file's path that belong to no one package


@functools.cache
def packages() -> tuple[str, ...]:
    """Return the folders of the engine, and of every course that is installed or named."""
    folders = [ENGINE]
    with contextlib.suppress(NoCourse):
        folders.append(home())  # that may be importable without being installed
    for point in entry_points(group=GROUP):
        spec = importlib.util.find_spec(point.value.partition(":")[0].partition(".")[0])
        folders += map(Path, (spec.submodule_search_locations or ()) if spec else ())
        folders += _installed_with(point.dist) if point.dist else ()
    return tuple(dict.fromkeys(str(folder.resolve()) for folder in folders))


def _installed_with(course: Distribution) -> Iterator[Path]:
    """Yield the folders that came with a course: its package, others next to it, and the list of its files."""
    tops = dict.fromkeys(file.parts[0] for file in course.files or () if len(file.parts) > 1)
    return (Path(str(course.locate_file(top))) for top in tops if top not in SHARED)


def private_folders() -> tuple[str, ...]:
    """Return these packages' folders, and the checkouts in which they lie."""
    checkouts = [str(folder) for package in packages() if ((folder := Path(package).parent) / SETTINGS).exists()]
    return tuple(dict.fromkeys([*packages(), *checkouts]))


def data_folders() -> tuple[str, ...]:
    """Return the folders of a person's own files: the home, this one, the course's, and the term's data."""
    folders = [os.path.expanduser("~"), os.getcwd()]
    if ((course_root := root()) / SETTINGS).is_file():  # else it is a part of the installed course
        folders += [str(course_root), str(course_root / os.environ.get("COURSE_CLASSROOM", "classroom"))]
    return tuple(dict.fromkeys(map(os.path.realpath, folders)))


@functools.cache
def homes() -> frozenset[str]:
    """Return the home folders of this machine's users."""
    try:
        import pwd
    except ImportError:  # Windows
        return frozenset()
    return frozenset(os.path.realpath(user.pw_dir) for user in pwd.getpwall())
