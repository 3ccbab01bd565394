"""The road through nbgrader: releasing, mending submissions, judging them, writing feedback."""
