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
)
