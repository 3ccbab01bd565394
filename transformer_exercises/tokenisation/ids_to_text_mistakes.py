"""Wrong and right answers to `ids_to_text`. The reference (02-tokenisation-further):

def ids_to_text(ids, byte_ids, merges, special):
    stands_for = {i: bytes([byte]) for byte, i in enumerate(byte_ids)}
    for (left, right), new in sorted(merges.items(), key=lambda entry: entry[1]):  # the parts are older than the whole
        stands_for[new] = stands_for[left] + stands_for[right]
    for name, i in special.items():
        stands_for[i] = name.encode("utf-8")
    for i in ids:
        if i not in stands_for:
            raise ValueError(f"ids contains {i}, which is not in the vocabulary")
    return b"".join(stands_for[i] for i in ids).decode("utf-8", errors="replace")
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

# Right answers in other styles


class recursive(RightAnswer):
    code = """
    halves, names = dict(zip(merges.values(), merges.keys())), dict(zip(special.values(), special.keys()))
    def bytes_of(i):
        if i in names: return names[i].encode()
        if i in halves: return b"".join(map(bytes_of, halves[i]))
        try: return bytes([byte_ids.index(i)])
        except ValueError: raise ValueError(f"unknown id {i}") from None
    data = b""
    for i in ids: data += bytes_of(i)
    return str(data, "utf-8", "replace")
    """


class by_a_stack(RightAnswer):
    code = """
    halves, byte_of = {new: pair for pair, new in merges.items()}, {i: b for b, i in enumerate(byte_ids)}
    names, out, stack = {i: name for name, i in special.items()}, bytearray(), list(ids)[::-1]
    while stack:
        i = stack.pop()
        if i in names: out += names[i].encode("utf-8")
        elif i in halves: stack += [halves[i][1], halves[i][0]]
        elif i in byte_of: out.append(byte_of[i])
        else: raise ValueError("there is no id %d" % i)
    return out.decode("utf-8", "replace")
    """


# Mistakes


class decoded_one_by_one(Misconception):
    """Each id is decoded by itself, which breaks characters spread over several ids: join the bytes first."""

    edits = {
        'b"".join(stands_for[i] for i in ids).decode("utf-8", errors="replace")': [
            '"".join(stands_for[i].decode("utf-8", errors="replace") for i in ids)',
            '"".join(stands_for[i].decode("utf-8", errors="ignore") for i in ids)',
        ]
    }


class not_replaced(Misconception):
    """Bytes that are not UTF-8 stop the program: `errors="replace"` makes them the replacement character."""

    edits = {', errors="replace"': ""}


class dropped(Misconception):
    """Bytes that are not UTF-8 are dropped or written out: `errors="replace"` makes them the replacement character."""

    edits = {"replace": ["ignore", "backslashreplace", "surrogateescape"]}


class another_encoding(Misconception):
    """The bytes are decoded by another rule than UTF-8."""

    variants = [
        {'utf-8", errors="replace': "latin-1"},
        {'"utf-8",': ['"ascii",', '"utf-16-le",']},
        {
            "bytes([byte])": "chr(byte)",
            '.encode("utf-8")': "",
            'b"".join(stands_for[i] for i in ids).decode("utf-8", errors="replace")': (
                '"".join(stands_for[i] for i in ids)'
            ),
        },
    ]


class dictionary_order(Minor):
    """The merges are worked through in another order than that of their new ids: begin with the smallest."""

    variants = [
        {"sorted(merges.items(), key=lambda entry: entry[1])": "merges.items()"},
        {
            "sorted(merges.items(), key=lambda entry: entry[1])": "merges.items()",
            "[left] + stands_for[right]": '.get(left, b"") + stands_for.get(right, b"")',
        },
        {", key=lambda entry: entry[1]": ""},
    ]


class parts_swapped(Misconception):
    """The right part comes before the left one."""

    edits = {"left] + stands_for[right": "right] + stands_for[left"}


class one_part(Misconception):
    """Only one part of a merged pair comes back: both belong to it, left and right."""

    edits = {"stands_for[left] + stands_for[right]": ["stands_for[left]", "stands_for[right]"]}


class one_level(Misconception):
    """A merged id is taken apart once only: its parts may be merged ids themselves."""

    edits = {"stands_for[left] + stands_for[right]": 'b"".join(bytes([i]) for i in (left, right) if i < 256)'}


class merges_ignored(Misconception):
    """Merged ids are unknown or empty: they stand for what their two parts stand for."""

    variants = [
        {"stands_for[left] + stands_for[right]": 'b""'},
        {"sorted(merges.items(), key=lambda entry: entry[1])": "()"},
    ]


class ids_for_bytes(Misconception):
    """The ids are taken for the bytes themselves: an id's byte is the id's place in `byte_ids`."""

    edits = {"i: bytes([byte]) for byte, i in enumerate(byte_ids)": "byte: bytes([byte]) for byte in range(256)"}


class byte_ids_inverted(Misconception):
    """`byte_ids` is read the wrong way round: `byte_ids[b]` is the id of the byte b."""

    edits = {"i: bytes([byte])": "byte: bytes([i])"}


class special_lost(Misconception):
    """The ids of special tokens are unknown, or give nothing: they stand for their text, in `special`."""

    variants = [
        {'name.encode("utf-8")': 'b""'},
        {"special.items()": "()"},
    ]


class special_trimmed(Misconception):
    """The text of a special token is trimmed, spaced or re-encoded: it comes back as it was."""

    variants = [
        {"name.": 'name.strip("<|>[]").'},
        {"name.": 'f" {name} ".'},
        {'("utf-8")': ['("latin-1", errors="replace")', '("ascii", errors="ignore")']},
    ]


class special_zero(Misconception):
    """A special token whose id is 0 is taken for none: 0 is an id like any other."""

    edits = {'("utf-8")': '("utf-8") if i else b""'}


class known_refused(Fundamental):
    """The test is the wrong way round: known ids are refused, and unknown ones let through."""

    edits = {"i not in stands_for": "i in stands_for"}


class bad_input_accepted(Minor):
    """An unknown id gives no ValueError (but a KeyError, or some text): test for it, and raise one that names it."""

    edits = {'raise ValueError(f"ids contains {i}, which is not in the vocabulary")': "pass"}


class not_named(Misconception):
    """The message does not say which id is unknown (the whole list says it of none): put the id into it."""

    edits = {'f"ids contains {i}, which is not in the vocabulary"': ['"unknown id"', 'f"unknown ids in {ids}"']}


class skipped(Misconception):
    """Unknown ids are skipped, or become some symbol, without an error: raise a ValueError."""

    variants = [
        {'raise ValueError(f"ids contains {i}, which is not in the vocabulary")': 'stands_for[i] = b""'},
        {
            'raise ValueError(f"ids contains {i}, which is not in the vocabulary")': [
                'stands_for[i] = b"?"',
                'stands_for[i] = b"<unk>"',
                r'stands_for[i] = b"\xff"',
            ]
        },
    ]


class zero_skipped(Misconception):
    """The id 0 is skipped (`if i`): 0 is an id like any other."""

    edits = {"ids).": "ids if i)."}


class spaces_between(Misconception):
    """The tokens are joined with spaces: join them with nothing, their spaces belong to them."""

    edits = {'"".': '" ".'}


class lowercased(Misconception):
    """The text is changed (small letters, `strip`): it should come back as it was."""

    variants = [
        {'"replace")': '"replace").lower()'},
        {'"replace")': ['"replace").strip()', '"replace").lstrip()', '"replace").rstrip()']},
    ]


class reversed_(Misconception):
    """The ids are decoded in another order, or each once: follow the ids, repetitions too."""

    variants = [
        {"[i] for i in ids": ["[i] for i in reversed(ids)", "[i] for i in sorted(ids)"]},
        {"[i] for i in ids": "[i] for i in dict.fromkeys(ids)"},
    ]


class last_missing(Misconception):
    """Only the first id is decoded, or the last one is missing: decode all of them."""

    variants = [
        {"[i] for i in ids": "[i] for i in ids[:-1]"},
        {"[i] for i in ids": "[i] for i in ids[:1]"},
    ]


class bytes_returned(Fundamental):
    """Bytes are returned: decode them into a string."""

    edits = {'.decode("utf-8", errors="replace")': ""}


class text_of_bytes(Misconception):
    """The bytes are turned into text with `str`, or into a list: decode them into one string."""

    variants = [
        {
            'b"".join(stands_for[i] for i in ids).decode("utf-8", errors="replace")': (
                'str(b"".join(stands_for[i] for i in ids))'
            )
        },
        {
            'b"".join(stands_for[i] for i in ids).decode("utf-8", errors="replace")': (
                'list(b"".join(stands_for[i] for i in ids).decode("utf-8", errors="replace"))'
            )
        },
    ]


class empty_refused(Misconception):
    """An empty list of ids is refused: it stands for the empty text."""

    edits = {
        "for i in ids:": [
            'if not ids: raise ValueError("ids is empty")\nfor i in ids:',
            "if not ids: return None\nfor i in ids:",
        ]
    }
