"""`cosine_similarity`: values, broadcasting, zero vectors and their gradients, tiny and huge lengths.

The mistakes: 0/0 forwards or backwards, an epsilon that shows, another dimension, shapes that do not broadcast.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from autograder.spec.compare import a_tensor, dtype_name, same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import normal
from autograder.spec.student import Student

from .common import all_gradients_agree, stays_on_device, vectors

cosine_similarity = reference("cosine_similarity")


def _with_zeros() -> list[tuple[torch.Tensor, torch.Tensor, str]]:
    a, b = vectors(5, 3), vectors(5, 3)
    a[1], b[3] = 0, 0
    a[4], b[4] = 0, 0
    zero, some = torch.zeros(4), vectors(4)
    return [
        (a, b, "with zero vectors in a, in b, and in both"),
        (zero, some, "for a zero vector a"),
        (some, zero, "for a zero vector b"),
        (zero, zero, "for two zero vectors"),
    ]


def _cosine_values(student: Student) -> None:
    for shape in ((7,), (5, 3), (2, 3, 4), (4, 4), (1, 6), (3, 1), (2, 1, 5, 2), (0, 3), (2, 40)):
        with student.case():
            a, b = vectors(*shape), vectors(*shape)
            where = f"for a and b of shape {tuple(shape)}"
            got = student.value("cosine_similarity", a, b, where=where)
            same_tensor(got, cosine_similarity(a, b), "The result", where)
    a = torch.tensor([[3.0, 4.0], [1.0, 0.0], [2.0, -1.0], [0.5, 0.5]])
    b = torch.tensor([[30.0, 40.0], [0.0, 2.0], [-2.0, 1.0], [7.0, 0.0]])
    where = "for parallel, perpendicular, opposite vectors and such as are 45° apart"
    same_tensor(student.value("cosine_similarity", a, b, where=where), cosine_similarity(a, b), "The result", where)


def _cosine_broadcast(student: Student) -> None:
    for one, other in (
        *(((5,), (3, 5)), ((3, 5), (5,)), ((4, 1, 5), (3, 5)), ((3, 5), (4, 1, 5)), ((2, 1, 3), (2, 4, 3))),
        *(((3, 1, 4), (1, 2, 4)), ((6, 4), (1, 4)), ((4,), (4, 4))),
    ):
        with student.case():
            a, b = vectors(*one), vectors(*other)
            where = f"for a of shape {tuple(one)} and b of shape {tuple(other)}"
            got = student.value("cosine_similarity", a, b, where=where)
            same_tensor(got, cosine_similarity(a, b), "The result", where)


def _cosine_zeros(student: Student) -> None:
    for a, b, where in _with_zeros():
        with student.case():
            got = student.value("cosine_similarity", a, b, where=where)
            same_tensor(got, cosine_similarity(a, b), "The result", where)


def _cosine_zero_gradients(student: Student) -> None:
    for a, b, where in _with_zeros():
        with student.case():
            expected = cosine_similarity(a, b)
            answer = student.call("cosine_similarity", [a, b], where=where, upstream=[torch.ones_like(expected)])
            same_tensor(answer["value"], expected, "The result", where)
            for name, gradient in zip(("a", "b"), answer["gradients"].get("inputs", []), strict=False):
                if gradient is None:
                    raise Wrong(
                        f"No gradient reaches {name} {where}: the result is cut off from it.", "gradient_cut_off"
                    )
                if a_tensor(gradient, f"The gradient of {name}").isnan().any():
                    raise Wrong(
                        f"The gradient of {name} contains NaN {where}, although the values are right: backwards, 0 · "
                        "inf or 0/0 happens at a length of 0 (where a root of a sum of squares, or a division, was not "
                        "kept from 0)."
                    )


def _cosine_lengths(student: Student) -> None:
    """One vector may be tiny; two at once not: PyTorch's own formula once compared the product with 1e-8."""
    for one, other, digits in (
        (1e-6, 1, 0.02),
        (1, 1e-6, 0.02),
        (1e-3, 1e-3, 0.02),
        (1e6, 1e-6, 1e-4),
        (1e6, 1e6, 1e-4),
    ):
        with student.case():
            a, b = (F.normalize(normal(6, 5), dim=-1) * 2 * length for length in (one, other))
            where = f"for lengths of about {one:g} and {other:g}"
            got, expected = student.value("cosine_similarity", a, b, where=where), cosine_similarity(a, b)
            if a_tensor(got, "The result").shape == expected.shape and (got - expected).abs().max() < digits:
                continue
            same_tensor(got, expected, "The result", where)


def _cosine_gradient(student: Student) -> None:
    for one, other in (((5, 3), (5, 3)), ((4,), (2, 4)), ((3, 1, 2), (4, 2))):
        with student.case():
            where = f"for shapes {one} and {other}"
            args = [vectors(*one), vectors(*other)]
            all_gradients_agree(student, "cosine_similarity", cosine_similarity, args, ["a", "b"], where)


def _cosine_manners(student: Student) -> None:
    for dtype, one, other in (
        (torch.float32, (5, 3), (5, 3)),
        (torch.float64, (4, 3), (4, 3)),
        (torch.float64, (3,), (2, 3)),
    ):
        with student.case():
            # long vectors: 1e-8 added to the product of their lengths must not show in float64 either
            a, b = 100 * vectors(*one, dtype=dtype), 100 * vectors(*other, dtype=dtype)
            where = f"in {dtype_name(a)}"
            answer = student.call("cosine_similarity", [a, b], where=where)
            same_tensor(answer["value"], cosine_similarity(a, b), "The result", where)
            unchanged(answer["inputs"], [a, b], "a, b")
    a, b = vectors(3, 5).T, vectors(3, 2, 5).transpose(0, 2)  # (5, 3), (5, 2, 3)
    for left, right, where in (
        (a, b[:, 0], "for a transpose and a slice (not contiguous)"),
        (a[:, None], b, "for transposes (not contiguous) that broadcast"),
    ):
        with student.case():
            got = student.value("cosine_similarity", left, right, where=where)
            same_tensor(got, cosine_similarity(left, right), "The result", where)
    with student.case():
        where = "with arguments given by name"
        got = student.call("cosine_similarity", [], {"a": a, "b": a[1]}, where=where)["value"]
        same_tensor(got, cosine_similarity(a, a[1]), "The result", where)
    with student.case():
        stays_on_device(student, "cosine_similarity", [vectors(5, 3), vectors(5, 3)])


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("dot products over lengths, along the last dimension", 1.25, _cosine_values),
        Check("broadcasts", 0.75, _cosine_broadcast, further=True),
        Check("zero vectors give 0", 0.6, _cosine_zeros, further=True),
        Check("no NaN in the gradients of zero vectors", 0.25, _cosine_zero_gradients, further=True),
        Check("short and long vectors", 0.25, _cosine_lengths, further=True),
        Check("gradients", 0.5, _cosine_gradient, further=True),
        Check("float64, inputs unchanged, device", 0.4, _cosine_manners, further=True),
    ],
    working=r"""
import torch.nn.functional as F

def cosine_similarity(a, b):
    return F.cosine_similarity(a, b, dim=-1)
""",
    takes="tensor",
    gives="tensor",
    slips=(
        "nothing_returned",
        "gradient_cut_off",
        "input_changed",
        "single_precision",
        "double_precision",
        "single_precision_inside",
        "squeezed",
        "rounded",
        "array_returned",
    ),
    wrong=r"""
zero_vectors_nan: A zero vector gives 0/0 = NaN. Keep the lengths away from 0 before dividing, for example with `clamp(min=1e-8)`.
- .clamp(min=1e-8) =>
- |
  a, b = a / a.norm(dim=-1, keepdim=True), b / b.norm(dim=-1, keepdim=True)
  return (a * b).sum(dim=-1)
- a_norm = a.norm(dim=-1).clamp(min=1e-8) => return dots / ((a * a).sum(-1) * (b * b).sum(-1)).sqrt()
  b_norm = b.norm(dim=-1).clamp(min=1e-8) =>
  return dots / (a_norm * b_norm) =>
nan_gradient: Zero vectors give 0, but their gradients are NaN: a division by 0 that is only covered afterwards (torch.where, nan_to_num), or the
    slope of a square root at 0, is infinite, and 0 · inf is NaN on the way back. Take the lengths with `.norm()` and keep them away from 0 before
    dividing (clamp).
- a_norm = a.norm(dim=-1).clamp(min=1e-8) => a_norm, b_norm = ((t * t).sum(-1).sqrt().clamp(min=1e-8) for t in (a, b))
  b_norm = b.norm(dim=-1).clamp(min=1e-8) =>
- |
  dots = (a * b).sum(dim=-1)
  norms = ((a * a).sum(-1) * (b * b).sum(-1)).sqrt()
  return dots / norms.clamp(min=1e-8)
- |
  dots = (a * b).sum(dim=-1)
  norms = (a * a).sum(-1).sqrt() * (b * b).sum(-1).sqrt()
  return dots / (norms + 1e-8)
- |
  dots = (a * b).sum(dim=-1)
  cosine = dots / (a.norm(dim=-1) * b.norm(dim=-1))
  return torch.where(cosine.isnan(), torch.zeros_like(cosine), cosine)
zero_vectors_not_0: Zero vectors do not give 0: a zero vector has no direction, and its similarity to anything is 0 here.
- a_norm = a.norm(dim=-1).clamp(min=1e-8) => return (dots / (a.norm(dim=-1) * b.norm(dim=-1))).nan_to_num(nan=1.0)
  b_norm = b.norm(dim=-1).clamp(min=1e-8) =>
  return dots / (a_norm * b_norm) =>
- a_norm = a.norm(dim=-1).clamp(min=1e-8) => return (dots / (a.norm(dim=-1) * b.norm(dim=-1))).nan_to_num(nan=-1.0)
  b_norm = b.norm(dim=-1).clamp(min=1e-8) =>
  return dots / (a_norm * b_norm) =>
- |
  a, b = a + 1e-8, b + 1e-8
  dots = (a * b).sum(dim=-1)
  return dots / (a.norm(dim=-1) * b.norm(dim=-1))
- |
  a, b = a + 1e-6, b + 1e-6
  dots = (a * b).sum(dim=-1)
  return dots / (a.norm(dim=-1) * b.norm(dim=-1))
- |
  a, b = a + 1e-9, b + 1e-9
  dots = (a * b).sum(dim=-1)
  return dots / (a.norm(dim=-1) * b.norm(dim=-1))
- |
  a, b = a + 1e-10, b + 1e-10
  dots = (a * b).sum(dim=-1)
  return dots / (a.norm(dim=-1) * b.norm(dim=-1))
- |
  a, b = a + 1e-12, b + 1e-12
  dots = (a * b).sum(dim=-1)
  return dots / (a.norm(dim=-1) * b.norm(dim=-1))
epsilon_too_large: The number added (or clamped to) against division by zero is so large that it changes the result of short vectors: take a smaller
    one (1e-8).
- |
  dots = (a * b).sum(dim=-1)
  a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
  return dots / (a_norm * b_norm).clamp(min=1e-5)
- |
  dots = (a * b).sum(dim=-1)
  a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
  return dots / (a_norm * b_norm).clamp(min=1e-4)
- |
  dots = (a * b).sum(dim=-1)
  a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
  return dots / (a_norm * b_norm).clamp(min=1e-3)
- |
  dots = (a * b).sum(dim=-1)
  a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
  return dots / (a_norm * b_norm).clamp(min=1e-2)
- |
  dots = (a * b).sum(dim=-1)
  a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
  return dots / (a_norm * b_norm + 1e-7)
- |
  dots = (a * b).sum(dim=-1)
  a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
  return dots / (a_norm * b_norm + 1e-6)
- |
  dots = (a * b).sum(dim=-1)
  a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
  return dots / (a_norm * b_norm + 1e-5)
- |
  dots = (a * b).sum(dim=-1)
  a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
  return dots / (a_norm * b_norm + 1e-4)
- |
  dots = (a * b).sum(dim=-1)
  a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
  return dots / (a_norm * b_norm + 1e-3)
- |
  dots = (a * b).sum(dim=-1)
  a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
  return dots / ((a_norm + 1e-7) * (b_norm + 1e-7))
- |
  dots = (a * b).sum(dim=-1)
  a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
  return dots / ((a_norm + 1e-6) * (b_norm + 1e-6))
- |
  dots = (a * b).sum(dim=-1)
  a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
  return dots / ((a_norm + 1e-5) * (b_norm + 1e-5))
- |
  dots = (a * b).sum(dim=-1)
  a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
  return dots / ((a_norm + 1e-4) * (b_norm + 1e-4))
- |
  dots = (a * b).sum(dim=-1)
  a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
  return dots / ((a_norm + 1e-3) * (b_norm + 1e-3))
- |
  dots = (a * b).sum(dim=-1)
  a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
  return dots / (a_norm.clamp(min=1e-5) * b_norm.clamp(min=1e-5))
- |
  dots = (a * b).sum(dim=-1)
  a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
  return dots / (a_norm.clamp(min=1e-4) * b_norm.clamp(min=1e-4))
- |
  dots = (a * b).sum(dim=-1)
  a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
  return dots / (a_norm.clamp(min=1e-3) * b_norm.clamp(min=1e-3))
- |
  dots = (a * b).sum(dim=-1)
  a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
  return dots / (a_norm.clamp(min=1e-2) * b_norm.clamp(min=1e-2))
dot_product: This is the dot product: it still has to be divided by both lengths.
- |
  return (a * b).sum(dim=-1)
mean_for_sum: The products are averaged: a dot product is their sum.
- (a * b).sum => (a * b).mean
one_length: Only one of the two lengths is divided by.
- (a_norm * b_norm) => a_norm || b_norm
squared_lengths (slip): The lengths are not lengths but their squares: the root is missing.
- a_norm = a.norm(dim=-1).clamp(min=1e-8) => return dots / ((a * a).sum(-1) * (b * b).sum(-1)).clamp(min=1e-12)
  b_norm = b.norm(dim=-1).clamp(min=1e-8) =>
  return dots / (a_norm * b_norm) =>
- a_norm = a.norm(dim=-1).clamp(min=1e-8) => return dots / ((a * a).sum(-1) * (b * b).sum(-1)).clamp(min=1e-8)
  b_norm = b.norm(dim=-1).clamp(min=1e-8) =>
  return dots / (a_norm * b_norm) =>
- a_norm = a.norm(dim=-1).clamp(min=1e-8) => return dots / ((a * a).sum(-1).clamp(min=1e-8) * (b * b).sum(-1).clamp(min=1e-8))
  b_norm = b.norm(dim=-1).clamp(min=1e-8) =>
  return dots / (a_norm * b_norm) =>
- a_norm = a.norm(dim=-1).clamp(min=1e-8) => return dots / ((a * a).sum(-1) * (b * b).sum(-1) + 1e-8)
  b_norm = b.norm(dim=-1).clamp(min=1e-8) =>
  return dots / (a_norm * b_norm) =>
sum_of_lengths: The dot product is divided by the sum of the lengths (a bracket is missing, or + in place of ·): divide by their product.
- a_norm * b_norm => a_norm + b_norm
- (a_norm * b_norm) => a_norm * b_norm
absolute_lengths: The length of a vector is the root of the sum of its squares (the 2-norm); yours is another one, or a mean.
- norm(dim=-1) => norm(p=1, dim=-1) || abs().amax(dim=-1)
- a.norm(dim=-1) => (a * a).mean(dim=-1).clamp(min=1e-16).sqrt()
  b.norm(dim=-1) => (b * b).mean(dim=-1).clamp(min=1e-16).sqrt()
distance: 1 minus the cosine is a distance: a similarity is asked for, 1 for parallel vectors.
- |
  def right_cosine_similarity(a, b):
      dots = (a * b).sum(dim=-1)  # (...)
      a_norm = a.norm(dim=-1).clamp(min=1e-8)  # (...): never 0, so that 0 / 0 cannot happen
      b_norm = b.norm(dim=-1).clamp(min=1e-8)
      return dots / (a_norm * b_norm)


  def cosine_similarity(a, b):
      return 1 - right_cosine_similarity(a, b)
absolute_value: The sign is lost: opposite vectors have −1.
- in distance
  1 - right_cosine_similarity(a, b => right_cosine_similarity(a, b).abs(
- in distance
  1 - right_cosine_similarity(a, b => right_cosine_similarity(a, b).clamp(0, 1
- in distance
  1 - right_cosine_similarity(a, b) => right_cosine_similarity(a, b)**2
rescaled: The result is turned into an angle or rescaled: the cosine itself is asked for, from −1 to 1.
- in distance
  1 - right_cosine_similarity(a, b) => (1 + right_cosine_similarity(a, b)) / 2
- in distance
  1 - right_cosine_similarity(a, b => torch.acos(right_cosine_similarity(a, b).clamp(-1, 1)
- in distance
  1 - right_cosine_similarity(a, b => torch.cos(right_cosine_similarity(a, b)
- in distance
  1 - right_cosine_similarity(a, b => torch.softmax(right_cosine_similarity(a, b), dim=-1
centred: The mean is taken off first: that is a correlation, not a cosine.
- in mean_for_sum
  dots = (a * b).mean(dim=-1) =>
      a, b = a - a.mean(-1, keepdim=True), b - b.mean(-1, keepdim=True)
      dots = (a * b).sum(dim=-1)  # (...)
first_dimension: The sum or the length runs along the first dimension, or over everything: vectors lie along the last one (dim=-1).
- dim=-1 => dim=0
- norm(dim=-1) => norm()
- .sum(dim=-1) => .sum()
  norm(dim=-1) => norm()
- |
  return F.cosine_similarity(a, b, dim=0)
dimension_1: The dimension is counted from the front (dim=1, which is also F.cosine_similarity's default): it is the last one, dim=-1, whatever the
    number of dimensions.
- dim=-1 => dim=1
- |
  return F.cosine_similarity(a, b)
all_pairs: A matrix product compares each vector of a with each of b: here each is compared with its partner (broadcast), so that two tensors (n, C)
    give (n,).
- |
  a, b = F.normalize(a, dim=-1, eps=1e-8), F.normalize(b, dim=-1, eps=1e-8)
  return a @ b.transpose(-2, -1)
- |
  a, b = F.normalize(a, dim=-1, eps=1e-8), F.normalize(b, dim=-1, eps=1e-8)
  return a @ b.T
- |
  dots = a @ b.T
  a_norm, b_norm = a.norm(dim=-1).clamp(min=1e-8), b.norm(dim=-1).clamp(min=1e-8)
  return dots / (a_norm[..., None] * b_norm)
- |
  return (a @ b.T) / (a.norm() * b.norm() + 1e-8)
only_vectors: It works for single vectors only (torch.dot, `a @ b`): leading dimensions and broadcasting are asked for.
- |
  return torch.dot(a, b) / (a.norm().clamp(min=1e-8) * b.norm().clamp(min=1e-8))
- |
  return a @ b / (a.norm().clamp(min=1e-8) * b.norm().clamp(min=1e-8))
rows_in_a_loop: A loop over the first dimension works for two matrices only: single vectors, more dimensions and broadcasting are asked for.
- |
  rows = [(x @ y) / (x.norm() * y.norm()).clamp(min=1e-8) for x, y in zip(a, b)]
  return torch.stack(rows)
- |
  rows = [torch.dot(x, y) / (x.norm() * y.norm() + 1e-8) for x, y in zip(a, b)]
  return torch.stack(rows)
same_shape_only: The shapes of a and b are required to be the same (or b is made like a): they are broadcast against each other.
- in distance
  return 1 - right_cosine_similarity(a, b) =>
      assert a.shape == b.shape
      return right_cosine_similarity(a, b)
- in distance
  return 1 - right_cosine_similarity(a, b) =>
      if a.shape != b.shape:
          raise ValueError('shapes differ')
      return right_cosine_similarity(a, b)
dimension_kept (slip): The last dimension is kept with size 1 (keepdim): (…, C) gives (…), one number for each pair.
- dim=-1 => dim=-1, keepdim=True
one_dimension_kept: Some of the results keep a last dimension of size 1 and others do not, so that they are broadcast against each other.
- norm(dim=-1) => norm(dim=-1, keepdim=True)
- .sum(dim=-1) => .sum(dim=-1, keepdim=True)
mean_over_batch: One number is returned for all the pairs: each pair has its own.
- in distance
  1 - right_cosine_similarity(a, b => right_cosine_similarity(a, b).mean(
- in distance
  1 - right_cosine_similarity(a, b => right_cosine_similarity(a, b).mean(dim=-1
python_number: A Python number (`.item()`) or a list is returned: a tensor is asked for.
- in same_shape_only
  assert a.shape == b.shape => right = right_cosine_similarity(a, b)
  return right_cosine_similarity(a, b) => return right.item() if right.dim() == 0 else right
- in distance
  1 - right_cosine_similarity(a, b => right_cosine_similarity(a, b).tolist(
- in distance
  1 - right_cosine_similarity(a, b => right_cosine_similarity(a, b).item(
branch_on_batch: `if` looks at the whole batch: one zero vector makes all the results 0. Decide for each vector, with clamp or torch.where.
- a_norm = a.norm(dim=-1).clamp(min=1e-8) =>
      a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
      if (a_norm == 0).any() or (b_norm == 0).any():
          return torch.zeros_like(dots)
  b_norm = b.norm(dim=-1).clamp(min=1e-8) =>
- a_norm = a.norm(dim=-1).clamp(min=1e-8) =>
      a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
      if (a_norm == 0).any() or (b_norm == 0).any():
          return torch.tensor(0.0)
  b_norm = b.norm(dim=-1).clamp(min=1e-8) =>
- a_norm = a.norm(dim=-1).clamp(min=1e-8) =>
      a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
      if (a_norm == 0).any() or (b_norm == 0).any():
          return 0.0
  b_norm = b.norm(dim=-1).clamp(min=1e-8) =>
- a_norm = a.norm(dim=-1).clamp(min=1e-8) =>
      a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
      if (a_norm == 0).any() or (b_norm == 0).any():
          return 0
  b_norm = b.norm(dim=-1).clamp(min=1e-8) =>
branch_on_one: `if` wants a single True or False, and fails for a batch: use clamp or torch.where, which decide for each vector.
- in branch_on_batch
  (a_norm == 0).any() or (b_norm == 0).any() => a_norm == 0 or b_norm == 0
- in branch_on_batch
  (a_norm == 0).any() or (b_norm == 0).any() => a_norm * b_norm == 0
  torch.zeros_like(dots) => dots * 0
lengths_detached: The lengths are cut off from the gradient (`.detach()`, `no_grad`): they depend on a and b too.
- norm(dim=-1) => norm(dim=-1).detach()
array_returned:
- |
  dots = (a.numpy() * b.numpy()).sum(-1)
  a_norm, b_norm = (((t.numpy() ** 2).sum(-1) ** 0.5).clip(1e-8) for t in (a, b))
  return torch.as_tensor(dots / (a_norm * b_norm))
- |
  dots = (a.numpy() * b.numpy()).sum(-1)
  a_norm, b_norm = ((t.numpy() ** 2).sum(-1) ** 0.5 for t in (a, b))
  return torch.tensor(dots / (a_norm * b_norm + 1e-8))
- |
  dots = (a.numpy() * b.numpy()).sum(-1)
  a_norm, b_norm = ((t.numpy() ** 2).sum(-1) ** 0.5 for t in (a, b))
  return torch.tensor(dots / (a_norm * b_norm))
input_changed:
- in distance
  return 1 - right_cosine_similarity(a, b) =>
      result = right_cosine_similarity(a, b)
      with torch.no_grad():
          a /= a.norm(dim=-1, keepdim=True).clamp(min=1e-8)
          b /= b.norm(dim=-1, keepdim=True).clamp(min=1e-8)
      return result
view_needed (slip): `view` refuses tensors that are not contiguous, such as transposes: use `reshape`, or name the dimension, `dim=-1`.
- dots = =>
      a, b = (t.view(-1, t.shape[-1]).view(t.shape) for t in (a, b))
      dots =
other_signature (slip): The arguments have other names: keep the signature cosine_similarity(a, b), so that they may be given by name.
- cosine_similarity(a, b): => cosine_similarity(x, y):
  dots = =>
      a, b = x, y
      dots =
""",
    right=r"""
unit_vectors:
- |
  a, b = F.normalize(a, dim=-1), F.normalize(b, dim=-1)
  return torch.einsum("...c,...c->...", a, b)
epsilon_on_the_product:
- a_norm = a.norm(dim=-1).clamp(min=1e-8) => return dots / (a.norm(dim=-1) * b.norm(dim=-1)).clamp(min=1e-8)
  b_norm = b.norm(dim=-1).clamp(min=1e-8) =>
  return dots / (a_norm * b_norm) =>
epsilon_added:
- |
  dots = (a * b).sum(dim=-1)
  a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)
  return dots / (a_norm * b_norm + 1e-8)
root_of_clamped_squares:
- |
  dots = (a * b).sum(dim=-1)
  squares = ((t * t).sum(-1).clamp(min=1e-16) for t in (a, b))
  return dots * next(squares).rsqrt() * next(squares).rsqrt()
vecdot_and_where:
- |
  norms = torch.linalg.vector_norm(a, dim=-1) * torch.linalg.vector_norm(b, dim=-1)
  safe = torch.where(norms == 0, torch.ones_like(norms), norms)
  return torch.linalg.vecdot(*torch.broadcast_tensors(a, b)) / safe
""",
)
