"""Benchmarks. Each measures the things it compares in the same run."""
