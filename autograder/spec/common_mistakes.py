"""Make wrong variants of any reference: each mistake here can happen in any exercise, under one name.

Exercises name in `harmless` the ones that lose no marks in them, and the kinds of their first argument and of their
result, because an edit fits some kinds only. A module of mistakes may inherit one of these and add variants.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar

from .catalogue import Fundamental, Minor

Edit = Callable[[ast.FunctionDef], bool]  # changes the function that answers; returns whether it could


class CommonMistake(Minor):
    """A mistake that fits any exercise. Some edits fit one kind of result (`giving`) or of input (`taking`) only."""

    always: ClassVar[tuple[Edit, ...]] = ()
    giving: ClassVar[Mapping[str, tuple[Edit, ...]]] = {}
    taking: ClassVar[Mapping[str, tuple[Edit, ...]]] = {}

    @classmethod
    def variants_of(cls, source: str, name: str, takes: str, gives: str) -> tuple[str, ...]:
        """Return the distinct wrong variants of a reference called `name`."""
        made: dict[str, None] = {}
        for edit in (*cls.always, *cls._for(cls.giving, gives), *cls._for(cls.taking, takes)):
            tree = ast.parse(source)
            body = answering(tree, name)
            if body is not None and edit(body):
                made[ast.unparse(ast.fix_missing_locations(tree)) + "\n"] = None
        return tuple(made)

    @staticmethod
    def _for(edits: Mapping[str, tuple[Edit, ...]], kind: str) -> tuple[Edit, ...]:
        """Return the edits for a kind; a scalar also gets those for tensors."""
        return edits.get(kind, ()) + (edits.get("tensor", ()) if kind == "scalar" else ())


def answering(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    """Return the function that computes the answer: the exercise itself, or its class's `forward`; None if absent."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
        if isinstance(node, ast.ClassDef) and node.name == name:
            return next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "forward"), None)
    return None


def _returns(function: ast.FunctionDef) -> Iterator[tuple[list[ast.stmt], int, ast.Return]]:
    """Yield the function's own `return` statements that have a value: the block, the index in it, the statement."""
    blocks: list[list[ast.stmt]] = [function.body]
    while blocks:
        block = blocks.pop()
        for place, statement in enumerate(block):
            if isinstance(statement, ast.Return) and statement.value is not None:
                yield block, place, statement
            if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                blocks += [getattr(statement, part) for part in ("body", "orelse") if getattr(statement, part, None)]


def result(template: str) -> Edit:
    """Return an edit that wraps every result (of a pair, each part) in an expression, where RESULT stands for it."""

    def edit(function: ast.FunctionDef) -> bool:
        found = list(_returns(function))
        for _, _, statement in found:
            assert statement.value is not None
            if isinstance(statement.value, ast.Tuple):
                statement.value.elts = [_wrapped(template, part) for part in statement.value.elts]
            else:
                statement.value = _wrapped(template, statement.value)
        return bool(found)

    return edit


def each(template: str) -> Edit:
    """Return an edit like `result`'s for a pair that a call returns: the source does not show its parts."""
    return result(f"tuple({template.replace('RESULT', 'part')} for part in RESULT)")


def _filled(template: str, name: str, value: ast.expr) -> str:
    return template.replace(name, f"({ast.unparse(value)})")


def _wrapped(template: str, value: ast.expr) -> ast.expr:
    if isinstance(value, ast.Starred):
        return ast.Starred(_wrapped(template, value.value))
    return ast.parse(_filled(template, "RESULT", value), mode="eval").body


def no_return(template: str, everywhere: bool = False) -> Edit:
    """Return an edit that turns the last `return`, or all, into a statement, where RESULT stands for the value."""

    def edit(function: ast.FunctionDef) -> bool:
        found = [one for one in _returns(function) if everywhere or one[0] is function.body]
        for block, place, statement in found if everywhere else found[-1:]:
            assert statement.value is not None
            block[place : place + 1] = ast.parse(_filled(template, "RESULT", statement.value)).body
        return bool(found)

    return edit


def before_each_return(template: str) -> Edit:
    """Return an edit that adds a statement after each result is computed and before it is returned.

    INPUT stands for the first argument.
    """

    def edit(function: ast.FunctionDef) -> bool:
        names = [argument.arg for argument in function.args.args if argument.arg != "self"]
        found = list(_returns(function))
        for block, place, statement in sorted(found, key=lambda one: -one[1]):
            assert statement.value is not None
            statement.value, value = ast.Name("made_before", ast.Load()), statement.value
            kept = ast.Assign([ast.Name("made_before", ast.Store())], value)
            block[place:place] = [kept, *ast.parse(template.replace("INPUT", names[0])).body]
        return bool(found and names)

    return edit


def inside(header: str) -> Edit:
    """Return an edit that puts the whole body inside a `with`."""

    def edit(function: ast.FunctionDef) -> bool:
        [block] = ast.parse(f"with {header}:\n    pass").body
        assert isinstance(block, ast.With)
        if ast.get_docstring(function) is not None:
            del function.body[0]
        block.body = function.body or [ast.Pass()]
        function.body = [block]
        return True

    return edit


def first(template: str) -> Edit:
    """Return an edit that adds statements at the beginning of the body."""

    def edit(function: ast.FunctionDef) -> bool:
        function.body[0:0] = ast.parse(template).body
        return True

    return edit


def errors(template: str) -> Edit:
    """Return an edit that replaces every `raise ValueError(…)` by a statement, where TEXT stands for the message."""

    def edit(function: ast.FunctionDef) -> bool:
        class Raising(ast.NodeTransformer):
            found = False

            def visit_Raise(self, node: ast.Raise) -> ast.stmt:
                match node.exc:
                    case ast.Call(func=ast.Name(id="ValueError"), args=[text, *_]):
                        self.found = True
                        return ast.parse(_filled(template, "TEXT", text)).body[0]
                return node

        raising = Raising()
        raising.visit(function)
        return raising.found

    return edit


def renamed(function: ast.FunctionDef) -> bool:
    """Give every argument another name; return whether there are any."""
    names = {argument.arg: f"{argument.arg}_" for argument in function.args.args if argument.arg != "self"}
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            node.arg = names.get(node.arg, node.arg)
        elif isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    return bool(names)


class nothing_returned(Fundamental, CommonMistake):  # an answer that computes nothing returns None too
    """The result is computed, and perhaps printed, but not handed back, so the call gives None: end with `return`."""

    always = (no_return("RESULT"), no_return("print(RESULT)"), no_return("RESULT", everywhere=True))


class gradient_cut_off(CommonMistake):
    """The result is cut off from its inputs (`.detach()`, `.data`, `.item()`, `no_grad`, NumPy, or a new tensor made
    from numbers), so no gradient flows back and nothing before this could be trained.
    """

    giving = {
        "tensor": (result("RESULT.detach()"), inside("torch.no_grad()")),
        "pair": (each("RESULT.detach()"), inside("torch.no_grad()")),
    }


class input_changed(CommonMistake):
    """The input is changed in place (`+=`, `/=`, a name ending in `_`, writing into a slice or a list): the caller's
    own data are different afterwards. Make new ones instead.
    """

    taking = {
        "tensor": tuple(map(before_each_return, ("INPUT.zero_()", "INPUT.mul_(2)", "INPUT.add_(1)"))),
        "list": tuple(map(before_each_return, ("INPUT.clear()", "INPUT.append(INPUT[0])", "INPUT.sort()"))),
        "dict": (before_each_return("INPUT.clear()"),),
    }


class single_precision(CommonMistake):
    """The dtype is not kept: float64 goes in and float32 comes out (a `.float()`, or a new tensor made without
    `dtype=`).
    """

    giving = {"tensor": (result("RESULT.float()"),), "pair": (each("RESULT.float()"),)}


class double_precision(CommonMistake):
    """The result is float64 even for float32 inputs: keep the dtype that is given."""

    giving = {"tensor": (result("RESULT.double()"),), "pair": (each("RESULT.double()"),)}


class single_precision_inside(CommonMistake):
    """In float64, digits are lost, although the dtype is right: something goes through float32, or a small number, such
    as 1e-9, is added.
    """

    giving = {"tensor": (result("RESULT.float().to(RESULT.dtype)"),)}


class squeezed(CommonMistake):
    """Dimensions of size 1 are dropped or added (`squeeze()` drops all of them): keep every dimension, and no more."""

    giving = {"tensor": (result("RESULT.squeeze()"),), "pair": (each("RESULT.squeeze()"),)}


class rounded(CommonMistake):
    """The result is rounded: give it with all its digits."""

    giving = {
        "tensor": tuple(result(f"RESULT.round(decimals={digits})") for digits in (4, 2, 3, 0)),
        "pair": tuple(each(f"RESULT.round(decimals={digits})") for digits in (4, 2, 3, 0)),
        "number": tuple(result(f"round(RESULT, {digits})") for digits in (2, 3, 1)),
    }


class python_number(CommonMistake):
    """A plain Python number is returned where a tensor is asked for (`.item()`): no gradient can pass through it."""

    giving = {"scalar": (result("RESULT.item()"),)}


class list_returned(CommonMistake):
    """A plain Python list is returned where a tensor is asked for."""

    giving = {"tensor": (result("RESULT.tolist()"),), "pair": (each("RESULT.tolist()"),)}


# An array's contents do not cross the wire, so an empty array would give the same answer.
class array_returned(Fundamental, CommonMistake):
    """A NumPy array is returned where a tensor is asked for: stay with torch, and gradients pass through."""

    giving = {"tensor": (result("RESULT.detach().numpy()"), result("RESULT.numpy()"))}


class text_returned(CommonMistake):
    """The result comes as text: return the value itself; how it is shown is another matter."""

    giving = {"number": tuple(map(result, ("str(RESULT)", "format(RESULT, '.2f')", "format(RESULT, '.4f')")))}


class other_signature(CommonMistake):
    """An argument cannot be given by the name that it has in the box: keep the signature."""

    always = (renamed,)


class global_generator(CommonMistake):
    """Your code draws from torch's global random generator, or seeds it anew: the caller's random numbers change."""

    always = tuple(map(first, ("torch.manual_seed(42)", "torch.manual_seed(0)", "torch.rand(1)")))


class error_of_another_type(CommonMistake):
    """Bad input raises an error, but not the ValueError that is asked for: callers catch errors by their type."""

    always = tuple(
        errors(f"raise {kind}(TEXT)")
        for kind in ("TypeError", "IndexError", "KeyError", "RuntimeError", "AssertionError", "Exception")
    )


class error_returned(CommonMistake):
    """The error is returned instead of raised: write `raise ValueError(…)`."""

    always = tuple(map(errors, ("return ValueError(TEXT)", "return TEXT", "return print(TEXT)")))


class bad_input_accepted(CommonMistake):
    """Bad input is not refused (a printed warning refuses nothing): check for it first, and raise the ValueError that
    is asked for.
    """

    always = (errors("pass"), errors("print(TEXT)"))


# Those that follow have no edits here: the judge tells them from the value of an answer, in any exercise.


class device_not_kept(CommonMistake):
    """A tensor is made without `device=…` (or moved to the CPU or NumPy): it works on a CPU and fails on a GPU."""


class default_missing(CommonMistake):
    """An argument that has a default in the box has none: a call that leaves it out stops with a TypeError."""


class other_names(CommonMistake):
    """The layers have other names than in the box, so that no weights can be loaded into them."""


class other_dtype(CommonMistake):
    """The values are right, and their dtype is another than the box asks for."""


class other_container(CommonMistake):
    """The values are right, and stand in a list in place of a tuple, or in a tuple in place of a list."""


class other_number(CommonMistake):
    """The number is right, and of another type (int, float) than the box asks for."""


class tensor_returned(CommonMistake):
    """A tensor is returned where a plain Python number or list is asked for: `.item()` or `.tolist()` makes it one."""


COMMON_MISTAKES: tuple[type[CommonMistake], ...] = tuple(CommonMistake.__subclasses__())  # in this order
