"""Notebook 09: the whole GPT, its size, its training step and schedule, and how text is drawn from it."""

from __future__ import annotations

import itertools
import math
import re
import textwrap
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from .compare import a_pair, a_tensor, close, dtype_name, kind, same_gradients, same_tensor, shape_name, unchanged
from .declare import Alternative, Check, Exercise, Mistake, Question, Wrong, edited, source_of, written
from .draw import device_is_kept, gradients_of, normal, quietly_called

# --- given ------------------------------------------------------------------------------------------------------------


@dataclass
class GPTConfig:
    """The sizes of a GPT, with the switches that its published variants differ in."""

    vocab_size: int  # V
    block_size: int  # the longest context, in tokens
    n_layer: int
    n_head: int
    n_embd: int  # C, a multiple of n_head
    dropout: float = 0.0
    bias: bool = True  # False: no bias in any layer, the norms included
    tie_weights: bool = True  # True: the output layer uses the matrix of the token embedding


LOCKED = "from dataclasses import dataclass\nfrom functools import partial\n\n\n" + source_of(GPTConfig)

# Compiled on its own, as a notebook does it: a dataclass cannot be made where annotations are postponed.
GIVEN = f"exec(compile({LOCKED!r}, '<given>', 'exec', dont_inherit=True))\n"


# --- references -------------------------------------------------------------------------------------------------------


def count_parameters(config):
    """The number of parameters of GPT(config), by arithmetic alone: no model is built.

    A matrix that two layers share (tie_weights=True) is counted once. Returns an int.
    Example: V = 10, block_size = 8, one layer, n_embd = 4, with the defaults -> 324
    """
    V, C = config.vocab_size, config.n_embd
    biases = 1 if config.bias else 0

    attention = 4 * (C * C + biases * C)  # query, key, value and output: (C, C) each
    feed_forward = (C * 4 * C + biases * 4 * C) + (4 * C * C + biases * C)  # C -> 4C -> C
    norm = C + biases * C
    block = attention + feed_forward + 2 * norm

    embeddings = V * C + config.block_size * C  # tokens and positions
    head = 0 if config.tie_weights else V * C  # never a bias, as in GPT-2
    return embeddings + config.n_layer * block + norm + head


class GPT(nn.Module):
    """A decoder-only transformer as GPT-2 (Radford et al. 2019, section 2.3): pre-norm, GELU (tanh form), causal.

    Parts: config, token_embedding, position_embedding, blocks, final_norm, and lm_head, which has no bias.
    forward: ids [B, T] -> (logits [B, T, V], None); with targets [B, T] -> (logits, loss), the mean cross-entropy
    over all positions: nothing is shifted here. T > config.block_size is a ValueError.
    Dropout (in training only) acts on the sum of the embeddings and in the blocks.
    Weights start as N(0, 0.02), the last matrix before each residual sum as N(0, 0.02 / √(2 n_layer)), biases as 0.
    """

    def __init__(self, config):
        super().__init__()
        self.config = config
        C = config.n_embd
        self.token_embedding = nn.Embedding(config.vocab_size, C)
        self.position_embedding = nn.Embedding(config.block_size, C)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(
                d_model=C,
                nhead=config.n_head,
                dim_feedforward=4 * C,
                dropout=config.dropout,  # must be passed on: the layer's own default is 0.1
                activation=partial(F.gelu, approximate="tanh"),
                batch_first=True,
                norm_first=True,
                bias=config.bias,
            )
            for _ in range(config.n_layer)
        )
        self.final_norm = nn.LayerNorm(C, bias=config.bias)
        self.lm_head = nn.Linear(C, config.vocab_size, bias=False)
        if config.tie_weights:
            self.lm_head.weight = self.token_embedding.weight  # one tensor, used twice

        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                ends_a_branch = name.endswith(("out_proj.weight", "linear2.weight"))
                scale = math.sqrt(2 * config.n_layer) if ends_a_branch else 1  # 2 n_layer branches add up
                nn.init.normal_(parameter, std=0.02 / scale)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, ids, targets=None):
        T = ids.shape[1]
        if self.config.block_size < T:
            raise ValueError(f"ids has {T} positions, more than block_size = {self.config.block_size}")
        positions = torch.arange(T, device=ids.device)  # (T,)
        x = self.token_embedding(ids) + self.position_embedding(positions)  # (B, T, C) + (T, C)
        x = self.dropout(x)
        future = torch.ones(T, T, dtype=torch.bool, device=ids.device).triu(diagonal=1)  # (T, T), True = blocked
        for block in self.blocks:
            x = block(x, src_mask=future, is_causal=True)  # (B, T, C)
        logits = self.lm_head(self.final_norm(x))  # (B, T, V)
        if targets is None:
            return logits, None
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())  # (B T, V) against (B T,)
        return logits, loss


def get_batch(data, block_size, batch_size, generator):
    """Windows cut at random from a long text: inputs x and targets y, both [batch_size, block_size].

    data: LongTensor [N], N greater than block_size (else a ValueError); y is x one step on.
    Every start from 0 to N - block_size - 1 is equally likely; windows may overlap or repeat.
    Draws from generator (a CPU one) alone; x and y are on the device of data.
    Example: data [5, 6, 7, 8], block_size 3 -> each row of x is [5, 6, 7], of y [6, 7, 8]
    """
    if len(data) <= block_size:
        raise ValueError(f"data has {len(data)} tokens, but a window and its targets need {block_size + 1}")
    starts = torch.randint(len(data) - block_size, (batch_size,), generator=generator)  # (B,), the end excluded
    offsets = torch.arange(block_size + 1)  # one token more than the input: the last target
    places = (starts[:, None] + offsets).to(data.device)  # (B, T + 1)
    windows = data[places]  # (B, T + 1)
    return windows[:, :-1], windows[:, 1:]


def learning_rate(step, max_steps, warmup, peak, floor):
    """Linear warm-up, then half a cosine down to the floor (Loshchilov and Hutter 2017, equation 5).

    step counts from 0. Below warmup: peak * step / warmup; from warmup to max_steps: from peak to floor along
    a cosine; from max_steps on: floor. Without warm-up (warmup = 0) step 0 has the peak. Returns a float.
    Example: max_steps 30, warmup 10, peak 1.0, floor 0.2: steps 5, 10, 20, 30 -> 0.5, 1.0, 0.6, 0.2
    """
    if step < warmup:
        return peak * step / warmup
    if step >= max_steps:
        return floor
    progress = (step - warmup) / (max_steps - warmup)  # from 0 to 1
    return floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2


def train_step(model, optimizer, x, y, max_norm=1.0):
    """One step of training: forget old gradients, forward, backward, clip, update.

    model(x, y) -> (logits, loss); x, y: [B, T]; max_norm: the largest norm allowed for all gradients taken together
    (Pascanu et al. 2013, section 3.2). Changes the model's parameters in place.
    Returns the loss before the update, as a float.
    """
    optimizer.zero_grad()  # backward() adds to what is there
    _, loss = model(x, y)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()  # a plain number: a tensor would keep the whole graph alive


def next_token_distribution(logits, temperature=1.0, top_k=None, top_p=None):
    """Probabilities to draw the next token from; first temperature, then top_k, then top_p, each if given.

    logits: [..., V] (−inf: never) -> probabilities [..., V]. temperature 0: 1 for the likeliest token, whatever the rest.
    top_k: only the k likeliest stay (all, if k > V). top_p: of what top_k left, renormalised, only the smallest set of
    the likeliest that reaches top_p stays (Holtzman et al. 2020); at least one token, and all with top_p = 1.
    ValueError unless temperature >= 0, top_k >= 1, 0 < top_p <= 1.
    Example: probabilities 0.5 0.3 0.2 and top_p = 0.7 -> 0.625 0.375 0
    """
    if temperature < 0:
        raise ValueError(f"temperature must not be negative; got {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1; got {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1; got {top_p}")

    V = logits.shape[-1]
    if temperature == 0:
        return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype)  # (..., V)
    logits = logits / temperature
    if top_k is not None and top_k < V:
        kth = logits.topk(top_k, dim=-1).values[..., -1:]  # (..., 1): the worst logit that stays
        logits = logits.masked_fill(logits < kth, float("-inf"))
    if top_p is not None and top_p < 1:
        probs, order = torch.softmax(logits, dim=-1).sort(dim=-1, descending=True)  # (..., V)
        likelier = probs.cumsum(dim=-1) - probs  # what all likelier tokens have together: 0 for the first
        beyond = likelier >= top_p  # p was reached before this token
        logits = logits.masked_fill(beyond.scatter(-1, order, beyond), float("-inf"))  # back in the order of V
    return torch.softmax(logits, dim=-1)


@torch.no_grad()  # nothing is trained here: keep no graph
def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, generator=None):
    """Continue each row of ids by max_new_tokens tokens, drawn one at a time. Returns [B, T + max_new_tokens].

    model(ids [B, T]) -> (logits [B, T, V], loss); it sees the last model.config.block_size tokens at most.
    temperature, top_k, top_p: as in next_token_distribution; generator: the only source of chance.
    The model is in eval mode meanwhile, and in its earlier mode afterwards.
    Example: ids [[5, 7]] and max_new_tokens 2 -> [[5, 7, a, b]], a drawn after 5 7, b after 5 7 a
    """
    was_training = model.training
    model.eval()  # no dropout
    for _ in range(max_new_tokens):
        context = ids[:, -model.config.block_size :]  # (B, up to block_size): older tokens have no position
        logits, _ = model(context)  # (B, up to block_size, V)
        probs = next_token_distribution(logits[:, -1], temperature, top_k, top_p)  # (B, V): the last position only
        next_ids = torch.multinomial(probs, num_samples=1, generator=generator)  # (B, 1): each row draws its own
        ids = torch.cat([ids, next_ids], dim=1)  # (B, T + 1): a new tensor, the prompt stays as it was
    model.train(was_training)
    return ids


# --- how mistakes are written down, and what the checks share ---------------------------------------------------------

Coding = str | tuple[str, str] | list[tuple[str, str]]


def _coded(reference: Any, coding: Coding) -> str:
    """The source of another version: one edit of the reference, a list of edits, a new body, or a whole definition."""
    if not isinstance(coding, str):
        return edited(reference, *(coding if isinstance(coding, list) else [coding]))
    coding = textwrap.dedent(coding).strip()
    if re.search(rf"^(def|class) {reference.__name__}\b", coding, re.MULTILINE):
        return written(coding)
    before, signature = source_of(reference).split("def ", 1)  # a decorator stays where it is
    return written(f"{before}def {signature.splitlines()[0]}\n" + textwrap.indent(coding, "    "))


def _mistakes(reference: Any, *rows: tuple) -> list[Mistake]:
    """A table of mistakes. Each row: the name, the sentence, and one or more codings."""
    return [
        Mistake(name, sentence, _coded(reference, first), tuple(_coded(reference, other) for other in others))
        for name, sentence, first, *others in rows
    ]


def _alternatives(reference: Any, **codings: Coding) -> list[Alternative]:
    return [Alternative(name, _coded(reference, coding)) for name, coding in codings.items()]


def _config(student: Any, config: GPTConfig) -> Any:
    """The same configuration in the student's process."""
    return student.call("GPTConfig", [], vars(config), keep=True)["value"]


def _sizes(config: GPTConfig) -> str:
    """A configuration in words: what differs from the defaults only where it does."""
    text = f"V = {config.vocab_size}, block_size = {config.block_size}, n_layer = {config.n_layer}, n_head = "
    text += f"{config.n_head}, n_embd = {config.n_embd}"
    return text + "".join(f", {name}=False" for name in ("bias", "tie_weights") if not getattr(config, name))


def _refused(student: Any, name: Any, args: list, kwargs: dict, what: str) -> None:
    """A ValueError, and no other error, for bad input."""
    try:
        student.call(name, args, kwargs)
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


def _number(got: Any, what: str, where: str) -> float:
    """A number, however it is wrapped; whether it is a plain float has a check of its own."""
    if isinstance(got, torch.Tensor) and got.numel() == 1:
        got = got.item()
    if type(got) not in (int, float):
        raise Wrong(f"{what} should be a number {where}; yours is {kind(got)}.")
    return float(got)


_MAKE_GENERATOR = """
def make(seed):
    return torch.Generator().manual_seed(seed)
"""


def _generator(student: Any, seed: int) -> Any:
    """A generator that stays in the student's process, so that it can be passed twice."""
    return student.call(student.probe("make", _MAKE_GENERATOR), [seed], keep=True)["value"]


def _noted(student: Any, number: Any) -> None:
    """What was answered, for the record, to five digits: the last ones depend on the order of the arithmetic."""
    if type(number) is float and math.isfinite(number):
        list(student.record.values())[-1][-1]["value"] = float(f"{number:.5g}")


_NOTHING = "Nothing is returned (None): end with `return`, not with `print` or an assignment."


# --- count_parameters -------------------------------------------------------------------------------------------------

_GPT2 = GPTConfig(50257, 1024, 12, 12, 768)
_COUNTED = (
    GPTConfig(11, 7, 3, 2, 6),
    _GPT2,
    GPTConfig(97, 32, 1, 1, 5),
    GPTConfig(5, 40, 2, 4, 8),
    GPTConfig(1009, 64, 24, 16, 32),
)


def _count(student: Any, config: GPTConfig, **options: Any) -> Any:
    where = f"for {_sizes(config)}"
    answer = student.call("count_parameters", [_config(student, config)], where=where, **options)
    got, expected = answer["value"], count_parameters(config)
    if type(got) not in (int, float) and not (isinstance(got, torch.Tensor) and got.numel() == 1):
        raise Wrong(f"A whole number (an int) is asked for {where}; yours is {kind(got)}.")
    number = got if type(got) in (int, float) else got.item()
    if number != expected:
        raise Wrong(f"The count is too {'large' if number > expected else 'small'} {where}.")
    if type(got) is not int:
        raise Wrong(f"A whole number (an int) is asked for; yours is {kind(got)}.", "not_an_int")
    return answer


def _counted(student: Any) -> None:
    for config in _COUNTED:
        with student.case():
            _count(student, config)


def _counted_switches(student: Any) -> None:
    for bias, tie_weights in ((False, True), (True, False), (False, False)):
        for sizes in ((11, 7, 3, 2, 6), (1009, 64, 24, 16, 32), (97, 32, 1, 1, 5), (5, 40, 2, 4, 8)):
            with student.case():
                _count(student, GPTConfig(*sizes, bias=bias, tie_weights=tie_weights))
    with student.case():
        _count(student, GPTConfig(11, 7, 3, 2, 6, dropout=0.3))


_BUILDING = {"empty", "normal_", "uniform_", "fill_", "zero_"}


def _counted_by_arithmetic(student: Any) -> None:
    with student.case():
        if set(_count(student, GPTConfig(11, 7, 3, 2, 6), trace=True)["operations"]) & _BUILDING:
            raise Wrong(
                "A model (or a layer, or a tensor) is built in order to count: a closed form is asked for, from the numbers of "
                "the configuration alone. Otherwise a model of many billions of parameters could not be counted.",
                "model_built",
            )
    with student.case():
        _count(
            student, GPTConfig(2**38 + 7, 2**36 + 3, 4, 1, 2**21 + 1)
        )  # too large for floats, and any layer to be built


COUNT_PARAMETERS = Exercise(
    name="count_parameters",
    notebook="09-gpt",
    points=3,
    reference=count_parameters,
    checks=[
        Check("GPT-2's sizes and others", 1.5, _counted),
        Check("without biases, without tied weights", 1.0, _counted_switches),
        Check("by arithmetic, exactly, for any size", 0.5, _counted_by_arithmetic),
    ],
    working=written(
        """
        def count_parameters(config):
            V, T, L, C = config.vocab_size, config.block_size, config.n_layer, config.n_embd
            total = V * C + T * C + L * 12 * C * C + (2 * L + 1) * C
            if config.bias:
                total += L * 11 * C + C
            return total if config.tie_weights else total + V * C
        """
    ),
    mistakes=_mistakes(
        count_parameters,
        (
            "tied_weights_counted_twice",
            "The output layer is counted although it shares the token embedding's matrix: with tie_weights=True that is one matrix, "
            "counted once.",
            ("0 if config.tie_weights else V * C", "V * C"),
        ),
        (
            "head_never_counted",
            "With tie_weights=False the output layer has a matrix of its own (V × C), which is missing from the count.",
            ("0 if config.tie_weights else V * C", "0"),
        ),
        (
            "tie_inverted",
            "tie_weights is used the wrong way round: when the weights are tied the output layer adds nothing.",
            ("0 if config.tie_weights else V * C", "V * C if config.tie_weights else 0"),
        ),
        (
            "head_bias",
            "A bias of V numbers is counted for the output layer: as in GPT-2, lm_head has none.",
            ("+ norm + head", "+ norm + head + V"),
            ("+ norm + head", "+ norm + head + biases * V"),
            ("else V * C", "else V * C + V"),
            ("else V * C", "else V * C + biases * V"),
        ),
        (
            "biases_always",
            "config.bias is ignored: with bias=False no layer has a bias, the norms included.",
            ("1 if config.bias else 0", "1"),
        ),
        (
            "norm_biases_always",
            "With bias=False the norms have no bias either: C numbers each, not 2C.",
            ("norm = C + biases * C", "norm = 2 * C"),
        ),
        (
            "norms_without_weights",
            "Without biases a norm still has its weights: C numbers.",
            ("norm = C + biases * C", "norm = 2 * biases * C"),
            ("+ 2 * norm", "+ 4 * biases * C"),
            ("+ norm + head", "+ 2 * biases * C + head"),
        ),
        (
            "final_norm_bias_always",
            "With bias=False the final norm has no bias either: C numbers, not 2C.",
            ("+ norm + head", "+ 2 * C + head"),
        ),
        (
            "biases_never",
            "The biases are missing: each linear layer has one bias for every output, each norm has weight and bias.",
            ("1 if config.bias else 0", "0"),
        ),
        (
            "bias_inverted",
            "config.bias is used the wrong way round: with bias=True every layer but lm_head has a bias.",
            ("1 if config.bias else 0", "0 if config.bias else 1"),
        ),
        (
            "linear_biases",
            "The biases of the linear layers are not the right ones: one for each output, so four times C in attention, 4C and C in the "
            "feed-forward network.",
            [
                ("4 * (C * C + biases * C)", "4 * C * C"),
                ("+ biases * 4 * C) + (4 * C * C + biases * C)", ") + 4 * C * C"),
            ],
            ("4 * (C * C + biases * C)", "4 * C * C"),
            ("4 * (C * C + biases * C)", "4 * C * C + biases * C"),
            ("4 * (C * C + biases * C)", "4 * C * C + 3 * biases * C"),
            ("+ biases * 4 * C) + (4 * C * C + biases * C)", ") + 4 * C * C"),
            ("(4 * C * C + biases * C)", "(4 * C * C + biases * 4 * C)"),
            ("(C * 4 * C + biases * 4 * C)", "(C * 4 * C + biases * C)"),
        ),
        (
            "output_projection_missing",
            "Attention has four matrices, not three: after the heads are merged there is an output projection.",
            ("attention = 4 * ", "attention = 3 * "),
        ),
        (
            "heads_counted",
            "The number of heads must not matter: the heads share the width C, so all of them together have (C, C) matrices.",
            ("attention = 4 * ", "attention = config.n_head * 4 * "),
            ("attention = 4 * ", "attention = config.n_head * 3 * (C * C + biases * C) + "),
            ("4 * (C * C + biases * C)", "3 * (C * (C // config.n_head) + biases * C) + C * C + biases * C"),
            ("4 * (C * C + biases * C)", "4 * (C * (C // config.n_head) + biases * C)"),
        ),
        (
            "feed_forward_width",
            "The feed-forward network is not 4C wide: its matrices are (C, 4C) and (4C, C).",
            ("(C * 4 * C + biases * 4 * C) + (4 * C * C + biases * C)", "2 * (C * C + biases * C)"),
            (
                "(C * 4 * C + biases * 4 * C) + (4 * C * C + biases * C)",
                "(C * 2048 + biases * 2048) + (2048 * C + biases * C)",
            ),
            (
                "(C * 4 * C + biases * 4 * C) + (4 * C * C + biases * C)",
                "(C * 3072 + biases * 3072) + (3072 * C + biases * C)",
            ),
            ("(C * 4 * C + biases * 4 * C) + (4 * C * C + biases * C)", "4 * C * C + 3 * biases * C"),
        ),
        (
            "second_matrix_missing",
            "The feed-forward network has two matrices: C to 4C, and back from 4C to C.",
            (" + (4 * C * C + biases * C)", ""),
            (" + (4 * C * C + biases * C)", " + biases * C"),
        ),
        (
            "feed_forward_missing",
            "The feed-forward network of each block is missing.",
            ("attention + feed_forward", "attention"),
        ),
        (
            "attention_missing",
            "Attention is missing: four matrices (C, C) in each block.",
            ("attention + feed_forward", "feed_forward"),
        ),
        (
            "one_norm_each",
            "Each block has two norms, one before attention and one before the feed-forward network.",
            ("+ 2 * norm", "+ norm"),
        ),
        ("no_norms_in_blocks", "The norms inside the blocks are missing: two in each.", (" + 2 * norm", "")),
        (
            "final_norm_missing",
            "The final norm, after the last block, is missing.",
            ("+ norm + head", "+ head"),
            ("+ norm + head", "+ head + 0 * norm"),
        ),
        (
            "final_norm_in_every_layer",
            "The final norm is counted once for each layer: it comes only once, after the last block.",
            ("config.n_layer * block + norm", "config.n_layer * (block + norm)"),
        ),
        (
            "positions_missing",
            "The position embedding is missing: block_size × C numbers.",
            (" + config.block_size * C", ""),
        ),
        (
            "positions_as_many_as_tokens",
            "The position embedding has one row for each position (block_size), not one for each token.",
            ("config.block_size * C", "V * C"),
        ),
        ("tokens_missing", "The token embedding is missing: V × C numbers.", ("V * C + config", "config")),
        ("one_layer", "Only one block is counted: there are n_layer of them.", ("config.n_layer * block", "block")),
        (
            "everything_times_layers",
            "The embeddings are counted once for each layer: only the blocks repeat.",
            ("embeddings + config.n_layer * block", "config.n_layer * (embeddings + block)"),
        ),
        (
            "width_fixed",
            "A size is fixed in the code (768, 1024 or 50257, say): take all of them from config.",
            ("V, C = config.vocab_size, config.n_embd", "V, C = config.vocab_size, 768"),
            ("V, C = config.vocab_size, config.n_embd", "V, C = 50257, config.n_embd"),
            ("config.block_size * C", "1024 * C"),
            ("config.n_layer * block", "12 * block"),
            "return 124439808",
        ),
        (
            "not_an_int",
            "A float is returned (from `/`, or from powers with a float): parameters come in whole numbers, and large counts lose "
            "their last digits as floats.",
            ("norm + head", "norm + head + 0.0"),
            ("return embeddings", "return 1.0 * embeddings"),
            ("    attention = 4 * (C * C", "    attention = 4 * (C**2.0"),
            ("norm = C + biases * C", "norm = C / 1 + biases * C"),
        ),
        (
            "text",
            "A text is returned: an int is asked for (format it when you print).",
            (
                "return embeddings + config.n_layer * block + norm + head",
                "return f'{embeddings + config.n_layer * block + norm + head:,}'",
            ),
        ),
        (
            "model_built",
            "A model (or a layer) is built in order to count: a closed form is asked for, from the numbers of the configuration alone. "
            "Otherwise a model of many billions of parameters could not be counted.",
            "return sum(p.numel() for p in GPT(config).parameters())",
            "with torch.device('meta'):\n    return sum(p.numel() for p in GPT(config).parameters())",
        ),
        (
            "in_millions",
            "The count is divided (millions? thousands?) or given in bytes: the number of parameters itself is asked for.",
            (
                "return embeddings + config.n_layer * block + norm + head",
                "return (embeddings + config.n_layer * block + norm + head) / 1e6",
            ),
            (
                "return embeddings + config.n_layer * block + norm + head",
                "return 4 * (embeddings + config.n_layer * block + norm + head)",
            ),
        ),
        (
            "nothing_returned",
            _NOTHING,
            ("return embeddings", "_ = embeddings"),
            (
                "return embeddings + config.n_layer * block + norm + head",
                "print(embeddings + config.n_layer * block + norm + head)",
            ),
        ),
    ),
    alternatives=_alternatives(
        count_parameters,
        one_formula="C = config.n_embd\nper_block = 12 * C**2 + (13 * C if config.bias else 2 * C)\nreturn C * (config.vocab_size * (2 - config.tie_weights) + config.block_size) + config.n_layer * per_block + C * (1 + config.bias)",
        layer_by_layer="""
        def linear(inputs, outputs):
            return inputs * outputs + (outputs if config.bias else 0)

        def norm(width):
            return 2 * width if config.bias else width

        C = config.n_embd
        total = config.vocab_size * C + config.block_size * C
        for _ in range(config.n_layer):
            total += norm(C) + linear(C, 3 * C) + linear(C, C)
            total += norm(C) + linear(C, 4 * C) + linear(4 * C, C)
        total += norm(C)
        if not config.tie_weights:
            total += C * config.vocab_size
        return total
        """,
        shapes="""
        C, F4 = config.n_embd, 4 * config.n_embd
        matrices = [(C, C)] * 4 + [(C, F4), (F4, C)]
        vectors = [C] * 4 + [F4, C] + [C, C] if config.bias else []
        block = sum(a * b for a, b in matrices) + sum(vectors) + 2 * C
        ends = [(config.vocab_size, C), (config.block_size, C), (1, C)] + [(1, C)] * bool(config.bias)
        if not config.tie_weights:
            ends.append((config.vocab_size, C))
        return int(config.n_layer * block + sum(a * b for a, b in ends))
        """,
    ),
)


# --- GPT --------------------------------------------------------------------------------------------------------------

# What the judge sees of a GPT: its parameters by name (those that share a tensor under each of their names).
_LOOK = """
def look(model, config):
    if not isinstance(model, nn.Module):
        return None
    named = dict(model.named_parameters(remove_duplicate=False))
    own = getattr(model, "config", None)
    first = {id(p): name for name, p in reversed(named.items())}
    head, tokens = named.get("lm_head.weight"), named.get("token_embedding.weight")
    return {
        "parameters": {name: list(p.shape) for name, p in named.items()},
        "frozen": [name for name, p in named.items() if not p.requires_grad],
        "shared": [name for name, p in named.items() if name.startswith("blocks.") and first[id(p)] != name],
        "count": sum(p.numel() for p in model.parameters()),
        "tied": head is not None and head is tokens,
        "config": own is not None and all(getattr(own, k, None) == v for k, v in vars(config).items()),
        "parts": [name for name in ("token_embedding", "position_embedding", "blocks", "final_norm", "lm_head") if hasattr(model, name)],
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
    return {
        "loss": round(float(loss) - ln_V, 1),
        "spread": {name: round(float(p.std()) / 0.02, 1) for name, p in named.items() if p.dim() > 1},
        "middle": {name: round(float(p.mean()) / 0.02, 1) for name, p in named.items() if p.dim() > 1},
        "norms": {name: round(float((p - 1).abs().max()), 2) for name, p in named.items() if p.dim() == 1 and name.endswith("weight")},
        "biases": {name: round(float(p.abs().max()), 2) for name, p in named.items() if p.dim() == 1 and name.endswith("bias")},
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


def _build(student: Any, config: GPTConfig) -> tuple[Any, dict]:
    """The student's GPT, and what is to be seen of it."""
    there = _config(student, config)
    model = student.build("GPT", there)
    seen = student.value(student.probe("look", _LOOK), model, there)
    if not isinstance(seen, dict):
        raise Wrong("The class you wrote does not give an `nn.Module`: does it inherit from `nn.Module`?")
    return model, seen


def _canonical(name: str) -> str:
    """nn.TransformerEncoder keeps its layers under `layers`; the rest of the names are those of a list of layers."""
    return name.replace("blocks.layers.", "blocks.")


def _pytorch_blocks(seen: dict, config: GPTConfig) -> bool:
    """Whether the blocks are nn.TransformerEncoderLayers, to go by the names of their parameters."""
    names = {_canonical(name) for name in seen["parameters"]}
    needed = {f"blocks.{i}.{part}" for i in range(config.n_layer) for part in _LAYER}
    others = {name for name in names if name.startswith("blocks.")} - needed
    return needed <= names and all(name.split(".", 2)[-1] in _LAYER_BIASES for name in others)


def _shapes(config: GPTConfig) -> dict[str, tuple[int, ...]]:
    """The reference's parameters, without building it."""
    V, C = config.vocab_size, config.n_embd
    sizes = dict(zip(_LAYER, ((3 * C, C), (C, C), (4 * C, C), (C, 4 * C), (C,), (C,)), strict=True))
    if config.bias:
        sizes |= {bias: shape[:1] for bias, shape in zip(_LAYER_BIASES, sizes.values(), strict=True)}
    shapes = {"token_embedding.weight": (V, C), "position_embedding.weight": (config.block_size, C)}
    shapes |= {f"blocks.{i}.{name}": shape for i in range(config.n_layer) for name, shape in sizes.items()}
    shapes |= {"final_norm.weight": (C,)} | ({"final_norm.bias": (C,)} if config.bias else {})
    return shapes | {"lm_head.weight": (V, C)}


def _state(config: GPTConfig, seed: int, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
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
    student: Any,
    model: Any,
    seen: dict,
    config: GPTConfig,
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
    student: Any, config: GPTConfig, seed: int, dtype: torch.dtype = torch.float32, loud: float = 1.0
) -> tuple[Any, dict]:
    model, seen = _build(student, config)
    if dtype == torch.float64:
        student.move(model, "float64")
    _load(student, model, seen, config, seed, dtype, loud)
    return model, seen


def _some_ids(config: GPTConfig, B: int, T: int) -> torch.Tensor:
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
                parameter.copy_(
                    value.T if "c_" in layer and value.dim() == 2 else value
                )  # its Conv1D is a Linear, transposed
    return theirs


def _same_as_published(got: Any, config: GPTConfig, seed: int, ids: torch.Tensor, where: str) -> None:
    """Logits as Hugging Face's, with GELU in either of its two forms."""
    both = _published_logits(_key(config), seed, tuple(map(tuple, ids.tolist())))
    got = a_tensor(got, "The first of the results, the logits,")
    fits = [logits for logits in both if got.shape == logits.shape and got.dtype == logits.dtype and close(got, logits)]
    same_tensor(got, fits[0] if fits else both[0], "The logits", where)


@cache
def _published_logits(sizes: tuple, seed: int, rows: tuple) -> list[torch.Tensor]:
    with torch.no_grad():
        return [_published(sizes, seed, activation)(torch.tensor(rows)).logits for activation in _GELUS]


def _key(config: GPTConfig) -> tuple:
    return tuple(vars(config).values())


def _twin(config: GPTConfig, seed: int, form: str, dtype: torch.dtype = torch.float32) -> GPT:
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
            "The blocks have no parameters that the model knows of: keep them in an nn.ModuleList, not in a Python list."
        )
    if seen["shared"]:
        raise Wrong(
            f"`{seen['shared'][0]}` is one and the same parameter as another block's: build each block anew, instead of using one n_layer times.",
            "one_block_shared",
        )


def _gpt_parts(student: Any) -> None:
    for config in (*_SHAPES, GPTConfig(11, 7, 3, 1, 12, dropout=0.2)):
        with student.case():
            where = f"with {_sizes(config)}"
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


def _gpt_published(student: Any) -> None:
    for seed, (config, B, T) in enumerate(zip(_SHAPES, (2, 3, 1, 2), (9, 4, 7, 5), strict=True)):
        with student.case():
            where = f"with {_sizes(config)}, for B = {B} and T = {T}"
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


def _own_blocks(
    student: Any, model: Any, seen: dict, config: GPTConfig, seed: int, ids: torch.Tensor, got: torch.Tensor, where: str
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
    if (
        len(used) < 3 * config.n_layer
    ):  # not even attention's values and output, nor the two of the feed-forward network
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
                "The blocks are not pre-norm: the residual stream should run from the embeddings to the final norm without being "
                "normalised on the way, x + attention(norm(x)), then x + feed_forward(norm(x)).",
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


def _without_blocks(state: dict, config: GPTConfig, ids: torch.Tensor, norm: bool = True) -> torch.Tensor:
    x = state["token_embedding.weight"][ids] + state["position_embedding.weight"][: ids.shape[1]]
    if norm:
        x = F.layer_norm(x, (config.n_embd,), state["final_norm.weight"], state.get("final_norm.bias"))
    return x @ state["lm_head.weight"].T


def _gpt_causal(student: Any) -> None:
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
                            f"Outputs depend on later tokens {where}: changing a token moves the logits of a position before it. Is every "
                            "block given the causal mask, True above the diagonal?",
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
                f"Outputs depend on later tokens {where}: a finite number in the mask is not small enough then; −∞, or a boolean mask, "
                "lets nothing through.",
                "finite_mask",
            )


def _moved(student: Any, model: Any, config: GPTConfig, T: int, training: bool, where: str) -> torch.Tensor:
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


def _gpt_rows(student: Any) -> None:
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
                        "A row's logits depend on the other rows of the batch: is one of the dimensions taken for another "
                        "(batch_first=True)?",
                        "rows_mixed",
                    )


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


def _gpt_loss(student: Any) -> None:
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


def _gpt_lengths(student: Any) -> None:
    config = GPTConfig(11, 6, 1, 2, 8)
    model, _ = _loaded(student, config, 40)
    whole = _some_ids(config, 2, 6)
    full = _logits(student.call(model, [whole], where="for T = block_size", training=False))
    for T in (1, 2, 5, 6):
        with student.case():
            where = f"for T = {T} with block_size = 6"
            got = _logits(student.call(model, [whole[:, :T]], where=where, training=False), where)
            same_tensor(got, full[:, :T], "The logits", f"{where}, against those of the whole text,")
    for T in (7, 9):
        with student.case():
            _refused(student, model, [_some_ids(config, 2, T)], {}, f"T = {T} with block_size = 6")
    with student.case():
        ids = _some_ids(config, 1, 8)
        _refused(student, model, [ids, ids], {}, "T = 8 with block_size = 6, and targets,")


def _gpt_gradients(student: Any) -> None:
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
                    "The rows of tokens that are not in the input get no gradient: the output layer does not share the matrix.",
                    "not_tied",
                )


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


def _gpt_start(student: Any) -> None:
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
                    f"With fresh weights the loss is {'above' if found['loss'] > 0 else 'below'} ln V by more than 0.1: before any training "
                    "every token should be about equally likely. Do the embeddings (and the output layer) start small, N(0, 0.02)?",
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
                    f"`{odd[0]}` should start with a standard deviation of 0.02 (or, if it is the last matrix before a residual sum, of "
                    "0.02 / √(2 · n_layer))."
                )
            last = [name for name in blocks if name.endswith(("out_proj.weight", "linear2.weight"))]
            if sorted(scaled) != sorted(last) if _pytorch_blocks(seen, config) else len(scaled) < 2 * config.n_layer:
                raise Wrong(
                    "The last matrix before each residual sum (attention's output projection, the second layer of the feed-forward "
                    "network), and no other, should start with 0.02 / √(2 · n_layer).",
                    "residuals_not_scaled",
                )
            if any(found["norms"].values()):
                raise Wrong("The norms should start with weights of 1.", "norms_start")
            if any(found["biases"].values()):
                raise Wrong("The biases should start at 0.", "biases_start")


def _gpt_dropout(student: Any) -> None:
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
                    "With dropout = 0 two calls in training mode give different logits: a dropout layer does not get config.dropout "
                    "(nn.TransformerEncoderLayer's own default is 0.1).",
                    "dropout_not_passed_on",
                )
    # Without what the blocks add, chance can come from the dropout of the embeddings alone; it has to reach both of them.
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
                    "In training there is no dropout on the sum of the token and the position embedding (or on a part of it): "
                    "config.dropout acts there too, before the first block.",
                    "no_embedding_dropout",
                )


def _gpt_device(student: Any) -> None:
    config = _SHAPES[1]
    model, _ = _loaded(student, config, 73)
    device_is_kept(student, model, [_some_ids(config, 3, 6)])


def _gpt_manners(student: Any) -> None:
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
        there = _config(student, _GPT2)
        try:
            count = student.value(student.probe("count", _COUNT_ON_META), model, there)
        except Wrong as wrong:
            if getattr(wrong, "facts", {}).get("kind") != "raised":
                raise
        else:
            if count != count_parameters(_GPT2):
                raise Wrong(
                    "With the sizes of GPT-2 small the model has not as many parameters as GPT-2 small.",
                    "published_count",
                )


_EMBED = "x = self.token_embedding(ids) + self.position_embedding(positions)"
_POSITIONS = "positions = torch.arange(T, device=ids.device)"
_FUTURE = "torch.ones(T, T, dtype=torch.bool, device=ids.device).triu(diagonal=1)"
_BLOCK = "x = block(x, src_mask=future, is_causal=True)"
_LOGITS = "logits = self.lm_head(self.final_norm(x))"
_CE = "loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())"
_TIE = "            self.lm_head.weight = self.token_embedding.weight  # one tensor, used twice\n"
_NONE = "        if targets is None:\n            return logits, None\n"
_ACTIVATION = 'activation=partial(F.gelu, approximate="tanh")'
_TOO_LONG = """        if self.config.block_size < T:
            raise ValueError(f"ids has {T} positions, more than block_size = {self.config.block_size}")
"""
_START_LOOP = source_of(GPT).split("# one tensor, used twice\n")[1].split("    def forward")[0]
_NO_MASK = "x = block(x)"

# A block of its own, as a student brings it from the earlier notebooks; `{…}` are the places where such blocks differ.
_OWN_BLOCK = """
class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        C = config.n_embd
        self.n_head, self.p = config.n_head, config.dropout
        self.norm1, self.norm2 = nn.LayerNorm(C, bias=config.bias), nn.LayerNorm(C, bias=config.bias)
        self.qkv = nn.Linear(C, 3 * C, bias=config.bias)
        self.proj = nn.Linear(C, C, bias=config.bias)
        self.up, self.down = nn.Linear(C, 4 * C, bias=config.bias), nn.Linear(4 * C, C, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def attend(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.n_head, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        future = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(future, float("-inf")).softmax(dim=-1)
        y = self.dropout(weights) @ v
        return self.dropout(self.proj(y.transpose(1, 2).reshape(B, T, C)))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.dropout(self.down(F.gelu(self.up(self.norm2(x)))))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.token_embedding = nn.Embedding(config.vocab_size, config.n_embd)
        self.position_embedding = nn.Embedding(config.block_size, config.n_embd)
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.Sequential(*(Block(config) for _ in range(config.n_layer)))
        self.final_norm = nn.LayerNorm(config.n_embd, bias=config.bias)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.apply(self.start)
        for name, p in self.named_parameters():
            if name.endswith(("proj.weight", "down.weight")):
                nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * config.n_layer))
        if config.tie_weights:
            self.lm_head.weight = self.token_embedding.weight

    def start(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, ids, targets=None):
        B, T = ids.shape
        if T > self.config.block_size:
            raise ValueError(f"ids: {T} tokens do not fit into block_size {self.config.block_size}")
        x = self.drop(self.token_embedding(ids) + self.position_embedding.weight[:T])
        logits = self.lm_head(self.final_norm(self.blocks(x)))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(B * T, -1), targets.reshape(-1))
        return logits, loss
"""


def _own(*edits: tuple[str, str]) -> str:
    """The GPT with blocks of its own, edited."""
    text = written(_OWN_BLOCK)
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return text


_SEPARATE = """
class Attention(nn.Module):
    def __init__(self, embed_dim, num_heads, bias):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias)

    def forward(self, x, mask):
        q, k, v = (f(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=~mask)
        return self.out_proj(y.transpose(1, 2).flatten(2)), None


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ff_dim, dropout, bias):
        super().__init__()
        self.attn = Attention(embed_dim, num_heads, bias)
        self.ff = nn.Sequential(nn.Linear(embed_dim, ff_dim, bias), nn.GELU("tanh"), nn.Linear(ff_dim, embed_dim, bias), nn.Dropout(dropout))
        self.norm1 = nn.LayerNorm(embed_dim, bias=bias)
        self.norm2 = nn.LayerNorm(embed_dim, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        y, weights = self.attn(self.norm1(x), mask)
        x = x + self.drop(y)
        return x + self.ff(self.norm2(x)), weights


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, C, bias = config, config.n_embd, config.bias
        self.lm_head = nn.Linear(C, config.vocab_size, bias=False)
        self.token_embedding = nn.Embedding(config.vocab_size, C)
        self.position_embedding = nn.Embedding(config.block_size, C)
        self.blocks = nn.ModuleList([TransformerBlock(C, config.n_head, 4 * C, config.dropout, bias) for _ in range(config.n_layer)])
        self.final_norm = nn.LayerNorm(C, bias=bias)
        self.register_buffer("mask", torch.ones(config.block_size, config.block_size, dtype=torch.bool).triu(1), persistent=False)
        with torch.no_grad():
            for module in self.modules():
                if isinstance(module, (nn.Linear, nn.Embedding)):
                    nn.init.trunc_normal_(module.weight, std=0.02)
                    if getattr(module, "bias", None) is not None:
                        module.bias.zero_()
            for block in self.blocks:
                block.attn.out_proj.weight.div_((2 * config.n_layer) ** 0.5)
                block.ff[2].weight.div_((2 * config.n_layer) ** 0.5)
        if config.tie_weights:
            self.token_embedding.weight = self.lm_head.weight

    def forward(self, ids, targets=None):
        T = ids.size(1)
        if T > self.config.block_size:
            raise ValueError("ids: more tokens than block_size")
        x = self.token_embedding(ids) + self.position_embedding(torch.arange(T, device=ids.device).expand_as(ids))
        x = F.dropout(x, self.config.dropout, self.training)
        for block in self.blocks:
            x, _ = block(x, mask=self.mask[:T, :T])
        logits = self.lm_head(self.final_norm(x))
        return logits, None if targets is None else F.cross_entropy(logits.transpose(1, 2), targets)
"""
_ENCODER = """
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
"""
_MASKED_BLOCK = (
    "future = torch.ones(T, T, dtype=torch.bool, device=ids.device).triu(diagonal=1)  # (T, T), True = blocked"
)


GPT_ = Exercise(
    name="GPT",
    notebook="09-gpt",
    points=8,
    reference=GPT,
    checks=[
        Check("its parts, biases, tied weights and number of parameters", 1.5, _gpt_parts),
        Check("logits as Hugging Face's GPT-2 with the same weights", 2.0, _gpt_published),
        Check("no output depends on a later token", 1.0, _gpt_causal),
        Check("each row of the batch on its own", 0.25, _gpt_rows),
        Check("the loss: mean cross-entropy, None without targets", 1.0, _gpt_loss),
        Check("any T up to block_size, a ValueError above", 0.5, _gpt_lengths),
        Check("gradients reach every parameter", 0.5, _gpt_gradients),
        Check("small weights to start with, first loss ln V", 0.75, _gpt_start),
        Check("dropout in training only", 0.5, _gpt_dropout),
        Check("float64, device, several models, GPT-2 small's size", 0.5, _gpt_manners),
    ],
    working=written(_ENCODER),
    mistakes=_mistakes(
        GPT,
        (
            "no_causal_mask",
            "There is no causal mask, so every token sees the ones it is to predict: give each block a mask that is True above the "
            "diagonal.",
            (_BLOCK, _NO_MASK),
            [(_FUTURE, "torch.zeros(T, T, dtype=torch.bool, device=ids.device)"), (", is_causal=True", "")],
            _own(('.masked_fill(future, float("-inf"))', "")),
        ),
        (
            "is_causal_alone",
            "is_causal=True alone is only a hint about a mask: nn.TransformerEncoderLayer wants src_mask as well.",
            (_BLOCK, "x = block(x, is_causal=True)"),
        ),
        (
            "mask_inverted",
            "The mask is the wrong way round: in nn.TransformerEncoderLayer True = blocked, so True belongs above the diagonal (triu, "
            "diagonal=1).",
            [(_FUTURE, "torch.ones(T, T, dtype=torch.bool, device=ids.device).tril()"), (", is_causal=True", "")],
            [
                (_FUTURE, "torch.ones(T, T, dtype=torch.bool, device=ids.device).tril(diagonal=-1)"),
                (", is_causal=True", ""),
            ],
            _own((".triu(1)", ".tril(-1)")),
        ),
        (
            "one_token_ahead",
            "The mask leaves the next token open, which is the one to predict: True strictly above the diagonal, diagonal=1.",
            [("triu(diagonal=1)", "triu(diagonal=2)"), (", is_causal=True", "")],
            _own((".triu(1)", ".triu(2)")),
        ),
        (
            "diagonal_blocked",
            "The mask blocks the diagonal too, so a token may not look at itself and the first at nothing at all (NaN): diagonal=1.",
            [("triu(diagonal=1)", "triu(diagonal=0)"), (", is_causal=True", "")],
        ),
        (
            "mask_in_training_only",
            "The mask is used in only one of the two modes: training and evaluation need it alike.",
            (_BLOCK, "x = block(x, src_mask=future, is_causal=True) if self.training else block(x)"),
            (_BLOCK, "x = block(x, src_mask=future, is_causal=True) if not self.training else block(x)"),
        ),
        (
            "first_block_only_masked",
            "Only some of the blocks get the mask: one without it is enough to see the future.",
            (
                "            " + _BLOCK,
                "            x = block(x, src_mask=future, is_causal=True) if block is self.blocks[0] else block(x)",
            ),
            (
                "            " + _BLOCK,
                "            x = block(x, src_mask=future, is_causal=True) if block is not self.blocks[-1] else block(x)",
            ),
        ),
        (
            "finite_mask",
            "The mask adds a finite number that is not small enough: −∞, or a boolean mask, lets nothing through.",
            [(_FUTURE, "-2.0 * torch.ones(T, T, device=ids.device).triu(diagonal=1)"), (", is_causal=True", "")],
            [(_FUTURE, "-1e4 * torch.ones(T, T, device=ids.device).triu(diagonal=1)"), (", is_causal=True", "")],
            [(_FUTURE, "-100.0 * torch.ones(T, T, device=ids.device).triu(diagonal=1)"), (", is_causal=True", "")],
            _own(('float("-inf")', "-1e4")),
            [(_FUTURE, "torch.ones(T, T, device=ids.device).triu(diagonal=1)"), (", is_causal=True", "")],
            [(_FUTURE, "torch.ones(T, T, device=ids.device).tril()"), (", is_causal=True", "")],
            _own(('float("-inf")', "0.0")),
        ),
        (
            "post_norm",
            "The blocks are post-norm, as in 2017: GPT-2 normalises before attention and before the feed-forward network "
            "(norm_first=True).",
            ("norm_first=True", "norm_first=False"),
            ("                norm_first=True,\n", ""),
            _own(
                ("x = x + self.attend(self.norm1(x))", "x = self.norm1(x + self.attend(x))"),
                (
                    "return x + self.dropout(self.down(F.gelu(self.up(self.norm2(x)))))",
                    "return self.norm2(x + self.dropout(self.down(F.gelu(self.up(x)))))",
                ),
            ),
        ),
        (
            "batch_second",
            "batch_first=True is missing, so the blocks take the batch for the time: tokens attend to other rows of the batch.",
            ("batch_first=True", "batch_first=False"),
            ("                batch_first=True,\n", ""),
            [("batch_first=True", "batch_first=False"), (_BLOCK, "x = block(x)")],
        ),
        (
            "relu",
            "The feed-forward network uses ReLU, the layer's default: GPT-2 uses GELU.",
            (_ACTIVATION, "activation=F.relu"),
            (f"                {_ACTIVATION},\n", ""),
            _own(("F.gelu", "F.relu")),
        ),
        (
            "other_activation",
            "The activation is not GELU: pass F.gelu (or its tanh form).",
            (_ACTIVATION, "activation=F.silu"),
            (_ACTIVATION, "activation=lambda x: x * torch.sigmoid(1.702 * x)"),
            _own(("F.gelu", "F.silu")),
        ),
        (
            "feed_forward_width",
            "The feed-forward network is 4 · n_embd wide: the layer's default is 2048, whatever the width of the model.",
            ("                dim_feedforward=4 * C,\n", ""),
            ("4 * C", "C"),
            ("4 * C", "2 * C"),
            _own(("4 * C", "2 * C")),
            _own(("4 * C", "C")),
        ),
        (
            "one_head",
            "n_head is not passed on: the number of heads is fixed.",
            ("nhead=config.n_head", "nhead=1"),
            ("nhead=config.n_head", "nhead=C"),
        ),
        (
            "layers_and_heads_swapped",
            "n_layer and n_head are mixed up.",
            [("nhead=config.n_head", "nhead=config.n_layer"), ("range(config.n_layer)", "range(config.n_head)")],
            ("range(config.n_layer)", "range(config.n_head)"),
        ),
        (
            "one_block_shared",
            "All layers are one and the same block (`[block] * n`), so they share their weights: build each anew.",
            [
                (
                    "nn.ModuleList(\n            nn.TransformerEncoderLayer(",
                    "nn.ModuleList(\n            [nn.TransformerEncoderLayer(",
                ),
                ("            )\n            for _ in range(config.n_layer)\n", "            )] * config.n_layer\n"),
            ],
            _own(("*(Block(config) for _ in range(config.n_layer))", "*[Block(config)] * config.n_layer")),
        ),
        (
            "one_layer_fewer",
            "There is one block too few or too many: n_layer of them.",
            ("range(config.n_layer)", "range(config.n_layer - 1)"),
            ("range(config.n_layer)", "range(config.n_layer + 1)"),
            ("range(config.n_layer)", "range(1)"),
        ),
        (
            "only_one_block_used",
            "Not every block is used in `forward`: x has to go through all of them, one after the other.",
            ("for block in self.blocks:", "for block in self.blocks[:1]:"),
            ("for block in self.blocks:", "for block in self.blocks[:-1]:"),
        ),
        (
            "result_of_blocks_dropped",
            "The result of a block is not handed to the next one: `x = block(x, …)`.",
            (_BLOCK, "block(x, src_mask=future, is_causal=True)"),
        ),
        (
            "blocks_backwards",
            "The blocks are used in the wrong order: the first comes first.",
            ("for block in self.blocks:", "for block in reversed(self.blocks):"),
        ),
        (
            "residual_twice",
            "The block's input is added once more: its residual connections are inside the block already.",
            (_BLOCK, "x = x + block(x, src_mask=future, is_causal=True)"),
        ),
        (
            "python_list",
            "The blocks are kept in a Python list, which hides their parameters from the model (from the optimiser and from `.to(…)`): "
            "nn.ModuleList.",
            [("nn.ModuleList(\n", "list(\n")],
            [
                ("nn.ModuleList(\n", "list(\n"),
                (
                    "for name, parameter in self.named_parameters():",
                    "for name, parameter in [*self.named_parameters(), *(p for b in self.blocks for p in b.named_parameters())]:",
                ),
            ],
            _own(
                (
                    "nn.Sequential(*(Block(config) for _ in range(config.n_layer)))",
                    "[Block(config) for _ in range(config.n_layer)]",
                ),
                (
                    "logits = self.lm_head(self.final_norm(self.blocks(x)))",
                    "for block in self.blocks:\n            x = block(x)\n        logits = self.lm_head(self.final_norm(x))",
                ),
            ),
        ),
        (
            "no_positions",
            "The position embedding is not added, so the model cannot tell orders apart.",
            (" + self.position_embedding(positions)", ""),
            (" + self.position_embedding(positions)", " + 0 * self.position_embedding(positions)"),
        ),
        (
            "same_position",
            "All tokens get the same position: position t belongs to the t-th token, torch.arange(T).",
            (_POSITIONS, "positions = torch.zeros(T, dtype=torch.long, device=ids.device)"),
            (_POSITIONS, "positions = torch.full((T,), T - 1, device=ids.device)"),
        ),
        (
            "positions_from_one",
            "The positions are one off: the first token has position 0.",
            (_POSITIONS, "positions = torch.arange(1, T + 1, device=ids.device).clamp(max=self.config.block_size - 1)"),
            (_POSITIONS, "positions = torch.arange(1, T + 1, device=ids.device)"),
        ),
        (
            "positions_reversed",
            "The positions count from the end: the first token has position 0.",
            (_POSITIONS, "positions = torch.arange(T, device=ids.device).flip(0)"),
            (
                _POSITIONS,
                "positions = torch.arange(self.config.block_size - T, self.config.block_size, device=ids.device)",
            ),
        ),
        (
            "ids_as_positions",
            "The position embedding is looked up by token ids: it belongs to the places, torch.arange(T).",
            ("self.position_embedding(positions)", "self.position_embedding(ids)"),
            ("self.position_embedding(positions)", "self.position_embedding(ids % self.config.block_size)"),
            ("self.token_embedding(ids)", "self.token_embedding(positions)"),
        ),
        (
            "all_positions",
            "All block_size positions are added whatever T is, which fails for a shorter text: the first T of them.",
            (_POSITIONS, "positions = torch.arange(self.config.block_size, device=ids.device)"),
            ("self.position_embedding(positions)", "self.position_embedding.weight"),
        ),
        (
            "positions_by_row",
            "The positions count the rows of the batch (ids.shape[0]): the length T is the second dimension.",
            ("T = ids.shape[1]", "T = ids.shape[0]"),
        ),
        (
            "positions_multiplied",
            "The position embedding is multiplied with the token embedding (or joined to it): it is added.",
            (_EMBED, _EMBED.replace(" + ", " * ")),
        ),
        (
            "positions_at_the_end",
            "The position embedding is added after the blocks: attention needs it, so before the first.",
            [
                (_EMBED, "x = self.token_embedding(ids)"),
                (_LOGITS, "x = x + self.position_embedding(positions)\n        " + _LOGITS),
            ],
        ),
        (
            "positions_in_every_block",
            "The position embedding is added before every block: once, before the first.",
            (
                _BLOCK,
                "x = block(x + self.position_embedding(positions) * (block is not self.blocks[0]), src_mask=future, is_causal=True)",
            ),
        ),
        (
            "embedding_scaled",
            "The token embedding is multiplied by the root of the width, as in the 2017 model: GPT-2 does not.",
            ("self.token_embedding(ids) +", "self.token_embedding(ids) * math.sqrt(self.config.n_embd) +"),
        ),
        (
            "no_final_norm",
            "The final norm is not applied: it comes between the last block and lm_head.",
            ("self.lm_head(self.final_norm(x))", "self.lm_head(x)"),
        ),
        (
            "final_norm_first",
            "The final norm is applied before the blocks: it comes after the last one.",
            [
                ("self.lm_head(self.final_norm(x))", "self.lm_head(x)"),
                ("x = self.dropout(x)", "x = self.final_norm(self.dropout(x))"),
            ],
        ),
        (
            "final_norm_in_every_block",
            "The final norm is applied after every block: once, after the last one.",
            (_BLOCK, "x = self.final_norm(block(x, src_mask=future, is_causal=True))"),
            (_LOGITS, "logits = self.lm_head(self.final_norm(self.final_norm(x)))"),
        ),
        (
            "norm_after_head",
            "Something is applied to the logits (a norm, an activation, a second layer): they come straight from lm_head.",
            (_LOGITS, "logits = F.layer_norm(self.lm_head(self.final_norm(x)), (self.config.vocab_size,))"),
            (_LOGITS, "logits = F.relu(self.lm_head(self.final_norm(x)))"),
            (_LOGITS, "logits = self.lm_head(self.final_norm(x)) / math.sqrt(self.config.n_embd)"),
        ),
        (
            "softmax",
            "The model returns probabilities (or their logarithms): logits are asked for, cross_entropy takes the softmax itself.",
            (_LOGITS, "logits = self.lm_head(self.final_norm(x)).softmax(dim=-1)"),
            (_LOGITS, "logits = self.lm_head(self.final_norm(x)).log_softmax(dim=-1)"),
        ),
        (
            "softmax_before_loss",
            "The loss is taken of probabilities: cross_entropy takes the softmax itself, give it the logits.",
            (_CE, "loss = F.cross_entropy(logits.softmax(dim=-1).flatten(0, 1), targets.flatten())"),
        ),
        (
            "last_logits_only",
            "Only the last position's logits are returned: [B, T, V] is asked for, with and without targets.",
            (_NONE, "        if targets is None:\n            return logits[:, [-1]], None\n"),
            (_NONE, "        if targets is None:\n            return logits[:, -1], None\n"),
        ),
        (
            "logits_flattened",
            "The logits come back flattened to [B · T, V]: flatten them for the loss only.",
            (_CE, "logits = logits.flatten(0, 1)\n        loss = F.cross_entropy(logits, targets.flatten())"),
            [(_NONE, "        if targets is None:\n            return logits.flatten(0, 1), None\n")],
            (_CE, "logits = logits.transpose(1, 2)\n        loss = F.cross_entropy(logits, targets)"),
        ),
        (
            "shifted_inside",
            "The targets are shifted once more inside the model: they are one step on already, position t belongs to target t.",
            (_CE, "loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten())"),
        ),
        (
            "last_position_loss",
            "The loss is that of a single position: the mean over all positions of all rows is asked for.",
            (_CE, "loss = F.cross_entropy(logits[:, -1], targets[:, -1])"),
            (_CE, "loss = F.cross_entropy(logits[:, 0], targets[:, 0])"),
        ),
        (
            "sum",
            "The loss is a sum: the mean over all positions is asked for.",
            (_CE, "loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction='sum')"),
            (_CE, "loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction='sum') / len(ids)"),
            (_CE, "loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten()) / T"),
        ),
        (
            "not_averaged",
            "The loss has one number for each position: a scalar, their mean, is asked for.",
            (_CE, "loss = F.cross_entropy(logits.transpose(1, 2), targets, reduction='none')"),
            (_CE, "loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction='none')"),
        ),
        (
            "token_zero_ignored",
            "Token 0 is left out of the loss (ignore_index=0), as if it were padding: here it is a token like any other.",
            (_CE, "loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0)"),
        ),
        (
            "label_smoothing",
            "The loss is changed (label smoothing, a factor, base 2): the plain mean cross-entropy is asked for.",
            (_CE, "loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=0.1)"),
            (_CE, "loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten()) / math.log(2)"),
        ),
        (
            "own_input_as_target",
            "The loss compares with the input instead of the targets.",
            (_CE, "loss = F.cross_entropy(logits.flatten(0, 1), ids.flatten())"),
        ),
        (
            "classes_in_the_wrong_place",
            "F.cross_entropy takes the second dimension for the classes: flatten the logits to (B · T, V), or transpose them to (B, V, T).",
            (_CE, "loss = F.cross_entropy(logits, targets)"),
            (_CE, "loss = F.cross_entropy(logits.view(-1, T), targets.flatten())"),
            (_CE, "loss = F.cross_entropy(logits.transpose(1, 2).flatten(0, 1), targets.flatten())"),
            (_CE, "loss = F.cross_entropy(logits.transpose(1, 2).reshape(-1, logits.shape[-1]), targets.flatten())"),
        ),
        (
            "loss_cut_off",
            "The loss cannot be differentiated (`.item()`, `.detach()`, `no_grad`): nothing could be trained with it.",
            (_CE, _CE + ".detach()"),
            (_LOGITS, _LOGITS + ".detach()"),
            ("    def forward", "    @torch.no_grad()\n    def forward"),
        ),
        (
            "loss_as_number",
            "The loss is a Python number: a scalar tensor is asked for, or nothing could be trained with it.",
            (_CE, _CE + ".item()"),
        ),
        (
            "pair_swapped",
            "The pair is the wrong way round: (logits, loss).",
            ("return logits, loss", "return loss, logits"),
            [("return logits, loss", "return loss, logits"), ("return logits, None", "return None, logits")],
        ),
        (
            "logits_only",
            "Only one thing is returned: the pair (logits, loss), with None for the loss where there are no targets.",
            ("return logits, None", "return logits"),
            ("return logits, loss", "return loss"),
            [("return logits, None", "return logits"), ("return logits, loss", "return logits")],
            [("return logits, None", "return logits"), ("return logits, loss", "return loss")],
        ),
        (
            "loss_without_targets",
            "Without targets the loss is not None: there is nothing to compare with.",
            ("return logits, None", "return logits, torch.tensor(0.0)"),
            ("return logits, None", "return logits, 0.0"),
            ("return logits, None", "return logits, torch.zeros(())"),
            (_NONE, "        targets = ids if targets is None else targets\n"),
        ),
        (
            "targets_needed",
            "`targets` has to have a default, and None has to work: forward(ids, targets=None).",
            ("def forward(self, ids, targets=None)", "def forward(self, ids, targets)"),
            (_NONE, ""),
        ),
        (
            "targets_in_truth",
            "`if targets:` asks for the truth of a whole tensor, which has none: `if targets is None`.",
            (_NONE, "        if not targets:\n            return logits, None\n"),
        ),
        (
            "nothing_returned",
            "Nothing is returned (None): end `forward` with `return logits, loss`.",
            ("return logits, loss", "pass"),
            [("return logits, loss", "pass"), ("return logits, None", "return None")],
        ),
        (
            "too_long_accepted",
            "A text longer than block_size is not refused with a clear message: raise a ValueError that says so.",
            (_TOO_LONG, ""),
            (_TOO_LONG, "        assert T <= self.config.block_size, 'too long'\n"),
            ("raise ValueError(", "raise IndexError("),
            ("raise ValueError(", "raise RuntimeError("),
        ),
        (
            "cropped_inside",
            "A text longer than block_size is silently cropped: it has to be a ValueError (generate crops, the model refuses).",
            (_TOO_LONG, "        ids = ids[:, -self.config.block_size :]\n        T = ids.shape[1]\n"),
            (_TOO_LONG, "        ids = ids[:, : self.config.block_size]\n        T = ids.shape[1]\n"),
            [(_TOO_LONG, ""), (_POSITIONS, _POSITIONS + " % self.config.block_size")],
            [(_TOO_LONG, ""), (_POSITIONS, _POSITIONS + ".clamp(max=self.config.block_size - 1)")],
        ),
        (
            "full_length_refused",
            "T = block_size is refused: only longer texts are.",
            ("self.config.block_size < T", "self.config.block_size <= T"),
        ),
        (
            "short_text_refused",
            "A text shorter than block_size is refused: any T up to block_size is allowed.",
            ("self.config.block_size < T", "self.config.block_size != T"),
        ),
        (
            "not_tied",
            "With tie_weights=True lm_head and the token embedding do not share one parameter: lm_head has a matrix of its own, or a copy, "
            "which parts from the other with the first step. Assign the parameter itself: self.lm_head.weight = "
            "self.token_embedding.weight.",
            (_TIE, "            pass\n"),
            (_TIE, "            self.lm_head.weight = nn.Parameter(self.token_embedding.weight.clone())\n"),
            (_TIE, "            self.lm_head.weight.data = self.token_embedding.weight.data\n"),
            (_TIE, "            self.lm_head.weight = nn.Parameter(self.token_embedding.weight)\n"),
        ),
        (
            "always_tied",
            "The weights are tied whatever config.tie_weights says.",
            ("if config.tie_weights:", "if True:"),
        ),
        (
            "tie_inverted",
            "config.tie_weights is used the wrong way round.",
            ("if config.tie_weights:", "if not config.tie_weights:"),
        ),
        (
            "head_bias",
            "lm_head has a bias: as in GPT-2 it has none, bias=False.",
            ("nn.Linear(C, config.vocab_size, bias=False)", "nn.Linear(C, config.vocab_size)"),
            ("nn.Linear(C, config.vocab_size, bias=False)", "nn.Linear(C, config.vocab_size, bias=config.bias)"),
        ),
        (
            "bias_ignored_in_blocks",
            "config.bias is not passed on to the blocks: with bias=False no layer has a bias.",
            ("                bias=config.bias,\n", ""),
        ),
        (
            "bias_ignored_in_final_norm",
            "config.bias is not passed on to the final norm: with bias=False it has none either.",
            ("nn.LayerNorm(C, bias=config.bias)", "nn.LayerNorm(C)"),
        ),
        (
            "bias_ignored",
            "config.bias has no effect: with bias=False no layer has a bias, the norms neither.",
            [("                bias=config.bias,\n", ""), ("nn.LayerNorm(C, bias=config.bias)", "nn.LayerNorm(C)")],
        ),
        (
            "biases_never",
            "There are never biases: with bias=True (the default) all layers but lm_head have one.",
            ("bias=config.bias", "bias=False"),
        ),
        (
            "norms_keep_biases",
            "With bias=False the norms inside the blocks keep their biases: they have none either.",
            _own(
                (
                    "self.norm1, self.norm2 = nn.LayerNorm(C, bias=config.bias), nn.LayerNorm(C, bias=config.bias)",
                    "self.norm1, self.norm2 = nn.LayerNorm(C), nn.LayerNorm(C)",
                )
            ),
        ),
        (
            "norms_without_weights",
            "A norm has no weights (elementwise_affine=False): GPT-2's norms have a weight, and a bias with bias=True.",
            ("nn.LayerNorm(C, bias=config.bias)", "nn.LayerNorm(C, elementwise_affine=False)"),
        ),
        (
            "other_norm",
            "The final norm is not a layer norm (an RMSNorm, say): nn.LayerNorm.",
            ("nn.LayerNorm(C, bias=config.bias)", "nn.RMSNorm(C)"),
            ("nn.LayerNorm(C, bias=config.bias)", "nn.Identity()"),
        ),
        (
            "config_not_kept",
            "The model does not keep its configuration: self.config = config.",
            [("self.config = config", "self.cfg = config"), ("self.config.block_size", "self.cfg.block_size")],
        ),
        (
            "other_names",
            "The parts have other names: token_embedding, position_embedding, blocks, final_norm and lm_head are asked for, so that tools "
            "find them.",
            ("token_embedding", "wte"),
            ("position_embedding", "wpe"),
            ("self.blocks", "self.layers"),
            ("final_norm", "ln_f"),
            ("lm_head", "head"),
        ),
        (
            "positions_one_short",
            "The position embedding has the wrong number of rows: block_size of them.",
            ("nn.Embedding(config.block_size, C)", "nn.Embedding(config.block_size - 1, C)"),
            ("nn.Embedding(config.block_size, C)", "nn.Embedding(config.block_size + 1, C)"),
            ("nn.Embedding(config.block_size, C)", "nn.Embedding(1024, C)"),
            ("nn.Embedding(config.block_size, C)", "nn.Embedding(config.vocab_size, C)"),
        ),
        (
            "positions_fixed",
            "The positions cannot be learned (a buffer of sinusoids, or requires_grad=False): GPT-2 learns them.",
            ("        self.blocks = ", "        self.position_embedding.requires_grad_(False)\n        self.blocks = "),
            (
                "        self.blocks = ",
                "        self.position_embedding.weight.requires_grad = False\n        self.blocks = ",
            ),
        ),
        (
            "super_forgotten",
            "`super().__init__()` is missing in `__init__`: it has to come first.",
            ("        super().__init__()\n", ""),
        ),
        (
            "not_a_module",
            "The class has to inherit from nn.Module.",
            [("class GPT(nn.Module)", "class GPT"), (_START_LOOP, "\n")],
        ),
        (
            "default_start",
            "The weights keep PyTorch's own start: embeddings of N(0, 1) make the first logits far too large. All matrices start as "
            "N(0, 0.02).",
            (_START_LOOP, "\n"),
            (
                "        for name, parameter in self.named_parameters():\n            if parameter.dim() == 2:",
                '        for name, parameter in self.named_parameters():\n            if parameter.dim() == 2 and "embedding" not in name and "head" not in name:',
            ),
        ),
        (
            "blocks_keep_their_start",
            "Only the embeddings start with 0.02; the matrices of the blocks keep PyTorch's own start.",
            ("if parameter.dim() == 2:", 'if parameter.dim() == 2 and "blocks" not in name:'),
        ),
        (
            "attention_keeps_its_start",
            "Attention's input projection keeps PyTorch's own start: it is a parameter of nn.MultiheadAttention, `in_proj_weight`, not an "
            "nn.Linear, so going through the nn.Linear layers misses it.",
            ("if parameter.dim() == 2:", 'if parameter.dim() == 2 and "in_proj" not in name:'),
        ),
        (
            "head_keeps_its_start",
            "With tie_weights=False lm_head keeps PyTorch's own start: it begins as N(0, 0.02) like the rest.",
            ("if parameter.dim() == 2:", 'if parameter.dim() == 2 and "head" not in name:'),
        ),
        (
            "wrong_spread",
            "The weights start with another standard deviation than 0.02.",
            ("std=0.02 / scale", "std=0.2 / scale"),
            ("std=0.02 / scale", "std=0.002 / scale"),
            ("std=0.02 / scale", "std=math.sqrt(0.02) / scale"),
        ),
        (
            "uniform_start",
            "The weights are uniform between −0.02 and 0.02, which is a standard deviation of 0.0115: N(0, 0.02) is asked for.",
            (
                "nn.init.normal_(parameter, std=0.02 / scale)",
                "nn.init.uniform_(parameter, -0.02 / scale, 0.02 / scale)",
            ),
        ),
        (
            "mean_instead_of_spread",
            "`normal_(parameter, 0.02)` sets the mean: write std=0.02.",
            ("std=0.02 / scale", "0.02 / scale"),
        ),
        (
            "residuals_not_scaled",
            "The last matrix before each residual sum is not scaled: 0.02 / √(2 · n_layer), because 2 · n_layer of them add up.",
            ("std=0.02 / scale", "std=0.02"),
        ),
        (
            "residuals_scaled_wrongly",
            "The last matrices before the residual sums are scaled by another factor: 1 / √(2 · n_layer), there are two in each block.",
            ("math.sqrt(2 * config.n_layer)", "math.sqrt(config.n_layer)"),
            ("math.sqrt(2 * config.n_layer)", "(2 * config.n_layer)"),
            ("math.sqrt(2 * config.n_layer)", "config.n_layer"),
        ),
        (
            "some_residuals_scaled",
            "Only one of the two matrices before the residual sums of a block is scaled: attention's output projection and the second layer "
            "of the feed-forward network.",
            ('("out_proj.weight", "linear2.weight")', '("out_proj.weight",)'),
            ('("out_proj.weight", "linear2.weight")', '("linear2.weight",)'),
        ),
        (
            "wrong_matrices_scaled",
            "Other matrices than the last before each residual sum are scaled.",
            ('("out_proj.weight", "linear2.weight")', '("out_proj.weight", "linear1.weight")'),
            ('("out_proj.weight", "linear2.weight")', '("linear1.weight", "linear2.weight")'),
            ('("out_proj.weight", "linear2.weight")', '("proj.weight", "proj_weight", "linear2.weight")'),
            ('name.endswith(("out_proj.weight", "linear2.weight"))', '"blocks" in name'),
        ),
        (
            "zero_start",
            "Weights start at zero (or all alike), so nothing can be told apart.",
            ("nn.init.normal_(parameter, std=0.02 / scale)", "nn.init.zeros_(parameter)"),
            ("nn.init.normal_(parameter, std=0.02 / scale)", "nn.init.constant_(parameter, 0.02)"),
        ),
        (
            "norms_zeroed",
            "The norms' weights do not start at 1: only biases start at 0, and only matrices as N(0, 0.02).",
            ('elif name.endswith("bias"):', "else:"),
            ("if parameter.dim() == 2:", 'if not name.endswith("bias"):'),
        ),
        (
            "biases_not_zero",
            "The biases keep PyTorch's own start: they begin at 0.",
            ('            elif name.endswith("bias"):\n                nn.init.zeros_(parameter)\n', ""),
        ),
        (
            "dropout_default",
            "config.dropout is not passed on to the blocks, whose own default is 0.1: with dropout = 0 they still drop.",
            ("                dropout=config.dropout,  # must be passed on: the layer's own default is 0.1\n", ""),
        ),
        (
            "dropout_in_eval",
            "Dropout is at work in eval mode too: F.dropout needs training=self.training, nn.Dropout takes care of it.",
            ("x = self.dropout(x)", "x = F.dropout(x, self.config.dropout)"),
            ("x = self.dropout(x)", "x = F.dropout(x, self.config.dropout, training=True)"),
            (
                _LOGITS,
                "logits = self.lm_head(self.final_norm(x))\n        logits = logits + torch.empty_like(logits).normal_() * 0.1",
            ),
            _own(("weights = scores", "self.dropout.train()\n        weights = scores")),
        ),
        (
            "no_dropout",
            "config.dropout is not used: dropout acts on the sum of the embeddings and in the blocks.",
            [("dropout=config.dropout,", "dropout=0.0,"), ("x = self.dropout(x)", "pass")],
        ),
        (
            "no_dropout_in_blocks",
            "There is no dropout inside the blocks: pass config.dropout on to them.",
            ("dropout=config.dropout,", "dropout=0.0,"),
        ),
        (
            "no_dropout_of_embeddings",
            "There is no dropout on the sum of the embeddings, or on one of them alone: config.dropout acts on the sum too, before the "
            "first block, and not only inside the blocks.",
            ("        x = self.dropout(x)\n", ""),
            [
                (_EMBED, _EMBED.replace("self.token_embedding(ids)", "self.dropout(self.token_embedding(ids))")),
                ("        x = self.dropout(x)\n", ""),
            ],
            [
                (
                    _EMBED,
                    _EMBED.replace(
                        "self.position_embedding(positions)", "self.dropout(self.position_embedding(positions))"
                    ),
                ),
                ("        x = self.dropout(x)\n", ""),
            ],
            _own(
                (
                    "x = self.drop(self.token_embedding(ids) + self.position_embedding.weight[:T])",
                    "x = self.token_embedding(ids) + self.position_embedding.weight[:T]",
                )
            ),
        ),
        (
            "dropout_fixed",
            "The dropout is a fixed number: config.dropout decides.",
            [("dropout=config.dropout,", "dropout=0.1,"), ("nn.Dropout(config.dropout)", "nn.Dropout(0.1)")],
            ("nn.Dropout(config.dropout)", "nn.Dropout(0.1)"),
        ),
        (
            "single_precision",
            "The logits are float32 even for a model in float64 (a `.float()`?).",
            (_LOGITS, _LOGITS + ".float()"),
        ),
        (
            "device_not_kept",
            "The positions or the mask are made without device=ids.device (or kept as a plain attribute instead of a buffer): on a GPU the "
            "model fails.",
            ("torch.arange(T, device=ids.device)", "torch.arange(T)"),
            [("dtype=torch.bool, device=ids.device", "dtype=torch.bool"), (", is_causal=True", "")],
        ),
        (
            "mask_of_the_first_call",
            "The mask is made once, for the first T that came along: make it for each T, or keep one for block_size and cut it to [:T, :T].",
            [
                (
                    _MASKED_BLOCK,
                    "if not hasattr(self, 'future'):\n            self.future = torch.ones(T, T, dtype=torch.bool, device=ids.device).triu(diagonal=1)\n        future = self.future",
                ),
                (", is_causal=True", ""),
            ],
            [
                (
                    _MASKED_BLOCK,
                    "n = self.config.block_size\n        future = torch.ones(n, n, dtype=torch.bool, device=ids.device).triu(diagonal=1)",
                ),
                (", is_causal=True", ""),
            ],
        ),
        (
            "embeddings_cut_off",
            "A part of the model gets no gradient (`.detach()`, `.data`): it would never be trained.",
            (_EMBED, "x = self.token_embedding(ids).detach() + self.position_embedding(positions)"),
            (_EMBED, "x = self.token_embedding(ids) + self.position_embedding(positions).detach()"),
            (_EMBED, "x = self.token_embedding(ids) + self.position_embedding.weight.data[:T]"),
            ("self.final_norm(x)", "self.final_norm(x.detach())"),
        ),
        (
            "sizes_fixed",
            "A size is fixed in the code: take all of them from config.",
            ("C = config.n_embd", "C = 16"),
            ("nn.Embedding(config.vocab_size, C)", "nn.Embedding(50257, C)"),
        ),
    ),
    alternatives=_alternatives(
        GPT,
        own_blocks=_OWN_BLOCK,
        contract_blocks=_SEPARATE,
        encoder=_ENCODER,
        exact_gelu=[
            (_ACTIVATION, 'activation="gelu"'),
            (_FUTURE, "nn.Transformer.generate_square_subsequent_mask(T, device=ids.device)"),
        ],
        gelu_module=[(_ACTIVATION, 'activation=nn.GELU(approximate="tanh")'), (", is_causal=True", "")],
    ),
)


# --- get_batch --------------------------------------------------------------------------------------------------------


def _tokens(n: int, seed: int = 0) -> torch.Tensor:
    """n different ids in no order, so that a window tells where it was cut."""
    return torch.randperm(n, generator=torch.Generator().manual_seed(100 + seed)) + 1000


def _batch(student: Any, data: torch.Tensor, block_size: int, batch_size: int, seed: int, **options: Any) -> dict:
    """The answer to a call; its "value" is a pair of tensors [batch_size, block_size] of ids."""
    where = f"for N = {len(data)}, block_size = {block_size}, batch_size = {batch_size}"
    answer = student.call(
        "get_batch", [data, block_size, batch_size, _generator(student, seed)], where=where, **options
    )
    for got, name in zip(a_pair(answer["value"], "(x, y)"), ("x", "y"), strict=True):
        _ids(got, name, (batch_size, block_size), where)
    return answer


def _ids(got: Any, what: str, shape: tuple[int, ...], where: str) -> torch.Tensor:
    got = a_tensor(got, f"{what} {where}")
    if tuple(got.shape) != shape:
        same_tensor(got, torch.zeros(shape, dtype=got.dtype), what, where)  # raises, with a hint about the shape
    if got.is_floating_point() or got.dtype == torch.bool:
        raise Wrong(f"{what} should hold ids, that is whole numbers, {where}; yours is {kind(got)}.", "wrong_dtype")
    return got


def _batch_of_one_window(student: Any) -> None:
    """A text of block_size + 1 tokens has one window only, so that chance plays no part."""
    for block_size, batch_size in ((5, 3), (1, 2), (8, 1), (2, 40), (64, 2)):
        with student.case():
            data = _tokens(block_size + 1, block_size)
            where = f"when the text has exactly one window (N = {block_size + 1}, block_size = {block_size})"
            x, y = _batch(student, data, block_size, batch_size, seed=3)["value"]
            same_tensor(x.long(), data[:-1].expand(batch_size, -1), "x", where)
            same_tensor(y.long(), data[1:].expand(batch_size, -1), "y", where)


def _starts(data: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> list[int]:
    """Where each row was cut, once it is sure that it was cut out in one piece and that y is one step on."""
    place = {token: position for position, token in enumerate(data.tolist())}
    starts = []
    for row, following in zip(x.tolist(), y.tolist(), strict=True):
        start = place.get(row[0], -1)
        if start < 0 or data[start : start + len(row)].tolist() != row:
            raise Wrong(
                "A row of x is not a piece of the text: it should be block_size tokens that follow each other there."
            )
        if data[start + 1 : start + 1 + len(row)].tolist() != following:
            raise Wrong("A row of y is not the row of x moved on by one token of the text.")
        starts.append(start)
    return starts


def _batch_windows(student: Any) -> None:
    for n, block_size, batch_size in ((40, 6, 9), (300, 7, 30), (12, 10, 5), (200, 1, 4), (50, 20, 1)):
        with student.case():
            data = _tokens(n, n)
            starts = _starts(data, *_batch(student, data, block_size, batch_size, seed=n)["value"])
            if batch_size == 30 and len(set(starts)) == 1:  # by chance once in 293 ** 29
                raise Wrong("All rows of a batch are the same window: each row has a start of its own.", "same_start")
            if batch_size == 30 and len({b - a for a, b in itertools.pairwise(starts)}) < 3:
                raise Wrong(
                    "The rows follow each other in the text: each has a random start of its own.", "rows_in_a_row"
                )


def _batch_reach(student: Any) -> None:
    """1,200 windows over 7 places, each place as often as the others, up to six standard deviations and a little.

    A right answer fails with a probability below 1e-7, whatever its way of sampling.
    """
    n, block_size, places = 11, 4, 7
    data, counts = _tokens(n), [0] * places
    for seed in range(24):
        for start in _starts(data, *_batch(student, data, block_size, 50, seed)["value"]):
            counts[start] += 1
    if not counts[-1]:
        raise Wrong(
            "The last window is never drawn: its last target is the last token of the text. Starts go from 0 to "
            "N − block_size − 1, and torch.randint leaves its upper end out.",
            "last_window_never",
        )
    if not counts[0]:
        raise Wrong("The first window, which starts at token 0, is never drawn.", "first_window_never")
    mean = sum(counts) / places
    if max(abs(count - mean) for count in counts) > 6 * math.sqrt(mean) + 5:
        raise Wrong("Some windows come more often than others: every start should be equally likely.", "not_uniform")


def _batch_chance(student: Any) -> None:
    data = _tokens(5000)  # eight starts agree by chance once in 5000 ** 8
    seen = []
    for seed in (11, 11, 12, 13):
        answer = _batch(student, data, 6, 8, seed)
        seen.append(_starts(data, *answer["value"]))
        if answer["rng_moved"]:
            raise Wrong(
                "Your code draws from the global random generator: pass `generator=generator` on, and seed nothing.",
                "global_generator",
            )
    if seen[0] != seen[1]:
        raise Wrong(
            "Two generators with the same seed give different batches: some chance comes from elsewhere (`random`, NumPy).",
            "other_source",
        )
    if seen[0] == seen[2] == seen[3]:
        raise Wrong(
            "Generators with different seeds give the same batch: is the generator not used, or seeded anew inside?",
            "generator_ignored",
        )
    generator = _generator(student, 11)
    first, second = (student.value("get_batch", data, 6, 8, generator) for _ in range(2))
    if torch.equal(a_tensor(a_pair(first, "(x, y)")[0], "x"), a_tensor(a_pair(second, "(x, y)")[0], "x")):
        raise Wrong(
            "Two calls with one generator give the same batch, so every training step would see it again: draw from the generator "
            "as it comes, do not seed it anew.",
            "seeded_anew",
        )


def _batch_short(student: Any) -> None:
    _batch(student, _tokens(7), 6, 2, seed=1)
    for n, block_size in ((6, 6), (4, 6), (1, 1), (3, 40)):
        with student.case():
            what = f"A text of {n} tokens with block_size = {block_size} has no window with a target for each token: it"
            _refused(student, "get_batch", [_tokens(n), block_size, 2, _generator(student, 1)], {}, what)


def _batch_manners(student: Any) -> None:
    for dtype in (torch.int64, torch.int32):
        with student.case():
            data = _tokens(30).to(dtype)
            answer = _batch(student, data, 6, 4, seed=5)
            _starts(data, *answer["value"])
            for got, name in zip(answer["value"], "xy", strict=True):
                if got.dtype != dtype:
                    raise Wrong(
                        f"{name} should keep the dtype of data, {dtype_name(data)}; yours is {kind(got)}.",
                        "wrong_dtype",
                    )
            unchanged(answer["inputs"][:1], [data], "data")
    device_is_kept(student, "get_batch", [_tokens(30), 6, 4, _generator(student, 5)])


_SHIFTED = "windows[:, :-1], windows[:, 1:]"
_STARTS = "torch.randint(len(data) - block_size, (batch_size,), generator=generator)"
_SHORT = """    if len(data) <= block_size:
        raise ValueError(f"data has {len(data)} tokens, but a window and its targets need {block_size + 1}")
"""


def _sliced(starts: str = _STARTS, x: str = "s : s + block_size", y: str = "s + 1 : s + 1 + block_size") -> str:
    """The batch put together from slices, as many write it."""
    return (
        "if len(data) < block_size + 1:\n    raise ValueError('data is too short for block_size')\n"
        f"starts = {starts}\nx = torch.stack([data[{x}] for s in starts])\ny = torch.stack([data[{y}] for s in starts])\nreturn x, y"
    )


GET_BATCH = Exercise(
    name="get_batch",
    notebook="09-gpt",
    points=3,
    reference=get_batch,
    checks=[
        Check("x, and y one step on", 1.0, _batch_of_one_window),
        Check("each row a window of the text", 0.75, _batch_windows),
        Check("every window, each as likely as the others", 0.5, _batch_reach),
        Check("chance comes from the generator alone", 0.25, _batch_chance),
        Check("a text that is too short is a ValueError", 0.25, _batch_short),
        Check("dtype, device, input unchanged", 0.25, _batch_manners),
    ],
    working=written(
        """
        import torch

        def get_batch(data, block_size, batch_size, generator):
            if data.shape[0] < block_size + 1:
                raise ValueError("data is too short for block_size")
            windows = data.unfold(0, block_size + 1, 1)
            windows = windows[torch.randint(len(windows), (batch_size,), generator=generator)]
            return windows[:, :block_size], windows[:, 1:]
        """
    ),
    mistakes=_mistakes(
        get_batch,
        (
            "not_shifted",
            "y is the same as x: the target of each token is the one after it, so y is x one step on.",
            (_SHIFTED, "windows[:, :-1], windows[:, :-1]"),
            _sliced(y="s : s + block_size"),
        ),
        (
            "swapped",
            "x and y are swapped: the inputs come first, y is one step on.",
            (_SHIFTED, "windows[:, 1:], windows[:, :-1]"),
        ),
        (
            "shifted_back",
            "y is one step back: the token to predict is the one after, not the one before.",
            _sliced(y="max(s - 1, 0) : max(s - 1, 0) + block_size"),
            (_SHIFTED, "windows[:, :-1], windows[:, :-1].roll(1, 1)"),
        ),
        (
            "two_steps_on",
            "y is two steps on: the target of each token is the very next one.",
            [
                ("block_size + 1)", "block_size + 2)"),
                ("<= block_size:", "<= block_size + 1:"),
                ("len(data) - block_size,", "len(data) - block_size - 1,"),
                (_SHIFTED, "windows[:, :-2], windows[:, 2:]"),
            ],
            _sliced(starts=_STARTS.replace("- block_size", "- block_size - 1"), y="s + 2 : s + 2 + block_size"),
        ),
        (
            "a_window_on",
            "y is the whole window after x: each token's target is the very next one, so y is x moved on by one token.",
            """
            if len(data) < 2 * block_size:
                raise ValueError("data is too short")
            starts = torch.randint(len(data) - 2 * block_size + 1, (batch_size,), generator=generator)
            x = torch.stack([data[s : s + block_size] for s in starts])
            return x, torch.stack([data[s + block_size : s + 2 * block_size] for s in starts])
            """,
            """
            if len(data) < block_size + 1:
                raise ValueError("data is too short")
            starts = torch.randint(max(len(data) - 2 * block_size, 1), (batch_size,), generator=generator)
            x = torch.stack([data[s : s + block_size] for s in starts])
            return x, torch.stack([data[s + block_size : s + 2 * block_size] for s in starts])
            """,
        ),
        (
            "tokens_drawn_apart",
            "Each token of x is drawn at a place of its own: a window is block_size tokens that follow each other in the text, so draw one "
            "start for each row.",
            (
                "    windows = data[places]  # (B, T + 1)\n    return windows[:, :-1], windows[:, 1:]",
                "    places = torch.randint(len(data) - 1, (batch_size, block_size), generator=generator).to(data.device)\n"
                "    return data[places], data[places + 1]",
            ),
            (
                "    windows = data[places]  # (B, T + 1)\n    return windows[:, :-1], windows[:, 1:]",
                "    places = torch.randint(len(data) - block_size, (batch_size, block_size), generator=generator).to(data.device)\n"
                "    return data[places], data[places + 1]",
            ),
        ),
        (
            "rolled",
            "y is x rolled around: the last target of each row should be the token that follows in the text, not the row's first.",
            (_SHIFTED, "windows[:, :-1], windows[:, :-1].roll(-1, 1)"),
            (_SHIFTED, "windows[:, :-1], windows[:, :-1].roll(-1)"),
        ),
        (
            "one_too_short",
            "x and y have block_size − 1 tokens: a window needs block_size + 1, so that each of block_size inputs has its target.",
            ("torch.arange(block_size + 1)", "torch.arange(block_size)"),
        ),
        (
            "one_too_long",
            "x and y are one token too long: block_size inputs, block_size targets.",
            (_SHIFTED, "windows, windows"),
            _sliced(x="s : s + block_size + 1", y="s : s + block_size + 1"),
        ),
        (
            "last_target_only",
            "y holds only the token after the window: every position of x has a target of its own.",
            (_SHIFTED, "windows[:, :-1], windows[:, -1]"),
            (_SHIFTED, "windows[:, :-1], windows[:, -1:]"),
        ),
        (
            "y_drawn_anew",
            "x and y are cut at different places: draw the starts once and use them for both.",
            _sliced().replace("\ny =", f"\nstarts = {_STARTS}\ny ="),
        ),
        (
            "last_window_never",
            "The last window is never drawn: its last target is the last token of the text. Starts go from 0 to N − block_size − 1, "
            "and torch.randint leaves its upper end out.",
            ("torch.randint(len(data) - block_size,", "torch.randint(len(data) - block_size - 1,"),
            ("torch.randint(len(data) - block_size,", "torch.randint(max(len(data) - block_size - 1, 1),"),
        ),
        (
            "past_the_end",
            "Some windows reach past the end of the text: the last start is N − block_size − 1, so that the last target is still there.",
            ("torch.randint(len(data) - block_size,", "torch.randint(len(data) - block_size + 1,"),
            ("torch.randint(len(data) - block_size,", "torch.randint(len(data),"),
            _sliced(starts="torch.randint(len(data), (batch_size,), generator=generator)"),
            _sliced(starts="torch.randint(len(data) - block_size + 1, (batch_size,), generator=generator)"),
        ),
        (
            "wrapped_around",
            "Windows wrap around from the end of the text to its beginning (modulo, roll): the last start is N − block_size − 1.",
            [
                ("torch.randint(len(data) - block_size,", "torch.randint(len(data),"),
                ("data[places]", "data[places % len(data)]"),
            ],
        ),
        (
            "first_window_never",
            "The first window, which starts at token 0, is never drawn.",
            (
                "torch.randint(len(data) - block_size,",
                "torch.randint(min(1, len(data) - block_size - 1), len(data) - block_size,",
            ),
            ("torch.randint(len(data) - block_size,", "torch.randint(1, len(data) - block_size,"),
        ),
        (
            "windows_side_by_side",
            "Only windows that start at a multiple of block_size are drawn: every start from 0 on is allowed, windows may overlap.",
            (
                _STARTS,
                "torch.randint((len(data) - block_size - 1) // block_size + 1, (batch_size,), generator=generator) * block_size",
            ),
        ),
        (
            "same_start",
            "All rows of a batch are the same window: draw batch_size starts, one for each row.",
            (_STARTS, "torch.randint(len(data) - block_size, (1,), generator=generator).expand(batch_size)"),
            (_STARTS, "torch.randint(len(data) - block_size, (), generator=generator).repeat(batch_size)"),
        ),
        (
            "rows_in_a_row",
            "The rows follow each other in the text: each has a random start of its own.",
            (
                _STARTS,
                "(torch.randint(len(data) - block_size, (1,), generator=generator) + torch.arange(batch_size)) % (len(data) - block_size)",
            ),
            (_STARTS, "torch.arange(batch_size) % (len(data) - block_size)"),
        ),
        (
            "without_repeats",
            "The starts are drawn without repetition (randperm), so a batch cannot be larger than the number of windows: draw each on its "
            "own, with torch.randint.",
            (_STARTS, "torch.randperm(len(data) - block_size, generator=generator)[:batch_size]"),
        ),
        (
            "scattered_tokens",
            "The tokens of a row are drawn one by one: draw where a row starts; its tokens follow each other in the text.",
            "if len(data) <= block_size:\n    raise ValueError('data is too short')\nplaces = torch.randint(len(data) - 1, (batch_size, block_size), generator=generator)\nreturn data[places], data[places + 1]",
        ),
        (
            "numbers_instead_of_tokens",
            "The places in the text are returned, not the tokens that stand there: data[places].",
            ("windows = data[places]", "windows = places"),
        ),
        (
            "transposed",
            "x and y are (block_size, batch_size): one row for each window is asked for.",
            (_SHIFTED, "windows[:, :-1].T, windows[:, 1:].T"),
            _sliced().replace("for s in starts])", "for s in starts], dim=1)"),
        ),
        (
            "flat",
            "The rows are strung together (torch.cat): stack them, so that x is (batch_size, block_size).",
            _sliced().replace("torch.stack", "torch.cat"),
            (_SHIFTED, "windows[:, :-1].reshape(-1), windows[:, 1:].reshape(-1)"),
        ),
        (
            "sizes_swapped",
            "block_size and batch_size are mixed up: x has batch_size rows of block_size tokens.",
            ("block_size, batch_size,", "batch_size, block_size,"),
        ),
        (
            "one_row",
            "A single window comes back: batch_size of them are asked for.",
            (_SHIFTED, "windows[0, :-1], windows[0, 1:]"),
            (_SHIFTED, "windows[:1, :-1], windows[:1, 1:]"),
        ),
        (
            "squeezed",
            "`squeeze()` removes every dimension of size 1, so a batch of one window, or windows of one token, lose a dimension.",
            (_SHIFTED, "windows[:, :-1].squeeze(), windows[:, 1:].squeeze()"),
            (_SHIFTED, "windows[:, :-1].squeeze(0), windows[:, 1:].squeeze(0)"),
        ),
        (
            "global_generator",
            "The generator is not passed on, so the starts come from torch's global one: `generator=generator`.",
            (", generator=generator)", ")"),
            _sliced(starts="torch.randint(len(data) - block_size, (batch_size,))"),
        ),
        (
            "other_source",
            "Chance comes from elsewhere (`random`, NumPy), so the generator decides nothing: torch.randint with generator=generator.",
            (_STARTS, "torch.tensor(__import__('random').choices(range(len(data) - block_size), k=batch_size))"),
            (_STARTS, "torch.from_numpy(__import__('numpy').random.randint(0, len(data) - block_size, batch_size))"),
        ),
        (
            "generator_ignored",
            "The seed is fixed inside, so every call gives the same batch: draw from the generator that is passed.",
            ("    starts", "    generator = torch.Generator().manual_seed(0)\n    starts"),
            ("    starts", "    generator.manual_seed(0)\n    starts"),
            ("    starts", "    generator = torch.Generator().manual_seed(42)\n    starts"),
            ("    starts", "    generator.manual_seed(1337)\n    starts"),
        ),
        (
            "seeded_anew",
            "The generator is seeded anew at each call, so every call gives the same batch: draw from it as it comes.",
            ("    starts", "    generator.manual_seed(generator.initial_seed())\n    starts"),
        ),
        (
            "short_text_accepted",
            "A text without a single window is not refused with a clear message: if N is not greater than block_size raise a ValueError "
            "that says so.",
            (_SHORT, ""),
            _sliced().split("raise ValueError('data is too short for block_size')\n")[1],
        ),
        (
            "short_text_limit",
            "The limit for a short text is off by one: with N = block_size the last token has no target, with N = block_size + 1 there is "
            "one window.",
            ("len(data) <= block_size", "len(data) < block_size"),
            ("len(data) <= block_size", "len(data) <= block_size + 1"),
            ("len(data) <= block_size", "len(data) <= 2 * block_size"),
        ),
        (
            "error_of_another_type",
            "A text that is too short raises an error of another type: a ValueError is asked for (not `assert`).",
            ("raise ValueError(", "raise IndexError("),
            (_SHORT, "    assert len(data) > block_size, 'data is too short'\n"),
        ),
        (
            "list",
            "x and y are lists: tensors are asked for.",
            (_SHIFTED, "windows[:, :-1].tolist(), windows[:, 1:].tolist()"),
            (_SHIFTED, "list(windows[:, :-1]), list(windows[:, 1:])"),
        ),
        (
            "one_tensor",
            "One tensor (or a list) comes back: the pair x, y is asked for (`return x, y`).",
            (_SHIFTED, "windows"),
            (_SHIFTED, "windows[:, :-1]"),
            (_SHIFTED, "torch.stack([windows[:, :-1], windows[:, 1:]])"),
            (_SHIFTED, "[windows[:, :-1], windows[:, 1:]]"),
        ),
        (
            "floats",
            "x and y are floats: ids are whole numbers and must stay so, nn.Embedding refuses anything else.",
            (_SHIFTED, "windows[:, :-1].float(), windows[:, 1:].float()"),
        ),
        (
            "wrong_dtype",
            "The dtype of data is not kept (`.long()`, `.int()`, or a new tensor made of numbers).",
            (_SHIFTED, "windows[:, :-1].long(), windows[:, 1:].long()"),
            (_SHIFTED, "windows[:, :-1].int(), windows[:, 1:].int()"),
            (_SHIFTED, "torch.tensor(windows[:, :-1].tolist()), torch.tensor(windows[:, 1:].tolist())"),
        ),
        (
            "input_changed",
            "The text is changed in place (shuffled, say): the caller's data are different afterwards.",
            ("    windows = data[places]", "    windows = data[places]\n    data += 1"),
            ("    windows = data[places]", "    windows = data[places]\n    data.copy_(data.roll(1))"),
        ),
        (
            "nothing_returned",
            _NOTHING,
            ("return windows", "_ = windows"),
            ("return windows[:, :-1], windows[:, 1:]", "print(windows)"),
        ),
    ),
    alternatives=_alternatives(
        get_batch,
        slices=_sliced(),
        loop="""
        N = data.shape[0]
        if N < block_size + 1:
            raise ValueError(f"data: {N} tokens are too few for block_size {block_size}")
        xs, ys = [], []
        while len(xs) < batch_size:
            s = int(torch.randint(0, N - block_size, (), generator=generator))
            xs.append(data[s : s + block_size].clone())
            ys.append(data[s + 1 : s + block_size + 1].clone())
        return torch.stack(xs), torch.stack(ys)
        """,
        two_lookups="""
        last = len(data) - block_size - 1
        if last < 0:
            raise ValueError("data must be longer than block_size")
        u = torch.rand(batch_size, 1, generator=generator, dtype=torch.float64)
        places = (u * (last + 1)).long().clamp(max=last) + torch.arange(block_size).view(1, -1)
        places = places.to(data.device)
        return data[places], data[places + 1]
        """,
        filled="""
        if block_size >= data.numel():
            raise ValueError("block_size must be smaller than the text")
        x = data.new_empty(batch_size, block_size)
        y = data.new_empty((batch_size, block_size))
        for b, s in enumerate(torch.randint(len(data) - block_size, (batch_size,), generator=generator).tolist()):
            x[b], y[b] = data[s : s + block_size], data[s + 1 : s + 1 + block_size]
        return x, y
        """,
    ),
)


# --- learning_rate ----------------------------------------------------------------------------------------------------

_SCHEDULES = ((30, 10, 1.0, 0.2), (47, 9, 6e-4, 6e-5), (100, 3, 3e-3, 0.0))  # max_steps, warmup, peak, floor


def _rate(student: Any, step: int, max_steps: int, warmup: int, peak: float, floor: float) -> Any:
    where = f"at step {step} with max_steps = {max_steps}, warmup = {warmup}, peak = {peak}, floor = {floor}"
    got = student.value("learning_rate", step, max_steps, warmup, peak, floor, where=where)
    _noted(student, got)
    number, expected = _number(got, "The rate", where), learning_rate(step, max_steps, warmup, peak, floor)
    if math.isnan(number) or not math.isclose(number, expected, rel_tol=1e-5, abs_tol=1e-6 * peak):
        raise Wrong(f"The rate is too {'high' if number > expected else 'low'} {where}.")
    return got


def _rate_warmup(student: Any) -> None:
    for max_steps, warmup, peak, floor in _SCHEDULES:
        for step in range(warmup + 1):
            with student.case():
                _rate(student, step, max_steps, warmup, peak, floor)


def _rate_cosine(student: Any) -> None:
    for max_steps, warmup, peak, floor in (*_SCHEDULES, (20, 0, 2.0, 0.5)):
        for step in (*range(warmup + 1, max_steps, 3), max_steps - 1, max_steps):
            with student.case():
                _rate(student, step, max_steps, warmup, peak, floor)


def _rate_after(student: Any) -> None:
    for max_steps, warmup, peak, floor in (*_SCHEDULES, (20, 0, 2.0, 0.5)):
        for step in (max_steps, max_steps + 1, 2 * max_steps - warmup, 5 * max_steps, 10**7):
            with student.case():
                _rate(student, step, max_steps, warmup, peak, floor)


def _rate_edges(student: Any) -> None:
    for step, max_steps, warmup in (
        *((0, 12, 0), (1, 12, 0), (0, 12, 1), (1, 12, 1), (2, 12, 1), (12, 12, 0)),  # no warm-up, or one step of it
        *((3, 8, 8), (8, 8, 8), (9, 8, 8), (7, 8, 7), (0, 1, 0), (1, 1, 0)),  # nothing but warm-up, or a single step
    ):
        with student.case():
            got = _rate(student, step, max_steps, warmup, 0.5, 0.125)
            if type(got) is not float:
                raise Wrong(f"The rate should be a plain float; yours is {kind(got)}.", "not_a_float")


_COSINE = "floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2"
_PROGRESS = "(step - warmup) / (max_steps - warmup)"
_UP = "return peak * step / warmup"

LEARNING_RATE = Exercise(
    name="learning_rate",
    notebook="09-gpt",
    points=3,
    reference=learning_rate,
    checks=[
        Check("linear warm-up", 0.75, _rate_warmup),
        Check("cosine from the peak to the floor", 1.0, _rate_cosine),
        Check("constant after max_steps", 0.75, _rate_after),
        Check("without warm-up, with nothing else; a plain float", 0.5, _rate_edges),
    ],
    working=written(
        """
        import math

        def learning_rate(step, max_steps, warmup, peak, floor):
            if step < warmup:
                return float(peak * step / warmup)
            share = min(1.0, (step - warmup) / max(1, max_steps - warmup))
            if step >= max_steps:
                share = 1.0
            return floor + (peak - floor) * math.cos(math.pi / 2 * share) ** 2
        """
    ),
    mistakes=_mistakes(
        learning_rate,
        (
            "warmup_one_ahead",
            "Warm-up is one step ahead (step + 1, or warmup − 1): at step 0 the rate is 0, at step `warmup` it is the peak.",
            (_UP, "return peak * (step + 1) / warmup"),
            (_UP, "return peak * (step + 1) / (warmup + 1)"),
            (_UP, "return peak * step / max(1, warmup - 1)"),
        ),
        (
            "warmup_from_floor",
            "Warm-up climbs from the floor: it starts at 0, peak * step / warmup.",
            (_UP, "return floor + (peak - floor) * step / warmup"),
            (_UP, "return max(floor, peak * step / warmup)"),
        ),
        (
            "warmup_to_floor",
            "Warm-up climbs towards the floor: it ends at the peak.",
            (_UP, "return floor * step / warmup"),
        ),
        (
            "no_warmup",
            "There is no warm-up: below `warmup` the rate climbs from 0 to the peak.",
            (_UP, "return peak"),
            [("    if step < warmup:\n        return peak * step / warmup\n", "    step = max(step, warmup)\n")],
        ),
        (
            "cosine_from_the_start",
            "There is no warm-up: the cosine begins at step 0, as if warmup were 0 (or goes backwards below it).",
            [("    if step < warmup:\n        return peak * step / warmup\n", "")],
            [("    if step < warmup:\n        return peak * step / warmup\n", ""), (_PROGRESS, "step / max_steps")],
        ),
        (
            "warmup_share",
            "Warm-up divides by max_steps instead of `warmup`: it has to reach the peak at step `warmup`.",
            (_UP, "return peak * step / max_steps"),
        ),
        (
            "warmup_without_peak",
            "The share step / warmup is not multiplied by the peak.",
            (_UP, "return step / warmup"),
        ),
        (
            "warmup_curved",
            "Warm-up is not a straight line: peak * step / warmup.",
            (_UP, "return peak * (step / warmup) ** 2"),
            (_UP, "return peak * (1 - math.cos(math.pi * step / warmup)) / 2"),
            (_UP, "return peak * math.sin(math.pi / 2 * step / warmup)"),
            (_UP, "return peak * math.sqrt(step / warmup)"),
        ),
        (
            "integer_division",
            "`//` throws the fraction away, so the rate jumps: use `/`.",
            (_UP, "return peak * (step // warmup)"),
            (_UP, "return peak * step // warmup"),
            (_PROGRESS, "(step - warmup) // (max_steps - warmup)"),
        ),
        (
            "cosine_to_zero",
            "The cosine goes down to 0 instead of the floor: floor + (peak − floor) · (1 + cos) / 2.",
            (_COSINE, "peak * (1 + math.cos(math.pi * progress)) / 2"),
        ),
        (
            "clipped_at_floor",
            "The cosine goes down to 0 and is cut off at the floor: it should arrive at the floor smoothly, just at max_steps.",
            (_COSINE, "max(floor, peak * (1 + math.cos(math.pi * progress)) / 2)"),
        ),
        (
            "floor_added",
            "The floor is added on top of the whole peak: the cosine spans peak − floor.",
            (_COSINE, "floor + peak * (1 + math.cos(math.pi * progress)) / 2"),
        ),
        (
            "warmup_not_subtracted",
            "The share of the way is counted from step 0: the cosine begins at step `warmup`, so subtract it above and below.",
            (_PROGRESS, "step / max_steps"),
            (_PROGRESS, "step / (max_steps - warmup)"),
        ),
        (
            "warmup_not_subtracted_below",
            "The cosine has max_steps − warmup steps, not max_steps: otherwise it is not at the floor in time.",
            (_PROGRESS, "(step - warmup) / max_steps"),
        ),
        (
            "one_step_early",
            "The cosine ends one step early or late: it is at the peak at step `warmup` and at the floor at step max_steps.",
            (_PROGRESS, "(step - warmup) / (max_steps - warmup - 1)"),
            (_PROGRESS, "(step - warmup + 1) / (max_steps - warmup)"),
            (_PROGRESS, "(step - warmup) / (max_steps - warmup + 1)"),
            [("step >= max_steps", "step >= max_steps - 1")],
        ),
        (
            "linear_decay",
            "The rate falls in a straight line: a cosine is asked for.",
            (_COSINE, "peak + (floor - peak) * progress"),
        ),
        (
            "exponential_decay",
            "The rate falls exponentially: a cosine is asked for.",
            (_COSINE, "floor + (peak - floor) * math.exp(-5 * progress)"),
            (_COSINE, "peak * max(floor / peak, 1e-3) ** progress"),
        ),
        (
            "without_pi",
            "π is missing: over the whole way the angle goes from 0 to π.",
            ("math.pi * progress", "progress"),
        ),
        (
            "full_turn",
            "The angle goes once around (2π), so the rate is back at the peak at the end: from 0 to π.",
            ("math.pi * progress", "2 * math.pi * progress"),
        ),
        (
            "quarter_turn",
            "A quarter of a turn (π/2) is another curve: (1 + cos) / 2 with an angle from 0 to π starts and ends flat.",
            (_COSINE, "floor + (peak - floor) * math.cos(math.pi / 2 * progress)"),
            ("math.pi * progress", "math.pi / 2 * progress"),
        ),
        (
            "half_forgotten",
            "1 + cos goes from 2 to 0: divide by 2.",
            (" * (1 + math.cos(math.pi * progress)) / 2", " * (1 + math.cos(math.pi * progress))"),
        ),
        (
            "bare_cosine",
            "A bare cosine becomes negative half way: (1 + cos) / 2 goes from 1 to 0.",
            ("(1 + math.cos(math.pi * progress)) / 2", "math.cos(math.pi * progress)"),
        ),
        (
            "climbing",
            "The cosine climbs from the floor to the peak: 1 + cos, not 1 − cos.",
            ("(1 + math.cos", "(1 - math.cos"),
            (_COSINE, "peak + (floor - peak) * (1 + math.cos(math.pi * progress)) / 2"),
        ),
        (
            "sine",
            "A sine is used where the cosine belongs.",
            ("math.cos(math.pi * progress)", "math.sin(math.pi * progress)"),
        ),
        (
            "degrees",
            "The angle is in degrees: math.cos takes radians, so from 0 to π.",
            ("math.pi * progress", "180 * progress"),
        ),
        (
            "climbs_again",
            "After max_steps the cosine goes on and climbs again: from max_steps on the rate is the floor.",
            [
                (
                    "    if step >= max_steps:\n        return floor\n",
                    "    if max_steps == warmup:\n        return floor\n",
                )
            ],
        ),
        (
            "zero_afterwards",
            "After max_steps the rate is 0: it stays at the floor.",
            ("return floor\n", "return 0.0\n"),
            [
                (
                    "if step >= max_steps:\n        return floor",
                    "if step > max_steps:\n        return 0.0\n    if step == max_steps:\n        return floor",
                )
            ],
        ),
        (
            "peak_afterwards",
            "After max_steps the rate is the peak again: it stays at the floor.",
            ("return floor\n", "return peak\n"),
        ),
        (
            "nothing_afterwards",
            "After max_steps nothing is returned (None), or an error is raised: from there on the rate is the floor.",
            [
                (
                    "step >= max_steps:\n        return floor",
                    "step > max_steps:\n        return None\n    if step == max_steps:\n        return floor",
                )
            ],
            [
                (
                    "step >= max_steps:\n        return floor",
                    "step > max_steps:\n        raise ValueError('over')\n    if step == max_steps:\n        return floor",
                )
            ],
            ("return floor\n", "return None\n"),
        ),
        (
            "division_by_zero",
            "With warmup = 0 the warm-up divides by zero: step 0 is not below 0, so it belongs to the cosine already (`<`, not `<=`).",
            ("step < warmup", "step <= warmup"),
            [
                ("    if step < warmup:\n        return", "    rising ="),
                (
                    "    if step >= max_steps:",
                    "    if step < warmup:\n        return rising\n    if step >= max_steps:",
                ),
            ],
        ),
        (
            "only_warmup_fails",
            "With warmup equal to max_steps the cosine has no length, and its share divides by zero: from max_steps on return the floor "
            "first.",
            ("step >= max_steps", "step > max_steps"),
            [
                ("    if step >= max_steps:\n        return floor\n", ""),
                (_PROGRESS, "min(1, (step - warmup) / (max_steps - warmup))"),
            ],
        ),
        (
            "not_a_float",
            "A tensor is returned: a plain float is asked for (math.cos, not torch.cos).",
            [
                (_UP, "return torch.tensor(peak * step / warmup)"),
                ("return floor\n", "return torch.tensor(floor)\n"),
                ("math.cos(math.pi * progress)", "torch.cos(torch.tensor(math.pi * progress))"),
            ],
            ("math.cos(math.pi * progress)", "torch.cos(torch.tensor(math.pi * progress, dtype=torch.float64))"),
        ),
        (
            "rounded",
            "The rate is rounded: keep all digits (round when you print).",
            (_COSINE, "round(" + _COSINE + ", 4)"),
            [(_COSINE, "round(" + _COSINE + ", 4)"), (_UP, "return round(peak * step / warmup, 4)")],
            (_PROGRESS, "round((step - warmup) / (max_steps - warmup), 1)"),
            (_PROGRESS, "round((step - warmup) / (max_steps - warmup), 2)"),
        ),
        (
            "factor",
            "The rate comes as a share of the peak, as LambdaLR wants it: the rate itself is asked for.",
            [
                (_UP, "return step / warmup"),
                ("return floor\n", "return floor / peak\n"),
                (_COSINE, "(" + _COSINE + ") / peak"),
            ],
        ),
        ("nothing_returned", _NOTHING, [("return floor +", "print(floor +"), ("/ 2\n", "/ 2)\n")], [("return", "_ =")]),
    ),
    alternatives=_alternatives(
        learning_rate,
        clamped="if warmup > 0 and step < warmup:\n    return step / warmup * peak\nif max_steps <= warmup:\n    return float(floor)\nt = min(max((step - warmup) / (max_steps - warmup), 0.0), 1.0)\nreturn floor + 0.5 * (peak - floor) * (1.0 + math.cos(t * math.pi))",
        mixed="if step < warmup:\n    rate = peak * (step / warmup)\nelif step < max_steps:\n    t = (step - warmup) / (max_steps - warmup)\n    w = 0.5 + 0.5 * math.cos(math.pi * t)\n    rate = w * peak + (1 - w) * floor\nelse:\n    rate = floor\nreturn rate",
        sine_squared="if step >= max(max_steps, warmup):\n    return floor\nif step < warmup:\n    return peak / warmup * step\nreturn peak - (peak - floor) * math.sin(math.pi * (step - warmup) / (max_steps - warmup) / 2) ** 2",
        numpy="import numpy as np\nif step < warmup:\n    return peak * step / warmup\nt = np.clip((step - warmup) / max(max_steps - warmup, 1), 0, 1) if step < max_steps else 1.0\nreturn floor + (peak - floor) * (1 + np.cos(np.pi * t)) / 2",
    ),
)


# --- train_step -------------------------------------------------------------------------------------------------------

# A model small enough to follow: the logits are a row of a table plus a bias, so the loss is GPT's and the gradients are
# those of a softmax. It stands in for GPT in the student's process, and in the judge's.
_TOY = """
def make(table, bias, scale=1.0):
    class Toy(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(table.clone())  # (V, V)
            self.bias = nn.Parameter(bias.clone())  # (V,)
            self.backwards, self.modes = [], []
            self.bias.register_hook(lambda grad: self.backwards.append(1))

        def forward(self, ids, targets=None):
            self.modes.append(self.training)
            logits = scale * (self.table[ids] + self.bias)  # (B, T, V)
            if targets is None:
                return logits, None
            return logits, nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    return Toy()
"""
_OPTIMISER = """
def optimiser(model, name, groups=False, **options):
    parameters = [{"params": [p]} for p in model.parameters()] if groups else model.parameters()
    made = getattr(torch.optim, name)(parameters, **options)
    made.steps = []
    made.register_step_pre_hook(lambda *args: made.steps.append(1))
    return made
"""
_STALE = """
def stale(model, size):
    for p in model.parameters():
        p.grad = torch.full_like(p, size)
"""
_HAPPENED = """
def happened(model, optimiser):
    there = [p.grad is not None and bool(p.grad.abs().max()) for p in model.parameters()]
    trained = all(model.modes) and model.training
    return {"backwards": len(model.backwards), "steps": len(optimiser.steps), "gradients": there, "training": trained}
"""
_NUMBERS = """
def numbers(model):
    return [p.detach().clone() for p in model.parameters()]
"""


def _here(source: str, name: str) -> Any:
    """A probe, as a function of this process."""
    scope: dict[str, Any] = {"torch": torch, "nn": nn}
    exec(source, scope)
    return scope[name]


@dataclass
class _Run:
    """Some training steps: what the toy is, what the optimiser is, and how it is asked."""

    V: int = 5
    scale: float = 1.0
    optimiser: str = "SGD"
    options: tuple = (("lr", 0.1),)
    max_norm: float | None = None
    steps: int = 1
    stale: float = 0.0
    dtype: torch.dtype = torch.float32
    shape: tuple[int, int] = (3, 4)


def _trained(student: Any, run: _Run, where: str, values: bool = True, notes: bool = False) -> list[Any]:
    """Takes the steps and compares the parameters after each; returns the answers."""
    table, bias = normal(run.V, run.V, dtype=run.dtype), normal(run.V, dtype=run.dtype)
    mine = _here(_TOY, "make")(table, bias, run.scale)
    my_optimiser = _here(_OPTIMISER, "optimiser")(mine, run.optimiser, **dict(run.options))
    model = student.call(student.probe("make", _TOY), [table, bias, run.scale], keep=True)["value"]
    making = student.probe("optimiser", _OPTIMISER)
    optimiser = student.call(making, [model, run.optimiser], dict(run.options), keep=True)["value"]
    numbers = student.probe("numbers", _NUMBERS)
    if run.stale:
        student.call(student.probe("stale", _STALE), [model, run.stale])
    kwargs = {} if run.max_norm is None else {"max_norm": run.max_norm}
    answers = []
    for step in range(run.steps):
        x, y = ((normal(*run.shape).abs() * 2.3).long() % run.V for _ in range(2))
        expected = train_step(mine, my_optimiser, x, y, **kwargs)
        answer = student.call("train_step", [model, optimiser, x, y], kwargs, where=where)
        _noted(student, answer["value"])
        answers.append((answer, expected, (x, y)))
        if notes:  # mostly for the record: it tells mistakes apart that leave the same numbers behind
            happened = student.value(student.probe("happened", _HAPPENED), model, optimiser)
            if not happened["training"]:
                raise Wrong(
                    "A model that is in training mode is trained in eval mode (or left in it), so its dropout does not act: train_step "
                    "does not call model.eval().",
                    "eval_mode",
                )
        if values:
            for got, own in zip(student.value(numbers, model), mine.parameters(), strict=True):
                same_tensor(got, own.detach(), "A parameter", f"after step {step + 1} {where}")
    return answers


def _step_update(student: Any) -> None:
    for run, where in (
        (_Run(), "with SGD"),
        (_Run(V=7, shape=(1, 6), options=(("lr", 0.03), ("momentum", 0.9)), steps=3), "with SGD and momentum"),
        (_Run(V=4, shape=(5, 1), optimiser="AdamW", options=(("lr", 0.02),), steps=3), "with AdamW"),
    ):
        with student.case():
            _trained(student, run, where)


def _step_clipped(student: Any) -> None:
    for run, where in (
        (_Run(scale=40.0), "when the gradients are large, with the default max_norm = 1"),
        (_Run(scale=9.0, max_norm=0.25, V=6), "when the gradients are large, with max_norm = 0.25"),
        (_Run(scale=40.0, max_norm=3.0), "when the gradients are large, with max_norm = 3"),
        (_Run(scale=0.02), "when the gradients are far below max_norm (they stay as they are)"),
        (_Run(scale=40.0, max_norm=1e6), "when the gradients are large, but below max_norm"),
        (
            _Run(scale=40.0, options=(("lr", 0.1), ("groups", True))),
            "when the optimiser holds its parameters in two groups",
        ),
        (_Run(scale=12.0, steps=3, options=(("lr", 0.5),)), "in three steps with large gradients"),
    ):
        with student.case():
            _trained(student, run, where)


def _step_stale(student: Any) -> None:
    for run, where in (
        (_Run(stale=0.3), "when gradients of an earlier backward() are still there"),
        (_Run(stale=50.0, scale=20.0), "when large gradients of an earlier backward() are still there"),
        (_Run(steps=4, max_norm=1e6), "one after the other"),
    ):
        with student.case():
            _trained(student, run, where)


def _step_loss(student: Any) -> None:
    for run, where in (
        (_Run(options=(("lr", 5.0),)), "of one step"),
        (_Run(scale=10.0, options=(("lr", 1.0),), steps=2, shape=(2, 7)), "of two steps"),
    ):
        with student.case():
            for answer, expected, _ in _trained(student, run, where, values=False):
                got = answer["value"]
                number = _number(got, "The loss", where)
                if not math.isclose(number, expected, rel_tol=1e-4, abs_tol=1e-6):
                    raise Wrong(
                        f"The number that is returned {where} is not the loss of this batch before the update (mean cross-entropy, "
                        "as the model returns it)."
                    )
                if type(got) is not float:
                    raise Wrong(f"A plain float is asked for; yours is {kind(got)}: `loss.item()`.", "not_a_float")


def _step_manners(student: Any) -> None:
    for dtype, where in ((torch.float32, "in float32"), (torch.float64, "in float64")):
        with student.case():
            for answer, _, (x, y) in _trained(student, _Run(dtype=dtype, steps=2, V=6), where, notes=True):
                unchanged(answer["inputs"], [x, y], "x, y")
                quietly_called(answer)


_ZERO = "    optimizer.zero_grad()  # backward() adds to what is there\n"
_FORWARD = "_, loss = model(x, y)"
_CLIP = "nn.utils.clip_grad_norm_(model.parameters(), max_norm)"
_STEP = "    optimizer.step()\n"
_LOSS = "return loss.item()"

TRAIN_STEP = Exercise(
    name="train_step",
    notebook="09-gpt",
    points=4,
    reference=train_step,
    checks=[
        Check("the parameters after a step, as the optimiser makes it", 1.25, _step_update),
        Check("gradients clipped by their common norm", 1.0, _step_clipped),
        Check("gradients of earlier steps forgotten", 0.75, _step_stale),
        Check("the loss before the update, as a float", 0.75, _step_loss),
        Check("float64, batch unchanged", 0.25, _step_manners),
    ],
    working=written(
        """
        import torch

        def train_step(model, optimizer, x, y, max_norm=1.0):
            model.zero_grad()
            loss = model(x, targets=y)[1]
            loss.backward()
            torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm=max_norm)
            optimizer.step()
            return float(loss)
        """
    ),
    mistakes=_mistakes(
        train_step,
        (
            "gradients_pile_up",
            "Old gradients are never set to zero: backward() adds to them, so each step also repeats all earlier ones. Begin with "
            "optimizer.zero_grad().",
            (_ZERO, ""),
        ),
        (
            "zeroed_too_late",
            "The gradients are set to zero between backward() and step(), so nothing is left to learn from: do it before backward().",
            [(_ZERO, ""), (_STEP, "    optimizer.zero_grad()\n" + _STEP)],
            [(_ZERO, ""), ("    loss.backward()\n", "    loss.backward()\n    optimizer.zero_grad()\n")],
            [(_ZERO, ""), ("    loss.backward()\n", "    loss.backward()\n    model.zero_grad()\n")],
        ),
        (
            "zeroed_at_the_end_only",
            "The gradients are set to zero only at the end, so whatever was there before the call is added to the first step: do it "
            "before backward().",
            [(_ZERO, ""), (_STEP, _STEP + "    optimizer.zero_grad()\n")],
        ),
        (
            "not_clipped",
            "The gradients are not clipped when the optimiser makes its step: nn.utils.clip_grad_norm_ comes after backward(), which makes "
            "them, and before step(), which uses them.",
            (f"    {_CLIP}\n", ""),
            [(f"    {_CLIP}\n", ""), ("    loss.backward()\n", f"    {_CLIP}\n    loss.backward()\n")],
            [(f"    {_CLIP}\n", ""), (_STEP, f"{_STEP}    {_CLIP}\n")],
        ),
        (
            "clipped_by_value",
            "Each gradient entry is clipped on its own, which changes the direction: clip the norm of all together "
            "(clip_grad_norm_, not clip_grad_value_).",
            (_CLIP, "nn.utils.clip_grad_value_(model.parameters(), max_norm)"),
            (_CLIP, "for p in model.parameters():\n        p.grad.clamp_(-max_norm, max_norm)"),
        ),
        (
            "clipped_one_by_one",
            "Each parameter's gradient is clipped on its own, which changes the direction: the norm is that of all gradients taken "
            "together.",
            (_CLIP, "for p in model.parameters():\n        nn.utils.clip_grad_norm_(p, max_norm)"),
        ),
        (
            "some_clipped",
            "Only some of the parameters are clipped: the norm is that of all gradients of the model taken together.",
            (_CLIP, "nn.utils.clip_grad_norm_(list(model.parameters())[0], max_norm)"),
            (_CLIP, "nn.utils.clip_grad_norm_(list(model.parameters())[-1], max_norm)"),
            (_CLIP, "nn.utils.clip_grad_norm_([p for p in model.parameters() if p.dim() > 1], max_norm)"),
            (_CLIP, "nn.utils.clip_grad_norm_(optimizer.param_groups[0]['params'], max_norm)"),
        ),
        (
            "parameters_clipped",
            "The weights themselves are clipped, not their gradients.",
            (_CLIP, "for p in model.parameters():\n        p.data.clamp_(-max_norm, max_norm)"),
            (_CLIP, "for p in model.parameters():\n        p.data.mul_(min(1.0, max_norm / p.data.norm().item()))"),
        ),
        (
            "loss_clipped",
            "The loss is clipped instead of the gradients.",
            [(f"    {_CLIP}\n", ""), ("loss.backward()", "loss.clamp(max=max_norm).backward()")],
        ),
        (
            "always_normalised",
            "The gradients are scaled to max_norm even when they are smaller: clipping leaves small gradients as they are.",
            (
                _CLIP,
                "norm = nn.utils.clip_grad_norm_(model.parameters(), float('inf'))\n    for p in model.parameters():\n        p.grad.mul_(max_norm / norm)",
            ),
        ),
        (
            "max_norm_ignored",
            "max_norm is ignored: pass it on instead of a fixed number.",
            (_CLIP, "nn.utils.clip_grad_norm_(model.parameters(), 1.0)"),
            (_CLIP, "nn.utils.clip_grad_norm_(model.parameters(), 0.5)"),
        ),
        (
            "other_norm",
            "The norm is not the Euclidean one: leave norm_type at its default, 2.",
            (_CLIP, "nn.utils.clip_grad_norm_(model.parameters(), max_norm, norm_type=float('inf'))"),
            (_CLIP, "nn.utils.clip_grad_norm_(model.parameters(), max_norm, norm_type=1)"),
            (
                _CLIP,
                "norm = sum(p.grad.norm() for p in model.parameters())\n    for p in model.parameters():\n        p.grad.mul_((max_norm / norm).clamp(max=1.0))",
            ),
            (
                _CLIP,
                "norm = sum(p.grad.pow(2).sum() for p in model.parameters())\n    for p in model.parameters():\n        p.grad.mul_((max_norm / norm).clamp(max=1.0))",
            ),
        ),
        (
            "clipped_group_by_group",
            "Each of the optimiser's groups of parameters is clipped on its own: the norm is that of all gradients of the model taken "
            "together.",
            (
                _CLIP,
                "for group in optimizer.param_groups:\n        nn.utils.clip_grad_norm_(group['params'], max_norm)",
            ),
        ),
        (
            "eval_mode",
            "The model is put into eval mode, so its dropout does not act while it is trained: eval() is for measuring and writing.",
            (_ZERO, "    model.eval()\n" + _ZERO),
            (_LOSS, "model.eval()\n    return loss.item()"),
        ),
        ("no_step", "optimizer.step() is missing, so the model stays as it was.", (_STEP, "")),
        ("two_steps", "The optimiser makes two steps.", (_STEP, 2 * _STEP)),
        (
            "step_before_backward",
            "The optimiser makes its step before backward() has made the gradients: the order is zero, forward, backward, clip, step.",
            [(_STEP, ""), ("    loss.backward()\n", _STEP + "    loss.backward()\n")],
        ),
        (
            "no_backward",
            "No gradient arrives: loss.backward() is missing, or is called on a new tensor that has forgotten where it came from instead of "
            "the model's own loss.",
            ("    loss.backward()\n", ""),
            ("loss.backward()", "loss = torch.tensor(loss.item(), requires_grad=True)\n    loss.backward()"),
        ),
        (
            "backward_twice",
            "The gradients are counted twice: backward() runs twice.",
            ("loss.backward()", "loss.backward(retain_graph=True)\n    loss.backward()"),
        ),
        (
            "by_hand",
            "The parameters are changed by hand (or with an optimiser of its own): the step is the optimiser's, optimizer.step().",
            (
                _STEP,
                "    with torch.no_grad():\n        for p in model.parameters():\n            p -= optimizer.param_groups[0]['lr'] * p.grad\n",
            ),
            (_STEP, "    torch.optim.SGD(model.parameters(), lr=optimizer.param_groups[0]['lr']).step()\n"),
            (_STEP, "    torch.optim.AdamW(model.parameters(), lr=optimizer.param_groups[0]['lr']).step()\n"),
        ),
        (
            "own_rate",
            "The optimiser's learning rate is changed: train_step leaves it as it is set.",
            (_STEP, "    for group in optimizer.param_groups:\n        group['lr'] = 1e-3\n" + _STEP),
            (_STEP, "    for group in optimizer.param_groups:\n        group['lr'] = 3e-4\n" + _STEP),
        ),
        (
            "targets_swapped",
            "x and y are swapped: the model gets the inputs first.",
            (_FORWARD, "_, loss = model(y, x)"),
        ),
        (
            "own_input_as_target",
            "The model is trained to repeat its input: y holds the targets.",
            (_FORWARD, "_, loss = model(x, x)"),
        ),
        (
            "shifted_again",
            "The targets are shifted once more: y is already one step on.",
            (
                _FORWARD,
                "logits, _ = model(x)\n    loss = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), y[:, 1:].flatten())",
            ),
        ),
        (
            "sum",
            "The loss is not the model's own: take the mean cross-entropy that the model returns, without another factor.",
            ("loss.backward()", "loss = loss * y.numel()\n    loss.backward()"),
            (
                _FORWARD,
                "logits, _ = model(x)\n    loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction='sum')",
            ),
            ("loss.backward()", "loss = loss / len(x)\n    loss.backward()"),
            ("loss.backward()", "loss = loss.exp()\n    loss.backward()"),
            ("loss.backward()", "loss = loss / max_norm\n    loss.backward()"),
            ("loss.backward()", "loss = -loss\n    loss.backward()"),
        ),
        (
            "part_of_the_loss",
            "The loss is that of a part of the batch: all positions of all rows count.",
            (
                _FORWARD,
                "logits, _ = model(x)\n    loss = nn.functional.cross_entropy(logits[:, -1], y[:, -1])",
            ),
            (_FORWARD, "_, loss = model(x[:1], y[:1])"),
        ),
        (
            "pair_not_unpacked",
            "The loss is not there: the model returns the pair (logits, loss), and a loss only if it is given the targets, "
            "`_, loss = model(x, y)`.",
            (_FORWARD, "loss = model(x, y)"),
            (_FORWARD, "_, loss = model(x)"),
            (_FORWARD, "loss = model(x, y)[0].mean()"),
        ),
        (
            "nothing_to_go_back_from",
            "backward() has nothing to start from: it needs the scalar loss (not the logits), computed with gradients on (no "
            "torch.no_grad(), no .detach()).",
            (_FORWARD, "with torch.no_grad():\n        _, loss = model(x, y)"),
            ("loss.backward()", "loss.detach().backward()"),
            (_FORWARD, "loss, _ = model(x, y)"),
        ),
        (
            "loss_after",
            "The loss is computed once more after the update: return that of the forward pass before it.",
            (_LOSS, "return model(x, y)[1].item()"),
            (_LOSS, "with torch.no_grad():\n        _, loss = model(x, y)\n    return loss.item()"),
        ),
        (
            "not_a_float",
            "A tensor is returned: a plain float is asked for, `loss.item()`. A list of such tensors would keep every step's graph in "
            "memory.",
            (_LOSS, "return loss"),
            (_LOSS, "return loss.detach()"),
            (_LOSS, "return loss.data"),
        ),
        (
            "rounded",
            "The loss is rounded: keep all digits (round when you print).",
            (_LOSS, "return round(loss.item(), 2)"),
            (_LOSS, "return round(loss.item(), 3)"),
            (_LOSS, "return int(loss.item())"),
        ),
        (
            "norm_returned",
            "The norm of the gradients is returned (clip_grad_norm_ gives it back): the loss is asked for.",
            [(_CLIP, "norm = " + _CLIP), (_LOSS, "return norm.item()")],
        ),
        (
            "perplexity",
            "The perplexity is returned: the loss itself is asked for.",
            (_LOSS, "return math.exp(loss.item())"),
        ),
        (
            "pair_returned",
            "More than the loss is returned: one float is asked for.",
            (_LOSS, "return loss.item(), model"),
            [(_FORWARD, "logits, loss = model(x, y)"), (_LOSS, "return logits, loss")],
            (_LOSS, "return [loss.item()]"),
        ),
        ("nothing_returned", _NOTHING, ("    " + _LOSS, "    _ = loss"), (_LOSS, "print(loss.item())")),
        (
            "input_changed",
            "The batch is changed in place: x and y are different afterwards.",
            (_LOSS, "x += 1\n    return loss.item()"),
            (_LOSS, "y.zero_()\n    return loss.item()"),
        ),
    ),
    alternatives=_alternatives(
        train_step,
        own_loss="""
        model.train()
        logits = model(x)[0]
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))
        for p in model.parameters():
            p.grad = None
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach().cpu().item()
        """,
        clipped_by_hand="""
        logits, loss = model(x, y)
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.sqrt(sum((g**2).sum() for g in grads))
        if norm > max_norm:
            for g in grads:
                g *= max_norm / norm
        optimizer.step()
        return float(loss.detach())
        """,
        optimisers_parameters="""
        model.train()
        optimizer.zero_grad()
        loss = model(x, y)[1]
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for group in optimizer.param_groups for p in group["params"]], max_norm)
        optimizer.step()
        return loss.item()
        """,
        autograd="""
        value = model(x, targets=y)[-1]
        parameters = list(model.parameters())
        for p, g in zip(parameters, torch.autograd.grad(value, parameters)):
            p.grad = g
        nn.utils.clip_grad_norm_(parameters, max_norm, norm_type=2.0)
        optimizer.step()
        return value.tolist()
        """,
    ),
)


# --- next_token_distribution ------------------------------------------------------------------------------------------


def _apart(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Logits in no order, any two of a row well apart, so that no tie and no rounding decides who stays."""
    steps = normal(*shape, dtype=torch.float64).abs() * 0.5 + 0.15
    return steps.cumsum(-1).gather(-1, normal(*shape).argsort(-1)).sub(steps.sum(-1, keepdim=True) / 2).to(dtype)


def _p_between(logits: torch.Tensor, near: float, temperature: float = 1.0, top_k: int | None = None) -> float:
    """A top_p close to `near` that no row reaches by a hair: between two sums of the likeliest, away from both."""
    sums = next_token_distribution(logits.double(), temperature, top_k).sort(-1, descending=True).values.cumsum(-1)
    edges = torch.cat([sums.flatten(), torch.tensor([0.0, 1.0], dtype=torch.float64)]).sort().values
    gaps = [(abs((a + b) / 2 - near), (a + b) / 2) for a, b in edges.unfold(0, 2, 1).tolist() if b - a > 2e-3]
    return round(min(gaps)[1], 4)


def _distribution(student: Any, logits: torch.Tensor, where: str, rough: bool = False, **kwargs: Any) -> None:
    got = student.call("next_token_distribution", [logits], kwargs, where=where)["value"]
    _is_distribution(got, next_token_distribution(logits, **kwargs), where, rough)


def _is_distribution(got: Any, expected: torch.Tensor, where: str, rough: bool = False) -> None:
    """The right values, and where a token was excluded exactly 0."""
    got = a_tensor(got, "The result")
    if got.shape == expected.shape and got.dtype == expected.dtype:
        if got.isnan().any():
            raise Wrong(f"There are NaN {where}: was something divided by 0, or was no token left in a row?")
        if (got < 0).any():
            raise Wrong(f"There are negative numbers {where}: these are no probabilities (logits, or logarithms?).")
        kept, wanted = (got > 0).sum(-1), (expected > 0).sum(-1)
        if not torch.equal(kept, wanted) and (expected == 0).any():
            many = "many" if (kept - wanted).abs().max() and (kept > wanted).any() else "few"
            raise Wrong(f"Too {many} tokens have a probability above 0 {where}.")
        if not close(got.sum(-1), expected.sum(-1)):
            raise Wrong(f"The probabilities of a row do not sum to 1 {where}: normalise what is left.")
    same_tensor(got, expected, "The result", where, rough)


def _next_temperature(student: Any) -> None:
    with student.case():
        logits = _apart(4, 7)
        _distribution(student, logits, "without temperature, top_k and top_p")
    for shape, temperature in (
        ((5,), 0.5),
        ((3, 6), 2.0),
        ((2, 3, 4), 0.7),
        ((2, 1, 3, 5), 10.0),
        ((4, 4), 0.1),
        ((1,), 3),
    ):
        with student.case():
            where = f"for logits of shape {shape} with temperature = {temperature}"
            _distribution(student, _apart(*shape), where, temperature=temperature)


def _next_greedy(student: Any) -> None:
    for shape in ((6,), (3, 5), (2, 3, 4), (1, 1), (4, 4)):
        with student.case():
            _distribution(student, _apart(*shape), f"for logits of shape {shape} with temperature = 0", temperature=0)
    with student.case():
        close_by = torch.tensor([[1.0, 1.001, 0.999, 1.0005], [-3.0, -3.001, -2.999, -4.0]])
        _distribution(student, close_by, "for logits close to each other, with temperature = 0.0", temperature=0.0)
    with student.case():
        where = "for logits of 10,000 and −∞ with temperature = 0"
        _distribution(student, torch.tensor([1e4, -math.inf, 1.1e4, -1e4]), where, temperature=0)
    with student.case():
        where = "with temperature = 0, top_k = 3 and top_p = 0.9"
        _distribution(student, _apart(3, 5), where, temperature=0, top_k=3, top_p=0.9)


def _next_top_k(student: Any) -> None:
    for shape, top_k in (
        *(((7,), 3), ((4, 6), 2), ((2, 3, 5), 4), ((3, 4), 1), ((5, 5), 2), ((2, 1, 2, 6), 3)),
        *(((3, 5), 5), ((3, 5), 8), ((6,), 1000), ((1,), 1)),  # all stay
    ):
        with student.case():
            where = f"for logits of shape {shape} with top_k = {top_k}"
            _distribution(student, _apart(*shape), where, top_k=top_k)


def _next_top_p(student: Any) -> None:
    for shape, near in (
        *(((7,), 0.8), ((4, 6), 0.6), ((2, 3, 5), 0.9), ((5, 5), 0.75), ((2, 1, 2, 6), 0.5), ((3, 40), 0.95)),
        *(((3, 4), 1e-3), ((6,), 0.02)),  # less than the likeliest token has: it stays nevertheless
    ):
        with student.case():
            logits = _apart(*shape)
            p = _p_between(logits, near)
            _distribution(student, logits, f"for logits of shape {shape} with top_p = {p}", top_p=p)
    for p, where in ((1.0, "with top_p = 1, where all tokens stay"), (1e-6, "with top_p = 0.000001, where one stays")):
        with student.case():
            _distribution(student, _apart(3, 6), where, top_p=p)
    with student.case():
        skewed = torch.tensor([[0.02, 0.9, 0.05, 0.03], [0.3, 0.25, 0.24, 0.21]]).log()
        _distribution(student, skewed, "where one row keeps one token and the other keeps more", top_p=0.6)


def _next_together(student: Any) -> None:
    """Temperature, top_k and top_p, in this order: cases in which any other order keeps other tokens."""
    probs = torch.tensor([[0.04, 0.4, 0.06, 0.3, 0.2], [0.3, 0.04, 0.2, 0.06, 0.4]])
    for kwargs, where in (
        ({"top_k": 3, "top_p": 0.74}, "with top_k = 3 and top_p = 0.74"),  # 2 of 3 renormalised, 3 of 5 otherwise
        ({"top_k": 2, "top_p": 0.5}, "with top_k = 2 and top_p = 0.5"),
        ({"top_k": 4, "top_p": 1.0}, "with top_k = 4 and top_p = 1"),
        ({"temperature": 0.5, "top_p": 0.65}, "with temperature = 0.5 and top_p = 0.65"),
        ({"temperature": 3.0, "top_p": 0.65}, "with temperature = 3 and top_p = 0.65"),
        ({"temperature": 2.0, "top_k": 2}, "with temperature = 2 and top_k = 2"),
        ({"temperature": 0.4, "top_k": 4, "top_p": 0.93}, "with temperature = 0.4, top_k = 4 and top_p = 0.93"),
    ):
        with student.case():
            _distribution(student, probs.log(), where, **kwargs)


def _next_extreme(student: Any) -> None:
    inf = math.inf
    blocked = torch.tensor([[1.0, -inf, 2.0, 0.2, -inf], [-inf, -inf, -inf, 3.0, 0.5]])
    for kwargs in ({}, {"temperature": 0.5}, {"top_k": 2}, {"top_k": 4}, {"top_p": 0.6}, {"top_k": 3, "top_p": 0.95}):
        with student.case():
            said = " and ".join(f"{name} = {value}" for name, value in kwargs.items())
            _distribution(student, blocked, f"where logits are −∞{', with ' + said if said else ''}", **kwargs)
    for logits, where in (
        (_apart(3, 6) * 1e4, "for logits of 10,000"),
        (_apart(3, 6) * 2 - 2e4, "for logits that are all near −20,000"),
        (_apart(3, 6) * 2 + 2e4, "for logits that are all near 20,000"),
    ):
        for kwargs in ({}, {"top_k": 2}, {"top_p": 0.7}, {"temperature": 0.25}):
            with student.case():
                logits = (logits * 4).round() / 4  # so that nothing is lost where the logits are divided
                p = {"top_p": _p_between(logits, 0.7)} if "top_p" in kwargs else kwargs
                said = " and ".join(f"{name} = {value}" for name, value in p.items())
                _distribution(student, logits, f"{where}{', with ' + said if said else ''}", rough=True, **p)


def _next_manners(student: Any) -> None:
    for kwargs in (
        {"temperature": 0.6},
        {"top_k": 3},
        {"top_p": 0.7},
        {"temperature": 0},
        {"temperature": 2.0, "top_k": 4, "top_p": 0.8},
    ):
        for dtype in (torch.float32, torch.float64):
            with student.case():
                logits = _apart(3, 6, dtype=dtype)
                said = " and ".join(f"{name} = {value}" for name, value in kwargs.items())
                where = f"for {dtype_name(logits)} logits with {said}"
                answer = student.call("next_token_distribution", [logits], kwargs, where=where)
                _is_distribution(answer["value"], next_token_distribution(logits, **kwargs), where)
                unchanged(answer["inputs"], [logits], "logits")
                quietly_called(answer)
    with student.case():
        by_position = student.value("next_token_distribution", logits, 0.5, 4, 0.9, where="with arguments by position")
        _is_distribution(by_position, next_token_distribution(logits, 0.5, 4, 0.9), "with arguments by position")


def _next_gradient(student: Any) -> None:
    for kwargs, where in (
        ({"temperature": 0.7}, "with temperature = 0.7"),
        ({"top_k": 3}, "with top_k = 3"),
        ({"top_p": 0.8}, "with top_p = 0.8"),
    ):
        with student.case():
            logits = _apart(2, 5)
            if "top_p" in kwargs:
                kwargs = {"top_p": _p_between(logits, 0.8)}
            expected, upstream = gradients_of(lambda x, kwargs=kwargs: next_token_distribution(x, **kwargs), [logits])
            answer = student.call("next_token_distribution", [logits], kwargs, where=where, upstream=upstream)
            if not isinstance(answer["value"], torch.Tensor):
                raise Wrong(f"There is no result to take gradients of: yours returned {kind(answer['value'])}.")
            same_gradients(answer["gradients"].get("inputs", []), expected, ["logits"], where)


def _next_device(student: Any) -> None:
    logits = _apart(3, 6)
    for kwargs in ({"temperature": 0.5, "top_k": 3, "top_p": 0.8}, {"temperature": 0}):
        with student.case():
            _distribution(student, logits, "", **kwargs)
            device_is_kept(student, "next_token_distribution", [logits], kwargs)


def _next_refused(student: Any) -> None:
    logits = _apart(2, 5)
    with student.case():
        _distribution(
            student, logits, "with temperature = 0.5, top_k = 1 and top_p = 1.0", temperature=0.5, top_k=1, top_p=1.0
        )
    for kwargs in (
        *({"temperature": -1.0}, {"temperature": -0.01}, {"top_k": 0}, {"top_k": -2}),
        *({"top_p": -0.1}, {"top_p": 1.5}, {"temperature": 0, "top_k": 0}),
    ):
        with student.case():
            said = ", ".join(f"{name} = {value}" for name, value in kwargs.items())
            _refused(student, "next_token_distribution", [logits], kwargs, said)


_GREEDY = "return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype)"
_WARM = "    logits = logits / temperature\n"
_K_BLOCK = """    if top_k is not None and top_k < V:
        kth = logits.topk(top_k, dim=-1).values[..., -1:]  # (..., 1): the worst logit that stays
        logits = logits.masked_fill(logits < kth, float("-inf"))
"""
_P_BLOCK = """    if top_p is not None and top_p < 1:
        probs, order = torch.softmax(logits, dim=-1).sort(dim=-1, descending=True)  # (..., V)
        likelier = probs.cumsum(dim=-1) - probs  # what all likelier tokens have together: 0 for the first
        beyond = likelier >= top_p  # p was reached before this token
        logits = logits.masked_fill(beyond.scatter(-1, order, beyond), float("-inf"))  # back in the order of V
"""
_FINAL = "    return torch.softmax(logits, dim=-1)\n"
_KTH = "logits.topk(top_k, dim=-1).values[..., -1:]"
_BEYOND = "beyond = likelier >= top_p"
_CHECKS = source_of(next_token_distribution).split('    """\n')[1].split("\n\n")[0] + "\n\n"
_REFUSALS = "if temperature < 0 or (top_k is not None and top_k < 1) or (top_p is not None and not 0 < top_p <= 1):\n    raise ValueError('temperature, top_k or top_p is out of its range')\n"

NEXT_TOKEN_DISTRIBUTION = Exercise(
    name="next_token_distribution",
    notebook="09-gpt",
    points=6,
    reference=next_token_distribution,
    checks=[
        Check("temperature", 1.0, _next_temperature),
        Check("temperature 0 is greedy", 0.75, _next_greedy),
        Check("top-k", 1.0, _next_top_k),
        Check("top-p", 1.25, _next_top_p),
        Check("together, in their order", 0.5, _next_together),
        Check("logits of −∞ and of 10,000", 0.5, _next_extreme),
        Check("float64, input unchanged", 0.25, _next_manners),
        Check("gradients reach the logits", 0.25, _next_gradient),
        Check("stays on the device of the logits", 0.25, _next_device),
        Check("values out of range are ValueErrors", 0.25, _next_refused),
    ],
    working=written(
        """
        import torch

        def next_token_distribution(logits, temperature=1.0, top_k=None, top_p=None):
            if temperature < 0 or (top_k is not None and top_k < 1) or (top_p is not None and not 0 < top_p <= 1):
                raise ValueError("temperature, top_k or top_p is out of its range")
            best = torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
            if temperature == 0:
                return best
            probs = torch.softmax(logits / temperature, -1)
            ordered, order = probs.sort(-1, descending=True)
            if top_k is not None:
                ordered = torch.cat([ordered[..., :top_k], torch.zeros_like(ordered[..., top_k:])], -1)
                ordered = ordered / ordered.sum(-1, keepdim=True)
            if top_p is not None and top_p < 1:
                before = torch.cat([torch.zeros_like(ordered[..., :1]), ordered[..., :-1]], -1).cumsum(-1)
                ordered = torch.where(before < top_p, ordered, torch.zeros_like(ordered))
                ordered = ordered / ordered.sum(-1, keepdim=True)
            return torch.zeros_like(probs).scatter(-1, order, ordered)
        """
    ),
    mistakes=_mistakes(
        next_token_distribution,
        (
            "temperature_multiplied",
            "The logits are multiplied by the temperature: divide, so that a low temperature sharpens the distribution.",
            ("logits / temperature", "logits * temperature"),
        ),
        ("temperature_ignored", "The temperature is ignored: divide the logits by it before the softmax.", (_WARM, "")),
        (
            "temperature_after_softmax",
            "The temperature is applied to the probabilities: it divides the logits, before the softmax.",
            [(_WARM, ""), (_FINAL, "    return torch.softmax(logits, dim=-1) / temperature\n")],
            ("logits / temperature", "torch.softmax(logits, dim=-1) / temperature"),
        ),
        (
            "temperature_on_a_share",
            "The probabilities are raised to the power of the temperature (or to another one): the exponent would be 1 / temperature.",
            [
                (_WARM, ""),
                (
                    _FINAL,
                    "    probs = torch.softmax(logits, dim=-1) ** temperature\n    return probs / probs.sum(dim=-1, keepdim=True)\n",
                ),
            ],
            ("logits / temperature", "logits / temperature**2"),
            ("logits / temperature", "logits / math.sqrt(temperature)"),
        ),
        (
            "temperature_last",
            "The temperature is applied after top-p has chosen (or top-p looks at the logits before it): first temperature, then top-k, then "
            "top-p.",
            [(_WARM, ""), (_FINAL, "    return torch.softmax(logits / temperature, dim=-1)\n")],
            [
                ("    V = logits", "    plain = logits\n    V = logits"),
                ("torch.softmax(logits, dim=-1).sort", "torch.softmax(plain, dim=-1).sort"),
            ],
            [
                ("    V = logits", "    plain = logits\n    V = logits"),
                (
                    "torch.softmax(logits, dim=-1).sort",
                    "torch.softmax(plain.masked_fill(logits.isinf(), -math.inf), dim=-1).sort",
                ),
            ],
        ),
        (
            "zero_divided",
            "temperature = 0 divides by zero, which gives NaN: treat it on its own, all probability on the largest logit.",
            (f"    if temperature == 0:\n        {_GREEDY}  # (..., V)\n", ""),
        ),
        (
            "zero_replaced",
            "temperature = 0 is replaced by a small number that is not small enough: logits close to each other share the probability. "
            "Return a one-hot row at the argmax.",
            (_GREEDY, "temperature = 1e-2"),
            (_GREEDY, "temperature = 1e-3"),
            (_GREEDY, "temperature = 0.1"),
        ),
        (
            "zero_is_one",
            "temperature = 0 is treated as if no temperature were given (`if temperature:`): 0 means greedy.",
            (_GREEDY, "temperature = 1.0"),
            (_GREEDY, "return torch.softmax(logits, dim=-1)"),
        ),
        (
            "index_returned",
            "With temperature 0 the index of the best token is returned: probabilities are asked for, 1 at that index and 0 elsewhere.",
            (_GREEDY, "return logits.argmax(dim=-1)"),
            (_GREEDY, "return logits.argmax(dim=-1, keepdim=True)"),
            (_GREEDY, "return logits.argmax()"),
        ),
        (
            "one_hot_integers",
            "With temperature 0 the result holds integers: F.one_hot gives them; convert to the dtype of the logits.",
            (_GREEDY, "return F.one_hot(logits.argmax(dim=-1), V)"),
            (_GREEDY, "return logits == logits.max(dim=-1, keepdim=True).values"),
        ),
        (
            "one_hot_of_everything",
            "With temperature 0 one maximum is taken over the whole tensor: each row has its own (dim=-1).",
            (_GREEDY, "return (logits == logits.max()).to(logits.dtype)"),
            (_GREEDY, "return F.one_hot(logits.argmax(), V).to(logits.dtype).expand(logits.shape)"),
            (_GREEDY, "return F.one_hot(logits.argmax(), logits.numel()).to(logits.dtype).view(logits.shape)"),
        ),
        (
            "least_likely",
            "With temperature 0 the smallest logit wins: take the largest (argmax).",
            ("logits.argmax", "logits.argmin"),
        ),
        (
            "logits_kept_at_zero",
            "With temperature 0 the largest logit stays as it is: its probability is 1.",
            (_GREEDY, "return torch.where(logits == logits.max(dim=-1, keepdim=True).values, logits, 0)"),
        ),
        ("top_k_ignored", "top_k is ignored.", (_K_BLOCK, "")),
        (
            "one_more",
            "top_k keeps one token too many.",
            (_KTH, "logits.topk(min(top_k + 1, V), dim=-1).values[..., -1:]"),
        ),
        (
            "one_fewer",
            "top_k keeps one token too few (`<=` where the k-th itself has to stay).",
            ("logits < kth", "logits <= kth"),
            [(" and top_k < V", ""), ("topk(top_k,", "topk(min(top_k, V),"), ("logits < kth", "logits <= kth")],
        ),
        (
            "smallest_kept",
            "top_k keeps the least likely tokens: the k largest logits stay.",
            ("logits < kth", "logits > logits.topk(top_k, dim=-1, largest=False).values[..., -1:]"),
        ),
        (
            "largest_only_threshold",
            "The threshold is the largest logit instead of the k-th: `values[..., -1:]`, they come sorted from large to small.",
            ("values[..., -1:]", "values[..., :1]"),
        ),
        (
            "top_k_over_everything",
            "top_k is taken over the whole tensor: each row keeps its own k tokens (dim=-1).",
            (_KTH, "logits.flatten().topk(top_k).values[-1]"),
            (_KTH, "logits.topk(top_k, dim=-1).values.min()"),
            (_KTH, "logits.topk(top_k, dim=-1).values[(0,) * (logits.dim() - 1)][-1]"),
        ),
        (
            "threshold_without_dimension",
            "The threshold has lost its last dimension, so each is compared with the wrong row (or nothing fits): `values[..., -1:]` or "
            "unsqueeze(-1).",
            ("values[..., -1:]", "values[..., -1]"),
            [(" and top_k < V", ""), ("topk(top_k,", "topk(min(top_k, V),"), ("values[..., -1:]", "values[..., -1]")],
            ("values[..., -1:]", "values[:, -1]"),
        ),
        (
            "two_dimensions_only",
            "The code takes for granted that logits has two dimensions: write `[..., -1:]` and dim=-1, which fit any shape.",
            ("values[..., -1:]", "values[:, -1:]"),
            [(" and top_k < V", ""), ("topk(top_k,", "topk(min(top_k, V),"), ("values[..., -1:]", "values[:, -1:]")],
            (_FINAL, "    return torch.softmax(logits, dim=1)\n"),
            ("V = logits.shape[-1]", "B, V = logits.shape"),
            ("V = logits.shape[-1]", "V = logits.shape[1]"),
        ),
        (
            "softmax_over_rows",
            "The softmax runs over the first dimension: over the tokens it is dim=-1.",
            (_FINAL, "    return torch.softmax(logits, dim=0)\n"),
        ),
        (
            "too_large_k",
            "A top_k above the number of tokens fails: all of them stay then (min(top_k, V)).",
            (" and top_k < V", ""),
            (" and top_k < V", " and top_k != V"),
        ),
        (
            "k_entries_only",
            "Only the k kept probabilities are returned: the result has an entry for each of the V tokens, 0 for those that are out.",
            (_K_BLOCK, "    if top_k is not None:\n        logits = logits.topk(min(top_k, V), dim=-1).values\n"),
        ),
        (
            "not_renormalised_after_top_k",
            "After top_k the probabilities do not sum to 1: fill with −∞ before the softmax, or divide by what is left.",
            [
                (_K_BLOCK, ""),
                (
                    _FINAL,
                    "    probs = torch.softmax(logits, dim=-1)\n    if top_k is not None:\n        probs = probs * (logits >= logits.topk(min(top_k, V), dim=-1).values[..., -1:])\n    return probs\n",
                ),
            ],
        ),
        (
            "filled_with_zero",
            "The logits of excluded tokens are set to 0, which is a logit like any other (exp(0) = 1): −∞ is asked for.",
            ('float("-inf"))\n    if top_p', "0.0)\n    if top_p"),
            ('float("-inf"))\n    if top_p', "1e-10)\n    if top_p"),
            ('float("-inf")', "0.0"),
            ('float("-inf")', "-1.0"),
        ),
        (
            "finite_fill",
            "The logits of excluded tokens are set to a finite number, which is not small enough when all logits are far below zero: −∞ "
            "gives exactly 0.",
            ('float("-inf"))\n    if top_p', "-1e4)\n    if top_p"),
            ('float("-inf")', "-1e4"),
            ('float("-inf")', "-1000.0"),
            ('float("-inf")', "-100.0"),
            ('float("-inf")', "-10.0"),
        ),
        ("top_p_ignored", "top_p is ignored.", (_P_BLOCK, "")),
        (
            "crossing_token_dropped",
            "top_p drops the token with which p is reached: it belongs to the set, which otherwise stays below p, and is empty when the "
            "likeliest token alone exceeds p.",
            (_BEYOND, "beyond = probs.cumsum(dim=-1) > top_p"),
            (_BEYOND, "beyond = probs.cumsum(dim=-1) >= top_p"),
        ),
        (
            "crossing_token_dropped_but_one",
            "top_p drops the token with which p is reached (only the very first is saved): a set that stays below p is too small.",
            (_BEYOND, "beyond = probs.cumsum(dim=-1) > top_p\n        beyond[..., 0] = False"),
        ),
        (
            "one_token_too_many",
            "top_p keeps one token more than it has to: the set ends with the token that reaches p.",
            (_BEYOND, "beyond = likelier - likelier.diff(dim=-1, prepend=likelier[..., :1]) >= top_p"),
        ),
        (
            "not_sorted",
            "The probabilities are summed in the order of the vocabulary: sort them first, largest first.",
            (
                "torch.softmax(logits, dim=-1).sort(dim=-1, descending=True)",
                "torch.softmax(logits, dim=-1), torch.arange(V, device=logits.device).expand(logits.shape)",
            ),
        ),
        (
            "sorted_across_rows",
            "The sorting (or the summing) of top_p runs over the first dimension, so that rows are mixed: over the tokens of a row it is "
            "dim=-1.",
            ("sort(dim=-1, descending=True)", "sort(dim=0, descending=True)"),
            [
                (
                    "torch.softmax(logits, dim=-1).sort(dim=-1, descending=True)",
                    "torch.softmax(logits, dim=0).sort(dim=0, descending=True)",
                ),
                ("probs.cumsum(dim=-1) - probs", "probs.cumsum(dim=0) - probs"),
                ("beyond.scatter(-1, order, beyond)", "beyond.scatter(0, order, beyond)"),
            ],
            [
                ("sort(dim=-1, descending=True)", "sort(dim=0, descending=True)"),
                ("probs.cumsum(dim=-1) - probs", "probs.cumsum(dim=0) - probs"),
                ("beyond.scatter(-1, order, beyond)", "beyond.scatter(0, order, beyond)"),
            ],
        ),
        (
            "sorted_upwards",
            "The probabilities are sorted upwards, so the unlikely tokens are kept: descending=True.",
            ("sort(dim=-1, descending=True)", "sort(dim=-1)"),
        ),
        (
            "order_forgotten",
            "What was decided about the sorted tokens is applied to the unsorted ones: bring it back to the order of the vocabulary "
            "(scatter with the sorting's indices).",
            ("beyond.scatter(-1, order, beyond)", "beyond"),
            ("beyond.scatter(-1, order, beyond)", "beyond.gather(-1, order)"),
        ),
        (
            "sorted_returned",
            "The probabilities come back sorted: entry i belongs to token i of the vocabulary.",
            (
                _FINAL,
                "    probs = torch.softmax(logits, dim=-1)\n    return probs if top_p is None else probs.sort(dim=-1, descending=True).values\n",
            ),
            (_FINAL, "    return torch.softmax(logits, dim=-1).sort(dim=-1, descending=True).values\n"),
        ),
        (
            "not_renormalised_after_top_p",
            "After top_p the probabilities do not sum to 1: divide by what is left, or fill with −∞ before the softmax.",
            (
                '        logits = logits.masked_fill(beyond.scatter(-1, order, beyond), float("-inf"))',
                "        return torch.softmax(logits, dim=-1).masked_fill(beyond.scatter(-1, order, beyond), 0.0)",
            ),
        ),
        (
            "logits_summed",
            "top_p sums logits: it has to sum probabilities, so take the softmax first.",
            ("torch.softmax(logits, dim=-1).sort(", "logits.sort("),
        ),
        (
            "each_on_its_own",
            "top_p is compared with each probability on its own: the *sum* of the likeliest tokens counts.",
            (_BEYOND, "beyond = probs < top_p"),
            (_BEYOND, "beyond = probs < 1 - top_p"),
            (_BEYOND, "beyond = probs < top_p * probs[..., :1]"),
        ),
        (
            "complement",
            "top_p is taken for the share that is dropped: it is the share that is kept.",
            (_BEYOND, "beyond = likelier >= 1 - top_p"),
        ),
        (
            "share_of_tokens",
            "top_p is taken for a share of the vocabulary: it is a share of the probability.",
            (
                _BEYOND,
                "beyond = (torch.arange(V, device=logits.device) >= max(1, round(top_p * V))).expand(logits.shape)",
            ),
            (_BEYOND, "beyond = (torch.arange(V, device=logits.device) >= math.ceil(top_p * V)).expand(logits.shape)"),
        ),
        (
            "top_p_per_batch",
            "One decision is made for all rows: each row has a set of its own.",
            (
                _BEYOND,
                "beyond = (likelier.flatten(0, -2).mean(0) if logits.dim() > 1 else likelier).expand(logits.shape) >= top_p",
            ),
            (
                _BEYOND,
                "beyond = (likelier.flatten(0, -2)[0] if logits.dim() > 1 else likelier).expand(logits.shape) >= top_p",
            ),
            ("probs.cumsum(dim=-1) - probs", "probs.cumsum(dim=0) - probs"),
        ),
        (
            "top_p_before_top_k",
            "top_p looks at all tokens: top_k comes first, and top_p then counts the probabilities that are left, renormalised.",
            [(_K_BLOCK, ""), (_P_BLOCK, _P_BLOCK + _K_BLOCK)],
        ),
        (
            "either_or",
            "top_p is not looked at when top_k is given (`elif`, or an early return): both may be given.",
            ("if top_p is not None and", "if top_k is None and top_p is not None and"),
        ),
        (
            "either_or_other",
            "top_k is not looked at when top_p is given: both may be given.",
            ("if top_k is not None and top_k < V", "if top_p is None and top_k is not None and top_k < V"),
        ),
        (
            "temperature_or_top_k",
            "The temperature is not applied when top_k or top_p is given: all of them may be given.",
            (_WARM, "    if top_k is None and top_p is None:\n        logits = logits / temperature\n"),
        ),
        (
            "default_top_k",
            "Without top_k or top_p all tokens keep their probability: the defaults mean that nothing is cut.",
            ("    V = logits", "    top_k = top_k or 3\n    V = logits"),
            ("    V = logits", "    top_p = top_p or 0.9\n    V = logits"),
        ),
        (
            "logarithms",
            "Logarithms of probabilities are returned: probabilities are asked for.",
            (_FINAL, "    return torch.log_softmax(logits, dim=-1)\n"),
        ),
        (
            "logits_returned",
            "Logits are returned: the softmax is missing at the end.",
            (_FINAL, "    return logits\n"),
        ),
        (
            "drawn",
            "A token is drawn: only the distribution is asked for, `generate` draws from it.",
            (
                _FINAL,
                "    return torch.multinomial(torch.softmax(logits, dim=-1).flatten(0, -2) if logits.dim() > 1 else torch.softmax(logits, dim=-1), 1)\n",
            ),
        ),
        (
            "squeezed",
            "A dimension of size 1 is lost (`squeeze`, `[0]`): keep the shape of the logits.",
            (_FINAL, "    return torch.softmax(logits, dim=-1).squeeze()\n"),
            (_FINAL, "    return torch.softmax(logits, dim=-1).squeeze(0)\n"),
            ("    V = logits", "    logits = logits.flatten(0, -2) if logits.dim() > 1 else logits\n    V = logits"),
        ),
        (
            "unstable",
            "Large logits overflow: torch.softmax subtracts the largest first; exp(logits) / sum on its own does not.",
            (_FINAL, "    return logits.exp() / logits.exp().sum(dim=-1, keepdim=True)\n"),
        ),
        (
            "epsilon_added",
            "A small number is added, so that excluded tokens get a chance or the rows do not sum to 1.",
            (_FINAL, "    return torch.softmax(logits, dim=-1) + 1e-3\n"),
            (
                _FINAL,
                "    probs = torch.softmax(logits, dim=-1) + 1e-6\n    return probs / probs.sum(dim=-1, keepdim=True)\n",
            ),
            (_FINAL, "    return torch.softmax(logits, dim=-1).clamp(min=1e-8)\n"),
        ),
        (
            "input_changed",
            "The caller's logits are changed in place (`/=`, or writing −∞ into them): make a new tensor.",
            ("logits = logits / temperature", "logits /= temperature"),
            [
                ("logits = logits / temperature", "logits = logits if temperature == 1 else logits / temperature"),
                ('logits = logits.masked_fill(logits < kth, float("-inf"))', 'logits[logits < kth] = float("-inf")'),
            ],
            [
                ("logits = logits / temperature", "logits = logits if temperature == 1 else logits / temperature"),
                ("logits = logits.masked_fill(beyond", "logits.masked_fill_(beyond"),
            ],
        ),
        (
            "gradient_cut_off",
            "The result is cut off from the logits (`.detach()`, `no_grad`, numbers put into a new tensor), so no gradient arrives.",
            ("    V = logits", "    logits = logits.detach()\n    V = logits"),
            (_FINAL, "    return torch.softmax(logits, dim=-1).data\n"),
        ),
        (
            "single_precision",
            "The result is float32 even for float64 logits (a `.float()`?): keep the dtype that is given.",
            ("    V = logits", "    logits = logits.float()\n    V = logits"),
            (_FINAL, "    return torch.softmax(logits, dim=-1, dtype=torch.float32)\n"),
        ),
        (
            "double_precision",
            "The result is float64 whatever was given: keep the dtype of the logits.",
            ("    V = logits", "    logits = logits.double()\n    V = logits"),
        ),
        (
            "one_hot_single_precision",
            "With temperature 0 the result is float32 whatever was given: convert to logits.dtype.",
            (_GREEDY, "return F.one_hot(logits.argmax(dim=-1), V).float()"),
        ),
        (
            "device_not_kept",
            "The result does not stay on the device of the logits: a tensor is made without `device=…`.",
            (
                _GREEDY,
                "result = torch.zeros(logits.shape, dtype=logits.dtype)\n        return result.scatter(-1, logits.argmax(dim=-1, keepdim=True), 1.0)",
            ),
            (
                "beyond.scatter(-1, order, beyond)",
                "torch.zeros(logits.shape, dtype=torch.bool).scatter(-1, order, beyond)",
            ),
        ),
        (
            "bad_input_accepted",
            "A value out of range is not refused: a negative temperature, a top_k below 1 and a top_p outside of 0 … 1 are ValueErrors that "
            "name the argument.",
            (_CHECKS, ""),
            ("temperature < 0", "False"),
            ("top_k is not None and top_k < 1", "False"),
            ("top_p is not None and not 0 < top_p <= 1", "False"),
            ("not 0 < top_p <= 1", "top_p > 1"),
            ("not 0 < top_p <= 1", "top_p <= 0"),
        ),
        (
            "error_of_another_type",
            "A value out of range raises an error of another type: a ValueError is asked for (not `assert`).",
            ("raise ValueError(", "raise TypeError("),
            (
                _CHECKS,
                "    assert temperature >= 0 and (top_k is None or top_k > 0) and (top_p is None or 0 < top_p <= 1)\n",
            ),
        ),
        (
            "zero_refused",
            "temperature = 0 is refused: it means greedy.",
            ("if temperature < 0:", "if temperature <= 0:"),
        ),
        (
            "nothing_returned",
            _NOTHING,
            (_FINAL, "    print(torch.softmax(logits, dim=-1))\n"),
            (_FINAL, "    logits = torch.softmax(logits, dim=-1)\n"),
        ),
    ),
    alternatives=_alternatives(
        next_token_distribution,
        indices_cut=_REFUSALS
        + """V = logits.size(-1)
best = logits.argmax(-1, keepdim=True)
if temperature == 0:
    return torch.zeros_like(logits).scatter_(-1, best, 1.0)
scaled = logits / temperature
if top_k is not None:
    values, indices = torch.topk(scaled, min(int(top_k), V), dim=-1)
    scaled = torch.full_like(scaled, -torch.inf).scatter(-1, indices, values)
if top_p is not None:
    values, indices = scaled.sort(dim=-1, descending=True)
    cumulative = values.softmax(-1).cumsum(-1)
    remove = cumulative > top_p
    remove = torch.cat([torch.zeros_like(remove[..., :1]), remove[..., :-1]], -1)
    if top_p == 1:
        remove = torch.zeros_like(remove)
    values = values.masked_fill(remove, -torch.inf)
    scaled = torch.full_like(scaled, -torch.inf).scatter(-1, indices, values)
return scaled.softmax(-1)
""",
        row_by_row=_REFUSALS
        + """rows = []
for row in logits.reshape(-1, logits.shape[-1]):
    if temperature == 0:
        p = torch.zeros_like(row)
        p[row.argmax()] = 1
        rows.append(p)
        continue
    p = torch.softmax(row / temperature, 0)
    order = sorted(range(len(row)), key=lambda i: -p[i].item())
    if top_k is not None:
        order = order[:top_k]
    total, kept, share = sum(p[i].item() for i in order), [], 0.0
    for i in order:
        if kept and top_p is not None and share >= top_p and top_p < 1:
            break
        kept.append(i)
        share += p[i].item() / total
    mask = torch.zeros_like(row)
    mask[kept] = 1
    p = p * mask
    rows.append(p / p.sum())
return torch.stack(rows).reshape(logits.shape)
""",
        upwards=_REFUSALS
        + """if temperature == 0:
    return (torch.arange(logits.shape[-1], device=logits.device) == logits.argmax(-1, keepdim=True)).to(logits.dtype)
logits = logits / temperature
if top_k is not None:
    rank = logits.argsort(-1, descending=True).argsort(-1)
    logits = torch.where(rank < top_k, logits, torch.tensor(-math.inf, dtype=logits.dtype, device=logits.device))
if top_p is not None and top_p < 1.0:
    small_first, indices = logits.sort(-1)
    out = small_first.softmax(-1).cumsum(-1) <= 1 - top_p
    out[..., -1:] = False
    logits = logits.masked_fill(out.scatter(-1, indices, out), -math.inf)
return F.softmax(logits, -1)
""",
        probabilities=_REFUSALS
        + """if temperature == 0:
    return F.one_hot(torch.max(logits, -1).indices, logits.size(-1)).type_as(logits)
probs = F.softmax(logits / temperature, dim=-1)
if top_k is not None:
    threshold = probs.sort(-1, descending=True).values[..., min(top_k, probs.size(-1)) - 1].unsqueeze(-1)
    probs = probs * (probs >= threshold)
    probs = probs / probs.sum(-1, keepdim=True)
if top_p is not None and top_p != 1:
    likelier = (probs.unsqueeze(-2) * (probs.unsqueeze(-2) > probs.unsqueeze(-1))).sum(-1)
    probs = probs * (likelier < top_p)
    probs = probs / probs.sum(-1, keepdim=True)
return probs
""",
    ),
)


# --- generate ---------------------------------------------------------------------------------------------------------

# Models for generate, in the student's process. The first makes each next token certain: it depends on the first and on
# the last token that the model can see. Both note how they were called.
_MODELS = """
from types import SimpleNamespace

class Noting(nn.Module):
    def __init__(self, V, block_size):
        super().__init__()
        self.config = SimpleNamespace(vocab_size=V, block_size=block_size, n_layer=1, n_head=1, n_embd=1, dropout=0.5)
        self.anchor = nn.Parameter(torch.zeros(()))
        self.inner = nn.Dropout(0.5)
        self.notes = []

    def note(self, ids):
        self.notes.append([ids.shape[-1], self.training, self.inner.training, torch.is_grad_enabled()])

class Follows(Noting):
    def __init__(self, V, block_size, first, last, offset):
        super().__init__(V, block_size)
        self.rule = first, last, offset

    def forward(self, ids, targets=None):
        self.note(ids)
        first, last, offset = self.rule
        V = self.config.vocab_size
        following = (first * ids[:, :1] + last * ids + offset) % V
        return 1e4 * nn.functional.one_hot(following, V) + self.anchor, None

class Draws(Noting):
    def __init__(self, logits, block_size):
        super().__init__(logits.shape[-1], block_size)
        self.table = nn.Parameter(logits.clone())

    def forward(self, ids, targets=None):
        self.note(ids)
        return self.table[ids], None

def follows(V, block_size, first, last, offset):
    return Follows(V, block_size, first, last, offset)

def draws(logits, block_size):
    return Draws(logits, block_size)
"""
_NOTES = """
def notes(model):
    return {"calls": list(model.notes), "afterwards": [model.training, model.inner.training]}
"""
_MODE = """
def mode(model, training):
    model.train(training)
"""
_GRADIENTS_BACK = """
def gradients_back():
    on = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    return on
"""
_ANYTHING = {"temperature": 1.0, "top_k": None, "top_p": None}


def _generated(
    student: Any, model: Any, ids: torch.Tensor, new: int, seed: int, where: str, generator: Any = None, **how: Any
) -> dict:
    """The answer to a call, with all arguments by name; its "value" is [B, T + new] and begins with the prompt."""
    kwargs = {"max_new_tokens": new, **_ANYTHING, **how, "generator": generator or _generator(student, seed)}
    try:
        answer = student.call("generate", [model, ids], kwargs, where=where)
    finally:  # whoever leaves gradients off is told so once, by _generate_modes
        gradients_on = student.value(student.probe("gradients_back", _GRADIENTS_BACK))
    answer["gradients_on"] = gradients_on
    got = _ids(answer["value"], "The result", (ids.shape[0], ids.shape[1] + new), where)
    if not torch.equal(got[:, : ids.shape[1]].long(), ids):
        raise Wrong(f"The result should begin with the prompt, unchanged, {where}.", "prompt_changed")
    return answer


def _continuation(rule: tuple[int, ...], ids: torch.Tensor, new: int) -> torch.Tensor:
    """What Follows makes certain."""
    V, block_size, first, last, offset = rule
    for _ in range(new):
        seen = ids[:, -block_size:]
        ids = torch.cat([ids, (first * seen[:, :1] + last * seen[:, -1:] + offset) % V], 1)
    return ids


def _prompt(B: int, T: int, V: int) -> torch.Tensor:
    return (normal(B, T).abs() * 1000).long() % V


def _certain(student: Any, rule: tuple[int, ...], B: int, T: int, new: int, **how: Any) -> None:
    where = f"for B = {B}, T = {T}, max_new_tokens = {new}, block_size = {rule[1]}, when each next token is certain"
    model = student.call(student.probe("follows", _MODELS), list(rule), keep=True)["value"]
    ids = _prompt(B, T, rule[0])
    got = _generated(student, model, ids, new, 3, where, **how)["value"]
    longest = max([call[0] for call in student.value(student.probe("notes", _NOTES), model)["calls"]], default=0)
    if longest > rule[1]:
        raise Wrong(
            f"The model was given more than block_size tokens {where}: pass it only the last block_size of them.",
            "not_cropped",
        )
    if not torch.equal(got.long(), _continuation(rule, ids, new)):
        raise Wrong(
            f"The new tokens are not those that the model makes certain {where}: each is drawn from the logits of the last position, "
            "and appended before the next is asked for."
        )


def _generate_certain(student: Any) -> None:
    for rule, B, T, new, how in (
        ((11, 40, 0, 3, 1), 1, 4, 6, {}),
        ((7, 30, 2, 3, 1), 3, 5, 9, {"temperature": 0.8}),
        ((13, 25, 1, 5, 2), 2, 1, 12, {"temperature": 0}),
        ((9, 20, 3, 1, 4), 3, 3, 1, {"top_k": 4}),
        ((17, 32, 1, 1, 1), 2, 6, 4, {"top_p": 0.9, "temperature": 1.3}),
    ):
        with student.case():
            _certain(student, rule, B, T, new, **how)


def _generate_cropped(student: Any) -> None:
    for rule, B, T, new in (
        ((11, 5, 2, 3, 1), 2, 3, 9),  # the prompt fits, the text outgrows the block
        ((7, 4, 1, 2, 1), 3, 9, 5),  # the prompt is too long already
        ((13, 6, 3, 1, 2), 1, 6, 3),  # the prompt just fits
        ((9, 1, 0, 2, 1), 2, 2, 6),  # a model that sees one token
        ((11, 40, 2, 3, 1), 2, 33, 12),
    ):
        with student.case():
            _certain(student, rule, B, T, new)


_TABLE = [
    [2.0, 0.5, -1.0, 1.2, 0.0],
    [0.3, 2.2, 1.1, -0.7, 0.8],
    [-0.5, 0.6, 1.9, 0.1, 1.4],
    [1.0, -1.2, 0.4, 0.9, 2.1],
    [0.7, 1.8, 0.0, 1.3, -0.9],
]


def _generate_drawn(student: Any) -> None:
    """Each transition of 1,200 rows as often as it should be, up to six standard deviations and a little.

    A right answer fails with a probability below 1e-6, whatever its way of sampling.
    """
    table = torch.tensor(_TABLE)
    for how, said, symptom in (
        ({}, "with temperature = 1", "wrong_frequencies"),
        ({"temperature": 0.5}, "with temperature = 0.5", "temperature_ignored"),
        ({"temperature": 3.0}, "with temperature = 3", "temperature_ignored"),
        ({"top_k": 2}, "with top_k = 2", "top_k_ignored"),
        ({"top_p": 0.6}, "with top_p = 0.6", "top_p_ignored"),
        (
            {"temperature": 2.0, "top_k": 4, "top_p": 0.7},
            "with temperature = 2, top_k = 4 and top_p = 0.7",
            "wrong_frequencies",
        ),
    ):
        with student.case():
            model = student.call(student.probe("draws", _MODELS), [table, 8], keep=True)["value"]
            ids = (torch.arange(1200) % 5)[:, None]
            got = _generated(student, model, ids, 2, 17, f"{said}, for 1,200 rows", **how)["value"].long()
            if not ((got >= 0) & (got < 5)).all():
                raise Wrong("There are ids outside the vocabulary.")
            pairs = torch.stack([got[:, :-1].flatten(), got[:, 1:].flatten()])
            counts = torch.bincount(pairs[0] * 5 + pairs[1], minlength=25).view(5, 5)
            probs = next_token_distribution(table, **how)
            if counts[probs == 0].any():
                raise Wrong(f"Tokens are drawn {said} that this excludes.", symptom)
            expected = counts.sum(1, keepdim=True) * probs
            if ((counts - expected).abs() > 6 * (expected * (1 - probs)).sqrt() + 5).any():
                raise Wrong(f"The new tokens are not drawn as often as they should be {said}.", symptom)


def _generate_rows(student: Any) -> None:
    model = student.call(student.probe("draws", _MODELS), [torch.zeros(9, 9), 50], keep=True)["value"]
    got = _generated(student, model, torch.full((5, 3), 4), 20, 23, "for equal prompts")["value"]
    if len({tuple(row) for row in got.tolist()}) < 5:  # by chance once in 9 ** 20 / 10
        raise Wrong("Rows with equal prompts get equal texts: each row draws its own tokens.", "rows_alike")


def _generate_modes(student: Any) -> None:
    for training in (True, False):
        for new in (4, 1):
            with student.case():
                said = "training" if training else "eval"
                rule = (11, 6, 2, 3, 1)
                model = student.call(student.probe("follows", _MODELS), list(rule), keep=True)["value"]
                student.call(student.probe("mode", _MODE), [model, training])
                ids = _prompt(2, 3, 11)
                answer = _generated(student, model, ids, new, 3, f"for a model in {said} mode")
                got = answer["value"]
                if not torch.equal(got.long(), _continuation(rule, ids, new)):
                    raise Wrong("The new tokens are not those that the model makes certain.")
                notes = student.value(student.probe("notes", _NOTES), model)
                if any(call[1] for call in notes["calls"]):
                    raise Wrong(
                        "The model is in training mode while it generates, so dropout is at work: call model.eval() first.",
                        "training_mode",
                    )
                if any(call[2] for call in notes["calls"]):
                    raise Wrong(
                        "Parts of the model are still in training mode while it generates: model.eval() reaches all of them, setting "
                        "`model.training` does not.",
                        "training_flag",
                    )
                if any(call[3] for call in notes["calls"]):
                    raise Wrong(
                        "Gradients are recorded while generating, so each token makes the graph longer: torch.no_grad().",
                        "gradients_on",
                    )
                if not answer["gradients_on"]:
                    raise Wrong(
                        "Gradients stay switched off after the call, so nothing can be trained any more: `with torch.no_grad():` switches "
                        "them back on.",
                        "gradients_off_for_good",
                    )
                if notes["afterwards"] != [training, training]:
                    raise Wrong(
                        f"The model was in {said} mode before the call and is not afterwards: remember `model.training` and go back "
                        "with model.train(…).",
                        "mode_not_restored",
                    )


def _generate_chance(student: Any) -> None:
    texts = []  # two texts of 2 × 30 tokens agree by chance once in 9 ** 60
    ids, where = torch.tensor([[1, 2], [3, 4]]), "when all tokens are equally likely"
    model = student.call(student.probe("draws", _MODELS), [torch.zeros(9, 9), 50], keep=True)["value"]
    for seed in (11, 11, 12, 13):
        answer = _generated(student, model, ids, 30, seed, where)
        texts.append(answer["value"].tolist())
        if answer["rng_moved"]:
            raise Wrong(
                "Your code draws from the global random generator: pass `generator=generator` on to the sampling, and seed nothing.",
                "global_generator",
            )
    if texts[0] != texts[1]:
        raise Wrong(
            "Two generators with the same seed give different texts: some chance comes from elsewhere (`random`, NumPy).",
            "other_source",
        )
    if texts[0] == texts[2] == texts[3]:
        raise Wrong(
            "Generators with different seeds give the same text: is the generator not used, or seeded anew inside?",
            "generator_ignored",
        )
    generator = _generator(student, 11)
    first, second = (_generated(student, model, ids, 30, 0, where, generator)["value"].tolist() for _ in range(2))
    if first == second:
        raise Wrong(
            "Two calls with one generator give the same text: draw from the generator that is passed, do not seed it (or another) "
            "anew.",
            "seeded_anew",
        )


def _generate_manners(student: Any) -> None:
    rule = (11, 6, 2, 3, 1)
    for T, new in ((4, 0), (9, 0), (1, 0), (8, 3)):
        with student.case():
            where = f"for T = {T} and max_new_tokens = {new}"
            model = student.call(student.probe("follows", _MODELS), list(rule), keep=True)["value"]
            ids = _prompt(3, T, 11)
            answer = _generated(student, model, ids, new, 3, where)
            unchanged(answer["inputs"][:1], [ids], "ids")
            same_tensor(answer["value"], _continuation(rule, ids, new), "The result", where)
            notes = student.value(student.probe("notes", _NOTES), model)
            if notes["afterwards"] != [True, True]:
                raise Wrong(
                    f"The model was in training mode before the call and is not afterwards {where}.",
                    "mode_not_restored",
                )
    model = student.call(student.probe("follows", _MODELS), list(rule), keep=True)["value"]
    kwargs = {"max_new_tokens": 5, **_ANYTHING, "generator": _generator(student, 3)}
    try:
        device_is_kept(student, "generate", [model, _prompt(2, 3, 11)], kwargs)
    finally:
        student.value(student.probe("gradients_back", _GRADIENTS_BACK))


_CONTEXT = "context = ids[:, -model.config.block_size :]"
_MODEL = "logits, _ = model(context)"
_PROBS = "probs = next_token_distribution(logits[:, -1], temperature, top_k, top_p)"
_DRAW = "next_ids = torch.multinomial(probs, num_samples=1, generator=generator)"
_CAT = "ids = torch.cat([ids, next_ids], dim=1)"
_BEFORE = "    was_training = model.training\n    model.eval()  # no dropout\n"
_AFTER = "    model.train(was_training)\n"
_LOOP = "for _ in range(max_new_tokens):"

GENERATE = Exercise(
    name="generate",
    notebook="09-gpt",
    points=5,
    reference=generate,
    checks=[
        Check("the prompt, then one token after the other", 1.5, _generate_certain),
        Check("the context cropped to block_size", 1.0, _generate_cropped),
        Check("drawn with temperature, top_k and top_p", 0.75, _generate_drawn),
        Check("each row draws its own", 0.25, _generate_rows),
        Check("eval mode, no gradients, the earlier mode restored", 0.75, _generate_modes),
        Check("chance comes from the generator alone", 0.5, _generate_chance),
        Check("no new token; prompt unchanged, device", 0.25, _generate_manners),
    ],
    working=written(
        """
        import torch

        def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, generator=None):
            training = model.training
            model.eval()
            with torch.inference_mode():
                for _ in range(max_new_tokens):
                    logits = model(ids[:, -model.config.block_size :])[0][:, -1]
                    if temperature == 0:
                        new = logits.argmax(-1, keepdim=True)
                    else:
                        probs, order = torch.softmax(logits / temperature, -1).sort(-1, descending=True)
                        if top_k is not None:
                            probs[:, top_k:] = 0
                            probs = probs / probs.sum(-1, keepdim=True)
                        if top_p is not None:
                            probs[probs.cumsum(-1) - probs >= top_p] = 0
                        new = order.gather(-1, torch.multinomial(probs, 1, generator=generator))
                    ids = torch.cat([ids, new], 1)
            model.train(training)
            return ids.clone()
        """
    ),
    mistakes=_mistakes(
        generate,
        (
            "not_cropped",
            "The whole text is given to the model, which has positions for block_size tokens only: crop the context to the last "
            "block_size.",
            (_CONTEXT, "context = ids"),
            (_CONTEXT, "context = ids[:, -1024:]"),
            (_CONTEXT, "context = ids[:, -256:]"),
            (_CONTEXT, "context = ids[:, -model.config.block_size - 1 :]"),
            (
                _CONTEXT,
                "context = ids if ids.shape[1] <= 2 * model.config.block_size else ids[:, -model.config.block_size :]",
            ),
        ),
        (
            "cropped_at_the_wrong_end",
            "The context is the first block_size tokens, so the newest ones are never seen: take the last.",
            (_CONTEXT, "context = ids[:, : model.config.block_size]"),
        ),
        (
            "cropped_too_short",
            "The context is shorter than it could be: the model can see block_size tokens.",
            (_CONTEXT, "context = ids[:, -max(model.config.block_size - 1, 1) :]"),
            (_CONTEXT, "context = ids[:, -(model.config.block_size // 2 + 1) :]"),
            (_CONTEXT, "context = ids[:, -8:] if model.config.block_size > 8 else ids[:, -model.config.block_size :]"),
            (_CONTEXT, "context = ids[:, 1 - model.config.block_size :]"),
        ),
        (
            "text_cropped",
            "The text itself is cropped: only the model's context is, the result keeps the whole prompt and all new tokens.",
            ("return ids", "return ids[:, -model.config.block_size :]"),
            [(_CONTEXT, "ids = ids[:, -model.config.block_size :]"), ("model(context)", "model(ids)")],
        ),
        (
            "last_token_only",
            "The model is given only the last token each time: it has no memory, so give it the whole context.",
            (_CONTEXT, "context = ids[:, -1:]"),
        ),
        (
            "context_not_updated",
            "The model always sees the prompt alone: each new token belongs to the context of the next.",
            [("    " + _LOOP, f"    {_CONTEXT}\n    {_LOOP}"), ("        " + _CONTEXT, "        pass")],
            [
                ("    " + _LOOP, f"    prompt = ids\n    {_LOOP}"),
                (_CONTEXT, "context = prompt[:, -model.config.block_size :]"),
            ],
        ),
        (
            "first_position",
            "The logits of the wrong position are used: the next token follows the last one, so `logits[:, -1]`.",
            ("logits[:, -1]", "logits[:, 0]"),
            ("logits[:, -1]", "logits[:, max(logits.shape[1] - 2, 0)]"),
            ("logits[:, -1]", "logits.mean(dim=1)"),
        ),
        (
            "second_to_last_position",
            "`logits[:, -2]` is the position before the last: the next token follows the last one, `logits[:, -1]`.",
            ("logits[:, -1]", "logits[:, -2]"),
        ),
        (
            "last_row",
            "`logits[-1]` is the last row of the batch: the last position of every row is `logits[:, -1]`.",
            ("logits[:, -1]", "logits[-1]"),
        ),
        (
            "first_row_only",
            "Only the first row of the batch is continued (or all rows get its token): every row has logits of its own.",
            ("logits[:, -1]", "logits[:1, -1].expand(len(ids), -1)"),
            [
                ("logits[:, -1]", "logits[0, -1]"),
                (
                    "probs, num_samples=1, generator=generator)",
                    "probs, num_samples=1, generator=generator).expand(len(ids), 1)",
                ),
            ],
            [
                ("logits[:, -1]", "logits[0, -1]"),
                ("    was_training", "    ids = ids[:1]\n    was_training"),
                (_CAT, "ids = torch.cat([ids, next_ids[None]], dim=1)"),
            ],
            (_DRAW, "next_ids = torch.tensor([[torch.multinomial(probs[0], 1, generator=generator).item()]])"),
            [
                ("logits[:, -1]", "logits[0, -1]"),
                (_DRAW, "next_ids = torch.tensor([[torch.multinomial(probs, 1, generator=generator).item()]])"),
            ],
        ),
        (
            "rows_alike",
            "All rows get the same random number, so rows with equal prompts get equal texts: each row draws its own token.",
            (
                _DRAW,
                "u = torch.rand((), generator=generator)\n        next_ids = (probs.cumsum(-1) < u).sum(-1, keepdim=True).clamp(max=probs.shape[-1] - 1)",
            ),
        ),
        (
            "prompt_left_out",
            "Only the new tokens are returned: the prompt comes first.",
            [("    was_training", "    T = ids.shape[1]\n    was_training"), ("return ids", "return ids[:, T:]")],
        ),
        (
            "new_tokens_in_front",
            "The new tokens are put in front of the text: append them at the end.",
            (_CAT, "ids = torch.cat([next_ids, ids], dim=1)"),
        ),
        (
            "stacked_as_rows",
            "The new tokens are appended as rows: the text grows along the second dimension, dim=1.",
            (_CAT, "ids = torch.cat([ids, next_ids], dim=0)"),
        ),
        (
            "one_too_few",
            "One token too few is made: max_new_tokens of them.",
            ("range(max_new_tokens)", "range(max_new_tokens - 1)"),
            ("range(max_new_tokens)", "range(1, max_new_tokens)"),
        ),
        (
            "one_too_many",
            "One token too many is made: max_new_tokens of them.",
            ("range(max_new_tokens)", "range(max_new_tokens + 1)"),
        ),
        (
            "length_in_all",
            "The prompt is counted among max_new_tokens: that many tokens are *added*.",
            (_LOOP, "while ids.shape[1] < max_new_tokens:"),
            ("range(max_new_tokens)", "range(max_new_tokens - ids.shape[1])"),
        ),
        (
            "length_limited",
            "The text stops growing at block_size: only the context is cropped, the text may become longer.",
            (_LOOP, "for _ in range(min(max_new_tokens, model.config.block_size - ids.shape[1])):"),
            (
                _MODEL,
                "if ids.shape[1] >= model.config.block_size:\n            break\n        logits, _ = model(context)",
            ),
        ),
        (
            "returns_too_early",
            "The `return` stands inside the loop, so only one token is made.",
            [(_CAT, _CAT + "\n        model.train(was_training)\n        return ids")],
        ),
        (
            "stops_at_zero",
            "Generation stops at a certain token: there is no end token here, max_new_tokens are asked for.",
            (_CAT, _CAT + "\n        if (next_ids == 0).all():\n            break"),
            (_CAT, _CAT + "\n        if (next_ids == 0).any():\n            break"),
        ),
        (
            "greedy",
            "The likeliest token is always taken (argmax): draw from the distribution; temperature 0 gives the greedy choice.",
            (_DRAW, "next_ids = probs.argmax(dim=-1, keepdim=True)"),
            (_PROBS, "probs = F.one_hot(logits[:, -1].argmax(-1), logits.shape[-1]).float()"),
        ),
        (
            "uniform",
            "All tokens that are left are drawn alike: their probabilities decide.",
            (_PROBS, _PROBS + "\n        probs = (probs > 0).float()"),
        ),
        (
            "softmax_twice",
            "The probabilities go through a softmax once more, which flattens them: next_token_distribution returns probabilities already.",
            (_PROBS, _PROBS + "\n        probs = torch.softmax(probs, dim=-1)"),
            (_PROBS, _PROBS.replace("logits[:, -1]", "torch.softmax(logits[:, -1], dim=-1)")),
        ),
        (
            "logits_drawn_from",
            "torch.multinomial is given logits: it takes probabilities.",
            (_PROBS, "probs = logits[:, -1]"),
            (_PROBS, "probs = logits[:, -1].log_softmax(dim=-1)"),
            (_PROBS, "probs = logits[:, -1].clamp(min=0)"),
        ),
        (
            "temperature_ignored",
            "The temperature is not passed on.",
            ("(logits[:, -1], temperature, top_k, top_p)", "(logits[:, -1], 1.0, top_k, top_p)"),
            ("(logits[:, -1], temperature, top_k, top_p)", "(logits[:, -1], top_k=top_k, top_p=top_p)"),
        ),
        (
            "temperature_twice",
            "The temperature is applied twice: next_token_distribution divides by it already.",
            (_PROBS, _PROBS.replace("logits[:, -1]", "logits[:, -1] / (temperature or 1.0)")),
            (_PROBS, _PROBS.replace("logits[:, -1]", "logits[:, -1] / max(temperature, 1e-5)")),
        ),
        (
            "temperature_zero_divided",
            "The logits are divided by the temperature here as well, and temperature 0 divides by zero: next_token_distribution takes care "
            "of it.",
            (
                _PROBS,
                _PROBS.replace("logits[:, -1]", "logits[:, -1] / temperature").replace(", temperature,", ", 1.0,"),
            ),
        ),
        (
            "top_k_ignored",
            "top_k is not passed on.",
            ("temperature, top_k, top_p)", "temperature, None, top_p)"),
        ),
        (
            "top_p_ignored",
            "top_p is not passed on.",
            ("temperature, top_k, top_p)", "temperature, top_k)"),
        ),
        (
            "top_k_and_top_p_ignored",
            "top_k and top_p are not passed on.",
            ("temperature, top_k, top_p)", "temperature)"),
            (
                _PROBS,
                "probs = torch.softmax(logits[:, -1] / temperature, dim=-1) if temperature else next_token_distribution(logits[:, -1], 0)",
            ),
        ),
        (
            "all_ignored",
            "Temperature, top_k and top_p are not passed on: next_token_distribution needs them.",
            ("logits[:, -1], temperature, top_k, top_p", "logits[:, -1]"),
            (_PROBS, "probs = torch.softmax(logits[:, -1], dim=-1)"),
        ),
        (
            "arguments_mixed_up",
            "The arguments of next_token_distribution are in another order: logits, temperature, top_k, top_p.",
            ("temperature, top_k, top_p)", "temperature, top_p, top_k)"),
            ("temperature, top_k, top_p)", "top_k, top_p, temperature)"),
        ),
        (
            "training_mode",
            "The model stays in training mode while it generates, so dropout is at work: call model.eval() first.",
            [(_BEFORE, ""), (_AFTER, "")],
            [("    model.eval()  # no dropout\n", "")],
        ),
        (
            "mode_not_restored",
            "The model is in another mode after the call than before: remember `model.training` before eval() and go back with "
            "model.train(…).",
            (_AFTER, ""),
            (_AFTER, "    model.eval()\n"),
            (_BEFORE, "    model.eval()\n    was_training = model.training\n"),
        ),
        (
            "always_training_afterwards",
            "The model is always put into training mode in the end, also if it was in eval mode before: remember `model.training`.",
            (_AFTER, "    model.train()\n"),
            (_AFTER, "    model.train(True)\n"),
        ),
        (
            "mode_inverted",
            "The earlier mode is restored the wrong way round.",
            (_AFTER, "    model.train(not was_training)\n"),
            (_AFTER, "    model.eval() if was_training else model.train()\n"),
        ),
        (
            "training_flag",
            "Only the flag of the outermost module is set (`model.training = False`), so the dropout layers inside stay in training mode: "
            "model.eval() and model.train(…) reach all parts.",
            [("model.eval()", "model.training = False"), (_AFTER, "    model.training = was_training\n")],
        ),
        (
            "eval_once_only",
            "The mode changes inside the loop, so that some tokens are made in training mode: eval() before the loop, back after it.",
            [(_AFTER, ""), (_CAT, _CAT + "\n        model.train(was_training)")],
        ),
        (
            "gradients_on",
            "Gradients are recorded while generating, so every token makes the graph longer: torch.no_grad().",
            ("@torch.no_grad()  # nothing is trained here: keep no graph\n", ""),
        ),
        (
            "gradients_off_for_good",
            "torch.set_grad_enabled(False) stays in force after the call, so nothing can be trained any more: `with torch.no_grad():` (or "
            "the decorator) switches gradients back on.",
            [
                ("@torch.no_grad()  # nothing is trained here: keep no graph\n", ""),
                ("    was_training", "    torch.set_grad_enabled(False)\n    was_training"),
            ],
        ),
        (
            "global_generator",
            "The generator is not passed on, so the tokens come from torch's global one: `torch.multinomial(…, generator=generator)`.",
            ("num_samples=1, generator=generator", "num_samples=1"),
            (_DRAW, "next_ids = torch.distributions.Categorical(probs=probs).sample()[:, None]"),
        ),
        (
            "other_source",
            "Chance comes from elsewhere (`random`, NumPy), so the generator decides nothing: torch.multinomial with generator=generator.",
            (
                _DRAW,
                "next_ids = torch.tensor([__import__('random').choices(range(probs.shape[1]), p)[0] for p in probs.tolist()])[:, None]",
            ),
            (
                _DRAW,
                "next_ids = torch.tensor([__import__('numpy').random.choice(probs.shape[1], p=[q / sum(p) for q in p]) for p in probs.tolist()])[:, None]",
            ),
        ),
        (
            "generator_ignored",
            "A generator of its own, with a fixed seed, is used: the one that is passed decides.",
            ("    was_training", "    generator = torch.Generator().manual_seed(0)\n    was_training"),
            ("    was_training", "    generator.manual_seed(0)\n    was_training"),
            ("    was_training", "    generator.manual_seed(42)\n    was_training"),
        ),
        (
            "seeded_anew",
            "The generator is seeded anew at each call, so every call gives the same text: draw from it as it comes.",
            ("    was_training", "    generator.manual_seed(generator.initial_seed())\n    was_training"),
        ),
        (
            "seeded_each_step",
            "The generator is seeded anew before each token: draw from it as it comes.",
            (_DRAW, "generator.manual_seed(0)\n        " + _DRAW),
            (_DRAW, "generator.manual_seed(generator.initial_seed())\n        " + _DRAW),
            (_DRAW, "generator.manual_seed(42)\n        " + _DRAW),
        ),
        (
            "pair_not_unpacked",
            "The model returns the pair (logits, loss): take the logits out of it, they are the first.",
            (_MODEL, "logits = model(context)"),
            (_MODEL, "_, logits = model(context)"),
        ),
        (
            "dimension_lost",
            "The new tokens have shape (B,): torch.cat needs (B, 1), so keep the dimension.",
            (_DRAW, _DRAW + ".squeeze(-1)"),
            (_DRAW, "next_ids = torch.multinomial(probs, num_samples=1, generator=generator)[:, 0]"),
        ),
        (
            "one_row_only",
            "The text comes back without its batch dimension: [B, T + max_new_tokens] is asked for.",
            ("return ids", "return ids[0]"),
            ("return ids", "return ids.squeeze(0)"),
        ),
        (
            "list",
            "A list is returned: a tensor [B, T + max_new_tokens] is asked for.",
            ("return ids", "return ids.tolist()"),
        ),
        (
            "floats",
            "The ids are floats: whole numbers are asked for.",
            ("return ids", "return ids.float()"),
            (_CAT, "ids = torch.cat([ids.float(), next_ids.float()], dim=1).long()\n    ids = ids.float()"),
        ),
        (
            "logits_returned",
            "Something else than the ids is returned: the text [B, T + max_new_tokens] alone is asked for.",
            ("return ids", "return ids, was_training"),
            ("return ids", "return next_ids if max_new_tokens else ids"),
        ),
        ("nothing_returned", _NOTHING, ("return ids", "print(ids)"), ("    return ids\n", "")),
        (
            "prompt_changed",
            "The prompt itself is changed: its tokens come back as they were, and the caller's tensor stays as it is.",
            (_CAT, "ids[:, -1:] = next_ids\n        " + _CAT),
            (_CAT, "ids = torch.cat([ids[:, 1:], next_ids, next_ids], dim=1)"),
        ),
        (
            "input_changed",
            "The caller's prompt is changed in place: make a new tensor (torch.cat does).",
            [
                ("    was_training", "    given = ids\n    ids = ids.clone()\n    was_training"),
                ("    return ids", "    given.zero_()\n    return ids"),
            ],
            [
                ("    was_training", "    given = ids\n    was_training"),
                ("    return ids", "    given.resize_(ids.shape).copy_(ids)\n    return given"),
            ],
        ),
        (
            "nothing_to_do",
            "For max_new_tokens = 0 the call fails or gives something else: the prompt itself comes back.",
            ("return ids", "return ids if max_new_tokens else None"),
            ("    was_training", "    assert max_new_tokens > 0\n    was_training"),
            (
                "    was_training",
                "    if max_new_tokens < 1:\n        raise ValueError('max_new_tokens')\n    was_training",
            ),
            ("return ids", "return ids if next_ids is not None else ids"),
        ),
        (
            "block_size_of_the_model",
            "The model keeps its sizes in `model.config`: model.config.block_size.",
            (_CONTEXT, "context = ids[:, -model.block_size :]"),
            (_CONTEXT, "context = ids[:, -config.block_size :]"),
        ),
        (
            "device_not_kept",
            "The result does not stay on the device of the prompt: a tensor is made without `device=…`.",
            (
                _CAT,
                "longer = torch.zeros(ids.shape[0], ids.shape[1] + 1, dtype=ids.dtype)\n        longer[:, :-1] = ids\n        longer[:, -1:] = next_ids\n        ids = longer",
            ),
        ),
    ),
    alternatives=_alternatives(
        generate,
        context_manager="""
        def generate(model, ids, max_new_tokens, temperature, top_k, top_p, generator):
            mode = model.training
            model.eval()
            try:
                with torch.no_grad():
                    while max_new_tokens > 0:
                        size = model.config.block_size
                        x = ids if ids.size(1) <= size else ids[:, -size:]
                        p = next_token_distribution(model(x)[0][:, -1, :], temperature=temperature, top_k=top_k, top_p=top_p)
                        ids = torch.cat((ids, torch.multinomial(p, 1, generator=generator)), dim=-1)
                        max_new_tokens -= 1
            finally:
                model.train(mode)
            return ids
        """,
        buffer="""
        B, T = ids.shape
        modes = {name: module.training for name, module in model.named_modules()}
        model.eval()
        text = ids.new_zeros(B, T + max_new_tokens)
        text[:, :T] = ids
        for t in range(T, T + max_new_tokens):
            logits, loss = model(text[:, max(0, t - model.config.block_size) : t])
            probs = next_token_distribution(logits[:, -1], temperature, top_k, top_p)
            text[:, t] = torch.multinomial(probs, 1, generator=generator).squeeze(1)
        for name, module in model.named_modules():
            module.training = modes[name]
        return text
        """,
        race="""
        before = model.training
        model.train(False)
        new = [ids]
        for _ in range(max_new_tokens):
            logits = model(torch.cat(new, 1)[:, -model.config.block_size :])[0]
            probs = next_token_distribution(logits, temperature, top_k, top_p)[:, -1]
            clocks = torch.empty_like(probs).exponential_(generator=generator)
            new.append((probs / clocks).argmax(-1, keepdim=True))
        if before:
            model.train()
        return torch.cat(new, 1)
        """,
        recursion="""
        import torch

        def generate(model, ids, max_new_tokens, temperature, top_k, top_p, generator):
            if max_new_tokens == 0:
                return ids
            training = model.training
            model.eval()
            with torch.inference_mode():
                logits = model(ids[:, -model.config.block_size :])[0]
            model.train(training)
            probs = next_token_distribution(logits[:, -1].clone(), temperature, top_k, top_p)
            ids = torch.cat([ids, torch.multinomial(probs, 1, generator=generator)], 1)
            return generate(model, ids, max_new_tokens - 1, temperature, top_k, top_p, generator)
        """,
    ),
)


EXERCISES = [COUNT_PARAMETERS, GPT_, GET_BATCH, LEARNING_RATE, TRAIN_STEP, NEXT_TOKEN_DISTRIBUTION, GENERATE]
QUESTIONS = [
    Question(
        name="q10_1",
        notebook="09-gpt",
        points=1,
        key="C",
        explanations={
            "A": (
                "Tempting, because in model A earlier answers do move when a later token changes. But look how: "
                "every earlier position moves, each a little, as through a softmax. A wrong reshape follows the "
                "memory layout: some positions strongly, others not at all."
            ),
            "B": (
                "Its answers move everywhere, so its picture looks full. But they move even if no token is "
                "changed: ask model B the same question twice. Mixed-up positions would give the same wrong "
                "answer each time."
            ),
            "C": (
                "Right. In the influence picture of model C single later tokens move an earlier answer strongly "
                "while others do not move it at all, and some past tokens are never seen. Each row after the "
                "reshape holds neighbouring positions of one head instead of all heads of one position."
            ),
            "D": (
                "Model D does give odd answers. But its influence picture is a clean triangle: no answer moves "
                "when a later token changes, and all past tokens are seen. With rows of mixed positions that "
                "could not be."
            ),
        },
    ),
    Question(
        name="q10_2",
        notebook="09-gpt",
        points=1,
        key="A",
        explanations={
            "A": (
                "Right. Model A gives the same answer twice, and when a token changes every earlier answer "
                "moves, only a little: the softmax gives blocked keys a small weight instead of none. The cells "
                "above the diagonal are not zero, at any distance."
            ),
            "B": (
                "In model B the cells above the diagonal are not zero, which looks like a leak. But measure what "
                "happens if you change nothing at all: the answers move just as much. A finite number in the "
                "mask is the same at every call."
            ),
            "C": (
                "The future does leak in model C. But a finite mask lets every later token through, a little "
                "each. Here some later tokens have a strong influence and others exactly none, so the softmax is "
                "not where it comes in."
            ),
            "D": (
                "Perhaps its small loss made you think that it sees the future. Change a later token: no earlier "
                "answer of model D moves, to the last digit. A finite mask could not hold back the future so "
                "completely."
            ),
        },
    ),
    Question(
        name="q10_3",
        notebook="09-gpt",
        points=1,
        key="D",
        explanations={
            "A": (
                "Model A peeks, but what does it say? Its likeliest token is far more often the next one than "
                "the one just read. A model trained on targets that are not shifted would repeat its input."
            ),
            "B": (
                "Ask model B for its likeliest tokens and compare them with the input: it tries to say what "
                "follows, though it is never quite sure of itself. Targets that are not shifted would have "
                "taught it to say what it has just read."
            ),
            "C": (
                "Something in model C goes to the wrong position, and a missing shift sounds like that. But its "
                "targets were the next tokens: compare its likeliest tokens with both rows. The mix-up is inside "
                "the model, which its influence picture shows."
            ),
            "D": (
                "Right. At most positions the likeliest token of model D is the one it has just read, and almost "
                "never the next one; when it writes, it says the same token again and again. Nothing leaks and "
                "nothing is random: it learnt the wrong task perfectly well."
            ),
        },
    ),
    Question(
        name="q10_4",
        notebook="09-gpt",
        points=1,
        key="B",
        explanations={
            "A": (
                "Small changes everywhere look like noise. But call model A twice in eval mode with the same "
                "ids: the answers are identical to the last digit. The small changes appear only when a token is "
                "changed."
            ),
            "B": (
                "Right. In eval mode, two calls of model B with the same ids give different answers. That is the "
                "one experiment that shows it, and it must come first: against such noise, every other "
                "comparison seems to fail."
            ),
            "C": (
                "Its influence picture is ragged, which can look random. Draw it a second time: it comes out the "
                "same. With dropout left on, not even two calls with the same ids would agree."
            ),
            "D": (
                "Model D answers oddly, but it always gives the same odd answer: call it twice in eval mode and "
                "compare. Dropout that was left on would show at once as a difference."
            ),
        },
    ),
]
