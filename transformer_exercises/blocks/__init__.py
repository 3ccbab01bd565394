"""Notebook 08: norms, feed-forward networks and grouped queries, the transformer block, and what it costs."""

PROVIDED = ("Attention",)  # what locked cells define for the answers and for the checks
