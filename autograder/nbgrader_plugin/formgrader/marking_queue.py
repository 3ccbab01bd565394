"""Mark submissions for Formgrader in a separate process, one after the other, and report progress in lines of JSON."""

import asyncio
import contextlib
import json
import os
import select
import sys
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from pathlib import Path
from typing import Any

IDLE = 600.0  # seconds without work after which the process ends
MAX_LINE = 2**26  # bytes of a line from the process; it holds nbgrader's log


class MarkingQueue:
    """The queue of submissions that Formgrader requests to mark, in the order of its requests."""

    def __init__(self, root: Path, command: Sequence[str] = (sys.executable, "-m", __name__)) -> None:
        """Create an empty queue. `root` is the folder of nbgrader_config.py; `command` starts the marking process."""
        self.root, self.command = root, command
        self._tasks: dict[tuple[str, str], asyncio.Task[dict[str, Any]]] = {}
        self._steps: dict[tuple[str, str], tuple[int, int]] = {}
        self._turn = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None

    async def mark(self, assignment: str, student: str) -> dict[str, Any]:
        """Mark a submission, once for concurrent requests; return the reply of nbgrader's API."""
        key = assignment, student
        if key not in self._tasks:
            self._tasks[key] = asyncio.create_task(self._mark(key))
            self._tasks[key].add_done_callback(lambda task: self._tasks.pop(key))
        return await asyncio.shield(self._tasks[key])  # marking goes on if the page is closed

    def progress(self, assignment: str) -> dict[str, dict[str, int]]:
        """Return by student how many submissions are `before` in the queue, and how many answers are `done`."""
        found = {}
        for position, key in enumerate(self._tasks):
            if key[0] == assignment:
                done, of = self._steps.get(key, (0, 0))
                found[key[1]] = {"before": position, "done": done, "of": of}
        return found

    async def _mark(self, key: tuple[str, str]) -> dict[str, Any]:
        async with self._turn:
            try:
                return await self._reply_of_process(key)
            except Exception as error:
                await self._end()
                return {"success": False, "error": f"Marking came to no end: {type(error).__name__}: {error}"}
            finally:
                self._steps.pop(key, None)

    async def _reply_of_process(self, key: tuple[str, str]) -> dict[str, Any]:
        for fresh in (False, True):
            process = await self._running(fresh)
            assert process.stdin is not None
            assert process.stdout is not None
            with contextlib.suppress(ConnectionError):
                process.stdin.write(json.dumps(key).encode() + b"\n")
                await process.stdin.drain()
            replied = False
            while line := await process.stdout.readline():
                replied = True
                message: dict[str, Any] = json.loads(line)
                if "success" in message:
                    return message
                self._steps[key] = message["done"], message["of"]
            if replied:  # it ended at work on this submission; else it had ended before, so try a new process
                break
        raise RuntimeError(f"its process ended with {await process.wait()}; the server's log may say why")

    async def _running(self, fresh: bool) -> asyncio.subprocess.Process:
        if fresh or self._process is None or self._process.returncode is not None:
            await self._end()
            self._process = await asyncio.create_subprocess_exec(
                *self.command, cwd=self.root, stdin=PIPE, stdout=PIPE, limit=MAX_LINE
            )
        return self._process

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def main() -> None:
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # all other output goes to the server's log, that of imports too
    from nbgrader.apps.api import NbGraderAPI
    from nbgrader.apps.nbgraderapp import NbGraderApp

    from ..failure import cause_in
    from ..preprocessors import Judge

    def send(**message: Any) -> None:
        print(json.dumps(message), file=replies, flush=True)

    Judge.on_progress = staticmethod(lambda done, of: send(done=done, of=of))
    while select.select([sys.stdin], [], [], IDLE)[0] and (line := sys.stdin.readline()):
        assignment, student = json.loads(line)
        send(done=0, of=0)
        app = NbGraderApp()
        app.initialize([])  # reads nbgrader_config.py, which may have changed
        reply = NbGraderAPI(app.coursedir, parent=app).autograde(assignment, student)
        if not reply["success"]:  # Formgrader shows the log, too
            reply["error"] = cause_in(reply.get("log", "")) or cause_in(reply["error"]) or reply["error"]
        send(**reply)


if __name__ == "__main__":
    main()
