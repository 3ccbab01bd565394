"""Tests of bans: circumventions earn nothing and are named, and mentioning a banned name costs nothing."""

import sys

import pytest
import torch
from circumventions import HARMLESS, HIDING, WAYS
from conftest import missing, read
from submissions import LIMITS

from autograder.judge.bans import banned_uses, recording_uses
from autograder.judge.mark import Verdict, mark
from autograder.judge.run_check import student_with_answer
from autograder.judge.source_rules import suspicious_words
from autograder.judge.student import Student
from autograder.sandbox.session import Session
from autograder.spec.course import exercise, exercises
from autograder.untrusted.wire import Packet

SETUP = "import torch\nimport torch.nn.functional as F\nfrom torch import nn"
IN_THE_CAGE = {
    "softmax": (
        *("a pickle", "in a thread", "while noting is off"),
        *("a transform of distributions", "a library's function of numbers"),
    ),
    "cross_entropy": ("while noting is off", "written anew in torch"),
    "LayerNorm": ("compiled", "in a thread", "a library's layer as a base", "its middle, written anew in torch"),
}
GAVE = {
    "softmax": "def softmax(scores, dim=-1):\n    return torch.as_tensor(smoothly.spread(scores.numpy(), dim)[0])",
    "LayerNorm": HARMLESS["LayerNorm"]["in words"].partition("    def forward")[0]
    + "    def forward(self, x):\n        return self.weight * smoothly.even(x, self.eps) + self.bias",
}


def judged(name: str, source: str) -> Verdict:
    return mark(name, student_with_answer(exercise(name), source), [source])


def caged(template, name: str, source: str) -> Verdict:
    with Session(template, limits=LIMITS) as session:
        for cell in (SETUP, source):
            assert session.run(cell).ending == "ok"
        with session.questions() as ask:
            return mark(name, Student(ask), [source], own_parts=True)


def test_every_ban_has_ways_around_it_and_right_answers_that_only_look_like_one():
    least = {"softmax": (54, 10), "cross_entropy": (27, 8), "LayerNorm": (29, 6), "RMSNorm": (19, 5)}
    least["grouped_query_attention"] = (17, 5)
    assert {one.name for one in exercises() if one.ban} == WAYS.keys() == HARMLESS.keys() == least.keys()
    assert all(len(WAYS[name]) >= ways and len(HARMLESS[name]) >= right for name, (ways, right) in least.items())


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("kind", ["solutions", "course"])
def test_the_box_in_the_notebook_says_what_is_banned_in_the_words_of_the_remark(name, kind):
    asked = exercise(name)
    boxes = [cell.source for cell in read(kind, asked.notebook).cells if f"> **`{name}(" in cell.source]
    assert len(boxes) == 1
    box = " ".join(line.removeprefix("> ") for line in boxes[0].split("\n"))
    assert not missing(box, asked.ban.without, asked.ban.fine)


def assert_caught(verdict: Verdict, word: str) -> None:
    assert any(line.passed for line in verdict.lines), "no way around: it answers nothing right"
    assert verdict.earned == 0
    assert word in verdict.remark


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # of a way
@pytest.mark.parametrize(("name", "way"), [(name, way) for name, ways in WAYS.items() for way in ways])
def test_a_way_around_a_ban_earns_nothing_and_is_named(name, way):
    if way == "scipy":
        pytest.importorskip("scipy")  # it does not come with the course
    source, word = WAYS[name][way]
    verdict = judged(name, source)
    assert_caught(verdict, word)
    assert exercise(name).ban.sentence in verdict.remark


@pytest.mark.parametrize(("name", "way"), [(name, way) for name, ways in IN_THE_CAGE.items() for way in ways])
def test_a_way_around_a_ban_earns_nothing_in_the_cage(template, name, way):
    source, word = WAYS[name][way]
    assert_caught(caged(template, name, source), word)


@pytest.mark.parametrize(("name", "right"), [(name, right) for name, answers in HARMLESS.items() for right in answers])
def test_a_right_answer_that_only_mentions_what_is_banned_gets_full_marks(name, right):
    verdict = judged(name, HARMLESS[name][right])
    assert verdict.full, verdict


@pytest.mark.parametrize("name", HARMLESS)
def test_right_answers_keep_to_the_ban_in_the_cage(template, name):
    verdict = caged(template, name, HARMLESS[name]["in words"])
    assert verdict.full, verdict


@pytest.fixture
def library(tmp_path, monkeypatch):
    """Install a library whose names give nothing away; it works out everything in NumPy or by hand."""
    folder = tmp_path / "site-packages" / "smoothly"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(
        "import numpy as np\n"
        "def spread(x, axis=-1):\n    e = np.exp(x - x.max(axis=axis, keepdims=True))\n"
        "    return [e / e.sum(axis=axis, keepdims=True)]\n"
        "def even(x, eps):\n    c = x - x.mean(-1, keepdim=True)\n"
        "    return c / (c.square().mean(-1, keepdim=True) + eps).sqrt()\n"
        "def called(function, x):\n    return function(x)\n"
    )
    monkeypatch.syspath_prepend(str(folder.parent))
    yield folder
    sys.modules.pop("smoothly", None)


@pytest.mark.parametrize(("name", "gave"), GAVE.items(), ids=GAVE)
def test_what_a_library_works_out_is_none_of_the_students_by_whatever_name(library, name, gave):
    verdict = judged(name, "import smoothly\n" + gave)
    assert verdict.earned == 0
    assert "`smoothly." in verdict.remark
    source = (  # one that only calls the student's function is no help
        "import smoothly\ndef own(scores):\n    e = (scores - scores.amax(-1, keepdim=True)).exp()\n"
        "    return e / e.sum(-1, keepdim=True)\ndef softmax(scores, dim=-1):\n"
        "    return smoothly.called(own, scores.movedim(dim, -1)).movedim(-1, dim)"
    )
    assert judged("softmax", source).full


def test_a_fallback_for_the_hard_cases_is_seen_too():
    by_hand = "e = (scores - scores.amax(dim, keepdim=True)).exp()\n    return e / e.sum(dim, keepdim=True)"
    hard = "    if (scores == -math.inf).any() and scores.requires_grad:\n        return scores.softmax(dim)\n    "
    verdict = judged("softmax", "import math\ndef softmax(scores, dim=-1):\n" + hard + by_hand)
    assert verdict.earned == 0
    assert "`softmax`" in verdict.remark


@pytest.mark.parametrize(
    ("name", "relatives", "strangers"),
    [
        ("softmax", "_softmax _sparse_log_softmax _native_multi_head_attention", "logsumexp"),
        ("cross_entropy", "nll_loss2d_forward linear_cross_entropy", "_log_softmax binary_cross_entropy_with_logits"),
        ("LayerNorm", "_fused_rms_norm cudnn_batch_norm", "linalg_vector_norm"),
        ("RMSNorm", "_fused_rms_norm", "linalg_vector_norm"),
        ("grouped_query_attention", "_scaled_dot_product_flash_attention_for_cpu", "_softmax"),
    ],
)
def test_relatives_are_known_by_what_torch_calls_them(name, relatives, strangers):
    ban = exercise(name).ban
    assert all(banned_uses(ban, {("ran", f"aten::{operation}")}) for operation in relatives.split())
    assert not any(banned_uses(ban, {("ran", f"aten::{operation}")}) for operation in strangers.split())
    built = ("called", f"torch.nn.modules.normalization.{name}.__init__")
    assert banned_uses(ban, {built}) == []


def test_an_answer_in_numpy_breaks_no_ban_loses_the_gradient_only_and_is_watched_without_a_change():
    source = """
import numpy as np

def softmax(scores, dim=-1):
    s = scores.detach().numpy()
    e = np.exp(s - s.max(axis=dim, keepdims=True))
    return torch.from_numpy(e / e.sum(axis=dim, keepdims=True))
"""
    verdict = judged("softmax", source)
    assert not verdict.remark
    assert 0 < verdict.earned < verdict.points
    answer, scores = student_with_answer(exercise("softmax"), exercise("softmax").source), torch.arange(6.0).view(2, 3)
    unwatched = answer.call("softmax", [scores])
    with recording_uses(answer) as used:
        watched = answer.call("softmax", [scores])
    assert watched.keys() == unwatched.keys()
    assert watched["value"].equal(unwatched["value"])
    assert ("ran", "aten::exp") in used
    assert banned_uses(exercise("LayerNorm").ban, {("called", "elsewhere.SomeRMSNorm.forward")})


def test_a_reply_without_a_record_is_not_taken_for_an_innocent_one():
    answer = student_with_answer(exercise("softmax"), exercise("softmax").source).send

    def silent(question):
        reply = answer(question)
        return Packet({"dict": [part for part in reply.tree["dict"] if part[0] != "used"]}, reply.blobs)

    verdict = mark("softmax", Student(silent))
    assert verdict.earned == 0
    assert "without a record" in verdict.remark


@pytest.mark.parametrize(("cell", "words"), HIDING)
def test_ways_to_hide_are_known_from_words_that_only_look_like_one(cell, words):
    assert suspicious_words("softmax", [cell], stop=()) == words
