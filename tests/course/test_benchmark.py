"""Tests of the class that `make bench` marks: drawn by a seed, and varied."""

import random

from autograder.spec.course import exercises
from tools.benchmarks.grading import NOTEBOOK, answers_of

CLASS = [answers_of(random.Random(f"0 {number}")) for number in range(40)]


def test_a_seed_gives_the_same_class_in_which_no_two_answer_alike():
    assert [answers_of(random.Random(f"0 {number}")) for number in range(40)] == CLASS
    assert len({str(sorted(answers.items())) for answers in CLASS}) == len(CLASS)


def test_about_half_of_the_drawn_answers_are_catalogued_wrong_ones():
    catalogued = {one.name: {text for wrong in one.mistakes for text in wrong.sources} for one in exercises(NOTEBOOK)}
    wrong = [answers.get(name) in sources for answers in CLASS for name, sources in catalogued.items()]
    assert 0.37 < sum(wrong) / len(wrong) < 0.57
