"""Benchmarks: two things measured in one run."""
