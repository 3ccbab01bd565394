"""`beam_search`: tables of probabilities in which the best sentence starts badly, ends early or ends late."""

from typing import Any

import torch

from autograder.spec import (
    Cases,
    Check,
    DependentCase,
    Exercise,
    FunctionUnderTest,
    Student,
    ValuesDiffer,
    cases_of,
    other_ids,
    raises_error,
    shuffled,
)

from .scripted_models import SCRIPTED, Facts, decodes, ids_differ, scripted, side_effects

# A model whose probabilities stand in a table, by what has been written; what is not there ends. After eos: rubbish.
# Its logits are the logarithms, shifted from position to position, which means nothing once the softmax is taken.
_TREE = (
    SCRIPTED
    + """
class Scripted(Scripted):
    def __init__(self, V, bos_id, eos_id, letters, text):
        super().__init__(V, bos_id, eos_id, 0.0, 0)
        self.rules = {}
        for prefix, row in (rule.split(":") for rule in text.split("|")):
            tokens, probs = map(letters.index, row.split()[::2]), map(float, row.split()[1::2])
            self.rules[tuple(map(letters.index, prefix.split()))] = dict(zip(tokens, probs))

    def row(self, prefix):
        otherwise = {self.V - 1: 0.9, self.eos_id: 0.1} if self.eos_id in prefix else {self.eos_id: 1.0}
        probs = self.rules.get(prefix, otherwise)
        few = [1e-12 if v in (self.bos_id, self.eos_id) else 1e-9 * (1 + 0.3 * v) for v in range(self.V)]
        row = torch.tensor([max(probs.get(v, 0.0), few[v]) for v in range(self.V)]).log()
        return row + float(sum(7 * v for v in prefix) % 5)

    def forward(self, source_ids, target_ids):
        self.check(source_ids, target_ids)
        rows = []
        for tokens in target_ids.tolist():
            after_bos = tokens[1:] if tokens[0] == self.bos_id else [self.V, *tokens]  # nothing else may stand first
            rows.append(torch.stack([self.row(tuple(after_bos[:t])) for t in range(len(after_bos) + 1)]))
        return torch.stack(rows)[:, : target_ids.shape[1]] + self.anchor
"""
)

_LETTERS = "PBEabcde"  # padding, bos, eos, and five words

# Tables of probabilities: what has been written, a colon, tokens with theirs, and a stroke.
# Each is so clear-cut that all ways of pruning and stopping agree: finished beams that hold a place, that hold none,
# that may be pushed out; stopping with the first beam_size of them or at max_len.
_GARDEN_PATH = ": a .55 b .45 | a: c .4 d .35 e .25 | b: c .95 d .05"
_THIRD_WINS = (
    ": a .4 b .35 c .25 | a: d .4 e .35 a .25 | b: d .45 e .35 b .2 | c: d .98 e .02 | "
    "a d: e .99 a .01 | b d: e .99 a .01"
)
_SIBLINGS = ": a .7 b .3 | a: c .52 d .48 | b: c .99 d .01 | a c: a .4 b .35 c .25 | a d: e .99 a .01 | b c: e .9 a .1"
_SHORT_WINS = (
    ": a .6 b .4 | a: E .8 c .2 | a c: d .9 e .1 | a c d: e .9 c .1 | b: c .7 d .3 | b c: d .7 e .3 | b c d: e .7 a .3"
)
_AT_ONCE = ": E .9 a .1 | a: b .9 c .1"
_UNLIKELY = "".join(  # sentences that go on and on
    f"| {' '.join(words[:n])}: {words[n]} 1"
    for words, start in (("acdeabc", 2), ("bdeacb", 2), ("bcecae", 3), ("bcdace", 4), ("bcdeab", 5))
    for n in range(start, len(words))
)
_SHORT = ": a .55 b .45 | a: E .85 c .15 | "
_LONG_AT_06 = _SHORT + "b: c .98 d .02 | b c: d .98 e .02 | b c d: e .98 a .02 | b c d e: E .99 a .01" + _UNLIKELY
_LONG_AT_1 = _SHORT + "b: c .93 d .07 | b c: d .94 e .06 | b c d: e .95 a .05 | b c d e: E .97 a .03" + _UNLIKELY
_LONG_ALWAYS = _LONG_AT_06.replace(": a .55 b .45", ": b .52 a .48")
_LONG_BY_A_TOKEN, _SHORT_BY_A_TOKEN = (  # the other one wins only if bos is counted too, and if eos is not
    f"{_SHORT}b: c {p} d {q} e {r} a {s} | b c: d {p} b {q} e {r} a {s} | "
    f"b c d: e {p} b {q} c {r} a {s} | b c d e: E {p} c {q} b {r} a {s}{_UNLIKELY}"
    for p, q, r, s in ((0.72, 0.1, 0.1, 0.08), (0.68, 0.12, 0.11, 0.09))
)
_TOO_MANY_HEIRS = (  # the second token's third heir wins, but is beyond two beams, also if the first sentence has ended
    ": E .4 a .35 b .1 c .08 d .07 | a: c .35 d .33 e .32 | a c: a .4 b .35 c .25 | a d: a .4 b .35 c .25"
    "| a e: E .99 a .01 | b: a .4 b .35 c .25"
)


def _best(got: Any, expected: list[int], *limits: Any) -> None:
    if ids_differ(got, expected, *limits):
        raise ValuesDiffer(f"Another sentence should win {limits[-1]}.")


cases = cases_of("beam_search", same=_best)


def _scripted(args: Facts, source: list[int], what: str, *numbers: float, **tree: Any) -> DependentCase:
    named: dict[str, Any] = dict(zip(("beam_size", "max_len", "length_penalty"), numbers, strict=False))
    facts = {"bos_id": args[1], "eos_id": args[2], **named}
    where = f"with {', '.join(f'{name} = {value}' for name, value in facts.items())}, {what}"
    return decodes(args, torch.tensor([source]), where, **named, **{"code": SCRIPTED} | tree)


def _tree(text: str, words: str, what: str, *numbers: float) -> DependentCase:
    letters = _LETTERS[:3] + "".join(shuffled([*_LETTERS[3:]]))
    how = {"code": _TREE, "right": [letters.index(x) for x in words], "by_name": ["length_penalty"]}
    return _scripted((len(letters), 1, 2, letters, text), [4, 3, 5], what, *numbers, **how)


@cases
def _greedy() -> Cases:
    for V, bonus, seed, source, max_len in (
        *((9, 1.0, 3, [4, 9, 17], 12), (12, 0.5, 8, [11], 15), (9, -40.0, 5, [5, 12, 3, 8], 7)),
        *((7, 2.0, 6, [19, 3, 4, 14, 6], 10), (20, 1.5, 2, [6, 7], 9)),
    ):
        yield _scripted((V, 1, 2, bonus, seed), other_ids(source), "as in greedy decoding", 1, max_len, code="")


@cases
def _finds() -> Cases:
    third = "when the best sentence begins with the third likeliest token"
    for text, words, what, beam_size in (
        *((_GARDEN_PATH, "bc", "when the likeliest first token leads nowhere", n) for n in (2, 4)),
        *((_THIRD_WINS, "ade", third, 2), (_THIRD_WINS, "cd", third, 3)),
        (_SIBLINGS, "ade", "when the two best beginnings are continuations of one beam", 2),
    ):
        yield _tree(text, words, what, beam_size, 10)
    for V, beam_size, max_len, seed, source in (
        *((9, 2, 6, 103, [17, 18, 8, 9]), (9, 2, 6, 138, [17, 3, 7]), (8, 4, 5, 146, [17, 15, 11, 6, 5])),
        *((8, 4, 5, 111, [14, 13, 12]), (8, 3, 7, 118, [6, 6, 10, 14]), (12, 5, 9, 377, [8, 11])),
    ):
        yield _scripted((V, 1, 2, -40.0, seed), source, "when no sentence ends before max_len", beam_size, max_len)


@cases
def _finished() -> Cases:
    for numbers in ((2, 10, 0.0), (3, 10, 0.0), (2, 10)):
        yield _tree(_SHORT_WINS, "a", "when the best sentence is the first to end", *numbers)
    for beam_size in (2, 3):
        yield _tree(_AT_ONCE, "", "when the best sentence is empty", beam_size, 10)
    yield _tree(_LONG_AT_06, "bcde", "when the best sentence is not the first to end", 2, 10)
    yield _tree(_LONG_AT_06, "a", "when one that has not ended by max_len would score higher", 2, 3, 3.0)
    what = "when one sentence ends at once and leaves its place to no more than one other"
    yield _tree(_TOO_MANY_HEIRS, "", what, 2, 3, 4.0)
    # Found by trial, as the trees are written: all ways of pruning and stopping agree on these.
    for V, beam_size, bonus, penalty, max_len, seed, source in (
        *((9, 2, 0.5, 0.6, 10, 175, [15, 15, 12, 8]), (9, 2, 0.5, 0.6, 10, 287, [7, 15, 5, 17, 5])),
        *((9, 2, 0.5, 0.6, 10, 329, [16, 15, 4, 12, 11]), (9, 2, 0.5, 0.6, 10, 350, [9, 7, 16, 9, 6])),
        *((10, 3, 0.5, 0.0, 9, 353, [7, 14, 19, 6, 10]), (10, 3, 0.5, 0.0, 9, 297, [6, 18, 17])),
        *((8, 3, 1.0, 0.6, 8, 204, [11, 14, 11]), (7, 4, 1.5, 0.6, 12, 191, [9, 14, 16, 19, 7])),
        *((6, 5, 1.0, 1.0, 7, 263, [9, 11, 18, 4, 6]), (9, 2, 0.5, 0.6, 10, 301, [17, 10, 11, 5])),
    ):
        yield _scripted((V, 1, 2, bonus, seed), source, "when sentences end in turn", beam_size, max_len, penalty)


@cases
def _penalty() -> Cases:
    for text, words, *numbers in (
        *((_LONG_AT_06, "a", 2, 10, 0.0), (_LONG_AT_06, "bcde", 2, 10, 0.6), (_LONG_AT_06, "bcde", 2, 10)),
        *((_LONG_AT_06, "bcde", 3, 10, 1.0), (_LONG_ALWAYS, "bcde", 2, 10, 2.0), (_LONG_ALWAYS, "bcde", 2, 10, 0.0)),
        *((_LONG_AT_1, "a", 2, 10), (_LONG_AT_1, "a", 2, 10, 0.6), (_LONG_AT_1, "bcde", 2, 10, 1.0)),
        *((_LONG_AT_1, "bcde", 2, 10, 2.0), (_LONG_AT_1, "bcde", 3, 10, 1.0)),
        *((_LONG_BY_A_TOKEN, "bcde", 2, 5, 3.0), (_SHORT_BY_A_TOKEN, "a", 2, 5, 3.0)),
    ):
        yield _tree(text, words, "for a short sentence against a long one", *numbers)


@cases
def _limits() -> Cases:
    for *ids, beam_size, seed in ((9, 0, 1, 2, 3), (10, 5, 0, 3, 4), (8, 7, 6, 2, 5)):
        for max_len in (5, 1):
            source, where = other_ids([4, 9, 17]), "when no sentence ends before"
            yield _scripted((*ids, -40.0, seed), source, where, beam_size, max_len, code="")


@cases
def _extremes() -> Cases:
    what = "for a long sentence (its probability is below 1e-45)"
    yield _scripted((300, 1, 2, -40.0, 12), [4, 9, 17], what, 2, 45)
    for beam_size in (9, 40):
        yield _tree(_GARDEN_PATH, "bc", "more than there are tokens", beam_size, 10)


def _refused(student: Student, tested: FunctionUnderTest) -> None:
    for beam_size in (0, -1):
        with student.case(), raises_error(f"beam_size = {beam_size}"):
            model, _ = scripted(student, (9, 1, 2, 0.5, 175))
            student.call(tested.name, [model, torch.tensor([[15, 8]]), 1, 2, beam_size, 5])


@cases
def _side_effects() -> Cases:
    source = torch.tensor([[15, 15, 12, 8]])
    yield from side_effects((9, 1, 2, 0.5, 175), source, SCRIPTED, beam_size=2, max_len=10, length_penalty=0.6)
    yield _refused


EXERCISE = Exercise(
    Check("beam_size 1 equals greedy decoding", 1.0, _greedy),
    Check("finds sentences that greedy decoding misses", 2.5, _finds),
    Check("finished beams are kept", 1.5, _finished),
    Check("the length penalty", 1.25, _penalty),
    Check("any bos_id and eos_id, at most max_len new tokens", 0.75, _limits, dependent=True),
    Check("long sentences, and more beams than tokens", 0.5, _extremes, dependent=True),
    Check("source_ids and mode unchanged, beam_size below 1 refused, device", 0.5, _side_effects, dependent=True),
    takes="other",
    gives="list",
    harmless=("bad_input_accepted",),
)
