"""Tests that marking works under a profiler, a debugger or coverage, or says that it cannot and marks nothing."""

import contextlib
import cProfile
import os
import profile
import pstats
import sys

import pytest
import torch
from circumventions import WAYS
from test_bans import caged, judged
from test_diagnosis import NO_SHIFT, named, replaced
from typer.testing import CliRunner

from autograder.cli import app
from autograder.judge import bans
from autograder.spec.course import exercise
from autograder.untrusted.uses import AnotherProfiler

SOFTMAX = exercise("softmax")
BANNED, WORD = WAYS["softmax"]["another name"]
MISTAKE = SOFTMAX.mistakes[0]
ALTERNATIVE = SOFTMAX.alternatives[0].source
since_312 = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with Python 3.12")
LEFT_ON = {
    "cProfile": "import cProfile\n_left_on = cProfile.Profile()\n_left_on.enable()",
    "torch.profiler": "_left_on = torch.profiler.profile()\n_left_on.start()",
    "torch.autograd.profiler": "_left_on = torch.autograd.profiler.profile()\n_left_on.__enter__()",
    "sys.monitoring": (
        "import sys\nm = sys.monitoring\nm.use_tool_id(2, 'mine')\n"
        "m.register_callback(2, m.events.PY_START, lambda *_: None)\nm.set_events(2, m.events.PY_START)"
    ),
    # Put on without its name, it looks for the record in every frame and empties it.
    "one that erases the record": (
        "import sys\ndef _erase(frame, event, arg):\n    if event == 'return' and type(arg) is set:\n"
        "        arg -= {name for name in arg if 'softmax' in name}\n"
        "    while frame:\n        calls = frame.f_locals.get('calls')\n"
        "        if hasattr(calls, 'found'): calls.found.clear()\n        frame = frame.f_back\n"
        "for _put_on in [vars(sys)['set' + 'profile']]:\n    _put_on(_erase)"
    ),
}


def assert_marked_as_ever():
    verdict = judged("softmax", BANNED)
    assert verdict.earned == 0
    assert f"`{WORD}`" in verdict.remark
    assert judged("softmax", ALTERNATIVE).full
    verdict = judged("softmax", MISTAKE.source)
    assert 0 < verdict.earned < verdict.points
    assert named(verdict) == {MISTAKE.name}


@contextlib.contextmanager
def left_as_it_was(read, write, value):
    before = read()
    write(value)
    try:
        yield
        assert read() is value
    finally:
        write(before)


def a_profile_function():
    return left_as_it_was(sys.getprofile, sys.setprofile, lambda *_: None)


def a_debugger():
    """Stop in every frame, and have nothing to do there."""

    def trace(*_):
        return trace

    return left_as_it_was(sys.gettrace, sys.settrace, trace)


@pytest.mark.parametrize("someone", [a_profile_function, a_debugger], ids=lambda one: one.__name__)
def test_marking_is_the_same_while_somebody_looks_on(someone):
    with someone():
        assert_marked_as_ever()


def test_marking_is_the_same_under_cprofile_which_goes_on_after_it():
    profiler = cProfile.Profile()
    profiler.runcall(lambda: [assert_marked_as_ever(), os.getpid()])
    seen = {name: calls for (_, _, name), (_, calls, *_) in pstats.Stats(profiler).stats.items()}
    assert seen["<built-in method posix.getpid>"] >= 1
    assert seen["_remark_on"] >= 2, "what comes after a watched call is profiled, too"


@pytest.mark.parametrize("core", ["ctrace", pytest.param("sysmon", marks=since_312)])
def test_marking_is_the_same_under_coverage_which_goes_on_after_it(core, monkeypatch):
    coverage = pytest.importorskip("coverage")
    monkeypatch.setenv("COVERAGE_CORE", core)
    measured = coverage.Coverage(data_file=None, config_file=False, include=[__file__, bans.__file__])

    def program():
        assert_marked_as_ever()
        return sys._getframe().f_lineno

    measured.start()
    after = program()
    measured.stop()
    data = measured.get_data()
    assert after in data.lines(__file__)
    assert data.lines(bans.__file__)


def test_two_mistakes_are_named_though_a_tracer_would_end_their_search(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    own, seen = os.getpid(), 0

    def trace(frame, *_):
        nonlocal seen
        seen += os.getpid() != own and frame.f_globals.get("__name__") != "logging"  # it visits every logger there is
        if seen > 2_000:
            os._exit(1)
        return trace

    with left_as_it_was(sys.gettrace, sys.settrace, trace), left_as_it_was(sys.getprofile, sys.setprofile, trace):
        verdict = judged("softmax", replaced(NO_SHIFT, "keepdim=True", "keepdim=False"))
    assert named(verdict) == {"no_shift", "no_keepdim"}


class Foreign:
    """What `sys.getprofile` returns of an extension module's profiler: nothing that could be put on again."""


@pytest.mark.parametrize(
    ("profiler", "cause"),
    [
        (Foreign(), "test_profilers.Foreign"),
        (profile.Profile().dispatcher, "profile.Profile"),  # it pairs returns with calls
        (None, "torch.profiler"),
    ],
    ids=["an extension module's", "the module profile's", "torch's"],
)
def test_a_profiler_that_cannot_rest_is_named_and_nothing_is_marked(profiler, cause, tmp_path, monkeypatch):
    answer = tmp_path / "answer.py"
    answer.write_text(ALTERNATIVE)
    with monkeypatch.context() as patch, contextlib.nullcontext() if profiler else torch.profiler.profile():
        if profiler:
            patch.setattr(sys, "getprofile", lambda: profiler)
        with pytest.raises(AnotherProfiler, match=rf"{cause}.*: end that, and mark again"):
            judged("softmax", ALTERNATIVE)
        done = CliRunner().invoke(app, ["try", "softmax", str(answer)])
        assert done.exit_code == 1
        assert cause in done.output
        assert judged("simple_attention", exercise("simple_attention").source).full, "nothing is banned there"
    assert CliRunner().invoke(app, ["try", "softmax", str(answer)]).exit_code == 0


@pytest.mark.parametrize(
    "left_on", [pytest.param(one, marks=since_312 if "monitoring" in one else ()) for one in LEFT_ON]
)
def test_a_profiler_that_a_cell_left_on_costs_nothing_and_gains_nothing(template, left_on):
    verdict = caged(template, "softmax", f"{ALTERNATIVE}\n{LEFT_ON[left_on]}")
    assert verdict.full or "`f_back`" in verdict.remark, verdict  # frames lead to the record
    verdict = caged(template, "softmax", f"{BANNED}\n{LEFT_ON[left_on]}")
    assert any(line.passed for line in verdict.lines)
    assert verdict.earned == 0
    assert f"`{WORD}`" in verdict.remark
