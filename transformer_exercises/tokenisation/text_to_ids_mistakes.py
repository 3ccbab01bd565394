"""Wrong and right answers to `text_to_ids`. The reference (02-tokenisation-further):

def text_to_ids(text, byte_ids, merges, special):
    between = re.split("(" + "|".join(map(re.escape, special)) + ")", text) if special else [text]
    ids = []
    for part in between:
        if part in special:
            ids.append(special[part])
            continue
        for piece in gpt2_pieces(part):
            symbols = [byte_ids[byte] for byte in piece.encode("utf-8")]
            while True:
                known = [pair for pair in zip(symbols, symbols[1:]) if pair in merges]
                if not known:
                    break
                best, merged = min(known, key=merges.get), []
                for symbol in symbols:
                    if merged and (merged[-1], symbol) == best:
                        merged[-1] = merges[best]
                    else:
                        merged.append(symbol)
                symbols = merged
            ids += symbols
    return ids
"""

from autograder.spec.catalogue import Misconception, RightAnswer

# Right answers in other styles


class one_place_at_a_time(RightAnswer):
    code = """
    ids = []
    for part in re.split("(" + "|".join(map(re.escape, special)) + ")", text) if special else [text]:
        if part in special: ids.append(special[part]); continue
        for piece in gpt2_pieces(part):
            row = [byte_ids[byte] for byte in piece.encode()]
            while len(row) > 1:
                i = min(range(len(row) - 1), key=lambda i: merges.get((row[i], row[i + 1]), math.inf))
                if (row[i], row[i + 1]) not in merges: break
                row = row[:i] + [merges[row[i], row[i + 1]]] + row[i + 2:]
            ids.extend(row)
    return ids
    """


class merges_in_turn(RightAnswer):
    code = """
    def piece_ids(piece):
        row = [byte_ids[byte] for byte in piece.encode("utf8")]
        for pair in sorted(merges, key=merges.get):
            i = 0
            while i < len(row) - 1:
                if (row[i], row[i + 1]) == pair: row[i:i + 2] = [merges[pair]]
                i += 1
        return row

    ids, rest = [], text
    while rest:
        at, name = min(((rest.find(name), name) for name in special if name in rest), default=(len(rest), None))
        for piece in gpt2_pieces(rest[:at]): ids += piece_ids(piece)
        if name is None: break
        ids.append(special[name])
        rest = rest[at + len(name):]
    return ids
    """


# Mistakes


class left_to_right(Misconception):
    """The first known pair from the left is merged, whatever its rank: the smallest new id goes first."""

    edits = {"min(known, key=merges.get)": ["known[0]", "known[-1]"]}


class in_sweeps(Misconception):
    """All known pairs are merged in one sweep, whatever their rank: only the one learnt earliest goes first."""

    based_on = merges_in_turn
    edits = {
        "for pair in sorted(merges, key=merges.get)": "while any(p in merges for p in zip(row, row[1:]))",
        "(row[i], row[i + 1]) == pair: row[i:i + 2] = [merges[pair]]": (
            "(row[i], row[i + 1]) in merges: row[i:i + 2] = [merges[row[i], row[i + 1]]]"
        ),
    }


class order_of_the_dictionary(Misconception):
    """The merges are taken in the order of the dictionary: their rank is the new id."""

    variants = [
        {"min(known, key=merges.get)": "next(pair for pair in merges if pair in known)"},
        merges_in_turn.edited({"sorted(merges, key=merges.get)": "merges"}),
    ]


class from_the_right(Misconception):
    """Where a pair stands several times without a gap, its last place is merged first: go from left to right."""

    based_on = merges_in_turn
    edits = {
        "for pair in sorted(merges, key=merges.get)": "while any(p in merges for p in zip(row, row[1:]))",
        "i = 0": """
            new, i = min((merges[p], -i) for i, p in enumerate(zip(row, row[1:])) if p in merges)
            row[-i:2 - i] = [new]
        """,
        "while i < len(row) - 1:": "while False:",
    }


class latest_first(Misconception):
    """The pair with the largest new id goes first: it was learnt last, and the one learnt earliest goes first."""

    edits = {"min(known": "max(known"}


class smallest_pair(Misconception):
    """Another pair goes first, such as the smallest or most frequent: compare the ids that the pairs become."""

    variants = [
        {"min(known, key=merges.get)": ["min(known)", "max(known)"]},
        {"min(known, key=merges.get)": "max(known, key=known.count)"},
    ]


class first_place_only(Misconception):
    """A pair is merged at its first place only: it is merged everywhere in the piece."""

    based_on = merges_in_turn
    edits = {"row[i:i + 2] = [merges[pair]]": "row[i:i + 2] = [merges[pair]]; break"}


class one_merge_only(Misconception):
    """The merging ends before all is merged: go on until no pair is left, however long the piece is."""

    variants = [
        {"while True": "for _ in range(1)"},
        {"while True": ["for _ in range(10)", "for _ in range(20)", "for _ in range(3)"]},
    ]


class not_merged(Misconception):
    """No merges are done: the ids of the bytes come back."""

    edits = {"+= symbols": '+= [byte_ids[byte] for byte in piece.encode("utf-8")]'}


class overlapping(Misconception):
    """A symbol is used twice in one merge: after a merge go on behind it."""

    edits = {
        "for symbol in symbols": "for i, symbol in enumerate(symbols)",
        "merged and (merged[-1], symbol) == best": "tuple(symbols[i:i + 2]) == best",
        "merged[-1] = merges[best]": "merged.append(merges[best])",
        "else:": "elif i == 0 or tuple(symbols[i - 1:i + 1]) != best:",
    }


class ids_added(Misconception):
    """The two ids are added: what a pair becomes stands in `merges`."""

    edits = {"= merges[best]": "+= symbol"}


class joined_in_front(Misconception):
    """The new id is put in front of or behind the old ones: it takes their place."""

    edits = {"] = merges[best": [":] = [merges[best], symbol", ":] = [-1, merges[best]"]}


class characters(Misconception):
    """Characters are taken for bytes (their code points, or another encoding): encode each piece as UTF-8."""

    variants = [
        {'piece.encode("utf-8")': ["map(ord, piece)", "(ord(c) % 256 for c in piece)"]},
        {"utf-8": ["utf-16-le", 'latin-1", errors="replace', 'ascii", errors="ignore']},
    ]


class byte_ids_unused(Misconception):
    """The bytes themselves are taken for ids: the id of the byte b is `byte_ids[b]`."""

    edits = {'[byte_ids[byte] for byte in piece.encode("utf-8")]': 'list(piece.encode("utf-8"))'}


class byte_ids_inverted(Misconception):
    """The place of the byte in `byte_ids` is taken for its id: `byte_ids[b]` is the id of the byte b."""

    edits = {"[byte]": ".index(byte)"}


class not_cut(Misconception):
    """The text is not cut into pieces before merging, so merges cross from one word to the next."""

    edits = {"gpt2_pieces(part)": "[part]"}


class cut_at_spaces(Misconception):
    """The text is cut at white space, not by `gpt2_pieces`: in GPT-2 a space belongs to the word behind it."""

    edits = {
        "gpt2_pieces(part)": [
            "part.split()",
            'part.split(" ")',
            r're.findall(r"\S+|\s+", part)',
            r're.findall(r"\s*\S+", part)',
        ]
    }


class special_as_text(Misconception):
    """Special tokens are encoded like any other text: they are found first and become one id."""

    edits = {"part in special": "False"}


class special_alone_only(Misconception):
    """A special token is found only once, or only as the whole text: it may stand anywhere, several times."""

    variants = [
        {") if special": ") if False"},
        {"text)": "text, maxsplit=1)"},
    ]


class one_special_only(Misconception):
    """Only one of the special tokens is looked for: any of them may stand in the text."""

    variants = [
        {"map(re.escape, special)": "map(re.escape, list(special)[:1])"},
        {
            "map(re.escape, special)": "map(re.escape, list(special)[:1])",
            "part in special": "part in list(special)[:1]",
        },
    ]


class special_too_late(Misconception):
    """Special tokens are looked for among the pieces, torn apart already: find them first."""

    code = """
    ids = []
    for piece in gpt2_pieces(text):
        if piece.strip() in special: ids.append(special[piece.strip()])
        else: ids += text_to_ids(piece, byte_ids, merges, {}) if special else [byte_ids[b] for b in piece.encode()]
    return ids
    """


class special_lost(Misconception):
    """Special tokens are lost: they become their id."""

    edits = {"ids.append(special[part])": "pass"}


class special_zero(Misconception):
    """A special token whose id is 0 is taken for none (`special.get(…)`): ask `part in special`."""

    edits = {"part in special": "special.get(part)"}


class special_as_pattern(Misconception):
    """The special tokens are taken for regular expressions, where | [ ] mean something: use `re.escape`."""

    edits = {"map(re.escape, special)": "special"}


class no_special_tokens(Misconception):
    """Without special tokens the text is cut everywhere (an empty pattern), or not encoded at all."""

    variants = [{") if special else [text]": ")"}, {"[text]": "[]"}]


class name_for_id(Misconception):
    """The name of a special token is put into the list: its id belongs there."""

    edits = {"special[part]": "part"}


class nested(Misconception):
    """A list of lists is returned: one list for the whole text is asked for."""

    edits = {"ids += symbols": "ids.append(symbols)"}


class last_piece_only(Misconception):
    """Only one piece comes back: add to the list instead of overwriting it, and return after the loop."""

    variants = [
        {"+=": "="},
        {"ids +=": "return"},
    ]


class lowercased(Misconception):
    """The text is changed first (small letters, NFC, `strip`): encode the characters as they are."""

    variants = [
        {"(part)": "(part.lower())"},
        {
            "(part)": [
                '(__import__("unicodedata").normalize("NFC", part))',
                '(__import__("unicodedata").normalize("NFKC", part))',
            ]
        },
        {"(part)": ["(part.strip())", "(part.rstrip())"]},
    ]


class unique(Misconception):
    """Each different id is kept once: repetitions belong to the text."""

    edits = {"return ids": "return list(dict.fromkeys(ids))"}


class tuple_(Misconception):
    """A tuple is returned: a list is asked for."""

    edits = {"return ids": "return tuple(ids)"}


class text(Misconception):
    """A string, or strings, are returned: a list of whole numbers is asked for."""

    variants = [
        {"return ids": 'return " ".join(map(str, ids))'},
        {"return ids": "return [str(i) for i in ids]"},
    ]


class kept_between_calls(Misconception):
    """What pieces became is kept from one call to the next: other tables make other ids of them."""

    based_on = merges_in_turn
    edits = {
        "row = [": """
            kept = globals().setdefault("kept", {})
            if piece in kept: return kept[piece]
            row = [
        """,
        "return row": "kept[piece] = row\nreturn row",
    }


class tables_used_up(Misconception):
    """A table is used up or changed (pop, clear): it belongs to the caller."""

    variants = [{"[part]": ".pop(part)"}, {"return": "merges.clear()\nreturn"}]
