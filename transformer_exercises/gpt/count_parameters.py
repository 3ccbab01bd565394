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
    slips=(
        "nothing_returned",
        "text_returned",
    ),
    wrong=r"""
tied_weights_counted_twice (slip): The output layer is counted although it shares the token embedding's matrix: with tie_weights=True that is one matrix,
    counted once.
- 0 if config.tie_weights else V * C => V * C
head_never_counted (slip): With tie_weights=False the output layer has a matrix of its own (V × C), which is missing from the count.
- 0 if config.tie_weights else V * C => 0
tie_inverted (slip): tie_weights is used the wrong way round: when the weights are tied the output layer adds nothing.
- 0 if config.tie_weights else V * C => V * C if config.tie_weights else 0
head_bias (slip): A bias of V numbers is counted for the output layer: as in GPT-2, lm_head has none.
- + norm + head => + norm + head + V || + norm + head + biases * V
- else V * C => else V * C + V || else V * C + biases * V
biases_always: config.bias is ignored: with bias=False no layer has a bias, the norms included.
- 1 if config.bias else 0 => 1
norm_biases_always: With bias=False the norms have no bias either: C numbers each, not 2C.
- norm = C + biases * C => norm = 2 * C
norms_without_weights: Without biases a norm still has its weights: C numbers.
- norm = C + biases * C => norm = 2 * biases * C
- + 2 * norm => + 4 * biases * C
- + norm + head => + 2 * biases * C + head
final_norm_bias_always: With bias=False the final norm has no bias either: C numbers, not 2C.
- + norm + head => + 2 * C + head
biases_never: The biases are missing: each linear layer has one bias for every output, each norm has weight and bias.
- 1 if config.bias else 0 => 0
bias_inverted (slip): config.bias is used the wrong way round: with bias=True every layer but lm_head has a bias.
- 1 if config.bias else 0 => 0 if config.bias else 1
linear_biases (slip): The biases of the linear layers are not the right ones: one for each output, so four times C in attention, 4C and C in the feed-forward
    network.
- 4 * (C * C + biases * C) => 4 * C * C
  + biases * 4 * C) + (4 * C * C + biases * C) => ) + 4 * C * C
- 4 * (C * C + biases * C) => 4 * C * C || 4 * C * C + biases * C || 4 * C * C + 3 * biases * C
- + biases * 4 * C) + (4 * C * C + biases * C) => ) + 4 * C * C
- (4 * C * C + biases * C) => (4 * C * C + biases * 4 * C)
output_projection_missing (slip): Attention has four matrices, not three: after the heads are merged there is an output projection.
- attention = 4 * => attention = 3 *
heads_counted: The number of heads must not matter: the heads share the width C, so all of them together have (C, C) matrices.
- attention = 4 * => attention = config.n_head * 4 * || attention = config.n_head * 3 * (C * C + biases * C) +
- 4 * (C * C + biases * C) => 4 * (config.n_head * C * C + biases * C) || 3 * (C * (C // config.n_head) + biases * C) + C * C + biases * C || 4 * (C * (C // config.n_head) + biases * C)
feed_forward_width: The feed-forward network is not 4C wide: its matrices are (C, 4C) and (4C, C).
- (C * 4 * C + biases * 4 * C) + (4 * C * C + biases * C) => 2 * (C * C + biases * C) || (C * 2048 + biases * 2048) + (2048 * C + biases * C)
- (C * 4 * C + biases * 4 * C) + (4 * C * C + biases * C) => (C * 3072 + biases * 3072) + (3072 * C + biases * C) || 4 * C * C + 3 * biases * C
second_matrix_missing (slip): The feed-forward network has two matrices: C to 4C, and back from 4C to C.
- + (4 * C * C + biases * C) =>
- + (4 * C * C + biases * C) => + biases * C
feed_forward_missing: The feed-forward network of each block is missing.
- attention + feed_forward => attention
attention_missing: Attention is missing: four matrices (C, C) in each block.
- attention + feed_forward => feed_forward
one_norm_each (slip): Each block has two norms, one before attention and one before the feed-forward network.
- + 2 * norm => + norm
no_norms_in_blocks: The norms inside the blocks are missing: two in each.
- + 2 * norm =>
final_norm_missing (slip): The final norm, after the last block, is missing.
- + norm + head => + head
final_norm_in_every_layer (slip): The final norm is counted once for each layer: it comes only once, after the last block.
- config.n_layer * block + norm => config.n_layer * (block + norm)
positions_missing: The position embedding is missing: block_size × C numbers.
- + config.block_size * C =>
positions_as_many_as_tokens (slip): The position embedding has one row for each position (block_size), not one for each token.
- config.block_size * C => V * C
tokens_missing: The token embedding is missing: V × C numbers.
- V * C + config => config
one_layer: Only one block is counted: there are n_layer of them.
- config.n_layer * block => block
positions_in_every_block: The position embedding is counted once for each layer: it is added once, before the first block.
- embeddings + config.n_layer * block => V * C + config.n_layer * (config.block_size * C + block)
everything_times_layers: The embeddings are counted once for each layer: only the blocks repeat.
- embeddings + config.n_layer * block => config.n_layer * (embeddings + block)
width_fixed (missed): A size is fixed in the code (768, 1024 or 50257, say): take all of them from config.
- V, C = config.vocab_size, config.n_embd => V, C = config.vocab_size, 768 || V, C = 50257, config.n_embd
- config.block_size * C => 1024 * C
- config.n_layer * block => 12 * block
- |
  return 124439808
not_an_int (slip): A float is returned (from `/`, or from powers with a float): parameters come in whole numbers, and large counts lose their last digits as
    floats.
- norm + head => norm + head + 0.0
- return embeddings + config.n_layer * block + norm + head => return int(embeddings + config.n_layer * block + norm + head + 0.0)
text_returned:
- return embeddings + config.n_layer * block + norm + head => return f'{embeddings + config.n_layer * block + norm + head:,}'
model_built: A model (or a layer) is built in order to count: a closed form is asked for, from the numbers of the configuration alone. Otherwise a
    model of many billions of parameters could not be counted.
- |
  return sum(p.numel() for p in GPT(config).parameters())
- |
  with torch.device('meta'):
      return sum(p.numel() for p in GPT(config).parameters())
in_millions (slip): The count is divided (millions? thousands?) or given in bytes: the number of parameters itself is asked for.
- return embeddings + config.n_layer * block + norm + head => return (embeddings + config.n_layer * block + norm + head) / 1e6
- return embeddings + config.n_layer * block + norm + head => return 4 * (embeddings + config.n_layer * block + norm + head)
""",
    right=r"""
one_formula:
- |
  C = config.n_embd
  per_block = 12 * C**2 + (13 * C if config.bias else 2 * C)
  return C * (config.vocab_size * (2 - config.tie_weights) + config.block_size) + config.n_layer * per_block + C * (1 + config.bias)
layer_by_layer:
- |
  def linear(inputs, outputs):
      return inputs * outputs + (outputs if config.bias else 0)

  def norm(width):
      return 2 * width if config.bias else width

  C = config.n_embd
  total = config.vocab_size * C + config.block_size * C
  for _ in range(config.n_layer):
      total += norm(C) + linear(C, 3 * C) + linear(C, C)
      total += norm(C) + linear(C, 4 * C) + linear(4 * C, C)
  total += norm(C)
  if not config.tie_weights:
      total += C * config.vocab_size
  return total
shapes:
- |
  C, F4 = config.n_embd, 4 * config.n_embd
  matrices = [(C, C)] * 4 + [(C, F4), (F4, C)]
  vectors = [C] * 4 + [F4, C] + [C, C] if config.bias else []
  block = sum(a * b for a, b in matrices) + sum(vectors) + 2 * C
  ends = [(config.vocab_size, C), (config.block_size, C), (1, C)] + [(1, C)] * bool(config.bias)
  if not config.tie_weights:
      ends.append((config.vocab_size, C))
  return int(config.n_layer * block + sum(a * b for a, b in ends))
""",
)
