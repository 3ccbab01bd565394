"""What an exercise is: points, checks, mistakes and alternatives, declared once in its room and used everywhere."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from . import catalogue, common_mistakes
from .student import Student


class Wrong(Exception):
    """Raised by a check: the sentence says what is wrong, in words a student can act on.

    `symptom` names a mistake that shows by itself, whatever the code looks like: an input that was changed, say.
    """

    def __init__(self, sentence: str, symptom: str = "") -> None:
        super().__init__(sentence)
        self.symptom = symptom


class ValuesDiffer(Wrong):
    """The answer is of the right kind, and its values are others: that says nothing of what is asked besides.

    `besides` is what another case of the same check found that is more than that.
    """

    besides: Wrong | None = None


class Problem(Wrong):
    """The student's code did not come back with an answer; `facts` say why."""

    def __init__(self, sentence: str, facts: dict, symptom: str = "") -> None:
        super().__init__(sentence, symptom)
        self.facts = facts

    @property
    def error(self) -> str:
        """The type of the error that the student's code raised, if that is what happened."""
        return str(self.facts.get("type", "")) if self.facts.get("kind") == "raised" else ""

    @property
    def text(self) -> str:
        """What that error said."""
        return str(self.facts.get("text", ""))


class Unanswered(Problem):
    """The stub that was handed out is still in its place."""

    def __init__(self, facts: dict, symptom: str = "") -> None:
        super().__init__(UNANSWERED, facts, symptom)


UNANSWERED = "This exercise has not been answered yet."

Asking = Callable[[Student], None]


@dataclass(frozen=True)
class Check:
    """One line of a rubric. `ask(student)` returns if all is well and raises `Wrong` if not.

    Every check looks at a value first: leaving the inputs unchanged is no merit in a function that computes nothing.
    A `further` one asks more about values on which another line decides (their gradients, dtype, device, masks): where
    those are wrong already and nothing else is the matter, it is not judged.
    """

    title: str
    weight: float
    ask: Asking
    further: bool = False


@dataclass(frozen=True)
class Mistake:
    """Small runnable wrong versions that deserve the same sentence, the one a good teacher would say.

    `grade` is one of `catalogue.GRADES`, or nothing: then it is a misconception, which costs no more than its lines.
    """

    name: str
    sentence: str
    sources: tuple[str, ...]
    grade: str = ""

    @property
    def source(self) -> str:
        return self.sources[0]


@dataclass(frozen=True)
class Alternative:
    """A right answer in another style, which must get full marks."""

    name: str
    source: str


@dataclass(frozen=True)
class Ban:
    """What an exercise is to be written without: operations and library functions, by what they are called there.

    `pattern` is looked for in those names without capitals and underscores. What the student's code calls them, or
    mentions, does not matter (`judge.bans`). `without` and `fine` are the words of the exercise's box in the notebook.
    """

    pattern: str
    without: str
    fine: str = ""

    @property
    def sentence(self) -> str:
        fine = f"; {self.fine}" if self.fine else ""
        return f"This exercise is to be written without {self.without}, so it earns no points{fine}."

    def covers(self, name: str) -> bool:
        return re.search(self.pattern, name.replace("_", "").lower()) is not None


@dataclass
class Exercise:
    """A graded function or class. Its room declares it; name, notebook and reference are where it stands.

    `wrong` and `right` are catalogues (see `catalogue`); `slips` names what can go wrong everywhere and does here.
    """

    points: float
    checks: Sequence[Check]
    working: str  # source of a version made of PyTorch's own parts, bound while *other* exercises are asked about
    wrong: str
    right: str
    slips: Sequence[str] = ()
    takes: str = ""  # the kind of its first argument, and
    gives: str = ""  # the kind of its result: "tensor", "scalar", "pair", "number", "list", "dict": slips fit some
    ban: Ban | None = None
    name: str = field(default="", init=False)
    notebook: str = field(default="", init=False)
    source: str = field(default="", init=False)  # the reference, as the solution cell of the notebook has it

    def __post_init__(self) -> None:
        titles = [check.title for check in self.checks]
        if len(set(titles)) != len(titles):
            raise ValueError("two checks share a title")

    @functools.cached_property
    def mistakes(self) -> list[Mistake]:
        bases = {alternative.name: alternative.source for alternative in self.alternatives}
        own = [
            Mistake(e.name, self.sentences[e.name], e.sources, self.grades.get(e.name, ""))
            for e in catalogue.entries(self.wrong, self.source, f"{self.name}, wrong", bases)
        ]
        found = {mistake.name: mistake for mistake in own}
        for slip in common_mistakes.SLIPS:
            if slip.name in self.slips:
                made = slip.versions(self.source, self.name, self.takes, self.gives)
                here = found[slip.name].sources if slip.name in found else ()
                grade = self.grades.get(slip.name, "")
                found[slip.name] = Mistake(slip.name, self.sentences[slip.name], here + made, grade)
        return list(found.values())

    @functools.cached_property
    def sentences(self) -> dict[str, str]:
        """What is said of each mistake, by its name; much quicker to have than the mistakes themselves."""
        general = {slip.name: slip.sentence for slip in common_mistakes.SLIPS}
        own = {name: said or general[name] for name, said in catalogue.sentences(self.wrong).items()}
        return {name: general[name] for name in self.slips} | own

    @functools.cached_property
    def grades(self) -> dict[str, str]:
        """How grave those mistakes are that are not simply misconceptions: what the room says goes first."""
        return {slip.name: slip.grade for slip in common_mistakes.SLIPS} | catalogue.grades(self.wrong)

    @functools.cached_property
    def alternatives(self) -> list[Alternative]:
        found = catalogue.entries(self.right, self.source, f"{self.name}, right")
        return [Alternative(entry.name, source) for entry in found for source in entry.sources]


@dataclass(frozen=True)
class Question:
    """A multiple-choice question; each option has its own explanation, shown to whoever chose it."""

    name: str
    points: float
    key: str
    explanations: dict[str, str] = field(repr=False)
    notebook: str = ""
