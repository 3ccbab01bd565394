"""Make files about students private to their owner, or to the group with `groupshared`, whatever the umask.

nbgrader leaves modes to the umask, by which others can read on most machines. Students read feedback in the exchange.
"""

import contextlib
import stat
from pathlib import Path
from typing import Any

from nbgrader.converters.base import BaseConverter
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import event
from sqlalchemy.engine import Engine
from traitlets.config import Application, Config

from ..files import make_private, only_for_owner, private

PRIVATE_NAMES = ("marked", "downloaded", "students.csv")  # in the folder that holds the submissions' folder

_configured: list[Config] = []  # the configuration that was read last
_unprotected: list[Config] = []  # the same, until a gradebook is opened
_shared: dict[str, bool] = {}  # `groupshared`, by the text of a configuration's section


def groupshared() -> bool:
    """Return nbgrader's `CourseDirectory.groupshared`, from its configuration and from the command line."""
    command = [Application.instance().config] if Application.initialized() else []
    return any(map(_is_shared, (*_configured, *command)))


def _is_shared(config: Config) -> bool:
    section = repr(config.get("CourseDirectory"))
    if section not in _shared:  # each connection to a gradebook asks
        _shared[section] = CourseDirectory(config=config).groupshared
    return _shared[section]


def keep(c: Config) -> None:
    """Protect the course that `c` configures as soon as its gradebook is opened: by then `c` is complete."""
    _configured[:] = _unprotected[:] = [c]
    if not event.contains(Engine, "do_connect", _before_connection):
        event.listen(Engine, "do_connect", _before_connection)


def _before_connection(dialect: Any, record: Any, arguments: list[Any], options: dict[str, Any]) -> None:
    """Make a SQLite file private before SQLite makes it readable; its journals get the same mode."""
    path = str(arguments[0]) if dialect.name == "sqlite" and arguments else ""
    if path and not path.startswith((":memory:", "file:")) and Path(path).parent.is_dir():
        make_private(Path(path), groupshared())
    while _unprotected:
        protect(CourseDirectory(config=_unprotected.pop()))


def protect(course: CourseDirectory) -> None:
    """Make a course's folders with students' work private, which earlier versions, or people, left open."""
    group = groupshared()
    steps = (course.submitted_directory, course.autograded_directory, course.feedback_directory)
    tops = [Path(course.format_path(step, "x", "y")).parents[1] for step in steps]
    for path in [*tops, *(tops[0].with_name(name) for name in PRIVATE_NAMES)]:
        private(path, group)
    if group:  # SQLite makes its journal in the gradebook's folder
        with contextlib.suppress(OSError):
            tops[0].parent.chmod(stat.S_IMODE(tops[0].parent.stat().st_mode) | 0o2070)


def write_privately(converter: BaseConverter) -> None:
    """Let a converter of nbgrader's write for its owner only, or for the group. Configured permissions stay."""
    group = converter.coursedir.groupshared
    sections = [one.__name__ for one in type(converter).__mro__]
    if not any("permissions" in converter.config.get(section, {}) for section in sections):
        before = int(str(converter.permissions), 8)  # nbgrader writes them in decimal digits
        converter.permissions = int(f"{before & (0o660 if group else 0o600):o}")
    convert = converter.convert_notebooks

    def convert_privately() -> None:
        with only_for_owner(group):
            convert()

    converter.convert_notebooks = convert_privately
