"""`sees_the_future`: some forty functions, causal and leaking: late, small, in one row or feature, behind a norm.

The mistakes: one change or one row looked at only, changes too small or too regular, gradients relied upon.
"""

import torch

from autograder.spec.exercise import Asking, Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import generator_unchanged
from autograder.spec.student import Student


def _attention(blocked: str) -> str:
    """Return the body of an attention that blocks key s for query t under this condition."""
    positions = "t = torch.arange(x.shape[1])[:, None]; s = t.T; scores = x @ x.mT / x.shape[-1] ** 0.5"
    return f"{positions}; return torch.softmax(scores.masked_fill({blocked}, -torch.inf), -1) @ x"


def _changed(change: str) -> str:
    """Return the body of a function that returns its input, but for one change."""
    return f"out = x.clone(); {change}; return out"


CAUSAL = {  # functions by name: the body, a line of Python
    "identity": "return x",
    "constant": "return torch.ones_like(x)",
    "each token alone": "return torch.tanh(x @ torch.ones(x.shape[-1], x.shape[-1]) * 0.3) + x",
    "causal attention": _attention("s > t"),
    "attention to earlier tokens only": (
        "t = torch.arange(x.shape[1])[:, None]; scores = (x @ x.mT).masked_fill(t.T >= t, -torch.inf); "
        "return torch.softmax(scores, -1).nan_to_num(0.0) @ x"
    ),
    "running mean": "return x.cumsum(1) / torch.arange(1, x.shape[1] + 1)[:, None]",
    "running maximum": "return x.cummax(1).values",
    "one step late": "return torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)",
    "first token for all": "return x[:, :1].expand_as(x)",
    "only the last row looks at everything": _changed("out[:, -1] = x.mean(1)"),
    "causal, without gradients": "with torch.no_grad(): return x.cumsum(1)",
    "causal, rounded": "return torch.round(x.cumsum(1) * 4)",
    "causal, then normalised": (
        "y = x.cumsum(1); return (y - y.mean(-1, keepdim=True)) / (y.std(-1, keepdim=True) + 1e-5)"
    ),
    "causal, in place": "return x.cumsum_(1)",
    "causal, with a threshold": "return torch.relu(x.cumsum(1).norm(dim=-1, keepdim=True) - 10).expand_as(x)",
}
LEAKING = {
    "attention without a mask": _attention("s < 0"),
    "mean of everything": "return x.mean(1, keepdim=True).expand_as(x)",
    "maximum of everything": "return x + x.amax(1, keepdim=True)",
    "reversed": "return x.flip(1)",
    "one step early": "return torch.cat([x[:, 1:], torch.zeros_like(x[:, :1])], 1)",
    "mask off by one": _attention("s > t + 1"),
    "mask after the softmax": (
        "t = torch.arange(x.shape[1])[:, None]; weights = torch.softmax(x @ x.mT / x.shape[-1] ** 0.5, -1); "
        "return weights.masked_fill(t.T > t, 0.0) @ x"
    ),
    "anti-causal attention": _attention("s < t"),
    "first row looks at the last token": _changed("out[:, 0] += x[:, -1]"),
    "last row but one looks at the last token": _changed("out[:, -2:-1] += x[:, -1:]"),
    "first row looks at the second token": _changed("out[:, 0] += x[:, 1]"),
    "a middle row looks one ahead": _changed("m = x.shape[1] // 2 - 1; out[:, m] = x[:, m] * x[:, m + 1]"),
    "one feature leaks": _changed("out[:, 0, -1] += x[:, -1, 0]"),
    "the last feature leaks": _changed("out[:, 0, 0] += x[:, -1, -1]"),
    "a small leak": "return x + 1e-3 * x.mean(1, keepdim=True)",
    "last token for all, as a view": "return x[:, -1:].expand_as(x)",
    "leak without gradients": "with torch.no_grad(): return x.mean(1, keepdim=True).expand_as(x).clone()",
    "leak, rounded": "return torch.round(4 * x.flip(1)) / 4",
    "leak of normalised tokens": ("y = (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True); return y + y.flip(1)"),
    "leak of tokens scaled to length 1": "y = x / x.norm(dim=-1, keepdim=True); return y + y.flip(1)",
    "leak of centred tokens": "y = x - x.mean(-1, keepdim=True); return y + y.flip(1)",
    "leak as a factor": "return x * x.mean(1, keepdim=True)",
    "leak through shares that sum to 1": "return torch.softmax(3 * x.mean(1, keepdim=True), -1).expand_as(x)",
    "leak through a detached tensor": "return x + x.detach().mean(1, keepdim=True)",
    "leak that keeps every sum": _changed("out[:, 0, 0] += x[:, -1, 0]; out[:, 0, 1] -= x[:, -1, 0]"),
    "a leak that sleeps on small inputs": _changed("out[:, 0] += torch.relu(x[:, -1].norm(dim=-1, keepdim=True) - 10)"),
    "neighbours in pairs": _changed("n = x.shape[1] // 2 * 2; out[:, 0:n:2] = x[:, 0:n:2] + x[:, 1:n:2]"),
}


def _probe(student: Student, name: str, T: int | None = None, C: int = 8) -> None:
    shape = (1, T or 6, C)
    promise = f"assert tuple(x.shape) == {shape}, 'attend takes x of shape (1, T, C)'"
    body = CAUSAL.get(name) or LEAKING[name]
    attend = student.probe("attend", f"def attend(x):\n    {promise}\n    {body}\n")
    sizes = {} if T is None else {"T": T, "C": C}
    where = f"for the function “{name}”" + (f" with T = {T} and C = {C}" if sizes else "")
    got = student.call("sees_the_future", [attend], sizes, where=where)["value"]
    if type(got) is not bool:
        what = "a tensor" if isinstance(got, torch.Tensor) else f"a {type(got).__name__}"
        raise Wrong(f"It should return True or False; yours returned {what} {where} (bool(…) turns it into one).")
    if got is not (name in LEAKING and T != 1):
        truth = "No earlier output depends on a later token" if got else "A later token does change an earlier output"
        raise ValuesDiffer(f"Your answer is {got} {where}. {truth} there.")


def _about(names: str, sizes: tuple = ((None, 8),)) -> Asking:
    def ask(student: Student) -> None:
        for name in names.split(" | "):
            for T, C in sizes:
                with student.case():
                    _probe(student, name, T, C)

    return ask


def _future_manners(student: Student) -> None:
    for body, expected in (("x.cumsum(1)", False), ("x.flip(1)", True), ("x.cumsum(1)", False)):
        attend = student.probe("attend", f"def attend(x):\n    return {body}\n")
        answer = student.call("sees_the_future", [attend])
        if answer["value"] is not expected:
            raise ValuesDiffer(f"It should be {expected} for the function that returns {body}, each time it is asked.")
        generator_unchanged(answer)
    attend = student.probe("attend", "def attend(x):\n    return x.flip(1)\n")
    if student.value("sees_the_future", attend=attend, where="with `attend` given by name") is not True:
        raise ValuesDiffer("It should be True for the function that returns x.flip(1), given by name, too.")


PLAIN = (
    "attention without a mask | causal attention | identity | reversed | running mean | mean of everything | "
    "each token alone | constant"
)
SINGLE_ROWS = (
    "only the last row looks at everything | first row looks at the last token | last row but one looks at the last "
    "token | first row looks at the second token | a middle row looks one ahead | neighbours in pairs"
)
MASKS = (
    "mask off by one | one step early | one step late | mask after the softmax | anti-causal attention | "
    "first token for all | running maximum | maximum of everything"
)
HIDDEN = (
    "one feature leaks | the last feature leaks | a small leak | last token for all, as a view | leak that keeps every "
    "sum | leak through shares that sum to 1 | leak as a factor | leak of normalised tokens | leak of centred tokens | "
    "leak of tokens scaled to length 1 | causal, then normalised | causal, in place"
)
NO_GRADIENTS = (
    "causal, without gradients | leak without gradients | leak, rounded | causal, rounded | leak through a detached "
    "tensor | attention to earlier tokens only"
)
SEVERAL_SIZES = "last row but one looks at the last token | causal attention | mean of everything | identity"
SIZES = ((2, 3), (1, 4), (5, 8), (3, 1), (12, 2), (8, 5), (33, 4))  # T, C
ASLEEP = "a leak that sleeps on small inputs | causal, with a threshold"

EXERCISE = Exercise(
    points=6,
    checks=[
        Check("plainly causal and plainly acausal functions", 1.5, _about(PLAIN)),
        Check("leaks into a single row, and a last row that sees everything", 1.5, _about(SINGLE_ROWS)),
        Check("masks that are off by one or come too late", 1.0, _about(MASKS)),
        Check("leaks that are small, in one feature, or hidden by a view or a normalisation", 1.0, _about(HIDDEN)),
        Check("functions without gradients", 0.5, _about(NO_GRADIENTS)),
        Check("other sizes", 0.75, _about(SEVERAL_SIZES, SIZES)),
        Check("leaks that sleep on small inputs", 0.5, _about(ASLEEP)),
        Check("the global random generator is left alone", 0.5, _future_manners),
    ],
    gives="bool",
)
