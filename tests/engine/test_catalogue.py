"""Tests of declared wrong and right answers: their programs are as documented, and errors are reported."""

import importlib
import itertools
import textwrap

import pytest

from autograder.spec import catalogue
from autograder.spec.catalogue import CatalogueError

SCALED = '''def scaled(x, by=2):
    """x times a number."""
    if by == 0:
        raise ValueError("by is 0")
    return x * by  # same shape as x
'''
CLASS = "class Scaled(nn.Module):\n    def forward(self, x):\n        return x * 2\n"
HEAD = """
from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer
"""
NUMBERS = itertools.count()


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Return a function that loads a module of mistakes with these classes."""
    monkeypatch.syspath_prepend(tmp_path)

    def load(classes: str) -> catalogue.Catalogue:
        name = f"scaled_{next(NUMBERS)}_mistakes"
        (tmp_path / f"{name}.py").write_text(HEAD + textwrap.dedent(classes), "utf-8")
        importlib.invalidate_caches()
        return catalogue.load(name)

    return load


@pytest.fixture
def programs(load):
    """Return a function that makes the programs of one class, given its lines."""

    def programs(lines: str, reference: str = SCALED) -> list[str]:
        docstring = '    """A sentence."""\n\n'
        found = load("class wrong(Misconception):\n" + docstring + textwrap.indent(textwrap.dedent(lines), "    "))
        return list(found.wrong[0].programs(reference))

    return programs


def changed(old: str, new: str) -> str:
    assert old in SCALED
    return SCALED.replace(old, new)


PLUS, MINUS = changed("x * by", "x + by"), changed("x * by", "x - by")
NO_CHECK = 'def scaled(x, by=2):\n    """x times a number."""\n    return x * by  # same shape as x\n'
BLOCK = '''
edits = {
    'raise ValueError("by is 0")': """
        if x is None:
            return None
        return x
    """,
}
'''


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ('edits = {"by": "factor"}', [SCALED.replace("by", "factor")]),  # every occurrence
        ('edits = {"x * by": "x + by", "x + by": "by + x"}', [changed("x * by", "by + x")]),  # one after the other
        ('edits = {"x * by": ["x + by", "x - by"]}', [PLUS, MINUS]),
        (
            'edits = {"x * by": ["x + by", "x - by"], "by=2": "by=1"}',
            [PLUS.replace("by=2", "by=1"), MINUS.replace("by=2", "by=1")],
        ),
        ('variants = [{"x * by": ["x + by", "x - by"]}, {"by=2": "by=1"}]', [PLUS, MINUS, changed("by=2", "by=1")]),
        ('edits = {"return x": "x += 1\\nreturn x"}', [changed("return x", "x += 1\n    return x")]),
        ("edits = {'if by == 0:': '', 'raise ValueError(\"by is 0\")': ''}", [NO_CHECK]),
        (
            BLOCK,
            [changed('raise ValueError("by is 0")', "if x is None:\n            return None\n        return x")],
        ),
        ('code = "return x"', ["def scaled(x, by=2):\n    return x\n"]),
        ('code = """\n    x = 1\n    return x\n"""', ["def scaled(x, by=2):\n    x = 1\n    return x\n"]),
        ('variants = ["return x", {"x * by": "x + by"}]', ["def scaled(x, by=2):\n    return x\n", PLUS]),
    ],
)
def test_each_variant_is_the_reference_with_its_edits(programs, lines, found):
    assert programs(lines) == found


@pytest.mark.parametrize(
    ("reference", "edits", "found"),
    [
        ("x + 1\n    x = x + 2  # two more", {"x = x + 2": ""}, "x + 1"),  # a line goes with its comment
        (
            "[1]\n    for y in x:\n        x = [1]",
            {"x = [1]": "x = [1]\nx = x + x"},
            "[1]\n    x = x + x\n    for y in x:\n        x = [1]\n        x = x + x",
        ),
    ],
)
def test_edits_keep_to_the_lines_of_the_reference(programs, reference, edits, found):
    whole = "def f(x):\n    x = {}\n    return x\n"
    assert programs(f"edits = {edits!r}", whole.format(reference)) == [whole.format(found)]


@pytest.mark.parametrize(
    ("reference", "code", "head"),
    [
        (SCALED, "HELP = 1\n\n\ndef scaled(x, by=2):\n\n    return x + by", ""),
        (SCALED, "scaled = lambda x, by=2: x + by", ""),
        (CLASS, "class Scaled(nn.Module):\n    def forward(self, x):\n        return x", ""),
        (SCALED, "if by:\n    return x + by\n\nreturn x", "def scaled(x, by=2):\n"),
        ("@torch.no_grad()\ndef f(x):\n    return x + 1\n", "return x", "@torch.no_grad()\ndef f(x):\n"),
    ],
)
def test_code_is_a_whole_program_if_it_defines_the_name_else_the_body(programs, reference, code, head):
    whole = head + textwrap.indent(code, "    " if head else "") + "\n"
    assert programs(f"code = {code!r}", reference) == [whole]


BASED = '''
class loop(RightAnswer):
    code = "return sum([x] * by)"

class once(Misconception):
    """One time too few."""

    based_on = loop
    edits = {"[x] * by": ["[x] * (by - 1)", "[x] * (by + 1)"]}

class twice(Misconception):
    """Two times too few."""

    variants = [once.edited({"by - 1": "by - 2"}), {"x * by": "x * (by - 2)"}]
'''


def test_edits_may_change_the_first_variant_of_another_class(load):
    loop = "def scaled(x, by=2):\n    return sum([x] * {})\n"
    once, twice = (one.programs(SCALED) for one in load(BASED).wrong)
    assert once == (loop.format("(by - 1)"), loop.format("(by + 1)"))
    assert twice == (loop.format("(by - 2)"), changed("x * by", "x * (by - 2)"))


def test_wrong_and_right_answers_keep_their_order(load):
    found = load(BASED)
    assert [one.name for one in found.wrong] == ["once", "twice"]
    assert [one.name for one in found.right] == ["loop"]


NAMED = '''
class and_(Minor):
    """It is
    added.
    """

    edits = {"x * by": "x + by"}

class rounded(common_mistakes.rounded):
    edits = {"x * by": "round(x * by)"}

class squeezed(Fundamental, common_mistakes.squeezed):
    pass
'''


def test_name_sentence_and_severity_are_the_class_name_docstring_and_base(load):
    added, rounded, squeezed = load(NAMED).wrong
    assert (added.name, added.sentence, added.severity) == ("and", "It is added.", "slip")
    assert (rounded.sentence, rounded.severity) == ("The result is rounded: give it with all its digits.", "slip")
    assert squeezed.sentence.startswith("Dimensions of size 1")
    assert (squeezed.severity, squeezed.programs(SCALED)) == ("missed", ())


ONE = 'class one(Misconception):\n    """One."""\n\n'


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (ONE + '    edits = {"y * by": "x"}', r"scaled_\d+_mistakes.py:\d+: one: 'y \* by' is not in what it edits"),
        (ONE + '    edits = {"x * by": "x * by"}', "one: variant 1 is the reference itself"),
        (ONE + "    code = \"if by==0: raise ValueError('by is 0')\\nreturn x*by\"", "one: variant 1 is the reference"),
        (ONE + '    edits = {"x * by": ["x", "x *"]}', "one: variant 2 is not Python: "),
        (ONE + "    code = 'return x'\n\n" + ONE, r"mistakes.py:\d+: one is declared twice: put the variants into one"),
        ("class one(Minor):\n    code = 'return x'", "one has no sentence: write it as the docstring"),
        (ONE.replace("One.", "One. " * 46) + "    code = 'return x'", "its sentence has more than 45 words"),
        (ONE + "    pass", "one: describe it by one of `edits`, `code` and `variants`"),
        (ONE + "    code = 'return x'\n    edits = {'x': 'y'}", "one: describe it by one of"),
        ("class right(RightAnswer):\n    pass", "right: describe it by one of"),
        ("class one(Misconception:", r"mistakes cannot be imported: .*\(scaled_\d+_mistakes.py, line \d"),
    ],
)
def test_what_cannot_be_made_into_programs_is_refused_with_its_place(load, classes, message):
    with pytest.raises(CatalogueError, match=message):
        [one.programs(SCALED) for one in load(classes).wrong]


def test_a_missing_module_is_refused_by_its_name():
    with pytest.raises(CatalogueError, match="no_such_mistakes cannot be imported"):
        catalogue.load("no_such_mistakes")
