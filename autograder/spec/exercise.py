"""Define an exercise: points, checks, mistakes and alternatives, declared once in its module and used everywhere."""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from . import catalogue
from .catalogue import Answers, CatalogueError, Entry
from .common_mistakes import COMMON_MISTAKES, CommonMistake
from .sentence import shortened
from .student import Answer as Answer
from .student import Kept as Kept
from .student import Student as Student

Mistake = Entry  # whose versions are wrong


class Wrong(Exception):
    """Raised by a check. The message says what is wrong, in words that a student can act on.

    `symptom` names a mistake that shows by itself, whatever the code looks like, such as an input that was changed.
    """

    def __init__(self, sentence: str, symptom: str = "") -> None:
        super().__init__(shortened(sentence))
        self.symptom = symptom


class Call(NamedTuple):
    """A call of a student's function, and the function that gives the right result."""

    name: str
    args: list[Any]
    kwargs: dict[str, Any]
    reference: Callable[..., Any]

    def right(self) -> Any:
        return self.reference(*self.args, **self.kwargs)


class ValuesDiffer(Wrong):
    """The answer is of the right kind, but its values differ. This says nothing about what else a check tests.

    `besides` is the first failure of another case of the same check that is more than a difference in values. `call` is
    the call that returned them, if one did and a reader may see it on a smaller input.
    """

    besides: Wrong | None = None
    call: Call | None = None


class Problem(Wrong):
    """The student's code did not return an answer; `facts` say why."""

    def __init__(self, sentence: str, facts: dict[str, Any], symptom: str = "") -> None:
        super().__init__(sentence, symptom)
        self.facts = facts

    @property
    def error(self) -> str:
        """Return the type of the error that the student's code raised, or "" if it raised none."""
        return str(self.facts.get("type", "")) if self.facts.get("kind") == "raised" else ""

    @property
    def text(self) -> str:
        """Return the message of that error."""
        return str(self.facts.get("text", ""))


class Unanswered(Problem):
    """The stub from the released notebook has not been replaced."""

    def __init__(self, facts: dict[str, Any], symptom: str = "") -> None:
        super().__init__(UNANSWERED, facts, symptom)


UNANSWERED = "This exercise has not been answered yet."

Asking = Callable[[Student], None]


@dataclass(frozen=True)
class Check:
    """One line of a rubric. `ask(student)` returns if the answer passes and raises `Wrong` if not.

    Every check looks at a value first: a function that computes nothing earns nothing for leaving its inputs unchanged.
    A `further` check tests more about values that another line already tests (their gradients, dtype, device, masks).
    If those values are wrong and nothing else is, it is not judged.
    """

    title: str
    weight: float
    ask: Asking
    further: bool = False


@dataclass(frozen=True)
class Ban:
    """The functions and operations of torch that an exercise must not use, by torch's own names.

    `pattern` is searched for in those names, in lower case and without underscores. The names that the student's code
    uses do not matter (`judge.bans`). `without` and `fine` are the words of the exercise's box in the notebook.
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


class Exercise:
    """A graded function or class. Its module declares it; name, notebook and source come from the solution notebook.

    `points` are the sum of the checks' weights unless they are given. `working` is the source of PyTorch's or Hugging
    Face's own, or other public code, which takes the exercise's place while others are marked; students' processes can
    see it. It may use what the course imports. Wrong and right answers stand in a file beside the module (see
    `catalogue`). Raises ValueError if two checks share a title.
    """

    def __init__(self, *checks: Check, points: float = 0, ban: Ban | None = None, working: str = "") -> None:
        titles = {check.title for check in checks}
        if len(titles) != len(checks):
            raise ValueError("two checks share a title")
        self.checks = checks
        total = round(float(sum(check.weight for check in checks)), 6)
        self.points = points or (int(total) if total.is_integer() else total)
        self.ban = ban
        self.working = working
        self.name = self.notebook = ""
        self.source = ""  # the reference, from the notebook's solution cell
        self.file = ""  # that lists its answers
        self.shared: dict[str, str] = {}  # sentences that its course declares once

    @functools.cached_property
    def answers(self) -> Answers:
        """Return what is catalogued, without applying any edits. Raises CatalogueError if the file cannot be parsed."""
        return catalogue.answers(Path(self.file).read_text("utf-8"), self.file)

    @functools.cached_property
    def mistakes(self) -> list[Mistake]:
        bases = {alternative.name: alternative.source for alternative in self.alternatives}
        own = catalogue.entries(self.answers.wrong, self.source, self.file, bases)
        sources = {entry.name: entry.sources for entry in own}
        for name, made in self.common.items():
            sources[name] = sources.get(name, ()) + made
        return [Mistake(name, self.sentences[name], sources[name], self.grades.get(name, "")) for name in sources]

    @functools.cached_property
    def common(self) -> dict[str, tuple[str, ...]]:
        """Return the versions of the reference with each common mistake that fits it, by the mistake's name."""
        fitting = (slip for slip in COMMON_MISTAKES if slip.name not in self.answers.without)
        return {slip.name: made for slip in fitting if (made := self.slipped(slip, self.source))}

    def slipped(self, slip: CommonMistake, source: str) -> tuple[str, ...]:
        """Return the versions of an answer, such as the reference, with a common mistake."""
        return slip.versions(source, self.name, self.answers.takes, self.answers.gives)

    @functools.cached_property
    def sentences(self) -> dict[str, str]:
        """Return the sentence of each mistake, by name; much faster than building the mistakes themselves."""
        general = {slip.name: slip.sentence for slip in COMMON_MISTAKES} | self.shared
        common = (slip.name for slip in COMMON_MISTAKES if slip.name not in self.answers.without)
        said = dict.fromkeys(common, "") | {draft.name: draft.sentence for draft in self.answers.wrong}
        if unknown := [name for name, sentence in said.items() if not sentence and name not in general]:
            raise CatalogueError(
                f"{self.file}: {', '.join(unknown)}: give it a sentence; no common mistake has that name."
            )
        return {name: sentence or general[name] for name, sentence in said.items()}

    @functools.cached_property
    def grades(self) -> dict[str, str]:
        """Return the severity of each mistake that states one, by name; the exercise's own value comes first."""
        own = {draft.name: draft.grade for draft in self.answers.wrong if draft.grade}
        return {slip.name: slip.grade for slip in COMMON_MISTAKES} | own

    @functools.cached_property
    def alternatives(self) -> list[Entry]:
        """Return right answers in other styles, which must earn full marks; each has one source."""
        found = catalogue.entries(self.answers.right, self.source, self.file)
        return [Entry(entry.name, "", (source,)) for entry in found for source in entry.sources]


@dataclass(frozen=True)
class Question:
    """A multiple-choice question; each option has its own explanation, shown to a student who chose it."""

    name: str
    points: float
    key: str
    explanations: dict[str, str] = field(repr=False)
    notebook: str = ""
