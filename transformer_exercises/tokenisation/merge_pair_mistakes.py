"""Wrong and right answers to `merge_pair`. The reference (02-tokenisation):

def merge_pair(symbols, pair):
    merged = []
    for symbol in symbols:
        if merged and (merged[-1], symbol) == pair:
            merged[-1] += symbol  # a joined symbol is longer than the left one, so it is not joined again
        else:
            merged.append(symbol)
    return tuple(merged)
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class index(RightAnswer):
    code = """
    merged, i = [], 0
    while i < len(symbols):
        if symbols[i:i + 2] == pair:
            merged.append(symbols[i] + symbols[i + 1])
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return tuple(merged)
    """


class recursive(RightAnswer):
    code = """
    if len(symbols) < 2: return tuple(symbols)
    if symbols[:2] == pair: return ("".join(pair),) + merge_pair(symbols[2:], pair)
    return symbols[:1] + merge_pair(symbols[1:], pair)
    """


class pattern_with_borders(RightAnswer):
    code = r"""
    pattern = re.compile(r"(?<!\S)" + re.escape(" ".join(pair)) + r"(?!\S)")
    return tuple(pattern.sub(lambda match: "".join(pair), " ".join(symbols)).split())
    """


# Mistakes


class text_replaced(shared_mistakes.text_replaced):
    variants = [
        "return tuple(' '.join(symbols).replace(' '.join(pair), ''.join(pair)).split())",
        "return tuple(re.sub(re.escape(' '.join(pair)), ''.join(pair), ' '.join(symbols)).split(' '))",
        r"""
        return tuple(re.sub(r'\b' + re.escape(' '.join(pair)) + r'\b', ''.join(pair), ' '.join(symbols)).split())
        """,
    ]


class pattern_not_escaped(Misconception):
    """The pair is used as a regular expression, where . * ( and $ mean something else: `re.escape` it."""

    variants = [
        pattern_with_borders.edited({'re.escape(" ".join(pair))': '" ".join(pair)'}),
        "return tuple(re.sub(' '.join(pair), ''.join(pair), ' '.join(symbols)).split())",
    ]


class characters_joined(Misconception):
    """All symbols are joined and cut apart again, which undoes earlier merges: walk through the symbols."""

    variants = [
        'return tuple(re.findall(re.escape("".join(pair)) + "|.", "".join(symbols), re.DOTALL))',
        "return tuple(p for p in re.split('(' + re.escape(''.join(pair)) + ')', ''.join(symbols)) if p)",
    ]


class joined_text_compared(Misconception):
    """The joined texts are compared, so (a, bc) is taken for (ab, c): compare the symbols one by one."""

    based_on = index
    edits = {"symbols[i:i + 2] == pair": "i + 1 < len(symbols) and symbols[i] + symbols[i + 1] == pair[0] + pair[1]"}


class first_only(Misconception):
    """Only the first occurrence is merged: all of them are asked for."""

    based_on = index
    edits = {
        "merged.append(symbols[i] + symbols[i + 1])": "return tuple(merged) + (pair[0] + pair[1],) + symbols[i + 2:]"
    }


class overlapping(Misconception):
    """A symbol is used in two merges (a a a gives aa aa): after a merge go on behind it."""

    edits = {
        "symbol in symbols": "i, symbol in enumerate(symbols)",
        "merged and (merged[-1], symbol)": "symbols[i:i + 2]",
        "[-1] += symbol": ".append(pair[0] + pair[1])",
        "else": "elif i == 0 or symbols[i - 1:i + 1] != pair",
    }


class found_before_merging(Misconception):
    """All places of the pair are found first and merged later, so in a a a two merges want the middle a (aa comes back
    instead of aa a): after a merge go on behind it.
    """

    variants = [
        {
            "for symbol in symbols": """
                places = [i for i in range(len(symbols) - 1) if symbols[i:i + 2] == pair]
                for i, symbol in enumerate(symbols)
            """,
            "merged and (merged[-1], symbol) == pair": "i - 1 in places",
            "merged[-1] += symbol": "continue",
            "merged.append(symbol)": "merged.append(pair[0] + pair[1] if i in places else symbol)",
        },
        """
        merged = list(symbols)
        for i in [i for i in range(len(symbols) - 1) if symbols[i:i + 2] == pair]:
            merged[i] = merged[i] + merged[i + 1]
            merged[i + 1] = None
        return tuple(symbol for symbol in merged if symbol is not None)
        """,
    ]


class deleted_while_walking(Misconception):
    """Symbols are taken out while `range` still counts to the old length, so the index runs past the end: build a new
    list, or walk with `while`.
    """

    code = """
    merged = list(symbols)
    for i in range(len(merged) - 1):
        if (merged[i], merged[i + 1]) == pair: merged[i:i + 2] = [merged[i] + merged[i + 1]]
    return tuple(merged)
    """


class grows_on(Misconception):
    """A symbol that was just made takes in the next one: one call makes each symbol from two."""

    variants = [
        index.edited({"i += 2": "i += 2\nwhile symbols[i:i + 1] == pair[1:]: merged[-1] += pair[1]; i += 1"}),
        {"(merged[-1], symbol) == pair": "merged[-1].endswith(pair[0]) and symbol == pair[1]"},
    ]


class in_couples(Misconception):
    """The symbols are cut into couples (steps of two) first: a pair may begin at every symbol."""

    based_on = index
    edits = {"merged.append(symbols[i])": "merged.extend(symbols[i:i + 2])", "i += 1": "i += 2"}


class right_to_left(Misconception):
    """The merging goes from right to left (a a a gives a aa): go from left to right."""

    edits = {
        "symbols:": "symbols[::-1]:",
        "(merged[-1], symbol)": "(symbol, merged[-1])",
        "merged[-1] += symbol": "merged[-1] = symbol + merged[-1]",
        "(merged)": "(merged[::-1])",
    }


class second_kept(Minor):
    """After a merge the index goes on by one or by three: go two symbols on."""

    variants = [
        index.edited({"+= 2": "+= 1"}),
        index.edited({"+= 2": "+= 3"}),
    ]


class last_lost(Minor):
    """The last symbol is lost when it is not part of a pair: the loop must reach the end."""

    variants = [index.edited({"< len(symbols):": "< len(symbols) - 1:"}), {"(merged)": "(merged[:-1])"}]


class pair_at_end_missed(Minor):
    """A pair at the very end, or at the very beginning, is not merged: the loop leaves it out."""

    variants = [
        index.edited({"symbols[i:i + 2] == pair": "i + 2 < len(symbols) and symbols[i:i + 2] == pair"}),
        index.edited({"symbols[i:i + 2] == pair": "i > 0 and symbols[i:i + 2] == pair"}),
    ]


class index_error(Misconception):
    """At the last symbol there is no right neighbour to look at: check that i + 1 is still inside the word."""

    based_on = index
    edits = {
        "symbols[i:i + 2] == pair": [
            "symbols[i] == pair[0] and symbols[i + 1] == pair[1]",
            "(symbols[i], symbols[i + 1]) == pair",
        ]
    }


class left_only(Misconception):
    """Only one of the two symbols is compared: both must be equal."""

    variants = [
        index.edited({"symbols[i:i + 2] == pair": "i + 1 < len(symbols) and symbols[i] == pair[0]"}),
        index.edited({"symbols[i:i + 2] == pair": "i + 1 < len(symbols) and symbols[i + 1] == pair[1]"}),
    ]


class reversed_pair(Misconception):
    """The two symbols are compared in the wrong order: `pair` is (left, right)."""

    edits = {"(merged[-1], symbol)": "(symbol, merged[-1])"}


class either_order(Misconception):
    """The pair is merged in either order: (b, a) is not (a, b)."""

    based_on = index
    edits = {"symbols[i:i + 2] == pair": "i + 1 < len(symbols) and set(symbols[i:i + 2]) == set(pair)"}


class wrong_order_joined(Minor):
    """The two symbols are joined in the wrong order: left, then right."""

    based_on = index
    edits = {"symbols[i] + symbols[i + 1]": "symbols[i + 1] + symbols[i]"}


class pair_kept_as_pair(Misconception):
    """The pair itself is put in, or joined with a mark between: the new symbol is left + right."""

    based_on = index
    edits = {"symbols[i] + symbols[i + 1]": ["pair", "'_'.join(pair)", "'-'.join(pair)", "' '.join(pair)", "str(pair)"]}


class others_dropped(Misconception):
    """The other symbols, or the joined one, are missing: the word stays, with the new symbol in the pair's place."""

    variants = [
        index.edited({"merged.append(symbols[i])": "pass"}),
        index.edited({"merged.append(symbols[i] + symbols[i + 1])": "pass"}),
    ]


class at_the_end(Misconception):
    """The joined symbol is put at the end of the word: it takes the place of the pair."""

    based_on = index
    edits = {
        "i = [": "joined, i = [], [",
        "merged.append(symbols[i] + symbols[i + 1])": 'joined.append("".join(pair))',
        "merged)": "merged + joined)",
    }


class unchanged(Fundamental):
    """The word comes back as it was: tuples do not change, so return a new one. (And a list never equals a tuple.)"""

    edits = {"tuple(merged)": "symbols"}


class list_(Misconception):
    """A list is returned: a tuple is asked for."""

    edits = {"tuple(merged)": "merged"}


class text(Minor):
    """A string is returned: a tuple of symbols is asked for."""

    edits = {"tuple": ["' '.join", "''.join"]}


class tuple_of_characters(Misconception):
    """`tuple` of a string cuts it into characters, which undoes the merge: give it a list of symbols."""

    edits = {"(merged)": "(''.join(merged))"}


class lazy(Fundamental):
    """A generator is returned: a tuple is asked for."""

    edits = {"tuple(merged)": "(symbol for symbol in merged)"}


class short_words_fail(Misconception):
    """A word of no or one symbol fails: it has no pair, and comes back as it is."""

    edits = {
        "merged =": [
            "symbols[0]\nmerged =",
            "symbols[1]\nmerged =",
            "if len(symbols) < 2: return None\nmerged =",
            "if not symbols: raise ValueError('symbols is empty')\nmerged =",
        ]
    }


class short_words_lost(Misconception):
    """A word of one symbol comes back empty: it has no pair, and comes back as it is."""

    edits = {"merged =": "if len(symbols) < 2: return ()\nmerged ="}
