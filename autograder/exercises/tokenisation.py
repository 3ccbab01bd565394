"""Notebook 02: characters, words, byte-pair encoding from scratch, and what other scripts pay for it."""

# ruff: noqa: B905, RUF007 (neighbours come from zip, which students know; pairwise is not in the notebook)

from __future__ import annotations

import builtins
import functools
import math
import re
import textwrap
import unicodedata
from collections import Counter, defaultdict
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from .compare import kind
from .declare import Alternative, Check, Exercise, Mistake, Question, Wrong, edited, source_of, written

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


# --- comparing plain data ---------------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    """Lists and tuples alike: which of the two it is, is asked about in one check of its own."""
    return tuple(map(_plain, value)) if isinstance(value, (list, tuple)) else value


def _same(got: Any, expected: Any, what: str, where: str) -> None:
    """A sequence of the right things in the right order, or a string."""
    if isinstance(expected, str):
        if not isinstance(got, str):
            raise Wrong(f"{what} {where} should be a string; yours is {kind(got)}.")
    elif not isinstance(got, (list, tuple)):
        raise Wrong(f"{what} {where} should be a {type(expected).__name__}; yours is {kind(got)}.")
    if _plain(got) != _plain(expected):
        raise Wrong(f"{what} {where}: {_difference(got, expected)}")


def _difference(got: Any, expected: Any) -> str:
    """Where two sequences part, without saying what should be there."""
    mine, theirs = list(map(_plain, got)), list(map(_plain, expected))
    if len(mine) == len(theirs) and all(item in theirs for item in mine) and all(item in mine for item in theirs):
        return "the right parts are there, but not in this order."
    place = next((i for i, (a, b) in enumerate(zip(mine, theirs)) if a != b), min(len(mine), len(theirs)))
    if place == len(mine):
        return "it begins well and ends too early." if mine else "nothing is there."
    if place == len(theirs):
        return f"it begins well, but {mine[place]!r} and what follows is too much."
    return f"the first difference is at index {place}, where yours has {mine[place]!r}."


def _exactly(got: Any, expected: Any, what: str, where: str) -> None:
    """The same as `_same`, and lists and tuples, whole numbers and strings are told apart."""
    _same(got, expected, what, where)
    if type(got) is not type(expected):
        raise Wrong(f"{what} {where} should be a {type(expected).__name__}; yours is {kind(got)}.", "wrong_type")
    for mine, theirs in zip(got, expected):
        if type(mine) is not type(theirs):
            raise Wrong(
                f"{what} {where} should hold {type(theirs).__name__} objects; yours holds {type(mine).__name__} objects.",
                "wrong_type",
            )


def _as_before(after: list, sent: list, names: str) -> None:
    """Lists and dictionaries are what they were before the call; `after` comes from `call(..., after=True)`."""
    for got, original in zip(after, sent):
        order = list if isinstance(original, (list, dict)) else repr  # dictionaries are equal in any order
        if type(got) is not type(original) or got != original or order(got) != order(original):
            raise Wrong(
                f"Your code changes its input ({names}): the caller's object is different afterwards. Work on a copy, or "
                "make a new object.",
                "input_changed",
            )


def _value_error(student: Any, name: str, args: list, culprit: Any, where: str) -> None:
    """A ValueError whose message names the culprit, a character or a number."""
    what = "character" if isinstance(culprit, str) else "id"
    try:
        got = student.call(name, args, where=where, after=True)["value"]
    except Wrong as wrong:
        facts = getattr(wrong, "facts", {})
        raised, text = str(facts.get("type")), str(facts.get("text"))
        known = getattr(builtins, raised, ValueError)  # an error class of the student's own may well be a ValueError
        if facts.get("kind") != "raised" or known is NotImplementedError:
            raise
        if not issubclass(known, ValueError):
            raise Wrong(
                f"An unknown {what} ({where}) should be a ValueError that names it; your code stops with {raised}."
            ) from None
        if isinstance(culprit, str):  # its code or its name in Unicode says which one it is as well
            code = rf"(?<![0-9a-f])0*({ord(culprit):x}|{ord(culprit)})(?![0-9a-f])"
            named = culprit in text or re.search(code, text.lower()) or unicodedata.name(culprit) in text.upper()
        else:
            named = re.search(rf"(?<!\d){culprit}(?!\d)", text)
        if not named:
            raise Wrong(
                f"The ValueError for an unknown {what} ({where}) does not say which {what} it is: put it into the message.",
                "not_named",
            ) from None
        return
    raise Wrong(
        f"An unknown {what} ({where}) should be a ValueError that names it; yours returned {kind(got)}.", "no_error"
    )


# --- writing mistakes compactly ---------------------------------------------------------------------------------------


def _with(reference: Any, body: str) -> str:
    """The reference's name and parameters with another body; r'…' where it has backslashes."""
    head = source_of(reference).split("\n", 1)[0]
    return written(head + "\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    "))


def _bodies(reference: Any, *bodies: str) -> tuple[str, ...]:
    return tuple(_with(reference, body) for body in bodies)


def _mistake(name: str, sentence: str, *sources: str) -> Mistake:
    """One misconception with all its codings."""
    return Mistake(name, sentence, sources[0], sources[1:])


def _nothing_returned(reference: Any, *edits: tuple[str, str]) -> Mistake:
    """The result is computed and then dropped."""
    return _mistake(
        "nothing_returned",
        "Nothing is returned (None): the function must `return` its result; to print it is not enough.",
        edited(reference, *edits),
    )


# --- build_vocab ------------------------------------------------------------------------------------------------------

SENTENCE = "To be, or not to be, that is the question."
VOCAB_TEXTS = (
    *(SENTENCE, "banana", "zebra Zebra AXE axe", "tabs\tand\nnew lines\n", "3 dogs, 12 cats: 15!"),
    *("Ọ bụ nwa m ụtọ", "আমার বাংলা ভাষা।", "na\u0308ive naïve", "🙂 ok 🙃 ok"),
)


def _vocab(student: Any, text: str) -> tuple[dict, dict, str]:
    where = f"for the text {text!r}"
    got = student.value("build_vocab", text, where=where)
    if not isinstance(got, (tuple, list)) or len(got) != 2:
        raise Wrong(f"It should return the pair (stoi, itos); yours returned {kind(got)}.")
    for name, part in zip(("stoi", "itos"), got):
        if not isinstance(part, dict):
            raise Wrong(f"`{name}` should be a dictionary {where}; yours is {kind(part)}.")
    return *got, where


def _vocab_sorted(student: Any) -> None:
    for text in VOCAB_TEXTS:
        with student.case():
            stoi, _, where = _vocab(student, text)
            expected = build_vocab(text)[0]
            if set(stoi) != set(expected):
                few = "lacks some" if len(stoi) < len(expected) else "holds others, or other things"
                raise Wrong(
                    f"`stoi` {where} should have each different character as a key, white space and punctuation too; "
                    f"yours {few}."
                )
            if stoi != expected:
                ids = list(stoi.values())
                if all(i in ids for i in range(len(ids))):
                    raise Wrong(f"The ids {where} do not follow the sorted order of the characters.", "unsorted")
                raise Wrong(f"The ids {where} should be 0, 1, 2 and so on, without gaps.")


def _vocab_inverse(student: Any) -> None:
    for text in VOCAB_TEXTS:
        with student.case():
            stoi, itos, where = _vocab(student, text)
            if len(itos) != len(set(text)) or any(itos.get(i) != symbol for symbol, i in stoi.items()):
                raise Wrong(
                    f"`itos` is not the inverse of `stoi` {where}: itos[stoi[c]] should be c for every character c."
                )


def _vocab_edges(student: Any) -> None:
    for text in ("", "x", "zzz", " ", "ab"):
        with student.case():
            stoi, itos, where = _vocab(student, text)
            if (stoi, itos) != build_vocab(text):
                raise Wrong(f"The vocabulary {where} is not right.")
    stoi, *_ = _vocab(student, "abc")
    if not isinstance(student.value("build_vocab", "abc"), tuple):
        raise Wrong("A list of two dictionaries is returned: a tuple is asked for, `return stoi, itos`.", "list")
    if any(type(i) is not int for i in stoi.values()):
        raise Wrong("The ids should be whole numbers (int).", "wrong_type")


def _symbols(expression: str) -> str:
    """build_vocab with other symbols."""
    return edited(build_vocab, ("sorted(set(text))", expression))


BUILD_VOCAB = Exercise(
    name="build_vocab",
    notebook="02-tokenisation",
    points=1,
    reference=build_vocab,
    checks=[
        Check("ids in the sorted order of the characters", 0.5, _vocab_sorted),
        Check("`itos` is the inverse of `stoi`", 0.3, _vocab_inverse),
        Check("empty and short texts, a tuple of dictionaries", 0.2, _vocab_edges),
    ],
    working=written(
        """
        def build_vocab(text):
            stoi = {}
            for symbol in sorted(dict.fromkeys(text)):
                stoi[symbol] = len(stoi)
            return stoi, dict(zip(stoi.values(), stoi))
        """
    ),
    mistakes=[
        _mistake(
            "first_appearance",
            "The ids follow the order in which the characters appear; they should follow the sorted order.",
            _symbols("dict.fromkeys(text)"),
        ),
        _mistake(
            "unsorted",
            "The characters are not sorted. The order of a set is different each time Python starts, so ids would mean "
            "something else tomorrow: sorted(set(text)).",
            _symbols("set(text)"),
        ),
        _mistake(
            "by_frequency",
            "The ids follow how often the characters occur; they should follow the sorted order of the characters.",
            _symbols("[symbol for symbol, _ in Counter(text).most_common()]"),
            _symbols("sorted(set(text), key=lambda symbol: (-text.count(symbol), symbol))"),
        ),
        _mistake(
            "reversed",
            "The characters are sorted the wrong way round: the smallest gets id 0.",
            _symbols("sorted(set(text), reverse=True)"),
        ),
        _mistake(
            "ignoring_case",
            "The characters are sorted without regard to capitals; plain `sorted` puts the capitals first.",
            _symbols("sorted(set(text), key=lambda symbol: (symbol.lower(), symbol))"),
            _symbols("sorted(sorted(set(text)), key=str.lower)"),
            _symbols("sorted(set(text), key=str.swapcase)"),
        ),
        _mistake(
            "lowercased",
            "The text is turned into small letters, so capitals have no id: keep every character as it is.",
            _symbols("sorted(set(text.lower()))"),
        ),
        _mistake(
            "duplicates_kept",
            "Characters that occur several times are counted several times: make the characters unique first (set).",
            _symbols("sorted(text)"),
            _with(
                build_vocab,
                """
                stoi, itos = {}, {}
                for i, symbol in enumerate(sorted(text)):
                    if symbol not in stoi:
                        stoi[symbol], itos[i] = i, symbol
                return stoi, itos
                """,
            ),
        ),
        _mistake(
            "not_unique_not_sorted",
            "Each position of the text gets an id of its own: the vocabulary holds each different character once, sorted.",
            _symbols("text"),
        ),
        _mistake(
            "from_one",
            "The ids begin at 1; the first one is 0.",
            edited(build_vocab, ("enumerate(sorted(set(text)))", "enumerate(sorted(set(text)), 1)")),
        ),
        _mistake(
            "words",
            "The vocabulary is made of words: it should hold single characters.",
            _symbols("sorted(set(text.split()))"),
        ),
        _mistake(
            "swapped",
            "The two dictionaries are swapped: stoi (character to id) comes first.",
            edited(build_vocab, ("return stoi, itos", "return itos, stoi")),
        ),
        _mistake(
            "same_twice",
            "The same dictionary is returned twice: itos goes the other way, from id to character.",
            edited(build_vocab, ("return stoi, itos", "return stoi, stoi")),
        ),
        _mistake(
            "white_space_lost",
            "White space is left out of the vocabulary; it is made of characters like any other.",
            _symbols("sorted(set(text) - set(' \\n\\t'))"),
            _symbols("sorted(set(text.replace(' ', '')))"),
            _symbols("sorted(set(text.strip()) - {' '})"),
        ),
        _mistake(
            "ends_stripped",
            "`strip` removes white space at the ends of the text, which may hold the only new line or tab.",
            _symbols("sorted(set(text.strip()))"),
        ),
        _mistake(
            "letters_only",
            "Only letters or digits are kept: punctuation and white space need ids too.",
            _symbols("sorted(symbol for symbol in set(text) if symbol.isalpha())"),
            _symbols("sorted(symbol for symbol in set(text) if symbol.isalnum())"),
            _symbols("sorted(symbol for symbol in set(text) if symbol.isalnum() or symbol == ' ')"),
        ),
        _mistake(
            "ascii_only",
            "Only ASCII characters are kept: every character of the text needs an id, whatever its script.",
            _symbols("sorted(symbol for symbol in set(text) if symbol.isascii())"),
            _symbols("sorted(symbol for symbol in set(text) if symbol.isprintable() and symbol.isascii())"),
        ),
        _mistake(
            "fixed_alphabet",
            "The vocabulary is a fixed alphabet: it should be made of the characters of this text, and of no others.",
            _symbols("map(chr, range(32, 127))"),
            _symbols("map(chr, range(128))"),
            _symbols("map(chr, range(97, 123))"),
            _symbols("map(chr, range(256))"),
            _symbols("'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'"),
        ),
        _mistake(
            "code_points",
            "The ids are Unicode numbers (`ord`): they should count the characters of this vocabulary, 0, 1, 2 and so on.",
            edited(
                build_vocab,
                ("dict(enumerate(sorted(set(text))))", "{ord(symbol): symbol for symbol in sorted(set(text))}"),
            ),
        ),
        _mistake(
            "special_tokens",
            "Special tokens are put into the vocabulary: here it holds the characters of the text alone.",
            _symbols("['<unk>'] + sorted(set(text))"),
            _symbols("['<pad>', '<unk>'] + sorted(set(text))"),
            _symbols("sorted(set(text)) + ['<unk>']"),
            _symbols("['<pad>'] + sorted(set(text))"),
            _symbols("sorted(set(text) | {'<unk>'})"),
        ),
        _mistake(
            "bytes",
            "The vocabulary is made of bytes (`encode`): here it is made of characters.",
            _symbols("sorted(set(text.encode()))"),
        ),
        _mistake(
            "normalised",
            "The text is normalised first, so some of its characters are not in the vocabulary: leave them as they are.",
            _symbols("sorted(set(unicodedata.normalize('NFC', text)))"),
            _symbols("sorted(set(unicodedata.normalize('NFKC', text)))"),
            _symbols("sorted(set(unicodedata.normalize('NFD', text)))"),
        ),
        _mistake(
            "first_only",
            "Only the first character is in the vocabulary: a `return` stands inside the loop.",
            _with(
                build_vocab,
                """
                stoi, itos = {}, {}
                for i, symbol in enumerate(sorted(set(text))):
                    stoi[symbol], itos[i] = i, symbol
                    return stoi, itos
                return stoi, itos
                """,
            ),
            edited(
                build_vocab,
                ("sorted(set(text))", "sorted(set(text))[:1]"),
                ("return stoi, itos", "if stoi:\n        return stoi, itos"),
            ),
        ),
        _mistake(
            "last_only",
            "Only the last character is in the vocabulary: the dictionaries are made anew in the loop.",
            _with(
                build_vocab,
                """
                stoi, itos = {}, {}
                for i, symbol in enumerate(sorted(set(text))):
                    stoi, itos = {symbol: i}, {i: symbol}
                return stoi, itos
                """,
            ),
            _with(
                build_vocab,
                """
                for i, symbol in enumerate(sorted(set(text))):
                    stoi, itos = {symbol: i}, {i: symbol}
                return stoi, itos
                """,
            ),
        ),
        _mistake(
            "last_missing",
            "The last character of the sorted order is missing: a range or a slice ends one too early.",
            _symbols("sorted(set(text))[:-1]"),
        ),
        _mistake(
            "empty_fails",
            "An empty text fails: it has an empty vocabulary, two empty dictionaries.",
            edited(build_vocab, ("    itos", "    assert text\n    itos")),
            edited(build_vocab, ("    itos", "    text[0]\n    itos")),
            edited(build_vocab, ("    itos", "    if not text:\n        raise ValueError('text is empty')\n    itos")),
            edited(build_vocab, ("    itos", "    if not text:\n        return None\n    itos")),
        ),
        _mistake(
            "itos_is_a_list",
            "`itos` is a list (or a string): a dictionary from id to character is asked for.",
            edited(build_vocab, ("return stoi, itos", "return stoi, list(itos.values())")),
            edited(build_vocab, ("return stoi, itos", "return stoi, ''.join(itos.values())")),
        ),
        _mistake(
            "text_keys",
            "The ids are strings: they should be whole numbers (int).",
            edited(
                build_vocab,
                (
                    "return stoi, itos",
                    "return {c: str(i) for c, i in stoi.items()}, {str(i): c for i, c in itos.items()}",
                ),
            ),
        ),
        _mistake(
            "itos_with_text_keys",
            "The keys of `itos` are strings: they should be the ids, whole numbers.",
            edited(build_vocab, ("return stoi, itos", "return stoi, {str(i): c for i, c in itos.items()}")),
        ),
        _mistake(
            "only_stoi",
            "Only one dictionary is returned: the pair (stoi, itos) is asked for.",
            edited(build_vocab, ("return stoi, itos", "return stoi")),
            edited(build_vocab, ("return stoi, itos", "return itos")),
        ),
        _mistake(
            "list",
            "A list of two dictionaries is returned: a tuple is asked for, `return stoi, itos`.",
            edited(build_vocab, ("return stoi, itos", "return [stoi, itos]")),
        ),
        _mistake(
            "size_too",
            "More than the two dictionaries is returned: the pair (stoi, itos) is asked for.",
            edited(build_vocab, ("return stoi, itos", "return stoi, itos, len(stoi)")),
            edited(build_vocab, ("return stoi, itos", "return sorted(stoi), stoi, itos")),
        ),
        _nothing_returned(build_vocab, ("return stoi", "_ = stoi")),
    ],
    alternatives=[
        Alternative(
            "comprehensions",
            _with(
                build_vocab,
                """
                chars = sorted(list(set(text)))
                return {ch: i for i, ch in enumerate(chars)}, {i: ch for i, ch in enumerate(chars)}
                """,
            ),
        ),
        Alternative(
            "loop",
            _with(
                build_vocab,
                """
                stoi, itos = {}, {}
                for c in sorted(text):
                    if c not in stoi:
                        itos[len(stoi)] = c
                        stoi[c] = len(stoi)
                return stoi, itos
                """,
            ),
        ),
        Alternative(
            "sorted_counter",
            _with(
                build_vocab,
                """
                symbols = sorted(Counter(text))
                stoi = dict(zip(symbols, range(len(symbols))))
                return stoi, {stoi[s]: s for s in reversed(symbols)}
                """,
            ),
        ),
    ],
)


# --- encode -----------------------------------------------------------------------------------------------------------

ODD_VOCAB = {"b": 4, "a": 9, " ": 2, "n": 0, "é": 17, "B": 5, "🙂": 3, "\n": 8, "র": 11, "\u09be": 6}


def _encode_values(student: Any) -> None:
    for text, stoi in (
        (SENTENCE, build_vocab(SENTENCE)[0]),
        ("banana", {"a": 0, "b": 1, "n": 2}),
        ("ban\u00e9 Ba\nnn", ODD_VOCAB),
        ("র\u09ba".replace("\u09ba", "\u09be") + " 🙂🙂 a", ODD_VOCAB),
        (" aa ", ODD_VOCAB),
    ):
        with student.case():
            where = f"for the text {text!r} and a vocabulary of {len(stoi)}"
            _same(student.value("encode", text, stoi, where=where), encode(text, stoi), "The list of ids", where)


def _encode_unknown(student: Any) -> None:
    for text, culprit in (("banΩ", "Ω"), ("Жana", "Ж"), ("na na ß an", "ß"), ("aaα", "α"), ("A", "A"), ("na🙃", "🙃")):
        with student.case():
            stoi = {symbol: i for symbol, i in ODD_VOCAB.items() if symbol != culprit}
            _value_error(student, "encode", [text, stoi], culprit, f"for the text {text!r}")


def _encode_manners(student: Any) -> None:
    for text, stoi in (("", {"a": 0}), ("a", {"a": 7}), ("", {}), ("banana", {"n": 2, "b": 1, "a": 0})):
        with student.case():
            where = f"for the text {text!r}"
            answer = student.call("encode", [text, stoi], where=where, after=True)
            _exactly(answer["value"], encode(text, stoi), "The list of ids", where)
            _as_before(answer["after"], [text, stoi], "stoi")


_RAISE = 'raise ValueError(f"text contains {symbol!r}, which is not in the vocabulary")'
_LOOK_UP = "[stoi[symbol] for symbol in text]"

ENCODE = Exercise(
    name="encode",
    notebook="02-tokenisation",
    points=2,
    reference=encode,
    checks=[
        Check("the id of each character", 1.0, _encode_values),
        Check("an unknown character is a ValueError that names it", 0.7, _encode_unknown),
        Check("a list of int, the empty text, `stoi` unchanged", 0.3, _encode_manners),
    ],
    working=written(
        """
        def encode(text, stoi):
            unknown = sorted(set(text).difference(stoi))
            if unknown:
                raise ValueError(f"text contains {' '.join(unknown)}")
            return list(map(stoi.get, text))
        """
    ),
    mistakes=[
        _mistake(
            "key_error",
            "An unknown character ends in the KeyError of the dictionary: look first, and raise a ValueError that names the "
            "character.",
            _with(encode, f"return {_LOOK_UP}"),
            edited(encode, ("raise ValueError", "raise KeyError")),
        ),
        _mistake(
            "other_error",
            "An unknown character raises another kind of error: a ValueError is asked for.",
            edited(encode, ("raise ValueError", "raise TypeError")),
            edited(encode, ("raise ValueError", "raise Exception")),
            edited(encode, ("raise ValueError", "raise AssertionError")),
            _with(encode, f"assert all(symbol in stoi for symbol in text), 'unknown character'\nreturn {_LOOK_UP}"),
            edited(encode, ("raise ValueError", "raise IndexError")),
            edited(encode, ("raise ValueError", "raise RuntimeError")),
        ),
        _mistake(
            "not_named",
            "The message does not say which character is unknown (where it stands is not enough): put the character into it.",
            edited(encode, (_RAISE, 'raise ValueError("unknown character")')),
            edited(encode, (_RAISE, "raise ValueError")),
            edited(encode, (_RAISE, 'raise ValueError("{symbol} is not in the vocabulary")')),
            edited(encode, (_RAISE, 'raise ValueError(f"unknown character at position {text.index(symbol)}")')),
        ),
        _mistake(
            "skipped",
            "Unknown characters are skipped, so the text does not come back and nobody notices: raise a ValueError.",
            _with(encode, "return [stoi[symbol] for symbol in text if symbol in stoi]"),
        ),
        _mistake(
            "silent_number",
            "Unknown characters get some number (-1, 0 or the size of the vocabulary) without an error: raise a ValueError.",
            _with(encode, "return [stoi.get(symbol, -1) for symbol in text]"),
            _with(encode, "return [stoi.get(symbol, 0) for symbol in text]"),
            _with(encode, "return [stoi.get(symbol, len(stoi)) for symbol in text]"),
        ),
        _mistake(
            "silent_none",
            "Unknown characters become None: `dict.get` does not complain. Raise a ValueError.",
            _with(encode, "return [stoi.get(symbol) for symbol in text]"),
        ),
        _mistake(
            "stoi_grows",
            "Unknown characters are added to the vocabulary: `stoi` belongs to the caller, and new ids mean nothing to the model.",
            _with(encode, "return [stoi.setdefault(symbol, len(stoi)) for symbol in text]"),
        ),
        _mistake(
            "error_returned",
            "The error is returned or printed instead of raised: write `raise ValueError(…)`.",
            edited(encode, ("raise ValueError", "return ValueError")),
            edited(encode, (_RAISE, 'print(f"{symbol} is unknown")\n            return []')),
            edited(encode, (_RAISE, 'print(f"{symbol} is unknown")\n            return None')),
            edited(encode, (_RAISE, 'return f"{symbol} is unknown"')),
        ),
        _mistake(
            "first_character_only",
            "Only the first character is looked at: a `return` stands inside the loop.",
            _with(
                encode,
                f"for symbol in text:\n    if symbol not in stoi:\n        {_RAISE}\n    return [stoi[symbol]]\nreturn []",
            ),
            _with(
                encode,
                f"for symbol in text:\n    if symbol not in stoi:\n        {_RAISE}\n    return stoi[symbol]\nreturn []",
            ),
        ),
        _mistake(
            "last_character_only",
            "Only the last id is returned: a variable is overwritten in the loop instead of appended to.",
            edited(encode, (_LOOK_UP, "[stoi[symbol] for symbol in text][-1:]")),
        ),
        _mistake(
            "words",
            "The text is split into words: each character gets an id, white space too.",
            _with(encode, "return [stoi[word] for word in text.split()]"),
        ),
        _mistake(
            "values_searched",
            "The character is looked for among the ids (`stoi.values()`): the characters are the keys.",
            edited(encode, ("not in stoi", "not in stoi.values()")),
        ),
        _mistake(
            "zero_is_missing",
            "The id 0 is taken for a missing one (`if not stoi.get(…)`): 0 is an id like any other. Ask `symbol in stoi`.",
            edited(encode, ("if symbol not in stoi", "if not stoi.get(symbol)")),
        ),
        _mistake(
            "white_space_dropped",
            "White space is left out: it has ids like any other character.",
            edited(encode, (_LOOK_UP, "[stoi[symbol] for symbol in text if not symbol.isspace()]")),
            edited(encode, (_LOOK_UP, "[stoi[symbol] for symbol in text if symbol != ' ']")),
        ),
        _mistake(
            "ends_stripped",
            "`strip` removes white space at the ends of the text, so it does not come back.",
            edited(encode, (_LOOK_UP, "[stoi[symbol] for symbol in text.strip()]")),
        ),
        _mistake(
            "lowercased",
            "The text is turned into small letters first: capitals are characters of their own.",
            edited(encode, ("    for", "    text = text.lower()\n    for")),
        ),
        _mistake(
            "unique",
            "Each different character is encoded once: the ids should follow the text, repetitions included.",
            edited(encode, (_LOOK_UP, "[stoi[symbol] for symbol in sorted(set(text))]")),
            edited(encode, (_LOOK_UP, "[stoi[symbol] for symbol in dict.fromkeys(text)]")),
        ),
        _mistake(
            "sorted_ids",
            "The ids are sorted: they should follow the text.",
            edited(encode, (_LOOK_UP, "sorted(stoi[symbol] for symbol in text)")),
        ),
        _mistake(
            "positions",
            "The ids are positions (in the text, or in the list of keys): the id of a character is what `stoi` says.",
            edited(encode, (_LOOK_UP, "[i for i, symbol in enumerate(text)]")),
            edited(encode, (_LOOK_UP, "[list(stoi).index(symbol) for symbol in text]")),
            edited(encode, (_LOOK_UP, "[sorted(stoi).index(symbol) for symbol in text]")),
        ),
        _mistake(
            "own_vocabulary",
            "A new vocabulary is built from this text: use the `stoi` that is given.",
            edited(encode, (_LOOK_UP, "[sorted(set(text)).index(symbol) for symbol in text]")),
            _with(encode, "stoi, _ = build_vocab(text)\nreturn [stoi[symbol] for symbol in text]"),
        ),
        _mistake(
            "code_points",
            "The ids are Unicode numbers (`ord`): use what `stoi` says.",
            edited(encode, (_LOOK_UP, "[ord(symbol) for symbol in text]")),
            edited(encode, (_LOOK_UP, "[ord(symbol) - ord('a') for symbol in text]")),
            _with(encode, "return [ord(symbol) for symbol in text]"),
        ),
        _mistake(
            "last_missing",
            "The last character is not encoded: a range or a slice ends one too early.",
            edited(encode, (_LOOK_UP, "[stoi[symbol] for symbol in text[:-1]]")),
            _with(
                encode,
                f"ids = []\nfor i in range(len(text) - 1):\n    symbol = text[i]\n    if symbol not in stoi:\n        {_RAISE}\n    ids.append(stoi[symbol])\nreturn ids",
            ),
        ),
        _mistake(
            "tensor",
            "A tensor or an array is returned: a plain list of int is asked for.",
            edited(encode, (_LOOK_UP, f"torch.tensor({_LOOK_UP})")),
            edited(encode, (_LOOK_UP, f"torch.tensor({_LOOK_UP}, dtype=torch.long)")),
        ),
        _mistake(
            "lazy",
            "A map or a generator is returned, which can be read only once: make a list of it.",
            edited(encode, (_LOOK_UP, "map(stoi.get, text)")),
            edited(encode, (_LOOK_UP, "(stoi[symbol] for symbol in text)")),
        ),
        _mistake(
            "strings",
            "The ids are strings, or one string: a list of int is asked for.",
            edited(encode, (_LOOK_UP, "[str(stoi[symbol]) for symbol in text]")),
            edited(encode, (_LOOK_UP, "' '.join(str(stoi[symbol]) for symbol in text)")),
            edited(encode, (_LOOK_UP, "''.join(str(stoi[symbol]) for symbol in text)")),
        ),
        _mistake(
            "tuple", "A tuple is returned: a list is asked for.", edited(encode, (_LOOK_UP, f"tuple({_LOOK_UP})"))
        ),
        _mistake(
            "empty_refused",
            "An empty text is refused: it has no characters, and so an empty list of ids.",
            edited(encode, ("    for", "    if not text:\n        raise ValueError('text is empty')\n    for")),
            edited(encode, ("    for", "    if not text:\n        return None\n    for")),
        ),
        _nothing_returned(encode, (f"return {_LOOK_UP}", f"_ = {_LOOK_UP}")),
    ],
    alternatives=[
        Alternative(
            "try_and_except",
            _with(
                encode,
                """
                ids = []
                for ch in text:
                    try:
                        ids.append(stoi[ch])
                    except KeyError as e:
                        raise ValueError(f"unknown character {ch}") from e
                return ids
                """,
            ),
        ),
        Alternative(
            "all_at_once",
            _with(
                encode,
                """
                missing = set(text) - set(stoi)
                if missing:
                    raise ValueError("not in the vocabulary: " + ", ".join(map(repr, missing)))
                return list(map(stoi.__getitem__, text))
                """,
            ),
        ),
        Alternative(
            "by_code_point",
            _with(
                encode,
                """
                def look(c):
                    i = stoi.get(c)
                    if i is None:
                        raise ValueError("unknown character U+%04X" % ord(c))
                    return i
                return [look(c) for c in text]
                """,
            ),
        ),
    ],
)


# --- decode -----------------------------------------------------------------------------------------------------------

ODD_SYMBOLS = {i: symbol for symbol, i in ODD_VOCAB.items()}


def _decode_values(student: Any) -> None:
    for ids, itos in (
        (encode(SENTENCE, build_vocab(SENTENCE)[0]), build_vocab(SENTENCE)[1]),
        ([1, 0, 2, 0, 2, 0], {0: "a", 1: "b", 2: "n"}),
        ([4, 9, 0, 17, 2, 5, 9, 8, 0, 0], ODD_SYMBOLS),
        ([11, 6, 2, 3, 3, 2, 9], ODD_SYMBOLS),
        ([2, 9, 9, 8], ODD_SYMBOLS),
    ):
        with student.case():
            where = f"for {len(ids)} ids and a vocabulary of {len(itos)}"
            _same(student.value("decode", ids, itos, where=where), decode(ids, itos), "The text", where)


def _decode_unknown(student: Any) -> None:
    small = {0: "a", 1: "b", 2: "n"}
    for ids, itos, culprit in (
        *(([0, 1, 97], small, 97), ([-3, 0], small, -3), ([1, -1, 0], small, -1), ([0, 3, 1], small, 3)),
        *(([9, 7, 9], ODD_SYMBOLS, 7), ([1], ODD_SYMBOLS, 1)),
    ):
        with student.case():
            _value_error(student, "decode", [ids, itos], culprit, f"for the ids {ids}")


def _decode_manners(student: Any) -> None:
    for ids, itos in (([], {0: "a"}), ([7], {7: "a"}), ([], {}), ([1, 0, 2, 0], {2: "n", 0: "a", 1: "b"})):
        with student.case():
            where = f"for the ids {ids}"
            answer = student.call("decode", [ids, itos], where=where, after=True)
            _exactly(answer["value"], decode(ids, itos), "The text", where)
            _as_before(answer["after"], [ids, itos], "ids, itos")


_RAISE_ID = 'raise ValueError(f"ids contains {i}, which is not in the vocabulary")'
_JOIN = '"".join(itos[i] for i in ids)'

DECODE = Exercise(
    name="decode",
    notebook="02-tokenisation",
    points=1,
    reference=decode,
    checks=[
        Check("the text that the ids stand for", 0.5, _decode_values),
        Check("an unknown id is a ValueError that names it", 0.35, _decode_unknown),
        Check("a string, the empty list, inputs unchanged", 0.15, _decode_manners),
    ],
    working=written(
        """
        def decode(ids, itos):
            unknown = sorted(set(ids).difference(itos))
            if unknown:
                raise ValueError(f"ids contains {unknown}")
            return "".join(map(itos.get, ids))
        """
    ),
    mistakes=[
        _mistake(
            "key_error",
            "An unknown id ends in the KeyError of the dictionary: look first, and raise a ValueError that names the id.",
            _with(decode, f"return {_JOIN}"),
            edited(decode, ("raise ValueError", "raise KeyError")),
        ),
        _mistake(
            "other_error",
            "An unknown id raises another kind of error: a ValueError is asked for.",
            edited(decode, ("raise ValueError", "raise TypeError")),
            edited(decode, ("raise ValueError", "raise Exception")),
            edited(decode, ("raise ValueError", "raise IndexError")),
            edited(decode, ("raise ValueError", "raise AssertionError")),
            edited(decode, ("raise ValueError", "raise RuntimeError")),
            _with(decode, "return ''.join([itos.get(i) for i in ids])"),
        ),
        _mistake(
            "not_named",
            "The message does not say which id is unknown: put the id into it.",
            edited(decode, (_RAISE_ID, 'raise ValueError("unknown id")')),
            edited(decode, (_RAISE_ID, "raise ValueError")),
            edited(decode, (_RAISE_ID, 'raise ValueError("{i} is not in the vocabulary")')),
        ),
        _mistake(
            "skipped",
            "Unknown ids are skipped without an error: raise a ValueError.",
            _with(decode, "return ''.join(itos[i] for i in ids if i in itos)"),
            _with(decode, "return ''.join(itos.get(i, '') for i in ids)"),
        ),
        _mistake(
            "silent_symbol",
            "Unknown ids become some symbol without an error: raise a ValueError.",
            _with(decode, "return ''.join(itos.get(i, '?') for i in ids)"),
            _with(decode, "return ''.join(itos.get(i, '<unk>') for i in ids)"),
            _with(decode, "return ''.join(itos.get(i, '\\ufffd') for i in ids)"),
            _with(decode, "return ''.join(itos.get(i, ' ') for i in ids)"),
            _with(decode, "return ''.join(str(itos.get(i)) for i in ids)"),
        ),
        _mistake(
            "error_returned",
            "The error is returned or printed instead of raised: write `raise ValueError(…)`.",
            edited(decode, ("raise ValueError", "return ValueError")),
            edited(decode, (_RAISE_ID, 'print(f"{i} is unknown")\n            return None')),
            edited(decode, (_RAISE_ID, 'print(f"{i} is unknown")\n            return ""')),
            edited(decode, (_RAISE_ID, 'return f"{i} is unknown"')),
        ),
        _mistake(
            "zero_skipped",
            "The id 0 is skipped (`if i`), as if it were padding: 0 is an id like any other.",
            edited(decode, ("for i in ids)", "for i in ids if i)")),
            edited(decode, ("for i in ids)", "for i in ids if i > 0)")),
        ),
        _mistake(
            "range_checked",
            "Ids are compared with the size of the vocabulary. What counts is whether `itos` knows the id, and negative ids are "
            "unknown too.",
            edited(decode, ("i not in itos", "i >= len(itos)")),
            edited(decode, ("i not in itos", "i < 0 or i >= len(itos)")),
            edited(decode, ("i not in itos", "i not in range(len(itos))")),
            edited(decode, ("i not in itos", "i > max(itos)")),
            edited(decode, ("i not in itos", "i < 0 or i > max(itos)")),
        ),
        _mistake(
            "list_of_values",
            "The values of `itos` are made a list and the ids used as indices: ids need not be 0, 1, 2, and a negative index "
            "counts from the end without an error.",
            _with(decode, "symbols = list(itos.values())\nreturn ''.join(symbols[i] for i in ids)"),
            _with(decode, "symbols = [itos[i] for i in sorted(itos)]\nreturn ''.join(symbols[i] for i in ids)"),
            _with(
                decode,
                f"symbols = list(itos.values())\nfor i in ids:\n    if i >= len(symbols):\n        {_RAISE_ID}\nreturn ''.join(symbols[i] for i in ids)",
            ),
            _with(
                decode,
                f"symbols = list(itos.values())\nfor i in ids:\n    if i < 0 or i >= len(symbols):\n        {_RAISE_ID}\nreturn ''.join(symbols[i] for i in ids)",
            ),
        ),
        _mistake(
            "keys_missed",
            "The keys of `itos` are the ids, whole numbers: look for them as they are, not as strings and not among the values.",
            edited(decode, ("not in itos", "not in itos.values()")),
            edited(decode, ("i not in itos", "str(i) not in itos"), ("itos[i]", "itos[str(i)]")),
            _with(decode, "return ''.join(itos[str(i)] for i in ids)"),
        ),
        _mistake(
            "lowercased",
            "The text comes back in small letters: it should come back as it was.",
            edited(decode, (_JOIN, f"{_JOIN}.lower()")),
        ),
        _mistake(
            "spaces_between",
            "The characters are joined with spaces: join them with the empty string, the spaces of the text have ids of their own.",
            edited(decode, ('"".join', '" ".join')),
        ),
        _mistake(
            "list",
            "A list of characters is returned: a string is asked for (join them).",
            edited(decode, (_JOIN, "[itos[i] for i in ids]")),
        ),
        _mistake(
            "lazy",
            "A map or a generator is returned: a string is asked for (join the characters).",
            edited(decode, (_JOIN, "map(itos.get, ids)")),
            edited(decode, (_JOIN, "(itos[i] for i in ids)")),
        ),
        _mistake(
            "text_of_a_list",
            "The list of characters is turned into text with `str`, brackets and commas included: join the characters.",
            edited(decode, (_JOIN, "str([itos[i] for i in ids])")),
        ),
        _mistake(
            "numbers_joined",
            "The numbers themselves are joined: look each one up in `itos`.",
            edited(decode, (_JOIN, "''.join(str(i) for i in ids)")),
        ),
        _mistake(
            "code_points",
            "The ids are taken for Unicode numbers (`chr`): look them up in `itos`.",
            edited(decode, (_JOIN, "''.join(chr(i) for i in ids)")),
            _with(decode, "return ''.join(chr(i) for i in ids)"),
        ),
        _mistake(
            "ends_stripped",
            "`strip` removes white space at the ends, so the text does not come back as it was.",
            edited(decode, (_JOIN, f"{_JOIN}.strip()")),
            edited(decode, (_JOIN, f"{_JOIN}.rstrip()")),
            edited(decode, (_JOIN, f"{_JOIN}.lstrip()")),
        ),
        _mistake(
            "white_space_dropped",
            "White space is lost: the text should come back exactly.",
            edited(decode, (_JOIN, f"{_JOIN}.replace(' ', '')")),
            edited(decode, (_JOIN, f"''.join({_JOIN}.split())")),
        ),
        _mistake(
            "order_lost",
            "The characters come back in another order (reversed or sorted): follow the ids.",
            edited(decode, (_JOIN, f"{_JOIN}[::-1]")),
            edited(decode, (_JOIN, '"".join(itos[i] for i in sorted(ids))')),
        ),
        _mistake(
            "unique",
            "Each different id is decoded once: repetitions belong to the text.",
            edited(decode, (_JOIN, '"".join(itos[i] for i in set(ids))')),
            edited(decode, (_JOIN, '"".join(itos[i] for i in dict.fromkeys(ids))')),
        ),
        _mistake(
            "vocabulary_returned",
            "The symbols of the vocabulary are joined, whatever the ids: follow the ids.",
            edited(decode, (_JOIN, '"".join(itos[i] for i in itos)')),
            edited(decode, (_JOIN, '"".join(itos[i] for i in sorted(itos))')),
        ),
        _mistake(
            "last_missing",
            "The last id is not decoded: a range or a slice ends one too early.",
            edited(decode, ("for i in ids)", "for i in ids[:-1])")),
            edited(decode, ("in ids", "in ids[:-1]")),
        ),
        _mistake(
            "off_by_one",
            "The ids are shifted by one before they are looked up.",
            _with(
                decode,
                f"for i in ids:\n    if i not in itos:\n        {_RAISE_ID}\nreturn ''.join(itos.get(i - 1, '') for i in ids)",
            ),
        ),
        _mistake(
            "first_only",
            "Only the first id is decoded: a `return` stands inside the loop.",
            _with(decode, f"for i in ids:\n    if i not in itos:\n        {_RAISE_ID}\n    return itos[i]\nreturn ''"),
        ),
        _mistake(
            "last_only",
            "Only the last character is returned: add to the text instead of overwriting it.",
            _with(
                decode,
                f"text = ''\nfor i in ids:\n    if i not in itos:\n        {_RAISE_ID}\n    text = itos[i]\nreturn text",
            ),
        ),
        _mistake(
            "ids_used_up",
            "The list of ids is used up or reordered (pop, sort, reverse): it belongs to the caller.",
            _with(
                decode,
                f"text = ''\nwhile ids:\n    i = ids.pop(0)\n    if i not in itos:\n        {_RAISE_ID}\n    text += itos[i]\nreturn text",
            ),
        ),
        _mistake(
            "empty_refused",
            "An empty list of ids is refused: it stands for the empty text.",
            edited(
                decode,
                ("    for i in ids:", "    if not ids:\n        raise ValueError('ids is empty')\n    for i in ids:"),
            ),
            edited(decode, ("    for i in ids:", "    if not ids:\n        return None\n    for i in ids:")),
            edited(decode, ("    for i in ids:", "    ids[0]\n    for i in ids:")),
        ),
        _nothing_returned(decode, (f"return {_JOIN}", f"_ = {_JOIN}")),
    ],
    alternatives=[
        Alternative(
            "try_and_except",
            _with(
                decode,
                """
                text = ""
                for i in ids:
                    try:
                        text += itos[i]
                    except KeyError:
                        raise ValueError(f"no symbol has the id {i}")
                return text
                """,
            ),
        ),
        Alternative(
            "all_at_once",
            _with(
                decode,
                """
                unknown = [i for i in ids if itos.get(i) is None]
                if len(unknown) > 0:
                    raise ValueError("unknown ids: %s" % unknown)
                return "".join([itos[i] for i in ids])
                """,
            ),
        ),
        Alternative(
            "one_character_at_a_time",
            _with(
                decode,
                """
                def symbol(i):
                    if i in itos.keys():
                        return itos[i]
                    raise ValueError("id " + str(i) + " is not in itos")
                return str().join(map(symbol, ids))
                """,
            ),
        ),
    ],
)


# --- split_words ------------------------------------------------------------------------------------------------------


def _split_texts(*texts: str) -> Any:
    def ask(student: Any) -> None:
        for text in texts:
            with student.case():
                where = f"for the text {text!r}"
                got = student.value("split_words", text, where=where)
                _same(got, split_words(text), "The list of words", where)

    return ask


def _split_manners(student: Any) -> None:
    for text in ("", "   ", "\n\t ", "word", "!", "a", "Well, well."):
        with student.case():
            where = f"for the text {text!r}"
            _exactly(student.value("split_words", text, where=where), split_words(text), "The list of words", where)


_IS_MARK = 'unicodedata.category(symbol).startswith("P")'
_PIECES = '"".join(spaced).split()'


def _parted(test: str) -> str:
    """split_words with another idea of what is a piece of its own."""
    return edited(split_words, (_IS_MARK, test))


def _found(pattern: str, text: str = "text") -> str:
    """split_words by a regular expression."""
    return _with(split_words, f"return re.findall({pattern}, {text})")


def _accumulated(joins: str, apart: str = "") -> str:
    """split_words in a loop: characters of which `joins` is true continue the piece, others are pieces of their own."""
    return _with(
        split_words,
        f"""
        pieces, inside = [], False
        for symbol in text:
            if symbol.isspace():
                inside = False
                continue
            joins = {joins}
            if joins and inside:
                pieces[-1] += symbol
            else:
                pieces.append(symbol)
            inside = joins{apart}
        return pieces
        """,
    )


SPLIT_WORDS = Exercise(
    name="split_words",
    notebook="02-tokenisation",
    points=4,
    reference=split_words,
    checks=[
        Check(
            "words and single punctuation marks in English",
            1.25,
            _split_texts(
                *(
                    SENTENCE,
                    "The dog drinks water because it was thirsty",
                    "“Stop!” (he said); she didn't.",
                    "Wait... what?!",
                ),
                *(
                    "a well-known fact: 3 dogs, 12 cats",
                    "In 2024, B2B grew by 7.",
                    "'quoted' and [bracketed]",
                    "DON'T Shout, Ada!",
                ),
            ),
        ),
        Check(
            "letters and punctuation of other scripts",
            1.0,
            _split_texts(
                *("¿Qué tal, señor?", "«Où est-ce?»", "Ọ bụ nwa, ụtọ!", "Привет, мир!", "سلام، دنیا؟", "你好，世界。"),
                *("Ωμέγα· τέλος", "৩১ ২৪।", "die Füße – Seite 3–5"),
            ),
        ),
        Check(
            "combining marks stay with their word",
            1.5,
            _split_texts(
                *(
                    "আমার সোনার বাংলা, আমি তোমায় ভালোবাসি।",
                    "কুকুর জল খায়।",
                    "नमस्ते दुनिया!",
                    "o\u0323\u0301 di\u0323 mma, u\u0323lo\u0323\u0300",
                ),
                *(
                    "cafe\u0301, nai\u0308ve!",
                    "สวัสดี ที่รัก",
                    "שָׁלוֹם עוֹלָם",
                    "க்ஷ தமிழ்.",
                    "x\u0302\u0303y z\u0308.",
                    "مَرْحَبًا، كَيْفَ",
                ),
            ),
        ),
        Check("joiners stay inside their word", 0.5, _split_texts("او می\u200cخواهد، نه؟", "র\u200d্যাব ক্\u200cষ, ঠিক।")),
        Check(
            "white space of every kind",
            0.5,
            _split_texts(
                "  two  spaces ", "tabs\tand\nnew\r\nlines\n", "no\u00a0break, thin\u2009space", "全角\u3000空白"
            ),
        ),
        Check("a list, also of empty and very short texts", 0.25, _split_manners),
    ],
    working=written(
        """
        from tokenizers import pre_tokenizers

        def split_words(text):
            return [piece for piece, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)]
        """
    ),
    mistakes=[
        _mistake(
            "word_class_of_re",
            r"`\w` of `re` and `isalnum` leave out combining marks (categories Mn and Mc), so words of Bangla, Hindi or written-out "
            "accents fall to pieces: ask `unicodedata.category`.",
            _found(r'r"\w+|[^\w\s]"'),
            _found(r'r"\w+|\S"'),
            _found(r'r"[^\W_]+|[^\w\s]|_"'),
            _accumulated("symbol.isalnum()"),
            _accumulated("symbol.isalpha() or symbol.isdigit()"),
            _parted("not symbol.isalnum()"),
            _with(split_words, r"""return re.sub(r"([^\w\s])", r" \1 ", text).split()"""),
        ),
        _mistake(
            "marks_and_punctuation_together",
            r"Punctuation marks that follow each other stay together (`[^\w\s]+`), and so do combining marks, torn from their "
            "word: each punctuation mark is a piece of its own, and marks belong to words.",
            _found(r'r"\w+|[^\w\s]+"'),
            _with(split_words, r"return [p for p in re.split(r'(\W+)', text) if p.strip()]"),
            _with(split_words, r"return [p.strip() for p in re.split(r'(\W+)', text) if p.strip()]"),
            _with(split_words, r"return [p for p in re.split(r'\b|\s+', text) if p.strip()]"),
            _with(split_words, r"return [p.strip() for p in re.split(r'\b', text) if p.strip()]"),
        ),
        _mistake(
            "punctuation_lost",
            "Punctuation is thrown away: each mark is a piece of its own.",
            _found(r'r"\w+"'),
            edited(split_words, ('f" {symbol} "', '" "')),
            edited(split_words, ('f" {symbol} "', '""')),
            _found(r'r"[a-zA-Z]+"'),
            _found(r'r"[a-zA-Z0-9]+"'),
            _with(split_words, r"return re.split(r'\W+', text)"),
            _with(split_words, r"return [p for p in re.split(r'\W+', text) if p]"),
            _with(split_words, r"return re.sub(r'[^\w\s]', '', text).split()"),
            _with(split_words, r"return re.sub(r'[^\w\s]', ' ', text).split()"),
            _with(
                split_words, r"import string; return text.translate(str.maketrans('', '', string.punctuation)).split()"
            ),
            _with(split_words, r"import string; return [w.strip(string.punctuation) for w in text.split()]"),
        ),
        _mistake(
            "white_space_only",
            "The text is split at white space only, so punctuation stays stuck to the words: each mark is a piece of its own.",
            _with(split_words, "return text.split()"),
            _with(split_words, "return text.split(' ')"),
            _found(r'r"\S+"'),
        ),
        _mistake(
            "ascii_letters",
            "Only the letters a to z count as letters: words of other scripts, and words with accents, fall to pieces or get "
            "lost. Ask Unicode (`unicodedata.category`).",
            _found(r'r"[A-Za-z0-9]+|[^A-Za-z0-9\s]"'),
            _found(r'r"[A-Za-z]+|[^A-Za-z\s]"'),
            _found(r'r"[a-zA-Z0-9]+|[^\w\s]"'),
            _found(r'r"[a-zA-Z]+|[0-9]+|[^\w\s]"'),
            _found(r'r"[a-zA-Z]+|[^\w\s]"'),
            _found(r'r"[A-Za-z0-9]+|[.,!?;:]"'),
            _found(r'r"[A-Za-z]+|[.,!?;:]"'),
            _with(split_words, r"""return re.findall(r"\w+|[^\w\s]", text, re.ASCII)"""),
        ),
        _mistake(
            "ascii_punctuation",
            "Only ASCII punctuation is split off (string.punctuation or a list of marks): « ¿ । ، 。 and “ are punctuation too. "
            "Unicode's categories that begin with P have them all.",
            _with(
                split_words,
                "import string\nreturn ''.join(f' {c} ' if c in string.punctuation else c for c in text).split()",
            ),
            _with(split_words, "return ''.join(f' {c} ' if c in '.,!?;:' else c for c in text).split()"),
            _with(split_words, "return ''.join(f' {c} ' if c in '.,!?;:\\'\"()-' else c for c in text).split()"),
            _with(split_words, "return ''.join(f' {c} ' if c in '.,!?;:\\'\"()[]-' else c for c in text).split()"),
            _with(
                split_words, "return ''.join(f' {c} ' if c in '.,!?;:\\'\"()[]-…–“”‘’' else c for c in text).split()"
            ),
            _with(split_words, r"""return re.findall(r"[^\s.,!?;:]+|[.,!?;:]", text)"""),
            _with(split_words, r"""return re.sub(r"([.,!?;:])", r" \1 ", text).split()"""),
            _found(r'r"\b\w+\b|[.,!?;]"'),
            _found(r'r"\w+|[.,!?;:]"'),
            _found(r'r"\w+|[.,!?]"'),
            _with(split_words, r"""return re.sub(r"([.,!?;:\"'()])", r" \1 ", text).split()"""),
            _parted("not symbol.isalnum() and symbol.isascii()"),
        ),
        _mistake(
            "listed_punctuation",
            "Punctuation is a list of your own or one category of many, and the list is not complete: all of Unicode's "
            "categories that begin with P are punctuation.",
            _parted('unicodedata.category(symbol) == "Po"'),
            _parted('unicodedata.category(symbol) in ("Po", "Ps", "Pe")'),
            _parted('unicodedata.category(symbol) in ("Po", "Pd")'),
            _parted('unicodedata.category(symbol) in ("Po", "Pd", "Ps", "Pe")'),
            _parted('unicodedata.category(symbol) in ("Po", "Ps", "Pe", "Pi", "Pf")'),
            _parted("symbol in '.,!?;:।،؟。，¿«»“”'"),
        ),
        _mistake(
            "punctuation_grouped",
            "Punctuation marks that follow each other are kept together: each mark is a piece of its own.",
            _with(split_words, "return [piece for piece, _ in pre_tokenizers.Whitespace().pre_tokenize_str(text)]"),
            _with(
                split_words,
                """
                spaced = "".join(f"\\x00{c}\\x00" if unicodedata.category(c).startswith("P") else c for c in text)
                return spaced.replace("\\x00\\x00", "").replace("\\x00", " ").split()
                """,
            ),
        ),
        _mistake(
            "apostrophe_kept",
            "An apostrophe or a hyphen stays inside its word: it is a punctuation mark like the others, a piece of its own.",
            _parted("""unicodedata.category(symbol).startswith("P") and symbol != "'" """.strip()),
            _parted('unicodedata.category(symbol).startswith("P") and symbol not in "\'’"'),
            _parted('unicodedata.category(symbol).startswith("P") and symbol != "-"'),
            _parted('unicodedata.category(symbol).startswith("P") and symbol not in "\'-"'),
            _parted('unicodedata.category(symbol).startswith("P") and symbol not in "\'’-"'),
        ),
        _mistake(
            "apostrophe_and_marks",
            r"An apostrophe or a hyphen stays inside its word although it is a punctuation mark, and `\w` of `re` does not match "
            "combining marks, so words of some scripts fall to pieces.",
            _found("""r"[\\w']+|[^\\w\\s]\""""),
            _found("""r"[\\w'-]+|[^\\w\\s]\""""),
            _found("""r"[\\w'’]+|[^\\w\\s]\""""),
            _found("""r"\\w+(?:'\\w+)?|[^\\w\\s]\""""),
            _found("""r"\\w+(?:'\\w+)*|[^\\w\\s]\""""),
            _found("""r"\\w+(?:[-']\\w+)*|[^\\w\\s]\""""),
            _found("""r"\\w+(?:['’-]\\w+)*|[^\\w\\s]\""""),
        ),
        _mistake(
            "digits_lost",
            "Digits are split one by one or get lost: a word is a run of letters and digits, and 2024 is one.",
            _accumulated('symbol.isalpha() or unicodedata.category(symbol)[0] == "M" or symbol in "\\u200c\\u200d"'),
            _parted('unicodedata.category(symbol)[0] == "P" or symbol.isdigit()'),
        ),
        _mistake(
            "letters_and_digits_apart",
            "Letters and digits are split from each other: a word is a run of both, such as B2B.",
            _with(
                split_words,
                """
                spaced = "".join(f" {c} " if unicodedata.category(c).startswith("P") else c for c in text)
                return re.sub(r"(?<=[0-9])(?=[A-Za-z])|(?<=[A-Za-z])(?=[0-9])", " ", spaced).split()
                """,
            ),
        ),
        _mistake(
            "combining_class",
            "`unicodedata.combining` is 0 for many combining marks: the vowel signs of Bangla and Hindi have category Mc, but "
            "combining class 0. Ask for the category.",
            _accumulated('symbol.isalnum() or unicodedata.combining(symbol) or symbol in "\\u200c\\u200d"'),
            _accumulated("symbol.isalnum() or unicodedata.combining(symbol)"),
            _accumulated("symbol.isalnum() or unicodedata.combining(symbol) > 0"),
        ),
        _mistake(
            "non_spacing_only",
            "Only marks of category Mn are kept with their word; the vowel signs of Bangla, Hindi and Tamil also have category "
            "Mc. Take all categories that begin with M.",
            _accumulated('symbol.isalnum() or unicodedata.category(symbol) == "Mn" or symbol in "\\u200c\\u200d"'),
            _accumulated('symbol.isalnum() or unicodedata.category(symbol) == "Mn"'),
        ),
        _mistake(
            "spacing_only",
            "Only marks of category Mc are kept with their word: accents and tone marks have category Mn. Take all categories "
            "that begin with M.",
            _accumulated('symbol.isalnum() or unicodedata.category(symbol) == "Mc" or symbol in "\\u200c\\u200d"'),
            _accumulated('symbol.isalnum() or unicodedata.category(symbol) == "Mc"'),
        ),
        _mistake(
            "some_scripts",
            "The marks of some scripts only are allowed in words (a range of code points): there are marks in many scripts, and "
            "Unicode's categories that begin with M have them all.",
            _found(r'r"[\w\u0300-\u036f]+|[^\w\s]"'),
            _found(r'r"[\w\u0980-\u09ff]+|[^\w\s]"'),
            _found(r'r"[\w\u0300-\u036f\u0980-\u09ff]+|[^\w\s]"'),
            _found(r'r"[\w\u0300-\u036f\u0900-\u09ff]+|[^\w\s]"'),
            _found(r'r"[\w\u0300-\u036f\u0980-\u09ff\u200c\u200d]+|[^\w\s]"'),
        ),
        _mistake(
            "mark_ends_word",
            "A combining mark is kept, but the letter after it begins a new word: a word goes on after its marks.",
            _accumulated('symbol.isalnum() or unicodedata.category(symbol)[0] == "M"', " and symbol.isalnum()"),
        ),
        _mistake(
            "normalised",
            "The text is normalised (NFC, NFD, NFKC), so the pieces are no longer made of its characters (and not every mark has a "
            "composed form): leave the characters as they are.",
            _found(r'r"\w+|[^\w\s]"', 'unicodedata.normalize("NFC", text)'),
            _found(r'r"\w+|[^\w\s]"', 'unicodedata.normalize("NFKC", text)'),
            _found(r'r"\w+|[^\w\s]"', 'unicodedata.normalize("NFD", text)'),
            edited(split_words, ("    spaced", '    text = unicodedata.normalize("NFC", text)\n    spaced')),
            edited(split_words, ("    spaced", '    text = unicodedata.normalize("NFD", text)\n    spaced')),
            edited(split_words, ("    spaced", '    text = unicodedata.normalize("NFKC", text)\n    spaced')),
            edited(split_words, ("    spaced", '    text = unicodedata.normalize("NFKD", text)\n    spaced')),
        ),
        _mistake(
            "marks_removed",
            "Combining marks are removed, so words change (in Igbo and Bangla into other words): a mark stays with its word.",
            edited(
                split_words, ("for symbol in text]", 'for symbol in text if unicodedata.category(symbol)[0] != "M"]')
            ),
            edited(split_words, ("for symbol in text]", 'for symbol in text if unicodedata.category(symbol) != "Mn"]')),
            edited(
                split_words,
                (
                    "for symbol in text]",
                    'for symbol in unicodedata.normalize("NFD", text) if unicodedata.category(symbol) != "Mn"]',
                ),
            ),
            _found(r'r"\w+|[^\w\s]"', 'text.encode("ascii", "ignore").decode()'),
        ),
        _mistake(
            "joiners_torn",
            "The joiners U+200C and U+200D are pieces of their own and cut the word in two: they are no punctuation and no white "
            "space, and belong to the word.",
            _accumulated('symbol.isalnum() or unicodedata.category(symbol)[0] == "M"'),
            _accumulated('unicodedata.category(symbol)[0] in "LMN"'),
            _parted('unicodedata.category(symbol)[0] not in "LMNZ" and not symbol.isspace()'),
            _parted('unicodedata.category(symbol)[0] in "PC" and not symbol.isspace()'),
        ),
        _mistake(
            "joiners_lost",
            "The joiners U+200C and U+200D get lost: nothing but white space may disappear.",
            edited(
                split_words, ("    spaced", '    text = text.replace("\\u200c", "").replace("\\u200d", "")\n    spaced')
            ),
            edited(
                split_words,
                ("    spaced", '    text = text.replace("\\u200c", " ").replace("\\u200d", " ")\n    spaced'),
            ),
            edited(
                split_words,
                ("    spaced", "    text = ''.join(c for c in text if c.isprintable() or c.isspace())\n    spaced"),
            ),
        ),
        _mistake(
            "lowercased",
            "Words are turned into small letters: nothing but white space may change.",
            edited(split_words, (_PIECES, '"".join(spaced).lower().split()')),
            _found(r'r"\w+|[^\w\s]"', "text.lower()"),
            _with(split_words, "return text.lower().split()"),
        ),
        _mistake(
            "blanks_only",
            "Only blanks (' ') separate words, so empty pieces, tabs or new lines turn up: `split()` without an argument knows all "
            "white space.",
            edited(split_words, (_PIECES, '"".join(spaced).split(" ")')),
            edited(split_words, (_PIECES, '[p for p in "".join(spaced).split(" ") if p]')),
            edited(split_words, (_PIECES, '"".join(spaced).replace("\\n", " ").split(" ")')),
        ),
        _mistake(
            "ascii_white_space",
            "Only the white space of ASCII separates words: no-break spaces and the wide space of Chinese and Japanese do too.",
            edited(split_words, (_PIECES, '[p for p in re.split(r"[ \\t\\r\\n]+", "".join(spaced)) if p]')),
            edited(split_words, (_PIECES, '[p for p in re.split(r"[ \\t\\n]+", "".join(spaced)) if p]')),
        ),
        _mistake(
            "white_space_kept",
            "White space is kept as pieces: it only separates.",
            _with(
                split_words,
                r"return [p for p in re.split(r'(\s)', ''.join(f' {c} ' if unicodedata.category(c)[0] == 'P' else c for c in text)) if p]",
            ),
            _with(split_words, r"return [p for p in re.split(r'(\W)', text) if p]"),
            _with(split_words, r"return re.split(r'(\W)', text)"),
            _with(split_words, r"return re.split(r'(\s+)', text)"),
            _found(r'r"\w+|\W"'),
            _with(split_words, "return [piece for piece, _ in pre_tokenizers.Punctuation().pre_tokenize_str(text)]"),
        ),
        _mistake(
            "last_mark_only",
            "Only a punctuation mark at the end of a word is split off: marks stand before and inside words too, and several at once.",
            _with(
                split_words,
                """
                pieces = []
                for word in text.split():
                    if len(word) > 1 and unicodedata.category(word[-1])[0] == "P":
                        pieces += [word[:-1], word[-1]]
                    else:
                        pieces.append(word)
                return pieces
                """,
            ),
            _with(
                split_words,
                """
                pieces = []
                for word in text.split():
                    if len(word) > 1 and word[-1] in ".,!?;:":
                        pieces += [word[:-1], word[-1]]
                    else:
                        pieces.append(word)
                return pieces
                """,
            ),
        ),
        _mistake(
            "ends_only",
            "Punctuation is split off at the two ends of a word only: inside a word each mark is a piece of its own too.",
            _with(
                split_words,
                """
                pieces = []
                for word in text.split():
                    after = []
                    while word and unicodedata.category(word[0])[0] == "P":
                        pieces.append(word[0])
                        word = word[1:]
                    while word and unicodedata.category(word[-1])[0] == "P":
                        after.insert(0, word[-1])
                        word = word[:-1]
                    pieces += [word] * bool(word) + after
                return pieces
                """,
            ),
        ),
        _mistake(
            "space_on_one_side",
            "A punctuation mark is parted from one of its neighbours only: it needs white space on both sides.",
            edited(split_words, ('f" {symbol} "', 'f" {symbol}"')),
            edited(split_words, ('f" {symbol} "', 'f"{symbol} "')),
        ),
        _mistake(
            "last_word_lost",
            "The last word is lost when no mark follows it: what was collected must be added after the loop too.",
            _with(
                split_words,
                """
                pieces, word = [], ""
                for symbol in text:
                    mark = unicodedata.category(symbol).startswith("P")
                    if mark or symbol.isspace():
                        if word:
                            pieces.append(word)
                        word = ""
                        if mark:
                            pieces.append(symbol)
                    else:
                        word += symbol
                return pieces
                """,
            ),
        ),
        _mistake(
            "characters",
            "The text is split into single characters: only punctuation marks are pieces of their own.",
            _with(split_words, "return list(text)"),
            _with(split_words, "return [c for c in text if not c.isspace()]"),
        ),
        _mistake(
            "unique",
            "Each word is listed once, or the words are sorted: the list follows the text.",
            edited(split_words, (_PIECES, 'sorted(set("".join(spaced).split()))')),
            edited(split_words, (_PIECES, 'list(dict.fromkeys("".join(spaced).split()))')),
            edited(split_words, (_PIECES, 'sorted("".join(spaced).split())')),
        ),
        _mistake(
            "counted",
            "Frequencies are returned: a list of the pieces, in the order of the text, is asked for.",
            edited(split_words, (_PIECES, 'Counter("".join(spaced).split())')),
        ),
        _mistake(
            "text_returned",
            "A string is returned: a list of strings is asked for.",
            edited(split_words, (_PIECES, '"".join(spaced)')),
            edited(split_words, (_PIECES, '" ".join("".join(spaced).split())')),
        ),
        _mistake(
            "tuple", "A tuple is returned: a list is asked for.", edited(split_words, (_PIECES, f"tuple({_PIECES})"))
        ),
        _mistake(
            "lazy",
            "An iterator is returned, which can be read only once: make a list of it.",
            edited(split_words, (_PIECES, f"iter({_PIECES})")),
            edited(split_words, (_PIECES, f"(p for p in {_PIECES})")),
        ),
        _nothing_returned(split_words, (f"return {_PIECES}", f"_ = {_PIECES}")),
    ],
    alternatives=[
        Alternative(
            "loop",
            _with(
                split_words,
                """
                out, word = [], ""
                for c in text:
                    if c.isspace():
                        if word: out.append(word)
                        word = ""
                    elif unicodedata.category(c)[0] == "P":
                        if word: out.append(word)
                        out.append(c)
                        word = ""
                    else:
                        word += c
                return out + [word] if word else out
                """,
            ),
        ),
        Alternative(
            "letters_marks_and_numbers",
            _accumulated('unicodedata.category(symbol)[0] in "LMN" or symbol in "\\u200c\\u200d"'),
        ),
        Alternative(
            "translated",
            _with(
                split_words,
                """
                table = {ord(c): f" {c} " for c in text if unicodedata.category(c).startswith("P")}
                return text.translate(table).split()
                """,
            ),
        ),
        Alternative(
            "pattern_made_of_the_text",
            _with(
                split_words,
                """
                extra = {c for c in text if unicodedata.category(c) in ("Mn", "Mc", "Me", "Cf")}
                return re.findall(r"[\\w" + "".join(map(re.escape, extra)) + r"]+|[^\\w\\s]", text)
                """,
            ),
        ),
        Alternative(
            "the_library_s",
            _with(
                split_words,
                "return [piece for piece, span in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)]",
            ),
        ),
        Alternative(
            "the_library_s_pattern",
            _with(
                split_words,
                """
                from tokenizers import Regex
                pattern = Regex(r"[\\p{L}\\p{N}][\\p{L}\\p{N}\\p{M}\\x{200c}\\x{200d}]*|\\S")
                splitter = pre_tokenizers.Split(pattern, "removed", invert=True)
                return [piece for piece, _ in splitter.pre_tokenize_str(text)]
                """,
            ),
        ),
    ],
)


# --- count_pairs ------------------------------------------------------------------------------------------------------


def _spelt(text: str, end: str = "") -> dict[tuple[str, ...], int]:
    """The words of a text, spelt in characters, with their frequencies; `end` is a last symbol for every word."""
    return dict(Counter((*word, end) if end else tuple(word) for word in text.split()))


LOWER = {tuple("low"): 5, tuple("lower"): 2, tuple("newest"): 6, tuple("widest"): 3}
STORY = (
    "the dog drinks water because it was thirsty and the other dogs drink the same water near the wooden door "
    "there another thirsty dog thinks that drinking water is better than thinking"
)


def _counted(student: Any, words: dict, where: str) -> None:
    got = student.value("count_pairs", words, where=where)
    if not isinstance(got, dict):
        raise Wrong(f"The result should be a Counter, from pairs to numbers; yours is {kind(got)} {where}.")
    expected = count_pairs(words)
    got = {pair: n for pair, n in got.items() if n != 0}  # a Counter says 0 for what it does not hold
    if any(type(pair) is not tuple or len(pair) != 2 for pair in got):
        raise Wrong(f"The keys should be pairs of symbols, tuples of two strings {where}.")
    if set(got) != set(expected):
        missing, more = bool(set(expected) - set(got)), bool(set(got) - set(expected))
        what = "are missing and others do not stand side by side" if missing and more else "are missing"
        raise Wrong(f"Pairs {what if missing else 'are counted that do not stand side by side'} {where}.")
    if got != dict(expected):
        raise Wrong(f"The pairs are right {where}, but not all of the counts.")


def _count_values(student: Any) -> None:
    for words, where in (
        (LOWER, "for low ×5, lower ×2, newest ×6, widest ×3"),
        ({("a", "b", "a"): 3, ("a", "b"): 2}, "for aba ×3 and ab ×2"),
        (_spelt(STORY), "for the words of a short story"),
        ({tuple("banana"): 2, tuple("anna"): 7}, "for banana ×2 and anna ×7"),
        ({tuple("abc"): 1}, "for abc ×1"),
    ):
        with student.case():
            _counted(student, words, where)


def _count_symbols(student: Any) -> None:
    for words, where in (
        ({("lo", "w", "er"): 2, ("lo", "w"): 5, ("l", "ow"): 3}, "for words of longer symbols"),
        ({("a", "bc"): 2, ("ab", "c"): 3}, "for (a, bc) ×2 and (ab, c) ×3"),
        (_spelt("low low lowest newer", "</w>"), "for words that end in </w>"),
        ({("এ", "\u0995\u09be"): 2, ("ọ", "🙂", "ọ", "🙂"): 4}, "for symbols of other scripts"),
    ):
        with student.case():
            _counted(student, words, where)


def _count_repeated(student: Any) -> None:
    for words, where in (
        ({tuple("aaa"): 1}, "for aaa ×1"),
        ({tuple("aaaa"): 3, tuple("aa"): 2}, "for aaaa ×3 and aa ×2"),
        ({tuple("abab"): 2, tuple("baab"): 5}, "for abab ×2 and baab ×5"),
        ({("ab", "ab", "ab"): 4}, "for (ab, ab, ab) ×4"),
    ):
        with student.case():
            _counted(student, words, where)


IS_COUNTER = """
def is_counter(counts):
    from collections import Counter
    return isinstance(counts, Counter)
"""


def _count_manners(student: Any) -> None:
    for words, where in (
        ({}, "for no words at all"),
        ({("a",): 4}, "for a word of one symbol"),
        ({("a",): 4, (): 2, ("a", "b"): 1}, "with words of two, one and no symbols"),
        (dict(LOWER), "for low ×5, lower ×2, newest ×6, widest ×3"),
    ):
        with student.case():
            answer = student.call("count_pairs", [words], where=where, after=True)
            if answer["value"] != dict(count_pairs(words)):
                raise Wrong(f"The counts {where} are not right.")
            _as_before(answer["after"], [words], "words")
    counts = student.call("count_pairs", [dict(LOWER)], keep=True)["value"]
    if student.value(student.probe("is_counter", IS_COUNTER), counts) is not True:
        raise Wrong("A Counter is asked for; yours is another kind of dictionary.", "plain_dictionary")


_ADD = "counts[pair] += frequency"
_NEIGHBOURS = "zip(symbols, symbols[1:])"


def _counting(neighbours: str) -> str:
    return edited(count_pairs, (_NEIGHBOURS, neighbours))


COUNT_PAIRS = Exercise(
    name="count_pairs",
    notebook="02-tokenisation",
    points=2,
    reference=count_pairs,
    checks=[
        Check("adjacent pairs, weighted by the frequency of their word", 1.0, _count_values),
        Check("symbols of several characters", 0.4, _count_symbols),
        Check("pairs that occur several times in a word", 0.4, _count_repeated),
        Check("no words, very short words, a Counter, input unchanged", 0.2, _count_manners),
    ],
    working=written(
        """
        from collections import Counter
        from itertools import pairwise

        def count_pairs(words):
            total = Counter()
            for symbols, frequency in words.items():
                total.update({pair: frequency * n for pair, n in Counter(pairwise(symbols)).items()})
            return total
        """
    ),
    mistakes=[
        _mistake(
            "unweighted",
            "Each word counts once, however often it occurs: add its frequency instead of 1.",
            edited(count_pairs, (_ADD, "counts[pair] += 1")),
            _with(count_pairs, "return Counter(pair for symbols in words for pair in zip(symbols, symbols[1:]))"),
        ),
        _mistake(
            "not_added",
            "The count is not added to (`=`, `*=` or `max` instead of `+=`): every place where the pair stands adds to it.",
            edited(count_pairs, (_ADD, "counts[pair] = frequency")),
            edited(count_pairs, (_ADD, "counts[pair] *= frequency")),
            edited(count_pairs, (_ADD, "counts[pair] = max(counts[pair], frequency)")),
        ),
        _mistake(
            "once_per_word",
            "A pair that occurs twice in a word is counted once there: each place counts.",
            _counting("set(zip(symbols, symbols[1:]))"),
            _counting("dict.fromkeys(zip(symbols, symbols[1:]))"),
        ),
        _mistake(
            "without_overlap",
            "Overlapping pairs are skipped (a a a has two pairs of neighbours): only merging goes without overlap.",
            _with(
                count_pairs,
                """
                counts = Counter()
                for symbols, frequency in words.items():
                    last = None
                    for i, pair in enumerate(zip(symbols, symbols[1:])):
                        if pair == last and pair[0] == pair[1]:
                            last = None
                            continue
                        counts[pair] += frequency
                        last = pair
                return counts
                """,
            ),
        ),
        _mistake(
            "every_second",
            "The words are cut into couples (steps of two): every symbol but the last one begins a pair.",
            _counting("zip(symbols[::2], symbols[1::2])"),
        ),
        _mistake(
            "unordered",
            "The order in a pair is lost (sorted, or a set): (a, b) and (b, a) are two different pairs.",
            edited(count_pairs, (_ADD, "counts[tuple(sorted(pair))] += frequency")),
            edited(count_pairs, (_ADD, "counts[frozenset(pair)] += frequency")),
        ),
        _mistake(
            "reversed_pair",
            "The pairs are the wrong way round: the left symbol comes first.",
            edited(count_pairs, (_ADD, "counts[pair[::-1]] += frequency")),
            _counting("zip(symbols[1:], symbols)"),
        ),
        _mistake(
            "joined_keys",
            "The two symbols are joined into one string, so (a, bc) and (ab, c) become the same: the key is the pair, a tuple.",
            edited(count_pairs, (_ADD, "counts[''.join(pair)] += frequency")),
            edited(count_pairs, (_ADD, "counts[' '.join(pair)] += frequency")),
        ),
        _mistake(
            "characters",
            "The word is joined and cut into characters again: count symbols, which may be longer than one character.",
            _counting("zip(''.join(symbols), ''.join(symbols)[1:])"),
        ),
        _mistake(
            "last_pair_missing",
            "The last pair of each word is missing: n symbols have n − 1 pairs, and `range(n)` ends at n − 1 already.",
            _counting("zip(symbols[:-1], symbols[1:-1])"),
            _with(
                count_pairs,
                """
                counts = Counter()
                for symbols, frequency in words.items():
                    for i in range(len(symbols) - 2):
                        counts[symbols[i], symbols[i + 1]] += frequency
                return counts
                """,
            ),
        ),
        _mistake(
            "first_pair_missing",
            "The first pair of each word is missing: indices begin at 0.",
            _counting("zip(symbols[1:], symbols[2:])"),
        ),
        _mistake(
            "wraps_around",
            "The last symbol is paired with the first one of the same word: index −1 counts from the end.",
            _counting("zip(symbols[-1:] + symbols, symbols)"),
            _counting("zip(symbols, symbols[1:] + symbols[:1])"),
        ),
        _mistake(
            "across_words",
            "Pairs reach from one word into the next: a pair lies within one word.",
            _with(
                count_pairs,
                """
                counts = count = Counter()
                last = None
                for symbols, frequency in words.items():
                    for symbol in symbols:
                        if last is not None:
                            counts[last, symbol] += frequency
                        last = symbol
                return counts
                """,
            ),
            _with(
                count_pairs,
                """
                line = [symbol for symbols, frequency in words.items() for symbol in symbols * frequency]
                return Counter(zip(line, line[1:]))
                """,
            ),
        ),
        _mistake(
            "all_combinations",
            "All pairs of symbols of a word are counted: only neighbours stand side by side.",
            _counting("[(a, b) for i, a in enumerate(symbols) for b in symbols[i + 1:]]"),
            _counting("[(a, b) for a in symbols for b in symbols]"),
            _counting("[(a, b) for i, a in enumerate(symbols) for j, b in enumerate(symbols) if i != j]"),
        ),
        _mistake(
            "one_apart",
            "Symbols with one between them are paired: neighbours are asked for.",
            _counting("zip(symbols, symbols[2:])"),
        ),
        _mistake(
            "triples",
            "Three symbols in a row are counted: pairs are asked for.",
            _counting("zip(symbols, symbols[1:], symbols[2:])"),
        ),
        _mistake(
            "single_symbols",
            "Single symbols are counted: pairs of neighbours are asked for.",
            _counting("symbols"),
            _counting("zip(symbols)"),
        ),
        _mistake(
            "equal_skipped",
            "Pairs of two equal symbols are left out: they count like the others.",
            edited(count_pairs, (_ADD, "counts[pair] += frequency * (pair[0] != pair[1])")),
            edited(count_pairs, (_ADD, "if pair[0] != pair[1]:\n                counts[pair] += frequency")),
        ),
        _mistake(
            "first_word_only",
            "Only the first word is counted: a `return` stands inside the loop.",
            _with(
                count_pairs,
                """
                counts = Counter()
                for symbols, frequency in words.items():
                    for pair in zip(symbols, symbols[1:]):
                        counts[pair] += frequency
                    return counts
                return counts
                """,
            ),
        ),
        _mistake(
            "last_word_only",
            "Only the last word is counted: the counter is made anew for each word.",
            _with(
                count_pairs,
                """
                counts = Counter()
                for symbols, frequency in words.items():
                    counts = Counter()
                    for pair in zip(symbols, symbols[1:]):
                        counts[pair] += frequency
                return counts
                """,
            ),
        ),
        _mistake(
            "shares",
            "Shares are returned: whole counts are asked for.",
            edited(
                count_pairs,
                ("return counts", "return Counter({pair: n / counts.total() for pair, n in counts.items()})"),
            ),
        ),
        _mistake(
            "weighted_by_length",
            "The counts are multiplied by the length of the word, or divided by it: the frequency alone is the weight.",
            edited(count_pairs, (_ADD, "counts[pair] += frequency * len(symbols)")),
            edited(count_pairs, (_ADD, "counts[pair] += frequency / len(symbols)")),
            edited(count_pairs, (_ADD, "counts[pair] += len(symbols)")),
        ),
        _mistake(
            "list_of_pairs",
            "A list is returned (`most_common`, `items`): a Counter is asked for.",
            edited(count_pairs, ("return counts", "return counts.most_common()")),
            edited(count_pairs, ("return counts", "return list(counts.items())")),
            edited(count_pairs, ("return counts", "return sorted(counts.items())")),
        ),
        _mistake(
            "plain_dictionary",
            "A plain dictionary is returned: a Counter is asked for, which says 0 for a pair that it does not hold.",
            edited(count_pairs, ("return counts", "return dict(counts)")),
            edited(count_pairs, ("Counter()", "defaultdict(int)")),
        ),
        _mistake(
            "best_only",
            "Only the most frequent pair is returned: the counts of all pairs are asked for.",
            edited(count_pairs, ("return counts", "return max(counts, key=counts.get, default=None)")),
            edited(count_pairs, ("return counts", "return counts.most_common(1)")),
            edited(count_pairs, ("return counts", "return Counter(dict(counts.most_common(1)))")),
        ),
        _mistake(
            "key_error",
            "A pair that is seen for the first time is a KeyError: a Counter begins at 0, a plain dict does not.",
            edited(count_pairs, ("Counter()", "{}")),
        ),
        _mistake(
            "end_added",
            "An end-of-word symbol is added: the words are spelt as they should be counted.",
            _counting("zip(symbols, symbols[1:] + ('</w>',))"),
        ),
        _mistake(
            "words_used_up",
            "The words are taken out of the dictionary that was passed in: it belongs to the caller.",
            _with(
                count_pairs,
                """
                counts = Counter()
                while words:
                    symbols, frequency = words.popitem()
                    for pair in zip(symbols, symbols[1:]):
                        counts[pair] += frequency
                return counts
                """,
            ),
        ),
        _nothing_returned(count_pairs, ("return counts", "_ = counts")),
    ],
    alternatives=[
        Alternative(
            "indices",
            _with(
                count_pairs,
                """
                pairs = defaultdict(int)
                for word in words:
                    for i in range(len(word) - 1):
                        pairs[(word[i], word[i + 1])] += words[word]
                return Counter(pairs)
                """,
            ),
        ),
        Alternative(
            "get",
            _with(
                count_pairs,
                """
                result = {}
                for w, f in words.items():
                    for a, b in zip(w[:-1], w[1:]):
                        result[a, b] = result.get((a, b), 0) + f
                return Counter(result)
                """,
            ),
        ),
        Alternative(
            "every_occurrence",
            _with(
                count_pairs,
                """
                from itertools import chain, pairwise, repeat
                return Counter(chain.from_iterable(chain.from_iterable(repeat(list(pairwise(w)), n)) for w, n in words.items()))
                """,
            ),
        ),
        Alternative(
            "sum_of_counters",
            _with(
                count_pairs,
                """
                return sum((Counter({p: n * f for p, n in Counter(zip(w, w[1:])).items()}) for w, f in words.items()), Counter())
                """,
            ),
        ),
    ],
)


# --- merge_pair -------------------------------------------------------------------------------------------------------


def _merges(*cases: tuple[Any, tuple[str, str]]) -> Any:
    def ask(student: Any) -> None:
        for symbols, pair in cases:
            with student.case():
                symbols = tuple(symbols)
                where = f"for {symbols} and the pair {pair}"
                _same(
                    student.value("merge_pair", symbols, pair, where=where),
                    merge_pair(symbols, pair),
                    "The tuple",
                    where,
                )

    return ask


def _merge_manners(student: Any) -> None:
    for symbols, pair in (((), ("a", "b")), (("a",), ("a", "a")), (("x", "y"), ("a", "b")), (("a", "b"), ("a", "b"))):
        with student.case():
            where = f"for {symbols} and the pair {pair}"
            got = student.value("merge_pair", symbols, pair, where=where)
            _exactly(got, merge_pair(symbols, pair), "The tuple", where)


def _stepping(test: str, then: str, other: str = "merged.append(symbols[i])\n        i += 1") -> str:
    """merge_pair with an index."""
    return _with(
        merge_pair,
        f"""
merged, i = [], 0
while i < len(symbols):
    if {test}:
        {then}
    else:
        {other}
return tuple(merged)
""",
    )


_AT = "symbols[i:i + 2] == pair"
_TAKE = "merged.append(symbols[i] + symbols[i + 1])\n        i += 2"

MERGE_PAIR = Exercise(
    name="merge_pair",
    notebook="02-tokenisation",
    points=3,
    reference=merge_pair,
    checks=[
        Check(
            "every occurrence becomes one symbol",
            1.0,
            _merges(
                *(
                    ("lower", ("e", "r")),
                    ("newest", ("e", "s")),
                    ("banana", ("a", "n")),
                    ("abcab", ("a", "b")),
                    ("xaby", ("a", "b")),
                ),
                *(
                    (("lo", "w", "e", "r"), ("lo", "w")),
                    ("ababab", ("b", "a")),
                    (("আ", "ম", "\u09be", "র"), ("ম", "\u09be")),
                ),
            ),
        ),
        Check(
            "left to right, without overlap",
            1.0,
            _merges(
                *(
                    ("aaa", ("a", "a")),
                    ("aaaa", ("a", "a")),
                    ("aaaaa", ("a", "a")),
                    ("baaab", ("a", "a")),
                    ("aaabaa", ("a", "a")),
                ),
                *(
                    (("ab", "ab", "ab"), ("ab", "ab")),
                    (("aa", "aa", "a"), ("aa", "a")),
                    (("a", "aa", "a", "aa"), ("a", "aa")),
                ),
            ),
        ),
        Check(
            "symbols are compared, not their letters",
            0.75,
            _merges(
                *(
                    (("xa", "b"), ("a", "b")),
                    (("a", "bx"), ("a", "b")),
                    (("a", "bc", "ab", "c"), ("ab", "c")),
                    (("ab", "a", "b"), ("a", "b")),
                ),
                *(
                    ("ba", ("a", "b")),
                    ((".", "*", ".", "x", "*"), (".", "*")),
                    (("$", "(", "$"), ("$", "(")),
                    (("a", "ab", "b"), ("a", "b")),
                ),
            ),
        ),
        Check("no or one symbol, nothing to merge, a tuple", 0.25, _merge_manners),
    ],
    working=written(
        """
        def merge_pair(symbols, pair):
            result = []
            rest = list(symbols)
            while rest:
                size = 2 if tuple(rest[:2]) == tuple(pair) else 1
                result.append("".join(rest[:size]))
                rest = rest[size:]
            return tuple(result)
        """
    ),
    mistakes=[
        _mistake(
            "text_replaced",
            "The symbols are joined with spaces and the pair replaced in that text, so parts of longer symbols match too (x a·b): "
            "compare whole symbols.",
            _with(merge_pair, "return tuple(' '.join(symbols).replace(' '.join(pair), ''.join(pair)).split())"),
            _with(
                merge_pair,
                "return tuple(re.sub(re.escape(' '.join(pair)), ''.join(pair), ' '.join(symbols)).split(' '))",
            ),
            _with(merge_pair, "return tuple(' '.join(symbols).replace(' '.join(pair), ''.join(pair)).split(' '))"),
            _with(
                merge_pair,
                r"return tuple(re.sub(r'\b' + re.escape(' '.join(pair)) + r'\b', ''.join(pair), ' '.join(symbols)).split())",
            ),
        ),
        _mistake(
            "pattern_not_escaped",
            "The pair is used as a regular expression, in which . * ( and $ mean something else: `re.escape` it.",
            _with(
                merge_pair,
                r"""
                pattern = re.compile(r"(?<!\S)" + " ".join(pair) + r"(?!\S)")
                return tuple(pattern.sub("".join(pair), " ".join(symbols)).split())
                """,
            ),
            _with(merge_pair, "return tuple(re.sub(' '.join(pair), ''.join(pair), ' '.join(symbols)).split())"),
        ),
        _mistake(
            "characters_joined",
            "All symbols are joined and cut apart again, so earlier merges are undone or pieces arise that never stood side by "
            "side: walk through the symbols.",
            _with(
                merge_pair,
                """
                text, both = "".join(symbols), "".join(pair)
                merged, i = [], 0
                while i < len(text):
                    size = len(both) if text.startswith(both, i) else 1
                    merged.append(text[i:i + size])
                    i += size
                return tuple(merged)
                """,
            ),
            _with(
                merge_pair,
                "return tuple(p for p in re.split('(' + re.escape(''.join(pair)) + ')', ''.join(symbols)) if p)",
            ),
        ),
        _mistake(
            "joined_text_compared",
            "The joined texts are compared, so (a, bc) is taken for (ab, c): both symbols must be equal, one by one.",
            _stepping("i + 1 < len(symbols) and symbols[i] + symbols[i + 1] == pair[0] + pair[1]", _TAKE),
            _stepping(
                "''.join(symbols[i:i + 2]) == ''.join(pair)", "merged.append(''.join(symbols[i:i + 2]))\n        i += 2"
            ),
        ),
        _mistake(
            "first_only",
            "Only the first occurrence is merged: all of them are asked for.",
            _with(
                merge_pair,
                """
                for i in range(len(symbols) - 1):
                    if symbols[i:i + 2] == pair:
                        return symbols[:i] + (pair[0] + pair[1],) + symbols[i + 2:]
                return symbols
                """,
            ),
        ),
        _mistake(
            "overlapping",
            "A symbol is used in two merges (a a a gives aa aa): after a merge go on behind it.",
            _with(
                merge_pair,
                """
                merged = []
                for i, symbol in enumerate(symbols):
                    if symbols[i:i + 2] == pair:
                        merged.append(pair[0] + pair[1])
                    elif i == 0 or symbols[i - 1:i + 1] != pair:
                        merged.append(symbol)
                return tuple(merged)
                """,
            ),
        ),
        _mistake(
            "grows_on",
            "A symbol that was just made takes in the next one as well (a a a gives aaa): each merge joins two symbols.",
            _stepping(
                _AT,
                "merged.append(symbols[i])\n        while symbols[i + 1:i + 2] == pair[1:]:\n"
                "            merged[-1] += pair[1]\n            i += 1\n        i += 1",
            ),
        ),
        _mistake(
            "in_couples",
            "The symbols are cut into couples (steps of two) first: a pair may begin at every symbol.",
            _with(
                merge_pair,
                """
                merged = []
                for i in range(0, len(symbols), 2):
                    couple = symbols[i:i + 2]
                    merged += [couple[0] + couple[1]] if couple == pair else couple
                return tuple(merged)
                """,
            ),
        ),
        _mistake(
            "right_to_left",
            "The merging goes from right to left (a a a gives a aa): go from left to right.",
            _with(
                merge_pair,
                """
                merged, i = [], len(symbols)
                while i > 0:
                    size = 2 if i > 1 and symbols[i - 2:i] == pair else 1
                    merged.insert(0, "".join(symbols[i - size:i]))
                    i -= size
                return tuple(merged)
                """,
            ),
            _with(
                merge_pair,
                """
                merged = list(symbols)
                for i in range(len(merged) - 2, -1, -1):
                    if tuple(merged[i:i + 2]) == pair:
                        merged[i:i + 2] = ["".join(pair)]
                return tuple(merged)
                """,
            ),
        ),
        _mistake(
            "second_kept",
            "The right symbol of a merged pair stays behind as well: go two symbols on after a merge.",
            _stepping(_AT, "merged.append(symbols[i] + symbols[i + 1])\n        i += 1"),
        ),
        _mistake(
            "too_far",
            "After a merge the symbol that follows it is skipped: go two symbols on, not three (a `for` loop adds one more).",
            _stepping(_AT, "merged.append(symbols[i] + symbols[i + 1])\n        i += 3"),
        ),
        _mistake(
            "last_lost",
            "The last symbol is lost when it is not part of a pair: the loop must reach the end.",
            _with(
                merge_pair,
                f"merged, i = [], 0\nwhile i < len(symbols) - 1:\n    if {_AT}:\n        {_TAKE}\n    else:\n"
                "        merged.append(symbols[i])\n        i += 1\nreturn tuple(merged)",
            ),
            edited(merge_pair, ("tuple(merged)", "tuple(merged[:-1])")),
        ),
        _mistake(
            "pair_at_end_missed",
            "A pair at the very end is not merged: the loop ends one pair too early.",
            _stepping(f"i + 2 < len(symbols) and {_AT}", _TAKE),
        ),
        _mistake(
            "pair_at_start_missed",
            "A pair at the very beginning is not merged: indices begin at 0.",
            _stepping(f"i > 0 and {_AT}", _TAKE),
        ),
        _mistake(
            "index_error",
            "At the last symbol there is no right neighbour to look at: check that i + 1 is still inside the word.",
            _stepping("symbols[i] == pair[0] and symbols[i + 1] == pair[1]", _TAKE),
            _stepping("(symbols[i], symbols[i + 1]) == pair", _TAKE),
        ),
        _mistake(
            "left_only",
            "Only the left symbol is compared: both must be equal.",
            _stepping("i + 1 < len(symbols) and symbols[i] == pair[0]", _TAKE),
        ),
        _mistake(
            "right_only",
            "Only the right symbol is compared: both must be equal.",
            _stepping("i + 1 < len(symbols) and symbols[i + 1] == pair[1]", _TAKE),
        ),
        _mistake(
            "either_order",
            "The pair is merged in either order: (b, a) is not (a, b).",
            _stepping("set(symbols[i:i + 2]) == set(pair) and i + 1 < len(symbols)", _TAKE),
            _stepping("sorted(symbols[i:i + 2]) == sorted(pair)", _TAKE),
        ),
        _mistake(
            "wrong_order_joined",
            "The two symbols are joined in the wrong order: left, then right.",
            _stepping(_AT, "merged.append(symbols[i + 1] + symbols[i])\n        i += 2"),
        ),
        _mistake(
            "pair_kept_as_pair",
            "The pair itself is put in, or a joined text with a mark between: the new symbol is the two texts joined, left + right.",
            _stepping(_AT, "merged.append(pair)\n        i += 2"),
            _stepping(_AT, "merged.append(pair[0] + ' ' + pair[1])\n        i += 2"),
            _stepping(_AT, "merged.append('_'.join(pair))\n        i += 2"),
            _stepping(_AT, "merged.append('-'.join(pair))\n        i += 2"),
            _stepping(_AT, "merged.append(str(pair))\n        i += 2"),
        ),
        _mistake(
            "merged_again",
            "A symbol that was just made is merged further (a a a a gives aaaa): one call makes each symbol from two.",
            _with(
                merge_pair,
                """
                merged = []
                for symbol in symbols:
                    if merged and merged[-1].endswith(pair[0]) and symbol == pair[1]:
                        merged[-1] += symbol
                    else:
                        merged.append(symbol)
                return tuple(merged)
                """,
            ),
        ),
        _mistake(
            "others_dropped",
            "Only the merged symbols are returned: the other symbols of the word stay where they are.",
            _stepping(_AT, _TAKE, "i += 1"),
        ),
        _mistake(
            "removed",
            "The pair is removed: the joined symbol takes its place.",
            _stepping(_AT, "i += 2"),
        ),
        _mistake(
            "at_the_end",
            "The joined symbol is put at the end of the word: it takes the place of the pair.",
            _with(
                merge_pair,
                """
                merged, joined, i = [], [], 0
                while i < len(symbols):
                    if symbols[i:i + 2] == pair:
                        joined.append("".join(pair))
                        i += 2
                    else:
                        merged.append(symbols[i])
                        i += 1
                return tuple(merged + joined)
                """,
            ),
        ),
        _mistake(
            "unchanged",
            "The word comes back as it was: tuples do not change, so a new one must be made and returned.",
            edited(merge_pair, ("return tuple(merged)", "return symbols")),
        ),
        _mistake("list", "A list is returned: a tuple is asked for.", edited(merge_pair, ("tuple(merged)", "merged"))),
        _mistake(
            "text",
            "A string is returned: a tuple of symbols is asked for.",
            edited(merge_pair, ("tuple(merged)", "' '.join(merged)")),
            edited(merge_pair, ("tuple(merged)", "''.join(merged)")),
        ),
        _mistake(
            "tuple_of_characters",
            "`tuple` of a string cuts it into characters, so the merge is undone: make the tuple from the list of symbols.",
            edited(merge_pair, ("tuple(merged)", "tuple(''.join(merged))")),
        ),
        _mistake(
            "lazy",
            "A generator is returned: a tuple is asked for.",
            edited(merge_pair, ("tuple(merged)", "(symbol for symbol in merged)")),
        ),
        _mistake(
            "short_words_fail",
            "A word of no or one symbol fails: it has no pair, and comes back as it is.",
            edited(merge_pair, ("    merged = []", "    symbols[0]\n    merged = []")),
            edited(merge_pair, ("    merged = []", "    symbols[1]\n    merged = []")),
            edited(merge_pair, ("    merged = []", "    if len(symbols) < 2:\n        return None\n    merged = []")),
            edited(
                merge_pair,
                (
                    "    merged = []",
                    "    if not symbols:\n        raise ValueError('symbols is empty')\n    merged = []",
                ),
            ),
        ),
        _mistake(
            "short_words_lost",
            "A word of one symbol comes back empty: it has no pair, and comes back as it is.",
            edited(merge_pair, ("    merged = []", "    if len(symbols) < 2:\n        return ()\n    merged = []")),
        ),
        _nothing_returned(merge_pair, ("return tuple", "_ = tuple")),
    ],
    alternatives=[
        Alternative(
            "index", _stepping("i < len(symbols) - 1 and symbols[i] == pair[0] and symbols[i + 1] == pair[1]", _TAKE)
        ),
        Alternative(
            "in_place_on_a_copy",
            _with(
                merge_pair,
                """
                out = list(symbols)
                i = 0
                while i < len(out) - 1:
                    if (out[i], out[i + 1]) == tuple(pair):
                        out[i] = out[i] + out.pop(i + 1)
                    i += 1
                return tuple(out)
                """,
            ),
        ),
        Alternative(
            "recursive",
            _with(
                merge_pair,
                """
                if len(symbols) < 2:
                    return tuple(symbols)
                if symbols[:2] == pair:
                    return ("".join(pair),) + merge_pair(symbols[2:], pair)
                return symbols[:1] + merge_pair(symbols[1:], pair)
                """,
            ),
        ),
        Alternative(
            "pattern_with_borders",
            _with(
                merge_pair,
                r"""
                if not symbols:
                    return ()
                pattern = re.compile(r"(?<!\S)" + re.escape(" ".join(pair)) + r"(?!\S)")
                return tuple(pattern.sub(lambda match: "".join(pair), " ".join(symbols)).split(" "))
                """,
            ),
        ),
        Alternative(
            "flag",
            _with(
                merge_pair,
                """
                result, skip = (), False
                for i, s in enumerate(symbols):
                    if skip:
                        skip = False
                    elif symbols[i:i + 2] == pair:
                        result += (s + symbols[i + 1],)
                        skip = True
                    else:
                        result += (s,)
                return result
                """,
            ),
        ),
    ],
)


# --- train_bpe --------------------------------------------------------------------------------------------------------


def _weighted(text: str, factor: int, end: str = "") -> dict[tuple[str, ...], int]:
    """The words of a text with frequencies so uneven that the first dozen merges meet no tie."""
    names = dict.fromkeys(text.split())
    return {(*word, end) if end else tuple(word): 1 + (i * i + 7 * i) * factor % 997 for i, word in enumerate(names)}


def _of(**words: int) -> dict[tuple[str, ...], int]:
    return {tuple(word): frequency for word, frequency in words.items()}


BANANAS = "banana bandana anna nab cabana ban nana band canal an ana ba"


def _learns(*cases: tuple[dict, int, str]) -> Any:
    def ask(student: Any) -> None:
        for words, num_merges, text in cases:
            with student.case():
                where = f"for {text} and num_merges = {num_merges}"
                got = student.value("train_bpe", words, num_merges, where=where)
                if isinstance(got, (list, tuple)) and any(not isinstance(pair, (list, tuple)) for pair in got):
                    raise Wrong(f"The list of merges should hold pairs (left, right) {where}.")
                _same(got, train_bpe(words, num_merges), "The list of merges", where)

    return ask


def _learn_manners(student: Any) -> None:
    for words, num_merges, text in (
        (dict(LOWER), 3, "low ×5, lower ×2, newest ×6, widest ×3"),
        (_of(ab=2, abc=3), 1, "ab, abc"),
    ):
        with student.case():
            where = f"for {text} and num_merges = {num_merges}"
            answer = student.call("train_bpe", [words, num_merges], where=where, after=True)
            _exactly(answer["value"], train_bpe(words, num_merges), "The list of merges", where)
            _as_before(answer["after"], [words, num_merges], "words")


_SIMPLE = """
words, merges = dict(words), []
for _ in range(num_merges):
    counts = count_pairs(words)
    if not counts:
        break
    best = min(counts, key=lambda pair: (-counts[pair], pair))
    merges.append(best)
    words = {merge_pair(symbols, best): frequency for symbols, frequency in words.items()}
return merges
"""
_BEST = "min(counts, key=lambda pair: (-counts[pair], pair))"
_MERGED = "{merge_pair(symbols, best): frequency for symbols, frequency in words.items()}"


def _learning(*edits: tuple[str, str]) -> str:
    """The simple algorithm, which counts all pairs anew for each merge, with some text replaced."""
    text = _SIMPLE
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return _with(train_bpe, text)


TRAIN_BPE = Exercise(
    name="train_bpe",
    notebook="02-tokenisation",
    points=6,
    reference=train_bpe,
    checks=[
        Check(
            "the most frequent pair first",
            2.0,
            _learns(
                (_of(low=8, lower=5, newest=13, widest=2, west=3, wes=30, lo=21, est=70), 5, "eight words"),
                (_of(rug=10, pug=5, hug=12, bun=4, hugs=5, pun=12, gs=1), 5, "rug, pug, hug and others"),
                (_weighted(STORY, 31), 17, "the words of a story"),
                (_of(abc=2, ab=1), 2, "abc ×2, ab ×1"),
                (_of(abab=5, baba=3, ab=2, bab=7), 4, "abab, baba, ab, bab"),
                (_of(aaaa=3, aab=4, baa=9), 4, "aaaa, aab, baa"),
                (_of(aaa=4, bc=6), 2, "aaa ×4, bc ×6"),
            ),
        ),
        Check(
            "ties go to the lexicographically smallest pair",
            1.5,
            _learns(
                (LOWER, 4, "low ×5, lower ×2, newest ×6, widest ×3"),
                (_of(zy=2, ba=2, ab=2), 3, "zy, ba and ab, twice each"),
                ({("a", "z"): 2, ("ab", "a"): 2}, 2, "(a, z) and (ab, a), twice each"),
                (_of(xy=4, xZ=4, Xy=4, éx=4), 4, "xy, xZ, Xy and éx, four times each"),
                ({("b", "c"): 3, ("a", "zz"): 3, ("a", "b"): 3, ("aa", "a"): 3}, 4, "four pairs, three times each"),
                (_spelt(STORY), 12, "the words of a story, as often as they occur"),
            ),
        ),
        Check(
            "merges build on earlier merges",
            1.0,
            _learns(
                (_weighted(STORY, 37, "</w>"), 15, "the words of a story that end in </w>"),
                (_weighted(BANANAS, 51), 10, "banana and words like it"),
                ({("t", "he", "n"): 3, ("th", "e"): 5, ("th", "en"): 4}, 3, "words of longer symbols"),
                (_of(thinking=3, think=2), 6, "thinking ×3, think ×2"),
                (_of(aaab=5, caaa=3), 4, "aaab ×5, caaa ×3"),
            ),
        ),
        Check(
            "stops early, no merges, no words",
            1.0,
            _learns(
                (_of(abc=2, ab=1), 10, "abc ×2, ab ×1"),
                (LOWER, 0, "low ×5, lower ×2, newest ×6, widest ×3"),
                ({}, 3, "no words at all"),
                ({("a",): 4, ("b",): 2}, 2, "words of one symbol"),
                (_of(a=3, banana=1), 50, "a ×3, banana ×1"),
                (_of(ab=1), 1, "ab ×1"),
            ),
        ),
        Check("a list of tuples, input unchanged", 0.5, _learn_manners),
    ],
    working=written(
        """
        from collections import Counter

        def train_bpe(words, num_merges):
            def join(symbols, pair):
                out = []
                for symbol in symbols:
                    if out and (out[-1], symbol) == pair:
                        out[-1] += symbol
                    else:
                        out.append(symbol)
                return out

            spelt, merges = [(list(word), n) for word, n in words.items()], []
            while len(merges) < num_merges:
                counts = Counter()
                for symbols, n in spelt:
                    for pair in zip(symbols, symbols[1:]):
                        counts[pair] += n
                if not counts:
                    break
                merges.append(min(counts, key=lambda pair: (-counts[pair], pair)))
                spelt = [(join(symbols, merges[-1]), n) for symbols, n in spelt]
            return merges
        """
    ),
    mistakes=[
        _mistake(
            "first_seen_wins",
            "Of equally frequent pairs you take the one that was counted first (`max` or `most_common` alone); the "
            "lexicographically smallest is asked for, so that the order of the words does not matter.",
            _learning((_BEST, "max(counts, key=counts.get)")),
            _learning((_BEST, "max(reversed(counts), key=counts.get)")),
        ),
        _mistake(
            "largest_wins",
            "Of equally frequent pairs you take the largest: `max` over (count, pair) does that. The smallest is asked for, for "
            "example with (−count, pair) and `min`.",
            _learning((_BEST, "max(counts, key=lambda pair: (counts[pair], pair))")),
        ),
        _mistake(
            "joined_text_compared",
            "Ties are broken by the joined text, or by its length: compare the pairs as tuples, left symbol first.",
            _learning((_BEST, "min(counts, key=lambda pair: (-counts[pair], ''.join(pair)))")),
            _learning((_BEST, "min(counts, key=lambda pair: (-counts[pair], len(''.join(pair)), pair))")),
            _learning((_BEST, "min(counts, key=lambda pair: (-counts[pair], -len(''.join(pair)), pair))")),
            _learning((_BEST, "min(counts, key=lambda pair: (-counts[pair], pair[1], pair[0]))")),
            _learning((_BEST, "min(counts, key=lambda pair: (-counts[pair], pair[0]))")),
            _learning((_BEST, "min(counts, key=lambda pair: (-counts[pair], [s.lower() for s in pair]))")),
        ),
        _mistake(
            "rarest_first",
            "The rarest pair is merged: `min` over the counts. The most frequent one is asked for.",
            _learning((_BEST, "min(counts, key=lambda pair: (counts[pair], pair))")),
            _learning((_BEST, "min(counts, key=counts.get)")),
        ),
        _mistake(
            "smallest_pair",
            "The lexicographically smallest pair is merged, whatever its count: compare the counts first, the pairs only in a tie.",
            _learning((_BEST, "min(counts)")),
            _learning((_BEST, "min(counts, key=lambda pair: (pair, -counts[pair]))")),
            _learning((_BEST, "max(counts)")),
        ),
        _mistake(
            "unweighted",
            "Words are counted once each: a pair counts as often as its words occur.",
            _learning(("counts = count_pairs(words)", "counts = count_pairs(dict.fromkeys(words, 1))")),
            _learning(("best): frequency", "best): 1")),
        ),
        _mistake(
            "without_overlap",
            "In a run such as a a a only one pair is counted: every two neighbours count, though merging goes without overlap.",
            _learning(
                (
                    "counts = count_pairs(words)",
                    "counts = Counter()\n"
                    "    for symbols, frequency in words.items():\n"
                    "        last = None\n"
                    "        for pair in zip(symbols, symbols[1:]):\n"
                    "            if pair == last and pair[0] == pair[1]:\n"
                    "                last = None\n"
                    "                continue\n"
                    "            counts[pair] += frequency\n"
                    "            last = pair",
                ),
            ),
        ),
        _mistake(
            "once_per_word",
            "A pair that occurs several times in a word is counted once: each place counts.",
            _learning(
                (
                    "counts = count_pairs(words)",
                    "counts = Counter()\n"
                    "    for symbols, frequency in words.items():\n"
                    "        for pair in set(zip(symbols, symbols[1:])):\n"
                    "            counts[pair] += frequency",
                ),
            ),
        ),
        _mistake(
            "not_merged",
            "The words are not merged, so the same pair would be found for ever, or the list is just the pairs of the first "
            "count: merge, then count again.",
            _with(
                train_bpe,
                "counts = count_pairs(words)\nreturn sorted(counts, key=lambda pair: (-counts[pair], pair))[:num_merges]",
            ),
            _with(train_bpe, "return [pair for pair, _ in count_pairs(words).most_common(num_merges)]"),
            _learning((f"    words = {_MERGED}\n", "")),
            _learning((f"    words = {_MERGED}", f"    merged = {_MERGED}")),
        ),
        _mistake(
            "one_word_merged",
            "The merge is done in one word only: it is done in all of them.",
            _learning(
                (
                    f"words = {_MERGED}",
                    "for symbols in list(words):\n"
                    "        if merge_pair(symbols, best) != symbols:\n"
                    "            words[merge_pair(symbols, best)] = words.pop(symbols)\n"
                    "            break",
                ),
            ),
        ),
        _mistake(
            "first_place_merged",
            "Only the first occurrence in each word is merged: all of them are.",
            _learning(
                (
                    f"words = {_MERGED}",
                    "merged = {}\n"
                    "    for symbols, frequency in words.items():\n"
                    "        for i in range(len(symbols) - 1):\n"
                    "            if symbols[i:i + 2] == best:\n"
                    "                symbols = symbols[:i] + (''.join(best),) + symbols[i + 2:]\n"
                    "                break\n"
                    "        merged[symbols] = frequency\n"
                    "    words = merged",
                ),
            ),
        ),
        _mistake(
            "text_replaced",
            "The pair is replaced in the text of the word, where parts of longer symbols match too: merge whole symbols "
            "(`merge_pair`).",
            _learning(
                (
                    "merge_pair(symbols, best)",
                    "tuple(' '.join(symbols).replace(' '.join(best), ''.join(best)).split())",
                ),
            ),
            _learning(
                (
                    "merge_pair(symbols, best)",
                    "tuple(re.sub(' '.join(best), ''.join(best), ' '.join(symbols)).split())",
                ),
            ),
            _learning(
                (
                    "merge_pair(symbols, best)",
                    "tuple(''.join(symbols).replace(''.join(best), ' ' + ''.join(best) + ' ').split())",
                ),
            ),
        ),
        _mistake(
            "characters_again",
            "The words are cut into characters (again), so symbols of several characters are lost: leave them as they are spelt.",
            _learning(
                (
                    "words, merges = dict(words), []",
                    "words, merges = {tuple(''.join(w)): n for w, n in words.items()}, []",
                )
            ),
            _learning(
                (
                    "counts = count_pairs(words)",
                    "counts = count_pairs({tuple(''.join(w)): n for w, n in words.items()})",
                )
            ),
        ),
        _mistake(
            "end_added",
            "An end-of-word symbol is added: the words are already spelt as they should be.",
            _learning(
                ("words, merges = dict(words), []", "words, merges = {(*w, '</w>'): n for w, n in words.items()}, []")
            ),
            _learning(
                ("words, merges = dict(words), []", "words, merges = {(*w, '_'): n for w, n in words.items()}, []")
            ),
        ),
        _mistake(
            "right_to_left",
            "Runs are merged from the right (a a a gives a aa): merge from left to right.",
            _learning(("merge_pair(symbols, best)", "merge_pair(symbols[::-1], best[::-1])[::-1]")),
            _learning(
                (
                    "merge_pair(symbols, best)",
                    "tuple(s[::-1] for s in merge_pair(tuple(s[::-1] for s in symbols[::-1]), (best[1][::-1], best[0][::-1])))[::-1]",
                ),
            ),
        ),
        _mistake(
            "new_pairs_missed",
            "The counts are kept up to date, but the pairs that a merge makes are never counted: add the pairs of the new symbol "
            "with its neighbours.",
            edited(
                train_bpe,
                (
                    "            for pair in zip(new, new[1:]):\n                counts[pair] += frequencies[i]\n                holders[pair].add(i)\n",
                    "            for pair in zip(new, new[1:]):\n                if pair in zip(old, old[1:]):\n                    counts[pair] += frequencies[i]\n",
                ),
            ),
        ),
        _mistake(
            "old_pairs_kept",
            "The counts are kept up to date, but pairs that a merge destroys are still counted: take the neighbours of the merged "
            "pair away.",
            edited(
                train_bpe,
                (
                    "            for pair in zip(old, old[1:]):\n                counts[pair] -= frequencies[i]\n            for pair in zip(new, new[1:]):\n",
                    "            for pair in zip(new, new[1:]):\n                if pair in zip(old, old[1:]):\n                    continue\n",
                ),
                ("        merges.append(best)\n", "        merges.append(best)\n        del counts[best]\n"),
            ),
        ),
        _mistake(
            "updated_without_frequency",
            "The counts are kept up to date with ±1: each word counts with its frequency.",
            edited(
                train_bpe,
                ("-= frequencies[i]", "-= 1"),
                ("+= frequencies[i]", "+= 1"),
                ("        merges.append(best)\n", "        merges.append(best)\n        counts.pop(best)\n"),
            ),
        ),
        _mistake(
            "holders_not_updated",
            "The index of which words hold a pair is not updated, so merges miss words that came to hold the pair later.",
            edited(
                train_bpe,
                ("                holders[pair].add(i)\n            spellings", "            spellings"),
                ("holders.pop(best)", "holders.pop(best, ())"),
                (
                    "        merges.append(best)\n",
                    "        merges.append(best)\n        counts[best] *= best in holders\n",
                ),
            ),
        ),
        _mistake(
            "one_too_many",
            "One merge too many is learned: num_merges of them.",
            _learning(("range(num_merges)", "range(num_merges + 1)")),
        ),
        _mistake(
            "one_too_few",
            "One merge too few is learned: num_merges of them.",
            _learning(("range(num_merges)", "range(num_merges - 1)")),
            _learning(("range(num_merges)", "range(1, num_merges)")),
        ),
        _mistake(
            "one_only",
            "Only one merge is learned: a `return` or a `break` stands inside the loop.",
            _learning(("    words = {", "    return merges\n    words = {")),
            _learning(("range(num_merges)", "range(1)")),
        ),
        _mistake(
            "vocabulary_size",
            "`num_merges` is taken for the size of the vocabulary: it is the number of merges, whatever the number of characters.",
            _learning(("range(num_merges)", "range(num_merges - len({s for symbols in words for s in symbols}))")),
        ),
        _mistake(
            "fails_at_the_end",
            "When no pair is left, the maximum of nothing fails: stop early instead.",
            _learning(("    if not counts:\n        break\n", "")),
            _learning(("        break\n", "        raise ValueError('no pair is left')\n")),
        ),
        _mistake(
            "none_at_the_end",
            "When no pair is left, the merges learned so far are lost or None is added: stop and return them.",
            _learning(("        break\n", "        return None\n")),
            _learning(("        break\n", "        return []\n")),
            _learning(("        break\n", "        merges.append(None)\n        continue\n")),
        ),
        _mistake(
            "stops_at_one",
            "Pairs that occur only once are not merged: go on until no pair is left.",
            _learning(
                ("    merges.append(best)\n", "    if counts[best] < 2:\n        break\n    merges.append(best)\n")
            ),
        ),
        _mistake(
            "always_one",
            "With num_merges = 0 a merge is learned: the number is checked too late.",
            _learning(("range(num_merges)", "range(max(num_merges, 1))")),
        ),
        _mistake(
            "empty_refused",
            "No words, or no merges, is refused: the list of merges is empty then.",
            _learning(("words, merges", "if not words:\n    raise ValueError('no words')\nwords, merges")),
            _learning(("words, merges", "if not words:\n    return None\nwords, merges")),
            _learning(
                (
                    "words, merges",
                    "if num_merges < 1:\n    raise ValueError('num_merges must be positive')\nwords, merges",
                )
            ),
            _learning(("words, merges", "if not words or num_merges < 1:\n    return None\nwords, merges")),
        ),
        _mistake(
            "input_changed",
            "The dictionary that was passed in is changed: merge in a copy, the words belong to the caller.",
            _learning(
                ("words, merges = dict(words), []", "merges = []"),
                (f"words = {_MERGED}", f"merged = {_MERGED}\n    words.clear()\n    words.update(merged)"),
            ),
            _learning(
                ("words, merges = dict(words), []", "merges = []"),
                (
                    f"words = {_MERGED}",
                    "for symbols in list(words):\n"
                    "        if merge_pair(symbols, best) != symbols:\n"
                    "            words[merge_pair(symbols, best)] = words.pop(symbols)",
                ),
            ),
        ),
        _mistake(
            "joined_symbols",
            "The new symbols are returned: the pairs are asked for, (left, right).",
            _learning(("merges.append(best)", "merges.append(''.join(best))")),
            _learning(("merges.append(best)", "merges.append(' '.join(best))")),
        ),
        _mistake(
            "with_counts",
            "The counts are returned with the pairs: a list of pairs alone is asked for.",
            _learning(("merges.append(best)", "merges.append((best, counts[best]))")),
            _learning(
                ("merges = dict(words), []", "merges = dict(words), {}"),
                ("merges.append(best)", "merges[best] = counts[best]"),
            ),
        ),
        _mistake(
            "ranks",
            "A dictionary is returned: a list of the pairs in the order learned is asked for.",
            _learning(
                ("merges = dict(words), []", "merges = dict(words), {}"),
                ("merges.append(best)", "merges[best] = len(merges)"),
            ),
            _learning(
                ("merges = dict(words), []", "merges = dict(words), {}"),
                ("merges.append(best)", "merges[best] = ''.join(best)"),
            ),
        ),
        _mistake(
            "set",
            "A set is returned, in which the order is lost: a list in the order learned is asked for.",
            _learning(("return merges", "return set(merges)")),
        ),
        _mistake(
            "more_than_merges",
            "More than the merges is returned: the list alone is asked for.",
            _learning(("return merges", "return merges, words")),
            _learning(("return merges", "return words, merges")),
        ),
        _mistake(
            "words_returned",
            "The merged words, or the vocabulary, are returned: the list of merges is asked for.",
            _learning(("return merges", "return words")),
            _learning(("return merges", "return sorted({s for symbols in words for s in symbols})")),
        ),
        _mistake(
            "reversed",
            "The merges are in reverse: the one learned first comes first.",
            _learning(("merges.append(best)", "merges.insert(0, best)")),
        ),
        _mistake(
            "sorted",
            "The merges are sorted: their order is the order in which they were learned, and `bpe_encode` needs it.",
            _learning(("return merges", "return sorted(merges)")),
        ),
        _mistake(
            "lists",
            "The pairs are lists: tuples are asked for.",
            _learning(("merges.append(best)", "merges.append(list(best))")),
        ),
        _mistake(
            "tuple",
            "A tuple is returned: a list of pairs is asked for.",
            _learning(("return merges", "return tuple(merges)")),
        ),
        _mistake(
            "lazy",
            "A generator is returned (`yield`): a list is asked for.",
            _learning(("merges.append(best)", "yield best")),
            _learning(("return merges", "return iter(merges)")),
        ),
        _nothing_returned(train_bpe, ("return merges", "_ = merges")),
    ],
    alternatives=[
        Alternative("simple", _with(train_bpe, _SIMPLE)),
        Alternative(
            "sorted_counts",
            _with(
                train_bpe,
                """
                current = list(words.items())
                result = []
                while len(result) < num_merges:
                    stats = defaultdict(int)
                    for w, n in current:
                        for i in range(len(w) - 1):
                            stats[w[i], w[i + 1]] += n
                    if len(stats) == 0:
                        return result
                    pair, _ = sorted(stats.items(), key=lambda item: (-item[1], item[0]))[0]
                    result.append(pair)
                    current = [(merge_pair(w, pair), n) for w, n in current]
                return result
                """,
            ),
        ),
        Alternative(
            "heap",
            _with(
                train_bpe,
                """
                texts, freqs = [list(w) for w in words], list(words.values())
                counts, where = Counter(), defaultdict(set)
                for k, w in enumerate(texts):
                    for p in zip(w, w[1:]):
                        counts[p] += freqs[k]
                        where[p].add(k)
                heap = [(-n, p) for p, n in counts.items()]
                heapq.heapify(heap)
                merges = []
                while heap and len(merges) < num_merges:
                    n, pair = heapq.heappop(heap)
                    if counts[pair] != -n or not n:
                        continue
                    merges.append(pair)
                    changed = set()
                    for k in where.pop(pair):
                        w, i = texts[k], 0
                        for p in zip(w, w[1:]):
                            counts[p] -= freqs[k]
                            changed.add(p)
                        while i < len(w) - 1:
                            if (w[i], w[i + 1]) == pair:
                                w[i:i + 2] = [w[i] + w[i + 1]]
                            i += 1
                        for p in zip(w, w[1:]):
                            counts[p] += freqs[k]
                            where[p].add(k)
                            changed.add(p)
                    for p in changed:
                        if counts[p] > 0:
                            heapq.heappush(heap, (-counts[p], p))
                return merges
                """,
            ),
        ),
        Alternative(
            "text_with_borders",
            _with(
                train_bpe,
                r"""
                vocab, merges = [(" ".join(w), n) for w, n in words.items()], []
                for _ in range(num_merges):
                    pairs = Counter()
                    for word, n in vocab:
                        symbols = word.split()
                        for a, b in zip(symbols, symbols[1:]):
                            pairs[a, b] += n
                    if not pairs:
                        break
                    top = max(pairs.values())
                    best = min(p for p in pairs if pairs[p] == top)
                    pattern = re.compile(r"(?<!\S)" + re.escape(" ".join(best)) + r"(?!\S)")
                    vocab = [(pattern.sub(lambda m: "".join(best), word), n) for word, n in vocab]
                    merges.append(best)
                return merges
                """,
            ),
        ),
        Alternative(
            "recursive",
            _with(
                train_bpe,
                """
                counts = count_pairs(words)
                if num_merges <= 0 or not counts:
                    return []
                best = sorted(counts, key=lambda p: (-counts[p], p))[0]
                return [best] + train_bpe({merge_pair(w, best): n for w, n in words.items()}, num_merges - 1)
                """,
            ),
        ),
    ],
)


# --- bpe_encode -------------------------------------------------------------------------------------------------------


def _encodes(*cases: tuple[Any, str]) -> Any:
    """Merges, and the words to encode with them as one text."""

    def ask(student: Any) -> None:
        for merges, text in cases:
            for word in text.split():
                with student.case():
                    known = ", ".join("+".join(pair) for pair in merges[:6]) + (" …" if len(merges) > 6 else "")
                    where = f"for the word {word!r} and the merges {known or '(none)'}"
                    got = student.value("bpe_encode", word, list(merges), where=where)
                    _same(got, bpe_encode(word, merges), "The list of subwords", where)

    return ask


def _encode_word_manners(student: Any) -> None:
    for word, merges in (
        *(("", []), ("", [("a", "b")]), ("a", [("a", "b")]), ("ab", []), ("ab", [("a", "b")]), ("xyz", [("a", "b")])),
        ("abcab", [("b", "c"), ("a", "b")]),
    ):
        with student.case():
            where = f"for the word {word!r} and {len(merges)} merges"
            answer = student.call("bpe_encode", [word, list(merges)], where=where, after=True)
            _exactly(answer["value"], bpe_encode(word, merges), "The list of subwords", where)
            _as_before(answer["after"], [word, merges], "merges")


LOWER_MERGES = [("e", "r"), ("l", "o"), ("lo", "w"), ("low", "er")]
STORY_MERGES = train_bpe(_weighted(STORY, 31), 30)  # a pair comes after the merges that made its symbols
LATE_MERGES = [("b", "c"), ("a", "b"), ("c", "d"), ("bc", "d"), ("ab", "c"), ("a", "bcd")]
RUN_MERGES = [("a", "a"), ("aa", "aa"), ("aa", "b"), ("b", "aa")]
NA_MERGES = [("a", "n"), ("an", "a"), ("b", "ana"), ("n", "ana")]

_BY_RANK = """
rank = {pair: i for i, pair in enumerate(merges)}
symbols = tuple(word)
while len(symbols) > 1:
    best = min(zip(symbols, symbols[1:]), key=lambda pair: rank.get(pair, math.inf))
    if best not in rank:
        break
    symbols = merge_pair(symbols, best)
return list(symbols)
"""
_IN_TURN = """
symbols = tuple(word)
for pair in merges:
    symbols = merge_pair(symbols, pair)
return list(symbols)
"""


def _ranked(old: str, new: str) -> str:
    assert old in _BY_RANK, old
    return _with(bpe_encode, _BY_RANK.replace(old, new))


def _in_turn(old: str, new: str) -> str:
    assert old in _IN_TURN, old
    return _with(bpe_encode, _IN_TURN.replace(old, new))


BPE_ENCODE = Exercise(
    name="bpe_encode",
    notebook="02-tokenisation",
    points=4,
    reference=bpe_encode,
    checks=[
        Check(
            "merges by rank, the one learned earliest first",
            1.75,
            _encodes(
                (LATE_MERGES, "abc abcd abcab bcd abcdabc cdab abd"),
                ([("a", "b"), ("b", "c")], "abcbc bcbcabc"),
                (LOWER_MERGES, "lower low slower err lowlower"),
                ([("n", "k"), ("i", "n"), ("in", "g")], "thinking ink king nking"),
                (STORY_MERGES, "thinking weather drink others"),
            ),
        ),
        Check(
            "each merge everywhere, until none is left",
            1.25,
            _encodes(
                (RUN_MERGES, "aaa aaaa aaaaa aaaab baab baaaab"),
                (NA_MERGES, "banana bananabanana nanana ananan"),
                (STORY_MERGES, "thethethe water dogdogs drinkdrinking"),
            ),
        ),
        Check(
            "characters without a merge stay single",
            0.5,
            _encodes(
                (LOWER_MERGES, "Löwe xyzlower 🙂low er. LOWER"), ([], "abc a"), ([("আ", "ম"), ("\u09be", "র")], "আমার")
            ),
        ),
        Check("a list, the empty word, `merges` unchanged", 0.5, _encode_word_manners),
    ],
    working=written(
        """
        from tokenizers import models

        def bpe_encode(word, merges):
            if not word:
                return []
            symbols = dict.fromkeys([*word, *(part for pair in merges for part in (*pair, "".join(pair)))])
            model = models.BPE({symbol: i for i, symbol in enumerate(symbols)}, [tuple(pair) for pair in merges])
            return [token.value for token in model.tokenize(word)]
        """
    ),
    mistakes=[
        _mistake(
            "left_to_right",
            "The first pair from the left that is among the merges is taken, whatever its rank: of all pairs in the word, the one "
            "learned earliest goes first.",
            _with(
                bpe_encode,
                """
                symbols, known = list(word), set(merges)
                i = 0
                while i < len(symbols) - 1:
                    if (symbols[i], symbols[i + 1]) in known:
                        symbols[i:i + 2] = ["".join(symbols[i:i + 2])]
                        i = 0
                    else:
                        i += 1
                return symbols
                """,
            ),
            _with(
                bpe_encode,
                """
                symbols, known = list(word), set(merges)
                i = 0
                while i < len(symbols) - 1:
                    if (symbols[i], symbols[i + 1]) in known:
                        symbols[i:i + 2] = ["".join(symbols[i:i + 2])]
                    else:
                        i += 1
                return symbols
                """,
            ),
            _with(
                bpe_encode,
                """
                known, symbols = set(merges), []
                for symbol in word:
                    symbols.append(symbol)
                    while len(symbols) > 1 and tuple(symbols[-2:]) in known:
                        symbols[-2:] = ["".join(symbols[-2:])]
                return symbols
                """,
            ),
            _with(
                bpe_encode,
                """
                symbols, known = tuple(word), set(merges)
                while True:
                    found = [pair for pair in zip(symbols, symbols[1:]) if pair in known]
                    if not found:
                        return list(symbols)
                    symbols = merge_pair(symbols, found[0])
                """,
            ),
        ),
        _mistake(
            "longest_match",
            "The longest known subword is cut off from the left: that is another algorithm (WordPiece). BPE repeats the merges in "
            "the order learned.",
            _with(
                bpe_encode,
                """
                known, pieces, i = {"".join(pair) for pair in merges}, [], 0
                while i < len(word):
                    end = next(j for j in range(len(word), i, -1) if word[i:j] in known or j == i + 1)
                    pieces.append(word[i:end])
                    i = end
                return pieces
                """,
            ),
            _with(
                bpe_encode,
                """
                known = sorted({"".join(pair) for pair in merges}, key=len, reverse=True)
                pieces, i = [], 0
                while i < len(word):
                    piece = next((k for k in known if word.startswith(k, i)), word[i])
                    pieces.append(piece)
                    i += len(piece)
                return pieces
                """,
            ),
        ),
        _mistake(
            "latest_first",
            "The merge learned last goes first: the one learned earliest does.",
            _ranked(
                "min(zip(symbols, symbols[1:]), key=lambda pair: rank.get(pair, math.inf))",
                "max(zip(symbols, symbols[1:]), key=lambda pair: rank.get(pair, -1))",
            ),
            _in_turn("in merges", "in reversed(merges)"),
            _with(
                bpe_encode,
                """
                symbols = tuple(word)
                before = None
                while symbols != before:
                    before = symbols
                    for pair in reversed(merges):
                        symbols = merge_pair(symbols, pair)
                return list(symbols)
                """,
            ),
        ),
        _mistake(
            "alphabetical",
            "Of the pairs in the word the smallest in the alphabet goes first, or the merges are sorted: their order is their rank.",
            _in_turn("in merges", "in sorted(merges)"),
            _ranked("rank.get(pair, math.inf)", "(pair not in rank, pair)"),
            _in_turn("in merges", "in sorted(merges, key=lambda pair: -len(''.join(pair)))"),
            _in_turn("in merges", "in sorted(merges, key=lambda pair: len(''.join(pair)))"),
        ),
        _mistake(
            "most_frequent_first",
            "Of the pairs in the word the most frequent one goes first: that is how merges are learned. To encode, take the one "
            "learned earliest.",
            _with(
                bpe_encode,
                """
                symbols, rank = tuple(word), {pair: i for i, pair in enumerate(merges)}
                while True:
                    counts = Counter(pair for pair in zip(symbols, symbols[1:]) if pair in rank)
                    if not counts:
                        return list(symbols)
                    symbols = merge_pair(symbols, min(counts, key=lambda pair: (-counts[pair], rank[pair])))
                """,
            ),
            _with(
                bpe_encode,
                """
                symbols, known = tuple(word), set(merges)
                while True:
                    counts = Counter(pair for pair in zip(symbols, symbols[1:]) if pair in known)
                    if not counts:
                        return list(symbols)
                    symbols = merge_pair(symbols, min(counts, key=lambda pair: (-counts[pair], pair)))
                """,
            ),
            _with(
                bpe_encode,
                "pairs = train_bpe({tuple(word): 1}, len(merges))\nsymbols = tuple(word)\nfor pair in pairs:\n    if pair in merges:\n        symbols = merge_pair(symbols, pair)\nreturn list(symbols)",
            ),
        ),
        _mistake(
            "one_merge_only",
            "Only one merge is done: go on until no pair of the word is among the merges.",
            _ranked("while len(symbols) > 1:", "for _ in range(len(symbols) > 1):"),
            _in_turn(
                "    symbols = merge_pair(symbols, pair)\n",
                "    symbols = merge_pair(symbols, pair)\n    return list(symbols)\n",
            ),
            _in_turn(
                "    symbols = merge_pair(symbols, pair)\n",
                "    if pair in zip(symbols, symbols[1:]):\n        return list(merge_pair(symbols, pair))\n",
            ),
        ),
        _mistake(
            "stops_at_gap",
            "You stop at the first merge that the word does not need: later ones may still apply.",
            _in_turn(
                "    symbols = merge",
                "    if pair not in zip(symbols, symbols[1:]):\n        break\n    symbols = merge",
            ),
            _with(
                bpe_encode,
                "symbols = tuple(word)\nfor pair in merges:\n    merged = merge_pair(symbols, pair)\n    if merged == symbols:\n        break\n    symbols = merged\nreturn list(symbols)",
            ),
        ),
        _mistake(
            "first_place_only",
            "Each merge is done at its first place only, and the next merge follows: it is done everywhere in the word.",
            _with(
                bpe_encode,
                """
                symbols = list(word)
                for left, right in merges:
                    for i in range(len(symbols) - 1):
                        if symbols[i] == left and symbols[i + 1] == right:
                            symbols[i:i + 2] = [left + right]
                            break
                return symbols
                """,
            ),
        ),
        _mistake(
            "skips_neighbours",
            "The symbol after a merge is skipped, so a pair that follows at once is missed: a list that shrinks while a `for` "
            "loop walks through it needs care.",
            _with(
                bpe_encode,
                """
                symbols = list(word)
                for left, right in merges:
                    i = 0
                    while i < len(symbols) - 1:
                        if symbols[i] == left and symbols[i + 1] == right:
                            symbols[i:i + 2] = [left + right]
                            i += 1
                        i += 1
                return symbols
                """,
            ),
            _with(
                bpe_encode,
                """
                symbols = list(word)
                for left, right in merges:
                    i = 0
                    while i < len(symbols) - 1:
                        if symbols[i] == left and symbols[i + 1] == right:
                            symbols[i:i + 2] = [left + right]
                            i += 2
                        else:
                            i += 1
                return symbols
                """,
            ),
        ),
        _mistake(
            "grows_on",
            "A symbol that was just made is compared again within the same merge (from its last letter, say): compare whole symbols.",
            _with(
                bpe_encode,
                """
                symbols = list(word)
                for left, right in merges:
                    out = []
                    for symbol in symbols:
                        if out and out[-1].endswith(left) and symbol == right:
                            out[-1] += symbol
                        else:
                            out.append(symbol)
                    symbols = out
                return symbols
                """,
            ),
        ),
        _mistake(
            "text_replaced",
            "The pair is replaced in the text of the word, where parts of longer symbols match too: merge whole symbols.",
            _in_turn(
                "merge_pair(symbols, pair)",
                "tuple(' '.join(symbols).replace(' '.join(pair), ''.join(pair)).split(' '))",
            ),
            _with(
                bpe_encode,
                "for a, b in merges:\n    word = word.replace(a + b, ' ' + a + b + ' ')\nreturn word.split()",
            ),
        ),
        _mistake(
            "joined_text_compared",
            "A pair is looked up by its joined text, so (a, bc) is taken for (ab, c): compare the pair itself.",
            _with(
                bpe_encode,
                """
                rank = {}
                for i, pair in enumerate(merges):
                    rank.setdefault("".join(pair), i)
                symbols = tuple(word)
                while len(symbols) > 1:
                    best = min(zip(symbols, symbols[1:]), key=lambda pair: rank.get("".join(pair), math.inf))
                    if "".join(best) not in rank:
                        break
                    symbols = merge_pair(symbols, best)
                return list(symbols)
                """,
            ),
        ),
        _mistake(
            "only_known",
            "Characters that no merge knows are lost or refused, or become an unknown token: they stay single.",
            _ranked(
                "return list(symbols)",
                "known = {s for pair in merges for s in (*pair, ''.join(pair))}\nreturn [s for s in symbols if s in known]",
            ),
            _ranked(
                "return list(symbols)",
                "known = {s for pair in merges for s in (*pair, ''.join(pair))}\nreturn [s if s in known else '<unk>' for s in symbols]",
            ),
            _ranked(
                "return list(symbols)",
                "known = {''.join(pair) for pair in merges}\nreturn [s for s in symbols if s in known]",
            ),
            _ranked(
                "symbols = tuple(word)\n",
                "symbols = tuple(word)\n"
                "if not {*symbols} <= {c for pair in merges for c in ''.join(pair)}:\n"
                "    raise ValueError('word has an unknown character')\n",
            ),
        ),
        _mistake(
            "unmerged",
            "The characters come back unmerged: keep the result of each merge (and `list` of a string cuts it into characters again).",
            _ranked("    symbols = merge_pair(symbols, best)", "    merged = merge_pair(symbols, best)\n    break"),
            _in_turn("    symbols = merge", "    merged = merge"),
            _with(bpe_encode, "return list(word)"),
        ),
        _mistake(
            "end_added",
            "An end-of-word symbol is added: the word is encoded as it is.",
            _ranked("tuple(word)", "(*word, '</w>')"),
            _ranked("tuple(word)", "tuple(word[:-1]) + (word[-1:] + '</w>',)"),
        ),
        _mistake(
            "lowercased",
            "The word is turned into small letters: encode it as it is.",
            _ranked("tuple(word)", "tuple(word.lower())"),
        ),
        _mistake(
            "whole_word",
            "The word is not cut into characters first: BPE begins with single characters.",
            _ranked("tuple(word)", "(word,)"),
        ),
        _mistake(
            "merges_used_up",
            "The list of merges is used up or reordered (pop, reverse, sort): it belongs to the caller.",
            _with(
                bpe_encode,
                "symbols = tuple(word)\nwhile merges:\n    symbols = merge_pair(symbols, merges.pop(0))\nreturn list(symbols)",
            ),
            _with(
                bpe_encode,
                "symbols = tuple(word)\nmerges.reverse()\nwhile merges:\n    symbols = merge_pair(symbols, merges.pop())\nreturn list(symbols)",
            ),
        ),
        _mistake(
            "last_merge_missing",
            "The last merge of the list is never used: a range or a slice ends one too early.",
            _in_turn("in merges", "in merges[:-1]"),
            _ranked("enumerate(merges)", "enumerate(merges[:-1])"),
        ),
        _mistake(
            "first_merge_missing",
            "The first merge is never used: rank 0 is false in a test such as `if rank`, and a number like any other.",
            _ranked("best not in rank", "not rank.get(best)"),
            _in_turn("in merges", "in merges[1:]"),
        ),
        _mistake(
            "unknown_first",
            "Pairs that are not among the merges get a rank that wins (0 or −1), so you stop too early: their rank is infinite.",
            _ranked("rank.get(pair, math.inf)", "rank.get(pair, 0)"),
            _ranked("rank.get(pair, math.inf)", "rank.get(pair, -1)"),
        ),
        _mistake(
            "known_pair_expected",
            "A pair of the word that is not among the merges is a KeyError: it just has no rank.",
            _ranked("rank.get(pair, math.inf)", "rank[pair]"),
            _ranked("rank.get(pair, math.inf)", "merges.index(pair)"),
        ),
        _mistake(
            "empty_word",
            "The empty word fails or gives something: it has no subwords, an empty list.",
            _ranked("symbols = tuple(word)\n", "symbols = tuple(word)\nif not word:\n    return ['']\n"),
            _ranked("while len(symbols) > 1:", "while True:\n    if len(symbols) == 1:\n        break"),
            _ranked(
                "symbols = tuple(word)\n",
                "symbols = tuple(word)\nif not word:\n    raise ValueError('word is empty')\n",
            ),
            _ranked("symbols = tuple(word)\n", "symbols = tuple(word)\nif not word:\n    return None\n"),
        ),
        _mistake(
            "short_words_fail",
            "A word of one character, or one that is merged into a single symbol, fails: it has no pair left, so stop there.",
            _ranked("while len(symbols) > 1:", "while True:"),
        ),
        _mistake("tuple", "A tuple is returned: a list is asked for.", _ranked("list(symbols)", "symbols")),
        _mistake(
            "text",
            "A string is returned: a list of subwords is asked for.",
            _ranked("list(symbols)", "' '.join(symbols)"),
            _ranked("list(symbols)", "''.join(symbols)"),
        ),
        _mistake(
            "lazy",
            "An iterator is returned: a list is asked for.",
            _ranked("list(symbols)", "iter(symbols)"),
        ),
        _mistake(
            "numbers",
            "Numbers are returned: the subwords themselves, strings, are asked for.",
            _ranked("list(symbols)", "[rank.get(s, -1) for s in symbols]"),
            _ranked("list(symbols)", "list(range(len(symbols)))"),
            _ranked("list(symbols)", "[len(s) for s in symbols]"),
        ),
        _mistake(
            "with_word",
            "The word is returned along with its subwords: the list of subwords alone is asked for.",
            _ranked("list(symbols)", "(word, list(symbols))"),
            _ranked("list(symbols)", "{word: list(symbols)}"),
        ),
        _nothing_returned(bpe_encode, ("return list", "_ = list")),
    ],
    alternatives=[
        Alternative("merges_in_turn", _with(bpe_encode, _IN_TURN)),
        Alternative(
            "one_place_at_a_time",
            _with(
                bpe_encode,
                """
                parts = list(word)
                while True:
                    found = None
                    for i in range(len(parts) - 1):
                        pair = (parts[i], parts[i + 1])
                        if pair in merges and (found is None or merges.index(pair) < found[0]):
                            found = merges.index(pair), i
                    if found is None:
                        return parts
                    i = found[1]
                    parts = parts[:i] + [parts[i] + parts[i + 1]] + parts[i + 2:]
                """,
            ),
        ),
        Alternative(
            "recursive",
            _with(
                bpe_encode,
                """
                def step(symbols):
                    pairs = set(zip(symbols, symbols[1:]))
                    for pair in merges:
                        if pair in pairs:
                            return step(merge_pair(symbols, pair))
                    return symbols
                return [*step(tuple(word))]
                """,
            ),
        ),
        Alternative(
            "text_with_borders",
            _with(
                bpe_encode,
                r"""
                text = " ".join(word)
                for a, b in merges:
                    text = re.sub(r"(?<!\S)" + re.escape(a + " " + b) + r"(?!\S)", lambda m: a + b, text)
                return text.split()
                """,
            ),
        ),
        Alternative(
            "in_place",
            _with(
                bpe_encode,
                """
                out = [c for c in word]
                for left, right in merges:
                    i = 0
                    while i + 1 < len(out):
                        if out[i] == left and out[i + 1] == right:
                            out[i] = left + right
                            del out[i + 1]
                        i += 1
                return out
                """,
            ),
        ),
    ],
)


# --- train_tokenizer --------------------------------------------------------------------------------------------------

EARLY = [
    "The dog drinks water because it was thirsty.",
    "A quick brown fox jumps over the lazy dog near the river.",
    "Birds sing in the early morning, and the children listen.",
    "What did the teacher write on the blackboard?\n",
    "Every winter the old farmer repairs his wooden fences.",
    "My brother plays football with friends after school.",
]
LATE = [
    "Der Hund trinkt Wasser, weil er durstig war!",
    "Im Sommer schwimmen die Kinder jeden Nachmittag im See.",
    "Meine Schwester liest abends gern spannende Geschichten.",
    "Zwischen den Bergen liegt ein kleines, ruhiges Dorf.\t",
    "Warum kommt der Zug heute wieder so unglaublich spät?",
    "Die Bäckerin verkauft frische Brötchen und süßen Kuchen.",
]
TRAINING = 3 * EARLY + 3 * LATE

# Probes: what a tokenizer is and does is asked where it lives; nothing of a student's is ever loaded here.
LOOK = """
def look(tokenizer):
    import tokenizers
    usable = hasattr(tokenizer, "encode") and hasattr(tokenizer, "decode")
    return isinstance(tokenizer, tokenizers.Tokenizer), usable, type(tokenizer).__name__
"""
THERE_AND_BACK = """
def there_and_back(tokenizer, texts):
    encoded = [tokenizer.encode(text) for text in texts]
    return [tokenizer.decode(getattr(item, "ids", item)) for item in encoded]
"""
COUNT = """
def count(tokenizer, texts):
    return sum(len(tokenizer.encode(text)) for text in texts)
"""
SIZE = """
def size(tokenizer):
    return tokenizer.get_vocab_size() if hasattr(tokenizer, "get_vocab_size") else len(tokenizer)
"""
STREAM = """
def stream(texts):
    return (text for text in texts)
"""


def _trained(student: Any, texts: Any, vocab_size: int, where: str, strict: bool = False) -> Any:
    """The student's tokenizer, which stays in the student's process."""
    tokenizer = student.call("train_tokenizer", [texts, vocab_size], where=where, keep=True)["value"]
    answer = student.value(student.probe("look", LOOK), tokenizer)
    genuine, usable, name = answer if isinstance(answer, tuple) and len(answer) == 3 else (False, False, "?")
    if not usable or (strict and not genuine):
        what = "None (is a `return` missing?)" if name == "NoneType" else f"an object of type {name}"
        raise Wrong(
            f"A tokenizers.Tokenizer should be returned; yours returned {what}.", "other_type" if usable else ""
        )
    return tokenizer


def _comes_back(student: Any, tokenizer: Any, texts: list[str]) -> None:
    got = student.value(
        student.probe("there_and_back", THERE_AND_BACK), tokenizer, texts, where="encoding and decoding"
    )
    if not isinstance(got, list) or len(got) != len(texts):
        raise Wrong("Texts could not be encoded and decoded.")
    for mine, text in zip(got, texts):
        if mine != text:
            symptom, sentence = _what_happened(str(mine), text)
            raise Wrong(f"The text {text!r} does not come back exactly: {sentence}", symptom)


def _what_happened(got: str, text: str) -> tuple[str, str]:
    """How a text came back changed: the name of the mistake, and a sentence."""
    forms = {form: unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")}
    if got == " " + text:
        return "prefix_space", "it has a space in front (add_prefix_space=False does without)."
    if any(sign in got and sign not in text for sign in "ĠĊĉ▁"):
        return "no_decoder", "byte symbols such as Ġ are left in it (set the decoder)."
    if got in forms.values():
        return "normalised", "its characters were normalised; leave the normaliser out."
    if got.lower() == text.lower() or got == text.lower():
        return "lowercased", "capitals became small letters; leave the normaliser out."
    if got.split() == text.split() or "".join(got.split()) == "".join(text.split()):
        return "white_space_lost", "its white space is not what it was."
    if len(got) < len(text) or "\ufffd" in got:
        return "bytes_missing", "some of it is lost, because its bytes are not in the vocabulary (initial_alphabet)."
    return "", "it is something else."


def _returns_known(student: Any) -> None:
    tokenizer = _trained(student, TRAINING, 320, "on a list of short texts")
    for texts in (
        [EARLY[0], LATE[-1], "The fox drinks water in the See."],
        ["The dog", "Water!", "dog, birds and friends"],
        [" the dog", "dog ", "\n", "dog\n\n fox\tbird \n", "dog. \n  Dog"],
    ):
        with student.case():
            _comes_back(student, tokenizer, texts)


def _returns_anything(student: Any) -> None:
    tokenizer = _trained(student, EARLY, 300, "on English texts alone")
    for texts in (
        ["Ọ́ dị́ mma", "কুকুরটি জল খায়।", "狗喝水", "Собака", "كلب"],
        ["🙂", "👩🏽\u200d🚀 → 🌍", "\U0010fffd \U0001d518", "🇳🇬🇧🇩"],
        ["cafe\u0301 café ﬁ Ａ ½ ²", "Å Å Å", "İstanbul ſ ẞ"],
        ["\x01\x1b[0m\x7f\x85", "\u200d\u200b\ufeff\u2028", "Ġ▁##@@ ▁a", "zZqQ{}|~`^\\"],
        ["", " ", "   x   ", "\u00a0\u3000 "],
    ):
        with student.case():
            _comes_back(student, tokenizer, texts)


def _size_kept(student: Any) -> None:
    for vocab_size in (275, 320):
        with student.case():
            where = f"with vocab_size = {vocab_size}"
            tokenizer = _trained(student, TRAINING, vocab_size, where)
            got = student.value(student.probe("size", SIZE), tokenizer)
            if type(got) is not int or not 0 < got <= vocab_size:
                raise Wrong(
                    f"The vocabulary is larger than vocab_size, or empty: it has {got} entries {where}.",
                    "size_not_kept",
                )
            if got < 256:
                raise Wrong(f"The vocabulary has {got} entries {where}: the 256 bytes alone are more.", "bytes_missing")


@functools.cache
def _tokens_of_ours(part: str) -> int:
    tokenizer = train_tokenizer(TRAINING, 420)
    return sum(len(tokenizer.encode(text).ids) for text in {"early": EARLY, "late": LATE}[part])


def _learns_from_all(student: Any) -> None:
    for kind_of, make in (("a list", None), ("a generator, which can be read once", STREAM)):
        with student.case():
            texts = TRAINING
            if make:
                texts = student.call(student.probe("stream", make), [TRAINING], keep=True)["value"]
            tokenizer = _trained(student, texts, 420, f"on {kind_of}")
            for part, examples in (("early", EARLY), ("late", LATE)):
                got = student.value(student.probe("count", COUNT), tokenizer, examples)
                # Other splits of the text, special tokens or a least frequency of 2 stay far below 1.3 times ours.
                if type(got) is not int or got > 1.3 * _tokens_of_ours(part):
                    which = "first" if part == "early" else "last"
                    raise Wrong(
                        f"Trained on {kind_of}, the tokenizer needs far more tokens for the {which} of its own training "
                        "texts than it should: it did not learn from all of them, or learned too few merges.",
                        "not_learned",
                    )


def _genuine(student: Any) -> None:
    tokenizer = _trained(student, EARLY, 290, "on a few short texts", strict=True)
    _comes_back(student, tokenizer, ["The dog drinks."])


_BYTES = "        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),\n"
_SPLIT = "pre_tokenizers.ByteLevel(add_prefix_space=False)"
_TRAIN = "tokenizer.train_from_iterator(texts, trainer)"
_READY = "    tokenizer.decoder = decoders.ByteLevel()\n"


def _trainer(*edits: tuple[str, str]) -> str:
    return edited(train_tokenizer, *edits)


def _normalising(normaliser: str) -> str:
    return _trainer(
        (_READY, f"    from tokenizers import normalizers\n    tokenizer.normalizer = {normaliser}\n{_READY}")
    )


def _plain_bpe(unknown: str, split: str, decoder: str = "") -> str:
    """BPE over characters, as many tutorials have it."""
    return _with(
        train_tokenizer,
        f"""
        tokenizer = Tokenizer(models.BPE({unknown}))
        tokenizer.pre_tokenizer = {split}
        {decoder}
        tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=["[UNK]"], show_progress=False))
        return tokenizer
        """,
    )


TRAIN_TOKENIZER = Exercise(
    name="train_tokenizer",
    notebook="02-tokenisation",
    points=4,
    reference=train_tokenizer,
    checks=[
        Check("what it was trained on comes back exactly", 1.0, _returns_known),
        Check("any Unicode text comes back exactly", 1.25, _returns_anything),
        Check("at most vocab_size entries, all bytes among them", 0.75, _size_kept),
        Check("learns from all texts, which may be readable only once", 0.75, _learns_from_all),
        Check("a tokenizers.Tokenizer", 0.25, _genuine),
    ],
    working=written(
        """
        def train_tokenizer(texts, vocab_size):
            from tokenizers import ByteLevelBPETokenizer, Tokenizer

            built = ByteLevelBPETokenizer()
            built.train_from_iterator(texts, vocab_size=vocab_size, min_frequency=1, show_progress=False)
            return Tokenizer.from_str(built.to_str())
        """
    ),
    mistakes=[
        _mistake(
            "bytes_missing",
            "Not all of the 256 bytes are in the vocabulary, so characters that were not seen vanish without a word: give the "
            "trainer initial_alphabet=pre_tokenizers.ByteLevel.alphabet().",
            _trainer((_BYTES, "")),
            _trainer(("pre_tokenizers.ByteLevel.alphabet()", "[chr(i) for i in range(256)]")),
            _trainer(("pre_tokenizers.ByteLevel.alphabet()", "[chr(i) for i in range(32, 127)]")),
            _trainer(("pre_tokenizers.ByteLevel.alphabet()", "list('abcdefghijklmnopqrstuvwxyz')")),
        ),
        _mistake(
            "no_decoder",
            "The decoder is missing or does not belong to byte-level BPE, so byte symbols such as Ġ, or spaces between the tokens, "
            "are left: tokenizer.decoder = decoders.ByteLevel().",
            _trainer((_READY, "")),
            _trainer(("decoders.ByteLevel()", "decoders.BPEDecoder()")),
            _trainer(("decoders.ByteLevel()", "decoders.WordPiece()")),
            _trainer(("decoders.ByteLevel()", "decoders.Metaspace()")),
            _trainer(("decoders.ByteLevel()", "decoders.ByteFallback()")),
            _trainer(("decoders.ByteLevel()", "decoders.Fuse()")),
        ),
        _mistake(
            "prefix_space",
            "A space is put in front of every text and stays there after decoding: the pre-tokeniser needs add_prefix_space=False.",
            _trainer(("add_prefix_space=False", "")),
            _trainer(("add_prefix_space=False", "add_prefix_space=True")),
        ),
        _mistake(
            "white_space_lost",
            "The pre-tokeniser splits at white space and throws it away, so texts come back without it: ByteLevel turns spaces into "
            "symbols instead.",
            _trainer((_SPLIT, f"pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), {_SPLIT}])")),
            _trainer((_SPLIT, f"pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), {_SPLIT}])")),
            _trainer((_SPLIT, f"pre_tokenizers.Sequence([pre_tokenizers.BertPreTokenizer(), {_SPLIT}])")),
            _trainer((_SPLIT, "pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.ByteLevel()])")),
        ),
        _mistake(
            "characters",
            "This is BPE over characters, not bytes: characters that were not seen become unknown or vanish. Split with "
            "pre_tokenizers.ByteLevel, and every text is made of 256 known bytes.",
            _plain_bpe("unk_token='[UNK]'", "pre_tokenizers.Whitespace()"),
            _plain_bpe("", "pre_tokenizers.Whitespace()"),
            _plain_bpe("unk_token='[UNK]'", "pre_tokenizers.WhitespaceSplit()"),
            _plain_bpe("unk_token='[UNK]'", "pre_tokenizers.Whitespace()", "tokenizer.decoder = decoders.BPEDecoder()"),
            _plain_bpe("unk_token='[UNK]'", "pre_tokenizers.Whitespace()", "tokenizer.decoder = decoders.ByteLevel()"),
            _plain_bpe("unk_token='[UNK]'", "pre_tokenizers.Metaspace()", "tokenizer.decoder = decoders.Metaspace()"),
            _plain_bpe(
                "unk_token='[UNK]', byte_fallback=True",
                "pre_tokenizers.Metaspace()",
                "tokenizer.decoder = decoders.Metaspace()",
            ),
            _trainer(
                (
                    "    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # a space in front would stay\n",
                    "",
                )
            ),
            _trainer((_SPLIT, "pre_tokenizers.Whitespace()")),
            _trainer((_SPLIT, "pre_tokenizers.WhitespaceSplit()")),
            _trainer((_SPLIT, "pre_tokenizers.Metaspace()")),
            _trainer((_SPLIT, "pre_tokenizers.Metaspace()"), ("decoders.ByteLevel()", "decoders.Metaspace()")),
            _trainer(
                (
                    "    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # a space in front would stay\n",
                    "",
                ),
                (_READY, ""),
            ),
        ),
        _mistake(
            "other_model",
            "This is not BPE (WordPiece, Unigram or WordLevel): models.BPE and trainers.BpeTrainer belong together.",
            _trainer(
                ("models.BPE()", "models.WordLevel(unk_token='[UNK]')"),
                ("trainers.BpeTrainer", "trainers.WordLevelTrainer"),
                (_BYTES, "        special_tokens=['[UNK]'],\n"),
            ),
            _trainer(
                ("models.BPE()", "models.WordPiece(unk_token='[UNK]')"),
                ("trainers.BpeTrainer", "trainers.WordPieceTrainer"),
            ),
            _trainer(("models.BPE()", "models.WordPiece()"), ("trainers.BpeTrainer", "trainers.WordPieceTrainer")),
            _with(
                train_tokenizer,
                """
                tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
                tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
                trainer = trainers.WordLevelTrainer(vocab_size=vocab_size, special_tokens=["[UNK]"], show_progress=False)
                tokenizer.train_from_iterator(texts, trainer)
                return tokenizer
                """,
            ),
            _with(
                train_tokenizer,
                """
                tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
                tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
                tokenizer.decoder = decoders.WordPiece()
                trainer = trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=["[UNK]"], show_progress=False)
                tokenizer.train_from_iterator(texts, trainer)
                return tokenizer
                """,
            ),
        ),
        _mistake(
            "normalised",
            "A normaliser changes the characters (NFC, NFKC, accents stripped) before they are encoded, so the text cannot come back "
            "exactly: leave it out.",
            _normalising("normalizers.NFC()"),
            _normalising("normalizers.NFKC()"),
            _normalising("normalizers.NFD()"),
            _normalising("normalizers.NFKD()"),
            _normalising("normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()])"),
        ),
        _mistake(
            "lowercased",
            "A normaliser turns capitals into small letters, so the text cannot come back exactly: leave it out.",
            _normalising("normalizers.Lowercase()"),
            _normalising("normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])"),
            _normalising("normalizers.BertNormalizer()"),
            _normalising(
                "normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()])"
            ),
        ),
        _mistake(
            "stripped",
            "A normaliser strips the white space at the ends of the text: leave it out.",
            _normalising("normalizers.Strip()"),
        ),
        _mistake(
            "size_not_kept",
            "The vocabulary grows beyond vocab_size: pass the number on to the trainer, where bytes, merges and special tokens "
            "count together.",
            _trainer(("        vocab_size=vocab_size,\n", "")),
            _trainer(("vocab_size=vocab_size", "vocab_size=vocab_size + 256")),
            _trainer(("vocab_size=vocab_size", "vocab_size=1000")),
            _trainer(("vocab_size=vocab_size", "vocab_size=30000")),
            _trainer(("vocab_size=vocab_size", "vocab_size=vocab_size + 1")),
            _trainer((_TRAIN, f"{_TRAIN}\n    tokenizer.add_special_tokens(['<|endoftext|>'])")),
            _trainer((_TRAIN, f"{_TRAIN}\n    tokenizer.add_tokens(['[PAD]', '[UNK]'])")),
        ),
        _mistake(
            "not_learned",
            "Hardly any merges are learned: the vocabulary should be filled up to vocab_size. (Or was the trainer given single "
            "characters? A string is an iterable of its characters, which hold no pairs.)",
            _trainer(("vocab_size=vocab_size", "vocab_size=256")),
            _trainer(("vocab_size=vocab_size", "vocab_size=vocab_size - 256")),
            _trainer(("vocab_size=vocab_size", "vocab_size=vocab_size, min_frequency=1000")),
            _trainer(("vocab_size=vocab_size", "vocab_size=vocab_size // 2")),
            _trainer((_TRAIN, "tokenizer.train_from_iterator(''.join(texts), trainer)")),
            _trainer((_TRAIN, "tokenizer.train_from_iterator((c for text in texts for c in text), trainer)")),
        ),
        _mistake(
            "not_trained",
            "The tokenizer is returned without training: tokenizer.train_from_iterator(texts, trainer).",
            _trainer((f"    {_TRAIN}\n", "")),
        ),
        _mistake(
            "trainer_not_passed",
            "The trainer is made but not passed on, so its settings are not used: train_from_iterator(texts, trainer).",
            _trainer((_TRAIN, "tokenizer.train_from_iterator(texts)")),
        ),
        _mistake(
            "training_fails",
            "The call that trains fails. `train` reads files; texts that are already in memory go through "
            "`train_from_iterator(texts, trainer)`, in this order.",
            _trainer((_TRAIN, "tokenizer.train_from_iterator(trainer, texts)")),
            _trainer((_TRAIN, "tokenizer.train(texts, trainer)")),
            _trainer((_TRAIN, "tokenizer.train(list(texts), trainer)")),
            _trainer((_TRAIN, "tokenizer.train(trainer, texts)")),
            _trainer((_TRAIN, "tokenizer.train([texts], trainer)")),
        ),
        _mistake(
            "read_twice",
            "The texts are read twice, but an iterator can be read only once: after the first time nothing is left to learn from.",
            _trainer((f"    {_TRAIN}", f"    total = sum(len(text) for text in texts)\n    {_TRAIN}")),
            _trainer((f"    {_TRAIN}", f"    alphabet = sorted(set(''.join(texts)))\n    {_TRAIN}")),
        ),
        _mistake(
            "list_expected",
            "The texts are used as a list (len or an index), but any iterable may come: read it once, from beginning to end.",
            _trainer((_TRAIN, "tokenizer.train_from_iterator(texts, trainer, length=len(texts))")),
            _trainer((_TRAIN, "tokenizer.train_from_iterator((texts[i] for i in range(len(texts))), trainer)")),
            _trainer((f"    {_TRAIN}", f"    assert isinstance(texts, list)\n    {_TRAIN}")),
            _trainer(
                (_TRAIN, "tokenizer.train_from_iterator((texts[i:i + 10] for i in range(0, len(texts), 10)), trainer)")
            ),
        ),
        _mistake(
            "first_texts_only",
            "Only one text, or the first few, are learned from: all of them count. (Each call of a `train` method begins anew.)",
            _trainer((_TRAIN, "tokenizer.train_from_iterator([next(iter(texts))], trainer)")),
            _trainer((_TRAIN, "tokenizer.train_from_iterator(texts[0], trainer)")),
            _trainer((_TRAIN, "tokenizer.train_from_iterator([texts[0]], trainer)")),
            _trainer((_TRAIN, "tokenizer.train_from_iterator(list(texts)[:10], trainer)")),
            _trainer((_TRAIN, "tokenizer.train_from_iterator(list(texts)[:1], trainer)")),
            _trainer(
                (f"    {_TRAIN}\n", "    for text in texts:\n        tokenizer.train_from_iterator([text], trainer)\n")
            ),
        ),
        _mistake(
            "other_type",
            "The library's ready-made class wraps a Tokenizer, but is none: a tokenizers.Tokenizer is asked for.",
            _with(
                train_tokenizer,
                """
                from tokenizers import ByteLevelBPETokenizer
                tokenizer = ByteLevelBPETokenizer()
                tokenizer.train_from_iterator(texts, vocab_size=vocab_size, min_frequency=1, show_progress=False)
                return tokenizer
                """,
            ),
            _with(
                train_tokenizer,
                """
                from tokenizers.implementations import ByteLevelBPETokenizer
                tokenizer = ByteLevelBPETokenizer(add_prefix_space=False)
                tokenizer.train_from_iterator(texts, vocab_size=vocab_size, show_progress=False)
                return tokenizer
                """,
            ),
        ),
        _mistake(
            "pair_returned",
            "More than the tokenizer, or a part of it, is returned: the tokenizers.Tokenizer alone is asked for.",
            _trainer(("return tokenizer", "return tokenizer, trainer")),
            _trainer(("return tokenizer", "return trainer")),
            _trainer(("return tokenizer", "return tokenizer.get_vocab()")),
            _trainer(("return tokenizer", "return tokenizer.to_str()")),
        ),
        _nothing_returned(train_tokenizer, ("return tokenizer", "_ = tokenizer")),
    ],
    alternatives=[
        Alternative(
            "special_tokens",
            _trainer(
                (_BYTES, f"{_BYTES}        special_tokens=['<|endoftext|>', '[PAD]'],\n        min_frequency=2,\n")
            ),
        ),
        Alternative(
            "pieces_in_a_sequence",
            _trainer(
                (
                    _SPLIT,
                    "pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])",
                ),
                (_TRAIN, "tokenizer.train_from_iterator(list(texts), trainer=trainer)"),
            ),
        ),
        Alternative(
            "own_pattern",
            _trainer(
                ("    tokenizer = Tok", "    from tokenizers import Regex, processors\n    tokenizer = Tok"),
                (
                    "    tokenizer.decoder",
                    "    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)\n    tokenizer.decoder",
                ),
                (
                    _SPLIT,
                    "pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(r' ?[^\\s]+|\\s+'), 'isolated'), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])",
                ),
            ),
        ),
        Alternative("across_words", _trainer(("add_prefix_space=False", "add_prefix_space=False, use_regex=False"))),
        Alternative(
            "in_batches",
            _trainer(
                (
                    _TRAIN,
                    "batch = list(texts)\n    tokenizer.train_from_iterator((batch[i:i + 5] for i in range(0, len(batch), 5)), trainer)",
                ),
                ("Tokenizer(models.BPE())", "Tokenizer(models.BPE(unk_token=None))"),
            ),
        ),
        Alternative(
            "ready_made",
            _with(
                train_tokenizer,
                """
                import tokenizers
                t = tokenizers.ByteLevelBPETokenizer()
                t.train_from_iterator(texts, vocab_size=vocab_size, show_progress=False)
                return t._tokenizer
                """,
            ),
        ),
    ],
)


# --- fertility --------------------------------------------------------------------------------------------------------


def make_bytes():
    """A byte-level tokenizer with a few merges, made without training."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    merges = [
        ("t", "h"),
        ("th", "e"),
        ("Ġ", "the"),
        ("Ġ", "d"),
        ("i", "n"),
        ("e", "r"),
        ("w", "a"),
        ("Ġ", "wa"),
        ("a", "n"),
    ]
    symbols = sorted(pre_tokenizers.ByteLevel.alphabet()) + [left + right for left, right in merges]
    tokenizer = Tokenizer(models.BPE({symbol: i for i, symbol in enumerate(symbols)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def make_words():
    """A tokenizer of whole words, in which groups of punctuation marks are tokens as well."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"?": 0, "the": 1, "dog": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


LANGUAGES = {
    "English": "The dog drinks water because it was thirsty.",
    "Igbo": "Nkịta na-aṅụ mmiri n'ihi na akpịrị na-akpọ ya nkụ.",
    "Bangla": "কুকুরটি জল খায় কারণ তার তেষ্টা পেয়েছিল।",
    "German": "Der Hund trinkt Wasser, weil er durstig war.",
    "Greek": "Ο σκύλος πίνει νερό γιατί διψούσε.",
    "Russian": "Собака пьёт воду, потому что ей хотелось пить.",
    "Hindi": "कुत्ता पानी पीता है क्योंकि वह प्यासा था।",
    "Arabic": "الكلب يشرب الماء لأنه كان عطشان.",
    "Yoruba": "Ajá náà ń mu omi nítorí pé òùngbẹ ń gbẹ ẹ́.",
}


def _rated(student: Any, make: Any, texts: dict[str, str], where: str) -> None:
    tokenizer = student.call(student.probe(make.__name__, source_of(make)), [], keep=True)["value"]
    got = student.call("fertility", [tokenizer, texts], where=where)["value"]
    expected = fertility(make(), texts)
    if not isinstance(got, dict):
        raise Wrong(f"A dictionary from each language to a number should be returned; yours is {kind(got)} {where}.")
    if set(got) != set(expected):
        raise Wrong(f"The keys should be the languages of `texts`, each of them {where}.")
    for language, value in got.items():
        if isinstance(value, torch.Tensor) and value.numel() == 1:
            value = value.item()
        if type(value) not in (int, float):
            raise Wrong(f"The value of each language should be a number; {language} has {kind(value)} {where}.")
        if not math.isclose(value, expected[language], rel_tol=1e-6):
            raise Wrong(f"The number for {language} {where} is not its tokens divided by its white-space words.")


def _rates(*cases: tuple[Any, dict[str, str], str]) -> Any:
    def ask(student: Any) -> None:
        for make, texts, where in cases:
            with student.case():
                _rated(student, make, texts, where)

    return ask


def _rated_manners(student: Any) -> None:
    texts = {"English": "the dog", "Igbo": "nkịta"}
    tokenizer = student.call(student.probe("make_bytes", source_of(make_bytes)), [], keep=True)["value"]
    answer = student.call("fertility", [tokenizer, texts], after=True)
    _rated(student, make_bytes, texts, "for two short texts")
    if any(type(value) is not float for value in answer["value"].values()):
        raise Wrong("The values should be plain numbers of type float.", "wrong_type")
    _as_before(answer["after"][1:], [texts], "texts")


def _rated_empty(student: Any) -> None:
    _rated(student, make_bytes, {"English": "the dog", "Igbo": "nkịta"}, "for two short texts")
    tokenizer = student.call(student.probe("make_bytes", source_of(make_bytes)), [], keep=True)["value"]
    for text in ("", " \n "):
        with student.case():
            where = f"for the text {text!r}"
            try:
                got = student.value("fertility", tokenizer, {"English": "the dog", "Igbo": text}, where=where)
            except Wrong as wrong:
                facts = getattr(wrong, "facts", {})
                raised = getattr(builtins, str(facts.get("type")), ValueError)
                if facts.get("kind") != "raised" or raised is NotImplementedError:
                    raise
                if not issubclass(raised, ValueError):
                    raise Wrong(
                        f"A text without words ({text!r}) should be a ValueError; your code stops with {raised.__name__}."
                    ) from None
            else:
                raise Wrong(
                    f"A text without words ({text!r}) should be a ValueError; yours returned {kind(got)}.",
                    "empty_hidden",
                )


_RATE = "len(tokenizer.encode(text).ids) / len(words)"


def _rating(rate: str) -> str:
    return edited(fertility, (_RATE, rate))


FERTILITY = Exercise(
    name="fertility",
    notebook="02-tokenisation",
    points=2,
    reference=fertility,
    checks=[
        Check(
            "tokens per word in nine languages",
            1.0,
            _rates(
                (make_bytes, LANGUAGES, "for nine languages"),
                (make_words, LANGUAGES, "for a tokenizer of whole words"),
                (make_bytes, {"English": LANGUAGES["English"]}, "for one language"),
                (
                    make_bytes,
                    {"one": "the", "two": "the dog", "seven": "a an the wa waer thin dog"},
                    "for texts of one to seven words",
                ),
            ),
        ),
        Check(
            "words are what white space separates",
            0.5,
            _rates(
                (
                    make_bytes,
                    {"blanks": "  the   dog ", "lines": "the dog\nthe other\n\tdog\n", "wide": "the\u3000dog\u00a0in"},
                    "with much white space",
                ),
                (make_bytes, {"marks": "Well, the dog - a well-known one - isn't in!"}, "with punctuation"),
                (
                    make_words,
                    {"marks": "the dog , ( the dog ) ...", "lines": "the dog.\nthe dog and the other dog!"},
                    "with lone marks",
                ),
            ),
        ),
        Check("plain floats, `texts` unchanged", 0.3, _rated_manners),
        Check("a text without words is a ValueError", 0.2, _rated_empty),
    ],
    working=written(
        """
        def fertility(tokenizer, texts):
            lengths = [len(encoding.tokens) for encoding in tokenizer.encode_batch(list(texts.values()))]
            words = [len(text.split()) for text in texts.values()]
            if 0 in words:
                raise ValueError("texts: one of them has no words")
            return {language: n / m for language, n, m in zip(texts, lengths, words)}
        """
    ),
    mistakes=[
        _mistake(
            "inverted",
            "Words per token are computed: tokens per word is the other way round.",
            _rating("len(words) / len(tokenizer.encode(text).ids)"),
        ),
        _mistake(
            "per_character",
            "The tokens are divided by the characters or bytes of the text: divide by its white-space words.",
            _rating("len(tokenizer.encode(text).ids) / len(text)"),
            _rating("len(tokenizer.encode(text).ids) / len(text.encode())"),
        ),
        _mistake(
            "characters_per_token",
            "Characters are counted where tokens should be: the length of `tokenizer.encode(text).ids`.",
            _rating("len(text) / len(tokenizer.encode(text).ids)"),
            _rating("len(text) / len(words)"),
            _rating("len(text.encode()) / len(words)"),
            _rating("sum(len(word) for word in words) / len(words)"),
        ),
        _mistake(
            "tokens_only",
            "The number of tokens is returned, not yet divided by the number of words.",
            _rating("len(tokenizer.encode(text).ids)"),
            _rating("float(len(tokenizer.encode(text).ids))"),
        ),
        _mistake(
            "blanks_counted",
            "Words are found by blanks (' '), so runs of blanks, tabs and new lines are counted wrongly: `text.split()` without an "
            "argument.",
            edited(fertility, ("text.split()", "text.split(' ')")),
            _rating("len(tokenizer.encode(text).ids) / (text.count(' ') + 1)"),
            _rating("len(tokenizer.encode(text).ids) / len(text.strip().split(' '))"),
            _rating("len(tokenizer.encode(text).ids) / len([w for w in text.split(' ') if w])"),
            _rating("len(tokenizer.encode(text).ids) / max(text.count(' '), 1)"),
        ),
        _mistake(
            "marks_counted",
            "Punctuation marks are counted as words, or words are cut at them: a white-space word is what `text.split()` gives.",
            edited(fertility, ("text.split()", "split_words(text)")),
            edited(fertility, ("text.split()", r"re.findall(r'\w+', text)")),
            edited(fertility, ("text.split()", r"re.findall(r'\w+|[^\w\s]', text)")),
        ),
        _mistake(
            "word_by_word",
            "Each word is encoded by itself, without the space in front of it: people pay for the whole sentence, so encode the "
            "text once.",
            _rating("sum(len(tokenizer.encode(word).ids) for word in words) / len(words)"),
            _rating("sum(len(tokenizer.encode(' ' + word).ids) for word in words) / len(words)"),
            _rating("__import__('statistics').mean(len(tokenizer.encode(word).ids) for word in words)"),
        ),
        _mistake(
            "white_space_changed",
            "The words are joined again before they are encoded: encode the text as it is.",
            _rating("len(tokenizer.encode(' '.join(words)).ids) / len(words)"),
            _rating("len(tokenizer.encode(''.join(words)).ids) / len(words)"),
            _rating("len(tokenizer.encode(text.strip()).ids) / len(words)"),
        ),
        _mistake(
            "line_by_line",
            "The lines are rated one by one and averaged: divide all tokens of the text by all of its words.",
            edited(
                fertility,
                (
                    f"result[language] = {_RATE}",
                    "lines = [line for line in text.splitlines() if line.strip()]\n"
                    "        result[language] = sum(len(tokenizer.encode(line).ids) / len(line.split()) for line in lines) / len(lines)",
                ),
            ),
        ),
        _mistake(
            "unique_tokens",
            "Each different token, or each different word, is counted once: count every occurrence.",
            _rating("len(set(tokenizer.encode(text).ids)) / len(words)"),
            _rating("len(tokenizer.encode(text).ids) / len(set(words))"),
            _rating("len(set(tokenizer.encode(text).ids)) / len(set(words))"),
        ),
        _mistake(
            "lowercased",
            "The text is turned into small letters before it is encoded: encode it as it is.",
            _rating("len(tokenizer.encode(text.lower()).ids) / len(words)"),
        ),
        _mistake(
            "whole_numbers",
            "The result is rounded or divided with `//`: keep the exact quotient.",
            _rating("len(tokenizer.encode(text).ids) // len(words)"),
            _rating("float(len(tokenizer.encode(text).ids) // len(words))"),
            _rating("round(len(tokenizer.encode(text).ids) / len(words))"),
            _rating("round(len(tokenizer.encode(text).ids) / len(words), 2)"),
            _rating("round(len(tokenizer.encode(text).ids) / len(words), 1)"),
            _rating("round(len(tokenizer.encode(text).ids) / len(words), 3)"),
        ),
        _mistake(
            "relative",
            "The numbers are divided by that of the first language: each language stands for itself.",
            edited(
                fertility,
                (
                    "return result",
                    "return {language: value / next(iter(result.values())) for language, value in result.items()}",
                ),
            ),
        ),
        _mistake(
            "accumulated",
            "Tokens or words of the languages before are still counted: begin anew for each language.",
            edited(
                fertility,
                ("    result = {}\n", "    result, total = {}, 0\n"),
                (
                    f"result[language] = {_RATE}",
                    "total += len(tokenizer.encode(text).ids)\n        result[language] = total / len(words)",
                ),
            ),
            edited(
                fertility,
                ("    result = {}\n", "    result, seen = {}, 0\n"),
                (
                    f"result[language] = {_RATE}",
                    "seen += len(words)\n        result[language] = len(tokenizer.encode(text).ids) / seen",
                ),
            ),
            edited(
                fertility,
                ("    result = {}\n", "    result, total, seen = {}, 0, 0\n"),
                (
                    f"result[language] = {_RATE}",
                    "total += len(tokenizer.encode(text).ids)\n        seen += len(words)\n        result[language] = total / seen",
                ),
            ),
        ),
        _mistake(
            "one_number",
            "One number for all languages is returned: a dictionary with one for each is asked for.",
            edited(fertility, ("return result", "return sum(result.values()) / len(result)")),
            edited(fertility, ("return result", "return max(result.values())")),
            _with(
                fertility,
                """
                tokens = sum(len(tokenizer.encode(text).ids) for text in texts.values())
                return tokens / sum(len(text.split()) for text in texts.values())
                """,
            ),
        ),
        _mistake(
            "first_language_only",
            "Only the first language is rated: a `return` stands inside the loop.",
            edited(fertility, (f"{_RATE}\n", f"{_RATE}\n        return result\n")),
            edited(fertility, (f"result[language] = {_RATE}", f"return {_RATE}")),
        ),
        _mistake(
            "last_language_only",
            "Only the last language is returned: the dictionary is made anew in the loop.",
            edited(fertility, (f"result[language] = {_RATE}", f"result = {{language: {_RATE}}}")),
        ),
        _mistake(
            "list",
            "A list is returned: a dictionary from each language to its number is asked for.",
            edited(fertility, ("return result", "return list(result.values())")),
            edited(fertility, ("return result", "return list(result.items())")),
            edited(fertility, ("return result", "return sorted(result.items(), key=lambda item: -item[1])")),
        ),
        _mistake(
            "pairs_of_counts",
            "Pairs of counts are returned: one number for each language, the quotient.",
            _rating("(len(tokenizer.encode(text).ids), len(words))"),
            _rating("tokenizer.encode(text).ids"),
            _rating("tokenizer.encode(text).tokens"),
        ),
        _mistake(
            "text_values",
            "The numbers are strings: plain floats are asked for (format them when you print them).",
            _rating("f'{len(tokenizer.encode(text).ids) / len(words):.2f}'"),
            _rating("str(len(tokenizer.encode(text).ids) / len(words))"),
        ),
        _mistake(
            "tensors",
            "The numbers are tensors: plain floats are asked for (`.item()`).",
            _rating("torch.tensor(len(tokenizer.encode(text).ids) / len(words))"),
            _rating("torch.tensor(len(tokenizer.encode(text).ids)) / len(words)"),
        ),
        _mistake(
            "texts_overwritten",
            "The numbers are written into `texts`: the caller's texts are gone. Make a new dictionary.",
            edited(fertility, ("result = {}", "result = texts"), ("texts.items()", "list(texts.items())")),
        ),
        _mistake(
            "list_of_ids_expected",
            "`tokenizer.encode(text)` is an Encoding, whose ids or tokens are `.ids` and `.tokens`; or `tokenizer.tokenize` was meant, "
            "which it does not have.",
            _rating("len(tokenizer.encode(text)['input_ids']) / len(words)"),
            _rating("len(tokenizer(text)['input_ids']) / len(words)"),
            _rating("len(tokenizer.tokenize(text)) / len(words)"),
            _rating("tokenizer.encode(text).ids / len(words)"),
            _rating("tokenizer.encode(text) / len(words)"),
        ),
        _mistake(
            "division_by_zero",
            "A text without words ends in a ZeroDivisionError: look first (white space alone holds no words either), and raise a "
            "ValueError that names the language.",
            edited(fertility, ("if not words", "if not text")),
            _with(
                fertility,
                "return {language: len(tokenizer.encode(text).ids) / len(text.split()) for language, text in texts.items()}",
            ),
        ),
        _mistake(
            "empty_hidden",
            "A text without words gets some number or is left out: nothing can be said about it, so raise a ValueError.",
            _rating("len(tokenizer.encode(text).ids) / max(len(words), 1)").replace(
                'raise ValueError(f"texts[{language!r}] has no words")', "pass"
            ),
            edited(
                fertility,
                (
                    'raise ValueError(f"texts[{language!r}] has no words")',
                    "result[language] = 0.0\n            continue",
                ),
            ),
            edited(fertility, ('raise ValueError(f"texts[{language!r}] has no words")', "continue")),
            edited(
                fertility,
                (
                    'raise ValueError(f"texts[{language!r}] has no words")',
                    "result[language] = math.nan\n            continue",
                ),
            ),
            edited(
                fertility,
                (
                    'raise ValueError(f"texts[{language!r}] has no words")',
                    "result[language] = math.inf\n            continue",
                ),
            ),
            edited(
                fertility,
                (
                    'raise ValueError(f"texts[{language!r}] has no words")',
                    "result[language] = None\n            continue",
                ),
            ),
        ),
        _nothing_returned(fertility, ("return result", "_ = result")),
    ],
    alternatives=[
        Alternative(
            "batch",
            _with(
                fertility,
                """
                out = {}
                for name, enc in zip(texts.keys(), tokenizer.encode_batch(list(texts.values()))):
                    n = len(texts[name].split())
                    if n == 0:
                        raise ValueError(f"no words in {name}")
                    out[name] = len(enc) / n
                return out
                """,
            ),
        ),
        Alternative(
            "comprehension",
            _with(
                fertility,
                """
                def rate(text):
                    n = len(re.findall(r"\\S+", text))
                    if not n:
                        raise ValueError("texts: empty text")
                    return len(tokenizer.encode(text).tokens) / n
                return {lang: rate(text) for lang, text in texts.items()}
                """,
            ),
        ),
        Alternative(
            "try_and_except",
            _with(
                fertility,
                """
                try:
                    return {k: len(tokenizer.encode(v, add_special_tokens=False).ids) / len(v.split()) for k, v in texts.items()}
                except ZeroDivisionError as error:
                    raise ValueError("one of the texts has no words") from error
                """,
            ),
        ),
    ],
)


EXERCISES = [
    *(BUILD_VOCAB, ENCODE, DECODE, SPLIT_WORDS, COUNT_PAIRS),
    *(MERGE_PAIR, TRAIN_BPE, BPE_ENCODE, TRAIN_TOKENIZER, FERTILITY),
]
QUESTIONS = [
    Question(
        name="q2_1",
        notebook="02-tokenisation",
        points=1,
        key="C",
        explanations={
            "A": (
                "Ten gigabytes is a great deal, so this is tempting. But look at the curve of different words in "
                "section 2: does it level off anywhere, or does it only grow more slowly?"
            ),
            "B": (
                "Another language would indeed bring many unknown words. But the experiment in section 2 used "
                "English only, and how many of the next 1,000 words were new there?"
            ),
            "C": (
                "Yes. By Heaps' law the number of different words keeps growing, more slowly but without end, so "
                "some part of every new issue was never seen. BPE avoids this by falling back to smaller pieces."
            ),
            "D": (
                "Dropping rare words makes the vocabulary smaller. But what becomes of a dropped word when it "
                "turns up again in a new issue, and what of a word that was never there?"
            ),
        },
    ),
    Question(
        name="q2_2",
        notebook="02-tokenisation",
        points=1,
        key="A",
        explanations={
            "A": (
                "Yes. d r i n k: merge 1 gives d r i nk. Merge 2 needs an n of its own next to i, and there is "
                "none now. Merge 3 gives dr i nk, and merge 4 joins i and nk."
            ),
            "B": (
                "Both merges are in the list, and reading from the left is how we read a word. But which pair of "
                "this word was learnt first, and what does it leave for the others?"
            ),
            "C": (
                "Each letter does appear in some merge. But to make one piece of the whole word, the last merge "
                "would have to join two pieces that spell drink. Is such a pair in the list?"
            ),
            "D": (
                "Other tokenisers do look for the longest known piece first (WordPiece is one). BPE replays its "
                "merges: once ink is there, is any merge left in the list that still applies to the rest?"
            ),
        },
    ),
    Question(
        name="q2_3",
        notebook="02-tokenisation",
        points=1,
        key="D",
        explanations={
            "A": (
                "BPE does give small ids to pieces learnt early, which are often frequent. But does the model "
                "ever calculate with an id? Look at what the table in section 9 made of the shuffled letters."
            ),
            "B": (
                "Merges learnt one after another are alike in frequency, if in anything. Even so, the rows of "
                "two neighbouring ids start at random and are trained separately: what could they share?"
            ),
            "C": (
                "That would happen if you shuffled the ids under a model that is already trained, or decoded "
                "with the old tokeniser. Here the second model has never seen the old numbering: who decodes its "
                "output?"
            ),
            "D": (
                "Yes. Shuffling the ids reorders the rows of the first table and of the last layer, and nothing "
                "else. Whatever the first model can learn, the second can learn too, and its own tokeniser turns "
                "its ids back into text."
            ),
        },
    ),
]
