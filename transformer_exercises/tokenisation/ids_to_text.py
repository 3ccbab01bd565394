"""`ids_to_text`: merges in no order, characters spread over ids, bytes that are no text, unknown ids.

The mistakes decode each id by itself, lose parts or special tokens, or hide what is unknown.
"""

from __future__ import annotations

from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.student import Student

from .common import (
    PLAIN,
    SHUFFLED,
    SPECIAL,
    as_before,
    exactly_same,
    id_merges,
    same_sequence,
    value_error,
    value_errors_differ,
)

ids_to_text = reference("ids_to_text")
text_to_ids = reference("text_to_ids")

PHRASE = "the dog drinks water because the other dogs think that the water is there"

DEEP = {(302, 100): 303, (97, 98): 300, (300, 99): 302, (303, 302): 310, (98, 97): 305}  # the whole before its parts

SPLIT = {(240, 159): 300, (144, 182): 301, (195, 169): 302, (97, 195): 303}  # characters in two, and one and a half


def _asks(student: Student, *cases: tuple[list[int], list[int], dict, dict]) -> None:
    for ids, byte_ids, merges, special in cases:
        with student.case():
            where = f"for the ids {ids}, {len(merges)} merges and {len(special)} special tokens"
            got = student.value("ids_to_text", list(ids), list(byte_ids), dict(merges), dict(special), where=where)
            same_sequence(got, ids_to_text(ids, byte_ids, merges, special), "The text", where)


def _down_to_bytes(student: Student) -> None:
    _asks(
        student,
        *[
            (ids, PLAIN, DEEP, {})
            for ids in ([300, 33], [302, 302], [303], [310, 32, 310], [305, 305], [66, 97, 32], [0, 122, 0])
        ],
        *[([SHUFFLED[b] for b in text.encode()], SHUFFLED, {}, {}) for text in ("dog", "a b", "Zz")],
        *[
            (text_to_ids(text, table, id_merges(PHRASE, table, 25), {}), table, id_merges(PHRASE, table, 25), {})
            for text in (" the other dogs ", "Water, the water")
            for table in (PLAIN, SHUFFLED)
        ],
    )


def _decoded_once(student: Student) -> None:
    _asks(
        student,
        *[(list(text.encode()), PLAIN, {}, {}) for text in ("🐶", "nkụ é", "কু", "水a水")],
        *[(ids, PLAIN, SPLIT, {}) for ids in ([300, 301], [303, 169], [302, 302, 97], [300, 144, 182, 33])],
        *[(ids, PLAIN, SPLIT, {}) for ids in ([97, 240, 159, 98], [300], [255, 97], [169, 97], [303, 97, 225, 187])],
    )


def _special_tokens(student: Student) -> None:
    merges = id_merges(PHRASE, PLAIN, 20)
    _asks(
        student,
        *[
            (text_to_ids(text, PLAIN, merges, SPECIAL), PLAIN, merges, SPECIAL)
            for text in ("the<|endoftext|>the", "[PAD][PAD]", "<s>the dog", "the dog [PAD]")
        ],
        ([240, 159, 9001, 144], PLAIN, {}, SPECIAL),
        ([0, 74, 0, 0], [byte + 1 for byte in PLAIN], {}, {"<s>": 0}),
        ([9004, 33, 9004], PLAIN, {}, {"<|ọ·end|>": 9004}),
    )


def _unknown(student: Student) -> None:
    for ids, merges, special, culprit in (
        *(([97, 777, 98], {}, {}, 777), ([400], DEEP, SPECIAL, 400), ([-1, 97], DEEP, {}, -1)),
        *(([97, 9001], DEEP, {}, 9001), ([256], {}, SPECIAL, 256)),
    ):
        with student.case():
            sent = [ids, list(PLAIN), dict(merges), dict(special)]
            value_error(student, "ids_to_text", sent, culprit, f"for the ids {ids}")
    with student.case():
        tables = ((9001, {"<s>": 9002}), (9002, {"<s>": 9001}))
        cases = [([[97, 9001, 9002], list(PLAIN), {}, dict(special)], unknown) for unknown, special in tables]
        value_errors_differ(student, "ids_to_text", cases, "one list of ids and two tables")


def _manners(student: Student) -> None:
    for ids, merges, special in (
        *(([], {}, {}), ([], DEEP, SPECIAL), ([97], {}, {}), ([97, 98, 97], DEEP, SPECIAL)),
        *(([32, 97, 10], {}, {}), ([310], DEEP, {}), ([9001], {}, SPECIAL)),
    ):
        with student.case():
            where = f"for the ids {ids}"
            sent = [list(ids), list(PLAIN), dict(merges), dict(special)]
            answer = student.call("ids_to_text", sent, where=where, after=True)
            exactly_same(answer["value"], ids_to_text(ids, PLAIN, merges, special), "The text", where)
            as_before(answer["after"], [ids, PLAIN, merges, special], "ids, byte_ids, merges, special")


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("merged ids stand for the bytes of their parts", 1.0, _down_to_bytes),
        Check("all bytes first, then decoding; U+FFFD where they are no text", 0.75, _decoded_once),
        Check("special tokens stand for their text", 0.4, _special_tokens),
        Check("an unknown id is a ValueError that names it", 0.5, _unknown),
        Check("a string, the empty list, inputs unchanged", 0.35, _manners),
    ],
    working=r"""
def ids_to_text(ids, byte_ids, merges, special):
    parts = {new: pair for pair, new in merges.items()}
    names = {i: name.encode() for name, i in special.items()}
    def data(i):
        if i in names:
            return names[i]
        if i in parts:
            return data(parts[i][0]) + data(parts[i][1])
        if i in byte_ids:
            return bytes([byte_ids.index(i)])
        raise ValueError(f"no token has the id {i}")
    return b"".join(map(data, ids)).decode(errors="replace")
""",
    takes="list",
    gives="str",
)
