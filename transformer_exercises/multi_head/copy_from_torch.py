"""`copy_from_torch`: every weight in its place, the same output, copied and not shared, still trainable.

The mistakes: the stack taken apart in another way, transposed, names rebound, parameters frozen or replaced.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from autograder.spec.compare import a_tensor, close, same_tensor
from autograder.spec.exercise import Check, Exercise, Problem, ValuesDiffer, Wrong
from autograder.spec.inputs import future, normal
from autograder.spec.student import Student

from .common import build_loaded, stacked, torchs, weights_for

_THEIRS = """
def theirs(embed_dim, num_heads, batch_first):
    return nn.MultiheadAttention(embed_dim, num_heads, batch_first=batch_first)
"""

MODULES = ((6, 2, True), (4, 4, True), (5, 1, False), (12, 3, True))  # (C, H, batch_first)


def _pair(
    student: Student, C: int, H: int, batch_first: bool, dtype: str = ""
) -> tuple[Any, Any, dict[str, torch.Tensor]]:
    """mine and theirs, with different weights, and the weights of theirs under the names of mine."""
    mine = build_loaded(student, C, H, dtype)[0]
    theirs = student.call(student.probe("theirs", _THEIRS), [C, H, batch_first], keep=True)["value"]
    if dtype:
        student.move(theirs, dtype)
    state = weights_for(C, torch.float64 if dtype else torch.float32)
    student.load(theirs, stacked(state))
    return mine, theirs, state


def _copied(student: Student, mine: Any, state: dict[str, torch.Tensor], where: str) -> None:
    parameters = student.state(mine)["parameters"]
    for name, value in state.items():
        got = parameters.get(name)
        if not isinstance(got, torch.Tensor):
            raise Wrong(f"mine has lost its parameter `{name}` {where}: copy values into the layers that are there.")
        same_tensor(got, value, f"`{name}` of mine", where)


def _copy(student: Student, mine: Any, theirs: Any, where: str = "") -> None:
    """Copy. What was copied before an error, and what is copied where nothing needs gradients, tell mistakes apart."""
    try:
        student.value("copy_from_torch", mine, theirs, where=where)
    except Problem:
        student.state(mine)
        for module in (mine, theirs):
            student.call((module, "requires_grad_"), [False])
        with contextlib.suppress(Problem):
            student.value("copy_from_torch", mine, theirs)
        student.state(mine)
        raise


def _unmoved(student: Student, module: Any, state: dict[str, torch.Tensor], sentence: str) -> None:
    parameters = student.state(module)["parameters"]
    for name, value in state.items():
        got = parameters.get(name)
        if not isinstance(got, torch.Tensor) or got.shape != value.shape or not torch.equal(got, value):
            raise ValuesDiffer(sentence)


def _copy_values(student: Student) -> None:
    for C, H, batch_first in MODULES:
        with student.case():
            mine, theirs, state = _pair(student, C, H, batch_first)
            where = f"for embed_dim = {C}, num_heads = {H}"
            _copy(student, mine, theirs, where)
            student.state(theirs)  # what has become of theirs tells mistakes apart
            _copied(student, mine, state, where)


def _copy_output(student: Student) -> None:
    for C, H, batch_first in MODULES:
        with student.case():
            mine, theirs, state = _pair(student, C, H, batch_first)
            _copy(student, mine, theirs)
            x, context, where = normal(2, 5, C), normal(2, 5, C), f"for embed_dim = {C}, num_heads = {H}"
            for given, tokens in ((None, x), (context, context)):
                expected = torchs(state, H)(x, tokens, tokens, attn_mask=future(5), need_weights=False)[0].detach()
                got = a_tensor(student.value(mine, x, future(5), given, where=where), "The output of mine")
                if got.shape != expected.shape or not close(got, expected):
                    raise ValuesDiffer(f"mine does not give the output of theirs {where}.")


def _copy_independent(student: Student) -> None:
    """Values are copied, not shared: a step of training in one is not felt by the other."""
    for C, H, batch_first in MODULES[:3]:
        with student.case():
            mine, theirs, state = _pair(student, C, H, batch_first)
            _copy(student, mine, theirs)
            _copied(student, mine, state, "")
            _unmoved(student, theirs, stacked(state), "theirs is changed by the copying: only mine should be.")
            student.load(mine, weights_for(C))
            shared = (
                "mine and theirs share their numbers: training mine changes theirs too. Copy values (`copy_`, or "
                "`clone` first)."
            )
            _unmoved(student, theirs, stacked(state), shared)
            _copy(student, mine, theirs)
            student.load(theirs, stacked(weights_for(C)))
            _unmoved(student, mine, state, shared)


def _copy_trainable(student: Student) -> None:
    mine, theirs, state = _pair(student, 6, 2, True)
    _copy(student, mine, theirs)
    _copied(student, mine, state, "")
    for module, who, names in ((mine, "mine", state), (theirs, "theirs", stacked(state))):
        after = student.state(module)
        frozen = sorted(set(names) - set(after["trainable"]))
        if frozen:
            raise Wrong(
                f"`{frozen[0]}` of {who} can no longer be trained: it should stay a parameter that requires gradients."
            )
        extra = sorted(set(after["parameters"]) - set(names))
        if extra:
            raise Wrong(f"{who} has a parameter more than before: {str(extra[0])[:60]}.")
    x, upstream = normal(2, 4, 6), normal(2, 4, 6)
    grads = student.call(mine, [x], upstream=[upstream])["gradients"].get("parameters", {})
    if any(not isinstance(grads.get(name), torch.Tensor) for name in state):
        raise Wrong("After the copying, gradients no longer reach every parameter of mine.")


def _copy_manners(student: Student) -> None:
    mine, theirs, state = _pair(student, 6, 3, True, "float64")
    _copy(student, mine, theirs)
    _copied(student, mine, state, "in float64")
    with student.case():
        mine, theirs, state = _pair(student, 4, 2, True)
        student.value("copy_from_torch", mine=mine, theirs=theirs)
        _copied(student, mine, state, "with the arguments given by name")
    with student.case():
        _copy(student, mine, theirs)
        _copied(student, mine, state, "when copied a second time")


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("every weight and bias in its place", 1.5, _copy_values),
        Check("the same output afterwards", 1.0, _copy_output, further=True),
        Check("copied, not shared; theirs unchanged", 0.75, _copy_independent, further=True),
        Check("mine can still be trained", 0.5, _copy_trainable, further=True),
        Check("float64, arguments by name", 0.25, _copy_manners, further=True),
    ],
    working=r"""
import torch

def copy_from_torch(mine, theirs):
    state = {f"out_proj.{part}": value for part, value in theirs.out_proj.state_dict().items()}
    for part in ("weight", "bias"):
        stacked = theirs.state_dict()[f"in_proj_{part}"]
        state |= {f"{n}_proj.{part}": t for n, t in zip("qkv", stacked.tensor_split(3))}
    mine.load_state_dict(state)
""",
    wrong=r"""
order_of_stack: The three thirds go to the wrong layers: in_proj_weight holds the queries' rows first, then the keys', then the values'.
- layers = (mine.q_proj, mine.k_proj, mine.v_proj) => layers = (mine.k_proj, mine.q_proj, mine.v_proj)
- layers = (mine.q_proj, mine.k_proj, mine.v_proj) => layers = (mine.q_proj, mine.v_proj, mine.k_proj)
- layers = (mine.q_proj, mine.k_proj, mine.v_proj) => layers = (mine.v_proj, mine.k_proj, mine.q_proj)
- layers = (mine.q_proj, mine.k_proj, mine.v_proj) => layers = (mine.k_proj, mine.v_proj, mine.q_proj)
- layers = (mine.q_proj, mine.k_proj, mine.v_proj) => layers = (mine.v_proj, mine.q_proj, mine.k_proj)
- theirs.in_proj_bias.chunk(3) => [theirs.in_proj_bias.chunk(3)[n] for n in (0, 2, 1)] || [theirs.in_proj_bias.chunk(3)[n] for n in (1, 0, 2)]
one_forgotten (slip): One of the projections is not copied: queries, keys and values each get their third of the stack.
- layers = (mine.q_proj, mine.k_proj, mine.v_proj) => layers = (mine.q_proj, mine.k_proj)
  strict=True => strict=False
- layers = (mine.q_proj, mine.k_proj, mine.v_proj) =>
      import copy
      layers = [mine.q_proj, mine.k_proj, mine.v_proj]
      layers[0] = copy.deepcopy(layers[0])
- layers = (mine.q_proj, mine.k_proj, mine.v_proj) =>
      import copy
      layers = [mine.q_proj, mine.k_proj, mine.v_proj]
      layers[1] = copy.deepcopy(layers[1])
transposed (slip): The matrices are transposed: both modules keep weights as (out, in), so they are copied as they are.
- layer.weight.copy_(weight) => layer.weight.copy_(weight.T)
- layer.weight.copy_(weight) => layer.weight.copy_(weight.T)
  mine.out_proj.weight.copy_(theirs.out_proj.weight) => mine.out_proj.weight.copy_(theirs.out_proj.weight.T)
- mine.out_proj.weight.copy_(theirs.out_proj.weight) => mine.out_proj.weight.copy_(theirs.out_proj.weight.T)
shapes_do_not_fit (missed): What is copied does not have the shape of the parameter it goes to. in_proj_weight is (3C, C) and holds three projections, C rows
    each: cut it along its rows (dim=0), whatever C is.
- in_proj_weight.chunk(3) => in_proj_weight.chunk(3, dim=1)
- theirs.in_proj_weight.chunk(3) => theirs.in_proj_weight.split(4)[:3]
  theirs.in_proj_bias.chunk(3) => theirs.in_proj_bias.split(4)[:3]
interleaved: Every third row is taken for each projection: the rows of one projection stand together, C in a row.
- theirs.in_proj_weight.chunk(3) => [theirs.in_proj_weight[n::3] for n in range(3)]
  theirs.in_proj_bias.chunk(3) => [theirs.in_proj_bias[n::3] for n in range(3)]
- in_proj_weight.chunk(3) => in_proj_weight.reshape(theirs.embed_dim, -1).chunk(3, dim=1)
by_heads: The stack is cut by heads (q, k and v of head 0, then of head 1 …): in PyTorch all queries come first, then all keys, then all values.
- theirs.in_proj_weight.chunk(3) => theirs.in_proj_weight.view(theirs.num_heads, 3, -1, theirs.embed_dim).transpose(0, 1).reshape(3, theirs.embed_dim, -1)
  theirs.in_proj_bias.chunk(3) => theirs.in_proj_bias.view(theirs.num_heads, 3, -1).transpose(0, 1).reshape(3, -1)
biases_forgotten (slip): The biases are not copied (in_proj_bias, out_proj.bias): they are zero in a fresh nn.MultiheadAttention, so the difference shows
    only after training.
- layer.bias.copy_(bias) =>
- layer.bias.copy_(bias) =>
  mine.out_proj.bias.copy_(theirs.out_proj.bias) =>
- mine.out_proj.bias.copy_(theirs.out_proj.bias) =>
biases_zeroed (slip): The biases of mine are set to zero: theirs may have others, copy them.
- layer.bias.copy_(bias) => layer.bias.zero_()
- layer.bias.copy_(bias) => layer.bias.zero_()
  mine.out_proj.bias.copy_(theirs.out_proj.bias) => mine.out_proj.bias.zero_()
- mine.out_proj.bias.copy_(theirs.out_proj.bias) => mine.out_proj.bias.zero_()
out_proj_forgotten (slip): out_proj is not copied: it has a weight and a bias too.
- mine.out_proj.weight.copy_(theirs.out_proj.weight) =>
  mine.out_proj.bias.copy_(theirs.out_proj.bias) =>
- mine.out_proj.weight.copy_(theirs.out_proj.weight) =>
only_out_proj: Only out_proj is copied: queries, keys and values come from in_proj_weight and in_proj_bias.
- layer.weight.copy_(weight) => pass
  layer.bias.copy_(bias) => pass
state_dict_whole (missed): `load_state_dict` of the whole fails: theirs has q, k and v in one matrix in_proj_weight, mine in three layers. Cut it first.
- |
  mine.load_state_dict(theirs.state_dict())
attributes_of_theirs (missed): theirs has no q_proj (nor q_proj.weight): its three projections are stacked in in_proj_weight and in_proj_bias.
- |
  with torch.no_grad():
      for name in ('q_proj', 'k_proj', 'v_proj', 'out_proj'):
          getattr(mine, name).weight.copy_(getattr(theirs, name).weight)
          getattr(mine, name).bias.copy_(getattr(theirs, name).bias)
first_third_for_all: All three projections get the same third of the stack: rows 0 to C are the queries', C to 2C the keys', 2C to 3C the values'.
- .chunk(3)  # three times (C, C) => .chunk(3)[:1] * 3
  .chunk(3)  # three times (C,) => .chunk(3)[:1] * 3
- .chunk(3)  # three times (C, C) => .chunk(3)[:1] * 3 || .chunk(3)[0:2] + theirs.in_proj_weight.chunk(3)[1:2]
- .chunk(3)  # three times (C,) => .chunk(3)[:1] * 3
- .chunk(3)  # three times (C, C) => .chunk(3)[0:2] + theirs.in_proj_weight.chunk(3)[1:2]
  .chunk(3)  # three times (C,) => .chunk(3)[0:2] + theirs.in_proj_bias.chunk(3)[1:2]
shared: mine and theirs share memory (an assignment instead of a copy): training one changes the other. Copy the values (`copy_`, `clone`).
- layer.weight.copy_(weight) => layer.weight.data = weight
  layer.bias.copy_(bias) => layer.bias.data = bias
  mine.out_proj.weight.copy_(theirs.out_proj.weight) => mine.out_proj.weight.data = theirs.out_proj.weight.data
  mine.out_proj.bias.copy_(theirs.out_proj.bias) => mine.out_proj.bias.data = theirs.out_proj.bias.data
- mine.out_proj.weight.copy_(theirs.out_proj.weight) => mine.out_proj = theirs.out_proj
  mine.out_proj.bias.copy_(theirs.out_proj.bias) =>
- layer.weight.copy_(weight) => layer.weight.data = weight
  layer.bias.copy_(bias) => layer.bias.data = bias
- mine.out_proj.weight.copy_(theirs.out_proj.weight) => mine.out_proj.weight = theirs.out_proj.weight
  mine.out_proj.bias.copy_(theirs.out_proj.bias) => mine.out_proj.bias = theirs.out_proj.bias
wrong_direction: The copy goes the wrong way: theirs is changed. `mine.….copy_(theirs.…)` writes into mine.
- layer.weight.copy_(weight) => weight.copy_(layer.weight)
  layer.bias.copy_(bias) => bias.copy_(layer.bias)
  mine.out_proj.weight.copy_(theirs.out_proj.weight) => theirs.out_proj.weight.copy_(mine.out_proj.weight)
  mine.out_proj.bias.copy_(theirs.out_proj.bias) => theirs.out_proj.bias.copy_(mine.out_proj.bias)
names_rebound (missed): Nothing is copied: `w = …` only gives a name to another tensor. Write into the parameter: `layer.weight.copy_(…)`.
- layer.weight.copy_(weight) =>
      w = layer.weight
      w = weight
  layer.bias.copy_(bias) =>
      b = layer.bias
      b = bias
  mine.out_proj.weight.copy_(theirs.out_proj.weight) => w = theirs.out_proj.weight
  mine.out_proj.bias.copy_(theirs.out_proj.bias) => b = theirs.out_proj.bias
no_grad_missing (missed): Writing into a parameter in place needs `with torch.no_grad():`, otherwise autograd refuses it.
- with torch.no_grad(): => if True:
not_a_parameter (missed): A parameter is given what it cannot take: a plain tensor (`layer.weight = tensor`: use `copy_`, or nn.Parameter), or None (theirs'
    q_proj_weight is None, because its projections are stacked in in_proj_weight).
- layer.weight.copy_(weight) => layer.weight = weight.clone()
  layer.bias.copy_(bias) => layer.bias = bias.clone()
- layer.weight.copy_(weight) =>
      del layer.weight
      layer.weight = weight.clone()
  layer.bias.copy_(bias) =>
      del layer.bias
      layer.bias = bias.clone()
frozen: The copied parameters no longer require gradients, so that mine cannot be trained.
- |
  layers = (mine.q_proj, mine.k_proj, mine.v_proj)
  weights = theirs.in_proj_weight.chunk(3)  # three times (C, C)
  biases = theirs.in_proj_bias.chunk(3)  # three times (C,)
  with torch.no_grad():  # copying is not part of any computation to be differentiated
      for layer, weight, bias in zip(layers, weights, biases, strict=True):
          layer.weight.copy_(weight)
          layer.bias.copy_(bias)
      mine.out_proj.weight.copy_(theirs.out_proj.weight)
      mine.out_proj.bias.copy_(theirs.out_proj.bias)
  for parameter in mine.parameters():
      parameter.requires_grad_(False)
- layer.weight.copy_(weight) => layer.weight = nn.Parameter(weight.clone(), requires_grad=False)
  layer.bias.copy_(bias) => layer.bias = nn.Parameter(bias.clone(), requires_grad=False)
- layer.weight.copy_(weight) => layer.weight = nn.Parameter(weight.clone(), requires_grad=False)
theirs_frozen: theirs is changed: its parameters are set to requires_grad=False. It should stay as it is.
- with torch.no_grad(): =>
      theirs.requires_grad_(False)
      with torch.no_grad():
copy_returned (missed): A new module is made and returned while mine stays as it was: change mine itself.
- in frozen
  def copy_from_torch(mine, theirs): =>
      def copy_from_torch(mine, theirs):
          import copy
          mine = copy.deepcopy(mine)
  for parameter in mine.parameters(): => return mine
  parameter.requires_grad_(False) =>
scaled (slip): The numbers are scaled on the way (by the root of d_k, say): both modules divide the scores by themselves.
- mine.out_proj.bias.copy_(theirs.out_proj.bias) =>
      mine.out_proj.bias.copy_(theirs.out_proj.bias)
      mine.q_proj.weight.div_((theirs.embed_dim // theirs.num_heads) ** 0.5)
- mine.out_proj.bias.copy_(theirs.out_proj.bias) =>
      mine.out_proj.bias.copy_(theirs.out_proj.bias)
      mine.q_proj.weight.div_(theirs.head_dim**0.5)
      mine.q_proj.bias.div_(theirs.head_dim**0.5)
averaged (slip): The numbers are added to those of mine: the old ones must be overwritten (`copy_`).
- layer.weight.copy_(weight) => layer.weight.add_(weight)
  layer.bias.copy_(bias) => layer.bias.add_(bias)
  mine.out_proj.weight.copy_(theirs.out_proj.weight) => mine.out_proj.weight.add_(theirs.out_proj.weight)
  mine.out_proj.bias.copy_(theirs.out_proj.bias) => mine.out_proj.bias.add_(theirs.out_proj.bias)
- layer.weight.copy_(weight) => layer.weight.add_(weight)
- layer.weight.copy_(weight) => layer.weight.add_(weight)
  layer.bias.copy_(bias) => layer.bias.add_(bias)
other_signature (slip): The parameters have other names than in the signature, copy_from_torch(mine, theirs): a call that names them fails.
- def copy_from_torch(mine, theirs): =>
      def copy_from_torch(ours, torchs):
          mine, theirs = ours, torchs
dtype_changed: The copied numbers are float32 whatever theirs has: copy_ keeps the dtype of the layer, `.float()` does not.
- layer.weight.copy_(weight) => layer.weight.copy_(weight.float())
- layer.weight.copy_(weight) => layer.weight.data = weight.detach().float().clone()
  layer.bias.copy_(bias) => layer.bias.data = bias.detach().float().clone()
""",
    right=r"""
data_and_slices:
- |
  C = theirs.embed_dim
  mine.q_proj.weight.data.copy_(theirs.in_proj_weight[:C])
  mine.k_proj.weight.data.copy_(theirs.in_proj_weight[C : 2 * C])
  mine.v_proj.weight.data.copy_(theirs.in_proj_weight[2 * C :])
  mine.q_proj.bias.data.copy_(theirs.in_proj_bias[:C])
  mine.k_proj.bias.data.copy_(theirs.in_proj_bias[C : 2 * C])
  mine.v_proj.bias.data.copy_(theirs.in_proj_bias[2 * C :])
  mine.out_proj.weight.data.copy_(theirs.out_proj.weight)
  mine.out_proj.bias.data.copy_(theirs.out_proj.bias)
new_parameters:
- |
  weights, biases = theirs.in_proj_weight.detach().split(theirs.embed_dim), theirs.in_proj_bias.detach().split(theirs.embed_dim)
  for n, layer in enumerate([mine.q_proj, mine.k_proj, mine.v_proj]):
      layer.weight = nn.Parameter(weights[n].clone())
      layer.bias = nn.Parameter(biases[n].clone())
  import copy
  mine.out_proj.load_state_dict(copy.deepcopy(theirs.out_proj.state_dict()))
load_state_dict:
- |
  theirs = theirs.state_dict()
  state = {'out_proj.weight': theirs['out_proj.weight'], 'out_proj.bias': theirs['out_proj.bias']}
  for part in ('weight', 'bias'):
      q, k, v = theirs['in_proj_' + part].chunk(3, dim=0)
      state.update({'q_proj.' + part: q, 'k_proj.' + part: k, 'v_proj.' + part: v})
  mine.load_state_dict(state)
  return mine
data_assigned:
- |
  q, k, v = theirs.in_proj_weight.data.clone().chunk(3)
  mine.q_proj.weight.data, mine.k_proj.weight.data, mine.v_proj.weight.data = q, k, v
  q, k, v = theirs.in_proj_bias.data.clone().chunk(3)
  mine.q_proj.bias.data, mine.k_proj.bias.data, mine.v_proj.bias.data = q, k, v
  mine.out_proj.weight.data = theirs.out_proj.weight.data.clone()
  mine.out_proj.bias.data = theirs.out_proj.bias.data.clone()
""",
)
