"""Tests facts that the notebooks state: what the grammar leaves open, the shipped model, and sacrebleu's BLEU."""

import importlib.util
import json
import random
import re
import socket

import pytest
import sacrebleu
import torch
import torch.nn.functional as F
from conftest import ROOT, read
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2LMHeadModel

from autograder.spec.course import reference
from tools.training.attention_maps import KEPT, STORY, Heads
from tools.training.inspected_models import SOLUTIONS, given
from transformer_exercises.stories import prefix_log_prob, sample, true_nll

SHIPPED = {"10-hugging-face-gpt2/gpt2-stories": (128, 8_000_000), "01-language-modelling/first-gpt": (96, 3_000_000)}


def test_whoever_knows_the_grammar_pays_nothing_at_the_probes_of_01():
    stories = (ROOT / "solutions/01-language-modelling/stories-validation.txt").read_text(encoding="utf-8")
    [source] = [cell.source for cell in read("solutions", "01-language-modelling").cells if cell.id == "probe-claims"]
    defined: dict = {}
    exec(source[: source.index("places =")], defined)  # the table of patterns, as the claim has it
    found = 0
    for pattern in defined["PROBES"].values():
        for match in re.finditer(pattern, stories):
            start, end = match.span(match.lastindex)
            story = stories.rfind("\n", 0, start) + 1
            before, after = (prefix_log_prob(stories[story:stop]) for stop in (start, end))
            assert before - after == pytest.approx(0, abs=1e-9), stories[story:end]
            first = stories.index(" ", story) + 1  # and the first words of a story are not free
            assert prefix_log_prob(stories[story:first]) < -0.1
            found += 1
    assert found == 61


def test_a_text_of_the_readers_own_takes_the_stories_place_in_01(tmp_path, monkeypatch, capsys):
    own = "".join(f"Ụgbọ {number} na-agba.\n" for number in range(2_000))
    (tmp_path / "mine.txt").write_text(own, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    source = {cell.id: cell.source for cell in read("solutions", "01-language-modelling").cells}
    defined: dict = {"draw_pairs": lambda *_: None, "compare_guess": lambda *_, **__: None, "guess": None}
    exec(source["setup"][source["setup"].index("import json") :], defined)  # without the modules beside it
    exec(source["corpus"].replace('"stories.txt"  #', '"mine.txt"  #'), defined)
    for name in ("story-counts", "bigram-table", "evaluate-tables"):
        exec(source[name], defined)
    assert own.startswith(defined["text"] + defined["valid_text"])
    assert len(defined["valid_text"]) >= len(own) // 10
    assert set(defined["LINES"]) == {"ln V", "unigram", "bigram"}
    assert "floor of your text is unknown" in capsys.readouterr().out


@pytest.mark.slow
def test_the_heads_kept_for_07_fit_its_model_and_are_near_its_floor():
    notebook = given("07-multi-head", "setup", "headlines", "headline-data", "two-layers", "three-ways")
    model = notebook["HeadsOnly"](notebook["right"])
    model.load_state_dict(torch.load(SOLUTIONS / "07-multi-head" / "heads.pt", weights_only=True))
    rows = notebook["test_ids"]
    with torch.no_grad():
        loss = F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()).item()
    assert 0 < loss - notebook["LINES"]["true floor"] < 0.06


@pytest.fixture(scope="module", params=SHIPPED)
def shipped(request):
    """Return model, tokenizer and folder, loaded while every connection fails."""
    folder = ROOT / "solutions" / request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", lambda *_: pytest.fail("it must load without a network"))
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        return model.eval(), AutoTokenizer.from_pretrained(folder), folder


def test_the_shipped_model_is_a_small_gpt2_with_the_context_it_needs(shipped):
    model, tokenizer, folder = shipped
    context, size = SHIPPED[f"{folder.parent.name}/{folder.name}"]
    assert isinstance(model, GPT2LMHeadModel)
    assert model.config.n_positions >= context
    assert len(tokenizer) == model.config.vocab_size
    assert tokenizer.eos_token_id == model.config.eos_token_id == model.generation_config.eos_token_id
    assert sum(file.stat().st_size for file in folder.rglob("*")) <= size
    assert not [file.name for file in folder.iterdir() if file.suffix in (".bin", ".pt", ".pkl")]  # no pickles


def test_the_numbers_that_end_the_course_are_those_of_its_notebooks(tmp_path):
    """The regular expressions find them in the stored outputs; nothing is found where no notebook is."""
    spec = importlib.util.spec_from_file_location("course_numbers", SOLUTIONS / "12-it-trains-anyway/course_numbers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows = module.my_numbers(SOLUTIONS)
    assert [(what, mine) for _, what, mine, _ in rows] == [(what, ours) for _, what, _, ours in rows]
    damaged = tmp_path / "09-gpt" / "09-gpt.ipynb"
    damaged.parent.mkdir()
    damaged.write_text("<<<<<<< HEAD")
    assert {mine for _, _, mine, _ in module.my_numbers(tmp_path)} == {"–"}


TEXTS = [
    "  two  spaces , a\ttab,\n\na blank line \r\n",
    "Ụmụaka abụọ nọ n'ụlọ; àkwá, àkwà, ákwà",
    "নমস্কার, তুমি কেমন আছ?",
    "naïve e\u0301 — “quotes” … 👩‍👩‍👧 😀 日本語 \u200d \ufeff",
    "".join(map(chr, range(1, 0x250))),
]


def test_any_text_comes_back_from_the_shipped_tokenizer(shipped):
    for text in TEXTS:
        assert shipped[1].decode(shipped[1](text).input_ids) == text


def test_the_loss_of_the_shipped_model_is_what_its_card_says(shipped):
    model, tokenizer, folder = shipped
    card = (folder / "README.md").read_text(encoding="utf-8")
    output, floor = map(float, re.findall(r"^\| (?:loss on validation stories|floor) \| ([\d.]+)", card, re.MULTILINE))
    text = sample("english", characters=30_000, seed=2)
    total = count = 0
    for line in text.splitlines():
        ids = torch.tensor([tokenizer(f"<|endoftext|>{line}<|endoftext|>").input_ids])
        with torch.no_grad():
            total += model(ids, labels=ids).loss.item() * (ids.shape[1] - 1)
        count += ids.shape[1] - 1
    assert total / count == pytest.approx(output, abs=0.002)
    assert true_nll(text) / count == pytest.approx(floor, abs=0.002)
    assert floor < output < 1.1 * floor


def test_the_shipped_model_ends_its_stories(shipped):
    model, tokenizer, _ = shipped
    start = torch.tensor([[tokenizer.eos_token_id]])
    story = model.generate(start, attention_mask=torch.ones_like(start), do_sample=False, max_new_tokens=100)[0, 1:]
    assert story[-1] == tokenizer.eos_token_id
    assert tokenizer.decode(story[:-1]).endswith((".", "!", "?", '"'))


def bleu_of_both(hypotheses: list[list[str]], references: list[list[str]]) -> float:
    """Return sacrebleu's corpus BLEU of the tokens as they are, which the reference must have, too."""
    ours, expected = ([" ".join(tokens) for tokens in texts] for texts in (hypotheses, references))
    score = sacrebleu.corpus_bleu(ours, [expected], tokenize="none", force=True).score
    assert reference("bleu")(hypotheses, references) == pytest.approx(score, abs=1e-6), (hypotheses, references)
    return score


def test_bleu_is_sacrebleus_on_random_corpora():
    """Some have nothing that matches, no 4-gram at all, an empty hypothesis or reference, or are too short or long."""
    source = random.Random(0)
    assert len({round(bleu_of_both(*random_corpus(source)), 2) for _ in range(300)}) > 150, "most are trivial"


def random_corpus(source: random.Random) -> tuple[list[list[str]], list[list[str]]]:
    """Return sentences, and copies with words lost, replaced and added, or other sentences."""
    words = [f"w{i}" for i in range(source.choice([2, 5, 30]))]
    references = [source.choices(words, k=source.choice([0, 1, 3, 4, 7, 15])) for _ in range(source.randint(1, 6))]
    wrong, most = source.choice([0.0, 0.1, 0.4, 0.9]), source.randint(1, 3)
    ways = [lambda word: [], lambda word: [source.choice(words)], lambda word: [word, source.choice(words)]][:most]
    hypotheses = []
    for tokens in references:
        made = [new for word in tokens for new in (source.choice(ways)(word) if source.random() < wrong else [word])]
        hypotheses.append(made if source.random() < 0.7 else source.choices(words, k=source.choice([0, 1, 3, 8])))
    return hypotheses, references


def test_the_trained_heads_shown_in_05_are_those_of_the_model_of_01():
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    tokens, weights, next_token = Heads().read(STORY)
    assert kept["tokens"][1:] == tokens[1:]
    assert torch.allclose(torch.tensor(kept["weights"]), weights, atol=0.01)
    assert kept["probability"] == pytest.approx(next_token.max().item(), abs=0.01)
