"""`encode`: odd vocabularies and unknown characters, which must be named; the mistakes skip, hide or renumber them."""

from __future__ import annotations

from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.student import Student

from .common import ODD_VOCAB, SENTENCE, as_before, exactly_same, same_sequence, value_error, value_errors_differ

build_vocab = reference("build_vocab")
encode = reference("encode")


def _encode_values(student: Student) -> None:
    for text, stoi in (
        (SENTENCE, build_vocab(SENTENCE)[0]),
        ("banana", {"a": 0, "b": 1, "n": 2}),
        ("ban\u00e9 Ba\nnn", ODD_VOCAB),
        ("র\u09ba".replace("\u09ba", "\u09be") + " 🙂🙂 a", ODD_VOCAB),
        (" aa ", ODD_VOCAB),
    ):
        with student.case():
            where = f"for the text {text!r} and a vocabulary of {len(stoi)}"
            same_sequence(
                student.value("encode", text, stoi, where=where), encode(text, stoi), "The list of ids", where
            )


def _encode_unknown(student: Student) -> None:
    for text, culprit in (("banΩ", "Ω"), ("Жana", "Ж"), ("na na ß an", "ß"), ("aaα", "α"), ("A", "A"), ("na🙃", "🙃")):
        with student.case():
            stoi = {symbol: i for symbol, i in ODD_VOCAB.items() if symbol != culprit}
            value_error(student, "encode", [text, stoi], culprit, f"for the text {text!r}")
    with student.case():
        cases = [
            (["naB", {symbol: i for i, symbol in enumerate("naB") if symbol != unknown}], unknown) for unknown in "naB"
        ]
        value_errors_differ(student, "encode", cases, "one text and three vocabularies")


def _encode_manners(student: Student) -> None:
    for text, stoi in (("", {"a": 0}), ("a", {"a": 7}), ("", {}), ("banana", {"n": 2, "b": 1, "a": 0})):
        with student.case():
            where = f"for the text {text!r}"
            answer = student.call("encode", [text, stoi], where=where, after=True)
            exactly_same(answer["value"], encode(text, stoi), "The list of ids", where)
            as_before(answer["after"], [text, stoi], "stoi")


EXERCISE = Exercise(
    points=2,
    checks=[
        Check("the id of each character", 1.0, _encode_values),
        Check("an unknown character is a ValueError that names it", 0.7, _encode_unknown),
        Check("a list of int, the empty text, `stoi` unchanged", 0.3, _encode_manners, further=True),
    ],
    working=r"""
def encode(text, stoi):
    unknown = sorted(set(text).difference(stoi))
    if unknown:
        raise ValueError(f"text contains {' '.join(unknown)}")
    return list(map(stoi.get, text))
""",
    takes="str",
    gives="list",
)
