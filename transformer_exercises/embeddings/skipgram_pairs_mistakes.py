"""Wrong and right answers to `skipgram_pairs`. The reference (03-embeddings):

def skipgram_pairs(ids, window):
    pairs = []
    for i, centre in enumerate(ids):
        first = max(0, i - window)  # the window ends where the text does
        last = min(len(ids) - 1, i + window)
        for j in range(first, last + 1):
            if j != i:  # places are compared, not ids: a word may be its own neighbour
                pairs.append((centre, ids[j]))
    return pairs
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

# Right answers in other styles


class slices(RightAnswer):
    code = """
    return [(c, o) for i, c in enumerate(ids) for o in ids[max(i - window, 0) : i] + ids[i + 1 : i + window + 1]]
    """


class by_distance(RightAnswer):
    code = """
    pairs = []
    for d in range(1, window + 1):
        for left, right in zip(ids, ids[d:]): pairs += [(left, right), (right, left)]
    return pairs
    """


class recursion(RightAnswer):
    code = """
    if not ids: return []
    near = ids[1 : window + 1]
    return [(ids[0], n) for n in near] + [(n, ids[0]) for n in near] + skipgram_pairs(ids[1:], window)
    """


# Mistakes


class right_edge(Minor):
    """The window is one short on the right: `range` ends before its second number, use i + window + 1."""

    edits = {"+ window)": "+ window - 1)"}


class left_edge(Minor):
    """The window is one short on the left: it begins at i − window."""

    edits = {"- window)": "- window + 1)"}


class window_too_narrow(Minor):
    """The window is too narrow on both sides: context reaches `window` places to each side."""

    variants = [left_edge.edited({"+ window)": "+ window - 1)"}), {"pairs =": "window //= 2\npairs ="}]


class window_too_wide(Minor):
    """The window reaches too far: `window` places to each side."""

    variants = [
        {"+ window)": "+ window + 1)"},
        {"- window)": "- window - 1)"},
        {"pairs =": "window += 1\npairs ="},
        {"max(0, i - window)": "0", "min(len(ids) - 1, i + window)": "len(ids) - 1"},
    ]


class itself(Minor):
    """Each word is paired with itself, at its own place: leave j == i out."""

    edits = {"j != i": "True"}


class same_word_skipped(Misconception):
    """Ids are compared where places should be: the same word at another place is context too (`j != i`)."""

    edits = {"j != i": "ids[j] != centre"}


class first_place_of_the_word(Misconception):
    """`ids.index(…)` finds a word's first place only, and it may occur again: use enumerate."""

    edits = {"i, centre in enumerate(ids):": "centre in ids:\n    i = ids.index(centre)"}


class right_only(Misconception):
    """Only context on the right is paired: the window reaches to both sides."""

    edits = {"max(0, i - window)": "i"}


class left_only(Misconception):
    """Only context on the left is paired: the window reaches to both sides."""

    edits = {"min(len(ids) - 1, i + window)": "i"}


class farthest_only(Misconception):
    """Only the words exactly `window` places away are paired: all those in between belong too."""

    variants = [
        {"if j": "if abs(j - i) == window and j"},
        """
        return [(ids[i], ids[j]) for i in range(len(ids)) for j in (i - window, i + window) if 0 <= j < len(ids)]
        """,
    ]


class neighbours_only(Misconception):
    """Only the words next to each other are paired: the window reaches further."""

    edits = {"j != i": "abs(j - i) == 1"}


class edges_skipped(Misconception):
    """Words near the ends, whose window is not full, are left out: they have the context that there is."""

    edits = {
        "!= i": ["!= i and window <= i < len(ids) - window", "!= i and window <= i", "!= i and i < len(ids) - window"]
    }


class wraps_around(Minor):
    """A negative index counts from the end, so the first words get the last as context: stop at 0."""

    variants = [
        {"max(0, i - window)": ["i - window", "max(-len(ids), i - window)"]},
        {
            "max(0, i - window)": "i - window",
            "min(len(ids) - 1, i + window)": "i + window",
            "ids[j]": "ids[j % len(ids)]",
        },
    ]


class empty_slice_at_the_edge(Minor):
    """A slice `ids[i - window : i]` is empty if its start is negative: use max(0, i − window)."""

    based_on = by_distance
    edits = {
        "d in range(1, window + 1": "i in range(len(ids)",
        "left, right in zip(ids, ids[d:])": "context in ids[i - window : i] + ids[i + 1 : i + 1 + window]",
        "+= [(left, right), (right, left)]": ".append((ids[i], context))",
    }


class runs_off_the_end(Fundamental):
    """The window runs past the end (IndexError): it ends where the text does."""

    edits = {"min(len(ids) - 1, i + window)": "i + window"}


class places_returned(Misconception):
    """Places in the text are returned: pairs of ids are asked for."""

    edits = {"centre, ids[j]": ["i, j", "centre, j", "i, ids[j]"]}


class each_pair_once(Misconception):
    """A pair that occurs several times is kept only once: how often words meet is what is learned."""

    variants = [
        {"return pairs": ["return list(set(pairs))", "return sorted(set(pairs))"]},
        {"!= i": "!= i and (centre, ids[j]) not in pairs"},
    ]


class set_(Minor):
    """A set is returned: a list is asked for, with every pair as often as it occurs."""

    edits = {"return pairs": "return set(pairs)"}


class one_direction(Misconception):
    """Each two places are paired once: both are centres, so (x, y) and (y, x) both belong."""

    variants = [
        {"centre, ids[j]": "min(centre, ids[j]), max(centre, ids[j])"},
        {"return pairs": "return sorted({tuple(sorted(pair)) for pair in pairs})"},
    ]


class grouped(Minor):
    """Contexts are grouped, or stand in a list of their own: one list of pairs (centre, context) is asked for."""

    variants = [
        empty_slice_at_the_edge.edited(
            {
                "(ids[i], context)": ["(ids[i], context)", "[(ids[i], c) for c in context]", "(context, ids[i])"],
                "ids[i - window : i] + ids[i + 1 : i + 1 + window]": (
                    "[ids[max(0, i - window) : i] + ids[i + 1 : i + 1 + window]]"
                ),
            }
        ),
        "return {c: ids[max(0, i - window) : i] + ids[i + 1 : i + 1 + window] for i, c in enumerate(ids)}",
        {"return pairs": ["return [c for c, _ in pairs], [o for _, o in pairs]", "return list(zip(*pairs))"]},
    ]


class returned_too_early(Misconception):
    """`return` stands inside the loop, which ends after the first word."""

    edits = {"return pairs": "return pairs if ids else None", "enumerate(ids)": "enumerate(ids[:1])"}


class last_word_missed(Minor):
    """The first or the last word is never a centre: `range(len(ids))`, places count from 0."""

    variants = [
        {"enumerate(ids)": "enumerate(ids[:-1])"},
        {"if j": "if i > 0 and j"},
    ]


class short_texts_refused(Misconception):
    """A text that is empty, or shorter than the window, fails: it has the pairs there are, perhaps none."""

    edits = {
        "pairs =": [
            "assert len(ids) > window\npairs =",
            "assert window > 0\npairs =",
            "if len(ids) < 2: raise ValueError('too short')\npairs =",
            "if not ids: raise ValueError('no ids')\npairs =",
        ]
    }


class none_for_nothing(Misconception):
    """None is returned where there are no pairs: an empty list is asked for."""

    variants = [{"return pairs": "return pairs or None"}, {"pairs =": "if len(ids) < 2: return\npairs ="}]


class lists_for_tuples(Misconception):
    """Lists, a tensor, a tuple or a flat list come back: a list of tuples of ints, `(centre, context)`."""

    variants = [
        {"(centre, ids[j])": "[centre, ids[j]]"},
        {"return pairs": "return torch.tensor(pairs)"},
        {"(centre, ids[j])": "torch.tensor([centre, ids[j]])"},
        {"return pairs": "return tuple(pairs)"},
        {"pairs.append((centre, ids[j]))": "pairs += [centre, ids[j]]"},
    ]


class generator(Minor):
    """A generator is returned (yield): a list is asked for."""

    edits = {"return pairs": "yield from pairs"}


class input_changed(Minor):
    """The caller's list is changed (pop, append, insert): make a list of your own."""

    edits = {
        "return pairs": [
            "while ids: ids.pop()\nreturn pairs",
            "ids.extend([0] * window)\nreturn pairs",
            "ids.sort()\nreturn pairs",
        ]
    }


class padded(Misconception):
    """The text is padded, and the padding turns up in the pairs: the window simply ends where the text does."""

    edits = {
        "pairs =": [
            "ids = [0] * window + ids + [0] * window\npairs =",
            "ids = [-1] * window + ids + [-1] * window\npairs =",
        ]
    }


class small_integers(Minor):
    """The ids go through a small integer type, where large ones change or fail: they are any size."""

    edits = {
        "pairs =": [
            "ids = torch.tensor(ids).to(torch.int16).tolist()\npairs =",
            "ids = torch.tensor(ids).int().tolist()\npairs =",
        ]
    }
