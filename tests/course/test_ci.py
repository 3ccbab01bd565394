"""Tests that the workflow runs the parts of .ci/run, and every notebook."""

import json
import re
import subprocess

import pytest
import yaml
from conftest import NOTEBOOKS, ROOT

SCRIPT = (ROOT / ".ci" / "run").read_text("utf-8")
PARTS = {part for line in re.findall(r"^([a-z][a-z |-]*)\)", SCRIPT, re.MULTILINE) for part in line.split(" | ")}
JOBS = yaml.safe_load((ROOT / ".github" / "workflows" / "check.yml").read_text("utf-8"))["jobs"]
SET_UP = ("sudo sysctl", "sudo apt-get")  # what a machine of GitHub's lacks


def parts_of(job: dict) -> set[str]:
    """Return the parts of .ci/run that a job runs, one for each value of the matrix."""
    matrix = job.get("strategy", {}).get("matrix", {})
    found = set()
    for step in job["steps"]:
        for part in re.findall(r"\.ci/run (\$\{\{.*?\}\}|[\w-]+)", step.get("run", "")):
            values = [*matrix["part"], *(one["part"] for one in matrix.get("include", []))] if "{" in part else [part]
            found |= set(values)
    return found


@pytest.mark.parametrize("name", JOBS)
def test_a_job_runs_parts_of_the_script_and_nothing_of_its_own(name):
    commands = [step["run"] for step in JOBS[name]["steps"] if "run" in step]
    assert all(".ci/run " in command or command.startswith(SET_UP) for command in commands), commands
    assert set() < parts_of(JOBS[name]) <= PARTS


def test_every_part_of_the_script_is_run_by_a_job():
    assert set().union(*map(parts_of, JOBS.values())) == PARTS


def test_the_matrix_of_notebooks_has_optional_ones_too():
    printed = subprocess.run([ROOT / ".ci" / "run", "notebooks"], capture_output=True, text=True, check=True).stdout
    assert sorted(json.loads(printed)) == NOTEBOOKS
    assert "fromJSON" in JOBS["notebooks"]["strategy"]["matrix"]["notebook"]
