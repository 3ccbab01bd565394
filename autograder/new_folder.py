"""`autograder init`: creates a folder to teach from: source notebooks, released notebooks, nbgrader's configuration."""

import shutil
from pathlib import Path

from .files import WouldOverwrite
from .spec.course import course, home, sources

CONFIGURATION = '''"""nbgrader's configuration: run nbgrader's and autograder's commands in this folder."""

from pathlib import Path

from autograder.nbgrader_plugin.configuration import configure

COURSE = "{package}"

c = get_config()  # noqa: F821
configure(c, Path(__file__).resolve().parent)
c.CourseDirectory.course_id = "{package}"
'''


def released() -> Path:
    """Return the folder of the course's released notebooks: inside the installed package, or beside the solutions."""
    return next(place for place in (home() / "course", sources().parent / "course") if place.is_dir())


def lay_out(folder: Path) -> None:
    """Write `solutions/`, `course/` and nbgrader_config.py into an empty or new folder; else raise WouldOverwrite."""
    if folder.exists() and any(folder.iterdir()):
        raise WouldOverwrite(f"{folder} is not empty, so nothing was written: name a new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    for place, name in ((sources(), "solutions"), (released(), "course")):
        shutil.copytree(place, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"))
    (folder / "nbgrader_config.py").write_text(CONFIGURATION.format(package=course().package), "utf-8")
