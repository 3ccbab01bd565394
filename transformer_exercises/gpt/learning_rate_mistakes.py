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

from .. import shared_mistakes

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
    """Warm-up climbs from the floor: it starts at 0, peak * step / warmup."""

    variants = [{"peak *": "floor + (peak - floor) *"}, {"peak * step / warmup": "max(floor, peak * step / warmup)"}]


class warmup_to_floor(Minor):
    """Warm-up climbs towards the floor: it ends at the peak."""

    edits = {"peak *": "floor *"}


class no_warmup(Misconception):
    """There is no warm-up: below `warmup` the rate climbs from 0 to the peak."""

    variants = [
        {"peak * step / warmup": "peak"},
        {"if step < warmup:": "step = max(step, warmup)", "return peak * step / warmup": ""},
    ]


class cosine_from_the_start(Misconception):
    """The cosine begins at step 0, or goes backwards below `warmup`: there the rate climbs in a line."""

    variants = [
        {"step < warmup": "False"},
        {"step < warmup": "False", "(step - warmup) / (max_steps - warmup)": "step / max_steps"},
    ]


class warmup_share(Misconception):
    """Warm-up divides by max_steps: divide by `warmup`, to reach the peak at step `warmup`."""

    edits = {"/ warmup": "/ max_steps"}


class warmup_without_peak(Misconception):
    """The share step / warmup is not multiplied by the peak."""

    edits = {"peak * step": "step"}


class warmup_curved(Misconception):
    """Warm-up is not a straight line: peak * step / warmup."""

    edits = {
        "step / warmup": [
            "(step / warmup) ** 2",
            "(1 - math.cos(math.pi * step / warmup)) / 2",
            "math.sin(math.pi / 2 * step / warmup)",
            "math.sqrt(step / warmup)",
        ]
    }


class integer_division(Minor):
    """`//` throws the fraction away, so the rate jumps: use `/`."""

    variants = [{"step / warmup": "(step // warmup)"}, {") / (": ") // ("}]


class cosine_to_zero(Minor):
    """The cosine goes down to 0 instead of the floor: floor + (peak − floor) · (1 + cos) / 2."""

    edits = {"floor + (peak - floor) *": "peak *"}


class floor_not_added(Minor):
    """The floor is subtracted and not added again: floor + (peak − floor) · (1 + cos) / 2."""

    edits = {"floor + (peak - floor)": "(peak - floor)"}


class clipped_at_floor(Minor):
    """The cosine goes towards 0 and is cut off at the floor: it ends at the floor, just at max_steps."""

    edits = {COSINE: "max(floor, peak * (1 + math.cos(math.pi * progress)) / 2)"}


class floor_added(Minor):
    """The floor is added on top of the whole peak: the cosine spans peak − floor."""

    edits = {"(peak - floor)": "peak"}


class warmup_not_subtracted(Misconception):
    """The way is counted from step 0: the cosine begins at `warmup`, so subtract it above and below."""

    variants = [{"(step - warmup) / (max_steps - warmup)": "step / max_steps"}, {"(step - warmup)": "step"}]


class warmup_not_subtracted_below(Misconception):
    """The cosine has max_steps − warmup steps, not max_steps: else it reaches the floor too late."""

    edits = {"(max_steps - warmup)": "max_steps"}


class one_step_early(Minor):
    """The cosine is one step early or late: the peak is at step `warmup`, the floor at step max_steps."""

    variants = [
        {"max_steps - warmup": ["max_steps - warmup - 1", "max_steps - warmup + 1"]},
        {"warmup) / (": "warmup + 1) / ("},
        {">= max_steps": ">= max_steps - 1"},
    ]


class linear_decay(Misconception):
    """The rate falls in a straight line: a cosine is asked for."""

    edits = {COSINE: "peak + (floor - peak) * progress"}


class exponential_decay(Misconception):
    """The rate falls exponentially: a cosine is asked for."""

    variants = [
        {"(1 + math.cos(math.pi * progress)) / 2": "math.exp(-5 * progress)"},
        {COSINE: "peak * max(floor / peak, 1e-3) ** progress"},
    ]


class without_pi(Minor):
    """π is missing: over the whole way the angle goes from 0 to π."""

    edits = {"math.pi * progress": "progress"}


class full_turn(Misconception):
    """The angle goes once around (2π), so the rate is back at the peak at the end: from 0 to π."""

    edits = {"math.pi": "2 * math.pi"}


class quarter_turn(Misconception):
    """The cosine makes a quarter of a turn (π/2): (1 + cos) / 2 with an angle from 0 to π is asked for."""

    variants = [{"(1 + math.cos(math.pi * progress)) / 2": "math.cos(math.pi / 2 * progress)"}, {"pi *": "pi / 2 *"}]


class half_forgotten(Minor):
    """1 + cos goes from 2 to 0: divide by 2."""

    edits = {") / 2": ")"}


class bare_cosine(Misconception):
    """A bare cosine becomes negative half way: (1 + cos) / 2 goes from 1 to 0."""

    edits = {"* (1 + math": "* math", ") / 2": ""}


class climbing(Minor):
    """The cosine climbs from the floor to the peak: 1 + cos, not 1 − cos."""

    edits = {"(1 +": "(1 -"}


class sine(Minor):
    """A sine is used where the cosine belongs."""

    edits = {"cos": "sin"}


class degrees(Minor, shared_mistakes.degrees):
    edits = {"math.pi": "180"}


class climbs_again(Misconception):
    """After max_steps the cosine goes on and climbs again: from max_steps on the rate is the floor."""

    edits = {"step >= max_steps": "max_steps == warmup"}


class zero_afterwards(Minor):
    """After max_steps the rate is 0: it stays at the floor."""

    variants = [
        cosine_to_zero.edited({"return floor": "return 0.0", "return peak * (": "return floor + (peak - floor) * ("}),
        {">=": "> max_steps: return 0.0\nif step =="},
    ]


class peak_afterwards(Minor):
    """After max_steps the rate is the peak again: it stays at the floor."""

    based_on = zero_afterwards
    edits = {"0.0": "peak"}


class nothing_afterwards(Misconception):
    """After max_steps there is None, or an error: from there on the rate is the floor."""

    variants = [
        {">=": ["> max_steps: return None\nif step ==", "> max_steps: raise ValueError('over')\nif step =="]},
        zero_afterwards.edited({"0.0": "None"}),
    ]


class division_by_zero(Minor):
    """With warmup = 0 the warm-up divides by zero: step 0 belongs to the cosine then (`<`, not `<=`)."""

    variants = [{"<": "<="}, {"if step < warmup:": "rising = peak * step / warmup\nif step < warmup:"}]


class peak_missed_without_warmup(Minor):
    """With warmup = 0 the first step has rate 0: it has the peak then (`<`, not `<=`)."""

    based_on = division_by_zero
    edits = {"/ warmup": "/ max(1, warmup)"}


class recursive(Minor):
    """Each rate calls the one before it; Python stops at depth 1,000: compute it from `step` alone."""

    edits = {
        "peak * step / warmup": (
            "learning_rate(step - 1, max_steps, warmup, peak, floor) + peak / warmup if step else 0.0"
        )
    }


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
        {
            "(step - warmup) / (max_steps - warmup)": [
                "round((step - warmup) / (max_steps - warmup), 1)",
                "round((step - warmup) / (max_steps - warmup), 2)",
            ]
        },
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
