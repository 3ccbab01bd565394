"""Export marks and verdicts for learning-management systems and for analysis."""
