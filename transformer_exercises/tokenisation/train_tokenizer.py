"""`train_tokenizer`: texts of all scripts that must come back, the size of the vocabulary, learning from every text."""

import functools
import unicodedata
from typing import Any

from autograder.spec import Check, CheckFunction, Exercise, Student, Wrong, other_letters, reference

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

KNOWN = (
    [EARLY[0], LATE[-1], "The fox drinks water in the See."],
    ["The dog", "Water!", "dog, birds and friends"],
    [" the dog", "dog ", "\n", "dog\n\n fox\tbird \n", "dog. \n  Dog"],
)

ANYTHING = (
    ["Ọ́ dị́ mma", "কুকুরটি জল খায়।", "狗喝水", "Собака", "كلب"],
    ["🙂", "👩🏽\u200d🚀 → 🌍", "\U0010fffd \U0001d518", "🇳🇬🇧🇩"],
    ["cafe\u0301 café ﬁ Ａ ½ ²", "Å Å Å", "İstanbul ſ ẞ"],
    ["\x01\x1b[0m\x7f\x85", "\u200d\u200b\ufeff\u2028", "Ġ▁##@@ ▁a", "zZqQ{}|~`^\\"],
    ["", " ", "   x   ", "\u00a0\u3000 "],
    ["so " * 800],
)

# Probes: what a tokenizer is and does is asked where it lives; nothing of a student's is ever loaded here.
_PROBES = """
def look(tokenizer):
    import tokenizers
    usable = hasattr(tokenizer, "encode") and hasattr(tokenizer, "decode")
    return isinstance(tokenizer, tokenizers.Tokenizer), usable, type(tokenizer).__name__

def there_and_back(tokenizer, texts):
    encoded = [tokenizer.encode(text) for text in texts]
    return [tokenizer.decode(getattr(item, "ids", item)) for item in encoded]

def count(tokenizer, texts): return sum(len(tokenizer.encode(text)) for text in texts)
def size(tokenizer): return tokenizer.get_vocab_size() if hasattr(tokenizer, "get_vocab_size") else len(tokenizer)
def stream(texts): return (text for text in texts)
"""


def _probe(student: Student, name: str, *args: Any, where: str = "") -> Any:
    return student.value(student.probe(name, _PROBES), *args, where=where)


def _trained(student: Student, texts: Any, vocab_size: int, where: str, strict: bool = False) -> Any:
    """Return the student's tokenizer, which stays in the student's process."""
    tokenizer = student.call("train_tokenizer", [texts, vocab_size], where=where, keep=True)["value"]
    answer = _probe(student, "look", tokenizer)
    genuine, usable, name = answer if isinstance(answer, tuple) and len(answer) == 3 else (False, False, "?")
    if not usable or (strict and not genuine):
        what = "None (is a `return` missing?)" if name == "NoneType" else f"an object of type {name}"
        raise Wrong(f"Return a tokenizers.Tokenizer; yours returned {what}.", "other_type" if usable else "")
    return tokenizer


def _comes_back(student: Student, tokenizer: Any, texts: list[str]) -> None:
    got = _probe(student, "there_and_back", tokenizer, texts, where="encoding and decoding")
    if not isinstance(got, list) or len(got) != len(texts):
        raise Wrong("Texts could not be encoded and decoded.")
    whole = [str(actual).replace("##", "") for actual in got]
    if whole != got:  # pieces of WordPiece's are left apart; which pieces it learns is left to chance
        student.note({"##": whole})
    for actual, text in zip(got, texts, strict=False):
        if actual != text:
            symptom, sentence = _what_happened(str(actual), text)
            shown = repr(text) if len(text) < 100 else f"{text[:9]!r} … ({len(text):,} characters)"
            raise Wrong(f"The text {shown} does not come back exactly: {sentence}", symptom)


def _what_happened(got: str, text: str) -> tuple[str, str]:
    """Say how a text came back changed: the name of the mistake, and a sentence."""
    if len(got) > 100 and text.startswith(got):
        return "truncated", "its end is cut off (no truncation)."
    if got == " " + text:
        return "prefix_space", "it has a space in front (add_prefix_space=False does without)."
    if any(sign in got and sign not in text for sign in "ĠĊĉ▁"):
        return "no_decoder", "byte symbols such as Ġ are left in it (set the decoder)."
    if got in [unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")]:
        return "normalised", "its characters were normalised; leave the normaliser out."
    if got.lower() == text.lower():
        return "lowercased", "capitals became small letters; leave the normaliser out."
    if "".join(got.split()) == "".join(text.split()):
        return "white_space_lost", "its white space is not what it was."
    if len(got) < len(text) or "\ufffd" in got:
        return "bytes_missing", "some of it is lost, because its bytes are not in the vocabulary (initial_alphabet)."
    return "", "it is something else."


@functools.lru_cache(8)
def _tokens_of_ours(*halves: tuple[str, ...]) -> list[int]:
    tokenizer = reference("train_tokenizer")(3 * halves[0] + 3 * halves[1], 420)
    return [sum(len(tokenizer.encode(text).ids) for text in part) for part in halves]


def _returns(
    training: list[str], vocab_size: int, where: str, *probes: list[str], strict: bool = False
) -> CheckFunction:
    def check(student: Student) -> None:
        others, *rest = other_letters([training, *probes])
        tokenizer = _trained(student, others, vocab_size, where, strict)
        for texts in rest:
            with student.case():
                _comes_back(student, tokenizer, texts)

    return check


def _size_kept(student: Student) -> None:
    for vocab_size in (275, 320):
        with student.case():
            where = f"with vocab_size = {vocab_size}"
            got = _probe(student, "size", _trained(student, other_letters(TRAINING), vocab_size, where))
            if type(got) is not int or not 0 < got <= vocab_size:
                raise Wrong(f"The vocabulary has {got} entries {where}: larger, or empty.", "size_not_kept")
            if got < 256:
                raise Wrong(f"The vocabulary has {got} entries {where}: the 256 bytes alone are more.", "bytes_missing")


def _learns_from_all(student: Student) -> None:
    early, late = other_letters([EARLY, LATE])
    training = 3 * early + 3 * late
    stream = student.call(student.probe("stream", _PROBES), [training], keep=True)["value"]
    for texts, kind_of in ((training, "a list"), (stream, "a generator, which can be read once")):
        with student.case():
            tokenizer = _trained(student, texts, 420, f"on {kind_of}")
            needed = _tokens_of_ours(tuple(early), tuple(late))
            for which, examples, ours in zip(("first", "last"), (early, late), needed, strict=True):
                got = _probe(student, "count", tokenizer, examples)
                # Other splits of the text, special tokens or a least frequency of 2 stay far below 1.3 times ours.
                if type(got) is not int or got > 1.3 * ours:
                    needs = f"Trained on {kind_of}, the tokenizer needs far too many tokens for the {which} of them"
                    raise Wrong(f"{needs}: it did not learn from all, or learned too few merges.", "not_learned")
                student.note("few enough")  # of some kinds of training, how many is left to chance


EXERCISE = Exercise(
    Check("what it was trained on comes back exactly", 1.0, _returns(TRAINING, 320, "on short texts", *KNOWN)),
    Check("any Unicode text comes back exactly", 1.25, _returns(EARLY, 300, "on English texts alone", *ANYTHING)),
    Check("at most vocab_size entries, all bytes among them", 0.75, _size_kept),
    Check("learns from all texts, which may be readable only once", 0.75, _learns_from_all),
    Check(
        "a tokenizers.Tokenizer",
        0.25,
        _returns(EARLY, 290, "on few texts", ["The dog drinks."], strict=True),
        dependent=True,
    ),
    takes="other",
    gives="list",
    harmless=("other_signature", "global_generator"),
    library_equivalent=r"""
def train_tokenizer(texts, vocab_size):
    from tokenizers import ByteLevelBPETokenizer, Tokenizer

    built = ByteLevelBPETokenizer()
    built.train_from_iterator(texts, vocab_size=vocab_size, min_frequency=1, show_progress=False)
    return Tokenizer.from_str(built.to_str())
""",
)
