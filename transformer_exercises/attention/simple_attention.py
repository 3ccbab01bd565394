"""`simple_attention`: values alone and in batches, large x, gradients.

The mistakes: softmax over queries or not at all, batches mixed, features that attend, scores scaled or masked.
"""

from __future__ import annotations

import torch

from autograder.spec.compare import same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept, generator_unchanged, gradients_agree, normal
from autograder.spec.student import Student

simple_attention = reference("simple_attention")


def _simple_values(student: Student) -> None:
    for shape in (
        (4, 6),
        (6, 3),
        (2, 5, 3),
        (3, 3),
        (1, 4),
        (2, 3, 4, 5),
        (1, 1),
        (3, 33, 4),
        (150, 2),
        (2, 1, 3, 4, 2),
        (5, 5, 5),
    ):
        with student.case():
            x, where = normal(*shape), f"for x of shape {shape}"
            same_tensor(student.value("simple_attention", x, where=where), simple_attention(x), "The result", where)
    for rows, where in (
        ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "for whole numbers, 0 among them"),
        (
            [[0.5, -1.0, 2.0], [0.0, 0.0, 0.0], [0.5, -1.0, 2.0], [0.5, 0.5, 0.5]],
            "where tokens are equal, or all zeros",
        ),
    ):
        with student.case():
            x = torch.tensor(rows)
            same_tensor(student.value("simple_attention", x, where=where), simple_attention(x), "The result", where)


def _simple_large(student: Student) -> None:
    x = normal(2, 4, 5)  # a value first: where the softmax saturates, scores of any scale give the same
    same_tensor(student.value("simple_attention", x), simple_attention(x), "The result")
    x = normal(2, 4, 5, scale=60.0)
    where = "for large x (scores beyond 1e4)"
    same_tensor(student.value("simple_attention", x, where=where), simple_attention(x), "The result", where)


def _simple_gradient(student: Student) -> None:
    for shape, dtype in (((4, 3), torch.float32), ((2, 3, 5), torch.float64)):
        with student.case():
            gradients_agree(
                student, "simple_attention", simple_attention, [normal(*shape, dtype=dtype, scale=0.7)], ["`x`"]
            )


def _simple_manners(student: Student) -> None:
    x = normal(2, 4, 3, dtype=torch.float64)
    answer = student.call("simple_attention", [x], where="for float64 x")
    same_tensor(answer["value"], simple_attention(x), "The result", "for float64 x")
    unchanged(answer["inputs"], [x], "`x`")
    generator_unchanged(answer)
    where = "when called a second time"
    same_tensor(student.value("simple_attention", x, where=where), simple_attention(x), "The result", where)
    for turned in (normal(3, 5).T, normal(2, 4, 3, 5).transpose(1, 2)):
        where = "for a tensor that is not contiguous (a transpose)"
        same_tensor(
            student.value("simple_attention", turned, where=where), simple_attention(turned), "The result", where
        )
    where = "with x given by name"
    same_tensor(
        student.call("simple_attention", [], {"x": x}, where=where)["value"], simple_attention(x), "The result", where
    )
    device_is_kept(student, "simple_attention", [normal(2, 4, 3)])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("values, alone and in batches", 1.5, _simple_values),
        Check("stable for large x", 0.5, _simple_large, further=True),
        Check("gradients", 0.5, _simple_gradient, further=True),
        Check("float64, inputs unchanged, any layout and device", 0.5, _simple_manners, further=True),
    ],
    working=r"""
import torch.nn.functional as F

def simple_attention(x):
    return F.scaled_dot_product_attention(x, x, x, scale=1.0)
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
        "list_returned",
        "array_returned",
        "global_generator",
    ),
    wrong=r"""
no_softmax: The raw similarities are used as weights: take the softmax of each row first, so that it is an average.
- torch.softmax(scores, dim=-1) => scores
softmax_over_queries: The softmax runs over the wrong dimension (or the weights are transposed): each column of the weights sums to 1 instead of each
    row.
- dim=-1 => dim=-2
softmax_dim_zero: The softmax runs over dim=0: over the queries in a single matrix, over the batch in a batch. Use dim=-1.
- torch.softmax(scores, dim=-1) => torch.softmax(scores, dim=0)
softmax_dim_one: The softmax runs over dim=1, which is right for one matrix only. Count from the end: dim=-1.
- torch.softmax(scores, dim=-1) => torch.softmax(scores, dim=1)
softmax_everywhere: One softmax runs over all scores together: each row must sum to 1 on its own.
- torch.softmax(scores, dim=-1) => torch.softmax(scores.flatten(), 0).reshape(scores.shape)
scaled (slip): The scores are divided by the root of C. Scaling comes later in this notebook; here softmax(x xᵀ) x is asked.
- x @ x.transpose(-2, -1) => x @ x.transpose(-2, -1) / x.shape[-1] ** 0.5
scaled_by_width (slip): The scores are divided by C. Here the unscaled softmax(x xᵀ) x is asked.
- x @ x.transpose(-2, -1) => x @ x.transpose(-2, -1) / x.shape[-1]
matrix_only: This works for a single matrix only (`x.T`, `transpose(0, 1)`, `x[i]`, a loop over `len(x)`): in a batch the first dimension is the
    batch. Count from the end: `x.transpose(-2, -1)`, `x[..., t, :]`.
- x.transpose(-2, -1) => x.T || x.transpose(0, 1)
- |
  return torch.stack([torch.softmax(x @ row, dim=0) @ x for row in x])
batch_summed: The batch dimension is summed away (an einsum without it in the result), so sequences are mixed. Keep `...` on both sides.
- |
  return torch.softmax(torch.einsum('btc,bsc->ts', x, x), -1) @ x
- |
  return torch.softmax(torch.einsum('...tc,...sc->ts', x, x), -1) @ x
batch_only: Dimensions are counted from the front (`transpose(1, 2)`, `permute(0, 2, 1)`, `bmm`, `dim=2`): right with exactly one batch dimension
    only. Count from the end: `transpose(-2, -1)`, `dim=-1`, and `@` for the product.
- x.transpose(-2, -1) => x.transpose(1, 2) || x.permute(0, 2, 1)
- torch.softmax(scores, dim=-1) => torch.softmax(scores, dim=2)
some_dimensions_only: The number of dimensions is fixed in the code (unpacking `x.shape`, or one case for each): x may have any number of leading
    batch dimensions. Write `...` and count from the end.
- |
  T, C = x.shape
  return torch.softmax(x @ x.T, dim=-1) @ x
- |
  B, T, C = x.shape
  return torch.softmax(x @ x.mT, dim=-1) @ x
- |
  if x.dim() == 2:
      x = x.unsqueeze(0)
  return torch.softmax(x @ x.mT, dim=-1) @ x
- |
  if x.dim() > 4:
      raise ValueError('dimensions')
  return torch.softmax(x @ x.mT, dim=-1) @ x
batch_flattened: The batch is flattened into one long sequence, so the tokens of different sequences attend to each other.
- |
  flat = x.reshape(-1, x.shape[-1])
  return (torch.softmax(flat @ flat.T, dim=-1) @ flat).reshape(x.shape)
view_needed: `view` refuses tensors that are not contiguous, such as transposes. Use `reshape`, or leave the batch to `@`.
- |
  flat = x.view(-1, *x.shape[-2:])
  return (torch.softmax(flat @ flat.mT, dim=-1) @ flat).view(x.shape)
last_token_only: Only one token's result is returned: a variable is overwritten in the loop. Collect all rows and stack them.
- return weights @ x => return (weights @ x)[..., -1, :] || return (weights @ x)[..., 0, :]
averaged_over_queries: The results of all tokens are added up or averaged: each token keeps an output of its own, (..., T, C).
- return weights @ x => return (weights @ x).sum(-2) || return (weights @ x).mean(-2)
softmax_twice: The softmax is applied twice, which flattens the weights. Once is enough: its rows already sum to 1.
- torch.softmax(scores, dim=-1) => torch.softmax(torch.softmax(scores, dim=-1), dim=-1)
causal (slip): Later tokens are blocked: no mask is asked for here, each token looks at all of them.
- scores = x @ x.transpose(-2, -1) =>
      scores = x @ x.transpose(-2, -1)  # (..., T, T): entry [t, s] says how alike tokens t and s are
      future = torch.ones_like(scores, dtype=torch.bool).triu(1)
      scores = scores.masked_fill(future, float('-inf'))
input_changed:
- |
  x -= x.mean(dim=-1, keepdim=True)
  scores = x @ x.transpose(-2, -1)  # (..., T, T): entry [t, s] says how alike tokens t and s are
  weights = torch.softmax(scores, dim=-1)  # (..., T, T): each row sums to 1
  return weights @ x  # (..., T, C)
- |
  x /= x.norm(dim=-1, keepdim=True)
  scores = x @ x.transpose(-2, -1)  # (..., T, T): entry [t, s] says how alike tokens t and s are
  weights = torch.softmax(scores, dim=-1)  # (..., T, T): each row sums to 1
  return weights @ x  # (..., T, C)
- |
  x /= x.shape[-1] ** 0.5
  scores = x @ x.transpose(-2, -1)  # (..., T, T): entry [t, s] says how alike tokens t and s are
  weights = torch.softmax(scores, dim=-1)  # (..., T, T): each row sums to 1
  return weights @ x  # (..., T, C)
tokens_normalised: The tokens are centred or normalised first (a layer norm): softmax(x xᵀ) x of the tokens as they are is asked for.
- in input_changed
  -= x.mean(dim=-1, keepdim=True => = F.layer_norm(x, x.shape[-1:]
- in input_changed
  -= x.mean(dim= => = x - x.mean(
transposed_result (slip): The result is transposed: (..., T, C) is asked for, one row for each token.
- return weights @ x => return (weights @ x).transpose(-2, -1)
list_returned: A list is returned: stack its rows into one tensor with torch.stack.
- return weights @ x => return list((weights @ x).unbind(-2))
weights_returned (slip): The weights are returned; the output is the weights times x.
- return weights @ x => return weights
both_returned (slip): Two things are returned; here only the output (..., T, C) is asked for.
- return weights @ x => return weights @ x, weights
features_attend: xᵀ x compares the C features with each other instead of the T tokens: the scores should be (T, T).
- |
  scores = x.transpose(-2, -1) @ x
  return x @ torch.softmax(scores, dim=-1)
residual (slip): The input is added to the result (a residual connection): that comes in notebook 08.
- return weights @ x => return x + weights @ x
unstable: The exponential is taken of the raw scores, which overflows for large x. Use a stable softmax.
- torch.softmax(scores, dim=-1) => scores.exp() / scores.exp().sum(-1, keepdim=True)
gradient_cut_off:
- torch.softmax(scores, dim=-1) => torch.softmax(scores, dim=-1).detach()
side_detached: One of the three roles of x is cut off from the gradient (`.detach()`, `no_grad`): the values are right, but what is learned is not.
- weights @ x => weights @ x.detach()
- x.transpose(-2, -1) => x.detach().transpose(-2, -1)
- x @ x.tr => x.detach() @ x.tr
single_precision:
- return weights @ x => return weights.float() @ x.float()
double_precision:
- return weights @ x => return weights.double() @ x.double()
no_self: Each token ignores itself here: the diagonal belongs to the weights too.
- torch.softmax(scores, dim=-1) => torch.softmax(scores - 1e9 * torch.eye(x.shape[-2]).to(x), dim=-1)
normalised_vectors: The vectors of one side or both are scaled to length 1 first (cosine similarity). The plain dot products x xᵀ are asked for.
- scores = x @ x.transpose(-2, -1) =>
      u = x / x.norm(dim=-1, keepdim=True)
      scores = u @ u.transpose(-2, -1)
- x @ x.transpose(-2, -1) => F.normalize(x, dim=-1) @ F.normalize(x, dim=-1).mT || F.normalize(x, dim=-1) @ x.mT || x @ F.normalize(x, dim=-1).mT
divided_by_sum: The scores are divided by their sum instead of going through a softmax: with negative scores that is no average.
- torch.softmax(scores, dim=-1) => scores / scores.sum(-1, keepdim=True)
one_only: Each token takes the one most similar token (argmax) instead of an average of all, weighted by the softmax.
- torch.softmax(scores, dim=-1) => F.one_hot(scores.argmax(-1), x.shape[-2]).to(x.dtype)
distances: Distances between tokens are used as scores. The dot products x xᵀ are asked for.
- x @ x.transpose(-2, -1) => -torch.cdist(x, x) || -torch.cdist(x, x) ** 2
uniform (missed): Every token gets the plain mean of all tokens: the similarities are not used.
- torch.softmax(scores, dim=-1) => torch.softmax(scores * 0, dim=-1)
length_limited (slip): The number of tokens is limited by a fixed maximum: any T is allowed.
- scores = =>
      x = x[..., :32, :]
      scores =
- scores = =>
      x = x[..., :64, :]
      scores =
- scores = =>
      x = x[..., :128, :]
      scores =
other_signature (slip): The argument has another name: keep the signature simple_attention(x), so that it may be given by name.
- x @ => tokens @
  x.transpose => tokens.transpose
  simple_attention(x): => simple_attention(tokens):
  weights @ x => weights @ tokens
""",
    right=r"""
einsum:
- |
  w = torch.softmax(torch.einsum('...tc,...sc->...ts', x, x), -1)
  return torch.einsum('...ts,...sc->...tc', w, x)
loop:
- |
  rows = []
  for t in range(x.shape[-2]):
      w = torch.softmax((x[..., t : t + 1, :] * x).sum(-1), dim=-1)  # (..., T)
      rows.append((w.unsqueeze(-1) * x).sum(-2))
  return torch.stack(rows, dim=-2)
own_softmax:
- torch.softmax( => softmax(
mT:
- |
  return (x @ x.mT).softmax(-1) @ x
""",
)
