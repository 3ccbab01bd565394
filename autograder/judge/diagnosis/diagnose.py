"""Name the mistake: find the catalogued variant that gives the same replies as the student's code."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...spec.catalogue import MINOR
from ...spec.common_mistakes import COMMON_MISTAKES
from ...spec.course import exercise
from ...spec.exercise import Check, Exercise, Wrong
from ...untrusted.wire import Ref, is_tensor
from ..run_check import student_with_answer
from ..student import SYMPTOMS, RecordedReplies, Reply, Student, agree, type_of_error
from . import aspects, fingerprint_store, mistake_costs, pair_cache
from .fingerprints import replies_to
from .mistake_costs import NOTHING_SAVED, costs
from .pairs import Errors, StudentReplies, errors
from .reply_hash import compare, reply_hash

if TYPE_CHECKING:
    import torch

MAX_DIAGNOSES = 3  # students would not read more
MAX_VARIANTS = 4  # that run without their own lapses


@dataclass
class Line:
    """The outcome of one line of the rubric."""

    title: str
    weight: float
    passed: bool
    message: str = ""
    symptom: str = ""
    judged: bool = True  # False: it failed only because of something that another line tests


@dataclass
class Diagnosis:
    """A named mistake: a catalogued one with the same results as the student's code, or one that shows by itself."""

    mistake: str
    sentence: str
    checks: list[str]  # titles of the checks that it explains
    share: float = NOTHING_SAVED  # share of the points that it costs if all else is right


Explanation = tuple[int, list[str]]  # a catalogued variant's number, and the titles of the checks that it explains


def diagnose(exercise: Exercise, lines: Sequence[Line], replies: RecordedReplies) -> list[Diagnosis]:
    """Return the catalogued mistakes behind the lines that failed; `replies` holds what the student's code returned, by
    check.

    They are named only if they explain every answer that failed: one by itself, or each a part of them. Where something
    is left unexplained, the rest may have another cause, too.
    """
    failed = {line.title: line.weight for line in lines if not line.passed}
    answered = {title: weight for title, weight in failed.items() if replies.get(title)}
    catalogue = _Catalogue(exercise, replies)
    passed = [title for title in replies if title not in failed]
    alone = _single_mistakes(catalogue, answered, passed)
    found: list[Diagnosis] = []
    if len({title for _, titles in alone for title in titles}) == len(answered):
        for variant, titles in alone:
            _add(found, catalogue.diagnosis(variant, titles, catalogue.cost(variant, titles)))
    return sorted(found, key=lambda diagnosis: -diagnosis.share)


def diagnose_pair(exercise: Exercise, lines: Sequence[Line], replies: RecordedReplies) -> list[Diagnosis]:
    """Return two catalogued mistakes that together, in one program, explain all lines that failed; [] if none do."""
    failed = {line.title: line.weight for line in lines if not line.passed and replies.get(line.title)}
    passed = [line.title for line in lines if line.passed]
    if not failed or not _shows_work(replies):
        return []
    catalogue = _Catalogue(exercise, replies)
    alone = [variant for variant, _ in _single_mistakes(catalogue, failed, passed)]
    return catalogue.two_mistakes(list(failed), passed, alone)


def symptoms(lines: Sequence[Line], found: Sequence[Diagnosis]) -> list[Diagnosis]:
    """Return the diagnoses, and those of mistakes that show by themselves on lines that no diagnosis explains."""
    result = list(found)
    for line in lines:
        explained = line.passed or any(line.title in one.checks for one in found)
        if not explained and line.symptom and len(result) < MAX_DIAGNOSES:
            _add(result, Diagnosis(line.symptom, line.message, [line.title]))
    return result


@dataclass
class Apart:
    """What an answer's values show once its lapses are taken off.

    `failures` are those that are left, by title; the lines in `right` are then right. The diagnoses are all that there
    are if they explain everything. `are_facts`: each lapse is charged whatever else is wrong.
    """

    failures: dict[str, Wrong | None]
    replies: RecordedReplies
    diagnoses: list[Diagnosis]
    right: set[str]
    lapses: set[str]
    explains_all: bool
    are_facts: bool
    names: dict[str, str]  # of layers: the student's, and those of the box

    @property
    def share(self) -> float:
        return sum(diagnosis.share for diagnosis in self.diagnoses)


class LapsesOff:
    """An answer whose lapses are taken off, and the mistakes that its values show then."""

    def __init__(self, exercise: Exercise, lines: Sequence[Line], replies: RecordedReplies, student: Student) -> None:
        outcomes = list(zip(exercise.checks, lines, strict=True))
        self.exercise, self.replies, self.student = exercise, replies, student
        self.failed = [check for check, line in outcomes if not line.passed and replies.get(check.title)]
        self.passed = [check.title for check, line in outcomes if line.passed]
        self.separated = functools.cache(functools.partial(aspects.separated, exercise, self.failed, student))

    def explained(self) -> Apart | None:
        """Return the lapses, and the mistakes behind them; None if there are no lapses and no mistake.

        Some mistakes have a lapse of their own. So each lapse is left in the answer, too, and the least costly
        explanation is returned. Without one, those are left that a mistake of value may bring about.
        """
        explanations: list[Apart] = []
        left: list[tuple[str, ...]] = [()]
        for each in left:
            found = self.separated(each)
            if not each and len(found.lapses) > 1:
                hidden = bool(found.names) and any(found.failures.values())  # names left in would hide these failures
                left += [(name,) for name in found.lapses if not (hidden and name == aspects.OTHER_NAMES)]
                doubtful = tuple(name for name in found.lapses if name not in found.facts)
                left += [doubtful] if 1 < len(doubtful) < len(found.lapses) else []
            if (apart := self._behind(each)) is not None:
                explanations.append(apart)

        def rank(apart: Apart) -> tuple[float, bool]:
            return apart.share if apart.explains_all else math.inf, not apart.are_facts

        return min(explanations, key=rank, default=None)

    def explained_by_two(self) -> Apart | None:
        """Return the lapses and two mistakes that explain, in one program, all that is left; None if no two do."""
        found = self.separated(())
        weights, right = self._left(found)
        if not (found.lapses or found.names) or not weights or not _shows_work(found.replies):
            return None
        catalogue = _Catalogue(self.exercise, self.replies | found.replies, single=True)
        apart = self._apart((), catalogue.two_mistakes(list(weights), right, []), [*found.lapses])
        return apart if apart is not None and apart.explains_all else None

    def explained_but_for_errors(self) -> Apart | None:
        """Return the lapses, and one mistake or two that explain every line in which nothing stops with an error.

        The lines that stop are lost besides. None if there are none, or if they are all, or if naming saves nothing.
        """
        found = self.separated(())
        weights, right = self._left(found)
        columns = {check.title: column for column, check in enumerate(self.exercise.checks)}
        stopped = [title for title in weights if _stops(self.exercise, columns[title], found.replies[title])]
        weights = {title: weight for title, weight in weights.items() if title not in stopped}
        if not stopped or not weights:
            return None
        replies = {title: replies for title, replies in (self.replies | found.replies).items() if title not in stopped}
        diagnoses: list[Diagnosis] = []
        for single in (False, True):
            catalogue = _Catalogue(self.exercise, replies, single)
            alone = _single_mistakes(catalogue, weights, right)
            if {title for _, titles in alone for title in titles} == weights.keys():
                for variant, titles in alone:
                    _add(diagnoses, catalogue.diagnosis(variant, titles, catalogue.cost(variant, titles)))
                break
        if not diagnoses and _shows_work(found.replies):
            diagnoses = catalogue.two_mistakes(list(weights), right, [variant for variant, _ in alone])
        if not diagnoses or any(one.share == NOTHING_SAVED for one in diagnoses):
            return None
        lost = {check.title: check.weight for check in self.failed if check.title in stopped}
        share = sum(lost.values()) / sum(check.weight for check in self.exercise.checks)
        diagnoses.append(Diagnosis(SYMPTOMS["raised"], str(found.failures[stopped[0]]), stopped, share))
        apart = self._apart((), diagnoses, [*found.lapses])
        return apart if apart is not None and apart.explains_all else None

    def _left(self, found: aspects.Separated) -> tuple[dict[str, float], list[str]]:
        """Return the weights of the checks that still fail, and the titles of those that are right."""
        judged = [check for check in self.failed if check.title not in found.without_gradients]
        weights = {check.title: check.weight for check in judged if found.failures[check.title] is not None}
        return weights, [*self.passed, *(check.title for check in judged if check.title not in weights)]

    def _behind(self, left: tuple[str, ...]) -> Apart | None:
        """Return the mistakes behind all lapses but those left in."""
        found = self.separated(left)
        weights, right = self._left(found)
        names = [name for name in found.lapses if name not in left]
        diagnoses: list[Diagnosis] = []
        for single in (False, True):
            catalogue = _Catalogue(self.exercise, self.replies | found.replies, single)
            alone = _single_mistakes(catalogue, weights, right)
            explained = {title for _, titles in alone for title in titles} == weights.keys()
            if explained:
                break
        several = len({catalogue.names[variant] for variant, _ in alone}) > 1
        one = None
        if not left and (several or not explained):
            one = _without_lapses(catalogue, weights, self.passed, self.failed, found, self.student)
        if one is not None:
            variant, own = one
            names = [name for name in names if name not in own]
            titles = list(dict.fromkeys(itertools.chain(weights, *own.values())))
            share = mistake_costs.cost(self.exercise, catalogue.fingerprints, variant)
            diagnoses.append(catalogue.diagnosis(variant, titles, share))
        elif explained:
            for variant, titles in alone:
                own = _own_lapses(catalogue, variant, self.failed, found, self.student) if names else {}
                names = [name for name in names if name not in own]
                titles += [title for name in own for title in own[name] if title not in titles]
                _add(diagnoses, catalogue.diagnosis(variant, titles, catalogue.cost(variant, titles)))
            names += ["single_precision_inside"] * (single and "single_precision_inside" not in names)
        return self._apart(left, diagnoses, names)

    def _apart(self, left: tuple[str, ...], diagnoses: list[Diagnosis], names: Sequence[str]) -> Apart | None:
        """Return these mistakes with the lapses of these names; None if there are neither."""
        found = self.separated(left)
        weights, right = self._left(found)
        made = (_lapse(self.exercise, self.failed, self.student, name, found) for name in names)
        lapses = [lapse for lapse in made if lapse is not None]
        if not lapses and not diagnoses:
            return None
        for lapse in lapses:
            _add(diagnoses, lapse)
        named = {title for one in diagnoses for title in one.checks}
        everything = len(lapses) < len(diagnoses) or not weights
        everything = everything and named >= {check.title for check in self.failed}
        diagnoses.sort(key=lambda one: -one.share)
        found_lapses = {lapse.mistake for lapse in lapses}
        facts = {*found.lapses} - {*left} <= found.facts
        return Apart(found.failures, found.replies, diagnoses, {*right}, found_lapses, everything, facts, found.names)


def _without_lapses(
    catalogue: _Catalogue,
    weights: dict[str, float],
    passed: Sequence[str],
    failed: Sequence[Check],
    found: aspects.Separated,
    student: Student,
) -> tuple[int, dict[str, list[str]]] | None:
    """Return a variant that answers as the student did once its own lapses are taken off, too, and those lapses.

    The hashes are of replies with these lapses, so variants run: those whose numbers are nearest. Of several, the one
    that shares most lapses with the answer is returned; None if none answers alike. A variant that is right without
    its lapses is none: what is left in the answer, be it a few digits, comes from something else.
    """

    def gap(variant: int) -> float:
        return sum(catalogue.gap(variant, title) for title in weights)

    def answers_alike(variant: int) -> bool:
        own = catalogue.student(variant)
        separated = (aspects.separated(catalogue.exercise, [check], own) for check in checks)
        return all(
            _alike(found.replies, each.replies, unrefused)
            and all(each.failures[title] is not None for title in weights.keys() & each.failures.keys())
            for each in separated
        )

    checks = sorted(failed, key=lambda check: -weights.get(check.title, 0))
    checks = [check for check in checks if check.title not in found.without_gradients]
    # Then valid input that a mistake refuses stops somewhere else; an answer that always stops shows no such mistake
    unrefused = "bad_input_accepted" in found.lapses and _gives_a_value(found.replies)
    candidates = [one for one in catalogue.passing(passed) if all(catalogue.fails(one, title) for title in weights)]
    alike = filter(answers_alike, sorted(candidates, key=gap)[:MAX_VARIANTS])
    lapses = [(variant, _own_lapses(catalogue, variant, failed, found, student)) for variant in alike]
    return max(lapses, key=lambda one: len(one[1]), default=None)


def _own_lapses(
    catalogue: _Catalogue, variant: int, failed: Sequence[Check], found: aspects.Separated, student: Student
) -> dict[str, list[str]]:
    """Return those lapses of an answer that a catalogued variant has by itself: its own cost holds them already."""
    exercise, reference = catalogue.exercise, catalogue.student(variant)
    own = aspects.separated(exercise, failed, reference).lapses
    own.setdefault("single_precision_inside", own.get("single_precision", []))

    def same(name: str) -> bool:
        checks = [check for check in failed if check.title in found.lapses[name]]
        mine, theirs = (aspects.separated(exercise, checks, one, (name,)).replies for one in (student, reference))
        if name == "bad_input_accepted":  # whatever is returned instead
            return all(_error_types(mine[title]) == _error_types(theirs[title]) for title in mine)
        return _alike(mine, theirs)

    return {name: titles for name, titles in found.lapses.items() if {*titles} <= {*own.get(name, [])} and same(name)}


def _error_types(replies: list[Reply]) -> list[object]:
    """Return the type of the error in each reply, None where there is none."""
    return [type_of_error(reply["problem"]) if "problem" in reply else None for reply in replies]


def _alike(actual: RecordedReplies, expected: RecordedReplies, unrefused: bool = False) -> bool:
    """Return whether these checks were answered alike, with the same errors.

    With `unrefused`, any error does where the expected one is a refusal that the answer's author wrote.
    """

    def same(one: list[Reply], other: list[Reply]) -> bool:
        if unrefused and len(one) == len(other):
            pairs = zip(one, other, strict=True)
            refused = [bool(b.get("problem", {}).get("own")) for _, b in pairs]
            one = [a for a, out in zip(one, refused, strict=True) if not (out and "problem" in a)]
            other = [b for b, out in zip(other, refused, strict=True) if not out]
        return agree(one, other, single=True) and list(errors(one)) == list(errors(other))

    return all(same(actual[title], replies) for title, replies in expected.items())


def _lapse(
    exercise: Exercise, failed: Sequence[Check], student: Student, name: str, found: aspects.Separated
) -> Diagnosis | None:
    """Return the diagnosis of a lapse, with what it costs by itself; None if it costs nothing in these checks."""
    checks = [check for check in failed if name not in found.lapses or check.title in found.lapses[name]]
    total = sum(check.weight for check in exercise.checks)
    severity = exercise.severities.get(name, MINOR)
    failures, replies = aspects.by_itself(exercise, checks, student, name, found.names)
    checks = [check for check in checks if failures[check.title] is not None]
    weights = {check.title: check.weight for check in checks}
    catalogue = _Catalogue(exercise, replies, False)
    right = [check.title for check in exercise.checks if check.title not in weights]
    alone = _single_mistakes(catalogue, weights, right)
    if name != aspects.OTHER_NAMES and len(alone) == 1 and len(alone[0][1]) == len(weights):
        [(variant, titles)] = alone
        share = mistake_costs.cost(exercise, catalogue.fingerprints, variant)
        return catalogue.diagnosis(variant, titles, share)
    if not checks:
        return None
    share = min(costs().of(exercise.name, name, severity), sum(check.weight for check in checks) / total)
    common = (one.sentence for one in COMMON_MISTAKES if one.name == name)
    sentence = exercise.sentences.get(name, "") or next(common, str(failures[checks[0].title]))
    return Diagnosis(name, sentence, [check.title for check in checks], share)


def indistinguishable_variants(exercise: Exercise, lines: Sequence[Line], replies: RecordedReplies) -> list[int]:
    """Return the numbers of the catalogued variants that pass the same checks and answer the failed ones the same.

    Their error messages are the same, too: a diagnosis cannot tell them from this answer.
    """
    failed = [line.title for line in lines if not line.passed]
    catalogue = _Catalogue(exercise, replies)
    return [
        variant
        for variant in catalogue.passing([line.title for line in lines if line.passed])
        if all(
            catalogue.hashes_match(variant, title) and catalogue.error_hashes_match(variant, title) for title in failed
        )
    ]


def _single_mistakes(catalogue: _Catalogue, failed: dict[str, float], passed: Sequence[str]) -> list[Explanation]:
    """Return variants that explain failed checks by themselves, each with the checks that it explains.

    A variant is a candidate if it answers a failed check as the student did and fails nothing that the student passed.
    Of the candidates for the heaviest failed check, the one that explains most of the others is named (among equals,
    the one with the same error messages). Then the same is done for the checks left unexplained. A variant that
    explains all of them beyond doubt is named before others are run for their answers.
    """
    unexplained = dict(failed)
    possible = catalogue.passing(passed)
    found: list[Explanation] = []
    for title in sorted(failed, key=lambda title: -failed[title]):
        if title not in unexplained or len({catalogue.names[variant] for variant, _ in found}) == MAX_DIAGNOSES:
            continue
        best = _best(catalogue, possible, title, unexplained, [*failed], catalogue.hashes_match)
        # Without doubt: no other variant could explain more of these checks, or match more error messages.
        if (
            best is None
            or best[1] != list(unexplained)
            or not all(catalogue.error_hashes_match(best[0], t) for t in best[1])
        ):
            best = _best(catalogue, possible, title, unexplained, [*failed], catalogue.replies_match)
        if best is not None:
            found.append(best)
            for other in best[1]:
                del unexplained[other]
    return [one for one in found if catalogue.is_evident(*one, passed)]


def _best(
    catalogue: _Catalogue,
    possible: Sequence[int],
    title: str,
    weights: dict[str, float],
    failed: Sequence[str],
    match: Callable[[int, str], bool],
) -> Explanation | None:
    """Return the variant that answers this check as the student did and explains most weight, with the checks.

    Of several, it is the one with most of the same errors, and then the one that fails least of all that `failed` in
    another way.
    """

    def rank(explanation: Explanation) -> tuple[float, int, int]:
        variant, titles = explanation
        same_errors = sum(catalogue.error_hashes_match(variant, other) for other in titles)
        fails_otherwise = sum(catalogue.fails(variant, other) for other in failed if other not in titles)
        return sum(weights[other] for other in titles), same_errors, -fails_otherwise

    variants = [variant for variant in possible if match(variant, title)]
    explained = [(variant, [other for other in weights if match(variant, other)]) for variant in variants]
    return max(explained, key=rank, default=None)


def _add(found: list[Diagnosis], new: Diagnosis) -> None:
    for old in found:
        if old.mistake == new.mistake:
            old.checks += [title for title in new.checks if title not in old.checks]
            old.share = max(old.share, new.share)
            return
    found.append(new)


class _Catalogue:
    """An exercise's catalogued variants, compared with a student's replies; numbered in the catalogue's order."""

    def __init__(self, exercise: Exercise, replies: RecordedReplies, single: bool = False) -> None:
        self.exercise, self.replies = exercise, replies
        self.single = single  # whether to compare double precision as single precision
        self.fingerprints = fingerprint_store.of(exercise.name)
        self.names = self.fingerprints.names
        self.columns = {check.title: column for column, check in enumerate(exercise.checks)}
        self.hash_of = functools.cache(lambda title: reply_hash(replies[title]))

    def passing(self, titles: Sequence[str]) -> list[int]:
        columns = [self.columns[title] for title in titles if title in self.columns]
        return [variant for variant, failed in enumerate(self.fingerprints.failed) if not failed[columns].any()]

    def fails(self, variant: int, title: str) -> bool:
        return bool(self.fingerprints.failed[variant, self.columns[title]])

    def student(self, variant: int) -> Student:
        return student_with_answer(self.exercise, self.fingerprints.variants[variant])

    def gap(self, variant: int, title: str) -> float:
        """Return how far the numbers in a variant's replies are from the student's, whatever their dtype."""
        sums = self.hash_of(title).sums - self.fingerprints.reply_hash(variant, self.columns[title]).sums
        return float(abs(sums.sum(axis=0)).max())

    def diagnosis(self, variant: int, titles: Sequence[str], share: float) -> Diagnosis:
        name = self.names[variant]
        return Diagnosis(name, self.exercise.sentences[name], list(titles), share)

    def two_mistakes(self, failed: Sequence[str], passed: Sequence[str], alone: Sequence[int]) -> list[Diagnosis]:
        """Return two mistakes that together answer all these checks as the student did, or [] if a search finds none.

        Each costs what it costs alone. If the error messages differ, the mistakes may be others, and cost everything.
        If several pairs answer like that, and their errors do not decide, only the mistake common to all is returned.
        Its cost holds that of the least costly of those beside it.
        """
        actual = StudentReplies({t: self.replies[t] for t in failed}, {t: self.hash_of(t) for t in failed}, (*passed,))
        first = list(itertools.combinations(alone, 2))
        found = pair_cache.explaining_pairs(self.exercise, self.fingerprints, actual, first)
        agreeing = [[list(errors(self.replies[t])) == pair.errors.get(t, []) for t in failed] for pair in found]
        # Types of errors alone show no mistake
        if not any(map(any, agreeing)) and not (found and any(self._gives_wrong_value(title) for title in failed)):
            return []
        likely = [pair for pair, messages in zip(found, agreeing, strict=True) if all(messages)] or found
        common = set.intersection(*({self.names[one] for one in each.variants} for each in likely))
        certain = all(self._errors_match(title, each.errors.get(title, [])) for each in likely for title in failed)
        either = [variant for each in likely for variant in each.variants if self.names[variant] not in common]
        unnamed = min((mistake_costs.cost(self.exercise, self.fingerprints, one) for one in either), default=0.0)
        result: list[Diagnosis] = []
        for variant in likely[0].variants:
            if self.names[variant] in common:
                share = mistake_costs.cost(self.exercise, self.fingerprints, variant) + unnamed
                share = min(share, NOTHING_SAVED) if certain else NOTHING_SAVED
                _add(result, self.diagnosis(variant, [t for t in failed if self.fails(variant, t)], share))
        if result:  # it also explains the checks that neither fails alone
            result[0].checks += [title for title in failed if not any(title in one.checks for one in result)]
        return result

    def cost(self, variant: int, titles: Sequence[str]) -> float:
        """Return the share that a variant costs; everything if its error messages differ: it may be another mistake."""
        if not all(self._messages_agree(variant, title) for title in titles):
            return NOTHING_SAVED
        return mistake_costs.cost(self.exercise, self.fingerprints, variant)

    def is_evident(self, variant: int, titles: Sequence[str], passed: Sequence[str]) -> bool:
        """Return whether more speaks for a variant than the types of errors.

        A message does, a check that is passed by computing something, or a value that is wrong. Where wording is free,
        a message does only beside calls that give a value.
        """
        if any(self.error_hashes_match(variant, title) for title in titles):
            return True
        if _gives_a_value({title: self.replies[title] for title in passed if title in self.replies}):
            return True
        if any(self._gives_wrong_value(title) for title in titles):
            return True
        some = _gives_a_value({title: self.replies[title] for title in titles})
        return some and any(self._messages_agree(variant, title) for title in titles)

    def _messages_agree(self, variant: int, title: str) -> bool:
        """Return whether the errors of both have the same messages, where these are not free."""
        if self.error_hashes_match(variant, title):
            return True
        answers = self.replies_of(variant, title)
        return self._errors_match(title, list(errors(answers)), self._needless(title, answers))

    def _gives_wrong_value(self, title: str) -> bool:
        """Return whether a reply is neither right nor an error, or an error of another type than is asked for."""
        right = self._right_answers(title)
        for number, reply in enumerate(self.replies[title]):
            expected = right  # in any order: after an error, a check may ask less
            if reply.get("problem", {}).get("kind") == "raised":
                expected = right[number : number + 1]
                if not any("problem" in one for one in expected):
                    continue
            if not any(agree([reply], [one], single=self.single) for one in expected):
                return True
        return False

    def _needless(self, title: str, answers: list[Reply]) -> list[bool]:
        """Return for each error among these answers whether their author raises it, and for valid input."""
        refused = ["problem" in right for right in self._right_answers(title)]
        problems = enumerate(answer.get("problem", {}) for answer in answers)
        return [
            bool(problem.get("own")) and not any(refused[i : i + 1])
            for i, problem in problems
            if problem.get("kind") == "raised"
        ]

    def _errors_match(self, title: str, expected: Errors, needless: Sequence[bool] = ()) -> bool:
        """Return whether the error messages agree, except for errors that the task asks for: their wording is free.

        So it is of those that both authors raise for valid input; `needless` says which of the expected ones are such.
        """
        actual = list(errors(self.replies[title]))
        if actual == expected:
            return True
        if len(actual) != len(expected):
            return False
        asked_for = set(errors(self._right_answers(title)))
        free = [
            mine and other for mine, other in zip(self._needless(title, self.replies[title]), needless, strict=False)
        ]
        refused = self._refused_by_all(title)
        return all(
            own == other or (own[0] == other[0] and (anyhow or asked or {own, other} & asked_for))
            for own, other, anyhow, asked in itertools.zip_longest(actual, expected, free, refused)
        )

    def _refused_by_all(self, title: str) -> list[bool]:
        """Return for each error among the student's answers whether the right answer raises its type there, too."""
        refused = [right.get("problem", {}).get("type") for right in self._right_answers(title)]
        problems = enumerate(answer.get("problem", {}) for answer in self.replies[title])
        return [problem.get("type") in refused[i : i + 1] for i, problem in problems if problem.get("kind") == "raised"]

    def _right_answers(self, title: str) -> list[Reply]:
        return _answers(self.exercise.name, self.exercise.source, self.columns[title])

    def error_hashes_match(self, variant: int, title: str) -> bool:
        """Return whether the errors of both, if there are any, have the same messages."""
        return bool(self.hash_of(title).error_hash == self.fingerprints.error_hashes[variant, self.columns[title]])

    def hashes_match(self, variant: int, title: str) -> bool:
        """Return whether the hashes alone show that a variant fails a check as the student did."""
        return self._compare_hashes(variant, title) is True

    def replies_match(self, variant: int, title: str) -> bool:
        """Return whether a variant fails a check that the student failed, with the student's answers."""
        same = self._compare_hashes(variant, title)
        if same is not None:
            return same
        return agree(self.replies[title], self.replies_of(variant, title), single=self.single)

    def _compare_hashes(self, variant: int, title: str) -> bool | None:
        if not self.fails(variant, title):
            return False  # a variant that passes explains nothing, even if its numbers are near
        if self.names[variant] == "global_generator" and not self._drew(title):
            return False  # its numbers are the right ones, so numbers that are nearly right agree with them
        actual, column = self.hash_of(title), self.columns[title]
        if actual.digest != self.fingerprints.digests[variant, column]:
            return False  # `compare` says so too, but the variant's sums need not be put together
        return compare(actual, self.fingerprints.reply_hash(variant, column))

    def _drew(self, title: str) -> bool:
        """Return whether the student's code changed the state of the global generator in a check."""
        return any(reply.get("rng_moved") for reply in self.replies[title])

    def replies_of(self, variant: int, title: str) -> list[Reply]:
        return _answers(self.exercise.name, self.fingerprints.variants[variant], self.columns[title])


def _stops(exercise: Exercise, column: int, replies: list[Reply]) -> bool:
    """Return whether an answer stops with an error in a check where the reference does not."""
    if not any("problem" in reply for reply in replies):
        return False
    right = _answers(exercise.name, exercise.source, column)
    return any("problem" in mine and "problem" not in other for mine, other in zip(replies, right, strict=False))


def _gives_a_value(replies: RecordedReplies) -> bool:
    """Return whether any reply holds what was computed: not None, a handle, or the list of a module's parameters."""
    values = (reply.get("value") for recorded in replies.values() for reply in recorded)
    return any(value is not None and not isinstance(value, Ref) and not _are_parameters(value) for value in values)


def _are_parameters(value: Any) -> bool:
    return isinstance(value, dict) and any(map(is_tensor, value.values()))


def _shows_work(replies: RecordedReplies) -> bool:
    """Return whether an answer shows work of its own: two mistakes may also give a constant, or the unchanged input.

    Visible tensors decide; if none has several numbers, answers that are not all the same count as work.
    """
    answers = [answer for answers in replies.values() for answer in answers if isinstance(answer, dict)]
    answers = [
        answer for answer in answers if not isinstance(answer.get("value"), Ref) and aspects.facts_in(answer) is None
    ]
    values = [(value, answer) for answer in answers for value in _tensors(answer.get("value"))]
    values = [(value, answer) for value, answer in values if value.device.type != "meta"]
    if all(value.numel() <= 1 for value, _ in values):
        return len({repr(answer["value"]) for answer in answers if "value" in answer}) > 1
    return any(
        value.numel() > 1
        and bool((value != value.reshape(-1)[0]).any())
        and not any(_same_numbers(value, given) for given in _tensors(answer.get("inputs")))
        for value, answer in values
    )


def _same_numbers(value: torch.Tensor, given: torch.Tensor) -> bool:
    return value.shape == given.shape and value.double().equal(given.double())  # copies only where they may be equal


def _tensors(value: Any) -> list[torch.Tensor]:
    """Return the tensors in a value, at its top level."""
    found = value if isinstance(value, (list, tuple)) else [value]
    return [one for one in found if is_tensor(one)]


@functools.lru_cache(maxsize=256)
def _answers(name: str, source: str, check: int) -> list[Reply]:
    """Return a variant's own answers to one check, for the few cases that a hash does not decide."""
    declared = exercise(name)
    return replies_to(declared, declared.checks[check], student_with_answer(declared, source)).replies
