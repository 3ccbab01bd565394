"""The judge: asks a student's code to compute, compares, adds up the marks, names the mistake."""
