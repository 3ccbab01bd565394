"""Wrong and right answers to `train_bpe`. The reference (02-tokenisation):

def train_bpe(words, num_merges):
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
                counts[pair] += frequencies[i]
                holders[pair].add(i)
            spellings[i] = new
    return merges
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class simple(RightAnswer):
    code = """
    words, merges = dict(words), []
    for _ in range(num_merges):
        counts = count_pairs(words)
        if not counts: break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(best)
        words = {merge_pair(symbols, best): frequency for symbols, frequency in words.items()}
    return merges
    """


class text_with_borders(RightAnswer):
    code = r"""
    vocab, merges = [(" ".join(w), n) for w, n in words.items()], []
    for _ in range(num_merges):
        pairs = Counter()
        for word, n in vocab:
            symbols = word.split()
            for a, b in zip(symbols, symbols[1:]): pairs[a, b] += n
        if not pairs: break
        best = min(p for p in pairs if pairs[p] == max(pairs.values()))
        pattern = re.compile(r"(?<!\S)" + re.escape(" ".join(best)) + r"(?!\S)")
        vocab = [(pattern.sub(lambda m: "".join(best), word), n) for word, n in vocab]
        merges.append(best)
    return merges
    """


class recursive(RightAnswer):
    code = """
    counts = count_pairs(words)
    if num_merges <= 0 or not counts: return []
    best = sorted(counts, key=lambda p: (-counts[p], p))[0]
    return [best] + train_bpe({merge_pair(w, best): n for w, n in words.items()}, num_merges - 1)
    """


# Mistakes


class first_seen_wins(Minor):
    """Of equally frequent pairs you take the one counted first: the lexicographically smallest wins."""

    based_on = simple
    edits = {
        "min(counts, key=lambda pair: (-counts[pair], pair)": [
            "max(counts, key=counts.get",
            "max(reversed(counts), key=counts.get",
        ]
    }


class largest_wins(Minor):
    """Of equally frequent pairs you take the largest: `min` with (−count, pair) takes the smallest."""

    based_on = simple
    edits = {"min(counts, key=lambda pair: (-": "max(counts, key=lambda pair: ("}


class joined_text_compared(Misconception):
    """Ties are broken by the joined text, or its length: compare the pairs as tuples, left symbol first."""

    based_on = simple
    edits = {
        "pair)": [
            "''.join(pair))",
            "len(''.join(pair)), pair)",
            "-len(''.join(pair)), pair)",
            "pair[1], pair[0])",
            "pair[0])",
            "[s.lower() for s in pair])",
        ]
    }


class rarest_first(Misconception):
    """The rarest pair is merged (`min` over the counts): the most frequent one is asked for."""

    based_on = simple
    variants = [{"(-": "("}, {"lambda pair: (-counts[pair], pair)": "counts.get"}]


class smallest_pair(Misconception):
    """The smallest pair is merged, whatever its count: compare the counts first, the pairs only in a tie."""

    based_on = simple
    edits = {"min(counts, key=lambda pair: (-counts[pair], pair))": ["min(counts)", "max(counts)"]}


class unweighted(Misconception):
    """Words are counted once each: a pair counts as often as its words occur."""

    based_on = simple
    variants = [{"count_pairs(words)": "count_pairs(dict.fromkeys(words, 1))"}, {": frequency": ": 1"}]


class without_overlap(Misconception):
    """In a run such as a a a only one pair is counted: every two neighbours count; only merging skips."""

    based_on = simple
    edits = {
        "count_pairs(words)": (
            "{pair: sum((len(w) - len(merge_pair(w, pair))) * n for w, n in words.items()) for pair in "
            "count_pairs(words)}"
        )
    }


class once_per_word(Misconception):
    """A pair that occurs several times in a word is counted once: each place counts."""

    based_on = simple
    edits = {
        "count_pairs(words)": (
            "{pair: sum(n for w, n in words.items() if pair in zip(w, w[1:])) for pair in count_pairs(words)}"
        )
    }


class not_merged(Fundamental):
    """All pairs come from the first count: merge the pair that you found, then count again."""

    variants = [
        """
        counts = count_pairs(words)
        return sorted(counts, key=lambda pair: (-counts[pair], pair))[:num_merges]
        """,
        "return [pair for pair, _ in count_pairs(words).most_common(num_merges)]",
        simple.edited({"words = {merge_pair(symbols, best): frequency for symbols, frequency in words.items()}": ""}),
    ]


class one_word_merged(Misconception):
    """The merge is done in one word, or at one place of each word, only: it is done everywhere."""

    variants = [
        simple.edited(
            {
                "words = {merge_pair(symbols, best): frequency for symbols, frequency in words.items()}": """
            for symbols in list(words):
                if merge_pair(symbols, best) != symbols: words[merge_pair(symbols, best)] = words.pop(symbols); break
        """
            }
        ),
        simple.edited(
            {
                "merge_pair(symbols, best)": """
            next((symbols[:i] + (''.join(best),) + symbols[i + 2:]
                  for i in range(len(symbols)) if symbols[i:i + 2] == best), symbols)
        """
            }
        ),
    ]


class text_replaced(shared_mistakes.text_replaced):
    based_on = simple
    edits = {
        "merge_pair(symbols, best": [
            "tuple(' '.join(symbols).replace(' '.join(best), ''.join(best)).split()",
            "tuple(''.join(symbols).replace(''.join(best), ' ' + ''.join(best) + ' ').split()",
        ]
    }


class either_split_merged(Misconception):
    """The joined texts are compared when merging, so (ab, c) is merged as (a, bc) is: compare the two symbols."""

    based_on = simple
    edits = {
        "words = {merge_pair(symbols, best): frequency for symbols, frequency in words.items()}": """
            merged = {}
            for symbols, frequency in words.items():
                new = []
                for symbol in symbols:
                    if new and new[-1] + symbol == "".join(best): new[-1] += symbol
                    else: new.append(symbol)
                merged[tuple(new)] = frequency
            words = merged
        """
    }


class characters_again(Misconception):
    """The words are cut into characters again, so longer symbols are lost: leave them as they are spelt."""

    based_on = simple
    variants = [
        {"dict(words)": "{tuple(''.join(w)): n for w, n in words.items()}"},
        {"count_pairs(words)": "count_pairs({tuple(''.join(w)): n for w, n in words.items()})"},
    ]


class end_added(shared_mistakes.end_added):
    based_on = simple
    edits = {"dict(words)": ["{(*w, '</w>'): n for w, n in words.items()}", "{(*w, '_'): n for w, n in words.items()}"]}


class right_to_left(Misconception):
    """Runs are merged from the right (a a a gives a aa): merge from left to right."""

    based_on = simple
    edits = {
        "merge_pair(symbols, best)": [
            "merge_pair(symbols[::-1], best[::-1])[::-1]",
            (
                "tuple(s[::-1] for s in merge_pair(tuple(s[::-1] for s in symbols[::-1]), (best[1][::-1], "
                "best[0][::-1])))[::-1]"
            ),
        ]
    }


class new_pairs_missed(Misconception):
    """The counts are not updated whole: add the pairs with the new symbol, take away those that the merge destroys."""

    variants = [
        {"counts[pair] += frequencies[i]": "if pair in zip(old, old[1:]): counts[pair] += frequencies[i]"},
        {
            "append(best)": "append(best)\ndel counts[best]",
            "for pair in zip(old, old[1:]):": "",
            "counts[pair] -= frequencies[i]": "",
            "(new, new[1:]):": "(new, new[1:]):\n    if pair in zip(old, old[1:]): continue",
        },
    ]


class updated_without_frequency(Misconception):
    """The counts are kept up to date with ±1: each word counts with its frequency."""

    edits = {"frequencies[i]": "1", "append(best)": "append(best)\ncounts.pop(best)"}


class holders_not_updated(Misconception):
    """The index of words that hold a pair is not updated, so merges miss words that hold it later on."""

    edits = {
        "for pair in zip(new, new[1:]):": """
            for pair in zip(new, new[1:]): counts[pair] += frequencies[i]
            for pair in ():
        """,
        "append(best)": "append(best)\ncounts[best] *= best in holders",
        "pop(best)": "pop(best, ())",
    }


class one_too_many(Minor):
    """One merge too many, or too few, is learned: num_merges of them."""

    variants = [
        simple.edited({"(num_merges)": "(num_merges + 1)"}),
        simple.edited({"(num_merges)": "(num_merges - 1)"}),
    ]


class one_only(Misconception):
    """Only one merge is learned: a `return` or a `break` stands inside the loop."""

    based_on = simple
    variants = [{"(best)": "(best)\nreturn merges"}, {"(num_merges)": "(1)"}]


class vocabulary_size(Misconception):
    """`num_merges` is taken for the size of the vocabulary: the characters do not count."""

    based_on = simple
    edits = {"(num_merges)": "(num_merges - len({s for symbols in words for s in symbols}))"}


class fails_at_the_end(Misconception):
    """When no pair is left, it fails, or the merges so far are lost: stop early and return them."""

    variants = [
        simple.edited(
            {
                "if not counts: break": [  # the error is another where `max`, or a list, finds nothing
                    "",
                    "top = max(counts.values())",
                    "first = sorted(counts)[0]",
                ]
            }
        ),
        simple.edited({"break": ["return None", "return []", "merges.append(None); continue"]}),
    ]


class stops_at_one(Misconception):
    """Pairs that occur only once are not merged: go on until no pair is left."""

    based_on = simple
    edits = {
        "(counts, key=lambda pair: (-counts[pair], pair))": """
            (counts, key=lambda pair: (-counts[pair], pair))
            if counts[best] < 2: break
        """
    }


class always_one(Misconception):
    """With num_merges = 0 a merge is learned: the number is checked too late."""

    based_on = simple
    edits = {"(num_merges)": "(max(num_merges, 1))"}


class empty_refused(Misconception):
    """No words, or no merges, is refused: the list of merges is empty then."""

    based_on = simple
    edits = {
        "(words, num_merges):": [
            "(words, num_merges):\n    if not words: raise ValueError('no words')",
            "(words, num_merges):\n    if not words: return None",
            """
            (words, num_merges):
                if num_merges < 1: raise ValueError('num_merges must be positive')
            """,
            "(words, num_merges):\n    if not words or num_merges < 1: return None",
        ]
    }


class joined_symbols(Misconception):
    """The new symbols are returned: the pairs are asked for, (left, right)."""

    based_on = simple
    edits = {"(best)": ["(''.join(best))", "(' '.join(best))"]}


class with_counts(Minor):
    """The counts are returned with the pairs: a list of pairs alone is asked for."""

    based_on = simple
    variants = [{"), []": "), {}", ".append(best)": "[best] = counts[best]"}, {"(best)": "((best, counts[best]))"}]


class ranks(Misconception):
    """A dictionary is returned: a list of the pairs in the order learned is asked for."""

    based_on = with_counts
    edits = {"counts[best]": "len(merges)"}


class set_(Misconception):
    """A set is returned, or the merges are sorted: keep the order in which they were learned."""

    variants = [
        simple.edited({"return merges": "return set(merges)"}),
        simple.edited({"return merges": "return sorted(merges)"}),
    ]


class more_than_merges(Minor):
    """More than the merges is returned: the list alone is asked for."""

    based_on = simple
    edits = {"return merges": ["return merges, words", "return words, merges"]}


class words_returned(Fundamental):
    """The merged words, or the vocabulary, are returned: the list of merges is asked for."""

    based_on = simple
    edits = {"return merges": ["return words", "return sorted({s for symbols in words for s in symbols})"]}


class reversed_(Minor):
    """The merges are in reverse: the one learned first comes first."""

    based_on = simple
    edits = {"append(": "insert(0,"}


class lists(Misconception):
    """The pairs are lists: tuples are asked for."""

    based_on = simple
    edits = {"(best)": "(list(best))"}


class tuple_(Misconception):
    """A tuple is returned: a list of pairs is asked for."""

    based_on = simple
    edits = {"return merges": "return tuple(merges)"}


class lazy(Fundamental):
    """A generator is returned (`yield`): a list is asked for."""

    based_on = simple
    variants = [{"merges.append(best)": "yield best"}, {"return merges": "return iter(merges)"}]
