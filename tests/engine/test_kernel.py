"""Tests that stock nbclient runs a sandboxed kernel through the provisioner: no patch, no port, the same sandbox."""

import shutil
from importlib.metadata import EntryPoint

import nbformat
import pytest
from conftest import ROOT, skip_without_sandbox, wait_for
from jupyter_client.provisioning import KernelProvisionerFactory
from nbclient import NotebookClient

from autograder.sandbox import monitor
from autograder.sandbox.provisioner import SandboxProvisioner
from autograder.sandbox.session import Template
from autograder.spec.course import course

CELLS = {
    "prints": "print('hello')",
    "result": "6 * 7",
    "figure": "import matplotlib.pyplot as plt\nplt.plot([1, 2]);",
    "error": "1 / 0",
    "after": "import os\nprint(os.getcwd(), open('data.txt').read(), [p for p in os.listdir('/proc') if p.isdigit()])",
    "network": "import socket\nsocket.create_connection(('127.0.0.1', 80), 1)",
    "rich": (
        "from IPython.display import HTML, display\n"
        "h = display(HTML('<b>1</b>'), display_id=True)\nh.update(HTML('<b>2</b>'))"
    ),
    "warm": "import sys\n{'torch', 'transformers', 'matplotlib.pyplot'} <= set(sys.modules)",
}


@pytest.fixture(scope="module")
def kernelspec(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jupyter")
    shutil.copytree(ROOT / "autograder/sandbox/kernelspec", folder / "kernels" / "caged-python3")
    factory = KernelProvisionerFactory.instance()
    provisioner = "autograder.nbgrader_plugin.marking.kernels:CourseProvisioner"
    factory.provisioners["caged-fork"] = EntryPoint("caged-fork", provisioner, KernelProvisionerFactory.GROUP_NAME)
    SandboxProvisioner.template = Template(preload=("autograder.untrusted.kernel", *course().preload))
    skip_without_sandbox(SandboxProvisioner.template)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder))
        yield "caged-python3"
    SandboxProvisioner.template.close()
    SandboxProvisioner.template = None


def run(cells, kernelspec, folder, **options):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, kernel_name=kernelspec, resources=resources, allow_errors=True, **options).execute()
    return [cell.outputs for cell in notebook.cells]


@pytest.mark.slow
def test_stock_nbclient_runs_a_notebook_and_interrupts_an_endless_cell(kernelspec, tmp_path):
    (tmp_path / "data.txt").write_text("handed in")
    outputs = dict(zip(CELLS, run(CELLS.values(), kernelspec, tmp_path), strict=True))
    assert outputs["prints"][0].text == "hello\n"
    assert outputs["result"][0].data["text/plain"] == "42"
    assert any("image/png" in output.get("data", {}) for output in outputs["figure"])
    assert outputs["error"][0].ename == "ZeroDivisionError"
    assert outputs["after"][0].text == "/home/student handed in ['1']\n"
    assert outputs["network"][0].ename == "PermissionError"
    assert outputs["rich"][0].data["text/html"] == "<b>2</b>"
    assert outputs["warm"][0].data["text/plain"] == "True"
    stopped, following = run(["while True: pass", "1 + 1"], kernelspec, tmp_path, timeout=1, interrupt_on_timeout=True)
    assert stopped[0].ename == "KeyboardInterrupt"
    assert following[0].data["text/plain"] == "2"
    wait_for(lambda: len(monitor.tree(SandboxProvisioner.template._process.pid)) <= 1)
