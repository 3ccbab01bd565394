"""Notebook 02: characters, words, byte-pair encoding from scratch, and what other scripts pay for it."""

PROVIDED = ("gpt2_pieces",)  # what locked cells define for the answers and for the checks
