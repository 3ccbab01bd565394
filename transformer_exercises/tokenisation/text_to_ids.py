"""`text_to_ids`: bytes in an order of their own, merges whose order is not the dictionary's, pieces, special tokens.

The mistakes: another order of merging, merges across pieces, characters for bytes, special tokens found too late.
"""

from __future__ import annotations

from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.student import Student

from .common import PLAIN, SHUFFLED, SPECIAL, as_before, exactly_same, id_merges, same_sequence

text_to_ids = reference("text_to_ids")

PHRASE = "the dog drinks water because the other dogs think that the water is there"

LATE = {(98, 99): 300, (97, 98): 310, (99, 100): 320, (300, 100): 330, (310, 99): 340, (97, 330): 350}

RUNS = {(97, 97): 260, (260, 260): 270, (260, 98): 280, (98, 260): 290}

CHAIN = {(97, 98): 300} | {(300 + i, 98): 301 + i for i in range(60)}  # 61 merges, one after the other

RANKED = {(105, 110): 275, (110, 107): 261, (105, 261): 302, (275, 103): 290, (100, 114): 280}  # in no order

TIGHT = {(101, 32): 256, (32, 116): 257, (115, 46): 258, (39, 116): 259, (100, 39): 260, (101, 49): 261, (10, 97): 262}


def _where(text: str, merges: dict, special: dict) -> str:
    return f"for the text {text!r}, {len(merges)} merges and {len(special)} special tokens"


def _asks(student: Student, *cases: tuple[str, list[int], dict, dict]) -> None:
    for text, byte_ids, merges, special in cases:
        with student.case():
            where = _where(text, merges, special)
            got = student.value("text_to_ids", text, list(byte_ids), dict(merges), dict(special), where=where)
            same_sequence(got, text_to_ids(text, byte_ids, merges, special), "The list of ids", where)


def _bytes(student: Student) -> None:
    _asks(
        student,
        *[
            (text, PLAIN, {}, {})
            for text in ("dog", "The dog.", "Löwe", "nkụ", "কুকুর 🐶", "  two\n spaces ", "cafe\u0301 \ufb01n")
        ],
        *[(text, SHUFFLED, {}, {}) for text in ("dog", "a b, c", "水 é")],
    )


def _by_rank(student: Student) -> None:
    _asks(
        student,
        *[(text, PLAIN, LATE, {}) for text in ("abc", "abcd", "abcab", "bcd", "cdab", "bcdcd")],
        *[(text, PLAIN, RUNS, {}) for text in ("aaa", "aaaa", "aaaaa", "aaaab", "baab")],
        *[(text, PLAIN, RANKED, {}) for text in ("drink", "thinking", "nknk", "ink")],
        ("a" + 50 * "b", PLAIN, CHAIN, {}),
        ("the other", PLAIN, id_merges(PHRASE, PLAIN, 25), {}),
        ("water there", SHUFFLED, id_merges(PHRASE, SHUFFLED, 25), {}),
        ("ọọ nkụ", PLAIN, id_merges("ọ ọ ụ nkụ nkụ", PLAIN, 6), {}),
    )


def _pieces_apart(student: Student) -> None:
    _asks(
        student,
        *[(text, PLAIN, TIGHT, {}) for text in ("the the", "dogs. dogs.", "can't", "id'th", "e12", "a\na", "e  t")],
        ("the dog's water", PLAIN, id_merges(PHRASE, PLAIN, 40), {}),
    )


def _special_tokens(student: Student) -> None:
    merges = id_merges(PHRASE, PLAIN, 20) | {(80, 65): 299}  # P and A
    _asks(
        student,
        *[
            (text, PLAIN, merges, SPECIAL)
            for text in (
                *("the<|endoftext|>the", "<|endoftext|>", "[PAD][PAD]the", "the dog[PAD]", "end of text PAD"),
                *("a<|endoftext|>b<|endoftext|>c", "the <|endoftext|> dog", "th<s>e"),
            )
        ],
        ("the<|endoftext|>", PLAIN, merges, {}),
        ("[PAD] dog", SHUFFLED, id_merges(PHRASE, SHUFFLED, 20), SPECIAL),
        ("<s> dog<s>", [byte + 1 for byte in PLAIN], {}, {"<s>": 0}),
    )


def _manners(student: Student) -> None:
    for text, merges, special in (
        *(("", {}, {}), ("", LATE, SPECIAL), ("a", LATE, {}), ("abc", LATE, SPECIAL)),
        *((" ", {}, {}), ("[PAD]", {}, SPECIAL), ("abcd [PAD]", LATE, SPECIAL)),
    ):
        with student.case():
            where = _where(text, merges, special)
            sent = [text, list(PLAIN), dict(merges), dict(special)]
            answer = student.call("text_to_ids", sent, where=where, after=True)
            exactly_same(answer["value"], text_to_ids(text, PLAIN, merges, special), "The list of ids", where)
            as_before(answer["after"], [text, PLAIN, merges, special], "byte_ids, merges, special")


EXERCISE = Exercise(
    points=5,
    checks=[
        Check("the ids of the bytes", 1.0, _bytes),
        Check("merges by rank, everywhere in a piece, until none is left", 1.5, _by_rank),
        Check("no merge crosses from one piece to the next", 1.0, _pieces_apart),
        Check("special tokens are one id, found before all else", 1.0, _special_tokens),
        Check("a list of int, the empty text, the tables unchanged", 0.5, _manners),
    ],
    working=r"""
def text_to_ids(text, byte_ids, merges, special):
    for name in special:
        start = text.find(name)
        if start >= 0:
            before = text_to_ids(text[:start], byte_ids, merges, special)
            after = text_to_ids(text[start + len(name):], byte_ids, merges, special)
            return [*before, special[name], *after]
    ids = []
    for piece in gpt2_pieces(text):
        symbols = [byte_ids[byte] for byte in piece.encode()]
        for (left, right), new in sorted(merges.items(), key=lambda entry: entry[1]):
            i = 0
            while i + 1 < len(symbols):
                if symbols[i] == left and symbols[i + 1] == right:
                    symbols[i:i + 2] = [new]
                i += 1
        ids.extend(symbols)
    return ids
""",
    takes="str",
    gives="list",
)
