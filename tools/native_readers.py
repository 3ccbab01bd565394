"""Writes the sentences that native readers check: each kind of sentence once, and each form of each word once.

    python -m tools.native_readers    # writes the tables in docs/native-readers/

A sentence is taken from the stream of stories if it has a new pattern or a new form of a word. A sentence that needs
the one before it is shown after it. The samples are notebook 02's, which no grammar wrote.
"""

import ast
import itertools
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from autograder.files import WouldOverwrite, listed, write_atomically
from transformer_exercises.stories import LANGUAGES, bangla, derivations
from transformer_exercises.stories.engine import SLOT, Derivation, Say

SEED = 7
ENOUGH = 4_000  # after so many stories without news, even the rarest forms have been seen
TOP = ("number", "language", "english", "to check", "right?", "how I would say it")


def shown(
    language: str, languages: Sequence[str] = LANGUAGES, stories: Callable[[int], Iterator[Derivation]] = derivations
) -> list[tuple[str, str]]:
    """Return (English, `language`) for each sentence to check, in the order of the stories."""
    index = languages.index(language)
    seen: set[Say | str] = set()
    found: list[tuple[str, str]] = []
    nothing = 0
    for story in stories(SEED):
        before, nothing = "", nothing + 1
        pairs = zip(story.sentences("english"), story.sentences(language), strict=True)
        for (source, english), (_, told) in pairs:
            brought = {source} | {
                story.word(name[0].lower() + name[1:]).forms[language][form]
                for name, form in SLOT.findall(source.patterns[index])
            }
            if brought - seen:
                seen |= brought
                nothing = 0
                lead = "" if source.alone or not before else f"({before}) "
                found.append((lead + english.strip(), told.strip()))
            before = english.strip()
        if nothing > ENOUGH:
            return found
    raise AssertionError("the stream of stories has no end")


def samples(root: Path = Path()) -> dict[str, str]:
    """Return notebook 02's sentence by language, English first."""
    path = root / "solutions/02-tokenisation/02-tokenisation.ipynb"
    cells = ["".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"]]
    written = re.compile(r"SAMPLES = (\{.*?^\})", re.DOTALL | re.MULTILINE)
    [found] = filter(None, map(written.match, cells))
    return ast.literal_eval(found[1])


def many_languages(root: Path = Path()) -> list[tuple[str, str, str]]:
    """Return (language, English, translation) for notebook 02's five sentences in languages not checked yet."""
    path = root / "solutions/02-tokenisation/many-languages.json"
    english, *others = json.loads(path.read_text("utf-8"))["languages"]
    unchecked = [one for one in others if one["checked_by"] is None]
    return [
        (one["name"], *pair) for one in unchecked for pair in zip(english["sentences"], one["sentences"], strict=True)
    ]


def sheet(rows: list[tuple[str, str, str]]) -> str:
    """Return a tab-separated table to fill in, from rows (language, English, sentence to check)."""
    lines = [[str(number), *row, "", ""] for number, row in zip(itertools.count(1), rows)]
    return "".join("\t".join(line) + "\n" for line in [TOP, *lines])


def sheets() -> dict[str, str]:
    told = {language: [(language, *pair) for pair in shown(language)] for language in LANGUAGES[1:]}
    agreeing = shown("bangla", bangla.LANGUAGES, bangla.derivations)
    told["bangla-agreement"] = [("bangla", *pair) for pair in agreeing]
    english, *others = samples().items()
    told["samples"] = [(language, english[1], text) for language, text in others]
    told["many-languages"] = many_languages()
    return {f"{name}.tsv": sheet(rows) for name, rows in told.items()}


def filled_in(path: Path) -> list[str]:
    """Return the numbers of rows that a reader has filled in, or that have another number of columns."""
    rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()[1:]] if path.is_file() else []
    return [row[0] for row in rows if len(row) != len(TOP) or any(cell.strip() for cell in row[-2:])]


def write(target: Path = Path("docs/native-readers")) -> list[Path]:
    """Write the tables; return their paths. Raise WouldOverwrite if a reader has written in one of them."""
    tables = {target / name: text for name, text in sheets().items()}
    for path in tables:
        if rows := filled_in(path):
            raise WouldOverwrite(
                f"A reader wrote in {path}, in row {listed(rows)}: take it into the grammar, or move the table."
            )
    target.mkdir(exist_ok=True)
    for path, text in tables.items():
        write_atomically(path, text.encode())  # bytes: the same newlines on every system
    return list(tables)


if __name__ == "__main__":
    try:
        for path in write():
            print(path)
    except WouldOverwrite as reason:
        sys.exit(str(reason))
