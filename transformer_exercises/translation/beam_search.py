"""`beam_search`: tables of probabilities in which the best sentence starts badly, ends early or ends late."""

from typing import Any

import torch

from autograder.spec.course import reference
from autograder.spec.exercise import Asking, Check, Exercise, ValuesDiffer
from autograder.spec.inputs import define_in_judge, raises_error
from autograder.spec.student import Student

from .common import SCRIPTED, decoded, id_list, ids_differ, manners, their_scripted

beam_search = reference("beam_search")

# A model whose probabilities stand in a table, by what has been written; what is not there ends. After eos: rubbish.
# Its logits are the logarithms, shifted from position to position, which means nothing once the softmax is taken.
_TREE = (
    SCRIPTED
    + """
class Tree(Scripted):
    def __init__(self, rules, V, bos_id, eos_id):
        super().__init__(V, bos_id, eos_id, 0.0, 0)
        self.rules = {tuple(prefix): dict(zip(tokens, probs)) for prefix, tokens, probs in rules}

    def row(self, prefix):
        otherwise = {self.V - 1: 0.9, self.eos_id: 0.1} if self.eos_id in prefix else {self.eos_id: 1.0}
        probs = self.rules.get(prefix, otherwise)
        few = [1e-12 if v in (self.bos_id, self.eos_id) else 1e-9 * (1 + 0.3 * v) for v in range(self.V)]
        row = torch.tensor([max(probs.get(v, 0.0), few[v]) for v in range(self.V)]).log()
        return row + float(sum(7 * v for v in prefix) % 5)

    def forward(self, source_ids, target_ids):
        self.note(source_ids, target_ids)
        rows = []
        for tokens in target_ids.tolist():
            after_bos = tokens[1:] if tokens[0] == self.bos_id else [self.V, *tokens]  # nothing else may stand first
            rows.append(torch.stack([self.row(tuple(after_bos[:t])) for t in range(len(after_bos) + 1)]))
        return torch.stack(rows)[:, : target_ids.shape[1]] + self.anchor

def tree(*args):
    return Tree(*args)
"""
)

_LETTERS = "PBEabcde"  # padding, bos, eos, and five words


def _rules(text: str) -> list[Any]:
    """Return a table of probabilities: what has been written, a colon, tokens with theirs, and a stroke."""
    rules = []
    for line in text.split("|"):
        prefix, row = line.split(":")
        tokens, probs = row.split()[::2], [float(number) for number in row.split()[1::2]]
        rules.append([[_LETTERS.index(x) for x in prefix.split()], [_LETTERS.index(x) for x in tokens], probs])
    return rules


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


def _best(got: Any, expected: list[int], bos_id: int, eos_id: int, max_len: int, where: str) -> None:
    ids_differ(id_list(got, where), expected, bos_id, eos_id, max_len, where)
    if got != expected:
        raise ValuesDiffer(f"Another sentence should win {where}.")


def _tree(
    student: Student, text: str, beam_size: int, words: str, what: str, penalty: float | None = None, max_len: int = 10
) -> None:
    args, source = [_rules(text), len(_LETTERS), 1, 2], torch.tensor([[4, 3, 5]])
    how = {} if penalty is None else {"length_penalty": penalty}
    model = student.call(student.probe("tree", _TREE), args, keep=True)["value"]
    where = f"with beam_size = {beam_size}{''.join(f' and {name} = {value}' for name, value in how.items())}, {what}"
    got = student.call("beam_search", [model, source, 1, 2, beam_size, max_len], how, where=where)["value"]
    expected = beam_search(define_in_judge(_TREE, "Tree")(*args), source, 1, 2, beam_size, max_len, **how)
    assert expected == [_LETTERS.index(x) for x in words], f"{what}: {expected}"
    _best(got, expected, 1, 2, max_len, where)


def _scripted(
    student: Student, args: tuple[Any, ...], source: list[int], beam_size: int, max_len: int, what: str, *penalty: float
) -> None:
    V, bos_id, eos_id = args[:3]
    where = f"with beam_size = {beam_size}, max_len = {max_len}, V = {V}, bos_id = {bos_id}, eos_id = {eos_id}, {what}"
    rest = [torch.tensor([source]), beam_size, max_len, *penalty]
    answer, _, expected = decoded(student, "beam_search", args, *rest, where=where)
    _best(answer["value"], expected, bos_id, eos_id, max_len, where)


def _asked(*cases: tuple[Any, ...]) -> Asking:
    """Make a check of rows of arguments: of `_tree`, which begin with a text, and of `_scripted`."""

    def ask(student: Student) -> None:
        for case in cases:
            with student.case():
                (_tree if isinstance(case[0], str) else _scripted)(student, *case)

    return ask


_greedy = _asked(
    *(
        ((V, 1, 2, bonus, seed), source, 1, max_len, "as in greedy decoding")
        for V, bonus, seed, source, max_len in (
            *((9, 1.0, 3, [4, 9, 17], 12), (12, 0.5, 8, [11], 15), (9, -40.0, 5, [5, 12, 3, 8], 7)),
            *((7, 2.0, 6, [19, 3, 4, 14, 6], 10), (20, 1.5, 2, [6, 7], 9)),
        )
    )
)
_finds = _asked(
    *((_GARDEN_PATH, n, "bc", "when the likeliest first token leads nowhere") for n in (2, 4)),
    (_THIRD_WINS, 2, "ade", "when the best sentence begins with the third likeliest token"),
    (_THIRD_WINS, 3, "cd", "when the best sentence begins with the third likeliest token"),
    (_SIBLINGS, 2, "ade", "when the two best beginnings are continuations of one beam"),
    *(
        ((V, 1, 2, -40.0, seed), source, beam_size, max_len, "when no sentence ends before max_len")
        for V, beam_size, max_len, seed, source in (
            *((9, 2, 6, 103, [17, 18, 8, 9]), (9, 2, 6, 138, [17, 3, 7]), (8, 4, 5, 146, [17, 15, 11, 6, 5])),
            *((8, 4, 5, 111, [14, 13, 12]), (8, 3, 7, 118, [6, 6, 10, 14]), (12, 5, 9, 377, [8, 11])),
        )
    ),
)
_finished = _asked(
    *((_SHORT_WINS, n, "a", "when the best sentence is the first to end", *p) for n, *p in ((2, 0.0), (3, 0.0), (2,))),
    *((_AT_ONCE, n, "", "when the best sentence is empty") for n in (2, 3)),
    (_LONG_AT_06, 2, "bcde", "when the best sentence is not the first to end"),
    (_LONG_AT_06, 2, "a", "when one that has not ended by max_len would score higher", 3.0, 3),
    (_TOO_MANY_HEIRS, 2, "", "when one sentence ends at once and leaves its place to no more than one other", 4.0, 3),
    *(  # found by trial, as the trees are written: all ways of pruning and stopping agree on these
        ((V, 1, 2, bonus, seed), source, beam_size, max_len, f"length_penalty = {p}, when sentences end in turn", p)
        for V, beam_size, bonus, p, max_len, seed, source in (
            *((9, 2, 0.5, 0.6, 10, 175, [15, 15, 12, 8]), (9, 2, 0.5, 0.6, 10, 287, [7, 15, 5, 17, 5])),
            *((9, 2, 0.5, 0.6, 10, 329, [16, 15, 4, 12, 11]), (9, 2, 0.5, 0.6, 10, 350, [9, 7, 16, 9, 6])),
            *((10, 3, 0.5, 0.0, 9, 353, [7, 14, 19, 6, 10]), (10, 3, 0.5, 0.0, 9, 297, [6, 18, 17])),
            *((8, 3, 1.0, 0.6, 8, 204, [11, 14, 11]), (7, 4, 1.5, 0.6, 12, 191, [9, 14, 16, 19, 7])),
            *((6, 5, 1.0, 1.0, 7, 263, [9, 11, 18, 4, 6]), (9, 2, 0.5, 0.6, 10, 301, [17, 10, 11, 5])),
        )
    ),
)
_penalty = _asked(
    *(
        (text, beam_size, words, "for a short sentence against a long one", *how)
        for text, beam_size, words, *how in (
            *((_LONG_AT_06, 2, "a", 0.0), (_LONG_AT_06, 2, "bcde", 0.6), (_LONG_AT_06, 2, "bcde")),
            *((_LONG_AT_06, 3, "bcde", 1.0), (_LONG_ALWAYS, 2, "bcde", 2.0), (_LONG_ALWAYS, 2, "bcde", 0.0)),
            *((_LONG_AT_1, 2, "a"), (_LONG_AT_1, 2, "a", 0.6), (_LONG_AT_1, 2, "bcde", 1.0)),
            *((_LONG_AT_1, 2, "bcde", 2.0), (_LONG_AT_1, 3, "bcde", 1.0)),
            *((_LONG_BY_A_TOKEN, 2, "bcde", 3.0, 5), (_SHORT_BY_A_TOKEN, 2, "a", 3.0, 5)),
        )
    )
)
_limits = _asked(
    *(
        ((V, bos_id, eos_id, -40.0, seed), [4, 9, 17], beam_size, max_len, "when no sentence ends before")
        for V, bos_id, eos_id, beam_size, seed in ((9, 0, 1, 2, 3), (10, 5, 0, 3, 4), (8, 7, 6, 2, 5))
        for max_len in (5, 1)
    ),
    ((9, 1, 2, -40.0, 3), [4, 9, 17], 2, 0, "for nothing new"),
)
_extremes = _asked(
    ((300, 1, 2, -40.0, 12), [4, 9, 17], 2, 45, "for a long sentence (its probability is below 1e-45)"),
    *((_GARDEN_PATH, n, "bc", "more than there are tokens") for n in (9, 40)),
)


def _manners(student: Student) -> None:
    def same(got: Any, expected: Any, where: str) -> None:
        _best(got, expected, 1, 2, 10, where)

    args, source = (9, 1, 2, 0.5, 175), torch.tensor([[15, 15, 12, 8]])
    manners(student, "beam_search", args, source, same, beam_size=2, max_len=10, length_penalty=0.6)
    for beam_size in (0, -1):
        with student.case(), raises_error(f"beam_size = {beam_size}"):
            student.call("beam_search", [their_scripted(student, args), torch.tensor([[15, 8]]), 1, 2, beam_size, 5])


EXERCISE = Exercise(
    Check("beam_size 1 equals greedy decoding", 1.0, _greedy),
    Check("finds sentences that greedy decoding misses", 2.5, _finds),
    Check("finished beams are kept", 1.5, _finished),
    Check("the length penalty", 1.25, _penalty),
    Check("any bos_id and eos_id, at most max_len new tokens", 0.75, _limits, further=True),
    Check("long sentences, and more beams than tokens", 0.5, _extremes, further=True),
    Check("source_ids and mode unchanged, beam_size below 1 refused, device", 0.5, _manners, further=True),
)
