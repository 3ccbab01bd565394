"""`text_to_ids`: bytes in an order of their own, merges whose order is not the dictionary's, pieces, special tokens.

The mistakes: another order of merging, merges across pieces, characters for bytes, special tokens found too late.
"""

from __future__ import annotations

from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.student import Student

from .common import PLAIN, SHUFFLED, SPECIAL, as_before, exactly_same, id_merges, same_sequence

text_to_ids = reference("text_to_ids")

PHRASE = "the dog drinks water because the other dogs think that the water is there"

LATE = {(98, 99): 300, (97, 98): 310, (99, 100): 320, (300, 100): 330, (310, 99): 340, (97, 330): 350}

RUNS = {(97, 97): 260, (260, 260): 270, (260, 98): 280, (98, 260): 290}

CHAIN = {(97, 98): 300} | {(300 + i, 98): 301 + i for i in range(60)}  # 61 merges, one after the other

RANKED = {(105, 110): 275, (110, 107): 261, (105, 261): 302, (275, 103): 290, (100, 114): 280}  # in no order

TIGHT = {(101, 32): 256, (32, 116): 257, (115, 46): 258, (39, 116): 259, (100, 39): 260, (101, 49): 261, (10, 97): 262}


def _where(text: str, merges: dict, special: dict) -> str:
    return f"for the text {text!r}, {len(merges)} merges and {len(special)} special tokens"


def _asks(student: Student, *cases: tuple[str, list[int], dict, dict]) -> None:
    for text, byte_ids, merges, special in cases:
        with student.case():
            where = _where(text, merges, special)
            got = student.value("text_to_ids", text, list(byte_ids), dict(merges), dict(special), where=where)
            same_sequence(got, text_to_ids(text, byte_ids, merges, special), "The list of ids", where)


def _bytes(student: Student) -> None:
    _asks(
        student,
        *[
            (text, PLAIN, {}, {})
            for text in ("dog", "The dog.", "Löwe", "nkụ", "কুকুর 🐶", "  two\n spaces ", "cafe\u0301 \ufb01n")
        ],
        *[(text, SHUFFLED, {}, {}) for text in ("dog", "a b, c", "水 é")],
    )


def _by_rank(student: Student) -> None:
    _asks(
        student,
        *[(text, PLAIN, LATE, {}) for text in ("abc", "abcd", "abcab", "bcd", "cdab", "bcdcd")],
        *[(text, PLAIN, RUNS, {}) for text in ("aaa", "aaaa", "aaaaa", "aaaab", "baab")],
        *[(text, PLAIN, RANKED, {}) for text in ("drink", "thinking", "nknk", "ink")],
        ("a" + 50 * "b", PLAIN, CHAIN, {}),
        ("the other", PLAIN, id_merges(PHRASE, PLAIN, 25), {}),
        ("water there", SHUFFLED, id_merges(PHRASE, SHUFFLED, 25), {}),
        ("ọọ nkụ", PLAIN, id_merges("ọ ọ ụ nkụ nkụ", PLAIN, 6), {}),
    )


def _pieces_apart(student: Student) -> None:
    _asks(
        student,
        *[(text, PLAIN, TIGHT, {}) for text in ("the the", "dogs. dogs.", "can't", "id'th", "e12", "a\na", "e  t")],
        ("the dog's water", PLAIN, id_merges(PHRASE, PLAIN, 40), {}),
    )


def _special_tokens(student: Student) -> None:
    merges = id_merges(PHRASE, PLAIN, 20) | {(80, 65): 299}  # P and A
    _asks(
        student,
        *[
            (text, PLAIN, merges, SPECIAL)
            for text in (
                *("the<|endoftext|>the", "<|endoftext|>", "[PAD][PAD]the", "the dog[PAD]", "end of text PAD"),
                *("a<|endoftext|>b<|endoftext|>c", "the <|endoftext|> dog", "th<s>e"),
            )
        ],
        ("the<|endoftext|>", PLAIN, merges, {}),
        ("[PAD] dog", SHUFFLED, id_merges(PHRASE, SHUFFLED, 20), SPECIAL),
        ("<s> dog<s>", [byte + 1 for byte in PLAIN], {}, {"<s>": 0}),
    )


def _manners(student: Student) -> None:
    for text, merges, special in (
        *(("", {}, {}), ("", LATE, SPECIAL), ("a", LATE, {}), ("abc", LATE, SPECIAL)),
        *((" ", {}, {}), ("[PAD]", {}, SPECIAL), ("abcd [PAD]", LATE, SPECIAL)),
    ):
        with student.case():
            where = _where(text, merges, special)
            sent = [text, list(PLAIN), dict(merges), dict(special)]
            answer = student.call("text_to_ids", sent, where=where, after=True)
            exactly_same(answer["value"], text_to_ids(text, PLAIN, merges, special), "The list of ids", where)
            as_before(answer["after"], [text, PLAIN, merges, special], "byte_ids, merges, special")


EXERCISE = Exercise(
    points=5,
    checks=[
        Check("the ids of the bytes", 1.0, _bytes),
        Check("merges by rank, everywhere in a piece, until none is left", 1.5, _by_rank),
        Check("no merge crosses from one piece to the next", 1.0, _pieces_apart),
        Check("special tokens are one id, found before all else", 1.0, _special_tokens),
        Check("a list of int, the empty text, the tables unchanged", 0.5, _manners),
    ],
    working=r"""
def text_to_ids(text, byte_ids, merges, special):
    for name in special:
        start = text.find(name)
        if start >= 0:
            before = text_to_ids(text[:start], byte_ids, merges, special)
            after = text_to_ids(text[start + len(name):], byte_ids, merges, special)
            return [*before, special[name], *after]
    ids = []
    for piece in gpt2_pieces(text):
        symbols = [byte_ids[byte] for byte in piece.encode()]
        for (left, right), new in sorted(merges.items(), key=lambda entry: entry[1]):
            i = 0
            while i + 1 < len(symbols):
                if symbols[i] == left and symbols[i + 1] == right:
                    symbols[i:i + 2] = [new]
                i += 1
        ids.extend(symbols)
    return ids
""",
    takes="str",
    gives="list",
    slips=("nothing_returned",),
    wrong=r"""
left_to_right: The first known pair from the left is merged, whatever its rank: of all pairs in the piece, the one learnt earliest goes first, and
    that is the one with the smallest new id.
- min(known, key=merges.get) => known[0] || known[-1]
in_sweeps: All pairs that are known are merged in one sweep from the left, whatever their rank: only the one learnt earliest goes first.
- |
  ids = []
  for part in re.split("(" + "|".join(map(re.escape, special)) + ")", text) if special else [text]:
      if part in special:
          ids.append(special[part])
          continue
      for piece in gpt2_pieces(part):
          row = [byte_ids[byte] for byte in piece.encode("utf-8")]
          while any(pair in merges for pair in zip(row, row[1:])):
              i, swept = 0, []
              while i < len(row):
                  pair = tuple(row[i : i + 2])
                  swept.append(merges.get(pair, row[i]))
                  i += 2 if pair in merges else 1
              row = swept
          ids += row
  return ids
latest_first: The merge learnt last goes first: the smallest new id is the earliest.
- min(known, key=merges.get) => max(known, key=merges.get)
most_frequent_first: Of the pairs in the piece the most frequent one goes first: that is how merges are learnt. To encode, take the one learnt
    earliest.
- min(known, key=merges.get) => max(known, key=known.count)
order_of_the_dictionary: The merges are taken in the order in which they stand in the dictionary: their rank is the new id.
- min(known, key=merges.get) => next(pair for pair in merges if pair in known)
- |
  ids = []
  for part in re.split("(" + "|".join(map(re.escape, special)) + ")", text) if special else [text]:
      if part in special:
          ids.append(special[part])
          continue
      for piece in gpt2_pieces(part):
          row = [byte_ids[byte] for byte in piece.encode("utf-8")]
          for pair, new in merges.items():
              i = 0
              while i < len(row) - 1:
                  if (row[i], row[i + 1]) == pair:
                      row[i:i + 2] = [new]
                  i += 1
          ids += row
  return ids
from_the_right: Where a pair stands several times without a gap, its last place is merged first: go from left to right.
- |
  ids = []
  for part in re.split("(" + "|".join(map(re.escape, special)) + ")", text) if special else [text]:
      if part in special:
          ids.append(special[part])
          continue
      for piece in gpt2_pieces(part):
          row = [byte_ids[byte] for byte in piece.encode("utf-8")]
          while any(pair in merges for pair in zip(row, row[1:])):
              new, i = min((merges[pair], -i) for i, pair in enumerate(zip(row, row[1:])) if pair in merges)
              row[-i : 2 - i] = [new]
          ids += row
  return ids
smallest_pair: The pair with the smallest parts goes first: compare the ids that the pairs become.
- min(known, key=merges.get) => min(known) || max(known)
one_merge_only: Only one merge is done in each piece: go on until no pair is left.
- while True: => for _ in range(1):
rounds_limited: There is an end to the merging before all is merged: go on until no pair is left, however long the piece is.
- while True: => for _ in range(10): || for _ in range(20): || for _ in range(3):
not_merged: No merges are done: the ids of the bytes come back.
- ids += symbols => ids += [byte_ids[byte] for byte in piece.encode("utf-8")]
overlapping: A symbol is used twice in one merge: after a merge go on behind it.
- |
  ids = []
  for part in re.split("(" + "|".join(map(re.escape, special)) + ")", text) if special else [text]:
      if part in special:
          ids.append(special[part])
          continue
      for piece in gpt2_pieces(part):
          symbols = [byte_ids[byte] for byte in piece.encode("utf-8")]
          while any(pair in merges for pair in zip(symbols, symbols[1:])):
              best = min((p for p in zip(symbols, symbols[1:]) if p in merges), key=merges.get)
              merged, pairs = [], list(zip(symbols, symbols[1:]))
              for i, symbol in enumerate(symbols):
                  if i < len(pairs) and pairs[i] == best:
                      merged.append(merges[best])
                  elif i == 0 or pairs[i - 1] != best:
                      merged.append(symbol)
              symbols = merged
          ids += symbols
  return ids
ids_added: The two ids are added: what a pair becomes stands in `merges`.
- merged[-1] = merges[best] => merged[-1] += symbol
joined_in_front: The new id is put in front of or behind the old ones: it takes their place.
- merged[-1] = merges[best] => merged[-1:] = [merges[best], symbol] || merged[-1:] = [-1, merges[best]]
characters: Characters are taken for bytes (their code points, or another encoding): encode each piece as UTF-8.
- piece.encode("utf-8") => map(ord, piece) || piece.encode("utf-16-le") || piece.encode("latin-1", errors="replace") || piece.encode("ascii", errors="ignore")
byte_ids_unused: The bytes themselves are taken for ids: the id of the byte b is `byte_ids[b]`.
- [byte_ids[byte] for byte in piece.encode("utf-8")] => list(piece.encode("utf-8"))
byte_ids_inverted: The place of the byte in `byte_ids` is taken for its id: `byte_ids[b]` is the id of the byte b.
- byte_ids[byte] => byte_ids.index(byte)
not_cut: The text is not cut into pieces before merging, so merges cross from one word to the next.
- in gpt2_pieces(part): => in [part]:
cut_at_spaces: The text is cut at white space instead of by `gpt2_pieces`: in GPT-2 a space belongs to the word behind it.
- gpt2_pieces(part) => part.split() || part.split(" ") || re.findall(r"\S+|\s+", part) || re.findall(r"\s*\S+", part)
special_as_text: Special tokens are encoded like any other text: they are found first and become one id.
- if part in special: => if False:
special_alone_only: A special token is only known if it is the whole text: it may stand anywhere in it.
- text) if special else [text] => text) if False else [text]
special_too_late: Special tokens are looked for among the pieces, when the splitting rule has torn them apart: find them first.
- |
  ids = []
  for piece in gpt2_pieces(text):
      if piece.strip() in special:
          ids.append(special[piece.strip()])
      else:
          ids += text_to_ids(piece, byte_ids, merges, {}) if special else [byte_ids[b] for b in piece.encode("utf-8")]
  if special:
      return ids
  return ids
special_lost: Special tokens are lost: they become their id.
- ids.append(special[part]) => pass
special_once: Only the first special token is found: there may be several.
- , text) if special => , text, maxsplit=1) if special
special_zero: A special token whose id is 0 is taken for none (`if special.get(…)`): 0 is an id like any other. Ask `part in special`.
- if part in special: => if special.get(part):
special_as_pattern: The special tokens are taken for regular expressions, in which | [ ] mean something: escape them (`re.escape`).
- map(re.escape, special) => special
no_special_tokens: Without special tokens the text is cut at every character, or not encoded at all: an empty pattern matches everywhere.
- text) if special else [text] => text)
- if special else [text] => if special else []
name_for_id: The name of a special token is put into the list: its id belongs there.
- ids.append(special[part]) => ids.append(part)
nested: A list of lists is returned: one list for the whole text is asked for.
- ids += symbols => ids.append(symbols)
last_piece_only: Only the last piece comes back: add to the list instead of overwriting it.
- ids += symbols => ids = symbols
first_piece_only: Only the first piece comes back: a `return` stands inside the loop.
- ids += symbols => return symbols
lowercased: The text is turned into small letters: encode it as it is.
- gpt2_pieces(part) => gpt2_pieces(part.lower())
normalised: The text is normalised (NFC, NFKC) before it is encoded, so another text comes back: encode the characters as they are.
- gpt2_pieces(part) => gpt2_pieces(__import__("unicodedata").normalize("NFC", part)) || gpt2_pieces(__import__("unicodedata").normalize("NFKC", part))
stripped: White space at the ends is lost: encode it as it is.
- gpt2_pieces(part) => gpt2_pieces(part.strip()) || gpt2_pieces(part.rstrip())
unique: Each different id is kept once: repetitions belong to the text.
- return ids => return list(dict.fromkeys(ids))
tuple: A tuple is returned: a list is asked for.
- return ids => return tuple(ids)
text: A string is returned: a list of ids is asked for.
- return ids => return " ".join(map(str, ids))
strings: The ids are returned as strings: whole numbers are asked for.
- return ids => return [str(i) for i in ids]
kept_between_calls: What pieces became is kept from one call to the next: other tables make other ids of them.
- |
  kept, ids = globals().setdefault("kept", {}), []
  for part in re.split("(" + "|".join(map(re.escape, special)) + ")", text) if special else [text]:
      if part in special:
          ids.append(special[part])
          continue
      for piece in gpt2_pieces(part):
          if piece not in kept:
              row = [byte_ids[byte] for byte in piece.encode("utf-8")]
              for pair in sorted(merges, key=merges.get):
                  i = 0
                  while i < len(row) - 1:
                      if (row[i], row[i + 1]) == pair:
                          row[i:i + 2] = [merges[pair]]
                      i += 1
              kept[piece] = row
          ids += kept[piece]
  return ids
tables_used_up: A table is used up or changed (pop, clear): it belongs to the caller.
- ids.append(special[part]) => ids.append(special.pop(part))
- return ids =>
      merges.clear()
      return ids
""",
    right=r"""
one_place_at_a_time:
- |
  ids = []
  for part in re.split("(" + "|".join(map(re.escape, special)) + ")", text) if special else [text]:
      if part in special:
          ids.append(special[part])
          continue
      for piece in gpt2_pieces(part):
          row = [byte_ids[byte] for byte in piece.encode()]
          while len(row) > 1:
              i = min(range(len(row) - 1), key=lambda i: merges.get((row[i], row[i + 1]), math.inf))
              if (row[i], row[i + 1]) not in merges:
                  break
              row = row[:i] + [merges[row[i], row[i + 1]]] + row[i + 2:]
          ids.extend(row)
  return ids
merges_in_turn:
- |
  def piece_ids(piece):
      row = [byte_ids[byte] for byte in piece.encode("utf8")]
      for pair in sorted(merges, key=merges.get):
          i = 0
          while i < len(row) - 1:
              if (row[i], row[i + 1]) == pair:
                  row[i:i + 2] = [merges[pair]]
              i += 1
      return row

  ids, rest = [], text
  while rest:
      at, name = min(((rest.find(name), name) for name in special if name in rest), default=(len(rest), None))
      for piece in gpt2_pieces(rest[:at]):
          ids += piece_ids(piece)
      if name is None:
          break
      ids.append(special[name])
      rest = rest[at + len(name):]
  return ids
""",
)
