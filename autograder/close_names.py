"""Find the name that somebody meant who wrote another."""

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean NAME?" with the closest known name, whatever its case; "" if none is close."""
    plain = {one.casefold(): one for one in known}
    close = difflib.get_close_matches(name.casefold(), plain, 1)
    return f" Did you mean {plain[close[0]]}?" if close else ""
