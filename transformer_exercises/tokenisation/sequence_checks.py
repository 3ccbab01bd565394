"""Check functions that return texts or sequences, and make words and tables for them."""

import itertools
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from autograder.spec import (
    CheckFunction,
    Problem,
    Student,
    ValuesDiffer,
    Wrong,
    drawn,
    kind,
    other_letters,
    reference,
    replaced,
)

Refusal = tuple[list, Any]  # arguments, and the character or the id that is unknown


class Asked:
    """Makes checks of a function whose result, a string or a sequence, should be what the reference gives.

    `what` is the result in words; `where` says of a call's arguments for which input it is; `same` compares. `others`
    makes other arguments of the known ones, while inputs are drawn for a hand-in.
    """

    def __init__(
        self,
        name: str,
        what: str,
        where: Callable[..., str],
        same: Callable[..., None] | None = None,
        others: Callable[[Any], Any] = other_letters,
    ):
        self.name, self.what, self.where, self.same = name, what, where, same or same_sequence
        self.others = others

    def __call__(self, *cases: Any, changes: str = "") -> CheckFunction:
        """Ask each case, its arguments or the only one. `changes` names inputs; then compare these and types too."""

        def check(student: Student) -> None:
            for case in cases:
                with student.case():
                    args = self.others(list(case) if isinstance(case, (tuple, list)) else [case])
                    where = self.where(*args)
                    answer = student.call(self.name, args, where=where, after=bool(changes))
                    self.same(answer["value"], reference(self.name)(*args), self.what, where, bool(changes))
                    if changes:
                        as_before(answer["after"], args, changes)

        return check

    def refuses(self, cases: Sequence[Refusal], alike: Sequence[Refusal]) -> CheckFunction:
        """Ask for a ValueError that names the culprit, and for others where another part of an input is unknown.

        Whoever repeats the whole input names none of its parts.
        """

        def check(student: Student) -> None:
            for args, culprit in map(self.others, cases):
                with student.case():
                    _names(student, self.name, args, culprit, self.where(*args))
            with student.case():
                where, others = "for one input and other tables", self.others(alike)
                if len({_refusal(student, self.name, args, culprit, where) for args, culprit in others}) < len(alike):
                    raise Wrong("The ValueError is the same whichever part is unknown: name that part.", "not_named")

        return check


def _plain(value: Any) -> Any:
    """Make lists and tuples alike: which of the two it is, is asked about in one check of its own."""
    return tuple(map(_plain, value)) if isinstance(value, (list, tuple)) else value


def same_sequence(got: Any, expected: Any, what: str, where: str, exactly: bool = False) -> None:
    """Raise `Wrong` unless it is the same string or the same things in order; `exactly` compares types too."""
    wanted = "string" if isinstance(expected, str) else type(expected).__name__
    if not isinstance(got, str if isinstance(expected, str) else (list, tuple)):
        raise Wrong(f"{what} {where} should be a {wanted}; yours is {kind(got)}.")
    if any(isinstance(item, tuple) for item in expected) and not all(isinstance(i, (list, tuple)) for i in got):
        raise Wrong(f"{what} should hold pairs (left, right) {where}.")
    if _plain(got) != _plain(expected):
        raise ValuesDiffer(f"{what} {where}: {_difference(got, expected)}")
    if exactly and type(got) is not type(expected):
        raise Wrong(f"{what} {where} should be a {wanted}; yours is {kind(got)}.", "wrong_type")
    for actual, wanted in zip(got, expected, strict=True) if exactly else ():
        if type(actual) is not type(wanted):
            asked, held = type(wanted).__name__, type(actual).__name__
            raise Wrong(f"{what} {where} should hold {asked} objects; yours holds {held} objects.", "wrong_type")


def _difference(got: Any, expected: Any) -> str:
    """Say where two sequences part, without saying what should be there."""
    actual, wanted = list(map(_plain, got)), list(map(_plain, expected))
    if len(actual) == len(wanted) and all(item in wanted for item in actual) and all(item in actual for item in wanted):
        return "the right parts are there, but not in this order."
    position = next(
        (i for i, (a, b) in enumerate(zip(actual, wanted, strict=False)) if a != b), min(len(actual), len(wanted))
    )
    if position == len(actual):
        return "it begins well and ends too early." if actual else "nothing is there."
    if position == len(wanted):
        return f"it begins well, but {actual[position]!r} and what follows is too much."
    return f"the first difference is at index {position}, where yours has {actual[position]!r}."


def as_before(after: list, sent: list, names: str) -> None:
    """Raise `Wrong` if lists or dictionaries were changed; `after` comes from `call(..., after=True)`."""
    if list(map(repr, after)) != list(map(repr, sent)):  # dictionaries are equal in any order
        what = f"Your code changes its input ({names})"
        raise Wrong(f"{what}: the caller's object is different afterwards. Work on a copy.", "input_changed")


def value_error(student: Student, name: str, args: list, where: str, what: str, hidden: str) -> str:
    """Raise `Wrong` unless the call is a ValueError, one of the student's own too; return its message.

    `what` says what should be one; `hidden` is the mistake that there is no error.
    """
    try:
        got = student.call(name, args, where=where, after=True)["value"]
    except Problem as problem:
        if problem.error in ("", "NotImplementedError"):
            raise
        if not problem.is_a(ValueError):
            raise Wrong(f"{what}; your code stops with {problem.error}.") from None
        return problem.text
    raise Wrong(f"{what}; yours returned {kind(got)}.", hidden)


def _refusal(student: Student, name: str, args: list, culprit: Any, where: str) -> str:
    """Raise `Wrong` unless the call is a ValueError; return its message."""
    what = "character" if isinstance(culprit, str) else "id"
    asked = f"An unknown {what} ({where}) should be a ValueError that names it"
    return value_error(student, name, args, where, asked, "no_error")


def _names(student: Student, name: str, args: list, culprit: Any, where: str) -> None:
    """Raise `Wrong` unless a ValueError names the culprit, a character or a number."""
    what = "character" if isinstance(culprit, str) else "id"
    text = _refusal(student, name, args, culprit, where)
    named = rf"(?<!\d){culprit}(?!\d)"
    if isinstance(culprit, str):  # its code or its name in Unicode says which one it is as well
        code = f"(?<![0-9a-f])0*({ord(culprit):x}|{ord(culprit)})(?![0-9a-f])"
        named = f"{re.escape(culprit)}|(?i:{code}|{unicodedata.name(culprit)})"
    if not re.search(named, text):
        raise Wrong(f"The ValueError {where} does not say which {what} is unknown: name it.", "not_named")


SENTENCE = "To be, or not to be, that is the question."
ODD_VOCAB = {"b": 4, "a": 9, " ": 2, "n": 0, "é": 17, "B": 5, "🙂": 3, "\n": 8, "র": 11, "\u09be": 6}


def spelt(text: str, *end: str) -> dict[tuple[str, ...], int]:
    """Return the words of a text, spelt in characters, with their frequencies; `end` is a last symbol of every word."""
    return dict(Counter((*word, *end) for word in text.split()))


def of(**words: int) -> dict[tuple[str, ...], int]:
    """Return words spelt in characters, with these frequencies."""
    return {tuple(word): frequency for word, frequency in words.items()}


def listed(words: dict[Any, int]) -> str:
    """Say which words they are, in a few of them."""
    few = [f"{' '.join(word)!r} ×{n}" for word, n in itertools.islice(words.items(), 4)]
    return f"for the words {', '.join(few)}{' …' if len(words) > 4 else ''}" if words else "for no words at all"


LOWER = of(low=5, lower=2, newest=6, widest=3)

STORY = (
    "the dog drinks water because it was thirsty and the other dogs drink the same water near the wooden door "
    "there another thirsty dog thinks that drinking water is better than thinking"
)


def weighted(text: str, factor: int, *end: str) -> dict[tuple[str, ...], int]:
    """Return a text's words with frequencies so uneven that the first dozen merges meet no tie."""
    return {word: 1 + (i * i + 7 * i) * factor % 997 for i, word in enumerate(spelt(text, *end))}


# --- a tokeniser from end to end: ids in place of symbols -------------------------------------------------------------

PLAIN = list(range(256))  # every byte is its own id
SHUFFLED = [(7 * byte + 91) % 256 for byte in range(256)]  # another order: no byte keeps its number
SPECIAL = {"<|endoftext|>": 9001, "[PAD]": 9003, "<s>": 9002}
PHRASE = "the dog drinks water because the other dogs think that the water is there"


def cases(*given: Any, merges: dict | None = None, special: dict | None = None, byte_ids: Any = PLAIN) -> list[list]:
    """Return the arguments for each text, or each list of ids, with these tables."""
    return [[one, list(byte_ids), dict(merges or {}), dict(special or {})] for one in given]


def renumbered(known: Any) -> Any:
    """Return arguments in which the ids of bytes have changed places, and larger ids have moved on in their order."""

    def draw(rng: random.Random) -> Any:
        places, further = [0, *rng.sample(range(1, 256), 255)], rng.randint(1, 1000)
        return replaced(known, lambda id: id if id < 0 else places[id] if id < 256 else id + further, int)

    return drawn(known, draw)


def told(given: Any, _: Any, merges: dict, special: dict) -> str:
    """Say for which text or ids, and how much stands in the tables."""
    return f"for {given!r}, {len(merges)} merges and {len(special)} special tokens"


def id_merges(text: str, byte_ids: list[int], count: int) -> dict[tuple[int, int], int]:
    """Return merges learnt from a text's words, a space before each; their order in the dictionary says nothing."""
    merges: dict[tuple[int, int], int] = {}
    for rank in range(count):
        words = [reference("text_to_ids")(f" {word}", byte_ids, merges, {}) for word in text.split()]
        counts = Counter(pair for word in words for pair in itertools.pairwise(word))
        if not counts:
            break
        merges[max(counts, key=lambda pair: (counts[pair], pair))] = 300 + 3 * rank
    return dict(sorted(merges.items(), key=lambda entry: entry[1] * 37 % 101))
