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
)
