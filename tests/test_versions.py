"""One set of versions: pyproject.toml, constraints.txt and environment.yml agree."""

from __future__ import annotations

import re
import tomllib

import yaml
from conftest import ROOT

CONDA_NAMES = {"pytorch": "torch", "matplotlib-base": "matplotlib"}


def pins(requirements):
    return dict(re.match(r"([\w.-]+)==(\S+)", requirement).groups() for requirement in requirements)


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_every_direct_dependency_is_pinned():
    groups = [project()["dependencies"], *project()["optional-dependencies"].values()]
    assert all("==" in requirement for group in groups for requirement in group)


def test_constraints_hold_the_same_versions():
    constraints = pins(
        line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")
    )
    normal = {name.lower().replace("_", "-"): version for name, version in constraints.items()}
    for name, version in pins([*project()["dependencies"], *project()["optional-dependencies"]["dev"]]).items():
        assert normal[name.lower().replace("_", "-")] == version


def test_the_conda_environment_holds_the_same_versions():
    listed = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    conda = dict(item.split("=", 1) for item in listed if not item.startswith("python>"))
    wanted = pins(project()["dependencies"]) | {"nbval": pins(project()["optional-dependencies"]["dev"])["nbval"]}
    assert {CONDA_NAMES.get(name, name): version for name, version in conda.items()} == wanted


def test_the_conda_environment_allows_the_pythons_that_the_package_does():
    python = next(
        item for item in yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"] if "python>" in item
    )
    assert python.removeprefix("python").split(",")[0] == project()["requires-python"]
