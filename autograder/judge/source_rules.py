"""Find which names source code defines and uses, and what in it could hide its use of other names from the record."""

import ast
import functools
import re
import symtable
from collections.abc import Iterable

from .parsing import cached_by_source, parse_cell


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
    needed: set[str] = set()
    own: set[str] = set()
    for statement in _statements(source):
        nodes = list(ast.walk(statement))
        targets = [node.target for node in nodes if isinstance(node, ast.For)]
        targets += [node.optional_vars for node in nodes if isinstance(node, ast.withitem) and node.optional_vars]
        bound = {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
        needed |= global_names(statement) - own - bound
        own |= set(defined_by(statement))
    return frozenset(needed)


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


def reachable(name: str, sources: Iterable[str], stop: Iterable[str] = ()) -> list[ast.stmt]:
    """Return the definitions that `name` uses, directly or through helpers; names in `stop` are not followed."""
    known, todo, seen, result = definitions(sources), [name], set(stop) - {name}, []
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


# LOOKUPS find a function by a name that is built at run time. INTERNALS lead to the judge's own parts
# in the process, where the record of what runs could be forged. An answer to an exercise with a ban needs none of it.
LOOKUPS = frozenset({"eval", "exec", "compile", "__import__", "vars", "globals", "__builtins__"})  # built-in names
LOOKUP_ATTRIBUTES = frozenset({"import_module", "attrgetter", "methodcaller", "builtins"}) | {
    *("__dict__", "__getattribute__", "__getattr__", "__builtins__"),
}
INTERNALS = frozenset(
    {"autograder", "sys.modules", "Responder", "_getframe", "get_objects", "get_referrers", "settrace", "setprofile"}
) | {
    *("addaudithook", "_enable_record_function", "_enable_profiler_legacy", "_disable_profiler_legacy"),
    *("__globals__", "__closure__", "f_back", "f_globals", "f_locals", "tb_frame", "gi_frame", "currentframe"),
    *("get_referents", "cell_contents"),
}

OF_DICTIONARIES = frozenset(dir(dict))


def suspicious_words(name: str, sources: Iterable[str], stop: Iterable[str]) -> list[str]:
    """Return words in the source that could hide what an answer uses: access to the judge, or names built at run time.

    The uses of an answer are recorded while it runs, whatever names it calls them by (`bans`). These words could hide a
    use from that record, so they are not allowed. Access to the judge is searched for in every cell.
    """
    sources = list(sources)
    found = {word for source in sources for word in _internals_in(source)}
    own = definitions(sources)
    for statement in reachable(name, sources, stop):
        found |= {word for word in global_names(statement) & LOOKUPS if word not in own}
        found |= {word for word in _words(statement) if word in LOOKUP_ATTRIBUTES}
        found |= {"getattr" for node in ast.walk(statement) if _computed_getattr(node)}
    return sorted(found)


@cached_by_source
def _internals_in(source: str) -> frozenset[str]:
    return INTERNALS.intersection(word for statement in _statements(source) for word in _words(statement))


def _words(tree: ast.AST) -> Iterable[str]:
    """Yield every name that occurs: of variables, attributes and imports."""
    used = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}  # `model.modules()`
    used |= {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr not in OF_DICTIONARIES
    }
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr="modules") if node not in used:  # nor `nn.modules.linear`
                yield "sys.modules"
            case ast.Subscript(slice=ast.Constant(value="modules")):
                yield "sys.modules"
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(word)), *_]):
                yield "sys.modules" if word == "modules" else word
            case ast.Name(id=word) | ast.Attribute(attr=word):
                yield word
            case ast.Constant(value=str(text)) if re.fullmatch(r"[\w.]*autograder[\w.]*", text):  # a name
                yield "autograder"
            case ast.Attribute(value=ast.Name(id="self"), attr="__dict__"):
                pass
            case ast.Import(names=aliases):
                yield from (part for alias in aliases for part in alias.name.split("."))
            case ast.ImportFrom(module=module, names=aliases):
                yield from (module or "").split(".")
                yield from (alias.name for alias in aliases)
                yield from (f"{module}.{alias.name}" for alias in aliases)


def _computed_getattr(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="getattr"), args=[ast.Name(id="self"), _, *_] | [_, ast.Constant(), *_]):
            return False
        case ast.Call(func=ast.Name(id="getattr")):
            return True
    return False
