"""Trainings, benchmarks, the local hub and the website: run now and then, in no wheel."""
