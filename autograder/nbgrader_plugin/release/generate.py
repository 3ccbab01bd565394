"""`nbgrader generate_assignment` without losing anyone's edits: `.released/ASSIGNMENT.json` lists the last release."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import find_all_files
from traitlets import Bool, Unicode

from ... import files
from ...spec.course import notebooks
from ..gradebook.handed_in import different_cells
from ..gradebook.locking import make_ready
from . import cell_ids


class Refused(NbGraderException):
    """Raised before a release changes anything. The message has the cause and the remedy."""


class WouldOverwrite(Refused, files.WouldOverwrite):
    """Raised when the release would overwrite files that somebody changed or added."""


class ReleaseExporter(NotebookExporter):
    """Export a release. nbgrader creates this exporter before it empties the released folder, so it can refuse to."""

    parent: Any  # the nbgrader command that reads with this exporter

    overwrite = Bool(False, help="Overwrite what somebody wrote in the release, and keep a copy of it").tag(config=True)
    replaced = Unicode("replaced", help="The folder for these copies").tag(config=True)
    new_ids = Bool(False, help="Release a notebook although most of its cells have new ids").tag(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)  # type: ignore[no-untyped-call]
        self._manifests: dict[str, dict[str, list[str]]] = {}
        if self.parent is not None:
            try:
                edited = self.refuse(self.parent, sorted(Path(folder).name for folder in self.parent.assignments))
            except Refused as reason:
                self.log.error(str(reason))
                raise
            self.keep_copies(edited)
            if not self.parent.no_database:
                make_ready(self.parent.coursedir.db_url, self.parent.coursedir.course_id)

    def refuse(self, converter: GenerateAssignment, names: Sequence[str]) -> list[Path]:
        """Raise Refused if releasing these assignments would lose edits or ids. Return the edited folders to copy."""
        edits = {name: paths for name in names if (paths := would_overwrite(converter, name))}
        if edits and not self.overwrite:
            listed = files.listed([path for paths in edits.values() for path in paths])
            raise WouldOverwrite(
                f"Somebody wrote in {listed} since the last release, so nothing was released: move it elsewhere, or "
                f"say `autograder release {' '.join(edits)} --overwrite`, which puts a copy into {self.replaced} first."
            )
        if not self.new_ids:
            refuse_new_ids(converter, names)
        return [destination(converter, name) for name in edits]

    def keep_copies(self, edited: list[Path]) -> None:
        """Copy released folders that somebody edited to the folder `replaced`."""
        for folder in edited:
            copy = files.keep_copies(folder, files.files(folder), Path(self.replaced))
            self.log.warning("What somebody wrote in %s is kept in %s", folder, copy)

    def from_filename(self, filename: str, resources: Any = None, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Export a notebook, and enter in the manifest the files that nbgrader is about to write."""
        output, resources = super().from_filename(filename, resources, **kwargs)
        name = resources["nbgrader"]["assignment"]
        path = manifest_of(self.parent, name)
        if name not in self._manifests:
            whole = self.parent.coursedir.notebook_id == "*"
            before = {} if whole else files.read_manifest(path) or {}
            self._manifests[name] = before | manifest_of_other_files(self.parent, name)
        hashes = files.hashes(output.encode(), notebook=True)
        self._manifests[name][Path(filename).name] = [value for _, value in hashes]
        files.write_manifest(path, self._manifests[name])
        return output, resources


def destination(converter: GenerateAssignment, name: str) -> Path:
    return Path(os.path.normpath(converter._format_dest(name, ".")))


def source_of(converter: GenerateAssignment, name: str) -> Path:
    return Path(os.path.normpath(converter._format_source(name, ".")))


def manifest_of(converter: GenerateAssignment, name: str) -> Path:
    return destination(converter, name).parent / files.MANIFESTS / f"{name}.json"


def manifest_of_other_files(converter: GenerateAssignment, name: str) -> dict[str, list[str]]:
    """Return the manifest of the files that nbgrader copies into a release unchanged."""
    source = source_of(converter, name)
    return files.manifest(source, map(Path, find_all_files(str(source), [*converter.coursedir.ignore, "*.ipynb"])))


def would_overwrite(converter: GenerateAssignment, name: str) -> list[str]:
    """Return the paths in the released folder that neither the last release nor the new one wrote."""
    folder = destination(converter, name)
    if not (present := list(files.files(folder))):
        return []
    if (known := files.read_manifest(manifest_of(converter, name))) is None:  # released before there were manifests
        with _into_temporary_folder(converter.coursedir, converter.parent, name) as again:
            without_gradebook(again).start()
            known = files.read_manifest(manifest_of(again, name)) or {}
    return files.edited_by_user(folder, present, known, manifest_of_other_files(converter, name))


def refuse_new_ids(converter: GenerateAssignment, names: Sequence[str]) -> None:
    """Raise Refused if most cells of one of the course's notebooks have other ids than in its release."""
    found = {}
    for name in (name for name in names if name in notebooks()):
        source, file = source_of(converter, name), f"{name}.ipynb"
        changed, count = cell_ids.changed(source / file, destination(converter, name) / file)
        if changed > count / 2:
            found[f"{source.parent.name}/{name}"] = f"{changed} of the {count} cells of {file}"
    if found:
        raise Refused(
            f"The ids of {files.listed([*found.values()])} differ from the last release although the cells are the "
            "same, as a tool such as nbstripout leaves them, so nothing was released: figures and links go by ids. "
            f"Restore them with `git checkout HEAD {' '.join(found)}` (and keep them with `nbstripout --keep-id`), "
            "or say `autograder release --new-ids`."
        )


def refuse_changed_cells(converter: GenerateAssignment, name: str) -> None:
    """Raise Refused if a generated assignment has other graded or locked cells than when it was handed in."""
    course, notebooks = converter.coursedir, destination(converter, name).glob("*.ipynb")
    if different := different_cells(course.db_url, course.course_id, name, notebooks):
        raise Refused(
            f"{name} is handed in, and the gradebook then takes no other graded or locked cells, so nothing was "
            f"released: {files.listed(different)} came or went. Undo that, or release it under another name."
        )


def publish(names: Sequence[str], generated: GenerateAssignment, released: GenerateAssignment) -> None:
    """Replace the released assignments by the generated ones. If copying fails, all released ones stay."""
    fresh = {name: (target := destination(released, name)).with_name(f".{target.name}.new") for name in names}
    try:
        for name, copy in fresh.items():
            shutil.rmtree(copy, ignore_errors=True)  # left by a killed process
            shutil.copytree(destination(generated, name), copy)
        for name, copy in fresh.items():
            shutil.rmtree(target := destination(released, name), ignore_errors=True)
            # Between the two, so that a kill never leaves a folder with the manifest of another release
            files.write_manifest(manifest_of(released, name), files.read_manifest(manifest_of(generated, name)) or {})
            copy.rename(target)
            released.set_permissions(name, ".")
    finally:
        for copy in fresh.values():
            shutil.rmtree(copy, ignore_errors=True)


def without_gradebook(converter: GenerateAssignment) -> GenerateAssignment:
    """Have a converter generate an assignment and leave the gradebook alone. Return it."""
    converter.no_database = True
    converter.preprocessors = [one for one in converter.preprocessors if "SaveCells" not in str(one)]
    return converter


def register_assignment(settings: CourseDirectory, parent: Any, name: str) -> None:
    """Add an assignment to the gradebook as `generate_assignment` does; release it only if it never was."""
    if not Path(settings.format_path(settings.release_directory, ".", name)).exists():
        own = changed_settings(settings, assignment_id=name, notebook_id="*")
        GenerateAssignment(coursedir=own, parent=parent).start()
    else:
        enter_in_gradebook(settings, parent, name)


def enter_in_gradebook(settings: CourseDirectory, parent: Any, name: str) -> None:
    """Add an assignment to the gradebook, or bring its cells there up to date, and release nothing."""
    with _into_temporary_folder(settings, parent, name) as converter:
        converter.start()


@contextlib.contextmanager
def _into_temporary_folder(settings: CourseDirectory, parent: Any, name: str) -> Iterator[GenerateAssignment]:
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        own = changed_settings(settings, assignment_id=name, notebook_id="*", release_directory=folder)
        yield GenerateAssignment(coursedir=own, parent=parent, force=True)


def changed_settings(settings: CourseDirectory, **changes: str) -> CourseDirectory:
    return CourseDirectory(parent=settings.parent, **(settings.trait_values(config=True) | changes))
