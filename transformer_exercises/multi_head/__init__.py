"""Notebook 07: heads split and merged, multi-head attention, PyTorch's weights in it, and what it costs."""
