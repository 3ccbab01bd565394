"""`SelfAttention`: its parameters, values with given weights, masks, gradients, how fresh layers start.

The mistakes: projections fused, swapped or shared, the scale of another width, the mask or the weights treated wrongly.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import same_gradients, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import device_is_kept, gradients_of, normal, parameters_unchanged
from autograder.spec.student import Student

from .common import blocked_is_zero, same_pair, striped_mask

scaled_dot_product_attention = reference("scaled_dot_product_attention")

PROJECTIONS = ("q_proj", "k_proj", "v_proj")


def _weights_for(embed_dim: int, head_dim: int, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    state = {}
    for name in PROJECTIONS:
        state[f"{name}.weight"] = normal(head_dim, embed_dim, scale=0.8, dtype=dtype)
        state[f"{name}.bias"] = normal(head_dim, dtype=dtype)
    return state


def _expected(state: dict[str, torch.Tensor], x: torch.Tensor, mask: torch.Tensor | None = None) -> tuple:
    Q, K, V = (F.linear(x, state[f"{name}.weight"], state[f"{name}.bias"]) for name in PROJECTIONS)
    return scaled_dot_product_attention(Q, K, V, mask)


def _built(student: Student, embed_dim: int, head_dim: int, dtype: str = "") -> tuple[Any, dict[str, torch.Tensor]]:
    module = student.build("SelfAttention", embed_dim, head_dim)
    state = _weights_for(embed_dim, head_dim, torch.float64 if dtype else torch.float32)
    if dtype:
        student.move(module, dtype)
    student.load(module, state)
    return module, state


def _self_parameters(student: Student) -> None:
    for embed_dim, head_dim in ((6, 4), (3, 8)):
        with student.case():
            module = student.build("SelfAttention", embed_dim, head_dim)
            state = student.state(module)
            parameters = state["parameters"]
            for name in PROJECTIONS:
                for part, shape in (("weight", (head_dim, embed_dim)), ("bias", (head_dim,))):
                    found = parameters.get(f"{name}.{part}")
                    if not isinstance(found, torch.Tensor):
                        raise Wrong(
                            f"SelfAttention({embed_dim}, {head_dim}) has no parameter `{name}.{part}`: make "
                            f"`self.{name} = nn.Linear(embed_dim, head_dim)` in `__init__` (with its bias)."
                        )
                    if tuple(found.shape) != shape:
                        raise Wrong(
                            f"`{name}.{part}` of SelfAttention({embed_dim}, {head_dim}) should have shape {shape}, "
                            f"yours has {tuple(found.shape)}: `nn.Linear(embed_dim, head_dim)`."
                        )
                    if f"{name}.{part}" not in state["trainable"]:
                        raise Wrong(f"`{name}.{part}` is frozen (requires_grad=False), so it cannot be trained.")
            extra = sorted(set(parameters) - {f"{n}.{p}" for n in PROJECTIONS for p in ("weight", "bias")})
            if extra:
                raise Wrong(f"There are parameters that do not belong here: {', '.join(map(str, extra))[:120]}.")


def _self_values(student: Student) -> None:
    for B, T, embed_dim, head_dim in (
        *((2, 5, 6, 4), (1, 3, 2, 7), (3, 1, 4, 3), (1, 1, 3, 2), (2, 4, 4, 4)),
        *((3, 3, 5, 2), (2, 12, 3, 5), (1, 40, 4, 3), (9, 2, 8, 2), (1, 150, 2, 3)),
    ):
        with student.case():
            module, state = _built(student, embed_dim, head_dim)
            x = normal(B, T, embed_dim)
            where = f"for B = {B}, T = {T}, embed_dim = {embed_dim}, head_dim = {head_dim}"
            same_pair(student.value(module, x, where=where), _expected(state, x), where)


def _self_mask(student: Student) -> None:
    module, state = _built(student, 6, 5)
    x = normal(2, 4, 6)
    mask = striped_mask(4, 4)
    own = torch.stack([mask, mask.roll(1, 0)])
    for given, training, where in (
        (mask, True, "with a mask of shape (T, T)"),
        (own, True, "with a mask of shape (B, T, T)"),
        (own[:, :1], True, "with a mask of shape (B, 1, T)"),
        (own[0, 0], True, "with a mask of shape (T,), about keys"),
        (mask, False, "with a mask, in evaluation mode"),
        (None, True, "without a mask, after calls with one"),
    ):
        with student.case():
            kwargs = {} if given is None else {"mask": given}
            got = student.call(module, [x], kwargs, where=where, training=training)["value"]
            same_pair(got, _expected(state, x, given), where)
    where = "with the mask given by position, for a single token"
    one, open_ = normal(2, 1, 6), torch.zeros(1, 1, dtype=torch.bool)
    same_pair(student.value(module, one, open_, where=where), _expected(state, one, open_), where)


def _self_forbidden(student: Student) -> None:
    """A blocked token must get exactly 0, also where every allowed score is hugely negative or it scores highest."""
    mask = torch.zeros(5, 5, dtype=torch.bool)
    mask[:, 2] = True
    for scale, sign, where in (
        (1.0, 1.0, "for the blocked token"),
        (1e6, 1.0, "for a blocked token that would have scored far above the others"),
        (1e6, -1.0, "where all allowed scores are far below zero (a finite fill such as −1e9 is then the largest)"),
    ):
        with student.case():
            module = student.build("SelfAttention", 3, 4)
            state = {name: value.abs() for name, value in _weights_for(3, 4).items()}
            state["k_proj.weight"], state["k_proj.bias"] = sign * state["k_proj.weight"], sign * state["k_proj.bias"]
            student.load(module, state)
            x = normal(2, 5, 3).abs() * (1.0 if sign > 0 else scale)
            x[:, 2] *= scale if sign > 0 else 1.0
            got = student.call(module, [x], {"mask": mask}, where=where)["value"]
            blocked_is_zero(got, mask, where)
            same_pair(got, _expected(state, x, mask), where)


def _self_gradient(student: Student) -> None:
    for masked in (False, True):
        with student.case():
            module, state = _built(student, 6, 4)
            x, mask = normal(2, 5, 6), striped_mask(5, 5) if masked else None
            names = list(state)
            expected, upstream = gradients_of(
                lambda x, *values, names=names, mask=mask: _expected(dict(zip(names, values, strict=True)), x, mask),
                [x, *state.values()],
            )
            kwargs = {"mask": mask} if masked else {}
            answer = student.call(module, [x], kwargs, upstream=upstream)
            grads = answer["gradients"]
            same_gradients(grads.get("inputs", []), expected[:1], ["x"])
            mine = [grads.get("parameters", {}).get(name) for name in names]
            same_gradients(mine, expected[1:], [f"`{name}`" for name in names])


def _self_manners(student: Student) -> None:
    module, state = _built(student, 7, 4)
    other, other_state = _built(student, 7, 4)
    x = normal(2, 5, 7)
    answer = student.call(module, [x])
    unchanged(answer["inputs"], [x], "x")
    where = "when two modules exist (each needs layers of its own)"
    same_pair(answer["value"], _expected(state, x), where)
    same_pair(student.value(other, x), _expected(other_state, x), where)
    parameters_unchanged(student, module, state)
    for training in (True, False):
        with student.case():
            answer = student.call(module, [x], training=training)
            same_pair(answer["value"], _expected(state, x), "in training mode" if training else "in evaluation mode")
    with student.case():
        turned, mask = normal(2, 7, 5).mT, striped_mask(5, 5)
        where = "for x that is not contiguous (a transpose), with arguments given by name"
        got = student.call(module, [], {"x": turned, "mask": mask}, where=where)["value"]
        same_pair(got, _expected(state, turned, mask), where)
    wide, wide_state = _built(student, 5, 4, "float64")
    x = normal(2, 4, 5, dtype=torch.float64)
    same_pair(student.value(wide, x, where="in float64"), _expected(wide_state, x), "in float64")
    keyword = student.build("SelfAttention", embed_dim=3, head_dim=2)
    shape = student.state(keyword)["parameters"].get("q_proj.weight")
    if not isinstance(shape, torch.Tensor) or tuple(shape.shape) != (2, 3):
        raise Wrong("SelfAttention(embed_dim=3, head_dim=2) should build the same as SelfAttention(3, 2).")


def _self_device(student: Student) -> None:
    module, state = _built(student, 6, 4)
    x = normal(2, 5, 6)
    same_pair(student.value(module, x), _expected(state, x), "")
    device_is_kept(student, module, [normal(2, 5, 6)])
    device_is_kept(student, module, [normal(2, 5, 6), striped_mask(5, 5)])


def _spread(numbers: Any, bound: float) -> bool:
    """Different numbers up to `bound`; none at all is marked elsewhere."""
    if not isinstance(numbers, torch.Tensor):
        return True
    return bool(numbers.abs().max() <= 1.001 * bound and numbers.double().std() > bound / 10)


def _as_linear(numbers: torch.Tensor, bound: float) -> bool:
    return _spread(numbers, bound) and abs(numbers.double().std().item() * 3**0.5 / bound - 1) < 0.08


def _self_fresh(student: Student) -> None:
    """Layers start as nn.Linear does: uniform up to 1/√embed_dim, each number drawn by itself.

    A standard deviation of 2,048 such draws is known to 1 %: a right layer fails one time in 10^12.
    """
    module = student.build("SelfAttention", 64, 32)
    parameters = student.state(module)["parameters"]
    weights = [parameters.get(f"{name}.weight") for name in PROJECTIONS]
    if not all(isinstance(w, torch.Tensor) for w in weights):
        raise Wrong("The layers q_proj, k_proj and v_proj are not all there.")
    if all(w.device.type == "cpu" for w in weights):
        if any(not w.isfinite().all() or w.std() < 1e-4 for w in weights):
            raise Wrong("A projection starts with all its weights alike: every feature would learn the same.")
        if any(torch.equal(weights[i], weights[j]) for i, j in ((0, 1), (1, 2), (0, 2))):
            raise Wrong("Two projections start with the same weights: use three separate nn.Linear layers.")
        biases = [parameters.get(f"{name}.bias") for name in PROJECTIONS]
        bound = 64**-0.5
        student.note([_as_linear(w, bound) for w in weights] + [_spread(b, bound) for b in biases])
        if not all(_as_linear(w, bound) for w in weights) or not all(_spread(b, bound) for b in biases):
            raise Wrong("A projection does not start as nn.Linear starts by itself: leave its initialisation alone.")


EXERCISE = Exercise(
    points=8,
    checks=[
        Check("q_proj, k_proj and v_proj, and nothing else", 1.5, _self_parameters),
        Check("values with given weights, for many combinations of sizes", 2.5, _self_values),
        Check("masks of every shape, in training and evaluation", 1.0, _self_mask, further=True),
        Check("a blocked token gets exactly 0", 0.5, _self_forbidden, further=True),
        Check("gradients reach the input and every parameter", 1.0, _self_gradient, further=True),
        Check("inputs unchanged, modules independent, float64", 0.75, _self_manners, further=True),
        Check("stays on the inputs' device", 0.5, _self_device, further=True),
        Check("fresh layers differ from each other", 0.25, _self_fresh),
    ],
    working=r"""
import torch
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, embed_dim, head_dim):
        super().__init__()
        self.q_proj = nn.Linear(embed_dim, head_dim)
        self.k_proj = nn.Linear(embed_dim, head_dim)
        self.v_proj = nn.Linear(embed_dim, head_dim)

    def forward(self, x, mask=None):
        allowed = None if mask is None else ~mask
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        eye = torch.eye(x.shape[-2], dtype=x.dtype, device=x.device).expand(x.shape[0], -1, -1)
        attend = nn.functional.scaled_dot_product_attention
        return attend(q, k, v, attn_mask=allowed), attend(q, k, eye, attn_mask=allowed)
""",
    takes="tensor",
    gives="pair",
    slips=(
        "nothing_returned",
        "gradient_cut_off",
        "input_changed",
        "single_precision",
        "double_precision",
        "squeezed",
        "rounded",
        "list_returned",
    ),
    wrong=r"""
no_bias (slip): The projections have no bias (`bias=False`): nn.Linear(embed_dim, head_dim) with its default bias is asked for.
- nn.Linear(embed_dim, head_dim) => nn.Linear(embed_dim, head_dim, bias=False)
square_projections: A projection (or all three) is nn.Linear(embed_dim, embed_dim): all should end in head_dim features.
- nn.Linear(embed_dim, head_dim) => nn.Linear(embed_dim, embed_dim)
- self.v_proj = nn.Linear(embed_dim, head_dim) => self.v_proj = nn.Linear(embed_dim, embed_dim)
sizes_swapped: The two sizes are swapped, in the signature or in the layers: SelfAttention(embed_dim, head_dim) makes layers from embed_dim features
    to head_dim features.
- nn.Linear(embed_dim, head_dim) => nn.Linear(head_dim, embed_dim)
some_bias_missing (slip): One of the projections has no bias: all three are nn.Linear(embed_dim, head_dim) with the default bias.
- self.k_proj = nn.Linear(embed_dim, head_dim) => self.k_proj = nn.Linear(embed_dim, head_dim, bias=False)
- self.q_proj = nn.Linear(embed_dim, head_dim) => self.q_proj = nn.Linear(embed_dim, head_dim, bias=False)
- self.v_proj = nn.Linear(embed_dim, head_dim) => self.v_proj = nn.Linear(embed_dim, head_dim, bias=False)
- self.q_proj = nn.Linear(embed_dim, head_dim) => self.q_proj = nn.Linear(embed_dim, head_dim, bias=False)
  self.k_proj = nn.Linear(embed_dim, head_dim) => self.k_proj = nn.Linear(embed_dim, head_dim, bias=False)
bare_parameters: The projections are bare matrices (nn.Parameter) instead of layers: nn.Linear(embed_dim, head_dim) holds a weight and a bias and is
    called as `self.q_proj(x)`.
- nn.Linear(embed_dim, head_dim) => nn.Parameter(torch.randn(embed_dim, head_dim) / math.sqrt(embed_dim))
  self.q_proj(x) => x @ self.q_proj
  self.k_proj(x) => x @ self.k_proj
  self.v_proj(x) => x @ self.v_proj
sizes_fixed (missed): The sizes of the layers are fixed numbers: they must come from embed_dim and head_dim.
- nn.Linear(embed_dim, head_dim) => nn.Linear(32, 16) || nn.Linear(64, 64) || nn.Linear(512, 64)
divisible_only: Sizes are refused that are allowed here: embed_dim need not be divisible by head_dim (that rule belongs to several heads, in notebook
    07).
- super().__init__() =>
      super().__init__()
      if embed_dim % head_dim != 0:
          raise ValueError('sizes')
- super().__init__() =>
      super().__init__()
      assert embed_dim % head_dim == 0
several_heads (missed): nn.MultiheadAttention does the work: here one head with q_proj, k_proj and v_proj of its own is asked for.
- self.q_proj = nn.Linear(embed_dim, head_dim) => self.attention = nn.MultiheadAttention(embed_dim, embed_dim // head_dim, batch_first=True)
  self.k_proj = nn.Linear(embed_dim, head_dim) =>
  self.v_proj = nn.Linear(embed_dim, head_dim) =>
  Q = self.q_proj(x) => return self.attention(x, x, x, attn_mask=mask)
  K = self.k_proj(x) =>
  V = self.v_proj(x) =>
  return scaled_dot_product_attention(Q, K, V, mask) =>
- self.q_proj = nn.Linear(embed_dim, head_dim) => self.attention = nn.MultiheadAttention(embed_dim, 1, batch_first=True)
  self.k_proj = nn.Linear(embed_dim, head_dim) =>
  self.v_proj = nn.Linear(embed_dim, head_dim) =>
  Q = self.q_proj(x) => return self.attention(x, x, x, attn_mask=mask)
  K = self.k_proj(x) =>
  V = self.v_proj(x) =>
  return scaled_dot_product_attention(Q, K, V, mask) =>
no_mask_parameter: forward does not take a mask: keep the signature forward(x, mask=None).
- def forward(self, x, mask=None) => def forward(self, x)
  return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(Q, K, V)
mask_required (slip): forward cannot be called without a mask: give it the default None, forward(x, mask=None).
- def forward(self, x, mask=None) => def forward(self, x, mask)
- return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(Q, K, V, mask.bool())
mask_sometimes: The mask is used in one mode only (training or evaluation). What is blocked is blocked in both.
- return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(Q, K, V, mask if self.training else None)
- return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(Q, K, V, None if self.training else mask)
mask_remembered: The first mask is kept and used in later calls too. A call uses the mask it is given, or none.
- super().__init__() =>
      super().__init__()
      self.mask = None
  return scaled_dot_product_attention(Q, K, V, mask) =>
      self.mask = mask if self.mask is None else self.mask
      return scaled_dot_product_attention(Q, K, V, self.mask)
- super().__init__() =>
      super().__init__()
      self.mask = None
  return scaled_dot_product_attention(Q, K, V, mask) =>
      self.mask = self.mask if mask is None else mask
      return scaled_dot_product_attention(Q, K, V, self.mask)
mask_unsqueezed: The mask is given a further dimension (unsqueeze), so that some masks no longer fit or the results gain a dimension. Pass it on as it
    comes: it broadcasts by itself.
- return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(Q, K, V, None if mask is None else mask.unsqueeze(0))
- return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(Q, K, V, None if mask is None else mask.unsqueeze(1))
- return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(Q, K, V, None if mask is None else mask[:, None, None, :])
mask_convention: F.scaled_dot_product_attention reads True as *allowed*, the opposite of the course's masks, so under a mask the output does not
    belong to the weights.
- return scaled_dot_product_attention(Q, K, V, mask) =>
      _, weights = scaled_dot_product_attention(Q, K, V, mask)
      return F.scaled_dot_product_attention(Q, K, V, mask), weights
mask_finite: Blocked scores are filled with a finite number (−1e9, −1e4 …). Where every allowed score is lower still, the blocked token gets all the
    weight. Fill with −inf.
- return scaled_dot_product_attention(Q, K, V, mask) =>
      scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
      if mask is not None:
          scores = scores.masked_fill(mask, -1e9)
      weights = torch.softmax(scores, dim=-1)
      return weights @ V, weights
- return scaled_dot_product_attention(Q, K, V, mask) =>
      scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
      if mask is not None:
          scores = scores.masked_fill(mask, -10.0)
      weights = torch.softmax(scores, dim=-1)
      return weights @ V, weights
length_limited (slip): The number of tokens is limited by a fixed maximum (a buffer, or a slice of x): any T is allowed.
- Q = self.q_proj(x) =>
      x = x[:, :8]
      Q = self.q_proj(x)
- Q = self.q_proj(x) =>
      x = x[:, :10]
      Q = self.q_proj(x)
- Q = self.q_proj(x) =>
      x = x[:, :16]
      Q = self.q_proj(x)
- Q = self.q_proj(x) =>
      x = x[:, :32]
      Q = self.q_proj(x)
- Q = self.q_proj(x) =>
      x = x[:, :64]
      Q = self.q_proj(x)
- Q = self.q_proj(x) =>
      x = x[:, :128]
      Q = self.q_proj(x)
- Q = self.q_proj(x) =>
      if x.shape[1] > 16:
          raise ValueError('too long')
      Q = self.q_proj(x)
batch_second: Attention runs over the batch: x is (B, T, C) here, with the batch first (nn.MultiheadAttention's default has the tokens first).
- Q = self.q_proj(x) =>
      x = x.transpose(0, 1)
      Q = self.q_proj(x)
  return scaled_dot_product_attention(Q, K, V, mask) =>
      output, weights = scaled_dot_product_attention(Q, K, V, mask)
      return output.transpose(0, 1), weights
- Q = self.q_proj(x) =>
      x = x.transpose(0, 1)
      Q = self.q_proj(x)
input_normalised: The tokens are normalised or centred before they are projected (a layer norm): that comes in notebook 08.
- Q = self.q_proj(x) =>
      x = F.layer_norm(x, x.shape[-1:])
      Q = self.q_proj(x)
parameters_changed: Every call changes the parameters (`weight.data.div_`): the next call gives another result. Scale the scores or the queries
    instead.
- in mask_finite
  def forward(self, x, mask=None): =>
      def forward(self, x, mask=None):
          self.q_proj.weight.data.div_(math.sqrt(self.q_proj.out_features))
          self.q_proj.bias.data.div_(math.sqrt(self.q_proj.out_features))
  scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1]) => scores = Q @ K.transpose(-2, -1) / 1.0
  scores = scores.masked_fill(mask, -1e9) => scores = scores.masked_fill(mask, float('-inf'))
- in mask_finite
  def forward(self, x, mask=None): =>
      def forward(self, x, mask=None):
          self.q_proj.weight.data.div_(math.sqrt(self.q_proj.out_features))
  scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1]) => scores = Q @ K.transpose(-2, -1) / 1.0
  scores = scores.masked_fill(mask, -1e9) => scores = scores.masked_fill(mask, float('-inf'))
same_start: The projections start alike (copied or constant weights): each needs random weights of its own, as nn.Linear makes them.
- self.v_proj = nn.Linear(embed_dim, head_dim) =>
      self.v_proj = nn.Linear(embed_dim, head_dim)
      for layer in (self.q_proj, self.k_proj, self.v_proj):
          nn.init.zeros_(layer.weight)
- self.v_proj = nn.Linear(embed_dim, head_dim) =>
      self.v_proj = nn.Linear(embed_dim, head_dim)
      for layer in (self.q_proj, self.k_proj, self.v_proj):
          nn.init.ones_(layer.weight)
- self.v_proj = nn.Linear(embed_dim, head_dim) =>
      self.v_proj = nn.Linear(embed_dim, head_dim)
      self.k_proj.load_state_dict(self.q_proj.state_dict())
scale_fixed: The scores are divided by a fixed number whatever head_dim is: use √head_dim.
- in mask_finite
  math.sqrt(Q.shape[-1]) => 8.0
  -1e9) => float('-inf'))
- in mask_finite
  math.sqrt(Q.shape[-1]) => 4.0
  -1e9) => float('-inf'))
- in mask_finite
  math.sqrt(Q.shape[-1]) => 2.0
  -1e9) => float('-inf'))
other_names (slip): The layers have other names: q_proj, k_proj and v_proj are asked for, so that weights can be loaded.
- q_proj => query
  k_proj => key
  v_proj => value
short_names (slip): The layers have other names (W_q …): q_proj, k_proj and v_proj are asked for, so that weights can be loaded.
- q_proj => W_q
  k_proj => W_k
  v_proj => W_v
shared_projection: One layer serves for queries, keys and values: `self.q_proj = self.k_proj = …` shares its weights. Three separate layers are
    needed.
- self.k_proj = nn.Linear(embed_dim, head_dim) => self.k_proj = self.q_proj
  self.v_proj = nn.Linear(embed_dim, head_dim) => self.v_proj = self.q_proj
shared_query_key: Queries and keys share one layer, so attention becomes symmetric. Three separate layers are needed.
- self.k_proj = nn.Linear(embed_dim, head_dim) => self.k_proj = self.q_proj
fused: One fused layer makes queries, keys and values. That is how real code does it, but here q_proj, k_proj and v_proj are asked for.
- in several_heads
  self.attention = nn.MultiheadAttention(embed_dim, embed_dim // head_dim, batch_first=True) => self.qkv_proj = nn.Linear(embed_dim, 3 * head_dim)
  return self.attention(x, x, x, attn_mask=mask) =>
      Q, K, V = self.qkv_proj(x).chunk(3, dim=-1)
      return scaled_dot_product_attention(Q, K, V, mask)
output_projection: There is a further layer after attention: an output projection comes in notebook 07, not here.
- self.v_proj = nn.Linear(embed_dim, head_dim) =>
      self.v_proj = nn.Linear(embed_dim, head_dim)
      self.out_proj = nn.Linear(head_dim, head_dim)
  return scaled_dot_product_attention(Q, K, V, mask) =>
      output, weights = scaled_dot_product_attention(Q, K, V, mask)
      return self.out_proj(output), weights
no_super (missed): `super().__init__()` is missing: nn.Module must be set up before layers can be assigned.
- super().__init__() =>
not_a_module (missed): The class does not inherit from nn.Module: its layers cannot be found, moved, saved or trained.
- class SelfAttention(nn.Module) => class SelfAttention
  super().__init__() =>
  def forward => def __call__
fresh_layers_each_time: The layers are made anew in every forward pass, so nothing that is learned or loaded is ever used.
- Q = self.q_proj(x)  # (B, T, head_dim) =>
      make = lambda: nn.Linear(x.shape[-1], self.q_proj.out_features)
      Q = make()(x)
  K = self.k_proj(x) => K = make()(x)
  V = self.v_proj(x) => V = make()(x)
- in fused
  qkv_proj = nn.Linear(embed_dim, 3 * head_dim) => sizes = embed_dim, head_dim
  Q, K, V = self.qkv_proj(x).chunk(3, dim=-1 => self.q_proj, self.k_proj, self.v_proj = (nn.Linear(*self.sizes) for _ in range(3)
  (Q, K, V, => (self.q_proj(x), self.k_proj(x), self.v_proj(x),
layers_in_a_list: The layers are kept in a plain Python list or dictionary, where nn.Module cannot see them: no parameters, no training. Assign each
    to an attribute of its own.
- in fused
  qkv_proj = nn.Linear(embed_dim, 3 * head_dim) => layers = [nn.Linear(embed_dim, head_dim) for _ in range(3)]
  self.qkv_proj(x).chunk(3, dim=-1 => (layer(x) for layer in self.layers
query_is_input: The queries are the tokens themselves: x goes in unprojected where q_proj(x) belongs.
- return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(x, K, V, mask)
value_is_input: The values are the tokens themselves: x goes in unprojected where v_proj(x) belongs, so the output has the width of x.
- return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(Q, K, x, mask)
key_value_swapped (slip): Keys and values are swapped: k_proj makes what is compared, v_proj makes what is averaged.
- return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(Q, V, K, mask)
query_key_swapped (slip): Queries and keys are swapped: row t of the weights belongs to the query of token t.
- return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(K, Q, V, mask)
query_value_swapped (slip): Queries and values are swapped.
- return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(V, K, Q, mask)
values_from_keys: The keys are used as values too: v_proj plays no part.
- return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(Q, K, K, mask)
keys_from_queries: The queries are used as keys too: k_proj plays no part, and attention becomes symmetric.
- return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(Q, Q, V, mask)
mask_dropped: The mask is not passed on to the attention: a blocked key must get weight 0.
- return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(Q, K, V)
mask_inverted: The mask is inverted on the way: here True = blocked all through.
- return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(Q, K, V, None if mask is None else ~mask)
mask_transposed: The mask is transposed: its rows are queries, its columns are keys.
- return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(Q, K, V, None if mask is None else mask.expand(x.shape[0], x.shape[1], x.shape[1]).mT)
always_causal: Later tokens are blocked even without a mask: apply the mask that is given, nothing else.
- return scaled_dot_product_attention(Q, K, V, mask) =>
      future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
      return scaled_dot_product_attention(Q, K, V, future if mask is None else mask | future)
- return scaled_dot_product_attention(Q, K, V, mask) =>
      future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
      return scaled_dot_product_attention(Q, K, V, future if mask is None else mask)
scale_embed_dim: The scores are divided by the root of embed_dim. The dot products run over head_dim numbers: use √head_dim.
- in scale_fixed
  / 8.0 => / math.sqrt(x.shape[-1])
no_scale (slip): This is what self-attention gives when the scores are not divided by √head_dim (or the division is undone).
- in scale_fixed
  / 8.0 => / 1.0
scale_head_dim (slip): The scores are divided by head_dim instead of its square root. (Were they scaled here and once more in scaled_dot_product_attention,
    which divides by √d_k already?)
- in scale_fixed
  / 8.0 => / Q.shape[-1]
scale_tokens: The scores are divided by the root of T, the number of tokens, instead of √head_dim.
- in scale_fixed
  / 8.0 => / math.sqrt(x.shape[1])
softmax_queries: The softmax runs over the queries: each column of the weights sums to 1 instead of each row.
- in mask_finite
  -1e9) => float('-inf'))
  dim=-1) => dim=1)
softmax_batch: The softmax runs over the batch (dim=0).
- in softmax_queries
  dim=1) => dim=0)
mask_zero: Blocked scores are filled with 0 instead of −inf: exp(0) = 1 is no small weight.
- in mask_finite
  -1e9) => 0.0)
mask_after: The mask is applied after the softmax, so rows with blocked keys no longer sum to 1.
- return scaled_dot_product_attention(Q, K, V, mask) =>
      output, weights = scaled_dot_product_attention(Q, K, V)
      if mask is not None:
          weights = weights.masked_fill(mask, 0.0)
      return weights @ V, weights
no_softmax: The scaled scores are used as weights without a softmax.
- return scaled_dot_product_attention(Q, K, V, mask) =>
      weights = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
      return weights @ V, weights
output_only (slip): Only the output is returned; (output, weights) is asked for.
- return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(Q, K, V, mask)[0]
swapped_results (slip): The two results are the wrong way round: (output, weights) is asked for.
- return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(Q, K, V, mask)[::-1]
weights_detached: The weights or the projections are cut off from the gradient, so q_proj and k_proj could never learn.
- return scaled_dot_product_attention(Q, K, V, mask) => return scaled_dot_product_attention(Q.detach(), K.detach(), V, mask)
returned_weights_detached: The weights that are returned are detached. They are right, but nothing can be learned through them.
- return scaled_dot_product_attention(Q, K, V, mask) =>
      output, weights = scaled_dot_product_attention(Q, K, V, mask)
      return output, weights.detach()
input_detached: The input is detached first, so no gradient flows back to the layers before this one.
- Q = self.q_proj(x) =>
      x = x.detach()
      Q = self.q_proj(x)
residual: The tokens are added to the output (a residual connection): that comes in notebook 08.
- return scaled_dot_product_attention(Q, K, V, mask) =>
      output, weights = scaled_dot_product_attention(Q, K, V, mask)
      return output + x[..., :1], weights
- return scaled_dot_product_attention(Q, K, V, mask) =>
      output, weights = scaled_dot_product_attention(Q, K, V, mask)
      return output + x, weights
- return scaled_dot_product_attention(Q, K, V, mask) =>
      output, weights = scaled_dot_product_attention(Q, K, V, mask)
      return (output + x if output.shape == x.shape else output), weights
dropout (slip): Dropout is applied to the weights or the output: it is not part of this module.
- return scaled_dot_product_attention(Q, K, V, mask) =>
      output, weights = scaled_dot_product_attention(Q, K, V, mask)
      return nn.functional.dropout(output, 0.1, self.training), weights
- return scaled_dot_product_attention(Q, K, V, mask) =>
      _, weights = scaled_dot_product_attention(Q, K, V, mask)
      weights = F.dropout(weights, 0.1, self.training)
      return weights @ V, weights
activation: A non-linearity (ReLU, tanh …) follows the projections or the output: nothing but the softmax bends here.
- self.q_proj(x) => torch.relu(self.q_proj(x))
  self.k_proj(x) => torch.relu(self.k_proj(x))
- self.q_proj(x) => torch.relu(self.q_proj(x))
  self.k_proj(x) => torch.relu(self.k_proj(x))
  self.v_proj(x) => torch.relu(self.v_proj(x))
- self.v_proj(x) => torch.relu(self.v_proj(x))
- return scaled_dot_product_attention(Q, K, V, mask) =>
      output, weights = scaled_dot_product_attention(Q, K, V, mask)
      return torch.relu(output), weights
- return scaled_dot_product_attention(Q, K, V, mask) =>
      output, weights = scaled_dot_product_attention(Q, K, V, mask)
      return torch.tanh(output), weights
frozen (slip): The parameters are frozen (requires_grad=False), so they cannot be trained.
- self.v_proj = nn.Linear(embed_dim, head_dim) =>
      self.v_proj = nn.Linear(embed_dim, head_dim)
      self.requires_grad_(False)
class_layers: The layers are stored in a place that all instances share, so two modules overwrite each other's weights.
- in several_heads
  class SelfAttention(nn.Module): =>
      _layers = {}

      def _shared(name, embed_dim, head_dim):
          return _layers.setdefault((name, embed_dim, head_dim), nn.Linear(embed_dim, head_dim))

      class SelfAttention(nn.Module):
  self.attention = nn.MultiheadAttention(embed_dim, embed_dim // head_dim, batch_first=True) =>
      self.q_proj = _shared("q", embed_dim, head_dim)
      self.k_proj = _shared("k", embed_dim, head_dim)
      self.v_proj = _shared("v", embed_dim, head_dim)
  return self.attention(x, x, x, attn_mask=mask) => return scaled_dot_product_attention(self.q_proj(x), self.k_proj(x), self.v_proj(x), mask)
- |
  class SelfAttention(nn.Module):
      made = {}

      def __init__(self, embed_dim, head_dim):
          super().__init__()
          if (embed_dim, head_dim) not in self.made:
              self.made[embed_dim, head_dim] = [nn.Linear(embed_dim, head_dim) for _ in range(3)]
          self.q_proj, self.k_proj, self.v_proj = self.made[embed_dim, head_dim]

      def forward(self, x, mask=None):
          return scaled_dot_product_attention(self.q_proj(x), self.k_proj(x), self.v_proj(x), mask)
list_for_a_pair (slip): A list is returned: return the tuple (output, weights), as `return output, weights` does.
- return scaled_dot_product_attention(Q, K, V, mask) => return list(scaled_dot_product_attention(Q, K, V, mask))
single_precision:
- Q = self.q_proj(x) =>
      x = x.float()
      Q = self.q_proj(x)
squeezed:
- return scaled_dot_product_attention(Q, K, V, mask) =>
      output, weights = scaled_dot_product_attention(Q, K, V, mask)
      return output.squeeze(), weights.squeeze()
- return scaled_dot_product_attention(Q, K, V, mask) =>
      output, weights = scaled_dot_product_attention(Q, K, V, mask)
      return output.squeeze(0), weights.squeeze(0)
- return scaled_dot_product_attention(Q, K, V, mask) =>
      output, weights = scaled_dot_product_attention(Q, K, V, mask)
      return output, weights.squeeze(0)
- return scaled_dot_product_attention(Q, K, V, mask) =>
      output, weights = scaled_dot_product_attention(Q, K, V, mask)
      return output, weights.squeeze()
- return scaled_dot_product_attention(Q, K, V, mask) =>
      output, weights = scaled_dot_product_attention(Q, K, V, mask)
      return output.squeeze(), weights
input_changed:
- Q = self.q_proj(x) =>
      x -= x.mean(-1, keepdim=True)
      Q = self.q_proj(x)
- Q = self.q_proj(x) =>
      x *= x.shape[-1] ** 0.5
      Q = self.q_proj(x)
own_initialisation: The layers are initialised in another way (xavier_uniform_, normal_, biases of zero): they start as nn.Linear starts by itself.
- self.v_proj = nn.Linear(embed_dim, head_dim) =>
      self.v_proj = nn.Linear(embed_dim, head_dim)
      for layer in (self.q_proj, self.k_proj, self.v_proj):
          nn.init.xavier_uniform_(layer.weight)
- self.v_proj = nn.Linear(embed_dim, head_dim) =>
      self.v_proj = nn.Linear(embed_dim, head_dim)
      for layer in (self.q_proj, self.k_proj, self.v_proj):
          nn.init.normal_(layer.weight, std=0.02)
- self.v_proj = nn.Linear(embed_dim, head_dim) =>
      self.v_proj = nn.Linear(embed_dim, head_dim)
      for layer in (self.q_proj, self.k_proj, self.v_proj):
          nn.init.xavier_uniform_(layer.weight)
          nn.init.zeros_(layer.bias)
- self.v_proj = nn.Linear(embed_dim, head_dim) =>
      self.v_proj = nn.Linear(embed_dim, head_dim)
      for layer in (self.q_proj, self.k_proj, self.v_proj):
          nn.init.zeros_(layer.bias)
view_needed (slip): `view` refuses tensors that are not contiguous, such as transposes: use `reshape`, or give x to the layers as it comes.
- self.q_proj(x) => self.q_proj(x.view(-1, x.shape[-1])).view(*x.shape[:-1], -1)
other_signature (slip): The arguments have other names: keep SelfAttention(embed_dim, head_dim) and forward(x, mask=None), so that they may be given
    by name.
- def forward(self, x, mask=None): =>
      def forward(self, tokens, mask=None):
          x = tokens
- embed_dim => d_model
  head_dim => d_k
""",
    right=r"""
written_out:
- |
  class SelfAttention(nn.Module):
      def __init__(self, embed_dim: int, head_dim: int):
          super().__init__()
          self.scale = head_dim ** -0.5
          self.v_proj = nn.Linear(embed_dim, head_dim)
          self.k_proj = nn.Linear(embed_dim, head_dim)
          self.q_proj = nn.Linear(embed_dim, head_dim)

      def forward(self, x, mask=None):
          att = torch.einsum("btd,bsd->bts", self.q_proj(x), self.k_proj(x)) * self.scale
          if mask is not None:
              att = torch.where(mask, float("-inf"), att)
          att = att.softmax(-1)
          return att.bmm(self.v_proj(x)), att
private_helper:
- |
  class SelfAttention(nn.Module):
      def __init__(self, embed_dim, head_dim):
          super().__init__()
          for name in ("q_proj", "k_proj", "v_proj"):
              setattr(self, name, nn.Linear(embed_dim, head_dim))
          self.register_buffer("root", torch.tensor(float(head_dim)).sqrt(), persistent=False)

      def _weights(self, x, mask):
          scores = self.q_proj(x) @ self.k_proj(x).mT / self.root
          return softmax(scores if mask is None else scores.masked_fill(mask, -torch.inf))

      def forward(self, x, mask=None):
          weights = self._weights(x, mask)
          return weights @ self.v_proj(x), weights
functional_and_pytorch:
- super().__init__() =>
      super(SelfAttention, self).__init__()
      self.q_proj, self.k_proj, self.v_proj = (nn.Linear(embed_dim, head_dim) for _ in range(3))
  self.q_proj = nn.Linear(embed_dim, head_dim) =>
  self.k_proj = nn.Linear(embed_dim, head_dim) =>
  self.v_proj = nn.Linear(embed_dim, head_dim) =>
  Q = self.q_proj(x) => q, k, v = [p(x) for p in (self.q_proj, self.k_proj, self.v_proj)]
  K = self.k_proj(x) => out = F.scaled_dot_product_attention(q, k, v, attn_mask=None if mask is None else ~mask)
  V = self.v_proj(x) => _, weights = scaled_dot_product_attention(q, k, v, mask=mask)
  return scaled_dot_product_attention(Q, K, V, mask) => return out, weights
""",
)
