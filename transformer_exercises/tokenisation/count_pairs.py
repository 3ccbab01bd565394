"""`count_pairs`: neighbours weighted by their word's frequency, repeated pairs, symbols longer than a letter.

The mistakes: frequencies left out, pairs counted once or without overlap, pairs across words, keys that are no pairs.
"""

from __future__ import annotations

from autograder.spec.compare import kind
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.student import Student

from .common import LOWER, STORY, as_before, spelt

count_pairs = reference("count_pairs")


def _counted(student: Student, words: dict, where: str) -> None:
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
        raise ValuesDiffer(f"Pairs {what if missing else 'are counted that do not stand side by side'} {where}.")
    if got != dict(expected):
        raise ValuesDiffer(f"The pairs are right {where}, but not all of the counts.")


IS_COUNTER = """
def is_counter(counts):
    from collections import Counter
    return isinstance(counts, Counter)
"""


def _count_values(student: Student) -> None:
    for words, where in (
        (LOWER, "for low ×5, lower ×2, newest ×6, widest ×3"),
        ({("a", "b", "a"): 3, ("a", "b"): 2}, "for aba ×3 and ab ×2"),
        (spelt(STORY), "for the words of a short story"),
        ({tuple("banana"): 2, tuple("anna"): 7}, "for banana ×2 and anna ×7"),
        ({tuple("abc"): 1}, "for abc ×1"),
    ):
        with student.case():
            _counted(student, words, where)


def _count_symbols(student: Student) -> None:
    for words, where in (
        ({("lo", "w", "er"): 2, ("lo", "w"): 5, ("l", "ow"): 3}, "for words of longer symbols"),
        ({("a", "bc"): 2, ("ab", "c"): 3}, "for (a, bc) ×2 and (ab, c) ×3"),
        (spelt("low low lowest newer", "</w>"), "for words that end in </w>"),
        ({("এ", "\u0995\u09be"): 2, ("ọ", "🙂", "ọ", "🙂"): 4}, "for symbols of other scripts"),
    ):
        with student.case():
            _counted(student, words, where)


def _count_repeated(student: Student) -> None:
    for words, where in (
        ({tuple("aaa"): 1}, "for aaa ×1"),
        ({tuple("aaaa"): 3, tuple("aa"): 2}, "for aaaa ×3 and aa ×2"),
        ({tuple("abab"): 2, tuple("baab"): 5}, "for abab ×2 and baab ×5"),
        ({("ab", "ab", "ab"): 4}, "for (ab, ab, ab) ×4"),
    ):
        with student.case():
            _counted(student, words, where)


def _count_manners(student: Student) -> None:
    for words, where in (
        ({}, "for no words at all"),
        ({("a",): 4}, "for a word of one symbol"),
        ({("a",): 4, (): 2, ("a", "b"): 1}, "with words of two, one and no symbols"),
        (dict(LOWER), "for low ×5, lower ×2, newest ×6, widest ×3"),
    ):
        with student.case():
            answer = student.call("count_pairs", [words], where=where, after=True)
            if answer["value"] != dict(count_pairs(words)):
                raise ValuesDiffer(f"The counts {where} are not right.")
            as_before(answer["after"], [words], "words")
    counts = student.call("count_pairs", [dict(LOWER)], keep=True)["value"]
    if student.value(student.probe("is_counter", IS_COUNTER), counts) is not True:
        raise Wrong("A Counter is asked for; yours is another kind of dictionary.", "plain_dictionary")


EXERCISE = Exercise(
    points=2,
    checks=[
        Check("adjacent pairs, weighted by the frequency of their word", 1.0, _count_values),
        Check("symbols of several characters", 0.4, _count_symbols, further=True),
        Check("pairs that occur several times in a word", 0.4, _count_repeated, further=True),
        Check("no words, very short words, a Counter, input unchanged", 0.2, _count_manners, further=True),
    ],
    working=r"""
from collections import Counter
from itertools import pairwise

def count_pairs(words):
    total = Counter()
    for symbols, frequency in words.items():
        total.update({pair: frequency * n for pair, n in Counter(pairwise(symbols)).items()})
    return total
""",
    takes="dict",
    gives="dict",
    slips=("nothing_returned", "input_changed"),
    wrong=r"""
unweighted: Each word counts once, however often it occurs: add its frequency instead of 1.
- counts[pair] += frequency => counts[pair] += 1
not_added: The count is not added to (`=`, `*=` or `max` instead of `+=`): every place where the pair stands adds to it.
- counts[pair] += frequency => counts[pair] = frequency || counts[pair] *= frequency || counts[pair] = max(counts[pair], frequency)
once_per_word: A pair that occurs twice in a word is counted once there: each place counts.
- zip(symbols, symbols[1:]) => set(zip(symbols, symbols[1:]))
without_overlap: Overlapping pairs are skipped (a a a has two pairs of neighbours): only merging goes without overlap.
- for pair in zip(symbols, symbols[1:]): =>
      last = None
      for i, pair in enumerate(zip(symbols, symbols[1:])):
          if pair == last and pair[0] == pair[1]:
              last = None
              continue
  counts[pair] += frequency =>
      counts[pair] += frequency
      last = pair
- |
  counts = Counter()
  for symbols, frequency in words.items():
      i = 0
      while i < len(symbols) - 1:
          counts[symbols[i], symbols[i + 1]] += frequency
          i += 2 if symbols[i] == symbols[i + 1] else 1
  return counts
every_second: The words are cut into couples (steps of two): every symbol but the last one begins a pair.
- zip(symbols, symbols[1:]) => zip(symbols[::2], symbols[1::2])
unordered: The order in a pair is lost (sorted, or a set): (a, b) and (b, a) are two different pairs.
- counts[pair] += frequency => counts[tuple(sorted(pair))] += frequency || counts[frozenset(pair)] += frequency
reversed_pair (slip): The pairs are the wrong way round: the left symbol comes first.
- counts[pair] += frequency => counts[pair[::-1]] += frequency
joined_keys: The two symbols are joined into one string, so (a, bc) and (ab, c) become the same: the key is the pair, a tuple.
- counts[pair] += frequency => counts[''.join(pair)] += frequency || counts[' '.join(pair)] += frequency
characters: The word is joined and cut into characters again: count symbols, which may be longer than one character.
- zip(symbols, symbols[1:]) => zip(''.join(symbols), ''.join(symbols)[1:])
last_pair_missing (slip): The last pair of each word is missing: n symbols have n − 1 pairs, and `range(n)` ends at n − 1 already.
- zip(symbols, symbols[1:]) => zip(symbols[:-1], symbols[1:-1])
first_pair_missing (slip): The first pair of each word is missing: indices begin at 0.
- zip(symbols, symbols[1:]) => zip(symbols[1:], symbols[2:])
wraps_around (slip): The last symbol is paired with the first one of the same word: index −1 counts from the end.
- zip(symbols, symbols[1:]) => zip(symbols[-1:] + symbols, symbols)
across_words: Pairs reach from one word into the next: a pair lies within one word.
- |
  counts = count = Counter()
  last = None
  for symbols, frequency in words.items():
      for symbol in symbols:
          if last is not None:
              counts[last, symbol] += frequency
          last = symbol
  return counts
- |
  line = [symbol for symbols, frequency in words.items() for symbol in symbols * frequency]
  return Counter(zip(line, line[1:]))
all_combinations: All pairs of symbols of a word are counted: only neighbours stand side by side.
- zip(symbols, symbols[1:]) => [(a, b) for i, a in enumerate(symbols) for b in symbols[i + 1:]] || [(a, b) for a in symbols for b in symbols]
- zip(symbols, symbols[1:]) => [(a, b) for i, a in enumerate(symbols) for j, b in enumerate(symbols) if i != j]
one_apart: Symbols with one between them are paired: neighbours are asked for.
- zip(symbols, symbols[1:]) => zip(symbols, symbols[2:])
triples: Three symbols in a row are counted: pairs are asked for.
- zip(symbols, symbols[1:]) => zip(symbols, symbols[1:], symbols[2:])
single_symbols (missed): Single symbols are counted: pairs of neighbours are asked for.
- zip(symbols, symbols[1:]) => symbols || zip(symbols)
equal_skipped: Pairs of two equal symbols are left out: they count like the others.
- counts[pair] += frequency => counts[pair] += frequency * (pair[0] != pair[1])
- counts[pair] += frequency =>
      if pair[0] != pair[1]:
          counts[pair] += frequency
first_word_only: Only the first word is counted: a `return` stands inside the loop.
- |
  counts = Counter()
  for symbols, frequency in words.items():
      for pair in zip(symbols, symbols[1:]):
          counts[pair] += frequency
      return counts
  return counts
last_word_only: Only the last word is counted: the counter is made anew for each word.
- for symbols, frequency in words.items(): =>
      for symbols, frequency in words.items():
          counts = Counter()
shares: Shares are returned: whole counts are asked for.
- return counts => return Counter({pair: n / counts.total() for pair, n in counts.items()})
weighted_by_length: The counts are multiplied by the length of the word, or divided by it: the frequency alone is the weight.
- counts[pair] += frequency => counts[pair] += frequency * len(symbols) || counts[pair] += frequency / len(symbols) || counts[pair] += len(symbols)
list_of_pairs (slip): A list is returned (`most_common`, `items`): a Counter is asked for.
- return counts => return counts.most_common() || return list(counts.items()) || return sorted(counts.items())
plain_dictionary: A plain dictionary is returned: a Counter is asked for, which says 0 for a pair that it does not hold.
- return counts => return dict(counts)
best_only: Only the most frequent pair is returned: the counts of all pairs are asked for.
- return counts => return max(counts, key=counts.get, default=None) || return counts.most_common(1) || return Counter(dict(counts.most_common(1)))
key_error (missed): A pair that is seen for the first time is a KeyError: a Counter begins at 0, a plain dict does not.
- Counter() => {}
end_added: An end-of-word symbol is added: the words are spelt as they should be counted.
- zip(symbols, symbols[1:]) => zip(symbols, symbols[1:] + ('</w>',))
input_changed: The words are taken out of the dictionary that was passed in: it belongs to the caller.
- for symbols, frequency in words.items(): =>
      while words:
          symbols, frequency = words.popitem()
""",
    right=r"""
indices:
- counts = Counter() => pairs = defaultdict(int)
  for symbols, frequency in words.items(): => for word in words:
  for pair in zip(symbols, symbols[1:]): => for i in range(len(word) - 1):
  counts[pair] += frequency => pairs[(word[i], word[i + 1])] += words[word]
  return counts => return Counter(pairs)
get:
- counts = Counter() => result = {}
  for symbols, frequency in words.items(): => for w, f in words.items():
  for pair in zip(symbols, symbols[1:]): => for a, b in zip(w[:-1], w[1:]):
  counts[pair] += frequency => result[a, b] = result.get((a, b), 0) + f
  return counts => return Counter(result)
every_occurrence:
- |
  from itertools import chain, pairwise, repeat
  return Counter(chain.from_iterable(chain.from_iterable(repeat(list(pairwise(w)), n)) for w, n in words.items()))
sum_of_counters:
- |
  return sum((Counter({p: n * f for p, n in Counter(zip(w, w[1:])).items()}) for w, f in words.items()), Counter())
""",
)
