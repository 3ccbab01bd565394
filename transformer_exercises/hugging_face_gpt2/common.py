"""What the checks of this notebook share."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from autograder.spec.exercise import Problem, Wrong
from autograder.spec.inputs import define_in_judge
from autograder.spec.student import Kept, Student

# Models and tokenizers cannot be sent: both sides make the same ones by the same formula.
MODEL = """
def make(sizes, seed, dtype="float32", device="cpu", training=False, head=1.0):
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(bos_token_id=None, eos_token_id=None, **sizes)).to(getattr(torch, dtype))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            numbers = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            if name.endswith("bias"):
                numbers = 0.4 * numbers
            elif parameter.dim() == 1:
                numbers = 1 + 0.3 * numbers
            else:
                numbers = (head if "lm_head" in name else 0.7 if "wte" in name or "wpe" in name else 0.4) * numbers
            parameter.copy_(numbers)

    def same_device(table, inputs):  # what a GPU would say
        if inputs[0].device != table.weight.device:
            raise RuntimeError("Expected all tensors to be on the same device: the ids are not where the model is")

    model.transformer.wte.register_forward_pre_hook(same_device)
    return model.to(device).train(training)
"""

# A byte-level tokenizer with some words of its own, the leading space included, as in GPT-2's.
_TOKENIZER = """
def make(words):
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import GPT2Tokenizer

    vocab, merges = {symbol: i for i, symbol in enumerate(sorted(ByteLevel.alphabet()))}, []
    for word in words:
        for end in range(1, len(word)):
            if word[: end + 1] not in vocab:
                merges.append((word[:end], word[end]))
                vocab[word[: end + 1]] = len(vocab)
    vocab["<|endoftext|>"] = len(vocab)
    return GPT2Tokenizer(vocab=vocab, merges=merges)
"""

STATE_OF_MODEL = """
def look(model):
    parameters = dict(model.named_parameters())
    return {
        "training": [module.training for module in model.modules()],
        "numbers": [p.detach().double().sum().item() for p in parameters.values()],
        "frozen": [name for name, p in parameters.items() if not p.requires_grad],
        "gradients": [name for name, p in parameters.items() if p.grad is not None],
    }
"""

_WORDS = "ĠThe The Ġthe Ġdog Ġit Ġwas Ġdrinks Ġwater Ġbecause Ġthirsty Ġbirds Ġsing Ġé".replace("é", "Ã©").split()


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
        return text + "".join(f", {names.get(name, name)} = {value}" for name, value in self.more if "drop" not in name)


UNTIED = ("tie_word_embeddings", False)

DROPOUT = (("resid_pdrop", 0.5), ("embd_pdrop", 0.5), ("attn_pdrop", 0.5))


def their_model(student: Student, sizes: Sizes, **options: Any) -> Kept:
    """A model in the student's process."""
    args = [sizes.settings, sizes.seed]
    return student.call(student.probe("make", MODEL), args, {"head": sizes.head} | options, keep=True)["value"]


@cache
def own_model(sizes: Sizes, dtype: str = "float32") -> Any:
    """The same model on this side, in eval mode and with attention that keeps its weights."""
    model = define_in_judge(MODEL, "make")(sizes.settings, sizes.seed, dtype, head=sizes.head)
    model.set_attn_implementation("eager")
    return model


def their_tokenizer(student: Student) -> Kept:
    return student.call(student.probe("make", _TOKENIZER), [_WORDS], keep=True)["value"]


def forms_of(token_id: int) -> set[str]:
    """A token as a string, in all the ways in which tokenizers give it."""
    tokenizer = own_tokenizer()
    raw = tokenizer.convert_ids_to_tokens(token_id)
    return {
        raw,
        raw.replace("Ġ", " "),
        tokenizer.decode([token_id]),
        tokenizer.decode([token_id], skip_special_tokens=True),
    }


@cache
def _spelling() -> dict[str, str]:
    """One way of writing each token, for all the ways there are: " dog" for "Ġdog"."""
    return {form: own_tokenizer().decode([i]) for i in range(len(own_tokenizer()) - 1) for form in forms_of(i)}


def note_tolerantly(student: Student, value: Any) -> None:
    """Keep an answer on record with its tokens in one spelling, and numbers as tensors: those may differ a little."""
    named = type(value) is tuple and len(value) == 2 and type(value[0]) in (list, tuple)
    if named and isinstance(value[1], torch.Tensor):  # rows and their names, in which spaces do not matter
        tokens = [_tolerant(token) for token in value[0]]
        value = ([token.strip() if type(token) is str else token for token in tokens], value[1])
    student.note(_tolerant(value))


def _tolerant(value: Any) -> Any:
    if type(value) is float:
        number = torch.tensor(value)
        number.was_differentiable = False  # type: ignore[attr-defined]  # as if it had come over the wire
        return ("float", number)
    if type(value) is str:
        return _spelling().get(value, value)
    if type(value) in (list, tuple):
        return type(value)(_tolerant(item) for item in value)
    return {key: _tolerant(item) for key, item in value.items()} if isinstance(value, dict) else value


def number_of(value: Any) -> float | None:
    """A number, however it is wrapped; whether it is a plain float has a check of its own."""
    if isinstance(value, torch.Tensor) and value.numel() == 1 and value.device.type != "meta":
        value = value.item()
    return float(value) if type(value) in (int, float) else None


def near(got: float, expected: float, relative: float = 2e-4) -> bool:
    return math.isfinite(got) and abs(got - expected) <= relative * abs(expected) + 1e-7


def asked(student: Student, name: str, args: list, kwargs: dict | None = None, where: str = "") -> Any:
    """The value of a call, noted for the record."""
    value = student.call(name, args, kwargs, where=where)["value"]
    note_tolerantly(student, value)
    return value


def left_as_it_was(student: Student, model: Any, before: dict) -> None:
    after = student.value(student.probe("look", STATE_OF_MODEL), model)
    if after["numbers"] != before["numbers"]:
        raise Wrong(
            "The model's weights are different afterwards: reading a model must not change it.", "model_changed"
        )
    if after["frozen"] != before["frozen"]:
        raise Wrong("The model cannot be trained afterwards: its parameters lost requires_grad.", "model_frozen")
    if after["gradients"]:
        raise Wrong("The model's parameters have gradients afterwards: nothing is trained here.", "gradients_left")
    if after["training"] != before["training"]:
        mode = "training" if before["training"][0] else "eval"
        raise Wrong(
            f"The model came in {mode} mode and is in another one afterwards: remember `model.training`, and end with "
            "`model.train(was_training)`.",
            "mode_not_restored",
        )


def manners(student: Student, name: str, args: list, same: Callable[[Any, str], None], sizes: Sizes) -> None:
    """In float64, in either mode, on any device: the same result, and the model is left as it was."""
    with student.case():
        same(asked(student, name, [their_model(student, sizes, dtype="float64"), *args]), "with a model in float64")
    for training in (True, False):
        with student.case():
            model = their_model(student, sizes, training=training)
            before = student.value(student.probe("look", STATE_OF_MODEL), model)
            answer = student.call(name, [model, *args])
            note_tolerantly(student, answer["value"])
            try:
                same(answer["value"], "with a model in training mode" if training else "with a model in eval mode")
            except Wrong:
                if answer["rng_moved"] and training:  # dropout draws from the global generator
                    raise Wrong(
                        "With a model in training mode the result depends on chance: dropout is on. Call "
                        "`model.eval()` first.",
                        "dropout_left_on",
                    ) from None
                raise
            left_as_it_was(student, model, before)
    with student.case():
        model = their_model(student, sizes, device="meta")  # stands for a GPU; numbers cannot be read from it
        try:
            student.call(name, [model, *args])
        except Problem as problem:
            if "Expected all tensors" in problem.text:
                raise Wrong(
                    "The model is on another device than the ids: the tokenizer's tensors are on the CPU. Move them to "
                    "`model.device`, or nothing works on a GPU.",
                    "device_not_kept",
                ) from None


NOTHING = "Nothing is returned (None): end with `return`, not with `print` or an assignment."

READERS = (
    Sizes(2, 2, 16, 24, seed=1),
    Sizes(3, 3, 12, 30, seed=2, more=(UNTIED, ("activation_function", "relu"))),
    Sizes(1, 1, 8, 20, seed=3, more=(("n_inner", 11),)),
)

DOG = "The dog drinks water because it was"
