"""`split_words`: punctuation, combining marks, signs and white space of many scripts, by their Unicode categories."""

from autograder.spec import Check, Exercise

from .sequence_checks import SENTENCE, Asked

asked = Asked("split_words", "The list of words", lambda text: f"for the text {text!r}")

ENGLISH = (
    *(SENTENCE, "The dog drinks water because it was thirsty", "“Stop!” (he said); she didn’t.", "Wait... what?!"),
    *("a well-known fact: 3 dogs, 12 cats", "In 2024, B2B grew by 7.", "'quoted' and [bracketed]", "DON'T Shout, Ada!"),
)

SCRIPTS = (
    *("¿Qué tal, señor?", "«Où est-ce?»", "Ọ bụ nwa, ụtọ!", "Привет, мир!", "سلام، دنیا؟", "你好，世界。"),
    *("Ωμέγα· τέλος", "৩১ ২৪।", "die Füße – Seite 3–5"),
)

MARKS = (
    *("আমার সোনার বাংলা, আমি তোমায় ভালোবাসি।", "কুকুর জল খায়।", "नमस्ते दुनिया!"),
    "o\u0323\u0301 di\u0323 mma, u\u0323lo\u0323\u0300",
    *("cafe\u0301, nai\u0308ve!", "สวัสดี ที่รัก", "שָׁלוֹם עוֹלָם", "க்ஷ தமிழ்."),
    *("x\u0302\u0303y z\u0308.", "مَرْحَبًا، كَيْفَ"),
)

SIGNS = ("5€+🐶, ok🙂🙂!", "2+2=4 in €5: a $-sign", "20°C ~ 68°F", "a snake_case+1")
WHITE_SPACE = ("  two  spaces ", "tabs\tand\nnew\r\nlines\n", "no\u00a0break, thin\u2009space", "全角\u3000空白")
SHORT = ("", "   ", "\n\t ", "word", "!", "a", "Well, well.")

EXERCISE = Exercise(
    Check("words and single punctuation marks in English", 1.25, asked(*ENGLISH)),
    Check("letters and punctuation of other scripts", 1.0, asked(*SCRIPTS)),
    Check("combining marks stay with their word", 1.5, asked(*MARKS)),
    Check("signs and emoji belong to words", 0.5, asked(*SIGNS)),
    Check("white space of every kind", 0.5, asked(*WHITE_SPACE)),
    Check("a list, also of empty and very short texts", 0.25, asked(*SHORT, changes="text"), dependent=True),
    takes="str",
    gives="list",
    harmless=("other_signature", "global_generator"),
    points=4,
    library_equivalent=r"""
from tokenizers import Regex, pre_tokenizers

def split_words(text):
    splitter = pre_tokenizers.Split(Regex(r"\p{P}|[^\p{P}\s]+"), "removed", invert=True)
    return [piece for piece, _ in splitter.pre_tokenize_str(text)]
""",
)
