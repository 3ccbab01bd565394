"""Find which names source code defines and uses."""

import ast
import copy
import functools
import symtable
from collections.abc import Iterable

from .parsing import cached_by_source, parse_cell

Function = ast.FunctionDef | ast.AsyncFunctionDef


def definitions(sources: Iterable[str]) -> dict[str, list[ast.stmt]]:
    """Return the top-level statements that define each name."""
    found: dict[str, list[ast.stmt]] = {}
    for source in sources:
        for name, statement in _definitions_in(source):
            found.setdefault(name, []).append(statement)
    return found


@cached_by_source
def _definitions_in(source: str) -> list[tuple[str, ast.stmt]]:
    return [(name, statement) for statement in _statements(source) for name in defined_by(statement)]


def _statements(source: str) -> list[ast.stmt]:
    tree = parse_cell(source)
    return tree.body if tree else []


@cached_by_source
def defined_in(source: str) -> frozenset[str]:
    """Return the names that a cell defines at its top level."""
    return frozenset(name for name, _ in _definitions_in(source))


@cached_by_source
def needed_by(source: str) -> frozenset[str]:
    """Return the names that a cell takes from the notebook: used but not defined there, also inside functions."""
    return _taken_by(_statements(source))


def needed_for(source: str, names: set[str]) -> frozenset[str]:
    """Return the names that a cell takes from the notebook if of its functions only those in `names` are called."""
    statements = _statements(source)
    functions = {node.name: node for node in statements if isinstance(node, Function)}
    heads = _without_bodies(source)
    todo, used = names.union(*map(global_names, heads)) & functions.keys(), set[str]()
    while todo:
        used.add(name := todo.pop())
        todo |= (global_names(functions[name]) & functions.keys()) - used
    return _taken_by(
        head if isinstance(node, Function) and node.name not in used else node
        for head, node in zip(heads, statements, strict=True)
    )


@cached_by_source
def _without_bodies(source: str) -> list[ast.stmt]:
    """Return a cell's statements as Python runs them: of a function its decorators, defaults and annotations."""
    heads = []
    for node in _statements(source):
        if isinstance(node, Function):
            node = copy.copy(node)
            node.body = [ast.Pass()]
        heads.append(node)
    return heads


def _taken_by(statements: Iterable[ast.stmt], known: Iterable[str] = ()) -> frozenset[str]:
    needed: set[str] = set()
    own = set(known)
    for statement in statements:
        first, branches = _parts(statement)
        for part in first:
            needed |= global_names(part) - own
            own |= set(defined_by(part))
        for branch in branches:
            needed |= _taken_by(branch, own)
        own |= set(defined_by(statement))
    return frozenset(needed)


def _parts(node: ast.stmt) -> tuple[list[ast.stmt], list[list[ast.stmt]]]:
    """Return what a statement runs first, and its branches: a name that one of them binds is not bound in another."""
    match node:
        case ast.If() | ast.While():
            return [ast.Expr(node.test)], [node.body, node.orelse]
        case ast.For() | ast.AsyncFor():
            return [ast.Assign([node.target], node.iter, lineno=node.lineno)], [node.body, node.orelse]
        case ast.With() | ast.AsyncWith():
            return [_bound(item.optional_vars, item.context_expr) for item in node.items], [node.body]
        case ast.Try() | ast.TryStar():
            handlers = [
                [_bound(handler.name and ast.Name(handler.name, ast.Store()), handler.type), *handler.body]
                for handler in node.handlers
            ]
            return [], [[*node.body, *node.orelse, *node.finalbody], *handlers]
    return [node], []


def _bound(target: ast.expr | str | None, value: ast.expr | None) -> ast.stmt:
    """Return the assignment that `with value as target` or `except value as target` makes."""
    targets = [target] if isinstance(target, ast.expr) else []
    return ast.Assign(targets, value or ast.Constant(None), lineno=1)


def defined_by(statement: ast.stmt) -> Iterable[str]:
    """Yield the names that a statement binds in its own scope, also inside `if`, `for`, `try` and `with`."""
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Import() | ast.ImportFrom():
                yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case _:
                todo += ast.iter_child_nodes(node)


def reachable(name: str, sources: Iterable[str]) -> list[ast.stmt]:
    """Return the definitions that `name` uses, directly or through helpers."""
    known, todo, seen, result = definitions(sources), [name], set[str](), []
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        for statement in known.get(current, ()):
            result.append(statement)
            todo += global_names(statement)
    return result


@functools.lru_cache(maxsize=16384)
def global_names(statement: ast.stmt) -> frozenset[str]:
    """Return the names that a definition takes from the notebook, without its parameters and local variables."""
    try:
        table = symtable.symtable(_scoped_source(statement), "<cell>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # it is valid only in its cell
        return frozenset(node.id for node in ast.walk(statement) if isinstance(node, ast.Name))
    top_level = frozenset(symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced())
    return top_level | frozenset(
        symbol.get_name() for scope in _scopes(table) for symbol in scope.get_symbols() if symbol.is_global()
    )


def _scoped_source(statement: ast.stmt) -> str:
    """Return the source with comprehensions as generators: since Python 3.12 only generators have their own scopes."""
    source = ast.unparse(statement)
    if not any(isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp)) for node in ast.walk(statement)):
        return source
    return ast.unparse(_AsGenerators().visit(ast.parse(source)))  # parsed again: the statement's own tree is shared


class _AsGenerators(ast.NodeTransformer):
    def visit_ListComp(self, node: ast.ListComp | ast.SetComp) -> ast.expr:
        self.generic_visit(node)
        return ast.GeneratorExp(node.elt, node.generators)

    visit_SetComp = visit_ListComp

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        self.generic_visit(node)
        return ast.GeneratorExp(ast.Tuple([node.key, node.value], ast.Load()), node.generators)


def _scopes(table: symtable.SymbolTable) -> Iterable[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _scopes(child)


def uses(name: str, sources: Iterable[str]) -> set[str]:
    """Return the global names that the definition of `name` mentions, helpers included."""
    return {used for statement in reachable(name, sources) for used in global_names(statement)}
