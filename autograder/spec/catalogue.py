'''Declare the wrong and right answers to an exercise, each as a class, and make programs of them.

They stand beside the exercise's module: `NAME_mistakes.py` beside `NAME.py`. Its docstring shows the reference,
which is the answer in the solution notebook. The classes edit it:

    class no_shift(Misconception):
        """The largest score is not subtracted: exp(1e4) overflows. Subtract each row's maximum."""

        edits = {"shifted = scores - scores.amax(dim=dim, keepdim=True)": "", "shifted": "scores"}

    class squares(Fundamental):
        """Squares or absolute values of the scores are normalised instead of their exponentials."""

        based_on = no_shift
        edits = {"torch.exp(scores)": ["scores.abs()", "scores**2"]}

The name of the class is the mistake's, and its docstring is the sentence that a good teacher would say. A name that
Python has already takes a trailing underscore, which is no part of it: `and_`. The base class is the severity: `Minor`
for an error of somebody who has understood, `Fundamental` for an answer that misses the point of the exercise or has
nothing to give marks for, else `Misconception`. A `RightAnswer` must earn full marks, and needs no sentence.

A class describes one program or several, its variants, by one of these:

- `edits` maps texts of the reference to what stands there instead. Each edit changes every occurrence, after the edits
  above it. A list of texts makes a variant for each. Further lines of a text are indented like the line into which it
  is put. An empty text removes the old one, and its line too if nothing else is on it.
- `code` is a whole program that defines the exercise's name, or else the body of the reference's function.
- `variants` lists several: dictionaries of edits, and programs.

With `based_on = NAME`, the first variant of that class is edited instead of the reference; among `variants`,
`NAME.edited({…})` says so of one. Texts may be indented as the class is.

A mistake that other exercises share is declared once and inherited: `class rounded(common_mistakes.rounded)` has its
sentence and its severity; `class rounded(Fundamental, common_mistakes.rounded)` has another severity, and may have
nothing else.
'''

import ast
import functools
import importlib
import inspect
import itertools
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple

MINOR, MISCONCEPTION, FUNDAMENTAL = SEVERITIES = (
    "slip",
    "misconception",
    "missed",
)  # severities as stored, and in costs.toml
WORDS = 45  # of a sentence, at most

Edits = Mapping[str, str | Sequence[str]]


class CatalogueError(ValueError):
    """A class that cannot be made into programs. The message says where it stands, and what to do."""


class Edited(NamedTuple):
    """Edits of the first variant of `base`, or of the reference if it is None."""

    base: "type[CataloguedAnswer] | None"
    edits: Edits


class CataloguedAnswer:
    """The base of all classes that describe an answer; the module's docstring says how."""

    name: ClassVar[str]
    sentence: ClassVar[str] = ""
    severity: ClassVar[str] = ""
    based_on: "ClassVar[type[CataloguedAnswer] | None]" = None
    edits: ClassVar[Edits] = {}
    code: ClassVar[str] = ""
    variants: ClassVar[Sequence[Edits | Edited | str]] = ()

    def __init_subclass__(cls) -> None:
        cls.name = cls.__name__.rstrip("_")
        if cls.__doc__ and cls.__module__ != __name__:
            cls.sentence = " ".join(cls.__doc__.split())
        above = vars(sys.modules[cls.__module__]).get(cls.__name__)
        if getattr(above, "__module__", "") == cls.__module__:
            raise CatalogueError(f"{location(cls)} is declared twice: put the variants into one class.")

    @classmethod
    def edited(cls, edits: Edits) -> Edited:
        """Return edits of this class's first variant."""
        return Edited(cls, edits)

    @classmethod
    def expanded(cls) -> Iterator[Edited | str]:
        """Yield the variants one by one: each edit has one text, without the class's indentation."""
        one: Edits | str = cls.edits or cls.code
        for variant in cls.variants or ([one] if one else []):
            if isinstance(variant, str):
                yield _dedented(variant)
                continue
            base, edits = variant if isinstance(variant, Edited) else Edited(cls.based_on, variant)
            for texts in itertools.product(*([new] if isinstance(new, str) else new for new in edits.values())):
                yield Edited(base, dict(zip(edits, map(_dedented, texts), strict=True)))

    @classmethod
    def programs(cls, reference: str) -> tuple[str, ...]:
        """Return the program of each variant. Raises CatalogueError if an edit or a variant changes nothing."""
        found = []
        for number, variant in enumerate(cls.expanded(), 1):
            found.append(cls._program(variant, reference))
            try:
                unchanged = syntax(found[-1]) == syntax(reference)
            except (SyntaxError, ValueError) as error:
                raise CatalogueError(f"{location(cls)}: variant {number} is not Python: {error}.") from None
            if unchanged:
                raise CatalogueError(f"{location(cls)}: variant {number} is the reference itself.")
        return tuple(found)

    @classmethod
    def _program(cls, variant: Edited | str, reference: str) -> str:
        if isinstance(variant, str):
            return _whole(variant, reference)
        base, edits = variant
        text = base._program(next(base.expanded()), reference) if base else reference
        for old, new in edits.items():
            if old not in text:
                raise CatalogueError(f"{location(cls)}: {old!r} is not in what it edits (see `autograder mistakes`).")
            text = replaced(text, old, str(new))
        return text


class Minor(CataloguedAnswer):
    """An error of somebody who has understood."""

    severity = MINOR


class Misconception(CataloguedAnswer):
    """An error in understanding."""

    severity = MISCONCEPTION


class Fundamental(CataloguedAnswer):
    """An answer that misses the point of the exercise, or has nothing to give marks for."""

    severity = FUNDAMENTAL


class RightAnswer(CataloguedAnswer):
    """A right answer in another style than the reference."""


class Catalogue(NamedTuple):
    """The classes that a module declares, in its order."""

    wrong: list[type[CataloguedAnswer]]
    right: list[type[CataloguedAnswer]]


def load(name: str) -> Catalogue:
    """Return what a module declares. Raises CatalogueError if it cannot be imported, or a class is incomplete."""
    try:
        module = importlib.import_module(name)
    except CatalogueError:
        raise
    except Exception as error:  # whatever stands there
        raise CatalogueError(f"{name} cannot be imported: {error}") from error
    classes = [one for one in vars(module).values() if isinstance(one, type) and issubclass(one, CataloguedAnswer)]
    found = Catalogue([], [])
    for one in (one for one in classes if one.__module__ == name):
        right = issubclass(one, RightAnswer)
        (found.right if right else found.wrong).append(one)
        ways = sum(map(bool, (one.edits, one.code, one.variants)))
        if not (one.sentence or right):
            raise CatalogueError(f"{location(one)} has no sentence: write it as the docstring.")
        if len(one.sentence.split()) > WORDS:
            raise CatalogueError(f"{location(one)}: its sentence has more than {WORDS} words.")
        if ways > 1 or (not ways and (right or one.__doc__)):
            raise CatalogueError(f"{location(one)}: describe it by one of `edits`, `code` and `variants`.")
    return found


def location(cls: type[CataloguedAnswer]) -> str:
    """Return a class's file, line and name, for messages."""
    return f"{inspect.getsourcefile(cls)}:{inspect.getsourcelines(cls)[1]}: {cls.__name__}"


def replaced(text: str, old: str, new: str) -> str:
    """Replace every occurrence of `old`; indent further lines of `new` like the line that contains `old`."""
    if not new:  # a line that held nothing else is removed whole
        text = re.sub(rf"^[ \t]*{re.escape(old)}[ \t]*(?:#[^\n]*)?\n", "", text, flags=re.MULTILINE)
        return text.replace(old, new)
    result, start = [], 0
    while (at := text.find(old, start)) >= 0:
        line = text[text.rfind("\n", 0, at) + 1 : at]
        indent = line[: len(line) - len(line.lstrip())]
        result += [text[start:at], new.replace("\n", "\n" + indent)]
        start = at + len(old)
    return "".join([*result, text[start:]])


def _dedented(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


def _whole(code: str, reference: str) -> str:
    """Return a whole program as it is; put any other code as the body under the reference's signature."""
    name = getattr(ast.parse(reference).body[-1], "name", "")
    if re.search(rf"^(?:def|class) {name}\b|^{name} = ", code, re.MULTILINE):
        return code + "\n"
    head, signature = reference.split("def ", 1)  # a decorator stays where it is
    return f"{head}def {signature.splitlines()[0]}\n{textwrap.indent(code, '    ')}\n"


@functools.lru_cache(maxsize=16)  # a reference is compared to each of its variants
def syntax(source: str) -> str:
    """Return the syntax tree of a source as text, without docstrings, so that layout does not matter."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)
