"""Running a student's notebook: forked from a warm process, one cell at a time, thrown away afterwards."""
