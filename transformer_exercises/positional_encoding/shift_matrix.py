"""`shift_matrix`: PE[p] @ M = PE[p + k] for many p, and nothing about its entries."""

import torch

from autograder.spec.compare import a_tensor, dtype_name, same_tensor
from autograder.spec.exercise import Asking, Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import generator_unchanged
from autograder.spec.student import Student

from .common import refuses_odd_widths, sinusoids


def _shifts(*cases: tuple[int, int]) -> Asking:
    """PE[p + k] == PE[p] @ M, for many p: no other matrix does that, so that nothing is asked about its entries."""

    def ask(student: Student) -> None:
        for k, d_model in cases:
            with student.case():
                where = f"for k = {k} and d_model = {d_model}"
                matrix = a_tensor(student.value("shift_matrix", k, d_model, where=where), "The matrix")
                shape = tuple(matrix.shape)
                if shape != (d_model, d_model):
                    raise Wrong(f"The shape {where} should be ({d_model}, {d_model}); yours is {shape}.", "wrong_shape")
                if not matrix.is_floating_point():
                    raise Wrong(f"It should hold floats {where}; yours holds {dtype_name(matrix)}.", "wrong_dtype")
                start = max(0, -k)
                positions = torch.cat([torch.arange(start, start + 40), torch.arange(start + 40, start + 400, 23)])
                before, after = sinusoids(positions, d_model), sinusoids(positions + k, d_model)
                got = before @ matrix.double()
                if not matrix.isfinite().all() or ((got - after).abs() > 3e-5 + 2e-6 * abs(k)).any():
                    reverse = ((before @ matrix.double().mT - after).abs() < 1e-3).all()
                    hint = " (its transpose would do: PE[p] is a row, on the left of the matrix)" if reverse else ""
                    raise ValuesDiffer(f"PE[p] @ M is not PE[p + k] {where}{hint}.")

    return ask


def _manners(student: Student) -> None:
    for k, d_model in ((2, 6), (-1, 4), (0, 2)):
        _shifts((k, d_model))(student)
        with student.case():
            answer = student.call("shift_matrix", [k, d_model])
            got = a_tensor(answer["value"], "The matrix")
            if got.dtype != torch.float32:
                raise Wrong(f"Make it float32, PyTorch's default; yours is {dtype_name(got)}.", "wrong_dtype")
            generator_unchanged(answer)
    with student.case():
        got = student.value("shift_matrix", k=0, d_model=4)
        same_tensor(got, torch.eye(4), "The matrix", "for k = 0, with arguments given by name")


FORWARD = _shifts((1, 4), (3, 8), (2, 2), (5, 6), (7, 16), (12, 10), (1, 32))

BACKWARD = _shifts((-1, 4), (-3, 8), (0, 6), (-10, 2), (0, 2), (-7, 12))

ODD = refuses_odd_widths("shift_matrix", [2, 4], [[1, 3], [2, 7], [0, 5], [-1, 1]])

EXERCISE = Exercise(
    Check("moves every position by k", 2.5, FORWARD),
    Check("backwards too, and not at all for k = 0", 1.0, BACKWARD),
    Check("by hundreds of steps", 0.5, _shifts((100, 8), (1000, 6), (-512, 4), (4000, 12)), further=True),
    Check("an odd d_model is a ValueError", 0.5, ODD),
    Check("a float32 tensor, nothing left to chance", 0.5, _manners, further=True),
)
