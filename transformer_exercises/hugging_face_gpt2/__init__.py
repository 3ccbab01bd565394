"""Notebook 10: the published GPT-2 behind Hugging Face's interface, and its weights in an architecture of one's own."""

PROVIDED = ("GPT",)  # what locked cells define for the answers and for the checks
