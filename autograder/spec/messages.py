"""Messages about an answer that several modules give or look for, and their greatest length."""

MAX_MESSAGE = 2_000  # characters: a message may quote text of the student's
UNANSWERED = "This exercise has not been answered yet."


def shortened(message: str) -> str:
    """Return a message, cut if it is too long."""
    return message if len(message) <= MAX_MESSAGE else f"{message[: MAX_MESSAGE - 1]}…"
