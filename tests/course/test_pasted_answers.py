"""Tests that no code in a release answers an open exercise of its own notebook, or of an earlier one.

Each function and class that a released notebook defines outside its answers, also a nested or anonymous one, is tried
as an answer to every exercise that it could fit, with the code that it needs.
"""

import ast
import contextlib
import copy
import functools
import importlib
import inspect
import re
import time
from collections.abc import Iterator
from types import CodeType
from typing import Any, NamedTuple

import matplotlib as mpl
import pytest
import torch
from conftest import NOTEBOOKS, ROOT, read
from patience import patience
from torch import nn

from autograder.judge import mark as marking
from autograder.judge.diagnosis import diagnose as diagnosis
from autograder.judge.mark import Verdict, mark, zero
from autograder.judge.source_rules import defined_in, global_names
from autograder.judge.student import Student
from autograder.spec.course import course, exercises, reference, right_programs
from autograder.spec.exercise import Exercise
from autograder.untrusted.responder import Responder
from autograder.untrusted.wire import Packet, encode

# The clock may stop a figure's own housekeeping, and candidates build layers of no size.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Initializing zero-element tensors"),
]
EXERCISES = [pytest.param(exercise, id=exercise.name) for exercise in exercises()]
MARKING = 5.0  # seconds of computing for marking a candidate: an answer has earned something long before
EXPERIMENT = re.compile(r"\b(backward|tqdm|race|train)\b")  # no constant: it trains a model, and no answer needs one
DEFINITION = (ast.FunctionDef, ast.ClassDef)


class Candidate(NamedTuple):
    """Something given that can be called: its place, and the statement that binds it to the name `pasted`."""

    place: str  # the notebook's number, the cell, the name
    code: CodeType
    node: ast.FunctionDef | ast.ClassDef | ast.Lambda


class Given(NamedTuple):
    """What a released notebook defines outside its answers."""

    definitions: list[CodeType]  # imports, functions and classes
    constants: dict[str, Any]  # what they need besides
    candidates: list[Candidate]


@functools.cache
def given(notebook: str) -> Given:
    """Return everything given by a release: its definitions, their constants, and what may be pasted."""
    cells = [cell for cell in read("course", notebook).cells if cell.cell_type == "code"]
    cells = [cell for cell in cells if not cell.metadata.get("nbgrader", {}).get("solution")]
    placed = [(f"{notebook[:2]} {cell.id}", statement) for cell in cells for statement in ast.parse(cell.source).body]
    statements = [statement for _, statement in placed]
    definitions = [s for s in statements if isinstance(s, (*DEFINITION, ast.Import, ast.ImportFrom))]
    candidates = [candidate for place, statement in placed for candidate in _candidates(statement, place)]
    codes = [_compiled(s) for s in definitions]
    lambdas = [s for s in statements if any(isinstance(node, ast.Lambda) for node in ast.walk(s))]
    needed = {name for s in (*definitions, *lambdas) for name in global_names(s)}
    needed |= {name for s in statements if _may_make_a_function(s) for name in defined_in(ast.unparse(s))}
    return Given(codes, _constants(notebook, statements, codes, needed), candidates)


def _constants(notebook: str, statements: list[ast.stmt], definitions: list[CodeType], needed: set[str]) -> dict:
    """Return the values of the notebook's top that its functions use, found without training anything."""
    assigned = [s for s in statements if isinstance(s, (ast.Assign, ast.AnnAssign))]
    assigned = [s for s in assigned if not EXPERIMENT.search(ast.unparse(s))]
    for statement in reversed(assigned):
        if defined_in(ast.unparse(statement)) & needed:
            needed |= global_names(statement)
    namespace = _run(definitions, {})
    names: set[str] = set()
    with contextlib.chdir(ROOT / "course" / notebook):
        for statement in assigned:
            bound = defined_in(ast.unparse(statement))
            if bound & needed:
                _run([_compiled(statement)], namespace)
                names |= bound
    return {name: namespace[name] for name in names if name in namespace}


def _run(codes: list[CodeType], namespace: dict[str, Any]) -> dict[str, Any]:
    """Run statements one by one. What fails (it needs an answer that is not there) is left out."""
    for code in codes:
        with contextlib.suppress(Exception), patience():
            exec(code, namespace)
    return namespace


def _compiled(statement: ast.stmt) -> CodeType:
    module = ast.Module([statement], type_ignores=[])
    return compile(ast.fix_missing_locations(module), "<given>", "exec", dont_inherit=True)


def _candidates(statement: ast.stmt, cell: str) -> Iterator[Candidate]:
    """Yield every definition inside a statement, bound to the name `pasted`; a method also without `self`."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Lambda):
            pasted = ast.Assign([ast.Name("pasted", ast.Store())], node)
            yield Candidate(f"{cell}: {ast.unparse(node)[:60]}", _compiled(pasted), node)
        elif isinstance(node, DEFINITION):
            renamed = copy.deepcopy(node)
            renamed.name = "pasted"
            yield Candidate(f"{cell}: {node.name}", _compiled(renamed), renamed)
            if isinstance(node, ast.FunctionDef) and node.args.args and node.args.args[0].arg == "self":
                plain = copy.deepcopy(renamed)
                del plain.args.args[0]
                yield Candidate(f"{cell}: {node.name}", _compiled(plain), plain)


def _may_make_a_function(statement: ast.stmt) -> bool:
    """`name = other`, `name = thing.method`, `name = a if … else b`, `name = partial(…)`."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    if isinstance(value, ast.Call):
        return "partial" in (getattr(value.func, "id", ""), getattr(value.func, "attr", ""))
    return isinstance(value, (ast.Name, ast.Attribute, ast.IfExp))


def could_be(thing: Any, exercise: Exercise) -> bool:
    """Return whether it can be called as the exercise's answer is: a module for a module, with that many arguments."""
    known = reference(exercise.name)
    if isinstance(thing, type) and not (isinstance(known, type) and issubclass(thing, nn.Module)):
        return False
    required = sum(p.default is p.empty for p in inspect.signature(known).parameters.values())
    try:
        inspect.signature(thing).bind(*range(required))
    except (TypeError, ValueError):
        return False
    return True


def namespace_without(exercise: Exercise, notebook: str) -> dict[str, Any]:
    """Return a release in which the other exercises are answered and this one is not."""
    namespace: dict[str, Any] = {"__name__": "notebook"}
    exec(course().imports, namespace)
    _run(given(notebook).definitions, namespace)
    namespace |= given(notebook).constants
    for name, source in right_programs(notebook).items():
        if name != exercise.name:
            exec(compile(source, "<library equivalent>", "exec"), namespace)
    return namespace


def in_time(namespace: dict[str, Any]) -> Student:
    """Return a student in this process who answers nothing any more once the time is up."""
    responder, end = Responder(namespace), time.process_time() + MARKING

    def ask(packet: Packet) -> Packet:
        if time.process_time() < end:
            with contextlib.suppress(TimeoutError):
                return responder.respond(packet)
        return encode({"problem": {"kind": "time", "seconds": MARKING}})

    return Student(ask)


def pasted(exercise: Exercise, thing: Any, namespace: dict[str, Any]) -> Verdict:
    """Return what the thing earns in the place of the answer."""
    with patience(MARKING):
        student = in_time({**namespace, exercise.name: thing})
        try:
            return mark(exercise.name, student)
        except TimeoutError:  # between two questions
            return zero(exercise.name, "it takes too long")


def trains(program: ast.AST) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == "backward" for node in ast.walk(program))


def verdicts(exercise: Exercise, notebook: str, release: Given) -> Iterator[tuple[str, Verdict]]:
    """Yield, for all of a release that could be the exercise's answer, its place and the verdict.

    A function that trains a model is tried only where the answer itself trains one: it takes long, and keeps much.
    """
    namespace = namespace_without(exercise, notebook)
    candidates = release.candidates
    if not trains(ast.parse(exercise.source)):
        candidates = [candidate for candidate in candidates if not trains(candidate.node)]
    for candidate in candidates:
        _run([candidate.code], namespace)
        thing = namespace.pop("pasted", None)
        if thing is not None and could_be(thing, exercise):
            yield candidate.place, pasted(exercise, thing, namespace)
    for name, thing in release.constants.items():
        if callable(thing) and could_be(thing, exercise):
            yield f"{notebook[:2]}: {name}", pasted(exercise, thing, namespace)


@pytest.fixture(autouse=True)
def quick_and_quiet(monkeypatch, everything):
    if not everything:  # with --all, also what it would earn without its lapses
        monkeypatch.setattr(marking, "_take_lapses_off", lambda exercise, verdict, student: student.replies)
    for module, search in ((diagnosis, "_single_mistakes"), (marking, "diagnose_pair")):
        monkeypatch.setattr(module, search, lambda *_: [])  # naming the mistakes of thousands would take hours
    mpl.use("agg")
    importlib.import_module("transformers.models.gpt2.modeling_gpt2")  # not within an answer's time
    torch.optim.AdamW([nn.Parameter(torch.zeros(1))])  # imports now what an interrupted import would leave half-done


@pytest.mark.slow
@pytest.mark.parametrize("exercise", EXERCISES)
def test_nothing_given_earns_a_point_when_it_is_pasted_as_the_answer(exercise, everything):
    sources = [name for name in NOTEBOOKS if name >= exercise.notebook] if everything else [exercise.notebook]
    *imports, defined = ast.parse(exercise.source).body
    defined.body = [*imports, *defined.body]
    answer = Given([], {}, [next(_candidates(defined, "answer"))])
    points = {
        place: [line.title for line in verdict.lines if line.passed]
        for notebook, release in ((exercise.notebook, answer), *((name, given(name)) for name in sources))
        for place, verdict in verdicts(exercise, notebook, release)
        if verdict.earned
    }
    assert points.pop(f"answer: {exercise.name}", None), "within its time the answer itself earns something"
    assert not points, f"given cells that answer {exercise.name}"
