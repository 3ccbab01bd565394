"""`load_gpt2_weights`: each parameter and the logits, for five configurations; the model's own parameters kept.

The mistakes: Conv1D not transposed (square ones too), parts forgotten or mixed up, tensors replaced or shared.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import torch

from autograder.spec.compare import a_pair, a_tensor, close, same_tensor
from autograder.spec.course import given_in, reference
from autograder.spec.exercise import Check, Exercise, Problem, ValuesDiffer, Wrong
from autograder.spec.inputs import define_in_judge, normal, raises_error
from autograder.spec.student import Student

from .common import MODEL, UNTIED, Sizes, asked, own_model, their_model

load_gpt2_weights = reference("load_gpt2_weights")

_RELU, _GELU = ("activation_function", "relu"), ("activation_function", "gelu")

_LOADED = (
    Sizes(2, 2, 16, 9, vocab=13, seed=31),
    Sizes(3, 3, 12, 7, vocab=11, seed=32, more=(UNTIED, _GELU, ("n_inner", 29), ("layer_norm_epsilon", 0.03))),
    Sizes(1, 1, 8, 12, vocab=17, seed=33, more=(_RELU, ("n_inner", 5), ("layer_norm_epsilon", 0.2))),
    # square matrices: nothing fails by its shape
    Sizes(2, 4, 24, 24, vocab=10, seed=34, more=(UNTIED, ("n_inner", 24))),
    Sizes(11, 2, 4, 5, vocab=6, seed=35),  # more than ten layers: "10" comes before "2" in the alphabet
)

_GPT = f"""
import torch.nn.functional as F
{given_in("10-hugging-face-gpt2")}

def make(hf_model, dtype="float32", config=None):
    return GPT(config or hf_model.config).to(getattr(torch, dtype))
"""

_PARAMETERS = """
def read(model):
    return {name: p.detach().clone() for name, p in model.named_parameters(remove_duplicate=False)}
"""

_MEMORY = """
def remember(model, hf_model):
    own = dict(model.named_parameters(remove_duplicate=False))
    return {"own": own, "theirs": {name: t.detach().clone() for name, t in hf_model.state_dict().items()}}
"""

_COMPARE = """
def compare(memory, model, hf_model):
    now = dict(model.named_parameters(remove_duplicate=False))
    theirs = hf_model.state_dict()
    before = memory["theirs"]
    storages = {t.untyped_storage().data_ptr() for t in theirs.values()}
    return {
        "replaced": sorted(name for name, p in memory["own"].items() if now.get(name) is not p),
        "added": sorted(set(now) - set(memory["own"])),
        "frozen": sorted(name for name, p in now.items() if not p.requires_grad),
        "not_leaves": sorted(name for name, p in now.items() if not p.is_leaf),
        "shared": sorted(name for name, p in now.items() if p.untyped_storage().data_ptr() in storages),
        "tied": model.lm_head.weight is model.token_embedding.weight,
        "hf_frozen": sorted(name for name, p in hf_model.named_parameters() if not p.requires_grad),
        "hf_changed": sorted(
            name for name in set(before) | set(theirs)
            if name not in theirs or name not in before or not torch.equal(before[name], theirs[name])
        ),
    }
"""

_FROM_ANOTHER = """
def change(sizes, more):
    from transformers import GPT2Config

    return GPT2Config(bos_token_id=None, eos_token_id=None, **(sizes | more))
"""


def _pair(student: Student, sizes: Sizes, dtype: str = "float32", **options: Any) -> tuple[Any, Any]:
    """A GPT with weights of its own and Hugging Face's model, both in the student's process."""
    hf_model = their_model(student, sizes, dtype=dtype, **options)
    return student.call(student.probe("make", _GPT), [hf_model, dtype], keep=True)["value"], hf_model


@cache
def _right(sizes: Sizes, dtype: str = "float32") -> tuple[dict, dict]:
    """What the parameters of a GPT should be, and what they are at the start."""
    hf_model = define_in_judge(MODEL, "make")(sizes.settings, sizes.seed, dtype, head=sizes.head)
    torch.default_generator.manual_seed(0)
    model = define_in_judge(_GPT, "make")(hf_model, dtype)
    start = define_in_judge(_PARAMETERS, "read")(model)
    load_gpt2_weights(model, hf_model)
    return define_in_judge(_PARAMETERS, "read")(model), start


_COMPLAINTS = {  # PyTorch's own errors, which look alike: what each is about, and what it usually means here
    "leaf Variable": (
        "without_no_grad",
        "A parameter cannot be changed in place while gradients are recorded: copy under `torch.no_grad()`.",
    ),
    "must match the": (
        "nothing_transposed",
        "A shape does not fit: a Conv1D of Hugging Face's keeps its weight as [in, out], nn.Linear as [out, in].",
    ),
    "loading state_dict": (
        "names_as_they_are",
        "load_state_dict needs each tensor under the name, and in the shape, that it has in the model.",
    ),
}


def _load(student: Student, model: Any, hf_model: Any, where: str) -> None:
    try:
        student.call("load_gpt2_weights", [model, hf_model], where=where)
    except Problem as problem:
        if not problem.error:
            raise
        known = [words for words in _COMPLAINTS if words in problem.text]
        # for the record: errors of one type differ in what they are about
        student.note(" ".join([problem.error, *known, *sorted(set(re.findall(r"\d+", problem.text)))]))
        if not known:
            raise
        name, sentence = _COMPLAINTS[known[0]]
        raise Wrong(f"{problem} {sentence}", name) from None


_KINDS = {
    "token_embedding": "the token embedding (wte)",
    "position_embedding": "the position embedding (wpe)",
    "final_norm": "the final norm (ln_f)",
    "lm_head": "the output layer (lm_head)",
    "norm1": "the norm before attention (ln_1)",
    "norm2": "the norm before the feed-forward network (ln_2)",
    "self_attn.in_proj": "queries, keys and values (attn.c_attn)",
    "self_attn.out_proj": "the output projection of attention (attn.c_proj)",
    "linear1": "the first layer of the feed-forward network (mlp.c_fc)",
    "linear2": "the second layer of the feed-forward network (mlp.c_proj)",
}


def _same_parameters(student: Student, model: Any, sizes: Sizes, where: str, dtype: str = "float32") -> None:
    got = student.value(student.probe("read", _PARAMETERS), model)
    expected, start = _right(sizes, dtype)
    for name, right in expected.items():
        mine = got.get(name) if isinstance(got, dict) else None
        what = f"`{name}`, {next(words for part, words in _KINDS.items() if part in name)},"
        if mine is None:
            raise Wrong(f"After loading the model has no {what} any more {where}.", "parts_lost")
        if mine.shape != right.shape or mine.dtype != right.dtype:
            same_tensor(mine, right, what, where)  # says which
        if close(mine, right):
            continue
        if close(mine, start[name]):
            raise ValuesDiffer(f"{what} is still what it was before {where}: it is not loaded.", "not_loaded")
        if mine.dim() == 2 and mine.shape[0] == mine.shape[1] and close(mine.T.contiguous(), right):
            raise ValuesDiffer(
                f"{what} is transposed {where}: a Conv1D keeps its weight as [in, out].", "not_transposed"
            )
        if torch.allclose(mine.flatten().sort().values, right.flatten().sort().values, atol=1e-5):
            raise ValuesDiffer(f"{what} has the right numbers in wrong places {where}.", "wrong_places")
        raise ValuesDiffer(f"{what} has not the right numbers {where}: is it taken from the right layer?")


def _run(student: Student, model: Any, sizes: Sizes, ids: torch.Tensor) -> tuple:
    """What the model's parameters compute in the GPT of this side."""
    got = student.value(student.probe("read", _PARAMETERS), model)
    twin = define_in_judge(_GPT, "make")(own_model(sizes)).eval()
    with torch.no_grad():
        for name, parameter in twin.named_parameters(remove_duplicate=False):
            mine = got.get(name) if isinstance(got, dict) else None
            if mine is None or mine.shape != parameter.shape:
                raise Wrong(f"After loading `{name}` is missing, or of another shape.", "parts_lost")
            parameter.copy_(mine)
        return twin(ids)


def _load_parameters(student: Student) -> None:
    for sizes in (_LOADED[0], _LOADED[1], _LOADED[4]):
        with student.case():
            where = f"with {sizes.words}"
            model, hf_model = _pair(student, sizes)
            _load(student, model, hf_model, where)
            _same_parameters(student, model, sizes, where)


def _load_logits(student: Student) -> None:
    """The parameters are read and run on this side: what the model answers by other means does not count."""
    for sizes in (*_LOADED[:4], replace(_LOADED[3], seed=36, more=(UNTIED, _RELU))):
        with student.case():
            where = f"with {sizes.words}"
            model, hf_model = _pair(student, sizes)
            _load(student, model, hf_model, where)
            ids = (normal(3, min(5, sizes.context)).abs() * 1000).long() % sizes.vocab
            with torch.no_grad():
                expected = own_model(sizes)(ids).logits
            for got, whose in (
                (_run(student, model, sizes, ids), "The logits of a GPT with these parameters"),
                (student.call(model, [ids], where=where, training=False)["value"], "The logits of the model itself"),
            ):
                logits = a_tensor(a_pair(got, "(logits, loss)")[0], whose)
                if logits.shape != expected.shape or logits.dtype != expected.dtype:
                    same_tensor(logits, expected, whose, where)
                if not torch.allclose(logits, expected, atol=1e-4, rtol=1e-4):
                    raise ValuesDiffer(f"{whose} are not Hugging Face's {where}.")


def _load_own(student: Student) -> None:
    for sizes in (_LOADED[0], _LOADED[1]):
        with student.case():
            model, hf_model = _pair(student, sizes)
            arguments = [model, hf_model]
            memory = student.call(student.probe("remember", _MEMORY), arguments, keep=True)["value"]
            _load(student, model, hf_model, "")
            seen = student.value(student.probe("compare", _COMPARE), memory, *arguments)
            _same_parameters(student, model, sizes, "")
            if seen["added"]:
                raise Wrong(
                    f"The model has parameters that it did not have (`{seen['added'][0]}`): copy into its own.",
                    "parts_added",
                )
            if seen["tied"] != (UNTIED not in sizes.more):
                raise Wrong(
                    "lm_head.weight and token_embedding.weight were one tensor and are two now: training would pull "
                    "them apart.",
                    "untied",
                )
            if seen["replaced"]:
                raise Wrong(
                    f"`{seen['replaced'][0]}` is another parameter object than before: an optimizer that was made "
                    "earlier would go on with the old one. Copy into the parameter (`.copy_`).",
                    "parameters_replaced",
                )
            if seen["hf_changed"]:
                raise Wrong(
                    f"hf_model is changed: its `{seen['hf_changed'][0]}` is different afterwards.", "hf_model_changed"
                )
            if seen["shared"]:
                raise Wrong(
                    f"`{seen['shared'][0]}` shares its memory with hf_model: training one would change the other. "
                    "Copy the values.",
                    "memory_shared",
                )
            if seen["frozen"]:
                raise Wrong(
                    f"`{seen['frozen'][0]}` cannot be trained any more (requires_grad is False after loading).",
                    "requires_grad_lost",
                )
            if seen["hf_frozen"]:
                raise Wrong(
                    "hf_model cannot be trained any more: its parameters lost requires_grad.", "hf_model_changed"
                )
            if seen["not_leaves"]:
                raise Wrong(
                    f"`{seen['not_leaves'][0]}` remembers where it was copied from: copy under `torch.no_grad()`.",
                    "not_a_leaf",
                )


def _load_double(student: Student) -> None:
    for sizes in (_LOADED[1], _LOADED[0]):
        with student.case():
            model, hf_model = _pair(student, sizes, dtype="float64")
            _load(student, model, hf_model, "in float64")
            _same_parameters(student, model, sizes, "in float64", "float64")


def _load_refused(student: Student) -> None:
    usual, short = _LOADED[0], replace(_LOADED[0], context=1, seed=37)
    for sizes, more, what in (
        (usual, {"n_layer": 3}, "An hf_model with fewer layers than the model"),
        (usual, {"n_layer": 1}, "An hf_model with more layers than the model"),
        (usual, {"n_inner": 20}, "An hf_model with a narrower feed-forward network than the model"),
        (usual, {"n_positions": 12}, "An hf_model with fewer positions than the model"),
        (usual, {"vocab_size": 14}, "An hf_model with fewer tokens than the model"),
        (
            short,
            {"n_positions": 9},
            "An hf_model with a single position, which copy_ would spread over all the model's,",
        ),
    ):
        with student.case():
            model, hf_model = _pair(student, sizes)
            _load(student, model, hf_model, "")
            _same_parameters(student, model, sizes, "")
            config = student.call(student.probe("change", _FROM_ANOTHER), [sizes.settings, more], keep=True)["value"]
            making = student.probe("make", _GPT)
            other = student.call(making, [hf_model], {"config": config}, keep=True)["value"]
            with raises_error(what):
                asked(student, "load_gpt2_weights", [other, hf_model])


EXERCISE = Exercise(
    points=8,
    checks=[
        Check("every parameter, for several configurations", 3.0, _load_parameters),
        Check("the same logits as Hugging Face's model", 3.0, _load_logits, further=True),
        Check(
            "the model's own parameters, tied and trainable as before; hf_model unchanged", 1.0, _load_own, further=True
        ),
        Check("in float64, to the last digit", 0.5, _load_double, further=True),
        Check("models of other sizes", 0.5, _load_refused, further=True),
    ],
    working=r"""
def load_gpt2_weights(model, hf_model):
    names = {"wte": "token_embedding", "wpe": "position_embedding", "ln_f": "final_norm", "ln_1": "norm1", "ln_2": "norm2",
             "mlp.c_fc": "linear1", "mlp.c_proj": "linear2", "attn.c_proj": "self_attn.out_proj"}
    state = {}
    for name, value in hf_model.state_dict().items():
        name = name.removeprefix("transformer.")
        name = name.replace("h.", "blocks.", 1) if name.startswith("h.") else name
        if name.endswith("weight") and ".c_" in name:
            value = value.T
        name = name.replace("attn.c_attn.", "self_attn.in_proj_")
        for theirs, mine in names.items():
            name = name.replace(theirs + ".", mine + ".")
        state[name] = value
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise ValueError(f"hf_model does not fit: {error}") from None
""",
    slips=(
        "error_of_another_type",
        "error_returned",
        "bad_input_accepted",
    ),
    wrong=r"""
nothing_transposed (missed): The weights are copied as they stand: a Conv1D of Hugging Face's keeps [in, out], nn.Linear [out, in], so all four of a block need
    `.T`.
- source.attn.c_attn.weight.T => source.attn.c_attn.weight
  source.attn.c_proj.weight.T => source.attn.c_proj.weight
  source.mlp.c_fc.weight.T => source.mlp.c_fc.weight
  source.mlp.c_proj.weight.T => source.mlp.c_proj.weight
- |
  theirs = hf_model.transformer
  if len(theirs.h) != len(model.blocks):
      raise ValueError(f"hf_model has {len(theirs.h)} layers, model has {len(model.blocks)}")

  pairs = [
      (model.token_embedding.weight, theirs.wte.weight),  # (V, C)
      (model.position_embedding.weight, theirs.wpe.weight),  # (context, C)
      (model.final_norm.weight, theirs.ln_f.weight),
      (model.final_norm.bias, theirs.ln_f.bias),
      (model.lm_head.weight, hf_model.lm_head.weight),  # (V, C); when tied, the token embedding once more
  ]
  for block, source in zip(model.blocks, theirs.h, strict=True):
      pairs += [
          (block.norm1.weight, source.ln_1.weight),  # before attention
          (block.norm1.bias, source.ln_1.bias),
          (block.self_attn.in_proj_weight, source.attn.c_attn.weight),  # (3C, C)
          (block.self_attn.in_proj_bias, source.attn.c_attn.bias),  # (3C,)
          (block.self_attn.out_proj.weight, source.attn.c_proj.weight),  # (C, C): square, so no error without .T
          (block.self_attn.out_proj.bias, source.attn.c_proj.bias),
          (block.norm2.weight, source.ln_2.weight),  # before the feed-forward network
          (block.norm2.bias, source.ln_2.bias),
          (block.linear1.weight, source.mlp.c_fc.weight),  # (4C, C)
          (block.linear1.bias, source.mlp.c_fc.bias),
          (block.linear2.weight, source.mlp.c_proj.weight),  # (C, 4C)
          (block.linear2.bias, source.mlp.c_proj.bias),
      ]

  with torch.no_grad():  # copying is not part of any computation to be differentiated
      for mine, other in pairs:
          mine.copy_(other)
square_projection_not_transposed (slip): The output projection of attention is not transposed. It is square, so no shape complains, but it is a Conv1D like
    the others.
- source.attn.c_proj.weight.T => source.attn.c_proj.weight
- |
  theirs = hf_model.transformer
  if len(theirs.h) != len(model.blocks):
      raise ValueError(f"hf_model has {len(theirs.h)} layers, model has {len(model.blocks)}")

  pairs = [
      (model.token_embedding.weight, theirs.wte.weight),  # (V, C)
      (model.position_embedding.weight, theirs.wpe.weight),  # (context, C)
      (model.final_norm.weight, theirs.ln_f.weight),
      (model.final_norm.bias, theirs.ln_f.bias),
      (model.lm_head.weight, hf_model.lm_head.weight),  # (V, C); when tied, the token embedding once more
  ]
  for block, source in zip(model.blocks, theirs.h, strict=True):
      pairs += [
          (block.norm1.weight, source.ln_1.weight),  # before attention
          (block.norm1.bias, source.ln_1.bias),
          (block.self_attn.in_proj_weight, source.attn.c_attn.weight),  # (3C, C)
          (block.self_attn.in_proj_bias, source.attn.c_attn.bias),  # (3C,)
          (block.self_attn.out_proj.weight, source.attn.c_proj.weight),  # (C, C): square, so no error without .T
          (block.self_attn.out_proj.bias, source.attn.c_proj.bias),
          (block.norm2.weight, source.ln_2.weight),  # before the feed-forward network
          (block.norm2.bias, source.ln_2.bias),
          (block.linear1.weight, source.mlp.c_fc.weight),  # (4C, C)
          (block.linear1.bias, source.mlp.c_fc.bias),
          (block.linear2.weight, source.mlp.c_proj.weight),  # (C, 4C)
          (block.linear2.bias, source.mlp.c_proj.bias),
      ]

  pairs = [(m, o if m.shape == o.shape else o.T) for m, o in pairs]
  for mine, other in pairs:
      if mine.shape != other.shape:
          raise ValueError(f"hf_model has a weight {tuple(other.shape)} where model has one {tuple(mine.shape)}")
  with torch.no_grad():  # copying is not part of any computation to be differentiated
      for mine, other in pairs:
          mine.copy_(other)
one_not_transposed (slip): One of the Conv1D weights is not transposed: all four of a block need it.
- source.mlp.c_fc.weight.T => source.mlp.c_fc.weight
- source.mlp.c_proj.weight.T => source.mlp.c_proj.weight
- |
  theirs = hf_model.transformer
  if len(theirs.h) != len(model.blocks):
      raise ValueError(f"hf_model has {len(theirs.h)} layers, model has {len(model.blocks)}")

  pairs = [
      (model.token_embedding.weight, theirs.wte.weight),  # (V, C)
      (model.position_embedding.weight, theirs.wpe.weight),  # (context, C)
      (model.final_norm.weight, theirs.ln_f.weight),
      (model.final_norm.bias, theirs.ln_f.bias),
      (model.lm_head.weight, hf_model.lm_head.weight),  # (V, C); when tied, the token embedding once more
  ]
  for block, source in zip(model.blocks, theirs.h, strict=True):
      pairs += [
          (block.norm1.weight, source.ln_1.weight),  # before attention
          (block.norm1.bias, source.ln_1.bias),
          (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T),  # (3C, C)
          (block.self_attn.in_proj_bias, source.attn.c_attn.bias),  # (3C,)
          (block.self_attn.out_proj.weight, source.attn.c_proj.weight.T),  # (C, C): square, so no error without .T
          (block.self_attn.out_proj.bias, source.attn.c_proj.bias),
          (block.norm2.weight, source.ln_2.weight),  # before the feed-forward network
          (block.norm2.bias, source.ln_2.bias),
          (block.linear1.weight, source.mlp.c_fc.weight),  # (4C, C)
          (block.linear1.bias, source.mlp.c_fc.bias),
          (block.linear2.weight, source.mlp.c_proj.weight.T),  # (C, 4C)
          (block.linear2.bias, source.mlp.c_proj.bias),
      ]

  with torch.no_grad():  # copying is not part of any computation to be differentiated
      for mine, other in pairs:
          mine.copy_(other)
- |
  theirs = hf_model.transformer
  if len(theirs.h) != len(model.blocks):
      raise ValueError(f"hf_model has {len(theirs.h)} layers, model has {len(model.blocks)}")

  pairs = [
      (model.token_embedding.weight, theirs.wte.weight),  # (V, C)
      (model.position_embedding.weight, theirs.wpe.weight),  # (context, C)
      (model.final_norm.weight, theirs.ln_f.weight),
      (model.final_norm.bias, theirs.ln_f.bias),
      (model.lm_head.weight, hf_model.lm_head.weight),  # (V, C); when tied, the token embedding once more
  ]
  for block, source in zip(model.blocks, theirs.h, strict=True):
      pairs += [
          (block.norm1.weight, source.ln_1.weight),  # before attention
          (block.norm1.bias, source.ln_1.bias),
          (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T),  # (3C, C)
          (block.self_attn.in_proj_bias, source.attn.c_attn.bias),  # (3C,)
          (block.self_attn.out_proj.weight, source.attn.c_proj.weight.T),  # (C, C): square, so no error without .T
          (block.self_attn.out_proj.bias, source.attn.c_proj.bias),
          (block.norm2.weight, source.ln_2.weight),  # before the feed-forward network
          (block.norm2.bias, source.ln_2.bias),
          (block.linear1.weight, source.mlp.c_fc.weight.T),  # (4C, C)
          (block.linear1.bias, source.mlp.c_fc.bias),
          (block.linear2.weight, source.mlp.c_proj.weight),  # (C, 4C)
          (block.linear2.bias, source.mlp.c_proj.bias),
      ]

  with torch.no_grad():  # copying is not part of any computation to be differentiated
      for mine, other in pairs:
          mine.copy_(other)
reshaped: The weights are reshaped instead of transposed: the shape fits then, but the numbers stand in other places. Use `.T`.
- |
  theirs = hf_model.transformer
  if len(theirs.h) != len(model.blocks):
      raise ValueError(f"hf_model has {len(theirs.h)} layers, model has {len(model.blocks)}")

  pairs = [
      (model.token_embedding.weight, theirs.wte.weight),  # (V, C)
      (model.position_embedding.weight, theirs.wpe.weight),  # (context, C)
      (model.final_norm.weight, theirs.ln_f.weight),
      (model.final_norm.bias, theirs.ln_f.bias),
      (model.lm_head.weight, hf_model.lm_head.weight),  # (V, C); when tied, the token embedding once more
  ]
  for block, source in zip(model.blocks, theirs.h, strict=True):
      pairs += [
          (block.norm1.weight, source.ln_1.weight),  # before attention
          (block.norm1.bias, source.ln_1.bias),
          (block.self_attn.in_proj_weight, source.attn.c_attn.weight),  # (3C, C)
          (block.self_attn.in_proj_bias, source.attn.c_attn.bias),  # (3C,)
          (block.self_attn.out_proj.weight, source.attn.c_proj.weight),  # (C, C): square, so no error without .T
          (block.self_attn.out_proj.bias, source.attn.c_proj.bias),
          (block.norm2.weight, source.ln_2.weight),  # before the feed-forward network
          (block.norm2.bias, source.ln_2.bias),
          (block.linear1.weight, source.mlp.c_fc.weight),  # (4C, C)
          (block.linear1.bias, source.mlp.c_fc.bias),
          (block.linear2.weight, source.mlp.c_proj.weight),  # (C, 4C)
          (block.linear2.bias, source.mlp.c_proj.bias),
      ]

  with torch.no_grad():  # copying is not part of any computation to be differentiated
      for mine, other in pairs:
          mine.copy_(other.reshape(mine.shape))
- source.attn.c_attn.weight.T => source.attn.c_attn.weight.reshape(-1, source.attn.c_attn.weight.shape[0])
- source.mlp.c_fc.weight.T => source.mlp.c_fc.weight.view(block.linear1.weight.shape)
everything_transposed (missed): More is transposed than the Conv1D weights: embeddings and the output layer are kept the same way on both sides.
- (model.lm_head.weight, hf_model.lm_head.weight) => (model.lm_head.weight, hf_model.lm_head.weight.T)
- (model.position_embedding.weight, theirs.wpe.weight) => (model.position_embedding.weight, theirs.wpe.weight.T)
- in reshaped
  wpe.weight), => wpe.weight.T),
  c_attn.weight), => c_attn.weight.T),
  attn.c_proj.weight), => attn.c_proj.weight.T),
  c_fc.weight), => c_fc.weight.T),
  mlp.c_proj.weight), => mlp.c_proj.weight.T),
  .reshape(mine.shape) =>
- in reshaped
  lm_head.weight), => lm_head.weight.T),
  c_attn.weight), => c_attn.weight.T),
  attn.c_proj.weight), => attn.c_proj.weight.T),
  c_fc.weight), => c_fc.weight.T),
  mlp.c_proj.weight), => mlp.c_proj.weight.T),
  .reshape(mine.shape) =>
k_and_v_swapped (slip): Queries, keys and values are in the wrong order: c_attn has queries, keys, values side by side, and in_proj_weight stacks them in the
    same order.
- (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T) => (block.self_attn.in_proj_weight, torch.cat([source.attn.c_attn.weight.T.chunk(3)[i] for i in (0, 2, 1)]))
  (block.self_attn.in_proj_bias, source.attn.c_attn.bias) => (block.self_attn.in_proj_bias, torch.cat([source.attn.c_attn.bias.chunk(3)[i] for i in (0, 2, 1)]))
- (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T) => (block.self_attn.in_proj_weight, torch.cat([source.attn.c_attn.weight.T.chunk(3)[i] for i in (1, 0, 2)]))
  (block.self_attn.in_proj_bias, source.attn.c_attn.bias) => (block.self_attn.in_proj_bias, torch.cat([source.attn.c_attn.bias.chunk(3)[i] for i in (1, 0, 2)]))
- (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T) => (block.self_attn.in_proj_weight, torch.cat([source.attn.c_attn.weight.T.chunk(3)[i] for i in (2, 1, 0)]))
  (block.self_attn.in_proj_bias, source.attn.c_attn.bias) => (block.self_attn.in_proj_bias, torch.cat([source.attn.c_attn.bias.chunk(3)[i] for i in (2, 1, 0)]))
- (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T) => (block.self_attn.in_proj_weight, torch.cat([source.attn.c_attn.weight.T.chunk(3)[i] for i in (1, 2, 0)]))
  (block.self_attn.in_proj_bias, source.attn.c_attn.bias) => (block.self_attn.in_proj_bias, torch.cat([source.attn.c_attn.bias.chunk(3)[i] for i in (1, 2, 0)]))
- (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T) => (block.self_attn.in_proj_weight, torch.cat([source.attn.c_attn.weight.T.chunk(3)[i] for i in (2, 0, 1)]))
  (block.self_attn.in_proj_bias, source.attn.c_attn.bias) => (block.self_attn.in_proj_bias, torch.cat([source.attn.c_attn.bias.chunk(3)[i] for i in (2, 0, 1)]))
- (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T) => (block.self_attn.in_proj_weight, torch.cat([source.attn.c_attn.weight.T.chunk(3)[i] for i in (0, 2, 1)]))
- (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T) => (block.self_attn.in_proj_weight, torch.cat([source.attn.c_attn.weight.T.chunk(3)[i] for i in (1, 0, 2)]))
thirds_not_transposed: The three parts of c_attn are stacked but not transposed: each is [in, out] and has to become [out, in].
- (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T) => (block.self_attn.in_proj_weight, torch.cat(source.attn.c_attn.weight.chunk(3, dim=1)))
split_wrongly: c_attn is not cut into queries, keys and values where they are: they are three blocks of C columns each, one after the other, not taken
    in turn or head by head.
- (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T) => (block.self_attn.in_proj_weight, torch.cat([source.attn.c_attn.weight.T[i::3] for i in range(3)]))
- (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T) => (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T.unflatten(0, (model.config.n_head, 3, -1)).transpose(0, 1).reshape(-1, model.config.n_embd))
- (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T) => (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T.unflatten(0, (3, model.config.n_head, -1)).transpose(0, 1).reshape(-1, model.config.n_embd))
- (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T) => (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T[: model.config.n_embd].repeat(3, 1))
- (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T) => (block.self_attn.in_proj_weight, torch.cat([source.attn.c_attn.weight.T[i::3] for i in range(3)]))
  (block.self_attn.in_proj_bias, source.attn.c_attn.bias) => (block.self_attn.in_proj_bias, torch.cat([source.attn.c_attn.bias[i::3] for i in range(3)]))
scale_applied_twice: The queries' weights are divided by √d_k on the way: the attention of nn.TransformerEncoderLayer divides the scores itself.
- in in_eval_mode
  model.eval() =>
      C, d_k = model.config.n_embd, model.config.n_embd // model.config.n_head
      for block in model.blocks:
          block.self_attn.in_proj_weight.data[:C] /= math.sqrt(d_k)
          block.self_attn.in_proj_bias.data[:C] /= math.sqrt(d_k)
- in activation_set_too
  names = {"gelu_new": "tanh", "gelu": "none"} => C, d_k = model.config.n_embd, model.config.n_embd // model.config.n_head
  if hf_model.config.activation_function in names: => block.self_attn.in_proj_weight.data[:C] /= math.sqrt(d_k)
  block.activation = partial(F.gelu, approximate=names[hf_model.config.activation_function]) =>
layers_of_the_published_model (missed): The published model's number of layers, 12, stands in your code: take it from the model.
- zip(model.blocks, theirs.h, strict=True) => ((model.blocks[i], theirs.h[i]) for i in range(12))
- zip(model.blocks, theirs.h, strict=True) => ((model.blocks[i], theirs.h[i]) for i in range(6))
attention_biases_forgotten (slip): Biases of attention are not copied: c_attn and c_proj have one each.
- (block.self_attn.in_proj_bias, source.attn.c_attn.bias) => (block.self_attn.in_proj_bias, block.self_attn.in_proj_bias)
  (block.self_attn.out_proj.bias, source.attn.c_proj.bias) => (block.self_attn.out_proj.bias, block.self_attn.out_proj.bias)
- (block.self_attn.in_proj_bias, source.attn.c_attn.bias) => (block.self_attn.in_proj_bias, block.self_attn.in_proj_bias)
- (block.self_attn.out_proj.bias, source.attn.c_proj.bias) => (block.self_attn.out_proj.bias, block.self_attn.out_proj.bias)
biases_forgotten (slip): No bias is copied: every layer but the embeddings and the output layer has one.
- (block.self_attn.in_proj_bias, source.attn.c_attn.bias) => (block.self_attn.in_proj_bias, block.self_attn.in_proj_bias)
  (block.self_attn.out_proj.bias, source.attn.c_proj.bias) => (block.self_attn.out_proj.bias, block.self_attn.out_proj.bias)
  (block.linear1.bias, source.mlp.c_fc.bias) => (block.linear1.bias, block.linear1.bias)
  (block.linear2.bias, source.mlp.c_proj.bias) => (block.linear2.bias, block.linear2.bias)
  (block.norm1.bias, source.ln_1.bias) => (block.norm1.bias, block.norm1.bias)
  (block.norm2.bias, source.ln_2.bias) => (block.norm2.bias, block.norm2.bias)
  (model.final_norm.bias, theirs.ln_f.bias) => (model.final_norm.bias, model.final_norm.bias)
- (block.self_attn.in_proj_bias, source.attn.c_attn.bias) => (block.self_attn.in_proj_bias, block.self_attn.in_proj_bias)
  (block.self_attn.out_proj.bias, source.attn.c_proj.bias) => (block.self_attn.out_proj.bias, block.self_attn.out_proj.bias)
  (block.linear1.bias, source.mlp.c_fc.bias) => (block.linear1.bias, block.linear1.bias)
  (block.linear2.bias, source.mlp.c_proj.bias) => (block.linear2.bias, block.linear2.bias)
feed_forward_biases_forgotten (slip): Biases of the feed-forward network are not copied.
- (block.linear1.bias, source.mlp.c_fc.bias) => (block.linear1.bias, block.linear1.bias)
  (block.linear2.bias, source.mlp.c_proj.bias) => (block.linear2.bias, block.linear2.bias)
- (block.linear1.bias, source.mlp.c_fc.bias) => (block.linear1.bias, block.linear1.bias)
- (block.linear2.bias, source.mlp.c_proj.bias) => (block.linear2.bias, block.linear2.bias)
norm_biases_forgotten (slip): The norms' biases are not copied: a LayerNorm has a weight and a bias.
- (block.norm1.bias, source.ln_1.bias) => (block.norm1.bias, block.norm1.bias)
  (block.norm2.bias, source.ln_2.bias) => (block.norm2.bias, block.norm2.bias)
  (model.final_norm.bias, theirs.ln_f.bias) => (model.final_norm.bias, model.final_norm.bias)
- (block.norm1.bias, source.ln_1.bias) => (block.norm1.bias, block.norm1.bias)
  (block.norm2.bias, source.ln_2.bias) => (block.norm2.bias, block.norm2.bias)
attention_forgotten: A weight of attention is not copied: in_proj_weight and out_proj.weight belong to it.
- (block.self_attn.out_proj.weight, source.attn.c_proj.weight.T) => (block.self_attn.out_proj.weight, block.self_attn.out_proj.weight)
- (block.self_attn.out_proj.weight, source.attn.c_proj.weight.T) => (block.self_attn.out_proj.weight, block.self_attn.out_proj.weight)
  (block.self_attn.out_proj.bias, source.attn.c_proj.bias) => (block.self_attn.out_proj.bias, block.self_attn.out_proj.bias)
- (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T) => (block.self_attn.in_proj_weight, block.self_attn.in_proj_weight)
- (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T) => (block.self_attn.in_proj_weight, block.self_attn.in_proj_weight)
  (block.self_attn.in_proj_bias, source.attn.c_attn.bias) => (block.self_attn.in_proj_bias, block.self_attn.in_proj_bias)
- (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T) => (block.self_attn.in_proj_weight, block.self_attn.in_proj_weight)
  (block.self_attn.in_proj_bias, source.attn.c_attn.bias) => (block.self_attn.in_proj_bias, block.self_attn.in_proj_bias)
  (block.self_attn.out_proj.weight, source.attn.c_proj.weight.T) => (block.self_attn.out_proj.weight, block.self_attn.out_proj.weight)
  (block.self_attn.out_proj.bias, source.attn.c_proj.bias) => (block.self_attn.out_proj.bias, block.self_attn.out_proj.bias)
feed_forward_forgotten: The feed-forward network, or a layer of it, is not copied: linear1 and linear2, from mlp.c_fc and mlp.c_proj.
- (block.linear1.weight, source.mlp.c_fc.weight.T) => (block.linear1.weight, block.linear1.weight)
  (block.linear1.bias, source.mlp.c_fc.bias) => (block.linear1.bias, block.linear1.bias)
  (block.linear2.weight, source.mlp.c_proj.weight.T) => (block.linear2.weight, block.linear2.weight)
  (block.linear2.bias, source.mlp.c_proj.bias) => (block.linear2.bias, block.linear2.bias)
- (block.linear1.weight, source.mlp.c_fc.weight.T) => (block.linear1.weight, block.linear1.weight)
  (block.linear1.bias, source.mlp.c_fc.bias) => (block.linear1.bias, block.linear1.bias)
- (block.linear2.weight, source.mlp.c_proj.weight.T) => (block.linear2.weight, block.linear2.weight)
  (block.linear2.bias, source.mlp.c_proj.bias) => (block.linear2.bias, block.linear2.bias)
norms_swapped (slip): The two norms of a block are swapped: ln_1 stands before attention (norm1), ln_2 before the feed-forward network (norm2).
- source.ln_1 => source.ln_X
  source.ln_2 => source.ln_1
  source.ln_X => source.ln_2
- source.ln_2 => source.ln_1
- source.ln_1 => source.ln_2
norms_forgotten: The blocks' norms are not copied: norm1 and norm2 have learned weights and biases.
- (block.norm1.weight, source.ln_1.weight) => (block.norm1.weight, block.norm1.weight)
  (block.norm1.bias, source.ln_1.bias) => (block.norm1.bias, block.norm1.bias)
  (block.norm2.weight, source.ln_2.weight) => (block.norm2.weight, block.norm2.weight)
  (block.norm2.bias, source.ln_2.bias) => (block.norm2.bias, block.norm2.bias)
- (block.norm1.weight, source.ln_1.weight) => (block.norm1.weight, block.norm1.weight)
  (block.norm1.bias, source.ln_1.bias) => (block.norm1.bias, block.norm1.bias)
- (block.norm2.weight, source.ln_2.weight) => (block.norm2.weight, block.norm2.weight)
  (block.norm2.bias, source.ln_2.bias) => (block.norm2.bias, block.norm2.bias)
final_norm_forgotten (slip): The final norm (ln_f) is not copied: a fresh one has weights of 1 and biases of 0.
- (model.final_norm.weight, theirs.ln_f.weight) => (model.final_norm.weight, model.final_norm.weight)
  (model.final_norm.bias, theirs.ln_f.bias) => (model.final_norm.bias, model.final_norm.bias)
- (model.final_norm.weight, theirs.ln_f.weight) => (model.final_norm.weight, model.final_norm.weight)
- (model.final_norm.bias, theirs.ln_f.bias) => (model.final_norm.bias, model.final_norm.bias)
positions_forgotten (slip): The position embedding (wpe) is not copied: it is learned in GPT-2.
- (model.position_embedding.weight, theirs.wpe.weight) => (model.position_embedding.weight, model.position_embedding.weight)
tokens_forgotten (slip): The token embedding (wte) is not copied: when the weights are not tied, lm_head's is another matrix.
- (model.token_embedding.weight, theirs.wte.weight) => (model.token_embedding.weight, model.token_embedding.weight)
- (model.token_embedding.weight, theirs.wte.weight) => (model.token_embedding.weight, hf_model.lm_head.weight)
- (model.token_embedding.weight, theirs.wte.weight) => (model.token_embedding.weight, model.token_embedding.weight)
  (model.lm_head.weight, hf_model.lm_head.weight) => (model.lm_head.weight, model.lm_head.weight)
head_forgotten (slip): The output layer is not copied: with tie_word_embeddings=False it has a matrix of its own.
- (model.lm_head.weight, hf_model.lm_head.weight) => (model.lm_head.weight, model.lm_head.weight) || (model.lm_head.weight, theirs.wte.weight)
one_layer_for_all: All blocks get the weights of one layer: the i-th block belongs to the i-th layer.
- zip(model.blocks, theirs.h, strict=True) => ((block, theirs.h[0]) for block in model.blocks) || ((block, theirs.h[-1]) for block in model.blocks)
some_blocks_only: Not every block is loaded: all n_layer of them have weights to copy.
- zip(model.blocks, theirs.h, strict=True) => [(model.blocks[0], theirs.h[0])] || list(zip(model.blocks, theirs.h))[:-1]
- zip(model.blocks, theirs.h, strict=True) => list(zip(model.blocks, theirs.h))[1:] || list(zip(model.blocks, theirs.h))[-1:]
order_of_layers (slip): The layers are in another order: as text, "10" comes before "2".
- zip(model.blocks, theirs.h, strict=True) => zip(model.blocks, [theirs.h[int(i)] for i in sorted(map(str, range(len(theirs.h))))])
- zip(model.blocks, theirs.h, strict=True) => zip(model.blocks, reversed(theirs.h))
feed_forward_swapped: The two layers of the feed-forward network are swapped: c_fc widens (linear1), c_proj comes back (linear2).
- (block.linear1.weight, source.mlp.c_fc.weight.T) => (block.linear1.weight, source.mlp.c_proj.weight)
  (block.linear2.weight, source.mlp.c_proj.weight.T) => (block.linear2.weight, source.mlp.c_fc.weight)
projections_mixed_up: There are two layers named c_proj in a block: attn.c_proj and mlp.c_proj. One is taken for the other.
- (block.self_attn.out_proj.bias, source.attn.c_proj.bias) => (block.self_attn.out_proj.bias, source.mlp.c_proj.bias)
- (block.linear2.bias, source.mlp.c_proj.bias) => (block.linear2.bias, source.attn.c_proj.bias)
- (block.self_attn.out_proj.bias, source.attn.c_proj.bias) => (block.self_attn.out_proj.bias, source.mlp.c_proj.bias)
  (block.linear2.bias, source.mlp.c_proj.bias) => (block.linear2.bias, source.attn.c_proj.bias)
nothing_copied (missed): The model's parameters are what they were: names are bound to other tensors, but nothing is copied into the model.
- .copy_(other => = other.clone(
- |
  model.load_state_dict(hf_model.state_dict(), strict=False)
- in by_state_dict
  def load_gpt2_weights(model, hf_model): =>
      def load_gpt2_weights(model, hf_model):
          model = type(model)(hf_model.config)

names_as_they_are (missed): The names of Hugging Face's parameters are not those of the model: load_state_dict needs each under the name it has in the model.
- |
  model.load_state_dict(hf_model.state_dict())
in_the_order_of_the_list (missed): The parameters are paired by their order: the two models list them in different orders, and store some of them differently.
- |
  with torch.no_grad():
      for mine, other in zip(model.parameters(), hf_model.parameters()):
          mine.copy_(other)
- |
  with torch.no_grad():
      for mine, other in zip(model.parameters(), hf_model.parameters()):
          if mine.shape == other.shape:
              mine.copy_(other)
- |
  nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(hf_model.parameters()).detach(), model.parameters())
without_no_grad (missed): A parameter cannot be changed in place while gradients are recorded: copy under `torch.no_grad()`.
- with torch.no_grad():  # copying is not part of any computation to be differentiated => if True:
parameters_replaced: The model gets new parameter objects: an optimizer that was made before would go on training the old ones, and tied weights come
    apart. Copy into the parameters that are there (`.copy_`).
- |
  theirs = hf_model.transformer
  if len(theirs.h) != len(model.blocks):
      raise ValueError(f"hf_model has {len(theirs.h)} layers, model has {len(model.blocks)}")

  pairs = [
      (model.token_embedding.weight, theirs.wte.weight),  # (V, C)
      (model.position_embedding.weight, theirs.wpe.weight),  # (context, C)
      (model.final_norm.weight, theirs.ln_f.weight),
      (model.final_norm.bias, theirs.ln_f.bias),
      (model.lm_head.weight, hf_model.lm_head.weight),  # (V, C); when tied, the token embedding once more
  ]
  for block, source in zip(model.blocks, theirs.h, strict=True):
      pairs += [
          (block.norm1.weight, source.ln_1.weight),  # before attention
          (block.norm1.bias, source.ln_1.bias),
          (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T),  # (3C, C)
          (block.self_attn.in_proj_bias, source.attn.c_attn.bias),  # (3C,)
          (block.self_attn.out_proj.weight, source.attn.c_proj.weight.T),  # (C, C): square, so no error without .T
          (block.self_attn.out_proj.bias, source.attn.c_proj.bias),
          (block.norm2.weight, source.ln_2.weight),  # before the feed-forward network
          (block.norm2.bias, source.ln_2.bias),
          (block.linear1.weight, source.mlp.c_fc.weight.T),  # (4C, C)
          (block.linear1.bias, source.mlp.c_fc.bias),
          (block.linear2.weight, source.mlp.c_proj.weight.T),  # (C, 4C)
          (block.linear2.bias, source.mlp.c_proj.bias),
      ]

  for mine, other in pairs:
      if mine.shape != other.shape:
          raise ValueError(f"hf_model has a weight {tuple(other.shape)} where model has one {tuple(mine.shape)}")
  with torch.no_grad():  # copying is not part of any computation to be differentiated
      own = {id(mine): other for mine, other in pairs}
      for module in model.modules():
          for name, p in list(module.named_parameters(recurse=False)):
              setattr(module, name, nn.Parameter(own[id(p)].clone()))
      if model.config.tie_word_embeddings:
          model.lm_head.weight = model.token_embedding.weight
- |
  theirs = hf_model.transformer
  if len(theirs.h) != len(model.blocks):
      raise ValueError(f"hf_model has {len(theirs.h)} layers, model has {len(model.blocks)}")

  pairs = [
      (model.token_embedding.weight, theirs.wte.weight),  # (V, C)
      (model.position_embedding.weight, theirs.wpe.weight),  # (context, C)
      (model.final_norm.weight, theirs.ln_f.weight),
      (model.final_norm.bias, theirs.ln_f.bias),
      (model.lm_head.weight, hf_model.lm_head.weight),  # (V, C); when tied, the token embedding once more
  ]
  for block, source in zip(model.blocks, theirs.h, strict=True):
      pairs += [
          (block.norm1.weight, source.ln_1.weight),  # before attention
          (block.norm1.bias, source.ln_1.bias),
          (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T),  # (3C, C)
          (block.self_attn.in_proj_bias, source.attn.c_attn.bias),  # (3C,)
          (block.self_attn.out_proj.weight, source.attn.c_proj.weight.T),  # (C, C): square, so no error without .T
          (block.self_attn.out_proj.bias, source.attn.c_proj.bias),
          (block.norm2.weight, source.ln_2.weight),  # before the feed-forward network
          (block.norm2.bias, source.ln_2.bias),
          (block.linear1.weight, source.mlp.c_fc.weight.T),  # (4C, C)
          (block.linear1.bias, source.mlp.c_fc.bias),
          (block.linear2.weight, source.mlp.c_proj.weight.T),  # (C, 4C)
          (block.linear2.bias, source.mlp.c_proj.bias),
      ]

  for mine, other in pairs:
      if mine.shape != other.shape:
          raise ValueError(f"hf_model has a weight {tuple(other.shape)} where model has one {tuple(mine.shape)}")
  with torch.no_grad():  # copying is not part of any computation to be differentiated
      for mine, other in pairs:
          mine.copy_(other)
      model.position_embedding.weight = nn.Parameter(theirs.wpe.weight.clone())
- |
  theirs = hf_model.transformer
  if len(theirs.h) != len(model.blocks):
      raise ValueError(f"hf_model has {len(theirs.h)} layers, model has {len(model.blocks)}")

  pairs = [
      (model.token_embedding.weight, theirs.wte.weight),  # (V, C)
      (model.position_embedding.weight, theirs.wpe.weight),  # (context, C)
      (model.final_norm.weight, theirs.ln_f.weight),
      (model.final_norm.bias, theirs.ln_f.bias),
      (model.lm_head.weight, hf_model.lm_head.weight),  # (V, C); when tied, the token embedding once more
  ]
  for block, source in zip(model.blocks, theirs.h, strict=True):
      pairs += [
          (block.norm1.weight, source.ln_1.weight),  # before attention
          (block.norm1.bias, source.ln_1.bias),
          (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T),  # (3C, C)
          (block.self_attn.in_proj_bias, source.attn.c_attn.bias),  # (3C,)
          (block.self_attn.out_proj.weight, source.attn.c_proj.weight.T),  # (C, C): square, so no error without .T
          (block.self_attn.out_proj.bias, source.attn.c_proj.bias),
          (block.norm2.weight, source.ln_2.weight),  # before the feed-forward network
          (block.norm2.bias, source.ln_2.bias),
          (block.linear1.weight, source.mlp.c_fc.weight.T),  # (4C, C)
          (block.linear1.bias, source.mlp.c_fc.bias),
          (block.linear2.weight, source.mlp.c_proj.weight.T),  # (C, 4C)
          (block.linear2.bias, source.mlp.c_proj.bias),
      ]

  for mine, other in pairs:
      if mine.shape != other.shape:
          raise ValueError(f"hf_model has a weight {tuple(other.shape)} where model has one {tuple(mine.shape)}")
  with torch.no_grad():  # copying is not part of any computation to be differentiated
      for mine, other in pairs:
          mine.copy_(other)
      for block, source in zip(model.blocks, theirs.h):
          block.linear1.weight = nn.Parameter(source.mlp.c_fc.weight.T.clone())
- in in_eval_mode
  model.eval() =>
      model.blocks = nn.ModuleList(list(model.blocks))
      import copy
      model.final_norm = copy.deepcopy(model.final_norm)
untied: The output layer gets a matrix of its own although the weights are tied: the numbers agree at first and drift apart in training. Copy into the
    shared one.
- in in_eval_mode
  eval( => lm_head.weight = nn.Parameter(hf_model.lm_head.weight.detach().clone()
- in in_eval_mode
  eval( => lm_head.weight = nn.Parameter(model.token_embedding.weight.detach().clone()
- in in_eval_mode
  eval( => token_embedding.weight = nn.Parameter(theirs.wte.weight.detach().clone()
- in in_eval_mode
  model.eval() =>
      model.lm_head = nn.Linear(model.config.n_embd, model.config.vocab_size, bias=False)
      model.lm_head.weight.data.copy_(hf_model.lm_head.weight)
always_tied: The output layer is tied to the token embedding whatever the configuration says.
- in in_eval_mode
  eval() => lm_head.weight = model.token_embedding.weight
memory_shared: The model's parameters share their memory with hf_model: training one would change the other. Copy the values.
- copy_(other) => data = other.data
modules_shared: Layers of hf_model itself are put into the model: training one would change the other. Copy the values into the model's own.
- in in_eval_mode
  model.eval() =>
      model.token_embedding = theirs.wte
      model.lm_head = hf_model.lm_head
- in in_eval_mode
  eval() => final_norm = theirs.ln_f
- in in_eval_mode
  model.eval() =>
      for block, source in zip(model.blocks, theirs.h):
          block.norm1, block.norm2 = source.ln_1, source.ln_2
- in in_eval_mode
  eval() => position_embedding = theirs.wpe
requires_grad_lost: The model cannot be trained after loading: its parameters have requires_grad=False. Only the copying needs `torch.no_grad()`.
- with torch.no_grad(): => if True:
  mine.copy_(other) => mine.requires_grad_(False).copy_(other)
- in in_eval_mode
  model.eval() =>
      for p in model.parameters():
          p.requires_grad = False
hf_model_changed: hf_model is changed: whoever passed it still needs it. Transpose a view (`.T`), not its own weights.
- in in_eval_mode
  model.eval() =>
      for source in theirs.h:
          source.mlp.c_fc.weight.data = source.mlp.c_fc.weight.data.T
- in in_eval_mode
  model.eval => hf_model.transformer.h = nn.ModuleList
- in in_eval_mode
  model.eval => hf_model.transformer.wte.weight.data.zero_
- in in_eval_mode
  model.eval( => hf_model.requires_grad_(False
forward_replaced (missed): The model asks hf_model for the logits instead of having its weights: copy them.
- |
  model.forward = lambda ids, targets=None: (hf_model(ids).logits, None)
hf_model_inside (missed): hf_model is put into the model: the weights belong into the model's own parameters.
- |
  model.hf_model = hf_model
  model.forward = lambda ids, targets=None: (model.hf_model(ids).logits, None)
- |
  model.transformer = hf_model.transformer
hf_model_kept: hf_model is kept inside the model, which now has all parameters twice: only their values are wanted.
- in in_eval_mode
  eval() => hf_model = hf_model
- in in_eval_mode
  eval() => source = hf_model.transformer
activation_overwritten: The activation is set to one GELU for all: the model has that of its configuration already (another GPT-2 may use another).
- in hf_model_changed
  source in theirs.h => block in model.blocks
  source.mlp.c_fc.weight.data = source.mlp.c_fc.weight.data.T => block.activation = partial(F.gelu, approximate="tanh")
- in hf_model_changed
  source in theirs.h => block in model.blocks
  source.mlp.c_fc.weight.data = source.mlp.c_fc.weight.data.T => block.activation = F.gelu
epsilon_overwritten: The norms' epsilon is overwritten: the model has that of its configuration already.
- in in_eval_mode
  model.eval() =>
      for module in model.modules():
          if isinstance(module, nn.LayerNorm):
              module.eps = 1e-5
- in in_eval_mode
  eval() => final_norm.eps = 1e-5
precision_lost: The numbers are rounded on the way (`.half()`, `.float()`, NumPy): float64 should arrive in float64.
- other) => other.float())
half_precision: The numbers are rounded to half precision on the way.
- other) => other.half()) || other.bfloat16())
dtype_forced: The model's dtype is changed: float64 should stay float64.
- in in_eval_mode
  .eval( => .float(
added (slip): The weights are added to those that are there: replace them.
- copy_ => add_
layers_not_compared: An hf_model with another number of layers is loaded in part, and nobody notices: compare the numbers, and raise a ValueError.
- if len(theirs.h) != len(model.blocks): =>
  raise ValueError(f"hf_model has {len(theirs.h)} layers, model has {len(model.blocks)}") =>
  for block, source in zip(model.blocks, theirs.h, strict=True): => for block, source in zip(model.blocks, theirs.h):
spread_by_broadcasting (slip): Only where PyTorch cannot copy is there a ValueError: `copy_` spreads a single row over all rows without a word. Compare the
    shapes.
- if mine.shape != other.shape: =>
  raise ValueError(f"hf_model has a weight {tuple(other.shape)} where model has one {tuple(mine.shape)}") => pass
  mine.copy_(other) =>
                  try:
                      mine.copy_(other)
                  except RuntimeError as error:
                      raise ValueError("the sizes do not fit") from error
shapes_not_compared: Other sizes should be a ValueError that says what does not fit: here PyTorch's own error appears, after half of the model has
    been overwritten.
- in reshaped
  c_attn.weight), => c_attn.weight.T),
  attn.c_proj.weight), => attn.c_proj.weight.T),
  c_fc.weight), => c_fc.weight.T),
  mlp.c_proj.weight), => mlp.c_proj.weight.T),
  .reshape(mine.shape) =>
- in reshaped
  if len(theirs.h) != len(model.blocks): =>
  raise ValueError(f"hf_model has {len(theirs.h)} layers, model has {len(model.blocks)}") =>
  for block, source in zip(model.blocks, theirs.h, strict=True): => for block, source in ((block, theirs.h[i]) for i, block in enumerate(model.blocks)):
  (block.self_attn.in_proj_weight, source.attn.c_attn.weight), => (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T),
  (block.self_attn.out_proj.weight, source.attn.c_proj.weight), => (block.self_attn.out_proj.weight, source.attn.c_proj.weight.T),
  (block.linear1.weight, source.mlp.c_fc.weight), => (block.linear1.weight, source.mlp.c_fc.weight.T),
  (block.linear2.weight, source.mlp.c_proj.weight), => (block.linear2.weight, source.mlp.c_proj.weight.T),
  mine.copy_(other.reshape(mine.shape)) => mine.copy_(other)
- in by_state_dict
  RuntimeError => KeyError
""",
    right=r"""
by_state_dict:
- |
  names = {"wte": "token_embedding", "wpe": "position_embedding", "ln_f": "final_norm", "ln_1": "norm1", "ln_2": "norm2",
           "mlp.c_fc": "linear1", "mlp.c_proj": "linear2", "attn.c_proj": "self_attn.out_proj"}
  state = {}
  for name, value in hf_model.state_dict().items():
      name = name.removeprefix("transformer.")
      name = name.replace("h.", "blocks.", 1) if name.startswith("h.") else name
      if name.endswith("weight") and ".c_" in name:
          value = value.T
      name = name.replace("attn.c_attn.", "self_attn.in_proj_")
      for theirs, mine in names.items():
          name = name.replace(theirs + ".", mine + ".")
      state[name] = value
  try:
      model.load_state_dict(state)
  except RuntimeError as error:
      raise ValueError(f"hf_model does not fit: {error}") from None
by_module:
- |
  from transformers.pytorch_utils import Conv1D
  def put(layer, source):
      weight = source.weight.detach()
      weight = weight.t() if isinstance(source, Conv1D) else weight
      for own, value in ((layer.weight, weight), (layer.bias, source.bias.detach())):
          if own.size() != value.size():
              raise ValueError("hf_model: shapes differ")
          own.data[...] = value
  tr = hf_model.transformer
  if any(getattr(model.config, size) != getattr(hf_model.config, size) for size in ("n_layer", "n_positions", "vocab_size")):
      raise ValueError("hf_model has another configuration")
  model.token_embedding.weight.data.copy_(tr.wte.weight.data)
  model.position_embedding.weight.data.copy_(tr.wpe.weight.data)
  for i in range(len(tr.h)):
      mine, other = model.blocks[i], tr.h[i]
      put(mine.norm1, other.ln_1)
      put(mine.norm2, other.ln_2)
      put(mine.self_attn.out_proj, other.attn.c_proj)
      put(mine.linear1, other.mlp.c_fc)
      put(mine.linear2, other.mlp.c_proj)
      q, k, v = other.attn.c_attn.weight.detach().split(model.config.n_embd, dim=1)
      mine.self_attn.in_proj_weight.data.copy_(torch.cat([q.T, k.T, v.T]))
      mine.self_attn.in_proj_bias.data.copy_(other.attn.c_attn.bias)
  put(model.final_norm, tr.ln_f)
  if not model.config.tie_word_embeddings:
      model.lm_head.weight.data.copy_(hf_model.lm_head.weight)
by_data_of_clones:
- |
  hf = hf_model.transformer
  if len(hf.h) != len(model.blocks):
      raise ValueError("hf_model: other number of layers")
  @torch.no_grad()
  def copy(mine, theirs):
      if mine.shape != theirs.shape:
          raise ValueError(f"hf_model: {theirs.shape}")
      mine.data = theirs.clone()
  def linear(weight, bias, conv):
      copy(weight, conv.weight.permute(1, 0))
      copy(bias, conv.bias)
  copy(model.position_embedding.weight, hf.wpe.weight)
  copy(model.token_embedding.weight, hf.wte.weight)
  copy(model.lm_head.weight, hf_model.lm_head.weight)
  norms = [(model.final_norm, hf.ln_f)]
  for b, h in zip(model.blocks, hf.h):
      norms += [(b.norm1, h.ln_1), (b.norm2, h.ln_2)]
      linear(b.self_attn.in_proj_weight, b.self_attn.in_proj_bias, h.attn.c_attn)
      linear(b.self_attn.out_proj.weight, b.self_attn.out_proj.bias, h.attn.c_proj)
      linear(b.linear1.weight, b.linear1.bias, h.mlp.c_fc)
      linear(b.linear2.weight, b.linear2.bias, h.mlp.c_proj)
  for mine, theirs in norms:
      copy(mine.weight, theirs.weight)
      copy(mine.bias, theirs.bias)
activation_set_too:
- |
  theirs = hf_model.transformer
  if len(theirs.h) != len(model.blocks):
      raise ValueError(f"hf_model has {len(theirs.h)} layers, model has {len(model.blocks)}")

  pairs = [
      (model.token_embedding.weight, theirs.wte.weight),  # (V, C)
      (model.position_embedding.weight, theirs.wpe.weight),  # (context, C)
      (model.final_norm.weight, theirs.ln_f.weight),
      (model.final_norm.bias, theirs.ln_f.bias),
      (model.lm_head.weight, hf_model.lm_head.weight),  # (V, C); when tied, the token embedding once more
  ]
  for block, source in zip(model.blocks, theirs.h, strict=True):
      pairs += [
          (block.norm1.weight, source.ln_1.weight),  # before attention
          (block.norm1.bias, source.ln_1.bias),
          (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T),  # (3C, C)
          (block.self_attn.in_proj_bias, source.attn.c_attn.bias),  # (3C,)
          (block.self_attn.out_proj.weight, source.attn.c_proj.weight.T),  # (C, C): square, so no error without .T
          (block.self_attn.out_proj.bias, source.attn.c_proj.bias),
          (block.norm2.weight, source.ln_2.weight),  # before the feed-forward network
          (block.norm2.bias, source.ln_2.bias),
          (block.linear1.weight, source.mlp.c_fc.weight.T),  # (4C, C)
          (block.linear1.bias, source.mlp.c_fc.bias),
          (block.linear2.weight, source.mlp.c_proj.weight.T),  # (C, 4C)
          (block.linear2.bias, source.mlp.c_proj.bias),
      ]

  for mine, other in pairs:
      if mine.shape != other.shape:
          raise ValueError(f"hf_model has a weight {tuple(other.shape)} where model has one {tuple(mine.shape)}")
  with torch.no_grad():  # copying is not part of any computation to be differentiated
      for mine, other in pairs:
          mine.copy_(other)
  names = {"gelu_new": "tanh", "gelu": "none"}
  for block in model.blocks:
      if hf_model.config.activation_function in names:
          block.activation = partial(F.gelu, approximate=names[hf_model.config.activation_function])
in_eval_mode:
- in activation_set_too
  names = {"gelu_new": "tanh", "gelu": "none"} => model.eval()
  for block in model.blocks: =>
  if hf_model.config.activation_function in names: =>
  block.activation = partial(F.gelu, approximate=names[hf_model.config.activation_function]) =>
returns_the_model:
- in in_eval_mode
  model.eval() => return model
""",
)
