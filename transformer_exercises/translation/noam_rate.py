"""`noam_rate`: warm-up, peak and decay for five schedules; the mistakes are exponents, `max` for `min`, step 0."""

from itertools import starmap

from autograder.spec import (
    Cases,
    Check,
    CheckFunction,
    DependentCase,
    Exercise,
    accepted,
    cases_of,
    gives_float,
    other_sizes,
    refuses,
)

cases = cases_of("noam_rate")


def _rate(*args: int) -> DependentCase:
    return gives_float([*args], "The rate", "at step {} with d_model = {} and warmup = {}".format(*args))


def _at(*steps: int) -> CheckFunction:
    return cases(
        lambda: (
            _rate(step, d_model, warmup)
            for d_model, warmup in starmap(other_sizes, ((512, 4000), (64, 100), (7, 30), (300, 50), (20, 200)))
            for step in steps or (warmup - 1, warmup, warmup + 1, 2 * warmup, 10 * warmup)
        )
    )


@cases
def _edges() -> Cases:
    known = (1, 512, 1), (9, 1, 1), (1, 1, 5), (10**9, 64, 4000), (3, 1024, 10**6), (5, 5, 5)
    yield from (accepted(_rate(*other_sizes(*one))) for one in known)
    yield gives_float({"warmup": 30, "d_model": 16, "step": 7}, "The rate", "with arguments by name")


@cases
def _refusals() -> Cases:
    d_model, warmup = other_sizes(16, 10)
    yield accepted(_rate(1, d_model, warmup))
    for step in (0, -1, -20):
        yield refuses([step, d_model, warmup], f"step = {step} (steps count from 1)")


EXERCISE = Exercise(
    Check("the warm-up, a straight line", 0.75, _at(1, 2, 3, 17)),
    Check("the peak and the decay after it", 0.75, _at()),
    Check("warmup of 1, very many steps, arguments by name", 0.25, _edges, dependent=True),
    Check("a step below 1 is a ValueError", 0.25, _refusals, dependent=True),
    takes="number",
    gives="number",
    harmless=("text_returned", "other_signature", "global_generator"),
)
