"""Answers that are alike beyond what this class's answers are: worth a look, never proof.

The comparing is RapidFuzz's, the reading Pygments'. Short exercises have few right answers, and those naturally look
alike; so an answer counts only if it is longer than a few lines and unlike all that is catalogued, right or wrong, and
a pair only if the two are far closer to each other than either is to the nearest quarter of the class. What then
remains must add up, over all exercises that the two share, to more than one lucky coincidence.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from pygments.lexers import PythonLexer
from pygments.token import Token
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from ...spec.course import names, question_or_exercise
from ...spec.exercise import Exercise
from ..intake.repair import grade_id
from .bare_code import bare
from .data import Answer, Assignment

MIN_TOKENS = 30  # of an answer's own: fewer say nothing
MIN_SHARED = 80  # tokens that a pair must have in common, over all exercises, before it is mentioned
MAX_DISTANCE = 0.1  # share of tokens in which two answers that are "alike" may differ
CLOSER = 4.0  # times closer than the nearest quarter of the class
MIN_CLASS = 5  # answers: with fewer there is nothing to stand out from


@dataclass
class Pair:
    """Two students whose answers to these exercises are alike."""

    students: tuple[str, str]
    shared: int = 0  # tokens
    exercises: dict[str, float] = field(default_factory=dict)  # how alike, from 0 to 1

    @property
    def alike(self) -> float:
        return min(self.exercises.values())


@functools.lru_cache(maxsize=64)
def similar_pairs(assignment: Assignment) -> list[Pair]:
    """The pairs of students worth a look, those with most in common first."""
    given = {grade_id(cell): cell.source for cell in assignment.released}
    pairs: dict[tuple[str, str], Pair] = {}
    for exercise in assignment.exercises:
        answers = [a for a in assignment.answers_to(exercise) if a.kind == "exercise" and a.answered and a.source]
        for students, tokens, alike in _alike(answers, exercise, given.get(exercise, "")):
            pair = pairs.setdefault(students, Pair(students))
            pair.shared += tokens
            pair.exercises[exercise] = alike
    found = [pair for pair in pairs.values() if pair.shared >= MIN_SHARED]
    return sorted(found, key=lambda pair: (-pair.shared, pair.students))


def _alike(answers: Sequence[Answer], exercise: str, stub: str) -> Iterator[tuple[tuple[str, str], int, float]]:
    if len(answers) < MIN_CLASS:
        return
    read = _Reader(stub)
    texts = [read(answer.source) for answer in answers]
    known = [text for text in map(read, _known(exercise)) if text]
    sizes = np.array([len(text) for text in texts])
    distance = _distances(texts, texts)
    far = np.array([_nearest_quarter(np.delete(row, index)) for index, row in enumerate(distance)])
    own = sizes >= MIN_TOKENS
    if known:
        own &= _distances(texts, known).min(axis=1) > MAX_DISTANCE
    close = (distance <= MAX_DISTANCE) & (distance * CLOSER < np.minimum(far[:, None], far[None, :]))
    for i, j in zip(*np.nonzero(np.triu(close & own[:, None] & own[None, :], 1)), strict=True):
        first, second = sorted((answers[i].student, answers[j].student))
        yield (first, second), int(min(sizes[i], sizes[j])), Indel.normalized_similarity(texts[i], texts[j])


def _distances(texts: Sequence[str], others: Sequence[str]) -> np.ndarray:
    """The share of tokens in which answers differ. One more counts as different: of short answers less is known."""
    differing = cdist(texts, others, scorer=Indel.distance, dtype=np.int32)
    total = np.array([len(text) for text in texts])[:, None] + np.array([len(text) for text in others])[None, :]
    return (differing + 1) / (total + 1)


def _nearest_quarter(distances: np.ndarray) -> float:
    """How far away the last of the nearest quarter is, the one nearest answer left out: it may be the copy."""
    return float(np.sort(distances)[max(1, len(distances) // 4)])


def _known(exercise: str) -> list[str]:
    """The catalogue, right and wrong: whoever writes what is in it needs nobody to copy from."""
    if exercise not in names():
        return []
    declared = question_or_exercise(exercise)
    if not isinstance(declared, Exercise):
        return []
    wrong = (source for mistake in declared.mistakes for source in mistake.sources)
    return [declared.source, *(alternative.source for alternative in declared.alternatives), *wrong]


class _Reader:
    """Turns sources into strings of one character a token.

    Comments, docstrings and layout are left out, and so are the lines that were handed out. Names are all one, but for
    what is called on something: renaming a variable is no change, `triu` for `tril` is.
    """

    def __init__(self, stub: str) -> None:
        self.lexer = PythonLexer()
        self.stub = {line.strip() for line in bare(stub).splitlines()}
        self.characters: dict[str, str] = defaultdict(lambda: chr(0x100 + len(self.characters)))

    def __call__(self, source: str) -> str:
        own = "\n".join(line for line in bare(source).splitlines() if line.strip() not in self.stub)
        found, after_dot = [], False
        for kind, text in self.lexer.get_tokens(own):
            if kind in Token.Text or not text.strip():
                continue
            if kind in Token.Literal.String:
                text = "string"
            elif kind in Token.Name and kind not in Token.Name.Builtin and not after_dot:
                text = "name"
            found.append(self.characters[text])
            after_dot = text == "."
        return "".join(found)
