"""The name of a verdict among the representations of an output. Apart, since pages are made without the judge."""

from __future__ import annotations

MIME = "application/vnd.autograder.verdict+json"  # the verdict as data, beside its two readable forms
