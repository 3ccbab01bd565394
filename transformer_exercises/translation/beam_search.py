"""`beam_search`: tables of probabilities in which the best sentence starts badly, ends early or ends late.

All ways of pruning and stopping agree on them. The mistakes: greedy beams, scores not summed, finished beams lost, the
length penalty.
"""

from __future__ import annotations

from typing import Any

import torch

from autograder.spec.compare import unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer
from autograder.spec.inputs import define_in_judge, generator_unchanged, raises_error
from autograder.spec.student import Student

from .common import SCRIPTED, asked_in_its_mode, decoded_on_device, id_list, left_in_eval_mode, their_scripted

beam_search = reference("beam_search")

# A model whose probabilities stand in a table, by what has been written; what is not there ends. After eos: rubbish.
# Its logits are the logarithms, shifted from position to position, which means nothing once the softmax is taken.
_TREE = """
class Tree(nn.Module):
    def __init__(self, rules, V, bos_id, eos_id):
        super().__init__()
        self.anchor = nn.Parameter(torch.zeros(()))
        self.rules = {tuple(prefix): dict(zip(tokens, probs)) for prefix, tokens, probs in rules}
        self.V, self.bos_id, self.eos_id = V, bos_id, eos_id

    def row(self, prefix):
        otherwise = {self.V - 1: 0.9, self.eos_id: 0.1} if self.eos_id in prefix else {self.eos_id: 1.0}
        probs = self.rules.get(prefix, otherwise)
        few = [1e-12 if v in (self.bos_id, self.eos_id) else 1e-9 * (1 + 0.3 * v) for v in range(self.V)]
        row = torch.tensor([max(probs.get(v, 0.0), few[v]) for v in range(self.V)]).log()
        return row + float(sum(7 * v for v in prefix) % 5)

    def forward(self, source_ids, target_ids):
        for name, ids in (("source_ids", source_ids), ("target_ids", target_ids)):
            if ids.dim() != 2:
                raise ValueError(f"the model wants {name} of shape [batch, length], not {list(ids.shape)}")
        if len(source_ids) != len(target_ids):
            raise ValueError(f"the model got {len(source_ids)} rows of source_ids and {len(target_ids)} of target_ids")
        if len(target_ids) > 1000:
            raise RuntimeError("the model got more than 1000 rows at once")
        if not target_ids.numel():
            raise LookupError("the model got no target_ids: they begin with bos_id")
        rows = []
        for tokens in target_ids.tolist():
            after_bos = tokens[1:] if tokens[0] == self.bos_id else [self.V, *tokens]  # nothing else may stand first
            rows.append(torch.stack([self.row(tuple(after_bos[:t])) for t in range(len(after_bos) + 1)]))
        return torch.stack(rows)[:, : target_ids.shape[1]] + self.anchor

def tree(*args):
    return Tree(*args)
"""

_LETTERS = "PBEabcde"  # padding, bos, eos, and five words


def _rules(text: str) -> list:
    """A table of probabilities: what has been written, a colon, and tokens with their probabilities."""
    rules = []
    for line in text.strip().splitlines():
        prefix, row = line.split(":")
        tokens, probs = row.split()[::2], row.split()[1::2]
        rules.append(
            [[_LETTERS.index(x) for x in prefix.split()], [_LETTERS.index(x) for x in tokens], list(map(float, probs))]
        )
    return rules


# Each is so clear-cut that all ways of pruning and stopping agree: finished beams that hold a place, that hold none,
# that may be pushed out; stopping with the first beam_size of them or at max_len.
_GARDEN_PATH = """
    : a .55 b .45
    a: c .4 d .35 e .25
    b: c .95 d .05
"""

_THIRD_WINS = """
    : a .4 b .35 c .25
    a: d .4 e .35 a .25
    b: d .45 e .35 b .2
    c: d .98 e .02
    a d: e .99 a .01
    b d: e .99 a .01
"""

_SIBLINGS = """
    : a .7 b .3
    a: c .52 d .48
    b: c .99 d .01
    a c: a .4 b .35 c .25
    a d: e .99 a .01
    b c: e .9 a .1
"""

_SHORT_WINS = """
    : a .6 b .4
    a: E .8 c .2
    a c: d .9 e .1
    a c d: e .9 c .1
    b: c .7 d .3
    b c: d .7 e .3
    b c d: e .7 a .3
"""

_AT_ONCE = """
    : E .9 a .1
    a: b .9 c .1
"""

_UNLIKELY = """
    a c: d 1
    a c d: e 1
    a c d e: a 1
    a c d e a: b 1
    a c d e a b: c 1
    b d: e 1
    b d e: a 1
    b d e a: c 1
    b d e a c: b 1
    b c e: c 1
    b c e c: a 1
    b c e c a: e 1
    b c d a: c 1
    b c d a c: e 1
    b c d e a: b 1
"""

_LONG_AT_06 = """
    : a .55 b .45
    a: E .85 c .15
    b: c .98 d .02
    b c: d .98 e .02
    b c d: e .98 a .02
    b c d e: E .99 a .01
""" + _UNLIKELY.strip("\n")

_LONG_AT_1 = """
    : a .55 b .45
    a: E .85 c .15
    b: c .93 d .07
    b c: d .94 e .06
    b c d: e .95 a .05
    b c d e: E .97 a .03
""" + _UNLIKELY.strip("\n")

_LONG_ALWAYS = _LONG_AT_06.replace(": a .55 b .45", ": b .52 a .48")


# The short one wins only if bos is counted too.
_LONG_BY_A_TOKEN = """
    : a .55 b .45
    a: E .85 c .15
    b: c .72 d .1 e .1 a .08
    b c: d .72 b .1 e .1 a .08
    b c d: e .72 b .1 c .1 a .08
    b c d e: E .72 c .1 b .1 a .08
""" + _UNLIKELY.strip("\n")


# The long one wins only if eos is not counted.
_SHORT_BY_A_TOKEN = """
    : a .55 b .45
    a: E .85 c .15
    b: c .68 d .12 e .11 a .09
    b c: d .68 b .12 e .11 a .09
    b c d: e .68 b .12 c .11 a .09
    b c d e: E .68 c .12 b .11 a .09
""" + _UNLIKELY.strip("\n")


# The second token's third heir wins, but it is beyond two beams, also once the first sentence has ended.
_TOO_MANY_HEIRS = """
    : E .4 a .35 b .1 c .08 d .07
    a: c .35 d .33 e .32
    a c: a .4 b .35 c .25
    a d: a .4 b .35 c .25
    a e: E .99 a .01
    b: a .4 b .35 c .25
"""


def _best(got: Any, expected: list[int], bos_id: int, eos_id: int, max_len: int, where: str) -> None:
    got = id_list(got, where)
    if got == expected:
        return
    if bos_id in got:
        raise ValuesDiffer(f"bos_id is in the result {where}: it is only what the model is given first.", "bos_kept")
    if eos_id in got:
        raise ValuesDiffer(
            f"eos_id is in the result {where}: leave it out; a beam that has ended is not continued.", "eos_kept"
        )
    if len(got) > max_len:
        raise ValuesDiffer(f"The result has more than max_len new tokens {where}.", "too_long")
    raise ValuesDiffer(f"Another sentence should win {where}.")


def _beam_tree(
    student: Student, text: str, beam_size: int, words: str, what: str, max_len: int = 10, **how: Any
) -> None:
    args = [_rules(text), len(_LETTERS), 1, 2]
    model = student.call(student.probe("tree", _TREE), args, keep=True)["value"]
    said = "".join(f" and {name} = {value}" for name, value in how.items())
    where = f"with beam_size = {beam_size}{said}, {what}"
    source = torch.tensor([[4, 3, 5]])
    got = student.call("beam_search", [model, source, 1, 2, beam_size, max_len], how, where=where)["value"]
    expected = beam_search(define_in_judge(_TREE, "Tree")(*args), source, 1, 2, beam_size, max_len, **how)
    assert expected == [_LETTERS.index(x) for x in words], f"{what}: {expected}"
    _best(got, expected, 1, 2, max_len, where)


def _beam_scripted(
    student: Student, args: tuple, source: list[int], beam_size: int, max_len: int, where: str, *penalty: float
) -> tuple[dict, Any]:
    """The answer to a call, and the model that was asked."""
    _, bos_id, eos_id, *_ = args
    model, source_ids = their_scripted(student, args), torch.tensor([source])
    rest = [source_ids, bos_id, eos_id, beam_size, max_len, *penalty]
    answer = student.call("beam_search", [model, *rest], where=where)
    expected = beam_search(define_in_judge(SCRIPTED, "Scripted")(*args), *rest)
    _best(answer["value"], expected, bos_id, eos_id, max_len, where)
    return answer, model


def _beam_greedy(student: Student) -> None:
    for args, source, max_len in (
        ((9, 1, 2, 1.0, 3), [4, 9, 17], 12),
        ((12, 1, 2, 0.5, 8), [11], 15),
        ((9, 1, 2, -40.0, 5), [5, 12, 3, 8], 7),
        ((7, 1, 2, 2.0, 6), [19, 3, 4, 14, 6], 10),
        ((20, 1, 2, 1.5, 2), [6, 7], 9),
    ):
        with student.case():
            _beam_scripted(student, args, source, 1, max_len, f"with beam_size = 1 and V = {args[0]}")


def _beam_finds(student: Student) -> None:
    for text, beam_size, words, what in (
        (_GARDEN_PATH, 2, "bc", "when the likeliest first token leads nowhere"),
        (_GARDEN_PATH, 4, "bc", "when the likeliest first token leads nowhere"),
        (_THIRD_WINS, 2, "ade", "when the best sentence begins with the third likeliest token"),
        (_THIRD_WINS, 3, "cd", "when the best sentence begins with the third likeliest token"),
        (_SIBLINGS, 2, "ade", "when the two best beginnings are continuations of one beam"),
    ):
        with student.case():
            _beam_tree(student, text, beam_size, words, what)
    for V, beam_size, max_len, seed, source in (
        (9, 2, 6, 103, [17, 18, 8, 9]),
        (9, 2, 6, 138, [17, 3, 7]),
        (8, 4, 5, 146, [17, 15, 11, 6, 5]),
        (8, 4, 5, 111, [14, 13, 12]),
        (8, 3, 7, 118, [6, 6, 10, 14]),
        (12, 5, 9, 377, [8, 11]),
    ):
        with student.case():
            where = f"with beam_size = {beam_size} and V = {V}, when no sentence ends before max_len"
            _beam_scripted(student, (V, 1, 2, -40.0, seed), source, beam_size, max_len, where)


def _beam_finished(student: Student) -> None:
    cases: tuple[tuple[str, int, str, str, dict[str, Any]], ...] = (
        (_SHORT_WINS, 2, "a", "when the best sentence is the first to end", {"length_penalty": 0.0}),
        (_SHORT_WINS, 3, "a", "when the best sentence is the first to end", {"length_penalty": 0.0}),
        (_SHORT_WINS, 2, "a", "when the best sentence is the first to end", {}),
        (_AT_ONCE, 2, "", "when the best sentence is empty", {}),
        (_AT_ONCE, 3, "", "when the best sentence is empty", {}),
        (_LONG_AT_06, 2, "bcde", "when the best sentence is not the first to end", {}),
    )
    for text, beam_size, words, what, how in cases:
        with student.case():
            _beam_tree(student, text, beam_size, words, what, **how)
    with student.case():
        what = "when one sentence ends at once and leaves its place to no more than one other"
        _beam_tree(student, _TOO_MANY_HEIRS, 2, "", what, max_len=3, length_penalty=4.0)
    # Found by trial, as the trees are written: all ways of pruning and stopping agree on these.
    for V, beam_size, bonus, penalty, max_len, seed, source in (
        (9, 2, 0.5, 0.6, 10, 175, [15, 15, 12, 8]),
        (9, 2, 0.5, 0.6, 10, 287, [7, 15, 5, 17, 5]),
        (9, 2, 0.5, 0.6, 10, 329, [16, 15, 4, 12, 11]),
        (9, 2, 0.5, 0.6, 10, 350, [9, 7, 16, 9, 6]),
        (10, 3, 0.5, 0.0, 9, 353, [7, 14, 19, 6, 10]),
        (10, 3, 0.5, 0.0, 9, 297, [6, 18, 17]),
        (8, 3, 1.0, 0.6, 8, 204, [11, 14, 11]),
        (7, 4, 1.5, 0.6, 12, 191, [9, 14, 16, 19, 7]),
        (6, 5, 1.0, 1.0, 7, 263, [9, 11, 18, 4, 6]),
        (9, 2, 0.5, 0.6, 10, 301, [17, 10, 11, 5]),
    ):
        with student.case():
            where = (
                f"with beam_size = {beam_size}, V = {V} and length_penalty = {penalty}, when sentences end at "
                "different times"
            )
            _beam_scripted(student, (V, 1, 2, bonus, seed), source, beam_size, max_len, where, penalty)


def _beam_penalty(student: Student) -> None:
    what = "for a short sentence against a long one"
    cases: tuple[tuple[str, int, str, dict[str, Any]], ...] = (
        (_LONG_AT_06, 2, "a", {"length_penalty": 0.0}),
        (_LONG_AT_06, 2, "bcde", {"length_penalty": 0.6}),
        (_LONG_AT_06, 2, "bcde", {}),
        (_LONG_AT_06, 3, "bcde", {"length_penalty": 1.0}),
        (_LONG_ALWAYS, 2, "bcde", {"length_penalty": 2.0}),
        (_LONG_ALWAYS, 2, "bcde", {"length_penalty": 0.0}),
        (_LONG_AT_1, 2, "a", {}),
        (_LONG_AT_1, 2, "a", {"length_penalty": 0.6}),
        (_LONG_AT_1, 2, "bcde", {"length_penalty": 1.0}),
        (_LONG_AT_1, 2, "bcde", {"length_penalty": 2.0}),
        (_LONG_AT_1, 3, "bcde", {"length_penalty": 1.0}),
    )
    for text, beam_size, words, how in cases:
        with student.case():
            _beam_tree(student, text, beam_size, words, what, **how)
    with student.case():
        _beam_tree(student, _LONG_BY_A_TOKEN, 2, "bcde", what, max_len=5, length_penalty=3.0)
    with student.case():
        _beam_tree(student, _SHORT_BY_A_TOKEN, 2, "a", what, max_len=5, length_penalty=3.0)


def _beam_limits(student: Student) -> None:
    for V, bos_id, eos_id, beam_size, seed in ((9, 0, 1, 2, 3), (10, 5, 0, 3, 4), (8, 7, 6, 2, 5)):
        for max_len in (5, 1):
            with student.case():
                where = (
                    f"with bos_id = {bos_id}, eos_id = {eos_id} and max_len = {max_len}, when no sentence ends before"
                )
                _beam_scripted(student, (V, bos_id, eos_id, -40.0, seed), [4, 9, 17], beam_size, max_len, where)
    with student.case():
        where = "with max_len = 0"
        _beam_scripted(student, (9, 1, 2, -40.0, 3), [4, 9, 17], 2, 0, where)


def _beam_extremes(student: Student) -> None:
    with student.case():
        where = "for a long sentence (the product of its probabilities is below 1e-45)"
        _beam_scripted(student, (300, 1, 2, -40.0, 12), [4, 9, 17], 2, 45, where)
    for beam_size in (9, 40):
        with student.case():
            what = "more than there are tokens"
            _beam_tree(student, _GARDEN_PATH, beam_size, "bc", what)


def _beam_manners(student: Student) -> None:
    args = (9, 1, 2, 0.5, 175)
    with student.case():
        answer, model = _beam_scripted(student, args, [15, 15, 12, 8], 2, 10, "with beam_size = 2")
        unchanged(answer["inputs"][:1], [torch.tensor([[15, 15, 12, 8]])], "source_ids")
        generator_unchanged(answer)
        left_in_eval_mode(student, model)
    with student.case():
        source, where = torch.tensor([[15, 15, 12, 8]]), "with the arguments given by name"
        given = {"length_penalty": 0.6, "max_len": 10, "beam_size": 2, "eos_id": 2, "bos_id": 1, "source_ids": source}
        got = student.call("beam_search", [], given | {"model": their_scripted(student, args)}, where)["value"]
        _best(got, beam_search(define_in_judge(SCRIPTED, "Scripted")(*args), source, 1, 2, 2, 10), 1, 2, 10, where)
    with student.case():
        asked_in_its_mode(student, "beam_search", args, [torch.tensor([[15, 15, 12, 8]]), 1, 2, 2, 10])
    for beam_size in (0, -1):
        with student.case():
            model = their_scripted(student, args)
            with raises_error(f"beam_size = {beam_size}"):
                student.call("beam_search", [model, torch.tensor([[15, 8]]), 1, 2, beam_size, 5])
    with student.case():
        decoded_on_device(
            student, "beam_search", [their_scripted(student, args), torch.tensor([[15, 15, 12, 8]]), 1, 2, 2, 10]
        )


EXERCISE = Exercise(
    points=8,
    checks=[
        Check("beam_size 1 equals greedy decoding", 1.0, _beam_greedy),
        Check("finds sentences that greedy decoding misses", 2.5, _beam_finds),
        Check("finished beams are kept", 1.5, _beam_finished),
        Check("the length penalty", 1.25, _beam_penalty),
        Check("any bos_id and eos_id, at most max_len new tokens", 0.75, _beam_limits, further=True),
        Check("long sentences, and more beams than tokens", 0.5, _beam_extremes, further=True),
        Check("source_ids and mode unchanged, beam_size below 1 refused, device", 0.5, _beam_manners, further=True),
    ],
    working=r"""
import torch

def beam_search(model, source_ids, bos_id, eos_id, beam_size, max_len, length_penalty=0.6):
    if beam_size < 1:
        raise ValueError("beam_size must be at least 1")
    beams, ended = [((), 0.0)], []
    for _ in range(max_len):
        heirs = []
        for tokens, log_prob in beams:
            with torch.no_grad():
                target = torch.tensor([[bos_id, *tokens]], device=source_ids.device)
                new = model(source_ids, target)[0, -1].double().log_softmax(0).tolist()
            heirs += [((*tokens, token), log_prob + each) for token, each in enumerate(new)]
        heirs.sort(key=lambda heir: -heir[1])
        heirs = heirs[: beam_size - len(ended)]
        ended += [heir for heir in heirs if heir[0][-1] == eos_id]
        beams = [heir for heir in heirs if heir[0][-1] != eos_id]
        if not beams:
            break
    best = max(ended or beams, key=lambda heir: heir[1] / (5 + len(heir[0])) ** length_penalty)
    return [token for token in best[0] if token != eos_id]
""",
    gives="list",
    slips=("nothing_returned", "global_generator", "error_of_another_type", "error_returned"),
    wrong=r"""
greedy (missed): Only one beam is followed, so this is greedy decoding: keep beam_size of them at each step.
- places_left = min(beam_size - len(finished), log_probs.numel()) => places_left = 1
- beams = [candidate for candidate in candidates if candidate[0][-1] != eos_id] => beams = [candidate for candidate in candidates if candidate[0][-1] != eos_id][:1]
equal_beams: The search starts with beam_size copies of one beam, so all beams stay equal: start with one.
- beams, finished = [([bos_id], 0.0)], []  # pairs: tokens, and the log-probability of all of them together => beams, finished = [([bos_id], 0.0) for _ in range(beam_size)], []  # pairs: tokens, and the log-probability of all of them together
  places_left = min(beam_size - len(finished), log_probs.numel()) => per_beam = torch.log_softmax(logits, dim=-1).argmax(dim=-1).tolist()
  best = log_probs.flatten().topk(places_left)  # across all beams: one may have several heirs, another none => best = torch.return_types.topk((log_probs.max(dim=-1).values, torch.tensor([i * logits.shape[-1] + t for i, t in enumerate(per_beam)])))
- beams, finished = [([bos_id], 0.0)], []  # pairs: tokens, and the log-probability of all of them together => beams, finished = [([bos_id], 0.0) for _ in range(beam_size)], []  # pairs: tokens, and the log-probability of all of them together
each_beam_its_own_heir: Each beam keeps its own likeliest continuation: the beam_size best are chosen across all beams together.
- best = log_probs.flatten().topk(places_left)  # across all beams: one may have several heirs, another none =>
      best = log_probs.flatten().topk(places_left)
      if len(beams) > 1:
          top = log_probs.max(dim=-1)
          best = torch.return_types.topk((top.values, top.indices + torch.arange(len(beams)) * logits.shape[-1]))
beams_not_cut: More beams are kept than beam_size (all continuations of all beams, say): the likeliest beam_size of them.
- places_left = min(beam_size - len(finished), log_probs.numel()) => places_left = min(2 * beam_size - len(finished), log_probs.numel())
- places_left = min(beam_size - len(finished), log_probs.numel()) => places_left = min(beam_size * len(beams), log_probs.numel())
- places_left = min(beam_size - len(finished), log_probs.numel()) => places_left = min(beam_size + 1 - len(finished), log_probs.numel())
one_beam_fewer (slip): One beam fewer than beam_size is kept.
- places_left = min(beam_size - len(finished), log_probs.numel()) => places_left = min(max(beam_size - 1, 1) - len(finished), log_probs.numel())
beams_fixed: beam_size is not used: a fixed number of beams is kept.
- places_left = min(beam_size - len(finished), log_probs.numel()) => places_left = min(5 - len(finished), log_probs.numel())
- places_left = min(beam_size - len(finished), log_probs.numel()) => places_left = min(2 - len(finished), log_probs.numel())
- places_left = min(beam_size - len(finished), log_probs.numel()) => places_left = min(3 - len(finished), log_probs.numel())
last_step_only: Beams are compared by the probability of their last token alone: add up the log-probabilities of all their tokens.
- log_probs = so_far[:, None] + torch.log_softmax(logits, dim=-1)  # (K, V): of whole beginnings => log_probs = torch.log_softmax(logits, dim=-1)
logits_added: Logits are added up: only log-probabilities (log_softmax) can be compared between beams.
- log_probs = so_far[:, None] + torch.log_softmax(logits, dim=-1)  # (K, V): of whole beginnings => log_probs = so_far[:, None] + logits
probabilities_added: Probabilities are added up: add their logarithms (or multiply).
- log_probs = so_far[:, None] + torch.log_softmax(logits, dim=-1)  # (K, V): of whole beginnings => log_probs = so_far[:, None] + torch.softmax(logits, dim=-1)
probabilities_multiplied: Probabilities are multiplied, and for long sentences the product becomes 0 in float32: add up logarithms.
- [([bos_id], 0.0)], [] => [([bos_id], 1.0)], []
  log_probs = so_far[:, None] + torch.log_softmax(logits, dim=-1)  # (K, V): of whole beginnings => log_probs = so_far[:, None] * torch.softmax(logits, dim=-1)
  return log_prob / ((5 + len(tokens) - 1) / 6) ** length_penalty  # bos is not counted => return math.log(max(log_prob, 1e-300)) / ((5 + len(tokens) - 1) / 6) ** length_penalty
softmax_over_the_beams: The softmax runs over the beams, or over all continuations together: each beam has a distribution of its own, over the
    vocabulary.
- torch.log_softmax(logits, dim=-1) => torch.log_softmax(logits, dim=0) || torch.log_softmax(logits.flatten(), dim=0).view_as(logits)
wrong_parent: A continuation is attached to the wrong beam: of a place in the flattened (K, V), place // V is the beam and place % V the token.
- candidates.append(([*beams[beam][0], token], log_prob)) => candidates.append(([*beams[len(candidates) % len(beams)][0], token], log_prob))
- candidates.append(([*beams[beam][0], token], log_prob)) => candidates.append(([*beams[0][0], token], log_prob))
- beam, token = divmod(place, logits.shape[-1]) => beam, token = place % len(beams), place % logits.shape[-1]
- beam, token = divmod(place, logits.shape[-1]) => token, beam = divmod(place, len(beams))
shared_list: A list of tokens is changed in place (`append`), although several continuations share it: make a new list for each.
- candidates.append(([*beams[beam][0], token], log_prob)) =>
      beams[beam][0].append(token)
      candidates.append((beams[beam][0], log_prob))
worst_kept: The unlikeliest are kept, or win: log-probabilities are negative, the best is the largest.
- best = log_probs.flatten().topk(places_left)  # across all beams: one may have several heirs, another none => best = log_probs.flatten().topk(places_left, largest=False)
- max(finished or beams => min(finished or beams
sampled: Beams are drawn at random: the likeliest are kept.
- best = log_probs.flatten().topk(places_left)  # across all beams: one may have several heirs, another none =>
      drawn = torch.multinomial(log_probs.flatten().softmax(0), places_left)
      best = torch.return_types.topk((log_probs.flatten()[drawn], drawn))
finished_dropped: Beams that have ended are lost: set them aside, one of them may be the best in the end.
- finished += [candidate for candidate in candidates if candidate[0][-1] == eos_id] => finished = [candidate for candidate in candidates if candidate[0][-1] == eos_id]
- finished += [candidate for candidate in candidates if candidate[0][-1] == eos_id] =>
  tokens, _ = max(finished or beams, key=score) => tokens, _ = max(beams or [([bos_id], 0.0)], key=score)
- tokens, _ = max(finished or beams, key=score) => tokens, _ = max(beams or finished, key=score)
first_to_end_wins: The first beam that ends is returned: others may end later and be better.
- if not => if finished or not
last_to_end_wins: The last beam that ends wins, whatever its score: take the best of all finished ones.
- tokens, _ = max(finished or beams, key=score) => tokens, _ = finished[-1] if finished else max(beams, key=score)
continued_after_eos: Beams that have ended are continued: what follows eos_id is rubbish, and costs them probability.
- finished += [candidate for candidate in candidates if candidate[0][-1] == eos_id] =>
  beams = [candidate for candidate in candidates if candidate[0][-1] != eos_id] => beams = candidates
  return [token for token in tokens[1:] if token != eos_id] => return tokens[1 : tokens.index(eos_id)] if eos_id in tokens else tokens[1:]
- finished += [candidate for candidate in candidates if candidate[0][-1] == eos_id] =>
  beams = [candidate for candidate in candidates if candidate[0][-1] != eos_id] => beams = candidates
unfinished_wins: A beam that has not ended is preferred to finished ones.
- tokens, _ = max(finished or beams, key=score) => tokens, _ = max(finished + beams, key=lambda c: c[1] if c[0][-1] == eos_id else 0.0)
finished_too_early: A beam counts as finished as soon as eos_id is among its likely continuations, whether that one is kept or not.
- finished += [candidate for candidate in candidates if candidate[0][-1] == eos_id] =>
      finished += [candidate for candidate in candidates if candidate[0][-1] == eos_id]
      finished += [([*tokens, eos_id], log_probs[i, eos_id].item()) for i, (tokens, _) in enumerate(beams)]
      finished = sorted(finished, key=lambda c: -c[1])[:beam_size]
unfinished_lost: When no beam has ended by max_len, nothing comes back: then the best unfinished one is the result.
- tokens, _ = max(finished or beams, key=score) =>
      if not finished:
          return []
      tokens, _ = max(finished, key=score)
- max(finished or beams => max(finished
- tokens, _ = max(finished or beams, key=score) =>
      if not finished:
          return None
      tokens, _ = max(finished, key=score)
penalty_ignored: length_penalty makes no difference: the log-probability of each beam is divided by ((5 + length) / 6) ** length_penalty, with the
    length of that beam.
- return log_prob / ((5 + len(tokens) - 1) / 6) ** length_penalty  # bos is not counted => return log_prob / ((5 + max_len) / 6) ** length_penalty
penalty_multiplied (slip): The log-probability is multiplied by the penalty: it is divided, so that long sentences lose less.
- return log_prob / ((5 + len(tokens) - 1) / 6) ** length_penalty  # bos is not counted => return log_prob * ((5 + len(tokens) - 1) / 6) ** length_penalty  # bos is not counted
penalty_of_the_length_alone (slip): The log-probability is divided by length ** length_penalty: here it is ((5 + length) / 6) ** length_penalty.
- return log_prob / ((5 + len(tokens) - 1) / 6) ** length_penalty  # bos is not counted => return log_prob / max(len(tokens) - 1, 1) ** length_penalty
- return log_prob / ((5 + len(tokens) - 1) / 6) ** length_penalty  # bos is not counted => return log_prob / len(tokens) ** length_penalty
mean_log_probability: The log-probability is divided by the length, whatever length_penalty says.
- return log_prob / ((5 + len(tokens) - 1) / 6) ** length_penalty  # bos is not counted => return log_prob / max(len(tokens) - 1, 1)
- return log_prob / ((5 + len(tokens) - 1) / 6) ** length_penalty  # bos is not counted => return log_prob / len(tokens)
- return log_prob / ((5 + len(tokens) - 1) / 6) ** length_penalty  # bos is not counted => return log_prob / ((5 + len(tokens) - 1) / 6)
penalty_subtracted: The penalty is subtracted, added, or multiplied by the length: the log-probability is divided by ((5 + length) / 6) **
    length_penalty.
- return log_prob / ((5 + len(tokens) - 1) / 6) ** length_penalty  # bos is not counted => return log_prob - length_penalty * len(tokens)
- return log_prob / ((5 + len(tokens) - 1) / 6) ** length_penalty  # bos is not counted => return log_prob + length_penalty * len(tokens)
- return log_prob / ((5 + len(tokens) - 1) / 6) ** length_penalty  # bos is not counted => return log_prob / (length_penalty * max(len(tokens) - 1, 1) or 1)
- return log_prob / ((5 + len(tokens) - 1) / 6) ** length_penalty  # bos is not counted => return log_prob / ((5 + length_penalty) / 6) ** (len(tokens) - 1)
length_without_eos (slip): The length does not count eos_id: it is the number of new tokens, eos_id included.
- return log_prob / ((5 + len(tokens) - 1) / 6) ** length_penalty => return log_prob / ((5 + len(tokens) - 1 - (tokens[-1] == eos_id)) / 6) ** length_penalty
penalty_at_every_step: The penalty is applied anew at each step to what has been divided already: keep log-probabilities, and divide only to compare.
- candidates.append(([*beams[beam][0], token], log_prob)) => candidates.append(([*beams[beam][0], token], log_prob / ((5 + len(beams[beam][0])) / 6) ** length_penalty))
- candidates.append(([*beams[beam][0], token], log_prob)) => candidates.append(([*beams[beam][0], token], log_prob / ((5 + 1) / 6) ** length_penalty / len(beams[beam][0]) ** length_penalty))
penalty_default (slip): The default of length_penalty is not 0.6.
- length_penalty=0.6 => length_penalty=1.0 || length_penalty=0.0 || length_penalty
penalty_fixed: length_penalty is not used: its place is taken by a fixed 0.6.
- ** length_penalty => ** 0.6
bos_kept (slip): bos_id is part of the result: leave it out.
- tokens[1:] => tokens
eos_kept (slip): eos_id is part of the result: leave it out.
- return [token for token in tokens[1:] if token != eos_id] => return tokens[1:]
last_token_cut (slip): The last token is cut off although it is not eos_id (or the first one, which is not bos_id).
- return [token for token in tokens[1:] if token != eos_id] => return tokens[1:-1]
- tokens[1:] if => tokens[2:] if
one_too_few (slip): The loop has one step too few: max_len counts the new tokens, bos_id is not among them.
- range(max_len) => range(max_len - 1)
one_too_many (slip): The loop has one step too many: at most max_len new tokens.
- range(max_len) => range(max_len + 1)
max_len_ignored: max_len is not kept to: it counts the new tokens, without bos.
- range(max_len) => range(50) || range(2 * source_ids.shape[1]) || range(source_ids.shape[1])
nothing_at_zero: max_len = 0 fails: it gives an empty list.
- tokens, _ = max(finished or beams, key=score) =>
      finished = finished + candidates[:0]
      tokens, _ = max(finished or beams, key=score)
- beams, finished =>
      assert max_len > 0
      beams, finished
fixed_ids (slip): The ids of bos and eos are written into the code: use bos_id and eos_id.
- == eos_id => == 2
  != eos_id => != 2
- [([bos_id], 0.0)] => [([1], 0.0)] || [([0], 0.0)]
starts_with_eos (slip): The beams begin with eos_id: they begin with bos_id.
- [([bos_id], 0.0)] => [([eos_id], 0.0)]
bos_not_given (missed): The model is not given bos_id: target_ids begin with it, as in training.
- [([bos_id], 0.0)] => [([], 0.0)]
  tokens[1:] => tokens
last_token_given: The model is given only the last token of each beam: it has no memory, so give it all of them.
- target_ids = torch.tensor([tokens for tokens, _ in beams], device=source_ids.device)  # (K, T) => target_ids = torch.tensor([tokens[-1:] for tokens, _ in beams], device=source_ids.device)
wrong_position: The logits of the wrong position are used: the next token follows the last one, `[:, -1]`.
- target_ids)[:, -1] => target_ids)[:, 0] || target_ids).mean(dim=1)
source_not_repeated: The model is given one source and several beams: repeat the source for each of them (`expand`, `repeat`), both have as many rows.
- source_ids.expand(len(beams), -1) => source_ids || source_ids.expand(beam_size, -1)
model_arguments_swapped (slip): The model's arguments are the wrong way round: model(source_ids, target_ids).
- source_ids.expand(len(beams), -1), target_ids => target_ids, source_ids.expand(len(beams), -1)
too_many_asked_for: topk is asked for more than there is: with beam_size above V, a beam has only V continuations (`min(beam_size, …)`).
- places_left = min(beam_size - len(finished), log_probs.numel()) => places_left = beam_size - len(finished)
eval_mode (slip): The model is put into eval mode (`model.eval()`): it is asked in the mode it is in, and stays in it. Whoever calls decides that.
- beams, finished = [([bos_id], 0.0)], [] =>
      model.eval()
      beams, finished = [([bos_id], 0.0)], []
other_signature (slip): A parameter has another name than in the signature: beam_search(model, source_ids, bos_id, eos_id, beam_size, max_len,
    length_penalty=0.6).
- def beam_search(model, source_ids, bos_id, eos_id, beam_size, max_len, length_penalty=0.6): =>
      def beam_search(model, source, bos, eos, beam_size, max_len, length_penalty=0.6):
          source_ids, bos_id, eos_id = source, bos, eos
- def beam_search(model, source_ids, bos_id, eos_id, beam_size, max_len, length_penalty=0.6): =>
      def beam_search(model, source_ids, bos_id, eos_id, beam_size, max_len, alpha=0.6):
          length_penalty = alpha
score_too (slip): More than the ids is returned: one list of ints is asked for.
- return [token for token in tokens[1:] if token != eos_id] => return [token for token in tokens[1:] if token != eos_id], _
- return [token for token in tokens[1:] if token != eos_id] => return _, [token for token in tokens[1:] if token != eos_id]
all_beams (slip): All beams are returned (or a list around the one): one list of ints is asked for.
- return [token for token in tokens[1:] if token != eos_id] => return [[token for token in tokens[1:] if token != eos_id]]
- return [token for token in tokens[1:] if token != eos_id] => return [[t for t in tokens[1:] if t != eos_id] for tokens, _ in sorted(finished or beams, key=score, reverse=True)]
tensor (slip): A tensor is returned, or a list of tensors: a list of ints is asked for (`.tolist()`, `int(…)`).
- return [token for token in tokens[1:] if token != eos_id] => return torch.tensor([token for token in tokens[1:] if token != eos_id])
- return [token for token in tokens[1:] if token != eos_id] => return [torch.tensor(token) for token in tokens[1:] if token != eos_id]
input_changed: source_ids are changed in place: the caller's tensor stays as it is.
- tokens, _ = max(finished or beams, key=score) =>
      source_ids.zero_()
      tokens, _ = max(finished or beams, key=score)
- tokens, _ = max(finished or beams, key=score) =>
      source_ids.resize_(len(finished) + 1, source_ids.shape[1]).copy_(source_ids[:1].clone())
      tokens, _ = max(finished or beams, key=score)
training_mode: The model is put into training mode, so dropout would be at work: it is called in the mode it is in.
- beams, finished =>
      model.train()
      beams, finished
device_not_kept: A tensor is made without `device=…`: on a GPU it would be on the CPU.
- target_ids = torch.tensor([tokens for tokens, _ in beams], device=source_ids.device)  # (K, T) => target_ids = torch.tensor([tokens for tokens, _ in beams])
bad_size_accepted: A beam_size below 1 is accepted: it should be a ValueError that names beam_size.
- if beam_size < 1: => beam_size = max(beam_size, 1)
  raise ValueError(f"beam_size must be at least 1; got {beam_size}") =>
- raise ValueError(f"beam_size must be at least 1; got {beam_size}") => return []
error_of_another_type:
- if beam_size < 1: =>
  raise ValueError(f"beam_size must be at least 1; got {beam_size}") =>
""",
    right=r"""
wide_until_enough:
- |
  if beam_size < 1:
      raise ValueError("beam_size must be positive")
  alive = torch.full((1, 1), bos_id, device=source_ids.device)
  scores = torch.zeros(1, device=source_ids.device)
  done = []
  for step in range(1, max_len + 1):
      logits = model(source_ids.repeat(alive.shape[0], 1), alive)[:, -1, :]
      V = logits.size(-1)
      total = scores.unsqueeze(1) + F.log_softmax(logits, -1)
      values, places = total.view(-1).sort(descending=True)
      new, new_scores = [], []
      for rank, (value, place) in enumerate(zip(values[: 2 * beam_size], places[: 2 * beam_size])):
          parent, token = place // V, place % V
          sequence = torch.cat([alive[parent], token.view(1)])
          if token == eos_id:
              if rank < beam_size:
                  done.append((value.item() / ((5 + step) / 6) ** length_penalty, sequence.tolist()[1:-1]))
          elif len(new) < beam_size:
              new.append(sequence)
              new_scores.append(value)
      alive, scores = torch.stack(new), torch.stack(new_scores)
      if len(done) >= beam_size:
          break
  if not done:
      return alive[scores.argmax()].tolist()[1:]
  return max(done)[1]
ended_beams_compete:
- |
  import heapq

  def beam_search(model, source_ids, bos_id, eos_id, beam_size, max_len, length_penalty=0.6):
      if beam_size <= 0:
          raise ValueError(f"beam_size: {beam_size}")

      def normalised(entry):
          log_p, tokens = entry
          return log_p * (6 / (5 + len(tokens))) ** length_penalty

      entries = [(0.0, ())]
      for _ in range(max_len):
          open_ones = [entry for entry in entries if eos_id not in entry[1]]
          if not open_ones:
              break
          heirs = [entry for entry in entries if eos_id in entry[1]]
          targets = torch.tensor([[bos_id, *tokens] for _, tokens in open_ones]).to(source_ids.device)
          sources = torch.cat([source_ids] * len(open_ones))
          with torch.no_grad():
              log_probs = model(sources, targets)[:, -1].log_softmax(-1).tolist()
          for (log_p, tokens), row in zip(open_ones, log_probs):
              heirs.extend((log_p + new, (*tokens, token)) for token, new in enumerate(row))
          entries = heapq.nlargest(beam_size, heirs)
      ended = [entry for entry in entries if entry[1] and entry[1][-1] == eos_id]
      _, tokens = max(ended or entries, key=normalised)
      return [token for token in tokens if token != eos_id]
to_the_end:
- |
  if not beam_size > 0:
      raise ValueError("beam_size")
  pool, running = [], {(bos_id,): 0.0}
  for _ in range(max_len):
      grown = {}
      for tokens, total in running.items():
          row = model(source_ids, source_ids.new_tensor([tokens]))[0, -1]
          row = row - row.logsumexp(0)
          values, indices = row.topk(min(2 * beam_size, len(row)))
          for value, index in zip(values.tolist(), indices.tolist()):
              grown[tokens + (index,)] = total + value
      ranking = sorted(grown, key=grown.get, reverse=True)
      pool += [(tokens, grown[tokens]) for tokens in ranking[:beam_size] if tokens[-1] == eos_id]
      running = {tokens: grown[tokens] for tokens in [r for r in ranking if r[-1] != eos_id][:beam_size]}
  if not pool:
      pool = list(running.items())
  pool.sort(key=lambda p: p[1] / (5 + len(p[0]) - 1) ** length_penalty, reverse=True)
  return [t for t in pool[0][0] if t not in (bos_id, eos_id)]
tensors:
- |
  if beam_size < 1:
      raise ValueError(f"beam_size = {beam_size} is less than one")
  device, K = source_ids.device, beam_size
  tokens = torch.full((K, 1), bos_id, device=device)
  totals = torch.full((K,), -1e9, device=device)
  totals[0] = 0.0
  ended = torch.zeros(K, dtype=torch.bool, device=device)
  lengths = torch.zeros(K, device=device)
  sources = source_ids.repeat_interleave(K, dim=0)
  for _ in range(max_len):
      log_probs = torch.log_softmax(model(sources, tokens)[:, -1], -1)
      V = log_probs.shape[-1]
      stay = torch.full_like(log_probs, -1e9)
      stay[:, eos_id] = 0.0
      log_probs = torch.where(ended[:, None], stay, log_probs)
      totals, places = (totals[:, None] + log_probs).view(-1).topk(K)
      parents, new = places.div(V, rounding_mode="floor"), places % V
      tokens = torch.cat([tokens[parents], new[:, None]], 1)
      lengths = lengths[parents] + ~ended[parents]
      ended = ended[parents] | (new == eos_id)
      if ended.all():
          break
  scores = totals / ((5 + lengths) / 6) ** length_penalty
  if ended.any():
      scores = scores.masked_fill(~ended, -1e18)
  best = tokens[scores.argmax()].tolist()[1:]
  return best[: best.index(eos_id)] if eos_id in best else best
""",
)
