"""`count_parameters`: by arithmetic, for configurations of any size."""

from typing import Any

import torch

from autograder.spec import (
    Check,
    Exercise,
    Reply,
    Student,
    differ,
    each,
    kind,
    reference,
    refusing,
    same_count,
)

from .configurations import GPT2, Config, GPTConfig, other_config, sizes_of, their_config

count_parameters = reference("count_parameters")
refuse = refusing("count_parameters")
_SMALL, _WIDE, _NARROW, _MANY = (11, 7, 3, 2, 6), (1009, 64, 24, 16, 32), (97, 32, 1, 1, 5), (5, 40, 2, 4, 8)


def _count(student: Student, known: Config, **options: Any) -> Reply:
    config = other_config(known)
    where = f"for {sizes_of(config)}"
    answer = student.call("count_parameters", [their_config(student, config)], where=where, **options)
    got, expected = answer["value"], count_parameters(config)
    if type(got) is not float:
        same_count(got.item() if isinstance(got, torch.Tensor) and got.numel() == 1 else got, expected, where)
    differ(got != expected, f"The number of parameters is too {'large' if got > expected else 'small'} {where}.")
    refuse(type(got) is not int, "not_an_int", f"A whole number (an int) is asked for; yours is {kind(got)}.")
    return answer


_counted = each(GPTConfig(*_SMALL), GPT2, *(GPTConfig(*sizes) for sizes in (_NARROW, _MANY, _WIDE)))(_count)
_switched = each(
    *(
        GPTConfig(*sizes, bias=bias, tie_weights=tie_weights)
        for bias, tie_weights in ((False, True), (True, False), (False, False))
        for sizes in (_SMALL, _WIDE, _NARROW, _MANY)
    ),
    GPTConfig(*_SMALL, dropout=0.3),
)(_count)


# The second is too large for floats, and for any layer to be built.
@each(GPTConfig(*_SMALL), GPTConfig(2**38 + 7, 2**36 + 3, 4, 1, 2**21 + 1))
def _by_arithmetic(student: Student, config: Config) -> None:
    operations = _count(student, config, trace=True)["operations"]
    refuse(not {"empty", "normal_", "uniform_", "fill_", "zero_"}.isdisjoint(operations), "model_built")


EXERCISE = Exercise(
    Check("GPT-2's sizes and others", 1.5, _counted),
    Check("without biases, without tied weights", 1.0, _switched),
    Check("by arithmetic, exactly, for any size", 0.5, _by_arithmetic, dependent=True),
    takes="other",
    gives="number",
    harmless=("rounded", "other_signature", "global_generator"),
)
