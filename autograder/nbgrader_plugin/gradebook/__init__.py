"""Read and write nbgrader's gradebook: names, rows, locks, marks given by hand."""
