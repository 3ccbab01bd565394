"""The course that is marked: its exercises and questions by name, their references, and what its notebooks give.

The engine knows no course. It takes the package that AUTOGRADER_COURSE names: a folder for each notebook, a room for
each exercise in it (`05_attention/softmax.py` for `softmax` in notebook `05-attention`), and the questions. What an
exercise asks for (the reference) and what a notebook gives is read from the solution notebooks.
"""

from __future__ import annotations

import ast
import functools
import importlib
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from .exercise import Exercise, Question

MARKERS = ("### BEGIN SOLUTION", "### END SOLUTION")


@dataclass(frozen=True)
class Course:
    """What the engine must know of a course besides its exercises."""

    title: str
    root: Path  # of the checkout: solutions/, the release, a term's data
    notebooks: tuple[str, ...]  # in the order of the course
    imports: str  # names that answers may use without importing them
    preload: tuple[str, ...]  # modules that notebooks use, for the warm template
    libraries: frozenset[str] = (
        frozenset()
    )  # names under which notebooks know modules; replacing parts of them is a sign
    commonest: tuple[tuple[str, str], ...] = ()  # (exercise, mistake), for the table of what mistakes cost


@functools.cache
def package() -> ModuleType:
    return importlib.import_module(os.environ.get("AUTOGRADER_COURSE", "transformer_exercises"))


def home() -> Path:
    """The folder of the course's package."""
    [folder] = package().__path__
    return Path(folder)


@functools.cache
def course() -> Course:
    return package().COURSE


def release() -> Path:
    """The folder with the released notebooks: course/, or what nbgrader_config.py takes in its place."""
    return course().root / os.environ.get("COURSE_RELEASE", "course")


def notebooks() -> tuple[str, ...]:
    return course().notebooks


def known(notebook: str) -> str:
    """The notebook's own name; a ValueError with the names there are if it is none of them."""
    if notebook not in notebooks():
        raise ValueError(f"there is no notebook {notebook!r}; there are {', '.join(notebooks())}")
    return notebook


# --- rooms ------------------------------------------------------------------------------------------------------------


def folder_of(notebook: str) -> str:
    return known(notebook).replace("-", "_")


def _module(notebook: str, room: str) -> ModuleType:
    return importlib.import_module(f".{folder_of(notebook)}.{room}", package().__name__)


@functools.cache
def _rooms() -> dict[str, str]:
    """The notebook of every exercise; no room is entered for this, and no notebook read."""
    return {
        path.stem: notebook
        for notebook in notebooks()
        for path in sorted((home() / folder_of(notebook)).glob("*.py"))
        if path.stem not in ("__init__", "common", "questions")
    }


def room_files(name: str) -> list[Path]:
    """The files in which an exercise is declared: its room, and what the rooms of its notebook share."""
    folder = home() / folder_of(exercise_home(name))
    return [path for path in (folder / f"{name}.py", folder / "common.py") if path.is_file()]


def everything_about(notebook: str) -> bytes:
    """All that the exercises of a notebook are made of, as it stands in the files: rooms, and the code of the cells."""
    rooms = sorted((home() / folder_of(notebook)).glob("*.py"))
    cells = "\0".join(source for _, _, source in _code_cells(notebook))
    return b"\0".join([path.read_bytes() for path in rooms] + [course().imports.encode(), cells.encode()])


@functools.cache
def exercise(name: str) -> Exercise:
    notebook = exercise_home(name)
    declared = _module(notebook, name).EXERCISE
    declared.name, declared.notebook, declared.source = name, notebook, _solution_cells(notebook)[name]
    return declared


@functools.cache
def _questions(notebook: str) -> tuple[Question, ...]:
    return tuple(replace(question, notebook=notebook) for question in _module(notebook, "questions").QUESTIONS)


def exercises(notebook: str | None = None) -> list[Exercise]:
    wanted = notebooks() if notebook is None else (known(notebook),)
    return [exercise(name) for n in wanted for name in _solution_cells(n) if _rooms().get(name) == n]


def questions(notebook: str | None = None) -> list[Question]:
    return [q for n in (notebooks() if notebook is None else [notebook]) for q in _questions(n)]


@functools.cache
def in_notebook(notebook: str) -> tuple[Exercise | Question, ...]:
    """What is marked automatically in a notebook, exercises before questions."""
    return (*exercises(notebook), *questions(notebook))


@functools.cache
def names() -> frozenset[str]:
    """The names of everything that is marked automatically."""
    return frozenset(_rooms()) | {question.name for question in questions()}


@functools.cache
def question_or_exercise(name: str) -> Exercise | Question:
    if name in _rooms():
        return exercise(name)
    for question in questions():
        if question.name == name:
            return question
    raise ValueError(f"no exercise or question is named {name!r}")


def names_in(notebook: str) -> set[str]:
    """The names of a notebook's exercises."""
    return {name for name, home in _rooms().items() if home == notebook}


@functools.cache
def working_versions(notebook: str) -> dict[str, str]:
    """For each exercise, a version made of PyTorch's own parts: while one is asked about, the others are right."""
    return {declared.name: declared.working for declared in exercises(notebook)}


# --- what the solution notebook says ----------------------------------------------------------------------------------


@functools.cache
def _code_cells(notebook: str) -> tuple[tuple[str, bool, str], ...]:
    """(grade_id, is it an answer, source) of the code cells, in their order."""
    path = course().root / "solutions" / notebook / f"{notebook}.ipynb"
    found = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            graded = cell["metadata"].get("nbgrader", {})
            answer = graded.get("solution", False) and not graded.get("grade", False)
            found.append((graded.get("grade_id", ""), answer, "".join(cell["source"])))
    return tuple(found)


def without_markers(source: str) -> str:
    """A solution cell's source without nbgrader's markers: the reference, to the letter."""
    lines = [line for line in source.splitlines() if line.strip() not in MARKERS]
    return "\n".join(lines).strip() + "\n"


@functools.cache
def _solution_cells(notebook: str) -> dict[str, str]:
    return {name: without_markers(source) for name, answer, source in _code_cells(notebook) if answer}


@functools.cache
def given_names(notebook: str) -> frozenset[str]:
    """What a notebook's locked cells define for the answers and for the checks, helpers included."""
    return frozenset(_given(notebook))


@functools.cache
def given_in(notebook: str) -> str:
    """Source of what a notebook's locked cells give to the answers: definitions, and the imports that it takes."""
    definitions = "\n\n\n".join(_given(notebook).values())
    used = _words(definitions).union(*map(_words, _solution_cells(notebook).values()))
    mentioned = [line for line in _imports(notebook) if _binds(line) & used]
    return "\n".join([*mentioned, "", "", definitions, ""])


@functools.cache
def _given(notebook: str) -> dict[str, str]:
    """The definitions that the rooms' package names in GIVEN, and what those are built on, as the cells have them."""
    wanted = set(getattr(importlib.import_module(f".{folder_of(notebook)}", package().__name__), "GIVEN", ()))
    if not wanted:
        return {}
    there: dict[str, str] = {}
    for _, answer, source in _code_cells(notebook):
        for node in () if answer or source.lstrip().startswith(("%", "!")) else ast.parse(source).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                there[node.name] = "\n".join(source.splitlines()[first - 1 : node.end_lineno])
    if missing := wanted - set(there):
        raise ValueError(f"{notebook} should give {', '.join(sorted(missing))}, but no cell of its defines that")
    todo = list(wanted)
    while todo:
        more = (_words(there[todo.pop()]) & set(there)) - wanted
        wanted |= more
        todo += more
    return {name: source for name, source in there.items() if name in wanted}


def _imports(notebook: str) -> list[str]:
    nodes = [
        node
        for _, answer, source in _code_cells(notebook)
        if not answer and not source.lstrip().startswith(("%", "!"))
        for node in ast.parse(source).body
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    return list(dict.fromkeys(map(ast.unparse, nodes)))


def _binds(statement: str) -> set[str]:
    [node] = ast.parse(statement).body
    assert isinstance(node, (ast.Import, ast.ImportFrom))
    return {(alias.asname or alias.name).split(".")[0] for alias in node.names}


def _words(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


# --- namespaces -------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def compiled(source: str, filename: str) -> CodeType:
    """As a notebook compiles it: nothing of this module's own future imports is inherited."""
    return compile(source, filename, "exec", dont_inherit=True)


def blank_namespace(notebook: str) -> dict[str, Any]:
    """The global names that a notebook's answers find: imports, and what its locked cells give."""
    namespace: dict[str, Any] = {"__name__": "notebook"}
    exec(compiled(course().imports, "<imports>"), namespace)
    exec(compiled(given_in(notebook), "<given>"), namespace)
    return namespace


@functools.cache
def _references(notebook: str) -> dict[str, Any]:
    namespace = blank_namespace(notebook)
    for name, source in _solution_cells(notebook).items():
        if _rooms().get(name) == notebook:
            exec(compiled(source, f"<{name}>"), namespace)
    return namespace


def reference(name: str) -> Any:
    """The reference of an exercise, as its notebook's solution cell defines it."""
    return _references(exercise_home(name))[name]


def given(name: str, where: str) -> Any:
    """What a notebook's locked cells give by this name. `where` is the notebook, or the `__name__` of a room of it."""
    notebook = where.split(".")[-2].replace("_", "-") if "." in where else known(where)
    return _references(notebook)[name]


def exercise_home(name: str) -> str:
    """The notebook of an exercise."""
    try:
        return _rooms()[name]
    except KeyError:
        raise ValueError(f"there is no exercise {name!r}") from None
