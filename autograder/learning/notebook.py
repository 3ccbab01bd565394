"""In a learner's notebook: the cell below an answer marks it; `hint` and `solution` help."""

import importlib
import re
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from IPython import get_ipython
from IPython.display import Markdown, display

from ..judge.formatting import prose
from ..judge.mark import Verdict
from ..judge.student import UNDEFINED
from ..judge.verdict import html, plain
from ..spec.course import names, question_or_exercise
from ..spec.exercise import UNANSWERED, Question
from ..untrusted.torch_internals import COMPILER
from .asking import verdict_on
from .progress import FOLDER, Answer, Copy

TEST = re.compile(r"# @title Test of (\w+)")  # how the cell below an answer begins
RUNNING = "running"  # a folder with a file for each test that runs: one that is left tells of a crash
ELSEWHERE = "Hints and solutions are there in a notebook of your own copy of the course: `autograder learn` makes one."
STOPPED = "■ Stopped while `{name}` was asked. If it hung there: does a loop in it never end?"
ENDED = (
    "■ Python ended while the test of `{name}` ran: the answer crashed it, took all the memory or called `os._exit`, "
    "unless you restarted the kernel yourself. Change the answer, then run the cells again from the top."
)


def check(name: str) -> None:
    """Mark an answer of this notebook, and show what is right and wrong about it."""
    shell: Any = get_ipython()
    if name not in names():
        _say(_unknown(name))
        return
    try:
        if _slow_parts.is_alive():
            _slow_parts.join()
        verdict = verdict_on(name, shell.user_ns)
    except KeyboardInterrupt:
        _say(STOPPED.format(name=name))
        return
    if verdict.remark in (UNANSWERED, UNDEFINED.format(name=name)):
        _say(f"○ `{name}` is not answered yet, or the cell of the answer has not run.")
        return
    if course := _copy():
        state = course.state(name)
        course.remember(name, replace(state, tries=state.tries + 1, earned=verdict.earned))
    display({"text/plain": plain(verdict), "text/html": _page(verdict, course)}, raw=True)


def _page(verdict: Verdict, course: Copy | None) -> str:
    """Return the verdict; then what to reread, and what comes next."""
    parts = [html(verdict, at_a_glance=True)]
    if course and (home := course.home(verdict.exercise)):
        answer = course.notebooks[home][verdict.exercise]
        if not verdict.full:
            helps = f', or ask <code>hint("{verdict.exercise}")</code>' if answer.hints else ""
            parts.append(f"<p>Reread “{prose(answer.section)}”{helps}.</p>")
        following = course.following(home)
        then = course.notebooks[following[0]][following[1]].title if following and verdict.full else ""
        parts.append(f"<p><small>{course.done(home)}.{f' Next: {prose(then)}.' if then else ''}</small></p>")
    return "".join(parts)


def hint(name: str) -> None:
    """Show the next hint for an answer, and those before it."""
    if (found := _in_copy(name)) is None:
        return
    course, answer = found
    state = course.state(name)
    state.hints = min(state.hints + 1, len(answer.hints))
    course.remember(name, state)
    shown = "\n\n".join(answer.hints[: state.hints])
    more = f'`hint("{name}")` shows another.'
    if state.hints == len(answer.hints):
        more = f'There is no further hint. `solution("{name}")` shows a worked answer once you have tried.'
    display(Markdown(f"{shown}\n\n{more}" if shown else f"No hint is written for `{name}`: reread “{answer.section}”."))


def solution(name: str) -> None:
    """Show a worked answer with its reasons, once the learner has tried."""
    if (found := _in_copy(name)) is None:
        return
    course, answer = found
    declared = question_or_exercise(name)
    if not course.state(name).tries:
        helps = f', with `hint("{name}")` if you are stuck' if answer.hints else ""
        _say(f"Try `{name}` first{helps}: write an answer and run the cell below it. Then ask again.")
    elif isinstance(declared, Question):
        options = "\n".join(f"- **{letter}** {said}" for letter, said in sorted(declared.explanations.items()))
        display(Markdown(f"**{name}: {declared.key} is right.**\n\n{options}"))
    else:
        others = [one.name.replace("_", " ") for one in declared.alternatives[:3]]
        also = f"\n\nOther right ways: {'; '.join(others)}." if others else ""
        display(Markdown(f"**A worked {name}.** Yours may differ.\n\n```python\n{declared.source}```{also}"))


def _in_copy(name: str) -> tuple[Copy, Answer] | None:
    """Return the copy of the course around this notebook and what it holds on an answer; else say what is missing."""
    if (course := _copy()) is None:
        _say(ELSEWHERE)
    elif home := course.home(name):
        return course, course.notebooks[home][name]
    else:
        _say(_unknown(name))
    return None


def _unknown(name: str) -> str:
    return f"There is no exercise or question `{name}`. Its name is in the title of the cell below it: “Test of …”."


def _copy() -> Copy | None:
    here = Path.cwd()
    return next((Copy(place) for place in (here, *here.parents) if (place / FOLDER).is_dir()), None)


def _say(sentence: str) -> None:
    display({"text/plain": sentence.replace("`", ""), "text/html": f"<p>{prose(sentence)}</p>"}, raw=True)


# PyTorch imports this when it is first asked about a second device: a second, in which the learner reads.
_slow_parts = threading.Thread(target=importlib.import_module, args=(COMPILER,), daemon=True)


def _before(info: Any) -> None:
    if (found := TEST.match(info.raw_cell)) and (course := _copy()):
        note = course.place / FOLDER / RUNNING / found[1]
        note.parent.mkdir(exist_ok=True)
        note.touch()


def _after(result: Any) -> None:
    """Mark the answer whose test has run, unless it was stopped or is not answered, and remove the note."""
    if "torch" in sys.modules and _slow_parts.ident is None:
        _slow_parts.start()
    if result.info is None or not (found := TEST.match(result.info.raw_cell)):
        return
    error = result.error_before_exec or result.error_in_exec
    if not isinstance(error, KeyboardInterrupt) and "ot answered yet" not in str(error):
        check(found[1])
    if course := _copy():
        (course.place / FOLDER / RUNNING / found[1]).unlink(missing_ok=True)


def _begin(shell: Any) -> None:
    """Have tests mark answers from now on; say what is done in this notebook, and whether a test ended Python."""
    shell.events.register("pre_run_cell", _before)
    shell.events.register("post_run_cell", _after)
    if (course := _copy()) is None:
        return
    home = next((one for one in course.notebooks if Path.cwd().name.startswith(one)), "")
    for note in (course.place / FOLDER / RUNNING).glob("*"):
        if course.home(note.name) == home:
            note.unlink()
            _say(ENDED.format(name=note.name))
    if home:
        _say(f"{course.title(home)}: {course.done(home)}.")


if (_shell := get_ipython()) is not None:
    _begin(_shell)
