"""Notebook 05: softmax, simple attention, scaled dot-product attention and self-attention."""
