"""Name the mistake behind a wrong answer, by comparing it with what catalogued wrong versions answer."""
