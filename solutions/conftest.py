"""What a solution needs to run as a test: `pytest --nbval-lax solutions/05-attention`.

The packages of environment.yml are enough: `autograder` is taken from this checkout and need not be installed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[1])
sys.path.insert(0, ROOT)

from autograder.authoring import OFFLINE, WITHOUT_BOOK  # noqa: E402

# A notebook's kernel is a process of its own, so it learns where the package is, and what to do without, from here.
os.environ.update(OFFLINE | WITHOUT_BOOK)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (ROOT, os.environ.get("PYTHONPATH"))))
