"""`fertility`: tokens per white-space word for two tokenizers in nine languages, odd blanks, texts without words."""

import math
from collections.abc import Callable

import torch

from autograder.spec import (
    Check,
    CheckFunction,
    Exercise,
    Kept,
    Student,
    ValuesDiffer,
    Wrong,
    kind,
    only_values,
    other_words,
    reference,
    source_of,
)

from .sequence_checks import as_before, value_error


# Their source is sent, so what they need is imported inside.
def make_bytes():
    """Make a byte-level tokenizer with a few merges, without training."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    pairs = (("t", "h"), ("th", "e"), ("Ġ", "the"), ("Ġ", "d"), ("i", "n"), ("e", "r"), ("w", "a"), ("Ġ", "wa"))
    merges = [*pairs, ("a", "n")]
    symbols = sorted(pre_tokenizers.ByteLevel.alphabet()) + [left + right for left, right in merges]
    tokenizer = Tokenizer(models.BPE({symbol: i for i, symbol in enumerate(symbols)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def make_words():
    """Make a tokenizer of whole words, in which groups of punctuation marks are tokens as well."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"?": 0, "the": 1, "dog": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


def make_framed():
    """Make a tokenizer of whole words that puts a token before each text and a new line behind it."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({"?": 0, "the": 1, "dog": 2, "<s>": 3, "\n": 4}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = [("<s>", 3), ("\n", 4)]
    tokenizer.post_processor = processors.TemplateProcessing(single=["<s>", "$A", "\n"], special_tokens=special)
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

COUNTED = (
    *((make_bytes, LANGUAGES), (make_words, LANGUAGES), (make_framed, {"English": LANGUAGES["English"]})),
    (make_bytes, {"one": "the", "two": "the dog", "seven": "a an the wa waer thin dog"}),
)

WHITE_SPACE = (
    (make_bytes, {"blanks": "  the   dog ", "lines": "the dog\nthe other\n\tdog\n", "wide": "the\u3000dog\u00a0in"}),
    (make_bytes, {"marks": "Well, the dog - a well-known one - isn't in!"}),
    (make_words, {"marks": "the dog , ( the dog ) ...", "lines": "the dog.\nthe dog and the other dog!"}),
)

WORDS = "the", "a", "an", "in", "dog", "waer", "thin", "other", "drinks", "isn't"  # of many numbers of tokens
TWO = {"English": "the dog", "Igbo": "nkịta"}


def _theirs(student: Student, make: Callable) -> Kept:
    return student.call(student.probe(make.__name__, source_of(make)), [], keep=True)["value"]


def _rated(student: Student, tokenizer: Kept, make: Callable, texts: dict[str, str], plain: bool = False) -> None:
    """Raise `Wrong` unless the numbers of some texts are right for a tokenizer, with `plain` floats too."""
    where, expected = f"for texts called {', '.join(texts)}", reference("fertility")(make(), texts)
    answer = student.call("fertility", [tokenizer, texts], where=where, after=True)
    got = answer["value"]
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
    if plain and any(type(value) is not float for value in got.values()):
        raise Wrong("The values should be plain floats.", "wrong_type")
    if plain:
        as_before(answer["after"][1:], [texts], "texts")


def _others(texts: dict[str, str]) -> dict[str, str]:
    return {language: other_words(text, *WORDS) for language, text in texts.items()}


def _rates(*cases: tuple[Callable, dict[str, str]], plain: bool = False) -> CheckFunction:
    def check(student: Student) -> None:
        for make, texts in cases:
            with student.case():
                _rated(student, _theirs(student, make), make, _others(texts), plain)

    return check


def _empty(student: Student) -> None:
    two, tokenizer = _others(TWO), _theirs(student, make_bytes)
    with student.case(), only_values():
        _rated(student, tokenizer, make_bytes, two)
    for text in ("", " \n "):
        with student.case():
            args, what = [tokenizer, two | {"Igbo": text}], f"A text without words ({text!r}) should be a ValueError"
            value_error(student, "fertility", args, f"for {text!r}", what, "empty_hidden")


EXERCISE = Exercise(
    Check("tokens per word in nine languages", 1.0, _rates(*COUNTED)),
    Check("words are what white space separates", 0.5, _rates(*WHITE_SPACE), dependent=True),
    Check("plain floats, `texts` unchanged", 0.3, _rates((make_bytes, TWO), plain=True), dependent=True),
    Check("a text without words is a ValueError", 0.2, _empty, dependent=True),
    takes="other",
    gives="dict",
    harmless=("other_signature", "global_generator"),
)
