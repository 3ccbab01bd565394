"""Mark a whole notebook: run its cells in a child process, and have the judge run its checks at test cells."""

import ast
import functools
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbformat import NotebookNode, from_dict
from nbgrader.utils import is_grade, is_solution

from ...judge.cell_effects import Effects
from ...judge.drawn_inputs import key_of
from ...judge.formatting import number
from ...judge.mark import (
    Verdict,
    depends_on_others,
    has_only_own_mistakes,
    is_explained,
    mark,
    mark_choice,
    mark_drawn_inputs,
    zero,
)
from ...judge.parsing import reason_not_parsed
from ...judge.source_rules import defined_in, definitions, needed_by, needed_for, uses
from ...judge.student import UNDEFINED, Student
from ...judge.verdict import bundle
from ...sandbox.isolation import submitted_files
from ...sandbox.limits import CellResult, Ending, Limits
from ...sandbox.session import MAX_OUTPUTS as MAX_SESSION_OUTPUTS
from ...sandbox.session import Session, Template
from ...spec.course import given_cells, provided_names, question_or_exercise
from ...spec.exercise import Question
from ...work_limit import OverLimit, within
from ..hidden_tests import exercise_of, visible
from ..intake import sanitize
from ..intake.repair import PROVIDED, grade_id
from ..intake.sanitize import printable
from ..release.student_version import LOOK
from .advice import MOVING_LINE, Advisor
from .isolated_rerun import Postponed, next_to_rerun
from .notices import (
    LEFT_OUT,
    RESTARTED,
    SKIPPED,
    STALLED,
    TIME_UP,
    TIME_UP_EXERCISE,
    TOO_MUCH_READING,
    TOO_MUCH_WORK,
    TOO_OFTEN,
)
from .own_tests import deciding, explain_failure, pass_stderr
from .tampering import Sign

log = logging.getLogger(__name__)

MAX_RESTARTS = 4  # times that a notebook may kill or stall its process before its remaining cells are skipped
LOOP_LIMIT = 2.0  # seconds for a cell that uses a function in which an earlier cell was stopped

EXERCISE_SHARE = 0.5  # of the rest of the judge's work limit on a notebook, for one exercise
WORK_GRACE = 5.0  # seconds of a processor beyond the budget until reading the notebook itself is stopped

MAX_OUTPUTS = 300  # of one cell
MAX_REMARKS = 10  # sentences about cells, at the beginning of the page
MAX_SHOWN = 24 * 2**20  # characters of one notebook's outputs
FAILURES = {  # ends of sentences on why an answer's cell did not run to its end
    "died": "the cell of the answer ended the Python process.",
    "time": "the cell of the answer was stopped at its time limit of {limit:.0f} seconds.",
    "error": "the cell of the answer stopped with {error}.",
}


@dataclass
class NotebookMarker:
    """Mark one notebook in place. `verdicts` holds each test cell's verdict, by grade_id.

    The course's own cells run only if a cell or an answer below needs a name that they define or change; cells that an
    instructor gave always run, as in nbgrader.
    """

    notebook: NotebookNode
    template: Template
    files: Path | None = None  # folder of the files submitted with the notebook
    limits: Limits = field(default_factory=Limits)
    stderr_fails: bool = True  # in an instructor's own tests, as in nbgrader
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)  # sentences for the student about the notebook as a whole
    on_progress: Callable[[int, int], None] | None = None  # called with the test cells marked and their total
    secret: bytes = b""  # of the class; without it the order of cases is fixed, and no inputs are drawn
    drawn_inputs_count: bool = False  # whether checks that fail with drawn inputs lose their points

    def run(self) -> dict[str, Verdict]:
        """Mark and return the verdicts. Exercises beyond the judge's work limit earn nothing; earlier marks stay."""
        load(name for cell in self.notebook.cells if (name := exercise_of(cell)) is not None)
        self._started = time.thread_time()
        try:
            within(self.limits.work + WORK_GRACE, self._run_cells)
        except OverLimit:
            log.warning("A notebook took more than the %.0f seconds of work_timeout", self.limits.work)
            for cell in self.notebook.cells:
                if (name := exercise_of(cell)) is not None and cell.metadata.nbgrader.grade_id not in self.verdicts:
                    self._write(cell, zero(name, TOO_MUCH_READING))
        return self.verdicts

    def _run_cells(self) -> None:
        self._shown = 0  # characters of outputs
        self._spent = 0.0  # seconds that ended sessions were busy, less those of `_drawn_seconds`
        self._drawn_seconds = 0.0  # seconds that sessions were busy with drawn inputs
        self._not_replayed: set[int] = set()
        self._tests_run: set[int] = set()
        self._failures: dict[str, str] = {}  # by grade_id and name: why an answer's cell did not run to its end
        self._restarts = self._count = 0
        self._session: Session | None = None
        self._postponed: list[Postponed] = []
        self._all_ended = True  # False once an ended session's processes would not die
        exercises = [name for name in map(exercise_of, self.notebook.cells) if name is not None]
        self._ordinary = not exercises  # every cell runs, as in nbgrader
        self._looping: set[str] = set()  # functions of the student's in which a cell `by_itself` was stopped
        notebooks = {question_or_exercise(name).notebook for name in exercises}
        self._of_the_course = frozenset[str]().union(*map(given_cells, notebooks))
        self._needed = set[int]() if self._ordinary else self._needed_cells()
        cells = [cell for cell in self.notebook.cells if cell.cell_type == "code"]
        answers = {*exercises}.union(*(defined_in(cell.source) for cell in cells if is_solution(cell)))
        self._advisor = Advisor((cell.source for cell in cells), answers)
        try:
            for index, cell in enumerate(self.notebook.cells):
                if cell.cell_type != "code":
                    continue
                if (name := exercise_of(cell)) is not None:
                    self._mark(cell, name)
                    if index in self._needed and self.verdicts[cell.metadata.nbgrader.grade_id].earned:
                        self._run_visible_test(index, cell)
                    if self.on_progress is not None:
                        self.on_progress(len(self.verdicts), len(exercises))
                elif self._passed_over(index):
                    cell.outputs, cell.execution_count = [_notice(SKIPPED)], None
                elif is_grade(cell) and not is_solution(cell):
                    self._run_own_test(index, cell)
                else:
                    self._run(index, cell)
            self._judge_late_answers()
            self._rerun_isolated()
        finally:
            if self._session is not None:
                self._session.close()

    @functools.cached_property
    def _effects(self) -> Effects:
        return Effects(cell.source for cell in self.notebook.cells if cell.cell_type == "code")

    def _needed_cells(self) -> set[int]:
        """Return the indexes of provided cells and tests that define or change names which the cells below need.

        These run where they stand, as in Jupyter, and no others do: a training costs minutes, and most answers need
        none. Of a test the student's part runs.
        """
        names, needed = set[str](), set[int]()
        for index, cell in reversed(list(enumerate(self.notebook.cells))):
            if cell.cell_type != "code":
                continue
            name = exercise_of(cell)
            if name is None and not is_provided(cell):
                names |= needed_by(cell.source)
                continue
            source = visible(cell.source)
            if names & (self._effects.changed_by(source) if name is None else defined_in(source)):
                needed.add(index)
                names |= needed_for(source, names)
            if name is not None:
                names |= {name} | uses(name, _answer_sources(self.notebook))
                names |= provided_names(question_or_exercise(name).notebook)
        return needed

    def _passed_over(self, index: int) -> bool:
        """Return whether a cell is the course's own, unchanged, and nothing needs it."""
        cell = self.notebook.cells[index]
        known = cell.source in self._of_the_course or cell.source.startswith(LOOK)
        return known and is_provided(cell) and index not in self._needed and not self._ordinary

    def _remaining(self) -> float:
        """Return the seconds that the student's code may still take; negative if the grader's own budget is used up."""
        busy = self._spent + (self._session.busy if self._session is not None else 0.0)
        return self.limits.notebook - busy if self._within_work_limit() else -1.0

    def _within_work_limit(self) -> bool:
        return self._work_left() > 0

    def _work_left(self) -> float:
        return self.limits.work - (time.thread_time() - self._started)

    def _may_judge(self) -> bool:
        """Return True if checks may still run: until the notebook has used twice its time limit."""
        return self._within_work_limit() and self._remaining() > -self.limits.notebook

    def _end(self) -> None:
        if (session := self._session) is not None:
            if not session.end():
                log.warning(
                    "A notebook's processes do not end; no exercise is judged with library equivalents any more"
                )
                self._all_ended = False
            self._spent += session.busy
            self._session = None  # not before: if the end is interrupted, the session is still closed

    def _run(self, index: int, cell: NotebookNode) -> CellResult:
        cell.outputs, cell.execution_count = [], None
        if not cell.source.strip():
            return CellResult()
        ending: Ending = "error"
        if (reason := reason_not_parsed(cell.source)) is not None:
            self._not_replayed.add(index)
        elif self._remaining() < 0:
            ending, reason = "time", TIME_UP
        elif self._restarts > MAX_RESTARTS:
            ending, reason = "died", TOO_OFTEN
        if reason is not None:
            cell.outputs = [_notice(reason)]
            return CellResult(ending=ending)
        limit = min(self.limits.cell, max(self._remaining(), 1.0))
        by_itself = self._ordinary or (is_grade(cell) and not is_solution(cell))  # an instructor's own test
        if by_itself and self._looping and self._looping & self._reached_by(cell):
            limit = min(limit, LOOP_LIMIT)
        result = self._live_session(index).run(cell.source, limit)
        cell.execution_count = self._count = self._count + 1
        cell.outputs = self._limited(result.outputs, cell.execution_count)
        if result.ending in ("time", "died"):
            cell.outputs.append(_notice(STALLED.format(limit=limit) if result.ending == "time" else RESTARTED))
            self._not_replayed.add(index)
        if by_itself and result.ending == "time":
            self._looping |= self._reached_by(cell)
        error = _error_of(result)
        advice = list(self._advisor.advise(cell.source, result, error))
        cell.outputs += map(_notice, advice)
        where = (
            f"the cell “{name}”"
            if (name := grade_id(cell))
            else f"a cell of {'the course' if is_provided(cell) else 'yours'}"
        )
        self.remarks += [f"In {where}: {text}" for text in advice[: MAX_REMARKS - len(self.remarks)]]
        failure = FAILURES.get(result.ending, "").format(limit=limit, error=error or "an error")
        for name in {grade_id(cell) or "", *defined_in(cell.source)}:  # answers may be merged into one cell
            self._failures[name] = " ".join(filter(None, [failure, *advice]))
        return result

    def _reached_by(self, cell: NotebookNode) -> Set[str]:
        """Return the names of the student's functions that a cell uses, directly or through others."""
        sources = _answer_sources(self.notebook)
        reached = needed_by(cell.source).union(*(uses(name, sources) for name in needed_by(cell.source)))
        functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        found = definitions(sources)
        return {name for name in reached if any(isinstance(one, functions) for one in found.get(name, ()))}

    def _limited(self, outputs: list[dict[str, Any]], count: int) -> list[NotebookNode]:
        """Return the cleaned outputs of a cell, cut off with a notice when they are too many or too large."""
        shown: list[NotebookNode] = []
        for output in outputs:
            if len(shown) >= MAX_OUTPUTS or self._shown > MAX_SHOWN:
                return [*shown, _notice(LEFT_OUT)]
            for clean in _cleaned(output, count):
                shown.append(clean)
                self._shown += len(str(clean))
        return shown

    def _live_session(self, index: int) -> Session:
        """Return a session in which the earlier cells ran; after too many restarts, the dead one."""
        while self._session is None or not self._session.responds():
            if self._restarts > MAX_RESTARTS:
                assert self._session is not None
                return self._session
            if self._session is not None:
                self._end()
                self._restarts += 1
            self._start(index)
        return self._session

    def _start(self, index: int, names: set[str] | None = None) -> Session:
        """Start a session and run the cells before cell `index`; with `names`, no experiments that define others."""
        self._session = session = Session(self.template, self.files, self.limits)
        for earlier in range(index):
            cell = self.notebook.cells[earlier]
            ungraded = cell.cell_type == "code" and (exercise_of(cell) is None or earlier in self._tests_run)
            skipped = earlier in self._not_replayed or self._passed_over(earlier)
            if not ungraded or skipped or not cell.source.strip():
                continue
            if names is not None and "nbgrader" not in cell.metadata and not self._matters(cell, names):
                continue
            remaining = self._remaining()
            if remaining < 0 or self._restarts > MAX_RESTARTS:
                session.kill()
                break
            if session.run(visible(cell.source), min(self.limits.cell, remaining)).ending in ("time", "died"):
                self._not_replayed.add(earlier)
                if not session.alive:
                    break
        return session

    def _matters(self, cell: NotebookNode, names: Set[str]) -> bool:
        """Return whether a cell defines one of these names, or is the student's and may decide what imports find."""
        moves = MOVING_LINE.search(cell.source) or needed_by(cell.source) & {"os", "sys"}
        return bool(names & defined_in(cell.source) or (moves and not is_provided(cell)))

    def _run_own_test(self, index: int, cell: NotebookNode) -> None:
        result = self._run(index, cell)
        if not self.stderr_fails:
            pass_stderr([*cell.outputs, *result.outputs])
        if _notice(LEFT_OUT) in cell.outputs:
            cell.outputs += deciding(clean for one in result.outputs for clean in _cleaned(one, self._count))
        cut = len(result.outputs) >= MAX_SESSION_OUTPUTS
        explain_failure(cell, result.ending, cut, (one for one in self.notebook.cells if one.cell_type == "code"))

    def _run_visible_test(self, index: int, cell: NotebookNode) -> None:
        """Run the visible part of a test, for the names and the state that it leaves to cells below."""
        source = visible(cell.source)
        if self._live_session(index).run(source, self.limits.question).ending in ("ok", "error"):
            self._tests_run.add(index)

    def _mark(self, cell: NotebookNode, name: str) -> None:
        index = self.notebook.cells.index(cell)
        session = self._live_session(index)
        if self._may_judge() and session.alive:
            self._write(cell, self._judge(session, cell, name, index))
        else:
            self._write(cell, zero(name, TOO_OFTEN if self._may_judge() else TIME_UP_EXERCISE))

    def _judge(self, session: Session, cell: NotebookNode, name: str, index: int) -> Verdict:
        """Return the verdict with the student's other exercises; postpone a rerun with library equivalents of these.

        If some that it uses are wrong, no mistake is looked for before the rerun, which often finds the answer right.
        """
        declared = question_or_exercise(name)
        if isinstance(declared, Question) and (seen := session.peek(name))["peek"] == "plain":  # needs no fork
            return mark_choice(declared, seen.get("value"))
        sources = _answer_sources(self.notebook)
        used = uses(name, sources)
        right = {one.exercise for one in self.verdicts.values() if one.full}
        named = used & {one.exercise for one in self.verdicts.values()} <= right | {name}
        with session.requests() as request:
            student = Student(request, self._submission_text(name))
            verdict = self._limited_work(name, lambda: mark(name, student, own_parts=True, named=named))
            stopped = self._session is None  # the judge's work was too much
            if named or verdict.full:
                verdict = self._with_drawn_inputs(verdict, student)
            if verdict.full or stopped or not depends_on_others(name, sources, student.called):
                return verdict
        needs = frozenset(used | student.called)
        if named and has_only_own_mistakes(verdict, right, needs):
            return verdict
        self._postponed.append(Postponed(cell, name, index, needs, verdict, named))
        return verdict

    def _with_drawn_inputs(self, verdict: Verdict, student: Student) -> Verdict:
        """Return the verdict after checks with drawn inputs, or the same one if these take too much work or time.

        Their time does not count as the student's, so a right answer loses nothing by them.
        """
        session = self._session
        if session is None or self._drawn_seconds > self.limits.notebook:
            return verdict
        busy = session.busy
        try:
            again = functools.partial(mark_drawn_inputs, verdict, student, self.drawn_inputs_count)
            return within(self._work_left() * EXERCISE_SHARE, again)
        except OverLimit:
            log.warning("%s: checks with drawn inputs took more than their share of work_timeout", verdict.exercise)
            self._end()
            return verdict
        finally:
            self._drawn_seconds += session.busy - busy
            self._spent -= session.busy - busy

    def _submission_text(self, name: str) -> str:
        """Return the text from which inputs are drawn; it depends on all code and files that the answer reads."""
        return key_of(self.secret, name, self._texts) if self.secret else ""

    @functools.cached_property
    def _texts(self) -> list[bytes]:
        """Return the student's code cells, with helpers, and the files that were submitted with the notebook."""
        files = sorted(submitted_files(str(self.files))) if self.files is not None else []
        contents = [text for name in files for text in (os.fsencode(name), Path(self.files or "", name).read_bytes())]
        return [source.encode(errors="surrogatepass") for source in _answer_sources(self.notebook)] + contents

    def signs(self) -> list[Sign]:
        """Return a sign for each answer that passes checks with the known inputs and fails them with drawn ones."""
        code = [cell for cell in self.notebook.cells if cell.cell_type == "code"]
        numbers = {grade_id(cell): number for number, cell in enumerate(code, 1)}
        found = []
        for verdict in self.verdicts.values():
            if verdict.learned:
                share = f"{len(verdict.learned)} of {verdict.checks_repeated}"
                why = "learned, or a fault that no known one shows"
                what = f"right on the known inputs, wrong on {share} drawn ones: {why}"
                found.append(Sign(numbers.get(verdict.exercise, 0), verdict.exercise, "", what))
        return found

    def _limited_work(self, name: str, work: Callable[[], Verdict]) -> Verdict:
        """Return the verdict on one exercise; zero if it takes more than half of the rest of the judge's work limit.

        The exercises after it can then be marked, in a new session: the old one may have stopped within a message.
        """
        try:
            return within(self._work_left() * EXERCISE_SHARE, work)
        except OverLimit:
            log.warning("%s: marking it took more than its share of work_timeout; it earns nothing", name)
            self._end()
            return zero(name, TOO_MUCH_WORK.format(name=name))

    def _rerun_isolated(self) -> None:
        """Judge postponed exercises again, with library equivalents of the others: see `isolated_rerun`."""
        if self._postponed:
            self._end()
        while self._postponed and self._all_ended and self._remaining() > 0:
            chosen = next_to_rerun(self._postponed)
            self._postponed.remove(chosen)
            unfinished = {other.name for other in self._postponed}
            best = chosen.verdict
            verdict = self._judged_anew(chosen, functools.partial(mark, chosen.name, keep=unfinished))
            if verdict is not None and verdict.earned >= best.earned:
                best = verdict
            if not (chosen.named or best.full or (best is verdict and is_explained(best))):
                verdict = self._judged_anew(chosen, functools.partial(mark, chosen.name, own_parts=True))
                if verdict is not None and (best is chosen.verdict or verdict.earned > best.earned):
                    best = verdict
            if best is not chosen.verdict:
                self._write(chosen.cell, best)

    def _judged_anew(self, chosen: Postponed, judge: Callable[[Student], Verdict]) -> Verdict | None:
        """Return the verdict on an exercise in a session of its own; None if that does not start."""
        names = uses(chosen.name, _answer_sources(self.notebook)) | {chosen.name}
        try:
            session = self._start(chosen.index, names)
            if not session.alive:
                return None
            with session.requests() as request:
                student = Student(request, self._submission_text(chosen.name))
                return self._with_drawn_inputs(
                    self._limited_work(chosen.name, functools.partial(judge, student)), student
                )
        finally:
            self._end()

    def _judge_late_answers(self) -> None:
        """Judge again, after the last cell, exercises without an answer: it may stand below its test cell."""
        for cell in self.notebook.cells:
            name = exercise_of(cell)
            if name is None or self._session is None or not self._session.alive or not self._may_judge():
                continue
            before = self.verdicts[cell.metadata.nbgrader.grade_id]
            if not before.earned and not before.lines and before.remark:
                self._postponed = [one for one in self._postponed if one.cell is not cell]
                after = self._judge(self._session, cell, name, len(self.notebook.cells))
                if after.earned > before.earned:
                    self._write(cell, after)

    def _write(self, cell: NotebookNode, verdict: Verdict) -> None:
        if verdict.remark == UNDEFINED.format(name=verdict.exercise) and self._failures.get(verdict.exercise):
            verdict.remark = f"`{verdict.exercise}` is not defined: {self._failures[verdict.exercise]}"
        self.verdicts[cell.metadata.nbgrader.grade_id] = verdict
        write_verdict(cell, verdict)


def load(names: Iterable[str]) -> None:
    """Import the modules of these exercises, so that the first notebook's time limit does not pay for it."""
    for name in names:
        question_or_exercise(name)  # imports its module
    if (torch := sys.modules.get("torch")) is not None:
        torch.optim.SGD([torch.zeros(1)])  # what PyTorch imports when it is first used


def is_provided(cell: NotebookNode) -> bool:
    return PROVIDED in cell.metadata.get("tags", [])


def _error_of(result: CellResult) -> str:
    """Return a cell's last error, cut to 200 characters on one line; "" if there was none."""
    errors = [output for output in result.outputs if output.get("output_type") == "error"]
    return printable(" ".join(f"{errors[-1].get('ename')}: {errors[-1].get('evalue')}".split())[:200]) if errors else ""


def write_verdict(cell: NotebookNode, verdict: Verdict) -> None:
    """Write the rubric and the mark into a test cell's outputs, in place of the student's outputs."""
    cell.outputs = [_output("display_data", data=sanitize.all_printable(bundle(verdict)), metadata={})]
    points = float(cell.metadata.nbgrader["points"])
    share = verdict.earned / verdict.points if verdict.points else 0.0
    _set_mark(cell, points if verdict.full else min(round(points * share, 2), points))


def _set_mark(cell: NotebookNode, mark: float) -> None:
    """Write a mark as the cell's execute_result, for nbgrader, which would count errors and stderr as zero."""
    kept = [output for output in cell.outputs if output.get("name") != "stderr" and output.output_type != "error"]
    shown = {"text/plain": number(mark)}
    cell.outputs = [*kept, _output("execute_result", data=shown, metadata={}, execution_count=None)]


def zero_everywhere(notebook: NotebookNode, remark: str) -> dict[str, Verdict]:
    """Write zeros with a reason into a notebook that could not be read or run; return the verdicts by grade_id."""
    verdicts = {}
    for cell in notebook.cells:
        if (name := exercise_of(cell)) is not None:
            verdicts[cell.metadata.nbgrader.grade_id] = verdict = zero(name, remark)
            write_verdict(cell, verdict)
        elif cell.cell_type == "code" and is_grade(cell) and not is_solution(cell):
            cell.outputs = []
            _set_mark(cell, 0.0)
    return verdicts


def _answer_sources(notebook: NotebookNode) -> list[str]:
    """Return the code that a student may write: all but the locked cells."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [cell.source for cell in code if is_solution(cell) or not cell.metadata.get("nbgrader", {}).get("locked")]


def _notice(text: str) -> NotebookNode:
    return _output("stream", name="stdout", text=f"[{text}]\n")


def _output(kind: str, **parts: Any) -> NotebookNode:
    """Return an output like nbformat's `new_output`, but unvalidated: the whole notebook is validated later."""
    made: NotebookNode = from_dict({"output_type": kind, **parts})
    return made


def _cleaned(output: Any, count: int) -> Iterator[NotebookNode]:
    """Yield a cleaned output of the child that cannot pass for the grader's; nothing if it is malformed."""
    if not isinstance(output, dict):
        return
    kind = output.get("output_type")
    if kind == "stream" and output.get("name") in ("stdout", "stderr") and isinstance(output.get("text"), str):
        yield _output("stream", name=output["name"], text=printable(output["text"]))
    elif kind == "error":
        trace = output.get("traceback")
        lines = [printable(line) for line in trace if isinstance(line, str)] if isinstance(trace, list) else []
        name, value = printable(str(output.get("ename"))), printable(str(output.get("evalue")))
        yield _output("error", ename=name, evalue=value, traceback=lines or [f"{name}: {value}"])
    elif kind in ("display_data", "execute_result") and isinstance(output.get("data"), dict):
        data = sanitize.bundle(output["data"])
        extra = {"execution_count": count} if kind == "execute_result" else {}
        yield _output(kind, data=data, metadata=sanitize.about(output.get("metadata"), data), **extra)
