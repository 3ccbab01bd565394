"""`text_to_ids`: bytes in an order of their own, merges whose order is not the dictionary's, pieces, special tokens."""

from autograder.spec import Check, Exercise

from .sequence_checks import PHRASE, PLAIN, SHUFFLED, SPECIAL, Asked, cases, id_merges, renumbered, told

LATE = {(98, 99): 300, (97, 98): 310, (99, 100): 320, (300, 100): 330, (310, 99): 340, (97, 330): 350}
RUNS = {(97, 97): 260, (260, 260): 270, (260, 98): 280, (98, 260): 290}
CHAIN = {(97, 98): 300} | {(300 + i, 98): 301 + i for i in range(60)}  # 61 merges, one after the other
RANKED = {(105, 110): 275, (110, 107): 261, (105, 261): 302, (275, 103): 290, (100, 114): 280}  # in no order
TIGHT = {(101, 32): 256, (32, 116): 257, (115, 46): 258, (39, 116): 259, (100, 39): 260, (101, 49): 261, (10, 97): 262}
TOLD = id_merges(PHRASE, PLAIN, 20) | {(80, 65): 299}  # P and A
asked = Asked("text_to_ids", "The list of ids", told, others=renumbered)

BYTES = (
    *cases("dog", "The dog.", "Löwe", "nkụ", "কুকুর 🐶", "  two\n spaces ", "cafe\u0301 \ufb01n"),
    *cases("dog", "a b, c", "水 é", byte_ids=SHUFFLED),
)

BY_RANK = (
    *cases("abc", "abcd", "abcab", "bcd", "cdab", "bcdcd", merges=LATE),
    *cases("aaa", "aaaa", "aaaaa", "aaaab", "baab", merges=RUNS),
    *cases("drink", "thinking", "nknk", "ink", merges=RANKED),
    *cases("a" + 50 * "b", merges=CHAIN),
    *cases("the other", merges=id_merges(PHRASE, PLAIN, 25)),
    *cases("water there", merges=id_merges(PHRASE, SHUFFLED, 25), byte_ids=SHUFFLED),
    *cases("ọọ nkụ", merges=id_merges("ọ ọ ụ nkụ nkụ", PLAIN, 6)),
)

APART = (
    *cases("the the", "dogs. dogs.", "can't", "id'th", "e12", "a\na", "e  t", merges=TIGHT),
    *cases("the dog's water", merges=id_merges(PHRASE, PLAIN, 40)),
)

SPECIALS = ("the<|endoftext|>the", "<|endoftext|>", "[PAD][PAD]the", "the dog[PAD]", "end of text PAD", "th<s>e")

NAMED = (
    *cases(*SPECIALS, "a<|endoftext|>b<|endoftext|>c", "the <|endoftext|> dog", merges=TOLD, special=SPECIAL),
    *cases("the<|endoftext|>", merges=TOLD),
    *cases("[PAD] dog", merges=id_merges(PHRASE, SHUFFLED, 20), special=SPECIAL, byte_ids=SHUFFLED),
    *cases("<s> dog<s>", special={"<s>": 0}, byte_ids=range(1, 257)),
)

SHORT = asked(
    *(*cases("", " "), *cases("a", merges=LATE), *cases("[PAD]", special=SPECIAL)),
    *cases("", "abc", "abcd [PAD]", merges=LATE, special=SPECIAL),
    changes="byte_ids, merges, special",
)

EXERCISE = Exercise(
    Check("the ids of the bytes", 1.0, asked(*BYTES)),
    Check("merges by rank, everywhere in a piece, until none is left", 1.5, asked(*BY_RANK)),
    Check("no merge crosses from one piece to the next", 1.0, asked(*APART)),
    Check("special tokens are one id, found before all else", 1.0, asked(*NAMED)),
    Check("a list of int, the empty text, the tables unchanged", 0.5, SHORT, dependent=True),
    takes="str",
    gives="list",
    harmless=("other_signature", "global_generator"),
)
