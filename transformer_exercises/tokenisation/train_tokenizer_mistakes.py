"""Wrong and right answers to `train_tokenizer`. The reference (02-tokenisation):

def train_tokenizer(texts, vocab_size):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # a space in front would stay
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

BYTE_LEVEL = "ByteLevel(add_prefix_space=False)"

# Right answers in other styles


class special_tokens(RightAnswer):
    edits = {
        "(),": """
            (),
            special_tokens=['<|endoftext|>', '[PAD]'],
            min_frequency=2,
        """
    }


class pieces_in_a_sequence(RightAnswer):
    edits = {
        BYTE_LEVEL: f"Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.{BYTE_LEVEL}])",
        "texts, trainer": "list(texts), trainer=trainer",
    }


class across_words(RightAnswer):
    edits = {"add_prefix_space=False": "add_prefix_space=False, use_regex=False"}


class ready_made(RightAnswer):
    code = """
    import tokenizers
    t = tokenizers.ByteLevelBPETokenizer()
    t.train_from_iterator(texts, vocab_size=vocab_size, show_progress=False)
    return t._tokenizer
    """


# Mistakes


class bytes_missing(Minor):
    """Not all 256 bytes are known: initial_alphabet=pre_tokenizers.ByteLevel.alphabet() in the trainer."""

    variants = [
        {"initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),": ""},
        {"pre_tokenizers.ByteLevel.alphabet()": ["[chr(i) for i in range(256)]", "[chr(i) for i in range(32, 127)]"]},
    ]


class no_decoder(Minor):
    """Byte symbols such as Ġ, or spaces, are left: set tokenizer.decoder = decoders.ByteLevel()."""

    variants = [{"tokenizer.decoder = decoders.ByteLevel()": ""}, {"ByteLevel()": ["BPEDecoder()", "WordPiece()"]}]


class prefix_space(Minor):
    """A space is put in front of every text: the pre-tokeniser needs add_prefix_space=False."""

    edits = {"add_prefix_space=False": ""}


class truncated(Minor):
    """Long texts are cut off (`enable_truncation`): leave this out, or they cannot come back."""

    edits = {
        "return tokenizer": [
            "tokenizer.enable_truncation(512)\nreturn tokenizer",
            "tokenizer.enable_truncation(128)\nreturn tokenizer",
        ]
    }


class white_space_lost(Misconception):
    """The pre-tokeniser throws white space away: ByteLevel turns it into symbols instead."""

    edits = {
        BYTE_LEVEL: [
            f"Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.{BYTE_LEVEL}])",
            "Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.ByteLevel()])",
        ]
    }


class characters(Misconception):
    """This is BPE over characters, and unseen ones vanish: pre_tokenizers.ByteLevel makes every text of 256 bytes."""

    variants = [
        {
            "tokenizer.decoder = decoders.ByteLevel()": [
                "",
                "tokenizer.decoder = decoders.ByteLevel()",
                "tokenizer.decoder = decoders.BPEDecoder()",
            ],
            "BPE()": "BPE(unk_token='[UNK]')",
            BYTE_LEVEL: "Whitespace()",
            "initial_alphabet=pre_tokenizers.ByteLevel.alphabet()": 'special_tokens=["[UNK]"]',
        },
        no_decoder.edited(
            {
                BYTE_LEVEL: "WhitespaceSplit()",
                "BPE()": "BPE(unk_token='[UNK]')",
                "initial_alphabet=pre_tokenizers.ByteLevel.alphabet()": 'special_tokens=["[UNK]"]',
            }
        ),
        {
            "BPE()": "BPE(unk_token='[UNK]')",
            BYTE_LEVEL: "Metaspace()",
            "ByteLevel()": "Metaspace()",
            "initial_alphabet=pre_tokenizers.ByteLevel.alphabet()": 'special_tokens=["[UNK]"]',
        },
        {"tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)": ""},
        {BYTE_LEVEL: ["Whitespace()", "Metaspace()"]},
        {BYTE_LEVEL: "Metaspace()", "ByteLevel()": "Metaspace()"},
        no_decoder.edited({"tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)": ""}),
    ]


class other_model(Fundamental):
    """This is WordPiece, Unigram or WordLevel: models.BPE and trainers.BpeTrainer belong together."""

    variants = [
        {
            "BPE()": "WordLevel(unk_token='[UNK]')",
            "BpeTrainer": "WordLevelTrainer",
            "initial_alphabet=pre_tokenizers.ByteLevel.alphabet()": "special_tokens=['[UNK]']",
        },
        {"BPE()": "WordPiece(unk_token='[UNK]')", "BpeTrainer": "WordPieceTrainer"},
    ]


class stripped(Minor):
    """A normaliser strips the white space at the ends of the text: leave it out."""

    edits = {
        "tokenizer.train_from": """
            from tokenizers import normalizers
            tokenizer.normalizer = normalizers.Strip()
            tokenizer.train_from
        """
    }


class normalised(Minor):
    """A normaliser changes the characters (NFC, accents stripped): leave it out, or texts cannot come back."""

    variants = [
        {
            "tokenizer.train_from": """
                from tokenizers import normalizers as n
                tokenizer.normalizer = n.Sequence([n.NFD(), n.StripAccents()])
                tokenizer.train_from
            """
        },
        stripped.edited({"Strip": ["NFC", "NFKC", "NFD", "NFKD"]}),
    ]


class lowercased(Minor):
    """A normaliser turns capitals into small letters, so the text cannot come back: leave it out."""

    variants = [
        stripped.edited({"Strip": ["Lowercase", "BertNormalizer"]}),
        normalised.edited(
            {"NFD(), n.StripAccents": ["NFKC(), n.Lowercase", "NFC(), n.Lowercase", "NFD(), n.Lowercase"]}
        ),
    ]


class size_not_kept(Misconception):
    """The vocabulary exceeds vocab_size: in the trainer, bytes, merges and special tokens count together."""

    variants = [
        {"vocab_size=vocab_size,": ""},
        {"=vocab_size": ["=vocab_size + 256", "=vocab_size + 1"]},
        {"(texts, trainer)": "(texts, trainer)\ntokenizer.add_tokens(['[PAD]', '[UNK]'])"},
    ]


class not_learned(Misconception):
    """Hardly any merges are learned: the vocabulary should be filled up to vocab_size."""

    edits = {"=vocab_size": "=256"}


class not_trained(Fundamental):
    """The tokenizer is returned without training: tokenizer.train_from_iterator(texts, trainer)."""

    edits = {"tokenizer.train_from_iterator(texts, trainer)": ""}


class trainer_not_passed(Minor):
    """The trainer is made but not passed on: train_from_iterator(texts, trainer)."""

    edits = {", trainer": ""}


class training_fails(Fundamental):
    """The training fails. `train` reads files; for texts call `train_from_iterator(texts, trainer)`."""

    variants = [
        {"texts, trainer": "trainer, texts"},
        {"train_from_iterator(texts, trainer)": ["train(texts, trainer)", "train(list(texts), trainer)"]},
    ]


class read_twice(Misconception):
    """The texts are read twice, but from an iterator nothing is left to learn after the first time."""

    edits = {
        "tokenizer.train_from_iterator": """
            total = sum(len(text) for text in texts)
            tokenizer.train_from_iterator
        """
    }


class list_expected(Misconception):
    """The texts are used as a list (len or an index), but any iterable may come: read it once."""

    edits = {
        "tokenizer.train_from_iterator(texts, trainer": [
            "tokenizer.train_from_iterator(texts, trainer, length=len(texts)",
            "assert isinstance(texts, list)\ntokenizer.train_from_iterator(texts, trainer",
        ]
    }


class first_texts_only(Misconception):
    """Only some of the texts are learned from (each call of a `train` method begins anew): all count."""

    variants = [
        {"texts, trainer": ["[next(iter(texts))], trainer", "[texts[0]], trainer", "list(texts)[:10], trainer"]},
        {
            "tokenizer.train_from_iterator(texts": [
                "tokenizer.train_from_iterator(texts[0]",
                "for text in texts: tokenizer.train_from_iterator([text]",
            ]
        },
    ]


class other_type(Misconception):
    """The library's ready-made class wraps a Tokenizer, but is none: a tokenizers.Tokenizer is asked for."""

    based_on = ready_made
    edits = {"t._tokenizer": "t", "vocab_size=vocab_size": "vocab_size=vocab_size, min_frequency=1"}


class pair_returned(Fundamental):
    """More than the tokenizer, or a part of it, is returned: return the tokenizers.Tokenizer alone."""

    edits = {
        "return tokenizer": [
            "return tokenizer, trainer",
            "return trainer",
            "return tokenizer.get_vocab()",
            "return tokenizer.to_str()",
        ]
    }
