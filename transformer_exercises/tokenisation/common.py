"""What the checks of this notebook share."""

from __future__ import annotations

import builtins
import itertools
import re
import unicodedata
from collections import Counter
from typing import Any

from autograder.spec.compare import kind
from autograder.spec.exercise import Problem, ValuesDiffer, Wrong
from autograder.spec.student import Student


def _plain(value: Any) -> Any:
    """Lists and tuples alike: which of the two it is, is asked about in one check of its own."""
    return tuple(map(_plain, value)) if isinstance(value, (list, tuple)) else value


def same_sequence(got: Any, expected: Any, what: str, where: str) -> None:
    """A sequence of the right things in the right order, or a string."""
    if isinstance(expected, str):
        if not isinstance(got, str):
            raise Wrong(f"{what} {where} should be a string; yours is {kind(got)}.")
    elif not isinstance(got, (list, tuple)):
        raise Wrong(f"{what} {where} should be a {type(expected).__name__}; yours is {kind(got)}.")
    if _plain(got) != _plain(expected):
        raise ValuesDiffer(f"{what} {where}: {_difference(got, expected)}")


def _difference(got: Any, expected: Any) -> str:
    """Where two sequences part, without saying what should be there."""
    mine, theirs = list(map(_plain, got)), list(map(_plain, expected))
    if len(mine) == len(theirs) and all(item in theirs for item in mine) and all(item in mine for item in theirs):
        return "the right parts are there, but not in this order."
    place = next((i for i, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), min(len(mine), len(theirs)))
    if place == len(mine):
        return "it begins well and ends too early." if mine else "nothing is there."
    if place == len(theirs):
        return f"it begins well, but {mine[place]!r} and what follows is too much."
    return f"the first difference is at index {place}, where yours has {mine[place]!r}."


def exactly_same(got: Any, expected: Any, what: str, where: str) -> None:
    """The same as `_same`, and lists and tuples, whole numbers and strings are told apart."""
    same_sequence(got, expected, what, where)
    if type(got) is not type(expected):
        raise Wrong(f"{what} {where} should be a {type(expected).__name__}; yours is {kind(got)}.", "wrong_type")
    for mine, theirs in zip(got, expected, strict=False):
        if type(mine) is not type(theirs):
            raise Wrong(
                f"{what} {where} should hold {type(theirs).__name__} objects; yours holds {type(mine).__name__} "
                "objects.",
                "wrong_type",
            )


def as_before(after: list, sent: list, names: str) -> None:
    """Lists and dictionaries are what they were before the call; `after` comes from `call(..., after=True)`."""
    for got, original in zip(after, sent, strict=False):
        order = list if isinstance(original, (list, dict)) else repr  # dictionaries are equal in any order
        if type(got) is not type(original) or got != original or order(got) != order(original):
            raise Wrong(
                f"Your code changes its input ({names}): the caller's object is different afterwards. Work on a copy, "
                "or make a new object.",
                "input_changed",
            )


def is_value_error(error: str) -> bool:
    """Whether an error of this type is a ValueError; a class of the student's own may well be one."""
    known = getattr(builtins, error, ValueError)
    return isinstance(known, type) and issubclass(known, ValueError)


def value_error(student: Student, name: str, args: list, culprit: Any, where: str) -> str:
    """A ValueError whose message names the culprit, a character or a number. Returns the message."""
    what = "character" if isinstance(culprit, str) else "id"
    try:
        got = student.call(name, args, where=where, after=True)["value"]
    except Problem as problem:
        if problem.error in ("", "NotImplementedError"):
            raise
        if not is_value_error(problem.error):
            raise Wrong(
                f"An unknown {what} ({where}) should be a ValueError that names it; your code stops with "
                f"{problem.error}."
            ) from None
        text = problem.text
        if isinstance(culprit, str):  # its code or its name in Unicode says which one it is as well
            code = rf"(?<![0-9a-f])0*({ord(culprit):x}|{ord(culprit)})(?![0-9a-f])"
            named = culprit in text or bool(re.search(code, text.lower())) or unicodedata.name(culprit) in text.upper()
        else:
            named = re.search(rf"(?<!\d){culprit}(?!\d)", text) is not None
        if not named:
            raise Wrong(
                f"The ValueError for an unknown {what} ({where}) does not say which {what} it is: put it into the "
                "message.",
                "not_named",
            ) from None
        return text
    raise Wrong(
        f"An unknown {what} ({where}) should be a ValueError that names it; yours returned {kind(got)}.", "no_error"
    )


def value_errors_differ(student: Student, name: str, cases: list[tuple[list, Any]], what: str) -> None:
    """One input, of which another part is unknown each time: whoever repeats it all names none of them."""
    texts = {value_error(student, name, args, culprit, f"for {what}") for args, culprit in cases}
    if len(texts) < len(cases):
        raise Wrong(
            f"The ValueError says the same for {what}, whichever part of it is unknown: name that part alone.",
            "not_named",
        )


SENTENCE = "To be, or not to be, that is the question."

ODD_VOCAB = {"b": 4, "a": 9, " ": 2, "n": 0, "é": 17, "B": 5, "🙂": 3, "\n": 8, "র": 11, "\u09be": 6}


def spelt(text: str, end: str = "") -> dict[tuple[str, ...], int]:
    """The words of a text, spelt in characters, with their frequencies; `end` is a last symbol for every word."""
    return dict(Counter((*word, end) if end else tuple(word) for word in text.split()))


LOWER = {tuple("low"): 5, tuple("lower"): 2, tuple("newest"): 6, tuple("widest"): 3}

STORY = (
    "the dog drinks water because it was thirsty and the other dogs drink the same water near the wooden door "
    "there another thirsty dog thinks that drinking water is better than thinking"
)


def weighted(text: str, factor: int, end: str = "") -> dict[tuple[str, ...], int]:
    """The words of a text with frequencies so uneven that the first dozen merges meet no tie."""
    names = dict.fromkeys(text.split())
    return {(*word, end) if end else tuple(word): 1 + (i * i + 7 * i) * factor % 997 for i, word in enumerate(names)}


# --- a tokeniser from end to end: ids in place of symbols -------------------------------------------------------------

PLAIN = list(range(256))  # every byte is its own id

SHUFFLED = [(7 * byte + 91) % 256 for byte in range(256)]  # another order: no byte keeps its number

SPECIAL = {"<|endoftext|>": 9001, "[PAD]": 9003, "<s>": 9002}


def id_merges(text: str, byte_ids: list[int], count: int) -> dict[tuple[int, int], int]:
    """Merges that are learnt from the words of a text, a space before each; their order in the dictionary says nothing."""
    words = [[byte_ids[byte] for byte in f" {word}".encode()] for word in text.split()]
    learnt: list[tuple[tuple[int, int], int]] = []
    for rank in range(count):
        counts = Counter(pair for word in words for pair in itertools.pairwise(word))
        if not counts:
            break
        best, new = max(counts, key=lambda pair: (counts[pair], pair)), 300 + 3 * rank
        learnt.append((best, new))
        words = [_joined(word, best, new) for word in words]
    return dict(sorted(learnt, key=lambda entry: entry[1] * 37 % 101))


def _joined(word: list[int], pair: tuple[int, int], new: int) -> list[int]:
    row: list[int] = []
    for symbol in word:
        if row and (row[-1], symbol) == pair:
            row[-1] = new
        else:
            row.append(symbol)
    return row
