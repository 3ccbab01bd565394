"""Find which parts of the process's state a cell may read or change, from its source alone.

SURROUNDINGS are the working folder, the import path, environment variables and files. RANDOM is the state of the global
random generators. SETTINGS are defaults of libraries: PyTorch's dtype, device and gradients, filters of warnings,
Matplotlib's parameters. A doubt counts: code of an unknown library may touch all three.
"""

import ast
import builtins
import functools
import re
import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import cast

from .parsing import cached_by_source, parse_cell

SURROUNDINGS, RANDOM, SETTINGS = "surroundings", "random", "settings"
EVERYTHING = frozenset({SURROUNDINGS, RANDOM, SETTINGS})
NOTHING = frozenset[str]()


def _finder(table: dict[str, str | frozenset[str] | None]) -> Callable[[str], frozenset[str]]:
    """Return a function that finds the parts of the state of the first pattern that fits the beginning of a text."""
    parts = {pattern: frozenset({part}) if isinstance(part, str) else part for pattern, part in table.items()}
    rows = [(re.compile(pattern), found or NOTHING) for pattern, found in parts.items()]

    @functools.lru_cache(maxsize=8192)
    def find(text: str) -> frozenset[str]:
        return next((found for pattern, found in rows if pattern.match(text)), NOTHING)

    return find


# Beginnings of paths into modules, with `np` and the like written out. The first that fits decides.
_of_path = _finder(
    {
        r"os\.(path\.(join|basename|dirname|splitext)|getpid|cpu_count|sep|linesep|name|_exit|abort)\b": None,
        r"(os|shutil|subprocess|pathlib|io\.open|open|glob|tempfile|zipfile|tarfile|site)\b": SURROUNDINGS,
        r"contextlib\.chdir\b": SURROUNDINGS,
        r"sys\.(path|meta_path|modules)": SURROUNDINGS,
        r"torch\.(save|load|hub)\b|numpy\.(save|load|fromfile|tofile|genfromtxt)": SURROUNDINGS,
        r"(torch|numpy)\.(set_printoptions|set_num_threads)\b": None,
        r"torch\.((autograd|cuda)\.)?(set_|use_deterministic)|torch\.backends\b": SETTINGS,
        r"(warnings|locale|gc|signal|numpy\.(seterr|errstate))\b": SETTINGS,
        r"matplotlib\.(pyplot\.)?(rc|style|use|ion|ioff|switch_backend|xkcd|font_manager)": SETTINGS,
        r"torch\.nn\.(Linear|Bilinear|Embedding|Conv|RNN|LSTM|GRU|Multihead|Transformer|\w*Dropout|init\b)": RANDOM,
        r"torch\.nn\.functional\.(\w*dropout|gumbel_softmax|rrelu)|torch\.(utils\.data|distributions)\b": RANDOM,
        r"torch\.(cuda\.)?((manual_|initial_)?seed|[gs]et_rng)|torch\.(rand|normal|bernoulli|multinomial)": RANDOM,
        r"numpy\.random\.(default_rng|Generator|SeedSequence)\b|random\.Random\b": None,
        r"(numpy\.random|random)\b|transformers\.(\w+Model\b|set_seed)": RANDOM,
        r"(exec|eval|compile|globals|__import__|get_ipython|importlib|runpy|ctypes|builtins)\b": EVERYTHING,
    }
)
# Methods of objects that are not known
_of_method = _finder(
    {
        r"((read|write)_(text|bytes)|mkdir|touch|unlink|rmdir|iterdir|r?glob|exists|is_file|savefig)\b": SURROUNDINGS,
        r"(save_pretrained|from_pretrained|to_csv|tofile|chdir)\b": SURROUNDINGS,
        r"(normal|uniform|bernoulli|random|exponential|geometric|cauchy|log_normal)_": RANDOM,
        r"(bernoulli|multinomial|reset_parameters|generate)\b": RANDOM,
    }
)
_of_magic = _finder(
    {
        r"%?(time|timeit|capture|prun|memit|precision|pprint|whos?|history|load_ext|autoreload|pip|conda)\b": None,
        r"%(html|markdown|latex|svg|javascript|js)\b|matplotlib +inline\b": None,
        r"(cd|pushd|popd|env|set_env|sx|system)\b|%(writefile|bash|sh|script|sx|system)\b|!": SURROUNDINGS,
        r"(matplotlib|config)\b": SETTINGS,
        r"": EVERYTHING,
    }
)
_MAGIC = re.compile(r"^[ \t]*%(%?[^\n]*)|(?:^|=)[ \t]*(!)|=[ \t]*%([^\n]*)", re.MULTILINE)
_LONE_MAGIC = re.compile(r"\s*(cd|pushd|popd)\b")  # IPython takes a lone line `cd ..` without its sign
_FILTERS = ("filterwarnings", "simplefilter")
# A line that changes the working folder. Blanks are never given back (`*+`): long runs of them would take the square.
MOVING_LINE = re.compile(r"^[ \t]*+(?:%?+[ \t]*+(?:cd|pushd|popd)\b|[^\n#]*\bchdir[ \t]*+\()[^\n]*", re.MULTILINE)


@dataclass
class _Code:
    """The names through which code may touch the process's state."""

    paths: set[tuple[str, ...]] = field(default_factory=set)  # ("plt", "rcParams"): a name and the attributes after it
    methods: set[str] = field(default_factory=set)  # attributes of other expressions
    modules: set[str] = field(default_factory=set)  # that it imports


@dataclass(frozen=True)
class _Cell:
    runs: _Code  # what runs with the cell
    bodies: dict[str, list[_Code]]  # of its functions and classes
    names: dict[str, str]  # what imports bind, at any level: "np" to "numpy"
    magics: frozenset[str]  # the parts that these touch


class ProcessState:
    """The parts of the process's state that a notebook's cells may touch."""

    def __init__(self, sources: Iterable[str], given: Iterable[str], libraries: Collection[str]) -> None:
        """Read all code cells, and those `given` by the course. `libraries` are the course's, by their packages' names.

        Other modules that given cells import lie in the folder of the notebook.
        """
        self._names: dict[str, str] = {}
        self._bodies: dict[str, list[_Code]] = {}
        for cell in map(_read, sources):
            self._names |= cell.names
            for name, bodies in cell.bodies.items():
                self._bodies.setdefault(name, []).extend(bodies)
        known = {*libraries, *sys.stdlib_module_names}
        self._shared_modules = {_package(module) for one in given for module in _read(one).names.values()} - known
        self._known = known | self._shared_modules

    def touched_by(self, source: str) -> frozenset[str]:
        """Return the parts that a cell may touch when it runs, also by functions of the notebook that it names."""
        cell = _read(source)
        touched, seen, todo = set(cell.magics), set[str](), [cell.runs]
        while todo:
            code = todo.pop()
            touched.update(*map(self._by_path, code.paths), *(_of_method(name) for name in code.methods))
            if not {_package(module) for module in code.modules} <= self._known:
                return EVERYTHING
            new = {path[0] for path in code.paths} - seen
            seen |= new
            todo += (body for name in new for body in self._bodies.get(name, ()))
        return frozenset(touched)

    def depends_on(self, source: str) -> frozenset[str]:
        """Return the parts that one of the course's own cells may read or change."""
        code = _read(source).runs
        used = {_package(self._names[path[0]]) for path in code.paths if path[0] in self._names}
        reads_files = bool(code.modules or used & self._shared_modules)
        return self.touched_by(source) | {SETTINGS} | ({SURROUNDINGS} if reads_files else NOTHING)

    def _by_path(self, path: tuple[str, ...]) -> frozenset[str]:
        name, *attributes = path
        if (module := self._names.get(name)) is not None:
            return _of_path(".".join([module, *attributes])) if _package(module) in self._known else EVERYTHING
        if name not in self._bodies and (hasattr(builtins, name) or name == "get_ipython"):
            return _of_path(name)
        return NOTHING.union(*(_of_method(attribute) for attribute in attributes))


def _package(module: str) -> str:
    return module.partition(".")[0]


@cached_by_source
def _read(source: str) -> _Cell:
    magics = ["".join(found) for found in _MAGIC.findall(source)]
    tree = parse_cell(source)
    if tree is None and _LONE_MAGIC.match(source):
        magics.append(source.strip())
    runs, bodies, names = _Code(), dict[str, list[_Code]](), dict[str, str]()
    _collect(tree.body if tree else [], runs, bodies)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= _bound(node)
    return _Cell(runs, bodies, names, NOTHING.union(*(_of_magic(magic) for magic in magics)))


def _bound(node: ast.Import | ast.ImportFrom) -> dict[str, str]:
    if isinstance(node, ast.ImportFrom):
        return {alias.asname or alias.name: f"{node.module or '.'}.{alias.name}" for alias in node.names}
    return {
        alias.asname or _package(alias.name): alias.name if alias.asname else _package(alias.name)
        for alias in node.names
    }


def _collect(nodes: Iterable[ast.AST], code: _Code, bodies: dict[str, list[_Code]] | None) -> None:
    """Add to `code` what these nodes mention; with `bodies`, what functions and methods mention is added there."""
    for node in nodes:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if bodies is not None:
                body = _Code()
                _collect(node.body, body, None)
                bodies.setdefault(node.name, []).append(body)
                code_now = [*node.decorator_list, *getattr(node, "bases", ())]
                if isinstance(node, ast.ClassDef):
                    code_now += [
                        one for one in node.body if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))
                    ]
                else:
                    code_now += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
                _collect(code_now, code, None)
            case ast.Import() | ast.ImportFrom():
                code.modules |= set(_bound(node).values())
            case ast.Call(func=function, args=[ast.Constant(value=action), *_]) if (
                isinstance(function, ast.Attribute) and function.attr in _FILTERS and action != "error"
            ):
                pass  # later code does the same
            case ast.Call(func=function, keywords=keywords) if any(one.arg == "generator" for one in keywords):
                _collect([one for one in ast.iter_child_nodes(node) if one is not function], code, None)
            case ast.Name() | ast.Attribute():
                attributes, base = list[str](), cast(ast.expr, node)
                while isinstance(base, ast.Attribute):
                    attributes.append(base.attr)
                    base = base.value
                if isinstance(base, ast.Name):
                    code.paths.add((base.id, *reversed(attributes)))
                else:
                    code.methods |= set(attributes)
                    _collect([base], code, None)
            case _:
                _collect(ast.iter_child_nodes(node), code, bodies)
