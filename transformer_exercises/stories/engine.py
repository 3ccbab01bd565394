"""Tell stories with a probabilistic program, or run it backwards to compute how likely a text is.

A story is a tree of three kinds of node: `Say` a sentence, choose `Either` of several continuations, and, hidden in a
sentence's pattern, the *roles*: random words with a name. A role is drawn when a sentence first needs it and is
remembered until the story ends, so a ball that is lost in the first sentence can be found in the last.

Forwards, every choice is drawn. Backwards, every choice is tried, and a derivation is dropped as soon as its text
differs from the given one; the probability of the text is the sum over the derivations that say all of it. Because a
role is drawn as late as possible, nearly all wrong derivations are dropped after one word, so the sum is exact and
quick. The order in which roles are drawn does not matter to it: a role's distribution depends only on the roles that it
names as parents.

Ideas: Shannon, *Prediction and Entropy of Printed English* (1951), for the entropy of a text as the floor of every
predictor; probabilistic programs with exact inference by enumeration (Goodman and Stuhlmüller, *The Design and
Implementation of Probabilistic Programming Languages*, dippl.org).
"""

import math
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SLOT = re.compile(
    r"\{(\w+)(?:\.(\w+))?\}"
)  # {who} is the word itself, {who.his} one of its forms, {Who} at a sentence's start


@dataclass(frozen=True, eq=False)
class Word:
    """An entry of the lexicon: its forms in every language, how often it is drawn, and facts that roles use."""

    forms: Mapping[str, Mapping[str, str]]  # language -> form -> text; the form "" is the word itself
    weight: float = 1.0
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Word({next(iter(self.forms.values())).get('', '?')})"


@dataclass(frozen=True)
class Role:
    """A random word. `options` takes the words of the parent roles and returns the words that this role may be."""

    options: Callable[..., Sequence[Word]]
    parents: tuple[str, ...] = ()


def one_of(words: Sequence[Word], *, unlike: str = "") -> Role:
    """Return a role played by any of the words, except one that plays a role named in `unlike`."""
    return Role(lambda *taken: [word for word in words if word not in taken], tuple(unlike.split()))


@dataclass(frozen=True)
class Say:
    """A sentence (or two that belong together), one pattern per language, in the grammar's order of languages."""

    patterns: tuple[str, ...]
    alone: bool = True  # understood without the sentences before it


@dataclass(frozen=True)
class Either:
    """One of several continuations, each a weight and a sequence of nodes; an empty sequence says nothing."""

    branches: tuple[tuple[float, tuple["Node", ...]], ...]


Node = Say | Either


def say(*patterns: str) -> Say:
    return Say(patterns)


def either(*branches: tuple) -> Either:
    """Return a choice: `either((2, say(…), say(…)), (1, say(…)))` has the weight first, then the nodes."""
    return Either(tuple((weight, tuple(body)) for weight, *body in branches))


def maybe(probability: float, *body: Node) -> Either:
    return Either(((probability, body), (1 - probability, ())))


class Text:
    """A piece of a compiled story with fixed text."""

    __slots__ = ("after", "text")

    def __init__(self, text: str, after: "Piece | None"):
        self.text, self.after = text, after


class Slot:
    """A piece filled by a role."""

    __slots__ = ("after", "capital", "form", "role")

    def __init__(self, role: str, form: str, capital: bool, after: "Piece"):
        self.role, self.form, self.capital, self.after = role, form, capital, after


class Fork:
    """A piece that continues in one of several ways."""

    __slots__ = ("ways",)

    def __init__(self, ways: list[tuple[float, "Piece"]]):
        self.ways = ways  # (log probability, next piece)


class Mark:
    """The beginning of a sentence: it has no text, but `Derivation.sentences` cuts here."""

    __slots__ = ("after", "source")

    def __init__(self, source: Say, after: "Piece"):
        self.source, self.after = source, after


Piece = Text | Slot | Fork | Mark


class Grammar:
    """Stories in several languages. A language's text is an endless stream of independent stories, one per line."""

    def __init__(self, languages: Sequence[str], roles: Mapping[str, Role], *story: Node):
        self.languages = tuple(languages)
        self.roles = dict(roles)
        self.story = story
        self._start = {
            language: self._compile(story, Text("\n", None), index, first=True)
            for index, language in enumerate(self.languages)
        }
        self._drawn: dict[tuple, list[tuple[float, Word]]] = {}
        self._said: dict[tuple, list[tuple[str, float, Word]]] = {}
        self._lines: dict[tuple[str, str], float] = {}

    # From a tree of nodes to chains of pieces

    def _compile(self, body: Sequence[Node], after: Piece, index: int, *, first: bool) -> Piece:
        for place in range(len(body) - 1, -1, -1):
            node = body[place]
            opens = first and place == 0
            if isinstance(node, Say):
                after = self._compile_say(node, after, index, opens)
            else:
                total = sum(weight for weight, _ in node.branches)
                after = Fork(
                    [
                        (math.log(weight / total), self._compile(way, after, index, first=opens))
                        for weight, way in node.branches
                    ]
                )
        return after

    def _compile_say(self, node: Say, after: Piece, index: int, opens: bool) -> Piece:
        pattern = node.patterns[index] if opens else " " + node.patterns[index]
        end = len(pattern)
        for slot in reversed(list(SLOT.finditer(pattern))):
            if pattern[slot.end() : end]:
                after = Text(pattern[slot.end() : end], after)
            name, form = slot.group(1), slot.group(2) or ""
            if name[0].lower() + name[1:] not in self.roles:
                raise ValueError(f"No role is called {name!r} (in {pattern!r}). Add it to the table of roles.")
            after = Slot(name[0].lower() + name[1:], form, name[0].isupper(), after)
            end = slot.start()
        if pattern[:end]:
            after = Text(pattern[:end], after)
        return Mark(node, after)

    # Roles

    def options(self, role: str, parents: tuple[Word, ...]) -> list[tuple[float, Word]]:
        """Return (log probability, word) for every word that the role may be, given its parents."""
        if (role, parents) not in self._drawn:
            words = self.roles[role].options(*parents)
            total = sum(word.weight for word in words)
            self._drawn[role, parents] = [(math.log(word.weight / total), word) for word in words]
        return self._drawn[role, parents]

    def _drawn_first(self, role: str, cast: Mapping[str, Word]) -> str:
        """Return the role itself if its parents have been drawn, else its first ancestor that can be drawn."""
        missing = next((name for name in self.roles[role].parents if name not in cast), None)
        return role if missing is None else self._drawn_first(missing, cast)

    def _sayings(self, slot: Slot, language: str, parents: tuple[Word, ...]) -> list[tuple[str, float, Word]]:
        key = (slot, language, parents)
        if key not in self._said:
            self._said[key] = [
                (surface(word, language, slot), log_prob, word) for log_prob, word in self.options(slot.role, parents)
            ]
        return self._said[key]

    # Backwards: the probability of a text

    def _derivations(self, line: str, language: str) -> Iterator[tuple[float, str]]:
        """Yield (log probability, next character) of every way to say the line; "" follows a whole story."""
        stack: list[tuple[Piece | None, dict[str, Word], int, float]] = [(self._start[language], {}, 0, 0.0)]
        while stack:
            piece, cast, position, log_prob = stack.pop()
            if piece is None:
                if position == len(line):
                    yield log_prob, ""
                continue
            if isinstance(piece, Fork):
                stack += [(way, cast, position, log_prob + log_way) for log_way, way in piece.ways]
                continue
            if isinstance(piece, Mark):
                stack.append((piece.after, cast, position, log_prob))
                continue
            sayings: Sequence[tuple[str, float, Word | None]]  # possible texts now, and the words that they draw
            if isinstance(piece, Text):
                sayings = [(piece.text, 0.0, None)]
            elif piece.role in cast:
                sayings = [(surface(cast[piece.role], language, piece), 0.0, None)]
            else:
                role = self._drawn_first(piece.role, cast)
                parents = tuple(cast[name] for name in self.roles[role].parents)
                if role != piece.role:  # an ancestor without text here: draw it, then return to this piece
                    stack += [
                        (piece, {**cast, role: word}, position, log_prob + log_word)
                        for log_word, word in self.options(role, parents)
                    ]
                    continue
                sayings = self._sayings(piece, language, parents)
            for text, log_word, word in sayings:
                if line.startswith(text, position):
                    known = cast if isinstance(piece, Text) or word is None else {**cast, piece.role: word}
                    stack.append((piece.after, known, position + len(text), log_prob + log_word))
                elif text.startswith(line[position:]):
                    yield log_prob + log_word, text[len(line) - position]

    def line_log_prob(self, line: str, language: str) -> float:
        """Return log p that a story begins with `line`; with its newline, that the whole story is `line`."""
        key = (language, line)
        if key not in self._lines:
            self._lines[key] = log_sum([log_prob for log_prob, _ in self._derivations(line, language)])
        return self._lines[key]

    def log_prob(self, text: str, language: str) -> float:
        """Return log p that the stream of stories begins with `text`, in nats; −inf if it cannot."""
        return math.fsum(self.line_log_prob(line, language) for line in text.splitlines(keepends=True))

    def next_character(self, text: str, language: str) -> dict[str, float]:
        """Return the distribution of the next character; raise ValueError if no story begins with the last line."""
        line = text[text.rfind("\n") + 1 :]
        found = defaultdict(list)
        for log_prob, character in self._derivations(line, language):
            found[character].append(log_prob)
        total = log_sum([log_prob for ways in found.values() for log_prob in ways])
        if total == -math.inf:
            raise ValueError(f"No story begins with {line!r}, so nothing can follow it.")
        return {character: math.exp(log_sum(ways) - total) for character, ways in sorted(found.items())}

    # Forwards: telling stories

    def derive(self, random: random.Random) -> "Derivation":
        return Derivation(self, random)


class Derivation:
    """One story before it is words: its choices, drawn when first needed, the same for every language."""

    def __init__(self, grammar: Grammar, random: random.Random):
        self.grammar, self.random = grammar, random
        self.cast: dict[str, Word] = {}
        self.turns: list[int] = []
        self.log_prob = 0.0  # of all choices made so far

    def _draw(self, ways: Sequence[tuple[float, object]]) -> int:
        [index] = self.random.choices(range(len(ways)), [math.exp(log_prob) for log_prob, _ in ways])
        self.log_prob += ways[index][0]
        return index

    def word(self, role: str) -> Word:
        if role not in self.cast:
            parents = tuple(self.word(name) for name in self.grammar.roles[role].parents)
            options = self.grammar.options(role, parents)
            self.cast[role] = options[self._draw(options)][1]
        return self.cast[role]

    def sentences(self, language: str) -> list[tuple[Say, str]]:
        """Return the story as (source, text) pairs; the joined texts are the line, newline included."""
        piece: Piece | None = self.grammar._start[language]
        said: list[tuple[Say, str]] = []
        turn = 0
        while piece is not None:
            if isinstance(piece, Fork):
                if turn == len(self.turns):
                    self.turns.append(self._draw(piece.ways))
                piece = piece.ways[self.turns[turn]][1]
                turn += 1
                continue
            if isinstance(piece, Mark):
                said.append((piece.source, ""))
            else:
                text = piece.text if isinstance(piece, Text) else surface(self.word(piece.role), language, piece)
                said[-1] = (said[-1][0], said[-1][1] + text)
            piece = piece.after
        return said

    def line(self, language: str) -> str:
        return "".join(text for _, text in self.sentences(language))


def surface(word: Word, language: str, slot: Slot) -> str:
    """Return the text of a word in a slot."""
    text = word.forms[language][slot.form]
    return text[:1].upper() + text[1:] if slot.capital else text


def log_sum(logs: Sequence[float]) -> float:
    """Return the log of the sum of the exponentials, without underflow; −inf for none."""
    top = max(logs, default=-math.inf)
    return top if top == -math.inf else top + math.log(math.fsum(math.exp(log - top) for log in logs))
