"""Tests of the two wheels: what they carry, a class marked with nothing else, the wall around an installed course."""

import ast
import csv
import email
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from email.message import Message
from pathlib import Path

import nbformat
import pytest
from class_copies import notebook, put
from conftest import ROOT, read
from guided_term import came_out_right, follow, write_late_days
from submissions import ANSWERS, NAME, POINTS, insert_before

from autograder import __version__
from autograder.handout import ENVIRONMENT, TEACHING
from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.new_folder import BESIDE
from autograder.spec.course import exercise, home, questions
from tools import dist

pytestmark = pytest.mark.slow  # builds the wheels
ENGINE, COURSE = "nbgrader_judge", "transformer_exercises"
SITE = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
MISTAKE = next(mistake for mistake in exercise("softmax").mistakes if mistake.name == "no_shift")
WRONG = {"softmax": MISTAKE.sources[0], "q5_1": f'q5_1 = "{"A" if questions(NAME)[0].key != "A" else "B"}"'}

# Each runs as a cell of its own and prints what it finds. SITE is the folder in which both wheels are installed.
PRELUDE = """
import glob, importlib, importlib.metadata, importlib.resources, inspect, linecache, os, pkgutil, re, subprocess, sys
import zipfile, zipimport
SITE = next(path for path in sys.path if path.endswith("site-packages"))
PLACES = [SITE, os.path.realpath(SITE)]
MODULES = ["transformer_exercises", "transformer_exercises.syllabus", "transformer_exercises.attention.softmax",
           "autograder.judge.mark", "autograder.judge.source_rules",
           "autograder.spec.course", "autograder.spec.common_mistakes", "autograder.sample_class"]
FILES = [name.replace(".", "/") + ".py" for name in MODULES[1:]] + ["transformer_exercises/written_answers.toml",
         "transformer_exercises/attention/questions.toml",
         "transformer_exercises/solutions/05-attention/05-attention.ipynb"]

def tried(work, *arguments):
    try:
        print(work(*arguments))
    except BaseException as error:
        print("refused:", type(error).__name__)
"""
SEEKS = {
    "imports": """
for name in MODULES:
    tried(lambda: vars(importlib.import_module(name)))
""",
    "files by their path": """
for path in [os.path.join(place, name) for place in PLACES for name in FILES]:
    tried(lambda: open(path).read())
    for compiled in glob.glob(os.path.dirname(path) + "/__pycache__/*"):
        tried(lambda: open(compiled, "rb").read())
""",
    "a search of the packages": """
for path in [path for place in PLACES for path in glob.glob(place + "/*/**", recursive=True)]:
    if "site-packages/autograder" in path or "site-packages/transformer_exercises" in path:
        tried(lambda: open(path).read())
""",
    "a search of everything": """
for folder, _, names in os.walk("/"):
    for name in names:
        path = os.path.join(folder, name)
        if name.endswith((".whl", ".ipynb", "written_answers.toml")) or re.search("autograder|transformer_ex", path):
            tried(lambda: (path, open(path, "rb").read(2000)))
""",
    "the lists of installed files": """
for path in glob.glob(SITE + "/transformer_exercises*/*"):
    tried(lambda: open(path).read())
for name in ("transformer-exercises", "transformer_exercises"):
    tried(importlib.metadata.files, name)
    tried(lambda: importlib.metadata.distribution(name).read_text("RECORD"))
print(importlib.metadata.entry_points(group="autograder.courses"))
""",
    "loaders": """
for name in [name for name in sys.modules if name.split(".")[0] in ("autograder", "transformer_exercises")]:
    module = sys.modules[name]
    tried(inspect.getsource, module)
    for path in [str(module.__file__), *(os.path.join(SITE, file) for file in FILES)]:
        tried(lambda: module.__loader__.get_data(path))
""",
    "package data": """
for package, file in [name.split("/", 1) for name in FILES]:
    tried(pkgutil.get_data, package, file)
    tried(lambda: importlib.resources.files(package).joinpath(file).read_text())
for package in ("autograder", "transformer_exercises"):
    tried(lambda: [module.name for module in pkgutil.walk_packages(importlib.import_module(package).__path__)])
""",
    "archives": """
for path in [*glob.glob(SITE + "/*.whl"), *glob.glob(SITE + "/*.egg"), SITE]:
    tried(lambda: zipimport.zipimporter(path).get_source("transformer_exercises"))
    tried(lambda: zipfile.ZipFile(path).namelist())
""",
    "what is cached": """
print([(name, lines) for name, lines in linecache.cache.items() if "autograder" in name or "exercises" in name])
""",
    "another Python": """
for name in MODULES:
    command = [sys.executable, "-c", f"import {name} as found; print(vars(found))"]
    done = subprocess.run(command, capture_output=True, text=True)
    print(done.stdout, done.stderr[-200:])
""",
    "a shell": """
!find / -path '*transformer_exercises*' -not -path '/proc/*' 2>/dev/null | head -500
!cat {SITE}/transformer_exercises/attention/*.py {SITE}/transformer_exercises*/RECORD
""",
    "what is mapped and open": """
print([line for line in open("/proc/self/maps") if re.search("autograder|transformer_exercises", line)])
for number in os.listdir("/proc/self/fd"):
    tried(os.readlink, "/proc/self/fd/" + number)
tried(os.listdir, "/proc/1/root" + SITE + "/transformer_exercises")
""",
    "its own memory": """
for line in open("/proc/self/maps"):
    first, last = (int(number, 16) for number in line.split()[0].split("-"))
    if " rw" in line and "[v" not in line:
        with open("/proc/self/mem", "rb", 0) as memory:
            memory.seek(first)
            held = memory.read(last - first)
        for begin in BEGINNINGS:
            for found in re.finditer(re.escape(begin.encode()), held):
                print(held[found.start() : found.start() + 200].decode("utf-8", "replace"))
""",
}
OPEN = ("imports", "files by their path", "a search of the packages", "package data", "another Python")  # with no wall


@pytest.fixture(scope="module")
def location():
    """Return a folder that is neither in the home folder nor in this checkout."""
    with tempfile.TemporaryDirectory(prefix="wheels-", dir="/var/tmp") as folder:
        path = Path(folder).resolve()
        assert not path.is_relative_to(Path.home())
        assert not path.is_relative_to(ROOT)
        yield path


@pytest.fixture(scope="module")
def wheels(location):
    """Return both wheels, by the name of the distribution."""
    return {path.name.split("-")[0]: path for path in dist.build(ROOT, location / "dist")}


def about(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(archive.read(name))


def in_environment(environment: Path, *command: str, cwd: Path, fails: bool = False) -> str:
    """Return what a command of an environment prints, of which nothing of this one is seen."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COURSE_"))}
    variables |= {"PATH": f"{environment / 'bin'}:/usr/bin:/bin", "VIRTUAL_ENV": str(environment)}
    done = subprocess.run(command, cwd=cwd, env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert bool(done.returncode) == fails, done.stdout
    return done.stdout


def installed(location: Path, name: str, *wheels: Path) -> Path:
    """Return an environment with these wheels and what they need. Skips where pip cannot get the latter."""
    environment = location / name
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    needed = [line for wheel in wheels for line in about(wheel).get_all("Requires-Dist", [])]
    needed = [line for line in needed if "extra ==" not in line and not line.startswith("nbgrader-judge")]
    pip = [str(environment / "bin/python"), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    try:
        in_environment(environment, *pip, "-c", str(ROOT / "constraints.txt"), *needed, cwd=location)
    except AssertionError as error:
        pytest.skip(f"pip cannot install what the wheels need: {error}")
    in_environment(environment, *pip, "--no-index", *map(str, wheels), cwd=location)
    return environment


@pytest.fixture(scope="module")
def both(location, wheels):
    return installed(location, "both", *wheels.values())


@pytest.fixture(scope="module")
def engine_alone(location, wheels):
    return installed(location, "alone", wheels[ENGINE])


def hand_in(folder: Path, student: str, answers: dict[str, str], cells: tuple[str, ...] = ()) -> None:
    put(folder / "classroom", student, insert_before(notebook(ANSWERS | answers), "q5_1", *cells))


@pytest.fixture(scope="module")
def term(location, both):
    """Return a folder to teach in, made by the installed command, in which three students are marked."""
    folder = location / "term"
    in_environment(both, "autograder", "init", str(folder), cwd=location)
    hand_in(folder, "right", {})
    hand_in(folder, "wrong", WRONG)
    secret = [text for question in questions(NAME) for text in question.explanations.values()] + [MISTAKE.sentence]
    begin = [text[:16] for text in secret]  # what a search of the memory can look for without knowing the rest
    hand_in(folder, "seeker", WRONG, (PRELUDE + f"BEGINNINGS = {begin!r}", *SEEKS.values()))
    in_environment(both, "autograder", "grade", NAME, cwd=folder)
    return folder


def marks(environment: Path, folder: Path, location: str = "classroom") -> dict[str, float]:
    in_environment(environment, "nbgrader", "export", cwd=folder)
    with (folder / location / "grades.csv").open(newline="") as file:
        return {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}


@functools.cache
def secrets() -> list[str]:
    """Return lines of all that is private and that no release shows: of the course, the judge and the solutions."""
    shown = "\n".join(cell.source for cell in read("course", NAME).cells) + PRELUDE + "\n".join(SEEKS.values())
    answers = "\n".join(WRONG.values())
    engine = ROOT / "autograder"
    files = [*(home() / "attention").glob("*.*"), home() / "syllabus.py", home() / "written_answers.toml"]
    files += [*(engine / "judge").rglob("*.py"), *(engine / "spec").glob("*.py"), engine / "sample_class.py"]
    lines = {line.strip() for file in files for line in file.read_text("utf-8").splitlines()}
    lines |= {line.strip() for cell in read("solutions", NAME).cells for line in cell.source.splitlines()}
    lines |= {text for question in questions(NAME) for text in question.explanations.values()}
    lines |= {
        node.value
        for file in files
        if file.suffix == ".py"
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return [line for line in lines if len(line) > 40 and line not in shown and line not in answers]


# --- what is built ----------------------------------------------------------------------------------------------------


def test_two_wheels_of_one_version_carry_both_licences_and_what_is_theirs(wheels):
    assert set(wheels) == {ENGINE, COURSE}
    names = {name: zipfile.ZipFile(wheel).namelist() for name, wheel in wheels.items()}
    for name, wheel in wheels.items():
        assert about(wheel)["Version"] == __version__
        assert about(wheel)["License-Expression"] == "MIT AND CC-BY-4.0"
        assert {Path(one).name for one in names[name] if "/licenses/" in one} == {"LICENSE", "LICENSE-CONTENT"}
    assert {name.split("/")[0].split("-")[0] for name in names[ENGINE]} == {"autograder", ENGINE}
    assert not [name for name in names[ENGINE] if name.endswith(".ipynb")]
    needed = about(wheels[ENGINE]).get_all("Requires-Dist")
    assert not [line for line in needed if line.startswith("torch") and "extra ==" not in line]
    notebooks = {f"{COURSE}/{path.relative_to(ROOT)}" for path in ROOT.glob("*/[0-9]*/*.ipynb")}
    assert {name for name in names[COURSE] if name.endswith(".ipynb")} >= notebooks > set()


def test_the_course_wheel_carries_what_init_lays_beside_notebooks(wheels):
    with zipfile.ZipFile(wheels[COURSE]) as archive:
        carried = {name: archive.read(f"{COURSE}/{TEACHING}/{name}") for name in BESIDE}
    assert carried == {name: (ROOT / name).read_bytes() for name in BESIDE}


def test_the_wheel_of_the_course_carries_the_sources_of_shared_modules(wheels):
    paths = [path for path in (home() / "shared_modules").glob("*.*") if path.suffix != ".md"]
    sources = {f"{COURSE}/{path.relative_to(home())}" for path in paths}
    assert set(zipfile.ZipFile(wheels[COURSE]).namelist()) >= sources > set()


# --- a class ----------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_wheels_mark_a_class_and_nbgraders_command_agrees(both, term):
    full = sum(POINTS[name] for name in ANSWERS)
    found = marks(both, term)
    assert found["right"] == full
    assert full - POINTS["softmax"] - POINTS["q5_1"] < found["wrong"] < full - POINTS["q5_1"]
    page = (term / "classroom" / "feedback" / "wrong" / NAME / f"{NAME}.html").read_text("utf-8")
    assert MISTAKE.sentence.split(".")[0].split("`")[0].strip() in page
    in_environment(both, "nbgrader", "autograde", NAME, "--force", "--student=wrong", cwd=term)
    assert marks(both, term) == found


@pytest.mark.long
@pytest.mark.parametrize("name", SEEKS)
def test_an_installed_course_lies_open_to_no_notebook(both, term, name):
    marked = nbformat.read(term / "classroom" / "autograded" / "seeker" / NAME / f"{NAME}.ipynb", as_version=4)
    [cell] = [cell for cell in marked.cells if cell.source.strip() == SEEKS[name].strip()]
    assert not [output for output in cell.outputs if output.output_type == "error"], cell.outputs
    shown = "".join(output.get("text", "") for output in cell.outputs)
    assert "Output cut" not in shown
    assert not [line for line in secrets() if line in shown or repr(line)[1:-1] in shown]
    assert "masking/padding_mask" not in shown  # a list of the course's files, which no cell above names
    found = marks(both, term)
    assert found["seeker"] <= found["wrong"]  # less where cells stand that could hide a banned function


@pytest.mark.long
@pytest.mark.parametrize("name", OPEN)
def test_without_the_wall_the_same_search_finds_it(location, both, name):
    program = f"import sys; sys.path.append({str(both / SITE)!r})\n{PRELUDE}\n{SEEKS[name]}"
    shown = in_environment(both, "python", "-c", program, cwd=location)
    assert [line for line in secrets() if line in shown or repr(line)[1:-1] in shown]


@pytest.mark.long
def test_a_term_without_a_clone_goes_by_the_guide(location, both):
    made = in_environment(both, "autograder", "init", "course", cwd=location)
    folder = location / "course"
    assert "a term in twelve steps: course/docs/instructors.md" in made
    write_late_days(folder)
    output = follow(folder, functools.partial(in_environment, both, cwd=folder), ("init", "demo", "watch", "teach"))
    came_out_right(folder / "classroom", output)
    with zipfile.ZipFile(folder / "students.zip") as archive:
        assert {f"course/{name}" for name in ENVIRONMENT} < set(archive.namelist())


# --- an ordinary assignment -------------------------------------------------------------------------------------------

SQUARES = "def squares(n):\n    if n < 1:\n        raise ValueError(n)\n    return [i**2 for i in range(1, n + 1)]"


@pytest.mark.long
def test_the_engine_alone_marks_nbgraders_example_without_pytorch(location, engine_alone):
    folder, run = location / "plain", functools.partial(in_environment, engine_alone, cwd=location / "plain")
    in_environment(engine_alone, "python", "-c", "import torch", cwd=location, fails=True)
    in_environment(engine_alone, "nbgrader", "quickstart", "plain", cwd=location)
    assert "grade" in run("autograder", "--help")
    run("nbgrader", "generate_assignment", "ps1")
    for student, answer in (("good", SQUARES), ("bad", "squares = None")):
        target = folder / "submitted" / student / "ps1"
        shutil.copytree(folder / "release" / "ps1", target)
        notebook = nbformat.read(target / "problem1.ipynb", as_version=4)
        [cell] = [cell for cell in notebook.cells if grade_id(cell) == "squares"]
        cell.source = answer
        nbformat.write(notebook, target / "problem1.ipynb")
    assert "2 marked, 0 unchanged, 0 failed" in run("autograder", "grade", "ps1")
    assert (folder / "feedback" / "bad" / "ps1" / "problem2.html").is_file()
    assert {student: mark for student, mark in marks(engine_alone, folder, ".").items() if mark} == {"good": 2.0}
    message = run("autograder", "init", str(location / "nothing"), fails=True)
    assert "No course is installed" in message
    assert "Traceback" not in message
