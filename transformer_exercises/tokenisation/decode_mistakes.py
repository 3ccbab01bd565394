"""Wrong and right answers to `decode`. The reference (02-tokenisation):

def decode(ids, itos):
    for i in ids:
        if i not in itos:
            raise ValueError(f"ids contains {i}, which is not in the vocabulary")
    return "".join(itos[i] for i in ids)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

# Right answers in other styles


class try_and_except(RightAnswer):
    code = """
    text = ""
    for i in ids:
        try: text += itos[i]
        except KeyError: raise ValueError(f"no symbol has the id {i}")
    return text
    """


class all_at_once(RightAnswer):
    code = """
    unknown = [i for i in ids if itos.get(i) is None]
    if len(unknown) > 0: raise ValueError("unknown ids: %s" % unknown)
    return "".join([itos[i] for i in ids])
    """


class one_character_at_a_time(RightAnswer):
    code = """
    def symbol(i):
        if i in itos.keys(): return itos[i]
        raise ValueError("id " + str(i) + " is not in itos")
    return str().join(map(symbol, ids))
    """


# Mistakes


class known_refused(Fundamental):
    """The test is the wrong way round: known ids are refused, and unknown ones let through."""

    edits = {"i not in itos": "i in itos"}


class bad_input_accepted(Minor):
    """An unknown id gives no ValueError (but a KeyError, or some text): test for it, and raise one that names it."""

    edits = {'raise ValueError(f"ids contains {i}, which is not in the vocabulary")': "pass"}


class not_named(Minor):
    """The message does not say which id is unknown (the whole list says it of none): put the id into it."""

    edits = {'f"ids contains {i}, which is not in the vocabulary"': ['"unknown id"', 'f"unknown ids in {ids}"']}


class skipped(Misconception):
    """Unknown ids are skipped without an error: raise a ValueError."""

    code = "return ''.join(itos[i] for i in ids if i in itos)"


class silent_symbol(Misconception):
    """Unknown ids become some symbol without an error: raise a ValueError."""

    variants = [
        "return ''.join(itos.get(i, '?') for i in ids)",
        "return ''.join(itos.get(i, '<unk>') for i in ids)",
        r"return ''.join(itos.get(i, '\ufffd') for i in ids)",
        "return ''.join(itos.get(i, ' ') for i in ids)",
        "return ''.join(str(itos.get(i)) for i in ids)",
    ]


class error_returned(common_mistakes.error_returned):
    edits = {
        'raise ValueError(f"ids contains {i}, which is not in the vocabulary")': [
            'print(f"{i} is unknown")\nreturn ""',
            'return f"{i} is unknown"',
        ]
    }


class zero_skipped(Minor):
    """The id 0 is skipped (`if i`), as if it were padding: 0 is an id like any other."""

    edits = {"ids)": "ids if i)"}


class range_checked(Misconception):
    """Ids are compared with the vocabulary's size: what counts is whether `itos` knows the id."""

    edits = {"not in itos": [">= len(itos)", "< 0 or i >= len(itos)", "< 0 or i > max(itos)", "> max(itos)"]}


class list_of_values(Misconception):
    """The values of `itos` are made a list, and ids its indices: ids need not be 0, 1, 2, and −1 is no error."""

    variants = [
        """
        symbols = list(itos.values())
        return ''.join(symbols[i] for i in ids)
        """,
        """
        symbols = [itos[i] for i in sorted(itos)]
        return ''.join(symbols[i] for i in ids)
        """,
        {"not in itos": [">= len(itos)", "< 0 or i >= len(itos)"], "itos[i]": "list(itos.values())[i]"},
    ]


class keys_missed(Fundamental):
    """The keys of `itos` are the ids, whole numbers: look for these, not for strings or values."""

    variants = [{"in itos": "in itos.values()"}, "return ''.join(itos[str(i)] for i in ids)"]


class lowercased(Misconception):
    """The text comes back in small letters: it should come back as it was."""

    edits = {"(itos[i] for i in ids)": "(itos[i] for i in ids).lower()"}


class spaces_between(Minor):
    """The characters are joined with spaces: join them with the empty string."""

    edits = {'"".': '" ".'}


class list_(Minor):
    """A list of characters is returned: a string is asked for (join them)."""

    edits = {'"".join(itos[i] for i in ids)': "[itos[i] for i in ids]"}


class lazy(Fundamental):
    """A map or a generator is returned: a string is asked for (join the characters)."""

    edits = {'"".join(itos[i] for i in': ["map(itos.get,", "(itos[i] for i in"]}


class text_of_a_list(Minor):
    """`str` of a list of characters has its brackets and commas too: join the characters."""

    edits = {'"".join(itos[i] for i in ids)': "str([itos[i] for i in ids])"}


class numbers_joined(Misconception):
    """The numbers themselves are joined: look each one up in `itos`."""

    edits = {'"".join(itos[i] for i in ids)': "''.join(str(i) for i in ids)"}


class code_points(Misconception):
    """The ids are taken for Unicode numbers (`chr`): look them up in `itos`."""

    variants = [
        {'"".join(itos[i] for i in ids)': "''.join(chr(i) for i in ids)"},
        "return ''.join(chr(i) for i in ids)",
    ]


class ends_stripped(Minor):
    """`strip` removes white space at the ends, so the text does not come back as it was."""

    edits = {
        "(itos[i] for i in ids)": [
            "(itos[i] for i in ids).strip()",
            "(itos[i] for i in ids).rstrip()",
            "(itos[i] for i in ids).lstrip()",
        ]
    }


class white_space_dropped(Misconception):
    """White space is lost: the text should come back exactly."""

    edits = {
        '"".join(itos[i] for i in ids)': [
            "\"\".join(itos[i] for i in ids).replace(' ', '')",
            "''.join(\"\".join(itos[i] for i in ids).split())",
        ]
    }


class order_lost(Misconception):
    """The characters come back in another order (reversed or sorted): follow the ids."""

    edits = {"(itos[i] for i in ids)": ["(itos[i] for i in ids)[::-1]", "(itos[i] for i in sorted(ids))"]}


class unique(Misconception):
    """Each different id is decoded once: repetitions belong to the text."""

    edits = {"[i] for i in ids": ["[i] for i in set(ids)", "[i] for i in dict.fromkeys(ids)"]}


class vocabulary_returned(Fundamental):
    """The symbols of the vocabulary are joined, whatever the ids: follow the ids."""

    edits = {"[i] for i in ids": ["[i] for i in itos", "[i] for i in sorted(itos)"]}


class last_missing(Minor):
    """The last id is not decoded: a range or a slice ends one too early."""

    variants = [{"ids)": "ids[:-1])"}, {"in ids": "in ids[:-1]"}]


class off_by_one(Minor):
    """The ids are shifted by one before they are looked up."""

    edits = {'"".join(itos[i]': "''.join(itos.get(i - 1, '')"}


class first_only(Misconception):
    """Only the first id is decoded: a `return` stands inside the loop."""

    edits = {"in ids": "in ids[:1]"}


class last_only(Misconception):
    """Only the last character is returned: add to the text instead of overwriting it."""

    edits = {"in ids)": "in ids[-1:])"}


class empty_refused(Misconception):
    """An empty list of ids is refused: it stands for the empty text."""

    edits = {
        "for i in ids:": [
            "if not ids: raise ValueError('ids is empty')\nfor i in ids:",
            "if not ids: return None\nfor i in ids:",
            "ids[0]\nfor i in ids:",
        ]
    }
