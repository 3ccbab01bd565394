"""`cached_attention`: new tokens against kept keys and values, in one piece and in many, as attention over the whole text.

The judge's expectation is PyTorch's own attention over the whole text. The mistakes are about the mask of new tokens
behind old ones, what is kept, in which order, and what is computed again.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from autograder.spec.compare import a_pair, a_tensor, same_gradients, same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import define_in_judge, device_is_kept, gradients_of, normal
from autograder.spec.student import Student

cached_attention = reference("cached_attention")

Tensors = tuple[torch.Tensor, ...]

# Attention with the parts of notebook 07, its weights given, that counts the rows which pass through each of them. The
# numbers are no attributes of the layers: what lies there could be set back.
_ATTENTION = """
def make(weights, biases):
    rows = {}

    class Counting(nn.Linear):
        def forward(self, x):
            rows[self.place] = rows.get(self.place, 0) + x.numel() // x.shape[-1]
            return super().forward(x)

    class Attention(nn.Module):
        def counted(self):
            return list(rows.values())

    attention = Attention()
    for name, weight, bias in zip(("q_proj", "k_proj", "v_proj", "out_proj"), weights, biases):
        layer = Counting(len(weight), len(weight)).to(weight.dtype)
        layer.weight.data.copy_(weight)
        layer.bias.data.copy_(bias)
        layer.place = name
        setattr(attention, name, layer)
    return attention
"""

_ROWS = """
def rows(attention):
    return attention.counted()
"""


class _Text:
    """A text of T tokens, the attention that reads it, and what PyTorch's own says of it."""

    def __init__(self, B: int, T: int, C: int, H: int, dtype: torch.dtype = torch.float32, loud: float = 1.0) -> None:
        self.H, self.T = H, T
        self.x = normal(B, T, C, dtype=dtype)
        self.weights = [normal(C, C, scale=loud / C**0.5, dtype=dtype) for _ in range(4)]
        self.biases = [normal(C, scale=0.5, dtype=dtype) for _ in range(4)]
        theirs = nn.MultiheadAttention(C, H, batch_first=True, dtype=dtype)
        with torch.no_grad():
            theirs.in_proj_weight.copy_(torch.cat(self.weights[:3]))
            theirs.in_proj_bias.copy_(torch.cat(self.biases[:3]))
            theirs.out_proj.weight.copy_(self.weights[3])
            theirs.out_proj.bias.copy_(self.biases[3])
            future = torch.ones(T, T, dtype=torch.bool).triu(1)
            self.out = theirs(self.x, self.x, self.x, attn_mask=future, need_weights=False)[0]
            self.keys, self.values = (
                (self.x @ self.weights[i].T + self.biases[i]).unflatten(-1, (H, -1)).transpose(1, 2) for i in (1, 2)
            )

    def attention(self, student: Student) -> Any:
        making = student.probe("make", _ATTENTION)
        return student.call(making, [self.weights, self.biases], keep=True, record=False)["value"]

    def before(self, S: int) -> Tensors | None:
        """The cache after S tokens."""
        return None if S == 0 else (self.keys[:, :, :S].contiguous(), self.values[:, :, :S].contiguous())

    def arguments(self, student: Student, S: int, T: int) -> list[Any]:
        """What the call for the T tokens after the first S is given."""
        cache = self.before(S)
        given = [self.attention(student), self.x[:, S : S + T].contiguous(), self.H]
        return given if cache is None else [*given, cache]


def _words(S: int, T: int) -> str:
    new = "one new token" if T == 1 else f"{T} new tokens"
    return f"for {new} " + ("without a cache" if S == 0 else f"after {S} in the cache")


def _called(student: Student, text: _Text, S: int, T: int) -> tuple[torch.Tensor, Any]:
    out, cache = a_pair(
        student.value("cached_attention", *text.arguments(student, S, T), where=_words(S, T)), "(out, cache)"
    )
    return a_tensor(out, "The first of the results, out,"), cache


def _outputs(student: Student, pieces: list[tuple[_Text, int, int]]) -> None:
    for text, S, T in pieces:
        with student.case():
            out, _ = _called(student, text, S, T)
            same_tensor(out, text.out[:, S : S + T], "out", _words(S, T))


def _without_cache(student: Student) -> None:
    _outputs(student, [(_Text(2, 5, 12, 3), 0, 5), (_Text(3, 1, 8, 2), 0, 1), (_Text(1, 7, 6, 1, loud=3.0), 0, 7)])


def _one_token(student: Student) -> None:
    _outputs(student, [(_Text(2, 6, 12, 3), 5, 1), (_Text(3, 2, 8, 4), 1, 1), (_Text(1, 9, 10, 2, loud=3.0), 8, 1)])


def _several_tokens(student: Student) -> None:
    text = _Text(2, 9, 12, 4)
    _outputs(student, [(text, 4, 3), (text, 2, 7), (_Text(3, 6, 10, 2), 3, 2), (_Text(1, 7, 6, 3, loud=3.0), 1, 5)])
    _outputs(student, [(_Text(1, 1030, 4, 2), 1027, 3)])  # as long as real texts are


def _what_is_kept(student: Student) -> None:
    for text, S, T in (
        (_Text(2, 5, 12, 3), 0, 5),
        (_Text(2, 6, 12, 2), 5, 1),
        (_Text(3, 9, 8, 4), 2, 4),
    ):
        with student.case():
            _, cache = _called(student, text, S, T)
            where = _words(S, T)
            if not isinstance(cache, (tuple, list)) or len(cache) != 2:
                raise Wrong(f"The cache that is returned should be the pair (keys, values) {where}.", "form")
            for got, expected, name in zip(cache, (text.keys, text.values), ("keys", "values"), strict=True):
                same_tensor(got, expected[:, :, : S + T], f"In the cache that is returned, {name}", where)


def _work(student: Student) -> None:
    for text, S, T in ((_Text(2, 7, 12, 3), 0, 4), (_Text(2, 7, 12, 3), 6, 1), (_Text(3, 8, 8, 2), 4, 3)):
        with student.case():
            arguments = text.arguments(student, S, T)
            answer = student.call("cached_attention", arguments)
            out = a_pair(answer["value"], "(out, cache)")[0]
            same_tensor(out, text.out[:, S : S + T], "out", _words(S, T))
            kept = arguments[3] if S else ()
            unchanged(answer["inputs"], [arguments[1], *kept], "x, cache")
            rows = student.value(student.probe("rows", _ROWS), arguments[0])
            if any(row > len(text.x) * T for row in rows):
                raise Wrong(
                    "More goes through the projections than the new tokens: what was computed before is computed "
                    "again, which is what the cache is there to save.",
                    "computed_again",
                )
    _gradients(student)


def _gradients(student: Student) -> None:
    text = _Text(2, 6, 8, 2)
    mine = define_in_judge(_ATTENTION, "make")(text.weights, text.biases)
    for S, T in ((0, 4), (3, 2)):
        with student.case():
            arguments = text.arguments(student, S, T)
            inputs = [arguments[1], *(arguments[3] if S else ())]
            expected, upstream = gradients_of(
                lambda x, *cache: cached_attention(mine, x, text.H, cache or None)[0], inputs
            )
            where = _words(S, T)
            gradients = student.call("cached_attention", arguments, where=where, upstream=upstream)["gradients"]
            names = ["x", "the kept keys", "the kept values"]
            same_gradients(gradients.get("inputs", []), expected, names, where)


def _double(student: Student) -> None:
    for S, T in ((0, 4), (3, 2)):
        with student.case():
            text = _Text(2, 5, 8, 2, dtype=torch.float64)
            out, cache = _called(student, text, S, T)
            same_tensor(out, text.out[:, S : S + T], "out", "in float64")
            for got, expected in zip(cache, (text.keys, text.values), strict=True):
                same_tensor(got, expected[:, :, : S + T], "The cache", "in float64")


def _device(student: Student) -> None:
    text = _Text(2, 6, 8, 2)
    for S, T in ((0, 4), (3, 2), (5, 1)):
        with student.case():
            out, _ = _called(student, text, S, T)  # a value first: an error is no merit
            same_tensor(out, text.out[:, S : S + T], "out", _words(S, T))
            device_is_kept(student, "cached_attention", text.arguments(student, S, T))


EXERCISE = Exercise(
    points=5,
    checks=[
        Check("without a cache: causal attention", 1.0, _without_cache),
        Check("one new token behind the cache", 1.25, _one_token),
        Check("several new tokens behind the cache", 1.25, _several_tokens),
        Check("the keys and values that are kept", 1.0, _what_is_kept),
        Check("only new tokens computed, inputs unchanged", 0.5, _work, further=True),
        Check("float64", 0.25, _double, further=True),
        Check("stays on the inputs' device", 0.25, _device, further=True),
    ],
    working=r"""
def cached_attention(attention, x, num_heads, cache=None):
    B, T, C = x.shape
    q, k, v = [p(x).reshape(B, T, num_heads, C // num_heads).permute(0, 2, 1, 3) for p in (attention.q_proj, attention.k_proj, attention.v_proj)]
    if cache is not None:
        k = torch.cat((cache[0], k), dim=-2)
        v = torch.cat((cache[1], v), dim=-2)
    S = k.shape[2] - T
    blocked = torch.arange(S + T, device=x.device) > torch.arange(S, S + T, device=x.device)[:, None]
    scores = torch.einsum("bhtd,bhsd->bhts", q, k) * (C // num_heads) ** -0.5
    weights = scores.masked_fill(blocked, float("-inf")).softmax(dim=-1)
    y = torch.einsum("bhts,bhsd->bthd", weights, v).reshape(B, T, C)
    return attention.out_proj(y), (k, v)
""",
    gives="pair",
    slips=("nothing_returned", "gradient_cut_off"),
    wrong=r"""
no_mask (missed): There is no mask, so a new token sees the new ones after it: each sees the kept ones, and the new ones up to itself.
- , attn_mask=allowed =>
- attn_mask=allowed => attn_mask=allowed if cache is None else None
scaled_keys_kept: The keys that are kept are scaled already: keep what k_proj gives, and scale the scores.
- |
  q, k, v = (f(x).unflatten(-1, (num_heads, -1)).transpose(1, 2) for f in (attention.q_proj, attention.k_proj, attention.v_proj))
  k = k * k.shape[-1] ** -0.5
  if cache is not None:
      k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
  T = x.shape[1]
  allowed = torch.ones(T, k.shape[2], dtype=torch.bool, device=x.device).tril(k.shape[2] - T)
  heads = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, scale=1.0)
  return attention.out_proj(heads.transpose(1, 2).flatten(2)), (k, v)
mask_from_the_top_left: The mask starts at the first key, as if nothing were kept (`is_causal=True` does so too), so new token t sees only the first t
    keys: the new tokens stand behind the S kept ones, and the diagonal moves S to the right.
- .tril(S) => .tril()
- attn_mask=allowed => is_causal=T > 1
mask_of_a_fixed_size (slip): The mask is made for a fixed number of tokens, and fails where the text is longer: make it [T, S + T].
- torch.ones(T, S + T, dtype=torch.bool, device=x.device).tril(S) => torch.ones(512, 512, dtype=torch.bool, device=x.device).tril()[S : S + T, : S + T]
one_token_ahead (slip): The mask leaves one token too many open: the diagonal is that of the last kept token and no further.
- .tril(S) => .tril(S + 1)
not_itself (slip): A new token may not see itself: it sees everything up to and including itself.
- .tril(S) => .tril(S - 1)
mask_inverted: The mask is the wrong way round: PyTorch's function takes True for what may be seen.
- attn_mask=allowed => attn_mask=~allowed
- .tril(S) => .triu(S)
  attn_mask=allowed => attn_mask=~allowed | torch.eye(T, S + T, dtype=torch.bool, device=x.device)
new_tokens_blind: The new tokens see only the kept ones and themselves, not one another.
- .tril(S) => .tril(S)
  heads = F => allowed[:, S:] &= torch.eye(T, dtype=torch.bool, device=x.device); heads = F
cache_ignored (missed): The kept keys and values are not used: the new tokens see only one another.
- torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2) => k, v
- if cache is not None: => if cache is not None and x.shape[1] == 1:
new_ones_in_front (slip): The new keys and values are put in front of the kept ones: they come after them.
- torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2) => torch.cat([k, cache[0]], dim=2), torch.cat([v, cache[1]], dim=2)
keys_only: Only the keys are kept and put together; the values belong to them, and are needed as well.
- |
  q, k, v = (f(x).unflatten(-1, (num_heads, -1)).transpose(1, 2) for f in (attention.q_proj, attention.k_proj, attention.v_proj))
  T = x.shape[1]
  if cache is not None:
      k = torch.cat([cache[0], k], dim=2)
      v = torch.cat([torch.zeros_like(cache[1]), v], dim=2)
  S = k.shape[2] - T
  allowed = torch.ones(T, S + T, dtype=torch.bool, device=x.device).tril(S)
  heads = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
  return attention.out_proj(heads.transpose(1, 2).flatten(2)), (k, v)
keys_and_values_swapped (slip): Keys and values change places on the way in or out of the cache: (keys, values).
- torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2) => torch.cat([cache[1], k], dim=2), torch.cat([cache[0], v], dim=2)
- , (k, v) => , (v, k)
new_ones_returned: Only the new keys and values are returned: the next call needs those of all tokens so far.
- , (k, v) => , (k[:, :, S:], v[:, :, S:])
old_cache_returned: The old cache is returned: the new tokens' keys and values belong in it.
- , (k, v) => , (cache or (k, v))
input_kept (missed): The tokens' vectors are kept instead of their keys and values, so those would have to be computed again.
- , (k, v) => , (x, x)
heads_not_split_in_the_cache (slip): The cache has another shape than [B, H, S, d_k]: keys and values are kept with their heads split.
- , (k, v) => , (k.transpose(1, 2), v.transpose(1, 2)) || , (k.transpose(1, 2).flatten(2), v.transpose(1, 2).flatten(2))
one_tensor (slip): The cache is one tensor: the pair (keys, values) is asked for.
- , (k, v) => , torch.stack([k, v])
queries_cached: Old tokens' queries take part too (here the last kept keys stand in for them): out has one row for each *new* token.
- heads = F => q = torch.cat([k[:, :, :S], q], dim=2) if S else q; allowed = torch.ones(S + T, S + T, dtype=torch.bool, device=x.device).tril(); heads = F
last_token_only: Only the last new token is answered: out has a row for each of them.
- heads.transpose(1, 2).flatten(2)) => heads.transpose(1, 2).flatten(2)[:, -1:])
no_scale (slip): The scores are not divided by the root of d_k.
- attn_mask=allowed => attn_mask=allowed, scale=1.0
scale_of_the_width (slip): The scores are divided by the root of the whole width: each head divides by the root of its own, d_k.
- attn_mask=allowed => attn_mask=allowed, scale=x.shape[-1] ** -0.5
heads_cut_wrongly: The heads are split or merged without the transpose: the shape is right, and rows mix tokens.
- .transpose(1, 2).flatten(2)) => .reshape(x.shape))
- .unflatten(-1, (num_heads, -1)).transpose(1, 2) => .reshape(x.shape[0], num_heads, x.shape[1], -1)
- .unflatten(-1, (num_heads, -1)).transpose(1, 2) => .reshape(x.shape[0], num_heads, x.shape[1], -1)
  .transpose(1, 2).flatten(2)) => .reshape(x.shape))
one_head (slip): num_heads is not used: there is one head as wide as everything.
- (num_heads, -1) => (1, -1)
no_out_proj (slip): out_proj is forgotten: it is the last step.
- attention.out_proj(heads.transpose(1, 2).flatten(2)) => heads.transpose(1, 2).flatten(2)
wrong_projection (slip): A projection is used for something else than its name says: q_proj for queries, k_proj for keys, v_proj for values.
- (attention.q_proj, attention.k_proj, attention.v_proj) => (attention.k_proj, attention.q_proj, attention.v_proj) || (attention.q_proj, attention.k_proj, attention.k_proj) || (attention.q_proj, attention.v_proj, attention.k_proj)
residual_added: x is added to the result: that is the block's business.
- return attention.out_proj( => return x + attention.out_proj(
gradient_cut_off:
- return attention.out_proj(heads.transpose(1, 2).flatten(2)), (k, v) => return attention.out_proj(heads.transpose(1, 2).flatten(2)).detach(), (k, v)
- torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2) => torch.cat([cache[0].detach(), k], dim=2), torch.cat([cache[1].detach(), v], dim=2)
computed_again: The kept tokens, or the new ones, go through the projections a second time: the cache is there to save that.
- heads = F => attention.k_proj(x); attention.v_proj(x); heads = F
cache_changed: The cache that is passed in is changed in place: make new tensors (torch.cat does).
- heads = F =>
      if cache is not None:
          cache[0].mul_(1.5)
      heads = F
single_precision: The dtype is not kept: float64 goes in, float32 comes out.
- attention.out_proj(heads.transpose(1, 2).flatten(2)), (k, v) => attention.out_proj(heads.transpose(1, 2).flatten(2)).float(), (k.float(), v.float())
device_dropped (slip): A tensor is made without `device=x.device`: on a GPU the call fails.
- dtype=torch.bool, device=x.device => dtype=torch.bool
only_out (missed): Only out is returned: without the grown cache the next call cannot go on.
- , (k, v) =>
list_of_two (slip): A list is returned: the pair (out, cache) is asked for.
- return attention.out_proj(heads.transpose(1, 2).flatten(2)), (k, v) => return [attention.out_proj(heads.transpose(1, 2).flatten(2)), (k, v)]
""",
    right=r"""
bool_mask:
- |
  B, T, C = x.shape
  split = lambda t: t.view(B, T, num_heads, C // num_heads).transpose(1, 2)
  q, k, v = split(attention.q_proj(x)), split(attention.k_proj(x)), split(attention.v_proj(x))
  S = 0
  if cache is not None:
      old_k, old_v = cache
      S = old_k.size(2)
      k, v = torch.cat([old_k, k], 2), torch.cat([old_v, v], 2)
  scores = q @ k.transpose(-2, -1) / math.sqrt(C // num_heads)
  future = torch.ones(T, S + T, dtype=torch.bool, device=x.device).triu(S + 1)
  weights = torch.softmax(scores.masked_fill(future, -math.inf), -1)
  out = (weights @ v).transpose(1, 2).contiguous().view(B, T, C)
  return attention.out_proj(out), (k, v)
one_token_needs_no_mask:
- |
  q, k, v = (f(x).unflatten(-1, (num_heads, -1)).transpose(1, 2) for f in (attention.q_proj, attention.k_proj, attention.v_proj))
  T = x.shape[1]
  if cache:
      k, v = (torch.cat(pair, dim=-2) for pair in zip(cache, (k, v)))
  mask = None
  if T > 1:
      places = torch.arange(k.shape[2], device=x.device)
      mask = places <= places[-T:, None]
  y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
  y = y.transpose(1, 2).reshape(x.shape)
  return attention.out_proj(y), (k, v)
query_by_query:
- |
  H, (B, T, C) = num_heads, x.shape
  Q, K, V = (layer(x).reshape(B, T, H, C // H).transpose(1, 2) for layer in (attention.q_proj, attention.k_proj, attention.v_proj))
  keys, values = (K, V) if cache is None else (torch.cat((cache[0], K), dim=2), torch.cat((cache[1], V), dim=2))
  S = keys.shape[2] - T
  rows = []
  for t in range(T):
      seen = slice(0, S + t + 1)
      weights = (Q[:, :, t : t + 1] @ keys[:, :, seen].mT / (C // H) ** 0.5).softmax(-1)
      rows.append(weights @ values[:, :, seen])
  merged = torch.cat(rows, dim=2).transpose(1, 2).reshape(B, T, C)
  return attention.out_proj(merged), [keys, values]
""",
)
