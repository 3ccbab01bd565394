"""Tests of the website: no marking code, nothing from other hosts, and all that is promised."""

# ruff: noqa: F811
import base64
import contextlib
import functools
import hashlib
import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
import zipfile
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import filelock
import nbformat
import pytest
from browsing import NEEDS_BROWSER, browser, page, without_findings  # noqa: F401 (fixtures among them)
from bs4 import BeautifulSoup
from conftest import NOTEBOOKS, ROOT, read

from autograder.files import LEFT
from autograder.handout import FOLDER
from autograder.nbgrader_plugin.release import student_version
from autograder.spec.course import in_notebook, questions

sys.path.insert(0, str(ROOT))  # the website is no part of the package
from tools.website import colab_binder, guides, menu, sources

ENVIRONMENT = ".venv-site"
PYTHON = ROOT / ENVIRONMENT / "bin" / "python"
WEBSITE = "tools/website/"
ADDRESS = colab_binder.Address("somebody/course")
GUIDES = [*menu.pages(ROOT).values()]
FORMULA = re.compile(r"\$[^$\d\s][^$\n]*\$")
WITHHELD = re.compile(r"### BEGIN (?:SOLUTION|HIDDEN TESTS)\n(.*?)### END (?:SOLUTION|HIDDEN TESTS)", re.DOTALL)


# --- what must not be there -------------------------------------------------------------------------------------------


def squeezed(text: str) -> str:
    return " ".join(text.split())


@functools.cache
def secrets() -> tuple[str, ...]:
    """Return lines of solutions, model answers and hidden tests that no student reads; keys; explanations."""
    cells = [cell.source for name in NOTEBOOKS for cell in read("course", name).cells]
    beside = [path.read_text("utf-8") for path in ROOT.glob("course/*/*.py")]
    rendered = [re.sub(r"</?code>", "", cell) for cell in cells]
    handed_out = squeezed("\n".join(cells + rendered + beside))
    solved = "\n".join(cell.source for name in NOTEBOOKS for cell in read("solutions", name).cells)
    lines = {squeezed(line.split("  # ")[0]) for block in WITHHELD.findall(solved) for line in block.splitlines()}
    asked = [question for name in NOTEBOOKS for question in questions(name)]
    messages = [message for question in asked for message in question.explanations.values()]
    lines |= {squeezed(sentence) for message in messages for sentence in re.split(r"(?<=[.?!]) ", message)}
    keys = {f'{question.name} = "{question.key}"' for question in asked}
    long = {line for line in lines if len(line) > 15 and not line.startswith('check("')}  # shorter ones stand anywhere
    return tuple(sorted(line for line in long | keys if line not in handed_out))


def given_away(text: str) -> list[str]:
    assert len(secrets()) > 1000
    text = squeezed(text)
    return [line for line in secrets() if line in text]


def readable(path: Path) -> str:
    """Return the text of a file as somebody could read it, with and without its markup."""
    text = path.read_text("utf-8", errors="ignore")
    if path.suffix == ".html":
        return BeautifulSoup(text, "html.parser").get_text() + "\n" + unescape(text)
    if path.suffix == ".ipynb":
        return text + "\n".join(cell.source for cell in nbformat.reads(text, as_version=4).cells)
    return text


# --- what pages are made of -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    target = tmp_path_factory.mktemp("sources")
    sources.write(ROOT, target, None)
    return target


def cells_of(folder: Path, name: str) -> list[nbformat.NotebookNode]:
    return nbformat.read(folder / f"{name}.ipynb", as_version=4).cells


def images_of(cells) -> list[str]:
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return [output.data["image/png"] for output in outputs if "image/png" in output.get("data", {})]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_page_is_the_released_notebook_with_figures_of_given_cells(written, name):
    made, released = cells_of(written, name), {cell.id: cell for cell in read("course", name).cells}
    solved = {cell.id: cell for cell in read("solutions", name).cells}
    assert [cell.id for cell in made] == [key for key in released if key != student_version.NAME]
    shown = [cell for cell in made if cell.get("outputs")]
    for cell in shown:
        assert released[cell.id].source == solved[cell.id].source, f"{cell.id} is not what students get"
        assert "### BEGIN" not in solved[cell.id].source
    assert len(images_of(made)) == len(images_of(solved.values())) >= 4
    assert not given_away(json.dumps([cell.outputs for cell in shown], ensure_ascii=False))


def test_tests_are_folded_under_their_names(written):
    folded = {cell.id: cell for cell in cells_of(written, "05-attention") if "hide-input" in cell.metadata.tags}
    assert folded["test_softmax"].metadata.mystnb.code_prompt_show.startswith("Test of softmax")
    assert "@title" not in folded["test_softmax"].source
    assert not any("answer" in cell.metadata.tags for cell in folded.values())


def test_every_figure_has_a_description(written):
    figures = json.loads((written / sources.ALTS).read_text("utf-8"))
    images = [base64.b64decode(data) for name in NOTEBOOKS for data in images_of(cells_of(written, name))]
    assert {hashlib.sha256(image).hexdigest() for image in images} == set(figures)
    assert all(len(alt) > 40 for alt in figures.values())


def test_an_unpublished_site_links_to_neither_colab_nor_binder(written):
    for path in written.glob("*"):
        assert not re.search(r"colab\.research|mybinder\.org", path.read_text("utf-8")), path.name


def test_every_guide_is_a_page_whose_links_lead_to_pages(written):
    around = [*menu.around_notebooks().values()]
    assert sorted(around) == ["end", "glossary"]
    assert {f"{name}.md" for name in [*GUIDES, *around, "index"]} == {path.name for path in written.glob("*.md")}
    assert {"learning-alone", "students", "instructors", "canvas-and-moodle", "contributing", "security"} <= set(GUIDES)
    for source in written.glob("*.md"):
        text = source.read_text("utf-8")
        targets = [path for _, path, _ in guides.LINK.findall(text) if path]
        assert [path for path in targets if not (written / path).is_file()] == [], source.name
    assert "(canvas-and-moodle.md)" in (written / "instructors.md").read_text("utf-8")


def test_the_front_page_says_where_to_start(written):
    start = (written / "index.md").read_text("utf-8")
    for words in (
        "## Start here",
        'href="download/students.zip"',
        "(students.md#install)",
        "make learn",
        "(instructors.md)",
        "(glossary.md)",
        "(end.md)",
    ):
        assert words in start
    shown = re.findall(r'<img src="_static/pictures/(\S+)" alt="(.{40,}?)">', start)
    assert [name for name, _ in shown] == ["notebook.png", "feedback.png"]
    assert all((ROOT / guides.PICTURES / name).is_file() for name, _ in shown)


@pytest.mark.parametrize("wrong", ["course", "https://github.com/a/b", "a/b/c", "a/b?x", ""])
def test_what_is_no_repository_is_refused_with_a_sentence(wrong):
    with pytest.raises(ValueError, match="write owner/name"):
        colab_binder.Address(wrong)


def test_the_locks_agree_where_they_name_the_same():
    """Formulas are set by the version that sets those in feedback."""
    pins = re.compile(r"^([\w.-]+)==(\S+)$", re.MULTILINE)
    ours, websites = (
        dict(pins.findall((ROOT / f"{location}constraints.txt").read_text())) for location in ("", WEBSITE)
    )
    assert ours["latex2mathml"] == websites["latex2mathml"]
    wanted = re.findall(r"^([a-z][\w-]*)", (ROOT / f"{WEBSITE}requirements.txt").read_text(), re.MULTILINE)
    assert {name.lower() for name in wanted} <= {name.lower() for name in websites}
    assert wanted


# --- Colab and Binder -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Return what stands beside the pages on the branch that Colab and Binder are sent to."""
    location = tmp_path_factory.mktemp("published")
    colab_binder.write(ROOT, location, ADDRESS)
    return location


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_links_lead_to_files_that_are_published(published, name):
    for link, start in (
        (ADDRESS.colab(name), "https://colab.research.google.com/github/somebody/course/blob/gh-pages/"),
        (ADDRESS.binder(name), "https://mybinder.org/v2/gh/somebody/course/gh-pages?labpath="),
    ):
        assert link.startswith(start)
        assert (published / unquote(link.removeprefix(start))).is_file()
    path = unquote(ADDRESS.binder(name).partition("?labpath=")[2])
    assert (published / path).read_bytes() == (ROOT / path).read_bytes()


def test_binder_gets_the_environment_that_students_get(published):
    assert (published / ".binder" / "environment.yml").read_bytes() == (ROOT / "environment.yml").read_bytes()
    asked = ["bash", published / ".binder" / "start", "printenv", "JUPYTER_CONFIG_PATH", "JUPYTER_PATH"]
    settings, data = subprocess.run(asked, cwd=published, text=True, stdout=subprocess.PIPE).stdout.splitlines()
    assert Path(settings, "jupyter_lab_config.json").is_file()
    assert Path(data.split(":")[0], "labextensions", "course-figures", "package.json").is_file()


def test_nothing_that_marks_is_published(published):
    for path in filter(Path.is_file, published.rglob("*")):
        if path.is_relative_to(published / "course"):
            only_handed_out(path.relative_to(published / "course"), path.read_bytes())
        else:
            assert not given_away(readable(path)), path.name


def only_handed_out(name: Path | str, data: bytes) -> None:
    assert data in [one.read_bytes() for one in (ROOT / "course" / name, ROOT / name) if one.exists()], name


@contextlib.contextmanager
def served(folder: Path):
    """Return a plain server of files. Its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def fetching(tmp_path, monkeypatch):
    """Make the cell that fetches what lies beside a notebook, in an empty folder, from a host of raw files."""
    monkeypatch.chdir(tmp_path)
    with served(ROOT / "course") as address:

        def cell(name: str, versions: dict[str, str] | None = None) -> str:
            made = colab_binder.for_colab(ROOT / "course" / name, f"{address}/{name}/", versions or {})
            assert made.cells[1].id == "fetch", "first of all that runs"
            return made.cells[1].source

        yield cell


@pytest.mark.parametrize("name", ["05-attention", "10-hugging-face-gpt2"])
def test_on_colab_the_first_cell_fetches_what_lies_beside(fetching, name, tmp_path, capsys):
    names: dict = {}
    exec(fetching(name, versions=colab_binder.pins(ROOT)), names)
    folder, left = ROOT / "course" / name, LEFT | {f"{name}.ipynb"}
    beside = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and not left & set(path.parts)}
    assert beside
    assert {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()} == beside
    assert all((tmp_path / path).read_bytes() == (folder / path).read_bytes() for path in beside)
    assert f"{len(beside)} files are here" in capsys.readouterr().out
    assert set(names) - {"__builtins__"} == {"fetch_what_lies_beside"}, "the cell defines what answers could lean on"


def test_on_colab_a_file_that_is_not_the_notebooks_own_is_told(fetching):
    known = hashlib.sha256((ROOT / "course" / "05-attention" / "attention_explorer.py").read_bytes()).hexdigest()
    with pytest.raises(RuntimeError, match=r"attention_explorer\.py is not the file"):
        exec(fetching("05-attention").replace(known, "0" * 64), {})


def test_on_colab_what_is_missing_is_installed_at_the_versions_of_the_lock(fetching, monkeypatch):
    asked: list[list[str]] = []
    monkeypatch.setattr(subprocess, "run", lambda command, check: asked.append(command[5:]))
    versions = colab_binder.pins(ROOT) | {"torch": "9.9.9", "transformers": "9.9.9"}
    assert {"torch", "numpy", "tqdm", "tokenizers"} <= set(versions)
    exec(fetching("10-hugging-face-gpt2", versions=versions), {})
    assert asked == [["transformers==9.9.9"]], "torch stays as Colab has it"


# --- what is built ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Make the website's environment, as the Makefile does: nothing is done where it is there and as its lock says."""
    if shutil.which("make") is None:
        pytest.skip("there is no make on this machine, which would make the website's environment")
    with filelock.FileLock(tmp_path_factory.getbasetemp().parent / "site.lock"):  # two workers may need it at once
        command = ["make", f"PYTHON={sys.executable}", f"{ENVIRONMENT}/ready"]
        done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
    if done.returncode:
        pytest.skip(f"the website's environment cannot be made here: {done.stderr[-300:]}")


@pytest.fixture(scope="module")
def built(environment, tmp_path_factory):
    target = tmp_path_factory.mktemp("site")
    command = [PYTHON, "-m", "tools.website.build", "--repository", "somebody/course", "--goal", target]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr[-3000:]
    return target / "html"


@functools.lru_cache(maxsize=2)
def soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")


@pytest.mark.long
def test_nothing_that_marks_is_in_any_built_file(built):
    seen = set()
    for path in (path for path in built.rglob("*") if path.is_file() and not path.is_relative_to(built / "course")):
        if path.suffix == ".zip":
            inside = f"{FOLDER}/" if path.stem == "students" else ""
            with zipfile.ZipFile(path) as archive:
                packed = [path.stem] if not inside else NOTEBOOKS
                assert {f"{inside}{name}/{name}.ipynb" for name in packed} <= set(archive.namelist())
                for name in archive.namelist():
                    only_handed_out(name.removeprefix(inside), archive.read(name))
        elif not path.is_relative_to(built / "_images"):
            assert not given_away(readable(path)), path.name
        seen.add(path.suffix)
    assert {".html", ".js", ".zip", ".ipynb"} <= seen
    figures = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (built / "_images").iterdir()}
    assert figures == set(json.loads((built.parent / "sources" / sources.ALTS).read_text("utf-8")))
    assert not (built / "_sources").exists()


@pytest.mark.long
def test_every_exercise_is_on_its_page_with_box_and_stub(built):
    for name in NOTEBOOKS:
        text, cells = squeezed(soup(built / f"{name}.html").get_text()), read("course", name).cells
        stubs = [cell for cell in cells if cell.metadata.get("nbgrader", {}).get("solution")]
        code = {cell.metadata.nbgrader.grade_id: squeezed(cell.source) for cell in stubs if cell.cell_type == "code"}
        assert set(code) == {declared.name for declared in in_notebook(name)}
        assert [source for source in code.values() if source not in text] == []
        box = r"· \d+ points? · \w+ · \d+ minutes"
        boxes = re.findall(rf"^> {box}$", "\n".join(cell.source for cell in cells), re.MULTILINE)
        assert len(re.findall(box, text)) == len(boxes) > 0


@pytest.mark.long
@pytest.mark.parametrize("name", ["index", *NOTEBOOKS, *GUIDES])
def test_pictures_have_words_and_formulas_are_set(built, name):
    page = soup(built / f"{name}.html")
    for image in page.select("article img"):
        assert len(image.get("alt", "")) > 10, image["src"][:60]
    if name in NOTEBOOKS:
        text = "\n".join(cell.source for cell in read("course", name).cells if cell.cell_type == "markdown")
        assert len(page.select("article math[display=block]")) == len(re.findall(r"\$\$.+?\$\$", text, re.DOTALL))
        assert page.select("article math") or not FORMULA.search(text)
        assert not page.select(".formula > code"), "a formula stands as it was written"
        [article] = BeautifulSoup(str(page.select_one("article")), "html.parser").select("article")
        for code in article.select("code, pre, script, details.in-words"):
            code.extract()
        assert not FORMULA.search(article.get_text()), "a formula was not seen"


def seen(test):
    """Mark a test that looks at a page in a browser."""
    return pytest.mark.long(NEEDS_BROWSER[1](test))


@pytest.fixture(scope="module")
def host(built):
    with served(built) as address:
        yield address


@pytest.fixture
def opened(page, host):
    """Open a page; in the end nothing may have been asked of another host, and no script may have failed."""

    def open_page(path: str, width: int = 1300, scheme: str = "light"):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.goto(f"{host}/{path}")
        page.wait_for_timeout(300)
        return page

    yield open_page
    assert [url for url in page.asked if not url.startswith((f"{host}/", "data:", "file:"))] == []
    assert page.errors == []


@seen
@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        *((name, "dark") for name in ("index", "05-attention", "instructors")),
        *((name, "light") for name in ("index", *NOTEBOOKS, *GUIDES)),
    ],
)
def test_pages_are_accessible_by_day_and_by_night(opened, name, scheme):
    page = opened(f"{name}.html", scheme=scheme)
    assert page.locator("html").get_attribute("data-theme") == scheme
    # All pages take their colours from the same styles, and to look at every word takes a minute
    without_findings(
        page, least="minor", **{"color-contrast": {"enabled": name in ("index", "05-attention", "instructors")}}
    )


@seen
@pytest.mark.parametrize("name", ["index", *NOTEBOOKS, *GUIDES])
def test_pages_are_no_wider_than_a_phone(opened, name):
    page = opened(f"{name}.html", width=390)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390


@seen
def test_the_search_shows_a_word_with_its_context(opened):
    page = opened("search.html?q=perplexity")
    page.locator("#search-results li a", has_text="Language modelling").first.wait_for()
    page.locator("#search-results li p.context", has_text="perplexity").first.wait_for()


@seen
def test_the_search_works_without_a_server(opened, built):
    """From the folder, a browser does not allow to fetch the lines around a word that was found."""
    page = opened("index.html")
    page.goto(f"{(built / 'search.html').as_uri()}?q=perplexity")
    page.locator("#search-results li a", has_text="Language modelling").first.click()
    page.locator("article h1", has_text="Language modelling").wait_for()
    assert page.locator("article img").first.evaluate("image => image.naturalWidth") > 100


@seen
@pytest.mark.parametrize("name", sorted(path.parent.name for path in ROOT.glob("course/*/attention_explorer.py")))
def test_explorers_are_alive(opened, name):
    page = opened(f"{name}.html")
    assert page.locator(".explorer .still").count() == 0
    message = page.locator(".explorer figcaption").first
    before = message.inner_text()
    page.locator(".explorer .head").first.focus()
    page.keyboard.press("ArrowDown")
    assert message.inner_text() != before
