"""Tests of authors' runs of notebooks: they wait for a kernel's reply, and say which solution falls short."""

import asyncio
from queue import Empty

import nbformat
import pytest

from autograder.authoring import code_cells, environment, looking_again, run
from autograder.spec.course import package


class Asleep:
    """A channel whose reply comes after some looks, and that wakes nobody: whoever waits, waits until the end."""

    def __init__(self, looks):
        self.left = looks
        self.waited = []

    async def get(self, timeout=None):
        self.waited.append(timeout)
        self.left -= 1
        if self.left > 0:
            await asyncio.sleep(timeout)
            raise Empty
        return "done"


def test_a_reply_whose_signal_is_lost_is_found_by_looking_again():
    for timeout in (600, None):
        channel = Asleep(looks=4)
        assert asyncio.run(looking_again(channel.get, every=0.01)(timeout=timeout)) == "done"
        assert channel.waited == [0.01] * 4


def test_who_does_not_reply_in_time_is_not_waited_for_any_longer():
    channel = Asleep(looks=1000)
    with pytest.raises(Empty):
        asyncio.run(looking_again(channel.get, every=0.01)(timeout=0.055))
    assert 0 < sum(channel.waited) <= 0.055 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("last", "output"),
    [("2", None), ("1.5", "test_answer: 1.5 of 2 points"), ("missing", "NameError: name 'missing' is not defined")],
)
def test_a_solution_that_stops_or_earns_less_is_named(tmp_path, last, output):
    cell = nbformat.v4.new_code_cell(f"check = lambda name: {last}\ncheck('answer')")
    cell.metadata.nbgrader = {"grade": True, "solution": False, "grade_id": "test_answer", "points": 2}
    path = tmp_path / "a.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    if output is None:
        ran: list[str] = []
        assert run(path, lambda: ran.append("a cell")) > 0
        assert len(ran) == code_cells(path) == 1
        return
    with pytest.raises(ValueError, match=output):
        run(path)


def test_solutions_run_with_the_variables_that_their_course_names(monkeypatch):
    monkeypatch.setattr(package(), "ENVIRONMENT", {"SMALL_MODEL": "1"})
    assert environment() == {"TQDM_DISABLE": "1", "SMALL_MODEL": "1"}
    monkeypatch.delattr(package(), "ENVIRONMENT")
    assert environment() == {"TQDM_DISABLE": "1"}
