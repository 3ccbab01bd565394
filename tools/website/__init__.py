"""Builds the course as a website: `make site`. See build.py."""
