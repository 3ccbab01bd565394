"""`attention_parameters`: the number for many widths; the mistakes are biases, forgotten projections, heads counted."""

from __future__ import annotations

from autograder.spec.compare import same_count
from autograder.spec.exercise import Check, Exercise
from autograder.spec.student import Student


def _count_with(student: Student) -> None:
    for C in (1, 2, 3, 8, 10, 64, 512, 768):
        with student.case():
            where = f"for embed_dim = {C}, with biases"
            same_count(student.value("attention_parameters", C, where=where), 4 * C * C + 4 * C, where)
    with student.case():
        same_count(student.value("attention_parameters", 6, True), 168, "with bias=True given by position")


def _count_without(student: Student) -> None:
    for C in (1, 2, 3, 8, 10, 64, 512):
        with student.case():
            where = f"for embed_dim = {C}, with bias=False"
            same_count(student.value("attention_parameters", C, bias=False, where=where), 4 * C * C, where)
    with student.case():
        same_count(student.value("attention_parameters", 6, False), 144, "with bias=False given by position")
    with student.case():
        same_count(student.value("attention_parameters", embed_dim=5, bias=False), 100, "with arguments given by name")


EXERCISE = Exercise(
    points=2,
    checks=[
        Check("with biases", 1.2, _count_with),
        Check("without biases", 0.8, _count_without),
    ],
    working=r"""
from torch import nn

def attention_parameters(embed_dim, bias=True):
    module = nn.MultiheadAttention(embed_dim, 1, bias=bias, device="meta")
    return sum(p.numel() for p in module.parameters())
""",
    takes="number",
    gives="number",
    slips=(
        "nothing_returned",
        "text_returned",
    ),
    wrong=r"""
output_forgotten (slip): Only three projections are counted: the output projection is the fourth.
- return 4 * (weights + biases) => return 3 * (weights + biases) || return 3 * weights + 4 * biases
three_biases (slip): One bias too few, or only one in all: each of the four layers has C biases.
- return 4 * (weights + biases) => return 4 * weights + 3 * biases || return 4 * weights + biases
bias_as_matrix (slip): A bias counts as much as a matrix: it is a vector, C numbers for a layer with C outputs.
- biases = embed_dim if => biases = embed_dim * embed_dim if
one_number_per_bias (slip): A bias counts as one number (4 in all): a layer with C outputs has C biases.
- biases = embed_dim if => biases = 1 if
bias_ignored: `bias` makes no difference: with bias=False the 4C biases are not there.
- if bias else 0 =>
- embed_dim if bias else 0 => 0
bias_inverted (slip): bias=True and bias=False are swapped.
- embed_dim if bias else 0 => 0 if bias else embed_dim
conditional_for_all (slip): `a + b if bias else 0` means `(a + b) if bias else 0`: put the conditional in brackets, a + (b if bias else 0).
- return 4 * (weights + biases) => return 4 * weights + 4 * biases if bias else 0 || return 4 * weights + 4 * biases if bias else None
caret: `^` is no power in Python (it is exclusive or): write `embed_dim ** 2` or `embed_dim * embed_dim`.
- return 4 * (weights + biases) => return 4 * embed_dim ^ 2 + 4 * biases
- embed_dim * embed_dim => (embed_dim ^ 2)
bias_default (slip): The default of `bias` is not True: the signature is attention_parameters(embed_dim, bias=True).
- bias=True => bias=False
bias_not_a_parameter: `bias` is not a parameter, or has no default: the signature is attention_parameters(embed_dim, bias=True).
- embed_dim, bias=True => embed_dim
  if bias else 0 =>
- embed_dim, bias=True => embed_dim, bias
one_projection: Only one projection is counted: there are four, for queries, keys, values and output.
- return 4 * (weights + biases) => return weights + biases
square_of_sum: The four is squared too, or C is not: a layer from C to C has C · C weights, and there are four of them.
- embed_dim * embed_dim => (4 * embed_dim) ** 2
  return 4 * (weights + biases) => return weights + 4 * biases
- embed_dim * embed_dim => embed_dim || 2 * embed_dim
times_heads: The projections are counted once for each head: the heads share the width, so their number plays no part.
- embed_dim, bias=True => embed_dim, bias=True, num_heads=8
  return 4 * (weights + biases) => return num_heads * 3 * (weights + biases) + weights + biases
- embed_dim, bias=True => embed_dim, bias=True, num_heads=8
  return 4 * (weights + biases) => return 4 * num_heads * (weights + biases)
whole_block: A whole block is counted (12C²): here only the attention, without feed-forward network and norms.
- return 4 * (weights + biases) => return 12 * weights + 13 * biases || return 12 * weights || return 4 * (weights + biases) + 4 * embed_dim
other_signature (slip): The parameters have other names than in the signature, attention_parameters(embed_dim, bias=True).
- def attention_parameters(embed_dim, bias=True): =>
      def attention_parameters(C, use_bias=True):
          embed_dim, bias = C, use_bias
- def attention_parameters(embed_dim, bias=True): =>
      def attention_parameters(embed_dim, *, bias=True):
bytes: The result is in bytes or in millions: the number of parameters is asked for.
- return 4 * (weights + biases) => return 4 * 4 * (weights + biases) || return 4 * (weights + biases) // 1_000_000
float (slip): The result is not an int (a division, `**` with a float, a tensor): numbers of parameters are whole.
- return 4 * (weights + biases) => return 4.0 * (weights + biases) || return torch.tensor(4 * (weights + biases))
text_returned:
- return 4 * (weights + biases) => return f'{4 * (weights + biases):,}'
pair (slip): Weights and biases are returned apart: one number is asked for, their sum.
- return 4 * (weights + biases) => return 4 * weights, 4 * biases
size_fixed (missed): The result does not depend on embed_dim: it is the count of one particular size.
- return 4 * (weights + biases) => return 4 * (512 * 512 + 512) if bias else 4 * 512 * 512 || return 4 * (768 * 768 + 768) if bias else 4 * 768 * 768
""",
    right=r"""
one_line:
- |
  return 4 * embed_dim**2 + (4 * embed_dim if bias else 0)
booleans_are_numbers:
- |
  def attention_parameters(embed_dim: int, bias: bool = True) -> int:
      return 4 * embed_dim * (embed_dim + bias)
counted:
- |
  layers = [nn.Linear(embed_dim, embed_dim, bias=bias, device='meta') for _ in range(4)]
  return sum(p.numel() for layer in layers for p in layer.parameters())
""",
)
