"""Find pairs of answers that are far more alike than the class's answers usually are: worth a look, never proof."""

import functools
import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from pygments.token import Token
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from ...spec.course import names, question_or_exercise
from ...spec.exercise import Exercise
from ..intake.repair import grade_id
from .bare_code import bare, bare_lines
from .data import Answer, Assignment

MIN_TOKENS = 30  # of an answer, without the release's lines: shorter answers are alike by chance
MIN_SHARED = 80  # tokens that a reported pair has in common, over all exercises
MAX_DISTANCE = 0.1  # share of tokens in which similar answers may differ
CLOSER = 4.0  # times closer than the nearest quarter of the class
MIN_CLASS = 5  # answers; with fewer there is no class to compare with


@dataclass
class Pair:
    students: tuple[str, str]
    shared: int = 0  # tokens
    exercises: dict[str, float] = field(default_factory=dict)  # similarity from 0 to 1

    @property
    def alike(self) -> float:
        return min(self.exercises.values())


@functools.lru_cache(maxsize=64)
def similar_pairs(assignment: Assignment) -> list[Pair]:
    """Return the pairs of students with similar answers, those with most tokens in common first."""
    stubs = {grade_id(cell): cell.source for cell in assignment.released}
    pairs: dict[tuple[str, str], Pair] = {}
    for exercise in assignment.exercises:
        answers = [a for a in assignment.answers_to(exercise) if a.kind == "exercise" and a.answered and a.source]
        for students, tokens, alike in _alike(answers, exercise, stubs.get(exercise, "")):
            pair = pairs.setdefault(students, Pair(students))
            pair.shared += tokens
            pair.exercises[exercise] = alike
    found = [pair for pair in pairs.values() if pair.shared >= MIN_SHARED]
    return sorted(found, key=lambda pair: (-pair.shared, pair.students))


def _alike(answers: Sequence[Answer], exercise: str, stub: str) -> Iterator[tuple[tuple[str, str], int, float]]:
    if len(answers) < MIN_CLASS:
        return
    read = functools.cache(_Reader(stub))  # many answers are the same
    texts = [read(answer.source) for answer in answers]
    known = [text for text in map(read, _known(exercise)) if text]
    sizes = np.array([len(text) for text in texts])
    distance = _distances(texts, texts)
    quarter = 1 + max(1, (len(answers) - 1) // 4)  # each answer is its own nearest; the next may be the copy
    far = np.sort(distance)[:, quarter]
    own = sizes >= MIN_TOKENS
    if known:
        own &= _distances(texts, known).min(axis=1) > MAX_DISTANCE
    close = (distance <= MAX_DISTANCE) & (distance * CLOSER < np.minimum(far[:, None], far[None, :]))
    for i, j in zip(*np.nonzero(np.triu(close & own[:, None] & own[None, :], 1)), strict=True):
        first, second = sorted((answers[i].student, answers[j].student))
        yield (first, second), int(min(sizes[i], sizes[j])), Indel.normalized_similarity(texts[i], texts[j])


def _distances(texts: Sequence[str], others: Sequence[str]) -> np.ndarray:
    """Return the shares of tokens in which answers differ, with one added token: short answers tell less."""
    differing = cdist(texts, others, scorer=Indel.distance, dtype=np.int32)
    return np.asarray((differing + 1) / (np.add.outer([*map(len, texts)], [*map(len, others)]) + 1))


def _known(exercise: str) -> list[str]:
    """Return the catalogued programs of an exercise, right and wrong: students may write those without copying."""
    declared = question_or_exercise(exercise) if exercise in names() else None
    if not isinstance(declared, Exercise):
        return []
    wrong = (source for mistake in declared.mistakes for source in mistake.sources)
    return [declared.source, *(alternative.source for alternative in declared.alternatives), *wrong]


class _Reader:
    """Turn sources into strings of a character per token. Names that a student may choose are all the same token."""

    def __init__(self, stub: str) -> None:
        self.stub = {line.strip() for line in bare(stub).splitlines()}
        self.characters: dict[str, str] = defaultdict(lambda: chr(0x100 + len(self.characters)))

    def __call__(self, source: str) -> str:
        own = (tokens for code, tokens in bare_lines(source) if code.strip() not in self.stub)
        found, after_dot = [], False
        for kind, text in itertools.chain.from_iterable(own):
            if kind in Token.Text or not text.strip():
                continue
            if kind in Token.Literal.String:
                text = "string"
            elif kind in Token.Name and kind not in Token.Name.Builtin and not after_dot:
                text = "name"
            found.append(self.characters[text])
            after_dot = text == "."
        return "".join(found)
