"""Tests of the Bangla stories, whose verbs agree with their subjects, and of notebook 09's results on them."""

import json
import math
import unicodedata

import pytest
from conftest import ROOT
from transformers import AutoTokenizer

from tools.training import bangla as experiment
from tools.training import sizes, texts
from transformer_exercises.stories import bangla

KEPT = json.loads(experiment.KEPT.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("এখন মা বাগানে একটি বই পড়ছেন।", "এখন মা বাগানে একটি বই পড়ছে।"),
        ("এখন মিতু বাগানে একটি বই পড়ছে।", "এখন মিতু বাগানে একটি বই পড়ছেন।"),
        ("এইমাত্র মেয়েরা চা খেয়েছে।", "এইমাত্র মেয়েরা চা খাচ্ছে।"),
        ("এইমাত্র শিক্ষকেরা চা খেয়েছেন।", "এইমাত্র শিক্ষকেরা চা খেয়েছে।"),
        ("গতকাল নানি ছাদে ফুটবল খেললেন।", "গতকাল নানি ছাদে ফুটবল খেলল।"),
        ("আগামীকাল রাফি বাজারে দুটি কলা কিনবে।", "গতকাল রাফি বাজারে দুটি কলা কিনবে।"),
        ("এখন বাবা চা খাচ্ছেন। তিনি চা খেতে ভালোবাসেন।", "এখন বাবা চা খাচ্ছেন। সে চা খেতে ভালোবাসে।"),
        ("এইমাত্র বাবা চা খেয়েছেন। কিন্তু অপু এখনো চা খায়নি।", "এইমাত্র বাবা চা খেয়েছেন। কিন্তু অপু এখনো চা খাননি।"),
        ("এইমাত্র খালা চা খেয়েছেন। তাঁর ভালো লেগেছে।", "এইমাত্র খালা চা খেয়েছেন। তার ভালো লেগেছে।"),
        ("মায়ের কাছে একটা বই আছে। বইটা নতুন।", "মায়ের কাছে একটা বই আছে। বইগুলো নতুন।"),
    ],
)
def test_what_does_not_agree_is_never_said(right, wrong):
    assert bangla.true_nll(right) < math.inf
    assert bangla.true_nll(wrong) == math.inf


def test_a_seed_tells_the_same_stories_in_bangla_of_one_spelling():
    text, again, other = (bangla.sample(stories=1_000, seed=seed) for seed in (4, 4, 5))
    assert again == text != other
    assert len(set(text.splitlines())) > 900
    assert unicodedata.is_normalized("NFC", text)
    letters = {sign for sign in text if unicodedata.category(sign)[0] in "LM"}
    assert all("BENGALI" in unicodedata.name(sign) for sign in letters)
    assert set(text) - letters == set(" ।?\n")


@pytest.mark.parametrize("prefix", experiment.PLACES)
def test_what_may_follow_a_place_of_the_notebook_adds_up_to_one(prefix):
    """By letters, of all that the grammar can say there."""
    found, open_ones = {}, {"": 1.0}
    while open_ones:
        word, p = open_ones.popitem()
        if word.endswith("।"):
            found[word] = p
            continue
        following = bangla.STORIES.next_character(f"{prefix} {word}", "bangla")
        open_ones |= {word + letter: p * share for letter, share in following.items()}
    assert sum(found.values()) == pytest.approx(1)
    forms = [f"{form}।" for form in experiment.FORMS]
    right = bangla.continuations(f"{prefix} ", forms)
    assert [right[form] for form in forms] == pytest.approx([found.get(form, 0.0) for form in forms])
    assert sum(right.values()) > 0.5


def test_every_word_has_a_meaning_and_other_words_have_none():
    for line in bangla.sample(stories=1_000, seed=6).splitlines():
        glossed = bangla.gloss(line)
        assert all(meaning != "?" for _, meaning in glossed)
        assert " ".join(word for word, _ in glossed) == line.replace("।", "").replace("?", "")
    cooks = [("এখন", "now"), ("কখগ", "?"), ("রান্না করছেন", "is cooking (respectful)")]
    assert bangla.gloss("এখন কখগ রান্না করছেন।") == cooks


@pytest.fixture(scope="module")
def material(tmp_path_factory) -> texts.TrainingText:
    return texts.stories(tmp_path_factory.mktemp("material"), 32_100, 128, characters=300_000, language="bangla")


def test_each_word_is_one_token_also_after_the_tokenizer_is_saved(material, tmp_path):
    material.tokenizer.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    line = bangla.sample(stories=1, seed=8).strip()
    words = line.replace("।", " ।").replace("?", " ?").split()
    for tokenizer in (material.tokenizer, again):
        ids = tokenizer(line).input_ids
        assert [tokenizer.decode([i]).strip() for i in ids] == words
    assert len(material.tokenizer) < 1_500, "so the published table has rows that nothing trains"


def test_the_floor_of_the_held_back_stories_is_exact(material):
    held = bangla.sample(characters=texts.BANGLA_VALIDATION, seed=texts.VALIDATION_SEED)
    count = material.validation.count
    assert material.validation.floor == pytest.approx(bangla.true_nll(held) / count)
    assert count == sum(len(material.tokenizer(line).input_ids) + 1 for line in held.splitlines())
    inputs, _ = material.windows(20, 128, 0, 0)
    assert (inputs[:, 0] == material.tokenizer.eos_token_id).all()


def test_the_released_experiment_is_the_kept_one():
    assert (ROOT / "course" / "09-gpt-further" / "bangla.json").read_bytes() == experiment.KEPT.read_bytes()


def test_the_kept_experiment_agrees_with_the_grammar():
    for row in KEPT["at_the_verb"]:
        right = bangla.continuations(f"{row['prefix']} ", [f"{form}।" for form in KEPT["forms"]])
        assert row["grammar"] == pytest.approx(list(right.values()))
        assert all(0 <= sum(row[name]) <= 1 + 1e-6 for name in KEPT["models"])


def test_the_kept_experiment_agrees_with_sizes_and_guide():
    guide = (ROOT / "docs" / "growing.md").read_text(encoding="utf-8")
    for name, one in KEPT["models"].items():
        size, written = sizes.size_named(name), one["written"]
        assert (
            f"| `{name}` | {sum(one['parts'].values()) / 1e6:.2f} M | {one['tokens'] / 1e6:.2f} M | "
            f"{one['minutes']:.0f}, {one['processor_minutes']:.0f} | {one['tokens_per_processor_second']:,.0f} | "
            f"{one['best'] - KEPT['text']['floor']:.3f} | {written['possible']} of {written['stories']} |"
        ) in guide
        assert one["parts"] == experiment.parts(size, KEPT["text"]["different"])
        assert one["flops_per_token"] == experiment.flops(size, KEPT["text"]["different"])
        assert one["tokens_per_second"] == pytest.approx(one["tokens"] / (60 * one["minutes"]))
        assert min(point["validation"] for point in one["points"]) == one["best"] > KEPT["text"]["floor"]
        for story in one["stories"]:
            glossed = {"gloss": [list(pair) for pair in bangla.gloss(story["text"])]}
            assert story == experiment.told(story["text"]) | glossed
