"""The exercises of this course: a folder for each topic, a module for each exercise."""

from .syllabus import COURSE, ENVIRONMENT

__all__ = ["COURSE", "ENVIRONMENT"]
