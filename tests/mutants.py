"""Makes small wrong programs from a right one: a reversed comparison, a constant changed by one, a missing statement.

They test the checks beyond the catalogue: a mistake that nobody thought of must lose marks too. Each mutant differs
from the reference in one place. Messages are not mutated, because no check reads more than a name in them.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

COMPARED: dict[type, type] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
}
COMPUTED: dict[type, type] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div},
    **{ast.Pow: ast.Mult, ast.Mod: ast.FloorDiv, ast.MatMult: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}
_BOTH_WAYS = (
    *("amax amin", "sum mean", "sin cos", "max min", "ones zeros", "exp expm1", "log log1p", "any all", "triu tril"),
    *("argmax argmin", "softmax log_softmax", "eval train", "relu gelu", "ones_like zeros_like"),
)
_ONE_WAY = (
    "cat stack",
    "list tuple",
    "keys values",
    "randn rand",
    "sqrt square",
    "var std",
    "sorted list",
    "int float",
)
SWAPPED = {a: b for pair in _BOTH_WAYS for a, b in (pair.split(), pair.split()[::-1])} | dict(map(str.split, _ONE_WAY))
MODULES = frozenset({"torch", "nn", "F", "math"})  # `torch.exp(x)` is not a method call on a value


@dataclass(frozen=True)
class Mutant:
    """A wrong program. Its description contains the changed line, so edits of other lines leave it valid."""

    description: str
    line: int  # in the original source
    source: str


def mutants(source: str) -> list[Mutant]:
    """Return the mutants of a right answer in code order, without duplicates and without the answer itself."""
    tree = ast.parse(source)
    _drop_docstrings(tree)
    right = ast.unparse(tree)
    seen = {ast.dump(ast.parse(right))}
    times: Counter[str] = Counter()
    found = []
    for line, text in _changed(tree):
        try:
            dumped = ast.dump(ast.parse(text))
        except SyntaxError:
            continue
        if dumped not in seen:
            seen.add(dumped)
            description = _difference(right, text)
            times[description] += 1
            again = f" ({times[description]})" if times[description] > 1 else ""
            found.append(Mutant(description + again, line, text + "\n"))
    return found


def _drop_docstrings(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]


def _difference(right: str, wrong: str) -> str:
    """Return `old line => new line`. Several lines are joined by `;`, and no line is an ellipsis."""
    old, new = ([line.strip() for line in text.splitlines()] for text in (right, wrong))
    while old and new and old[0] == new[0]:
        del old[0], new[0]
    while old and new and old[-1] == new[-1]:
        del old[-1], new[-1]
    return " => ".join("; ".join(lines) or "…" for lines in (old, new))


def _changed(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the program for each change of each place. Restore the tree afterwards."""
    function, line = None, 1
    for holder, key, node in _places(tree):
        if isinstance(node, ast.FunctionDef):
            function = node
        line = getattr(node, "lineno", line)
        for new in _replacements(node, function):
            statements = new if isinstance(new, list) else [new]
            _put(holder, key, 1, statements)
            yield line, ast.unparse(tree)
            _put(holder, key, len(statements), [node])


def _put(holder: Any, key: Any, many: int, nodes: list) -> None:
    """Replace `many` nodes at `key` by these nodes."""
    if isinstance(holder, list):
        holder[key : key + many] = nodes
    else:
        [node] = nodes
        setattr(holder, key, node)


def _places(node: ast.AST) -> Iterator[tuple[Any, Any, ast.AST]]:
    """Yield (holder, key, node) for every node that may change, from the top down."""
    for name, value in ast.iter_fields(node):
        inside = (
            [(value, i, item) for i, item in enumerate(value)] if isinstance(value, list) else [(node, name, value)]
        )
        for holder, key, child in inside:
            if isinstance(child, ast.AST):
                yield holder, key, child
                if not isinstance(child, (ast.Raise, ast.JoinedStr)):  # a message's text is free
                    yield from _places(child)


# --- replacements of a node -------------------------------------------------------------------------------------------


def _replacements(node: ast.AST, function: ast.FunctionDef | None) -> Iterator[ast.AST | list]:
    """Yield replacements of a node: nodes, or lists of statements."""
    match node:
        case ast.expr():
            yield from _expressions(node)
        case ast.stmt():
            yield from _statements(node, function)
        case ast.comprehension() if node.ifs:
            yield _with(node, ifs=[])
        case ast.arguments() if node.defaults:
            yield _with(node, defaults=node.defaults[1:])


def _with(node: ast.AST, **changes: Any) -> Any:
    """Return a copy of a node with these fields changed. Child nodes are shared, since they do not change."""
    new = copy.copy(node)
    for name, value in changes.items():
        setattr(new, name, value)
    return new


def _expressions(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare():
            for i, operator in enumerate(node.ops):
                yield _with(node, ops=[*node.ops[:i], COMPARED[type(operator)](), *node.ops[i + 1 :]])
        case ast.BinOp() if type(node.op) in COMPUTED:
            yield _with(node, op=COMPUTED[type(node.op)]())
        case ast.BoolOp():
            yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.UnaryOp():
            yield node.operand
        case ast.IfExp():
            yield from (node.body, node.orelse)
        case ast.Constant():
            yield from (ast.Constant(value) for value in _other_values(node.value))
        case ast.Call():
            yield from _calls(node)
        case ast.Attribute() if node.attr in SWAPPED:
            yield _with(node, attr=SWAPPED[node.attr])
        case ast.Name(ctx=ast.Load()) if hasattr(builtins, SWAPPED.get(node.id, "")):
            yield _with(node, id=SWAPPED[node.id])
        case ast.Slice():
            yield from (_with(node, lower=lower) for lower in _bounds(node.lower, 1))
            yield from (_with(node, upper=upper) for upper in _bounds(node.upper, -1))
            if node.step is not None:
                yield _with(node, step=None)
        case ast.List() if len(node.elts) > 1:
            yield from (_with(node, elts=node.elts[:i] + node.elts[i + 1 :]) for i in range(len(node.elts)))
        case ast.Subscript(slice=ast.Name() | ast.BinOp()):
            yield _with(node, slice=_moved(node.slice, 1))


def _other_values(value: Any) -> list:
    match value:
        case bool():
            return [not value]
        case int():
            return [value + 1] if value > 1 else [1 - value, 2]
        case float():
            return [value * 1.1 or 1.0]
    return []


def _bounds(bound: ast.expr | None, otherwise: int) -> list[ast.expr]:
    """Return other bounds for a slice, or none for a number, which is mutated as a constant."""
    match bound:
        case None:
            return [ast.Constant(otherwise)]
        case ast.Constant() | ast.UnaryOp(operand=ast.Constant()):
            return []
    return [_moved(bound, 1), _moved(bound, -1)]


def _moved(node: ast.expr, by: int) -> ast.expr:
    return ast.BinOp(node, ast.Add() if by > 0 else ast.Sub(), ast.Constant(abs(by)))


def _calls(node: ast.Call) -> Iterator[ast.expr]:
    for i in range(len(node.keywords)):
        yield _with(node, keywords=node.keywords[:i] + node.keywords[i + 1 :])
    if len(node.args) > 1 and not any(isinstance(arg, ast.Starred) for arg in node.args[:2]):
        yield _with(node, args=[node.args[1], node.args[0], *node.args[2:]])
    match node.func:
        case ast.Name(id="range"):
            for by in (1, -1):
                yield _with(node, args=[*node.args[:-1], _moved(node.args[-1], by)])
        case ast.Attribute(value=ast.Name(id=name)) if name in MODULES:
            pass
        case ast.Attribute():  # drop the method call
            yield node.func.value


def _statements(node: ast.stmt, function: ast.FunctionDef | None) -> Iterator[ast.AST | list]:
    match node:
        case ast.Raise(exc=ast.Call() as call):
            yield ast.Pass()
            yield _with(node, exc=_with(call, func=ast.Name("RuntimeError", ast.Load())))
        case ast.AugAssign():
            yield ast.Pass()
            if type(node.op) in COMPUTED:
                yield _with(node, op=COMPUTED[type(node.op)]())
        case ast.Expr() | ast.Break() | ast.Continue() | ast.Raise():
            yield ast.Pass()
        case ast.Assign():
            names = {target.id for target in node.targets if isinstance(target, ast.Name)}
            again = names & {inner.id for inner in ast.walk(node.value) if isinstance(inner, ast.Name)}
            if again or not names:  # otherwise the name would be undefined below, which is an obvious mistake
                yield ast.Pass()
        case ast.If():
            yield from (_with(node, test=ast.Constant(value)) for value in (True, False))
        case ast.With():
            yield node.body
        case ast.FunctionDef() if node.decorator_list:
            yield _with(node, decorator_list=[])
        case ast.Return(value=ast.Tuple(elts=[first, second])):
            yield _with(node, value=ast.Tuple([second, first], ast.Load()))
        case ast.Return(value=ast.Name(id=name)) if function is not None:
            stored = [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            others = dict.fromkeys(other for other in stored[::-1] if other != name)
            yield from (ast.Return(ast.Name(other, ast.Load())) for other in list(others)[:2])
