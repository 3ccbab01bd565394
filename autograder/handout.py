"""Write the students' zip, which holds the release and the environment (`autograder students`)."""

import base64
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

import jinja2
import nbformat

from . import files, glossary, workload
from .spec.course import MARKERS, course, home, is_optional, notebooks
from .workload import TIME, sitting_lengths

SETTINGS = ".jupyter"  # JupyterLab's settings for this course; `environment.yml` points to them
TEACHING = "teaching"  # the folder of an installed course with what a checkout has beside the notebooks
ENVIRONMENT = ("environment.yml", "requirements.txt", "constraints.txt", "LICENSE", "LICENSE-CONTENT")
FOLDER = "course"  # in the zip
START = "START.md"  # the page that JupyterLab opens
WHEN = (2026, 1, 1, 0, 0, 0)  # a fixed time, so that the same files make the same zip
NEEDS = re.compile(r"\*\*You need\*\*:? (.*?)\s*(?=\*\*Time|\n\n)", re.DOTALL)
LEAKS = (*MARKERS, "BEGIN HIDDEN TESTS", "END HIDDEN TESTS", "from autograder")


@dataclass(frozen=True)
class Chapter:
    name: str
    title: str
    sittings: list[int]  # the minutes of each
    needs: str  # the first clause of **You need**
    picture: bytes
    alt: str
    optional: bool
    terms: list[tuple[str, str, str]]  # its glossary: term, meaning, sections

    @property
    def minutes(self) -> int:
        return sum(self.sittings)


class NotReady(Exception):
    """Raised when the files cannot be given to students yet. The message says what to do."""


def teaching_file(name: str) -> Path:
    """Return the path of a file that a teacher needs beside the notebooks: in the installed course or the checkout."""
    installed = home() / TEACHING / name
    return installed if installed.is_file() else home().parent / name


def chapters(root: Path) -> list[Chapter]:
    """Return the start page's entries, in the notebooks' order. `root` is the folder that contains solutions/."""
    pictures = json.loads((home() / "handout" / "pictures.json").read_text("utf-8"))
    return [_chapter(root / "solutions" / name / f"{name}.ipynb", pictures[name]) for name in notebooks()]


def _chapter(path: Path, figure: str) -> Chapter:
    notebook = nbformat.read(path, as_version=4)
    opening = notebook.cells[0].source
    title, needs = re.match(r"# (.+)", opening), NEEDS.search(opening)
    if not (title and needs and TIME.search(opening)):
        raise NotReady(
            f"The first cell of {path.name} must have a title, **You need** and "
            "**Time:** about … minutes to read and try, … to answer."
        )
    shown = [cell for cell in notebook.cells if cell.id == figure]
    for output in (output for cell in shown for output in cell.get("outputs", [])):
        if "image/png" in output.get("data", {}):
            alt = output.metadata.get("image/png", {}).get("alt", "")
            data = base64.b64decode(output.data["image/png"])
            clause = re.split(r"[.;:](?: |$)", " ".join(needs[1].split()))[0]
            needed, described = clause[0].upper() + clause[1:], escape(_beginning(alt))
            lengths, optional = sitting_lengths(notebook), is_optional(path.stem)
            terms = list(glossary.rows(notebook))
            return Chapter(path.stem, title[1], lengths, needed, data, described, optional, terms)
    if not shown:
        raise NotReady(
            f"{path.name} has no cell with the id {figure!r}, whose figure the start page shows: give the cell its id "
            "back, or name another one in handout/pictures.json."
        )
    raise NotReady(
        f"The cell {figure!r} of {path.name} has no figure in its output, and the start page shows it: run "
        f"`autograder run-solutions {path.stem}`, or name another cell in handout/pictures.json."
    )


def _beginning(alt: str) -> str:
    """Return the first sentences of a figure's description, until they exceed 40 characters."""
    beginning = ""
    for sentence in re.split(r"(?<=\.)\s", alt.replace("|", " ")):
        beginning = f"{beginning} {sentence}".strip()
        if len(beginning) > 40:
            break
    return beginning


def page_names() -> list[str]:
    """Return the names of the pages around the notebooks, START.md first."""
    return sorted((path.stem for path in (home() / "handout").glob("*.md.j2")), key=lambda name: (name != START, name))


def pages(found: list[Chapter], done: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the pages around the notebooks. For a learner alone, `done` says what is done in each notebook."""
    environment = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
    main, optional = ([one for one in found if one.optional == which] for which in (False, True))
    minutes = {(one.name, task.name): task.minutes for one in main for task in workload.notebook(one.name).tasks}
    entries = glossary.merged((chapter.name, chapter.terms) for chapter in (*main, *optional))
    about = {"title": course().title, "main": main, "optional": optional, "done": done, "minutes": minutes}
    return {
        name: environment.from_string((home() / "handout" / f"{name}.j2").read_text("utf-8")).render(
            **about, entries=entries
        )
        for name in page_names()
    }


def prepare_start(root: Path, sources: Path, replaced: Path | None = None) -> Callable[[], None]:
    """Return a function that writes the pages, their pictures and settings at `root`. `sources` contains solutions/.

    It does nothing for a course without a folder `handout`, from which they are made. Raise WouldOverwrite if somebody
    edited them, or have the function first copy them to `replaced`.
    """
    if not (home() / "handout").is_dir():
        return lambda: None
    released, found = root / "course", chapters(sources)
    fresh = {f"start/{chapter.name}.png": chapter.picture for chapter in found}
    settings = files.contents(home() / "handout" / SETTINGS)
    fresh |= {name: text.encode() for name, text in pages(found).items()}
    fresh |= {f"{SETTINGS}/{name}": text for name, text in settings.items()}
    about = released / files.MANIFESTS / "START.json"
    new = files.manifest_of(fresh)
    there = [path for name in (*page_names(), "start", SETTINGS) for path in files.files(released / name)]
    if (lost := files.edited_by_user(released, there, files.read_manifest(about) or {}, new)) and replaced is None:
        raise files.WouldOverwrite(
            f"Somebody wrote in {files.listed(lost)} since the last release: move it elsewhere, or say "
            "`autograder release --overwrite`, which keeps a copy."
        )

    def write() -> None:
        if lost and replaced:
            files.keep_copies(released, there, replaced)
        for name, content in fresh.items():
            files.write_with_folders(released / name, content)
        for path in there:
            if path.relative_to(released).as_posix() not in fresh:
                path.unlink()
        files.write_manifest(about, new)

    return write


def contents(root: Path) -> dict[str, Path]:
    """Return the path of each file, by its name in the zip. Raise NotReady if one is missing or contains an answer."""
    released = root / "course"
    wanted = [*page_names(), "start", SETTINGS, *notebooks()]
    found = {name: root / name for name in ENVIRONMENT}
    found |= {path.relative_to(released).as_posix(): path for name in wanted for path in files.files(released / name)}
    if lacking := [name for name in ENVIRONMENT if not found[name].is_file()]:
        raise NotReady(
            f"{files.listed(lacking)} is not in {root}: copy it from a folder that `autograder init` made, or a clone."
        )
    missing = [name for name in wanted if not any(f"{key}/".startswith(f"{name}/") for key in found)]
    if missing:
        raise NotReady(f"{', '.join(missing)} is not in {released}: run `autograder release` first.")
    if wrong := [f"{name}: {why}" for name, path in found.items() for why in leaks(path)]:
        raise NotReady("This is not for students, so nothing was written:\n  " + "\n  ".join(wrong))
    return {f"{FOLDER}/{name}": path for name, path in found.items()}


def write_zip(root: Path, target: Path) -> int:
    """Write the zip; return the number of its files. Raise NotReady if `target` is there and no zip of this course."""
    if target.exists() and not _is_ours(target):
        raise NotReady(
            f"{target} is no zip of this course, so it was not overwritten: name another file, or remove it."
        )
    found = contents(root)
    files.replace_atomically(target, lambda temporary: pack(temporary, found))
    return len(found)


def pack(target: Path, found: dict[str, Path]) -> None:
    with zipfile.ZipFile(target, "w") as archive:
        for name, path in found.items():
            about = zipfile.ZipInfo(name, WHEN)
            about.compress_type, about.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(about, path.read_bytes())


def _is_ours(path: Path) -> bool:
    """Return True if `write_zip` wrote the file: a zip with the start page and no time but WHEN."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return f"{FOLDER}/{START}" in archive.namelist() and all(one.date_time == WHEN for one in archive.infolist())


def leaks(path: Path) -> Iterator[str]:
    """Yield a sentence for each thing in a file that students must not see."""
    if path.suffix != ".ipynb":
        return
    text = path.read_text("utf-8")
    yield from (f"“{words}” is in it." for words in LEAKS if words in text)
    for cell in json.loads(text)["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        if cell.get("outputs"):
            yield f"The cell {name or cell.get('id')} has outputs: it has been run."
        if cell["metadata"].get("nbgrader", {}).get("solution") and cell["cell_type"] == "code":
            source = "".join(cell["source"])
            if "# YOUR CODE HERE" not in source and not re.search(rf"^{name} = None\b", source, re.MULTILINE):
                yield f"The cell {name} holds an answer."
