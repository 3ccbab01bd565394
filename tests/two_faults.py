"""Makes answers with two faults at once: a catalogued mistake of value, and a lapse that any answer can have."""

import ast
import functools
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autograder.judge.diagnosis.aspects import separated
from autograder.judge.diagnosis.reply_hash import compare, reply_hash
from autograder.judge.mark import Verdict, mark
from autograder.judge.run_check import student_with_answer
from autograder.judge.student import RecordedReplies
from autograder.spec.common_mistakes import COMMON_MISTAKES, answering, result
from autograder.spec.exercise import Exercise

ROUNDING = 0.011  # marks are rounded to hundredths
DTYPES = {"single_precision", "double_precision", "other_dtype"}  # which one it is depends on what else is wrong
COMMON = {common.name: common for common in COMMON_MISTAKES}
MADE_BY_EDITS = (
    "single_precision",
    "double_precision",
    "single_precision_inside",
    "bad_input_accepted",
    "error_of_another_type",
    "python_number",
    "gradient_cut_off",
)


@dataclass(frozen=True)
class Two:
    """A program with two faults, and what each would be by itself."""

    mistake: str
    lapse: str
    source: str
    with_mistake: str
    with_lapse: str


def drawn(exercise: Exercise, count: int, seed: int = 0) -> Iterator[Two]:
    """Yield up to `count` answers for each lapse that can be made in an exercise; all of them with a `count` of 0."""
    mistakes = [one for one in exercise.mistakes if one.name not in COMMON]
    for lapse, make in LAPSES.items():
        alone = make(exercise, exercise.source)
        if alone in (None, exercise.source) or lapse in exercise.harmless:
            continue
        if not 0 < verdict_on(exercise, alone).earned < exercise.points:
            continue
        chosen = random.Random(f"{exercise.name} {lapse} {seed}").sample(mistakes, len(mistakes))
        found = 0
        for mistake in chosen:
            both = make(exercise, mistake.source)
            if both is None or both in (mistake.source, alone) or mistake.source == exercise.source:
                continue
            yield Two(mistake.name, lapse, both, mistake.source, alone)
            found += 1
            if found == count:
                break


def verdict_on(exercise: Exercise, source: str) -> Verdict:
    return _marked(exercise, source)[0]


def named(verdict: Verdict) -> set[str]:
    return {diagnosis.mistake for diagnosis in verdict.diagnoses}


@dataclass(frozen=True)
class Outcome:
    """Whether both faults are named, and whether the mark is full marks less what each costs, or more."""

    named: bool
    fair: bool


def outcome(exercise: Exercise, two: Two) -> Outcome | None:
    """Return how an answer with two faults is marked; None if only one of them shows in what it returns."""
    found = [_marked(exercise, source) for source in (two.source, two.with_mistake, two.with_lapse)]
    (both, replies), (mistake, of_mistake), (lapse, of_lapse) = found
    if both.full or mistake.full or _alike(replies, of_mistake) or _alike(replies, of_lapse):
        return None
    spoilt = [line.title for line in lapse.lines if not line.passed]
    if _alike({title: replies[title] for title in spoilt}, of_mistake):
        return None  # the answer stops before the lapse, or has it without the edit
    new = _errors(replies) - _errors(of_mistake)
    if new - _errors(of_lapse) or "AttributeError" in new:  # such as .item() of two numbers, .float() of a pair
        return None
    if not any(separated(exercise, exercise.checks, student_with_answer(exercise, two.with_mistake)).failures.values()):
        return None  # it is a lapse itself
    of_the_lapse = named(lapse) | (DTYPES if two.lapse in DTYPES else {two.lapse})
    both_named = named(mistake) <= named(both) and bool(named(both) & of_the_lapse)
    return Outcome(both_named, both.earned >= mistake.earned + lapse.earned - exercise.points - ROUNDING)


@functools.lru_cache(maxsize=3)  # a lapse alone is compared with several answers that have it
def _marked(exercise: Exercise, source: str) -> tuple[Verdict, RecordedReplies]:
    student = student_with_answer(exercise, source)
    return mark(exercise.name, student), student.replies


def _alike(one: Mapping[str, Any], other: RecordedReplies) -> bool:
    hashes = [(reply_hash(one[title]), reply_hash(other[title])) for title in one if title in other]
    return all(compare(a, b) is not False and a.error_hash == b.error_hash for a, b in hashes)


def _errors(replies: RecordedReplies) -> set[str]:
    return {
        str(reply["problem"].get("type")) for recorded in replies.values() for reply in recorded if "problem" in reply
    }


def _edited(name: str) -> Callable[[Exercise, str], str | None]:
    def make(exercise: Exercise, source: str) -> str | None:
        changed = next(iter(exercise.with_common_mistake(COMMON[name], source)), None)
        # Each part of a pair is edited; parts that are not names would be taken apart
        return None if changed and changed.count("for part in") > 1 else changed

    return make


# Some results are views of the input, which change with it: the values would be wrong, too
COPIED = """
def copied(result):
    if isinstance(result, (tuple, list)):
        return type(result)(map(copied, result))
    return result.clone() if torch.is_tensor(result) else result
"""


def _input_changed(exercise: Exercise, source: str) -> str | None:
    changed = _edited("input_changed")(exercise, source)
    return changed and COPIED + re.sub(r"made_before = (.+)", r"made_before = copied((\1))", changed)


class _WithoutDevice(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        node.keywords = [keyword for keyword in node.keywords if keyword.arg != "device"]
        moves = isinstance(node.func, ast.Attribute) and node.func.attr == "to" and "device" in ast.unparse(node)
        if moves and isinstance(node.func, ast.Attribute):
            return node.func.value
        return node


def _without_device(exercise: Exercise, source: str) -> str:
    return ast.unparse(_WithoutDevice().visit(ast.parse(source)))


def _without_defaults(exercise: Exercise, source: str) -> str | None:
    tree = ast.parse(source)
    function = answering(tree, exercise.name)
    if function is None or not function.args.defaults:
        return None
    function.args.defaults = []
    return ast.unparse(tree)


def _other_names(exercise: Exercise, source: str) -> str | None:
    """Rename the first layer that the reference makes."""
    made = [
        target.attr
        for node in ast.walk(ast.parse(exercise.source))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Attribute) and "nn." in ast.unparse(node.value) and "Dropout" not in ast.unparse(node)
    ]
    if not made:
        return None
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == made[0]:
            node.attr = f"my_{made[0]}"
    return ast.unparse(tree)


def _as_tensor(exercise: Exercise, source: str) -> str | None:
    tree = ast.parse(source)
    function = answering(tree, exercise.name)
    if exercise.gives != "number" or function is None or not result("torch.tensor(RESULT)")(function):
        return None
    return ast.unparse(ast.fix_missing_locations(tree))


LAPSES: dict[str, Callable[[Exercise, str], str | None]] = {
    **{name: _edited(name) for name in MADE_BY_EDITS},
    "input_changed": _input_changed,
    "device_not_kept": _without_device,
    "default_missing": _without_defaults,
    "other_names": _other_names,
    "tensor_returned": _as_tensor,
}
