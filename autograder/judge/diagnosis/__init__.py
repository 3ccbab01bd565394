"""Name the mistake behind a wrong answer, by comparing it with the answers of catalogued wrong variants."""
