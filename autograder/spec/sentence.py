"""Bound the length of what is said about an answer: it may quote text of the student's."""

MAX_SENTENCE = 2_000  # characters


def shortened(sentence: str) -> str:
    return sentence if len(sentence) <= MAX_SENTENCE else f"{sentence[: MAX_SENTENCE - 1]}…"
