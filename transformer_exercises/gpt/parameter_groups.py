"""`parameter_groups`: what decays in models of many kinds of parts, shared and frozen ones, and the groups' form."""

import re
from typing import Any

from autograder.spec import (
    Check,
    Exercise,
    Student,
    call_probe,
    define_in_judge,
    differ,
    drawn,
    each,
    other_number,
    reference,
    refusing,
)

parameter_groups = reference("parameter_groups")
refuse = refusing("parameter_groups")

# Models whose parts and names tell nothing that the kind of a parameter does not tell.
_MODELS = """
E, L, N, P = nn.Embedding, nn.Linear, nn.LayerNorm, nn.Parameter

class Words(E):
    pass

class Parts(nn.Module):
    def __init__(self, **parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)

def bare():
    ones, scale = torch.ones, torch.tensor(1.0)
    model = Parts(table=P(ones(3, 5)), gain=P(ones(5)), scale=P(scale), picture=nn.Conv2d(2, 3, 2),
                  row=P(ones(5)[None]), column=P(ones(5)[:, None]))
    model.register_buffer("mask", torch.ones(4, 4))
    return model

def nested():
    inner = nn.ModuleList(nn.Sequential(E(5, 2), L(2, 2), nn.RMSNorm(2)) for _ in range(2))
    return Parts(deep=nn.ModuleDict({"first": inner, "bias_of_a_kind": L(3, 2)}))

def tied(head_first=False):
    head = {"lm_head": L(4, 9, bias=head_first)}
    if head_first:
        model = Parts(**head, hidden=L(4, 4), words=E(9, 4))
    else:
        model = Parts(words=E(9, 4), places=E(6, 4), hidden=L(4, 4), **head)
    model.lm_head.weight = model.words.weight
    return model

def shared():
    model = Parts(one=L(3, 3), two=L(3, 3))
    model.two.weight, model.three = model.one.weight, model.one
    return model

def frozen():
    model = Parts(words=E(5, 3), first=L(3, 3), second=L(3, 2))
    for p in (model.words.weight, model.first.weight, model.second.bias):
        p.requires_grad_(False)
    return model

PLAIN = {
    "in a model of an embedding, a norm and a linear layer": lambda: Parts(a=E(7, 4), b=N(4), c=L(4, 3)),
    "in a model with nn.MultiheadAttention":
        lambda: Parts(mix=nn.MultiheadAttention(6, 2), norm=N(6), out=L(6, 5, bias=False)),
    "in a model with parameters of its own, of zero to two dimensions, and a convolution": bare,
    "in a model whose layers lie inside others": nested,
    "in a model whose names mislead": lambda: Parts(
        embedding_mixer=L(3, 4), norm_head=L(4, 3), lm_head=L(3, 8, bias=False), weights=E(8, 3)),
    "in a model that is an nn.Embedding itself, so that nothing decays": lambda: E(5, 2),
    "in a model that is a norm, so that nothing decays": lambda: N(4),
    "in a model that is one matrix, so that everything decays": lambda: L(3, 2, bias=False),
    "in a model with a class that inherits from nn.Embedding": lambda: Parts(words=Words(6, 3), mix=L(3, 3)),
}
SHARED = {
    "with a tied lm_head": tied, "with a tied lm_head that was made before the embedding": lambda: tied(True),
    "where two linear layers share a matrix": shared, "where some parameters are frozen": frozen,
}

def make(kind):
    return {**PLAIN, **SHARED}[kind]()
"""
_PLAIN, _SHARED = (list(define_in_judge(_MODELS, name)) for name in ("PLAIN", "SHARED"))

# What came back, in words (parameters by the first of their names), what AdamW makes of it, and the model's state.
_LOOK = """
def look(model, groups):
    kind = type(groups).__name__
    names = {id(p): name for name, p in model.named_parameters()}
    if not isinstance(groups, (list, tuple)) or not all(isinstance(g, dict) for g in groups):
        parts = getattr(groups, "param_groups", groups)
        parts = parts.values() if isinstance(parts, dict) else parts if isinstance(parts, (list, tuple)) else []
        parts = [part.get("params") if isinstance(part, dict) else part for part in parts]
        lists = [part for part in parts if isinstance(part, (list, tuple))]
        return {"groups": None, "kind": kind, "lists": [sorted(names.get(id(p), "?") for p in part) for part in lists]}
    found = []
    for group in groups:
        held, decay = group.get("params"), group.get("weight_decay")
        listed = isinstance(held, (list, tuple))
        called = [names.get(id(p), "?" + type(p).__name__) for p in held] if listed else None
        decay = float(decay) if isinstance(decay, (int, float)) else None
        kept_as = "iterator" if hasattr(held, "__next__") else type(held).__name__
        found.append({"decay": decay, "params": called, "held": kept_as})
    return {"groups": found, "kind": kind}

def state(model):
    named = model.named_parameters()
    return [(name, p.requires_grad, p.grad is None, float(p.detach().abs().sum())) for name, p in named]

def taken(groups):
    optimiser = torch.optim.AdamW(groups, lr=0.1)
    return [[float(group["weight_decay"]), group["lr"]] for group in optimiser.param_groups]
"""


def _models() -> str:
    """Return the source of the models, all of whose sizes are some times as large while inputs are drawn."""
    times = drawn(1, lambda rng: rng.randint(2, 7))
    return re.sub(r"(?<=[(, ])\d+(?=[,)])", lambda size: str(times * int(size[0])), _MODELS)


def _asked(student: Student, models: str, kind: str, weight_decay: float) -> tuple[Any, Any, list[dict]]:
    """Return the model over there, the groups over there, and what is to be seen of them."""
    model = call_probe(student, models, "make", kind, keep=True)
    kept = student.call("parameter_groups", [model, weight_decay], keep=True)["value"]
    seen = call_probe(student, _LOOK, "look", model, kept)
    groups, other = seen["groups"], f"yours gives something else (a {seen['kind']})"
    refuse(groups is None, "form", f"A list of two dictionaries is asked for; {other}.")
    refuse(len(groups) != 2, "form", "Two groups are asked for: what decays, and what does not.")
    unlisted = any(group["params"] is None for group in groups)
    refuse(unlisted, "form", 'Each group holds its parameters as a list, under "params".')
    return model, kept, groups


def _sorts(student: Student, kind: str) -> None:
    """Ask whether every parameter of a model of this kind stands where it belongs."""
    models, weight_decay = _models(), other_number(0.1, 0.01, 0.5)
    first, second = (group["params"] for group in _asked(student, models, kind, weight_decay)[2])
    model, found = define_in_judge(models, "make")(kind), [*first, *second]
    names = {id(p): name for name, p in model.named_parameters()}
    decay, rest = ({names[id(p)] for p in group["params"]} for group in parameter_groups(model, 0.1))
    others = any(name.startswith("?") for name in found)
    refuse(others, "form", "The groups hold other things than the model's own parameters (names, copies?).")
    for wrong, sentence in (
        (len(found) - len(set(found)), "of the parameters stand in the groups twice"),
        (len(set(found) - decay - rest), "parameters with requires_grad=False stand in a group"),
        (len((decay | rest) - set(found)), "of the parameters stand in neither group"),
        (len(set(first) - decay), "of the parameters decay and should not"),
        (len(decay - set(first)), "of the parameters should decay and do not"),
    ):
        differ(wrong, f"{wrong} {sentence} {kind}.")


@each((_PLAIN[0], 0.1), (_PLAIN[1], 0.37), (_PLAIN[3], 0.0), (_SHARED[0], 2))
def _form(student: Student, kind: str, known: float) -> None:
    models, weight_decay = _models(), other_number(known, 0.01, 0.5) if known else known
    model, kept, groups = _asked(student, models, kind, weight_decay)
    first, second = (group["decay"] for group in groups)
    missing = first is None or second is None
    differ(missing, 'Each group needs a "weight_decay", the second too: without it AdamW takes 0.01.')
    differ(first != weight_decay, "The first group should decay by weight_decay, the number that is passed.")
    differ(second != 0, 'The second group should not decay: its "weight_decay" is 0.0.')
    changed = any(rate != 0.1 for _, rate in call_probe(student, _LOOK, "taken", kept))
    differ(changed, "The groups change the learning rate: only the decay differs between them.")
    before = call_probe(student, _LOOK, "state", model)
    student.call("parameter_groups", [model, weight_decay], keep=True)
    untouched = call_probe(student, _LOOK, "state", call_probe(student, models, "make", kind, keep=True))
    after = call_probe(student, _LOOK, "state", model)
    changed = after != before or [row[:3] for row in after] != [row[:3] for row in untouched]
    refuse(changed, "model_changed", "The model is changed (requires_grad, gradients or numbers): only sort.")


EXERCISE = Exercise(
    Check("what decays, and what does not", 1.5, each(*_PLAIN)(_sorts)),
    Check("shared and frozen parameters", 1.0, each(*_SHARED)(_sorts)),
    Check("two groups as AdamW takes them, the model as it was", 0.5, _form),
    takes="other",
    gives="list",
    harmless=("other_signature", "global_generator"),
)
