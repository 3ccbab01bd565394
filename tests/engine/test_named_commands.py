"""Tests that every command, option, package, setting and file that a message or a guide names exists."""

import ast
import functools
import importlib
import importlib.util
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import typer
from conftest import PAGES, ROOT, TOP_FOLDERS
from jupyterlab.labapp import LabApp
from nbgrader.apps.nbgraderapp import NbGraderApp
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from traitlets.config import Configurable

from autograder.batch.pool import DASK
from autograder.cli import app

PACKAGES = ("autograder", "transformer_exercises", "tools")
CONFTESTS = [ROOT / folder / "conftest.py" for folder in ("tests", "solutions")]
SOURCES = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
TEMPLATES = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.j2"))]
PLUGINS = [  # with settings of their own
    *(
        f"autograder.nbgrader_plugin.{name}"
        for name in ("preprocessors", "feedback.exporter", "export.lms", "intake.lms_collect")
    ),
    "IPython.core.history",
]
FENCE = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)  # commands stand in those without a language
INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
AFTER_COLON = re.compile(r": ((?:autograder|nbgrader) [a-z]+(?:[_-][a-z_-]+|(?= [A-Z0-9-]|$)).*)", re.MULTILINE)
PIP = re.compile(r"(?:^|[:`]) ?pip install ([^`\n#;]+)", re.MULTILINE)
MODULE = re.compile(r"python3? -m ([\w.]+\w)")
SETTING = re.compile(r"(?:\bc\.|--)([A-Z]\w+)\.([a-z_]+)\b")
MORE_SETTINGS = re.compile(r"`c\.([A-Z]\w+)\.[a-z_]+`((?:, `[a-z_]+`)+)")  # of the same class
OPTION = re.compile(r"(--[a-z][a-z-]+)(?:[= ].*)?")
FILE = re.compile(r"[\w*-][\w.*-]*(?:/[\w.*-]+)*/?|\.(?:ci|github)/[\w./-]*")
PLACEHOLDER = re.compile(r"NN-name|\b[A-Z]{4,}(?![A-Za-z])")
FILLED_IN = "NAME"  # in an f-string
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE)
PROJECT, COURSE = (
    tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
    for folder in (".", "transformer_exercises")
)
EXTRAS = PROJECT["optional-dependencies"]
DECLARED = [
    Requirement(text) for texts in (PROJECT["dependencies"], COURSE["dependencies"], *EXTRAS.values()) for text in texts
]
OURS = {canonicalize_name(project["name"]) for project in (PROJECT, COURSE)}  # on no index
BESIDES = {
    "pyarrow",
    "accelerate",
    "datasets",
    "evaluate",
    "ngshare_exchange",
}  # for one option, or one step of a guide
ELSEWHERE = {"JupyterHub", "tensorflow_docs.tools.nbfmt"}  # settings and modules of what is not installed here
THEIRS = {"late.py", "answer.py", "run_clm.py", "train.py"}  # a reader's own files, or another repository's
OTHERS_OPTIONS = {
    "--keep-id",
    "--keep-output",
    "--update",
    "--user",
    "--nthreads",
}  # of nbstripout, jupytext, jupyter, dask


def strings(source: str) -> Iterator[str]:
    """Yield the strings in a source, f-strings with a word for what is filled in."""
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else FILLED_IN for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        else:
            waiting += ast.iter_child_nodes(node)


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command in a text: in fences, in backticks, or behind a colon."""
    fenced = [
        line.removeprefix("$ ").partition(" #")[0] for block in FENCE.findall(text) for line in block.splitlines()
    ]
    rest = FENCE.sub("", text)
    for piece in (*fenced, *INLINE.findall(rest), *AFTER_COLON.findall(rest)):
        words = [word.strip("\"'`,)") for word in piece.split()]
        while words and re.match(r"[A-Z_]+=", words[0]):
            words.pop(0)
        if len(words) > 1:
            yield [words[0].rpartition("/")[2], *words[1:]]


def wrong_in(text: str) -> Iterator[str]:
    """Yield what a text names and is not there."""
    for command, *words in commands(text):
        known = {"autograder": wrong_for_autograder, "nbgrader": wrong_for_nbgrader, "make": wrong_for_make}
        for word in known.get(command, lambda words: ())(words):
            yield f"{command} {word}"
    for named in PIP.findall(text):
        yield from (f"pip install {word}" for word in wrong_for_pip(named))
    for module in set(MODULE.findall(text)) - ELSEWHERE:
        if not (ROOT / module.replace(".", "/")).with_suffix(".py").is_file() and not found(module):
            yield f"python -m {module}"
    for name, trait in SETTING.findall(text):
        if name not in {FILLED_IN, *ELSEWHERE} and not any(
            trait in one.class_traits(config=True) for one in configurables(name)
        ):
            yield f"{name}.{trait}"


def wrong_in_page(text: str, folder: Path) -> Iterator[str]:
    """Yield what a page in `folder` names and is not there: as in a message, and options by themselves and files."""
    yield from wrong_in(text)
    for name, more in MORE_SETTINGS.findall(text):
        yield from wrong_in(" ".join(f"c.{name}.{trait}" for trait in re.findall(r"\w+", more)))
    rest = FENCE.sub("", text)
    pieces = [" ".join(piece.split()) for piece in INLINE.findall(rest)]
    yield from sorted({found[1] for piece in pieces if (found := OPTION.fullmatch(piece))} - known_options())
    fenced = [word for block in FENCE.findall(text) for word in block.split() if word.endswith(".py")]
    for name in dict.fromkeys([*pieces, *fenced]):
        if FILE.fullmatch(name) and is_ours(name) and not there(name, folder):
            yield name


def is_ours(name: str) -> bool:
    """Return True if a name must be that of a file or folder of the repository: by its first folder, or a module's."""
    first, _, rest = name.partition("/")
    return (bool(rest) and first in {*TOP_FOLDERS, ".github"}) or (name.endswith(".py") and name not in THEIRS)


def there(name: str, folder: Path) -> bool:
    """Return True if the repository has such a file or folder: in itself, in a page's folder, or below a package."""
    pattern = PLACEHOLDER.sub("*", name).rstrip("/")
    below = [ROOT / package for package in (*PACKAGES, "tests")]
    return any(any(location.glob(pattern)) for location in (ROOT, folder)) or any(
        any(location.rglob(pattern)) for location in below if "/" not in pattern or name.endswith(".py")
    )


@functools.cache
def known_options() -> set[str]:
    """Return the options of our commands, nbgrader's and JupyterLab's, and those that a source of ours declares."""
    commands = typer.main.get_command(app).commands.values()  # type: ignore[attr-defined]
    known = {option for command in commands for parameter in command.params for option in parameter.opts}
    declared = (re.findall(r"\"(--[a-z][a-z-]+)\"", path.read_text("utf-8")) for path in [*SOURCES, *CONFTESTS])
    apps = [LabApp, *(one for one, _ in NbGraderApp.subcommands.values())]
    flags = {f"--{name}" for application in apps for name in (*application().flags, *application().aliases)}
    return known.union(*declared) | flags | OTHERS_OPTIONS | {"--help"}


def options(words: Iterable[str]) -> set[str]:
    return {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)} - {"--help"}


def wrong_for_autograder(words: list[str]) -> Iterator[str]:
    group = typer.main.get_command(app)
    name, *rest = words
    command = group if name.startswith("-") else group.commands.get(name)  # type: ignore[attr-defined]
    if command is None:
        yield name
    elif not command.ignore_unknown_options:
        known = {option for parameter in command.params for option in parameter.opts}
        yield from (f"{name} {option}" for option in options(words if command is group else rest) - known)


def wrong_for_nbgrader(words: list[str]) -> Iterator[str]:
    command = NbGraderApp
    while words and isinstance(command.subcommands, dict) and not words[0].startswith("-"):
        if words[0] not in command.subcommands:
            yield words[0]
            return
        command = command.subcommands[words.pop(0)][0]
        if isinstance(command, str):
            module, _, name = command.rpartition(".")
            command = getattr(importlib.import_module(module), name)
    instance = command()
    yield from options(words) - {f"--{name}" for name in (*instance.flags, *instance.aliases)}


def wrong_for_make(words: list[str]) -> Iterator[str]:
    if words[0] not in TARGETS:
        yield words[0]
    for name in (word.partition("=")[0] for word in words if re.match(r"[A-Z]+=", word)):
        if not re.search(rf"^(?:[a-z]+: )?{name} \??=|^export {name}$", MAKEFILE, re.MULTILINE):
            yield f"{words[0]} {name}="


def wrong_for_pip(named: str) -> Iterator[str]:
    words = iter(named.replace("'", " ").replace('"', " ").split())
    for word in words:
        if word in ("-c", "-r", "-e"):
            next(words, "")
        elif word != FILLED_IN and re.match(r"\w[\w-]*(\[\w+\])?(?:[<>=~!]|$)", word):
            try:
                wanted = Requirement(word)
            except InvalidRequirement:
                yield word
                continue
            same = [one for one in DECLARED if canonicalize_name(one.name) == canonicalize_name(wanted.name)]
            ranges = {one.specifier for one in same} if wanted.specifier else {wanted.specifier}
            if wanted.name in BESIDES:
                continue
            if not same or wanted.specifier not in ranges or canonicalize_name(wanted.name) in OURS:
                yield word


def found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def configurables(name: str) -> Iterator[type[Configurable]]:
    for plugin in PLUGINS:
        importlib.import_module(plugin)
    NbGraderApp()  # imports what nbgrader configures
    waiting = [Configurable]
    while waiting:
        one = waiting.pop()
        waiting += one.__subclasses__()
        if one.__name__ == name:
            yield one


def test_what_a_message_names_exists():
    missing = []
    for path in [*SOURCES, *TEMPLATES]:
        text = path.read_text("utf-8")
        texts = strings(text) if path.suffix == ".py" else [text]
        missing += [f"{path.relative_to(ROOT)}: {wrong}" for text in texts for wrong in wrong_in(text)]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_exists(page: Path):
    assert list(wrong_in_page(page.read_text("utf-8"), page.parent)) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("run `autograder grad 05`", "autograder grad"),
        ("mark something first: autograder grad NOTEBOOK", "autograder grad"),
        ("```\n$ .venv/bin/autograder grade --schedule=x  # not --scheduler\n```", "autograder grade --schedule"),
        ("`nbgrader autogrde`", "nbgrader autogrde"),
        ("`nbgrader db student imprt x.csv`", "nbgrader imprt"),
        ("`nbgrader autograde --forse`", "nbgrader --forse"),
        ("`make studnts`", "make studnts"),
        ("`make fuzz MINUTE=60`", "make fuzz MINUTE="),
        ("it needs Dask: pip install 'nbgrader-judge[cluster]'", "pip install nbgrader-judge[cluster]"),
        ("pip install 'distributed>=2020'", "pip install distributed>=2020"),
        ("pip install a-strangers-package", "pip install a-strangers-package"),
        ("`python -m autograder.handouts x.zip`", "python -m autograder.handouts"),
        ("set `c.Judge.sandboks = False`", "Judge.sandboks"),
        ("give `--Judge.sandboks=False`", "Judge.sandboks"),
    ],
)
def test_what_does_not_exist_is_found(text, wrong):
    assert list(wrong_in(text)) == [wrong]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("limits: `c.Judge.cell_timeout`, `notebok_timeout`", "Judge.notebok_timeout"),
        ("then say `--anonimous`", "--anonimous"),
        ("see `autograder/batch/price.py`", "autograder/batch/price.py"),
        ("`docs/prices.md` says so", "docs/prices.md"),
        (
            "each in `transformer_exercises/TOPIC/EXERCISE.py`, not `transformer_exercises/TOPIC/EXERCISE.rb`",
            "transformer_exercises/TOPIC/EXERCISE.rb",
        ),
        ("look into `solutions/13-more/`", "solutions/13-more/"),
        ("`mistake_prices.py` has them", "mistake_prices.py"),
        ("```\n sandbox/wall.py   locked in\n```", "sandbox/wall.py"),
    ],
)
def test_what_a_page_names_and_does_not_exist_is_found(text, wrong):
    assert list(wrong_in_page(text, ROOT)) == [wrong]


def test_the_package_that_dask_comes_in_is_the_one_that_is_declared():
    assert EXTRAS["cluster"] == [DASK]
