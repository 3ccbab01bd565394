"""Wrong and right answers to `bpe_encode`. The reference (02-tokenisation):

def bpe_encode(word, merges):
    rank = {pair: i for i, pair in enumerate(merges)}
    symbols = tuple(word)
    while len(symbols) > 1:
        best = min(zip(symbols, symbols[1:]), key=lambda pair: rank.get(pair, math.inf))
        if best not in rank:
            break
        symbols = merge_pair(symbols, best)
    return list(symbols)
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class merges_in_turn(RightAnswer):
    code = """
    symbols = tuple(word)
    for pair in merges:
        symbols = merge_pair(symbols, pair)
    return list(symbols)
    """


class one_place_at_a_time(RightAnswer):
    code = """
    parts = list(word)
    while True:
        found = [(merges.index(pair), i) for i, pair in enumerate(zip(parts, parts[1:])) if pair in merges]
        if not found: return parts
        i = min(found)[1]
        parts = parts[:i] + [parts[i] + parts[i + 1]] + parts[i + 2:]
    """


class in_place(RightAnswer):
    code = """
    out = [c for c in word]
    for left, right in merges:
        i = 0
        while i + 1 < len(out):
            if out[i] == left and out[i + 1] == right:
                out[i] = left + right
                del out[i + 1]
            i += 1
    return out
    """


# Mistakes


class left_to_right(Fundamental):
    """The first known pair from the left is merged: the one learned earliest goes first."""

    variants = [
        one_place_at_a_time.edited({"min(found)[1]": "found[0][1]"}),
        """
        symbols, known, i = list(word), set(merges), 0
        while i < len(symbols) - 1:
            if (symbols[i], symbols[i + 1]) in known: symbols[i:i + 2] = ["".join(symbols[i:i + 2])]
            else: i += 1
        return symbols
        """,
        """
        symbols, known, shorter = list(word), set(merges), True
        while shorter:
            joined, i = [], 0
            while i < len(symbols):
                step = 2 if tuple(symbols[i:i + 2]) in known else 1
                joined.append("".join(symbols[i:i + step]))
                i += step
            shorter, symbols = len(joined) < len(symbols), joined
        return symbols
        """,
        {
            "best = min(zip(symbols, symbols[1:]), key=lambda pair: rank.get(pair, math.inf))": (
                "best = next((pair for pair in zip(symbols, symbols[1:]) if pair in rank), None)"
            )
        },
    ]


class longest_match(Fundamental):
    """The longest known piece is cut off from the left (WordPiece): BPE repeats the merges in order."""

    code = """
    known, pieces, i = {"".join(pair) for pair in merges}, [], 0
    while i < len(word):
        end = next(j for j in range(len(word), i, -1) if word[i:j] in known or j == i + 1)
        pieces.append(word[i:end])
        i = end
    return pieces
    """


class fewest_pieces(Fundamental):
    """The fewest known pieces are looked for: BPE repeats the merges in the order in which they were learned, and may
    end with more.
    """

    code = """
    known, best = {"".join(pair) for pair in merges} | set(word), [[]]
    for end in range(1, len(word) + 1):
        best.append(min((best[i] + [word[i:end]] for i in range(end) if word[i:end] in known), key=len))
    return best[-1]
    """


class latest_first(Misconception):
    """The merge learned last goes first: the one learned earliest does."""

    variants = [{"min": "max", "math.inf": "-1"}, merges_in_turn.edited({"merges:": "reversed(merges):"})]


class alphabetical(Misconception):
    """The merges are sorted, or the smallest pair in the alphabet goes first: their rank is their order."""

    variants = [
        merges_in_turn.edited(
            {
                "merges:": [
                    "sorted(merges):",
                    "sorted(merges, key=lambda pair: -len(''.join(pair))):",
                    "sorted(merges, key=lambda pair: len(''.join(pair))):",
                ]
            }
        ),
        {"rank.get(pair, math.inf": "(pair not in rank, pair"},
        {", key=lambda pair: rank.get(pair, math.inf)": ""},
    ]


class most_frequent_first(Misconception):
    """The most frequent pair of the word goes first, as in training: here the earliest learned does."""

    variants = [
        {
            "min(zip(symbols, symbols[1:]), key=lambda pair: rank.get(pair, math.inf))": [
                "min(counts, key=lambda pair: (pair not in rank, -counts[pair], rank.get(pair, 0)))",
                "min(counts, key=lambda pair: (pair not in rank, -counts[pair], pair))",
            ],
            "while len(symbols) > 1:": """
                while len(symbols) > 1:
                    counts = Counter(zip(symbols, symbols[1:]))
            """,
        },
        merges_in_turn.edited(
            {
                "merges:": "train_bpe({symbols: 1}, len(merges)):",
                "symbols = merge_pair": "if pair in merges: symbols = merge_pair",
            }
        ),
    ]


class one_merge_only(Misconception):
    """Only one merge is done: go on until no pair of the word is among the merges."""

    variants = [
        {"while len(symbols) > 1": "for _ in range(len(symbols) > 1)"},
        merges_in_turn.edited({"(symbols, pair)": "(symbols, pair)\nreturn list(symbols)"}),
    ]


class last_two_left(Minor):
    """The loop ends when two symbols are left: they may be one more pair."""

    edits = {"> 1": "> 2"}


class stops_at_gap(Misconception):
    """You stop at the first merge that the word does not need: later ones may still apply."""

    based_on = merges_in_turn
    edits = {"merges:": "merges:\n    if pair not in zip(symbols, symbols[1:]): break"}


class first_place_only(Misconception):
    """Each merge is done at its first place only: it is done everywhere in the word."""

    based_on = in_place
    edits = {"del out[i + 1]": "del out[i + 1]\nbreak"}


class right_to_left(Misconception):
    """Each merge begins at its last place (a a a gives a aa): merge from left to right."""

    based_on = one_place_at_a_time
    edits = {"min(found)[1]": "min(found, key=lambda one: (one[0], -one[1]))[1]"}


class skips_neighbours(Misconception):
    """The symbol after a merge is skipped, so a pair that follows at once is missed."""

    based_on = in_place
    edits = {"del out[i + 1]": "del out[i + 1]\ni += 1"}


class grows_on(Misconception):
    """A symbol that was just made is compared again in the same merge (by its end): compare whole symbols."""

    based_on = in_place
    edits = {"out[i] == left": "out[i].endswith(left)", "i += 1": "else: i += 1"}


class text_replaced(shared_mistakes.text_replaced):
    variants = [
        """
        text = " ".join(word)
        for a, b in merges: text = text.replace(f"{a} {b}", a + b)
        return text.split()
        """,
        """
        text = " ".join(word)
        for a, b in merges: text = text.replace(f"{a} {b}", a + b)
        return text.split(" ")
        """,
        merges_in_turn.edited(
            {"merge_pair(symbols, pair": ("tuple(' '.join(symbols).replace(' '.join(pair), ''.join(pair)).split(' ')")}
        ),
        """
        for a, b in merges: word = word.replace(a + b, ' ' + a + b + ' ')
        return word.split()
        """,
    ]


class joined_text_compared(Misconception):
    """A pair is looked up by its joined text, so (a, bc) is taken for (ab, c): compare the pair itself."""

    edits = {
        "{pair: i for i, pair in enumerate(merges)}": """
            {}
            for i, pair in enumerate(merges): rank.setdefault("".join(pair), i)
        """,
        "pair,": '"".join(pair),',
        "if best": 'if "".join(best)',
    }


class only_known(Misconception):
    """Characters that no merge knows are lost or refused, or become an unknown token: they stay single."""

    variants = [
        {
            "list(symbols)": ["[s for s in symbols if s in known]", "[s if s in known else '<unk>' for s in symbols]"],
            "return [": "known = {s for pair in merges for s in (*pair, ''.join(pair))}\nreturn [",
        },
        {"list(symbols)": "[s for s in symbols if s in map(''.join, merges)]"},
        {
            "(word)": """
                (word)
                if {*symbols} - {*''.join(map(''.join, merges))}: raise ValueError('word has an unknown character')
            """
        },
    ]


class unmerged(Fundamental):
    """The characters come back unmerged: keep the result of each merge."""

    edits = {"symbols = merge_pair(symbols, best)": "merged = merge_pair(symbols, best)\nbreak"}


class end_added(shared_mistakes.end_added):
    edits = {"tuple(word)": ["(*word, '</w>')", "tuple(word[:-1]) + (word[-1:] + '</w>',)"]}


class lowercased(Misconception):
    """The word is turned into small letters: encode it as it is."""

    edits = {"rank =": "word = word.lower()\nrank ="}


class whole_word(Misconception):
    """The word is not cut into characters first: BPE begins with single characters."""

    edits = {"tuple(word": "(word,"}


class merges_used_up(Misconception):
    """The list of merges is used up or reordered (pop, reverse, sort): it belongs to the caller."""

    based_on = merges_in_turn
    edits = {"for pair in": "while", "pair)": "merges.pop(0))"}


class last_merge_missing(Minor):
    """The last merge of the list is never used: a range or a slice ends one too early."""

    based_on = merges_in_turn
    edits = {"merges:": "merges[:-1]:"}


class first_merge_missing(Minor):
    """The first merge is never used: rank 0 counts as false in `if rank`."""

    variants = [{"best not in rank": "not rank.get(best)"}, merges_in_turn.edited({"merges:": "merges[1:]:"})]


class unknown_first(Misconception):
    """Pairs that are not among the merges get a rank that wins (0 or −1): their rank is infinite."""

    edits = {"math.inf": ["0", "-1"]}


class known_pair_expected(Misconception):
    """A pair of the word that is not among the merges is a KeyError: it just has no rank."""

    edits = {"rank.get(pair, math.inf)": ["rank[pair]", "merges.index(pair)"]}


class empty_word(Misconception):
    """The empty word fails or gives something: it has no subwords, an empty list."""

    variants = [
        {"(word)": ["(word)\nif not word: return ['']", "(word)\nif not word: return None"]},
        {"len(symbols) > 1:": "True:\n    if len(symbols) == 1: break"},
    ]


class short_words_fail(Minor):
    """A word of one symbol, at first or after merging, fails: it has no pair left, so stop there."""

    edits = {"len(symbols) > 1": "True"}


class tuple_(Misconception):
    """A tuple is returned: a list is asked for."""

    edits = {"list(symbols)": "symbols"}


class text(Fundamental):
    """A string is returned: a list of subwords is asked for."""

    edits = {"list(": ["' '.join(", "''.join("]}


class lazy(Fundamental):
    """An iterator is returned: a list is asked for."""

    edits = {"list(": "iter("}


class numbers(Misconception):
    """Numbers are returned: the subwords themselves, strings, are asked for."""

    edits = {
        "list(symbols)": [
            "[rank.get(s, -1) for s in symbols]",
            "list(range(len(symbols)))",
            "[len(s) for s in symbols]",
        ]
    }


class with_word(Minor):
    """The word is returned along with its subwords: the list of subwords alone is asked for."""

    edits = {"list(symbols)": ["(word, list(symbols))", "{word: list(symbols)}"]}
