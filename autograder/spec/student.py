"""Define the interface through which checks use a student's work; `judge.student.Student` implements it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch  # every command imports this module, and few of them need torch

Kept = Any  # an object that stays in the student's process; the judge has only a handle for it
Answer = dict[str, Any]  # the parts of an answer by name: see `Student.call` and `Student.state`


class Student(Protocol):
    """A student's work: code that answers questions with plain data.

    A question without an answer (an error, an endless loop, a missing name) raises `Problem`. Answers are recorded for
    the check that is running; mistakes are recognised by them.
    """

    def case(self) -> AbstractContextManager[None]:
        """Run one of several cases of a check. If it fails, the others still run: together they tell mistakes apart."""

    def call(
        self,
        target: Any,
        args: list[Any],
        kwargs: dict[str, Any] | None = None,
        where: str = "",
        *,
        record: bool = True,
        **options: Any,
    ) -> Answer:
        """Call a function (by its name), a kept object, or a method ((target, "name")), and return the whole answer.

        It has "value", "inputs" (the tensors that were passed in, as they are afterwards) and "rng_moved". Options:
        `keep` (the value stays there), `upstream` (a tensor for each output: "gradients" of sum(output * upstream)),
        `after` ("after": all arguments as they are afterwards, lists and dictionaries too), `training` (the mode that a
        module is put into), `trace` ("operations" that ran), `strict_device` (new tensors that name no device are put
        on another one).
        """

    def value(self, target: Any, *args: Any, where: str = "", **kwargs: Any) -> Any:
        """Call, and return only the value."""

    def build(self, target: str, *args: Any, **kwargs: Any) -> Kept:
        """Build an object of the student's class, keep it in the student's process, and return a handle."""

    def probe(self, name: str, source: str) -> Kept:
        """Define one of the judge's functions in the student's process, and return a handle."""

    def state(self, module: Kept, *, record: bool = True) -> Answer:
        """Return a module's "parameters", "buffers", "trainable" names and types of "children"."""

    def load(self, module: Kept, state: dict[str, torch.Tensor]) -> None:
        """Copy values into a module's parameters of these names."""

    def move(self, module: Kept, to: str) -> None:
        """Change a module's dtype ("float64") or device ("meta")."""

    def read(self, name: str) -> Any:
        """Return the value of a variable."""

    def has(self, name: str) -> bool:
        """Return whether a name is defined."""

    @property
    def answers(self) -> list[Answer]:
        """Return the answers recorded for the check that is running."""

    @property
    def last(self) -> Answer:
        """Return the last of these answers."""

    def note(self, value: Any, answer: Answer | None = None) -> None:
        """Replace the last recorded answer (or the given one of `answers`) by a summary of it.

        The summary replaces a call's value, everything in a module's state, or an error's type.
        """

    def note_gradients(self, parameters: dict[str, Any]) -> None:
        """Replace the parameters' gradients in the last recorded answer by these, under the judge's own names."""
