"""Enforce bans: record which operations and functions a student's code uses, and find those an exercise forbids.

A ban is about what is computed. The process of the student's code watches every call with inputs that a check makes
(`untrusted.call_tracing`). The names of torch's operations and of library functions that ran are compared with the ban,
not the names in the source. So an alias, a name built at run time, compiled code or a composite operation makes no
difference, and a word that is only mentioned does not count. Operations are recorded in every call, so code gains
nothing by finding out whether it is watched. Recording functions takes longer, so it happens in the first calls and in
random later ones.
"""

import contextlib
import itertools
import secrets
from collections.abc import Iterator

from ..spec.exercise import Ban
from ..untrusted.uses import CALLED, GAVE, HIDDEN, KINDS, LEFT, RAN
from ..untrusted.wire import Packet
from .student import Send, Student

NAMED = 4  # how many used things a remark lists
FIRST, ONE_IN = 4, 8  # functions are recorded in the first calls, and in one of so many later ones

SETTING_UP = {"__init__", "reset_parameters", "extra_repr"}  # methods of a module that need no mention

Used = set[tuple[str, str]]


@contextlib.contextmanager
def recording_uses(student: Student) -> Iterator[Used]:
    """Record in the yielded set what the student's code uses in the calls inside the block: (kind, name) pairs."""
    used: Used = set()
    calls = itertools.count()

    def watch(question: Packet, send: Send) -> Packet:
        parts = question.tree["dict"]
        if ["do", "call"] not in parts or ["keep", True] in parts:  # an object being built has no inputs yet
            return send(question)
        closely = ["device", "elsewhere"] not in parts and (next(calls) < FIRST or secrets.randbelow(ONE_IN) == 0)
        watched = ["watch", "functions" if closely else "operations"]
        return _without_notes(send(Packet({"dict": [*parts, watched]}, question.blobs)), used)

    with student.intercepted(watch):
        yield used


def _without_notes(reply: Packet, used: Used) -> Packet:
    """Return the reply without its record of what was used, and add that record to `used`."""
    parts = reply.tree.get("dict") if isinstance(reply.tree, dict) else None
    if not isinstance(parts, list):
        return reply
    rest = []
    for part in parts:
        if isinstance(part, list) and len(part) == 2 and part[0] == "used":
            used |= _read(part[1])
        else:
            rest.append(part)
    # The judge's own side reports a process that ended or timed out: that reply has no record.
    if len(rest) == len(parts) and not any(part[:1] == ["problem"] for part in parts if isinstance(part, list)):
        used.add((HIDDEN, "a reply without a record"))
    return Packet({"dict": rest}, reply.blobs)


def _read(notes: object) -> Used:
    pairs = (line.partition(" ") for line in notes.split("\n")) if isinstance(notes, str) else ()
    return {
        (kind, name) if kind in KINDS else (HIDDEN, "a record that cannot be read") for kind, _, name in pairs if kind
    }


def banned_uses(ban: Ban, used: Used) -> list[str]:
    """Return names of things that were used and are banned, torch's operations first; at most NAMED of them."""
    names = {kind: sorted(name for one, name in used if one == kind) for kind in KINDS}
    operations = sorted({_operation(name) for name in names[RAN] if ban.covers(_operation(name))})
    forward = [name for name in operations if "backward" not in name]
    functions = [name for name in names[CALLED] if ban.covers(_called(name))]
    # A library function may also compute its result with operations that are not banned.
    functions += [name for name in names[GAVE] if name not in functions]
    if forward:  # the torch functions that led to them need no mention
        functions = [name for name in functions if not name.startswith("torch.")]
    return [*(forward or operations), *functions, *names[LEFT], *names[HIDDEN]][:NAMED]


def _operation(name: str) -> str:
    return name.rpartition("::")[2].strip("_")


def _called(name: str) -> str:
    """Return a function's name with its class, without its modules; "" for a method that only sets things up."""
    of, function = name.split(".")[-2:]
    return "" if function in SETTING_UP else f"{of}.{function}"
