"""Notebook 08: norms, feed-forward networks, grouped queries, rotary positions, the block, and what it costs."""

PROVIDED = ("Attention",)  # what locked cells define for the answers and for the checks
