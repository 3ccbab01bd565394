"""Wrong and right answers to `split_words`. The reference (02-tokenisation):

def split_words(text):
    spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text]
    return "".join(spaced).split()
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

# Right answers in other styles


class loop(RightAnswer):
    code = """
    out, word = [], ""
    for c in text:
        if c.isspace():
            if word: out.append(word)
            word = ""
        elif unicodedata.category(c)[0] == "P":
            if word: out.append(word)
            out.append(c)
            word = ""
        else: word += c
    return out + [word] if word else out
    """


class letters_marks_and_numbers(RightAnswer):
    code = """
    pieces, inside = [], False
    for symbol in text:
        if symbol.isspace(): inside = False; continue
        kind = unicodedata.category(symbol)
        joins = kind[0] in "LMNS"
        if joins and inside: pieces[-1] += symbol
        else: pieces.append(symbol)
        inside = joins
    return pieces
    """


class pattern_made_of_the_text(RightAnswer):
    code = r"""
    marks = "".join(re.escape(c) for c in set(text) if unicodedata.category(c).startswith("P")) or "\\n"
    return re.findall(rf"[{marks}]|[^\s{marks}]+", text) if marks != "\\n" else text.split()
    """


# Mistakes


class signs_apart(Minor):
    """Signs such as € and + or emoji are split off: only categories that begin with P are punctuation."""

    variants = [
        {'.startswith("P")': '[0] in "PS"'},
        letters_marks_and_numbers.edited({"LMNS": "LMN"}),
        "return [piece for piece, span in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)]",
        {"(symbol)": '(symbol) in ("So", "Sk") or unicodedata.category(symbol)'},
    ]


class word_class_of_re(Misconception):
    r"""`\w` and `isalnum` leave out combining marks (categories M), so words of Bangla or Hindi fall apart."""

    edits = {'"".join(spaced).split()': r're.findall(r"\w+|[^\w\s]", text)'}


class marks_and_punctuation_together(Misconception):
    """Neighbouring punctuation marks stay together, and so do combining marks, torn off words."""

    variants = [
        r'return re.findall(r"\w+|[^\w\s]+", text)',
        r"return [p for p in re.split(r'(\W+)', text) if p.strip()]",
        r"return [p.strip() for p in re.split(r'(\W+)', text) if p.strip()]",
    ]


class punctuation_lost(Misconception):
    """Punctuation is thrown away: each mark is a piece of its own."""

    variants = [
        r'return re.findall(r"\w+", text)',
        'return re.findall(r"[a-zA-Z]+", text)',
        'return re.findall(r"[a-zA-Z0-9]+", text)',
        r"return re.split(r'\W+', text)",
        r"return re.sub(r'[^\w\s]', '', text).split()",
        "import string; return text.translate(str.maketrans('', '', string.punctuation)).split()",
        "import string; return [w.strip(string.punctuation) for w in text.split()]",
        {'f" {symbol} "': ['" "', '""']},
    ]


class white_space_only(Fundamental):
    """The text is split at white space only: each punctuation mark is a piece of its own."""

    variants = ["return text.split()", "return text.split(' ')"]


class ascii_letters(Misconception):
    """Only a to z count as letters, so words of other scripts fall apart: ask `unicodedata.category`."""

    variants = [
        r'return re.findall(r"[A-Za-z0-9]+|[^A-Za-z0-9\s]", text)',
        r'return re.findall(r"[A-Za-z]+|[^A-Za-z\s]", text)',
        r'return re.findall(r"[a-zA-Z0-9]+|[^\w\s]", text)',
        r'return re.findall(r"[a-zA-Z]+|[0-9]+|[^\w\s]", text)',
        r'return re.findall(r"[a-zA-Z]+|[^\w\s]", text)',
        'return re.findall(r"[A-Za-z0-9]+|[.,!?;:]", text)',
        'return re.findall(r"[A-Za-z]+|[.,!?;:]", text)',
        r'return re.findall(r"\w+|[^\w\s]", text, re.ASCII)',
    ]


class ascii_punctuation(Misconception):
    """Your list of marks or categories is incomplete: every category that begins with P is punctuation, « ¿ । ، too."""

    variants = [
        {'unicodedata.category(symbol).startswith("P")': 'symbol in __import__("string").punctuation'},
        "return ''.join(f' {c} ' if c in '.,!?;:' else c for c in text).split()",
        "return ''.join(f' {c} ' if c in '.,!?;:\\'\"()-' else c for c in text).split()",
        "return ''.join(f' {c} ' if c in '.,!?;:\\'\"()[]-\\u2026–“”‘’' else c for c in text).split()",
        r'return re.findall(r"\b\w+\b|[.,!?;]", text)',
        r'return re.findall(r"\w+|[.,!?;:]", text)',
        r'return re.findall(r"\w+|[.,!?]", text)',
        'return re.sub(r"([.,!?;:\\"\'()])", r" \\1 ", text).split()',
        {
            'unicodedata.category(symbol).startswith("P")': [
                'unicodedata.category(symbol) == "Po"',
                "symbol in '.,!?;:।،؟。，¿«»“”'",
            ]
        },
        {
            ').startswith("P"': [
                ') in ("Po", "Ps", "Pe"',
                ') in ("Po", "Pd"',
                ') in ("Po", "Pd", "Ps", "Pe"',
                ') in ("Po", "Ps", "Pe", "Pi", "Pf"',
            ]
        },
    ]


class punctuation_grouped(Misconception):
    """Punctuation marks that follow each other are kept together: each mark is a piece of its own."""

    variants = [
        "return [piece for piece, _ in pre_tokenizers.Whitespace().pre_tokenize_str(text)]",
        """
        from itertools import groupby
        pieces = [groupby(word, lambda symbol: unicodedata.category(symbol)[0] == "P") for word in text.split()]
        return ["".join(piece) for word in pieces for _, piece in word]
        """,
        {'f" {symbol} "': r'f"\x1e{symbol}\x1f"', '"".join(spaced)': r'"".join(spaced).replace("\x1f\x1e", "")'},
    ]


class apostrophe_kept(Misconception):
    """An apostrophe or a hyphen stays inside its word: it is a mark like the others, a piece of its own."""

    variants = [
        {'("P")': [f'("P") and symbol not in "{kept}"' for kept in ("'", "-", "'-", "’", "'’", "'’-", "’-")]},
        *(
            f"""
            spaced = ""
            for i, symbol in enumerate(text):
                inside = symbol in "{kept}" and text[i - 1 : i].isalpha() and text[i + 1 : i + 2].isalpha()
                spaced += f" {{symbol}} " if unicodedata.category(symbol)[0] == "P" and not inside else symbol
            return spaced.split()
            """
            for kept in ("'", "'’", "'’-")
        ),
        'return re.findall(r"[\\w\']+|[^\\w\\s]", text)',
        'return re.findall(r"[\\w\'-]+|[^\\w\\s]", text)',
        'return re.findall(r"\\w+(?:\'\\w+)?|[^\\w\\s]", text)',
        'return re.findall(r"\\w+(?:[-\']\\w+)*|[^\\w\\s]", text)',
    ]


class underscore_kept(Minor):
    """The underscore stays inside its word: its category is Pc, so it is a mark like the others."""

    edits = {'("P")': '("P") and symbol != "_"'}


class digits_lost(Misconception):
    """Digits get lost, or are split off: a word is a run of letters and digits, such as 2024 or B2B."""

    variants = [
        letters_marks_and_numbers.edited({'kind[0] in "LMNS': 'symbol.isalpha() or kind[0] == "M'}),
        {'"".join(spaced)': 're.sub(r"(?<=[0-9])(?=[A-Za-z])|(?<=[A-Za-z])(?=[0-9])", " ", "".join(spaced))'},
    ]


class combining_class(Misconception):
    """`unicodedata.combining` is 0 for vowel signs of Bangla and Hindi (category Mc): ask for the category."""

    based_on = letters_marks_and_numbers
    edits = {'kind[0] in "LMNS"': "symbol.isalnum() or unicodedata.combining(symbol)"}


class non_spacing_only(Misconception):
    """Only marks of category Mn, or only Mc, stay with their word: take all categories that begin with M."""

    variants = [
        letters_marks_and_numbers.edited({'kind[0] in "LMNS': 'symbol.isalnum() or kind == "Mn'}),
        letters_marks_and_numbers.edited({'kind[0] in "LMNS': 'symbol.isalnum() or kind == "Mc'}),
    ]


class some_scripts(Misconception):
    """Marks of some scripts only are allowed in words (a range of code points): take Unicode's categories M."""

    variants = [
        r'return re.findall(r"[\w\u0300-\u036f]+|[^\w\s]", text)',
        r'return re.findall(r"[\w\u0980-\u09ff]+|[^\w\s]", text)',
        r'return re.findall(r"[\w\u0300-\u036f\u0980-\u09ff]+|[^\w\s]", text)',
        r'return re.findall(r"[\w\u0300-\u036f\u0900-\u09ff]+|[^\w\s]", text)',
    ]


class mark_ends_word(Misconception):
    """A combining mark is kept, but the letter after it begins a new word: a word goes on after its marks."""

    based_on = letters_marks_and_numbers
    edits = {'kind[0] in "LMNS': 'symbol.isalnum() or kind[0] == "M', "= joins": "= joins and symbol.isalnum()"}


class normalised(Misconception):
    """The text is normalised (NFC, NFD, NFKC), which changes its characters: leave them as they are."""

    edits = {
        "spaced = [": [
            'text = unicodedata.normalize("NFC", text)\nspaced = [',
            'text = unicodedata.normalize("NFD", text)\nspaced = [',
            'text = unicodedata.normalize("NFKC", text)\nspaced = [',
            'text = unicodedata.normalize("NFKD", text)\nspaced = [',
        ]
    }


class marks_removed(Misconception):
    """Combining marks are removed, which makes other words of them: a mark stays with its word."""

    variants = [
        {
            "text]": [
                'text if unicodedata.category(symbol)[0] != "M"]',
                'text if unicodedata.category(symbol) != "Mn"]',
                'unicodedata.normalize("NFD", text) if unicodedata.category(symbol) != "Mn"]',
            ]
        },
        r'return re.findall(r"\w+|[^\w\s]", text.encode("ascii", "ignore").decode())',
    ]


class signs_lost(Misconception):
    """Signs such as € and +, or emoji, get lost: nothing but white space may disappear."""

    variants = [
        {"else symbol for": 'else symbol if unicodedata.category(symbol)[0] in "LMN" else " " for'},
        {"text]": 'text if unicodedata.category(symbol)[0] != "S"]'},
    ]


class lowercased(Minor):
    """Words are turned into small letters: nothing but white space may change."""

    variants = [
        {".split": ".lower().split"},
        r'return re.findall(r"\w+|[^\w\s]", text.lower())',
        "return text.lower().split()",
    ]


class blanks_only(Misconception):
    """Only blanks, or only ASCII white space, separate words: `split()` without an argument knows all kinds."""

    variants = [
        {"split()": ['split(" ")', r'replace("\n", " ").split(" ")']},
        {'"".join(spaced).split()': '[p for p in "".join(spaced).split(" ") if p]'},
        {
            '"".join(spaced).split()': [
                r'[p for p in re.split(r"[ \t\r\n]+", "".join(spaced)) if p]',
                r'[p for p in re.split(r"[ \t\n]+", "".join(spaced)) if p]',
            ]
        },
    ]


class separators_only(Misconception):
    """White space is taken to be the categories Z: tabs and line breaks are in C, so ask `isspace()` or `split()`."""

    edits = {
        '"".join(spaced).split()': (
            """[p for p in re.split("[ \\xa0\\u2009\\u3000\\u2028\\u2029]", "".join(spaced)) if p]"""
        )
    }


class white_space_kept(Misconception):
    """White space is kept as pieces: it only separates."""

    variants = [
        {'"".join(spaced).split()': r'[p for p in re.split(r"(\s)", "".join(spaced)) if p]'},
        r"return [p for p in re.split(r'(\W)', text) if p]",
        r"return re.split(r'(\W)', text)",
        r"return re.split(r'(\s+)', text)",
        "return [piece for piece, _ in pre_tokenizers.Punctuation().pre_tokenize_str(text)]",
    ]


class empty_strings(Minor):
    """Empty strings stand among the words: a word is added only if it holds a character."""

    variants = [
        loop.edited({"if word: out.append(word)": "out.append(word)", " if word else out": ""}),
        {'"".join(spaced).split()': [r're.split(r"\s+", "".join(spaced))', r're.split(r"\s", "".join(spaced))']},
        """
        pieces = []
        for word in text.split():
            pieces.append("")
            for symbol in word:
                if unicodedata.category(symbol)[0] == "P": pieces += [symbol, ""]
                else: pieces[-1] += symbol
        return pieces
        """,
    ]


class last_mark_only(Misconception):
    """Punctuation is split off at the end, or the ends, of a word only: inside a word each mark is a piece too."""

    variants = [
        """
    return [p for w in text.split() for p in ((w[:-1], w[-1]) if len(w) > 1 and w[-1] in ".,!?;:" else (w,))]
    """,
        """
    pieces = []
    for word in text.split():
        after = []
        while word and unicodedata.category(word[0])[0] == "P": pieces.append(word[0]); word = word[1:]
        while word and unicodedata.category(word[-1])[0] == "P": after.insert(0, word[-1]); word = word[:-1]
        pieces += [word] * bool(word) + after
    return pieces
    """,
    ]


class space_on_one_side(Misconception):
    """A punctuation mark is parted from one of its neighbours only: it needs white space on both sides."""

    edits = {'" {symbol} "': ['" {symbol}"', '"{symbol} "']}


class last_word_lost(Minor):
    """The last word is lost when no mark follows it: add what was collected after the loop."""

    variants = [
        {'"".join(spaced)': r're.sub(r"\S+\Z", "", "".join(spaced))'},
        {
            "spaced =": """
                while text and not text[-1].isspace() and unicodedata.category(text[-1])[0] != "P": text = text[:-1]
                spaced =
            """
        },
    ]


class characters(Fundamental):
    """The text is split into single characters: only punctuation marks are pieces of their own."""

    variants = ["return list(text)", "return [c for c in text if not c.isspace()]"]


class unique(Misconception):
    """Each word is listed once, or the words are sorted: the list follows the text."""

    edits = {
        '"".join(spaced).split()': [
            'sorted(set("".join(spaced).split()))',
            'list(dict.fromkeys("".join(spaced).split()))',
            'sorted("".join(spaced).split())',
        ]
    }


class counted(Fundamental):
    """Frequencies are returned: a list of the pieces, in the order of the text, is asked for."""

    edits = {'"".join(spaced).split()': 'Counter("".join(spaced).split())'}


class text_returned(Minor):
    """A string is returned: a list of strings is asked for."""

    edits = {'"".join(spaced).split()': ['"".join(spaced)', '" ".join("".join(spaced).split())']}


class tuple_(Misconception):
    """A tuple is returned: a list is asked for."""

    edits = {'"".join(spaced).split()': 'tuple("".join(spaced).split())'}


class lazy(Fundamental):
    """An iterator is returned, which can be read only once: make a list of it."""

    edits = {'"".join(spaced).split()': ['iter("".join(spaced).split())', '(p for p in "".join(spaced).split())']}
