"""`build_vocab`: sorted characters of several scripts and white space, and that `itos` inverts `stoi`.

The mistakes: order of appearance, characters lost or normalised on the way, ids from 1, dictionaries turned round.
"""

from __future__ import annotations

from autograder.spec.compare import kind
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.student import Student

from .common import SENTENCE

build_vocab = reference("build_vocab")

VOCAB_TEXTS = (
    *(SENTENCE, "banana", "zebra Zebra AXE axe", "tabs\tand\nnew lines\n", "3 dogs, 12 cats: 15!"),
    *("Ọ bụ nwa m ụtọ", "আমার বাংলা ভাষা।", "na\u0308ive naïve", "🙂 ok 🙃 ok"),
)


def _vocab(student: Student, text: str) -> tuple[dict, dict, str]:
    where = f"for the text {text!r}"
    got = student.value("build_vocab", text, where=where)
    if not isinstance(got, (tuple, list)) or len(got) != 2:
        raise Wrong(f"It should return the pair (stoi, itos); yours returned {kind(got)}.")
    for name, part in zip(("stoi", "itos"), got, strict=False):
        if not isinstance(part, dict):
            raise Wrong(f"`{name}` should be a dictionary {where}; yours is {kind(part)}.")
    return *got, where


def _vocab_sorted(student: Student) -> None:
    for text in VOCAB_TEXTS:
        with student.case():
            stoi, _, where = _vocab(student, text)
            expected = build_vocab(text)[0]
            if set(stoi) != set(expected):
                few = "lacks some" if len(stoi) < len(expected) else "holds others, or other things"
                raise ValuesDiffer(
                    f"`stoi` {where} should have each different character as a key, white space and punctuation too; "
                    f"yours {few}."
                )
            if stoi != expected:
                ids = list(stoi.values())
                if all(i in ids for i in range(len(ids))):
                    raise ValuesDiffer(f"The ids {where} do not follow the sorted order of the characters.", "unsorted")
                raise ValuesDiffer(f"The ids {where} should be 0, 1, 2 and so on, without gaps.")


def _vocab_inverse(student: Student) -> None:
    for text in VOCAB_TEXTS:
        with student.case():
            stoi, itos, where = _vocab(student, text)
            if len(itos) != len(set(text)) or any(itos.get(i) != symbol for symbol, i in stoi.items()):
                raise ValuesDiffer(
                    f"`itos` is not the inverse of `stoi` {where}: itos[stoi[c]] should be c for every character c."
                )


def _vocab_edges(student: Student) -> None:
    for text in ("", "x", "zzz", " ", "ab"):
        with student.case():
            stoi, itos, where = _vocab(student, text)
            if (stoi, itos) != build_vocab(text):
                raise ValuesDiffer(f"The vocabulary {where} is not right.")
    stoi, *_ = _vocab(student, "abc")
    if not isinstance(student.value("build_vocab", "abc"), tuple):
        raise Wrong("A list of two dictionaries is returned: a tuple is asked for, `return stoi, itos`.", "list")
    if any(type(i) is not int for i in stoi.values()):
        raise Wrong("The ids should be whole numbers (int).", "wrong_type")


EXERCISE = Exercise(
    points=1,
    checks=[
        Check("ids in the sorted order of the characters", 0.5, _vocab_sorted),
        Check("`itos` is the inverse of `stoi`", 0.3, _vocab_inverse),
        Check("empty and short texts, a tuple of dictionaries", 0.2, _vocab_edges, further=True),
    ],
    working=r"""
def build_vocab(text):
    stoi = {}
    for symbol in sorted(dict.fromkeys(text)):
        stoi[symbol] = len(stoi)
    return stoi, dict(zip(stoi.values(), stoi))
""",
    takes="str",
    gives="tuple",
    slips=("nothing_returned",),
    wrong=r"""
first_appearance: The ids follow the order in which the characters appear; they should follow the sorted order.
- sorted(set(text)) => dict.fromkeys(text)
unsorted: The characters are not sorted. The order of a set is different each time Python starts, so ids would mean something else tomorrow:
    sorted(set(text)).
- sorted(set(text)) => set(text)
by_frequency: The ids follow how often the characters occur; they should follow the sorted order of the characters.
- sorted(set(text)) => [symbol for symbol, _ in Counter(text).most_common()] || sorted(set(text), key=lambda symbol: (-text.count(symbol), symbol))
reversed (slip): The characters are sorted the wrong way round: the smallest gets id 0.
- sorted(set(text)) => sorted(set(text), reverse=True)
ignoring_case: The characters are sorted without regard to capitals; plain `sorted` puts the capitals first.
- sorted(set(text)) => sorted(set(text), key=lambda symbol: (symbol.lower(), symbol))
- sorted(set(text)) => sorted(set(text), key=str.swapcase)
lowercased: The text is turned into small letters, so capitals have no id: keep every character as it is.
- sorted(set(text)) => sorted(set(text.lower()))
duplicates_kept: Characters that occur several times are counted several times: make the characters unique first (set).
- sorted(set(text)) => sorted(text)
- |
  stoi, itos = {}, {}
  for i, symbol in enumerate(sorted(text)):
      if symbol not in stoi:
          stoi[symbol], itos[i] = i, symbol
  return stoi, itos
not_unique_not_sorted: Each position of the text gets an id of its own: the vocabulary holds each different character once, sorted.
- sorted(set(text)) => text
from_one (slip): The ids begin at 1; the first one is 0.
- enumerate(sorted(set(text))) => enumerate(sorted(set(text)), 1)
words: The vocabulary is made of words: it should hold single characters.
- sorted(set(text)) => sorted(set(text.split()))
swapped (slip): The two dictionaries are swapped: stoi (character to id) comes first.
- return stoi, itos => return itos, stoi
same_twice (slip): The same dictionary is returned twice: itos goes the other way, from id to character.
- return stoi, itos => return stoi, stoi
white_space_lost: White space is left out of the vocabulary; it is made of characters like any other.
- sorted(set(text)) => sorted(set(text) - set(' \n\t')) || sorted(set(text.replace(' ', '')))
ends_stripped: `strip` removes white space at the ends of the text, which may hold the only new line or tab.
- sorted(set(text)) => sorted(set(text.strip()))
letters_only: Only letters or digits are kept: punctuation and white space need ids too.
- sorted(set(text)) => sorted(symbol for symbol in set(text) if symbol.isalpha()) || sorted(symbol for symbol in set(text) if symbol.isalnum())
- sorted(set(text)) => sorted(symbol for symbol in set(text) if symbol.isalnum() or symbol == ' ')
ascii_only: Only ASCII characters are kept: every character of the text needs an id, whatever its script.
- sorted(set(text)) => sorted(symbol for symbol in set(text) if symbol.isascii())
- sorted(set(text)) => sorted(symbol for symbol in set(text) if symbol.isprintable() and symbol.isascii())
fixed_alphabet (missed): The vocabulary is a fixed alphabet: it should be made of the characters of this text, and of no others.
- sorted(set(text)) => map(chr, range(32, 127)) || map(chr, range(128)) || map(chr, range(97, 123)) || map(chr, range(256))
- sorted(set(text)) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
code_points: The ids are Unicode numbers (`ord`): they should count the characters of this vocabulary, 0, 1, 2 and so on.
- dict(enumerate(sorted(set(text)))) => {ord(symbol): symbol for symbol in sorted(set(text))}
special_tokens: Special tokens are put into the vocabulary: here it holds the characters of the text alone.
- sorted(set(text)) => ['<unk>'] + sorted(set(text)) || ['<pad>', '<unk>'] + sorted(set(text)) || sorted(set(text)) + ['<unk>']
- sorted(set(text)) => ['<pad>'] + sorted(set(text)) || sorted(set(text) | {'<unk>'})
bytes: The vocabulary is made of bytes (`encode`): here it is made of characters.
- sorted(set(text)) => sorted(set(text.encode()))
normalised: The text is normalised first, so some of its characters are not in the vocabulary: leave them as they are.
- sorted(set(text)) => sorted(set(unicodedata.normalize('NFC', text)))
- sorted(set(text)) => sorted(set(unicodedata.normalize('NFD', text)))
first_only: Only the first character is in the vocabulary: a `return` stands inside the loop.
- |
  stoi, itos = {}, {}
  for i, symbol in enumerate(sorted(set(text))):
      stoi[symbol], itos[i] = i, symbol
      return stoi, itos
  return stoi, itos
- sorted(set(text)) => sorted(set(text))[:1]
  return stoi, itos =>
      if stoi:
          return stoi, itos
last_only: Only the last character is in the vocabulary: the dictionaries are made anew in the loop.
- |
  stoi, itos = {}, {}
  for i, symbol in enumerate(sorted(set(text))):
      stoi, itos = {symbol: i}, {i: symbol}
  return stoi, itos
- |
  for i, symbol in enumerate(sorted(set(text))):
      stoi, itos = {symbol: i}, {i: symbol}
  return stoi, itos
last_missing (slip): The last character of the sorted order is missing: a range or a slice ends one too early.
- sorted(set(text)) => sorted(set(text))[:-1]
empty_fails: An empty text fails: it has an empty vocabulary, two empty dictionaries.
- |
  assert text
  itos = dict(enumerate(sorted(set(text))))
  stoi = {symbol: i for i, symbol in itos.items()}
  return stoi, itos
- |
  text[0]
  itos = dict(enumerate(sorted(set(text))))
  stoi = {symbol: i for i, symbol in itos.items()}
  return stoi, itos
- |
  if not text:
      raise ValueError('text is empty')
  itos = dict(enumerate(sorted(set(text))))
  stoi = {symbol: i for i, symbol in itos.items()}
  return stoi, itos
- |
  if not text:
      return None
  itos = dict(enumerate(sorted(set(text))))
  stoi = {symbol: i for i, symbol in itos.items()}
  return stoi, itos
itos_is_a_list (slip): `itos` is a list (or a string): a dictionary from id to character is asked for.
- return stoi, itos => return stoi, list(itos.values()) || return stoi, ''.join(itos.values())
text_keys (slip): The ids are strings: they should be whole numbers (int).
- return stoi, itos => return {c: str(i) for c, i in stoi.items()}, {str(i): c for i, c in itos.items()}
itos_with_text_keys (slip): The keys of `itos` are strings: they should be the ids, whole numbers.
- return stoi, itos => return stoi, {str(i): c for i, c in itos.items()}
only_stoi: Only one dictionary is returned: the pair (stoi, itos) is asked for.
- return stoi, itos => return stoi || return itos
list: A list of two dictionaries is returned: a tuple is asked for, `return stoi, itos`.
- return stoi, itos => return [stoi, itos]
size_too (slip): More than the two dictionaries is returned: the pair (stoi, itos) is asked for.
- return stoi, itos => return stoi, itos, len(stoi) || return sorted(stoi), stoi, itos
""",
    right=r"""
comprehensions:
- |
  chars = sorted(list(set(text)))
  return {ch: i for i, ch in enumerate(chars)}, {i: ch for i, ch in enumerate(chars)}
loop:
- |
  stoi, itos = {}, {}
  for c in sorted(text):
      if c not in stoi:
          itos[len(stoi)] = c
          stoi[c] = len(stoi)
  return stoi, itos
sorted_counter:
- itos = dict(enumerate(sorted(set(text)))) => symbols = sorted(Counter(text))
  stoi = {symbol: i for i, symbol in itos.items()} => stoi = dict(zip(symbols, range(len(symbols))))
  return stoi, itos => return stoi, {stoi[s]: s for s in reversed(symbols)}
""",
)
