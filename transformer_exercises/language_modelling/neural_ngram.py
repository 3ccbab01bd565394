"""`NeuralNgram`: its three parts, logits with given weights, leading dimensions, gradients.

The mistakes: vectors summed instead of set side by side, no ReLU, a softmax too many, dimensions counted from the front.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import dtype_name, same_gradients, same_tensor, shape_name, shape_of, unchanged
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import device_is_kept, generator_unchanged, normal, outline, parameters_unchanged
from autograder.spec.student import Student

ROLES = ("embedding.weight", "hidden.weight", "hidden.bias", "output.weight", "output.bias")
LOGITS = "The logits"


def _shapes(V: int, n: int, E: int, H: int) -> dict[str, tuple[int, ...]]:
    return dict(zip(ROLES, ((V, E), (H, (n - 1) * E), (H,), (V, H), (V,)), strict=True))


def _names(parameters: dict, shapes: dict[str, tuple[int, ...]], sizes: str) -> dict[str, str]:
    """What the parts are called in a student's module; other names are marked elsewhere."""
    found: dict[str, str] = {}
    for role, shape in shapes.items():
        free = [str(n) for n, p in parameters.items() if shape_of(p) == shape and str(n) not in found.values()]
        if not free:
            raise Wrong(f"NeuralNgram({sizes}) holds no parameter `{role}` of shape {shape_name(torch.empty(shape))}.")
        found[role] = role if role in free else free[0]
    return found


def _built(
    student: Student, V: int, n: int, E: int, H: int, dtype: str = ""
) -> tuple[Any, dict[str, torch.Tensor], dict[str, str]]:
    """A module, the numbers put into its parts under the names of ROLES, and the names they have there."""
    module = student.build("NeuralNgram", V, n, E, H)
    if dtype:
        student.move(module, dtype)
    shapes = _shapes(V, n, E, H)
    try:
        names = _names(student.state(module, record=False)["parameters"], shapes, f"{V}, {n}, {E}, {H}")
    except Wrong:
        outline(student, module, 0)
        raise
    state = {role: normal(*shape, dtype=torch.float64 if dtype else torch.float32) for role, shape in shapes.items()}
    student.load(module, {names[role]: value for role, value in state.items()})
    return module, state, names


def _logits(state: dict[str, torch.Tensor], context: torch.Tensor) -> torch.Tensor:
    vectors = F.embedding(context, state["embedding.weight"]).flatten(-2)
    hidden = F.relu(F.linear(vectors, state["hidden.weight"], state["hidden.bias"]))
    return F.linear(hidden, state["output.weight"], state["output.bias"])


def _contexts(V: int, *shape: int) -> torch.Tensor:
    return (normal(*shape).mul(997).abs().long() % V).contiguous()


def _asked(student: Student, leading: tuple[int, ...], V: int, n: int, E: int, H: int) -> None:
    with student.case():
        module, state, _ = _built(student, V, n, E, H)
        context = _contexts(V, *leading, n - 1)
        where = f"for contexts of shape {shape_name(context)} and NeuralNgram({V}, {n}, {E}, {H})"
        same_tensor(student.value(module, context, where=where), _logits(state, context), LOGITS, where)


def _ngram_parts(student: Student) -> None:
    for V, n, E, H in ((7, 4, 3, 5), (11, 2, 6, 4), (5, 9, 2, 13)):
        with student.case():
            module = student.build("NeuralNgram", V, n, E, H)
            outline(student, module, 2)
            state = student.state(module, record=False)
            parameters, sizes = state["parameters"], f"NeuralNgram({V}, {n}, {E}, {H})"
            for role, shape in _shapes(V, n, E, H).items():
                if not isinstance(parameters.get(role), torch.Tensor):
                    there = ", ".join(map(str, parameters))[:120] or "nothing"
                    raise Wrong(f"{sizes} has no parameter `{role}`; there is {there}.")
                if shape_of(parameters[role]) != shape:
                    mine = shape_name(parameters[role])
                    wanted = shape_name(torch.empty(shape))
                    raise Wrong(f"`{role}` of {sizes} should have shape {wanted}; yours has {mine}.")
                if parameters[role].dtype != torch.float32:
                    raise Wrong(f"`{role}` should be float32; yours is {dtype_name(parameters[role])}.")
                if role not in state["trainable"]:
                    raise Wrong(f"`{role}` is frozen (requires_grad=False), so it cannot be trained.")
                if role.endswith("weight") and parameters[role].std() < 1e-4:
                    raise Wrong(f"All numbers of `{role}` begin alike, so they would learn the same.")
            extra = sorted(set(map(str, parameters)) - set(ROLES))
            if extra:
                raise Wrong(f"Three parts are all there is; yours has more parameters: {', '.join(extra)[:120]}.")
    with student.case():
        named = student.build("NeuralNgram", vocab_size=4, n=3, embed_dim=2, hidden_dim=5)
        _names(student.state(named, record=False)["parameters"], _shapes(4, 3, 2, 5), "4, 3, 2, 5")


def _ngram_values(student: Student) -> None:
    for leading, V, n, E, H in (
        ((4,), 7, 4, 3, 5),
        ((5,), 11, 2, 6, 4),
        ((1,), 5, 9, 2, 13),
        ((3,), 3, 4, 3, 3),
        ((40,), 6, 17, 4, 8),
        ((2,), 9, 3, 1, 2),
    ):
        _asked(student, leading, V, n, E, H)


def _ngram_leading(student: Student) -> None:
    for leading in ((2, 6), (), (3, 1, 4), (2, 1, 1, 2)):
        _asked(student, leading, 7, 5, 3, 4)


def _ngram_gradient(student: Student) -> None:
    for leading, dtype in (((6,), torch.float32), ((2, 5), torch.float64)):
        with student.case():
            module, state, names = _built(student, 5, 4, 3, 6, dtype="float64" if dtype == torch.float64 else "")
            context = _contexts(5, *leading, 3)
            where = f"for contexts of shape {shape_name(context)}"
            leaves = {role: value.clone().requires_grad_(True) for role, value in state.items()}
            result = _logits(leaves, context)
            upstream = normal(*result.shape, dtype=dtype)
            expected = torch.autograd.grad((result * upstream).sum(), list(leaves.values()))
            answer = student.call(module, [context], where=where, upstream=[upstream])
            same_tensor(answer["value"], result.detach(), LOGITS, where)
            mine = [answer["gradients"].get("parameters", {}).get(names[role]) for role in ROLES]
            student.note_gradients(dict(zip(ROLES, mine, strict=True)))
            same_gradients(mine, list(expected), [f"`{role}`" for role in ROLES], where)


def _ngram_manners(student: Student) -> None:
    module, state, names = _built(student, 7, 4, 3, 5)
    other, other_state, _ = _built(student, 7, 4, 3, 5)
    context = _contexts(7, 6, 3)
    for training, where in ((True, "in training mode"), (False, "in evaluation mode")):
        answer = student.call(module, [context], training=training, where=where)
        same_tensor(answer["value"], _logits(state, context), LOGITS, where)
        unchanged(answer["inputs"], [context], "`context`")
        generator_unchanged(answer)
    same_tensor(student.value(other, context), _logits(other_state, context), LOGITS, "of a second module")
    parameters_unchanged(student, module, {names[role]: value for role, value in state.items()}, record=False)
    with student.case():
        wide, wide_state, _ = _built(student, 6, 3, 4, 5, dtype="float64")
        context = _contexts(6, 5, 2)
        where = "in float64"
        same_tensor(student.value(wide, context, where=where), _logits(wide_state, context), LOGITS, where)
    with student.case():
        turned, where = _contexts(7, 3, 6).T, "for contexts that are not contiguous"
        same_tensor(student.value(module, turned, where=where), _logits(state, turned), LOGITS, where)
    device_is_kept(student, module, [_contexts(7, 6, 3)])


EXERCISE = Exercise(
    points=5,
    checks=[
        Check("the three parts, and nothing else", 1.0, _ngram_parts),
        Check("logits with given weights", 2.0, _ngram_values),
        Check("any number of leading dimensions", 0.75, _ngram_leading, further=True),
        Check("gradients reach every part", 0.5, _ngram_gradient, further=True),
        Check(
            "float64, input unchanged, modules independent, any layout and device", 0.75, _ngram_manners, further=True
        ),
    ],
    working=r"""
from torch import nn

class NeuralNgram(nn.Sequential):
    def __init__(self, vocab_size, n, embed_dim, hidden_dim):
        super().__init__()
        self.add_module("embedding", nn.Embedding(vocab_size, embed_dim))
        self.add_module("side_by_side", nn.Flatten(-2))
        self.add_module("hidden", nn.Linear((n - 1) * embed_dim, hidden_dim))
        self.add_module("relu", nn.ReLU())
        self.add_module("output", nn.Linear(hidden_dim, vocab_size))
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
no_relu: There is no ReLU between the layers: two linear layers in a row are only one linear layer, and the characters could not be mixed.
- torch.relu(self.hidden(side_by_side)) => self.hidden(side_by_side)
other_activation (slip): Another activation stands between the layers: ReLU is asked for, which makes each negative number 0.
- torch.relu => torch.tanh || torch.sigmoid || F.gelu || F.silu || F.leaky_relu
relu_on_the_vectors: The ReLU acts on the vectors (or on the logits) instead of what the hidden layer returns.
- torch.relu(self.hidden(side_by_side)) => self.hidden(torch.relu(side_by_side))
- torch.relu(self.hidden(side_by_side)) => self.hidden(side_by_side)
  return self.output(mixed) => return torch.relu(self.output(mixed))
relu_on_the_logits: A ReLU acts on the logits, too: logits may be negative, or no token could become improbable.
- return self.output(mixed) => return torch.relu(self.output(mixed))
softmax_at_the_end: Probabilities are returned: logits are asked for, the softmax belongs to the loss.
- return self.output(mixed) => return torch.softmax(self.output(mixed), dim=-1)
- return self.output(mixed) => return torch.log_softmax(self.output(mixed), dim=-1)
summed: The vectors are added up (or averaged) and repeated, so the order of the tokens is lost: set them side by side.
- vectors.flatten(start_dim=-2) => vectors.sum(-2).repeat(*[1] * (context.dim() - 1), context.shape[-1])
- vectors.flatten(start_dim=-2) => vectors.mean(-2).repeat(*[1] * (context.dim() - 1), context.shape[-1])
summed_into_a_smaller_layer: The vectors are added up (or averaged), and `hidden` takes embed_dim numbers: set the n − 1 vectors side by side, so that
    each place has weights of its own.
- (n - 1) * embed_dim => embed_dim
  vectors.flatten(start_dim=-2) => vectors.sum(-2)
newest_first: The vectors stand in the wrong order: the order of the text is asked for, the oldest token first.
- vectors.flatten(start_dim=-2) => vectors.flip(-2).flatten(start_dim=-2)
interleaved: The numbers of the vectors are interleaved (first all first numbers, then all second ones): each vector stays whole.
- vectors.flatten(start_dim=-2) => vectors.transpose(-1, -2).flatten(start_dim=-2)
flattened_from_the_front: Dimensions are flattened from the front (flatten(1)), which is right for [B, n − 1] only: flatten the last two.
- flatten(start_dim=-2) => flatten(1)
all_flattened: The leading dimensions are merged into one, or lost: contexts [B, T, n − 1] give logits [B, T, V].
- flatten(start_dim=-2) => reshape(-1, self.hidden.in_features)
n_tokens (slip): The model reads n tokens: an n-gram model reads the n − 1 before, and predicts the n-th.
- (n - 1) * embed_dim => n * embed_dim
n_minus_two (slip): The hidden layer has room for fewer than n − 1 vectors.
- (n - 1) * embed_dim => (n - 2) * embed_dim
  vectors = self.embedding(context) => vectors = self.embedding(context[..., 1:])
sizes_swapped (slip): Two sizes are swapped: vocab_size, n, embed_dim, hidden_dim come in this order, and nn.Linear takes inputs first.
- vocab_size, n, embed_dim, hidden_dim): => vocab_size, n, hidden_dim, embed_dim):
- vocab_size, n, embed_dim, hidden_dim): => n, vocab_size, embed_dim, hidden_dim):
- nn.Embedding(vocab_size, embed_dim) => nn.Embedding(embed_dim, vocab_size)
- nn.Linear(hidden_dim, vocab_size) => nn.Linear(vocab_size, hidden_dim)
sizes_fixed: Sizes are fixed in the code: take them from the arguments.
- nn.Embedding(vocab_size, => nn.Embedding(53,
  nn.Linear(hidden_dim, vocab_size) => nn.Linear(hidden_dim, 53)
- (n - 1) * embed_dim => 16 * embed_dim
- (n - 1) * embed_dim, hidden_dim) => (n - 1) * embed_dim, 256)
  nn.Linear(hidden_dim, => nn.Linear(256,
other_names: The parts have other names: `embedding`, `hidden` and `output` are asked for, so that weights can be loaded into them.
- self.embedding => self.embed
- self.hidden => self.layer
- self.output => self.head
- self.embedding => self.emb
  self.hidden => self.fc1
  self.output => self.fc2
one_sequential: The parts stand in one nn.Sequential, under numbers: the names `embedding`, `hidden` and `output` are asked for.
- |
  class NeuralNgram(nn.Module):
      def __init__(self, vocab_size, n, embed_dim, hidden_dim):
          super().__init__()
          self.net = nn.Sequential(nn.Embedding(vocab_size, embed_dim), nn.Flatten(-2), nn.Linear((n - 1) * embed_dim, hidden_dim),
              nn.ReLU(), nn.Linear(hidden_dim, vocab_size))

      def forward(self, context):
          return self.net(context)
no_bias: A layer has no bias: nn.Linear with its default bias is asked for.
- hidden_dim) => hidden_dim, bias=False)
  vocab_size, n, embed_dim, hidden_dim, bias=False) => vocab_size, n, embed_dim, hidden_dim)
- nn.Linear(hidden_dim, vocab_size) => nn.Linear(hidden_dim, vocab_size, bias=False)
one_table_each_place: Each place has an embedding table of its own: one table serves all places, and `hidden` tells them apart.
- nn.Embedding(vocab_size, embed_dim) => nn.ModuleList(nn.Embedding(vocab_size, embed_dim) for _ in range(n - 1))
  self.embedding(context) => torch.stack([table(context[..., k]) for k, table in enumerate(self.embedding)], dim=-2)
one_hot_inputs: The ids are used as numbers (or as one-hot rows) without a table: each id is looked up in `embedding`.
- nn.Embedding(vocab_size, embed_dim) => nn.Identity()
  (n - 1) * embed_dim => n - 1
  side_by_side = vectors.flatten(start_dim=-2) => side_by_side = vectors.to(self.hidden.weight.dtype)
- nn.Embedding(vocab_size, embed_dim) => nn.Identity()
  (n - 1) * embed_dim => (n - 1) * vocab_size
  vectors = self.embedding(context) => vectors = F.one_hot(context, self.output.out_features).to(self.hidden.weight.dtype)
tied: The output uses the table of the embedding: here `output` is a layer of its own.
- self.output = nn.Linear(hidden_dim, vocab_size) => self.output = nn.Linear(hidden_dim, embed_dim)
  return self.output(mixed) => return self.output(mixed) @ self.embedding.weight.T
extra_layer: There is a layer more than the three: `embedding`, `hidden` and `output` are all.
- self.output = nn.Linear(hidden_dim, vocab_size) =>
      self.second = nn.Linear(hidden_dim, hidden_dim)
      self.output = nn.Linear(hidden_dim, vocab_size)
  return self.output(mixed) => return self.output(torch.relu(self.second(mixed)))
- self.output = nn.Linear(hidden_dim, vocab_size) =>
      self.norm = nn.LayerNorm(hidden_dim)
      self.output = nn.Linear(hidden_dim, vocab_size)
  return self.output(mixed) => return self.output(self.norm(mixed))
direct_connections: The vectors also lead straight to the logits, as in one of Bengio's variants: here they go through the hidden layer only.
- self.output = nn.Linear(hidden_dim, vocab_size) =>
      self.output = nn.Linear(hidden_dim, vocab_size)
      self.direct = nn.Linear((n - 1) * embed_dim, vocab_size, bias=False)
  return self.output(mixed) => return self.output(mixed) + self.direct(side_by_side)
residual: What goes into a layer is added to what comes out of it: there are no such additions here.
- return self.output(mixed) => return self.output(mixed + self.hidden(side_by_side))
dropout: Some of the numbers are dropped in training: no dropout is asked for.
- return self.output(mixed) => return self.output(F.dropout(mixed, 0.1, self.training))
- return self.output(mixed) => return self.output(F.dropout(mixed, 0.5, self.training))
new_layers_each_call (missed): A layer is made anew in each call, with new random weights: make the parts once, in `__init__`.
- torch.relu(self.hidden(side_by_side)) => torch.relu(nn.Linear(side_by_side.shape[-1], self.hidden.out_features)(side_by_side))
- return self.output(mixed) => return nn.Linear(self.output.in_features, self.output.out_features)(mixed)
hidden_returned: What the hidden layer returns is handed back: the logits come from `output`.
- return self.output(mixed) => return mixed
vectors_frozen: The table of vectors is frozen, or cut off from the loss, so that it never learns.
- self.embedding(context) => self.embedding(context).detach()
started_alike: The layers begin with all their weights alike, so all their numbers would learn the same: leave PyTorch's random start.
- self.output = nn.Linear(hidden_dim, vocab_size) =>
      self.output = nn.Linear(hidden_dim, vocab_size)
      for p in self.parameters():
          nn.init.zeros_(p)
padding_row: Token 0 is treated as padding (zeros, never trained): here id 0 is an id like the others.
- nn.Embedding(vocab_size, embed_dim) => nn.Embedding(vocab_size, embed_dim, padding_idx=0)
single_context_fails: A single context [n − 1] fails, or gives a dimension too many: there may be no leading dimension at all.
- vectors = self.embedding(context) =>
      B, _ = context.shape
      vectors = self.embedding(context)
- vectors = self.embedding(context) => vectors = self.embedding(torch.atleast_2d(context))
not_a_module (missed): The class is no nn.Module, or super().__init__() is missing: without it no part can be kept.
- class NeuralNgram(nn.Module) => class NeuralNgram
  super().__init__() =>
- super().__init__() =>
""",
    right=r"""
reshape:
- vectors.flatten(start_dim=-2) => vectors.reshape(*context.shape[:-1], -1)
concatenated:
- vectors.flatten(start_dim=-2) => torch.cat([vectors[..., k, :] for k in range(context.shape[-1])], dim=-1)
- torch.relu => F.relu
  vectors.flatten(start_dim=-2) => torch.cat(vectors.unbind(-2), -1)
written_out:
- |
  class NeuralNgram(nn.Module):
      def __init__(self, vocab_size, n, embed_dim, hidden_dim):
          super().__init__()
          self.n = n
          self.embedding = nn.Embedding(vocab_size, embed_dim)
          self.hidden = nn.Linear(embed_dim * (n - 1), hidden_dim)
          self.output = nn.Linear(hidden_dim, vocab_size)
          self.act = nn.ReLU()

      def forward(self, context):
          x = self.embedding.weight[context]
          x = x.reshape(context.shape[:-1] + (-1,))
          x = x @ self.hidden.weight.T + self.hidden.bias
          return F.linear(self.act(x), self.output.weight, self.output.bias)
einsum_by_place:
- torch.relu(self.hidden(side_by_side)) =>
      torch.clamp(torch.einsum("...ke,hke->...h", vectors,
          self.hidden.weight.unflatten(1, (context.shape[-1], -1))) + self.hidden.bias, min=0)
  side_by_side = vectors.flatten(start_dim=-2) =>
own_initialisation:
- self.output = nn.Linear(hidden_dim, vocab_size) =>
      self.output = nn.Linear(hidden_dim, vocab_size)
      nn.init.normal_(self.embedding.weight, std=0.1)
      nn.init.kaiming_normal_(self.hidden.weight, nonlinearity="relu")
      nn.init.normal_(self.output.weight, std=0.02)
""",
)
