"""Mark one exercise: run its checks on a student's work, add up the weights, and name the mistake."""

import random
import re
from collections.abc import Collection, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..spec.catalogue import FUNDAMENTAL
from ..spec.common_mistakes import COMMON_MISTAKES
from ..spec.course import exercise, exercises, library_equivalents, names_in, question_or_exercise
from ..spec.exercise import Check, Exercise, Problem, Question, Unanswered, ValuesDiffer, Wrong
from ..spec.messages import UNANSWERED, shortened
from ..untrusted.wire import Opaque, Ref, is_tensor
from .bans import noting_banned, remark
from .check_cache import shared_cache
from .diagnosis import fingerprint_store, mistake_costs
from .diagnosis.aspects import OTHER_NAMES
from .diagnosis.behaviour import Behaviour, behaviour
from .diagnosis.diagnose import Apart, Diagnosis, LapsesOff, Line, diagnose, diagnose_pair, symptoms
from .diagnosis.fingerprints import Fingerprints
from .diagnosis.mistake_costs import NOTHING_SAVED
from .diagnosis.pairs import errors
from .drawn_inputs import failed_again
from .source_rules import uses
from .student import SYMPTOMS, UNDEFINED, RecordedReplies, Student

VALUES_DIFFER = "Not judged: the values differ."
SAME_FAULT = "Not judged: it is the fault that was found above."
MAX_RUN_AGAIN = 5  # checks of an exercise, where a failure is only a sign
LEARNED = "Right for the inputs that every hand-in is asked, and wrong for others that were drawn for yours alone."
LAPSES = frozenset(one.name for one in COMMON_MISTAKES)
ROUNDING = 1e-9  # of sums of shares
NUMBERS = re.compile(r"\d+(?:, \d+)*")
UNREADABLE = "The judge could not read the answer (malformed data)."


@dataclass
class Verdict:
    """The points that an exercise earned, and the reasons."""

    exercise: str
    points: float
    earned: float
    lines: list[Line] = field(default_factory=list)
    diagnoses: list[Diagnosis] = field(default_factory=list)
    remark: str = ""  # a sentence about the whole answer: missing, a banned function, a dead process
    score_explanation: str = ""  # states the cost of the named mistakes, if less than their lines
    behaviour: Behaviour = field(default_factory=dict)  # hashes of the replies that no named mistake explains
    learned: list[str] = field(default_factory=list)  # titles of passed checks that fail with drawn inputs
    checks_repeated: int = 0  # checks that were run again with drawn inputs

    def __post_init__(self) -> None:
        self.remark = shortened(self.remark)

    def as_data(self) -> dict[str, Any]:
        """Return the verdict as plain data, without the fields that only the instructor sees."""
        return {name: value for name, value in asdict(self).items() if name not in ("learned", "checks_repeated")}

    @property
    def full(self) -> bool:
        return self.earned == self.points


def zero(name: str, remark: str) -> Verdict:
    return Verdict(name, question_or_exercise(name).points, 0.0, remark=remark)


def mark(
    name: str, student: Student, *, own_parts: bool = False, keep: Collection[str] = (), named: bool = True
) -> Verdict:
    """Return the verdict on one exercise or question. The order of its checks and cases follows from the submission.

    With `own_parts` the other exercises' names keep the student's definitions. Otherwise those that stand above and
    have a library equivalent, except those in `keep`, are bound to it, so that one mistake is not marked twice.
    Without `named` no mistake is looked for: the points are those of the lines that pass.
    """
    declared = question_or_exercise(name)
    try:
        if isinstance(declared, Question):
            return mark_choice(declared, student.read(name))
        if not student.has(name):
            return zero(name, UNDEFINED.format(name=name))
        if not own_parts:
            student.bind({other: text for other, text in _above(declared).items() if other not in keep})
    except Problem as problem:
        return zero(name, str(problem))
    except KeyError:  # a forged reply without the requested part; within a check, `run_check` handles it
        return zero(name, UNREADABLE)
    if declared.ban is None:
        return _run_checks(declared, student, named)
    with noting_banned(declared.ban, student) as found:
        verdict = _run_checks(declared, student, named)
    if not found or not verdict.earned:
        return verdict
    return Verdict(name, declared.points, 0.0, verdict.lines, [], remark(declared.ban, found))


def mark_drawn_inputs(verdict: Verdict, student: Student, counts: bool) -> Verdict:
    """Return the verdict with the passed checks that fail with inputs drawn for the submission.

    They earn nothing if that `counts`; otherwise the submission chooses some of the checks, which bounds the cost. No
    message shows the inputs, so that they stay unknown.
    """
    declared = question_or_exercise(verdict.exercise)
    passed = {line.title for line in verdict.lines if line.passed}
    if isinstance(declared, Question) or not verdict.earned or not student.submission_key:
        return verdict
    if not counts:
        passed = set(random.Random(student.submission_key).sample(sorted(passed), min(len(passed), MAX_RUN_AGAIN)))
    repeated = [check for check in declared.checks if check.title in passed]
    learned = {check.title for check in failed_again(declared, repeated, student)}
    if counts and learned:
        lines = [
            replace(line, passed=False, message=LEARNED) if line.title in learned else line for line in verdict.lines
        ]
        earned = min(verdict.earned, share_of(declared, sum(line.weight for line in lines if line.passed)))
        verdict = replace(verdict, lines=lines, earned=earned, score_explanation="")
    return replace(
        verdict, learned=[check.title for check in repeated if check.title in learned], checks_repeated=len(repeated)
    )


def _above(declared: Exercise) -> dict[str, str]:
    """Return the library equivalents of the exercises that stand above this one in its notebook."""
    names = [other.name for other in exercises(declared.notebook)]
    above = names[: names.index(declared.name)]
    return {name: text for name, text in library_equivalents(declared.notebook).items() if name in above}


def depends_on_others(name: str, sources: Sequence[str], called: set[str]) -> bool:
    """Return whether an answer, or a name its checks called (`called`), involves other exercises of its notebook."""
    declared = question_or_exercise(name)
    return bool((uses(name, sources) | called) & (names_in(declared.notebook) - {name}))


def has_only_own_mistakes(verdict: Verdict, right: Set[str], used: Set[str]) -> bool:
    """Return whether catalogued mistakes explain everything that failed, and the exercises that are `used` are right.

    Library equivalents of these would then change nothing.
    """
    declared = exercise(verdict.exercise)
    return used & names_in(declared.notebook) <= right | {declared.name} and is_explained(verdict)


def is_explained(verdict: Verdict) -> bool:
    """Return whether catalogued mistakes explain everything that failed."""
    catalogued = {*fingerprint_store.of(verdict.exercise).names}
    failed = [line for line in verdict.lines if not line.passed]
    return bool(failed) and not _unexplained(failed, [one for one in verdict.diagnoses if one.mistake in catalogued])


def _run_checks(exercise: Exercise, student: Student, named: bool) -> Verdict:
    try:
        lines = _lines(exercise, student)
    except Unanswered as unanswered:
        return zero(exercise.name, str(_without_frames(unanswered)))
    earned = share_of(exercise, sum(line.weight for line in lines if line.passed))
    verdict = Verdict(exercise.name, exercise.points, earned, lines)
    if named and not verdict.full:
        verdict.diagnoses = diagnose(exercise, lines, student.replies)
        replies = student.replies
        if len(verdict.diagnoses) != 1 or any(_may_hide_lapses(exercise, one) for one in verdict.diagnoses):
            replies = _take_lapses_off(exercise, verdict, student)
        if not verdict.diagnoses:
            verdict.diagnoses = _diagnose_without_errors(exercise, lines, student.replies)
        verdict.diagnoses = symptoms(verdict.lines, verdict.diagnoses)
        failed = [line for line in verdict.lines if not line.passed]
        # Where there is a sentence already, a lapse is taken off a line that fails without it, too
        if not verdict.score_explanation and not _unexplained(failed, verdict.diagnoses):
            _apply_costs(exercise, verdict, replies)
        # An error explains nothing
        known = [found for found in verdict.diagnoses if found.mistake != SYMPTOMS["raised"]]
        verdict.behaviour = behaviour(_unexplained([line for line in failed if line.judged], known), student.replies)
    return verdict


def _diagnose_without_errors(exercise: Exercise, lines: Sequence[Line], replies: RecordedReplies) -> list[Diagnosis]:
    """Return what explains all lines in which no error was raised; [] if there are no others, or nothing does."""
    without = {title: found for title, found in replies.items() if not any(errors(found))}
    if len(without) == len(replies):
        return []  # they were looked up
    return diagnose(exercise, [line for line in lines if line.title in without], without)


def _may_hide_lapses(exercise: Exercise, found: Diagnosis) -> bool:
    """Return whether a diagnosis is of names, or of a mistake whose error messages are others."""
    unsure = found.share == NOTHING_SAVED and exercise.severities.get(found.mistake) != FUNDAMENTAL
    return unsure or found.mistake == OTHER_NAMES


def _take_lapses_off(exercise: Exercise, verdict: Verdict, student: Student) -> RecordedReplies:
    """Name the lapses of an answer and what lies behind them; the lines then say what is left without the lapses.

    Return the replies without them.

    Where that is no known mistake, the points are those of the lines that are right without the lapses, less what the
    lapses cost, if that is more.
    """
    lapses_off = LapsesOff(exercise, verdict.lines, student.replies, student)
    apart = lapses_off.explained()
    pair: list[Diagnosis] = []
    sure = [one for one in verdict.diagnoses if not _may_hide_lapses(exercise, one)]
    # Checks that find no layers ask for no values: only once the layers are renamed is there something to explain
    renamed = not sure and apart is not None and bool(apart.names) and any(apart.failures.values())
    if apart is None or not apart.explains_all:
        pair = [] if renamed else diagnose_pair(exercise, verdict.lines, student.replies)
        apart = apart if pair else lapses_off.explained_by_two() or lapses_off.explained_but_for_errors() or apart
    if apart is None or not apart.explains_all:
        verdict.diagnoses = pair or verdict.diagnoses
        if pair or sure or apart is None or not (apart.are_facts or renamed):
            return student.replies
    lines = _lines_apart(exercise, verdict.lines, apart)
    if renamed and not apart.explains_all:
        verdict.diagnoses, verdict.lines = [_without_failures(one, apart) for one in apart.diagnoses], lines
        if not apart.are_facts:
            return student.replies
    if not apart.explains_all:
        right = sum(line.weight for line in lines if line.passed or line.title in apart.right)
        lost = sum(lapse.share for lapse in apart.diagnoses)
        earned = round(share_of(exercise, right) - exercise.points * lost, 2)
        # A refusal that is taken off shows nothing right: something else has to be
        something = verdict.earned > 0 or exercise.checks[0].title in apart.right
        if earned <= verdict.earned or not something or not gave_a_value(apart.replies):
            return student.replies
        verdict.earned = earned
        verdict.score_explanation = mistake_costs.lapses_sentence(exercise, lost)
    verdict.diagnoses, verdict.lines = apart.diagnoses, lines
    return student.replies | apart.replies


def _without_failures(lapse: Diagnosis, apart: Apart) -> Diagnosis:
    """Return a lapse that does not explain the lines that fail without it, too."""
    return replace(lapse, checks=[title for title in lapse.checks if apart.failures.get(title) is None])


def _lines_apart(exercise: Exercise, lines: Sequence[Line], apart: Apart) -> list[Line]:
    """Return the lines of an answer whose lapses are known: each fault is stated once, on a line that it fails."""
    faults = [wrong for check in exercise.checks if (wrong := apart.failures.get(check.title)) and not check.dependent]
    stated: set[str] = set()
    return [
        line if line.passed else _line_apart(check, line, apart, faults, stated)
        for check, line in zip(exercise.checks, lines, strict=True)
    ]


def _line_apart(check: Check, line: Line, apart: Apart, faults: Sequence[Wrong], stated: set[str]) -> Line:
    """Return a failed line: what fails without the lapses, or else the lapse, where it is not among the `stated`."""
    wrong = apart.failures.get(check.title)
    left = None if wrong is None else _line(check, wrong, faults)
    lapses = [one for one in apart.diagnoses if one.mistake in apart.lapses and check.title in one.checks]
    if left is not None and (left.judged or not lapses):
        return left
    new = next((one for one in lapses if one.mistake not in stated), None)
    if new is None:
        return left or replace(line, message=SAME_FAULT, judged=False)
    stated.add(new.mistake)
    if new.mistake == line.symptom:
        return replace(line, judged=True)
    called = ", ".join(f"`{old}` should be `{right}`" for old, right in apart.names.items())
    more = f" Here {shortened(called)}." if called and new.mistake == OTHER_NAMES else ""
    return replace(line, message=new.sentence + more, symptom=new.mistake, judged=True)


def _unexplained(lines: Sequence[Line], diagnoses: Sequence[Diagnosis]) -> list[str]:
    explained = {title for diagnosis in diagnoses for title in diagnosis.checks}
    return [line.title for line in lines if line.title not in explained]


def _apply_costs(exercise: Exercise, verdict: Verdict, replies: RecordedReplies) -> None:
    """Raise the points to the total less the cost of the mistakes, which explain every failure, if that is more.

    An answer that never gave a value gets no such points: nothing shows that the rest of it is right. But a lapse
    beside a mistake that costs all its lines costs no more than the lapse. An error, or a mistake whose error is
    another, costs the lines that it explains.
    """
    shares = [min(found.share, _lines_of(exercise, found)) for found in verdict.diagnoses]
    earned = mistake_costs.by_costs(verdict.points, shares)
    if earned > verdict.earned and (gave_a_value(replies) or not _naming_saves(exercise, verdict.diagnoses)):
        verdict.earned = earned
        mistakes = [diagnosis.mistake for diagnosis in verdict.diagnoses]
        verdict.score_explanation = mistake_costs.sentence(exercise, mistakes, earned, shares)


def _naming_saves(exercise: Exercise, diagnoses: Sequence[Diagnosis]) -> bool:
    """Return whether a mistake, other than a lapse, costs less than its lines; True if lapses are all there is.

    Without a value, lapses alone are no sign of an answer: a function that returns nothing has them.
    """
    mistakes = [found for found in diagnoses if found.mistake not in LAPSES]
    return not mistakes or any(found.share < _lines_of(exercise, found) - ROUNDING for found in mistakes)


def _lines_of(exercise: Exercise, found: Diagnosis) -> float:
    """Return the share of the points that the lines have that a diagnosis explains."""
    weights = {check.title: check.weight for check in exercise.checks}
    return sum(map(weights.__getitem__, found.checks)) / sum(weights.values())


def gave_a_value(replies: RecordedReplies) -> bool:
    """Return whether any of these replies holds a computed value that is visible to the judge."""
    return any(_is_seen(reply.get("value")) for recorded in replies.values() for reply in recorded)


def _is_seen(value: Any, depth: int = 0) -> bool:
    if is_tensor(value):
        return value.device.type != "meta"
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return depth < 8 and any(_is_seen(item, depth + 1) for item in value)
    return value is not None and not isinstance(value, (Opaque, Ref))


def points_of_variant(exercise: Exercise, fingerprints: Fingerprints, variant: int) -> float:
    """Return the points of a catalogued variant: by its lines, or by the cost of its mistake, whichever is more."""
    by_costs = mistake_costs.by_costs(exercise.points, [mistake_costs.cost(exercise, fingerprints, variant)])
    return max(by_lines(exercise, fingerprints, variant), by_costs)


def by_lines(exercise: Exercise, fingerprints: Fingerprints, variant: int) -> float:
    """Return the points for the lines that a catalogued variant passes."""
    passed = [
        check.weight for check, wrong in zip(exercise.checks, fingerprints.failed[variant], strict=True) if not wrong
    ]
    return share_of(exercise, sum(passed))


def share_of(exercise: Exercise, passed: float) -> float:
    """Return the points for checks of this total weight."""
    total = sum(check.weight for check in exercise.checks)
    return exercise.points if passed >= total else min(round(exercise.points * passed / total, 2), exercise.points)


def _lines(exercise: Exercise, student: Student) -> list[Line]:
    """Run the rubric and return its lines. Raises `Unanswered` if the first check finds that the stub is unchanged."""
    found = _failures(exercise, student)
    failures = [found[check.title] for check in exercise.checks]
    outcomes = list(zip(exercise.checks, failures, strict=True))
    faults = [wrong for check, wrong in outcomes if wrong is not None and not check.dependent]
    lines = [_line(check, wrong, faults) for check, wrong in outcomes]
    for line, failure in zip(lines, failures, strict=True):
        if line.judged and isinstance(failure, ValuesDiffer) and failure.call is not None:
            from .small_case import small_case  # not before: it imports torch

            line.message += small_case(student, failure.call)
            break
    return lines


def _failures(exercise: Exercise, student: Student) -> dict[str, Wrong | None]:
    """Run the checks in the order that follows from the submission; return each check's failure by its title.

    The replies are recorded in the rubric's order. Raises `Unanswered` if the first check of the rubric does.
    """
    first, *_ = waiting = list(exercise.checks)
    if student.submission_key:
        random.Random(student.submission_key).shuffle(waiting)
    found: dict[str, Wrong | None] = {}
    while waiting:
        check = waiting.pop(0)
        found[check.title] = None
        try:
            shared_cache.run(exercise, check, student)
        except Wrong as wrong:
            if isinstance(wrong, Unanswered) and check is first:
                raise
            if isinstance(wrong, Unanswered) and first in waiting:  # a stub needs no other check
                waiting.remove(first)
                waiting.insert(0, first)
            found[check.title] = _without_frames(wrong)
    student.replies |= {check.title: student.replies.pop(check.title) for check in exercise.checks}
    return found


def _without_frames(wrong: Wrong) -> Wrong:
    """Drop the traceback of a failure, which stays cached: the frames hold the student and all objects kept for it."""
    besides = wrong.besides if isinstance(wrong, ValuesDiffer) else None
    for failure in filter(None, (wrong, besides)):
        failure.__context__ = failure.__traceback__ = None
    return wrong


def _line(check: Check, wrong: Wrong | None, faults: Sequence[Wrong]) -> Line:
    """Return the rubric's line for a check. `faults` are those that checks of the values found.

    A failure of a `dependent` check that only follows from such a fault is not judged.
    """
    if wrong is None:
        return Line(check.title, check.weight, True)
    if check.dependent and faults and isinstance(wrong, ValuesDiffer):
        if wrong.besides is None:
            return Line(check.title, check.weight, False, VALUES_DIFFER, judged=False)
        wrong = wrong.besides
    if check.dependent and any(_same_fault(wrong, fault) for fault in faults):
        return Line(check.title, check.weight, False, SAME_FAULT, judged=False)
    return Line(check.title, check.weight, False, str(wrong), wrong.symptom)


def _same_fault(one: Wrong, other: Wrong) -> bool:
    if isinstance(one, Problem) and isinstance(other, Problem):
        # PyTorch's errors name the sizes that do not fit together, which differ from case to case
        texts = {NUMBERS.sub("", problem.text) for problem in (one, other)}
        return (one.symptom, one.error) == (other.symptom, other.error) and len(texts) == 1
    return bool(one.symptom) and one.symptom == other.symptom


def mark_choice(question: Question, answer: object) -> Verdict:
    if answer is None:
        return zero(question.name, UNANSWERED)
    letter = answer.strip().upper() if type(answer) is str else ""
    if letter not in question.explanations:
        options = ", ".join(sorted(question.explanations))
        return zero(question.name, f'Answer with one letter in quotation marks, such as "A" (options: {options}).')
    right = letter == question.key
    line = Line(f"You chose {letter}", 1.0, right, question.explanations[letter])
    return Verdict(question.name, question.points, question.points if right else 0.0, [line])
