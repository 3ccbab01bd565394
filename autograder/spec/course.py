"""Find the course to mark: its exercises and questions by name, their references, and the names its notebooks provide.

A course is a package with a folder for each topic and a module for each exercise in it (`TOPIC/EXERCISE.py`), beside
a module of wrong and right answers (`TOPIC/EXERCISE_mistakes.py`). A topic's `questions.toml` has a table for each
question: its `key`, and for each letter what choosing it shows. The solution notebooks hold the rest: an exercise
belongs to the notebook in which a solution cell bears its name and a hidden test asks for it; that cell is its
reference, and locked cells are what answers may build on.
"""

import ast
import functools
import importlib
import json
import os
import re
import sys
import tomllib
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from .exercise import Exercise, Question

MARKERS = ("### BEGIN SOLUTION", "### END SOLUTION")
SETTINGS = "nbgrader_config.py"
FURTHER = "-further"  # how an optional notebook's name ends
GROUP = "autograder.courses"  # of entry points
MISTAKES = "_mistakes"  # how the name of a module of mistakes ends
# In a notebook's JSON, where quotation marks inside a text are escaped
SOLUTION = re.compile(rb'"grade_id": "(\w+)"[^{}]*"solution": true')
CHECK = re.compile(rb"""check\((?:\\"|')(\w+)(?:\\"|')\)""")


@dataclass(frozen=True)
class Course:
    """The facts about a course that the engine needs besides its exercises."""

    title: str
    package: str  # contains the topics
    notebooks: tuple[str, ...]  # in the order of the course, without optional ones
    topics: tuple[str, ...]  # folders of the package that hold exercises
    imports: str  # names that answers may use without importing them
    preload: tuple[str, ...]  # modules that notebooks use, for the warm template
    libraries: frozenset[str] = frozenset()  # names of imported modules; replacing their parts is a sign of tampering
    optional_notebooks: tuple[
        str, ...
    ] = ()  # optional assignments: the name of the notebook that each belongs to, and FURTHER
    commonest: tuple[tuple[str, str], ...] = ()  # (exercise, mistake), for the table of what mistakes cost


NO_COURSE = Course(title="", package="", notebooks=(), topics=(), imports="", preload=())  # marks ordinary assignments


class NoCourse(Exception):
    """No course can be found or loaded. The message says which course was looked for, and what to do."""


# --- finding the course -----------------------------------------------------------------------------------------------


@functools.cache
def course() -> Course:
    """Return the course that the nearest nbgrader_config.py names in COURSE, else the only one that is installed.

    Where no course is named or installed, none has exercises: nbgrader's ordinary assignments are marked so. Raises
    NoCourse if there are several, or if the one that is meant cannot be loaded.
    """
    installed = {point.name: point for point in entry_points(group=GROUP)}
    if (settings := _settings()) and (named := _named_in(settings)):
        if named not in installed and (settings.parent / named).is_dir():  # beside its configuration, not installed
            sys.path.insert(0, str(settings.parent))
        return _loaded(installed.get(named) or EntryPoint(named, f"{named}:COURSE", GROUP), str(settings))
    if len(installed) == 1:
        [point] = installed.values()
        return _loaded(point, f"the entry point {point.name!r} of the group {GROUP}")
    if not installed:
        return NO_COURSE
    known = f"These are installed: {', '.join(sorted(installed))}."
    raise NoCourse(f'No course is named: write COURSE = "its name" into {settings or SETTINGS}. {known}')


def _settings() -> Path | None:
    here = Path.cwd()
    return next((path for folder in (here, *here.parents) if (path := folder / SETTINGS).is_file()), None)


def _named_in(settings: Path) -> str | None:
    """Read COURSE = "…" from a configuration without running it: nbgrader's own names are not defined yet."""
    try:
        tree = ast.parse(settings.read_text("utf-8"))
    except (SyntaxError, ValueError, OSError) as error:
        raise NoCourse(f"{settings} cannot be read: {error}") from error
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(goal) for goal in node.targets] == ["COURSE"]:
            return str(ast.literal_eval(node.value))
    return None


def _loaded(point: EntryPoint, where: str) -> Course:
    try:
        found = point.load()
    except Exception as error:  # an import may raise anything
        raise NoCourse(f"{where} names the course {point.value}, which cannot be loaded: {error!r}") from error
    if not isinstance(found, Course):
        raise NoCourse(f"{where} names {point.value}, which is no Course but a {type(found).__name__}")
    return found


def root() -> Path:
    """Return the folder of the nearest nbgrader_config.py, else the one with the course's notebooks, else this one."""
    if settings := _settings():
        return settings.parent
    try:
        return sources().parent
    except NoCourse:
        return Path.cwd()


def package() -> ModuleType:
    """Return the course's package. Raises NoCourse where there is no course."""
    if course() is NO_COURSE:
        settings = _settings() or SETTINGS
        raise NoCourse(f'No course is installed: install its wheel, or write COURSE = "its package" into {settings}.')
    return importlib.import_module(course().package)


def uses_torch() -> bool:
    """Return whether the course's notebooks use PyTorch: nothing else makes the engine import it."""
    return "torch" in course().preload


def home() -> Path:
    """Return the folder of the course's package."""
    [folder] = package().__path__
    return Path(folder)


@functools.cache
def sources() -> Path:
    """Return the folder of the solution notebooks: inside the installed package, or beside it, as nbgrader names it."""
    inside, beside, ordinary = home() / "solutions", home().parent / "solutions", home().parent / "source"
    return next((folder for folder in (inside, beside, ordinary) if folder.is_dir()), beside)


def notebook_path(notebook: str) -> Path:
    return sources() / notebook / f"{notebook}.ipynb"


def release() -> Path:
    """Return the folder of the released notebooks: course/, or the one that the variable COURSE_RELEASE names."""
    return root() / os.environ.get("COURSE_RELEASE", "course")


def notebooks() -> tuple[str, ...]:
    """Return all notebooks, each optional one after its main notebook."""
    optional = course().optional_notebooks
    return tuple(n for main in course().notebooks for n in (main, *(f for f in optional if f == f"{main}{FURTHER}")))


def is_optional(notebook: str) -> bool:
    """Return True if a notebook is optional: no other one needs it."""
    return notebook in course().optional_notebooks


def checked_name(notebook: str) -> str:
    """Return the notebook's name; raise a ValueError that lists the notebooks if there is none of this name."""
    if notebook not in notebooks():
        raise ValueError(f"there is no notebook {notebook!r}; there are {', '.join(notebooks())}")
    return notebook


# --- exercises and their modules --------------------------------------------------------------------------------------


def _plain(name: str) -> str:
    return name.replace("_", "").lower()  # `MyModule` is declared in my_module.py


@functools.cache
def _modules() -> dict[str, tuple[str, str]]:
    """Return (topic, module) of every exercise by its plain name, without importing anything."""
    return {
        _plain(path.stem): (topic, path.stem)
        for topic in course().topics
        for path in sorted((home() / topic).glob("*.py"))
        if path.stem != "__init__" and not path.stem.endswith(MISTAKES)
    }


@functools.cache
def _solution_names(notebook: str) -> tuple[str, ...]:
    """Return the names on a notebook's solution cells that a check asks for, in their order; none if it is not there.

    The notebook is searched and not parsed. An instructor's own cell has no such check, whatever its name.
    """
    path = notebook_path(notebook)
    text = path.read_bytes() if path.is_file() else b""
    asked_for = set(CHECK.findall(text))
    return tuple(name.decode() for name in dict.fromkeys(SOLUTION.findall(text)) if name in asked_for)


@functools.cache
def _places() -> dict[str, str]:
    """Return the notebook of every exercise, by the name on its solution cell."""
    modules = _modules()
    return {name: notebook for notebook in notebooks() for name in _solution_names(notebook) if _plain(name) in modules}


def topics_of(notebook: str) -> list[str]:
    """Return the topics that have exercises in a notebook."""
    checked_name(notebook)
    return list(dict.fromkeys(_modules()[_plain(name)][0] for name, home in _places().items() if home == notebook))


def mistakes_file(name: str) -> Path:
    """Return the file of the module that declares the wrong and right answers to an exercise, beside its own."""
    topic, module = _modules()[_plain(name)]
    return home() / topic / f"{module}{MISTAKES}.py"


def _module(topic: str, name: str) -> ModuleType:
    return importlib.import_module(f"{course().package}.{topic}.{name}")


def exercise_files(name: str) -> list[Path]:
    """Return the files that declare an exercise; they may import others of the course."""
    topic, module = _modules()[_plain(name)]
    return [home() / topic / f"{module}.py"]


def everything_about(notebook: str) -> bytes:
    """Return all that defines a notebook's exercises, as raw bytes: all modules, imports and the code of cells."""
    files = [path for topic in topics_of(notebook) for path in sorted((home() / topic).glob("*.*")) if path.is_file()]
    files += sorted(home().glob(f"*{MISTAKES}.py"))  # from which theirs inherit
    cells = [source.encode() for _, _, source in _code_cells(notebook)]
    return b"\0".join([*(path.read_bytes() for path in files), course().imports.encode(), *cells])


@functools.cache
def exercise(name: str) -> Exercise:
    notebook = exercise_home(name)
    topic, module = _modules()[_plain(name)]
    declared: Exercise = _module(topic, module).EXERCISE
    declared.name, declared.notebook, declared.source = name, notebook, _solution_cells(notebook)[name]
    declared.catalogue_module = f"{course().package}.{topic}.{module}{MISTAKES}"
    return declared


def sentence_of(name: str, mistake: str) -> str:
    """Return the sentence about a mistake of the exercise called `name`."""
    return exercise(name).sentences[mistake]


@functools.cache
def _questions(notebook: str) -> tuple[Question, ...]:
    there = _solution_names(checked_name(notebook))
    declared = (question for topic in course().topics for question in _declared_questions(topic))
    return tuple(replace(question, notebook=notebook) for question in declared if question.name in there)


@functools.cache
def _declared_questions(topic: str) -> tuple[Question, ...]:
    path = home() / topic / "questions.toml"
    try:
        tables = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
        return tuple(
            Question(name, 1, table.pop("key"), {letter: " ".join(text.split()) for letter, text in table.items()})
            for name, table in tables.items()
        )
    except (tomllib.TOMLDecodeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is not a table of a key and a text for each letter: {error!r}") from error


def exercises(notebook: str | None = None) -> list[Exercise]:
    wanted = notebooks() if notebook is None else (checked_name(notebook),)
    return [exercise(name) for n in wanted for name in _solution_cells(n) if _places().get(name) == n]


def questions(notebook: str | None = None) -> list[Question]:
    return [q for n in (notebooks() if notebook is None else [notebook]) for q in _questions(n)]


@functools.cache
def in_notebook(notebook: str) -> tuple[Exercise | Question, ...]:
    """Return everything in a notebook that is marked automatically, exercises before questions."""
    return (*exercises(notebook), *questions(notebook))


@functools.cache
def names() -> frozenset[str]:
    """Return the names of everything that is marked automatically."""
    return frozenset(_places()) | {question.name for question in questions()}


@functools.cache
def question_or_exercise(name: str) -> Exercise | Question:
    if name in _places():
        return exercise(name)
    if found := [question for question in questions() if question.name == name]:
        return found[0]
    raise ValueError(f"no exercise or question is named {name!r}: add its module, or a table in questions.toml")


def names_in(notebook: str) -> set[str]:
    return {name for name, home in _places().items() if home == notebook}


@functools.cache
def library_equivalents(notebook: str) -> dict[str, str]:
    """Return the exercises' `library_equivalent` sources, bound in students' processes while others are marked; no
    references.
    """
    return {name: text for name, text in right_programs(notebook).items() if exercise(name).library_equivalent}


@functools.cache
def right_programs(notebook: str) -> dict[str, str]:
    """Return a right version of each exercise, for trusted processes only: its `library_equivalent` source, else the
    reference.
    """
    found = exercises(notebook)
    return {declared.name: _by_itself(notebook, declared.library_equivalent or declared.source) for declared in found}


def _by_itself(notebook: str, source: str) -> str:
    """Return a source with the imports and the definitions of locked cells that it uses before it."""
    used = _used(_words(source), _provided_code(notebook))
    whole = "\n".join([*(text for name, text in _provided_code(notebook).items() if name in used), source])
    return "\n".join([*_imports(notebook, whole, course().imports), whole])


# --- reading the solution notebook ------------------------------------------------------------------------------------


@functools.cache
def _code_cells(notebook: str) -> tuple[tuple[str, bool, str], ...]:
    """Return (grade_id, whether it is an answer, source) of the code cells, in their order."""
    found = []
    for cell in json.loads(notebook_path(notebook).read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            graded = cell["metadata"].get("nbgrader", {})
            answer = graded.get("solution", False) and not graded.get("grade", False)
            found.append((graded.get("grade_id", ""), answer, "".join(cell["source"])))
    return tuple(found)


def given_cells(notebook: str) -> frozenset[str]:
    """Return the sources of a notebook's code cells but for answers, such as its set-up and its experiments."""
    return frozenset(source for _, answer, source in _code_cells(notebook) if not answer)


def without_markers(source: str) -> str:
    """Return a solution cell's source without nbgrader's markers: the exact reference."""
    lines = [line for line in source.splitlines() if line.strip() not in MARKERS]
    return "\n".join(lines).strip() + "\n"


@functools.cache
def _solution_cells(notebook: str) -> dict[str, str]:
    return {name: without_markers(source) for name, answer, source in _code_cells(notebook) if answer}


@functools.cache
def provided_names(notebook: str) -> frozenset[str]:
    """Return the names that a notebook's locked cells define for answers and checks, helpers included."""
    return frozenset(_provided_code(notebook))


@functools.cache
def provided_code_in(notebook: str) -> str:
    """Return the source that a notebook's locked cells provide to answers: definitions, and the imports they need."""
    definitions = "\n\n\n".join(_provided_code(notebook).values())
    imports = _imports(notebook, "\n".join([definitions, *_solution_cells(notebook).values()]))
    return "\n".join([*imports, "", "", definitions, ""])


def _imports(notebook: str, source: str, beside: str = "") -> list[str]:
    """Return the import statements, of locked cells and of `beside`, that bind names in a source."""
    used = _words(source)
    statements = [*ast.parse(beside).body, *(node for _, node in _locked_statements(notebook))]
    imports = (node for node in statements if isinstance(node, (ast.Import, ast.ImportFrom)))
    bound = ((node, {(alias.asname or alias.name).split(".")[0] for alias in node.names}) for node in imports)
    return list(dict.fromkeys(ast.unparse(node) for node, names in bound if names & used))


@functools.cache
def _provided_code(notebook: str) -> dict[str, str]:
    """Return the definitions, as in the cells, that a notebook's topics name in PROVIDED, and those that these use.

    Raises a ValueError if no cell defines a name in PROVIDED, neither here nor in this notebook's main or optional one.
    """
    topics = [importlib.import_module(f"{course().package}.{topic}") for topic in topics_of(notebook)]
    wanted = {name for topic in topics for name in getattr(topic, "PROVIDED", ())}
    if not wanted:
        return {}
    main = notebook.removesuffix(FURTHER)
    both = {name: _defined(name) for name in (main, f"{main}{FURTHER}") if name in notebooks()}
    if missing := wanted.difference(*both.values()):
        raise ValueError(f"{notebook} should give {', '.join(sorted(missing))}, but no cell of its defines that")
    there = both[notebook]
    used = _used(wanted, there)
    return {name: source for name, source in there.items() if name in used}


def _used(names: set[str], there: dict[str, str]) -> set[str]:
    """Return which of these names are in `there`, and what their sources use of it in turn."""
    found, todo = set[str](), names & set(there)
    while todo:
        found |= todo
        todo = set().union(*(_words(there[name]) for name in todo)) & set(there) - found
    return found


def _defined(notebook: str) -> dict[str, str]:
    """Return the source of each function and class that a notebook's locked cells define."""
    there: dict[str, str] = {}
    for source, node in _locked_statements(notebook):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            there[node.name] = "\n".join(source.splitlines()[first - 1 : node.end_lineno])
    return there


@functools.cache
def _locked_statements(notebook: str) -> tuple[tuple[str, ast.stmt], ...]:
    """Return each statement in locked cells, with its cell's source; cells with magic commands are left out."""
    locked = (source for _, answer, source in _code_cells(notebook) if not answer)
    plain = (source for source in locked if not source.lstrip().startswith(("%", "!")))
    return tuple((source, node) for source in plain for node in ast.parse(source).body)


def _words(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


# --- namespaces -------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def compiled(source: str, filename: str) -> CodeType:
    """Compile as a notebook does: this module's own future imports are not inherited."""
    return compile(source, filename, "exec", dont_inherit=True)


def blank_namespace(notebook: str) -> dict[str, Any]:
    """Return the global names that a notebook's answers find: imports, and the definitions of its locked cells."""
    namespace: dict[str, Any] = {"__name__": "notebook"}
    exec(compiled(course().imports, "<imports>"), namespace)
    exec(compiled(provided_code_in(notebook), "<provided>"), namespace)
    return namespace


@functools.cache
def _references(notebook: str) -> dict[str, Any]:
    namespace = blank_namespace(notebook)
    for name, source in _solution_cells(notebook).items():
        if _places().get(name) == notebook:
            exec(compiled(source, f"<{name}>"), namespace)
    return namespace


def reference(name: str) -> Any:
    """Return the reference of an exercise, as its notebook's solution cell defines it."""
    return _references(exercise_home(name))[name]


def provided(name: str, where: str) -> Any:
    """Return what locked cells define by this name. `where` is a notebook, or the `__name__` of a topic's module."""
    if where.startswith(f"{course().package}."):
        topic = where.removeprefix(f"{course().package}.").split(".")[0]
        where = next(n for n in notebooks() if topic in topics_of(n) and name in _provided_code(n))
    return _references(checked_name(where))[name]


def exercise_home(name: str) -> str:
    """Return an exercise's notebook; raise a ValueError if no exercise has this name."""
    if name not in _places():
        raise ValueError(f"there is no exercise {name!r}")
    return _places()[name]
