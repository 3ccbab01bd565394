"""Writes the guides as pages of the website, with links that lead to its pages or to the repository."""

import posixpath
import re
from html import escape
from pathlib import Path

from autograder.spec.course import notebooks

from . import colab_binder, menu

PICTURES = "docs/pictures"
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)")
PICTURE = re.compile(rf"^!\[(.+)\]\({PICTURES}/(.+)\)$", re.MULTILINE)


def write(root: Path, target: Path, address: colab_binder.Address | None) -> None:
    """Write the sources of the guides, and of the pages around the notebooks, into the folder `target`."""
    for path, page in (menu.pages(root) | menu.around_notebooks()).items():
        text = (root / path).read_text("utf-8")
        (target / f"{page}.md").write_text(relinked(text, root, posixpath.dirname(path), address), "utf-8")


def relinked(text: str, root: Path, folder: str, address: colab_binder.Address | None) -> str:
    """Return Markdown of a file in `folder` of the repository, with links to pages instead of files."""
    known = menu.pages(root) | menu.around_notebooks() | {"README.md": "index", "course/START.md": "index"}

    def target(found: re.Match[str]) -> str:
        words, path, anchor = found[1], found[2], found[3] or ""
        if not path:
            return found[0]
        path = posixpath.normpath(posixpath.join(folder, path))
        if path in known:
            return f"[{words}]({known[path]}.md{anchor.lower()})"  # as MyST names headings
        if path.endswith(".ipynb") and Path(path).stem in notebooks():
            return f"[{words}]({Path(path).name})"
        return f"[{words}]({address.file(path)})" if address else words

    return LINK.sub(target, text)


def pictures(root: Path) -> str:
    """Return the README's pictures as HTML."""
    found = PICTURE.findall((root / "README.md").read_text("utf-8"))
    shown = (f'<img src="_static/pictures/{name}" alt="{escape(alt)}">' for alt, name in found)
    return f'<p class="pictures">{" ".join(shown)}</p>'
