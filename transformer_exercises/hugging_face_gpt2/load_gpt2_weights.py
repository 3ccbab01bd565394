"""`load_gpt2_weights`: each parameter and the logits, for five configurations; the model's own parameters kept."""

import re
from dataclasses import replace
from functools import lru_cache

import torch

from autograder.spec import (
    Check,
    CheckFunction,
    Exercise,
    Kept,
    Problem,
    Student,
    ValuesDiffer,
    Wrong,
    a_pair,
    a_tensor,
    close,
    define_in_judge,
    normal,
    provided_code_in,
    raises_error,
    reference,
    same_tensor,
    shape_of,
)

from .small_models import RELU, UNTIED, Sizes, other_weights, own_model, their_model

load_gpt2_weights = reference("load_gpt2_weights")
_EPS = "layer_norm_epsilon"
_LOADED = (
    Sizes(2, 2, 16, 9, vocab=13, seed=31),
    Sizes(3, 3, 12, 7, 11, 32, more=(UNTIED, ("activation_function", "gelu"), ("n_inner", 29), (_EPS, 0.03))),
    Sizes(1, 1, 8, 12, vocab=17, seed=33, more=(RELU, ("n_inner", 5), (_EPS, 0.2))),
    Sizes(2, 4, 24, 24, vocab=10, seed=34, more=(UNTIED, ("n_inner", 24))),  # square: nothing fails by its shape
    Sizes(11, 2, 4, 5, vocab=6, seed=35),  # more than ten layers: "10" comes before "2" in the alphabet
)

_GPT = f"""
import copy
import torch.nn.functional as F
{provided_code_in("10-hugging-face-gpt2")}

def make(hf_model, dtype="float32", other={{}}):
    config = copy.deepcopy(hf_model.config)
    config.update(other)
    return GPT(config).to(getattr(torch, dtype))
"""

_LOOK = """
def read(model):
    return {name: p.detach().clone() for name, p in model.named_parameters(remove_duplicate=False)}

def remember(model, hf_model):
    published = {name: t.detach().clone() for name, t in hf_model.state_dict().items()}
    tied = model.lm_head.weight is model.token_embedding.weight
    return dict(model.named_parameters(remove_duplicate=False)), published, tied

def compare(memory, model, hf_model):
    now, published = dict(model.named_parameters(remove_duplicate=False)), hf_model.state_dict()
    own, before, tied = memory
    storages = {t.untyped_storage().data_ptr() for t in published.values()}
    kept = {name for name in set(before) & set(published) if torch.equal(before[name], published[name])}
    return {
        "added": sorted(set(now) - set(own)),
        "untied": ["lm_head.weight"] * (tied and model.lm_head.weight is not model.token_embedding.weight),
        "replaced": sorted(name for name, p in own.items() if now.get(name) is not p),
        "hf_changed": sorted((set(before) | set(published)) - kept),
        "shared": sorted(name for name, p in now.items() if p.untyped_storage().data_ptr() in storages),
        "frozen": sorted(name for name, p in now.items() if not p.requires_grad),
        "hf_frozen": sorted(name for name, p in hf_model.named_parameters() if not p.requires_grad),
        "not_leaves": sorted(name for name, p in now.items() if not p.is_leaf),
    }
"""

_FOUND = {  # what it means if `compare` finds any of these, and the mistake's name
    "added": ("`{}` is a parameter that the model did not have: copy into its own.", "parts_added"),
    "untied": ("`{}` and token_embedding.weight were one tensor and are two: training pulls them apart.", "untied"),
    "replaced": ("`{}` is a new object, but an optimizer has the old one: copy into that.", "parameters_replaced"),
    "hf_changed": ("hf_model is changed: its `{}` is different afterwards.", "hf_model_changed"),
    "shared": ("`{}` shares its memory with hf_model: training one changes the other. Copy values.", "memory_shared"),
    "frozen": ("`{}` cannot be trained after loading: its requires_grad is False.", "requires_grad_lost"),
    "hf_frozen": ("`{}` of hf_model cannot be trained afterwards: it lost requires_grad.", "hf_model_changed"),
    "not_leaves": ("`{}` remembers where it was copied from: copy under `torch.no_grad()`.", "not_a_leaf"),
}

_COMPLAINTS = {  # PyTorch's own errors, which look alike: what each usually means here, and the mistake's name
    "leaf Variable": ("Parameters cannot be changed while gradients are recorded: use no_grad().", "without_no_grad"),
    "must match the": ("Conv1D keeps its weight as [in, out], nn.Linear as [out, in].", ""),
    "loading state_dict": ("It needs each tensor under the model's name and in its shape.", "names_as_they_are"),
}

_THEIRS = re.findall(
    r"(\w+)=(\S+)",
    "token_embedding=wte position_embedding=wpe final_norm=ln_f lm_head=lm_head norm1=ln_1 norm2=ln_2 "
    "in_proj=attn.c_attn out_proj=attn.c_proj linear1=mlp.c_fc linear2=mlp.c_proj",
)


@lru_cache(64)  # holds all that are known; those drawn for a hand-in are used once
def _right(sizes: Sizes, dtype: str) -> tuple[dict, dict]:
    """Return what the parameters of a GPT should be, and what they are at the start."""
    torch.default_generator.manual_seed(0)
    model, read = define_in_judge(_GPT, "make")(own_model(sizes, dtype), dtype), define_in_judge(_LOOK, "read")
    start = read(model)
    load_gpt2_weights(model, own_model(sizes, dtype))
    return read(model), start


def _load(student: Student, sizes: Sizes, where: str = "", dtype: str = "float32") -> list[Kept]:
    """Return what was before, a GPT that has loaded, and Hugging Face's model, all in the student's process."""
    hf_model = their_model(student, sizes, dtype=dtype)
    pair = [student.call(student.probe("make", _GPT), [hf_model, dtype], keep=True)["value"], hf_model]
    memory = student.call(student.probe("remember", _LOOK), pair, keep=True)["value"]
    try:
        student.call("load_gpt2_weights", pair, where=where)
    except Problem as problem:
        if not problem.error:
            raise
        known = [words for words in _COMPLAINTS if words in problem.text]
        # for the record: errors of one type differ in what they are about
        student.note(" ".join([problem.error, *known, *sorted(set(re.findall(r"\d+", problem.text)))]))
        if not known:
            raise
        sentence, name = _COMPLAINTS[known[0]]
        raise Wrong(f"{problem} {sentence}", name) from None
    return [memory, *pair]


def _parameters(student: Student, model: Kept, like: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    got = student.value(student.probe("read", _LOOK), model)
    for name, right in like.items():
        if shape_of(got.get(name)) != right.shape:
            raise Wrong(f"After loading the model's `{name}` is missing, or of another shape.", "parts_lost")
    return {name: got[name] for name in like}


def _same_parameters(student: Student, model: Kept, sizes: Sizes, where: str = "", dtype: str = "float32") -> None:
    expected, start = _right(sizes, dtype)
    got = _parameters(student, model, expected)
    for name, right in expected.items():
        actual, published = got[name], next(published for part, published in _THEIRS if part in name)
        what = f"`{name}` (from {published}){where and ' '}{where}"
        if actual.dtype != right.dtype:
            same_tensor(actual, right, what)  # says so
        if close(actual, right):
            continue
        if close(actual, start[name]):
            raise ValuesDiffer(f"{what} is still what it was before: it is not loaded.", "not_loaded")
        if actual.dim() == 2 and actual.shape == actual.T.shape and close(actual.T.contiguous(), right):
            raise ValuesDiffer(f"{what} is transposed: a Conv1D keeps its weight as [in, out].", "not_transposed")
        if torch.allclose(actual.flatten().sort().values, right.flatten().sort().values, atol=1e-5):
            raise ValuesDiffer(f"{what} has the right numbers in wrong places.", "wrong_places")
        raise ValuesDiffer(f"{what} has not the right numbers: is it taken from the right layer?")


def _each(*which: int, dtype: str = "float32") -> CheckFunction:
    def check(student: Student) -> None:
        for sizes in (other_weights(_LOADED[number]) for number in which):
            with student.case():
                where = f"with {sizes.words}" if dtype == "float32" else f"in {dtype}"
                _, model, _ = _load(student, sizes, where, dtype)
                _same_parameters(student, model, sizes, where, dtype)

    return check


def _logits(student: Student) -> None:
    """Read the parameters and run them on this side: what the model answers by other means does not count."""
    for sizes in map(other_weights, (*_LOADED[:4], replace(_LOADED[3], seed=36, more=(UNTIED, RELU)))):
        with student.case():
            where = f"with {sizes.words}"
            _, model, _ = _load(student, sizes, where)
            ids = (normal(3, min(5, sizes.context)).abs() * 1000).long() % sizes.vocab
            twin = define_in_judge(_GPT, "make")(own_model(sizes)).eval()
            twin.load_state_dict(_parameters(student, model, twin.state_dict()))
            with torch.no_grad():
                expected, twins = own_model(sizes)(ids).logits, twin(ids)
            given = student.call(model, [ids], where=where, training=False)["value"]
            for got, whose in ((twins, "a GPT with these parameters"), (given, "the model itself")):
                logits = a_tensor(a_pair(got, "(logits, loss)")[0], f"The logits of {whose}")
                if logits.shape != expected.shape or logits.dtype != expected.dtype:
                    same_tensor(logits, expected, f"The logits of {whose}", where)
                if not torch.allclose(logits, expected, atol=1e-4, rtol=1e-4):
                    raise ValuesDiffer(f"The logits of {whose} are not Hugging Face's {where}.")


def _own(student: Student) -> None:
    for sizes in map(other_weights, _LOADED[:2]):
        with student.case():
            loaded = _load(student, sizes)
            seen = student.value(student.probe("compare", _LOOK), *loaded)
            _same_parameters(student, loaded[1], sizes)
            for found, (sentence, name) in _FOUND.items():
                if seen[found]:
                    raise Wrong(sentence.format(seen[found][0]), name)


def _refused(student: Student) -> None:
    for other, number, what in (
        ("n_layer", 3, "fewer layers than the model"),
        ("n_layer", 1, "more layers than the model"),
        ("n_inner", 20, "a narrower feed-forward network than the model"),
        ("n_positions", 12, "fewer positions than the model"),
        ("vocab_size", 14, "fewer tokens than the model"),
        ("n_positions", 9, "a single position, which copy_ would spread over all the model's,"),
    ):
        with student.case():
            known = replace(_LOADED[0], context=1, seed=37) if "single" in what else _LOADED[0]
            sizes = other_weights(known)
            _, model, hf_model = _load(student, sizes)
            with student.case():
                _same_parameters(student, model, sizes)
            built = student.call(student.probe("make", _GPT), [hf_model], {"other": {other: number}}, keep=True)
            with raises_error(f"An hf_model with {what}"):
                student.value("load_gpt2_weights", built["value"], hf_model)


EXERCISE = Exercise(
    Check("every parameter, for several configurations", 3.0, _each(0, 1, 4)),
    Check("the same logits as Hugging Face's model", 3.0, _logits, dependent=True),
    Check("the model's own parameters, tied and trainable as before; hf_model unchanged", 1.0, _own, dependent=True),
    Check("in float64, to the last digit", 0.5, _each(1, 0, dtype="float64"), dependent=True),
    Check("models of other sizes", 0.5, _refused, dependent=True),
    takes="other",
    gives="other",
    harmless=("other_signature", "global_generator"),
)
