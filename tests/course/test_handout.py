"""Tests of the students' files: the start page matches the notebooks, and the zip contains no solution."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
import yaml
from conftest import NOTEBOOKS, ROOT, read
from nbformat.v4 import new_markdown_cell

from autograder import glossary, workload
from autograder.files import MANIFESTS
from autograder.handout import FOLDER, SETTINGS, NotReady, chapters, leaks, page_names, prepare_start, write_zip
from autograder.spec.course import MARKERS, is_optional, questions
from autograder.workload import TIME, opening, rounded, sitting_lengths

REGION = re.compile(rf"{MARKERS[0]}\n(.*?){MARKERS[1]}", re.DOTALL)
HIDDEN = re.compile(r"BEGIN HIDDEN TESTS\n(.*?)\n[^\n]*END HIDDEN TESTS", re.DOTALL)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    location = tmp_path_factory.mktemp("student")
    write_zip(ROOT, location / "students.zip")
    with zipfile.ZipFile(location / "students.zip") as archive:
        archive.extractall(location)
    return location / FOLDER


@pytest.fixture
def course(tmp_path):
    """Return a copy of what is needed to write the zip."""
    for name in ("course", "solutions"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("environment.yml", "requirements.txt", "constraints.txt", "LICENSE", "LICENSE-CONTENT"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def squeezed(text):
    return "".join(text.split())


def texts(folder: Path) -> dict[str, str]:
    """Return everything in a folder that can be read, by file; notebooks as the text of their cells."""
    found = {}
    for path in folder.rglob("*"):
        if path.suffix == ".ipynb":
            cells = json.loads(path.read_text("utf-8"))["cells"]
            found[path.name] = "\n".join("".join(cell["source"]) + json.dumps(cell.get("outputs")) for cell in cells)
        elif path.is_file() and path.suffix not in (".png", ".pt", ".safetensors"):  # pictures and weights
            found[path.name] = path.read_text("utf-8")
    return found


@pytest.fixture(scope="module")
def zipped(unpacked) -> dict[str, str]:
    return texts(unpacked)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_no_solution_no_hidden_test_and_no_key_is_in_the_zip(name, zipped):
    """Whole answers nowhere; of the lines in answers, none but those that the notebook itself shows elsewhere."""
    cells = read("solutions", name).cells
    regions = [region for cell in cells for region in REGION.findall(cell.source)]
    assert regions
    shown = "\n".join(HIDDEN.sub("", REGION.sub("", cell.source)) for cell in cells)
    anywhere, here = "\n".join(map(squeezed, zipped.values())), zipped[f"{name}.ipynb"]
    given_away = {squeezed(line) for line in here.splitlines()} - {squeezed(line) for line in shown.splitlines()}
    for region in regions:
        if region.strip() and squeezed(region) not in squeezed(shown):
            assert squeezed(region) not in anywhere or len(squeezed(region)) < 25, region
        assert not {squeezed(line) for line in region.splitlines()} & given_away - {""}, region
    for hidden in (hidden for cell in cells for hidden in HIDDEN.findall(cell.source)):
        assert squeezed(hidden) not in squeezed(here), hidden
    for question in questions(name):
        assert re.search(rf"^{question.name} = None", here, re.MULTILINE)
        assert f'{question.name} = "' not in here
    for words in (*MARKERS, "HIDDEN TESTS", "autograder"):
        assert words not in here


def test_nothing_is_in_the_zip_but_what_students_need(unpacked):
    assert {path.name for path in unpacked.iterdir()} == {
        *NOTEBOOKS,
        "START.md",
        "GLOSSARY.md",
        "END.md",
        "start",
        ".jupyter",
        "environment.yml",
        "requirements.txt",
        "constraints.txt",
        "LICENSE",
        "LICENSE-CONTENT",
    }
    for path in (ROOT / "course").rglob("*"):
        left_out = path.parent.name in (MANIFESTS, "__pycache__") or path == ROOT / "course" / "README.md"
        if path.is_file() and not left_out:
            assert (unpacked / path.relative_to(ROOT / "course")).read_bytes() == path.read_bytes()


def test_validate_waits_for_a_training(unpacked, monkeypatch):
    """nbgrader's own 30 s for a cell end in a traceback where a student's GPT trains."""
    monkeypatch.chdir(unpacked)
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", ".jupyter")
    program = "from nbgrader.apps import ValidateApp as A; a = A(); a.initialize([]); print(a.config.Execute.timeout)"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(output.stdout) > 600


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda cell: cell.__setitem__("source", 'q5_1 = "C"'), "q5_1 holds an answer"),
        (lambda cell: cell.__setitem__("source", "# YOUR CODE HERE\n### BEGIN SOLUTION"), "BEGIN SOLUTION"),
        (lambda cell: cell.__setitem__("outputs", [{"output_type": "stream"}]), "q5_1 has outputs"),
    ],
)
def test_a_notebook_that_somebody_has_worked_in_is_not_handed_out(course, change, says):
    path = course / "course" / "05-attention" / "05-attention.ipynb"
    notebook = json.loads(path.read_text("utf-8"))
    [cell] = [cell for cell in notebook["cells"] if cell["metadata"].get("nbgrader", {}).get("grade_id") == "q5_1"]
    change(cell)
    path.write_text(json.dumps(notebook), "utf-8")
    with pytest.raises(NotReady, match=says):
        write_zip(course, course / "students.zip")
    assert not (course / "students.zip").exists()
    assert not list(leaks(ROOT / "course" / "05-attention" / "05-attention.ipynb"))


def test_without_environment_files_the_zip_says_where_they_are(tmp_path):
    with pytest.raises(NotReady, match=r"environment\.yml, .* is not in .*: copy it from a folder"):
        write_zip(tmp_path, tmp_path / "students.zip")
    assert not list(tmp_path.iterdir())


def test_the_same_course_makes_the_same_zip_without_checkpoints(course, unpacked):
    left = course / "course" / "05-attention" / ".ipynb_checkpoints" / "05-attention-checkpoint.ipynb"
    left.parent.mkdir()
    left.write_text("{}")
    write_zip(course, course / "students.zip")
    assert (course / "students.zip").read_bytes() == (unpacked.parent / "students.zip").read_bytes()


# --- the start page ---------------------------------------------------------------------------------------------------


def test_the_start_page_lists_every_notebook_with_a_picture_that_has_words():
    text = (ROOT / "course" / "START.md").read_text("utf-8")
    found = chapters(ROOT)
    assert [chapter.name for chapter in found] == list(NOTEBOOKS)
    for chapter in found:
        assert f"]({chapter.name}/{chapter.name}.ipynb)" in text
        assert (ROOT / "course" / "start" / f"{chapter.name}.png").read_bytes().startswith(b"\x89PNG")
        assert len(chapter.alt) > 20
        assert f"| {chapter.minutes} |" in text or f"| {chapter.minutes}: " in text
    paths = re.findall(r'(?:\]\(|src=")([^)"]+)', text)
    assert len(set(paths)) == 2 * len(found) + len({"GLOSSARY.md", "END.md"} & set(paths)) == 2 * len(found) + 2
    assert all((ROOT / "course" / location).is_file() for location in paths)


def test_the_start_page_shows_sitting_minutes_and_prerequisites(course):
    start, path = course / "course" / "START.md", course / "solutions" / "06-masking" / "06-masking.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[0].source = re.sub(r"\*\*You need\*\*.*?\.", "**You need** courage; and more.", opening(notebook))
    for location in (40, 80):
        notebook.cells.insert(location, new_markdown_cell("**A good place to stop.**", metadata={"tags": ["stop"]}))
    nbformat.write(notebook, path)
    prepare_start(course, course)()
    [row] = [line for line in start.read_text("utf-8").splitlines() if "6. Masking" in line]
    lengths = sitting_lengths(notebook)
    assert row.endswith(f"| {sum(lengths)}: {' + '.join(map(str, lengths))} | Courage |")
    assert len(lengths) >= 3
    assert min(lengths) > 0


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_opening_the_plan_and_the_start_page_say_the_same_minutes(name):
    looking, doing = map(rounded, workload.notebook(name).minutes)
    assert f"about {looking} minutes to read and try, {doing} to answer" in read("course", name).cells[0].source
    [chapter] = [chapter for chapter in chapters(ROOT) if chapter.name == name]
    assert chapter.minutes == looking + doing


def test_what_the_start_page_needs_is_named_where_it_is_missing(course):
    (course / "course" / "START.md").unlink()
    with pytest.raises(NotReady, match=r"START\.md is not in"):
        write_zip(course, course / "students.zip")
    path = course / "solutions" / "06-masking" / "06-masking.ipynb"
    path.write_text(path.read_text("utf-8").replace("**Time", "**Duration"), "utf-8")
    with pytest.raises(NotReady, match=r"06-masking\.ipynb must have"):
        prepare_start(course, course)()
    assert not TIME.search("**Time:** two sittings of about 120 minutes each")  # refused: which is meant?


# --- the glossary and the last page -----------------------------------------------------------------------------------


def index_of_terms():
    """Return term -> (meaning, places) of the generated glossary."""
    page = (ROOT / "course" / "GLOSSARY.md").read_text("utf-8")
    entries = re.findall(r"^\| (.+?) \| (.+) \| (\[\d\d[^|]+) \|(.*) \|$", page, re.MULTILINE)
    return {term.casefold(): (meaning, f"{first};{again}") for term, meaning, first, again in entries}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_glossary_finds_each_term_of_a_notebook_in_its_sections(name):
    [own] = [cell.source for cell in read("solutions", name).cells if "## Glossary" in cell.source]
    rows = re.findall(r"^\| (.+?) \| (.+) \| ([\d, ]+) \|$", own.partition("## Glossary")[2], re.MULTILINE)
    assert len(rows) > 8
    index = index_of_terms()
    for together, meaning, sections in rows:
        for term, _ in glossary.split(together, meaning):
            link = rf"{re.escape(f'({name}/{name}.ipynb)')} sections? {re.escape(sections)}(?=;|$)"
            assert re.search(link, index[term.casefold()][1]), term


CORE = """
token, id, vocabulary, language model, n-gram model, loss, cross-entropy, perplexity, gradient, learning rate,
batch, parameter, logit, softmax, tokeniser, embedding, positional encoding, attention, query, key, value, mask,
causal mask, head, layer norm, residual stream, dropout, feed-forward network, transformer block, encoder,
decoder, cross-attention, GPT, temperature, KV cache, beam search, BLEU, fine-tuning
"""


@pytest.mark.parametrize("term", " ".join(CORE.split()).split(", "))
def test_the_glossary_has_each_core_term(term):
    meaning, places = index_of_terms()[term.casefold()]
    assert len(meaning.split()) > 2
    assert " further" not in places.partition(";")[0], "first explained in a main notebook"


def test_terms_that_differ_in_their_ending_only_are_one_entry():
    stems = [re.sub(r"(?:(?<=t)ting|s)$", "", term) for term in index_of_terms()]
    assert sorted({stem for stem in stems if stems.count(stem) > 1}) == []


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_links_to_the_glossary_from_its_opening_and_its_terms(name):
    headings = re.findall(r"^## (\w)$", (ROOT / "course" / "GLOSSARY.md").read_text("utf-8"), re.MULTILINE)
    texts = [cell.source for cell in read("course", name).cells if cell.cell_type == "markdown"]
    assert "[glossary](../GLOSSARY.md)" in texts[0]
    links = re.findall(r"\[\*\*(.+?)\*\*\]\(\.\./GLOSSARY\.md#(\w)\)", "\n".join(texts))
    assert len(links) >= 2
    assert len({term.casefold() for term, _ in links}) == len(links), "where it is met first"
    assert {letter for _, letter in links} <= set(headings)


def test_a_term_of_two_notebooks_is_one_entry_after_the_alphabet():
    tables = {
        "01-a": [("`Softmax`", "shares that add up to 1", "2"), ("key", "what is compared", "1, 5")],
        "02-b": [("softmax", "again", "3")],
    }
    first, second = glossary.merged(tables.items())
    assert (first.term, first.letter, first.places) == ("key", "K", [glossary.Place("01-a", "1, 5")])
    assert (second.term, second.meaning, second.letter) == ("`Softmax`", "shares that add up to 1", "S")
    assert second.places == [glossary.Place("01-a", "2"), glossary.Place("02-b", "3")]


@pytest.mark.parametrize(
    ("term", "meaning", "entries"),
    [
        ("id, token", "its number; a piece of text", [("id", "its number"), ("token", "a piece of text")]),
        ("SiLU, swish", "a smooth ReLU", [("SiLU", "a smooth ReLU"), ("swish", "a smooth ReLU")]),
        ("zero-, one-shot", "with no, with one example", [("zero-, one-shot", "with no, with one example")]),
    ],
)
def test_each_term_of_a_row_is_an_entry_with_its_own_meaning(term, meaning, entries):
    assert list(glossary.split(term, meaning)) == entries


def test_links_of_all_pages_lead_to_files():
    for page in page_names():
        for target in re.findall(r"\]\(([^)]+)\)", (ROOT / "course" / page).read_text("utf-8")):
            assert (ROOT / "course" / target).is_file(), f"{page}: {target}"


def test_the_last_page_has_numbers_that_the_solutions_print():
    page = (ROOT / "course" / "END.md").read_text("utf-8")
    rows = re.findall(r"^\| \[\d\d\]\(.+?/(.+?)\.ipynb\) \| .+ \| (.+) \|$", page, re.MULTILINE)
    assert [name for name, _ in rows] == [name for name in NOTEBOOKS if not is_optional(name)]
    checked = 0
    for name, result in rows:
        outputs = [output for cell in read("solutions", name).cells for output in cell.get("outputs", [])]
        printed = " ".join(output.get("text", "") for output in outputs)
        for number in re.findall(r"\d[\d.,]*(?:e-\d+)?(?<![.,])", result):
            assert number in printed, f"{name}: {number}"
            checked += 1
    assert checked >= 10


def test_jupyter_finds_the_start_page_where_the_environment_says():
    variables = yaml.safe_load((ROOT / "environment.yml").read_text())["variables"]
    settings = ROOT / "course" / variables["JUPYTER_CONFIG_PATH"]
    assert json.loads((settings / "jupyter_lab_config.json").read_text())["LabApp"]["default_url"].endswith("/START.md")
    page = json.loads((settings / "labconfig" / "page_config.json").read_text())
    assert page["disabledExtensions"]["@jupyter/nbgrader:formgrader"]
    overrides = json.loads((settings / "labconfig" / "default_setting_overrides.json").read_text())
    assert overrides["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"
    assert variables["JUPYTER_CONFIG_PATH"] == SETTINGS, "so `autograder learn` finds the same"
