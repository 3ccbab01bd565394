"""Make small GPT-2s and tokenizers, the same here and in the student's process, and check functions that read them."""

import contextlib
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, NamedTuple

import torch

from autograder.spec import (
    CheckFunction,
    Kept,
    Student,
    Wrong,
    define_in_judge,
    device_is_kept,
    drawn,
    other_words,
    raises_error,
)

# Models and tokenizers cannot be sent: both sides make the same ones by the same formula.
_MODEL = """
def make(sizes, seed, dtype="float32", training=False, head=1.0, attention="sdpa"):
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(bos_token_id=None, eos_token_id=None, attn_implementation=attention, **sizes)
    model = GPT2LMHeadModel(config).to(getattr(torch, dtype))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            numbers = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            if parameter.dim() == 1 and not name.endswith("bias"):
                numbers = 1 + 0.3 * numbers
            else:
                numbers *= head if "lm_head" in name else 0.7 if "wte" in name or "wpe" in name else 0.4
            parameter.copy_(numbers)
    return model.train(training)
"""

# A byte-level tokenizer with some words of its own, the leading space included, as in GPT-2's.
_TOKENIZER = """
def make(words):
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import GPT2Tokenizer

    vocab, merges = {symbol: i for i, symbol in enumerate(sorted(ByteLevel.alphabet()))}, []
    for word in words.split():
        for end in range(1, len(word)):
            if word[: end + 1] not in vocab:
                merges.append((word[:end], word[end]))
                vocab[word[: end + 1]] = len(vocab)
    vocab["<|endoftext|>"] = len(vocab)
    return GPT2Tokenizer(vocab=vocab, merges=merges)
"""

_STATE = """
def look(model):
    parameters = dict(model.named_parameters())
    return {"lapses": {
        "model_changed": [p.detach().double().sum().item() for p in parameters.values()],
        "model_frozen": [name for name, p in parameters.items() if not p.requires_grad],
        "gradients_left": [name for name, p in parameters.items() if p.grad is not None],
        "mode_not_restored": [module.training for module in model.modules()],
    }}
"""

_WORDS = "ĠThe The Ġthe Ġdog Ġit Ġwas Ġdrinks Ġwater Ġbecause Ġthirsty Ġbirds Ġsing ĠÃ©"


@cache
def own_tokenizer() -> Any:
    return define_in_judge(_TOKENIZER, "make")(_WORDS)


@dataclass(frozen=True)
class Sizes:
    """A GPT2Config, and the seed of its weights. `head` is the scale of an untied output matrix."""

    layers: int
    heads: int
    width: int
    context: int
    vocab: int = 0  # 0: that of the tokenizer
    seed: int = 0
    head: float = 1.0
    more: tuple = ()  # further settings, as pairs

    @property
    def settings(self) -> dict:
        sizes = {"n_layer": self.layers, "n_head": self.heads, "n_embd": self.width, "n_positions": self.context}
        return sizes | {"vocab_size": self.vocab or len(own_tokenizer())} | dict(self.more)

    @property
    def words(self) -> str:
        names = {"activation_function": "activation", "tie_word_embeddings": "tied"}
        text = f"L = {self.layers}, H = {self.heads}, C = {self.width}"
        return text + "".join(f", {names.get(name, name)} = {value}" for name, value in self.more)


def other_weights(sizes: Sizes) -> Sizes:
    """Return a model of these sizes with other weights, while inputs are drawn for a hand-in."""
    return drawn(sizes, lambda rng: replace(sizes, seed=rng.getrandbits(32)))


UNTIED, RELU = ("tie_word_embeddings", False), ("activation_function", "relu")
DROPOUT = (("resid_pdrop", 0.5), ("embd_pdrop", 0.5), ("attn_pdrop", 0.5))

READERS = (
    Sizes(2, 2, 16, 24, seed=1),
    Sizes(3, 3, 12, 30, seed=2, more=(UNTIED, RELU)),
    Sizes(1, 1, 8, 20, seed=3, more=(("n_inner", 11),)),
)
DOG = "The dog drinks water because it was"


def their_model(student: Student, sizes: Sizes, **options: Any) -> Kept:
    args = [sizes.settings, sizes.seed]
    return student.call(student.probe("make", _MODEL), args, {"head": sizes.head} | options, keep=True)["value"]


def their_tokenizer(student: Student) -> Kept:
    return student.call(student.probe("make", _TOKENIZER), [_WORDS], keep=True)["value"]


@lru_cache(64)  # holds all that are known; those drawn for a hand-in are used once
def own_model(sizes: Sizes, dtype: str = "float32") -> Any:
    """Return the same model on this side, in eval mode and with attention that keeps its weights."""
    return define_in_judge(_MODEL, "make")(sizes.settings, sizes.seed, dtype, head=sizes.head, attention="eager")


def ids_of(text: str) -> torch.Tensor:
    return torch.tensor(own_tokenizer()(text).input_ids)


@lru_cache(64)
def own_logits(sizes: Sizes, text: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what the model on this side says in float64, [T, V], and the ids of the text."""
    ids = ids_of(text)
    with torch.no_grad():
        return own_model(sizes, "float64")(ids[None]).logits[0], ids


def forms_of(token_id: int) -> set[str]:
    """Return a token as a string, in all the ways in which tokenizers give it."""
    tokenizer = own_tokenizer()
    raw = tokenizer.convert_ids_to_tokens(token_id)
    decoded = [tokenizer.decode([token_id], skip_special_tokens=skip) for skip in (False, True)]
    return {raw, raw.replace("Ġ", " "), *decoded}


@cache
def _spelling() -> dict[str, str]:
    """Return one way of writing each token, for all the ways there are: " dog" for "Ġdog"."""
    return {form: own_tokenizer().decode([i]) for i in range(len(own_tokenizer()) - 1) for form in forms_of(i)}


def note_tolerantly(student: Student, value: Any) -> None:
    """Keep an answer on record with its tokens in one spelling, and numbers as tensors: those may differ a little."""
    named = type(value) is tuple and len(value) == 2 and isinstance(value[1], torch.Tensor)  # rows with their names
    student.note(_tolerant(value, spaces=not named))


def _tolerant(value: Any, spaces: bool) -> Any:
    if type(value) is float:
        number = torch.tensor(value)
        number.was_differentiable = False  # type: ignore[attr-defined]  # as if it had come over the wire
        return ("float", number)
    if type(value) is str:
        token = _spelling().get(value, value)
        return token if spaces else token.strip()
    if type(value) in (list, tuple):
        return type(value)(_tolerant(item, spaces) for item in value)
    return {key: _tolerant(item, spaces) for key, item in value.items()} if isinstance(value, dict) else value


def number_of(value: Any) -> float | None:
    """Return a number, however it is wrapped; whether it is a plain float has a check of its own."""
    if isinstance(value, torch.Tensor) and value.numel() == 1 and value.device.type != "meta":
        value = value.item()
    return float(value) if type(value) in (int, float) else None


def near(got: float, expected: float, relative: float = 2e-4) -> bool:
    return math.isfinite(got) and abs(got - expected) <= relative * abs(expected) + 1e-7


class Case(NamedTuple):
    """A text for a model of these sizes. `said` is where that is, if the text does not say it."""

    sizes: Sizes
    text: str
    message: str = ""
    k: int | None = None

    @property
    def where(self) -> str:
        return self.message or f'for "{self.text}"' + (f", k = {self.k}" if self.k else "")


def other_case(known: Case, clear: Callable[[Case], bool] = lambda _: True) -> Case:
    """Return a case with other words and weights for which `clear` holds, while inputs are drawn for a hand-in."""

    def draw(_: random.Random) -> Case:
        while True:
            case = known._replace(sizes=other_weights(known.sizes), text=other_words(known.text))
            if clear(case):
                return case

    return drawn(known, draw)


Same = Callable[[Any, Case], None]  # compares a value with the one that is right in this case


def called_on(student: Student, name: str, case: Case, model: Kept | None = None, *more: Any) -> Any:
    """Return what a function says of a text, noted for the record."""
    tokenizer = their_tokenizer(student)
    args = [model or their_model(student, case.sizes), tokenizer, case.text, *more]
    value = student.call(name, args, {"k": case.k} if case.k and not more else {}, case.where)["value"]
    note_tolerantly(student, value)
    return value


def reads(name: str, same: Same, *cases: Case, clear: Callable[[Case], bool] = lambda _: True) -> CheckFunction:
    """Make a check: in each of these cases the result is the `same`; `clear` holds for drawn ones."""

    def check(student: Student) -> None:
        for known in cases:
            with student.case():
                case = other_case(known, clear)
                same(called_on(student, name, case), case)

    return check


def refuses(student: Student, name: str, sizes: Sizes, *bad: tuple[str, str]) -> None:
    """Ask for a ValueError for each of these texts; with it stands what is bad about it."""
    for text, what in bad:
        with student.case(), raises_error(what):
            called_on(student, name, Case(sizes, text))


_LEFT = {  # what `look` finds otherwise than it was
    "model_changed": "The model's weights are different afterwards: reading a model must not change it.",
    "model_frozen": "The model cannot be trained afterwards: its parameters lost requires_grad.",
    "gradients_left": "The model's parameters have gradients afterwards: nothing is trained here.",
    "mode_not_restored": "The mode is changed: keep `model.training`, end with `model.train(kept)`.",
}


@contextlib.contextmanager
def left_as_it_was(student: Student, model: Kept) -> Iterator[None]:
    """Raise `Wrong` if what is done in this block changes the model, whatever else is wrong in it."""
    look = student.probe("look", _STATE)
    before = student.value(look, model)["lapses"]
    try:
        yield
    finally:
        with student.case():
            after = student.value(look, model)["lapses"]
            for name, sentence in _LEFT.items():
                if after[name] != before[name]:
                    raise Wrong(sentence, name)


def side_effects(name: str, same: Same, sizes: Sizes) -> CheckFunction:
    """Make a check: however the model is built, the result is the `same`, on any device, and the model is as it was."""

    def check(student: Student) -> None:
        options: dict[str, Any]
        drawn_anyway = False  # in eval mode, too
        for options, how in (
            ({"dtype": "float64"}, "in float64"),
            ({"training": True}, "in training mode"),
            ({"training": False}, "in eval mode"),
            ({"attention": "eager"}, "with eager attention from the start"),
        ):
            with student.case():
                case = other_case(Case(sizes, DOG, f"with a model {how}"))
                model = their_model(student, case.sizes, **options)
                with left_as_it_was(student, model):
                    got, moved = called_on(student, name, case, model), student.last.get("rng_moved")
                    drawn_anyway |= bool(moved) and not options.get("training")
                    try:
                        same(got, case)
                    except Wrong:
                        if moved and not drawn_anyway:  # dropout draws from the global generator
                            what = "With a model in training mode the result depends on chance: dropout is on"
                            raise Wrong(f"{what}. Call `model.eval()` first.", "dropout_left_on") from None
                        raise
        with student.case():
            try:
                device_is_kept(student, name, [their_model(student, sizes), their_tokenizer(student), DOG])
            except Wrong as wrong:
                if wrong.symptom != "device_not_kept":
                    raise
                what = "The model is on another device than the ids: the tokenizer's tensors are on the CPU. Move"
                hint = "them to `model.device`, or nothing works on a GPU."
                raise Wrong(f"{what} {hint}", wrong.symptom) from None
            finally:
                if "value" in student.last:
                    note_tolerantly(student, student.last["value"])

    return check
