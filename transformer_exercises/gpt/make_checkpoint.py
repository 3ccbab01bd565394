"""`make_checkpoint`: a run that goes on from what was kept against one that nobody disturbed; and a true snapshot."""

from autograder.spec import (
    Check,
    Exercise,
    Kept,
    Student,
    call_probe,
    define_in_judge,
    differ,
    each,
    other_sizes,
    refusing,
)

refuse = refusing("make_checkpoint")

# A run of training whose every part matters: what is learned and what is counted in a buffer, the optimiser's memory,
# the rate, and the batches that are drawn. `resume` goes on from a checkpoint as the notebook describes it.
RUN = """
def begin(optimiser, seed, dtype="float32", training=True):
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

    model = Toy().train(training)
    options = {"lr": 0.1} if optimiser == "AdamW" else {"lr": 0.3, "momentum": 0.9}
    steps = getattr(torch.optim, optimiser)(model.parameters(), **options)
    rates = torch.optim.lr_scheduler.LambdaLR(steps, lambda step: 1 / (1 + step % 7))
    return [model, steps, rates, torch.Generator().manual_seed(5 + seed)]

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
    import copy, io
    if not isinstance(kept, dict):
        parts = kept if isinstance(kept, (list, tuple)) else ()
        return {"kind": type(kept).__name__, "dictionaries": sum(isinstance(part, dict) for part in parts)}
    missing = [key for key in ("model", "optimizer", "scheduler", "generator", "step") if key not in kept]
    step = kept["step"] if isinstance(kept.get("step"), int) else None
    found = {"missing": missing, "there": sorted(map(str, kept)), "step": step} if missing else {"step": step}
    if "model" in missing or "optimizer" in missing:
        return found
    kept, failed = copy.deepcopy(kept), []
    for part, key in zip(run, ("model", "optimizer", "scheduler", "generator")):
        if key in missing:
            continue
        try:
            (part.set_state if key == "generator" else part.load_state_dict)(kept[key])
        except Exception:
            failed.append(key)
    kinds = [type(kept[key]).__name__ for key in failed]
    file, plain = io.BytesIO(), True
    try:
        torch.save(kept, file)
        file.seek(0)
        torch.load(file, weights_only=True)
    except Exception:
        plain = False
    return {**found, "failed": failed, "kinds": kinds, "plain": plain}
"""


# The optimiser, whether the model is in training mode, and the steps before and after the checkpoint
CASES = (("AdamW", True, 5, 6), ("SGD", True, 3, 8), ("AdamW", False, 1, 5))


def begun(student: Student, optimiser: str, seed: int = 0, dtype: str = "float32", training: bool = True) -> Kept:
    return call_probe(student, RUN, "begin", optimiser, seed, dtype, training, keep=True)


def parts(student: Student, run: Kept) -> list[Kept]:
    """Return the model, the optimiser, the scheduler and the generator of a run."""
    return [student.call((run, "__getitem__"), [i], keep=True, record=False)["value"] for i in range(4)]


def undisturbed(
    student: Student, run: Kept, optimiser: str, training: bool, before: int, after: int, sentence: str
) -> None:
    """Raise `ValuesDiffer` unless a run goes on with the losses after `before` steps of one that nobody stops."""
    losses = call_probe(student, RUN, "train", run, after)
    start = define_in_judge(RUN, "begin")(optimiser, 0, training=training)
    expected = define_in_judge(RUN, "train")(start, before + after)[before:]
    differ(not all(abs(a - b) < 1e-5 for a, b in zip(losses, expected, strict=True)), sentence)


def _kept(
    student: Student, optimiser: str, before: int, step: int, dtype: str = "float32", training: bool = True
) -> tuple[Kept, Kept]:
    """Return a run after some steps, and the checkpoint that is made of it."""
    run = begun(student, optimiser, dtype=dtype, training=training)
    call_probe(student, RUN, "train", run, before)
    return run, student.call("make_checkpoint", [*parts(student, run), step], keep=True)["value"]


def _resumed(
    student: Student,
    kept: Kept,
    optimiser: str,
    dtype: str = "float32",
    training: bool = True,
    step: int = 0,
    whole: bool = False,
) -> tuple[Kept, dict]:
    """Return a run that goes on from a checkpoint, and what was found in it; its step first, if one is given.

    Only where a `whole` checkpoint is needed must the scheduler, the generator and the step be there.
    """
    fresh = begun(student, optimiser, seed=1, dtype=dtype, training=training)
    found = call_probe(student, RUN, "resume", fresh, kept)
    refuse("kind" in found, "form", f"A dictionary is asked for; yours gives something else (a {found.get('kind')}).")
    there = step and "step" not in found.get("missing", ())
    differ(there and found["step"] != step, '"step" should be the number that was passed.')
    missing, failed = (", ".join(f'"{name}"' for name in found.get(key, ())) for key in ("missing", "failed"))
    refuse(missing and (whole or "failed" not in found), "key_missing", f"The checkpoint has no {missing}.")
    refuse(failed, "form", f"{failed} cannot be loaded: is it the state, as state_dict() or get_state() gives it?")
    return fresh, found


@each(*CASES)
def _goes_on(student: Student, optimiser: str, training: bool, *known: int) -> None:
    before, after = other_sizes(*known)
    kept = _kept(student, optimiser, before, before, training=training)[1]
    fresh, _ = _resumed(student, kept, optimiser, training=training, whole=True)
    message = f"A run that goes on from the checkpoint (with {optimiser}) has other losses."
    undisturbed(student, fresh, optimiser, training, before, after, message)


@each(*CASES)
def _snapshot(student: Student, optimiser: str, training: bool, *known: int) -> None:
    before, after = other_sizes(*known)
    run, kept = _kept(student, optimiser, before, before, training=training)
    how = optimiser, training, before, after
    fresh, found = _resumed(student, kept, optimiser, training=training)  # at once: training did not change it by now
    what = "it" if training else "a model in eval mode"
    message = f"Training itself is disturbed: after the checkpoint {what} goes on with other losses."
    undisturbed(student, run, *how, message)
    late, _ = _resumed(student, kept, optimiser, training=training)
    message = f"The checkpoint changed while training went on for {after} steps."
    if "missing" in found:  # another line says so: what is there should stay as it was
        losses = [call_probe(student, RUN, "train", each, after) for each in (fresh, late)]
        differ(not all(abs(a - b) < 1e-5 for a, b in zip(*losses, strict=True)), message)
        return
    undisturbed(student, fresh, *how, "A run that goes on from the checkpoint at once has other losses.")
    undisturbed(student, late, *how, message)


@each(("AdamW", 4), ("SGD", 117))
def _form(student: Student, optimiser: str, known: int) -> None:
    (step,) = other_sizes(known)
    _, kept = _kept(student, optimiser, 2, step, "float64")
    _, found = _resumed(student, kept, optimiser, "float64", step=step)
    refuse(not found["plain"], "objects_kept")


EXERCISE = Exercise(
    Check("a run that goes on from it has the undisturbed losses", 1.5, _goes_on),
    Check("a snapshot: training on does not change it", 1.0, _snapshot, dependent=True),
    Check("the step; states that a file can hold", 0.5, _form, dependent=True),
    takes="other",
    gives="dict",
    harmless=("other_signature", "global_generator"),
)
