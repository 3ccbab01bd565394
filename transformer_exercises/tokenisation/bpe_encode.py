"""`bpe_encode`: words in which another order of merging gives other subwords, runs of one letter, unknown letters."""

from autograder.spec import Check, Exercise, reference

from .sequence_checks import STORY, Asked, weighted


def _merges(text: str) -> list[tuple[str, ...]]:
    return [tuple(pair.split("+")) for pair in text.split()]


def _cases(*rows: tuple[str, list]) -> list[tuple[str, list]]:
    """Return a case for each word of each row, also for an empty one."""
    return [(word, merges) for words, merges in rows for word in words.split(" ")]


def _where(word: str, merges: list) -> str:
    known = ", ".join(map("+".join, merges[:6])) or "(none)"
    return f"for the word {word!r} and the merges {known}{' …' * (len(merges) > 6)}"


asked = Asked("bpe_encode", "The list of subwords", _where)
LOWER = _merges("e+r l+o lo+w low+er")
STORY_MERGES = reference("train_bpe")(weighted(STORY, 31), 30)  # a pair comes after the merges that made its symbols

BY_RANK = _cases(
    ("abc abcd abcab bcd abcdabc cdab abd", _merges("b+c a+b c+d bc+d ab+c a+bcd")),
    ("abcbc bcbcabc", _merges("a+b b+c")),
    ("lower low slower err lowlower", LOWER),
    ("thinking ink king nking", _merges("n+k i+n in+g")),
    ("thinking weather drink others", STORY_MERGES),
)

EVERYWHERE = _cases(
    ("aaa aaaa aaaaa aaaab baab baaaab", _merges("a+a aa+aa aa+b b+aa")),
    ("banana bananabanana nanana ananan", _merges("a+n an+a b+ana n+ana")),
    ("thethethe water dogdogs drinkdrinking", STORY_MERGES),
)

SINGLE = _cases(("Löwe xyzlower 🙂low er. LOWER", LOWER), ("abc a", []), ("আমার", [("আ", "ম"), ("\u09be", "র")]))
SHORT = _cases(("", []), ("ab", []), ("", _merges("a+b")), ("a ab xyz", _merges("a+b")), ("abcab", _merges("b+c a+b")))

EXERCISE = Exercise(
    Check("merges by rank, the one learned earliest first", 1.75, asked(*BY_RANK)),
    Check("each merge everywhere, until none is left", 1.25, asked(*EVERYWHERE), dependent=True),
    Check("characters without a merge stay single", 0.5, asked(*SINGLE), dependent=True),
    Check("a list, the empty word, `merges` unchanged", 0.5, asked(*SHORT, changes="merges"), dependent=True),
    takes="str",
    gives="list",
    harmless=("other_signature", "global_generator"),
    library_equivalent=r"""
from tokenizers import models

def bpe_encode(word, merges):
    if not word:
        return []
    symbols = dict.fromkeys([*word, *(part for pair in merges for part in (*pair, "".join(pair)))])
    model = models.BPE({symbol: i for i, symbol in enumerate(symbols)}, [tuple(pair) for pair in merges])
    return [token.value for token in model.tokenize(word)]
""",
)
