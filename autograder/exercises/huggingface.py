"""Notebook 10: the published GPT-2 behind Hugging Face's interface, and its weights in an architecture of one's own."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from ..asked.compare import a_pair, a_tensor, close, dtype_name, kind, same_tensor
from ..asked.declare import Alternative, Check, Exercise, Mistake, Question, Wrong, edited, source_of, written
from ..asked.inputs import normal

# --- given ------------------------------------------------------------------------------------------------------------


class GPT(nn.Module):
    """Notebook 09's GPT, with its attribute names, for the sizes in a GPT2Config. Made of PyTorch's own parts."""

    def __init__(self, config):
        super().__init__()
        if not config.scale_attn_weights or config.scale_attn_by_inverse_layer_idx or config.add_cross_attention:
            raise ValueError("config asks for attention that nn.TransformerEncoderLayer does not have")
        tanh_gelu = partial(F.gelu, approximate="tanh")  # the published model's: Hugging Face calls it "gelu_new"
        activations = {
            "gelu_new": tanh_gelu,
            "gelu_pytorch_tanh": tanh_gelu,
            "gelu": F.gelu,
            "relu": F.relu,
            "silu": F.silu,
        }
        self.config = config
        C = config.n_embd
        self.token_embedding = nn.Embedding(config.vocab_size, C)
        self.position_embedding = nn.Embedding(config.n_positions, C)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(
                d_model=C,
                nhead=config.n_head,
                dim_feedforward=config.n_inner or 4 * C,
                dropout=0.0,
                activation=activations[config.activation_function],
                layer_norm_eps=config.layer_norm_epsilon,
                batch_first=True,
                norm_first=True,
            )
            for _ in range(config.n_layer)
        )
        self.final_norm = nn.LayerNorm(C, eps=config.layer_norm_epsilon)
        self.lm_head = nn.Linear(C, config.vocab_size, bias=False)
        if config.tie_word_embeddings:
            self.lm_head.weight = self.token_embedding.weight  # one tensor, used twice

    def forward(self, ids, targets=None):
        T = ids.shape[1]
        if self.config.n_positions < T:
            raise ValueError(f"ids has {T} positions, more than n_positions = {self.config.n_positions}")
        positions = torch.arange(T, device=ids.device)  # (T,)
        x = self.token_embedding(ids) + self.position_embedding(positions)  # (B, T, C) + (T, C)
        future = torch.ones(T, T, dtype=torch.bool, device=ids.device).triu(diagonal=1)  # (T, T), True = blocked
        for block in self.blocks:
            x = block(x, src_mask=future, is_causal=True)  # (B, T, C)
        logits = self.lm_head(self.final_norm(x))  # (B, T, V)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())  # (B T, V) against (B T,)


GIVEN = "from functools import partial\n\n\n" + source_of(GPT)  # the notebook has it in a locked cell


# --- references -------------------------------------------------------------------------------------------------------


def describe_model(model):
    """The sizes of a GPT-2 of Hugging Face's, as a dict of ints.

    Keys: parameters (a matrix that two layers share counts once), vocab_size, context (the most tokens it can read),
    layers, heads (of each layer), d_model (width of the residual stream), head_dim (width of one head).
    Source: Radford et al. 2019, table 2. Example: the published "gpt2" has 12 layers of 12 heads, d_model 768,
    so head_dim 64.
    """
    config = model.config
    return {
        "parameters": sum(p.numel() for p in model.parameters()),  # parameters() gives a shared matrix only once
        "vocab_size": config.vocab_size,
        "context": config.n_positions,
        "layers": config.n_layer,
        "heads": config.n_head,
        "d_model": config.n_embd,
        "head_dim": config.n_embd // config.n_head,
    }


def top_next_tokens(model, tokenizer, prompt, k=10):
    """The k likeliest next tokens after the prompt: a list of pairs (token, probability), the likeliest first.

    token: a str as tokenizer.decode gives it, its leading space included; probability: a float.
    The model is in eval mode meanwhile, and in its earlier mode afterwards. A prompt without tokens is a ValueError.
    Example: top_next_tokens(model, tokenizer, "Once upon a", k=1) might give [(" time", 0.93)]
    """
    ids = tokenizer(prompt, return_tensors="pt").input_ids.to(model.device)  # (1, T)
    if ids.shape[1] == 0:
        raise ValueError("prompt has no tokens, so there is nothing to continue")

    was_training = model.training
    model.eval()  # no dropout
    with torch.no_grad():
        logits = model(ids).logits  # (1, T, V): a prediction after every token
    model.train(was_training)

    probs = torch.softmax(logits[0, -1], dim=-1)  # (V,): after the last token only
    best = probs.topk(k)  # sorted, the largest first
    return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)]


def text_perplexity(model, tokenizer, text):
    """The perplexity of a text: exp of the mean negative log probability of its tokens 2..N, each given those before.

    Nothing predicts token 1, so fewer than two tokens are a ValueError; more than the model can read are one too.
    The model is in eval mode meanwhile, and in its earlier mode afterwards. Returns a float.
    Example: three tokens, the second predicted with probability 1/2, the third with 1/8 -> √(2 · 8) = 4
    """
    ids = tokenizer(text, return_tensors="pt").input_ids.to(model.device)  # (1, N)
    N, context = ids.shape[1], model.config.n_positions
    if not 2 <= N <= context:
        raise ValueError(f"text has {N} tokens; from 2 to {context} are needed")

    was_training = model.training
    model.eval()  # no dropout
    with torch.no_grad():
        logits = model(ids).logits  # (1, N, V)
    model.train(was_training)

    predicted, targets = logits[0, :-1], ids[0, 1:]  # (N - 1, V) and (N - 1,): position i predicts token i + 1
    return F.cross_entropy(predicted, targets).exp().item()


def load_gpt2_weights(model, hf_model):
    """Copy the weights of Hugging Face's GPT-2 into a GPT of the same sizes, so that both give the same logits.

    model: GPT, changed in place (its parameters stay the same objects); hf_model: GPT2LMHeadModel, unchanged.
    A Conv1D of theirs computes x W + b with W [in, out]; nn.Linear keeps the transpose, [out, in].
    c_attn has queries, keys and values side by side, [C, 3C]; in_proj_weight has them stacked, [3C, C].
    Returns nothing. An hf_model of other sizes than the model's is a ValueError.
    """
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


def attention_maps(model, tokenizer, text):
    """The tokens of a text, and how every head weighs them: (tokens, weights).

    tokens: list of T str; weights: [L, H, T, T], row t of a map says where position t looks (it sums to 1).
    The model is in eval mode meanwhile, and in its earlier mode afterwards. A text without tokens is a ValueError.
    Example: the first row of every map is 1 0 0 …: the first token can only look at itself
    """
    ids = tokenizer(text, return_tensors="pt").input_ids.to(model.device)  # (1, T)
    if ids.shape[1] == 0:
        raise ValueError("text has no tokens")

    was_training, implementation = model.training, model.config._attn_implementation
    model.eval()  # no dropout: with it, rows would not sum to 1
    model.set_attn_implementation("eager")  # the default, "sdpa", is faster because it never keeps the weights
    with torch.no_grad():
        attentions = model(ids, output_attentions=True).attentions  # L times (1, H, T, T)
    model.set_attn_implementation(implementation)
    model.train(was_training)

    weights = torch.cat(attentions)  # (L, H, T, T): each layer is a batch of 1
    return [tokenizer.decode([i]) for i in ids[0].tolist()], weights


# --- how mistakes are written down, and what the checks share ---------------------------------------------------------

NOTEBOOK = "10-hugging-face-gpt2"

Coding = str | tuple[str, str] | list[tuple[str, str]]


def _coded(reference: Any, coding: Coding) -> str:
    """The source of another version: one edit of the reference, a list of edits, a new body, or a whole definition."""
    if not isinstance(coding, str):
        return edited(reference, *(coding if isinstance(coding, list) else [coding]))
    coding = textwrap.dedent(coding).strip()
    if re.search(rf"^def {reference.__name__}\b", coding, re.MULTILINE):
        return written(coding)
    return written(f"{source_of(reference).splitlines()[0]}\n" + textwrap.indent(coding, "    "))


def _mistakes(reference: Any, *rows: tuple) -> list[Mistake]:
    """A table of mistakes. Each row: the name, the sentence, and one or more codings."""
    return [
        Mistake(name, sentence, _coded(reference, first), tuple(_coded(reference, other) for other in others))
        for name, sentence, first, *others in rows
    ]


def _alternatives(reference: Any, **codings: Coding) -> list[Alternative]:
    return [Alternative(name, _coded(reference, coding)) for name, coding in codings.items()]


# Models and tokenizers cannot be sent: both sides make the same ones by the same formula.
_MODEL = """
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

_STATE_OF_MODEL = """
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


def _here(source: str, name: str) -> Any:
    """A probe, as a function of this process."""
    scope: dict[str, Any] = {"torch": torch, "nn": nn}
    exec(source, scope)
    return scope[name]


@cache
def _tokenizer() -> Any:
    return _here(_TOKENIZER, "make")(_WORDS)


@dataclass(frozen=True)
class _Sizes:
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
        return sizes | {"vocab_size": self.vocab or len(_tokenizer())} | dict(self.more)

    @property
    def words(self) -> str:
        names = {"activation_function": "activation", "tie_word_embeddings": "tied"}
        text = f"L = {self.layers}, H = {self.heads}, C = {self.width}"
        return text + "".join(f", {names.get(name, name)} = {value}" for name, value in self.more if "drop" not in name)


UNTIED = ("tie_word_embeddings", False)
DROPOUT = (("resid_pdrop", 0.5), ("embd_pdrop", 0.5), ("attn_pdrop", 0.5))


def _model(student: Any, sizes: _Sizes, **options: Any) -> Any:
    """A model in the student's process."""
    args = [sizes.settings, sizes.seed]
    return student.call(student.probe("make", _MODEL), args, {"head": sizes.head} | options, keep=True)["value"]


@cache
def _own(sizes: _Sizes, dtype: str = "float32") -> Any:
    """The same model on this side, in eval mode and with attention that keeps its weights."""
    model = _here(_MODEL, "make")(sizes.settings, sizes.seed, dtype, head=sizes.head)
    model.set_attn_implementation("eager")
    return model


def _their_tokenizer(student: Any) -> Any:
    return student.call(student.probe("make", _TOKENIZER), [_WORDS], keep=True)["value"]


def _forms(token_id: int) -> set[str]:
    """A token as a string, in all the ways in which tokenizers give it."""
    tokenizer = _tokenizer()
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
    return {form: _tokenizer().decode([i]) for i in range(len(_tokenizer()) - 1) for form in _forms(i)}


def _noted(student: Any, value: Any) -> None:
    """What was answered, for the record: numbers as tensors, which are compared with a tolerance, tokens in one spelling."""
    if (
        type(value) is tuple
        and len(value) == 2
        and type(value[0]) in (list, tuple)
        and isinstance(value[1], torch.Tensor)
    ):
        tokens = [_tolerant(token) for token in value[0]]  # names of rows: spaces do not matter
        value = ([token.strip() if type(token) is str else token for token in tokens], value[1])
    list(student.record.values())[-1][-1]["value"] = _tolerant(value)


def _tolerant(value: Any) -> Any:
    if type(value) is float:
        number = torch.tensor(value)
        number.was_differentiable = False
        return ("float", number)
    if type(value) is str:
        return _spelling().get(value, value)
    if type(value) in (list, tuple):
        return type(value)(_tolerant(item) for item in value)
    return {key: _tolerant(item) for key, item in value.items()} if isinstance(value, dict) else value


def _number(value: Any) -> float | None:
    """A number, however it is wrapped; whether it is a plain float has a check of its own."""
    if isinstance(value, torch.Tensor) and value.numel() == 1 and value.device.type != "meta":
        value = value.item()
    return float(value) if type(value) in (int, float) else None


def _near(got: float, expected: float, relative: float = 2e-4) -> bool:
    return math.isfinite(got) and abs(got - expected) <= relative * abs(expected) + 1e-7


def _asked(student: Any, name: str, args: list, kwargs: dict | None = None, where: str = "") -> Any:
    """The value of a call, noted for the record."""
    value = student.call(name, args, kwargs, where=where)["value"]
    _noted(student, value)
    return value


def _refused(student: Any, name: str, args: list, what: str) -> None:
    """A ValueError, and no other error, for bad input."""
    try:
        _asked(student, name, args)
    except Wrong as wrong:
        facts = getattr(wrong, "facts", {})
        if facts.get("kind") != "raised" or facts.get("type") == "NotImplementedError":
            raise
        if facts.get("type") != "ValueError":
            raise Wrong(
                f"{what} should raise a ValueError that names the argument; yours raised {facts.get('type')}.",
                "error_of_another_type",
            ) from None
    else:
        raise Wrong(f"{what} should raise a ValueError; yours returned something.", "bad_input_accepted")


def _left_as_it_was(student: Any, model: Any, before: dict) -> None:
    after = student.value(student.probe("look", _STATE_OF_MODEL), model)
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


def _manners(student: Any, name: str, args: list, same: Callable[[Any, str], None], sizes: _Sizes) -> None:
    """In float64, in either mode, on any device: the same result, and the model is left as it was."""
    with student.case():
        same(_asked(student, name, [_model(student, sizes, dtype="float64"), *args]), "with a model in float64")
    for training in (True, False):
        with student.case():
            model = _model(student, sizes, training=training)
            before = student.value(student.probe("look", _STATE_OF_MODEL), model)
            answer = student.call(name, [model, *args])
            _noted(student, answer["value"])
            try:
                same(answer["value"], "with a model in training mode" if training else "with a model in eval mode")
            except Wrong:
                if answer["rng_moved"] and training:  # dropout draws from the global generator
                    raise Wrong(
                        "With a model in training mode the result depends on chance: dropout is on. Call `model.eval()` first.",
                        "dropout_left_on",
                    ) from None
                raise
            _left_as_it_was(student, model, before)
    with student.case():
        model = _model(student, sizes, device="meta")  # stands for a GPU; numbers cannot be read from it
        try:
            student.call(name, [model, *args])
        except Wrong as wrong:
            if "Expected all tensors" in str(getattr(wrong, "facts", {}).get("text", "")):
                raise Wrong(
                    "The model is on another device than the ids: the tokenizer's tensors are on the CPU. Move them to "
                    "`model.device`, or nothing works on a GPU.",
                    "device_not_kept",
                ) from None


_NOTHING = "Nothing is returned (None): end with `return`, not with `print` or an assignment."
_DROPOUT = "Dropout is on when the model comes in training mode, so the result is another one each time: call `model.eval()` first."
_RESTORE = (
    "The model is put into eval mode and left there: remember `model.training` and end with `model.train(was_training)`. Whoever was "
    "training it would go on without dropout and never notice."
)
_DEVICE = "The ids stay on the CPU: move them with `.to(model.device)`, or the function fails as soon as the model is on a GPU."


# --- describe_model ---------------------------------------------------------------------------------------------------

_BUFFER = """
def add(model):
    model.register_buffer("causal_mask", torch.ones(7, 7))
    model.transformer.wpe.requires_grad_(False)
"""

_DESCRIBED = (
    _Sizes(3, 2, 16, 24, vocab=59),
    _Sizes(2, 5, 20, 9, vocab=31, more=(UNTIED, ("n_inner", 13))),
    _Sizes(1, 1, 6, 40, vocab=77),
    _Sizes(7, 4, 8, 12, vocab=10, more=(("n_inner", 19),)),
)


def _describe(student: Any, model: Any, where: str) -> dict:
    got = student.value("describe_model", model, where=where)
    _noted(student, got)
    if not isinstance(got, dict):
        raise Wrong(f"It should return a dict; yours returned {kind(got)}.")
    return got


def _described(key: str, got: dict, expected: dict, where: str) -> None:
    if key not in got:
        raise Wrong(f'The dict has no key "{key}": the names are part of the task.', "key_missing")
    number = _number(got[key])
    if number is None:
        raise Wrong(f'"{key}" should be a whole number; yours is {kind(got[key])}.')
    if number != expected[key]:
        raise Wrong(f'"{key}" is too {"large" if number > expected[key] else "small"} {where}.')


def _described_sizes(student: Any) -> None:
    for sizes in _DESCRIBED:
        with student.case():
            where = f"with {sizes.words}"
            got, expected = _describe(student, _model(student, sizes), where), describe_model(_own(sizes))
            for key in expected:
                if key != "parameters":
                    _described(key, got, expected, where)


def _described_parameters(student: Any) -> None:
    for sizes in _DESCRIBED:
        with student.case():
            where = f"with {sizes.words}"
            _described(
                "parameters", _describe(student, _model(student, sizes), where), describe_model(_own(sizes)), where
            )
    for sizes in _DESCRIBED[:2]:
        with student.case():
            model = _model(student, sizes)
            student.value(student.probe("add", _BUFFER), model)
            where = "when a parameter is frozen and the model has a buffer (a mask, say)"
            _described("parameters", _describe(student, model, where), describe_model(_own(sizes)), where)


def _described_form(student: Any) -> None:
    for sizes in _DESCRIBED[:2]:
        with student.case():
            model = _model(student, sizes, training=True)
            before = student.value(student.probe("look", _STATE_OF_MODEL), model)
            got = _describe(student, model, "")
            for key, value in describe_model(_own(sizes)).items():
                _described(key, got, {key: value}, f"with {sizes.words}")
                if type(got[key]) is not int:
                    raise Wrong(f'"{key}" should be a whole number (an int); yours is {kind(got[key])}.', "not_an_int")
            _left_as_it_was(student, model, before)


_COUNT = "sum(p.numel() for p in model.parameters())"
_BY_OBJECTS = """
transformer = model.transformer
block = transformer.h[0]
C = transformer.wte.embedding_dim
return dict(
    parameters=model.num_parameters(),
    vocab_size=model.lm_head.out_features,
    context=transformer.wpe.num_embeddings,
    layers=len(transformer.h),
    heads=block.attn.num_heads,
    d_model=C,
    head_dim=block.attn.head_dim,
)
"""

DESCRIBE_MODEL = Exercise(
    name="describe_model",
    notebook=NOTEBOOK,
    points=2,
    reference=describe_model,
    checks=[
        Check("the sizes of several models", 1.0, _described_sizes),
        Check("the number of parameters", 1.0, _described_parameters),
        Check("whole numbers, and the model as it was", 0.25, _described_form),
    ],
    working=_coded(describe_model, _BY_OBJECTS),
    alternatives=_alternatives(
        describe_model,
        from_the_layers=_BY_OBJECTS,
        general_names="""
            c = model.config
            seen, total = set(), 0
            for p in model.parameters():
                if id(p) not in seen:
                    seen.add(id(p))
                    total += math.prod(p.shape)
            return {"parameters": total, "vocab_size": c.vocab_size, "context": c.max_position_embeddings,
                    "layers": c.num_hidden_layers, "heads": c.num_attention_heads, "d_model": c.hidden_size,
                    "head_dim": c.hidden_size // c.num_attention_heads}
        """,
        from_shapes="""
            shapes = {name: tuple(p.shape) for name, p in model.named_parameters()}
            V, C = shapes["transformer.wte.weight"]
            T, _ = shapes["transformer.wpe.weight"]
            blocks = {name.split(".")[2] for name in shapes if name.startswith("transformer.h.")}
            info = {"parameters": 0, "vocab_size": V, "context": T, "d_model": C, "layers": len(blocks)}
            for shape in shapes.values():
                n = 1
                for size in shape:
                    n *= size
                info["parameters"] += n
            info["heads"] = model.config.to_dict()["n_head"]
            info["head_dim"] = int(C / info["heads"])
            return info
        """,
        numel_of_vectors=(_COUNT, "nn.utils.parameters_to_vector(model.parameters()).numel()"),
    ),
    mistakes=_mistakes(
        describe_model,
        (
            "tied_counted_twice",
            "The output layer of GPT-2 is the token embedding once more, one matrix with two names, and you count it twice. "
            "`model.parameters()` gives it once; `state_dict()` and `remove_duplicate=False` give every name.",
            (_COUNT, "sum(t.numel() for t in model.state_dict().values())"),
            (_COUNT, "sum(p.numel() for _, p in model.named_parameters(remove_duplicate=False))"),
            (_COUNT, "sum(p.numel() for p in model.transformer.parameters()) + model.lm_head.weight.numel()"),
            (_COUNT, "sum(p.numel() for m in model.modules() for p in m.parameters(recurse=False))"),
            (_COUNT, f"{_COUNT} + model.lm_head.weight.numel()"),
        ),
        (
            "head_never_counted",
            "When the output layer has a matrix of its own (tie_word_embeddings=False) it is missing from your count: take the "
            "parameters of the whole model, not those of `model.transformer`.",
            (_COUNT, "sum(p.numel() for p in model.transformer.parameters())"),
            (_COUNT, 'sum(p.numel() for n, p in model.named_parameters() if "lm_head" not in n)'),
        ),
        (
            "only_trainable",
            "Frozen parameters are left out: a parameter counts whether or not it is being trained.",
            (_COUNT, "sum(p.numel() for p in model.parameters() if p.requires_grad)"),
            (_COUNT, "model.num_parameters(only_trainable=True)"),
        ),
        (
            "buffers_counted",
            "Buffers (masks, say) are counted too: they are saved with the model, but nothing in them is learned.",
            (_COUNT, f"{_COUNT} + sum(b.numel() for b in model.buffers())"),
        ),
        (
            "embeddings_left_out",
            "The embeddings are left out of the count: they are parameters like any other.",
            (_COUNT, "sum(p.numel() for p in model.transformer.h.parameters())"),
            (_COUNT, 'sum(p.numel() for n, p in model.named_parameters() if "wte" not in n and "wpe" not in n)'),
            (_COUNT, "model.num_parameters(exclude_embeddings=True)"),
            (_COUNT, f"{_COUNT} - model.transformer.wpe.weight.numel()"),
            (_COUNT, f"{_COUNT} - model.transformer.wte.weight.numel()"),
        ),
        (
            "tensors_counted",
            "You count the parameter tensors, not the numbers in them: add up `p.numel()`.",
            (_COUNT, "len(list(model.parameters()))"),
            (_COUNT, "sum(len(p) for p in model.parameters())"),
            (_COUNT, "len(model.state_dict())"),
        ),
        (
            "biases_left_out",
            "Only the matrices are counted: biases and the norms' weights are parameters too.",
            (_COUNT, "sum(p.numel() for p in model.parameters() if p.dim() == 2)"),
            (_COUNT, 'sum(p.numel() for n, p in model.named_parameters() if "bias" not in n)'),
            (_COUNT, "sum(p.shape[0] * p.shape[1] for p in model.parameters() if p.dim() > 1)"),
        ),
        (
            "bytes",
            "You give the memory, not the number of parameters: each takes four bytes in float32.",
            (_COUNT, "sum(p.numel() * p.element_size() for p in model.parameters())"),
            (_COUNT, "model.get_memory_footprint()"),
        ),
        (
            "millions",
            "The count is rounded to millions: the exact number is asked for.",
            (_COUNT, f"round({_COUNT} / 1e6)"),
            (_COUNT, f"{_COUNT} / 1e6"),
            (_COUNT, f"{_COUNT} // 1_000_000"),
        ),
        (
            "formula_of_four_c",
            "Your formula takes the feed-forward network to be 4C wide; `config.n_inner` may say otherwise. Count the model's own "
            "parameters.",
            (
                _COUNT,
                "config.vocab_size * config.n_embd * (1 if config.tie_word_embeddings else 2) + config.n_positions * config.n_embd + "
                "config.n_layer * (12 * config.n_embd**2 + 13 * config.n_embd) + 2 * config.n_embd",
            ),
        ),
        (
            "head_dim_by_layers",
            "head_dim is the width divided by the number of heads, not of layers (for the published model both are 12).",
            ("config.n_embd // config.n_head", "config.n_embd // config.n_layer"),
        ),
        (
            "head_dim_is_d_model",
            "head_dim is the width of one head: the heads share d_model among them.",
            ('"head_dim": config.n_embd // config.n_head', '"head_dim": config.n_embd'),
            ('"head_dim": config.n_embd // config.n_head', '"head_dim": config.n_head'),
            ("config.n_embd // config.n_head", "config.n_embd * config.n_head"),
        ),
        (
            "head_dim_constant",
            "head_dim is a constant in your code: 64 is the published model's; others have other heads.",
            ("config.n_embd // config.n_head", "64"),
            ("config.n_embd // config.n_head", "768 // 12"),
        ),
        (
            "float_head_dim",
            "head_dim is a float: `/` always gives one, `//` divides whole numbers.",
            ("config.n_embd // config.n_head", "config.n_embd / config.n_head"),
        ),
        (
            "layers_and_heads_swapped",
            "layers and heads are the wrong way round: n_layer counts the blocks, n_head the heads in each.",
            [
                ('"layers": config.n_layer', '"layers": config.n_head'),
                ('"heads": config.n_head', '"heads": config.n_layer'),
            ],
            ('"layers": config.n_layer', '"layers": config.n_head'),
            ('"heads": config.n_head', '"heads": config.n_layer'),
        ),
        (
            "modules_counted",
            "layers is the number of blocks (the length of `model.transformer.h`), not of all modules in the model.",
            ("config.n_layer", "len(list(model.transformer.children()))"),
            ("config.n_layer", "len(list(model.children()))"),
            ("config.n_layer", "len(list(model.modules()))"),
        ),
        (
            "key_missing",
            "One of the keys is missing: parameters, vocab_size, context, layers, heads, d_model, head_dim.",
            ('        "head_dim": config.n_embd // config.n_head,\n', ""),
            ('        "layers": config.n_layer,\n', ""),
            ('        "context": config.n_positions,\n', ""),
        ),
        (
            "all_heads",
            "heads is the number of heads in one layer, not in all of them.",
            ('"heads": config.n_head', '"heads": config.n_head * config.n_layer'),
        ),
        (
            "context_is_not_the_width",
            "context is the number of positions (n_positions): how many tokens the model can read.",
            ("config.n_positions", "config.n_embd"),
            ("config.n_positions", "config.vocab_size"),
            ("config.n_positions", "1024"),
            [("config.n_positions", "config.n_embd"), ('"d_model": config.n_embd', '"d_model": config.n_positions')],
            ("config.n_positions", "config.n_positions - 1"),
        ),
        (
            "d_model_is_the_inner_width",
            "d_model is the width of the residual stream (n_embd), not that of the feed-forward network.",
            ('"d_model": config.n_embd', '"d_model": 4 * config.n_embd'),
            ('"d_model": config.n_embd', '"d_model": config.n_inner or 4 * config.n_embd'),
            ('"d_model": config.n_embd', '"d_model": config.n_embd // config.n_head'),
            ('"d_model": config.n_embd', '"d_model": 3 * config.n_embd'),
        ),
        (
            "published_numbers",
            "These are the published model's numbers, whatever model is given: read them from `model.config`.",
            'return {"parameters": 124439808, "vocab_size": 50257, "context": 1024, "layers": 12, "heads": 12, "d_model": 768, "head_dim": 64}',
            """
            from transformers import GPT2Config
            config = GPT2Config()
            return {
                "parameters": sum(p.numel() for p in model.parameters()), "vocab_size": config.vocab_size, "context": config.n_positions,
                "layers": config.n_layer, "heads": config.n_head, "d_model": config.n_embd, "head_dim": config.n_embd // config.n_head,
            }
            """,
        ),
        (
            "keys_of_the_config",
            "The keys are Hugging Face's own names; the task names them parameters, vocab_size, context, layers, heads, d_model, head_dim.",
            [
                ('"context"', '"n_positions"'),
                ('"layers"', '"n_layer"'),
                ('"heads"', '"n_head"'),
                ('"d_model"', '"n_embd"'),
            ],
            ('"context"', '"context_length"'),
            ('"parameters"', '"params"'),
            ('"layers"', '"num_layers"'),
            ('"vocab_size"', '"vocab"'),
            "return model.config.to_dict() | {'parameters': sum(p.numel() for p in model.parameters())}",
        ),
        (
            "numbers_as_text",
            "The numbers are strings: return ints, and put in the commas when you print.",
            (_COUNT, f'f"{{{_COUNT}:,}}"'),
            [(_COUNT, f"str({_COUNT})"), ("config.vocab_size", "str(config.vocab_size)")],
        ),
        ("nothing_returned", _NOTHING, ("return {", "described = {")),
        (
            "not_a_dict",
            "A dict is asked for, with the sizes under their names.",
            "c = model.config\nreturn (sum(p.numel() for p in model.parameters()), c.vocab_size, c.n_positions, c.n_layer, c.n_head, c.n_embd, c.n_embd // c.n_head)",
            "return model.config",
        ),
        (
            "model_frozen",
            "Counting freezes the model: its parameters lose requires_grad, so it cannot be trained any more.",
            (_COUNT, "sum(p.requires_grad_(False).numel() for p in model.parameters())"),
            (_COUNT, "sum(p.numel() for p in model.eval().requires_grad_(False).parameters())"),
        ),
    ),
)


# --- top_next_tokens --------------------------------------------------------------------------------------------------

_READERS = (
    _Sizes(2, 2, 16, 24, seed=1),
    _Sizes(3, 3, 12, 30, seed=2, more=(UNTIED, ("activation_function", "relu"))),
    _Sizes(1, 1, 8, 20, seed=3, more=(("n_inner", 11),)),
)
_DOG = "The dog drinks water because it was"
_PROMPTS = (_DOG, " the birds sing", "The dog", "é, é!")


def _pairs(got: Any, k: int, where: str) -> list[tuple]:
    """The pairs of a list; whether they are tuples of str and float has a check of its own."""
    if got is None:
        raise Wrong(_NOTHING)
    if type(got) not in (list, tuple):
        raise Wrong(f"It should return a list of (token, probability) pairs {where}; yours returned {kind(got)}.")
    if len(got) != k:
        raise Wrong(f"The list should have {k} entries {where}; yours has {len(got)}.", "wrong_length")
    if any(type(pair) not in (list, tuple) or len(pair) != 2 for pair in got):
        raise Wrong(f"Each entry should be a pair (token, probability) {where}; yours has {kind(got[0])}.")
    return got


@cache
def _next_probs(sizes: _Sizes, prompt: str) -> torch.Tensor:
    """The probabilities of all next tokens, by Hugging Face's model on this side."""
    with torch.no_grad():
        logits = _own(sizes, "float64")(torch.tensor([_tokenizer()(prompt).input_ids])).logits
    return logits[0, -1].softmax(-1)


def _same_tokens(got: list[tuple], sizes: _Sizes, prompt: str, where: str, exact: bool = False) -> None:
    order = _next_probs(sizes, prompt).argsort(descending=True).tolist()
    for place, ((token, _), expected) in enumerate(zip(got, order, strict=False), start=1):
        if type(token) is not str:
            raise Wrong(
                f"The tokens should be strings {where}; yours are {kind(token)}: decode the ids.", "ids_for_tokens"
            )
        forms = _forms(expected)
        if token not in forms and (exact or token.strip() not in {form.strip() for form in forms}):
            raise Wrong(f"The token in place {place} is not the right one {where}.")


def _same_probs(got: list[tuple], sizes: _Sizes, prompt: str, where: str) -> None:
    expected = _next_probs(sizes, prompt).sort(descending=True).values.tolist()
    numbers = [_number(p) for _, p in got]
    if any(number is None for number in numbers):
        raise Wrong(f"The second of each pair should be a probability {where}; yours is {kind(got[0][1])}.")
    if all(_near(mine, math.log(theirs)) for mine, theirs in zip(numbers, expected, strict=False)):
        raise Wrong(
            f"These are logarithms of the probabilities {where}: take softmax, not log_softmax.", "log_probabilities"
        )
    if any(not 0 <= number <= 1 + 1e-4 for number in numbers):
        raise Wrong(f"Some of the numbers are not between 0 and 1 {where}: is the softmax taken?", "not_probabilities")
    for place, (mine, theirs) in enumerate(zip(numbers, expected, strict=False), start=1):
        if not _near(mine, theirs):
            size = "large" if mine > theirs else "small"
            raise Wrong(f"The probability in place {place} is too {size} {where}.")


def _top(student: Any, sizes: _Sizes, prompt: str, k: int | None) -> tuple[list[tuple], str]:
    where = f'after "{prompt}", ' + (f"k = {k}" if k else "k not given")
    args = [_model(student, sizes), _their_tokenizer(student), prompt]
    return _pairs(_asked(student, "top_next_tokens", args, {"k": k} if k else {}, where), k or 10, where), where


def _top_tokens(student: Any) -> None:
    for sizes, prompt, k in zip(_READERS, _PROMPTS, (7, None, 1), strict=False):
        with student.case():
            got, where = _top(student, sizes, prompt, k)
            _same_tokens(got, sizes, prompt, where)
    with student.case():
        got, where = _top(student, _READERS[0], "é, é!", 12)
        _same_tokens(got, _READERS[0], "é, é!", where)


def _top_probs(student: Any) -> None:
    for sizes, prompt, k in zip(_READERS, _PROMPTS[1:], (5, None, len(_tokenizer())), strict=False):
        with student.case():
            got, where = _top(student, sizes, prompt, k)
            _same_probs(got, sizes, prompt, where)


def _top_form(student: Any) -> None:
    for sizes, prompt, k in ((_READERS[1], "The", 11), (_READERS[0], _DOG, 40)):
        with student.case():
            got, where = _top(student, sizes, prompt, k)
            _same_probs(got, sizes, prompt, where)
            _same_tokens(got, sizes, prompt, where + " (leading spaces belong to tokens)", exact=True)
            if type(got) is not list:
                raise Wrong(f"A list is asked for; yours returned {kind(got)}.", "not_a_list")
            for pair in got:
                if type(pair) is not tuple:
                    raise Wrong(
                        f"Each entry should be a tuple (token, probability); yours is {kind(pair)}.", "not_tuples"
                    )
                if type(pair[1]) is not float:
                    raise Wrong(
                        f"Each probability should be a float; yours is {kind(pair[1])}: `.item()` or `.tolist()`.",
                        "not_a_float",
                    )
    with student.case():  # k by position
        args = [_model(student, _READERS[0]), _their_tokenizer(student), "The dog", 3]
        where = "with k = 3 as the fourth argument"
        _same_probs(_pairs(_asked(student, "top_next_tokens", args), 3, where), _READERS[0], "The dog", where)


def _top_manners(student: Any) -> None:
    sizes = replace(_READERS[1], seed=5, more=(*_READERS[1].more, *DROPOUT))

    def same(value: Any, where: str) -> None:
        _same_probs(_pairs(value, 10, where), sizes, _DOG, where)

    _manners(student, "top_next_tokens", [_their_tokenizer(student), _DOG], same, sizes)


def _top_refused(student: Any) -> None:
    tokenizer = _their_tokenizer(student)
    with student.case():
        args = [_model(student, _READERS[2]), tokenizer, "."]
        where = "after a prompt of one token"
        _same_probs(_pairs(_asked(student, "top_next_tokens", args), 10, where), _READERS[2], ".", where)
        _refused(student, "top_next_tokens", [_model(student, _READERS[2]), tokenizer, ""], "A prompt without tokens")


_LAST = "logits[0, -1]"
_PROBS = "probs = torch.softmax(logits[0, -1], dim=-1)"
_PAIR = "(tokenizer.decode([i]), p)"
_TOP_RETURN = (
    "return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)]"
)
_MODE = "    was_training = model.training\n    model.eval()  # no dropout\n"
_TO = ".to(model.device)"
_NO_TOKENS = """    if ids.shape[1] == 0:
        raise ValueError("prompt has no tokens, so there is nothing to continue")
"""
_TOP_GENERATE = """
inputs = tokenizer(prompt, return_tensors="pt").to(model.device)
if inputs["input_ids"].numel() == 0:
    raise ValueError("prompt is empty")
mode = model.training
model.eval()
out = model.generate(**inputs, max_new_tokens=1, do_sample=False, output_logits=True, return_dict_in_generate=True)
model.train(mode)
values, indices = F.softmax(out.logits[0].squeeze(0), dim=0).topk(k)
return list(zip(tokenizer.convert_ids_to_tokens(indices), values.tolist()))
"""

TOP_NEXT_TOKENS = Exercise(
    name="top_next_tokens",
    notebook=NOTEBOOK,
    points=3,
    reference=top_next_tokens,
    checks=[
        Check("the likeliest tokens, in order", 1.0, _top_tokens),
        Check("their probabilities", 1.0, _top_probs),
        Check("pairs of a string, its space included, and a float", 0.5, _top_form),
        Check("either mode, float64, any device, the model as it was", 0.5, _top_manners),
        Check("a prompt of one token, and of none", 0.25, _top_refused),
    ],
    working=_coded(
        top_next_tokens,
        """
        tokens = tokenizer.encode(prompt)
        if not tokens:
            raise ValueError("prompt has no tokens")
        mode = model.training
        model.train(False)
        with torch.inference_mode():
            out = model(input_ids=torch.tensor([tokens], device=model.device), logits_to_keep=1)
        model.train(mode)
        ranked = sorted(enumerate(out.logits.flatten().softmax(0).tolist()), key=lambda pair: -pair[1])
        return [(tokenizer.decode(i), p) for i, p in ranked[:k]]
        """,
    ),
    alternatives=_alternatives(
        top_next_tokens,
        the_usual_way="""
            inputs = tokenizer(prompt, return_tensors="pt").to(model.device)
            if inputs.input_ids.size(1) < 1:
                raise ValueError("prompt must not be empty")
            training = model.training
            model.eval()
            with torch.no_grad():
                outputs = model(**inputs)
            if training:
                model.train()
            next_token_logits = outputs.logits[:, -1, :]
            probs = F.softmax(next_token_logits, dim=-1)
            top_probs, top_ids = torch.topk(probs, k, dim=-1)
            result = []
            for prob, token_id in zip(top_probs[0], top_ids[0]):
                result.append((tokenizer.decode(token_id), prob.item()))
            return result
        """,
        by_sorting="""
            ids = tokenizer.encode(prompt, return_tensors="pt")
            if not ids.numel():
                raise ValueError(f"prompt: {prompt!r} gives no token")
            before = model.training
            model.eval()
            try:
                with torch.inference_mode():
                    scores = model(ids.to(next(model.parameters()).device))[0][0][-1]
            finally:
                model.train(before)
            scores = (scores - scores.max()).exp()
            scores = scores / scores.sum()
            order = torch.argsort(scores, descending=True)[:k]
            tokens = tokenizer.convert_ids_to_tokens(order.tolist())
            return [(t, float(scores[i])) for t, i in zip(tokens, order)]
        """,
        by_generate=_TOP_GENERATE,
        by_batch_decode=[
            (_PROBS, "probs = logits.log_softmax(dim=-1).exp()[0, -1]"),
            (_TOP_RETURN, "return list(zip(tokenizer.batch_decode(best.indices[:, None]), map(float, best.values)))"),
        ],
    ),
    mistakes=_mistakes(
        top_next_tokens,
        (
            "first_position",
            "You read the prediction after the first token. logits has one for every position; the next token's stands at the last, "
            "`logits[0, -1]`.",
            (_LAST, "logits[0, 0]"),
            (_LAST, "logits[0][0]"),
        ),
        (
            "one_position_early",
            "You read the prediction after the last token but one: that predicts the prompt's own last token.",
            (_LAST, "logits[0, max(0, logits.shape[1] - 2)]"),
            (_LAST, "logits[0, -2]"),
        ),
        (
            "all_positions",
            "All positions are mixed: only what is predicted after the last token belongs to the next token.",
            (_LAST, "logits[0].mean(dim=0)"),
            (_LAST, "logits[0].sum(dim=0)"),
            (_PROBS, "probs = torch.softmax(logits[0], dim=-1).mean(dim=0)"),
            (_PROBS, "probs = torch.softmax(logits[0], dim=-1).amax(dim=0)"),
            (_PROBS, "probs = torch.softmax(logits.flatten(), dim=-1)[-logits.shape[-1] :]"),
        ),
        (
            "last_position_forgotten",
            "The last position is not picked out, so the list is not one of k tokens: take `logits[0, -1]` before topk.",
            [(_PROBS, "probs = torch.softmax(logits[0], dim=-1)")],
            [(_PROBS, "probs = torch.softmax(logits, dim=-1)")],
            (_PROBS, "probs = torch.softmax(logits[0], dim=-1).flatten()"),
            (_PROBS, "probs = torch.softmax(logits[:, -1], dim=-1)"),
        ),
        (
            "softmax_over_positions",
            "The softmax runs over the positions: over the vocabulary, the last dimension, the probabilities have to add up to 1.",
            (_PROBS, "probs = torch.softmax(logits[0], dim=0)[-1]"),
            (_PROBS, "probs = torch.softmax(logits, dim=1)[0, -1]"),
        ),
        (
            "softmax_over_the_batch",
            "The softmax runs over the batch dimension, which has one entry, so everything becomes 1.",
            (_PROBS, "probs = torch.softmax(logits[:, -1], dim=0)[0]"),
            (_PROBS, "probs = torch.softmax(logits, dim=0)[0, -1]"),
        ),
        (
            "log_probabilities",
            "These are logarithms of the probabilities: take softmax, not log_softmax (or exp in the end).",
            (_PROBS, "probs = torch.log_softmax(logits[0, -1], dim=-1)"),
        ),
        (
            "logits",
            "These are logits, not probabilities: take the softmax over the vocabulary.",
            (_PROBS, "probs = logits[0, -1]"),
        ),
        (
            "softmax_of_the_best",
            "The softmax is taken over the k best alone: their probabilities must be those among all tokens, so softmax comes before topk.",
            [(_PROBS, "probs = logits[0, -1]"), ("best.values.tolist()", "best.values.softmax(-1).tolist()")],
            [("best.values.tolist()", "(best.values / best.values.sum()).tolist()")],
        ),
        (
            "sigmoid",
            "A sigmoid treats each token on its own: the tokens compete, so take the softmax.",
            (_PROBS, "probs = torch.sigmoid(logits[0, -1])"),
        ),
        (
            "softmax_twice",
            "The softmax is taken twice, which makes everything nearly equal: the model's logits need it once.",
            (_PROBS, "probs = torch.softmax(torch.softmax(logits[0, -1], dim=-1), dim=-1)"),
        ),
        (
            "percent",
            "The numbers are per cent: a probability lies between 0 and 1.",
            ("best.values.tolist()", "(100 * best.values).tolist()"),
        ),
        (
            "cumulative",
            "The probabilities are added up from one token to the next: each token has its own.",
            ("best.values.tolist()", "best.values.cumsum(0).tolist()"),
        ),
        (
            "temperature",
            "The logits are divided by a temperature: the model's own probabilities are asked for.",
            (_LAST, "logits[0, -1] / 0.7"),
            (_LAST, "logits[0, -1] / 0.8"),
        ),
        (
            "text_for_numbers",
            "The probabilities are strings: return numbers, and format them when you print.",
            (_PAIR, '(tokenizer.decode([i]), f"{p:.3f}")'),
            (_PAIR, '(tokenizer.decode([i]), f"{p:.1%}")'),
        ),
        (
            "quoted",
            "The tokens are in quotation marks of their own (repr): return the strings themselves.",
            (_PAIR, "(repr(tokenizer.decode([i])), p)"),
        ),
        (
            "rounded",
            "The probabilities are rounded: return them as they are, and round when you print.",
            (_PAIR, "(tokenizer.decode([i]), round(p, 4))"),
            (_PAIR, "(tokenizer.decode([i]), round(p, 3))"),
            (_PAIR, "(tokenizer.decode([i]), round(p, 2))"),
        ),
        (
            "not_sorted",
            "The list is not in order: the likeliest token comes first.",
            (_TOP_RETURN, _TOP_RETURN + "[::-1]"),
            (
                _TOP_RETURN,
                "return sorted((tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist()))",
            ),
        ),
        (
            "the_least_likely",
            "These are the least likely tokens: sort in descending order (topk takes the largest unless told otherwise).",
            ("probs.topk(k)", "probs.topk(k, largest=False)"),
            ("probs.topk(k)", "torch.return_types.topk([t[:k] for t in probs.sort()])"),
        ),
        (
            "by_id",
            "The tokens stand in the order of their ids, not of their probabilities.",
            [(_TOP_RETURN, "return [(tokenizer.decode([i]), probs[i].item()) for i in sorted(best.indices.tolist())]")],
            [(_TOP_RETURN, "return [(tokenizer.decode([i]), p) for i, p in enumerate(probs.tolist())][:k]")],
        ),
        (
            "ids_for_tokens",
            "The tokens are ids: decode each of them (`tokenizer.decode([id])`).",
            (_PAIR, "(i, p)"),
            (_PAIR, "(str(i), p)"),
        ),
        (
            "k_ignored",
            "k is not used: the list has always the same length.",
            ("probs.topk(k)", "probs.topk(10)"),
            ("probs.topk(k)", "probs.topk(5)"),
            ("probs.topk(k)", "probs.sort(descending=True)"),
            ("probs.topk(k)", "probs.topk(1)"),
        ),
        (
            "default_of_k",
            "Without k the list should have 10 entries: the default in the signature was changed.",
            ("prompt, k=10", "prompt, k=5"),
            ("prompt, k=10", "prompt, k=3"),
        ),
        (
            "one_too_few",
            "The list is one entry too short or too long: k pairs are asked for.",
            ("probs.topk(k)", "probs.topk(k - 1)"),
            (_TOP_RETURN, _TOP_RETURN + "[1:]"),
            ("probs.topk(k)", "probs.topk(min(k + 1, len(probs)))"),
        ),
        (
            "sampled",
            "You draw the tokens at random instead of taking the likeliest.",
            (
                "best = probs.topk(k)",
                "drawn = torch.multinomial(probs, k)\n    best = torch.return_types.topk((probs[drawn], drawn))",
            ),
            (
                "best = probs.topk(k)",
                "drawn = torch.multinomial(probs, k).sort().values\n    best = torch.return_types.topk((probs[drawn], drawn))",
            ),
        ),
        (
            "greedy_continuation",
            "You continue the prompt by k tokens; asked for are k candidates for one place, the next one.",
            """
            ids = tokenizer(prompt, return_tensors="pt").input_ids.to(model.device)
            if ids.shape[1] == 0:
                raise ValueError("prompt has no tokens")
            was_training = model.training
            model.eval()
            result = []
            with torch.no_grad():
                for _ in range(k):
                    probs = torch.softmax(model(ids[:, -model.config.n_positions:]).logits[0, -1], dim=-1)
                    best = probs.argmax()
                    result.append((tokenizer.decode([best.item()]), probs[best].item()))
                    ids = torch.cat([ids, best.view(1, 1)], dim=1)
            model.train(was_training)
            return result
            """,
        ),
        (
            "prompt_included",
            "The strings contain the prompt too: only the next token is asked for.",
            (_PAIR, "(prompt + tokenizer.decode([i]), p)"),
            (_PAIR, "(tokenizer.decode(ids[0].tolist() + [i]), p)"),
        ),
        (
            "one_string",
            "The k tokens are decoded together, as one string: decode each id on its own.",
            (_TOP_RETURN, "return list(zip(tokenizer.decode(best.indices), best.values.tolist()))"),
            (_TOP_RETURN, "return [(tokenizer.decode(best.indices), p) for p in best.values.tolist()]"),
        ),
        (
            "space_lost",
            'The leading space is stripped: " dog" and "dog" are two tokens of the vocabulary, and now look alike.',
            (_PAIR, "(tokenizer.decode([i]).strip(), p)"),
            (_PAIR, '(tokenizer.convert_ids_to_tokens(i).replace("Ġ", ""), p)'),
            (_PAIR, '(tokenizer.decode([i]).replace(" ", ""), p)'),
        ),
        (
            "a_dict",
            "A list of pairs is asked for, not a dict (in which equal strings would overwrite each other).",
            (
                _TOP_RETURN,
                _TOP_RETURN.replace("[(tokenizer.decode([i]), p)", "{tokenizer.decode([i]): p").replace(
                    "True)]", "True)}"
                ),
            ),
        ),
        (
            "two_lists",
            "Two lists are returned: pair them up, `list(zip(tokens, probabilities))`.",
            (_TOP_RETURN, "return [tokenizer.decode([i]) for i in best.indices], best.values.tolist()"),
            (_TOP_RETURN, "return best.values.tolist(), [tokenizer.decode([i]) for i in best.indices]"),
        ),
        (
            "pair_swapped",
            "The pairs are the wrong way round: (token, probability).",
            (_PAIR, "(p, tokenizer.decode([i]))"),
        ),
        (
            "tokens_without_probabilities",
            "Only the tokens are returned: each entry is a pair (token, probability).",
            (_PAIR, "tokenizer.decode([i])"),
        ),
        (
            "not_a_float",
            "The probabilities are tensors: `.item()` or `.tolist()` makes plain numbers of them.",
            ("best.values.tolist()", "best.values"),
        ),
        (
            "not_tuples",
            "The entries are lists: tuples (token, probability) are asked for.",
            (_PAIR, "[tokenizer.decode([i]), p]"),
        ),
        (
            "still_a_zip",
            "The result is an iterator, which is empty after it was read once: make a list of it.",
            (_TOP_RETURN, "return zip([tokenizer.decode([i]) for i in best.indices], best.values.tolist())"),
            (_TOP_RETURN, f"return ({_TOP_RETURN.removeprefix('return [').removesuffix(']')})"),
        ),
        (
            "dropout_left_on",
            _DROPOUT,
            ("    model.eval()  # no dropout\n", ""),
            [(_MODE, ""), ("    model.train(was_training)\n", "")],
        ),
        (
            "mode_not_restored",
            _RESTORE,
            ("    model.train(was_training)\n", ""),
            ("model.train(was_training)", "model.train()"),
        ),
        ("device_not_kept", _DEVICE, (_TO, "")),
        (
            "model_frozen",
            "The model's parameters lose requires_grad: use `torch.no_grad()`, which ends with the block.",
            ("model.eval()  # no dropout", "model.eval().requires_grad_(False)"),
        ),
        (
            "empty_prompt_accepted",
            "A prompt without tokens crashes inside the model: refuse it with a ValueError that says so.",
            (_NO_TOKENS, ""),
        ),
        (
            "words_split",
            "The prompt's words are looked up one by one, or its characters: the tokenizer has to encode the whole text, spaces included.",
            (
                'tokenizer(prompt, return_tensors="pt").input_ids',
                "torch.tensor([[i for w in prompt.split() for i in tokenizer.encode(w)]])",
            ),
            ('tokenizer(prompt, return_tensors="pt")', 'tokenizer(prompt.strip(), return_tensors="pt")'),
            ('tokenizer(prompt, return_tensors="pt")', 'tokenizer(prompt.lower(), return_tensors="pt")'),
            ('tokenizer(prompt, return_tensors="pt")', 'tokenizer(prompt + " ", return_tensors="pt")'),
        ),
        (
            "nothing_returned",
            _NOTHING,
            ("return [(", "result = [("),
            (_TOP_RETURN, _TOP_RETURN.replace("return [", "print([") + ")"),
        ),
    ),
)


# --- text_perplexity --------------------------------------------------------------------------------------------------

_TEXTS = ("The dog drinks water.", " the birds sing because it was", "The dog", _DOG + ".", "é, é!")


@cache
def _losses(sizes: _Sizes, text: str) -> torch.Tensor:
    """The negative log probabilities of tokens 2..N, by Hugging Face's model on this side."""
    ids = torch.tensor([_tokenizer()(text).input_ids])
    with torch.no_grad():
        logits = _own(sizes, "float64")(ids).logits
    return F.cross_entropy(logits[0, :-1], ids[0, 1:], reduction="none")


def _same_perplexity(got: Any, sizes: _Sizes, text: str, where: str, relative: float = 3e-4) -> None:
    if got is None:
        raise Wrong(_NOTHING)
    number, losses = _number(got), _losses(sizes, text)
    if number is None:
        raise Wrong(f"It should return a number {where}; yours is {kind(got)}.")
    mean, N = losses.mean().item(), len(losses) + 1
    likely = {
        "no_exp": (mean, "This is the mean loss: the perplexity is its exponential."),
        "no_exp_base_two": (mean / math.log(2), "This is the mean loss in bits: the perplexity is 2 to this power."),
        "sum_for_mean": (_exp(mean * (N - 1)), "This is exp of the sum of the losses: take their mean."),
        "divided_by_N": (
            math.exp(mean * (N - 1) / N),
            "The sum of the losses is divided by N, but only N − 1 tokens are predicted.",
        ),
    }
    if not _near(number, math.exp(mean), relative):
        for name, (value, sentence) in likely.items():
            if _near(number, value, relative):
                raise Wrong(sentence, name)
        if math.isnan(number) or math.isinf(number):
            raise Wrong(
                f"The result is {number} {where}: a probability became 0 before its logarithm was taken?", "unstable"
            )
        raise Wrong(f"The perplexity is too {'large' if number > math.exp(mean) else 'small'} {where}.")


def _exp(number: float) -> float:
    return math.exp(number) if number < 700 else math.inf


def _perplexity(student: Any, sizes: _Sizes, text: str, where: str = "", relative: float = 3e-4) -> Any:
    where = where or f'for "{text}"'
    got = _asked(student, "text_perplexity", [_model(student, sizes), _their_tokenizer(student), text], where=where)
    _same_perplexity(got, sizes, text, where, relative)
    return got


def _perplexity_values(student: Any) -> None:
    for number, text in enumerate(_TEXTS):
        with student.case():
            _perplexity(student, _READERS[number % 3], text)
    with student.case():
        sizes = _Sizes(2, 2, 16, len(_tokenizer()(_DOG).input_ids), seed=4)
        _perplexity(student, sizes, _DOG, "for a text that just fits into the context")


def _perplexity_shortest(student: Any) -> None:
    for sizes in _READERS:
        with student.case():
            _perplexity(student, sizes, "The dog", "for a text of two tokens")


def _perplexity_form(student: Any) -> None:
    # Logits of some dozens: single probabilities are too small for float32, their mean logarithm is not.
    for head in (3.0, 8.0):
        with student.case():
            sizes = replace(_READERS[1], seed=6, head=head)
            got = _perplexity(student, sizes, _DOG, "when some tokens are very unlikely", relative=5e-3)
            if type(got) is not float:
                raise Wrong(
                    f"A float is asked for; yours is {kind(got)}: `.item()` makes one of a tensor.", "not_a_float"
                )


def _perplexity_manners(student: Any) -> None:
    sizes = replace(_READERS[0], seed=7, more=DROPOUT)

    def same(value: Any, where: str) -> None:
        _same_perplexity(value, sizes, _DOG, where)

    _manners(student, "text_perplexity", [_their_tokenizer(student), _DOG], same, sizes)


def _perplexity_refused(student: Any) -> None:
    tokenizer, sizes = _their_tokenizer(student), _READERS[2]
    for text, what in (("", "A text without tokens"), ("The", "A text of one token (a word of three letters here)")):
        with student.case():
            _perplexity(student, sizes, "é", "for a text of one letter, which is two tokens")
            _refused(student, "text_perplexity", [_model(student, sizes), tokenizer, text], what)
    with student.case():
        args = [_model(student, sizes), tokenizer, 3 * _DOG]
        try:  # whoever reads a long text in pieces is right too
            got = _asked(student, "text_perplexity", args)
        except Wrong:
            _refused(student, "text_perplexity", args, "A text longer than the model's context")
        else:
            number = _number(got)
            if number is None or not math.isfinite(number):
                raise Wrong(f"For a text longer than the context the result is {kind(got)}, not a number.")


_SHIFT = "predicted, targets = logits[0, :-1], ids[0, 1:]"
_PERPLEXITY = "return F.cross_entropy(predicted, targets).exp().item()"
_LENGTHS = source_of(text_perplexity).split("n_positions\n")[1].split("\n    was_training")[0]
_LOGITS = "logits = model(ids).logits"


def _from_losses(expression: str) -> tuple[str, str]:
    """The result as an expression in the losses of tokens 2..N."""
    return (_PERPLEXITY, f'losses = F.cross_entropy(predicted, targets, reduction="none")\n    return {expression}')


TEXT_PERPLEXITY = Exercise(
    name="text_perplexity",
    notebook=NOTEBOOK,
    points=3,
    reference=text_perplexity,
    checks=[
        Check("several texts and models", 1.5, _perplexity_values),
        Check("two tokens: one prediction", 0.5, _perplexity_shortest),
        Check("a float, even when tokens are very unlikely", 0.5, _perplexity_form),
        Check("either mode, float64, any device, the model as it was", 0.5, _perplexity_manners),
        Check("texts that are too short or too long", 0.5, _perplexity_refused),
    ],
    working=_coded(
        text_perplexity,
        """
        inputs = tokenizer(text, return_tensors="pt").to(model.device)
        length = inputs.input_ids.shape[-1]
        if length < 2 or length > model.config.n_positions:
            raise ValueError(f"text: {length} tokens")
        mode = model.training
        model.eval()
        with torch.inference_mode():
            loss = model(**inputs, labels=inputs.input_ids).loss  # shifts the labels itself
        model.train(mode)
        return math.exp(loss.item())
        """,
    ),
    alternatives=_alternatives(
        text_perplexity,
        one_by_one="""
            ids = tokenizer.encode(text)
            if len(ids) < 2:
                raise ValueError("text needs at least two tokens")
            if len(ids) > model.config.max_position_embeddings:
                raise ValueError("text is too long for the model")
            mode = model.training
            model.eval()
            total = 0.0
            with torch.no_grad():
                for n in range(1, len(ids)):
                    prefix = torch.tensor([ids[:n]], device=model.device)
                    log_probs = model(prefix).logits[0, -1].log_softmax(dim=-1)
                    total -= log_probs[ids[n]].item()
            model.train(mode)
            return math.exp(total / (len(ids) - 1))
        """,
        gathered=[
            (
                _PERPLEXITY,
                "logp = F.log_softmax(predicted, dim=-1).gather(-1, targets[:, None]).squeeze(-1)\n"
                "    return float(torch.exp(-logp.sum() / (N - 1)))",
            )
        ],
        long_texts_in_windows="""
            ids = tokenizer(text, return_tensors="pt")["input_ids"].to(model.device)
            if ids.size(1) < 2:
                raise ValueError("text must have two tokens or more")
            mode = model.training
            model.eval()
            losses = []
            for start in range(0, ids.size(1) - 1, model.config.n_positions - 1):
                window = ids[:, start : start + model.config.n_positions]
                with torch.no_grad():
                    out = model(input_ids=window, attention_mask=torch.ones_like(window))
                losses.append(F.cross_entropy(out.logits[:, :-1].transpose(1, 2), window[:, 1:], reduction="none").flatten())
            model.train(mode)
            return torch.cat(losses).mean().exp().item()
        """,
        base_two_throughout=_from_losses("2 ** (losses.mean().item() / math.log(2))"),
        nll_loss=(_PERPLEXITY, "return math.exp(F.nll_loss(predicted.log_softmax(-1), targets))"),
    ),
    mistakes=_mistakes(
        text_perplexity,
        (
            "sum_for_mean",
            "You exponentiate the sum of the losses: perplexity takes their mean, so that long texts compare with short ones.",
            _from_losses("losses.sum().exp().item()"),
            (_PERPLEXITY, 'return F.cross_entropy(predicted, targets, reduction="sum").exp().item()'),
            _from_losses("math.prod(1 / math.exp(-loss) for loss in losses.tolist())"),
        ),
        (
            "divided_by_N",
            "The sum of the losses is divided by N, but only N − 1 tokens are predicted: nothing predicts the first.",
            _from_losses("(losses.sum() / N).exp().item()"),
            (_PERPLEXITY, "return (F.cross_entropy(predicted, targets) * (N - 1) / N).exp().item()"),
        ),
        (
            "divided_by_words",
            "The sum of the losses is divided by the number of words or characters: perplexity is per token.",
            _from_losses("(losses.sum() / len(text.split())).exp().item()"),
            _from_losses("(losses.sum() / len(text)).exp().item()"),
        ),
        (
            "divided_by_N_minus_two",
            "One token is lost in the mean: N tokens give N − 1 predictions.",
            _from_losses("(losses.sum() / max(1, N - 2)).exp().item()"),
            _from_losses("(losses.sum() / (N - 2)).exp().item() if N > 2 else losses.sum().exp().item()"),
            _from_losses("losses[1:].mean().exp().item() if N > 2 else losses.mean().exp().item()"),
            _from_losses("losses[:-1].mean().exp().item() if N > 2 else losses.mean().exp().item()"),
        ),
        (
            "mixed_bases",
            "The loss is in natural logarithms, but 2 is raised to it: use exp (or change to base 2 first).",
            _from_losses("2 ** losses.mean().item()"),
            (_PERPLEXITY, "return 2 ** F.cross_entropy(predicted, targets).item()"),
            _from_losses("math.exp(losses.mean().item() / math.log(2))"),
            _from_losses("10 ** losses.mean().item()"),
        ),
        (
            "no_exp",
            "This is the mean loss: the perplexity is its exponential.",
            (".exp().item()", ".item()"),
            _from_losses("losses.mean().item() / math.log(2)"),
            (_PERPLEXITY, "return -F.cross_entropy(predicted, targets).item()"),
        ),
        (
            "inverted",
            "This is the inverse of the perplexity: the sign of the mean is lost (exp of the mean negative log probability).",
            _from_losses("(-losses).mean().exp().item()"),
            (".exp().item()", ".neg().exp().item()"),
        ),
        (
            "not_shifted",
            "Each position is compared with its own token: it predicts the next one, so logits[:-1] belong to ids[1:].",
            (_SHIFT, "predicted, targets = logits[0], ids[0]"),
            (_SHIFT, "predicted, targets = logits[0, 1:], ids[0, 1:]"),
            (_SHIFT, "predicted, targets = logits[0, :-1], ids[0, :-1]"),
        ),
        (
            "shifted_backwards",
            "The shift goes the wrong way: predictions are compared with the token before, which the model has seen.",
            (_SHIFT, "predicted, targets = logits[0, 1:], ids[0, :-1]"),
        ),
        (
            "shifted_twice",
            "The targets are shifted twice: a model called with `labels` shifts them itself, so give it `labels=ids`.",
            (
                _PERPLEXITY,
                "with torch.no_grad():\n"
                "        loss = model.eval()(ids[:, :-1], labels=ids[:, 1:]).loss\n"
                "    model.train(was_training)\n"
                "    return loss.exp().item()",
            ),
            (_SHIFT, "predicted, targets = logits[0, :-2], ids[0, 2:]"),
        ),
        (
            "rolled",
            "The ids are rolled round, so that the last position is asked for the first token: leave it out.",
            (_SHIFT, "predicted, targets = logits[0], ids[0].roll(-1)"),
            (_SHIFT, "predicted, targets = logits[0], torch.cat([ids[0, 1:], ids[0, :1]])"),
        ),
        (
            "first_token_predicted",
            "The first token is predicted too, from a start or end token put before the text: asked for are tokens 2..N.",
            (
                "    N, context",
                "    ids = torch.cat([torch.full_like(ids[:, :1], len(tokenizer) - 1), ids], dim=1)\n    N, context",
            ),
        ),
        (
            "end_predicted",
            "An end token is put after the text and predicted too: asked for are the tokens of the text.",
            (
                "    N, context",
                "    ids = torch.cat([ids, torch.full_like(ids[:, :1], len(tokenizer) - 1)], dim=1)\n    N, context",
            ),
            (
                'tokenizer(text, return_tensors="pt")',
                'tokenizer(text + "<|endoftext|>", return_tensors="pt")',
            ),
        ),
        (
            "last_token_only",
            "Only one of the tokens counts: the mean runs over all predictions.",
            (_SHIFT, "predicted, targets = logits[0, -2:-1], ids[0, -1:]"),
            (_SHIFT, "predicted, targets = logits[0, :1], ids[0, 1:2]"),
            _from_losses("losses[-1].exp().item()"),
        ),
        (
            "mean_of_exponentials",
            "The mean is taken after the exponential: it is the mean of the logarithms that is exponentiated (a geometric mean).",
            _from_losses("losses.exp().mean().item()"),
            _from_losses("1 / (-losses).exp().mean().item()"),
            _from_losses("losses.median().exp().item()"),
        ),
        (
            "softmax_before_loss",
            "F.cross_entropy takes the softmax itself: give it logits, not probabilities.",
            ("F.cross_entropy(predicted, targets)", "F.cross_entropy(predicted.softmax(-1), targets)"),
        ),
        (
            "softmax_over_positions",
            "The softmax runs over the positions: over the vocabulary, the last dimension, it has to be.",
            (
                "F.cross_entropy(predicted, targets)",
                "F.nll_loss(predicted.log_softmax(dim=0), targets)",
            ),
        ),
        (
            "entropy_of_the_model",
            "This is how uncertain the model is at each position, whatever comes: take the probability of the token that does come.",
            (
                "F.cross_entropy(predicted, targets)",
                "(-(predicted.softmax(-1) * predicted.log_softmax(-1)).sum(-1)).mean()",
            ),
            ("F.cross_entropy(predicted, targets)", "(-predicted.log_softmax(-1).amax(-1).mean())"),
        ),
        (
            "unstable",
            "The logarithm is taken of a probability that has become 0: use log_softmax or F.cross_entropy on the logits.",
            (
                "F.cross_entropy(predicted, targets)",
                "(-predicted.softmax(-1).gather(-1, targets[:, None]).log().mean())",
            ),
            (
                _PERPLEXITY,
                "probs = predicted.softmax(-1).gather(-1, targets[:, None])\n"
                "    return (1 / probs.prod().item()) ** (1 / (N - 1)) if probs.prod() else math.inf",
            ),
        ),
        (
            "epsilon_added",
            "Something is added to the probabilities before the logarithm, which makes unlikely tokens cheaper than they are.",
            (
                "F.cross_entropy(predicted, targets)",
                "(-(predicted.softmax(-1).gather(-1, targets[:, None]) + 1e-10).log().mean())",
            ),
            (
                "F.cross_entropy(predicted, targets)",
                "(-(predicted.softmax(-1).gather(-1, targets[:, None]) + 1e-9).log().mean())",
            ),
        ),
        (
            "rounded",
            "The result is rounded: return it as it is, and round when you print.",
            (".exp().item()", ".exp().round().item()"),
            (_PERPLEXITY, "return round(F.cross_entropy(predicted, targets).exp().item())"),
            (_PERPLEXITY, "return int(F.cross_entropy(predicted, targets).exp().item())"),
        ),
        (
            "not_a_float",
            "The result is a tensor: `.item()` makes a float of it.",
            (".exp().item()", ".exp()"),
            (_PERPLEXITY, "return torch.exp(F.cross_entropy(predicted, targets)).view(1)"),
        ),
        (
            "too_short_accepted",
            "Fewer than two tokens should be a ValueError: nothing is predicted then, and the mean of nothing is NaN or worse.",
            ("if not 2 <= N <= context:", "if N > context:"),
            ("if not 2 <= N <= context:", "if not 1 <= N <= context:"),
            ("if not 2 <= N <= context:", "if not text or N > context:"),
        ),
        (
            "shortness_by_words",
            "Whether a text is too short is a question of tokens, not of words or characters.",
            ("if not 2 <= N <= context:", "if len(text.split()) < 2 or N > context:"),
            ("if not 2 <= N <= context:", "if len(text) < 2 or N > context:"),
        ),
        (
            "two_tokens_refused",
            "Two tokens are enough: the second is predicted from the first.",
            ("if not 2 <= N <= context:", "if not 2 < N <= context:"),
        ),
        (
            "not_an_error",
            "A text that is too short should raise a ValueError, not return something that looks like a result.",
            (
                _LENGTHS,
                '    if N > context:\n        raise ValueError("text is too long")\n    if N < 2:\n        return float("inf")\n',
            ),
            (
                _LENGTHS,
                '    if N > context:\n        raise ValueError("text is too long")\n    if N < 2:\n        return 1.0\n',
            ),
            (
                _LENGTHS,
                '    if N > context:\n        raise ValueError("text is too long")\n    if N < 2:\n        return float("nan")\n',
            ),
            (
                _LENGTHS,
                '    if N > context:\n        raise ValueError("text is too long")\n    if N < 2:\n        return None\n',
            ),
        ),
        (
            "assertion",
            "Bad input should raise a ValueError, not an AssertionError: `if …: raise ValueError(…)`.",
            (_LENGTHS, "    assert 2 <= N <= context\n"),
        ),
        (
            "too_long_crashes",
            "A text longer than the context crashes inside the model, which has no position for it: refuse it with a ValueError.",
            ("if not 2 <= N <= context:", "if N < 2:"),
        ),
        (
            "just_fitting_refused",
            "A text of exactly as many tokens as the context has positions fits.",
            ("if not 2 <= N <= context:", "if not 2 <= N < context:"),
        ),
        (
            "dropout_left_on",
            _DROPOUT,
            ("    model.eval()  # no dropout\n", ""),
            [(_MODE, ""), ("    model.train(was_training)\n", "")],
        ),
        (
            "mode_not_restored",
            _RESTORE,
            ("    model.train(was_training)\n", ""),
            ("model.train(was_training)", "model.train()"),
        ),
        ("device_not_kept", _DEVICE, (_TO, "")),
        (
            "model_frozen",
            "The model's parameters lose requires_grad: use `torch.no_grad()`, which ends with the block.",
            ("model.eval()  # no dropout", "model.eval().requires_grad_(False)"),
        ),
        (
            "gradients_left",
            "You call backward: the parameters have gradients afterwards, which would spoil the next training step.",
            [
                ("    with torch.no_grad():\n        logits = model(ids).logits", "    logits = model(ids).logits"),
                (
                    _PERPLEXITY,
                    "loss = F.cross_entropy(predicted, targets)\n    loss.backward()\n    return loss.exp().item()",
                ),
            ],
        ),
        (
            "nothing_returned",
            _NOTHING,
            ("return F.", "result = F."),
            (_PERPLEXITY, _PERPLEXITY.replace("return ", "print(") + ")"),
        ),
    ),
)


# --- load_gpt2_weights ------------------------------------------------------------------------------------------------

_RELU, _GELU = ("activation_function", "relu"), ("activation_function", "gelu")

_LOADED = (
    _Sizes(2, 2, 16, 9, vocab=13, seed=31),
    _Sizes(3, 3, 12, 7, vocab=11, seed=32, more=(UNTIED, _GELU, ("n_inner", 29), ("layer_norm_epsilon", 0.03))),
    _Sizes(1, 1, 8, 12, vocab=17, seed=33, more=(_RELU, ("n_inner", 5), ("layer_norm_epsilon", 0.2))),
    _Sizes(
        2, 4, 24, 24, vocab=10, seed=34, more=(UNTIED, ("n_inner", 24))
    ),  # square matrices: nothing fails by its shape
    _Sizes(11, 2, 4, 5, vocab=6, seed=35),  # more than ten layers: "10" comes before "2" in the alphabet
)

_GPT = f"""
import torch.nn.functional as F
{GIVEN}

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


def _pair(student: Any, sizes: _Sizes, dtype: str = "float32", **options: Any) -> tuple[Any, Any]:
    """A GPT with weights of its own and Hugging Face's model, both in the student's process."""
    hf_model = _model(student, sizes, dtype=dtype, **options)
    return student.call(student.probe("make", _GPT), [hf_model, dtype], keep=True)["value"], hf_model


@cache
def _right(sizes: _Sizes, dtype: str = "float32") -> tuple[dict, dict]:
    """What the parameters of a GPT should be, and what they are at the start."""
    hf_model = _here(_MODEL, "make")(sizes.settings, sizes.seed, dtype, head=sizes.head)
    torch.default_generator.manual_seed(0)
    model = _here(_GPT, "make")(hf_model, dtype)
    start = _here(_PARAMETERS, "read")(model)
    load_gpt2_weights(model, hf_model)
    return _here(_PARAMETERS, "read")(model), start


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


def _load(student: Any, model: Any, hf_model: Any, where: str) -> None:
    try:
        student.call("load_gpt2_weights", [model, hf_model], where=where)
    except Wrong as wrong:
        facts = getattr(wrong, "facts", {})
        text = str(facts.get("text", ""))
        known = [words for words in _COMPLAINTS if words in text] if facts.get("kind") == "raised" else []
        if facts.get("kind") == "raised":  # for the record: errors of one type differ in what they are about
            about = " ".join([str(facts.get("type")), *known, *sorted(set(re.findall(r"\d+", text)))])
            list(student.record.values())[-1][-1] = {"problem": facts | {"type": about}}
        for words in known:
            name, sentence = _COMPLAINTS[words]
            raise Wrong(f"{wrong} {sentence}", name) from None
        raise


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


def _same_parameters(student: Any, model: Any, sizes: _Sizes, where: str, dtype: str = "float32") -> None:
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
            raise Wrong(f"{what} is still what it was before {where}: it is not loaded.", "not_loaded")
        if mine.dim() == 2 and mine.shape[0] == mine.shape[1] and close(mine.T.contiguous(), right):
            raise Wrong(f"{what} is transposed {where}: a Conv1D keeps its weight as [in, out].", "not_transposed")
        if torch.allclose(mine.flatten().sort().values, right.flatten().sort().values, atol=1e-5):
            raise Wrong(f"{what} has the right numbers in wrong places {where}.", "wrong_places")
        raise Wrong(f"{what} has not the right numbers {where}: is it taken from the right layer?")


def _load_parameters(student: Any) -> None:
    for sizes in (_LOADED[0], _LOADED[1], _LOADED[4]):
        with student.case():
            where = f"with {sizes.words}"
            model, hf_model = _pair(student, sizes)
            _load(student, model, hf_model, where)
            _same_parameters(student, model, sizes, where)


def _load_logits(student: Any) -> None:
    """The parameters are read and run on this side: what the model answers by other means does not count."""
    for sizes in (*_LOADED[:4], replace(_LOADED[3], seed=36, more=(UNTIED, _RELU))):
        with student.case():
            where = f"with {sizes.words}"
            model, hf_model = _pair(student, sizes)
            _load(student, model, hf_model, where)
            ids = (normal(3, min(5, sizes.context)).abs() * 1000).long() % sizes.vocab
            with torch.no_grad():
                expected = _own(sizes)(ids).logits
            for got, whose in (
                (_run(student, model, sizes, ids), "The logits of a GPT with these parameters"),
                (student.call(model, [ids], where=where, training=False)["value"], "The logits of the model itself"),
            ):
                logits = a_tensor(a_pair(got, "(logits, loss)")[0], whose)
                if logits.shape != expected.shape or logits.dtype != expected.dtype:
                    same_tensor(logits, expected, whose, where)
                if not torch.allclose(logits, expected, atol=1e-4, rtol=1e-4):
                    raise Wrong(f"{whose} are not Hugging Face's {where}.")


def _run(student: Any, model: Any, sizes: _Sizes, ids: torch.Tensor) -> tuple:
    """What the model's parameters compute in the GPT of this side."""
    got = student.value(student.probe("read", _PARAMETERS), model)
    twin = _here(_GPT, "make")(_own(sizes)).eval()
    with torch.no_grad():
        for name, parameter in twin.named_parameters(remove_duplicate=False):
            mine = got.get(name) if isinstance(got, dict) else None
            if mine is None or mine.shape != parameter.shape:
                raise Wrong(f"After loading `{name}` is missing, or of another shape.", "parts_lost")
            parameter.copy_(mine)
        return twin(ids)


def _load_double(student: Any) -> None:
    for sizes in (_LOADED[1], _LOADED[0]):
        with student.case():
            model, hf_model = _pair(student, sizes, dtype="float64")
            _load(student, model, hf_model, "in float64")
            _same_parameters(student, model, sizes, "in float64", "float64")


def _load_own(student: Any) -> None:
    for sizes in (_LOADED[0], _LOADED[1]):
        with student.case():
            model, hf_model = _pair(student, sizes)
            arguments = [model, hf_model]
            memory = student.call(student.probe("remember", _MEMORY), arguments, keep=True)["value"]
            _load(student, *arguments, "")
            seen = student.value(student.probe("compare", _COMPARE), memory, *arguments)
            _same_parameters(student, model, sizes, "")
            if seen["added"]:
                raise Wrong(
                    f"The model has parameters that it did not have (`{seen['added'][0]}`): copy into its own.",
                    "parts_added",
                )
            if seen["tied"] != (UNTIED not in sizes.more):
                raise Wrong(
                    "lm_head.weight and token_embedding.weight were one tensor and are two now: training would pull them apart.",
                    "untied",
                )
            if seen["replaced"]:
                raise Wrong(
                    f"`{seen['replaced'][0]}` is another parameter object than before: an optimizer that was made earlier would go on "
                    "with the old one. Copy into the parameter (`.copy_`).",
                    "parameters_replaced",
                )
            if seen["hf_changed"]:
                raise Wrong(
                    f"hf_model is changed: its `{seen['hf_changed'][0]}` is different afterwards.", "hf_model_changed"
                )
            if seen["shared"]:
                raise Wrong(
                    f"`{seen['shared'][0]}` shares its memory with hf_model: training one would change the other. Copy the values.",
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


def _load_refused(student: Any) -> None:
    sizes = _LOADED[0]
    for more, what in (
        ({"n_layer": 3}, "An hf_model with fewer layers than the model"),
        ({"n_layer": 1}, "An hf_model with more layers than the model"),
        ({"n_inner": 20}, "An hf_model with a narrower feed-forward network than the model"),
        ({"n_positions": 12}, "An hf_model with fewer positions than the model"),
    ):
        with student.case():
            model, hf_model = _pair(student, sizes)
            _load(student, model, hf_model, "")
            _same_parameters(student, model, sizes, "")
            config = student.call(student.probe("change", _FROM_ANOTHER), [sizes.settings, more], keep=True)["value"]
            making = student.probe("make", _GPT)
            other = student.call(making, [hf_model], {"config": config}, keep=True)["value"]
            _refused(student, "load_gpt2_weights", [other, hf_model], what)


_IN = "(block.self_attn.in_proj_weight, source.attn.c_attn.weight.T)"
_IN_BIAS = "(block.self_attn.in_proj_bias, source.attn.c_attn.bias)"
_OUT = "(block.self_attn.out_proj.weight, source.attn.c_proj.weight.T)"
_OUT_BIAS = "(block.self_attn.out_proj.bias, source.attn.c_proj.bias)"
_FC = "(block.linear1.weight, source.mlp.c_fc.weight.T)"
_FC_BIAS = "(block.linear1.bias, source.mlp.c_fc.bias)"
_PROJ = "(block.linear2.weight, source.mlp.c_proj.weight.T)"
_PROJ_BIAS = "(block.linear2.bias, source.mlp.c_proj.bias)"
_N1, _N1_BIAS = "(block.norm1.weight, source.ln_1.weight)", "(block.norm1.bias, source.ln_1.bias)"
_N2, _N2_BIAS = "(block.norm2.weight, source.ln_2.weight)", "(block.norm2.bias, source.ln_2.bias)"
_NF, _NF_BIAS = "(model.final_norm.weight, theirs.ln_f.weight)", "(model.final_norm.bias, theirs.ln_f.bias)"
_WTE = "(model.token_embedding.weight, theirs.wte.weight)"
_WPE = "(model.position_embedding.weight, theirs.wpe.weight)"
_HEAD = "(model.lm_head.weight, hf_model.lm_head.weight)"
_MATRICES = tuple(f"source.{name}.weight.T" for name in ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"))
_SHAPES_CHECKED = source_of(load_gpt2_weights).split("    for mine, other in pairs:\n")[1]
_SHAPES_CHECKED = "    for mine, other in pairs:\n" + _SHAPES_CHECKED.split("    with torch")[0]
_LAYERS_CHECKED = source_of(load_gpt2_weights).split("theirs = hf_model.transformer\n")[1].split("\n    pairs")[0]
_ZIP = "zip(model.blocks, theirs.h, strict=True)"
_COPY = "    with torch.no_grad():  # copying is not part of any computation to be differentiated\n"
_LOOP = "        for mine, other in pairs:\n            mine.copy_(other)\n"


def _left_out(*pairs: str) -> list[tuple[str, str]]:
    """These pairs are not copied."""
    return [(pair, "({0}, {0})".format(pair[1:].split(",")[0])) for pair in pairs]


def _after(statement: str) -> tuple[str, str]:
    """Something more at the end."""
    return (_LOOP, _LOOP + textwrap.indent(textwrap.dedent(statement).strip(), "    ") + "\n")


def _copied(loop: str, grad: bool = False) -> list[tuple[str, str]]:
    """Another way of copying each pair."""
    return [
        (_LOOP, f"        for mine, other in pairs:\n            {loop}\n"),
        *([(_COPY, "    if True:\n")] if grad else []),
    ]


_BY_PARAMETER = """
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
"""

_BY_MODULE = """
from transformers.pytorch_utils import Conv1D
def put(layer, source):
    weight = source.weight.detach()
    weight = weight.t() if isinstance(source, Conv1D) else weight
    for own, value in ((layer.weight, weight), (layer.bias, source.bias.detach())):
        if own.size() != value.size():
            raise ValueError("hf_model: shapes differ")
        own.data[...] = value
tr = hf_model.transformer
if model.config.n_layer != hf_model.config.n_layer or model.config.n_positions != hf_model.config.n_positions:
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
"""

LOAD_GPT2_WEIGHTS = Exercise(
    name="load_gpt2_weights",
    notebook=NOTEBOOK,
    points=8,
    reference=load_gpt2_weights,
    checks=[
        Check("every parameter, for several configurations", 3.0, _load_parameters),
        Check("the same logits as Hugging Face's model", 3.0, _load_logits),
        Check("the model's own parameters, tied and trainable as before; hf_model unchanged", 1.0, _load_own),
        Check("in float64, to the last digit", 0.5, _load_double),
        Check("models of other sizes", 0.5, _load_refused),
    ],
    working=_coded(load_gpt2_weights, _BY_PARAMETER),
    alternatives=_alternatives(
        load_gpt2_weights,
        by_state_dict=_BY_PARAMETER,
        by_module=_BY_MODULE,
        by_data_of_clones="""
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
        """,
        activation_set_too=_after(
            """
            names = {"gelu_new": "tanh", "gelu": "none"}
            for block in model.blocks:
                if hf_model.config.activation_function in names:
                    block.activation = partial(F.gelu, approximate=names[hf_model.config.activation_function])
            """
        ),
        in_eval_mode=_after("model.eval()"),
        returns_the_model=_after("return model"),
    ),
    mistakes=_mistakes(
        load_gpt2_weights,
        (
            "nothing_transposed",
            "The weights are copied as they stand: a Conv1D of Hugging Face's keeps [in, out], nn.Linear [out, in], so all four of a block "
            "need `.T`.",
            [(m, m.removesuffix(".T")) for m in _MATRICES],
            [*((m, m.removesuffix(".T")) for m in _MATRICES), (_SHAPES_CHECKED, "")],
            (_MATRICES[0], _MATRICES[0].removesuffix(".T")),
            [(_MATRICES[0], _MATRICES[0].removesuffix(".T")), (_SHAPES_CHECKED, "")],
        ),
        (
            "square_projection_not_transposed",
            "The output projection of attention is not transposed. It is square, so no shape complains, but it is a Conv1D like the others.",
            (_MATRICES[1], "source.attn.c_proj.weight"),
            [
                *((m, m.removesuffix(".T")) for m in _MATRICES),
                (
                    _SHAPES_CHECKED,
                    "    pairs = [(m, o if m.shape == o.shape else o.T) for m, o in pairs]\n" + _SHAPES_CHECKED,
                ),
            ],
        ),
        (
            "one_not_transposed",
            "One of the Conv1D weights is not transposed: all four of a block need it.",
            *[(m, m.removesuffix(".T")) for m in _MATRICES[2:]],
            *[[(m, m.removesuffix(".T")), (_SHAPES_CHECKED, "")] for m in _MATRICES[2:]],
        ),
        (
            "reshaped",
            "The weights are reshaped instead of transposed: the shape fits then, but the numbers stand in other places. Use `.T`.",
            [(m, m.removesuffix(".T")) for m in _MATRICES]
            + [(_SHAPES_CHECKED, ""), ("mine.copy_(other)", "mine.copy_(other.reshape(mine.shape))")],
            [(m, m.removesuffix(".T")) for m in _MATRICES]
            + [(_SHAPES_CHECKED, ""), ("mine.copy_(other)", "mine.view(-1).copy_(other.flatten())")],
            (_MATRICES[0], "source.attn.c_attn.weight.reshape(-1, source.attn.c_attn.weight.shape[0])"),
            (_MATRICES[2], "source.mlp.c_fc.weight.view(block.linear1.weight.shape)"),
        ),
        (
            "everything_transposed",
            "More is transposed than the Conv1D weights: embeddings and the output layer are kept the same way on both sides.",
            (_HEAD, "(model.lm_head.weight, hf_model.lm_head.weight.T)"),
            (_WTE, "(model.token_embedding.weight, theirs.wte.weight.T)"),
            (_WPE, "(model.position_embedding.weight, theirs.wpe.weight.T)"),
            [(_WPE, "(model.position_embedding.weight, theirs.wpe.weight.T)"), (_SHAPES_CHECKED, "")],
            [(_HEAD, "(model.lm_head.weight, hf_model.lm_head.weight.T)"), (_SHAPES_CHECKED, "")],
        ),
        (
            "k_and_v_swapped",
            "Queries, keys and values are in the wrong order: c_attn has queries, keys, values side by side, and in_proj_weight stacks them "
            "in the same order.",
            *[
                [
                    (
                        _IN,
                        f"(block.self_attn.in_proj_weight, torch.cat([source.attn.c_attn.weight.T.chunk(3)[i] for i in {order}]))",
                    ),
                    (
                        _IN_BIAS,
                        f"(block.self_attn.in_proj_bias, torch.cat([source.attn.c_attn.bias.chunk(3)[i] for i in {order}]))",
                    ),
                ]
                for order in ((0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1))
            ],
            *[
                (
                    _IN,
                    f"(block.self_attn.in_proj_weight, torch.cat([source.attn.c_attn.weight.T.chunk(3)[i] for i in {order}]))",
                )
                for order in ((0, 2, 1), (1, 0, 2))
            ],
        ),
        (
            "thirds_not_transposed",
            "The three parts of c_attn are stacked but not transposed: each is [in, out] and has to become [out, in].",
            (_IN, "(block.self_attn.in_proj_weight, torch.cat(source.attn.c_attn.weight.chunk(3, dim=1)))"),
            (
                _IN,
                "(block.self_attn.in_proj_weight, torch.cat(source.attn.c_attn.weight.split(model.config.n_embd, dim=-1), dim=0))",
            ),
        ),
        (
            "split_wrongly",
            "c_attn is not cut into queries, keys and values where they are: they are three blocks of C columns each, one after the other, "
            "not taken in turn or head by head.",
            (_IN, "(block.self_attn.in_proj_weight, torch.cat([source.attn.c_attn.weight.T[i::3] for i in range(3)]))"),
            (
                _IN,
                "(block.self_attn.in_proj_weight, source.attn.c_attn.weight.T.unflatten(0, (model.config.n_head, 3, -1)).transpose(0, 1)"
                ".reshape(-1, model.config.n_embd))",
            ),
            (
                _IN,
                "(block.self_attn.in_proj_weight, source.attn.c_attn.weight.T.unflatten(0, (3, model.config.n_head, -1)).transpose(0, 1)"
                ".reshape(-1, model.config.n_embd))",
            ),
            (_IN, "(block.self_attn.in_proj_weight, source.attn.c_attn.weight.T[: model.config.n_embd].repeat(3, 1))"),
            [
                (
                    _IN,
                    "(block.self_attn.in_proj_weight, torch.cat([source.attn.c_attn.weight.T[i::3] for i in range(3)]))",
                ),
                (
                    _IN_BIAS,
                    "(block.self_attn.in_proj_bias, torch.cat([source.attn.c_attn.bias[i::3] for i in range(3)]))",
                ),
            ],
        ),
        (
            "scale_applied_twice",
            "The queries' weights are divided by √d_k on the way: the attention of nn.TransformerEncoderLayer divides the scores itself.",
            _after(
                """
                C, d_k = model.config.n_embd, model.config.n_embd // model.config.n_head
                for block in model.blocks:
                    block.self_attn.in_proj_weight.data[:C] /= math.sqrt(d_k)
                    block.self_attn.in_proj_bias.data[:C] /= math.sqrt(d_k)
                """
            ),
            _after(
                """
                C, d_k = model.config.n_embd, model.config.n_embd // model.config.n_head
                for block in model.blocks:
                    block.self_attn.in_proj_weight.data[:C] /= math.sqrt(d_k)
                """
            ),
        ),
        (
            "layers_of_the_published_model",
            "The published model's number of layers, 12, stands in your code: take it from the model.",
            (_ZIP, "((model.blocks[i], theirs.h[i]) for i in range(12))"),
            (_ZIP, "((model.blocks[i], theirs.h[i]) for i in range(6))"),
        ),
        (
            "attention_biases_forgotten",
            "Biases of attention are not copied: c_attn and c_proj have one each.",
            _left_out(_IN_BIAS, _OUT_BIAS),
            _left_out(_IN_BIAS),
            _left_out(_OUT_BIAS),
        ),
        (
            "biases_forgotten",
            "No bias is copied: every layer but the embeddings and the output layer has one.",
            _left_out(_IN_BIAS, _OUT_BIAS, _FC_BIAS, _PROJ_BIAS, _N1_BIAS, _N2_BIAS, _NF_BIAS),
            _left_out(_IN_BIAS, _OUT_BIAS, _FC_BIAS, _PROJ_BIAS),
        ),
        (
            "feed_forward_biases_forgotten",
            "Biases of the feed-forward network are not copied.",
            _left_out(_FC_BIAS, _PROJ_BIAS),
            _left_out(_FC_BIAS),
            _left_out(_PROJ_BIAS),
        ),
        (
            "norm_biases_forgotten",
            "The norms' biases are not copied: a LayerNorm has a weight and a bias.",
            _left_out(_N1_BIAS, _N2_BIAS, _NF_BIAS),
            _left_out(_N1_BIAS, _N2_BIAS),
        ),
        (
            "attention_forgotten",
            "A weight of attention is not copied: in_proj_weight and out_proj.weight belong to it.",
            _left_out(_OUT),
            _left_out(_OUT, _OUT_BIAS),
            _left_out(_IN),
            _left_out(_IN, _IN_BIAS),
            _left_out(_IN, _IN_BIAS, _OUT, _OUT_BIAS),
        ),
        (
            "feed_forward_forgotten",
            "The feed-forward network, or a layer of it, is not copied: linear1 and linear2, from mlp.c_fc and mlp.c_proj.",
            _left_out(_FC, _FC_BIAS, _PROJ, _PROJ_BIAS),
            _left_out(_FC, _FC_BIAS),
            _left_out(_PROJ, _PROJ_BIAS),
        ),
        (
            "norms_swapped",
            "The two norms of a block are swapped: ln_1 stands before attention (norm1), ln_2 before the feed-forward network (norm2).",
            [("source.ln_1", "source.ln_X"), ("source.ln_2", "source.ln_1"), ("source.ln_X", "source.ln_2")],
            [("source.ln_2", "source.ln_1")],
            [("source.ln_1", "source.ln_2")],
        ),
        (
            "norms_forgotten",
            "The blocks' norms are not copied: norm1 and norm2 have learned weights and biases.",
            _left_out(_N1, _N1_BIAS, _N2, _N2_BIAS),
            _left_out(_N1, _N1_BIAS),
            _left_out(_N2, _N2_BIAS),
        ),
        (
            "final_norm_forgotten",
            "The final norm (ln_f) is not copied: a fresh one has weights of 1 and biases of 0.",
            _left_out(_NF, _NF_BIAS),
            _left_out(_NF),
            _left_out(_NF_BIAS),
        ),
        (
            "positions_forgotten",
            "The position embedding (wpe) is not copied: it is learned in GPT-2.",
            _left_out(_WPE),
        ),
        (
            "tokens_forgotten",
            "The token embedding (wte) is not copied: when the weights are not tied, lm_head's is another matrix.",
            _left_out(_WTE),
            (_WTE, "(model.token_embedding.weight, hf_model.lm_head.weight)"),
            _left_out(_WTE, _HEAD),
        ),
        (
            "head_forgotten",
            "The output layer is not copied: with tie_word_embeddings=False it has a matrix of its own.",
            _left_out(_HEAD),
            (_HEAD, "(model.lm_head.weight, theirs.wte.weight)"),
        ),
        (
            "one_layer_for_all",
            "All blocks get the weights of one layer: the i-th block belongs to the i-th layer.",
            (_ZIP, "((block, theirs.h[0]) for block in model.blocks)"),
            (_ZIP, "((block, theirs.h[-1]) for block in model.blocks)"),
        ),
        (
            "some_blocks_only",
            "Not every block is loaded.",
            (_ZIP, "[(model.blocks[0], theirs.h[0])]"),
            (_ZIP, "list(zip(model.blocks, theirs.h))[:-1]"),
            (_ZIP, "list(zip(model.blocks, theirs.h))[1:]"),
            (_ZIP, "list(zip(model.blocks, theirs.h))[-1:]"),
        ),
        (
            "order_of_layers",
            'The layers are in another order: as text, "10" comes before "2".',
            (_ZIP, "zip(model.blocks, [theirs.h[int(i)] for i in sorted(map(str, range(len(theirs.h))))])"),
            (_ZIP, "zip(model.blocks, reversed(theirs.h))"),
        ),
        (
            "feed_forward_swapped",
            "The two layers of the feed-forward network are swapped: c_fc widens (linear1), c_proj comes back (linear2).",
            [
                (_FC, "(block.linear1.weight, source.mlp.c_proj.weight)"),
                (_PROJ, "(block.linear2.weight, source.mlp.c_fc.weight)"),
            ],
        ),
        (
            "projections_mixed_up",
            "There are two layers named c_proj in a block: attn.c_proj and mlp.c_proj. One is taken for the other.",
            [(_OUT_BIAS, "(block.self_attn.out_proj.bias, source.mlp.c_proj.bias)")],
            [(_PROJ_BIAS, "(block.linear2.bias, source.attn.c_proj.bias)")],
            [
                (_OUT_BIAS, "(block.self_attn.out_proj.bias, source.mlp.c_proj.bias)"),
                (_PROJ_BIAS, "(block.linear2.bias, source.attn.c_proj.bias)"),
            ],
        ),
        (
            "nothing_copied",
            "The model's parameters are what they were: names are bound to other tensors, but nothing is copied into the model.",
            _copied("mine = other.clone()"),
            _copied("mine.data.clone().copy_(other)"),
            "model.load_state_dict(hf_model.state_dict(), strict=False)",
            "model = hf_model",
            "return None",
            "model = type(model)(hf_model.config)\n" + textwrap.dedent(_BY_PARAMETER.split("hf_model):")[1]),
            "model.state_dict().update(hf_model.state_dict())",
            (
                "    pairs = [",
                "    import copy\n    model = copy.deepcopy(model)\n    pairs = [",
            ),
        ),
        (
            "names_as_they_are",
            "The names of Hugging Face's parameters are not those of the model: load_state_dict needs each under the name it has in the model.",
            "model.load_state_dict(hf_model.state_dict())",
            "model.load_state_dict(hf_model.transformer.state_dict())",
        ),
        (
            "in_the_order_of_the_list",
            "The parameters are paired by their order: the two models list them in different orders, and store some of them differently.",
            "with torch.no_grad():\n    for mine, other in zip(model.parameters(), hf_model.parameters()):\n        mine.copy_(other)",
            "with torch.no_grad():\n    for mine, other in zip(model.parameters(), hf_model.parameters()):\n        if mine.shape == other.shape:\n            mine.copy_(other)",
            "with torch.no_grad():\n    for mine, other in zip(model.parameters(), hf_model.parameters()):\n        mine.copy_(other.T if mine.shape != other.shape else other)",
            "nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(hf_model.parameters()).detach(), model.parameters())",
        ),
        (
            "without_no_grad",
            "A parameter cannot be changed in place while gradients are recorded: copy under `torch.no_grad()`.",
            (_COPY, "    if True:\n"),
            _copied("mine[:] = other", grad=True),
        ),
        (
            "parameters_replaced",
            "The model gets new parameter objects: an optimizer that was made before would go on training the old ones, and tied weights come "
            "apart. Copy into the parameters that are there (`.copy_`).",
            (
                _LOOP,
                "        own = {id(mine): other for mine, other in pairs}\n"
                "        for module in model.modules():\n"
                "            for name, p in list(module.named_parameters(recurse=False)):\n"
                "                setattr(module, name, nn.Parameter(own[id(p)].clone()))\n"
                "        if model.config.tie_word_embeddings:\n"
                "            model.lm_head.weight = model.token_embedding.weight\n",
            ),
            (
                _LOOP,
                _LOOP + "        model.position_embedding.weight = nn.Parameter(theirs.wpe.weight.clone())\n",
            ),
            (
                _LOOP,
                _LOOP + "        for block, source in zip(model.blocks, theirs.h):\n"
                "            block.linear1.weight = nn.Parameter(source.mlp.c_fc.weight.T.clone())\n",
            ),
            _BY_PARAMETER.replace(
                "load_state_dict(state)",
                "load_state_dict({k: v.clone() for k, v in state.items()}, assign=True)\n        if model.config.tie_word_embeddings:\n            model.lm_head.weight = model.token_embedding.weight",
            ),
            _after(
                "model.blocks = nn.ModuleList(list(model.blocks))\nimport copy\nmodel.final_norm = copy.deepcopy(model.final_norm)"
            ),
        ),
        (
            "untied",
            "The output layer gets a matrix of its own although the weights are tied: the numbers agree at first and drift apart in training. "
            "Copy into the shared one.",
            _after("model.lm_head.weight = nn.Parameter(hf_model.lm_head.weight.detach().clone())"),
            _after("model.lm_head.weight = nn.Parameter(model.token_embedding.weight.detach().clone())"),
            _after("model.token_embedding.weight = nn.Parameter(theirs.wte.weight.detach().clone())"),
            _after(
                "model.lm_head = nn.Linear(model.config.n_embd, model.config.vocab_size, bias=False)\nmodel.lm_head.weight.data.copy_(hf_model.lm_head.weight)"
            ),
        ),
        (
            "always_tied",
            "The output layer is tied to the token embedding whatever the configuration says.",
            _after("model.lm_head.weight = model.token_embedding.weight"),
        ),
        (
            "memory_shared",
            "The model's parameters share their memory with hf_model: training one would change the other. Copy the values.",
            _copied("mine.data = other.data"),
            _copied("mine.data = other.detach()"),
            _copied("mine.set_(other)"),
        ),
        (
            "modules_shared",
            "Layers of hf_model itself are put into the model: training one would change the other. Copy the values into the model's own.",
            _after("model.token_embedding = theirs.wte\nmodel.lm_head = hf_model.lm_head"),
            _after("model.final_norm = theirs.ln_f"),
            _after(
                "for block, source in zip(model.blocks, theirs.h):\n    block.norm1, block.norm2 = source.ln_1, source.ln_2"
            ),
            _after("model.position_embedding = theirs.wpe"),
        ),
        (
            "requires_grad_lost",
            "The model cannot be trained after loading: its parameters have requires_grad=False. Only the copying needs `torch.no_grad()`.",
            _copied("mine.requires_grad_(False).copy_(other)", grad=True),
            _after("for p in model.parameters():\n    p.requires_grad = False"),
            _after("model.requires_grad_(False)"),
        ),
        (
            "hf_model_changed",
            "hf_model is changed: whoever passed it still needs it. Transpose a view (`.T`), not its own weights.",
            _after("for source in theirs.h:\n    source.mlp.c_fc.weight.data = source.mlp.c_fc.weight.data.T"),
            _after("hf_model.transformer.h = nn.ModuleList()"),
            _after("hf_model.transformer.wte.weight.data.zero_()"),
            _after("hf_model.requires_grad_(False)"),
        ),
        (
            "forward_replaced",
            "The model asks hf_model for the logits instead of having its weights: copy them.",
            "model.forward = lambda ids, targets=None: (hf_model(ids).logits, None)",
            "model.forward = lambda ids, targets=None: (hf_model.eval()(ids).logits, None)",
        ),
        (
            "hf_model_inside",
            "hf_model is put into the model: the weights belong into the model's own parameters.",
            "model.hf_model = hf_model\nmodel.forward = lambda ids, targets=None: (model.hf_model(ids).logits, None)",
            "model.transformer = hf_model.transformer",
        ),
        (
            "hf_model_kept",
            "hf_model is kept inside the model, which now has all parameters twice: only their values are wanted.",
            _after("model.hf_model = hf_model"),
            _after("model.source = hf_model.transformer"),
        ),
        (
            "activation_overwritten",
            "The activation is set to one GELU for all: the model has that of its configuration already (another GPT-2 may use another).",
            _after('for block in model.blocks:\n    block.activation = partial(F.gelu, approximate="tanh")'),
            _after("for block in model.blocks:\n    block.activation = F.gelu"),
            _after('for block in model.blocks:\n    block.activation = nn.GELU(approximate="tanh")'),
        ),
        (
            "epsilon_overwritten",
            "The norms' epsilon is overwritten: the model has that of its configuration already.",
            _after(
                "for module in model.modules():\n    if isinstance(module, nn.LayerNorm):\n        module.eps = 1e-5"
            ),
            _after("model.final_norm.eps = 1e-5"),
        ),
        (
            "precision_lost",
            "The numbers are rounded on the way (`.half()`, `.float()`, NumPy): float64 should arrive in float64.",
            _copied("mine.copy_(other.float())"),
            _copied("mine.copy_(torch.tensor(other.detach().float().numpy()))"),
        ),
        (
            "half_precision",
            "The numbers are rounded to half precision on the way.",
            _copied("mine.copy_(other.half())"),
            _copied("mine.copy_(other.bfloat16())"),
        ),
        (
            "dtype_forced",
            "The model's dtype is changed: float64 should stay float64.",
            _after("model.float()"),
            _copied("mine.data = other.float().clone()"),
        ),
        (
            "added",
            "The weights are added to those that are there: replace them.",
            _copied("mine.add_(other)"),
            _copied("mine += other"),
        ),
        (
            "layers_not_compared",
            "An hf_model with another number of layers is loaded in part, and nobody notices: compare the numbers, and raise a ValueError.",
            [(_LAYERS_CHECKED, ""), (_ZIP, "zip(model.blocks, theirs.h)")],
            [
                (_LAYERS_CHECKED, ""),
                (_ZIP, "((model.blocks[i], source) for i, source in enumerate(theirs.h) if i < len(model.blocks))"),
            ],
        ),
        (
            "shapes_not_compared",
            "Other sizes should be a ValueError that says what does not fit: here PyTorch's own error appears, after half of the model has "
            "been overwritten.",
            (_SHAPES_CHECKED, ""),
            [
                (_SHAPES_CHECKED, ""),
                (_LAYERS_CHECKED, ""),
                (_ZIP, "((block, theirs.h[i]) for i, block in enumerate(model.blocks))"),
            ],
            _BY_PARAMETER.replace("except RuntimeError", "except KeyError"),
        ),
        (
            "assertion",
            "Bad input should raise a ValueError, not an AssertionError: `if …: raise ValueError(…)`.",
            [
                (_SHAPES_CHECKED, "    for mine, other in pairs:\n        assert mine.shape == other.shape\n"),
                (_LAYERS_CHECKED, "    assert len(theirs.h) == len(model.blocks)\n"),
            ],
        ),
    ),
)


# --- attention_maps ---------------------------------------------------------------------------------------------------

_LOOKERS = (
    _Sizes(2, 4, 16, 24, seed=21),
    _Sizes(3, 2, 12, 30, seed=22, more=(UNTIED, ("activation_function", "relu"))),
    _Sizes(4, 5, 20, 20, seed=23, more=(("n_inner", 11),)),
)
_SMALLEST = (_Sizes(1, 3, 12, 20, seed=24), _Sizes(3, 1, 8, 20, seed=25), _Sizes(1, 1, 8, 20, seed=26))


@cache
def _weights(sizes: _Sizes, text: str, dtype: str) -> torch.Tensor:
    ids = torch.tensor([_tokenizer()(text).input_ids])
    with torch.no_grad():
        return torch.cat(_own(sizes, dtype)(ids, output_attentions=True).attentions)


def _same_maps(value: Any, sizes: _Sizes, text: str, where: str) -> None:
    weights = a_tensor(a_pair(value, "(tokens, weights)")[1], f"The second of the results, the weights, {where}")
    dtype = dtype_name(weights) if "float64" in where else "float32"
    expected = _weights(sizes, text, "float64" if "float64" in where else dtype)
    L, H, T, _ = expected.shape
    where = f"for L = {L}, H = {H}, T = {T} {where}"
    if weights.shape == expected.shape and weights.dtype == expected.dtype and not close(weights, expected):
        rows = weights.sum(-1)
        if not torch.allclose(rows, torch.ones_like(rows), atol=1e-3):
            raise Wrong(
                f"The rows do not sum to 1 {where}: is each row one position's weights over what it looks at?", "rows"
            )
        if T > 1 and weights.triu(1).abs().max() > 1e-4:
            raise Wrong(f"Positions look at later ones {where}: GPT-2's attention is causal.", "sees_the_future")
    same_tensor(weights, expected, "The weights", where)


def _same_names(value: Any, text: str, where: str) -> None:
    tokens = a_pair(value, "(tokens, weights)")[0]
    if type(tokens) not in (list, tuple):
        raise Wrong(
            f"The first of the results should be a list of tokens {where}; yours is {kind(tokens)}.", "not_a_list"
        )
    ids = _tokenizer()(text).input_ids
    if len(tokens) != len(ids):
        raise Wrong(f"There should be one string for each of the {len(ids)} tokens {where}; yours are {len(tokens)}.")
    for place, (token, expected) in enumerate(zip(tokens, ids, strict=True), start=1):
        if type(token) is not str:
            raise Wrong(
                f"The tokens should be strings {where}; yours are {kind(token)}: decode the ids.", "ids_for_tokens"
            )
        if token.strip() not in {form.strip() for form in _forms(expected)}:
            raise Wrong(f"Token {place} is not the right one {where}.")


def _maps(student: Any, sizes: _Sizes, text: str) -> tuple[Any, str]:
    where = f'for "{text}"'
    return _asked(
        student, "attention_maps", [_model(student, sizes), _their_tokenizer(student), text], where=where
    ), where


def _maps_values(student: Any) -> None:
    for sizes, text in zip(_LOOKERS, (_DOG, " the birds sing because", "The dog was"), strict=True):
        with student.case():
            got, where = _maps(student, sizes, text)
            _same_maps(got, sizes, text, where)


def _maps_small(student: Any) -> None:
    for sizes, text in zip(_SMALLEST, ("The dog", _DOG, " it was thirsty"), strict=True):
        with student.case():
            got, where = _maps(student, sizes, text)
            _same_maps(got, sizes, text, where)
    for sizes in (_LOOKERS[0], _SMALLEST[2]):
        with student.case():
            got, where = _maps(student, sizes, ".")
            _same_maps(got, sizes, ".", where)


def _maps_tokens(student: Any) -> None:
    for sizes, text in zip(_LOOKERS, (_DOG, "é, the é!", "."), strict=True):
        with student.case():
            got, where = _maps(student, sizes, text)
            _same_names(got, text, where)


def _maps_manners(student: Any) -> None:
    sizes = replace(_LOOKERS[0], seed=27, more=DROPOUT)

    def same(value: Any, where: str) -> None:
        _same_maps(value, sizes, _DOG, where)

    _manners(student, "attention_maps", [_their_tokenizer(student), _DOG], same, sizes)
    with student.case():  # whatever way of computing attention the model comes with
        model = _model(student, sizes)
        student.call((model, "set_attn_implementation"), ["eager"])
        same(
            _asked(student, "attention_maps", [model, _their_tokenizer(student), _DOG]),
            "with eager attention from the start",
        )


def _maps_refused(student: Any) -> None:
    with student.case():
        got, where = _maps(student, _LOOKERS[2], "The dog")
        _same_maps(got, _LOOKERS[2], "The dog", where)
        args = [_model(student, _LOOKERS[2]), _their_tokenizer(student), ""]
        _refused(student, "attention_maps", args, "A text without tokens")


_CAT = "weights = torch.cat(attentions)"
_MAPS_RETURN = "return [tokenizer.decode([i]) for i in ids[0].tolist()], weights"
_TOKENS = "[tokenizer.decode([i]) for i in ids[0].tolist()]"
_EAGER = (
    '    model.set_attn_implementation("eager")  # the default, "sdpa", is faster because it never keeps the weights\n'
)
_BACK = "    model.set_attn_implementation(implementation)\n"
_MAPS_RUN = "attentions = model(ids, output_attentions=True).attentions"
_MAPS_EMPTY = '    if ids.shape[1] == 0:\n        raise ValueError("text has no tokens")\n'

# The weights computed by hand, from each layer's queries and keys.
_BY_HAND = """
ids = tokenizer(text, return_tensors="pt").input_ids.to(model.device)
if ids.numel() == 0:
    raise ValueError("text has no tokens")
mode = model.training
model.eval()
H, T = model.config.n_head, ids.shape[1]
with torch.no_grad():
    states = model(ids, output_hidden_states=True).hidden_states
    maps = []
    for x, block in zip(states, model.transformer.h):
        q, k, _ = block.attn.c_attn(block.ln_1(x)).chunk(3, dim=-1)
        q, k = (t.unflatten(-1, (H, -1)).transpose(1, 2) for t in (q, k))
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        future = torch.ones(T, T, dtype=torch.bool, device=ids.device).triu(1)
        maps.append(scores.masked_fill(future, -torch.inf).softmax(-1)[0])
model.train(mode)
return tokenizer.convert_ids_to_tokens(ids[0].tolist()), torch.stack(maps)
"""
_SCORES = "maps.append(scores.masked_fill(future, -torch.inf).softmax(-1)[0])"

ATTENTION_MAPS = Exercise(
    name="attention_maps",
    notebook=NOTEBOOK,
    points=4,
    reference=attention_maps,
    checks=[
        Check("every layer and head of several models", 1.5, _maps_values),
        Check("one layer, one head, one token", 0.75, _maps_small),
        Check("the tokens", 0.75, _maps_tokens),
        Check("either mode, float64, any device, the model as it was", 0.75, _maps_manners),
        Check("a text without tokens", 0.25, _maps_refused),
    ],
    working=_coded(attention_maps, _BY_HAND),
    alternatives=_alternatives(
        attention_maps,
        the_usual_way="""
            inputs = tokenizer(text, return_tensors="pt").to(model.device)
            if inputs["input_ids"].shape[-1] == 0:
                raise ValueError("text is empty")
            was = model.training
            model.eval()
            model.set_attn_implementation("eager")
            with torch.no_grad():
                outputs = model(**inputs, output_attentions=True)
            if was:
                model.train()
            weights = torch.stack([a[0] for a in outputs.attentions], dim=0)
            tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
            return tokens, weights
        """,
        by_the_config="""
            enc = tokenizer([text], return_tensors="pt")
            if not enc.input_ids.numel():
                raise ValueError("no tokens in text")
            mode, old = model.training, model.config._attn_implementation
            model.config._attn_implementation = "eager"
            try:
                with torch.inference_mode():
                    out = model.eval().transformer(enc.input_ids.to(model.device), output_attentions=True)
            finally:
                model.config._attn_implementation = old
                model.train(mode)
            return enc.tokens(), torch.stack(out.attentions, dim=1).squeeze(0).clone()
        """,
        by_hooks="""
            ids = tokenizer.encode(text)
            if not ids:
                raise ValueError("text has no tokens")
            kept = []
            mode, before = model.training, model.config._attn_implementation
            model.set_attn_implementation("eager")
            model.eval()
            hooks = [b.attn.register_forward_hook(lambda m, i, o: kept.append(o[1].detach())) for b in model.transformer.h]
            with torch.no_grad():
                model(torch.tensor(ids, device=model.device)[None])
            for hook in hooks:
                hook.remove()
            model.set_attn_implementation(before)
            model.train(mode)
            return [tokenizer.decode(i) for i in ids], torch.vstack(kept)
        """,
        by_a_copy="""
            import copy
            ids = tokenizer(text, return_tensors="pt").input_ids.to(model.device)
            if ids.shape[1] < 1:
                raise ValueError("text")
            twin = copy.deepcopy(model).eval()
            twin.set_attn_implementation("eager")
            layers = twin(ids, output_attentions=True).attentions
            weights = ids.new_zeros(len(layers), *layers[0].shape[1:], dtype=layers[0].dtype)
            for n, layer in enumerate(layers):
                weights[n] = layer.squeeze(0).detach()
            return tuple(tokenizer.batch_decode(ids[0].unsqueeze(-1))), weights
        """,
    ),
    mistakes=_mistakes(
        attention_maps,
        (
            "fused_attention",
            "The fused attention (sdpa, the default) never keeps its weights, so there are none to stack: call "
            '`model.set_attn_implementation("eager")` first.',
            (_EAGER, ""),
            [(_EAGER, ""), (_CAT, "weights = torch.stack(attentions)[:, 0]")],
            [(_EAGER, ""), (_CAT, "weights = torch.stack([a[0] for a in attentions])")],
            [(_EAGER, ""), (_CAT, "weights = attentions[0]")],
            (_MAPS_RUN, "attentions = model(ids).attentions"),
        ),
        (
            "batch_kept",
            "The batch dimension is still there: each layer gives [1, H, T, T], and [L, H, T, T] is asked for.",
            (_CAT, "weights = torch.stack(attentions)"),
            (_CAT, "weights = torch.stack(attentions, dim=1)"),
            (_CAT, "weights = torch.cat(attentions)[None]"),
        ),
        (
            "dimensions_squeezed",
            "`squeeze()` without a dimension removes all of size 1, so one layer, one head or one token loses its dimension too: "
            "name the batch dimension.",
            (_CAT, "weights = torch.stack(attentions).squeeze()"),
            (_CAT, "weights = torch.stack([a.squeeze() for a in attentions])"),
        ),
        (
            "layers_and_heads_swapped",
            "Layers and heads are the wrong way round: weights[l, h] is the map of head h in layer l.",
            (_CAT, "weights = torch.cat(attentions).transpose(0, 1)"),
            (_CAT, "weights = torch.stack([a[0] for a in attentions], dim=1)"),
            (
                _CAT,
                "weights = torch.cat([a[0] for a in attentions]).view(attentions[0].shape[1], -1, *attentions[0].shape[2:])",
            ),
        ),
        (
            "joined_along_the_heads",
            "The layers are joined along the heads: L and H are two dimensions.",
            (_CAT, "weights = torch.cat(attentions, dim=1)"),
            (_CAT, "weights = torch.cat(attentions, dim=1)[0]"),
            (_CAT, "weights = torch.cat(attentions).flatten(0, 1)"),
        ),
        (
            "heads_averaged",
            "The heads are averaged: each head has a map of its own.",
            (_CAT, "weights = torch.cat(attentions).mean(dim=1)"),
            (_CAT, "weights = torch.cat(attentions).mean(dim=1, keepdim=True)"),
            (
                _CAT,
                "weights = torch.cat(attentions).mean(dim=1, keepdim=True).expand_as(torch.cat(attentions)).clone()",
            ),
            (_CAT, "weights = torch.cat(attentions).amax(dim=1)"),
        ),
        (
            "layers_averaged",
            "The layers are averaged: each layer has its own maps.",
            (_CAT, "weights = torch.cat(attentions).mean(dim=0)"),
            (_CAT, "weights = torch.cat(attentions).mean(dim=0, keepdim=True)"),
        ),
        (
            "one_layer",
            "Only one layer is returned: outputs.attentions has one tensor for each, and all of them are asked for.",
            (_CAT, "weights = attentions[0]"),
            (_CAT, "weights = attentions[0][0]"),
            (_CAT, "weights = attentions[-1]"),
            (_CAT, "weights = attentions[-1][0]"),
            (_CAT, "weights = torch.cat(attentions[:1] * len(attentions))"),
            (_CAT, "weights = torch.cat(attentions[-1:] * len(attentions))"),
            (_CAT, "weights = torch.cat(attentions[:-1]) if len(attentions) > 1 else attentions[0]"),
        ),
        (
            "layers_reversed",
            "The layers are in the wrong order: layer 0 is the one next to the embeddings.",
            (_CAT, "weights = torch.cat(attentions[::-1])"),
            (_CAT, "weights = torch.cat(attentions).flip(0)"),
        ),
        (
            "one_head",
            "Only one head of each layer is returned.",
            (_CAT, "weights = torch.cat(attentions)[:, 0]"),
            (_CAT, "weights = torch.cat(attentions)[:, :1]"),
        ),
        (
            "transposed",
            "The maps are transposed: a row belongs to the position that looks and sums to 1, a column to the one looked at.",
            (_CAT, "weights = torch.cat(attentions).mT"),
            (_CAT, "weights = torch.cat(attentions).transpose(-2, -1).contiguous()"),
            (_CAT, "weights = torch.cat(attentions).permute(0, 1, 3, 2)"),
        ),
        (
            "last_position",
            "Only what the last position looks at is returned: every position has its row.",
            (_CAT, "weights = torch.cat(attentions)[:, :, -1]"),
            (_CAT, "weights = torch.cat(attentions)[:, :, -1:]"),
        ),
        (
            "first_token_dropped",
            "The first token is left out, or its column set to 0: that much weight falls on it is how GPT-2 works, and worth seeing.",
            (_CAT, "weights = torch.cat(attentions)[..., 1:, 1:]"),
            (_CAT, "weights = torch.cat(attentions)\n    weights[..., 0] = 0"),
            (_CAT, "weights = torch.cat(attentions)\n    weights[..., 1:, 0] = 0"),
            (
                _CAT,
                "weights = torch.cat(attentions)\n    weights[..., 1:, 0] = 0\n    weights = weights / weights.sum(-1, keepdim=True)",
            ),
        ),
        (
            "scaled_by_the_largest",
            "The weights are divided by the largest, for the picture: leave them as they are, so that rows sum to 1.",
            (_CAT, "weights = torch.cat(attentions)\n    weights = weights / weights.amax(dim=-1, keepdim=True)"),
        ),
        (
            "softmax_twice",
            "A softmax is taken of the weights: the model has taken it already.",
            (_CAT, "weights = torch.cat(attentions).softmax(dim=-1)"),
        ),
        (
            "logarithms",
            "These are logarithms of the weights: rows of weights sum to 1.",
            (_CAT, "weights = torch.cat(attentions).log()"),
        ),
        (
            "scores",
            "These are scores, before the softmax (or what they are divided by, or the mask, is missing): the weights are asked for.",
            _BY_HAND.replace(_SCORES, "maps.append(scores[0])"),
            _BY_HAND.replace(_SCORES, "maps.append(scores.masked_fill(future, -torch.inf)[0])"),
            _BY_HAND.replace(_SCORES, "maps.append(scores.tril()[0])"),
        ),
        (
            "no_mask",
            "The causal mask is missing: positions look at later ones, which GPT-2's never do.",
            _BY_HAND.replace(_SCORES, "maps.append(scores.softmax(-1)[0])"),
            _BY_HAND.replace(_SCORES, "maps.append(scores.softmax(-1).tril()[0])"),
        ),
        (
            "not_scaled",
            "The scores are not divided by √d_k, as the model does.",
            _BY_HAND.replace(" / math.sqrt(q.shape[-1])", ""),
            _BY_HAND.replace("math.sqrt(q.shape[-1])", "math.sqrt(x.shape[-1])"),
        ),
        (
            "no_norm",
            "Queries and keys are computed from the residual stream itself: each block normalises it first (ln_1).",
            _BY_HAND.replace("block.ln_1(x)", "x"),
        ),
        (
            "heads_split_wrongly",
            "The heads are cut wrongly out of the queries and keys: split the last dimension into (H, d_k), then transpose.",
            _BY_HAND.replace("t.unflatten(-1, (H, -1)).transpose(1, 2)", "t.reshape(1, H, T, -1)"),
            _BY_HAND.replace(
                "t.unflatten(-1, (H, -1)).transpose(1, 2)", "t.unflatten(-1, (-1, H)).permute(0, 3, 1, 2)"
            ),
        ),
        (
            "hidden_states",
            "These are the hidden states, not the attention weights: ask for `output_attentions=True`.",
            (_MAPS_RUN, "attentions = model(ids, output_hidden_states=True).hidden_states"),
            (_MAPS_RUN, "attentions = model(ids, output_hidden_states=True).hidden_states[1:]"),
        ),
        (
            "logits",
            "These are the logits of the next token: ask for `output_attentions=True`, and take `.attentions`.",
            (_MAPS_RUN, "attentions = [model(ids, output_attentions=True).logits]"),
            (_MAPS_RUN, "attentions = [model(ids, output_attentions=True)[0]]"),
        ),
        (
            "not_a_tensor",
            "The weights are a tuple or list with one tensor for each layer: make one tensor of them.",
            (_CAT, "weights = attentions"),
            (_CAT, "weights = [a[0] for a in attentions]"),
            (_CAT, "weights = torch.cat(attentions).tolist()"),
            (_CAT, "weights = torch.cat(attentions).numpy()"),
        ),
        (
            "float32_forced",
            "The weights should keep the model's dtype.",
            (_CAT, "weights = torch.cat(attentions).float()"),
            (_CAT, "weights = torch.cat(attentions).half().float()"),
        ),
        (
            "half",
            "The weights lose precision: keep the model's dtype.",
            (_CAT, "weights = torch.cat(attentions).half()"),
        ),
        (
            "ids_for_tokens",
            "The tokens are ids: decode each of them, or use `tokenizer.convert_ids_to_tokens`.",
            (_TOKENS, "ids[0].tolist()"),
            (_TOKENS, "ids[0]"),
            (_TOKENS, "ids"),
            (_TOKENS, "[str(i) for i in ids[0].tolist()]"),
            (_TOKENS, "list(ids[0])"),
        ),
        (
            "one_string",
            "The tokens are decoded together, as one string: one string for each token is asked for.",
            (_TOKENS, "tokenizer.decode(ids[0])"),
            (_TOKENS, "tokenizer.batch_decode(ids)"),
            (_TOKENS, "text"),
            (_TOKENS, "[text]"),
            (_TOKENS, "list(tokenizer.decode(ids[0]))"),
            (_TOKENS, "list(text)"),
        ),
        (
            "words_for_tokens",
            "These are the words of the text: the model reads tokens, and a word may be several.",
            (_TOKENS, "text.split()"),
            (_TOKENS, 're.findall(r"\\w+|[^\\w\\s]", text)'),
        ),
        (
            "pair_swapped",
            "The results are the wrong way round: (tokens, weights).",
            (_MAPS_RETURN, f"return weights, {_TOKENS}"),
        ),
        (
            "only_the_weights",
            "Only the weights are returned: (tokens, weights) is asked for.",
            (_MAPS_RETURN, "return weights"),
        ),
        (
            "a_dict",
            "The tuple (tokens, weights) is asked for.",
            (_MAPS_RETURN, f'return {{"tokens": {_TOKENS}, "weights": weights}}'),
            (_MAPS_RETURN, f"return [{_TOKENS}, weights]"),
        ),
        ("dropout_left_on", _DROPOUT, ("    model.eval()  # no dropout: with it, rows would not sum to 1\n", "")),
        (
            "mode_not_restored",
            _RESTORE,
            ("    model.train(was_training)\n", ""),
            ("model.train(was_training)", "model.train()"),
        ),
        ("device_not_kept", _DEVICE, (_TO, "")),
        (
            "model_frozen",
            "The model's parameters lose requires_grad: use `torch.no_grad()`, which ends with the block.",
            ("model.eval()  # no dropout: with it, rows would not sum to 1", "model.eval().requires_grad_(False)"),
        ),
        (
            "empty_text_accepted",
            "A text without tokens crashes inside the model: refuse it with a ValueError.",
            (_MAPS_EMPTY, ""),
        ),
        ("nothing_returned", _NOTHING, ("return [", "result = ["), (_MAPS_RETURN, "print(weights)")),
    ),
)


EXERCISES: list[Exercise] = [DESCRIBE_MODEL, TOP_NEXT_TOKENS, TEXT_PERPLEXITY, LOAD_GPT2_WEIGHTS, ATTENTION_MAPS]
QUESTIONS = [
    Question(
        name="q11_1",
        notebook="10-hugging-face-gpt2",
        points=1,
        key="C",
        explanations={
            "A": (
                "It does sound like something a tokenizer would tidy away. But GPT-2's throws nothing away: "
                "every text comes back exactly. Look at what the notebook printed for the text with the space at "
                "its end."
            ),
            "B": (
                "The text is indeed one token longer. But a prompt that is one *word* longer causes no such "
                "trouble, at the same position. So what is special about this token, rather than about its "
                "place?"
            ),
            "C": (
                "Yes. In the training data a word such as ␣water is one token, space included. A space of its "
                "own stands there before other spaces or unusual characters, so after it the model expects "
                "anything but an ordinary word."
            ),
            "D": (
                "In a byte-level vocabulary every byte has its entry, the space among them: the notebook printed "
                "it as Ġ. There is no unknown token at all. So the row is trained; the question is by what."
            ),
        },
    ),
    Question(
        name="q11_2",
        notebook="10-hugging-face-gpt2",
        points=1,
        key="A",
        explanations={
            "A": (
                "Yes: 50,257 · 768 = 38,597,376. The two names belong to one tensor. The state dict lists names, "
                "parameters() lists tensors."
            ),
            "B": (
                "Older versions of the library did keep masks among the buffers, which makes this a good "
                "thought. But count them: twelve masks of 1,024 × 1,024 would be 12,582,912 numbers. And print "
                "the names: is there a mask?"
            ),
            "C": (
                "AdamW keeps two averages for each weight, which would be twice 124 million numbers, and they "
                "are in the optimiser's state dict, not in the model's. Divide the surplus by 768, the width. Do "
                "you know the result?"
            ),
            "D": (
                "The state dict has one bias for c_attn, of 3 · 768 numbers, in each of 12 layers: 27,648 in "
                "all. That is far too little. Divide the surplus by 768, the width. Do you know the result?"
            ),
        },
    ),
    Question(
        name="q11_3",
        notebook="10-hugging-face-gpt2",
        points=1,
        key="D",
        explanations={
            "A": (
                "One choice among 3 is easier than one among 20. But Q has to make four of them where P makes "
                "one. How many possibilities do four choices among 3 make together?"
            ),
            "B": (
                "Dividing by the number of characters is the right thought, but perplexities are not shared like "
                "a sum: choices multiply. Four choices among 5 would be one among 625, not among 20. What does "
                "add up along a text?"
            ),
            "C": (
                "Perplexities per token cannot be compared as they stand, that is true. But both models give a "
                "probability to the whole text, and the text is the same. What would you have to know to get "
                "from one to the other? Is it given?"
            ),
            "D": (
                "Yes. Log-probabilities add up, so nats can be shared among characters: ln 20 / 4 = 0.75 for P "
                "and ln 3 = 1.10 for Q. Put as choices: four characters are one choice among 20 for P, and one "
                "among 3⁴ = 81 for Q."
            ),
        },
    ),
    Question(
        name="q11_4",
        notebook="10-hugging-face-gpt2",
        points=1,
        key="A",
        explanations={
            "A": (
                "Yes. The weights say how much of each position's value goes into the head's output, and the "
                "output is added to the stream. Whether a later layer makes any use of it is another question, "
                "and needs an experiment."
            ),
            "B": (
                "It is the natural reading, and it may even be true. But heads look at words for many reasons, "
                "such as their position or their rarity, and what is read need not be used. What would you "
                "expect to see in a model that looks there and does not understand?"
            ),
            "C": (
                "Perhaps, but the weight does not tell. Other heads may carry the same information, and later "
                "layers may ignore what this one writes. In the scatter plot, do all dots far to the right lie "
                "high?"
            ),
            "D": (
                "The weights of one head are shares of *its* output. That is one term of many in the stream: "
                "there are other heads and layers, the feed-forward networks, and the token itself. And the "
                "value vectors may be long or short."
            ),
        },
    ),
    Question(
        name="q11_5",
        notebook="10-hugging-face-gpt2",
        points=1,
        key="B",
        explanations={
            "A": (
                "A shape check only sees sizes. Compare a matrix with its transpose: when do they have the same "
                "shape? Is there such a matrix in the list of a block's tensors?"
            ),
            "B": (
                "Yes. A [C, C] matrix has the same shape as its transpose, so nothing complains, and the "
                "attention output of every block is wrong. Only comparing outputs, or the layers one by one, "
                "finds it."
            ),
            "C": (
                "Each third of it is square, but the matrix as a whole is [C, 3C], and in_proj_weight is [3C, "
                "C]. PyTorch compares the whole shapes, so it complains. What happens to the three parts when "
                "the whole is transposed?"
            ),
            "D": (
                "Their shapes are each other's transposes, so a swap would go unnoticed. But whoever copies by "
                "name does not swap them, and without a transpose each one's own place complains. So these two "
                "get mended."
            ),
        },
    ),
]
