"""`encode`: odd vocabularies and unknown characters, which must be named; the mistakes skip, hide or renumber them."""

from __future__ import annotations

from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.student import Student

from .common import ODD_VOCAB, SENTENCE, as_before, exactly_same, same_sequence, value_error, value_errors_differ

build_vocab = reference("build_vocab")
encode = reference("encode")


def _encode_values(student: Student) -> None:
    for text, stoi in (
        (SENTENCE, build_vocab(SENTENCE)[0]),
        ("banana", {"a": 0, "b": 1, "n": 2}),
        ("ban\u00e9 Ba\nnn", ODD_VOCAB),
        ("র\u09ba".replace("\u09ba", "\u09be") + " 🙂🙂 a", ODD_VOCAB),
        (" aa ", ODD_VOCAB),
    ):
        with student.case():
            where = f"for the text {text!r} and a vocabulary of {len(stoi)}"
            same_sequence(
                student.value("encode", text, stoi, where=where), encode(text, stoi), "The list of ids", where
            )


def _encode_unknown(student: Student) -> None:
    for text, culprit in (("banΩ", "Ω"), ("Жana", "Ж"), ("na na ß an", "ß"), ("aaα", "α"), ("A", "A"), ("na🙃", "🙃")):
        with student.case():
            stoi = {symbol: i for symbol, i in ODD_VOCAB.items() if symbol != culprit}
            value_error(student, "encode", [text, stoi], culprit, f"for the text {text!r}")
    with student.case():
        cases = [
            (["naB", {symbol: i for i, symbol in enumerate("naB") if symbol != unknown}], unknown) for unknown in "naB"
        ]
        value_errors_differ(student, "encode", cases, "one text and three vocabularies")


def _encode_manners(student: Student) -> None:
    for text, stoi in (("", {"a": 0}), ("a", {"a": 7}), ("", {}), ("banana", {"n": 2, "b": 1, "a": 0})):
        with student.case():
            where = f"for the text {text!r}"
            answer = student.call("encode", [text, stoi], where=where, after=True)
            exactly_same(answer["value"], encode(text, stoi), "The list of ids", where)
            as_before(answer["after"], [text, stoi], "stoi")


EXERCISE = Exercise(
    points=2,
    checks=[
        Check("the id of each character", 1.0, _encode_values),
        Check("an unknown character is a ValueError that names it", 0.7, _encode_unknown),
        Check("a list of int, the empty text, `stoi` unchanged", 0.3, _encode_manners, further=True),
    ],
    working=r"""
def encode(text, stoi):
    unknown = sorted(set(text).difference(stoi))
    if unknown:
        raise ValueError(f"text contains {' '.join(unknown)}")
    return list(map(stoi.get, text))
""",
    takes="str",
    gives="list",
    slips=(
        "nothing_returned",
        "error_of_another_type",
        "error_returned",
        "bad_input_accepted",
    ),
    wrong=r"""
not_named (slip): The message does not say which character is unknown (where it stands is not enough, and the whole text says it of none): put the character into it.
- raise ValueError(f"text contains {symbol!r}, which is not in the vocabulary") => raise ValueError("unknown character")
- raise ValueError(f"text contains {symbol!r}, which is not in the vocabulary") => raise ValueError(f"{text!r} holds unknown characters")
- raise ValueError(f"text contains {symbol!r}, which is not in the vocabulary") => raise ValueError(f"cannot encode {text}")
skipped: Unknown characters are skipped, so the text does not come back and nobody notices: raise a ValueError.
- |
  return [stoi[symbol] for symbol in text if symbol in stoi]
silent_number: Unknown characters get some number (-1, 0 or the size of the vocabulary) without an error: raise a ValueError.
- |
  return [stoi.get(symbol, -1) for symbol in text]
- |
  return [stoi.get(symbol, 0) for symbol in text]
- |
  return [stoi.get(symbol, len(stoi)) for symbol in text]
silent_none: Unknown characters become None: `dict.get` does not complain. Raise a ValueError.
- |
  return [stoi.get(symbol) for symbol in text]
stoi_grows: Unknown characters are added to the vocabulary: `stoi` belongs to the caller, and new ids mean nothing to the model.
- |
  return [stoi.setdefault(symbol, len(stoi)) for symbol in text]
error_returned:
- raise ValueError(f"text contains {symbol!r}, which is not in the vocabulary") =>
      print(f"{symbol} is unknown")
      return []
- raise ValueError(f"text contains {symbol!r}, which is not in the vocabulary") => return f"{symbol} is unknown"
first_character_only: Only the first character is looked at: a `return` stands inside the loop.
- return [stoi[symbol] for symbol in text] =>
          return [stoi[symbol]]
      return []
- return [stoi[symbol] for symbol in text] =>
          return stoi[symbol]
      return []
last_character_only: Only the last id is returned: a variable is overwritten in the loop instead of appended to.
- [stoi[symbol] for symbol in text] => [stoi[symbol] for symbol in text][-1:]
words (missed): The text is split into words: each character gets an id, white space too.
- |
  return [stoi[word] for word in text.split()]
values_searched (missed): The character is looked for among the ids (`stoi.values()`): the characters are the keys.
- not in stoi => not in stoi.values()
zero_is_missing (slip): The id 0 is taken for a missing one (`if not stoi.get(…)`): 0 is an id like any other. Ask `symbol in stoi`.
- if symbol not in stoi => if not stoi.get(symbol)
white_space_dropped: White space is left out: it has ids like any other character.
- [stoi[symbol] for symbol in text] => [stoi[symbol] for symbol in text if not symbol.isspace()] || [stoi[symbol] for symbol in text if symbol != ' ']
ends_stripped (slip): `strip` removes white space at the ends of the text, so it does not come back.
- [stoi[symbol] for symbol in text] => [stoi[symbol] for symbol in text.strip()]
lowercased: The text is turned into small letters first: capitals are characters of their own.
- |
  text = text.lower()
  for symbol in text:
      if symbol not in stoi:
          raise ValueError(f"text contains {symbol!r}, which is not in the vocabulary")
  return [stoi[symbol] for symbol in text]
unique: Each different character is encoded once: the ids should follow the text, repetitions included.
- [stoi[symbol] for symbol in text] => [stoi[symbol] for symbol in sorted(set(text))] || [stoi[symbol] for symbol in dict.fromkeys(text)]
sorted_ids: The ids are sorted: they should follow the text.
- [stoi[symbol] for symbol in text] => sorted(stoi[symbol] for symbol in text)
positions: The ids are positions (in the text, or in the list of keys): the id of a character is what `stoi` says.
- [stoi[symbol] for symbol in text] => [i for i, symbol in enumerate(text)] || [list(stoi).index(symbol) for symbol in text]
- [stoi[symbol] for symbol in text] => [sorted(stoi).index(symbol) for symbol in text]
own_vocabulary: A new vocabulary is built from this text: use the `stoi` that is given.
- [stoi[symbol] for symbol in text] => [sorted(set(text)).index(symbol) for symbol in text]
- for symbol in text: => stoi, _ = build_vocab(text)
  if symbol not in stoi: =>
  raise ValueError(f"text contains {symbol!r}, which is not in the vocabulary") =>
code_points: The ids are Unicode numbers (`ord`): use what `stoi` says.
- [stoi[symbol] for symbol in text] => [ord(symbol) for symbol in text] || [ord(symbol) - ord('a') for symbol in text]
- |
  return [ord(symbol) for symbol in text]
last_missing (slip): The last character is not encoded: a range or a slice ends one too early.
- [stoi[symbol] for symbol in text] => [stoi[symbol] for symbol in text[:-1]]
- for symbol in text: =>
      ids = []
      for i in range(len(text) - 1):
          symbol = text[i]
  return [stoi[symbol] for symbol in text] =>
          ids.append(stoi[symbol])
      return ids
tensor (slip): A tensor or an array is returned: a plain list of int is asked for.
- [stoi[symbol] for symbol in text] => torch.tensor([stoi[symbol] for symbol in text])
- [stoi[symbol] for symbol in text] => torch.tensor([stoi[symbol] for symbol in text], dtype=torch.long)
lazy (missed): A map or a generator is returned, which can be read only once: make a list of it.
- [stoi[symbol] for symbol in text] => map(stoi.get, text) || (stoi[symbol] for symbol in text)
strings (slip): The ids are strings, or one string: a list of int is asked for.
- [stoi[symbol] for symbol in text] => [str(stoi[symbol]) for symbol in text] || ' '.join(str(stoi[symbol]) for symbol in text)
- [stoi[symbol] for symbol in text] => ''.join(str(stoi[symbol]) for symbol in text)
tuple: A tuple is returned: a list is asked for.
- [stoi[symbol] for symbol in text] => tuple([stoi[symbol] for symbol in text])
empty_refused: An empty text is refused: it has no characters, and so an empty list of ids.
- in lowercased
  text = text.lower() =>
      if not text:
          raise ValueError('text is empty')
- in lowercased
  text = text.lower() =>
      if not text:
          return None
""",
    right=r"""
try_and_except:
- |
  ids = []
  for ch in text:
      try:
          ids.append(stoi[ch])
      except KeyError as e:
          raise ValueError(f"unknown character {ch}") from e
  return ids
all_at_once:
- |
  missing = set(text) - set(stoi)
  if missing:
      raise ValueError("not in the vocabulary: " + ", ".join(map(repr, missing)))
  return list(map(stoi.__getitem__, text))
by_code_point:
- |
  def look(c):
      i = stoi.get(c)
      if i is None:
          raise ValueError("unknown character U+%04X" % ord(c))
      return i
  return [look(c) for c in text]
""",
)
