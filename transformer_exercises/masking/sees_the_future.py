"""`sees_the_future`: some forty functions, causal and leaking: late, small, in one row or feature, behind a norm."""

import itertools
import random

from autograder.spec import (
    Check,
    CheckFunction,
    Exercise,
    Student,
    ValuesDiffer,
    Wrong,
    drawn,
    generator_unchanged,
    kind,
    other_sizes,
)


def _attention(blocked: str, zeroed: str = "s < 0") -> str:
    """Return the body of an attention that blocks scores, and zeroes weights, on conditions for query t and key s."""
    positions = "t = torch.arange(x.shape[1])[:, None]; s = t.T; scores = x @ x.mT / x.shape[-1] ** 0.5"
    weights = f"torch.softmax(scores.masked_fill({blocked}, -torch.inf), -1).masked_fill({zeroed}, 0)"
    return f"{positions}; return {weights} @ x"


def _changed(change: str) -> str:
    """Return the body of a function that returns its input, but for one change."""
    return f"out = x.clone(); {change}; return out"


class Causal(str):
    """The body of a function that leaks nothing; the others leak."""


# Functions by name: the body, a line of Python
PLAIN = {
    "attention without a mask": _attention("s < 0"),
    "reversed": "return x.flip(1)",
    "mean of everything": "return x.mean(1, keepdim=True).expand_as(x)",
    "causal attention": Causal(_attention("s > t")),
    "identity": Causal("return x"),
    "running mean": Causal("return x.cumsum(1) / torch.arange(1, x.shape[1] + 1)[:, None]"),
    "each token alone": Causal("return torch.tanh(x @ x.new_ones(x.shape[-1], x.shape[-1]) * 0.3) + x"),
    "constant": Causal("return torch.ones_like(x)"),
}
SINGLE_ROWS = {
    "first row looks at the last token": _changed("out[:, 0] += x[:, -1]"),
    "last row but one looks at the last token": _changed("out[:, -2:-1] += x[:, -1:]"),
    "first row looks at the second token": _changed("out[:, 0] += x[:, 1]"),
    "a middle row looks one ahead": _changed("m = x.shape[1] // 2 - 1; out[:, m] = x[:, m] * x[:, m + 1]"),
    "neighbours in pairs": _changed("n = x.shape[1] // 2 * 2; out[:, 0:n:2] = x[:, 0:n:2] + x[:, 1:n:2]"),
    "only the last row looks at everything": Causal(_changed("out[:, -1] = x.mean(1)")),
}
MASKS = {
    "mask off by one": _attention("s > t + 1"),
    "one step early": "return torch.cat([x[:, 1:], torch.zeros_like(x[:, :1])], 1)",
    "mask after the softmax": _attention("s < 0", zeroed="s > t"),
    "anti-causal attention": _attention("s < t"),
    "maximum of everything": "return x + x.amax(1, keepdim=True)",
    "one step late": Causal("return torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)"),
    "first token for all": Causal("return x[:, :1].expand_as(x)"),
    "running maximum": Causal("return x.cummax(1).values"),
}
HIDDEN = {
    "one feature leaks": _changed("out[:, 0, -1] += x[:, -1, 0]"),
    "the last feature leaks": _changed("out[:, 0, 0] += x[:, -1, -1]"),
    "a small leak": "return x + 1e-3 * x.mean(1, keepdim=True)",
    "last token for all, as a view": "return x[:, -1:].expand_as(x)",
    "leak that keeps every sum": _changed("out[:, 0, 0] += x[:, -1, 0]; out[:, 0, 1] -= x[:, -1, 0]"),
    "leak through shares that sum to 1": "return torch.softmax(3 * x.mean(1, keepdim=True), -1).expand_as(x)",
    "leak as a factor": "return x * x.mean(1, keepdim=True)",
    "leak of normalised tokens": "y = torch.layer_norm(x, x.shape[-1:]); return y + y.flip(1)",
    "leak of centred tokens": "y = x - x.mean(-1, keepdim=True); return y + y.flip(1)",
    "leak of tokens scaled to length 1": "y = x / x.norm(dim=-1, keepdim=True); return y + y.flip(1)",
    "causal, then normalised": Causal("return torch.layer_norm(x.cumsum(1), x.shape[-1:])"),
}
NO_GRADIENTS = {
    "leak without gradients": "with torch.no_grad(): return x.mean(1, keepdim=True).expand_as(x).clone()",
    "leak, rounded": "return torch.round(4 * x.flip(1)) / 4",
    "leak through a detached tensor": "return x + x.detach().mean(1, keepdim=True)",
    "causal, without gradients": Causal("with torch.no_grad(): return x.cumsum(1)"),
    "causal, rounded": Causal("return torch.round(x.cumsum(1) * 4)"),
    "attention to earlier tokens only": Causal(_attention("s >= t", zeroed="s >= t")),
}
_LARGE_AND_NEGATIVE = "torch.relu(x[:, -1].clamp(max=0).norm(dim=-1, keepdim=True) - 7)"
ASLEEP = {"a leak that sleeps unless numbers are large and negative": _changed(f"out[:, 0] += {_LARGE_AND_NEGATIVE}")}
EQUAL: dict[str, str] = {  # a change of a later token shows in the last digits only
    "causal, but for rounding": Causal("y = torch.sigmoid(x); return y / 10 + 1e-8 * y.sum(1, keepdim=True)"),
}
# A causal function that counts the x of each size. Their first tokens tell them apart: no change may begin there.
_COUNTING = """
def make():
    tried = {1: set(), 10: set()}

    def attend(x):
        assert tuple(x.shape) == (1, 6, 8), 'attend takes x of shape (1, T, C)'
        tried[1 if x.square().mean() < 10 else 10].add(tuple(x[0, 0].tolist()))
        return torch.relu(x.cumsum(1).norm(dim=-1, keepdim=True) - 10).expand_as(x)

    return attend, lambda: [len(tried[size]) >= 5 for size in (1, 10)]
"""
CHOSEN = ("causal attention", "mean of everything", "identity", "last row but one looks at the last token")
SIZES = ((2, 3), (1, 4), (5, 8), (3, 1), (12, 2), (8, 5), (33, 4))  # T, C


DEFAULT = (None, 8)  # T and C are not given: their defaults are 6 and 8


def _about(functions: dict[str, str], sizes: tuple = (DEFAULT,)) -> CheckFunction:
    def draw(rng: random.Random) -> tuple[int, int]:
        return rng.randint(4, 9), rng.randint(5, 11)

    def check(student: Student) -> None:
        for (name, body), known in student.in_any_order([*itertools.product(functions.items(), sizes)]):
            with student.case():
                T, C = drawn(known, draw) if known == DEFAULT else other_sizes(*known)
                promise = f"assert tuple(x.shape) == {(1, T or 6, C)}, 'attend takes x of shape (1, T, C)'"
                attend = student.probe("attend", f"def attend(x):\n    {promise}\n    {body}\n")
                given = {} if T is None else {"T": T, "C": C}
                where = f"for the function “{name}”" + (f" with T = {T} and C = {C}" if given else "")
                got = student.call("sees_the_future", [attend], given, where=where)["value"]
                if type(got) is not bool:
                    raise Wrong(f"Return True or False (bool(…) makes it one); yours returned {kind(got)} {where}.")
                if got is not (not isinstance(body, Causal) and T != 1):
                    truth = "No" if got else "An"
                    raise ValuesDiffer(
                        f"Your answer is {got} {where}. {truth} earlier output depends on a later token."
                    )

    return check


def _asleep(student: Student) -> None:
    _about(ASLEEP)(student)
    attend, enough = student.build_parts(2, student.probe("make", _COUNTING))
    where = "for the function “causal, with a threshold”"
    if student.value("sees_the_future", attend, where=where) is not False:
        raise ValuesDiffer(f"Your answer is not False {where}. No earlier output depends on a later token.")
    fewer = [size for size, tried in zip((1, 10), student.value(enough), strict=True) if not tried]
    if fewer:
        raise Wrong(f"Try at least 5 random x of each size, 1 and 10: yours tried fewer of size {fewer[0]}.")


def _future_side_effects(student: Student) -> None:
    times = drawn("", lambda rng: f"{rng.randint(2, 99)} * ")
    for sums, expected in (("x.cumsum(1)", False), ("x.flip(1)", True), ("x.cumsum(1)", False)):
        body = times + sums
        answer = student.call("sees_the_future", [student.probe("attend", f"def attend(x):\n    return {body}\n")])
        if answer["value"] is not expected:
            raise ValuesDiffer(f"It should be {expected} for the function that returns {body}, each time it is asked.")
        generator_unchanged(answer)
    attend = student.probe("attend", "def attend(x):\n    return x.flip(1)\n")
    if student.value("sees_the_future", attend=attend, where="with `attend` given by name") is not True:
        raise ValuesDiffer("It should be True for the function that returns x.flip(1), given by name, too.")


EXERCISE = Exercise(
    Check("plainly causal and plainly acausal functions", 1.5, _about(PLAIN)),
    Check("leaks into a single row, and a last row that sees everything", 1.5, _about(SINGLE_ROWS)),
    Check("masks that are off by one or come too late", 1.0, _about(MASKS)),
    Check("leaks that are small, in one feature, or hidden by a view or a normalisation", 1.0, _about(HIDDEN)),
    Check("functions without gradients", 0.5, _about(NO_GRADIENTS)),
    Check("other sizes", 0.75, _about({name: (PLAIN | SINGLE_ROWS)[name] for name in CHOSEN}, SIZES), dependent=True),
    Check("leaks that sleep on small inputs, and at least 5 random x of each size", 0.5, _asleep),
    Check("outputs that torch.allclose calls equal have not moved", 0.5, _about(EQUAL), dependent=True),
    Check("the global random generator is left alone", 0.5, _future_side_effects, dependent=True),
    takes="other",
    gives="bool",
    points=6,
)
