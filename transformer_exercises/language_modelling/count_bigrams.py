"""`count_bigrams`: the table of pairs, short texts, ids out of range, and whether Python loops over the text."""

import torch

from autograder.spec import (
    Cases,
    Check,
    Exercise,
    Problem,
    Student,
    behaves,
    cases_of,
    device,
    only_values,
    other_ids,
    other_sizes,
    raises_error,
    reference,
    refusing,
    same_values,
)

from .random_inputs import some_ids

refuse = refusing("count_bigrams")

# Whether more lines of Python run for a longer text; a loop runs at least one for each token. No clock is involved.
# Lines of packages do not count: those of torch run for each number of a tensor that an answer prints.
_GROWS = """
import sys

def grows(count, short, long, vocab_size):
    def lines(ids):
        seen, before = [], sys.gettrace()
        def trace(frame, event, arg):
            if "site-packages" in frame.f_code.co_filename:
                return None
            seen.append(event)
            return trace
        sys.settrace(trace)
        try:
            count(ids, vocab_size)
        finally:
            sys.settrace(before)
        return len(seen)
    lines(short)  # the first call may import things
    return lines(long) - lines(short) > (len(long) - len(short)) // 2
"""

cases = cases_of("count_bigrams", same=same_values)


@cases
def _values() -> Cases:
    for ids, V in (([0, 1, 0, 1, 1], 2), ([2, 0, 2, 2, 1, 0, 2, 0], 3), ([0, 1], 2), ([4, 4, 4, 4, 0, 3, 2, 1, 4], 5)):
        others = other_ids(ids, V)
        yield [torch.tensor(others), V], f"for ids {others} and vocab_size = {V}"
    for n, V in ((25, 6), (8, 11), (150, 7)):
        yield [some_ids(V, n), V], f"for {n} ids and vocab_size = {V}"


EDGES: tuple[tuple[list[int], int, str], ...] = (
    ([], 3, "for an empty text"),
    ([2], 4, "for a text of one token"),
    ([0, 0, 1], 6, "when the last tokens of the vocabulary do not occur"),
    ([5, 4, 5, 5], 8, "when the first tokens of the vocabulary do not occur"),
    ([0, 0, 0], 1, "for a vocabulary of one token"),
    ([1] * 300, 2, "when one pair occurs 299 times"),
)
_edges = cases(lambda: (([torch.tensor(other_ids(ids, V), dtype=torch.int64), V], where) for ids, V, where in EDGES))


def _same(student: Student, ids: torch.Tensor) -> None:
    where = f"for a text of {len(ids)} tokens"
    with student.case(), only_values():
        got = student.value("count_bigrams", ids, 3, where=where)
        same_values(got, reference("count_bigrams")(ids, 3), "The result", where)


def _without_loop(student: Student) -> None:
    ids = some_ids(3, 350)
    _same(student, ids)
    try:
        function = student.call(("count_bigrams", "__get__"), [None, 0], keep=True)["value"]  # the function itself
    except Problem:
        return  # something else that can be called: what runs inside stays its secret
    grows = student.value(student.probe("grows", _GROWS), function, ids[:50], ids, 3)
    refuse(grows is True, "python_loop")
    _same(student, (torch.arange(40_000) % 1000 > 0).long())


def _bad_ids(student: Student) -> None:
    (V,) = other_sizes(3)
    for ids in ([0, V, 1], [0, 2, V + 4], [1, -1, 2], [-1, 0, 1], [V]):
        with student.case(), raises_error(f"A call with ids {ids} and vocab_size = {V}"):
            student.value("count_bigrams", torch.tensor(ids), V)
    _same(student, torch.tensor([0, 2, 1]))  # nothing wrong here


@cases_of("count_bigrams")
def _side_effects() -> Cases:
    yield behaves([some_ids(5, 12), 5], "`ids`")
    yield [some_ids(5, 24)[::2], 5], "for a tensor that is not contiguous"
    yield device([some_ids(5, 12), 5])


EXERCISE = Exercise(
    Check("how often j follows i", 1.5, _values),
    Check("empty texts, one token, tokens that do not occur", 0.5, _edges, dependent=True),
    Check("no Python loop over the text", 0.4, _without_loop, dependent=True),
    Check("an id outside the vocabulary is a ValueError", 0.3, _bad_ids, dependent=True),
    Check("int64, inputs unchanged, any layout and device", 0.3, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=(
        "gradient_cut_off",
        "single_precision",
        "double_precision",
        "single_precision_inside",
        "other_signature",
        "global_generator",
    ),
)
