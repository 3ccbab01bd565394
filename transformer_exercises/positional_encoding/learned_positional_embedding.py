"""`LearnedPositionalEmbedding`: one trainable table under any name, its rows added, T > max_len refused.

The mistakes: rows of the batch for positions, texts cut off in silence, tables that are frozen, fixed or made anew.
"""

from __future__ import annotations

from typing import Any

import torch

from autograder.spec.compare import dtype_name, same_gradients, same_tensor, unchanged
from autograder.spec.exercise import Check, Exercise, Problem, Wrong
from autograder.spec.inputs import device_is_kept, devices_differ, normal, raises_error
from autograder.spec.student import Student

_TENSORS = """
def tensors(module):
    return [t.detach() for m in module.modules() for t in [*m.buffers(recurse=False), *vars(m).values()]
            if isinstance(t, torch.Tensor)]
"""


def _is_table(value: Any, max_len: int, embed_dim: int) -> bool:
    """(max_len, embed_dim), or the same with dimensions of size 1 before it."""
    shaped = isinstance(value, torch.Tensor) and value.dim() >= 2 and tuple(value.shape[-2:]) == (max_len, embed_dim)
    return shaped and value.numel() == max_len * embed_dim


def _state(student: Student, module: Any) -> dict:
    """The module's state.

    What the parameters are called, and how they begin, is nobody's mistake: their shapes are recorded.
    """
    state = student.state(module)
    tensors = [p for p in state["parameters"].values() if isinstance(p, torch.Tensor)]
    kinds = sorted((dtype_name(p), list(p.shape)) for p in tensors)
    student.note([kinds, len(state["trainable"])])
    return state


def _learned(student: Student, max_len: int, embed_dim: int, dtype: str = "") -> tuple[Any, torch.Tensor, str]:
    """A built module, the numbers in its table, and the name of that parameter, which may be any.

    Where no parameter is a table, a buffer or plain tensor of that shape will do: that is marked elsewhere.
    """
    module = student.build("LearnedPositionalEmbedding", max_len, embed_dim)
    if dtype:
        student.move(module, dtype)
    parameters = _state(student, module)["parameters"]
    for name, value in parameters.items():
        if _is_table(value, max_len, embed_dim):
            table = normal(*value.shape, dtype=torch.float64 if dtype else torch.float32)
            student.load(module, {name: table})
            return module, table.reshape(max_len, embed_dim), name
    others = student.call(student.probe("tensors", _TENSORS), [module], record=False)["value"]
    for value in others if isinstance(others, list) else []:
        if _is_table(value, max_len, embed_dim):
            return module, value.reshape(max_len, embed_dim), ""
    raise Wrong(
        f"LearnedPositionalEmbedding({max_len}, {embed_dim}) holds no table of shape ({max_len}, {embed_dim}): make "
        "one parameter of that shape in `__init__`."
    )


def _learned_device(student: Student) -> None:
    """Like device_is_kept, and once more with every new tensor that names no device somewhere else.

    nn.Embedding takes ids of another device without a word when there are no numbers to look up.
    """
    module, table, _ = _learned(student, 5, 3)
    x = normal(2, 4, 3)
    try:
        answer = student.call(module, [x], strict_device=True)
    except Problem as problem:
        left = devices_differ(problem)  # but not: made elsewhere, and moved to x afterwards
    else:
        value = answer["value"]
        left = not isinstance(value, torch.Tensor) or value.shape != x.shape or not torch.allclose(value, x + table[:4])
        if left:  # what comes back is whatever was in memory
            student.note("not on the device")
    if left:
        raise Wrong(
            "The result does not stay on the device of x: somewhere a tensor is made without `device=x.device`. It "
            "works on a CPU and fails on a GPU.",
            "device_not_kept",
        )
    device_is_kept(student, module, [x])


def _learned_parameters(student: Student) -> None:
    for max_len, embed_dim in ((7, 4), (3, 6)):
        with student.case():
            state = _state(student, student.build("LearnedPositionalEmbedding", max_len, embed_dim))
            parameters = state["parameters"]
            tables = [name for name, value in parameters.items() if _is_table(value, max_len, embed_dim)]
            if not parameters:
                raise Wrong(
                    "There is no parameter, so nothing can be learned: make the table an nn.Parameter or an "
                    "nn.Embedding."
                )
            if not tables:
                shapes = ", ".join(str(tuple(p.shape)) for p in parameters.values() if isinstance(p, torch.Tensor))
                raise Wrong(
                    f"The table should have shape ({max_len}, {embed_dim}), one row for each position; yours: "
                    f"{shapes[:80]}."
                )
            if len(parameters) > 1:
                raise Wrong(
                    f"There should be one parameter, the table; yours has {', '.join(map(str, parameters))[:120]}."
                )
            if tables[0] not in state["trainable"]:
                raise Wrong("The table is frozen (requires_grad=False), so it cannot be learned.")
            if parameters[tables[0]].dtype != torch.float32:
                raise Wrong(
                    f"The table should be float32, PyTorch's default; yours is {dtype_name(parameters[tables[0]])}."
                )
    with student.case():
        named = _state(student, student.build("LearnedPositionalEmbedding", max_len=5, embed_dim=2))["parameters"]
        if not any(_is_table(value, 5, 2) for value in named.values()):
            raise Wrong(
                "LearnedPositionalEmbedding(max_len=5, embed_dim=2) should build the same as "
                "LearnedPositionalEmbedding(5, 2)."
            )


def _learned_values(student: Student) -> None:
    for max_len, B, T, C in (
        *((9, 2, 5, 4), (6, 3, 6, 4), (8, 1, 3, 2), (5, 4, 1, 3), (4, 4, 4, 4), (12, 2, 7, 1), (1, 2, 1, 5)),
        *((3, 6, 2, 3), (40, 2, 33, 3), (1200, 1, 1100, 2)),
    ):
        with student.case():
            module, table, _ = _learned(student, max_len, C)
            x = normal(B, T, C)
            where = f"for max_len = {max_len}, B = {B}, T = {T}, C = {C}"
            same_tensor(student.value(module, x, where=where), x + table[:T], "The result", where)


def _learned_modes(student: Student) -> None:
    module, table, _ = _learned(student, 7, 40)
    x = normal(3, 5, 40)
    for training, where in ((True, "in training mode"), (False, "in evaluation mode"), (True, "in a second call")):
        with student.case():
            got = student.call(module, [x], where=where, training=training)["value"]
            same_tensor(got, x + table[:5], "The result", where)


def _learned_too_long(student: Student) -> None:
    module, table, _ = _learned(student, 6, 3)
    full = normal(2, 6, 3)
    same_tensor(student.value(module, full), full + table, "The result", "for T = max_len")
    for T in (7, 9, 60):
        with student.case(), raises_error(f"T = {T} with max_len = 6"):
            try:
                student.value(module, normal(2, T, 3))
            except Problem as problem:
                if problem.error == "ValueError" and not problem.text.strip():
                    student.note("an error without words")
                    raise Wrong(
                        f"The ValueError for T = {T} with max_len = 6 says nothing: say what is wrong."
                    ) from None
                raise


def _learned_gradient(student: Student) -> None:
    for max_len, B, T, C in ((7, 3, 4, 5), (5, 2, 5, 3)):
        with student.case():
            module, table, name = _learned(student, max_len, C)
            x, upstream = normal(B, T, C), normal(B, T, C)
            where = f"for max_len = {max_len}, T = {T}"
            answer = student.call(module, [x], where=where, upstream=[upstream])
            same_tensor(answer["value"], x + table[:T], "The result", where)
            expected = torch.cat([upstream.sum(0), torch.zeros(max_len - T, C)])
            gradients = answer["gradients"]
            mine = gradients.get("parameters", {}).get(name)
            if isinstance(mine, torch.Tensor) and mine.numel() == expected.numel():
                mine = mine.reshape(expected.shape)
                mine.was_differentiable = False  # type: ignore[attr-defined]  # as if it had come over the wire so
            student.note_gradients({"table": mine})  # whatever its name
            same_gradients([mine], [expected], ["the table"], where)
            same_gradients(gradients.get("inputs", []), [upstream], ["x"], where)


def _learned_manners(student: Student) -> None:
    module, table, name = _learned(student, 6, 3)
    other, other_table, _ = _learned(student, 6, 3)
    x = normal(2, 4, 3)
    answer = student.call(module, [x])
    same_tensor(answer["value"], x + table[:4], "The result")
    unchanged(answer["inputs"], [x], "x")
    same_tensor(student.value(other, x), x + other_table[:4], "The result", "of a second module")
    after = _state(student, module)["parameters"].get(name)
    if isinstance(after, torch.Tensor) and not torch.equal(after.reshape(6, 3), table):
        raise Wrong("A call changes the table: only training may do that.")
    for length in (2, 6):
        with student.case():
            where, other_x = f"in a later call with T = {length}", normal(3, length, 3)
            same_tensor(student.value(module, other_x, where=where), other_x + table[:length], "The result", where)
    with student.case():
        turned, where = normal(2, 3, 4).mT, "for a transpose (not contiguous), given by name"
        got = student.call(module, [], {"x": turned}, where=where)["value"]
        same_tensor(got, turned + table[:4], "The result", where)
    with student.case():
        module, table, _ = _learned(student, 5, 3, "float64")
        x = normal(2, 4, 3, dtype=torch.float64)
        same_tensor(student.value(module, x, where="in float64"), x + table[:4], "The result", "in float64")
    with student.case():
        _learned_device(student)


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("one parameter: a table (max_len, embed_dim)", 0.75, _learned_parameters),
        Check("adds row t to position t", 1.25, _learned_values),
        Check("the same in training and evaluation", 0.25, _learned_modes, further=True),
        Check("T > max_len is a ValueError", 0.75, _learned_too_long),
        Check("gradients in the rows used, and in x", 0.5, _learned_gradient, further=True),
        Check("float64, input unchanged, device", 0.5, _learned_manners, further=True),
    ],
    working=r"""
import torch
from torch import nn

class LearnedPositionalEmbedding(nn.Module):
    def __init__(self, max_len, embed_dim):
        super().__init__()
        self.positions = nn.Embedding(max_len, embed_dim)

    def forward(self, x):
        if x.shape[1] > self.positions.num_embeddings:
            raise ValueError("x is longer than max_len")
        return x + self.positions(torch.arange(x.shape[1], device=x.device))
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
        "rounded",
        "list_returned",
        "array_returned",
        "error_of_another_type",
        "error_returned",
        "bad_input_accepted",
    ),
    wrong=r"""
positions_only: Only the rows of the table are returned: they are added to x.
- return x + self.table[:T] => return self.table[:T] || return self.table[:T].expand_as(x)
x_only (missed): x is returned as it came: the rows of the table are to be added.
- return x + self.table[:T] => return x
multiplied: x is multiplied with the table, or the table subtracted: its rows are added.
- return x + self.table[:T] => return x * self.table[:T] || return x - self.table[:T]
concatenated: The positions are put beside x (or before it): they are added, so that the shape stays (B, T, C).
- return x + self.table[:T] => return torch.cat([x, self.table[:T].expand_as(x)], dim=-1) || return torch.cat([self.table[:T].expand_as(x), x], dim=1)
bad_input_accepted: A sequence longer than max_len is not refused by you: test T before using the table, and raise a ValueError that says what was wrong.
- if max_len < T: =>
  raise ValueError(f"x has {T} positions, more than max_len = {max_len}") =>
- in embedding_layer
  T = x.shape[1] => return x + self.embedding(torch.arange(x.shape[1], device=x.device))
  if T > self.max_len: =>
  raise ValueError('too long') =>
  return x + self.embedding(torch.arange(T, device=x.device)) =>
quietly_made_to_fit: A sequence longer than max_len is made to fit in silence (cut, or given rows a second time): nobody would notice. Raise a
    ValueError that says what was wrong.
- if max_len < T: => x, T = x[:, :max_len], min(T, max_len)
  raise ValueError(f"x has {T} positions, more than max_len = {max_len}") =>
- if max_len < T: => return x + self.table[torch.arange(T, device=x.device).clamp(max=max_len - 1)]
  raise ValueError(f"x has {T} positions, more than max_len = {max_len}") =>
  return x + self.table[:T] =>
- if max_len < T: => return x + self.table[torch.arange(T, device=x.device) % max_len]
  raise ValueError(f"x has {T} positions, more than max_len = {max_len}") =>
  return x + self.table[:T] =>
gradient_cut_off:
- self.table[:T] => self.table.data[:T]
error_returned:
- raise ValueError(f"x has {T} positions, more than max_len = {max_len}") =>
      print('too long')
      return x
full_length_refused (slip): T = max_len is refused, but the table has a row for each of these positions: only T > max_len is an error.
- max_len < T => max_len <= T
full_length_only: Only T = max_len works: a shorter sequence gets the first T rows of the table.
- self.table[:T] => self.table
- max_len < T => max_len != T
batch_for_length: The length is taken from the wrong dimension: x is (B, T, C), so T is x.shape[1].
- x.shape[1] => x.shape[0] || x.shape[2]
length_first: x is taken as (T, B, C), with the positions first: it is (B, T, C).
- x.shape[1] => x.shape[0]
  self.table[:T] => self.table[:T, None]
one_row: All positions get the same row: position t gets row t.
- self.table[:T] => self.table[0] || self.table[T - 1] || self.table[:T].mean(dim=0) || self.table[:T].sum(dim=0)
rows_shifted (slip): The rows are off by one: position 0 gets row 0.
- self.table[:T] => self.table.roll(-1, 0)[:T] || self.table.roll(1, 0)[:T]
- in embedding_layer
  arange(T, => arange(1, T + 1,
last_rows: The last rows of the table are used, or the rows in reverse: position t gets row t.
- self.table[:T] => self.table[-T:] || self.table[:T].flip(0) || self.table.flip(0)[:T]
columns: Columns of the table are used for positions: it has a row for each position.
- 0.02 * torch.randn(max_len, embed_dim) => 0.02 * torch.randn(embed_dim, max_len)
  self.table.shape[0] => self.table.shape[1]
  self.table[:T] => self.table[:, :T].T
- 0.02 * torch.randn(max_len, embed_dim) => 0.02 * torch.randn(embed_dim, max_len)
- self, max_len, embed_dim => self, embed_dim, max_len
linear_layer: An nn.Linear is no table of positions: it holds its numbers transposed, and a bias. Use nn.Embedding(max_len, embed_dim), or a parameter
    of that shape.
- in embedding_layer
  embedding = nn.Embedding => linear = nn.Linear
  embedding(torch.arange(T, device=x.device) => linear(torch.eye(self.max_len, dtype=x.dtype, device=x.device)[:T]
fixed_size: The number of rows is not max_len, but a fixed number, or one more: the table has one row for each of max_len positions.
- in embedding_layer
  Embedding(max_len, embed_dim => Embedding(max_len + 1, embed_dim
- in embedding_layer
  Embedding(max_len, => Embedding(512,
- in embedding_layer
  Embedding(max_len, => Embedding(1000,
- in embedding_layer
  Embedding(max_len, => Embedding(1024,
- in embedding_layer
  Embedding(max_len, => Embedding(5000,
x_looked_up: x is looked up in the table as if it held ids: it holds vectors already, and the table is asked for rows 0 … T-1.
- in embedding_layer
  torch.arange(T, device=x.device => x.long(
- in embedding_layer
  x + self.embedding(torch.arange(T, device=x.device) => self.embedding(x
two_results (slip): Two tensors are returned: only the sum is asked for.
- return x + self.table[:T] => return x + self.table[:T], self.table[:T]
not_a_parameter: The table is a plain tensor or a buffer, so that no optimizer would train it: wrap it in nn.Parameter (or use nn.Embedding).
- self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim)) => self.table = 0.02 * torch.randn(max_len, embed_dim)
- self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim)) => self.register_buffer('table', 0.02 * torch.randn(max_len, embed_dim))
- self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim)) => self.table = 0.02 * torch.randn(max_len, embed_dim).requires_grad_()
no_table (missed): The module keeps no table: what is computed or made in forward is never trained. Make one parameter in `__init__`.
- in embedding_layer
  self.max_len = max_len => self.max_len, self.embed_dim = max_len, embed_dim
  self.embedding = nn.Embedding(max_len, embed_dim) =>
  return x + self.embedding(torch.arange(T, device=x.device)) => return x + sinusoidal_encoding(T, 2 * self.embed_dim)[:, : self.embed_dim].to(x)
sinusoids: The table is filled with sinusoids and never trained: here it is learned, a parameter.
- self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim)) => self.register_buffer('table', sinusoidal_encoding(max_len, 2 * embed_dim)[:, :embed_dim])
frozen (slip): The table is frozen (requires_grad=False, freeze=True): it is there to be learned.
- 0.02 * torch.randn(max_len, embed_dim) => 0.02 * torch.randn(max_len, embed_dim), requires_grad=False
new_table_each_call (missed): The rows added are drawn anew in each call of forward: add those of the table made in `__init__`.
- return x + self.table[:T] => return x + 0.02 * torch.randn_like(self.table)[:T]
dropout (slip): Dropout is applied in training: only the rows of the table are added here.
- return x + self.table[:T] => return nn.functional.dropout(x + self.table[:T], 0.1, self.training)
extra_parameters: There are parameters beside the table (a norm, a bias, a second table): one table is all that is learned.
- self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim)) =>
      self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim))
      self.norm = nn.LayerNorm(embed_dim)
  return x + self.table[:T] => return self.norm(x + self.table[:T])
- self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim)) =>
      self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim))
      self.norm = nn.LayerNorm(embed_dim)
- self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim)) =>
      self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim))
      self.scale = nn.Parameter(torch.ones(1))
  return x + self.table[:T] => return x + self.scale * self.table[:T]
- self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim)) =>
      self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim))
      self.tokens = nn.Embedding(max_len, embed_dim)
- self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim)) =>
      self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim))
      self.scale = nn.Parameter(torch.tensor(1.0))
scaled (slip): x or the rows are scaled: the result is x plus the rows as they are.
- return x + self.table[:T] => return x * x.shape[-1] ** 0.5 + self.table[:T] || return x + self.table[:T] * x.shape[-1] ** 0.5
- return x + self.table[:T] => return (x + self.table[:T]) / 2
rows_for_sequences: The rows are given to the sequences of the batch instead of the positions: each sequence gets rows 0 … T-1.
- self.table[:T] => self.table[torch.arange(x.shape[0], device=x.device) % max_len][:, None]
changed_in_place: The caller's x is changed (`x += …`): make a new tensor, `x + …`.
- return x + self.table[:T] =>
      x += self.table[:T]
      return x
- return x + self.table[:T] =>
      result = x + self.table[:T]
      with torch.no_grad():
          x.zero_()
      return result
one_sequence: A batch dimension is lost or added: the result has the shape of x, (B, T, C).
- return x + self.table[:T] => return (x + self.table[:T])[0] || return (x + self.table[:T]).squeeze() || return (x + self.table[:T])[None]
- return x + self.table[:T] => return (x + self.table[:T]).mean(dim=1)
device_dropped: The positions are made without `device=x.device`: on a GPU the look-up fails.
- in embedding_layer
  , device=x.device =>
not_a_module (missed): The class is no nn.Module: write `class LearnedPositionalEmbedding(nn.Module)`, and call super().__init__() first.
- (nn.Module) =>
  super().__init__() =>
length_limited (slip): The number of tokens is limited by a fixed maximum: any T up to max_len is allowed.
- x.shape[1], self.table.shape[0] => x.shape[1], min(self.table.shape[0], 512) || x.shape[1], min(self.table.shape[0], 1024)
first_length_kept: The positions of the first call are kept (a cache), so that a later x of another length fails: make them anew from x.shape[1].
- in embedding_layer
  T = x.shape[1] =>
      T = x.shape[1]
      if not hasattr(self, 'positions'):
          self.positions = torch.arange(T).to(x.device)
  torch.arange(T, device=x.device) => self.positions
view_needed (slip): `view` refuses tensors that are not contiguous, such as transposes: use `reshape`, or let the rows broadcast.
- return x + self.table[:T] => return (x.view(x.shape[0], -1) + self.table[:T].flatten()).view(x.shape)
other_signature (slip): The arguments have other names: keep LearnedPositionalEmbedding(max_len, embed_dim) and forward(x), so that they may be given
    by name.
- max_len, embed_dim): => max_length, embed_dim):
  torch.randn(max_len, => torch.randn(max_length,
- forward(self, x): => forward(self, tokens):
  T, max_len = =>
      x = tokens
      T, max_len =
error_without_words (slip): The ValueError says nothing: tell the caller what is wrong, how long x is and how long it may be.
- ValueError(f"x has {T} positions, more than max_len = {max_len}") => ValueError
""",
    right=r"""
embedding_layer:
- self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim)) =>
      self.max_len = max_len
      self.embedding = nn.Embedding(max_len, embed_dim)
  T, max_len = x.shape[1], self.table.shape[0] => T = x.shape[1]
  if max_len < T: => if T > self.max_len:
  raise ValueError(f"x has {T} positions, more than max_len = {max_len}") => raise ValueError('too long')
  return x + self.table[:T] => return x + self.embedding(torch.arange(T, device=x.device))
leading_dimension:
- self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim)) =>
      self.pos = nn.Parameter(torch.zeros(1, max_len, embed_dim))
      nn.init.trunc_normal_(self.pos, std=0.02)
  T, max_len = x.shape[1], self.table.shape[0] => B, T, C = x.shape
  if max_len < T: => if T > self.pos.size(1):
  raise ValueError(f"x has {T} positions, more than max_len = {max_len}") => raise ValueError(f'sequence of {T} is longer than {self.pos.size(1)}')
  return x + self.table[:T] => return x + self.pos[:, :T, :]
buffer_of_positions:
- self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim)) =>
      self.wpe = nn.Embedding(max_len, embed_dim)
      self.register_buffer('ids', torch.arange(max_len))
  T, max_len = x.shape[1], self.table.shape[0] =>
      if x.size(1) > len(self.ids):
          raise ValueError('x is too long')
      return self.wpe(self.ids[: x.size(1)]).unsqueeze(0).expand(x.size(0), -1, -1) + x
  if max_len < T: =>
  raise ValueError(f"x has {T} positions, more than max_len = {max_len}") =>
  return x + self.table[:T] =>
loop:
- in buffer_of_positions
  wpe = nn.Embedding(max_len, embed_dim) => max_len = max_len
  register_buffer('ids', torch.arange(max_len) => P = nn.Parameter(torch.rand(max_len, embed_dim) - 0.5
  x.size(1) > len(self.ids) => not x.shape[1] <= self.max_len
  x is too long => T must not exceed max_len
  self.wpe(self.ids[: x.size(1)]).unsqueeze(0).expand(x.size(0), -1, -1) + x => torch.stack([x[:, t] + self.P[t] for t in range(x.shape[1])], dim=1)
""",
)
