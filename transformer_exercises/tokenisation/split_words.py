"""`split_words`: punctuation, combining marks, signs and white space of many scripts, by their Unicode categories.

The mistakes: `\\w` for letters, ASCII alone, marks torn off their word, marks of punctuation grouped or lost.
"""

from __future__ import annotations

from autograder.spec.course import reference
from autograder.spec.exercise import Asking, Check, Exercise
from autograder.spec.student import Student

from .common import SENTENCE, exactly_same, same_sequence

split_words = reference("split_words")


def _split_texts(*texts: str) -> Asking:
    def ask(student: Student) -> None:
        for text in texts:
            with student.case():
                where = f"for the text {text!r}"
                got = student.value("split_words", text, where=where)
                same_sequence(got, split_words(text), "The list of words", where)

    return ask


def _split_manners(student: Student) -> None:
    for text in ("", "   ", "\n\t ", "word", "!", "a", "Well, well."):
        with student.case():
            where = f"for the text {text!r}"
            exactly_same(student.value("split_words", text, where=where), split_words(text), "The list of words", where)


EXERCISE = Exercise(
    points=4,
    checks=[
        Check(
            "words and single punctuation marks in English",
            1.25,
            _split_texts(
                *(
                    SENTENCE,
                    "The dog drinks water because it was thirsty",
                    "“Stop!” (he said); she didn't.",
                    "Wait... what?!",
                ),
                *(
                    "a well-known fact: 3 dogs, 12 cats",
                    "In 2024, B2B grew by 7.",
                    "'quoted' and [bracketed]",
                    "DON'T Shout, Ada!",
                ),
            ),
        ),
        Check(
            "letters and punctuation of other scripts",
            1.0,
            _split_texts(
                *("¿Qué tal, señor?", "«Où est-ce?»", "Ọ bụ nwa, ụtọ!", "Привет, мир!", "سلام، دنیا؟", "你好，世界。"),
                *("Ωμέγα· τέλος", "৩১ ২৪।", "die Füße – Seite 3–5"),
            ),
        ),
        Check(
            "combining marks stay with their word",
            1.5,
            _split_texts(
                *(
                    "আমার সোনার বাংলা, আমি তোমায় ভালোবাসি।",
                    "কুকুর জল খায়।",
                    "नमस्ते दुनिया!",
                    "o\u0323\u0301 di\u0323 mma, u\u0323lo\u0323\u0300",
                ),
                *(
                    "cafe\u0301, nai\u0308ve!",
                    "สวัสดี ที่รัก",
                    "שָׁלוֹם עוֹלָם",
                    "க்ஷ தமிழ்.",
                    "x\u0302\u0303y z\u0308.",
                    "مَرْحَبًا، كَيْفَ",
                ),
            ),
        ),
        Check(
            "signs and emoji belong to words",
            0.5,
            _split_texts("5€+🐶, ok🙂🙂!", "2+2=4 in €5: a $-sign", "20°C ~ 68°F"),
        ),
        Check(
            "white space of every kind",
            0.5,
            _split_texts(
                "  two  spaces ", "tabs\tand\nnew\r\nlines\n", "no\u00a0break, thin\u2009space", "全角\u3000空白"
            ),
        ),
        Check("a list, also of empty and very short texts", 0.25, _split_manners, further=True),
    ],
    working=r"""
from tokenizers import Regex, pre_tokenizers

def split_words(text):
    splitter = pre_tokenizers.Split(Regex(r"\p{P}|[^\p{P}\s]+"), "removed", invert=True)
    return [piece for piece, _ in splitter.pre_tokenize_str(text)]
""",
    takes="str",
    gives="list",
    slips=("nothing_returned",),
    wrong=r"""
word_class_of_re: `\w` of `re` and `isalnum` leave out combining marks (categories Mn and Mc), so words of Bangla, Hindi or written-out accents fall
    to pieces: ask `unicodedata.category`.
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"\w+|[^\w\s]", text)
  return "".join(spaced).split() =>
marks_and_punctuation_together: Punctuation marks that follow each other stay together (`[^\w\s]+`), and so do combining marks, torn from their word:
    each punctuation mark is a piece of its own, and marks belong to words.
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"\w+|[^\w\s]+", text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return [p for p in re.split(r'(\W+)', text) if p.strip()]
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return [p.strip() for p in re.split(r'(\W+)', text) if p.strip()]
  return "".join(spaced).split() =>
punctuation_lost: Punctuation is thrown away: each mark is a piece of its own.
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"\w+", text)
  return "".join(spaced).split() =>
- f" {symbol} " => " " || ""
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"[a-zA-Z]+", text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"[a-zA-Z0-9]+", text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.split(r'\W+', text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.sub(r'[^\w\s]', '', text).split()
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => import string; return text.translate(str.maketrans('', '', string.punctuation)).split()
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => import string; return [w.strip(string.punctuation) for w in text.split()]
  return "".join(spaced).split() =>
white_space_only (missed): The text is split at white space only, so punctuation stays stuck to the words: each mark is a piece of its own.
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return text.split()
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return text.split(' ')
  return "".join(spaced).split() =>
ascii_letters: Only the letters a to z count as letters: words of other scripts, and words with accents, fall to pieces or get lost. Ask Unicode
    (`unicodedata.category`).
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"[A-Za-z0-9]+|[^A-Za-z0-9\s]", text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"[A-Za-z]+|[^A-Za-z\s]", text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"[a-zA-Z0-9]+|[^\w\s]", text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"[a-zA-Z]+|[0-9]+|[^\w\s]", text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"[a-zA-Z]+|[^\w\s]", text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"[A-Za-z0-9]+|[.,!?;:]", text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"[A-Za-z]+|[.,!?;:]", text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"\w+|[^\w\s]", text, re.ASCII)
  return "".join(spaced).split() =>
ascii_punctuation: Only ASCII punctuation is split off (string.punctuation or a list of marks): « ¿ । ، 。 and “ are punctuation too. Unicode's
    categories that begin with P have them all.
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => import string
  return "".join(spaced).split() => return ''.join(f' {c} ' if c in string.punctuation else c for c in text).split()
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return ''.join(f' {c} ' if c in '.,!?;:' else c for c in text).split()
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return ''.join(f' {c} ' if c in '.,!?;:\'"()-' else c for c in text).split()
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return ''.join(f' {c} ' if c in '.,!?;:\'"()[]-…–“”‘’' else c for c in text).split()
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"\b\w+\b|[.,!?;]", text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"\w+|[.,!?;:]", text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"\w+|[.,!?]", text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.sub(r"([.,!?;:\"'()])", r" \1 ", text).split()
  return "".join(spaced).split() =>
listed_punctuation: Punctuation is a list of your own or one category of many, and the list is not complete: all of Unicode's categories that begin
    with P are punctuation.
- unicodedata.category(symbol).startswith("P") => unicodedata.category(symbol) == "Po" || unicodedata.category(symbol) in ("Po", "Ps", "Pe")
- unicodedata.category(symbol).startswith("P") => unicodedata.category(symbol) in ("Po", "Pd")
- unicodedata.category(symbol).startswith("P") => unicodedata.category(symbol) in ("Po", "Pd", "Ps", "Pe")
- unicodedata.category(symbol).startswith("P") => unicodedata.category(symbol) in ("Po", "Ps", "Pe", "Pi", "Pf") || symbol in '.,!?;:।،؟。，¿«»“”'
punctuation_grouped: Punctuation marks that follow each other are kept together: each mark is a piece of its own.
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return [piece for piece, _ in pre_tokenizers.Whitespace().pre_tokenize_str(text)]
  return "".join(spaced).split() =>
apostrophe_kept: An apostrophe or a hyphen stays inside its word: it is a punctuation mark like the others, a piece of its own.
- unicodedata.category(symbol).startswith("P") => unicodedata.category(symbol).startswith("P") and symbol != "'"
- unicodedata.category(symbol).startswith("P") => unicodedata.category(symbol).startswith("P") and symbol != "-"
- unicodedata.category(symbol).startswith("P") => unicodedata.category(symbol).startswith("P") and symbol not in "'-"
apostrophe_and_marks: An apostrophe or a hyphen stays inside its word although it is a punctuation mark, and `\w` of `re` does not match combining
    marks, so words of some scripts fall to pieces.
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"[\w']+|[^\w\s]", text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"[\w'-]+|[^\w\s]", text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"\w+(?:'\w+)?|[^\w\s]", text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"\w+(?:[-']\w+)*|[^\w\s]", text)
  return "".join(spaced).split() =>
digits_lost: Digits are split one by one or get lost: a word is a run of letters and digits, and 2024 is one.
- in letters_marks_and_numbers
  unicodedata.category(symbol)[0] in "LMNS => symbol.isalpha() or unicodedata.category(symbol)[0] == "M
letters_and_digits_apart: Letters and digits are split from each other: a word is a run of both, such as B2B.
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => spaced = "".join(f" {c} " if unicodedata.category(c).startswith("P") else c for c in text)
  return "".join(spaced).split() => return re.sub(r"(?<=[0-9])(?=[A-Za-z])|(?<=[A-Za-z])(?=[0-9])", " ", spaced).split()
combining_class: `unicodedata.combining` is 0 for many combining marks: the vowel signs of Bangla and Hindi have category Mc, but combining class 0.
    Ask for the category.
- in letters_marks_and_numbers
  unicodedata.category(symbol)[0] in "LMNS" => symbol.isalnum() or unicodedata.combining(symbol)
non_spacing_only: Only marks of category Mn are kept with their word; the vowel signs of Bangla, Hindi and Tamil also have category Mc. Take all
    categories that begin with M.
- in letters_marks_and_numbers
  unicodedata.category(symbol)[0] in "LMNS => symbol.isalnum() or unicodedata.category(symbol) == "Mn
spacing_only: Only marks of category Mc are kept with their word: accents and tone marks have category Mn. Take all categories that begin with M.
- in letters_marks_and_numbers
  unicodedata.category(symbol)[0] in "LMNS => symbol.isalnum() or unicodedata.category(symbol) == "Mc
some_scripts: The marks of some scripts only are allowed in words (a range of code points): there are marks in many scripts, and Unicode's categories
    that begin with M have them all.
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"[\w\u0300-\u036f]+|[^\w\s]", text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"[\w\u0980-\u09ff]+|[^\w\s]", text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"[\w\u0300-\u036f\u0980-\u09ff]+|[^\w\s]", text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"[\w\u0300-\u036f\u0900-\u09ff]+|[^\w\s]", text)
  return "".join(spaced).split() =>
mark_ends_word: A combining mark is kept, but the letter after it begins a new word: a word goes on after its marks.
- in letters_marks_and_numbers
  unicodedata.category(symbol)[0] in "LMNS => symbol.isalnum() or unicodedata.category(symbol)[0] == "M
  = joins => = joins and symbol.isalnum()
normalised: The text is normalised (NFC, NFD, NFKC), so the pieces are no longer made of its characters (and not every mark has a composed form):
    leave the characters as they are.
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"\w+|[^\w\s]", unicodedata.normalize("NFC", text))
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"\w+|[^\w\s]", unicodedata.normalize("NFKC", text))
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"\w+|[^\w\s]", unicodedata.normalize("NFD", text))
  return "".join(spaced).split() =>
- |
  text = unicodedata.normalize("NFC", text)
  spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text]
  return "".join(spaced).split()
- |
  text = unicodedata.normalize("NFD", text)
  spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text]
  return "".join(spaced).split()
- |
  text = unicodedata.normalize("NFKC", text)
  spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text]
  return "".join(spaced).split()
- |
  text = unicodedata.normalize("NFKD", text)
  spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text]
  return "".join(spaced).split()
marks_removed: Combining marks are removed, so words change (in Igbo and Bangla into other words): a mark stays with its word.
- for symbol in text] => for symbol in text if unicodedata.category(symbol)[0] != "M"] || for symbol in text if unicodedata.category(symbol) != "Mn"]
- for symbol in text] => for symbol in unicodedata.normalize("NFD", text) if unicodedata.category(symbol) != "Mn"]
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"\w+|[^\w\s]", text.encode("ascii", "ignore").decode())
  return "".join(spaced).split() =>
signs_apart (slip): Signs such as € and +, or emoji, are pieces of their own although they are no punctuation: only the categories that begin with P
    are (P…), and € + and emoji have S…; whatever else stands together is a word.
- |
  pieces, inside = [], False
  for symbol in text:
      if symbol.isspace():
          inside = False
          continue
      joins = unicodedata.category(symbol)[0] in "LMN"
      if joins and inside:
          pieces[-1] += symbol
      else:
          pieces.append(symbol)
      inside = joins
  return pieces
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return [piece for piece, span in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)]
  return "".join(spaced).split() =>
- unicodedata.category(symbol).startswith("P") => unicodedata.category(symbol) in ("So", "Sk") or unicodedata.category(symbol).startswith("P")
signs_lost: Signs such as € and +, or emoji, get lost: nothing but white space may disappear, and they belong to words.
- |
  kept = [c if unicodedata.category(c)[0] in "LMN" else f" {c} " if unicodedata.category(c)[0] == "P" else " " for c in text]
  return "".join(kept).split()
- unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => unicodedata.category(symbol).startswith("P") else symbol for symbol in text if unicodedata.category(symbol)[0] != "S"]
lowercased (slip): Words are turned into small letters: nothing but white space may change.
- "".join(spaced).split() => "".join(spaced).lower().split()
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.findall(r"\w+|[^\w\s]", text.lower())
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return text.lower().split()
  return "".join(spaced).split() =>
blanks_only: Only blanks (' ') separate words, so empty pieces, tabs or new lines turn up: `split()` without an argument knows all white space.
- "".join(spaced).split() => "".join(spaced).split(" ") || [p for p in "".join(spaced).split(" ") if p]
- "".join(spaced).split() => "".join(spaced).replace("\n", " ").split(" ")
ascii_white_space: Only the white space of ASCII separates words: no-break spaces and the wide space of Chinese and Japanese do too.
- "".join(spaced).split() => [p for p in re.split(r"[ \t\r\n]+", "".join(spaced)) if p] || [p for p in re.split(r"[ \t\n]+", "".join(spaced)) if p]
white_space_kept: White space is kept as pieces: it only separates.
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return [p for p in re.split(r'(\s)', ''.join(f' {c} ' if unicodedata.category(c)[0] == 'P' else c for c in text)) if p]
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return [p for p in re.split(r'(\W)', text) if p]
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.split(r'(\W)', text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return re.split(r'(\s+)', text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return [piece for piece, _ in pre_tokenizers.Punctuation().pre_tokenize_str(text)]
  return "".join(spaced).split() =>
last_mark_only: Only a punctuation mark at the end of a word is split off: marks stand before and inside words too, and several at once.
- |
  pieces = []
  for word in text.split():
      if len(word) > 1 and unicodedata.category(word[-1])[0] == "P":
          pieces += [word[:-1], word[-1]]
      else:
          pieces.append(word)
  return pieces
- |
  pieces = []
  for word in text.split():
      if len(word) > 1 and word[-1] in ".,!?;:":
          pieces += [word[:-1], word[-1]]
      else:
          pieces.append(word)
  return pieces
ends_only: Punctuation is split off at the two ends of a word only: inside a word each mark is a piece of its own too.
- |
  pieces = []
  for word in text.split():
      after = []
      while word and unicodedata.category(word[0])[0] == "P":
          pieces.append(word[0])
          word = word[1:]
      while word and unicodedata.category(word[-1])[0] == "P":
          after.insert(0, word[-1])
          word = word[:-1]
      pieces += [word] * bool(word) + after
  return pieces
space_on_one_side: A punctuation mark is parted from one of its neighbours only: it needs white space on both sides.
- f" {symbol} " => f" {symbol}" || f"{symbol} "
last_word_lost (slip): The last word is lost when no mark follows it: what was collected must be added after the loop too.
- |
  pieces, word = [], ""
  for symbol in text:
      mark = unicodedata.category(symbol).startswith("P")
      if mark or symbol.isspace():
          if word:
              pieces.append(word)
          word = ""
          if mark:
              pieces.append(symbol)
      else:
          word += symbol
  return pieces
characters (missed): The text is split into single characters: only punctuation marks are pieces of their own.
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return list(text)
  return "".join(spaced).split() =>
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => return [c for c in text if not c.isspace()]
  return "".join(spaced).split() =>
unique: Each word is listed once, or the words are sorted: the list follows the text.
- "".join(spaced).split() => sorted(set("".join(spaced).split())) || list(dict.fromkeys("".join(spaced).split())) || sorted("".join(spaced).split())
counted (missed): Frequencies are returned: a list of the pieces, in the order of the text, is asked for.
- "".join(spaced).split() => Counter("".join(spaced).split())
text_returned: A string is returned: a list of strings is asked for.
- "".join(spaced).split() => "".join(spaced) || " ".join("".join(spaced).split())
tuple: A tuple is returned: a list is asked for.
- "".join(spaced).split() => tuple("".join(spaced).split())
lazy (missed): An iterator is returned, which can be read only once: make a list of it.
- "".join(spaced).split() => iter("".join(spaced).split()) || (p for p in "".join(spaced).split())
""",
    right=r"""
loop:
- |
  out, word = [], ""
  for c in text:
      if c.isspace():
          if word: out.append(word)
          word = ""
      elif unicodedata.category(c)[0] == "P":
          if word: out.append(word)
          out.append(c)
          word = ""
      else:
          word += c
  return out + [word] if word else out
letters_marks_and_numbers:
- |
  pieces, inside = [], False
  for symbol in text:
      if symbol.isspace():
          inside = False
          continue
      joins = unicodedata.category(symbol)[0] in "LMNS"
      if joins and inside:
          pieces[-1] += symbol
      else:
          pieces.append(symbol)
      inside = joins
  return pieces
translated:
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => table = {ord(c): f" {c} " for c in text if unicodedata.category(c).startswith("P")}
  return "".join(spaced).split() => return text.translate(table).split()
pattern_made_of_the_text:
- spaced = [f" {symbol} " if unicodedata.category(symbol).startswith("P") else symbol for symbol in text] => marks = "".join(re.escape(c) for c in set(text) if unicodedata.category(c).startswith("P")) or "\\n"
  return "".join(spaced).split() => return re.findall(rf"[{marks}]|[^\s{marks}]+", text) if marks != "\\n" else text.split()
the_library_s_pattern:
- |
  from tokenizers import Regex
  splitter = pre_tokenizers.Split(Regex(r"\p{P}|[^\p{P}\s]+"), "removed", invert=True)
  return [piece for piece, _ in splitter.pre_tokenize_str(text)]
""",
)
