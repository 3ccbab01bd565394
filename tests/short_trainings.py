"""Replacements in notebooks that shorten their trainings."""

import pytest

# Few sentences to translate and measure: translations by what is hardly trained go on to the limit.
FEW = "held_data, TESTS = held_data[:100], {name: part[:20] for name, part in TESTS.items()}\n"
# Trainings that are run in full with the solutions (nbval, `make test-all`) need not be run in full a second time.
SHORTER = {
    "04-positional-encoding": {"steps=400": "steps=20"},
    "08-blocks": {"steps=400": "steps=20"},
    "09-gpt": {"STEPS, BATCH, WARMUP, PEAK = 900": "STEPS, BATCH, WARMUP, PEAK = 40"},
    "11-translation": {
        "STEPS, WARMUP, EPSILON = 900": FEW + "STEPS, WARMUP, EPSILON = 40",
        "train(narrow, SHORT": "train(narrow, 40",
        "pair[0]))][:60]": "pair[0]))][:6]",
    },
}
# Notebooks whose claims about a training are made only of a whole one: `make test` shortens them, `make test-all` not.
IN_NBVAL = {name: SHORTER[name] for name in ("09-gpt", "11-translation")}


def pytest_collection_modifyitems(items):
    """Shorten the trainings of notebooks that nbval runs: `python -m pytest -p tests.short_trainings --nbval …`."""
    for name, shorter in IN_NBVAL.items():
        cells = [item.cell for item in items if item.path.stem == name and hasattr(item, "cell")]
        for long, short in shorter.items():
            if cells and not any(long in cell.source for cell in cells):
                raise pytest.UsageError(f"{name} has no {long!r}: correct {__file__}")
            for cell in cells:
                cell.source = cell.source.replace(long, short)
