"""Tests of the stories: their probabilities are exact, their languages agree, and the notebooks have the same text."""

import itertools
import math
import os
import random
import re
import subprocess
import sys
import unicodedata
from collections import Counter

import pytest

from transformer_exercises import stories as written
from transformer_exercises.stories import LANGUAGES, parallel, sample, true_nll, write
from transformer_exercises.stories.engine import SLOT, Derivation, Grammar, Role, Say, either, maybe, one_of, say
from transformer_exercises.stories.languages import word
from transformer_exercises.stories.plots import STORIES

# A small grammar with everything a large one has: roles with parents, of which some are never said; different weights;
# words that look alike (two derivations of one text), words of which one begins the other, and an empty word.
TOYS = [word(name, name, name, weight) for name, weight in (("a bat", 1), ("a bat and a ball", 2), ("a cat", 3))]
PETS = [word(name, name, name) for name in ("a cat", "a cow", "")]
SMALL = Grammar(
    LANGUAGES,
    {
        "toy": one_of(TOYS),
        "pet": one_of(PETS),
        "hidden": one_of(TOYS, unlike="toy"),
        "other": Role(lambda hidden: [one for one in TOYS if one is not hidden] + PETS[:1], ("hidden",)),
    },
    either(
        (2, say(*["I had {toy}."] * 3), maybe(0.25, say(*["{Toy}?"] * 3))),
        (1, say(*["I had {pet}."] * 3), say(*["Now {toy}, {other}."] * 3)),
        (1, say(*["I had {other}."] * 3)),
    ),
)


class EveryDraw:
    """Stands in for `random.Random`: takes the choices it is told and then the first one, and remembers the odds."""

    def __init__(self, messages: tuple[int, ...]):
        self.told, self.made, self.ways, self.probability = messages, [], [], 1.0

    def choices(self, population: range, weights: list[float]) -> list[int]:
        index = self.told[len(self.made)] if len(self.made) < len(self.told) else 0
        self.made.append(index)
        self.ways.append(len(population))
        self.probability *= weights[index] / sum(weights)
        return [index]


def every_story(grammar: Grammar, language: str) -> dict[str, float]:
    """Return the probability of every story, by running the teller through every sequence of draws."""
    stories: Counter[str] = Counter()
    waiting = [()]
    while waiting:
        draws = EveryDraw(waiting.pop())
        stories[Derivation(grammar, draws).line(language)] += draws.probability
        for turn in range(len(draws.told), len(draws.made)):
            waiting += [(*draws.made[:turn], other) for other in range(1, draws.ways[turn])]
    return dict(stories)


def test_brute_force_over_a_small_grammar_gives_the_same_probabilities():
    """Of stories, of their beginnings, and of the characters that follow."""
    stories = every_story(SMALL, "english")
    assert len(stories) > 20
    assert math.fsum(stories.values()) == pytest.approx(1, rel=1e-12)
    for first, second in itertools.product(list(stories)[:4], repeat=2):
        both = SMALL.log_prob(first + second, "english")
        assert math.exp(both) == pytest.approx(stories[first] * stories[second], rel=1e-12)
    for beginning in {line[:length] for line in stories for length in range(len(line) + 1)}:
        begun = {line: p for line, p in stories.items() if line.startswith(beginning)}
        total = math.fsum(begun.values())
        assert math.exp(SMALL.log_prob(beginning, "english")) == pytest.approx(total, rel=1e-12), beginning
        following: Counter[str] = Counter()
        for line, probability in begun.items():
            following[line[len(beginning) : len(beginning) + 1]] += probability / total
        if "" not in following:
            assert SMALL.next_character(beginning, "english") == pytest.approx(dict(following), rel=1e-12), beginning


def test_impossible_texts_have_infinite_loss():
    story = sample(stories=1, seed=1)
    for text in ("\n", story + "\n", " " + story, story.replace(".", ",", 1), story.upper(), "Ada had had", "আডা"):
        assert true_nll(text) == math.inf, text
    assert true_nll(story, "bangla") == math.inf
    with pytest.raises(ValueError, match="nothing can follow"):
        written.next_character_distribution("Ada had had ")
    with pytest.raises(ValueError, match="not in 'french'"):
        true_nll(story, "french")
    begun = "One day, Ada saw a small dog and two fat hens near the river. The dog drank the water because it was "
    assert {"t", "c"} <= set(
        written.next_character_distribution(begun)
    )  # thirsty (the dog was) or cold (the water was)
    assert math.isfinite(true_nll(begun + "thirsty. Who was thirsty? The dog was. The hens"))
    assert math.isfinite(true_nll(begun + "cold. What was cold? The water was."))
    assert true_nll(begun + "cold. Who was cold?") == math.inf


def test_a_story_with_a_wrong_pronoun_is_impossible():
    swap = {"she": "he", "he": "she", "his": "her", "him": "her", "her": "his him"}
    for line in sample(stories=300, seed=10).splitlines(keepends=True):
        for found in re.finditer(r"\b(he|she|his|him|her)\b", line, re.IGNORECASE):
            for new in swap[found[0].lower()].split():
                other = new.capitalize() if found[0][0].isupper() else new
                assert true_nll(line[: found.start()] + other + line[found.end() :]) == math.inf, (line, other)


def test_sampling_is_the_same_in_every_process():
    code = "from transformer_exercises.stories import *; print(ascii(sample('igbo', stories=9) + str(parallel(9))))"
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    there = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
    assert there.strip() == ascii(sample("igbo", stories=9) + str(parallel(9)))


def test_english_files_consist_of_whole_stories_without_repeats():
    text = write.text("english", "train", 300_000)
    assert text.endswith("\n")
    assert 300_000 <= len(text) < 301_000
    lines = text.splitlines()
    assert 150 < len(text) / len(lines) < 300
    assert len(set(lines)) == len(lines)
    assert not set(lines) & set(write.text("english", "validation", 30_000).splitlines())


def test_english_files_use_few_symbols_and_words():
    text = write.text("english", "train", 300_000)
    assert text.isascii()
    assert 50 <= len(set(text)) <= 60
    assert len(set(re.findall(r"[a-z]+", text.lower()))) < 420


def test_a_sample_needs_a_number_of_stories_or_characters():
    with pytest.raises(ValueError, match="either stories"):
        sample(seed=1)


@pytest.mark.parametrize("language", LANGUAGES)
def test_texts_are_normalised_and_tidy(language: str):
    text = sample(language, characters=60_000, seed=14)
    assert unicodedata.is_normalized("NFC", text)
    assert not re.search(r"  | [.,?!।]|^ | $|[{}\[\]|]|\.\.", text, re.MULTILINE)
    assert re.search(r"\b(an [^aeiou]|a [aeiou])", text) is None or language != "english"
    for line in text.splitlines():
        assert line.count('"') % 2 == 0, line
        assert line[-1] in ('."?!' if language != "bangla" else '।"?!'), line
        if language == "bangla":
            assert not re.search(r"[A-Za-z.]", line), line
        else:  # a sentence begins with a capital (ọ̀ and its like included)
            assert not re.search(r"(?:^|[.?] )\"?[a-zàáịọụṅ]", line), line


def every_sentence(nodes: tuple = STORIES.story) -> list[Say]:
    found = []
    for node in nodes:
        found += [node] if isinstance(node, Say) else [one for _, way in node.branches for one in every_sentence(way)]
    return found


PRONOUNS = {"he", "him", "his", "it", "its", "them", "was"}


def test_every_pattern_names_the_same_people_and_things_in_every_language():
    """A sentence that is understood alone names whom it means before a pronoun does."""
    for sentence in every_sentence():
        english, *others = (SLOT.findall(pattern.lower()) for pattern in sentence.patterns)
        named = {name for name, form in english if form not in PRONOUNS}
        assert all(named <= {name for name, _ in other} for other in others), sentence.patterns
        for location, (name, form) in enumerate(english):
            before = {other for other, _ in english[:location]}
            assert not sentence.alone or form not in PRONOUNS or name in before, sentence.patterns[0]


def test_every_form_that_a_pattern_asks_for_exists():
    """Tell 4,000 stories in every language: a form that the lexicon lacks would be a KeyError."""
    source, messages = random.Random(17), set()
    for _ in range(4000):
        story = STORIES.derive(source)
        messages.update(sentence for language in LANGUAGES for sentence, _ in story.sentences(language))
    assert messages == set(every_sentence())


def test_parallel_sentences_are_distinct_and_in_step():
    rows = parallel(400, seed=16)
    assert len({english for english, _, _ in rows}) == len(set(rows)) == 400
    assert rows[:100] == parallel(100, seed=16)
    assert all(cell == cell.strip() != "" and not set(cell) & set("\t\n") for row in rows for cell in row)


NUMBERS = [pytest.param(one, marks=pytest.mark.long if one in ("09", "12") else ()) for one in write.ASSIGNMENTS]


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_assignments_hold_what_the_script_writes(number: str, root):
    """If not: python -m transformer_exercises.stories"""
    [folder] = write.folders(number, root / "solutions")
    for name, make in write.ASSIGNMENTS[number].items():
        assert (folder / name).read_bytes() == make().encode(), name


def test_the_script_writes_into_folders_that_exist_and_nowhere_else(tmp_path):
    (tmp_path / "11-translation").mkdir()
    (tmp_path / "13-other").mkdir()
    written = write.write(tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in written] == ["11-translation/stories-parallel.tsv"]
    rows = written[0].read_text(encoding="utf-8").splitlines()
    assert rows[0] == "english\tigbo\tbangla"
    assert len(rows) == 6_001


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_story_of_the_files_is_possible_and_the_floor_is_their_mean(language: str):
    text = write.text(language, "train", 30_000)
    losses = [true_nll(line, language) for line in text.splitlines(keepends=True)]
    assert max(losses) < math.inf
    floor = write.floor(language, "train", 30_000)
    assert floor["characters"] == len(text)
    assert floor["floor"] == pytest.approx(math.fsum(losses) / len(text), rel=1e-12)
    assert 0.25 < floor["floor"] / math.log(2) < 0.4  # bits per character
