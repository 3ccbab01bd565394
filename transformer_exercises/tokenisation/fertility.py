"""`fertility`: tokens per white-space word for two tokenizers in nine languages, odd blanks, texts without words.

The mistakes: the ratio upside down, words cut or counted in another way, texts tokenised piece by piece.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from autograder.spec.compare import kind
from autograder.spec.course import reference
from autograder.spec.exercise import Asking, Check, Exercise, Problem, ValuesDiffer, Wrong
from autograder.spec.inputs import source_of
from autograder.spec.student import Kept, Student

from .common import as_before, is_value_error

fertility = reference("fertility")


# Their source is sent, so what they need is imported inside.
def make_bytes():
    """A byte-level tokenizer with a few merges, made without training."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    merges = [
        ("t", "h"),
        ("th", "e"),
        ("Ġ", "the"),
        ("Ġ", "d"),
        ("i", "n"),
        ("e", "r"),
        ("w", "a"),
        ("Ġ", "wa"),
        ("a", "n"),
    ]
    symbols = sorted(pre_tokenizers.ByteLevel.alphabet()) + [left + right for left, right in merges]
    tokenizer = Tokenizer(models.BPE({symbol: i for i, symbol in enumerate(symbols)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def make_words():
    """A tokenizer of whole words, in which groups of punctuation marks are tokens as well."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"?": 0, "the": 1, "dog": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


LANGUAGES = {
    "English": "The dog drinks water because it was thirsty.",
    "Igbo": "Nkịta na-aṅụ mmiri n'ihi na akpịrị na-akpọ ya nkụ.",
    "Bangla": "কুকুরটি জল খায় কারণ তার তেষ্টা পেয়েছিল।",
    "German": "Der Hund trinkt Wasser, weil er durstig war.",
    "Greek": "Ο σκύλος πίνει νερό γιατί διψούσε.",
    "Russian": "Собака пьёт воду, потому что ей хотелось пить.",
    "Hindi": "कुत्ता पानी पीता है क्योंकि वह प्यासा था।",
    "Arabic": "الكلب يشرب الماء لأنه كان عطشان.",
    "Yoruba": "Ajá náà ń mu omi nítorí pé òùngbẹ ń gbẹ ẹ́.",
}


def _their_tokenizer(student: Student, make: Callable) -> Kept:
    return student.call(student.probe(make.__name__, source_of(make)), [], keep=True)["value"]


def _rated(student: Student, make: Callable, texts: dict[str, str], where: str) -> None:
    got = student.value("fertility", _their_tokenizer(student, make), texts, where=where)
    expected = fertility(make(), texts)
    if not isinstance(got, dict):
        raise Wrong(f"A dictionary from each language to a number should be returned; yours is {kind(got)} {where}.")
    if set(got) != set(expected):
        raise Wrong(f"The keys should be the languages of `texts`, each of them {where}.")
    for language, value in got.items():
        if isinstance(value, torch.Tensor) and value.numel() == 1:
            value = value.item()
        if type(value) not in (int, float):
            raise Wrong(f"The value of each language should be a number; {language} has {kind(value)} {where}.")
        if not math.isclose(value, expected[language], rel_tol=1e-6):
            raise ValuesDiffer(f"The number for {language} {where} is not its tokens divided by its white-space words.")


def _rates(*cases: tuple[Callable, dict[str, str], str]) -> Asking:
    def ask(student: Student) -> None:
        for make, texts, where in cases:
            with student.case():
                _rated(student, make, texts, where)

    return ask


def _rated_manners(student: Student) -> None:
    texts = {"English": "the dog", "Igbo": "nkịta"}
    tokenizer = _their_tokenizer(student, make_bytes)
    answer = student.call("fertility", [tokenizer, texts], after=True)
    _rated(student, make_bytes, texts, "for two short texts")
    if any(type(value) is not float for value in answer["value"].values()):
        raise Wrong("The values should be plain numbers of type float.", "wrong_type")
    as_before(answer["after"][1:], [texts], "texts")


def _rated_empty(student: Student) -> None:
    _rated(student, make_bytes, {"English": "the dog", "Igbo": "nkịta"}, "for two short texts")
    tokenizer = _their_tokenizer(student, make_bytes)
    for text in ("", " \n "):
        with student.case():
            where = f"for the text {text!r}"
            try:
                got = student.value("fertility", tokenizer, {"English": "the dog", "Igbo": text}, where=where)
            except Problem as problem:
                if problem.error in ("", "NotImplementedError"):
                    raise
                if not is_value_error(problem.error):
                    raise Wrong(
                        f"A text without words ({text!r}) should be a ValueError; your code stops with {problem.error}."
                    ) from None
            else:
                raise Wrong(
                    f"A text without words ({text!r}) should be a ValueError; yours returned {kind(got)}.",
                    "empty_hidden",
                )


EXERCISE = Exercise(
    points=2,
    checks=[
        Check(
            "tokens per word in nine languages",
            1.0,
            _rates(
                (make_bytes, LANGUAGES, "for nine languages"),
                (make_words, LANGUAGES, "for a tokenizer of whole words"),
                (make_bytes, {"English": LANGUAGES["English"]}, "for one language"),
                (
                    make_bytes,
                    {"one": "the", "two": "the dog", "seven": "a an the wa waer thin dog"},
                    "for texts of one to seven words",
                ),
            ),
        ),
        Check(
            "words are what white space separates",
            0.5,
            _rates(
                (
                    make_bytes,
                    {"blanks": "  the   dog ", "lines": "the dog\nthe other\n\tdog\n", "wide": "the\u3000dog\u00a0in"},
                    "with much white space",
                ),
                (make_bytes, {"marks": "Well, the dog - a well-known one - isn't in!"}, "with punctuation"),
                (
                    make_words,
                    {"marks": "the dog , ( the dog ) ...", "lines": "the dog.\nthe dog and the other dog!"},
                    "with lone marks",
                ),
            ),
            further=True,
        ),
        Check("plain floats, `texts` unchanged", 0.3, _rated_manners, further=True),
        Check("a text without words is a ValueError", 0.2, _rated_empty),
    ],
    working=r"""
def fertility(tokenizer, texts):
    lengths = [len(encoding.tokens) for encoding in tokenizer.encode_batch(list(texts.values()))]
    words = [len(text.split()) for text in texts.values()]
    if 0 in words:
        raise ValueError("texts: one of them has no words")
    return {language: n / m for language, n, m in zip(texts, lengths, words)}
""",
    gives="dict",
)
