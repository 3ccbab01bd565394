"""`ids_to_text`: merges in no order, characters spread over ids, bytes that are no text, unknown ids."""

from autograder.spec import Check, Exercise, reference

from .sequence_checks import PHRASE, PLAIN, SHUFFLED, SPECIAL, Asked, cases, id_merges, renumbered, told

DEEP = {(302, 100): 303, (97, 98): 300, (300, 99): 302, (303, 302): 310, (98, 97): 305}  # the whole before its parts
SPLIT = {(240, 159): 300, (144, 182): 301, (195, 169): 302, (97, 195): 303}  # characters in two, and one and a half


def _texts(*texts: str, byte_ids: list[int] = PLAIN, count: int = 25, special: dict | None = None) -> list:
    """Return a case for each text, encoded by the reference with merges that were learnt."""
    merges, encode = id_merges(PHRASE, byte_ids, count), reference("text_to_ids")
    rows = [encode(text, byte_ids, merges, special or {}) for text in texts]
    return cases(*rows, merges=merges, special=special, byte_ids=byte_ids)


asked = Asked("ids_to_text", "The text", told, others=renumbered)

DOWN = (
    *cases([300, 33], [302, 302], [303], [310, 32, 310], [305, 305], [66, 97, 32], [0, 122, 0], merges=DEEP),
    *cases(*[[SHUFFLED[b] for b in text] for text in (b"dog", b"a b", b"Zz")], byte_ids=SHUFFLED),
    *[case for table in (PLAIN, SHUFFLED) for case in _texts(" the other dogs ", "Water, the water", byte_ids=table)],
)

ONCE = (
    *cases(*[list(text.encode()) for text in ("🐶", "nkụ é", "কু", "水a水")]),
    *cases([300, 301], [303, 169], [302, 302, 97], [300, 144, 182, 33], merges=SPLIT),
    *cases([97, 240, 159, 98], [300], [255, 97], [169, 97], [303, 97, 225, 187], merges=SPLIT),
)

NAMED = (
    *_texts("the<|endoftext|>the", "[PAD][PAD]", "<s>the dog", "the dog [PAD]", count=20, special=SPECIAL),
    *cases([240, 159, 9001, 144], special=SPECIAL),
    *cases([0, 74, 0, 0], special={"<s>": 0}, byte_ids=range(1, 257)),
    *cases([9004, 33, 9004], special={"<|ọ·end|>": 9004}),
)

UNKNOWN = [
    (cases([97, 777, 98])[0], 777),
    (cases([400], merges=DEEP, special=SPECIAL)[0], 400),
    *zip(cases([-1, 97], [97, 9001], merges=DEEP), (-1, 9001), strict=True),
    (cases([256], special=SPECIAL)[0], 256),
]

ALIKE = [(cases([97, 9001, 9002], special={"<s>": known})[0], 18003 - known) for known in (9002, 9001)]

SHORT = asked(
    *(*cases([], [97], [32, 97, 10]), *cases([310], merges=DEEP), *cases([9001], special=SPECIAL)),
    *cases([], [97, 98, 97], merges=DEEP, special=SPECIAL),
    changes="ids, byte_ids, merges, special",
)

EXERCISE = Exercise(
    Check("merged ids stand for the bytes of their parts", 1.0, asked(*DOWN)),
    Check("all bytes first, then decoding; U+FFFD where they are no text", 0.75, asked(*ONCE)),
    Check("special tokens stand for their text", 0.4, asked(*NAMED)),
    Check("an unknown id is a ValueError that names it", 0.5, asked.refuses(UNKNOWN, ALIKE)),
    Check("a string, the empty list, inputs unchanged", 0.35, SHORT, dependent=True),
    takes="list",
    gives="str",
    harmless=("other_signature", "global_generator"),
)
