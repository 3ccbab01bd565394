"""Tests of the check for devices, without a GPU. Comments say what CUDA does: what is an error there is one here."""

import pytest
import torch
from torch import nn

from autograder.judge.student import Student, in_process
from autograder.spec.exercise import Unanswered, Wrong
from autograder.spec.inputs import device_is_kept
from autograder.untrusted.wire import encode

RIGHT = {
    "by way of NumPy and back": "return torch.from_numpy(np.exp(x.cpu().numpy())).to(x.device)",
    "positions counted on the CPU, then moved": "return x + torch.arange(x.shape[1]).to(x.device)",
    "made like x": "return torch.zeros_like(x) + x.new_ones(4) + x.new_tensor([1, 2, 3, 4.0])",
    "a list and back": "return torch.tensor(x.tolist(), device=x.device)",
    "where and masked_fill": "return torch.where(x > 0, x, torch.tensor(-1.0)).masked_fill(x > 1, torch.tensor(0.0))",
    "written in words": "f'{x[0, 0]:.2f} {x} {x.device}'\n    return x.type(torch.float64)",
    "values looked at": "return torch.stack([row for row in x if row.sum() or True])",
    "a number of the CPU's": "return x * torch.tensor(2.0) / torch.tensor(4.0).sqrt()",
    "indices of the CPU's": "return x[torch.arange(2)]",
    "lists as indices": "return x[[0, 2]], x[[2, 1], [0, 3]], x[:, (1, 0)], x[range(2)], x[[True, False, True]], x[[]]",
    "written to a list of indices": "y = x.clone()\n    y[[0, 2]] += 1\n    y[[1], [0, 3]] = 5.0\n    return y",
    "rows copied from the CPU": "y = torch.empty_like(x)\n    y[0] = torch.ones(4)\n    return y[:1]",
    "a layer of its own, made there": "return nn.Linear(4, 2, device=x.device)(x)",
    "the name of the device": "return x + torch.arange(4, device='cuda' if x.is_cuda else 'cpu')",
    "gradients": "y = x.detach().requires_grad_(True)\n    (y**2).sum().backward()\n    return y.grad",
    "written in place": "y = x.clone()\n    y[y > 0] = 0.0\n    y[:, 1:] += 1\n    y /= 2\n    return y",
    "without gradients": "with torch.inference_mode():\n        return (x @ x.T).softmax(-1)",
    "a shape changed in place": "y = x.clone()\n    y.unsqueeze_(0)\n    return y + torch.arange(4, device=x.device)",
    "its numbers put in another's place": "y = x.clone()\n    y.data = x * 2\n    return y",
    # what the simulation cannot do is asked on the CPU
    "a type by its name": "return x.type(x.type())",
    "its exact type": "return x if type(x) is torch.Tensor and isinstance(type(x), type) else torch.tensor(x)",
    "new_tensor under vmap": "return torch.vmap(lambda row: row + row.new_tensor(2.0))(x)",
}

WRONG = {
    # what the simulation cannot do is asked on the CPU
    "a type by its name, and positions without a device": "return x.type(x.type()) + torch.arange(4)",
    "a shape changed in place": "y = x.clone()\n    y.unsqueeze_(0)\n    return y + torch.arange(4)",
    "made on the CPU, beside one that is not": "return x, torch.arange(3)",
    "positions without a device": "return x + torch.arange(x.shape[1])",
    "indices of the GPU's into the CPU": "return torch.zeros(5)[(x[0] > 0).long()].to(x.device)",
    "a mask without a device": "return x.masked_fill(torch.ones(3, 4).triu(1).bool(), -torch.inf)",
    "added to a number of the CPU's": "y = torch.tensor(0.0)\n    y += x.sum()\n    return y.to(x.device)",
    "values without a device under a mask": "y = x.clone()\n    y[[0, 1]] = torch.ones(4)\n    return y",
    "added to a tensor of the CPU's": "y = torch.zeros(3, 4)\n    y += x\n    return y.to(x.device)",
    "gathered in a tensor of the CPU's": "y = torch.zeros(3, 4)\n    y[0] = x[0]\n    return y",
    "NumPy": "return torch.from_numpy(x.numpy() * 2)",  # can't convert cuda:0 device type tensor to numpy
    "a layer of its own": "return nn.Linear(4, 2)(x)",
    "compared with a copy": "return x if torch.allclose(x, x.cpu()) else -x",
    "a function of Python": "return x.clone().apply_(lambda number: number + 1)",  # only implemented on CPU tensors
    "drawn there": "return torch.multinomial(x.softmax(-1), 1, generator=torch.Generator().manual_seed(1))",
    "values looked at, and a tensor without a device": (
        "rows = [row for row in x if row.sum().item() > -100]\n    return torch.stack(rows) * torch.arange(4)"
    ),
}


MODULES_RIGHT = {  # what is made, and what is done with it
    "a buffer": ("self.register_buffer('table', torch.arange(4.0))", "return self.layer(x + self.table)"),
    "a tensor that is moved": ("self.table = torch.arange(4.0)", "return x + self.table.to(x.device)"),
    "a tensor that its own _apply moves": (
        "self.table = torch.arange(4.0)\n    def _apply(self, fn, recurse=True):\n"
        "        self.table = fn(self.table)\n        return super()._apply(fn, recurse)",
        "return x + self.table",
    ),
    "indices of the CPU's": ("self.table = nn.Embedding(9, 4)", "return x + self.table.weight[torch.arange(3)]"),
    "PyTorch's attention": (
        "self.part = nn.MultiheadAttention(4, 2, batch_first=True)",
        "return self.part(x[None], x[None], x[None])[0]",
    ),
}
MODULES_WRONG = {
    "a tensor that is not registered": ("self.table = torch.arange(4.0)", "return self.layer(x + self.table)"),
    "a list of layers that nobody knows": ("self.parts = [nn.Linear(4, 4)]", "return self.parts[0](x)"),
    "the result left on the CPU": ("pass", "return self.layer(x).cpu()"),
    "NumPy": ("pass", "return torch.from_numpy(self.layer(x).detach().numpy())"),
}


def ask(output):
    if isinstance(output, str):
        student, target = student_with(f"def f(x):\n    {output}\n"), "f"
    else:
        student = student_with(
            "class M(nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n        self.layer = nn.Linear(4, 4)\n"
            f"        {output[0]}\n    def forward(self, x):\n        {output[1]}\n"
        )
        target = student.build("M")
    device_is_kept(student, target, [torch.randn(3, 4)])


@pytest.mark.parametrize("output", (RIGHT | MODULES_RIGHT).values(), ids=RIGHT | MODULES_RIGHT)
def test_what_is_right_on_a_gpu_passes(output):
    ask(output)


@pytest.mark.parametrize("output", [*WRONG.values(), *MODULES_WRONG.values()], ids=[*WRONG, *MODULES_WRONG])
def test_what_is_wrong_on_a_gpu_is_refused(output):
    with pytest.raises(Wrong) as wrong:
        ask(output)
    assert wrong.value.symptom == "device_not_kept"


BOUGHT = {  # a case of its own for a GPU, which keeps the device or stops, and computes nothing
    "the input": "if x.is_cuda:\n        return x\n    return x + torch.arange(x.shape[1])",
    "an error": "if x.is_cuda:\n        raise RuntimeError\n    return x + torch.arange(x.shape[1])",
    "no answer yet": "if x.is_cuda:\n        raise NotImplementedError\n    return x + torch.arange(x.shape[1])",
    "an error of PyTorch's": "return x[9:][0] if x.is_cuda else x + torch.arange(x.shape[1])",
    "another shape": "return x[0] if x.device.type == 'cuda' else x + torch.arange(x.shape[1])",
    "another dtype": "return x.double() if x.is_cuda else x + torch.arange(x.shape[1])",
    "a list": "return [x] if x.is_cuda else x + torch.arange(x.shape[1])",
}


@pytest.mark.parametrize("output", BOUGHT.values(), ids=BOUGHT)
@pytest.mark.parametrize("as_module", [False, True], ids=["function", "module"])
def test_a_case_for_the_gpu_that_computes_nothing_earns_nothing(output, as_module):
    with pytest.raises(Wrong) as wrong:
        ask(("pass", output.replace("\n", "\n    ")) if as_module else output)
    assert "GPU" in str(wrong.value) or isinstance(wrong.value, Unanswered)


def student_with(source):
    scope = {"torch": torch, "nn": nn, "F": nn.functional}
    exec("import numpy as np\n" + source, scope)
    return in_process(scope)


def test_a_generator_that_is_passed_may_draw_on_either_device():
    """It arrives as a CPU one, which on a GPU would be asked for a CPU draw; another cannot be made here."""
    student = student_with("def f(p, generator):\n    return torch.multinomial(p, 1, generator=generator)\n")
    make = student.probe("g", "def g():\n    return torch.Generator().manual_seed(1)")
    device_is_kept(student, "f", lambda: [torch.ones(3, 4), student.call(make, [], keep=True)["value"]])


def test_the_numbers_from_elsewhere_are_those_of_the_cpu():
    student = student_with("def f(x):\n    return torch.sort(x.softmax(-1)[x[:, 0] > 0], dim=-1).values.cumsum(-1)\n")
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
    answer = student.call("f", [x], device="elsewhere")
    assert answer["kept"] is True
    assert torch.equal(answer["value"], student.value("f", x))


def test_inputs_and_modules_are_left_as_they_were():
    student = student_with(
        "class M(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.layer = nn.Linear(4, 4)\n"
        "        self.register_buffer('seen', torch.zeros(4))\n"
        "    def forward(self, x):\n        self.seen += 1\n        x += 1\n        return self.layer(x)\n"
    )
    module, x = student.build("M"), torch.zeros(2, 4)
    before = student.state(module)
    answer = student.call(module, [x], device="elsewhere")
    after = student.state(module)
    assert torch.equal(answer["inputs"][0], torch.zeros(2, 4))
    assert before["trainable"] == after["trainable"] == ["layer.bias", "layer.weight"]
    for kind in ("parameters", "buffers"):
        for name, value in before[kind].items():
            assert torch.equal(value, after[kind][name])
    assert student.call(module, [x])["value"].shape == (2, 4)


def test_a_forged_answer_that_does_not_say_where_the_results_are_is_wrong():
    for reply in ({"value": torch.zeros(3)}, {"value": torch.zeros(3), "kept": "yes"}):
        with pytest.raises(Wrong):
            device_is_kept(Student(lambda _, reply=reply: encode(reply)), "f", [torch.zeros(3)])
