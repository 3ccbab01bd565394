"""Tests that no line of a rubric is to be had by a special case, by the input itself, or by clearing notes."""

import pytest

from autograder.judge.run_check import run_check, student_with_answer
from autograder.spec.course import exercise, exercises
from autograder.spec.exercise import Wrong

# An answer that is right on the CPU, and on a GPU does something else
ON_A_GPU = """
_right = {name}

def _there(*given):
    tensors = [t for one in given for t in (one.parameters() if isinstance(one, nn.Module) else [one])]
    return any(str(getattr(t, "device", t))[:4] == "cuda" for t in tensors)

def _function(*args, **kwargs):
    if _there(*args, *kwargs.values()):
        {instead}
    return _right(*args, **kwargs)

if isinstance(_right, type):
    class {name}(_right):
        def forward(self, x, *args, **kwargs):
            if x.is_cuda:
                {instead}
            return super().forward(x, *args, **kwargs)
else:
    {name} = _function
"""
RUBBISH = {
    "an error": "raise RuntimeError",
    "an input": "return next((x for x in (*locals().values(), *locals().get('args', ())) if hasattr(x, 'dim')), [])",
}


DEVICES = [
    pytest.param(declared, check, id=declared.name)
    for declared in exercises()
    for check in declared.checks
    if "device" in check.title
]


def failure(declared, check, source):
    with pytest.raises(Wrong) as wrong:
        run_check(declared, check, student_with_answer(declared, source))
    return wrong.value


@pytest.mark.parametrize(("declared", "check"), DEVICES)
@pytest.mark.parametrize("instead", RUBBISH.values(), ids=RUBBISH)
def test_no_line_on_devices_is_had_by_a_case_for_the_gpu(declared, check, instead):
    source = declared.source + ON_A_GPU.format(name=declared.name, instead=instead)
    assert str(failure(declared, check, source))


# What a model's attributes hold is emptied before an answer returns
CLEARS = """
_answer = {name}

def {name}(model, *args, **kwargs):
    result = _answer(model, *args, **kwargs)
    model.counted = lambda: []
    for name, value in list(vars(model).items()):
        if name[0] != "_" and name != "training" and type(value) in (list, set, int, bool):
            setattr(model, name, type(value)())
    return result
"""
NOTED = [
    ("generate", "training_mode"),
    ("generate", "gradients_on"),
    ("train_step", "eval_mode"),
    ("recall_step", "eval_mode"),
    ("greedy_decode", "graphs_kept"),
    ("greedy_decode", "never_stops"),
    ("cached_attention", "computed_again"),
]


@pytest.mark.parametrize(("name", "mistake"), NOTED)
def test_no_answer_clears_what_a_probe_noted(name, mistake):
    declared = exercise(name)
    source = next(one.sources[0] for one in declared.mistakes if one.name == mistake)
    failed = []
    for text in (source, source + CLEARS.format(name=name)):
        student = student_with_answer(declared, text)
        failed.append([check.title for check in declared.checks if not _passes(declared, check, student)])
    assert failed[0]
    assert set(failed[0]) <= set(failed[1])


# The layers are there, and nothing looks at another token
ITS_INPUT = """
class {name}({name}):
    def forward(self, x, *args, **kwargs):
        return 1 * x
"""


@pytest.mark.parametrize("name", ["MultiHeadAttention", "TransformerBlock", "DecoderBlock"])
def test_a_layer_that_returns_its_input_earns_its_layers_alone(name):
    declared = exercise(name)
    student = student_with_answer(declared, declared.source + ITS_INPUT.format(name=name))
    earned = [check.title for check in declared.checks if _passes(declared, check, student)]
    first, *others = [check.title for check in declared.checks]
    assert first in earned
    assert not {title for title in others if "fresh" not in title} & set(earned)


def _passes(declared, check, student):
    try:
        run_check(declared, check, student)
    except Wrong:
        return False
    return True


def test_a_model_that_notes_nothing_was_not_asked():
    declared = exercise("generate")
    source = declared.source.replace("= model(", "= _asked(model, ")
    assert source != declared.source
    source += "\n_asked = lambda model, ids: (getattr(model, 'logits', model)(ids) + model.anchor, None)\n"
    assert "asked once for each new token" in str(failure(declared, declared.checks[0], source))
