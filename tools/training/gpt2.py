"""What the trainings share: byte-level BPE, GPT-2 models and their loss, validation, a training loop, saving."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import GenerationConfig, GPT2Config, GPT2LMHeadModel

from autograder.files import write_atomically

END = "<|endoftext|>"
TRAIN_SEED, VALIDATION_SEED = 1, 2  # the seeds of the files that the notebooks read
IGNORED = -100  # a target that does not count


def byte_level_bpe(
    texts: Iterable[str],
    vocab_size: int,
    special: Sequence[str] = (),
    *,
    pattern: str | None = None,
    all_bytes: bool = True,
) -> Tokenizer:
    """Train a tokenizer with at most `vocab_size` tokens. `pattern` splits words, by default as GPT-2 does.

    `all_bytes` puts every byte into the alphabet, so decoding restores any text.
    """
    tokenizer = Tokenizer(models.BPE())
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    words = None if pattern is None else pre_tokenizers.Split(Regex(pattern), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([words, level]) if words else level
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet() if all_bytes else []
    options: dict[str, Any] = {"special_tokens": list(special), "initial_alphabet": alphabet, "show_progress": False}
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=vocab_size, **options))
    return tokenizer


def gpt2_config(
    vocabulary: int, context: int, layers: int, heads: int, width: int, *, end: int | None, dropout: float = 0.0
) -> GPT2Config:
    """Return the configuration for transformers. `end` is the id of <|endoftext|>."""
    shape: dict[str, Any] = {"n_positions": context, "n_layer": layers, "n_head": heads, "n_embd": width}
    dropouts: dict[str, Any] = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), dropout)
    return GPT2Config(vocab_size=vocabulary, **shape, **dropouts, bos_token_id=end, eos_token_id=end)


def new_gpt2(config: GPT2Config) -> GPT2LMHeadModel:
    """Return an untrained model that can generate."""
    model = GPT2LMHeadModel(config)
    # Set the padding token here: in the configuration it makes calls warn about a missing attention mask
    end = config.eos_token_id
    model.generation_config = GenerationConfig(bos_token_id=end, eos_token_id=end, pad_token_id=end)
    return model


@torch.no_grad()
def start_as_copier(model: GPT2LMHeadModel, gain: float = 0.3, spread: float = 3.0) -> None:
    """Initialize as in notebook 09: attention starts by copying, and the token table is scaled.

    Trockman and Kolter 2023 call it mimetic initialisation.
    """
    width = model.config.n_embd
    blocks: Any = model.transformer.h
    for block in blocks:
        block.attn.c_attn.weight[:, -width:] += torch.eye(width)  # Conv1D: (in, out), out = query, key, value
        block.attn.c_proj.weight += gain * torch.eye(width)
    model.transformer.wte.weight *= spread  # tied to lm_head


def loss_of(model: Callable, inputs: Tensor, targets: Tensor, reduction: str = "mean") -> Tensor:
    """Return the cross-entropy in nats, computed in float32."""
    logits = model(inputs, use_cache=False).logits  # (B, T, V)
    return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction=reduction)


@dataclass(frozen=True)
class Validation:
    """Text that the model has not seen."""

    inputs: Tensor  # [rows, T]
    targets: Tensor  # [rows, T]; IGNORED where nothing counts
    floor: float  # lowest possible loss, nats per token; NaN: unknown

    @classmethod
    def of(cls, stories: Sequence[list[int]], start: int, nll: float) -> Validation:
        """Lay stories, with their end tokens, into rows that begin with `start`. `nll` is that of all together."""
        inputs = pad_sequence([torch.tensor([start, *ids[:-1]]) for ids in stories], True, start)
        targets = pad_sequence([torch.tensor(ids) for ids in stories], True, IGNORED)
        return cls(inputs, targets, nll / sum(map(len, stories)))

    @property
    def count(self) -> int:
        """Return the number of tokens that are predicted."""
        return int((self.targets != IGNORED).sum())

    @torch.no_grad()
    def loss(
        self,
        model: GPT2LMHeadModel,
        rows: int = 32,
        autocast: Callable[[], contextlib.AbstractContextManager] = contextlib.nullcontext,
    ) -> float:
        """Return the mean loss in nats per token, computed `rows` rows at a time."""
        was_training, total = model.training, 0.0
        model.eval()
        for inputs, targets in zip(self.inputs.split(rows), self.targets.split(rows), strict=True):
            with autocast():
                total += loss_of(model, inputs.to(model.device), targets.to(model.device), "sum").item()
        model.train(was_training)
        return total / self.count


def fit(
    model: GPT2LMHeadModel, batches: Iterable[tuple[Tensor, Tensor]], steps: int, peak: float, warmup: int = 100
) -> Iterator[float]:
    """Train the model in place, a step for each batch of inputs and targets. Yield the losses.

    The rate warms up linearly, then falls along half a cosine to zero.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=peak, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
    model.train()
    for step, (inputs, targets) in enumerate(batches):
        cosine = 1 + math.cos(math.pi * (step - warmup) / max(steps - warmup, 1))
        for group in optimizer.param_groups:
            group["lr"] = peak * (step + 1) / warmup if step < warmup else peak * cosine / 2
        loss = loss_of(model, inputs, targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield loss.item()


@torch.no_grad()
def continued(
    model: Any, prompt: Sequence[int], limit: int, seed: int, top_k: int = 0, rows: int = 1
) -> list[list[int]]:
    """Sample continuations of a prompt, with at most `limit` tokens each."""
    given = torch.tensor([prompt], device=model.device).expand(rows, -1)
    was_training = model.training
    model.eval()
    torch.manual_seed(seed)
    options = {"max_new_tokens": limit, "do_sample": True, "top_k": top_k, "pad_token_id": model.config.eos_token_id}
    made: Tensor = model.generate(given, attention_mask=torch.ones_like(given), **options)
    model.train(was_training)
    return made[:, given.shape[1] :].tolist()


CARD = """---
library_name: transformers
pipeline_tag: text-generation
---
# {name}

A language model in GPT-2's format, {made}

| | |
| --- | --- |
{rows}

It has read this one text and knows nothing else. Not for use beyond teaching.
"""


def keep_model(folder: Path, model: Any, tokenizer: Any, made: str, facts: Iterable[tuple[str, str]]) -> None:
    """Write the files that from_pretrained reads, each replaced atomically, and a model card with the facts."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as fresh:
        model.eval().save_pretrained(fresh)
        tokenizer.save_pretrained(fresh)
        for file in Path(fresh).iterdir():
            file.chmod(0o644)  # safetensors makes it readable by the owner only
            file.replace(folder / file.name)
    rows = "\n".join(f"| {what} | {value} |" for what, value in facts)
    write_atomically(folder / "README.md", CARD.format(name=folder.name, made=made, rows=rows).encode())
