"""`merge_pair`: every occurrence, left to right, symbols and not letters; the mistakes overlap, skip or join text."""

from autograder.spec import Check, Exercise

from .sequence_checks import Asked

asked = Asked("merge_pair", "The tuple", lambda symbols, pair: f"for {symbols} and the pair {pair}")


def _cases(table: str) -> list[list[tuple[str, ...]]]:
    """Read a table: symbols and pair, parted by a bar; cases parted by semicolons."""
    return [[tuple(part.split()) for part in case.split("|")] for case in table.split(";")]


WHERE = "l o w e r|e r; n e w e s t|e s; b a n a n a|a n; a b c a b|a b; x a b y|a b; lo w e r|lo w; a b a b a b|b a"
RUNS = "a a a|a a; a a a a|a a; a a a a a|a a; b a a a b|a a; a a a b a a|a a; ab ab ab|ab ab; aa aa a|aa a"
LETTERS = "xa b|a b; a bx|a b; a bc ab c|ab c; ab a b|a b; b a|a b; . * . x *|. *; $ ( $|$ (; a ab b|a b"
SIDE_EFFECTS = asked(*_cases("|a b; a|a a; x y|a b; a b|a b"), changes="symbols, pair")

EXERCISE = Exercise(
    Check("every occurrence becomes one symbol", 1.0, asked(*_cases(WHERE + "; আ ম \u09be র|ম \u09be"))),
    Check("left to right, without overlap", 1.0, asked(*_cases(RUNS + "; a aa a aa|a aa")), dependent=True),
    Check("symbols are compared, not their letters", 0.75, asked(*_cases(LETTERS)), dependent=True),
    Check("no or one symbol, nothing to merge, a tuple", 0.25, SIDE_EFFECTS, dependent=True),
    takes="tuple",
    gives="tuple",
    harmless=("other_signature", "global_generator"),
    library_equivalent=r"""
def merge_pair(symbols, pair):
    merged, i = (), 0
    while i < len(symbols):
        width = 2 if symbols[i : i + 2] == tuple(pair) else 1
        merged += ("".join(symbols[i : i + width]),)
        i += width
    return merged
""",
)
