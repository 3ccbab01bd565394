"""`perplexity`: a float gives a float, a tensor a tensor; the mistakes are other bases, averages and other types."""

import math

import torch

from autograder.spec.compare import kind
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import device_is_kept, gradients_agree, normal
from autograder.spec.student import Student

from ..asking import behaves
from .common import gradient_agrees, same_values


def _floats(student: Student) -> None:
    for number in (math.log(6), 0.0, 1.0, 2.75, 0.125, 9.5):
        with student.case():
            where = f"for the float {number:.4g}"
            got = student.value("perplexity", number, where=where)
            if isinstance(got, torch.Tensor):
                raise Wrong(f"The result is a tensor {where}: a float gives a float (math.exp).", "tensor_from_float")
            if type(got) not in (int, float):
                raise Wrong(f"The result should be a float {where}; yours is {kind(got)}.")
            if not math.isclose(got, math.exp(number), rel_tol=1e-5):
                raise ValuesDiffer(f"The result is wrong {where}.")


def _tensors(student: Student) -> None:
    for given in (torch.tensor(1.5), normal(4).abs(), normal(2, 3).abs(), torch.tensor([2.0])):
        with student.case():
            where = f"for a tensor of shape {tuple(given.shape)}" if given.dim() else "for a scalar tensor"
            got = student.value("perplexity", given, where=where)
            if type(got) in (int, float):
                raise Wrong(f"The result is a number {where}: a tensor gives a tensor.", "number_from_tensor")
            if isinstance(got, torch.Tensor) and got.shape != given.shape:
                raise Wrong(f"The shape changes {where}: every entry keeps its place.", "wrong_shape")
            same_values(got, given.exp(), "The result", where)


def _gradient(student: Student) -> None:
    for given, where in ((normal(2, 3), ""), (normal(3, 1, dtype=torch.float64), "in float64")):
        with student.case():
            gradients_agree(student, "perplexity", torch.exp, [given], ["`mean_nll`"], where=where)
    with student.case():
        gradient_agrees(student, "perplexity", torch.exp, [torch.tensor(1.25)], "`mean_nll`", "for a scalar tensor")


def _manners(student: Student) -> None:
    for given in (normal(3, 1), normal(2, 2, dtype=torch.float64)):
        with student.case():
            behaves(student, "perplexity", [given], "`mean_nll`")
    device_is_kept(student, "perplexity", [normal(3)])


EXERCISE = Exercise(
    Check("a float gives a float", 0.4, _floats),
    Check("a tensor gives a tensor of its shape", 0.4, _tensors),
    Check("gradients", 0.1, _gradient, further=True),
    Check("dtype kept, inputs unchanged, any device", 0.1, _manners, further=True),
)
