"""Define how checks use a student's work. `judge.student.Student` sends the requests to the student's process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import torch  # every command imports this module, and few of them need torch

T = TypeVar("T")
Kept = Any  # an object that stays in the student's process; the judge has only a handle for it
Reply = dict[str, Any]  # the parts of a reply by name: see `Student.call` and `Student.state`
RecordedReplies = dict[str, list[Reply]]  # by the checks' titles


class Student(ABC):
    """A student's work: code that replies to requests with plain data.

    A request without a reply (an error, an endless loop, a missing name) raises `Problem`. Replies are recorded for the
    check that is running; mistakes are recognised by them.
    """

    def __init__(self) -> None:
        self.replies: RecordedReplies = {}
        self._topic = ""  # the title of the check that is running
        self.names_asked: list[str] = []  # of layers and parameters in the box, where the exercise is a module
        self._probes: dict[tuple[str, str], Kept] = {}  # of that check, by name and source

    @abstractmethod
    def _request(self, where: str, record: bool = True, **request: Any) -> Reply:
        """Send one request and return the reply. `where` goes into the sentence about a problem."""

    @abstractmethod
    def case(self) -> AbstractContextManager[None]:
        """Run one of several cases of a check. If it fails, the others still run: together they tell mistakes apart."""

    @abstractmethod
    def in_any_order(self, cases: Sequence[T]) -> Iterator[T]:
        """Yield cases in an order that follows from the submission, for requests that do not differ in their inputs.

        A list of right answers by number of the call would pass them otherwise. The replies are recorded as if the
        cases had come in the given order. So draw what they need before the first one.
        """

    def call(
        self,
        target: Any,
        args: list[Any],
        kwargs: dict[str, Any] | None = None,
        where: str = "",
        *,
        record: bool = True,
        **options: Any,
    ) -> Reply:
        """Call a function (by its name), a kept object, or a method ((target, "name")), and return the whole reply.

        It has "value", "inputs" (the tensors that were passed in, as they are afterwards) and "rng_moved". Options:
        `keep` (the value stays there; a number: it is a tuple of so many, and each stays), `then` (requests about what
        is kept: ("load", state) or ("move", to)), `names` (of the box: a second name of a layer comes after it),
        `upstream` (a tensor for each output: "gradients" of sum(output * upstream)), `after` ("after": all arguments as
        they are afterwards, lists and dictionaries too), `training` (the mode that a module is put into), `no_grad`
        (record no gradients), `trace` ("operations" that ran), `strict_device` (new tensors that name no device are put
        on another one).
        """
        request = {"do": "call", "target": target, "args": args, "kwargs": kwargs or {}}
        return self._request(where, record, **request, **options)

    def value(self, target: Any, *args: Any, where: str = "", **kwargs: Any) -> Any:
        """Call, and return only the value."""
        return self.call(target, list(args), kwargs, where)["value"]

    def build(self, target: str, *args: Any, **kwargs: Any) -> Kept:
        """Build an object of the student's class, keep it in the student's process, and return a handle."""
        return self.built(target, args, kwargs)

    def built(
        self, target: str, args: Sequence[Any], kwargs: dict[str, Any], then: Sequence[tuple[str, Any]] = ()
    ) -> Kept:
        """Build an object as `build` does, and `then` load or move it, in the same request."""
        more = {"then": list(then), "names": self.names_asked}
        options: dict[str, Any] = {"keep": True} | {name: given for name, given in more.items() if given}
        return self.call(target, list(args), kwargs, "while building it", **options)["value"]

    def build_parts(self, number: int, probe: Kept, *args: Any, **kwargs: Any) -> list[Kept]:
        """Call a probe that returns so many things, such as a model and its notes; return a handle for each."""
        parts: list[Kept] = self.call(probe, list(args), kwargs, keep=number, record=False)["value"]
        return parts

    def probe(self, name: str, source: str) -> Kept:
        """Define one of the judge's functions in the student's process, once in a check, and return a handle."""
        if (name, source) not in self._probes:
            defined = self._request("", record=False, do="define", name=name, source=source)["value"]
            self._probes[name, source] = defined
        return self._probes[name, source]

    def state(self, module: Kept, *, record: bool = True) -> Reply:
        """Return a module's "parameters", "buffers", "trainable" names and types of "children"."""
        return self._request("", record, do="state", target=module)

    def load(self, module: Kept, state: dict[str, torch.Tensor]) -> None:
        """Copy values into a module's parameters of these names."""
        self._request("", record=False, do="load", target=module, state=state)

    def move(self, module: Kept, to: str) -> None:
        """Change a module's dtype ("float64") or device ("meta")."""
        self._request("", record=False, do="move", target=module, to=to)

    def read(self, name: str) -> Any:
        """Return the value of a variable."""
        return self._request("", do="read", name=name)["value"]

    def has(self, name: str) -> bool:
        return self._request("", record=False, do="has", name=name)["value"] is True

    @property
    def check_replies(self) -> list[Reply]:
        """Return the replies recorded for the check that is running."""
        return self.replies.get(self._topic, [])

    @property
    def last(self) -> Reply:
        return self.check_replies[-1]

    def note(self, value: Any, answer: Reply | None = None) -> None:
        """Replace the last recorded reply (or the given one of `check_replies`) by a summary of it.

        The summary replaces a call's value, everything in a module's state, or an error's type.
        """
        answer = self.last if answer is None else answer
        if isinstance(answer.get("problem"), dict):  # a copy: the sentence about the error uses the original
            answer["problem"] = answer["problem"] | {"type": value, "base": value}
            return
        if "value" not in answer:
            answer.clear()
        answer["value"] = value

    def note_gradients(self, parameters: dict[Any, Any]) -> None:
        """Replace the parameters' gradients in the last recorded reply by these, under the judge's own names."""
        gradients = self.last.get("gradients")
        self.last["gradients"] = (gradients if isinstance(gradients, dict) else {}) | {"parameters": parameters}
