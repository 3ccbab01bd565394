"""`make_checkpoint`: a run that goes on from what was kept against one that nobody disturbed; and a true snapshot.

The mistakes leave a part out, keep names for what training changes, or keep what cannot be written to a file.
"""

from __future__ import annotations

from typing import Any

from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import define_in_judge
from autograder.spec.student import Kept, Student

# A run of training whose every part matters: what is learned and what is counted in a buffer, the optimiser's memory,
# the rate, and the batches that are drawn. `resume` goes on from a checkpoint as the notebook describes it.
RUN = """
def begin(optimiser, seed, dtype="float32"):
    class Toy(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(torch.linspace(-1, 1 + seed, 35).view(7, 5).to(getattr(torch, dtype)))
            self.register_buffer("seen", torch.zeros(5, dtype=getattr(torch, dtype)))

        def forward(self, ids, targets=None):
            if self.training:
                self.seen += 0.01
            logits = self.table[ids] + self.seen * torch.arange(5)
            return logits, nn.functional.cross_entropy(logits, targets)

    model = Toy()
    if optimiser == "AdamW":
        steps = torch.optim.AdamW(model.parameters(), lr=0.1)
    else:
        steps = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    rates = torch.optim.lr_scheduler.LambdaLR(steps, lambda step: 1 / (1 + step % 7))
    return [model, steps, rates, torch.Generator().manual_seed(5 + seed)]

def part(run, number):
    return run[number]

def train(run, steps):
    model, optimiser, rates, generator = run
    losses = []
    for _ in range(steps):
        x = torch.randint(7, (6,), generator=generator)
        loss = model(x, (3 * x + 1) % 5)[1]
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        rates.step()
        losses.append(loss.item())
    return losses

def resume(run, kept):
    import copy
    if not isinstance(kept, dict):
        return {"kind": type(kept).__name__}
    missing = [key for key in ("model", "optimizer", "scheduler", "generator", "step") if key not in kept]
    if missing:
        return {"missing": missing, "there": sorted(map(str, kept))}
    kept, failed = copy.deepcopy(kept), []
    for place, key in enumerate(("model", "optimizer", "scheduler")):
        try:
            run[place].load_state_dict(kept[key])
        except Exception as error:
            failed.append(key)
    try:
        run[3].set_state(kept["generator"])
    except Exception:
        failed.append("generator")
    kinds = [type(kept[key]).__name__ for key in failed]
    step = kept["step"] if isinstance(kept["step"], int) else None
    return {"failed": failed, "kinds": kinds, "step": step, "plain": through_a_file(kept)}

def through_a_file(kept):
    import io
    file = io.BytesIO()
    try:
        torch.save(kept, file)
        file.seek(0)
        torch.load(file, weights_only=True)
    except Exception:
        return False
    return True
"""


def begun(student: Student, optimiser: str, seed: int = 0, dtype: str = "float32") -> Kept:
    return student.call(student.probe("begin", RUN), [optimiser, seed, dtype], keep=True, record=False)["value"]


def parts(student: Student, run: Kept) -> list[Kept]:
    """The model, the optimiser, the scheduler and the generator of a run."""
    part = student.probe("part", RUN)
    return [student.call(part, [run, number], keep=True, record=False)["value"] for number in range(4)]


def trained(student: Student, run: Kept, steps: int) -> list[float]:
    return student.value(student.probe("train", RUN), run, steps)


def undisturbed(optimiser: str, steps: int, dtype: str = "float32") -> list[float]:
    """The losses of a run that nobody stops."""
    return define_in_judge(RUN, "train")(define_in_judge(RUN, "begin")(optimiser, 0, dtype), steps)


def same_losses(got: list[float], expected: list[float]) -> bool:
    return all(abs(a - b) < 1e-5 for a, b in zip(got, expected, strict=True))


def _kept(student: Student, run: Kept, step: Any) -> Kept:
    return student.call("make_checkpoint", [*parts(student, run), step], keep=True)["value"]


def _resumed(student: Student, run: Kept, kept: Kept) -> dict:
    found = student.value(student.probe("resume", RUN), run, kept)
    if "kind" in found:
        if found["kind"] == "NoneType":
            raise Wrong("Your function returned nothing. Does it end with `return`?")
        raise Wrong(f"A dictionary is asked for; yours gives something else (a {found['kind']}).")
    if "missing" in found:
        names = ", ".join(f'"{name}"' for name in found["missing"])
        raise Wrong(f"The checkpoint has no {names}.", "key_missing")
    if found["failed"]:
        names = ", ".join(f'"{name}"' for name in found["failed"])
        raise Wrong(
            f"{names} of the checkpoint cannot be loaded: is it the state, as state_dict() or get_state() gives it?"
        )
    return found


_CASES = (("AdamW", 5, 6), ("SGD", 3, 8), ("AdamW", 1, 5))


def _goes_on(student: Student) -> None:
    for optimiser, before, after in _CASES:
        with student.case():
            run = begun(student, optimiser)
            trained(student, run, before)
            kept = _kept(student, run, before)
            fresh = begun(student, optimiser, seed=1)
            _resumed(student, fresh, kept)
            if not same_losses(trained(student, fresh, after), undisturbed(optimiser, before + after)[before:]):
                raise ValuesDiffer(f"A run that goes on from the checkpoint (with {optimiser}) has other losses.")


def _snapshot(student: Student) -> None:
    for optimiser, before, after in _CASES:
        with student.case():
            run = begun(student, optimiser)
            trained(student, run, before)
            kept = _kept(student, run, before)
            at_once = begun(
                student, optimiser, seed=1
            )  # before training goes on: what is wrong by then, it did not change
            _resumed(student, at_once, kept)
            early = trained(student, at_once, after)
            losses = trained(student, run, after)
            expected = undisturbed(optimiser, before + after)[before:]
            if not same_losses(losses, expected):
                raise ValuesDiffer("Training itself is disturbed: after the checkpoint it goes on with other losses.")
            if not same_losses(early, expected):
                raise ValuesDiffer(
                    "A run that goes on from the checkpoint at once, before training changes anything, has other losses already."
                )
            fresh = begun(student, optimiser, seed=1)
            _resumed(student, fresh, kept)
            if not same_losses(trained(student, fresh, after), expected):
                raise ValuesDiffer(
                    f"After the checkpoint was made, training went on for {after} steps, and the checkpoint changed with it: "
                    "a run that goes on from it has other losses."
                )


def _form(student: Student) -> None:
    for optimiser, step in (("AdamW", 4), ("SGD", 117)):
        with student.case():
            run = begun(student, optimiser, dtype="float64")
            trained(student, run, 2)
            kept = _kept(student, run, step)
            found = _resumed(student, begun(student, optimiser, seed=1, dtype="float64"), kept)
            if found["step"] != step:
                raise ValuesDiffer('"step" should be the number that was passed.')
            if not found["plain"]:
                raise Wrong(
                    "It cannot be written with torch.save and read again with torch.load(weights_only=True): states are "
                    "asked for, not whole objects.",
                    "objects_kept",
                )


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("a run that goes on from it has the undisturbed losses", 1.5, _goes_on),
        Check("a snapshot: training on does not change it", 1.0, _snapshot),
        Check("the step; states that a file can hold", 0.5, _form),
    ],
    working=r"""
import io

def make_checkpoint(model, optimizer, scheduler, generator, step):
    file = io.BytesIO()
    states = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "generator": generator.get_state(),
        "step": step,
    }
    torch.save(states, file)
    file.seek(0)
    return torch.load(file)
""",
    gives="dict",
)
