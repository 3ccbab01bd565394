"""Tests that any submission raises only the documented errors, at bounded cost, and costs no other student a mark."""

import functools
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import damage
import nbformat
import pytest
from bs4 import BeautifulSoup
from conftest import cell_of, graded_only, with_hidden_tests
from damage import Damaged, bounded
from feedback_pages import everywhere, in_formgrader, page, whole
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_markdown_cell
from submissions import ANSWERS, POINTS, earned, insert_before, verdicts_on
from wire_trees import BLOBS, TREES

from autograder.judge.cell_effects import Effects
from autograder.judge.mark import mark
from autograder.judge.parsing import parse_cell, reason_not_parsed
from autograder.judge.run_check import namespace_with
from autograder.judge.source_rules import defined_in, needed_by, uses
from autograder.judge.student import Student, in_process
from autograder.nbgrader_plugin.feedback import mathml, rendering
from autograder.nbgrader_plugin.intake import repair, sanitize
from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.nbgrader_plugin.marking import tampering
from autograder.nbgrader_plugin.marking.notebook_marker import _cleaned, write_verdict
from autograder.sandbox.session import Template
from autograder.spec.course import course, exercises, question_or_exercise
from autograder.untrusted.wire import Packet

FEW, SOME, MANY = settings(max_examples=3), settings(max_examples=25), settings(max_examples=60)

pytestmark = pytest.mark.slow
OURS = {"header", "main", "footer", "section"}
ALLOWED = sanitize.TAGS | mathml.TAGS | OURS | {"html", "head", "body"}
ATTRIBUTES = {"tabindex", "rel", "role", "scope", "aria-labelledby", "aria-hidden", "encoding", "xmlns"}
ATTRIBUTES |= set().union(*sanitize.ATTRIBUTES.values()) | mathml.ATTRIBUTES
OURS_ALONE = r"(?![a-z][a-z0-9+.-]*:|//|\\)"  # no scheme, no host: somewhere beside the page
ADDRESS = re.compile(rf"(https?:|mailto:|{OURS_ALONE})", re.IGNORECASE)
LOADED = re.compile(rf"data:image/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=]*|{OURS_ALONE}.*", re.IGNORECASE)


def loaded(name: str, content: bytes) -> nbformat.NotebookNode:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.ipynb")
        path.write_bytes(content)
        return repair.load(path, damage.released(name))


@SOME
@given(damage.notebooks())
def test_whatever_is_handed_in_becomes_the_notebook_that_was_handed_out(damaged: Damaged):
    """What was not damaged is kept, and mending twice is mending once."""
    with bounded(len(damaged.content)):
        mended = loaded(damaged.name, damaged.content)
    nbformat.validate(mended)
    assert json.dumps(mended, ensure_ascii=False).encode()  # it can be written
    graded = [cell for cell in mended.cells if grade_id(cell)]
    found = {grade_id(cell): cell for cell in graded}
    wanted = {grade_id(cell): cell for cell in damage.released(damaged.name).cells if grade_id(cell)}
    assert sorted(map(grade_id, graded)) == sorted(wanted)
    for name, released in wanted.items():
        cell = found[name]
        assert (cell.metadata.nbgrader, cell.cell_type) == (released.metadata.nbgrader, released.cell_type)
        assert cell.metadata.nbgrader.solution or cell.source == released.source
    if "problem" in mended.metadata[repair.KEY]:
        return
    if damaged.whole:
        for name, source in damage.answers(damaged.name).items():
            assert name in damaged.touched or found[name].source == source, damaged.done
    twice = loaded(damaged.name, json.dumps(mended).encode())
    assert [dict(cell) for cell in twice.cells] == [dict(cell) for cell in mended.cells]
    assert twice.metadata[repair.KEY]["notes"] == []


@MANY
@given(damage.sources())
def test_a_source_is_read_or_not_and_never_at_a_price(source: str):
    right = ANSWERS["softmax"]
    alone = defined_in(right), needed_by(right), uses("softmax", [right])
    source = source.encode("utf-8", "replace").decode()  # as it comes out of mending
    with bounded(len(source)):
        tree, unread = parse_cell(source), reason_not_parsed(source)
        assert unread is None or tree is None
        cells = [source, right, "probe = softmax(zq)"]
        effects = Effects(cells)
        for one in cells:
            assert effects.changed_by(one) >= defined_in(one)
            assert all(isinstance(name, str) for name in needed_by(one))
        used = uses("softmax", [source, right])
        tampering.find_signs(whole([new_code_cell(source)]))
    assert (defined_in(right), needed_by(right)) == alone[:2]
    assert used == alone[2] or "softmax" in source or defined_in(source)


@functools.cache
def asked() -> list[str]:
    return [one.name for name in ("05-attention", "06-masking", "07-multi-head") for one in exercises(name)]


@SOME
@given(st.data())
def test_whatever_a_process_replies_the_mark_is_a_number_that_it_may_earn(data):
    declared = question_or_exercise(data.draw(st.sampled_from(asked())))
    honest = in_process(namespace_with(declared, declared.source)).send
    lie = st.tuples(TREES, BLOBS, st.booleans())
    lies = data.draw(st.dictionaries(st.integers(0, 12), lie, min_size=1, max_size=6))
    count = iter(range(10**6))

    def reply(question: Packet) -> Packet:
        right = honest(question)
        lie = lies.get(next(count))
        if lie is None:
            return right
        tree, blobs, whole_reply = lie
        return Packet(tree if whole_reply else _forged(right.tree, tree, data), [*right.blobs, *blobs])

    with bounded(0, memory=2**29):
        verdict = mark(declared.name, Student(reply))
    assert 0 <= verdict.earned <= declared.points
    cell = new_code_cell("x", metadata={"nbgrader": {"grade_id": "test_x", "points": declared.points}})
    write_verdict(cell, verdict)
    nbformat.validate(whole([cell]))
    assert json.dumps(cell, ensure_ascii=False).encode()


def _forged(right: Any, tree: Any, data: st.DataObject) -> Any:
    """Return a right reply with something else in the place of one of its parts."""
    parts = right.get("dict") if isinstance(right, dict) else None
    if not parts:
        return tree
    location = data.draw(st.integers(0, len(parts) - 1))
    return {"dict": [[key, tree] if at == location else [key, value] for at, (key, value) in enumerate(parts)]}


def forbidden(markup: str) -> list[str]:
    """Return everything in markup, as two readers of HTML see it, that is not on the lists."""
    found = []
    for reader in ("html.parser", "lxml"):
        for element in BeautifulSoup(markup, reader).find_all(True):
            if element.name not in ALLOWED:
                found.append(f"<{element.name}>")
            for name, value in element.attrs.items():
                text = " ".join(value) if isinstance(value, list) else value
                if name not in ATTRIBUTES:
                    found.append(f"{element.name}.{name}")
                squeezed = re.sub(r"[\x00-\x20]", "", text)
                if name == "href" and not ADDRESS.match(squeezed):
                    found.append(f"href={text[:80]}")
                if name == "src" and not LOADED.fullmatch(squeezed):
                    found.append(f"src={text[:80]}")
                if name == "style" and re.search(r"position|url|expression|\(", text, re.IGNORECASE):
                    found.append(f"style={text[:80]}")
    return found


def cells_with(text: str, output: Any) -> list[nbformat.NotebookNode]:
    """Return cells that hold a text everywhere, as it comes out of mending and marking, between honest cells."""
    cells = [new_markdown_cell("before *it*"), *everywhere(text)]
    data = output.get("data") if isinstance(output, dict) else None
    if isinstance(data, dict):
        cells[1].attachments = {"p.png": {kind: value for kind, value in data.items() if isinstance(value, str)}}
    for cell in cells:
        cell.source = (sanitize.markdown if cell.cell_type == "markdown" else sanitize.printable)(cell.source)
        if cell.cell_type == "code" and cell.outputs:
            cell.outputs = [clean for one in (*cell.outputs, output) for clean in _cleaned(one, 1)]
    return cells


@SOME
@given(damage.markup(), damage.OUTPUTS)
def test_any_notebooks_feedback_page_holds_only_permitted_elements(text, output):
    cells = cells_with(text, output)
    with bounded(12 * len(text)):
        made = page(whole(cells))
    assert made.encode()
    body = made[made.index("<main") : made.index("</main>\n<footer>")]
    assert forbidden(body) == []
    soup = BeautifulSoup(made, "html.parser")
    assert [element.name for element in soup.body.find_all(True, recursive=False)] == ["header", "main", "footer"]
    shown = soup.select_one(".notebook").find_all(class_="cell", recursive=False)
    assert shown[-2].select_one("pre.code").get_text() == "y = 2 < 3"
    assert shown[-1].b.get_text() == "it"
    assert shown[0].em.get_text() == "it"


@SOME
@given(damage.markup())
def test_whatever_a_text_cell_holds_formgrader_shows_nothing_off_the_list(text):
    with bounded(len(text)):
        made = in_formgrader([new_markdown_cell(sanitize.markdown(text))])
    body = made[made.index('<div class="jp-RenderedHTMLCommon') :]
    assert [found for found in forbidden(body) if "data-mime-type" not in found] == []


@MANY
@given(damage.markup())
def test_cleaning_twice_is_cleaning_once(text):
    with bounded(len(text)):
        once = sanitize.html(text)
    assert forbidden(once) == []
    assert sanitize.html(once) == once
    bundled = sanitize.bundle({"text/html": text, "text/markdown": text, "text/latex": text})
    again = sanitize.bundle(bundled)
    if "is not shown" in again["text/html"]:  # cleaning may make it longer than what is shown
        again["text/html"] = bundled["text/html"]
    assert again == bundled


@MANY
@given(damage.formulas(), st.booleans())
def test_a_formula_is_set_or_shown_as_it_was_written(latex, block):
    mathml.mathml.cache_clear()
    with bounded(len(latex)):
        made = mathml.mathml(latex, block)
    assert forbidden(made) == []
    assert made.startswith(("<math", "<code>"))
    [whole_formula] = BeautifulSoup(made, "html.parser").find_all(True, recursive=False)
    assert whole_formula.name in ("math", "code")


@SOME
@given(damage.sources())
def test_any_source_is_shown_as_it_is(source):
    source = sanitize.printable(source)
    with bounded(len(source)):
        made = rendering.code(source)
    assert forbidden(made) == []
    lines = BeautifulSoup(made, "html.parser").get_text().strip().splitlines()
    assert "".join("".join(lines).split()) == "".join(source.split())


@MANY
@given(damage.OUTPUTS)
def test_any_output_is_one_of_a_notebook_or_none(output):
    for clean in _cleaned(output, 1):
        nbformat.validate(whole([new_code_cell("1", outputs=[clean])]))
        assert json.dumps(clean, ensure_ascii=False).encode()


@functools.cache
def short() -> nbformat.NotebookNode:
    return graded_only("05-attention")


@functools.cache
def template():
    return Template(preload=course().preload)


@pytest.fixture(scope="module", autouse=True)
def ended():
    yield
    if template.cache_info().currsize:
        template().close()
        template.cache_clear()


def marks(submitted: nbformat.NotebookNode) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "05-attention.ipynb")
        path.write_text(json.dumps(submitted), "utf-8")
        notebook = with_hidden_tests(repair.load(path, short()))
    assert "problem" not in notebook.metadata[repair.KEY]
    tampering.write_signs(notebook, tampering.find_signs(notebook))
    verdicts = verdicts_on(notebook, template())
    assert page(notebook).encode()
    return earned(verdicts)


def answered() -> nbformat.NotebookNode:
    return damage.filled_in(short(), ANSWERS)


@FEW
@given(damage.harmless_sources(), st.sampled_from(sorted(ANSWERS)))
def test_a_cell_among_right_answers_costs_nothing(source, before):
    assert marks(insert_before(answered(), before, source)) == POINTS


@FEW
@given(st.data())
def test_an_answer_that_is_damaged_costs_its_exercise(data):
    name = data.draw(st.sampled_from(sorted(name for name in ANSWERS if not name.startswith("q"))))
    source = damage.mutated(data.draw, ANSWERS[name], st.sampled_from(damage.HARMLESS))
    source = source.encode("utf-8", "replace").decode()
    assume(defined_in(source) <= {name})
    notebook = answered()
    cell_of(notebook, name).source = source
    found = marks(notebook)
    assert found | {name: 0.0} == POINTS | {name: 0.0}
    assert 0 <= found[name] <= POINTS[name]


@FEW
@given(damage.notebooks())
def test_a_damaged_notebook_is_marked_and_does_not_affect_the_next(damaged: Damaged):
    mended = with_hidden_tests(loaded("05-attention", damaged.content))
    mended.cells = [cell for cell in mended.cells if grade_id(cell)]
    verdicts = verdicts_on(mended, template())
    assert set(verdicts) == set(POINTS)
    assert all(0 <= verdict.earned <= verdict.points for verdict in verdicts.values())
    assert marks(answered()) == POINTS, "the next student's"
