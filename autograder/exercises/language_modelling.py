"""Notebook 01: bigram counts and probabilities, log-probabilities of texts, cross-entropy, perplexity, sampling."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import torch
import torch.nn.functional as F

from ..asked.compare import dtype_name, kind, same_gradients, same_tensor, unchanged
from ..asked.declare import Alternative, Ban, Check, Exercise, Mistake, Question, Wrong, edited, source_of, written
from ..asked.inputs import device_is_kept, gradients_agree, normal, quietly_called

# --- references -------------------------------------------------------------------------------------------------------


def count_bigrams(ids, vocab_size):
    """Count how often each token follows each token (Markov 1913; Jurafsky and Martin, chapter 3).

    ids: LongTensor [N], each in 0 .. vocab_size - 1 (else ValueError).
    Returns LongTensor [V, V] on the device of ids: counts[i, j] = how often j follows i.
    No Python loop over the text. N of 0 or 1 gives zeros.
    Example: ids [0, 1, 0, 1, 1], vocab_size 2 -> [[0, 2], [1, 1]]
    """
    if ((ids < 0) | (ids >= vocab_size)).any():
        raise ValueError(f"ids must lie between 0 and vocab_size - 1 = {vocab_size - 1}")
    first, second = ids[:-1], ids[1:]  # (N-1,), (N-1,): every pair of neighbours
    cells = first * vocab_size + second  # (N-1,): the number of cell (i, j) when the table is read row by row
    counts = torch.bincount(cells, minlength=vocab_size**2)  # (V*V,): pairs that never occur count 0
    return counts.view(vocab_size, vocab_size)  # (V, V)


def bigram_probs(counts, alpha=1.0):
    """Next-token probabilities from bigram counts, by add-alpha smoothing (Jurafsky and Martin, chapter 3).

    counts: [V, V], counts[i, j] = how often j follows i; alpha >= 0 is added to every count.
    Returns FloatTensor [V, V], rows sum to 1 (float64 counts stay float64).
    With alpha = 0 a row without counts is uniform, never NaN.
    Example: [[3, 1], [0, 0]], alpha 1 -> [[4/6, 2/6], [1/2, 1/2]]
    """
    smoothed = counts + alpha  # (V, V)
    unseen = (smoothed == 0).all(dim=-1, keepdim=True)  # (V, 1): only alpha = 0 leaves a row empty
    smoothed = smoothed.masked_fill(unseen, 1)  # all counts equal: uniform, where 0 / 0 would give NaN
    return smoothed / smoothed.sum(dim=-1, keepdim=True)  # (V, V): row i sums to 1


def sequence_log_prob(ids, probs):
    """Natural logarithm of p(x2 .. xN given x1), by the chain rule, in log space.

    ids: LongTensor [N], N at least 1; probs: [V, V], probs[i, j] = p(j given i).
    Returns a scalar tensor: 0 for N = 1, -inf if a step has probability 0.
    Example: ids [0, 1, 1], probs [[0.5, 0.5], [0.8, 0.2]] -> log 0.5 + log 0.2 = log 0.1
    """
    steps = probs[ids[:-1], ids[1:]]  # (N-1,): p(x2 | x1), p(x3 | x2), ...
    return steps.log().sum()  # a sum of logarithms: the product itself would soon underflow to 0


def cross_entropy(logits, targets):
    """Mean of -log p(target) over all positions, p being the softmax of the logits.

    logits: [..., V] float; targets: LongTensor [...] of ids. Returns a scalar tensor.
    Natural logarithm; stable for logits of 1e4.
    Not allowed: F.cross_entropy or its relatives (F.nll_loss, nn.CrossEntropyLoss, nn.NLLLoss).
    Example: logits [[0., 0.]], targets [1] -> log 2 = 0.693
    """
    log_probs = torch.log_softmax(logits, dim=-1)  # (..., V): not log(softmax(...)), which meets log(0)
    log_p_target = log_probs.gather(-1, targets.unsqueeze(-1))  # (..., 1): one number for each position
    return -log_p_target.mean()


def perplexity(mean_nll):
    """exp of the mean negative log-likelihood in nats: as unsure as a fair choice among this many tokens.

    mean_nll: a float or a float tensor of any shape. Returns the same type.
    Source: Jelinek, Mercer, Bahl and Baker 1977. Example: log 6 -> 6.0, a fair die
    """
    if isinstance(mean_nll, torch.Tensor):
        return torch.exp(mean_nll)  # differentiable, and keeps shape, dtype and device
    return math.exp(mean_nll)


def generate_bigram(probs, start_id, num_tokens, generator):
    """Sample a text from a bigram model, one token at a time (Shannon 1948).

    probs: [V, V], probs[i, j] = p(j given i); start_id: int; generator: torch.Generator, the only source of chance.
    Returns a list of 1 + num_tokens Python ints that begins with start_id.
    Example: probs [[0., 1.], [1., 0.]], start_id 0, num_tokens 3 -> [0, 1, 0, 1]
    """
    ids = [start_id]
    for _ in range(num_tokens):
        row = probs[ids[-1]]  # (V,): what may follow the latest token
        next_id = torch.multinomial(row, num_samples=1, generator=generator)  # (1,)
        ids.append(next_id.item())
    return ids


# --- how mistakes are written down, and what the checks share ---------------------------------------------------------

Coding = str | tuple[str, str] | list[tuple[str, str]]


def _coded(reference: Any, coding: Coding) -> str:
    """The source of another version: one edit of the reference, a list of edits, or a new body (not indented)."""
    if isinstance(coding, str):
        header = source_of(reference).split("\n", 1)[0]
        return written(header + "\n" + textwrap.indent(textwrap.dedent(coding).strip(), "    "))
    return edited(reference, *(coding if isinstance(coding, list) else [coding]))


def _mistakes(reference: Any, *rows: tuple) -> list[Mistake]:
    """A table of mistakes. Each row: the name, the sentence, and one or more codings."""
    return [
        Mistake(name, sentence, _coded(reference, first), tuple(_coded(reference, other) for other in others))
        for name, sentence, first, *others in rows
    ]


def _alternatives(reference: Any, **bodies: str) -> list[Alternative]:
    return [Alternative(name, _coded(reference, body)) for name, body in bodies.items()]


def _text(n: int, vocab_size: int) -> torch.Tensor:
    """n ids below vocab_size, small ones more often than large ones."""
    return (normal(n).abs() * vocab_size / 2).long().clamp(max=vocab_size - 1)


def _rows(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Positive probabilities along the last dimension, other ones in each row."""
    return torch.softmax(normal(*shape, dtype=torch.float64), -1).to(dtype)


def _same(got: Any, expected: torch.Tensor, what: str, where: str = "", rough: bool = False) -> None:
    """As `same_tensor`, but lenient about the dtype and about a number in place of a scalar tensor.

    Right values deserve their marks; which type they have is the matter of another check.
    """
    if type(got) in (int, float) and not expected.dim():
        got = torch.tensor(got, dtype=torch.float64)
    if isinstance(got, torch.Tensor) and got.dtype != torch.bool:
        if not expected.is_floating_point() and not torch.equal(got, got.to(expected.dtype)):
            raise Wrong(f"{what} should be whole numbers{' ' + where if where else ''}; yours has fractions.")
        if got.dtype == torch.float32:
            expected = expected.to(got.dtype)  # right to the digits that it has
        got = got.to(expected.dtype)
    same_tensor(got, expected, what, where, rough)


def _gradient(
    student: Any, target: str, reference: Any, args: list, name: str, where: str, rough: bool = False
) -> None:
    """The gradient of a scalar result with respect to the one argument that holds real numbers."""
    [position] = [k for k, arg in enumerate(args) if arg.is_floating_point()]
    leaf = args[position].detach().clone().requires_grad_(True)
    weight = torch.tensor(-1.75, dtype=leaf.dtype)  # a number that no forgotten factor looks like
    result = reference(*args[:position], leaf, *args[position + 1 :])
    [expected] = torch.autograd.grad(result * weight, [leaf])
    answer = student.call(target, args, where=where, upstream=[weight])
    if answer["value"] is None:
        raise Wrong(f"There is no result to take gradients of: yours returned {kind(None)}.")
    same_gradients(answer["gradients"].get("inputs", []), [expected], [name], where, rough)


def _quiet_and_pure(student: Any, target: str, args: list, expected: torch.Tensor, what: str, names: str) -> None:
    """Twice the same result, exact in type, with the inputs and the global generator left alone."""
    tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
    for turn in ("", "when called a second time"):
        answer = student.call(target, args, where=turn)
        same_tensor(answer["value"], expected, what, turn)
        unchanged(answer["inputs"], tensors, names)
        quietly_called(answer)


_NOTHING = "Nothing is returned (None): end with `return`, not with `print` or an assignment."
_TO_LIST = "A list is returned: a tensor is asked for, so leave out `.tolist()` (or the brackets)."
_NUMBER = (
    "A Python number is returned (`.item()` or `float(…)`): a scalar tensor is asked for. A number has no gradient, so "
    "nothing could be trained with it."
)
_DETACHED = (
    "The result is cut off from its input (`.detach()`, `.data`, `no_grad`, NumPy, or numbers put into a new tensor), so no "
    "gradient arrives and nothing could be trained through it."
)
_DOUBLE = "The result is float64 whatever was given: keep the dtype of the input (float32 in, float32 out)."
_SINGLE = "The result is float32 even for float64 inputs (a `.float()`?): keep the dtype that is given."


# --- count_bigrams ----------------------------------------------------------------------------------------------------

_CELLS = "first * vocab_size + second"
_BINS = "torch.bincount(cells, minlength=vocab_size**2)"
_VIEW = "return counts.view(vocab_size, vocab_size)"
_GUARD = "if ((ids < 0) | (ids >= vocab_size)).any():"
_UNGUARDED = (_GUARD, "if False:")


def _count_values(student: Any) -> None:
    for ids, vocab_size in (
        ([0, 1, 0, 1, 1], 2),
        ([2, 0, 2, 2, 1, 0, 2, 0], 3),
        ([0, 1], 2),
        ([4, 4, 4, 4, 0, 3, 2, 1, 4], 5),
    ):
        with student.case():
            where = f"for ids {ids} and vocab_size = {vocab_size}"
            given = torch.tensor(ids)
            got = student.value("count_bigrams", given, vocab_size, where=where)
            _same(got, count_bigrams(given, vocab_size), "The table", where)
    for n, vocab_size in ((25, 6), (8, 11), (150, 7)):
        with student.case():
            given, where = _text(n, vocab_size), f"for {n} ids and vocab_size = {vocab_size}"
            got = student.value("count_bigrams", given, vocab_size, where=where)
            _same(got, count_bigrams(given, vocab_size), "The table", where)


def _count_edges(student: Any) -> None:
    for ids, vocab_size, where in (
        ([], 3, "for an empty text"),
        ([2], 4, "for a text of one token"),
        ([0, 0, 1], 6, "when the last tokens of the vocabulary do not occur"),
        ([5, 4, 5, 5], 8, "when the first tokens of the vocabulary do not occur"),
        ([0, 0, 0], 1, "for a vocabulary of one token"),
        ([1] * 300, 2, "when one pair occurs 299 times"),
    ):
        with student.case():
            given = torch.tensor(ids, dtype=torch.int64)
            got = student.value("count_bigrams", given, vocab_size, where=where)
            _same(got, count_bigrams(given, vocab_size), "The table", where)


# Whether more lines of Python run for a longer text; a loop runs at least one for each token. No clock is involved.
_GROWS = """
import sys

def grows(count, short, long, vocab_size):
    def lines(ids):
        seen = 0
        def trace(frame, event, arg):
            nonlocal seen
            seen += 1
            return trace
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            count(ids, vocab_size)
        finally:
            sys.settrace(before)
        return seen
    lines(short)  # the first call may import things
    return lines(long) - lines(short) > (len(long) - len(short)) // 2
"""


def _count_without_loop(student: Any) -> None:
    ids, where = _text(350, 3), "for a text of 350 tokens"
    _same(student.value("count_bigrams", ids, 3, where=where), count_bigrams(ids, 3), "The table", where)
    try:
        function = student.call(("count_bigrams", "__get__"), [None, 0], keep=True)["value"]  # the function itself
    except Wrong:
        return  # something else that can be called: what runs inside stays its secret
    grows = student.value(student.probe("grows", _GROWS), function, ids[:50], ids, 3)
    if grows is True:
        raise Wrong(
            "The counts are right, but Python runs through the text token by token. Let torch count all pairs at once: "
            "the two shifted views `ids[:-1]` and `ids[1:]` hold them.",
            "python_loop",
        )


def _count_bad_ids(student: Any) -> None:
    for ids, where in (
        ([0, 3, 1], "for ids that contain vocab_size itself"),
        ([0, 2, 7], "when the last id is too large"),
        ([1, -1, 2], "for a negative id"),
    ):
        with student.case():
            try:
                student.value("count_bigrams", torch.tensor(ids), 3, where=where)
            except Wrong as wrong:
                facts = getattr(wrong, "facts", {})
                if facts.get("kind") != "raised" or facts.get("type") == "NotImplementedError":
                    raise
                if facts.get("type") == "ValueError":
                    continue
                raise Wrong(
                    f"Your code stops with {facts.get('type')} {where}: raise a ValueError that says what is wrong with `ids`.",
                    "bad_ids_accepted",
                ) from None
            raise Wrong(
                f"The result is a table as if nothing were wrong {where}: a ValueError is asked for, because such pairs would be "
                "counted in a wrong cell, or not at all.",
                "bad_ids_accepted",
            )
    got = student.value("count_bigrams", torch.tensor([0, 2, 1]), 3)  # nothing wrong here
    _same(got, count_bigrams(torch.tensor([0, 2, 1]), 3), "The table")


def _count_manners(student: Any) -> None:
    ids = _text(12, 5)
    _quiet_and_pure(student, "count_bigrams", [ids, 5], count_bigrams(ids, 5), "The table", "`ids`")
    every_other = _text(24, 5)[::2]
    got = student.value("count_bigrams", every_other, 5, where="for a tensor that is not contiguous")
    same_tensor(got, count_bigrams(every_other, 5), "The table", "for a tensor that is not contiguous")
    device_is_kept(student, "count_bigrams", [ids, 5])


_INDEX_PUT = """
counts = torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device)
counts.index_put_((ids[:-1], ids[1:]), torch.ones_like(ids[1:]), accumulate=True)
return counts
"""
_RAISE = """
if len(ids) and (ids.min() < 0 or ids.max() >= vocab_size):
    raise ValueError("ids: out of range")
"""


def _loop(body: str) -> str:
    """A body that fills a table by a Python loop."""
    return (
        _RAISE
        + "counts = torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device)\n"
        + textwrap.dedent(body).strip()
        + "\nreturn counts"
    )


COUNT_BIGRAMS = Exercise(
    name="count_bigrams",
    notebook="01-language-modelling",
    points=3,
    reference=count_bigrams,
    checks=[
        Check("how often j follows i", 1.5, _count_values),
        Check("empty texts, one token, tokens that do not occur", 0.5, _count_edges),
        Check("no Python loop over the text", 0.4, _count_without_loop),
        Check("an id outside the vocabulary is a ValueError", 0.3, _count_bad_ids),
        Check("int64, inputs unchanged, any layout and device", 0.3, _count_manners),
    ],
    working=written(
        """
        import torch

        def count_bigrams(ids, vocab_size):
            if len(ids) and not 0 <= ids.min() <= ids.max() < vocab_size:
                raise ValueError("ids")
            counts = torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device)
            return counts.index_put((ids[:-1], ids[1:]), torch.ones_like(ids[1:]), accumulate=True)
        """
    ),
    mistakes=_mistakes(
        count_bigrams,
        (
            "transposed",
            "The table is transposed: counts[i, j] says how often j follows i, so the row is the earlier token and the column the "
            "later one.",
            (_CELLS, "second * vocab_size + first"),
            _INDEX_PUT.replace("(ids[:-1], ids[1:])", "(ids[1:], ids[:-1])"),
            [(_CELLS, "second * vocab_size + first"), _UNGUARDED],
        ),
        (
            "repeats_counted_once",
            "A pair that occurs several times is counted once: `counts[i, j] += 1` with index *tensors* reads all old values "
            "first, and the last write wins. Use `bincount`, or `index_put_` with accumulate=True.",
            (_VIEW, "return counts.clamp(max=1).view(vocab_size, vocab_size)"),
            _INDEX_PUT.replace("accumulate=True", "accumulate=False"),
            _RAISE + _INDEX_PUT.replace("accumulate=True", "accumulate=False"),
        ),
        (
            "wraps_round",
            "The last token is paired with the first: `torch.roll`, or the index −1 at the start of a loop, wraps round. N tokens "
            "have N − 1 pairs.",
            ("ids[:-1], ids[1:]", "ids, ids.roll(-1)"),
            [("ids[:-1], ids[1:]", "ids, ids.roll(-1)"), _UNGUARDED],
            _loop("for k in range(len(ids)):\n    counts[ids[k - 1], ids[k]] += 1"),
        ),
        (
            "last_pair_missed",
            "The last pair is not counted: N tokens have N − 1 pairs, and `range(n)` ends at n − 1 already.",
            ("ids[:-1], ids[1:]", "ids[:-2], ids[1:-1]"),
            [("ids[:-1], ids[1:]", "ids[:-2], ids[1:-1]"), _UNGUARDED],
            _loop("for k in range(len(ids) - 2):\n    counts[ids[k], ids[k + 1]] += 1"),
        ),
        (
            "first_pair_missed",
            "The first pair is not counted: it begins with the token at position 0.",
            ("ids[:-1], ids[1:]", "ids[1:-1], ids[2:]"),
            _loop("for k in range(1, len(ids) - 1):\n    counts[ids[k], ids[k + 1]] += 1"),
        ),
        (
            "without_overlap",
            "Every other pair is missed: the pairs overlap, since each token but the first and last belongs to two of them.",
            ("ids[:-1], ids[1:]", "ids[:-1:2], ids[1::2]"),
            _loop("for k in range(0, len(ids) - 1, 2):\n    counts[ids[k], ids[k + 1]] += 1"),
        ),
        (
            "both_directions",
            "Each pair is counted in both directions, so the table is symmetric. Order matters: only counts[i, j] grows when j "
            "follows i.",
            (_VIEW, "counts = counts.view(vocab_size, vocab_size)\n    return counts + counts.T"),
            _loop("for i, j in zip(ids[:-1], ids[1:]):\n    counts[i, j] += 1\n    counts[j, i] += 1"),
        ),
        (
            "two_apart",
            "Tokens two apart are paired instead of neighbours: shift by one.",
            ("ids[:-1], ids[1:]", "ids[:-2], ids[2:]"),
        ),
        (
            "any_later_token",
            "Every later token is counted as a follower, not just the next one.",
            _loop(
                """
                for k in range(len(ids)):
                    for j in ids[k + 1 :]:
                        counts[ids[k], j] += 1
                """
            ),
        ),
        (
            "repeated_token_skipped",
            "A token that follows itself is left out: such pairs belong on the diagonal.",
            (_VIEW, "return counts.view(vocab_size, vocab_size).fill_diagonal_(0)"),
            _loop("for i, j in zip(ids[:-1], ids[1:]):\n    if i != j:\n        counts[i, j] += 1"),
        ),
        (
            "loop_runs_too_far",
            "The loop reaches beyond the last token: the last k has no ids[k + 1]. N tokens have N − 1 pairs.",
            _loop("for k in range(len(ids)):\n    counts[ids[k], ids[k + 1]] += 1"),
            _loop("for k in range(len(ids)):\n    counts[ids[k], ids[k + 1]] += 1").replace(_RAISE, ""),
        ),
        (
            "rows_shared",
            "`[[0] * V] * V` holds the same row V times, so each count appears in all of them. Make a row for each: "
            "torch.zeros(V, V, dtype=torch.long).",
            """
            counts = [[0] * vocab_size] * vocab_size
            for i, j in zip(ids[:-1], ids[1:]):
                counts[i][j] += 1
            return torch.tensor(counts)
            """,
        ),
        (
            "first_token_has_a_predecessor",
            "The first token is counted as a follower of token 0: nothing stands before it.",
            _loop("i = 0\nfor j in ids:\n    counts[i, j] += 1\n    i = j"),
            _loop("i = 0\nfor j in ids:\n    counts[i, j] += 1\n    i = j").replace(_RAISE, ""),
        ),
        (
            "single_tokens",
            "Single tokens are counted, not pairs: what matters is which token comes next.",
            (_VIEW, "return torch.bincount(ids, minlength=vocab_size)"),
            (_VIEW, "return torch.bincount(ids, minlength=vocab_size).expand(vocab_size, vocab_size)"),
            (_VIEW, "return torch.diag(torch.bincount(ids, minlength=vocab_size))"),
        ),
        (
            "smoothed_already",
            "The table starts at ones: that is smoothing, which is the next exercise. Counts start at zero.",
            (_VIEW, "return counts.view(vocab_size, vocab_size) + 1"),
            _loop("counts = counts + 1\nfor i, j in zip(ids[:-1], ids[1:]):\n    counts[i, j] += 1"),
        ),
        (
            "probabilities",
            "Probabilities are returned: the counts themselves are asked for, undivided.",
            (_VIEW, f"{_VIEW} / max(len(ids) - 1, 1)"),
            (
                _VIEW,
                "counts = counts.view(vocab_size, vocab_size)\n    return counts / counts.sum(1, keepdim=True).clamp(min=1)",
            ),
        ),
        (
            "size_from_the_text",
            "The size of the table comes from the text (`ids.max() + 1`, or the tokens that occur), so it shrinks when the last "
            "tokens of the vocabulary are missing: it must be vocab_size on each side.",
            [
                (
                    "first, second",
                    "vocab_size = int(ids.max()) + 1 if len(ids) else vocab_size\n    first, second",
                )
            ],
            [("first, second", "vocab_size = int(ids.max()) + 1\n    first, second")],
            [("first, second", "vocab_size = len(ids.unique())\n    first, second")],
            [("first, second", "vocab_size = int(ids.max()) + 1\n    first, second"), _UNGUARDED],
        ),
        (
            "no_minlength",
            "`bincount` without `minlength` is only as long as the largest cell that occurs, so the reshape fails. Give it "
            "minlength=vocab_size**2.",
            (_BINS, "torch.bincount(cells)"),
            [(_BINS, "torch.bincount(cells)"), _UNGUARDED],
        ),
        (
            "wrong_multiplier",
            "Different pairs share a cell: the number of cell (i, j), read row by row, is i * vocab_size + j.",
            (_CELLS, "first * (vocab_size - 1) + second"),
            (_CELLS, "first + second"),
            (_CELLS, "first * second"),
        ),
        (
            "flat",
            "The counts are a flat list of V·V numbers: shape them to (V, V) at the end.",
            (_VIEW, "return counts"),
            (_VIEW, "return counts.view(1, vocab_size, vocab_size)"),
        ),
        (
            "short_texts_refused",
            "A text of 0 or 1 tokens fails or is refused: it has no pairs, so its table is all zeros.",
            (_VIEW, "if len(ids) < 2:\n        raise ValueError('ids: too short')\n    " + _VIEW),
            (_VIEW, "assert len(ids) > 1\n    " + _VIEW),
            (_VIEW, "if len(ids) < 2:\n        return None\n    " + _VIEW),
            (_GUARD, "if ids.min() < 0 or ids.max() >= vocab_size:"),
            (_VIEW, "if len(ids) < 2:\n        return torch.zeros(0, 0, dtype=torch.long)\n    " + _VIEW),
            (_VIEW, "if len(ids) < 2:\n        return 0\n    " + _VIEW),
        ),
        (
            "python_loop",
            "The counts are right, but Python runs through the text token by token, which takes seconds for a book. Let torch "
            "count all pairs at once: `ids[:-1]` and `ids[1:]` hold them.",
            _loop("for i, j in zip(ids[:-1], ids[1:]):\n    counts[i, j] += 1"),
            _loop("for k in range(len(ids) - 1):\n    counts[ids[k], ids[k + 1]] += 1"),
            _loop("for i, j in zip(ids.tolist(), ids.tolist()[1:]):\n    counts[i, j] += 1"),
            _loop(
                "for i in range(vocab_size):\n    for j in range(vocab_size):\n        counts[i, j] = sum(a == i and b == j for a, b in zip(ids.tolist(), ids.tolist()[1:]))"
            ),
            _loop(
                "rows = counts.tolist()\ntext = ids.tolist()\n[rows[a].__setitem__(b, rows[a][b] + 1) for a, b in zip(text, text[1:])]\ncounts = torch.tensor(rows, device=ids.device)"
            ),
        ),
        (
            "python_loop_and_no_error",
            "The counts are right, but Python runs through the text token by token: let torch count all pairs of `ids[:-1]` and "
            "`ids[1:]` at once. And ids outside the vocabulary should be a ValueError.",
            _loop("for i, j in zip(ids[:-1], ids[1:]):\n    counts[i, j] += 1").replace(_RAISE, ""),
            _loop("for k in range(len(ids) - 1):\n    counts[ids[k], ids[k + 1]] += 1").replace(_RAISE, ""),
            _loop("for i, j in zip(ids.tolist(), ids.tolist()[1:]):\n    counts[i, j] += 1").replace(_RAISE, ""),
            """
            counts = [[0] * vocab_size for _ in range(vocab_size)]
            for i, j in zip(ids[:-1], ids[1:]):
                counts[i][j] += 1
            return torch.tensor(counts)
            """,
        ),
        (
            "bad_ids_accepted",
            "Ids outside 0 … vocab_size − 1 are not refused with a ValueError. With negative ids indexing counts from the end, and "
            "i * V + j falls into another row: the table would be wrong without a word.",
            _UNGUARDED,
            (_GUARD, "if (ids > vocab_size).any():"),
            (_GUARD, "if (ids >= vocab_size).any():"),
            (_GUARD, "if (ids[:-1] >= vocab_size).any() or (ids[:-1] < 0).any():"),
            _INDEX_PUT,
            "pairs = F.one_hot(ids[:-1], vocab_size).T @ F.one_hot(ids[1:], vocab_size)\nreturn pairs",
        ),
        (
            "other_error",
            "Ids outside the vocabulary stop the code with another error: a ValueError is asked for, which says what is wrong "
            "with `ids`.",
            ("raise ValueError", "raise IndexError"),
            ("raise ValueError", "raise AssertionError"),
        ),
        (
            "floats",
            "The table is made of floats: counts are whole numbers (dtype=torch.long). float32 cannot even count beyond "
            "16,777,216.",
            (_VIEW, _VIEW + ".float()"),
            [(_VIEW, _VIEW + ".float()"), _UNGUARDED],
            _INDEX_PUT.replace("dtype=torch.long, ", "").replace(
                "ones_like(ids[1:])", "ones(len(ids[1:]), device=ids.device)"
            ),
            (_VIEW, _VIEW + ".double()"),
        ),
        (
            "small_integers",
            "The table is of a smaller integer type: keep torch.long (int64).",
            (_VIEW, _VIEW + ".int()"),
            (_VIEW, _VIEW + ".short()"),
        ),
        (
            "overflow",
            "Counts overflow: a type of 8 bits ends at 127 or 255. Use torch.long.",
            (_VIEW, _VIEW + ".byte()"),
            (_VIEW, _VIEW + ".byte().long()"),
            (_VIEW, _VIEW + ".to(torch.int8)"),
        ),
        (
            "vocabulary_fixed",
            "The size is fixed in the code: use vocab_size.",
            [("first, second", "vocab_size = 5\n    first, second")],
            [("first, second", "vocab_size = 27\n    first, second")],
        ),
        ("nothing_returned", _NOTHING, (_VIEW, "print(counts.view(vocab_size, vocab_size))")),
        ("list", _TO_LIST, (_VIEW, _VIEW + ".tolist()")),
        (
            "dictionary",
            "A dictionary of pairs is returned: a tensor of shape (V, V) is asked for.",
            """
            counts = {}
            for pair in zip(ids.tolist(), ids.tolist()[1:]):
                counts[pair] = counts.get(pair, 0) + 1
            return counts
            """,
            "from collections import Counter\nreturn Counter(zip(ids.tolist(), ids.tolist()[1:]))",
        ),
        (
            "device_not_kept",
            "The table is made without `device=ids.device`: on a GPU the call fails, or the result comes back on the CPU.",
            _RAISE + _INDEX_PUT.replace(", device=ids.device", ""),
        ),
        (
            "input_changed",
            "Your code changes its input: the caller's `ids` are different afterwards. Work on a copy, or make new tensors.",
            (_CELLS, "first.mul_(vocab_size) + second"),
            (_VIEW, "ids.zero_()\n    " + _VIEW),
        ),
    ),
    alternatives=_alternatives(
        count_bigrams,
        index_put=_RAISE + _INDEX_PUT,
        one_hot_product=_RAISE
        + "before = F.one_hot(ids[:-1], vocab_size)\nafter = F.one_hot(ids[1:], vocab_size)\nreturn before.T @ after",
        scatter_add=_RAISE
        + """
counts = ids.new_zeros(vocab_size * vocab_size)
counts.scatter_add_(0, ids[:-1] * vocab_size + ids[1:], torch.ones_like(ids[1:]))
return counts.reshape(vocab_size, vocab_size)
""",
        sparse=_RAISE
        + """
pairs = torch.stack([ids[:-1], ids[1:]])
ones = torch.ones(pairs.shape[1], dtype=torch.int64, device=ids.device)
return torch.sparse_coo_tensor(pairs, ones, (vocab_size, vocab_size)).to_dense()
""",
        row_by_row=_RAISE
        + """
counts = torch.zeros((vocab_size, vocab_size), dtype=torch.int64, device=ids.device)
if ids.numel() < 2:
    return counts
for i in range(vocab_size):
    counts[i] = torch.bincount(ids[1:][ids[:-1] == i], minlength=vocab_size)
return counts
""",
        unique_pairs=_RAISE
        + """
counts = torch.zeros(vocab_size, vocab_size, dtype=torch.int64, device=ids.device)
pairs, times = torch.stack([ids[:-1], ids[1:]], dim=1).unique(dim=0, return_counts=True) if len(ids) > 1 else (ids.new_zeros(0, 2), ids.new_zeros(0))
counts[pairs[:, 0], pairs[:, 1]] = times
return counts
""",
    ),
)


# --- bigram_probs -----------------------------------------------------------------------------------------------------

_PLUS = "smoothed = counts + alpha"
_UNIFORM = "smoothed = smoothed.masked_fill(unseen, 1)"
_TOTALS = "smoothed.sum(dim=-1, keepdim=True)"
_SHARES = f"return smoothed / {_TOTALS}"
_BODY = (
    "smoothed = counts + alpha\nunseen = (smoothed == 0).all(dim=-1, keepdim=True)\n"
    "smoothed = smoothed.masked_fill(unseen, 1)\n"
)


def _counts(vocab_size: int, high: int = 9) -> torch.Tensor:
    """Whole numbers, about a quarter of them 0, another total in each row."""
    return (normal(vocab_size, vocab_size) * high).long().clamp(min=0) + (
        normal(vocab_size, vocab_size).abs() * 2
    ).long()


def _probs_values(student: Any) -> None:
    with student.case():
        counts, where = torch.tensor([[3, 1], [0, 0]]), "for counts [[3, 1], [0, 0]] and no alpha given"
        _same(student.value("bigram_probs", counts, where=where), bigram_probs(counts), "The table", where)
    for vocab_size, alpha in ((3, 0.5), (5, 1), (7, 0.1), (4, 2.0), (30, 0.01), (1, 1.0)):
        with student.case():
            counts, where = _counts(vocab_size), f"for V = {vocab_size} and alpha = {alpha}"
            got = student.value("bigram_probs", counts, alpha, where=where)
            _same(got, bigram_probs(counts, alpha), "The table", where)
    with student.case():
        counts, where = _counts(4), "with alpha given by name"
        got = student.call("bigram_probs", [counts], {"alpha": 0.25}, where=where)["value"]
        _same(got, bigram_probs(counts, 0.25), "The table", where)
    with student.case():
        counts, where = _counts(6), "when no alpha is given"
        _same(student.value("bigram_probs", counts, where=where), bigram_probs(counts), "The table", where)


def _probs_unsmoothed(student: Any) -> None:
    for rows, where in (
        ([[3, 1, 0], [2, 2, 4], [0, 5, 0]], "with alpha = 0"),
        ([[0, 7], [1, 1]], "with alpha = 0"),
    ):
        for alpha in (0, 0.0):
            with student.case():
                counts = torch.tensor(rows)
                got = student.value("bigram_probs", counts, alpha, where=where)
                _same(got, bigram_probs(counts, alpha), "The table", where)
                if got[counts == 0].any():
                    raise Wrong(
                        "With alpha = 0 a pair that was never seen, in a row that was, has probability exactly 0; yours is a "
                        "little more. Is something added to keep a division from failing?",
                        "epsilon_in_counts",
                    )


def _probs_unseen(student: Any) -> None:
    for rows, where in (
        ([[3, 1, 0], [0, 0, 0], [0, 5, 0]], "with alpha = 0 and a row without counts"),
        ([[0, 0, 0, 0], [0, 1, 0, 2], [0, 0, 0, 0], [4, 0, 0, 0]], "with alpha = 0 and two rows without counts"),
        ([[0]], "with alpha = 0 and V = 1"),
        ([[0, 0], [0, 0]], "with alpha = 0 and no counts at all"),
    ):
        with student.case():
            counts = torch.tensor(rows)
            got = student.value("bigram_probs", counts, 0.0, where=where)
            _same(got, bigram_probs(counts, 0.0), "The table", where)
    with student.case():
        counts, where = torch.tensor([[0, 0, 0], [1, 2, 3], [0, 0, 1]]), "with alpha = 0.5 and a row without counts"
        _same(student.value("bigram_probs", counts, 0.5, where=where), bigram_probs(counts, 0.5), "The table", where)


def _probs_manners(student: Any) -> None:
    counts = _counts(5)
    _quiet_and_pure(student, "bigram_probs", [counts, 0.5], bigram_probs(counts, 0.5), "The table", "`counts`")
    real = _counts(4).float()
    _quiet_and_pure(student, "bigram_probs", [real, 0.5], bigram_probs(real, 0.5), "The table", "`counts`")
    device_is_kept(student, "bigram_probs", [counts, 0.5])


def _probs_precision(student: Any) -> None:
    counts = _counts(5).double()
    where = "for float64 counts"
    for alpha in (0.3, 0.0):
        with student.case():
            same_tensor(
                student.value("bigram_probs", counts, alpha, where=where),
                bigram_probs(counts, alpha),
                "The table",
                where,
            )
    with student.case():
        gradients_agree(student, "bigram_probs", bigram_probs, [_counts(4).float()], ["`counts`"], fixed=(0.7,))


BIGRAM_PROBS = Exercise(
    name="bigram_probs",
    notebook="01-language-modelling",
    points=3,
    reference=bigram_probs,
    checks=[
        Check("add-alpha smoothing, each row a distribution", 1.5, _probs_values),
        Check("alpha = 0: shares of the counts, exactly", 0.4, _probs_unsmoothed),
        Check("alpha = 0: an unseen row is uniform", 0.6, _probs_unseen),
        Check("float32 from whole numbers, inputs unchanged, any device", 0.3, _probs_manners),
        Check("float64 stays float64; gradients", 0.2, _probs_precision),
    ],
    working=written(
        """
        import torch
        import torch.nn.functional as F

        def bigram_probs(counts, alpha=1.0):
            real = counts if counts.is_floating_point() else counts.to(torch.get_default_dtype())
            shares = F.normalize(real + alpha, p=1, dim=1, eps=1e-30)
            return shares + (1 - shares.sum(dim=1, keepdim=True)).clamp(min=0).round() / len(counts)
        """
    ),
    mistakes=_mistakes(
        bigram_probs,
        (
            "columns_normalised",
            "The columns sum to 1, not the rows. Row i is the distribution of what follows i, so sum along the last dimension: "
            "dim=-1 (or 1), with keepdim=True.",
            (_SHARES, "return smoothed / smoothed.sum(dim=0, keepdim=True)"),
            [("dim=-1", "dim=0")],
            (_SHARES, "return smoothed / smoothed.sum(dim=0)"),
            "return (counts + alpha) / (counts + alpha).sum(0)",
            "return (counts + alpha) / (counts + alpha).sum(0, keepdim=True)",
        ),
        (
            "whole_table",
            "All entries together sum to 1: that is p(i, j), how likely the pair is. Each row must sum to 1 on its own.",
            (_SHARES, "return smoothed / smoothed.sum()"),
            "return (counts + alpha) / (counts + alpha).sum()",
            "return (counts + alpha) / (counts.sum() + alpha * counts.numel())",
        ),
        (
            "no_keepdim",
            "Without keepdim=True the sums have shape (V,) and broadcasting takes them for columns: entry (i, j) is divided by the "
            "total of row j. Keep the dimension: `sum(dim=-1, keepdim=True)`.",
            (_SHARES, "return smoothed / smoothed.sum(dim=-1)"),
            "return (counts + alpha) / (counts + alpha).sum(1)",
            "return (counts + alpha) / (counts.sum(1) + alpha * len(counts))",
        ),
        (
            "not_normalised",
            "The smoothed counts are not divided by their row's total, so they are no probabilities.",
            (_SHARES, "return smoothed * 1.0"),
            "return counts + alpha",
        ),
        (
            "alpha_not_in_total",
            "alpha is added to the counts but not to the row's total, so the rows sum to more than 1. Each of the V counts grew by "
            "alpha, so the total grows by alpha · V: sum the smoothed counts.",
            "return (counts + alpha) / counts.sum(dim=-1, keepdim=True)",
            "return (counts + alpha) / counts.sum(dim=-1, keepdim=True).clamp(min=1)",
        ),
        (
            "alpha_once_in_total",
            "The row's total grows by alpha once: it must grow by alpha · V, since each of the V counts grew by alpha.",
            "return (counts + alpha) / (counts.sum(dim=-1, keepdim=True) + alpha)",
            (_SHARES, "return smoothed / (counts.sum(dim=-1, keepdim=True) + alpha).clamp(min=1e-9)"),
        ),
        (
            "one_in_total",
            "The row's total grows by V, which is right for alpha = 1 only: it must grow by alpha · V.",
            "return (counts + alpha) / (counts.sum(dim=-1, keepdim=True) + len(counts))",
            "return (counts + alpha) / (counts.sum(dim=-1, keepdim=True) + counts.shape[1] + 0.0)",
        ),
        (
            "squared_in_total",
            "The row's total grows by alpha · V²: a row has V entries, the table has V².",
            "return (counts + alpha) / (counts.sum(dim=-1, keepdim=True) + alpha * counts.numel())",
        ),
        (
            "no_smoothing",
            "alpha is not used (or in empty rows only), so a pair that was never seen gets probability 0: add alpha to every count.",
            (_PLUS, "smoothed = counts"),
            "return counts / counts.sum(dim=-1, keepdim=True)",
            "return counts / counts.sum(dim=-1, keepdim=True).clamp(min=1)",
            "return torch.nan_to_num(counts / counts.sum(dim=-1, keepdim=True), nan=1 / len(counts))",
            (_PLUS, "smoothed = torch.where(counts.sum(-1, keepdim=True) == 0, counts + 1, counts)"),
        ),
        (
            "alpha_always_one",
            "1 is added whatever alpha says: use the argument.",
            (_PLUS, "smoothed = counts + 1"),
        ),
        (
            "alpha_times",
            "The counts are multiplied by alpha, which cancels in the division: alpha is added to them.",
            (_PLUS, "smoothed = counts * alpha"),
        ),
        (
            "alpha_over_size",
            "alpha is divided by (or multiplied with) V before it is added: alpha itself is added to every count.",
            (_PLUS, "smoothed = counts + alpha / len(counts)"),
            (_PLUS, "smoothed = counts + alpha * len(counts)"),
        ),
        (
            "zeros_only",
            "Only counts of 0 are smoothed: alpha is added to every count, seen or not.",
            (_PLUS, "smoothed = torch.where(counts == 0, alpha, counts)"),
            (_PLUS, "smoothed = counts.clamp(min=alpha)"),
        ),
        (
            "added_after",
            "alpha is added after the division, or mixed in as a share: add it to the counts, then divide by the new totals.",
            "probs = counts / counts.sum(-1, keepdim=True).clamp(min=1) + alpha\nreturn probs / probs.sum(-1, keepdim=True)",
            "return (1 - alpha) * counts / counts.sum(-1, keepdim=True).clamp(min=1) + alpha / len(counts)",
            "return counts / counts.sum(-1, keepdim=True).clamp(min=1) + alpha",
        ),
        (
            "unseen_nan",
            "With alpha = 0 a row without counts is 0 / 0, which is NaN. Decide first which rows are empty, and make them uniform.",
            (_UNIFORM, "pass"),
            "counts = counts.float()\nreturn (counts + alpha) / (counts + alpha).sum(-1, keepdim=True)",
            "return (counts.double() + alpha) / (counts.double() + alpha).sum(-1, keepdim=True)",
        ),
        (
            "unseen_zero",
            "With alpha = 0 a row without counts is all zeros, which is no distribution: it must be uniform, 1 / V each. (A small "
            "number added to the total, `clamp` or `nan_to_num` hides the 0 / 0, but does not make the row sum to 1.)",
            (_UNIFORM, "return (smoothed / smoothed.sum(dim=-1, keepdim=True)).nan_to_num(0.0)"),
            (_UNIFORM, "return smoothed / smoothed.sum(dim=-1, keepdim=True).clamp(min=1e-9)"),
            "counts = counts.float() + alpha\nreturn (counts / counts.sum(-1, keepdim=True)).nan_to_num(0.0)",
            "counts = counts.float() + alpha\nreturn counts / counts.sum(-1, keepdim=True).clamp(min=1e-9)",
            *(
                f"return (counts + alpha) / ((counts + alpha).sum(dim=-1, keepdim=True) + {small})"
                for small in ("1e-4", "1e-5", "1e-6", "1e-8", "1e-10")
            ),
        ),
        (
            "unseen_one",
            "With alpha = 0 a row without counts must be uniform: 1 / V each, so that it sums to 1.",
            (_SHARES, f"{_SHARES}.masked_fill(unseen, 1.0)"),
            (_UNIFORM, "smoothed = smoothed + torch.diag(unseen[:, 0])"),
            (_UNIFORM, "smoothed = torch.where(unseen & (torch.arange(len(counts)) == 0), 1, smoothed)"),
            (_SHARES, f"{_SHARES}.masked_fill(unseen, 1 / len(counts) ** 2)"),
        ),
        (
            "epsilon_in_counts",
            "A small number is added to the counts to avoid 0 / 0, so with alpha = 0 pairs never seen get a little probability. "
            "They should have exactly 0 in a row that was seen; only an empty row needs help.",
            (_PLUS, "smoothed = counts + alpha + 1e-8"),
            *(
                (_PLUS, f"smoothed = counts + alpha + {small}")
                for small in ("1e-5", "1e-6", "1e-7", "1e-9", "1e-10", "1e-12")
            ),
            (_PLUS, "smoothed = counts + max(alpha, 1e-8)"),
            (_PLUS, "smoothed = counts + max(alpha, 1e-10)"),
            (_PLUS, "smoothed = counts + max(alpha, 1e-6)"),
        ),
        (
            "alpha_zero_is_one",
            "alpha = 0 is treated as if no alpha were given (`alpha or 1`): 0 is a real choice, and means no smoothing.",
            (_PLUS, "smoothed = counts + (alpha or 1.0)"),
            (_PLUS, "smoothed = counts + (alpha if alpha else 1)"),
        ),
        (
            "all_rows_uniform",
            "With alpha = 0 every row becomes uniform as soon as one of them is empty (or as alpha is 0): decide row by row.",
            (_UNIFORM, "smoothed = smoothed.masked_fill(unseen.any(), 1)"),
            (_PLUS, "if alpha == 0:\n        return torch.full(counts.shape, 1 / len(counts))\n    " + _PLUS),
            (_UNIFORM, "smoothed = smoothed.masked_fill(smoothed == 0, 1)"),
            (_UNIFORM, "smoothed = smoothed + unseen.any().long()"),
        ),
        (
            "zero_entries_uniform",
            "With alpha = 0 every probability of 0 becomes 1 / V: only a row without any count is uniform; in the other rows a "
            "pair that was never seen keeps 0.",
            (_SHARES, f"probs = smoothed / {_TOTALS}\n    return torch.where(probs == 0, 1 / len(counts), probs)"),
        ),
        (
            "zero_refused",
            "alpha = 0 is refused: it is allowed, and means no smoothing.",
            (_PLUS, "if alpha <= 0:\n        raise ValueError('alpha')\n    " + _PLUS),
            (_PLUS, "assert alpha > 0\n    " + _PLUS),
        ),
        (
            "wrong_default",
            "The default of alpha is not 1.0: keep the signature bigram_probs(counts, alpha=1.0).",
            ("alpha=1.0", "alpha=0.0"),
            ("alpha=1.0", "alpha=0.1"),
            ("alpha=1.0", "alpha=0.5"),
            ("alpha=1.0", "alpha"),
        ),
        (
            "softmax",
            "A softmax turns the counts into probabilities by exponentials: shares of the counts are asked for, without exp.",
            (_SHARES, "return torch.softmax(smoothed.float(), dim=-1)"),
            "return torch.softmax(counts.float() + alpha, dim=-1)",
            "return torch.softmax(counts.float(), dim=-1)",
            "return torch.softmax(counts.double() + alpha, dim=-1)",
        ),
        (
            "euclidean",
            "Each row is divided by its length (the root of the sum of squares): divide by the sum. F.normalize needs p=1.",
            (_SHARES, "return F.normalize(smoothed.float(), dim=-1)"),
            (_SHARES, "return F.normalize(smoothed * 1.0, dim=-1)"),
            "return F.normalize(counts.float() + alpha, dim=-1)",
        ),
        (
            "logarithms",
            "Logarithms are returned: the probabilities themselves are asked for.",
            (_SHARES, f"return (smoothed / {_TOTALS}).log()"),
        ),
        (
            "transposed",
            "The table is transposed: row i holds what follows i.",
            (_SHARES, f"return (smoothed / {_TOTALS}).T"),
        ),
        (
            "whole_division",
            "Whole numbers are divided with `//` (or the result is cast to integers), so almost all probabilities are 0.",
            (_SHARES, f"return smoothed // {_TOTALS}"),
            (_SHARES, f"return (smoothed / {_TOTALS}).long()"),
        ),
        (
            "alpha_cut_off",
            "alpha is cast to the integers of the counts, so that 0.5 becomes 0: make the counts real numbers first.",
            (_PLUS, "smoothed = counts + int(alpha)"),
            (_PLUS, "smoothed = (counts + alpha).to(counts.dtype)"),
        ),
        (
            "in_place_on_integers",
            "`counts += alpha` writes real numbers into a tensor of integers, which fails, and into the caller's tensor at that: "
            "write `counts + alpha`, which makes a new one.",
            "counts += alpha\nreturn counts / counts.sum(dim=-1, keepdim=True)",
            "counts.add_(alpha)\nreturn counts / counts.sum(dim=-1, keepdim=True)",
        ),
        (
            "vocabulary_fixed",
            "V is fixed in the code: take it from the shape of counts.",
            "return (counts + alpha) / (counts.sum(dim=-1, keepdim=True) + alpha * 27)",
            "return (counts + alpha) / (counts.sum(dim=-1, keepdim=True) + alpha * 3)",
        ),
        (
            "one_row",
            "Only one row is returned: the table (V, V) is asked for.",
            (_SHARES, f"return (smoothed / {_TOTALS})[0]"),
            (_SHARES, f"return (smoothed / {_TOTALS}).flatten()"),
        ),
        (
            "rounded",
            "The probabilities are rounded: keep all digits, so that the rows sum to 1.",
            (_SHARES, f"return (smoothed / {_TOTALS}).round(decimals=4)"),
            (_SHARES, f"return (smoothed / {_TOTALS}).round(decimals=3)"),
            (_SHARES, f"return (smoothed / {_TOTALS}).round(decimals=2)"),
        ),
        ("nothing_returned", _NOTHING, (_SHARES, f"print(smoothed / {_TOTALS})")),
        ("list", _TO_LIST, (_SHARES, f"return (smoothed / {_TOTALS}).tolist()")),
        (
            "double_precision",
            "Whole-number counts give a float64 table: float32 (torch's default) is asked for; float64 only for float64 counts.",
            (_PLUS, "smoothed = counts.double() + alpha"),
        ),
        ("single_precision", _SINGLE, (_PLUS, "smoothed = counts.float() + alpha")),
        (
            "gradient_cut_off",
            _DETACHED,
            (_PLUS, "smoothed = counts.detach() + alpha"),
            (_SHARES, f"import numpy as np\n    return torch.from_numpy((smoothed / {_TOTALS}).numpy())"),
        ),
        (
            "input_changed",
            "Your code changes its input: the caller's `counts` are different afterwards (`+=` on the result of `.float()`, which "
            "is the same tensor when it is float32 already). Write `counts + alpha`.",
            (_PLUS, "smoothed = counts.detach().float()\n    smoothed += alpha"),
            (_PLUS, "smoothed = counts if counts.is_floating_point() else counts.float()\n    smoothed += alpha"),
            (_PLUS, "smoothed = counts.float()\n    smoothed += alpha"),
            "counts = counts.float()\ncounts += alpha\ncounts /= counts.sum(dim=1, keepdim=True)\nreturn counts",
        ),
        (
            "device_not_kept",
            "A tensor is made without `device=counts.device`: on a GPU the call fails, or the result comes back on the CPU.",
            (_PLUS, "smoothed = counts + torch.full(counts.shape, alpha)"),
        ),
    ),
    alternatives=_alternatives(
        bigram_probs,
        where="""
dtype = counts.dtype if counts.is_floating_point() else torch.float32
totals = counts.sum(dim=1, keepdim=True).to(dtype) + alpha * counts.shape[1]
uniform = torch.full_like(counts, 1 / counts.shape[1], dtype=dtype)
return torch.where(totals > 0, (counts + alpha) / totals, uniform)
""",
        nan_to_num="""
smoothed = counts + alpha
return torch.nan_to_num(smoothed / smoothed.sum(1, keepdim=True), nan=1.0 / counts.size(1))
""",
        loop_over_rows="""
rows = []
for row in counts:
    total = row.sum() + alpha * len(row)
    rows.append((row + alpha) / total if total > 0 else torch.ones_like(row) / len(row))
return torch.stack(rows)
""",
        assignment_to_a_copy="""
probs = counts.clone() if counts.dtype.is_floating_point else counts.float()
probs = probs + alpha
empty = probs.sum(-1) == 0
probs[empty] = 1.0
return probs / probs.sum(-1, keepdim=True)
""",
        transposes="""
smoothed = (counts + alpha).T
smoothed = torch.where(smoothed.sum(0) == 0, torch.ones_like(smoothed), smoothed)
return (smoothed / smoothed.sum(0)).T
""",
    ),
)


# --- sequence_log_prob ------------------------------------------------------------------------------------------------

_STEPS = "probs[ids[:-1], ids[1:]]"
_SUM = "return steps.log().sum()"


def _log_values(student: Any) -> None:
    for ids, vocab_size in (([0, 1, 1], 2), ([1, 0], 2), ([2, 0, 2, 2, 1, 0], 3), ([4, 4, 0, 3, 1, 2, 0, 4], 5)):
        with student.case():
            given, probs, where = torch.tensor(ids), _rows(vocab_size, vocab_size), f"for ids {ids}"
            got = student.value("sequence_log_prob", given, probs, where=where)
            _same(got, sequence_log_prob(given, probs), "The result", where)
    for n, vocab_size in ((12, 7), (30, 4)):
        with student.case():
            given, probs, where = _text(n, vocab_size), _rows(vocab_size, vocab_size), f"for {n} ids"
            got = student.value("sequence_log_prob", given, probs, where=where)
            _same(got, sequence_log_prob(given, probs), "The result", where)
    with student.case():
        given, probs = torch.tensor([0, 1, 2, 0]), torch.eye(3).roll(1, dims=1)
        where = "for a text that is certain (each step has probability 1)"
        got = student.value("sequence_log_prob", given, probs, where=where)
        _same(got, sequence_log_prob(given, probs), "The result", where)


def _log_long(student: Any) -> None:
    for n, vocab_size, dtype in ((200, 6, torch.float32), (2000, 4, torch.float32), (1500, 5, torch.float64)):
        with student.case():
            given, probs = _text(n, vocab_size), _rows(vocab_size, vocab_size, dtype=dtype)
            where = f"for {n} ids, whose probability is too small for {dtype_name(probs)}"
            got = student.value("sequence_log_prob", given, probs, where=where)
            _same(got, sequence_log_prob(given, probs), "The result", where)
    with student.case():
        tiny = torch.tensor([[1.0, 1e-30], [1e-25, 1.0]])
        given, where = torch.tensor([0, 1, 0, 0, 1, 1]), "when single steps are as improbable as 1e-30"
        got = student.value("sequence_log_prob", given, tiny, where=where)
        _same(got, sequence_log_prob(given, tiny), "The result", where)


def _log_edges(student: Any) -> None:
    for vocab_size, start in ((3, 1), (4, 0)):
        with student.case():
            given, probs, where = torch.tensor([start]), _rows(vocab_size, vocab_size), "for a single id"
            got = student.value("sequence_log_prob", given, probs, where=where)
            _same(got, sequence_log_prob(given, probs), "The result", where)
    for ids, where in (
        ([0, 1, 2, 0], "when a step has probability 0"),
        ([1, 2, 1, 2, 0], "when two steps have probability 0"),
        ([0, 1, 0, 0, 1], "when zeros stand in the table, but no step meets one"),
    ):
        with student.case():
            probs = torch.tensor([[0.75, 0.25, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
            given = torch.tensor(ids)
            got = student.value("sequence_log_prob", given, probs, where=where)
            _same(got, sequence_log_prob(given, probs), "The result", where)


def _log_gradient(student: Any) -> None:
    for ids, dtype, where in (
        ([2, 0, 2, 2, 1, 2, 0], torch.float32, ""),
        ([0, 3, 1], torch.float64, "in float64"),
    ):
        with student.case():
            args = [torch.tensor(ids), _rows(max(ids) + 1, max(ids) + 1, dtype=dtype)]
            _gradient(student, "sequence_log_prob", sequence_log_prob, args, "`probs`", where)


def _log_manners(student: Any) -> None:
    for dtype in (torch.float32, torch.float64):
        with student.case():
            ids, probs = torch.tensor([3, 0, 1, 1, 2, 0]), _rows(4, 4, dtype=dtype)
            expected = sequence_log_prob(ids, probs)
            _quiet_and_pure(student, "sequence_log_prob", [ids, probs], expected, "The result", "`ids`, `probs`")
    with student.case():
        ids, probs, where = torch.tensor([2]), _rows(4, 4), "for a single id"
        got = student.value("sequence_log_prob", ids, probs, where=where)
        same_tensor(got, sequence_log_prob(ids, probs), "The result", where)
    device_is_kept(student, "sequence_log_prob", [torch.tensor([1, 0, 1, 1]), _rows(3, 3)])


_TWO_LOOPS = """
total = {start}
for k in range({first}, {last}):
    {step}
return {end}
"""


def _summed(
    start: str = "probs.new_zeros(())",
    first: str = "1",
    last: str = "len(ids)",
    step: str = "total = total + probs[ids[k - 1], ids[k]].log()",
    end: str = "total",
) -> str:
    return _TWO_LOOPS.format(start=start, first=first, last=last, step=step, end=end)


SEQUENCE_LOG_PROB = Exercise(
    name="sequence_log_prob",
    notebook="01-language-modelling",
    points=3,
    reference=sequence_log_prob,
    checks=[
        Check("log p(x2 .. xN given x1)", 1.25, _log_values),
        Check("long and improbable texts do not underflow", 0.75, _log_long),
        Check("one token: 0; an impossible step: −inf", 0.5, _log_edges),
        Check("gradients", 0.25, _log_gradient),
        Check("a scalar tensor of the dtype of `probs`, inputs unchanged, any device", 0.25, _log_manners),
    ],
    working=written(
        """
        import torch
        import torch.nn.functional as F

        def sequence_log_prob(ids, probs):
            return -F.nll_loss(F.embedding(ids[:-1], probs).log(), ids[1:], reduction="sum")
        """
    ),
    mistakes=_mistakes(
        sequence_log_prob,
        (
            "product_first",
            "The probabilities are multiplied first and the logarithm is taken of the product, which underflows to 0 for a text "
            "of some hundred tokens. Take logarithms first, then add.",
            (_SUM, "return steps.prod().log()"),
            (_SUM, "return torch.log(torch.cumprod(torch.cat([steps.new_ones(1), steps]), 0)[-1])"),
            _summed("probs.new_ones(())", step="total = total * probs[ids[k - 1], ids[k]]", end="total.log()"),
            _summed("1.0", step="total *= probs[ids[k - 1], ids[k]]", end="torch.log(torch.as_tensor(total))"),
            _summed("1.0", step="total *= probs[ids[k - 1], ids[k]].item()", end="torch.tensor(total).log()"),
            (_SUM, "return steps.double().prod().log().to(probs.dtype)"),
        ),
        (
            "no_logarithm",
            "The probability itself is returned (the product): its natural logarithm is asked for.",
            (_SUM, "return steps.prod()"),
            (_SUM, "return steps.log().sum().exp()"),
        ),
        (
            "sum_of_probabilities",
            "The probabilities are added. The chain rule multiplies them, so it is their logarithms that add up.",
            (_SUM, "return steps.sum().log()"),
            (_SUM, "return steps.sum()"),
        ),
        (
            "base_two",
            "The logarithm has base 2 (bits): the natural logarithm is asked for, torch.log.",
            (_SUM, "return steps.log2().sum()"),
        ),
        (
            "base_ten",
            "The logarithm has base 10: the natural logarithm is asked for, torch.log.",
            (_SUM, "return steps.log10().sum()"),
        ),
        (
            "log1p",
            "torch.log1p is the logarithm of 1 + p: torch.log is meant.",
            (_SUM, "return steps.log1p().sum()"),
        ),
        (
            "negative",
            "The sign is wrong: a log-probability is never positive. (Its negative is the loss.)",
            (_SUM, "return -steps.log().sum()"),
            (_SUM, "return (-steps.log()).sum()"),
        ),
        (
            "mean",
            "The mean of the logarithms is returned: the logarithm of a product is their sum.",
            (_SUM, "return steps.log().mean()"),
            (_SUM, "return steps.log().sum() / len(ids)"),
            (_SUM, "return steps.log().sum() / max(len(steps), 1)"),
        ),
        (
            "negative_mean",
            "The mean negative logarithm is returned, which is the loss: the sum of the logarithms is asked for.",
            (_SUM, "return -steps.log().mean()"),
        ),
        (
            "not_summed",
            "One number for each step is returned: add them up.",
            (_SUM, "return steps.log()"),
            (_SUM, "return steps.log().cumsum(0)"),
            (_SUM, "return steps.log().sum(dim=0, keepdim=True)"),
        ),
        (
            "transposed",
            "Rows and columns are swapped: probs[i, j] is p(j given i), so the earlier token is the row.",
            (_STEPS, "probs[ids[1:], ids[:-1]]"),
            _summed(step="total = total + probs[ids[k], ids[k - 1]].log()"),
        ),
        (
            "wraps_round",
            "The last token is taken as the one before the first (index −1, or torch.roll): p(x1) is not part of the result, which "
            "begins with p(x2 given x1).",
            (_STEPS, "probs[ids.roll(1), ids]"),
            _summed(first="0"),
        ),
        (
            "last_step_missed",
            "The last step is missing: N tokens have N − 1 steps, and `range(n)` ends at n − 1 already.",
            (_STEPS, "probs[ids[:-2], ids[1:-1]]"),
            _summed(last="len(ids) - 1"),
        ),
        (
            "first_step_missed",
            "The first step, p(x2 given x1), is missing.",
            (_STEPS, "probs[ids[1:-1], ids[2:]]"),
            _summed(first="2"),
        ),
        (
            "first_token_counted",
            "A factor for the first token is counted too. The text is *given* its first token: the product begins with p(x2 given "
            "x1).",
            (_SUM, "return steps.log().sum() - math.log(len(probs))"),
            (_SUM, "return steps.log().sum() + probs[ids[0], ids[0]].log()"),
            (_SUM, "return steps.log().sum() + probs[0, ids[0]].log()"),
            (_SUM, "return steps.log().sum() + probs.mean(dim=0)[ids[0]].log()"),
        ),
        (
            "same_row",
            "Each step looks in the row of the first token, or of the token itself: the row is the token just before.",
            (_STEPS, "probs[ids[0], ids[1:]]"),
            (_STEPS, "probs[ids, ids]"),
            (_STEPS, "probs[ids[1:], ids[1:]]"),
            (_STEPS, "probs[ids[:-1], ids[:-1]]"),
        ),
        (
            "all_pairs",
            "`probs[ids[:-1]][:, ids[1:]]` takes every row with every column: pair them, `probs[ids[:-1], ids[1:]]`.",
            (_STEPS, "probs[ids[:-1]][:, ids[1:]]"),
            (_STEPS, "probs[ids[:-1]]"),
            (_STEPS, "probs[ids]"),
        ),
        (
            "positions_for_ids",
            "Positions in the text are used where the ids should be.",
            (_STEPS, "probs[torch.arange(len(ids) - 1) % len(probs), ids[1:]]"),
            "total = 0.0\nfor i, token in enumerate(ids[1:]):\n    total = total + probs[i % len(probs), token].log()\nreturn total",
        ),
        (
            "epsilon",
            "A small number is added before the logarithm (or zeros are clamped), so an impossible text gets a finite value, and "
            "very improbable ones a wrong one. log(0) is −inf, as it should be.",
            (_SUM, "return (steps + 1e-10).log().sum()"),
            *(
                (_SUM, f"return (steps + {small}).log().sum()")
                for small in ("1e-12", "1e-9", "1e-8", "1e-7", "1e-6", "1e-5", "1e-30")
            ),
            *(
                (_SUM, f"return steps.clamp(min={small}).log().sum()")
                for small in ("1e-12", "1e-10", "1e-9", "1e-8", "1e-6", "1e-30")
            ),
        ),
        (
            "zero_skipped",
            "Steps of probability 0 are left out: one impossible step makes the whole text impossible, −inf.",
            (_SUM, "return steps[steps > 0].log().sum()"),
            (_SUM, "return steps.log().nan_to_num(neginf=0.0).sum()"),
        ),
        (
            "zero_refused",
            "A step of probability 0 raises an error: the result is −inf, no error.",
            (_SUM, "if (steps == 0).any():\n        raise ValueError('probs')\n    " + _SUM),
            (_SUM, "assert (steps > 0).all()\n    " + _SUM),
        ),
        (
            "math_log",
            "`math.log` works on single Python numbers: it stops with an error at 0 (also at a product that underflowed to 0), and no "
            "gradient gets through. Use torch.log, and add up its results.",
            _summed(
                "0.0", step="total += math.log(probs[ids[k - 1], ids[k]])", end="torch.tensor(total, dtype=probs.dtype)"
            ),
            _summed("0.0", step="total += math.log(probs[ids[k - 1], ids[k]])", end="torch.tensor(total)"),
            _summed("0.0", step="total += math.log(probs[ids[k - 1], ids[k]])"),
            _summed("1.0", step="total *= probs[ids[k - 1], ids[k]].item()", end="math.log(total)"),
            _summed("1.0", step="total *= probs[ids[k - 1], ids[k]]", end="math.log(total)"),
            _summed("1.0", step="total *= probs[ids[k - 1], ids[k]]", end="torch.tensor(math.log(total))"),
            (_SUM, "return torch.tensor(math.log(steps.prod()))"),
        ),
        (
            "nan_for_impossible",
            "An impossible step gives NaN: 0 · −inf, or the difference of two infinities. The result is −inf.",
            (_SUM, "return steps.log().sum().nan_to_num(neginf=float('nan'))"),
            "onehot = F.one_hot(ids[1:], len(probs)).to(probs.dtype)\nreturn (probs[ids[:-1]].log() * onehot).sum()",
        ),
        (
            "one_token_refused",
            "A text of one token fails or is refused: nothing is left to predict, the product is empty, and its logarithm is 0.",
            (_SUM, "if len(ids) < 2:\n        raise ValueError('ids')\n    " + _SUM),
            (_SUM, "return torch.stack([p.log() for p in steps]).sum()"),
            (_SUM, "if len(ids) < 2:\n        return None\n    " + _SUM),
            (_SUM, "return steps.log().cumsum(0)[-1]"),
        ),
        (
            "one_token_special",
            "A text of one token has the log-probability 0: the product is empty, which is 1.",
            (_SUM, "if len(ids) < 2:\n        return probs.new_tensor(1.0)\n    " + _SUM),
            (_SUM, "if len(ids) < 2:\n        return probs.new_tensor(float('-inf'))\n    " + _SUM),
        ),
        (
            "log_softmax",
            "The probabilities are treated as logits: they are normalised already, so take their logarithm, without a softmax.",
            (_STEPS, "torch.softmax(probs, dim=-1)[ids[:-1], ids[1:]]"),
            "return torch.log_softmax(probs, dim=-1)[ids[:-1], ids[1:]].sum()",
        ),
        (
            "already_logarithms",
            "The table holds probabilities, not logarithms: take the logarithm before adding.",
            (_SUM, "return steps.log().log().sum()"),
            (_SUM, "return (steps * steps.log()).sum()"),
        ),
        (
            "perplexity",
            "A perplexity is returned: the log-probability is asked for.",
            (_SUM, "return (-steps.log().mean()).exp()"),
        ),
        ("nothing_returned", _NOTHING, (_SUM, "print(steps.log().sum())")),
        (
            "python_number",
            _NUMBER,
            (_SUM, _SUM + ".item()"),
            _summed("0.0", step="p = probs[ids[k - 1], ids[k]].item()\n    total += math.log(p) if p else -math.inf"),
            (_SUM, "return float(steps.log().sum())"),
            _summed("0.0", step="total += probs[ids[k - 1], ids[k]].log().item()"),
            _summed("0.0", end="total.item()"),
        ),
        (
            "gradient_cut_off",
            _DETACHED,
            (_SUM, _SUM + ".detach()"),
            _summed(
                "0.0",
                step="total += probs[ids[k - 1], ids[k]].log().item()",
                end="torch.tensor(total, dtype=probs.dtype)",
            ),
            _summed("0.0", step="total += probs[ids[k - 1], ids[k]].log().item()", end="torch.tensor(total)"),
            "with torch.no_grad():\n    return probs[ids[:-1], ids[1:]].log().sum()",
            "import numpy as np\nreturn torch.tensor(np.log(probs.numpy()[ids[:-1], ids[1:]]).sum())",
        ),
        (
            "number_for_one_token",
            "For a single token a plain 0 comes back (a sum that starts from a number): a scalar tensor is asked for there too. Start "
            "from one, such as `probs.new_zeros(())`.",
            _summed("0.0"),
            _summed("0"),
        ),
        ("double_precision", _DOUBLE, (_SUM, "return steps.double().log().sum()")),
        ("single_precision", _SINGLE, (_SUM, "return steps.float().log().sum()")),
        (
            "input_changed",
            "Your code changes its input: the caller's `probs` are different afterwards (`log_()`, `+=`). Make a new tensor.",
            "probs.data.log_()\nreturn probs[ids[:-1], ids[1:]].sum()",
            "probs.log_()\nreturn probs[ids[:-1], ids[1:]].sum()",
        ),
        (
            "device_not_kept",
            "A tensor is made without `device=probs.device`: on a GPU the call fails, or the result comes back on the CPU.",
            "total = torch.zeros(1, dtype=probs.dtype)\nreturn (total + probs[ids[:-1], ids[1:]].log().sum())[0]",
        ),
    ),
    alternatives=_alternatives(
        sequence_log_prob,
        logarithms_first="return torch.log(probs)[ids[:-1], ids[1:]].sum()",
        loop=_summed(),
        gather="rows = probs.index_select(0, ids[:-1])\nreturn rows.gather(1, ids[1:, None]).squeeze(1).log().sum()",
        flat_index="cells = ids[:-1] * probs.shape[1] + ids[1:]\nreturn probs.reshape(-1).take(cells).log().sum(0)",
        zipped="""
total = torch.tensor(0.0, dtype=probs.dtype, device=probs.device)
for i, j in zip(ids[:-1].tolist(), ids[1:].tolist()):
    total = total + torch.log(probs[i, j])
return total
""",
    ),
)


# --- cross_entropy ----------------------------------------------------------------------------------------------------

_LOGS = "torch.log_softmax(logits, dim=-1)"
_PICK = "log_probs.gather(-1, targets.unsqueeze(-1))"
_MEAN = "return -log_p_target.mean()"


def _loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))


def _targets(*shape: int, vocab_size: int) -> torch.Tensor:
    return (normal(*shape, 1).abs() * 997).long().remainder(vocab_size).squeeze(-1)


def _entropy_asked(student: Any, *shape: int) -> None:
    with student.case():
        logits, targets = normal(*shape, scale=2.0), _targets(*shape[:-1], vocab_size=shape[-1])
        where = f"for logits of shape {shape} and targets of shape {shape[:-1]}"
        got = student.value("cross_entropy", logits, targets, where=where)
        _same(got, _loss(logits, targets), "The loss", where)


def _entropy_values(student: Any) -> None:
    for rows, ids, where in (
        ([[0.0, 0.0]], [1], "for logits [[0, 0]] and targets [1]"),
        ([[2.0, -1.0, 0.5], [0.0, 3.0, 0.0]], [0, 0], "for whole numbers and target 0 twice"),
        ([[-3.0, -1.0, -2.0, -1.5]], [3], "where all logits are negative"),
    ):
        with student.case():
            logits, targets = torch.tensor(rows), torch.tensor(ids)
            got = student.value("cross_entropy", logits, targets, where=where)
            _same(got, _loss(logits, targets), "The loss", where)
    for shape in ((4, 3), (7, 5), (3, 8), (1, 6), (5, 5), (40, 33)):
        _entropy_asked(student, *shape)


def _entropy_dimensions(student: Any) -> None:
    for shape in ((2, 3, 5), (4, 3, 4), (3, 1, 2), (2, 2, 3, 7), (1, 4, 1, 3), (6,), (2, 1, 3, 2, 4)):
        _entropy_asked(student, *shape)


def _entropy_stable(student: Any) -> None:
    # The targets are not the likeliest tokens: a loss near 0 would be lost in the rounding of a logsumexp of 1e4.
    rows = torch.tensor([[1e4, 1e4 - 1, 1e4 - 4], [-1e4, -1e4 + 2, -1e4 - 3], [1e4, -1e4, 0.0], [0.3, -2.2, 0.1]])
    targets = torch.tensor([2, 2, 1, 1])
    for logits, ids, where in (
        (rows[:1], targets[:1], "for logits near 1e4"),
        (rows[1:2], targets[1:2], "for logits near −1e4"),
        (rows[2:3], targets[2:3], "when the target's logit lies 2e4 below another"),
        (rows[2:3], torch.tensor([0]), "when the target's logit lies 1e4 above the others"),
        (
            torch.tensor([[0.0, 200.0], [-150.0, 0.0]]),
            torch.tensor([0, 0]),
            "when the target's logit lies 200 below another",
        ),
        (rows, targets, "when rows near 1e4 and near −1e4 stand together (each row needs its own maximum)"),
        (
            rows[[1, 3]],
            targets[[1, 3]],
            "when rows near 0 and near −1e4 stand together (each row needs its own maximum)",
        ),
        (rows.double(), targets, "for float64 logits of ±1e4"),
    ):
        with student.case():
            got = student.value("cross_entropy", logits, ids, where=where)
            _same(got, _loss(logits, ids), "The loss", where, rough=True)


def _entropy_gradient(student: Any) -> None:
    large = torch.tensor([[1e4, 1e4 - 1, 0.0], [0.0, 1.0, -1e4]])
    for logits, targets, where in (
        (normal(4, 3), torch.tensor([2, 0, 0, 1]), ""),
        (normal(2, 3, 4, dtype=torch.float64), torch.tensor([[3, 0, 1], [2, 2, 0]]), "in float64"),
        (large, torch.tensor([1, 0]), "for logits of 1e4"),
    ):
        with student.case():
            _gradient(
                student,
                "cross_entropy",
                _loss,
                [logits, targets],
                "`logits`",
                where,
                rough=where == "for logits of 1e4",
            )


def _entropy_manners(student: Any) -> None:
    for shape, dtype in (((4, 3), torch.float32), ((2, 3, 4), torch.float64)):
        with student.case():
            logits, targets = normal(*shape, dtype=dtype), _targets(*shape[:-1], vocab_size=shape[-1])
            _quiet_and_pure(
                student, "cross_entropy", [logits, targets], _loss(logits, targets), "The loss", "`logits`, `targets`"
            )
    turned, targets, where = normal(3, 5, 2).mT, _targets(3, 2, vocab_size=5), "for logits that are not contiguous"
    same_tensor(student.value("cross_entropy", turned, targets, where=where), _loss(turned, targets), "The loss", where)
    device_is_kept(student, "cross_entropy", [normal(4, 3), torch.tensor([2, 0, 0, 1])])


def _entropy_trial(student: Any) -> set[str]:
    ran: set[str] = set()
    for shape in ((4, 3), (2, 3, 5)):
        logits, targets = normal(*shape), _targets(*shape[:-1], vocab_size=shape[-1])
        ran |= set(student.call("cross_entropy", [logits, targets], trace=True)["operations"])
    return ran


_RELATIVES = (
    "cross_entropy",
    "nll_loss",
    "CrossEntropyLoss",
    "NLLLoss",
    "NLLLoss2d",
    "cross_entropy_loss",
    "nll_loss2d",
)


def _by_hand(log_probs: str, end: str = _MEAN) -> str:
    return f"log_probs = {log_probs}\nlog_p_target = {_PICK}\n{end}"


CROSS_ENTROPY = Exercise(
    name="cross_entropy",
    notebook="01-language-modelling",
    points=4,
    reference=cross_entropy,
    checks=[
        Check("mean of −log p(target), logits (N, V)", 1.25, _entropy_values),
        Check("any number of leading dimensions", 0.75, _entropy_dimensions),
        Check("stable for logits of ±1e4", 1.0, _entropy_stable),
        Check("gradients", 0.5, _entropy_gradient),
        Check(
            "a scalar tensor of the dtype of `logits`, inputs unchanged, any layout and device", 0.5, _entropy_manners
        ),
    ],
    ban=Ban(
        names=frozenset(_RELATIVES) | {"nll_loss_nd", "linear_cross_entropy", "LinearCrossEntropyLoss"},
        operations=frozenset({"nll_loss_forward", "nll_loss2d_forward", "nll_loss", "nll_loss2d", "nll_loss_nd"})
        | {"cross_entropy_loss", "linear_cross_entropy"},
        sentence="This exercise is to be written without torch's own cross-entropy and its relatives (log_softmax and logsumexp "
        "are fine), so it earns no points.",
        trial=_entropy_trial,
    ),
    working=written(
        """
        import torch

        def cross_entropy(logits, targets):
            return -torch.distributions.Categorical(logits=logits, validate_args=False).log_prob(targets).mean()
        """
    ),
    mistakes=_mistakes(
        cross_entropy,
        (
            "log_of_softmax",
            "The logarithm of a softmax breaks down: far below the largest logit the softmax is exactly 0, and its logarithm −inf, "
            "with the maximum subtracted too. Use log_softmax, or write it out: shifted − log(sum of exp(shifted)).",
            (_LOGS, "torch.log(torch.softmax(logits, dim=-1))"),
            "p = torch.softmax(logits, -1)\nreturn -p.gather(-1, targets.unsqueeze(-1)).log().mean()",
            "onehot = F.one_hot(targets, logits.shape[-1])\nreturn -(onehot * torch.softmax(logits, -1).log()).sum(-1).mean()",
            "e = torch.exp(logits - logits.amax(dim=-1, keepdim=True))\n"
            + _by_hand("(e / e.sum(dim=-1, keepdim=True)).log()"),
        ),
        (
            "no_shift",
            "exp(1e4) overflows: subtract the largest logit of each row first, which changes nothing in exact arithmetic "
            "(torch.logsumexp and log_softmax do it for you).",
            (_LOGS, "logits - logits.exp().sum(dim=-1, keepdim=True).log()"),
            (_LOGS, "(logits.exp() / logits.exp().sum(dim=-1, keepdim=True)).log()"),
        ),
        (
            "global_shift",
            "The maximum of the whole tensor is subtracted, not that of each row: rows far below it underflow to log(0). Take "
            "the maximum along the last dimension, with keepdim=True.",
            (_LOGS, "logits - logits.max() - (logits - logits.max()).exp().sum(dim=-1, keepdim=True).log()"),
            (
                _LOGS,
                "torch.log(torch.exp(logits - logits.max()) / torch.exp(logits - logits.max()).sum(dim=-1, keepdim=True))",
            ),
        ),
        (
            "shift_not_undone",
            "The maximum is subtracted inside the logarithm and not accounted for outside: log Σ exp(x) = m + log Σ exp(x − m).",
            (_LOGS, "logits - (logits - logits.amax(dim=-1, keepdim=True)).exp().sum(dim=-1, keepdim=True).log()"),
            (
                _LOGS,
                "logits - logits.amax(dim=-1, keepdim=True) - logits.exp().sum(dim=-1, keepdim=True).log()",
            ),
        ),
        (
            "epsilon",
            "A small number is added to the probability before the logarithm (or it is clamped): that only hides log(0), and "
            "limits the loss. Work with log_softmax, which stays exact.",
            (_LOGS, "torch.log(torch.softmax(logits, dim=-1) + 1e-9)"),
            *(
                (_LOGS, f"torch.log(torch.softmax(logits, dim=-1) + {small})")
                for small in ("1e-12", "1e-10", "1e-8", "1e-7", "1e-6", "1e-5", "1e-20")
            ),
            *(
                (_LOGS, f"torch.log(torch.softmax(logits, dim=-1).clamp(min={small}))")
                for small in ("1e-12", "1e-10", "1e-9", "1e-8", "1e-7", "1e-6")
            ),
        ),
        (
            "clamped",
            "The logits are clamped to keep exp from overflowing, which changes them. Subtract each row's maximum instead.",
            (_LOGS, "torch.log_softmax(logits.clamp(-80, 80), dim=-1)"),
            (_LOGS, "torch.log_softmax(logits.clamp(-100, 100), dim=-1)"),
            (_LOGS, "torch.log_softmax(logits.clamp(-50, 50), dim=-1)"),
            (_LOGS, "torch.log_softmax(logits.clamp(max=80), dim=-1)"),
        ),
        (
            "first_dimension",
            "The softmax runs over the positions: it belongs on the vocabulary, the last dimension (dim=-1).",
            (_LOGS, "torch.log_softmax(logits, dim=0)"),
            (_LOGS, "torch.softmax(logits, dim=0).log()"),
        ),
        (
            "second_dimension",
            "dim=1 is the vocabulary only when the logits have two dimensions: use dim=-1, the last one.",
            (_LOGS, "torch.log_softmax(logits, dim=1)"),
            [(_LOGS, "torch.log_softmax(logits, dim=1)"), (_PICK, "log_probs.gather(1, targets.unsqueeze(1))")],
        ),
        (
            "whole_tensor",
            "One softmax runs over all logits together: each position has its own, along the last dimension.",
            (_LOGS, "logits - logits.flatten().logsumexp(0)"),
        ),
        (
            "two_dimensions_only",
            "Only logits of shape (N, V) work: targets may have any shape [...], so flatten both first, or use `gather` along the "
            "last dimension.",
            "return -torch.log_softmax(logits, dim=-1)[torch.arange(len(targets)), targets].mean()",
            "N, V = logits.shape\nreturn -torch.log_softmax(logits, dim=-1)[range(N), targets].mean()",
            (_PICK, "log_probs.gather(1, targets[:, None])"),
            "losses = [torch.logsumexp(row, 0) - row[t] for row, t in zip(logits, targets)]\nreturn torch.stack(losses).mean()",
        ),
        (
            "three_dimensions_only",
            "Only logits of shape (B, T, V) work: any number of leading dimensions may come, none at all too.",
            "B, T, V = logits.shape\nreturn -torch.log_softmax(logits.reshape(B * T, V), -1)[torch.arange(B * T), targets.reshape(-1)].mean()",
            (
                _PICK,
                "log_probs[torch.arange(logits.shape[0])[:, None], torch.arange(logits.shape[1]), targets]",
            ),
        ),
        (
            "no_leading_dimension_fails",
            "Logits of shape (V,) with a single target fail: there may be no leading dimension at all.",
            (_LOGS, "torch.log_softmax(logits, dim=-1)\n    targets[0]"),
            (
                _PICK,
                "log_probs.flatten(0, -2).gather(-1, targets.flatten().unsqueeze(-1)) if targets.shape[0] else None",
            ),
        ),
        (
            "dimension_lost_or_kept",
            "One of the two terms has a dimension more than the other, (…, 1) against (…), so that all positions are paired with all "
            "(or the subtraction fails): give both the same shape, with `squeeze(-1)` or keepdim=True.",
            "return (logits.logsumexp(-1) - logits.gather(-1, targets.unsqueeze(-1))).mean()",
            "return (logits.logsumexp(-1, keepdim=True) - logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)).mean()",
            _by_hand("logits - logits.logsumexp(-1)"),
        ),
        (
            "index_without_dimension",
            "`gather` needs an index with as many dimensions as the logits: targets.unsqueeze(-1), one column for each position.",
            (_PICK, "log_probs.gather(-1, targets)"),
        ),
        (
            "accuracy",
            "The share of right predictions is returned: the loss is −log p(target), also where the target is the likeliest token.",
            "return (logits.argmax(-1) == targets).float().mean()",
            "return (logits.argmax(-1) != targets).float().mean()",
            "return -(logits.argmax(-1) == targets).float().mean()",
        ),
        (
            "sum",
            "The losses are added up: their mean over all positions is asked for.",
            (_MEAN, "return -log_p_target.sum()"),
        ),
        (
            "mean_over_first_only",
            "The sum is divided by the size of one dimension only (`len(targets)`): the mean runs over *all* positions.",
            (_MEAN, "return -log_p_target.sum() / (len(targets) if targets.dim() else 1)"),
            (_MEAN, "return -log_p_target.sum() / len(targets)"),
            (_MEAN, "return -log_p_target.sum() / logits.shape[0]"),
        ),
        (
            "mean_over_last_only",
            "The mean runs over the last dimension only, so one number for each row is left: take it over all positions.",
            (_MEAN, "return -log_p_target.squeeze(-1).mean(dim=-1)"),
            (_MEAN, "return -log_p_target.mean(dim=0)"),
        ),
        (
            "not_averaged",
            "One loss for each position is returned: a single number is asked for, their mean.",
            (_MEAN, "return -log_p_target.squeeze(-1)"),
            (_MEAN, "return -log_p_target"),
        ),
        (
            "divided_by_vocabulary",
            "The mean also runs over the vocabulary (after multiplying with one-hot targets), so the loss is V times too small: "
            "sum over the vocabulary, then take the mean over positions.",
            (_MEAN, "return -log_p_target.mean() / logits.shape[-1]"),
            "return -(F.one_hot(targets, logits.shape[-1]) * torch.log_softmax(logits, -1)).mean()",
        ),
        (
            "positive",
            "The sign is wrong: the loss is *minus* the log-probability, so it is never negative.",
            (_MEAN, "return log_p_target.mean()"),
        ),
        (
            "not_logarithm",
            "The probabilities themselves are averaged: their logarithms are asked for.",
            (_LOGS, "torch.softmax(logits, dim=-1)"),
            [(_LOGS, "torch.softmax(logits, dim=-1)"), (_MEAN, "return 1 - log_p_target.mean()")],
        ),
        (
            "log_of_mean",
            "The logarithm is taken of the mean probability: take the mean of the logarithms.",
            [(_LOGS, "torch.softmax(logits, dim=-1)"), (_MEAN, "return -log_p_target.mean().log()")],
        ),
        (
            "no_softmax",
            "The logits are used as if they were log-probabilities: they have to be normalised first (log_softmax).",
            (_LOGS, "logits"),
        ),
        (
            "logits_as_probabilities",
            "The logits are treated as probabilities (their logarithm is taken): they can be any real numbers; the softmax makes "
            "probabilities of them.",
            (_LOGS, "torch.log(logits)"),
            (_LOGS, "torch.log(logits.clamp(min=1e-9))"),
        ),
        (
            "softmax_twice",
            "The softmax is applied twice (log_softmax of probabilities): the logits go straight into log_softmax.",
            (_LOGS, "torch.log_softmax(torch.softmax(logits, dim=-1), dim=-1)"),
        ),
        (
            "sigmoid",
            "Each logit goes through a sigmoid on its own: probabilities over the vocabulary come from the softmax.",
            (_LOGS, "F.logsigmoid(logits)"),
            (_LOGS, "torch.sigmoid(logits).log()"),
        ),
        (
            "base_two",
            "The loss is in bits (base 2): the natural logarithm is asked for.",
            (_MEAN, "return -log_p_target.mean() / math.log(2)"),
            (_LOGS, "torch.log2(torch.softmax(logits, dim=-1))"),
        ),
        (
            "base_ten",
            "The logarithm has base 10: the natural logarithm is asked for.",
            (_LOGS, "torch.log10(torch.softmax(logits, dim=-1))"),
            (_MEAN, "return -log_p_target.mean() / math.log(10)"),
        ),
        (
            "entropy",
            "The entropy of the model's own distribution is returned; the targets decide whose −log p counts.",
            "logs = torch.log_softmax(logits, -1)\nreturn -(logs.exp() * logs).sum(-1).mean()",
        ),
        (
            "likeliest_token",
            "The likeliest token's log-probability is taken: it is the *target's* that counts.",
            (_PICK, "log_probs.amax(dim=-1, keepdim=True)"),
        ),
        (
            "all_log_probs",
            "All log-probabilities are averaged, whatever the targets say: pick the target's at each position.",
            (_PICK, "log_probs"),
            (_PICK, "log_probs[..., targets]"),
        ),
        (
            "targets_shifted",
            "The targets are shifted inside: each target belongs to the logits at its own position (the caller shifts).",
            [
                (_LOGS, "torch.log_softmax(logits[:-1], dim=-1)"),
                (_PICK, "log_probs.gather(-1, targets[1:].unsqueeze(-1))"),
            ],
            [
                (_LOGS, "torch.log_softmax(logits[..., :-1, :], dim=-1)"),
                (_PICK, "log_probs.gather(-1, targets[..., 1:].unsqueeze(-1))"),
            ],
            (_PICK, "log_probs.gather(-1, targets.roll(-1, dims=-1).unsqueeze(-1)) if targets.dim() else " + _PICK),
        ),
        (
            "last_position_only",
            "Only one position is used: the mean runs over all of them.",
            "logs = torch.log_softmax(logits.reshape(-1, logits.shape[-1]), -1)\nreturn -logs[-1, targets.reshape(-1)[-1]]",
            "logs = torch.log_softmax(logits.reshape(-1, logits.shape[-1]), -1)\nreturn -logs[0, targets.reshape(-1)[0]]",
        ),
        (
            "zero_ignored",
            "Target 0 is treated as padding and left out: no token was said to be padding here.",
            (
                _MEAN,
                "keep = (targets != 0).unsqueeze(-1)\n    return -(log_p_target * keep).sum() / keep.sum().clamp(min=1)",
            ),
            (_MEAN, "return -log_p_target[targets.unsqueeze(-1) != 0].mean()"),
        ),
        (
            "perplexity",
            "The exponential of the loss is returned, which is the perplexity: the loss itself is asked for.",
            (_MEAN, "return (-log_p_target.mean()).exp()"),
        ),
        (
            "smoothed",
            "The targets are smoothed (label smoothing): the plain cross-entropy is asked for.",
            (_MEAN, "return -0.9 * log_p_target.mean() - 0.1 * log_probs.mean()"),
        ),
        (
            "square_error",
            "The squared error between probabilities and one-hot targets is returned: the cross-entropy is −log p(target).",
            "return ((torch.softmax(logits, -1) - F.one_hot(targets, logits.shape[-1])) ** 2).mean()",
            "return ((torch.softmax(logits, -1) - F.one_hot(targets, logits.shape[-1])) ** 2).sum(-1).mean()",
        ),
        (
            "binary",
            "The terms for the other tokens (log of 1 − p) are added: that is the binary cross-entropy. Only the target's −log p "
            "counts.",
            "return F.binary_cross_entropy_with_logits(logits, F.one_hot(targets, logits.shape[-1]).to(logits.dtype))",
            "p = torch.softmax(logits, -1)\ny = F.one_hot(targets, logits.shape[-1])\nreturn -(y * p.log() + (1 - y) * (1 - p).log()).sum(-1).mean()",
        ),
        (
            "rounded",
            "The loss is rounded: keep all digits.",
            (_MEAN, "return -log_p_target.mean().round(decimals=3)"),
            (_MEAN, "return -log_p_target.mean().round(decimals=4)"),
            (_MEAN, "return round(-log_p_target.mean().item(), 4)"),
        ),
        ("nothing_returned", _NOTHING, (_MEAN, "print(-log_p_target.mean())")),
        ("python_number", _NUMBER, (_MEAN, _MEAN + ".item()"), (_MEAN, "return float(-log_p_target.mean())")),
        (
            "gradient_cut_off",
            _DETACHED,
            (_MEAN, _MEAN + ".detach()"),
            "with torch.no_grad():\n    return -torch.log_softmax(logits, -1).gather(-1, targets.unsqueeze(-1)).mean()",
            (_MEAN, "return torch.tensor(-log_p_target.mean().item(), dtype=logits.dtype, device=logits.device)"),
            (_MEAN, "return torch.tensor(-log_p_target.mean().item())"),
            (_MEAN, "import numpy as np\n    return torch.tensor(-np.mean(log_p_target.numpy()))"),
        ),
        (
            "normaliser_detached",
            "The sum of the exponentials is cut off from the gradient: the values are right, but the other tokens' logits would "
            "never be pushed down. Leave out `.detach()` there (only the subtracted maximum may have it).",
            (_LOGS, "logits - logits.logsumexp(-1, keepdim=True).detach()"),
        ),
        ("double_precision", _DOUBLE, (_LOGS, "torch.log_softmax(logits.double(), dim=-1)")),
        ("single_precision", _SINGLE, (_LOGS, "torch.log_softmax(logits.float(), dim=-1)")),
        (
            "input_changed",
            "Your code changes its input: the caller's logits are different afterwards (`-=`). Make a new tensor.",
            "logits -= logits.amax(dim=-1, keepdim=True)\nlogs = logits - logits.exp().sum(-1, keepdim=True).log()\nreturn -logs.gather(-1, targets.unsqueeze(-1)).mean()",
            "logits.sub_(logits.logsumexp(dim=-1, keepdim=True))\nreturn -logits.gather(-1, targets.unsqueeze(-1)).mean()",
            "logits.data -= logits.amax(dim=-1, keepdim=True)\nlogs = logits - logits.exp().sum(-1, keepdim=True).log()\nreturn -logs.gather(-1, targets.unsqueeze(-1)).mean()",
        ),
        (
            "device_not_kept",
            "A tensor is made without `device=logits.device`: on a GPU the call fails, or the result comes back on the CPU.",
            "logs = torch.log_softmax(logits.reshape(-1, logits.shape[-1]), -1)\nones = torch.eye(logits.shape[-1])[targets.reshape(-1)]\nreturn -(logs * ones.to(logs.dtype)).sum(-1).mean()",
        ),
    ),
    alternatives=_alternatives(
        cross_entropy,
        log_sum_exp="return (torch.logsumexp(logits, -1) - logits.gather(-1, targets[..., None]).squeeze(-1)).mean()",
        by_hand="""
top = logits.max(dim=-1, keepdim=True).values
shifted = logits - top.detach()
log_total = shifted.exp().sum(dim=-1).log()
chosen = shifted.gather(-1, targets.unsqueeze(-1))[..., 0]
return torch.mean(log_total - chosen)
""",
        flattened="""
logits = logits.reshape(-1, logits.size(-1))
targets = targets.reshape(-1)
log_probs = logits.log_softmax(dim=1)
return -log_probs[torch.arange(len(targets), device=logits.device), targets].mean()
""",
        one_hot="""
onehot = F.one_hot(targets, num_classes=logits.shape[-1]).to(logits.dtype)
return -(onehot * F.log_softmax(logits, dim=-1)).sum(dim=-1).mean()
""",
        loop="""
rows = logits.reshape(-1, logits.shape[-1])
losses = [torch.logsumexp(row, dim=0) - row[t] for row, t in zip(rows, targets.reshape(-1))]
return sum(losses) / len(losses)
""",
        distribution="return -torch.distributions.Categorical(logits=logits).log_prob(targets).mean()",
        recursion="""
if logits.dim() != 2:
    return cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))
return (logits.logsumexp(1) - logits.gather(1, targets[:, None])[:, 0]).mean()
""",
    ),
)


# --- perplexity -------------------------------------------------------------------------------------------------------

_EXP = "return torch.exp(mean_nll)"
_MATH = "return math.exp(mean_nll)"
_IF = "if isinstance(mean_nll, torch.Tensor):"


def _perplexity_floats(student: Any) -> None:
    for number in (math.log(6), 0.0, 1.0, 2.75, 0.125, 9.5):
        with student.case():
            where = f"for the float {number:.4g}"
            got = student.value("perplexity", number, where=where)
            if isinstance(got, torch.Tensor):
                raise Wrong(
                    f"The result is a tensor {where}: a float in gives a float out (math.exp).", "tensor_from_float"
                )
            if type(got) not in (int, float):
                raise Wrong(f"The result should be a float {where}; yours is {kind(got)}.")
            if not math.isclose(got, math.exp(number), rel_tol=1e-5):
                raise Wrong(f"The result is wrong {where}.")


def _perplexity_tensors(student: Any) -> None:
    for given, where in (
        (torch.tensor(1.5), "for a scalar tensor"),
        (normal(4).abs(), "for a tensor of shape (4,)"),
        (normal(2, 3).abs(), "for a tensor of shape (2, 3)"),
        (torch.tensor([2.0]), "for a tensor of shape (1,)"),
    ):
        with student.case():
            got = student.value("perplexity", given, where=where)
            if type(got) in (int, float):
                raise Wrong(
                    f"The result is a Python number {where}: a tensor in gives a tensor out.", "number_from_tensor"
                )
            if isinstance(got, torch.Tensor) and got.shape != given.shape:
                raise Wrong(f"The shape changes {where}: every entry keeps its place.", "wrong_shape")
            _same(got, given.exp(), "The result", where)


def _perplexity_gradient(student: Any) -> None:
    for given, where in ((normal(2, 3), ""), (normal(3, 1, dtype=torch.float64), "in float64")):
        with student.case():
            gradients_agree(student, "perplexity", torch.exp, [given], ["`mean_nll`"], where=where)


def _perplexity_manners(student: Any) -> None:
    for given in (normal(3, 1), normal(2, 2, dtype=torch.float64)):
        with student.case():
            _quiet_and_pure(student, "perplexity", [given], given.exp(), "The result", "`mean_nll`")
    device_is_kept(student, "perplexity", [normal(3)])


PERPLEXITY = Exercise(
    name="perplexity",
    notebook="01-language-modelling",
    points=1,
    reference=perplexity,
    checks=[
        Check("a float gives a float", 0.4, _perplexity_floats),
        Check("a tensor gives a tensor of its shape", 0.4, _perplexity_tensors),
        Check("gradients", 0.1, _perplexity_gradient),
        Check("dtype kept, inputs unchanged, any device", 0.1, _perplexity_manners),
    ],
    working=written(
        """
        import math

        def perplexity(mean_nll):
            return math.e**mean_nll
        """
    ),
    mistakes=_mistakes(
        perplexity,
        (
            "base_two",
            "The base is 2: the loss is a natural logarithm (nats), so its inverse is exp.",
            "return 2**mean_nll",
        ),
        ("base_ten", "The base is 10: the loss is a natural logarithm, so its inverse is exp.", "return 10**mean_nll"),
        (
            "bits",
            "The loss is converted to bits before the exponential: exp goes with nats as they are.",
            [(_EXP, "return torch.exp(mean_nll / math.log(2))"), (_MATH, "return math.exp(mean_nll / math.log(2))")],
            [
                (_EXP, "return torch.exp2(mean_nll * math.log(2) ** 2)"),
                (_MATH, "return 2 ** (mean_nll * math.log(2) ** 2)"),
            ],
        ),
        (
            "bits_multiplied",
            "To turn nats into bits, divide by ln 2 instead of multiplying: 2 ** (mean_nll / ln 2) is the same as e ** mean_nll.",
            "return 2 ** (mean_nll * math.log(2))",
        ),
        (
            "negative",
            "The sign is turned: mean_nll is negative log-likelihood already, so perplexity is exp of it, at least 1. exp(−loss) is "
            "a probability.",
            [(_EXP, "return torch.exp(-mean_nll)"), (_MATH, "return math.exp(-mean_nll)")],
            [(_EXP, "return 1 / torch.exp(mean_nll)"), (_MATH, "return 1 / math.exp(mean_nll)")],
        ),
        (
            "unchanged",
            "The loss itself is returned: perplexity is its exponential.",
            "return mean_nll",
            "return mean_nll * 1.0",
        ),
        (
            "logarithm",
            "The logarithm is taken: perplexity is the *exponential* of the loss.",
            [(_EXP, "return torch.log(mean_nll)"), (_MATH, "return math.log(mean_nll)")],
            [(_EXP, "return torch.log(mean_nll)"), (_MATH, "return math.log(mean_nll) if mean_nll else -math.inf")],
        ),
        (
            "one_less",
            "expm1 is exp(x) − 1: a loss of 0 means a perplexity of 1.",
            [(_EXP, "return torch.expm1(mean_nll)"), (_MATH, "return math.expm1(mean_nll)")],
        ),
        (
            "square",
            "A power or a multiple of the loss is returned: perplexity is e to the power of the loss.",
            "return math.e * mean_nll",
            "return mean_nll**2",
            "return mean_nll**math.e",
        ),
        (
            "rounded_base",
            "e is rounded (2.718): use exp.",
            "return 2.718**mean_nll",
            "return 2.71828**mean_nll",
            "return 2.72**mean_nll",
        ),
        (
            "tensors_only",
            "`torch.exp` does not take a float: a float in must give a float out, so use math.exp for it.",
            "return torch.exp(mean_nll)",
            "return mean_nll.exp()",
        ),
        (
            "tensor_from_float",
            "A float in gives a tensor out: the result should be of the same type, so use math.exp for a float.",
            (_MATH, "return torch.exp(torch.tensor(mean_nll))"),
            "return torch.exp(torch.as_tensor(mean_nll))",
            "return torch.tensor(mean_nll).exp()",
            (_MATH, "return torch.tensor(math.exp(mean_nll))"),
        ),
        (
            "floats_only",
            "`math.exp` makes a Python number of a tensor, or fails for several entries, and no gradient gets through: use torch.exp "
            "for a tensor.",
            "return math.exp(mean_nll)",
            "return math.pow(math.e, mean_nll)",
        ),
        (
            "number_from_tensor",
            "A tensor is turned into a Python number on the way (`.item()`): compute with the tensor itself (torch.exp), which "
            "keeps its shape and its gradient.",
            (_EXP, "return torch.exp(mean_nll).item()"),
            (_EXP, "return math.exp(mean_nll.item())"),
            (_EXP, "return torch.exp(mean_nll).tolist()"),
            (_EXP, "return math.exp(mean_nll.mean())"),
            (_EXP, "return torch.tensor(math.exp(mean_nll.item()), dtype=mean_nll.dtype)"),
            "return math.exp(mean_nll.item() if isinstance(mean_nll, torch.Tensor) else mean_nll)",
            "import numpy as np\nreturn float(np.exp(mean_nll))",
        ),
        (
            "numpy",
            "NumPy makes an array of a tensor and cuts the gradient: use torch.exp for a tensor.",
            (_EXP, "import numpy as np\n        return np.exp(mean_nll.detach().numpy())"),
            "import numpy as np\nreturn np.exp(mean_nll)",
        ),
        (
            "averaged",
            "The tensor is averaged first: mean_nll is a mean already, and a tensor of several losses gives as many perplexities.",
            (_EXP, "return torch.exp(mean_nll.mean())"),
            (_EXP, "return torch.exp(mean_nll).mean()"),
            (_EXP, "return torch.exp(mean_nll.sum())"),
        ),
        (
            "softmax",
            "The exponentials are normalised (a softmax): perplexity is exp of each loss on its own.",
            (_EXP, "return torch.softmax(mean_nll, dim=-1)"),
        ),
        (
            "rounded",
            "The result is rounded: keep all digits (round when you print).",
            (_MATH, "return round(math.exp(mean_nll), 2)"),
            [(_EXP, "return torch.exp(mean_nll).round(decimals=2)"), (_MATH, "return round(math.exp(mean_nll), 2)")],
            (_MATH, "return int(math.exp(mean_nll))"),
            (_MATH, "return round(math.exp(mean_nll), 3)"),
            (_MATH, "return round(math.exp(mean_nll))"),
            [(_EXP, "return torch.exp(mean_nll).round()"), (_MATH, "return float(round(math.exp(mean_nll)))")],
        ),
        ("nothing_returned", _NOTHING, [(_EXP, "print(torch.exp(mean_nll))"), (_MATH, "print(math.exp(mean_nll))")]),
        (
            "gradient_cut_off",
            _DETACHED,
            (_EXP, "return torch.exp(mean_nll.detach())"),
            (_EXP, "return torch.exp(mean_nll).data"),
        ),
        ("single_precision", _SINGLE, (_EXP, "return torch.exp(mean_nll.float())")),
        (
            "double_precision",
            _DOUBLE,
            (_EXP, "return torch.exp(mean_nll.double())"),
            "return torch.exp(mean_nll.double()) if isinstance(mean_nll, torch.Tensor) else math.exp(mean_nll)",
        ),
        (
            "one_dimension_more",
            "The shape changes: a scalar tensor gives a scalar tensor, and any other its own shape.",
            (_EXP, "return torch.exp(mean_nll).reshape(-1)"),
            (_EXP, "return torch.exp(mean_nll).squeeze()"),
            (_EXP, "return torch.exp(mean_nll)[None]"),
        ),
        (
            "input_changed",
            "`exp_()` writes into the caller's tensor: use `exp`, which makes a new one.",
            (_EXP, "with torch.no_grad():\n            return mean_nll.exp_()"),
            (_EXP, "return mean_nll.exp_()"),
        ),
    ),
    alternatives=_alternatives(
        perplexity,
        power="return math.e ** mean_nll",
        method="return mean_nll.exp() if hasattr(mean_nll, 'exp') else math.exp(mean_nll)",
        float_first="if isinstance(mean_nll, float):\n    return float(torch.tensor(mean_nll, dtype=torch.float64).exp())\nreturn torch.exp(mean_nll)",
        attempt="try:\n    return torch.exp(mean_nll)\nexcept TypeError:\n    return math.exp(mean_nll)",
        numpy="import numpy as np\nif torch.is_tensor(mean_nll):\n    return mean_nll.exp()\nreturn np.exp(mean_nll)",
    ),
)


# --- generate_bigram --------------------------------------------------------------------------------------------------

_ROW = "row = probs[ids[-1]]"
_DRAW = "torch.multinomial(row, num_samples=1, generator=generator)"
_NEXT = "ids.append(next_id.item())"


_MAKE = """
def make(seed):
    return torch.Generator().manual_seed(seed)
"""


def _generator(student: Any, seed: int) -> Any:
    """A generator that stays in the student's process, so that it can be passed twice."""
    return student.call(student.probe("make", _MAKE), [seed], keep=True)["value"]


def _as_ids(got: Any, where: str) -> list[int]:
    """The ids of an answer. Scalar tensors in a list are let pass here: whether they are ints has a check of its own."""
    if isinstance(got, torch.Tensor):
        if got.dim() != 1 or got.is_floating_point():
            raise Wrong(f"A list of Python ints is asked for; yours is {kind(got)} {where}.")
        return got.tolist()
    if type(got) not in (list, tuple):
        raise Wrong(f"A list of Python ints is asked for; yours is {kind(got)} {where}.")
    ids = [item.item() if isinstance(item, torch.Tensor) and item.numel() == 1 else item for item in got]
    if not all(type(item) in (int, float) and item == int(item) for item in ids):
        raise Wrong(f"A list of Python ints is asked for; yours holds other things {where}.")
    return [int(item) for item in ids]


def _has_length(ids: list[int], num_tokens: int, where: str) -> None:
    if len(ids) != num_tokens + 1:
        raise Wrong(
            f"The list should have {num_tokens + 1} ids {where}: the start id and {num_tokens} new ones; yours has {len(ids)}."
        )


_CHAINS = ([1, 2, 3, 4, 0], [3, 0, 4, 1, 2], [2, 2, 0, 3, 1])  # token k is followed by chain[k], with certainty


def _certain(chain: list[int]) -> torch.Tensor:
    return F.one_hot(torch.tensor(chain), len(chain)).float()


def _follow(chain: list[int], start: int, steps: int) -> list[int]:
    ids = [start]
    for _ in range(steps):
        ids.append(chain[ids[-1]])
    return ids


def _generated_chain(student: Any) -> None:
    for chain, start, num_tokens in zip(_CHAINS * 2, (0, 2, 1, 4, 1, 4), (7, 11, 6, 3, 2, 23), strict=True):
        with student.case():
            where = f"for {num_tokens} tokens from start id {start}, when each next token is certain"
            got = student.value(
                "generate_bigram", _certain(chain), start, num_tokens, _generator(student, 3), where=where
            )
            ids = _as_ids(got, where)
            _has_length(ids, num_tokens, where)
            if ids[0] != start:
                raise Wrong(f"The list should begin with the start id {where}.")
            if ids != _follow(chain, start, num_tokens):
                raise Wrong(f"The tokens are not those that the table makes certain {where}: row i is what follows i.")


def _generated_few(student: Any) -> None:
    for num_tokens, start in ((0, 3), (1, 2), (0, 0)):
        with student.case():
            where = f"for num_tokens = {num_tokens}"
            got = student.value(
                "generate_bigram", _certain(_CHAINS[0]), start, num_tokens, _generator(student, 5), where=where
            )
            ids = _as_ids(got, where)
            _has_length(ids, num_tokens, where)
            if ids != _follow(_CHAINS[0], start, num_tokens):
                raise Wrong(f"The ids are wrong {where}: the list begins with the start id.")


_SPREAD = [[0.1, 0.6, 0.3, 0.0], [0.45, 0.0, 0.05, 0.5], [0.0, 0.25, 0.25, 0.5], [0.7, 0.1, 0.0, 0.2]]


def _generated_shares(student: Any) -> None:
    """Each transition as often as its probability says, up to six standard deviations and a little.

    That fails for a right answer with a probability below 1e-6 (16 cells, 2e-9 each for a normal distribution; the five
    more allow for the rare cell of 0.05), whatever its way of sampling.
    """
    probs, counts = torch.tensor(_SPREAD), torch.zeros(4, 4)
    for seed in range(10):
        where = "for 400 tokens"
        got = student.value("generate_bigram", probs, seed % 4, 400, _generator(student, 100 + seed), where=where)
        ids = _as_ids(got, where)
        _has_length(ids, 400, where)
        if not all(0 <= token < 4 for token in ids):
            raise Wrong(f"There are ids outside the vocabulary {where}.")
        counts += count_bigrams(torch.tensor(ids), 4)
    if counts[probs == 0].any():
        raise Wrong("Tokens of probability 0 are drawn: they must never follow.", "impossible_token")
    visits = counts.sum(1, keepdim=True)
    allowed = 6 * (visits * probs * (1 - probs)).sqrt() + 5
    if ((counts - visits * probs).abs() > allowed).any():
        raise Wrong(
            "Over thousands of draws tokens do not come as often as the row of the token before says: draw from that row as it is "
            "(torch.multinomial).",
            "wrong_frequencies",
        )


def _generated_by_generator(student: Any) -> None:
    probs = torch.full((7, 7), 1 / 7)  # two runs of 40 tokens agree by chance once in 7 ** 40
    draws = []
    for seed in (11, 11, 12, 13):
        answer = student.call("generate_bigram", [probs, 2, 40, _generator(student, seed)])
        draws.append(_as_ids(answer["value"], "for a uniform table"))
        _has_length(draws[-1], 40, "for a uniform table")
        if answer["rng_moved"]:
            raise Wrong(
                "Your code draws from the global random generator: pass `generator=generator` on to the sampling, and seed nothing.",
                "global_generator",
            )
    if draws[0] != draws[1]:
        raise Wrong(
            "Two generators with the same seed give different texts: some chance comes from elsewhere (`random`, NumPy).",
            "other_source",
        )
    if draws[0] == draws[2] == draws[3]:
        raise Wrong(
            "Generators with different seeds give the same text: is the generator not used, or seeded anew inside?",
            "generator_ignored",
        )
    generator = _generator(student, 11)
    first, second = (
        _as_ids(student.value("generate_bigram", probs, 2, 40, generator), "for a uniform table") for _ in range(2)
    )
    if first == second:
        raise Wrong(
            "Two calls with one generator give the same text: draw from the generator that is passed, do not seed it (or another) "
            "anew.",
            "seeded_anew",
        )


def _generated_manners(student: Any) -> None:
    for dtype in (torch.float32, torch.float64):
        with student.case():
            probs = _rows(5, 5, dtype=dtype)
            answer = student.call(
                "generate_bigram",
                [probs, 1, 30, _generator(student, 8)],
                where=f"for {dtype_name(probs)} probabilities",
            )
            got = answer["value"]
            _has_length(_as_ids(got, ""), 30, "")
            unchanged(answer["inputs"][:1], [probs], "`probs`")
            if type(got) is not list:
                raise Wrong(f"A list of Python ints is asked for; yours is {kind(got)}.", "not_a_list")
            if not all(type(item) is int for item in got):
                raise Wrong(
                    f"The list should hold Python ints; yours holds {kind(next(i for i in got if type(i) is not int))}: use `.item()`.",
                    "not_ints",
                )


def _sampled(row: str = "probs[ids[-1]]", draw: str = "int(torch.multinomial({row}, 1, generator=generator))") -> str:
    return f"ids = [start_id]\nwhile len(ids) < num_tokens + 1:\n    ids.append({draw.format(row=row)})\nreturn ids"


GENERATE_BIGRAM = Exercise(
    name="generate_bigram",
    notebook="01-language-modelling",
    points=3,
    reference=generate_bigram,
    checks=[
        Check("start id, then one token after the other", 1.25, _generated_chain),
        Check("no token, one token", 0.25, _generated_few),
        Check("tokens as often as their probabilities say", 0.75, _generated_shares),
        Check("chance comes from the generator alone", 0.5, _generated_by_generator),
        Check("a list of ints, inputs unchanged", 0.25, _generated_manners),
    ],
    working=written(
        """
        import torch

        def generate_bigram(probs, start_id, num_tokens, generator):
            ids = [start_id]
            for _ in range(num_tokens):
                ids += torch.multinomial(probs, 1, generator=generator)[ids[-1]].tolist()
            return ids
        """
    ),
    mistakes=_mistakes(
        generate_bigram,
        (
            "start_row_always",
            "Every token is drawn from the row of the start id: the row is that of the *latest* token, ids[-1].",
            (_ROW, "row = probs[start_id]"),
            (_ROW, "row = probs[ids[0]]"),
            "return [start_id] + torch.multinomial(probs[start_id], num_tokens, replacement=True, generator=generator).tolist()",
            "ids = [start_id]\nif num_tokens:\n    ids += torch.multinomial(probs[start_id], num_tokens, replacement=True, generator=generator).tolist()\nreturn ids",
        ),
        (
            "columns",
            "Columns are read instead of rows: probs[i, j] is p(j given i), so what follows i stands in row i.",
            (_ROW, "row = probs[:, ids[-1]]"),
            (_ROW, "row = probs.T[ids[-1]]"),
        ),
        (
            "first_row_always",
            "The row does not depend on the latest token (row 0, or the number of the step): use probs[ids[-1]].",
            (_ROW, "row = probs[0]"),
            [("for _ in", "for step in"), (_ROW, "row = probs[step % len(probs)]")],
            (_ROW, "row = probs.mean(dim=0)"),
            (_ROW, "row = torch.ones(len(probs))"),
        ),
        (
            "two_back",
            "The row is that of the token before the latest: use ids[-1].",
            (_ROW, "row = probs[ids[-2] if len(ids) > 1 else ids[-1]]"),
        ),
        (
            "one_too_few",
            "The start id is counted among the num_tokens: it comes on top, so the list has num_tokens + 1 ids.",
            ("range(num_tokens)", "range(num_tokens - 1)"),
            "ids = [start_id]\nwhile len(ids) < num_tokens:\n    ids.append(torch.multinomial(probs[ids[-1]], 1, generator=generator).item())\nreturn ids",
        ),
        (
            "one_too_many",
            "One token too many is drawn: num_tokens new ones after the start id.",
            ("range(num_tokens)", "range(num_tokens + 1)"),
        ),
        (
            "start_left_out",
            "The start id is missing: the list begins with it.",
            ("return ids", "return ids[1:]"),
            "ids, last = [], start_id\nfor _ in range(num_tokens):\n    last = torch.multinomial(probs[last], 1, generator=generator).item()\n    ids.append(last)\nreturn ids",
        ),
        (
            "start_ignored",
            "The text always begins with token 0: it begins with start_id.",
            ("ids = [start_id]", "ids = [0]"),
        ),
        (
            "start_drawn",
            "The first token is drawn (or replaced by its follower): the list begins with start_id itself.",
            ("return ids", "return ids[1:] + [torch.multinomial(probs[ids[-1]], 1, generator=generator).item()]"),
            ("ids = [start_id]", "ids = [torch.randint(len(probs), (1,), generator=generator).item()]"),
        ),
        (
            "last_left_out",
            "The last token is missing: num_tokens new ones come after the start id.",
            ("return ids", "return ids[:-1]"),
            ("return ids", "return ids[:num_tokens]"),
        ),
        (
            "last_only",
            "Only the last token is returned: the whole list is asked for.",
            ("return ids", "return ids[-1]"),
            ("return ids", "return ids[-1:]"),
            ("return ids", "return next_id.item()"),
        ),
        (
            "returns_too_early",
            "The `return` stands inside the loop, so only one token is drawn.",
            (_NEXT, _NEXT + "\n        return ids"),
        ),
        (
            "stops_early",
            "The text ends at some token (a `break`), as if it were an end token: num_tokens are always drawn.",
            (_NEXT, _NEXT + "\n        if ids[-1] == 0:\n            break"),
            (_NEXT, _NEXT + "\n        if ids[-1] == len(probs) - 1:\n            break"),
        ),
        (
            "several_in_a_step",
            "More than one token is added in a step: when one is found in the cumulative sum, leave the inner loop with `break`.",
            """
            ids = [start_id]
            for _ in range(num_tokens):
                u = torch.rand(1, generator=generator).item()
                total = 0.0
                for j in range(len(probs)):
                    total += probs[ids[-1]][j].item()
                    if u < total:
                        ids.append(j)
            return ids
            """,
            """
            ids = [start_id]
            for _ in range(num_tokens):
                u = torch.rand(1, generator=generator).item()
                total = 0.0
                for j, p in enumerate(probs[ids[-1]].tolist()):
                    total += p
                    if u < total:
                        ids.append(j)
            return ids
            """,
        ),
        (
            "all_at_once",
            "All tokens are drawn at once, without replacement: draw one at a time, each from the row of the token before.",
            "return [start_id] + torch.multinomial(probs[start_id], num_tokens, generator=generator).tolist()",
            "ids = [start_id]\nif num_tokens:\n    ids += torch.multinomial(probs[start_id], num_tokens, generator=generator).tolist()\nreturn ids",
        ),
        (
            "one_number_for_all",
            "One random number decides all tokens: draw a new one for each.",
            """
            ids = [start_id]
            u = torch.rand(1, generator=generator)
            for _ in range(num_tokens):
                ids.append((probs[ids[-1]].cumsum(0) <= u).sum().clamp(max=len(probs) - 1).item())
            return ids
            """,
            """
            ids = [start_id]
            u = torch.rand(1, generator=generator).item()
            for _ in range(num_tokens):
                total = 0.0
                for j in range(len(probs)):
                    total += probs[ids[-1]][j].item()
                    if u < total:
                        ids.append(j)
                        break
            return ids
            """,
        ),
        (
            "reversed",
            "The list is in reverse: the start id comes first, each new token at the end.",
            ("return ids", "return ids[::-1]"),
            [(_NEXT, "ids.insert(0, next_id.item())"), (_ROW, "row = probs[ids[0]]")],
        ),
        (
            "latest_not_updated",
            "The first drawn token is repeated: nothing new is drawn inside the loop.",
            "next_id = torch.multinomial(probs[start_id], 1, generator=generator).item()\nreturn [start_id] + [next_id] * num_tokens",
        ),
        (
            "greedy",
            "The likeliest token is taken each time (argmax): that is not sampling, and gives the same text for every generator.",
            (_DRAW, "row.argmax()"),
            "ids = [start_id]\nfor _ in range(num_tokens):\n    ids.append(int(probs[ids[-1]].argmax()))\nreturn ids",
        ),
        (
            "uniform",
            "All tokens are drawn alike, whatever the table says: draw from the row of the latest token.",
            (_DRAW, "torch.randint(len(row), (1,), generator=generator)"),
        ),
        (
            "uniform_among_possible",
            "All possible tokens are drawn alike: their probabilities should decide.",
            (_ROW, "row = (probs[ids[-1]] > 0).float()"),
            (_ROW, "row = probs[ids[-1]].ceil()"),
        ),
        (
            "softmax",
            "The row goes through a softmax, although it holds probabilities already: that flattens it, and gives impossible tokens a "
            "chance.",
            (_ROW, "row = torch.softmax(probs[ids[-1]], dim=-1)"),
            (_ROW, "row = probs[ids[-1]].exp()"),
        ),
        (
            "smoothed_again",
            "A number is added to the probabilities, so that impossible tokens get a chance: draw from the row as it is.",
            (_ROW, "row = probs[ids[-1]] + 1e-2"),
            (_ROW, "row = probs[ids[-1]] + 0.1"),
            (_ROW, "row = probs[ids[-1]] + 1"),
        ),
        (
            "logarithms",
            "Logarithms are passed where probabilities are asked for: torch.multinomial takes the probabilities themselves.",
            (_ROW, "row = -probs[ids[-1]].clamp(min=1e-9).log()"),
        ),
        (
            "temperature",
            "The probabilities are sharpened or flattened (squared, a root, top-k): draw from the row as it is.",
            (_ROW, "row = probs[ids[-1]] ** 2"),
            (_ROW, "row = probs[ids[-1]] ** 0.5"),
            (_ROW, "row = probs[ids[-1]] * (probs[ids[-1]] >= probs[ids[-1]].topk(2).values[-1])"),
        ),
        (
            "no_repeats",
            "A token never follows itself: repeats are allowed, the table decides.",
            (_ROW, "row = probs[ids[-1]].clone()\n        row[ids[-1]] = 0"),
        ),
        (
            "cumulative_off_by_one",
            "The search in the cumulative probabilities is off by one: the token is the first whose cumulative probability exceeds the "
            "drawn number.",
            (_DRAW, "(row.cumsum(0) < torch.rand(1, generator=generator)).sum().sub(1).clamp(min=0)"),
            (_DRAW, "(row.cumsum(0) < torch.rand(1, generator=generator)).sum().add(1).clamp(max=len(row) - 1)"),
        ),
        (
            "normal_numbers",
            "Normal random numbers are compared with the cumulative probabilities: they need uniform ones, torch.rand.",
            (_DRAW, "(row.cumsum(0) < torch.randn(1, generator=generator)).sum().clamp(max=len(row) - 1)"),
        ),
        (
            "global_generator",
            "The generator is not passed on, so torch's global one is used: `torch.multinomial(…, generator=generator)`.",
            (", generator=generator", ""),
            _sampled(draw="torch.multinomial({row}, 1).item()"),
            (_DRAW, "torch.distributions.Categorical(probs=row).sample()"),
            "torch.manual_seed(0)\nids = [start_id]\nfor _ in range(num_tokens):\n    ids.append(torch.multinomial(probs[ids[-1]], 1).item())\nreturn ids",
            "torch.manual_seed(generator.initial_seed())\nids = [start_id]\nfor _ in range(num_tokens):\n    ids.append(torch.multinomial(probs[ids[-1]], 1).item())\nreturn ids",
        ),
        (
            "other_source",
            "Chance comes from elsewhere (`random`, NumPy), so the generator decides nothing: use torch.multinomial with "
            "generator=generator.",
            "import random\nids = [start_id]\nfor _ in range(num_tokens):\n    ids.append(random.choices(range(len(probs)), probs[ids[-1]].tolist())[0])\nreturn ids",
            "import numpy as np\nids = [start_id]\nfor _ in range(num_tokens):\n    p = probs[ids[-1]].double().numpy()\n    ids.append(int(np.random.choice(len(p), p=p / p.sum())))\nreturn ids",
        ),
        (
            "generator_ignored",
            "A generator of its own, with a fixed seed, is used: the one that is passed decides.",
            ("ids = [start_id]", "generator = torch.Generator().manual_seed(0)\n    ids = [start_id]"),
            ("ids = [start_id]", "generator.manual_seed(0)\n    ids = [start_id]"),
            ("ids = [start_id]", "generator = torch.Generator().manual_seed(42)\n    ids = [start_id]"),
            ("ids = [start_id]", "generator.manual_seed(42)\n    ids = [start_id]"),
            ("ids = [start_id]", "generator = torch.Generator()\n    ids = [start_id]"),
        ),
        (
            "seeded_anew",
            "The generator is seeded anew at each call, so every call gives the same text: draw from it as it comes.",
            ("ids = [start_id]", "generator.manual_seed(generator.initial_seed())\n    ids = [start_id]"),
            (
                "ids = [start_id]",
                "generator = torch.Generator().manual_seed(generator.initial_seed())\n    ids = [start_id]",
            ),
            ("ids = [start_id]", "generator = generator.clone_state()\n    ids = [start_id]"),
        ),
        (
            "seeded_each_step",
            "The generator is seeded anew before each token, so all draws are the same number: draw from it as it comes.",
            (_ROW, "generator.manual_seed(0)\n        " + _ROW),
            (_ROW, "generator.manual_seed(42)\n        " + _ROW),
            (_ROW, "generator.manual_seed(generator.initial_seed())\n        " + _ROW),
            ("generator=generator", "generator=torch.Generator()"),
            ("generator=generator", "generator=torch.Generator().manual_seed(0)"),
            ("generator=generator", "generator=torch.Generator().manual_seed(42)"),
            ("generator=generator", "generator=torch.Generator().manual_seed(generator.initial_seed())"),
        ),
        (
            "tensor",
            "A tensor is returned: a list of Python ints is asked for (`.tolist()`).",
            ("return ids", "return torch.tensor(ids)"),
        ),
        (
            "tensors_in_the_list",
            "The list holds tensors: take the number out of each, with `.item()`.",
            (_NEXT, "ids.append(next_id)"),
            (_NEXT, "ids.append(next_id[0])"),
            (_NEXT, "ids.append(next_id.squeeze())"),
            [(_NEXT, "ids.append(next_id)"), (", generator=generator", "")],
        ),
        (
            "lists_in_the_list",
            "The list holds lists: take the number out of each draw, with `.item()`.",
            [(_NEXT, "ids.append(next_id.tolist())"), (_ROW, "row = probs[ids[-1]].reshape(-1)")],
        ),
        ("tuple", "A tuple is returned: a list is asked for.", ("return ids", "return tuple(ids)")),
        (
            "text",
            "A string is returned: a list of Python ints is asked for.",
            ("return ids", "return ' '.join(map(str, ids))"),
            ("return ids", "return [str(token) for token in ids]"),
        ),
        ("nothing_returned", _NOTHING, ("return ids", "print(ids)")),
        (
            "only_if_asked",
            "For num_tokens = 0 the call fails or nothing comes back: the list with the start id alone is asked for.",
            ("return ids", "return ids if num_tokens else None"),
            ("return ids", "return ids if num_tokens else []"),
            ("return ids", "assert num_tokens > 0\n    return ids"),
        ),
        (
            "unknown_name",
            "Three arguments are taken: the signature is generate_bigram(probs, start_id, num_tokens, generator).",
            [(", generator)", ")"), (", generator=generator", "")],
        ),
        (
            "input_changed",
            "Your code changes the table: the caller's `probs` are different afterwards. Make a new tensor.",
            (_ROW, "row = probs[ids[-1]]\n        row /= row.sum()\n        row *= 1 + 1e-3"),
            (_ROW, "probs *= 1.001\n        row = probs[ids[-1]]"),
        ),
    ),
    alternatives=_alternatives(
        generate_bigram,
        while_loop=_sampled(),
        cumulative="""
cumulative = probs.double().cumsum(dim=1)
last, ids = start_id, [start_id]
for u in torch.rand(num_tokens, generator=generator, dtype=torch.float64).tolist():
    last = min(int(torch.searchsorted(cumulative[last], u, right=True)), probs.shape[1] - 1)
    ids.append(last)
return ids
""",
        race="""
ids = [start_id]
for _ in range(num_tokens):
    clocks = torch.empty(probs.shape[1], dtype=probs.dtype).exponential_(generator=generator)
    ids.append((probs[ids[-1]] / clocks).argmax().item())
return ids
""",
        recursion="""
if num_tokens == 0:
    return [start_id]
next_id = torch.multinomial(probs[start_id], 1, replacement=True, generator=generator).item()
return [start_id] + generate_bigram(probs, next_id, num_tokens - 1, generator)
""",
        python_numbers="""
table = probs.tolist()
ids = [start_id]
for k in range(num_tokens):
    u, j = torch.rand((), generator=generator).item(), 0
    row = table[ids[k]]
    while j < len(row) - 1 and (u >= row[j] or row[j] == 0):
        u -= row[j]
        j += 1
    ids.append(j)
return ids
""",
    ),
)


EXERCISES = [COUNT_BIGRAMS, BIGRAM_PROBS, SEQUENCE_LOG_PROB, CROSS_ENTROPY, PERPLEXITY, GENERATE_BIGRAM]
QUESTIONS = [
    Question(
        name="q1_1",
        notebook="01-language-modelling",
        points=1,
        key="C",
        explanations={
            "A": (
                "Left to right is a common choice, but the chain rule holds for tokens in an order as well as "
                "for any other variables. Write it out for three tokens: every factor has its place, and nothing "
                "has been lost so far."
            ),
            "B": (
                "Multiplying would need independence if the factors were plain probabilities p(x_t). Here each "
                "factor is conditional on other tokens, and such factors may always be multiplied."
            ),
            "C": (
                "Yes. The chain rule conditions each token on the whole text before it. The bigram model keeps "
                "one token of it, so whatever the older ones say about the next token is lost."
            ),
            "D": (
                "Estimating from a finite text does cost something, and section 5 measures it. But the question "
                "is about the form of the product: even with unlimited text, would this formula give the true "
                "p(x)?"
            ),
        },
    ),
    Question(
        name="q1_2",
        notebook="01-language-modelling",
        points=1,
        key="A",
        explanations={
            "A": (
                "Yes. One bit less per character is a factor of 2 per character, and there are 100 characters "
                "whose factors multiply: 2^100, about 10^30. Small differences per character are enormous "
                "differences per text."
            ),
            "B": (
                "The ratio of two costs in bits is not a ratio of probabilities: bits are logarithms. Turn each "
                "cost into a probability of the whole text first, and then divide."
            ),
            "C": (
                "You have counted 100 characters and added their advantages. Costs in bits add up over a text; "
                "what do probabilities do?"
            ),
            "D": (
                "You have used e, which belongs to nats. In which unit are these two costs given, and which base "
                "belongs to it?"
            ),
        },
    ),
    Question(
        name="q1_3",
        notebook="01-language-modelling",
        points=1,
        key="D",
        explanations={
            "A": (
                "The entropy does bound every model, but on average over new text from the source. Was this text "
                "new to the model?"
            ),
            "B": (
                "It is tempting to read a low number as deep insight. But the floor is computed from the very "
                "rules that wrote the text: beyond them there is nothing to find. Where else can knowledge about "
                "exactly this text come from?"
            ),
            "C": (
                "Smoothing does raise the training loss, so without it the number falls further. But is the "
                "training loss what we want to be small? Look at the other curve of the figure."
            ),
            "D": (
                "Yes. Long contexts occur once, and then the counts simply quote what came next in the training "
                "text. On new text the quotations are wrong or missing, so only text that was not counted can "
                "tell how good the model is."
            ),
        },
    ),
]
