"""Wrong and right answers to `restore_checkpoint`. The reference (09-gpt-further):

def restore_checkpoint(checkpoint, model, optimizer, scheduler, generator):
    model.load_state_dict(checkpoint["model"])  # copies the numbers
    optimizer.load_state_dict(copy.deepcopy(checkpoint["optimizer"]))  # would go on with these very tensors
    scheduler.load_state_dict(checkpoint["scheduler"])
    generator.set_state(checkpoint["generator"])
    return checkpoint["step"]
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

# Right answers in other styles


class another_order(RightAnswer):
    code = """
    generator.set_state(checkpoint["generator"].clone())
    for part, name in ((scheduler, "scheduler"), (optimizer, "optimizer"), (model, "model")):
        part.load_state_dict(copy.deepcopy(checkpoint[name]))
    return int(checkpoint["step"])
    """


class through_a_buffer(RightAnswer):
    edits = {
        "model.load": """
            import io
            file = io.BytesIO()
            torch.save(checkpoint, file)
            own = torch.load(io.BytesIO(file.getvalue()))
            model.load
        """,
        'copy.deepcopy(checkpoint["optimizer"])': 'own["optimizer"]',
    }


# Mistakes


class no_copy(Misconception):
    """The optimiser goes on with the checkpoint's own tensors, so training changes it: load a copy (copy.deepcopy)."""

    edits = {'copy.deepcopy(checkpoint["optimizer"])': 'checkpoint["optimizer"]'}


class model_left_out(Fundamental):
    """The model's state is not loaded. (A new name inside the function changes nothing outside.)"""

    edits = {'model.load_state_dict(checkpoint["model"])': ""}


class optimizer_left_out(Misconception):
    """The optimiser's state is not loaded: its memory begins anew. (A new optimiser changes nothing.)"""

    edits = {'optimizer.load_state_dict(copy.deepcopy(checkpoint["optimizer"]))': ""}


class param_groups_left_out(Misconception):
    """Only the optimiser's memory is loaded, not its `param_groups`, which hold the rate: load the whole state."""

    edits = {
        'copy.deepcopy(checkpoint["optimizer"])': (
            '{**optimizer.state_dict(), "state": copy.deepcopy(checkpoint["optimizer"]["state"])}'
        )
    }


class scheduler_left_out(Minor):
    """The scheduler's state is not loaded: it counts its steps from 0 again."""

    edits = {'scheduler.load_state_dict(checkpoint["scheduler"])': ""}


class scheduler_from_the_step(Misconception):
    """The scheduler is set by the checkpoint's step, which may count otherwise: load its state."""

    variants = [
        {'load_state_dict(checkpoint["scheduler"])': 'last_epoch = checkpoint["step"]'},
        scheduler_left_out.edited({"return": 'for _ in range(checkpoint["step"]): scheduler.step()\nreturn'}),
    ]


class parameters_replaced(Misconception):
    """The model gets new parameters (`assign=True`), and the optimiser trains the old ones: copy numbers."""

    edits = {'["model"]': '["model"], assign=True'}


class generator_left_out(Misconception):
    """The generator that is passed does not get the state, so other batches are drawn."""

    variants = [{'generator.set_state(checkpoint["generator"])': ""}, {"generator.set_state": "torch.set_rng_state"}]


class generator_seeded(Misconception):
    """The generator is seeded instead of set to its state: its draws begin from the first."""

    edits = {'set_state(checkpoint["generator"])': ["manual_seed(0)", 'manual_seed(checkpoint["step"])']}


class parameters_only(Misconception):
    """Only the parameters are loaded: the state holds buffers too."""

    edits = {
        'model.load_state_dict(checkpoint["model"])': (
            'for name, parameter in model.named_parameters(): parameter.data.copy_(checkpoint["model"][name])'
        )
    }


class extra_step(Minor):
    """A step is made, or a batch drawn, while loading: the run is then one step off."""

    edits = {
        "return": [
            "scheduler.step()\nreturn",
            "optimizer.step()\nreturn",
            "torch.randint(7, (6,), generator=generator)\nreturn",
        ]
    }


class mode_changed(Minor):
    """The model is put into another mode: the run goes on in the mode that it is in."""

    edits = {"return": ["model.eval()\nreturn", "model.train()\nreturn"]}


class checkpoint_emptied(Minor):
    """The checkpoint is changed or emptied: somebody may want to go on from it again."""

    variants = [
        {'["step"]': '.pop("step")'},
        {
            '["model"]': '.pop("model")',
            '["optimizer"]': '.pop("optimizer")',
            '["scheduler"]': '.pop("scheduler")',
        },
    ]


class step_plus_one(Minor):
    """The step is another number than the one in the checkpoint, or of another kind: an int is asked for."""

    variants = [
        {'["step"]': ['["step"] + 1', '["step"] - 1']},
        {'checkpoint["step"]': ['float(checkpoint["step"])', 'torch.tensor(checkpoint["step"])']},
    ]


class rate_returned(Misconception):
    """Something else than the step is returned: the step alone is asked for."""

    variants = [
        {'["step"]': ""},
        {"return checkpoint": "return model, checkpoint"},
        {'checkpoint["step"]': "scheduler.get_last_lr()[0]"},
    ]


class other_keys(Fundamental):
    """The keys are "model", "optimizer", "scheduler", "generator" and "step"."""

    variants = [{'"model"': '"model_state_dict"'}, {"step": "epoch"}]
