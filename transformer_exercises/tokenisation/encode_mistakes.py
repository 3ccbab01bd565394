"""Wrong and right answers to `encode`. The reference (02-tokenisation):

def encode(text, stoi):
    for symbol in text:
        if symbol not in stoi:
            raise ValueError(f"text contains {symbol!r}, which is not in the vocabulary")
    return [stoi[symbol] for symbol in text]
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

IDS = "[stoi[symbol] for symbol in text]"

# Right answers in other styles


class try_and_except(RightAnswer):
    code = """
    ids = []
    for ch in text:
        try: ids.append(stoi[ch])
        except KeyError as e: raise ValueError(f"unknown character {ch}") from e
    return ids
    """


class all_at_once(RightAnswer):
    code = """
    missing = set(text) - set(stoi)
    if missing: raise ValueError("not in the vocabulary: " + ", ".join(map(repr, missing)))
    return list(map(stoi.__getitem__, text))
    """


class by_code_point(RightAnswer):
    code = """
    def look(c):
        i = stoi.get(c)
        if i is None: raise ValueError("unknown character U+%04X" % ord(c))
        return i
    return [look(c) for c in text]
    """


# Mistakes


class known_refused(Fundamental):
    """The test is the wrong way round: known characters are refused, and unknown ones let through."""

    edits = {"symbol not in stoi": "symbol in stoi"}


class bad_input_accepted(Minor):
    """An unknown character gives no ValueError (but a KeyError, or some id): test for it, and raise one naming it."""

    edits = {'raise ValueError(f"text contains {symbol!r}, which is not in the vocabulary")': "pass"}


class not_named(Minor):
    """The message does not say which character is unknown (the whole text says it of none): name it."""

    variants = [
        {'f"text contains {symbol!r}, which is not in the vocabulary"': '"unknown character"'},
        {
            "text contains {symbol!r}, which is not in the vocabulary": [
                "{text!r} holds unknown characters",
                "cannot encode {text}",
            ]
        },
    ]


class skipped(Misconception):
    """Unknown characters are skipped, so the text does not come back and nobody notices: raise a ValueError."""

    code = "return [stoi[symbol] for symbol in text if symbol in stoi]"


class silent_number(Misconception):
    """Unknown characters get some number (-1, 0 or the vocabulary's size) without an error: raise a ValueError."""

    variants = [
        "return [stoi.get(symbol, -1) for symbol in text]",
        "return [stoi.get(symbol, 0) for symbol in text]",
        "return [stoi.get(symbol, len(stoi)) for symbol in text]",
    ]


class silent_none(Misconception):
    """Unknown characters become None: `dict.get` does not complain. Raise a ValueError."""

    code = "return [stoi.get(symbol) for symbol in text]"


class stoi_grows(Misconception):
    """Unknown characters are added to `stoi`, which belongs to the caller: raise a ValueError."""

    code = "return [stoi.setdefault(symbol, len(stoi)) for symbol in text]"


class error_returned(common_mistakes.error_returned):
    edits = {
        'raise ValueError(f"text contains {symbol!r}, which is not in the vocabulary")': [
            'print(f"{symbol} is unknown")\nreturn []',
            'return f"{symbol} is unknown"',
        ]
    }


class first_character_only(Misconception):
    """Only the first character is looked at: a `return` stands inside the loop."""

    variants = [{"in text": "in text[:1]"}, {IDS: "stoi[text[0]] if text else []", "in text:": "in text[:1]:"}]


class last_character_only(Misconception):
    """Only the last id is returned: a variable is overwritten in the loop instead of appended to."""

    edits = {IDS: f"{IDS}[-1:]"}


class words(Fundamental):
    """The text is split into words: each character gets an id, white space too."""

    code = "return [stoi[word] for word in text.split()]"


class values_searched(Fundamental):
    """The character is looked for among the ids (`stoi.values()`): the characters are the keys."""

    edits = {"in stoi": "in stoi.values()"}


class zero_is_missing(Minor):
    """The id 0 is taken for a missing one (`if not stoi.get(…)`): ask `symbol in stoi`."""

    edits = {"symbol not in stoi": "not stoi.get(symbol)"}


class white_space_dropped(Misconception):
    """White space is left out: it has ids like any other character."""

    edits = {
        "[symbol] for symbol in text": [
            "[symbol] for symbol in text if not symbol.isspace()",
            "[symbol] for symbol in text if symbol != ' '",
            r'[symbol] for symbol in text if symbol != "\n"',
        ]
    }


class ends_stripped(Minor):
    """`strip` removes white space at the ends of the text, so it does not come back."""

    edits = {"[symbol] for symbol in text": "[symbol] for symbol in text.strip()"}


class lowercased(Misconception):
    """The text is turned into small letters first: capitals are characters of their own."""

    edits = {"for symbol in text:": "text = text.lower()\nfor symbol in text:"}


class normalised(Misconception):
    """The text is normalised first, so that a letter and its mark become one character: each has an id of its own."""

    edits = {"for symbol in text:": "text = unicodedata.normalize('NFC', text)\nfor symbol in text:"}


class unique(Misconception):
    """Each different character is encoded once: the ids should follow the text, repetitions included."""

    edits = {
        "[symbol] for symbol in text": [
            "[symbol] for symbol in sorted(set(text))",
            "[symbol] for symbol in dict.fromkeys(text)",
        ]
    }


class sorted_ids(Misconception):
    """The ids are sorted: they should follow the text."""

    edits = {IDS: "sorted(stoi[symbol] for symbol in text)"}


class positions(Misconception):
    """The ids are positions (in the text, or in the list of keys): the id of a character is what `stoi` says."""

    variants = [
        {"stoi[symbol] for symbol in text": "i for i, symbol in enumerate(text)"},
        {"stoi[symbol]": ["list(stoi).index(symbol)", "sorted(stoi).index(symbol)"]},
    ]


class own_vocabulary(Misconception):
    """A new vocabulary is built from this text: use the `stoi` that is given."""

    variants = [
        {"stoi[symbol]": "sorted(set(text)).index(symbol)"},
        """
        stoi, _ = build_vocab(text)
        return [stoi[symbol] for symbol in text]
        """,
    ]


class code_points(Misconception):
    """The ids are Unicode numbers (`ord`): use what `stoi` says."""

    variants = [{"stoi[symbol]": ["ord(symbol)", "ord(symbol) - ord('a')"]}, "return [ord(symbol) for symbol in text]"]


class last_missing(Minor):
    """The last character is not encoded: a range or a slice ends one too early."""

    variants = [{"[symbol] for symbol in text": "[symbol] for symbol in text[:-1]"}, {"in text": "in text[:-1]"}]


class tensor(Minor):
    """A tensor or an array is returned: a plain list of int is asked for."""

    edits = {IDS: [f"torch.tensor({IDS})", f"torch.tensor({IDS}, dtype=torch.long)"]}


class lazy(Fundamental):
    """A map or a generator is returned, which can be read only once: make a list of it."""

    edits = {IDS: ["map(stoi.get, text)", "(stoi[symbol] for symbol in text)"]}


class strings(Minor):
    """The ids are strings, or one string: a list of int is asked for."""

    variants = [
        {"stoi[symbol]": "str(stoi[symbol])"},
        {IDS: ["' '.join(str(stoi[symbol]) for symbol in text)", "''.join(str(stoi[symbol]) for symbol in text)"]},
    ]


class tuple_(Misconception):
    """A tuple is returned: a list is asked for."""

    edits = {IDS: f"tuple({IDS})"}


class empty_refused(Misconception):
    """An empty text is refused: it has no characters, and so an empty list of ids."""

    edits = {
        "for symbol in text:": [
            "if not text: raise ValueError('text is empty')\nfor symbol in text:",
            "if not text: return None\nfor symbol in text:",
        ]
    }
