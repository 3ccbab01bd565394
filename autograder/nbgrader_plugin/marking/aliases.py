"""Resolve names that a notebook gives to modules and to their parts, by imports and by assignments."""

import ast
from collections.abc import Iterable, Iterator, Mapping

from ...judge.parsing import cached_by_source, parse_cell

Aliases = Mapping[str, str]  # from a name to the dotted name of what it stands for
MAX_LINKS = 8  # assignments from one name to the next that are followed
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def aliases_in(sources: Iterable[str]) -> Aliases:
    """Return the names that have one meaning in all of a notebook, such as {"nn": "torch.nn"}."""
    origins: dict[str, set[str]] = {}
    for source in sources:
        for name, origin in _bindings(source):
            origins.setdefault(name, set()).add(origin)
    return {name: next(iter(found)) for name, found in origins.items() if len(found) == 1 and found != {""}}


def resolve(node: ast.AST, aliases: Aliases) -> str:
    """Return the dotted name of an expression such as `lib.zeros`; "" if it is no name or attribute."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    match node:
        case ast.Name(id=name):
            parts.append(name)
        case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]) if _imports(function, aliases):
            parts += reversed(name.split("."))
        case _:
            return ""
    for _ in range(MAX_LINKS):
        if (origin := aliases.get(parts[-1], parts[-1])) == parts[-1]:
            break
        parts[-1:] = reversed(origin.split("."))
    return ".".join(reversed(parts))


def _imports(function: ast.AST, aliases: Aliases) -> bool:
    """Return whether this is a function that imports a module by its name, such as importlib's `import_module`."""
    return resolve(function, aliases).split(".")[-1] in ("import_module", "__import__")


def walk(node: ast.AST, aliases: Aliases) -> Iterator[tuple[ast.AST, Aliases]]:
    """Yield all nodes below this one, each with the aliases that hold there: a function's own names hide them."""
    if isinstance(node, FUNCTIONS):
        own = {name for _, name, origin in _bound(node) if not origin}
        if hidden := own & aliases.keys():  # rare: copying for each function would take quadratic time
            aliases = {name: origin for name, origin in aliases.items() if name not in hidden}
    yield node, aliases
    for child in ast.iter_child_nodes(node):
        yield from walk(child, aliases)


@cached_by_source
def names_in(source: str) -> tuple[str, ...]:
    """Return the names that a cell uses or binds, each once."""
    nodes = ast.walk(tree) if (tree := parse_cell(source)) is not None else ()
    return tuple(dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name)))


@cached_by_source
def _bindings(source: str) -> tuple[tuple[str, str], ...]:
    """Return names that a cell binds, each with the dotted name that it stands for, or "" if that is not known.

    Leave out names that a function binds to something unknown: they are local to it.
    """
    if (tree := parse_cell(source)) is None:
        return ()
    inside = {id(node) for top in ast.walk(tree) if isinstance(top, FUNCTIONS) for node in ast.walk(top)}
    return tuple((name, origin) for node, name, origin in _bound(tree) if origin or id(node) not in inside)


def _bound(tree: ast.AST) -> Iterator[tuple[ast.AST, str, str]]:
    """Yield each binding below a node: itself, the name, and the dotted name of what it stands for, or ""."""
    known: set[int] = set()  # targets of assignments whose right side is a dotted name
    for node in ast.walk(tree):  # which gives parents first
        match node:
            case ast.Import(names=found):
                for alias in found:
                    top = alias.name.split(".")[0]
                    yield (node, alias.asname, alias.name) if alias.asname else (node, top, top)
            case ast.ImportFrom(module=str(module), names=found, level=0):
                yield from ((node, alias.asname or alias.name, f"{module}.{alias.name}") for alias in found)
            case ast.Assign() | ast.AnnAssign() | ast.NamedExpr():
                for target, value in _assigned(node):
                    if isinstance(target, ast.Name) and (origin := resolve(value, {})):
                        known.add(id(target))
                        yield node, target.id, origin
            case ast.arg(arg=name):
                yield node, name, ""
            case ast.Name(id=name, ctx=ast.Store()) if id(node) not in known:
                yield node, name, ""


def _assigned(node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the targets of an assignment with their values, those of tuples one by one."""
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        match target, node.value:
            case ((ast.Tuple(elts=targets) | ast.List(elts=targets)), (ast.Tuple(elts=values) | ast.List(elts=values))):
                yield from zip(targets, values, strict=False)
            case _, ast.expr() as value:
                yield target, value
