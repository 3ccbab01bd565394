"""Notebook 04: sinusoids, learned positions, the linear map that shifts them, and rotary embeddings."""
