"""Parse the text format in which an exercise lists wrong and right answers: a name, a sentence, edits of the reference.

    divided_by_maximum: The scores are divided by their maximum instead of shifted: that changes the weights.
    - scores - scores.amax => scores / scores.amax || scores / scores.abs().amax
    - scores - scores.amax => scores / scores.sum
      keepdim=True => keepdim=False
    - torch.exp(shifted) =>
          several lines that take
          the place of what stands before the arrow
    - |
      def softmax(scores, dim=-1):
          return a whole answer of its own

A line without indentation begins an entry: its name and the sentence that a good teacher would say. Further lines of
the sentence are indented by four. Each `-` begins a version that deserves this sentence. An edit replaces every
occurrence of the text before `=>`. `||` separates alternative replacements; each makes a version of its own. If nothing
follows the arrow, the text is removed, and its line too if nothing else is on it. Further edits of the same version
follow, indented by two.
The severity of an entry follows its name in parentheses: `divided_by_maximum (slip): …`. A `slip` is an error of
somebody who has understood. `missed` means that the answer misses the point of the exercise, or has nothing to give
marks for. Everything else is a misconception. A line without a version sets the severity of a slip that is made from
the reference (`rounded (missed):`).

`|` begins a whole answer, or the body of the reference's function. `- in NAME` begins a version whose edits change the
answer of that name (a right one, or the first version of an entry above) instead of the reference.
"""

from __future__ import annotations

import ast
import functools
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

ARROW = re.compile(r" =>(?: |$)")
SLIP, MISCONCEPTION, MISSED = GRADES = ("slip", "misconception", "missed")
HEAD = re.compile(r"([\w ,.'-]+?) *(?:\((\w+)\))? *")


class CatalogueError(ValueError):
    """An entry that cannot be parsed, or an edit that changes nothing. The message says where, and what to do."""


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
class _Draft:
    """An entry as parsed: each version is a list of edits, or one block that is a whole answer."""

    name: str
    sentence: str
    grade: str = ""
    versions: list[list[tuple[str, str]]] = field(default_factory=list)
    bases: dict[int, str] = field(default_factory=dict)  # by version number: the name of the answer that it changes


def entries(
    text: str, reference: str, where: str = "the catalogue", bases: Mapping[str, str] | None = None
) -> list[Entry]:
    """Return the entries of a catalogue, with their edits applied to the reference, to `bases` or to entries above.

    Raises CatalogueError if the text cannot be parsed, an edit changes nothing, or a version is not Python.
    """
    result: list[Entry] = []
    known = dict(bases or {})
    for draft in _drafts(text, where):
        place = f"{where}: {draft.name}"
        if draft.grade and not draft.sentence and not draft.versions:
            continue  # it only sets the severity of a slip that is made from the reference
        if not draft.versions:
            raise CatalogueError(f"{place} has no version: add a line `- old text => new text`.")
        sources = []
        for number, version in enumerate(draft.versions):
            base = draft.bases.get(number)
            if base is not None and base not in known:
                raise CatalogueError(f"{place}: there is no answer {base!r} above, and no right one, to change.")
            sources.append(_source(version, reference if base is None else known[base], place))
        known[draft.name] = sources[0]
        if any(entry.name == draft.name for entry in result):
            raise CatalogueError(f"{where}: {draft.name} stands there twice; put the versions under one name.")
        result.append(Entry(draft.name, draft.sentence, tuple(sources)))
    return result


def sentences(text: str) -> dict[str, str]:
    """Return the sentence of each entry, by name, without applying any edits."""
    return {draft.name: draft.sentence for draft in _drafts(text, "the catalogue")}


def grades(text: str) -> dict[str, str]:
    """Return the severity of the entries that state one, by name, without applying any edits."""
    return {draft.name: draft.grade for draft in _drafts(text, "the catalogue") if draft.grade}


def _drafts(text: str, where: str) -> Iterator[_Draft]:
    draft: _Draft | None = None
    lines = text.strip("\n").split("\n")
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if not line.strip():
            continue
        if not line.startswith((" ", "-")):
            if draft is not None:
                yield draft
            name, colon, sentence = line.partition(":")
            head = HEAD.fullmatch(name)
            if not colon or head is None:
                raise CatalogueError(f"{where}: {line!r} is neither an entry (`name: sentence`) nor a version (`- …`).")
            if head[2] and head[2] not in GRADES:
                raise CatalogueError(f"{where}: {head[1]}: {head[2]!r} is none of {', '.join(GRADES)}.")
            draft = _Draft(head[1], sentence.strip(), head[2] or "")
            continue
        if draft is None:
            raise CatalogueError(f"{where}: {line!r} stands before the first entry (`name: sentence`).")
        if not line.startswith(("- ", "  ")) or (line.startswith("    ") and draft.versions):
            raise CatalogueError(f"{where}: {draft.name}: {line!r} is indented in a way that means nothing here.")
        if line.startswith("    "):
            draft.sentence = f"{draft.sentence} {line.strip()}"
            continue
        if line.startswith("- "):
            draft.versions.append([])
        elif not draft.versions:
            raise CatalogueError(f"{where}: {draft.name}: {line!r} is no version: begin it with `- `.")
        content = line[2:]
        if found := re.fullmatch(r"- in (\w+)", line.rstrip()):
            draft.bases[len(draft.versions) - 1] = found[1]
            continue
        whole = content.strip() == "|"
        block: list[str] = []
        depth = 2 if whole else 6
        if whole or content.rstrip().endswith(" =>"):
            while number < len(lines) and (not lines[number].strip() or lines[number].startswith(" " * depth)):
                block.append(lines[number][depth:])
                number += 1
        old, *news = _edit(content, "\n".join(block).strip("\n"), whole, f"{where}: {draft.name}")
        if len(news) > 1 and draft.versions[-1]:
            raise CatalogueError(f"{where}: {draft.name}: `||` stands only in the first edit of a version.")
        draft.versions[-1].append((old, news[0]))
        base = draft.bases.get(len(draft.versions) - 1)
        for other in news[1:]:
            draft.versions.append([(old, other)])
            if base is not None:
                draft.bases[len(draft.versions) - 1] = base
    if draft is not None:
        yield draft


def _edit(content: str, block: str, whole: bool, place: str) -> list[str]:
    """Return the text to replace ("" if a block is the whole answer), then its possible replacements."""
    if whole:
        return ["", textwrap.dedent(block)]
    found = ARROW.search(content)
    if found is None:
        raise CatalogueError(f"{place}: {content.strip()!r} is no edit: write `old text => new text`.")
    old, new = content[: found.start()].strip(), content[found.end() :].strip()
    return [old, textwrap.dedent(block)] if block else [old, *new.split(" || ")]


def _source(version: list[tuple[str, str]], reference: str, place: str) -> str:
    """Return the source of one version: the reference with its edits, or the block that is a whole answer."""
    text = reference
    for old, new in version:
        if not old:
            text = _whole(new, reference)
            continue
        if old not in text:
            raise CatalogueError(f"{place}: {old!r} is not in the reference, so the edit would change nothing.")
        text = replaced(text, old, new)
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
