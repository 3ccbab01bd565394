"""Notebooks see the packages that are installed outside the interpreter, and nothing of a person's beside them."""

import importlib.machinery
import importlib.util
import os
import site
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest
from conftest import ROOT

from autograder.sandbox import installed, selftest
from autograder.sandbox.limits import CellResult, NoSandbox, SandboxError


def distribution(folder: Path, name: str) -> Path:
    """Write into a folder what pip leaves there of a package."""
    (folder / f"{name}-1.0.dist-info").mkdir(parents=True)
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text("VALUE = 7")
    return folder


@pytest.fixture
def person(tmp_path, monkeypatch):
    """Return a home folder with a course, in which this process works, and a site folder with a `.pth` file."""
    home, teaching, lib = tmp_path / "home", tmp_path / "home" / "teaching", tmp_path / "site-packages"
    for folder in (teaching / "classroom", lib):
        folder.mkdir(parents=True)
    (teaching / "nbgrader_config.py").touch()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("COURSE_CLASSROOM", "classroom")
    monkeypatch.chdir(teaching)
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(lib)])
    monkeypatch.setattr(installed, "private_folders", lambda: (str(tmp_path / "elsewhere" / "a_course"),))
    monkeypatch.setattr(installed, "distributions", lambda: ())
    installed.paths.cache_clear()
    yield home
    installed.paths.cache_clear()


def with_path(monkeypatch, person, *entries):
    """Let a `.pth` file add these entries; return the places that the sandbox shows then."""
    (person.parent / "site-packages" / "theirs.pth").write_text(
        "\n".join(["import os", "# a comment", *map(str, entries)])
    )
    monkeypatch.setattr(sys, "path", ["", *map(str, entries)])
    return installed.paths()


def test_what_pip_installed_or_a_pth_file_adds_is_shown(person, monkeypatch):
    user, tools, plain = (person / ".local" / "lib", person.parent / "tools", person.parent / "on-the-path")
    distribution(user, "in_user_site")
    tools.mkdir()
    plain.mkdir()
    (person.parent / "site-packages" / "theirs.pth").write_text(f"{tools}\n{person.parent / 'gone'}\n")
    monkeypatch.setattr(sys, "path", ["", str(user), str(tools), str(plain)])
    assert installed.paths() == (str(user), str(tools))  # nobody installed anything in the third


@pytest.mark.parametrize(
    "where", [".", "..", "classroom", "../..", "/"], ids=["working", "home", "term", "homes", "all"]
)
def test_no_folder_of_a_person_is_shown_even_if_a_pth_file_adds_it(person, monkeypatch, where):
    assert with_path(monkeypatch, person, (person / "teaching" / where).resolve()) == ()


def test_a_private_package_is_not_shown_wherever_a_pth_file_leads(person, monkeypatch):
    course = distribution(person.parent / "elsewhere" / "a_course", "inside")
    assert with_path(monkeypatch, person, course) == ()


def test_an_editable_package_is_shown_by_itself(person, monkeypatch):
    project = distribution(person / "projects", "own_package")
    (project / "own_package-1.0.dist-info").rmdir()  # it lies where the package was installed
    finder = {"own_package": importlib.machinery.PathFinder.find_spec("own_package", [str(project)])}
    monkeypatch.setattr(importlib.util, "find_spec", finder.get)
    monkeypatch.setattr(sys, "path", [""])

    class Editable:
        texts: ClassVar = {"direct_url.json": '{"dir_info": {"editable": true}}', "top_level.txt": "own_package\n"}
        read_text = staticmethod(texts.get)

    class Broken:
        read_text = staticmethod({"direct_url.json": "not JSON"}.get)

    monkeypatch.setattr(installed, "distributions", lambda: (Broken, Editable))
    assert installed.paths() == (str(project / "own_package"),)


PROGRAM = """
from autograder.sandbox.session import Session, Template
template = Template()
print(template.prove())
with Session(template) as notebook:
    print(notebook.run("import elsewhere; print(elsewhere.VALUE)").outputs)
    print(notebook.run("import os; print(os.listdir({lib!r}), os.path.exists({own!r}))").outputs)
"""


@pytest.mark.slow
def test_a_notebook_imports_what_lies_on_pythonpath_and_sees_no_more(tmp_path):
    lib, own = distribution(tmp_path / "libraries", "elsewhere"), tmp_path / "teaching" / "marks.txt"
    own.parent.mkdir()
    own.touch()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(lib), str(own.parent)])}
    program = PROGRAM.format(lib=str(lib), own=str(own))
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=own.parent, env=environment, capture_output=True, text=True
    )
    assert "all are closed" in done.stdout, done.stderr
    assert "'text': '7\\n'" in done.stdout
    assert "elsewhere-1.0.dist-info" in done.stdout
    assert "True" not in done.stdout


def answering(text):
    return lambda source, limits: CellResult([{"output_type": "stream", "name": "stdout", "text": text}])


def test_what_the_test_of_the_sandbox_finds_is_said_with_its_own_remedy(monkeypatch):
    assert "all are closed" in selftest.check_sandbox(answering("[[], []]"))
    with pytest.raises(SandboxError, match=r"may not read the packages in /opt/lib\. .*chmod") as unseen:
        selftest.check_sandbox(answering('[[], ["/opt/lib"]]'))
    assert "Docker" not in str(unseen.value)
    with pytest.raises(SandboxError, match=r"could list your home.*Docker"):
        selftest.check_sandbox(answering('[["list your home"], []]'))

    def missing(source, limits):
        raise SandboxError("install it there")

    def refused(source, limits):
        raise NoSandbox("unshare: not permitted")

    with pytest.raises(SandboxError, match=r"^install it there$"):
        selftest.check_sandbox(missing)
    with pytest.raises(SandboxError, match=r"^unshare: not permitted.*Docker"):
        selftest.check_sandbox(refused)
