"""Notebook 02: characters, words, byte-pair encoding from scratch, and what other scripts pay for it."""
