"""Tests that each finding says what it is about, pins what it installs and is in the index, and of what runs them."""

import os
import re
import shutil
import subprocess

import pytest
from conftest import ROOT

FOLDER = ROOT / "findings"
SCRIPTS = sorted(FOLDER.glob("*.sh"))
INDEX = (FOLDER / "README.md").read_text("utf-8")
HEAD = re.compile(
    r"#!/usr/bin/env bash\n# Guess: .+\n(?:#  .+\n)*# Fact: .+\n(?:#  .+\n)*# Matters: .+\n(?:#  .+\n)*"
    r'set -euo pipefail\nfolder=\$\(mktemp -d\)\ntrap .+\npython3 -m venv "\$folder/env"\n'
    r'"\$folder/env/bin/pip" install --quiet --disable-pip-version-check (?P<packages>.+) \|\| exit 77\n'
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_finding_says_guess_fact_and_reason_and_pins_its_packages(script):
    head = HEAD.match(script.read_text("utf-8"))
    assert head
    assert os.access(script, os.X_OK)
    packages = [package.split("==") for package in head["packages"].split()]
    row = next(line for line in INDEX.splitlines() if line.startswith(f"| [{script.stem}]({script.name}) |"))
    assert " ".join(packages[0]) in row


def test_the_index_lists_the_findings_that_exist_in_order():
    assert re.findall(r"^\| \[[\w-]+\]\(([\w.-]+)\)", INDEX, re.MULTILINE) == [script.name for script in SCRIPTS]


def test_the_runner_counts_same_changed_and_not_installed_apart(tmp_path):
    runner = tmp_path / "tools" / "run_findings.sh"
    runner.parent.mkdir()
    shutil.copy(ROOT / "tools" / "run_findings.sh", runner)
    (tmp_path / "findings").mkdir()
    for name, status in {"same": 0, "other": 1, "missing": 77}.items():
        script = tmp_path / "findings" / f"{name}.sh"
        script.write_text(f"#!/bin/sh\necho said {name}\nexit {status}\n")
        script.chmod(0o755)
    ran = subprocess.run([runner], capture_output=True, text=True)
    *lines, last = ran.stdout.splitlines()
    assert sorted(lines) == ["    said other", "CHANGED        other", "not installed  missing", "same           same"]
    assert last.startswith("1 the same, 1 changed, 1 not installed")
    assert ran.returncode == 1
    named = subprocess.run([runner, "same", "missing"], capture_output=True, text=True)
    assert named.stdout.count("\n") == 3
    assert named.returncode == 0
