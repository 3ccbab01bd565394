"""`bleu`: as sacrebleu counts, smooths and penalises, for sentences, corpora, and texts in which nothing matches."""

import itertools

from autograder.spec import (
    Cases,
    Check,
    CheckFunction,
    DependentCase,
    Exercise,
    cases_of,
    gives_float,
    normal,
    other_letters,
    refuses,
)

cases = cases_of("bleu")
Sentences = list[list[str]]
_WORDS = ["the", "cat", "sat", "on", "a", "mat", "while", "dogs", "and", "birds", "sang", "in", "old", "trees"]


def _sentence(length: int, words: int = len(_WORDS)) -> list[str]:
    """Return words in an order of their own; the first few, where only few are asked for."""
    return [_WORDS[i] for i in (normal(length).abs() * 1000).long() % words]


def _worsened(sentence: list[str], share: float, longer: int = 0) -> list[str]:
    """Return some words replaced by others, and the sentence made longer or shorter at its end."""
    kept = (normal(len(sentence)).abs() > share * 1.5).tolist() if sentence else []
    worse = [word if keep else "zebra" for word, keep in zip(sentence, kept, strict=True)]
    return worse + ["again"] * longer if longer >= 0 else worse[:longer]


def _score(hypotheses: Sentences, references: Sentences, where: str) -> DependentCase:
    return gives_float([hypotheses, references], "The score", where, 1e-6)


def _split(*rows: tuple[str, str, str]) -> CheckFunction:
    """Make a check of rows of texts: sentences with strokes between them, or "-" for none at all."""

    def sentences(text: str) -> Sentences:
        return [] if text == "-" else [sentence.split() for sentence in text.split("|")]

    def score(written: str, wanted: str, where: str) -> DependentCase:
        hypotheses, references = map(sentences, other_letters([written, wanted]))
        return _score(hypotheses, references, where)

    return cases(lambda: itertools.starmap(score, rows))


_one = _split(
    ("a b c d e", "a b c d f", "for five tokens, four of them right"),
    ("the cat sat on the mat", "the cat sat on a mat", "for one wrong word in the middle"),
    ("a b c d", "a b c d", "for a perfect sentence of four tokens"),
    ("the dog ran to the big house", "the dog ran to the big house", "for a perfect sentence"),
    ("a b c d a b c d a b c d", "a b c d e f g h i j k l", "for a phrase that is repeated"),
    ("x a b c d e y", "a b c d e f g", "for a phrase in another place"),
    ("The cat sat on it .", "the cat sat on it .", "where a capital letter differs"),
    ("of of the the the the of of", "of the the of", "for words that are repeated too often"),
    ("to day is a good one", "today is a go odone", "where other tokens have the same letters"),
)


@cases
def _corpus() -> Cases:
    for count, words, share in ((2, 14, 0.2), (5, 14, 0.15), (8, 5, 0.3), (20, 3, 0.4), (3, 2, 0.2)):
        wanted, where = [_sentence(5 + (7 * i) % 9, words) for i in range(count)], f"for {count} sentences"
        yield _score([_worsened(one, share) for one in wanted], wanted, f"{where} with {words} different words")
    wanted = [_sentence(length) for length in (12, 6, 3, 2, 1)]
    written = [wanted[0], _worsened(wanted[1], 0.2), wanted[2], _sentence(2), wanted[4]]
    yield _score(written, wanted, "for sentences of different lengths, some shorter than four tokens")
    wanted = [_sentence(9), _sentence(6), _sentence(7)]
    written, where = (
        [_worsened(one, 0.25) for one in wanted],
        "for a corpus in which a pair of sentences comes three times",
    )
    yield _score([*written, *written[:1] * 2], [*wanted, *wanted[:1] * 2], where)
    wanted = [_sentence(30 + i % 11) for i in range(150)]
    written = [_worsened(one, 0.2, i % 3 - 1) for i, one in enumerate(wanted)]
    yield _score(written, wanted, "for 150 sentences of some thirty tokens")
    wanted = [_sentence(9, 4), _sentence(7, 4)]
    yield _score(wanted[::-1], wanted, "for two sentences that were exchanged")


@cases
def _brevity() -> Cases:
    for longer in (-1, -4, 0, 1, 3):
        wanted = [_sentence(8), _sentence(11), _sentence(9)]
        than = f"{'shorter' if longer < 0 else 'longer'} than their references by {abs(longer)}"
        where = f"for hypotheses {than if longer else 'as long as their references'}"
        yield _score([_worsened(one, 0.1, longer) for one in wanted], wanted, where)
    for n in (6, 5):
        yield _score([[*"abcdef"[:n]]], [[*"abcdef"[: 11 - n]]], "for one sentence that is a token longer or shorter")
    for lengths, what in (((-3, 3), "as much"), ((-4, 2), "less")):
        wanted = [_sentence(8), _sentence(12)]
        written = [_worsened(one, 0.0, longer) for one, longer in zip(wanted, lengths, strict=True)]
        yield _score(written, wanted, f"where one hypothesis is too short and the other {what} too long")


_smoothing = _split(
    ("a b c x d e f y", "a b c d e f g h", "when no 4-gram matches"),
    ("a b x c d y e", "a b c d e f g", "when no 3-gram and no 4-gram matches"),
    ("a x b y c z", "a b c d e f", "when only single words match"),
    ("a x b y c z | q r s t u", "a b c d e f | a b c d e", "when only single words of one sentence match"),
    ("b a d c f e", "a b c d e f", "when all words are right and in the wrong order"),
    ("a b c x d e f | the x", "a b c d e f g | the cat", "when no 4-gram of two sentences matches"),
    ("a b x c d | a b c x", "a b c d e | a b c d e f", "when no 4-gram matches and the hypotheses are too short"),
)

_nothing = _split(
    ("v w x y z", "a b c d e", "when nothing matches"),
    ("a b c", "a b c", "when no hypothesis has four tokens"),
    ("a b | c", "a b c d e | c d e f", "when no hypothesis has four tokens"),
    ("", "a b c d", "for an empty hypothesis"),
    ("|", "|", "for empty sentences"),
    ("a b c d e |", "a b c d e | a b c", "when one hypothesis of two is empty"),
    ("a b c d e | a b", "a b c d e |", "when one reference of two is empty"),
    ("a b c d e |", "a b c d f |", "when both sentences of a pair are empty"),
    ("-", "-", "for no sentences at all"),
)


@cases
def _side_effects() -> Cases:
    sentence = _sentence(7)
    yield _score([_worsened(sentence, 0.2), sentence], [sentence, _worsened(sentence, 0.1)], "for two sentences")
    written, wanted = [_sentence(6), _sentence(7)], [_sentence(6), _sentence(5)]
    yield gives_float({"references": wanted, "hypotheses": written}, "The score", "with arguments by name")
    some, other = ["a", "b", "c", "d"], ["e", "f"]
    for hypotheses, references in (([some, other], [some]), ([some], [some, other]), ([], [some[:2]])):
        yield refuses([hypotheses, references], f"{len(hypotheses)} hypotheses for {len(references)} references")


EXERCISE = Exercise(
    Check("one sentence: n-grams of 1 to 4, counted as often as in the reference", 1.5, _one),
    Check("a corpus: counts are summed over its sentences", 1.25, _corpus),
    Check("the brevity penalty, over the corpus", 1.0, _brevity),
    Check("smoothing, as sacrebleu does it", 1.0, _smoothing),
    Check("nothing matches, short and empty sentences", 0.75, _nothing),
    Check("lists unchanged, unequal numbers refused", 0.5, _side_effects, dependent=True),
    takes="list",
    gives="number",
    harmless=("global_generator", "error_returned", "bad_input_accepted"),
)
