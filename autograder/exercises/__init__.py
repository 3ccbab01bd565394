"""Every graded exercise and question of the course, by name. One module for each notebook."""

from __future__ import annotations

import functools
import importlib

from ..asked.declare import Exercise, Question

MODULES = {
    "01-language-modelling": "language_modelling",
    "02-tokenisation": "tokenisation",
    "03-embeddings": "embeddings",
    "04-positional-encoding": "positional",
    "05-attention": "attention",
    "06-masking": "masking",
    "07-multi-head": "multihead",
    "08-blocks": "blocks",
    "09-gpt": "gpt",
    "10-hugging-face-gpt2": "huggingface",
    "11-translation": "translation",
}


@functools.cache
def in_notebook(notebook: str) -> tuple[Exercise | Question, ...]:
    """What is marked automatically in a notebook, in the order of the notebook."""
    module = importlib.import_module(f".{MODULES[notebook]}", __name__)
    return tuple(module.EXERCISES) + tuple(module.QUESTIONS)


@functools.cache
def _by_name() -> dict[str, Exercise | Question]:
    return {declared.name: declared for notebook in MODULES for declared in in_notebook(notebook)}


def question_or_exercise(name: str) -> Exercise | Question:
    try:
        return _by_name()[name]
    except KeyError:
        raise ValueError(f"no exercise or question is named {name!r}") from None


def exercises(notebook: str | None = None) -> list[Exercise]:
    notebooks = [notebook] if notebook else list(MODULES)
    return [d for n in notebooks for d in in_notebook(n) if isinstance(d, Exercise)]


def questions(notebook: str | None = None) -> list[Question]:
    notebooks = [notebook] if notebook else list(MODULES)
    return [d for n in notebooks for d in in_notebook(n) if isinstance(d, Question)]


def given_in(notebook: str) -> str:
    """Source of what a notebook's locked cells give to the answers (a configuration class, say), beside the imports."""
    return getattr(importlib.import_module(f".{MODULES[notebook]}", __name__), "GIVEN", "")


def names_in(notebook: str) -> set[str]:
    """The names of a notebook's exercises."""
    return {exercise.name for exercise in exercises(notebook)}


def working_versions(notebook: str) -> dict[str, str]:
    """For each exercise, a version made of PyTorch's own parts: while one is asked about, the others are right."""
    return {exercise.name: exercise.working for exercise in exercises(notebook)}
