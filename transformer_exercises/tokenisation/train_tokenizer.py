"""`train_tokenizer`: texts of all scripts that must come back, the size of the vocabulary, learning from every text.

The mistakes: no byte alphabet, no decoder, a normaliser, sizes not passed on, an iterator read twice.
"""

from __future__ import annotations

import functools
import unicodedata
from typing import Any

from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.student import Student

train_tokenizer = reference("train_tokenizer")

EARLY = [
    "The dog drinks water because it was thirsty.",
    "A quick brown fox jumps over the lazy dog near the river.",
    "Birds sing in the early morning, and the children listen.",
    "What did the teacher write on the blackboard?\n",
    "Every winter the old farmer repairs his wooden fences.",
    "My brother plays football with friends after school.",
]

LATE = [
    "Der Hund trinkt Wasser, weil er durstig war!",
    "Im Sommer schwimmen die Kinder jeden Nachmittag im See.",
    "Meine Schwester liest abends gern spannende Geschichten.",
    "Zwischen den Bergen liegt ein kleines, ruhiges Dorf.\t",
    "Warum kommt der Zug heute wieder so unglaublich spät?",
    "Die Bäckerin verkauft frische Brötchen und süßen Kuchen.",
]

TRAINING = 3 * EARLY + 3 * LATE

# Probes: what a tokenizer is and does is asked where it lives; nothing of a student's is ever loaded here.
LOOK = """
def look(tokenizer):
    import tokenizers
    usable = hasattr(tokenizer, "encode") and hasattr(tokenizer, "decode")
    return isinstance(tokenizer, tokenizers.Tokenizer), usable, type(tokenizer).__name__
"""

THERE_AND_BACK = """
def there_and_back(tokenizer, texts):
    encoded = [tokenizer.encode(text) for text in texts]
    return [tokenizer.decode(getattr(item, "ids", item)) for item in encoded]
"""

COUNT = """
def count(tokenizer, texts):
    return sum(len(tokenizer.encode(text)) for text in texts)
"""

SIZE = """
def size(tokenizer):
    return tokenizer.get_vocab_size() if hasattr(tokenizer, "get_vocab_size") else len(tokenizer)
"""

STREAM = """
def stream(texts):
    return (text for text in texts)
"""


def _trained(student: Student, texts: Any, vocab_size: int, where: str, strict: bool = False) -> Any:
    """The student's tokenizer, which stays in the student's process."""
    tokenizer = student.call("train_tokenizer", [texts, vocab_size], where=where, keep=True)["value"]
    answer = student.value(student.probe("look", LOOK), tokenizer)
    genuine, usable, name = answer if isinstance(answer, tuple) and len(answer) == 3 else (False, False, "?")
    if not usable or (strict and not genuine):
        what = "None (is a `return` missing?)" if name == "NoneType" else f"an object of type {name}"
        raise Wrong(
            f"A tokenizers.Tokenizer should be returned; yours returned {what}.", "other_type" if usable else ""
        )
    return tokenizer


def _comes_back(student: Student, tokenizer: Any, texts: list[str]) -> None:
    got = student.value(
        student.probe("there_and_back", THERE_AND_BACK), tokenizer, texts, where="encoding and decoding"
    )
    if not isinstance(got, list) or len(got) != len(texts):
        raise Wrong("Texts could not be encoded and decoded.")
    whole = [str(mine).replace("##", "") for mine in got]
    if whole != got:  # pieces of WordPiece's are left apart; which pieces it learns is left to chance
        student.note({"##": whole})
    for mine, text in zip(got, texts, strict=False):
        if mine != text:
            symptom, sentence = _what_happened(str(mine), text)
            raise Wrong(f"The text {text!r} does not come back exactly: {sentence}", symptom)


def _what_happened(got: str, text: str) -> tuple[str, str]:
    """How a text came back changed: the name of the mistake, and a sentence."""
    forms = {form: unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")}
    if got == " " + text:
        return "prefix_space", "it has a space in front (add_prefix_space=False does without)."
    if any(sign in got and sign not in text for sign in "ĠĊĉ▁"):
        return "no_decoder", "byte symbols such as Ġ are left in it (set the decoder)."
    if got in forms.values():
        return "normalised", "its characters were normalised; leave the normaliser out."
    if got.lower() == text.lower() or got == text.lower():
        return "lowercased", "capitals became small letters; leave the normaliser out."
    if got.split() == text.split() or "".join(got.split()) == "".join(text.split()):
        return "white_space_lost", "its white space is not what it was."
    if len(got) < len(text) or "\ufffd" in got:
        return "bytes_missing", "some of it is lost, because its bytes are not in the vocabulary (initial_alphabet)."
    return "", "it is something else."


@functools.cache
def _tokens_of_ours(part: str) -> int:
    tokenizer = train_tokenizer(TRAINING, 420)
    return sum(len(tokenizer.encode(text).ids) for text in {"early": EARLY, "late": LATE}[part])


def _returns_known(student: Student) -> None:
    tokenizer = _trained(student, TRAINING, 320, "on a list of short texts")
    for texts in (
        [EARLY[0], LATE[-1], "The fox drinks water in the See."],
        ["The dog", "Water!", "dog, birds and friends"],
        [" the dog", "dog ", "\n", "dog\n\n fox\tbird \n", "dog. \n  Dog"],
    ):
        with student.case():
            _comes_back(student, tokenizer, texts)


def _returns_anything(student: Student) -> None:
    tokenizer = _trained(student, EARLY, 300, "on English texts alone")
    for texts in (
        ["Ọ́ dị́ mma", "কুকুরটি জল খায়।", "狗喝水", "Собака", "كلب"],
        ["🙂", "👩🏽\u200d🚀 → 🌍", "\U0010fffd \U0001d518", "🇳🇬🇧🇩"],
        ["cafe\u0301 café ﬁ Ａ ½ ²", "Å Å Å", "İstanbul ſ ẞ"],
        ["\x01\x1b[0m\x7f\x85", "\u200d\u200b\ufeff\u2028", "Ġ▁##@@ ▁a", "zZqQ{}|~`^\\"],
        ["", " ", "   x   ", "\u00a0\u3000 "],
    ):
        with student.case():
            _comes_back(student, tokenizer, texts)


def _size_kept(student: Student) -> None:
    for vocab_size in (275, 320):
        with student.case():
            where = f"with vocab_size = {vocab_size}"
            tokenizer = _trained(student, TRAINING, vocab_size, where)
            got = student.value(student.probe("size", SIZE), tokenizer)
            if type(got) is not int or not 0 < got <= vocab_size:
                raise Wrong(
                    f"The vocabulary is larger than vocab_size, or empty: it has {got} entries {where}.",
                    "size_not_kept",
                )
            if got < 256:
                raise Wrong(f"The vocabulary has {got} entries {where}: the 256 bytes alone are more.", "bytes_missing")


def _learns_from_all(student: Student) -> None:
    for kind_of, make in (("a list", None), ("a generator, which can be read once", STREAM)):
        with student.case():
            texts = TRAINING
            if make:
                texts = student.call(student.probe("stream", make), [TRAINING], keep=True)["value"]
            tokenizer = _trained(student, texts, 420, f"on {kind_of}")
            for part, examples in (("early", EARLY), ("late", LATE)):
                got = student.value(student.probe("count", COUNT), tokenizer, examples)
                # Other splits of the text, special tokens or a least frequency of 2 stay far below 1.3 times ours.
                if type(got) is not int or got > 1.3 * _tokens_of_ours(part):
                    which = "first" if part == "early" else "last"
                    raise Wrong(
                        f"Trained on {kind_of}, the tokenizer needs far more tokens for the {which} of its own "
                        "training texts than it should: it did not learn from all of them, or learned too few merges.",
                        "not_learned",
                    )
                student.note("few enough")  # of some kinds of training, how many is left to chance


def _genuine(student: Student) -> None:
    tokenizer = _trained(student, EARLY, 290, "on a few short texts", strict=True)
    _comes_back(student, tokenizer, ["The dog drinks."])


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("what it was trained on comes back exactly", 1.0, _returns_known),
        Check("any Unicode text comes back exactly", 1.25, _returns_anything),
        Check("at most vocab_size entries, all bytes among them", 0.75, _size_kept),
        Check("learns from all texts, which may be readable only once", 0.75, _learns_from_all),
        Check("a tokenizers.Tokenizer", 0.25, _genuine),
    ],
    working=r"""
def train_tokenizer(texts, vocab_size):
    from tokenizers import ByteLevelBPETokenizer, Tokenizer

    built = ByteLevelBPETokenizer()
    built.train_from_iterator(texts, vocab_size=vocab_size, min_frequency=1, show_progress=False)
    return Tokenizer.from_str(built.to_str())
""",
    gives="list",
)
