"""Marks a whole class on all cores or on a cluster. One process writes the results; a stopped run can be resumed."""
