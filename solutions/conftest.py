"""Sets up solutions to run as tests: `pytest --nbval-lax solutions/05-attention`.

The packages of environment.yml are enough: `autograder` is imported from this checkout and need not be installed.
Notebooks run offline, without the book and with the small GPT-2, unless --online is given.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).resolve().parents[1])
sys.path.insert(0, ROOT)

from autograder.authoring import environment  # noqa: E402


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--online", action="store_true", help="let notebooks fetch the published GPT-2 and the book")


def pytest_configure(config: pytest.Config) -> None:
    """Set the environment of the kernels, which are separate processes: the package's path and the offline settings."""
    if not config.getoption("--online"):
        os.environ.update(environment())
    os.environ["COURSE_MODELS"] = "temporary"  # 09 leaves no my-models/ in the checkout
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (ROOT, os.environ.get("PYTHONPATH"))))
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # another order of summation would change the last digits
