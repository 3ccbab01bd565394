"""Builds the two wheels, the engine and the course, into dist/: python -m tools.dist

Each is built from a copy of the files that belong to it. The course's has the notebooks inside the package.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LICENCES = ("LICENSE", "LICENSE-CONTENT")
README = "README.md"
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "conftest.py", "*.egg-info", "build")


def copy_folder(source: Path, goal: Path) -> None:
    """Copy a folder without what programs leave in it, and without READMEs that are for readers of the repository."""
    described = {source, source / "shared_modules"}

    def left_out(folder: str, names: list[str]) -> set[str]:
        return LEFT_OUT(folder, names) | ({README} if Path(folder) in described else set())

    shutil.copytree(source, goal, ignore=left_out, dirs_exist_ok=True)


def stage_engine(root: Path, place: Path) -> None:
    """Copy the files of the engine's wheel to `place`."""
    copy_folder(root / "autograder", place / "autograder")
    for name in (*LICENCES, "pyproject.toml", README):
        shutil.copy(root / name, place)


def stage_course(root: Path, place: Path) -> None:
    """Copy the files of the course's wheel to `place`: the package, with its notebooks inside."""
    copy_folder(root / "transformer_exercises", place)
    for name in ("solutions", "course"):
        copy_folder(root / name, place / name)
    for name in LICENCES:
        shutil.copy(root / name, place)


def build(root: Path, goal: Path) -> list[Path]:
    """Build both wheels of the checkout at `root` into `goal`. Return their paths."""
    goal.mkdir(parents=True, exist_ok=True)
    before = set(goal.glob("*.whl"))
    for stage in (stage_engine, stage_course):
        with tempfile.TemporaryDirectory(prefix="dist-") as folder:
            stage(root, Path(folder))
            # Use this environment's setuptools, so that the result does not depend on the package index.
            options = ["--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--quiet"]
            subprocess.run([sys.executable, "-m", "pip", "wheel", *options, "-w", str(goal), folder], check=True)
    return sorted(set(goal.glob("*.whl")) - before) or sorted(goal.glob("*.whl"))


def main() -> None:
    for wheel in build(ROOT, ROOT / "dist"):
        print(f"{wheel.relative_to(ROOT)} ({wheel.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
