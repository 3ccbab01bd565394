"""`build_vocab`: sorted characters of several scripts and white space, and that `itos` inverts `stoi`."""

from collections.abc import Callable
from typing import Any

from autograder.spec import Check, CheckFunction, Exercise, ValuesDiffer, Wrong, cases_of, kind, other_letters

from .sequence_checks import SENTENCE

TEXTS = (
    *(SENTENCE, "banana", "zebra Zebra AXE axe", "tabs\tand\nnew lines\n", "3 dogs, 12 cats: 15!"),
    *("Ọ bụ nwa m ụtọ", "আমার বাংলা ভাষা।", "na\u0308ive naïve", "🙂 ok 🙃 ok"),
)

SHORT = ("", "x", "zzz", " ", "ab")


def _dictionaries(got: Any, where: str) -> tuple[dict, dict]:
    if not isinstance(got, (tuple, list)) or len(got) != 2:
        raise Wrong(f"It should return the pair (stoi, itos); yours returned {kind(got)}.")
    for name, part in zip(("stoi", "itos"), got, strict=True):
        if not isinstance(part, dict):
            raise Wrong(f"`{name}` should be a dictionary {where}; yours is {kind(part)}.")
    return got[0], got[1]


def _sorted(got: Any, expected: Any, _: str, where: str) -> None:
    stoi, right = _dictionaries(got, where)[0], expected[0]
    if set(stoi) != set(right):
        raise ValuesDiffer(f"`stoi` should have each different character as a key, and no others, {where}.")
    if stoi != right and set(range(len(stoi))) <= set(stoi.values()):
        raise ValuesDiffer(f"The ids {where} do not follow the sorted order of the characters.", "unsorted")
    if stoi != right:
        raise ValuesDiffer(f"The ids {where} should be 0, 1, 2 and so on, without gaps.")


def _inverse(got: Any, _expected: Any, _: str, where: str) -> None:
    stoi, itos = _dictionaries(got, where)
    if not stoi or len(itos) != len(stoi) or any(itos.get(i) != symbol for symbol, i in stoi.items()):
        raise ValuesDiffer(f"itos[stoi[c]] should be c for every character c; it is not {where}.")


def _exact(got: Any, expected: Any, _: str, where: str) -> None:
    if _dictionaries(got, where) != expected:
        raise ValuesDiffer(f"The vocabulary {where} is not right.")
    if not isinstance(got, tuple):
        raise Wrong("A list of two dictionaries is returned: a tuple is asked for, `return stoi, itos`.", "list")
    if any(type(i) is not int for i in got[0].values()):
        raise Wrong("The ids should be whole numbers (int).", "wrong_type")


def _vocabularies(texts: tuple[str, ...], same: Callable[..., None]) -> CheckFunction:
    return cases_of("build_vocab", same=same)(
        lambda: (([text], f"for the text {text!r}") for text in map(other_letters, texts))
    )


EXERCISE = Exercise(
    Check("ids in the sorted order of the characters", 0.5, _vocabularies(TEXTS, _sorted)),
    Check("`itos` is the inverse of `stoi`", 0.3, _vocabularies(TEXTS, _inverse)),
    Check("empty and short texts, a tuple of dictionaries", 0.2, _vocabularies(SHORT, _exact), dependent=True),
    takes="str",
    gives="tuple",
    harmless=("other_signature", "global_generator"),
)
