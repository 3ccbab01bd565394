"""Read and write nbgrader's gradebook: students' names, rows, locks, manual marks."""
