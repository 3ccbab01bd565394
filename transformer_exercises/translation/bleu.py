"""`bleu`: as sacrebleu counts, smooths and penalises, for one sentence, a corpus, and texts in which nothing matches.

The mistakes: counts not clipped, sentences averaged, brevity by sentence, other smoothing, other means.
"""

from __future__ import annotations

from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import normal, raises_error
from autograder.spec.student import Student

from .common import float_answered

bleu = reference("bleu")

_WORDS_OF = ["the", "cat", "sat", "on", "a", "mat", "while", "dogs", "and", "birds", "sang", "in", "old", "trees"]


def _sentence(length: int, words: int = len(_WORDS_OF)) -> list[str]:
    """Words in an order of their own; the first few, where only few are asked for."""
    return [_WORDS_OF[i] for i in (normal(length).abs() * 1000).long() % words]


def _worsened(sentence: list[str], share: float, longer: int = 0) -> list[str]:
    """Some words replaced by others, and the sentence made longer or shorter at its end."""
    kept = (normal(len(sentence)).abs() > share * 1.5).tolist() if sentence else []
    worse = [word if keep else "zebra" for word, keep in zip(sentence, kept, strict=True)]
    return worse + ["again"] * longer if longer >= 0 else worse[:longer]


def _scored(student: Student, hypotheses: list, references: list, where: str) -> dict:
    expected = bleu(hypotheses, references)
    answer = float_answered(student, "bleu", [hypotheses, references], expected, "The score", where, 1e-6)
    if answer["after"] and list(answer["after"][:2]) != [hypotheses, references]:
        raise Wrong("The lists of tokens are changed: the caller's are different afterwards.", "input_changed")
    return answer


def _bleu_one(student: Student) -> None:
    for hypothesis, original, what in (
        ("a b c d e", "a b c d f", "for five tokens, four of them right"),
        ("the cat sat on the mat", "the cat sat on a mat", "for one wrong word in the middle"),
        ("a b c d", "a b c d", "for a perfect sentence of four tokens"),
        ("the dog ran to the big house", "the dog ran to the big house", "for a perfect sentence"),
        ("a b c d a b c d a b c d", "a b c d e f g h i j k l", "for a phrase that is repeated"),
        ("x a b c d e y", "a b c d e f g", "for a phrase in another place"),
        ("The cat sat on it .", "the cat sat on it .", "where a capital letter differs"),
        ("of of the the the the of of", "of the the of", "for words that are repeated too often"),
        ("to day is a good one", "today is a go odone", "where other tokens have the same letters"),
    ):
        with student.case():
            _scored(student, [hypothesis.split()], [original.split()], what)


def _bleu_corpus(student: Student) -> None:
    for count, words, share in ((2, 14, 0.2), (5, 14, 0.15), (8, 5, 0.3), (20, 3, 0.4), (3, 2, 0.2)):
        with student.case():
            references = [_sentence(5 + (7 * i) % 9, words) for i in range(count)]
            hypotheses = [_worsened(original, share) for original in references]
            _scored(student, hypotheses, references, f"for {count} sentences with {words} different words")
    with student.case():
        references = [_sentence(12), _sentence(6), _sentence(3), _sentence(2), _sentence(1)]
        hypotheses = [references[0], _worsened(references[1], 0.2), references[2], _sentence(2), references[4]]
        _scored(student, hypotheses, references, "for sentences of different lengths, some shorter than four tokens")
    with student.case():
        references = [_sentence(9), _sentence(6), _sentence(7)]
        hypotheses = [_worsened(original, 0.25) for original in references]
        where = "for a corpus in which a pair of sentences comes three times"
        _scored(
            student, [*hypotheses, hypotheses[0], hypotheses[0]], [*references, references[0], references[0]], where
        )
    with student.case():
        references = [_sentence(30 + i % 11) for i in range(150)]
        hypotheses = [_worsened(original, 0.2, i % 3 - 1) for i, original in enumerate(references)]
        _scored(student, hypotheses, references, "for 150 sentences of some thirty tokens")
    with student.case():
        references = [_sentence(9, 4), _sentence(7, 4)]
        where = "for two sentences that were exchanged"
        _scored(student, references[::-1], references, where)


def _bleu_brevity(student: Student) -> None:
    for longer, what in (
        (-1, "for hypotheses one token shorter than their references"),
        (-4, "for hypotheses much shorter than their references"),
        (0, "for hypotheses as long as their references"),
        (1, "for hypotheses one token longer than their references"),
        (3, "for hypotheses longer than their references"),
    ):
        with student.case():
            references = [_sentence(8), _sentence(11), _sentence(9)]
            hypotheses = [_worsened(original, 0.1, longer) for original in references]
            _scored(student, hypotheses, references, what)
    for hypothesis, original in (("a b c d e f", "a b c d e"), ("a b c d e", "a b c d e f")):
        with student.case():
            where = "for one sentence that is a token longer or shorter"
            _scored(student, [hypothesis.split()], [original.split()], where)
    with student.case():
        references = [_sentence(8), _sentence(12)]
        hypotheses = [_worsened(references[0], 0.0, -3), _worsened(references[1], 0.0, 3)]
        _scored(student, hypotheses, references, "where one hypothesis is too short and the other as much too long")
    with student.case():
        references = [_sentence(8), _sentence(12)]
        hypotheses = [_worsened(references[0], 0.0, -4), _worsened(references[1], 0.0, 2)]
        _scored(student, hypotheses, references, "where one hypothesis is too short and the other less too long")


def _bleu_smoothing(student: Student) -> None:
    for hypotheses, references, what in (
        (["a b c x d e f y"], ["a b c d e f g h"], "when no 4-gram matches"),
        (["a b x c d y e"], ["a b c d e f g"], "when no 3-gram and no 4-gram matches"),
        (["a x b y c z"], ["a b c d e f"], "when only single words match"),
        (["a x b y c z", "q r s t u"], ["a b c d e f", "a b c d e"], "when only single words of one sentence match"),
        (["b a d c f e"], ["a b c d e f"], "when all words are right and in the wrong order"),
        (["a b c x d e f", "the x"], ["a b c d e f g", "the cat"], "when no 4-gram of two sentences matches"),
        (
            ["a b x c d", "a b c x"],
            ["a b c d e", "a b c d e f"],
            "when no 4-gram matches and the hypotheses are too short",
        ),
    ):
        with student.case():
            _scored(student, [h.split() for h in hypotheses], [r.split() for r in references], what)


def _bleu_nothing(student: Student) -> None:
    for hypotheses, references, what in (
        (["v w x y z"], ["a b c d e"], "when nothing matches"),
        (["a b c"], ["a b c"], "when no hypothesis has four tokens"),
        (["a b", "c"], ["a b c d e", "c d e f"], "when no hypothesis has four tokens"),
        ([""], ["a b c d"], "for an empty hypothesis"),
        (["", ""], ["", ""], "for empty sentences"),
        (["a b c d e", ""], ["a b c d e", "a b c"], "when one hypothesis of two is empty"),
        (["a b c d e", "a b"], ["a b c d e", ""], "when one reference of two is empty"),
        (["a b c d e", ""], ["a b c d f", ""], "when both sentences of a pair are empty"),
        ([], [], "for no sentences at all"),
    ):
        with student.case():
            _scored(student, [h.split() for h in hypotheses], [r.split() for r in references], what)


def _bleu_manners(student: Student) -> None:
    with student.case():
        long_one = _sentence(7)
        _scored(
            student, [_worsened(long_one, 0.2), long_one], [long_one, _worsened(long_one, 0.1)], "for two sentences"
        )
    with student.case():
        named = {"references": [_sentence(6), _sentence(5)], "hypotheses": [_sentence(6), _sentence(7)]}
        got = student.call("bleu", [], named, "with arguments by name")["value"]
        if isinstance(got, float) and abs(got - bleu(**named)) > 1e-6 * abs(got):
            raise Wrong("The arguments by name are mixed up: bleu(hypotheses, references).")
    for hypotheses, references in (
        (["a b c d", "e f"], ["a b c d"]),
        (["a b c d"], ["a b c d", "e f g h"]),
        ([], ["a b"]),
    ):
        with student.case():
            args = [[h.split() for h in hypotheses], [r.split() for r in references]]
            with raises_error(f"{len(hypotheses)} hypotheses for {len(references)} references"):
                student.call("bleu", args)


EXERCISE = Exercise(
    points=6,
    checks=[
        Check("one sentence: n-grams of 1 to 4, counted as often as in the reference", 1.5, _bleu_one),
        Check("a corpus: counts are summed over its sentences", 1.25, _bleu_corpus),
        Check("the brevity penalty, over the corpus", 1.0, _bleu_brevity),
        Check("smoothing, as sacrebleu does it", 1.0, _bleu_smoothing),
        Check("nothing matches, short and empty sentences", 0.75, _bleu_nothing),
        Check("lists unchanged, unequal numbers refused", 0.5, _bleu_manners, further=True),
    ],
    working=r"""
import math
from collections import Counter

def bleu(hypotheses, references):
    if len(hypotheses) != len(references):
        raise ValueError("hypotheses and references differ in number")
    def grams(tokens, n):
        return Counter(zip(*(tokens[i:] for i in range(n))))
    pairs, smooth, logs = list(zip(hypotheses, references)), 1, 0.0
    for n in range(1, 5):
        right = sum(min(c, grams(r, n)[g]) for h, r in pairs for g, c in grams(h, n).items())
        total = sum(max(len(h) - n + 1, 0) for h, _ in pairs)
        if total == 0 or (n == 1 and right == 0):
            return 0.0
        if right == 0:
            smooth *= 2
        logs += math.log((right or 1 / smooth) / total)
    h, r = sum(len(h) for h, _ in pairs), sum(len(r) for _, r in pairs)
    return 100 * math.exp(min(0, 1 - r / h) + logs / 4)
""",
    takes="list",
    gives="number",
    slips=(
        "nothing_returned",
        "input_changed",
        "rounded",
        "text_returned",
        "error_of_another_type",
    ),
    wrong=r"""
not_clipped: Matches are not clipped: an n-gram counts at most as often as it stands in the reference, or `the the the` would be perfect.
- matches[n - 1] += (ours & theirs).total()  # & takes the smaller count of each => matches[n - 1] += sum(count for gram, count in ours.items() if gram in theirs)
sets: n-grams are counted once only (a set): each counts as often as it stands there, up to its number in the reference.
- matches[n - 1] += (ours & theirs).total()  # & takes the smaller count of each => matches[n - 1] += len(set(ours) & set(theirs))
- ours = Counter(tuple(hypothesis[i : i + n]) for i in range(len(hypothesis) - n + 1)) => ours = Counter(set(tuple(hypothesis[i : i + n]) for i in range(len(hypothesis) - n + 1)))
recall: The matches are divided by the n-grams of the reference (recall): precision divides by those of the hypothesis.
- totals[n - 1] += ours.total() => totals[n - 1] += theirs.total()
arguments_swapped (slip): Hypotheses and references are the wrong way round: bleu(hypotheses, references); precision and brevity are the hypotheses'.
- def bleu(hypotheses, references) => def bleu(references, hypotheses)
unigrams_only (missed): Not all of the n-grams of 1 to 4 tokens are used.
- [0] * 4, [0] * 4 => [0] * 1, [0] * 1
  range(1, 5) => range(1, 2)
  / 4) => / 1)
- [0] * 4, [0] * 4 => [0] * 3, [0] * 3
  range(1, 5) => range(1, 4)
  / 4) => / 3)
- [0] * 4, [0] * 4 => [0] * 2, [0] * 2
  range(1, 5) => range(1, 3)
  / 4) => / 2)
- range(1, 5) => range(1, 4)
four_grams_only: Only the 4-grams are used: the geometric mean of all four precisions is asked for.
- return 100 * brevity * math.exp(sum(log_precisions) / 4) => return 100 * brevity * math.exp(log_precisions[3])
five_grams: n-grams of five tokens are used as well: 1 to 4.
- [0] * 4, [0] * 4 => [0] * 5, [0] * 5
  range(1, 5) => range(1, 6)
  / 4) => / 5)
last_n_gram_missing (slip): The last n-gram of each sentence is left out: there are length - n + 1 of them.
- len(hypothesis) - n + 1 => len(hypothesis) - n
  len(reference) - n + 1 => len(reference) - n
- len(hypothesis) - n + 1 => len(hypothesis) - n
- len(reference) - n + 1 => len(reference) - n
short_n_grams: Pieces at the end of a sentence that are shorter than n count as n-grams.
- len(hypothesis) - n + 1 => len(hypothesis)
  len(reference) - n + 1 => len(reference)
- len(hypothesis) - n + 1 => len(hypothesis)
n_grams_side_by_side: The sentences are cut into pieces of n tokens side by side: n-grams overlap, one begins at each token.
- range(len(hypothesis) - n + 1) => range(0, len(hypothesis) - n + 1, n)
  range(len(reference) - n + 1) => range(0, len(reference) - n + 1, n)
order_ignored: The order inside an n-gram does not count (sorted, or a set): it must.
- Counter(tuple(hypothesis[i : i + n]) => Counter(tuple(sorted(hypothesis[i : i + n]))
  Counter(tuple(reference[i : i + n]) => Counter(tuple(sorted(reference[i : i + n]))
positions_compared: Tokens count only if they stand in the same place in both sentences: an n-gram may stand anywhere.
- matches[n - 1] += (ours & theirs).total()  # & takes the smaller count of each => matches[n - 1] += sum(hypothesis[i : i + n] == reference[i : i + n] for i in range(min(len(hypothesis), len(reference)) - n + 1))
characters: The n-grams are made of characters: a sentence is a list of tokens.
- in unigrams_only
  matches, totals = [0] * 1, [0] * 1 =>
      hypotheses = [''.join(h) for h in hypotheses]
      references = [''.join(r) for r in references]
      matches, totals = [0] * 4, [0] * 4
  for n in range(1, 2): => for n in range(1, 5):
  return 100 * brevity * math.exp(sum(log_precisions) / 1) => return 100 * brevity * math.exp(sum(log_precisions) / 4)
- in unigrams_only
  matches, totals = [0] * 1, [0] * 1 =>
      hypotheses = [' '.join(h) for h in hypotheses]
      references = [' '.join(r) for r in references]
      matches, totals = [0] * 4, [0] * 4
  for n in range(1, 2): => for n in range(1, 5):
  return 100 * brevity * math.exp(sum(log_precisions) / 1) => return 100 * brevity * math.exp(sum(log_precisions) / 4)
across_sentences: All sentences are strung together, so that n-grams cross from one to the next, or match in another sentence: count within each pair.
- in characters
  hypotheses = [''.join(h) for h in hypotheses] => hypotheses, references = [sum(hypotheses, [])], [sum(references, [])]
  references = [''.join(r) for r in references] =>
any_reference: n-grams may match in any reference of the corpus: each hypothesis has its own reference.
- matches[n - 1] += (ours & theirs).total()  # & takes the smaller count of each =>
      everywhere = Counter()
      for other in references:
          everywhere |= Counter(tuple(other[i : i + n]) for i in range(len(other) - n + 1))
      matches[n - 1] += (ours & everywhere).total()
lower_case: Capital letters are changed: tokens are compared as they are.
- in characters
  ''.join(h) => [t.lower() for t in h]
  ''.join(r) => [t.lower() for t in r]
duplicates_dropped: Pairs of sentences that come more than once are counted once: each counts.
- in characters
  hypotheses = [''.join(h) for h in hypotheses] => pairs = dict.fromkeys((tuple(h), tuple(r)) for h, r in zip(hypotheses, references))
  references = [''.join(r) for r in references => hypotheses, references = [list(h) for h, r in pairs], [list(r) for h, r in pairs
last_sentence_only: Only one sentence counts (a variable is overwritten in the loop, or the `return` stands inside it).
- matches[n - 1] += => matches[n - 1] =
  totals[n - 1] += => totals[n - 1] =
- in across_sentences
  [sum(hypotheses, [])], [sum(references, []) => hypotheses[:1], references[:1
mean_of_sentences: The scores of the sentences are averaged: corpus BLEU sums the counts over all sentences first, and scores once.
- |
  def corpus_bleu(hypotheses, references):
      if len(hypotheses) != len(references):
          raise ValueError(f"hypotheses and references must be equally many; got {len(hypotheses)} and {len(references)}")
      matches, totals = [0] * 4, [0] * 4
      for hypothesis, reference in zip(hypotheses, references, strict=True):
          for n in range(1, 5):
              ours = Counter(tuple(hypothesis[i : i + n]) for i in range(len(hypothesis) - n + 1))
              theirs = Counter(tuple(reference[i : i + n]) for i in range(len(reference) - n + 1))
              matches[n - 1] += (ours & theirs).total()  # & takes the smaller count of each
              totals[n - 1] += ours.total()
      if not any(matches) or not all(totals):
          return 0.0

      log_precisions, penalty = [], 1
      for matched, total in zip(matches, totals, strict=True):
          if matched == 0:
              penalty *= 2  # 1/2, 1/4, … of a match
          log_precisions.append(math.log((matched or 1 / penalty) / total))
      h, r = (sum(map(len, sentences)) for sentences in (hypotheses, references))
      brevity = 1.0 if h >= r else math.exp(1 - r / h)
      return 100 * brevity * math.exp(sum(log_precisions) / 4)


  def bleu(hypotheses, references):
      if len(hypotheses) != len(references):
          raise ValueError(f"hypotheses and references must be equally many; got {len(hypotheses)} and {len(references)}")
      scores = [corpus_bleu([h], [r]) for h, r in zip(hypotheses, references)]
      weights = [1 for h, r in zip(hypotheses, references)]
      return sum(s * w for s, w in zip(scores, weights)) / max(sum(weights), 1e-9)
- |
  def corpus_bleu(hypotheses, references):
      if len(hypotheses) != len(references):
          raise ValueError(f"hypotheses and references must be equally many; got {len(hypotheses)} and {len(references)}")
      matches, totals = [0] * 4, [0] * 4
      for hypothesis, reference in zip(hypotheses, references, strict=True):
          for n in range(1, 5):
              ours = Counter(tuple(hypothesis[i : i + n]) for i in range(len(hypothesis) - n + 1))
              theirs = Counter(tuple(reference[i : i + n]) for i in range(len(reference) - n + 1))
              matches[n - 1] += (ours & theirs).total()  # & takes the smaller count of each
              totals[n - 1] += ours.total()
      if not any(matches) or not all(totals):
          return 0.0

      log_precisions, penalty = [], 1
      for matched, total in zip(matches, totals, strict=True):
          if matched == 0:
              penalty *= 2  # 1/2, 1/4, … of a match
          log_precisions.append(math.log((matched or 1 / penalty) / total))
      h, r = (sum(map(len, sentences)) for sentences in (hypotheses, references))
      brevity = 1.0 if h >= r else math.exp(1 - r / h)
      return 100 * brevity * math.exp(sum(log_precisions) / 4)


  def bleu(hypotheses, references):
      if len(hypotheses) != len(references):
          raise ValueError(f"hypotheses and references must be equally many; got {len(hypotheses)} and {len(references)}")
      scores = [corpus_bleu([h], [r]) for h, r in zip(hypotheses, references)]
      weights = [len(r) for h, r in zip(hypotheses, references)]
      return sum(s * w for s, w in zip(scores, weights)) / max(sum(weights), 1e-9)
- |
  def corpus_bleu(hypotheses, references):
      if len(hypotheses) != len(references):
          raise ValueError(f"hypotheses and references must be equally many; got {len(hypotheses)} and {len(references)}")
      matches, totals = [0] * 4, [0] * 4
      for hypothesis, reference in zip(hypotheses, references, strict=True):
          for n in range(1, 5):
              ours = Counter(tuple(hypothesis[i : i + n]) for i in range(len(hypothesis) - n + 1))
              theirs = Counter(tuple(reference[i : i + n]) for i in range(len(reference) - n + 1))
              matches[n - 1] += (ours & theirs).total()  # & takes the smaller count of each
              totals[n - 1] += ours.total()
      if not any(matches) or not all(totals):
          return 0.0

      log_precisions, penalty = [], 1
      for matched, total in zip(matches, totals, strict=True):
          if matched == 0:
              penalty *= 2  # 1/2, 1/4, … of a match
          log_precisions.append(math.log((matched or 1 / penalty) / total))
      h, r = (sum(map(len, sentences)) for sentences in (hypotheses, references))
      brevity = 1.0 if h >= r else math.exp(1 - r / h)
      return 100 * brevity * math.exp(sum(log_precisions) / 4)


  def bleu(hypotheses, references):
      if len(hypotheses) != len(references):
          raise ValueError(f"hypotheses and references must be equally many; got {len(hypotheses)} and {len(references)}")
      scores = [corpus_bleu([h], [r]) for h, r in zip(hypotheses, references)]
      weights = [len(h) for h, r in zip(hypotheses, references)]
      return sum(s * w for s, w in zip(scores, weights)) / max(sum(weights), 1e-9)
mean_of_precisions: The precisions of the sentences are averaged: matches and n-grams are summed over the corpus, then divided.
- totals[n - 1] += ours.total() =>
      totals[n - 1] += ours.total()
      shares[n - 1].append((ours & theirs).total() / max(ours.total(), 1))
  matches, totals = [0] * 4, [0] * 4 => matches, totals, shares = [0] * 4, [0] * 4, [[], [], [], []]
  return 100 * brevity * math.exp(sum(log_precisions) / 4) =>
      means = [sum(s) / len(s) for s in shares]
      return 100 * brevity * math.prod(means) ** 0.25
arithmetic_mean: The arithmetic mean of the precisions is taken: it is the geometric one.
- return 100 * brevity * math.exp(sum(log_precisions) / 4) => return 100 * brevity * sum(math.exp(p) for p in log_precisions) / 4
- return 100 * brevity * math.exp(sum(log_precisions) / 4) => return 100 * brevity * sum(m / t for m, t in zip(matches, totals)) / 4
product (slip): The precisions are multiplied, but the fourth root is missing (or another one is taken).
- return 100 * brevity * math.exp(sum(log_precisions) / 4) => return 100 * brevity * math.exp(sum(log_precisions))
- return 100 * brevity * math.exp(sum(log_precisions) / 4) => return 100 * brevity * math.exp(sum(log_precisions) / 2)
harmonic_mean: The harmonic mean is taken: it is the geometric one.
- return 100 * brevity * math.exp(sum(log_precisions) / 4) => return 100 * brevity * 4 / sum(math.exp(-p) for p in log_precisions)
log_base (slip): The logarithm and the exponential do not belong together (log2 or log10 with exp).
- math.log( => math.log2( || math.log10(
scale_of_one (slip): The score goes from 0 to 1: it is to go from 0 to 100.
- 100 * brevity => brevity
pooled_counts: The n-grams of all four lengths are thrown together: a precision for each n, then their geometric mean.
- return 100 * brevity * math.exp(sum(log_precisions) / 4) => return 100 * brevity * sum(matches) / sum(totals)
no_brevity_penalty: The brevity penalty is missing (or compares numbers of sentences, which are equal): hypotheses with fewer tokens than their
    references lose.
- brevity = 1.0 if h >= r else math.exp(1 - r / h) => brevity = 1.0
brevity_upside_down (slip): The fraction in the brevity penalty is upside down: exp(1 - r / h), where r is the length of the references.
- brevity = 1.0 if h >= r else math.exp(1 - r / h) => brevity = 1.0 if h >= r else math.exp(1 - h / r)
- brevity = 1.0 if h >= r else math.exp(1 - r / h) => brevity = 1.0 if h >= r else math.exp(h / r - 1) || brevity = 1.0 if h >= r else h / r
long_ones_punished: Hypotheses that are *longer* lose (or gain): the penalty is 1 for them, exp(1 - r / h) for shorter ones.
- brevity = 1.0 if h >= r else math.exp(1 - r / h) => brevity = 1.0 if h <= r else math.exp(1 - h / r) || brevity = math.exp(1 - r / h)
- brevity = 1.0 if h >= r else math.exp(1 - r / h) => brevity = math.exp(-abs(1 - r / h)) || brevity = 1.0 if h < r else math.exp(1 - r / h)
brevity_by_sentence: The brevity penalty is worked out for each sentence: it takes the lengths of the whole corpus.
- brevity = 1.0 if h >= r else math.exp(1 - r / h) =>
      each = [math.exp(min(0.0, 1 - len(b) / max(len(a), 1e-9))) for a, b in zip(hypotheses, references)]
      brevity = sum(each) / len(each)
- brevity = 1.0 if h >= r else math.exp(1 - r / h) =>
      shorter = sum(max(len(b) - len(a), 0) for a, b in zip(hypotheses, references))
      brevity = math.exp(-shorter / h)
sentences_for_tokens: The brevity penalty compares the wrong lengths: the numbers of tokens, of all hypotheses and of all references.
- h, r = (sum(map(len, sentences)) for sentences in (hypotheses, references)) => h, r = (sum(len(' '.join(s)) for s in sentences) for sentences in (hypotheses, references))
- h, r = (sum(map(len, sentences)) for sentences in (hypotheses, references)) => h, r = totals[3], sum(max(len(s) - 3, 0) for s in references)
- h, r = (sum(map(len, sentences)) for sentences in (hypotheses, references)) => h, r = (sum(len(set(s)) for s in sentences) for sentences in (hypotheses, references))
no_smoothing: There is no smoothing: where an order has no match, it counts as 1/2, 1/4, … of one, and the score is not 0.
- any(matches) or not all(totals => all(matches
log_of_zero: The logarithm of 0 is taken where an order has no match: smoothing sees to it.
- if matched == 0: => log_precisions.append(math.log(matched / total))
  penalty *= 2 =>
  log_precisions.append(math.log((matched or 1 / penalty) / total)) =>
always_half (slip): Each order without a match counts as 1/2: the second counts as 1/4, the third as 1/8.
- penalty *= 2 => penalty = 2
halved_by_order (slip): The smoothing goes by n: what counts as 1/2 is the first order without a match, whichever it is, and the next as 1/4.
- in always_half
  if matched == 0: => penalty *= 2
  penalty = 2 =>
- if matched == 0: => penalty = 2 ** (len(log_precisions))
  penalty *= 2 =>
smoothing_starts_at_one (slip): The first order without a match counts as one match: it counts as 1/2, the next as 1/4.
- in log_base
  for matched, total in zip(matches, totals, strict=True): =>
      for matched, total in zip(matches, totals, strict=True):
          log_precisions.append(math.log((matched or 1 / penalty) / total))
  log_precisions.append(math.log2((matched or 1 / penalty) / total)) =>
add_one: 1 is added to matches and n-grams: here, as in sacrebleu's default, only orders without a match are smoothed, by 1/2, 1/4 and so on.
- if matched == 0: => log_precisions.append(math.log((matched + 1) / (total + 1)))
  penalty *= 2 =>
  log_precisions.append(math.log((matched or 1 / penalty) / total)) =>
- in halved_by_order
  penalty *= 2 => one = 1 if log_precisions else 0
  (matched or 1 / penalty) / total => max(matched + one, 1e-9) / (total + one)
- if matched == 0: => log_precisions.append(math.log((matched or 1) / total))
  penalty *= 2 =>
  log_precisions.append(math.log((matched or 1 / penalty) / total)) =>
small_number: A small number takes the place of 0 matches: here the first order without a match counts as 1/2, the next as 1/4.
- if matched == 0: => log_precisions.append(math.log(max(matched, 0.1) / total))
  penalty *= 2 =>
  log_precisions.append(math.log((matched or 1 / penalty) / total)) =>
- if matched == 0: => log_precisions.append(math.log(matched / total + 1e-9))
  penalty *= 2 =>
  log_precisions.append(math.log((matched or 1 / penalty) / total)) =>
- if matched == 0: => log_precisions.append(math.log(max(matched, 1e-9) / total))
  penalty *= 2 =>
  log_precisions.append(math.log((matched or 1 / penalty) / total)) =>
smoothed_without_division: A smoothed precision is not divided by the number of n-grams: 1/2 (or 1/4, …) takes the place of the matches, not of the
    precision.
- (matched or 1 / penalty) / total => matched / total if matched else 1 / penalty
orders_skipped: Orders without a match are left out of the mean: they are smoothed, and there are always four.
- log_precisions.append(math.log((matched or 1 / penalty) / total)) =>
      if matched:
          log_precisions.append(math.log(matched / total))
  / 4) => / len(log_precisions))
- log_precisions.append(math.log((matched or 1 / penalty) / total)) =>
      if matched:
          log_precisions.append(math.log(matched / total))
smoothed_by_sentence: Orders without a match are smoothed in each sentence: only those that have none in the whole corpus are.
- matches[n - 1] += (ours & theirs).total()  # & takes the smaller count of each => matches[n - 1] += (ours & theirs).total() or (0.5 if ours else 0)
smoothing_without_any_match: Where nothing matches at all, smoothing still gives points: the score is 0 then.
- any(matches) or not =>
short_ones_divide_by_zero: Hypotheses of fewer than four tokens (or empty ones) stop it with an error: there are no 4-grams, and the score is 0.
- not any(matches) or not all(totals => totals[0] and not any(matches
- or not all(totals) =>
- if not any(matches) or not all(totals): =>
  return 0.0 =>
- if not any(matches) or not all(totals): =>
      if not matches[0] / totals[0]:
          return 0.0
      if not all(totals):
not_zero: Where the score is 0, something else comes back: return 0.0.
- return 0.0 => return None
short_ones_scored: Where no hypothesis has four tokens, fewer orders are averaged: the score is 0 then, as sacrebleu's is for a corpus.
- if not any(matches) or not all(totals): => if not any(matches):
  for matched, total in zip(matches, totals, strict=True): =>
      for matched, total in zip(matches, totals, strict=True):
          if total == 0:
              break
  return 100 * brevity * math.exp(sum(log_precisions) / 4) => return 100 * brevity * math.exp(sum(log_precisions) / len(log_precisions))
- in not_zero
  if not any(matches) or not all(totals): =>
      if not any(matches):
          return 0.0
      totals = [total or 1 for total in totals]
  return None =>
perfect_is_perfect: Equal lists are given 100 without a look: without 4-grams the score is 0.
- in across_sentences
  hypotheses, references = [sum(hypotheses, [])], [sum(references, [])] =>
      if hypotheses == references:
          return 100.0
empty_skipped: Pairs with an empty sentence are skipped: the lengths of both still count for the brevity penalty.
- in characters
  hypotheses = [''.join(h) for h in hypotheses => pairs = [(h, r) for h, r in zip(hypotheses, references) if h and r
  references = [''.join(r) for r in references => hypotheses, references = [h for h, r in pairs], [r for h, r in pairs
- in characters
  hypotheses = [''.join(h) for h in hypotheses => pairs = [(h, r) for h, r in zip(hypotheses, references) if h
  references = [''.join(r) for r in references => hypotheses, references = [h for h, r in pairs], [r for h, r in pairs
- in characters
  hypotheses = [''.join(h) for h in hypotheses => pairs = [(h, r) for h, r in zip(hypotheses, references) if len(h) >= 4
  references = [''.join(r) for r in references => hypotheses, references = [h for h, r in pairs], [r for h, r in pairs
not_a_float (slip): The result is not a plain float (an int, a tensor, a text).
- return 100 * brevity * math.exp(sum(log_precisions) / 4) => return int(100 * brevity * math.exp(sum(log_precisions) / 4))
- return 100 * brevity * math.exp(sum(log_precisions) / 4) => return torch.tensor(100 * brevity * math.exp(sum(log_precisions) / 4))
- return 100 * brevity * math.exp(sum(log_precisions) / 4) => return str(100 * brevity * math.exp(sum(log_precisions) / 4))
joined_tokens: The tokens of an n-gram are joined without anything between them, so that `to day` and `today` look alike: compare tuples of tokens.
- tuple(hypothesis[i : i + n]) => (n > 1, "".join(hypothesis[i : i + n]))
  tuple(reference[i : i + n]) => (n > 1, "".join(reference[i : i + n]))
no_sentences (slip): Without any sentence it stops with an error: no hypothesis has four tokens then, and the score is 0.
- matches, totals = [0] * 4, [0] * 4 =>
      longest = max(map(len, hypotheses))
      matches, totals = [0] * 4, [0] * 4
- matches, totals = [0] * 4, [0] * 4 =>
      if not hypotheses:
          raise ValueError("there are no sentences")
      matches, totals = [0] * 4, [0] * 4
size_limited: Only a number of sentences or tokens counts: all of them do.
- hypothesis, reference in zip(hypotheses, references, strict=True) => hypothesis, reference in list(zip(hypotheses, references, strict=True))[:100]
- range(len(hypothesis) - n + 1) => range(min(len(hypothesis), 25) - n + 1)
other_signature (slip): The parameters have other names than in the signature, bleu(hypotheses, references): a call that names them fails.
- def bleu(hypotheses, references): =>
      def bleu(translations, originals):
          hypotheses, references = translations, originals
details_too (slip): More than the score is returned: one float is asked for.
- return 100 * brevity * math.exp(sum(log_precisions) / 4) => return 100 * brevity * math.exp(sum(log_precisions) / 4), log_precisions
- return 100 * brevity * math.exp(sum(log_precisions) / 4) => return {'bleu': 100 * brevity * math.exp(sum(log_precisions) / 4)}
unequal_numbers_accepted: Unequal numbers of hypotheses and references are accepted: they should be a ValueError.
- if len(hypotheses) != len(references): =>
  raise ValueError(f"hypotheses and references must be equally many; got {len(hypotheses)} and {len(references)}") =>
  for hypothesis, reference in zip(hypotheses, references, strict=True): => for hypothesis, reference in zip(hypotheses, references):
- in across_sentences
  if len(hypotheses) != len(references): =>
      n = min(len(hypotheses), len(references))
      hypotheses, references = hypotheses[:n], references[:n]
  raise ValueError(f"hypotheses and references must be equally many; got {len(hypotheses)} and {len(references)}") =>
  hypotheses, references = [sum(hypotheses, [])], [sum(references, [])] =>
- raise ValueError(f"hypotheses and references must be equally many; got {len(hypotheses)} and {len(references)}") => return 0.0
rounded:
- return 100 * brevity * math.exp(sum(log_precisions) / 4) => return float(round(100 * brevity * math.exp(sum(log_precisions) / 4)))
input_changed:
- matches[n - 1] += (ours & theirs).total()  # & takes the smaller count of each =>
      matches[n - 1] += (ours & theirs).total()  # & takes the smaller count of each
      if n == 4:
          hypothesis.append('<eos>')
          hypothesis.pop(0)
- h, r = (sum(map(len, sentences)) for sentences in (hypotheses, references)) =>
      h, r = (sum(map(len, sentences)) for sentences in (hypotheses, references))
      hypotheses.clear()
""",
    right=r"""
loops:
- |
  if len(hypotheses) != len(references):
      raise ValueError("numbers differ")
  score, missing = 1.0, 0
  h_length = sum([len(h) for h in hypotheses])
  r_length = sum([len(r) for r in references])
  for n in (1, 2, 3, 4):
      correct, total = 0, 0
      for h, r in zip(hypotheses, references):
          left = [r[j : j + n] for j in range(0, len(r) - n + 1)]
          for i in range(0, len(h) - n + 1):
              total += 1
              if h[i : i + n] in left:
                  left.remove(h[i : i + n])
                  correct += 1
      if total == 0 or (n == 1 and correct == 0):
          return 0.0
      if correct == 0:
          missing += 1
          correct = 0.5**missing
      score *= correct / total
  if h_length < r_length:
      return 100 * score**0.25 * math.exp(1 - r_length / h_length)
  return 100 * score**0.25
dictionaries:
- |
  if len(references) - len(hypotheses):
      raise ValueError("each hypothesis has one reference")

  def count(tokens):
      table = defaultdict(int)
      for n in range(1, 5):
          for i in range(len(tokens) + 1 - n):
              table[" ".join(tokens[i : i + n]), n] += 1
      return table

  matched, possible = defaultdict(float), defaultdict(int)
  for h, r in zip(map(count, hypotheses), map(count, references)):
      for (gram, n), c in h.items():
          possible[n] += c
          matched[n] += min(c, r.get((gram, n), 0))
  if not matched[1] or not possible[4]:
      return 0.0
  k = 1.0
  for n in range(1, 5):
      if not matched[n]:
          k /= 2
          matched[n] = k
  c, r = sum(len(x) for x in hypotheses), sum(len(x) for x in references)
  mean = math.exp(sum(math.log(matched[n]) - math.log(possible[n]) for n in range(1, 5)) / 4)
  return 100.0 * mean * min(1.0, math.exp(1.0 - r / c))
tensors:
- |
  if len(hypotheses) != len(references):
      raise ValueError("unequal")
  right, total = torch.zeros(4, dtype=torch.float64), torch.zeros(4, dtype=torch.float64)
  for hyp, ref in zip(hypotheses, references):
      for n in range(4):
          grams = lambda s: Counter(zip(*[s[k:] for k in range(n + 1)]))
          ours, theirs = grams(hyp), grams(ref)
          right[n] += sum(min(ours[g], theirs[g]) for g in ours)
          total[n] += max(0, len(hyp) - n)
  if right.sum() == 0 or total.min() == 0:
      return 0.0
  empty = right == 0
  right = torch.where(empty, 0.5 ** empty.cumsum(0), right)
  ratio = sum(map(len, references)) / sum(map(len, hypotheses))
  return float(100 * (right / total).log().mean().exp() * math.exp(min(1 - ratio, 0)))
""",
)
