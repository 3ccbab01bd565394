"""Tests that a stopped training resumes with exactly the same numbers, and that a different training starts anew."""

import runpy
import signal
import threading
import types

import pytest
import torch
from torch import nn

from autograder.spec.course import home

CELL = """
import torch
from torch import nn

RATE, PRESSED = 0.05, set()

def batches(seed):
    generator = torch.Generator().manual_seed(seed)
    while True:
        yield torch.randn(8, 3, generator=generator)

def one_step(model, optimizer, x):
    loss = (nn.functional.dropout(model(x), 0.5) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()

def train(over):
    torch.manual_seed(3)
    model, losses, last, stream, generator = Model(3, 1), [], [], batches(1), torch.Generator().manual_seed(2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
    mean = torch.optim.swa_utils.AveragedModel(model)
    going = steps(over, model, optimizer, schedule, stream, generator, mean, losses)
    for step in going:
        while PRESSED and min(PRESSED) <= step:
            PRESSED.remove(min(PRESSED))
            press()
        losses.append(one_step(model, optimizer, next(stream) + torch.rand(1, generator=generator)))
        schedule.step()
        mean.update_parameters(model)
        last.append((step, going.last))
    return model, mean, losses, last
"""
RUN = "model, mean, losses, last = train(range(1, 13))"


class Notebook:
    """Cells run in names of their own, as a kernel does."""

    def __init__(self, steps):
        self.names = {"steps": steps, "press": lambda: signal.raise_signal(signal.SIGINT), "Model": nn.Linear}
        self.run(CELL)

    def run(self, source):
        exec(compile(source, "<cell>", "exec"), self.names)

    def train(self, *pressed, cell=RUN):
        self.names["PRESSED"].update(pressed)
        self.run(cell)
        return types.SimpleNamespace(**{name: self.names[name] for name in ("model", "mean", "losses", "last")})


@pytest.fixture
def notebook():
    return Notebook(runpy.run_path(str(home() / "shared_modules" / "resumable.py"))["steps"])


def state(run):
    return torch.cat([p.flatten() for part in (run.model, run.mean) for p in part.parameters()]).tolist()


def test_an_interrupted_training_stops_after_one_more_step(notebook, capsys):
    whole = notebook.train()
    assert whole.last == [(step, step == 12) for step in range(1, 13)]
    assert capsys.readouterr().out == ""
    first = notebook.train(4)
    assert first.last == [(1, False), (2, False), (3, False), (4, False), (5, True)]
    assert first.losses == whole.losses[:5], "after its end it begins anew"
    assert "Stopped after step 5 of 12" in capsys.readouterr().out


def test_a_stopped_training_resumes_to_the_same_numbers(notebook, capsys):
    whole, first = notebook.train(), notebook.train(4)
    first.model.eval()
    nn.init.zeros_(first.model.weight)  # what is done with the model meanwhile does not matter
    torch.rand(3)
    second = notebook.train(9)
    assert notebook.names["steps"].made == 5, "what one run did in its time"
    assert [step for step, _ in second.last] == [6, 7, 8, 9, 10]
    assert "Goes on after step 5, where it was stopped." in capsys.readouterr().out
    third = notebook.train()
    assert third.last == [(11, False), (12, True)]
    assert third.losses == whole.losses
    assert state(third) == state(whole)


def test_a_finished_training_begins_anew(notebook):
    notebook.train()
    assert notebook.train().last[0][0] == 1


def test_a_second_press_ends_it_at_once_and_what_was_kept_before_stays(notebook):
    whole = notebook.train()
    before = signal.getsignal(signal.SIGINT)
    notebook.train(4)
    with pytest.raises(KeyboardInterrupt):
        notebook.train(7, 7.5)  # both before the end of step 8
    assert signal.getsignal(signal.SIGINT) is before
    assert notebook.train().losses == whole.losses
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("change", "cell", "begins"),
    [
        ("RATE = 0.1", RUN, 1),
        (CELL.replace("nn.functional.dropout(model(x), 0.5)", "model(x)"), RUN, 1),
        (CELL.replace("manual_seed(3)", "manual_seed(4)"), RUN, 1),
        ("class Model(nn.Linear): pass", RUN, 1),
        ("", "# my own\n" + RUN, 1),
        (CELL, RUN, 6),
    ],
    ids=["another number", "another answer", "another start", "another class", "another cell", "all as it was"],
)
def test_another_run_begins_anew_and_the_same_goes_on(notebook, change, cell, begins):
    notebook.train(4)
    notebook.run(change)
    assert notebook.train(cell=cell).last[0][0] == begins


def test_two_trainings_in_one_cell_are_not_confused(notebook):
    both = "found = []\nfor rate in (0.05, 0.1):\n    RATE = rate\n    found.append(train(range(1, 13)))\n"
    both += "(model, mean, losses, last), second = found"
    first = notebook.train(4, cell=both)
    assert len(first.losses) == 5
    assert len(notebook.names["second"][2]) == 12
    again = notebook.train(cell=both)
    assert again.last[0][0] == 6
    assert notebook.names["second"][3][0][0] == 1


def test_what_cannot_be_brought_back_is_refused(notebook):
    with pytest.raises(TypeError, match="a dict cannot be brought back"):
        notebook.names["steps"](range(3), {})


def test_outside_of_the_main_thread_it_is_a_loop(notebook):
    thread = threading.Thread(target=notebook.train)
    thread.start()
    thread.join()
    assert len(notebook.names["losses"]) == 12
