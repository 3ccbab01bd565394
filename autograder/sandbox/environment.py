"""Environment variables of the template and of notebooks. Almost none of the grader's own are passed on."""

import contextlib
import json
import os
import site
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

PACKAGE_ROOT = Path(__file__).resolve().parents[2]
# The checkout in which the package lies if it was not installed: Python finds it there only by PYTHONPATH.
CHECKOUT = () if any(PACKAGE_ROOT.glob("*.dist-info")) else (str(PACKAGE_ROOT),)
FROM_GRADER = ("LANG", "LC_ALL", "TZ")  # the only ones whose values are the grader's
FIXED = {
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    # torch.compile gives the function as it is. TORCH_COMPILE_DISABLE would still raise for fullgraph=True.
    "TORCHDYNAMO_DISABLE": "1",
    "PYTHONHASHSEED": "0",
    "NBGRADER_EXECUTION": "autograde",
}
# A variable: in JSON, where a shared template listens, what it imports, and which folders only the grader imports from.
SHARED = "AUTOGRADER_SHARED_TEMPLATE"


@contextlib.contextmanager
def replaced_by(variables: Mapping[str, str]) -> Iterator[None]:
    """Have only these environment variables in the `with` block, so in processes that start there."""
    own = dict(os.environ)
    try:
        os.environ.clear()
        os.environ.update(variables)
        yield
    finally:
        os.environ.clear()
        os.environ.update(own)


def of_template(installed: Sequence[str] = ()) -> dict[str, str]:
    """Return the template's environment variables: with them it finds Python, this package, and `installed`."""
    added = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.abspath(path) in installed]
    user = {"PYTHONUSERBASE": site.getuserbase()} if site.ENABLE_USER_SITE else {"PYTHONNOUSERSITE": "1"}
    return {**_kept(("PATH", *FROM_GRADER)), "PYTHONPATH": os.pathsep.join([*CHECKOUT, *added]), **user, **FIXED}


def of_server(shared: Sequence[str], installed: Sequence[str] = ()) -> dict[str, str]:
    """Return the environment variables of the process that forks workers and, if `shared` says where, their template.

    They are a template's, but for the import path: workers import what the grader would.
    """
    variables = of_template(installed)
    graders = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    own = variables["PYTHONPATH"].split(os.pathsep)
    variables["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*graders, *own]))
    if shared:
        path, *modules = shared
        variables[SHARED] = json.dumps([path, modules, [folder for folder in graders if folder not in own]])
    return variables


def of_notebook(home: str, temporary: str) -> dict[str, str]:
    """Return a notebook's environment variables: those of its template that it may see, and a few all programs need."""
    path = dict.fromkeys([f"{sys.prefix}/bin", f"{sys.base_prefix}/bin", "/usr/bin", "/bin"])
    own = {"PATH": ":".join(path), "HOME": home, "TMPDIR": temporary, "USER": "student"}
    return {**_kept((*FROM_GRADER, *FIXED)), **own, "MPLCONFIGDIR": os.path.join(temporary, "matplotlib")}


def visible_names() -> set[str]:
    """Return the names of all variables that a notebook may see; its shell adds IPYTHONDIR."""
    return {*FROM_GRADER, *FIXED, *of_notebook("", ""), "IPYTHONDIR"}


def _kept(names: tuple[str, ...]) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}
