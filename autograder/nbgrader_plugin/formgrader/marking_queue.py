"""Marks one submission after the other for Formgrader, in a process of its own, and knows how far it is.

Within the server nothing else would be answered meanwhile: no page, no kernel of anybody's, and nobody could say how
long it takes. The process reads a line for each submission and writes lines back, JSON both ways. It stays, because its
first marking costs some seconds more, and ends when there was nothing to do for a while, or with the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

IDLE = 600.0  # seconds without work after which the process ends
LONGEST = 2**26  # bytes of a line that comes back: it holds nbgrader's log


# --- in the server ----------------------------------------------------------------------------------------------------


class Clerk:
    """Who marks what Formgrader asks for, in the order in which it asks."""

    def __init__(self, root: Path, command: Sequence[str] = (sys.executable, "-m", __name__)) -> None:
        """`root`: where nbgrader_config.py is; `command`: what marks there."""
        self.root, self.command = root, command
        self._tasks: dict[tuple[str, str], asyncio.Task[dict]] = {}
        self._steps: dict[tuple[str, str], tuple[int, int]] = {}
        self._turn = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None

    async def mark(self, assignment: str, student: str) -> dict:
        """What nbgrader's own API answers: success, log, error. Who asks while it is being done gets the same."""
        key = assignment, student
        if key not in self._tasks:
            self._tasks[key] = asyncio.create_task(self._mark(key))
            self._tasks[key].add_done_callback(lambda task: self._tasks.pop(key))
        return await asyncio.shield(self._tasks[key])  # it goes on when somebody closes the page

    def under_way(self, assignment: str) -> dict[str, dict]:
        """Of the students of this assignment who are marked or wait for it: how far that is."""
        found = {}
        for place, key in enumerate(self._tasks):
            if key[0] == assignment:
                done, of = self._steps.get(key, (0, 0))
                found[key[1]] = {"before": place, "done": done, "of": of}
        return found

    async def _mark(self, key: tuple[str, str]) -> dict:
        async with self._turn:
            try:
                return await self._asked(key)
            except Exception as error:
                await self._end()
                return {"success": False, "error": f"Marking came to no end: {type(error).__name__}: {error}"}
            finally:
                self._steps.pop(key, None)

    async def _asked(self, key: tuple[str, str]) -> dict:
        for fresh in (False, True):
            process = await self._running(fresh)
            assert process.stdin is not None
            assert process.stdout is not None
            with contextlib.suppress(ConnectionError):
                process.stdin.write(json.dumps(key).encode() + b"\n")
                await process.stdin.drain()
            heard = False
            while line := await process.stdout.readline():
                heard, message = True, json.loads(line)
                if "success" in message:
                    return message
                self._steps[key] = message["done"], message["of"]
            if heard:  # it was at work on this; else it had ended before
                break
        raise RuntimeError(f"its process ended with {await process.wait()}; the server's log may say why")

    async def _running(self, fresh: bool) -> asyncio.subprocess.Process:
        if fresh or self._process is None or self._process.returncode is not None:
            await self._end()
            self._process = await asyncio.create_subprocess_exec(
                *self.command,
                cwd=self.root,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LONGEST,
            )
        return self._process

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


# --- in the process ---------------------------------------------------------------------------------------------------


def main() -> None:
    """Mark what the lines on standard input name."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed goes to the server's log
    while select.select([sys.stdin], [], [], IDLE)[0]:
        line = sys.stdin.readline()
        if not line:
            break
        assignment, student = json.loads(line)
        _say(answers, done=0, of=0)
        _say(answers, **_marked(assignment, student, answers))


def _marked(assignment: str, student: str, answers: TextIO) -> dict[str, Any]:
    from nbgrader.apps.api import NbGraderAPI
    from nbgrader.apps.nbgraderapp import NbGraderApp

    from ..preprocessors import Judge

    app = NbGraderApp()
    app.initialize([])  # reads nbgrader_config.py, which may have changed
    Judge.tell = staticmethod(lambda done, of: _say(answers, done=done, of=of))
    return NbGraderAPI(app.coursedir, parent=app).autograde(assignment, student)


def _say(answers: TextIO, **message: Any) -> None:
    print(json.dumps(message), file=answers, flush=True)


if __name__ == "__main__":
    main()
