"""Tell short stories in Bangla, whose verbs must agree: the text for `make grow SIZE=bangla`, and its loss's floor.

    sample(stories=3, seed=0)        three stories, one per line
    true_nll(text)                   −log p(text) in nats: no model can expect to do better
    continuations(prefix, ways)      the exact probability of each of several continuations
    told(3)                          stories sentence by sentence, with their meaning in English

The stories of `plots` say the same in three languages, so their Bangla shows little that English lacks. These stories
are about what a reader of Bangla must carry from a subject to a verb several words later: the ordinary form or the
respectful one (সে পড়ছে, তিনি পড়ছেন; also তার and তাঁর), and the tense, which an adverb at the beginning demands (এখন
… পড়ছে, এইমাত্র … পড়েছে). Subject, place, object, verb, in this order; one or several of a thing (একটি বই, বইটি,
বইগুলো); three ways to say no (পড়ছে না, পড়েনি, নেই). চলিত, as written in Bangladesh. No native reader has checked it
yet: see docs/native-readers.

Verbs are typed as ordinary forms; the respectful forms follow by rule.
"""

import math
import random
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from .engine import Derivation, Grammar, Role, Say, Word, either, maybe, one_of, say
from .languages import BANGLA_VOWELS, genitive, rows, word

LANGUAGES = ("english", "bangla")


def entry(english: dict[str, str] | str, bangla: dict[str, str] | str, weight: float = 1, **facts: Any) -> Word:
    """Return a lexicon entry for these two languages."""
    return word(english, "", bangla, weight, **facts)


# --- people ---------------------------------------------------------------------------------------------------------
# {who} {who.he} {who.his} {who.r} of; {who.does} is doing and {who.loves} agree with it

SUBJECT = {"": ("সে", "তার"), "respect": ("তিনি", "তাঁর"), "many": ("তারা", "তাদের"), "many respect": ("তাঁরা", "তাঁদের")}


def somebody(english: str, he: str, rank: str, bangla: str, possessive: str) -> Word:
    """Return a person. `rank` may contain "many" (English verbs agree with it) and "respect" (Bangla's do)."""
    many, respect = "many" in rank, "respect" in rank
    subject, his = SUBJECT[rank]
    return entry(
        {
            "": english,
            "he": he,
            "does": "are" if many else "is",
            "loves": "love" if many else "loves",
            "has": "have" if many else "has",
        },
        {
            "": bangla,
            "he": subject,
            "his": his,
            "r": possessive or genitive(bangla),
            "does": "করছেন" if respect else "করছে",
            "loves": "ভালোবাসেন" if respect else "ভালোবাসে",
        },
        many=many,
        respect=respect,
    )


WHO = [
    somebody(*cells)
    for cells in rows(
        """
        Mitu | she | | মিতু |
        Rina | she | | রিনা |
        Tuli | she | | তুলি |
        Nila | she | | নীলা |
        Joya | she | | জয়া |
        Rafi | he | | রাফি |
        Kamal | he | | কামাল |
        Babu | he | | বাবু |
        Rana | he | | রানা |
        Apu | he | | অপু |
        the girl | she | | মেয়েটি |
        the boy | he | | ছেলেটি |
        the girls | they | many | মেয়েরা | মেয়েদের
        the boys | they | many | ছেলেরা | ছেলেদের
        Mother | she | respect | মা | মায়ের
        Father | he | respect | বাবা |
        Grandmother | she | respect | নানি |
        Grandfather | he | respect | নানা |
        Aunt | she | respect | খালা |
        Uncle | he | respect | চাচা |
        the teacher | he | respect | শিক্ষক |
        the doctor | she | respect | ডাক্তার |
        the teachers | they | many respect | শিক্ষকেরা | শিক্ষকদের
        the guests | they | many respect | অতিথিরা | অতিথিদের
        """
    )
]


# --- verbs ----------------------------------------------------------------------------------------------------------


def respectful(form: str) -> str:
    """Return the respectful form: ল → লেন, and ন after a vowel: পড়ছে → পড়ছেন, পড়ল → পড়লেন, পড়বে → পড়বেন."""
    return form + ("ন" if form[-1] in BANGLA_VOWELS else "েন")


def inflected(verb: Word, who: Word) -> list[Word]:
    """Return, as the only option, the verb in agreement with this subject."""
    return [AGREEING[verb][who.facts["many"], who.facts["respect"]]]


def agreeing(verb: Word) -> dict[tuple[bool, bool], Word]:
    """Return the forms of a verb by (many, respect).

    They are {deed.doing} পড়ছে, {deed.was} পড়ছিল, {deed.done} পড়েছে, {deed.did} পড়ল, {deed.will} পড়বে, {deed.never}
    পড়েনি, {deed.not} পড়ছে না, {deed.to} পড়তে.
    """
    en, bn = verb.facts["en"], verb.facts["bn"]
    found = {}
    for many in (False, True):
        for respect in (False, True):
            turn = respectful if respect else str
            doing = turn(bn["doing"])
            found[many, respect] = entry(
                {
                    "doing": f"{'are' if many else 'is'} {en['ing']}",
                    "not": f"{'are' if many else 'is'} not {en['ing']}",
                    "was": f"{'were' if many else 'was'} {en['ing']}",
                    "done": f"{'have' if many else 'has'} {en['participle']}",
                    "just": f"{'have' if many else 'has'} just {en['participle']}",
                    "did": en["past"],
                    "will": f"will {en['base']}",
                    "wont": f"will not {en['base']}",
                    "never": f"{'have' if many else 'has'} not {en['participle']}",
                    "to": en["ing"],
                },
                {
                    "doing": doing,
                    "not": f"{doing} না",
                    "was": turn(bn["doing"].removesuffix("ে") + "িল"),
                    "done": turn(bn["done"]),
                    "just": turn(bn["done"]),
                    "did": turn(bn["did"]),
                    "will": turn(bn["will"]),
                    "wont": turn(bn["will"]) + " না",
                    "never": (bn["does, respected"] if respect else bn["does"]) + "নি",
                    "to": bn["to"],
                },
            )
    return found


VERBS = {
    base: entry(
        base,
        doing,
        en={"base": base, "ing": ing, "past": past, "participle": participle},
        bn={
            "doing": doing,
            "done": done,
            "did": did,
            "will": will,
            "does": does,
            "does, respected": respected,
            "to": to,
        },
    )
    for base, ing, past, participle, doing, done, did, will, does, respected, to in rows(
        """
        read | reading | read | read | পড়ছে | পড়েছে | পড়ল | পড়বে | পড়ে | পড়েন | পড়তে
        write | writing | wrote | written | লিখছে | লিখেছে | লিখল | লিখবে | লেখে | লেখেন | লিখতে
        eat | eating | ate | eaten | খাচ্ছে | খেয়েছে | খেল | খাবে | খায় | খান | খেতে
        drink | drinking | drank | drunk | খাচ্ছে | খেয়েছে | খেল | খাবে | খায় | খান | খেতে
        look at | looking at | looked at | looked at | দেখছে | দেখেছে | দেখল | দেখবে | দেখে | দেখেন | দেখতে
        buy | buying | bought | bought | কিনছে | কিনেছে | কিনল | কিনবে | কেনে | কেনেন | কিনতে
        cook | cooking | cooked | cooked | রান্না করছে | রান্না করেছে | রান্না করল | রান্না করবে | রান্না করে | রান্না করেন | রান্না করতে
        draw | drawing | drew | drawn | আঁকছে | এঁকেছে | আঁকল | আঁকবে | আঁকে | আঁকেন | আঁকতে
        make | making | made | made | বানাচ্ছে | বানিয়েছে | বানাল | বানাবে | বানায় | বানান | বানাতে
        listen to | listening to | listened to | listened to | শুনছে | শুনেছে | শুনল | শুনবে | শোনে | শোনেন | শুনতে
        play | playing | played | played | খেলছে | খেলেছে | খেলল | খেলবে | খেলে | খেলেন | খেলতে
        """
    )
}
AGREEING = {verb: agreeing(verb) for verb in VERBS.values()}


# --- objects and places ---------------------------------------------------------------------------------------------
# {object} একটি বই, {object.the} বইটি, {object.bare} বই; English {object.is} after {object.the}

QUALITIES = {
    name: entry(english, bangla)
    for name, english, bangla in rows(
        """
        new | new | নতুন
        old | old | পুরোনো
        beautiful | beautiful | সুন্দর
        small | small | ছোট
        big | big | বড়
        sweet | sweet | মিষ্টি
        red | red | লাল
        white | white | সাদা
        hot | hot | গরম
        fresh | fresh | টাটকা
        fun | fun | মজার
        """
    )
}


def things(english: str, plural: str, bangla: str, qualities: str, kind: str) -> list[Word]:
    """Return a noun as objects: a counted one as one to four with টি or টা, any other as the word itself."""
    of_it = [QUALITIES[name] for name in qualities.split()]
    if kind != "counted":
        the = english if kind == "game" else f"the {english}"
        return [
            entry(
                {"": english, "the": the, "bare": english, "is": "is"},
                {"": bangla, "the": bangla, "bare": bangla},
                weight=18,
                qualities=of_it,
            )
        ]
    found = []
    for ti, most in (("টি", 2), ("টা", 1)):
        for number, count, weight in (("a", "এক", 3), ("two", "দু", 1), ("three", "তিন", 1), ("four", "চার", 1)):
            one = number == "a"
            article = ("an" if english[0] in "aeiou" else "a") if one else number
            amount = "দুটো" if (number, ti) == ("two", "টা") else count + ti
            found.append(
                entry(
                    {
                        "": f"{article} {english if one else plural}",
                        "the": f"the {english if one else plural}",
                        "bare": plural,
                        "is": "is" if one else "are",
                    },
                    {"": f"{amount} {bangla}", "the": bangla + (ti if one else "গুলো"), "bare": bangla},
                    weight=weight * most,
                    qualities=of_it,
                )
            )
    return found


OBJECTS = {
    english: things(english, plural, bangla, qualities, kind)
    for english, plural, bangla, qualities, kind in rows(
        """
        book | books | বই | new old beautiful big | counted
        letter | letters | চিঠি | new old small | counted
        story | stories | গল্প | new old beautiful small | counted
        poem | poems | কবিতা | new old beautiful small | counted
        picture | pictures | ছবি | new old beautiful big | counted
        flower | flowers | ফুল | red white beautiful fresh | counted
        bird | birds | পাখি | white beautiful small big | counted
        boat | boats | নৌকা | new old small big | counted
        mango | mangoes | আম | sweet big fresh | counted
        banana | bananas | কলা | sweet big small | counted
        cake | cakes | পিঠা | hot sweet fresh | counted
        pen | pens | কলম | new old red | counted
        umbrella | umbrellas | ছাতা | new old red big | counted
        shirt | shirts | জামা | new old red white | counted
        kite | kites | ঘুড়ি | red white beautiful big | counted
        doll | dolls | পুতুল | new beautiful small | counted
        song | songs | গান | new old beautiful | counted
        rice | | ভাত | hot | mass
        fish | | মাছ | fresh | mass
        lentil soup | | ডাল | hot | mass
        bread | | রুটি | hot fresh | mass
        tea | | চা | hot sweet | mass
        water | | পানি | hot | mass
        milk | | দুধ | hot fresh | mass
        football | | ফুটবল | fun | game
        cricket | | ক্রিকেট | fun | game
        chess | | দাবা | fun | game
        """
    )
}

PLACES = {
    name: entry(name, bangla)
    for name, bangla in rows(
        """
        in the room | ঘরে
        in the yard | উঠানে
        in the garden | বাগানে
        on the veranda | বারান্দায়
        on the roof | ছাদে
        in the kitchen | রান্নাঘরে
        at school | স্কুলে
        at the market | বাজারে
        at home | বাড়িতে
        in the field | মাঠে
        beside the river | নদীর ধারে
        under the tree | গাছের নিচে
        beside the window | জানালার পাশে
        """
    )
}
SITTING = (
    "in the room, in the garden, on the veranda, on the roof, at school, at home, under the tree, beside the window"
)

# verb | objects | places
ABOUT = {
    VERBS[verb]: (
        [one for name in objects.split(", ") for one in OBJECTS[name]],
        [PLACES[name] for name in (SITTING if places == "sitting" else places).split(", ")],
    )
    for verb, objects, places in rows(
        """
        read | book, letter, story, poem | sitting
        write | letter, story, poem, song | sitting
        eat | rice, fish, bread, mango, banana, cake | in the room, in the yard, on the veranda, at home, in the kitchen
        drink | tea, water, milk | in the room, in the yard, on the veranda, at home, in the kitchen
        look at | flower, bird, boat | in the garden, on the roof, beside the river, beside the window
        buy | book, mango, banana, pen, umbrella, shirt, flower, fish | at the market
        cook | rice, fish, lentil soup | in the kitchen, at home, in the yard
        draw | picture, flower, bird, boat | sitting
        make | cake, kite, doll, boat, bread | in the room, in the yard, on the veranda, at home
        listen to | song, story, poem | sitting
        play | football, cricket, chess | in the field, in the yard, at school, on the roof
        """
    )
}
OWNED = [
    one for name in ("book", "pen", "umbrella", "kite", "doll", "shirt", "boat", "picture") for one in OBJECTS[name]
]


def more(*patterns: str) -> Say:
    """Return a sentence that depends on the sentences before it."""
    return Say(patterns, alone=False)


# --- the stories ----------------------------------------------------------------------------------------------------

ROLES = {
    "who": one_of(WHO),
    "friend": one_of(WHO, unlike="who"),
    "verb": one_of(list(ABOUT)),
    "verb2": one_of(list(ABOUT), unlike="verb"),
    "deed": Role(inflected, ("verb", "who")),
    "deed2": Role(inflected, ("verb2", "friend")),
    "same": Role(inflected, ("verb", "friend")),  # the friend's form, for what the friend does not do
    "object": Role(lambda verb: ABOUT[verb][0], ("verb",)),
    "object2": Role(lambda verb: ABOUT[verb][0], ("verb2",)),
    "place": Role(lambda verb: ABOUT[verb][1], ("verb",)),
    "quality": Role(lambda thing: thing.facts["qualities"], ("object",)),
    "owned": one_of(OWNED),
    "kind": Role(lambda thing: thing.facts["qualities"], ("owned",)),
}

NOW = either(
    (3, say("Now {who} {deed.doing} {object} {place}.", "এখন {who} {place} {object} {deed.doing}।")),
    (2, say("{Who} {deed.doing} {object} {place}.", "{who} {place} {object} {deed.doing}।")),
    (2, say("Now {who} {deed.doing} {object}.", "এখন {who} {object} {deed.doing}।")),
)
JUST_DONE = either(
    (3, say("{Who} {deed.just} {object} {place}.", "এইমাত্র {who} {place} {object} {deed.just}।")),
    (2, say("{Who} {deed.done} {object} {place}.", "{who} {place} {object} {deed.done}।")),
    (2, say("{Who} {deed.just} {object}.", "এইমাত্র {who} {object} {deed.just}।")),
)
YESTERDAY = either(
    (3, say("Yesterday {who} {deed.did} {object} {place}.", "গতকাল {who} {place} {object} {deed.did}।")),
    (1, say("Yesterday evening {who} {deed.was} {object}.", "গতকাল সন্ধ্যায় {who} {object} {deed.was}।")),
)
NEXT_DAY = say("Tomorrow {who} {deed.will} {object} {place}.", "আগামীকাল {who} {place} {object} {deed.will}।")
OWNS = say("{Who} {who.has} {owned}.", "{who.r} কাছে {owned} আছে।")

LOVES = more("{Who.he} {who.loves} {deed.to} {object.bare}.", "{who.he} {object.bare} {deed.to} {who.loves}।")
BESIDE = more("Beside {who}, {friend} {deed2.doing} {object2}.", "{who.r} পাশে {friend} {object2} {deed2.doing}।")
INSTEAD = more(
    "{Friend} {same.not} {object.bare}. {Friend.he} {deed2.doing} {object2}.",
    "{friend} {object.bare} {same.not}। {friend.he} {object2} {deed2.doing}।",
)
ASKED = more(
    "What {friend.does} {friend} doing? {Friend.he} {deed2.doing} {object2}.",
    "{friend} কী {friend.does}? {friend.he} {object2} {deed2.doing}।",
)
NOT_YET = more("But {friend} {same.never} {object.bare} yet.", "কিন্তু {friend} এখনো {object.bare} {same.never}।")
AGAIN = more("Tomorrow {who.he} {deed.will} {object.bare} again.", "আগামীকাল {who.he} আবার {object.bare} {deed.will}।")
AFTERWARDS = more("Afterwards {friend} {deed2.did} {object2}.", "পরে {friend} {object2} {deed2.did}।")
MEANWHILE = more("At that time {friend} {deed2.was} {object2}.", "তখন {friend} {object2} {deed2.was}।")
LIKED = more("{Who.he} liked it.", "{who.his} ভালো লেগেছে।")
LIKED_THEN = more("{Who.he} liked it.", "{who.his} ভালো লেগেছিল।")
IS_LIKE = more("{Object.the} {object.is} {quality}.", "{object.the} {quality}।")
WILL_NOT = more("{Friend} {same.wont} {object.bare}.", "{friend} {object.bare} {same.wont}।")
HAS_NONE = more("But {friend} {friend.has} no {owned.bare}.", "কিন্তু {friend.r} কাছে কোনো {owned.bare} নেই।")
OWN_IS_LIKE = more("{Owned.the} {owned.is} {kind}.", "{owned.the} {kind}।")

STORIES = Grammar(
    LANGUAGES,
    ROLES,
    either(
        (4, NOW, either((2, LOVES), (2, BESIDE), (2, INSTEAD), (2, ASKED), (1, IS_LIKE)), maybe(0.4, AGAIN)),
        (3, JUST_DONE, either((1, LIKED), (2, NOT_YET), (1, IS_LIKE)), maybe(0.4, ASKED)),
        (3, YESTERDAY, either((1, MEANWHILE), (1, AFTERWARDS), (1, LIKED_THEN)), maybe(0.3, AGAIN)),
        (1, NEXT_DAY, either((1, LOVES), (1, WILL_NOT))),
        (1, OWNS, either((1, HAS_NONE), (1, OWN_IS_LIKE))),
    ),
)


# --- telling stories, and their probability -------------------------------------------------------------------------


def derivations(seed: int) -> Iterator[Derivation]:
    """Yield stories without end, each drawn for English first, as in `stories.derivations`."""
    source = random.Random(seed)
    while True:
        story = STORIES.derive(random.Random(source.getrandbits(64)))
        story.line("english")
        yield story


def sample(*, stories: int | None = None, characters: int | None = None, seed: int = 0) -> str:
    """Return whole stories, each with a newline: this many `stories`, or as many as reach this many `characters`.

    Raises ValueError unless exactly one of the two is given.
    """
    if (stories is None) == (characters is None):
        raise ValueError("Say how much to sample: either stories=… or characters=…")
    lines: list[str] = []
    length = 0
    for story in derivations(seed):
        if len(lines) == stories or (characters is not None and length >= characters):
            break
        lines.append(story.line("bangla"))
        length += len(lines[-1])
    return "".join(lines)


def true_nll(text: str) -> float:
    """Return −log p(text) in nats, exactly; infinite if no stream of stories begins with the text."""
    return -STORIES.log_prob(text, "bangla")


def continuations(prefix: str, ways: Sequence[str]) -> dict[str, float]:
    """Return p(way | prefix) for each way, exactly; raise ValueError if no story begins with the prefix."""
    whole = STORIES.log_prob(prefix, "bangla")
    if whole == -math.inf:
        raise ValueError(f"No story begins with {prefix!r}, so nothing can follow it.")
    return {way: math.exp(STORIES.log_prob(prefix + way, "bangla") - whole) for way in ways}


def told(stories: int, seed: int = 0) -> list[list[tuple[str, str]]]:
    """Return the sentences of each story as (English, Bangla) pairs."""
    return [
        [
            (english.strip(), bangla.strip())
            for (_, english), (_, bangla) in zip(*(story.sentences(language) for language in LANGUAGES), strict=True)
        ]
        for _, story in zip(range(stories), derivations(seed), strict=False)
    ]


# --- word by word ---------------------------------------------------------------------------------------------------

SMALL_WORDS = dict(
    rows(
        """
        এখন | now
        এইমাত্র | just now
        গতকাল | yesterday
        সন্ধ্যায় | in the evening
        আগামীকাল | tomorrow
        আবার | again
        পরে | afterwards
        তখন | at that time
        পাশে | beside
        কিন্তু | but
        এখনো | still
        কী | what
        কাছে | with
        আছে | there is
        নেই | there is not
        কোনো | any
        না | not
        ভালো লেগেছে | it pleased
        ভালো লেগেছিল | it pleased
        একটি | one
        একটা | one
        দুটি | two
        দুটো | two
        তিনটি | three
        তিনটা | three
        চারটি | four
        চারটা | four
        """
    )
)


def glossary() -> dict[str, str]:
    """Return the meaning of each word by itself; an ambiguous word has all its meanings."""
    found: dict[str, set[str]] = {bangla: {english} for bangla, english in SMALL_WORDS.items()}

    def means(bangla: str, english: str, respect: bool = False) -> None:
        found.setdefault(bangla, set()).add(english + (" (respectful)" if respect else ""))

    for who in WHO:
        english, forms = who.forms["english"], who.forms["bangla"]
        respect, many = who.facts["respect"], who.facts["many"]
        means(forms[""], english[""])
        means(forms["r"], f"of {english['']}")
        means(forms["he"], "they" if many else "she or he", respect)
        means(forms["his"], "to them" if many else "to her or him", respect)
        means(forms["does"], "is doing", respect)
        means(forms["loves"], "loves", respect)
    for verb, agrees in AGREEING.items():
        for respect in (False, True):
            one = agrees[False, respect]
            for form in ("doing", "was", "done", "did", "will", "never"):
                means(one.forms["bangla"][form], one.forms["english"][form], respect)
        means(agrees[False, False].forms["bangla"]["to"], f"to {verb.facts['en']['base']}")
    for name, kinds in OBJECTS.items():
        for one in kinds:
            means(one.forms["bangla"]["the"], one.forms["english"]["the"] if len(kinds) > 1 else name)
            means(one.forms["bangla"]["bare"], name)
    for table in (PLACES, QUALITIES):
        for name, one in table.items():
            means(one.forms["bangla"][""], name)
    normal = {unicodedata.normalize("NFC", bangla): senses for bangla, senses in found.items()}
    return {bangla: one_meaning(senses) for bangla, senses in normal.items()}


def one_meaning(senses: set[str]) -> str:
    """Join meanings, with the mark they all share only once."""
    mark = " (respectful)"
    alike = all(one.endswith(mark) for one in senses)
    return " or ".join(sorted(one.removesuffix(mark) for one in senses)) + (mark if alike else "")


def gloss(text: str) -> list[tuple[str, str]]:
    """Return (word or fixed phrase, meaning) in order; "?" is the meaning of a word that is not in these stories."""
    known = glossary()
    words = [word.strip("।?") for word in text.split()]
    told, place = [], 0
    while place < len(words):
        for length in (3, 2, 1):
            phrase = " ".join(words[place : place + length])
            if phrase in known or length == 1:
                told.append((phrase, known.get(phrase, "?")))
                place += min(length, len(words) - place)
                break
    return told
