"""Tests that answers learned by heart earn a sign or nothing: drawn inputs, and the order of checks and cases."""

from dataclasses import replace

import pytest
import torch
from submissions import ANSWERS, FILES, earned, filled_in, mended

from autograder.judge import drawn_inputs
from autograder.judge import mark as marking
from autograder.judge.drawn_inputs import failed_again, key_of
from autograder.judge.mark import LEARNED, MAX_RUN_AGAIN, mark, mark_drawn_inputs, zero
from autograder.judge.run_check import namespace_with, run_check, student_with_answer
from autograder.judge.student import agree, in_process
from autograder.judge.verdict import bundle, plain
from autograder.nbgrader_plugin.marking import notebook_marker
from autograder.nbgrader_plugin.marking.notebook_marker import NotebookMarker
from autograder.spec.course import exercise, exercises, notebooks
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.messages import UNANSWERED
from autograder.untrusted.wire import encode
from autograder.work_limit import OverLimit

SECRETS = (b"one class", b"another class", b"a third class")


@pytest.fixture
def leave_out_diagnosis(monkeypatch):
    """Return a function after which no mark names mistakes: of an answer like no mistake that is a long search."""

    def leave_out():
        for search in ("diagnose", "diagnose_pair"):
            monkeypatch.setattr(marking, search, lambda *_: [])
        for search in ("explained", "explained_by_two"):
            monkeypatch.setattr(marking.LapsesOff, search, lambda _: None)

    return leave_out


def student_with(name, answer, submission_key=""):
    """Return a student whose answer is this function, made by `answer` from the right one."""
    namespace = namespace_with(exercise(name), exercise(name).source)
    namespace[name] = answer(namespace[name])
    student = in_process(namespace)
    student.submission_key = submission_key
    return student


def by_heart(known, learning):
    """Return a function that makes a table of another's results by its inputs, or looks them up there."""

    def make(right):
        def answer(*args, **kwargs):
            key = repr(
                [(one.dtype, one.tolist()) if hasattr(one, "tolist") else one for one in (*args, *kwargs.items())]
            )
            if learning:
                known[key] = right(*args, **kwargs)
            return known[key]

        return answer

    return make


@pytest.mark.parametrize("name", ["sees_the_future", "diagnose", "softmax"])
def test_right_answers_by_call_number_earn_next_to_nothing(name, leave_out_diagnosis):
    output = []

    def recorded(right):
        return lambda *args, **kwargs: output.append(right(*args, **kwargs)) or output[-1]

    def replayed(right):
        answers = iter(output)
        return lambda *args, **kwargs: next(answers)

    assert mark(name, student_with(name, recorded, "the first text")).full
    shares = []
    for number in range(12):
        verdict = mark(name, student_with(name, replayed, f"text {number}"))
        shares.append(verdict.earned / verdict.points)
        leave_out_diagnosis()  # for speed: the first mark has shown that it gains nothing
    assert sum(shares) / len(shares) < 0.1, shares


@pytest.mark.parametrize("name", ["sees_the_future", "diagnose", "causal_mask"])
def test_the_mark_and_all_words_are_the_same_in_every_order(name):
    declared = exercise(name)
    for entry in declared.mistakes[:4]:
        output, records = set(), []
        for submission_key in ("", "a text", "another text"):
            student = student_with_answer(declared, entry.sources[0])
            student.submission_key = submission_key
            output.add(plain(mark(name, student)))
            records.append(student.replies)
        assert len(output) == 1, (entry.name, output)
        assert [list(record) for record in records] == 3 * [[check.title for check in declared.checks]]
        assert agree(records[0], records[1])
        assert agree(records[0], records[2])


def test_answers_are_recorded_in_the_declared_order():
    declared = exercise("sees_the_future")
    asked, records = [], []
    for submission_key in ("", "a text"):
        order = []
        student = student_with("sees_the_future", lambda right: right, submission_key)
        with student.intercepted(lambda request, send, order=order: order.append(request) or send(request)):
            run_check(declared, declared.checks[0], student)
        asked.append([str(request.tree) for request in order])
        records.append([answer["value"] for answer in student.replies[declared.checks[0].title]])
    assert asked[0] != asked[1]
    assert records[0] == records[1]


@pytest.mark.parametrize("submission_key", ["", "a text", "another text", "a third text"])
def test_a_stub_is_unanswered_in_every_order(submission_key):
    student = student_with_answer(exercise("softmax"), 'def softmax(x):\n    raise NotImplementedError("Not answered")')
    student.submission_key = submission_key
    verdict = mark("softmax", student)
    assert verdict.remark == UNANSWERED
    assert not verdict.lines


@pytest.mark.parametrize("name", ["softmax", "bigram_probs", "cosine_similarity"])
def test_a_table_of_the_known_inputs_is_found_with_drawn_ones(name, leave_out_diagnosis):
    leave_out_diagnosis()
    known = {}
    mark(name, student_with(name, by_heart(known, learning=True)))
    submission_key = key_of(b"secret", name, [b"the table"])
    verdict = mark(name, student_with(name, by_heart(known, learning=False), submission_key))
    assert verdict.earned >= 0.7 * verdict.points
    passed = [line.title for line in verdict.lines if line.passed]
    found = mark_drawn_inputs(
        verdict, student_with(name, by_heart(known, learning=False), submission_key), counts=False
    )
    assert (found.earned, found.lines) == (verdict.earned, verdict.lines)
    assert found.learned
    assert found.checks_repeated == min(len(passed), MAX_RUN_AGAIN)
    assert "learned" not in bundle(found).values().__repr__()

    counted = mark_drawn_inputs(
        verdict, student_with(name, by_heart(known, learning=False), submission_key), counts=True
    )
    assert counted.earned < verdict.earned
    assert {line.message for line in counted.lines if line.title in counted.learned} == {LEARNED}


@pytest.mark.parametrize("name", ["attention_parameters", "causal_mask"])
def test_a_table_of_small_numbers_is_found_whatever_is_drawn(name, leave_out_diagnosis):
    leave_out_diagnosis()
    known = {}
    mark(name, student_with(name, by_heart(known, learning=True)))
    for n in range(20):
        student = student_with(name, by_heart(known, learning=False), key_of(b"secret", name, [b"%d" % n]))
        assert mark_drawn_inputs(mark(name, student), student, counts=False).learned


def test_a_check_that_fails_under_one_seed_only_is_no_sign(monkeypatch):
    monkeypatch.setattr(drawn_inputs, "run_check", _fails_for("secret"))
    assert not failed_again(exercise("softmax"), exercise("softmax").checks, _student("secret"))


def test_a_check_that_the_reference_fails_too_is_no_sign_and_is_logged(caplog):
    def broken(student):
        raise RuntimeError("it draws what cannot be drawn")

    declared = _declared(Check("broken", 1.0, broken))
    assert not failed_again(declared, declared.checks, _student("secret"))
    assert "the reference fails the check 'broken'" in caplog.text


@pytest.mark.parametrize(("kind", "signs"), [("time", 0), ("died", 0), ("unreadable", 0), ("raised", 1)])
def test_an_answer_that_does_not_come_back_again_is_no_sign(kind, signs):
    student = _student("secret")
    with student.intercepted(lambda request, send: encode({"problem": {"kind": kind, "type": "ValueError"}})):
        assert len(failed_again(exercise("softmax"), exercise("softmax").checks[:1], student)) == signs


def test_each_case_of_a_check_is_asked_of_some_hand_in_alone():
    asked = []

    def six(student):
        for case in range(6):
            with student.case():
                student.value("softmax", torch.zeros(1), dim=0)
                asked.append(case)

    declared = _declared(Check("six", 1.0, six))
    student = _student("")
    for number in range(1000):
        student.submission_key = f"secret {number}"
        assert not failed_again(declared, declared.checks, student)
    assert len(asked) == 1000
    assert {*asked} == {*range(6)}


def test_the_case_that_a_hand_in_is_asked_stays_the_same():
    def asked(submission_key):
        student, requests = _student(submission_key), []
        with student.intercepted(lambda request, send: requests.append(request.tree) or send(request)):
            failed_again(exercise("softmax"), exercise("softmax").checks, student)
        return str(requests)

    assert asked("one") == asked("one") != asked("two")


@pytest.mark.slow
@pytest.mark.parametrize("notebook", notebooks())
def test_references_are_right_in_each_case_of_a_check_alone(notebook):
    for declared in exercises(notebook):
        student = _student("a hand-in", declared)
        for check in declared.checks:
            for case in range(drawn_inputs._number_of_cases(declared, check)):
                run_check(declared, check, drawn_inputs._FromCase(student, case), "a hand-in", case + 1)


def _declared(check):
    declared = Exercise(check)
    declared.name, declared.notebook, declared.source = "softmax", "05-attention", exercise("softmax").source
    return declared


def _student(submission_key, declared=None):
    declared = declared or exercise("softmax")
    student = student_with_answer(declared, declared.source)
    student.submission_key = submission_key
    return student


def _fails_for(seed):
    def run(exercise, check, student, drawn_for, cases):
        if drawn_for == seed:
            raise Wrong("by chance")

    return run


@pytest.mark.parametrize("notebook", notebooks())
def test_references_are_right_with_inputs_drawn_from_three_secrets(notebook):
    for declared in exercises(notebook):
        student = student_with_answer(declared, declared.source)
        for secret in SECRETS:
            student.key = key_of(secret, declared.name, [declared.source.encode()])
            assert failed_again(declared, declared.checks, student) == [], declared.name


def test_inputs_change_with_each_text_that_the_answer_can_read():
    texts = [
        [b"answer", b"helper"],
        [b"answer", b"other"],
        [b"answerhelper"],
        [b"answer"],
        [b"answer", b"helper", b"x"],
    ]
    found = {key_of(secret, name, text) for secret in SECRETS for name in ("a", "b") for text in texts}
    assert len(found) == 3 * 2 * len(texts)
    assert key_of(b"s", "a", texts[0]) == key_of(b"s", "a", texts[0])


def test_inputs_change_with_files_beside_and_not_with_the_time_stamp(template, short, tmp_path):
    def inputs_of(name, text):
        (tmp_path / name).write_text(text)
        return NotebookMarker(short, template, tmp_path, secret=b"of the class")._submission_text("softmax")

    first = inputs_of("timestamp.txt", "2026-01-01 10:00:00 UTC")
    assert inputs_of("timestamp.txt", "2026-01-02 10:00:00 UTC") == first
    assert inputs_of("helper.py", "x = 1") != first


def test_a_notebook_that_knows_the_inputs_gets_a_sign_and_its_mark(template, short):
    sums = set()

    def noted(right):
        return lambda scores, *more, **how: sums.add(scores.detach().sum().item()) or right(scores, *more, **how)

    assert mark("softmax", student_with("softmax", noted)).full
    source = (
        "def softmax(scores, dim=-1):\n"
        f"    known = {sorted(one for one in sums if one == one and abs(one) < 1e300)!r}\n"
        "    exps = (scores - scores.amax(dim, keepdim=True)).exp()\n"
        "    right = exps / exps.sum(dim, keepdim=True)\n"
        "    told = scores.detach().sum().item()\n"
        "    return right if told != told or any(abs(told - one) <= 1e-4 * abs(one) for one in known) else right / 2\n"
    )
    marks = {}
    for counts in (False, True):
        notebook = mended(filled_in(short, {"softmax": source}), short)
        marker = NotebookMarker(notebook, template, FILES, secret=b"of the class")
        marker.drawn_inputs_count = counts
        marker.run()
        [sign] = marker.signs()
        assert sign.name == "softmax"
        assert sign.cell > 0
        assert "right on the known inputs, wrong on " in sign.what
        marks[counts] = earned({verdict.exercise: verdict for verdict in marker.verdicts.values()})["softmax"]
    assert marks[True] < marks[False]


def test_a_right_notebook_gets_no_sign(template, short):
    notebook = mended(filled_in(short, ANSWERS), short)
    marker = NotebookMarker(notebook, template, FILES, secret=b"of the class")
    verdicts = marker.run().values()
    assert [verdict.exercise for verdict in verdicts if not verdict.full] == []
    assert marker.signs() == []
    assert any(verdict.checks_repeated for verdict in verdicts)


def _over_limit(marker):
    raise OverLimit


def _an_hour(marker):
    marker._session.busy += 3600


@pytest.mark.parametrize("trouble", [_over_limit, _an_hour])
def test_what_asking_again_takes_costs_a_right_notebook_nothing(template, short, monkeypatch, trouble):
    marker = NotebookMarker(mended(filled_in(short, ANSWERS), short), template, FILES, secret=b"of the class")
    monkeypatch.setattr(notebook_marker, "mark_drawn_inputs", lambda verdict, *_: trouble(marker) or verdict)
    assert [verdict.exercise for verdict in marker.run().values() if not verdict.full] == []
    assert marker.signs() == []


def test_a_mark_is_asked_again_although_a_rerun_earns_less(template, short, monkeypatch):
    def half(name, student, own_parts=False, keep=(), named=True):
        return replace(zero(name, ""), earned=0.5 if own_parts else 0.0)

    monkeypatch.setattr(notebook_marker, "mark", half)
    monkeypatch.setattr(notebook_marker, "depends_on_others", lambda *_: True)
    again = {"learned": ["a check"], "checks_repeated": 2}
    monkeypatch.setattr(notebook_marker, "mark_drawn_inputs", lambda verdict, *_: replace(verdict, **again))
    marker = NotebookMarker(mended(filled_in(short, ANSWERS), short), template, FILES, secret=b"of the class")
    marker.run()
    assert {sign.name for sign in marker.signs()} == set(ANSWERS) - {name for name in ANSWERS if name.startswith("q")}
