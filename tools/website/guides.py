"""Writes the guides as pages of the website, with links that lead to its pages or to the repository."""

import posixpath
import re
from html import escape
from pathlib import Path

from autograder.spec.course import notebooks

from . import colab_binder

PICTURES = "docs/pictures"
FIRST = ("docs/learning-alone.md", "docs/students.md", "docs/instructors.md")  # the others follow by name
LIST = "docs/README.md"  # a list of the guides, for the repository: the website's menu is one
BESIDE = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)")
PICTURE = re.compile(rf"^!\[(.+)\]\({PICTURES}/(.+)\)$", re.MULTILINE)


def pages(root: Path) -> dict[str, str]:
    """Return the name of each guide's page, by the guide's path in the repository, in the order of the menu."""
    found = [path.relative_to(root).as_posix() for path in sorted((root / "docs").rglob("*.md"))]
    ordered = [path for path in dict.fromkeys([*FIRST, *found, *BESIDE]) if path != LIST]
    named = {path: Path(path).parent if Path(path).stem == "README" else Path(path) for path in ordered}
    return {path: place.stem.lower() for path, place in named.items()}


def write(root: Path, target: Path, address: colab_binder.Address | None) -> None:
    """Write the guides' sources into the folder `target`."""
    for path, page in pages(root).items():
        text = (root / path).read_text("utf-8")
        (target / f"{page}.md").write_text(relinked(text, root, posixpath.dirname(path), address), "utf-8")


def relinked(text: str, root: Path, folder: str, address: colab_binder.Address | None) -> str:
    """Return Markdown of a file in `folder` of the repository, with links to pages instead of files."""
    known = pages(root) | {"README.md": "index", "course/START.md": "index"}

    def target(found: re.Match[str]) -> str:
        words, path, anchor = found[1], found[2], found[3] or ""
        if not path:
            return found[0]
        path = posixpath.normpath(posixpath.join(folder, path))
        if path in known:
            return f"[{words}]({known[path]}.md{anchor})"
        if path.endswith(".ipynb") and Path(path).stem in notebooks():
            return f"[{words}]({Path(path).name})"
        return f"[{words}]({address.file(path)})" if address else words

    return LINK.sub(target, text)


def pictures(root: Path) -> str:
    """Return the README's pictures as HTML."""
    found = PICTURE.findall((root / "README.md").read_text("utf-8"))
    shown = (f'<img src="_static/pictures/{name}" alt="{escape(alt)}">' for alt, name in found)
    return f'<p class="pictures">{" ".join(shown)}</p>'
