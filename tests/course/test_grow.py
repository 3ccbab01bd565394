"""Tests of `make grow`, which trains a GPT on any text and resumes exactly, and of the scaling experiment."""

import csv
import math
import re
from collections import Counter
from pathlib import Path

import pytest
import torch
from conftest import ROOT
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPT2LMHeadModel
from typer.testing import CliRunner

from tools.training import checkpoints, gpt2, grow, scaling, sizes, texts

STEPS = 40
TINY = sizes.size_named("tiny")
TRY = ["--size", "tiny", "--steps", str(STEPS), "--device", "cpu"]


@pytest.fixture(scope="module")
def diary(tmp_path_factory) -> Path:
    """Return a text of somebody's own: with accents, another script, and no story of the course."""
    path = tmp_path_factory.mktemp("own") / "my diary.txt"
    day = "Day {}. Café at {}:00, {} pages read; আজ বৃষ্টি. Nothing else, but {} birds.\n"
    path.write_text("".join(day.format(n, n % 24, n * 7 % 31, n * n % 97) for n in range(400)), encoding="utf-8")
    return path


def grown(*arguments: object, code: int = 0) -> str:
    """Run the command; return what it prints."""
    result = CliRunner().invoke(grow.app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def undisturbed(diary, tmp_path_factory) -> tuple[Path, str]:
    """Return the folder of a run that nobody disturbed, and what it printed."""
    folder = tmp_path_factory.mktemp("grown") / "model"
    return folder, grown(diary, *TRY, "--out", folder)


def curve(folder: Path) -> list[dict[str, str]]:
    """Return the curve without what depends on the clock."""
    points = list(csv.DictReader((folder / "curve.csv").open(encoding="utf-8")))
    return [{name: point[name] for name in ("step", "tokens", "training", "validation")} for point in points]


def refused(*arguments: object) -> str:
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", grown(*TRY, *arguments, code=2)).split())


@pytest.mark.long
def test_the_saved_tokenizer_restores_a_text(undisturbed, diary):
    tokenizer = AutoTokenizer.from_pretrained(undisturbed[0])
    text = diary.read_text(encoding="utf-8")[:500]
    assert tokenizer.decode(tokenizer(text).input_ids) == text


@pytest.mark.long
def test_the_saved_model_is_the_best_one_seen(undisturbed, diary, tmp_path):
    folder, printed = undisturbed
    model = AutoModelForCausalLM.from_pretrained(folder)
    points = [float(point["validation"]) for point in curve(folder)]
    assert len(points) == 20
    assert points[-1] < points[0] - 0.3
    material = texts.read_file(diary, tmp_path, 2_000, 96)
    with torch.no_grad():
        total = gpt2.loss_of(model, material.validation.inputs, material.validation.targets, "sum").item()
    loss = total / int((material.validation.targets != gpt2.IGNORED).sum())
    assert loss == pytest.approx(min(points), abs=1e-5)
    assert f"{loss:.4f} nats per token" in printed


@pytest.mark.long
def test_a_run_says_how_much_it_computed(undisturbed):
    folder, printed = undisturbed
    size = AutoModelForCausalLM.from_pretrained(folder).num_parameters()
    cost = f"{6 * size * STEPS * 8 * 96:.2e}"
    for output in (f"{size:,}", f"{cost} FLOP", "tokens per second"):
        assert output in printed
    assert f"6ND | {cost}" in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_a_run_leaves_a_curve_and_samples_and_no_unfinished_file(undisturbed):
    folder, _ = undisturbed
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "samples.txt").read_text(encoding="utf-8").count("--- ") == 20
    assert not {*folder.glob("*.bin"), *folder.glob(checkpoints.UNFINISHED)}, "only what was grown is left"


@pytest.mark.long
@pytest.mark.parametrize(("end", "code", "reached"), [(KeyboardInterrupt, 130, 17), (SystemExit(9), 9, 16)])
def test_a_run_stopped_or_killed_goes_on_to_the_same(diary, undisturbed, tmp_path, monkeypatch, end, code, reached):
    """SystemExit stands for the end of the process, after the last look, at an even step."""
    step = grow.Run.step

    def dying(self):
        if self.taken == 17:
            raise end
        return step(self)

    with monkeypatch.context() as patch:
        patch.setattr(grow.Run, "step", dying)
        output = grown(diary, *TRY, "--out", tmp_path, code=code)
    if end is KeyboardInterrupt:
        assert "The same command goes on from here" in output
        assert AutoModelForCausalLM.from_pretrained(tmp_path).config.n_layer == 2, "the best so far can be used"
    assert f"Going on after step {reached}" in grown(diary, *TRY, "--out", tmp_path)
    assert curve(tmp_path) == curve(undisturbed[0])
    for name in ("model.safetensors", "tokenizer.json", "config.json", "samples.txt"):
        assert (tmp_path / name).read_bytes() == (undisturbed[0] / name).read_bytes(), name


@pytest.fixture(scope="module")
def material(diary, tmp_path_factory) -> texts.TrainingText:
    return texts.read_file(diary, tmp_path_factory.mktemp("material"), 2_000, 64)


def run(material: texts.TrainingText, size: sizes.Size = TINY, **output) -> grow.Run:
    usual = {"minutes": 1.0, "steps": 10, "seed": 9, "device": "cpu", "precision": "float32", "compiled": False}
    return grow.Run(material, grow.Recipe(size=size, **{**usual, **output}), Path("nowhere"))


def step(one: grow.Run, share: float) -> float:
    one.now.share = share
    return one.step()


def test_a_batch_in_parts_has_the_gradients_of_the_whole_batch(material, monkeypatch):
    whole, parts = run(material, TINY.but(rows=6)), run(material, TINY.but(rows=2, accumulate=3))
    batch = [material.windows(2, 64, 9, number) for number in range(3)]
    together = tuple(torch.cat(side) for side in zip(*batch, strict=True))
    monkeypatch.setattr(texts.TrainingText, "windows", lambda self, rows, *_: together if rows == 6 else batch[_[2]])
    losses = [one.gradients().item() for one in (whole, parts)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    for right, ours in zip(whole.model.parameters(), parts.model.parameters(), strict=True):
        torch.testing.assert_close(right.grad, ours.grad, atol=1e-7, rtol=1e-4)


def test_a_loss_that_is_no_number_stops_the_run_with_advice(material):
    one = run(material)
    with torch.no_grad():
        one.model.transformer.wte.weight.fill_(math.nan)
    with pytest.raises(grow.Unusable, match=r"nan at step 1\. Try a lower rate, --peak 0\.003"):
        step(one, 0.5)


@pytest.mark.parametrize("size", sizes.SIZES, ids=lambda size: size.name)
def test_the_arithmetic_is_that_of_the_model_and_the_guides_table_says_it(size):
    with torch.device("meta"):
        model = GPT2LMHeadModel(size.config(size.vocabulary, end=0))
    N, positions = model.num_parameters(), size.context * size.width
    assert size.parameters() == N
    assert size.flops_per_token() == 6 * (N - positions) + 12 * size.layers * positions
    assert f"{N / 1e6:.2f} M" in grown("--list")
    row = (
        f"| `{size.name}` | {size.machine} | {size.layers} × {size.heads} × {size.width} | {size.context:,} | "
        f"{N / 1e6:.2f} M | {size.tokens_per_step:,} | {6 * N * size.tokens_per_step:.1e} | {120 * N * N:.1e} | "
        f"{size.memory() / 1e9:.2f}, {size.memory(half=True) / 1e9:.2f} GB |"
    )
    assert row in (ROOT / "docs" / "growing.md").read_text(encoding="utf-8")


def test_the_largest_size_is_the_published_gpt2():
    size, published = sizes.size_named("gpt2"), GPT2Config()
    config = size.config(size.vocabulary, end=published.eos_token_id)
    assert size.parameters() == 124_439_808
    ours, expected = config.to_dict(), published.to_dict()
    assert {name for name in expected if ours[name] != expected[name]} == {"attn_pdrop", "embd_pdrop", "resid_pdrop"}


def test_a_text_that_cannot_be_used_gets_a_sentence_that_says_what_to_do(tmp_path):
    path = tmp_path / "text.txt"
    for content, says in (
        (b"", "has 0 characters. That is too short"),
        (b"Dear diary, today", "has 17 characters. That is too short"),
        (b"A line.\n" * 1_000 + b"caf\xe9" * 10, "is not UTF-8 text (byte 0xe9"),
        ("Ein Tag.\n".encode("utf-16") * 1_000, "is not UTF-8 text"),
        (b"text\0text\n" * 1_000, "holds zero bytes, as no text does"),
    ):
        path.write_bytes(content)
        assert says in refused(path, "--out", tmp_path / "model")
    assert not (tmp_path / "model").exists(), "nothing was begun"


def test_what_cannot_be_done_gets_a_sentence_too(diary, tmp_path, monkeypatch):
    def full(self):
        raise torch.OutOfMemoryError

    assert "There is no file" in refused(tmp_path / "no.txt")
    assert "is a folder. Name one text file" in refused(tmp_path)
    assert "smaller context with --context" in refused(diary, "--context", 4_096, "--out", tmp_path / "model")
    assert "'latin' is not one of 'english', 'bangla'" in refused("--stories", "latin", "--out", tmp_path / "model")
    assert "there are tiny, laptop, bangla, gpu, gpt2" in refused(diary, "--size", "huge")
    monkeypatch.setattr(grow.Run, "step", full)
    assert "--rows 4 --accumulate 2" in refused(diary, "--out", tmp_path / "full")
    torch.save({"run": "another"}, tmp_path / "full" / checkpoints.UNFINISHED)
    assert "unfinished training of another text or with other settings" in refused(diary, "--out", tmp_path / "full")
    with pytest.raises(texts.BadText, match="needs a context as long"):
        texts.stories(tmp_path, 2_000, 32, characters=50_000)


def test_every_held_back_token_is_predicted_once_and_none_is_learnt_from(material, diary):
    whole = material.tokenizer(diary.read_text(encoding="utf-8")).input_ids
    learnt, held = whole[: len(material.tokens)], whole[len(material.tokens) :]
    assert material.tokens.tolist() == learnt
    assert len(held) == len(whole) // 10
    counts = material.validation.targets != gpt2.IGNORED
    assert material.validation.targets[counts].tolist() == held[1:]
    assert material.validation.inputs[counts].tolist() == held[:-1]


def test_a_text_longer_than_a_piece_is_read_to_the_letter(tmp_path, monkeypatch):
    monkeypatch.setattr(texts, "PIECE", 100)
    path = tmp_path / "long.txt"
    text = "".join(f"Line {n} · наука {'x' * (n % 150)}\n" for n in range(200))
    path.write_bytes(("\ufeff" + text.replace("\n", "\r\n")).encode())
    assert "".join(texts.chunks(path)) == text
    material = texts.read_file(path, tmp_path, 400, 16)
    held = material.validation.targets[material.validation.targets != gpt2.IGNORED].tolist()
    assert material.tokenizer.decode([*material.tokens.tolist(), int(material.validation.inputs[0, 0]), *held]) == text


def test_the_kept_experiment_is_whole_and_above_its_floor():
    shared, runs = scaling.kept_runs(scaling.KEPT)
    found = scaling.best(runs)
    sizes_, amounts = map(Counter, zip(*found, strict=True))
    assert min(len(sizes_), len(amounts)) >= 4
    assert min(sizes_.values()) >= 3
    assert all(run.loss > shared["floor"] for run in runs)
    with torch.device("meta"):
        models = {run.width: GPT2LMHeadModel(scaling.config(shared["vocabulary"], run.width)) for run in runs}
    assert all(run.parameters == models[run.width].num_parameters() for run in runs)
