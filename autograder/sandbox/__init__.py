"""Run a student's notebook in a child forked from a warm process, one cell at a time; the child is discarded after."""
