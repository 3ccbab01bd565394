"""Wrong and right answers to `build_vocab`. The reference (02-tokenisation):

def build_vocab(text):
    itos = dict(enumerate(sorted(set(text))))
    stoi = {symbol: i for i, symbol in itos.items()}
    return stoi, itos
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

# Right answers in other styles


class comprehensions(RightAnswer):
    code = """
    chars = sorted(list(set(text)))
    return {ch: i for i, ch in enumerate(chars)}, {i: ch for i, ch in enumerate(chars)}
    """


class loop(RightAnswer):
    code = """
    stoi, itos = {}, {}
    for c in sorted(text):
        if c not in stoi: itos[len(stoi)] = c; stoi[c] = len(stoi)
    return stoi, itos
    """


class sorted_counter(RightAnswer):
    edits = {
        "itos = dict(enumerate(sorted(set(text))))": "symbols = sorted(Counter(text))",
        "{symbol: i for i, symbol in itos.items()}": "dict(zip(symbols, range(len(symbols))))",
        "itos": "{stoi[s]: s for s in reversed(symbols)}",
    }


# Mistakes


class first_appearance(Misconception):
    """The ids follow the order in which the characters appear: they should follow the sorted order."""

    edits = {"sorted(set(text))": "dict.fromkeys(text)"}


class unsorted(Misconception):
    """The characters are not sorted. A set's order changes each time Python starts: sorted(set(text))."""

    edits = {"sorted(set(text))": "set(text)"}


class by_frequency(Misconception):
    """The ids follow how often the characters occur: they should follow the sorted order."""

    variants = [
        {"sorted(set(text))": "[symbol for symbol, _ in Counter(text).most_common()]"},
        {"set(text)": "set(text), key=lambda symbol: (-text.count(symbol), symbol)"},
    ]


class reversed_(Minor):
    """The characters are sorted the wrong way round: the smallest gets id 0."""

    edits = {"set(text)": "set(text), reverse=True"}


class ignoring_case(Misconception):
    """The characters are sorted without regard to capitals: plain `sorted` puts the capitals first."""

    edits = {"set(text)": ["set(text), key=lambda symbol: (symbol.lower(), symbol)", "set(text), key=str.swapcase"]}


class lowercased(Misconception):
    """The text is turned into small letters, or normalised: keep every character as it is."""

    variants = [
        {"set(text)": "set(text.lower())"},
        {"set(text)": ["set(unicodedata.normalize('NFC', text))", "set(unicodedata.normalize('NFD', text))"]},
    ]


class duplicates_kept(Misconception):
    """Characters that occur several times are counted several times: make them unique first (set)."""

    variants = [
        {"set(text)": "text"},
        loop.edited(
            {
                "itos[len(stoi)] = c; stoi[c] = len(stoi)": "stoi[c], itos[i] = i, c",
                "c in sorted(text)": "i, c in enumerate(sorted(text))",
            }
        ),
    ]


class from_one(Minor):
    """The ids begin at 1; the first one is 0."""

    edits = {"(set(text))": "(set(text)), 1"}


class words(Misconception):
    """The vocabulary is made of words: it should hold single characters."""

    edits = {"set(text)": "set(text.split())"}


class swapped(Minor):
    """The two dictionaries are swapped: stoi (character to id) comes first."""

    edits = {"stoi, itos": "itos, stoi"}


class same_twice(Minor):
    """The same dictionary is returned twice: itos goes the other way, from id to character."""

    edits = {", itos": ", stoi"}


class white_space_lost(Misconception):
    """Some characters are left out (white space, punctuation, other scripts): each character needs an id."""

    variants = [
        {"set(text)": [r"set(text) - set(' \n\t')", r"set(text) - set(' \n')", r"set(text) - set('\n')"]},
        {"set(text)": "set(text.replace(' ', ''))"},
        {"set(text)": "set(text.strip())"},
        {
            "set(text)": [
                f"symbol for symbol in set(text) if {part}"
                for part in ("symbol.isalpha()", "symbol.isalnum()", "symbol.isalnum() or symbol == ' '")
            ]
        },
        {
            "set(text)": [
                "symbol for symbol in set(text) if symbol.isascii()",
                "symbol for symbol in set(text) if symbol.isprintable()",
                "symbol for symbol in set(text) if symbol.isprintable() and symbol.isascii()",
            ]
        },
    ]


class fixed_alphabet(Fundamental):
    """The vocabulary is a fixed alphabet: number the characters of this text, and no others."""

    edits = {
        "sorted(set(text))": [
            "map(chr, range(32, 127))",
            "map(chr, range(128))",
            "map(chr, range(97, 123))",
            "map(chr, range(256))",
            "'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'",
        ]
    }


class code_points(Misconception):
    """The ids are Unicode numbers (`ord`): they should be 0, 1, 2 and so on, in this vocabulary."""

    edits = {"dict(enumerate(sorted(set(text))))": "{ord(symbol): symbol for symbol in sorted(set(text))}"}


class special_tokens(Misconception):
    """Special tokens are put into the vocabulary: here it holds the characters of the text alone."""

    variants = [
        {"sorted": [f"[{first}] + sorted" for first in ("'<unk>'", "'<pad>', '<unk>'", "'<pad>'", "'.'")]},
        {"(set(text))": ["(set(text)) + ['<unk>']", "(set(text) | {'<unk>'})"]},
    ]


class bytes_(Misconception):
    """The vocabulary is made of bytes (`encode`): here it is made of characters."""

    edits = {"set(text)": "set(text.encode())"}


class last_only(Misconception):
    """Only the first or the last character is in the vocabulary: a `return`, or new dictionaries, inside the loop."""

    variants = [
        {"return": "stoi, itos = dict([*stoi.items()][-1:]), dict([*itos.items()][-1:])\nreturn"},
        """
        for i, symbol in enumerate(sorted(set(text))): stoi, itos = {symbol: i}, {i: symbol}
        return stoi, itos
        """,
        loop.edited({"itos[len(stoi)] = c; stoi[c] = len(stoi)": "stoi[c] = 0; itos[0] = c; return stoi, itos"}),
    ]


class last_missing(Minor):
    """The last character of the sorted order is missing: a range or a slice ends one too early."""

    edits = {"(set(text))": "(set(text))[:-1]"}


class empty_fails(Misconception):
    """An empty text fails: it has an empty vocabulary, two empty dictionaries."""

    edits = {
        "itos =": [
            "assert text\nitos =",
            "text[0]\nitos =",
            "if not text: return None\nitos =",
            "if not text: raise ValueError('text is empty')\nitos =",
        ]
    }


class itos_is_a_list(Minor):
    """`itos` is a list (or a string): a dictionary from id to character is asked for."""

    edits = {", itos": [", list(itos.values())", ", ''.join(itos.values())"]}


class text_keys(Minor):
    """The ids are strings, as values of stoi or as keys of itos: they should be whole numbers (int)."""

    variants = [
        {"stoi, itos": "{c: str(i) for c, i in stoi.items()}, {str(i): c for i, c in itos.items()}"},
        {", itos": ", {str(i): c for i, c in itos.items()}"},
    ]


class only_stoi(Misconception):
    """Only one dictionary, or a list, is returned: the pair is asked for, `return stoi, itos`."""

    variants = [
        {", itos": ""},
        {"stoi, itos": "itos"},
        {"stoi, itos": "[stoi, itos]"},
    ]


class size_too(Minor):
    """More than the two dictionaries is returned: the pair (stoi, itos) is asked for."""

    variants = [{", itos": ", itos, len(stoi)"}, {"stoi,": "sorted(stoi), stoi,"}]
