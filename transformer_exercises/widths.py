"""Draw other widths and numbers of heads while inputs are drawn for a submission; otherwise return the known ones."""

from autograder.spec import drawn, other_sizes


def other_heads(width: int, heads: int) -> tuple[int, int]:
    """Return another width and number of heads, which divides it."""
    heads, each = other_sizes(heads, width // heads) if heads < width else other_sizes(heads, 1)
    return heads * each, heads


def other_block(width: int, heads: int, hidden: int) -> tuple[int, int, int]:
    """Return another width, its heads, and a hidden width that differs from every width inside attention."""
    (width, heads), (hidden,) = other_heads(width, heads), other_sizes(hidden)
    return width, heads, drawn(hidden, lambda _: hidden + (hidden in (width, 3 * width)))
