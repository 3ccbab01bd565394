"""The exercises of this course: a folder for each topic, a module for each exercise."""

from .syllabus import COURSE

__all__ = ["COURSE"]
