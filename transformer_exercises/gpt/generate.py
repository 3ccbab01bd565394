"""`generate`: models whose next token is certain, cropped contexts, shares over 1,200 rows, modes, the generator."""

from typing import Any

import torch

from autograder.spec import (
    Check,
    Exercise,
    Kept,
    Student,
    ValuesDiffer,
    call_probe,
    device_is_kept,
    differ,
    each,
    from_the_generator_alone,
    ids_of_shape,
    normal,
    other_ids,
    reference,
    refusing,
    same_tensor,
    shuffled,
    their_generator,
    unchanged,
)

next_token_distribution = reference("next_token_distribution")
refuse = refusing("generate")

# Models for generate, in the student's process. Follows makes each next token certain: it depends on the first and on
# the last token that the model can see. Draws has the same logits after each token. What `noting` makes notes how it
# was called, in no attribute of the model, which could be cleared.
_PROBES = """
from types import SimpleNamespace

class Follows(nn.Module):
    def __init__(self, V, block_size, *rule):
        super().__init__()
        self.config = SimpleNamespace(vocab_size=V, block_size=block_size, n_layer=1, n_head=1, n_embd=1, dropout=0.5)
        self.anchor, self.inner = nn.Parameter(torch.zeros(())), nn.Dropout(0.5)
        self.rule = rule

    def forward(self, ids, targets=None):
        return self.logits(ids) + self.anchor, None

    def logits(self, ids):
        (first, last, offset), V = self.rule, self.config.vocab_size
        return 1e4 * nn.functional.one_hot((first * ids[:, :1] + last * ids + offset) % V, V)

class Draws(Follows):
    def __init__(self, logits, block_size):
        super().__init__(logits.shape[-1], block_size)
        self.table = nn.Parameter(logits.clone())

    def logits(self, ids):
        return self.table[ids]

def noting(training, *rule):
    calls = []

    class Noting(Follows):
        def forward(self, ids, targets=None):
            calls.append([ids.shape[-1], self.training, self.inner.training, torch.is_grad_enabled()])
            return super().forward(ids, targets)

    model = Noting(*rule).train(training)
    return model, lambda: {"calls": list(calls), "afterwards": [model.training, model.inner.training]}

def gradients_back():
    on = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    return on
"""
_ANYTHING = {"temperature": 1.0, "top_k": None, "top_p": None}
Rule = tuple[int, ...]  # V, block_size, and the factors of the first and the last token, and what is added


def _generated(
    student: Student, model: Any, ids: torch.Tensor, new: int, where: str, generator: Any = 3, **how: Any
) -> dict:
    """Return the answer to a call with all options by name, or, without a generator (or its seed), with none."""
    if isinstance(generator, int):
        generator = their_generator(student, generator)
    kwargs = {} if generator is None else {"max_new_tokens": new, **_ANYTHING, **how, "generator": generator}
    args = [model, ids] if kwargs else [model, ids, new]
    try:
        answer = student.call("generate", args, kwargs, where=where)
    finally:  # whoever leaves gradients off is told so once, by _modes
        gradients_on = call_probe(student, _PROBES, "gradients_back")
    got = ids_of_shape(answer["value"], "The result", (ids.shape[0], ids.shape[1] + new), where)
    refuse(not torch.equal(got[:, : ids.shape[1]].long(), ids), "prompt_changed")
    message = "Without a generator nothing is drawn from PyTorch's global one: hand on None."
    refuse(generator is None and not answer["rng_moved"], "", message)
    return answer | {"gradients_on": gradients_on}


def _certain(
    student: Student, rule: Rule, B: int, T: int, new: int, how: Any = None, message: str = "", training: bool = True
) -> dict:
    """Ask for tokens that are certain. The answer has the prompt too, what is expected, and what the model noted."""
    V, block_size, first, last, offset = rule
    where = (
        f"{message or 'when each token is certain'}, for B = {B}, T = {T}, {new} new ones, block_size = {block_size}"
    )
    model, noted = student.build_parts(2, student.probe("noting", _PROBES), training, *rule)
    ids = expected = (normal(B, T).abs() * 1000).long() % V
    answer = _generated(student, model, ids, new, where, **(how or {}))
    notes = student.value(noted)
    refuse(any(call[0] > block_size for call in notes["calls"]), "not_cropped")
    for _ in range(new):
        seen = expected[:, -block_size:]
        expected = torch.cat([expected, (first * seen[:, :1] + last * seen[:, -1:] + offset) % V], 1)
    message = "each is drawn from the logits of the last position, and appended before the next is asked for."
    wrong = not torch.equal(answer["value"].long(), expected)
    differ(wrong, f"The new tokens are not those that the model makes certain {where}: {message}")
    refuse(len(notes["calls"]) < new, "", f"The model itself is not asked once for each new token {where}: {message}")
    return answer | notes | {"ids": ids, "expected": expected}


_TABLE = [
    [2.0, 0.5, -1.0, 1.2, 0.0],
    [0.3, 2.2, 1.1, -0.7, 0.8],
    [-0.5, 0.6, 1.9, 0.1, 1.4],
    [1.0, -1.2, 0.4, 0.9, 2.1],
    [0.7, 1.8, 0.0, 1.3, -0.9],
]


_one_by_one = each(
    *(((11, 40, 0, 3, 1), 1, 4, 6), ((7, 30, 2, 3, 1), 3, 5, 9, {"temperature": 0.8})),
    *(((13, 25, 1, 5, 2), 2, 1, 12, {"temperature": 0}), ((9, 20, 3, 1, 4), 3, 3, 1, {"top_k": 4})),
    ((17, 32, 1, 1, 1), 2, 6, 4, {"top_p": 0.9, "temperature": 1.3}),
)(_certain)
_cropped = each(
    ((11, 5, 2, 3, 1), 2, 3, 9),  # the prompt fits, the text outgrows the block
    ((7, 4, 1, 2, 1), 3, 9, 5),  # the prompt is too long already
    ((13, 6, 3, 1, 2), 1, 6, 3),  # the prompt just fits
    ((9, 1, 0, 2, 1), 2, 2, 6),  # a model that sees one token
    ((11, 40, 2, 3, 1), 2, 33, 12),
    ((11, 1024, 2, 3, 1), 1, 1030, 2),  # GPT-2's block
)(_certain)


@each(
    ("wrong_frequencies", _ANYTHING),
    ("other_defaults", None),  # only now: whoever draws wrongly with the defaults written out has another mistake
    *(("temperature_ignored", {"temperature": 0.5}), ("temperature_ignored", {"temperature": 3.0})),
    *(("top_k_ignored", {"top_k": 2}), ("top_p_ignored", {"top_p": 0.6})),
    ("wrong_frequencies", {"temperature": 2.0, "top_k": 4, "top_p": 0.7}),
)
def _shares(student: Student, symptom: str, how: dict[str, Any] | None) -> None:
    """Ask for each transition of 1,200 rows or more as often as it should be, up to six standard deviations.

    A right answer fails with a probability below 1e-6, whatever its way of sampling.
    """
    order = shuffled([*range(5)])
    table, rows = torch.tensor(_TABLE)[order][:, order], (torch.arange(1200 if how else 6000) % 5)[:, None]
    message = f"with {', '.join(f'{name} = {value}' for name, value in how.items())}" if how else "without options"
    options = {"generator": 17, **how} if how else {"generator": None}
    model = call_probe(student, _PROBES, "Draws", table, 8, keep=True)
    got = _generated(student, model, rows, 2, f"{message}, for {len(rows):,} rows", **options)["value"].long()
    refuse(not ((got >= 0) & (got < 5)).all(), "", "There are ids outside the vocabulary.")
    counts = torch.bincount((got[:, :-1] * 5 + got[:, 1:]).flatten(), minlength=25).view(5, 5)
    probs = next_token_distribution(table, **(how or {}))
    if counts[probs == 0].any():
        raise ValuesDiffer(f"Tokens are drawn {message} that this excludes.", symptom)
    expected = counts.sum(1, keepdim=True) * probs
    wrong = ((counts - expected).abs() > 6 * (expected * (1 - probs)).sqrt() + 5).any()
    if wrong:
        raise ValuesDiffer(f"The new tokens are not drawn as often as they should be {message}.", symptom)


def _drawn(student: Student) -> None:
    _shares(student)
    for generator, symptom in ((17, "wrong_frequencies"), (None, "other_defaults")):
        with student.case():  # fewer than 200 of 300 by chance: below 1e-6
            model = call_probe(student, _PROBES, "Draws", torch.linspace(0, 0.01, 300).repeat(300, 1), 8, keep=True)
            got = _generated(student, model, torch.zeros(600, 1).long(), 1, "for 300 tokens", generator)["value"]
            message = "Of 300 tokens, about equally likely, some are never drawn: without top_k and top_p each may be."
            refuse(len(got[:, 1].unique()) < 200, symptom, message)


def _rows(student: Student) -> None:
    model = call_probe(student, _PROBES, "Draws", torch.zeros(9, 9), 50, keep=True)
    got = _generated(student, model, torch.full((5, 3), *other_ids([4], 9)), 20, "for equal prompts", 23)["value"]
    refuse(len({tuple(row) for row in got.tolist()}) < 5, "rows_alike")  # by chance once in 9 ** 20 / 10


@each(*((training, new) for training in (True, False) for new in (4, 1)))
def _modes(student: Student, training: bool, new: int) -> None:
    message = f"for a model in {'training' if training else 'eval'} mode"
    answer = _certain(student, (11, 6, 2, 3, 1), 2, 3, new, None, message, training)
    for position, name in enumerate(("training_mode", "training_flag", "gradients_on"), 1):
        refuse(any(call[position] for call in answer["calls"]), name)
    refuse(not answer["gradients_on"], "gradients_off_for_good")
    refuse(answer["afterwards"] != [training, training], "mode_not_restored")


def _chance(student: Student) -> None:
    ids, where = torch.tensor([[1, 2], [3, 4]]), "when all tokens are equally likely"
    model = call_probe(student, _PROBES, "Draws", torch.zeros(9, 9), 50, keep=True)

    def text(generator: Kept) -> list:  # two texts of 2 × 30 tokens agree by chance once in 9 ** 60
        answer = _generated(student, model, ids, 30, where, generator)
        refuse(answer["rng_moved"], "global_generator")
        return answer["value"].tolist()

    from_the_generator_alone(student, "generate", text, "text")


def _side_effects(student: Student) -> None:
    rule = (11, 6, 2, 3, 1)
    for T, new in ((4, 0), (9, 0), (1, 0), (8, 3)):
        with student.case():
            answer = _certain(student, rule, 3, T, new)
            unchanged(answer["inputs"][:1], [answer["ids"]], "ids")
            same_tensor(answer["value"], answer["expected"], "The result", f"for T = {T} and max_new_tokens = {new}")
            refuse(answer["afterwards"] != [True, True], "mode_not_restored")
    model = call_probe(student, _PROBES, "Follows", *rule, keep=True)
    args = [model, (normal(2, 3).abs() * 1000).long() % 11]
    try:
        device_is_kept(
            student,
            "generate",
            args,
            lambda: {"max_new_tokens": 5, **_ANYTHING, "generator": their_generator(student, 3)},
        )
    finally:
        call_probe(student, _PROBES, "gradients_back")


EXERCISE = Exercise(
    Check("the prompt, then one token after the other", 1.5, _one_by_one),
    Check("the context cropped to block_size", 1.0, _cropped, dependent=True),
    Check("drawn with temperature, top_k and top_p", 0.75, _drawn, dependent=True),
    Check("each row draws its own", 0.25, _rows, dependent=True),
    Check("eval mode, no gradients, the earlier mode restored", 0.75, _modes, dependent=True),
    Check("chance comes from the generator alone", 0.5, _chance, dependent=True),
    Check("no new token; prompt unchanged, device", 0.25, _side_effects, dependent=True),
    takes="other",
    gives="tensor",
    harmless=("gradient_cut_off", "single_precision", "single_precision_inside", "other_signature"),
)
