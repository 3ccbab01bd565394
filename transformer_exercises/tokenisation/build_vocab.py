"""`build_vocab`: sorted characters of several scripts and white space, and that `itos` inverts `stoi`."""

from autograder.spec.compare import kind
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.student import Student

from .common import SENTENCE

build_vocab = reference("build_vocab")

TEXTS = (
    *(SENTENCE, "banana", "zebra Zebra AXE axe", "tabs\tand\nnew lines\n", "3 dogs, 12 cats: 15!"),
    *("Ọ bụ nwa m ụtọ", "আমার বাংলা ভাষা।", "na\u0308ive naïve", "🙂 ok 🙃 ok"),
)


def _vocab(student: Student, text: str) -> tuple[dict, dict, str]:
    where = f"for the text {text!r}"
    got = student.value("build_vocab", text, where=where)
    if not isinstance(got, (tuple, list)) or len(got) != 2:
        raise Wrong(f"It should return the pair (stoi, itos); yours returned {kind(got)}.")
    for name, part in zip(("stoi", "itos"), got, strict=False):
        if not isinstance(part, dict):
            raise Wrong(f"`{name}` should be a dictionary {where}; yours is {kind(part)}.")
    return *got, where


def _sorted(student: Student) -> None:
    for text in TEXTS:
        with student.case():
            stoi, _, where = _vocab(student, text)
            expected = build_vocab(text)[0]
            if set(stoi) != set(expected):
                raise ValuesDiffer(f"`stoi` should have each different character as a key, and no others, {where}.")
            if stoi != expected and set(range(len(stoi))) <= set(stoi.values()):
                raise ValuesDiffer(f"The ids {where} do not follow the sorted order of the characters.", "unsorted")
            if stoi != expected:
                raise ValuesDiffer(f"The ids {where} should be 0, 1, 2 and so on, without gaps.")


def _inverse(student: Student) -> None:
    for text in TEXTS:
        with student.case():
            stoi, itos, where = _vocab(student, text)
            if len(itos) != len(set(text)) or any(itos.get(i) != symbol for symbol, i in stoi.items()):
                raise ValuesDiffer(f"itos[stoi[c]] should be c for every character c; it is not {where}.")


def _edges(student: Student) -> None:
    for text in ("", "x", "zzz", " ", "ab"):
        with student.case():
            stoi, itos, where = _vocab(student, text)
            if (stoi, itos) != build_vocab(text):
                raise ValuesDiffer(f"The vocabulary {where} is not right.")
    stoi, *_ = _vocab(student, "abc")
    if not isinstance(student.value("build_vocab", "abc"), tuple):
        raise Wrong("A list of two dictionaries is returned: a tuple is asked for, `return stoi, itos`.", "list")
    if any(type(i) is not int for i in stoi.values()):
        raise Wrong("The ids should be whole numbers (int).", "wrong_type")


EXERCISE = Exercise(
    Check("ids in the sorted order of the characters", 0.5, _sorted),
    Check("`itos` is the inverse of `stoi`", 0.3, _inverse),
    Check("empty and short texts, a tuple of dictionaries", 0.2, _edges, further=True),
)
