"""Wrong and right answers to `count_pairs`. The reference (02-tokenisation):

def count_pairs(words):
    counts = Counter()
    for symbols, frequency in words.items():
        for pair in zip(symbols, symbols[1:]):
            counts[pair] += frequency
    return counts
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class indices(RightAnswer):
    edits = {
        "counts = Counter()": "pairs = defaultdict(int)",
        "symbols, frequency in words.items()": "word in words",
        "pair in zip(symbols, symbols[1:])": "i in range(len(word) - 1)",
        "counts[pair] += frequency": "pairs[(word[i], word[i + 1])] += words[word]",
        "counts": "pairs",
    }


class get(RightAnswer):
    edits = {
        "counts = Counter()": "result = {}",
        "pair in zip(symbols, symbols[1:])": "a, b in zip(symbols[:-1], symbols[1:])",
        "counts[pair] += frequency": "result[a, b] = result.get((a, b), 0) + frequency",
        "counts": "result",
    }


class every_occurrence(RightAnswer):
    code = """
    from itertools import chain, pairwise, repeat
    return Counter(chain.from_iterable(chain.from_iterable(repeat(list(pairwise(w)), n)) for w, n in words.items()))
    """


# Mistakes


class unweighted(Misconception):
    """Each word counts once, however often it occurs: add its frequency instead of 1."""

    edits = {"+= frequency": "+= 1"}


class not_added(Misconception):
    """The count is not added to (`=`, `*=` or `max` instead of `+=`): every place where the pair stands adds to it."""

    variants = [{"+=": ["=", "*="]}, {"+= frequency": "= max(counts[pair], frequency)"}]


class once_per_word(Misconception):
    """A pair that occurs twice in a word is counted once there: each place counts."""

    edits = {"zip(symbols, symbols[1:])": "set(zip(symbols, symbols[1:]))"}


class without_overlap(Misconception):
    """Overlapping pairs are skipped (a a a has two pairs of neighbours): only merging goes without overlap."""

    variants = [
        {
            "for pair in zip(symbols, symbols[1:]):": "i = 0\nwhile i < len(symbols) - 1:",
            "counts[pair] += frequency": """
                counts[symbols[i], symbols[i + 1]] += frequency
                i += 2 if symbols[i] == symbols[i + 1] else 1
            """,
        },
        {
            "for pair in zip(symbols, symbols[1:]):": """
                last = None
                for pair in zip(symbols, symbols[1:]):
            """,
            "counts[pair] += frequency": """
                last = pair if pair != last or len({*pair}) > 1 else None
                counts[pair] += frequency * bool(last)
            """,
        },
    ]


class every_second(Misconception):
    """The words are cut into couples (steps of two): every symbol but the last one begins a pair."""

    edits = {", symbols[1:]": "[::2], symbols[1::2]"}


class unordered(Misconception):
    """The order in a pair is lost (sorted, or a set): (a, b) and (b, a) are two different pairs."""

    edits = {"[pair]": ["[tuple(sorted(pair))]", "[frozenset(pair)]"]}


class reversed_pair(Minor):
    """The pairs are the wrong way round: the left symbol comes first."""

    edits = {"[pair]": "[pair[::-1]]"}


class joined_keys(Misconception):
    """The two symbols are joined, so (a, bc) and (ab, c) become the same: the key is the pair, a tuple."""

    edits = {"[pair]": ["[''.join(pair)]", "[' '.join(pair)]"]}


class characters(Misconception):
    """The word is cut into characters again: count symbols, which may be longer than one character."""

    edits = {"symbols, symbols": "''.join(symbols), ''.join(symbols)"}


class last_pair_missing(Minor):
    """The last pair of each word is missing: n symbols have n − 1 pairs."""

    edits = {", symbols[1:]": "[:-1], symbols[1:-1]"}


class first_pair_missing(Minor):
    """The first pair of each word is missing: indices begin at 0."""

    edits = {", symbols[1:]": "[1:], symbols[2:]"}


class wraps_around(Minor):
    """The last symbol is paired with the first one of the same word: index −1 counts from the end."""

    edits = {", symbols[1:]": "[-1:] + symbols, symbols"}


class across_words(Misconception):
    """Pairs reach from one word into the next: a pair lies within one word."""

    variants = [
        {
            "counts = Counter()": "line = ()\ncounts = Counter()",
            "pair in zip(symbols, symbols[1:])": "pair in zip(line[-1:] + symbols, symbols if line else symbols[1:])",
            "+= frequency": "+= frequency\nline = symbols or line",
        },
        """
        line = [symbol for symbols, frequency in words.items() for symbol in symbols * frequency]
        return Counter(zip(line, line[1:]))
        """,
        """
        line = [(symbol, frequency) for symbols, frequency in words.items() for symbol in symbols]
        counts = Counter()
        for (left, frequency), (right, _) in zip(line, line[1:]): counts[left, right] += frequency
        return counts
        """,
    ]


class all_combinations(Misconception):
    """All pairs of symbols of a word are counted: only neighbours stand side by side."""

    edits = {
        "zip(symbols, symbols[1:])": [
            "[(a, b) for i, a in enumerate(symbols) for b in symbols[i + 1:]]",
            "[(a, b) for i, a in enumerate(symbols) for j, b in enumerate(symbols) if i != j]",
            "[(a, b) for a in symbols for b in symbols]",
        ]
    }


class one_apart(Misconception):
    """Symbols with one between them are paired: neighbours are asked for."""

    edits = {"[1:]": "[2:]"}


class triples(Misconception):
    """Three symbols in a row are counted: pairs are asked for."""

    edits = {"[1:]": "[1:], symbols[2:]"}


class single_symbols(Fundamental):
    """Single symbols are counted: pairs of neighbours are asked for."""

    edits = {"zip(symbols, symbols[1:])": ["symbols", "zip(symbols)"]}


class equal_skipped(Misconception):
    """Pairs of two equal symbols are left out: they count like the others."""

    edits = {
        "counts[pair] += frequency": [
            "counts[pair] += frequency * (pair[0] != pair[1])",
            "if pair[0] != pair[1]: counts[pair] += frequency",
        ]
    }


class first_word_only(Misconception):
    """Only the first word is counted: a `return` stands inside the loop."""

    edits = {"words.items()": "list(words.items())[:1]"}


class last_word_only(Misconception):
    """Only the last word is counted: the counter is made anew for each word."""

    edits = {"():": "():\n    counts = Counter()"}


class shares(Misconception):
    """Shares are returned: whole counts are asked for."""

    edits = {"return counts": "return Counter({pair: n / counts.total() for pair, n in counts.items()})"}


class weighted_by_length(Misconception):
    """The counts are multiplied by the word's length, or divided by it: the frequency alone is the weight."""

    edits = {"+= frequency": ["+= frequency * len(symbols)", "+= frequency / len(symbols)", "+= len(symbols)"]}


class list_of_pairs(Minor):
    """A list is returned (`most_common`, `items`): a dictionary is asked for."""

    edits = {
        "return counts": ["return counts.most_common()", "return list(counts.items())", "return sorted(counts.items())"]
    }


class best_only(Misconception):
    """Only the most frequent pair is returned: the counts of all pairs are asked for."""

    edits = {
        "return counts": [
            "return max(counts, key=counts.get, default=None)",
            "return counts.most_common(1)",
            "return Counter(dict(counts.most_common(1)))",
        ]
    }


class key_error(Fundamental):
    """A pair that is seen for the first time is a KeyError: a Counter begins at 0, a plain dict does not."""

    edits = {"Counter()": "{}"}


class end_added(shared_mistakes.end_added):
    edits = {"[1:]": "[1:] + ('</w>',)"}
