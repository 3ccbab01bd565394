"""Texts to grow a GPT on: any file of yours, or the course's stories, whose exact floor is known.

A text becomes a file of token ids in the model's folder, read by memory map, so that it may be larger than memory. Its
end is held back for validation.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from autograder.files import whole
from transformer_exercises.stories import bangla, sample, true_nll

from .stories_gpt2 import END, IGNORED, TRAIN_SEED, VALIDATION_SEED

TOKENS = "tokens.bin"  # the text as ids, in the folder of the run while it lasts
FEWEST = 5_000  # characters of a text of one's own
PIECE = 1 << 20  # characters that are read and cut into tokens at once
LEARNT_FROM = 50 << 20  # characters, at most, that the vocabulary is learnt from
PROMPT = 8  # tokens that a sample goes on from
HELD_BACK = 10  # one part in so many, at the end of the text
VALIDATION_WINDOWS = 256  # at most: a look at the loss must stay cheap
STORIES, STORIES_VALIDATION = 10_000_000, 60_000  # characters
BANGLA_VALIDATION = 12_000  # fewer, since a look must stay cheap in a model that a processor is too slow for
# Words as GPT-2 cuts them, but with \p{M}: the vowel signs of Bangla are marks, and belong to their word
WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+"


class BadText(ValueError):
    """The text cannot be used; the message says why and what to do."""


# --- reading ----------------------------------------------------------------------------------------------------------


def pieces(path: Path) -> Iterator[str]:
    """The text in pieces of about a million characters that end where a line ends; ends of lines become \\n."""
    if path.is_dir():
        raise BadText(f"{path} is a folder. Name one text file; several can be joined: cat {path}/*.txt > all.txt")
    if not path.is_file():
        raise BadText(f"There is no file {path}. Name a text file: make grow TEXT=my-texts.txt")
    with path.open(encoding="utf-8-sig") as file:  # a byte order mark, as Windows writes it, is no text
        while True:
            try:
                piece = file.read(PIECE)
                piece += file.readline(PIECE) if piece else ""
            except UnicodeDecodeError as error:
                raise BadText(
                    f"{path} is not UTF-8 text (byte 0x{error.object[error.start]:02x}: {error.reason}). A text in "
                    "another encoding can be saved as UTF-8 by an editor; a PDF or a Word file must be exported as "
                    "plain text."
                ) from None
            if not piece:
                return
            if "\0" in piece:
                raise BadText(f"{path} holds zero bytes, as no text does: a binary file? Export it as plain text.")
            yield piece


def measured(path: Path) -> tuple[int, str]:
    """How many characters the text has, and a name for exactly this text; BadText if it cannot be used."""
    characters, name = 0, hashlib.sha256()
    for piece in pieces(path):
        characters += len(piece)
        name.update(piece.encode())
    if not characters:
        raise BadText(f"{path} is empty. Name a file with a text in it, {FEWEST:,} characters at least.")
    if characters < FEWEST:
        raise BadText(
            f"{path} has {characters:,} characters. That is too short to learn from and to hold a tenth back: at least "
            f"{FEWEST:,} are needed, and a million are better."
        )
    return characters, name.hexdigest()


def vocabulary_for(characters: int, most: int) -> int:
    """How many tokens for a text of this length: it grows as its root, since rare tokens would hardly be trained.

    From the 256 bytes and <|endoftext|>, with a few merges, up to `most`; 2,000 for a million characters.
    """
    return max(320, min(most, 2 * math.isqrt(characters)))


def learn_tokenizer(texts: Iterator[str], vocabulary: int, context: int) -> PreTrainedTokenizerFast:
    """Byte-level BPE; every byte is in the alphabet, so any text comes back as it was."""
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    learner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    learner.train_from_iterator(texts, trainer)
    # Not GPT2Tokenizer, which cuts words in its own way when it is read again
    return PreTrainedTokenizerFast(
        tokenizer_object=learner, model_max_length=context, bos_token=END, eos_token=END, unk_token=END
    )


def first(texts: Iterator[str], characters: int) -> Iterator[str]:
    """The beginning, so many characters or a few more."""
    for text in texts:
        yield text
        characters -= len(text)
        if characters <= 0:
            return


def encoded(texts: Iterator[str], tokenizer: PreTrainedTokenizerFast, path: Path) -> np.ndarray:
    """The token ids [N] as a map of the file `path`, which is written first. <|endoftext|> in a text is that token."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = np.uint16 if len(tokenizer) <= 1 << 16 else np.uint32

    def write(beside: Path) -> None:
        with beside.open("wb") as file:
            for text in texts:
                file.write(np.array(tokenizer.backend_tokenizer.encode(text).ids, kind).tobytes())

    whole(path, write)
    return np.memmap(path, kind, mode="r")


# --- what is learnt from ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Material:
    """A text cut into tokens: windows to learn from, and rows that were held back."""

    title: str
    name: str  # of exactly this text
    tokenizer: PreTrainedTokenizerFast
    tokens: np.ndarray  # [N] to learn from
    starts: np.ndarray | None  # where windows begin; None: anywhere
    inputs: Tensor  # [rows, T'] of validation
    targets: Tensor  # [rows, T']; IGNORED where none counts
    characters: float  # of the text for each token of validation
    floor: float | None  # nats per token of validation that no model can beat; None: nobody knows it
    prompt: tuple[int, ...]  # what samples go on from: a new story, or words that were held back

    def windows(self, rows: int, context: int, seed: int, number: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets [rows, context]: batch `number` of the run, which depends on seed and number alone.

        So a run that is taken up again needs no memory of what it has read.
        """
        dice = np.random.default_rng((seed, number))
        last = len(self.tokens) - context - 1
        if self.starts is None:
            begin = dice.integers(last + 1, size=rows)
        else:
            begin = self.starts[dice.integers(np.searchsorted(self.starts, last, side="right"), size=rows)]
        cut = torch.from_numpy(self.tokens[begin[:, None] + np.arange(context + 1)].astype(np.int64))
        return cut[:, :-1], cut[:, 1:]


def own_text(path: Path, folder: Path, vocabulary: int, context: int) -> Material:
    """A file of UTF-8 text. Every token of its last tenth is predicted once, in windows that follow each other."""
    characters, name = measured(path)
    tokenizer = learn_tokenizer(first(pieces(path), LEARNT_FROM), vocabulary_for(characters, vocabulary), context)
    tokens = encoded(pieces(path), tokenizer, folder / TOKENS)
    train, held = np.split(tokens, [len(tokens) - len(tokens) // HELD_BACK])
    if len(held) <= context:
        raise BadText(
            f"{path} has {len(tokens):,} tokens, and the tenth that is held back has {len(held):,}: less than one "
            f"window of {context} tokens. Name a longer text, or a smaller context with --context."
        )
    used = torch.from_numpy(held[: VALIDATION_WINDOWS * context + 1].astype(np.int64))
    rows = (len(used) - 1 + context - 1) // context
    inputs, targets = torch.zeros(rows * context, dtype=torch.long), torch.full((rows * context,), IGNORED)
    inputs[: len(used) - 1], targets[: len(used) - 1] = used[:-1], used[1:]
    text = str(tokenizer.decode(used[1:].tolist()))
    return Material(
        title=path.name,
        name=name,
        tokenizer=tokenizer,
        tokens=train,
        starts=None,
        inputs=inputs.view(rows, -1),
        targets=targets.view(rows, -1),
        characters=len(text) / (len(used) - 1),
        floor=None,
        prompt=tuple(tokenizer.backend_tokenizer.encode(begun(text)).ids[:PROMPT]),
    )


def begun(text: str) -> str:
    """From the first whole line on, or the first whole word."""
    for gap in ("\n", " "):
        behind = text.partition(gap)[2].strip()
        if behind:
            return behind
    return text


@dataclass(frozen=True)
class Corpus:
    """Stories that a script writes, with their exact probability."""

    title: str
    sample: Callable[[int, int], str]  # (characters, seed)
    true_nll: Callable[[str], float]
    held_back: int  # characters of validation
    words: bool  # whether the vocabulary grows until each word is one token, as there are few


CORPORA = {
    "english": Corpus(
        "the course's stories",
        lambda characters, seed: sample("english", characters=characters, seed=seed),
        true_nll,
        STORIES_VALIDATION,
        words=False,
    ),
    "bangla": Corpus(
        "the course's Bangla sentences",
        lambda characters, seed: bangla.sample(characters=characters, seed=seed),
        bangla.true_nll,
        BANGLA_VALIDATION,
        words=True,
    ),
}


def stories(
    folder: Path, vocabulary: int, context: int, characters: int = STORIES, language: str = "english"
) -> Material:
    """The course's stories, with <|endoftext|> in place of the line break behind each.

    Windows begin where a story begins, and validation has one story a row, so every token has all the context there is;
    then the corpus's exact probability is the floor of the loss.
    """
    corpus = CORPORA[language]
    text = corpus.sample(characters, TRAIN_SEED)
    held = corpus.sample(corpus.held_back, VALIDATION_SEED)
    lines = text.splitlines()
    wanted = vocabulary if corpus.words else vocabulary_for(len(text), vocabulary)
    tokenizer = learn_tokenizer(iter(lines), wanted, context)
    tokens = encoded(iter([END, *(line + END for line in lines)]), tokenizer, folder / TOKENS)
    end = tokenizer.eos_token_id
    rows = [tokenizer.backend_tokenizer.encode(line).ids for line in held.splitlines()]
    width = max(map(len, rows)) + 1
    if width > context:
        raise BadText(f"The longest story has {width} tokens and needs a context as long; --context {context} is less.")
    inputs, targets = torch.full((len(rows), width), end), torch.full((len(rows), width), IGNORED)
    for i, ids in enumerate(rows):
        inputs[i, 1 : len(ids) + 1] = torch.tensor(ids)
        targets[i, : len(ids) + 1] = torch.tensor([*ids, end])
    count = int((targets != IGNORED).sum())
    return Material(
        title=corpus.title,
        name=hashlib.sha256(text.encode()).hexdigest(),
        tokenizer=tokenizer,
        tokens=tokens,
        starts=np.flatnonzero(tokens == end),
        inputs=inputs,
        targets=targets,
        characters=len(held) / count,
        floor=corpus.true_nll(held) / count,
        prompt=(end,),
    )
