"""Tests of `autograder mistakes --diff`: each variant is shown as a unified diff of the reference."""

from typer.testing import CliRunner

from autograder.cli import app

SQUARES = """\
-    shifted = scores - scores.amax(dim=dim, keepdim=True)  # the largest becomes 0: exp cannot overflow
-    exps = torch.exp(shifted)
+    exps = scores.abs()
"""


def shown(*options: str) -> str:
    done = CliRunner().invoke(app, ["mistakes", "softmax", *options])
    assert done.exit_code == 0, done.output
    return done.output


def changed_lines(diff: str) -> list[str]:
    return [line for line in diff.splitlines() if line.startswith(("-  ", "+  "))]


def test_a_mistake_is_shown_as_a_diff_of_each_variant():
    found = shown("--diff", "squares")
    assert found.startswith("squares (missed): Squares or absolute values")
    assert SQUARES in found
    assert [line for line in found.splitlines() if line.startswith("+++")] == [
        "+++ squares, variant 1 of 2",
        "+++ squares, variant 2 of 2",
    ]


def test_a_diff_of_a_common_mistake_shows_no_change_of_layout():
    removed, added, *_ = changed_lines(shown("--diff", "nothing_returned"))
    assert removed == "-    return exps / exps.sum(dim=dim, keepdim=True)"
    assert added == "+    exps / exps.sum(dim=dim, keepdim=True)"


def test_without_a_name_the_diffs_of_all_mistakes_are_shown():
    found = shown("--diff")
    assert "no_shift (misconception): " in found
    assert "nothing_returned (missed): " in found


def test_a_name_that_is_not_there_is_refused_with_the_closest_one():
    done = CliRunner().invoke(app, ["mistakes", "softmax", "--diff", "no_shft"])
    assert done.exit_code == 2
    assert "Did you mean no_shift?" in done.output
