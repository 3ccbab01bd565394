"""`save_as_gpt2`: each tensor and each setting of the two files, nothing overwritten, and the model as it was."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

import torch

from autograder.spec import (
    Check,
    Exercise,
    Kept,
    Problem,
    Student,
    ValuesDiffer,
    Wrong,
    close,
    dtype_name,
    provided_code_in,
    sentence_of,
    shape_name,
)

from . import saved_model
from .saved_model import CONFIG, FILES, FOLDER, MOST_BYTES, PLACE, WEIGHTS
from .small_models import RELU, UNTIED, Sizes, other_weights, own_model

_EPS, _HEAD, _TOKENS, _PREFIX = "layer_norm_epsilon", "lm_head.weight", "wte.weight", "transformer."
_SAVED = (
    Sizes(2, 2, 16, 9, vocab=13, seed=51),
    Sizes(3, 3, 12, 7, 11, 52, more=(UNTIED, ("activation_function", "gelu"), ("n_inner", 29), (_EPS, 0.03))),
    Sizes(2, 4, 24, 24, vocab=10, seed=53, more=(UNTIED, ("n_inner", 24))),  # square: nothing fails by its shape
    Sizes(11, 2, 4, 5, vocab=6, seed=54),  # more than ten layers: "10" comes before "2" in the alphabet
)
_SMALL = Sizes(1, 2, 8, 5, vocab=7, seed=55, more=(RELU,))

_GPT = f"""
import torch.nn.functional as F
{provided_code_in("10-hugging-face-gpt2")}

def make(settings):
    from transformers import GPT2Config

    return GPT(GPT2Config(bos_token_id=None, eos_token_id=None, **settings))
"""

_LOOK = """
def remember(model):
    parameters = dict(model.named_parameters(remove_duplicate=False))
    modes = [module.training for module in model.modules()]
    return parameters, {name: p.detach().clone() for name, p in parameters.items()}, modes

def compare(memory, model):
    before, numbers, modes = memory
    now = dict(model.named_parameters(remove_duplicate=False))
    return {
        "replaced": sorted(name for name in set(before) | set(now) if now.get(name) is not before.get(name)),
        "changed": sorted(name for name, p in before.items() if p.dtype != numbers[name].dtype
                          or p.shape != numbers[name].shape or not torch.equal(p, numbers[name])),
        "frozen": sorted(name for name, p in before.items() if not p.requires_grad),
        "mode": [module.training for module in model.modules()] != modes,
    }
"""

_PARTS = {  # of a block, by the names in the file; True: a Conv1D, whose matrix is transposed
    "ln_1": ("norm1.", False),
    "ln_2": ("norm2.", False),
    "attn.c_attn": ("self_attn.in_proj_", True),
    "attn.c_proj": ("self_attn.out_proj.", True),
    "mlp.c_fc": ("linear1.", True),
    "mlp.c_proj": ("linear2.", True),
}


def _names(layers: int) -> dict[str, tuple[str, bool]]:
    """Return the name in the GPT of each tensor of the file, and whether it is transposed there."""
    names = {_TOKENS: "token_embedding.weight", "wpe.weight": "position_embedding.weight", _HEAD: _HEAD}
    found = {name: (mine, False) for name, mine in names.items()}
    found |= {f"ln_f.{kind}": (f"final_norm.{kind}", False) for kind in ("weight", "bias")}
    for i in range(layers):
        for part, (mine, conv) in _PARTS.items():
            for kind in ("weight", "bias"):
                found[f"h.{i}.{part}.{kind}"] = f"blocks.{i}.{mine}{kind}", conv and kind == "weight"
    return found


@lru_cache(64)  # holds all that are known; those drawn for a hand-in are used once
def _right(sizes: Sizes) -> dict[str, torch.Tensor]:
    """Return the tensors that the file should have, those of a tied head left out."""
    state = {name.removeprefix(_PREFIX): tensor for name, tensor in own_model(sizes).state_dict().items()}
    return {name: state[name] for name in _names(sizes.layers) if UNTIED in sizes.more or name != _HEAD}


def _model(student: Student, sizes: Sizes) -> Kept:
    """Return a GPT in the student's process with known weights."""
    model = student.call(student.probe("make", _GPT), [sizes.settings], keep=True, record=False)["value"]
    right, names = _right(sizes), _names(sizes.layers)
    weights = {names[name][0]: tensor.T if names[name][1] else tensor for name, tensor in right.items()}
    student.load(model, weights)
    return model


@contextmanager
def _folder(student: Student, files: dict[str, str] | None, as_path: bool = False) -> Iterator[Any]:
    """Make a folder with these files in the student's process (or only its place, for None); remove it afterwards."""
    folder = student.call(student.probe("make", FOLDER), [files, as_path], keep=True, record=False)["value"]
    try:
        yield folder
    finally:
        with suppress(Problem):  # of a new process, if the answer ended the one that knows the folder
            student.call(student.probe("remove", FOLDER), [folder], record=False)


def _save(student: Student, model: Kept, folder: Any, where: str = "") -> Any:
    """Call the student's function, and return what is in the folder afterwards."""
    try:
        student.call("save_as_gpt2", [model, folder], where=where)
    except Problem as problem:
        _note_error(student, problem, "")
        plain = PLACE.sub("folder", str(problem))
        raise problem if plain == str(problem) else Wrong(plain, problem.symptom) from None
    return _content(student, folder)


def _content(student: Student, folder: Any) -> Any:
    return student.call(student.probe("read", FOLDER), [folder, list(FILES), MOST_BYTES], record=False)["value"]


def _note_error(student: Student, problem: Problem, found: str, kind: str = "") -> None:
    """Record an error without its text, which names a folder that is another one in each run."""
    if problem.error:
        known = [words for words in ("share memory", "non contiguous") if words in problem.text]  # save_file's own
        student.note(" ".join([kind or problem.error, found, *known]))
        student.last["problem"]["text"] = found


@contextmanager
def _noted(student: Student) -> Iterator[None]:
    """Record why a file cannot be used."""
    try:
        yield
    except Wrong as wrong:
        student.note(wrong.symptom or str(wrong))
        raise


def _same_tensor(got: torch.Tensor, right: torch.Tensor, name: str, mine: str, where: str) -> None:
    what = f"`{_PREFIX * (name != _HEAD)}{name}` (from {mine}){where and ' '}{where}"
    if got.dtype not in (torch.float32, torch.float64):
        raise Wrong(f"{what} is written in {dtype_name(got)}, not in float32 as the model has it.", "other_precision")
    if got.shape != right.shape:
        raise Wrong(f"{what} should have shape {shape_name(right)}, and has {shape_name(got)}.", "other_shape")
    if close(got, right):
        return
    if got.dim() == 2 and got.shape[0] == got.shape[1] and close(got.T.contiguous(), right):
        raise ValuesDiffer(f"{what} is the wrong way round.", "square_the_wrong_way_round")
    if torch.allclose(got.double(), right.double(), rtol=0.02, atol=0.02):
        raise ValuesDiffer(f"{what} is only roughly right: the numbers are rounded on the way.", "numbers_rounded")
    if torch.allclose(got.double().flatten().sort().values, right.double().flatten().sort().values, atol=1e-5):
        raise ValuesDiffer(f"{what} has the right numbers in wrong places.", "wrong_places")
    raise ValuesDiffer(f"{what} has not the right numbers: is it taken from the right layer?")


def _all_tensors(got: dict[str, torch.Tensor], sizes: Sizes, where: str) -> None:
    """Raise `Wrong` unless `transformers` finds each tensor among these. It ignores others."""
    right, names = _right(sizes), _names(sizes.layers)
    if _HEAD not in right and _HEAD in got:
        tokens = got.setdefault(_TOKENS, got[_HEAD])
        if not torch.equal(tokens, got[_HEAD]):
            what = "`lm_head.weight` has other numbers than `wte.weight`, and they are tied"
            raise Wrong(f"{what}: leave it out.", "head_differs")
    for name in right:
        if name not in got:
            full = f"`{_PREFIX * (name != _HEAD)}{name}`"
            raise Wrong(f"{full} is missing {where}: transformers would start it at random.", "name_missing")
    for name, tensor in right.items():
        _same_tensor(got[name], tensor, name, names[name][0], where)


def _weights(student: Student) -> None:
    for number, sizes in enumerate(map(other_weights, _SAVED)):
        with student.case(), _folder(student, {} if number % 2 else None, as_path=number > 1) as folder:
            where = f"with {sizes.words}"
            saved = _save(student, _model(student, sizes), folder, where)
            with _noted(student):
                found = saved_model.tensors(saved_model.content(saved, WEIGHTS))
                plain = {name.removeprefix(_PREFIX): tensor for name, tensor in found.items()}
                if len(plain) < len(found):
                    raise Wrong(f"A tensor is there twice {where}: with `{_PREFIX}` in front, and without.")
            known = {name: tensor for name, tensor in plain.items() if name in _names(sizes.layers)}
            others = len(plain) > len(known)
            twice = UNTIED not in sizes.more and {_HEAD, _TOKENS} <= known.keys()
            if twice and torch.equal(known[_HEAD], known[_TOKENS]):
                del known[_HEAD]  # tied, and written once more: it reads back as the same model
            student.note({"known": known, "others": others})
            _all_tensors(plain, sizes, where)


def _config(student: Student) -> None:
    for sizes in map(other_weights, (*_SAVED[:2], _SMALL)):
        with student.case(), _folder(student, {}) as folder:
            where = f"with {sizes.words}"
            saved = _save(student, _model(student, sizes), folder, where)
            with _noted(student):
                found = saved_model.settings(saved_model.content(saved, CONFIG))
            student.note(found)
            right = saved_model.DEFAULTS | sizes.settings
            right["n_inner"] = right["n_inner"] or 4 * sizes.width
            for name, value in right.items():
                if found[name] != value:
                    missing = found[name] == saved_model.DEFAULTS[name]
                    more = ": if it is missing, the published model's counts" if missing else ""
                    raise ValuesDiffer(f"`{name}` in config.json is not the model's {where}{more}.", f"other_{name}")
            if "dtype" in found:
                raise Wrong(f"`dtype` in config.json is {found['dtype']}: float32 is asked for.", "other_precision")


def _nothing_overwritten(student: Student) -> None:
    model = _model(student, other_weights(_SMALL))
    with student.case(), _folder(student, {"notes.txt": "mine"}) as folder:
        saved = _save(student, model, folder)
        with _noted(student):
            for name in FILES:
                saved_model.content(saved, name)
            left = saved_model.others(saved)
            if extra := [name for name in left if name != "notes.txt"]:
                raise Wrong(f"The folder has another new file afterwards: `{extra[0]}`.", "another_file")
            if not left:
                raise Wrong("A file that was in the folder before, `notes.txt`, is gone afterwards.", "folder_emptied")
        student.note("both files")
    for taken in ((CONFIG,), (WEIGHTS,), FILES):
        with student.case(), _folder(student, dict.fromkeys(taken, "mine")) as folder:
            _refused(student, model, folder, taken)


def _refused(student: Student, model: Kept, folder: Any, taken: Sequence[str]) -> None:
    error = None
    try:
        student.call("save_as_gpt2", [model, folder])
    except Problem as problem:
        if problem.error in ("", "NotImplementedError"):
            raise
        error = problem
    after = _content(student, folder)
    there = {name: _bytes_of(after, name) for name in FILES}
    kept = all(there[name] == b"mine" for name in taken)
    clean = all(there[name] is None for name in FILES if name not in taken)
    found = f"{'kept' if kept else 'overwritten'}, {'clean' if clean else 'written beside it'}"
    if error:
        _note_error(student, error, found, "FileExistsError" if error.is_a(FileExistsError) else "another error")
    else:
        student.note(found)
    what = f"If {' and '.join(f'`{name}`' for name in taken)} {'are' if len(taken) > 1 else 'is'} there already"
    if not kept:
        raise Wrong(f"{what}, your code writes over it: somebody's model is lost.", "overwritten")
    if error is None:
        raise Wrong(f"{what}, a FileExistsError is asked for; yours returned something.", "not_refused")
    if not error.is_a(FileExistsError):
        raise Wrong(f"{what}, a FileExistsError is asked for; yours raised {error.error}.", "other_error")
    if not clean:
        raise Wrong(f"{what}, the error should come before anything is written.", "error_too_late")


def _bytes_of(after: Any, name: str) -> bytes | None:
    """Return a file's bytes, or others if it cannot be read; None if there is no such file."""
    try:
        return saved_model.content(after, name)
    except Wrong as wrong:
        return None if wrong.symptom == "file_missing" else b"other"


_LEFT = {"replaced": "model_replaced", "changed": "model_changed", "frozen": "model_frozen", "mode": "mode_changed"}


def _model_kept(student: Student) -> None:
    for sizes in map(other_weights, (_SAVED[1], _SMALL)):
        with student.case(), _folder(student, None) as folder:
            model = _model(student, sizes)
            memory = student.call(student.probe("remember", _LOOK), [model], keep=True, record=False)["value"]
            saved = _save(student, model, folder)
            with _noted(student):
                for name in FILES:
                    saved_model.content(saved, name)
            student.note("both files")
            seen = student.value(student.probe("compare", _LOOK), memory, model)
            for found, name in _LEFT.items():
                if seen[found]:
                    raise Wrong(sentence_of("save_as_gpt2", name), name)


EXERCISE = Exercise(
    Check("every weight under its name, as GPT-2 keeps it", 2.0, _weights),
    Check("the settings in config.json", 1.0, _config),
    Check("nothing overwritten, and no other file", 0.5, _nothing_overwritten),
    Check("the model as it was", 0.5, _model_kept, dependent=True),
    takes="other",
    gives="other",
    harmless=("other_signature", "global_generator"),
)
