"""In a learner's notebook: the cell below an answer marks it; `hint` and `solution` help."""

import ast
import contextlib
import difflib
import errno
import importlib
import os
import random
import re
import sys
import textwrap
import threading
import traceback
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from IPython import get_ipython
from IPython.display import Markdown, display

from .. import files
from ..close_names import did_you_mean
from ..judge.formatting import number, prose, without_emphasis
from ..judge.mark import Verdict
from ..judge.source_rules import defined_in
from ..judge.student import UNDEFINED
from ..spec.course import names, question_or_exercise
from ..spec.exercise import Question
from ..spec.messages import UNANSWERED
from ..untrusted.torch_internals import COMPILER
from . import __all__ as CALLS
from . import advice, local_marking, self_marking, verdict_page
from .progress import FOLDER, SAID, TEST, Answer, Copy, State, copy_around

WATCHED = "with __import__('autograder.learning.hints', fromlist=['running']).running[-1]: pass"
DEFINES = re.compile(r"^(?:def|class) +(\w+)|^(\w+) *=(?!=)", re.MULTILINE)  # also in a cell with a syntax error
RUNNING = "running"  # a folder with a file for each test that runs: one that is left shows a crash
ELSEWHERE = "Hints and solutions are there in a notebook of your own copy of the course: `autograder learn` makes one."
HUNG = (
    "■ The test of `{name}` was stopped after {seconds} seconds: does a loop in your answer never end? Marking tries "
    "it once more: the verdict follows in about {seconds} seconds."
)
NOT_RUN = (
    "○ Not tested yet: `{name}` comes from a cell above that has not run in this kernel. Choose Run → Run All Above "
    "Selected Cell in the menu, then run this test again."
)
DEFINED = "● `{name}` is defined. Now run the cell below it, which marks it."
BROKEN = (
    "○ `{name}` is not marked: its cell stopped with {error}, so what is defined is not what you see there. Correct "
    "that cell, run it, then run this one again."
)
MISSPELT = " `{other}` is defined: was it to be `{name}`? Then correct its name."
BACK = "The start page says what comes next."
STOPPED = "■ Stopped while `{name}` was called. If it hung there: does a loop in it never end?"
ENDED = (
    "■ Python ended while the test of `{name}` ran: the answer crashed it, took all the memory or called `os._exit`, "
    "unless you restarted the kernel yourself. Change the answer, then run the cells again from the top."
)


def check(answer: Any = None) -> None:
    """Mark an answer of this notebook, given as an object or by name, and show what is right and wrong about it."""
    if name := _name_of(answer, "check"):
        mark_yourself(name) if _is_written(name) else _mark(name)


def mark_yourself(name: str, *marks: Any) -> None:
    """Show the rubric and sample answers to a written answer, once it is written, and keep the learner's marks."""
    if (found := _in_copy(name, "mark_yourself")) is None:
        return
    course, name, about = found
    if not about.written:
        _say(f"`{name}` is marked by itself: run the cell below it.")
        return
    if lacking := self_marking.what_is_missing(name, Path.cwd()):
        _say(lacking)
        return
    rubric = self_marking.rubric_of(course.home(name), name)
    lead = self_marking.COMPARE
    if any(mark is not None for mark in marks):
        if (earned := self_marking.points_of(marks, rubric)) is None:
            _say(self_marking.what_marks_are_asked(name, rubric))
            return
        _keep(course, name, replace(course.state(name), tries=1, earned=earned))
        lead = self_marking.MARKED.format(name=name, earned=number(earned), points=number(rubric.points))
        home = course.home(name)
        lead += f"\n\n{course.done(home)}. {course.what_next(home, name)}"
    display(Markdown(self_marking.comparison(rubric, lead)))


def _mark(name: str, hung: bool = False) -> None:
    if name in _broken:
        _say(BROKEN.format(name=name, error=_broken[name]))
        return
    try:
        if _slow_parts.is_alive():
            _slow_parts.join()
        verdict = local_marking.verdict_on(name, _defined(), hung)
    except KeyboardInterrupt:
        _say(STOPPED.format(name=name))
        return
    except local_marking.NotRun as missing:
        _say(NOT_RUN.format(name=missing))
        return
    if verdict.remark in (UNANSWERED, UNDEFINED.format(name=name)):
        _say(f"○ `{name}` is not answered yet, or the cell of the answer has not run.{_misspelt(name)}")
        return
    if verdict.remark and _is_question(name):
        _say(f"○ `{name}` is not marked yet. {verdict.remark}")
        return
    if course := _copy():
        _remember_try(course, verdict)
    shown = verdict_page.with_advice(verdict, _defined())
    display({"text/plain": verdict_page.plain(shown), "text/html": _page(shown, course)}, raw=True)


def _misspelt(name: str) -> str:
    """Return a sentence about a function or class of the learner's that is nearly called so; "" if there is none."""
    own = [one for one, value in _defined().items() if getattr(value, "__module__", "") == "__main__"]
    close = difflib.get_close_matches(name, set(own) - names() - local_marking.names_above(name), 1, 0.8)
    return MISSPELT.format(other=close[0], name=name) if close else ""


def _remember_try(course: Copy, verdict: Verdict) -> None:
    """Count a try; the points are those of the best."""
    state = course.state(verdict.exercise)
    best = max(state.earned, verdict.earned)
    missed, practised = state.missed or not verdict.full, state.practised and verdict.full
    new = replace(state, tries=state.tries + 1, earned=best, missed=missed, practised=practised)
    _keep(course, verdict.exercise, new)


def _keep(course: Copy, name: str, state: State) -> None:
    try:
        course.remember(name, state)
    except OSError as error:  # a disk that is full
        refused = isinstance(error, PermissionError) or error.errno == errno.EROFS
        sentence = advice.READ_ONLY if refused else advice.FULL
        _say(f"✗ {sentence.format(folder=course.folder, reason=error.strerror)}")


def _page(verdict: Verdict, course: Copy | None) -> str:
    """Return the verdict; then what to reread, and what comes next."""
    parts = [verdict_page.page(verdict)]
    if course and (home := course.home(verdict.exercise)):
        answer = course.notebooks[home][verdict.exercise]
        if not verdict.full:
            helps = f', or ask <code>hint("{verdict.exercise}")</code>' if answer.hints else ""
            parts.append(f"<p>Reread “{prose(answer.section)}”{helps}.</p>")
        then = f" {prose(course.what_next(home, verdict.exercise))}" if verdict.full else ""
        parts.append(f"<p><small>{course.done(home)}.{then}</small></p>")
    return "".join(parts)


def hint(answer: Any = None) -> None:
    """Show the next hint for an answer, given as an object or by name, and those before it."""
    if (found := _in_copy(answer, "hint")) is None:
        return
    course, name, about = found
    state = course.state(name)
    state.hints = min(state.hints + 1, len(about.hints))
    _keep(course, name, state)
    shown = "\n\n".join(about.hints[: state.hints])
    more = f'`hint("{name}")` shows another.'
    if state.hints == len(about.hints):
        more = f'There is no further hint. `solution("{name}")` shows a worked answer once you have tried.'
    none = f"No hint is written for `{name}`: reread “{about.section}”."
    if _is_question(name):
        none += f' `solution("{name}")` says what is true of each letter, once you have tried.'
    display(Markdown(f"{shown}\n\n{more}" if shown else none))


def solution(answer: Any = None) -> None:
    """Show a worked answer with its reasons, once the learner has tried the one that is given or named."""
    if (found := _in_copy(answer, "solution")) is None:
        return
    course, name, about = found
    if about.written:
        mark_yourself(name)
        return
    declared = question_or_exercise(name)
    if not course.state(name).tries:
        helps = f', with `hint("{name}")` if you are stuck' if about.hints else ""
        _say(f"Try `{name}` first{helps}: write an answer and run the cell below it. Then ask again.")
    elif isinstance(declared, Question):
        options = "\n".join(f"- **{letter}** {reason}" for letter, reason in sorted(declared.explanations.items()))
        display(Markdown(f"**{name}: {declared.key} is right.**\n\n{options}"))
    else:
        others = [one.name.replace("_", " ") for one in declared.alternatives[:3]]
        also = f"\n\nOther right ways: {'; '.join(others)}." if others else ""
        display(Markdown(f"**A worked {name}.** Yours may differ.\n\n```python\n{declared.source}```{also}"))


def practise(*answers: Any) -> None:
    """Check the result of the case that was shown last, and show the next one: what was once wrong and is right now."""
    from . import practice  # not before: few cells need it

    if (course := _copy()) is None:
        _say(ELSEWHERE)
        return
    answers = tuple(one for one in answers if one is not ...)  # the brackets as the text below shows them
    answer = answers[0] if len(answers) == 1 else answers or None  # several results may come without their brackets
    lead = "" if answer is None or _cases else "This kernel has shown no case yet. Here is one.\n\n"
    if _cases and answer is not None:
        case = _cases.pop()
        if practice.is_right(case, answer):
            _keep(course, case.name, replace(course.state(case.name), practised=True))
            lead = f"**✓ Right: `{case.name}` is done.**\n\n"
        else:
            why = f" {case.reason}" if case.reason else ""
            lead = f"**✗ The reference gives `{practice.shown(case.right)}`.**{why} Here is a fresh case.\n\n"
    due, done = course.to_practise()
    if not due:
        none = "Nothing that was once wrong is right by now: there is nothing to practise yet."
        display(Markdown(lead + (f"**All done:** {len(done)} of {len(done)}. {BACK}" if done else none)))
        return
    if not _cases or _cases[-1].name not in due:
        _cases[:] = [practice.draw(due[0], random.Random())]
    case = _cases[-1]
    how = f"Write {case.example} between the brackets of `practise(…)` and run the cell again."
    display(Markdown(f"{lead}**{len(done) + 1} of {len(done) + len(due)}: {case.name}.** {case.text}\n\n{how}"))


_cases: list[Any] = []  # the case that was shown last, if it is not answered


def _in_copy(answer: Any, call: str) -> tuple[Copy, str, Answer] | None:
    """Return the copy of the course, an answer's name and what the copy holds on it; else say what is missing."""
    if (course := _copy()) is None:
        _say(ELSEWHERE)
    elif name := _name_of(answer, call):
        if home := course.home(name):
            return course, name, course.notebooks[home][name]
        _say(_unknown(name))
    return None


def _name_of(answer: Any, call: str) -> str:
    """Return the name of an answer, which is given as a name, a function or a class; else say what to write."""
    name = answer if isinstance(answer, str) else str(getattr(answer, "__name__", ""))
    if name in names() or _is_written(name):
        return name
    meant = [one for one in _near() if one in _defined() and _defined()[one] is answer]  # the variable of a question
    if meant or len(name) < 2:
        example = meant[0] if len(meant) == 1 else next(iter([*_near(), *sorted(names())]))
        how = "the name" if len(meant) == 1 else "the name of the exercise or question"
        _say(f'Put {how} in quotation marks, as in `{call}("{example}")`.')
    else:
        _say(_unknown(name))
    return ""


def _unknown(name: str) -> str:
    meant = did_you_mean(name, _near()) or did_you_mean(name, names())
    title = " Its name is in the title of the cell below it: “Test of …”."
    return f"There is no exercise or question `{name}`.{meant or title}"


def _is_written(name: str) -> bool:
    course = _copy()
    return bool(course and (home := course.home(name)) and course.notebooks[home][name].written)


def _is_question(name: str) -> bool:
    return isinstance(question_or_exercise(name), Question)


def _near() -> list[str]:
    """Return the names of this notebook's answers."""
    course = _copy()
    return list(course.notebooks.get(course.notebook_in(Path.cwd()), ())) if course else []


def _defined() -> dict[str, Any]:
    """Return what is defined in the notebook."""
    shell: Any = get_ipython()
    return shell.user_ns  # type: ignore[no-any-return]


def _copy() -> Copy | None:
    """Return the learner's copy of the course around this notebook; None if there is none, or its list is damaged."""
    course = copy_around(Path.cwd())
    try:
        return course if course and course.notebooks else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _say(sentence: str) -> None:
    display(
        {"text/plain": without_emphasis(sentence).replace("`", ""), "text/html": f"<p>{prose(sentence)}</p>"}, raw=True
    )


# PyTorch imports this at the first use of a second device. It takes a second, while the learner reads.
_slow_parts = threading.Thread(target=importlib.import_module, args=(COMPILER,), daemon=True)


class _VisibleTest(ast.NodeTransformer):
    """A visible test while it runs: stopped when it takes too long, and not blamed for a cell that has not run."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.hung = False
        self.not_run = False  # a cell above it
        self.limit = local_marking.TimeLimit()

    def visit_Module(self, tree: ast.Module) -> ast.Module:
        """Put the cell's statements under this object as a context manager."""
        [watched] = ast.parse(WATCHED).body
        kept = [node for node in tree.body if not SAID.match(ast.unparse(node))]
        watched.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
        tree.body = [watched]
        return tree

    def __enter__(self) -> None:
        self.limit.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        self.limit.__exit__(kind, error, at)
        self.hung = self.limit.over
        if self.hung:
            _say(HUNG.format(name=self.name, seconds=local_marking.SECONDS))
        elif type(error) is NameError and error.name in local_marking.not_run(self.name, _defined()):
            self.not_run = True
            _say(NOT_RUN.format(name=error.name))
        absent = type(error) is NameError and error.name == self.name
        refused = isinstance(error, AssertionError) and _is_question(self.name)  # also a small letter, which is marked
        return self.hung or self.not_run or absent or refused  # the verdict reports these cases


running: list[_VisibleTest] = []  # at most one
_broken: dict[str, str] = {}  # answers whose cell ran last with a syntax error, and its name: an earlier one is defined


def before(info: Any) -> None:
    """Note which visible test is about to run, and have it watched."""
    if name := _tested(info):
        running[:] = [_VisibleTest(name)]
        shell: Any = get_ipython()
        shell.ast_transformers.append(running[0])
        if course := _copy():
            with contextlib.suppress(OSError):  # a disk that is full
                files.write_with_folders(course.folder / FOLDER / RUNNING / name, b"")


def _tested(info: Any) -> str:
    """Return the name of the answer that a cell tests; "" if it tests none."""
    found = TEST.match(info.raw_cell)
    return found[1] if found and found[1] in names() else ""


def _after(result: Any) -> None:
    """Mark the answer whose test has run, unless it was stopped or is not answered, and remove the note."""
    if "torch" in sys.modules and _slow_parts.ident is None:
        _slow_parts.start()
    error = result.error_before_exec or result.error_in_exec
    _note_broken(result.info.raw_cell, error)
    answered = not isinstance(error, KeyboardInterrupt) and "ot answered yet" not in str(error)
    if not running:
        if answered and (name := _tested(result.info)):  # the cell that switched marking on
            _mark(name)
        elif error is None and (name := _answered_in(result.info.raw_cell)):
            _say(DEFINED.format(name=name))
        return
    test = running.pop()
    shell: Any = get_ipython()
    shell.ast_transformers.remove(test)
    if answered and not test.not_run:
        _mark(test.name, test.hung)
    if course := _copy():
        with contextlib.suppress(OSError):  # a folder that is read-only
            (course.folder / FOLDER / RUNNING / test.name).unlink(missing_ok=True)


def _advise_first(shell: Any) -> None:
    """Have an error that no answer caused shown as a sentence that says what to run.

    Its traceback follows only if it was raised in a function: a name in it may have been meant otherwise.
    """
    show = shell._showtraceback

    def advised(kind: type[BaseException], error: BaseException, trace: list[str]) -> None:
        cell = str(_defined()["In"][-1])
        if sentence := "" if running else advice.about(error, cell, Path.cwd(), _copy()):
            *_, (frame, _) = traceback.walk_tb(error.__traceback__)
            below = ["", *trace] if frame.f_code.co_name != "<module>" else []
            trace = [textwrap.fill(sentence.replace("`", ""), 100), *below]
        show(kind, error, trace)

    shell._showtraceback = advised


def _note_broken(cell: str, error: BaseException | None) -> None:
    """Note the answers that a cell with a syntax error would define, and forget those that it defines."""
    for name in map("".join, DEFINES.findall(cell)):
        _broken.pop(name, None)
        if isinstance(error, SyntaxError) and name in names():
            _broken[name] = type(error).__name__


def _answered_in(cell: str) -> str:
    """Return the name of this notebook's answer that a cell defines; "" if it defines none, or only the stub."""
    stub = "YOUR CODE HERE" in cell or re.match(r"\w+ = None\b", cell)
    return next((name for name in _near() if name in defined_in(cell)), "") if not stub else ""


def _begin(shell: Any) -> None:
    """Have tests mark answers from now on; say what is done in this notebook, and whether a test ended Python."""
    new = {name: globals()[name] for name in CALLS if name not in shell.user_ns}
    shell.push(new, interactive=False)
    shell.events.register("pre_run_cell", before)
    shell.events.register("post_run_cell", _after)
    _advise_first(shell)
    if (course := _copy()) is None:
        found = copy_around(Path.cwd())
        _say(advice.DAMAGED.format(file=found.path) if found else advice.OUTSIDE)
        return
    if not os.access(course.folder, os.W_OK) or not os.access(Path.cwd(), os.W_OK):
        _say(f"✗ {advice.READ_ONLY.format(folder=course.folder)}")
    home = course.notebook_in(Path.cwd())
    for note in (course.folder / FOLDER / RUNNING).glob("*"):
        if course.home(note.name) == home:
            with contextlib.suppress(OSError):  # a folder that is read-only
                note.unlink()
            _say(ENDED.format(name=note.name))
    if home:
        _say(f"“{course.title(home)}”: {course.done(home)}. {course.what_next(home, course.last(home))}")


if (_shell := get_ipython()) is not None:
    _begin(_shell)
