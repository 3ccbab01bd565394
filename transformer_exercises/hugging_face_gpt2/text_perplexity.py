"""`text_perplexity`: several texts and models, the shortest and too long ones, very unlikely tokens.

The mistakes: sums and means, another divisor or base, logits not shifted, probabilities that underflow.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F

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
    manners,
    near,
    number_of,
    own_model,
    own_tokenizer,
    their_model,
    their_tokenizer,
)

_TEXTS = ("The dog drinks water.", " the birds sing because it was", "The dog", DOG + ".", "é, é!")


@cache
def _losses(sizes: Sizes, text: str) -> torch.Tensor:
    """The negative log probabilities of tokens 2..N, by Hugging Face's model on this side."""
    ids = torch.tensor([own_tokenizer()(text).input_ids])
    with torch.no_grad():
        logits = own_model(sizes, "float64")(ids).logits
    return F.cross_entropy(logits[0, :-1], ids[0, 1:], reduction="none")


def _same_perplexity(got: Any, sizes: Sizes, text: str, where: str, relative: float = 3e-4) -> None:
    if got is None:
        raise Wrong(NOTHING)
    number, losses = number_of(got), _losses(sizes, text)
    if number is None:
        raise Wrong(f"It should return a number {where}; yours is {kind(got)}.")
    mean, N = losses.mean().item(), len(losses) + 1
    likely = {
        "no_exp": (mean, "This is the mean loss: the perplexity is its exponential."),
        "no_exp_base_two": (mean / math.log(2), "This is the mean loss in bits: the perplexity is 2 to this power."),
        "sum_for_mean": (_exp(mean * (N - 1)), "This is exp of the sum of the losses: take their mean."),
        "divided_by_N": (
            math.exp(mean * (N - 1) / N),
            "The sum of the losses is divided by N, but only N − 1 tokens are predicted.",
        ),
    }
    if not near(number, math.exp(mean), relative):
        for name, (value, sentence) in likely.items():
            if near(number, value, relative):
                raise ValuesDiffer(sentence, name)
        if math.isnan(number) or math.isinf(number):
            raise Wrong(
                f"The result is {number} {where}: a probability became 0 before its logarithm was taken?", "unstable"
            )
        raise ValuesDiffer(f"The perplexity is too {'large' if number > math.exp(mean) else 'small'} {where}.")


def _exp(number: float) -> float:
    return math.exp(number) if number < 700 else math.inf


def _perplexity(student: Student, sizes: Sizes, text: str, where: str = "", relative: float = 3e-4) -> Any:
    where = where or f'for "{text}"'
    got = asked(student, "text_perplexity", [their_model(student, sizes), their_tokenizer(student), text], where=where)
    _same_perplexity(got, sizes, text, where, relative)
    return got


def _text_of(tokens: int) -> str:
    """A text of so many tokens."""
    return "." * tokens


def _perplexity_values(student: Student) -> None:
    for number, text in enumerate(_TEXTS):
        with student.case():
            _perplexity(student, READERS[number % 3], text)
    with student.case():
        sizes = Sizes(2, 2, 16, len(own_tokenizer()(DOG).input_ids), seed=4)
        _perplexity(student, sizes, DOG, "for a text that just fits into the context")


def _perplexity_shortest(student: Student) -> None:
    for sizes in READERS:
        with student.case():
            _perplexity(student, sizes, "The dog", "for a text of two tokens")


def _perplexity_form(student: Student) -> None:
    # Logits of some dozens: single probabilities are too small for float32, their mean logarithm is not.
    for head in (3.0, 8.0):
        with student.case():
            sizes = replace(READERS[1], seed=6, head=head)
            got = _perplexity(student, sizes, DOG, "when some tokens are very unlikely", relative=5e-3)
            if type(got) is not float:
                raise Wrong(
                    f"A float is asked for; yours is {kind(got)}: `.item()` makes one of a tensor.", "not_a_float"
                )


def _perplexity_manners(student: Student) -> None:
    sizes = replace(READERS[0], seed=7, more=DROPOUT)

    def same(value: Any, where: str) -> None:
        _same_perplexity(value, sizes, DOG, where)

    manners(student, "text_perplexity", [their_tokenizer(student), DOG], same, sizes)


def _perplexity_refused(student: Student) -> None:
    tokenizer, sizes = their_tokenizer(student), READERS[2]
    for text, what in (("", "A text without tokens"), ("The", "A text of one token (a word of three letters here)")):
        with student.case():
            _perplexity(student, sizes, "é", "for a text of one letter, which is two tokens")
            with raises_error(what):
                asked(student, "text_perplexity", [their_model(student, sizes), tokenizer, text])
    with student.case():
        fitting = sizes.context
        long = _text_of(fitting + 1)
        _perplexity(student, sizes, _text_of(fitting), "for a text of as many tokens as the context has positions")
        for text in (long, 3 * DOG):
            with raises_error("A text longer than the model's context"):
                asked(student, "text_perplexity", [their_model(student, sizes), tokenizer, text])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("several texts and models", 1.5, _perplexity_values),
        Check("two tokens: one prediction", 0.5, _perplexity_shortest, further=True),
        Check("a float, even when tokens are very unlikely", 0.5, _perplexity_form, further=True),
        Check("either mode, float64, any device, the model as it was", 0.5, _perplexity_manners, further=True),
        Check("texts that are too short or too long", 0.5, _perplexity_refused),
    ],
    working=r"""
def text_perplexity(model, tokenizer, text):
    inputs = tokenizer(text, return_tensors="pt").to(model.device)
    length = inputs.input_ids.shape[-1]
    if length < 2 or length > model.config.n_positions:
        raise ValueError(f"text: {length} tokens")
    mode = model.training
    model.eval()
    with torch.inference_mode():
        loss = model(**inputs, labels=inputs.input_ids).loss  # shifts the labels itself
    model.train(mode)
    return math.exp(loss.item())
""",
    gives="number",
    slips=(
        "nothing_returned",
        "text_returned",
        "error_of_another_type",
        "error_returned",
        "bad_input_accepted",
    ),
    wrong=r"""
sum_for_mean: You exponentiate the sum of the losses: perplexity takes their mean, so that long texts compare with short ones.
- return F.cross_entropy(predicted, targets).exp().item() =>
      losses = F.cross_entropy(predicted, targets, reduction="none")
      return losses.sum().exp().item()
- return F.cross_entropy(predicted, targets).exp().item() =>
      losses = F.cross_entropy(predicted, targets, reduction="none")
      return math.prod(1 / math.exp(-loss) for loss in losses.tolist())
divided_by_N (slip): The sum of the losses is divided by N, but only N − 1 tokens are predicted: nothing predicts the first.
- return F.cross_entropy(predicted, targets).exp().item() =>
      losses = F.cross_entropy(predicted, targets, reduction="none")
      return (losses.sum() / N).exp().item()
divided_by_words: The sum of the losses is divided by the number of words or characters: perplexity is per token.
- return F.cross_entropy(predicted, targets).exp().item() =>
      losses = F.cross_entropy(predicted, targets, reduction="none")
      return (losses.sum() / len(text.split())).exp().item()
- return F.cross_entropy(predicted, targets).exp().item() =>
      losses = F.cross_entropy(predicted, targets, reduction="none")
      return (losses.sum() / len(text)).exp().item()
divided_by_N_minus_two (slip): One token is lost in the mean: N tokens give N − 1 predictions.
- return F.cross_entropy(predicted, targets).exp().item() =>
      losses = F.cross_entropy(predicted, targets, reduction="none")
      return (losses.sum() / max(1, N - 2)).exp().item()
- return F.cross_entropy(predicted, targets).exp().item() =>
      losses = F.cross_entropy(predicted, targets, reduction="none")
      return losses[1:].mean().exp().item() if N > 2 else losses.mean().exp().item()
- return F.cross_entropy(predicted, targets).exp().item() =>
      losses = F.cross_entropy(predicted, targets, reduction="none")
      return losses[:-1].mean().exp().item() if N > 2 else losses.mean().exp().item()
mixed_bases (slip): The loss is in natural logarithms, but 2 is raised to it: use exp (or change to base 2 first).
- return F.cross_entropy(predicted, targets).exp().item() =>
      losses = F.cross_entropy(predicted, targets, reduction="none")
      return 2 ** losses.mean().item()
- return F.cross_entropy(predicted, targets).exp().item() =>
      losses = F.cross_entropy(predicted, targets, reduction="none")
      return math.exp(losses.mean().item() / math.log(2))
- return F.cross_entropy(predicted, targets).exp().item() =>
      losses = F.cross_entropy(predicted, targets, reduction="none")
      return 10 ** losses.mean().item()
no_exp (slip): This is the mean loss: the perplexity is its exponential.
- .exp().item() => .item()
- return F.cross_entropy(predicted, targets).exp().item() =>
      losses = F.cross_entropy(predicted, targets, reduction="none")
      return losses.mean().item() / math.log(2)
- return F.cross_entropy(predicted, targets).exp().item() => return -F.cross_entropy(predicted, targets).item()
inverted (slip): This is the inverse of the perplexity: the sign of the mean is lost (exp of the mean negative log probability).
- return F.cross_entropy(predicted, targets).exp().item() =>
      losses = F.cross_entropy(predicted, targets, reduction="none")
      return (-losses).mean().exp().item()
not_shifted: Each position is compared with its own token: it predicts the next one, so logits[:-1] belong to ids[1:].
- predicted, targets = logits[0, :-1], ids[0, 1:] => predicted, targets = logits[0], ids[0] || predicted, targets = logits[0, 1:], ids[0, 1:]
- predicted, targets = logits[0, :-1], ids[0, 1:] => predicted, targets = logits[0, :-1], ids[0, :-1]
shifted_backwards: The shift goes the wrong way: predictions are compared with the token before, which the model has seen.
- predicted, targets = logits[0, :-1], ids[0, 1:] => predicted, targets = logits[0, 1:], ids[0, :-1]
shifted_twice: The targets are shifted twice: a model called with `labels` shifts them itself, so give it `labels=ids`.
- return F.cross_entropy(predicted, targets).exp().item() =>
      with torch.no_grad():
          loss = model.eval()(ids[:, :-1], labels=ids[:, 1:]).loss
      model.train(was_training)
      return loss.exp().item()
rolled: The ids are rolled round, so that the last position is asked for the first token: leave it out.
- predicted, targets = logits[0, :-1], ids[0, 1:] => predicted, targets = logits[0], ids[0].roll(-1)
first_token_predicted: The first token is predicted too, from a start or end token put before the text: asked for are tokens 2..N.
- N, context =>
      ids = torch.cat([torch.full_like(ids[:, :1], len(tokenizer) - 1), ids], dim=1)
      N, context
end_predicted: An end token is put after the text and predicted too: asked for are the tokens of the text.
- N, context =>
      ids = torch.cat([ids, torch.full_like(ids[:, :1], len(tokenizer) - 1)], dim=1)
      N, context
last_token_only: Only one of the tokens counts: the mean runs over all predictions.
- predicted, targets = logits[0, :-1], ids[0, 1:] => predicted, targets = logits[0, -2:-1], ids[0, -1:]
- predicted, targets = logits[0, :-1], ids[0, 1:] => predicted, targets = logits[0, :1], ids[0, 1:2]
mean_of_exponentials: The mean is taken after the exponential: it is the mean of the logarithms that is exponentiated (a geometric mean).
- return F.cross_entropy(predicted, targets).exp().item() =>
      losses = F.cross_entropy(predicted, targets, reduction="none")
      return losses.exp().mean().item()
- return F.cross_entropy(predicted, targets).exp().item() =>
      losses = F.cross_entropy(predicted, targets, reduction="none")
      return 1 / (-losses).exp().mean().item()
- return F.cross_entropy(predicted, targets).exp().item() =>
      losses = F.cross_entropy(predicted, targets, reduction="none")
      return losses.median().exp().item()
softmax_before_loss: F.cross_entropy takes the softmax itself: give it logits, not probabilities.
- F.cross_entropy(predicted, targets) => F.cross_entropy(predicted.softmax(-1), targets)
softmax_over_positions: The softmax runs over the positions: over the vocabulary, the last dimension, it has to be.
- F.cross_entropy(predicted, targets) => F.nll_loss(predicted.log_softmax(dim=0), targets)
entropy_of_the_model (missed): This is how uncertain the model is at each position, whatever comes: take the probability of the token that does come.
- F.cross_entropy(predicted, targets) => (-(predicted.softmax(-1) * predicted.log_softmax(-1)).sum(-1)).mean()
- F.cross_entropy(predicted, targets) => (-predicted.log_softmax(-1).amax(-1).mean())
unstable: The logarithm is taken of a probability that has become 0: use log_softmax or F.cross_entropy on the logits.
- F.cross_entropy(predicted, targets) => (-predicted.softmax(-1).gather(-1, targets[:, None]).log().mean())
- return F.cross_entropy(predicted, targets).exp().item() =>
      probs = predicted.softmax(-1).gather(-1, targets[:, None])
      return (1 / probs.prod().item()) ** (1 / (N - 1)) if probs.prod() else math.inf
epsilon_added: Something is added to the probabilities before the logarithm, which makes unlikely tokens cheaper than they are.
- F.cross_entropy(predicted, targets) => (-(predicted.softmax(-1).gather(-1, targets[:, None]) + 1e-10).log().mean())
- F.cross_entropy(predicted, targets) => (-(predicted.softmax(-1).gather(-1, targets[:, None]) + 1e-9).log().mean())
rounded: The result is rounded: return it as it is, and round when you print.
- .exp().item() => .exp().round().item()
- return F.cross_entropy(predicted, targets).exp().item() => return round(F.cross_entropy(predicted, targets).exp().item())
- return F.cross_entropy(predicted, targets).exp().item() => return int(F.cross_entropy(predicted, targets).exp().item())
not_a_float: The result is a tensor: `.item()` makes a float of it.
- .exp().item() => .exp()
- return F.cross_entropy(predicted, targets).exp().item() => return torch.exp(F.cross_entropy(predicted, targets)).view(1)
too_short_accepted: Fewer than two tokens should be a ValueError: nothing is predicted then, and the mean of nothing is NaN or worse.
- if not 2 <= N <= context: => if N > context: || if not 1 <= N <= context:
shortness_by_words: Whether a text is too short is a question of tokens, not of words or characters.
- if not 2 <= N <= context: => if len(text.split()) < 2 or N > context:
two_tokens_refused (slip): Two tokens are enough: the second is predicted from the first.
- if not 2 <= N <= context: => if not 2 < N <= context:
not_an_error: A text that is too short should raise a ValueError, not return something that looks like a result.
- if not 2 <= N <= context: =>
      if N > context:
          raise ValueError("text is too long")
      if N < 2:
          return float("inf")
  raise ValueError(f"text has {N} tokens; from 2 to {context} are needed") =>
- if not 2 <= N <= context: =>
      if N > context:
          raise ValueError("text is too long")
      if N < 2:
          return 1.0
  raise ValueError(f"text has {N} tokens; from 2 to {context} are needed") =>
- if not 2 <= N <= context: =>
      if N > context:
          raise ValueError("text is too long")
      if N < 2:
          return float("nan")
  raise ValueError(f"text has {N} tokens; from 2 to {context} are needed") =>
- if not 2 <= N <= context: =>
      if N > context:
          raise ValueError("text is too long")
      if N < 2:
          return None
  raise ValueError(f"text has {N} tokens; from 2 to {context} are needed") =>
too_long_crashes: A text longer than the context crashes inside the model, which has no position for it: refuse it with a ValueError.
- if not 2 <= N <= context: => if N < 2:
long_text_cut_off: A text longer than the context is cut off without a word, so the perplexity is that of another text: refuse it with a ValueError.
- if not 2 <= N <= context: =>
      ids = ids[:, :context]
      N = ids.shape[1]
      if N < 2:
long_text_read_in_pieces (slip): A text longer than the context is read in pieces: a perplexity of another kind, since tokens are predicted from less than
    stands before them. Refuse it with a ValueError.
- |
  ids = tokenizer(text, return_tensors="pt")["input_ids"].to(model.device)
  if ids.size(1) < 2:
      raise ValueError("text must have two tokens or more")
  mode = model.training
  model.eval()
  losses = []
  for start in range(0, ids.size(1) - 1, model.config.n_positions - 1):
      window = ids[:, start : start + model.config.n_positions]
      with torch.no_grad():
          out = model(input_ids=window, attention_mask=torch.ones_like(window))
      losses.append(F.cross_entropy(out.logits[:, :-1].transpose(1, 2), window[:, 1:], reduction="none").flatten())
  model.train(mode)
  return torch.cat(losses).mean().exp().item()
one_token_too_long (slip): A text of one token more than the context has positions is not refused: N − 1 of them are predicted, but all N are asked for.
- if not 2 <= N <= context: => if not 2 <= N <= context + 1:
  logits = model(ids).logits  # (1, N, V) => logits = model(ids[:, :-1]).logits
  predicted, targets = logits[0, :-1], ids[0, 1:] => predicted, targets = logits[0], ids[0, 1:]
just_fitting_refused: A text of exactly as many tokens as the context has positions fits.
- if not 2 <= N <= context: => if not 2 <= N < context:
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
gradients_left: You call backward: the parameters have gradients afterwards, which would spoil the next training step.
- |
  ids = tokenizer(text, return_tensors="pt").input_ids.to(model.device)  # (1, N)
  N, context = ids.shape[1], model.config.n_positions
  if not 2 <= N <= context:
      raise ValueError(f"text has {N} tokens; from 2 to {context} are needed")

  was_training = model.training
  model.eval()  # no dropout
  logits = model(ids).logits  # (1, N, V)
  model.train(was_training)

  predicted, targets = logits[0, :-1], ids[0, 1:]  # (N - 1, V) and (N - 1,): position i predicts token i + 1
  loss = F.cross_entropy(predicted, targets)
  loss.backward()
  return loss.exp().item()
""",
    right=r"""
one_by_one:
- |
  ids = tokenizer.encode(text)
  if len(ids) < 2:
      raise ValueError("text needs at least two tokens")
  if len(ids) > model.config.max_position_embeddings:
      raise ValueError("text is too long for the model")
  mode = model.training
  model.eval()
  total = 0.0
  with torch.no_grad():
      for n in range(1, len(ids)):
          prefix = torch.tensor([ids[:n]], device=model.device)
          log_probs = model(prefix).logits[0, -1].log_softmax(dim=-1)
          total -= log_probs[ids[n]].item()
  model.train(mode)
  return math.exp(total / (len(ids) - 1))
gathered:
- return F.cross_entropy(predicted, targets).exp().item() =>
      logp = F.log_softmax(predicted, dim=-1).gather(-1, targets[:, None]).squeeze(-1)
      return float(torch.exp(-logp.sum() / (N - 1)))
by_dictionary:
- |
  given = tokenizer(text, return_tensors="pt").to(model.device)
  ids = given["input_ids"]
  if ids.size(1) < 2:
      raise ValueError("text must have two tokens or more")
  if ids.size(1) > model.config.n_positions:
      raise ValueError("text does not fit into the model's context")
  mode = model.training
  model.eval()
  with torch.no_grad():
      out = model(**given)
  model.train(mode)
  return F.cross_entropy(out.logits[:, :-1].transpose(1, 2), ids[:, 1:]).exp().item()
base_two_throughout:
- return F.cross_entropy(predicted, targets).exp().item() =>
      losses = F.cross_entropy(predicted, targets, reduction="none")
      return 2 ** (losses.mean().item() / math.log(2))
nll_loss:
- return F.cross_entropy(predicted, targets).exp().item() => return math.exp(F.nll_loss(predicted.log_softmax(-1), targets))
""",
)
