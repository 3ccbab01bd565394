"""`ids_to_text`: merges in no order, characters spread over ids, bytes that are no text, unknown ids.

The mistakes decode each id by itself, lose parts or special tokens, or hide what is unknown.
"""

from __future__ import annotations

from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.student import Student

from .common import (
    PLAIN,
    SHUFFLED,
    SPECIAL,
    as_before,
    exactly_same,
    id_merges,
    same_sequence,
    value_error,
    value_errors_differ,
)

ids_to_text = reference("ids_to_text")
text_to_ids = reference("text_to_ids")

PHRASE = "the dog drinks water because the other dogs think that the water is there"

DEEP = {(302, 100): 303, (97, 98): 300, (300, 99): 302, (303, 302): 310, (98, 97): 305}  # the whole before its parts

SPLIT = {(240, 159): 300, (144, 182): 301, (195, 169): 302, (97, 195): 303}  # characters in two, and one and a half


def _asks(student: Student, *cases: tuple[list[int], list[int], dict, dict]) -> None:
    for ids, byte_ids, merges, special in cases:
        with student.case():
            where = f"for the ids {ids}, {len(merges)} merges and {len(special)} special tokens"
            got = student.value("ids_to_text", list(ids), list(byte_ids), dict(merges), dict(special), where=where)
            same_sequence(got, ids_to_text(ids, byte_ids, merges, special), "The text", where)


def _down_to_bytes(student: Student) -> None:
    _asks(
        student,
        *[
            (ids, PLAIN, DEEP, {})
            for ids in ([300, 33], [302, 302], [303], [310, 32, 310], [305, 305], [66, 97, 32], [0, 122, 0])
        ],
        *[([SHUFFLED[b] for b in text.encode()], SHUFFLED, {}, {}) for text in ("dog", "a b", "Zz")],
        *[
            (text_to_ids(text, table, id_merges(PHRASE, table, 25), {}), table, id_merges(PHRASE, table, 25), {})
            for text in (" the other dogs ", "Water, the water")
            for table in (PLAIN, SHUFFLED)
        ],
    )


def _decoded_once(student: Student) -> None:
    _asks(
        student,
        *[(list(text.encode()), PLAIN, {}, {}) for text in ("🐶", "nkụ é", "কু", "水a水")],
        *[(ids, PLAIN, SPLIT, {}) for ids in ([300, 301], [303, 169], [302, 302, 97], [300, 144, 182, 33])],
        *[(ids, PLAIN, SPLIT, {}) for ids in ([97, 240, 159, 98], [300], [255, 97], [169, 97], [303, 97, 225, 187])],
    )


def _special_tokens(student: Student) -> None:
    merges = id_merges(PHRASE, PLAIN, 20)
    _asks(
        student,
        *[
            (text_to_ids(text, PLAIN, merges, SPECIAL), PLAIN, merges, SPECIAL)
            for text in ("the<|endoftext|>the", "[PAD][PAD]", "<s>the dog", "the dog [PAD]")
        ],
        ([240, 159, 9001, 144], PLAIN, {}, SPECIAL),
        ([0, 74, 0, 0], [byte + 1 for byte in PLAIN], {}, {"<s>": 0}),
        ([9004, 33, 9004], PLAIN, {}, {"<|ọ·end|>": 9004}),
    )


def _unknown(student: Student) -> None:
    for ids, merges, special, culprit in (
        *(([97, 777, 98], {}, {}, 777), ([400], DEEP, SPECIAL, 400), ([-1, 97], DEEP, {}, -1)),
        *(([97, 9001], DEEP, {}, 9001), ([256], {}, SPECIAL, 256)),
    ):
        with student.case():
            sent = [ids, list(PLAIN), dict(merges), dict(special)]
            value_error(student, "ids_to_text", sent, culprit, f"for the ids {ids}")
    with student.case():
        tables = ((9001, {"<s>": 9002}), (9002, {"<s>": 9001}))
        cases = [([[97, 9001, 9002], list(PLAIN), {}, dict(special)], unknown) for unknown, special in tables]
        value_errors_differ(student, "ids_to_text", cases, "one list of ids and two tables")


def _manners(student: Student) -> None:
    for ids, merges, special in (
        *(([], {}, {}), ([], DEEP, SPECIAL), ([97], {}, {}), ([97, 98, 97], DEEP, SPECIAL)),
        *(([32, 97, 10], {}, {}), ([310], DEEP, {}), ([9001], {}, SPECIAL)),
    ):
        with student.case():
            where = f"for the ids {ids}"
            sent = [list(ids), list(PLAIN), dict(merges), dict(special)]
            answer = student.call("ids_to_text", sent, where=where, after=True)
            exactly_same(answer["value"], ids_to_text(ids, PLAIN, merges, special), "The text", where)
            as_before(answer["after"], [ids, PLAIN, merges, special], "ids, byte_ids, merges, special")


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("merged ids stand for the bytes of their parts", 1.0, _down_to_bytes),
        Check("all bytes first, then decoding; U+FFFD where they are no text", 0.75, _decoded_once),
        Check("special tokens stand for their text", 0.4, _special_tokens),
        Check("an unknown id is a ValueError that names it", 0.5, _unknown),
        Check("a string, the empty list, inputs unchanged", 0.35, _manners),
    ],
    working=r"""
def ids_to_text(ids, byte_ids, merges, special):
    parts = {new: pair for pair, new in merges.items()}
    names = {i: name.encode() for name, i in special.items()}
    def data(i):
        if i in names:
            return names[i]
        if i in parts:
            return data(parts[i][0]) + data(parts[i][1])
        if i in byte_ids:
            return bytes([byte_ids.index(i)])
        raise ValueError(f"no token has the id {i}")
    return b"".join(map(data, ids)).decode(errors="replace")
""",
    takes="list",
    gives="str",
    slips=("nothing_returned", "input_changed", "error_of_another_type", "error_returned", "bad_input_accepted"),
    wrong=r"""
decoded_one_by_one: Each id is decoded by itself, so a character that is spread over several ids is broken: join the bytes first, then decode.
- b"".join(stands_for[i] for i in ids).decode("utf-8", errors="replace") => "".join(stands_for[i].decode("utf-8", errors="replace") for i in ids) || "".join(stands_for[i].decode("utf-8", errors="ignore") for i in ids)
not_replaced: Bytes that are not UTF-8 stop the program: they become the replacement character (`errors="replace"`).
- , errors="replace" =>
dropped: Bytes that are not UTF-8 are dropped or written out: they become the replacement character (`errors="replace"`).
- errors="replace" => errors="ignore" || errors="backslashreplace" || errors="surrogateescape"
another_encoding: The bytes are decoded by another rule than UTF-8.
- decode("utf-8", errors="replace") => decode("latin-1") || decode("ascii", errors="replace") || decode("utf-16-le", errors="replace")
dictionary_order: The merges are worked through in the order of the dictionary, where the parts of a pair may come after it: begin with the
    smallest new id.
- sorted(merges.items(), key=lambda entry: entry[1]) => merges.items()
- sorted(merges.items(), key=lambda entry: entry[1]) => merges.items()
  stands_for[left] + stands_for[right] => stands_for.get(left, b"") + stands_for.get(right, b"")
sorted_by_pair: The merges are worked through in the order of their pairs: begin with the smallest new id.
- sorted(merges.items(), key=lambda entry: entry[1]) => sorted(merges.items())
parts_swapped: The right part comes before the left one.
- stands_for[left] + stands_for[right] => stands_for[right] + stands_for[left]
one_part: Only one part of a merged pair comes back: both belong to it, left and right.
- stands_for[left] + stands_for[right] => stands_for[left] || stands_for[right]
one_level: A merged id is taken apart once only: its parts may be merged ids themselves.
- stands_for[left] + stands_for[right] => b"".join(bytes([i]) for i in (left, right) if i < 256)
merges_ignored: Merged ids are unknown or empty: they stand for what their two parts stand for.
- stands_for[left] + stands_for[right] => b""
- |
  stands_for = {i: bytes([byte]) for byte, i in enumerate(byte_ids)}
  for name, i in special.items():
      stands_for[i] = name.encode("utf-8")
  for i in ids:
      if i not in stands_for:
          raise ValueError(f"ids contains {i}, which is not in the vocabulary")
  return b"".join(stands_for[i] for i in ids).decode("utf-8", errors="replace")
ids_for_bytes: The ids are taken for the bytes themselves: the byte of an id is the place at which the id stands in `byte_ids`.
- {i: bytes([byte]) for byte, i in enumerate(byte_ids)} => {byte: bytes([byte]) for byte in range(256)}
byte_ids_inverted: `byte_ids` is read the wrong way round: `byte_ids[b]` is the id of the byte b.
- {i: bytes([byte]) for byte, i in enumerate(byte_ids)} => {byte: bytes([i]) for byte, i in enumerate(byte_ids)}
special_lost: Special tokens disappear from the text: their id stands for their text.
- name.encode("utf-8") => b""
special_unknown: The ids of special tokens are unknown: they are in `special`.
- |
  stands_for = {i: bytes([byte]) for byte, i in enumerate(byte_ids)}
  for (left, right), new in sorted(merges.items(), key=lambda entry: entry[1]):
      stands_for[new] = stands_for[left] + stands_for[right]
  for i in ids:
      if i not in stands_for:
          raise ValueError(f"ids contains {i}, which is not in the vocabulary")
  return b"".join(stands_for[i] for i in ids).decode("utf-8", errors="replace")
special_trimmed: The brackets of special tokens are taken off: their text comes back as it was.
- name.encode("utf-8") => name.strip("<|>[]").encode("utf-8")
special_zero: A special token whose id is 0 is taken for none: 0 is an id like any other.
- stands_for[i] = name.encode("utf-8") => stands_for[i] = name.encode("utf-8") if i else b""
special_in_another_code: The text of a special token goes through another code than UTF-8, which changes or loses letters: it comes back as it was.
- name.encode("utf-8") => name.encode("latin-1", errors="replace") || name.encode("ascii", errors="ignore")
special_spaced: Spaces are put around special tokens: their text comes back as it was.
- name.encode("utf-8") => f" {name} ".encode("utf-8")
not_named: The message does not say which id is unknown (the whole list says it of none): put the id into it.
- raise ValueError(f"ids contains {i}, which is not in the vocabulary") => raise ValueError("unknown id")
- raise ValueError(f"ids contains {i}, which is not in the vocabulary") => raise ValueError(f"unknown ids in {ids}")
skipped: Unknown ids are skipped without an error: raise a ValueError.
- |
  stands_for = {i: bytes([byte]) for byte, i in enumerate(byte_ids)}
  for (left, right), new in sorted(merges.items(), key=lambda entry: entry[1]):
      stands_for[new] = stands_for[left] + stands_for[right]
  for name, i in special.items():
      stands_for[i] = name.encode("utf-8")
  return b"".join(stands_for.get(i, b"") for i in ids).decode("utf-8", errors="replace")
silent_symbol: Unknown ids become some symbol without an error: raise a ValueError.
- in skipped
  stands_for.get(i, b"") => stands_for.get(i, b"?")
- in skipped
  stands_for.get(i, b"") => stands_for.get(i, b"<unk>")
- in skipped
  stands_for.get(i, b"") => stands_for.get(i, b"\xff")
zero_skipped: The id 0 is skipped (`if i`): 0 is an id like any other.
- for i in ids).decode => for i in ids if i).decode
spaces_between: The tokens are joined with spaces: join them with nothing, their spaces belong to them.
- b"".join => b" ".join
lowercased: The text comes back in small letters: it should come back as it was.
- errors="replace") => errors="replace").lower()
stripped: `strip` removes white space at the ends, so the text does not come back as it was.
- errors="replace") => errors="replace").strip() || errors="replace").lstrip() || errors="replace").rstrip()
reversed: The text comes back in another order: follow the ids.
- stands_for[i] for i in ids => stands_for[i] for i in reversed(ids) || stands_for[i] for i in sorted(ids)
unique: Each different id is decoded once: repetitions belong to the text.
- stands_for[i] for i in ids => stands_for[i] for i in dict.fromkeys(ids)
last_missing: The last id is not decoded: a range or a slice ends one too early.
- stands_for[i] for i in ids => stands_for[i] for i in ids[:-1]
first_only: Only the first id is decoded.
- stands_for[i] for i in ids => stands_for[i] for i in ids[:1]
bytes_returned (missed): Bytes are returned: decode them into a string.
- .decode("utf-8", errors="replace") =>
text_of_bytes: The bytes are turned into text with `str`, quotes included: decode them.
- return b"".join(stands_for[i] for i in ids).decode("utf-8", errors="replace") => return str(b"".join(stands_for[i] for i in ids))
list: A list is returned: one string is asked for.
- return b"".join(stands_for[i] for i in ids).decode("utf-8", errors="replace") => return list(b"".join(stands_for[i] for i in ids).decode("utf-8", errors="replace"))
empty_refused: An empty list of ids is refused: it stands for the empty text.
- for i in ids: =>
      if not ids:
          raise ValueError("ids is empty")
      for i in ids:
- for i in ids: =>
      if not ids:
          return None
      for i in ids:
""",
    right=r"""
recursive:
- |
  halves = dict(zip(merges.values(), merges.keys()))
  names = dict(zip(special.values(), special.keys()))
  def bytes_of(i):
      if i in names:
          return names[i].encode()
      if i in halves:
          left, right = halves[i]
          return bytes_of(left) + bytes_of(right)
      try:
          return bytes([byte_ids.index(i)])
      except ValueError:
          raise ValueError(f"unknown id {i}") from None
  data = b""
  for i in ids:
      data += bytes_of(i)
  return str(data, "utf-8", "replace")
by_a_stack:
- |
  halves = {new: pair for pair, new in merges.items()}
  byte_of = {i: b for b, i in enumerate(byte_ids)}
  names = {i: name for name, i in special.items()}
  out, stack = bytearray(), list(ids)[::-1]
  while stack:
      i = stack.pop()
      if i in names:
          out += names[i].encode("utf-8")
      elif i in halves:
          stack += [halves[i][1], halves[i][0]]
      elif i in byte_of:
          out.append(byte_of[i])
      else:
          raise ValueError("there is no id %d" % i)
  return out.decode("utf-8", "replace")
""",
)
