"""Notebook 08: layer normalisation, the feed-forward network, the transformer block, and what it costs."""

GIVEN = ("Attention",)  # what locked cells define for the answers and for the checks
