"""Find signs that a notebook tries to get around the marking, for the instructor to review. No sign changes a mark."""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from nbformat import NotebookNode

from ...judge.parsing import cached_by_source, parse_cell
from ...spec.course import course
from ..intake.repair import Kind, Note
from .aliases import Aliases, aliases_in, names_in, resolve, walk

KEY = "autograder_noticed"  # key in a marked notebook's metadata
MAX_SIGNS = 50
MAX_SIGN = 120  # characters of a line, and of its description
STANDARD_NAMES = {"builtins", "sys", "os", "inspect", "math", "random", "display"}  # names that every notebook may use


def _by_name(signs: dict[str, str]) -> dict[str, str]:
    return {name: sign for sign, names in signs.items() for name in names.split()}


OF_TORCH = frozenset({"_refs", "_prims", "_decomp"})  # an object of the student's may have these, too
ATTRIBUTES = _by_name(
    {
        "looks at or changes the table of modules": "modules",
        "changes how modules are found": "meta_path path_hooks",
        "looks at the frames of its callers": "_getframe currentframe f_back f_globals f_locals tb_frame "
        "settrace setprofile walk_stack walk_tb",
        "calls torch where no list of its functions sees it": "redispatch _disable_current_modes "
        "_DisableTorchDispatch DisableTorchFunction DisableTorchFunctionSubclass _ExcludeDispatchKeyGuard "
        "_ForceDispatchKeyGuard _AutoDispatchBelowAutograd",
        "uses torch's own decompositions": "_refs _prims _decomp",
        "looks into functions": "__globals__ __closure__ __code__ cell_contents f_code gi_code "
        "co_code co_consts co_names co_varnames",
        "searches the memory of the process": "get_objects get_referrers get_referents __subclasses__",
        "reads environment variables": "environ getenv",
        "changes the code of other cells": "ast_transformers input_transformers_cleanup input_transformers_post "
        "input_transformer_manager",
        "takes over errors": "set_custom_exc showtraceback",
        "takes over the display of outputs": "display_pub displayhook ast_node_interactivity",
        "takes over the running of cells": "run_cell do_execute",
        "reads the history of cells": "history_manager",
        "starts processes": "fork",
        "starts processes that outlive it": "setsid",
        "signals processes": "kill killpg",
        "asks for its parent process": "getppid",
        "holds hidden memory": "memfd_create",
        "changes timers and signals": "setitimer",
    }
)
MODULES = _by_name(
    {
        "uses the network": "socket urllib http requests",
        "reaches below Python": "ctypes",
        "searches the memory of the process": "gc",
        "opens databases": "sqlite3",
        "uses the grader's own modules": "nbgrader autograder",
        "looks at the frames of its callers": "inspect",
        "shares memory with other processes": "mmap",
        "runs code after the end": "atexit",
        "changes what Python's own names mean": "builtins",
    }
)
DANGEROUS = {
    *("__eq__", "__ne__", "__bool__", "__array__", "__torch_function__", "__torch_dispatch__", "__reduce__"),
    *("__reduce_ex__", "__instancecheck__", "__class__", "__len__"),
}
SUSPICIOUS_TEXT = re.compile(
    r"/proc\b|gradebook|\bsolutions?/|\.ipynb\b|\bautograder\b|\bnbgrader\b|\.pth\b|NBGRADER_|/etc/(passwd|shadow)|\.ssh\b"
    r"|hidden.tests|vnd\.autograder",
    re.IGNORECASE,
)
VIEWS = {"items", "keys", "values"}
DEVICES = {"is_cuda", "is_meta", "is_mps", "is_xla"}
CODE = {"eval", "exec", "compile", "__import__"}  # run text as code
HISTORY = {"In", "_ih", "_i", "_ii", "_iii", "_oh"}


@dataclass(frozen=True)
class Sign:
    cell: int  # number of the code cell, from 1; 0 is the whole notebook
    name: str  # its grade_id
    line: str  # the line's text
    what: str  # what the code does


def find_signs(notebook: NotebookNode, notes: Sequence[Note] = ()) -> list[Sign]:
    """Return signs in the student's cells, after the repair's notes on changed settings; MAX_SIGNS at most."""
    found = [Sign(0, "", "", note.text) for note in notes if note.kind is Kind.CLAIMED]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    aliases = aliases_in(cell.source for cell in code)
    for number, cell in enumerate(code, 1):
        graded = cell.metadata.get("nbgrader", {})
        if graded.get("locked") and not graded.get("solution"):
            continue
        lines = cell.source.split("\n")
        used = tuple((name, aliases[name]) for name in names_in(cell.source) if name in aliases)
        for line, what in _signs(cell.source, used):
            text = lines[line - 1].strip()[:MAX_SIGN] if 0 < line <= len(lines) else ""
            found.append(Sign(number, graded.get("grade_id", ""), text, what[:MAX_SIGN]))
    return found[:MAX_SIGNS]


def write_signs(notebook: NotebookNode, found: list[Sign]) -> None:
    """Write the signs into the notebook's metadata, which students' feedback does not show."""
    notebook.metadata.pop(KEY, None)
    if found:
        notebook.metadata[KEY] = [asdict(sign) for sign in found]


def read_signs(notebook: NotebookNode) -> list[Sign]:
    return [Sign(**sign) for sign in notebook.metadata.get(KEY, [])]


@cached_by_source
def _signs(source: str, aliases: tuple[tuple[str, str], ...]) -> tuple[tuple[int, str], ...]:
    """Return pairs of line number and sign. Cached, since most cells are the course's, the same in every notebook."""
    found: dict[tuple[int, str], None] = {}
    if (tree := parse_cell(source)) is not None:
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        listed = _listed(tree)
        for node, known in walk(tree, dict(aliases)):
            if isinstance(node, ast.Attribute) and node.attr == "modules" and id(node) in called:
                continue  # nn.Module's method; Python's table of modules is not called
            if id(node) in listed:
                continue  # such as the sizes of a config, read in a loop
            found |= dict.fromkeys((getattr(node, "lineno", 0), what) for what in _signs_of(node, known))
    return tuple(found)


def _listed(tree: ast.AST) -> set[int]:
    """Return the ids of calls, in loops, whose second argument only takes harmless names that the cell writes out."""
    lists: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign):
            target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
            lists.setdefault(ast.unparse(target), []).append(node.value)
    found = set[int]()
    for loop in ast.walk(tree):
        for head in [loop] if isinstance(loop, ast.For) else getattr(loop, "generators", []):
            name = ast.unparse(head.target)
            given = lists.get(ast.unparse(head.iter), [head.iter])
            inside = [*ast.walk(loop)]
            bound = [node for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
            if all(map(_is_harmless, given)) and [node.id for node in bound].count(name) == 1:
                calls = (node for node in inside if isinstance(node, ast.Call) and len(node.args) > 1)
                found |= {id(call) for call in calls if ast.unparse(call.args[1]) == name}
    return found


def _is_harmless(names: ast.expr) -> bool:
    """Return True for a list of names that open nothing."""
    if not isinstance(names, ast.Tuple | ast.List | ast.Set):
        return False
    texts = [name.value if isinstance(name, ast.Constant) else None for name in names.elts]
    return all(isinstance(text, str) and text[:1] != "_" and text not in ATTRIBUTES for text in texts)


def _signs_of(node: ast.AST, aliases: Aliases) -> Iterator[str]:
    match node:
        case ast.Attribute(attr=name, ctx=ast.Store() | ast.Del()) if part := _part_of_library(node.value, aliases):
            yield f"replaces {part}.{name}"
        case ast.Subscript(value=owner, ctx=ast.Store() | ast.Del()) if part := _names_of(owner, aliases):
            yield f"replaces parts of {part}"
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[owner, *_]) if part := _part_of_library(
            owner, aliases
        ):
            yield f"replaces parts of {part}"
        case ast.Call(func=ast.Attribute(value=owner, attr="update")) if part := _names_of(owner, aliases):
            yield f"replaces parts of {part}"
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
            if name in ATTRIBUTES:
                yield ATTRIBUTES[name]
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, _, *_]):
            yield f"uses something of {ast.unparse(owner)} by a name it puts together"
        case ast.Call(func=called) if (name := resolve(called, aliases).removeprefix("builtins.")) in CODE:
            yield f"runs text as code ({name})"
        case ast.Attribute(attr="register") if "events" in ast.unparse(node):
            yield "runs code before or after other cells"
        case ast.Attribute(attr=name) if name in ATTRIBUTES:
            if name not in OF_TORCH or resolve(node, aliases).startswith("torch."):
                yield ATTRIBUTES[name]
        case ast.Import(names=found):
            yield from (MODULES[alias.name.split(".")[0]] for alias in found if alias.name.split(".")[0] in MODULES)
            yield from _private_parts(*(alias.name for alias in found))
        case ast.ImportFrom(module=str(module), names=found):
            top = module.split(".")[0]
            yield from [MODULES[top]] if top in MODULES else []
            # `torch.nn` has parts with the names of Python's own: `from torch.nn import modules`
            names = [alias.name for alias in found] if top in sys.stdlib_module_names else []
            yield from (ATTRIBUTES[name] for name in names if name in ATTRIBUTES)
            yield from _private_parts(*(f"{module}.{alias.name}" for alias in found)) if top == "torch" else ()
        case ast.If(test=test, body=[ast.Return() | ast.Raise()]) if _tests_for_device(test):
            yield "ends at once on another device"
        case ast.ClassDef(bases=[ast.Name(id="dict"), *_], body=body):
            names = [part.name for part in body if isinstance(part, ast.FunctionDef) and part.name in VIEWS]
            yield from (f"defines {name} of a dictionary, by which a value can pass for another" for name in names)
        case ast.FunctionDef(name=name) if name in DANGEROUS:
            yield f"defines {name}, by which a value can pass for another"
        case ast.Name(id=name, ctx=ast.Load()) if name in HISTORY:
            yield "reads the history of cells"
        case ast.Constant(value=str(text)) if word := SUSPICIOUS_TEXT.search(text):
            yield f"mentions {word.group()!r}"


def _private_parts(*imported: str) -> Iterator[str]:
    """Yield what private parts of torch among the imported names are used for."""
    parts = [part for name in imported for part in name.split(".")[1:] if name.startswith("torch.")]
    yield from (ATTRIBUTES[part] for part in parts if part in ATTRIBUTES and part != "modules")


def _tests_for_device(test: ast.AST) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr in DEVICES for node in ast.walk(test))


def _part_of_library(node: ast.AST, aliases: Aliases) -> str:
    """Return the dotted name of a library or of a part of one; "" for something that the notebook defines."""
    while isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and not resolve(node, aliases)):
        node = node.value
    name = resolve(node, aliases)
    return name if name.split(".")[0] in STANDARD_NAMES | course().libraries else ""


def _names_of(node: ast.AST, aliases: Aliases) -> str:
    """Return the library whose table of names this is, `vars(torch)` or `torch.__dict__`; "" if it is none."""
    match node:
        case ast.Call(func=ast.Name(id="vars"), args=[owner]) | ast.Attribute(value=owner, attr="__dict__"):
            return _part_of_library(owner, aliases)
    return ""
