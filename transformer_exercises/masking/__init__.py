"""Notebook 06: causal and padding masks, a softmax that survives them, shifted targets, and a test for causality."""
