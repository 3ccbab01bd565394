"""Tests of the notation for wrong and right answers: it is read as documented, and errors in it are reported."""

from __future__ import annotations

import textwrap

import pytest

from autograder.spec import catalogue
from autograder.spec.catalogue import CatalogueError, Entry, entries

SCALED = '''def scaled(x, by=2):
    """x times a number."""
    if by == 0:
        raise ValueError("by is 0")
    return x * by  # same shape as x
'''
CLASS = "class Scaled(nn.Module):\n    def forward(self, x):\n        return x * 2\n"


def read(text: str, reference: str = SCALED, **options) -> list[Entry]:
    return entries(textwrap.dedent(text), reference, "scaled, wrong", **options)


def versions(edits: str, reference: str = SCALED) -> list[str]:
    [entry] = read("some_mistake: A sentence.\n" + textwrap.dedent(edits).strip("\n"), reference)
    return list(entry.sources)


def changed(old: str, new: str, reference: str = SCALED) -> str:
    assert old in reference
    return reference.replace(old, new)


# --- names and sentences ----------------------------------------------------------------------------------------------


def test_an_entry_has_a_name_a_sentence_and_a_version():
    assert read("added: It is added, not multiplied.\n- x * by => x + by") == [
        Entry("added", "It is added, not multiplied.", (changed("x * by", "x + by"),))
    ]


def test_entries_keep_their_order_and_blank_lines_between_them_mean_nothing():
    found = read("\n\none: One.\n- x * by => x + by\n\n\ntwo: Two.\n\n- x * by => x - by\n\n")
    assert [(entry.name, entry.sentence) for entry in found] == [("one", "One."), ("two", "Two.")]


def test_further_lines_of_a_sentence_are_indented_by_four():
    [entry] = read("added: It is added,\n    not multiplied:\n    so 0 changes nothing.\n- x * by => x + by")
    assert entry.sentence == "It is added, not multiplied: so 0 changes nothing."


def test_a_sentence_may_be_left_to_the_slip_of_the_same_name():
    [entry] = read("rounded:\n- x * by => (x * by).round()")
    assert entry.sentence == ""


def test_a_sentence_may_hold_colons_and_arrows():
    [entry] = read("added: Two things: x => y, and more.\n- x * by => x + by")
    assert entry.sentence == "Two things: x => y, and more."


def test_a_name_may_be_words():
    [entry] = read("nn.Module's own, twice-over: Said.\n- x * by => x + by")
    assert entry.name == "nn.Module's own, twice-over"


def test_an_empty_catalogue_has_no_entries():
    assert read("") == read("\n\n") == []


# --- edits ------------------------------------------------------------------------------------------------------------


def test_an_edit_replaces_every_occurrence():
    assert versions("- by => factor") == [SCALED.replace("by", "factor")]


def test_edits_below_each_other_make_one_version():
    edits = """
    - by=2 => by=3
      x * by => x + by
      "by is 0" => "no"
    """
    assert versions(edits) == [SCALED.replace("by=2", "by=3").replace("x * by", "x + by").replace('"by is 0"', '"no"')]


def test_an_edit_sees_what_the_edits_before_it_made():
    assert versions("- x * by => x + by\n  x + by => by + x") == [changed("x * by", "by + x")]


def test_each_dash_is_a_version_of_its_own():
    assert versions("- x * by => x + by\n- x * by => x - by") == [
        changed("x * by", "x + by"),
        changed("x * by", "x - by"),
    ]


def test_two_bars_part_versions():
    found = versions("- x * by => x + by || x - by || x / by\n- by=2 => by=1")
    assert found == [*(changed("x * by", f"x {sign} by") for sign in "+-/"), changed("by=2", "by=1")]


def test_edits_after_two_bars_belong_to_the_last_of_the_versions():
    assert versions("- x * by => x + by || x - by\n  by=2 => by=1") == [
        changed("x * by", "x + by"),
        changed("x * by", "x - by").replace("by=2", "by=1"),
    ]


def test_text_may_hold_an_arrow_without_spaces_and_bars_without_spaces():
    reference = 'def f(x):\n    return x["a=>b"] + "||"\n'
    assert versions('- "a=>b" => "c||d"', reference) == ['def f(x):\n    return x["c||d"] + "||"\n']


def test_nothing_behind_the_arrow_takes_the_text_away():
    assert versions("- , by=2 =>\n  == 0 => == 1") == [SCALED.replace(", by=2", "").replace("== 0", "== 1")]


def test_a_line_that_held_nothing_else_goes_altogether():
    [found] = versions("""
    - if by == 0: =>
      raise ValueError("by is 0") =>
    """)
    assert found == 'def scaled(x, by=2):\n    """x times a number."""\n    return x * by  # same shape as x\n'


def test_a_line_goes_with_the_comment_behind_it():
    reference = "def f(x):\n    x = x + 1  # one more\n    return x\n"
    assert versions("- x = x + 1 =>", reference) == ["def f(x):\n    return x\n"]


def test_lines_in_the_place_of_a_text_are_indented_as_its_line():
    [found] = versions("""
    - raise ValueError("by is 0") =>
          if x is None:
              return None
          return x
    """)
    assert found == changed(
        '        raise ValueError("by is 0")\n',
        "        if x is None:\n            return None\n        return x\n",
    )


def test_lines_are_indented_rightly_wherever_the_text_stands():
    reference = "def f(x):\n    x = [1]\n    for y in x:\n        x = [1]\n    return x\n"
    [found] = versions("- x = [1] =>\n      x = [1]\n      x = x + x", reference)
    assert found == (
        "def f(x):\n    x = [1]\n    x = x + x\n    for y in x:\n        x = [1]\n        x = x + x\n    return x\n"
    )


def test_lines_may_be_blank_and_a_further_edit_may_follow_them():
    [found] = versions("- x * by =>\n      (\n          x\n\n          + by\n      )\n  by=2 => by=1")
    assert found == changed("x * by", "(\n        x\n    \n        + by\n    )").replace("by=2", "by=1")


# --- whole answers ----------------------------------------------------------------------------------------------------


def test_a_block_is_a_whole_answer_with_its_blank_lines():
    [found] = versions("""
    - |
      HELP = 1


      def scaled(x, by=2):

          return x + by
    """)
    assert found == "HELP = 1\n\n\ndef scaled(x, by=2):\n\n    return x + by\n"


def test_a_name_that_is_bound_is_a_whole_answer_too():
    assert versions("- |\n  scaled = lambda x, by=2: x + by") == ["scaled = lambda x, by=2: x + by\n"]


def test_a_block_without_the_name_is_the_functions_body():
    [found] = versions("- |\n  if by:\n      return x + by\n\n  return x")
    assert found == "def scaled(x, by=2):\n    if by:\n        return x + by\n\n    return x\n"


def test_a_decorator_stays_above_a_body():
    [found] = versions("- |\n  return x", "@torch.no_grad()\ndef f(x):\n    return x + 1\n")
    assert found == "@torch.no_grad()\ndef f(x):\n    return x\n"


def test_a_class_may_be_a_block():
    [found] = versions("- |\n  class Scaled(nn.Module):\n      def forward(self, x):\n          return x", CLASS)
    assert found == "class Scaled(nn.Module):\n    def forward(self, x):\n        return x\n"


def test_a_block_ends_with_the_next_version_or_entry():
    found = read("one: One.\n- |\n  return x + by\n- |\n  return x - by\ntwo: Two.\n- x * by => x")
    assert [len(entry.sources) for entry in found] == [2, 1]
    assert "return x + by\n" in found[0].sources[0]
    assert "return x - by\n" in found[0].sources[1]


# --- other answers as a base ------------------------------------------------------------------------------------------


def test_a_version_may_change_a_right_answer_or_an_entry_above():
    loop = "def scaled(x, by=2):\n    return sum([x] * by)\n"
    found = read(
        """
        once: One time too few.
        - in loop
          [x] * by => [x] * (by - 1)
        twice: Two times too few.
        - in once
          by - 1 => by - 2
        - x * by => x * (by - 2)
        """,
        bases={"loop": loop},
    )
    assert [entry.sources for entry in found] == [
        ("def scaled(x, by=2):\n    return sum([x] * (by - 1))\n",),
        ("def scaled(x, by=2):\n    return sum([x] * (by - 2))\n", changed("x * by", "x * (by - 2)")),
    ]


def test_two_bars_part_versions_of_the_answer_that_is_changed():
    loop = "def scaled(x, by=2):\n    return sum([x] * by)\n"
    [entry] = read("off: Off by one.\n- in loop\n  * by => * (by - 1) || * (by + 1)", bases={"loop": loop})
    assert entry.sources == (loop.replace("* by", "* (by - 1)"), loop.replace("* by", "* (by + 1)"))


def test_a_right_answer_that_is_not_changed_is_no_mistake():
    with pytest.raises(CatalogueError, match="a version is the reference itself"):
        read("one: One.\n- in loop", bases={"loop": "def scaled(x, by=2):\n    return sum([x] * by)\n"})


def test_an_unknown_base_is_refused_by_name():
    with pytest.raises(CatalogueError, match=r"scaled, wrong: once: there is no answer 'lop' above, and no right one"):
        read("once: One.\n- in lop\n  x => y", bases={"loop": SCALED})


def test_an_entry_below_is_no_base():
    with pytest.raises(CatalogueError, match="there is no answer 'two' above"):
        read("one: One.\n- in two\n  x => y\ntwo: Two.\n- x * by => x")


# --- how grave it is --------------------------------------------------------------------------------------------------


def test_how_grave_an_entry_is_stands_behind_its_name_and_is_no_part_of_it():
    text = (
        "one (slip): One.\n- x * by => x\ntwo: Two.\n- by=2 => by=1\nthree (missed): Three.\n- in one\n  by=2 => by=3"
    )
    assert [entry.name for entry in read(text)] == ["one", "two", "three"]
    assert catalogue.sentences(text) == {"one": "One.", "two": "Two.", "three": "Three."}
    assert catalogue.grades(text) == {"one": "slip", "three": "missed"}


def test_of_a_slip_that_is_made_from_the_reference_an_entry_may_say_nothing_else():
    text = "rounded (missed):\none: One.\n- x * by => x"
    assert [entry.name for entry in read(text)] == ["one"]
    assert catalogue.grades(text) == {"rounded": "missed"}


# --- what cannot be read ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("added: It is added.", "added has no version: add a line `- old text => new text`"),
        ("one: One.\n- x * by => x\none: Again.\n- by=2 => by=1", "one stands there twice; put the versions under one"),
        ("one: One.\n- y * by => x", "'y \\* by' is not in the reference, so the edit would change nothing"),
        ("one: One.\n- x * by => x * by", "a version is the reference itself"),
        ("one: One.\n- times a number => times two", "a version is the reference itself"),
        ("one: One.\n- # same shape as x => # shape", "a version is the reference itself"),
        (
            "one: One.\n- |\n  if by == 0:\n      raise ValueError('by is 0')\n  return x * by",
            "is the reference itself",
        ),
        ("one: One.\n- x * by => x *", "a version is not Python: "),
        ("one: One.\n- |\n  return (", "a version is not Python: "),
        ("one: One.\n- x * by -> x", "'x \\* by -> x' is no edit: write `old text => new text`"),
        ("one (grave): One.\n- x * by => x", "one: 'grave' is none of slip, misconception, missed"),
        ("one (slip): One.", "one has no version: add a line `- old text => new text`"),
        ("no colon here\n- x * by => x", "'no colon here' is neither an entry .* nor a version"),
        ("strange=name: One.\n- x * by => x", "'strange=name: One.' is neither an entry .* nor a version"),
        ("- x * by => x", "'- x \\* by => x' stands before the first entry"),
        ("    deep\none: One.\n- x * by => x", "stands before the first entry"),
        ("one: One.\n  x * by => x", "'  x \\* by => x' is no version: begin it with `- `"),
        ("one: One.\n- x * by => x\n    by => x", "'    by => x' is indented in a way that means nothing here"),
        ("one: One.\n-x * by => x", "'-x \\* by => x' is indented in a way that means nothing here"),
        ("one: One.\n x * by => x", "is indented in a way that means nothing here"),
        ("one: One.\n- by=2 => by=1\n  x * by => x || by", "`\\|\\|` stands only in the first edit of a version"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_place_and_what_to_do(text, sentence):
    with pytest.raises(CatalogueError, match=rf"^scaled, wrong: .*{sentence}"):
        read(text)


def test_a_mistake_that_equals_the_reference_but_for_docstring_and_layout_is_none():
    bare = "- |\n  def scaled(x,by=2):\n      if by==0: raise ValueError('by is 0')\n      return x*by"
    with pytest.raises(CatalogueError, match="a version is the reference itself"):
        versions(bare)
