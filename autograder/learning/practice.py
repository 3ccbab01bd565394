"""Draw a fresh small case of an answer that was once wrong: a result to foresee, two versions, or a question again."""

import difflib
import inspect
import json
import math
import random
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..judge.run_check import namespace_with, run_check
from ..judge.student import Reply, Student
from ..new_folder import released
from ..spec.catalogue import MINOR
from ..spec.course import question_or_exercise, reference
from ..spec.exercise import Exercise, Question, Wrong
from ..untrusted.responder import Responder
from ..untrusted.wire import is_tensor
from .progress import grade_id

MAX_NUMBERS = 9  # in the arguments, and in the result: a minute's work
MAX_TEXT = 160  # characters of a call as it is shown
MAX_LINES = 3  # by which two versions differ, in each
MAX_RESULT = 120  # characters of a result: it is typed
ENOUGH = 6  # calls to draw one from
CASES = 3  # of each check
CLOSE = 0.02, 0.006  # what a rounded number may be off by: of itself, and of the largest number if that is below 1
COMMENT = re.compile(r"\s*(?<!\S)# .*$")
OPTION = re.compile(r"^- \*\*([A-Z])\*\* (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """A task of a minute."""

    name: str
    text: str  # in Markdown
    right: Any  # the answer, as plain data
    example: str  # how an answer is written
    reason: str = ""  # in Markdown, after a wrong answer
    choice: bool = False  # the answer is a letter


def draw(name: str, rng: random.Random) -> Case:
    """Return a case that is drawn anew each time."""
    declared = question_or_exercise(name)
    if isinstance(declared, Question):
        return _question(declared, rng)
    return (_result(declared, rng) if inspect.isfunction(reference(name)) else None) or _versions(declared, rng)


def is_right(case: Case, answer: Any) -> bool:
    """Return whether an answer agrees with the case, numbers up to rounding."""
    if case.choice:
        return isinstance(answer, str) and answer.strip().upper() == case.right
    return answer is not None and _agree(_as_data(answer), case.right, min(1.0, _largest(case.right)))


# --- a result to foresee ----------------------------------------------------------------------------------------------


class _NotPlain(BaseException):
    """A function takes models or generators, which nobody can read. No Exception: no check catches it."""


class _Recorder(Student):
    """Keeps the calls of one function and their results."""

    def __init__(self, name: str, namespace: dict[str, Any]) -> None:
        super().__init__(Responder(namespace).respond)
        self.name, self.calls = name, list[tuple[list[Any], dict[str, Any]]]()

    def _request(self, where: str, record: bool = True, **request: Any) -> Reply:
        if request.get("do") == "call" and request.get("target") == self.name:
            if not math.isfinite(_numbers(_as_data([*request["args"], *request["kwargs"].values()]))):
                raise _NotPlain
            self.calls.append((request["args"], request["kwargs"]))
        return super()._request(where, record, **request)


def _result(declared: Exercise, rng: random.Random) -> Case | None:
    """Return a call of the reference whose result the learner foresees; None if no check makes a small one."""
    student = _Recorder(declared.name, namespace_with(declared, declared.source))
    found: list[Case] = []
    for check in declared.checks:
        try:
            run_check(declared, check, student, str(rng.random()), CASES)
        except _NotPlain:
            return None
        except Wrong:  # the check needs all its cases
            pass
        found = [case for args, kwargs in student.calls if (case := _foreseen(declared.name, args, kwargs))]
        if len(found) >= ENOUGH or not student.calls:
            break
    found.sort(key=lambda case: len(case.text))
    return rng.choice(found[len(found) // 2 :]) if found else None  # the longer half: no empty list, no single number


def _foreseen(name: str, args: list[Any], kwargs: dict[str, Any]) -> Case | None:
    """Return the case of a call; None if it, or its result, is too large or no plain data."""
    args, kwargs = [_rounded(one) for one in args], {key: _rounded(one) for key, one in kwargs.items()}
    given = [_as_data(one) for one in (*args, *kwargs.values())]
    if _numbers(given) > MAX_NUMBERS:
        return None
    call = f"{name}({', '.join([*map(shown, args), *(f'{key}={shown(one)}' for key, one in kwargs.items())])})"
    if len(call) > MAX_TEXT:
        return None
    try:
        right = _as_data(reference(name)(*args, **kwargs))
    except Exception:  # rounding made arguments that do not fit together
        return None
    if not 0 < _numbers(right) <= MAX_NUMBERS or len(shown(right)) > MAX_RESULT:
        return None
    text = f"What does this return? Three digits of a number are enough.\n\n```python\n{call}\n```"
    return Case(name, text, right, f"your result, such as {_example(right)},")


def _example(right: Any) -> str:
    """Return a result of the same kind and nesting as the right one, and of no use as an answer."""
    if isinstance(right, list):
        inner = _example(right[0]) if right else "0.25"
        return f"[{inner}, {inner}]"
    kinds = {dict: '{"a": 2}', str: '"word"', bool: "True", int: "7"}
    return kinds.get(type(right), "0.25")


def _rounded(value: Any) -> Any:
    if is_tensor(value) and value.is_floating_point():
        return value.detach().double().mul(10).round().div(10).to(value.dtype)
    return value


def _as_data(value: Any) -> Any:
    """Return tensors and tuples as lists, and sets as sorted lists."""
    if is_tensor(value) or type(value).__name__ == "ndarray":
        return value.tolist()
    if isinstance(value, dict):
        return {_as_key(key): _as_data(one) for key, one in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((_as_data(one) for one in value), key=repr)
    return [_as_data(one) for one in value] if isinstance(value, (list, tuple)) else value


def _as_key(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key


def _numbers(value: Any) -> float:
    """Return how many numbers or short words plain data hold; infinity for what is no plain or no finite data."""
    if isinstance(value, dict):
        return sum(_numbers(key) + _numbers(one) for key, one in value.items())
    if isinstance(value, (list, tuple)):
        return sum(map(_numbers, value))
    if isinstance(value, float) and not math.isfinite(value):
        return math.inf
    return 1 if value is None or isinstance(value, (bool, int, float, str)) else math.inf


def shown(value: Any) -> str:
    """Return a value as a reader writes it, tensors as lists and numbers with three digits."""
    if is_tensor(value):
        return shown(value.tolist())
    if type(value) is list:
        return f"[{', '.join(map(shown, value))}]"
    return repr(float(f"{value:.3g}")) if isinstance(value, float) else repr(value)


def _largest(right: Any) -> float:
    """Return the largest number in plain data, without its sign."""
    if isinstance(right, (list, dict)):
        return max((_largest(one) for one in (right.values() if isinstance(right, dict) else right)), default=0.0)
    return abs(right) if isinstance(right, (int, float)) else 0.0


def _agree(answer: Any, right: Any, scale: float) -> bool:
    if isinstance(right, dict):
        same = isinstance(answer, dict) and answer.keys() == right.keys()
        return same and all(_agree(answer[key], one, scale) for key, one in right.items())
    if isinstance(right, list):
        same = isinstance(answer, list) and len(answer) == len(right)
        return same and all(_agree(one, other, scale) for one, other in zip(answer, right, strict=True))
    if isinstance(right, float) or isinstance(answer, float):
        numbers = all(isinstance(one, (int, float)) for one in (answer, right))
        return numbers and abs(answer - right) <= CLOSE[0] * abs(right) + CLOSE[1] * scale
    return bool(answer == right)


# --- two versions -----------------------------------------------------------------------------------------------------


def _versions(declared: Exercise, rng: random.Random) -> Case:
    """Return the choice between the reference and a catalogued mistake, where they differ."""
    own = {one.name for one in declared.catalogue.wrong}
    wrong = [(mistake, source) for mistake in declared.mistakes for source in mistake.sources]
    rng.shuffle(wrong)
    wrong.sort(key=lambda one: (one[0].severity == MINOR, one[0].name not in own))  # what teaches most, first
    pieces = ((mistake, _difference(declared.source, source)) for mistake, source in wrong)
    mistake, (right, other) = next((mistake, pair) for mistake, pair in pieces if pair)
    letter = rng.choice("AB")
    first, second = (right, other) if letter == "A" else (other, right)
    versions = "\n\n".join(f"**{one}**\n\n```python\n{code}\n```" for one, code in (("A", first), ("B", second)))
    text = f"Two versions of `{declared.name}` differ only here, and one is right. Which one?\n\n{versions}"
    return Case(declared.name, text, letter, '"A" or "B"', mistake.sentence, choice=True)


def _difference(right: str, wrong: str) -> tuple[str, str] | None:
    """Return the lines in which two sources differ, with the line above; None if that is more than a glance."""
    ours, theirs = right.splitlines(), wrong.splitlines()
    matcher = difflib.SequenceMatcher(None, ours, theirs, autojunk=False)
    changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    if len(changed) != 1:
        return None
    _, a, b, c, d = changed[0]
    if max(b - a, d - c) > MAX_LINES or a == 0 or any('"""' in line for line in (*ours[a:b], *theirs[c:d])):
        return None
    above = [ours[a - 1]] if ours[a - 1].strip(' "') else []
    return _plain([*above, *ours[a:b]]), _plain([*above, *theirs[c:d]])


def _plain(lines: list[str]) -> str:
    """Return lines without comments, which only the reference has."""
    return textwrap.dedent("\n".join(COMMENT.sub("", line) for line in lines)) or "(nothing)"


# --- a question again -------------------------------------------------------------------------------------------------


def _question(declared: Question, rng: random.Random) -> Case:
    """Return a question with its options in another order."""
    text = _text_of(declared)
    options = dict(OPTION.findall(text))
    if set(options) != set(declared.explanations):  # a table, or options of several lines: they keep their order
        return Case(declared.name, text, declared.key, '"A"', declared.explanations[declared.key], choice=True)
    letters = sorted(options)
    order = rng.sample(letters, len(letters))
    listed = "\n".join(f"- **{letter}** {options[old]}" for letter, old in zip(letters, order, strict=True))
    first, last = OPTION.search(text), list(OPTION.finditer(text))[-1]
    assert first is not None
    text = f"{text[: first.start()]}{listed}{text[last.end() :]}"
    right = letters[order.index(declared.key)]
    return Case(declared.name, text, right, '"A"', declared.explanations[declared.key], choice=True)


def _text_of(declared: Question) -> str:
    """Return a question as its notebook asks it, below the last heading above its answer."""
    path = released() / declared.notebook / f"{declared.notebook}.ipynb"
    texts = _texts_above(json.loads(path.read_text("utf-8"))["cells"], declared.name)
    return re.split(r"^#+ .*$", next(texts), flags=re.MULTILINE)[-1].strip()


def _texts_above(cells: list[dict[str, Any]], name: str) -> Iterator[str]:
    """Yield the text cells above the answer of this name, the nearest first."""
    above = list(map(grade_id, cells)).index(name)
    for cell in reversed(cells[:above]):
        if cell["cell_type"] == "markdown":
            yield "".join(cell["source"])
