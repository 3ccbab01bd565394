"""`encode`: odd vocabularies and unknown characters, which must be named; the mistakes skip, hide or renumber them."""

from typing import Any

from autograder.spec import Check, Exercise, reference

from .sequence_checks import ODD_VOCAB, SENTENCE, Asked

asked = Asked("encode", "The list of ids", lambda text, stoi: f"for the text {text!r} and a vocabulary of {len(stoi)}")
TEXTS = [(text, ODD_VOCAB) for text in ("ban\u00e9 Ba\nnn", "র\u09be 🙂🙂 a", " aa ")]
DOTTED = ("bu\u0323b", {"b": 1, "u": 2, "\u0323": 0})  # two characters, of which NFC makes one

UNKNOWN = [
    ([text, {symbol: i for symbol, i in ODD_VOCAB.items() if symbol != culprit}], culprit)
    for text, culprit in zip(("banΩ", "Жana", "na na ß an", "aaα", "A", "na🙃"), "ΩЖßαA🙃", strict=True)
]

ALIKE = [(["naB", {symbol: i for i, symbol in enumerate("naB") if symbol != c}], c) for c in "naB"]
SHORT: list[Any] = [("", {"a": 0}), ("a", {"a": 7}), ("", {}), ("banana", {"n": 2, "b": 1, "a": 0})]
VOCAB = reference("build_vocab")(SENTENCE)[0]

EXERCISE = Exercise(
    Check(
        "the id of each character", 1.0, asked((SENTENCE, VOCAB), ("banana", {"a": 0, "b": 1, "n": 2}), *TEXTS, DOTTED)
    ),
    Check("an unknown character is a ValueError that names it", 0.7, asked.refuses(UNKNOWN, ALIKE)),
    Check("a list of int, the empty text, `stoi` unchanged", 0.3, asked(*SHORT, changes="stoi"), dependent=True),
    takes="str",
    gives="list",
    harmless=("other_signature", "global_generator"),
)
