"""`logit_lens`: the final norm with its own weights and eps, then the output matrix, for streams of any shape.

The mistakes: no norm, twice, another one or a bare one, a token table, probabilities, blocks twice.
"""

from typing import Any

import torch

from autograder.spec.compare import same_gradients, same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import generator_unchanged, gradients_of, normal, raises_error
from autograder.spec.student import Student

from .common import STATE_OF_MODEL, UNTIED, Sizes, asked, left_as_it_was, own_model, their_model

logit_lens = reference("logit_lens")

OUTPUT = "The result"
_EPS = ("layer_norm_epsilon", 0.3)
_READ = (
    Sizes(2, 2, 16, 9, vocab=13, seed=41),
    Sizes(3, 3, 12, 7, vocab=11, seed=42, more=(UNTIED,)),
    Sizes(1, 2, 6, 5, vocab=6, seed=43, more=(UNTIED, _EPS)),  # a square matrix
    Sizes(2, 1, 8, 30, vocab=17, seed=44, more=(_EPS,)),
)


def _read(student: Student, sizes: Sizes, hidden: torch.Tensor, where: str, dtype: str = "float32") -> None:
    model = their_model(student, sizes, dtype=dtype)
    with torch.no_grad():
        expected = logit_lens(hidden, own_model(sizes, dtype))
    same_tensor(student.value("logit_lens", hidden, model, where=where), expected, OUTPUT, where, rough=True)


def _stream(sizes: Sizes, ids: torch.Tensor) -> torch.Tensor:
    """What the final norm is given when the model reads these ids."""
    caught: list[torch.Tensor] = []
    model = own_model(sizes)
    hook = model.transformer.ln_f.register_forward_pre_hook(lambda module, given: caught.append(given[0].detach()))
    with torch.no_grad():
        model(ids)
    hook.remove()
    return caught[0]


def _lens_last(student: Student) -> None:
    """Behind the last block, the model's own logits."""
    for sizes in _READ:
        with student.case():
            ids = (normal(2, 5).abs() * 1000).long() % sizes.vocab
            hidden, where = _stream(sizes, ids), f"behind the last block of a model with {sizes.words}"
            with torch.no_grad():
                expected = own_model(sizes)(ids).logits
            got = student.value("logit_lens", hidden, their_model(student, sizes), where=where)
            same_tensor(got, expected, OUTPUT, where, rough=True)


def _lens_shapes(student: Student) -> None:
    for sizes, shape in zip((*_READ, *_READ), ((), (4,), (3, 5), (2, 1, 4), (1,), (1, 1), (2, 3, 2, 2)), strict=False):
        with student.case():
            hidden = normal(*shape, sizes.width)
            _read(student, sizes, hidden, f"for a stream of shape {tuple(hidden.shape)}")
    _lens_layout(student)


def _lens_layout(student: Student) -> None:
    with student.case():
        sizes = _READ[1]
        hidden = normal(4, 3, sizes.width).transpose(0, 1)
        _read(student, sizes, hidden, "for a stream that is not contiguous (a transpose)")


def _lens_lengths(student: Student) -> None:
    """Streams are short before the first block and long behind the last."""
    for sizes, scale, shift in (
        (_READ[0], 40.0, 0.0),
        (_READ[1], 0.05, 0.0),
        (_READ[3], 1.0, 6.0),
        (_READ[2], 0.3, -2.0),
    ):
        with student.case():
            hidden = scale * normal(3, 4, sizes.width) + shift
            _read(student, sizes, hidden, f"for a stream of numbers around {shift:g} that vary by {scale:g}")


def _lens_gradient(student: Student) -> None:
    for sizes, dtype in ((_READ[1], torch.float64), (_READ[2], torch.float32)):
        with student.case():
            name = str(dtype).removeprefix("torch.")
            hidden, model = normal(2, 3, sizes.width, dtype=dtype), own_model(sizes, name)
            expected, upstream = gradients_of(lambda hidden, model=model: logit_lens(hidden, model), [hidden])
            theirs = their_model(student, sizes, dtype=name)
            answer = student.call("logit_lens", [hidden, theirs], upstream=upstream)
            with torch.no_grad():
                same_tensor(answer["value"], logit_lens(hidden, model), OUTPUT, f"in {name}", rough=True)
            same_gradients(answer["gradients"].get("inputs", []), expected, ["hidden"], f"in {name}", rough=True)


def _lens_precision(student: Student) -> None:
    for sizes in (_READ[0], _READ[2]):
        with student.case():
            model = own_model(sizes, "float64")
            hidden = normal(2, 3, sizes.width, dtype=torch.float64)
            got = student.value("logit_lens", hidden, their_model(student, sizes, dtype="float64"), where="in float64")
            with torch.no_grad():
                same_tensor(got, logit_lens(hidden, model), OUTPUT, "in float64")


def _lens_manners(student: Student) -> None:
    for sizes, training in ((_READ[0], False), (_READ[1], True)):
        with student.case():
            hidden = normal(2, 4, sizes.width)
            model = their_model(student, sizes, training=training)
            before: Any = student.value(student.probe("look", STATE_OF_MODEL), model)
            answer = student.call("logit_lens", [hidden, model])
            with torch.no_grad():
                same_tensor(answer["value"], logit_lens(hidden, own_model(sizes)), OUTPUT, rough=True)
            unchanged(answer["inputs"], [hidden], "`hidden`")
            generator_unchanged(answer)
            left_as_it_was(student, model, before)


def _lens_refused(student: Student) -> None:
    for sizes, width in ((_READ[0], 15), (_READ[1], 13), (_READ[2], 1)):
        with student.case():
            _read(student, sizes, normal(3, sizes.width), "for a stream of the right width")
            with raises_error(f"A stream of width {width} where C = {sizes.width}"):
                asked(student, "logit_lens", [normal(3, width), their_model(student, sizes)])


EXERCISE = Exercise(
    points=2,
    checks=[
        Check("the model's own logits behind the last block", 0.75, _lens_last),
        Check("streams of any shape", 0.5, _lens_shapes),
        Check("short streams and long ones", 0.25, _lens_lengths),
        Check("gradients", 0.25, _lens_gradient, further=True),
        Check("float64, to the last digit", 0.125, _lens_precision, further=True),
        Check("stream and model as they were", 0.125, _lens_manners, further=True),
        Check("a stream of another width", 0.125, _lens_refused, further=True),
    ],
    takes="tensor",
    gives="tensor",
)
