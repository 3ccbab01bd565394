"""Represent the student to checks: send questions to the student's process, and record and return plain data."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..spec.exercise import Problem, Unanswered, ValuesDiffer, Wrong
from ..untrusted.responder import Responder
from ..untrusted.wire import Packet, Ref, WireError, decode, encode, is_tensor
from . import canonical

if TYPE_CHECKING:
    import torch

Send = Callable[[Packet], Packet]


UNDEFINED = "`{name}` is not defined: is the name unchanged, and did its cell run without an error?"
SYMPTOMS = {"raised": "stops_with_an_error", "time": "never_ends", "died": "ends_the_process"}


class Student:
    """Asks questions through `send` and records the answers, check by check, for the diagnosis.

    `call` and the other methods return plain data or raise `Wrong`. Tensors arrive as copies;
    `value.was_differentiable` tells whether the original could be differentiated.
    """

    def __init__(self, send: Send) -> None:
        self.send = send  # sends one request and returns its reply
        self.record: dict[str, list[Any]] = {}
        self.called: set[str] = set()  # names that checks called or built
        self._topic = ""
        self._failures: list[Wrong] = []

    def begin(self, topic: str) -> None:
        """Start a check: answers are recorded under this topic from now on."""
        self._topic = topic
        self._failures = []
        self.record[topic] = []

    @contextlib.contextmanager
    def case(self) -> Iterator[None]:
        """Run one of several cases of a check. If it fails, the others still run: together they tell mistakes apart."""
        try:
            yield
        except Wrong as wrong:
            if isinstance(wrong, Problem) and wrong.facts.get("kind") in ("time", "died"):
                raise
            self._failures.append(wrong)

    def finish(self) -> None:
        """End a check; raise the failure of the first case that failed."""
        if self._failures:
            raise self._failures[0]

    @property
    def failed_otherwise(self) -> Wrong | None:
        """Return the first failure of a case that is more than a difference in values."""
        return next((wrong for wrong in self._failures if not isinstance(wrong, ValuesDiffer)), None)

    # --- the record ---------------------------------------------------------------------------------------------------

    @property
    def answers(self) -> list[Any]:
        """Return the answers recorded for the check that is running."""
        return self.record.get(self._topic, [])

    @property
    def last(self) -> dict:
        """Return the last of these answers."""
        return self.answers[-1]

    def note(self, value: Any, answer: dict | None = None) -> None:
        """Replace the last recorded answer (or the given one of `answers`) by a summary of it.

        The summary replaces a call's value, everything in a module's state, or an error's type.
        """
        answer = self.last if answer is None else answer
        if isinstance(answer.get("problem"), dict):  # a copy: the sentence about the error uses the original
            answer["problem"] = answer["problem"] | {"type": value, "base": value}
            return
        if "value" not in answer:
            answer.clear()
        answer["value"] = value

    def note_gradients(self, parameters: dict[str, Any]) -> None:
        """Replace the parameters' gradients in the last recorded answer by these, under the judge's own names."""
        gradients = self.last.get("gradients")
        self.last["gradients"] = (gradients if isinstance(gradients, dict) else {}) | {"parameters": parameters}

    # --- questions ----------------------------------------------------------------------------------------------------

    def call(
        self,
        target: Any,
        args: list,
        kwargs: dict | None = None,
        where: str = "",
        *,
        record: bool = True,
        **options: Any,
    ) -> dict:
        """Call a function (by name), a built module (Ref), or a method ((target, "name")), and return the answer.

        The answer has "value", "inputs" (the tensors that were passed in, as they are afterwards), "rng_moved", and, if
        an `upstream` list of tensors is given (one for each output), "gradients" of sum(output * upstream). With
        `after=True` it also has "after": all arguments as they are afterwards, lists and dictionaries too. With
        `device="elsewhere"` the arguments are on a second device, and "kept" says whether all the results are there.
        """
        request = {"do": "call", "target": target, "args": args, "kwargs": kwargs or {}}
        return self._request(where, record, **request, **options)

    def value(self, target: Any, *args: Any, where: str = "", **kwargs: Any) -> Any:
        """Call, and return only the value."""
        return self.call(target, list(args), kwargs, where)["value"]

    def build(self, target: str, *args: Any, **kwargs: Any) -> Ref:
        """Build an object, keep it in the student's process, and return a handle."""
        return self.call(target, list(args), kwargs, "while building it", keep=True)["value"]

    def probe(self, name: str, source: str) -> Ref:
        """Define one of the judge's functions in the student's process, to pass as an argument; return a handle."""
        return self._request("", record=False, do="define", name=name, source=source)["value"]

    def state(self, module: Ref, *, record: bool = True) -> dict:
        """Return a module's "parameters", "buffers", "trainable" names and types of "children"."""
        return self._request("", record, do="state", target=module)

    def load(self, module: Ref, state: dict[str, torch.Tensor]) -> None:
        self._request("", record=False, do="load", target=module, state=state)

    def move(self, module: Ref, to: str) -> None:
        self._request("", record=False, do="move", target=module, to=to)

    def read(self, name: str) -> Any:
        return self._request("", do="read", name=name)["value"]

    def has(self, name: str) -> bool:
        return self._request("", record=False, do="has", name=name)["value"] is True

    def bind(self, sources: dict[str, str]) -> None:
        self._request("", record=False, do="bind", sources=sources)

    # --- one request --------------------------------------------------------------------------------------------------

    def _request(self, where: str, record: bool = True, **request: Any) -> dict:
        try:
            reply = decode(self.send(encode(request)))
        except WireError as error:
            reply = {"problem": {"kind": "unreadable", "text": str(error)}}
        if not isinstance(reply, dict):
            reply = {"problem": {"kind": "unreadable", "text": "not an answer"}}
        if isinstance(request.get("target"), str):
            self.called.add(request["target"])
        if record and self._topic:
            self.record[self._topic].append(reply)
        if "problem" in reply:
            facts = reply["problem"] if isinstance(reply["problem"], dict) else {"kind": "unreadable"}
            raise _problem(facts, where)
        return _complete(reply, request)


REPLY_PARTS: dict[str, dict[str, Any]] = {
    "call": {
        "value": None,
        "inputs": [],
        "rng_moved": False,
        "gradients": {},
        "operations": [],
        "after": [],
        "kept": False,
    },
    "state": {"parameters": {}, "buffers": {}, "trainable": [], "children": {}},
}


def _complete(reply: dict, request: dict) -> dict:
    """Return the parts a reply should have; missing or wrongly typed parts of a forged one get harmless values."""
    parts = REPLY_PARTS.get(request["do"], {"value": None})
    whole = {
        name: reply[name] if name == "value" or type(reply.get(name)) is type(default) else default
        for name, default in parts.items()
        if name in reply or name != "value" or default is None
    }
    whole.setdefault("value", None)
    if request.get("keep") and not isinstance(whole["value"], Ref):
        whole["value"] = Ref(-1)
    return whole


def _problem(facts: dict, where: str) -> Problem:
    symptom = SYMPTOMS.get(str(facts.get("kind")), "")
    if facts.get("kind") == "raised" and facts.get("type") == "NotImplementedError" and _is_stub(facts):
        return Unanswered(facts, symptom)
    return Problem(_sentence(facts, where), facts, symptom)


def _sentence(facts: dict, where: str) -> str:
    place = f" {where}" if where else ""
    match facts.get("kind"):
        case "missing":
            return UNDEFINED.format(name=facts.get("name"))
        case "not a module":
            return "The class you wrote does not give an `nn.Module`: does it inherit from `nn.Module`?"
        case "device":
            return f"On a GPU, your code would stop{place}: {facts.get('text')}"
        case "time":
            return (
                f"Your code did not come back within {facts.get('seconds')} seconds{place}: is there an endless loop?"
            )
        case "died":
            return f"Your code ended the Python process{place} (a crash, `os._exit`, or more memory than allowed)."
        case "raised":
            line = f", at the line `{facts['line']}`" if facts.get("line") else ""
            text = f": {facts['text']}" if facts.get("text") else ""
            return f"Your code stopped with {facts.get('type')}{text}{place}{line}."
        case _:
            return f"The judge could not read the answer{place} ({facts.get('text', 'malformed data')})."


def type_of_error(facts: dict) -> Any:
    """Return the built-in type that an error derives from: a library may rename its own types in the next version."""
    return facts.get("base", facts.get("type"))


def _is_stub(facts: dict) -> bool:
    """Return whether the student's own `raise NotImplementedError` was reached, not one of PyTorch's."""
    line, text = str(facts.get("line", "")), str(facts.get("text"))
    return line.startswith("raise") if line else "meta" not in text and "implemented for" not in text


def in_process(namespace: dict[str, Any]) -> Student:
    """Return a student whose code runs in this process. Data still cross the wire format, so that both kinds agree."""
    return Student(Responder(namespace).answer)


TOLERANCE = {False: (1e-3, 1e-5), True: (1e-9, 1e-11)}  # relative and absolute, for single and double precision
LAST_DIGITS = 4e-6, 1e-7  # for numbers outside tensors: some come from single precision, and some are rounded


def agree(mine: Any, theirs: Any, depth: int = 0) -> bool:
    """Return whether two answers are the same: equal structure, numbers equal up to rounding, errors of the same type.

    Adding in another order changes last digits: in tensors, in a `loss.item()`, and in a number written as text.
    """
    if depth > 20 or type(mine) is not type(theirs):
        return False
    if is_tensor(mine):
        import torch

        if mine.shape != theirs.shape or mine.dtype != theirs.dtype or mine.device != theirs.device:
            return False
        if mine.device.type == "meta" or not mine.is_floating_point():
            return mine.device.type == "meta" or torch.equal(mine, theirs)
        same = torch.allclose(mine, theirs, *TOLERANCE[mine.dtype == torch.float64], equal_nan=True)
        return same and mine.was_differentiable == theirs.was_differentiable  # type: ignore[attr-defined]
    if isinstance(mine, dict):
        if mine.get("kind") == "raised":
            return type_of_error(mine) == type_of_error(theirs)
        keys, others = (sorted(set(one) - {"operations"}, key=canonical.key) for one in (mine, theirs))
        return len(keys) == len(others) and all(
            agree(key, other, depth + 1) and agree(mine[key], theirs[other], depth + 1)
            for key, other in zip(keys, others, strict=True)
        )
    if isinstance(mine, (list, tuple)):
        return len(mine) == len(theirs) and all(agree(a, b, depth + 1) for a, b in zip(mine, theirs, strict=True))
    if isinstance(mine, float):
        if not (math.isfinite(mine) and math.isfinite(theirs)):
            return repr(mine) == repr(theirs)
        relative, absolute = LAST_DIGITS
        return abs(mine - theirs) <= absolute + relative * abs(theirs)
    if isinstance(mine, (str, set, frozenset)):
        apart: Callable = canonical.split if isinstance(mine, str) else canonical.unordered
        (text, floats), (other, others) = apart(mine), apart(theirs)
        return text == other and agree(floats, others, depth + 1)
    return isinstance(mine, Ref) or mine == theirs  # handles are numbered in order of arrival
