"""`next_token_distribution`: temperature, top-k, top-p and their order, logits far apart or −∞, values refused.

The mistakes: thresholds one token off, rows mixed, nothing renormalised, steps in another order, temperature 0.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from autograder.spec.compare import a_tensor, close, dtype_name, kind, same_gradients, same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import device_is_kept, generator_unchanged, gradients_of, normal, raises_error
from autograder.spec.student import Student

next_token_distribution = reference("next_token_distribution")


def _apart(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Logits in no order, any two of a row well apart, so that no tie and no rounding decides who stays."""
    steps = normal(*shape, dtype=torch.float64).abs() * 0.5 + 0.15
    return steps.cumsum(-1).gather(-1, normal(*shape).argsort(-1)).sub(steps.sum(-1, keepdim=True) / 2).to(dtype)


def _as_in_gpt2() -> torch.Tensor:
    """Logits for a real vocabulary: all different, and none so unlikely that float32 makes it 0."""
    V = 50_257
    return torch.linspace(-12, 12, V)[torch.randperm(V, generator=torch.Generator().manual_seed(9))]


def _p_between(logits: torch.Tensor, near: float, temperature: float = 1.0, top_k: int | None = None) -> float:
    """A top_p close to `near` that no row reaches by a hair: between two sums of the likeliest, away from both."""
    sums = next_token_distribution(logits.double(), temperature, top_k).sort(-1, descending=True).values.cumsum(-1)
    edges = torch.cat([sums.flatten(), torch.tensor([0.0, 1.0], dtype=torch.float64)]).sort().values
    gaps = [(abs((a + b) / 2 - near), (a + b) / 2) for a, b in edges.unfold(0, 2, 1).tolist() if b - a > 2e-3]
    return round(min(gaps)[1], 4)


def _distribution(student: Student, logits: torch.Tensor, where: str, rough: bool = False, **kwargs: Any) -> None:
    got = student.call("next_token_distribution", [logits], kwargs, where=where)["value"]
    _is_distribution(got, next_token_distribution(logits, **kwargs), where, rough)


def _is_distribution(got: Any, expected: torch.Tensor, where: str, rough: bool = False) -> None:
    """The right values, and where a token was excluded exactly 0."""
    got = a_tensor(got, "The result")
    if got.shape == expected.shape and got.dtype == expected.dtype:
        if got.isnan().any():
            raise Wrong(f"There are NaN {where}: was something divided by 0, or was no token left in a row?")
        if (got < 0).any():
            raise Wrong(f"There are negative numbers {where}: these are no probabilities (logits, or logarithms?).")
        kept, wanted = (got > 0).sum(-1), (expected > 0).sum(-1)
        if not torch.equal(kept, wanted) and ((expected == 0).any() or (expected > 1e-20).all()):
            many = "many" if (kept - wanted).abs().max() and (kept > wanted).any() else "few"
            raise ValuesDiffer(f"Too {many} tokens have a probability above 0 {where}.")
        if not close(got.sum(-1), expected.sum(-1)):
            raise ValuesDiffer(f"The probabilities of a row do not sum to 1 {where}: normalise what is left.")
    same_tensor(got, expected, "The result", where, rough)


def _next_temperature(student: Student) -> None:
    with student.case():
        logits = _apart(4, 7)
        _distribution(student, logits, "without temperature, top_k and top_p")
    for shape, temperature in (
        ((5,), 0.5),
        ((3, 6), 2.0),
        ((2, 3, 4), 0.7),
        ((2, 1, 3, 5), 10.0),
        ((4, 4), 0.1),
        ((1,), 3),
    ):
        with student.case():
            where = f"for logits of shape {shape} with temperature = {temperature}"
            _distribution(student, _apart(*shape), where, temperature=temperature)


def _next_tied(student: Student) -> None:
    """Several tokens are the likeliest: nobody says which of them it is, but the row sums to 1, and no other has any."""
    logits = torch.tensor([[2.0, 5.0, -1.0, 5.0], [3.0, 3.0, 3.0, 3.0], [0.5, 0.25, -1.0, 0.0]])
    where = "where several tokens are the likeliest, with temperature = 0"
    got = a_tensor(student.value("next_token_distribution", logits, temperature=0, where=where), "The result")
    _same_kind(got, logits, where)
    likeliest = logits == logits.amax(-1, keepdim=True)
    if not close(got.sum(-1), torch.ones(3)) or got[~likeliest].any():
        raise ValuesDiffer(f"A row should sum to 1, all of it on the likeliest, {where}.")


def _same_kind(got: torch.Tensor, logits: torch.Tensor, where: str) -> None:
    """Shape and dtype of the logits, device and values aside."""
    if got.shape != logits.shape or got.dtype != logits.dtype:
        same_tensor(got, torch.zeros_like(logits), "The result", where)  # raises, with a hint


def _next_greedy(student: Student) -> None:
    for shape in ((6,), (3, 5), (2, 3, 4), (1, 1), (4, 4)):
        with student.case():
            _distribution(student, _apart(*shape), f"for logits of shape {shape} with temperature = 0", temperature=0)
    with student.case():
        close_by = torch.tensor([[1.0, 1.001, 0.999, 1.0005], [-3.0, -3.001, -2.999, -4.0]])
        _distribution(student, close_by, "for logits close to each other, with temperature = 0.0", temperature=0.0)
    with student.case():
        where = "for logits of 10,000 and −∞ with temperature = 0"
        _distribution(student, torch.tensor([1e4, -math.inf, 1.1e4, -1e4]), where, temperature=0)
    with student.case():
        where = "with temperature = 0, top_k = 3 and top_p = 0.9"
        _distribution(student, _apart(3, 5), where, temperature=0, top_k=3, top_p=0.9)
    with student.case():
        _next_tied(student)


def _next_top_k(student: Student) -> None:
    for shape, top_k in (
        *(((7,), 3), ((4, 6), 2), ((2, 3, 5), 4), ((3, 4), 1), ((5, 5), 2), ((2, 1, 2, 6), 3)),
        *(((3, 5), 5), ((3, 5), 8), ((6,), 1000), ((1,), 1)),  # all stay
    ):
        with student.case():
            where = f"for logits of shape {shape} with top_k = {top_k}"
            _distribution(student, _apart(*shape), where, top_k=top_k)
    with student.case():
        _distribution(student, _as_in_gpt2(), "for GPT-2's 50,257 tokens with top_k = 40", top_k=40)


def _next_top_p(student: Student) -> None:
    for shape, near in (
        *(((7,), 0.8), ((4, 6), 0.6), ((2, 3, 5), 0.9), ((5, 5), 0.75), ((2, 1, 2, 6), 0.5), ((3, 40), 0.95)),
        *(((3, 4), 1e-3), ((6,), 0.02)),  # less than the likeliest token has: it stays nevertheless
    ):
        with student.case():
            logits = _apart(*shape)
            p = _p_between(logits, near)
            _distribution(student, logits, f"for logits of shape {shape} with top_p = {p}", top_p=p)
    for p, where in ((1.0, "with top_p = 1, where all tokens stay"), (1e-6, "with top_p = 0.000001, where one stays")):
        with student.case():
            _distribution(student, _apart(3, 6), where, top_p=p)
    with student.case():
        skewed = torch.tensor([[0.02, 0.9, 0.05, 0.03], [0.3, 0.25, 0.24, 0.21]]).log()
        _distribution(student, skewed, "where one row keeps one token and the other keeps more", top_p=0.6)


def _next_together(student: Student) -> None:
    """Temperature, top_k and top_p, in this order: cases in which any other order keeps other tokens."""
    probs = torch.tensor([[0.04, 0.4, 0.06, 0.3, 0.2], [0.3, 0.04, 0.2, 0.06, 0.4]])
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"top_k": 3, "top_p": 0.74}, "with top_k = 3 and top_p = 0.74"),  # 2 of 3 renormalised, 3 of 5 otherwise
        ({"top_k": 2, "top_p": 0.5}, "with top_k = 2 and top_p = 0.5"),
        ({"top_k": 4, "top_p": 1.0}, "with top_k = 4 and top_p = 1"),
        ({"temperature": 0.5, "top_p": 0.65}, "with temperature = 0.5 and top_p = 0.65"),
        ({"temperature": 3.0, "top_p": 0.65}, "with temperature = 3 and top_p = 0.65"),
        ({"top_k": 5, "top_p": 0.65}, "with top_k = 5, which is all of them, and top_p = 0.65"),
        ({"top_k": 9, "top_p": 0.65}, "with top_k = 9, more than there are, and top_p = 0.65"),
        ({"temperature": 2.0, "top_k": 2}, "with temperature = 2 and top_k = 2"),
        ({"temperature": 0.4, "top_k": 4, "top_p": 0.93}, "with temperature = 0.4, top_k = 4 and top_p = 0.93"),
    )
    for kwargs, where in cases:
        with student.case():
            _distribution(student, probs.log(), where, **kwargs)


def _next_extreme(student: Student) -> None:
    inf = math.inf
    blocked = torch.tensor([[1.0, -inf, 2.0, 0.2, -inf], [-inf, -inf, -inf, 3.0, 0.5]])
    for kwargs in ({}, {"temperature": 0.5}, {"top_k": 2}, {"top_k": 4}, {"top_p": 0.6}, {"top_k": 3, "top_p": 0.95}):
        with student.case():
            said = " and ".join(f"{name} = {value}" for name, value in kwargs.items())
            _distribution(student, blocked, f"where logits are −∞{', with ' + said if said else ''}", **kwargs)
    with student.case():
        _distribution(student, _as_in_gpt2(), "for GPT-2's 50,257 tokens with top_p = 1, where all stay", top_p=1.0)
    for logits, where in (
        (_apart(3, 6) * 1e4, "for logits of 10,000"),
        (_apart(3, 6) * 2 - 2e4, "for logits that are all near −20,000"),
        (_apart(3, 6) * 2 + 2e4, "for logits that are all near 20,000"),
    ):
        for kwargs in ({}, {"top_k": 2}, {"top_p": 0.7}, {"temperature": 0.25}):
            with student.case():
                logits = (logits * 4).round() / 4  # so that nothing is lost where the logits are divided
                p = {"top_p": _p_between(logits, 0.7)} if "top_p" in kwargs else kwargs
                said = " and ".join(f"{name} = {value}" for name, value in p.items())
                _distribution(student, logits, f"{where}{', with ' + said if said else ''}", rough=True, **p)


def _next_manners(student: Student) -> None:
    for kwargs in (
        {"temperature": 0.6},
        {"top_k": 3},
        {"top_p": 0.7},
        {"temperature": 0},
        {"temperature": 2.0, "top_k": 4, "top_p": 0.8},
    ):
        for dtype in (torch.float32, torch.float64):
            with student.case():
                logits = _apart(3, 6, dtype=dtype)
                said = " and ".join(f"{name} = {value}" for name, value in kwargs.items())
                where = f"for {dtype_name(logits)} logits with {said}"
                answer = student.call("next_token_distribution", [logits], kwargs, where=where)
                _is_distribution(answer["value"], next_token_distribution(logits, **kwargs), where)
                unchanged(answer["inputs"], [logits], "logits")
                generator_unchanged(answer)
    with student.case():
        turned, where = (
            _apart(4, 3, 6).transpose(0, 1),
            "for logits that are not contiguous (a transpose), with top_k = 4 and top_p = 0.8",
        )
        _distribution(student, turned, where, top_k=4, top_p=0.8)
    with student.case():
        by_position = student.value("next_token_distribution", logits, 0.5, 4, 0.9, where="with arguments by position")
        _is_distribution(by_position, next_token_distribution(logits, 0.5, 4, 0.9), "with arguments by position")


def _next_gradient(student: Student) -> None:
    for kwargs, where in (
        ({"temperature": 0.7}, "with temperature = 0.7"),
        ({"top_k": 3}, "with top_k = 3"),
        ({"top_p": 0.8}, "with top_p = 0.8"),
    ):
        with student.case():
            logits = _apart(2, 5)
            if "top_p" in kwargs:
                kwargs = {"top_p": _p_between(logits, 0.8)}
            expected, upstream = gradients_of(lambda x, kwargs=kwargs: next_token_distribution(x, **kwargs), [logits])
            answer = student.call("next_token_distribution", [logits], kwargs, where=where, upstream=upstream)
            if not isinstance(answer["value"], torch.Tensor):
                raise Wrong(f"There is no result to take gradients of: yours returned {kind(answer['value'])}.")
            same_gradients(answer["gradients"].get("inputs", []), expected, ["logits"], where)


def _next_device(student: Student) -> None:
    logits = _apart(3, 6)
    for kwargs in ({"temperature": 0.5, "top_k": 3, "top_p": 0.8}, {"temperature": 0}):
        with student.case():
            _distribution(student, logits, "", **kwargs)
            device_is_kept(student, "next_token_distribution", [logits], kwargs)


def _next_refused(student: Student) -> None:
    logits = _apart(2, 5)
    with student.case():
        _distribution(
            student, logits, "with temperature = 0.5, top_k = 1 and top_p = 1.0", temperature=0.5, top_k=1, top_p=1.0
        )
    for kwargs in (
        *({"temperature": -1.0}, {"temperature": -0.01}, {"top_k": 0}, {"top_k": -2}),
        *({"top_p": -0.1}, {"top_p": 0.0}, {"top_p": 1.5}, {"temperature": 0, "top_k": 0}),
    ):
        said = ", ".join(f"{name} = {value}" for name, value in kwargs.items())
        with student.case(), raises_error(said):
            student.call("next_token_distribution", [logits], kwargs)


EXERCISE = Exercise(
    points=6,
    checks=[
        Check("temperature", 1.0, _next_temperature),
        Check("temperature 0 is greedy", 0.75, _next_greedy),
        Check("top-k", 1.0, _next_top_k),
        Check("top-p", 1.25, _next_top_p),
        Check("together, in their order", 0.5, _next_together, further=True),
        Check("logits of −∞ and of 10,000", 0.5, _next_extreme),
        Check("float64, input unchanged", 0.25, _next_manners, further=True),
        Check("gradients reach the logits", 0.25, _next_gradient, further=True),
        Check("stays on the device of the logits", 0.25, _next_device, further=True),
        Check("values out of range are ValueErrors", 0.25, _next_refused),
    ],
    working=r"""
import torch

def next_token_distribution(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0 or (top_k is not None and top_k < 1) or (top_p is not None and not 0 < top_p <= 1):
        raise ValueError("temperature, top_k or top_p is out of its range")
    best = torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    if temperature == 0:
        return best
    probs = torch.softmax(logits / temperature, -1)
    ordered, order = probs.sort(-1, descending=True)
    if top_k is not None:
        ordered = torch.cat([ordered[..., :top_k], torch.zeros_like(ordered[..., top_k:])], -1)
        ordered = ordered / ordered.sum(-1, keepdim=True)
    if top_p is not None and top_p < 1:
        before = torch.cat([torch.zeros_like(ordered[..., :1]), ordered[..., :-1]], -1).cumsum(-1)
        ordered = torch.where(before < top_p, ordered, torch.zeros_like(ordered))
        ordered = ordered / ordered.sum(-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, order, ordered)
""",
    takes="tensor",
    gives="tensor",
    slips=(
        "nothing_returned",
        "gradient_cut_off",
        "input_changed",
        "single_precision",
        "double_precision",
        "single_precision_inside",
        "squeezed",
        "rounded",
        "list_returned",
        "array_returned",
        "global_generator",
        "error_of_another_type",
        "error_returned",
        "bad_input_accepted",
    ),
    wrong=r"""
temperature_multiplied (slip): The logits are multiplied by the temperature: divide, so that a low temperature sharpens the distribution.
- logits / temperature => logits * temperature
temperature_ignored: The temperature is ignored: divide the logits by it before the softmax.
- logits = logits / temperature =>
temperature_after_softmax: The temperature is applied to the probabilities: it divides the logits, before the softmax.
- logits = logits / temperature =>
  return torch.softmax(logits, dim=-1) => return torch.softmax(logits, dim=-1) / temperature
- logits / temperature => torch.softmax(logits, dim=-1) / temperature
temperature_on_a_share: The probabilities are raised to the power of the temperature (or to another one): the exponent would be 1 / temperature.
- logits = logits / temperature =>
  return torch.softmax(logits, dim=-1) =>
      probs = torch.softmax(logits, dim=-1) ** temperature
      return probs / probs.sum(dim=-1, keepdim=True)
- logits / temperature => logits / temperature**2 || logits / math.sqrt(temperature)
temperature_last: The temperature is applied after top-p has chosen (or top-p looks at the logits before it): first temperature, then top-k, then
    top-p.
- logits = logits / temperature =>
  return torch.softmax(logits, dim=-1) => return torch.softmax(logits / temperature, dim=-1)
- V = logits =>
      plain = logits
      V = logits
  torch.softmax(logits, dim=-1).sort => torch.softmax(plain, dim=-1).sort
zero_divided: temperature = 0 divides by zero, which gives NaN: treat it on its own, all probability on the largest logit.
- if temperature == 0: =>
  return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype) =>
zero_replaced: temperature = 0 is replaced by a small number that is not small enough: logits close to each other share the probability. Return a
    one-hot row at the argmax.
- return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype) => temperature = 1e-2 || temperature = 1e-3 || temperature = 0.1
zero_is_one: temperature = 0 is treated as if no temperature were given (`if temperature:`): 0 means greedy.
- return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype) => temperature = 1.0 || return torch.softmax(logits, dim=-1)
index_returned: With temperature 0 the index of the best token is returned: probabilities are asked for, 1 at that index and 0 elsewhere.
- return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype) => return logits.argmax(dim=-1) || return logits.argmax(dim=-1, keepdim=True)
- return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype) => return logits.argmax()
one_hot_integers: With temperature 0 the result holds integers: F.one_hot gives them; convert to the dtype of the logits.
- return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype) => return F.one_hot(logits.argmax(dim=-1), V)
- return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype) => return logits == logits.max(dim=-1, keepdim=True).values
one_hot_of_everything: With temperature 0 one maximum is taken over the whole tensor: each row has its own (dim=-1).
- return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype) => return (logits == logits.max()).to(logits.dtype)
- return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype) => return F.one_hot(logits.argmax(), V).to(logits.dtype).expand(logits.shape)
all_the_likeliest: With temperature 0 each of several equally likely tokens gets probability 1, so the row sums to more: take one of them (argmax).
- F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype) => (logits == logits.amax(dim=-1, keepdim=True)).to(logits.dtype)
least_likely: With temperature 0 the smallest logit wins: take the largest (argmax).
- logits.argmax => logits.argmin
logits_kept_at_zero: With temperature 0 the largest logit stays as it is: its probability is 1.
- return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype) => return torch.where(logits == logits.max(dim=-1, keepdim=True).values, logits, 0)
top_k_ignored: top_k is ignored: only the k likeliest tokens keep a probability.
- if top_k is not None and top_k < V: =>
  kth = logits.topk(top_k, dim=-1).values[..., -1:] =>
  logits = logits.masked_fill(logits < kth, float("-inf")) =>
one_more (slip): top_k keeps one token too many.
- logits.topk(top_k, dim=-1).values[..., -1:] => logits.topk(min(top_k + 1, V), dim=-1).values[..., -1:]
one_fewer (slip): top_k keeps one token too few (`<=` where the k-th itself has to stay).
- logits < kth => logits <= kth
- and top_k < V =>
  topk(top_k, => topk(min(top_k, V),
  logits < kth => logits <= kth
smallest_kept (slip): top_k keeps the least likely tokens: the k largest logits stay.
- logits < kth => logits > logits.topk(top_k, dim=-1, largest=False).values[..., -1:]
largest_only_threshold: The threshold is the largest logit instead of the k-th: `values[..., -1:]`, they come sorted from large to small.
- values[..., -1:] => values[..., :1]
top_k_over_everything: top_k is taken over the whole tensor: each row keeps its own k tokens (dim=-1).
- logits.topk(top_k, dim=-1).values[..., -1:] => logits.flatten().topk(top_k).values[-1] || logits.topk(top_k, dim=-1).values.min()
- logits.topk(top_k, dim=-1).values[..., -1:] => logits.topk(top_k, dim=-1).values[(0,) * (logits.dim() - 1)][-1]
threshold_without_dimension: The threshold has lost its last dimension, so each is compared with the wrong row (or nothing fits): `values[..., -1:]`
    or unsqueeze(-1).
- values[..., -1:] => values[..., -1] || values[:, -1]
- if top_k is not None and top_k < V: => if top_k is not None:
  kth = logits.topk(top_k, dim=-1).values[..., -1:] => kth = logits.topk(min(top_k, V), dim=-1).values[..., -1]
two_dimensions_only: The code takes for granted that logits has two dimensions: write `[..., -1:]` and dim=-1, which fit any shape.
- values[..., -1:] => values[:, -1:]
- if top_k is not None and top_k < V: => if top_k is not None:
  kth = logits.topk(top_k, dim=-1).values[..., -1:] => kth = logits.topk(min(top_k, V), dim=-1).values[:, -1:]
- return torch.softmax(logits, dim=-1) => return torch.softmax(logits, dim=1)
- V = logits.shape[-1] => B, V = logits.shape || V = logits.shape[1]
softmax_over_rows: The softmax runs over the first dimension: over the tokens it is dim=-1.
- return torch.softmax(logits, dim=-1) => return torch.softmax(logits, dim=0)
too_large_k: A top_k above the number of tokens fails: all of them stay then (min(top_k, V)).
- and top_k < V =>
k_entries_only (slip): Only the k kept probabilities are returned: the result has an entry for each of the V tokens, 0 for those that are out.
- if top_k is not None and top_k < V: =>
      if top_k is not None:
          logits = logits.topk(min(top_k, V), dim=-1).values
  kth = logits.topk(top_k, dim=-1).values[..., -1:] =>
  logits = logits.masked_fill(logits < kth, float("-inf")) =>
not_renormalised_after_top_k (slip): After top_k the probabilities do not sum to 1: fill with −∞ before the softmax, or divide by what is left.
- in top_k_ignored
  return torch.softmax(logits, dim=-1) =>
      probs = torch.softmax(logits, dim=-1)
      if top_k is not None:
          probs = probs * (logits >= logits.topk(min(top_k, V), dim=-1).values[..., -1:])
      return probs
filled_with_zero: The logits of excluded tokens are set to 0, which is a logit like any other (exp(0) = 1): −∞ is asked for.
- kth, float("-inf")) => kth, 0.0) || kth, 1e-10)
- float("-inf") => 0.0 || -1.0
finite_fill: The logits of excluded tokens are set to a finite number, which is not small enough when all logits are far below zero: −∞ gives exactly
    0.
- kth, float("-inf")) => kth, -1e4)
- float("-inf") => -1e4 || -100.0 || -10.0
top_p_ignored: top_p is ignored: only the smallest set of tokens that reaches p keeps a probability.
- if top_p is not None and top_p < 1: =>
  probs, order = torch.softmax(logits, dim=-1).sort(dim=-1, descending=True) =>
  likelier = probs.cumsum(dim=-1) - probs =>
  beyond = likelier >= top_p =>
  logits = logits.masked_fill(beyond.scatter(-1, order, beyond), float("-inf")) =>
crossing_token_dropped (slip): top_p drops the token with which p is reached: it belongs to the set, which otherwise stays below p, and is empty when the
    likeliest token alone exceeds p.
- beyond = likelier >= top_p => beyond = probs.cumsum(dim=-1) > top_p
crossing_token_dropped_but_one (slip): top_p drops the token with which p is reached (only the very first is saved): a set that stays below p is too small.
- beyond = likelier >= top_p =>
      beyond = probs.cumsum(dim=-1) > top_p
      beyond[..., 0] = False
one_token_too_many (slip): top_p keeps one token more than it has to: the set ends with the token that reaches p.
- beyond = likelier >= top_p => beyond = likelier - likelier.diff(dim=-1, prepend=likelier[..., :1]) >= top_p
not_sorted: The probabilities are summed in the order of the vocabulary: sort them first, largest first.
- torch.softmax(logits, dim=-1).sort(dim=-1, descending=True) => torch.softmax(logits, dim=-1), torch.arange(V, device=logits.device).expand(logits.shape)
sorted_across_rows: The sorting (or the summing) of top_p runs over the first dimension, so that rows are mixed: over the tokens of a row it is
    dim=-1.
- sort(dim=-1, descending=True) => sort(dim=0, descending=True)
- torch.softmax(logits, dim=-1).sort(dim=-1, descending=True) => torch.softmax(logits, dim=0).sort(dim=0, descending=True)
  probs.cumsum(dim=-1) - probs => probs.cumsum(dim=0) - probs
  beyond.scatter(-1, order, beyond) => beyond.scatter(0, order, beyond)
- sort(dim=-1, descending=True) => sort(dim=0, descending=True)
  probs.cumsum(dim=-1) - probs => probs.cumsum(dim=0) - probs
  beyond.scatter(-1, order, beyond) => beyond.scatter(0, order, beyond)
sorted_upwards: The probabilities are sorted upwards, so the unlikely tokens are kept: descending=True.
- sort(dim=-1, descending=True) => sort(dim=-1)
order_forgotten: What was decided about the sorted tokens is applied to the unsorted ones: bring it back to the order of the vocabulary (scatter with
    the sorting's indices).
- beyond.scatter(-1, order, beyond) => beyond || beyond.gather(-1, order)
sorted_returned: The probabilities come back sorted: entry i belongs to token i of the vocabulary.
- return torch.softmax(logits, dim=-1) =>
      probs = torch.softmax(logits, dim=-1)
      return probs if top_p is None else probs.sort(dim=-1, descending=True).values
- return torch.softmax(logits, dim=-1) => return torch.softmax(logits, dim=-1).sort(dim=-1, descending=True).values
not_renormalised_after_top_p (slip): After top_p the probabilities do not sum to 1: divide by what is left, or fill with −∞ before the softmax.
- logits = logits.masked_fill(beyond.scatter(-1, order, beyond), float("-inf")) => return torch.softmax(logits, dim=-1).masked_fill(beyond.scatter(-1, order, beyond), 0.0)
logits_summed: top_p sums logits: it has to sum probabilities, so take the softmax first.
- torch.softmax(logits, dim=-1).sort( => logits.sort(
each_on_its_own: top_p is compared with each probability on its own: the *sum* of the likeliest tokens counts.
- beyond = likelier >= top_p => beyond = probs < top_p || beyond = probs < 1 - top_p || beyond = probs < top_p * probs[..., :1]
complement (slip): top_p is taken for the share that is dropped: it is the share that is kept.
- beyond = likelier >= top_p => beyond = likelier >= 1 - top_p
share_of_tokens: top_p is taken for a share of the vocabulary: it is a share of the probability.
- beyond = likelier >= top_p => beyond = (torch.arange(V, device=logits.device) >= max(1, round(top_p * V))).expand(logits.shape)
- beyond = likelier >= top_p => beyond = (torch.arange(V, device=logits.device) >= math.ceil(top_p * V)).expand(logits.shape)
tail_cut_at_one (slip): top_p = 1 keeps every token: in a long row the sum of the likelier ones is rounded to 1 before the last ones are reached,
    so they are dropped. Cut only where top_p < 1.
- if top_p is not None and top_p < 1: => if top_p is not None:
top_p_per_batch: One decision is made for all rows: each row has a set of its own.
- beyond = likelier >= top_p => beyond = (likelier.flatten(0, -2).mean(0) if logits.dim() > 1 else likelier).expand(logits.shape) >= top_p
- beyond = likelier >= top_p => beyond = (likelier.flatten(0, -2)[0] if logits.dim() > 1 else likelier).expand(logits.shape) >= top_p
- probs.cumsum(dim=-1) - probs => probs.cumsum(dim=0) - probs
top_p_before_top_k: top_p looks at all tokens: top_k comes first, and top_p then counts the probabilities that are left, renormalised.
- in top_p_ignored
  logits = logits / temperature =>
      logits = logits / temperature
      if top_p is not None and top_p < 1:
          probs, order = torch.softmax(logits, dim=-1).sort(dim=-1, descending=True)  # (..., V)
          likelier = probs.cumsum(dim=-1) - probs  # what all likelier tokens have together: 0 for the first
          beyond = likelier >= top_p  # p was reached before this token
          logits = logits.masked_fill(beyond.scatter(-1, order, beyond), float("-inf"))  # back in the order of V
either_or: top_p is not looked at when top_k is given (`elif`, or an early return): both may be given.
- if top_p is not None and => if top_k is None and top_p is not None and
either_or_other: top_k is not looked at when top_p is given: both may be given.
- if top_k is not None and top_k < V => if top_p is None and top_k is not None and top_k < V
large_k_ends_it: A top_k of V or more ends the work, and top_p is not looked at any more: all tokens pass top_k, and top_p comes next.
- logits = logits / temperature =>
      logits = logits / temperature
      if top_k is not None and top_k >= V:
          return torch.softmax(logits, dim=-1)
temperature_or_top_k: The temperature is not applied when top_k or top_p is given: all of them may be given.
- logits = logits / temperature =>
      if top_k is None and top_p is None:
          logits = logits / temperature
default_top_k (slip): Without top_k or top_p all tokens keep their probability: the defaults mean that nothing is cut.
- V = logits =>
      top_k = top_k or 3
      V = logits
- V = logits =>
      top_p = top_p or 0.9
      V = logits
logarithms: Logarithms of probabilities are returned: probabilities are asked for.
- return torch.softmax(logits, dim=-1) => return torch.log_softmax(logits, dim=-1)
logits_returned (missed): Logits are returned: the softmax is missing at the end.
- return torch.softmax(logits, dim=-1) => return logits
drawn (missed): A token is drawn: only the distribution is asked for, `generate` draws from it.
- return torch.softmax(logits, dim=-1) => return torch.multinomial(torch.softmax(logits, dim=-1).flatten(0, -2) if logits.dim() > 1 else torch.softmax(logits, dim=-1), 1)
squeezed:
- return torch.softmax(logits, dim=-1) => return torch.softmax(logits, dim=-1).squeeze() || return torch.softmax(logits, dim=-1).squeeze(0)
- V = logits =>
      logits = logits.flatten(0, -2) if logits.dim() > 1 else logits
      V = logits
view_needed (slip): `view` refuses tensors that are not contiguous, such as transposes. Use `reshape`, or leave all dimensions as they are.
- V = logits.shape[-1] =>
      shape, V = logits.shape, logits.shape[-1]
      logits = logits.view(-1, V)
  return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype) => return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype).view(shape)
  return torch.softmax(logits, dim=-1) => return torch.softmax(logits, dim=-1).view(shape)
unstable: Large logits overflow: torch.softmax subtracts the largest first; exp(logits) / sum on its own does not.
- return torch.softmax(logits, dim=-1) => return logits.exp() / logits.exp().sum(dim=-1, keepdim=True)
epsilon_added: A small number is added, so that excluded tokens get a chance or the rows do not sum to 1.
- return torch.softmax(logits, dim=-1) => return torch.softmax(logits, dim=-1) + 1e-3 || return torch.softmax(logits, dim=-1).clamp(min=1e-8)
- return torch.softmax(logits, dim=-1) =>
      probs = torch.softmax(logits, dim=-1) + 1e-6
      return probs / probs.sum(dim=-1, keepdim=True)
input_changed:
- logits = logits / temperature => logits /= temperature
- logits = logits / temperature => logits = logits if temperature == 1 else logits / temperature
  logits = logits.masked_fill(logits < kth, float("-inf")) => logits[logits < kth] = float("-inf")
- logits = logits / temperature => logits = logits if temperature == 1 else logits / temperature
  logits = logits.masked_fill(beyond => logits.masked_fill_(beyond
single_precision:
- return torch.softmax(logits, dim=-1) => return torch.softmax(logits, dim=-1, dtype=torch.float32)
double_precision:
- V = logits =>
      logits = logits.double()
      V = logits
one_hot_single_precision: With temperature 0 the result is float32 whatever was given: convert to logits.dtype.
- return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype) => return F.one_hot(logits.argmax(dim=-1), V).float()
device_not_kept: The result does not stay on the device of the logits: a tensor is made without `device=…`.
- return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype) =>
      result = torch.zeros(logits.shape, dtype=logits.dtype)
      return result.scatter(-1, logits.argmax(dim=-1, keepdim=True), 1.0)
- beyond.scatter(-1, order, beyond) => torch.zeros(logits.shape, dtype=torch.bool).scatter(-1, order, beyond)
bad_input_accepted: A value out of range is not refused: a negative temperature, a top_k below 1 and a top_p outside of 0 … 1 are ValueErrors that
    name the argument.
- if temperature < 0: =>
  raise ValueError(f"temperature must not be negative; got {temperature}") =>
  if top_k is not None and top_k < 1: =>
  raise ValueError(f"top_k must be at least 1; got {top_k}") =>
  if top_p is not None and not 0 < top_p <= 1: =>
  raise ValueError(f"top_p must be above 0 and at most 1; got {top_p}") =>
- temperature < 0 => False
- top_k is not None and top_k < 1 => False
- top_p is not None and not 0 < top_p <= 1 => False
- not 0 < top_p <= 1 => top_p > 1 || top_p <= 0
zero_refused: temperature = 0 is refused: it means greedy.
- if temperature < 0: => if temperature <= 0:
""",
    right=r"""
indices_cut:
- |
  if temperature < 0 or (top_k is not None and top_k < 1) or (top_p is not None and not 0 < top_p <= 1):
      raise ValueError('temperature, top_k or top_p is out of its range')
  V = logits.size(-1)
  best = logits.argmax(-1, keepdim=True)
  if temperature == 0:
      return torch.zeros_like(logits).scatter_(-1, best, 1.0)
  scaled = logits / temperature
  if top_k is not None:
      values, indices = torch.topk(scaled, min(int(top_k), V), dim=-1)
      scaled = torch.full_like(scaled, -torch.inf).scatter(-1, indices, values)
  if top_p is not None:
      values, indices = scaled.sort(dim=-1, descending=True)
      cumulative = values.softmax(-1).cumsum(-1)
      remove = cumulative > top_p
      remove = torch.cat([torch.zeros_like(remove[..., :1]), remove[..., :-1]], -1)
      if top_p == 1:
          remove = torch.zeros_like(remove)
      values = values.masked_fill(remove, -torch.inf)
      scaled = torch.full_like(scaled, -torch.inf).scatter(-1, indices, values)
  return scaled.softmax(-1)
row_by_row:
- |
  if temperature < 0 or (top_k is not None and top_k < 1) or (top_p is not None and not 0 < top_p <= 1):
      raise ValueError('temperature, top_k or top_p is out of its range')
  rows = []
  for row in logits.reshape(-1, logits.shape[-1]):
      if temperature == 0:
          p = torch.zeros_like(row)
          p[row.argmax()] = 1
          rows.append(p)
          continue
      p = torch.softmax(row / temperature, 0)
      order = sorted(range(len(row)), key=lambda i: -p[i].item())
      if top_k is not None:
          order = order[:top_k]
      total, kept, share = sum(p[i].item() for i in order), [], 0.0
      for i in order:
          if kept and top_p is not None and share >= top_p and top_p < 1:
              break
          kept.append(i)
          share += p[i].item() / total
      mask = torch.zeros_like(row)
      mask[kept] = 1
      p = p * mask
      rows.append(p / p.sum())
  return torch.stack(rows).reshape(logits.shape)
upwards:
- |
  if temperature < 0 or (top_k is not None and top_k < 1) or (top_p is not None and not 0 < top_p <= 1):
      raise ValueError('temperature, top_k or top_p is out of its range')
  if temperature == 0:
      return (torch.arange(logits.shape[-1], device=logits.device) == logits.argmax(-1, keepdim=True)).to(logits.dtype)
  logits = logits / temperature
  if top_k is not None:
      rank = logits.argsort(-1, descending=True).argsort(-1)
      logits = torch.where(rank < top_k, logits, torch.tensor(-math.inf, dtype=logits.dtype, device=logits.device))
  if top_p is not None and top_p < 1.0:
      small_first, indices = logits.sort(-1)
      out = small_first.softmax(-1).cumsum(-1) <= 1 - top_p
      out[..., -1:] = False
      logits = logits.masked_fill(out.scatter(-1, indices, out), -math.inf)
  return F.softmax(logits, -1)
probabilities:
- |
  if temperature < 0 or (top_k is not None and top_k < 1) or (top_p is not None and not 0 < top_p <= 1):
      raise ValueError('temperature, top_k or top_p is out of its range')
  if temperature == 0:
      return F.one_hot(torch.max(logits, -1).indices, logits.size(-1)).type_as(logits)
  probs = F.softmax(logits / temperature, dim=-1)
  if top_k is not None:
      threshold = probs.sort(-1, descending=True).values[..., min(top_k, probs.size(-1)) - 1].unsqueeze(-1)
      probs = probs * (probs >= threshold)
      probs = probs / probs.sum(-1, keepdim=True)
  if top_p is not None and top_p != 1:
      likelier = (probs.unsqueeze(-2) * (probs.unsqueeze(-2) > probs.unsqueeze(-1))).sum(-1)
      probs = probs * (likelier < top_p)
      probs = probs / probs.sum(-1, keepdim=True)
  return probs
""",
)
