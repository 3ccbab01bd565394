"""`nbgrader generate_assignment` without losing anyone's edits: `.released/ASSIGNMENT.json` lists the last release."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import find_all_files
from traitlets import Bool, Unicode

from ... import files
from ..gradebook.locking import make_ready


class WouldOverwrite(NbGraderException, files.WouldOverwrite):
    """Raised when the release would overwrite files that somebody changed or added."""


class ReleaseExporter(NotebookExporter):
    """Export a release. nbgrader creates this exporter before it empties the released folder, so it can refuse to."""

    parent: Any  # the nbgrader command that reads with this exporter

    overwrite = Bool(False, help="Overwrite what somebody wrote in the release, and keep a copy of it").tag(config=True)
    replaced = Unicode("replaced", help="The folder for these copies").tag(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)  # type: ignore[no-untyped-call]
        self._manifests: dict[str, dict[str, list[str]]] = {}
        if self.parent is not None:
            self._refuse_overwrite()
            if not self.parent.no_database:
                make_ready(self.parent.coursedir.db_url, self.parent.coursedir.course_id)

    def _refuse_overwrite(self) -> None:
        """Raise WouldOverwrite if somebody changed a folder to be released; with `overwrite`, keep a copy instead."""
        names = sorted(Path(folder).name for folder in self.parent.assignments)
        found = {name: paths for name in names if (paths := would_overwrite(self.parent, name))}
        if found and not self.overwrite:
            edits = files.listed([path for paths in found.values() for path in paths])
            sentence = (
                f"Somebody wrote in {edits} since the last release, so nothing was released: move it elsewhere, or say "
                f"`autograder release {' '.join(found)} --overwrite`, which puts a copy into {self.replaced} first."
            )
            self.log.error(sentence)
            raise WouldOverwrite(sentence)
        for name in found:
            place = destination(self.parent, name)
            copy = files.keep_copies(place, files.files(place), Path(self.replaced))
            self.log.warning("What somebody wrote in %s is kept in %s", place, copy)

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


def manifest_of(converter: GenerateAssignment, name: str) -> Path:
    return destination(converter, name).parent / files.MANIFESTS / f"{name}.json"


def manifest_of_other_files(converter: GenerateAssignment, name: str) -> dict[str, list[str]]:
    """Return the manifest of the files that nbgrader copies into a release unchanged."""
    source = Path(os.path.normpath(converter._format_source(name, ".")))
    return files.manifest(source, map(Path, find_all_files(str(source), [*converter.coursedir.ignore, "*.ipynb"])))


def would_overwrite(converter: GenerateAssignment, name: str) -> list[str]:
    """Return the paths in the released folder that neither the last release nor the new one wrote."""
    place = destination(converter, name)
    if not (there := list(files.files(place))):
        return []
    if (known := files.read_manifest(manifest_of(converter, name))) is None:  # released before there were manifests
        with _into_temporary_folder(converter.coursedir, converter.parent, name) as again:
            again.no_database = True
            again.preprocessors = [one for one in again.preprocessors if "SaveCells" not in str(one)]
            again.start()
            known = files.read_manifest(manifest_of(again, name)) or {}
    return files.edited_by_user(place, there, known, manifest_of_other_files(converter, name))


def register_assignment(settings: CourseDirectory, parent: Any, name: str) -> None:
    """Add an assignment to the gradebook as `generate_assignment` does; release it only if it never was."""
    if not Path(settings.format_path(settings.release_directory, ".", name)).exists():
        own = changed_settings(settings, assignment_id=name, notebook_id="*")
        GenerateAssignment(coursedir=own, parent=parent).start()
        return
    with _into_temporary_folder(settings, parent, name) as converter:
        converter.start()


@contextlib.contextmanager
def _into_temporary_folder(settings: CourseDirectory, parent: Any, name: str) -> Iterator[GenerateAssignment]:
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        own = changed_settings(settings, assignment_id=name, notebook_id="*", release_directory=folder)
        yield GenerateAssignment(coursedir=own, parent=parent, force=True)


def changed_settings(settings: CourseDirectory, **changes: str) -> CourseDirectory:
    return CourseDirectory(parent=settings.parent, **(settings.trait_values(config=True) | changes))
