"""Notebook 02: characters, words, byte-pair encoding from scratch, and what other scripts pay for it."""

# ruff: noqa: B905, RUF007 (neighbours come from zip, which students know; pairwise is not in the notebook)

from __future__ import annotations

import math
import unicodedata
from collections import Counter, defaultdict
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from .declare import Alternative, Check, Exercise, Mistake, Wrong, edited, written

# --- references -------------------------------------------------------------------------------------------------------


def build_vocab(text):
    """Character vocabulary: each symbol's id is its place among the sorted symbols.

    text: str. Returns (stoi: dict str -> int, itos: dict int -> str), each the inverse of the other.
    Example: "banana" -> ({"a": 0, "b": 1, "n": 2}, {0: "a", 1: "b", 2: "n"})
    """
    itos = dict(enumerate(sorted(set(text))))
    stoi = {symbol: i for i, symbol in itos.items()}
    return stoi, itos


def encode(text, stoi):
    """Turn a text into ids, one for each character.

    text: str; stoi: dict str -> int. Returns a list of int.
    A character that is not in stoi is a ValueError that names it.
    Example: "abba" with {"a": 0, "b": 1} -> [0, 1, 1, 0]
    """
    for symbol in text:
        if symbol not in stoi:
            raise ValueError(f"text contains {symbol!r}, which is not in the vocabulary")
    return [stoi[symbol] for symbol in text]


def decode(ids, itos):
    """Turn ids back into the text they stand for: the inverse of encode.

    ids: list of int; itos: dict int -> str. Returns a str.
    An id that is not in itos is a ValueError that names it.
    Example: [0, 1, 1, 0] with {0: "a", 1: "b"} -> "abba"
    """
    for i in ids:
        if i not in itos:
            raise ValueError(f"ids contains {i}, which is not in the vocabulary")
    return "".join(itos[i] for i in ids)


def split_words(text):
    """White-space tokeniser: words and single punctuation marks, in any script.

    text: str. Returns a list of str; nothing but white space is lost or changed.
    Punctuation is what Unicode puts into a category that begins with P. A word keeps the marks
    written on it (categories M: accents, vowel signs) and joiners inside it (U+200C, U+200D).
    Example: "Don't go, Ada!" -> ["Don", "'", "t", "go", ",", "Ada", "!"]
    """
    spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text]
    return "".join(spaced).split()


def count_pairs(words):
    """How often two symbols stand side by side, each word counted as often as it occurs.

    words: dict from a word, spelt as a tuple of symbols, to its frequency.
    Returns a Counter from pairs (left, right) to counts.
    Example: {("a", "b", "a"): 3, ("a", "b"): 2} -> {("a", "b"): 5, ("b", "a"): 3}
    """
    counts = Counter()
    for symbols, frequency in words.items():
        for pair in zip(symbols, symbols[1:]):
            counts[pair] += frequency
    return counts


def merge_pair(symbols, pair):
    """Join every occurrence of a pair into one symbol, from left to right, without overlap.

    symbols: tuple of str; pair: (left, right). Returns a tuple of str.
    Example: ("a", "a", "a") with ("a", "a") -> ("aa", "a")
    """
    merged = []
    for symbol in symbols:
        if merged and (merged[-1], symbol) == pair:
            merged[-1] += symbol  # a joined symbol is longer than the left one, so it is not joined again
        else:
            merged.append(symbol)
    return tuple(merged)


def train_bpe(words, num_merges):
    """Learn merges by byte-pair encoding (Sennrich et al. 2016, algorithm 1).

    words: dict from a word, spelt as a tuple of symbols, to its frequency; it stays unchanged.
    Returns at most num_merges pairs in the order learned: the most frequent pair first, of
    equally frequent ones the lexicographically smallest; fewer if no pair is left.
    Example: {("a", "b", "c"): 2, ("a", "b"): 1}, 2 -> [("a", "b"), ("ab", "c")]
    """
    spellings, frequencies = list(words), list(words.values())
    counts = count_pairs(words)
    holders = defaultdict(set)  # pair -> numbers of the words that hold it: the others need no work
    for i, symbols in enumerate(spellings):
        for pair in zip(symbols, symbols[1:]):
            holders[pair].add(i)
    merges = []
    while len(merges) < num_merges:
        top = max(counts.values(), default=0)
        if top == 0:
            break  # every word is a single symbol
        best = min(pair for pair, count in counts.items() if count == top)
        merges.append(best)
        for i in holders.pop(best):
            old, new = spellings[i], merge_pair(spellings[i], best)
            for pair in zip(old, old[1:]):
                counts[pair] -= frequencies[i]
            for pair in zip(new, new[1:]):
                counts[pair] += frequencies[i]
                holders[pair].add(i)
            spellings[i] = new
    return merges


def bpe_encode(word, merges):
    """Cut a word into subwords with learned merges (Sennrich et al. 2016, section 3.2).

    word: str; merges: list of pairs in the order learned. Returns a list of str.
    Of the pairs in the word the one learned earliest is merged, everywhere, until none is left to merge.
    Example: "abcab" with [("b", "c"), ("a", "b")] -> ["a", "bc", "ab"]
    """
    rank = {pair: i for i, pair in enumerate(merges)}
    symbols = tuple(word)
    while len(symbols) > 1:
        best = min(zip(symbols, symbols[1:]), key=lambda pair: rank.get(pair, math.inf))
        if best not in rank:
            break
        symbols = merge_pair(symbols, best)
    return list(symbols)


def train_tokenizer(texts, vocab_size):
    """Byte-level BPE with the tokenizers library (Radford et al. 2019, section 2.2).

    texts: iterable of str, read once; vocab_size: int, at least 256. Returns a tokenizers.Tokenizer.
    All 256 bytes are in the vocabulary, seen or not, so any Unicode text can be encoded,
    none of it becomes an unknown token, and decoding gives it back exactly.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # a space in front would stay
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def fertility(tokenizer, texts):
    """Tokens per white-space word: how many tokens each language pays for its words.

    tokenizer: tokenizers.Tokenizer; texts: dict from a language to its text, a str.
    Returns a dict from each language to a float. A text without words is a ValueError.
    Example: a text of 2 words that becomes 5 tokens -> 2.5
    """
    result = {}
    for language, text in texts.items():
        words = text.split()
        if not words:
            raise ValueError(f"texts[{language!r}] has no words")
        result[language] = len(tokenizer.encode(text).ids) / len(words)
    return result


POINTS = {"build_vocab": 1, "encode": 2, "decode": 1, "split_words": 4, "count_pairs": 2, "merge_pair": 3}
POINTS |= {"train_bpe": 6, "bpe_encode": 4, "train_tokenizer": 4, "fertility": 2}


def _draft(reference):
    def ask(student):
        student.has(reference.__name__)

    return Exercise(
        reference.__name__, "02-tokenisation", POINTS[reference.__name__], reference, [Check("there", 1.0, ask)], [], [], edited(reference)
    )


EXERCISES = [
    _draft(f)
    for f in (build_vocab, encode, decode, split_words, count_pairs, merge_pair, train_bpe, bpe_encode, train_tokenizer, fertility)
]
QUESTIONS: list = []
