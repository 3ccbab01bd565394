"""Tell the value of an answer from its aspects, and judge each by itself.

A reply has a value, the numbers, and aspects: container, dtype and device, whether bad input was refused, inputs and
generator left alone, gradients there, names of layers and arguments. A lapse is an aspect that is not the reference's.
A check that looks at something else besides the values, such as the mode a model is left in, does it with a function
that returns {"lapses": {NAME: FACT}}: a fact that is not the reference's is a lapse of this name.
To find a mistake behind a lapse, the failed checks run once more, and every request goes to the student's code and to
the reference: the check sees the student's values with the reference's aspects. To find what a lapse costs by itself,
it sees the reference's values with the student's aspect.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...spec.exercise import Check, Exercise, Wrong
from ...untrusted.responder import Responder
from ...untrusted.wire import Opaque, Ref, is_tensor
from ..run_check import namespace_with, run_check, student_with_answer
from ..student import RecordedReplies, Reply, Send, Student, agree, handles, request_reply, type_of_error

if TYPE_CHECKING:
    import torch

OTHER_NAMES = "other_names"
# Common lapses that do not follow from other faults
FACTS = frozenset(
    {
        "device_not_kept",
        "bad_input_accepted",
        "error_of_another_type",
        "input_changed",
        "default_missing",
        "other_names",
        "other_signature",
        "global_generator",
        "single_precision",
        "double_precision",
        "other_dtype",
        "other_container",
        "other_number",
        "tensor_returned",
        "list_returned",
        "python_number",
    }
)
Outline = dict[str, dict[str, Any]]  # the shapes of a module's parameters and the kinds of its parts, by name
Part = tuple[str, tuple[tuple[int, ...], ...]]  # the kind of a part of a module, and the shapes in it
SINGLE = 3e-6  # relative error of a few operations in single precision
DOUBLE = 1e-9
ELSEWHERE = ("device", "strict_device")  # options of a call that puts something on another device
IN_PLACE = re.compile("leaf Variable that requires grad|modified by an inplace operation")  # of PyTorch's errors
MISSING = re.compile(r"missing \d+ required (?:positional|keyword-only) arguments?: ")
UNKNOWN = re.compile(r"got an unexpected keyword argument '(\w+)'")
# What tells the layers of a module apart; a parameter that two of them share counts in both.
OUTLINE = """
def outline(module):
    return {
        "shapes": {name: tuple(value.shape) for name, value in module.named_parameters(remove_duplicate=False)},
        "kinds": {name: type(part).__name__ for name, part in module.named_children()},
    }
"""
RENAME = """
def rename(module, names):
    deeper = [(new, module.get_submodule(old)) for old, new in names.items() if "." in old]
    for table, first in ((module._modules, deeper), (module._parameters, [])):
        items = [*first, *((names.get(name, name), value) for name, value in table.items())]
        table.clear()
        table.update(items)  # PyTorch reports a layer under the first of its names
    def part(name):  # for the student's own code, which goes on by its names
        return property(lambda self: getattr(self, name), lambda self, value: setattr(self, name, value))
    own = type(module)
    module.__class__ = type(own.__name__, (own,), {old: part(new) for old, new in names.items() if "." not in old})
"""
WITH_DEFAULTS = """
def with_defaults(module, defaults):
    own = type(module)
    def forward(self, *args, **kwargs):
        given = own.forward.__code__.co_varnames[1 : 1 + len(args)]
        return own.forward(self, *args, **{n: d for n, d in defaults.items() if n not in given} | kwargs)
    module.__class__ = type(own.__name__, (own,), {"forward": forward})
"""


@dataclass
class Separated:
    """The failed checks, run with the student's values and the reference's aspects."""

    failures: dict[str, Wrong | None]  # by title
    replies: RecordedReplies
    lapses: dict[str, list[str]]  # the titles of the checks in which each shows
    without_gradients: set[str]  # titles of checks in which the reference's gradients stand in for missing ones
    names: dict[str, str]  # of layers: the student's, and those of the box
    facts: set[str]  # lapses that cost what they cost alone also where no known mistake explains the values


def separated(exercise: Exercise, checks: Sequence[Check], student: Student, left: Collection[str] = ()) -> Separated:
    """Run checks with the student's values and the reference's aspects, except those of the lapses that are `left`."""
    found = Separated({}, {}, {}, set(), {}, set(FACTS))
    for check in checks:
        combining = _Combining(exercise, student, found.names, left=left)
        found.failures[check.title] = _failure(exercise, check, combining)
        found.replies[check.title] = combining.replies[check.title]
        for name in combining.lapses:
            found.lapses.setdefault(name, []).append(check.title)
        found.facts |= combining.left_behind
        if combining.without_gradients:
            found.without_gradients.add(check.title)
    return found


def by_itself(
    exercise: Exercise, checks: Sequence[Check], student: Student, lapse: str, names: dict[str, str]
) -> tuple[dict[str, Wrong | None], RecordedReplies]:
    """Run checks with the reference's values and this lapse of the student's; return failures and replies by title.

    `names` has the box's name for each of the student's layers under another one.
    """
    failures, replies = {}, {}
    for check in checks:
        if lapse == OTHER_NAMES:
            combining: Student = student_with_answer(exercise, _renamed(exercise, {*names.values()}))
        else:
            combining = _Combining(exercise, student, {}, only=lapse)
        failures[check.title] = _failure(exercise, check, combining)
        replies[check.title] = combining.replies[check.title]
    return failures, replies


def _renamed(exercise: Exercise, names: set[str]) -> str:
    """Return the reference's source with other names in place of these names of layers.

    It runs in the judge's process, so it holds nothing that a student wrote: it does not matter what the names are.
    """
    return re.sub(
        r"\bself\.(\w+)", lambda found: f"self.other_{found[1]}" if found[1] in names else found[0], exercise.source
    )


def _failure(exercise: Exercise, check: Check, student: Student) -> Wrong | None:
    try:
        run_check(exercise, check, student)
    except Wrong as wrong:
        return wrong
    return None


@functools.cache
def _reference_names(exercise: Exercise) -> dict[str, Any]:
    return namespace_with(exercise, exercise.source)


class _Combining(Student):
    """Sends each request to the student and to the reference; gives the values of one with the aspects of the other.

    These are the student's values, with the student's own aspects where a lapse is `left`. With `only`, they are the
    reference's, with this lapse of the student's.
    """

    def __init__(
        self,
        exercise: Exercise,
        student: Student,
        names: dict[str, str],
        only: str = "",
        left: Collection[str] = (),
    ) -> None:
        super().__init__(student.send, student.submission_key)
        self.exercise = exercise
        self.reference = Responder(_reference_names(exercise))
        self.only, self.left, self.names = only, left, names
        self.handles: dict[int, Ref] = {}  # the reference's, by the number of the student's
        self.probes: set[object] = set()  # the handles of the judge's own functions
        self.lapses: dict[str, None] = {}
        self.left_behind: set[str] = set()  # lapses that functions of the judge look for
        self.without_gradients = False
        self.cut = ""  # the lapse because of which gradients of this reply are missing
        self.whole = False  # whether the lapse leaves nothing else in this reply

    def _reply_to(self, request: dict[str, Any]) -> Reply:
        if then := request.get("then"):  # one by one: layers are renamed before they are loaded
            built = self._reply_to({option: value for option, value in request.items() if option != "then"})
            for target in handles(built):
                for do, argument in then:
                    self._reply_to({"do": do, "target": target, {"load": "state", "move": "to"}[do]: argument})
            return built
        expected = self._reference_reply(request)
        self.cut, self.whole = "gradient_cut_off", False
        actual = self._student_reply(request, expected)
        for own, reference in zip(handles(actual), handles(expected), strict=False):
            self.handles[own.key] = reference
            self._rename(own, reference)
        if request["do"] == "define" and isinstance(actual.get("value"), Ref):
            self.probes.add(actual["value"])
        if request["do"] != "call" or request.get("keep"):
            return expected if self.only and not handles(expected) else actual
        return self._combined(actual, expected)

    def _reference_reply(self, request: dict[str, Any]) -> Reply:
        return request_reply(self.reference.respond, _with_handles(request, self.handles))

    def _student_reply(self, request: dict[str, Any], expected: Reply) -> Reply:
        """Return the student's reply; where only the form of the call is at fault, the reply to another form."""
        actual = request_reply(self.send, request)
        if request["do"] != "call" or ("value" not in expected and expected["problem"].get("kind") != "raised"):
            return actual
        if request["target"] in self.probes and MISSING.search(str(actual.get("problem", {}).get("text"))):
            if not self._adapts("default_missing"):
                self.whole = self.only == "default_missing"
                return actual
            self._give_defaults(request["args"])
            actual = request_reply(self.send, request)
        elif adapted := self._adapted(request, actual):
            lapse, other = adapted
            again = request_reply(self.send, other)
            if again.get("problem", {}).get("type") != "TypeError":
                self.whole = self.only == lapse
                request, actual = (other, again) if self._adapts(lapse) else (request, actual)
        if "value" not in expected:
            return actual
        if any(request.get(option) for option in ELSEWHERE):
            here = request_reply(self.send, {key: value for key, value in request.items() if key not in ELSEWHERE})
            # On the wrong device, some operations read whatever is in memory
            if _strays(actual, expected) or (request.get("strict_device") and not agree(actual, here)):
                if self._takes("device_not_kept") and not self.only:
                    return here | {"kept": True} if "kept" in expected else here
                self.whole = self.only == "device_not_kept"
                return actual
        if request.get("upstream") is not None and IN_PLACE.search(str(actual.get("problem", {}).get("text"))):
            forward = request_reply(self.send, request | {"upstream": None})
            if "problem" in forward or _same(forward.get("inputs"), expected.get("inputs")):
                return actual  # something else was changed
            if not self._takes("input_changed") or self.only:
                self.whole = self.only == "input_changed"
                return actual
            self.cut = "input_changed"
            return forward | {"gradients": _none(expected["gradients"])}
        return actual

    def _adapted(self, request: dict[str, Any], actual: Reply) -> tuple[str, dict[str, Any]] | None:
        """Return the lapse and the request with all arguments by position, if that is why the call was refused."""
        problem = actual.get("problem", {})
        text = str(problem.get("text"))
        if problem.get("type") != "TypeError" or problem.get("own"):
            return None
        lapse = "default_missing" if MISSING.search(text) else "other_signature" if UNKNOWN.search(text) else ""
        if not lapse:
            return None
        try:
            function = self.reference._find(_with_handles(request["target"], self.handles))
            bound = inspect.signature(getattr(function, "forward", function)).bind(
                *request["args"], **request["kwargs"]
            )
        except (KeyError, AttributeError, TypeError, ValueError):
            return None
        bound.apply_defaults()
        return lapse, request | {"args": list(bound.args), "kwargs": bound.kwargs}

    def _give_defaults(self, modules: Sequence[Any]) -> None:
        """Give the modules among these the defaults of the reference's, so that a probe can call them."""
        for module in modules:
            if isinstance(module, Ref) and module.key in self.handles:
                forward = getattr(self.reference.kept[self.handles[module.key].key], "forward", None)
                parameters = inspect.signature(forward).parameters.values() if forward else ()
                defaults = {one.name: one.default for one in parameters if one.default is not one.empty}
                _run_probe(self.send, "with_defaults", WITH_DEFAULTS, module, defaults)

    def _rename(self, module: Ref, reference: Ref) -> None:
        """Give the layers of a student's module the names of the reference's, where kind and shapes tell which."""
        kept = self.reference.kept[reference.key]
        if self.reference.tensors is None or not isinstance(kept, self.reference.tensors.nn.Module):
            return
        own = _run_probe(self.send, "outline", OUTLINE, module)
        box = _run_probe(self.reference.respond, "outline", OUTLINE, reference)
        names = names_of_the_box(own, box, self.names) if _is_outline(own) else {}
        if names and self._adapts(OTHER_NAMES):
            _run_probe(self.send, "rename", RENAME, module, names)
            self.names |= names

    def _combined(self, actual: Reply, expected: Reply) -> Reply:
        if self.whole:
            return actual if "kept" not in actual else expected | {"kept": actual["kept"]}
        if expected.get("problem", {}).get("kind") == "raised":
            return self._refusal(actual, expected)
        if "problem" in expected:
            return expected
        if "problem" in actual:
            return expected if self.only else _as_value_error(actual)
        values, form = (expected, actual) if self.only else (actual, expected)
        if (facts := facts_in(expected)) is not None:
            return values | {"value": {"lapses": self._chosen(facts_in(values) or facts, facts_in(form) or facts)}}
        conversion = _Conversion(self._takes, bool(self.only), self.cut)
        result = dict(values) | {"value": conversion.of(values["value"], form["value"])}
        if actual.get("rng_moved") and not expected.get("rng_moved") and self._takes("global_generator"):
            result["rng_moved"] = form["rng_moved"]
        for part in ("inputs", "after"):
            both = part in actual and part in expected
            if both and not _same(actual[part], expected[part]) and self._takes("input_changed"):
                result[part] = form[part]
        if isinstance(values.get("gradients"), dict) and isinstance(form.get("gradients"), dict):
            if not _tensors(actual["value"]):
                self.cut = "list_returned" if isinstance(actual["value"], (list, tuple)) else "python_number"
            result["gradients"] = self._gradients(values["gradients"], form["gradients"], conversion)
        return result

    def _chosen(self, facts: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
        """Return facts about what a call left behind, those of the lapses from the other reply."""
        self.left_behind |= facts.keys()
        return {
            name: others[name] if name in others and others[name] != fact and self._takes(name) else fact
            for name, fact in facts.items()
        }

    def _takes(self, lapse: str) -> bool:
        """Record a lapse, and return whether the aspect that it is about comes from the other reply."""
        self.lapses[lapse] = None
        return self.only in ("", lapse) and lapse not in self.left

    def _adapts(self, lapse: str) -> bool:
        """Record a lapse, and return whether to send another request because of it."""
        self.lapses[lapse] = None
        return lapse not in (self.only, *self.left)

    def _refusal(self, actual: Reply, expected: Reply) -> Reply:
        problem = actual.get("problem", {})
        if problem.get("kind") not in (None, "raised"):
            return expected if self.only else actual
        if not problem:
            name = "error_returned" if self._is_error(actual.get("value")) else "bad_input_accepted"
        elif type_of_error(problem) != type_of_error(expected["problem"]):  # refused, or stopped by an operation
            name = "error_of_another_type" if problem.get("own") else "bad_input_accepted"
        else:
            return actual
        if self._takes(name) == bool(self.only):
            return actual
        own = {"text": problem["text"]} if name == "error_of_another_type" else {}
        return expected | {"problem": expected["problem"] | own}  # whether the text says enough is another matter

    def _is_error(self, value: Any) -> bool:
        """Return whether a result is an exception or its message, and no answer."""
        if isinstance(value, Opaque):
            return value.type_name.endswith(("Error", "Exception"))
        return isinstance(value, str) and self.exercise.gives not in ("str", "text")

    def _gradients(self, values: dict[str, Any], form: dict[str, Any], conversion: _Conversion) -> dict[str, Any]:
        result = dict(values)
        for part, gradients in values.items():
            others = form.get(part)
            if isinstance(gradients, dict) and isinstance(others, dict):
                result[part] = {n: self._gradient(one, others.get(n), conversion) for n, one in gradients.items()}
            elif isinstance(gradients, list) and isinstance(others, list) and len(gradients) == len(others):
                pairs = zip(gradients, others, strict=True)
                result[part] = [self._gradient(one, other, conversion) for one, other in pairs]
        return result

    def _gradient(self, value: Any, form: Any, conversion: _Conversion) -> Any:
        missing, there = (form, value) if self.only else (value, form)
        if missing is None and is_tensor(there) and bool((there != 0).any()):
            if not self._takes(self.cut):
                return value
            self.without_gradients = True
            return form
        return conversion.of(value, form) if is_tensor(value) and is_tensor(form) else value


class _Conversion:
    """Converts numbers into the container, dtype and so on of another reply, where `takes` says so of the lapse.

    `swapped`: the numbers are the reference's, and the form is the student's.
    """

    def __init__(self, takes: Callable[[str], bool], swapped: bool, cut: str) -> None:
        self.takes, self.swapped, self.cut = takes, swapped, cut

    def of(self, values: Any, form: Any) -> Any:
        """Return numbers in another form. What cannot be converted without loss stays as it is."""
        if is_tensor(values) and is_tensor(form):
            return self._tensor(values, form)
        if is_tensor(form) or is_tensor(values):
            return self._across(values, form)
        if isinstance(values, (list, tuple)) and isinstance(form, (list, tuple)):
            alike = len(values) == len(form)
            items = [self.of(value, like) for value, like in zip(values, form, strict=True)] if alike else values
            other = type(values) is not type(form) and self.takes("other_container")
            return type(form if other else values)(items)
        if isinstance(values, dict) and isinstance(form, dict) and values.keys() == form.keys():
            return {key: self.of(value, form[key]) for key, value in values.items()}
        if {type(values), type(form)} in ({int, float}, {bool, int}) and values == type(form)(values):
            return type(form)(values) if self.takes("other_number") else values
        return values

    def _tensor(self, values: torch.Tensor, form: torch.Tensor) -> torch.Tensor:
        import torch

        if "meta" in (values.device.type, form.device.type):
            return values
        result, differentiable = values, values.was_differentiable  # type: ignore[attr-defined]
        sizes, wanted = ([n for n in tensor.shape if n != 1] for tensor in (values, form))
        if values.shape != form.shape and sizes == wanted and self.takes("squeezed"):
            result = result.reshape(form.shape)
        alike = result.shape == form.shape
        if result.dtype != form.dtype:
            cast = result.to(form.dtype)
            floats = result.is_floating_point() and form.is_floating_point()
            if not floats and not torch.equal(cast.to(result.dtype), result):
                return values
            if self.takes(self._dtype_lapse(values, form) if floats else "other_dtype"):
                rounded = alike and floats and not self.swapped and _alike(cast, form, SINGLE)
                result = form if rounded else cast  # the digits that are lost are no fault of their own
        elif alike and result.dtype == torch.float64:
            result = self._precision(result, form)
        if differentiable != form.was_differentiable and self.takes(self.cut):  # type: ignore[attr-defined]
            differentiable = form.was_differentiable  # type: ignore[attr-defined]
        return _marked(result, differentiable)

    def _precision(self, values: torch.Tensor, form: torch.Tensor) -> torch.Tensor:
        lapse = "single_precision_inside"
        if self.swapped:  # whether the student's values went through float32 may not show beside another mistake
            return values.float().double() if self.takes(lapse) else values
        differ = _alike(values, form, SINGLE) and not _alike(values, form, DOUBLE)
        return form if differ and self.takes(lapse) else values

    def _dtype_lapse(self, values: torch.Tensor, form: torch.Tensor) -> str:
        import torch

        actual, expected = (form, values) if self.swapped else (values, form)
        lapses = {torch.float64: "double_precision", torch.float32: "single_precision"}
        return lapses.get(actual.dtype, "other_dtype") if expected.dtype in lapses else "other_dtype"

    def _across(self, values: Any, form: Any) -> Any:
        """Return a number or list as a tensor, or a tensor as a number or list."""
        if is_tensor(form):
            result = _as_tensor(values, form)
            lapse = "python_number" if isinstance(values, (bool, int, float)) else "list_returned"
            return values if result is None or not self.takes("tensor_returned" if self.swapped else lapse) else result
        result = _as_plain(values, form)
        lapse = "tensor_returned"
        if self.swapped:
            lapse = "python_number" if isinstance(form, (bool, int, float)) else "list_returned"
        return values if result is None or not self.takes(lapse) else self.of(result, form)


def _as_tensor(values: Any, form: torch.Tensor) -> torch.Tensor | None:
    import torch

    if type(values) not in (bool, int, float, list, tuple) or form.device.type == "meta":
        return None
    try:
        result = torch.tensor(values, dtype=form.dtype)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None
    if result.numel() == form.numel() == 1:
        result = result.reshape(form.shape)
    return _marked(result, form.was_differentiable) if result.shape == form.shape else None  # type: ignore[attr-defined]


def _as_plain(values: torch.Tensor, form: Any) -> Any:
    if values.device.type == "meta":
        return None
    if type(form) in (bool, int, float) and values.numel() == 1:
        return values.item()
    if type(form) in (list, tuple) and values.dim() and len(values) == len(form):
        return type(form)(values.tolist())
    return None


def _with_handles(value: Any, handles: dict[int, Ref]) -> Any:
    """Return a request with the reference's handles in place of the student's."""
    if isinstance(value, Ref):
        return handles.get(value.key, Ref(-1))
    if isinstance(value, (list, tuple)):
        return type(value)(_with_handles(item, handles) for item in value)
    if isinstance(value, dict):
        return {key: _with_handles(item, handles) for key, item in value.items()}
    return value


def _strays(actual: Reply, expected: Reply) -> bool:
    """Return whether an answer left its device where the reference keeps it."""
    if "problem" in actual:
        return bool(actual["problem"].get("kind") == "device") or "device" in str(actual["problem"].get("text"))
    if expected.get("kept") is True and actual.get("kept") is False:
        return True
    return any(t.device.type == "meta" for t in _tensors(actual["value"])) and not any(
        t.device.type == "meta" for t in _tensors(expected["value"])
    )


def facts_in(reply: Reply) -> dict[str, Any] | None:
    """Return the facts that a function of the judge found, such as a model's mode, if a reply holds such; else None."""
    value = reply.get("value")
    found = value.get("lapses") if isinstance(value, dict) else None
    return found if isinstance(found, dict) else None


def _tensors(value: Any) -> list[torch.Tensor]:
    if is_tensor(value):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for item in value for t in _tensors(item)] if isinstance(value, (list, tuple)) else []


def _none(gradients: dict[str, Any]) -> dict[str, Any]:
    """Return gradients in the same form, none of them there."""
    return {
        part: dict.fromkeys(found) if isinstance(found, dict) else [None] * len(found)
        for part, found in gradients.items()
    }


def _as_value_error(reply: Reply) -> Reply:
    """Return an error that the student's own `raise` made, as a ValueError: its type is a lapse of its own."""
    problem = reply["problem"]
    if problem.get("kind") != "raised" or not problem.get("own"):
        return reply
    return reply | {"problem": problem | {"type": "ValueError", "base": "ValueError"}}


def _same(actual: Any, expected: Any) -> bool:
    if is_tensor(actual) and is_tensor(expected):
        return bool(
            actual.shape == expected.shape
            and actual.dtype == expected.dtype
            and ((actual == expected) | ((actual != actual) & (expected != expected))).all()
        )
    if isinstance(actual, (list, tuple)) and isinstance(expected, (list, tuple)):
        return len(actual) == len(expected) and all(map(_same, actual, expected))
    if isinstance(actual, dict) and isinstance(expected, dict):
        return actual.keys() == expected.keys() and all(_same(actual[key], expected[key]) for key in actual)
    return isinstance(actual, Ref) or type(actual) is not type(expected) or bool(actual == expected)


def _alike(one: torch.Tensor, other: torch.Tensor, relative: float) -> bool:
    import torch

    finite = other[other.isfinite()]
    scale = finite.abs().max().item() if finite.numel() else 1.0
    return torch.allclose(one, other, rtol=relative, atol=relative * max(scale, 1e-30), equal_nan=True)


def _marked(tensor: torch.Tensor, differentiable: bool) -> torch.Tensor:
    """Return a tensor, a new one, that says whether the original could be differentiated."""
    result = tensor.detach().clone()
    result.was_differentiable = differentiable  # type: ignore[attr-defined]
    return result


def _run_probe(send: Send, name: str, source: str, *args: Any) -> Any:
    """Define one of the judge's functions where requests are sent to, call it, and return its result; None without."""
    probe = request_reply(send, {"do": "define", "name": name, "source": source}).get("value")
    return request_reply(send, {"do": "call", "target": probe, "args": list(args), "kwargs": {}}).get("value")


def _is_outline(value: Any) -> bool:
    """Return whether a value that a student's process sent has the form of an outline."""
    if not isinstance(value, dict) or not all(isinstance(value.get(part), dict) for part in ("shapes", "kinds")):
        return False
    sizes = [size for shape in value["shapes"].values() for size in (shape if isinstance(shape, tuple) else [None])]
    return all(isinstance(one, int) for one in sizes) and all(
        isinstance(name, str) for part in ("shapes", "kinds") for name in value[part]
    )


def names_of_the_box(own: Outline, box: Outline, known: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Return the box's name for each layer or parameter of a module whose name is not the box's.

    `own` and `box` are outlines of modules. A layer is the one of the same kind and shapes, or else of the same shapes,
    or else of the same kind and shapes but for a bias; of several, names decide, and then the order in which they are
    made. What is left is the last one, whatever it is, or layers of these shapes inside of others, as in a list. If
    one is not found, none is. `known` is what another module of the class told, whose layers may have had other
    shapes.
    """
    wanted, present = _parts(box), _parts(own)
    missing = [name for name in wanted if name not in present]
    extra = [name for name in present if name not in wanted]
    names = {old: new for old, new in known.items() if old in extra and new in missing}
    if len(names) == len(missing) and all(present[old][1] == wanted[new][1] for old, new in names.items()):
        return names
    names = {}
    for seen in (lambda part: part, lambda part: part[1], _without_bias):
        for name in list(missing):
            group = [one for one in missing if wanted[one] == wanted[name]]
            candidates = [one for one in extra if seen(present[one]) == seen(wanted[name])]
            if group[:1] != [name] or len(candidates) < len(group):
                continue
            for new, old in _paired(group, candidates).items():
                names[old] = new
                missing.remove(new)
                extra.remove(old)
    if len(missing) == len(extra) == 1:
        names[extra.pop()] = missing.pop()
    missing = [name for name in missing if wanted[name][1]]  # one without parameters, such as a dropout, is not needed
    for inside in (_inside(own, extra, -1), _inside(own, extra, 2)) if missing else ():
        for name in list(missing):
            group = [one for one in missing if wanted[one][1] == wanted[name][1]]
            candidates = [one for one in inside if inside[one] == wanted[name][1] and one not in names]
            if group[:1] == [name] and len(candidates) >= len(group):
                for new, old in _paired(group, candidates).items():
                    names[old] = new
                    missing.remove(new)
    return {} if missing else names


def _inside(outline: Outline, parts: Collection[str], depth: int) -> dict[str, tuple[tuple[int, ...], ...]]:
    """Return the shapes in each layer inside of these parts of a module: in the innermost ones, or at another depth."""
    shapes: dict[str, list[tuple[int, ...]]] = {}
    for name, shape in outline["shapes"].items():
        path = name.split(".")
        if path[0] in parts and len(path) > 2:
            shapes.setdefault(".".join(path[:depth]), []).append(shape)
    nearest = sorted(shapes, key=lambda name: name.count("."))  # a norm beside a list, before the norms in its blocks
    return {name: tuple(sorted(shapes[name])) for name in nearest}


def _parts(outline: Outline) -> dict[str, Part]:
    """Return the kind and the shapes of each part of a module, by its name."""
    shapes: dict[str, list[tuple[int, ...]]] = {name: [] for name in outline["kinds"]}
    for name, shape in outline["shapes"].items():
        shapes.setdefault(name.partition(".")[0], []).append(shape)
    return {name: (str(outline["kinds"].get(name)), tuple(sorted(sizes))) for name, sizes in shapes.items()}


def _without_bias(part: Part) -> Part:
    kind, sizes = part
    return kind, tuple(size for size in sizes if len(size) > 1)


def _paired(wanted: list[str], present: list[str]) -> dict[str, str]:
    """Return for each wanted name one of those that are present: the one that begins alike, or else the next."""
    short = dict(zip(wanted, _distinct(wanted), strict=True)) | dict(zip(present, _distinct(present), strict=True))

    def common(one: str, other: str) -> int:
        pairs = zip(short[one], short[other], strict=False)
        return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(short[one]), len(short[other])))

    alike = {one: [other for other in present if common(one, other)] for one in wanted}
    if all(len(found) == 1 for found in alike.values()) and len({found[0] for found in alike.values()}) == len(wanted):
        return {one: found[0] for one, found in alike.items()}
    return dict(zip(wanted, present, strict=False))


def _distinct(names: list[str]) -> list[str]:
    """Return names in lower case without what they have in common at the beginning and at the end."""
    low = [name.lower() for name in names]
    for first, rest in ((slice(1), slice(1, None)), (slice(-1, None), slice(-1))):
        while len(low) > 1 and len({name[first] for name in low}) == 1 and all(len(name) > 1 for name in low):
            low = [name[rest] for name in low]
    return low
