"""Generate a corpus with a known floor: stories in English, Igbo and Bangla, and the exact probability of any text.

    sample("english", stories=3, seed=0)      three stories, one per line
    true_nll(text)                            −log p(text) in nats: no language model can expect to do better
    next_character_distribution("Ada had ")   the predictions of a perfect model
    parallel(3)                               the same sentences as (english, igbo, bangla)

A text is the beginning of an endless stream of independent stories, each ended by a newline. So `true_nll(text)` is the
sum over its characters of −log p(character | all before it), exactly what a language model's loss adds up, and
`true_nll(text) / len(text)` is the floor of that loss. A text that begins no stream of stories has probability 0.

The modules: `engine` (probability), `languages` (word forms), `lexicon` (words), `plots` (stories), `write` (the files
in the assignments' folders; `python -m transformer_exercises.stories` writes them).
"""

import math
import random
from collections.abc import Iterator

from .engine import Derivation
from .languages import LANGUAGES
from .plots import STORIES

__all__ = ["LANGUAGES", "next_character_distribution", "parallel", "prefix_log_prob", "sample", "true_nll"]


def derivations(seed: int) -> Iterator[Derivation]:
    """Yield stories without end, the same in every language.

    Each is told in English first and has its own source of randomness, so that further draws for another language
    cannot change the stories that follow.
    """
    source = random.Random(seed)
    while True:
        story = STORIES.derive(random.Random(source.getrandbits(64)))
        story.line(LANGUAGES[0])
        yield story


def sample(
    language: str = "english", *, stories: int | None = None, characters: int | None = None, seed: int = 0
) -> str:
    """Return whole stories, each with a newline: this many `stories`, or as many as reach this many `characters`.

    Raises ValueError unless exactly one of the two is given, or if the language is unknown.
    """
    check(language)
    if (stories is None) == (characters is None):
        raise ValueError("Say how much to sample: either stories=… or characters=…")
    most_lines = math.inf if stories is None else stories
    most = math.inf if characters is None else characters
    lines: list[str] = []
    length = 0
    for story in derivations(seed):
        if len(lines) >= most_lines or length >= most:
            break
        lines.append(story.line(language))
        length += len(lines[-1])
    return "".join(lines)


def true_nll(text: str, language: str = "english") -> float:
    """Return −log p(text) in nats, exactly, over all derivations; infinite if no stream of stories begins with it."""
    return -prefix_log_prob(text, language)


def prefix_log_prob(prefix: str, language: str = "english") -> float:
    """Return log p that a stream of stories begins with `prefix`, which may stop in the middle of a word."""
    check(language)
    return STORIES.log_prob(prefix, language)


def next_character_distribution(prefix: str, language: str = "english") -> dict[str, float]:
    """Return p(character | prefix) for every character that can follow: the predictions of a perfect model."""
    check(language)
    return STORIES.next_character(prefix, language)


def parallel(n: int, seed: int = 0) -> list[tuple[str, str, str]]:
    """Return `n` different sentences of stories as (english, igbo, bangla), each understood without its story."""
    found: dict[str, tuple[str, str, str]] = {}
    for story in derivations(seed):
        for (source, english), (_, igbo), (_, bangla) in zip(
            *(story.sentences(language) for language in LANGUAGES), strict=True
        ):
            if len(found) == n:
                return list(found.values())
            if source.alone:
                found.setdefault(english.strip(), (english.strip(), igbo.strip(), bangla.strip()))
    raise AssertionError("the stream of stories has no end")


def check(language: str) -> None:
    if language not in LANGUAGES:
        raise ValueError(f"The stories are told in {', '.join(LANGUAGES)}, not in {language!r}.")
