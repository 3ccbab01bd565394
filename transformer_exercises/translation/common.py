"""What the checks of this notebook share."""

import math
from collections.abc import Callable
from typing import Any

import torch

from autograder.spec.compare import kind, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Problem, ValuesDiffer, Wrong
from autograder.spec.inputs import define_in_judge, devices_differ, generator_unchanged, note_rounded
from autograder.spec.student import Answer, Kept, Student


def float_answered(
    student: Student, name: str, args: list, expected: float, what: str, where: str, digits: float = 1e-5
) -> dict:
    """Return a call that should give this number, however it is wrapped; whether it is a plain float is said last."""
    answer = student.call(name, args, where=where, after=True)
    got = answer["value"]
    number = got.item() if isinstance(got, torch.Tensor) and got.numel() == 1 else got
    if type(number) not in (int, float):
        raise Wrong(f"{what} should be a number {where}; yours is {kind(got)}.")
    note_rounded(student, got)
    if not math.isfinite(number):
        raise Wrong(f"{what} is not a finite number {where}.")
    if abs(number - expected) > digits * max(abs(expected), 1e-12):
        raise ValuesDiffer(f"{what} is too {'large' if number > expected else 'small'} {where}.")
    if type(got) is not float and expected:
        raise Wrong(f"A plain float is asked for; yours is {kind(got)}.", "not_a_float")
    return answer


def names_kept(student: Student, name: str, named: dict[str, Any], right: float) -> None:
    """Raise `Wrong` if arguments by name, in the order opposite to the signature's, give another number."""
    got = student.call(name, [], dict(reversed(named.items())), "with arguments by name")["value"]
    if isinstance(got, float) and abs(got - right) > 1e-6 * abs(right):
        raise Wrong(f"The arguments by name are mixed up: {name}({', '.join(named)}).")


# A model for decoding, in the student's process and here. What follows depends on the source and on every token so far,
# in whatever batch they stand; bos is never written. It notes how often it was asked.
SCRIPTED = """
class Scripted(nn.Module):
    def __init__(self, V, bos_id, eos_id, eos_bonus, seed):
        super().__init__()
        self.anchor = nn.Parameter(torch.zeros(()))
        self.V, self.bos_id, self.eos_id, self.eos_bonus, self.seed = V, bos_id, eos_id, eos_bonus, seed
        self.calls, self.modes, self.graphs = 0, set(), False

    def note(self, source_ids, target_ids):
        self.calls += 1
        self.modes.add(self.training)
        self.graphs = self.graphs or torch.is_grad_enabled()
        for name, ids in (("source_ids", source_ids), ("target_ids", target_ids)):
            if ids.dim() != 2:
                raise ValueError(f"the model wants {name} of shape [batch, length], not {list(ids.shape)}")
        if len(source_ids) != len(target_ids):
            raise ValueError(f"the model got {len(source_ids)} rows of source_ids and {len(target_ids)} of target_ids")
        if not target_ids.numel():
            raise LookupError("the model got no target_ids: they begin with bos_id")
        if len(target_ids) > 1000 or self.calls > 500:
            raise RuntimeError("the model was asked more than 500 times, or got more than 1000 rows at once")

    def forward(self, source_ids, target_ids):
        self.note(source_ids, target_ids)
        state = (source_ids * torch.arange(1, source_ids.shape[1] + 1, device=source_ids.device)).sum(1)  # (B,)
        state = (31 * state + self.seed) % 10007
        states = []
        for t in range(target_ids.shape[1]):
            state = (37 * state + 101 * target_ids[:, t] + 11) % 10007
            states.append(state)
        states = torch.stack(states, 1)[:, :, None]  # (B, T, 1)
        tokens = torch.arange(self.V, device=target_ids.device)
        logits = (states * (2 * tokens + 3) * 97 + 53 * tokens * tokens) % 10007 / 2000.0  # from 0 to 5
        logits = logits + self.eos_bonus * (tokens == self.eos_id) - 40.0 * (tokens == self.bos_id)
        return logits + self.anchor

def scripted(training, *args):
    model = Scripted(*args).train(training)
    model.came = training
    return model

def calls(model):
    return model.calls

def graphs(model):
    return model.graphs

def mode(model):
    return model.training or (not model.came and True in model.modes)
"""


def id_list(got: Any, where: str) -> list[int]:
    if not isinstance(got, list):
        raise Wrong(f"The ids of a sentence should be a list of ints {where}; yours is {kind(got)}.")
    strange = [token for token in got if type(token) is not int]
    if strange:
        raise Wrong(f"The ids should be ints {where}; among yours is {kind(strange[0])}.", "not_ints")
    return got


def ids_differ(got: list[int], expected: list[int], bos_id: int, eos_id: int, max_len: int, where: str) -> None:
    """Say what is remarkable about a wrong list of ids; the caller says the rest."""
    if got != expected and bos_id in got:
        raise ValuesDiffer(f"bos_id is in the result {where}: it is only what the model is given first.", "bos_kept")
    if got != expected and eos_id in got:
        raise ValuesDiffer(f"eos_id is in the result {where}: a sentence ends before its first eos_id.", "eos_kept")
    if got != expected and len(got) > max_len:
        raise ValuesDiffer(f"The result has more than max_len new tokens {where}.", "too_long")


def their_scripted(student: Student, args: tuple[Any, ...], training: bool = False) -> Kept:
    return student.call(student.probe("scripted", SCRIPTED), [training, *args], keep=True)["value"]


def decoded(
    student: Student, name: str, args: tuple[Any, ...], *rest: Any, where: str, training: bool = False
) -> tuple[Answer, Kept, Any]:
    """Return the answer for a scripted model, the model asked, and what is right. `rest` begins with source_ids."""
    model, rest = their_scripted(student, args, training), (rest[0], args[1], args[2], *rest[1:])
    answer = student.call(name, [model, *rest], where=where)
    return answer, model, reference(name)(define_in_judge(SCRIPTED, "Scripted")(*args), *rest)


Same = Callable[[Any, Any, str], None]  # compares what came back to what is right, for an input


def manners(student: Student, name: str, args: tuple[Any, ...], source: Any, same: Same, **named: Any) -> None:
    """Raise `Wrong` if source_ids, a mode or the generator change, names do not work, or a tensor has no device."""
    for training, symptom in enumerate(("training_mode", "eval_mode")):
        with student.case():
            where = "with a model that is in training mode" if training else ""
            asked = decoded(student, name, args, source, *named.values(), where=where, training=bool(training))
            answer, model, right = asked
            same(answer["value"], right, where)
            unchanged(answer["inputs"][:1], [source], "source_ids")
            generator_unchanged(answer)
            if student.value(student.probe("mode", SCRIPTED), model) != bool(training):
                what = ("eval mode and is put into training mode", "training mode and is left in eval mode")[training]
                raise Wrong(f"The model was in {what}: leave it as you found it.", symptom)
    given = {"source_ids": source, "bos_id": args[1], "eos_id": args[2], **named}
    with student.case():
        where = "with the arguments given by name"
        turned = dict(reversed({"model": their_scripted(student, args), **given}.items()))
        same(student.call(name, [], turned, where)["value"], right, where)
    with student.case():  # every tensor that names no device is put on the meta device, apart
        try:
            student.call(name, [their_scripted(student, args), *given.values()], strict_device=True)
        except Problem as problem:
            if devices_differ(problem):
                apart = "on a GPU it would be on the CPU, apart from source_ids and the model"
                raise Wrong(f"A tensor is made without `device=…`: {apart}.", "device_not_kept") from None
