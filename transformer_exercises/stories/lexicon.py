"""List the words of the stories: one entry per line, English | Igbo | Bangla, and the forms that sentences use.

Igbo is written in the standard (Ọnwụ) orthography, always with dotted vowels. Tone is marked as school texts mark it:
only where the letters alone would be read as another word of these stories (àkwá egg, àkwà bed or bridge, ákwà cloth,
ákwá crying; ázụ̀ fish and àzụ́ back) and on the low pronoun that turns a statement into a question (ọ̀).

Bangla is the standard colloquial language (চলিত) as written in Bangladesh. Elders take the respectful verb: মা বললেন,
ভাই বলল.
"""

from .languages import adjective, article, genitive, plural, rows, word

# People: {who} {who.he} {who.him} {who.his}; in Bangla {who.r} of, {who.ke} to

SHE = {"he": "she", "him": "her", "his": "her"}
HE = {"he": "he", "him": "him", "his": "his"}


def people(table: str, pronouns: dict[str, str]) -> list:
    return [
        word({"": name} | pronouns, name, {"": bangla, "r": genitive(bangla), "ke": bangla + "কে"})
        for name, bangla in rows(table)
    ]


GIRLS = people(
    """
    Ada | আডা
    Ify | ইফি
    Uju | উজু
    Ngozi | এনগোজি
    Amaka | আমাকা
    Nneka | নেকা
    Ebele | এবেলে
    Mitu | মিতু
    Rina | রিনা
    Tuli | তুলি
    Joya | জয়া
    Mina | মিনা
    Nila | নীলা
    Lily | লিলি
    Anna | অ্যানা
    Eva | ইভা
    Amy | এমি
    Kate | কেট
    Lucy | লুসি
    Meg | মেগ
    """,
    SHE,
)
BOYS = people(
    """
    Ugo | উগো
    Chidi | চিডি
    Emeka | এমেকা
    Uche | উচে
    Eze | এজে
    Ikenna | ইকেন্না
    Kelechi | কেলেচি
    Rafi | রাফি
    Arun | অরুণ
    Babu | বাবু
    Apu | অপু
    Raju | রাজু
    Rana | রানা
    Kamal | কামাল
    Tom | টম
    Ben | বেন
    Sam | স্যাম
    Max | ম্যাক্স
    Tim | টিম
    Jack | জ্যাক
    """,
    HE,
)
PEOPLE = GIRLS + BOYS

# Family: {kin} alone is "nne ya", her or his mother; {kin.pre} Ada{kin.post} is "nne Ada". Bangla: with their verbs

ELDER = {
    "said": "বললেন",
    "asked": "জিজ্ঞেস করলেন",
    "gave": "দিলেন",
    "took": "নিলেন",
    "came": "এসেছিলেন",
    "went": "গেলেন",
}
EQUAL = {"said": "বলল", "asked": "জিজ্ঞেস করল", "gave": "দিল", "took": "নিল", "came": "এসেছিল", "went": "গেল"}
KIN = [
    word(
        {"": english} | (SHE if pronoun == "she" else HE),
        {"": f"{igbo} ya{rest and ' ' + rest}", "pre": igbo, "post": rest and " " + rest},
        {"": bangla, "ke": bangla + "কে"} | (ELDER if rank == "elder" else EQUAL),
    )
    for english, pronoun, rank, igbo, rest, bangla in rows(
        """
        mother | she | elder | nne | | মা
        father | he | elder | nna | | বাবা
        sister | she | equal | nwanne | nwaanyị | বোন
        brother | he | equal | nwanne | nwoke | ভাই
        grandmother | she | elder | nne ochie | | নানি
        grandfather | he | elder | nna ochie | | নানা
        """
    )
]

# Things: {thing} {thing.a}; Bangla {thing.ta} the. Animals and foods have {animal.s} too, the English plural


def nouns(table: str) -> list:
    return [
        word(
            {"": english, "a": article(english), "s": plural(english)},
            igbo,
            {"": bangla, "ta": bangla + "টা", "gulo": bangla + "গুলো"},
        )
        for english, igbo, bangla in rows(table)
    ]


THINGS = nouns(
    """
    ball | bọọlụ | বল
    drum | ịgba | ঢোল
    book | akwụkwọ | বই
    bag | akpa | ব্যাগ
    hat | okpu | টুপি
    cup | iko | কাপ
    key | igodo | চাবি
    bell | mgbịrịgba | ঘণ্টা
    flute | ọja | বাঁশি
    lamp | oriọna | বাতি
    ring | mgbaaka | আংটি
    spoon | ngaji | চামচ
    rope | eriri | দড়ি
    boat | ụgbọ mmiri | নৌকা
    bowl | efere | বাটি
    clock | elekere | ঘড়ি
    shoe | akpụkpọ ụkwụ | জুতা
    map | maapụ | মানচিত্র
    stone | nkume | পাথর
    net | ụgbụ | জাল
    broom | aziza | ঝাড়ু
    bottle | karama | বোতল
    mirror | enyo | আয়না
    pencil | pensụl | পেন্সিল
    """
)

ANIMALS = nouns(
    """
    dog | nkịta | কুকুর
    goat | ewu | ছাগল
    cow | ehi | গরু
    cat | nwamba | বিড়াল
    sheep | atụrụ | ভেড়া
    hen | ọkụkọ | মুরগি
    duck | ọbọgwụ | হাঁস
    horse | ịnyịnya | ঘোড়া
    pig | ezi | শূকর
    monkey | enwe | বানর
    bird | nnụnụ | পাখি
    frog | awọ | ব্যাঙ
    rat | oke | ইঁদুর
    crab | nshịkọ | কাঁকড়া
    parrot | icheoku | টিয়া
    deer | mgbada | হরিণ
    tortoise | mbe | কচ্ছপ
    donkey | ịnyịnya ibu | গাধা
    lion | ọdụm | সিংহ
    squirrel | ọsa | কাঠবিড়ালি
    """
)

FRUITS = nouns(
    """
    mango | mangoro | আম
    orange | oroma | কমলা
    banana | unere | কলা
    cucumber | kukumba | শসা
    lemon | oroma nkịrịsị | লেবু
    apple | apụl | আপেল
    melon | anyụ | তরমুজ
    nut | ahụekere | বাদাম
    """
)
VEGETABLES = nouns(
    """
    egg | àkwá | ডিম
    fish | ázụ̀ | মাছ
    onion | yabasị | পেঁয়াজ
    tomato | tomato | টমেটো
    potato | nduku | আলু
    yam | ji | মেটে আলু
    pepper | ose | মরিচ
    carrot | karọt | গাজর
    """
)
FOODS = FRUITS + VEGETABLES

COVERS = nouns(
    """
    umbrella | nche anwụ | ছাতা
    mat | ute | মাদুর
    cloth | ákwà | কাপড়
    leaf | akwụkwọ osisi | পাতা
    """
)

# One animal or several: {herd.the} {herd.it} {herd.was}. Later words agree with a noun that may be far away

ONE = {"it": "it", "them": "it", "its": "its", "was": "was"}
SEVERAL = {"it": "they", "them": "them", "its": "their", "was": "were"}
HERDS = [
    word(
        {"": english, "the": f"the {english}"} | (SEVERAL if many else ONE),
        {"": igbo, "the": f"{igbo} {'ndị ' if many else ''}ahụ", "ya": "ha" if many else "ya"},
        {
            "": bangla,
            "the": bangla + (gulo if many else ta),
            "r": bangla + (gulo if many else ta) + "র",
            "ke": bangla + (gulo if many else ta) + "কে",
            "tar": "তাদের" if many else "তার",
        },
        animal=animal,
        many=many,
    )
    for animal in ANIMALS
    for igbo, bangla, ta, gulo in [(animal.forms["igbo"][""], animal.forms["bangla"][""], "টা", "গুলো")]
    for many, english in ((False, animal.forms["english"][""]), (True, animal.forms["english"]["s"]))
]

# Adjectives: in Igbo one of {size.pre} {size.near} {size.far} holds the word (see `languages.adjective`)


def adjectives(table: str) -> list:
    return [
        word({"": english, "a": article(english)}, adjective(igbo, place), bangla, float(weight))
        for english, igbo, place, bangla, weight in rows(table)
    ]


COLOURS = adjectives(
    """
    red | na-acha uhie uhie | far | লাল | 3
    blue | na-acha anụnụ anụnụ | far | নীল | 3
    white | ọcha | near | সাদা | 3
    black | ojii | near | কালো | 2
    green | na-acha akwụkwọ ndụ | far | সবুজ | 2
    yellow | na-acha edo edo | far | হলুদ | 2
    brown | na-acha aja aja | far | বাদামি | 1
    grey | na-acha ntụ ntụ | far | ধূসর | 1
    """
)
SIZES = adjectives(
    """
    small | obere | pre | ছোট | 3
    big | nnukwu | pre | বড় | 3
    new | ọhụrụ | near | নতুন | 2
    old | ochie | near | পুরোনো | 2
    nice | ọma | near | চমৎকার | 1
    """
)
LOOKS = adjectives(
    """
    small | obere | pre | ছোট | 2
    big | nnukwu | pre | বড় | 2
    fat | mara abụba | far | মোটা | 1
    thin | tara ahụ | far | রোগা | 1
    pretty | mara mma | far | সুন্দর | 1
    clever | maara ihe | far | চালাক | 1
    strong | dị ike | far | শক্তিশালী | 1
    lazy | dị umengwụ | far | অলস | 1
    funny | na-atọ ọchị | far | মজার | 1
    dirty | ruru unyi | far | নোংরা | 1
    quiet | dị jụụ | far | শান্ত | 1
    white | ọcha | near | সাদা | 1
    black | ojii | near | কালো | 1
    brown | na-acha aja aja | far | বাদামি | 1
    """
)

# Numbers: in Igbo "one" stands before the noun, the others after it: otu ewu, ewu abụọ

NUMBERS = [
    word(english, igbo, bangla, value=value)
    for value, (english, igbo, bangla) in enumerate(
        rows(
            """
            two | abụọ | দুটো
            three | atọ | তিনটা
            four | anọ | চারটা
            five | ise | পাঁচটা
            six | isii | ছয়টা
            seven | asaa | সাতটা
            eight | asatọ | আটটা
            nine | itoolu | নয়টা
            """
        ),
        start=2,
    )
]
COUNT_ONE = [word("a", {"pre": "otu ", "post": ""}, "একটা")]
COUNT_SEVERAL = [
    word(
        number.forms["english"][""],
        {"pre": "", "post": " " + number.forms["igbo"][""]},
        number.forms["bangla"][""],
    )
    for number in NUMBERS
]

# When and where: {place.to} after "went" (Bangla too), {place.r} in Bangla; {spot.r} in Bangla is an adjective

TIMES = [
    word(english, igbo, bangla)
    for english, igbo, bangla in rows(
        """
        one day | otu ụbọchị | একদিন
        one morning | otu ụtụtụ | একদিন সকালে
        one evening | otu mgbede | একদিন সন্ধ্যায়
        one night | otu abalị | একদিন রাতে
        yesterday | ụnyaahụ | গতকাল
        last week | n'izu gara aga | গত সপ্তাহে
        on Monday | na Mọnde | সোমবার
        on Friday | na Fraịde | শুক্রবার
        on Saturday | na Satọde | শনিবার
        on Sunday | na Sọnde | রবিবার
        """
    )
]
PLACES = [
    word(english, {"": igbo, "to": to}, {"": bangla, "r": genitive(bangla), "to": bangla_to})
    for english, igbo, to, bangla, bangla_to in rows(
        """
        school | ụlọ akwụkwọ | ụlọ akwụkwọ | স্কুল | স্কুলে
        market | ahịa | ahịa | বাজার | বাজারে
        river | osimiri | n'osimiri | নদী | নদীর ধারে
        farm | ubi | ubi | খামার | খামারে
        well | olulu mmiri | n'olulu mmiri | কুয়া | কুয়ার কাছে
        shop | ụlọ ahịa | ụlọ ahịa | দোকান | দোকানে
        hill | ugwu | n'ugwu | পাহাড় | পাহাড়ে
        forest | ọhịa | n'ọhịa | বন | বনে
        bridge | àkwà mmiri | n'àkwà mmiri | সেতু | সেতুতে
        pond | ọdọ mmiri | n'ọdọ mmiri | পুকুর | পুকুরের ধারে
        garden | ogige | n'ogige | বাগান | বাগানে
        field | ama egwuregwu | n'ama egwuregwu | মাঠ | মাঠে
        village | obodo nta | n'obodo nta | গ্রাম | গ্রামে
        town | obodo ukwu | n'obodo ukwu | শহর | শহরে
        hospital | ụlọ ọgwụ | ụlọ ọgwụ | হাসপাতাল | হাসপাতালে
        """
    )
]


def spots(table: str) -> list:
    """Combine every preposition of the table with every noun on its line."""
    return [
        word(
            f"{english} the {noun}",
            f"{igbo} {igbo_noun}",
            {"": f"{genitive(bn)} {bangla}", "r": f"{genitive(bn)} {bangla}র"},
        )
        for english, igbo, bangla, *places in rows(table)
        for noun, igbo_noun, bn in (place.split("/") for place in places)
    ]


OUTSIDE = spots(
    """
    under | n'okpuru | নিচে | tree/osisi/গাছ | bridge/àkwà mmiri/সেতু
    behind | n'àzụ́ | পেছনে | house/ụlọ/বাড়ি | shop/ụlọ ahịa/দোকান | wall/mgbidi/দেয়াল | tree/osisi/গাছ | gate/ọnụ ụzọ ama/ফটক
    near | n'akụkụ | কাছে | well/olulu mmiri/কুয়া | gate/ọnụ ụzọ ama/ফটক | river/osimiri/নদী | house/ụlọ/বাড়ি | road/okporo ụzọ/রাস্তা
    in | n'ime | ভেতরে | grass/ahịhịa/ঘাস | garden/ogige/বাগান
    """
)
INSIDE = spots(
    """
    under | n'okpuru | নিচে | bed/àkwà/খাট | table/tebụl/টেবিল | chair/oche/চেয়ার | mat/ute/মাদুর
    behind | n'àzụ́ | পেছনে | door/ọnụ ụzọ/দরজা | chair/oche/চেয়ার
    near | n'akụkụ | কাছে | bed/àkwà/খাট | door/ọnụ ụzọ/দরজা | window/windo/জানালা
    in | n'ime | ভেতরে | pot/ite/হাঁড়ি | basket/nkata/ঝুড়ি | box/igbe/বাক্স
    on | n'elu | উপরে | roof/ụlọ/ছাদ | table/tebụl/টেবিল | bed/àkwà/খাট | wall/mgbidi/দেয়াল
    """
)
SPOTS = OUTSIDE + INSIDE

# Verbs of people: {did}, and in Igbo {did.wee}, the form after "wee" (then)

ACTS = [
    word(english, {"": igbo, "wee": wee}, bangla)
    for english, igbo, wee, bangla in rows(
        """
        sang | gụrụ egwu | gụọ egwu | গান গাইল
        danced | gbara egwu | gbaa egwu | নাচল
        laughed | chịrị ọchị | chịa ọchị | হাসল
        clapped | kụrụ aka | kụọ aka | হাততালি দিল
        played | gwuru egwu | gwuo egwu | খেলল
        ran | gbara ọsọ | gbaa ọsọ | দৌড়াল
        swam | gwuru mmiri | gwuo mmiri | সাঁতার কাটল
        cooked | siri nri | sie nri | রান্না করল
        read | gụrụ akwụkwọ | gụọ akwụkwọ | বই পড়ল
        wrote | dere ihe | dee ihe | লিখল
        worked | rụrụ ọrụ | rụọ ọrụ | কাজ করল
        rested | zuru ike | zuo ike | বিশ্রাম নিল
        bathed | sara ahụ | saa ahụ | গোসল করল
        fished | kụrụ ázụ̀ | kụọ ázụ̀ | মাছ ধরল
        swept | zara ụlọ | zaa ụlọ | ঝাড়ু দিল
        helped | nyere aka | nye aka | সাহায্য করল
        ate | riri nri | rie nri | খাবার খেল
        slept | rahụrụ ụra | rahụ ụra | ঘুমাল
        cried | bere ákwá | bee ákwá | কাঁদল
        drummed | kụrụ ịgba | kụọ ịgba | ঢোল বাজাল
        """
    )
]
JOYS = ACTS[:5]

# Feelings. In Igbo the feeling acts on the person: {state.pre} Ada{state.post}; in Bangla it is the person's

STATES = {
    english: word(english, {"pre": igbo, "post": rest and " " + rest}, bangla)
    for english, igbo, rest, bangla in rows(
        """
        hungry | agụụ na-agụ | | খিদে পেয়েছিল
        thirsty | akpịrị na-akpọ | nkụ | তেষ্টা পেয়েছিল
        sleepy | ụra na-atụ | | ঘুম পেয়েছিল
        tired | ike gwụrụ | | ক্লান্ত লাগছিল
        cold | oyi na-atụ | | শীত লাগছিল
        afraid | ụjọ na-atụ | | ভয় লাগছিল
        shy | ihere na-eme | | লজ্জা লাগছিল
        angry | iwe were | | রাগ হয়েছিল
        happy | obi dị | ụtọ | মন ভালো ছিল
        sad | obi adịghị | mma | মন খারাপ ছিল
        sick | ahụ adịghị | mma | শরীর খারাপ ছিল
        lonely | owu na-ama | | একা লাগছিল
        """
    )
}

# Qualities: in Igbo {quality} after a noun and {quality.it} with its pronoun, o or ọ by vowel harmony

QUALITIES = {
    english: word(english, {"": igbo, "it": f"{pronoun} {igbo}"}, bangla)
    for english, pronoun, igbo, bangla in rows(
        """
        cold | ọ | jụrụ oyi | ঠান্ডা
        hot | ọ | dị ọkụ | গরম
        clean | ọ | dị ọcha | পরিষ্কার
        sweet | ọ | dị ụtọ | মিষ্টি
        fresh | ọ | dị ọhụrụ | টাটকা
        soft | ọ | dị nro | নরম
        dry | ọ | kpọrọ nkụ | শুকনো
        wet | ọ | dị mmiri mmiri | ভেজা
        dark | ọ | gbara ọchịchịrị | অন্ধকার
        deep | o | miri emi | গভীর
        wide | ọ | sara mbara | চওড়া
        green | ọ | na-acha akwụkwọ ndụ | সবুজ
        big | o | buru ibu | বড়
        """
    )
}

# Verbs of animals, with reasons: a reason is the animal's (it was thirsty) or the other noun's (it was cold)

DEEDS = [
    word(
        english,
        igbo,
        bangla,
        noun=word(noun, igbo_noun, bangla_noun),
        states=[STATES[name] for name in states.split()],
        qualities=[QUALITIES[name] for name in qualities.split()],
    )
    for english, igbo, bangla, noun, igbo_noun, bangla_noun, states, qualities in rows(
        """
        drank the water | ṅụrụ mmiri ahụ | পানি খেল | water | mmiri | পানি | thirsty tired sick | cold clean sweet
        ate the grass | riri ahịhịa ahụ | ঘাস খেল | grass | ahịhịa | ঘাস | hungry sad | green sweet fresh
        ate the bread | riri achịcha ahụ | রুটিটা খেল | bread | achịcha | রুটি | hungry sad | sweet fresh hot
        slept on the mat | rahụrụ ụra n'elu ute ahụ | মাদুরে ঘুমাল | mat | ute | মাদুর | tired sleepy sick | soft clean dry
        lay in the mud | dinara n'apịtị ahụ | কাদায় শুয়ে পড়ল | mud | apịtị | কাদা | tired sleepy happy | soft cold deep
        ran into the house | gbabara n'ụlọ ahụ | দৌড়ে ঘরে ঢুকল | house | ụlọ | ঘর | cold afraid shy | dry clean big
        did not cross the road | agafeghị okporo ụzọ ahụ | রাস্তাটা পার হলো না | road | okporo ụzọ | রাস্তা | tired afraid shy | wet dark wide
        did not cross the river | agafeghị osimiri ahụ | নদীটা পার হলো না | river | osimiri | নদী | tired afraid sleepy sick | deep wide cold
        """
    )
]
