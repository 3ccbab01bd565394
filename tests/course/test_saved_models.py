"""Tests of reading what answers to `save_as_gpt2` write: as `transformers` reads it, and safely, whatever it is."""

import json
import logging
import random
import tempfile

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from autograder.judge.run_check import namespace_with, run_check, student_with_answer
from autograder.judge.student import Student
from autograder.spec.course import exercise
from autograder.spec.exercise import Wrong
from autograder.untrusted.responder import Responder
from autograder.untrusted.wire import decode, encode
from transformer_exercises.hugging_face_gpt2 import saved_model

SAVE = exercise("save_as_gpt2")
WEIGHTS, CONFIG, FOLDER, MODEL = (check.title for check in SAVE.checks)
WRITE_CONFIG = 'settings_file.write_text(json.dumps(settings, indent=2), encoding="utf-8")'
WRITE_WEIGHTS = next(line.strip() for line in SAVE.source.splitlines() if "save_file({" in line)
TINY = {"vocab_size": 7, "n_positions": 6, "bos_token_id": None, "eos_token_id": None}


def headed(header, numbers=8):
    """Return a file with this header, and as many bytes of numbers."""
    return len(header).to_bytes(8, "little") + header + bytes(numbers)


def placed(dtype="F32", shape="[2]", place="[0, 8]", numbers=8):
    """Return a file with one tensor."""
    about = f'{{"dtype": "{dtype}", "shape": {shape}, "data_offsets": {place}}}'
    return headed(f'{{"wte.weight": {about}}}'.encode(), numbers)


BROKEN_WEIGHTS = {
    "nothing": b"",
    "three bytes": b"abc",
    "a header that is cut off": (100).to_bytes(8, "little") + b"{}",
    "a header of 2^63 bytes": (2**63).to_bytes(8, "little") + b"{}",
    "a header in which lists are nested 100,000 deep": headed(b"[" * 100_000),
    "a header that is no object": headed(b"[1, 2]"),
    "a header that is no text": headed(bytes([255, 254])),
    "a tensor that is a number": headed(b'{"wte.weight": 3}'),
    "a name that stands there twice": headed(b'{"a": {}, "a": {}}'),
    "10,000 names": headed(json.dumps({str(i): {} for i in range(10_000)}).encode()),
    "a place behind the end": placed(place="[0, 800]"),
    "a place that is negative": placed(place="[-8, 0]"),
    "a place that is no place": placed(place="[0, true, null]"),
    "a gap": placed(shape="[1]", place="[4, 8]"),
    "numbers that nobody names": placed(shape="[1]", place="[0, 4]"),
    "a shape of 2^80 numbers": placed(shape="[1099511627775, 1099511627775]"),
    "no number, in a shape of 2^80": placed(shape="[0, 1099511627775, 1099511627775]", place="[0, 0]", numbers=0),
    "a shape of nine dimensions": placed(shape="[2, 1, 1, 1, 1, 1, 1, 1, 1]"),
    "a shape that is not whole": placed(shape="[NaN]"),
    "a dtype that is none": placed(dtype="manual_seed"),
    "a million bytes": bytes(1_000_000),
}
NO_CONTENT = {  # what a process may give for the bytes of a file
    "true": True,
    "a number below zero": -5,
    "a number of 4,000 digits": 10**4000,
    "a list": [1],
    "no whole numbers": torch.zeros(3),
    "a matrix": torch.zeros(3, 3).byte(),
}
BROKEN_CONFIG = {
    "nothing": b"",
    "lists nested 100,000 deep": b"[" * 100_000,
    "no text": bytes([255, 254]),
    "a list": b"[1]",
    "a number of 5,000 digits": b'{"n_head": ' + b"9" * 5000 + b"}",
    "a number of 4,000 digits": b'{"n_embd": ' + b"9" * 4000 + b"}",
    "a list for a number": b'{"n_head": [[[]]]}',
    "no heads": b'{"n_head": 0}',
    "true for a number": b'{"n_head": true}',
}
STRANGE = {  # what is written in place of a file, or beside it: the lines that this loses
    "a link for the weights": (WRITE_WEIGHTS, "weights_file.symlink_to(settings_file)", [WEIGHTS, FOLDER, MODEL]),
    "a folder for the settings": (WRITE_CONFIG, "settings_file.mkdir()", [CONFIG, FOLDER, MODEL]),
    "a file too large": (WRITE_WEIGHTS, "weights_file.write_bytes(bytes(1_000_000))", [WEIGHTS, FOLDER, MODEL]),
    "weights that cannot be read": (WRITE_WEIGHTS, "weights_file.write_bytes(b'abc')", [WEIGHTS]),
    "NaN": (WRITE_WEIGHTS, WRITE_WEIGHTS.replace("t.detach()", "(t.detach() * float('nan'))"), [WEIGHTS]),
    "whole numbers": (WRITE_WEIGHTS, WRITE_WEIGHTS.replace("t.detach()", "t.detach().long()"), [WEIGHTS]),
    "no number in any tensor": (WRITE_WEIGHTS, WRITE_WEIGHTS.replace("t.detach()", "torch.zeros(0, 3)"), [WEIGHTS]),
    "half a character": (WRITE_CONFIG, 'settings_file.write_text(\'{"activation_function": "\\\\ud800"}\')', [CONFIG]),
    "a thousand files": (
        WRITE_CONFIG,
        f"{WRITE_CONFIG}; [(folder / f'é{{i}}').touch() for i in range(1000)]",
        [FOLDER],
    ),
    "nothing else": (WRITE_CONFIG, f"[one.unlink() for one in folder.iterdir()]; {WRITE_CONFIG}", [FOLDER]),
    "an empty file before the error": (
        "raise FileExistsError",
        "settings_file.touch(); raise FileExistsError",
        [FOLDER],
    ),
    "a model in eval mode": (WRITE_CONFIG, f"{WRITE_CONFIG}; model.eval()", [MODEL]),
    "a link to itself": (WRITE_CONFIG, f"{WRITE_CONFIG}; (folder / 'more').symlink_to('more')", [FOLDER]),
}


@pytest.mark.parametrize("data", BROKEN_WEIGHTS.values(), ids=BROKEN_WEIGHTS)
def test_a_broken_file_of_weights_is_refused_in_a_sentence(data):
    with pytest.raises(Wrong, match=r"`model.safetensors`"):
        saved_model.tensors(data)


@pytest.mark.parametrize("data", BROKEN_CONFIG.values(), ids=BROKEN_CONFIG)
def test_a_broken_file_of_settings_is_refused_in_a_sentence(data):
    with pytest.raises(Wrong, match=r"`config.json`"):
        saved_model.settings(data)


@pytest.mark.parametrize(("line", "written", "lost"), STRANGE.values(), ids=STRANGE)
def test_strange_files_lose_their_points_and_nothing_else(line, written, lost, caplog):
    student, messages = student_with_answer(SAVE, SAVE.source.replace(line, written)), {}
    for check in SAVE.checks:
        try:
            run_check(SAVE, check, student)
        except Wrong as wrong:
            messages[check.title] = str(wrong)
    assert list(messages) == lost
    assert all(message.isprintable() and message.isascii() for message in messages.values())
    assert not [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("kind", ["time", "died"])
def test_a_lost_process_is_told_as_such_though_its_folder_is_lost_too(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # the folders are not removed
    current = Responder(namespace_with(SAVE, SAVE.source))

    def send(packet):
        nonlocal current
        if decode(packet).get("target") != "save_as_gpt2":
            return current.respond(packet)
        current = Responder(current.namespace)
        return encode({"problem": {"kind": kind, "seconds": 10}})

    for check in SAVE.checks:
        with pytest.raises(Wrong, match=r"did not come back|ended the Python process") as found:
            run_check(SAVE, check, Student(send))
        assert found.value.facts["kind"] == kind


def test_any_error_but_the_one_asked_for_is_recorded_as_one_mistake():
    found = set()
    for kind in ("ValueError", "AssertionError", "Exception", "KeyError"):
        student = student_with_answer(SAVE, SAVE.source.replace("raise FileExistsError", f"raise {kind}"))
        with pytest.raises(Wrong, match=f"FileExistsError is asked for; yours raised {kind}"):
            run_check(SAVE, next(check for check in SAVE.checks if check.title == FOLDER), student)
        found.add(str([answer.get("problem", {}).get("type") for answer in student.replies[FOLDER]]))
    assert len(found) == 1


def test_random_damage_to_the_files_is_told_in_a_sentence(tmp_path):
    """Bytes are changed, cut out and put in at random places: what is read is a dictionary, or refused."""
    namespace = namespace_with(SAVE, SAVE.source)
    namespace["save_as_gpt2"](namespace["GPT"](GPT2Config(n_embd=4, n_layer=1, n_head=2, **TINY)), tmp_path)
    rng, refused = random.Random(1), 0
    for name, read in ((saved_model.CONFIG, saved_model.settings), (saved_model.WEIGHTS, saved_model.tensors)):
        whole = (tmp_path / name).read_bytes()
        for _ in range(300):
            at, length = rng.randrange(min(len(whole), 1500)), rng.choice([0, 1, 8])
            damaged = whole[:at] + rng.randbytes(rng.choice([0, 1, 2])) + whole[at + length :]
            try:
                assert isinstance(read(damaged), dict)
            except Wrong as wrong:
                refused += str(wrong).isprintable()
    assert refused > 300


@pytest.mark.parametrize("held", NO_CONTENT.values(), ids=NO_CONTENT)
def test_what_is_no_content_of_a_file_is_told_in_a_short_sentence(held):
    with pytest.raises(Wrong, match=r"^`config.json` is not a plain file") as found:
        saved_model.content({"found": {"config.json": held}}, "config.json")
    assert len(str(found.value)) < 80


def test_a_setting_that_is_missing_has_the_value_of_the_library():
    assert {name: getattr(GPT2Config(), name) for name in saved_model.DEFAULTS} == saved_model.DEFAULTS
    assert GPT2Config.attribute_map == saved_model.OTHER_NAMES


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("answer", [pytest.param(one.source, id=one.name) for one in SAVE.alternatives])
def test_the_library_reads_what_a_right_answer_has_written(answer, tied, tmp_path):
    namespace = namespace_with(SAVE, answer)
    model = namespace["GPT"](GPT2Config(n_embd=8, n_layer=2, n_head=2, tie_word_embeddings=tied, **TINY)).eval()
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.add_(torch.linspace(-1, 1, parameter.numel()).reshape(parameter.shape).sin() * (1 + number % 3))
    namespace["save_as_gpt2"](model, tmp_path)
    ids = torch.arange(5)[None]
    got = GPT2LMHeadModel.from_pretrained(tmp_path).eval()(ids).logits
    assert torch.allclose(got.float(), model(ids)[0], atol=1e-4)
    assert saved_model.settings((tmp_path / saved_model.CONFIG).read_bytes())["tie_word_embeddings"] is tied
    saved = saved_model.tensors((tmp_path / saved_model.WEIGHTS).read_bytes())
    assert (
        len(
            {name.removeprefix("transformer.") for name in saved} - {"lm_head.weight", "h.0.attn.bias", "h.1.attn.bias"}
        )
        == 28
    )
