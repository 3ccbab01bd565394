"""Tests of the class that `autograder unknown` prints for a group of wrong answers."""

import ast
import textwrap

import pytest

from autograder.nbgrader_plugin.report.unnamed_answers import ENTRY, _literal


@pytest.mark.parametrize(
    "program",
    [
        "def f(x):\n    return x + 1",
        "def f(x):\n    return x.split('\\n')",
        'def f(x):\n    return """{x}"""',
        "def f(x):\n    return '''a'''\n\n\ndef g(x):\n    return \"\"\"b\"\"\"",
    ],
    ids=["plain", "with a backslash", "with a long string", "with both kinds of long strings"],
)
def test_a_printed_class_holds_the_program_to_the_letter(program):
    [declared] = ast.parse(ENTRY.format(code=_literal(program))).body
    code = ast.literal_eval(declared.body[-1].value)
    assert textwrap.dedent(code).strip("\n") == program
