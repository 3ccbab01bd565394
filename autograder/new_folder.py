"""`autograder init`: creates a folder to teach from: source notebooks, released notebooks, nbgrader's configuration."""

from pathlib import Path

from . import files
from .spec.course import NoCourse, course, home, sources

README = "README.md"  # of a folder in the course's repository: it is not part of the course
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
    """Write `solutions/`, `course/` and nbgrader_config.py into an empty or new folder; else raise WouldOverwrite.

    Write all of it or, where that fails, nothing.
    """
    with files.all_or_nothing(folder):
        for source, name in ((sources(), "solutions"), (released(), "course")):
            for path in (path for path in files.files(source) if path != source / README):
                files.write_with_folders(folder / name / path.relative_to(source), path.read_bytes())
        files.write_atomically(folder / "nbgrader_config.py", CONFIGURATION.format(package=course().package).encode())
