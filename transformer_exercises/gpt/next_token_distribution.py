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
)
