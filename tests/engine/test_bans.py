"""Tests of bans: what is banned earns nothing under any name, and mentioning its name costs nothing."""

import pytest
import torch
from conftest import missing, read
from programs import FOLDER, cells
from submissions import LIMITS

from autograder.judge.bans import NAMED, noting_banned, remark
from autograder.judge.mark import Verdict, mark
from autograder.judge.run_check import student_with_answer
from autograder.judge.student import Student, in_process
from autograder.sandbox.session import Session
from autograder.spec.course import exercise, exercises
from autograder.spec.exercise import Ban
from autograder.untrusted.wire import Packet

SETUP = "import torch\nimport torch.nn.functional as F\nfrom torch import nn"
LEFT_ON = {
    "nothing": "",
    "cProfile": "import cProfile\n_left_on = cProfile.Profile()\n_left_on.enable()",
    "torch.profiler": "_left_on = torch.profiler.profile()\n_left_on.start()",
}


BANS = [path.stem for path in sorted((FOLDER / "bans").glob("*.py"))]
USES, RIGHT = {}, {}
for name in BANS:
    for title, source in cells(f"bans/{name}"):
        kind, what = title.split(": ", 1)
        if kind == "right":
            RIGHT[name, what] = source
        else:  # which word of the remark names it
            USES[name, what] = source, kind.removeprefix("banned ")
SOFTMAX = exercise("softmax")


def judged(name: str, source: str) -> Verdict:
    return mark(name, student_with_answer(exercise(name), source))


def sandboxed(template, name: str, source: str, more: str = "") -> Verdict:
    with Session(template, limits=LIMITS) as session:
        for cell in (SETUP, source, more):
            assert session.run(cell).ending == "ok"
        with session.requests() as send:
            return mark(name, Student(send), own_parts=True)


def assert_found(verdict: Verdict, word: str) -> None:
    assert any(line.passed for line in verdict.lines), "it answers nothing right"
    assert verdict.earned == 0
    assert word in verdict.remark
    assert exercise(verdict.exercise).ban.sentence in verdict.remark


def test_every_ban_has_uses_of_what_is_banned_and_right_answers():
    assert {one.name for one in exercises() if one.ban} == set(BANS)
    for name in BANS:
        assert sum(banning == name for banning, _ in USES) >= 7
        assert sum(banning == name for banning, _ in RIGHT) >= 5


@pytest.mark.parametrize("name", BANS)
@pytest.mark.parametrize("kind", ["solutions", "course"])
def test_the_exercises_box_in_the_notebook_states_its_ban(name, kind):
    asked = exercise(name)
    boxes = [cell.source for cell in read(kind, asked.notebook).cells if f"> **`{name}(" in cell.source]
    assert len(boxes) == 1
    box = " ".join(line.removeprefix("> ") for line in boxes[0].split("\n"))
    assert not missing(box, asked.ban.without, asked.ban.fine)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "use"), USES)
def test_a_use_of_what_is_banned_earns_nothing_and_is_named(name, use):
    source, word = USES[name, use]
    assert_found(judged(name, source), word)


@pytest.mark.parametrize(("name", "style"), RIGHT)
def test_a_right_answer_that_only_mentions_what_is_banned_gets_full_marks(name, style):
    verdict = judged(name, RIGHT[name, style])
    assert verdict.full, verdict


@pytest.mark.parametrize("name", BANS)
def test_a_ban_holds_in_the_sandbox_and_right_answers_keep_to_it(template, name):
    source, word = USES[name, "another name" if name != "LayerNorm" else "the layer itself"]
    assert_found(sandboxed(template, name, source), word)
    verdict = sandboxed(template, name, RIGHT[name, "in words"])
    assert verdict.full, verdict


@pytest.mark.parametrize("left_on", LEFT_ON)
def test_a_profiler_that_a_cell_left_on_changes_nothing(template, left_on):
    verdict = sandboxed(template, "softmax", RIGHT["softmax", "in words"], LEFT_ON[left_on])
    assert verdict.full, verdict
    source, word = USES["softmax", "the method"]
    assert_found(sandboxed(template, "softmax", source, LEFT_ON[left_on]), word)


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
    assert all(ban.covers(operation) for operation in relatives.split())
    assert not any(ban.covers(operation) for operation in strangers.split())


def test_an_answer_in_numpy_breaks_no_ban_and_loses_gradient_and_device():
    source = """
import numpy as np

def softmax(scores, dim=-1):
    s = scores.detach().numpy()
    e = np.exp(s - s.max(axis=dim, keepdims=True))
    return torch.from_numpy(e / e.sum(axis=dim, keepdims=True))
"""
    verdict = judged("softmax", source)
    assert not verdict.remark
    assert [line.title for line in verdict.lines if line.symptom] == ["gradients", verdict.lines[-1].title]


def test_a_layer_of_many_heads_is_seen_by_the_function_that_it_calls():
    student, x = in_process({"attend": torch.nn.MultiheadAttention(8, 2)}), torch.ones(3, 1, 8)
    with noting_banned(exercise("grouped_query_attention").ban, student) as found:
        student.call("attend", [x, x, x])
    assert found == {"multi_head_attention_forward"}


OPTIONS = [{"upstream": [torch.ones(2, 3)]}, {"device": "elsewhere"}, {"strict_device": True}, {"trace": True}]


@pytest.mark.parametrize("options", [{}, *OPTIONS], ids=lambda options: "".join(options))
def test_a_watched_call_gets_the_same_reply(options):
    student, scores = student_with_answer(SOFTMAX, SOFTMAX.source), torch.arange(6.0).view(2, 3)
    replies = [student.call("softmax", [scores], **options)]
    with noting_banned(Ban("exp", "`exp`"), student) as found:
        replies.append(student.call("softmax", [scores], **options))
    assert "exp" in found
    for one, other in zip(*(sorted(reply.items()) for reply in replies), strict=True):
        assert str(one) == str(other)
    assert replies[0]["value"].equal(replies[1]["value"])


@pytest.mark.parametrize("forged", [[], [["used"]], [["used", 5]], [["used", {"list": []}]], ["used"], [["used", "`"]]])
def test_a_forged_list_of_names_is_no_name_and_no_error(forged):
    student = student_with_answer(SOFTMAX, SOFTMAX.source)
    answer = student.send

    def send(question: Packet) -> Packet:
        reply = answer(question)
        return Packet({"dict": [part for part in reply.tree["dict"] if part[0] != "used"] + forged}, reply.blobs)

    student.send = send
    with noting_banned(Ban("", "anything"), student) as found:
        student.replies.clear()
        student.send(Packet({"dict": [["do", "call"], ["target", "softmax"], ["args", {"list": []}]]}, []))
    assert found == set()


def test_a_remark_names_a_few_banned_names_and_those_of_gradients_last():
    ban = SOFTMAX.ban
    output = remark(ban, {"_softmax", "softmax", "_softmax_backward_data"})
    assert output == f"{ban.sentence} Yours uses `softmax`."
    assert remark(ban, {"_softmax_backward_data"}).endswith("Yours uses `softmax_backward_data`.")
    assert remark(ban, {f"softmax{i}" for i in range(99)}).count("`softmax") == NAMED
    assert len(remark(ban, {"softmax" * 10_000})) < 400


def test_a_mistake_keeps_its_name_where_the_gradient_holds_nan():
    """While operations are watched, torch spreads a NaN further in some gradients."""
    mistake = next(one for one in exercise("cross_entropy").mistakes if one.name == "global_shift")
    found = {diagnosis.mistake for source in mistake.sources for diagnosis in judged("cross_entropy", source).diagnoses}
    assert found == {"global_shift"}
