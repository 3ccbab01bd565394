"""Trains notebook 11's translator on any file of sentence pairs, for as long as you like.

    python -m tools.training.translate                                 the course's own English–Igbo sentences
    python -m tools.training.translate news-train.tsv --minutes 60     real sentences
    python -m tools.training.translate FOLDER --layout both            every *-train.tsv in it; both layouts
    python -m tools.training.translate wikimedia.en-ig --source igbo --target english       a pair of OPUS files

A table is UTF-8 text with one pair of sentences per line and a tab between them. The first line names the columns
(english and igbo, or en and ibo, or any with --source NAME --target NAME). For X-train.tsv, the files X-dev.tsv and
X-test.tsv beside it, if they exist, are used to choose the weights and to score; otherwise pairs are held out at
random. OPUS provides two files, NAME.en and NAME.ig, whose lines match: name one of them, NAME, or their folder.

The folder --out gets the model, both tokenizers and a curve of BLEU and chrF during training. After a kill, the same
command resumes the run. say.py, in the same folder, translates without this package.

Model, schedule, loss, decoding and BLEU are the notebook's: its locked cells, and the reference answers to its
exercises. A GPU is used if there is one.
"""

from __future__ import annotations

import contextlib
import copy
import csv
import hashlib
import importlib.util
import itertools
import math
import random
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import torch
import torch.nn.functional as F
import typer
from rich.console import Console
from rich.table import Table
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from torch import Tensor, nn
from tqdm import tqdm

from autograder.files import WouldOverwrite, refuse_foreign
from autograder.judge.run_check import namespace_with
from autograder.spec.course import exercises, reference

from . import checkpoints

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = "11-translation"
STORIES = ROOT / "solutions" / NOTEBOOK / "stories-parallel.tsv"
LANGUAGES = {"english": ("en", "eng"), "igbo": ("ig", "ibo"), "bangla": ("bn", "ben")}  # other names in headers
PAD, BOS, EOS = 0, 1, 2
SPECIAL = ["<pad>", "<bos>", "<eos>"]  # in the order of their ids
ROOM = 256  # maximum length, in tokens
CHECKED = 500  # maximum number of validation pairs for each measurement of the loss
FEWEST = 20  # pairs; fewer cannot be split
LAYOUTS = ("fused", "looped")
PRECISIONS = ("float32", "bfloat16")
# For the course's stories: on a CPU, sizes that train in minutes; on a GPU, the published sizes and warm-up
USUAL = {
    "cpu": {"layers": 2, "width": 128, "heads": 4, "warmup": 400, "dropout": 0.1, "room": 1_024},
    "cuda": {"layers": 6, "width": 512, "heads": 8, "warmup": 4_000, "dropout": 0.1, "room": 16_384},
}
# For a user's sentences on a CPU, which are real and few: short and frequent tokens, more dropout against learning by
# heart, and a rate at which the model does not get stuck at ignoring the source (docs/translating.md)
OWN = {
    **{"layers": 3, "width": 192, "heads": 4, "warmup": 4_000, "dropout": 0.3},
    **{"vocab_size": 2_000, "joint": True, "average": 5},
}
# The base model of Vaswani et al. 2017 (table 3, sections 3.4, 5.1 and 6.1)
PAPER = {
    **{"layers": 6, "width": 512, "heads": 8, "warmup": 4_000, "dropout": 0.1, "room": 25_000},
    **{"vocab_size": 37_000, "joint": True, "average": 5},
}

Pair = tuple[str, str]
app = typer.Typer(add_completion=False)
console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)


class UnusablePairs(ValueError):
    """Raised when the sentence pairs cannot be used. The message says why and what to do."""


# --- sentence pairs ---------------------------------------------------------------------------------------------------


def read_pairs(path: Path, source: str, target: str) -> list[Pair]:
    """Return the pairs (source sentence, target sentence) of a tab-separated file whose first line names the columns.

    Skip rows that lack one of the two sentences. Raise UnusablePairs if the file has another form.
    """
    lines = [line.rstrip("\r") for line in read_text(path).split("\n")]
    if not any(line.strip() for line in lines):
        raise UnusablePairs(
            f"{path.name} is empty. It should hold a line that names the columns, then a pair in each line."
        )
    header = cells(lines[0])
    if len(header) < 2:
        raise UnusablePairs(f"{path.name} has one column. Sentence pairs need two, with a tab between them.")
    places = column(header, source, path, "--source"), column(header, target, path, "--target")
    if places[0] == places[1]:
        raise UnusablePairs(
            f"Source and target are the same column, {header[places[0]]}. Name two: --source NAME --target NAME."
        )
    rows = [row for row in map(cells, lines[1:]) if len(row) > max(places)]
    pairs = [(row[places[0]], row[places[1]]) for row in rows if row[places[0]] and row[places[1]]]
    if not pairs:
        raise UnusablePairs(
            f"{path.name} names its columns, but no line after that holds two sentences with a tab between."
        )
    return pairs


def read_two_files(stem: Path, source: str, target: str) -> list[Pair]:
    """Return the pairs of two files with matching lines, such as STEM.en and STEM.ig (OPUS's Moses format).

    Raise UnusablePairs if a file is missing or the lines do not match.
    """
    sides = [(language, side(stem, language)) for language in (source, target)]
    for (language, found), other in zip(sides, (target, source), strict=True):
        if found is None:
            endings = " or ".join(f"{stem.name}.{code}" for code in codes(language))
            raise UnusablePairs(
                f"There is no {endings} in {stem.parent}: the {language} side of what is there in {other}."
            )
    # Split at newlines only: a sentence may contain other characters at which Python's splitlines splits
    lines = [read_text(path).removesuffix("\n").split("\n") for _, path in sides if path is not None]
    if len(lines[0]) != len(lines[1]):
        raise UnusablePairs(
            f"The two files of {stem.name} have {len(lines[0]):,} and {len(lines[1]):,} lines. "
            "Line by line they should be translations of each other."
        )
    pairs = [(tidied(one), tidied(other)) for one, other in zip(*lines, strict=True)]
    pairs = [pair for pair in pairs if all(pair)]
    if not pairs:
        raise UnusablePairs(f"The two files of {stem.name} hold no line with a sentence on both sides.")
    return pairs


def codes(language: str) -> tuple[str, ...]:
    """Return the names of a language in file names and column headers."""
    return (language.casefold(), *LANGUAGES.get(language.casefold(), ()))


def side(stem: Path, language: str) -> Path | None:
    """Return the file of one language in a pair of files, or None."""
    found = (stem.with_name(f"{stem.name}.{code}") for code in codes(language))
    return next((path for path in found if path.is_file()), None)


def stems(path: Path, source: str, target: str) -> list[Path]:
    """Return the pairs of files at `path`, as names without suffix. `path` is a folder, a common name, or one file."""
    if path.is_dir():
        endings = {f".{code}" for code in codes(source)}
        found = sorted({file.with_suffix("") for file in path.iterdir() if file.suffix.casefold() in endings})
        return [stem for stem in found if side(stem, target)]
    if path.is_file():
        endings = {f".{code}" for language in (source, target) for code in codes(language)}
        return [path.with_suffix("")] if path.suffix.casefold() in endings else []
    return [path] if side(path, source) or side(path, target) else []


def read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise UnusablePairs(f"There is no file or folder {path}.") from None
    except UnicodeDecodeError as error:
        raise UnusablePairs(
            f"{path.name} is not UTF-8 (byte {error.object[error.start]:#04x} at position {error.start:,}). "
            "Save it as UTF-8 and try again."
        ) from None


def cells(line: str) -> list[str]:
    """Return the cells of one line, each tidied. Quotation marks may surround a cell."""
    found = next(csv.reader([line], delimiter="\t"), [])  # line by line: a stray quotation mark spoils one line only
    return [tidied(cell) for cell in found]


def tidied(text: str) -> str:
    """Return the text with single spaces and composed letters (NFC)."""
    return unicodedata.normalize("NFC", " ".join(text.split()))


def column(header: Sequence[str], language: str, path: Path, option: str) -> int:
    """Return the index of the language's column. Raise UnusablePairs if there is none."""
    names = [name.casefold() for name in header]
    for name in codes(language):
        if name in names:
            return names.index(name)
    raise UnusablePairs(
        f"{path.name} has no column called {language}. Its first line should name the columns, such as "
        f"english<TAB>igbo; it reads: {'<TAB>'.join(name[:40] for name in header)}. "
        f"If these are names, choose one with {option} NAME."
    )


@dataclass
class Corpus:
    """Pairs for training, validation and testing. No sentence is in two of the three."""

    train: list[Pair]
    validation: list[Pair]
    test: list[Pair]
    remarks: list[str] = field(default_factory=list)  # notes for a reader of the score

    @classmethod
    def of(cls, path: Path, source: str, target: str, generator: random.Random) -> Corpus:
        """Read all *-train.tsv of a folder, or one file, with *-dev.tsv and *-test.tsv beside them; or pairs of files.

        Raise UnusablePairs if there are too few pairs or a file cannot be used.
        """
        files = sorted(path.glob("*-train.tsv")) if path.is_dir() else [path]
        if two := [] if path.is_dir() and files else stems(path, source, target):
            files, train = [], [pair for stem in two for pair in read_two_files(stem, source, target)]
        elif not files:
            raise UnusablePairs(
                f"No file in the folder {path} ends in -train.tsv, and none is one of two such as NAME.en and NAME.ig. "
                "Name a file instead."
            )
        else:
            train = [pair for file in files for pair in read_pairs(file, source, target)]
        held = {
            part: [pair for file in siblings(files, part) for pair in read_pairs(file, source, target)]
            for part in ("dev", "test")
        }
        held["dev"] = without_sentences_of(held["dev"], held["test"])
        remarks = []
        for part, name in (("test", "test"), ("dev", "validation")):
            if not held[part]:
                train, held[part] = hold_out(train, generator)
                remarks.append(f"{len(held[part]):,} pairs were held out at random for {name}.")
        fresh = without_sentences_of(list(dict.fromkeys(train)), held["test"] + held["dev"])
        if len(fresh) < len(train):
            remarks.append(
                f"{len(train) - len(fresh):,} of {len(train):,} training pairs were left out: they were there twice, "
                "or one of their sentences is in the test or validation data."
            )
        if len(fresh) < FEWEST:
            raise UnusablePairs(
                f"Too few sentences: {len(fresh)} different training pairs, and at least {FEWEST} are needed."
            )
        return cls(fresh, held["dev"], held["test"], remarks)


def siblings(files: Sequence[Path], part: str) -> list[Path]:
    """Return the existing X-dev.tsv or X-test.tsv for every X-train.tsv."""
    ending = "-train.tsv"
    found = [
        file.with_name(file.name.removesuffix(ending) + f"-{part}.tsv") for file in files if file.name.endswith(ending)
    ]
    return [file for file in found if file.is_file()]


def hold_out(pairs: Sequence[Pair], generator: random.Random) -> tuple[list[Pair], list[Pair]]:
    """Draw a tenth of the different pairs, at most 500. Return the pairs without their sentences, and the drawn."""
    different = list(dict.fromkeys(pairs))
    if len(different) < FEWEST:
        raise UnusablePairs(f"Too few sentences: {len(different)} different pairs, and at least {FEWEST} are needed.")
    held = generator.sample(different, min(len(different) // 10, 500))
    return without_sentences_of(pairs, held), held


def without_sentences_of(pairs: Sequence[Pair], held: Sequence[Pair]) -> list[Pair]:
    """Return the pairs that share no sentence with the held-out ones."""
    sources, targets = {pair[0] for pair in held}, {pair[1] for pair in held}
    return [pair for pair in pairs if pair[0] not in sources and pair[1] not in targets]


# --- tokens and batches -----------------------------------------------------------------------------------------------


def learn_tokenizer(texts: Sequence[str], vocab_size: int) -> Tokenizer:
    """Train byte-level BPE. The ids of <pad>, <bos> and <eos> are 0, 1 and 2."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


@dataclass
class TokenizerPair:
    """The two tokenizers."""

    source: Tokenizer
    target: Tokenizer

    @classmethod
    def learned(cls, pairs: Sequence[Pair], vocab_size: int, joint: bool = False) -> TokenizerPair:
        """Train the tokenizers. `joint`: one tokenizer, trained on both languages, serves as both."""
        if joint:
            both = learn_tokenizer([text for pair in pairs for text in pair], vocab_size)
            return cls(both, both)
        return cls(*(learn_tokenizer([pair[i] for pair in pairs], vocab_size) for i in (0, 1)))

    def read(self, texts: Sequence[str]) -> list[list[int]]:
        """Return source sentences as ids, cut to the model's maximum length."""
        return [[*code.ids[: ROOM - 1], EOS] for code in self.source.encode_batch(list(texts))]

    def pairs(self, pairs: Sequence[Pair]) -> list[tuple[list[int], list[int]]]:
        """Return pairs as ids, both sides cut to the model's maximum length."""
        written = self.target.encode_batch([pair[1] for pair in pairs])
        return list(
            zip(
                self.read([pair[0] for pair in pairs]),
                [[BOS, *code.ids[: ROOM - 1], EOS] for code in written],
                strict=True,
            )
        )


def padded(rows: Sequence[Sequence[int]], device: str) -> Tensor:
    """Return the ids [B, T], with <pad> after the shorter rows."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows], device=device)


@dataclass(frozen=True)
class Batch:
    source: Tensor  # [B, S]
    inputs: Tensor  # [B, T]: <bos> first
    targets: Tensor  # [B, T]: shifted by one, <eos> last
    tokens: int  # of both languages, without padding

    @classmethod
    def of(cls, pairs: Sequence[tuple[list[int], list[int]]], device: str) -> Batch:
        target = padded([pair[1] for pair in pairs], device)
        source = padded([pair[0] for pair in pairs], device)
        return cls(source, target[:, :-1], target[:, 1:], sum(len(one) + len(other) - 1 for one, other in pairs))


def batches_by_length(pairs: list, room: int, generator: random.Random) -> Iterator[list]:
    """Return all pairs once, in shuffled batches of similar lengths, to save padding.

    One language takes at most `room` tokens of a batch, padding included.
    """
    order = sorted(pairs, key=lambda pair: (len(pair[1]) + generator.random() * 4, len(pair[0])))
    batches: list[list] = []
    batch: list = []
    widest = 0
    for pair in order:
        wider = max(widest, len(pair[0]), len(pair[1]))
        if batch and wider * (len(batch) + 1) > room:
            batches.append(batch)
            batch, wider = [], max(len(pair[0]), len(pair[1]))
        batch, widest = [*batch, pair], wider
    batches.append(batch)
    generator.shuffle(batches)
    return iter(batches)


class BatchStream:
    """An endless iterator of batches, with all pairs once per epoch. It can be resumed from its `place`."""

    def __init__(self, pairs: list, room: int, seed: int, device: str, place: tuple[int, int] = (0, 0)):
        self.pairs, self.room, self.seed, self.device = pairs, room, seed, device
        self.round, skipped = place
        self.taken = 0  # batches taken in this epoch
        self._open()
        for _ in range(skipped):
            self._advance()

    def _open(self) -> None:
        self.batches = batches_by_length(self.pairs, self.room, random.Random(f"{self.seed} {self.round}"))

    def _advance(self) -> list:
        batch = next(self.batches, None)
        if batch is None:
            self.round, self.taken = self.round + 1, 0
            self._open()
            batch = next(self.batches)
        self.taken += 1
        return batch

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        return Batch.of(self._advance(), self.device)

    @property
    def place(self) -> tuple[int, int]:
        return self.round, self.taken


# --- the notebook's parts ---------------------------------------------------------------------------------------------


def notebook_parts() -> SimpleNamespace:
    """Return everything that notebook 11 defines: its locked cells, and the reference answers to its exercises."""
    asked = exercises(NOTEBOOK)
    return SimpleNamespace(**namespace_with(asked[0], "\n\n".join(exercise.source for exercise in asked)))


class LoopedHeads(nn.Module):
    """Attention as in the published implementation: a loop over heads, each with three small projections.

    It copies the weights of the given nn.MultiheadAttention (batch_first) and is called like it: query [B, T, C],
    key and value [B, S, C], attn_mask [B * H, T, S] (boolean, True = blocked, or numbers to add) -> ([B, T, C], None).
    """

    batch_first = False  # read by PyTorch's encoder layer, whose fast path would bypass this module

    def __init__(self, fused: nn.MultiheadAttention):
        super().__init__()
        self.num_heads, self.width = fused.num_heads, fused.head_dim
        weights, biases = fused.in_proj_weight.detach().chunk(3), fused.in_proj_bias.detach().chunk(3)
        self.q_projs, self.k_projs, self.v_projs = (
            nn.ModuleList(map(linear, weight.split(self.width), bias.split(self.width)))
            for weight, bias in zip(weights, biases, strict=True)
        )
        self.out_proj = linear(fused.out_proj.weight.detach(), fused.out_proj.bias.detach())
        self.dropout = fused.dropout

    def forward(self, query, key, value, attn_mask=None, **_):
        masks = None if attn_mask is None else attn_mask.unflatten(0, (len(query), self.num_heads))  # (B, H, T, S)
        heads = []
        for h in range(self.num_heads):
            q, k, v = self.q_projs[h](query), self.k_projs[h](key), self.v_projs[h](value)  # (B, T or S, d_k)
            scores = q @ k.transpose(1, 2) / math.sqrt(self.width)  # (B, T, S)
            if masks is not None:
                mask = masks[:, h]
                scores = scores.masked_fill(mask, -math.inf) if mask.dtype == torch.bool else scores + mask
            weights = F.dropout(torch.softmax(scores, dim=-1), self.dropout, self.training)
            heads.append(weights @ v)
        return self.out_proj(torch.cat(heads, dim=-1)), None


def linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    """Return a linear layer with a copy of this weight and bias."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], device=weight.device, dtype=weight.dtype)
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
    return layer


def with_looped_heads(model: nn.Module) -> nn.Module:
    """Return a copy of the model in which every nn.MultiheadAttention is a loop over heads with the same weights."""
    model = copy.deepcopy(model)
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.MultiheadAttention):
                setattr(parent, name, LoopedHeads(child))
    return model


class CachedEncoder:
    """A Translator that encodes a source once instead of for every new token. It is called like the Translator."""

    def __init__(self, model: Any):
        self.model = model
        self.source: Tensor | None = None

    def __call__(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        if not self._read_before(source_ids):
            self.source = source_ids
            self.memory, self.mask = self.model.encode(source_ids)
        rows = len(source_ids)  # beam search passes several copies of one source
        return self.model.decode(target_ids, self.memory.expand(rows, -1, -1), self.mask.expand(rows, -1, -1, -1))

    def _read_before(self, source_ids: Tensor) -> bool:
        known = self.source
        if known is None or known.shape[1] != source_ids.shape[1] or len(known) not in (1, len(source_ids)):
            return False
        return bool((known == source_ids).all())


# --- training ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The settings of a training run."""

    minutes: float
    steps: int  # 0: as many as the minutes allow
    layers: int
    width: int
    heads: int
    dropout: float
    smoothing: float
    warmup: int  # steps
    room: int  # tokens of one language in a batch, padding included
    vocab_size: int
    joint: bool  # one vocabulary, and one embedding table for source, target and output
    average: int  # number of measurements whose weights are averaged; 1: no averaging
    seed: int
    device: str
    source: str  # languages
    target: str
    precision: str  # of matrix products; one of PRECISIONS

    def autocast(self) -> contextlib.AbstractContextManager:
        if self.precision == "float32":
            return contextlib.nullcontext()
        return torch.autocast(self.device, getattr(torch, self.precision))


@dataclass
class Outcome:
    """The result of a training run."""

    parameters: int
    steps: int
    tokens: int
    seconds: float
    validation: float  # nats per target token
    speed: float = 0.0  # tokens per second, measured in turns with the other layout; 0: not measured
    bleu: float = 0.0
    sacrebleu: float | None = None  # None: sacrebleu is not installed


def sizes(tokenizers: TokenizerPair, recipe: Recipe) -> dict[str, Any]:
    """Return a Translator's arguments, except the padding id and the class of its blocks."""
    return {
        "source_vocab": tokenizers.source.get_vocab_size(),
        "target_vocab": tokenizers.target.get_vocab_size(),
        "embed_dim": recipe.width,
        "num_heads": recipe.heads,
        "ff_dim": 4 * recipe.width,
        "num_layers": recipe.layers,
        "dropout": recipe.dropout,
        "max_len": ROOM,
    }


def new_model(parts: SimpleNamespace, tokenizers: TokenizerPair, recipe: Recipe, layout: str) -> nn.Module:
    torch.manual_seed(recipe.seed)
    model = parts.Translator(**sizes(tokenizers, recipe), pad_id=PAD, decoder_block=parts.DecoderBlock)
    if recipe.joint:  # three-way tying (Vaswani et al. 2017, section 3.4): the output already shares the target's table
        model.source_embedding = model.target_embedding
    return (with_looped_heads(model) if layout == "looped" else model).to(recipe.device)


class Trainer:
    """A model with its optimizer, trained step by step."""

    def __init__(self, parts: SimpleNamespace, model: nn.Module, recipe: Recipe):
        self.parts, self.model, self.recipe = parts, model, recipe
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)
        self.taken = 0

    def step(self, batch: Batch, cooling: float = 1.0) -> Tensor:
        """Make one update; `cooling` scales the schedule's rate. Return the loss in nats per target token."""
        self.taken += 1
        rate = self.parts.noam_rate(self.taken, self.recipe.width, self.recipe.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * cooling
        with self.recipe.autocast():
            logits = self.model(batch.source, batch.inputs)  # (B, T, V)
            loss = self.parts.label_smoothed_loss(logits.float(), batch.targets, self.recipe.smoothing, PAD)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.detach()


@torch.no_grad()
def validation_loss(model: nn.Module, batches: Sequence[Batch], recipe: Recipe) -> float:
    """Return the cross-entropy without smoothing, in nats per target token."""
    model.eval()
    total = count = 0.0
    for batch in batches:
        with recipe.autocast():
            logits = model(batch.source, batch.inputs)
        losses = F.cross_entropy(logits.float().transpose(1, 2), batch.targets, ignore_index=PAD, reduction="sum")
        total, count = total + losses.item(), count + int((batch.targets != PAD).sum())
    model.train()
    return total / count


@dataclass
class Progress:
    """The progress of a training run: all that is needed to resume it exactly."""

    best: float
    weights: dict[str, Tensor]  # those with the lowest validation loss
    tokens: int = 0
    seconds: float = 0.0
    done: float = 0.0  # share of the run that is done
    checked: float = 0.0  # the share at the last measurement
    recent: list[float] = field(default_factory=list)  # losses since the last measurement
    lately: list[dict[str, Tensor]] = field(default_factory=list)  # weights at the last measurements, if averaged
    points: list[checkpoints.Point] = field(default_factory=list)


def train(
    parts: SimpleNamespace,
    model: nn.Module,
    batches: BatchStream,
    held: Sequence[Batch],
    recipe: Recipe,
    name: str,
    *,
    folder: Path | None = None,
    run: str = "",
    scores_of: Callable[[nn.Module], tuple[float | None, float | None]] = lambda model: (None, None),
) -> Outcome:
    """Train for the recipe's minutes, without translating; keep the weights with the lowest validation loss.

    In the last fifth of the time the rate falls to zero: that gains more than the same time at full rate. Each of
    twenty measurements adds a point to the curve, with the scores from `scores_of`. With a folder, each also saves the
    state there, and a later training of the same `run` resumes from it.
    """
    trainer = Trainer(parts, model.train(), recipe)
    now = Progress(math.inf, copy.deepcopy(model.state_dict()))
    if folder and (kept := checkpoints.kept_state(folder, recipe.device)):
        batches, now = resumed(kept, run, folder, trainer, batches)
    started = time.perf_counter() - now.seconds
    with tqdm(total=100, desc=name, bar_format="{desc}: {n:.0f} %|{bar}| {elapsed}{postfix}") as bar:
        while now.done < 1:
            batch = next(batches)
            now.recent.append(trainer.step(batch, cooling=min(1.0, (1 - now.done) / 0.2)).item())
            now.tokens += batch.tokens
            now.seconds = time.perf_counter() - started
            elapsed = now.seconds / (60 * recipe.minutes)
            now.done = min(1.0, trainer.taken / recipe.steps if recipe.steps and elapsed < 1 else elapsed)
            bar.update(100 * now.done - bar.n)
            if twentieths(now.done) > twentieths(now.checked):
                paused = time.perf_counter()
                scores = scores_of(model)
                started += time.perf_counter() - paused  # translating does not count
                point = look(trainer, held, now, scores)
                model.train()
                bar.set_postfix_str(f"loss {point.training:.2f}, validation {point.validation:.2f}")
                now.seconds = time.perf_counter() - started
                if folder:
                    checkpoints.keep_curve(folder, now.points, name)
                    checkpoints.keep_state(folder, state_of(run, trainer, batches, now))
    model.load_state_dict(now.weights)
    return Outcome(sum(p.numel() for p in model.parameters()), trainer.taken, now.tokens, now.seconds, now.best)


def twentieths(share: float) -> int:
    """Return how many twentieths of the whole are done. The summand makes 3 / 60 count as one."""
    return math.floor(20 * share + 1e-9)


def look(
    trainer: Trainer, held: Sequence[Batch], now: Progress, scores: tuple[float | None, float | None]
) -> checkpoints.Point:
    """Measure the model, add a point to the curve and return it; keep the weights if they are the best so far.

    With averaging, the mean of the weights at the last measurements is a candidate too.
    """
    model = trainer.model
    validation = validation_loss(model, held, trainer.recipe)
    training = sum(now.recent) / len(now.recent)
    point = checkpoints.Point(trainer.taken, now.seconds / 60, training, validation, *scores)
    now.points.append(point)
    now.checked, now.recent = now.done, []
    if validation < now.best:
        now.best, now.weights = validation, copy.deepcopy(model.state_dict())
    if trainer.recipe.average > 1:
        here = copy.deepcopy(model.state_dict())
        now.lately = [*now.lately, here][-trainer.recipe.average :]
        mean = mean_of(now.lately)
        model.load_state_dict(mean)
        if (averaged := validation_loss(model, held, trainer.recipe)) < now.best:
            now.best, now.weights = averaged, mean
        model.load_state_dict(here)
    return point


def mean_of(states: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Return the mean of each weight, as Vaswani et al. 2017, section 6.1, average the last checkpoints."""
    return {name: torch.stack([state[name] for state in states]).mean(dim=0) for name in states[0]}


def state_of(run: str, trainer: Trainer, batches: BatchStream, now: Progress) -> dict[str, Any]:
    """Return the state (numbers, texts and tensors) from which `resumed` goes on."""
    return {
        "run": run,
        "model": trainer.model.state_dict(),
        "optimizer": trainer.optimizer.state_dict(),
        "taken": trainer.taken,
        "place": batches.place,
        "random": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state() if trainer.recipe.device == "cuda" else None,
        "progress": {name: value for name, value in vars(now).items() if name != "points"},
        "points": [asdict(point) for point in now.points],
    }


def resumed(
    kept: dict[str, Any], run: str, folder: Path, trainer: Trainer, batches: BatchStream
) -> tuple[BatchStream, Progress]:
    """Restore model, optimizer and random states; return the batches and the progress from there on.

    Raise UnusablePairs if the state belongs to another run.
    """
    if kept["run"] != run:
        raise UnusablePairs(
            f"{folder} holds the unfinished training of other data or with other settings. "
            "Name another folder with --out, or delete that one."
        )
    trainer.model.load_state_dict(kept["model"])
    trainer.optimizer.load_state_dict(kept["optimizer"])
    trainer.taken = kept["taken"]
    torch.set_rng_state(kept["random"].cpu())
    if kept["cuda"] is not None:
        torch.cuda.set_rng_state(kept["cuda"].cpu())
    place = kept["place"]
    stream = BatchStream(batches.pairs, batches.room, batches.seed, batches.device, (place[0], place[1]))
    points = [checkpoints.Point(**point) for point in kept["points"]]
    console.print(f"Going on after step {trainer.taken:,}, where an earlier run ended.")
    return stream, Progress(**kept["progress"], points=points)


def compare_speed(
    parts: SimpleNamespace, tokenizers: TokenizerPair, batches: BatchStream, recipe: Recipe, rounds: int
) -> dict[str, float]:
    """Measure the tokens per second of training in both layouts, in turns, with the same weights and batches.

    Each layout takes each batch four times, and its fastest step counts: slower ones are due to other programs or the
    warm-up. The comparison runs before the training and does not touch its model.
    """
    racers = {
        layout: Trainer(parts, new_model(parts, tokenizers, recipe, layout).train(), recipe) for layout in LAYOUTS
    }
    tokens, spent = 0, dict.fromkeys(LAYOUTS, 0.0)
    for batch in itertools.islice(batches, rounds):
        tokens += batch.tokens
        quickest = dict.fromkeys(LAYOUTS, math.inf)
        for _, (layout, trainer) in itertools.product(range(4), racers.items()):
            started = time.perf_counter()
            trainer.step(batch).item()  # item() waits for the GPU
            quickest[layout] = min(quickest[layout], time.perf_counter() - started)
        spent = {layout: seconds + quickest[layout] for layout, seconds in spent.items()}
    return {layout: tokens / seconds for layout, seconds in spent.items()}


# --- translating and scoring ------------------------------------------------------------------------------------------


def translate(
    parts: SimpleNamespace, model: nn.Module, tokenizers: TokenizerPair, texts: Sequence[str], recipe: Recipe, beam: int
) -> list[str]:
    """Return the model's translations. `beam` 1: greedy, in batches of similar length; more: one by one."""
    model.eval()
    rows = tokenizers.read(texts)
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    size = 64 if beam == 1 else 1
    found: dict[int, list[int]] = {}
    for places in tqdm([order[i : i + size] for i in range(0, len(order), size)], desc="translating", leave=False):
        source = padded([rows[i] for i in places], recipe.device)
        longest = min(source.shape[1] * 3 // 2 + 10, ROOM - 1)
        with recipe.autocast():
            if beam == 1:
                written = parts.greedy_decode(CachedEncoder(model), source, BOS, EOS, longest)
            else:
                written = [parts.beam_search(CachedEncoder(model), source, BOS, EOS, beam, longest)]
        found |= dict(zip(places, written, strict=True))
    return [tokenizers.target.decode(found[i]) for i in range(len(rows))]


def score(parts: SimpleNamespace, hypotheses: Sequence[str], references: Sequence[str]) -> tuple[float, float | None]:
    """Return the course's BLEU (on words and punctuation) and sacrebleu's (on its tokens), None without sacrebleu."""
    split_words = reference("split_words")
    ours = parts.bleu([split_words(text) for text in hypotheses], [split_words(text) for text in references])
    if importlib.util.find_spec("sacrebleu") is None:
        return ours, None
    import sacrebleu

    return ours, sacrebleu.corpus_bleu(list(hypotheses), [list(references)]).score


# --- the report -------------------------------------------------------------------------------------------------------

# Darth Chudi's blog post, blog.chudioranu.com/posts/language-models, and its code, github.com/darthchudi/transformer-py
PUBLISHED_PAIRS = 174_918
PUBLISHED = {
    "from, to": "igbo, english",
    "training pairs": f"three quarters of {PUBLISHED_PAIRS:,}",
    "layers, width, heads": "6, 512, 8",
    "heads": "looped",
    "vocabulary": "10,000 each",
    "training": "20 epochs in the post, 30 in its code",
    "validation loss": "2.7 (training 2.1)",
    "BLEU": "35.0 on its test, 48.3 in evaluation",
}


def report(outcomes: dict[str, Outcome], corpus: Corpus, tested: int, recipe: Recipe) -> Table:
    """Return a table of this run beside the published one. A dash means not measured or not published."""
    table = Table(title="This run and the published Igbo–English run")
    table.add_column("")
    for layout in outcomes:
        table.add_column(f"this run, {layout}")
    table.add_column("published run")

    def row(title: str, say: Callable[[str, Outcome], str]) -> None:
        table.add_row(title, *(say(layout, one) for layout, one in outcomes.items()), PUBLISHED.get(title, "–"))

    row("from, to", lambda layout, one: f"{recipe.source}, {recipe.target}")
    row("training pairs", lambda layout, one: f"{len(corpus.train):,}")
    row("layers, width, heads", lambda layout, one: f"{recipe.layers}, {recipe.width}, {recipe.heads}")
    row("heads", lambda layout, one: layout)
    row(
        "vocabulary",
        lambda layout, one: f"{recipe.vocab_size:,}" + (" for both, one table" if recipe.joint else " each"),
    )
    row("parameters", lambda layout, one: f"{one.parameters:,}")
    row(
        "training",
        lambda layout, one: f"{one.seconds / 60:.1f} min on {recipe.device} in {recipe.precision}, {one.steps:,} steps",
    )
    row("tokens seen", lambda layout, one: f"{one.tokens:,}")
    row("tokens per second, side by side", lambda layout, one: f"{one.speed:,.0f}" if one.speed else "–")
    row("validation loss", lambda layout, one: f"{one.validation:.3f} nats per token")
    row("BLEU", lambda layout, one: f"{one.bleu:.1f} on {tested:,} sentences")
    row(
        "BLEU, sacrebleu's tokens",
        lambda layout, one: "not installed" if one.sacrebleu is None else f"{one.sacrebleu:.1f}",
    )
    return table


def difference(corpus: Corpus, stories: bool) -> str:
    """Return a note on why the two runs' scores cannot be compared."""
    published = PUBLISHED_PAIRS * 3 // 4
    times = published / len(corpus.train)
    amount = f"{times:.0f} times as many as" if times >= 1.5 else "about as many as" if times > 0.7 else "fewer than"
    kind = (
        "real sentences; these are written by a small grammar" if stories else "other sentences, and tested on others"
    )
    return (
        f"The published run learnt from about {published:,} pairs, {amount} here ({len(corpus.train):,}), and from "
        f"{kind}. So the scores do not say which model is better."
    )


# --- the command ------------------------------------------------------------------------------------------------------


def scorer(
    parts: SimpleNamespace, tokenizers: TokenizerPair, pairs: Sequence[Pair], recipe: Recipe
) -> Callable[[nn.Module], tuple[float | None, float | None]]:
    """Return a function that scores a model's greedy translations of these pairs by sacrebleu.

    It returns BLEU and chrF, or (None, None) without sacrebleu.
    """

    def scores_of(model: nn.Module) -> tuple[float | None, float | None]:
        if importlib.util.find_spec("sacrebleu") is None:
            return None, None
        import sacrebleu

        ours = translate(parts, model, tokenizers, [pair[0] for pair in pairs], recipe, beam=1)
        right = [[pair[1] for pair in pairs]]
        return sacrebleu.corpus_bleu(ours, right).score, sacrebleu.corpus_chrf(ours, right).score

    return scores_of


def about(corpus: Corpus, recipe: Recipe, tokenizers: TokenizerPair, outcome: Outcome) -> dict[str, Any]:
    """Return the content of model.json: the sizes, from which say.py builds the model, its settings and its loss."""
    return {
        "sizes": sizes(tokenizers, recipe),
        "source": recipe.source,
        "target": recipe.target,
        "training pairs": len(corpus.train),
        "steps": outcome.steps,
        "validation loss": outcome.validation,
        "recipe": asdict(recipe),
    }


def run(
    corpus: Corpus,
    recipe: Recipe,
    layouts: Sequence[str],
    beam: int,
    tests: int,
    rounds: int,
    *,
    out: Path,
    judged: int,
) -> dict[str, Outcome]:
    """Train, translate and score in each layout; save the models; print some translations. Return the results.

    Raise WouldOverwrite if a folder holds other files, UnusablePairs if the pairs cannot be used.
    """
    folders = {layout: out if len(layouts) == 1 else out / layout for layout in layouts}
    for folder in folders.values():
        refuse_foreign(folder, checkpoints.OURS, "translator of ours")
    parts = notebook_parts()
    generator = random.Random(recipe.seed)
    tokenizers = TokenizerPair.learned(corpus.train, recipe.vocab_size, recipe.joint)
    train_ids = [pair for pair in tokenizers.pairs(corpus.train) if max(map(len, pair)) <= ROOM // 2]
    dropped = len(corpus.train) - len(train_ids)
    if not train_ids:
        raise UnusablePairs(f"All training pairs are longer than {ROOM // 2} tokens. Cut them into sentences.")
    if dropped:
        corpus.remarks.append(f"{dropped:,} training pairs of more than {ROOM // 2} tokens were left out.")
    held = [
        Batch.of(batch, recipe.device)
        for batch in batches_by_length(tokenizers.pairs(corpus.validation[:CHECKED]), recipe.room, generator)
    ]
    test = corpus.test if not tests or tests >= len(corpus.test) else generator.sample(corpus.test, tests)

    speeds = dict.fromkeys(LAYOUTS, 0.0)
    if not any((folder / checkpoints.UNFINISHED).is_file() for folder in folders.values()):
        console.print("Comparing the speed of the two layouts …")
        speeds = compare_speed(
            parts, tokenizers, BatchStream(train_ids, recipe.room, recipe.seed, recipe.device), recipe, rounds
        )
        console.print(
            "Tokens per second of training, side by side: "
            + ", ".join(f"{layout} heads {speed:,.0f}" for layout, speed in speeds.items())
            + f" (fused is {speeds['fused'] / speeds['looped']:.2f} times as fast)"
        )
    scores_of = scorer(parts, tokenizers, corpus.validation[:judged], recipe)
    outcomes = {}
    for layout, folder in folders.items():
        model = new_model(parts, tokenizers, recipe, layout)
        batches = BatchStream(train_ids, recipe.room, recipe.seed, recipe.device)
        name = hashlib.sha256(repr((recipe, layout, judged, train_ids, corpus.validation)).encode()).hexdigest()
        outcome = train(
            parts, model, batches, held, recipe, f"{layout} heads", folder=folder, run=name, scores_of=scores_of
        )
        described = about(corpus, recipe, tokenizers, outcome)
        # Save a tied table under each of its names, so that loading does not depend on the tying
        weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        checkpoints.keep_model(folder, weights, described, tokenizers.source, tokenizers.target)
        checkpoints.finished(folder)
        written = translate(parts, model, tokenizers, [pair[0] for pair in test], recipe, beam)
        outcome.bleu, outcome.sacrebleu = score(parts, written, [pair[1] for pair in test])
        outcome.speed = speeds[layout]
        outcomes[layout] = outcome
        for (source, right), ours in list(zip(test, written, strict=True))[:3]:
            console.print(f"\n{source}\n  {layout}: {ours}\n  right: {right}", markup=False)
    console.print(report(outcomes, corpus, len(test), recipe))
    console.print(f"Kept in {out}: the model, its tokenizers, the curve (curve.png, curve.csv), and say.py to use it.")
    return outcomes


@app.command()
def main(
    tsv: Annotated[
        Path,
        typer.Argument(
            help="A table of sentence pairs, two files of lines (OPUS: the name they share), or a folder of either.",
            show_default="the course's sentences",
        ),
    ] = STORIES,
    minutes: Annotated[float, typer.Option(min=0.001, help="How long to train, translating not counted.")] = 10.0,
    layout: Annotated[str, typer.Option(help="fused, looped or both (one after the other, each so long).")] = "fused",
    source: Annotated[str, typer.Option(help="The column to translate from.")] = "english",
    target: Annotated[str, typer.Option(help="The column to translate into.")] = "igbo",
    layers: Annotated[
        int | None, typer.Option(min=1, help="Of encoder and decoder each; 2, own pairs 3, on a GPU 6.")
    ] = None,
    width: Annotated[
        int | None, typer.Option(min=2, help="Even, a multiple of the heads; 128, own pairs 192, on a GPU 512.")
    ] = None,
    heads: Annotated[int | None, typer.Option(min=1, help="4, on a GPU 8.")] = None,
    dropout: Annotated[float | None, typer.Option(min=0.0, max=0.9, help="0.1; own pairs 0.3, on a GPU 0.1.")] = None,
    smoothing: Annotated[float, typer.Option(min=0.0, max=0.9, help="Label smoothing.")] = 0.1,
    warmup: Annotated[
        int | None, typer.Option(min=1, help="Steps until the rate is highest; 400, own pairs or on a GPU 4,000.")
    ] = None,
    batch_tokens: Annotated[int | None, typer.Option(min=ROOM, help="Of one language; 1,024, on a GPU 16,384.")] = None,
    vocab_size: Annotated[
        int | None,
        typer.Option(min=300, help="Tokens of each language (joint: of both), at most; 4,000, own pairs 2,000."),
    ] = None,
    joint: Annotated[
        bool | None,
        typer.Option(
            "--joint/--separate", help="One vocabulary and one table of embeddings for both; separate, own pairs joint."
        ),
    ] = None,
    average: Annotated[
        int | None,
        typer.Option(
            min=1, help="Try the mean of the weights at so many of the twenty looks; 1: of none. Own pairs 5."
        ),
    ] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="The base model of 2017 where nothing else is said. For a large GPU.")
    ] = False,
    steps: Annotated[
        int, typer.Option(min=0, help="Stop after so many steps, if the minutes allow them; 0: do not.")
    ] = 0,
    beam: Annotated[int, typer.Option(min=1, help="1: greedy; more: beam search, slow.")] = 1,
    tests: Annotated[int, typer.Option(min=0, help="Score so many test sentences, drawn at random; 0: all.")] = 500,
    rounds: Annotated[int, typer.Option(min=1, help="Batches in the comparison of the layouts' speed.")] = 10,
    precision: Annotated[
        str | None,
        typer.Option(help="float32 or bfloat16; float32, on a GPU bfloat16. Some processors are faster in bfloat16."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the weights, the batches and what is held out.")] = 11,
    out: Annotated[
        Path | None,
        typer.Option(help="The folder that keeps the model.", show_default="translator-SOURCE-TARGET"),
    ] = None,
    judged: Annotated[int, typer.Option(min=1, help="Held-out sentences for each point of the curve.")] = 100,
) -> None:
    """Train notebook 11's translator on sentence pairs; report BLEU beside the published English–Igbo run."""
    if layout not in (*LAYOUTS, "both"):
        raise typer.BadParameter(f"fused, looped or both, not {layout}", param_hint="--layout")
    if precision not in (None, *PRECISIONS):
        raise typer.BadParameter(f"{' or '.join(PRECISIONS)}, not {precision}", param_hint="--precision")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    usual: dict[str, Any] = {"vocab_size": 4_000, "joint": False, "average": 1} | USUAL[device]
    if tsv != STORIES and device == "cpu":
        usual |= OWN
    if paper:
        usual |= PAPER
    said: dict[str, Any] = {"layers": layers, "width": width, "heads": heads, "warmup": warmup, "room": batch_tokens}
    said |= {"vocab_size": vocab_size, "joint": joint, "average": average, "dropout": dropout}
    recipe = Recipe(
        **usual | {name: value for name, value in said.items() if value is not None},
        minutes=minutes,
        steps=steps,
        smoothing=smoothing,
        seed=seed,
        device=device,
        source=source,
        target=target,
        precision=precision or ("bfloat16" if device == "cuda" else "float32"),
    )
    if recipe.width % recipe.heads or recipe.width % 2:
        raise typer.BadParameter(
            f"{recipe.width} must be even and a multiple of {recipe.heads} heads", param_hint="--width"
        )
    try:
        corpus = Corpus.of(tsv, source, target, random.Random(seed))
        console.print(
            f"{len(corpus.train):,} training pairs, {len(corpus.validation):,} for validation, {len(corpus.test):,} to "
            f"test on; {minutes:g} minutes on {device}"
        )
        layouts = LAYOUTS if layout == "both" else (layout,)
        out = out or Path(f"translator-{source}-{target}")
        run(corpus, recipe, layouts, beam, tests, rounds, out=out, judged=judged)
    except (UnusablePairs, WouldOverwrite) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    for remark in [*corpus.remarks, difference(corpus, tsv == STORIES)]:
        console.print(remark)


if __name__ == "__main__":
    app()
