"""`logit_lens`: the final norm with its own weights and eps, then the output matrix, for streams of any shape.

The mistakes: no norm, twice, another one or a bare one, the token table for an untied head, probabilities, blocks run again.
"""

from __future__ import annotations

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
    working=r"""
def logit_lens(hidden, model):
    if model.config.n_embd != hidden.size(-1):
        raise ValueError("hidden is not as wide as the model")
    norm = model.transformer.ln_f
    normed = F.layer_norm(hidden, (hidden.shape[-1],), norm.weight, norm.bias, norm.eps)
    return F.linear(normed, model.lm_head.weight)
""",
    takes="tensor",
    gives="tensor",
    slips=(
        *("nothing_returned", "gradient_cut_off", "input_changed", "single_precision", "double_precision"),
        *("single_precision_inside", "squeezed", "rounded", "list_returned", "array_returned", "global_generator"),
        *("error_of_another_type", "error_returned", "bad_input_accepted"),
    ),
    wrong=r"""
norm_forgotten: The final norm is missing: the output matrix was trained to read a normed stream.
- model.transformer.ln_f(hidden) => hidden
norm_twice: The stream is normed twice: `ln_f` comes once, after the blocks.
- model.transformer.ln_f(hidden) => model.transformer.ln_f(model.transformer.ln_f(hidden))
norm_of_a_block: This is the norm of a block: the one behind all blocks is `model.transformer.ln_f`.
- model.transformer.ln_f(hidden) => model.transformer.h[-1].ln_2(hidden) || model.transformer.h[-1].ln_1(hidden) || model.transformer.h[0].ln_1(hidden)
norm_without_weights: The stream is normed without the model's own weights and biases: call `ln_f`, which has them.
- model.transformer.ln_f(hidden) => F.layer_norm(hidden, hidden.shape[-1:])
- model.transformer.ln_f(hidden) => F.layer_norm(hidden, hidden.shape[-1:], eps=model.config.layer_norm_epsilon)
norm_without_bias (slip): The norm's bias is left out: call `ln_f`, which has it.
- model.transformer.ln_f(hidden) => F.layer_norm(hidden, hidden.shape[-1:], model.transformer.ln_f.weight, None, model.config.layer_norm_epsilon)
norm_with_another_eps (slip): The norm has another eps than the model's: `ln_f` and `config.layer_norm_epsilon` know it.
- model.transformer.ln_f(hidden) => F.layer_norm(hidden, hidden.shape[-1:], model.transformer.ln_f.weight, model.transformer.ln_f.bias)
- model.transformer.ln_f(hidden) => F.layer_norm(hidden, hidden.shape[-1:], model.transformer.ln_f.weight, model.transformer.ln_f.bias, 1e-8)
norm_of_everything: Mean and variance are taken over all positions together: each position is normed on its own, over C.
- model.transformer.ln_f(hidden) => ((hidden - hidden.mean()) / hidden.std()) * model.transformer.ln_f.weight + model.transformer.ln_f.bias
rms_norm: The stream is divided by its root mean square without its mean being taken off: GPT-2 has a layer norm.
- model.transformer.ln_f(hidden) => F.rms_norm(hidden, hidden.shape[-1:], model.transformer.ln_f.weight, model.config.layer_norm_epsilon) + model.transformer.ln_f.bias
unbiased_variance (slip): The variance is divided by C − 1: a layer norm divides by C.
- normed = model.transformer.ln_f(hidden) =>
      spread = (hidden.var(-1, keepdim=True) + model.transformer.ln_f.eps).sqrt()
      normed = (hidden - hidden.mean(-1, keepdim=True)) / spread * model.transformer.ln_f.weight + model.transformer.ln_f.bias
embedding_for_the_head: The token embedding reads the stream: a model whose lm_head is not tied to it has a matrix of its own.
- normed @ model.lm_head.weight.T => normed @ model.transformer.wte.weight.T
probabilities (slip): These are probabilities: logits are asked for, before any softmax.
- normed @ model.lm_head.weight.T => model.lm_head(normed).softmax(-1)
log_probabilities (slip): These are log-probabilities: logits are asked for, before any softmax.
- normed @ model.lm_head.weight.T => model.lm_head(normed).log_softmax(-1)
tokens (missed): These are ids: the logits of all tokens are asked for.
- normed @ model.lm_head.weight.T => model.lm_head(normed).argmax(-1)
normed_only (missed): This is the normed stream: the output matrix makes V logits of its C numbers.
- normed @ model.lm_head.weight.T => normed
last_position_only: Only the last position is left: logits are asked for at every position that was given.
- normed @ model.lm_head.weight.T => model.lm_head(normed[..., -1:, :]) || model.lm_head(normed)[..., -1, :] || model.lm_head(normed)[:, -1]
first_row_only: Only the first text or layer is left: logits are asked for wherever there is a stream.
- normed @ model.lm_head.weight.T => model.lm_head(normed)[0] || model.lm_head(normed)[:1]
flattened (slip): The leading dimensions are run together: [..., C] becomes [..., V].
- normed @ model.lm_head.weight.T => model.lm_head(normed).flatten(0, -2)
divided_by_the_root_of_C: The logits are divided by √C: that belongs to attention scores.
- normed @ model.lm_head.weight.T => model.lm_head(normed) / math.sqrt(hidden.shape[-1])
view_needed (slip): `view` refuses tensors that are not contiguous, such as transposes. Leave the leading dimensions as they are.
- normed = model.transformer.ln_f(hidden) =>
      shape, hidden = hidden.shape, hidden.view(-1, hidden.shape[-1])
      normed = model.transformer.ln_f(hidden)
  return normed @ model.lm_head.weight.T => return (normed @ model.lm_head.weight.T).view(*shape[:-1], -1)
blocks_run_again (missed): The stream is sent through the blocks once more: the lens reads it as it is.
- |
  return model(inputs_embeds=hidden).logits
- |
  return model(inputs_embeds=hidden if hidden.dim() == 3 else hidden.reshape(1, -1, hidden.shape[-1])).logits.reshape(*hidden.shape[:-1], -1)
both_returned: Two things are returned: the logits alone are asked for.
- normed @ model.lm_head.weight.T => normed, model.lm_head(normed)
model_frozen: Reading freezes the model: its parameters lose requires_grad, so it cannot be trained any more.
- return normed @ model.lm_head.weight.T => return model.requires_grad_(False).lm_head(normed)
mode_changed: The model is in another mode afterwards: neither the norm nor the matrix minds which, so leave it alone.
- return normed @ model.lm_head.weight.T => return model.train(not model.training).lm_head(normed)
""",
    right=r"""
one_line:
- |
  if hidden.shape[-1] != model.config.n_embd:
      raise ValueError("another width")
  return model.lm_head(model.transformer.ln_f(hidden))
by_hand:
- |
  if hidden.shape[-1] != model.config.n_embd:
      raise ValueError("another width")
  norm = model.transformer.ln_f
  mean, variance = hidden.mean(-1, keepdim=True), hidden.var(-1, keepdim=True, correction=0)
  normed = (hidden - mean) / torch.sqrt(variance + norm.eps) * norm.weight + norm.bias
  return normed @ model.lm_head.weight.T
in_einsum:
- |
  if hidden.shape[-1] != model.config.n_embd:
      raise ValueError("another width")
  return torch.einsum("...c,vc->...v", model.transformer.ln_f(hidden), model.get_output_embeddings().weight)
in_a_loop:
- |
  if hidden.shape[-1] != model.config.n_embd:
      raise ValueError("another width")
  rows = hidden.reshape(-1, hidden.shape[-1])
  logits = [model.lm_head(model.transformer.ln_f(row)) for row in rows]
  return torch.stack(logits).reshape(*hidden.shape[:-1], model.config.vocab_size)
from_the_config:
- |
  if hidden.shape[-1] != model.config.n_embd:
      raise ValueError("another width")
  C, eps = model.config.n_embd, model.config.layer_norm_epsilon
  normed = F.layer_norm(hidden, (C,), model.transformer.ln_f.weight, model.transformer.ln_f.bias, eps)
  return normed.matmul(model.lm_head.weight.mT)
""",
)
