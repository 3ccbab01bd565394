"""`noam_rate`: warm-up, peak and decay for five schedules; the mistakes are exponents, `max` for `min`, step 0."""

from __future__ import annotations

from autograder.spec.course import reference
from autograder.spec.exercise import Asking, Check, Exercise, Wrong
from autograder.spec.inputs import raises_error
from autograder.spec.student import Student

from .common import float_answered

noam_rate = reference("noam_rate")


def _noam(student: Student, step: int, d_model: int, warmup: int) -> None:
    where = f"at step {step} with d_model = {d_model} and warmup = {warmup}"
    float_answered(student, "noam_rate", [step, d_model, warmup], noam_rate(step, d_model, warmup), "The rate", where)


def _noam_at(*steps: int) -> Asking:
    def ask(student: Student) -> None:
        for d_model, warmup in ((512, 4000), (64, 100), (7, 30), (300, 50), (20, 200)):
            for step in steps or (warmup - 1, warmup, warmup + 1, 2 * warmup, 10 * warmup):
                with student.case():
                    _noam(student, step, d_model, warmup)

    return ask


def _noam_edges(student: Student) -> None:
    for case in ((1, 512, 1), (9, 1, 1), (1, 1, 5), (10**9, 64, 4000), (3, 1024, 10**6), (5, 5, 5)):
        with student.case():
            _noam(student, *case)
    with student.case():
        got = student.call("noam_rate", [], {"warmup": 30, "step": 7, "d_model": 16}, "with arguments by name")["value"]
        if isinstance(got, float) and abs(got - noam_rate(7, 16, 30)) > 1e-5 * noam_rate(7, 16, 30):
            raise Wrong("The arguments by name are mixed up: noam_rate(step, d_model, warmup).")


def _noam_refusals(student: Student) -> None:
    _noam(student, 1, 16, 10)
    for step in (0, -1, -20):
        with student.case(), raises_error(f"step = {step} (steps count from 1)"):
            student.call("noam_rate", [step, 16, 10])


EXERCISE = Exercise(
    points=2,
    checks=[
        Check("the warm-up, a straight line", 0.75, _noam_at(1, 2, 3, 17)),
        Check("the peak and the decay after it", 0.75, _noam_at()),
        Check("warmup of 1, very many steps, arguments by name", 0.25, _noam_edges, further=True),
        Check("a step below 1 is a ValueError", 0.25, _noam_refusals),
    ],
    working=r"""
import math

def noam_rate(step, d_model, warmup):
    if step < 1:
        raise ValueError("step must be at least 1")
    return min(1 / math.sqrt(step), step / math.sqrt(warmup**3)) / math.sqrt(d_model)
""",
    takes="number",
    gives="number",
    slips=("nothing_returned", "rounded", "error_of_another_type", "error_returned", "bad_input_accepted"),
    wrong=r"""
max_for_min: The larger of the two terms is taken: it is the smaller one, so that the rate rises first and falls afterwards.
- min( => max(
terms_added: The two terms are added (or averaged): the rate is the smaller of them.
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return d_model**-0.5 * (step**-0.5 + step * warmup**-1.5)
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return d_model**-0.5 * (step**-0.5 + step * warmup**-1.5) / 2
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return d_model**-0.5 * step**-0.5 * step * warmup**-1.5
d_model_upside_down (slip): The rate grows with d_model: it is d_model to the power of *minus* 0.5, so wider models take smaller steps.
- d_model**-0.5 => d_model**0.5
d_model_missing (slip): d_model is not used: the whole schedule is multiplied by d_model^-0.5.
- d_model**-0.5 * =>
d_model_without_root (slip): The exponent of d_model is wrong: -0.5, one over the root.
- d_model**-0.5 => d_model**-1 || d_model**-1.5
d_model_on_one_term: d_model^-0.5 multiplies only one of the two terms: it stands before the minimum, for both.
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return min(d_model**-0.5 * step**-0.5, step * warmup**-1.5)
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return min(step**-0.5, d_model**-0.5 * step * warmup**-1.5)
warmup_exponent (slip): The exponent of warmup is not -1.5: only with that one do the two terms meet at step = warmup.
- warmup**-1.5 => warmup**-0.5 || warmup**-1 || warmup**-2
step_exponent (slip): The decay has another exponent: step to the power of -0.5.
- min(step**-0.5 => min(step**-1 || min(step**0.5 || min(step**-1.5
no_warmup: There is no warm-up: until step = warmup the rate rises in a straight line, step * warmup^-1.5.
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return d_model**-0.5 * step**-0.5
no_decay: The rate does not fall as step^-0.5 after the warm-up.
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return d_model**-0.5 * step * warmup**-1.5
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return d_model**-0.5 * min(warmup**-0.5, step * warmup**-1.5)
another_decay: After the warm-up the rate falls along another curve (a straight line, a cosine): here it falls as step^-0.5.
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return (d_model * warmup) ** -0.5 * min(warmup / step, step / warmup)
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) =>
      peak, end = (d_model * warmup) ** -0.5, 10 * warmup
      return peak * step / warmup if step < warmup else peak * max(0.0, 1 - (step - warmup) / end)
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) =>
      peak, share = (d_model * warmup) ** -0.5, min(1.0, (step - warmup) / (10 * warmup))
      return peak * step / warmup if step < warmup else peak * (1 + math.cos(math.pi * share)) / 2
counted_from_zero (slip): The steps are counted as if the first were 0 (or shifted by one): step counts from 1 here, so use it as it comes.
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) =>
      step = step + 1
      return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) =>
      step = step - 1
      return d_model**-0.5 * min((step or 1) ** -0.5, step * warmup**-1.5)
peak_of_one: The schedule is scaled so that its peak is 1 (or another number): the peak is (d_model * warmup)^-0.5.
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return min((warmup / step) ** 0.5, step / warmup)
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return d_model**-0.5 * min((warmup / step) ** 0.5, step / warmup)
fixed_numbers: The numbers of the paper (d_model 512, warmup 4000) are written into the code: use the arguments.
- warmup**-1.5 => 4000**-1.5
- d_model**-0.5 => 512**-0.5
- d_model**-0.5 * min(step**-0.5, step * warmup => 512**-0.5 * min(step**-0.5, step * 4000
whole_division (missed): A division is rounded down to whole numbers (`//`, int): the rate comes out as 0, or in stairs.
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return d_model**-0.5 * min(step**-0.5, (step // warmup) * warmup**-0.5)
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return int(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))
rounded:
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return round(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5), 4)
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return round(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5), 6)
arguments_swapped (slip): The parameters are not (step, d_model, warmup), in this order and with these names.
- (step, d_model, warmup) => (step, warmup, d_model) || (d_model, step, warmup)
- (step, d_model, warmup): =>
      (step, dim, warmup_steps):
          d_model, warmup = dim, warmup_steps
not_a_float (slip): The result is not a plain float (a tensor, a text): optimisers and logs want a number.
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return torch.tensor(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return str(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return f"{d_model**-0.5 * min(step**-0.5, step * warmup**-1.5):.2f}"
- return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return f"{d_model**-0.5 * min(step**-0.5, step * warmup**-1.5):.4f}"
bad_step_accepted: A step below 1 is accepted: it should be a ValueError that names step.
- if step < 1: => step = max(step, 1)
  raise ValueError(f"step counts from 1; got {step}") =>
- raise ValueError(f"step counts from 1; got {step}") => return 0.0
- if step < 1: => if step < 0: || if step == 0:
first_step_refused (slip): Step 1 is refused: it is the first.
- if step < 1: => if step <= 1:
""",
    right=r"""
two_branches:
- |
  if step < 1:
      raise ValueError("step must be 1 or more")
  peak = (d_model * warmup) ** -0.5
  if step <= warmup:
      return peak * step / warmup
  return peak * (warmup / step) ** 0.5
logarithms:
- if step < 1: => if not step >= 1:
  raise ValueError(f"step counts from 1; got {step}") => raise ValueError(f"bad step {step}")
  return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) => return math.exp(min(-math.log(step) / 2, math.log(step) - 1.5 * math.log(warmup)) - math.log(d_model) / 2)
tensors:
- |
  if step <= 0:
      raise ValueError("step")
  s, w, d = (torch.tensor(float(n)) for n in (step, warmup, d_model))
  return (d.rsqrt() * torch.minimum(s.rsqrt(), s / w**1.5)).item()
""",
)
