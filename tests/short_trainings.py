"""Replacements in notebooks that shorten their trainings."""

# Trainings that are run in full with the solutions (nbval) need not be run in full a second time.
SHORTER = {
    "04-positional-encoding": {"steps=400": "steps=20"},
    "08-blocks": {"steps=400": "steps=20"},
    "09-gpt": {"STEPS, BATCH, WARMUP, PEAK = 900": "STEPS, BATCH, WARMUP, PEAK = 40"},
    "11-translation": {
        "STEPS, WARMUP, EPSILON = 900": "STEPS, WARMUP, EPSILON = 40",
        "train(narrow, SHORT": "train(narrow, 40",
    },
}
