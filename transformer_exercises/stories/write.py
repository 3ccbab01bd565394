"""Write the corpus's files into the assignments' folders, so that a student's notebook just reads a text."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

from . import LANGUAGES, parallel, sample, true_nll

SEEDS = {"train": 1, "validation": 2, "parallel": 3}


@cache
def text(language: str, part: str, characters: int) -> str:
    return sample(language, characters=characters, seed=SEEDS[part])


@cache
def floor(language: str, part: str, characters: int) -> dict:
    """Return a text's length and the best loss that a character model can expect on it, in nats per character."""
    story = text(language, part, characters)
    return {"characters": len(story), "floor": true_nll(story, language) / len(story)}


def stories(language: str = "english", train: int = 300_000, validation: int = 30_000) -> dict[str, Callable[[], str]]:
    """Return recipes for stories.txt, stories-validation.txt and stories.json; size 0 leaves a text out."""
    name = "stories" if language == "english" else f"stories-{language}"
    sizes = {part: size for part, size in (("train", train), ("validation", validation)) if size}
    files = {
        f"{name}{'' if part == 'train' else '-' + part}.txt": lambda part=part, size=size: text(language, part, size)
        for part, size in sizes.items()
    }
    return files | {
        f"{name}.json": lambda: (
            json.dumps({part: floor(language, part, sizes[part]) for part in sizes}, indent=2) + "\n"
        )
    }


def sentences(rows: int) -> dict[str, Callable[[], str]]:
    """Return a recipe for stories-parallel.tsv: the same sentence in every language on each line."""
    return {
        "stories-parallel.tsv": lambda: "".join(
            "\t".join(row) + "\n" for row in [LANGUAGES, *parallel(rows, seed=SEEDS["parallel"])]
        )
    }


def without_floors(files: dict[str, Callable[[], str]]) -> dict[str, Callable[[], str]]:
    """Return the recipes for texts, without those for the floors."""
    return {name: make for name, make in files.items() if not name.endswith(".json")}


# Files that each assignment reads
ASSIGNMENTS: dict[str, dict[str, Callable[[], str]]] = {
    "01": stories(),
    "02": without_floors(stories(validation=0) | stories("igbo", 100_000, 0) | stories("bangla", 100_000, 0))
    | sentences(200),
    "03": without_floors(stories(validation=0)),
    "09": stories(train=2_000_000) | stories("bangla", 1_000_000),
    "11": sentences(6_000),
    "12": stories(train=2_000_000),
}


def folders(number: str, solutions: Path) -> list[Path]:
    """Return the folder of an assignment, if there is one. Optional notebooks read none of these files."""
    return [folder for folder in sorted(solutions.glob(f"{number}-*/")) if not folder.name.endswith("-further")]


def write(solutions: Path = Path("solutions")) -> list[Path]:
    """Write each assignment's files into its folder, if it has one, and return their paths."""
    written = []
    for number, files in ASSIGNMENTS.items():
        for folder in folders(number, solutions):
            for name, make in files.items():
                (folder / name).write_bytes(make().encode())  # bytes: the same newlines on every system
                written.append(folder / name)
    return written
