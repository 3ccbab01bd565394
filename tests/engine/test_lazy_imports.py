"""Tests that importing nbgrader's plug-ins loads no slow modules such as torch."""

from __future__ import annotations

import subprocess
import sys

from conftest import ROOT


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh Python has loaded after this statement."""
    program = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_torch_waits_until_something_is_marked():
    plugins = ("preprocessors", "feedback.exporter", "gradebook.locking")
    modules = loaded_by("import " + ", ".join(f"autograder.nbgrader_plugin.{name}" for name in plugins))
    assert "autograder.nbgrader_plugin.preprocessors" in modules
    assert not {"torch", "transformers", "matplotlib", "autograder.sandbox.session"} & modules
