"""Trains notebook 11's translator on any file of sentence pairs, for as long as you like.

    python -m tools.training.translate                                 the course's own sentences, Igbo to English
    python -m tools.training.translate news-train.tsv --minutes 60     real sentences
    python -m tools.training.translate FOLDER                          every *-train.tsv in it
    python -m tools.training.translate wikimedia.en-ig       a pair of OPUS files

docs/translating.md says which files can be read. After a kill, the same command resumes the run. Model, schedule, loss,
decoding and BLEU are the notebook's: its locked cells, and the reference answers to its exercises.
"""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
import random
import statistics
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import sacrebleu
import safetensors.torch
import torch
import torch.nn.functional as F
import typer
from matplotlib.figure import Figure
from rich.table import Table
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from tqdm import tqdm
from typer import Option

from autograder.files import WouldOverwrite, refuse_foreign, write_atomically
from autograder.judge.run_check import namespace_with
from autograder.spec.course import exercises, provided_code_in, reference

from . import checkpoints, say
from .checkpoints import UNFINISHED, OtherRun, console
from .gpt2 import byte_level_bpe
from .texts import BadText, chunks

NOTEBOOK = "11-translation"
STORIES = Path(__file__).resolve().parents[2] / "solutions" / NOTEBOOK / "stories-parallel.tsv"
LANGUAGES = {"english": ("en", "eng"), "igbo": ("ig", "ibo"), "bangla": ("bn", "ben")}  # other names in headers
PAD, BOS, EOS = 0, 1, 2
SPECIAL = ["<pad>", "<bos>", "<eos>"]  # in the order of their ids
ROOM = 256  # maximum length, in tokens
CHECKED = 500  # maximum number of validation pairs for each measurement of the loss
FEWEST = 20  # pairs; fewer cannot be split
JUDGED = 100  # validation sentences that each point of the curve translates
TESTED = 500  # maximum number of test sentences
SEED = 11  # of the weights, the batches and what is held out
SMOOTHING = 0.1
Precision = Literal["float32", "bfloat16"]
# For the course's stories: on a CPU, sizes that train in minutes; on a GPU, the published sizes and warm-up
USUAL = {
    "cpu": {"layers": 2, "width": 128, "heads": 4, "warmup": 400, "room": 1_024},
    "cuda": {"layers": 6, "width": 512, "heads": 8, "warmup": 4_000, "room": 16_384},
}
# For a user's sentences on a CPU, which are real and few (docs/translating.md)
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


# --- sentence pairs ---------------------------------------------------------------------------------------------------


def read_pairs(path: Path, source: str, target: str) -> list[Pair]:
    """Return the complete pairs of a tab-separated file whose first line names the columns. Raise BadText."""
    lines = lines_of(path)
    if not any(line.strip() for line in lines):
        raise BadText(f"{path.name} is empty. It should hold a line that names the columns, then a pair in each line.")
    header = cells(lines[0])
    if len(header) < 2:
        raise BadText(f"{path.name} has one column. Sentence pairs need two, with a tab between them.")
    indices = column(header, source, path, "--source"), column(header, target, path, "--target")
    if indices[0] == indices[1]:
        raise BadText(
            f"Source and target are the same column, {header[indices[0]]}. Name two: --source NAME --target NAME."
        )
    rows = [row for row in map(cells, lines[1:]) if len(row) > max(indices)]
    pairs = [(row[indices[0]], row[indices[1]]) for row in rows if row[indices[0]] and row[indices[1]]]
    if not pairs:
        raise BadText(f"{path.name} names its columns, but no line after that holds two sentences with a tab between.")
    return pairs


def read_two_files(stem: Path, source: str, target: str) -> list[Pair]:
    """Return the pairs of two files with matching lines, such as STEM.en and STEM.ig. Raise BadText."""
    lines = []
    for language, other in ((source, target), (target, source)):
        path = side(stem, language)
        if path is None:
            endings = " or ".join(f"{stem.name}.{code}" for code in codes(language))
            raise BadText(f"There is no {endings} in {stem.parent}: the {language} side of what is there in {other}.")
        lines.append(lines_of(path))
    if len(lines[0]) != len(lines[1]):
        raise BadText(
            f"The two files of {stem.name} have {len(lines[0]):,} and {len(lines[1]):,} lines. "
            "Line by line they should be translations of each other."
        )
    return [pair for pair in zip(*(map(tidied, side) for side in lines), strict=True) if all(pair)]


def codes(language: str) -> tuple[str, ...]:
    """Return the names of a language in file names and column headers."""
    return (language.casefold(), *LANGUAGES.get(language.casefold(), ()))


def side(stem: Path, language: str) -> Path | None:
    """Return the file of one language in a pair of files, or None."""
    found = (stem.with_name(f"{stem.name}.{code}") for code in codes(language))
    return next((path for path in found if path.is_file()), None)


def stems(path: Path, source: str, target: str) -> list[Path]:
    """Return the pairs of files at a folder, a common name, or one file, as names without suffix."""
    if path.is_dir():
        endings = {f".{code}" for code in codes(source)}
        found = sorted({file.with_suffix("") for file in path.iterdir() if file.suffix.casefold() in endings})
        return [stem for stem in found if side(stem, target)]
    if path.is_file():
        endings = {f".{code}" for language in (source, target) for code in codes(language)}
        return [path.with_suffix("")] if path.suffix.casefold() in endings else []
    return [path] if side(path, source) or side(path, target) else []


def lines_of(path: Path) -> list[str]:
    """Return a file's lines, split at newlines only: a sentence may hold other characters at which Python splits."""
    return "".join(chunks(path, "\n")).removesuffix("\n").split("\n")


def cells(line: str) -> list[str]:
    """Return the cells of one line, each tidied. Quotation marks may surround a cell, or belong to its sentence."""
    try:
        found = next(csv.reader([line], delimiter="\t", strict=True), [])
    except csv.Error:  # such as "Come in," he said: the marks end before the cell does, or never
        found = line.split("\t")
    return [tidied(cell) for cell in found]


def tidied(text: str) -> str:
    """Return the text with single spaces and composed letters (NFC)."""
    return unicodedata.normalize("NFC", " ".join(text.split()))


def column(header: Sequence[str], language: str, path: Path, option: str) -> int:
    """Return the index of the language's column. Raise BadText if there is none."""
    names = [name.casefold() for name in header]
    for name in codes(language):
        if name in names:
            return names.index(name)
    raise BadText(
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
        """Read a table, all *-train.tsv of a folder, or pairs of files; and *-dev.tsv and *-test.tsv next to tables."""
        files = sorted(path.glob("*-train.tsv")) if path.is_dir() else [path]
        if two := [] if path.is_dir() and files else stems(path, source, target):
            files, train = [], [pair for stem in two for pair in read_two_files(stem, source, target)]
        elif not files:
            raise BadText(f"No file in {path} ends in -train.tsv, and none is one of two such as NAME.en and NAME.ig.")
        else:
            train = [pair for file in files for pair in read_pairs(file, source, target)]
        held: dict[str, list[Pair]] = {"dev": [], "test": []}
        for file, part in itertools.product(files, held):
            held_out = file.with_name(file.name.removesuffix("train.tsv") + f"{part}.tsv")
            if file.name.endswith("-train.tsv") and held_out.is_file():
                held[part] += read_pairs(held_out, source, target)
        held["dev"] = without_sentences_of(held["dev"], held["test"])
        remarks = []
        for part, name in (("test", "test"), ("dev", "validation")):
            if not held[part]:
                different = list(dict.fromkeys(train))
                held[part] = generator.sample(different, min(len(different) // 10, 500))
                train = without_sentences_of(train, held[part])
                remarks.append(f"{len(held[part]):,} pairs were held out at random for {name}.")
        fresh = without_sentences_of(list(dict.fromkeys(train)), held["test"] + held["dev"])
        if len(fresh) < len(train):
            remarks.append(
                f"{len(train) - len(fresh):,} of {len(train):,} training pairs were left out: they were there twice, "
                "or one of their sentences is in the test or validation data."
            )
        if len(fresh) < FEWEST:
            raise BadText(f"There are {len(fresh)} different training pairs, and at least {FEWEST} are needed.")
        return cls(fresh, held["dev"], held["test"], remarks)


def without_sentences_of(pairs: Sequence[Pair], held: Sequence[Pair]) -> list[Pair]:
    """Return the pairs that share no sentence with the held-out ones."""
    sources, targets = ({pair[side] for pair in held} for side in (0, 1))
    return [pair for pair in pairs if pair[0] not in sources and pair[1] not in targets]


def padded(rows: Sequence[Sequence[int]], device: str) -> Tensor:
    """Return the ids [B, T], with <pad> after the shorter rows."""
    return pad_sequence(list(map(torch.tensor, rows)), batch_first=True, padding_value=PAD).to(device)


def batches_by_length(pairs: list, room: int, generator: random.Random) -> list[list]:
    """Return all pairs once, in shuffled batches of similar lengths with `room` tokens of a language, with padding."""
    order = sorted(pairs, key=lambda pair: (len(pair[1]) + generator.random() * 4, len(pair[0])))
    batches: list[list] = [[]]
    widest = 0
    for pair in order:
        width = max(map(len, pair))
        widest = max(widest, width)
        if batches[-1] and widest * (len(batches[-1]) + 1) > room:
            batches.append([])
            widest = width
        batches[-1].append(pair)
    generator.shuffle(batches)
    return batches


# --- training ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Recipe(checkpoints.Recipe):
    layers: int
    width: int
    heads: int
    dropout: float
    warmup: int  # steps
    room: int  # tokens of one language in a batch, padding included
    vocab_size: int
    joint: bool  # one vocabulary, and one embedding table for source, target and output
    average: int  # number of measurements whose weights are averaged; 1: no averaging
    source: str  # languages
    target: str


@dataclass
class Progress(checkpoints.Progress):
    tokens: int = 0
    epoch: int = 0
    used: int = 0  # batches of the epoch
    lately: list[dict[str, Tensor]] = field(default_factory=list)  # weights at the last measurements, if averaged


class Run(checkpoints.Run):
    """A training that ends after the recipe's minutes. In the last fifth of them the rate falls to zero."""

    now: Progress

    def __init__(self, corpus: Corpus, recipe: Recipe, folder: Path):
        declared = exercises(NOTEBOOK)
        # Everything that notebook 11 defines: its locked cells, and the reference answers to its exercises
        self.parts = SimpleNamespace(
            **namespace_with(declared[0], "\n\n".join(exercise.source for exercise in declared))
        )
        self.corpus, generator = corpus, random.Random(SEED)
        texts = [list(chain.from_iterable(corpus.train))] if recipe.joint else zip(*corpus.train, strict=True)
        learned = [byte_level_bpe(text, recipe.vocab_size, SPECIAL) for text in texts]
        self.source, self.target = learned[0], learned[-1]
        self.train_ids = [pair for pair in self.ids(corpus.train) if max(map(len, pair)) <= ROOM // 2]
        if not self.train_ids:
            raise BadText(f"All training pairs are longer than {ROOM // 2} tokens. Cut them into sentences.")
        if dropped := len(corpus.train) - len(self.train_ids):
            corpus.remarks.append(f"{dropped:,} training pairs of more than {ROOM // 2} tokens were left out.")
        self.held = batches_by_length(self.ids(corpus.validation[:CHECKED]), recipe.room, generator)
        self.test = corpus.test if len(corpus.test) <= TESTED else generator.sample(corpus.test, TESTED)
        self.sizes = {
            "source_vocab": self.source.get_vocab_size(),
            "target_vocab": self.target.get_vocab_size(),
            "embed_dim": recipe.width,
            "num_heads": recipe.heads,
            "ff_dim": 4 * recipe.width,
            "num_layers": recipe.layers,
            "dropout": recipe.dropout,
            "max_len": ROOM,
        }
        torch.manual_seed(SEED)
        model = self.parts.Translator(**self.sizes, pad_id=PAD, decoder_block=self.parts.DecoderBlock)
        if recipe.joint:  # three-way tying (Vaswani et al. 2017, section 3.4): the output shares the target's table
            model.source_embedding = model.target_embedding
        model.to(recipe.device).train()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)
        name = hashlib.sha256(repr((recipe, self.train_ids, corpus.validation)).encode()).hexdigest()
        super().__init__(folder, name, model, optimizer, recipe, Progress())
        self.batches = self.batches_of_epoch()

    def source_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return source sentences as ids, cut to the model's maximum length."""
        return [[*code.ids[: ROOM - 1], EOS] for code in self.source.encode_batch(list(texts))]

    def ids(self, pairs: Sequence[Pair]) -> list[tuple[list[int], list[int]]]:
        """Return pairs as ids, both sides cut to the model's maximum length."""
        sources, targets = zip(*pairs, strict=True)
        written = ([BOS, *code.ids[: ROOM - 1], EOS] for code in self.target.encode_batch(targets))
        return list(zip(self.source_ids(sources), written, strict=True))

    def batches_of_epoch(self) -> list[list]:
        return batches_by_length(self.train_ids, self.recipe.room, random.Random(f"{SEED} {self.now.epoch}"))

    def logits(self, pairs: list) -> tuple[Tensor, Tensor]:
        """Return the model's logits [B, T, V] for a batch, in float32, and the targets [B, T]."""
        source, target = (padded(side, self.recipe.device) for side in zip(*pairs, strict=True))
        with self.recipe.autocast():
            return self.model(source, target[:, :-1]).float(), target[:, 1:]

    def step(self) -> float:
        """Make one update; return the loss in nats per target token."""
        now = self.now
        if now.used == len(self.batches):
            now.epoch, now.used = now.epoch + 1, 0
            self.batches = self.batches_of_epoch()
        batch = self.batches[now.used]
        now.used += 1
        now.tokens += sum(len(source) + len(target) - 1 for source, target in batch)
        self.taken += 1
        cooling = min(1.0, (1 - now.share) / 0.2)
        for group in self.optimizer.param_groups:
            group["lr"] = cooling * self.parts.noam_rate(self.taken, self.recipe.width, self.recipe.warmup)
        loss = self.parts.label_smoothed_loss(*self.logits(batch), SMOOTHING, PAD)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def validation_loss(self) -> float:
        """Return the cross-entropy without smoothing, in nats per target token."""
        self.model.eval()
        total = count = 0.0
        for batch in self.held:
            logits, targets = self.logits(batch)
            total += F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=PAD, reduction="sum").item()
            count += int((targets != PAD).sum())
        return total / count

    def measure(self) -> str:
        """Measure the model, and with averaging also the mean of its weights at the last measurements."""
        now, model = self.now, self.model
        sources, references = zip(*self.corpus.validation[:JUDGED], strict=True)
        ours = self.translate(sources)
        training, validation = statistics.fmean(now.recent), self.validation_loss()
        now.points.append(
            {
                "step": self.taken,
                "minutes": now.seconds / 60,
                "training": training,  # mean smoothed loss since the last measurement, nats per target token
                "validation": validation,  # without smoothing
                "bleu": sacrebleu.corpus_bleu(ours, [references]).score,  # on held-out sentences
                "chrf": sacrebleu.corpus_chrf(ours, [references]).score,
            }
        )
        here = checkpoints.weights_of(model)
        self.compare(validation, here)
        if self.recipe.average > 1:
            now.lately = [*now.lately, here][-self.recipe.average :]
            # As Vaswani et al. 2017, section 6.1, average the last checkpoints
            mean = {name: torch.stack([state[name] for state in now.lately]).mean(dim=0) for name in here}
            model.load_state_dict(mean)
            self.compare(self.validation_loss(), mean)
            model.load_state_dict(here)
        model.train()
        self.keep_curve((9, 3.6))
        return f"loss {training:.2f}, validation {validation:.2f}"

    def draw(self, figure: Figure) -> None:
        """Draw the losses, and BLEU and chrF beside them."""
        loss, quality = figure.subplots(1, 2)
        labels = {"training": "training, smoothed targets", "validation": "validation"}
        checkpoints.draw_lines(loss, self.now.points, "step", labels)
        loss.set(xlabel="step", ylabel="loss (nats per target token)")
        checkpoints.draw_lines(quality, self.now.points, "step", {"bleu": "BLEU", "chrf": "chrF"})
        quality.set(title="On held-out sentences, by sacrebleu", xlabel="step", ylabel="score (0 to 100)")
        quality.set_ylim(0, max(10.0, *(1.1 * point[name] for point in self.now.points for name in ("bleu", "chrf"))))

    def more_state(self) -> dict[str, Any]:
        cuda = torch.cuda.get_rng_state() if self.recipe.device == "cuda" else None
        return {"random": torch.get_rng_state(), "cuda": cuda}

    def restore(self, state: dict[str, Any]) -> None:
        self.batches = self.batches_of_epoch()
        torch.set_rng_state(state["random"])
        if state["cuda"] is not None:
            torch.cuda.set_rng_state(state["cuda"])

    @torch.no_grad()
    def translate(self, texts: Sequence[str]) -> list[str]:
        """Return the model's greedy translations, made in batches of similar length."""
        model = self.model.eval()
        rows = self.source_ids(texts)
        order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
        found: dict[int, list[int]] = {}
        for indices in tqdm([order[i : i + 64] for i in range(0, len(order), 64)], desc="translating", leave=False):
            source = padded([rows[i] for i in indices], self.recipe.device)
            longest = min(source.shape[1] * 3 // 2 + 10, ROOM - 1)
            with self.recipe.autocast():
                encoded = model.encode(source)  # once, and not for every new token
                decode = partial(lambda encoded, _, target: model.decode(target, *encoded), encoded)
                written = self.parts.greedy_decode(decode, source, BOS, EOS, longest)
            found |= dict(zip(indices, written, strict=True))
        return [self.target.decode(found[i]) for i in range(len(rows))]

    def keep_model(self) -> None:
        """Write everything that say.py needs into the folder. Each file is replaced atomically."""
        folder = self.folder
        write_atomically(folder / "model.safetensors", safetensors.torch.save(self.now.weights))
        write_atomically(folder / "source.json", self.source.to_str(pretty=True).encode())
        write_atomically(folder / "target.json", self.target.to_str(pretty=True).encode())
        about = {"sizes": self.sizes, "source": self.recipe.source, "target": self.recipe.target}
        about |= {"training pairs": len(self.corpus.train), "steps": self.taken, "validation loss": self.now.best}
        about |= {"recipe": asdict(self.recipe)}
        write_atomically(folder / "model.json", (json.dumps(about, indent=2, ensure_ascii=False) + "\n").encode())
        # The notebook's locked cells, and the reference answers that they need
        wanted = ("DecoderBlock", "greedy_decode", "beam_search")
        answers = [exercise.source for exercise in exercises(NOTEBOOK) if exercise.name in wanted]
        title = '"""The translator of notebook 11: its parts, and how it writes."""'
        parts = "\n\n\n".join(map(str.strip, [provided_code_in(NOTEBOOK), *answers]))
        write_atomically(folder / "translator.py", f"{title}\n\n{parts}".encode())
        write_atomically(folder / "say.py", Path(say.__file__).read_bytes())

    def report(self, translations: Sequence[str]) -> Table:
        """Return a table of this run, with its translations of the test, beside the published one."""
        now, recipe = self.now, self.recipe
        references, split_words = [right for _, right in self.test], reference("split_words")
        bleu = self.parts.bleu(list(map(split_words, translations)), list(map(split_words, references)))
        sacrebleu_score = sacrebleu.corpus_bleu(list(translations), [references]).score
        parameters = sum(p.numel() for p in self.model.parameters())
        took = f"{now.seconds / 60:.1f} min on {recipe.device} in {recipe.precision}, {self.taken:,} steps"
        tables = " for both, one table" if recipe.joint else " each"
        table = Table("", "this run", "published run", title="This run and the published Igbo–English run")
        for row in (
            ("from, to", f"{recipe.source}, {recipe.target}", "igbo, english"),
            ("training pairs", f"{len(self.corpus.train):,}", f"three quarters of {PUBLISHED_PAIRS:,}"),
            ("layers, width, heads", f"{recipe.layers}, {recipe.width}, {recipe.heads}", "6, 512, 8"),
            ("vocabulary", f"{recipe.vocab_size:,}{tables}", "10,000 each"),
            ("parameters", f"{parameters:,}", "–"),
            ("training", took, "20 epochs in the post, 30 in its code"),
            ("tokens seen", f"{now.tokens:,}, {now.tokens / now.seconds:,.0f} per second", "–"),
            ("validation loss", f"{now.best:.3f} nats per token", "2.7 (training 2.1)"),
            ("BLEU", f"{bleu:.1f} on {len(self.test):,} sentences", "35.0 on its test, 48.3 in evaluation"),
            ("BLEU, sacrebleu's tokens", f"{sacrebleu_score:.1f}", "–"),
        ):
            table.add_row(*row)
        return table


# --- the command ------------------------------------------------------------------------------------------------------

# Darth Chudi's blog post, blog.chudioranu.com/posts/language-models, and its code, github.com/darthchudi/transformer-py
PUBLISHED_PAIRS = 174_918


def run(corpus: Corpus, recipe: Recipe, out: Path) -> None:
    """Train, translate and score; save the model; print some translations."""
    refuse_foreign(out, (UNFINISHED, "translator.py"), "translator of ours")
    training = Run(corpus, recipe, out)
    training.resume()
    training.train("training")
    if training.now.weights:  # none where the loss never was a number
        training.model.load_state_dict(training.now.weights)
    training.keep_model()
    training.finish()
    written = training.translate([source for source, _ in training.test])
    for (source, right), ours in list(zip(training.test, written, strict=True))[:3]:
        console.print(f"\n{source}\n  ours: {ours}\n  right: {right}", markup=False)
    console.print(training.report(written))
    console.print(f"Kept in {out}: the model, its tokenizers, the curve (curve.png, curve.csv), and say.py to use it.")


PAIRS = "A table of sentence pairs, two files of lines (OPUS: the name they share), or a folder of either."


@app.command()
def main(
    tsv: Annotated[Path, typer.Argument(help=PAIRS, show_default="the course's sentences")] = STORIES,
    minutes: Annotated[float, Option(min=0.001, help="How long to train, measuring not counted.")] = 10.0,
    source: Annotated[str, Option(help="The column to translate from.")] = "igbo",
    target: Annotated[str, Option(help="The column to translate into.")] = "english",
    paper: Annotated[bool, Option("--paper", help="The base model of 2017; large.")] = False,
    precision: Annotated[Precision | None, Option(help="Usually float32, on a GPU bfloat16.")] = None,
    out: Annotated[Path | None, Option(help="Folder to keep.", show_default="translator-SOURCE-TARGET")] = None,
) -> None:
    """Train notebook 11's translator on sentence pairs; report BLEU beside the published Igbo–English run."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    own = OWN if tsv != STORIES and device == "cpu" else {}
    settings: dict[str, Any] = {"vocab_size": 4_000, "joint": False, "average": 1, "dropout": 0.1} | USUAL[device] | own
    recipe = Recipe(
        **settings | (PAPER if paper else {}),
        minutes=minutes,
        device=device,
        source=source,
        target=target,
        precision=precision or ("bfloat16" if device == "cuda" else "float32"),
    )
    try:
        corpus = Corpus.of(tsv, source, target, random.Random(SEED))
        console.print(
            f"{len(corpus.train):,} training pairs, {len(corpus.validation):,} for validation, {len(corpus.test):,} to "
            f"test on; {minutes:g} minutes on {device}"
        )
        run(corpus, recipe, out or Path(f"translator-{source}-{target}"))
    except (BadText, OtherRun, WouldOverwrite) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    for remark in corpus.remarks:
        console.print(remark)
    published = PUBLISHED_PAIRS * 3 // 4
    console.print(
        f"The published run learnt from about {published:,} pairs, {published / len(corpus.train):,.1f} times as many "
        f"as here ({len(corpus.train):,}), and from other sentences. So the scores do not say which model is better."
    )


if __name__ == "__main__":
    app()
