"""Rules about the source: what an exercise may not use. Read from the syntax tree, and from the operations that ran."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable

from ..exercises.declare import Ban


def parse_cells(sources: Iterable[str]) -> list[ast.Module]:
    """The syntax trees of those cells that are Python once magics are dropped; the others cannot define anything."""
    trees = []
    for source in sources:
        lines = [line if not line.lstrip().startswith(("%", "!")) else "pass" for line in source.splitlines()]
        try:
            trees.append(ast.parse("\n".join(lines)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return trees


def definitions(trees: list[ast.Module]) -> dict[str, list[ast.stmt]]:
    """The statements at the top of cells that define each name."""
    found: dict[str, list[ast.stmt]] = {}
    for tree in trees:
        for statement in tree.body:
            for name in _defined(statement):
                found.setdefault(name, []).append(statement)
    return found


def _defined(statement: ast.stmt) -> Iterable[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield (alias.asname or alias.name).split(".")[0]
    else:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def reachable(name: str, sources: Iterable[str], stop: Iterable[str] = ()) -> list[ast.stmt]:
    """The definitions that `name` uses, directly or through helpers; those named in `stop` are not followed."""
    known, todo, seen, result = definitions(parse_cells(sources)), [name], set(stop) - {name}, []
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        for statement in known.get(current, ()):
            result.append(statement)
            todo += global_names(statement)
    return result


def global_names(statement: ast.stmt) -> set[str]:
    """The names a definition takes from the notebook: not its parameters and local variables."""
    table = symtable.symtable(ast.unparse(statement), "<cell>", "exec")
    top_level = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
    return top_level | {
        symbol.get_name() for scope in _scopes(table) for symbol in scope.get_symbols() if symbol.is_global()
    }


def _scopes(table: symtable.SymbolTable) -> Iterable[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _scopes(child)


def uses(name: str, sources: Iterable[str]) -> set[str]:
    """The global names that the definition of `name` mentions, helpers included."""
    return {used for statement in reachable(name, sources) for used in global_names(statement)}


def banned_in_source(name: str, ban: Ban, sources: Iterable[str], stop: Iterable[str]) -> set[str]:
    """Banned names that occur in the source: as an attribute, an import, a plain name or a string for getattr."""
    found = set()
    for statement in reachable(name, sources, stop):
        docstrings = {id(node.value) for node in ast.walk(statement) if isinstance(node, ast.Expr)}
        for node in ast.walk(statement):
            match node:
                case ast.Attribute(attr=word) if word in ban.names and not _is_self(node.value):
                    found.add(word)
                case ast.ImportFrom(module=module, names=aliases) if (module or "").startswith("torch"):
                    found |= {alias.name for alias in aliases} & ban.names
                case ast.Constant(value=str(word)) if word in ban.names and id(node) not in docstrings:
                    found.add(word)
    return found


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"
