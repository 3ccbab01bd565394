"""Wrong and right answers to `sequence_log_prob`. The reference (01-language-modelling):

def sequence_log_prob(ids, probs):
    steps = probs[ids[:-1], ids[1:]]  # (N-1,): p(x2 | x1), p(x3 | x2), ...
    return steps.log().sum()  # a sum of logarithms: the product itself would soon underflow to 0
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Minor, Misconception, RightAnswer

from .. import shared_mistakes

STEPS = "steps = probs[ids[:-1], ids[1:]]"

# Right answers in other styles


class logarithms_first(RightAnswer):
    code = "return torch.log(probs)[ids[:-1], ids[1:]].sum()"


class loop(RightAnswer):
    code = """
    total = probs.new_zeros(())
    for k in range(1, len(ids)): total = total + probs[ids[k - 1], ids[k]].log()
    return total
    """


class flat_index(RightAnswer):
    edits = {
        STEPS: "cells = ids[:-1] * probs.shape[1] + ids[1:]",
        "return steps.log().sum()": "return probs.reshape(-1).take(cells).log().sum(0)",
    }


# Mistakes


class product_first(Misconception):
    """The product of some hundred probabilities underflows to 0: take logarithms first, then add."""

    variants = [
        {"log().sum()": ["prod().log()", "double().prod().log().to(probs.dtype)"]},
        """
        total = 1.0
        for k in range(1, len(ids)): total *= probs[ids[k - 1], ids[k]].item()
        return torch.tensor(total).log()
        """,
    ]


class no_logarithm(Misconception):
    """The probability itself is returned (the product): its natural logarithm is asked for."""

    edits = {"log().sum": "prod"}


class sum_of_probabilities(Misconception):
    """The probabilities are added: the chain rule multiplies them, so their logarithms add up."""

    edits = {"log().sum": ["sum().log", "sum"]}


class base_two(Minor):
    """The logarithm has base 2 or 10: the natural logarithm is asked for, torch.log."""

    variants = [
        {".log": ".log2"},
        {".log": ".log10"},
    ]


class log1p(Misconception):
    """torch.log1p is the logarithm of 1 + p: torch.log is meant."""

    edits = {".log": ".log1p"}


class negative(Minor):
    """The sign is wrong: a log-probability is never positive. (Its negative is the loss.)"""

    edits = {"steps.": "-steps."}


class mean(Misconception):
    """The mean of the logarithms is returned: the logarithm of a product is their sum."""

    variants = [{"sum": "mean"}, {"sum()": ["sum() / len(ids)", "sum() / max(len(steps), 1)"]}]


class negative_mean(Misconception):
    """The mean negative logarithm is returned, which is the loss: the sum of the logarithms is asked for."""

    edits = {
        "steps.log().sum()": [
            "-steps.log().mean()",
            "-steps.log().sum() / max(len(steps), 1)",
            "-steps.log().sum() / len(ids)",
        ]
    }


class not_summed(Minor):
    """One number for each step is returned: add them up."""

    edits = {"().sum()": ["()", "().cumsum(0)", "().sum(dim=0, keepdim=True)"]}


class transposed(Misconception):
    """Rows and columns are swapped: probs[i, j] is p(j given i), so the earlier token is the row."""

    edits = {"[:-1], ids[1:]": "[1:], ids[:-1]"}


class wraps_round(Minor):
    """A step from the last token to the first is counted (index −1, torch.roll): p(x1) is not part."""

    edits = {"[:-1], ids[1:]": ".roll(1), ids"}


class last_step_missed(Minor):
    """A step is missing at one end: N tokens have N − 1 steps, and `range(n)` ends at n − 1 already."""

    edits = {"[:-1], ids[1:]": ["[:-2], ids[1:-1]", "[1:-1], ids[2:]"]}


class first_token_counted(Misconception):
    """A factor for the first token is counted: it is *given*, so p(x2 given x1) comes first."""

    edits = {
        "sum()": [
            "sum() - math.log(len(probs))",
            "sum() + probs[ids[0], ids[0]].log()",
            "sum() + probs[0, ids[0]].log()",
            "sum() + probs.mean(dim=0)[ids[0]].log()",
        ]
    }


class same_row(Misconception):
    """Each step looks in the row of the first token, or of the token itself: the row is the token just before."""

    variants = [{":-1": ["0", "1:"]}, {"[:-1], ids[1:]": [", ids", "[:-1], ids[:-1]"]}]


class all_pairs(Misconception):
    """`probs[ids[:-1]][:, ids[1:]]` takes every row with every column: pair them, `probs[ids[:-1], ids[1:]]`."""

    edits = {"ids[:-1], ids[1:]": ["ids[:-1]][:, ids[1:]", "ids[:-1]", "ids"]}


class positions_for_ids(Misconception):
    """Positions in the text are used where the ids should be."""

    edits = {"ids[:-1]": "torch.arange(len(ids) - 1) % len(probs)"}


class epsilon(Misconception):
    """A small number (or a clamp) before the logarithm makes impossible texts possible: log(0) is −inf."""

    variants = [
        {
            "steps.": [
                f"(steps + {number})." for number in ("1e-10", "1e-12", "1e-9", "1e-8", "1e-7", "1e-6", "1e-5", "1e-30")
            ]
        },
        {".log": [f".clamp(min={number}).log" for number in ("1e-12", "1e-10", "1e-9", "1e-8", "1e-6", "1e-30")]},
        {".log": [f".clamp(min=torch.finfo(probs.dtype).{least}).log" for least in ("eps", "tiny")]},
    ]


class zero_skipped(Misconception):
    """Steps of probability 0 are left out, or refused: one impossible step makes the whole text impossible, −inf."""

    variants = [
        {".log": "[steps > 0].log"},
        {"return": ["if (steps == 0).any(): raise ValueError('probs')\nreturn", "assert (steps > 0).all()\nreturn"]},
    ]


class number_for_one_token(Misconception):
    """For a single token a plain 0 comes back: start the sum from a tensor, `probs.new_zeros(())`."""

    based_on = loop
    edits = {"probs.new_zeros(())": ["0.0", "0"]}


class math_log(Misconception):
    """`math.log` stops with an error at 0, and lets no gradient through: use torch.log, and add up its results."""

    variants = [
        number_for_one_token.edited(
            {
                "return total": [
                    "return torch.tensor(total, dtype=probs.dtype)",
                    "return torch.tensor(total)",
                    "return total",
                ],
                "probs[ids[k - 1], ids[k]].log(": "math.log(probs[ids[k - 1], ids[k]]",
            }
        ),
        """
        total = 1.0
        for k in range(1, len(ids)): total *= probs[ids[k - 1], ids[k]].item()
        return math.log(total)
        """,
        """
        total = 1.0
        for k in range(1, len(ids)): total *= probs[ids[k - 1], ids[k]]
        return math.log(total)
        """,
        """
        p = 1.0
        for k in range(1, len(ids)): p *= probs[ids[k - 1], ids[k]]
        return torch.tensor(math.log(p))
        """,
    ]


class nan_for_impossible(Misconception):
    """An impossible step gives NaN: 0 · −inf, or the difference of two infinities. The result is −inf."""

    variants = [
        {"sum()": "sum().nan_to_num(neginf=float('nan'))"},
        {
            STEPS: "onehot = F.one_hot(ids[1:], len(probs)).to(probs.dtype)",
            "steps.log()": "(probs[ids[:-1]].log() * onehot)",
        },
    ]


class one_token_refused(Misconception):
    """A text of one token has the log-probability 0: the product is empty, which is 1."""

    variants = [
        {"return": ["if len(ids) < 2: raise ValueError('ids')\nreturn", "if len(ids) < 2: return None\nreturn"]},
        {"steps.log()": "torch.stack([p.log() for p in steps])"},
        {"sum()": "cumsum(0)[-1]"},
        {
            "return": [
                "if len(ids) < 2: return probs.new_tensor(1.0)\nreturn",
                "if len(ids) < 2: return probs.new_tensor(float('-inf'))\nreturn",
            ]
        },
    ]


class log_softmax(Misconception):
    """The probabilities go through a softmax: they are normalised already, so take their logarithm."""

    edits = {"probs[ids[:-1], ids[1:]]": "torch.softmax(probs, dim=-1)[ids[:-1], ids[1:]]"}


class already_logarithms(Misconception):
    """The table holds probabilities, not logarithms: take the logarithm before adding."""

    edits = {"steps.log()": ["steps.log().log()", "(steps * steps.log())"]}


class perplexity(Misconception):
    """A perplexity is returned: the log-probability is asked for."""

    edits = {"steps.log().sum": "(-steps.log().mean()).exp"}


class python_number(common_mistakes.python_number):
    based_on = number_for_one_token
    edits = {"return total": "return total.item()"}


class gradient_cut_off(common_mistakes.gradient_cut_off):
    variants = [
        math_log.edited({"math.log(probs[ids[k - 1], ids[k]]": "probs[ids[k - 1], ids[k]].log().item("}),
        {
            "return steps.log().sum()": """
                import numpy as np
                return torch.tensor(np.log(steps.numpy()).sum())
            """
        },
    ]


class view_needed(Minor, shared_mistakes.view_needed):
    based_on = flat_index
    edits = {"reshape": "view"}


class float32_for_one_token(Misconception):
    """For a single token a float32 zero comes back: make it of their dtype, `probs.new_zeros(())`."""

    edits = {
        "return": [
            "if len(ids) < 2: return torch.tensor(0.0)\nreturn",
            "if len(ids) < 2: return torch.tensor(0.0, device=probs.device)\nreturn",
        ]
    }


class single_precision(common_mistakes.single_precision):
    edits = {".log": ".float().log"}


class input_changed(common_mistakes.input_changed):
    edits = {STEPS: ["probs.data.log_()", "probs.log_()"], "steps.log()": "probs[ids[:-1], ids[1:]]"}


class device_not_kept(shared_mistakes.device_not_kept):
    variants = [
        {
            STEPS: "total = torch.zeros(1, dtype=probs.dtype)",
            "steps.log().sum()": "(total + probs[ids[:-1], ids[1:]].log().sum())[0]",
        },
        {"return": "if len(ids) < 2: return torch.tensor(0.0, dtype=probs.dtype)\nreturn"},
    ]
