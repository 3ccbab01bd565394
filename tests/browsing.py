"""A browser for tests: its fixtures, what they do in JupyterLab, and what makes a page accessible."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import ROOT, wait_for
from playwright.sync_api import Locator, Page, expect, sync_playwright

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SCREENSHOTS = ROOT / "classroom" / "screenshots"
IMPACTS = ("minor", "moderate", "serious", "critical")  # axe's
PATIENCE = 90_000  # milliseconds; the machine may be busy
expect.set_options(timeout=PATIENCE)
NEEDS_BROWSER = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on this machine: apt install chromium"),
]


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def listens(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def served(command: list[str], folder: Path, home: Path, **variables: str) -> Iterator[str]:
    """Run a JupyterLab in a folder, with a home of its own; yield its address."""
    port = free_port()
    command = [*command, "--no-browser", "--allow-root", f"--port={port}", "--IdentityProvider.token="]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"HOME": str(home), "PATH": path} | variables
    with (home / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_for(lambda: listens(port))
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture
def page(browser, request):
    """Return a page of its own, with its console's errors and what it asks for. A picture of its end is kept."""
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.errors, page.asked = [], []
    page.on("console", lambda message: page.errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("request", lambda asked: page.asked.append(asked.url))
    yield page
    kept(page, request.node.name[5:100])
    context.close()


def kept(page: Page, name: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")


def ours(errors: list[str]) -> list[str]:
    """Return the errors but those of a library that asks for what the server, without a network, does not have."""
    return [error for error in errors if "Failed to load resource" not in error]


def without_findings(page: Page, within: str | None = None, least: str = "serious", **rules: dict) -> None:
    """Fail if axe finds a fault of accessibility, at least so serious, on the page, or within parts of it."""
    options = {"preload": False, "rules": rules}  # it would fetch styles once more, and imports from a wrong place
    found = Axe().run(page, within, options=options).response["violations"]
    serious = [one for one in found if IMPACTS.index(one["impact"]) >= IMPACTS.index(least)]
    assert not [f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}" for one in serious]


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def opened(page: Page, address: str) -> None:
    page.goto(f"{address}?reset")
    expect(page.locator(".jp-NotebookPanel .jp-Cell").first).to_be_visible()


def answered(page: Page, returned: str, output: str) -> None:
    """Write an answer to shift_targets, run it and its test, and wait for what the test says."""
    wrote(page, "def shift_targets(", f"def shift_targets(ids):\n    return {returned}")
    expect(cell(page, "Test of shift_targets").locator(".jp-OutputArea")).to_contain_text(output)


def wrote(page: Page, old: str, new: str) -> None:
    """Replace the cell with these words, run it and the test below it."""
    found = in_view(page, page.locator(".jp-CodeCell", has_text=old))
    found.locator(".cm-content").first.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(new)
    press(page, "Shift+Enter", "Shift+Enter")


def run(page: Page, what: str) -> None:
    expect(page.get_by_text("| Idle")).to_be_visible()  # the kernel has started
    page.wait_for_timeout(2000)
    page.locator(".lm-MenuBar-itemLabel", has_text="Run").first.click()
    page.locator(".lm-Menu-itemLabel", has_text=what).first.click()
    idle = 0  # tenths of a second; between two cells the kernel is idle, too
    for _ in range(PATIENCE // 100):
        page.wait_for_timeout(100)
        idle = idle + 1 if page.get_by_text("| Idle").count() else 0
        if idle > 40:
            break


def cell(page: Page, title: str):
    """Return a folded cell, by what its one visible line says."""
    return in_view(page, page.locator(".jp-CodeCell", has=page.locator(".jp-InputPlaceholder", has_text=title)))


def in_view(page: Page, found: Locator) -> Locator:
    """Scroll from the top until the cell is there; JupyterLab draws only cells that are near."""
    panel = page.locator(".jp-WindowedPanel-outer").first
    panel.evaluate("panel => panel.scrollTo(0, 0)")
    page.wait_for_timeout(200)
    for _ in range(300):
        if found.count():
            break
        panel.evaluate("panel => panel.scrollBy(0, 600)")
        page.wait_for_timeout(200)
    found.first.scroll_into_view_if_needed()
    return found.first
