"""Try an exercise's catalogue: is every wrong variant caught, named and told apart, and every right one accepted?"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..spec.course import exercise
from ..spec.exercise import Exercise, Mistake
from .diagnosis import fingerprint_store
from .diagnosis.diagnose import indistinguishable_variants
from .mark import Verdict, mark
from .run_check import student_with_answer


@dataclass
class Tried:
    """The results for a mistake: how many of its variants are new, caught, named as it, and unlike other mistakes."""

    name: str
    variants: int
    new: int
    caught: int = 0
    named: int = 0
    apart: int = 0
    redundant: list[int] = field(default_factory=list)  # variants that answer as an earlier one does, counted from 1


@dataclass
class Trial:
    """What came of an exercise's catalogue. `faults` are sentences with cause and remedy."""

    exercise: str
    notebook: str
    mistakes: list[Tried] = field(default_factory=list)
    right: int = 0  # answers that are right: the reference, `library_equivalent`, and the catalogued ones
    accepted: int = 0
    faults: list[str] = field(default_factory=list)


def try_exercise(name: str) -> Trial:
    """Run every check of an exercise on each catalogued variant, in this process."""
    declared = exercise(name)
    found = Trial(name, declared.notebook)
    new, row = fingerprint_store.unkept(name), 0
    for mistake in declared.mistakes:
        tried = Tried(mistake.name, len(mistake.sources), sum(source in new for source in mistake.sources))
        for number in range(1, tried.variants + 1):
            found.faults += _try_variant(declared, mistake, number, row, tried)
            row += 1
        found.mistakes.append(tried)
    for title, loss in _right_answers(declared):
        found.right += 1
        found.accepted += not loss
        if loss:
            remedy = "fix the check or the answer; if it is a mistake, declare it as one"
            found.faults.append(f"{name}: {title} loses marks ({loss}); {remedy}.")
    return found


def _try_variant(declared: Exercise, mistake: Mistake, number: int, row: int, tried: Tried) -> Iterator[str]:
    """Try one variant, the `number`th of its mistake and the `row`th of all; count the results, yield faults."""
    fingerprints = fingerprint_store.of(declared.name)
    source = mistake.sources[number - 1]
    student = student_with_answer(declared, source)
    verdict = mark(declared.name, student)
    variant = f"{declared.name}, {mistake.name}: variant {number} of {tried.variants}"
    if fingerprints.strange[row].any():
        title = declared.checks[fingerprints.strange[row].argmax()].title
        yield f"{variant} stops the check “{title}” with an error; have the check look at the kind of the answer first."
    if verdict.full:
        yield f"{variant} keeps all points; add a case to a check that catches it, or list it as a right answer."
        return
    tried.caught += 1
    if not verdict.lines or verdict.remark:
        yield f"{variant} is refused as a whole, and not named ({verdict.remark}); write one on which every check runs."
        return
    alike = indistinguishable_variants(declared, verdict.lines, student.replies)
    others = sorted({fingerprints.names[other] for other in alike} - {mistake.name})
    named = next((diagnosis.mistake for diagnosis in verdict.diagnoses), "nothing")
    tried.named += named == mistake.name
    tried.apart += not others
    made = mistake.name in declared.common  # so that nobody could remove it
    if not made and any(other < row and fingerprints.names[other] == mistake.name for other in alike):
        tried.redundant.append(number)
    if others:
        yield (
            f"{variant} answers every check as {' and '.join(others)} does; move it there, or add a case to a check "
            "that tells them apart."
        )
    elif named != mistake.name:
        yield f"{variant} is named {named}; add a case to a check that tells them apart."


def _right_answers(declared: Exercise) -> Iterator[tuple[str, str]]:
    """Yield what an answer is called, and why it loses marks ("" if it keeps all)."""
    others = [(f"the right answer {one.name}", one.source) for one in declared.alternatives]
    for title, source in [("the reference", declared.source), *others]:
        verdict = mark(declared.name, student_with_answer(declared, source))
        yield title, "" if verdict.full else verdict.remark or _first_loss(verdict)
    if declared.library_equivalent:
        verdict = mark(declared.name, student_with_answer(declared, declared.library_equivalent))
        # a ban keeps the lines, and is fine
        yield "`library_equivalent`", _first_loss(verdict) if verdict.lines else verdict.remark


def _first_loss(verdict: Verdict) -> str:
    return next((f"{line.title}: {line.message}" for line in verdict.lines if not line.passed), "")
