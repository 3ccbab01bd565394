"""`attention_maps`: every layer and head of small models, the tokens, and the model left as it was.

The mistakes: fused attention, dimensions swapped, averaged or dropped, ids for tokens, dropout or another mode.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import torch

from autograder.spec.compare import a_pair, a_tensor, close, dtype_name, kind, same_tensor
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import raises_error
from autograder.spec.student import Student

from .common import (
    DOG,
    DROPOUT,
    UNTIED,
    Sizes,
    asked,
    forms_of,
    manners,
    own_model,
    own_tokenizer,
    their_model,
    their_tokenizer,
)

_LOOKERS = (
    Sizes(2, 4, 16, 24, seed=21),
    Sizes(3, 2, 12, 30, seed=22, more=(UNTIED, ("activation_function", "relu"))),
    Sizes(4, 5, 20, 20, seed=23, more=(("n_inner", 11),)),
)

_SMALLEST = (Sizes(1, 3, 12, 20, seed=24), Sizes(3, 1, 8, 20, seed=25), Sizes(1, 1, 8, 20, seed=26))


@cache
def _weights(sizes: Sizes, text: str, dtype: str) -> torch.Tensor:
    ids = torch.tensor([own_tokenizer()(text).input_ids])
    with torch.no_grad():
        return torch.cat(own_model(sizes, dtype)(ids, output_attentions=True).attentions)


def _same_maps(value: Any, sizes: Sizes, text: str, where: str) -> None:
    weights = a_tensor(a_pair(value, "(tokens, weights)")[1], f"The second of the results, the weights, {where}")
    dtype = dtype_name(weights) if "float64" in where else "float32"
    expected = _weights(sizes, text, "float64" if "float64" in where else dtype)
    L, H, T, _ = expected.shape
    where = f"for L = {L}, H = {H}, T = {T} {where}"
    if weights.shape == expected.shape and weights.dtype == expected.dtype and not close(weights, expected):
        rows = weights.sum(-1)
        if not torch.allclose(rows, torch.ones_like(rows), atol=1e-3):
            raise ValuesDiffer(
                f"The rows do not sum to 1 {where}: is each row one position's weights over what it looks at?", "rows"
            )
        if T > 1 and weights.triu(1).abs().max() > 1e-4:
            raise ValuesDiffer(f"Positions look at later ones {where}: GPT-2's attention is causal.", "sees_the_future")
    same_tensor(weights, expected, "The weights", where)


def _same_names(value: Any, text: str, where: str) -> None:
    tokens = a_pair(value, "(tokens, weights)")[0]
    if type(tokens) not in (list, tuple):
        raise Wrong(
            f"The first of the results should be a list of tokens {where}; yours is {kind(tokens)}.", "not_a_list"
        )
    ids = own_tokenizer()(text).input_ids
    if len(tokens) != len(ids):
        raise Wrong(f"There should be one string for each of the {len(ids)} tokens {where}; yours are {len(tokens)}.")
    for place, (token, expected) in enumerate(zip(tokens, ids, strict=True), start=1):
        if type(token) is not str:
            raise Wrong(
                f"The tokens should be strings {where}; yours are {kind(token)}: decode the ids.", "ids_for_tokens"
            )
        if token.strip() not in {form.strip() for form in forms_of(expected)}:
            raise ValuesDiffer(f"Token {place} is not the right one {where}.")


def _maps(student: Student, sizes: Sizes, text: str) -> tuple[Any, str]:
    where = f'for "{text}"'
    return asked(
        student, "attention_maps", [their_model(student, sizes), their_tokenizer(student), text], where=where
    ), where


def _maps_values(student: Student) -> None:
    for sizes, text in zip(_LOOKERS, (DOG, " the birds sing because", "The dog was"), strict=True):
        with student.case():
            got, where = _maps(student, sizes, text)
            _same_maps(got, sizes, text, where)


def _maps_small(student: Student) -> None:
    for sizes, text in zip(_SMALLEST, ("The dog", DOG, " it was thirsty"), strict=True):
        with student.case():
            got, where = _maps(student, sizes, text)
            _same_maps(got, sizes, text, where)
    for sizes in (_LOOKERS[0], _SMALLEST[2]):
        with student.case():
            got, where = _maps(student, sizes, ".")
            _same_maps(got, sizes, ".", where)


def _maps_tokens(student: Student) -> None:
    for sizes, text in zip(_LOOKERS, (DOG, "é, the é!", "."), strict=True):
        with student.case():
            got, where = _maps(student, sizes, text)
            _same_names(got, text, where)


def _maps_manners(student: Student) -> None:
    sizes = replace(_LOOKERS[0], seed=27, more=DROPOUT)

    def same(value: Any, where: str) -> None:
        _same_maps(value, sizes, DOG, where)

    manners(student, "attention_maps", [their_tokenizer(student), DOG], same, sizes)
    with student.case():  # whatever way of computing attention the model comes with
        model = their_model(student, sizes)
        student.call((model, "set_attn_implementation"), ["eager"])
        same(
            asked(student, "attention_maps", [model, their_tokenizer(student), DOG]),
            "with eager attention from the start",
        )


def _maps_refused(student: Student) -> None:
    with student.case():
        got, where = _maps(student, _LOOKERS[2], "The dog")
        _same_maps(got, _LOOKERS[2], "The dog", where)
        args = [their_model(student, _LOOKERS[2]), their_tokenizer(student), ""]
        with raises_error("A text without tokens"):
            asked(student, "attention_maps", args)


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("every layer and head of several models", 1.5, _maps_values),
        Check("one layer, one head, one token", 0.75, _maps_small, further=True),
        Check("the tokens", 0.75, _maps_tokens),
        Check("either mode, float64, any device, the model as it was", 0.75, _maps_manners, further=True),
        Check("a text without tokens", 0.25, _maps_refused),
    ],
    working=r"""
def attention_maps(model, tokenizer, text):
    ids = tokenizer(text, return_tensors="pt").input_ids.to(model.device)
    if ids.numel() == 0:
        raise ValueError("text has no tokens")
    mode = model.training
    model.eval()
    H, T = model.config.n_head, ids.shape[1]
    with torch.no_grad():
        states = model(ids, output_hidden_states=True).hidden_states
        maps = []
        for x, block in zip(states, model.transformer.h):
            q, k, _ = block.attn.c_attn(block.ln_1(x)).chunk(3, dim=-1)
            q, k = (t.unflatten(-1, (H, -1)).transpose(1, 2) for t in (q, k))
            scores = q @ k.mT / math.sqrt(q.shape[-1])
            future = torch.ones(T, T, dtype=torch.bool, device=ids.device).triu(1)
            maps.append(scores.masked_fill(future, -torch.inf).softmax(-1)[0])
    model.train(mode)
    return tokenizer.convert_ids_to_tokens(ids[0].tolist()), torch.stack(maps)
""",
    gives="tuple",
    slips=("nothing_returned", "error_of_another_type", "error_returned", "bad_input_accepted"),
    wrong=r"""
fused_attention: The fused attention (sdpa, the default) never keeps its weights, so there are none to stack: call
    `model.set_attn_implementation("eager")` first.
- model.set_attn_implementation("eager")  # the default, "sdpa", is faster because it never keeps the weights =>
- model.set_attn_implementation("eager")  # the default, "sdpa", is faster because it never keeps the weights =>
  weights = torch.cat(attentions) => weights = torch.stack(attentions)[:, 0]
- model.set_attn_implementation("eager")  # the default, "sdpa", is faster because it never keeps the weights =>
  weights = torch.cat(attentions) => weights = attentions[0]
- attentions = model(ids, output_attentions=True).attentions => attentions = model(ids).attentions
batch_kept (slip): The batch dimension is still there: each layer gives [1, H, T, T], and [L, H, T, T] is asked for.
- weights = torch.cat(attentions) => weights = torch.stack(attentions) || weights = torch.stack(attentions, dim=1)
dimensions_squeezed: `squeeze()` without a dimension removes all of size 1, so one layer, one head or one token loses its dimension too: name the
    batch dimension.
- weights = torch.cat(attentions) => weights = torch.stack(attentions).squeeze() || weights = torch.stack([a.squeeze() for a in attentions])
layers_and_heads_swapped (slip): Layers and heads are the wrong way round: weights[l, h] is the map of head h in layer l.
- weights = torch.cat(attentions) => weights = torch.cat(attentions).transpose(0, 1)
- weights = torch.cat(attentions) => weights = torch.cat([a[0] for a in attentions]).view(attentions[0].shape[1], -1, *attentions[0].shape[2:])
joined_along_the_heads (slip): The layers are joined along the heads: L and H are two dimensions.
- weights = torch.cat(attentions) => weights = torch.cat(attentions, dim=1) || weights = torch.cat(attentions, dim=1)[0]
heads_averaged: The heads are averaged: each head has a map of its own.
- weights = torch.cat(attentions) => weights = torch.cat(attentions).mean(dim=1) || weights = torch.cat(attentions).mean(dim=1, keepdim=True)
- weights = torch.cat(attentions) => weights = torch.cat(attentions).mean(dim=1, keepdim=True).expand_as(torch.cat(attentions)).clone()
- weights = torch.cat(attentions) => weights = torch.cat(attentions).amax(dim=1)
layers_averaged: The layers are averaged: each layer has its own maps.
- weights = torch.cat(attentions) => weights = torch.cat(attentions).mean(dim=0) || weights = torch.cat(attentions).mean(dim=0, keepdim=True)
one_layer: Only one layer is returned: outputs.attentions has one tensor for each, and all of them are asked for.
- weights = torch.cat(attentions) => weights = attentions[0] || weights = attentions[0][0] || weights = attentions[-1] || weights = attentions[-1][0]
- weights = torch.cat(attentions) => weights = torch.cat(attentions[:1] * len(attentions)) || weights = torch.cat(attentions[-1:] * len(attentions))
- weights = torch.cat(attentions) => weights = torch.cat(attentions[:-1]) if len(attentions) > 1 else attentions[0]
layers_reversed (slip): The layers are in the wrong order: layer 0 is the one next to the embeddings.
- weights = torch.cat(attentions) => weights = torch.cat(attentions[::-1])
one_head: Only one head of each layer is returned.
- weights = torch.cat(attentions) => weights = torch.cat(attentions)[:, 0] || weights = torch.cat(attentions)[:, :1]
transposed (slip): The maps are transposed: a row belongs to the position that looks and sums to 1, a column to the one looked at.
- weights = torch.cat(attentions) => weights = torch.cat(attentions).mT
last_position: Only what the last position looks at is returned: every position has its row.
- weights = torch.cat(attentions) => weights = torch.cat(attentions)[:, :, -1] || weights = torch.cat(attentions)[:, :, -1:]
first_token_dropped: The first token is left out, or its column set to 0: that much weight falls on it is how GPT-2 works, and worth seeing.
- weights = torch.cat(attentions) => weights = torch.cat(attentions)[..., 1:, 1:]
- weights = torch.cat(attentions) =>
      weights = torch.cat(attentions)
      weights[..., 0] = 0
- weights = torch.cat(attentions) =>
      weights = torch.cat(attentions)
      weights[..., 1:, 0] = 0
- weights = torch.cat(attentions) =>
      weights = torch.cat(attentions)
      weights[..., 1:, 0] = 0
      weights = weights / weights.sum(-1, keepdim=True)
scaled_by_the_largest: The weights are divided by the largest, for the picture: leave them as they are, so that rows sum to 1.
- weights = torch.cat(attentions) =>
      weights = torch.cat(attentions)
      weights = weights / weights.amax(dim=-1, keepdim=True)
softmax_twice: A softmax is taken of the weights: the model has taken it already.
- weights = torch.cat(attentions) => weights = torch.cat(attentions).softmax(dim=-1)
logarithms: These are logarithms of the weights: rows of weights sum to 1.
- weights = torch.cat(attentions) => weights = torch.cat(attentions).log()
scores: These are scores, before the softmax (or what they are divided by, or the mask, is missing): the weights are asked for.
- |
  ids = tokenizer(text, return_tensors="pt").input_ids.to(model.device)
  if ids.numel() == 0:
      raise ValueError("text has no tokens")
  mode = model.training
  model.eval()
  H, T = model.config.n_head, ids.shape[1]
  with torch.no_grad():
      states = model(ids, output_hidden_states=True).hidden_states
      maps = []
      for x, block in zip(states, model.transformer.h):
          q, k, _ = block.attn.c_attn(block.ln_1(x)).chunk(3, dim=-1)
          q, k = (t.unflatten(-1, (H, -1)).transpose(1, 2) for t in (q, k))
          scores = q @ k.mT / math.sqrt(q.shape[-1])
          future = torch.ones(T, T, dtype=torch.bool, device=ids.device).triu(1)
          maps.append(scores[0])
  model.train(mode)
  return tokenizer.convert_ids_to_tokens(ids[0].tolist()), torch.stack(maps)
- |
  ids = tokenizer(text, return_tensors="pt").input_ids.to(model.device)
  if ids.numel() == 0:
      raise ValueError("text has no tokens")
  mode = model.training
  model.eval()
  H, T = model.config.n_head, ids.shape[1]
  with torch.no_grad():
      states = model(ids, output_hidden_states=True).hidden_states
      maps = []
      for x, block in zip(states, model.transformer.h):
          q, k, _ = block.attn.c_attn(block.ln_1(x)).chunk(3, dim=-1)
          q, k = (t.unflatten(-1, (H, -1)).transpose(1, 2) for t in (q, k))
          scores = q @ k.mT / math.sqrt(q.shape[-1])
          future = torch.ones(T, T, dtype=torch.bool, device=ids.device).triu(1)
          maps.append(scores.masked_fill(future, -torch.inf)[0])
  model.train(mode)
  return tokenizer.convert_ids_to_tokens(ids[0].tolist()), torch.stack(maps)
- |
  ids = tokenizer(text, return_tensors="pt").input_ids.to(model.device)
  if ids.numel() == 0:
      raise ValueError("text has no tokens")
  mode = model.training
  model.eval()
  H, T = model.config.n_head, ids.shape[1]
  with torch.no_grad():
      states = model(ids, output_hidden_states=True).hidden_states
      maps = []
      for x, block in zip(states, model.transformer.h):
          q, k, _ = block.attn.c_attn(block.ln_1(x)).chunk(3, dim=-1)
          q, k = (t.unflatten(-1, (H, -1)).transpose(1, 2) for t in (q, k))
          scores = q @ k.mT / math.sqrt(q.shape[-1])
          future = torch.ones(T, T, dtype=torch.bool, device=ids.device).triu(1)
          maps.append(scores.tril()[0])
  model.train(mode)
  return tokenizer.convert_ids_to_tokens(ids[0].tolist()), torch.stack(maps)
no_mask: The causal mask is missing: positions look at later ones, which GPT-2's never do.
- in scores
  scores[ => scores.softmax(-1)[
- in scores
  scores[ => scores.softmax(-1).tril()[
not_scaled (slip): The scores are not divided by √d_k, as the model does.
- in scores
  / math.sqrt(q.shape[-1]) =>
  scores[ => scores.masked_fill(future, -torch.inf).softmax(-1)[
- in scores
  sqrt(q.shape => sqrt(x.shape
  scores[ => scores.masked_fill(future, -torch.inf).softmax(-1)[
no_norm: Queries and keys are computed from the residual stream itself: each block normalises it first (ln_1).
- in scores
  block.ln_1(x) => x
  scores[ => scores.masked_fill(future, -torch.inf).softmax(-1)[
heads_split_wrongly: The heads are cut wrongly out of the queries and keys: split the last dimension into (H, d_k), then transpose.
- in scores
  unflatten(-1, (H, -1)).transpose(1, 2 => reshape(1, H, T, -1
  scores[ => scores.masked_fill(future, -torch.inf).softmax(-1)[
- in scores
  H, -1)).transpose( => -1, H)).permute(0, 3,
  scores[ => scores.masked_fill(future, -torch.inf).softmax(-1)[
hidden_states (missed): These are the hidden states, not the attention weights: ask for `output_attentions=True`.
- attentions = model(ids, output_attentions=True).attentions => attentions = model(ids, output_hidden_states=True).hidden_states
- attentions = model(ids, output_attentions=True).attentions => attentions = model(ids, output_hidden_states=True).hidden_states[1:]
logits (missed): These are the logits of the next token: ask for `output_attentions=True`, and take `.attentions`.
- attentions = model(ids, output_attentions=True).attentions => attentions = [model(ids, output_attentions=True).logits]
not_a_tensor (slip): The weights are a tuple or list with one tensor for each layer: make one tensor of them.
- weights = torch.cat(attentions) => weights = attentions || weights = [a[0] for a in attentions] || weights = torch.cat(attentions).tolist()
- weights = torch.cat(attentions) => weights = torch.cat(attentions).numpy()
float32_forced (slip): The weights should keep the model's dtype.
- weights = torch.cat(attentions) => weights = torch.cat(attentions).float() || weights = torch.cat(attentions).half().float()
half (slip): The weights lose precision: keep the model's dtype.
- weights = torch.cat(attentions) => weights = torch.cat(attentions).half()
ids_for_tokens: The tokens are ids: decode each of them, or use `tokenizer.convert_ids_to_tokens`.
- [tokenizer.decode([i]) for i in ids[0].tolist()] => ids[0].tolist() || ids[0] || ids || [str(i) for i in ids[0].tolist()] || list(ids[0])
one_string: The tokens are decoded together, as one string: one string for each token is asked for.
- [tokenizer.decode([i]) for i in ids[0].tolist()] => tokenizer.decode(ids[0]) || tokenizer.batch_decode(ids) || text || [text]
- [tokenizer.decode([i]) for i in ids[0].tolist()] => list(tokenizer.decode(ids[0])) || list(text)
words_for_tokens: These are the words of the text: the model reads tokens, and a word may be several.
- [tokenizer.decode([i]) for i in ids[0].tolist()] => text.split() || re.findall(r"\w+|[^\w\s]", text)
pair_swapped (slip): The results are the wrong way round: (tokens, weights).
- return [tokenizer.decode([i]) for i in ids[0].tolist()], weights => return weights, [tokenizer.decode([i]) for i in ids[0].tolist()]
only_the_weights (slip): Only the weights are returned: (tokens, weights) is asked for.
- return [tokenizer.decode([i]) for i in ids[0].tolist()], weights => return weights
a_dict (slip): The tuple (tokens, weights) is asked for.
- return [tokenizer.decode([i]) for i in ids[0].tolist()], weights => return {"tokens": [tokenizer.decode([i]) for i in ids[0].tolist()], "weights": weights}
- return [tokenizer.decode([i]) for i in ids[0].tolist()], weights => return [[tokenizer.decode([i]) for i in ids[0].tolist()], weights]
dropout_left_on: Dropout is on when the model comes in training mode, so the result is another one each time: call `model.eval()` first.
- model.eval()  # no dropout: with it, rows would not sum to 1 =>
mode_not_restored: The model is put into eval mode and left there: remember `model.training` and end with `model.train(was_training)`. Whoever was
    training it would go on without dropout and never notice.
- model.train(was_training) =>
- model.train(was_training) => model.train()
device_not_kept: The ids stay on the CPU: move them with `.to(model.device)`, or the function fails as soon as the model is on a GPU.
- .to(model.device) =>
model_frozen: The model's parameters lose requires_grad: use `torch.no_grad()`, which ends with the block.
- model.eval()  # no dropout: with it, rows would not sum to 1 => model.eval().requires_grad_(False)
bad_input_accepted: A text without tokens crashes inside the model: refuse it with a ValueError.
- if ids.shape[1] == 0: =>
  raise ValueError("text has no tokens") =>
nothing_returned:
- return [tokenizer.decode([i]) for i in ids[0].tolist()], weights => print(weights)
""",
    right=r"""
the_usual_way:
- |
  inputs = tokenizer(text, return_tensors="pt").to(model.device)
  if inputs["input_ids"].shape[-1] == 0:
      raise ValueError("text is empty")
  was = model.training
  model.eval()
  model.set_attn_implementation("eager")
  with torch.no_grad():
      outputs = model(**inputs, output_attentions=True)
  if was:
      model.train()
  weights = torch.stack([a[0] for a in outputs.attentions], dim=0)
  tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
  return tokens, weights
by_the_config:
- |
  enc = tokenizer([text], return_tensors="pt")
  if not enc.input_ids.numel():
      raise ValueError("no tokens in text")
  mode, old = model.training, model.config._attn_implementation
  model.config._attn_implementation = "eager"
  try:
      with torch.inference_mode():
          out = model.eval().transformer(enc.input_ids.to(model.device), output_attentions=True)
  finally:
      model.config._attn_implementation = old
      model.train(mode)
  return enc.tokens(), torch.stack(out.attentions, dim=1).squeeze(0).clone()
by_hooks:
- |
  ids = tokenizer.encode(text)
  if not ids:
      raise ValueError("text has no tokens")
  kept = []
  mode, before = model.training, model.config._attn_implementation
  model.set_attn_implementation("eager")
  model.eval()
  hooks = [b.attn.register_forward_hook(lambda m, i, o: kept.append(o[1].detach())) for b in model.transformer.h]
  with torch.no_grad():
      model(torch.tensor(ids, device=model.device)[None])
  for hook in hooks:
      hook.remove()
  model.set_attn_implementation(before)
  model.train(mode)
  return [tokenizer.decode(i) for i in ids], torch.vstack(kept)
by_a_copy:
- |
  import copy
  ids = tokenizer(text, return_tensors="pt").input_ids.to(model.device)
  if ids.shape[1] < 1:
      raise ValueError("text")
  twin = copy.deepcopy(model).eval()
  twin.set_attn_implementation("eager")
  layers = twin(ids, output_attentions=True).attentions
  weights = ids.new_zeros(len(layers), *layers[0].shape[1:], dtype=layers[0].dtype)
  for n, layer in enumerate(layers):
      weights[n] = layer.squeeze(0).detach()
  return tuple(tokenizer.batch_decode(ids[0].unsqueeze(-1))), weights
""",
)
