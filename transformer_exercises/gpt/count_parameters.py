"""`count_parameters`: by arithmetic, for configurations of any size.

The mistakes: ties and biases counted wrongly, parts forgotten or multiplied by the layers, models built to count them.
"""

from __future__ import annotations

from typing import Any

import torch

from autograder.spec.compare import kind
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.student import Student

from .common import GPT2, Config, GPTConfig, sizes_of, their_config

count_parameters = reference("count_parameters")

_COUNTED = (
    GPTConfig(11, 7, 3, 2, 6),
    GPT2,
    GPTConfig(97, 32, 1, 1, 5),
    GPTConfig(5, 40, 2, 4, 8),
    GPTConfig(1009, 64, 24, 16, 32),
)


def _count(student: Student, config: Config, **options: Any) -> Any:
    where = f"for {sizes_of(config)}"
    answer = student.call("count_parameters", [their_config(student, config)], where=where, **options)
    got, expected = answer["value"], count_parameters(config)
    if type(got) not in (int, float) and not (isinstance(got, torch.Tensor) and got.numel() == 1):
        raise Wrong(f"A whole number (an int) is asked for {where}; yours is {kind(got)}.")
    number = got if type(got) in (int, float) else got.item()
    if number != expected:
        raise ValuesDiffer(f"The count is too {'large' if number > expected else 'small'} {where}.")
    if type(got) is not int:
        raise Wrong(f"A whole number (an int) is asked for; yours is {kind(got)}.", "not_an_int")
    return answer


_BUILDING = {"empty", "normal_", "uniform_", "fill_", "zero_"}


def _counted(student: Student) -> None:
    for config in _COUNTED:
        with student.case():
            _count(student, config)


def _counted_switches(student: Student) -> None:
    for bias, tie_weights in ((False, True), (True, False), (False, False)):
        for sizes in ((11, 7, 3, 2, 6), (1009, 64, 24, 16, 32), (97, 32, 1, 1, 5), (5, 40, 2, 4, 8)):
            with student.case():
                _count(student, GPTConfig(*sizes, bias=bias, tie_weights=tie_weights))
    with student.case():
        _count(student, GPTConfig(11, 7, 3, 2, 6, dropout=0.3))


def _counted_by_arithmetic(student: Student) -> None:
    with student.case():
        if set(_count(student, GPTConfig(11, 7, 3, 2, 6), trace=True)["operations"]) & _BUILDING:
            raise Wrong(
                "A model (or a layer, or a tensor) is built in order to count: a closed form is asked for, from the "
                "numbers of the configuration alone. Otherwise a model of many billions of parameters could not be "
                "counted.",
                "model_built",
            )
    with student.case():
        # too large for floats, and for any layer to be built
        _count(student, GPTConfig(2**38 + 7, 2**36 + 3, 4, 1, 2**21 + 1))


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("GPT-2's sizes and others", 1.5, _counted),
        Check("without biases, without tied weights", 1.0, _counted_switches),
        Check("by arithmetic, exactly, for any size", 0.5, _counted_by_arithmetic, further=True),
    ],
    working=r"""
def count_parameters(config):
    V, T, L, C = config.vocab_size, config.block_size, config.n_layer, config.n_embd
    total = V * C + T * C + L * 12 * C * C + (2 * L + 1) * C
    if config.bias:
        total += L * 11 * C + C
    return total if config.tie_weights else total + V * C
""",
    gives="number",
)
