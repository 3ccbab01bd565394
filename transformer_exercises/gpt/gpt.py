"""`GPT`: its parts and tied weights, logits as Hugging Face's GPT-2, causality, loss, start, dropout, device.

Blocks need not be PyTorch's: then the way around them is looked at. The mistakes are about masks, norms, positions,
ties, the loss, starting weights and dropout.
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import (
    a_pair,
    a_tensor,
    close,
    dtype_name,
    kind,
    same_gradients,
    same_tensor,
    shape_name,
    unchanged,
)
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Problem, Wrong
from autograder.spec.inputs import device_is_kept, devices_differ, normal, raises_error
from autograder.spec.student import Student

from .common import GPT2, Config, GPTConfig, sizes_of, their_config

GPT = reference("GPT")
count_parameters = reference("count_parameters")

# What the judge sees of a GPT: its parameters by name (those that share a tensor under each of their names).
_LOOK = """
def look(model, config):
    if not isinstance(model, nn.Module):
        return None
    named = dict(model.named_parameters(remove_duplicate=False))
    own = getattr(model, "config", None)
    first = {id(p): name for name, p in reversed(named.items())}
    head, tokens = named.get("lm_head.weight"), named.get("token_embedding.weight")
    parts = ("token_embedding", "position_embedding", "blocks", "final_norm", "lm_head")
    return {
        "parameters": {name: list(p.shape) for name, p in named.items()},
        "frozen": [name for name, p in named.items() if not p.requires_grad],
        "shared": [name for name, p in named.items() if name.startswith("blocks.") and first[id(p)] != name],
        "count": sum(p.numel() for p in model.parameters()),
        "tied": head is not None and head is tokens,
        "config": own is not None and all(getattr(own, k, None) == v for k, v in vars(config).items()),
        "parts": [name for name in parts if hasattr(model, name)],
    }
"""

# The blocks replaced by ones that let everything through: what is left is the way from the embeddings to the head.
_BYPASS = """
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
"""

# How the weights start, and the loss with them, rounded so far that chance plays no part.
_START = """
def start(model, ids, targets, ln_V):
    model.eval()
    with torch.no_grad():
        loss = model(ids, targets)[1]
    named = dict(model.named_parameters(remove_duplicate=False))
    flat = {name: p for name, p in named.items() if p.dim() == 1}
    return {
        "loss": round(float(loss) - ln_V, 1),
        "spread": {name: round(float(p.std()) / 0.02, 1) for name, p in named.items() if p.dim() > 1},
        "middle": {name: round(float(p.mean()) / 0.02, 1) for name, p in named.items() if p.dim() > 1},
        "norms": {name: round(float((p - 1).abs().max()), 2) for name, p in flat.items() if name.endswith("weight")},
        "biases": {name: round(float(p.abs().max()), 2) for name, p in flat.items() if name.endswith("bias")},
    }
"""

# Whether chance is at work in each mode. `inside`: with the dropout that follows the embeddings switched off.
_CHANCE = """
def chance(model, ids, inside):
    if inside:
        for child in model.children():
            if isinstance(child, nn.Dropout):
                child.p = 0.0
    found = {}
    for training in (True, False):
        model.train(training)
        with torch.no_grad():
            first, second = (model(ids)[0] for _ in range(2))
        found["training" if training else "eval"] = not torch.allclose(first, second, atol=1e-5)
    return found
"""

_WITHOUT_GRADIENTS = """
def quiet(model, ids):
    model.eval()
    with torch.no_grad():
        return model(ids)[0]
"""

_COUNT_ON_META = """
class NoNumbers(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if getattr(func, "__name__", "") in ("normal_", "uniform_", "zero_", "fill_") and args:
            return args[0]
        return func(*args, **(kwargs or {}))

def count(model, config):
    with torch.device("meta"), NoNumbers():
        return sum(p.numel() for p in type(model)(config).parameters())
"""

_LAYER = (
    "self_attn.in_proj_weight",
    "self_attn.out_proj.weight",
    "linear1.weight",
    "linear2.weight",
    "norm1.weight",
    "norm2.weight",
)

_LAYER_BIASES = tuple(name.replace("_weight", "_bias").replace(".weight", ".bias") for name in _LAYER)


def _build(student: Student, config: Config) -> tuple[Any, dict]:
    """The student's GPT, and what is to be seen of it."""
    there = their_config(student, config)
    model = student.build("GPT", there)
    seen = student.value(student.probe("look", _LOOK), model, there)
    if not isinstance(seen, dict):
        raise Wrong("The class you wrote does not give an `nn.Module`: does it inherit from `nn.Module`?")
    return model, seen


def _canonical(name: str) -> str:
    """nn.TransformerEncoder keeps its layers under `layers`; the rest of the names are those of a list of layers."""
    return name.replace("blocks.layers.", "blocks.")


def _pytorch_blocks(seen: dict, config: Config) -> bool:
    """Whether the blocks are nn.TransformerEncoderLayers, to go by the names of their parameters."""
    names = {_canonical(name) for name in seen["parameters"]}
    needed = {f"blocks.{i}.{part}" for i in range(config.n_layer) for part in _LAYER}
    others = {name for name in names if name.startswith("blocks.")} - needed
    return needed <= names and all(name.split(".", 2)[-1] in _LAYER_BIASES for name in others)


def _shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """The reference's parameters, without building it."""
    V, C = config.vocab_size, config.n_embd
    sizes: dict[str, tuple[int, ...]] = dict(
        zip(_LAYER, ((3 * C, C), (C, C), (4 * C, C), (C, 4 * C), (C,), (C,)), strict=True)
    )
    if config.bias:
        sizes |= {bias: shape[:1] for bias, shape in zip(_LAYER_BIASES, sizes.values(), strict=True)}
    shapes: dict[str, tuple[int, ...]] = {
        "token_embedding.weight": (V, C),
        "position_embedding.weight": (config.block_size, C),
    }
    shapes |= {f"blocks.{i}.{name}": shape for i in range(config.n_layer) for name, shape in sizes.items()}
    shapes |= {"final_norm.weight": (C,)} | ({"final_norm.bias": (C,)} if config.bias else {})
    return shapes | {"lm_head.weight": (V, C)}


def _state(config: Config, seed: int, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    """Weights for every parameter of the reference: unit-sized activations, no bias zero, no norm trivial."""
    return _cached_state(_key(config), seed, dtype)


@cache
def _cached_state(sizes: tuple, seed: int, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    config = GPTConfig(*sizes)
    generator = torch.Generator().manual_seed(7000 + seed)
    state = {}
    for name, shape in _shapes(config).items():
        numbers = torch.randn(shape, generator=generator, dtype=torch.float64)
        if "embedding" in name or "lm_head" in name:
            numbers = 0.7 * numbers
        elif len(shape) == 2:
            numbers = 0.35 * numbers
        else:
            numbers = 1 + 0.3 * numbers if name.endswith("weight") else 0.4 * numbers
        state[name] = numbers.to(dtype)
    if config.tie_weights:
        state["lm_head.weight"] = state["token_embedding.weight"]
    return state


def _load(
    student: Student,
    model: Any,
    seen: dict,
    config: Config,
    seed: int,
    dtype: torch.dtype = torch.float32,
    loud: float = 1.0,
) -> None:
    """The weights of `_state` under the student's names; blocks of the student's own get numbers of the same kind.

    `loud` multiplies the matrices of the blocks.
    """
    state, own = _state(config, seed, dtype), {}
    for name, shape in seen["parameters"].items():
        if _canonical(name) in state:
            own[name] = state[_canonical(name)]
        else:
            numbers = normal(*shape, dtype=dtype)
            own[name] = (
                0.35 * numbers if len(shape) > 1 else 1 + 0.3 * numbers if name.endswith("weight") else 0.4 * numbers
            )
        if name.startswith("blocks.") and len(shape) > 1:
            own[name] = loud * own[name]
    student.load(model, own)


def _loaded(
    student: Student, config: Config, seed: int, dtype: torch.dtype = torch.float32, loud: float = 1.0
) -> tuple[Any, dict]:
    model, seen = _build(student, config)
    if dtype == torch.float64:
        student.move(model, "float64")
    _load(student, model, seen, config, seed, dtype, loud)
    return model, seen


def _some_ids(config: Config, B: int, T: int) -> torch.Tensor:
    return (normal(B, T).abs() * 1000).long() % config.vocab_size


_GELUS = {"gelu_new": "tanh", "gelu": "none"}  # Hugging Face's names and PyTorch's


@cache
def _published(sizes: tuple, seed: int, activation: str) -> Any:
    """Hugging Face's GPT-2 with the weights of `_state`. Slow to import, so only when it is needed."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPTConfig(*sizes)
    theirs = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=config.vocab_size,
            n_positions=config.block_size,
            n_embd=config.n_embd,
            n_layer=config.n_layer,
            n_head=config.n_head,
            activation_function=activation,
            tie_word_embeddings=config.tie_weights,
            bos_token_id=None,
            eos_token_id=None,
        )
    ).eval()
    state = _state(config, seed)
    names = {
        "transformer.wte": "token_embedding",
        "transformer.wpe": "position_embedding",
        "transformer.ln_f": "final_norm",
        "lm_head": "lm_head",
    }
    for i in range(config.n_layer):
        their, mine = f"transformer.h.{i}.", f"blocks.{i}."
        names |= {
            f"{their}ln_1": f"{mine}norm1",
            f"{their}ln_2": f"{mine}norm2",
            f"{their}attn.c_proj": f"{mine}self_attn.out_proj",
        }
        names |= {f"{their}mlp.c_fc": f"{mine}linear1", f"{their}mlp.c_proj": f"{mine}linear2"}
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            layer, part = name.rsplit(".", 1)
            own = (
                f"{layer.replace('transformer.h', 'blocks').replace('attn.c_attn', 'self_attn.in_proj')}_{part}"
                if "c_attn" in layer
                else f"{names[layer]}.{part}"
            )
            value = state.get(own)
            if value is None:
                parameter.zero_()  # a model without biases is one whose biases are 0
            else:
                transposed = "c_" in layer and value.dim() == 2  # its Conv1D is a Linear, transposed
                parameter.copy_(value.T if transposed else value)
    return theirs


def _same_as_published(got: Any, config: Config, seed: int, ids: torch.Tensor, where: str) -> None:
    """Logits as Hugging Face's, with GELU in either of its two forms."""
    both = _published_logits(_key(config), seed, tuple(map(tuple, ids.tolist())))
    got = a_tensor(got, "The first of the results, the logits,")
    fits = [logits for logits in both if got.shape == logits.shape and got.dtype == logits.dtype and close(got, logits)]
    same_tensor(got, fits[0] if fits else both[0], "The logits", where)


@cache
def _published_logits(sizes: tuple, seed: int, rows: tuple) -> list[torch.Tensor]:
    with torch.no_grad():
        return [_published(sizes, seed, activation)(torch.tensor(rows)).logits for activation in _GELUS]


def _key(config: Config) -> tuple:
    return tuple(vars(config).values())


def _twin(config: Config, seed: int, form: str, dtype: torch.dtype = torch.float32) -> torch.nn.Module:
    """The reference with the weights of `_state` and one of the forms of GELU."""
    model = GPT(config).to(dtype)
    own = dict(model.named_parameters(remove_duplicate=False))
    with torch.no_grad():
        for name, value in _state(config, seed, dtype).items():
            own[name].copy_(value)
    for block in model.blocks:
        block.activation = partial(F.gelu, approximate=form)
    return model


def _logits(answer: dict, where: str = "") -> torch.Tensor:
    got = a_pair(answer["value"], "(logits, loss)")
    return a_tensor(got[0], f"The first of the results, the logits, {where}")


_SHAPES = (
    GPTConfig(13, 9, 2, 2, 16),
    GPTConfig(11, 7, 3, 3, 12, bias=False),
    GPTConfig(17, 12, 1, 4, 24, tie_weights=False),
    GPTConfig(10, 5, 2, 1, 8, bias=False, tie_weights=False),
)


def _blocks_of_their_own(seen: dict) -> None:
    """Blocks that the model knows of, each with parameters of its own."""
    if not any(name.startswith("blocks.") for name in seen["parameters"]):
        raise Wrong(
            "The blocks have no parameters that the model knows of: keep them in an nn.ModuleList, not in a Python "
            "list."
        )
    if seen["shared"]:
        raise Wrong(
            f"`{seen['shared'][0]}` is one and the same parameter as another block's: build each block anew, instead "
            "of using one n_layer times.",
            "one_block_shared",
        )


def _own_blocks(
    student: Student,
    model: Any,
    seen: dict,
    config: Config,
    seed: int,
    ids: torch.Tensor,
    got: torch.Tensor,
    where: str,
) -> None:
    """What can be asked of blocks that are not PyTorch's: pre-norm, GELU, attention, and everything around them."""
    _blocks_of_their_own(seen)
    if got.shape != (*ids.shape, config.vocab_size):
        raise Wrong(
            f"The logits should have shape {(*ids.shape, config.vocab_size)} {where}; yours have {shape_name(got)}."
        )
    if not got.isfinite().all():
        raise Wrong(f"Some logits are not finite {where}.", "not_finite")
    changed = ids.clone()
    changed[:, 0] = (changed[:, 0] + 1) % config.vocab_size
    moved = _logits(student.call(model, [changed], training=False))
    if torch.allclose(got[:, -1], moved[:, -1], atol=1e-4):
        raise Wrong(
            f"The last logits do not depend on the first token {where}: do the blocks attend to earlier tokens?"
        )
    answer = student.call(model, [ids[:, :1]], training=False, upstream=[normal(len(ids), 1, config.vocab_size)])
    used = [
        name
        for name, grad in answer["gradients"].get("parameters", {}).items()
        if name.startswith("blocks.") and isinstance(grad, torch.Tensor) and grad.dim() > 1 and grad.abs().max()
    ]
    # Attention's values and output, and the two layers of the feed-forward network, would be four in each block.
    if len(used) < 3 * config.n_layer:
        raise Wrong("A token on its own does not pass through attention: it may attend to itself.", "blind_to_itself")
    ran = set(student.call(model, [ids], training=False, trace=True)["operations"])
    if not ran & {"gelu", "erf", "tanh", "_transformer_encoder_layer_fwd"}:
        raise Wrong("The feed-forward network of the blocks does not use GELU.", "other_activation")
    state = _state(config, seed)
    if not config.tie_weights:  # with a huge residual stream what pre-norm blocks add no longer shows
        large = {name: state[name] * 1e6 for name in ("token_embedding.weight", "position_embedding.weight")}
        student.load(model, large)
        stream = _logits(student.call(model, [ids], where=where, training=False))
        if not torch.allclose(stream, _without_blocks(state | large, config, ids), rtol=1e-2, atol=1e-2):
            raise Wrong(
                "The blocks are not pre-norm: the residual stream should run from the embeddings to the final norm "
                "without being normalised on the way, x + attention(norm(x)), then x + feed_forward(norm(x)).",
                "post_norm",
            )
        student.load(model, {name: state[name] for name in large})
    student.call(student.probe("bypass", _BYPASS), [model])
    bare = _logits(student.call(model, [ids], where=where, training=False))
    nowhere = state | {"position_embedding.weight": torch.zeros(ids.shape[1], 1)}
    for name, wrong, sentence in (
        (
            "no_final_norm",
            _without_blocks(state, config, ids, norm=False),
            "The final norm is not applied: it comes between the last block and lm_head.",
        ),
        (
            "no_positions",
            _without_blocks(nowhere, config, ids),
            "The position embedding is not added, so the model cannot tell orders apart.",
        ),
    ):
        if bare.shape == wrong.shape and bare.dtype == wrong.dtype and close(bare, wrong):
            raise Wrong(sentence, name)
    same_tensor(
        bare, _without_blocks(state, config, ids), "The logits", "when the blocks let everything through unchanged"
    )


def _without_blocks(state: dict, config: Config, ids: torch.Tensor, norm: bool = True) -> torch.Tensor:
    x = state["token_embedding.weight"][ids] + state["position_embedding.weight"][: ids.shape[1]]
    if norm:
        x = F.layer_norm(x, (config.n_embd,), state["final_norm.weight"], state.get("final_norm.bias"))
    return x @ state["lm_head.weight"].T


def _moved(student: Student, model: Any, config: Config, T: int, training: bool, where: str) -> torch.Tensor:
    """Which logits [row, position] differ from those of row 0; row k has another token at position k."""
    ids, steps = _some_ids(config, 1, T).repeat(T, 1), torch.arange(1, T)
    ids[steps, steps] = (ids[steps, steps] + 1) % config.vocab_size
    logits = _logits(student.call(model, [ids], where=where, training=training), where)
    if logits.shape != (T, T, config.vocab_size):
        raise Wrong(
            f"The logits should have shape {(T, T, config.vocab_size)} {where}; yours have {shape_name(logits)}.",
            "wrong_shape",
        )
    if not logits.isfinite().all():
        raise Wrong(f"Some logits are not finite {where}.", "not_finite")
    return (logits - logits[:1]).abs().amax(-1) > 1e-4


def _another_loss(
    loss: Any, logits: torch.Tensor, ids: torch.Tensor, targets: torch.Tensor, right: torch.Tensor
) -> None:
    """Says which loss it is, if it is one of the usual wrong ones; the logits are the student's own."""
    mean, whole = F.cross_entropy, (logits.flatten(0, 1), targets.flatten())
    if not isinstance(loss, torch.Tensor) or loss.shape != right.shape or close(loss, right):
        return
    suspects = {
        "shifted_inside": ("The targets are shifted once more inside the model: they are one step on already.", None),
        "last_position_loss": (
            "The loss is that of the last position alone: the mean over all positions of all rows is asked for.",
            mean(logits[:, -1], targets[:, -1]),
        ),
        "sum": ("The loss is a sum: the mean over all positions is asked for.", mean(*whole, reduction="sum")),
        "token_zero_ignored": (
            "Token 0 is left out of the loss (ignore_index=0): here it is a token like any other.",
            mean(*whole, ignore_index=0),
        ),
        "own_input_as_target": (
            "The loss compares with the input instead of the targets.",
            mean(whole[0], ids.flatten()),
        ),
        "softmax_before_loss": (
            "The loss is taken of probabilities: cross_entropy takes the softmax itself, give it the logits.",
            mean(whole[0].softmax(-1), whole[1]),
        ),
    }
    if logits.shape[1] > 1:
        shifted = mean(logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten())
        suspects["shifted_inside"] = (suspects["shifted_inside"][0], shifted)
    for name, (sentence, value) in suspects.items():
        if value is not None and close(loss, value):
            raise Wrong(sentence, name)


@cache
def _expected_gradients(sizes: tuple, seed: int, ids: tuple, targets: tuple) -> dict[str, dict[str, torch.Tensor]]:
    """The gradients of the loss for each form of GELU."""
    expected = {}
    for form in _GELUS.values():
        twin = _twin(GPTConfig(*sizes), seed, form)
        named = dict(twin.named_parameters())
        loss = twin(torch.tensor(ids), torch.tensor(targets))[1]
        expected[form] = dict(zip(named, torch.autograd.grad(loss, list(named.values())), strict=True))
    return expected


def _all_close(mine: dict, theirs: dict) -> bool:
    return all(
        isinstance(mine.get(name), torch.Tensor) and mine[name].shape == grad.shape and close(mine[name], grad)
        for name, grad in theirs.items()
    )


def _gpt_device(student: Student) -> None:
    """Like device_is_kept, and before that with every new tensor that names no device somewhere else.

    nn.Embedding takes ids of another device without a word when there are no numbers to look up, and gives back
    whatever was in memory. Those may even be the right numbers, left there by an earlier call; so it is asked twice,
    with other positions.
    """
    config = _SHAPES[1]
    model, _ = _loaded(student, config, 73)
    ids, left, found = _some_ids(config, 3, 6), False, []
    for _ in range(2):
        try:
            answer = student.call(model, [ids], training=False, strict_device=True, trace=True)
        except Problem as problem:
            left = devices_differ(problem)  # but not: made elsewhere, and moved afterwards
            break
        found.append(student.last)
        strict, plain = _logits(answer), _logits(student.call(model, [ids], training=False))
        same = (
            strict.shape == plain.shape and strict.device == plain.device and torch.allclose(strict, plain, atol=1e-4)
        )
        # weight[positions] takes positions from the CPU on a GPU too
        left = left or (not same and "index" not in answer["operations"])
        student.load(model, {"position_embedding.weight": normal(config.block_size, config.n_embd)})
    if left:
        for reply in found:
            student.note("not on the device", reply)  # and not what happened to be in memory
        raise Wrong(
            "The result does not stay on the device of ids: somewhere a tensor is made without `device=ids.device`. "
            "It works on a CPU and fails on a GPU.",
            "device_not_kept",
        )
    device_is_kept(student, model, [ids])


def _gpt_parts(student: Student) -> None:
    for config in (*_SHAPES, GPTConfig(11, 7, 3, 1, 12, dropout=0.2)):
        with student.case():
            where = f"with {sizes_of(config)}"
            _, seen = _build(student, config)
            missing = [
                name
                for name in ("token_embedding", "position_embedding", "blocks", "final_norm", "lm_head")
                if name not in seen["parts"]
            ]
            if missing:
                raise Wrong(
                    f"The model has no `{missing[0]}`: the names of its parts are given, so that tools find them."
                )
            if not seen["config"]:
                raise Wrong("The model does not keep its configuration: `self.config = config`.", "config_not_kept")
            V, C = config.vocab_size, config.n_embd
            shapes = seen["parameters"]
            for name, shape in (
                ("token_embedding.weight", [V, C]),
                ("position_embedding.weight", [config.block_size, C]),
                ("final_norm.weight", [C]),
                ("lm_head.weight", [V, C]),
            ):
                if name not in shapes:
                    raise Wrong(f"There is no parameter `{name}` {where}.")
                if shapes[name] != shape:
                    raise Wrong(f"`{name}` should have shape {tuple(shape)} {where}; yours has {tuple(shapes[name])}.")
            if seen["frozen"]:
                raise Wrong(f"`{seen['frozen'][0]}` is frozen (requires_grad=False), so it cannot be trained.")
            if "lm_head.bias" in shapes:
                raise Wrong("`lm_head` has a bias: as in GPT-2, it has none (bias=False).", "head_bias")
            if config.bias != ("final_norm.bias" in shapes):
                raise Wrong(f"`final_norm` should have {'a' if config.bias else 'no'} bias {where}.")
            biases = [name for name in shapes if name.endswith("bias")]
            if biases and not config.bias:
                raise Wrong(f"With bias=False no layer has a bias, but there is `{biases[0]}`.", "bias_ignored")
            if config.tie_weights != seen["tied"]:
                said = "one tensor: assign the parameter itself, not a copy" if config.tie_weights else "two tensors"
                name = "not_tied" if config.tie_weights else "always_tied"
                raise Wrong(f"lm_head.weight and token_embedding.weight should be {said}, {where}.", name)
            _blocks_of_their_own(seen)
            if seen["count"] != count_parameters(config):
                more = "more" if seen["count"] > count_parameters(config) else "fewer"
                raise Wrong(f"The model has {more} parameters than count_parameters says, {where}.", "other_count")


def _gpt_published(student: Student) -> None:
    for seed, (config, B, T) in enumerate(zip(_SHAPES, (2, 3, 1, 2), (9, 4, 7, 5), strict=True)):
        with student.case():
            where = f"with {sizes_of(config)}, for B = {B} and T = {T}"
            model, seen = _loaded(student, config, seed)
            ids = _some_ids(config, B, T)
            got = _logits(student.call(model, [ids], where=where, training=False), where)
            if _pytorch_blocks(seen, config):
                _same_as_published(
                    got, config, seed, ids, where + ", compared with Hugging Face's GPT-2 with the same weights,"
                )
            else:
                _own_blocks(student, model, seen, config, seed, ids, got, where)
    with student.case():
        config = _SHAPES[0]
        model, seen = _loaded(student, config, 0)
        ids = _some_ids(config, 3, 8)
        got = a_tensor(
            student.value(student.probe("quiet", _WITHOUT_GRADIENTS), model, ids), "The logits under no_grad"
        )
        if _pytorch_blocks(seen, config):
            _same_as_published(got, config, 0, ids, "under torch.no_grad() in eval mode")


def _gpt_causal(student: Student) -> None:
    """Row k of the batch is row 0 with another token k: up to k nothing may move, at k something has to."""
    for seed, config in enumerate((*_SHAPES[:3], GPTConfig(13, 9, 1, 2, 16))):
        with student.case():
            model, _ = _loaded(student, config, 10 + seed)
            for T in (config.block_size, 3, config.block_size - 1):
                for training in (False, True):
                    where = f"with T = {T}, in {'training' if training else 'eval'} mode"
                    moved = _moved(student, model, config, T, training, where)
                    if moved.tril(-1).any():
                        raise Wrong(
                            f"Outputs depend on later tokens {where}: changing a token moves the logits of a position "
                            "before it. Is every block given the causal mask, True above the diagonal?",
                            "sees_the_future",
                        )
                    if not moved.diagonal()[1:].all():
                        raise Wrong(
                            f"The logits of a position do not depend on its own token {where}.", "blind_to_itself"
                        )
    with student.case():
        config = GPTConfig(13, 9, 1, 2, 16)
        model, _ = _loaded(student, config, 15, loud=300.0)
        where = "when attention scores are very large (as they can become in training)"
        if _moved(student, model, config, 9, False, where).tril(-1).any():
            raise Wrong(
                f"Outputs depend on later tokens {where}: a finite number in the mask is not small enough then; −∞, "
                "or a boolean mask, lets nothing through.",
                "finite_mask",
            )


def _gpt_rows(student: Student) -> None:
    config = GPTConfig(13, 9, 2, 2, 16)
    model, _ = _loaded(student, config, 20)
    for T in (6, 3):
        with student.case():
            ids = _some_ids(config, 3, T)
            where = f"for B = 3 and T = {T}"
            whole = _logits(student.call(model, [ids], where=where, training=False), where)
            for b in range(3):
                alone = _logits(student.call(model, [ids[b : b + 1]], where="for B = 1", training=False))
                if alone.shape != (1, T, 13):
                    raise Wrong(f"For B = 1 the logits should have shape (1, {T}, 13); yours have {shape_name(alone)}.")
                if not whole.isfinite().all():
                    raise Wrong(f"Some logits are not finite {where}.", "not_finite")
                if whole.shape != (3, T, 13) or not torch.allclose(whole[b], alone[0], atol=1e-4):
                    raise Wrong(
                        "A row's logits depend on the other rows of the batch: is one of the dimensions taken for "
                        "another (batch_first=True)?",
                        "rows_mixed",
                    )


def _gpt_loss(student: Student) -> None:
    for seed, (config, B, T) in enumerate(
        zip((*_SHAPES, _SHAPES[0], _SHAPES[1]), (2, 3, 1, 2, 1, 4), (5, 1, 12, 4, 1, 6), strict=True)
    ):
        with student.case():
            by_name = seed < 5
            where = f"for B = {B} and T = {T}{'' if by_name else ', with targets by position'}"
            model, _ = _loaded(student, config, 30 + seed)
            ids, targets = _some_ids(config, B, T), _some_ids(config, B, T)
            if T > 1:
                targets[0, -1] = 0  # token 0 is a token like any other
            plain = a_pair(student.value(model, ids, where=f"without targets, {where}"), "(logits, loss)")
            if plain[1] is not None:
                raise Wrong(
                    f"Without targets the second result should be None; yours is {kind(plain[1])}.",
                    "loss_without_targets",
                )
            args, kwargs = ([ids], {"targets": targets}) if by_name else ([ids, targets], {})
            answer = student.call(model, args, kwargs, where=f"with targets, {where}")
            logits = _logits(answer, "with targets")
            same_tensor(
                logits, a_tensor(plain[0], "The logits"), "The logits", f"with targets, against those without, {where},"
            )
            if logits.shape != (B, T, config.vocab_size):
                raise Wrong(
                    f"The logits should have shape {(B, T, config.vocab_size)}; yours have {shape_name(logits)}."
                )
            loss = answer["value"][1]
            if isinstance(loss, torch.Tensor) and loss.dim() and loss.numel() == 1:
                raise Wrong(f"The loss should be a scalar tensor, without dimensions; yours is {kind(loss)}.")
            expected = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
            _another_loss(loss, logits, ids, targets, expected)
            same_tensor(loss, expected, "The loss", f"against the mean cross-entropy of all positions, {where},")
            if not loss.was_differentiable:
                raise Wrong(
                    "The loss cannot be differentiated (`.item()`, `.detach()`, `no_grad`?).", "gradient_cut_off"
                )
    with student.case():
        where = "for ids and targets that are not contiguous (transposes)"
        model, _ = _loaded(student, config, 36)
        ids, targets = _some_ids(config, 5, 3).T, _some_ids(config, 5, 3).T
        answer = student.call(model, [ids, targets], where=where)
        logits = _logits(answer, where)
        if logits.shape != (3, 5, config.vocab_size):
            raise Wrong(
                f"The logits should have shape (3, 5, {config.vocab_size}) {where}; yours {shape_name(logits)}."
            )
        expected = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        same_tensor(answer["value"][1], expected, "The loss", where)


def _gpt_lengths(student: Student) -> None:
    config = GPTConfig(11, 6, 1, 2, 8)
    model, _ = _loaded(student, config, 40)
    whole = _some_ids(config, 2, 6)
    full = _logits(student.call(model, [whole], where="for T = block_size", training=False))
    for T in (1, 2, 5, 6):
        with student.case():
            where = f"for T = {T} with block_size = 6"
            got = _logits(student.call(model, [whole[:, :T]], where=where, training=False), where)
            same_tensor(got, full[:, :T], "The logits", f"{where}, against those of the whole text,")
    with student.case():  # longer than GPT-2's block: the causal mask has no size of its own
        long = GPTConfig(5, 1030, 1, 1, 4)
        ids = _some_ids(long, 1, 1030)
        where = "for T = block_size = 1,030"
        got = _logits(student.call(_loaded(student, long, 41)[0], [ids], where=where, training=False), where)
        if got.shape != (1, 1030, 5):
            raise Wrong(f"The logits should have shape (1, 1030, 5) {where}; yours have {shape_name(got)}.")
    for T in (7, 9):
        with student.case(), raises_error(f"T = {T} with block_size = 6"):
            student.call(model, [_some_ids(config, 2, T)])
    with student.case():
        ids = _some_ids(config, 1, 8)
        with raises_error("T = 8 with block_size = 6, and targets,"):
            student.call(model, [ids, ids])


def _gpt_gradients(student: Student) -> None:
    for seed, config in enumerate(
        (GPTConfig(13, 6, 2, 2, 8), GPTConfig(12, 5, 1, 2, 8, bias=False, tie_weights=False))
    ):
        with student.case():
            where = f"with tie_weights={config.tie_weights}"
            model, seen = _loaded(student, config, 50 + seed)
            if seen["shared"]:  # their gradients come under one name only
                _blocks_of_their_own(seen)
            ids, targets = _some_ids(config, 2, config.block_size) % 7, _some_ids(config, 2, config.block_size) % 7
            answer = student.call(model, [ids, targets], where=where, upstream=[None, torch.tensor(1.0)])
            a_pair(answer["value"], "(logits, loss)")
            mine = {_canonical(name): value for name, value in answer["gradients"].get("parameters", {}).items()}
            if config.tie_weights:  # one parameter, which PyTorch lists under the name that was given first
                mine.setdefault("token_embedding.weight", mine.get("lm_head.weight"))
            if _pytorch_blocks(seen, config):
                rows = (tuple(map(tuple, given.tolist())) for given in (ids, targets))
                expected = _expected_gradients(_key(config), 50 + seed, *rows)
                fits = [form for form, grads in expected.items() if _all_close(mine, grads)]
                wanted = expected[fits[0] if fits else "tanh"]
                same_gradients(
                    [mine.get(name) for name in wanted], list(wanted.values()), [f"`{name}`" for name in wanted], where
                )
            for name in seen["parameters"]:
                if config.tie_weights and name == "lm_head.weight":
                    continue
                grad = mine.get(_canonical(name))
                if isinstance(grad, torch.Tensor) and not grad.isfinite().all():
                    raise Wrong(f"The gradient of `{name}` is not finite {where}.", "not_finite")
                if not isinstance(grad, torch.Tensor) or not grad.abs().max():
                    raise Wrong(
                        f"No gradient reaches `{name}` {where}, so it would never be trained.", "gradient_cut_off"
                    )
            unused = (
                mine["token_embedding.weight"][7:].abs().max() if mine.get("token_embedding.weight") is not None else 0
            )
            if config.tie_weights and not unused:
                raise Wrong(
                    "The rows of tokens that are not in the input get no gradient: the output layer does not share "
                    "the matrix.",
                    "not_tied",
                )


def _gpt_start(student: Student) -> None:
    """Standard deviations within ten per cent or so of what they should be: over five of their own standard errors.

    The first loss of a right answer lies about 0.01 above ln V, give or take 0.01; 0.1 is allowed.
    """
    for config in (GPTConfig(97, 40, 6, 4, 48), GPTConfig(97, 40, 6, 4, 48, tie_weights=False)):
        with student.case():
            model, seen = _build(student, config)
            ids, targets = _some_ids(config, 8, 40), _some_ids(config, 8, 40)
            found = student.value(student.probe("start", _START), model, ids, targets, math.log(config.vocab_size))
            if not abs(found["loss"]) < 0.15:
                raise Wrong(
                    f"With fresh weights the loss is {'above' if found['loss'] > 0 else 'below'} ln V by more than "
                    "0.1: before any training every token should be about equally likely. Do the embeddings (and the "
                    "output layer) start small, N(0, 0.02)?",
                    "first_loss",
                )
            for name in ("token_embedding.weight", "position_embedding.weight", "lm_head.weight"):
                if not 0.85 < found["spread"].get(name, 0) < 1.15 or abs(found["middle"].get(name, 1)) > 0.1:
                    raise Wrong(
                        f"`{name}` should start as normal numbers with mean 0 and standard deviation 0.02.",
                        "embeddings_start",
                    )
            blocks = {_canonical(name): size for name, size in found["spread"].items() if name.startswith("blocks.")}
            scaled = [name for name, size in blocks.items() if size == 0.3]  # 1 / √12 = 0.29
            odd = [name for name, size in blocks.items() if size != 0.3 and not 0.75 < size < 1.25]
            if odd:
                raise Wrong(
                    f"`{odd[0]}` should start with a standard deviation of 0.02 (or, if it is the last matrix before a "
                    "residual sum, of 0.02 / √(2 · n_layer))."
                )
            last = [name for name in blocks if name.endswith(("out_proj.weight", "linear2.weight"))]
            if sorted(scaled) != sorted(last) if _pytorch_blocks(seen, config) else len(scaled) < 2 * config.n_layer:
                raise Wrong(
                    "The last matrix before each residual sum (attention's output projection, the second layer of the "
                    "feed-forward network), and no other, should start with 0.02 / √(2 · n_layer).",
                    "residuals_not_scaled",
                )
            if any(found["norms"].values()):
                raise Wrong("The norms should start with weights of 1.", "norms_start")
            if any(found["biases"].values()):
                raise Wrong("The biases should start at 0.", "biases_start")


def _gpt_dropout(student: Student) -> None:
    probe = student.probe("chance", _CHANCE)
    for dropout, inside in ((0.5, False), (0.0, False), (0.5, True)):
        with student.case():
            config = GPTConfig(13, 9, 2, 2, 16, dropout=dropout)
            model, _ = _loaded(student, config, 60)
            found = student.value(probe, model, _some_ids(config, 2, 7), inside)
            if found["eval"]:
                raise Wrong(
                    "In eval mode two calls give different logits: dropout belongs into training only.",
                    "dropout_in_eval",
                )
            if dropout and not found["training"] and inside:
                raise Wrong(
                    "In training there is no dropout inside the blocks: pass config.dropout on to them.", "no_dropout"
                )
            if dropout and not found["training"]:
                raise Wrong(
                    "In training with dropout = 0.5 two calls give the same logits: config.dropout is not used.",
                    "no_dropout",
                )
            if not dropout and found["training"]:
                raise Wrong(
                    "With dropout = 0 two calls in training mode give different logits: a dropout layer does not get "
                    "config.dropout (nn.TransformerEncoderLayer's own default is 0.1).",
                    "dropout_not_passed_on",
                )
    # Without what the blocks add, chance can come from the dropout of the embeddings alone; it has to reach both.
    for silent in ("", "token_embedding.weight", "position_embedding.weight"):
        with student.case():
            config = GPTConfig(13, 9, 2, 2, 16, dropout=0.5, tie_weights=False)
            model, seen = _loaded(student, config, 61)
            student.call(student.probe("bypass", _BYPASS), [model])
            if silent in seen["parameters"]:
                student.load(model, {silent: torch.zeros(seen["parameters"][silent])})
            found = student.value(probe, model, _some_ids(config, 2, 7), False)
            if not found["training"]:
                raise Wrong(
                    "In training there is no dropout on the sum of the token and the position embedding (or on a part "
                    "of it): config.dropout acts there too, before the first block.",
                    "no_embedding_dropout",
                )


def _gpt_manners(student: Student) -> None:
    with student.case():
        config = _SHAPES[0]
        model, seen = _loaded(student, config, 70, torch.float64)
        ids = _some_ids(config, 2, 7)
        answer = student.call(model, [ids], where="in float64", training=False)
        got = _logits(answer, "in float64")
        unchanged(answer["inputs"], [ids], "ids")
        if got.dtype != torch.float64:
            raise Wrong(f"A model in float64 should give float64 logits; yours are {dtype_name(got)}.", "wrong_dtype")
        if _pytorch_blocks(seen, config):
            with torch.no_grad():
                both = [_twin(config, 70, form, torch.float64).eval()(ids)[0] for form in _GELUS.values()]
            if not any(got.shape == logits.shape and close(got, logits) for logits in both):
                same_tensor(got, both[0], "The logits", "in float64")
    with student.case():
        for config in _SHAPES[:2]:  # sizes must not be kept from one model to the next
            first, _ = _loaded(student, config, 71)
            ids = _some_ids(config, 2, 4)
            before = _logits(student.call(first, [ids], training=False))
            _loaded(student, _SHAPES[2], 72)
            same_tensor(
                _logits(student.call(first, [ids], training=False)), before, "The logits", "once another model exists"
            )
    with student.case():
        _gpt_device(student)
    with student.case():
        model, _ = _build(student, _SHAPES[3])
        there = their_config(student, GPT2)
        try:
            count = student.value(student.probe("count", _COUNT_ON_META), model, there)
        except Problem as problem:
            if not problem.error:
                raise
        else:
            if count != count_parameters(GPT2):
                raise Wrong(
                    "With the sizes of GPT-2 small the model has not as many parameters as GPT-2 small.",
                    "published_count",
                )


EXERCISE = Exercise(
    points=8,
    checks=[
        Check("its parts, biases, tied weights and number of parameters", 1.5, _gpt_parts),
        Check("logits as Hugging Face's GPT-2 with the same weights", 2.0, _gpt_published),
        Check("no output depends on a later token", 1.0, _gpt_causal),
        Check("each row of the batch on its own", 0.25, _gpt_rows),
        Check("the loss: mean cross-entropy, None without targets", 1.0, _gpt_loss),
        Check("any T up to block_size, a ValueError above", 0.5, _gpt_lengths),
        Check("gradients reach every parameter", 0.5, _gpt_gradients, further=True),
        Check("small weights to start with, first loss ln V", 0.75, _gpt_start),
        Check("dropout in training only", 0.5, _gpt_dropout),
        Check("float64, device, several models, GPT-2 small's size", 0.5, _gpt_manners, further=True),
    ],
    working=r"""
from torch import nn
import torch

class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        V, C, L, bias = config.vocab_size, config.n_embd, config.n_layer, config.bias
        self.token_embedding = nn.Embedding(V, C)
        self.position_embedding = nn.Embedding(config.block_size, C)
        self.embedding_dropout = nn.Dropout(config.dropout)
        layer = nn.TransformerEncoderLayer(
            C, config.n_head, 4 * C, config.dropout, "gelu", batch_first=True, norm_first=True, bias=bias
        )
        self.blocks = nn.TransformerEncoder(layer, L, enable_nested_tensor=False)
        self.final_norm = nn.LayerNorm(C, bias=bias)
        self.lm_head = nn.Linear(C, V, bias=False)
        for layer in self.blocks.layers:
            for matrix in (layer.self_attn.in_proj_weight, layer.linear1.weight):
                nn.init.normal_(matrix, std=0.02)
            for matrix in (layer.self_attn.out_proj.weight, layer.linear2.weight):
                nn.init.normal_(matrix, std=0.02 * (2 * L) ** -0.5)
            if bias:
                nn.init.zeros_(layer.linear1.bias)
                nn.init.zeros_(layer.linear2.bias)
        for matrix in (self.lm_head.weight, self.token_embedding.weight, self.position_embedding.weight):
            nn.init.normal_(matrix, std=0.02)
        if config.tie_weights:
            self.lm_head.weight = self.token_embedding.weight

    def forward(self, ids, targets=None):
        B, T = ids.shape
        if T > self.config.block_size:
            raise ValueError(f"ids is longer than block_size = {self.config.block_size}")
        x = self.token_embedding(ids) + self.position_embedding.weight[:T]
        mask = nn.Transformer.generate_square_subsequent_mask(T, device=ids.device)
        x = self.blocks(self.embedding_dropout(x), mask=mask, is_causal=True)
        logits = self.lm_head(self.final_norm(x))
        if targets is None:
            return logits, None
        return logits, nn.functional.cross_entropy(logits.reshape(B * T, -1), targets.reshape(B * T))
""",
    takes="tensor",
    gives="dict",
)
