"""Find signs that a notebook tries to get around the marking, for the instructor to review. No sign changes a mark."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from nbformat import NotebookNode

from ...judge.parsing import cached_by_source, parse_cell
from ...spec.course import course
from ..intake.repair import Kind, Note

KEY = "autograder_noticed"  # key in a marked notebook's metadata
MAX_SIGNS = 50
PYTHONS = {"builtins", "sys", "os", "inspect", "math", "random", "display"}  # names that every notebook may use


def _by_name(signs: dict[str, str]) -> dict[str, str]:
    return {name: sign for sign, names in signs.items() for name in names.split()}


ATTRIBUTES = _by_name(
    {
        "looks at or changes the table of modules": "modules",
        "changes how modules are found": "meta_path path_hooks",
        "looks at the frames of its callers": "_getframe currentframe f_back f_globals tb_frame",
        "looks into functions": "__globals__ __closure__ cell_contents co_code",
        "searches the memory of the process": "get_objects get_referrers",
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
WORDS = re.compile(
    r"/proc\b|gradebook|\bsolutions?/|\.ipynb\b|\bautograder\b|\bnbgrader\b|\.pth\b|NBGRADER_|/etc/(passwd|shadow)|\.ssh\b"
    r"|hidden.tests|vnd\.autograder",
    re.IGNORECASE,
)
HISTORY = {"In", "_ih", "_i", "_ii", "_iii", "_oh"}


@dataclass(frozen=True)
class Sign:
    cell: int  # number of the code cell, from 1; 0 is the whole notebook
    name: str  # its grade_id
    line: str  # the line's text
    what: str


def find_signs(notebook: NotebookNode, notes: Sequence[Note] = ()) -> list[Sign]:
    """Return signs in the student's cells, after the repair's notes on changed settings; MAX_SIGNS at most."""
    found = [Sign(0, "", "", note.text) for note in notes if note.kind is Kind.CLAIMED]
    for number, cell in enumerate((cell for cell in notebook.cells if cell.cell_type == "code"), 1):
        graded = cell.metadata.get("nbgrader", {})
        if graded.get("locked") and not graded.get("solution"):
            continue
        lines = cell.source.split("\n")
        for line, what in _signs(cell.source):
            text = lines[line - 1].strip()[:120] if 0 < line <= len(lines) else ""
            found.append(Sign(number, graded.get("grade_id", ""), text, what))
    return found[:MAX_SIGNS]


def write_signs(notebook: NotebookNode, found: list[Sign]) -> None:
    """Write the signs into the notebook's metadata, which students' feedback does not show."""
    notebook.metadata.pop(KEY, None)
    if found:
        notebook.metadata[KEY] = [asdict(one) for one in found]


def read_signs(notebook: NotebookNode) -> list[Sign]:
    return [Sign(**one) for one in notebook.metadata.get(KEY, [])]


@cached_by_source
def _signs(source: str) -> tuple[tuple[int, str], ...]:
    """Return pairs of line number and sign. Cached, since most cells are the course's, the same in every notebook."""
    found: dict[tuple[int, str], None] = {}
    if (tree := parse_cell(source)) is not None:
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == "modules" and id(node) in called:
                continue  # nn.Module's method; Python's table of modules is not called
            found |= dict.fromkeys((getattr(node, "lineno", 0), what) for what in _signs_of(node))
    return tuple(found)


def _signs_of(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Attribute(attr=name, ctx=ast.Store() | ast.Del()) if _is_library(node):
            yield f"replaces {ast.unparse(node)}"
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[owner, *_]) if _is_library(owner):
            yield f"replaces parts of {ast.unparse(owner)}"
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, name, *_]) if not isinstance(name, ast.Constant):
            yield f"uses something of {ast.unparse(owner)} by a name it puts together"
        case ast.Call(func=ast.Name(id="eval" | "exec" | "compile" | "__import__" as name)):
            yield f"runs text as code ({name})"
        case ast.Attribute(attr="register") if "events" in ast.unparse(node):
            yield "runs code before or after other cells"
        case ast.Attribute(attr=name) if name in ATTRIBUTES:
            yield ATTRIBUTES[name]
        case ast.Import(names=aliases):
            yield from (MODULES[a.name.split(".")[0]] for a in aliases if a.name.split(".")[0] in MODULES)
        case ast.ImportFrom(module=str(module)) if module.split(".")[0] in MODULES:
            yield MODULES[module.split(".")[0]]
        case ast.FunctionDef(name=name) if name in DANGEROUS:
            yield f"defines {name}, by which a value can pass for another"
        case ast.Name(id=name, ctx=ast.Load()) if name in HISTORY:
            yield "reads the history of cells"
        case ast.Constant(value=str(text)) if found := WORDS.search(text):
            yield f"mentions {found.group()!r}"


def _is_library(node: ast.AST) -> bool:
    """Return True if a node is a library or a part of one, rather than something the notebook defines."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return isinstance(node, ast.Name) and (node.id in PYTHONS or node.id in course().libraries)
