"""`GPT`: its parts and tied weights, logits as Hugging Face's GPT-2, causality, loss, start, dropout, device."""

import math
from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec import (
    Check,
    Exercise,
    Problem,
    Student,
    a_pair,
    a_tensor,
    close,
    device_is_kept,
    devices_differ,
    each,
    kind,
    normal,
    raises_error,
    reference,
    refusing,
    same_tensor,
    unchanged,
)

from .configurations import GPT2, Config, GPTConfig, other_config, sizes_of, their_config
from .known_weights import TheirGPT, canonical

count_parameters = reference("count_parameters")
refuse = refusing("GPT")

_SHAPES = (
    GPTConfig(13, 9, 2, 2, 16),
    GPTConfig(11, 7, 3, 3, 12, bias=False),
    GPTConfig(17, 12, 1, 4, 24, tie_weights=False),
    GPTConfig(10, 5, 2, 1, 8, bias=False, tie_weights=False),
)


def _finite(got: torch.Tensor, where: str) -> torch.Tensor:
    refuse(not got.isfinite().all(), "not_finite", f"Some logits are not finite {where}.")
    return got


def _has_its_parts(gpt: TheirGPT) -> None:
    missing = gpt.seen["missing"]
    refuse(missing, "parts_not_found", f"The model has no part of the name `{', '.join(missing)}`.")


def _blocks_of_their_own(gpt: TheirGPT) -> None:
    """Ask for blocks that the model knows of, each with parameters of its own."""
    _has_its_parts(gpt)
    refuse(not any(name.startswith("blocks.") for name in gpt.seen["parameters"]), "python_list")
    refuse(gpt.seen["shared"], "one_block_shared")


@each(*_SHAPES, GPTConfig(11, 7, 3, 1, 12, dropout=0.2))
def _parts(student: Student, known: Config) -> None:
    config = other_config(known)
    where, V, C = f"with {sizes_of(config)}", config.vocab_size, config.n_embd
    gpt = TheirGPT(student, config)
    seen, shapes = gpt.seen, gpt.shapes
    _has_its_parts(gpt)
    refuse(not seen["config"], "config_not_kept")
    asked = {"token_embedding": [V, C], "position_embedding": [config.block_size, C], "final_norm": [C]}
    for part, shape in (asked | {"lm_head": [V, C]}).items():
        name = f"{part}.weight"
        refuse(name not in shapes, "", f"There is no parameter `{name}` {where}.")
        message = f"`{name}` should have shape {tuple(shape)} {where}; yours has {tuple(shapes[name])}."
        refuse(shapes[name] not in (shape, [1, *shape]), "", message)
    frozen = "".join(seen["frozen"][:1])
    refuse(frozen, "", f"`{frozen}` is frozen (requires_grad=False), so it cannot be trained.")
    refuse("lm_head.bias" in shapes, "head_bias")
    message = f"`final_norm` should have {'a' if config.bias else 'no'} bias {where}."
    refuse(config.bias != ("final_norm.bias" in shapes), "", message)
    bias = next((name for name in shapes if name.endswith("bias")), "")
    refuse(bias and not config.bias, "bias_ignored", f"With bias=False no layer has a bias, but there is `{bias}`.")
    refuse(config.tie_weights != seen["tied"], "not_tied" if config.tie_weights else "always_tied")
    _blocks_of_their_own(gpt)
    more = "more" if seen["count"] > count_parameters(config) else "fewer"
    message = f"The model has {more} parameters than count_parameters says, {where}."
    refuse(seen["count"] != count_parameters(config), "other_count", message)


def _own_blocks(gpt: TheirGPT, ids: torch.Tensor, got: torch.Tensor, where: str) -> None:
    """Ask what can be asked of blocks that are not PyTorch's: pre-norm, GELU, attention, and everything around them."""
    student, config, state = gpt.student, gpt.config, gpt.state
    _blocks_of_their_own(gpt)
    _finite(got, where)
    changed = ids.clone()
    changed[:, 0] = (changed[:, 0] + 1) % config.vocab_size
    blind = torch.allclose(got[:, -1], gpt.logits(changed)[:, -1], atol=1e-4)
    refuse(blind, "", f"The last logits do not depend on the first token {where}: do the blocks attend to others?")
    answer = student.call(gpt.model, [ids[:, :1]], training=False, upstream=[normal(len(ids), 1, config.vocab_size)])
    grads = [g for name, g in answer["gradients"].get("parameters", {}).items() if name.startswith("blocks.")]
    reached = [g for g in grads if isinstance(g, torch.Tensor) and g.dim() > 1 and g.abs().max()]
    # Attention's values and output, and the two layers of the feed-forward network, would be four in each block.
    blind = len(reached) < 3 * config.n_layer
    refuse(blind, "blind_to_itself", "A token on its own does not pass through attention: it may attend to itself.")
    ran = set(student.call(gpt.model, [ids], training=False, trace=True)["operations"])
    refuse(not ran & {"gelu", "erf", "tanh", "_transformer_encoder_layer_fwd"}, "other_activation")
    if not config.tie_weights:  # with a huge residual stream what pre-norm blocks add no longer shows
        small = {name: state[name] for name in ("token_embedding.weight", "position_embedding.weight")}
        large = {name: 1e6 * value for name, value in small.items()}
        gpt.load(large)
        stream = gpt.logits(ids, where)
        refuse(not torch.allclose(stream, gpt.without_blocks(ids, large), rtol=1e-2, atol=1e-2), "post_norm")
        gpt.load(small)
    gpt.probe("bypass")
    bare, nowhere = gpt.logits(ids, where), {"position_embedding.weight": torch.zeros(ids.shape[1], 1)}
    refuse(close(bare, gpt.without_blocks(ids, norm=False)), "no_final_norm")
    refuse(close(bare, gpt.without_blocks(ids, nowhere)), "no_positions")
    same_tensor(bare, gpt.without_blocks(ids), "The logits", "when the blocks let everything through unchanged")


@each(*zip(_SHAPES, (2, 3, 1, 2), (9, 4, 7, 5), strict=True))
def _published(student: Student, config: Config, B: int, T: int) -> None:
    where = f"with {sizes_of(config)}, for B = {B} and T = {T}"
    gpt = TheirGPT(student, config, 0)
    ids = gpt.some_ids(B, T)
    got, quiet = gpt.logits(ids, where), a_tensor(gpt.probe("quiet", ids), "The logits under no_grad")
    gpt.same_logits(got, ids, f"{where}, compared with Hugging Face's GPT-2 with the same weights")
    quietly = "under torch.no_grad() in eval mode"
    gpt.same_logits(quiet, ids, quietly)
    if not gpt.of_pytorch:
        same_tensor(
            _finite(quiet, quietly), got, "The logits", f"{quietly}, compared with those with gradients, {where}", True
        )
        _own_blocks(gpt, ids, got, where)


def _moved(gpt: TheirGPT, T: int, where: str, **mode: bool) -> torch.Tensor:
    """Return which logits [row, position] differ from those of row 0; row k has another token at position k."""
    ids, steps = gpt.some_ids(1, T).repeat(T, 1), torch.arange(1, T)
    ids[steps, steps] = (ids[steps, steps] + 1) % gpt.config.vocab_size
    logits = _finite(gpt.logits(ids, where, **mode), where)
    return (logits - logits[:1]).abs().amax(-1) > 1e-4


def _causal(student: Student) -> None:
    """Row k of the batch is row 0 with another token k: up to k nothing may move, at k something has to."""
    config = GPTConfig(13, 9, 1, 2, 16)
    for seed, sizes in enumerate((*_SHAPES[:3], config)):
        with student.case():
            gpt = TheirGPT(student, sizes, 10 + seed)
            for T in (sizes.block_size, 3, sizes.block_size - 1):
                for mode, training, no_grad in (  # PyTorch's attention computes otherwise under no_grad
                    ("eval mode", False, False),
                    ("training mode", True, False),
                    ("eval mode under no_grad, as `generate` runs", False, True),
                ):
                    where = f"with T = {T}, in {mode}"
                    moved = _moved(gpt, T, where, training=training, no_grad=no_grad)
                    message = f"Changing a token moves earlier logits {where}: has every block its causal mask?"
                    refuse(moved.tril(-1).any(), "sees_the_future", message)
                    message = f"The logits of a position do not depend on its own token {where}."
                    refuse(not moved.diagonal()[1:].all(), "blind_to_itself", message)
    with student.case():
        where = "when attention scores are very large (as they can become in training)"
        gpt = TheirGPT(student, config, 15, loud=300.0)
        refuse(_moved(gpt, 9, where).tril(-1).any(), "finite_mask")


def _depend_on_ids(logits: torch.Tensor) -> torch.Tensor:
    """Return these logits. Logits that are alike everywhere are no merit where one call is compared with another."""
    everywhere = close(logits, logits[:1, :1].expand_as(logits))
    refuse(everywhere, "", "The logits are the same at every place, whatever the ids: does `forward` use them?")
    return logits


def _rows(student: Student) -> None:
    gpt = TheirGPT(student, GPTConfig(13, 9, 2, 2, 16), 20)
    for T in (6, 3):  # of one model: what was made for the first must not serve the second
        with student.case():
            ids, where = gpt.some_ids(3, T), f"for B = 3 and T = {T}"
            whole = _depend_on_ids(_finite(gpt.logits(ids, where), where))
            for b in range(3):
                alone = gpt.logits(ids[b : b + 1], "for B = 1")
                message = "A row's logits depend on other rows of the batch: is one dimension taken for another "
                mixed = not torch.allclose(whole[b], alone[0], atol=1e-4)
                refuse(mixed, "rows_mixed", f"{message}(batch_first=True)?")


def _another_loss(loss: Any, logits: torch.Tensor, ids: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the right loss of the student's own logits; say which it is instead if it is a usual wrong one."""
    mean, whole = F.cross_entropy, (logits.flatten(0, 1), targets.flatten())
    right = mean(*whole)
    if isinstance(loss, torch.Tensor) and loss.shape == right.shape and not close(loss, right):
        for name, wrong in {
            "shifted_inside": mean(logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten()),
            "last_position_loss": mean(logits[:, -1], targets[:, -1]),
            "sum": mean(*whole, reduction="sum"),
            "token_zero_ignored": mean(*whole, ignore_index=0),
            "own_input_as_target": mean(whole[0], ids.flatten()),
            "softmax_before_loss": mean(whole[0].softmax(-1), whole[1]),
        }.items():
            refuse(close(loss, wrong), name)
    return right


_BY_POSITION, _TRANSPOSED = ", with targets by position", ", transposed"


@each(
    *((_SHAPES[0], 2, 5), (_SHAPES[1], 3, 1), (_SHAPES[2], 1, 12), (_SHAPES[3], 2, 4), (_SHAPES[0], 1, 1)),
    *((_SHAPES[1], 4, 6, _BY_POSITION), (_SHAPES[1], 3, 5, _TRANSPOSED)),
)
def _loss(student: Student, config: Config, B: int, T: int, asked: str = "") -> None:
    where = f"for B = {B} and T = {T}{asked}"
    gpt = TheirGPT(student, config, 30)
    ids, targets = (gpt.some_ids(T, B).T if asked == _TRANSPOSED else gpt.some_ids(B, T) for _ in range(2))
    if T > 1:
        targets[0, -1] = 0  # token 0 is a token like any other
    plain = a_pair(student.value(gpt.model, ids, where=f"without targets, {where}"), "(logits, loss)")
    refuse(plain[1] is not None, "loss_without_targets")
    args, kwargs = ([ids, targets], {}) if asked else ([ids], {"targets": targets})
    answer = student.call(gpt.model, args, kwargs, where=f"with targets, {where}")
    logits, loss = gpt.logits_of(answer, ids, "with targets"), answer["value"][1]
    message = f"with targets, against those without, {where},"
    same_tensor(logits, a_tensor(plain[0], "The logits"), "The logits", message)
    one = isinstance(loss, torch.Tensor) and loss.dim() and loss.numel() == 1
    refuse(one, "", f"The loss should be a scalar tensor, without dimensions; yours is {kind(loss)}.")
    expected = _another_loss(loss, logits, ids, targets)
    same_tensor(loss, expected, "The loss", f"against the mean cross-entropy of all positions, {where},")
    refuse(not loss.was_differentiable, "loss_cut_off")


def _lengths(student: Student) -> None:
    gpt = TheirGPT(student, GPTConfig(11, 6, 1, 2, 8), 40)
    whole = gpt.some_ids(2, 6)
    full = _depend_on_ids(gpt.logits(whole, "for T = block_size"))
    for T in (1, 2, 5, 6):
        with student.case():
            where = f"for T = {T} with block_size = 6"
            got = gpt.logits(whole[:, :T], where)
            same_tensor(got, full[:, :T], "The logits", f"{where}, against those of the whole text,")
    with student.case():  # longer than GPT-2's block: the causal mask has no size of its own
        long = TheirGPT(student, GPTConfig(5, 1030, 1, 1, 4), 41)
        ids = long.some_ids(1, 1030)
        got = long.logits(ids, "for T = block_size = 1,030")[:, :500]
        same_tensor(got, long.logits(ids[:, :500]), "The logits", "for T = 1,030, against those for T = 500,")
    for B, T, given in ((2, 7, 1), (2, 9, 1), (1, 8, 2)):
        with student.case(), raises_error(f"T = {T} with block_size = 6{'' if given == 1 else ', and targets,'}"):
            student.call(gpt.model, [gpt.some_ids(B, T)] * given)


@each(GPTConfig(13, 6, 2, 2, 8), GPTConfig(12, 5, 1, 2, 8, bias=False, tie_weights=False))
def _gradients(student: Student, config: Config) -> None:
    where = f"with tie_weights={config.tie_weights}"
    gpt = TheirGPT(student, config, 50)
    if gpt.seen["shared"]:  # their gradients come under one name only
        _blocks_of_their_own(gpt)
    ids, targets = gpt.some_ids(2, config.block_size) % 7, gpt.some_ids(2, config.block_size) % 7
    answer = student.call(gpt.model, [ids, targets], where=where, upstream=[None, torch.tensor(1.0)])
    a_pair(answer["value"], "(logits, loss)")
    grads = answer["gradients"].get("parameters", {})
    actual: dict[str, Any] = {canonical(name): value for name, value in grads.items()}
    for name, value in actual.items():
        if isinstance(value, torch.Tensor) and name in gpt.state and value.shape == (1, *gpt.state[name].shape):
            actual[name] = value[0]
    if config.tie_weights:  # one parameter, which PyTorch lists under the name that was given first
        actual.setdefault("token_embedding.weight", actual.get("lm_head.weight"))
    gpt.same_gradients(actual, ids, targets, where)
    _has_its_parts(gpt)
    for name in gpt.shapes:
        if config.tie_weights and name == "lm_head.weight":
            continue
        grad = actual.get(name)
        size = grad.abs().max() if isinstance(grad, torch.Tensor) else 0
        refuse(not math.isfinite(size), "not_finite", f"The gradient of `{name}` is not finite {where}.")
        message = f"No gradient reaches `{name}` {where}, so it would never be trained."
        refuse(not size, "gradient_cut_off", message)
    tokens = actual.get("token_embedding.weight")  # and the rows of those that are not in the input
    refuse(config.tie_weights and (tokens is None or not tokens[7:].abs().max()), "not_tied")


@each(GPTConfig(97, 40, 6, 4, 48), GPTConfig(97, 40, 6, 4, 48, tie_weights=False))
def _start(student: Student, config: Config) -> None:
    """Ask for standard deviations within ten per cent or so, over five of their errors, and a loss near ln V."""
    gpt = TheirGPT(student, config)
    found = gpt.probe("start", gpt.some_ids(8, 40), gpt.some_ids(8, 40), math.log(config.vocab_size))
    refuse(
        not math.isfinite(found["loss"]), "", "With fresh weights the loss is not finite in eval mode under no_grad."
    )
    message = f"With fresh weights the loss is {'above' if found['loss'] > 0 else 'below'} ln V by more than 0.1: "
    message += "every token should be about equally likely. Do embeddings and output layer start as N(0, 0.02)?"
    refuse(not abs(found["loss"]) < 0.15, "first_loss", message)
    _has_its_parts(gpt)
    spread, middle = ({canonical(name): size for name, size in found[of].items()} for of in ("spread", "middle"))
    for name in ("token_embedding.weight", "position_embedding.weight", "lm_head.weight"):
        right = 0.85 < spread.get(name, 0) < 1.15 and abs(middle.get(name, 1)) <= 0.1
        message = f"`{name}` should start as normal numbers with mean 0 and standard deviation 0.02."
        refuse(not right, "embeddings_start", message)
    blocks = {name: size for name, size in spread.items() if name.startswith("blocks.")}
    scaled = [name for name, size in blocks.items() if size == 0.3]  # 1 / √12 = 0.29
    odd = "".join([name for name, size in blocks.items() if size != 0.3 and not 0.75 < size < 1.25][:1])
    message = f"`{odd}` should start with a standard deviation of 0.02, or, if it is the last before a residual "
    refuse(odd, "", f"{message}sum, of 0.02 / √(2 · n_layer).")
    last = [name for name in blocks if name.endswith(("out_proj.weight", "linear2.weight"))]
    wrong = sorted(scaled) != sorted(last) if gpt.of_pytorch else len(scaled) < 2 * config.n_layer
    refuse(wrong, "residuals_not_scaled")
    refuse(any(found["norms"].values()), "norms_zeroed")
    refuse(any(found["biases"].values()), "biases_not_zero")


def _dropout(student: Student) -> None:
    for dropout, inside in ((0.5, False), (0.0, False), (0.5, True)):
        with student.case():
            gpt = TheirGPT(student, GPTConfig(13, 9, 2, 2, 16, dropout=dropout), 60)
            found = gpt.probe("chance", gpt.some_ids(2, 7), inside)
            refuse(found["eval"], "dropout_in_eval")
            refuse(dropout and not found["training"], "no_dropout_in_blocks" if inside else "no_dropout")
            refuse(not dropout and found["training"], "dropout_default")
    # Without what the blocks add, chance can come from the dropout of the embeddings alone; it has to reach both.
    for silent in ("", "token_embedding.weight", "position_embedding.weight"):
        with student.case():
            gpt = TheirGPT(student, GPTConfig(13, 9, 2, 2, 16, dropout=0.5, tie_weights=False), 61)
            _has_its_parts(gpt)
            gpt.probe("bypass")
            if silent in gpt.shapes:
                gpt.load({silent: torch.zeros(gpt.shapes[silent])})
            found = gpt.probe("chance", gpt.some_ids(2, 7), False)
            refuse(not found["training"], "no_dropout_of_embeddings")


def _device(student: Student) -> None:
    """Ask as device_is_kept does, and before that with every new tensor that names no device somewhere else.

    nn.Embedding takes ids of another device without a word when there are no numbers to look up, and gives back
    whatever was in memory. Those may even be the right numbers, left there by an earlier call; so it is asked twice,
    with other positions.
    """
    config = _SHAPES[1]
    gpt = TheirGPT(student, config, 73)
    ids, left, found = gpt.some_ids(3, 6), False, []
    for _ in range(2):
        try:
            answer = student.call(gpt.model, [ids], training=False, strict_device=True, trace=True)
        except Problem as problem:
            left = devices_differ(problem)  # but not: made elsewhere, and moved afterwards
            break
        found.append(student.last)
        strict, plain = gpt.logits_of(answer, ids), gpt.logits(ids)
        same = strict.device == plain.device and torch.allclose(strict, plain, atol=1e-4)
        # weight[positions] takes positions from the CPU on a GPU too
        left = left or (not same and "index" not in answer["operations"])
        gpt.load({"position_embedding.weight": normal(config.block_size, config.n_embd)})
    if left:
        for reply in found:
            student.note("not on the device", reply)  # and not what happened to be in memory
    message = (
        "The result does not stay on the device of ids: somewhere a tensor is made without `device=ids.device`. It "
    )
    refuse(left, "device_not_kept", f"{message}works on a CPU and fails on a GPU.")
    device_is_kept(student, gpt.model, [ids])


def _side_effects(student: Student) -> None:
    with student.case():
        gpt = TheirGPT(student, _SHAPES[0], 70, double=True)
        ids = gpt.some_ids(2, 7)
        answer = student.call(gpt.model, [ids], where="in float64", training=False)
        got = gpt.logits_of(answer, ids, "in float64")
        unchanged(answer["inputs"], [ids], "ids")
        refuse(got.dtype != torch.float64, "single_precision")
        gpt.same_logits(got, ids, "in float64")
    with student.case():
        for config in _SHAPES[:2]:  # sizes must not be kept from one model to the next
            first = TheirGPT(student, config, 71)
            ids = first.some_ids(2, 4)
            before = first.logits(ids)
            TheirGPT(student, _SHAPES[2], 72)
            same_tensor(first.logits(ids), before, "The logits", "once another model exists")
    with student.case():
        _device(student)
    with student.case():
        gpt = TheirGPT(student, _SHAPES[3])
        try:
            count = gpt.probe("count", their_config(student, GPT2))
        except Problem as problem:
            if not problem.error:
                raise
        else:
            message = "With the sizes of GPT-2 small the model has not as many parameters as GPT-2 small."
            refuse(count != count_parameters(GPT2), "published_count", message)


EXERCISE = Exercise(
    Check("its parts, biases, tied weights and number of parameters", 1.5, _parts),
    Check("logits as Hugging Face's GPT-2 with the same weights", 2.0, _published),
    Check("no output depends on a later token", 1.0, _causal),
    Check("each row of the batch on its own", 0.25, _rows),
    Check("the loss: mean cross-entropy, None without targets", 1.0, _loss),
    Check("any T up to block_size, a ValueError above", 0.5, _lengths, dependent=True),
    Check("gradients reach every parameter", 0.5, _gradients, dependent=True),
    Check("small weights to start with, first loss ln V", 0.75, _start),
    Check("dropout in training only", 0.5, _dropout),
    Check("float64, device, several models, GPT-2 small's size", 0.5, _side_effects, dependent=True),
    takes="tensor",
    gives="dict",
    harmless=("other_signature", "global_generator", "error_of_another_type", "bad_input_accepted"),
    points=8,
)
