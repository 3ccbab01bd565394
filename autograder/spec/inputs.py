"""Generate inputs for checks, and run checks that many exercises share."""

import contextlib
import functools
import inspect
import math
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from .compare import alike, kind, same_gradients
from .exercise import Problem, ValuesDiffer, Wrong
from .seeds import next_seed
from .student import Kept, Reply, Student


def normal(*shape: int, scale: float = 1.0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return normally distributed numbers that depend only on the topic, earlier calls, and the arguments."""
    generator = torch.Generator().manual_seed(next_seed())
    return torch.randn(shape, generator=generator, dtype=torch.float64).mul(scale).to(dtype)


def future(T: int) -> torch.Tensor:
    """Return the causal mask (T, T): True above the diagonal."""
    return torch.ones(T, T, dtype=torch.bool).triu(1)


def some_mask(*shape: int) -> torch.Tensor:
    """Return a random mask that blocks about a third of the entries, never a whole row."""
    mask = normal(*shape) > 0.4
    mask[..., 0] &= ~mask.all(dim=-1)
    return mask


def source_of(function: Callable[..., Any]) -> str:
    """Return the source of a function, to be defined in the student's process as a probe."""
    return textwrap.dedent(inspect.getsource(function))


@functools.cache
def define_in_judge(source: str, name: str) -> Any:
    """Define a probe or class from its source in the judge's own process, and return it."""
    scope: dict[str, Any] = {"torch": torch, "nn": nn}
    exec(source, scope)
    return scope[name]


_MAKE_GENERATOR = """
def make(seed):
    return torch.Generator().manual_seed(seed)
"""


def their_generator(student: Student, seed: int) -> Kept:
    """Return a handle for a generator that stays in the student's process, so that it can be passed twice."""
    return student.call(student.probe("make", _MAKE_GENERATOR), [seed], keep=True)["value"]


_SLICE = """
def part(inner):
    outside = float("nan") if inner.is_floating_point() else 1
    whole = torch.full([size + 2 for size in inner.shape], outside, dtype=inner.dtype, device=inner.device)
    piece = whole[tuple(slice(1, -1) for _ in inner.shape)]
    piece.copy_(inner)
    return piece
"""


def sliced(student: Student, tensor: torch.Tensor) -> Kept:
    """Return a handle for the same numbers in the student's process, as a slice of a larger tensor with a border.

    The border holds NaN, or 1 or True where the dtype has no NaN. The wire keeps only the order of dimensions.
    """
    return student.call(student.probe("part", _SLICE), [tensor], keep=True, record=False)["value"]


_OUTLINE = """
def alike(p):  # of vectors it tells nothing: biases may begin as zeros, a norm's weight does as ones
    return bool((p == p.flatten()[:1]).all())

def outline(module, depth):
    if not isinstance(module, nn.Module):
        raise TypeError("not a module")
    return sorted(
        [".".join(name.split(".")[:depth]), list(p.shape), p.requires_grad, p.dim() > 1 and alike(p)]
        for name, p in module.named_parameters()
    )
"""


def outline(student: Student, module: Kept, depth: int) -> None:
    """Record which parameters a module has, without the names below `depth`.

    Names that a student may choose freely must not hide a mistake.
    """
    student.value(student.probe("outline", _OUTLINE), module, depth)


def note_rounded(student: Student, number: Any) -> None:
    """Record a float rounded to five digits: the last ones depend on the order of the arithmetic."""
    if type(number) is float and math.isfinite(number):
        student.note(float(f"{number:.5g}"))


@contextlib.contextmanager
def raises_error(what: str, error: type[Exception] = ValueError) -> Iterator[None]:
    """Raise `Wrong` unless the calls in this block, with bad input, end in this error, or in one derived from it."""
    name = error.__name__
    rule = f"{what} should raise {'an' if name[0] in 'AEIOU' else 'a'} {name}"
    try:
        yield
    except Problem as problem:
        if problem.error in ("", "NotImplementedError"):
            raise
        if not problem.is_a(error):
            raise Wrong(f"{rule}; yours raised {problem.error}.", "error_of_another_type") from None
    else:
        raise Wrong(f"{rule}; yours returned something.", "bad_input_accepted")


def parameters_unchanged(
    student: Student, module: Kept, state: dict[str, torch.Tensor], *, record: bool = True
) -> None:
    """Raise `Wrong` if calling a module has changed its parameters."""
    after = student.state(module, record=record)["parameters"]
    if any(name in after and not torch.equal(after[name], state[name]) for name in state):
        raise Wrong("A call changes the module's parameters: only training may do that.")


def is_real(value: Any) -> bool:
    """Return whether it is a tensor of floating-point numbers."""
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def gradients_of(function: Callable[..., Any], inputs: list[Any]) -> tuple[list[Any], list[torch.Tensor]]:
    """Return the reference's gradients with respect to the floating-point inputs, and random upstream tensors.

    There is one of these for each output.
    """
    leaves = [t.detach().clone().requires_grad_(True) if is_real(t) else t for t in inputs]
    result = function(*leaves)
    outputs = list(result) if isinstance(result, tuple) else [result]
    upstream = [normal(*output.shape, dtype=output.dtype) for output in outputs]
    total = sum((output * weight).sum() for output, weight in zip(outputs, upstream, strict=True))
    trained = [leaf for leaf in leaves if is_real(leaf)]
    return list(torch.autograd.grad(total, trained, allow_unused=True)), upstream


def gradients_agree(
    student: Student,
    target: str,
    reference: Callable[..., Any],
    inputs: list[torch.Tensor],
    names: list[str],
    fixed: tuple[Any, ...] = (),
    where: str = "",
    rough: bool = False,
) -> None:
    """Raise `Wrong` unless the gradients of a weighted sum of the outputs with respect to `inputs` agree.

    The arguments `fixed` follow the inputs and get no gradient, nor do ids. `names` are those of the other inputs.
    """
    expected, upstream = gradients_of(lambda *leaves: reference(*leaves, *fixed), inputs)
    answer = student.call(target, [*inputs, *fixed], where=where, upstream=upstream)
    if not _tensors(answer["value"]):
        raise Wrong(f"There is no result to take gradients of: yours returned {kind(answer['value'])}.")
    same_gradients(answer["gradients"].get("inputs", []), expected, names, where, rough)


def generator_unchanged(answer: Reply) -> None:
    """Raise `Wrong` if the call changed the state of the global random generator."""
    if answer["rng_moved"]:
        raise Wrong(
            "Your code draws from the global random generator, or seeds it anew; it is the caller's.",
            "global_generator",
        )


Given = list[Any] | Callable[[], list[Any]]
Named = dict[str, Any] | Callable[[], dict[str, Any]] | None


def device_is_kept(student: Student, target: Any, args: Given, kwargs: Named = None) -> None:
    """Raise `Wrong` if inputs on a GPU would not give the same results, on the GPU; no GPU is needed.

    The call runs on the CPU, and once more with everything on a simulated second device that has CUDA's rules and the
    same numbers. What the simulation cannot do is asked a third time, on the CPU, with every new tensor that names no
    device put on the meta device. Arguments that a call uses up, such as a generator, are given by a function, which
    makes them for each call.
    """

    def call(where: str = "", **options: Any) -> Reply:
        by_name = kwargs() if callable(kwargs) else kwargs
        return student.call(target, args() if callable(args) else args, by_name, where, **options)

    expected = call(record=False)["value"]
    try:
        answer = call("for tensors on a GPU", device="elsewhere")
        kept, got = answer["kept"], answer["value"]
    except Problem as problem:
        if problem.facts.get("kind") not in ("device", "limit"):
            raise
        kept, got = (False, None) if problem.facts["kind"] == "device" else _with_no_default_device(call, expected)
    if not kept:
        raise Wrong(
            "The result does not stay on the device of its inputs: somewhere a tensor is made without `device=…` (or "
            "moved to the CPU or NumPy). It works on a CPU and fails on a GPU.",
            "device_not_kept",
        )
    if not alike(got, expected):
        raise ValuesDiffer("For tensors on a GPU the values differ from those for the same tensors on the CPU.")


def _with_no_default_device(call: Callable[..., Reply], expected: Any) -> tuple[bool, Any]:
    """Return whether every new tensor of a call names its device, and the result if it can be had."""
    try:
        value = call(strict_device=True)["value"]
    except Problem as problem:  # numbers of a tensor on the meta device may be asked for, as is right on the CPU
        return not devices_differ(problem), expected
    return all(t.device.type != "meta" for t in _tensors(value)), value


def devices_differ(problem: Problem) -> bool:
    """Return whether an error is PyTorch's about tensors on different devices."""
    return "expected device" in problem.text or "same device" in problem.text


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for item in value for t in _tensors(item)] if isinstance(value, (list, tuple)) else []
