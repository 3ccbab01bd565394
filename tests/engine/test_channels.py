"""Tests that two sandboxed notebooks that run at the same time cannot communicate.

Each channel is a pair of expressions: one notebook's signal, and the other's way to receive it. Timing (of CPUs, disks
and caches), system-wide counters and futexes on shared pages are left out: the only protection from those is that a
sandbox never holds a secret while another notebook could listen (see `marking/isolated_rerun.py` and SECURITY.md).
"""

import tomllib

import pytest
from conftest import ROOT, skip_without_cage

from autograder.sandbox.session import Limits, Session, Template

LIMITS = Limits(cell=20, question=2, grace=1, notebook=120, memory=2 * 2**30)
PROGRAMS = tomllib.loads((ROOT / "tests" / "cage.toml").read_text("utf-8"))

ALL = (
    {name: ("None", *pair) for name, pair in PROGRAMS["channels"].items()}
    | PROGRAMS["watched"]
    | {
        name: (f"kept.append({value})", does, f"kept[-1] != {value}")
        for name, (does, value) in PROGRAMS["changed"].items()
    }
)


@pytest.fixture(scope="module")
def pair():
    running = Template()
    skip_without_cage(running)
    with Session(running, limits=LIMITS) as one, Session(running, limits=LIMITS) as other:
        for session in (one, other):
            assert session.run(PROGRAMS["prelude"]).ending == "ok"
        yield one, other
    running.close()


def said(session, source):
    """What an expression comes to: its value, or the error that kept it from one."""
    attempt = f"try:\n    print(repr({source}))\nexcept Exception as error:\n    print(type(error).__name__)"
    result = session.run(attempt)
    assert result.ending == "ok"
    return "".join(output.get("text", "") for output in result.outputs).strip()


@pytest.mark.parametrize(("before", "speak", "hear"), ALL.values(), ids=ALL)
def test_one_notebook_cannot_tell_another_anything(pair, before, speak, hear):
    speaker, listener = pair
    said(listener, before)
    said(speaker, speak)
    assert said(listener, hear) != "True"


def test_programs_that_lock_their_own_files_go_on(pair):
    session, _ = pair
    assert said(session, "__import__('sqlite3').connect('own.db').execute('create table t (x)').fetchall()") == "[]"
    assert said(session, "fcntl.flock(open('own', 'w'), fcntl.LOCK_EX)") == "None"
    assert said(session, "fcntl.lockf(open('own', 'w'), fcntl.LOCK_EX)") == "None"
    assert said(session, "open('/dev/null', 'w').write('x')") == "1"
