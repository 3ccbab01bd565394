"""Tests of what checks may ask, and that the judge reads plain data, keeps the rules, and judges an answer once."""

import dataclasses
import gc
import re
import weakref
from dataclasses import replace

import pytest
import torch

from autograder.judge import check_cache
from autograder.judge.check_cache import CheckCache, digest, size_of
from autograder.judge.mark import mark, zero
from autograder.judge.run_check import namespace_with, run_check, student_with_answer
from autograder.judge.source_rules import needed_by, needed_for, reachable
from autograder.judge.student import Student, in_process
from autograder.judge.verdict import html, plain
from autograder.spec import student as promised
from autograder.spec.course import blank_namespace, course, exercise, home, question_or_exercise, reference
from autograder.spec.exercise import Check, Problem, ValuesDiffer, Wrong
from autograder.spec.inputs import note_rounded, outline, raises_error, some_mask
from autograder.spec.messages import MAX_MESSAGE
from autograder.spec.seeds import restart_seeds
from autograder.untrusted.wire import Packet, encode

SOFTMAX = exercise("softmax")
BY_ANNOTATION = """
from dataclasses import dataclass, fields

@dataclass
class Along:
    dim: int = -1

def softmax(scores, dim=-1):
    kind = fields(Along)[0].type
    e = (scores - scores.amax(kind(dim), keepdim=True)).exp()
    return e / e.sum(kind(dim), keepdim=True)
"""
UNKNOWN_ANNOTATION = "def softmax(scores: Tensor, dim: int = -1):\n    return scores\n"
ITS_OWN_FUTURE = "from __future__ import annotations\n" + UNKNOWN_ANNOTATION


def verdict_on(source):
    return mark("softmax", in_process(namespace_with(SOFTMAX, source)))


@pytest.mark.parametrize("honest", [0, 2])
@pytest.mark.parametrize(
    "forged",
    [
        {},
        [],
        5,
        {"list": []},
        {"dict": []},
        {"dict": [["problem", 1]]},
        {"dict": [["value", {"ref": 7}]]},
        {"dict": [["value", {"tensor": "float32"}]]},
    ],
    ids=repr,
)
@pytest.mark.parametrize("name", ["softmax", "q5_1"])
def test_a_forged_reply_is_a_zero_and_no_error(forged, name, honest):
    """To the first question, or to the third and all after it."""
    answers = iter([encode({"value": True}), encode({"value": None})][:honest])
    verdict = mark(name, Student(lambda _: next(answers, Packet(forged))))
    assert verdict.earned == 0
    assert verdict.remark or any(line.message for line in verdict.lines)


def test_the_source_is_followed_through_helpers():
    cells = ["def helper(x):\n    return x", "scores = 5", "def f(scores):\n    return helper(scores)"]
    assert len(reachable("f", cells)) == 2


def test_cells_that_are_no_python_are_skipped():
    assert reachable("f", ["%%html\n<p>", "def f(:", "def f():\n    pass"]), "what is no Python is passed over"


def test_a_parameters_name_is_not_followed_to_a_cell():
    assert verdict_on("scores = torch.softmax(torch.zeros(3), 0)\n" + SOFTMAX.source).full, "a parameter's name"


def test_the_rubric_shows_no_answer_key():
    for name in ("q5_1", "q6_1"):
        question = question_or_exercise(name)
        for letter in set(question.explanations) - {question.key}:
            verdict = mark(name, in_process({name: letter}))
            others = set(question.explanations.values()) - {question.explanations[letter]}
            assert not any(text in html(verdict) + plain(verdict) for text in others)


def test_the_rubric_shortens_and_escapes_what_student_code_says():
    output = "'<script>alert(1)</script>' + 'x' * 5000 + '\\n' + str(scores)"
    verdict = verdict_on(f"def softmax(scores, dim=-1):\n    raise ValueError({output})")
    assert "<script>" not in html(verdict)
    assert "ValueError" in plain(verdict)
    assert max(len(line.message) for line in verdict.lines) < 500


def test_a_passed_check_takes_one_line_of_the_rubric():
    assert len(plain(verdict_on(SOFTMAX.source)).splitlines()) == 1 + len(SOFTMAX.checks), "a right line says no more"


def test_a_partial_not_implemented_error_does_not_mean_unanswered():
    refuses = "    if scores.dtype == torch.float64:\n        raise NotImplementedError\n    shifted"
    verdict = verdict_on(SOFTMAX.source.replace("    shifted", refuses, 1))
    assert len(verdict.lines) == len(SOFTMAX.checks)
    assert 0 < verdict.earned < verdict.points


def test_what_a_library_has_not_implemented_is_an_error_of_the_answer():
    """Not an exercise without an answer. Torch 2.14 raises NotImplementedError for `1 - mask` of booleans, too."""
    verdict = verdict_on("def softmax(scores, dim=-1):\n    return nn.Module()(scores)\n")
    assert "NotImplementedError: Module [Module] is missing" in verdict.lines[0].message


@pytest.mark.parametrize(
    ("cell", "needed"),
    [
        ("fig, ax = plt.subplots()\nax.plot(xs)\nshow(fig)", {"plt", "xs", "show"}),
        ("losses = losses + [1]", {"losses"}),
        ("for x in xs:\n    total = x", {"xs"}),
        ("def f(a):\n    b = a\n    return b + offset", {"offset"}),
        ("[y for y in ys]", {"ys"}),
        ("[y for y in ys] + [y]", {"ys", "y"}),
        ("[{k: v + w for k, v in pairs} for pairs in {p for p in several}]", {"w", "several"}),
        ("def f(a):\n    return [y + b for y in a] + [y]", {"b", "y"}),
        ("with open(name) as file:\n    text = file.read()\nprint(text)", {"open", "name", "print"}),
        ("%matplotlib inline\nx", {"x"}),
        ("this is no Python", set()),
    ],
)
def test_what_a_cell_takes_from_the_notebook(cell, needed):
    assert needed_by(cell) == needed


HELPERS = """
def total(xs, of=start):
    return sum(xs)

def mean(xs):
    return total(xs) / n

def look():
    show(model)
"""


@pytest.mark.parametrize(
    ("names", "needed"),
    [
        ({"mean"}, {"sum", "n", "start"}),
        ({"total"}, {"sum", "start"}),
        ({"look", "total"}, {"sum", "start", "show", "model"}),
    ],
)
def test_a_cells_unused_functions_need_nothing_but_their_defaults(names, needed):
    assert needed_for(HELPERS, names) == needed
    assert needed_for(f"{HELPERS}\nmean([1])\nlook()", set()) == needed_by(HELPERS)


def test_annotations_of_answers_probes_and_equivalents_are_evaluated():
    namespace = namespace_with(SOFTMAX, BY_ANNOTATION)
    assert dataclasses.fields(namespace["Along"])[0].type is int
    assert mark("softmax", in_process(namespace)).full
    with pytest.raises(NameError, match="Tensor"):  # as in a notebook
        namespace_with(SOFTMAX, UNKNOWN_ANNOTATION)
    assert namespace_with(SOFTMAX, ITS_OWN_FUTURE)["softmax"].__annotations__["scores"] == "Tensor"
    student = in_process({"kind": None})
    probe = student.probe("p", "def p(n: int):\n    return p.__annotations__['n'] is int\n")
    assert student.value(probe, 1) is True
    student.bind({"kind": "def kind(n: int = 1):\n    return kind.__annotations__['n'] is int\n"})
    assert student.value("kind") is True


PROBES = """
class Model(nn.Module):
    def forward(self, x): return x.secret
def attend(x, *more, scale=1): return Model()(x.secret + more)
def make():
    class Inner(Model):
        def backward(self, x): return x.secret
    return Inner()
"""
SEEKER = """
from types import CodeType
def own(x): return x
def seek(thing, depth=3):
    if isinstance(thing, CodeType):
        return {thing.co_filename}
    parts = [getattr(thing, name, None) for name in dir(thing)] if depth else []
    parts += [cell.cell_contents for cell in parts if type(cell).__name__ == "cell"]
    return {name for part in parts for name in seek(part, depth - 1)}
def of_own(): return seek(own)
"""


def test_no_attribute_of_a_probe_leads_to_its_code():
    namespace = {}
    exec(compile(SEEKER, "<cell>", "exec"), namespace)
    student = in_process(namespace)
    assert student.value("of_own") == {"<cell>"}
    model = student.call(student.probe("make", PROBES), [], keep=True)["value"]
    for probe in (student.probe("attend", PROBES), student.probe("Model", PROBES), model):
        assert "<probe>" not in student.value("seek", probe)


def test_errors_about_a_probe_speak_of_a_function_and_hold_no_code():
    namespace = {}
    exec("def shows(attend):\n    raise RuntimeError(attend.__code__.co_names)", namespace)
    exec("def takes(attend):\n    return attend.__name__, attend[0]", namespace)
    student = in_process(namespace)
    for name, output in (("shows", "has no attribute '__code__'"), ("takes", "is not subscriptable")):
        with pytest.raises(Problem, match=f"'function' object {output}"):
            student.value(name, student.probe("attend", "def attend(x):\n    return x.secret\n"))


LONG = "spam " * 2**16
FACT_NAMES = ("kind", "type", "base", "text", "line", "name", "seconds", "anything", LONG)


@pytest.mark.parametrize("kind", ["raised", "time", "missing", "device", "unreadable", LONG])
@pytest.mark.parametrize("honest", [0, 2])
def test_no_text_of_a_forged_problem_makes_a_long_verdict(kind, honest):
    facts = dict.fromkeys(FACT_NAMES, LONG) | {"kind": kind, LONG: LONG}
    answers = iter([encode({"value": True}), encode({"value": None})][:honest])
    student = Student(lambda _: next(answers, encode({"problem": facts})))
    verdict = mark("softmax", student)
    assert verdict.earned == 0
    assert len(str(verdict.as_data())) + len(html(verdict)) + len(plain(verdict)) < 100_000
    assert sum(len(str(answer)) for answers in student.replies.values() for answer in answers) < 1_000_000


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("softmax", "def softmax(scores, dim=-1):\n    raise type('spam' * 2**16, (Exception,), {})('spam' * 2**16)\n"),
        ("softmax", "def softmax(scores, dim=-1):\n    return type('spam' * 2**16, (), {})()\n"),
        ("count_pairs", "def count_pairs(words):\n    return {'spam' * 2**16: 'spam' * 2**16}\n"),
        ("build_vocab", "def build_vocab(text):\n    return ['spam' * 2**16], {'spam' * 2**16: 1}\n"),
        ("text_to_ids", "def text_to_ids(*args):\n    return ['spam' * 2**16]\n"),
        ("ids_to_text", "def ids_to_text(*args):\n    return 'spam' * 2**16\n"),
    ],
)
def test_no_name_or_text_in_an_answer_makes_a_long_verdict(name, answer):
    verdict = mark(name, student_with_answer(exercise(name), answer))
    assert verdict.earned < verdict.points
    assert len(str(verdict.as_data())) + len(html(verdict)) < 100_000


def test_remarks_are_cut():
    assert len(zero("softmax", LONG).remark) == MAX_MESSAGE


NAME = "scaled_dot_product_attention"
RIGHT = exercise(NAME)
CHECK = max(RIGHT.checks, key=lambda check: check.weight)
UNSCALED = next(mistake for mistake in RIGHT.mistakes if mistake.name == "no_scale").source


class Counted(Student):
    """A student in this process who remembers what was asked."""

    def __init__(self, source: str) -> None:
        answer = student_with_answer(RIGHT, source).send
        self.heard: list[bytes] = []
        self.size = 0

        def ask(packet):
            reply = answer(packet)
            self.heard.append(digest(packet))
            self.size += size_of(packet) + size_of(reply)
            return reply

        super().__init__(ask)


@pytest.fixture
def counting(monkeypatch):
    runs = []
    monkeypatch.setattr(check_cache, "run_check", lambda *args: runs.append(args[1].title) or run_check(*args))
    return runs


def test_the_same_answers_are_judged_once_and_get_the_same_sentence(counting):
    cache = CheckCache()
    first, second = Counted(RIGHT.source), Counted(RIGHT.source)
    for student in (first, second):
        cache.run(RIGHT, CHECK, student)
    assert counting == [CHECK.title]
    assert 0.99 * first.size < cache.size <= first.size, "questions and replies are kept, but for the first question"
    assert (first.heard, str(first.replies), first.called) == (second.heard, str(second.replies), second.called)
    assert NAME in second.called
    with pytest.raises(Wrong, match="never"):  # a check of the same title is another one
        cache.run(RIGHT, stopping(Wrong("never")), Counted(RIGHT.source))
    sentences = set()
    for _ in range(3):
        with pytest.raises(Wrong) as found:
            cache.run(RIGHT, CHECK, Counted(UNSCALED))
        sentences.add(str(found.value))
    assert counting == [CHECK.title] * 3
    assert len(sentences) == 1


def test_another_answer_is_judged_in_earnest_and_nothing_is_asked_twice(counting):
    cache = CheckCache()
    cache.run(RIGHT, CHECK, Counted(RIGHT.source))
    other, alone = Counted(UNSCALED), Counted(UNSCALED)
    for student, asking in ((other, cache.run), (alone, run_check)):
        with pytest.raises(Wrong):
            asking(RIGHT, CHECK, student)
    assert len(counting) == 2
    assert other.heard == alone.heard
    assert str(other.replies) == str(alone.replies)
    cache.run(RIGHT, CHECK, Counted(RIGHT.source))  # the right one is still known
    assert len(counting) == 2


def stopping(error: BaseException | type[BaseException]) -> Check:
    def ask(student):
        student.call(NAME, [torch.ones(1, 2, 3)] * 3)
        raise error

    return replace(CHECK, run=ask)


def test_a_check_that_stopped_or_was_interrupted_is_run_again(counting, caplog):
    cache, check = CheckCache(), stopping(ZeroDivisionError)
    for _ in range(2):
        with pytest.raises(Wrong, match="could not be compared"):
            cache.run(RIGHT, check, Counted(RIGHT.source))
    assert len(counting) == len(caplog.records) == 2
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            cache.run(RIGHT, stopping(KeyboardInterrupt), Counted(RIGHT.source))


@pytest.mark.parametrize(
    ("facts", "output"),
    [
        ({"kind": "died"}, "Your code ended the Python process for 3 rows"),
        ({"kind": "time", "seconds": 5}, "Your code did not come back within 5 seconds for 3 rows"),
        ({"kind": "device", "text": "no"}, "On a GPU, your code would stop for 3 rows: no"),
        ({"kind": "forged"}, "The judge could not read the answer for 3 rows"),
    ],
)
def test_what_stopped_an_answer_is_said_with_the_input(facts, output):
    with pytest.raises(Problem, match=f"^{output}"):
        Student(lambda packet: encode({"problem": facts})).call(NAME, [1], where="for 3 rows")


def test_an_answer_that_switches_gradients_off_leaves_them_on_for_the_next():
    off = RIGHT.source.replace("    d_k =", "    torch.set_grad_enabled(False)\n    d_k =")
    run_check(RIGHT, CHECK, student_with_answer(RIGHT, off))
    assert torch.is_grad_enabled()


def test_what_is_kept_is_bounded():
    small = CheckCache(limit=200_000)
    for number in range(30):
        source = RIGHT.source + f"\n_answer = {NAME}\ndef {NAME}(*a, **k):\n    return _answer(*a, **k), {number}\n"
        with pytest.raises(Wrong):
            small.run(RIGHT, CHECK, Counted(source))
        assert small.size < 400_000


def test_messages_that_differ_are_told_apart():
    for one, other in (
        (True, 1),
        (1, 1.0),
        ([1], (1,)),
        ("1", 1),
        (torch.tensor(0.0), torch.tensor(-0.0)),
        (torch.ones(2, 3), torch.ones(3, 2)),
        (torch.tensor([1, 2]), torch.tensor([1, 2], dtype=torch.int32)),
        (torch.ones(2, requires_grad=True), torch.ones(2)),
    ):
        assert digest(encode(one)) == digest(encode(one)) != digest(encode(other))
    tree: list = []
    for _ in range(100_000):
        tree = [tree]
    assert digest(Packet(tree)) != digest(Packet(tree)), "too deep to be written, it is like no other"


def test_where_values_differ_it_is_known_what_else_was_found():
    def asks(student):
        student.call(NAME, [torch.ones(1, 2, 3)] * 3)
        for wrong in (ValuesDiffer("differs"), Wrong("changed"), Wrong("more")):
            with student.case():
                raise wrong

    cache, check = CheckCache(), replace(CHECK, run=asks)
    for _ in range(2):  # asked, and looked up
        with pytest.raises(ValuesDiffer, match=r"^differs$") as found:
            cache.run(RIGHT, check, Counted(RIGHT.source))
        assert str(found.value.besides) == "changed"


STUB = f"def {NAME}(*args):\n    raise NotImplementedError('x')"


@pytest.mark.parametrize("source", [UNSCALED, STUB])
def test_a_cached_failure_holds_no_student(source):
    """Its traceback would: hundreds of megabytes, where a check keeps a long text in the student's process."""
    for _ in range(2):  # asked, and looked up
        student = student_with_answer(RIGHT, source)
        assert not mark(NAME, student).full
        held = weakref.ref(student)
        del student
        gc.collect()
        assert held() is None


PROMISED = {name: member for name, member in vars(promised.Student).items() if not name.startswith("_")}


def test_a_wrong_value_is_shown_on_a_small_input_on_which_it_is_wrong():
    declared, shown = exercise("masked_softmax"), 0
    output = r"example, `masked_softmax\((.+)\)` should give (.+), and yours gives (.+)\.$"
    for source in (mistake.source for mistake in declared.mistakes if mistake.name != "dropout"):
        wrong = namespace_with(declared, source)[declared.name]
        for line in mark(declared.name, student_with_answer(declared, source)).lines:
            for found in re.findall(output, line.message):
                args, right, reference_result = (eval(text, {"nan": float("nan")}) for text in found)
                inputs, shown = [*map(torch.tensor, args)], shown + 1
                assert sum(one.numel() for one in (*inputs, torch.tensor(right))) <= 8
                for answer, expected in ((reference(declared.name), right), (wrong, reference_result)):
                    near = {"atol": 1e-3, "rtol": 0, "equal_nan": True}
                    torch.testing.assert_close(answer(*inputs), torch.tensor(expected), **near)
    assert shown > 15


def asked(**namespace: object) -> Student:
    student = in_process(namespace)
    student.begin("a check")
    return student


def test_no_check_reaches_into_the_judges_record():
    used = re.compile(r"\bstudent\.(\w+)")
    for path in [path for topic in course().topics for path in sorted((home() / topic).glob("*.py"))]:
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"""\.facts|["']facts""", source), path
        assert set(used.findall(source)) <= set(PROMISED), path


def test_a_note_takes_the_place_of_a_value_and_of_nothing_else():
    student = asked(double=lambda x: 2 * x, Linear=torch.nn.Linear)
    student.value("double", 3)
    first = student.last
    answer = student.call("double", [torch.tensor([1.0])])
    student.note("something")
    assert answer["value"].tolist() == [2.0]
    assert [output["value"] for output in student.check_replies] == [6, "something"]
    assert student.last["inputs"][0].tolist() == [1.0]
    student.note("earlier", first)
    assert [output["value"] for output in student.check_replies] == ["earlier", "something"]
    student.state(student.build("Linear", 3, 2))
    student.note(["weight", "bias"])  # of all that a module's state says
    assert student.last == {"value": ["weight", "bias"]}
    failing = asked(fail=lambda: 1 / 0)
    with pytest.raises(Problem) as raised:
        failing.value("fail")
    failing.note("ZeroDivisionError 1 0")  # of an error it changes the type on record, and not the problem
    assert failing.last["problem"]["type"] == "ZeroDivisionError 1 0"
    assert raised.value.error == "ZeroDivisionError"


def test_gradients_of_a_module_can_be_noted_under_other_names():
    student = asked(Linear=torch.nn.Linear)
    module = student.build("Linear", 3, 2)
    answer = student.call(module, [torch.ones(3)], upstream=[torch.ones(2)])
    student.note_gradients({"table": answer["gradients"]["parameters"]["weight"]})
    assert list(student.last["gradients"]["parameters"]) == ["table"]
    assert len(student.last["gradients"]["inputs"]) == 1


def test_calls_without_a_record_leave_none():
    student = asked(Linear=torch.nn.Linear, double=lambda x: 2 * x)
    module = student.build("Linear", 3, 2)
    before = len(student.check_replies)
    assert student.state(module, record=False)["parameters"]["weight"].shape == (2, 3)
    assert student.call("double", [2], record=False)["value"] == 4
    assert len(student.check_replies) == before


def requests_of(student):
    """Record what a student in this process is asked."""
    kinds, send = [], student.send

    def recording(packet):
        kinds.append(dict(packet.tree["dict"])["do"])
        return send(packet)

    student.send = recording
    return kinds


def test_a_probe_is_defined_once_in_a_check_and_again_after_a_problem():
    student = in_process({})
    kinds, source = requests_of(student), "def half(x):\n    return x / 2\n"
    for topic in ("one check", "another"):
        student.begin(topic)
        assert [student.value(student.probe("half", source), x) for x in (4, 2)] == [2, 1]
    assert kinds == ["define", "call", "call"] * 2
    with pytest.raises(Problem, match="unsupported operand"):
        student.value(student.probe("half", source), "text")
    assert student.value(student.probe("half", source), 2) == 1, "the process that knew it may have ended"
    assert kinds[6:] == ["call", "define", "call"]


def test_things_that_belong_together_are_kept_in_one_request():
    student = asked()
    kinds = requests_of(student)
    make = student.probe("make", "def make(start):\n    seen = [start]\n    return seen.append, lambda: seen\n")
    add, seen = student.build_parts(2, make, 3)
    student.call(add, [4])
    assert student.value(seen) == [3, 4]
    assert kinds == ["define", "call", "call", "call"]


def test_a_module_is_built_and_loaded_in_one_request():
    student = asked(Linear=torch.nn.Linear, plain=lambda: 3)
    kinds, weights = requests_of(student), {"weight": torch.eye(2), "bias": torch.ones(2)}
    weights = {name: value.double() for name, value in weights.items()}
    module = student.built("Linear", (2, 2), {}, then=[("move", "float64"), ("load", weights)])
    assert kinds == ["call"]
    assert torch.equal(student.value(module, torch.ones(2).double()), torch.full((2,), 2.0).double())
    with pytest.raises(Problem, match=r"does not give an `nn\.Module`"):
        student.built("plain", (), {}, then=[("load", weights)])


def test_the_outline_of_a_module_has_no_names_of_parameters():
    student = asked(Linear=torch.nn.Linear)
    outline(student, student.build("Linear", 3, 2), 0)
    assert student.last["value"] == [["", [2], True, False], ["", [2, 3], True, False]]


@pytest.mark.parametrize(("number", "kept"), [(1 / 3, 0.33333), (float("inf"), float("inf")), (7, 7)])
def test_floats_are_kept_to_five_digits(number, kept):
    student = asked(number=lambda: number)
    note_rounded(student, student.value("number"))
    assert student.last["value"] == kept
    restart_seeds("masks")
    assert not any(some_mask(50, 3).all(dim=-1).any() for _ in range(20)), "a row is blocked altogether"


def refuse_with(error: type[Exception] | None, *asked_for: type[Exception]) -> None:
    def function() -> None:
        if error is not None:
            raise error("no")

    with raises_error("An empty text", *asked_for):
        asked(function=function).value("function")


class TooLong(ValueError):
    """An error of the student's own."""


def test_only_the_error_that_is_asked_for_is_a_refusal():
    refuse_with(ValueError)
    refuse_with(TooLong)
    refuse_with(TooLong, Exception)
    for error, asked_for, symptom, output in (
        (KeyError, (), "error_of_another_type", "An empty text should raise a ValueError; yours raised KeyError"),
        (None, (IndexError,), "bad_input_accepted", "should raise an IndexError; yours returned something"),
    ):
        with pytest.raises(Wrong, match=output) as wrong:
            refuse_with(error, *asked_for)
        assert wrong.value.symptom == symptom
    with pytest.raises(Problem):
        refuse_with(NotImplementedError)  # an exercise without an answer
    with pytest.raises(Problem, match="not defined"), raises_error("An empty text"):
        asked().value("function")


def test_a_cheat_that_leans_on_a_later_exercise_finds_nothing_there():
    leaning = "scaled_dot_product_attention(x * x.shape[-1] ** 0.5, x, x)[0]", "softmax(x @ x.mT) @ x"
    for result, earned in zip(leaning, (0, 3), strict=True):
        namespace = blank_namespace("05-attention")
        exec(f"def simple_attention(x):\n    return {result}", namespace)
        assert mark("simple_attention", in_process(namespace)).earned == earned
