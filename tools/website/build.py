"""Builds the website from the released notebooks: python -m tools.website.build [--repository owner/name]

`make site` creates its environment (requirements.txt in this folder). Its result is complete: `website/build/html`.
"""

import argparse
import re
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx

from autograder.files import WouldOverwrite, refuse_foreign
from autograder.handout import NotReady

from . import colab_binder, guides, sources

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SIDEBAR = '<div id="pst-primary-sidebar"'  # as the theme writes it
LANDMARK = f'{SIDEBAR} role="complementary" aria-label="Search and contents"'
EMPTY_HEADING = re.compile(r"<th(?: [^>]*)?>(?:<p></p>)?</th>")
MARK = ".made-by-website-build"  # a folder that contains this file may be cleared


def build(goal: Path, address: colab_binder.Address | None) -> Path:
    """Build into the folder `goal` and return the folder with the pages. Raise WouldOverwrite or NotReady."""
    refuse_foreign(goal, [MARK], "website that this built")
    written, pages, doctrees = (goal / name for name in ("sources", "html", "doctrees"))
    for folder in (written, pages, doctrees):
        shutil.rmtree(folder, ignore_errors=True)
    written.mkdir(parents=True)
    (goal / MARK).touch()
    sources.write(ROOT, written, address)
    # -W: a warning is an error; --keep-going: all of them are printed.
    options = ["-q", "-W", "--keep-going", "-b", "html", "-c", str(HERE), "-d", str(doctrees)]
    if sphinx([*options, str(written), str(pages)]):
        raise NotReady("Sphinx found something wrong: see above.")
    for page in pages.glob("*.html"):
        page.write_text(readable_by_ear(page.read_text("utf-8")), "utf-8")
    (pages / ".buildinfo").unlink(missing_ok=True)
    (pages / ".nojekyll").touch()  # otherwise GitHub Pages skips folders such as _static
    shutil.rmtree(pages / "_sources", ignore_errors=True)  # empty, because of conf.py
    shutil.copytree(ROOT / "course" / "start", pages / "_static" / "start")
    shutil.copytree(ROOT / guides.PICTURES, pages / "_static" / "pictures")
    sources.write_downloads(ROOT, pages / "download")
    if address:
        colab_binder.write(ROOT, pages, address)
    return pages


def readable_by_ear(text: str) -> str:
    """Return a page whose sidebar is a landmark, and whose tables have no empty cell as a heading."""
    return EMPTY_HEADING.sub("<td></td>", text.replace(SIDEBAR, LANDMARK))


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the website of the course from the released notebooks.")
    parser.add_argument("--repository", help="owner/name on GitHub, if pages are to link to Colab and Binder")
    parser.add_argument("--goal", type=Path, default=ROOT / "website" / "build", help="the folder to write into")
    given = parser.parse_args()
    try:
        address = colab_binder.Address(given.repository) if given.repository else None
        pages = build(given.goal, address)
    except (NotReady, WouldOverwrite, ValueError) as reason:
        sys.exit(str(reason))
    print(f"Open {pages / 'index.html'}")


if __name__ == "__main__":
    main()
