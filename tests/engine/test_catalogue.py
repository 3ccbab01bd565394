"""Tests of the notation for wrong and right answers: it is read as documented, and errors in it are reported."""

import textwrap

import pytest

from autograder.spec.catalogue import CatalogueError, Entry, answers, entries

SCALED = '''def scaled(x, by=2):
    """x times a number."""
    if by == 0:
        raise ValueError("by is 0")
    return x * by  # same shape as x
'''
CLASS = "class Scaled(nn.Module):\n    def forward(self, x):\n        return x * 2\n"
LOOP = "def scaled(x, by=2):\n    return sum([x] * by)\n"


def read(text: str, reference: str = SCALED, **options) -> list[Entry]:
    listed = answers(textwrap.dedent(text), "scaled.answers")
    return entries(listed.wrong, reference, "scaled.answers", **options)


def versions(edits: str, reference: str = SCALED) -> list[str]:
    [entry] = read("some_mistake: A sentence.\n" + textwrap.dedent(edits).strip("\n"), reference)
    return list(entry.sources)


def changed(old: str, new: str) -> str:
    assert old in SCALED
    return SCALED.replace(old, new)


def refused(text: str, sentence: str, **options) -> None:
    with pytest.raises(CatalogueError, match=rf"^scaled.answers:\d+: .*{sentence}"):
        read(text, **options)


@pytest.mark.parametrize(
    ("head", "name", "sentence"),
    [
        ("added: It is added.", "added", "It is added."),
        ("rounded:", "rounded", ""),  # left to the common mistake of the same name
        ("added: Two things: x => y, and more.", "added", "Two things: x => y, and more."),
        ("nn.Module's own, twice-over: Said.", "nn.Module's own, twice-over", "Said."),
    ],
)
def test_an_entry_has_a_name_a_sentence_and_a_version(head, name, sentence):
    assert read(f"{head}\n- x * by => x + by") == [Entry(name, sentence, (changed("x * by", "x + by"),))]


def test_an_entry_without_a_sentence_may_begin_with_its_first_variant():
    [entry] = read("rounded (slip): - x * by => round(…)\n  by=2 => by=3\n- by == 0 => not by")
    assert entry == read("rounded (slip):\n- x * by => round(…)\n  by=2 => by=3\n- by == 0 => not by")[0]
    assert (entry.name, entry.sentence, entry.grade, len(entry.sources)) == ("rounded", "", "slip", 2)


def test_blank_lines_between_entries_do_not_change_their_order():
    found = read("\n\none: One.\n- x * by => x + by\n\n\ntwo: Two.\n\n- x * by => x - by\n\n")
    assert [(entry.name, entry.sentence) for entry in found] == [("one", "One."), ("two", "Two.")]
    assert read("") == read("\n\n") == []


PLUS, MINUS = changed("x * by", "x + by"), changed("x * by", "x - by")
BOTH = '- by=2 => by=3\n  x * by => x + by\n  "by is 0" => "no"'
NO_CHECK = '- if by == 0: =>\n  raise ValueError("by is 0") =>'
LINES = '- raise ValueError("by is 0") =>\n      if x is None:\n          return None\n      return x'

NONE = changed('raise ValueError("by is 0")', "if x is None:\n            return None\n        return x")


@pytest.mark.parametrize(
    ("edits", "found"),
    [
        ("- by => factor", [SCALED.replace("by", "factor")]),  # every occurrence
        (BOTH, [PLUS.replace("by=2", "by=3").replace('"by is 0"', '"no"')]),
        ("- x * by => x + by\n  x + by => by + x", [changed("x * by", "by + x")]),  # an edit sees what was made
        (
            "- x * by => x + by || x - by || x / by\n- by=2 => by=1",
            [PLUS, MINUS, changed("x * by", "x / by"), changed("by=2", "by=1")],
        ),
        ("- x * by => x + by || x - by\n  by=2 => by=1", [PLUS.replace("by=2", "by=1"), MINUS.replace("by=2", "by=1")]),
        ("- x * by => x ⟨+ | -⟩ by", [PLUS, MINUS]),
        ("- x * by =>\n  || x + by\n  || x - by", [PLUS, MINUS]),
        ("- x * by =>\n      x + by\n  ||\n      x - by\n- by=2 => by=1", [PLUS, MINUS, changed("by=2", "by=1")]),
        ("- x * by => (…) + 1", [changed("x * by", "(x * by) + 1")]),
        ("- return x => x += 1 ¶ …", [changed("return x", "x += 1\n    return x")]),
        (
            "- | return x || x = 1 ¶ return x",
            ["def scaled(x, by=2):\n    return x\n", "def scaled(x, by=2):\n    x = 1\n    return x\n"],
        ),
        ("- | def scaled(x): return x | 1", ["def scaled(x): return x | 1\n"]),
        (NO_CHECK, ['def scaled(x, by=2):\n    """x times a number."""\n    return x * by  # same shape as x\n']),
        (LINES, [NONE]),
        (
            "- x * by =>\n      (\n          x\n\n          + by\n      )\n  by=2 => by=1",
            [changed("x * by", "(\n        x\n    \n        + by\n    )").replace("by=2", "by=1")],
        ),
    ],
)
def test_each_version_is_the_reference_with_its_edits(edits, found):
    assert versions(edits) == found


@pytest.mark.parametrize(
    ("reference", "edits", "found"),
    [
        ('x["a=>b"] + "||"', '- "a=>b" => "c||d"', 'x["c||d"] + "||"'),  # no arrow and no bars without spaces
        ("x + 1\n    x = x + 2  # two more", "- x = x + 2 =>", "x + 1"),  # a line goes with its comment
        (
            "[1]\n    for y in x:\n        x = [1]",
            "- x = [1] =>\n      x = [1]\n      x = x + x",
            "[1]\n    x = x + x\n    for y in x:\n        x = [1]\n        x = x + x",
        ),
    ],
)
def test_edits_keep_to_the_lines_of_the_reference(reference, edits, found):
    whole = "def f(x):\n    x = {}\n    return x\n"
    assert versions(edits, whole.format(reference)) == [whole.format(found)]


@pytest.mark.parametrize(
    ("reference", "block", "found"),
    [
        (SCALED, "HELP = 1\n\n\ndef scaled(x, by=2):\n\n    return x + by\n", ""),
        (SCALED, "scaled = lambda x, by=2: x + by\n", ""),
        (CLASS, "class Scaled(nn.Module):\n    def forward(self, x):\n        return x\n", ""),
        # without the name it is the function's body
        (SCALED, "if by:\n    return x + by\n\nreturn x", "def scaled(x, by=2):\n"),
        ("@torch.no_grad()\ndef f(x):\n    return x + 1\n", "return x", "@torch.no_grad()\ndef f(x):\n"),
    ],
)
def test_a_block_is_a_whole_answer_or_the_body(reference, block, found):
    whole = found + textwrap.indent(block, "    ") + "\n" if found else block
    assert versions("- |\n" + textwrap.indent(block, "  "), reference) == [whole]


def test_a_version_may_change_a_right_answer_or_an_entry_above():
    once = "once: One time too few.\n- in loop: [x] * by => [x] * (by - 1) || [x] * (by + 1)\n"
    twice = "twice: Two times too few.\n- in once: by - 1 => by - 2\n- x * by => x * (by - 2)"
    assert [entry.sources for entry in read(once + twice, bases={"loop": LOOP})] == [
        (LOOP.replace("* by", "* (by - 1)"), LOOP.replace("* by", "* (by + 1)")),
        (LOOP.replace("* by", "* (by - 2)"), changed("x * by", "x * (by - 2)")),
    ]


def test_what_is_no_base_is_refused_by_name():
    above = "once: there is no answer 'lop' above, and no right one"
    refused("once: One.\n- in lop: x => y", above, bases={"loop": LOOP})
    refused("one: One.\n- in two: x => y\ntwo: Two.\n- x * by => x", "there is no answer 'two' above")


def test_how_grave_an_entry_is_stands_behind_its_name_and_is_no_part_of_it():
    text = "one (slip): One.\n- x * by => x\ntwo: Two.\n- by=2 => by=1\nthree (missed): 3.\n- in one: by=2 => by=3"
    found = [(entry.name, entry.grade, entry.sentence) for entry in read(text)]
    assert found == [("one", "slip", "One."), ("two", "", "Two."), ("three", "missed", "3.")]
    text = "rounded (missed):\none: One.\n- x * by => x"  # of a common mistake it may be all
    assert ([entry.name for entry in read(text)], answers(text).wrong[0].grade) == (["one"], "missed")


def test_common_mistakes_and_right_answers_stand_apart():
    heads = "# Common mistakes (list -> number) but 1, 2\n# Common mistakes but 3"
    listed = answers(f"{heads}\nfour: 4.\n- x => y\n# Right answers\n5:\n- y => x")
    assert (listed.without, listed.takes, listed.gives) == (("1", "2", "3"), "list", "number")
    assert [[draft.name for draft in part] for part in (listed.wrong, listed.right)] == [["four"], ["5"]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"added: {'It is added. ' * 12}", "163 characters, 120 at most: go on in a line below"),
        ("added: It\n" + "    is added to it\n" * 12 + "- x * by => x", "its sentence has more than 45 words"),
        ("added: It is added.", "added has no version: add a line `- old text => new text`"),
        ("one: One.\n- x * by => x\none: Again.\n- by=2 => by=1", "one stands there twice; put the versions under one"),
        ("one: One.\n- y * by => x", "'y \\* by' is not in what it edits"),
        ("one: One.\n- x * by => x * by", "a version is the reference itself"),
        (
            "one: One.\n- |\n  def scaled(x,by=2):\n      if by==0: raise ValueError('by is 0')\n      return x*by",
            "a version is the reference itself",
        ),
        ("one: One.\n- x * by => x *", "a version is not Python: "),
        ("one: One.\n- x * by -> x", "'x \\* by -> x' is no edit: write `old text => new text`"),
        ("one (grave): One.\n- x * by => x", "one: 'grave' is none of slip, misconception, missed"),
        ("no colon here\n- x * by => x", "'no colon here' is neither an entry .* nor a version"),
        ("- x * by => x", "'- x \\* by => x' stands before the first entry"),
        ("one: One.\n  x * by => x", "this is no version: begin it with `- `"),
        ("one: One.\n- x * by => x\n    by => x", "'    by => x' is indented in a way that means nothing here"),
        ("one: One.\n- by=2 => by=1\n  x * by => x || by", "`\\|\\|` stands only in the first edit of a version"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_place_and_what_to_do(text, sentence):
    refused(text, sentence)
