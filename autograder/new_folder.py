"""`autograder init`: creates a folder to teach from, with all that a term needs and nbgrader's configuration."""

import re
from pathlib import Path

from . import files
from .handout import ENVIRONMENT, teaching_file
from .spec.course import NoCourse, course, home, sources

README = "README.md"  # of a folder in the course's repository: it is not part of the course
CLASS_LIST = "students.example.csv"
GUIDE = "docs/instructors.md"
PAGES = (GUIDE, *(f"docs/{name}.md" for name in ("students", "canvas-and-moodle", "marking", "your-own-assignments")))
BESIDE = (*ENVIRONMENT, CLASS_LIST, *PAGES)  # what a term needs besides the notebooks
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)([^)#\s]+)(?:#[^)\s]*)?\)")
CONFIGURATION = '''"""nbgrader's configuration: run nbgrader's and autograder's commands in this folder."""

from pathlib import Path

from autograder.nbgrader_plugin.configuration import configure

COURSE = "{package}"

c = get_config()  # noqa: F821
configure(c, Path(__file__).resolve().parent)
c.CourseDirectory.course_id = "{package}"
'''


def released() -> Path:
    """Return the folder of the course's released notebooks: inside the installed package, or next to the solutions."""
    candidates = (home() / "course", sources().parent / "course")
    if (found := next(filter(Path.is_dir, candidates), None)) is None:
        raise NoCourse(f"The course {course().package} has no released notebooks in {candidates[-1]}: go elsewhere.")
    return found


def lay_out(folder: Path) -> None:
    """Write notebooks, configuration, class list, environment and guides into an empty or new folder.

    Write all of it or, where that fails, nothing; raise WouldOverwrite if the folder is not empty. A course that has
    no such guides or lists goes without.
    """
    with files.all_or_nothing(folder):
        for source, name in ((sources(), "solutions"), (released(), "course")):
            for path in (path for path in files.files(source) if path != source / README):
                files.write_with_folders(folder / name / path.relative_to(source), path.read_bytes())
        for name in (name for name in BESIDE if teaching_file(name).is_file()):
            files.write_with_folders(folder / name, teaching_file(name).read_bytes())
        for page in (folder / name for name in PAGES if (folder / name).is_file()):
            files.write_atomically(page, _without_dead_links(page).encode())
        files.write_atomically(folder / "nbgrader_config.py", CONFIGURATION.format(package=course().package).encode())


def _without_dead_links(page: Path) -> str:
    """Return a page in which links to what only the course's repository has are plain text."""
    return LINK.sub(lambda link: link[0] if (page.parent / link[2]).exists() else link[1], page.read_text("utf-8"))
