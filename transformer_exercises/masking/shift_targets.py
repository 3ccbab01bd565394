"""`shift_targets`: inputs and targets for ids of many shapes; the mistakes shift, roll, cut or pad the wrong side."""

from __future__ import annotations

from typing import Any

import torch

from autograder.spec.compare import a_pair, same_tensor, unchanged
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept
from autograder.spec.student import Student


def _same_shift(got: Any, ids: torch.Tensor, where: str) -> None:
    inputs, targets = a_pair(got, "(inputs, targets)")
    same_tensor(inputs, ids[:, :-1], "The first result (inputs)", where)
    same_tensor(targets, ids[:, 1:], "The second result (targets)", where)


def _shift(student: Student) -> None:
    for B, T in ((2, 5), (1, 4), (3, 2), (4, 4), (2, 7), (1, 2), (2, 40), (3, 1), (1, 1)):
        with student.case():
            ids = (torch.arange(B * T) * 37 % 101).reshape(B, T)
            _same_shift(
                student.value("shift_targets", ids, where=f"for ids of shape ({B}, {T})"),
                ids,
                f"for ids of shape ({B}, {T})",
            )
    with student.case():
        ids = torch.tensor([[50256, 2**31 + 7, 3], [0, 32099, 2**24 + 1]])
        _same_shift(student.value("shift_targets", ids, where="for large ids"), ids, "for large ids")


def _shift_manners(student: Student) -> None:
    for ids, where in (
        (torch.tensor([[5, 7, 7, 0], [1, 2, 0, 0]]), "when ids repeat and hold zeros"),
        (torch.arange(12).reshape(4, 3).T, "for ids that are not contiguous (a transpose)"),
    ):
        with student.case():
            answer = student.call("shift_targets", [ids], where=where)
            _same_shift(answer["value"], ids, where)
            unchanged(answer["inputs"], [ids], "ids")
    with student.case():
        where = "with ids given by name"
        _same_shift(student.call("shift_targets", [], {"ids": ids}, where=where)["value"], ids, where)
    device_is_kept(student, "shift_targets", [ids])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("inputs and targets, for many shapes", 2.5, _shift),
        Check("ids unchanged, any layout and device", 0.5, _shift_manners, further=True),
    ],
    working=r"""
import torch

def shift_targets(ids):
    return ids.narrow(1, 0, ids.shape[1] - 1), ids.narrow(1, 1, ids.shape[1] - 1)
""",
    takes="tensor",
    gives="tensor",
    slips=(
        "nothing_returned",
        "input_changed",
        "double_precision",
        "single_precision_inside",
        "squeezed",
        "rounded",
        "list_returned",
        "array_returned",
    ),
    wrong=r"""
swapped (slip): The two results are the wrong way round: the inputs are all but the last token, the targets all but the first.
- ids[:, :-1], ids[:, 1:] => ids[:, 1:], ids[:, :-1]
swapped_list (slip): The two results are the wrong way round, and in a list: return the tuple (inputs, targets).
- return ids[:, :-1], ids[:, 1:] => return [ids[:, 1:], ids[:, :-1]]
mixed_dimensions: One of the two results is cut along the batch (first dimension) instead of time: ids[:, …], with a colon for the batch.
- ids[:, 1:] => ids[1:]
- ids[:, :-1] => ids[:-1]
one_hot: The results are one-hot vectors: the ids themselves are asked for, (B, T-1).
- ids[:, 1:] => torch.nn.functional.one_hot(ids[:, 1:])
not_shifted (missed): Inputs and targets are the same: the model would learn to copy. The targets are one step on.
- ids[:, 1:] => ids[:, :-1]
not_shifted_full (missed): Nothing is shifted: ids is returned twice. The inputs are all but the last token, the targets all but the first.
- ids[:, :-1], ids[:, 1:] => ids, ids
both_from_one: Inputs and targets are the same: both lack the first token. The inputs are all but the *last* token.
- ids[:, :-1] => ids[:, 1:]
two_steps (slip): The targets are two steps on: the token that follows inputs[:, t] is ids[:, t + 1].
- ids[:, :-1], ids[:, 1:] => ids[:, :-2], ids[:, 2:]
batch_shifted: The slices cut the batch (first dimension) instead of time: ids[:, …], with a colon for the batch.
- ids[:, :-1], ids[:, 1:] => ids[:-1], ids[1:]
rolled: torch.roll wraps round: the last target is the first token of the sequence. Drop a token instead.
- ids[:, :-1], ids[:, 1:] => ids, ids.roll(-1, dims=1)
rolled_back: torch.roll shifts the wrong way and wraps round.
- ids[:, :-1], ids[:, 1:] => ids, ids.roll(1, dims=1)
rolled_and_cut: torch.roll was used with the wrong sign (or the wrong end was cut): targets[:, t] should be ids[:, t + 1].
- ids[:, 1:] => ids.roll(1, dims=1)[:, :-1] || ids.roll(-1, dims=1)[:, 1:] || ids.roll(-1)[:, 1:]
next_number (missed): The targets are the ids plus 1. The target is the next *token* of the sequence, which has any id.
- ids[:, 1:] => ids[:, :-1] + 1
- ids[:, :-1], ids[:, 1:] => ids, ids + 1
inputs_two_short: The two results are cut differently: inputs[:, t] and targets[:, t] must be neighbours in ids.
- ids[:, 1:] => ids[:, 2:]
- ids[:, :-1] => ids[:, :-2]
reversed: The sequence is reversed: the targets are the tokens *after* the inputs, in the order of the text.
- ids[:, 1:] => ids.flip(1)[:, :-1] || ids.flip(1)[:, 1:]
halves: The sequence is cut in two halves. Every token but the last is an input, every token but the first a target.
- ids[:, :-1], ids[:, 1:] => ids[:, : ids.shape[1] // 2], ids[:, ids.shape[1] // 2 :]
loop_ends_early (slip): A loop stops too early or too late (or begins at 1), so pairs are missing.
- ids[:, :-1], ids[:, 1:] => ids[:, :-2], ids[:, 1:-1] || ids[:, 1:-1], ids[:, 2:]
uneven (slip): The lengths differ: the inputs are not cut. Both should be (B, T-1).
- ids[:, :-1] => ids
targets_uncut (slip): The lengths differ: the targets are not cut. Both should be (B, T-1).
- ids[:, 1:] => ids
padded: A padding token is appended so that the length stays T: both should be (B, T-1).
- ids[:, :-1], ids[:, 1:] => ids, torch.cat([ids[:, 1:], torch.zeros_like(ids[:, :1])], dim=1)
- ids[:, :-1], ids[:, 1:] => ids, torch.cat([ids[:, 1:], torch.full_like(ids[:, :1], -100)], dim=1)
start_token: A start token is put before the inputs: the inputs are all but the last token of ids, nothing is added.
- ids[:, :-1], ids[:, 1:] => torch.cat([torch.zeros_like(ids[:, :1]), ids[:, :-1]], dim=1), ids
last_target_only: Only the last token is returned as a target; every position has one.
- ids[:, 1:] => ids[:, -1] || ids[:, -1:]
flattened: The batch is flattened: keep (B, T-1), one row for each sequence.
- ids[:, :-1], ids[:, 1:] => ids[:, :-1].flatten(), ids[:, 1:].flatten() || ids.flatten()[:-1], ids.flatten()[1:]
- ids[:, :-1], ids[:, 1:] => ids.flatten()[None, :-1], ids.flatten()[None, 1:]
first_sequence: Only the first sequence of the batch is returned.
- ids[:, :-1], ids[:, 1:] => ids[0, :-1], ids[0, 1:] || ids[:1, :-1], ids[:1, 1:]
stacked (slip): One tensor is returned: return the tuple (inputs, targets).
- return ids[:, :-1], ids[:, 1:] => return torch.stack([ids[:, :-1], ids[:, 1:]]) || return torch.stack([ids[:, :-1], ids[:, 1:]], dim=-1)
- return ids[:, :-1], ids[:, 1:] => return torch.stack([ids[:, :-1], ids[:, 1:]], dim=1) || return ids[:, 1:]
list_for_a_pair (slip): A list is returned: return the tuple (inputs, targets), as `return inputs, targets` does.
- return ids[:, :-1], ids[:, 1:] => return [ids[:, :-1], ids[:, 1:]] || return [(ids[:, t], ids[:, t + 1]) for t in range(ids.shape[1] - 1)]
small_integers (slip): The ids are cast to a smaller integer type: keep torch.long, so that no id is too large.
- ids[:, :-1], ids[:, 1:] => ids[:, :-1].int(), ids[:, 1:].int()
floats (slip): Ids are turned into floats: they are whole numbers and must stay so (torch.long).
- ids[:, :-1], ids[:, 1:] => ids[:, :-1].float(), ids[:, 1:].float()
- ids[:, 1:] => ids[:, 1:].float()
- ids[:, :-1] => ids[:, :-1].float()
input_changed:
- return ids[:, :-1], ids[:, 1:] =>
      inputs = ids[:, :-1].clone()
      ids[:, :-1] = ids[:, 1:].clone()
      return inputs, ids[:, :-1]
- return ids[:, :-1], ids[:, 1:] =>
      inputs = ids[:, :-1]
      ids[:, :-1] = ids[:, 1:].clone()
      return inputs, ids[:, :-1]
rounded (missed):
one_token_refused (slip): T = 1 is refused or fails: one token makes no pair, and both results are (B, 0).
- return ids[:, :-1], ids[:, 1:] =>
      cols = ids.unbind(1)
      return torch.stack(cols[:-1], 1), torch.stack(cols[1:], 1)
- return ids[:, :-1], ids[:, 1:] =>
      assert ids.shape[1] > 1
      return ids[:, :-1], ids[:, 1:]
view_needed (slip): `view` refuses tensors that are not contiguous, such as transposes: use `reshape`, or slice ids as they are.
- return ids[:, :-1], ids[:, 1:] =>
      ids = ids.view(-1).view(ids.shape)
      return ids[:, :-1], ids[:, 1:]
other_signature (slip): The argument has another name: keep the signature shift_targets(ids), so that it may be given by name.
- ids => tokens
""",
    right=r"""
clones:
- |
  T = ids.size(1)
  inputs = ids[:, 0 : T - 1].clone()
  targets = ids[:, 1:T].contiguous()
  return inputs, targets
rolled_right:
- :, :-1], ids[:, 1: => ..., :-1], torch.roll(ids, -1, dims=-1)[..., :-1
""",
)
