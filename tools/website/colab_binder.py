"""Writes the files with which Colab and Binder open the notebooks, into the branch that publishes the built site.

`course/` holds the students' files, and `.binder/` tells Binder the versions. Colab opens a notebook alone, so `colab/`
holds each notebook with a first cell that fetches the files of its folder.
"""

import hashlib
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder import handout
from autograder.files import files
from autograder.spec.course import notebooks

# Colab has its own versions of these; changing them would need a restart of the kernel.
COLABS = {"torch", "numpy", "matplotlib", "tqdm", "ipywidgets"}
FETCH = '''# @title On Colab, run this cell first: it fetches what lies beside this notebook
# In a function: this cell must define nothing that an answer could lean on.
def fetch_what_lies_beside(source, files, packages):
    """Fetch from `source` the files named with their SHA-256 that are not here, and install packages that are not."""
    import hashlib
    import subprocess
    import sys
    import urllib.parse
    import urllib.request
    from importlib import metadata
    from pathlib import Path

    def right(path, digest):
        return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == digest

    for name, digest in files.items():
        path = Path(name)
        if not right(path, digest):
            path.parent.mkdir(parents=True, exist_ok=True)
            with urllib.request.urlopen(source + urllib.parse.quote(name), timeout=60) as answer:
                path.write_bytes(answer.read())
        if not right(path, digest):
            raise RuntimeError(f"{name} is not the file that this notebook was made with: open the notebook anew.")

    def here(name):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return ""

    wanted = [f"{name}=={version}" for name, (version, exact) in packages.items()
              if not here(name) or exact and here(name) != version]
    if wanted:
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", *wanted], check=True)
    print(f"{len(files)} files are here. Versions, and in brackets those that the course was tried with:")
    print(", ".join(f"{name} {here(name)} ({version})" for name, (version, _) in packages.items()))


fetch_what_lies_beside(
    {source!r},
    {files},
    {packages},
)
'''


@dataclass(frozen=True)
class Address:
    """The GitHub repository (owner/name) on whose branch gh-pages the built site is published."""

    repository: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", self.repository):
            raise ValueError(f"{self.repository!r} is no repository: write owner/name, as in its address on GitHub.")

    def colab(self, name: str) -> str:
        return f"https://colab.research.google.com/github/{self.repository}/blob/gh-pages/colab/{name}.ipynb"

    def binder(self, name: str) -> str:
        path = quote(f"course/{name}/{name}.ipynb", safe="")
        return f"https://mybinder.org/v2/gh/{self.repository}/gh-pages?labpath={path}"

    @property
    def repository_url(self) -> str:
        return f"https://github.com/{self.repository}"

    def file(self, path: str) -> str:
        """Return the URL of a file in the repository's default branch."""
        return f"{self.repository_url}/blob/HEAD/{path}"

    def raw(self, name: str) -> str:
        """Return the URL of the folder with the other files of a notebook."""
        return f"https://raw.githubusercontent.com/{self.repository}/gh-pages/course/{name}/"


def write(root: Path, site: Path, address: Address) -> None:
    """Write the files for Colab and Binder next to the built pages. Raise NotReady if one contains an answer."""
    for key, path in handout.contents(root).items():
        target = site / key
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    (site / ".binder").mkdir()
    shutil.copyfile(root / "environment.yml", site / ".binder" / "environment.yml")
    (site / ".binder" / "start").write_text(START, "utf-8")
    (site / ".binder" / "start").chmod(0o755)
    (site / "colab").mkdir()
    versions = pins(root)
    for name in notebooks():
        nbformat.write(for_colab(root / "course" / name, address.raw(name), versions), site / "colab" / f"{name}.ipynb")


# Binder runs this script in the repository's folder, so that Jupyter finds the course's settings and its extension.
START = """#!/bin/bash
export JUPYTER_CONFIG_PATH="$PWD/course/.jupyter"
export JUPYTER_PATH="$PWD/course/.jupyter${JUPYTER_PATH:+:$JUPYTER_PATH}"
exec "$@"
"""


def pins(root: Path) -> dict[str, str]:
    """Return the locked versions of the packages that students install."""
    wanted = set(re.findall(r"^([\w-]+)$", (root / "requirements.txt").read_text("utf-8"), re.MULTILINE))
    locked = dict(re.findall(r"^([\w.-]+)==(\S+)$", (root / "constraints.txt").read_text("utf-8"), re.MULTILINE))
    return {name: locked[name] for name in sorted(wanted)}


def for_colab(folder: Path, source: str, versions: dict[str, str]) -> NotebookNode:
    """Return the notebook in `folder` with a first cell that fetches the files of its folder from `source`."""
    notebook = nbformat.read(folder / f"{folder.name}.ipynb", as_version=4)
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    imported = [name for name in versions if re.search(rf"^\s*(?:from|import) {name}\b", code, re.MULTILINE)]
    needed = {name: (versions[name], name not in COLABS) for name in imported}
    siblings = {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in files(folder) if path.suffix != ".ipynb"
    }
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in siblings.items()}
    filled = FETCH
    for field, value in (("{source!r}", repr(source)), ("{files}", _table(digests)), ("{packages}", _table(needed))):
        filled = filled.replace(field, value)
    notebook.cells.insert(1, new_code_cell(id="fetch", source=filled.rstrip(), metadata={"cellView": "form"}))
    return notebook


def _table(values: dict[str, object]) -> str:
    """Return a dictionary as Python source, with one entry per line."""
    lines = "".join(f"        {json.dumps(key)}: {value!r},\n" for key, value in values.items())
    return f"{{\n{lines}    }}"
