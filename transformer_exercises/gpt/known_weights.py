"""A student's GPT with known weights, and Hugging Face's GPT-2 with the same ones."""

import contextlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec import (
    Student,
    Wrong,
    a_pair,
    call_probe,
    normal,
    of_shape,
    reference,
    same_gradients,
    same_tensor,
)

from .configurations import Config, GPTConfig, their_config

GPT = reference("GPT")
Weights = dict[str, torch.Tensor]

# look: what the judge sees of a GPT; its parameters by name (those that share a tensor under each of their names).
# bypass: the blocks let everything through, so that what is left is the way from the embeddings to the head.
# start: how the weights start, and the loss with them, rounded so far that chance plays no part.
# chance: whether chance is at work in each mode. `inside`: with the dropout that follows the embeddings switched off.
_PROBES = """
def look(model, config, parts):
    if not isinstance(model, nn.Module):
        return None
    named = dict(model.named_parameters(remove_duplicate=False))
    asked = {id(p) for name, p in named.items() if name.split(".")[0] in parts}
    # A part may have a second name, as in a ModuleDict; lm_head and token_embedding, tied, are listed both
    named = {name: p for name, p in named.items() if name.split(".")[0] in parts or id(p) not in asked}
    own = getattr(model, "config", None)
    first = {id(p): name for name, p in reversed(named.items())}
    head, tokens = named.get("lm_head.weight"), named.get("token_embedding.weight", named.get("token_embedding"))
    return {
        "parameters": {name: list(p.shape) for name, p in named.items()},
        "frozen": [name for name, p in named.items() if not p.requires_grad],
        "shared": [name for name, p in named.items() if name.startswith("blocks.") and first[id(p)] != name],
        "count": sum(p.numel() for p in model.parameters()),
        "tied": head is not None and head is tokens,
        "config": own is not None and all(getattr(own, k, None) == v for k, v in vars(config).items()),
        "missing": [name for name in parts if not hasattr(model, name)],
    }

def bypass(model):
    blocks = model.blocks
    listed = isinstance(blocks, (nn.ModuleList, nn.Sequential, nn.ModuleDict))
    for block in list(blocks.children()) if listed else [blocks]:
        if isinstance(block, nn.Dropout):
            continue  # a part of the way to the head, not a block
        def through(*args, __own=block.forward, **kwargs):
            out = __own(*args, **kwargs)
            x = args[0] if args else next(iter(kwargs.values()))
            return (x, *out[1:]) if isinstance(out, tuple) else x
        block.forward = through

def start(model, ids, targets, ln_V):
    model.eval()
    with torch.no_grad():
        loss = model(ids, targets)[1]
    named = dict(model.named_parameters(remove_duplicate=False))
    matrices, flat = ({n: p for n, p in named.items() if (p.dim() > 1) == whether} for whether in (True, False))
    return {
        "loss": round(float(loss) - ln_V, 1),
        "spread": {n: round(float(p.std()) / 0.02, 1) for n, p in matrices.items()},
        "middle": {n: round(float(p.mean()) / 0.02, 1) for n, p in matrices.items()},
        "norms": {n: round(float((p - 1).abs().max()), 2) for n, p in flat.items() if n.endswith("weight")},
        "biases": {n: round(float(p.abs().max()), 2) for n, p in flat.items() if n.endswith("bias")},
    }

def chance(model, ids, inside):
    if inside:
        for child in model.children():
            if isinstance(child, nn.Dropout):
                child.p = 0.0
    found = {}
    for training in (True, False):
        model.train(training)
        with torch.no_grad():
            first, second = (model(ids.clone())[0] for _ in range(2))  # one that changes its input has no dropout
        found["training" if training else "eval"] = not torch.allclose(first, second, atol=1e-5, equal_nan=True)
    return found

def quiet(model, ids):
    with torch.no_grad():
        return model.eval()(ids)[0]

class NoNumbers(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if getattr(func, "__name__", "") in ("normal_", "uniform_", "zero_", "fill_") and args:
            return args[0]
        return func(*args, **(kwargs or {}))

def count(model, config):
    with torch.device("meta"), NoNumbers():
        return sum(p.numel() for p in type(model)(config).parameters())
"""
_PARTS = ("token_embedding", "position_embedding", "blocks", "final_norm", "lm_head")


def canonical(name: str) -> str:
    """Return the reference's name of a parameter.

    nn.TransformerEncoder keeps its layers under `layers`, and a table may be an nn.Parameter itself.
    """
    table = name in ("token_embedding", "position_embedding")
    return f"{name}.weight" if table else name.replace("blocks.layers.", "blocks.")


def _sized(name: str, numbers: torch.Tensor) -> torch.Tensor:
    """Return normal numbers as weights of this name: unit-sized activations, no bias zero, no norm trivial."""
    if numbers.dim() > 1:
        return (0.7 if "embedding" in name or "lm_head" in name else 0.35) * numbers
    return 1 + 0.3 * numbers if name.endswith("weight") else 0.4 * numbers


@lru_cache(128)  # holds all that are known; those drawn for a hand-in are used once
def _weights(sizes: tuple, seed: int, dtype: torch.dtype) -> Weights:
    """Return weights for every parameter of the reference."""
    generator = torch.Generator().manual_seed(7000 + seed)
    with torch.device("meta"):
        model = GPT(GPTConfig(*sizes))
    shapes = {name: p.shape for name, p in model.named_parameters(remove_duplicate=False)}
    drawn = {name: torch.randn(shape, generator=generator, dtype=torch.float64) for name, shape in shapes.items()}
    state = {name: _sized(name, numbers).to(dtype) for name, numbers in drawn.items()}
    if model.config.tie_weights:
        state["lm_head.weight"] = state["token_embedding.weight"]
    return state


class TheirGPT:
    """A student's GPT in the student's process, what is to be seen of it, and a call of it.

    With a seed of 0 or more it gets the weights of `state` under its own names; blocks of the student's own get numbers
    of the same kind. `loud` multiplies the matrices of the blocks.
    """

    def __init__(self, student: Student, config: Config, seed: int = -1, double: bool = False, loud: float = 1) -> None:
        self.student, self.config = student, config
        self.key = tuple(vars(config).values()), seed, torch.float64 if double else torch.float32
        self.state = _weights(*self.key)
        published = their_config(student, config)
        self.model = student.build("GPT", published)
        self.seen = self.probe("look", published, _PARTS)
        if not isinstance(self.seen, dict):
            raise Wrong("The class you wrote does not give an `nn.Module`: does it inherit from `nn.Module`?")
        if double:
            student.move(self.model, "float64")
        self.shapes = {canonical(name): shape for name, shape in self.seen["parameters"].items()}
        own = {}
        for name, shape in self.shapes.items() if seed >= 0 else ():
            known = self.state.get(name)
            own[name] = _sized(name, normal(*shape, dtype=self.key[-1])) if known is None else known
            if name.startswith("blocks.") and len(shape) > 1:
                own[name] = loud * own[name]
        self.load(own)

    def load(self, weights: Weights) -> None:
        """Load weights by the reference's names. A table may have a dimension more, of size 1."""
        names = {canonical(name): name for name in self.seen["parameters"]}
        fits = {name: [1, *value.shape] == self.shapes.get(name) for name, value in weights.items()}
        self.student.load(
            self.model, {names.get(name, name): w[None] if fits[name] else w for name, w in weights.items()}
        )

    def probe(self, name: str, *args: Any) -> Any:
        return call_probe(self.student, _PROBES, name, self.model, *args)

    @property
    def of_pytorch(self) -> bool:
        """Return whether the blocks are nn.TransformerEncoderLayers, to go by the names of their parameters."""
        own = {canonical(name) for name in self.seen["parameters"] if name.startswith("blocks.")}
        needed = {name for name in self.state if name.startswith("blocks.") and name.endswith("weight")}
        return needed <= own <= needed | {name.replace("weight", "bias") for name in needed}

    def some_ids(self, B: int, T: int) -> torch.Tensor:
        return (normal(B, T).abs() * 1000).long() % int(self.config.vocab_size)

    def logits(self, ids: torch.Tensor, where: str = "", training: bool = False, **options: Any) -> torch.Tensor:
        answer = self.student.call(self.model, [ids], where=where, training=training, **options)
        return self.logits_of(answer, ids, where)

    def logits_of(self, answer: dict, ids: torch.Tensor, where: str = "") -> torch.Tensor:
        got = a_pair(answer["value"], "(logits, loss)")[0]
        return of_shape(got, "The logits, the first of the results,", (*ids.shape, self.config.vocab_size), where)

    def as_published(self, compare: Callable[[Any, Weights], None]) -> None:
        """Call `compare` with Hugging Face's GPT-2 and its parameters, if the blocks are of its kind.

        GELU may be exact or its tanh form.
        """
        if self.of_pytorch:
            with contextlib.suppress(Wrong):
                return compare(*_published(*self.key, "gelu"))
            compare(*_published(*self.key, "gelu_new"))

    def same_logits(self, got: torch.Tensor, ids: torch.Tensor, where: str) -> None:
        self.as_published(lambda published, _: same_tensor(got, published(ids).logits.detach(), "The logits", where))

    def same_gradients(self, actual: dict[str, Any], ids: torch.Tensor, targets: torch.Tensor, where: str) -> None:
        def compare(published: Any, weights: Weights) -> None:
            loss = F.cross_entropy(published(ids).logits.flatten(0, 1), targets.flatten())
            grads = zip(weights, torch.autograd.grad(loss, list(weights.values())), strict=True)
            message = [f"`{name}`" for name in weights]
            same_gradients([actual.get(name) for name in weights], [_as_ours(*one) for one in grads], message, where)

        self.as_published(compare)

    def without_blocks(self, ids: torch.Tensor, other: Weights | None = None, norm: bool = True) -> torch.Tensor:
        """Return what blocks that let everything through would leave, with some weights replaced."""
        state = self.state | (other or {})
        x = state["token_embedding.weight"][ids] + state["position_embedding.weight"][: ids.shape[1]]
        if norm:
            x = F.layer_norm(x, (self.config.n_embd,), state["final_norm.weight"], state.get("final_norm.bias"))
        return x @ state["lm_head.weight"].T


_OURS = {"transformer.h.": "blocks.", "transformer.": "", "wte": "token_embedding", "wpe": "position_embedding"}
_OURS |= {"ln_f": "final_norm", "ln_": "norm", "mlp.c_fc": "linear1", "mlp.c_proj": "linear2"}
_OURS |= {"attn.c_attn.": "self_attn.in_proj_", "attn.c_proj": "self_attn.out_proj"}


def _as_ours(name: str, values: torch.Tensor) -> torch.Tensor:
    """Transpose the matrices of Hugging Face's blocks, or turn them back: its Conv1D is a Linear, transposed."""
    return values.T if name.startswith("blocks.") and values.dim() == 2 else values


@lru_cache(128)  # holds all that are known; those drawn for a hand-in are used once
def _published(sizes: tuple, seed: int, dtype: torch.dtype, activation: str) -> tuple[Any, Weights]:
    """Return Hugging Face's GPT-2 with the weights of `state`, and its parameters under the reference's names."""
    from transformers import GPT2Config, GPT2LMHeadModel  # slow to import, so only when it is needed

    config = GPTConfig(*sizes)
    options = {name: getattr(config, name) for name in ("vocab_size", "n_embd", "n_layer", "n_head")}
    options |= {"n_positions": config.block_size, "tie_word_embeddings": config.tie_weights}
    options |= {"activation_function": activation, "bos_token_id": None, "eos_token_id": None}
    published: Any = GPT2LMHeadModel(GPT2Config(**options))
    published.to(dtype).eval()
    state, ours = _weights(sizes, seed, dtype), {}
    with torch.no_grad():
        for name, parameter in published.named_parameters():
            for old, new in _OURS.items():
                name = name.replace(old, new)
            parameter.copy_(_as_ours(name, state.get(name, torch.zeros(()))))  # no bias is a bias of 0
            if name in state:
                ours[name] = parameter
    return published, ours
