"""Find the numbers that your notebooks printed, for the end of notebook 12."""

import json
import re
from pathlib import Path

ROWS = (  # notebook, what the number is, how the notebook prints it, and the number of the course's own run
    ("01-language-modelling", "bits per character of your first network", r"your network: ([\d.]+) bits", "0.852"),
    ("05-attention", "% of look-ups that your head gets right", r"your head .*right: +(\d+) % with six", "100"),
    ("09-gpt", "nats per token of your GPT on new stories", r"after \d+ steps ([\d.]+), \d+ % above", "1.016"),
    ("09-gpt", "% above the lowest loss that is possible", r"after \d+ steps [\d.]+, (\d+) % above", "11"),
    ("11-translation", "BLEU of your translator, known shapes", r"^held out +BLEU +([\d.]+)", "97.7"),
    ("11-translation", "BLEU of your translator, a new shape", r"^new shape +BLEU +([\d.]+)", "25.7"),
)


def my_numbers(folder=".."):
    """Return (notebook, what the number is, yours, the course's) for each; yours is "–" where nothing is printed yet.

    `folder` contains the notebooks' folders. What a notebook printed is in its file once it is saved.
    """
    printed = {name: _printed(Path(folder, name, f"{name}.ipynb")) for name in dict.fromkeys(row[0] for row in ROWS)}
    found = ((re.search(pattern, printed[name], re.MULTILINE), row) for row in ROWS for name, _, pattern, _ in (row,))
    return [(name[:2], what, match[1] if match else "–", ours) for match, (name, what, _, ours) in found]


def _printed(path):
    """Return what a saved notebook's cells printed; nothing if it is not there or cannot be read."""
    try:
        cells = json.loads(path.read_text("utf-8"))["cells"]
        outputs = [output for cell in cells for output in cell.get("outputs", ())]
        return "\n".join("".join(output.get("text", "")) for output in outputs)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""
