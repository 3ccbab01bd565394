"""`word_count`: how often each word occurs, whatever its case."""

from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.student import Student

word_count = reference("word_count")  # what stands in the solution cell


def _counts(student: Student) -> None:
    for text in ("the cat the dog", "The cat and the hat", "", "a\tb\na"):
        with student.case():
            got = student.value("word_count", text, where=f"for {text!r}")
            if not isinstance(got, dict):
                raise Wrong("A dictionary from words to numbers is asked for.")
            if got != word_count(text):
                raise ValuesDiffer(f"For {text!r} the words or their numbers are not right.")


EXERCISE = Exercise(
    Check("every word and how often it occurs", 2, _counts),
    takes="string",
    gives="dict",
    harmless=("global_generator",),
)
