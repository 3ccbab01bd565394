"""`sees_the_future`: some forty functions, causal and leaking: late, small, in one row or feature, behind a norm.

The mistakes: one change or one row looked at only, changes too small or too regular, gradients relied upon.
"""

from __future__ import annotations

import torch

from autograder.spec.exercise import Asking, Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import generator_unchanged
from autograder.spec.student import Student

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
        "    t = torch.arange(x.shape[1])\n"
        "    bias = torch.zeros(len(t), len(t)).masked_fill(t[None, :] >= t[:, None], -torch.inf)\n"
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
    "causal, in place": ("    return x.cumsum_(1)", False),
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
    "a leak that sleeps on small inputs": (
        "    out = x.clone()\n    out[:, 0] = out[:, 0] + torch.relu(x[:, -1].norm(dim=-1, keepdim=True) - 10)\n"
        "    return out",
        True,
    ),
    "causal, with a threshold": (
        "    return torch.relu(x.cumsum(1).norm(dim=-1, keepdim=True) - 10).expand_as(x)",
        False,
    ),
    "neighbours in pairs": (
        "    out = x.clone()\n    n = x.shape[1] // 2 * 2\n"
        "    out[:, 0:n:2] = x[:, 0:n:2] + x[:, 1:n:2]\n    return out",
        True,
    ),
}


def _probe(student: Student, name: str, T: int | None = None, C: int = 8) -> None:
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
        raise ValuesDiffer(
            f"Your answer is {got} {where}. "
            + (
                "A later token does change an earlier output there."
                if expected
                else "No earlier output depends on a later token there."
            )
        )


def _ask_about(*names: str, sizes: tuple = ((None, 8),)) -> Asking:
    def ask(student: Student) -> None:
        for name in names:
            for T, C in sizes:
                with student.case():
                    _probe(student, name, T, C)

    return ask


def _future_manners(student: Student) -> None:
    for body, expected in (("x.cumsum(1)", False), ("x.flip(1)", True), ("x.cumsum(1)", False)):
        attend = student.probe("attend", f"def attend(x):\n    return {body}\n")
        answer = student.call("sees_the_future", [attend])
        if answer["value"] is not expected:
            raise ValuesDiffer(
                f"It should be {expected} for the function that returns {body}, however often it is asked."
            )
        generator_unchanged(answer)
    attend = student.probe("attend", "def attend(x):\n    return x.flip(1)\n")
    answer = student.call("sees_the_future", [], {"attend": attend}, where="with `attend` given by name")
    if answer["value"] is not True:
        raise ValuesDiffer("It should be True for the function that returns x.flip(1), given by name, too.")


EXERCISE = Exercise(
    points=6,
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
                *("causal, then normalised", "causal, in place"),
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
        Check(
            "leaks that sleep on small inputs",
            0.5,
            _ask_about("a leak that sleeps on small inputs", "causal, with a threshold"),
        ),
        Check("the global random generator is left alone", 0.5, _future_manners),
    ],
    working=r"""
import torch

def sees_the_future(attend, T=6, C=8):
    generator = torch.Generator().manual_seed(1)
    for size in (1, 10):
        x, other = (size * torch.randn(1, T, C, generator=generator) for _ in range(2))
        for t in range(T - 1):
            mixed = torch.cat([x[:, : t + 1], other[:, t + 1 :]], 1)
            first, second = attend(x.clone()).detach().clone(), attend(mixed).detach()
            if (first[:, : t + 1] - second[:, : t + 1]).abs().max() > 1e-6:
                return True
    return False
""",
    gives="bool",
    slips=(
        "nothing_returned",
        "global_generator",
    ),
    wrong=r"""
last_row_only: Only the last output is compared. The last row has no future: it may look at everything. It is the *earlier* outputs that must not
    move.
- |
  g = torch.Generator().manual_seed(0)
  x = torch.randn(1, T, C, generator=g)
  y = x.clone()
  y[:, -1] = torch.randn(C, generator=g)
  return not torch.allclose(attend(x)[:, -1], attend(y)[:, -1], atol=1e-6)
all_outputs: The outputs from the changed position on are compared (alone, or with the others): those *should* move. Compare only the outputs before
    the changed position.
- [:, :t], after[:, :t] => , after
- :t], after[:, :t => t:], after[:, t:
changed_position_included (slip): The changed position itself is compared too (`:t + 1`): its output may move, because it sees itself.
- t], after[:, :t => t + 1], after[:, : t + 1
- for t in range(1, T): => for t in range(T):
  if not torch.allclose(before[:, :t], after[:, :t], atol=1e-6): => if not torch.allclose(before[:, : t + 1], after[:, : t + 1], atol=1e-6):
later_rows_included: Outputs after the changed position are compared too: those may move, because they see the changed token. Compare only the outputs
    before it.
- for t in range(1, T): => for t in range(T):
  if not torch.allclose(before[:, :t], after[:, :t], atol=1e-6): => if not torch.allclose(torch.cat([before[:, :t], before[:, t + 1 :]], 1), torch.cat([after[:, :t], after[:, t + 1 :]], 1), atol=1e-6):
- before[:, :t], after[:, :t] => torch.cat([before[:, :t], before[:, t + 1 :]], 1), torch.cat([after[:, :t], after[:, t + 1 :]], 1)
shape_of_the_input (missed): attend is called with another shape than (1, T, C): several variants stacked into one batch, the first tokens alone, or no batch
    dimension. Call it once for each variant, always with all T tokens.
- |
  g = torch.Generator().manual_seed(0)
  x = torch.randn(1, T, C, generator=g).repeat(T, 1, 1)
  y = x.clone()
  for t in range(T):
      y[t, t] = torch.randn(C, generator=g)
  moved = (attend(x) - attend(y)).abs().amax(-1) > 1e-6
  return bool(moved.tril(-1).any())
- |
  g = torch.Generator().manual_seed(0)
  x = torch.randn(T, C, generator=g)
  before = attend(x)
  for t in range(1, T):
      y = x.clone()
      y[t] = torch.randn(C, generator=g)
      if not torch.allclose(attend(y)[:t], before[:t], atol=1e-6):
          return True
  return False
module_expected (missed): attend is used as a module (`.eval()`, `.parameters()`): it is any function, so it can only be called.
- generator = =>
      attend.eval()
      generator =
all_entries_must_move: A leak counts only if *all* earlier outputs move (`all` where `any` belongs): one row or one feature is enough.
- not torch.allclose(before[:, :t], after[:, :t], atol=1e-6 => ((before[:, :t] - after[:, :t]).abs() > 1e-6).all(
- changed[:, t] = torch.randn(C, generator=generator) => changed[:, t:] = torch.randn(T - t, C, generator=generator)
  if not torch.allclose(before[:, :t], after[:, :t], atol=1e-6): => if ((before[:, :t] - after[:, :t]).abs() > 1e-6).all():
one_token_fails: T = 1 is not looked after: with one token there is no later one, so the answer is False.
- |
  g = torch.Generator().manual_seed(0)
  x = torch.randn(1, T, C, generator=g)
  before, gaps = attend(x.clone()).clone(), []
  for t in range(1, T):
      y = x.clone()
      y[:, t] = torch.randn(C, generator=g)
      gaps.append((attend(y)[:, :t] - before[:, :t]).abs().max().item())
  return max(gaps) > 1e-6
- |
  g = torch.Generator().manual_seed(0)
  x = torch.randn(1, T, C, generator=g)
  before, gaps = attend(x.clone()).clone(), []
  for t in range(1, T):
      y = x.clone()
      y[:, t] = torch.randn(C, generator=g)
      gaps.append((attend(y)[:, :t] - before[:, :t]).abs().max())
  return bool(torch.stack(gaps).max() > 1e-6)
- return False => return T == 1
positions_limited: Only the first few positions are tried, whatever T is: with more tokens later leaks are missed.
- , T): => , min(6, T)): || , min(8, T)):
tokens_reordered: The later tokens are only put into another order: a function that treats them alike (a mean, a maximum) gives the same, so its leak
    goes unnoticed. Change a token at random.
- ] = torch.randn(C, generator=generator) * scale => :] = x[:, t:].flip(1) || - 1 : t + 1] = x[:, t - 1 : t + 1].flip(1)
change_too_small: The change to the input is so small that it disappears in the tolerance of the comparison. Replace the token by random numbers.
- changed[:, t] = torch.randn(C, generator=generator) => changed[:, t] += 1e-6
  if not torch.allclose(before[:, :t], after[:, :t], atol=1e-6): => if not torch.allclose(before[:, :t], after[:, :t]):
- = torch.randn(C, generator=generator) => += 1e-5 || += 1e-4
nan_gradient: A gradient that is NaN counts as a leak here. It is no evidence: attention whose empty row is cleaned afterwards has such gradients too.
    Change a token and compare instead.
- |
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
outputs_after (missed): The outputs after the changed position are compared: that finds functions that see the *past*.
- before[:, :t], after[:, :t] => before[:, t + 1:], after[:, t + 1:]
first_row_only: Only the first output is compared: leaks into other rows are missed.
- t], after[:, :t => 1], after[:, :1
one_row_before: Only the row just before the changed token is compared: leaks over a longer distance are missed.
- :t], after[:, : => t - 1 : t], after[:, t - 1 :
all_but_neighbour (slip): The row just before the changed token is left out (`:t - 1`): a mask that is off by one goes unnoticed.
- t], after[:, :t => t - 1], after[:, : t - 1
last_token_changed_only: Only a change of the last token counts (no other is changed, or the verdict is overwritten in every turn of the loop): leaks
    from other positions are missed, such as a first row that looks at the second token.
- range(1, T) => range(T - 1, T)
last_token_never_changed (slip): The loop ends one too early, at `range(1, T - 1)`: the last position is never tried, so leaks from it are missed.
- , T): => , T - 1):
- for t in range(1, T): => for t in range(1, T - 1):
  changed[:, t] = torch.randn(C, generator=generator) => changed[:, t:] = torch.randn(T - t, C, generator=generator)
first_change_only (slip): The answer is given after the first position that is tried (a `return` inside the loop): later ones are never looked at.
- |
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
- |
  generator = torch.Generator().manual_seed(0)
  x = torch.randn(1, T, C, generator=generator)
  before = attend(x.clone()).detach().clone()  # (1, T, C); a copy, in case the result is a view of the input
  for t in range(1, T):
      changed = x.clone()
      changed[:, t:] = torch.randn(T - t, C, generator=generator)  # only token t is new
      after = attend(changed).detach()
      if not torch.allclose(before[:, :t], after[:, :t], atol=1e-6):  # nothing before t may move
          return True
      return False
second_token_skipped (slip): The loop begins at position 2: a first row that looks at the second token goes unnoticed.
- range(1, => range(2,
middle_only: Only one position is tried, in the middle or drawn at random: leaks from other positions are missed. Try them all.
- (1, T) => (T // 2, T // 2 + 1) || (2, T, 2)
- range(1, T => torch.randint(1, T, (1,), generator=generator).tolist() if T > 1 else (
- for t in range(1, T): => for t in torch.randint(1, T, (1,), generator=generator).tolist() if T > 1 else ():
  changed[:, t] = torch.randn(C, generator=generator) => changed[:, t:] = torch.randn(T - t, C, generator=generator)
- , T): => , T, 2):
second_half_changed: The whole second half is changed at once: a leak within one half is missed.
- |
  g = torch.Generator().manual_seed(0)
  x = torch.randn(1, T, C, generator=g)
  y = x.clone()
  half = T // 2
  y[:, half:] = torch.randn(1, T - half, C, generator=g)
  return not torch.allclose(attend(x)[:, :half], attend(y)[:, :half], atol=1e-6)
inverted (slip): The answer is the wrong way round: True means that it *does* see the future.
- return True => return 0 == 1
  return False => return True
  return 0 == 1 => return False
always_true (missed): The answer is always True: a causal `attend` must be recognised too.
- |
  return True
always_false (missed): It never finds a leak: the answer is always False. Is the change to the input so small that it disappears in the tolerance, made where
    no output comes before it, or compared with itself?
- |
  return False
in_place_view: The input is changed in place and the earlier result was not copied: where the function returns a view of its input, the earlier result
    changes with it. Use `.clone()`.
- attend(x.clone()).detach().clone() => attend(x)
  changed = x.clone() => changed = x
- generator = torch.Generator().manual_seed(0) => g = torch.Generator().manual_seed(0)
  x = torch.randn(1, T, C, generator=generator) * scale =>
  before = attend(x.clone()).detach().clone() =>
  changed = x.clone() => x = scale * torch.randn(1, T, C, generator=g)
  changed[:, t] = torch.randn(C, generator=generator) * scale => before = attend(x)[:, :t]
  after = attend(changed).detach() => x[:, t:] = scale * torch.randn(1, T - t, C, generator=g)
  if not torch.allclose(before[:, :t], after[:, :t], atol=1e-6): => if not torch.allclose(before, attend(x)[:, :t], atol=1e-6):
constant_added: The same number is added to all features of a token. A function that normalises its tokens takes it out again, so its leak goes
    unnoticed: change the token at random.
- changed[:, t] = torch.randn(C, generator=generator) => changed[:, t] += 1.0
token_scaled: A token is only scaled (or its sign changed). A function that normalises its tokens takes it out again, so its leak goes unnoticed:
    change the token at random.
- changed[:, t] = torch.randn(C, generator=generator) => changed[:, t] *= 2
one_feature_changed: Only one feature of the token is changed: a leak of another feature goes unnoticed.
- ] = torch.randn(C, generator=generator) => , -1] += 5.0 || , 0] += 5.0
one_feature_compared: Only one feature of the outputs is compared: a leak into another goes unnoticed.
- ], after[:, :t => , 0], after[:, :t, 0 || , -1], after[:, :t, -1
sums_compared: Only sums or means of the outputs are compared: differences can cancel.
- before[:, :t], after[:, :t] => before[:, :t].sum(), after[:, :t].sum()
- , after[:, :t] => .sum(-1), after[:, :t].sum(-1)
one_size_only: All inputs have the same size, that of `torch.randn`: a leak that sleeps on small numbers goes unnoticed. Try `10 * torch.randn` as
    well, and give the new token that size too.
- (1.0, 10.0) * 5 => (1.0,)
loose_tolerance: The tolerance of the comparison is too generous: small leaks go unnoticed. A causal function's earlier outputs do not move at all.
- atol=1e-6 => atol=1e-2
one_pair_only: Only one change and one output are looked at (the last token and the first row, say): leaks elsewhere are missed. Try every token, and
    compare all the outputs before it.
- for t in range(1, T): => for t in range(T - 1, T):
  if not torch.allclose(before[:, :t], after[:, :t], atol=1e-6): => if not torch.allclose(before[:, :1], after[:, :1], atol=1e-6):
- for t in range(1, T): => for t in range(T - 1, T):
  if not torch.allclose(before[:, :t], after[:, :t], atol=1e-6): => if not torch.allclose(before[:, t - 1 : t], after[:, t - 1 : t], atol=1e-6):
zeros: The test input is all zeros: many leaks cannot show there. Use random numbers.
- x = torch.randn(1, T, C, generator=generator) => x = torch.zeros(1, T, C)
constant_tokens: Tokens are set to a constant (zeros or ones) as the change, and start as one too: use random numbers for both.
- x = torch.randn(1, T, C, generator=generator) => x = torch.ones(1, T, C)
  changed[:, t] = torch.randn(C, generator=generator) => changed[:, t] = 0.0
not_a_number: NaN is used as the change. It spreads through any mask (0 × NaN is NaN), so causal attention is accused wrongly.
- changed[:, t] = torch.randn(C, generator=generator) => changed[:, t] = float('nan')
gradients_only: Only gradients are looked at: a function that computes without them (`no_grad`, rounding) fails or looks innocent. Change a token and
    compare instead.
- |
  x = torch.randn(1, T, C, generator=torch.Generator().manual_seed(0), requires_grad=True)
  out = attend(x)
  for t in range(T - 1):
      (grad,) = torch.autograd.grad(out[0, t].sum(), x, retain_graph=True)
      if grad[0, t + 1 :].abs().max() > 1e-9:
          return True
  return False
- |
  x = torch.randn(1, T, C, generator=torch.Generator().manual_seed(0), requires_grad=True)
  out = attend(x)
  if not out.requires_grad:
      return False
  for t in range(T - 1):
      (grad,) = torch.autograd.grad(out[0, t].sum(), x, retain_graph=True, allow_unused=True)
      if grad is not None and grad[0, t + 1 :].abs().max() > 1e-9:
          return True
  return False
- |
  g = torch.Generator().manual_seed(0)
  weight = torch.randn(C, generator=g)
  x = torch.randn(1, T, C, generator=g, requires_grad=True)
  out = attend(x)
  for t in range(T):
      (grad,) = torch.autograd.grad((out[0, t] * weight).sum(), x, retain_graph=True)
      if grad is not None and grad[0, t + 1 :].abs().sum() > 1e-9:
          return True
  return False
- |
  g = torch.Generator().manual_seed(0)
  weight = torch.randn(C, generator=g)
  x = torch.randn(1, T, C, generator=g, requires_grad=True)
  out = attend(x)
  for t in range(T if out.requires_grad else 0):
      (grad,) = torch.autograd.grad((out[0, t] * weight).sum(), x, retain_graph=True, allow_unused=True)
      if grad is not None and grad[0, t + 1 :].abs().sum() > 1e-9:
          return True
  return False
tensor_returned (slip): A tensor is returned (`.any()` without bool): True or False is asked for.
- in one_token_fails
  before, gaps = attend(x.clone()).clone(), [] =>
      before = attend(x.clone()).detach().clone()
      leaks = torch.tensor(False)
  gaps.append((attend(y)[:, :t] - before[:, :t]).abs().max().item()) => leaks = leaks | ((attend(y).detach()[:, :t] - before[:, :t]).abs() > 1e-6).any()
  return max(gaps) > 1e-6 => return leaks
integer_returned (slip): A number is returned: True or False is asked for.
- return True => return 1
  return False => return 0
sizes_ignored: T (or C) is ignored: the function is always tried with the same number of tokens or features.
- generator = =>
      T, C = 6, 8
      generator =
all_must_leak: The answer is True only if *every* change is noticed (`all` where `any` belongs): a leak from one position is enough.
- in inverted
  not torch => torch
past_changed_inverted: Earlier tokens are changed and later outputs compared, and the answer is the wrong way round: a change of a *later* token must
    leave the *earlier* outputs alone.
- for t in range(1, T): => for t in range(1):
  if not torch.allclose(before[:, :t], after[:, :t], atol=1e-6): => if torch.allclose(before[:, 1:], after[:, 1:]):
- for t in range(1, T): => for t in range(T - 1):
  if not torch.allclose(before[:, :t], after[:, :t], atol=1e-6): => if torch.allclose(before[:, t + 1 :], after[:, t + 1 :]):
past_changed (missed): Earlier tokens are changed and later outputs compared: that finds functions that see the *past*, which is allowed.
- for t in range(1, T) => for t in range(T - 1)
  before[:, :t], after[:, :t] => before[:, t + 1 :], after[:, t + 1 :]
answer_remembered: The answer of the first call is kept and given again for another function: keep no state.
- |
  def leaks(attend, T, C):
      g = torch.Generator().manual_seed(0)
      for scale in (1.0, 10.0) * 5:
          x = torch.randn(1, T, C, generator=g) * scale
          before = attend(x.clone()).detach().clone()
          for t in range(1, T):
              y = x.clone()
              y[:, t] = torch.randn(C, generator=g) * scale
              if not torch.allclose(before[:, :t], attend(y).detach()[:, :t], atol=1e-6):
                  return True
      return False


  def sees_the_future(attend, T=6, C=8, known={}):
      if (T, C) not in known:
          known[T, C] = leaks(attend, T, C)
      return known[T, C]
other_signature (slip): The arguments have other names: keep the signature sees_the_future(attend, T=6, C=8), so that they may be given by name.
- attend => model
- T=6, C=8 => length=6, width=8
  generator = =>
      T, C = length, width
      generator =
""",
    right=r"""
replace_the_rest:
- |
  g = torch.Generator()
  g.manual_seed(123)
  for size in (10, 1):
      x = size * torch.randn(1, T, C, generator=g)
      other = size * torch.randn(1, T, C, generator=g)
      base = attend(x.clone()).clone()
      for t in range(T - 1):
          y = torch.cat([x[:, : t + 1], other[:, t + 1 :]], dim=1)
          if not torch.equal(attend(y)[0, : t + 1], base[0, : t + 1]):
              return True
  return False
difference_matrix:
- |
  def _moved(attend, x, t, g):
      y = x.clone()
      y[0, t] = 3 * x.std() * torch.randn(x.shape[-1], generator=g)
      with torch.no_grad():
          a = attend(x.clone()).clone()
          b = attend(y)
      return (a - b).abs().amax(dim=-1)[0] > 1e-7

  def sees_the_future(attend, T=6, C=8):
      g = torch.Generator().manual_seed(7)
      inputs = [size * torch.randn(1, T, C, generator=g) for size in (1.0, 10.0)]
      return any(bool(_moved(attend, x, t, g)[:t].any()) for x in inputs for t in range(T))
from_the_end:
- |
  gen = torch.Generator().manual_seed(42)
  leak = False
  for trial in range(3):
      x = torch.empty(1, T, C).normal_(0, 4.0**trial, generator=gen)
      for t in reversed(range(1, T)):
          y = x.clone()
          y[:, t, :] += torch.empty(C).normal_(generator=gen)
          one, two = attend(x.clone()).clone(), attend(y.clone())
          leak = leak or (one[:, :t] - two[:, :t]).abs().max().item() > 1e-7
  return bool(leak)
""",
)
