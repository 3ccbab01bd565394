"""`perplexity`: a float gives a float, a tensor a tensor; the mistakes are other bases, averages and other types."""

import math

import torch

from autograder.spec import (
    Cases,
    Check,
    Exercise,
    Student,
    ValuesDiffer,
    Wrong,
    behaves,
    cases_of,
    device,
    gradients,
    kind,
    normal,
    other_number,
    refusing,
    same_values,
)

refuse = refusing("perplexity")


cases = cases_of("perplexity")


def _floats(student: Student) -> None:
    for known in (math.log(6), 0.0, 1.0, 2.75, 0.125, 9.5):
        with student.case():
            number = other_number(known, 0.0, 10.0) if known else known
            where = f"for the float {number:.4g}"
            got = student.value("perplexity", number, where=where)
            refuse(isinstance(got, torch.Tensor), "tensor_from_float")
            if type(got) not in (int, float):
                raise Wrong(f"The result should be a float {where}; yours is {kind(got)}.")
            if not math.isclose(got, math.exp(number), rel_tol=1e-5):
                raise ValuesDiffer(f"The result is wrong {where}.")


def _tensors(student: Student) -> None:
    for given in (torch.tensor(1.5), normal(4).abs(), normal(2, 3).abs(), torch.tensor([2.0])):
        with student.case():
            where = f"for a tensor of shape {tuple(given.shape)}" if given.dim() else "for a scalar tensor"
            got = student.value("perplexity", given, where=where)
            refuse(type(got) in (int, float), "number_from_tensor")
            same_values(got, given.exp(), "The result", where)


@cases
def _gradient() -> Cases:
    yield gradients([normal(2, 3)], ["`mean_nll`"])
    yield gradients([normal(3, 1, dtype=torch.float64)], ["`mean_nll`"], where="in float64")
    yield gradients([torch.tensor(1.25)], ["`mean_nll`"], where="for a scalar tensor")


@cases
def _side_effects() -> Cases:
    for given in (normal(3, 1), normal(2, 2, dtype=torch.float64)):
        yield behaves([given], "`mean_nll`")
    yield device([normal(3)])


EXERCISE = Exercise(
    Check("e to the power of a float, as a float", 0.4, _floats),
    Check("e to the power of a tensor, in its shape", 0.4, _tensors),
    Check("gradients", 0.1, _gradient, dependent=True),
    Check("dtype kept, inputs unchanged, any device", 0.1, _side_effects, dependent=True),
    takes="number",
    gives="number",
    harmless=("other_signature", "global_generator"),
)
