"""Wrong and right answers to `softmax`. The reference (05-attention):

def softmax(scores, dim=-1):
    shifted = scores - scores.amax(dim=dim, keepdim=True)  # the largest becomes 0: exp cannot overflow
    exps = torch.exp(shifted)
    return exps / exps.sum(dim=dim, keepdim=True)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

SHIFT = "shifted = scores - scores.amax(dim=dim, keepdim=True)"
SUM = "exps.sum(dim=dim, keepdim=True)"

# Right answers in other styles


class logsumexp(RightAnswer):
    code = "return torch.exp(scores - torch.logsumexp(scores, dim=dim, keepdim=True))"


class loop_over_slices(RightAnswer):
    code = """
    out = []
    moved = scores.movedim(dim, -1)
    for row in moved.reshape(-1, moved.shape[-1]): e = (row - row.max()).exp(); out.append(e / e.sum())
    return torch.stack(out).reshape(moved.shape).movedim(-1, dim)
    """


class detached_shift(RightAnswer):
    edits = {"amax": "detach().amax"}


# The shift by the maximum


class no_shift(Misconception):
    """The largest score is not subtracted: exp(1e4) overflows, and inf / inf is NaN. Subtract each row's maximum."""

    edits = {SHIFT: "", "shifted": "scores"}


class global_shift(Misconception):
    """One maximum is subtracted from all: a row far below it underflows to 0/0. Take it along `dim`."""

    edits = {"amax(dim=dim, keepdim=True)": "max()"}


class shift_last_dim(Misconception):
    """The maximum is taken along the last dimension whatever `dim` says: shift along the same `dim`."""

    edits = {"amax(dim=dim, keepdim=True)": "amax(dim=-1, keepdim=True)"}


class shift_by_minimum(Misconception):
    """The minimum or mean is subtracted, or the maximum added, so exponentials still overflow: subtract the maximum."""

    variants = [
        {"amax": "amin"},
        {"- scores": "+ scores"},
        {"amax": ["mean", "masked_fill(scores.isinf(), 0).mean"]},
    ]


class shift_by_absolute(Misconception):
    """The largest *absolute* value is subtracted: a row of large negative scores underflows to 0/0."""

    edits = {"amax": "abs().amax"}


class shift_in_denominator_only(Misconception):
    """The maximum is subtracted above or below only: use the same exponentials in both."""

    edits = {"exps / exps": ["torch.exp(scores) / exps", "exps / torch.exp(scores)"]}


class divided_by_maximum(Misconception):
    """The scores are divided by their maximum instead of shifted: that changes the weights."""

    edits = {"- scores.amax": ["/ scores.amax", "/ scores.abs().amax", "/ scores.norm", "/ scores.std"]}


class temperature(Misconception):
    """The scores are divided or multiplied by a number (a temperature): softmax takes them as they are."""

    edits = {
        "(shifted)": [
            "(shifted / 2)",
            "(shifted * 2)",
            "(shifted / scores.shape[dim])",
            "(shifted / scores.shape[dim] ** 0.5)",
        ]
    }


class numbers_one_by_one(Misconception):
    """This works for one row of numbers (`math.exp`), without a gradient: use `amax`, `torch.exp`, `sum`."""

    variants = [
        """
        exps = [math.exp(s - max(scores)) for s in scores]
        return torch.tensor([e / sum(exps) for e in exps])
        """,
        """
        exps = [math.exp(s) for s in scores]
        return torch.tensor([e / sum(exps) for e in exps])
        """,
    ]


class clamped(Misconception):
    """The scores are clamped, so those beyond the limit become equal: subtract the row's maximum instead."""

    edits = {
        SHIFT: [
            f"exps = torch.exp(scores.clamp({limits}))" for limits in ("-80, 80", "max=80", "-100, 100", "-10, 10")
        ],
        "exps = torch.exp(shifted)": "",
    }


# The dimension


class ignores_dim(Misconception):
    """`dim` is ignored: the result is always normalised along the last dimension."""

    variants = [{"=dim": "=-1"}, {"sum(dim=dim": "sum(dim=-1"}]


class first_dim(Minor):
    """Without a `dim` the result is normalised along the first dimension: the default is dim=-1."""

    edits = {"-1)": "0)"}


class always_first_dim(Misconception):
    """The result is always normalised along the first dimension, whatever `dim` says."""

    edits = {"=dim": "=0"}


class whole_tensor(Misconception):
    """The exponentials are divided by the sum of all entries: each row sums to 1 on its own, along `dim`."""

    variants = [
        {"sum(dim=dim, keepdim=True)": "sum()"},
        {"sum(dim=dim, keepdim=True)": "sum()", "amax(dim=dim, keepdim=True)": "max()"},
    ]


class values_and_indices(Fundamental):
    """`torch.max` with a dimension returns (values, indices): take the values, or use `amax`."""

    edits = {"scores.amax": "scores.max"}


class no_keepdim(Minor):
    """Without keepdim=True the sums lose a dimension, and rows meet the numbers of other rows."""

    variants = [
        {"sum(dim=dim, keepdim=True)": "sum(dim=dim)"},
        {"amax(dim=dim, keepdim=True)": "amax(dim=dim)"},
        {", keepdim=True": ""},
    ]


# The formula


class epsilon(Minor):
    """A number is added to the denominator, so weights sum to less than 1: after the shift it is at least 1."""

    edits = {SUM: [f"({SUM} + {number})" for number in ("1e-4", "1e-3", "1e-5", "1e-6", "1e-7", "1e-8")]}


class no_shift_but_epsilon(Misconception):
    """A number added to the denominator does not help when exp(1e4) overflows: subtract the maximum."""

    based_on = no_shift
    edits = {SUM: [f"({SUM} + {number})" for number in ("1e-8", "1e-5", "1e-6", "1e-9", "1e-10")]}


class not_normalised(Misconception):
    """The exponentials are not divided by their sum, so the weights do not sum to 1."""

    edits = {"/ exps.sum(dim=dim, keepdim=True)": ""}


class no_exponential(Misconception):
    """The scores are divided by their sum without the exponential: negative scores give negative weights."""

    variants = ["return scores / scores.sum(dim=dim, keepdim=True)", {"torch.exp(shifted)": "shifted"}]


class base_two(Minor):
    """The powers are taken of another number instead of e."""

    edits = {"torch.exp(shifted)": ["2 ** shifted", "10 ** shifted", "2.718 ** shifted"]}


class squares(Fundamental):
    """Squares or absolute values of the scores are normalised instead of their exponentials."""

    based_on = no_shift
    edits = {"torch.exp(scores)": ["scores.abs()", "scores**2"]}


class sign_changed(Minor):
    """The sign of the scores is changed, so that the smallest score gets the largest weight."""

    edits = {"shifted = scores -": "scores = -scores\nshifted = scores -"}


class maximum_lost(Misconception):
    """A score that equals the maximum is treated as special (argmax or `==`): equal scores share."""

    edits = {
        "exps / exps.sum(dim=dim, keepdim=True)": [
            "(exps == 1).to(scores.dtype)",
            "torch.zeros_like(scores).scatter(dim, scores.argmax(dim, keepdim=True), 1.0)",
        ]
    }


class log_softmax(Minor):
    """The result is the logarithm of the weights (log-softmax): take the exponential of it."""

    code = "return scores - torch.logsumexp(scores, dim=dim, keepdim=True)"


class sigmoid(Fundamental):
    """Each score went through a sigmoid on its own: in a softmax the scores of a row compete."""

    code = "return 1 / (1 + torch.exp(-scores))"


# Side effects, gradients and precision


class input_changed(common_mistakes.input_changed):
    variants = [
        {"shifted = scores -": "scores -=", "shifted": "scores"},
        {
            SHIFT: "scores -= scores.amax(dim, True)",
            "exps = torch.exp(shifted)": "scores.exp_()",
            "exps / exps.sum(dim=dim, keepdim=True)": "scores / scores.sum(dim, True)",
        },
    ]


class overwritten(shared_mistakes.overwritten):
    edits = {
        "return exps / exps.sum(dim=dim, keepdim=True)": """
            exps /= exps.sum(dim=dim, keepdim=True)
            return exps
        """
    }


class sum_detached(Misconception):
    """The denominator is detached: the values are right, but the gradient treats the sum as a constant."""

    edits = {"sum(dim=dim, keepdim=True)": "sum(dim=dim, keepdim=True).detach()"}


class single_precision(common_mistakes.single_precision):
    edits = {"shifted =": "scores = scores.float()\nshifted ="}


class double_precision(common_mistakes.double_precision):
    edits = {"shifted =": "scores = scores.double()\nshifted ="}


class single_precision_inside(common_mistakes.single_precision_inside):
    edits = {"(shifted)": "(shifted.float()).to(scores.dtype)"}


# Shapes, blocked scores and the signature


class two_dimensions_only(Misconception):
    """This works for a matrix, or slice by slice along the first dimension: use `dim` with keepdim=True."""

    variants = [
        """
        e = torch.exp(scores - scores.max(1)[0][:, None])
        return e / e.sum(1)[:, None]
        """,
        {"shifted =": "T, S = scores.shape\nshifted ="},
        """
        exps = [torch.exp(row - row.max()) for row in scores]
        return torch.stack([e / e.sum() for e in exps])
        """,
        """
        if scores.dim() == 1: e = torch.exp(scores - scores.max()); return e / e.sum()
        exps = [torch.exp(row - row.max()) for row in scores]
        return torch.stack([e / e.sum() for e in exps])
        """,
    ]


class reshaped_to_rows(Misconception):
    """The scores are reshaped into rows without moving `dim` last: `reshape` does not transpose."""

    based_on = ignores_dim
    edits = {
        "shifted =": """
            shape = scores.shape
            scores = scores.reshape(-1, shape[dim])
            shifted =
        """,
        "exps / exps.sum(dim=-1, keepdim=True)": "(exps / exps.sum(dim=-1, keepdim=True)).reshape(shape)",
    }


class finite_blocked(Misconception):
    """−inf was replaced by a finite number, or the weights have a floor: blocked entries get some weight."""

    variants = [
        {"torch.exp(shifted)": ["(torch.exp(shifted) + 1e-9)", "torch.exp(shifted).clamp(min=1e-9)"]},
        sign_changed.edited(
            {
                "-scores": [
                    "scores.nan_to_num(neginf=-1e4)",
                    "scores.nan_to_num(neginf=-1e9)",
                    "scores.nan_to_num(neginf=-100.0)",
                ]
            }
        ),
    ]


class other_signature(Minor):
    """An argument cannot be given by its name, or `dim` has no default: keep softmax(scores, dim=-1)."""

    variants = [
        {"scores": "x"},
        {"dim=-1)": "axis=-1)", "dim=dim": "dim=axis"},
        ignores_dim.edited({"scores, dim=-1": "scores"}),
        {"=-1)": ")"},
    ]


class array_returned(common_mistakes.array_returned):
    edits = {"exps / exps.sum(dim=dim, keepdim=True)": "(exps / exps.sum(dim=dim, keepdim=True)).detach().numpy()"}


class view_needed(Minor, shared_mistakes.view_needed):
    code = """
    moved = scores.movedim(dim, -1)
    rows = moved.view(-1, moved.shape[-1])
    exps = torch.exp(rows - rows.amax(dim=-1, keepdim=True))
    return (exps / exps.sum(dim=-1, keepdim=True)).view(moved.shape).movedim(-1, dim)
    """


class differences_of_all_pairs(Minor):
    """The exponentials of all differences are summed: −inf minus −inf is NaN, and large ones overflow. Subtract only
    the row's maximum.
    """

    code = """
    s = scores.movedim(dim, -1)
    return (1 / (s.unsqueeze(-2) - s.unsqueeze(-1)).exp().sum(-1)).movedim(-1, dim)
    """
