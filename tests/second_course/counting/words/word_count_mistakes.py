"""Wrong and right answers to `word_count`. The reference (ps1):

def word_count(text):
    counts = {}
    for word in text.lower().split():
        counts[word] = counts.get(word, 0) + 1
    return counts
"""

from autograder.spec.catalogue import Misconception


class case_kept(Misconception):
    """“The” and “the” are counted apart: put the text into lower case before you split it."""

    edits = {"text.lower().split()": "text.split()"}
