"""`fertility`: tokens per white-space word for two tokenizers in nine languages, odd blanks, texts without words.

The mistakes: the ratio upside down, words cut or counted in another way, texts tokenised piece by piece.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from autograder.spec.compare import kind
from autograder.spec.course import reference
from autograder.spec.exercise import Asking, Check, Exercise, Problem, ValuesDiffer, Wrong
from autograder.spec.inputs import source_of
from autograder.spec.student import Kept, Student

from .common import as_before, is_value_error

fertility = reference("fertility")


# Their source is sent, so what they need is imported inside.
def make_bytes():
    """A byte-level tokenizer with a few merges, made without training."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    merges = [
        ("t", "h"),
        ("th", "e"),
        ("Ġ", "the"),
        ("Ġ", "d"),
        ("i", "n"),
        ("e", "r"),
        ("w", "a"),
        ("Ġ", "wa"),
        ("a", "n"),
    ]
    symbols = sorted(pre_tokenizers.ByteLevel.alphabet()) + [left + right for left, right in merges]
    tokenizer = Tokenizer(models.BPE({symbol: i for i, symbol in enumerate(symbols)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def make_words():
    """A tokenizer of whole words, in which groups of punctuation marks are tokens as well."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"?": 0, "the": 1, "dog": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


LANGUAGES = {
    "English": "The dog drinks water because it was thirsty.",
    "Igbo": "Nkịta na-aṅụ mmiri n'ihi na akpịrị na-akpọ ya nkụ.",
    "Bangla": "কুকুরটি জল খায় কারণ তার তেষ্টা পেয়েছিল।",
    "German": "Der Hund trinkt Wasser, weil er durstig war.",
    "Greek": "Ο σκύλος πίνει νερό γιατί διψούσε.",
    "Russian": "Собака пьёт воду, потому что ей хотелось пить.",
    "Hindi": "कुत्ता पानी पीता है क्योंकि वह प्यासा था।",
    "Arabic": "الكلب يشرب الماء لأنه كان عطشان.",
    "Yoruba": "Ajá náà ń mu omi nítorí pé òùngbẹ ń gbẹ ẹ́.",
}


def _their_tokenizer(student: Student, make: Callable) -> Kept:
    return student.call(student.probe(make.__name__, source_of(make)), [], keep=True)["value"]


def _rated(student: Student, make: Callable, texts: dict[str, str], where: str) -> None:
    got = student.value("fertility", _their_tokenizer(student, make), texts, where=where)
    expected = fertility(make(), texts)
    if not isinstance(got, dict):
        raise Wrong(f"A dictionary from each language to a number should be returned; yours is {kind(got)} {where}.")
    if set(got) != set(expected):
        raise Wrong(f"The keys should be the languages of `texts`, each of them {where}.")
    for language, value in got.items():
        if isinstance(value, torch.Tensor) and value.numel() == 1:
            value = value.item()
        if type(value) not in (int, float):
            raise Wrong(f"The value of each language should be a number; {language} has {kind(value)} {where}.")
        if not math.isclose(value, expected[language], rel_tol=1e-6):
            raise ValuesDiffer(f"The number for {language} {where} is not its tokens divided by its white-space words.")


def _rates(*cases: tuple[Callable, dict[str, str], str]) -> Asking:
    def ask(student: Student) -> None:
        for make, texts, where in cases:
            with student.case():
                _rated(student, make, texts, where)

    return ask


def _rated_manners(student: Student) -> None:
    texts = {"English": "the dog", "Igbo": "nkịta"}
    tokenizer = _their_tokenizer(student, make_bytes)
    answer = student.call("fertility", [tokenizer, texts], after=True)
    _rated(student, make_bytes, texts, "for two short texts")
    if any(type(value) is not float for value in answer["value"].values()):
        raise Wrong("The values should be plain numbers of type float.", "wrong_type")
    as_before(answer["after"][1:], [texts], "texts")


def _rated_empty(student: Student) -> None:
    _rated(student, make_bytes, {"English": "the dog", "Igbo": "nkịta"}, "for two short texts")
    tokenizer = _their_tokenizer(student, make_bytes)
    for text in ("", " \n "):
        with student.case():
            where = f"for the text {text!r}"
            try:
                got = student.value("fertility", tokenizer, {"English": "the dog", "Igbo": text}, where=where)
            except Problem as problem:
                if problem.error in ("", "NotImplementedError"):
                    raise
                if not is_value_error(problem.error):
                    raise Wrong(
                        f"A text without words ({text!r}) should be a ValueError; your code stops with {problem.error}."
                    ) from None
            else:
                raise Wrong(
                    f"A text without words ({text!r}) should be a ValueError; yours returned {kind(got)}.",
                    "empty_hidden",
                )


EXERCISE = Exercise(
    points=2,
    checks=[
        Check(
            "tokens per word in nine languages",
            1.0,
            _rates(
                (make_bytes, LANGUAGES, "for nine languages"),
                (make_words, LANGUAGES, "for a tokenizer of whole words"),
                (make_bytes, {"English": LANGUAGES["English"]}, "for one language"),
                (
                    make_bytes,
                    {"one": "the", "two": "the dog", "seven": "a an the wa waer thin dog"},
                    "for texts of one to seven words",
                ),
            ),
        ),
        Check(
            "words are what white space separates",
            0.5,
            _rates(
                (
                    make_bytes,
                    {"blanks": "  the   dog ", "lines": "the dog\nthe other\n\tdog\n", "wide": "the\u3000dog\u00a0in"},
                    "with much white space",
                ),
                (make_bytes, {"marks": "Well, the dog - a well-known one - isn't in!"}, "with punctuation"),
                (
                    make_words,
                    {"marks": "the dog , ( the dog ) ...", "lines": "the dog.\nthe dog and the other dog!"},
                    "with lone marks",
                ),
            ),
            further=True,
        ),
        Check("plain floats, `texts` unchanged", 0.3, _rated_manners, further=True),
        Check("a text without words is a ValueError", 0.2, _rated_empty),
    ],
    working=r"""
def fertility(tokenizer, texts):
    lengths = [len(encoding.tokens) for encoding in tokenizer.encode_batch(list(texts.values()))]
    words = [len(text.split()) for text in texts.values()]
    if 0 in words:
        raise ValueError("texts: one of them has no words")
    return {language: n / m for language, n, m in zip(texts, lengths, words)}
""",
    gives="dict",
    slips=("nothing_returned", "error_of_another_type", "error_returned", "bad_input_accepted"),
    wrong=r"""
inverted (slip): Words per token are computed: tokens per word is the other way round.
- len(tokenizer.encode(text).ids) / len(words) => len(words) / len(tokenizer.encode(text).ids)
per_character: The tokens are divided by the characters or bytes of the text: divide by its white-space words.
- len(tokenizer.encode(text).ids) / len(words) => len(tokenizer.encode(text).ids) / len(text) || len(tokenizer.encode(text).ids) / len(text.encode())
characters_per_token: Characters are counted where tokens should be: the length of `tokenizer.encode(text).ids`.
- len(tokenizer.encode(text).ids) / len(words) => len(text) / len(tokenizer.encode(text).ids) || len(text) / len(words)
- len(tokenizer.encode(text).ids) / len(words) => len(text.encode()) / len(words) || sum(len(word) for word in words) / len(words)
tokens_only: The number of tokens is returned, not yet divided by the number of words.
- len(tokenizer.encode(text).ids) / len(words) => len(tokenizer.encode(text).ids) || float(len(tokenizer.encode(text).ids))
blanks_counted (slip): Words are found by blanks (' '), so runs of blanks, tabs and new lines are counted wrongly: `text.split()` without an argument.
- text.split() => text.split(' ')
- len(tokenizer.encode(text).ids) / len(words) => len(tokenizer.encode(text).ids) / (text.count(' ') + 1)
- len(tokenizer.encode(text).ids) / len(words) => len(tokenizer.encode(text).ids) / len(text.strip().split(' '))
- len(tokenizer.encode(text).ids) / len(words) => len(tokenizer.encode(text).ids) / len([w for w in text.split(' ') if w])
- len(tokenizer.encode(text).ids) / len(words) => len(tokenizer.encode(text).ids) / max(text.count(' '), 1)
marks_counted: Punctuation marks are counted as words, or words are cut at them: a white-space word is what `text.split()` gives.
- text.split() => split_words(text) || re.findall(r'\w+', text) || re.findall(r'\w+|[^\w\s]', text)
word_by_word: Each word is encoded by itself, without the space in front of it: people pay for the whole sentence, so encode the text once.
- len(tokenizer.encode(text).ids) / len(words) => sum(len(tokenizer.encode(word).ids) for word in words) / len(words)
- len(tokenizer.encode(text).ids) / len(words) => sum(len(tokenizer.encode(' ' + word).ids) for word in words) / len(words)
- len(tokenizer.encode(text).ids) / len(words) => __import__('statistics').mean(len(tokenizer.encode(word).ids) for word in words)
white_space_changed: The words are joined again before they are encoded: encode the text as it is.
- len(tokenizer.encode(text).ids) / len(words) => len(tokenizer.encode(' '.join(words)).ids) / len(words)
- len(tokenizer.encode(text).ids) / len(words) => len(tokenizer.encode(''.join(words)).ids) / len(words)
- len(tokenizer.encode(text).ids) / len(words) => len(tokenizer.encode(text.strip()).ids) / len(words)
line_by_line: The lines are rated one by one and averaged: divide all tokens of the text by all of its words.
- result[language] = len(tokenizer.encode(text).ids) / len(words) =>
      lines = [line for line in text.splitlines() if line.strip()]
      result[language] = sum(len(tokenizer.encode(line).ids) / len(line.split()) for line in lines) / len(lines)
unique_tokens: Each different token, or each different word, is counted once: count every occurrence.
- len(tokenizer.encode(text).ids) / len(words) => len(set(tokenizer.encode(text).ids)) / len(words)
- len(tokenizer.encode(text).ids) / len(words) => len(tokenizer.encode(text).ids) / len(set(words))
- len(tokenizer.encode(text).ids) / len(words) => len(set(tokenizer.encode(text).ids)) / len(set(words))
lowercased: The text is turned into small letters before it is encoded: encode it as it is.
- len(tokenizer.encode(text).ids) / len(words) => len(tokenizer.encode(text.lower()).ids) / len(words)
whole_numbers (slip): The result is rounded or divided with `//`: keep the exact quotient.
- len(tokenizer.encode(text).ids) / len(words) => len(tokenizer.encode(text).ids) // len(words)
- len(tokenizer.encode(text).ids) / len(words) => float(len(tokenizer.encode(text).ids) // len(words))
- len(tokenizer.encode(text).ids) / len(words) => round(len(tokenizer.encode(text).ids) / len(words))
- len(tokenizer.encode(text).ids) / len(words) => round(len(tokenizer.encode(text).ids) / len(words), 2)
- len(tokenizer.encode(text).ids) / len(words) => round(len(tokenizer.encode(text).ids) / len(words), 1)
- len(tokenizer.encode(text).ids) / len(words) => round(len(tokenizer.encode(text).ids) / len(words), 3)
relative: The numbers are divided by that of the first language: each language stands for itself.
- return result => return {language: value / next(iter(result.values())) for language, value in result.items()}
accumulated: Tokens or words of the languages before are still counted: begin anew for each language.
- result = {} => result, total = {}, 0
  result[language] = len(tokenizer.encode(text).ids) / len(words) =>
      total += len(tokenizer.encode(text).ids)
      result[language] = total / len(words)
- result = {} => result, seen = {}, 0
  result[language] = len(tokenizer.encode(text).ids) / len(words) =>
      seen += len(words)
      result[language] = len(tokenizer.encode(text).ids) / seen
- result = {} => result, total, seen = {}, 0, 0
  result[language] = len(tokenizer.encode(text).ids) / len(words) =>
      total += len(tokenizer.encode(text).ids)
      seen += len(words)
      result[language] = total / seen
one_number: One number for all languages is returned: a dictionary with one for each is asked for.
- return result => return sum(result.values()) / len(result) || return max(result.values())
- |
  tokens = sum(len(tokenizer.encode(text).ids) for text in texts.values())
  return tokens / sum(len(text.split()) for text in texts.values())
first_language_only: Only the first language is rated: a `return` stands inside the loop.
- len(tokenizer.encode(text).ids) / len(words) =>
      len(tokenizer.encode(text).ids) / len(words)
      return result
- result[language] = len(tokenizer.encode(text).ids) / len(words) => return len(tokenizer.encode(text).ids) / len(words)
last_language_only: Only the last language is returned: the dictionary is made anew in the loop.
- result[language] = len(tokenizer.encode(text).ids) / len(words) => result = {language: len(tokenizer.encode(text).ids) / len(words)}
list: A list is returned: a dictionary from each language to its number is asked for.
- return result => return list(result.values()) || return list(result.items()) || return sorted(result.items(), key=lambda item: -item[1])
pairs_of_counts: Pairs of counts are returned: one number for each language, the quotient.
- len(tokenizer.encode(text).ids) / len(words) => (len(tokenizer.encode(text).ids), len(words)) || tokenizer.encode(text).ids
- len(tokenizer.encode(text).ids) / len(words) => tokenizer.encode(text).tokens
text_values (slip): The numbers are strings: plain floats are asked for (format them when you print them).
- len(tokenizer.encode(text).ids) / len(words) => f'{len(tokenizer.encode(text).ids) / len(words):.2f}'
- len(tokenizer.encode(text).ids) / len(words) => str(len(tokenizer.encode(text).ids) / len(words))
tensors: The numbers are tensors: plain floats are asked for (`.item()`).
- len(tokenizer.encode(text).ids) / len(words) => torch.tensor(len(tokenizer.encode(text).ids) / len(words))
texts_overwritten: The numbers are written into `texts`: the caller's texts are gone. Make a new dictionary.
- result = {} => result = texts
  texts.items() => list(texts.items())
list_of_ids_expected (missed): `tokenizer.encode(text)` is an Encoding, whose ids or tokens are `.ids` and `.tokens`; or `tokenizer.tokenize` was meant, which
    it does not have.
- len(tokenizer.encode(text).ids) / len(words) => len(tokenizer.encode(text)['input_ids']) / len(words)
- len(tokenizer.encode(text).ids) / len(words) => len(tokenizer.tokenize(text)) / len(words)
bad_input_accepted: A text without words ends in a ZeroDivisionError: look first (white space alone holds no words either), and raise a ValueError that
    names the language.
- if not words => if not text
- |
  return {language: len(tokenizer.encode(text).ids) / len(text.split()) for language, text in texts.items()}
empty_hidden: A text without words gets some number or is left out: nothing can be said about it, so raise a ValueError.
- raise ValueError(f"texts[{language!r}] has no words") => pass
  result[language] = len(tokenizer.encode(text).ids) / len(words) => result[language] = len(tokenizer.encode(text).ids) / max(len(words), 1)
- raise ValueError(f"texts[{language!r}] has no words") =>
      result[language] = 0.0
      continue
- raise ValueError(f"texts[{language!r}] has no words") => continue
- raise ValueError(f"texts[{language!r}] has no words") =>
      result[language] = math.nan
      continue
- raise ValueError(f"texts[{language!r}] has no words") =>
      result[language] = math.inf
      continue
- raise ValueError(f"texts[{language!r}] has no words") =>
      result[language] = None
      continue
""",
    right=r"""
batch:
- result = {} => out = {}
  for language, text in texts.items(): => for name, enc in zip(texts.keys(), tokenizer.encode_batch(list(texts.values()))):
  words = text.split() => n = len(texts[name].split())
  if not words: => if n == 0:
  raise ValueError(f"texts[{language!r}] has no words") => raise ValueError(f"no words in {name}")
  result[language] = len(tokenizer.encode(text).ids) / len(words) => out[name] = len(enc) / n
  return result => return out
comprehension:
- |
  def rate(text):
      n = len(re.findall(r"\S+", text))
      if not n:
          raise ValueError("texts: empty text")
      return len(tokenizer.encode(text).tokens) / n
  return {lang: rate(text) for lang, text in texts.items()}
try_and_except:
- |
  try:
      return {k: len(tokenizer.encode(v, add_special_tokens=False).ids) / len(v.split()) for k, v in texts.items()}
  except ZeroDivisionError as error:
      raise ValueError("one of the texts has no words") from error
""",
)
