"""Find the marks that Git and nbdime leave where two versions of a text could not be merged."""

import re

MARKS = re.compile(r"^<{7}(?: .*)?$.*?^={7}$.*?^>{7}(?: .*)?$", re.MULTILINE | re.DOTALL)


def unresolved_merge(text: str) -> str:
    """Return a sentence that names the line where an unfinished merge begins and says what to do; "" if none does."""
    if "<<<<<<<" not in text or (found := MARKS.search(text)) is None:
        return ""
    line = text.count("\n", 0, found.start()) + 1
    begins = found[0].partition("\n")[0].strip()[:60]
    return (
        f"line {line} is `{begins}`. Two versions stand between that line and the next line of `>>>>>>>`, "
        "with `=======` between them: keep one, and delete the other and the three lines of marks."
    )
