"""What runs beside student code, in the same process: it knows no exercise, and nothing of it is trusted."""
