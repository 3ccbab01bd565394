"""Wrong and right answers to `noam_rate`. The reference (11-translation):

def noam_rate(step, d_model, warmup):
    if step < 1:
        raise ValueError(f"step counts from 1; got {step}")
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Minor, Misconception, RightAnswer

SCHEDULE = "min(step**-0.5, step * warmup**-1.5)"

# Right answers in other styles


class two_branches(RightAnswer):
    code = """
    if step < 1: raise ValueError("step must be 1 or more")
    return (d_model * warmup) ** -0.5 * (step / warmup if step <= warmup else (warmup / step) ** 0.5)
    """


class logarithms(RightAnswer):
    edits = {
        "step <": "not step >=",
        "d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)": (
            "math.exp(min(-math.log(step) / 2, math.log(step) - 1.5 * math.log(warmup)) - math.log(d_model) / 2)"
        ),
    }


class tensors(RightAnswer):
    code = """
    if step <= 0: raise ValueError("step")
    s, w, d = (torch.tensor(float(n)) for n in (step, warmup, d_model))
    return (d.rsqrt() * torch.minimum(s.rsqrt(), s / w**1.5)).item()
    """


# Mistakes


class max_for_min(Misconception):
    """The larger of the two terms is taken: it is the smaller one, so that the rate rises first, then falls."""

    edits = {"min(": "max("}


class terms_added(Misconception):
    """The two terms are added (or averaged): the rate is the smaller of them."""

    variants = [
        {"min(step**-0.5,": "(step**-0.5 +"},
        {SCHEDULE: ["(step**-0.5 + step * warmup**-1.5) / 2", "step**-0.5 * step * warmup**-1.5"]},
    ]


class d_model_upside_down(Minor):
    """The rate grows with d_model: the exponent is *minus* 0.5, wider models take smaller steps."""

    edits = {"d_model**-": "d_model**"}


class d_model_missing(Minor):
    """d_model is not used: the whole schedule is multiplied by d_model^-0.5."""

    edits = {"d_model**-0.5 *": ""}


class d_model_without_root(Minor):
    """The exponent of d_model is wrong: -0.5, one over the root."""

    edits = {"d_model**-0.5": ["d_model**-1", "d_model**-1.5"]}


class d_model_on_one_term(Misconception):
    """d_model^-0.5 multiplies only one of the two terms: it stands before the minimum, for both."""

    edits = {"d_model**-0.5 * min(step**-0.5,": ["min(d_model**-0.5 * step**-0.5,", "min(step**-0.5, d_model**-0.5 *"]}


class warmup_exponent(Minor):
    """The exponent of warmup is not -1.5, with which the two terms meet at step = warmup."""

    variants = [
        {"-1.5": ["-0.5", "-1", "-2"]},
        {SCHEDULE: "(step * warmup**-0.5 if step < warmup else step**-0.5)"},
    ]


class curved_warmup(Minor):
    """The rate rises along a curve: until step = warmup it rises in a straight line, step * warmup^-1.5."""

    edits = {
        SCHEDULE: ["step**-0.5 * min(1, step / warmup)", "(step**-0.5 if step > warmup else step**2 * warmup**-2.5)"]
    }


class step_exponent(Minor):
    """The decay has another exponent: step to the power of -0.5."""

    edits = {"(step**-0.5": ["(step**-1", "(step**0.5", "(step**-1.5"]}


class meets_too_high(Minor):
    """The straight line ends at 1: it meets the root at step = warmup if it is step * warmup^-1.5."""

    edits = {SCHEDULE: "(step / warmup if step < warmup else step**-0.5)"}


class no_warmup(Misconception):
    """There is no warm-up: until step = warmup the rate rises in a straight line, step * warmup^-1.5."""

    edits = {SCHEDULE: "step**-0.5"}


class another_decay(Misconception):
    """After the warm-up the rate does not fall, or falls along another curve (a line, a cosine): here as step^-0.5."""

    variants = [
        {SCHEDULE: "step * warmup**-1.5"},
        {"step**": "warmup**"},
        {
            "d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)": (
                "(d_model * warmup) ** -0.5 * min(warmup / step, step / warmup)"
            )
        },
        {
            SCHEDULE: [
                "(step * warmup**-1.5 if step <= warmup else warmup**-0.5 * (1 + step - warmup) ** -0.5)",
                "(step * warmup**-1.5 if step <= warmup else (step - warmup) ** -0.5)",
                "warmup**-0.5 * max(0.0, 1 - share) * min(1.0, step / warmup)",
                "warmup**-0.5 * (1 + math.cos(math.pi * min(1.0, share))) / 2 * min(1.0, step / warmup)",
            ],
            "return": "share = max(0, step - warmup) / (10 * warmup)\nreturn",
        },
    ]


class whole_numbers(Minor):
    """`//` throws away the rest of a division, so the rate is 0 in the warm-up: divide with `/`."""

    edits = {
        "min(step**-0.5, step * warmup**-1.5)": [
            "min(step**-0.5, step // warmup**1.5)",
            "min(step**-0.5, step // warmup * warmup**-0.5)",
            "((step // warmup) * warmup**-0.5 if step <= warmup else step**-0.5)",
        ]
    }


class counted_from_zero(Minor):
    """The steps are shifted by one: step counts from 1 here, so use it as it comes."""

    variants = [
        {"return": "step = step + 1\nreturn"},
        {
            "return d_model**-0.5 * min(step**-0.5,": """
                step = step - 1
                return d_model**-0.5 * min((step or 1) ** -0.5,
            """
        },
    ]


class peak_of_one(Misconception):
    """The schedule is scaled to a peak of 1 (or another number): the peak is (d_model * warmup)^-0.5."""

    variants = [
        {"d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)": "min((warmup / step) ** 0.5, step / warmup)"},
        {"step**-0.5, step * warmup**-1.5": "(warmup / step) ** 0.5, step / warmup"},
    ]


class another_factor(Minor):
    """The rate is multiplied by another factor (2, say): the formula has none."""

    edits = {"return d_model": ["return 2 * d_model", "return 0.5 * d_model"]}


class fixed_numbers(Misconception):
    """The numbers of the paper (d_model 512, warmup 4000) are written into the code: use the arguments."""

    variants = [
        {"warmup**": "4000**"},
        {
            "return d_model**": [
                "return 512**",
                """
                d_model = 512
                warmup = 4000
                return d_model**
                """,
            ]
        },
    ]


class rounded(common_mistakes.rounded):
    edits = {
        "d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)": [
            "round(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5), 4)",
            "round(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5), 6)",
        ]
    }


class arguments_swapped(Minor):
    """The parameters are not (step, d_model, warmup), in this order and with these names."""

    variants = [
        {"d_model, warmup):": ["warmup, d_model):", "dim, warmup_steps):\n    d_model, warmup = dim, warmup_steps"]},
        {"step, d_model": "d_model, step"},
    ]


class not_a_float(Minor):
    """The result is not a plain float (a tensor, a text): optimisers and logs want a number."""

    edits = {
        "d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)": [
            "torch.tensor(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))",
            "str(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))",
            'f"{d_model**-0.5 * min(step**-0.5, step * warmup**-1.5):.2f}"',
            'f"{d_model**-0.5 * min(step**-0.5, step * warmup**-1.5):.4f}"',
        ]
    }


class bad_step_accepted(Misconception):
    """A step below 1 is accepted: it should be a ValueError that names step."""

    edits = {
        "if step < 1:": [
            "step = max(step, 1)\nif step < 1:",
            "if step < 1:\n    return 0.0",
            "if step < 0:",
            "if step == 0:",
        ]
    }


class first_step_refused(Minor):
    """Step 1 is refused: it is the first."""

    edits = {"<": "<="}
