"""Tests that each private name of PyTorch exists and behaves as used, and that marking refuses where one is missing."""

import re
import sys

import pytest
import torch
from conftest import ROOT

from autograder.sandbox.limits import SandboxError
from autograder.sandbox.session import Template
from autograder.untrusted import torch_internals as internals
from autograder.untrusted.second_device import FakeCuda

PRIVATE = re.compile(r"\btorch(\.\w+)*\._(?!_)|from torch[\w.]* import[^\n]*\b_|\._schema\b|_make_wrapper_subclass")
ADD = torch.ops.aten.add_.Tensor


class Counting(internals.TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen = [*getattr(self, "seen", []), internals.schema(func).name]
        return func(*args, **(kwargs or {}))


def operations_of_a_mode():
    with Counting() as mode:
        torch.ones(2).add_(torch.ones(2))
    return mode.seen


USES = {
    "TorchDispatchMode": lambda: operations_of_a_mode() == ["aten::ones", "aten::ones", "aten::add_"],
    "SchemaCheckMode": lambda: issubclass(internals.SchemaCheckMode, internals.TorchDispatchMode),
    "disabled_torch_function": lambda: type(internals.disabled_torch_function) is type(len),
    "make_wrapper_subclass": lambda: (
        (FakeCuda(torch.ones(3, 2).T).shape, FakeCuda(torch.ones(3, 2).T).stride()) == ((2, 3), (1, 2))
    ),
    "has_kernel": lambda: (
        internals.has_kernel("aten::matmul", "CompositeImplicitAutograd")
        and not internals.has_kernel(ADD.name(), "CompositeImplicitAutograd")
    ),
    "in_place_schema": lambda: (
        internals.in_place_schema.name == "aten::add_"
        and internals.in_place_schema.is_mutable
        and not internals.schema(torch.ops.aten.add.Tensor).is_mutable
        and [(a.name, bool(a.alias_info and a.alias_info.is_write)) for a in internals.schema(ADD).arguments]
        == [("self", True), ("other", False), ("alpha", False)]
    ),
    "device_constructors": lambda: {torch.ones, torch.arange, torch.tensor} <= internals.device_constructors(),
    "tree_leaves": lambda: internals.tree_leaves(([1, {"a": 2}], 3)) == [1, 2, 3],
    "tree_map": lambda: internals.tree_map(str, ([1, {"a": 2}], 3)) == (["1", {"a": "2"}], "3"),
}


@pytest.mark.parametrize("name", internals.NAMES)
def test_a_private_name_exists_and_behaves_as_used(name):
    assert USES[name]()


@pytest.mark.parametrize("name", internals.NAMES)
def test_a_missing_name_is_refused_and_named_with_the_version(name, monkeypatch):
    folder = internals.NAMES[name] + "_of_another_version"
    monkeypatch.setitem(internals.NAMES, name, folder)
    for one in internals.NAMES:
        monkeypatch.delitem(vars(internals), one, raising=False)
    message = re.escape(f"torch {torch.__version__} has no {folder.replace(':', '.')}, which marking needs")
    with pytest.raises(internals.UnsupportedTorch, match=message):
        _ = internals.tree_map


def test_the_compiler_is_seen_once_it_is_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, internals.COMPILER, raising=False)
    assert not internals.compiler_is_loaded()
    monkeypatch.setitem(sys.modules, internals.COMPILER, internals)
    assert internals.compiler_is_loaded()


@pytest.mark.slow  # a process of its own, with torch
def test_nothing_is_marked_with_a_torch_that_lacks_a_name(tmp_path, monkeypatch):
    (tmp_path / "older.py").write_text("import torch.utils._device\ndel torch.utils._device._device_constructors\n")
    monkeypatch.setattr("autograder.sandbox.environment.CHECKOUT", (str(ROOT), str(tmp_path)))
    template = Template(sandboxed=False, preload=["older"])
    with pytest.raises(
        SandboxError, match=r"torch .* has no torch\.utils\._device\._device_constructors, which marking"
    ):
        template.spawn(None, tmp_path, None)


def test_no_other_module_uses_a_private_name_of_torch():
    for room in ("autograder", "transformer_exercises", "tools"):
        for path in (ROOT / room).rglob("*.py"):
            if path.name != "torch_internals.py":
                found = PRIVATE.search(path.read_text("utf-8"))
                assert not found, f"{path.relative_to(ROOT)}: {found[0]}"
