"""Find the cause of a failure in nbgrader's log."""

from nbgrader.converters.base import NbGraderException


def cause_in(log: str) -> str:
    """Return the last line of the last traceback in nbgrader's log; "" if there is none.

    nbgrader logs an exception, goes on, and at the end raises another one that only points to the log.
    """
    cause, inside = "", False
    for line in log.splitlines():
        if "Traceback (most recent call last)" in line:
            inside = True
        elif inside and line and not line[0].isspace():
            cause, inside = line, False
    return cause.removeprefix(f"{NbGraderException.__module__}.{NbGraderException.__name__}: ")
