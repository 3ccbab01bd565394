"""`restore_checkpoint`: a fresh run that is brought to where another one stood, twice from the same checkpoint."""

from typing import Any

from autograder.spec import (
    Check,
    Exercise,
    Kept,
    Student,
    Wrong,
    call_probe,
    differ,
    each,
    kind,
    note_rounded,
    other_sizes,
)

from .make_checkpoint import CASES, RUN, begun, parts, undisturbed

# A checkpoint as the notebook describes it, made over there without the student's help.
_STATES = """
def states(run, step):
    import copy
    model, optimiser, rates, generator = run
    found = {"model": model.state_dict(), "optimizer": optimiser.state_dict(), "scheduler": rates.state_dict(),
             "generator": generator.get_state(), "step": step}
    return copy.deepcopy(found)
"""


def _checkpoint(
    student: Student, optimiser: str, steps: int, step: int, dtype: str = "float32", training: bool = True
) -> Kept:
    run = begun(student, optimiser, dtype=dtype, training=training)
    call_probe(student, RUN, "train", run, steps)
    return call_probe(student, _STATES, "states", run, step, keep=True)


def _restored(student: Student, checkpoint: Kept, run: Kept) -> Any:
    got = student.value("restore_checkpoint", checkpoint, *parts(student, run))
    note_rounded(student, got)
    return got


@each(*CASES)
def _goes_on(student: Student, optimiser: str, training: bool, *known: int) -> None:
    before, after = other_sizes(*known)
    # Its step is another number than what the scheduler has counted: whoever calls may count otherwise.
    checkpoint = _checkpoint(student, optimiser, before, before + 100, training=training)
    fresh = begun(student, optimiser, seed=1, training=training)
    call_probe(student, RUN, "train", fresh, 2)  # so that everything has to be set back
    _restored(student, checkpoint, fresh)
    mode = "" if training else " and a model in eval mode"
    message = f"The run that goes on (with {optimiser}{mode}) has other losses than the undisturbed one."
    undisturbed(student, fresh, optimiser, training, before, after, message)


@each(*CASES)
def _twice(student: Student, optimiser: str, training: bool, *known: int) -> None:
    before, after = other_sizes(*known)
    checkpoint = _checkpoint(student, optimiser, before, before, training=training)
    for turn in ("first", "second"):
        fresh = begun(student, optimiser, seed=1, training=training)
        _restored(student, checkpoint, fresh)
        message = f"Of two runs from one checkpoint (with {optimiser}), the {turn} has other losses."
        undisturbed(student, fresh, optimiser, training, before, after, message)


@each(("AdamW", 3, "float64"), ("SGD", 7, "float32"))
def _step(student: Student, optimiser: str, known: int, dtype: str) -> None:
    (step,) = other_sizes(known)
    checkpoint = _checkpoint(student, optimiser, step, step, dtype)
    got = _restored(student, checkpoint, begun(student, optimiser, seed=1, dtype=dtype))
    if type(got) is not int:
        raise Wrong(f"The step should be an int, as it is in the checkpoint; yours is {kind(got)}.")
    differ(got != step, 'The number that is returned should be the "step" of the checkpoint.')


EXERCISE = Exercise(
    Check("the run that goes on has the undisturbed losses", 1.0, _goes_on),
    Check("twice from the same checkpoint", 0.5, _twice, dependent=True),
    Check("the step is returned", 0.5, _step),
    takes="other",
    gives="number",
    harmless=("rounded", "other_signature", "global_generator"),
)
