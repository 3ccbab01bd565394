"""Notebook 06: causal and padding masks, a softmax that survives them, shifted targets, and a test for causality."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..asked.compare import a_pair, dtype_name, same_tensor, unchanged
from ..asked.declare import Alternative, Check, Exercise, Mistake, Question, Wrong, edited, written
from ..asked.inputs import device_is_kept, gradients_agree, normal, quietly_called

# --- references -------------------------------------------------------------------------------------------------------


def causal_mask(T, device=None):
    """Mask that hides the future; True = blocked (Vaswani et al. 2017, section 3.2.3).

    Returns a BoolTensor [T, T] on device, True strictly above the diagonal.
    Example: T = 2 -> [[False, True], [False, False]]
    """
    ones = torch.ones(T, T, dtype=torch.bool, device=device)
    return ones.triu(diagonal=1)  # (T, T): keeps the part above the diagonal


def padding_mask(lengths, max_len):
    """Mask of the padding in a right-padded batch; True = padding = blocked.

    lengths: integer tensor [B], real tokens per row; max_len: int.
    Returns a BoolTensor [B, max_len] on the device of lengths.
    Example: lengths [3, 1], max_len 4 -> [[F, F, F, T], [F, T, T, T]]
    """
    positions = torch.arange(max_len, device=lengths.device)  # (max_len,)
    return positions >= lengths[:, None]  # (max_len,) against (B, 1) gives (B, max_len)


def attention_mask(lengths, max_len):
    """Causal mask and key padding together; True = blocked. T = max_len.

    lengths: integer tensor [B]. Returns BoolTensor [B, 1, T, T], 1 for the heads.
    Example: lengths [3, 2], max_len 3 -> [[[[F, T, T], [F, F, T], [F, F, F]]],
                                           [[[F, T, T], [F, F, T], [F, F, T]]]]
    """
    future = causal_mask(max_len, device=lengths.device)  # (T, T)
    padding = padding_mask(lengths, max_len)  # (B, T), about keys
    return future | padding[:, None, None, :]  # (B, 1, T, T)


def masked_softmax(scores, mask):
    """Softmax over the keys that the mask leaves open; True = blocked.

    scores: [..., T, S] float; mask: bool, broadcastable to scores.
    Returns weights of the same shape: blocked entries exactly 0, rows sum to 1,
    a fully blocked row all zeros, with zero (not NaN) gradient.
    """
    empty = mask.all(dim=-1, keepdim=True)  # (..., T, 1): rows in which nothing is allowed
    scores = scores.masked_fill(mask, float("-inf"))
    scores = scores.masked_fill(empty, 0.0)  # a row of only -inf would give 0/0: any finite number avoids it
    weights = torch.softmax(scores, dim=-1)  # (..., T, S)
    return weights.masked_fill(mask, 0.0)


def shift_targets(ids):
    """Next-token pairs for teacher forcing (Williams and Zipser, 1989).

    ids: LongTensor [B, T], T at least 1.
    Returns (inputs [B, T-1], targets [B, T-1]): targets[b, t] follows inputs[b, t].
    Example: [[5, 2, 7, 9]] -> [[5, 2, 7]], [[2, 7, 9]]
    """
    return ids[:, :-1], ids[:, 1:]


def sees_the_future(attend, T=6, C=8):
    """Whether some output of attend depends on a later input: a property test for causality.

    attend: deterministic function x [1, T, C] -> [1, T, C]; need not be differentiable.
    Returns True if changing a position s >= 1 ever moves an output before s, else False.
    Draws from its own generator; attend gets copies, so views and in-place work do no harm.
    """
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, T, C, generator=generator)
    before = attend(x.clone()).detach().clone()  # (1, T, C); a copy, in case the result is a view of the input
    for t in range(1, T):
        changed = x.clone()
        changed[:, t] = torch.randn(C, generator=generator)  # only token t is new
        after = attend(changed).detach()
        if not torch.allclose(before[:, :t], after[:, :t], atol=1e-6):  # nothing before t may move
            return True
    return False


# The parts of the references that mistakes change.
_UPPER = "ones.triu(diagonal=1)"
_PADDED = "positions >= lengths[:, None]"
_OR = "future | padding[:, None, None, :]"
_SOFT = "torch.softmax(scores, dim=-1)"
_ZEROED = "return weights.masked_fill(mask, 0.0)"
_PAIR = "ids[:, :-1], ids[:, 1:]"


# --- causal_mask ------------------------------------------------------------------------------------------------------


def _causal(student: Any) -> None:
    for T in (4, 1, 2, 3, 7, 40, 130):
        with student.case():
            where = f"for T = {T}"
            same_tensor(student.value("causal_mask", T, where=where), causal_mask(T), "The mask", where)


def _causal_device(student: Any) -> None:
    with student.case():
        same_tensor(student.value("causal_mask", 5), causal_mask(5), "The mask", "without a device")
    with student.case():
        got = student.call("causal_mask", [5], {"device": "meta"}, where="with device given")["value"]
        if not isinstance(got, torch.Tensor) or got.device.type != "meta":
            raise Wrong("The mask is not made on the device that is asked for: pass `device=device` on.")
    with student.case():
        got = student.value("causal_mask", 3, "cpu", where="with device given by position")
        same_tensor(got, causal_mask(3), "The mask", "with device given by position")


def _mask_of(name: str, signature: str, body: str) -> str:
    return written(f"def {name}({signature}):\n{body}")


CAUSAL_MASK = Exercise(
    name="causal_mask",
    notebook="06-masking",
    points=2,
    reference=causal_mask,
    checks=[
        Check("True exactly above the diagonal", 1.5, _causal),
        Check("made on the device that is asked for", 0.5, _causal_device),
    ],
    working=written(
        """
        import torch
        from torch import nn

        def causal_mask(T, device=None):
            return nn.Transformer.generate_square_subsequent_mask(T, device=device).isinf()
        """
    ),
    mistakes=[
        Mistake(
            "diagonal_blocked",
            "The diagonal is blocked too, so a token may not look at itself (and the first one at nothing). The mask is "
            "True *strictly* above the diagonal: diagonal=1.",
            edited(causal_mask, ("diagonal=1", "diagonal=0")),
        ),
        Mistake(
            "one_step_ahead",
            "Each token may still see the next one, which is the very token it has to predict: diagonal=1, not 2.",
            edited(causal_mask, ("diagonal=1", "diagonal=2")),
        ),
        Mistake(
            "inverted",
            "True and False are swapped: here True = blocked, so the allowed part (on and below the diagonal) is False.",
            edited(causal_mask, (_UPPER, "ones.tril()")),
        ),
        Mistake(
            "past_blocked",
            "The past is blocked instead of the future: True belongs above the diagonal (triu), not below it (tril).",
            edited(causal_mask, (_UPPER, "ones.tril(diagonal=-1)")),
        ),
        Mistake(
            "past_and_self_open_inverted",
            "The mask is True everywhere on and below the diagonal's neighbour: an inverted mask that is also off by one.",
            edited(causal_mask, (_UPPER, "ones.tril(diagonal=1)")),
        ),
        Mistake(
            "off_by_one_below",
            "The triangle starts below the diagonal (diagonal=-1), so each token's own past is blocked as well.",
            edited(causal_mask, ("diagonal=1", "diagonal=-1")),
        ),
        Mistake(
            "all_but_diagonal",
            "Everything but the diagonal is blocked: a token could look only at itself.",
            edited(causal_mask, (_UPPER, "ones & ~torch.eye(T, dtype=torch.bool, device=device)")),
        ),
        Mistake(
            "floats",
            "The mask is a float tensor of ones and zeros: a boolean tensor is asked for (dtype=torch.bool).",
            edited(causal_mask, ("dtype=torch.bool, ", "")),
        ),
        Mistake(
            "integers",
            "The mask is an integer tensor: a boolean tensor is asked for (dtype=torch.bool).",
            edited(causal_mask, ("torch.bool", "torch.long")),
            (edited(causal_mask, ("torch.bool", "torch.uint8")), edited(causal_mask, ("torch.bool", "torch.int32"))),
        ),
        Mistake(
            "infinities",
            "The mask holds 0 and −inf, to be added to scores. That is one of PyTorch's conventions, but here a boolean "
            "mask is asked for, True = blocked.",
            edited(
                causal_mask,
                (
                    _UPPER,
                    "torch.zeros(T, T, device=device).masked_fill(ones.triu(diagonal=1), float('-inf'))",
                ),
            ),
            (
                edited(
                    causal_mask,
                    (
                        _UPPER,
                        "torch.zeros(T, T, device=device).masked_fill(ones.triu(diagonal=1), -1e9)",
                    ),
                ),
            ),
        ),
        Mistake(
            "flipped",
            "The triangle lies on the wrong diagonal, the one from the lower left to the upper right: a mask was flipped instead "
            "of transposed.",
            edited(causal_mask, (_UPPER, "ones.tril(diagonal=-1).flip(0)")),
            (
                edited(causal_mask, (_UPPER, "ones.tril(diagonal=-1).flip(1)")),
                edited(causal_mask, (_UPPER, "ones.triu(diagonal=1).flip(0)")),
                edited(causal_mask, (_UPPER, "ones.triu(diagonal=1).flip(1)")),
            ),
        ),
        Mistake(
            "loop_ends_early",
            "A loop stops one too early, so the last row or column is never written: `range(n)` ends at n − 1 already.",
            edited(
                causal_mask,
                (
                    "return ones.triu(diagonal=1)",
                    "mask = ones.triu(diagonal=1)\n    mask[:, -1] = False\n    return mask",
                ),
            ),
            (
                edited(
                    causal_mask,
                    (
                        "return ones.triu(diagonal=1)",
                        "mask = ones.triu(diagonal=1)\n    mask[:, :1] = False\n    mask[0] = False\n    return mask",
                    ),
                ),
                edited(
                    causal_mask,
                    (
                        "return ones.triu(diagonal=1)",
                        "mask = ones.triu(diagonal=1)\n    mask[-1] = False\n    mask[:, -1] = False\n    return mask",
                    ),
                ),
            ),
        ),
        Mistake(
            "next_token_only",
            "Only the next token is blocked, not the whole future: everything above the diagonal is True.",
            edited(causal_mask, (_UPPER, "ones.triu(diagonal=1).tril(diagonal=1)")),
        ),
        Mistake(
            "upper_half_fixed",
            "All rows block the same keys. Each query has a future of its own: row t blocks the keys after t.",
            edited(causal_mask, (_UPPER, "ones & (torch.arange(T, device=device) > T // 2)")),
            (edited(causal_mask, (_UPPER, "ones & (torch.arange(T, device=device) > 0)")),),
        ),
        Mistake(
            "one_row",
            "The mask has one row only: (T, T) is asked for, one row for each query.",
            edited(
                causal_mask,
                (_UPPER, "torch.arange(T, device=device) > torch.arange(T, device=device)"),
            ),
            (edited(causal_mask, (_UPPER, "ones.triu(diagonal=1)[0]")),),
        ),
        Mistake(
            "squeezed",
            "`squeeze()` removes every dimension of size 1, so the mask of one token is no longer (1, 1).",
            edited(causal_mask, (_UPPER, "ones.triu(diagonal=1).squeeze()")),
            (edited(causal_mask, (_UPPER, "ones.triu(diagonal=1).squeeze(0)")),),
        ),
        Mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the mask.",
            edited(causal_mask, ("return ones", "_ = ones")),
        ),
        Mistake(
            "no_device",
            "`device` is not a parameter: keep the signature causal_mask(T, device=None) and make the mask there.",
            edited(causal_mask, ("T, device=None", "T"), (", device=device", "")),
        ),
        Mistake(
            "device_always_needed",
            "`device` is used as if it were always given: with the default None (the CPU) the call fails.",
            edited(causal_mask, ("T, device=None", "T, device")),
            (edited(causal_mask, ("    ones", "    torch.device(device)\n    ones")),),
        ),
        Mistake(
            "nothing_blocked",
            "The mask blocks nothing: all entries are False.",
            edited(causal_mask, (_UPPER, "~ones")),
        ),
        Mistake(
            "everything_blocked",
            "The mask blocks everything: all entries are True.",
            edited(causal_mask, (_UPPER, "ones")),
        ),
        Mistake(
            "leading_dimension",
            "The mask has an extra leading dimension: (T, T) is asked for.",
            edited(causal_mask, (_UPPER, "ones.triu(diagonal=1)[None]")),
            (edited(causal_mask, (_UPPER, "ones.triu(diagonal=1)[None, None]")),),
        ),
        Mistake(
            "list",
            "A list or a NumPy array is returned: a tensor is asked for.",
            edited(causal_mask, (_UPPER, "ones.triu(diagonal=1).tolist()")),
            (edited(causal_mask, (_UPPER, "ones.triu(diagonal=1).numpy()")),),
        ),
        Mistake(
            "inverted_numbers",
            "True and False are swapped, and the mask holds numbers: a boolean tensor is asked for, True = blocked.",
            edited(causal_mask, ("dtype=torch.bool, ", ""), ("triu(diagonal=1)", "tril()")),
            (
                edited(causal_mask, ("torch.bool", "torch.long"), ("triu(diagonal=1)", "tril()")),
                edited(causal_mask, ("torch.bool", "torch.int32"), ("triu(diagonal=1)", "tril()")),
            ),
        ),
        Mistake(
            "one_token_refused",
            "T = 1 is refused or fails: the mask of a single token is (1, 1), with nothing blocked.",
            edited(causal_mask, ("    ones", "    if T < 2:\n        raise ValueError('too few')\n    ones")),
            (edited(causal_mask, ("    ones", "    assert T > 1\n    ones")),),
        ),
        Mistake(
            "fixed_size",
            "The size is fixed, or has a fixed maximum (a buffer that is sliced): the mask must be (T, T) for every T.",
            edited(causal_mask, ("ones = torch.ones(T, T,", "ones = torch.ones(4, 4,")),
            tuple(
                edited(
                    causal_mask,
                    ("ones = torch.ones(T, T,", f"ones = torch.ones({n}, {n},"),
                    (_UPPER, "ones.triu(diagonal=1)[:T, :T]"),
                )
                for n in (8, 10, 16, 32, 64, 100, 128)
            ),
        ),
        Mistake(
            "device_ignored",
            "`device` is ignored: the mask is always made on the CPU.",
            edited(causal_mask, (", device=device", "")),
        ),
    ],
    alternatives=[
        Alternative(
            "compare_positions",
            _mask_of(
                "causal_mask",
                "T, device=None",
                "    t = torch.arange(T, device=device)\n    return t[None, :] > t[:, None]\n",
            ),
        ),
        Alternative(
            "inverted_tril",
            _mask_of(
                "causal_mask",
                "T: int, device=None",
                "    return ~torch.tril(torch.ones((T, T), device=device)).bool()\n",
            ),
        ),
        Alternative(
            "loops",
            _mask_of(
                "causal_mask",
                "T, device=None",
                "    mask = torch.zeros(T, T, dtype=torch.bool)\n    for t in range(T):\n        for s in range(t + 1, T):\n"
                "            mask[t, s] = True\n    return mask.to(device)\n",
            ),
        ),
        Alternative(
            "list_comprehension",
            _mask_of(
                "causal_mask",
                "T, device=None",
                "    return torch.tensor([[s > t for s in range(T)] for t in range(T)], device=device)\n",
            ),
        ),
    ],
)


# --- padding_mask -----------------------------------------------------------------------------------------------------

RAGGED = (
    *(([3, 5, 1], 5), ([0, 4], 4), ([2], 6), ([4, 1, 3, 2], 4), ([1, 1], 1), ([2, 3, 1, 5, 6], 7)),
    *(([3, 3, 3], 3), ([0, 0], 3), ([12, 33, 0, 40], 40), ([1], 1)),
)


def _padding(student: Any) -> None:
    for lengths, max_len in RAGGED:
        with student.case():
            where = f"for lengths {lengths} and max_len = {max_len}"
            given = torch.tensor(lengths)
            got = student.value("padding_mask", given, max_len, where=where)
            same_tensor(got, padding_mask(given, max_len), "The mask", where)


def _padding_manners(student: Any) -> None:
    for given in (torch.tensor([3, 0, 2, 1, 4]), torch.tensor([3, 0, 2], dtype=torch.int32)):
        with student.case():
            where = f"for {dtype_name(given)} lengths"
            answer = student.call("padding_mask", [given, 4], where=where)
            same_tensor(answer["value"], padding_mask(given, 4), "The mask", where)
            unchanged(answer["inputs"], [given], "lengths")
    device_is_kept(student, "padding_mask", [torch.tensor([3, 1]), 4])


PADDING_MASK = Exercise(
    name="padding_mask",
    notebook="06-masking",
    points=3,
    reference=padding_mask,
    checks=[
        Check("True exactly at padding", 2.5, _padding),
        Check("inputs unchanged, on the device of `lengths`", 0.5, _padding_manners),
    ],
    working=written(
        """
        import torch

        def padding_mask(lengths, max_len):
            return torch.ones(len(lengths), max_len, device=lengths.device).cumsum(-1) > lengths[:, None]
        """
    ),
    mistakes=[
        Mistake(
            "inverted",
            "True and False are swapped: True marks padding (blocked), False the real tokens.",
            edited(padding_mask, (">=", "<")),
        ),
        Mistake(
            "off_by_one",
            "Off by one: the first position of padding is left open. With length 3, positions 0, 1 and 2 are real, so "
            "padding begins at position 3: `>=`, not `>`.",
            edited(padding_mask, (">=", ">")),
        ),
        Mistake(
            "last_token_blocked",
            "Off by one: the last real token is blocked too. With length 3, positions 0, 1 and 2 are real.",
            edited(padding_mask, (">= lengths", ">= -1 + lengths")),
        ),
        Mistake(
            "inverted_off_by_one",
            "True and False are swapped (True marks padding), and the boundary is off by one.",
            edited(padding_mask, (">=", "<=")),
        ),
        Mistake(
            "reshaped",
            "The mask was made with the wrong dimension first and then cut anew with `view` or `reshape`, which scrambles it. Use "
            "`transpose`, or compare positions (max_len,) with lengths (B, 1).",
            edited(
                padding_mask,
                (_PADDED, "(positions[:, None] >= lengths).reshape(len(lengths), max_len)"),
            ),
            (
                edited(
                    padding_mask,
                    (
                        _PADDED,
                        "positions.repeat_interleave(len(lengths)).view(len(lengths), max_len) >= lengths[:, None]",
                    ),
                ),
            ),
        ),
        Mistake(
            "inverted_numbers",
            "True and False are swapped, and the mask holds numbers: a boolean tensor is asked for, True at padding.",
            edited(padding_mask, (_PADDED, "(positions < lengths[:, None]).float()")),
            (
                edited(padding_mask, (_PADDED, "(positions < lengths[:, None]).long()")),
                edited(padding_mask, (_PADDED, "(positions < lengths[:, None]).int()")),
            ),
        ),
        Mistake(
            "zero_refused",
            "A length of 0 is refused or fails. An empty sequence is allowed: all of its positions are padding.",
            edited(
                padding_mask,
                ("    positions", "    if (lengths <= 0).any():\n        raise ValueError('empty')\n    positions"),
            ),
            (edited(padding_mask, ("    positions", "    assert (lengths > 0).all()\n    positions")),),
        ),
        Mistake(
            "index_compared",
            "The number of the sequence in the batch is compared with the positions instead of its length.",
            edited(
                padding_mask, (">= lengths[:, None]", ">= torch.arange(len(lengths), device=lengths.device)[:, None]")
            ),
        ),
        Mistake(
            "negative_slice",
            "A slice such as `mask[b, -n:]` takes the whole row when n is 0, so a sequence without padding is blocked altogether. "
            "Slice from the length on: `mask[b, length:]`.",
            edited(
                padding_mask,
                (
                    f"return {_PADDED}",
                    "mask = positions >= lengths[:, None]\n    mask[lengths == max_len] = True\n    return mask",
                ),
            ),
        ),
        Mistake(
            "last_position_only",
            "A loop stops one too early, so the last position is never marked: `range(n)` ends at n − 1 already.",
            edited(
                padding_mask,
                (
                    f"return {_PADDED}",
                    "mask = positions >= lengths[:, None]\n    mask[:, -1] = False\n    return mask",
                ),
            ),
        ),
        Mistake(
            "last_sequence_missed",
            "The last sequence of the batch is left out of the loop.",
            edited(
                padding_mask,
                (
                    f"return {_PADDED}",
                    "mask = positions >= lengths[:, None]\n    mask[-1] = False\n    return mask",
                ),
            ),
        ),
        Mistake(
            "square",
            "The mask is square: (B, max_len) is asked for, one number for each position of each sequence.",
            edited(
                padding_mask,
                (
                    f"return {_PADDED}",
                    "mask = positions >= lengths[:, None]\n    return mask[:, None, :] | mask[:, :, None]",
                ),
            ),
            (
                edited(
                    padding_mask,
                    (
                        f"return {_PADDED}",
                        "mask = positions >= lengths[:, None]\n    return mask[:, None, :].expand(-1, max_len, -1)",
                    ),
                ),
            ),
        ),
        Mistake(
            "size_limited",
            "The number of positions is fixed or has a fixed maximum: the mask must be max_len wide.",
            edited(padding_mask, ("torch.arange(max_len", "torch.arange(min(max_len, 16)")),
            (
                edited(padding_mask, ("torch.arange(max_len", "torch.arange(min(max_len, 32)")),
                edited(padding_mask, ("torch.arange(max_len", "torch.arange(16")),
            ),
        ),
        Mistake(
            "ids_expected",
            "`lengths` is taken for the ids themselves (`== 0`): it holds how many real tokens each sequence has.",
            edited(padding_mask, (_PADDED, "(lengths == 0)[:, None].expand(-1, max_len)")),
            (edited(padding_mask, (_PADDED, "lengths == 0")),),
        ),
        Mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the mask.",
            edited(padding_mask, ("return positions", "_ = positions")),
        ),
        Mistake(
            "nothing_blocked",
            "Nothing is blocked: all entries are False.",
            edited(padding_mask, (_PADDED, "(positions >= lengths[:, None]) & False")),
        ),
        Mistake(
            "left_padding",
            "The padding is marked on the left: the real tokens come first here.",
            edited(padding_mask, (_PADDED, "positions < max_len - lengths[:, None]")),
        ),
        Mistake(
            "longest",
            "The mask is as wide as the longest sequence of the batch; it should be max_len wide.",
            edited(padding_mask, ("torch.arange(max_len", "torch.arange(int(lengths.max())")),
        ),
        Mistake(
            "transposed",
            "The mask is transposed: (B, max_len) is asked for, one row for each sequence.",
            edited(padding_mask, (_PADDED, "positions[:, None] >= lengths")),
        ),
        Mistake(
            "no_broadcast_dimension",
            "`lengths` has shape (B,) and the positions (max_len,): compared directly they are paired one with one, which "
            "fails, or is nonsense when B = max_len. Give lengths a dimension: `lengths[:, None]`.",
            edited(padding_mask, ("lengths[:, None]", "lengths")),
        ),
        Mistake(
            "first_sequence",
            "Every row uses the length of the first sequence.",
            edited(padding_mask, ("lengths[:, None]", "lengths[:1, None].expand(len(lengths), 1)")),
        ),
        Mistake(
            "equal_only",
            "Only one position of each row is marked: everything from the length on is padding.",
            edited(padding_mask, (">=", "==")),
        ),
        Mistake(
            "floats",
            "The mask is a float tensor: a boolean tensor is asked for, True at padding.",
            edited(padding_mask, (f"return {_PADDED}", f"return ({_PADDED}).float()")),
        ),
        Mistake(
            "integers",
            "The mask is an integer tensor: a boolean tensor is asked for.",
            edited(padding_mask, (f"return {_PADDED}", f"return ({_PADDED}).long()")),
            (
                edited(
                    padding_mask,
                    (f"return {_PADDED}", f"return ({_PADDED}).int()"),
                ),
                edited(
                    padding_mask,
                    (f"return {_PADDED}", f"return ({_PADDED}).byte()"),
                ),
            ),
        ),
        Mistake(
            "infinities",
            "The mask holds 0 and −inf, to be added to scores: here a boolean mask is asked for, True = blocked.",
            edited(
                padding_mask,
                (
                    f"return {_PADDED}",
                    "mask = positions >= lengths[:, None]\n    return torch.zeros(mask.shape).masked_fill(mask, float('-inf'))",
                ),
            ),
        ),
        Mistake(
            "extra_dimensions",
            "The mask has extra dimensions: (B, max_len) is asked for.",
            edited(
                padding_mask,
                (f"return {_PADDED}", "return (positions >= lengths[:, None])[:, None]"),
            ),
            (
                edited(
                    padding_mask,
                    (f"return {_PADDED}", "return (positions >= lengths[:, None])[:, None, None]"),
                ),
            ),
        ),
        Mistake(
            "list",
            "A list or a NumPy array is returned: a tensor is asked for.",
            edited(
                padding_mask,
                (f"return {_PADDED}", f"return ({_PADDED}).tolist()"),
            ),
            (
                edited(padding_mask, (f"return {_PADDED}", "return list(positions >= lengths[:, None])")),
                edited(padding_mask, (f"return {_PADDED}", f"return ({_PADDED}).numpy()")),
            ),
        ),
        Mistake(
            "squeezed",
            "`squeeze()` removes every dimension of size 1, so a batch of one or a length of one changes the shape.",
            edited(
                padding_mask,
                (f"return {_PADDED}", f"return ({_PADDED}).squeeze()"),
            ),
        ),
        Mistake(
            "zero_length",
            "A sequence of length 0 is treated as if it had one token: all of its positions are padding.",
            edited(padding_mask, ("lengths[:, None]", "lengths[:, None].clamp(min=1)")),
        ),
        Mistake(
            "device_dropped",
            "The positions are made without `device=lengths.device`: on a GPU the comparison fails.",
            edited(padding_mask, (", device=lengths.device", "")),
        ),
        Mistake(
            "in_place",
            "`lengths` is changed in place: the caller's tensor is different afterwards.",
            edited(padding_mask, ("    positions", "    lengths -= 1\n    positions"), (">=", ">")),
        ),
    ],
    alternatives=[
        Alternative(
            "loop",
            _mask_of(
                "padding_mask",
                "lengths, max_len",
                "    mask = torch.zeros(len(lengths), max_len, dtype=torch.bool, device=lengths.device)\n"
                "    for b, n in enumerate(lengths.tolist()):\n        mask[b, n:] = True\n    return mask\n",
            ),
        ),
        Alternative(
            "inverted_less_than",
            _mask_of(
                "padding_mask",
                "lengths, max_len",
                "    idx = torch.arange(max_len, device=lengths.device).expand(lengths.shape[0], max_len)\n"
                "    return ~(idx < lengths.unsqueeze(1))\n",
            ),
        ),
        Alternative(
            "comprehension",
            _mask_of(
                "padding_mask",
                "lengths, max_len",
                "    rows = [[j >= int(n) for j in range(max_len)] for n in lengths]\n"
                "    return torch.tensor(rows, dtype=torch.bool, device=lengths.device)\n",
            ),
        ),
    ],
)


# --- attention_mask ---------------------------------------------------------------------------------------------------


def _attention(student: Any) -> None:
    for lengths, max_len in (
        *(([3, 2], 3), ([3, 5, 1], 5), ([4, 0, 2, 3], 4), ([2], 4), ([1, 1, 1], 1), ([6, 2], 7)),
        *(([2, 1, 2], 2), ([0, 0], 2), ([7, 20, 13], 20)),
    ):
        with student.case():
            where = f"for lengths {lengths} and max_len = {max_len}"
            given = torch.tensor(lengths)
            got = student.value("attention_mask", given, max_len, where=where)
            same_tensor(got, attention_mask(given, max_len), "The mask", where)


def _attention_full(student: Any) -> None:
    for B, T in ((3, 4), (4, 4), (1, 3)):
        with student.case():
            where = f"without any padding, for B = {B} and T = {T}"
            got = student.value("attention_mask", torch.full((B,), T), T, where=where)
            same_tensor(got, causal_mask(T).expand(B, 1, T, T), "The mask", where)


def _attention_manners(student: Any) -> None:
    for given in (torch.tensor([3, 0, 2]), torch.tensor([2, 4, 1, 3], dtype=torch.int32)):
        with student.case():
            where = f"for {dtype_name(given)} lengths"
            answer = student.call("attention_mask", [given, 4], where=where)
            same_tensor(answer["value"], attention_mask(given, 4), "The mask", where)
            unchanged(answer["inputs"], [given], "lengths")
    device_is_kept(student, "attention_mask", [torch.tensor([3, 1]), 4])


ATTENTION_MASK = Exercise(
    name="attention_mask",
    notebook="06-masking",
    points=4,
    reference=attention_mask,
    checks=[
        Check("causal and padding together, for many batches", 2.5, _attention),
        Check("without padding it is the causal mask", 1.0, _attention_full),
        Check("inputs unchanged, on the device of `lengths`", 0.5, _attention_manners),
    ],
    working=written(
        """
        import torch

        def attention_mask(lengths, max_len):
            position = torch.arange(max_len, device=lengths.device)
            last = torch.minimum(position[None, :], lengths[:, None] - 1)
            return (position > last[:, :, None]).unsqueeze(1)
        """
    ),
    mistakes=[
        Mistake(
            "and",
            "The two masks are joined with *and*: a key is blocked if it is in the future *or* is padding (`|`).",
            edited(attention_mask, ("future | padding", "future & padding")),
        ),
        Mistake(
            "exclusive_or",
            "The two masks are joined with exclusive or (`^` or `!=`): where both block, the key comes free again. Use `|`.",
            edited(attention_mask, ("future | padding", "future ^ padding")),
        ),
        Mistake(
            "padding_on_queries",
            "The padding is applied to the rows (queries): rows of padded queries are blocked altogether. What must not be "
            "looked *at* is a padded key: padding[:, None, None, :]. (A fully blocked row makes NaN in a plain softmax.)",
            edited(attention_mask, ("[:, None, None, :]", "[:, None, :, None]")),
            (edited(attention_mask, (_OR, "future | padding[:, None, None, :] | padding[:, None, :, None]")),),
        ),
        Mistake(
            "no_head_dimension",
            "The dimension for the heads is missing: (B, 1, T, T) is asked for, so that the mask broadcasts over heads.",
            edited(attention_mask, ("[:, None, None, :]", "[:, None, :]")),
        ),
        Mistake(
            "queries_without_heads",
            "The dimension for the heads is missing, (B, 1, T, T) is asked for, and the padding is applied to the rows (queries): it "
            "belongs to the keys.",
            edited(attention_mask, ("[:, None, None, :]", "[:, :, None]")),
        ),
        Mistake(
            "head_dimension_first",
            "The dimension of size 1 stands in the wrong place (before the batch, or after the queries): (B, 1, T, T) is asked for.",
            edited(attention_mask, (_OR, "(future | padding[:, None, :])[None]")),
            (
                edited(attention_mask, (_OR, "(future | padding[:, None, :]).unsqueeze(2)")),
                edited(attention_mask, (_OR, "(future | padding[:, None, :]).unsqueeze(-1)")),
            ),
        ),
        Mistake(
            "inverted_without_heads",
            "True and False are swapped (True = blocked), and the dimension for the heads is missing: (B, 1, T, T) is asked for.",
            edited(attention_mask, (_OR, "~(future | padding[:, None, :])")),
        ),
        Mistake(
            "inverted_numbers",
            "True and False are swapped, and the mask holds numbers: a boolean tensor is asked for, True = blocked.",
            edited(attention_mask, (_OR, f"(~({_OR})).float()")),
            (edited(attention_mask, (_OR, f"(~({_OR})).int()")),),
        ),
        Mistake(
            "batch_repeated",
            "The mask is repeated for the batch although it has the batch already: (B, 1, T, T) is asked for.",
            edited(attention_mask, (_OR, f"({_OR}).repeat(len(lengths), 1, 1, 1)")),
            (edited(attention_mask, (_OR, f"({_OR})[None].expand(len(lengths), -1, -1, -1, -1)")),),
        ),
        Mistake(
            "several_heads",
            "The dimension for the heads has another size than 1: (B, 1, T, T) is asked for, which broadcasts over any number.",
            edited(attention_mask, (_OR, f"({_OR}).expand(-1, 8, -1, -1)")),
            (edited(attention_mask, (_OR, f"({_OR}).expand(-1, len(lengths), -1, -1)")),),
        ),
        Mistake(
            "diagonal_reopened",
            "The diagonal is opened again, so padded tokens look at themselves: a padded key is blocked for every query. Rows that "
            "end up fully blocked are the business of masked_softmax.",
            edited(attention_mask, (_OR, f"({_OR}) & ~torch.eye(max_len, dtype=torch.bool, device=lengths.device)")),
        ),
        Mistake(
            "empty_rows_reopened",
            "Rows that are fully blocked are opened again. The mask says what is blocked, nothing else: such rows are the business "
            "of masked_softmax.",
            edited(
                attention_mask, (f"return {_OR}", f"mask = {_OR}\n    return mask & ~mask.all(dim=-1, keepdim=True)")
            ),
            (
                edited(
                    attention_mask, (f"return {_OR}", f"mask = {_OR}\n    mask[lengths == 0] = False\n    return mask")
                ),
                edited(
                    attention_mask, (f"return {_OR}", f"mask = {_OR}\n    mask[lengths == 0] = future\n    return mask")
                ),
            ),
        ),
        Mistake(
            "shared_buffer",
            "One mask is written into again and again (`|=`), so the padding of one sequence sticks to the next. Make a new mask "
            "for each.",
            edited(
                attention_mask,
                (
                    f"return {_OR}",
                    "masks = []\n    for row in padding:\n        future |= row\n        masks.append(future.clone())\n    return torch.stack(masks)[:, None]",
                ),
            ),
        ),
        Mistake(
            "python_or",
            "`or` and `and` ask a whole tensor for one truth value, which fails. Join the masks entry by entry with `|`.",
            edited(attention_mask, ("future | padding", "future or padding")),
        ),
        Mistake(
            "last_sequence",
            "All sequences get the mask of the last one: it is overwritten in the loop.",
            edited(
                attention_mask,
                (_OR, "(future | padding[-1:, None, None, :]).expand(len(lengths), 1, max_len, max_len)"),
            ),
            (edited(attention_mask, (_OR, "(future | padding[-1:, None, None, :])")),),
        ),
        Mistake(
            "any_padding",
            "A position that is padding in one sequence is blocked in all of them (do all write into one mask?). Each sequence has "
            "a length of its own.",
            edited(attention_mask, (_OR, "(future | padding.any(0)).expand(len(lengths), 1, max_len, max_len)")),
        ),
        Mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the mask.",
            edited(attention_mask, (f"return {_OR}", f"_ = {_OR}")),
        ),
        Mistake(
            "pair_returned",
            "The two masks are returned one by one: join them with `|` into one.",
            edited(attention_mask, (f"return {_OR}", "return future, padding")),
        ),
        Mistake(
            "padding_only",
            "Only padding is blocked; the future is missing.",
            edited(attention_mask, (_OR, "(padding[:, None, None, :] | torch.zeros_like(future))")),
        ),
        Mistake(
            "padding_not_expanded",
            "The mask has one row for all queries, (B, 1, 1, T), in which only padding is blocked. Each query needs a row of its "
            "own, with its own future blocked: (B, 1, T, T).",
            edited(attention_mask, (_OR, "padding[:, None, None, :]")),
        ),
        Mistake(
            "causal_only",
            "Only the future is blocked; the padding is missing, or is blocked for real queries only, whose future covers it "
            "anyway. A padded key is blocked for every query, also for padded ones.",
            edited(attention_mask, (_OR, "future.expand(len(lengths), 1, max_len, max_len)")),
            (edited(attention_mask, (_OR, "future.expand(len(lengths), 1, max_len, max_len).clone()")),),
        ),
        Mistake(
            "inverted",
            "True and False are swapped: here True = blocked.",
            edited(attention_mask, (_OR, f"~({_OR})")),
        ),
        Mistake(
            "one_inverted",
            "One of the two masks is inverted before they are joined (the causal one): True = blocked in both.",
            edited(attention_mask, (_OR, "~future | padding[:, None, None, :]")),
        ),
        Mistake(
            "padding_inverted",
            "One of the two masks is inverted before they are joined (the padding): True = blocked in both.",
            edited(attention_mask, (_OR, "future | ~padding[:, None, None, :]")),
        ),
        Mistake(
            "transposed",
            "The causal part is transposed: the past is blocked instead of the future.",
            edited(attention_mask, ("future | padding", "future.T | padding")),
        ),
        Mistake(
            "all_transposed",
            "Rows and columns are exchanged: the mask's rows are queries, its columns are keys.",
            edited(attention_mask, (_OR, f"({_OR}).transpose(-2, -1)")),
        ),
        Mistake(
            "diagonal_blocked",
            "The diagonal is blocked too: a token may look at itself.",
            edited(attention_mask, (_OR, f"{_OR} | torch.eye(max_len, dtype=torch.bool, device=lengths.device)")),
        ),
        Mistake(
            "one_step_ahead",
            "Each token may still see the next one: the causal mask must be True strictly above the diagonal.",
            edited(attention_mask, ("future | padding", "future.triu(2) | padding")),
        ),
        Mistake(
            "padding_off_by_one",
            "The padding is off by one: the first padded key is left open.",
            edited(attention_mask, ("padding_mask(lengths, max_len)", "padding_mask(lengths + 1, max_len)")),
        ),
        Mistake(
            "padding_off_by_one_down",
            "The padding is off by one: the last real token is blocked too.",
            edited(attention_mask, ("padding_mask(lengths, max_len)", "padding_mask(lengths - 1, max_len)")),
        ),
        Mistake(
            "longest",
            "The mask is as large as the longest sequence of the batch instead of max_len.",
            edited(attention_mask, ("    future =", "    max_len = int(lengths.max())\n    future =")),
        ),
        Mistake(
            "first_sequence",
            "All sequences get the mask of the first one.",
            edited(
                attention_mask, (_OR, "(future | padding[:1, None, None, :]).expand(len(lengths), 1, max_len, max_len)")
            ),
        ),
        Mistake(
            "batch_paired_with_rows",
            "The padding was not given its own dimensions, so broadcasting pairs sequences with rows (queries): it fails, or "
            "is nonsense when B = T. Use padding[:, None, None, :].",
            edited(attention_mask, (_OR, "(future | padding)[:, None]")),
            (
                edited(attention_mask, (_OR, "future | padding")),
                edited(attention_mask, (_OR, "(future | padding)[None, None]")),
                edited(attention_mask, (_OR, "(future | padding).expand(len(lengths), 1, max_len, max_len)")),
            ),
        ),
        Mistake(
            "floats",
            "The mask is not boolean: a tensor of dtype torch.bool is asked for.",
            edited(attention_mask, (_OR, f"({_OR}).float()")),
            (
                edited(attention_mask, (_OR, f"({_OR}).long()")),
                edited(attention_mask, (_OR, f"({_OR}).int()")),
                edited(attention_mask, (_OR, f"({_OR}).byte()")),
            ),
        ),
        Mistake(
            "added",
            "The two masks are added as numbers, which gives 0, 1 and 2: join booleans with `|`.",
            edited(attention_mask, (_OR, "future.int() + padding[:, None, None, :].int()")),
            (
                edited(attention_mask, (_OR, "future.float() + padding[:, None, None, :].float()")),
                edited(attention_mask, (_OR, "future.long() + padding[:, None, None, :].long()")),
            ),
        ),
        Mistake(
            "infinities",
            "The mask holds 0 and −inf, to be added to scores: here a boolean mask is asked for, True = blocked.",
            edited(
                attention_mask,
                (f"return {_OR}", f"mask = {_OR}\n    return torch.zeros(mask.shape).masked_fill(mask, float('-inf'))"),
            ),
        ),
        Mistake(
            "squeezed",
            "`squeeze()` removes the dimension for the heads (and every other of size 1).",
            edited(attention_mask, (_OR, f"({_OR}).squeeze()")),
            (edited(attention_mask, (_OR, f"({_OR}).squeeze(0)")),),
        ),
        Mistake(
            "device_dropped",
            "A mask is made without `device=lengths.device`: on a GPU the two masks could not be joined.",
            edited(attention_mask, ("causal_mask(max_len, device=lengths.device)", "causal_mask(max_len)")),
        ),
        Mistake(
            "first_key_always_open",
            "The first key is always left open, even in an empty sequence: fully blocked rows are the business of "
            "masked_softmax.",
            edited(attention_mask, (f"return {_OR}", f"mask = {_OR}\n    mask[..., 0] = False\n    return mask")),
        ),
    ],
    alternatives=[
        Alternative(
            "positions_only",
            written(
                """
                def attention_mask(lengths, max_len):
                    pos = torch.arange(max_len, device=lengths.device)
                    query, key = pos.view(1, 1, -1, 1), pos.view(1, 1, 1, -1)
                    return (key > query) | (key >= lengths.view(-1, 1, 1, 1))
                """
            ),
        ),
        Alternative(
            "loops",
            written(
                """
                def attention_mask(lengths, max_len):
                    mask = torch.zeros(len(lengths), 1, max_len, max_len, dtype=torch.bool)
                    for b, n in enumerate(lengths):
                        for t in range(max_len):
                            for s in range(max_len):
                                mask[b, 0, t, s] = s > t or s >= n
                    return mask.to(lengths.device)
                """
            ),
        ),
        Alternative(
            "allowed_inverted",
            written(
                """
                def attention_mask(lengths, max_len):
                    past = torch.ones(max_len, max_len, device=lengths.device).tril().bool()
                    real = ~padding_mask(lengths, max_len)
                    allowed = torch.logical_and(past.unsqueeze(0).unsqueeze(0), real.unsqueeze(1).unsqueeze(2))
                    return torch.logical_not(allowed)
                """
            ),
        ),
        Alternative(
            "stacked",
            written(
                """
                def attention_mask(lengths, max_len):
                    base = causal_mask(max_len, lengths.device)
                    return torch.stack([base | row for row in padding_mask(lengths, max_len)]).unsqueeze(1)
                """
            ),
        ),
    ],
)


# --- masked_softmax ---------------------------------------------------------------------------------------------------


def _pattern(*shape: int) -> torch.Tensor:
    """A mask with about a third blocked, and no fully blocked row."""
    count = math.prod(shape)
    mask = ((torch.arange(count) * 7 + torch.arange(count) // 5) % 3 == 1).reshape(shape)
    mask[..., -1] &= ~mask.all(-1)
    return mask


def _masked_case(student: Any, scores: torch.Tensor, mask: torch.Tensor, where: str, rough: bool = False) -> None:
    answer = student.call("masked_softmax", [scores, mask], where=where)
    same_tensor(answer["value"], masked_softmax(scores, mask), "The result", where, rough)


def _masked_values(student: Any) -> None:
    for shape in ((3, 5), (2, 4, 3), (2, 3, 4, 5), (1, 4), (4, 4), (2, 3, 1, 2), (2, 1, 3, 2, 4), (2, 33, 17)):
        with student.case():
            _masked_case(student, normal(*shape), _pattern(*shape), f"for scores and mask of shape {shape}")
    whole = torch.tensor([[0.0, 1.0, -1.0, 0.0], [2.0, 2.0, 0.0, 2.0]])
    for scores, mask, where in (
        (normal(3, 4), torch.zeros(3, 4, dtype=torch.bool), "with a mask that blocks nothing"),
        (whole, _pattern(2, 4), "for whole numbers, 0 among them"),
    ):
        with student.case():
            _masked_case(student, scores, mask, where)


def _masked_broadcast(student: Any) -> None:
    for shape, size in (
        ((2, 4, 5), (4, 5)),
        ((2, 3, 4, 5), (2, 1, 4, 5)),
        ((2, 3, 4, 5), (2, 1, 1, 5)),
        ((2, 3, 4, 4), (4, 4)),
        ((3, 5), (5,)),
        ((2, 3, 4), (4,)),
        ((2, 3, 4), (1, 1, 4)),
        ((2, 3, 3), (2, 1, 3)),
        ((3, 4), (1, 1)),
    ):
        with student.case():
            where = f"for scores of shape {shape} and a mask of shape {size}"
            _masked_case(student, normal(*shape), _pattern(*size), where)


def _masked_empty(student: Any) -> None:
    some = _pattern(2, 4, 5)
    some[0, 1] = some[1, 3] = True
    for scores, mask, where in (
        (normal(2, 4, 5), some, "when some rows are fully blocked"),
        (normal(3, 4), torch.ones(3, 4, dtype=torch.bool), "when everything is blocked"),
        (normal(2, 3), torch.ones(1, 1, dtype=torch.bool), "with a mask of shape (1, 1) that blocks everything"),
        (
            normal(2, 3, 4),
            torch.tensor([[True], [False], [True]]),
            "with a mask of shape (T, 1) that blocks whole rows",
        ),
        (
            normal(3, 4, scale=1e4),
            torch.tensor([[True] * 4, [False, True, True, True], [True] * 4]),
            "with large scores",
        ),
    ):
        with student.case():
            _masked_case(student, scores, mask, where)


def _masked_extreme(student: Any) -> None:
    mask = torch.tensor([[False, True, False, False], [True, False, False, True], [False, False, True, True]])
    base = normal(3, 4)
    with student.case():
        low = base - 1e4
        _masked_case(student, low, mask, "where all allowed scores are near −1e4", rough=True)
    with student.case():
        very_low = torch.where(mask, base, base - 1e12)
        _masked_case(student, very_low, mask, "where all allowed scores are far below a finite fill such as −1e9")
    with student.case():
        high = torch.where(mask, base + 1e4, base)
        _masked_case(student, high, mask, "where the blocked scores are much the largest (1e4)")
    with student.case():
        far = torch.where(mask, base + 1e12, base)
        _masked_case(student, far, mask, "where the blocked scores are much the largest (1e12)")
    with student.case():
        large = base * 1e4
        _masked_case(student, large, mask, "for scores of ±1e4", rough=True)


def _masked_gradient(student: Any) -> None:
    mask = _pattern(2, 4, 5)
    empty = mask.clone()
    empty[0, 2] = empty[1, 0] = True
    for given, dtype, where in (
        (mask, torch.float32, "without fully blocked rows"),
        (empty, torch.float32, "when some rows are fully blocked"),
        (empty, torch.float64, "in float64, when some rows are fully blocked"),
    ):
        with student.case():
            scores = normal(2, 4, 5, dtype=dtype)
            gradients_agree(student, "masked_softmax", masked_softmax, [scores], ["`scores`"], (given,), where)


def _masked_precision(student: Any) -> None:
    mask = _pattern(3, 5)
    mask[1] = True
    _masked_case(student, normal(3, 5, dtype=torch.float64), mask, "for float64 scores")


def _masked_manners(student: Any) -> None:
    mask = _pattern(2, 4, 5)
    mask[0, 2] = True
    for given in (mask, mask[0]):
        with student.case():
            scores = normal(2, 4, 5)
            for turn in ("", "when called a second time"):
                answer = student.call("masked_softmax", [scores, given], where=turn)
                unchanged(answer["inputs"], [scores, given], "scores or mask")
                quietly_called(answer)
                same_tensor(answer["value"], masked_softmax(scores, given), "The result", turn)
    with student.case():
        turned = normal(2, 5, 4).mT
        _masked_case(student, turned, mask, "for scores that are not contiguous")
    with student.case():
        device_is_kept(student, "masked_softmax", [normal(2, 4, 5), mask])


_FILL = 'scores = scores.masked_fill(mask, float("-inf"))'


def _masked_with(body: str) -> str:
    return written("def masked_softmax(scores, mask):\n" + body)


MASKED_SOFTMAX = Exercise(
    name="masked_softmax",
    notebook="06-masking",
    points=6,
    reference=masked_softmax,
    checks=[
        Check("values for two to five dimensions", 1.5, _masked_values),
        Check("masks that broadcast", 0.75, _masked_broadcast),
        Check("a fully blocked row is all zeros", 1.0, _masked_empty),
        Check("exactly 0 for blocked entries, whatever the scores", 1.0, _masked_extreme),
        Check("gradients, with fully blocked rows too", 1.0, _masked_gradient),
        Check("float64 stays float64, with its precision", 0.25, _masked_precision),
        Check("inputs unchanged, any layout and device", 0.5, _masked_manners),
    ],
    working=written(
        """
        import torch

        def masked_softmax(scores, mask):
            bias = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device).masked_fill(mask, -torch.inf)
            dead = mask.all(-1, keepdim=True)
            weights = torch.nn.functional.softmax(torch.where(dead, torch.zeros_like(scores), scores + bias), -1)
            return torch.where(mask, torch.zeros_like(weights), weights)
        """
    ),
    mistakes=[
        Mistake(
            "nan_rows",
            "A fully blocked row gives NaN: it is a softmax over nothing but −inf, that is 0/0. Such rows must be zeros.",
            _masked_with('    return torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)'),
        ),
        Mistake(
            "nan_hidden",
            "The NaN of fully blocked rows is replaced after it has arisen (nan_to_num or torch.where). The values look right, "
            "but the gradient still goes through the NaN. Make such rows harmless *before* the division or the softmax.",
            _masked_with(
                '    bias = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device).masked_fill(mask, float("-inf"))\n'
                "    return torch.softmax(scores + bias, dim=-1).nan_to_num(0.0)"
            ),
            (
                _masked_with(
                    '    bias = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device).masked_fill(mask, float("-inf"))\n'
                    "    weights = torch.softmax(scores + bias, dim=-1)\n"
                    "    return torch.where(mask, torch.zeros_like(weights), weights)"
                ),
                _masked_with(
                    "    exps = torch.exp(scores - scores.masked_fill(mask, torch.finfo(scores.dtype).min).amax(-1, keepdim=True))\n"
                    "    exps = exps * ~mask\n"
                    "    weights = exps / exps.sum(-1, keepdim=True)\n"
                    "    return torch.where(weights.isnan(), torch.zeros_like(weights), weights)"
                ),
            ),
        ),
        Mistake(
            "uniform_rows",
            "A fully blocked row gets equal weights instead of zeros: where every score is the same finite number, softmax "
            "shares out evenly. Set blocked weights to 0 afterwards.",
            edited(masked_softmax, ("weights.masked_fill(mask, 0.0)", "weights")),
            (
                _masked_with(
                    "    return torch.softmax(scores.masked_fill(mask, torch.finfo(scores.dtype).min), dim=-1)"
                ),
                _masked_with(
                    "    open_ = mask & ~mask.all(-1, keepdim=True)\n"
                    "    return torch.softmax(scores.masked_fill(open_, float('-inf')), dim=-1)"
                ),
                _masked_with(
                    "    weights = torch.softmax(scores.masked_fill(mask, float('-inf')), dim=-1)\n"
                    "    return torch.where(mask.all(-1, keepdim=True), torch.full_like(weights, 1 / weights.shape[-1]), weights)"
                ),
            ),
        ),
        Mistake(
            "row_ones",
            "A fully blocked row gets ones instead of zeros.",
            edited(
                masked_softmax,
                (
                    _ZEROED,
                    "return weights.masked_fill(mask, 0.0).masked_fill(empty, 1.0)",
                ),
            ),
        ),
        Mistake(
            "raises_for_empty_rows",
            "An error is raised for a fully blocked row. Such rows happen (an empty sequence, padding) and must give zeros.",
            edited(
                masked_softmax,
                (
                    "    scores = scores.masked_fill(empty",
                    "    if empty.any():\n        raise ValueError('empty')\n    scores = scores.masked_fill(empty",
                ),
            ),
            (
                edited(
                    masked_softmax,
                    (
                        "    scores = scores.masked_fill(empty",
                        "    assert not empty.any()\n    scores = scores.masked_fill(empty",
                    ),
                ),
            ),
        ),
        Mistake(
            "finite_fill",
            "Blocked scores are filled with (or lowered by) a finite number such as −1e9: a fully blocked row gets weights instead "
            "of zeros, and where allowed scores are lower still the blocked entry wins.",
            _masked_with("    return torch.softmax(scores.masked_fill(mask, -1e9), dim=-1)"),
            (
                _masked_with("    return torch.softmax(scores.masked_fill(mask, -1e4), dim=-1)"),
                _masked_with("    return torch.softmax(scores.masked_fill(mask, -1e6), dim=-1)"),
                _masked_with("    return torch.softmax(scores - 1e9 * mask, dim=-1)"),
                _masked_with("    return torch.softmax(scores - 1e4 * mask, dim=-1)"),
            ),
        ),
        Mistake(
            "finite_fill_zeroed",
            "Blocked scores are filled with (or lowered by) a finite number such as −1e9 and zeroed after the softmax. Where the "
            "allowed scores are lower still, the blocked entries take all the weight, and zeroing them leaves a row that sums to "
            "0. Fill with −inf.",
            _masked_with("    return torch.softmax(scores.masked_fill(mask, -1e9), dim=-1).masked_fill(mask, 0.0)"),
            (
                _masked_with("    return torch.softmax(scores.masked_fill(mask, -1e4), dim=-1).masked_fill(mask, 0.0)"),
                _masked_with("    return torch.softmax(scores.masked_fill(mask, -1e6), dim=-1).masked_fill(mask, 0.0)"),
                _masked_with(
                    "    return torch.softmax(scores.masked_fill(mask, -100.0), dim=-1).masked_fill(mask, 0.0)"
                ),
                _masked_with("    return torch.softmax(scores - 1e9 * mask, dim=-1) * ~mask"),
                _masked_with("    return torch.softmax(scores - 1e4 * mask, dim=-1) * ~mask"),
                _masked_with(
                    "    weights = torch.softmax(scores.masked_fill(mask, -1e9), dim=-1)\n"
                    "    return weights.masked_fill(mask.all(-1, keepdim=True), 0.0)"
                ),
                _masked_with(
                    "    weights = torch.softmax(scores.masked_fill(mask, -1e4), dim=-1)\n"
                    "    return weights.masked_fill(mask.all(-1, keepdim=True), 0.0)"
                ),
            ),
        ),
        Mistake(
            "small_fill",
            "Blocked scores are filled with a small finite number (−100, −10 …), so blocked entries keep a little weight.",
            _masked_with("    return torch.softmax(scores.masked_fill(mask, -100.0), dim=-1)"),
            (
                _masked_with("    return torch.softmax(scores.masked_fill(mask, -10.0), dim=-1)"),
                _masked_with("    return torch.softmax(scores.masked_fill(mask, scores.min() - 10), dim=-1)"),
                _masked_with("    return torch.softmax(scores.masked_fill(mask, scores.min() - 1), dim=-1)"),
            ),
        ),
        Mistake(
            "small_fill_zeroed",
            "Blocked scores are filled with a small finite number (−10 or the like) and zeroed after the softmax: until then they "
            "took a share, so the rows do not sum to 1.",
            _masked_with("    return torch.softmax(scores.masked_fill(mask, -10.0), dim=-1).masked_fill(mask, 0.0)"),
            (_masked_with("    return torch.softmax(scores.masked_fill(mask, -5.0), dim=-1).masked_fill(mask, 0.0)"),),
        ),
        Mistake(
            "zero_after",
            "The weights of blocked entries are set to zero after the softmax, without −inf before it: the others keep the "
            "values they had in competition with them, so rows no longer sum to 1.",
            _masked_with("    return torch.softmax(scores, dim=-1).masked_fill(mask, 0.0)"),
        ),
        Mistake(
            "zero_after_renormalised",
            "The blocked entries still take part in the row's maximum or sum, and are zeroed (and the row renormalised) "
            "afterwards. That is right on paper, but where a blocked score is much the largest, nothing is left of the others. "
            "Mask the scores first.",
            _masked_with(
                "    weights = torch.softmax(scores, dim=-1) * ~mask\n"
                "    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-12)"
            ),
            (
                _masked_with(
                    "    weights = torch.softmax(scores, dim=-1).masked_fill(mask, 0.0)\n"
                    "    total = weights.sum(-1, keepdim=True)\n"
                    "    return weights / torch.where(total > 0, total, torch.ones_like(total))"
                ),
                _masked_with(
                    "    weights = torch.softmax(scores, dim=-1).masked_fill(mask, 0.0)\n"
                    "    return weights / (weights.sum(-1, keepdim=True) + 1e-9)"
                ),
                _masked_with(
                    "    exps = torch.exp(scores - scores.amax(-1, keepdim=True)).masked_fill(mask, 0.0)\n"
                    "    total = exps.sum(-1, keepdim=True)\n"
                    "    return exps / total.masked_fill(total == 0, 1.0)"
                ),
            ),
        ),
        Mistake(
            "global_shift",
            "The maximum of the whole tensor is subtracted, not that of each row: a row far below it underflows, and nothing of it is "
            "left. Take the maximum of each row's *allowed* scores.",
            _masked_with(
                "    exps = torch.exp(scores - scores.max()).masked_fill(mask, 0.0)\n"
                "    total = exps.sum(-1, keepdim=True)\n    return exps / total.masked_fill(total == 0, 1.0)"
            ),
            (
                _masked_with(
                    "    exps = torch.exp(scores - scores.detach().max()).masked_fill(mask, 0.0)\n"
                    "    total = exps.sum(-1, keepdim=True)\n    return exps / total.masked_fill(total == 0, 1.0)"
                ),
            ),
        ),
        Mistake(
            "minus_one",
            "`1 - mask` and `-mask` are not defined for boolean tensors: write `~mask`.",
            _masked_with("    return torch.softmax(scores, dim=-1) * (1 - mask)"),
        ),
        Mistake(
            "mask_as_condition",
            "A whole tensor is asked for one truth value (`if mask:`), which fails. Use masked_fill or torch.where, entry by entry.",
            _masked_with(
                "    if mask:\n        return torch.zeros_like(scores)\n    return torch.softmax(scores, dim=-1)"
            ),
        ),
        Mistake(
            "any_empty_row",
            "As soon as one row is fully blocked, everything becomes zero: each row counts on its own.",
            _masked_with(
                "    if mask.all(dim=-1).any():\n        return torch.zeros_like(scores)\n"
                "    return torch.softmax(scores.masked_fill(mask, float('-inf')), dim=-1)"
            ),
        ),
        Mistake(
            "one_key_opened",
            "One key is opened in fully blocked rows, and gets all the weight: such rows must be all zeros. Set blocked weights to 0 "
            "afterwards.",
            _masked_with(
                "    mask = mask.expand(scores.shape).clone()\n    mask[..., 0] &= ~mask.all(-1)\n"
                "    return torch.softmax(scores.masked_fill(mask, float('-inf')), dim=-1)"
            ),
            (
                _masked_with(
                    "    mask = mask.expand(scores.shape).clone()\n    mask[..., -1] &= ~mask.all(-1)\n"
                    "    return torch.softmax(scores.masked_fill(mask, float('-inf')), dim=-1)"
                ),
            ),
        ),
        Mistake(
            "all_or_nothing",
            "Rows are looked after only where *everything* is blocked (`mask.all()` without `dim`): each row counts on its own.",
            _masked_with(
                "    if mask.all():\n        return torch.zeros_like(scores)\n"
                "    return torch.softmax(scores.masked_fill(mask, float('-inf')), dim=-1)"
            ),
        ),
        Mistake(
            "some_dimensions_only",
            "The number of dimensions is fixed in the code (unpacking `scores.shape`, `dim=2`, `dim=3`): scores may have any number "
            "of leading dimensions. Count from the end.",
            edited(masked_softmax, ("    empty", "    T, S = scores.shape\n    empty")),
            (
                edited(masked_softmax, ("    empty", "    B, T, S = scores.shape\n    empty")),
                edited(masked_softmax, ("    empty", "    B, H, T, S = scores.shape\n    empty")),
                edited(masked_softmax, (_SOFT, "torch.softmax(scores, dim=2)")),
                edited(masked_softmax, (_SOFT, "torch.softmax(scores, dim=3)")),
            ),
        ),
        Mistake(
            "softmax_everywhere",
            "One softmax runs over all scores together; each row must sum to 1 on its own: dim=-1.",
            edited(
                masked_softmax,
                (_SOFT, "torch.softmax(scores.flatten(), 0).reshape(scores.shape)"),
            ),
            (
                edited(
                    masked_softmax,
                    (_SOFT, "torch.softmax(scores.flatten(-2), -1).reshape(scores.shape)"),
                ),
            ),
        ),
        Mistake(
            "mask_transposed",
            "The mask is transposed: its rows are queries, its columns are keys.",
            edited(masked_softmax, ("    empty", "    mask = mask.mT\n    empty")),
        ),
        Mistake(
            "mask_in_place",
            "The caller's mask is changed in place (rows opened, `logical_not_()`): the next call would get another mask.",
            edited(
                masked_softmax,
                ("    empty", "    blocked = mask.clone()\n    mask[mask.all(dim=-1)] = False\n    empty"),
                (_ZEROED, "return weights.masked_fill(blocked, 0.0)"),
            ),
            (edited(masked_softmax, (_ZEROED, "return weights * mask.logical_not_()")),),
        ),
        Mistake(
            "zero_as_blocked",
            "A score of exactly 0 is treated as blocked: only the mask says what is blocked.",
            edited(masked_softmax, ("    empty", "    mask = mask | (scores == 0)\n    empty")),
        ),
        Mistake(
            "squeezed",
            "`squeeze()` removes every dimension of size 1: the result must have the shape of the scores.",
            edited(
                masked_softmax,
                (_ZEROED, "return weights.masked_fill(mask, 0.0).squeeze()"),
            ),
        ),
        Mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the weights.",
            edited(masked_softmax, ("return weights", "_ = weights")),
        ),
        Mistake(
            "pair_returned",
            "Two things are returned: only the weights are asked for.",
            edited(masked_softmax, (_ZEROED, "return weights.masked_fill(mask, 0.0), mask")),
        ),
        Mistake(
            "overwritten",
            "A tensor that the backward pass still needs is overwritten in place (`weights[mask] = 0`, `masked_fill_`, `/=`). The "
            "values are right, but the gradient fails.",
            edited(masked_softmax, (_ZEROED, "return weights.masked_fill_(mask, 0.0)")),
        ),
        Mistake(
            "sum_detached",
            "The denominator is detached: the values are right, but the gradient treats the sum as a constant.",
            _masked_with(
                "    safe = scores.masked_fill(mask, float('-inf'))\n"
                "    top = safe.amax(-1, keepdim=True).detach()\n"
                "    exps = (safe - top.masked_fill(top.isinf(), 0.0)).exp()\n"
                "    total = exps.sum(-1, keepdim=True).detach()\n    return exps / total.masked_fill(total == 0, 1.0)"
            ),
        ),
        Mistake(
            "renormalised_nan",
            "The blocked weights are zeroed after the softmax and the row is divided by its sum: 0/0 in a fully blocked row.",
            _masked_with(
                "    weights = torch.softmax(scores, dim=-1).masked_fill(mask, 0.0)\n"
                "    return weights / weights.sum(-1, keepdim=True)"
            ),
        ),
        Mistake(
            "scores_zeroed",
            "Blocked scores are set to 0 (or multiplied by the mask): exp(0) = 1 is no small weight. Fill with −inf.",
            _masked_with("    return torch.softmax(scores.masked_fill(mask, 0.0), dim=-1)"),
        ),
        Mistake(
            "scores_zeroed_then_weights",
            "Blocked scores are set to 0 before the softmax and their weights to 0 after it, so rows do not sum to 1.",
            _masked_with("    return torch.softmax(scores.masked_fill(mask, 0.0), dim=-1).masked_fill(mask, 0.0)"),
        ),
        Mistake(
            "inverted",
            "The mask is read the wrong way round: True = blocked.",
            edited(masked_softmax, ("    empty", "    mask = ~mask\n    empty")),
        ),
        Mistake(
            "inverted_plain",
            "The mask is read the wrong way round (True = blocked), and fully blocked rows are not looked after.",
            _masked_with('    return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)'),
        ),
        Mistake(
            "mask_ignored",
            "The mask is ignored: this is the plain softmax.",
            _masked_with("    return torch.softmax(scores, dim=-1)"),
        ),
        Mistake(
            "wrong_dimension",
            "The softmax runs over the queries (dim=-2): each row is to be shared out over the keys, dim=-1.",
            edited(
                masked_softmax,
                (_SOFT, "torch.softmax(scores, dim=-2)"),
                ("mask.all(dim=-1,", "mask.all(dim=-2,"),
            ),
            (edited(masked_softmax, (_SOFT, "torch.softmax(scores, dim=-2)")),),
        ),
        Mistake(
            "dimension_one",
            "The softmax runs over dim=1, which is the keys for a matrix only. Use dim=-1.",
            edited(masked_softmax, (_SOFT, "torch.softmax(scores, dim=1)")),
        ),
        Mistake(
            "dimension_zero",
            "The softmax runs over dim=0. Use dim=-1: each row is to be shared out over the keys.",
            edited(masked_softmax, (_SOFT, "torch.softmax(scores, dim=0)")),
        ),
        Mistake(
            "empty_any",
            "Every row with *any* blocked entry is treated as fully blocked: `any` where `all` belongs.",
            edited(masked_softmax, ("mask.all(", "mask.any(")),
            (
                edited(
                    masked_softmax,
                    ("mask.all(", "mask.any("),
                    ("weights.masked_fill(mask, 0.0)", "weights.masked_fill(mask | empty, 0.0)"),
                ),
            ),
        ),
        Mistake(
            "in_place",
            "The scores are changed in place (`masked_fill_` or `scores[mask] = …`): the caller's tensor is destroyed.",
            edited(masked_softmax, (_FILL, 'scores.masked_fill_(mask, float("-inf"))')),
            (
                _masked_with(
                    "    scores.masked_fill_(mask, float('-inf'))\n    empty = mask.all(-1, keepdim=True)\n"
                    "    return torch.softmax(scores.masked_fill(empty, 0.0), -1).masked_fill(mask, 0.0)"
                ),
                _masked_with(
                    "    scores[mask.expand_as(scores)] = float('-inf')\n    return torch.softmax(scores, -1)"
                ),
            ),
        ),
        Mistake(
            "detached",
            "The result is detached, so no gradient flows back to the scores.",
            edited(
                masked_softmax,
                (_ZEROED, "return weights.detach().masked_fill(mask, 0.0)"),
            ),
            (
                _masked_with(
                    '    weights = torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)\n'
                    "    return weights.detach().nan_to_num(0.0)"
                ),
            ),
        ),
        Mistake(
            "single_precision",
            "The result comes back as float32 even for float64 scores: something is cast, or made without `dtype=`.",
            edited(masked_softmax, (_SOFT, "torch.softmax(scores.float(), dim=-1)")),
        ),
        Mistake(
            "double_precision",
            "The result comes back as float64 even for float32 scores: cast it back with `.to(scores.dtype)`.",
            edited(masked_softmax, (_SOFT, "torch.softmax(scores.double(), dim=-1)")),
        ),
        Mistake(
            "device_dropped",
            "A new tensor is made without `device=`: on a GPU it lands on the CPU and the computation fails.",
            edited(
                masked_softmax,
                (
                    'scores = scores.masked_fill(mask, float("-inf"))',
                    'scores = torch.where(mask, torch.full(scores.shape, float("-inf"), dtype=scores.dtype), scores)',
                ),
            ),
            (
                edited(
                    masked_softmax,
                    (
                        _ZEROED,
                        "return torch.where(mask, torch.zeros(scores.shape, dtype=scores.dtype), weights)",
                    ),
                ),
            ),
        ),
        Mistake(
            "epsilon",
            "A small number is added to the sum of the exponentials to avoid 0/0: then no row sums to exactly 1.",
            _masked_with(
                "    safe = scores.masked_fill(mask, float('-inf'))\n"
                "    shift = safe.amax(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)\n"
                "    exps = torch.exp(scores.masked_fill(mask, 0) - shift).masked_fill(mask, 0.0)\n"
                "    return exps / (exps.sum(-1, keepdim=True) + 1e-4)"
            ),
            (
                _masked_with(
                    "    safe = scores.masked_fill(mask, float('-inf'))\n"
                    "    shift = safe.amax(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)\n"
                    "    exps = torch.exp(scores.masked_fill(mask, 0) - shift).masked_fill(mask, 0.0)\n"
                    "    return exps / (exps.sum(-1, keepdim=True) + 1e-9)"
                ),
            ),
        ),
        Mistake(
            "unstable",
            "The exponential is taken of the raw scores, which overflows (or underflows to 0/0) for scores of ±1e4. Subtract "
            "the row's largest *allowed* score first.",
            _masked_with(
                "    exps = torch.exp(scores).masked_fill(mask, 0.0)\n"
                "    total = exps.sum(-1, keepdim=True)\n"
                "    return exps / total.masked_fill(total == 0, 1.0)"
            ),
            (
                _masked_with(
                    "    exps = torch.exp(scores) * ~mask\n"
                    "    return exps / exps.sum(-1, keepdim=True).clamp(min=1e-30)"
                ),
                _masked_with(
                    "    exps = torch.exp(scores) * ~mask\n    return exps / (exps.sum(-1, keepdim=True) + 1e-9)"
                ),
            ),
        ),
        Mistake(
            "boolean_index",
            "Only the allowed scores are picked out and shared out all together: boolean indexing flattens the rows.",
            _masked_with(
                "    weights = torch.zeros_like(scores)\n    open_ = ~mask.expand_as(scores)\n"
                "    weights[open_] = torch.softmax(scores[open_], dim=0)\n    return weights"
            ),
        ),
        Mistake(
            "mask_added",
            "The boolean mask is added to the scores, which only adds 1 to the blocked ones.",
            _masked_with("    return torch.softmax(scores + mask, dim=-1)"),
        ),
        Mistake(
            "infinity_times_mask",
            "The mask is multiplied by −inf: 0 × −inf is NaN, so the allowed entries are lost (or become 0 when the NaN is replaced). "
            "Use masked_fill.",
            _masked_with("    return torch.softmax(scores + mask * float('-inf'), dim=-1)"),
            (_masked_with("    return torch.softmax(scores + mask * float('-inf'), dim=-1).nan_to_num(0.0)"),),
        ),
        Mistake(
            "log_softmax",
            "The result is the logarithm of the weights.",
            edited(masked_softmax, (_SOFT, "torch.log_softmax(scores, dim=-1)")),
        ),
        Mistake(
            "no_broadcast",
            "The mask is indexed as if it had the shape of the scores; it may be smaller and broadcast: use masked_fill or "
            "torch.where, or expand it first.",
            _masked_with(
                "    scores = scores.clone()\n    scores[mask] = float('-inf')\n    empty = mask.all(-1)\n"
                "    scores[empty] = 0.0\n    weights = torch.softmax(scores, dim=-1)\n"
                "    weights = weights.clone()\n    weights[mask] = 0.0\n    return weights"
            ),
        ),
        Mistake(
            "dropout",
            "Chance plays a part (dropout or random numbers): the result must depend on scores and mask only.",
            edited(
                masked_softmax,
                (
                    _ZEROED,
                    "return torch.dropout(weights, 0.1, True).masked_fill(mask, 0.0)",
                ),
            ),
        ),
    ],
    alternatives=[
        Alternative(
            "where",
            _masked_with(
                "    dead = mask.all(-1, keepdim=True)\n"
                "    s = torch.where(mask & ~dead, torch.full_like(scores, -torch.inf), scores)\n"
                "    return torch.where(mask, torch.zeros_like(scores), s.softmax(-1))"
            ),
        ),
        Alternative(
            "by_hand",
            _masked_with(
                "    mask = mask.expand(scores.shape)\n"
                "    lowest = torch.finfo(scores.dtype).min\n"
                "    top = scores.masked_fill(mask, lowest).amax(-1, keepdim=True)\n"
                "    e = (scores - top).masked_fill(mask, -torch.inf).exp()\n"
                "    total = e.sum(-1, keepdim=True)\n"
                "    return e / total.masked_fill(total == 0, 1.0)"
            ),
        ),
        Alternative(
            "loop_over_rows",
            _masked_with(
                "    mask = mask.expand(scores.shape)\n    rows = []\n"
                "    flat = scores.reshape(-1, scores.shape[-1])\n"
                "    for row, hidden in zip(flat, mask.reshape(-1, scores.shape[-1])):\n"
                "        if hidden.all():\n            rows.append(row * 0)\n        else:\n"
                "            rows.append(torch.softmax(row.masked_fill(hidden, -math.inf), 0))\n"
                "    return torch.stack(rows).reshape(scores.shape)"
            ),
        ),
        Alternative(
            "lowest_finite_then_zero",
            _masked_with(
                "    bias = torch.zeros_like(scores).masked_fill(mask, float('-inf'))\n"
                "    alive = ~mask.all(dim=-1, keepdim=True)\n"
                "    weights = F.softmax(torch.where(alive, scores + bias, torch.zeros_like(scores)), dim=-1)\n"
                "    return weights * alive * ~mask"
            ),
        ),
        Alternative(
            "masked_fill_twice",  # the second masked_fill stops the gradient of NaN rows, so this is right
            _masked_with("    return torch.softmax(scores.masked_fill(mask, -torch.inf), -1).masked_fill(mask, 0.0)"),
        ),
        Alternative(
            "float64_inside",
            _masked_with(
                "    s = scores.double().masked_fill(mask, -torch.inf)\n"
                "    s = s.masked_fill(mask.all(-1, True), 0)\n"
                "    return s.softmax(-1).masked_fill(mask, 0).to(scores.dtype)"
            ),
        ),
    ],
)


# --- shift_targets ----------------------------------------------------------------------------------------------------


def _shift(student: Any) -> None:
    for B, T in ((2, 5), (1, 4), (3, 2), (4, 4), (2, 7), (1, 2), (2, 40)):
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


def _same_shift(got: Any, ids: torch.Tensor, where: str) -> None:
    inputs, targets = a_pair(got, "(inputs, targets)")
    same_tensor(inputs, ids[:, :-1], "The first result (inputs)", where)
    same_tensor(targets, ids[:, 1:], "The second result (targets)", where)


def _shift_manners(student: Any) -> None:
    for ids, where in (
        (torch.tensor([[5, 7, 7, 0], [1, 2, 0, 0]]), "when ids repeat and hold zeros"),
        (torch.arange(12).reshape(4, 3).T, "for ids that are not contiguous (a transpose)"),
    ):
        with student.case():
            answer = student.call("shift_targets", [ids], where=where)
            _same_shift(answer["value"], ids, where)
            unchanged(answer["inputs"], [ids], "ids")
    device_is_kept(student, "shift_targets", [ids])


SHIFT_TARGETS = Exercise(
    name="shift_targets",
    notebook="06-masking",
    points=3,
    reference=shift_targets,
    checks=[
        Check("inputs and targets, for many shapes", 2.5, _shift),
        Check("ids unchanged, any layout and device", 0.5, _shift_manners),
    ],
    working=written(
        """
        import torch

        def shift_targets(ids):
            return ids.narrow(1, 0, ids.shape[1] - 1), ids.narrow(1, 1, ids.shape[1] - 1)
        """
    ),
    mistakes=[
        Mistake(
            "swapped",
            "The two results are the wrong way round: the inputs are all but the last token, the targets all but the first.",
            edited(shift_targets, (_PAIR, "ids[:, 1:], ids[:, :-1]")),
        ),
        Mistake(
            "swapped_list",
            "The two results are the wrong way round, and in a list: return the tuple (inputs, targets).",
            edited(shift_targets, (f"return {_PAIR}", "return [ids[:, 1:], ids[:, :-1]]")),
        ),
        Mistake(
            "mixed_dimensions",
            "One of the two results is cut along the batch (first dimension) instead of time: ids[:, …], with a colon for the batch.",
            edited(shift_targets, ("ids[:, 1:]", "ids[1:]")),
            (edited(shift_targets, ("ids[:, :-1]", "ids[:-1]")),),
        ),
        Mistake(
            "one_hot",
            "The results are one-hot vectors: the ids themselves are asked for, (B, T-1).",
            edited(shift_targets, ("ids[:, 1:]", "torch.nn.functional.one_hot(ids[:, 1:])")),
        ),
        Mistake(
            "not_shifted",
            "Inputs and targets are the same: the model would learn to copy. The targets are one step on.",
            edited(shift_targets, ("ids[:, 1:]", "ids[:, :-1]")),
        ),
        Mistake(
            "not_shifted_full",
            "Nothing is shifted: ids is returned twice. The inputs are all but the last token, the targets all but the first.",
            edited(shift_targets, (_PAIR, "ids, ids")),
        ),
        Mistake(
            "both_from_one",
            "Inputs and targets are the same: both lack the first token. The inputs are all but the *last* token.",
            edited(shift_targets, ("ids[:, :-1]", "ids[:, 1:]")),
        ),
        Mistake(
            "two_steps",
            "The targets are two steps on: the token that follows inputs[:, t] is ids[:, t + 1].",
            edited(shift_targets, (_PAIR, "ids[:, :-2], ids[:, 2:]")),
        ),
        Mistake(
            "batch_shifted",
            "The slices cut the batch (first dimension) instead of time: ids[:, …], with a colon for the batch.",
            edited(shift_targets, (_PAIR, "ids[:-1], ids[1:]")),
        ),
        Mistake(
            "rolled",
            "torch.roll wraps round: the last target is the first token of the sequence. Drop a token instead.",
            edited(shift_targets, (_PAIR, "ids, ids.roll(-1, dims=1)")),
        ),
        Mistake(
            "rolled_back",
            "torch.roll shifts the wrong way and wraps round.",
            edited(shift_targets, (_PAIR, "ids, ids.roll(1, dims=1)")),
        ),
        Mistake(
            "rolled_and_cut",
            "torch.roll was used with the wrong sign (or the wrong end was cut): targets[:, t] should be ids[:, t + 1].",
            edited(shift_targets, ("ids[:, 1:]", "ids.roll(1, dims=1)[:, :-1]")),
            (
                edited(shift_targets, ("ids[:, 1:]", "ids.roll(-1, dims=1)[:, 1:]")),
                edited(shift_targets, ("ids[:, 1:]", "ids.roll(-1)[:, 1:]")),
            ),
        ),
        Mistake(
            "next_number",
            "The targets are the ids plus 1. The target is the next *token* of the sequence, which has any id.",
            edited(shift_targets, ("ids[:, 1:]", "ids[:, :-1] + 1")),
            (edited(shift_targets, (_PAIR, "ids, ids + 1")),),
        ),
        Mistake(
            "inputs_two_short",
            "The two results are cut differently: inputs[:, t] and targets[:, t] must be neighbours in ids.",
            edited(shift_targets, ("ids[:, 1:]", "ids[:, 2:]")),
            (edited(shift_targets, ("ids[:, :-1]", "ids[:, :-2]")),),
        ),
        Mistake(
            "reversed",
            "The sequence is reversed: the targets are the tokens *after* the inputs, in the order of the text.",
            edited(shift_targets, ("ids[:, 1:]", "ids.flip(1)[:, :-1]")),
            (edited(shift_targets, ("ids[:, 1:]", "ids.flip(1)[:, 1:]")),),
        ),
        Mistake(
            "halves",
            "The sequence is cut in two halves. Every token but the last is an input, every token but the first a target.",
            edited(shift_targets, (_PAIR, "ids[:, : ids.shape[1] // 2], ids[:, ids.shape[1] // 2 :]")),
        ),
        Mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the two tensors.",
            edited(shift_targets, ("return ids", "_ = ids")),
        ),
        Mistake(
            "loop_ends_early",
            "A loop stops too early or too late (or begins at 1), so pairs are missing.",
            edited(shift_targets, (_PAIR, "ids[:, :-2], ids[:, 1:-1]")),
            (edited(shift_targets, (_PAIR, "ids[:, 1:-1], ids[:, 2:]")),),
        ),
        Mistake(
            "uneven",
            "The lengths differ: the inputs are not cut. Both should be (B, T-1).",
            edited(shift_targets, ("ids[:, :-1]", "ids")),
        ),
        Mistake(
            "targets_uncut",
            "The lengths differ: the targets are not cut. Both should be (B, T-1).",
            edited(shift_targets, ("ids[:, 1:]", "ids")),
        ),
        Mistake(
            "padded",
            "A padding token is appended so that the length stays T: both should be (B, T-1).",
            edited(
                shift_targets,
                (_PAIR, "ids, torch.cat([ids[:, 1:], torch.zeros_like(ids[:, :1])], dim=1)"),
            ),
            (
                edited(
                    shift_targets,
                    (
                        _PAIR,
                        "ids, torch.cat([ids[:, 1:], torch.full_like(ids[:, :1], -100)], dim=1)",
                    ),
                ),
            ),
        ),
        Mistake(
            "start_token",
            "A start token is put before the inputs: the inputs are all but the last token of ids, nothing is added.",
            edited(
                shift_targets,
                (_PAIR, "torch.cat([torch.zeros_like(ids[:, :1]), ids[:, :-1]], dim=1), ids"),
            ),
        ),
        Mistake(
            "last_target_only",
            "Only the last token is returned as a target; every position has one.",
            edited(shift_targets, ("ids[:, 1:]", "ids[:, -1]")),
            (edited(shift_targets, ("ids[:, 1:]", "ids[:, -1:]")),),
        ),
        Mistake(
            "flattened",
            "The batch is flattened: keep (B, T-1), one row for each sequence.",
            edited(shift_targets, (_PAIR, "ids[:, :-1].flatten(), ids[:, 1:].flatten()")),
            (
                edited(shift_targets, (_PAIR, "ids.flatten()[:-1], ids.flatten()[1:]")),
                edited(shift_targets, (_PAIR, "ids.flatten()[None, :-1], ids.flatten()[None, 1:]")),
            ),
        ),
        Mistake(
            "first_sequence",
            "Only the first sequence of the batch is returned.",
            edited(shift_targets, (_PAIR, "ids[0, :-1], ids[0, 1:]")),
            (edited(shift_targets, (_PAIR, "ids[:1, :-1], ids[:1, 1:]")),),
        ),
        Mistake(
            "stacked",
            "One tensor is returned: return the tuple (inputs, targets).",
            edited(shift_targets, (f"return {_PAIR}", "return torch.stack([ids[:, :-1], ids[:, 1:]])")),
            (
                edited(
                    shift_targets,
                    (f"return {_PAIR}", "return torch.stack([ids[:, :-1], ids[:, 1:]], dim=-1)"),
                ),
                edited(
                    shift_targets,
                    (f"return {_PAIR}", "return torch.stack([ids[:, :-1], ids[:, 1:]], dim=1)"),
                ),
                edited(shift_targets, (f"return {_PAIR}", "return ids[:, 1:]")),
            ),
        ),
        Mistake(
            "list_returned",
            "A list is returned: return the tuple (inputs, targets).",
            edited(shift_targets, (f"return {_PAIR}", "return [ids[:, :-1], ids[:, 1:]]")),
            (
                edited(
                    shift_targets,
                    (
                        f"return {_PAIR}",
                        "return [(ids[:, t], ids[:, t + 1]) for t in range(ids.shape[1] - 1)]",
                    ),
                ),
            ),
        ),
        Mistake(
            "small_integers",
            "The ids are cast to a smaller integer type: keep torch.long, so that no id is too large.",
            edited(shift_targets, (_PAIR, "ids[:, :-1].int(), ids[:, 1:].int()")),
        ),
        Mistake(
            "lists",
            "Lists are returned: tensors are asked for.",
            edited(shift_targets, (_PAIR, "ids[:, :-1].tolist(), ids[:, 1:].tolist()")),
        ),
        Mistake(
            "floats",
            "Ids are turned into floats: they are whole numbers and must stay so (torch.long).",
            edited(shift_targets, (_PAIR, "ids[:, :-1].float(), ids[:, 1:].float()")),
            (
                edited(shift_targets, ("ids[:, 1:]", "ids[:, 1:].float()")),
                edited(shift_targets, ("ids[:, :-1]", "ids[:, :-1].float()")),
            ),
        ),
        Mistake(
            "squeezed",
            "`squeeze()` removes every dimension of size 1, so a batch of one or two tokens change the shape.",
            edited(shift_targets, (_PAIR, "ids[:, :-1].squeeze(), ids[:, 1:].squeeze()")),
        ),
        Mistake(
            "in_place",
            "The ids are changed in place: the caller's tensor is different afterwards.",
            edited(
                shift_targets,
                (
                    f"return {_PAIR}",
                    "inputs = ids[:, :-1].clone()\n    ids[:, :-1] = ids[:, 1:].clone()\n    return inputs, ids[:, :-1]",
                ),
            ),
            (
                edited(
                    shift_targets,
                    (
                        f"return {_PAIR}",
                        "inputs = ids[:, :-1]\n    ids[:, :-1] = ids[:, 1:].clone()\n    return inputs, ids[:, :-1]",
                    ),
                ),
                edited(
                    shift_targets,
                    (
                        f"return {_PAIR}",
                        "targets = ids\n    targets[:, :-1] = ids[:, 1:].clone()\n    return ids[:, :-1], targets[:, :-1]",
                    ),
                ),
            ),
        ),
    ],
    alternatives=[
        Alternative(
            "clones",
            written(
                """
                def shift_targets(ids):
                    T = ids.size(1)
                    inputs = ids[:, 0 : T - 1].clone()
                    targets = ids[:, 1:T].contiguous()
                    return inputs, targets
                """
            ),
        ),
        Alternative(
            "unbound",
            written(
                "def shift_targets(ids):\n    cols = ids.unbind(1)\n    return torch.stack(cols[:-1], 1), torch.stack(cols[1:], 1)"
            ),
        ),
        Alternative(
            "rolled_right",
            written("def shift_targets(ids):\n    return ids[..., :-1], torch.roll(ids, -1, dims=-1)[..., :-1]"),
        ),
    ],
)


# --- sees_the_future --------------------------------------------------------------------------------------------------

_SOFTMAX_ATTEND = """
    scores = x @ x.mT / x.shape[-1] ** 0.5
    t = torch.arange(x.shape[1])
    {mask}
    return torch.softmax(scores, -1) @ x
"""

PROBES = {  # name: (source of the body, whether it sees the future)
    # honest ones
    "identity": ("    return x", False),
    "constant": ("    return torch.ones_like(x)", False),
    "each token alone": ("    return torch.tanh(x @ torch.ones(x.shape[-1], x.shape[-1]) * 0.3) + x", False),
    "causal attention": (
        _SOFTMAX_ATTEND.format(mask="scores = scores.masked_fill(t[None, :] > t[:, None], float('-inf'))"),
        False,
    ),
    "attention to earlier tokens only": (
        "    t = torch.arange(x.shape[1])\n    bias = torch.zeros(len(t), len(t)).masked_fill(t[None, :] >= t[:, None], -torch.inf)\n"
        "    return torch.softmax(x @ x.mT + bias, -1).nan_to_num(0.0) @ x",
        False,
    ),
    "running mean": ("    return x.cumsum(1) / torch.arange(1, x.shape[1] + 1)[:, None]", False),
    "running maximum": ("    return x.cummax(1).values", False),
    "one step late": ("    return torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)", False),
    "first token for all": ("    return x[:, :1].expand_as(x)", False),
    "only the last row looks at everything": (
        "    out = x.clone()\n    out[:, -1] = x.mean(1)\n    return out",
        False,
    ),
    "causal, without gradients": ("    with torch.no_grad():\n        return x.cumsum(1)", False),
    "causal, rounded": ("    return torch.round(x.cumsum(1) * 4)", False),
    "causal, then normalised": (
        "    y = x.cumsum(1)\n    return (y - y.mean(-1, keepdim=True)) / (y.std(-1, keepdim=True) + 1e-5)",
        False,
    ),
    # leaks
    "attention without a mask": (_SOFTMAX_ATTEND.format(mask="pass"), True),
    "mean of everything": ("    return x.mean(1, keepdim=True).expand_as(x)", True),
    "maximum of everything": ("    return x + x.amax(1, keepdim=True)", True),
    "reversed": ("    return x.flip(1)", True),
    "one step early": ("    return torch.cat([x[:, 1:], torch.zeros_like(x[:, :1])], 1)", True),
    "mask off by one": (
        _SOFTMAX_ATTEND.format(mask="scores = scores.masked_fill(t[None, :] > t[:, None] + 1, float('-inf'))"),
        True,
    ),
    "mask after the softmax": (
        "    t = torch.arange(x.shape[1])\n    weights = torch.softmax(x @ x.mT / x.shape[-1] ** 0.5, -1)\n"
        "    return weights.masked_fill(t[None, :] > t[:, None], 0.0) @ x",
        True,
    ),
    "anti-causal attention": (
        _SOFTMAX_ATTEND.format(mask="scores = scores.masked_fill(t[None, :] < t[:, None], float('-inf'))"),
        True,
    ),
    "first row looks at the last token": (
        "    out = x.clone()\n    out[:, 0] = out[:, 0] + x[:, -1]\n    return out",
        True,
    ),
    "last row but one looks at the last token": (
        "    out = x.clone()\n    out[:, -2:-1] = out[:, -2:-1] + x[:, -1:]\n    return out",
        True,
    ),
    "first row looks at the second token": (
        "    out = x.clone()\n    out[:, 0] = out[:, 0] + x[:, 1]\n    return out",
        True,
    ),
    "a middle row looks one ahead": (
        "    out = x.clone()\n    m = x.shape[1] // 2 - 1\n    out[:, m] = x[:, m] * x[:, m + 1]\n    return out",
        True,
    ),
    "one feature leaks": (
        "    out = x.clone()\n    out[:, 0, -1] = out[:, 0, -1] + x[:, -1, 0]\n    return out",
        True,
    ),
    "the last feature leaks": (
        "    out = x.clone()\n    out[:, 0, 0] = out[:, 0, 0] + x[:, -1, -1]\n    return out",
        True,
    ),
    "a small leak": ("    return x + 1e-3 * x.mean(1, keepdim=True)", True),
    "last token for all, as a view": ("    return x[:, -1:].expand_as(x)", True),
    "leak without gradients": (
        "    with torch.no_grad():\n        return x.mean(1, keepdim=True).expand_as(x).clone()",
        True,
    ),
    "leak, rounded": ("    return torch.round(4 * x.flip(1)) / 4", True),
    "leak of normalised tokens": (
        "    y = (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)\n    return y + y.flip(1)",
        True,
    ),
    "leak of tokens scaled to length 1": (
        "    y = x / x.norm(dim=-1, keepdim=True)\n    return y + y.flip(1)",
        True,
    ),
    "leak of centred tokens": ("    y = x - x.mean(-1, keepdim=True)\n    return y + y.flip(1)", True),
    "leak as a factor": ("    return x * x.mean(1, keepdim=True)", True),
    "leak through shares that sum to 1": (
        "    return torch.softmax(3 * x.mean(1, keepdim=True), -1).expand_as(x)",
        True,
    ),
    "leak through a detached tensor": ("    return x + x.detach().mean(1, keepdim=True)", True),
    "leak that keeps every sum": (
        "    out = x.clone()\n    out[:, 0, 0] = out[:, 0, 0] + x[:, -1, 0]\n"
        "    out[:, 0, 1] = out[:, 0, 1] - x[:, -1, 0]\n    return out",
        True,
    ),
    "neighbours in pairs": (
        "    out = x.clone()\n    n = x.shape[1] // 2 * 2\n    out[:, 0:n:2] = x[:, 0:n:2] + x[:, 1:n:2]\n    return out",
        True,
    ),
}


def _probe(student: Any, name: str, T: int | None = None, C: int = 8) -> None:
    body, answer = PROBES[name]
    shape = (1, T or 6, C)
    promise = f"    assert tuple(x.shape) == {shape}, 'attend takes x of shape (1, T, C)'\n"
    attend = student.probe("attend", f"def attend(x):\n{promise}{body}\n")
    sizes = {} if T is None else {"T": T, "C": C}
    where = f"for the function “{name}”" + (f" with T = {T} and C = {C}" if sizes else "")
    got = student.call("sees_the_future", [attend], sizes, where=where)["value"]
    if type(got) is not bool:
        what = "a tensor" if isinstance(got, torch.Tensor) else f"a {type(got).__name__}"
        raise Wrong(f"It should return True or False; yours returned {what} {where} (bool(…) turns it into one).")
    expected = answer and (T is None or T > 1)
    if got is not expected:
        raise Wrong(
            f"Your answer is {got} {where}. "
            + (
                "A later token does change an earlier output there."
                if expected
                else "No earlier output depends on a later token there."
            )
        )


def _ask_about(*names: str, sizes: tuple = ((None, 8),)) -> Any:
    def ask(student: Any) -> None:
        for name in names:
            for T, C in sizes:
                with student.case():
                    _probe(student, name, T, C)

    return ask


def _future_manners(student: Any) -> None:
    for body, expected in (("x.cumsum(1)", False), ("x.flip(1)", True), ("x.cumsum(1)", False)):
        attend = student.probe("attend", f"def attend(x):\n    return {body}\n")
        answer = student.call("sees_the_future", [attend])
        if answer["value"] is not expected:
            raise Wrong(f"It should be {expected} for the function that returns {body}, however often it is asked.")
        quietly_called(answer)


def _future(change: str = "", compare: str = "", loop: str = "", test: str = "", rest: bool = False) -> str:
    """The reference with another change of token t, another comparison or another loop; `rest`: all later tokens change."""
    usual = "changed[:, t] = torch.randn(C, generator=generator)"
    later = "changed[:, t:] = torch.randn(T - t, C, generator=generator)"
    pair, span = "before[:, :t], after[:, :t]", "range(1, T)"
    close = f"not torch.allclose({compare or pair}, atol=1e-6)"
    return edited(
        sees_the_future,
        (usual, change or (later if rest else usual)),
        (f"not torch.allclose({pair}, atol=1e-6)", test or close),
        (span, loop or span),
    )


SEES_THE_FUTURE = Exercise(
    name="sees_the_future",
    notebook="06-masking",
    points=6,
    reference=sees_the_future,
    checks=[
        Check(
            "plainly causal and plainly acausal functions",
            1.5,
            _ask_about(
                *("attention without a mask", "causal attention", "identity", "reversed", "running mean"),
                *("mean of everything", "each token alone", "constant"),
            ),
        ),
        Check(
            "leaks into a single row, and a last row that sees everything",
            1.5,
            _ask_about(
                "only the last row looks at everything",
                "first row looks at the last token",
                "last row but one looks at the last token",
                "first row looks at the second token",
                "a middle row looks one ahead",
                "neighbours in pairs",
            ),
        ),
        Check(
            "masks that are off by one or come too late",
            1.0,
            _ask_about(
                *("mask off by one", "one step early", "one step late", "mask after the softmax"),
                *("anti-causal attention", "first token for all", "running maximum", "maximum of everything"),
            ),
        ),
        Check(
            "leaks that are small, in one feature, or hidden by a view or a normalisation",
            1.0,
            _ask_about(
                *("one feature leaks", "the last feature leaks", "a small leak", "last token for all, as a view"),
                *("leak that keeps every sum", "leak through shares that sum to 1", "leak as a factor"),
                *("leak of normalised tokens", "leak of centred tokens", "leak of tokens scaled to length 1"),
                "causal, then normalised",
            ),
        ),
        Check(
            "functions without gradients",
            0.5,
            _ask_about(
                *("causal, without gradients", "leak without gradients", "leak, rounded", "causal, rounded"),
                *("leak through a detached tensor", "attention to earlier tokens only"),
            ),
        ),
        Check(
            "other sizes",
            0.75,
            _ask_about(
                *("last row but one looks at the last token", "causal attention", "mean of everything", "identity"),
                sizes=((2, 3), (1, 4), (5, 8), (3, 1), (12, 2), (8, 5), (33, 4)),
            ),
        ),
        Check("the global random generator is left alone", 0.5, _future_manners),
    ],
    working=written(
        """
        import torch

        def sees_the_future(attend, T=6, C=8):
            generator = torch.Generator().manual_seed(1)
            for _ in range(2):
                x, other = (torch.randn(1, T, C, generator=generator) for _ in range(2))
                for t in range(T - 1):
                    mixed = torch.cat([x[:, : t + 1], other[:, t + 1 :]], 1)
                    first, second = attend(x.clone()).detach().clone(), attend(mixed).detach()
                    if (first[:, : t + 1] - second[:, : t + 1]).abs().max() > 1e-6:
                        return True
            return False
        """
    ),
    mistakes=[
        Mistake(
            "last_row_only",
            "Only the last output is compared. The last row has no future: it may look at everything. It is the *earlier* "
            "outputs that must not move.",
            written(
                """
                def sees_the_future(attend, T=6, C=8):
                    g = torch.Generator().manual_seed(0)
                    x = torch.randn(1, T, C, generator=g)
                    y = x.clone()
                    y[:, -1] = torch.randn(C, generator=g)
                    return not torch.allclose(attend(x)[:, -1], attend(y)[:, -1], atol=1e-6)
                """
            ),
        ),
        Mistake(
            "all_outputs",
            "The outputs from the changed position on are compared (alone, or with the others): those *should* move. Compare only "
            "the outputs before the changed position.",
            _future(compare="before, after"),
            (_future(compare="before[:, t:], after[:, t:]"),),
        ),
        Mistake(
            "changed_position_included",
            "The changed position itself is compared too (`:t + 1`): its output may move, because it sees itself.",
            _future(compare="before[:, : t + 1], after[:, : t + 1]"),
            (_future(compare="before[:, : t + 1], after[:, : t + 1]", loop="range(T)"),),
        ),
        Mistake(
            "later_rows_included",
            "Outputs after the changed position are compared too: those may move, because they see the changed token. Compare only "
            "the outputs before it.",
            _future(
                compare="torch.cat([before[:, :t], before[:, t + 1 :]], 1), torch.cat([after[:, :t], after[:, t + 1 :]], 1)",
                loop="range(T)",
            ),
            (
                _future(
                    compare="torch.cat([before[:, :t], before[:, t + 1 :]], 1), torch.cat([after[:, :t], after[:, t + 1 :]], 1)"
                ),
            ),
        ),
        Mistake(
            "shape_of_the_input",
            "attend is called with another shape than (1, T, C): several variants stacked into one batch, or no batch dimension. "
            "Call it once for each variant.",
            written(
                """
                def sees_the_future(attend, T=6, C=8):
                    g = torch.Generator().manual_seed(0)
                    x = torch.randn(1, T, C, generator=g).repeat(T, 1, 1)
                    y = x.clone()
                    for t in range(T):
                        y[t, t] = torch.randn(C, generator=g)
                    moved = (attend(x) - attend(y)).abs().amax(-1) > 1e-6
                    return bool(moved.tril(-1).any())
                """
            ),
            (
                written(
                    """
                    def sees_the_future(attend, T=6, C=8):
                        g = torch.Generator().manual_seed(0)
                        x = torch.randn(T, C, generator=g)
                        before = attend(x)
                        for t in range(1, T):
                            y = x.clone()
                            y[t] = torch.randn(C, generator=g)
                            if not torch.allclose(attend(y)[:t], before[:t], atol=1e-6):
                                return True
                        return False
                    """
                ),
            ),
        ),
        Mistake(
            "module_expected",
            "attend is used as a module (`.eval()`, `.parameters()`): it is any function, so it can only be called.",
            edited(sees_the_future, ("    generator =", "    attend.eval()\n    generator =")),
        ),
        Mistake(
            "all_entries_must_move",
            "A leak counts only if *all* earlier outputs move (`all` where `any` belongs): one row or one feature is enough.",
            _future(test="((before[:, :t] - after[:, :t]).abs() > 1e-6).all()"),
            (_future(test="((before[:, :t] - after[:, :t]).abs() > 1e-6).all()", rest=True),),
        ),
        Mistake(
            "one_token_fails",
            "T = 1 is not looked after: with one token there is no later one, so the answer is False.",
            written(
                """
                def sees_the_future(attend, T=6, C=8):
                    g = torch.Generator().manual_seed(0)
                    x = torch.randn(1, T, C, generator=g)
                    before, gaps = attend(x.clone()).clone(), []
                    for t in range(1, T):
                        y = x.clone()
                        y[:, t] = torch.randn(C, generator=g)
                        gaps.append((attend(y)[:, :t] - before[:, :t]).abs().max().item())
                    return max(gaps) > 1e-6
                """
            ),
            (
                written(
                    """
                    def sees_the_future(attend, T=6, C=8):
                        g = torch.Generator().manual_seed(0)
                        x = torch.randn(1, T, C, generator=g)
                        before, gaps = attend(x.clone()).clone(), []
                        for t in range(1, T):
                            y = x.clone()
                            y[:, t] = torch.randn(C, generator=g)
                            gaps.append((attend(y)[:, :t] - before[:, :t]).abs().max())
                        return bool(torch.stack(gaps).max() > 1e-6)
                    """
                ),
                edited(sees_the_future, ("    return False\n", "    return T == 1\n")),
            ),
        ),
        Mistake(
            "positions_limited",
            "Only the first few positions are tried, whatever T is: with more tokens later leaks are missed.",
            _future(loop="range(1, min(6, T))"),
            (
                _future(loop="range(1, min(6, T))", rest=True),
                _future(loop="range(1, min(8, T))"),
                _future(loop="range(1, min(10, T))"),
            ),
        ),
        Mistake(
            "tokens_reordered",
            "The later tokens are only put into another order: a function that treats them alike (a mean, a maximum) gives the same, "
            "so its leak goes unnoticed. Change a token at random.",
            _future(change="changed[:, t:] = x[:, t:].flip(1)"),
            (
                _future(change="changed[:, t:] = x[:, t:].roll(1, 1)"),
                _future(change="changed[:, t - 1 : t + 1] = x[:, t - 1 : t + 1].flip(1)"),
            ),
        ),
        Mistake(
            "change_too_small",
            "The change to the input is so small that it disappears in the tolerance of the comparison. Replace the token by random "
            "numbers.",
            _future(change="changed[:, t] += 1e-6", test="not torch.allclose(before[:, :t], after[:, :t])"),
            (
                _future(change="changed[:, t] += 1e-5"),
                _future(change="changed[:, t] += 1e-4"),
                _future(change="changed[:, t] += 1e-3"),
                _future(change="changed[:, t] += 1e-5", test="not torch.allclose(before[:, :t], after[:, :t])"),
            ),
        ),
        Mistake(
            "nan_gradient",
            "A gradient that is NaN counts as a leak here. It is no evidence: attention whose empty row is cleaned afterwards has "
            "such gradients too. Change a token and compare instead.",
            written(
                """
                def sees_the_future(attend, T=6, C=8):
                    x = torch.randn(1, T, C, generator=torch.Generator().manual_seed(0), requires_grad=True)
                    out = attend(x)
                    for t in range(T - 1 if out.requires_grad else 0):
                        (grad,) = torch.autograd.grad(out[0, t].square().sum(), x, retain_graph=True, allow_unused=True)
                        if grad is not None and not (grad[0, t + 1 :].abs() <= 1e-7).all():
                            return True
                    with torch.no_grad():
                        for t in range(1, T):
                            y = x.detach().clone()
                            y[:, t:] += torch.randn(T - t, C, generator=torch.Generator().manual_seed(t))
                            if not torch.allclose(attend(x)[:, :t], attend(y)[:, :t], atol=1e-6):
                                return True
                    return False
                """
            ),
        ),
        Mistake(
            "outputs_after",
            "The outputs after the changed position are compared: that finds functions that see the *past*.",
            edited(sees_the_future, ("before[:, :t], after[:, :t]", "before[:, t + 1:], after[:, t + 1:]")),
        ),
        Mistake(
            "first_row_only",
            "Only the first output is compared: leaks into other rows are missed.",
            _future(compare="before[:, :1], after[:, :1]"),
            (_future(compare="before[:, :1], after[:, :1]", rest=True),),
        ),
        Mistake(
            "one_row_before",
            "Only the row just before the changed token is compared: leaks over a longer distance are missed.",
            _future(compare="before[:, t - 1 : t], after[:, t - 1 : t]"),
        ),
        Mistake(
            "all_but_neighbour",
            "The row just before the changed token is left out (`:t - 1`): a mask that is off by one goes unnoticed.",
            _future(compare="before[:, : t - 1], after[:, : t - 1]"),
            (_future(compare="before[:, : t - 1], after[:, : t - 1]", rest=True),),
        ),
        Mistake(
            "last_token_changed_only",
            "Only a change of the last token counts (no other is changed, or the verdict is overwritten in every turn of the "
            "loop): leaks from other positions are missed, such as a first row that looks at the second token.",
            edited(sees_the_future, ("range(1, T)", "range(T - 1, T)")),
            (
                edited(
                    sees_the_future,
                    (
                        "        if not torch.allclose(before[:, :t], after[:, :t], atol=1e-6):  # nothing before t may move\n            return True\n    return False",
                        "        leak = not torch.allclose(before[:, :t], after[:, :t], atol=1e-6)\n    return leak if T > 1 else False",
                    ),
                ),
            ),
        ),
        Mistake(
            "last_token_never_changed",
            "The loop ends one too early, at `range(1, T - 1)`: the last position is never tried, so leaks from it are missed.",
            _future(loop="range(1, T - 1)"),
            (_future(loop="range(1, T - 1)", rest=True),),
        ),
        Mistake(
            "first_change_only",
            "The answer is given after the first position that is tried (a `return` inside the loop): later ones are never "
            "looked at.",
            edited(sees_the_future, ("    return False", "        return False")),
            (
                edited(
                    sees_the_future,
                    (
                        "changed[:, t] = torch.randn(C, generator=generator)",
                        "changed[:, t:] = torch.randn(T - t, C, generator=generator)",
                    ),
                    ("    return False", "        return False"),
                ),
            ),
        ),
        Mistake(
            "second_token_skipped",
            "The loop begins at position 2: a first row that looks at the second token goes unnoticed.",
            _future(loop="range(2, T)"),
            (_future(loop="range(2, T)", rest=True),),
        ),
        Mistake(
            "middle_only",
            "Only one position is tried, in the middle or drawn at random: leaks from other positions are missed. Try them all.",
            _future(loop="range(T // 2, T // 2 + 1)"),
            (
                _future(loop="torch.randint(1, T, (1,), generator=generator).tolist() if T > 1 else ()"),
                _future(loop="torch.randint(1, T, (1,), generator=generator).tolist() if T > 1 else ()", rest=True),
                _future(loop="range(1, T, 2)"),
                _future(loop="range(2, T, 2)"),
            ),
        ),
        Mistake(
            "second_half_changed",
            "The whole second half is changed at once: a leak within one half is missed.",
            written(
                """
                def sees_the_future(attend, T=6, C=8):
                    g = torch.Generator().manual_seed(0)
                    x = torch.randn(1, T, C, generator=g)
                    y = x.clone()
                    half = T // 2
                    y[:, half:] = torch.randn(1, T - half, C, generator=g)
                    return not torch.allclose(attend(x)[:, :half], attend(y)[:, :half], atol=1e-6)
                """
            ),
        ),
        Mistake(
            "inverted",
            "The answer is the wrong way round: True means that it *does* see the future.",
            edited(
                sees_the_future,
                ("return True", "return 0 == 1"),
                ("    return False", "    return True"),
                ("return 0 == 1", "return False"),
            ),
        ),
        Mistake(
            "always_true",
            "The answer is always True.",
            written("def sees_the_future(attend, T=6, C=8):\n    return True"),
        ),
        Mistake(
            "always_false",
            "It never finds a leak: the answer is always False. Is the change to the input so small that it disappears in the "
            "tolerance, made where no output comes before it, or compared with itself?",
            written("def sees_the_future(attend, T=6, C=8):\n    return False"),
            (
                edited(sees_the_future, ("range(1, T)", "range(0, 1)")),
                edited(
                    sees_the_future, ("changed[:, t] = torch.randn(C, generator=generator)", "changed[:, t] += 1e-7")
                ),
            ),
        ),
        Mistake(
            "in_place_view",
            "The input is changed in place and the earlier result was not copied: where the function returns a view of its "
            "input, the earlier result changes with it. Use `.clone()`.",
            edited(
                sees_the_future,
                ("attend(x.clone()).detach().clone()", "attend(x)"),
                ("changed = x.clone()", "changed = x"),
            ),
            (
                written(
                    """
                    def sees_the_future(attend, T=6, C=8):
                        g = torch.Generator().manual_seed(0)
                        for t in range(1, T):
                            x = torch.randn(1, T, C, generator=g)
                            before = attend(x)[:, :t]
                            x[:, t:] = torch.randn(1, T - t, C, generator=g)
                            if not torch.allclose(before, attend(x)[:, :t], atol=1e-6):
                                return True
                        return False
                    """
                ),
            ),
        ),
        Mistake(
            "constant_added",
            "The same number is added to all features of a token. A function that normalises its tokens takes it out again, so "
            "its leak goes unnoticed: change the token at random.",
            edited(sees_the_future, ("changed[:, t] = torch.randn(C, generator=generator)", "changed[:, t] += 1.0")),
            (edited(sees_the_future, ("changed[:, t] = torch.randn(C, generator=generator)", "changed[:, t] += 3.0")),),
        ),
        Mistake(
            "token_scaled",
            "A token is only scaled (or its sign changed). A function that normalises its tokens takes it out again, so its leak goes unnoticed: "
            "change the token at random.",
            edited(sees_the_future, ("changed[:, t] = torch.randn(C, generator=generator)", "changed[:, t] *= 2")),
        ),
        Mistake(
            "one_feature_changed",
            "Only one feature of the token is changed: a leak of another feature goes unnoticed.",
            _future(change="changed[:, t, -1] += 5.0"),
            (
                _future(change="changed[:, t, 0] += 5.0"),
                _future(change="changed[:, t:, 0] += torch.randn(T - t, generator=generator)"),
            ),
        ),
        Mistake(
            "one_feature_compared",
            "Only one feature of the outputs is compared: a leak into another goes unnoticed.",
            _future(compare="before[:, :t, 0], after[:, :t, 0]"),
            (_future(compare="before[:, :t, -1], after[:, :t, -1]"),),
        ),
        Mistake(
            "sums_compared",
            "Only sums or means of the outputs are compared: differences can cancel.",
            edited(sees_the_future, ("before[:, :t], after[:, :t]", "before[:, :t].sum(), after[:, :t].sum()")),
            (
                _future(compare="before[:, :t].sum(-1), after[:, :t].sum(-1)"),
                _future(compare="before[:, :t].mean(), after[:, :t].mean()"),
            ),
        ),
        Mistake(
            "loose_tolerance",
            "The tolerance of the comparison is too generous: small leaks go unnoticed. A causal function's earlier outputs do "
            "not move at all.",
            edited(sees_the_future, ("atol=1e-6", "atol=1e-2")),
            (
                edited(sees_the_future, ("atol=1e-6", "atol=1e-1")),
                edited(sees_the_future, ("atol=1e-6", "atol=1e-3")),
                edited(sees_the_future, ("atol=1e-6", "rtol=0.05, atol=0.05")),
                _future(
                    change="changed[:, t:] = 0",
                    test="not torch.allclose(before[:, :t], after[:, :t], rtol=0.05, atol=0.05)",
                ),
            ),
        ),
        Mistake(
            "one_pair_only",
            "Only one change and one output are looked at (the last token and the first row, say): leaks elsewhere are missed. Try "
            "every token, and compare all the outputs before it.",
            _future(compare="before[:, :1], after[:, :1]", loop="range(T - 1, T)"),
            (_future(compare="before[:, t - 1 : t], after[:, t - 1 : t]", loop="range(T - 1, T)"),),
        ),
        Mistake(
            "zeros",
            "The test input is all zeros: many leaks cannot show there. Use random numbers.",
            edited(sees_the_future, ("x = torch.randn(1, T, C, generator=generator)", "x = torch.zeros(1, T, C)")),
        ),
        Mistake(
            "constant_tokens",
            "Tokens are set to a constant (zeros or ones) as the change, and start as one too: use random numbers for both.",
            edited(
                sees_the_future,
                ("x = torch.randn(1, T, C, generator=generator)", "x = torch.ones(1, T, C)"),
                ("changed[:, t] = torch.randn(C, generator=generator)", "changed[:, t] = 0.0"),
            ),
        ),
        Mistake(
            "not_a_number",
            "NaN is used as the change. It spreads through any mask (0 × NaN is NaN), so causal attention is accused wrongly.",
            edited(
                sees_the_future, ("changed[:, t] = torch.randn(C, generator=generator)", "changed[:, t] = float('nan')")
            ),
            (
                edited(
                    sees_the_future,
                    ("changed[:, t] = torch.randn(C, generator=generator)", "changed[:, t] = float('inf')"),
                ),
            ),
        ),
        Mistake(
            "gradients_only",
            "Only gradients are looked at: a function that computes without them (`no_grad`, rounding) fails or looks innocent. "
            "Change a token and compare instead.",
            written(
                """
                def sees_the_future(attend, T=6, C=8):
                    x = torch.randn(1, T, C, generator=torch.Generator().manual_seed(0), requires_grad=True)
                    out = attend(x)
                    for t in range(T - 1):
                        (grad,) = torch.autograd.grad(out[0, t].sum(), x, retain_graph=True)
                        if grad[0, t + 1 :].abs().max() > 1e-9:
                            return True
                    return False
                """
            ),
            (
                written(
                    """
                    def sees_the_future(attend, T=6, C=8):
                        x = torch.randn(1, T, C, generator=torch.Generator().manual_seed(0), requires_grad=True)
                        out = attend(x)
                        if not out.requires_grad:
                            return False
                        for t in range(T - 1):
                            (grad,) = torch.autograd.grad(out[0, t].sum(), x, retain_graph=True, allow_unused=True)
                            if grad is not None and grad[0, t + 1 :].abs().max() > 1e-9:
                                return True
                        return False
                    """
                ),
                *(
                    written(
                        f"""
                        def sees_the_future(attend, T=6, C=8):
                            g = torch.Generator().manual_seed(0)
                            weight = torch.randn(C, generator=g)
                            x = torch.randn(1, T, C, generator=g, requires_grad=True)
                            out = attend(x)
                            for t in range({rows}):
                                (grad,) = torch.autograd.grad((out[0, t] * weight).sum(), x, retain_graph=True{unused})
                                if grad is not None and grad[0, t + 1 :].abs().sum() > 1e-9:
                                    return True
                            return False
                        """
                    )
                    for rows, unused in (
                        ("T", ""),
                        ("T - 1", ""),
                        ("T if out.requires_grad else 0", ", allow_unused=True"),
                    )
                ),
                written(
                    """
                    def sees_the_future(attend, T=6, C=8):
                        x = torch.randn(1, T, C, generator=torch.Generator().manual_seed(0))
                        J = torch.autograd.functional.jacobian(attend, x)[0, :, :, 0].abs().sum(dim=(1, 3))  # (T, T)
                        return bool((J.triu(1) > 1e-7).any())
                    """
                ),
            ),
        ),
        Mistake(
            "tensor_returned",
            "A tensor is returned (`.any()` without bool): True or False is asked for.",
            written(
                """
                def sees_the_future(attend, T=6, C=8):
                    g = torch.Generator().manual_seed(0)
                    x = torch.randn(1, T, C, generator=g)
                    before = attend(x.clone()).detach().clone()
                    leaks = torch.tensor(False)
                    for t in range(1, T):
                        y = x.clone()
                        y[:, t] = torch.randn(C, generator=g)
                        leaks = leaks | ((attend(y).detach()[:, :t] - before[:, :t]).abs() > 1e-6).any()
                    return leaks
                """
            ),
        ),
        Mistake(
            "none_returned",
            "When no leak is found nothing is returned (None): `return False` is missing at the end.",
            edited(sees_the_future, ("    return False\n", "")),
        ),
        Mistake(
            "integer_returned",
            "A number is returned: True or False is asked for.",
            edited(sees_the_future, ("return True", "return 1"), ("return False", "return 0")),
        ),
        Mistake(
            "sizes_ignored",
            "T (or C) is ignored: the function is always tried with the same number of tokens or features.",
            edited(sees_the_future, ("    generator =", "    T, C = 6, 8\n    generator =")),
            (edited(sees_the_future, ("    generator =", "    T = 6\n    generator =")),),
        ),
        Mistake(
            "global_generator",
            "The random numbers come from the global generator (or it is seeded), which changes everybody else's. Make one "
            "with torch.Generator() and pass it on.",
            edited(sees_the_future, ("torch.Generator().manual_seed(0)", "torch.manual_seed(0)")),
            (edited(sees_the_future, (", generator=generator", "")),),
        ),
        Mistake(
            "all_must_leak",
            "The answer is True only if *every* change is noticed (`all` where `any` belongs): a leak from one position is "
            "enough.",
            edited(
                sees_the_future,
                (
                    "        if not torch.allclose(before[:, :t], after[:, :t], atol=1e-6):  # nothing before t may move\n            return True\n    return False",
                    "        if torch.allclose(before[:, :t], after[:, :t], atol=1e-6):\n            return False\n    return True",
                ),
            ),
        ),
        Mistake(
            "past_changed_inverted",
            "Earlier tokens are changed and later outputs compared, and the answer is the wrong way round: a change of a *later* token "
            "must leave the *earlier* outputs alone.",
            _future(test="torch.allclose(before[:, 1:], after[:, 1:])", loop="range(1)"),
            (_future(test="torch.allclose(before[:, t + 1 :], after[:, t + 1 :])", loop="range(T - 1)"),),
        ),
        Mistake(
            "past_changed",
            "Earlier tokens are changed and later outputs compared: that finds functions that see the *past*, which is allowed.",
            edited(
                sees_the_future,
                ("for t in range(1, T)", "for t in range(T - 1)"),
                ("before[:, :t], after[:, :t]", "before[:, t + 1 :], after[:, t + 1 :]"),
            ),
        ),
    ],
    alternatives=[
        Alternative(
            "replace_the_rest",
            written(
                """
                def sees_the_future(attend, T=6, C=8):
                    g = torch.Generator()
                    g.manual_seed(123)
                    x = torch.randn(1, T, C, generator=g)
                    other = torch.randn(1, T, C, generator=g)
                    base = attend(x.clone()).clone()
                    for t in range(T - 1):
                        y = torch.cat([x[:, : t + 1], other[:, t + 1 :]], dim=1)
                        if not torch.equal(attend(y)[0, : t + 1], base[0, : t + 1]):
                            return True
                    return False
                """
            ),
        ),
        Alternative(
            "difference_matrix",
            written(
                """
                def _moved(attend, x, t, g):
                    y = x.clone()
                    y[0, t] = 3 * torch.randn(x.shape[-1], generator=g)
                    with torch.no_grad():
                        a = attend(x.clone()).clone()
                        b = attend(y)
                    return (a - b).abs().amax(dim=-1)[0] > 1e-7

                def sees_the_future(attend, T=6, C=8):
                    g = torch.Generator().manual_seed(7)
                    x = torch.randn(1, T, C, generator=g)
                    return any(bool(_moved(attend, x, t, g)[:t].any()) for t in range(T))
                """
            ),
        ),
        Alternative(
            "from_the_end",
            written(
                """
                def sees_the_future(attend, T=6, C=8):
                    gen = torch.Generator().manual_seed(42)
                    leak = False
                    for trial in range(3):
                        x = torch.empty(1, T, C).normal_(generator=gen)
                        for t in reversed(range(1, T)):
                            y = x.clone()
                            y[:, t, :] += torch.empty(C).normal_(generator=gen)
                            one, two = attend(x.clone()).clone(), attend(y.clone())
                            leak = leak or (one[:, :t] - two[:, :t]).abs().max().item() > 1e-7
                    return bool(leak)
                """
            ),
        ),
    ],
)

EXERCISES = [CAUSAL_MASK, PADDING_MASK, ATTENTION_MASK, MASKED_SOFTMAX, SHIFT_TARGETS, SEES_THE_FUTURE]
QUESTIONS = [
    Question(
        name="q8_1",
        notebook="06-masking",
        points=1,
        key="C",
        explanations={
            "A": (
                "Overfitting is the usual reason for a low training loss. But overfitting means learning training "
                "sentences by heart. What has this model learnt to do instead, and does that trick need a sentence "
                "it has met before?"
            ),
            "B": (
                'That would be so for any model that sees only the past. This one is measured "in the same way": '
                "which tokens are in its input while it is asked for the next one?"
            ),
            "C": (
                "Yes. The whole held-out sentence goes in, so each answer is visible one step to the right, and "
                "copying works on any sentence. A held-out loss below the floor is therefore a sign of a leak, and "
                "no proof of quality."
            ),
            "D": (
                "A model that only copies is indeed lost when it writes. But measuring a loss is not writing: look "
                "at what stands in its input when the held-out sentence is fed in."
            ),
        },
    ),
    Question(
        name="q8_2",
        notebook="06-masking",
        points=1,
        key="A",
        explanations={
            "A": (
                "Yes. The weights that remain are e^score divided by a sum over all keys, the hidden ones included. "
                "If a hidden score grows, every visible weight shrinks, and the output tells."
            ),
            "B": (
                "The values are indeed multiplied by zero. But the output also depends on the other weights: change "
                "the hidden score in the cell above and see whether they stay where they were."
            ),
            "C": (
                "A hidden value vector times a weight of exactly zero adds nothing, so no share of it is mixed in. "
                "Look for another way in which the future enters the numbers of that row."
            ),
            "D": (
                "The row's sum does fall below 1, but not by an amount that depends on the number of hidden keys "
                "alone: in the experiment one key was hidden both times, and the sums were 0.390 and 0.031."
            ),
        },
    ),
    Question(
        name="q8_3",
        notebook="06-masking",
        points=1,
        key="D",
        explanations={
            "A": (
                "The mask is right and the function is a good one, but its boolean attn_mask is read the other way "
                "round: True takes part. Each position would see only the future."
            ),
            "B": (
                "The module is right about True, but key_padding_mask has shape (B, S): one row for each sentence, "
                "the same for all queries. It cannot express that different queries may see different keys."
            ),
            "C": (
                "Filling with −∞ is the right recipe, but ~m is True on and below the diagonal: the past is blocked "
                "and the future left open."
            ),
            "D": (
                "Yes. In nn.MultiheadAttention a boolean attn_mask of shape (T, S) blocks where it is True, which "
                "is our convention: the future is hidden."
            ),
        },
    ),
]
