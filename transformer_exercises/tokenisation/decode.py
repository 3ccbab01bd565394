"""`decode`: ids with gaps and unknown ids, which must be named; the mistakes skip, hide or mistranslate them."""

from __future__ import annotations

from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.student import Student

from .common import ODD_VOCAB, SENTENCE, as_before, exactly_same, same_sequence, value_error, value_errors_differ

build_vocab = reference("build_vocab")
decode = reference("decode")
encode = reference("encode")

ODD_SYMBOLS = {i: symbol for symbol, i in ODD_VOCAB.items()}


def _decode_values(student: Student) -> None:
    for ids, itos in (
        (encode(SENTENCE, build_vocab(SENTENCE)[0]), build_vocab(SENTENCE)[1]),
        ([1, 0, 2, 0, 2, 0], {0: "a", 1: "b", 2: "n"}),
        ([4, 9, 0, 17, 2, 5, 9, 8, 0, 0], ODD_SYMBOLS),
        ([11, 6, 2, 3, 3, 2, 9], ODD_SYMBOLS),
        ([2, 9, 9, 8], ODD_SYMBOLS),
    ):
        with student.case():
            where = f"for {len(ids)} ids and a vocabulary of {len(itos)}"
            same_sequence(student.value("decode", ids, itos, where=where), decode(ids, itos), "The text", where)


def _decode_unknown(student: Student) -> None:
    small = {0: "a", 1: "b", 2: "n"}
    for ids, itos, culprit in (
        *(([0, 1, 97], small, 97), ([-3, 0], small, -3), ([1, -1, 0], small, -1), ([0, 3, 1], small, 3)),
        *(([9, 7, 9], ODD_SYMBOLS, 7), ([1], ODD_SYMBOLS, 1)),
    ):
        with student.case():
            value_error(student, "decode", [ids, itos], culprit, f"for the ids {ids}")
    with student.case():
        cases = [([[7, 4, 9], {i: "x" for i in (7, 4, 9) if i != unknown}], unknown) for unknown in (7, 4, 9)]
        value_errors_differ(student, "decode", cases, "one list of ids and three vocabularies")


def _decode_manners(student: Student) -> None:
    for ids, itos in (([], {0: "a"}), ([7], {7: "a"}), ([], {}), ([1, 0, 2, 0], {2: "n", 0: "a", 1: "b"})):
        with student.case():
            where = f"for the ids {ids}"
            answer = student.call("decode", [ids, itos], where=where, after=True)
            exactly_same(answer["value"], decode(ids, itos), "The text", where)
            as_before(answer["after"], [ids, itos], "ids, itos")


EXERCISE = Exercise(
    points=1,
    checks=[
        Check("the text that the ids stand for", 0.5, _decode_values),
        Check("an unknown id is a ValueError that names it", 0.35, _decode_unknown),
        Check("a string, the empty list, inputs unchanged", 0.15, _decode_manners, further=True),
    ],
    working=r"""
def decode(ids, itos):
    unknown = sorted(set(ids).difference(itos))
    if unknown:
        raise ValueError(f"ids contains {unknown}")
    return "".join(map(itos.get, ids))
""",
    takes="list",
    gives="str",
)
