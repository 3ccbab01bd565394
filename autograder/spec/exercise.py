"""Define an exercise: points, checks, mistakes and alternatives, declared once in its module and used everywhere."""

import builtins
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from . import catalogue
from .catalogue import Catalogue
from .common_mistakes import COMMON_MISTAKES, CommonMistake
from .messages import UNANSWERED, shortened
from .student import Kept as Kept
from .student import Reply as Reply
from .student import Student as Student


@dataclass(frozen=True)
class Entry:
    """Small runnable variants that deserve the same sentence, the one that a good teacher would say."""

    name: str
    sentence: str
    sources: tuple[str, ...]
    severity: str = ""  # one of `catalogue.SEVERITIES`; a right answer has none

    @property
    def source(self) -> str:
        return self.sources[0]


Mistake = Entry  # whose variants are wrong


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
        """Return the built-in type of the error that the student's code raised, or "" if it raised none."""
        raised = self.facts.get("kind") == "raised"
        return str(self.facts.get("base") or self.facts.get("type", "")) if raised else ""

    def is_a(self, kind: type[Exception]) -> bool:
        """Return whether that error is of this built-in type, or of one derived from it: `except` takes both."""
        found = getattr(builtins, self.error, None)
        return isinstance(found, type) and issubclass(found, kind)

    @property
    def text(self) -> str:
        """Return the message of that error."""
        return str(self.facts.get("text", ""))


class Unanswered(Problem):
    """The stub from the released notebook has not been replaced."""

    def __init__(self, facts: dict[str, Any], symptom: str = "") -> None:
        super().__init__(UNANSWERED, facts, symptom)


CheckFunction = Callable[[Student], None]


@dataclass(frozen=True)
class Check:
    """One line of a rubric. `run(student)` returns if the answer passes and raises `Wrong` if not.

    Every check looks at a value first: a function that computes nothing earns nothing for leaving its inputs unchanged.
    A `dependent` check tests more about values that another line already tests (their gradients, dtype, device, masks).
    If those values are wrong and nothing else is, it is not judged.
    """

    title: str
    weight: float
    run: CheckFunction
    dependent: bool = False


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

    `points` are the sum of the checks' weights unless they are given. `takes` and `gives` are the kinds of its first
    argument and of its result (tensor, scalar, pair, number, list, dict, or others); `harmless` names the common
    mistakes that lose no marks in it. `library_equivalent` is the source of PyTorch's or Hugging Face's own, or other
    public code, which takes the exercise's place while others are marked; students' processes can see it. It may use
    what the course imports. Wrong and right answers stand in a module beside (see `catalogue`). Raises ValueError if
    two checks share a title.
    """

    def __init__(
        self,
        *checks: Check,
        points: float = 0,
        takes: str = "",
        gives: str = "",
        harmless: tuple[str, ...] = (),
        ban: Ban | None = None,
        library_equivalent: str = "",
    ) -> None:
        titles = {check.title for check in checks}
        if len(titles) != len(checks):
            raise ValueError("two checks share a title")
        self.checks = checks
        total = round(float(sum(check.weight for check in checks)), 6)
        self.points = points or (int(total) if total.is_integer() else total)
        self.takes, self.gives, self.harmless = takes, gives, harmless
        self.ban = ban
        self.library_equivalent = library_equivalent
        self.name = self.notebook = ""
        self.source = ""  # the reference, from the notebook's solution cell
        self.catalogue_module = ""  # that declares its wrong and right answers

    @functools.cached_property
    def catalogue(self) -> Catalogue:
        """Return what is catalogued, without applying any edits. Raises CatalogueError if it cannot be loaded."""
        return catalogue.load(self.catalogue_module)

    @functools.cached_property
    def mistakes(self) -> list[Mistake]:
        sources = {mistake.name: mistake.programs(self.source) for mistake in self.catalogue.wrong}
        sources = {name: made for name, made in sources.items() if made}
        for name, made in self.common.items():
            sources[name] = sources.get(name, ()) + made
        return [Mistake(name, self.sentences[name], sources[name], self.severities[name]) for name in sources]

    @functools.cached_property
    def common(self) -> dict[str, tuple[str, ...]]:
        """Return the variants of the reference with each common mistake that fits it, by the mistake's name."""
        fitting = (slip for slip in COMMON_MISTAKES if slip.name not in self.harmless)
        return {slip.name: made for slip in fitting if (made := self.with_common_mistake(slip, self.source))}

    def with_common_mistake(self, slip: type[CommonMistake], source: str) -> tuple[str, ...]:
        """Return the variants of an answer, such as the reference, with a common mistake."""
        return slip.variants_of(source, self.name, self.takes, self.gives)

    @functools.cached_property
    def sentences(self) -> dict[str, str]:
        """Return the sentence of each mistake, by name; much faster than building the mistakes themselves."""
        common = (slip for slip in COMMON_MISTAKES if slip.name not in self.harmless)
        return {mistake.name: mistake.sentence for mistake in (*common, *self.catalogue.wrong)}

    @functools.cached_property
    def severities(self) -> dict[str, str]:
        """Return the severity of each mistake, by name; the exercise's own value comes first."""
        return {mistake.name: mistake.severity for mistake in (*COMMON_MISTAKES, *self.catalogue.wrong)}

    @functools.cached_property
    def alternatives(self) -> list[Entry]:
        """Return right answers in other styles, which must earn full marks; each has one source."""
        return [Entry(one.name, "", (text,)) for one in self.catalogue.right for text in one.programs(self.source)]


@dataclass(frozen=True)
class Question:
    """A multiple-choice question; each option has its own explanation, shown to a student who chose it."""

    name: str
    points: float
    key: str
    explanations: dict[str, str] = field(repr=False)
    notebook: str = ""
