"""Tests of the inputs that are drawn for one hand-in: they are new, right answers pass, and the known ones stay."""

import functools
import unicodedata
from collections.abc import Callable

import pytest

from autograder.judge.check_cache import digest
from autograder.judge.run_check import student_with_answer
from autograder.spec.course import exercise as declared
from autograder.spec.course import exercises
from autograder.spec.drawing import (
    other_counts,
    other_ids,
    other_lengths,
    other_letters,
    other_number,
    other_sizes,
    other_words,
    shuffled,
)
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.seeds import restart_seeds
from transformer_exercises.widths import other_block, other_heads

EXERCISES = [pytest.param(exercise, id=exercise.name) for exercise in exercises()]

START = "asks how fresh weights are drawn, which no table of answers can give"
TRIAL = "its sentences were found by trial: all ways of pruning and stopping agree on them"
ALIKE = {  # the checks that ask the same for every hand-in, and why
    ("Embedding", "`weight` starts as draws from N(0, 1)"): START,
    ("SelfAttention", "fresh layers differ from each other"): START,
    ("MultiHeadAttention", "fresh layers differ from each other"): START,
    ("beam_search", "source_ids and mode unchanged, beam_size below 1 refused, device"): TRIAL,
}


class New(BaseException):
    """Raised at a question that was not asked before: no check catches it, and what follows need not be asked."""


def run(
    exercise: Exercise, check: Check, submission_key: str, sees: Callable[[bytes], object], source: str = ""
) -> None:
    """Run a check with the inputs for a hand-in, or with the known ones; `sees` gets a hash of each question."""

    def send(question, there):
        sees(digest(question))
        return there(question)

    student = student_with_answer(exercise, source or exercise.source)  # a fresh one: questions hold numbers of objects
    student.begin(check.title)
    restart_seeds(f"{exercise.name}: {check.title}", submission_key)
    try:
        with student.intercepted(send):
            check.run(student)
        student.finish()
    finally:
        restart_seeds("")


def questions(exercise: Exercise, check: Check, submission_key: str = "") -> list[bytes]:
    asked: list[bytes] = []
    run(exercise, check, submission_key, asked.append)
    return asked


@functools.cache
def asks_anew(exercise: Exercise, check: Check) -> bool:
    """Return whether a check, which the reference passes, asks another hand-in something else."""
    seen = set(questions(exercise, check, "one"))

    def sees(question: bytes) -> None:
        if question not in seen:
            raise New

    for another in ("two", "three", "four"):  # of three items, the order may be the same by chance
        try:
            run(exercise, check, another, sees)
        except New:
            return True
    return False


def failures(exercise: Exercise, source: str, submission_key: str) -> list[str]:
    found = []
    for check in exercise.checks:
        try:
            run(exercise, check, submission_key, lambda _: None, source)
        except Wrong as wrong:
            found.append(f"{check.title}, {submission_key}: {wrong}\n{source}")
    return found


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_first_check_asks_each_hand_in_anew(exercise):
    assert asks_anew(exercise, exercise.checks[0])


@pytest.mark.slow
@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_check_asks_each_hand_in_anew_but_for_those_listed(exercise):
    alike = {(exercise.name, check.title) for check in exercise.checks if not asks_anew(exercise, check)}
    assert alike == {one for one in ALIKE if one[0] == exercise.name}


def test_few_checks_ask_the_same_for_every_hand_in():
    weights = {(exercise.name, check.title): check.weight for exercise in exercises() for check in exercise.checks}
    assert sum(weights[one] for one in ALIKE) < 0.01 * sum(weights.values())


@pytest.mark.long
@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_right_answer_passes_on_the_inputs_of_three_hand_ins(exercise):
    sources = [
        exercise.source,
        *(other.source for other in exercise.alternatives),
        *filter(None, [exercise.library_equivalent]),
    ]
    found = [each for source in sources for n in range(3) for each in failures(exercise, source, f"hand-in {n}")]
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("name", ["generate_bigram", "bpe_encode", "padding_mask", "noam_rate", "text_perplexity"])
def test_what_is_drawn_for_a_hand_in_leaves_the_known_inputs_alone(name):
    exercise = declared(name)
    known, drawn, again, same = (
        questions(exercise, exercise.checks[0], submission_key) for submission_key in ("", "a secret", "", "a secret")
    )
    assert known == again != drawn == same


MADE = (
    lambda: other_sizes(0, 1, 2, 5, 5, 300),
    lambda: other_heads(12, 3),
    lambda: other_block(6, 3, 9),
    lambda: other_lengths([3, 0, 5], 5),
    lambda: other_ids([[7, 7], [3]], 9),
    lambda: other_counts([[3, 0], [1, 2]]),
    lambda: shuffled([1, 2, 3, 4]),
    lambda: other_number(0.5, 0.0, 1.0),
    lambda: other_letters({"Ọ bụ, the Theatre": ("আমার", 3)}),
    lambda: other_words("the dog\tdrinks  water", "again"),
)


def test_everything_is_as_it_is_known_where_nothing_is_drawn():
    restart_seeds("as it is known")
    known = ((0, 1, 2, 5, 5, 300), (12, 3), (6, 3, 9), ([3, 0, 5], 5), [[7, 7], [3]], [[3, 0], [1, 2]], [1, 2, 3, 4])
    assert tuple(make() for make in MADE[:7]) == known
    assert [make() for make in MADE[7:]] == [0.5, {"Ọ bụ, the Theatre": ("আমার", 3)}, "the dog\tdrinks  water"]


@pytest.fixture(params=[f"hand-in {n}" for n in range(20)])
def made(request):
    """Yield everything that is drawn for a hand-in."""
    restart_seeds("as it is drawn", request.param)
    yield [make() for make in MADE]
    restart_seeds("")


def test_sizes_that_are_drawn_fit_together(made):
    (zero, one, two, five, as_much, many), (width, heads), (C, H, F), (lengths, longest), *_ = made
    assert (zero, one, five) == (0, 1, as_much)
    assert len({zero, one, two, five, many}) == 5
    assert two > 1
    assert 200 <= many < 410
    assert width % heads == C % H == 0
    assert F not in (C, 3 * C)
    assert lengths[2] == longest >= lengths[0] > lengths[1] == 0


def test_ids_and_numbers_that_are_drawn_keep_what_they_are_for(made):
    _, _, _, _, ids, counts, order, number, _, _ = made
    assert ids[0][0] == ids[0][1] != ids[1][0]
    assert {*ids[0], *ids[1]} <= set(range(9))
    assert [[n > 0 for n in row] for row in counts] == [[True, False], [True, True]]
    assert sorted(order) == [1, 2, 3, 4]
    assert 0 <= number <= 1


def test_texts_that_are_drawn_keep_their_script_and_repetitions(made):
    [(text, (bangla, three))] = made[8].items()
    for new, known in ((text, "Ọ bụ, the Theatre"), (bangla, "আমার")):
        assert [*map(unicodedata.category, new)] == [*map(unicodedata.category, known)]
        assert [ord(c) >> 7 for c in new] == [ord(c) >> 7 for c in known]
        assert [*map(new.index, new)] == [*map(known.index, known)]
    assert three == 3
    assert text[6:8] == text[10:12].lower()
    words = made[9].split()
    assert words[0] == "the"
    assert set(words[1:]) <= {"dog", "drinks", "water", "again"}
    assert made[9].count("\t") == made[9].count("  ") == 1
