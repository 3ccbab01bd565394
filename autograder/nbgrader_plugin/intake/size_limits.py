"""Bound what one submission may hold; `remove_outputs.py` shortens notebooks that are too large."""

MAX_FILES = 2_000
MAX_TOTAL = 512 * 2**20  # bytes of all files
MAX_FOLDERS = 12  # levels of nested folders
MAX_STAMP = 100  # characters of a time stamp
