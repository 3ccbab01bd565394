"""Tests of the practice questions: opening an option shows at once, offline, if it is right and why."""

import functools
import math
import re
from collections import Counter

import pytest
import torch
import torch.nn.functional as F
from conftest import NOTEBOOKS, read

from autograder.judge.run_check import namespace_with
from autograder.spec.course import exercise, questions

MARK = "practice-"
OPTION = re.compile(r"<details><summary><b>([A-Z])</b>\s(.+?)</summary>\n\n(.+?)\n\n</details>", re.DOTALL)
VERDICT = re.compile(r"\*\*(Yes|No)\.\*\* ")
LONGEST = 70  # words of an explanation


@functools.cache
def practice(name):
    return [cell for cell in read("course", name).cells if cell.id.startswith(MARK)]


def options(cell):
    """Return of each option its letter, its text, whether it is right, and why."""
    found = []
    for letter, text, why in OPTION.findall(cell.source):
        verdict = VERDICT.match(why)
        assert verdict, f"{cell.id} {letter} does not begin with Yes or No"
        found.append((letter, text, verdict[1] == "Yes", why[verdict.end() :]))
    return found


def words(text):
    return re.findall(r"\w+", re.sub(r"<[^>]+>", " ", text).lower())


def runs(text, length):
    """Return every run of so many words."""
    found = words(text)
    return {tuple(found[at : at + length]) for at in range(len(found) - length + 1)}


ALL = [pytest.param(name, cell, id=f"{name}-{cell.id}") for name in NOTEBOOKS for cell in practice(name)]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_notebook_has_practice_in_more_than_one_section(name):
    sections, section = set(), 0
    for cell in read("course", name).cells:
        if cell.id.startswith(MARK):
            sections.add(section)
        elif cell.cell_type == "markdown":
            section += len(re.findall(r"^## ", cell.source, re.MULTILINE))
    assert len(sections) >= 2


@pytest.mark.parametrize(("name", "cell"), ALL)
def test_one_option_is_right_and_each_says_why(name, cell):
    found = options(cell)
    letters = [letter for letter, _, _, _ in found]
    assert letters == list("ABCD"[: len(found)])
    assert len(found) >= 3
    assert cell.source.count("<details>") == cell.source.count("</details>") == len(found), "one is not as the others"
    assert [right for _, _, right, _ in found].count(True) == 1
    for letter, text, _, why in found:
        assert len(words(text)) > 0
        assert 5 <= len(words(why)) <= LONGEST, letter


@pytest.mark.parametrize(("name", "cell"), ALL)
def test_it_needs_no_kernel_no_script_and_no_network_and_is_not_marked(name, cell):
    assert cell.cell_type == "markdown"
    leads_away = r"<script|javascript:|\bon\w+=|https?:|www\.|!\[|<img|\]\((?!\.\./GLOSSARY)"
    assert not re.search(leads_away, cell.source, re.IGNORECASE)
    assert "nbgrader" not in cell.metadata
    assert not re.search(r"\bQuestion \d", cell.source), "that is the heading of a question that is marked"
    for letter, text, _, _ in options(cell):  # a summary's Markdown would be shown as it stands
        assert not re.search(r"[*`$]|\]\(|<(?!/?(?:i|b|code|sub|sup)>)", text), letter


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_no_explanation_of_a_marked_question_is_given_away(name):
    """Nor in other words than a few: eight in a row would be a quotation."""
    given = set().union(*(runs(cell.source, 8) for cell in practice(name)))
    for question in questions(name):
        for letter, explanation in question.explanations.items():
            assert not runs(explanation, 8) & given, f"{question.name} {letter}"


def test_the_right_option_is_not_to_be_found_by_its_letter_or_its_length():
    """Neither the longest nor the shortest one is right much more often than chance would have it."""
    cells = [options(cell) for name in NOTEBOOKS for cell in practice(name)]
    right = Counter(letter for found in cells for letter, _, yes, _ in found if yes)
    assert set(right) == set("ABCD")
    assert max(right.values()) <= 0.4 * len(cells)
    for extreme in (max, min):
        found = sum(extreme(found, key=lambda option: len(option[1]))[2] for found in cells)
        assert found <= 0.4 * len(cells), extreme


def apart(clocks, steps):
    """Return how far two sinusoidal positions of width 64 are apart that lie so many steps from each other."""
    return math.sqrt(sum((2 * math.sin(steps * 10000 ** (-i / 32) / 2)) ** 2 for i in clocks))


# What each cell says, and how it is calculated. What is said with two digits is held to two digits.
CALCULATED = {
    "practice-smoothing": {"0.995": 10_001 / 10_050, "0.18": 11 / 60},
    "practice-multiply": {"0.01": 0.5 * 0.2 * 0.1, "0.8": 0.5 + 0.2 + 0.1},
    "practice-finnish": {"7": 100 * (150 / 140 - 1), "1.07": 150 / 140, "1.79": 2.5 / 1.4, "1.4": 140 / 100},
    "practice-twenty-negatives": {"14.56": 21 * math.log(2), "4.16": 6 * math.log(2)},
    "practice-fraction": {"0.5": 2 / 4, "0.4": 2 / 5},
    "practice-slow-clocks": {
        "0.0015": apart(range(24, 32), 1),
        "0.75": apart(range(24, 32), 500),
        "1.47": apart(range(32), 1),
    },
    "practice-have-sum": {"3.42": 2.42 + 1, "0.46": -0.54 + 1},
    "practice-second-bird": {"3.2": (3 * 4 + 2 + 2) / 5, "3.5": (3 * 4 + 2) / 4},
    "practice-plateau": {"1.79": math.log(6), "2.30": math.log(10), "17": 100 / 6},
    "practice-padded-loss": {"1.2": 0.6 * 2.0, "3.3": 2.0 / 0.6},
    "practice-how-many-layers": {"25": 100 / 4, "20": 100 / 5},
    "practice-open-pairs": {"78": 12 * 13 / 2, "48": 3 * 4 * 4, "30": 3 * (4 + 3 + 2 + 1)},
    "practice-half-and-half": {"56": 100 * (1 / 8 + 7 / 8 / 2), "0.61": 7 / 8 * math.log(2)},
    "practice-flat-loss": {"10.82": math.log(50_257)},
    "practice-how-often": {"1,555,200": 900 * 24 * 72, "3.2": 900 * 24 * 72 / 482_702, "21,600": 900 * 24},
}


@pytest.mark.parametrize("name", CALCULATED)
def test_what_was_calculated_is_right(name):
    [source] = [cell.source for notebook in NOTEBOOKS for cell in practice(notebook) if cell.id == name]
    for output, value in CALCULATED[name].items():
        assert re.search(rf"(?<![\d.,]){re.escape(output)}(?!\d|[.,]\d)", source), output
        number = float(output.replace(",", ""))
        digits = len(output.partition(".")[2])
        tolerance = 100 if output.endswith("00") and value != number else 10**-digits
        assert abs(value - number) <= 0.51 * tolerance, (output, value)


def test_the_third_merge_is_what_practice_says_it_is():
    train_bpe = exercise("train_bpe")
    words = {tuple("cat"): 3, tuple("catch"): 2, tuple("chat"): 4, tuple("hat"): 5}
    merges = namespace_with(train_bpe, train_bpe.source)["train_bpe"](words, 3)
    assert merges == [("a", "t"), ("h", "at"), ("c", "at")]


@pytest.mark.slow
@pytest.mark.parametrize(("width", "least", "most"), [(100, 0.375, 0.475), (512, 0.16, 0.22)])
def test_the_nearest_of_so_many_random_words_is_as_near_as_practice_says(width, least, most):
    generator = torch.Generator().manual_seed(0)
    for _ in range(5):
        table = F.normalize(torch.randn(50_000, width, generator=generator), dim=1)
        query = F.normalize(torch.randn(width, generator=generator), dim=0)
        assert least < (table @ query).max() < most
