"""`decode`: ids with gaps and unknown ids, which must be named; the mistakes skip, hide or mistranslate them."""

from typing import Any

from autograder.spec import Check, Exercise, reference

from .sequence_checks import ODD_VOCAB, SENTENCE, Asked

asked = Asked("decode", "The text", lambda ids, itos: f"for the ids {ids} and a vocabulary of {len(itos)}")
SMALL, ODD = {0: "a", 1: "b", 2: "n"}, {i: symbol for symbol, i in ODD_VOCAB.items()}
STOI, ITOS = reference("build_vocab")(SENTENCE)
TEXTS = [(reference("encode")(SENTENCE, STOI), ITOS), ([1, 0, 2, 0, 2, 0], SMALL)]
ODD_TEXTS = [(ids, ODD) for ids in ([4, 9, 0, 17, 2, 5, 9, 8, 0, 0], [11, 6, 2, 3, 3, 2, 9], [2, 9, 9, 8])]

UNKNOWN = [
    *(([[0, 1, 97], SMALL], 97), ([[-3, 0], SMALL], -3), ([[1, -1, 0], SMALL], -1), ([[0, 3, 1], SMALL], 3)),
    *(([[9, 7, 9], ODD], 7), ([[1], ODD], 1)),
]

ALIKE = [([[7, 4, 9], {i: "x" for i in (7, 4, 9) if i != unknown}], unknown) for unknown in (7, 4, 9)]
SHORT: list[Any] = [([], {0: "a"}), ([7], {7: "a"}), ([], {}), ([1, 0, 2, 0], {2: "n", 0: "a", 1: "b"})]

EXERCISE = Exercise(
    Check("the text that the ids stand for", 0.5, asked(*TEXTS, *ODD_TEXTS)),
    Check("an unknown id is a ValueError that names it", 0.35, asked.refuses(UNKNOWN, ALIKE)),
    Check("a string, the empty list, inputs unchanged", 0.15, asked(*SHORT, changes="ids, itos"), dependent=True),
    takes="list",
    gives="str",
    harmless=("other_signature", "global_generator"),
)
