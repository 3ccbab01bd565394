"""What checks may ask of a student's work. The judge's own class of this name fulfils it, here or in a cage."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch  # every command reads this file, and few of them need torch

Kept = Any  # something that stays in the student's process; here there is only a handle for it


class Student(Protocol):
    """Somebody whose code answers questions with plain data.

    A question that is not answered (an error, an endless loop, a name that is missing) raises `Problem`. Answers are
    kept on record for the check that is running: by them a mistake is recognised.
    """

    def case(self) -> AbstractContextManager[None]:
        """One of several cases of a check. The others are still tried when it fails: they tell mistakes apart."""
        ...

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
        """Call a function (by its name), something kept, or a method ((target, "name")); the whole answer.

        It has "value", "inputs" (the tensors that were passed in, as they are afterwards) and "rng_moved". Options:
        `keep` (the value stays there), `upstream` (a tensor for each output: "gradients" of sum(output * upstream)),
        `after` ("after": all arguments as they are afterwards, lists and dictionaries too), `training` (the mode that a
        module is put into), `trace` ("operations" that ran), `strict_device` (new tensors that name no device are put
        on another one).
        """
        ...

    def value(self, target: Any, *args: Any, where: str = "", **kwargs: Any) -> Any:
        """Only the value of a call."""
        ...

    def build(self, target: str, *args: Any, **kwargs: Any) -> Kept:
        """An object of the student's class, kept there."""
        ...

    def probe(self, name: str, source: str) -> Kept:
        """A function of ours, defined over there."""
        ...

    def state(self, module: Kept, *, record: bool = True) -> dict:
        """A module's "parameters", "buffers", "trainable" names and types of "children"."""
        ...

    def load(self, module: Kept, state: dict[str, torch.Tensor]) -> None:
        """Copy values into a module's parameters of these names."""
        ...

    def move(self, module: Kept, to: str) -> None:
        """Change a module's dtype ("float64") or device ("meta")."""
        ...

    def read(self, name: str) -> Any:
        """The value of a variable."""
        ...

    def has(self, name: str) -> bool:
        """Whether a name is defined."""
        ...

    # --- the record ---------------------------------------------------------------------------------------------------

    @property
    def answers(self) -> list[dict]:
        """The answers recorded for the check that is running."""
        ...

    @property
    def last(self) -> dict:
        """The last of them."""
        ...

    def note(self, value: Any, answer: dict | None = None) -> None:
        """What the last answer (or another of `answers`) comes down to, kept on record in its place.

        It takes the place of a call's value, of everything that a module's state says, or of an error's type.
        """
        ...

    def note_gradients(self, parameters: dict[str, Any]) -> None:
        """The parameters' gradients of the last answer under names of ours, kept on record in their place."""
        ...
