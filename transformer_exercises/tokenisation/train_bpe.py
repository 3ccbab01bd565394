"""`train_bpe`: merges in their order, ties that only the right rule breaks, words that run out of pairs.

The mistakes: ties by first sight, frequencies forgotten, counts not brought up to date, one merge too many or too few.
"""

from __future__ import annotations

from autograder.spec.course import reference
from autograder.spec.exercise import Asking, Check, Exercise, Wrong
from autograder.spec.student import Student

from .common import LOWER, STORY, as_before, exactly_same, same_sequence, spelt, weighted

train_bpe = reference("train_bpe")


def _of(**words: int) -> dict[tuple[str, ...], int]:
    return {tuple(word): frequency for word, frequency in words.items()}


BANANAS = "banana bandana anna nab cabana ban nana band canal an ana ba"


def _learns(*cases: tuple[dict, int, str]) -> Asking:
    def ask(student: Student) -> None:
        for words, num_merges, text in cases:
            with student.case():
                where = f"for {text} and num_merges = {num_merges}"
                got = student.value("train_bpe", words, num_merges, where=where)
                if isinstance(got, (list, tuple)) and any(not isinstance(pair, (list, tuple)) for pair in got):
                    raise Wrong(f"The list of merges should hold pairs (left, right) {where}.")
                same_sequence(got, train_bpe(words, num_merges), "The list of merges", where)

    return ask


def _learn_manners(student: Student) -> None:
    for words, num_merges, text in (
        (dict(LOWER), 3, "low ×5, lower ×2, newest ×6, widest ×3"),
        (_of(ab=2, abc=3), 1, "ab, abc"),
    ):
        with student.case():
            where = f"for {text} and num_merges = {num_merges}"
            answer = student.call("train_bpe", [words, num_merges], where=where, after=True)
            exactly_same(answer["value"], train_bpe(words, num_merges), "The list of merges", where)
            as_before(answer["after"], [words, num_merges], "words")


EXERCISE = Exercise(
    points=6,
    checks=[
        Check(
            "the most frequent pair first",
            2.0,
            _learns(
                (_of(low=8, lower=5, newest=13, widest=2, west=3, wes=30, lo=21, est=70), 5, "eight words"),
                (_of(rug=10, pug=5, hug=12, bun=4, hugs=5, pun=12, gs=1), 5, "rug, pug, hug and others"),
                (weighted(STORY, 31), 17, "the words of a story"),
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
                (spelt(STORY), 12, "the words of a story, as often as they occur"),
            ),
        ),
        Check(
            "merges build on earlier merges",
            1.0,
            _learns(
                (weighted(STORY, 37, "</w>"), 15, "the words of a story that end in </w>"),
                (weighted(BANANAS, 51), 10, "banana and words like it"),
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
        Check("a list of tuples, input unchanged", 0.5, _learn_manners, further=True),
    ],
    working=r"""
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
""",
    takes="dict",
    gives="list",
    slips=(
        "nothing_returned",
        "input_changed",
    ),
    wrong=r"""
first_seen_wins (slip): Of equally frequent pairs you take the one that was counted first (`max` or `most_common` alone); the lexicographically smallest is
    asked for, so that the order of the words does not matter.
- in simple
  min(counts, key=lambda pair: (-counts[pair], pair) => max(counts, key=counts.get
- in simple
  min(counts, key=lambda pair: (-counts[pair], pair) => max(reversed(counts), key=counts.get
largest_wins (slip): Of equally frequent pairs you take the largest: `max` over (count, pair) does that. The smallest is asked for, for example with (−count,
    pair) and `min`.
- in simple
  min(counts, key=lambda pair: (- => max(counts, key=lambda pair: (
joined_text_compared: Ties are broken by the joined text, or by its length: compare the pairs as tuples, left symbol first.
- in simple
  pair) => ''.join(pair))
- in simple
  , pair) => , len(''.join(pair)), pair)
- in simple
  , pair) => , -len(''.join(pair)), pair)
- in simple
  pair) => pair[1], pair[0])
- in simple
  pair) => pair[0])
- in simple
  pair) => [s.lower() for s in pair])
rarest_first: The rarest pair is merged: `min` over the counts. The most frequent one is asked for.
- in simple
  (-counts => (counts
- in simple
  lambda pair: (-counts[pair], pair) => counts.get
smallest_pair: The lexicographically smallest pair is merged, whatever its count: compare the counts first, the pairs only in a tie.
- in simple
  , key=lambda pair: (-counts[pair], pair) =>
- in simple
  min(counts, key=lambda pair: (-counts[pair], pair) => max(counts
unweighted: Words are counted once each: a pair counts as often as its words occur.
- in simple
  count_pairs(words) => count_pairs(dict.fromkeys(words, 1))
- in simple
  : frequency for => : 1 for
without_overlap: In a run such as a a a only one pair is counted: every two neighbours count, though merging goes without overlap.
- in simple
  counts = count_pairs(words) =>
      counts = Counter()
      for symbols, frequency in words.items():
          last = None
          for pair in zip(symbols, symbols[1:]):
              if pair == last and pair[0] == pair[1]:
                  last = None
                  continue
              counts[pair] += frequency
              last = pair
once_per_word: A pair that occurs several times in a word is counted once: each place counts.
- in simple
  counts = count_pairs(words) =>
      counts = Counter()
      for symbols, frequency in words.items():
          for pair in set(zip(symbols, symbols[1:])):
              counts[pair] += frequency
not_merged (missed): The words are not merged, so the same pair would be found for ever, or the list is just the pairs of the first count: merge, then count
    again.
- |
  counts = count_pairs(words)
  return sorted(counts, key=lambda pair: (-counts[pair], pair))[:num_merges]
- |
  return [pair for pair, _ in count_pairs(words).most_common(num_merges)]
- in simple
  words = {merge_pair(symbols, best): frequency for symbols, frequency in words.items()} =>
one_word_merged: The merge is done in one word only: it is done in all of them.
- in simple
  words = {merge_pair(symbols, best): frequency for symbols, frequency in words.items()} =>
      for symbols in list(words):
          if merge_pair(symbols, best) != symbols:
              words[merge_pair(symbols, best)] = words.pop(symbols)
              break
first_place_merged: Only the first occurrence in each word is merged: all of them are.
- in simple
  words = {merge_pair(symbols, best): frequency for symbols, frequency in words.items()} =>
      merged = {}
      for symbols, frequency in words.items():
          for i in range(len(symbols) - 1):
              if symbols[i:i + 2] == best:
                  symbols = symbols[:i] + (''.join(best),) + symbols[i + 2:]
                  break
          merged[symbols] = frequency
      words = merged
text_replaced: The pair is replaced in the text of the word, where parts of longer symbols match too: merge whole symbols (`merge_pair`).
- in simple
  merge_pair(symbols, best => tuple(' '.join(symbols).replace(' '.join(best), ''.join(best)).split()
- in simple
  merge_pair(symbols, best => tuple(''.join(symbols).replace(''.join(best), ' ' + ''.join(best) + ' ').split()
characters_again: The words are cut into characters (again), so symbols of several characters are lost: leave them as they are spelt.
- in simple
  dict(words) => {tuple(''.join(w)): n for w, n in words.items()}
- in simple
  count_pairs(words) => count_pairs({tuple(''.join(w)): n for w, n in words.items()})
end_added: An end-of-word symbol is added: the words are already spelt as they should be.
- in simple
  dict(words) => {(*w, '</w>'): n for w, n in words.items()}
- in simple
  dict(words) => {(*w, '_'): n for w, n in words.items()}
right_to_left: Runs are merged from the right (a a a gives a aa): merge from left to right.
- in simple
  , best) => [::-1], best[::-1])[::-1]
- in simple
  merge_pair(symbols, best) => tuple(s[::-1] for s in merge_pair(tuple(s[::-1] for s in symbols[::-1]), (best[1][::-1], best[0][::-1])))[::-1]
new_pairs_missed: The counts are kept up to date, but the pairs that a merge makes are never counted: add the pairs of the new symbol with its
    neighbours.
- |
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
              if pair in zip(old, old[1:]):
                  counts[pair] += frequencies[i]
          spellings[i] = new
  return merges
old_pairs_kept: The counts are kept up to date, but pairs that a merge destroys are still counted: take the neighbours of the merged pair away.
- merges.append(best) =>
      merges.append(best)
      del counts[best]
  for pair in zip(old, old[1:]): =>
  counts[pair] -= frequencies[i] =>
  for pair in zip(new, new[1:]): =>
      for pair in zip(new, new[1:]):
          if pair in zip(old, old[1:]):
              continue
updated_without_frequency: The counts are kept up to date with ±1: each word counts with its frequency.
- -= frequencies[i] => -= 1
  += frequencies[i] => += 1
  merges.append(best) =>
      merges.append(best)
      counts.pop(best)
holders_not_updated: The index of which words hold a pair is not updated, so merges miss words that came to hold the pair later.
- |
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
      counts[best] *= best in holders
      for i in holders.pop(best, ()):
          old, new = spellings[i], merge_pair(spellings[i], best)
          for pair in zip(old, old[1:]):
              counts[pair] -= frequencies[i]
          for pair in zip(new, new[1:]):
              counts[pair] += frequencies[i]
          spellings[i] = new
  return merges
one_too_many (slip): One merge too many is learned: num_merges of them.
- in simple
  (num_merges): => (num_merges + 1):
one_too_few (slip): One merge too few is learned: num_merges of them.
- in simple
  (num_merges): => (num_merges - 1):
one_only: Only one merge is learned: a `return` or a `break` stands inside the loop.
- in simple
  merges.append(best) =>
      merges.append(best)
      return merges
- in simple
  (num_merges) => (1)
vocabulary_size: `num_merges` is taken for the size of the vocabulary: it is the number of merges, whatever the number of characters.
- in simple
  (num_merges): => (num_merges - len({s for symbols in words for s in symbols})):
fails_at_the_end: When no pair is left, the maximum of nothing fails: stop early instead.
- in simple
  if not counts: =>
  break =>
none_at_the_end: When no pair is left, the merges learned so far are lost or None is added: stop and return them.
- in simple
  break => return None
- in simple
  break => return []
- in simple
  break =>
      merges.append(None)
      continue
stops_at_one: Pairs that occur only once are not merged: go on until no pair is left.
- in simple
  best = min(counts, key=lambda pair: (-counts[pair], pair)) =>
      best = min(counts, key=lambda pair: (-counts[pair], pair))
      if counts[best] < 2:
          break
always_one: With num_merges = 0 a merge is learned: the number is checked too late.
- in simple
  (num_merges) => (max(num_merges, 1))
empty_refused: No words, or no merges, is refused: the list of merges is empty then.
- in simple
  def train_bpe(words, num_merges): =>
      def train_bpe(words, num_merges):
          if not words:
              raise ValueError('no words')
- in simple
  def train_bpe(words, num_merges): =>
      def train_bpe(words, num_merges):
          if not words:
              return None
- in simple
  def train_bpe(words, num_merges): =>
      def train_bpe(words, num_merges):
          if num_merges < 1:
              raise ValueError('num_merges must be positive')
- in simple
  def train_bpe(words, num_merges): =>
      def train_bpe(words, num_merges):
          if not words or num_merges < 1:
              return None
input_changed:
- in simple
  words, merges = dict(words), [] => merges = []
  words = {merge_pair(symbols, best): frequency for symbols, frequency in words.items()} =>
      merged = {merge_pair(symbols, best): frequency for symbols, frequency in words.items()}
      words.clear()
      words.update(merged)
joined_symbols: The new symbols are returned: the pairs are asked for, (left, right).
- in simple
  (best) => (''.join(best))
- in simple
  (best) => (' '.join(best))
with_counts (slip): The counts are returned with the pairs: a list of pairs alone is asked for.
- in simple
  (best) => ((best, counts[best]))
- in simple
  ), [] => ), {}
  .append(best) => [best] = counts[best]
ranks: A dictionary is returned: a list of the pairs in the order learned is asked for.
- in simple
  ), [] => ), {}
  .append(best => [best] = len(merges
- in simple
  ), [] => ), {}
  .append => [best] = ''.join
set: A set is returned, in which the order is lost: a list in the order learned is asked for.
- in simple
  return merges => return set(merges)
more_than_merges (slip): More than the merges is returned: the list alone is asked for.
- in simple
  return merges => return merges, words
- in simple
  return merges => return words, merges
words_returned (missed): The merged words, or the vocabulary, are returned: the list of merges is asked for.
- in simple
  return merges => return words
- in simple
  return merges => return sorted({s for symbols in words for s in symbols})
reversed (slip): The merges are in reverse: the one learned first comes first.
- in simple
  append( => insert(0,
sorted: The merges are sorted: their order is the order in which they were learned, and `bpe_encode` needs it.
- in simple
  return merges => return sorted(merges)
lists: The pairs are lists: tuples are asked for.
- in simple
  (best) => (list(best))
tuple: A tuple is returned: a list of pairs is asked for.
- in simple
  return merges => return tuple(merges)
lazy (missed): A generator is returned (`yield`): a list is asked for.
- in simple
  merges.append(best) => yield best
- in simple
  return merges => return iter(merges)
""",
    right=r"""
simple:
- |
  words, merges = dict(words), []
  for _ in range(num_merges):
      counts = count_pairs(words)
      if not counts:
          break
      best = min(counts, key=lambda pair: (-counts[pair], pair))
      merges.append(best)
      words = {merge_pair(symbols, best): frequency for symbols, frequency in words.items()}
  return merges
sorted_counts:
- |
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
heap:
- |
  import heapq
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
text_with_borders:
- |
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
recursive:
- |
  counts = count_pairs(words)
  if num_merges <= 0 or not counts:
      return []
  best = sorted(counts, key=lambda p: (-counts[p], p))[0]
  return [best] + train_bpe({merge_pair(w, best): n for w, n in words.items()}, num_merges - 1)
""",
)
