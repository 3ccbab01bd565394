"""Replacements in notebooks that shorten their trainings."""

import pytest

# Few sentences to translate and measure: translations by what is hardly trained go on to the limit.
FEW = "held_data, TESTS = held_data[:100], {name: part[:20] for name, part in TESTS.items()}\n"
# Trainings that are run in full with the solutions (nbval, `make test-all`) need not be run in full a second time.
SHORTER = {
    "01-language-modelling": {"steps=2000, batch=512": "steps=2000, batch=16"},
    "04-positional-encoding": {"steps=400": "steps=20"},
    "08-blocks": {"steps=400": "steps=20", "steps=200": "steps=20"},
    "09-gpt": {"STEPS, BATCH, WARMUP, PEAK = 900": "STEPS, BATCH, WARMUP, PEAK = 40"},
    "11-translation": {
        "STEPS, WARMUP, EPSILON = 900": FEW + "STEPS, WARMUP, EPSILON = 40",
        "train(narrow, SHORT": "train(narrow, 40",
        "pair[0]))][:60]": "pair[0]))][:6]",
    },
    "12-it-trains-anyway": {"train(model, rate) for letter": "train(model, rate, steps=10) for letter"},
}
# By notebook, claims that hold of whole trainings only: `make test` leaves them to `make test-all`. Those of 09 and 11
# ask by themselves how long a training was.
OF_WHOLE_TRAININGS = {
    "01-language-modelling": ("drafts-claims", "neural-claims"),
    "08-blocks": ("own-claims", "broken-claim", "lens-claims", "no-ff-claims"),
    "09-gpt": (),
    "11-translation": (),
    "12-it-trains-anyway": ("ward-claims", "round-claims"),
}


def pytest_collection_modifyitems(items):
    """Shorten the trainings of notebooks that nbval runs: `python -m pytest -p tests.short_trainings --nbval …`."""
    for name, left_out in OF_WHOLE_TRAININGS.items():
        found = [item for item in items if item.path.stem == name and hasattr(item, "cell")]
        for long, short in SHORTER[name].items():
            if found and not any(long in item.cell.source for item in found):
                raise pytest.UsageError(f"{name} has no {long!r}: correct {__file__}")
            for item in found:
                item.cell.source = item.cell.source.replace(long, short)
        claims = [item for item in found if item.cell.get("id") in left_out]
        if found and len(claims) < len(left_out):
            raise pytest.UsageError(f"{name} does not have all of {left_out}: correct {__file__}")
        items[:] = [item for item in items if item not in claims]
