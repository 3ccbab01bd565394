"""Represent the student to checks: send requests to the student's process, and record and return plain data."""

from __future__ import annotations

import contextlib
import math
import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..spec import student as spec
from ..spec.exercise import Problem, Unanswered, ValuesDiffer, Wrong
from ..untrusted.responder import Responder
from ..untrusted.wire import Packet, Ref, WireError, decode, encode, is_tensor
from . import canonical

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
Send = Callable[[Packet], Packet]
Reply = spec.Reply  # "problem" if there is no value
RecordedReplies = spec.RecordedReplies

UNDEFINED = "`{name}` is not defined: is the name unchanged, and did its cell run without an error?"
FACTS = ("kind", "type", "base", "text", "line", "own", "name", "seconds")  # about a problem
MAX_FACT = 500  # characters of one: the student's process sends them, so the judge cuts them
ORDERS = 8  # in which the cases of a check may run: few, so that conclusions can be cached
SYMPTOMS = {"raised": "stops_with_an_error", "time": "never_ends", "died": "ends_the_process"}


class Enough(Exception):
    """Raised at the start of a case beyond the number that should run."""


class Student(spec.Student):
    """Send requests through `send`, and record the replies for the diagnosis.

    Tensors arrive as copies; `value.was_differentiable` tells whether the original could be differentiated.
    `submission_key` is a secret text that decides the order of cases; without it they come as declared.
    """

    def __init__(self, send: Send, submission_key: str = "") -> None:
        super().__init__()
        self.send = send  # sends one request and returns its reply
        self.submission_key = submission_key
        self.called: set[str] = set()  # names that checks called or built
        self.shuffled = False  # whether the running check takes its cases in any order
        self._failures: list[tuple[int, Wrong]] = []  # each with the position of its case
        self._position = 0  # of the case that runs, in the declared order
        self._positions: list[int] = []  # of the recorded replies
        self._cases: float = math.inf  # that may still run

    def begin(self, topic: str, cases: float = math.inf) -> None:
        """Start a check: replies are recorded under this topic from now on. After so many `cases` it is at its end."""
        self._topic = topic
        self._failures, self._position, self._positions = [], 0, []
        self._cases, self.shuffled = cases, False
        self.replies[topic] = []
        self._probes.clear()

    def order(self, topic: str) -> int:
        """Return the number of the order in which this check's cases run; 0 is the declared order."""
        return 1 + zlib.crc32(f"{self.submission_key} {topic}".encode()) % ORDERS if self.submission_key else 0

    def in_any_order(self, cases: Sequence[T]) -> Iterator[T]:
        self.shuffled = True
        numbers = list(range(len(cases)))
        if number := self.order(self._topic):
            random.Random(number).shuffle(numbers)
        first = self._position + 1
        for one in numbers:
            self._position = first + one
            yield cases[one]
        self._position = first + len(cases)

    @contextlib.contextmanager
    def intercepted(self, through: Callable[[Packet, Send], Packet]) -> Iterator[None]:
        """Send each request of this block by `through(request, send)`."""
        send = self.send
        self.send = lambda request: through(request, send)
        try:
            yield
        finally:
            self.send = send

    @contextlib.contextmanager
    def case(self) -> Iterator[None]:
        self._cases -= 1
        if self._cases < 0:
            raise Enough
        try:
            yield
        except Wrong as wrong:
            if isinstance(wrong, Problem) and wrong.facts.get("kind") in ("time", "died"):
                raise
            self._failures.append((self._position, wrong))

    def finish(self) -> None:
        """End a check; raise the failure of the first case that failed."""
        if self._failures:
            raise self.failures[0]

    def sort_replies(self) -> None:
        """Put the recorded replies into the order in which the check declares its cases."""
        pairs = zip(self._positions, self.replies[self._topic], strict=True)
        self.replies[self._topic] = [answer for _, answer in sorted(pairs, key=lambda pair: pair[0])]

    @property
    def failures(self) -> list[Wrong]:
        """Return the failures of the check's cases, in the order in which the check declares them."""
        return [wrong for _, wrong in sorted(self._failures, key=lambda pair: pair[0])]

    @property
    def failed_otherwise(self) -> Wrong | None:
        """Return the first failure of a case that is more than a difference in values."""
        return next((wrong for wrong in self.failures if not isinstance(wrong, ValuesDiffer)), None)

    def bind(self, sources: dict[str, str]) -> None:
        """Define other exercises' names by these sources."""
        self._request("", record=False, do="bind", sources=sources)

    def _request(self, where: str, record: bool = True, **request: Any) -> Reply:
        reply = self._reply_to(request)
        if isinstance(request.get("target"), str):
            self.called.add(request["target"])
        if record and self._topic:
            self.replies[self._topic].append(reply)
            self._positions.append(self._position)
        if "problem" in reply:
            self._probes.clear()  # another process may answer from now on
            raise _problem(reply["problem"], where)
        return _complete(reply, request)

    def _reply_to(self, request: dict[str, Any]) -> Reply:
        """Send a request and return the reply: one that cannot be read counts as a problem."""
        return request_reply(self.send, request)


def request_reply(send: Send, request: dict[str, Any]) -> Reply:
    """Return the reply to a request, decoded, and bounded if it is a problem."""
    try:
        reply = decode(send(encode(request)))
    except WireError as error:
        reply = {"problem": {"kind": "unreadable", "text": str(error)}}
    if not isinstance(reply, dict):
        reply = {"problem": {"kind": "unreadable", "text": "not an answer"}}
    return {"problem": _bounded(reply["problem"])} if "problem" in reply else reply


CALL = {"inputs": [], "rng_moved": False, "gradients": {}, "operations": [], "after": [], "kept": False}
STATE: Reply = {"parameters": {}, "buffers": {}, "trainable": [], "children": {}}
DEFAULTS: dict[str, Reply] = {"call": CALL, "state": STATE}


def _complete(reply: Reply, request: dict[str, Any]) -> Reply:
    """Return the parts a reply should have; missing or wrongly typed parts of a forged one get harmless values.

    Raises KeyError if it has no value.
    """
    defaults = DEFAULTS.get(request["do"], {})
    whole = {name: reply[name] if type(reply.get(name)) is type(own) else own for name, own in defaults.items()}
    whole["value"] = None if request["do"] == "state" else reply["value"]
    if keep := request.get("keep"):
        number = 1 if keep is True else keep
        kept = handles(reply)
        kept = kept if len(kept) == number else [Ref(-1)] * number
        whole["value"] = kept[0] if keep is True else kept
    return whole


def handles(reply: Reply) -> list[Ref]:
    """Return the handles that a call answered with, one or several; [] if it answered with something else."""
    value = reply.get("value")
    found = value if isinstance(value, list) else [value]
    kept = [one for one in found if isinstance(one, Ref)]
    return kept if len(kept) == len(found) else []


def _bounded(facts: Any) -> dict[str, Any]:
    """Return the facts about a problem, texts cut; of a forged reply's others, none."""
    if not isinstance(facts, dict):
        return {"kind": "unreadable"}
    plain = {name: facts[name] for name in FACTS if isinstance(facts.get(name), (str, int))}
    return {name: fact[:MAX_FACT] if isinstance(fact, str) else fact for name, fact in plain.items()}


def _problem(facts: dict[str, Any], where: str) -> Problem:
    symptom = SYMPTOMS.get(str(facts.get("kind")), "")
    stub = facts.get("type") == "NotImplementedError" and facts.get("own")  # not a library's
    if facts.get("kind") == "raised" and stub:
        return Unanswered(facts, symptom)
    return Problem(_sentence(facts, where), facts, symptom)


def _sentence(facts: dict[str, Any], where: str) -> str:
    suffix = f" {where}" if where else ""
    match facts.get("kind"):
        case "missing":
            return UNDEFINED.format(name=facts.get("name"))
        case "not a module":
            return "The class you wrote does not give an `nn.Module`: does it inherit from `nn.Module`?"
        case "lazy":
            return "A layer has no parameters before its first call (`nn.LazyLinear`): give `nn.Linear` both widths."
        case "device":
            return f"On a GPU, your code would stop{suffix}: {facts.get('text')}"
        case "time":
            seconds = facts.get("seconds")
            return f"Your code did not come back within {seconds} seconds{suffix}: is there an endless loop?"
        case "died":
            return f"Your code ended the Python process{suffix} (a crash, `os._exit`, or more memory than allowed)."
        case "raised":
            line = f", at the line `{facts['line']}`" if facts.get("line") else ""
            text = f": {facts['text']}" if facts.get("text") else ""
            kind = str(facts.get("type"))
            kind = kind if kind.isidentifier() else "an error"  # a class may be named by a whole sentence
            return f"Your code stopped with {kind}{text}{suffix}{line}."
    return f"The judge could not read the answer{suffix} ({facts.get('text', 'malformed data')})."


def type_of_error(facts: dict[str, Any]) -> object:
    """Return the built-in type that an error derives from: a library may rename its own types in the next version."""
    return facts.get("base", facts.get("type"))


def in_process(namespace: dict[str, Any]) -> Student:
    """Return a student whose code runs in this process. Data still cross the wire format, so that both kinds agree."""
    return Student(Responder(namespace).respond)


TOLERANCE = {False: (1e-3, 1e-5), True: (1e-9, 1e-11)}  # relative and absolute, for single and double precision
# Parts of a reply that do not tell mistakes apart: the operations that ran, and whether random numbers were drawn
# (who builds layers to count them draws some, and gives the same answer)
IGNORED = frozenset({"operations", "rng_moved"})
# Relative and absolute, for numbers outside tensors. Some come from single precision. A check may round to five digits:
# with `single`, the last of these may differ.
LAST_DIGITS = {False: (4e-6, 1e-7), True: (1e-4, 1e-7)}


def agree(actual: Any, expected: Any, depth: int = 0, *, single: bool = False) -> bool:
    """Return whether two replies are the same: equal structure, numbers equal up to rounding, errors of the same type.

    Adding in another order changes last digits: in tensors, in a `loss.item()`, and in a number written as text.
    `single`: numbers in double precision, and those outside tensors, may differ as if they came from single precision.
    """
    if depth > 20 or type(actual) is not type(expected):
        return False
    if is_tensor(actual):
        return _tensors_agree(actual, expected, single)
    if isinstance(actual, dict):
        if actual.get("kind") == "raised":
            return type_of_error(actual) == type_of_error(expected)
        keys, others = (sorted(set(one) - IGNORED, key=canonical.key) for one in (actual, expected))
        return len(keys) == len(others) and all(
            agree(key, other, depth + 1) and agree(actual[key], expected[other], depth + 1, single=single)
            for key, other in zip(keys, others, strict=True)
        )
    if isinstance(actual, (list, tuple)):
        return len(actual) == len(expected) and all(
            agree(a, b, depth + 1, single=single) for a, b in zip(actual, expected, strict=True)
        )
    if isinstance(actual, float):
        if not (math.isfinite(actual) and math.isfinite(expected)):
            return repr(actual) == repr(expected)
        relative, absolute = LAST_DIGITS[single]
        return bool(abs(actual - expected) <= absolute + relative * abs(expected))
    if isinstance(actual, (str, set, frozenset)):
        apart: Callable[[Any], tuple[Any, Any]] = canonical.split if isinstance(actual, str) else canonical.unordered
        (text, floats), (other, others) = apart(actual), apart(expected)
        return text == other and agree(floats, others, depth + 1)
    return isinstance(actual, Ref) or bool(actual == expected)  # handles are numbered in order of arrival


def _tensors_agree(actual: torch.Tensor, expected: torch.Tensor, single: bool) -> bool:
    import torch

    if actual.shape != expected.shape or actual.dtype != expected.dtype or actual.device != expected.device:
        return False
    if actual.device.type == "meta" or not actual.is_floating_point():
        return actual.device.type == "meta" or torch.equal(actual, expected)
    same = torch.allclose(actual, expected, *TOLERANCE[actual.dtype == torch.float64 and not single], equal_nan=True)
    return same and actual.was_differentiable == expected.was_differentiable  # type: ignore[attr-defined]
