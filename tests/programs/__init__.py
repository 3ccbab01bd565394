"""Programs that tests run. They stand in files that ruff formats and an editor highlights, and are read as text."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent
TITLE = re.compile(r"^# %% (.+)\n", re.MULTILINE)


def program(name: str) -> str:
    """Return the text of a program, such as "sandbox/grader"."""
    return (FOLDER / f"{name}.py").read_text("utf-8")


def cells(name: str) -> list[tuple[str, str]]:
    """Return the cells of a file, each with its title: what stands between lines that begin with `# %%`."""
    _, *parts = TITLE.split(program(name))
    return [(title, source.strip()) for title, source in zip(parts[::2], parts[1::2], strict=True)]
