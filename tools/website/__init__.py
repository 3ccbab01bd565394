"""The course as a website to read: `make site`. See build.py."""
