"""Notebook 04: sinusoids, learned positions, and the linear map that shifts them."""
