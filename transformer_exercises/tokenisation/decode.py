"""`decode`: ids with gaps and unknown ids, which must be named; the mistakes skip, hide or mistranslate them."""

from __future__ import annotations

from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.student import Student

from .common import ODD_VOCAB, SENTENCE, as_before, exactly_same, same_sequence, value_error, value_errors_differ

build_vocab = reference("build_vocab")
decode = reference("decode")
encode = reference("encode")

ODD_SYMBOLS = {i: symbol for symbol, i in ODD_VOCAB.items()}


def _decode_values(student: Student) -> None:
    for ids, itos in (
        (encode(SENTENCE, build_vocab(SENTENCE)[0]), build_vocab(SENTENCE)[1]),
        ([1, 0, 2, 0, 2, 0], {0: "a", 1: "b", 2: "n"}),
        ([4, 9, 0, 17, 2, 5, 9, 8, 0, 0], ODD_SYMBOLS),
        ([11, 6, 2, 3, 3, 2, 9], ODD_SYMBOLS),
        ([2, 9, 9, 8], ODD_SYMBOLS),
    ):
        with student.case():
            where = f"for {len(ids)} ids and a vocabulary of {len(itos)}"
            same_sequence(student.value("decode", ids, itos, where=where), decode(ids, itos), "The text", where)


def _decode_unknown(student: Student) -> None:
    small = {0: "a", 1: "b", 2: "n"}
    for ids, itos, culprit in (
        *(([0, 1, 97], small, 97), ([-3, 0], small, -3), ([1, -1, 0], small, -1), ([0, 3, 1], small, 3)),
        *(([9, 7, 9], ODD_SYMBOLS, 7), ([1], ODD_SYMBOLS, 1)),
    ):
        with student.case():
            value_error(student, "decode", [ids, itos], culprit, f"for the ids {ids}")
    with student.case():
        cases = [([[7, 4, 9], {i: "x" for i in (7, 4, 9) if i != unknown}], unknown) for unknown in (7, 4, 9)]
        value_errors_differ(student, "decode", cases, "one list of ids and three vocabularies")


def _decode_manners(student: Student) -> None:
    for ids, itos in (([], {0: "a"}), ([7], {7: "a"}), ([], {}), ([1, 0, 2, 0], {2: "n", 0: "a", 1: "b"})):
        with student.case():
            where = f"for the ids {ids}"
            answer = student.call("decode", [ids, itos], where=where, after=True)
            exactly_same(answer["value"], decode(ids, itos), "The text", where)
            as_before(answer["after"], [ids, itos], "ids, itos")


EXERCISE = Exercise(
    points=1,
    checks=[
        Check("the text that the ids stand for", 0.5, _decode_values),
        Check("an unknown id is a ValueError that names it", 0.35, _decode_unknown),
        Check("a string, the empty list, inputs unchanged", 0.15, _decode_manners, further=True),
    ],
    working=r"""
def decode(ids, itos):
    unknown = sorted(set(ids).difference(itos))
    if unknown:
        raise ValueError(f"ids contains {unknown}")
    return "".join(map(itos.get, ids))
""",
    takes="list",
    gives="str",
    slips=("nothing_returned", "input_changed", "error_of_another_type", "error_returned", "bad_input_accepted"),
    wrong=r"""
not_named (slip): The message does not say which id is unknown (the whole list says it of none): put the id into it.
- raise ValueError(f"ids contains {i}, which is not in the vocabulary") => raise ValueError("unknown id")
- raise ValueError(f"ids contains {i}, which is not in the vocabulary") => raise ValueError(f"unknown ids in {ids}")
skipped: Unknown ids are skipped without an error: raise a ValueError.
- |
  return ''.join(itos[i] for i in ids if i in itos)
silent_symbol: Unknown ids become some symbol without an error: raise a ValueError.
- |
  return ''.join(itos.get(i, '?') for i in ids)
- |
  return ''.join(itos.get(i, '<unk>') for i in ids)
- |
  return ''.join(itos.get(i, '\ufffd') for i in ids)
- |
  return ''.join(itos.get(i, ' ') for i in ids)
- |
  return ''.join(str(itos.get(i)) for i in ids)
error_returned:
- raise ValueError(f"ids contains {i}, which is not in the vocabulary") =>
      print(f"{i} is unknown")
      return ""
- raise ValueError(f"ids contains {i}, which is not in the vocabulary") => return f"{i} is unknown"
zero_skipped (slip): The id 0 is skipped (`if i`), as if it were padding: 0 is an id like any other.
- for i in ids) => for i in ids if i)
range_checked: Ids are compared with the size of the vocabulary. What counts is whether `itos` knows the id, and negative ids are unknown too.
- i not in itos => i >= len(itos) || i < 0 or i >= len(itos) || i > max(itos) || i < 0 or i > max(itos)
list_of_values: The values of `itos` are made a list and the ids used as indices: ids need not be 0, 1, 2, and a negative index counts from the end
    without an error.
- |
  symbols = list(itos.values())
  return ''.join(symbols[i] for i in ids)
- |
  symbols = [itos[i] for i in sorted(itos)]
  return ''.join(symbols[i] for i in ids)
- |
  symbols = list(itos.values())
  for i in ids:
      if i >= len(symbols):
          raise ValueError(f"ids contains {i}, which is not in the vocabulary")
  return ''.join(symbols[i] for i in ids)
- |
  symbols = list(itos.values())
  for i in ids:
      if i < 0 or i >= len(symbols):
          raise ValueError(f"ids contains {i}, which is not in the vocabulary")
  return ''.join(symbols[i] for i in ids)
keys_missed (missed): The keys of `itos` are the ids, whole numbers: look for them as they are, not as strings and not among the values.
- not in itos => not in itos.values()
- |
  return ''.join(itos[str(i)] for i in ids)
lowercased: The text comes back in small letters: it should come back as it was.
- "".join(itos[i] for i in ids) => "".join(itos[i] for i in ids).lower()
spaces_between (slip): The characters are joined with spaces: join them with the empty string, the spaces of the text have ids of their own.
- "".join => " ".join
list (slip): A list of characters is returned: a string is asked for (join them).
- "".join(itos[i] for i in ids) => [itos[i] for i in ids]
lazy (missed): A map or a generator is returned: a string is asked for (join the characters).
- "".join(itos[i] for i in ids) => map(itos.get, ids) || (itos[i] for i in ids)
text_of_a_list (slip): The list of characters is turned into text with `str`, brackets and commas included: join the characters.
- "".join(itos[i] for i in ids) => str([itos[i] for i in ids])
numbers_joined: The numbers themselves are joined: look each one up in `itos`.
- "".join(itos[i] for i in ids) => ''.join(str(i) for i in ids)
code_points: The ids are taken for Unicode numbers (`chr`): look them up in `itos`.
- "".join(itos[i] for i in ids) => ''.join(chr(i) for i in ids)
- |
  return ''.join(chr(i) for i in ids)
ends_stripped (slip): `strip` removes white space at the ends, so the text does not come back as it was.
- "".join(itos[i] for i in ids) => "".join(itos[i] for i in ids).strip() || "".join(itos[i] for i in ids).rstrip()
- "".join(itos[i] for i in ids) => "".join(itos[i] for i in ids).lstrip()
white_space_dropped: White space is lost: the text should come back exactly.
- "".join(itos[i] for i in ids) => "".join(itos[i] for i in ids).replace(' ', '') || ''.join("".join(itos[i] for i in ids).split())
order_lost: The characters come back in another order (reversed or sorted): follow the ids.
- "".join(itos[i] for i in ids) => "".join(itos[i] for i in ids)[::-1] || "".join(itos[i] for i in sorted(ids))
unique: Each different id is decoded once: repetitions belong to the text.
- "".join(itos[i] for i in ids) => "".join(itos[i] for i in set(ids)) || "".join(itos[i] for i in dict.fromkeys(ids))
vocabulary_returned (missed): The symbols of the vocabulary are joined, whatever the ids: follow the ids.
- "".join(itos[i] for i in ids) => "".join(itos[i] for i in itos) || "".join(itos[i] for i in sorted(itos))
last_missing (slip): The last id is not decoded: a range or a slice ends one too early.
- for i in ids) => for i in ids[:-1])
- in ids => in ids[:-1]
off_by_one (slip): The ids are shifted by one before they are looked up.
- "".join(itos[i] => ''.join(itos.get(i - 1, '')
first_only: Only the first id is decoded: a `return` stands inside the loop.
- return "".join(itos[i] for i in ids) =>
          return itos[i]
      return ''
last_only: Only the last character is returned: add to the text instead of overwriting it.
- |
  text = ''
  for i in ids:
      if i not in itos:
          raise ValueError(f"ids contains {i}, which is not in the vocabulary")
      text = itos[i]
  return text
input_changed: The list of ids is used up or reordered (pop, sort, reverse): it belongs to the caller.
- in last_only
  for i in ids: =>
      while ids:
          i = ids.pop(0)
  text = itos[i] => text += itos[i]
empty_refused: An empty list of ids is refused: it stands for the empty text.
- for i in ids: =>
      if not ids:
          raise ValueError('ids is empty')
      for i in ids:
- for i in ids: =>
      if not ids:
          return None
      for i in ids:
- for i in ids: =>
      ids[0]
      for i in ids:
""",
    right=r"""
try_and_except:
- |
  text = ""
  for i in ids:
      try:
          text += itos[i]
      except KeyError:
          raise ValueError(f"no symbol has the id {i}")
  return text
all_at_once:
- |
  unknown = [i for i in ids if itos.get(i) is None]
  if len(unknown) > 0:
      raise ValueError("unknown ids: %s" % unknown)
  return "".join([itos[i] for i in ids])
one_character_at_a_time:
- |
  def symbol(i):
      if i in itos.keys():
          return itos[i]
      raise ValueError("id " + str(i) + " is not in itos")
  return str().join(map(symbol, ids))
""",
)
