"""Tests that no command to a terminal reaches a log or a screen, whatever brings it."""

import io
import logging
import traceback
from pathlib import Path
from types import SimpleNamespace

import pytest
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.apps.nbgraderapp import NbGraderApp
from rich.progress import Progress
from rich.table import Table
from traitlets.config import Config

from autograder.batch.marking_cache import MarkingCache
from autograder.cli import PlainConsole
from autograder.nbgrader_plugin.configuration import mark_with_autograder
from autograder.nbgrader_plugin.preprocessors import Judge
from autograder.plain_output import escaped, tracked

CLEAR = "\x1b[2K\x1b[1A\x1b[2K"
COMMANDS = f"{CLEAR} \x9b2J \u202e \r \x07 \x08 \ud800"
PLAIN = r"\x1b[2K\x1b[1A\x1b[2K \x9b2J \u202e \r \x07 \x08 \ud800"


def no_command_in(text):
    return all(character.isprintable() or character in "\n\t" for character in text)


@pytest.fixture
def plugged_in():
    before = logging.getLogRecordFactory()
    mark_with_autograder(Config())
    yield
    logging.setLogRecordFactory(before)


@pytest.fixture
def output(plugged_in):
    """Return what nbgrader's application logs, as its handler writes it."""
    app, stream = NbGraderApp(), io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(app.log.handlers[0].formatter)
    app.log.addHandler(handler)
    yield app, stream
    app.log.removeHandler(handler)


def test_the_text_that_is_escaped_keeps_its_lines():
    assert escaped(f"one\n\ttwo {COMMANDS} ü") == f"one\n\ttwo {PLAIN} ü"
    assert escaped("one\ntwo", kept="") == r"one\ntwo"


@pytest.mark.parametrize("log", ["nbgrader", "jupyter_server", "autograder.judge.run_check", "distributed.worker"])
def test_loggers_escape_messages_and_tracebacks(plugged_in, caplog, log):
    logger = logging.getLogger(log)
    logger.warning("%s", COMMANDS)
    logger.warning(COMMANDS)
    try:
        raise ValueError(COMMANDS)
    except ValueError:
        logger.exception("it failed")
    assert caplog.text.count(PLAIN) == 3
    assert no_command_in(caplog.text)


def test_the_warning_of_a_sign_is_escaped(output):
    app, stream = output
    judge = Judge(parent=app)
    judge._mark = lambda *_: None
    cells = [new_code_cell(f'z = eval("scores")  # {CLEAR}', metadata={"nbgrader": {"grade_id": f"a{CLEAR}"}})]
    about = {"nbgrader": {"assignment": "05", "notebook": "05"}, "metadata": {"path": f"submitted/{CLEAR}/05"}}
    judge.preprocess(new_notebook(cells=cells), about)
    assert "runs text as code (eval)" in stream.getvalue()
    assert stream.getvalue().count(PLAIN.split()[0]) >= 2
    assert no_command_in(stream.getvalue())


def test_what_nbgrader_itself_says_is_escaped(output):
    app, stream = output
    try:
        Path(f"/nowhere/{CLEAR}").read_text()
    except OSError:
        app.log.exception(f"Failed to copy {CLEAR}")
    assert no_command_in(stream.getvalue())
    assert stream.getvalue().count(PLAIN.split()[0]) == 2


def show_everywhere(screen):
    """Print the commands in every form that the commands of `autograder` use, and return what is shown."""
    table = Table(f"heading {CLEAR}", title=CLEAR)
    table.add_row(CLEAR)
    screen.print(table)
    screen.print(f"[bold red]{CLEAR}[/]", CLEAR, markup=True)
    screen.print(COMMANDS, markup=False, highlight=False, soft_wrap=True, style="bold red")
    with Progress(console=screen) as bar:
        bar.add_task(CLEAR, total=1)
        bar.console.print(CLEAR)
    return screen.file.getvalue()


def test_the_screen_shows_commands_escaped():
    shown = show_everywhere(PlainConsole(file=io.StringIO(), force_terminal=False, width=200))
    assert no_command_in(shown)
    assert shown.count(PLAIN.split("[")[0]) >= 7


def test_the_screen_keeps_its_own_colours():
    shown = show_everywhere(PlainConsole(file=io.StringIO(), force_terminal=True, width=200))
    assert "\x1b[1;31m" in shown
    assert not {"\x9b", "\u202e", "\x07", "\ud800"} & set(shown)


def test_a_students_log_is_escaped(tmp_path):
    try:
        raise ValueError(CLEAR)
    except ValueError:
        why = traceback.format_exc()
    marking_cache = SimpleNamespace(_path=lambda student: tmp_path / "log.json")
    last, path = MarkingCache.log_failure(marking_cache, "student", why)
    assert last.startswith("ValueError")
    assert no_command_in(path.read_text())


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_alone_shows_progress_and_the_remaining_time(terminal):
    console = PlainConsole(file=io.StringIO(), force_terminal=terminal, width=80)
    assert list(tracked(console, ["a", "b"], "reading")) == ["a", "b"]
    assert ("reading" in console.file.getvalue()) == ("0:00:00" in console.file.getvalue()) == terminal
