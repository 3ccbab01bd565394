"""Declare the stories: a table of roles, and plots whose sentences are parallel patterns in English, Igbo and Bangla.

`say` makes a sentence that can be understood alone; `more` makes one that depends on the sentences before it. A slot
{who.his} is a form of a role's word (see the lexicon). In Igbo, [size colour thing] is a noun with its adjectives, each
in its place, and [size colour thing|ya] puts "ya" in the place of a possessor, a numeral or "ahụ".
"""

import re

from .engine import Either, Grammar, Node, Role, Say, either, maybe, one_of
from .languages import LANGUAGES, word
from .lexicon import (
    ACTS,
    ANIMALS,
    COLOURS,
    COUNT_ONE,
    COUNT_SEVERAL,
    COVERS,
    DEEDS,
    FOODS,
    HERDS,
    INSIDE,
    JOYS,
    KIN,
    LOOKS,
    NUMBERS,
    OUTSIDE,
    PEOPLE,
    PLACES,
    QUALITIES,
    SIZES,
    SPOTS,
    STATES,
    THINGS,
    TIMES,
    VEGETABLES,
)

FEELINGS = list(STATES.values())


def feeling(names: str) -> Role:
    return one_of([STATES[name] for name in names.split()])


SOUP = [QUALITIES[name] for name in ("hot", "sweet", "fresh")]

ROLES = {
    "when": one_of(TIMES),
    "who": one_of(PEOPLE),
    "friend": one_of(PEOPLE, unlike="who"),
    "third": one_of(PEOPLE, unlike="who friend"),
    "fourth": one_of(PEOPLE, unlike="who friend third"),
    "fifth": one_of(PEOPLE, unlike="who friend third fourth"),
    "sixth": one_of(PEOPLE, unlike="who friend third fourth fifth"),
    "seventh": one_of(PEOPLE, unlike="who friend third fourth fifth sixth"),
    "guest": one_of(PEOPLE, unlike="who friend"),
    "kin": one_of(KIN),
    "thing": one_of(THINGS),
    "thing2": one_of(THINGS, unlike="thing"),
    "size": one_of(SIZES),
    "size2": one_of(SIZES),
    "colour": one_of(COLOURS),
    "colour2": one_of(COLOURS, unlike="colour"),
    "object": one_of([word("thing", "ihe", "জিনিস")]),
    "box": one_of([word("box", "igbe", "বাক্স")]),
    "team": one_of([word("team", "otu egwuregwu", "দল")]),
    "cover": one_of(COVERS),
    "place": one_of(PLACES),
    "yard": one_of(OUTSIDE),
    "yard2": one_of(OUTSIDE, unlike="yard"),
    "corner": one_of(INSIDE),
    "corner2": one_of(INSIDE, unlike="corner"),
    "spot": one_of(SPOTS),
    "spot2": one_of(SPOTS, unlike="spot"),
    "found": one_of(SPOTS, unlike="spot"),
    "tried": one_of(SPOTS, unlike="spot found"),
    "animal": one_of(ANIMALS),
    "animal2": one_of(ANIMALS, unlike="animal"),
    "animal3": one_of(ANIMALS, unlike="animal animal2"),
    "animal4": one_of(ANIMALS, unlike="animal animal2 animal3"),
    "look": one_of(LOOKS),
    "look2": one_of(LOOKS),
    "look3": one_of(LOOKS),
    "look4": one_of(LOOKS),
    "herd": one_of(HERDS),
    "herd2": Role(lambda herd: [one for one in HERDS if one.facts["animal"] is not herd.facts["animal"]], ("herd",)),
    "count": Role(lambda herd: COUNT_SEVERAL if herd.facts["many"] else COUNT_ONE, ("herd",)),
    "count2": Role(lambda herd: COUNT_SEVERAL if herd.facts["many"] else COUNT_ONE, ("herd2",)),
    "deed": one_of(DEEDS),
    "deed2": one_of(DEEDS),
    "noun": Role(lambda deed: [deed.facts["noun"]], ("deed",)),
    "noun2": Role(lambda deed: [deed.facts["noun"]], ("deed2",)),
    "why": Role(lambda deed: deed.facts["states"], ("deed",)),
    "why2": Role(lambda deed: deed.facts["states"], ("deed2",)),
    "quality": Role(lambda deed: deed.facts["qualities"], ("deed",)),
    "quality2": Role(lambda deed: deed.facts["qualities"], ("deed2",)),
    "taste": one_of(SOUP),
    "upset": feeling("sad angry hungry"),
    "weakness": feeling("tired sleepy sick cold afraid hungry"),
    "need": feeling("hungry cold sick tired thirsty sad"),
    "worry": feeling("cold sad afraid sick tired sleepy"),
    "defeat": feeling("sad angry tired thirsty hungry"),
    "surprise": feeling("happy shy"),
    "flight": feeling("afraid shy hungry thirsty angry"),
    "kindness": feeling("happy lonely"),
    "hunger": feeling("hungry sad thirsty sick"),
    "state": one_of(FEELINGS),
    "state2": one_of(FEELINGS, unlike="state"),
    "state3": one_of(FEELINGS, unlike="state state2"),
    "act": one_of(ACTS),
    "act2": one_of(ACTS, unlike="act"),
    "act3": one_of(ACTS, unlike="act act2"),
    "joy": one_of(JOYS),
    "mood": one_of(FEELINGS),
    "mood2": one_of(FEELINGS, unlike="mood"),
    "did": one_of(ACTS),
    "did2": one_of(ACTS, unlike="did"),
    "did3": one_of(ACTS, unlike="did did2"),
    "food": one_of(FOODS),
    "food2": one_of(FOODS, unlike="food"),
    "food3": one_of(FOODS, unlike="food food2"),
    "dish": one_of(VEGETABLES),
    "dish2": one_of(VEGETABLES, unlike="dish"),
    "dish3": one_of(VEGETABLES, unlike="dish dish2"),
    "dish4": one_of(VEGETABLES, unlike="dish dish2 dish3"),
    "number": one_of(NUMBERS),
    "number2": one_of(NUMBERS),
    "number3": one_of(NUMBERS),
    # A race: the order of arrival
    "first": Role(lambda *runners: runners, ("who", "friend", "third", "fourth")),
    "second": Role(
        lambda first, *runners: [one for one in runners if one is not first],
        ("first", "who", "friend", "third", "fourth"),
    ),
    "last": Role(
        lambda *taken: [one for one in taken[2:] if one not in taken[:2]],
        ("first", "second", "who", "friend", "third", "fourth"),
    ),
    # A sum: many − part = left
    "many": one_of(NUMBERS[2:]),
    "part": Role(lambda many: [n for n in NUMBERS if n.facts["value"] + 2 <= many.facts["value"]], ("many",)),
    "left": Role(
        lambda many, part: [n for n in NUMBERS if part.facts["value"] + n.facts["value"] == many.facts["value"]],
        ("many", "part"),
    ),
}


def say(english: str, igbo: str, bangla: str) -> Say:
    """Return a sentence that can be understood alone."""
    return Say((english, re.sub(r"\[([^]|]+)(\|[^]]*)?\]", in_order, igbo), bangla))


def more(english: str, igbo: str, bangla: str) -> Say:
    """Return a sentence that depends on the sentences before it."""
    return Say(say(english, igbo, bangla).patterns, alone=False)


def in_order(phrase: re.Match) -> str:
    """Expand [size colour thing|ya]: {size.pre}{colour.pre}{thing}{size.near}{colour.near} ya{size.far}{colour.far}"""
    *adjectives, noun = phrase.group(1).split()
    inner = (phrase.group(2) or "|")[1:]
    pre, near, far = ("".join(f"{{{name}.{place}}}" for name in adjectives) for place in ("pre", "near", "far"))
    space = "" if inner in ("", "{count.post}", "{count2.post}") else " "  # count.post brings its own, or is nothing
    return f"{pre}{{{noun}}}{near}{space}{inner}{far}"


def then(*ways: Node | tuple[Node, ...]) -> Either:
    """Return a choice of these sentences (or tuples of sentences), all equally likely."""
    return either(*((1, *(node if isinstance(node, tuple) else (node,))) for node in ways))


# Sentences that end or lengthen several plots

NEXT = then(
    say(
        "Then {who} {did}, {friend} {did2} and {guest} {did3}.",
        "E mesịa, {who} {did}, {friend} {did2}, {guest} {did3}.",
        "তারপর {who} {did}, {friend} {did2} আর {guest} {did3}।",
    ),
    say(
        "{Who} was {mood}, {friend} was {mood2} and {guest} {did}.",
        "{Mood.pre} {who}{mood.post}, {mood2.pre} {friend}{mood2.post}, {guest} {did}.",
        "{who.r} {mood}, {friend.r} {mood2} আর {guest} {did}।",
    ),
)

LOST = (
    then(
        say(
            "{When}, {who} lost {who.his} {size} {colour} {thing}.",
            "{When}, {who} tụfuru [size colour thing|ya].",
            "{when} {who} তার {size} {colour} {thing.ta} হারিয়ে ফেলল।",
        ),
        say(
            "{When}, {who} could not find {who.his} {size} {colour} {thing}.",
            "{When}, {who} achọtaghị [size colour thing|ya].",
            "{when} {who} তার {size} {colour} {thing.ta} খুঁজে পেল না।",
        ),
    ),
    then(
        more(
            "{Who.he} looked {spot} and {tried}, but it was not there.",
            "O lere anya {spot} na {tried}, ma ọ dịghị ebe ahụ.",
            "সে {spot} আর {tried} খুঁজল, কিন্তু সেটা সেখানে ছিল না।",
        ),
        more(
            '"Is it {spot}?" asked {who.his} {kin}. "No," said {who}.',
            '"Ọ̀ dị {spot}?" ka {kin} jụrụ. "Mba," ka {who} zara.',
            '"ওটা কি {spot}?" তার {kin} {kin.asked}। "না," {who} বলল।',
        ),
    ),
    then(
        more(
            "{Friend} came to help and found it {found}.",
            "{Friend} bịara inye aka wee chọta ya {found}.",
            "{friend} সাহায্য করতে এসে সেটা {found} পেল।",
        ),
        more(
            "Then {friend} saw it {found}.",
            "{Friend} wee hụ ya {found}.",
            "তারপর {friend} সেটা {found} দেখতে পেল।",
        ),
        more(
            '"Look, it is {found}!" said {friend}.',
            '"Lee, ọ dị {found}!" ka {friend} kwuru.',
            '"দেখো, ওটা {found}!" {friend} বলল।',
        ),
    ),
    then(
        say("{Who} gave {friend} {food.a}.", "{Who} nyere {friend} otu {food}.", "{who} {friend.ke} একটা {food} দিল।"),
        say(
            "{Who} was happy and {joy}.",
            "Obi dị {who} ụtọ, o wee {joy.wee}.",
            "{who} খুশি হয়ে {joy}।",
        ),
        more(
            "{Animal.a} had put it there.",
            "Ọ bụ otu {animal} debere ya n'ebe ahụ.",
            "একটা {animal} সেটা সেখানে রেখেছিল।",
        ),
    ),
    maybe(
        0.5,
        then(
            say(
                "Who found the {thing}? {Friend} did.",
                "Onye chọtara {thing} ahụ? Ọ bụ {friend}.",
                "কে {thing.ta} খুঁজে পেল? {friend}।",
            ),
            say(
                "Where was the {thing}? It was {found}.",
                "Ebee ka {thing} ahụ dị? Ọ dị {found}.",
                "{thing.ta} কোথায় ছিল? {found}।",
            ),
        ),
    ),
)


def again(node: Node) -> Node:
    """Return the same node about a second animal: {herd}, {deed} … become {herd2}, {deed2} …"""
    if isinstance(node, Say):
        patterns = (re.sub(r"\{(herd|deed|why|quality|noun)\b", r"{\g<1>2", p, flags=re.I) for p in node.patterns)
        return Say(tuple(patterns), node.alone)
    return Either(tuple((weight, tuple(map(again, way))) for weight, way in node.branches))


# The reason is the animal's (it was thirsty) or the other noun's (it was cold): only the last word tells which "it" is
REASON = then(
    (
        say(
            "{Herd.the} {deed} because {herd.it} {herd.was} {why}.",
            "{Herd.the} {deed} n'ihi na {why.pre} {herd.ya}{why.post}.",
            "{herd.the} {deed}, কারণ {herd.tar} {why}।",
        ),
        maybe(
            0.4,
            say(
                "Who was {why}? {Herd.the} {herd.was}.",
                "Onye ka {why.pre}{why.post}? Ọ bụ {herd.the}.",
                "কার {why}? {herd.r}।",
            ),
        ),
    ),
    (
        say(
            "{Herd.the} {deed} because it was {quality}.",
            "{Herd.the} {deed} n'ihi na {quality.it}.",
            "{herd.the} {deed}, কারণ সেটা {quality} ছিল।",
        ),
        maybe(
            0.4,
            say(
                "What was {quality}? The {noun} was.",
                "Gịnị {quality}? Ọ bụ {noun} ahụ.",
                "কী {quality} ছিল? {noun}।",
            ),
        ),
    ),
)

BECAUSE = (
    say(
        "{When}, {who} saw {count} {look} {herd} and {count2} {look2} {herd2} near the {place}.",
        "{When}, {who} hụrụ {count.pre}[look herd|{count.post}] na {count2.pre}[look2 herd2|{count2.post}] "
        "n'akụkụ {place}.",
        "{when} {who} {place.r} কাছে {count} {look} {herd} আর {count2} {look2} {herd2} দেখল।",
    ),
    REASON,
    again(REASON),
    maybe(
        0.6,
        then(
            say(
                "{Friend} gave {herd.the} {number} {food.s}.",
                "{Friend} nyere {herd.the} {food} {number}.",
                "{friend} {herd.ke} {number} {food} দিল।",
            ),
            say(
                "{Friend} came and {herd2.the} ran away.",
                "{Friend} bịara, {herd2.the} wee gbaa ọsọ.",
                "{friend} আসতেই {herd2.the} পালিয়ে গেল।",
            ),
            more(
                "{Who} and {friend} took {herd2.them} home.",
                "{Who} na {friend} kpọọrọ {herd2.ya} laa ụlọ.",
                "{who} আর {friend} {herd2.ke} বাড়ি নিয়ে গেল।",
            ),
            say(
                "{Friend} watched {herd.the} and {joy}.",
                "{Friend} lere {herd.the} anya wee {joy.wee}.",
                "{friend} {herd.the} দেখে {joy}।",
            ),
        ),
    ),
)

HERD = (
    say(
        "{Herd.the} {yard} {herd.was} {state} and {who} was {state2}.",
        "{State.pre} {herd.the} nọ {yard}{state.post}, {state2.pre} {who}{state2.post}.",
        "{yard.r} {herd.r} {state} আর {who.r} {state2}।",
    ),
    then(
        more(
            "{Who.his} {kin} gave {herd.them} {number} {food.s} and {who} gave {herd.them} {food2.a}.",
            "{Kin} nyere {herd.ya} {food} {number}, {who} nyekwara {herd.ya} otu {food2}.",
            "তার {kin} {herd.ke} {number} {food} {kin.gave} আর {who} {herd.ke} একটা {food2} দিল।",
        ),
        more(
            "{Friend} saw {herd.them} and {joy}.",
            "{Friend} hụrụ {herd.ya} wee {joy.wee}.",
            "{friend} {herd.ke} দেখে {joy}।",
        ),
    ),
)

SUMS = (
    then(
        say(
            "{When}, {who} had {many} {food.s}.",
            "{When}, {who} nwere {food} {many}.",
            "{when} {who.r} কাছে {many} {food} ছিল।",
        ),
        say(
            "{When}, {who} found {many} {food.s} {yard}.",
            "{When}, {who} chọtara {food} {many} {yard}.",
            "{when} {who} {yard} {many} {food} পেল।",
        ),
        say(
            "{When}, {who} bought {many} {food.s} at the market.",
            "{When}, {who} zụtara {food} {many} n'ahịa.",
            "{when} {who} বাজার থেকে {many} {food} কিনল।",
        ),
    ),
    then(
        more(
            "{Who.he} gave {part} {food.s} to {friend}.",
            "O nyere {friend} {food} {part}.",
            "সে {friend.ke} {part} {food} দিল।",
        ),
        more(
            "{Animal.a} ate {part} of them.",
            "Otu {animal} riri {part} n'ime ha.",
            "একটা {animal} সেগুলো থেকে {part} খেয়ে ফেলল।",
        ),
        more(
            "{Who.his} {kin} took {part} of them.",
            "{Kin} weere {part} n'ime ha.",
            "তার {kin} সেগুলো থেকে {part} {kin.took}।",
        ),
    ),
    then(
        more(
            '"How many {food.s} do you have now?" asked {friend}. "{Left}," said {who}.',
            '"{Food} ole ka i nwere ugbu a?" ka {friend} jụrụ. "{Left}," ka {who} zara.',
            '"এখন তোমার কাছে কয়টা {food} আছে?" {friend} জিজ্ঞেস করল। "{left}," {who} বলল।',
        ),
        more(
            "Now {who.he} had {left} {food.s}.",
            "Ugbu a, o nwere {food} {left}.",
            "এখন তার কাছে {left} {food} রইল।",
        ),
    ),
    then(
        more("{Who.he} put them {spot}.", "O debere ha {spot}.", "সে সেগুলো {spot} রাখল।"),
        NEXT,
    ),
)

MARKET = (
    then(
        say(
            "{When}, {who} and {who.his} {kin} went to the market.",
            "{When}, {who} na {kin} gara ahịa.",
            "{when} {who} আর তার {kin} বাজারে গেল।",
        ),
        say(
            "{When}, {who}'s {kin} took {who.him} to the market.",
            "{When}, {kin.pre} {who}{kin.post} kpọọrọ ya gaa ahịa.",
            "{when} {who.r} {kin} তাকে বাজারে নিয়ে {kin.went}।",
        ),
    ),
    then(
        more(
            "They bought {number} {food.s}, {number2} {food2.s}, {number3} {food3.s} and {size.a} {colour} {thing}.",
            "Ha zụtara {food} {number}, {food2} {number2}, {food3} {number3} na [size colour thing].",
            "তারা {number} {food}, {number2} {food2}, {number3} {food3} আর একটা {size} {colour} {thing} কিনল।",
        ),
        more(
            "They bought {number} {food.s} from {friend}, {number2} {food2.s} from {third}, "
            "{food3.a} from {fourth} and {colour.a} {thing} from {fifth}.",
            "Ha zụtara {food} {number} n'aka {friend}, {food2} {number2} n'aka {third}, "
            "otu {food3} n'aka {fourth} na [colour thing] n'aka {fifth}.",
            "তারা {friend.r} কাছ থেকে {number} {food}, {third.r} কাছ থেকে {number2} {food2}, "
            "{fourth.r} কাছ থেকে একটা {food3} আর {fifth.r} কাছ থেকে একটা {colour} {thing} কিনল।",
        ),
    ),
    then(
        say(
            "{Who} carried the {food.s} and {who.his} {kin} carried the {thing}.",
            "{Who} buuru {food} ndị ahụ, {kin} buuru {thing} ahụ.",
            "{who} {food.gulo} নিল আর তার {kin} {thing.ta} {kin.took}।",
        ),
        more(
            "On the way home they saw {count} {look} {herd} {yard}.",
            "Mgbe ha na-alọta, ha hụrụ {count.pre}[look herd|{count.post}] {yard}.",
            "বাড়ি ফেরার পথে তারা {yard} {count} {look} {herd} দেখল।",
        ),
        say(
            "{Who} was {upset} because {animal.a} ate {who.his} {food3.s}.",
            "{Upset.pre} {who}{upset.post} n'ihi na otu {animal} riri {food3} ya niile.",
            "{who.r} {upset}, কারণ একটা {animal} তার {food3.gulo} খেয়ে ফেলেছিল।",
        ),
    ),
    then(
        more(
            "At home {who.he} put the {thing} {corner}. Where is the {thing} now? It is {corner}.",
            "N'ụlọ, o debere {thing} ahụ {corner}. Ebee ka {thing} ahụ dị ugbu a? Ọ dị {corner}.",
            "বাড়িতে সে {thing.ta} {corner} রাখল। {thing.ta} এখন কোথায়? {corner}।",
        ),
        more(
            "At home {who.he} put the {food.s} {corner} and the {thing} {corner2}.",
            "N'ụlọ, o debere {food} ndị ahụ {corner}, debekwa {thing} ahụ {corner2}.",
            "বাড়িতে সে {food.gulo} {corner} আর {thing.ta} {corner2} রাখল।",
        ),
    ),
)

SCHOOL = (
    say(
        "At school, {who} drew {number} {colour} {animal.s} and {friend} drew {number2} {colour2} {animal2.s}.",
        "N'ụlọ akwụkwọ, {who} sere [colour animal|{number}], {friend} sere [colour2 animal2|{number2}].",
        "স্কুলে {who} {number} {colour} {animal} আঁকল আর {friend} {number2} {colour2} {animal2} আঁকল।",
    ),
    then(
        say(
            "{Third} drew {size.a} {thing} and {look.a} {animal3}.",
            "{Third} sere [size thing] na [look animal3].",
            "{third} একটা {size} {thing} আর একটা {look} {animal3} আঁকল।",
        ),
        say("{Third} {act}.", "{Third} {act}.", "{third} {act}।"),
    ),
    then(
        more(
            '"Who drew the {animal.s}?" asked the teacher. "I did," said {who}.',
            '"Onye sere {animal} ndị a?" ka onye nkuzi jụrụ. "Ọ bụ m," ka {who} zara.',
            '"{animal.gulo} কে এঁকেছে?" শিক্ষক জিজ্ঞেস করলেন। "আমি," {who} বলল।',
        ),
        more(
            '"Who drew the {animal2.s}?" asked the teacher. "I did," said {friend}.',
            '"Onye sere {animal2} ndị a?" ka onye nkuzi jụrụ. "Ọ bụ m," ka {friend} zara.',
            '"{animal2.gulo} কে এঁকেছে?" শিক্ষক জিজ্ঞেস করলেন। "আমি," {friend} বলল।',
        ),
    ),
    then(
        say(
            "The teacher gave {who} {food.a} and {friend} {food2.a}.",
            "Onye nkuzi nyere {who} otu {food}, nyekwa {friend} otu {food2}.",
            "শিক্ষক {who.ke} একটা {food} আর {friend.ke} একটা {food2} দিলেন।",
        ),
        say(
            "{Friend} gave the picture to {friend.his} {kin}.",
            "{Friend} nyere {kin} eserese ahụ.",
            "{friend} ছবিটা তার {kin.ke} দিল।",
        ),
        NEXT,
    ),
)

HIDE = (
    say(
        "{When}, {who}, {friend} and {third} played near the {place}.",
        "{When}, {who}, {friend} na {third} gwuru egwu n'akụkụ {place}.",
        "{when} {who}, {friend} আর {third} {place.r} কাছে খেলছিল।",
    ),
    more(
        "{Who} hid {yard}, {friend} hid {yard2} and {third} looked for them.",
        "{Who} zoro {yard}, {friend} zoro {yard2}, {third} wee chọwa ha.",
        "{who} {yard} লুকাল, {friend} {yard2} লুকাল আর {third} তাদের খুঁজল।",
    ),
    then(
        say(
            "{Third} found {who} first. Where was {friend}? {Friend.he} was {yard2}.",
            "{Third} bu ụzọ chọta {who}. Ebee ka {friend} nọ? Ọ nọ {yard2}.",
            "{third} আগে {who.ke} খুঁজে পেল। {friend} কোথায় ছিল? সে {yard2} ছিল।",
        ),
        say(
            "{Third} found {friend} first. Where was {who}? {Who.he} was {yard}.",
            "{Third} bu ụzọ chọta {friend}. Ebee ka {who} nọ? Ọ nọ {yard}.",
            "{third} আগে {friend.ke} খুঁজে পেল। {who} কোথায় ছিল? সে {yard} ছিল।",
        ),
        more(
            "{Third} did not find them because {third.he} was {weakness}.",
            "{Third} achọtaghị ha n'ihi na {weakness.pre} ya{weakness.post}.",
            "{third} তাদের খুঁজে পেল না, কারণ তার {weakness}।",
        ),
    ),
    then(
        say("Then {third} hid {corner}.", "{Third} wee zoo {corner}.", "তারপর {third} {corner} লুকাল।"),
        NEXT,
    ),
)

TRADE = (
    say(
        "{Who} had {size.a} {colour} {thing} and {friend} had {size2.a} {colour2} {thing2}.",
        "{Who} nwere [size colour thing], {friend} nwere [size2 colour2 thing2].",
        "{who.r} একটা {size} {colour} {thing} ছিল আর {friend.r} একটা {size2} {colour2} {thing2} ছিল।",
    ),
    then(
        (
            say(
                "{Who} gave the {thing} to {third} and {friend} {act}.",
                "{Who} nyere {third} {thing} ahụ, {friend} {act}.",
                "{who} {third.ke} {thing.ta} দিল আর {friend} {act}।",
            ),
            then(
                say(
                    "Who has the {colour} {thing} now? {Third} has it.",
                    "Onye ji [colour thing|ahụ] ugbu a? Ọ bụ {third} ji ya.",
                    "{colour} {thing.ta} এখন কার কাছে? {third.r} কাছে।",
                ),
                say(
                    "Who has the {colour2} {thing2} now? {Friend} has it.",
                    "Onye ji [colour2 thing2|ahụ] ugbu a? Ọ bụ {friend} ji ya.",
                    "{colour2} {thing2.ta} এখন কার কাছে? {friend.r} কাছে।",
                ),
            ),
        ),
        (
            say(
                "{Friend} gave the {thing2} to {third} and {third} put it {spot}.",
                "{Friend} nyere {third} {thing2} ahụ, {third} wee debe ya {spot}.",
                "{friend} {third.ke} {thing2.ta} দিল আর {third} সেটা {spot} রাখল।",
            ),
            then(
                say(
                    "Who has the {colour} {thing} now? {Who} has it.",
                    "Onye ji [colour thing|ahụ] ugbu a? Ọ bụ {who} ji ya.",
                    "{colour} {thing.ta} এখন কার কাছে? {who.r} কাছে।",
                ),
                say(
                    "Where is the {thing2} now? It is {spot}.",
                    "Ebee ka {thing2} ahụ dị ugbu a? Ọ dị {spot}.",
                    "{thing2.ta} এখন কোথায়? {spot}।",
                ),
            ),
        ),
    ),
    NEXT,
)

WALK = (
    say(
        "{When}, {who} went to the {place} with {who.his} {look} {animal}.",
        "{When}, {who} na [look animal|ya] gara {place.to}.",
        "{when} {who} তার {look} {animal.ta}কে নিয়ে {place.to} গেল।",
    ),
    more(
        "On the way they saw {number} {look2} {animal2.s}, {number2} {look3} {animal3.s} and {look4.a} {animal4}.",
        "N'ụzọ, ha hụrụ [look2 animal2|{number}], [look3 animal3|{number2}] na otu [look4 animal4].",
        "পথে তারা {number} {look2} {animal2}, {number2} {look3} {animal3} আর একটা {look4} {animal4} দেখল।",
    ),
    then(
        say(
            "The {animal} ran away because it was {flight}.",
            "{Animal} ahụ gbapụrụ n'ihi na {flight.pre} ya{flight.post}.",
            "{animal.ta} পালিয়ে গেল, কারণ তার {flight}।",
        ),
        say(
            "{Who} gave the {animal} {food.a} because {who.he} was {kindness}.",
            "{Who} nyere {animal} ahụ otu {food} n'ihi na {kindness.pre} ya{kindness.post}.",
            "{who} {animal.ta}কে একটা {food} দিল, কারণ তার {kindness}।",
        ),
        say(
            "{Who} gave the {animal} {food.a} because it was {hunger}.",
            "{Who} nyere {animal} ahụ otu {food} n'ihi na {hunger.pre} ya{hunger.post}.",
            "{who} {animal.ta}কে একটা {food} দিল, কারণ ওটার {hunger}।",
        ),
    ),
    then(
        say(
            '"How many {animal2.s} did you see?" asked {friend}. "{Number}," said {who}.',
            '"{Animal2} ole ka ị hụrụ?" ka {friend} jụrụ. "{Number}," ka {who} zara.',
            '"তুমি কয়টা {animal2} দেখেছ?" {friend} জিজ্ঞেস করল। "{number}," {who} বলল।',
        ),
        say(
            '"How many {animal3.s} did you see?" asked {friend}. "{Number2}," said {who}.',
            '"{Animal3} ole ka ị hụrụ?" ka {friend} jụrụ. "{Number2}," ka {who} zara.',
            '"তুমি কয়টা {animal3} দেখেছ?" {friend} জিজ্ঞেস করল। "{number2}," {who} বলল।',
        ),
        NEXT,
    ),
)

RIDDLE = (
    say(
        '"I have something {size} and {colour}," said {who}.',
        '"E nwere m [size colour object]," ka {who} kwuru.',
        '"আমার কাছে একটা {size} {colour} জিনিস আছে," {who} বলল।',
    ),
    more(
        '"Is it {thing.a}?" asked {friend}. "No," said {who}.',
        '"Ọ̀ bụ {thing}?" ka {friend} jụrụ. "Mba," ka {who} zara.',
        '"ওটা কি {thing}?" {friend} জিজ্ঞেস করল। "না," {who} বলল।',
    ),
    more(
        '"Is it {thing2.a}?" asked {third}. "Yes!" said {who}.',
        '"Ọ̀ bụ {thing2}?" ka {third} jụrụ. "Ee!" ka {who} zara.',
        '"ওটা কি {thing2}?" {third} জিজ্ঞেস করল। "হ্যাঁ!" {who} বলল।',
    ),
    then(
        say(
            "The {colour} {thing2} was {spot}.",
            "[colour Thing2|ahụ] dị {spot}.",
            "{colour} {thing2.ta} {spot} ছিল।",
        ),
        say(
            "{Who} gave {third} {food.a} and {friend} {food2.a}.",
            "{Who} nyere {third} otu {food}, nyekwa {friend} otu {food2}.",
            "{who} {third.ke} একটা {food} আর {friend.ke} একটা {food2} দিল।",
        ),
        NEXT,
    ),
)

GIFTS = (
    say(
        "{When}, {friend} gave {who} {size.a} {thing} and {third} gave {who.him} {colour.a} {thing2}.",
        "{When}, {friend} nyere {who} [size thing], {third} nyekwara ya [colour thing2].",
        "{when} {friend} {who.ke} একটা {size} {thing} দিল আর {third} তাকে একটা {colour} {thing2} দিল।",
    ),
    then(
        say(
            "{Who}'s {kin} gave {who.him} {number} {food.s}.",
            "{Kin.pre} {who}{kin.post} nyere ya {food} {number}.",
            "{who.r} {kin} তাকে {number} {food} {kin.gave}।",
        ),
        say(
            "{Who} was happy and gave {number} {food.s} to {herd.the} {yard}.",
            "Obi dị {who} ụtọ, o wee nye {herd.the} nọ {yard} {food} {number}.",
            "{who} খুশি হয়ে {yard.r} {herd.ke} {number} {food} দিল।",
        ),
        say(
            "{Who} put the {thing} {spot} and the {thing2} {spot2}.",
            "{Who} debere {thing} ahụ {spot}, debekwa {thing2} ahụ {spot2}.",
            "{who} {thing.ta} {spot} আর {thing2.ta} {spot2} রাখল।",
        ),
    ),
    then(
        say(
            "Who gave {who} the {thing}? {Friend} did.",
            "Onye nyere {who} {thing} ahụ? Ọ bụ {friend}.",
            "{who.ke} {thing.ta} কে দিল? {friend}।",
        ),
        say(
            "Who gave {who} the {thing2}? {Third} did.",
            "Onye nyere {who} {thing2} ahụ? Ọ bụ {third}.",
            "{who.ke} {thing2.ta} কে দিল? {third}।",
        ),
        NEXT,
    ),
)

COOK = (
    say(
        "{When}, {who} made soup with {number} {dish.s}, {number2} {dish2.s}, {number3} {dish3.s} and {dish4.a}.",
        "{When}, {who} ji {dish} {number}, {dish2} {number2}, {dish3} {number3} na otu {dish4} sie ofe.",
        "{when} {who} {number} {dish}, {number2} {dish2}, {number3} {dish3} আর একটা {dish4} দিয়ে স্যুপ রান্না করল।",
    ),
    then(
        (
            say(
                "{Friend} ate the soup because {friend.he} was {need}.",
                "{Friend} riri ofe ahụ n'ihi na {need.pre} ya{need.post}.",
                "{friend} স্যুপটা খেল, কারণ তার {need}।",
            ),
            maybe(
                0.5,
                say(
                    "Who was {need}? {Friend} was.",
                    "Onye ka {need.pre}{need.post}? Ọ bụ {friend}.",
                    "কার {need}? {friend.r}।",
                ),
            ),
        ),
        (
            say(
                "{Friend} ate the soup because it was {taste}.",
                "{Friend} riri ofe ahụ n'ihi na {taste.it}.",
                "{friend} স্যুপটা খেল, কারণ সেটা {taste} ছিল।",
            ),
            maybe(
                0.5,
                say(
                    "What was {taste}? The soup was.",
                    "Gịnị {taste}? Ọ bụ ofe ahụ.",
                    "কী {taste} ছিল? স্যুপ।",
                ),
            ),
        ),
    ),
    then(
        say(
            "{Who} put the pot {corner} and {act}.",
            "{Who} debere ite ahụ {corner} wee {act.wee}.",
            "{who} হাঁড়িটা {corner} রেখে {act}।",
        ),
        say(
            "{Third} washed the pot and {act}.",
            "{Third} sara ite ahụ wee {act.wee}.",
            "{third} হাঁড়িটা ধুয়ে {act}।",
        ),
        NEXT,
    ),
)

DAY = (
    say(
        "{When}, {who} {act}, {friend} {act2} and {third} {act3}.",
        "{When}, {who} {act}, {friend} {act2}, {third} {act3}.",
        "{when} {who} {act}, {friend} {act2} আর {third} {act3}।",
    ),
    then(
        say(
            "{Who} was {state}, {friend} was {state2} and {third} was {state3}.",
            "{State.pre} {who}{state.post}, {state2.pre} {friend}{state2.post}, {state3.pre} {third}{state3.post}.",
            "{who.r} {state}, {friend.r} {state2} আর {third.r} {state3}।",
        ),
        say(
            "{Number} {look} {animal.s} slept {yard}.",
            "{Yard}, [look animal|{number}] rahụrụ ụra.",
            "{yard} {number} {look} {animal} ঘুমাল।",
        ),
        say(
            "{Who} ate {food.a}, {friend} ate {food2.a} and {third} ate {food3.a}.",
            "{Who} riri otu {food}, {friend} riri otu {food2}, {third} riri otu {food3}.",
            "{who} একটা {food}, {friend} একটা {food2} আর {third} একটা {food3} খেল।",
        ),
    ),
    then(
        say("Who {act}? {Who} did.", "Onye {act}? Ọ bụ {who}.", "কে {act}? {who}।"),
        say("Who {act2}? {Friend} did.", "Onye {act2}? Ọ bụ {friend}.", "কে {act2}? {friend}।"),
        say("Who {act3}? {Third} did.", "Onye {act3}? Ọ bụ {third}.", "কে {act3}? {third}।"),
    ),
)

RAIN = (
    say(
        "{When}, {who} and {friend} were near the {place} when the rain began.",
        "{When}, {who} na {friend} nọ n'akụkụ {place} mgbe mmiri malitere izo.",
        "{when} {who} আর {friend} {place.r} কাছে ছিল, তখন বৃষ্টি শুরু হলো।",
    ),
    say(
        "{Who} had {colour.a} {cover}, but {friend} had only {size.a} {thing}.",
        "{Who} ji [colour cover], ma {friend} ji naanị [size thing].",
        "{who.r} কাছে একটা {colour} {cover} ছিল, কিন্তু {friend.r} কাছে শুধু একটা {size} {thing} ছিল।",
    ),
    then(
        more(
            "They sat under the {cover} and ate {number} {food.s}.",
            "Ha nọdụrụ ala n'okpuru {cover} ahụ wee rie {food} {number}.",
            "তারা {cover.ta}র নিচে বসে {number} {food} খেল।",
        ),
        say(
            "{Friend} was {worry}, so {who} gave {friend.him} the {cover}.",
            "{Worry.pre} {friend}{worry.post}, {who} wee nye ya {cover} ahụ.",
            "{friend.r} {worry}, তাই {who} তাকে {cover.ta} দিল।",
        ),
    ),
    then(
        say(
            "Then the sun came out and {number2} {look} {animal.s} slept {yard}.",
            "Anyanwụ wee wapụta, [look animal|{number2}] rahụrụ ụra {yard}.",
            "তারপর রোদ উঠল আর {yard} {number2} {look} {animal} ঘুমাল।",
        ),
        say(
            "Then the sun came out and {third} {act}.",
            "Anyanwụ wee wapụta, {third} {act}.",
            "তারপর রোদ উঠল আর {third} {act}।",
        ),
        NEXT,
    ),
)

PICNIC = (
    say(
        "{When}, {who} brought {number} {food.s}, {friend} brought {number2} {food2.s} "
        "and {third} brought {size.a} {thing}.",
        "{When}, {who} wetara {food} {number}, {friend} wetara {food2} {number2}, {third} wetara [size thing].",
        "{when} {who} {number} {food} আনল, {friend} {number2} {food2} আনল আর {third} একটা {size} {thing} আনল।",
    ),
    then(
        more(
            "They sat {yard} and {joy}.",
            "Ha nọdụrụ ala {yard} wee {joy.wee}.",
            "তারা {yard} বসে {joy}।",
        ),
        say(
            "{Look.a} {animal} came and ate the {food.s}.",
            "Otu [look animal] bịara rie {food} ndị ahụ.",
            "একটা {look} {animal} এসে {food.gulo} খেয়ে ফেলল।",
        ),
    ),
    then(
        say(
            "Who brought the {food.s}? {Who} did.",
            "Onye wetara {food} ndị ahụ? Ọ bụ {who}.",
            "{food.gulo} কে এনেছিল? {who}।",
        ),
        say(
            "Who brought the {food2.s}? {Friend} did.",
            "Onye wetara {food2} ndị ahụ? Ọ bụ {friend}.",
            "{food2.gulo} কে এনেছিল? {friend}।",
        ),
        say(
            "Who brought the {thing}? {Third} did.",
            "Onye wetara {thing} ahụ? Ọ bụ {third}.",
            "{thing.ta} কে এনেছিল? {third}।",
        ),
        NEXT,
    ),
)

TEAMS = (
    say(
        "{When}, {who}, {friend} and {third} were in the {colour} team.",
        "{When}, {who}, {friend} na {third} nọ n'[colour team].",
        "{when} {who}, {friend} আর {third} {colour} দলে ছিল।",
    ),
    say(
        "{Fourth}, {fifth} and {sixth} were in the {colour2} team.",
        "{Fourth}, {fifth} na {sixth} nọ n'[colour2 team].",
        "{fourth}, {fifth} আর {sixth} {colour2} দলে ছিল।",
    ),
    then(
        (
            say(
                "The {colour} team won.",
                "[colour Team|ahụ] meriri.",
                "{colour} দল জিতল।",
            ),
            say(
                "{Friend} {joy} and {fifth} was {defeat}.",
                "{Friend} {joy}, {defeat.pre} {fifth}{defeat.post}.",
                "{friend} {joy} আর {fifth.r} {defeat}।",
            ),
        ),
        (
            say(
                "The {colour2} team won.",
                "[colour2 Team|ahụ] meriri.",
                "{colour2} দল জিতল।",
            ),
            say(
                "{Fifth} {joy} and {friend} was {defeat}.",
                "{Fifth} {joy}, {defeat.pre} {friend}{defeat.post}.",
                "{fifth} {joy} আর {friend.r} {defeat}।",
            ),
        ),
    ),
    maybe(
        0.6,
        then(
            say(
                "Was {third} in the {colour} team? Yes, {third.he} was.",
                "{Third} ọ̀ nọ n'[colour team]? Ee, ọ nọ na ya.",
                "{third} কি {colour} দলে ছিল? হ্যাঁ, ছিল।",
            ),
            say(
                "Was {third} in the {colour2} team? No, {third.he} was not.",
                "{Third} ọ̀ nọ n'[colour2 team]? Mba, ọ nọghị na ya.",
                "{third} কি {colour2} দলে ছিল? না, ছিল না।",
            ),
            say(
                "Was {sixth} in the {colour2} team? Yes, {sixth.he} was.",
                "{Sixth} ọ̀ nọ n'[colour2 team]? Ee, ọ nọ na ya.",
                "{sixth} কি {colour2} দলে ছিল? হ্যাঁ, ছিল।",
            ),
            say(
                "Was {sixth} in the {colour} team? No, {sixth.he} was not.",
                "{Sixth} ọ̀ nọ n'[colour team]? Mba, ọ nọghị na ya.",
                "{sixth} কি {colour} দলে ছিল? না, ছিল না।",
            ),
        ),
    ),
)

RACE = (
    say(
        "{When}, {who}, {friend}, {third} and {fourth} ran to the {place}.",
        "{When}, {who}, {friend}, {third} na {fourth} gbara ọsọ gaa {place.to}.",
        "{when} {who}, {friend}, {third} আর {fourth} দৌড়ে {place.to} গেল।",
    ),
    say(
        "{First} came first, {second} came second and {last} came last.",
        "{First} bu ụzọ, {second} sochiri ya, {last} bụ onye ikpeazụ.",
        "{first} প্রথম হলো, {second} দ্বিতীয় হলো আর {last} সবার শেষে এল।",
    ),
    then(
        say(
            "{First} got {size.a} {colour} {thing} and {last} got {number} {food.s}.",
            "E nyere {first} [size colour thing], nyekwa {last} {food} {number}.",
            "{first} একটা {size} {colour} {thing} পেল আর {last} {number} {food} পেল।",
        ),
        say(
            "{First} {did}, {last} was {mood} and {second} {did2}.",
            "{First} {did}, {mood.pre} {last}{mood.post}, {second} {did2}.",
            "{first} {did}, {last.r} {mood} আর {second} {did2}।",
        ),
    ),
    then(
        say("Who came first? {First} did.", "Onye bu ụzọ? Ọ bụ {first}.", "কে প্রথম হলো? {first}।"),
        say("Who came last? {Last} did.", "Onye bụ onye ikpeazụ? Ọ bụ {last}.", "কে সবার শেষে এল? {last}।"),
        more(
            '"Were you first?" asked {last.his} {kin}. "No, {first} was," said {last}.',
            '"Ọ̀ bụ gị bu ụzọ?" ka {kin} jụrụ. "Mba, ọ bụ {first}," ka {last} zara.',
            '"তুমি কি প্রথম হয়েছ?" তার {kin} {kin.asked}। "না, {first}," {last} বলল।',
        ),
    ),
)

BOX = (
    say(
        "{When}, {who} opened {size.a} {colour} box and saw {number} {food.s}, "
        "{number2} {food2.s} and {look.a} {animal}.",
        "{When}, {who} meghere [size colour box] wee hụ {food} {number}, {food2} {number2} na otu [look animal].",
        "{when} {who} একটা {size} {colour} বাক্স খুলে {number} {food}, {number2} {food2} আর একটা {look} {animal} দেখল।",
    ),
    then(
        say(
            "The {animal} ran out and hid {corner}.",
            "{Animal} ahụ gbapụrụ gaa zoo {corner}.",
            "{animal.ta} দৌড়ে বেরিয়ে {corner} লুকাল।",
        ),
        say(
            "The {animal} was {state} and {who} was {state2}.",
            "{State.pre} {animal} ahụ{state.post}, {state2.pre} {who}{state2.post}.",
            "{animal.ta}র {state} আর {who.r} {state2}।",
        ),
    ),
    say(
        "{Who} gave the {food.s} to {friend} and the {food2.s} to {third}.",
        "{Who} nyere {friend} {food} ndị ahụ, nyekwa {third} {food2} ndị ahụ.",
        "{who} {friend.ke} {food.gulo} আর {third.ke} {food2.gulo} দিল।",
    ),
    then(
        say(
            "Who has the {food2.s} now? {Third} has them.",
            "Onye ji {food2} ndị ahụ ugbu a? Ọ bụ {third} ji ha.",
            "{food2.gulo} এখন কার কাছে? {third.r} কাছে।",
        ),
        say(
            "Who has the {food.s} now? {Friend} has them.",
            "Onye ji {food} ndị ahụ ugbu a? Ọ bụ {friend} ji ha.",
            "{food.gulo} এখন কার কাছে? {friend.r} কাছে।",
        ),
        NEXT,
    ),
)

PARTY = (
    say(
        "{When}, {who}, {friend}, {third} and {fourth} {act}, {fifth} and {sixth} {act2} and {seventh} {act3}.",
        "{When}, {who}, {friend}, {third} na {fourth} {act}, {fifth} na {sixth} {act2}, {seventh} {act3}.",
        "{when} {who}, {friend}, {third} আর {fourth} {act}, {fifth} আর {sixth} {act2} আর {seventh} {act3}।",
    ),
    then(
        say(
            "{Fourth} ate {number} {food.s}, {friend} ate {food2.a} and {sixth} ate {number2} {food3.s}.",
            "{Fourth} riri {food} {number}, {friend} riri otu {food2}, {sixth} riri {food3} {number2}.",
            "{fourth} {number} {food}, {friend} একটা {food2} আর {sixth} {number2} {food3} খেল।",
        ),
        say(
            "{Seventh} had {size.a} {colour} {thing} and {third} had {size2.a} {colour2} {thing2}.",
            "{Seventh} ji [size colour thing], {third} ji [size2 colour2 thing2].",
            "{seventh.r} কাছে একটা {size} {colour} {thing} ছিল আর {third.r} কাছে একটা {size2} {colour2} {thing2} ছিল।",
        ),
        say(
            "There were {number} {look} {animal.s} and {number2} {look2} {animal2.s} {yard}.",
            "{Yard}, e nwere [look animal|{number}] na [look2 animal2|{number2}].",
            "{yard} {number} {look} {animal} আর {number2} {look2} {animal2} ছিল।",
        ),
    ),
    then(
        say(
            "Who {act2}? {Fifth} and {sixth} did.",
            "Onye {act2}? Ọ bụ {fifth} na {sixth}.",
            "কে {act2}? {fifth} আর {sixth}।",
        ),
        say("Who {act3}? {Seventh} did.", "Onye {act3}? Ọ bụ {seventh}.", "কে {act3}? {seventh}।"),
        say(
            "{Fifth} was {surprise} because {fifth.his} {kin} came.",
            "{Surprise.pre} {fifth}{surprise.post} n'ihi na {kin} bịara.",
            "{fifth.r} {surprise}, কারণ তার {kin} {kin.came}।",
        ),
    ),
)

# The weight of each plot
PLOTS = (
    (1, LOST),
    (5, BECAUSE),
    (2, HERD),
    (1, SUMS),
    (1, MARKET),
    (1, SCHOOL),
    (1, HIDE),
    (1, TRADE),
    (1, WALK),
    (1, RIDDLE),
    (1, GIFTS),
    (1, COOK),
    (2, DAY),
    (1, RAIN),
    (2, PICNIC),
    (2, TEAMS),
    (2, RACE),
    (2, BOX),
    (3, PARTY),
)
STORIES = Grammar(LANGUAGES, ROLES, either(*((weight, *plot) for weight, plot in PLOTS)))
