"""`bpe_encode`: words in which another order of merging gives other subwords, runs of one letter, unknown letters.

The mistakes: the longest or first match instead of the rank, one pass for each merge, replacing text for symbols.
"""

from __future__ import annotations

from typing import Any

from autograder.spec.course import reference
from autograder.spec.exercise import Asking, Check, Exercise
from autograder.spec.student import Student

from .common import STORY, as_before, exactly_same, same_sequence, weighted

bpe_encode = reference("bpe_encode")
train_bpe = reference("train_bpe")

LOWER_MERGES = [("e", "r"), ("l", "o"), ("lo", "w"), ("low", "er")]

STORY_MERGES = train_bpe(weighted(STORY, 31), 30)  # a pair comes after the merges that made its symbols

LATE_MERGES = [("b", "c"), ("a", "b"), ("c", "d"), ("bc", "d"), ("ab", "c"), ("a", "bcd")]

RUN_MERGES = [("a", "a"), ("aa", "aa"), ("aa", "b"), ("b", "aa")]

NA_MERGES = [("a", "n"), ("an", "a"), ("b", "ana"), ("n", "ana")]


def _encodes(*cases: tuple[Any, str]) -> Asking:
    """Merges, and the words to encode with them as one text."""

    def ask(student: Student) -> None:
        for merges, text in cases:
            for word in text.split():
                with student.case():
                    known = ", ".join("+".join(pair) for pair in merges[:6]) + (" …" if len(merges) > 6 else "")
                    where = f"for the word {word!r} and the merges {known or '(none)'}"
                    got = student.value("bpe_encode", word, list(merges), where=where)
                    same_sequence(got, bpe_encode(word, merges), "The list of subwords", where)

    return ask


def _encode_word_manners(student: Student) -> None:
    for word, merges in (
        *(("", []), ("", [("a", "b")]), ("a", [("a", "b")]), ("ab", []), ("ab", [("a", "b")]), ("xyz", [("a", "b")])),
        ("abcab", [("b", "c"), ("a", "b")]),
    ):
        with student.case():
            where = f"for the word {word!r} and {len(merges)} merges"
            answer = student.call("bpe_encode", [word, list(merges)], where=where, after=True)
            exactly_same(answer["value"], bpe_encode(word, merges), "The list of subwords", where)
            as_before(answer["after"], [word, merges], "merges")


EXERCISE = Exercise(
    points=4,
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
        Check("a list, the empty word, `merges` unchanged", 0.5, _encode_word_manners, further=True),
    ],
    working=r"""
from tokenizers import models

def bpe_encode(word, merges):
    if not word:
        return []
    symbols = dict.fromkeys([*word, *(part for pair in merges for part in (*pair, "".join(pair)))])
    model = models.BPE({symbol: i for i, symbol in enumerate(symbols)}, [tuple(pair) for pair in merges])
    return [token.value for token in model.tokenize(word)]
""",
    takes="str",
    gives="list",
    slips=("nothing_returned",),
    wrong=r"""
left_to_right (missed): The first pair from the left that is among the merges is taken, whatever its rank: of all pairs in the word, the one learned earliest
    goes first.
- |
  symbols, known = list(word), set(merges)
  i = 0
  while i < len(symbols) - 1:
      if (symbols[i], symbols[i + 1]) in known:
          symbols[i:i + 2] = ["".join(symbols[i:i + 2])]
          i = 0
      else:
          i += 1
  return symbols
- |
  symbols, known = list(word), set(merges)
  i = 0
  while i < len(symbols) - 1:
      if (symbols[i], symbols[i + 1]) in known:
          symbols[i:i + 2] = ["".join(symbols[i:i + 2])]
      else:
          i += 1
  return symbols
- |
  symbols, known = tuple(word), set(merges)
  while True:
      found = [pair for pair in zip(symbols, symbols[1:]) if pair in known]
      if not found:
          return list(symbols)
      symbols = merge_pair(symbols, found[0])
longest_match (missed): The longest known subword is cut off from the left: that is another algorithm (WordPiece). BPE repeats the merges in the order learned.
- |
  known, pieces, i = {"".join(pair) for pair in merges}, [], 0
  while i < len(word):
      end = next(j for j in range(len(word), i, -1) if word[i:j] in known or j == i + 1)
      pieces.append(word[i:end])
      i = end
  return pieces
latest_first: The merge learned last goes first: the one learned earliest does.
- min(zip(symbols, symbols[1:]), key=lambda pair: rank.get(pair, math.inf => max(zip(symbols, symbols[1:]), key=lambda pair: rank.get(pair, -1
- in merges_in_turn
  merges: => reversed(merges):
alphabetical: Of the pairs in the word the smallest in the alphabet goes first, or the merges are sorted: their order is their rank.
- in merges_in_turn
  merges: => sorted(merges):
- rank.get(pair, math.inf => (pair not in rank, pair
- in merges_in_turn
  merges: => sorted(merges, key=lambda pair: -len(''.join(pair))):
- in merges_in_turn
  merges: => sorted(merges, key=lambda pair: len(''.join(pair))):
most_frequent_first: Of the pairs in the word the most frequent one goes first: that is how merges are learned. To encode, take the one learned
    earliest.
- |
  symbols, rank = tuple(word), {pair: i for i, pair in enumerate(merges)}
  while True:
      counts = Counter(pair for pair in zip(symbols, symbols[1:]) if pair in rank)
      if not counts:
          return list(symbols)
      symbols = merge_pair(symbols, min(counts, key=lambda pair: (-counts[pair], rank[pair])))
- |
  symbols, known = tuple(word), set(merges)
  while True:
      counts = Counter(pair for pair in zip(symbols, symbols[1:]) if pair in known)
      if not counts:
          return list(symbols)
      symbols = merge_pair(symbols, min(counts, key=lambda pair: (-counts[pair], pair)))
- |
  pairs = train_bpe({tuple(word): 1}, len(merges))
  symbols = tuple(word)
  for pair in pairs:
      if pair in merges:
          symbols = merge_pair(symbols, pair)
  return list(symbols)
one_merge_only: Only one merge is done: go on until no pair of the word is among the merges.
- while len(symbols) > 1 => for _ in range(len(symbols) > 1)
- in merges_in_turn
  symbols = merge_pair(symbols, pair) =>
      symbols = merge_pair(symbols, pair)
      return list(symbols)
stops_at_gap: You stop at the first merge that the word does not need: later ones may still apply.
- in merges_in_turn
  for pair in merges: =>
      for pair in merges:
          if pair not in zip(symbols, symbols[1:]):
              break
first_place_only: Each merge is done at its first place only, and the next merge follows: it is done everywhere in the word.
- |
  symbols = list(word)
  for left, right in merges:
      for i in range(len(symbols) - 1):
          if symbols[i] == left and symbols[i + 1] == right:
              symbols[i:i + 2] = [left + right]
              break
  return symbols
skips_neighbours: The symbol after a merge is skipped, so a pair that follows at once is missed: a list that shrinks while a `for` loop walks through
    it needs care.
- in in_place
  out = [c for c in word] => symbols = list(word)
  + 1 < len(out) => < len(symbols) - 1
  out[i] == left and out => symbols[i] == left and symbols
  out[i] = left + right => symbols[i:i + 2] = [left + right]
  del out[i + 1] => i += 1
  return out => return symbols
grows_on: A symbol that was just made is compared again within the same merge (from its last letter, say): compare whole symbols.
- |
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
text_replaced: The pair is replaced in the text of the word, where parts of longer symbols match too: merge whole symbols.
- in merges_in_turn
  merge_pair(symbols, pair => tuple(' '.join(symbols).replace(' '.join(pair), ''.join(pair)).split(' ')
- |
  for a, b in merges:
      word = word.replace(a + b, ' ' + a + b + ' ')
  return word.split()
joined_text_compared: A pair is looked up by its joined text, so (a, bc) is taken for (ab, c): compare the pair itself.
- rank = {pair: i for i, pair in enumerate(merges)} =>
      rank = {}
      for i, pair in enumerate(merges):
          rank.setdefault("".join(pair), i)
  best = min(zip(symbols, symbols[1:]), key=lambda pair: rank.get(pair, math.inf)) => best = min(zip(symbols, symbols[1:]), key=lambda pair: rank.get("".join(pair), math.inf))
  if best not in rank: => if "".join(best) not in rank:
only_known: Characters that no merge knows are lost or refused, or become an unknown token: they stay single.
- return list(symbols) =>
      known = {s for pair in merges for s in (*pair, ''.join(pair))}
      return [s for s in symbols if s in known]
- return list(symbols) =>
      known = {s for pair in merges for s in (*pair, ''.join(pair))}
      return [s if s in known else '<unk>' for s in symbols]
- return list(symbols) =>
      known = {''.join(pair) for pair in merges}
      return [s for s in symbols if s in known]
- symbols = tuple(word) =>
      symbols = tuple(word)
      if not {*symbols} <= {c for pair in merges for c in ''.join(pair)}:
          raise ValueError('word has an unknown character')
unmerged (missed): The characters come back unmerged: keep the result of each merge (and `list` of a string cuts it into characters again).
- symbols = merge_pair(symbols, best) =>
      merged = merge_pair(symbols, best)
      break
end_added: An end-of-word symbol is added: the word is encoded as it is.
- tuple(word => (*word, '</w>'
- word) => word[:-1]) + (word[-1:] + '</w>',)
lowercased: The word is turned into small letters: encode it as it is.
- word) => word.lower())
whole_word: The word is not cut into characters first: BPE begins with single characters.
- tuple(word => (word,
merges_used_up: The list of merges is used up or reordered (pop, reverse, sort): it belongs to the caller.
- in merges_in_turn
  for pair in => while
  pair) => merges.pop(0))
last_merge_missing (slip): The last merge of the list is never used: a range or a slice ends one too early.
- in merges_in_turn
  merges: => merges[:-1]:
first_merge_missing (slip): The first merge is never used: rank 0 is false in a test such as `if rank`, and a number like any other.
- best not in rank => not rank.get(best)
- in merges_in_turn
  merges: => merges[1:]:
unknown_first: Pairs that are not among the merges get a rank that wins (0 or −1), so you stop too early: their rank is infinite.
- math.inf => 0 || -1
known_pair_expected: A pair of the word that is not among the merges is a KeyError: it just has no rank.
- .get(pair, math.inf) => [pair]
- rank.get(pair, math.inf => merges.index(pair
empty_word: The empty word fails or gives something: it has no subwords, an empty list.
- symbols = tuple(word) =>
      symbols = tuple(word)
      if not word:
          return ['']
- while len(symbols) > 1: =>
      while True:
          if len(symbols) == 1:
              break
- symbols = tuple(word) =>
      symbols = tuple(word)
      if not word:
          return None
short_words_fail (slip): A word of one character, or one that is merged into a single symbol, fails: it has no pair left, so stop there.
- len(symbols) > 1 => True
tuple: A tuple is returned: a list is asked for.
- list(symbols) => symbols
text (missed): A string is returned: a list of subwords is asked for.
- list( => ' '.join( || ''.join(
lazy (missed): An iterator is returned: a list is asked for.
- list( => iter(
numbers: Numbers are returned: the subwords themselves, strings, are asked for.
- list(symbols) => [rank.get(s, -1) for s in symbols] || list(range(len(symbols))) || [len(s) for s in symbols]
with_word (slip): The word is returned along with its subwords: the list of subwords alone is asked for.
- list(symbols => (word, list(symbols)
- list(symbols) => {word: list(symbols)}
""",
    right=r"""
merges_in_turn:
- |
  symbols = tuple(word)
  for pair in merges:
      symbols = merge_pair(symbols, pair)
  return list(symbols)
one_place_at_a_time:
- |
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
recursive:
- |
  def step(symbols):
      pairs = set(zip(symbols, symbols[1:]))
      for pair in merges:
          if pair in pairs:
              return step(merge_pair(symbols, pair))
      return symbols
  return [*step(tuple(word))]
text_with_borders:
- |
  text = " ".join(word)
  for a, b in merges:
      text = re.sub(r"(?<!\S)" + re.escape(a + " " + b) + r"(?!\S)", lambda m: a + b, text)
  return text.split()
in_place:
- |
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
)
