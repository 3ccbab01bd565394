"""`sliding_window_mask`: open exactly from the token itself back to the edge of the window, for windows narrow and wide.

The mistakes: off by one, one side only, both sides, blocks or a fixed window instead of one that slides.
"""

from __future__ import annotations

from autograder.spec.compare import same_tensor
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.student import Student

sliding_window_mask = reference("sliding_window_mask")


def _compared(student: Student, T: int, window: int) -> None:
    with student.case():
        where = f"for T = {T} and window = {window}"
        got = student.value("sliding_window_mask", T, window, where=where)
        same_tensor(got, sliding_window_mask(T, window), "The mask", where)


def _slides(student: Student) -> None:
    for T, window in ((5, 2), (6, 3), (8, 3), (7, 4), (9, 5), (3, 2), (40, 7), (130, 33), (520, 129)):
        _compared(student, T, window)


def _edges(student: Student) -> None:
    for T, window in ((6, 1), (5, 4), (5, 5), (5, 6), (4, 9), (7, 200), (1, 1), (1, 3), (2, 1), (2, 2)):
        _compared(student, T, window)
    with student.case():
        named, where = {"T": 4, "window": 2}, "with arguments given by name"
        got = student.call("sliding_window_mask", [], named, where=where)["value"]
        same_tensor(got, sliding_window_mask(4, 2), "The mask", where)


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("open within the window, blocked before and after it", 2.0, _slides),
        Check("windows of 1, of T and of more than T", 1.0, _edges),
    ],
    working=r"""
import torch
from torch import nn

def sliding_window_mask(T, window):
    causal = nn.Transformer.generate_square_subsequent_mask(T).isinf()
    return causal | causal.T.roll(window - 1, dims=0).tril(-window)
""",
    takes="number",
    gives="tensor",
    slips=("nothing_returned", "double_precision", "squeezed", "rounded", "list_returned", "array_returned"),
    wrong=r"""
one_too_wide (slip): The window is one too wide: the token itself belongs to it, so with a window of 2 a token sees itself and one before it.
- >= window => > window
one_too_narrow (slip): The window is one too narrow: with a window of 2 a token sees itself and one before it.
- >= window => >= max(window - 1, 1) || >= window - 1
inverted: True and False are swapped: here True = blocked, so the window is False.
- (behind < 0) | (behind >= window) => (behind >= 0) & (behind < window)
and (missed): The two rules are joined with *and*: no key is both in the future and too far back, so nothing is blocked. A key is blocked by the one *or* the other (`|`).
- | (behind => & (behind
causal_only (missed): Only the future is blocked: keys further back than the window must be blocked, too.
- (behind < 0) | (behind >= window) => behind < 0
future_open: Only the distant past is blocked: the future must be blocked, too.
- (behind < 0) | (behind >= window) => behind >= window
both_sides: The window opens to both sides, so each token sees the next ones: the future stays blocked.
- (behind < 0) | (behind >= window) => behind.abs() >= window
centred: The window is laid around the token, half before and half after it: it ends with the token itself, and the future stays blocked.
- (behind < 0) | (behind >= window) => behind.abs() > window // 2 || behind.abs() >= (window + 1) // 2
half_window: The window is only half as long as it should be: the token itself and window − 1 tokens before it are open.
- >= window => > window // 2 || > (window - 1) // 2
transposed: Rows and columns are exchanged: the window lies in the future instead of the past. Rows are queries, columns are keys.
- behind = t[:, None] - t[None, :] => behind = t[None, :] - t[:, None]
diagonal_blocked: The diagonal is blocked, so a token does not see itself.
- behind < 0 => behind <= 0
window_before_the_token: The token itself is blocked and the window lies before it: it ends with the token itself.
- (behind < 0) | (behind >= window) => (behind <= 0) | (behind > window)
next_token_open: Each token may see the next one, which is the very token it has to predict.
- behind < 0 => behind < -1
blocks: The text is cut into blocks of the window's length, each seen from within. A window slides: each token has its own.
- (behind >= window) => (t[:, None] // window != t // window)
first_tokens: Every row sees the same few tokens, those at the beginning. A window slides: each token has its own.
- (behind >= window) => (t >= window)
last_tokens: Every row sees the same few tokens, those at the end. A window slides: each token has its own.
- (behind >= window) => (t < T - window)
first_rows_blocked: The first rows are blocked although the keys that they have are near enough: a row at the beginning has fewer open keys, not none.
- (behind >= window) => (behind >= window) | (t[:, None] < window - 1)
wraps_round: The window wraps round: the first rows see the last tokens, which are their future.
- (behind < 0) | (behind >= window) => behind % T >= window
edge_only: Only one diagonal of the past is blocked: everything from the edge of the window back is too far.
- (behind >= window) => (behind == window)
dilated: Only every window-th token is open: the window is made of neighbours.
- (behind >= window) => (behind % window != 0)
window_ignored: The window's length is fixed: use the argument `window`.
- >= window => >= 2 || >= 3 || >= 4 || >= 5
window_from_length: The window's length is taken from T: use the argument `window`.
- >= window => >= T // 2 || >= (T + 1) // 2
arguments_swapped (slip): T and the window are swapped: T tells how large the mask is.
- torch.arange(T) => torch.arange(window)
  >= window => >= T
size_of_window (slip): The mask is as large as the window: it has T rows and T columns.
- torch.arange(T) => torch.arange(min(T, window)) || torch.arange(window)
wide_window_refused (slip): A window of T or more fails or is refused: it leaves the plain causal mask.
- |
  if window > T:
      raise ValueError('the window is too wide')
  t = torch.arange(T)
  behind = t[:, None] - t[None, :]
  return (behind < 0) | (behind >= window)
- |
  assert window < T
  t = torch.arange(T)
  behind = t[:, None] - t[None, :]
  return (behind < 0) | (behind >= window)
wide_window_opens (slip): A window of T or more leaves the plain causal mask; yours opens, or blocks, something else.
- return (behind < 0) | (behind >= window) =>
      if window >= T:
          return torch.zeros(T, T, dtype=torch.bool)
      return (behind < 0) | (behind >= window)
- return (behind < 0) | (behind >= window) => return (behind < 0) | (behind >= min(window, T - 1))
loop_ends_early (slip): A loop stops one too early, so the last row is never written: `range(n)` ends at n − 1 already.
- return (behind < 0) | (behind >= window) =>
      mask = (behind < 0) | (behind >= window)
      mask[-1] = True
      return mask
- return (behind < 0) | (behind >= window) =>
      mask = (behind < 0) | (behind >= window)
      mask[-1] = False
      return mask
first_token_open: The first token is open for every row. (Some models do keep it in sight; here the window alone decides.)
- (behind >= window) => (behind >= window) & (t > 0)
floats (slip): The mask is a float tensor of ones and zeros: a boolean tensor is asked for.
- return (behind < 0) | (behind >= window) => return ((behind < 0) | (behind >= window)).float()
integers (slip): The mask is an integer tensor: a boolean tensor is asked for.
- return (behind < 0) | (behind >= window) => return ((behind < 0) | (behind >= window)).long()
- return (behind < 0) | (behind >= window) => return ((behind < 0) | (behind >= window)).int()
- return (behind < 0) | (behind >= window) => return ((behind < 0) | (behind >= window)).byte()
infinities: The mask holds 0 and −inf, to be added to scores: here a boolean mask is asked for, True = blocked.
- return (behind < 0) | (behind >= window) => return torch.zeros(T, T).masked_fill((behind < 0) | (behind >= window), float('-inf'))
- return (behind < 0) | (behind >= window) => return torch.zeros(T, T).masked_fill((behind < 0) | (behind >= window), -1e9)
distances: The distances are returned: say for each of them whether it is blocked.
- return (behind < 0) | (behind >= window) => return behind
leading_dimension (slip): The mask has an extra leading dimension: (T, T) is asked for.
- return (behind < 0) | (behind >= window) => return ((behind < 0) | (behind >= window))[None]
- return (behind < 0) | (behind >= window) => return ((behind < 0) | (behind >= window))[None, None]
pair_returned: Two masks are returned one by one: join them with `|` into one.
- (behind < 0) | (behind >= window) => behind < 0, behind >= window
python_or (missed): `or` and `and` ask a whole tensor for one truth value, which fails. Join entry by entry with `|`.
- | (behind => or (behind
everything_blocked (missed): The mask blocks everything: all entries are True.
- (behind < 0) | (behind >= window) => behind < T
rounded (missed):
size_limited: The number of tokens, or the window, has a fixed maximum: the mask must be (T, T) for every T.
- torch.arange(T) => torch.arange(min(T, 64)) || torch.arange(min(T, 128)) || torch.arange(min(T, 512))
- >= window => >= min(window, 64)
other_signature (slip): The arguments have other names: keep the signature sliding_window_mask(T, window), so that they may be given by name.
- window): => width):
  >= window) => >= width)
- mask(T, => mask(n,
  torch.arange(T) => torch.arange(n)
""",
    right=r"""
two_triangles:
- |
  ones = torch.ones(T, T, dtype=torch.bool)
  return ones.triu(diagonal=1) | ones.tril(diagonal=-window)
one_band:
- |
  band = torch.ones(T, T, dtype=torch.bool).tril().triu(diagonal=-(window - 1))
  return ~band
on_pytorchs_causal_mask:
- |
  far = torch.ones(T, T).tril(-window).bool()
  return nn.Transformer.generate_square_subsequent_mask(T).isinf().logical_or(far)
loops:
- |
  mask = torch.ones(T, T, dtype=torch.bool)
  for t in range(T):
      for s in range(max(0, t - window + 1), t + 1):
          mask[t, s] = False
  return mask
rows_by_slices:
- |
  rows = []
  for t in range(T):
      row = torch.full((T,), True)
      row[max(t + 1 - window, 0) : t + 1] = False
      rows.append(row)
  return torch.stack(rows)
list_comprehension:
- |
  return torch.tensor([[not t - window < s <= t for s in range(T)] for t in range(T)])
flex_attention:
- |
  from torch.nn.attention.flex_attention import and_masks, create_mask
  rules = and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < window)
  return ~create_mask(rules, None, None, T, T, device='cpu')[0, 0]
""",
)
