"""Makes the README's pictures from the product itself, into docs/pictures: python -m tools.pictures

It opens `autograder learn` in JupyterLab with a wrong answer, and the feedback page of a submission with mistakes, in
Chromium (`apt install chromium`). Look at the pictures before committing them.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.sample_class import filled_in
from autograder.spec.course import exercises, questions

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
NOTEBOOK = "05-attention"
SOFTMAX = """def softmax(scores, dim=-1):
    exps = torch.exp(scores - scores.max())
    return exps / exps.sum(dim=dim, keepdim=True)"""
MISTAKE = "maximum of the whole tensor"  # what feedback says of this softmax
IMPORT = re.compile(r"^(?:from|import) ", re.MULTILINE)
PATIENCE = 120_000  # milliseconds
COLOURS = 64  # of a picture: enough for text


def main() -> None:
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser_path is None:
        sys.exit("There is no Chromium on this machine: apt install chromium")
    expect.set_options(timeout=PATIENCE)
    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as place:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        picture_of_notebook(browser, Path(place) / "learn")
        picture_of_feedback(browser, Path(place) / "classroom")
        browser.close()


def picture_of_notebook(browser: Browser, place: Path) -> None:
    """Show a learner's notebook in which a mistake is named below the answer."""
    with learning(place) as address:
        path = place / NOTEBOOK / f"{NOTEBOOK}.ipynb"
        notebook = filled_in(nbformat.read(path, as_version=4), {"softmax": SOFTMAX})
        at = [grade_id(cell) for cell in notebook.cells].index("softmax")
        # Of the cells above the exercise only those that import are kept, so that no others are run.
        importing = [cell for cell in notebook.cells[:at] if cell.cell_type == "code" and IMPORT.search(cell.source)]
        notebook.cells = [*importing, *notebook.cells[at : at + 2]]
        nbformat.write(notebook, path)
        page = opened(browser, 1000, 620)
        page.goto(f"{address}/lab/tree/{NOTEBOOK}/{NOTEBOOK}.ipynb?reset")
        expect(page.get_by_text("| Idle")).to_be_visible()
        page.wait_for_timeout(2000)
        page.keyboard.press("Control+b")  # closes the side bar
        page.locator(".lm-MenuBar-itemLabel", has_text="Run").first.click()
        page.locator(".lm-Menu-itemLabel", has_text="Run All Cells").first.click()
        output = page.locator(".jp-CodeCell", has_text="Test of softmax").locator(".jp-OutputArea-output").last
        expect(output).to_contain_text(MISTAKE)
        page.locator(".jp-CodeCell", has_text="def softmax").first.evaluate("cell => cell.scrollIntoView()")
        page.wait_for_timeout(1000)
        keep(page, "notebook")


@contextlib.contextmanager
def learning(place: Path) -> Iterator[str]:
    """Run `autograder learn`; yield JupyterLab's address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--no-browser", "--allow-root", f"--port={port}", "--IdentityProvider.token="]
    command = [sys.executable, "-m", "autograder.cli", "learn", "--folder", str(place), *options]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{address}/api").close()
                break
            time.sleep(0.2)
        yield address
    finally:
        server.terminate()
        server.wait(30)


def picture_of_feedback(browser: Browser, classroom: Path) -> None:
    """Show the feedback page of a submission with a mistake and a wrong letter."""
    answers = {one.name: one.source for one in exercises(NOTEBOOK)}
    answers |= {one.name: f'{one.name} = "{one.key}"' for one in questions(NOTEBOOK)}
    first = questions(NOTEBOOK)[0]
    answers[first.name] = f'{first.name} = "{min(set(first.explanations) - {first.key})}"'
    answers["softmax"] = SOFTMAX
    released = nbformat.read(ROOT / "course" / NOTEBOOK / f"{NOTEBOOK}.ipynb", as_version=4)
    submitted = classroom / "submitted" / "amina" / NOTEBOOK
    submitted.mkdir(parents=True)
    nbformat.write(filled_in(released, answers), submitted / f"{NOTEBOOK}.ipynb")
    command = [sys.executable, "-m", "autograder.cli", "grade", NOTEBOOK]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"COURSE_CLASSROOM": str(classroom)}, check=True)
    page = opened(browser, 1000, 620)
    page.goto((classroom / "feedback" / "amina" / NOTEBOOK / f"{NOTEBOOK}.html").as_uri())
    expect(page.locator("body")).to_contain_text(MISTAKE)
    keep(page, "feedback")


def opened(browser: Browser, width: int, height: int) -> Page:
    page = browser.new_context(viewport={"width": width, "height": height}).new_page()
    page.set_default_timeout(PATIENCE)
    return page


def keep(page: Page, name: str) -> None:
    """Write what the page shows as a small PNG."""
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(PICTURES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
