"""Tests that tests with a costly shared resource run in one process, as the groups of conftest.py promise."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_tests_of_a_group_run_in_one_process(tmp_path):
    (tmp_path / "test_grouped.py").write_text(
        "import os, pytest, time\n"
        'pytestmark = pytest.mark.xdist_group("one")\n\n\n'
        '@pytest.mark.parametrize("number", range(8))\n'
        "def test_where(number):\n"
        "    time.sleep(0.05)\n"
        '    print(f"process {os.getpid()}.")\n'
    )
    said = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadgroup", "-rP", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.findall(r"process (\d+)\.", said.stdout)
    assert len(found) == 8, said.stdout
    assert len(set(found)) == 1
