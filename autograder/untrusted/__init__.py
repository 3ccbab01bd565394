"""Hold the code that runs in a student's process: it contains no exercise, and its output is never trusted."""
