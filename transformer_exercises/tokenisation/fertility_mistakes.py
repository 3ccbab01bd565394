"""Wrong and right answers to `fertility`. The reference (02-tokenisation):

def fertility(tokenizer, texts):
    result = {}
    for language, text in texts.items():
        words = text.split()
        if not words:
            raise ValueError(f"texts[{language!r}] has no words")
        result[language] = len(tokenizer.encode(text).ids) / len(words)
    return result
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

RATIO = "len(tokenizer.encode(text).ids) / len(words)"

# Right answers in other styles


class batch(RightAnswer):
    code = """
    encodings = tokenizer.encode_batch(list(texts.values()))
    if not all(map(str.split, texts.values())): raise ValueError("a text has no words")
    return {name: len(enc) / len(texts[name].split()) for name, enc in zip(texts, encodings)}
    """


class comprehension(RightAnswer):
    code = r"""
    def rate(text):
        n = len(re.findall(r"\S+", text))
        if not n: raise ValueError("texts: empty text")
        return len(tokenizer.encode(text).tokens) / n
    return {lang: rate(text) for lang, text in texts.items()}
    """


class try_and_except(RightAnswer):
    code = """
    try: return {k: len(tokenizer.encode(v).ids) / len(v.split()) for k, v in texts.items()}
    except ZeroDivisionError as error: raise ValueError("one of the texts has no words") from error
    """


# Mistakes


class inverted(Minor):
    """Words per token are computed: tokens per word is the other way round."""

    edits = {RATIO: "len(words) / len(tokenizer.encode(text).ids)"}


class per_character(Misconception):
    """The tokens are divided by the characters or bytes of the text: divide by its white-space words."""

    edits = {"(words)": ["(text)", "(text.encode())"]}


class characters_per_token(Misconception):
    """Characters are counted where tokens should be: the length of `tokenizer.encode(text).ids`."""

    variants = [
        {RATIO: "len(text) / len(tokenizer.encode(text).ids)"},
        {"len(tokenizer.encode(text).ids)": ["len(text)", "len(text.encode())", "sum(len(word) for word in words)"]},
    ]


class tokens_only(Misconception):
    """The number of tokens is returned, not yet divided by the number of words."""

    edits = {") / len(words)": [")", ") / 1"]}


class blanks_counted(Minor):
    """Words are found by blanks (' '), so tabs, new lines and runs of blanks count wrongly: `split()`."""

    variants = [
        {"split()": "split(' ')"},
        {"split()": "split(' ')", "not words": "not text.split()"},
        {"len(words)": ["(text.count(' ') + 1)", "max(text.count(' '), 1)"]},
        {"(words)": ["(text.strip().split(' '))", "([w for w in text.split(' ') if w])"]},
    ]


class marks_counted(Misconception):
    """Punctuation marks are counted, or words are cut at them: a word is what `text.split()` gives."""

    edits = {"text.split()": ["split_words(text)", r"re.findall(r'\w+', text)", r"re.findall(r'\w+|[^\w\s]', text)"]}


class word_by_word(Misconception):
    """Each word is encoded by itself, without the space in front of it: encode the whole text once."""

    edits = {
        "len(tokenizer.encode(text).ids)": [
            "sum(len(tokenizer.encode(word).ids) for word in words)",
            "sum(len(tokenizer.encode(' ' + word).ids) for word in words)",
        ]
    }


class white_space_changed(Misconception):
    """White space is changed before encoding (words joined again, the ends stripped): encode the text as it is."""

    edits = {"(text)": ["(' '.join(words))", "(''.join(words))", "(text.strip())"]}


class line_by_line(Misconception):
    """The lines are rated one by one and averaged: divide all tokens of the text by all of its words."""

    edits = {
        "result[language] = len(tokenizer.encode(text).ids) / len(words)": """
            lines = [line for line in text.splitlines() if line.strip()]
            result[language] = sum(len(tokenizer.encode(line).ids) / len(line.split()) for line in lines) / len(lines)
        """
    }


class tokens_left_out(Minor):
    """Some tokens are left out (special ones, such as the end of a text): count all that `encode(text).ids` holds."""

    variants = [
        {"(text).ids": "(text, add_special_tokens=False).ids"},
        {
            "tokenizer.encode(text).ids": [
                "[token for token in tokenizer.encode(text).tokens if token.strip()]",
                "[i for i in tokenizer.encode(text).ids if i]",
            ]
        },
    ]


class unique_tokens(Misconception):
    """Each different token, or each different word, is counted once: count every occurrence."""

    variants = [
        {
            "tokenizer.encode(text).ids) / len(words": [
                "set(tokenizer.encode(text).ids)) / len(words",
                "set(tokenizer.encode(text).ids)) / len(set(words)",
            ]
        },
        {"(words)": "(set(words))"},
    ]


class lowercased(Misconception):
    """The text is turned into small letters before it is encoded: encode it as it is."""

    edits = {"(text)": "(text.lower())"}


class whole_numbers(Minor):
    """The result is rounded or divided with `//`: keep the exact quotient."""

    variants = [
        {"/": "//"},
        {
            RATIO: [
                "float(len(tokenizer.encode(text).ids) // len(words))",
                f"round({RATIO})",
                f"round({RATIO}, 2)",
                f"round({RATIO}, 1)",
                f"round({RATIO}, 3)",
            ]
        },
    ]


class relative(Misconception):
    """The numbers are divided by that of the first language: each language stands for itself."""

    edits = {
        "return result": (
            "return {language: value / next(iter(result.values())) for language, value in result.items()}"
        )
    }


class accumulated(Misconception):
    """Tokens or words of the languages before are still counted: begin anew for each language."""

    edits = {
        RATIO: ["total / len(words)", "total / seen", "len(tokenizer.encode(text).ids) / seen"],
        "words = text.split()": """
            words = text.split()
            total += len(tokenizer.encode(text).ids)
            seen += len(words)
        """,
        "result = {}": "result, total, seen = {}, 0, 0",
    }


class one_number(Misconception):
    """One number for all languages is returned: a dictionary with one for each is asked for."""

    variants = [
        {"return result": ["return sum(result.values()) / len(result)", "return max(result.values())"]},
        """
        text = " ".join(texts.values())
        return len(tokenizer.encode(text).ids) / len(text.split())
        """,
    ]


class first_language_only(Misconception):
    """Only the first language is rated: a `return` stands inside the loop."""

    variants = [{"(words)": "(words)\nreturn result"}, {"result[language] =": "return"}]


class last_language_only(Misconception):
    """Only the last language is returned: the dictionary is made anew in the loop."""

    edits = {
        "result[language] = len(tokenizer.encode(text).ids) / len(words)": (
            "result = {language: len(tokenizer.encode(text).ids) / len(words)}"
        )
    }


class list_(Misconception):
    """A list is returned: a dictionary from each language to its number is asked for."""

    edits = {
        "return result": [
            "return list(result.values())",
            "return list(result.items())",
            "return sorted(result.items(), key=lambda item: -item[1])",
        ]
    }


class pairs_of_counts(Misconception):
    """Pairs of counts, or tokens, are returned: one number for each language, the quotient."""

    edits = {
        RATIO: [
            "(len(tokenizer.encode(text).ids), len(words))",
            "tokenizer.encode(text).ids",
            "tokenizer.encode(text).tokens",
        ]
    }


class text_values(Minor):
    """The numbers are strings: plain floats are asked for (format them when you print them)."""

    edits = {RATIO: [f"f'{{{RATIO}:.2f}}'", f"str({RATIO})"]}


class tensors(Misconception):
    """The numbers are tensors: plain floats are asked for (`.item()`)."""

    edits = {RATIO: f"torch.tensor({RATIO})"}


class texts_overwritten(Misconception):
    """The numbers are written into `texts`: the caller's texts are gone. Make a new dictionary."""

    edits = {"= {}": "= texts", "texts.items()": "list(texts.items())"}


class list_of_ids_expected(Fundamental):
    """`tokenizer.encode(text)` is an Encoding: its ids are `.ids`, its tokens `.tokens`."""

    edits = {"encode(text).ids": ["encode(text)['input_ids']", "tokenize(text)"]}


class bad_input_accepted(Minor):
    """A text without words, or of white space only, gives no ValueError: raise one before you divide."""

    edits = {"not words": "not text"}


class empty_hidden(Misconception):
    """A text without words gets some number or is left out: raise a ValueError."""

    variants = [
        {'raise ValueError(f"texts[{language!r}] has no words")': "pass", "len(words)": "max(len(words), 1)"},
        {
            'raise ValueError(f"texts[{language!r}] has no words")': [
                "result[language] = 0.0\ncontinue",
                "result[language] = math.nan\ncontinue",
                "result[language] = math.inf\ncontinue",
                "result[language] = None\ncontinue",
                "continue",
            ]
        },
    ]
