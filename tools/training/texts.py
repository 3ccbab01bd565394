"""Texts to train a GPT on: any file, or the course's stories, for which the lowest possible loss is known exactly.

A text becomes a file of token ids, which is memory-mapped, so it may be larger than memory.
"""

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from autograder.files import replace_atomically
from transformer_exercises.stories import bangla, sample, true_nll

from .gpt2 import END, IGNORED, TRAIN_SEED, VALIDATION_SEED, Validation, byte_level_bpe

TOKENS = "tokens.bin"  # the text as ids, in the run's folder until the run is finished
FEWEST = 5_000  # minimum number of characters of a user's text
PIECE = 1 << 20  # characters read and tokenized at once
LEARNT_FROM = 50 << 20  # maximum number of characters from which the vocabulary is learnt
PROMPT = 8  # tokens of a sample's prompt
HELD_BACK = 10  # one tenth of the text, at its end
VALIDATION_WINDOWS = 256  # at most: measuring the loss must stay cheap
STORIES, STORIES_VALIDATION = 10_000_000, 60_000  # characters
BANGLA_VALIDATION = 12_000  # fewer, because measuring must stay cheap for a model that is large for a CPU
# GPT-2's pattern for words plus \p{M}: the vowel signs of Bangla are marks and belong to their word
WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+"


class BadText(ValueError):
    """Raised when the text cannot be used. The message says why and what to do."""


def chunks(path: Path, newline: str | None = None) -> Iterator[str]:
    """Yield the text in pieces of about a million characters that end at a line's end. Raise BadText if it is no text.

    Newlines become \\n, or lines end at `newline` alone and stay as they are.
    """
    if path.is_dir():
        raise BadText(f"{path} is a folder. Name one text file; several can be joined: cat {path}/*.txt > all.txt")
    if not path.is_file():
        raise BadText(f"There is no file or folder {path}.")
    with path.open(encoding="utf-8-sig", newline=newline) as file:  # skips the byte order mark that Windows writes
        while True:
            try:
                piece = file.read(PIECE)
                piece += file.readline(PIECE) if piece else ""
            except UnicodeDecodeError as error:
                raise BadText(
                    f"{path} is not UTF-8 text (byte 0x{error.object[error.start]:02x}: {error.reason}). An editor can "
                    "save it as UTF-8; a PDF or a Word file must be exported as plain text."
                ) from None
            if not piece:
                return
            if "\0" in piece:
                raise BadText(f"{path} holds zero bytes, as no text does: a binary file? Export it as plain text.")
            yield piece


def length_and_hash(path: Path) -> tuple[int, str]:
    """Return the number of characters and a hash of the text. Raise BadText if it cannot be used."""
    characters, name = 0, hashlib.sha256()
    for piece in chunks(path):
        characters += len(piece)
        name.update(piece.encode())
    if characters < FEWEST:
        raise BadText(
            f"{path} has {characters:,} characters. That is too short to learn from and to hold a tenth back: at least "
            f"{FEWEST:,} are needed, and a million are better."
        )
    return characters, name.hexdigest()


def vocabulary_for(characters: int, limit: int) -> int:
    """Return a vocabulary size that grows with the square root of the length, from 320 to `limit`."""
    return max(320, min(limit, 2 * math.isqrt(characters)))


def learn_tokenizer(texts: Iterator[str], vocabulary: int, context: int) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE tokenizer that restores any text."""
    learner = byte_level_bpe(texts, vocabulary, [END], pattern=WORDS)
    names = dict.fromkeys(("bos_token", "eos_token", "unk_token"), END)
    # Not GPT2Tokenizer, which splits words by its own pattern when it is loaded
    return PreTrainedTokenizerFast(tokenizer_object=learner, model_max_length=context, **names)


def write_tokens(texts: Iterator[str], tokenizer: PreTrainedTokenizerFast, path: Path) -> np.ndarray:
    """Write the token ids to `path` and return them memory-mapped [N]. <|endoftext|> in a text becomes that token."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = np.uint16 if len(tokenizer) <= 1 << 16 else np.uint32

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            for text in texts:
                file.write(np.array(tokenizer.backend_tokenizer.encode(text).ids, kind).tobytes())

    replace_atomically(path, write)
    return np.memmap(path, kind, mode="r")


@dataclass(frozen=True)
class TrainingText:
    """A tokenized text: windows for training, and rows held back for validation."""

    title: str
    name: str  # hash of the text
    tokenizer: PreTrainedTokenizerFast
    tokens: np.ndarray  # [N] for training
    starts: np.ndarray | None  # possible starts of windows; None: anywhere
    validation: Validation
    characters: float  # characters per validation token
    prompt: tuple[int, ...]  # start of samples: a new story, or held-back words

    def windows(self, rows: int, context: int, seed: int, number: int) -> tuple[Tensor, Tensor]:
        """Return inputs and targets [rows, context] of batch `number`, which depend on seed and number alone."""
        dice = np.random.default_rng((seed, number))
        last = len(self.tokens) - context - 1
        if self.starts is None:
            begin = dice.integers(last + 1, size=rows)
        else:
            begin = self.starts[dice.integers(np.searchsorted(self.starts, last, side="right"), size=rows)]
        cut = torch.from_numpy(self.tokens[begin[:, None] + np.arange(context + 1)].astype(np.int64))
        return cut[:, :-1], cut[:, 1:]


def read_file(path: Path, folder: Path, vocabulary: int, context: int) -> TrainingText:
    """Read a UTF-8 file. Its last tenth is for validation. Raise BadText if it is too short or cannot be read."""
    characters, name = length_and_hash(path)
    tokenizer = learn_tokenizer(
        itertools.islice(chunks(path), LEARNT_FROM // PIECE), vocabulary_for(characters, vocabulary), context
    )
    tokens = write_tokens(chunks(path), tokenizer, folder / TOKENS)
    train, held = np.split(tokens, [len(tokens) - len(tokens) // HELD_BACK])
    if len(held) <= context:
        raise BadText(
            f"{path} has {len(tokens):,} tokens, and the tenth that is held back has {len(held):,}: less than one "
            f"window of {context} tokens. Name a longer text, or a smaller context with --context."
        )
    used = torch.from_numpy(held[: VALIDATION_WINDOWS * context + 1].astype(np.int64))
    rest = -(len(used) - 1) % context
    inputs, targets = F.pad(used[:-1], (0, rest)), F.pad(used[1:], (0, rest), value=IGNORED)
    text = str(tokenizer.decode(used[1:].tolist()))
    # Samples begin at its first whole line, or else at its first whole word
    begun = next(filter(None, (text.partition(gap)[2].strip() for gap in ("\n", " "))), text)
    return TrainingText(
        title=path.name,
        name=name,
        tokenizer=tokenizer,
        tokens=train,
        starts=None,
        validation=Validation(inputs.view(-1, context), targets.view(-1, context), math.nan),
        characters=len(text) / (len(used) - 1),
        prompt=tuple(tokenizer.backend_tokenizer.encode(begun).ids[:PROMPT]),
    )


def stories(
    folder: Path, vocabulary: int, context: int, characters: int = STORIES, language: str = "english"
) -> TrainingText:
    """Generate the course's stories. Windows begin where a story begins, and validation has one story per row.

    So the corpus's exact probability is the floor of the loss. Raise BadText if a story is longer than `context`.
    """
    draw: Callable[..., str]
    in_bangla = language == "bangla"
    if in_bangla:
        title, draw, nll, held_back = "the course's Bangla sentences", bangla.sample, bangla.true_nll, BANGLA_VALIDATION
    else:
        title, draw, nll, held_back = "the course's stories", partial(sample, "english"), true_nll, STORIES_VALIDATION
    text = draw(characters=characters, seed=TRAIN_SEED)
    held = draw(characters=held_back, seed=VALIDATION_SEED)
    lines = text.splitlines()
    # The words of Bangla are few: its vocabulary grows until each is one token
    wanted = vocabulary if in_bangla else vocabulary_for(len(text), vocabulary)
    tokenizer = learn_tokenizer(iter(lines), wanted, context)
    tokens = write_tokens(iter([END, *(line + END for line in lines)]), tokenizer, folder / TOKENS)
    end = tokenizer.eos_token_id
    rows = [[*tokenizer.backend_tokenizer.encode(line).ids, end] for line in held.splitlines()]
    width = max(map(len, rows))
    if width > context:
        raise BadText(f"The longest story has {width} tokens and needs a context as long; --context {context} is less.")
    validation = Validation.of(rows, end, nll(held))
    return TrainingText(
        title=title,
        name=hashlib.sha256(text.encode()).hexdigest(),
        tokenizer=tokenizer,
        tokens=tokens,
        starts=np.flatnonzero(tokens == end),
        validation=validation,
        characters=len(held) / validation.count,
        prompt=(end,),
    )
