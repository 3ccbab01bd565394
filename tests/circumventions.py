"""Ways to circumvent the exercises' bans, and right answers that only look like one. `test_bans.py` tests both.

`circumventions.toml` holds them, and describes its own format.
"""

import tomllib
from pathlib import Path
from typing import Any, NamedTuple


class Way(NamedTuple):
    source: str
    word: str  # that the remark contains: it names the function that was used


_KEPT = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_BANS = {name: part for name, part in _KEPT.items() if "start" in part}
HIDING: list[tuple[str, list[str]]] = _KEPT["hidden"]


def _ways(name: str, ban: dict[str, Any]) -> dict[str, Way]:
    start, calls = ban["start"], f"\n\nSTART\n{ban['calls']}"
    plain = f"from torch.nn.functional import {ban['function']} as _g\n\n"
    texts = {way: (ban["word"], plain + text + calls) for way, text in _KEPT["run"].items()}
    texts |= {way: (word, plain + text + calls) for way, (word, text) in _KEPT["run_unseen"].items()}
    if name == "softmax":
        texts |= {way: (word, text + calls) for way, (word, text) in _KEPT["found"].items()}
    texts |= {
        way: (word, f"START\n{text}" if text.startswith("return ") else text)
        for way, (word, text) in ban["ways"].items()
    }
    indent = " " * (8 if start.startswith("class") else 4)
    return {
        way: Way(
            text.replace("START\nreturn", f"{start}{indent}return")
            .replace("START\n", start)
            .replace("BY_HAND", ban.get("by_hand", "")),
            word,
        )
        for way, (word, text) in texts.items()
    }


WAYS = {name: _ways(name, ban) for name, ban in _BANS.items()}
HARMLESS: dict[str, dict[str, str]] = {name: ban["right"] for name, ban in _BANS.items()}
