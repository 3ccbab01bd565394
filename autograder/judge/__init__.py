"""Judge a student's code: ask it to compute, compare its answers, add up the marks and name the mistake."""
