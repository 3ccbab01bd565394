"""Wrong and right answers to `make_checkpoint`. The reference (09-gpt-further):

def make_checkpoint(model, optimizer, scheduler, generator, step):
    states = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "generator": generator.get_state(),
        "step": step,
    }
    return copy.deepcopy(states)  # state_dict() gives the very tensors that training goes on to change
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

# Right answers in other styles


class each_on_its_own(RightAnswer):
    edits = {
        "model.state_dict()": "{name: tensor.detach().clone() for name, tensor in model.state_dict().items()}",
        "optimizer.state_dict()": "copy.deepcopy(optimizer.state_dict())",
        "scheduler.state_dict()": "copy.deepcopy(scheduler.state_dict())",
        "copy.deepcopy(states)": "states",
    }


class through_a_buffer(RightAnswer):
    edits = {
        '"step": step,': '"step": step, "version": 1,',
        "return copy.deepcopy(states)": """
            import io
            file = io.BytesIO()
            torch.save(states, file)
            return torch.load(io.BytesIO(file.getvalue()), weights_only=True)
        """,
    }


class in_a_loop(RightAnswer):
    code = """
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    states = {name: copy.deepcopy(part.state_dict()) for name, part in parts.items()}
    return {**states, "generator": generator.get_state(), "step": int(step)}
    """


# Mistakes


class no_copy(Misconception):
    """The checkpoint holds tensors that training changes (the model's, the optimiser's, or both): copy everything, at
    any depth (copy.deepcopy).
    """

    variants = [
        {"copy.deepcopy(states)": "states"},
        {"copy.deepcopy(states)": "states", "model.state_dict()": "copy.deepcopy(model.state_dict())"},
        {"copy.deepcopy(states)": "states", "optimizer.state_dict()": "copy.deepcopy(optimizer.state_dict())"},
    ]


class optimizer_left_out(Misconception):
    """The optimiser's state is missing: its memory of the gradients would begin anew."""

    variants = [
        {'"optimizer": optimizer.state_dict(),': ""},
        {"optimizer.state_dict()": '{**optimizer.state_dict(), "state": {}}'},
    ]


class scheduler_left_out(Minor):
    """The scheduler's state is missing: the rate would begin again with its warm-up."""

    variants = [{'"scheduler": scheduler.state_dict(),': ""}, {"scheduler.state_dict()": "{}"}]


class generator_left_out(Misconception):
    """The generator's state is missing: after the pause, other batches would be drawn."""

    edits = {'"generator": generator.get_state(),': ""}


class step_left_out(Minor):
    """The step is missing: whoever goes on must know how far the run had come."""

    edits = {'"step": step,': ""}


class model_only(Fundamental):
    """Only the model is kept: that is enough to use it, not to go on training it."""

    variants = [
        {"(states)": "(model.state_dict())"},
        {"copy.deepcopy(states)": '{"model": copy.deepcopy(model.state_dict()), "step": step}'},
    ]


class parameters_only(Misconception):
    """Only the parameters are kept: the model's state has buffers too. Take state_dict()."""

    edits = {"model.state_dict()": "dict(model.named_parameters())"}


class values_rounded(Misconception):
    """The numbers are rounded (`.half()`, `.bfloat16()`): the run that goes on needs those that training had."""

    edits = {
        "model.state_dict()": [
            "{n: t.bfloat16() if t.is_floating_point() else t for n, t in model.state_dict().items()}",
            "{n: t.half() if t.is_floating_point() else t for n, t in model.state_dict().items()}",
        ]
    }


class objects_kept(Misconception):
    """Whole objects are kept, not states: torch.load(…, weights_only=True) does not read them."""

    variants = [
        {"model.state_dict()": "model", ".state_dict()": ""},
        {"model.state_dict()": "model"},
        {"scheduler.state_dict()": "scheduler.__dict__"},
        {
            ".get_state()": "",
            "copy.deepcopy(states)": (
                '{key: state if key == "generator" else copy.deepcopy(state) for key, state in states.items()}'
            ),
        },
    ]


class seed_kept(Misconception):
    """Not the state of the generator that is passed is kept, but its seed, or torch's global generator: other batches
    would be drawn.
    """

    variants = [
        {"get_state": "initial_seed"},
        {"generator.": "torch.Generator().manual_seed(generator.initial_seed())."},
        {"generator.get_state": "torch.get_rng_state"},
    ]


class training_disturbed(Misconception):
    """Training is disturbed: a step is made, a number drawn, a mode or state changed. A checkpoint only looks."""

    variants = [
        {
            "return": """
                optimizer.zero_grad()
                scheduler.step()
                return
            """
        },
        {
            "states = {": [
                "model.eval(); states = {",
                "model.train(); states = {",
                "optimizer.step(); states = {",
                "generator.manual_seed(0); states = {",
                "generator.manual_seed(generator.initial_seed()); states = {",
            ]
        },
        {"step,": 'step, "next": torch.randint(9, (1,), generator=generator),'},
    ]


class step_plus_one(Minor):
    """The step is something else than the number that was passed."""

    edits = {"step,": ["step + 1,", "torch.tensor(step),", "str(step),", "scheduler.last_epoch,"]}


class other_keys(Minor):
    """The keys are other ones: "model", "optimizer", "scheduler", "generator" and "step"."""

    variants = [
        {'"model"': '"model_state_dict"', '"optimizer"': '"optimizer_state_dict"'},
        {f'"{part}"': f'"{part}_state_dict"' for part in ("model", "optimizer", "scheduler")}
        | {'"step"': '"iteration"'},
        {'"scheduler"': '"schedule"'},
        {'"generator"': '"rng"'},
    ]


class tuple_returned(Misconception):
    """A tuple is returned: a dictionary with the keys that are named is asked for."""

    edits = {"copy.deepcopy(states)": "tuple(copy.deepcopy(states).values())"}


class written_to_a_file(Fundamental):
    """A file is written and its name returned: return the dictionary."""

    edits = {"copy.deepcopy(states)": '"checkpoint.pt"'}
