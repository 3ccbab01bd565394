"""Judge a student's code: call it, compare its replies, add up the marks and name the mistake."""
