"""`top_next_tokens`: the likeliest tokens in order, their probabilities, strings with their spaces.

The mistakes: another position or dimension, logarithms or logits, renormalised shares, tokens as ids or one string.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import torch

from autograder.spec.compare import kind
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import raises_error
from autograder.spec.student import Student

from .common import (
    DOG,
    DROPOUT,
    NOTHING,
    READERS,
    Sizes,
    asked,
    forms_of,
    manners,
    near,
    number_of,
    own_model,
    own_tokenizer,
    their_model,
    their_tokenizer,
)

_PROMPTS = (DOG, " the birds sing", "The dog", "é, é!")


def _pairs(got: Any, k: int, where: str) -> list[tuple]:
    """The pairs of a list; whether they are tuples of str and float has a check of its own."""
    if got is None:
        raise Wrong(NOTHING)
    if type(got) not in (list, tuple):
        raise Wrong(f"It should return a list of (token, probability) pairs {where}; yours returned {kind(got)}.")
    if len(got) != k:
        raise Wrong(f"The list should have {k} entries {where}; yours has {len(got)}.", "wrong_length")
    if any(type(pair) not in (list, tuple) or len(pair) != 2 for pair in got):
        raise Wrong(f"Each entry should be a pair (token, probability) {where}; yours has {kind(got[0])}.")
    return got


@cache
def _next_probs(sizes: Sizes, prompt: str) -> torch.Tensor:
    """The probabilities of all next tokens, by Hugging Face's model on this side."""
    with torch.no_grad():
        logits = own_model(sizes, "float64")(torch.tensor([own_tokenizer()(prompt).input_ids])).logits
    return logits[0, -1].softmax(-1)


def _same_tokens(got: list[tuple], sizes: Sizes, prompt: str, where: str, exact: bool = False) -> None:
    order = _next_probs(sizes, prompt).argsort(descending=True).tolist()
    for place, ((token, _), expected) in enumerate(zip(got, order, strict=False), start=1):
        if type(token) is not str:
            raise Wrong(
                f"The tokens should be strings {where}; yours are {kind(token)}: decode the ids.", "ids_for_tokens"
            )
        forms = forms_of(expected)
        if token not in forms and (exact or token.strip() not in {form.strip() for form in forms}):
            raise ValuesDiffer(f"The token in place {place} is not the right one {where}.")


def _same_probs(got: list[tuple], sizes: Sizes, prompt: str, where: str) -> None:
    expected = _next_probs(sizes, prompt).sort(descending=True).values.tolist()
    numbers = [number for _, p in got if (number := number_of(p)) is not None]
    if len(numbers) < len(got):
        raise Wrong(f"The second of each pair should be a probability {where}; yours is {kind(got[0][1])}.")
    if all(near(mine, math.log(theirs)) for mine, theirs in zip(numbers, expected, strict=False)):
        raise ValuesDiffer(
            f"These are logarithms of the probabilities {where}: take softmax, not log_softmax.", "log_probabilities"
        )
    if any(not 0 <= number <= 1 + 1e-4 for number in numbers):
        raise ValuesDiffer(
            f"Some of the numbers are not between 0 and 1 {where}: is the softmax taken?", "not_probabilities"
        )
    for place, (mine, theirs) in enumerate(zip(numbers, expected, strict=False), start=1):
        if not near(mine, theirs):
            size = "large" if mine > theirs else "small"
            raise ValuesDiffer(f"The probability in place {place} is too {size} {where}.")


def _top(student: Student, sizes: Sizes, prompt: str, k: int | None) -> tuple[list[tuple], str]:
    where = f'after "{prompt}", ' + (f"k = {k}" if k else "k not given")
    args = [their_model(student, sizes), their_tokenizer(student), prompt]
    return _pairs(asked(student, "top_next_tokens", args, {"k": k} if k else {}, where), k or 10, where), where


def _top_tokens(student: Student) -> None:
    for sizes, prompt, k in zip(READERS, _PROMPTS, (7, None, 1), strict=False):
        with student.case():
            got, where = _top(student, sizes, prompt, k)
            _same_tokens(got, sizes, prompt, where)
    with student.case():
        got, where = _top(student, READERS[0], "é, é!", 12)
        _same_tokens(got, READERS[0], "é, é!", where)


def _top_probs(student: Student) -> None:
    for sizes, prompt, k in zip(READERS, _PROMPTS[1:], (5, None, len(own_tokenizer())), strict=False):
        with student.case():
            got, where = _top(student, sizes, prompt, k)
            _same_probs(got, sizes, prompt, where)


def _top_form(student: Student) -> None:
    for sizes, prompt, k in ((READERS[1], "The", 11), (READERS[0], DOG, 40)):
        with student.case():
            got, where = _top(student, sizes, prompt, k)
            _same_probs(got, sizes, prompt, where)
            _same_tokens(got, sizes, prompt, where + " (leading spaces belong to tokens)", exact=True)
            if type(got) is not list:
                raise Wrong(f"A list is asked for; yours returned {kind(got)}.", "not_a_list")
            for pair in got:
                if type(pair) is not tuple:
                    raise Wrong(
                        f"Each entry should be a tuple (token, probability); yours is {kind(pair)}.", "not_tuples"
                    )
                if type(pair[1]) is not float:
                    raise Wrong(
                        f"Each probability should be a float; yours is {kind(pair[1])}: `.item()` or `.tolist()`.",
                        "not_a_float",
                    )
    with student.case():  # k by position
        args = [their_model(student, READERS[0]), their_tokenizer(student), "The dog", 3]
        where = "with k = 3 as the fourth argument"
        _same_probs(_pairs(asked(student, "top_next_tokens", args), 3, where), READERS[0], "The dog", where)


def _top_manners(student: Student) -> None:
    sizes = replace(READERS[1], seed=5, more=(*READERS[1].more, *DROPOUT))

    def same(value: Any, where: str) -> None:
        _same_probs(_pairs(value, 10, where), sizes, DOG, where)

    manners(student, "top_next_tokens", [their_tokenizer(student), DOG], same, sizes)


def _top_refused(student: Student) -> None:
    tokenizer = their_tokenizer(student)
    with student.case():
        args = [their_model(student, READERS[2]), tokenizer, "."]
        where = "after a prompt of one token"
        _same_probs(_pairs(asked(student, "top_next_tokens", args), 10, where), READERS[2], ".", where)
        with raises_error("A prompt without tokens"):
            asked(student, "top_next_tokens", [their_model(student, READERS[2]), tokenizer, ""])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("the likeliest tokens, in order", 1.0, _top_tokens),
        Check("their probabilities", 1.0, _top_probs),
        Check("pairs of a string, its space included, and a float", 0.5, _top_form, further=True),
        Check("either mode, float64, any device, the model as it was", 0.5, _top_manners, further=True),
        Check("a prompt of one token, and of none", 0.25, _top_refused),
    ],
    working=r"""
def top_next_tokens(model, tokenizer, prompt, k=10):
    tokens = tokenizer.encode(prompt)
    if not tokens:
        raise ValueError("prompt has no tokens")
    mode = model.training
    model.train(False)
    with torch.inference_mode():
        out = model(input_ids=torch.tensor([tokens], device=model.device), logits_to_keep=1)
    model.train(mode)
    ranked = sorted(enumerate(out.logits.flatten().softmax(0).tolist()), key=lambda pair: -pair[1])
    return [(tokenizer.decode(i), p) for i, p in ranked[:k]]
""",
    gives="list",
    slips=("nothing_returned", "error_of_another_type", "error_returned", "bad_input_accepted"),
    wrong=r"""
first_position: You read the prediction after the first token. logits has one for every position; the next token's stands at the last, `logits[0,
    -1]`.
- logits[0, -1] => logits[0, 0]
one_position_early: You read the prediction after the last token but one: that predicts the prompt's own last token.
- logits[0, -1] => logits[0, max(0, logits.shape[1] - 2)] || logits[0, -2]
all_positions: All positions are mixed: only what is predicted after the last token belongs to the next token.
- logits[0, -1] => logits[0].mean(dim=0) || logits[0].sum(dim=0)
- probs = torch.softmax(logits[0, -1], dim=-1) => probs = torch.softmax(logits[0], dim=-1).mean(dim=0)
- probs = torch.softmax(logits[0, -1], dim=-1) => probs = torch.softmax(logits[0], dim=-1).amax(dim=0)
- probs = torch.softmax(logits[0, -1], dim=-1) => probs = torch.softmax(logits.flatten(), dim=-1)[-logits.shape[-1] :]
last_position_forgotten: The last position is not picked out, so the list is not one of k tokens: take `logits[0, -1]` before topk.
- probs = torch.softmax(logits[0, -1], dim=-1) => probs = torch.softmax(logits[0], dim=-1) || probs = torch.softmax(logits, dim=-1)
- probs = torch.softmax(logits[0, -1], dim=-1) => probs = torch.softmax(logits[0], dim=-1).flatten() || probs = torch.softmax(logits[:, -1], dim=-1)
softmax_over_positions: The softmax runs over the positions: over the vocabulary, the last dimension, the probabilities have to add up to 1.
- probs = torch.softmax(logits[0, -1], dim=-1) => probs = torch.softmax(logits[0], dim=0)[-1]
softmax_over_the_batch: The softmax runs over the batch dimension, which has one entry, so everything becomes 1.
- probs = torch.softmax(logits[0, -1], dim=-1) => probs = torch.softmax(logits[:, -1], dim=0)[0]
log_probabilities (slip): These are logarithms of the probabilities: take softmax, not log_softmax (or exp in the end).
- probs = torch.softmax(logits[0, -1], dim=-1) => probs = torch.log_softmax(logits[0, -1], dim=-1)
logits: These are logits, not probabilities: take the softmax over the vocabulary.
- probs = torch.softmax(logits[0, -1], dim=-1) => probs = logits[0, -1]
softmax_of_the_best: The softmax is taken over the k best alone: their probabilities must be those among all tokens, so softmax comes before topk.
- probs = torch.softmax(logits[0, -1], dim=-1) => probs = logits[0, -1]
  best.values.tolist() => best.values.softmax(-1).tolist()
sigmoid: A sigmoid treats each token on its own: the tokens compete, so take the softmax.
- probs = torch.softmax(logits[0, -1], dim=-1) => probs = torch.sigmoid(logits[0, -1])
softmax_twice: The softmax is taken twice, which makes everything nearly equal: the model's logits need it once.
- probs = torch.softmax(logits[0, -1], dim=-1) => probs = torch.softmax(torch.softmax(logits[0, -1], dim=-1), dim=-1)
percent (slip): The numbers are per cent: a probability lies between 0 and 1.
- best.values.tolist() => (100 * best.values).tolist()
cumulative: The probabilities are added up from one token to the next: each token has its own.
- best.values.tolist() => best.values.cumsum(0).tolist()
temperature: The logits are divided by a temperature: the model's own probabilities are asked for.
- logits[0, -1] => logits[0, -1] / 0.7 || logits[0, -1] / 0.8
text_for_numbers (slip): The probabilities are strings: return numbers, and format them when you print.
- (tokenizer.decode([i]), p) => (tokenizer.decode([i]), f"{p:.3f}") || (tokenizer.decode([i]), f"{p:.1%}")
quoted (slip): The tokens are in quotation marks of their own (repr): return the strings themselves.
- (tokenizer.decode([i]), p) => (repr(tokenizer.decode([i])), p)
rounded: The probabilities are rounded: return them as they are, and round when you print.
- (tokenizer.decode([i]), p) => (tokenizer.decode([i]), round(p, 4)) || (tokenizer.decode([i]), round(p, 3)) || (tokenizer.decode([i]), round(p, 2))
not_sorted (slip): The list is not in order: the likeliest token comes first.
- return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)] => return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)][::-1]
- return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)] => return sorted((tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist()))
the_least_likely (slip): These are the least likely tokens: sort in descending order (topk takes the largest unless told otherwise).
- probs.topk(k) => probs.topk(k, largest=False)
by_id: The tokens stand in the order of their ids, not of their probabilities.
- return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)] => return [(tokenizer.decode([i]), probs[i].item()) for i in sorted(best.indices.tolist())]
- return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)] => return [(tokenizer.decode([i]), p) for i, p in enumerate(probs.tolist())][:k]
ids_for_tokens (slip): The tokens are ids: decode each of them (`tokenizer.decode([id])`).
- (tokenizer.decode([i]), p) => (i, p) || (str(i), p)
k_ignored: k is not used: the list has always the same length.
- probs.topk(k) => probs.topk(10) || probs.topk(5) || probs.sort(descending=True) || probs.topk(1)
default_of_k (slip): Without k the list should have 10 entries: the default in the signature was changed.
- prompt, k=10 => prompt, k=5 || prompt, k=3
one_too_few (slip): The list is one entry too short or too long: k pairs are asked for.
- probs.topk(k) => probs.topk(k - 1) || probs.topk(min(k + 1, len(probs)))
- return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)] => return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)][1:]
sampled (missed): You draw the tokens at random instead of taking the likeliest.
- best = probs.topk(k) =>
      drawn = torch.multinomial(probs, k)
      best = torch.return_types.topk((probs[drawn], drawn))
- best = probs.topk(k) =>
      drawn = torch.multinomial(probs, k).sort().values
      best = torch.return_types.topk((probs[drawn], drawn))
greedy_continuation: You continue the prompt by k tokens; asked for are k candidates for one place, the next one.
- |
  ids = tokenizer(prompt, return_tensors="pt").input_ids.to(model.device)
  if ids.shape[1] == 0:
      raise ValueError("prompt has no tokens")
  was_training = model.training
  model.eval()
  result = []
  with torch.no_grad():
      for _ in range(k):
          probs = torch.softmax(model(ids[:, -model.config.n_positions:]).logits[0, -1], dim=-1)
          best = probs.argmax()
          result.append((tokenizer.decode([best.item()]), probs[best].item()))
          ids = torch.cat([ids, best.view(1, 1)], dim=1)
  model.train(was_training)
  return result
prompt_included: The strings contain the prompt too: only the next token is asked for.
- (tokenizer.decode([i]), p) => (prompt + tokenizer.decode([i]), p)
one_string: The k tokens are decoded together, as one string: decode each id on its own.
- return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)] => return list(zip(tokenizer.decode(best.indices), best.values.tolist()))
- return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)] => return [(tokenizer.decode(best.indices), p) for p in best.values.tolist()]
space_lost: The leading space is stripped: " dog" and "dog" are two tokens of the vocabulary, and now look alike.
- (tokenizer.decode([i]), p) => (tokenizer.decode([i]).strip(), p) || (tokenizer.convert_ids_to_tokens(i).replace("Ġ", ""), p)
- (tokenizer.decode([i]), p) => (tokenizer.decode([i]).replace(" ", ""), p)
a_dict (slip): A list of pairs is asked for, not a dict (in which equal strings would overwrite each other).
- return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)] => return {tokenizer.decode([i]): p for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)}
two_lists (slip): Two lists are returned: pair them up, `list(zip(tokens, probabilities))`.
- return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)] => return [tokenizer.decode([i]) for i in best.indices], best.values.tolist()
- return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)] => return best.values.tolist(), [tokenizer.decode([i]) for i in best.indices]
pair_swapped (slip): The pairs are the wrong way round: (token, probability).
- (tokenizer.decode([i]), p) => (p, tokenizer.decode([i]))
tokens_without_probabilities: Only the tokens are returned: each entry is a pair (token, probability).
- (tokenizer.decode([i]), p) => tokenizer.decode([i])
not_a_float: The probabilities are tensors: `.item()` or `.tolist()` makes plain numbers of them.
- best.values.tolist() => best.values
not_tuples: The entries are lists: tuples (token, probability) are asked for.
- (tokenizer.decode([i]), p) => [tokenizer.decode([i]), p]
still_a_zip: The result is an iterator, which is empty after it was read once: make a list of it.
- return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)] => return zip([tokenizer.decode([i]) for i in best.indices], best.values.tolist())
- return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)] => return ((tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True))
dropout_left_on: Dropout is on when the model comes in training mode, so the result is another one each time: call `model.eval()` first.
- model.eval()  # no dropout =>
mode_not_restored: The model is put into eval mode and left there: remember `model.training` and end with `model.train(was_training)`. Whoever was
    training it would go on without dropout and never notice.
- model.train(was_training) =>
- model.train(was_training) => model.train()
device_not_kept: The ids stay on the CPU: move them with `.to(model.device)`, or the function fails as soon as the model is on a GPU.
- .to(model.device) =>
model_frozen: The model's parameters lose requires_grad: use `torch.no_grad()`, which ends with the block.
- model.eval()  # no dropout => model.eval().requires_grad_(False)
bad_input_accepted: A prompt without tokens crashes inside the model: refuse it with a ValueError that says so.
- if ids.shape[1] == 0: =>
  raise ValueError("prompt has no tokens, so there is nothing to continue") =>
words_split: The prompt's words are looked up one by one, or its characters: the tokenizer has to encode the whole text, spaces included.
- tokenizer(prompt, return_tensors="pt").input_ids => torch.tensor([[i for w in prompt.split() for i in tokenizer.encode(w)]])
- tokenizer(prompt, return_tensors="pt") => tokenizer(prompt.strip(), return_tensors="pt") || tokenizer(prompt.lower(), return_tensors="pt")
- tokenizer(prompt, return_tensors="pt") => tokenizer(prompt + " ", return_tensors="pt")
""",
    right=r"""
the_usual_way:
- |
  inputs = tokenizer(prompt, return_tensors="pt").to(model.device)
  if inputs.input_ids.size(1) < 1:
      raise ValueError("prompt must not be empty")
  training = model.training
  model.eval()
  with torch.no_grad():
      outputs = model(**inputs)
  if training:
      model.train()
  next_token_logits = outputs.logits[:, -1, :]
  probs = F.softmax(next_token_logits, dim=-1)
  top_probs, top_ids = torch.topk(probs, k, dim=-1)
  result = []
  for prob, token_id in zip(top_probs[0], top_ids[0]):
      result.append((tokenizer.decode(token_id), prob.item()))
  return result
by_sorting:
- |
  ids = tokenizer.encode(prompt, return_tensors="pt")
  if not ids.numel():
      raise ValueError(f"prompt: {prompt!r} gives no token")
  before = model.training
  model.eval()
  try:
      with torch.inference_mode():
          scores = model(ids.to(next(model.parameters()).device))[0][0][-1]
  finally:
      model.train(before)
  scores = (scores - scores.max()).exp()
  scores = scores / scores.sum()
  order = torch.argsort(scores, descending=True)[:k]
  tokens = tokenizer.convert_ids_to_tokens(order.tolist())
  return [(t, float(scores[i])) for t, i in zip(tokens, order)]
by_generate:
- |
  inputs = tokenizer(prompt, return_tensors="pt").to(model.device)
  if inputs["input_ids"].numel() == 0:
      raise ValueError("prompt is empty")
  mode = model.training
  model.eval()
  out = model.generate(**inputs, max_new_tokens=1, do_sample=False, output_logits=True, return_dict_in_generate=True)
  model.train(mode)
  values, indices = F.softmax(out.logits[0].squeeze(0), dim=0).topk(k)
  return list(zip(tokenizer.convert_ids_to_tokens(indices), values.tolist()))
by_batch_decode:
- probs = torch.softmax(logits[0, -1], dim=-1) => probs = logits.log_softmax(dim=-1).exp()[0, -1]
  return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)] => return list(zip(tokenizer.batch_decode(best.indices[:, None]), map(float, best.values)))
""",
)
