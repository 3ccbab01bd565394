"""Record, in a notebook's kernel, what cells give to answers. `tests/course/test_visible_tests.py` adds the calls."""

import functools
import inspect
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

cell = ""  # the one that runs
_found: dict[str, dict[str, set[tuple[str, str]]]] = defaultdict(lambda: defaultdict(set))  # answer -> cell -> traits
_running: list[str] = []  # what one answer gives to another is not recorded


def _traits(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield (argument, trait): an answer may work for a value without the trait and fail for one that has it."""
    if isinstance(value, torch.Tensor):
        yield name, str(value.dtype)
        yield name, f"{value.dim()} dimensions"
        if not value.is_contiguous():
            yield name, "not contiguous"
        if value.requires_grad:
            yield name, "requires gradients"
    elif isinstance(value, nn.Module):
        yield name, f"module in {'training' if value.training else 'eval'} mode"
    elif isinstance(value, torch.optim.Optimizer):
        if len(value.param_groups) > 1:
            yield name, "several groups"
    elif not isinstance(value, (bool, int, float, type(None))):
        yield name, type(value).__name__
    if isinstance(value, (tuple, list)):
        for part in value[:9]:
            yield from _traits(f"{name}[…]", part)


def recorded(name: str, answer: Any) -> Any:
    """Return the answer, a function or a module's class, with its calls recorded."""
    if not isinstance(answer, type):
        return _recording(name, answer)
    answer.forward = _recording(name, answer.forward)
    return answer


def _recording(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not _running:
            for argument, value in inspect.signature(function).bind(*args, **kwargs).arguments.items():
                _found[name][cell].update(_traits(argument, value))
        _running.append(name)
        try:
            return function(*args, **kwargs)
        finally:
            _running.pop()

    return call


def report() -> str:
    return json.dumps({name: {where: sorted(traits) for where, traits in by.items()} for name, by in _found.items()})
