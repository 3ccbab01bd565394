"""Puts right answers through tools that touch notebooks, and marks them: `make crossings`. See cross.py."""
