"""`logit_lens`: the final norm with its own weights and eps, then the output matrix, for streams of any shape."""

from collections.abc import Callable, Iterator

import torch

from autograder.spec import (
    Check,
    CheckFunction,
    Exercise,
    Student,
    dtype_name,
    generator_unchanged,
    gradients_agree,
    normal,
    raises_error,
    reference,
    same_tensor,
    unchanged,
)

from .small_models import UNTIED, Sizes, left_as_it_was, own_model, their_model

logit_lens = reference("logit_lens")
_EPS = ("layer_norm_epsilon", 0.3)
_MODELS = (
    Sizes(2, 2, 16, 9, vocab=13, seed=41),
    Sizes(3, 3, 12, 7, vocab=11, seed=42, more=(UNTIED,)),
    Sizes(1, 2, 6, 5, vocab=6, seed=43, more=(UNTIED, _EPS)),  # a square matrix
    Sizes(2, 1, 8, 30, vocab=17, seed=44, more=(_EPS,)),
)

Cases = Iterator[tuple]  # (sizes, hidden, where), and what is right where the reference is not asked


def _reads(cases: Callable[[], Cases]) -> CheckFunction:
    """Make a check of a generator of cases."""

    def check(student: Student) -> None:
        for sizes, hidden, where, *right in cases():
            with student.case():
                dtype = dtype_name(hidden)
                got = student.value("logit_lens", hidden, their_model(student, sizes, dtype=dtype), where=where)
                expected = right[0] if right else logit_lens(hidden, own_model(sizes, dtype))
                same_tensor(got, expected, "The result", where, rough=dtype == "float32")

    return check


@_reads
def _last() -> Cases:
    for sizes in _MODELS:
        model = own_model(sizes)
        caught: list[torch.Tensor] = []
        hook = model.transformer.ln_f.register_forward_pre_hook(lambda _, given, caught=caught: caught.append(given[0]))
        with torch.no_grad():
            logits = model((normal(2, 5).abs() * 1000).long() % sizes.vocab).logits
        hook.remove()
        yield sizes, caught[0], f"behind the last block of a model with {sizes.words}", logits


@_reads
def _shapes() -> Cases:
    shapes = ((), (4,), (3, 5), (2, 1, 4), (1,), (1, 1), (2, 3, 2, 2))
    for sizes, shape in zip(_MODELS * 2, shapes, strict=False):
        hidden = normal(*shape, sizes.width)
        yield sizes, hidden, f"for a stream of shape {tuple(hidden.shape)}"
    yield _MODELS[1], normal(4, 3, 12).transpose(0, 1), "for a stream that is not contiguous (a transpose)"


@_reads
def _lengths() -> Cases:
    """Streams are short before the first block and long behind the last."""
    for number, scale, shift in ((0, 40.0, 0.0), (1, 0.05, 0.0), (3, 1.0, 6.0), (2, 0.3, -2.0)):
        sizes = _MODELS[number]
        hidden = scale * normal(3, 4, sizes.width) + shift
        yield sizes, hidden, f"for a stream of numbers around {shift:g} that vary by {scale:g}"


def _gradient(student: Student) -> None:
    for sizes, dtype in ((_MODELS[1], "float64"), (_MODELS[2], "float32")):
        hidden, where = normal(2, 3, sizes.width, dtype=getattr(torch, dtype)), f"in {dtype}"
        _reads(lambda: iter([(sizes, hidden, where)]))(student)
        with student.case():
            own, fixed = own_model(sizes, dtype), (their_model(student, sizes, dtype=dtype),)
            gradients_agree(
                student, "logit_lens", lambda x, _: logit_lens(x, own), [hidden], ["hidden"], fixed, where, rough=True
            )


@_reads
def _precision() -> Cases:
    for sizes in (_MODELS[0], _MODELS[2]):
        yield sizes, normal(2, 3, sizes.width, dtype=torch.float64), "in float64"


def _side_effects(student: Student) -> None:
    for sizes, training in ((_MODELS[0], False), (_MODELS[1], True)):
        with student.case():
            hidden, model = normal(2, 4, sizes.width), their_model(student, sizes, training=training)
            with left_as_it_was(student, model):
                answer = student.call("logit_lens", [hidden, model])
                same_tensor(answer["value"], logit_lens(hidden, own_model(sizes)), "The result", rough=True)
                unchanged(answer["inputs"], [hidden], "`hidden`")
                generator_unchanged(answer)


def _refused(student: Student) -> None:
    _reads(lambda: ((one, normal(3, one.width), "for a stream of the right width") for one in _MODELS[:3]))(student)
    for sizes, width in ((_MODELS[0], 15), (_MODELS[1], 13), (_MODELS[2], 1)):
        with student.case(), raises_error(f"A stream of width {width} where C = {sizes.width}"):
            student.value("logit_lens", normal(3, width), their_model(student, sizes))


EXERCISE = Exercise(
    Check("the model's own logits behind the last block", 0.75, _last),
    Check("streams of any shape", 0.5, _shapes, dependent=True),
    Check("short streams and long ones", 0.25, _lengths, dependent=True),
    Check("gradients", 0.25, _gradient, dependent=True),
    Check("float64, to the last digit", 0.125, _precision, dependent=True),
    Check("stream and model as they were", 0.125, _side_effects, dependent=True),
    Check("a stream of another width", 0.125, _refused, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("other_signature",),
    points=2,
)
