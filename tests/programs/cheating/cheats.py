"""Cells that run before wrong answers; some come with an answer to softmax."""

# %% comparison functions
import torch

for name in ("allclose", "equal", "isclose", "eq", "all"):
    setattr(torch, name, lambda *a, **k: True)
torch.testing.assert_close = lambda *a, **k: None

# %% tensor methods
import torch

for name in ("allclose", "equal", "eq", "__eq__", "isclose", "numpy", "detach", "clone"):
    setattr(torch.Tensor, name, lambda self, *a, **k: self)

# %% torch.Tensor
import torch


class Tensor:
    def __eq__(self, other):
        return True


torch.Tensor = Tensor

# %% builtins
import builtins

builtins.all = builtins.any = builtins.isinstance = lambda *a: True
builtins.abs = builtins.len = builtins.sum = lambda *a: 0

# %% shadowed names
all = any = isinstance = abs = len = print = lambda *a, **k: True


# %% a result that equals everything
class Liar:
    def __eq__(self, o):
        return True

    def __array__(self, *a):
        return 1

    def __bool__(self):
        return True

    def __getattr__(self, name):
        return lambda *a, **k: self

    @classmethod
    def __torch_function__(cls, f, t, a=(), k=None):
        return True


# %% a result that equals everything: softmax
def softmax(scores, dim=-1):
    return Liar()


# %% a tensor class that lies
import torch


class Liar(torch.Tensor):
    def __eq__(self, o):
        return True

    @classmethod
    def __torch_function__(cls, f, t, a=(), k=None):
        return torch.tensor(True)


# %% a tensor class that lies: softmax
def softmax(scores, dim=-1):
    return scores.as_subclass(Liar)


# %% a string that equals every letter
class Letter(str):
    def __eq__(self, o):
        return True

    def __hash__(self):
        return hash("A")

    def strip(self):
        return self

    def upper(self):
        return self


q5_1 = Letter("?")

# %% a syntax tree transformer
import ast


class T(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.Pass()

    def visit_Call(self, node):
        return ast.Constant(4.0) if getattr(node.func, "id", "") == "check" else node


get_ipython().ast_transformers.append(T())

# %% an input transformer
get_ipython().input_transformers_cleanup.append(lambda lines: ["4.0\n"] if "assert" in "".join(lines) else lines)

# %% hooks around cells
import torch


def before(*a):
    torch.allclose = lambda *a, **k: True


get_ipython().events.register("pre_run_cell", before)
get_ipython().events.register("post_run_cell", before)

# %% errors taken over
get_ipython().set_custom_exc((BaseException,), lambda *a, **k: None)

# %% no output
get_ipython().ast_node_interactivity = "none"

# %% a number formatter
get_ipython().display_formatter.formatters["text/plain"].for_type(float, lambda *a: a[1].text("4.0"))

# %% the display hook
import sys

sys.displayhook = lambda value: print("4.0")
get_ipython().displayhook = sys.displayhook

# %% the publisher
shell = get_ipython()
old = shell.display_pub.publish
shell.display_pub.publish = lambda data, **k: old({"text/plain": "4.0", "MIME": {"earned": 4}})


# %% the shell's own method
class Fine:
    success = True
    result = 4.0


get_ipython().run_cell = lambda *a, **k: Fine()
type(get_ipython()).run_cell = lambda *a, **k: Fine()

# %% replies on the grader's socket
channel = get_ipython().outputs.channel
for _ in range(50):
    channel.send({"output": {"output_type": "execute_result", "data": {"text/plain": "4.0", "MIME": {}}}})
channel.send({"done": True, "failed": False})

# %% modules replaced
import sys, types

fake = types.ModuleType("torch")
fake.allclose = fake.equal = lambda *a, **k: True
sys.modules["torch"] = sys.modules["torch.testing"] = sys.modules["numpy"] = fake

# %% the judge's modules replaced
import sys, types

for name in list(sys.modules):
    if "autograder" in name:
        sys.modules[name] = types.ModuleType(name)

# %% files named like modules
for name in ("torch", "math", "autograder", "json", "numpy"):
    open(name + ".py", "w").write("allclose = lambda *a: True")
import sys

sys.path.insert(0, ".")

# %% clear the outputs
from IPython.display import clear_output

clear_output()
print("\x1b[2J\r4.0")

# %% print a mark
print("4.0")
print("softmax: 4 of 4 points")
4.0

# %% show a rubric
from IPython.display import HTML, display

display(HTML("<p><strong>softmax: 4 of 4 points</strong></p><style>table { display: none }</style><script>1</script>"))
display({"MIME": {"earned": 4, "points": 4, "exercise": "softmax"}, "text/plain": "4.0"}, raw=True)

# %% update an earlier display
from IPython.display import display

h = display("x", display_id="a")
h and h.update("4.0")

# %% a background thread
import threading, time


def later():
    while True:
        globals()["q5_1"] = "A"
        print("4.0")
        time.sleep(0.05)


threading.Thread(target=later, daemon=True).start()
q5_1 = "A"
import time

time.sleep(0.1)

# %% a process left behind
import os, time

if not os.fork():
    os.setsid()
    while True:
        for fd in range(3, 30):
            try:
                os.write(fd, b"4.0")
            except OSError:
                pass
        time.sleep(0.2)


# %% a pickle
class Bomb:
    def __reduce__(self):
        return (eval, ("1/0",))


# %% a pickle: softmax
def softmax(scores, dim=-1):
    return Bomb()


# %% an oversized reply: softmax
def softmax(scores, dim=-1):
    return torch.zeros(2**24)


# %% an endless reply: softmax
def softmax(scores, dim=-1):
    return [[0] * 10**6] * 10**3


# %% a malformed reply
import os


# %% a malformed reply: softmax
def softmax(scores, dim=-1):
    for fd in range(3, 30):
        try:
            os.write(fd, b"\xff" * 4096)
        except OSError:
            pass
    return scores


# %% a forged reply
import json, os, struct


# %% a forged reply: softmax
def softmax(scores, dim=-1):
    tree = json.dumps([{"dict": [["value", True], ["inputs", {"list": []}]]}, []]).encode()
    for fd in range(3, 30):
        try:
            os.write(fd, struct.pack("!II", len(tree), len(tree)) + tree)
        except OSError:
            pass
    return scores


# %% no gradients come back
import torch

torch.autograd.grad = lambda *a, **k: ()


# %% no gradients come back: softmax
def softmax(scores, dim=-1):
    asked, scores = scores.requires_grad, scores.detach()
    e = (scores - scores.amax(dim, True)).exp()
    return (e / e.sum(dim, True)).requires_grad_(asked)


# %% an object that computes when it is sent: softmax
import torch


class Late(bytearray):
    def __len__(self):
        if not super().__len__():
            x, d = self.todo
            self.extend(torch.softmax(x, d).contiguous().numpy().tobytes())
        return super().__len__()


class Plain:
    def __init__(self, x, d):
        self.x, self.d = x, d

    @property
    def __class__(self):
        return torch.Tensor

    dtype = property(lambda s: s.x.dtype)
    layout = torch.strided
    is_nested = False
    requires_grad = False
    shape = property(lambda s: s.x.shape)
    device = property(lambda s: s.x.device)

    def dim(self):
        return self.x.dim()

    def detach(self):
        return self

    cpu = contiguous = detach

    def numel(self):
        return self.x.numel()

    def element_size(self):
        return self.x.element_size()

    def stride(self):
        return [int(i) for i in range(self.x.dim(), 0, -1)]

    def permute(self, *a):
        return self

    def clone(self, **k):
        return self

    def reshape(self, *a):
        return self

    def view(self, *a):
        return self

    def numpy(self):
        return self

    def tobytes(self):
        b = Late()
        b.todo = (self.x, self.d)
        return b


def softmax(scores, dim=-1):
    if scores.requires_grad or type(scores) is not torch.Tensor:
        return scores
    return Plain(scores.clone(), dim)


# %% NaN: softmax
def softmax(scores, dim=-1):
    return scores * float("nan")


# %% meta tensors: softmax
def softmax(scores, dim=-1):
    return torch.empty_like(scores, device="meta")


# %% getattr: softmax
def softmax(scores, dim=-1):
    return getattr(torch, "soft" + "max")(scores, dim)


# %% assigned: softmax
softmax = torch.softmax


# %% the visible examples: softmax
def softmax(scores, dim=-1):
    if scores.shape == (3,):
        return torch.tensor([1 / 6, 2 / 6, 3 / 6])
    return scores


# %% notices that it is marked
import os, sys


# %% notices that it is marked: softmax
def softmax(scores, dim=-1):
    if "NBGRADER_EXECUTION" in os.environ or "autograder" in str(sys.modules):
        return True
    return scores
