"""Trainings, benchmarks, the local hub and the website. They are run from a checkout and are in no wheel."""
