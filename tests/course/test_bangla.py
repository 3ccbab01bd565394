"""Tests of the Bangla stories, whose verbs agree with their subjects, and of notebook 09's results on them."""

from __future__ import annotations

import itertools
import json
import math
import unicodedata

import pytest
import torch
from conftest import ROOT
from transformers import AutoTokenizer, GPT2LMHeadModel
from typer.testing import CliRunner

from tools.training import bangla as experiment
from tools.training import grow, sizes, texts
from transformer_exercises.stories import bangla

KEPT = json.loads(experiment.KEPT.read_text(encoding="utf-8")) if experiment.KEPT.is_file() else {}


# --- the grammar ----------------------------------------------------------------------------------------------------


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


def test_verbs_have_the_forms_that_a_grammar_book_gives_them():
    """Typed here a second time, all of them: the irregular ones, and what the rules make."""
    forms = ("doing", "was", "done", "did", "will", "never", "to")
    ordinary = {
        "eat": "খাচ্ছে খাচ্ছিল খেয়েছে খেল খাবে খায়নি খেতে",
        "write": "লিখছে লিখছিল লিখেছে লিখল লিখবে লেখেনি লিখতে",
        "draw": "আঁকছে আঁকছিল এঁকেছে আঁকল আঁকবে আঁকেনি আঁকতে",
        "make": "বানাচ্ছে বানাচ্ছিল বানিয়েছে বানাল বানাবে বানায়নি বানাতে",
    }
    respectful = {
        "eat": "খাচ্ছেন খাচ্ছিলেন খেয়েছেন খেলেন খাবেন খাননি খেতে",
        "write": "লিখছেন লিখছিলেন লিখেছেন লিখলেন লিখবেন লেখেননি লিখতে",
        "draw": "আঁকছেন আঁকছিলেন এঁকেছেন আঁকলেন আঁকবেন আঁকেননি আঁকতে",
        "make": "বানাচ্ছেন বানাচ্ছিলেন বানিয়েছেন বানালেন বানাবেন বানাননি বানাতে",
    }
    for respect, table in ((False, ordinary), (True, respectful)):
        for (verb, typed), many in itertools.product(table.items(), (False, True)):
            one = bangla.AGREEING[bangla.VERBS[verb]][many, respect].forms["bangla"]
            assert [one[form] for form in forms] == unicodedata.normalize("NFC", typed).split()


def test_of_a_story_some_thousand_are_told_and_a_seed_tells_them_again():
    text = bangla.sample(stories=3_000, seed=4)
    lines = text.splitlines()
    assert len(lines) == 3_000
    assert len(set(lines)) > 2_900
    assert bangla.sample(stories=3_000, seed=4) == text != bangla.sample(stories=3_000, seed=5)
    assert 5_000 <= len(bangla.sample(characters=5_000, seed=4)) < 5_300
    with pytest.raises(ValueError, match="Say how much"):
        bangla.sample()


def test_every_letter_is_bangla_in_its_one_spelling():
    text = bangla.sample(stories=1_000, seed=1)
    assert unicodedata.normalize("NFC", text) == text
    letters = {sign for sign in text if unicodedata.category(sign)[0] in "LM"}
    assert all("BENGALI" in unicodedata.name(sign) for sign in letters)
    assert set(text) - letters == set(" ।?\n")


def test_the_probability_of_a_story_is_that_of_the_draws_that_told_it():
    """Here each story can be told in one way only, so the sum over derivations has one term."""
    for _, story in zip(range(300), bangla.derivations(2), strict=False):
        assert bangla.true_nll(story.line("bangla")) == pytest.approx(-story.log_prob)


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


def test_nothing_follows_what_is_no_story():
    with pytest.raises(ValueError, match="No story begins with"):
        bangla.continuations("মিতু মিতু ", ["পড়ছে"])


def test_every_word_has_a_meaning_and_other_words_have_none():
    for line in bangla.sample(stories=1_000, seed=6).splitlines():
        glossed = bangla.gloss(line)
        assert all(meaning != "?" for _, meaning in glossed)
        assert " ".join(word for word, _ in glossed) == line.replace("।", "").replace("?", "")
    assert bangla.gloss("এখন কখগ রান্না করছেন।") == [
        ("এখন", "now"),
        ("কখগ", "?"),
        ("রান্না করছেন", "is cooking (respectful)"),
    ]


# --- what reads it --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def material(tmp_path_factory) -> texts.Material:
    return texts.stories(tmp_path_factory.mktemp("material"), 32_100, 128, characters=300_000, language="bangla")


def test_each_word_is_one_token_and_stays_one_when_the_tokenizer_is_read_again(material, tmp_path):
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
    count = int((material.targets != grow.IGNORED).sum())
    assert material.floor == pytest.approx(bangla.true_nll(held) / count)
    assert count == sum(len(material.tokenizer(line).input_ids) + 1 for line in held.splitlines())
    inputs, _ = material.windows(20, 128, 0, 0)
    assert (inputs[:, 0] == material.tokenizer.eos_token_id).all()


def test_a_size_with_its_whole_table_has_rows_for_tokens_that_no_text_has(material):
    tiny = sizes.size_named("tiny").but(vocabulary=1_600, stories="bangla")
    for whole, rows in ((True, 1_600), (False, len(material.tokenizer))):
        size = tiny.but(whole_table=whole)
        model = grow.new_model(size, material, seed=0)
        assert model.get_input_embeddings().weight.shape == (rows, 32)
        assert model.num_parameters() == size.parameters(size.rows_of_table(len(material.tokenizer)))


def test_the_published_configuration_is_the_one_that_notebook_09_counts():
    size = sizes.size_named("bangla")
    published = (size.vocabulary, size.context, size.layers, size.heads, size.width, size.dropout)
    assert published == (32_100, 128, 8, 8, 512, 0.2)
    assert size.parameters(size.rows_of_table(700)) == 41_720_832
    config = size.config(size.vocabulary, end=0)
    assert {config.resid_pdrop, config.embd_pdrop, config.attn_pdrop} == {0.2}


@pytest.mark.parametrize("name", experiment.NAMES)
def test_the_parts_are_those_of_the_model(name):
    size, different = sizes.size_named(name), 700
    with torch.device("meta"):
        model = GPT2LMHeadModel(size.config(size.rows_of_table(different), end=0)).transformer
    found = experiment.parts(size, different)
    assert found["tokens that occur"] + found["unused rows"] == model.wte.weight.numel()
    assert found["positions"] == model.wpe.weight.numel()
    assert found["blocks"] == sum(one.numel() for one in model.h.parameters())
    assert found["last norm"] == sum(one.numel() for one in model.ln_f.parameters())


def test_stories_in_an_unknown_language_are_refused(tmp_path):
    result = CliRunner().invoke(grow.app, ["--stories", "latin", "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "english or bangla, not latin" in " ".join(result.output.split())


# --- the experiment -------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_experiment_trains_once_and_measures_as_often_as_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "NAMES", ("tiny", "laptop"))
    monkeypatch.setattr(experiment, "CHARACTERS", 100_000)
    monkeypatch.setattr(experiment, "WRITTEN", 10)
    folder, out = tmp_path / "models", tmp_path / "bangla.json"
    told = ["--folder", str(folder), "--out", str(out)]
    missing = CliRunner().invoke(experiment.app, [*told, "--measure"])
    assert missing.exit_code == 2
    assert "hold no trained model" in " ".join(missing.output.split())
    result = CliRunner().invoke(experiment.app, [*told, "--minutes", "0.02", "--control", "0.02"])
    assert result.exit_code == 0, result.output
    first = out.read_text(encoding="utf-8")
    monkeypatch.setattr(experiment, "train", lambda *_: pytest.fail("trained already"))
    assert CliRunner().invoke(experiment.app, told).exit_code == 0
    assert out.read_text(encoding="utf-8") == first
    for one in json.loads(first)["models"].values():
        assert one["tokens"] == one["steps"] * one["tokens_per_step"]
        assert one["processor_minutes"] > 0
        assert len(one["stories"]) == len(experiment.PROMPTS)


def test_merging_ends_at_the_token_that_the_tokenizer_gives(material):
    steps = experiment.merged(material.tokenizer, " পড়ছে")
    assert all(bytes.fromhex("".join(step)).decode() == " পড়ছে" for step in steps)
    assert len(steps[0]) == len(" পড়ছে".encode())
    assert len(steps[-1]) == len(material.tokenizer(" পড়ছে").input_ids) == 1


@pytest.mark.skipif(not KEPT, reason="the experiment has not been run")
class TestWhatIsKept:
    def test_its_costs_are_those_of_the_sizes(self):
        for name, one in KEPT["models"].items():
            size = sizes.size_named(name)
            assert one["parts"] == experiment.parts(size, KEPT["text"]["different"])
            assert one["flops_per_token"] == experiment.flops(size, KEPT["text"]["different"])
            assert one["tokens_per_second"] == pytest.approx(one["tokens"] / (60 * one["minutes"]))

    def test_no_loss_is_below_the_floor_and_the_best_is_on_the_curve(self):
        for one in KEPT["models"].values():
            losses = [point["validation"] for point in one["points"]]
            assert min(losses) == one["best"] > KEPT["text"]["floor"]

    def test_what_was_right_is_what_the_grammar_says(self):
        for row in KEPT["at_the_verb"]:
            right = bangla.continuations(f"{row['prefix']} ", [f"{form}।" for form in KEPT["forms"]])
            assert row["grammar"] == pytest.approx(list(right.values()))
            assert all(0 <= sum(row[name]) <= 1 + 1e-6 for name in KEPT["models"])

    def test_stories_are_called_possible_that_are(self):
        told = [story for one in KEPT["models"].values() for story in one["stories"]]
        for story in told:
            assert story == experiment.told(story["text"]) | {
                "gloss": [list(pair) for pair in bangla.gloss(story["text"])]
            }

    def test_the_guide_has_its_costs(self):
        guide = (ROOT / "docs" / "growing.md").read_text(encoding="utf-8")
        for name, one in KEPT["models"].items():
            above, written = one["best"] - KEPT["text"]["floor"], one["written"]
            row = (
                f"| `{name}` | {sum(one['parts'].values()) / 1e6:.2f} M | {one['tokens'] / 1e6:.2f} M | "
                f"{one['minutes']:.0f}, {one['processor_minutes']:.0f} | {one['tokens_per_processor_second']:,.0f} | "
                f"{above:.3f} | {written['possible']} of {written['stories']} |"
            )
            assert row in guide

    def test_students_get_it(self):
        assert (ROOT / "course" / "09-gpt" / "bangla.json").read_bytes() == experiment.KEPT.read_bytes()
