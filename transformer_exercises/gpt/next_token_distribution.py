"""`next_token_distribution`: temperature, top-k, top-p and their order, logits far apart or −∞, values refused."""

import math
from typing import Any

import torch

from autograder.spec import (
    Cases,
    Check,
    Exercise,
    FunctionUnderTest,
    Student,
    a_tensor,
    behaves,
    cases_of,
    close,
    device,
    differ,
    gradients,
    normal,
    reference,
    refuses,
    same_tensor,
    shuffled,
    valid,
)

next_token_distribution = reference("next_token_distribution")


def _apart(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return logits in no order, any two of a row well apart, so that no tie and no rounding decides who stays."""
    steps = normal(*shape, dtype=torch.float64).abs() * 0.5 + 0.15
    return steps.cumsum(-1).gather(-1, normal(*shape).argsort(-1)).sub(steps.sum(-1, keepdim=True) / 2).to(dtype)


def _many(V: int) -> torch.Tensor:
    """Return logits for a real vocabulary: all different, and none so unlikely that float32 makes it 0."""
    return torch.linspace(-12, 12, V)[torch.randperm(V, generator=torch.Generator().manual_seed(9))]


def _p_between(logits: torch.Tensor, near: float, temperature: float = 1.0, top_k: int | None = None) -> float:
    """Return a top_p close to `near` that no row reaches by a hair: between two sums of the likeliest."""
    sums = next_token_distribution(logits.double(), temperature, top_k).sort(-1, descending=True).values.cumsum(-1)
    edges = torch.cat([sums.flatten(), torch.tensor([0.0, 1.0], dtype=torch.float64)]).sort().values
    gaps = [(abs((a + b) / 2 - near), (a + b) / 2) for a, b in edges.unfold(0, 2, 1).tolist() if b - a > 2e-3]
    return round(min(gaps)[1], 4)


def _same(got: Any, expected: torch.Tensor, what: str, where: str, rough: bool = False) -> None:
    """Raise `Wrong` unless these are the right probabilities, exactly 0 where a token was excluded."""
    got, position = a_tensor(got, what), f" {where}" if where else ""
    if (got.shape, got.dtype) == (expected.shape, expected.dtype) and not got.isnan().any():
        kept, wanted = (got != 0).sum(-1), (expected != 0).sum(-1)
        if (expected == 0).any() or (expected > 1e-20).all():
            many = "many" if (kept > wanted).any() else "few"
            differ(not torch.equal(kept, wanted), f"Too {many} tokens have a probability above 0{position}.")
        message = f"The probabilities of a row do not sum to 1{position}: normalise what is left."
        differ(not close(got.sum(-1), expected.sum(-1)), message)
    same_tensor(got, expected, what, where, rough)


cases = cases_of("next_token_distribution", same=_same)


def _case(what: str, logits: torch.Tensor, **kwargs: Any) -> tuple[Any, str]:
    message = ", ".join(f"{name} = {value}" for name, value in kwargs.items())
    return ([logits], kwargs), f"for {what}{' with ' + message if message else ''}"


def _shaped(*shape: int, **kwargs: Any) -> tuple[Any, str]:
    return _case(f"logits of shape {shape}", _apart(*shape), **kwargs)


@cases
def _temperature() -> Cases:
    yield _shaped(4, 7)
    for temperature, *shape in ((0.5, 5), (2.0, 3, 6), (0.7, 2, 3, 4), (10.0, 2, 1, 3, 5), (0.05, 4, 4), (3, 1)):
        yield _shaped(*shape, temperature=temperature)


def _several_likeliest(student: Student, tested: FunctionUnderTest) -> None:
    """Where several tokens are the likeliest, nobody says which of them it is, but no other has any probability."""
    logits = torch.tensor([[2.0, 5.0, -1.0, 5.0], [3.0, 3.0, 3.0, 3.0], [0.5, 0.25, -1.0, 0.0]])
    where = "where several tokens are the likeliest, with temperature = 0"
    got = a_tensor(student.value(tested.name, logits, temperature=0, where=where), "The result")
    if got.shape != logits.shape or got.dtype != logits.dtype:
        same_tensor(got, torch.zeros_like(logits), "The result", where)  # raises, with a hint
    wrong = not close(got.sum(-1), torch.ones(3)) or got[logits < logits.amax(-1, keepdim=True)].any()
    differ(wrong, f"A row should sum to 1, all of it on the likeliest, {where}.")


@cases
def _greedy() -> Cases:
    for shape in ((6,), (3, 5), (2, 3, 4), (1, 1), (4, 4)):
        yield _shaped(*shape, temperature=0)
    close_by = torch.tensor([[1.0, 1.001, 0.999, 1.0005], [-3.0, -3.001, -2.999, -4.0]])
    yield _case("logits close to each other", close_by, temperature=0.0)
    yield _case("logits of 10,000 and −∞", torch.tensor([1e4, -math.inf, 1.1e4, -1e4]), temperature=0)
    yield _shaped(3, 5, temperature=0, top_k=3, top_p=0.9)
    yield _several_likeliest


@cases
def _top_k() -> Cases:
    all_stay = (5, 3, 5), (8, 3, 5), (1000, 6), (1, 1)
    for top_k, *shape in ((3, 7), (2, 4, 6), (4, 2, 3, 5), (1, 3, 4), (2, 5, 5), (3, 2, 1, 2, 6), *all_stay):
        yield _shaped(*shape, top_k=top_k)
    yield _case("GPT-2's 50,257 tokens", _many(50_257), top_k=40)


@cases
def _top_p() -> Cases:
    usual = (0.8, 7), (0.6, 4, 6), (0.9, 2, 3, 5), (0.75, 5, 5), (0.5, 2, 1, 2, 6), (0.95, 3, 40)
    tiny = (1e-3, 3, 4), (0.02, 6)  # less than the likeliest token has: it stays nevertheless
    for near, *shape in (*usual, *tiny):
        logits = _apart(*shape)
        yield _case(f"logits of shape {tuple(shape)}", logits, top_p=_p_between(logits, near))
    for p in (1.0, 1e-6):  # all stay, and one stays
        yield _shaped(3, 6, top_p=p)
    skewed = torch.tensor([[0.02, 0.9, 0.05, 0.03], [0.3, 0.25, 0.24, 0.21]]).log()
    yield _case("two rows, one of which keeps one token and the other more,", skewed, top_p=0.6)


@cases
def _together() -> Cases:
    """Temperature, top_k and top_p, in this order: cases in which any other order keeps other tokens."""
    logits = torch.tensor([[0.04, 0.4, 0.06, 0.3, 0.2], [0.3, 0.04, 0.2, 0.06, 0.4]]).log()
    logits = logits[:, shuffled([*range(5)])]
    for temperature, top_k, top_p in (
        *((None, 3, 0.74), (None, 2, 0.5), (None, 4, 1.0)),  # the first: 2 of 3 renormalised, 3 of 5 otherwise
        *((0.5, None, 0.65), (3.0, None, 0.65), (None, 5, 0.65), (None, 9, 0.65)),  # 5 is all of them, 9 is more
        *((2.0, 2, None), (0.4, 4, 0.93)),
    ):
        given = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        yield _case("five tokens", logits, **{name: value for name, value in given.items() if value is not None})


@cases
def _extreme() -> Cases:
    inf, what = math.inf, "logits of which some are −∞,"
    blocked = torch.tensor([[1.0, -inf, 2.0, 0.2, -inf], [-inf, -inf, -inf, 3.0, 0.5]])
    for kwargs in ({}, {"temperature": 0.5}, {"top_k": 2}, {"top_k": 4}, {"top_p": 0.6}, {"top_k": 3, "top_p": 0.95}):
        yield _case(what, blocked, **kwargs)
    peaks = torch.tensor([22.0, 21.5, 21.0, 20.5, 20.0])  # which have 43, 26, 16, 10 and 6 % of all
    likely = _many(5_000).index_copy(0, torch.tensor([7, 4_000, 3, 900, 31]), peaks)
    yield _case("5,000 tokens of which five are likely", likely, top_p=0.75)
    for factor, shift, what in (
        *((1e4, 0, "logits of 10,000"), (2, -2e4, "logits that are all near −20,000")),
        (2, 2e4, "logits that are all near 20,000"),
    ):
        logits = ((_apart(3, 6) * factor + shift) * 4).round() / 4  # so that nothing is lost where they are divided
        for kwargs in ({}, {"top_k": 2}, {"top_p": _p_between(logits, 0.7)}, {"temperature": 0.25}):
            yield *_case(what, logits, **kwargs), True


@cases
def _side_effects() -> Cases:
    for options in ((0.6,), (1.0, 3), (1.0, None, 0.7), (0,), (2.0, 4, 0.8)):  # temperature, top_k, top_p
        for dtype in (torch.float32, torch.float64):
            yield behaves([_apart(3, 6, dtype=dtype), *options], "logits")
    yield _case("logits that are not contiguous (a transpose)", _apart(4, 3, 6).transpose(0, 1), top_k=4, top_p=0.8)


@cases
def _gradient() -> Cases:
    for temperature, top_k, near in ((0.7, None, None), (1.0, 3, None), (1.0, None, 0.8)):
        logits = _apart(2, 5)
        fixed = temperature, top_k, near and _p_between(logits, near)
        where = "with temperature = {}, top_k = {} and top_p = {}".format(*fixed)
        yield [logits, *fixed], where
        yield gradients([logits], ["logits"], fixed, where)


@cases
def _device() -> Cases:
    for options in ((0.5, 3, 0.8), (0,)):
        args = [_apart(3, 6), *options]
        yield args, f"with temperature = {options[0]}"
        yield device(args)


@cases
def _refused() -> Cases:
    options = {"temperature": 0.5, "top_k": 1, "top_p": 1.0}
    yield valid([_apart(2, 5)], "for two rows of logits", options)
    for kwargs in (
        *({"temperature": -1.0}, {"temperature": -0.01}, {"top_k": 0}, {"top_k": -2}),
        *({"top_p": -0.1}, {"top_p": 0.0}, {"top_p": 1.5}, {"temperature": 0, "top_k": 0}),
    ):
        yield refuses([_apart(2, 5)], ", ".join(f"{name} = {value}" for name, value in kwargs.items()), kwargs)


EXERCISE = Exercise(
    Check("temperature", 1.0, _temperature),
    Check("temperature 0 is greedy", 0.75, _greedy),
    Check("top-k", 1.0, _top_k),
    Check("top-p", 1.25, _top_p),
    Check("together, in their order", 0.5, _together, dependent=True),
    Check("logits of −∞ and of 10,000", 0.5, _extreme, dependent=True),
    Check("float64, input unchanged", 0.25, _side_effects, dependent=True),
    Check("gradients reach the logits", 0.25, _gradient, dependent=True),
    Check("stays on the device of the logits", 0.25, _device, dependent=True),
    Check("values out of range are ValueErrors", 0.25, _refused, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("other_signature", "global_generator"),
    library_equivalent=r"""
def next_token_distribution(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0 or (top_k is not None and top_k < 1) or (top_p is not None and not 0 < top_p <= 1):
        raise ValueError("temperature is at least 0, top_k at least 1, and top_p above 0 and at most 1")
    scores, order = (logits / (temperature or 1)).sort(dim=-1, descending=True, stable=True)
    out = torch.arange(scores.shape[-1], device=scores.device) >= (1 if temperature == 0 else top_k or scores.shape[-1])
    shares = scores.masked_fill(out, -torch.inf).softmax(-1)
    if top_p is not None and top_p < 1:
        out = out | (shares.cumsum(-1) - shares >= top_p)
        shares = scores.masked_fill(out, -torch.inf).softmax(-1)
    return torch.zeros_like(shares).scatter(-1, order, shares)
""",
)
