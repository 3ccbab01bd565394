"""Unpack a learning-management system's downloads and the archives in them; overwrite nothing, stay in the folder."""

import logging
import math
import os
import re
import shutil
import stat
import tarfile
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePath
from typing import IO

from nbgrader.plugins import ExtractorPlugin
from traitlets import Integer

from ...files import only_for_owner, private
from .student_folder import shown

ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar")
UNPACKED = " unpacked"  # suffix of a folder with the files of a student's archive
MAX_NAME = 200  # bytes of a file's name; file systems take 255
NUMBER = re.compile(r"_[0-9]+(?=_)")  # in a name: may be the learning-management system's number of a student
Opener = Callable[[], IO[bytes] | None]
JUNK = re.compile(r"(^|/)(__MACOSX/|\.DS_Store$|Thumbs\.db$|desktop\.ini$|\.ipynb_checkpoints/|\._)")


class CarefulExtractor(ExtractorPlugin):
    """Extractor plug-in of `nbgrader zip_collect`: unpack downloads, and the students' archives in them."""

    max_files = Integer(500, help="So many files are taken from a student's archive").tag(config=True)
    max_bytes = Integer(2**30, help="So many bytes are taken from a student's archive").tag(config=True)

    def extract(self, archive_path: str, extracted_path: str) -> None:
        course = getattr(self.parent, "coursedir", None)
        group = course is not None and course.groupshared
        private(Path(extracted_path), group)
        with only_for_owner(group):
            self._extract(Path(archive_path), Path(extracted_path))

    def _extract(self, source: Path, target: Path) -> None:
        found = sorted(path for path in source.rglob("*") if path.is_file() and not path.is_symlink())
        if not found:
            self.log.warning("There are no files in %s", source)
        for path in found:
            folder = target / path.parent.relative_to(source)
            folder.mkdir(parents=True, exist_ok=True)
            if not is_archive(path):
                shutil.copyfile(path, _free(folder / path.name))
                continue
            own = folder / (re.sub(r"(\.zip|\.tar\.gz|\.tgz|\.tar)$", "", path.name, flags=re.IGNORECASE) or path.name)
            own.mkdir(exist_ok=True)
            for archive in filter(is_archive, self._unpack(path, own, logging.ERROR)[0]):
                into = _free(archive.with_name(archive.name + UNPACKED))
                if self._unpack(archive, into, logging.WARNING, self.max_files, self.max_bytes)[1]:
                    archive.unlink()  # else it stays: it is the student's submission

    def _unpack(
        self, archive: Path, folder: Path, level: int, max_files: float = math.inf, max_bytes: float = math.inf
    ) -> tuple[list[Path], bool]:
        """Return the paths written, and True if those are all. Log at this level if the archive cannot be read."""
        refused: dict[str, list[str]] = defaultdict(list)
        written: list[Path] = []
        left = max_bytes
        try:
            for name, reason, opened in members(archive):
                if JUNK.search(name):
                    continue
                if reason is None and len(written) >= max_files:
                    reason = f"more than {max_files} files"
                if reason is None:
                    try:
                        written.append(_write(folder, name, opened, left))
                        left -= written[-1].stat().st_size
                        continue
                    except Exception as problem:
                        reason = _reason(problem)
                refused[reason].append(name)
        except Exception as problem:  # readers may raise anything on broken archives, such as zlib.error
            self.log.log(level, "%s cannot be unpacked: %s", archive, _reason(problem))
            return [], False
        for reason, names in refused.items():
            named = ", ".join(f"“{shown(name, 1000)}”" for name in names[:5]) + (", …" if len(names) > 5 else "")
            self.log.warning("%s: files were not unpacked (%d; %s): %s", archive, len(names), reason, named)
        return written, bool(written) and not refused


def is_archive(path: Path) -> bool:
    return path.name.lower().endswith(ARCHIVES)


def _reason(problem: BaseException) -> str:
    message = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem).strip()
    return f"{type(problem).__name__}: {message}"[:120]


def members(archive: Path) -> Iterator[tuple[str, str | None, Opener]]:
    """Yield each file's name, the reason if it must not be written, and a function that opens it when it is read."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                if not info.is_dir():
                    refusal = "a link" if stat.S_ISLNK(info.external_attr >> 16) else _leads_out(info.filename)
                    yield info.filename, refusal, partial(packed.open, info)
        return
    with tarfile.open(archive) as tar:
        for entry in tar:
            if not entry.isdir():
                kind = None if entry.isfile() else "a link" if entry.issym() or entry.islnk() else "not a file"
                yield entry.name, kind or _leads_out(entry.name), partial(tar.extractfile, entry)


def _leads_out(name: str) -> str | None:
    path = name.replace("\\", "/")  # some Windows programs separate folders with \
    leads_out = path.startswith("/") or ".." in path.split("/") or re.match(r"[A-Za-z]:", path)
    return "a name that leads out of the folder" if leads_out else None


def _write(folder: Path, name: str, opened: Opener, max_bytes: float) -> Path:
    """Write a file below the folder under a free name; return the path. Raise ValueError if it is too large."""
    path = folder.joinpath(*(part for part in name.replace("\\", "/").split("/") if part not in ("", ".")))
    path.parent.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\.ipynb(\.txt|\.json)?$", ".ipynb", path.name, flags=re.IGNORECASE)  # browsers append these
    if len(name.encode()) > MAX_NAME:  # keep the start, which names the student, and the ending
        kept = name.encode()[:MAX_NAME].decode(errors="ignore")
        if len(NUMBER.findall(kept)) < len(NUMBER.findall(name)):  # and one of them may be its owner's
            raise ValueError(f"more than {MAX_NAME} bytes of a name, and numbers among the last")
        name = kept + Path(name).suffix[:20]
    path = _free(path.with_name(name))
    if (source := opened()) is None:
        raise ValueError("it cannot be read")
    try:
        with source, path.open("xb") as file:
            while block := source.read(2**20):  # count real bytes: the archive's own size may be false
                if file.tell() + len(block) > max_bytes:
                    raise ValueError("too large")
                file.write(block)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def _free(path: Path) -> Path:
    """Return the path, or if it is taken, the path with a number: a second file must not overwrite the first."""
    return path.with_name(free_name(path.name, lambda name: os.path.lexists(path.with_name(name))))


def free_name(name: str, is_taken: Callable[[str], bool]) -> str:
    """Return the name, or if it is taken, the name with the first number that makes it a free one."""
    path, number = PurePath(name), 1
    while is_taken(name):
        number += 1
        name = f"{path.stem} ({number}){path.suffix}"
    return name
