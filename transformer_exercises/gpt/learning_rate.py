"""`learning_rate`: steps of three schedules, what comes after, and schedules without warm-up.

The mistakes: warm-up one step off, a cosine over other steps or to another floor, rates that climb again.
"""

from __future__ import annotations

import math
from typing import Any

from autograder.spec.compare import kind
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import note_rounded
from autograder.spec.student import Student

from .common import a_number

learning_rate = reference("learning_rate")

# max_steps, warmup, peak, floor: the last as GPT-2's size is trained
_SCHEDULES = ((30, 10, 1.0, 0.2), (47, 9, 6e-4, 6e-5), (100, 3, 3e-3, 0.0), (600_000, 2_000, 6e-4, 6e-5))


def _rate(student: Student, step: int, max_steps: int, warmup: int, peak: float, floor: float) -> Any:
    where = f"at step {step} with max_steps = {max_steps}, warmup = {warmup}, peak = {peak}, floor = {floor}"
    got = student.value("learning_rate", step, max_steps, warmup, peak, floor, where=where)
    note_rounded(student, got)
    number, expected = a_number(got, "The rate", where), learning_rate(step, max_steps, warmup, peak, floor)
    if math.isnan(number) or not math.isclose(number, expected, rel_tol=1e-5, abs_tol=1e-6 * peak):
        raise ValuesDiffer(f"The rate is too {'high' if number > expected else 'low'} {where}.")
    return got


def _rate_warmup(student: Student) -> None:
    for max_steps, warmup, peak, floor in _SCHEDULES:
        for step in range(0, warmup + 1, max(1, warmup // 10)):
            with student.case():
                _rate(student, step, max_steps, warmup, peak, floor)


def _rate_cosine(student: Student) -> None:
    for max_steps, warmup, peak, floor in (*_SCHEDULES, (20, 0, 2.0, 0.5)):
        for step in (*range(warmup + 1, max_steps, max(3, max_steps // 30)), max_steps - 1, max_steps):
            with student.case():
                _rate(student, step, max_steps, warmup, peak, floor)


def _rate_after(student: Student) -> None:
    for max_steps, warmup, peak, floor in (*_SCHEDULES, (20, 0, 2.0, 0.5)):
        for step in (max_steps, max_steps + 1, 2 * max_steps - warmup, 5 * max_steps, 10**7):
            with student.case():
                _rate(student, step, max_steps, warmup, peak, floor)


def _rate_edges(student: Student) -> None:
    for step, max_steps, warmup in (
        *((0, 12, 0), (1, 12, 0), (0, 12, 1), (1, 12, 1), (2, 12, 1), (12, 12, 0)),  # no warm-up, or one step of it
        *((3, 8, 8), (8, 8, 8), (9, 8, 8), (7, 8, 7), (0, 1, 0), (1, 1, 0)),  # nothing but warm-up, or a single step
    ):
        with student.case():
            got = _rate(student, step, max_steps, warmup, 0.5, 0.125)
            if type(got) is not float:
                raise Wrong(f"The rate should be a plain float; yours is {kind(got)}.", "not_a_float")


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("linear warm-up", 0.75, _rate_warmup),
        Check("cosine from the peak to the floor", 1.0, _rate_cosine),
        Check("constant after max_steps", 0.75, _rate_after),
        Check("without warm-up, with nothing else; a plain float", 0.5, _rate_edges, further=True),
    ],
    working=r"""
import math

def learning_rate(step, max_steps, warmup, peak, floor):
    if step < warmup:
        return float(peak * step / warmup)
    share = min(1.0, (step - warmup) / max(1, max_steps - warmup))
    if step >= max_steps:
        share = 1.0
    return floor + (peak - floor) * math.cos(math.pi / 2 * share) ** 2
""",
    takes="number",
    gives="number",
    slips=(
        "nothing_returned",
        "rounded",
        "text_returned",
    ),
    wrong=r"""
warmup_one_ahead (slip): Warm-up is one step ahead (step + 1, or warmup − 1): at step 0 the rate is 0, at step `warmup` it is the peak.
- return peak * step / warmup => return peak * (step + 1) / warmup || return peak * (step + 1) / (warmup + 1)
- return peak * step / warmup => return peak * step / max(1, warmup - 1)
warmup_from_floor (slip): Warm-up climbs from the floor: it starts at 0, peak * step / warmup.
- return peak * step / warmup => return floor + (peak - floor) * step / warmup || return max(floor, peak * step / warmup)
warmup_to_floor (slip): Warm-up climbs towards the floor: it ends at the peak.
- return peak * step / warmup => return floor * step / warmup
no_warmup: There is no warm-up: below `warmup` the rate climbs from 0 to the peak.
- return peak * step / warmup => return peak
- if step < warmup: => step = max(step, warmup)
  return peak * step / warmup =>
cosine_from_the_start: There is no warm-up: the cosine begins at step 0, as if warmup were 0 (or goes backwards below it).
- if step < warmup: =>
  return peak * step / warmup =>
- if step < warmup: =>
  return peak * step / warmup =>
  progress = (step - warmup) / (max_steps - warmup) => progress = step / max_steps
warmup_share: Warm-up divides by max_steps instead of `warmup`: it has to reach the peak at step `warmup`.
- return peak * step / warmup => return peak * step / max_steps
warmup_without_peak: The share step / warmup is not multiplied by the peak.
- return peak * step / warmup => return step / warmup
warmup_curved: Warm-up is not a straight line: peak * step / warmup.
- return peak * step / warmup => return peak * (step / warmup) ** 2 || return peak * (1 - math.cos(math.pi * step / warmup)) / 2
- return peak * step / warmup => return peak * math.sin(math.pi / 2 * step / warmup) || return peak * math.sqrt(step / warmup)
integer_division (slip): `//` throws the fraction away, so the rate jumps: use `/`.
- return peak * step / warmup => return peak * (step // warmup)
- (step - warmup) / (max_steps - warmup) => (step - warmup) // (max_steps - warmup)
cosine_to_zero (slip): The cosine goes down to 0 instead of the floor: floor + (peak − floor) · (1 + cos) / 2.
- floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2 => peak * (1 + math.cos(math.pi * progress)) / 2
floor_not_added (slip): The floor is subtracted from the peak and never added again, so the cosine begins below the peak and ends at 0:
    floor + (peak − floor) · (1 + cos) / 2.
- floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2 => (peak - floor) * (1 + math.cos(math.pi * progress)) / 2
clipped_at_floor (slip): The cosine goes down to 0 and is cut off at the floor: it should arrive at the floor smoothly, just at max_steps.
- floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2 => max(floor, peak * (1 + math.cos(math.pi * progress)) / 2)
floor_added (slip): The floor is added on top of the whole peak: the cosine spans peak − floor.
- floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2 => floor + peak * (1 + math.cos(math.pi * progress)) / 2
warmup_not_subtracted: The share of the way is counted from step 0: the cosine begins at step `warmup`, so subtract it above and below.
- (step - warmup) / (max_steps - warmup) => step / max_steps || step / (max_steps - warmup)
warmup_not_subtracted_below: The cosine has max_steps − warmup steps, not max_steps: otherwise it is not at the floor in time.
- (step - warmup) / (max_steps - warmup) => (step - warmup) / max_steps
one_step_early (slip): The cosine ends one step early or late: it is at the peak at step `warmup` and at the floor at step max_steps.
- (step - warmup) / (max_steps - warmup) => (step - warmup) / (max_steps - warmup - 1) || (step - warmup + 1) / (max_steps - warmup)
- (step - warmup) / (max_steps - warmup) => (step - warmup) / (max_steps - warmup + 1)
- step >= max_steps => step >= max_steps - 1
linear_decay: The rate falls in a straight line: a cosine is asked for.
- floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2 => peak + (floor - peak) * progress
exponential_decay: The rate falls exponentially: a cosine is asked for.
- floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2 => floor + (peak - floor) * math.exp(-5 * progress)
- floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2 => peak * max(floor / peak, 1e-3) ** progress
without_pi (slip): π is missing: over the whole way the angle goes from 0 to π.
- math.pi * progress => progress
full_turn: The angle goes once around (2π), so the rate is back at the peak at the end: from 0 to π.
- math.pi * progress => 2 * math.pi * progress
quarter_turn: A quarter of a turn (π/2) is another curve: (1 + cos) / 2 with an angle from 0 to π starts and ends flat.
- floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2 => floor + (peak - floor) * math.cos(math.pi / 2 * progress)
- math.pi * progress => math.pi / 2 * progress
- |
  if step < warmup:
      return peak * step / warmup
  progress = min(1, (step - warmup) / (max_steps - warmup))
  return floor + (peak - floor) * math.cos(math.pi / 2 * progress)
half_forgotten (slip): 1 + cos goes from 2 to 0: divide by 2.
- * (1 + math.cos(math.pi * progress)) / 2 => * (1 + math.cos(math.pi * progress))
bare_cosine: A bare cosine becomes negative half way: (1 + cos) / 2 goes from 1 to 0.
- (1 + math.cos(math.pi * progress)) / 2 => math.cos(math.pi * progress)
climbing (slip): The cosine climbs from the floor to the peak: 1 + cos, not 1 − cos.
- (1 + math.cos => (1 - math.cos
sine (slip): A sine is used where the cosine belongs.
- math.cos(math.pi * progress) => math.sin(math.pi * progress)
degrees (slip): The angle is in degrees: math.cos takes radians, so from 0 to π.
- math.pi * progress => 180 * progress
climbs_again: After max_steps the cosine goes on and climbs again: from max_steps on the rate is the floor.
- step >= max_steps => max_steps == warmup
zero_afterwards (slip): After max_steps the rate is 0: it stays at the floor.
- in cosine_to_zero
  return floor => return 0.0
  return peak * ( => return floor + (peak - floor) * (
- if step >= max_steps: =>
      if step > max_steps:
          return 0.0
      if step == max_steps:
peak_afterwards (slip): After max_steps the rate is the peak again: it stays at the floor.
- in zero_afterwards
  return 0.0 => return peak
nothing_afterwards: After max_steps nothing is returned (None), or an error is raised: from there on the rate is the floor.
- if step >= max_steps: =>
      if step > max_steps:
          return None
      if step == max_steps:
- if step >= max_steps: =>
      if step > max_steps:
          raise ValueError('over')
      if step == max_steps:
- in zero_afterwards
  return 0.0 => return None
division_by_zero (slip): With warmup = 0 the warm-up divides by zero: step 0 is not below 0, so it belongs to the cosine already (`<`, not `<=`).
- step < warmup => step <= warmup
- |
  rising = peak * step / warmup
  if step < warmup:
      return rising
  if step >= max_steps:
      return floor
  progress = (step - warmup) / (max_steps - warmup)  # from 0 to 1
  return floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2
peak_missed_without_warmup (slip): With warmup = 0 the first step has rate 0: step 0 has the peak then (`<`, not `<=`).
- step < warmup => step <= warmup
  peak * step / warmup => peak * step / max(1, warmup)
recursive (slip): Each rate is found from that of the step before, by a call for every step: Python gives up at a depth of 1,000, and runs have
    more steps. The rate of a step follows from its number alone.
- return peak * step / warmup => return learning_rate(step - 1, max_steps, warmup, peak, floor) + peak / warmup if step else 0.0
only_warmup_fails: With warmup equal to max_steps the cosine has no length, and its share divides by zero: from max_steps on return the floor first.
- step >= max_steps => step > max_steps
- |
  if step < warmup:
      return peak * step / warmup
  progress = min(1, (step - warmup) / (max_steps - warmup))  # from 0 to 1
  return floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2
not_a_float: A tensor is returned: a plain float is asked for (math.cos, not torch.cos).
- in cosine_to_zero
  return peak * step / warmup => return torch.tensor(peak * step / warmup)
  return floor => return torch.tensor(floor)
  peak * (1 + math.cos(math.pi * progress => floor + (peak - floor) * (1 + torch.cos(torch.tensor(math.pi * progress)
- math.cos(math.pi * progress) => torch.cos(torch.tensor(math.pi * progress, dtype=torch.float64))
rounded:
- floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2 => round(floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2, 4)
- floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2 => round(floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2, 4)
  return peak * step / warmup => return round(peak * step / warmup, 4)
- (step - warmup) / (max_steps - warmup) => round((step - warmup) / (max_steps - warmup), 1) || round((step - warmup) / (max_steps - warmup), 2)
factor (slip): The rate comes as a share of the peak, as LambdaLR wants it: the rate itself is asked for.
- in cosine_to_zero
  return peak * step => return step
  return floor => return floor / peak
  peak * (1 + math.cos(math.pi * progress)) / 2 => (floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2) / peak
nothing_returned:
- return => _ =
""",
    right=r"""
clamped:
- |
  if warmup > 0 and step < warmup:
      return step / warmup * peak
  if max_steps <= warmup:
      return float(floor)
  t = min(max((step - warmup) / (max_steps - warmup), 0.0), 1.0)
  return floor + 0.5 * (peak - floor) * (1.0 + math.cos(t * math.pi))
mixed:
- |
  if step < warmup:
      rate = peak * (step / warmup)
  elif step < max_steps:
      t = (step - warmup) / (max_steps - warmup)
      w = 0.5 + 0.5 * math.cos(math.pi * t)
      rate = w * peak + (1 - w) * floor
  else:
      rate = floor
  return rate
sine_squared:
- |
  if step >= max(max_steps, warmup):
      return floor
  if step < warmup:
      return peak / warmup * step
  return peak - (peak - floor) * math.sin(math.pi * (step - warmup) / (max_steps - warmup) / 2) ** 2
numpy:
- |
  import numpy as np
  if step < warmup:
      return peak * step / warmup
  t = np.clip((step - warmup) / max(max_steps - warmup, 1), 0, 1) if step < max_steps else 1.0
  return floor + (peak - floor) * (1 + np.cos(np.pi * t)) / 2
""",
)
