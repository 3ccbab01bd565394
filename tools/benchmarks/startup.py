"""Compares the time to run a notebook with a cold kernel, both warm sandboxed runners, and the cells alone.

`ready` is the time from the request to the first cell; `whole` is the time from the request to the end of the notebook.
The limit is the same cells executed in a process that is already running, with the figure drawn and nothing else.
"""

from __future__ import annotations

import contextlib
import io
import os
import statistics
import time
from functools import partial
from importlib.metadata import EntryPoint

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MPLBACKEND"] = "agg"

import nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.provisioning import KernelProvisionerFactory
from nbclient import NotebookClient
from timing import ROOT, console, in_turns, table

from autograder.sandbox.provisioner import CagedProvisioner
from autograder.sandbox.session import Session, Template
from autograder.spec.course import course

os.environ["PYTHONPATH"] = str(ROOT)
CELLS = [
    "import math\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F\nimport matplotlib.pyplot as plt",
    "torch.manual_seed(0)\nx = torch.randn(8, 6, 16)\nx.shape",
    "scores = x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])\nscores[0]",
    "mask = torch.triu(torch.ones(6, 6, dtype=torch.bool), 1)\nmask",
    "weights = torch.softmax(scores.masked_fill(mask, float('-inf')), -1)\nweights.sum(-1)[0]",
    "out = weights @ x\nout.mean().item()",
    "class Head(nn.Module):\n    def __init__(self, c, d):\n        super().__init__()\n"
    "        self.q, self.k, self.v = (nn.Linear(c, d, bias=False) for _ in range(3))\n\n    def forward(self, x):\n"
    "        q, k, v = self.q(x), self.k(x), self.v(x)\n"
    "        return F.scaled_dot_product_attention(q, k, v, is_causal=True)",
    "head = Head(16, 8)\nhead(x).shape",
    "sum(p.numel() for p in head.parameters())",
    "model = nn.Sequential(Head(16, 16), nn.LayerNorm(16), nn.Linear(16, 4))",
    "data = torch.utils.data.TensorDataset(torch.randn(64, 6, 16), torch.randint(4, (64, 6)))",
    "loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True)",
    "optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)",
    "losses = []\nfor epoch in range(5):\n    for a, b in loader:\n"
    "        loss = F.cross_entropy(model(a).flatten(0, 1), b.flatten())\n"
    "        optimiser.zero_grad(); loss.backward(); optimiser.step(); losses.append(loss.item())",
    "print(f'{losses[0]:.3f} to {losses[-1]:.3f}')",
    "plt.plot(losses)\nplt.xlabel('step');",
    "torch.allclose(torch.softmax(x, -1).sum(-1), torch.ones(8, 6))",
    "embedding = nn.Embedding(10, 4)\nembedding(torch.arange(3))",
    "with torch.no_grad():\n    guess = model(x).argmax(-1)\nguess[0]",
    "x.grad is None",
]


def by_nbclient(kernel: str) -> tuple[float, float]:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    ready: list[float] = []
    client = NotebookClient(
        notebook, kernel_name=kernel, on_notebook_start=lambda **_: ready.append(time.perf_counter())
    )
    started = time.perf_counter()
    client.execute()
    return ready[0] - started, time.perf_counter() - started


def warm_shell(template: Template) -> tuple[float, float]:
    started = time.perf_counter()
    with Session(template) as session:
        ready = time.perf_counter()
        for source in CELLS:
            result = session.run(source)
            assert result.ending == "ok", result
    return ready - started, time.perf_counter() - started


def limit() -> tuple[float, float]:
    import matplotlib.pyplot as plt

    code = [compile(source, "<cell>", "exec") for source in CELLS]
    started, scope = time.perf_counter(), {"__name__": "notebook"}
    for cell in code:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(cell, scope)
        if plt.get_fignums():
            plt.savefig(io.BytesIO(), bbox_inches="tight")
            plt.close("all")
    return 0.0, time.perf_counter() - started


def install_kernelspec() -> None:
    """Register the kernelspec and its provisioner, as installing the package does."""
    factory = KernelProvisionerFactory.instance()
    group = KernelProvisionerFactory.GROUP_NAME
    factory.provisioners["caged-fork"] = EntryPoint(
        "caged-fork", "autograder.nbgrader_plugin.marking.kernels:CourseProvisioner", group
    )
    original = KernelSpecManager.get_kernel_spec

    def get_kernel_spec(self: KernelSpecManager, name: str) -> KernelSpec:
        if name == "caged-python3":
            return KernelSpec.from_resource_dir(str(ROOT / "autograder" / "sandbox" / "kernelspec"))
        return original(self, name)

    KernelSpecManager.get_kernel_spec = get_kernel_spec


def main() -> None:
    install_kernelspec()
    started = time.perf_counter()
    template = CagedProvisioner.template = Template(preload=("autograder.untrusted.kernel", *course().preload))
    print(template.prove())
    print(f"template ready and cage tried out: {time.perf_counter() - started:.1f} s, once for a whole batch")
    runs = {
        "cold kernel, nbclient": partial(by_nbclient, "python3"),
        "warm caged kernel, nbclient": partial(by_nbclient, "caged-python3"),
        "warm caged shell": partial(warm_shell, template),
        "limit: the cells alone": limit,
    }
    for run in list(runs.values())[1:]:
        run()  # warm-up: the first use of a library is slow
    measured = in_turns(runs, dict.fromkeys(runs, 10) | {"cold kernel, nbclient": 3})
    template.close()
    whole = {name: statistics.median(total for _, total in times) for name, times in measured.items()}
    least, slowest = whole["limit: the cells alone"], whole["cold kernel, nbclient"]
    shown = table(f"{len(CELLS)} small torch cells, medians in ms", "", "n", "ready", "whole", "/ limit", "cold /")
    for name, times in measured.items():
        ready = statistics.median(first for first, _ in times)
        figures = (f"{1000 * ready:.0f}", f"{1000 * whole[name]:.0f}", f"{whole[name] / least:.2f}")
        shown.add_row(name, str(len(times)), *figures, f"{slowest / whole[name]:.1f}")
    console.print(shown)
    goal = 1.3 * least + 0.08
    shell = whole["warm caged shell"]
    print(f"\ngoal for the shell runner: {goal * 1000:.0f} ms (1.3 limits + 80 ms); it took {shell * 1000:.0f} ms")


if __name__ == "__main__":
    main()
