"""Compare what a student's code returned with the expected result; messages say what differs, not the values.

Every function here that checks raises `Wrong`. Its message names the usual causes, because a difference often shows
its cause: a transposed result, a missing gradient, a dtype that was not kept.
"""

import math
from typing import Any

import torch

from .exercise import ValuesDiffer, Wrong

MAX_SIZES = 8  # of a shape that a sentence lists
TOLERANCE = {torch.float32: (1e-4, 1e-5), torch.float64: (1e-9, 1e-11)}  # relative, absolute


def kind(value: Any) -> str:
    """Describe the type of a value in words that a student understands."""
    if value is None:
        return "None (is a `return` missing?)"
    if isinstance(value, torch.Tensor):
        return f"a {dtype_name(value)} tensor of shape {shape_name(value)}"
    if hasattr(value, "type_name"):
        return f"an object of type {value.type_name}"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def dtype_name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def shape_name(tensor: torch.Tensor) -> str:
    shape = str(tuple(tensor.shape[:MAX_SIZES]))
    return shape if tensor.dim() <= MAX_SIZES else f"{shape[:-1]}, …)"


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of a tensor, or () for anything else."""
    return tuple(value.shape) if isinstance(value, torch.Tensor) else ()


def a_tensor(got: Any, what: str) -> torch.Tensor:
    if not isinstance(got, torch.Tensor):
        raise Wrong(f"{what} should be a tensor; yours is {kind(got)}.", "not_a_tensor")
    return got


def a_pair(got: Any, names: str) -> tuple[Any, ...]:
    if isinstance(got, list) and len(got) == 2:
        raise Wrong(f"It should return the tuple {names}; yours returned a list: write `return first, second`.")
    if not isinstance(got, tuple) or len(got) != 2:
        raise Wrong(f"It should return the tuple {names}; yours returned {kind(got)}.")
    return got


def same_tensor(got: Any, expected: torch.Tensor, what: str, where: str = "", rough: bool = False) -> None:
    """Raise `Wrong` unless type, shape, device, dtype and values are as expected; `ValuesDiffer` if only values differ.

    `where` says for which sizes, such as "with T = 3 and S = 5". `rough` allows larger errors, for inputs of about 1e4,
    which leave float32 only three digits after the point.
    """
    got = a_tensor(got, what)
    suffix = f" {where}" if where else ""
    if got.shape != expected.shape:
        sizes = f"should have shape {shape_name(expected)}, yours has {shape_name(got)}"
        raise Wrong(f"{what}{suffix} {sizes}.{_shape_hint(got, expected)}", "wrong_shape")
    if got.device != expected.device:
        raise Wrong(f"{what}{suffix} is not on the device of the inputs.", "device_not_kept")
    if got.dtype != expected.dtype:
        dtypes = f"should be {dtype_name(expected)}, yours is {dtype_name(got)}"
        raise Wrong(f"{what}{suffix} {dtypes}: {_dtype_hint(got, expected)}", "wrong_dtype")
    if not close(got, expected, rough):
        raise ValuesDiffer(f"{what}{suffix}: {_difference(got, expected)}")


def same_output(got: Any, expected: torch.Tensor, what: str = "The output", where: str = "") -> None:
    """Raise `Wrong` unless `got` is the one tensor that a block's `forward` should return."""
    if isinstance(got, (tuple, list)):
        raise Wrong(f"forward should return one tensor (B, T, C); yours returned {kind(got)}.")
    same_tensor(got, expected, what, where)


def same_count(got: Any, expected: int, where: str) -> None:
    """Raise `Wrong` unless `got` is the expected number of parameters, as an int."""
    if isinstance(got, bool) or not isinstance(got, int):
        hint = ": numbers of parameters are whole" if isinstance(got, float) else ""
        raise Wrong(f"The number of parameters should be an int {where}; yours is {kind(got)}{hint}.")
    if got != expected:
        raise ValuesDiffer(f"The number of parameters is too {'large' if got > expected else 'small'} {where}.")


def _shape_hint(got: torch.Tensor, expected: torch.Tensor) -> str:
    if got.dim() == expected.dim() >= 2 and got.shape == expected.mT.shape:
        return " The last two dimensions are the wrong way round."
    if sorted(got.shape) == sorted(expected.shape):
        return " The dimensions are there, but not in this order."
    if [n for n in got.shape if n != 1] == [n for n in expected.shape if n != 1]:
        return " Dimensions of size 1 were lost or added (squeeze, unsqueeze or keepdim?)."
    if got.numel() == expected.numel():
        return " All the numbers are there, but dimensions were merged (flatten, view or reshape?)."
    if got.shape == expected.shape[1:]:
        return " The first dimension is lost: is only one of its entries returned?"
    if got.dim() == expected.dim() - 1:
        return " One dimension is lost: is only one of its entries returned (a variable overwritten in a loop?)."
    return ""


def _dtype_hint(got: torch.Tensor, expected: torch.Tensor) -> str:
    if expected.dtype == torch.bool:
        return "a boolean mask is asked for, True = blocked (dtype=torch.bool)."
    if not expected.is_floating_point():
        return "ids are whole numbers and must stay so."
    if expected.dtype == torch.float64:
        return "keep the dtype that is given (a `.float()`, or a new tensor made without `dtype=…`?)."
    return "keep the dtype that is given (a `.double()`, `dtype=torch.float64` or NumPy on the way?)."


def close(got: torch.Tensor, expected: torch.Tensor, rough: bool = False) -> bool:
    """Return whether two tensors of one shape agree, NaN with NaN. Floating-point dtypes may differ."""
    if not expected.is_floating_point():
        return got.dtype == expected.dtype and torch.equal(got, expected)
    got = got.to(expected.dtype)
    relative, absolute = (2e-3, 1e-5) if rough else TOLERANCE.get(expected.dtype, (1e-2, 1e-2))
    scale = expected[expected.isfinite()].abs().max().item() if expected.isfinite().any() else 1.0
    return torch.allclose(got, expected, rtol=relative, atol=absolute * max(1.0, scale), equal_nan=True)


def alike(got: Any, expected: Any) -> bool:
    """Return whether two results of one function are the same, floating-point numbers up to rounding."""
    if type(got) is not type(expected):
        return False
    if isinstance(expected, torch.Tensor):
        return got.shape == expected.shape and got.dtype == expected.dtype and close(got, expected)
    if isinstance(expected, dict):
        return got.keys() == expected.keys() and all(alike(got[key], expected[key]) for key in expected)
    if isinstance(expected, (list, tuple)):
        return len(got) == len(expected) and all(map(alike, got, expected))
    if isinstance(expected, float):
        return alike(torch.tensor(got), torch.tensor(expected))
    return bool(got == expected)


def _difference(got: torch.Tensor, expected: torch.Tensor) -> str:
    """Describe what is remarkable about a difference, without revealing the expected values."""
    if not expected.is_floating_point():
        entries = int((got != expected).sum())
        if got.dtype == torch.bool and torch.equal(got, ~expected):
            return "every entry is the opposite of what it should be: True and False are swapped."
        return f"{entries} of {expected.numel()} entries {'is' if entries == 1 else 'are'} wrong."
    if got.isnan().any() and not expected.isnan().any():
        share = got.isnan().float().mean().item()
        return f"{share:.0%} of the values are NaN (0/0 or inf − inf: what overflowed, or which row had nothing left?)."
    if got.isinf().any() and not expected.isinf().any():
        return "some values are infinite: something overflowed."
    if got.dim() >= 2 and got.shape[-1] == got.shape[-2] and close(got.mT.contiguous(), expected):
        return "the values are right, but transposed."
    if got.dim() >= 1 and len(got) > 1 and close(got[0], expected[0]) and not close(got[1], expected[1]):
        alike = "are all of them computed alike?"
        return f"the first entry along the first dimension is right and the second is not: {alike}"
    ratio = got / expected
    ratio = ratio[expected.abs() > 1e-6]
    if len(ratio) > 1 and ratio.isfinite().all() and (ratio - ratio[0]).abs().max() < 1e-3 * ratio[0].abs():
        factor = ratio[0].item()
        if abs(factor - 1) > 1e-2:
            return f"every value is {factor:.3g} times what it should be: which factor is missing, or one too many?"
    wrong = ~torch.isclose(got, expected, rtol=1e-3, atol=1e-4, equal_nan=True)
    gap = (got - expected).abs()[wrong]
    if not len(gap):
        return "the values are only roughly right: a rounding, an added epsilon, or a loss of precision on the way."
    worst = gap.max().item()
    size = f", by up to {worst:.2g}" if math.isfinite(worst) else ""
    return f"{int(wrong.sum())} of {expected.numel()} values differ{size}."


def unchanged(after: list[Any], sent: list[Any], names: str) -> None:
    """Raise `Wrong` unless the tensors among what was passed in still have their shapes and values exactly."""
    tensors = [one for one in sent if isinstance(one, torch.Tensor)]
    if len(after) < len(tensors):
        raise Wrong(f"What was passed in ({names}) does not come back: are torch's own functions replaced?")
    for got, original in zip(after, tensors, strict=False):
        if got.shape != original.shape or not torch.allclose(got, original, rtol=0, atol=0, equal_nan=True):
            raise Wrong(
                f"Your code changes its input ({names}): the caller's tensor is different afterwards. Look for "
                "in-place operations (`+=`, `/=`, names ending in `_`, writing into a slice) and make a new tensor "
                "instead.",
                "input_changed",
            )


def same_gradients(
    got: list[Any], expected: list[torch.Tensor], names: list[str], where: str = "", rough: bool = False
) -> None:
    """Raise `Wrong` unless the gradients with respect to the inputs or parameters of these names agree."""
    suffix = f" {where}" if where else ""
    if len(got) < len(expected):
        raise Wrong(f"No gradients come back{suffix}: are torch's own functions replaced?")
    for actual, wanted, name in zip(got, expected, names, strict=False):
        if actual is None:
            if wanted is None or not wanted.abs().max():
                continue
            raise Wrong(
                f"No gradient reaches {name}{suffix}: the result is cut off from it (`.detach()`, `.data`, `.item()`, "
                "`no_grad`, NumPy, or a new tensor built from numbers?), so nothing could be trained through it.",
                "gradient_cut_off",
            )
        actual = a_tensor(actual, f"The gradient of {name}")
        if wanted is None:
            wanted = torch.zeros_like(actual)
        if actual.isnan().any():
            raise Wrong(f"The gradient of {name}{suffix} contains NaN, although the values may look right.")
        # In single precision, even those in double: whether a computation keeps its precision shows in its values
        if actual.shape != wanted.shape or not close(actual.float(), wanted.float(), rough):
            raise ValuesDiffer(
                f"The gradient of {name}{suffix} is wrong: part of the computation is cut off or differs."
            )


def an_int(got: Any, what: str) -> int:
    """Return an int as it is."""
    if type(got) is not int:
        raise Wrong(f"{what} should be an int; yours is {kind(got)}.")
    return got


def a_number(got: Any, what: str, where: str) -> float:
    """Return a number, however it is wrapped; whether it is a plain float has a check of its own."""
    if isinstance(got, torch.Tensor) and got.numel() == 1:
        got = got.item()
    if type(got) not in (int, float):
        raise Wrong(f"{what} should be a number {where}; yours is {kind(got)}.")
    return float(got)


def of_shape(got: Any, what: str, shape: tuple[int, ...], where: str) -> torch.Tensor:
    """Return a tensor of this shape, whatever its numbers."""
    tensor = a_tensor(got, f"{what} {where}")
    if tensor.shape != shape:
        same_tensor(tensor, torch.zeros(shape, dtype=tensor.dtype), what, where)  # raises, with a hint
    return tensor


def ids_of_shape(got: Any, what: str, shape: tuple[int, ...], where: str) -> torch.Tensor:
    """Return a tensor of ids of this shape, whatever they are."""
    ids = of_shape(got, what, shape, where)
    if ids.is_floating_point() or ids.dtype == torch.bool:
        raise Wrong(f"{what} should hold ids, that is whole numbers, {where}; yours is {kind(ids)}.", "wrong_dtype")
    return ids


def same_values(got: Any, expected: torch.Tensor, what: str, where: str = "", rough: bool = False) -> None:
    """Compare as `same_tensor`, but lenient about the dtype and about a number in place of a scalar tensor.

    Right values deserve their marks; which type they have is the matter of another check.
    """
    if type(got) in (int, float) and not expected.dim():
        got = torch.tensor(got, dtype=torch.float64)
    if isinstance(got, torch.Tensor) and got.dtype != torch.bool:
        if not expected.is_floating_point() and not torch.equal(got, got.to(expected.dtype)):
            raise Wrong(f"{what} should be whole numbers{' ' + where if where else ''}; yours has fractions.")
        if got.dtype == torch.float32:
            expected = expected.to(got.dtype)  # right to the digits that it has
        got = got.to(expected.dtype)
    same_tensor(got, expected, what, where, rough)
