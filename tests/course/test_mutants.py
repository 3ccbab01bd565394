"""Tests the checks beyond the catalogue: a small change of a right answer, which nobody thought of, loses marks too."""

import ast
import builtins
import contextlib
import copy
import logging
from collections.abc import Iterator

import pytest
from patience import patience

from autograder.judge.run_check import namespace_with, run_check
from autograder.judge.student import Student
from autograder.spec.course import exercises
from autograder.spec.exercise import Exercise
from autograder.untrusted.responder import Responder

SECONDS = 5.0  # of the processor for one mutant, which may never end; no right answer takes half of that
REFUSED = 0.9  # of all mutants at least; of the others most are right: max(b, a), or dimension 1 where it is the last
OPERATORS = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div},
    **{ast.Pow: ast.Mult, ast.Mod: ast.FloorDiv, ast.MatMult: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}
PAIRS = (
    "amax amin",
    "sum mean",
    "sin cos",
    "max min",
    "ones zeros",
    "exp expm1",
    "log log1p",
    "any all",
    "triu tril",
    "argmax argmin",
    "softmax log_softmax",
    "eval train",
    "relu gelu",
    "cat stack",
    "keys values",
    "sqrt square",
)
NAMES = {a: b for pair in PAIRS for a, b in (pair.split(), pair.split()[::-1])}


def replacements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what one slip would write in a node's place."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=others):
            yield ast.Compare(left, [OPERATORS[type(operator)]()], others)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
            yield ast.BinOp(left, OPERATORS[type(operator)](), right)
        case ast.BoolOp(op=operator, values=values):
            yield ast.BoolOp(OPERATORS[type(operator)](), values)
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(not value if isinstance(value, bool) else value + 1)
        case ast.Attribute(value=value, attr=name) if name in NAMES:
            yield ast.Attribute(value, NAMES[name])
        case ast.Name(id=name) if name in NAMES and hasattr(builtins, name):
            yield ast.Name(NAMES[name])
        case ast.Call(func=function, args=[first, second, *rest], keywords=keywords):
            yield ast.Call(function, [second, first, *rest], keywords)
        case ast.Call(func=function, args=arguments, keywords=[_, *keywords]):
            yield ast.Call(function, arguments, keywords)
        case ast.If(test=test, body=body, orelse=orelse):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Raise() | ast.AugAssign() | ast.Break() | ast.Continue():
            yield ast.Pass()


def mutants(source: str) -> list[str]:
    """Return the programs that differ from this one in one place."""
    tree = ast.parse(source)
    right = ast.unparse(tree)
    made = [
        ast.unparse(ast.fix_missing_locations(copy.deepcopy(tree, {id(node): new})))
        for node in ast.walk(tree)
        for new in replacements(node)
    ]
    return [program for program in dict.fromkeys(made) if program != right]


class Impatient(Student):
    """A student who is asked no more once a case has failed."""

    case = contextlib.nullcontext


def keeps_all_marks(exercise: Exercise, source: str) -> bool:
    """Return True if every check passes. Whatever stops on the way, or does not end, costs marks."""
    try:
        with patience(SECONDS):
            student = Impatient(Responder(namespace_with(exercise, source)).respond)
            for check in exercise.checks:
                run_check(exercise, check, student)
    except Exception:
        return False
    return True


@pytest.mark.long
def test_most_changes_of_one_place_in_a_right_answer_lose_marks(caplog):
    caplog.set_level(logging.CRITICAL)  # strange answers are what mutants give
    made, programs = 0, []
    for exercise in exercises():
        assert keeps_all_marks(exercise, exercise.source), "the reference itself should"
        found = mutants(exercise.source)
        kept = [f"{exercise.name}:\n{source}" for source in found if keeps_all_marks(exercise, source)]
        assert len(kept) <= max(2, len(found) / 2), "\n\n".join(kept)
        made, programs = made + len(found), programs + kept
    assert made > 900
    assert len(programs) <= (1 - REFUSED) * made, "sharpen checks:\n\n" + "\n\n".join(programs)
