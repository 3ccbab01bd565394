"""`parameter_groups`: what decays in models of many kinds of parts, shared and frozen parameters, and the groups' form.

The mistakes go by names or by kinds of layers, forget tables or norms, or take a tied matrix for a layer's own.
"""

from __future__ import annotations

from typing import Any

from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import define_in_judge
from autograder.spec.student import Student

parameter_groups = reference("parameter_groups")

# Models whose parts and names tell nothing that the kind of a parameter does not tell.
_MODELS = """
def make(kind):
    class Parts(nn.Module):
        def forward(self, x):
            return x

    model = Parts()
    if kind == "plain":
        model.a, model.b, model.c = nn.Embedding(7, 4), nn.LayerNorm(4), nn.Linear(4, 3)
    elif kind == "attention":
        model.mix, model.norm, model.out = nn.MultiheadAttention(6, 2), nn.LayerNorm(6), nn.Linear(6, 5, bias=False)
    elif kind == "bare":
        model.table, model.gain = nn.Parameter(torch.ones(3, 5)), nn.Parameter(torch.ones(5))
        model.scale, model.picture = nn.Parameter(torch.tensor(1.0)), nn.Conv2d(2, 3, 2)
        model.register_buffer("mask", torch.ones(4, 4))
    elif kind == "nested":
        inner = nn.ModuleList(nn.Sequential(nn.Embedding(5, 2), nn.Linear(2, 2), nn.RMSNorm(2)) for _ in range(2))
        model.deep = nn.ModuleDict({"first": inner, "bias_of_a_kind": nn.Linear(3, 2)})
    elif kind == "a table alone":
        model = nn.Embedding(5, 2)
    elif kind == "vectors alone":
        model = nn.LayerNorm(4)
    elif kind == "a matrix alone":
        model = nn.Linear(3, 2, bias=False)
    elif kind == "a table of its own kind":
        class Words(nn.Embedding):
            pass

        model.words, model.mix = Words(6, 3), nn.Linear(3, 3)
    elif kind == "names":
        model.embedding_mixer, model.norm_head = nn.Linear(3, 4), nn.Linear(4, 3)
        model.lm_head, model.weights = nn.Linear(3, 8, bias=False), nn.Embedding(8, 3)
    elif kind == "tied":
        model.words, model.places = nn.Embedding(9, 4), nn.Embedding(6, 4)
        model.hidden, model.lm_head = nn.Linear(4, 4), nn.Linear(4, 9, bias=False)
        model.lm_head.weight = model.words.weight
    elif kind == "tied, the head first":
        model.lm_head, model.hidden, model.words = nn.Linear(4, 9), nn.Linear(4, 4), nn.Embedding(9, 4)
        model.words.weight = model.lm_head.weight
    elif kind == "shared layers":
        model.one, model.two = nn.Linear(3, 3), nn.Linear(3, 3)
        model.two.weight, model.three = model.one.weight, model.one
    elif kind == "frozen":
        model.words, model.first, model.second = nn.Embedding(5, 3), nn.Linear(3, 3), nn.Linear(3, 2)
        for p in (model.words.weight, model.first.weight, model.second.bias):
            p.requires_grad_(False)
    return model
"""

# What came back, in words: parameters by the first of their names.
_LOOK = """
def look(model, groups):
    if not isinstance(groups, (list, tuple)) or not all(isinstance(g, dict) for g in groups):
        return {"groups": None, "kind": type(groups).__name__}
    names = {id(p): name for name, p in model.named_parameters()}
    found = []
    for group in groups:
        held = group.get("params")
        listed = held if isinstance(held, (list, tuple)) else None
        called = None if listed is None else [names.get(id(p), "?" + type(p).__name__) for p in listed]
        decay = group.get("weight_decay")
        found.append({"decay": float(decay) if isinstance(decay, (int, float)) else None, "params": called,
                      "held": type(held).__name__})
    return {"groups": found, "kind": type(groups).__name__}
"""

_STATE = """
def state(model):
    return [(name, p.requires_grad, p.grad is None, float(p.detach().abs().sum())) for name, p in model.named_parameters()]
"""

_TAKEN = """
def taken(groups):
    optimiser = torch.optim.AdamW(groups, lr=0.1)
    return [[float(group["weight_decay"]), group["lr"]] for group in optimiser.param_groups]
"""


def _asked(student: Student, kind: str, weight_decay: float) -> tuple[Any, Any, dict]:
    """The model over there, the groups over there, and what is to be seen of them."""
    model = student.call(student.probe("make", _MODELS), [kind], keep=True, record=False)["value"]
    kept = student.call("parameter_groups", [model, weight_decay], keep=True)["value"]
    seen = student.call(student.probe("look", _LOOK), [model, kept])["value"]
    if seen["kind"] == "NoneType":
        raise Wrong("Your function returned nothing. Does it end with `return`?")
    if seen["groups"] is None:
        raise Wrong(f"A list of two dictionaries is asked for; yours gives something else (a {seen['kind']}).", "form")
    if len(seen["groups"]) != 2:
        raise Wrong("Two groups are asked for: what decays, and what does not.", "form")
    if any(group["params"] is None for group in seen["groups"]):
        raise Wrong('Each group holds its parameters as a list, under "params".', "form")
    return model, kept, seen


def _expected(kind: str) -> tuple[set[str], set[str]]:
    """Names of what decays and of what does not."""
    model = define_in_judge(_MODELS, "make")(kind)
    names = {id(p): name for name, p in model.named_parameters()}
    decay, rest = ({names[id(p)] for p in group["params"]} for group in parameter_groups(model, 0.1))
    return decay, rest


def _sorted_rightly(student: Student, kinds: dict[str, str]) -> None:
    for kind, where in kinds.items():
        with student.case():
            _, _, seen = _asked(student, kind, 0.1)
            (decay, rest), (first, second) = _expected(kind), (group["params"] for group in seen["groups"])
            if any(name.startswith("?") for name in first + second):
                raise Wrong("The groups hold something else than the model's own parameters (names, copies?).", "form")
            if len(first + second) > len(set(first + second)):
                raise ValuesDiffer(f"A parameter stands in the groups twice {where}.")
            if set(first + second) - decay - rest:
                raise ValuesDiffer(f"A parameter with requires_grad=False stands in a group {where}.")
            if missing := (decay | rest) - set(first + second):
                raise ValuesDiffer(f"{len(missing)} of the parameters stand in neither group {where}.")
            if wrong := set(first) - decay:
                raise ValuesDiffer(f"{len(wrong)} of the parameters decay and should not {where}.")
            if wrong := decay - set(first):
                raise ValuesDiffer(f"{len(wrong)} of the parameters should decay and do not {where}.")


def _what_decays(student: Student) -> None:
    _sorted_rightly(
        student,
        {
            "plain": "in a model of an embedding, a norm and a linear layer",
            "attention": "in a model with nn.MultiheadAttention",
            "bare": "in a model with parameters of its own, of zero to two dimensions, and a convolution",
            "nested": "in a model whose layers lie inside others",
            "names": "in a model whose names mislead",
            "a table alone": "in a model that is an nn.Embedding itself, so that nothing decays",
            "vectors alone": "in a model that is a norm, so that nothing decays",
            "a matrix alone": "in a model that is one matrix, so that everything decays",
            "a table of its own kind": "in a model with a class that inherits from nn.Embedding",
        },
    )


def _shared_and_frozen(student: Student) -> None:
    _sorted_rightly(
        student,
        {
            "tied": "with a tied lm_head",
            "tied, the head first": "with a tied lm_head that was made before the embedding",
            "shared layers": "where two linear layers share a matrix",
            "frozen": "where some parameters are frozen",
        },
    )


def _form(student: Student) -> None:
    for kind, weight_decay in (("plain", 0.1), ("attention", 0.37), ("nested", 0.0), ("tied", 2)):
        with student.case():
            model, kept, seen = _asked(student, kind, weight_decay)
            first, second = (group["decay"] for group in seen["groups"])
            if first is None or second is None:
                raise ValuesDiffer('Each group needs a "weight_decay", the second too: without it AdamW takes 0.01.')
            if first != weight_decay:
                raise ValuesDiffer("The first group should decay by weight_decay, the number that is passed.")
            if second != 0:
                raise ValuesDiffer('The second group should not decay: its "weight_decay" is 0.0.')
            taken = student.value(student.probe("taken", _TAKEN), kept)
            if any(rate != 0.1 for _, rate in taken):
                raise ValuesDiffer("The groups change the learning rate: only the decay differs between them.")
            probe = student.probe("state", _STATE)
            before = student.value(probe, model)
            student.call("parameter_groups", [model, weight_decay], keep=True)
            fresh = student.call(student.probe("make", _MODELS), [kind], keep=True, record=False)["value"]
            untouched = student.value(probe, fresh)
            after = student.value(probe, model)
            if after != before or [row[:3] for row in after] != [row[:3] for row in untouched]:
                raise Wrong("The model is changed (requires_grad, gradients or numbers): only sort.", "model_changed")


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("what decays, and what does not", 1.5, _what_decays),
        Check("shared and frozen parameters", 1.0, _shared_and_frozen),
        Check("two groups as AdamW takes them, the model as it was", 0.5, _form),
    ],
    working=r"""
def parameter_groups(model, weight_decay):
    spared = {m.weight for m in model.modules() if isinstance(m, nn.Embedding)}
    trained = [p for p in model.parameters() if p.requires_grad]
    decay = [p for p in trained if p.ndim > 1 and p not in spared]
    rest = [p for p in trained if p.ndim < 2 or p in spared]
    return [dict(params=decay, weight_decay=weight_decay), dict(params=rest, weight_decay=0.0)]
""",
    gives="list",
    slips=("nothing_returned",),
    wrong=r"""
everything_decays (missed): Everything decays: the second group is for biases, norms and the tables of nn.Embedding.
- parameter.dim() >= 2 and id(parameter) not in tables => True
tables_decay: The tables of nn.Embedding decay: a row has a gradient only when its token occurs, and would shrink at every step.
- parameter.dim() >= 2 and id(parameter) not in tables => parameter.dim() >= 2
vectors_decay: Biases and norms decay: only parameters of two or more dimensions do.
- parameter.dim() >= 2 and id(parameter) not in tables => id(parameter) not in tables
- parameter.dim() >= 2 and id(parameter) not in tables => parameter.dim() >= 1 and id(parameter) not in tables
weights_only: Only parameters called `weight` decay: a module may call its matrices anything.
- for parameter in model.parameters(): => for name, parameter in model.named_parameters():
  parameter.dim() >= 2 and id(parameter) not in tables => name.endswith("weight") and parameter.dim() >= 2 and id(parameter) not in tables
only_biases_spared: Only parameters called `bias` are spared: a norm's weight is no matrix either, and names tell little. Go by the number of
    dimensions.
- for parameter in model.parameters(): => for name, parameter in model.named_parameters():
  parameter.dim() >= 2 and id(parameter) not in tables => not name.endswith("bias") and id(parameter) not in tables
- for parameter in model.parameters(): => for name, parameter in model.named_parameters():
  parameter.dim() >= 2 and id(parameter) not in tables => "bias" not in name and "norm" not in name and id(parameter) not in tables
by_name: You go by parts of names (`embedding`, `head`, `norm`): the model may call its parts anything. Ask what kind of module it is.
- for parameter in model.parameters(): => for name, parameter in model.named_parameters():
  parameter.dim() >= 2 and id(parameter) not in tables => parameter.dim() >= 2 and "embedding" not in name
- for parameter in model.parameters(): => for name, parameter in model.named_parameters():
  parameter.dim() >= 2 and id(parameter) not in tables => parameter.dim() >= 2 and "emb" not in name and "words" not in name
- for parameter in model.parameters(): => for name, parameter in model.named_parameters():
  parameter.dim() >= 2 and id(parameter) not in tables => parameter.dim() >= 2 and id(parameter) not in tables and "head" not in name
two_dimensions_only (slip): Only parameters of exactly two dimensions decay: a convolution's have more, and decay too.
- parameter.dim() >= 2 => parameter.dim() == 2
linear_layers_only: Only the matrices of nn.Linear decay: those of nn.MultiheadAttention, of a convolution or of the model itself are matrices too.
- |
  linear = {id(m.weight) for m in model.modules() if isinstance(m, nn.Linear)}
  tables = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
  trained = [p for p in model.parameters() if p.requires_grad]
  decay = [p for p in trained if id(p) in linear - tables]
  rest = [p for p in trained if id(p) not in linear - tables]
  return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
tied_head_decays: A tied matrix decays because a linear layer uses it as well: it is still the weight of an nn.Embedding, whichever name comes first.
- |
  linear = {id(m.weight) for m in model.modules() if isinstance(m, nn.Linear)}
  tables = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)} - linear
  decay, rest = [], []
  for p in model.parameters():
      if p.requires_grad:
          (decay if p.dim() >= 2 and id(p) not in tables else rest).append(p)
  return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
- |
  decay, rest, seen = [], [], set()
  for module in model.modules():
      for p in module.parameters(recurse=False):
          if p.requires_grad and id(p) not in seen:
              seen.add(id(p))
              (rest if p.dim() < 2 or isinstance(module, nn.Embedding) else decay).append(p)
  return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
top_level_only (slip): Only layers at the top are looked at: `model.modules()` reaches those inside others, `model.children()` does not.
- model.modules() => model.children()
by_shape (slip): Matrices of the same shape as a table are spared: two tensors may have one shape and be two. Ask which parameter it is, by id.
- parameter.dim() >= 2 and id(parameter) not in tables => parameter.dim() >= 2 and parameter.shape not in [m.weight.shape for m in model.modules() if isinstance(m, nn.Embedding)]
exact_type (slip): `type(module) is nn.Embedding` passes over classes that inherit from nn.Embedding, and their tables decay: ask with isinstance.
- isinstance(module, nn.Embedding) => type(module) is nn.Embedding
root_forgotten (slip): The model itself is not looked at, only what is inside it: model.modules() begins with the model, which may be a table.
- model.modules() => list(model.modules())[1:]
empty_group_dropped (slip): A group without parameters is left out: two are asked for, and an empty list is one as well.
- return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}] => return [group for group in ({"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}) if group["params"]]
frozen_included (slip): Parameters with requires_grad=False are in a group: they are not trained, so they stand in none.
- if parameter.requires_grad: => if True:
counted_twice: A shared parameter stands there twice, and AdamW refuses that: each once, whatever the number of its names.
- for parameter in model.parameters(): => for _, parameter in model.named_parameters(remove_duplicate=False):
- |
  decay, rest = [], []
  for module in model.modules():
      for p in module.parameters(recurse=False):
          if p.requires_grad:
              (rest if p.dim() < 2 or isinstance(module, nn.Embedding) else decay).append(p)
  return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
rest_left_out: What does not decay stands in no group, so it is never trained: decay 0 is not learning rate 0.
- {"params": rest, => {"params": [],
tables_left_out: The tables stand in no group, so they are never trained.
- if parameter.requires_grad: => if parameter.requires_grad and id(parameter) not in tables:
head_left_out (slip): A parameter is lost: each that is trained stands in one of the groups.
- for parameter in model.parameters(): => for parameter in list(model.parameters())[:-1]: || for parameter in list(model.parameters())[1:]:
groups_swapped (slip): The groups are the wrong way round: what decays comes first.
- return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}] => return [{"params": rest, "weight_decay": 0.0}, {"params": decay, "weight_decay": weight_decay}]
- (decay if matrix else rest) => (rest if matrix else decay)
weight_decay_fixed (slip): weight_decay is a fixed number in your code: the one that is passed decides.
- "weight_decay": weight_decay => "weight_decay": 0.1 || "weight_decay": 0.01
both_decay: Both groups decay: the second has weight_decay 0.0.
- "weight_decay": 0.0 => "weight_decay": weight_decay || "weight_decay": weight_decay / 10
default_left (slip): The second group says nothing of weight_decay, and AdamW's own default is 0.01, not 0: write 0.0.
- {"params": rest, "weight_decay": 0.0} => {"params": rest}
rate_set_to_zero: The second group gets a learning rate of 0, so it is never trained: only the decay is 0.
- {"params": rest, "weight_decay": 0.0} => {"params": rest, "weight_decay": 0.0, "lr": 0.0}
names_returned: Names are returned: the optimiser needs the parameters themselves.
- for parameter in model.parameters(): => for name, parameter in model.named_parameters():
  .append(parameter) => .append(name)
copies_returned (missed): Copies are returned, and the model's own parameters are never trained: put them into the lists as they are.
- .append(parameter) => .append(parameter.clone()) || .append(nn.Parameter(parameter.detach().clone()))
iterators_returned (slip): A group holds an iterator, which is empty after it has been read once: make a list.
- {"params": decay, => {"params": iter(decay),
  {"params": rest, => {"params": iter(rest),
other_form: A list of two dictionaries is asked for, as torch.optim.AdamW takes them.
- return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}] => return decay, rest || return {"decay": decay, "rest": rest} || return torch.optim.AdamW([{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}])
- {"params": decay, => {"parameters": decay,
  {"params": rest, => {"parameters": rest,
model_changed: The model is changed: sort its parameters, and leave requires_grad and the numbers as they are.
- (decay if matrix else rest).append(parameter) =>
                  (decay if matrix else rest).append(parameter.requires_grad_(matrix))
compared_with_in (missed): `parameter in some_list` compares numbers and fails for other shapes: compare `id(parameter)`, or take a set.
- {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)} => [module.weight for module in model.modules() if isinstance(module, nn.Embedding)]
  id(parameter) not in tables => parameter not in tables
""",
    right=r"""
by_module:
- |
  def parameter_groups(model, weight_decay):
      spared = set()
      for module in model.modules():
          if isinstance(module, torch.nn.Embedding):
              spared.update(id(p) for p in module.parameters())
      groups = {True: [], False: []}
      for _, p in model.named_parameters():
          if not p.requires_grad:
              continue
          groups[p.ndim > 1 and id(p) not in spared].append(p)
      return [
          {"params": groups[True], "weight_decay": weight_decay},
          {"params": groups[False], "weight_decay": 0.0},
      ]
sets_of_parameters:
- |
  tables = {m.weight for m in model.modules() if isinstance(m, nn.Embedding)}
  everything = {p for p in model.parameters() if p.requires_grad}
  rest = {p for p in everything if len(p.shape) < 2} | (tables & everything)
  return [
      {"params": list(everything - rest), "weight_decay": float(weight_decay)},
      {"params": list(rest), "weight_decay": 0},
  ]
names_first:
- |
  tables = [m.weight for m in model.modules() if isinstance(m, nn.Embedding)]
  trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
  rest = [n for n, p in trained.items() if p.dim() <= 1 or any(p is t for t in tables)]
  first = {"params": [p for n, p in trained.items() if n not in rest], "weight_decay": weight_decay}
  second = {"params": [trained[n] for n in rest], "weight_decay": 0.0}
  return [first, second]
with_names:
- {"params": decay, "weight_decay": weight_decay} => {"params": decay, "weight_decay": weight_decay, "name": "decay"}
  return [ => return (
  0.0}] => 0.0})
""",
)
