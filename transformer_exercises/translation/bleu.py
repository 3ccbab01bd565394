"""`bleu`: as sacrebleu counts, smooths and penalises, for one sentence, a corpus, and texts in which nothing matches.

The mistakes: counts not clipped, sentences averaged, brevity by sentence, other smoothing, other means.
"""

from __future__ import annotations

from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import normal, raises_error
from autograder.spec.student import Student

from .common import float_answered

bleu = reference("bleu")

_WORDS_OF = ["the", "cat", "sat", "on", "a", "mat", "while", "dogs", "and", "birds", "sang", "in", "old", "trees"]


def _sentence(length: int, words: int = len(_WORDS_OF)) -> list[str]:
    """Words in an order of their own; the first few, where only few are asked for."""
    return [_WORDS_OF[i] for i in (normal(length).abs() * 1000).long() % words]


def _worsened(sentence: list[str], share: float, longer: int = 0) -> list[str]:
    """Some words replaced by others, and the sentence made longer or shorter at its end."""
    kept = (normal(len(sentence)).abs() > share * 1.5).tolist() if sentence else []
    worse = [word if keep else "zebra" for word, keep in zip(sentence, kept, strict=True)]
    return worse + ["again"] * longer if longer >= 0 else worse[:longer]


def _scored(student: Student, hypotheses: list, references: list, where: str) -> dict:
    expected = bleu(hypotheses, references)
    answer = float_answered(student, "bleu", [hypotheses, references], expected, "The score", where, 1e-6)
    if answer["after"] and list(answer["after"][:2]) != [hypotheses, references]:
        raise Wrong("The lists of tokens are changed: the caller's are different afterwards.", "input_changed")
    return answer


def _bleu_one(student: Student) -> None:
    for hypothesis, original, what in (
        ("a b c d e", "a b c d f", "for five tokens, four of them right"),
        ("the cat sat on the mat", "the cat sat on a mat", "for one wrong word in the middle"),
        ("a b c d", "a b c d", "for a perfect sentence of four tokens"),
        ("the dog ran to the big house", "the dog ran to the big house", "for a perfect sentence"),
        ("a b c d a b c d a b c d", "a b c d e f g h i j k l", "for a phrase that is repeated"),
        ("x a b c d e y", "a b c d e f g", "for a phrase in another place"),
        ("The cat sat on it .", "the cat sat on it .", "where a capital letter differs"),
        ("of of the the the the of of", "of the the of", "for words that are repeated too often"),
        ("to day is a good one", "today is a go odone", "where other tokens have the same letters"),
    ):
        with student.case():
            _scored(student, [hypothesis.split()], [original.split()], what)


def _bleu_corpus(student: Student) -> None:
    for count, words, share in ((2, 14, 0.2), (5, 14, 0.15), (8, 5, 0.3), (20, 3, 0.4), (3, 2, 0.2)):
        with student.case():
            references = [_sentence(5 + (7 * i) % 9, words) for i in range(count)]
            hypotheses = [_worsened(original, share) for original in references]
            _scored(student, hypotheses, references, f"for {count} sentences with {words} different words")
    with student.case():
        references = [_sentence(12), _sentence(6), _sentence(3), _sentence(2), _sentence(1)]
        hypotheses = [references[0], _worsened(references[1], 0.2), references[2], _sentence(2), references[4]]
        _scored(student, hypotheses, references, "for sentences of different lengths, some shorter than four tokens")
    with student.case():
        references = [_sentence(9), _sentence(6), _sentence(7)]
        hypotheses = [_worsened(original, 0.25) for original in references]
        where = "for a corpus in which a pair of sentences comes three times"
        _scored(
            student, [*hypotheses, hypotheses[0], hypotheses[0]], [*references, references[0], references[0]], where
        )
    with student.case():
        references = [_sentence(30 + i % 11) for i in range(150)]
        hypotheses = [_worsened(original, 0.2, i % 3 - 1) for i, original in enumerate(references)]
        _scored(student, hypotheses, references, "for 150 sentences of some thirty tokens")
    with student.case():
        references = [_sentence(9, 4), _sentence(7, 4)]
        where = "for two sentences that were exchanged"
        _scored(student, references[::-1], references, where)


def _bleu_brevity(student: Student) -> None:
    for longer, what in (
        (-1, "for hypotheses one token shorter than their references"),
        (-4, "for hypotheses much shorter than their references"),
        (0, "for hypotheses as long as their references"),
        (1, "for hypotheses one token longer than their references"),
        (3, "for hypotheses longer than their references"),
    ):
        with student.case():
            references = [_sentence(8), _sentence(11), _sentence(9)]
            hypotheses = [_worsened(original, 0.1, longer) for original in references]
            _scored(student, hypotheses, references, what)
    for hypothesis, original in (("a b c d e f", "a b c d e"), ("a b c d e", "a b c d e f")):
        with student.case():
            where = "for one sentence that is a token longer or shorter"
            _scored(student, [hypothesis.split()], [original.split()], where)
    with student.case():
        references = [_sentence(8), _sentence(12)]
        hypotheses = [_worsened(references[0], 0.0, -3), _worsened(references[1], 0.0, 3)]
        _scored(student, hypotheses, references, "where one hypothesis is too short and the other as much too long")
    with student.case():
        references = [_sentence(8), _sentence(12)]
        hypotheses = [_worsened(references[0], 0.0, -4), _worsened(references[1], 0.0, 2)]
        _scored(student, hypotheses, references, "where one hypothesis is too short and the other less too long")


def _bleu_smoothing(student: Student) -> None:
    for hypotheses, references, what in (
        (["a b c x d e f y"], ["a b c d e f g h"], "when no 4-gram matches"),
        (["a b x c d y e"], ["a b c d e f g"], "when no 3-gram and no 4-gram matches"),
        (["a x b y c z"], ["a b c d e f"], "when only single words match"),
        (["a x b y c z", "q r s t u"], ["a b c d e f", "a b c d e"], "when only single words of one sentence match"),
        (["b a d c f e"], ["a b c d e f"], "when all words are right and in the wrong order"),
        (["a b c x d e f", "the x"], ["a b c d e f g", "the cat"], "when no 4-gram of two sentences matches"),
        (
            ["a b x c d", "a b c x"],
            ["a b c d e", "a b c d e f"],
            "when no 4-gram matches and the hypotheses are too short",
        ),
    ):
        with student.case():
            _scored(student, [h.split() for h in hypotheses], [r.split() for r in references], what)


def _bleu_nothing(student: Student) -> None:
    for hypotheses, references, what in (
        (["v w x y z"], ["a b c d e"], "when nothing matches"),
        (["a b c"], ["a b c"], "when no hypothesis has four tokens"),
        (["a b", "c"], ["a b c d e", "c d e f"], "when no hypothesis has four tokens"),
        ([""], ["a b c d"], "for an empty hypothesis"),
        (["", ""], ["", ""], "for empty sentences"),
        (["a b c d e", ""], ["a b c d e", "a b c"], "when one hypothesis of two is empty"),
        (["a b c d e", "a b"], ["a b c d e", ""], "when one reference of two is empty"),
        (["a b c d e", ""], ["a b c d f", ""], "when both sentences of a pair are empty"),
        ([], [], "for no sentences at all"),
    ):
        with student.case():
            _scored(student, [h.split() for h in hypotheses], [r.split() for r in references], what)


def _bleu_manners(student: Student) -> None:
    with student.case():
        long_one = _sentence(7)
        _scored(
            student, [_worsened(long_one, 0.2), long_one], [long_one, _worsened(long_one, 0.1)], "for two sentences"
        )
    with student.case():
        named = {"references": [_sentence(6), _sentence(5)], "hypotheses": [_sentence(6), _sentence(7)]}
        got = student.call("bleu", [], named, "with arguments by name")["value"]
        if isinstance(got, float) and abs(got - bleu(**named)) > 1e-6 * abs(got):
            raise Wrong("The arguments by name are mixed up: bleu(hypotheses, references).")
    for hypotheses, references in (
        (["a b c d", "e f"], ["a b c d"]),
        (["a b c d"], ["a b c d", "e f g h"]),
        ([], ["a b"]),
    ):
        with student.case():
            args = [[h.split() for h in hypotheses], [r.split() for r in references]]
            with raises_error(f"{len(hypotheses)} hypotheses for {len(references)} references"):
                student.call("bleu", args)


EXERCISE = Exercise(
    points=6,
    checks=[
        Check("one sentence: n-grams of 1 to 4, counted as often as in the reference", 1.5, _bleu_one),
        Check("a corpus: counts are summed over its sentences", 1.25, _bleu_corpus),
        Check("the brevity penalty, over the corpus", 1.0, _bleu_brevity),
        Check("smoothing, as sacrebleu does it", 1.0, _bleu_smoothing),
        Check("nothing matches, short and empty sentences", 0.75, _bleu_nothing),
        Check("lists unchanged, unequal numbers refused", 0.5, _bleu_manners, further=True),
    ],
    working=r"""
import math
from collections import Counter

def bleu(hypotheses, references):
    if len(hypotheses) != len(references):
        raise ValueError("hypotheses and references differ in number")
    def grams(tokens, n):
        return Counter(zip(*(tokens[i:] for i in range(n))))
    pairs, smooth, logs = list(zip(hypotheses, references)), 1, 0.0
    for n in range(1, 5):
        right = sum(min(c, grams(r, n)[g]) for h, r in pairs for g, c in grams(h, n).items())
        total = sum(max(len(h) - n + 1, 0) for h, _ in pairs)
        if total == 0 or (n == 1 and right == 0):
            return 0.0
        if right == 0:
            smooth *= 2
        logs += math.log((right or 1 / smooth) / total)
    h, r = sum(len(h) for h, _ in pairs), sum(len(r) for _, r in pairs)
    return 100 * math.exp(min(0, 1 - r / h) + logs / 4)
""",
    takes="list",
    gives="number",
)
