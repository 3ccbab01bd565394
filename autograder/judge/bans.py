"""Bans: what an exercise is to be written without, and what a call of the student's code is seen to make use of.

A ban is about what is computed. Every call with inputs that a check makes is watched where the student's code lives
(`inside.watch`), and what torch's operations and libraries' functions are called there is held against the ban, not
what the source calls them. So an alias, a name that is put together, compiled code or an operation made of others make
no difference, and a word that is only mentioned makes none either. Operations are noted in every call, so there is
nothing to be gained by finding out whether they are. To note functions too takes longer, so that is done in the first
calls and in some of the later ones, and nobody can foresee in which.
"""

from __future__ import annotations

import contextlib
import itertools
import secrets
from collections.abc import Iterator

from ..spec.exercise import Ban
from ..untrusted.call_tracing import CALLED, GAVE, HIDDEN, KINDS, LEFT, RAN
from ..untrusted.wire import Packet
from .student import Student

NAMED = 4  # of the things that were used, in a remark
FIRST, ONE_IN = 4, 8  # calls in which functions are noted: these first ones, and one in so many of the others

SETTING_UP = {"__init__", "reset_parameters", "extra_repr"}  # of a module that need not be called

Used = set[tuple[str, str]]


@contextlib.contextmanager
def watching(student: Student) -> Iterator[Used]:
    """What the student's code makes use of in the calls that are asked for meanwhile: kinds and names."""
    used: Used = set()
    through = student.pass_on
    calls = itertools.count()

    def line(question: Packet) -> Packet:
        parts = question.tree["dict"]
        if ["do", "call"] not in parts or ["keep", True] in parts:  # what is built has nothing to work on yet
            return through(question)
        closely = ["device", "elsewhere"] not in parts and (next(calls) < FIRST or secrets.randbelow(ONE_IN) == 0)
        watch = "functions" if closely else "operations"
        return _without_notes(through(Packet({"dict": [*parts, ["watch", watch]]}, question.blobs)), used)

    student.pass_on = line
    try:
        yield used
    finally:
        student.pass_on = through


def _without_notes(reply: Packet, used: Used) -> Packet:
    """The reply as it would have been unwatched; its notes go to `used`."""
    parts = reply.tree.get("dict") if isinstance(reply.tree, dict) else None
    if not isinstance(parts, list):
        return reply
    rest = []
    for part in parts:
        if isinstance(part, list) and len(part) == 2 and part[0] == "used":
            used |= _read(part[1])
        else:
            rest.append(part)
    # Of a process that ended or did not come back in time the judge's own side says so: nothing was noted there.
    if len(rest) == len(parts) and not any(part[:1] == ["problem"] for part in parts if isinstance(part, list)):
        used.add((HIDDEN, "a reply without a record"))
    return Packet({"dict": rest}, reply.blobs)


def _read(notes: object) -> Used:
    pairs = (line.partition(" ") for line in notes.split("\n")) if isinstance(notes, str) else ()
    return {(kind, name) for kind, _, name in pairs if kind in KINDS}


def banned(ban: Ban, used: Used) -> list[str]:
    """Names for what was used and is banned, torch's operations first; at most a few."""
    names = {kind: sorted(name for one, name in used if one == kind) for kind in KINDS}
    operations = sorted({_operation(name) for name in names[RAN] if ban.covers(_operation(name))})
    forward = [name for name in operations if "backward" not in name]
    functions = [name for name in names[CALLED] if ban.covers(_called(name))]
    # and a library's function that works out what it gives in operations which nobody bans
    functions += [name for name in names[GAVE] if name not in functions]
    if forward:  # the functions of torch that lead to them need no mention
        functions = [name for name in functions if not name.startswith("torch.")]
    return [*(forward or operations), *functions, *names[LEFT], *names[HIDDEN]][:NAMED]


def _operation(name: str) -> str:
    return name.rpartition("::")[2].strip("_")


def _called(name: str) -> str:
    """What a function and its class are called, without the modules that it stands in; "" if it only sets things up."""
    of, function = name.split(".")[-2:]
    return "" if function in SETTING_UP else f"{of}.{function}"
