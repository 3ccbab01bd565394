"""`SwiGLU`: three maps without bias under fixed names, values with given weights, which branch is the gate, gradients.

The mistakes: the gate on the wrong branch, another activation or none, a sum for the product, biases, sizes.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import close, same_gradients, same_tensor, shape_of, unchanged
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import (
    device_is_kept,
    generator_unchanged,
    gradients_of,
    normal,
    outline,
    parameters_unchanged,
    sliced,
)
from autograder.spec.student import Student

from .common import OUTPUT

NAMES = ("gate.weight", "up.weight", "down.weight")


def _shapes(C: int, F_: int) -> dict[str, tuple[int, int]]:
    return dict(zip(NAMES, ((F_, C), (F_, C), (C, F_)), strict=True))


def _as_asked(parameters: dict, C: int, F_: int) -> None:
    """The three weights are there, in the shapes of nn.Linear."""
    for name, shape in _shapes(C, F_).items():
        layer = f"`{name.partition('.')[0]}` = nn.Linear({shape[1]}, {shape[0]}, bias=False)"
        if name not in parameters:
            raise Wrong(f"With embed_dim = {C} and ff_dim = {F_} there should be a layer {layer}; none is found.")
        if shape_of(parameters[name]) != shape:
            got = shape_of(parameters[name])
            raise Wrong(
                f"With embed_dim = {C} and ff_dim = {F_} there should be {layer}; your weight's shape is {got}."
            )


def _module(student: Student, C: int, F_: int, dtype: str = "") -> tuple[Any, dict[str, torch.Tensor]]:
    """A module and the new weights that were put into it."""
    module = student.build("SwiGLU", C, F_)
    if dtype:
        student.move(module, dtype)
    try:
        _as_asked(student.state(module, record=False)["parameters"], C, F_)
    except Wrong:
        outline(student, module, 0)
        raise
    kind = torch.float64 if dtype else torch.float32
    state = {name: normal(*shape, dtype=kind) for name, shape in _shapes(C, F_).items()}
    student.load(module, state)
    return module, state


def _gated(state: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    gate, up, down = (state[name] for name in NAMES)
    return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)


def _parameters(student: Student) -> None:
    for C, F_ in ((6, 9), (5, 2), (4, 16)):
        with student.case():
            module = student.build("SwiGLU", C, F_)
            outline(student, module, 0)
            state = student.state(module, record=False)
            parameters = state["parameters"]
            _as_asked(parameters, C, F_)
            biases = sorted(str(name) for name in parameters if str(name).endswith("bias"))
            if biases:
                raise Wrong(f"None of the three layers has a bias (`bias=False`); yours has {', '.join(biases)[:120]}.")
            extra = sorted(map(str, set(parameters) - set(NAMES)))
            if extra:
                raise Wrong(f"Three matrices are all there is; yours has more parameters: {', '.join(extra)[:120]}.")
            frozen = sorted(set(NAMES) - set(state["trainable"]))
            if frozen:
                raise Wrong(f"`{frozen[0]}` is frozen (requires_grad=False), so it cannot be trained.")
            weights = [parameters[name] for name in NAMES]
            if any(not w.isfinite().all() or w.std() < 1e-4 for w in weights):
                raise Wrong("A layer starts with all its weights alike: every hidden feature would learn the same.")
            if torch.equal(weights[0], weights[1]):
                raise Wrong("`gate` and `up` start with the same weights: they are two layers, each with its own.")
    with student.case():
        named = student.build("SwiGLU", embed_dim=3, ff_dim=4)
        _as_asked(student.state(named, record=False)["parameters"], 3, 4)


def _values(student: Student) -> None:
    for shape, F_ in (
        ((2, 5, 6), 9),
        ((3, 4), 7),
        ((5,), 2),
        ((2, 3, 4, 3), 8),
        ((1, 1, 4), 16),
        ((3, 3, 3), 1),
        ((4, 4), 4),
        ((2, 40, 2), 5),
        ((2, 1, 3, 2, 4), 6),
        ((1, 1024, 4), 16),
        ((16, 2, 520), 64),
    ):
        with student.case():
            module, state = _module(student, shape[-1], F_)
            x, where = normal(*shape), f"for x of shape {shape} and ff_dim = {F_}"
            same_tensor(student.value(module, x, where=where), _gated(state, x), OUTPUT, where)


def _branches(student: Student) -> None:
    """A gate that is shut lets nothing through, whatever `up` offers; one wide open lets through z times as much."""
    for gates, where in (
        ([-200.0, -200.0, -200.0], "where every gate is shut"),
        ([200.0, 200.0, 200.0], "where every gate is wide open"),
        ([200.0, -200.0, 0.0], "where one gate is open, one shut and one at zero"),
    ):
        with student.case():
            module, state = _module(student, 4, 3)
            state["gate.weight"] = torch.zeros(3, 4)
            state["gate.weight"][:, 0] = torch.tensor(gates)
            student.load(module, state)
            x = torch.cat([torch.ones(5, 1), normal(5, 3)], dim=1)
            same_tensor(student.value(module, x, where=where), _gated(state, x), OUTPUT, where)


def _positions(student: Student) -> None:
    """Changing one position moves no other output."""
    module, state = _module(student, 4, 7)
    x = normal(3, 6, 4)
    before = student.value(module, x)
    same_tensor(before, _gated(state, x), OUTPUT)
    changed = x.clone()
    changed[1, 3] = normal(4)
    after = student.value(module, changed)
    others = torch.ones(3, 6, dtype=torch.bool)
    others[1, 3] = False
    if shape_of(after) != (3, 6, 4) or not close(after[others], before[others]):
        raise Wrong("Changing one position moves outputs elsewhere: each position goes through the layers on its own.")


def _gradient(student: Student) -> None:
    for shape, F_, dtype in (((2, 5, 6), 9, torch.float32), ((3, 4), 7, torch.float64)):
        with student.case():
            module, state = _module(student, shape[-1], F_, dtype="float64" if dtype == torch.float64 else "")
            x, where = normal(*shape, dtype=dtype), f"for x of shape {shape}"
            expected, upstream = gradients_of(
                lambda x, *leaves: _gated(dict(zip(NAMES, leaves, strict=True)), x), [x, *state.values()]
            )
            same_tensor(student.value(module, x, where=where), _gated(state, x), OUTPUT, where)
            answer = student.call(module, [x], where=where, upstream=upstream)
            same_gradients(answer["gradients"].get("inputs", []), expected[:1], ["x"], where)
            mine = [answer["gradients"].get("parameters", {}).get(name) for name in NAMES]
            same_gradients(mine, expected[1:], [f"`{name}`" for name in NAMES], where)


def _manners(student: Student) -> None:
    module, state = _module(student, 6, 9)
    other, other_state = _module(student, 6, 9)
    x = normal(2, 5, 6)
    for training, where in ((True, "in training mode"), (False, "in evaluation mode")):
        with student.case():
            answer = student.call(module, [x], where=where, training=training)
            same_tensor(answer["value"], _gated(state, x), OUTPUT, where)
            unchanged(answer["inputs"], [x], "x")
            generator_unchanged(answer)
    with student.case():
        same_tensor(student.value(other, x), _gated(other_state, x), OUTPUT, "of a second module")
        parameters_unchanged(student, module, state, record=False)
    with student.case():
        wide, wide_state = _module(student, 5, 4, dtype="float64")
        x = normal(2, 3, 5, dtype=torch.float64)
        same_tensor(student.value(wide, x, where="in float64"), _gated(wide_state, x), OUTPUT, "in float64")
    with student.case():
        turned, where = normal(3, 2, 6).transpose(0, 1), "for a tensor that is not contiguous"
        same_tensor(student.value(module, turned, where=where), _gated(state, turned), OUTPUT, where)
    with student.case():
        part, where = normal(2, 3, 6), "for a slice of a tensor, given by name"
        same_tensor(student.value(module, x=sliced(student, part), where=where), _gated(state, part), OUTPUT, where)
    device_is_kept(student, module, [normal(2, 5, 6)])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("three layers without bias, and nothing else", 0.75, _parameters),
        Check("values with given weights, for many shapes", 1.0, _values),
        Check("gates that are open or shut", 0.25, _branches),
        Check("each position on its own", 0.25, _positions),
        Check("gradients reach x and every matrix", 0.25, _gradient, further=True),
        Check("x unchanged, modules independent, float64, device", 0.5, _manners, further=True),
    ],
    working=r"""
import torch
import torch.nn.functional as F
from torch import nn

class SwiGLU(nn.Module):
    def __init__(self, embed_dim, ff_dim):
        super().__init__()
        self.gate, self.up, self.down = (
            nn.Linear(*sizes, bias=False) for sizes in ((embed_dim, ff_dim), (embed_dim, ff_dim), (ff_dim, embed_dim))
        )

    def forward(self, x):
        z = self.gate(x)
        return self.down(F.glu(torch.cat([z * self.up(x), z], dim=-1), dim=-1))
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
gate_and_up_swapped (slip): The SiLU stands on the branch `up`: it belongs on `gate`, and `up` stays linear.
- gate = F.silu(self.gate(x)) => gate = self.gate(x)
  gate * self.up(x) => gate * F.silu(self.up(x))
silu_on_both: The SiLU acts on both branches: on `gate` alone; `up` stays linear.
- gate * self.up(x) => gate * F.silu(self.up(x))
silu_on_the_product: The SiLU acts on the product: it acts on `gate` alone, before the two branches meet.
- gate = F.silu(self.gate(x)) => gate = self.gate(x)
  gate * self.up(x) => F.silu(gate * self.up(x))
silu_last: The SiLU acts on the result: it acts on `gate`, before the product.
- gate = F.silu(self.gate(x)) => gate = self.gate(x)
  return self.down(gate * self.up(x)) => return F.silu(self.down(gate * self.up(x)))
silu_of_x: The SiLU acts on x, before the layer `gate`: first the linear map, then the SiLU.
- F.silu(self.gate(x)) => self.gate(F.silu(x))
no_activation: There is no SiLU: the gate would be a plain linear map.
- gate = F.silu(self.gate(x)) => gate = self.gate(x)
sigmoid (slip): The gate is σ(z), as in the first gated networks (GLU): SwiGLU has SiLU(z) = z · σ(z).
- F.silu( => torch.sigmoid(
other_activation (slip): Another activation than SiLU bends the gate (then it is ReGLU, GEGLU or another relative): SiLU(z) = z · σ(z).
- F.silu( => F.relu( || F.gelu( || torch.tanh( || F.softplus( || F.mish( || F.hardswish(
silu_scaled (slip): The SiLU is not z · σ(z): a factor stands in it, or a sign is turned.
- gate = F.silu(self.gate(x)) =>
      z = self.gate(x)
      gate = z * torch.sigmoid(1.702 * z)
- gate = F.silu(self.gate(x)) =>
      z = self.gate(x)
      gate = z * torch.sigmoid(-z)
added: The branches are added: they are multiplied, number by number, so that a gate at 0 lets nothing through.
- gate * self.up(x) => gate + self.up(x)
softmax_gate: The gates share out a total of 1 (softmax): each hidden feature has a gate of its own, SiLU(z).
- F.silu(self.gate(x)) => torch.softmax(self.gate(x), dim=-1)
up_missing: The branch `up` plays no part: the result is down(SiLU(gate(x)) ⊙ up(x)).
- gate * self.up(x) => gate
gate_missing: The branch `gate` plays no part: the result is down(SiLU(gate(x)) ⊙ up(x)).
- gate * self.up(x) => self.up(x)
one_branch_for_both: Gate and value come from the same layer: `gate` and `up` are two matrices.
- gate * self.up(x) => gate * self.gate(x)
- gate = F.silu(self.gate(x)) => gate = F.silu(self.up(x))
gates_x: The gate is multiplied by x itself, or acts after `down`: it meets up(x), in the hidden layer.
- return self.down(gate * self.up(x)) => return self.down(gate) * self.down(self.up(x))
- return self.down(gate * self.up(x)) => return x * self.down(gate * self.up(x))
in_series: The layers stand one behind the other: gate and up both read x, side by side.
- self.up = nn.Linear(embed_dim, ff_dim, bias=False) => self.up = nn.Linear(ff_dim, ff_dim, bias=False)
  gate * self.up(x) => gate * self.up(self.gate(x))
biases (slip): The layers have biases: SwiGLU has none (`bias=False`).
- bias=False => bias=True
- self.down = nn.Linear(ff_dim, embed_dim, bias=False) => self.down = nn.Linear(ff_dim, embed_dim)
two_thirds (slip): The hidden width is changed (two thirds of ff_dim, or rounded up): it is ff_dim, as given. Who builds the model chooses it.
- super().__init__() =>
      super().__init__()
      ff_dim = int(2 * ff_dim / 3)
- super().__init__() =>
      super().__init__()
      ff_dim = 8 * ((ff_dim + 7) // 8)
ff_dim_ignored: ff_dim is taken to be a multiple of embed_dim: use the ff_dim that is given.
- super().__init__() =>
      super().__init__()
      ff_dim = 4 * embed_dim
- super().__init__() =>
      super().__init__()
      ff_dim = 8 * embed_dim // 3
sizes_fixed (missed): The sizes are fixed numbers: they are embed_dim and ff_dim.
- nn.Linear(embed_dim, ff_dim, bias=False) => nn.Linear(512, 1365, bias=False)
  nn.Linear(ff_dim, embed_dim, bias=False) => nn.Linear(1365, 512, bias=False)
widths_swapped (slip): embed_dim and ff_dim have changed places: SwiGLU(embed_dim, ff_dim).
- embed_dim, ff_dim): => ff_dim, embed_dim):
down_missing: The result is not brought back to embed_dim: the layer `down` comes last.
- return self.down(gate * self.up(x)) => return gate * self.up(x)
other_names (slip): The layers have other names: `gate`, `up` and `down` are asked for, so that weights can be loaded.
- self.gate => self.w1
  self.up => self.w3
  self.down => self.w2
one_matrix_for_two: `gate` and `up` are one layer of twice the width: here they are two, so that weights can be loaded.
- self.gate = nn.Linear(embed_dim, ff_dim, bias=False) => self.gate_up = nn.Linear(embed_dim, 2 * ff_dim, bias=False)
  self.up = nn.Linear(embed_dim, ff_dim, bias=False) =>
  gate = F.silu(self.gate(x)) => gate, up = self.gate_up(x).chunk(2, dim=-1)
  gate * self.up(x) => F.silu(gate) * up
tied (slip): `gate` and `up` are the same layer under two names: each has its own matrix.
- self.up = nn.Linear(embed_dim, ff_dim, bias=False) => self.up = self.gate
- self.up = nn.Linear(embed_dim, ff_dim, bias=False) =>
      self.up = nn.Linear(embed_dim, ff_dim, bias=False)
      self.up.load_state_dict(self.gate.state_dict())
bare_parameters: The layers are bare matrices (nn.Parameter): nn.Linear(…, bias=False) holds the weight, starts it well, and is called as
    `self.gate(x)`.
- self.gate = nn.Linear(embed_dim, ff_dim, bias=False) => self.gate = nn.Parameter(torch.randn(embed_dim, ff_dim))
  self.up = nn.Linear(embed_dim, ff_dim, bias=False) => self.up = nn.Parameter(torch.randn(embed_dim, ff_dim))
  self.down = nn.Linear(ff_dim, embed_dim, bias=False) => self.down = nn.Parameter(torch.randn(ff_dim, embed_dim))
  F.silu(self.gate(x)) => F.silu(x @ self.gate)
  return self.down(gate * self.up(x)) => return (gate * (x @ self.up)) @ self.down
layers_made_in_forward (missed): The layers are made anew in every forward pass, so nothing that is learned or loaded is ever used.
- F.silu(self.gate(x)) => F.silu(nn.Linear(x.shape[-1], self.gate.out_features, bias=False)(x))
- |
  class SwiGLU(nn.Module):
      def __init__(self, embed_dim, ff_dim):
          super().__init__()
          self.embed_dim, self.ff_dim = embed_dim, ff_dim

      def forward(self, x):
          self.gate = nn.Linear(self.embed_dim, self.ff_dim, bias=False)
          self.up = nn.Linear(self.embed_dim, self.ff_dim, bias=False)
          self.down = nn.Linear(self.ff_dim, self.embed_dim, bias=False)
          return self.down(F.silu(self.gate(x)) * self.up(x))
layers_in_a_list (missed): The layers are kept in a plain Python list, where nn.Module cannot see them: no parameters, no training.
- self.gate = nn.Linear(embed_dim, ff_dim, bias=False) =>
      self.layers = [nn.Linear(embed_dim, ff_dim, bias=False), nn.Linear(embed_dim, ff_dim, bias=False)]
      self.layers.append(nn.Linear(ff_dim, embed_dim, bias=False))
  self.up = nn.Linear(embed_dim, ff_dim, bias=False) =>
  self.down = nn.Linear(ff_dim, embed_dim, bias=False) =>
  F.silu(self.gate(x)) => F.silu(self.layers[0](x))
  return self.down(gate * self.up(x)) => return self.layers[2](gate * self.layers[1](x))
same_start: A layer starts with all its weights alike (zeros, ones), so that every hidden feature would learn the same.
- self.down = nn.Linear(ff_dim, embed_dim, bias=False) =>
      self.down = nn.Linear(ff_dim, embed_dim, bias=False)
      nn.init.zeros_(self.down.weight)
- self.down = nn.Linear(ff_dim, embed_dim, bias=False) =>
      self.down = nn.Linear(ff_dim, embed_dim, bias=False)
      nn.init.ones_(self.gate.weight)
frozen (slip): Parameters do not train (requires_grad=False).
- self.down = nn.Linear(ff_dim, embed_dim, bias=False) =>
      self.down = nn.Linear(ff_dim, embed_dim, bias=False)
      self.requires_grad_(False)
- self.down = nn.Linear(ff_dim, embed_dim, bias=False) =>
      self.down = nn.Linear(ff_dim, embed_dim, bias=False)
      self.gate.requires_grad_(False)
gradient_cut_off:
- gate * self.up(x) => gate.detach() * self.up(x) || gate * self.up(x.detach())
- return self.down(gate * self.up(x)) => return F.linear(gate * self.up(x), self.down.weight.data)
residual (slip): x is added to the result: the residual connection belongs to the block.
- return self.down(gate * self.up(x)) => return x + self.down(gate * self.up(x))
normalised: A norm is applied: it belongs to the block.
- F.silu(self.gate(x)) => F.silu(self.gate(F.layer_norm(x, x.shape[-1:])))
- return self.down(gate * self.up(x)) => return F.rms_norm(self.down(gate * self.up(x)), x.shape[-1:])
dropout (slip): There is dropout in training: it was not asked for here.
- return self.down(gate * self.up(x)) => return F.dropout(self.down(gate * self.up(x)), 0.1, self.training)
three_dimensions_only: x is taken to have three dimensions: any number of them is allowed before the last.
- gate = F.silu(self.gate(x)) =>
      B, T, C = x.shape
      gate = F.silu(self.gate(x))
- def forward(self, x): =>
      def forward(self, x):
          assert x.dim() <= 4
mixes_positions: Positions are mixed: each goes through the three layers on its own.
- return self.down(gate * self.up(x)) => return self.down((gate * self.up(x)).cumsum(dim=0))
single_precision:
- gate = F.silu(self.gate(x)) => gate = F.silu(self.gate(x.float()))
- gate = F.silu(self.gate(x)) => gate = F.silu(self.gate(x)).float()
input_changed:
- gate = F.silu(self.gate(x)) =>
      gate = F.silu(self.gate(x))
      x *= 2
      x /= 2
      x += 1
- return self.down(gate * self.up(x)) => return x.copy_(self.down(gate * self.up(x)))
size_limited: Sizes of real use are refused or cut off: a width of 768, 1024 tokens, 16 sequences are common, and the network takes any.
- def forward(self, x): =>
      def forward(self, x):
          assert x.shape[-1] <= 512
- def forward(self, x): =>
      def forward(self, x):
          assert x.dim() < 2 or x.shape[-2] <= 512
- def forward(self, x): =>
      def forward(self, x):
          x = x[..., :512, :] if x.dim() > 1 else x
beginning_of_memory: The numbers are read from the beginning of the memory that x lies in: a slice lies further on. Take x itself, with its shape.
- def forward(self, x): =>
      def forward(self, x):
          x = torch.as_strided(x, x.shape, x.stride(), 0)
other_signature (slip): A parameter has another name than in the signature: SwiGLU(embed_dim, ff_dim), forward(x).
- def forward(self, x): =>
      def forward(self, tokens):
          x = tokens
no_super (missed): `super().__init__()` is missing: nn.Module must be set up before layers can be assigned.
- super().__init__() =>
not_a_module (missed): The class does not inherit from nn.Module: its layers cannot be found, moved, saved or trained.
- class SwiGLU(nn.Module) => class SwiGLU
  super().__init__() =>
  def forward => def __call__
forward_misspelt (missed): There is no method `forward`: nn.Module calls the method of exactly this name.
- def forward => def foward
""",
    right=r"""
sigmoid_written_out:
- gate = F.silu(self.gate(x)) =>
      z = self.gate(x)
      gate = z * torch.sigmoid(z)
a_module_for_silu:
- self.gate = nn.Linear(embed_dim, ff_dim, bias=False) =>
      self.activation = nn.SiLU()
      self.gate = nn.Linear(embed_dim, ff_dim, bias=False)
  F.silu(self.gate(x)) => self.activation(self.gate(x))
functional:
- return self.down(gate * self.up(x)) => return F.linear(F.linear(x, self.up.weight).mul(gate), self.down.weight)
einsum:
- F.silu(self.gate(x)) => F.silu(torch.einsum('...c,fc->...f', x, self.gate.weight))
  return self.down(gate * self.up(x)) => return torch.einsum('...f,...f,cf->...c', gate, self.up(x), self.down.weight)
through_glu:
- |
  class SwiGLU(nn.Module):
      def __init__(self, embed_dim, ff_dim):
          super().__init__()
          self.up = nn.Linear(embed_dim, ff_dim, bias=False)
          self.gate = nn.Linear(embed_dim, ff_dim, bias=False)
          self.down = nn.Linear(ff_dim, embed_dim, bias=False)

      def forward(self, x):
          both = F.linear(x, torch.cat([self.gate.weight, self.up.weight]))
          gate, value = both.chunk(2, dim=-1)
          return self.down(F.glu(torch.cat([gate * value, gate], dim=-1)))
""",
)
