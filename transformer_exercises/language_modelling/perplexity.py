"""`perplexity`: a float gives a float, a tensor a tensor; the mistakes are other bases, averages and other types."""

from __future__ import annotations

import math

import torch

from autograder.spec.compare import kind
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import device_is_kept, gradients_agree, normal
from autograder.spec.student import Student

from .common import gradient_agrees, quiet_and_pure, same_values


def _perplexity_floats(student: Student) -> None:
    for number in (math.log(6), 0.0, 1.0, 2.75, 0.125, 9.5):
        with student.case():
            where = f"for the float {number:.4g}"
            got = student.value("perplexity", number, where=where)
            if isinstance(got, torch.Tensor):
                raise Wrong(
                    f"The result is a tensor {where}: a float in gives a float out (math.exp).", "tensor_from_float"
                )
            if type(got) not in (int, float):
                raise Wrong(f"The result should be a float {where}; yours is {kind(got)}.")
            if not math.isclose(got, math.exp(number), rel_tol=1e-5):
                raise ValuesDiffer(f"The result is wrong {where}.")


def _perplexity_tensors(student: Student) -> None:
    for given, where in (
        (torch.tensor(1.5), "for a scalar tensor"),
        (normal(4).abs(), "for a tensor of shape (4,)"),
        (normal(2, 3).abs(), "for a tensor of shape (2, 3)"),
        (torch.tensor([2.0]), "for a tensor of shape (1,)"),
    ):
        with student.case():
            got = student.value("perplexity", given, where=where)
            if type(got) in (int, float):
                raise Wrong(
                    f"The result is a Python number {where}: a tensor in gives a tensor out.", "number_from_tensor"
                )
            if isinstance(got, torch.Tensor) and got.shape != given.shape:
                raise Wrong(f"The shape changes {where}: every entry keeps its place.", "wrong_shape")
            same_values(got, given.exp(), "The result", where)


def _perplexity_gradient(student: Student) -> None:
    for given, where in ((normal(2, 3), ""), (normal(3, 1, dtype=torch.float64), "in float64")):
        with student.case():
            gradients_agree(student, "perplexity", torch.exp, [given], ["`mean_nll`"], where=where)
    with student.case():
        scalar = torch.tensor(1.25)
        gradient_agrees(student, "perplexity", torch.exp, [scalar], "`mean_nll`", "for a scalar tensor")


def _perplexity_manners(student: Student) -> None:
    for given in (normal(3, 1), normal(2, 2, dtype=torch.float64)):
        with student.case():
            quiet_and_pure(student, "perplexity", [given], given.exp(), "The result", "`mean_nll`")
    device_is_kept(student, "perplexity", [normal(3)])


EXERCISE = Exercise(
    points=1,
    checks=[
        Check("a float gives a float", 0.4, _perplexity_floats),
        Check("a tensor gives a tensor of its shape", 0.4, _perplexity_tensors),
        Check("gradients", 0.1, _perplexity_gradient, further=True),
        Check("dtype kept, inputs unchanged, any device", 0.1, _perplexity_manners, further=True),
    ],
    working=r"""
import math

def perplexity(mean_nll):
    return math.e**mean_nll
""",
    takes="number",
    gives="number",
    slips=(
        "nothing_returned",
        "rounded",
        "text_returned",
        "global_generator",
    ),
    wrong=r"""
base_two: The base is 2: the loss is a natural logarithm (nats), so its inverse is exp.
- |
  return 2**mean_nll
base_ten: The base is 10: the loss is a natural logarithm, so its inverse is exp.
- |
  return 10**mean_nll
bits: The loss is converted to bits before the exponential: exp goes with nats as they are.
- return torch.exp(mean_nll) => return torch.exp(mean_nll / math.log(2))
  return math.exp(mean_nll) => return math.exp(mean_nll / math.log(2))
- return torch.exp(mean_nll) => return torch.exp2(mean_nll * math.log(2) ** 2)
  return math.exp(mean_nll) => return 2 ** (mean_nll * math.log(2) ** 2)
bits_multiplied: To turn nats into bits, divide by ln 2 instead of multiplying: 2 ** (mean_nll / ln 2) is the same as e ** mean_nll.
- |
  return 2 ** (mean_nll * math.log(2))
negative (slip): The sign is turned: mean_nll is negative log-likelihood already, so perplexity is exp of it, at least 1. exp(−loss) is a probability.
- return torch.exp(mean_nll) => return torch.exp(-mean_nll)
  return math.exp(mean_nll) => return math.exp(-mean_nll)
- return torch.exp(mean_nll) => return 1 / torch.exp(mean_nll)
  return math.exp(mean_nll) => return 1 / math.exp(mean_nll)
unchanged (missed): The loss itself is returned: perplexity is its exponential.
- |
  return mean_nll
logarithm (missed): The logarithm is taken: perplexity is the *exponential* of the loss.
- return torch.exp(mean_nll) => return torch.log(mean_nll)
  return math.exp(mean_nll) => return math.log(mean_nll)
- return torch.exp(mean_nll) => return torch.log(mean_nll)
  return math.exp(mean_nll) => return math.log(mean_nll) if mean_nll else -math.inf
one_less (slip): expm1 is exp(x) − 1: a loss of 0 means a perplexity of 1.
- return torch.exp(mean_nll) => return torch.expm1(mean_nll)
  return math.exp(mean_nll) => return math.expm1(mean_nll)
square (missed): A power or a multiple of the loss is returned: perplexity is e to the power of the loss.
- |
  return math.e * mean_nll
- |
  return mean_nll**2
- |
  return mean_nll**math.e
rounded_base (slip): e is rounded (2.718), which shows in the digits: use exp.
- |
  return 2.718**mean_nll
- |
  return 2.71828**mean_nll
- |
  return 2.72**mean_nll
tensors_only: `torch.exp` does not take a float: a float in must give a float out, so use math.exp for it.
- |
  return torch.exp(mean_nll)
- |
  return mean_nll.exp()
tensor_from_float: A float in gives a tensor out: the result should be of the same type, so use math.exp for a float.
- return math.exp(mean_nll) => return torch.exp(torch.tensor(mean_nll))
- |
  return torch.tensor(mean_nll).exp()
floats_only: `math.exp` makes a Python number of a tensor, or fails for several entries, and no gradient gets through: use torch.exp for a tensor.
- if isinstance(mean_nll, torch.Tensor): =>
  return torch.exp(mean_nll) =>
number_from_tensor: A tensor is turned into a Python number on the way (`.item()`): compute with the tensor itself (torch.exp), which keeps its shape
    and its gradient.
- return torch.exp(mean_nll) => return torch.exp(mean_nll).item() || return math.exp(mean_nll.item()) || return torch.exp(mean_nll).tolist()
- return torch.exp(mean_nll) => return math.exp(mean_nll.mean()) || return torch.tensor(math.exp(mean_nll.item()), dtype=mean_nll.dtype)
- |
  import numpy as np
  return float(np.exp(mean_nll))
numpy: NumPy makes an array of a tensor and cuts the gradient: use torch.exp for a tensor.
- return torch.exp(mean_nll) =>
      import numpy as np
      return np.exp(mean_nll.detach().numpy())
- |
  import numpy as np
  return np.exp(mean_nll)
averaged: The tensor is averaged first: mean_nll is a mean already, and a tensor of several losses gives as many perplexities.
- return torch.exp(mean_nll) => return torch.exp(mean_nll.mean()) || return torch.exp(mean_nll).mean() || return torch.exp(mean_nll.sum())
softmax: The exponentials are normalised (a softmax): perplexity is exp of each loss on its own.
- return torch.exp(mean_nll) => return torch.softmax(mean_nll, dim=-1)
rounded:
- return math.exp(mean_nll) => return round(math.exp(mean_nll), 2) || return int(math.exp(mean_nll)) || return round(math.exp(mean_nll), 3)
- return torch.exp(mean_nll) => return torch.exp(mean_nll).round(decimals=2)
  return math.exp(mean_nll) => return round(math.exp(mean_nll), 2)
- return math.exp(mean_nll) => return round(math.exp(mean_nll))
- return torch.exp(mean_nll) => return torch.exp(mean_nll).round()
  return math.exp(mean_nll) => return float(round(math.exp(mean_nll)))
nothing_returned:
- return torch.exp(mean_nll) => print(torch.exp(mean_nll))
  return math.exp(mean_nll) => print(math.exp(mean_nll))
gradient_cut_off: The result is cut off from its input (`.detach()`, `.data`, `no_grad`, NumPy, or numbers put into a new tensor), so no gradient
    arrives and nothing could be trained through it.
- return torch.exp(mean_nll) => return torch.exp(mean_nll.detach())
- return torch.exp(mean_nll) =>
      if mean_nll.dim() == 0:
          return mean_nll.new_tensor(math.exp(mean_nll.item()))
      return torch.exp(mean_nll)
single_precision: The result is float32 even for float64 inputs (a `.float()`?): keep the dtype that is given.
- return torch.exp(mean_nll) => return torch.exp(mean_nll.float())
double_precision: The result is float64 whatever was given: keep the dtype of the input (float32 in, float32 out).
- return torch.exp(mean_nll) => return torch.exp(mean_nll.double())
one_dimension_more: The shape changes: a scalar tensor gives a scalar tensor, and any other its own shape.
- return torch.exp(mean_nll) => return torch.exp(mean_nll).reshape(-1) || return torch.exp(mean_nll).squeeze() || return torch.exp(mean_nll)[None]
input_changed: `exp_()` writes into the caller's tensor: use `exp`, which makes a new one.
- return torch.exp(mean_nll) =>
      with torch.no_grad():
          return mean_nll.exp_()
- return torch.exp(mean_nll) => return mean_nll.exp_()
""",
    right=r"""
power:
- |
  return math.e ** mean_nll
method:
- |
  return mean_nll.exp() if hasattr(mean_nll, 'exp') else math.exp(mean_nll)
float_first:
- if isinstance(mean_nll, torch.Tensor): => if isinstance(mean_nll, float):
  return torch.exp(mean_nll) => return float(torch.tensor(mean_nll, dtype=torch.float64).exp())
  return math.exp(mean_nll) => return torch.exp(mean_nll)
attempt:
- if isinstance(mean_nll, torch.Tensor): => try:
  return math.exp(mean_nll) =>
      except TypeError:
          return math.exp(mean_nll)
numpy:
- |
  import numpy as np
  if torch.is_tensor(mean_nll):
      return mean_nll.exp()
  return np.exp(mean_nll)
""",
)
