"""Tests of signs of tampering: names are resolved to what they stand for, and nothing honest has a sign."""

import pytest
from conftest import NOTEBOOKS, read
from nbformat.v4 import new_code_cell, new_notebook

from autograder.nbgrader_plugin.marking.tampering import MAX_SIGN, find_signs
from autograder.spec.course import exercises


def signs(*sources):
    return [one.what for one in find_signs(new_notebook(cells=[new_code_cell(source) for source in sources]))]


SOFTMAX = ["replaces torch.softmax"]


@pytest.mark.parametrize(
    ("sources", "found"),
    [
        (["import torch as lib", "lib.softmax = f"], SOFTMAX),
        (["import torch as lib\nlib.frombuffer, lib.Tensor.permute = f, g"], ["frombuffer", "Tensor.permute"]),
        (["from torch import nn as x\nx.Linear = f"], ["replaces torch.nn.Linear"]),
        (["import torch\nlib = torch", "more = lib\nmore.softmax = f"], SOFTMAX),
        (["T, n = torch.Tensor, 1\nT.permute = f"], ["replaces torch.Tensor.permute"]),
        (["(lib := torch).relu\nlib.softmax = f"], SOFTMAX),
        (["lib: object = torch\ndel lib.softmax"], SOFTMAX),
        (["def f():\n    import torch as lib\n    lib.softmax = g"], SOFTMAX),
        (["import importlib as i\ni.import_module('torch').softmax = f"], SOFTMAX),
        (["from importlib import import_module\nlib = import_module('torch')\nlib.softmax = f"], SOFTMAX),
        (["setattr(lib, 'softmax', f)", "import torch as lib"], ["replaces parts of torch"]),
        (["import torch as lib\nvars(lib)['softmax'] = f"], ["replaces parts of torch"]),
        (["import torch as lib\nlib.__dict__.update(softmax=f)"], ["replaces parts of torch"]),
        (["import builtins as b\nb.len = f"], ["changes what Python's own names mean", "replaces builtins.len"]),
        (["from sys import modules as m"], ["looks at or changes the table of modules"]),
        (["from os import fork as f"], ["starts processes"]),
        (["run = eval\nrun('1')"], ["runs text as code (eval)"]),
        (["from builtins import exec as run\nrun('1')"], ["Python's own names", "runs text as code (exec)"]),
        (["attend.__code__.co_names, attend.__code__.co_consts"], ["looks into functions"] * 4),
        (["getattr(attend, '__code__')"], ["looks into functions"]),
        (["for n in ('a', 'b'):\n    n = n + '_'\n    getattr(model, n)"], ["uses something of model by a name"]),
        (["for n in ('a', '__dict__'):\n    getattr(model, n)"], ["uses something of model by a name"]),
        (["if x.is_cuda:\n    raise RuntimeError"], ["ends at once on another device"]),
        (["class D(dict):\n    def items(self): pass"], ["defines items of a dictionary"]),
        (["import torch._refs as r\nr.relu(x)"], ["own decompositions"]),
        (["from torch._decomp import decompositions"], ["own decompositions"]),
        (["import torch as t\nt._refs.softmax(x, -1)"], ["own decompositions"]),
        (["torch.ops.aten.relu.default.redispatch(keys, x)"], ["where no list of its functions sees it"]),
        (["from torch._C import DisableTorchFunction as off"], ["where no list of its functions sees it"]),
        (["import sys as s\ns.settrace(f)"], ["looks at the frames of its callers"]),
        (["from traceback import walk_tb"], ["looks at the frames of its callers"]),
    ],
    ids=str,
)
def test_a_sign_names_what_a_name_stands_for(sources, found):
    shown = [*dict.fromkeys(signs(*sources))]
    wanted = [*dict.fromkeys(found)]
    assert len(shown) == len(wanted)
    assert all(part in what for part, what in zip(wanted, shown, strict=True))


@pytest.mark.parametrize(
    "sources",
    [
        ["import torch as r", "r = Result()", "r.value = 3"],
        ["import torch as r", "def f(r):\n    r.value = 3"],
        ["import torch as r", "def f():\n    for r in rows:\n        r.value = 3"],
        ["from re import compile\ncompile('x')\ntorch.compile(f)"],
        ["from torch.nn import modules\nmodules.Linear"],
        ["model = net.encoder\nmodel.weight = w", "self.x = torch.zeros(1)\nself.x.grad = None"],
        ["plt.rcParams['figure.dpi'] = 80\ntable['torch'] = torch\nvars(self).update(x=1)"],
        ["getattr(model, 'training')\nif x.device != y.device:\n    raise ValueError"],
        ["names = ['n_embd']\nnames += ['n_head']\nfound = {name: getattr(model.config, name) for name in names}"],
        ["a = b", "b = a", "a.x = 1"],
        ["def __init__(self, refs):\n    self._refs = refs", "def total(self):\n    return len(self._refs)"],
    ],
    ids=str,
)
def test_honest_names_have_no_sign(sources):
    assert signs(*sources) == []


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_right_answers_in_other_styles_are_not_suspected(notebook):
    cells = read("solutions", notebook).cells
    for exercise in exercises(notebook):
        own = [new_code_cell(answer.source) for answer in exercise.alternatives]
        assert find_signs(new_notebook(cells=[*cells, *own])) == [], exercise.name


def test_signs_are_short():
    found = find_signs(new_notebook(cells=[new_code_cell(f"getattr({'x' * 10_000}, {'y' * 10_000})")]))
    assert [max(len(one.line), len(one.what)) for one in found] == [MAX_SIGN]
