"""What the checks of this notebook share."""

from __future__ import annotations

import math
from typing import Any

import torch

from autograder.spec.compare import kind
from autograder.spec.exercise import Problem, ValuesDiffer, Wrong
from autograder.spec.inputs import devices_differ, note_rounded
from autograder.spec.student import Kept, Student


def float_answered(
    student: Student, name: str, args: list, expected: float, what: str, where: str, digits: float = 1e-5
) -> dict:
    """A call that should give this number, however it is wrapped; whether it is a plain float is said last."""
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


# A model for decoding, in the student's process and here. What follows depends on the source and on every token so far,
# in whatever batch they stand; bos is never written. It notes how often it was asked.
SCRIPTED = """
class Scripted(nn.Module):
    def __init__(self, V, bos_id, eos_id, eos_bonus, seed):
        super().__init__()
        self.anchor = nn.Parameter(torch.zeros(()))
        self.V, self.bos_id, self.eos_id, self.eos_bonus, self.seed = V, bos_id, eos_id, eos_bonus, seed
        self.calls, self.trained = 0, False

    def forward(self, source_ids, target_ids):
        self.calls += 1
        self.trained = self.trained or self.training
        for name, ids in (("source_ids", source_ids), ("target_ids", target_ids)):
            if ids.dim() != 2:
                raise ValueError(f"the model wants {name} of shape [batch, length], not {list(ids.shape)}")
        if len(source_ids) != len(target_ids):
            raise ValueError(f"the model got {len(source_ids)} rows of source_ids and {len(target_ids)} of target_ids")
        if len(target_ids) > 1000:
            raise RuntimeError("the model got more than 1000 rows at once")
        if not target_ids.numel():
            raise LookupError("the model got no target_ids: they begin with bos_id")
        if self.calls > 500:
            raise RuntimeError("the model was asked more than 500 times")
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

def scripted(*args):
    return Scripted(*args).eval()

class Moody(Scripted):
    def forward(self, source_ids, target_ids):
        if not self.training:
            raise AssertionError("the model was in training mode, and is asked in another")
        return super().forward(source_ids, target_ids)

def in_training(*args):
    return Moody(*args)

def mode(model):
    return model.training

def calls(model):
    return model.calls

def trained(model):
    return model.trained or model.training
"""


def id_list(got: Any, where: str) -> list[int]:
    if not isinstance(got, list):
        raise Wrong(f"The ids of a sentence should be a list of ints {where}; yours is {kind(got)}.")
    strange = [token for token in got if type(token) is not int]
    if strange:
        raise Wrong(f"The ids should be ints {where}; among yours is {kind(strange[0])}.", "not_ints")
    return got


def their_scripted(student: Student, args: tuple) -> Kept:
    return student.call(student.probe("scripted", SCRIPTED), list(args), keep=True)["value"]


def decoded_on_device(student: Student, name: str, args: list) -> None:
    """Every tensor that is made must name its device. Here those that do not are put on the meta device, apart."""
    try:
        student.call(name, args, strict_device=True)
    except Problem as problem:
        if devices_differ(problem):
            raise Wrong(
                "A tensor is made without `device=…`: on a GPU it would be on the CPU, apart from source_ids and the "
                "model.",
                "device_not_kept",
            ) from None


def asked_in_its_mode(student: Student, name: str, args: tuple, rest: list) -> None:
    """A model that is in training mode is asked in that mode, and is in it afterwards."""
    model = student.call(student.probe("in_training", SCRIPTED), list(args), keep=True)["value"]
    try:
        student.call(name, [model, *rest], where="with a model that is in training mode")
    except Problem as problem:
        if problem.error == "AssertionError":
            raise Wrong(_MODE, "mode_changed") from None
        raise
    if student.value(student.probe("mode", SCRIPTED), model) is not True:
        raise Wrong(_MODE, "mode_changed")


_MODE = (
    "The model was in training mode and is put into eval mode: it is asked in the mode it is in. Whoever calls the "
    "function decides that."
)


def left_in_eval_mode(student: Student, model: Any) -> None:
    if student.value(student.probe("trained", SCRIPTED), model):
        raise Wrong(
            "The model was in eval mode and is put into training mode, so dropout would be at work: leave its mode "
            "alone.",
            "training_mode",
        )
