"""Tests in a real browser: figures, pictures that one can touch, a feedback page."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
import test_interactive_figures
import torch
from axe_playwright_python.sync_playwright import Axe
from conftest import ROOT, read, wait_for
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.sync_api import Locator, Page, expect, sync_playwright

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SCREENSHOTS = ROOT / "classroom" / "screenshots"
TYPED = """
from attention_explorer import explore
from ipywidgets import Combobox, interact

def look(sentence):
    words = sentence.split()
    explore([[1 / len(words)] * len(words)] * len(words), words)

view = interact(look, sentence=Combobox(value="one two", continuous_update=False))
"""
TOUCH = """
from interactive_figures import turn
turn({"position": [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]}, [1.5708])
"""
SAVE = """async ([path, content]) => {
    const token = (document.cookie.match(/_xsrf=([^;]+)/) || [])[1];
    const said = await fetch(`/api/contents/${path}`, {
        method: "PUT", headers: { "Content-Type": "application/json", "X-XSRFToken": token },
        body: JSON.stringify({ type: "notebook", format: "json", content }),
    });
    return said.status;
}"""
PATIENCE = 90_000  # milliseconds; the machine may be busy

expect.set_options(timeout=PATIENCE)

pytestmark = [
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


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab in a fresh copy of what students get. Its address."""
    place = tmp_path_factory.mktemp("student") / "course"
    shutil.copytree(ROOT / "course", place)
    kernel = {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}}
    small = {"05-attention/typed": TYPED, "04-positional-encoding/touch": TOUCH}
    for name, source in small.items():  # the course's own wait for an hour's work
        nbformat.write(new_notebook(cells=[new_code_cell(source)], metadata=kernel), place / f"{name}.ipynb")
    with served(["jupyter", "lab"], place, tmp_path_factory.mktemp("home"), JUPYTER_CONFIG_PATH=".jupyter") as address:
        yield address


@pytest.fixture(scope="module")
def learners(tmp_path_factory):
    """JupyterLab as `make learn` starts it, in a fresh copy of the course. Its address."""
    place = tmp_path_factory.mktemp("alone")
    command = [sys.executable, "-m", "autograder.cli", "learn", "--folder", str(place / "learn")]
    with served(command, ROOT, place) as address:
        yield address


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
    """A page of its own, with what its console calls an error, and what it asks for. A picture of its end is kept."""
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
    """Errors but those of a library that asks for what the server, without a network, does not have."""
    return [error for error in errors if "Failed to load resource" not in error]


def without_findings(page: Page, within: str | None = None, **rules: dict) -> None:
    """Fail if axe finds a serious fault of accessibility on the page, or within parts of it."""
    options = {"preload": False, "rules": rules}  # it would fetch styles once more, and imports from a wrong place
    found = Axe().run(page, within, options=options).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert not [f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}" for one in serious]


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def opened(page: Page, address: str) -> None:
    page.goto(f"{address}?reset")
    expect(page.locator(".jp-NotebookPanel .jp-Cell").first).to_be_visible()


def answered(page: Page, returned: str, said: str) -> None:
    """Write an answer to shift_targets, run it and its test, and wait for what the test says."""
    wrote(page, "def shift_targets(", f"def shift_targets(ids):\n    return {returned}")
    expect(cell(page, "Test of shift_targets").locator(".jp-OutputArea")).to_contain_text(said)


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


def test_a_notebook_opened_from_the_start_page_stays_unchanged(lab, page):
    page.goto(f"{lab}/lab?reset")
    page.locator(".jp-LauncherCard", has_text="Start page").click()
    expect(page.locator(".jp-MarkdownViewer h1")).to_be_visible()
    page.locator(".jp-MarkdownViewer a", has_text="Masking").first.click()
    expect(page.get_by_text("| Idle")).to_be_visible()
    page.wait_for_timeout(3000)  # JupyterLab notes the kernel's version in the notebook
    assert page.locator(".jp-mod-dirty").count() == 0
    assert "Validate" not in page.locator(".jp-NotebookPanel-toolbar").first.inner_text()
    in_view(page, page.locator(".jp-CodeCell", has_text="def shift_targets(")).locator(".cm-content").click()
    page.keyboard.insert_text("x")
    expect(page.locator(".jp-mod-dirty").first).to_be_visible()
    assert not ours(page.errors)


def test_a_learner_alone_reads_the_mistake_by_its_name_and_what_comes_next(learners, page):
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(learners)
    page.locator(".jp-MarkdownViewer a", has_text="Attention: every word").first.click()
    expect(page.locator(".jp-NotebookPanel h1")).to_be_visible()
    expect(page.get_by_text("| Idle")).to_be_visible()
    page.wait_for_timeout(2000)
    wrote(page, "q5_1 = None", 'q5_1 = "b"')  # no cell above it has run, as after a pause
    expect(cell(page, "Test of q5_1").locator(".jp-OutputArea")).to_contain_text("The order is no hindrance")
    shared = "    exps = torch.exp(scores - scores.max())\n    return exps / exps.sum(dim=dim, keepdim=True)"
    wrote(page, "def softmax(", f"def softmax(scores, dim=-1):\n{shared}")
    said = cell(page, "Test of softmax").locator(".jp-OutputArea")
    expect(said).to_contain_text("Choose Run → Run All Above Selected Cell")
    in_view(page, page.locator(".jp-NotebookPanel h1")).click()
    press(page, *["Shift+Enter"] * 4)
    wrote(page, "def softmax(", f"def softmax(scores, dim=-1):\n{shared}")
    expect(said).to_contain_text("One maximum is subtracted from all")
    expect(said).to_contain_text("Reread “2. A weighted sum”")
    without_findings(page, ".jp-OutputArea-output")  # the rest is JupyterLab's
    kept(page, "a_learner_alone_reads_the_mistake_by_its_name")
    page.locator(".lm-TabBar-tab", has_text="START.md").first.click()
    expect(page.locator(".jp-MarkdownViewer table").first).to_contain_text("2 of 12 answered, 3.25 of 34 points")
    without_findings(page, ".jp-MarkdownViewer")
    page.locator(".jp-MarkdownViewer a", has_text="Question 5.1 in").click()
    expect(page.locator(".jp-NotebookPanel h3", has_text="Question 5.1")).to_be_in_viewport()
    assert not ours(page.errors)


def test_figures_have_their_description_in_jupyterlab(lab, page):
    outputs = (output for cell in read("solutions", "05-attention").cells for output in cell.get("outputs", []))
    drawn = next(output for output in outputs if "image/png" in output.get("data", {}))
    words, other = drawn.metadata["image/png"]["alt"], new_output("display_data", data=drawn.data)
    notebook = new_notebook(cells=[new_code_cell("show(fig, alt)", outputs=[drawn, other])])
    page.goto(lab)
    page.locator(".jp-MarkdownViewer h1").wait_for()  # the start page comes first
    assert page.evaluate(SAVE, ["05-attention/figure.ipynb", json.loads(nbformat.writes(notebook))]) == 201
    page.goto(f"{lab}/lab/tree/05-attention/figure.ipynb?reset")
    page.locator(".jp-RenderedImage img").nth(1).wait_for()
    first, second = page.locator(".jp-RenderedImage img").all()
    assert first.get_attribute("alt") == words
    assert not second.get_attribute("alt"), "without a description there is none to give"
    assert page.get_by_role("img", name=words).count() == 1, "this is what a screen reader asks for"
    assert not ours(page.errors)


def test_a_feedback_page_is_accessible_and_needs_no_network(page, tmp_path):
    from test_feedback_pages import HANDED_OUT, MISTAKEN, marked
    from test_feedback_pages import page as page_of

    path = tmp_path / "feedback.html"
    path.write_text(page_of(marked(MISTAKEN, written="Because $\\sqrt{d_k}$."), HANDED_OUT), "utf-8")
    page.goto(path.as_uri())
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
    assert not page.errors
    assert page.locator("math").count() > 0
    page.emulate_media(color_scheme="dark")
    without_findings(page)


def explorer_page(explorer) -> None:
    """Two explorers: two layers of three heads with another kind, and a single head."""
    words, others = ["the", "dog", "drinks", "water"], ["mmiri", "na-atọ"]
    maps = torch.full((2, 3, 4, 4), 0.04)
    for head in range(3):
        maps[:, head, torch.arange(4), (torch.arange(4) - head).clamp(min=0)] = 0.88
    explorer.explore(maps, words, title="self", also={"cross": (torch.full((2, 4), 0.25), others, words)})
    explorer.explore(torch.eye(4), words)


def show(page: Page, name: str, make: Callable, path: Path) -> None:
    """Open a page with the pictures that a module beside the notebooks shows."""
    with pytest.MonkeyPatch.context() as patch:
        module, made = test_interactive_figures.module(name, patch)
        make(module)
    head = "<!doctype html><html lang=en><meta charset=utf-8><title>x</title>"
    path.write_text(f"{head}<main>{''.join(one['text/html'] for one in made)}</main>", "utf-8")
    page.goto(path.as_uri())


def test_the_explorer_answers_to_mouse_and_keyboard(page, tmp_path):
    show(page, "attention_explorer", explorer_page, tmp_path / "explorer.html")
    assert page.locator(".explorer .still").count() == 0, "the picture for where no script runs gives way"
    keys = page.locator(".explorer .keys").all_inner_texts()
    assert [("another head" in each, "another layer" in each) for each in keys] == [(True, True), (False, False)]
    first, said = page.locator(".explorer").first, page.locator(".explorer figcaption").first
    expect(said).to_contain_text("layer 1, mean of the heads: the looks at the")
    first.locator(".grid button").nth(1).click()
    expect(said).to_contain_text("layer 0, head 1: the looks at the 0.88")
    first.locator(".head").focus()
    for key, words in (
        ("ArrowDown", "layer 0, head 1: dog looks at the 0.88"),
        ("ArrowRight", "layer 0, head 2: dog looks at the 0.88"),
        ("PageDown", "layer 1, head 2: dog"),
        ("ArrowDown", "drinks looks at the 0.88"),
    ):
        page.keyboard.press(key)
        expect(said).to_contain_text(words)
    first.get_by_label("beside it").select_option(label="head 0")
    expect(said).to_contain_text("drinks looks at drinks 0.88")
    assert first.locator(".head").count() == 2
    first.locator(".map .token", has_text="water").first.hover()
    expect(said).to_contain_text("head 2: water looks at dog 0.88")
    first.get_by_label("kind").select_option(label="cross")
    expect(said).to_contain_text("cross: mmiri looks at the 0.25")
    expect(page.locator(".explorer figcaption").last).to_contain_text("the looks at the 1.00")
    without_findings(page)
    assert not page.errors


def test_the_pictures_to_touch_answer_to_mouse_and_keyboard(page, tmp_path):
    show(page, "interactive_figures", test_interactive_figures.show_all, tmp_path / "interactive_figures.html")
    assert page.locator(".interactive-figure .still").count() == 0, "the table for where no script runs gives way"
    merges, clocks, _ = page.locator(".interactive-figure").all()
    said = page.locator(".interactive-figure figcaption").all()
    merge, clock, _, key, both = page.locator(".interactive-figure").get_by_role("slider").all()
    score = f"Score, turned: {test_interactive_figures.SCORES['turned'][6, 4]:+.2f}"
    expect(said[0]).to_contain_text("No merge yet")
    for name, words in (
        ("next change", "Merge 1 joins “t” and “h”, 2 times in the text. Now “the” is th | e."),
        ("next change", "Merge 2 joins “th” and “e”, once in the text. Now “the” is the."),
        ("previous change", "Merge 1"),
    ):
        merges.get_by_role("button", name=name).click()
        expect(said[0]).to_contain_text(words)
    for picture, slider, keys, words in (
        (0, merge, "End", "Merge 2 joins “th” and “e”"),
        (1, clock, "Home", "Position 0: (0.50, 0.50), (1.00, 0.00)."),
        (2, both, "", "query at 6, key at 4: key stands 2 before query."),
        (2, both, "", score),
        (2, both, "ArrowRight ArrowRight", "query at 8, key at 6: key stands 2 before query."),
        (2, both, "", score),
        (2, both, "End", "query at 11, key at 9"),  # the first to arrive stops both
        (2, key, "End", "query at 11, key at 11: key and query stand at one place."),
    ):
        slider.focus()
        press(page, *keys.split())
        expect(said[picture]).to_contain_text(words)
    assert merges.locator("rect").count() == 1 + 3
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid", "focus can be seen"

    hand = clocks.locator(".grip").nth(1).bounding_box()
    dial = clocks.locator("svg circle").first.bounding_box()
    x, y = dial["x"] + dial["width"] / 2, dial["y"] + dial["height"] / 2
    page.mouse.move(hand["x"] + hand["width"] / 2, hand["y"] + hand["height"] / 2)
    page.mouse.down()
    page.mouse.move(x - 40, y - 40, steps=8)  # a quarter of a turn anticlockwise: π/2 words at one radian a word
    page.mouse.up()
    expect(said[1]).to_contain_text("Position 2:")

    page.emulate_media(color_scheme="dark")
    page.add_style_tag(content="body { background: #111; color: #ddd }")
    without_findings(page)
    assert [url for url in page.asked if not url.startswith("file:")] == []
    assert not page.errors


@pytest.mark.long
@pytest.mark.parametrize(
    ("notebook", "moves", "presses"),
    [
        ("05-attention/typed", ".explorer .head", {"ArrowDown": "new looks at a 0.25"}),
        (
            "04-positional-encoding/touch",
            ".interactive-figure input",
            {"Home": "Position 0:", "ArrowUp": "Position 1: (0.00, 1.00)."},
        ),
    ],
)
def test_a_figure_in_jupyterlab_handles_its_own_keys(lab, page, notebook, moves, presses):
    opened(page, f"{lab}/lab/tree/{notebook}.ipynb")
    run(page, "Run All Cells")
    for field in page.locator(".widget-interact input").all():  # as in notebook 11
        field.fill("a new sentence here")
        page.keyboard.press("Enter")
        expect(page.locator("figcaption")).to_contain_text("a looks at a 0.25, new 0.25")
    page.locator(moves).scroll_into_view_if_needed()
    page.locator(moves).focus()
    active = page.locator(".jp-Cell.jp-mod-active").first.element_handle()
    for key, said in presses.items():
        page.keyboard.press(key)
        expect(page.locator("figcaption")).to_contain_text(said)
    assert active.evaluate("cell => cell.classList.contains('jp-mod-active')"), "the key went to the notebook"
    assert not ours(page.errors)
