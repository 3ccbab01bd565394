"""Find which names a notebook's cell defines, and which objects it may change, from the source alone.

A doubt counts as a change: running a cell needlessly costs time, and leaving one out gives wrong numbers. Only what is
known to change nothing is not counted: most of Python's own functions, library functions by their names, methods of
strings, tensors and plots, and the notebook's own functions where their source shows it.
"""

from __future__ import annotations

import ast
import builtins
import functools
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..spec.course import uses_torch
from .parsing import cached_by_source, parse_cell
from .source_rules import Function, defined_by, defined_in, needed_by

# Python's own functions that change none of their arguments. Those after the gap return parts of them.
_HARMLESS = """
print len range isinstance issubclass type str repr format int float bool complex sum abs round divmod pow all any hash
id callable getattr hasattr ord chr bytes input open dir display

sorted min max enumerate zip list tuple dict set frozenset reversed slice super Counter
"""
# Functions and methods that change their arguments or their object, though their names do not end in "_".
_CHANGING = """
append extend insert remove pop popitem clear sort reverse update setdefault add discard backward setattr delattr next
shuffle heapify heappush heappop heapreplace heappushpop insort insort_left insort_right fill_diagonal copyto put
put_along_axis place putmask register_hook retain_grad set_data resize fill
"""
_DRAWING = """
plot imshow bar barh bar_label scatter text annotate hist fill_between axhline axvline semilogx semilogy loglog
pcolormesh contour contourf stem step table legend quiver errorbar boxplot violinplot stackplot hlines vlines arrow
add_patch set_xticks set_yticks set_xticklabels set_yticklabels set_title set_xlabel set_ylabel set_xlim set_ylim set
suptitle supxlabel supylabel colorbar savefig tick_params
"""
HARMLESS, CHANGING, DRAWING = (frozenset(names.split()) for names in (_HARMLESS, _CHANGING, _DRAWING))
KEEPING = CHANGING | DRAWING  # methods that change their object alone, and not their arguments
_COMPUTING = frozenset(dir(str)) | {"items", "keys", "values", "get"}


@functools.cache
def _computing() -> frozenset[str]:
    """Return names of methods that compute something new. One that nn.Module has too (`to`, `float`) may change it."""
    if not uses_torch():
        return _COMPUTING
    import torch

    return (_COMPUTING | frozenset(dir(torch.Tensor))) - frozenset(dir(torch.nn.Module))


@dataclass(frozen=True)
class Effect:
    """The things that calling a function may change: some of its parameters, and objects of the notebook."""

    parameters: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()


class Effects:
    """The changes that a notebook's cells make. `sources` are all its code cells, for their imports and definitions."""

    def __init__(self, sources: Iterable[str]) -> None:
        cells = [cell for source in sources if (cell := _read(source)) is not None]
        self._computing = _computing()
        self._imported = {name for cell in cells for name in cell.imports}
        self._functions: dict[str, list[Function]] = {}  # under a class's name its __init__
        self._methods: set[str] = set()
        for statement in (statement for cell in cells for statement in cell.tree.body):
            if isinstance(statement, Function):
                self._functions.setdefault(statement.name, []).append(statement)
            elif isinstance(statement, ast.ClassDef):
                methods = [part for part in statement.body if isinstance(part, Function)]
                self._methods |= {method.name for method in methods}
                made_by = self._functions.setdefault(statement.name, [])
                made_by += [method for method in methods if method.name == "__init__"]
        fixed = {name for cell in cells for name in cell.constant} - {name for cell in cells for name in cell.other}
        self._constant = {"", *dir(builtins), *self._imported, *self._functions, *fixed}
        self._bodies = {function: body for cell in cells for function, body in cell.bodies.items()}
        self._held = [  # an optimiser's step changes its model
            (targets, self._parts(value)) for cell in cells for targets, value in cell.objects
        ]
        self._effects: dict[Function, Effect] = {}
        self._cells: dict[str, set[str]] = {}

    def changed_by(self, source: str) -> set[str]:
        """Return the names that a cell defines, and those of objects that it may change.

        A cell may change an object by a method, by writing into it, or by passing it to a function that may change it.
        A name that begins a path into a library (`plt.show()`, `torch.manual_seed(0)`) is included only if the cell
        imports it.
        """
        if source not in self._cells:
            changed: set[str] = set()
            try:
                if (cell := _read(source)) is not None:
                    self._bodies |= cell.bodies  # a very long cell is not cached, but read anew
                    changed |= self._touched(cell.code, self._held)
                    changed.update(*(self._effect(function).names for function in cell.bodies))
            except RecursionError:  # a chain of hundreds of functions that call each other
                changed = set(needed_by(source))
            self._cells[source] = (changed - self._constant) | defined_in(source)
        return self._cells[source]

    def _touched(self, code: Code, held: Iterable[tuple[frozenset[str], set[str]]] = ()) -> set[str]:
        """Return the names of everything that running this code changes, and of what these are part of."""
        touched = set(code.written).union(*map(self._by_call, code.calls))
        for parameters, body in code.lambdas:
            touched |= self._touched(body) - parameters
        origins: dict[str, set[str]] = {}
        for targets, parts in (*held, *((targets, self._parts(value)) for targets, value in code.bindings)):
            for target in targets:
                origins.setdefault(target, set()).update(parts)
        todo = list(touched)
        while todo:
            new = origins.get(todo.pop(), set()) - touched
            touched |= new
            todo += new
        return touched

    def _by_call(self, call: ast.Call) -> set[str]:
        everything = set[str]().union(*map(_passed, [*call.args, *(keyword.value for keyword in call.keywords)]))
        called = (one for name in everything for one in self._functions.get(name, ()))  # what is passed may be called
        indirect = set[str]().union(*(self._effect(definition).names for definition in called))
        match call.func:
            case ast.Name(id=name) if name in self._functions:
                return indirect.union(*(self._mapped(definition, call) for definition in self._functions[name]))
            case ast.Name(id=name) if name in HARMLESS or (name in self._imported and not _changing(name)):
                return indirect
            case ast.Attribute(attr=attr) as path if _base(path) in self._imported:
                return indirect | (everything if _changing(attr) else set())
            case ast.Attribute(attr=attr) as path:
                computes = self._computes(attr)
                takes = computes or (attr in KEEPING and attr not in self._methods)
                receiver = set() if computes and not _changing(attr) else {_base(path)}
                return indirect | receiver | (set() if takes and not attr.endswith("_") else everything)
            case ast.Call(func=ast.Attribute() as path) if _base(path) in self._imported:
                return indirect  # nn.Linear(4, 2)(x)
        return indirect | everything

    def _computes(self, method: str) -> bool:
        return method in self._computing and method not in self._methods

    def _mapped(self, function: Function, call: ast.Call) -> set[str]:
        """Return the arguments for the parameters that the function changes, and whatever else it changes."""
        effect = self._effect(function)
        changed = set(effect.names)
        positional = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        if function.name == "__init__":
            positional = positional[1:]
        rest = [function.args.vararg.arg] if function.args.vararg else []
        unpacked = False
        for number, argument in enumerate(call.args):
            unpacked = unpacked or isinstance(argument, ast.Starred)
            of = positional[number : number + 1] or rest
            if effect.parameters if unpacked else not of or of[0] in effect.parameters:
                changed |= _passed(argument)
        named = {*positional, *(argument.arg for argument in function.args.kwonlyargs)}
        for keyword in call.keywords:
            if effect.parameters if keyword.arg not in named else keyword.arg in effect.parameters:
                changed |= _passed(keyword.value)
        return changed

    def _effect(self, function: Function) -> Effect:
        if function not in self._effects:
            self._effects[function] = Effect()  # stops the recursion for functions that call themselves
            body = self._bodies[function]
            touched = self._touched(body.code) - {""}
            names = (touched - body.parameters - (body.stored - body.shared)) | (body.stored & body.shared)
            self._effects[function] = Effect(frozenset(touched & body.parameters), frozenset(names))
        return self._effects[function]

    def _parts(self, value: ast.expr) -> set[str]:
        """Return the names of the objects that a value is, is part of, or holds: those that change when it does."""
        found = _passed(value)
        for leaf in _leaves(value):
            match leaf:
                case ast.Call(func=function, args=arguments, keywords=keywords) if _is_class(function):
                    found.update(*map(self._parts, [*arguments, *(keyword.value for keyword in keywords)]))
                case ast.Call(func=ast.Name(id=name), args=arguments) if name in HARMLESS or name in self._functions:
                    found.update(*map(self._parts, arguments))
                case ast.Call(func=ast.Attribute(attr=attr) as path) if _base(path) not in self._imported:
                    new = self._computes(attr) and attr not in ("items", "values", "get")
                    found |= set() if new else {_base(path)}
        return found


@dataclass(frozen=True)
class Code:
    """Everything in statements that may change something when they run, whatever the rest of the notebook is."""

    calls: tuple[ast.Call, ...]
    lambdas: tuple[tuple[set[str], Code], ...]  # their parameters, and their code
    written: frozenset[str]  # variables with a part that is assigned or deleted
    bindings: tuple[tuple[frozenset[str], ast.expr], ...]  # names, and a value that they are or are part of


@dataclass(frozen=True)
class Body:
    """A function: its code, and the scope of the names in it."""

    code: Code
    parameters: set[str]
    stored: frozenset[str]
    shared: set[str]  # names declared `global`


@dataclass(frozen=True)
class Cell:
    """A cell: the code that it runs, and the names that it defines."""

    tree: ast.Module
    code: Code
    bodies: dict[Function, Body]  # one for each function in the cell
    imports: frozenset[str]  # names bound by imports, at any level
    constant: frozenset[str]  # names assigned numbers and strings
    other: frozenset[str]  # names assigned something else
    objects: tuple[tuple[frozenset[str], ast.expr], ...]  # names, and the calls that make the objects assigned to them


@cached_by_source
def _read(source: str) -> Cell | None:
    """Return the facts from one cell; None if it is not Python. Cached: most cells are the same in every notebook."""
    tree = parse_cell(source)
    if tree is None:
        return None
    nodes = list(ast.walk(tree))
    imports = (node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)))
    objects = (
        (_names(target), node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _is_class(node.value.func)
        for target in node.targets
    )
    return Cell(
        tree,
        _code(tree.body),
        {node: _body(node) for node in nodes if isinstance(node, Function)},
        frozenset((alias.asname or alias.name).split(".")[0] for node in imports for alias in node.names),
        *_constants_and_others(tree, _globals(nodes)),
        tuple(objects),
    )


def _code(statements: Iterable[ast.AST]) -> Code:
    calls, lambdas, written, bindings = [], [], set(), []
    todo = list(statements)
    while todo:
        node = todo.pop()
        if isinstance(node, Function | ast.Lambda):  # its decorators and default values run here, and its body does not
            todo += [*getattr(node, "decorator_list", ()), *node.args.defaults, *filter(None, node.args.kw_defaults)]
        else:
            todo += ast.iter_child_nodes(node)
        match node:
            case ast.Call():
                calls.append(node)
            case ast.Lambda():
                lambdas.append((_parameters(node), _code([node.body])))
            case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(ctx=ast.Store() | ast.Del()):
                written.add(_base(node))
            case ast.Assign(targets=targets, value=value):
                bindings += [(_names(target), value) for target in targets]
            case (
                ast.For(target=target, iter=value)
                | ast.comprehension(target=target, iter=value)
                | ast.withitem(context_expr=value, optional_vars=ast.expr() as target)
                | ast.NamedExpr(target=target, value=value)
            ):
                bindings.append((_names(target), value))
    return Code(tuple(calls), tuple(lambdas), frozenset(written), tuple(bindings))


def _body(function: Function) -> Body:
    nodes = list(ast.walk(function))
    inner = [node.body for node in nodes if isinstance(node, Function)]  # functions inside run when it does, or later
    return Body(_code(itertools.chain(*inner)), _parameters(function), _names(function), _globals(nodes))


def _globals(nodes: Iterable[ast.AST]) -> set[str]:
    return {name for node in nodes if isinstance(node, ast.Global) for name in node.names}


def _parameters(function: Function | ast.Lambda) -> set[str]:
    return {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}


def _constants_and_others(tree: ast.Module, other: set[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that a cell assigns numbers and strings, and those that it assigns something else."""
    constant: set[str] = set()
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                pairs = list(zip(targets, values, strict=False))
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Call(func=ast.Name(id="range"))):
                pairs = [(target, ast.Constant(0)) for target in targets]
            case ast.Assign(targets=[target], value=value):
                pairs = [(target, value)]
            case _:
                pairs = []
        fixed = {target.id for target, value in pairs if isinstance(target, ast.Name) and _is_constant(value)}
        constant |= fixed
        other |= set(defined_by(statement)) - fixed
    return frozenset(constant), frozenset(other)


def _is_constant(value: ast.expr) -> bool:
    match value:
        case ast.BinOp(left=left, right=right):
            return _is_constant(left) and _is_constant(right)
        case ast.Constant() | ast.UnaryOp(operand=ast.Constant()):
            return True
    return False


def _is_class(called: ast.expr) -> bool:
    """Return whether this looks like a class, by its capital letter: an object made from it may hold its arguments."""
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name[:1].isupper()


def _passed(argument: ast.expr) -> set[str]:
    """Return the names of the objects that an argument passes: bare, unpacked, in containers, or parts of objects."""
    paths = (ast.Name, ast.Attribute, ast.Subscript)
    return {_base(leaf) for leaf in _leaves(argument) if isinstance(leaf, paths)}


def _leaves(value: ast.expr) -> Iterator[ast.expr]:
    """Yield the expressions that a value is, chooses from, unpacks, or holds in containers."""
    match value:
        case ast.Starred(value=inner) | ast.NamedExpr(value=inner):
            yield from _leaves(inner)
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items) | ast.Dict(values=items):
            for item in items:
                yield from _leaves(item)
        case ast.IfExp(body=first, orelse=second):
            yield from _leaves(first)
            yield from _leaves(second)
        case _:
            yield value


def _changing(name: str) -> bool:
    """Return whether a library function or method changes its object: PyTorch ends such names with an underscore."""
    return name in CHANGING or (name.endswith("_") and not name.endswith("__"))


def _names(target: ast.AST) -> frozenset[str]:
    """Return the names that are assigned or deleted."""
    names = (node for node in ast.walk(target) if isinstance(node, ast.Name))
    return frozenset(node.id for node in names if not isinstance(node.ctx, ast.Load))


def _base(node: ast.expr) -> str:
    """Return the variable at the beginning of `a.b[c].d`; "" if there is none."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
