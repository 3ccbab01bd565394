"""Tests of the long training scripts: they run, report their results, and refuse bad data."""

import csv
import dataclasses
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from typer.testing import CliRunner

from tools.training import checkpoints, say, stories_gpt2, translate
from transformer_exercises.stories import parallel

ROWS = [(english, igbo) for english, igbo, _ in parallel(60)]


@pytest.fixture
def small(monkeypatch):
    """Make `stories_gpt2` train tiny models for three steps."""
    few = {"steps": 3, "layers": 1, "heads": 2, "width": 16, "batch": 2, "characters": 20_000}
    for name, plan in stories_gpt2.PLANS.items():
        monkeypatch.setitem(stories_gpt2.PLANS, name, dataclasses.replace(plan, **few))


def trained_on_stories(folder: Path, *name: str) -> str:
    """Train a model into this folder; return what the command printed."""
    result = CliRunner().invoke(stories_gpt2.app, [*name, "--out", str(folder)])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.long
def test_the_same_command_trains_the_same_model(small, tmp_path):
    weights = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        trained_on_stories(folder)
        weights.append(AutoModelForCausalLM.from_pretrained(folder).state_dict())
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


@pytest.mark.long
@pytest.mark.parametrize("name", stories_gpt2.PLANS)
def test_a_trained_model_can_be_loaded(name, small, tmp_path):
    trained_on_stories(tmp_path / "model", name)
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    ids = tokenizer("The dog drank the water.", return_tensors="pt").input_ids
    assert model(ids).logits.shape == (1, ids.shape[1], len(tokenizer))


@pytest.mark.long
@pytest.mark.parametrize("name", stories_gpt2.PLANS)
def test_the_models_card_states_its_loss(name, small, tmp_path):
    folder = tmp_path / "model"
    printed = trained_on_stories(folder, name)
    card = (folder / "README.md").read_text(encoding="utf-8")
    loss, floor = re.findall(r"validation ([\d.]+), floor ([\d.]+)", printed)[-1]  # those before are the bar's
    assert f"| loss on validation stories | {loss} nats" in card
    assert f"| floor | {floor} nats" in card
    assert str(folder) not in card


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path_factory, monkeypatch):
    """Keep models in the working directory if nobody says where: not in that of the tests."""
    monkeypatch.chdir(tmp_path_factory.mktemp("work"))


@pytest.fixture(scope="module")
def tsv(tmp_path_factory):
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    return write(path, ROWS)


def write(path, rows):
    path.write_text("".join("\t".join(row) + "\n" for row in [("en", "ibo"), *rows]), encoding="utf-8")
    return path


def train(pairs, folder, **settings):
    """Train a small translator from Igbo to English."""
    languages, few = {"source": "igbo", "target": "english"}, {"layers": 1, "heads": 2, "width": 16, "vocab_size": 400}
    usual = {"minutes": 10.0, "steps": 60, "room": 300, "device": "cpu", "precision": "float32", "average": 3}
    recipe = translate.Recipe(**{**translate.OWN, **languages, **few, **usual, **settings})
    translate.run(translate.Corpus.of(pairs, **languages, generator=random.Random(11)), recipe, folder)


def test_own_sentences_get_settings_of_their_own_by_default(tsv, monkeypatch):
    """With those of the stories, a model of real sentences never looks at the source (docs/translating.md)."""
    recipes: list[translate.Recipe] = []
    monkeypatch.setattr(translate, "run", lambda _, recipe, out: recipes.append(recipe))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for words in ([], [str(tsv)], [str(tsv), "--paper"]):
        result = CliRunner().invoke(translate.app, words)
        assert result.exit_code == 0, result.output
    assert "131,188 pairs, 2,677.3 times as many as here (49)" in " ".join(result.output.split())
    stories, own, paper = recipes
    assert (stories.warmup, stories.dropout, stories.joint, stories.average) == (400, 0.1, False, 1)
    assert own == dataclasses.replace(stories, **translate.OWN)
    assert (paper.width, paper.dropout, paper.vocab_size) == (512, 0.1, 37_000)


def refused(*arguments: object) -> str:
    """Return what the command says when it refuses, on one line, without a traceback."""
    result = CliRunner().invoke(translate.app, list(map(str, arguments)))
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    return " ".join(result.output.replace("│", " ").split())


LINE = "The dog ran.\tNkịta gbara ọsọ.\n"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (LINE * 30, "has no column called igbo. Its first line should name the columns"),
        ("english\n" + "The dog ran.\n" * 30, "has one column. Sentence pairs need two, with a tab between them"),
        ("", "is empty"),
        ("\n \n\n", "is empty"),
        ("english\tigbo\n", "no line after that holds two sentences"),
        ("english\tigbo\nThe dog ran.\nAda ate.\t\n", "no line after that holds two sentences"),
        (f"english\tigbo\n{LINE}".encode("utf-16"), "is not UTF-8"),
        ("english\tigbo\n" + LINE * 30, "1 different training pairs, and at least 20 are needed"),
    ],
)
def test_bad_data_gets_a_plain_sentence(tmp_path, data, says):
    path = tmp_path / "bad.tsv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    assert says in refused(path)


def test_options_and_paths_that_cannot_be_used_get_a_plain_sentence(tsv, tmp_path):
    assert "There is no file or folder" in refused(tmp_path / "nowhere.tsv")
    assert "ends in -train.tsv" in refused(tmp_path)
    assert "'float16' is not one of 'float32', 'bfloat16'" in refused(tsv, "--precision", "float16")
    assert "has no column called french" in refused(tsv, "--source", "french")
    assert "the same column" in refused(tsv, "--source", "ibo", "--target", "igbo")
    torch.save({"run": "another"}, tmp_path / checkpoints.UNFINISHED)
    assert "unfinished training of other data" in refused(tsv, "--out", tmp_path)


def test_cells_may_stand_in_quotation_marks_and_hold_stray_spaces(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text('\ufeffen\tibo\r\nYes.\t"Ee \t "\r\nHe said "no".\tỌ sịrị "mba".\r\nlost\r\n', encoding="utf-8")
    assert translate.read_pairs(path, "english", "igbo") == [("Yes.", "Ee"), ('He said "no".', 'Ọ sịrị "mba".')]


def test_a_sentence_keeps_the_quotation_marks_that_it_begins_with(tmp_path):
    pairs = [('"Come in," he said.', '"Bata," ka o kwuru.'), ('"Who is it?', "Onye?"), ("It rains.", "Mmiri na-ezo.")]
    path = tmp_path / "pairs.tsv"
    path.write_text("en\tibo\n" + "".join(f"{en}\t{ig}\n" for en, ig in pairs), encoding="utf-8")
    assert translate.read_pairs(path, "english", "igbo") == pairs


def test_no_sentence_is_both_learnt_and_tested(tmp_path):
    rows = [(f"en {i}", f"ig {i}") for i in range(60)]
    parts = {
        "train": [*rows[:40], rows[41], ("other", "ig 42"), ("en 51", "other"), rows[0]],
        "test": rows[40:50],
        "dev": [*rows[50:55], rows[45]],
    }
    for part, pairs in parts.items():
        write(tmp_path / f"news-{part}.tsv", pairs)
    for path in (tmp_path, tmp_path / "news-train.tsv"):
        corpus = translate.Corpus.of(path, "english", "igbo", random.Random(0))
        assert (corpus.train, corpus.validation, corpus.test) == (rows[:40], rows[50:55], rows[40:50])
        assert "4 of 44 training pairs were left out" in " ".join(corpus.remarks)


@pytest.fixture
def opus(tmp_path):
    """Return a folder as OPUS's archives unpack: two files of 60 lines, and what lies beside them."""
    rows = [*ROWS]
    rows[3] = ("One\u2028line of text.", "Otu\u2028ahịrị.")  # some programs take this character for the end of a line
    files = {
        f"wikimedia.en-ig.{name}": "\n".join(side) + "\n"
        for name, side in zip(("en", "ig"), zip(*rows, strict=True), strict=True)
    }
    for name, text in (files | {"README": "Corpus: wikimedia", "wikimedia.en-ig.xml": "<cesAlign/>"}).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", ["", "wikimedia.en-ig", "wikimedia.en-ig.en", "wikimedia.en-ig.ig"])
def test_two_files_of_lines_are_read_as_they_come_in_both_directions(opus, name):
    there, back = (
        translate.Corpus.of(opus / name, *languages, random.Random(0))
        for languages in (("english", "igbo"), ("igbo", "english"))
    )
    pairs = {*there.train, *there.validation, *there.test}
    assert len(pairs) == 60
    assert len(pairs & {*ROWS}) == 59
    assert sorted(there.train) == sorted((english, igbo) for igbo, english in back.train)


def test_two_files_that_do_not_belong_together_are_refused(opus):
    assert "no wikimedia.en-ig.french in" in refused(opus / "wikimedia.en-ig", "--target", "french")
    with (opus / "wikimedia.en-ig.ig").open("a", encoding="utf-8") as file:
        file.write("Otu ọzọ.\n")
    assert "have 61 and 60 lines" in refused(opus), "of the source and the target"


def test_an_empty_line_drops_its_pair_and_keeps_the_others_aligned(opus):
    path = opus / "wikimedia.en-ig.ig"
    path.write_text(path.read_text(encoding="utf-8").replace(f"\n{ROWS[7][1]}\n", "\n\n"), encoding="utf-8")
    pairs = translate.read_two_files(opus / "wikimedia.en-ig", "english", "igbo")
    assert len(pairs) == 59
    assert pairs[7:] == ROWS[8:]


@pytest.fixture(scope="module")
def undisturbed(tsv, tmp_path_factory):
    """Return the folder of a run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("kept") / "model"
    train(tsv, folder)
    return folder


@pytest.mark.long
def test_a_killed_run_goes_on_to_the_same_losses_and_weights(tsv, undisturbed, tmp_path, monkeypatch, capsys):
    step = translate.Run.step
    for kill_at in (17, 44):

        def dying(self, kill_at=kill_at):
            if self.taken == kill_at:
                raise SystemExit  # stands for the end of the process
            return step(self)

        monkeypatch.setattr(translate.Run, "step", dying)
        with pytest.raises(SystemExit):
            train(tsv, tmp_path)
        assert (tmp_path / checkpoints.UNFINISHED).is_file()
    monkeypatch.setattr(translate.Run, "step", step)
    train(tsv, tmp_path)
    assert "Going on after step 42" in capsys.readouterr().out
    assert not (tmp_path / checkpoints.UNFINISHED).exists()
    assert (tmp_path / "model.safetensors").read_bytes() == (undisturbed / "model.safetensors").read_bytes()
    curves = [list(csv.DictReader((folder / "curve.csv").open())) for folder in (undisturbed, tmp_path)]
    assert curves[0] == [kept | {"minutes": point["minutes"]} for point, kept in zip(*curves, strict=True)]


@pytest.mark.long
def test_a_kept_model_has_its_curve_and_translates_without_the_autograder(undisturbed, tmp_path):
    points = list(csv.DictReader((undisturbed / "curve.csv").open()))
    assert [int(point["step"]) for point in points] == list(range(3, 61, 3))
    assert all(0 <= float(point[name]) <= 100 for point in points for name in ("bleu", "chrf"))
    assert float(points[-1]["validation"]) < float(points[0]["validation"])
    assert (undisturbed / "curve.png").read_bytes().startswith(b"\x89PNG")
    sentence = "Onye gụrụ egwu? Ọ bụ Kate."
    here = say.SavedTranslator(undisturbed)
    alone = "import runpy, sys; sys.modules['autograder'] = None; del sys.argv[0]; "
    alone += "runpy.run_path(sys.argv[0], run_name='__main__')"
    command = [sys.executable, "-c", alone, undisturbed / "say.py", sentence]
    assert subprocess.check_output(command, encoding="utf-8") == f"{here.say(sentence)}\n"
    with pytest.raises(FileNotFoundError, match=r"holds no model\. Train one with `make translate`"):
        say.SavedTranslator(tmp_path)
