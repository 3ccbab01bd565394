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
)
