"""`merge_pair`: every occurrence, left to right, symbols and not letters; the mistakes overlap, skip or join text."""

from __future__ import annotations

from typing import Any

from autograder.spec.course import reference
from autograder.spec.exercise import Asking, Check, Exercise
from autograder.spec.student import Student

from .common import exactly_same, same_sequence

merge_pair = reference("merge_pair")


def _merges(*cases: tuple[Any, tuple[str, str]]) -> Asking:
    def ask(student: Student) -> None:
        for symbols, pair in cases:
            with student.case():
                symbols = tuple(symbols)
                where = f"for {symbols} and the pair {pair}"
                same_sequence(
                    student.value("merge_pair", symbols, pair, where=where),
                    merge_pair(symbols, pair),
                    "The tuple",
                    where,
                )

    return ask


def _merge_manners(student: Student) -> None:
    for symbols, pair in (((), ("a", "b")), (("a",), ("a", "a")), (("x", "y"), ("a", "b")), (("a", "b"), ("a", "b"))):
        with student.case():
            where = f"for {symbols} and the pair {pair}"
            got = student.value("merge_pair", symbols, pair, where=where)
            exactly_same(got, merge_pair(symbols, pair), "The tuple", where)


EXERCISE = Exercise(
    points=3,
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
        Check("no or one symbol, nothing to merge, a tuple", 0.25, _merge_manners, further=True),
    ],
    working=r"""
def merge_pair(symbols, pair):
    result = []
    rest = list(symbols)
    while rest:
        size = 2 if tuple(rest[:2]) == tuple(pair) else 1
        result.append("".join(rest[:size]))
        rest = rest[size:]
    return tuple(result)
""",
    takes="tuple",
    gives="tuple",
    slips=("nothing_returned",),
    wrong=r"""
text_replaced: The symbols are joined with spaces and the pair replaced in that text, so parts of longer symbols match too (x a·b): compare whole
    symbols.
- |
  return tuple(' '.join(symbols).replace(' '.join(pair), ''.join(pair)).split())
- |
  return tuple(re.sub(re.escape(' '.join(pair)), ''.join(pair), ' '.join(symbols)).split(' '))
- |
  return tuple(re.sub(r'\b' + re.escape(' '.join(pair)) + r'\b', ''.join(pair), ' '.join(symbols)).split())
pattern_not_escaped: The pair is used as a regular expression, in which . * ( and $ mean something else: `re.escape` it.
- |
  pattern = re.compile(r"(?<!\S)" + " ".join(pair) + r"(?!\S)")
  return tuple(pattern.sub("".join(pair), " ".join(symbols)).split())
- |
  return tuple(re.sub(' '.join(pair), ''.join(pair), ' '.join(symbols)).split())
characters_joined: All symbols are joined and cut apart again, so earlier merges are undone or pieces arise that never stood side by side: walk
    through the symbols.
- |
  text, both = "".join(symbols), "".join(pair)
  merged, i = [], 0
  while i < len(text):
      size = len(both) if text.startswith(both, i) else 1
      merged.append(text[i:i + size])
      i += size
  return tuple(merged)
- |
  return tuple(p for p in re.split('(' + re.escape(''.join(pair)) + ')', ''.join(symbols)) if p)
joined_text_compared: The joined texts are compared, so (a, bc) is taken for (ab, c): both symbols must be equal, one by one.
- in index
  < len(symbols) - 1 and symbols[i] == pair[0] and symbols[i + 1] == => + 1 < len(symbols) and symbols[i] + symbols[i + 1] == pair[0] +
first_only: Only the first occurrence is merged: all of them are asked for.
- |
  for i in range(len(symbols) - 1):
      if symbols[i:i + 2] == pair:
          return symbols[:i] + (pair[0] + pair[1],) + symbols[i + 2:]
  return symbols
overlapping: A symbol is used in two merges (a a a gives aa aa): after a merge go on behind it.
- for symbol in symbols: => for i, symbol in enumerate(symbols):
  if merged and (merged[-1], symbol) == pair: => if symbols[i:i + 2] == pair:
  merged[-1] += symbol => merged.append(pair[0] + pair[1])
  else: => elif i == 0 or symbols[i - 1:i + 1] != pair:
grows_on: A symbol that was just made takes in the next one as well (a a a gives aaa): each merge joins two symbols.
- in index
  if i < len(symbols) - 1 and symbols[i] == pair[0] and symbols[i + 1] == pair[1]: =>
      if symbols[i:i + 2] == pair:
          merged.append(symbols[i])
          while symbols[i + 1:i + 2] == pair[1:]:
              merged[-1] += pair[1]
              i += 1
          i += 1
  merged.append(symbols[i] + symbols[i + 1]) =>
  i += 2 =>
in_couples: The symbols are cut into couples (steps of two) first: a pair may begin at every symbol.
- |
  merged = []
  for i in range(0, len(symbols), 2):
      couple = symbols[i:i + 2]
      merged += [couple[0] + couple[1]] if couple == pair else couple
  return tuple(merged)
right_to_left: The merging goes from right to left (a a a gives a aa): go from left to right.
- |
  merged, i = [], len(symbols)
  while i > 0:
      size = 2 if i > 1 and symbols[i - 2:i] == pair else 1
      merged.insert(0, "".join(symbols[i - size:i]))
      i -= size
  return tuple(merged)
second_kept (slip): The right symbol of a merged pair stays behind as well: go two symbols on after a merge.
- in index
  i < len(symbols) - 1 and symbols[i] == pair[0] and symbols[i + 1] == pair[1] => symbols[i:i + 2] == pair
  i += 2 => i += 1
too_far (slip): After a merge the symbol that follows it is skipped: go two symbols on, not three (a `for` loop adds one more).
- in index
  i < len(symbols) - 1 and symbols[i] == pair[0] and symbols[i + 1] == pair[1] => symbols[i:i + 2] == pair
  i += 2 => i += 3
last_lost (slip): The last symbol is lost when it is not part of a pair: the loop must reach the end.
- in index
  symbols): => symbols) - 1:
  i < len(symbols) - 1 and symbols[i] == pair[0] and symbols[i + 1] == pair[1] => symbols[i:i + 2] == pair
- tuple(merged) => tuple(merged[:-1])
pair_at_end_missed (slip): A pair at the very end is not merged: the loop ends one pair too early.
- in index
  < len(symbols) - 1 and symbols[i] == pair[0] and symbols[i + 1] == pair[1] => + 2 < len(symbols) and symbols[i:i + 2] == pair
pair_at_start_missed (slip): A pair at the very beginning is not merged: indices begin at 0.
- in index
  < len(symbols) - 1 and symbols[i] == pair[0] and symbols[i + 1] == pair[1] => > 0 and symbols[i:i + 2] == pair
index_error: At the last symbol there is no right neighbour to look at: check that i + 1 is still inside the word.
- in index
  i < len(symbols) - 1 and =>
- in index
  i < len(symbols) - 1 and symbols[i] == pair[0] and symbols[i + 1] == pair[1] => (symbols[i], symbols[i + 1]) == pair
left_only: Only the left symbol is compared: both must be equal.
- in index
  < len(symbols) - 1 and symbols[i] == pair[0] and symbols[i + 1] == pair[1 => + 1 < len(symbols) and symbols[i] == pair[0
right_only: Only the right symbol is compared: both must be equal.
- in index
  < len(symbols) - 1 and symbols[i] == pair[0] => + 1 < len(symbols)
either_order: The pair is merged in either order: (b, a) is not (a, b).
- in index
  i < len(symbols) - 1 and symbols[i] == pair[0] and symbols[i + 1] == pair[1] => set(symbols[i:i + 2]) == set(pair) and i + 1 < len(symbols)
wrong_order_joined (slip): The two symbols are joined in the wrong order: left, then right.
- in index
  i < len(symbols) - 1 and symbols[i] == pair[0] and symbols[i + 1] == pair[1] => symbols[i:i + 2] == pair
  ] + symbols[i + 1 => + 1] + symbols[i
pair_kept_as_pair: The pair itself is put in, or a joined text with a mark between: the new symbol is the two texts joined, left + right.
- in wrong_order_joined
  symbols[i+ 1] + symbols[i] => pair
- in wrong_order_joined
  symbols[i+ 1] + symbols[i => pair[0] + ' ' + pair[1
- in wrong_order_joined
  symbols[i+ 1] + symbols[i] => '_'.join(pair)
- in wrong_order_joined
  symbols[i+ 1] + symbols[i] => '-'.join(pair)
- in wrong_order_joined
  symbols[i+ 1] + symbols[i] => str(pair)
merged_again: A symbol that was just made is merged further (a a a a gives aaaa): one call makes each symbol from two.
- (merged[-1], symbol) == pair => merged[-1].endswith(pair[0]) and symbol == pair[1]
others_dropped: Only the merged symbols are returned: the other symbols of the word stay where they are.
- in index
  if i < len(symbols) - 1 and symbols[i] == pair[0] and symbols[i + 1] == pair[1]: => if symbols[i:i + 2] == pair:
  merged.append(symbols[i]) =>
removed: The pair is removed: the joined symbol takes its place.
- in wrong_order_joined
  merged.append(symbols[i+ 1] + symbols[i]) =>
at_the_end: The joined symbol is put at the end of the word: it takes the place of the pair.
- in wrong_order_joined
  , i = [ => , joined, i = [], [
  merged.append(symbols[i+ 1] + symbols[i] => joined.append("".join(pair)
  merged) => merged + joined)
unchanged (missed): The word comes back as it was: tuples do not change, so a new one must be made and returned.
- return tuple(merged) => return symbols
list: A list is returned: a tuple is asked for.
- tuple(merged) => merged
text (slip): A string is returned: a tuple of symbols is asked for.
- tuple(merged) => ' '.join(merged) || ''.join(merged)
tuple_of_characters: `tuple` of a string cuts it into characters, so the merge is undone: make the tuple from the list of symbols.
- tuple(merged) => tuple(''.join(merged))
lazy (missed): A generator is returned: a tuple is asked for.
- tuple(merged) => (symbol for symbol in merged)
short_words_fail: A word of no or one symbol fails: it has no pair, and comes back as it is.
- merged = [] =>
      symbols[0]
      merged = []
- merged = [] =>
      symbols[1]
      merged = []
- merged = [] =>
      if len(symbols) < 2:
          return None
      merged = []
- merged = [] =>
      if not symbols:
          raise ValueError('symbols is empty')
      merged = []
short_words_lost: A word of one symbol comes back empty: it has no pair, and comes back as it is.
- merged = [] =>
      if len(symbols) < 2:
          return ()
      merged = []
""",
    right=r"""
index:
- |
  merged, i = [], 0
  while i < len(symbols):
      if i < len(symbols) - 1 and symbols[i] == pair[0] and symbols[i + 1] == pair[1]:
          merged.append(symbols[i] + symbols[i + 1])
          i += 2
      else:
          merged.append(symbols[i])
          i += 1
  return tuple(merged)
in_place_on_a_copy:
- |
  out = list(symbols)
  i = 0
  while i < len(out) - 1:
      if (out[i], out[i + 1]) == tuple(pair):
          out[i] = out[i] + out.pop(i + 1)
      i += 1
  return tuple(out)
recursive:
- |
  if len(symbols) < 2:
      return tuple(symbols)
  if symbols[:2] == pair:
      return ("".join(pair),) + merge_pair(symbols[2:], pair)
  return symbols[:1] + merge_pair(symbols[1:], pair)
pattern_with_borders:
- |
  if not symbols:
      return ()
  pattern = re.compile(r"(?<!\S)" + re.escape(" ".join(pair)) + r"(?!\S)")
  return tuple(pattern.sub(lambda match: "".join(pair), " ".join(symbols)).split(" "))
flag:
- |
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
)
