"""`restore_checkpoint`: a fresh run that is brought to where another one stood, twice from the same checkpoint.

The mistakes leave a part out, load it into the wrong place, or let training change the checkpoint.
"""

from __future__ import annotations

from typing import Any

from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import note_rounded
from autograder.spec.student import Kept, Student

from .make_checkpoint import RUN, begun, parts, same_losses, trained, undisturbed

# A checkpoint as the notebook describes it, made over there without the student's help.
_STATES = """
def states(run, step):
    import copy
    model, optimiser, rates, generator = run
    found = {"model": model.state_dict(), "optimizer": optimiser.state_dict(), "scheduler": rates.state_dict(),
             "generator": generator.get_state(), "step": step}
    return copy.deepcopy(found)
"""


def _checkpoint(student: Student, optimiser: str, trained: int, dtype: str = "float32", step: int = 0) -> Kept:
    run = begun(student, optimiser, dtype=dtype)
    student.call(student.probe("train", RUN), [run, trained], record=False)
    given = [run, step or trained]
    return student.call(student.probe("states", _STATES), given, keep=True, record=False)["value"]


def _restored(student: Student, checkpoint: Kept, run: Kept) -> Any:
    got = student.value("restore_checkpoint", checkpoint, *parts(student, run))
    if isinstance(got, (int, float)):
        note_rounded(student, got)
    return got


_CASES = (("AdamW", 5, 6), ("SGD", 3, 8), ("AdamW", 1, 5))


def _goes_on(student: Student) -> None:
    for optimiser, before, after in _CASES:
        with student.case():
            # Its step is another number than what the scheduler has counted: whoever calls may count otherwise.
            checkpoint = _checkpoint(student, optimiser, before, step=before + 100)
            fresh = begun(student, optimiser, seed=1)
            student.call(student.probe("train", RUN), [fresh, 2], record=False)  # so that everything has to be set back
            _restored(student, checkpoint, fresh)
            if not same_losses(trained(student, fresh, after), undisturbed(optimiser, before + after)[before:]):
                raise ValuesDiffer(
                    f"The run that goes on (with {optimiser}) has other losses than the undisturbed one."
                )


def _twice(student: Student) -> None:
    for optimiser, before, after in _CASES:
        with student.case():
            checkpoint = _checkpoint(student, optimiser, before)
            for time in ("the first time", "the second time"):
                fresh = begun(student, optimiser, seed=1)
                _restored(student, checkpoint, fresh)
                if not same_losses(trained(student, fresh, after), undisturbed(optimiser, before + after)[before:]):
                    raise ValuesDiffer(
                        f"Two runs go on from one checkpoint, one after the other (with {optimiser}), and {time} the losses "
                        "are not those of the undisturbed run."
                    )


def _step(student: Student) -> None:
    for optimiser, step, dtype in (("AdamW", 3, "float64"), ("SGD", 7, "float32")):
        with student.case():
            checkpoint = _checkpoint(student, optimiser, step, dtype)
            got = _restored(student, checkpoint, begun(student, optimiser, seed=1, dtype=dtype))
            if got is None:
                raise Wrong("Your function returned nothing. Does it end with `return`?")
            if type(got) is not int:
                raise Wrong("The step should be a plain whole number, as it is in the checkpoint.")
            if got != step:
                raise ValuesDiffer('The number that is returned should be the "step" of the checkpoint.')


EXERCISE = Exercise(
    points=2,
    checks=[
        Check("the run that goes on has the undisturbed losses", 1.0, _goes_on),
        Check("twice from the same checkpoint", 0.5, _twice),
        Check("the step is returned", 0.5, _step),
    ],
    working=r"""
import copy

def restore_checkpoint(checkpoint, model, optimizer, scheduler, generator):
    states = copy.deepcopy(checkpoint)
    model.load_state_dict(states["model"])
    optimizer.load_state_dict(states["optimizer"])
    scheduler.load_state_dict(states["scheduler"])
    generator.set_state(states["generator"])
    return states["step"]
""",
    gives="number",
    slips=("nothing_returned", "text_returned"),
    wrong=r"""
no_copy: The optimiser goes on with the very tensors of the checkpoint, so training changes it, and it cannot be used twice: load a copy
    (copy.deepcopy).
- copy.deepcopy(checkpoint["optimizer"]) => checkpoint["optimizer"]
model_left_out (missed): The model's state is not loaded: it goes on with other numbers. (A name bound anew inside the function changes nothing outside.)
- model.load_state_dict(checkpoint["model"]) =>
optimizer_left_out: The optimiser's state is not loaded: its memory of the gradients begins anew. (A new optimiser inside the function changes
    nothing outside.)
- optimizer.load_state_dict(copy.deepcopy(checkpoint["optimizer"])) =>
scheduler_left_out (slip): The scheduler's state is not loaded: it counts its steps from 0 again.
- scheduler.load_state_dict(checkpoint["scheduler"]) =>
scheduler_from_the_step: The scheduler is set to the checkpoint's step by hand: whoever calls may count otherwise than it does, so load its state.
- scheduler.load_state_dict(checkpoint["scheduler"]) => scheduler.last_epoch = checkpoint["step"]
- scheduler.load_state_dict(checkpoint["scheduler"]) =>
  return checkpoint["step"] =>
      for _ in range(checkpoint["step"]):
          scheduler.step()
      return checkpoint["step"]
parameters_replaced: New parameters are put into the model (`assign=True`), and the optimiser goes on with the old ones: what the model computes with
    is trained no more. Copy the numbers into those that are there.
- model.load_state_dict(checkpoint["model"]) => model.load_state_dict(checkpoint["model"], assign=True)
generator_left_out: The generator that is passed does not get the state: other batches are drawn than in the undisturbed run.
- generator.set_state(checkpoint["generator"]) =>
- generator.set_state(checkpoint["generator"]) => torch.set_rng_state(checkpoint["generator"])
generator_seeded: The generator is seeded instead of set to the state that was kept, so its draws begin from the first.
- generator.set_state(checkpoint["generator"]) => generator.manual_seed(0) || generator.manual_seed(checkpoint["step"]) || generator.manual_seed(5)
parameters_only: Only the parameters are loaded: the state holds buffers too.
- model.load_state_dict(checkpoint["model"]) =>
      with torch.no_grad():
          for name, parameter in model.named_parameters():
              parameter.copy_(checkpoint["model"][name])
groups_only: Of the optimiser only the groups (rates, decay) are loaded, not its memory of the gradients.
- optimizer.load_state_dict(copy.deepcopy(checkpoint["optimizer"])) => optimizer.load_state_dict({"state": {}, "param_groups": checkpoint["optimizer"]["param_groups"]})
extra_step (slip): The scheduler, or the optimiser, makes a step of its own while loading: the run is then one step off.
- return checkpoint["step"] =>
      scheduler.step()
      return checkpoint["step"]
- return checkpoint["step"] =>
      optimizer.step()
      return checkpoint["step"]
mode_changed (slip): The model is put into another mode: the run goes on in the mode that it is in.
- return checkpoint["step"] =>
      model.eval()
      return checkpoint["step"]
generator_used (slip): A batch is drawn while loading, so the run goes on with the one after it.
- return checkpoint["step"] =>
      torch.randint(7, (6,), generator=generator)
      return checkpoint["step"]
checkpoint_emptied (slip): The checkpoint is emptied or changed: somebody may want to go on from it again.
- return checkpoint["step"] => return checkpoint.pop("step")
step_plus_one (slip): The step is another number than the one in the checkpoint.
- return checkpoint["step"] => return checkpoint["step"] + 1 || return checkpoint["step"] - 1
not_an_int (slip): The step comes as another kind of number: an int is asked for, as the caller counts on from it.
- return checkpoint["step"] => return float(checkpoint["step"]) || return torch.tensor(checkpoint["step"])
zero_returned (missed): A fixed number is returned: the caller goes on counting from the checkpoint's step.
- return checkpoint["step"] => return 0 || return 1
rate_returned: Something else than the step is returned: the step alone is asked for.
- return checkpoint["step"] => return checkpoint || return model, checkpoint["step"] || return scheduler.get_last_lr()[0]
other_keys (missed): The keys are "model", "optimizer", "scheduler", "generator" and "step", as make_checkpoint names them.
- checkpoint["model"] => checkpoint["model_state_dict"]
- checkpoint["step"] => checkpoint["epoch"]
""",
    right=r"""
another_order:
- |
  from copy import deepcopy

  def restore_checkpoint(checkpoint, model, optimizer, scheduler, generator):
      generator.set_state(checkpoint["generator"].clone())
      scheduler.load_state_dict(deepcopy(checkpoint["scheduler"]))
      optimizer.load_state_dict(deepcopy(checkpoint["optimizer"]))
      model.load_state_dict(checkpoint["model"], strict=True)
      return int(checkpoint["step"])
through_a_buffer:
- |
  import io
  import torch

  def restore_checkpoint(checkpoint, model, optimizer, scheduler, generator):
      file = io.BytesIO()
      torch.save(checkpoint, file)
      own = torch.load(io.BytesIO(file.getvalue()))
      for part, name in ((model, "model"), (optimizer, "optimizer"), (scheduler, "scheduler")):
          part.load_state_dict(own[name])
      generator.set_state(own["generator"])
      return own["step"]
""",
)
