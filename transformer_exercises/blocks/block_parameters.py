"""`block_parameters`: the number for many sizes; the mistakes forget biases, norms, projections or a width."""

from __future__ import annotations

from autograder.spec.compare import same_count
from autograder.spec.exercise import Check, Exercise
from autograder.spec.student import Student


def _block_count(student: Student) -> None:
    for C, F_ in ((2, 3), (1, 1), (3, 5), (4, 16), (5, 2), (8, 8), (64, 256), (128, 512), (768, 3072)):
        with student.case():
            where = f"for embed_dim = {C} and ff_dim = {F_}"
            same_count(
                student.value("block_parameters", C, F_, where=where), 4 * C * C + 2 * C * F_ + 9 * C + F_, where
            )


def _block_count_by_name(student: Student) -> None:
    for C, F_ in ((3, 7), (6, 2)):
        with student.case():
            where = f"with embed_dim={C} and ff_dim={F_} given by name"
            got = student.value("block_parameters", ff_dim=F_, embed_dim=C, where=where)
            same_count(got, 4 * C * C + 2 * C * F_ + 9 * C + F_, where)


EXERCISE = Exercise(
    points=2,
    checks=[
        Check("the number, for many sizes", 1.75, _block_count),
        Check("arguments by name", 0.25, _block_count_by_name, further=True),
    ],
    working=r"""
from torch import nn

def block_parameters(embed_dim, ff_dim):
    layer = nn.TransformerEncoderLayer(embed_dim, 1, ff_dim, device="meta")
    return sum(p.numel() for p in layer.parameters())
""",
    takes="number",
    gives="number",
    slips=(
        "nothing_returned",
        "text_returned",
    ),
    wrong=r"""
no_biases: The biases are missing: each linear layer has one for each output.
- attention = 4 * (embed_dim * embed_dim + embed_dim) => attention = 4 * embed_dim * embed_dim
  feed_forward = (embed_dim * ff_dim + ff_dim) + (ff_dim * embed_dim + embed_dim) => feed_forward = 2 * embed_dim * ff_dim
- |
  return 4 * embed_dim**2 + 2 * embed_dim * ff_dim
- |
  return 4 * embed_dim**2 + 2 * embed_dim * ff_dim + 2 * embed_dim
embed_dim_missing (slip): embed_dim numbers are missing. Is there a bias in each of attention's four layers and in the second layer of ff, and has each of
    the two norms a weight *and* a bias?
- attention = 4 * (embed_dim * embed_dim + embed_dim) => attention = 4 * embed_dim * embed_dim + 3 * embed_dim
four_embed_dim_missing: 4 · embed_dim numbers are missing: the biases of attention (one of C numbers in each of its four layers), or the two norms (a
    weight and a bias of C numbers in each).
- return attention + feed_forward + norms => return attention + feed_forward
one_attention_bias (slip): Only one bias of attention is counted: each of its four layers has C.
- attention = 4 * (embed_dim * embed_dim + embed_dim) => attention = 4 * embed_dim * embed_dim + embed_dim
ff_biases (slip): The biases of the feed-forward network are wrong: ff_dim in the first layer, embed_dim in the second.
- feed_forward = (embed_dim * ff_dim + ff_dim) + (ff_dim * embed_dim + embed_dim) => feed_forward = 2 * embed_dim * ff_dim
- feed_forward = (embed_dim * ff_dim + ff_dim) + (ff_dim * embed_dim + embed_dim) => feed_forward = 2 * (embed_dim * ff_dim + ff_dim)
- feed_forward = (embed_dim * ff_dim + ff_dim) + (ff_dim * embed_dim + embed_dim) => feed_forward = 2 * (embed_dim * ff_dim + embed_dim)
- feed_forward = (embed_dim * ff_dim + ff_dim) + (ff_dim * embed_dim + embed_dim) => feed_forward = 2 * embed_dim * ff_dim + embed_dim
norms_halved (slip): Only half of the norms' parameters are counted: two norms, each with weight *and* bias.
- norms = 2 * (embed_dim + embed_dim) => norms = 2 * embed_dim
norms_single_numbers (slip): The norms' weight and bias count as single numbers: each has C entries.
- norms = 2 * (embed_dim + embed_dim) => norms = 4 || norms = 2
norm_of_ff_dim: A norm is counted with ff_dim numbers: both normalise vectors of width embed_dim.
- norms = 2 * (embed_dim + embed_dim) => norms = 2 * (embed_dim + ff_dim) || norms = 4 * ff_dim
norms_three (slip): The number of norms is not two (a final norm belongs to the model, not to the block).
- norms = 2 * (embed_dim + embed_dim) => norms = 3 * (embed_dim + embed_dim)
output_projection (slip): Attention has four layers: the output projection is missing.
- attention = 4 * (embed_dim * embed_dim + embed_dim) => attention = 3 * (embed_dim * embed_dim + embed_dim)
- attention = 4 * (embed_dim * embed_dim + embed_dim) => attention = 3 * embed_dim * embed_dim + 4 * embed_dim
one_projection: Attention has four linear layers (queries, keys, values, output), not one.
- attention = 4 * (embed_dim * embed_dim + embed_dim) => attention = embed_dim * embed_dim + embed_dim
one_ff_layer: Only one layer of the feed-forward network is counted: there are two, C → F and F → C.
- feed_forward = (embed_dim * ff_dim + ff_dim) + (ff_dim * embed_dim + embed_dim) => feed_forward = embed_dim * ff_dim + ff_dim
- feed_forward = (embed_dim * ff_dim + ff_dim) + (ff_dim * embed_dim + embed_dim) => feed_forward = ff_dim * embed_dim + embed_dim
- feed_forward = (embed_dim * ff_dim + ff_dim) + (ff_dim * embed_dim + embed_dim) => feed_forward = ff_dim * embed_dim
ff_squared: The feed-forward network's layers are counted as F × F: they are C × F and F × C.
- feed_forward = (embed_dim * ff_dim + ff_dim) + (ff_dim * embed_dim + embed_dim) => feed_forward = 2 * (ff_dim * ff_dim + ff_dim)
- feed_forward = (embed_dim * ff_dim + ff_dim) + (ff_dim * embed_dim + embed_dim) => feed_forward = 2 * ff_dim * ff_dim + ff_dim + embed_dim
ff_dim_ignored: ff_dim is taken to be 4 · embed_dim (12C² + 13C): use the ff_dim that is given.
- |
  return 12 * embed_dim**2 + 13 * embed_dim
- |
  return 12 * embed_dim**2
widths_swapped (slip): embed_dim and ff_dim are swapped: block_parameters(embed_dim, ff_dim).
- embed_dim, ff_dim) => ff_dim, embed_dim)
part_missing: A whole part is missing: attention, feed-forward network and two norms are added up.
- return attention + feed_forward + norms => return feed_forward + norms || return attention + norms || return attention
float (slip): The result is not an int (a division, a tensor): numbers of parameters are whole.
- return attention + feed_forward + norms => return float(attention + feed_forward + norms) || return torch.tensor(attention + feed_forward + norms)
apart (slip): The parts are returned one by one: one number is asked for, their sum.
- return attention + feed_forward + norms => return attention, feed_forward, norms
- return attention + feed_forward + norms => return {'attention': attention, 'ff': feed_forward, 'norms': norms}
text_returned:
- return attention + feed_forward + norms => return f'{attention + feed_forward + norms:,}'
argument_names: The parameters have other names or a third is required: block_parameters(embed_dim, ff_dim).
- (embed_dim, ff_dim): =>
      (C, F):
          embed_dim, ff_dim = C, F
""",
    right=r"""
closed_form:
- |
  return 4 * embed_dim**2 + 2 * embed_dim * ff_dim + 9 * embed_dim + ff_dim
counted:
- |
  block = TransformerBlock(embed_dim, 1, ff_dim)
  return sum(p.numel() for p in block.parameters())
sum_of_layers:
- |
  linear = lambda n, m: n * m + m
  C, F = embed_dim, ff_dim
  return sum([linear(C, C)] * 4) + linear(C, F) + linear(F, C) + 2 * (2 * C)
""",
)
