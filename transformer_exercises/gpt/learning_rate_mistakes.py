"""Wrong and right answers to `learning_rate`. The reference (09-gpt):

def learning_rate(step, max_steps, warmup, peak, floor):
    if step < warmup:
        return peak * step / warmup
    if step >= max_steps:
        return floor
    progress = (step - warmup) / (max_steps - warmup)  # from 0 to 1
    return floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Minor, Misconception, RightAnswer

COSINE = "floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2"

# Right answers in other styles


class clamped(RightAnswer):
    code = """
    if warmup > 0 and step < warmup: return step / warmup * peak
    t = min(max((step - warmup) / (max_steps - warmup), 0.0), 1.0)
    return floor + 0.5 * (peak - floor) * (1.0 + math.cos(t * math.pi))
    """


class mixed(RightAnswer):
    code = """
    if step < warmup: rate = peak * (step / warmup)
    elif step < max_steps:
        t = (step - warmup) / (max_steps - warmup)
        w = 0.5 + 0.5 * math.cos(math.pi * t)
        rate = w * peak + (1 - w) * floor
    else: rate = floor
    return rate
    """


class sine_squared(RightAnswer):
    code = """
    if step >= max(max_steps, warmup): return floor
    if step < warmup: return peak / warmup * step
    return peak - (peak - floor) * math.sin(math.pi * (step - warmup) / (max_steps - warmup) / 2) ** 2
    """


class numpy(RightAnswer):
    code = """
    import numpy as np
    if step < warmup: return peak * step / warmup
    t = np.clip((step - warmup) / max(max_steps - warmup, 1), 0, 1) if step < max_steps else 1.0
    return floor + (peak - floor) * (1 + np.cos(np.pi * t)) / 2
    """


# Mistakes


class warmup_one_ahead(Minor):
    """Warm-up is one step ahead (step + 1?): step 0 has the rate 0, step `warmup` the peak."""

    variants = [
        {"* step": "* (step + 1)"},
        {"step / warmup": "(step + 1) / (warmup + 1)"},
        {"/ warmup": "/ max(1, warmup - 1)"},
    ]


class warmup_from_floor(Minor):
    """The floor is no part of warm-up, which climbs from 0 to the peak: peak * step / warmup."""

    variants = [
        {"peak *": ["floor + (peak - floor) *", "floor *"]},
        {"peak * step / warmup": "max(floor, peak * step / warmup)"},
    ]


class no_warmup(Misconception):
    """There is no warm-up (the peak, or the cosine instead): below `warmup` the rate climbs in a line from 0 to the
    peak.
    """

    variants = [
        {"peak * step / warmup": "peak"},
        {"if step < warmup:": "step = max(step, warmup)", "return peak * step / warmup": ""},
        {"step < warmup": "False"},
        {"step < warmup": "False", "(step - warmup) / (max_steps - warmup)": "step / max_steps"},
    ]


class warmup_share(Misconception):
    """Warm-up is not the straight line to the peak at step `warmup`: peak * step / warmup (not a curve, not divided by
    max_steps, and times the peak).
    """

    variants = [
        {"/ warmup": "/ max_steps"},
        {"peak * step": "step"},
        {"step / warmup": ["(step / warmup) ** 2", "(1 - math.cos(math.pi * step / warmup)) / 2"]},
    ]


class integer_division(Minor):
    """`//` throws the fraction away, so the rate jumps: use `/`."""

    edits = {"step / warmup": "(step // warmup)"}


class cosine_to_zero(Minor):
    """The cosine does not span peak − floor, down to the floor: floor + (peak − floor) · (1 + cos) / 2."""

    variants = [
        {"floor + (peak - floor) *": "peak *"},
        {"floor + (peak - floor)": "(peak - floor)"},
        {"(peak - floor)": "peak"},
        {COSINE: "max(floor, peak * (1 + math.cos(math.pi * progress)) / 2)"},
        {"floor + (peak - floor) *": "peak *", "return floor": "return 0.0"},
    ]


class warmup_not_subtracted(Misconception):
    """The cosine begins at `warmup` and has max_steps − warmup steps: subtract it above and below, not in one place or
    none.
    """

    variants = [
        {"(step - warmup) / (max_steps - warmup)": "step / max_steps"},
        {"(step - warmup)": "step"},
        {"(max_steps - warmup)": "max_steps"},
    ]


class both_at_once(Misconception):
    """Warm-up and cosine act at the same time (multiplied, chained, or the lower of them): the cosine begins where the
    warm-up ends, at step `warmup`.
    """

    variants = [
        """
        rising = min(1.0, step / warmup) if warmup else 1.0
        progress = min(1.0, step / max_steps)
        return rising * (floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2)
        """,
        """
        rising = min(1.0, step / warmup) if warmup else 1.0
        progress = min(1.0, step / max_steps)
        return floor + rising * (peak - floor) * (1 + math.cos(math.pi * progress)) / 2
        """,
        """
        rising = peak * step / warmup if warmup else peak
        progress = min(1.0, step / max_steps)
        return min(rising, floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2)
        """,
    ]


class one_step_early(Minor):
    """The cosine is one step early or late: the peak is at step `warmup`, the floor at step max_steps."""

    variants = [
        {"max_steps - warmup": ["max_steps - warmup - 1", "max_steps - warmup + 1"]},
        {"warmup) / (": "warmup + 1) / ("},
        {">= max_steps": ">= max_steps - 1"},
    ]


class no_decay(Misconception):
    """After the warm-up the rate stays the same (by a `//`?): it falls along the cosine from the peak to the floor."""

    edits = {COSINE: ["peak", "floor", "(peak + floor) / 2"]}


class linear_decay(Misconception):
    """The rate falls in a straight line, or exponentially: a cosine is asked for."""

    variants = [
        {COSINE: "peak + (floor - peak) * progress"},
        {"(1 + math.cos(math.pi * progress)) / 2": "math.exp(-5 * progress)"},
        {COSINE: "peak * max(floor / peak, 1e-3) ** progress"},
    ]


class without_pi(Minor):
    """π is missing: over the whole way the angle goes from 0 to π."""

    edits = {"math.pi * progress": "progress"}


class full_turn(Misconception):
    """The cosine makes a whole turn (2π, back to the peak) or a quarter (π/2): the angle of (1 + cos) / 2 goes
    from 0 to π.
    """

    variants = [
        {"math.pi": "2 * math.pi"},
        {"(1 + math.cos(math.pi * progress)) / 2": "math.cos(math.pi / 2 * progress)"},
        {"pi *": "pi / 2 *"},
    ]


class half_forgotten(Minor):
    """1 + cos goes from 2 to 0: divide by 2."""

    edits = {") / 2": ")"}


class bare_cosine(Misconception):
    """A bare cosine becomes negative half way: (1 + cos) / 2 goes from 1 to 0."""

    edits = {"* (1 + math": "* math", ") / 2": ""}


class climbing(Minor):
    """1 + cos falls, as it should; 1 − cos climbs from the floor to the peak, and a sine goes another way."""

    variants = [{"(1 +": "(1 -"}, {"cos": "sin"}]


class climbs_again(Misconception):
    """After max_steps the cosine goes on and climbs again: from max_steps on the rate is the floor."""

    edits = {"step >= max_steps": "max_steps == warmup"}


class zero_afterwards(Minor):
    """After max_steps the rate is 0, or the peak again: it stays at the floor."""

    variants = [
        cosine_to_zero.edited({"return floor": "return 0.0", "return peak * (": "return floor + (peak - floor) * ("}),
        {">=": "> max_steps: return 0.0\nif step =="},
        cosine_to_zero.edited({"return floor": "return peak", "return peak * (": "return floor + (peak - floor) * ("}),
    ]


class nothing_afterwards(Misconception):
    """After max_steps there is None, or an error: from there on the rate is the floor."""

    variants = [
        {">=": ["> max_steps: return None\nif step ==", "> max_steps: raise ValueError('over')\nif step =="]},
        zero_afterwards.edited({"0.0": "None"}),
    ]


class division_by_zero(Minor):
    """With warmup = 0 the warm-up divides by zero, or gives 0: step 0 belongs to the cosine then, and has the peak
    (`<`, not `<=`).
    """

    variants = [
        {"<": "<="},
        {"if step < warmup:": "rising = peak * step / warmup\nif step < warmup:"},
        {"<": "<=", "/ warmup": "/ max(1, warmup)"},
    ]


class not_a_float(Misconception):
    """A tensor is returned: a plain float is asked for (math.cos, not torch.cos)."""

    variants = [
        cosine_to_zero.edited(
            {
                "peak * step / warmup": "torch.tensor(peak * step / warmup)",
                "return floor": "return torch.tensor(floor)",
                "peak * (1 + math.cos(math.pi * progress": (
                    "floor + (peak - floor) * (1 + torch.cos(torch.tensor(math.pi * progress)"
                ),
            }
        ),
        {"math.cos(math.pi * progress)": "torch.cos(torch.tensor(math.pi * progress, dtype=torch.float64))"},
    ]


class rounded(common_mistakes.rounded):
    variants = [
        {COSINE: f"round({COSINE}, 4)"},
        {COSINE: f"round({COSINE}, 4)", "peak * step / warmup": "round(peak * step / warmup, 4)"},
    ]


class factor(Minor):
    """The rate comes as a share of the peak, as LambdaLR wants it: the rate itself is asked for."""

    based_on = cosine_to_zero
    edits = {
        "peak * step": "step",
        "return floor": "return floor / peak",
        "peak * (1 + math.cos(math.pi * progress)) / 2": (
            "(floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2) / peak"
        ),
    }


class nothing_returned(common_mistakes.nothing_returned):
    edits = {"return": "_ ="}
