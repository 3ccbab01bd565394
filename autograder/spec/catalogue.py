"""Parse the text format in which a file `NAME.answers` lists wrong and right answers to an exercise.

    # Common mistakes (tensor -> number) but rounded, global_generator
    divided_by_maximum: The scores are divided by their maximum instead of shifted: that changes the weights.
    - scores - scores.amax => scores / scores.amax || scores / scores.abs().amax
    - scores.amax => scores.sum
      keepdim=True => keepdim=False
    - return exps => assert scores.dim() ¶ … || if scores.dim() == 1: return scores ¶ …
    - | return scores / scores.sum(dim) || return scores
    - in einsum: "ij" => "ji"
    device_not_kept: - device=scores.device =>
    # Right answers
    loop:
    - |
      several lines that are the function's body, or a whole program that defines it

The common mistakes (`common_mistakes`) can be made in any exercise. In the first line stand the kinds of its first
argument and of its result (tensor, scalar, pair, number, list, dict, or others), since edits fit some only, and the
mistakes that lose no marks in this one. It may be repeated for more of these.

A line without indentation begins an entry: its name and the sentence that a good teacher would say. Further lines of
the sentence are indented by four. The severity follows the name in parentheses: a `slip` is an error of somebody who
has understood; `missed` means that the answer misses the point of the exercise, or has nothing to give marks for;
everything else is a misconception. An entry without a sentence bears the name of a common mistake, whose sentence it
has, and its first version may follow in the same line; without a version, too, it only sets the severity.

Each `-` begins a version that deserves the sentence: an edit of the reference, which is the answer in the solution
notebook. Every occurrence of the text before `=>` is replaced. In what takes its place, `…` is the text that stood
there, `¶` begins a new line, indented like the old one, and `||` separates alternatives, each a version of its own;
they may go on in lines that begin with `||`. Where alternatives differ in one place only, it lists them: `clamp(⟨-80,
80 | max=80⟩)`. If nothing follows the arrow, the text is removed, and its line too if nothing else is on it. A
replacement of many lines stands below the arrow, indented by six. Further edits, of each alternative, follow, indented
by two. `|` begins a whole answer, or the body of the reference's function. `in NAME:` means that the edits change the
answer of that name (a right one, or the first version of an entry above) instead of the reference. A program that needs
the sign `…` itself writes it as `\\u2026`.
"""

import ast
import functools
import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

ARROW = re.compile(r" =>(?: |$)")
SLIP, MISCONCEPTION, MISSED = GRADES = ("slip", "misconception", "missed")
HEAD = re.compile(r"([\w ,.'-]+?) *(?:\((\w+)\))?: ?(.*)")
LENGTH, WORDS = 120, 45  # of a line in characters, and of a sentence, at most
COMMON, RIGHT = re.compile(r"# Common mistakes(?: \((\w+) -> (\w+)\))?(?: but (.+))?"), "# Right answers"


class CatalogueError(ValueError):
    """A line that cannot be parsed, or an edit that changes nothing. The message says where, and what to do."""


@dataclass(frozen=True)
class Entry:
    """Small runnable versions that deserve the same sentence, the one that a good teacher would say.

    `grade` is one of GRADES, or "": then it is a misconception, which costs no more than its lines.
    """

    name: str
    sentence: str
    sources: tuple[str, ...]
    grade: str = ""

    @property
    def source(self) -> str:
        return self.sources[0]


@dataclass
class Version:
    """One version of an entry: edits (old, new) of the answer `base`, or of the reference if it is "".

    An old text "" means that the new one is a whole answer.
    """

    edits: list[tuple[str, str]]
    line: int
    base: str = ""


@dataclass
class Draft:
    """An entry as parsed."""

    name: str
    sentence: str
    grade: str
    line: int
    versions: list[Version] = field(default_factory=list)


class Answers(NamedTuple):
    """What a file lists, without any edits applied."""

    without: tuple[str, ...]  # the common mistakes that lose no marks
    takes: str
    gives: str
    wrong: tuple[Draft, ...]
    right: tuple[Draft, ...]


def entries(
    drafts: Iterable[Draft], reference: str, where: str = "the catalogue", bases: Mapping[str, str] | None = None
) -> list[Entry]:
    """Return the entries of a catalogue, with their edits applied to the reference, to `bases` or to entries above.

    Raises CatalogueError if an edit changes nothing, or a version is not Python.
    """
    result: list[Entry] = []
    known = dict(bases or {})
    for draft in drafts:
        if not draft.versions:
            if not draft.grade or draft.sentence:
                place = f"{where}:{draft.line}: {draft.name}"
                raise CatalogueError(f"{place} has no version: add a line `- old text => new text`.")
            continue
        sources = []
        for version in draft.versions:
            place = f"{where}:{version.line}: {draft.name}"
            if version.base and version.base not in known:
                raise CatalogueError(f"{place}: there is no answer {version.base!r} above, and no right one.")
            sources.append(_source(version, known.get(version.base, reference), reference, place))
        known[draft.name] = sources[0]
        result.append(Entry(draft.name, draft.sentence, tuple(sources), draft.grade))
    return result


def answers(text: str, where: str = "the catalogue") -> Answers:
    """Return what a file's text lists. Raises CatalogueError, with the number of the line, if it cannot be parsed."""
    without: list[str] = []
    takes = gives = ""
    wrong: list[Draft] = []
    right: list[Draft] = []
    found = wrong
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        line, number = lines[number], number + 1
        place = f"{where}:{number}"
        if len(line) > LENGTH:
            raise CatalogueError(f"{place}: {len(line)} characters, {LENGTH} at most: go on in a line below.")
        if listed := COMMON.fullmatch(line):
            takes, gives = listed[1] or takes, listed[2] or gives
            without += listed[3].split(", ") if listed[3] else []
        elif line == RIGHT:
            found = right
        elif not line.strip():
            continue
        elif not line.startswith((" ", "-")):
            head = HEAD.fullmatch(line)
            if head is None:
                raise CatalogueError(f"{place}: {line!r} is neither an entry (`name: sentence`) nor a version (`- …`).")
            if head[2] and head[2] not in GRADES:
                raise CatalogueError(f"{place}: {head[1]}: {head[2]!r} is none of {', '.join(GRADES)}.")
            if any(draft.name == head[1] for draft in found):
                raise CatalogueError(f"{place}: {head[1]} stands there twice; put the versions under one name.")
            begins = head[3].startswith("- ")
            found.append(Draft(head[1], "" if begins else head[3].strip(), head[2] or "", number))
            if begins:
                lines[number - 1] = head[3]
                number = _version(found[-1].versions, lines, number, place)
        elif not found:
            raise CatalogueError(f"{place}: {line!r} stands before the first entry (`name: sentence`).")
        elif line.startswith("    ") and not found[-1].versions:
            found[-1].sentence += f" {line.strip()}"
        elif not line.startswith(("- ", "  ")) or line.startswith("   "):
            raise CatalogueError(f"{place}: {line!r} is indented in a way that means nothing here.")
        else:
            number = _version(found[-1].versions, lines, number, place)
    if long := [draft for draft in wrong if len(draft.sentence.split()) > WORDS]:
        raise CatalogueError(f"{where}:{long[0].line}: {long[0].name}: its sentence has more than {WORDS} words.")
    return Answers(tuple(without), takes, gives, tuple(wrong), tuple(right))


def _version(versions: list[Version], lines: list[str], number: int, place: str) -> int:
    """Read an edit, which may go on in further lines, into `versions`; return the number of the next line."""
    begins, content, first = lines[number - 1].startswith("- "), lines[number - 1][2:].strip(), number
    base = ""
    if begins and (named := re.match(r"in (\w+): ", content)):
        base, content = named[1], content[named.end() :]
    if not begins and not versions:
        raise CatalogueError(f"{place}: this is no version: begin it with `- `.")
    if content == "|":
        old, texts, depth = "", [""], 2
    elif content.startswith("| ") and not ARROW.search(content):
        old, texts, depth = "", _each(content[2:]), 0
    else:
        arrow = ARROW.search(content)
        if arrow is None:
            raise CatalogueError(f"{place}: {content!r} is no edit: write `old text => new text`.")
        old, new = content[: arrow.start()].strip(), content[arrow.end() :].strip()
        texts, depth = _each(new), 0 if new else 6
    if not texts[0] and number < len(lines) and lines[number].startswith("  || "):
        texts = []
    while True:
        block = []
        while depth and number < len(lines) and (not lines[number].strip() or lines[number].startswith(" " * depth)):
            block.append(lines[number][depth:])
            number += 1
        if block and texts:
            texts[-1] = textwrap.dedent("\n".join(block).strip("\n"))
        if number == len(lines) or not lines[number].startswith("  ||") or content == "|":
            break
        more = lines[number][4:].strip()
        texts, depth, number = [*texts, *_each(more)], 0 if more else 6, number + 1
    made = [(old, text.replace(" ¶ ", "\n").replace("…", old) if old else text.replace(" ¶ ", "\n")) for text in texts]
    if begins:
        versions += [Version([edit], first, base) for edit in made]
    elif len(made) > 1:
        raise CatalogueError(f"{place}: `||` stands only in the first edit of a version.")
    else:  # of each alternative that the first edit made
        for version in versions:
            version.edits += made if version.line == versions[-1].line else []
    return number


def _each(text: str) -> list[str]:
    """Return the alternatives of a replacement: between `||`, and for each choice of a family `⟨a | b⟩`."""
    found: list[str] = []
    for one in text.split(" || "):
        head, opening, rest = one.partition("⟨")
        family, closing, tail = rest.partition("⟩")
        found += [head + choice + tail for choice in family.split(" | ")] if opening and closing else [one]
    return found


def _source(version: Version, base: str, reference: str, place: str) -> str:
    """Return the source of one version: its base with its edits, or the block that is a whole answer."""
    text = base
    for old, new in version.edits:
        if old and old not in text:
            raise CatalogueError(f"{place}: {old!r} is not in what it edits (see `autograder mistakes`).")
        text = replaced(text, old, new) if old else _whole(new, reference)
    try:
        unchanged = _said(text) == _said(reference)
    except (SyntaxError, ValueError) as error:
        raise CatalogueError(f"{place}: a version is not Python: {error}.") from None
    if unchanged:
        raise CatalogueError(f"{place}: a version is the reference itself.")
    return text


def replaced(text: str, old: str, new: str) -> str:
    """Replace every occurrence of `old`; indent further lines of `new` like the line that contains `old`."""
    if not new:  # a line that held nothing else is removed whole
        text = re.sub(rf"^[ \t]*{re.escape(old)}[ \t]*(?:#[^\n]*)?\n", "", text, flags=re.MULTILINE)
        return text.replace(old, new)
    result, start = [], 0
    while (place := text.find(old, start)) >= 0:
        line = text[text.rfind("\n", 0, place) + 1 : place]
        indent = line[: len(line) - len(line.lstrip())]
        result += [text[start:place], new.replace("\n", "\n" + indent)]
        start = place + len(old)
    return "".join([*result, text[start:]])


def _whole(block: str, reference: str) -> str:
    """Return a block that is a whole answer as it is; put any other block as a body under the reference's signature."""
    name = getattr(ast.parse(reference).body[-1], "name", "")
    if re.search(rf"^(?:def|class) {name}\b|^{name} = ", block, re.MULTILINE):
        return block + "\n"
    head, signature = reference.split("def ", 1)  # a decorator stays where it is
    return f"{head}def {signature.splitlines()[0]}\n{textwrap.indent(block, '    ')}\n"


@functools.lru_cache(maxsize=16)  # a reference is compared to each of its versions
def _said(source: str) -> str:
    """Return the syntax tree of a source as text, without docstrings, so that layout does not matter."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)
