"""Builds the two wheels, the engine and the course, into dist/: python -m tools.dist

Each is built from a copy of the files that belong to it. The course's has the notebooks inside the package, and what
a term needs besides them.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from autograder.handout import TEACHING
from autograder.new_folder import BESIDE

ROOT = Path(__file__).resolve().parents[1]
LICENCES = ("LICENSE", "LICENSE-CONTENT")
README = "README.md"
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "conftest.py", "*.egg-info", "build")


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder without what programs leave in it, and without READMEs that are for readers of the repository."""
    described = {source, source / "shared_modules"}

    def left_out(folder: str, names: list[str]) -> set[str]:
        return LEFT_OUT(folder, names) | ({README} if Path(folder) in described else set())

    shutil.copytree(source, target, ignore=left_out, dirs_exist_ok=True)


def stage_engine(root: Path, folder: Path) -> None:
    """Copy the files of the engine's wheel to `folder`."""
    copy_folder(root / "autograder", folder / "autograder")
    for name in (*LICENCES, "pyproject.toml", README):
        shutil.copy(root / name, folder)


def stage_course(root: Path, folder: Path) -> None:
    """Copy the files of the course's wheel to `folder`: the package, with notebooks and a teacher's files inside."""
    copy_folder(root / "transformer_exercises", folder)
    for name in ("solutions", "course"):
        copy_folder(root / name, folder / name)
    for name in BESIDE:
        (folder / TEACHING / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, folder / TEACHING / name)
    for name in LICENCES:
        shutil.copy(root / name, folder)


def build(root: Path, target: Path) -> list[Path]:
    """Build both wheels of the checkout at `root` into `target`. Return their paths."""
    target.mkdir(parents=True, exist_ok=True)
    before = set(target.glob("*.whl"))
    for stage in (stage_engine, stage_course):
        with tempfile.TemporaryDirectory(prefix="dist-") as folder:
            stage(root, Path(folder))
            # Use this environment's setuptools, so that the result does not depend on the package index.
            options = ["--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--quiet"]
            subprocess.run([sys.executable, "-m", "pip", "wheel", *options, "-w", str(target), folder], check=True)
    return sorted(set(target.glob("*.whl")) - before) or sorted(target.glob("*.whl"))


def main() -> None:
    for wheel in build(ROOT, ROOT / "dist"):
        print(f"{wheel.relative_to(ROOT)} ({wheel.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
