"""Notebook 01: bigram counts and probabilities, log-probabilities of texts, cross-entropy, perplexity, sampling."""
