"""Notebook 09: the whole GPT, its size, its training step and schedule, and how text is drawn from it."""

PROVIDED = ("GPTConfig", "Block")  # what locked cells define for the answers and for the checks
