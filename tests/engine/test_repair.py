"""Tests that each damaged submission becomes a notebook that can be marked, or a reason why not."""

import copy
import json

import nbformat
import pytest
from conftest import cell_of, read
from nbgrader.utils import determine_grade

from autograder.nbgrader_plugin.intake.repair import KEY, grade_id, load
from autograder.sample_class import filled_in
from autograder.spec.course import exercises

NAME = "05-attention"
RELEASE = read("course", NAME)
ANSWERS = {exercise.name: exercise.source for exercise in exercises(NAME)}
EXPECTED = [grade_id(cell) for cell in RELEASE.cells if grade_id(cell)]
EMPTY = b'{"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}'
WRITTEN = "The variance grows."
UNREADABLE = {  # what is said of it: what is handed in
    "empty": [b"", b"   \n"],
    "was cut off: its end is missing": [
        b'{"cells": [',
        json.dumps(RELEASE).encode()[:-40],
        b'{"cells": [{"source": "a',
    ],
    "not JSON": [b"this is my homework", b"\xff\xfe\x00 binary \x80", b"[" * 100_000],
    "no cells": [b"[1, 2]", b'{"a": 1}'],
    "None of the assignment": [EMPTY, b'{"cells": 5, "nbformat": 4}'],
    "version 97": [b'{"cells": [], "nbformat": 97}'],
    "version ?": [b'{"cells": [], "nbformat": "\\ud800"}'],
}


@pytest.fixture
def submitted(tmp_path):

    def write(content, name=f"{NAME}.ipynb"):
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(json.dumps(content), encoding="utf8")
        return load(tmp_path / f"{NAME}.ipynb", RELEASE)

    return write


@pytest.fixture
def answered():
    return filled_in(RELEASE, ANSWERS)


def sources(notebook):
    return {grade_id(cell): cell.source for cell in notebook.cells if grade_id(cell)}


def assert_whole(notebook, answers=ANSWERS):
    found = [grade_id(cell) for cell in notebook.cells if grade_id(cell)]
    assert sorted(found) == sorted(EXPECTED)
    nbformat.validate(notebook)
    text = sources(notebook)
    for name, source in answers.items():
        assert text[name] == source
    for cell in RELEASE.cells:
        if grade_id(cell) and not cell.metadata.nbgrader.solution:
            assert text[grade_id(cell)] == cell.source


@pytest.mark.parametrize("name", ["test_softmax", "softmax", "written_scaling"])
def test_a_deleted_cell_is_put_back_in_its_place(submitted, answered, name):
    answered.cells = [cell for cell in answered.cells if grade_id(cell) != name]
    repaired = submitted(answered)
    assert_whole(repaired, {k: v for k, v in ANSWERS.items() if k != name})
    assert [grade_id(c) for c in repaired.cells if grade_id(c)] == EXPECTED
    assert name in repaired.metadata[KEY]["notes"][0]["text"]


@pytest.mark.parametrize("name", ["test_softmax", "softmax", "written_scaling"])
def test_a_copied_cell_counts_once(submitted, answered, name):
    [index] = [i for i, cell in enumerate(answered.cells) if grade_id(cell) == name]
    answered.cells.insert(index + 1, copy.deepcopy(answered.cells[index]))
    mended = submitted(answered)
    assert_whole(mended)
    assert "2 times" in mended.metadata[KEY]["notes"][0]["text"]


def test_damaged_cells_are_whole_again(submitted, answered):
    [blank] = [cell for cell in RELEASE.cells if grade_id(cell) == "softmax"]
    data = json.loads(json.dumps(answered)) | {"nbformat_minor": 0}
    for cell in data["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        if name.startswith("test_"):
            cell["source"] = "4.0"
        if name in ("softmax", "test_softmax"):
            cell["cell_type"] = "markdown"
            del cell["outputs"], cell["execution_count"]
        cell.pop("id", None)
        cell["source"] = cell["source"].splitlines(keepends=True)
    data["cells"][3:3] = [7, None, [], {}, {"cell_type": "code"}, {"cell_type": "code", "source": 5}]
    data["cells"].append(blank)
    mended = submitted(data)
    assert_whole(mended)
    assert all(cell.cell_type == "code" for cell in mended.cells if grade_id(cell) in ("softmax", "test_softmax"))


def test_metadata_edited_on_purpose_are_restored(submitted, answered):
    for cell in answered.cells:
        cell.metadata["tags"] = ["skip-execution", "raises-exception"]
        if grade_id(cell):
            edited = {"points": 1000, "grade": False, "solution": True, "locked": False, "task": True}
            cell.metadata.nbgrader.update(edited, schema_version=99)
    answered.metadata["kernelspec"] = {"name": "ir", "display_name": "R", "language": "R"}
    answered.metadata[KEY] = {"problem": "give me full marks"}
    repaired = submitted(answered)
    assert_whole(repaired)
    assert repaired.metadata.kernelspec.name == "python3"
    assert "problem" not in repaired.metadata[KEY]
    assert [note["text"].split(" of ")[0] for note in repaired.metadata[KEY]["notes"]] == ["The settings", "The tags"]
    for cell in repaired.cells:
        assert "skip-execution" not in cell.metadata.get("tags", [])
        if grade_id(cell) and cell.metadata.nbgrader.grade:
            assert cell.metadata.nbgrader.points < 10


def test_a_released_cells_own_tags_are_no_claim(submitted, answered, monkeypatch):
    release = copy.deepcopy(RELEASE)
    raising = nbformat.v4.new_code_cell("1 / 0", metadata={"tags": ["raises-exception"]})
    release.cells.append(raising)
    monkeypatch.setitem(globals(), "RELEASE", release)
    answered.cells.append(copy.deepcopy(raising))
    assert submitted(answered).metadata[KEY]["notes"] == []
    answered.cells[-1].source = "2 / 0"
    assert "The tags" in submitted(answered).metadata[KEY]["notes"][0]["text"]


def test_an_exercise_of_an_earlier_release_is_told_its_new_notebook(submitted, answered):
    elsewhere = [
        cell for cell in read("course", "06-masking").cells if grade_id(cell) in ("causal_mask", "test_causal_mask")
    ]
    answered.cells[-1:-1] = copy.deepcopy(elsewhere)
    repaired = submitted(answered)
    assert_whole(repaired)
    [note] = repaired.metadata[KEY]["notes"]
    assert note["text"].startswith("“causal_mask” is now an exercise of 06-masking")
    answered.cells.remove(cell_of(answered, "test_causal_mask"))  # a part that was plugged in
    assert not submitted(answered).metadata[KEY]["notes"]


def test_an_undamaged_notebook_stays_as_it_is(submitted, answered):
    repaired = submitted(answered)
    assert_whole(repaired)
    assert repaired.metadata[KEY]["notes"] == []
    assert [cell.source for cell in repaired.cells] == [cell.source for cell in answered.cells]


def test_a_notebook_without_metadata_is_recognised(submitted, answered):
    for cell in answered.cells:
        cell.metadata.clear()  # by another tool
    assert_whole(submitted(answered))


def test_a_renamed_notebook_is_found(submitted, answered):
    answered.cells.insert(5, nbformat.v4.new_code_cell("my_experiment = 1"))
    mended = submitted(answered, name="05-attention (1).ipynb")
    assert mended.cells[5].source == "my_experiment = 1"
    assert_whole(mended)
    assert "05-attention (1).ipynb" in mended.metadata[KEY]["notes"][0]["text"]


@pytest.fixture
def essay(answered):
    """Return a notebook without metadata, and its written answer, which holds nothing of the release's text."""
    written = cell_of(answered, "written_scaling")
    written.source = WRITTEN
    for cell in answered.cells:
        cell.metadata.clear()
    return answered, answered.cells.index(written)


@pytest.mark.parametrize("texts", [[WRITTEN], ["YOUR ANSWER HERE", "", WRITTEN, "A second thought."]])
def test_a_written_answer_is_found_in_its_place(submitted, essay, texts):
    notebook, folder = essay
    notebook.cells[folder : folder + 1] = map(nbformat.v4.new_markdown_cell, texts)
    mended = submitted(notebook)
    assert cell_of(mended, "written_scaling").source == WRITTEN
    assert mended.metadata[KEY]["notes"] == []


def test_a_missing_written_answer_waits_only_if_another_text_may_be_it(submitted, essay):
    notebook, folder = essay
    written = notebook.cells.pop(folder)
    assert determine_grade(cell_of(submitted(notebook), "written_scaling")) == (0, 3)
    notebook.cells.insert(0, written)
    mended = submitted(notebook)
    assert_whole(mended)
    assert determine_grade(cell_of(mended, "written_scaling")) == (None, 3)
    assert "look for your answer" in mended.metadata[KEY]["notes"][0]["text"]


@pytest.mark.parametrize(("content", "word"), [(one, word) for word, each in UNREADABLE.items() for one in each])
def test_what_cannot_be_read_becomes_a_blank_notebook_with_the_reason(submitted, content, word):
    repaired = submitted(content)
    assert word in repaired.metadata[KEY]["problem"]
    assert json.dumps(repaired, ensure_ascii=False).encode("utf-8")  # it can be written
    assert [cell.source for cell in repaired.cells] == [cell.source for cell in RELEASE.cells]


def test_what_cannot_be_marked_is_refused_with_what_to_do(submitted, answered, tmp_path):
    path = tmp_path / f"{NAME}.ipynb"
    assert "Hand in the file 05-attention.ipynb" in load(path, RELEASE).metadata[KEY]["problem"]
    assert "None of the assignment" in submitted(read("course", "06-masking")).metadata[KEY]["problem"]
    with path.open("wb") as file:
        file.truncate(300 * 2**20)
    assert "Clear all outputs" in load(path, RELEASE).metadata[KEY]["problem"]
    path.unlink()
    (tmp_path / "a.ipynb").write_text("{}")
    assert "several" in submitted(answered, name="b.ipynb").metadata[KEY]["problem"]


@pytest.mark.parametrize(("size", "kept"), [(12, True), (9 * 2**20, False)])
def test_an_answers_picture_is_kept_unless_it_is_too_large_itself(submitted, answered, size, kept):
    picture = {"p.png": {"image/png": "A" * size}}
    cell_of(answered, "written_scaling").update(source="![](attachment:p.png)", attachments=picture)
    cell_of(answered, "softmax").outputs = [nbformat.v4.new_output("stream", text="x" * 9 * 2**20)]
    mended = submitted(answered)
    assert_whole(mended)
    assert (cell_of(mended, "written_scaling").get("attachments") == picture) == kept


@pytest.mark.parametrize("version", [4, 3])
def test_a_notebook_is_marked_without_its_large_saved_widgets(submitted, answered, version):
    data = json.loads(nbformat.writes(answered, version=version))
    data["metadata"]["widgets"] = {"state": "z" * 9 * 2**20}
    assert "problem" not in submitted(data).metadata[KEY]


@pytest.mark.slow
def test_a_notebook_of_200_megabytes_is_marked_without_its_outputs(answered, tmp_path):
    cell_of(answered, "softmax").outputs = [nbformat.v4.new_output("stream", text="PRINTED")]
    before, after = json.dumps(answered).encode().split(b"PRINTED")
    path = tmp_path / f"{NAME}.ipynb"
    with path.open("wb") as file:  # in parts, which take no memory
        file.writelines((before, *[b"x" * 1_000_000] * 210, after))
    mended = load(path, RELEASE)
    assert_whole(mended)
    assert not any(cell.get("outputs") for cell in mended.cells)
