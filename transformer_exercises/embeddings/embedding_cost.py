"""`embedding_cost`: the count and the mebibytes of five tables; the mistakes are units, bytes per number and types."""

from __future__ import annotations

from autograder.spec.compare import a_pair, kind
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.student import Student

from .common import an_int

NAMED = "with arguments given by name"
TABLES = ((32100, 512), (32100, 128), (50257, 64), (1000, 300), (30522, 768))


def _cost(student: Student, V: int, C: int) -> tuple[tuple, str]:
    where = f"for vocab_size = {V} and embed_dim = {C}"
    return a_pair(student.value("embedding_cost", V, C, where=where), "(parameters, mebibytes)"), where


def _cost_parameters(student: Student) -> None:
    for V, C in TABLES:
        with student.case():
            (parameters, _), where = _cost(student, V, C)
            if an_int(parameters, f"The number of parameters {where}") != V * C:
                raise ValuesDiffer(
                    f"The number of parameters {where} is wrong: how many numbers are in a table of V rows of C?"
                )
    with student.case():
        got = student.call("embedding_cost", [], {"vocab_size": 30, "embed_dim": 2}, where=NAMED)["value"]
        if a_pair(got, "(parameters, mebibytes)")[0] != 60:
            raise ValuesDiffer(f"The number of parameters {NAMED} is wrong.")


def _cost_mebibytes(student: Student) -> None:
    for V, C in TABLES:
        with student.case():
            (_, mebibytes), where = _cost(student, V, C)
            if type(mebibytes) is not float:
                raise Wrong(f"The mebibytes {where} should be a float; yours are {kind(mebibytes)}.")
            if not abs(mebibytes - V * C * 4 / 2**20) < 0.0051:  # rounded to two digits is as good
                raise ValuesDiffer(
                    f"The mebibytes {where} are wrong: a float32 takes 4 bytes, a mebibyte is 2**20 bytes."
                )


EXERCISE = Exercise(
    points=1,
    checks=[
        Check("the number of parameters", 0.5, _cost_parameters),
        Check("mebibytes in float32", 0.5, _cost_mebibytes),
    ],
    working=r"""
import torch

def embedding_cost(vocab_size, embed_dim):
    weight = torch.nn.Embedding(vocab_size, embed_dim, device="meta").weight
    return weight.numel(), weight.numel() * weight.element_size() / 1024**2
""",
    takes="number",
    gives="tuple",
    slips=("nothing_returned",),
    wrong=r"""
megabytes (slip): These are megabytes (10**6 bytes, or 1000 · 1024): a mebibyte is 2**20 = 1,048,576 bytes.
- / 2**20 => / 1e6 || / (1000 * 1024)
- parameters * 4 / 2**20 => round(parameters * 4 / 1e6, 2)
bytes_forgotten: A parameter is counted as one byte: a float32 takes 4.
- * 4 / => /
bits: A float32 has 32 bits, which are 4 bytes: memory is counted in bytes.
- * 4 / => * 32 /
double_precision: A parameter is counted with 8 bytes: float32 takes 4 (8 is float64).
- * 4 / => * 8 /
half_precision: A parameter is counted with 2 bytes: float32 takes 4 (2 is float16).
- * 4 / => * 2 /
other_unit: The memory is in another unit: a mebibyte is 2**20 bytes (2**10 is a kibibyte, 2**30 a gibibyte).
- parameters * 4 / 2**20 => float(parameters * 4)
- / 2**20 => / 1024 || / 2**30
- / 2**20 =>
power_written_as_xor (slip): `^` is not a power in Python (it compares bits): write 2**20.
- / 2**20 => / (2 ^ 20)
whole_mebibytes (slip): The mebibytes are rounded, to whole ones (`//`, int, round) or to one decimal: keep two decimals at least, as a float.
- 4 / 2* => 4 // 2*
- parameters * 4 / 2**20 => math.ceil(parameters * 4 / 2**20) || round(parameters * 4 / 2**20)
- parameters * 4 / 2**20 => round(parameters * 4 / 2**20, 1) || float(parameters * 4 // 2**20)
swapped (slip): The two results are the wrong way round: parameters first, then mebibytes.
- , parameters * 4 / 2**20 => * 4 / 2**20, parameters
list (slip): A list is returned: `return parameters, mebibytes` makes a tuple.
- parameters, parameters * 4 / 2**20 => [parameters, parameters * 4 / 2**20]
one_number: Only one number is returned: both are asked for, parameters and mebibytes.
- , parameters * 4 / 2**20 =>
- , parameters =>
dictionary (slip): A dictionary is returned: `return parameters, mebibytes` makes a tuple.
- parameters, parameters * 4 / 2**20 => {'parameters': parameters, 'mebibytes': parameters * 4 / 2**20}
float_parameters (slip): The number of parameters is a float or a tensor: a count is an int.
- parameters, => float(parameters), || torch.tensor(parameters),
millions: The parameters are counted in millions: return their number as it is, an int.
- parameters, => parameters / 1e6, || round(parameters / 1e6, 2),
tensors (slip): Tensors are returned: an int and a float are asked for.
- parameters, parameters * 4 / 2**20 => torch.tensor(parameters), torch.tensor(parameters * 4 / 2**20)
text (slip): Text is returned: numbers are asked for (format them where they are printed).
- parameters, parameters * 4 / 2**20 => f'{parameters:,}', f'{parameters * 4 / 2**20:.2f}'
- parameters * 4 / 2**20 => f'{parameters * 4 / 2**20:.2f}'
- parameters, parameters * 4 / 2**20 => f'{parameters:,} parameters, {parameters * 4 / 2**20:.2f} MiB'
bias_counted: More is counted than the table: an embedding has V · C numbers and no bias.
- parameters = vocab_size * embed_dim =>
      parameters = vocab_size * embed_dim
      parameters += embed_dim
- parameters = vocab_size * embed_dim =>
      parameters = vocab_size * embed_dim
      parameters += vocab_size
- parameters = vocab_size * embed_dim =>
      parameters = vocab_size * embed_dim
      parameters *= 2
sum: The sizes are added: a table of V rows of C numbers has V · C of them.
- parameters = vocab_size * embed_dim =>
      parameters = vocab_size * embed_dim
      parameters = vocab_size + embed_dim
fixed (missed): The numbers of the example are returned: compute them from vocab_size and embed_dim.
- parameters, parameters * 4 / 2**20 => 16435200, 62.70 || 16435200, 62.6953125
other_signature (slip): The arguments have other names: keep the signature embedding_cost(vocab_size, embed_dim), so that they may be given by name.
- vocab_size => V
  embed_dim => C
""",
    right=r"""
rounded:
- parameters * 4 / 2**20 => round(parameters * 4 / 1024 / 1024, 2)
a_real_table:
- |
  table = nn.Embedding(vocab_size, embed_dim)
  parameters = sum(p.numel() for p in table.parameters())
  size = sum(p.numel() * p.element_size() for p in table.parameters())
  return parameters, size / (1 << 20)
named_constants:
- |
  BYTES_PER_FLOAT32 = torch.finfo(torch.float32).bits // 8
  MEBIBYTE = 1024 * 1024

  def embedding_cost(vocab_size: int, embed_dim: int) -> tuple[int, float]:
      n = int(vocab_size * embed_dim)
      return (n, n * BYTES_PER_FLOAT32 / MEBIBYTE)
""",
)
