"""Tests that documents count right and use the field's words, and that folders have READMEs, for readers only."""

import re
from pathlib import Path

import pytest
from conftest import PAGES, ROOT, TOP_FOLDERS

from autograder import handout, new_folder
from autograder.new_folder import lay_out
from autograder.spec.course import exercises, is_optional, notebooks, questions
from tools import dist
from tools.website import menu

WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
]
CARDS = {  # of the models beside the notebooks
    "01-language-modelling/first-gpt/README.md",
    "10-hugging-face-gpt2/gpt2-stories/README.md",
}
COUNT = re.compile(
    rf"\b(\d+|{'|'.join(WORDS)}) (?:multiple-choice )?(optional notebook|notebook|exercise|question)s\b",
    re.IGNORECASE,
)
HOUSE_WORDS = re.compile(  # in place of sandbox, fix, optional notebook, submission, available
    r"\b(un)?cage[ds]?\b|\bmend(ed|ing|s)?\b|\bcompanions?\b|\bhand-ins?\b|\bto be had\b", re.IGNORECASE
)
CODE = re.compile(r"^```.*?^```$|`[^`]+`", re.MULTILINE | re.DOTALL)
COUNTS = {
    "exercise": {len(exercises()), len([one for one in exercises() if one.ban])},
    "question": {len(questions())},
    "notebook": {len(notebooks()), len([name for name in notebooks() if not is_optional(name)])},
    "optional notebook": {len([name for name in notebooks() if is_optional(name)])},
}


def wrong_counts(text: str) -> list[str]:
    """Return the counts of exercises, questions and notebooks in a text that are none of the course's."""
    found = ((match[0], match[1].lower(), match[2].lower()) for match in COUNT.finditer(" ".join(text.split())))
    numbers = ((output, WORDS.index(word) if word in WORDS else int(word), what) for output, word, what in found)
    return [output for output, number, what in numbers if number not in COUNTS[what]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_documents_count_exercises_and_notebooks_right(page):
    assert wrong_counts(page.read_text("utf-8")) == []


def test_a_wrong_count_is_found():
    assert wrong_counts("Three exercises have bans, of 83 exercises in 12\nnotebooks.") == ["Three exercises"]
    assert wrong_counts("There are 3 optional notebooks.") == ["3 optional notebooks"]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: str(page.relative_to(ROOT)))
def test_documents_use_the_fields_words(page):
    assert [found[0] for found in HOUSE_WORDS.finditer(CODE.sub("", page.read_text("utf-8")))] == []


@pytest.mark.parametrize("folder", TOP_FOLDERS)
def test_each_top_folder_has_a_short_readme(folder):
    lines = (ROOT / folder / "README.md").read_text("utf-8").splitlines()
    assert (
        10 <= len([line for line in lines if folder != "findings" or ".sh)" not in line]) <= 20
    )  # its README is an index


def test_every_top_folder_of_the_repository_is_among_these():
    about = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert set(re.findall(r"^\| `([\w.]+)/` \|", about, re.MULTILINE)) == set(TOP_FOLDERS)


def test_no_wheel_contains_the_readme_of_a_folder(tmp_path):
    dist.stage_engine(ROOT, tmp_path / "engine")
    dist.stage_course(ROOT, tmp_path / "course")
    staged = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("README.md")}
    cards = {f"course/{folder}/{card}" for folder in ("solutions", "course") for card in CARDS}
    assert staged == {"engine/README.md"} | cards


def test_init_writes_no_readme_of_a_folder(tmp_path):
    lay_out(tmp_path / "term")
    written = {path.parent.name for path in (tmp_path / "term").rglob("README.md")}
    assert written == {Path(card).parent.name for card in CARDS}
    assert (tmp_path / "term" / "course" / "START.md").is_file()


def test_every_link_in_a_folder_to_teach_from_leads_somewhere(tmp_path):
    lay_out(tmp_path)
    pages = [tmp_path / name for name in new_folder.PAGES]
    links = {(page, link) for page in pages for _, link in new_folder.LINK.findall(page.read_text("utf-8"))}
    assert len(links) >= 5
    assert [(page.name, link) for page, link in links if not (page.parent / link).exists()] == []
    assert {path.name for path in tmp_path.iterdir()} >= {*handout.ENVIRONMENT, new_folder.CLASS_LIST}


def test_students_and_website_get_no_readme_of_a_folder():
    assert {name for name in handout.contents(ROOT) if name.endswith("README.md")} == {
        f"course/{card}" for card in CARDS
    }
    assert "docs/README.md" not in menu.pages(ROOT)
