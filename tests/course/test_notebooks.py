"""Tests that every notebook is complete, readable, accessible, and uses the contract's names."""

import ast
import base64
import functools
import importlib
import io
import itertools
import operator
import re
import sys

import nbformat
import PIL.Image
import pytest
from conftest import ROOT, read

from autograder.authoring import tidied
from autograder.cell_counts import CLAIM
from autograder.judge.cell_effects import defined_in, needed_by
from autograder.judge.run_check import namespace_with
from autograder.nbgrader_plugin.hidden_tests import CHECK, HIDDEN, exercise_of
from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.spec.course import (
    exercises,
    in_notebook,
    is_optional,
    question_or_exercise,
    questions,
    without_markers,
)
from autograder.workload import RUNNING

# What was promised to be there, by the notebook's number. More may be: what is added need not be added here.
CONTRACT = """
01 count_bigrams bigram_probs sequence_log_prob cross_entropy perplexity generate_bigram q1_1 q1_2 q1_3
01 written_chain_rule
02 build_vocab encode decode split_words count_pairs merge_pair train_bpe bpe_encode train_tokenizer fertility
02 q2_1 q2_2 q2_3
03 one_hot_lookup Embedding embedding_cost cosine_similarity nearest_neighbours analogy skipgram_pairs sgns_loss
03 q3_1 q3_2 q3_3
04 sinusoidal_encoding LearnedPositionalEmbedding shift_matrix q4_1 q4_2
05 softmax simple_attention scaled_dot_product_attention SelfAttention q5_1 q5_2 q5_4 q5_5 q5_6 written_scaling
06 causal_mask padding_mask attention_mask masked_softmax shift_targets sees_the_future q6_1 q6_2 q6_3 written_no_mask
07 split_heads merge_heads MultiHeadAttention copy_from_torch attention_parameters q7_1 q7_2 q7_3 written_heads
08 LayerNorm FeedForward TransformerBlock block_parameters q8_1 q8_2 q8_3 written_residual
09 count_parameters GPT get_batch learning_rate train_step next_token_distribution generate q9_1 q9_2 q9_3
09 written_no_positions
10 describe_model top_next_tokens text_perplexity load_gpt2_weights attention_maps save_as_gpt2
10 q10_1 q10_2 q10_3 q10_5 q10_6
11 noam_rate label_smoothed_loss DecoderBlock greedy_decode beam_search bleu q11_1 q11_2 q11_3 q11_4 q11_5
12 diagnose q12_1 q12_2 q12_3 q12_4
"""


def cells(notebook, kind=None):
    return [cell for cell in notebook.cells if kind is None or cell.cell_type == kind]


def by_grade_id(notebook):
    return {grade_id(cell): cell for cell in notebook.cells if grade_id(cell)}


def answered(cell):
    return cell.metadata.nbgrader.grade and cell.metadata.nbgrader.solution


def figures(notebook):
    """Yield the cell's name, what is said about it, and its pixels, for each figure."""
    for cell in cells(notebook, "code"):
        for output in cell.outputs:
            if "image/png" in output.get("data", {}):
                yield cell.id, output.metadata["image/png"], output.data["image/png"]


def written(notebook):
    """Return the names of the questions that are answered in prose, and marked by hand."""
    return {name for name, cell in by_grade_id(notebook).items() if cell.cell_type == "markdown" and answered(cell)}


def test_the_notebook_is_valid_and_tidy(solution):
    name = solution.metadata.pop("name")
    nbformat.validate(solution)
    assert tidied(nbformat.from_dict(solution)) == solution
    solution.metadata["name"] = name
    ids = [cell.id for cell in solution.cells]
    assert len(set(ids)) == len(ids)


def test_every_cell_of_the_contract_is_there(solution):
    number = solution.metadata.name[:2]
    promised = {name for line in CONTRACT.split("\n") if line[:2] == number for name in line.split()[1:]}
    if is_optional(solution.metadata.name):
        promised = set()  # all of the contract is in the notebooks that everybody works
    assert promised <= {one.name for one in in_notebook(solution.metadata.name)} | written(solution)


def test_every_declared_answer_has_a_solution_cell_and_a_test_cell(solution):
    found = by_grade_id(solution)
    declared = [one.name for one in in_notebook(solution.metadata.name)]
    for name in declared:
        assert found[name].metadata.nbgrader.solution
        assert found[name].cell_type == "code"
        test = found[f"test_{name}"]
        assert test.metadata.nbgrader.points == question_or_exercise(name).points
        assert exercise_of(test) == name
    answers = {name for name, cell in found.items() if cell.cell_type == "code" and cell.metadata.nbgrader.solution}
    tests = {name for name in found if name.startswith("test_")}
    assert answers == set(declared), "an answer without a room or a question, or one of them without a cell"
    assert tests == {f"test_{name}" for name in declared}


def test_a_solution_cell_is_the_reference_to_the_letter(solution):
    found = by_grade_id(solution)
    for exercise in exercises(solution.metadata.name):
        assert without_markers(found[exercise.name].source) == exercise.source
    for question in questions(solution.metadata.name):
        assert without_markers(found[question.name].source) == f'{question.name} = "{question.key}"\n'


def test_a_test_cell_has_visible_tests_with_messages_and_one_hidden_line(solution):
    for name, cell in by_grade_id(solution).items():
        if name.startswith("test_"):
            asserts = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Assert)]
            assert asserts
            assert all(node.msg is not None for node in asserts), name
            hidden = re.search(r"### BEGIN HIDDEN TESTS\n(.*)\n### END HIDDEN TESTS", cell.source, re.DOTALL)[1]
            code = [line for line in hidden.splitlines() if line.strip()]
            assert code == ["from autograder import check", CHECK.search(hidden).group(0)]


def test_questions_are_numbered_in_order_and_show_their_options(solution):
    name = solution.metadata.name
    asked, found, above = {question.name: question for question in questions(name)}, [], ""
    for cell in solution.cells:
        if cell.cell_type == "markdown":
            above = cell.source
        elif question := asked.get(grade_id(cell)):
            found.append((re.findall(r"^### Question (\S+)", above, re.MULTILINE), question.name))
            assert re.findall(r"^- \*\*([A-Z])\*\*", above, re.MULTILINE) == sorted(question.explanations)
    number = f"{int(name[:2])}{'f' if is_optional(name) else ''}"
    assert found == [([f"{number}.{i}"], f"q{number}_{i}") for i in range(1, len(asked) + 1)]


def test_claims_are_released_to_nobody_and_no_cell_needs_what_they_define(solution):
    known, claimed = set(), set()
    for cell in cells(solution, "code"):
        defined = defined_in(cell.source)
        if CLAIM in cell.metadata.get("tags", []):
            claimed |= defined
        else:
            assert not (needed_by(cell.source) & claimed) - known - defined, cell.id
            known |= defined
    released = read("course", solution.metadata.name)
    assert not [cell.id for cell in released.cells if CLAIM in cell.metadata.get("tags", [])]


def test_outputs_and_the_running_time_are_kept_and_none_is_an_error(solution):
    code = cells(solution, "code")
    assert all(cell.execution_count for cell in code)
    outputs = [output for cell in code for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]
    assert solution.metadata[RUNNING] > 0, (
        "what its cells took is kept with their outputs: run `autograder run-solutions`"
    )


def shows(source):
    """Return True if a cell prints at its top level, or ends in a value other than a call's."""
    body = ast.parse(source).body
    values = [statement.value for statement in body if isinstance(statement, ast.Expr)]
    calls = [value for value in values if isinstance(value, ast.Call)]
    ends = body and isinstance(body[-1], ast.Expr) and body[-1].value not in calls
    return ends or any(isinstance(call.func, ast.Name) and call.func.id == "print" for call in calls)


def test_every_cell_that_shows_something_has_stored_outputs(solution):
    """Without them nbval runs the cell and compares nothing."""
    shown = [cell for cell in cells(solution, "code") if shows(cell.source)]
    assert shown
    assert not [cell.id for cell in shown if not cell.outputs]


def test_every_figure_has_words_and_is_shown_with_half_its_pixels(solution):
    """On a screen with two pixels for each of these, all are seen. A palette keeps most files as small as they were."""
    modes = []
    for name, about, data in figures(solution):
        assert len(about["alt"]) > 40, name
        pixels = PIL.Image.open(io.BytesIO(base64.b64decode(data)))
        assert (2 * about["width"], 2 * about["height"]) == pixels.size, name
        modes.append(pixels.mode)
    assert len(modes) >= 4
    assert modes.count("P") > len(modes) / 2
    for cell in cells(solution, "markdown"):
        assert not re.search(r"!\[\]\(|<img(?![^>]*\balt=)", cell.source)


def test_headings_go_down_one_step_at_a_time(solution):
    levels = [
        len(line.split(" ")[0])
        for cell in cells(solution, "markdown")
        for line in cell.source.splitlines()
        if re.match(r"#{1,6} ", line)
    ]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_the_opening_and_closing_say_what_they_must(solution):
    text = [cell.source.lower() for cell in cells(solution, "markdown")]
    assert "you will be able to" in text[0]
    for heading in ("summary", "further reading"):
        assert heading in "\n".join(text[-4:])


def test_the_glossary_names_what_its_sections_say(solution):
    """Each term, but for its ending, stands in one of the sections that its row names."""
    sections, rows, now = {}, [], None
    for cell in cells(solution, "markdown"):
        for part in re.split(r"(?m)^(?=## )", cell.source):
            if heading := re.match(r"## (?:(\d+)\.|Summary)", part):
                now = heading[1]
            sections[now] = sections.get(now, "") + part.lower()
        if "## Glossary" in cell.source:
            table = re.split(r"\n## ", cell.source.split("## Glossary")[1])[0]
            rows = [[field.strip() for field in row.split("|")[1:-1]] for row in re.findall(r"(?m)^\|.*\|$", table)]
    assert rows[0] == ["term", "meaning", "section"]
    assert len(rows) > 10
    for term, _, where in rows[2:]:
        text = " ".join(sections[number] for number in where.split(", "))
        for name in re.findall(r"[^,(); ][^,();]*", term.lower().replace("`", "")):
            stems = [word[: min(7, max(4, len(word) - 3))] for word in name.split()]
            assert all(stem in text for stem in stems), f"{name}: not in section {where}"


def test_cells_are_short(solution):
    for cell in cells(solution, "code"):
        name = grade_id(cell) or ""  # one class, GPT, is the whole model
        limit = 65 if name == "GPT" else 60 if name.startswith(("test_", "setup")) else 45
        assert len(cell.source.splitlines()) <= limit, cell.id


def test_an_answer_that_is_no_function_is_used_in_03_too(monkeypatch, capsys):
    monkeypatch.chdir(ROOT / "course" / "03-embeddings")
    monkeypatch.syspath_prepend(ROOT / "course" / "03-embeddings")
    for name in [name for name in sys.modules if name.endswith("_tools")]:
        monkeypatch.delitem(sys.modules, name)  # another notebook's
    yours, half = importlib.import_module("embeddings_tools").yours, functools.partial(operator.mul, 0.5)
    assert yours(half, None, lambda own: [own(3)], [1.5]) is half
    assert capsys.readouterr().out == "Your answer: yours is used\n"


@pytest.mark.slow
def test_visible_tests_accept_right_answers_and_catch_most_mistakes(solution):
    """What is shown may not be stricter than what is marked, and common mistakes should not wait for hidden checks."""
    found = by_grade_id(solution)
    for exercise in exercises(solution.metadata.name):
        test = HIDDEN.sub("", found[f"test_{exercise.name}"].source)
        for source in (exercise.source, *(other.source for other in exercise.alternatives)):
            exec(test, namespace_with(exercise, source))
        caught = 0
        for mistake in exercise.mistakes:
            try:
                exec(test, namespace_with(exercise, mistake.source))
            except Exception:
                caught += 1
        assert caught >= 0.6 * len(exercise.mistakes), f"{exercise.name}: {caught} of {len(exercise.mistakes)}"
