"""Run every command where the engine is installed alone: its own library is enough, or it says that there is no course.

Needs the engine's wheel and nothing else of this repository: python .ci/engine_alone.py
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

OF_THE_COURSE = ("transformer_exercises", "torch", "tokenizers", "transformers", "huggingface_hub")
NO_COURSE = "No course is installed"
COMMANDS = (  # in this order: what is typed, the exit status, and what is printed
    ("--help", 0, "Marks the exercises"),
    ("--version", 0, "autograder"),
    ("grade ps1", 0, "1 marked, 0 unchanged, 0 failed"),
    ("report", 0, "ps1"),
    ("unknown", 0, ""),
    ("watch ps2", 1, "there is no assignment 'ps2'"),
    ("try squares answer.py", 1, NO_COURSE),
    ("plan", 1, NO_COURSE),
    ("mistakes --costs", 1, NO_COURSE),
    ("try-mistakes", 1, NO_COURSE),
    ("run-solutions", 1, NO_COURSE),
    ("release", 1, NO_COURSE),
    ("init term", 1, NO_COURSE),
    ("learn", 1, NO_COURSE),
    ("demo", 1, NO_COURSE),
)


def run(words: list[str]) -> tuple[object, str]:
    """Run a command in this process. Return its exit status and what it prints."""
    from autograder import cli

    sys.argv, status = ["autograder", *words], None
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(printed):
        try:
            cli.run()
        except SystemExit as ended:
            status = ended.code
    return status or 0, printed.getvalue()


def nbgrader(*words: str, cwd: Path) -> None:
    subprocess.run([sys.executable, "-m", "nbgrader", *words], cwd=cwd, check=True)


def hand_in(folder: Path) -> None:
    """Lay out nbgrader's example in a new folder, with the submission of one student."""
    nbgrader("quickstart", folder.name, cwd=folder.parent)
    nbgrader("generate_assignment", "ps1", cwd=folder)
    shutil.copytree(folder / "release" / "ps1", folder / "submitted" / "ada" / "ps1")
    (folder / "answer.py").write_text("squares = None\n")


def main() -> None:
    if found := [name for name in OF_THE_COURSE if importlib.util.find_spec(name)]:
        sys.exit(f"Here the engine is not alone, but with {', '.join(found)}.")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "class")
        hand_in(folder)
        os.chdir(folder)
        from autograder.cli import app

        names = {command.name or command.callback.__name__.replace("_", "-") for command in app.registered_commands}
        if untried := names - {words.split()[0] for words, _, _ in COMMANDS}:
            sys.exit(f"Not tried: {', '.join(untried)}")
        for words, status, text in COMMANDS:
            ended, printed = run(words.split())
            if ended != status or text not in printed or "Traceback" in printed:
                sys.exit(f"autograder {words}: exit status {ended} and not {status} with {text!r}\n{printed}")
        os.chdir("/")
    print(f"All {len(names)} commands run without a course.")


if __name__ == "__main__":
    main()
