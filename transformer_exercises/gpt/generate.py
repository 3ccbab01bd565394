"""`generate`: models whose next token is certain, cropped contexts, shares over 1,200 rows, modes, the generator.

The mistakes: contexts not cropped or not updated, options ignored, training mode or gradients left on, chance misused.
"""

from __future__ import annotations

from typing import Any

import torch

from autograder.spec.compare import same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import device_is_kept, normal, their_generator
from autograder.spec.student import Student

from .common import ids_of_shape

next_token_distribution = reference("next_token_distribution")

# Models for generate, in the student's process. The first makes each next token certain: it depends on the first and on
# the last token that the model can see. Both note how they were called.
_MODELS = """
from types import SimpleNamespace

class Noting(nn.Module):
    def __init__(self, V, block_size):
        super().__init__()
        self.config = SimpleNamespace(vocab_size=V, block_size=block_size, n_layer=1, n_head=1, n_embd=1, dropout=0.5)
        self.anchor = nn.Parameter(torch.zeros(()))
        self.inner = nn.Dropout(0.5)
        self.notes = []

    def note(self, ids):
        self.notes.append([ids.shape[-1], self.training, self.inner.training, torch.is_grad_enabled()])

class Follows(Noting):
    def __init__(self, V, block_size, first, last, offset):
        super().__init__(V, block_size)
        self.rule = first, last, offset

    def forward(self, ids, targets=None):
        self.note(ids)
        first, last, offset = self.rule
        V = self.config.vocab_size
        following = (first * ids[:, :1] + last * ids + offset) % V
        return 1e4 * nn.functional.one_hot(following, V) + self.anchor, None

class Draws(Noting):
    def __init__(self, logits, block_size):
        super().__init__(logits.shape[-1], block_size)
        self.table = nn.Parameter(logits.clone())

    def forward(self, ids, targets=None):
        self.note(ids)
        return self.table[ids], None

def follows(V, block_size, first, last, offset):
    return Follows(V, block_size, first, last, offset)

def draws(logits, block_size):
    return Draws(logits, block_size)
"""

_NOTES = """
def notes(model):
    return {"calls": list(model.notes), "afterwards": [model.training, model.inner.training]}
"""

_MODE = """
def mode(model, training):
    model.train(training)
"""

_GRADIENTS_BACK = """
def gradients_back():
    on = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    return on
"""

_ANYTHING = {"temperature": 1.0, "top_k": None, "top_p": None}


def _generated(
    student: Student, model: Any, ids: torch.Tensor, new: int, seed: int, where: str, generator: Any = None, **how: Any
) -> dict:
    """The answer to a call, with all arguments by name; its "value" is [B, T + new] and begins with the prompt."""
    kwargs = {"max_new_tokens": new, **_ANYTHING, **how, "generator": generator or their_generator(student, seed)}
    try:
        answer = student.call("generate", [model, ids], kwargs, where=where)
    finally:  # whoever leaves gradients off is told so once, by _generate_modes
        gradients_on = student.value(student.probe("gradients_back", _GRADIENTS_BACK))
    answer["gradients_on"] = gradients_on
    got = ids_of_shape(answer["value"], "The result", (ids.shape[0], ids.shape[1] + new), where)
    if not torch.equal(got[:, : ids.shape[1]].long(), ids):
        raise Wrong(f"The result should begin with the prompt, unchanged, {where}.", "prompt_changed")
    return answer


def _by_default(student: Student, model: Any, ids: torch.Tensor, new: int, where: str) -> torch.Tensor:
    """The ids of a call that names no option, no generator either: then torch's global one is the source of chance."""
    try:
        answer = student.call("generate", [model, ids, new], where=where)
    finally:
        student.value(student.probe("gradients_back", _GRADIENTS_BACK))
    got = ids_of_shape(answer["value"], "The result", (ids.shape[0], ids.shape[1] + new), where)
    if not answer["rng_moved"]:
        raise Wrong(
            f"Chance does not come from torch's global generator {where}: with generator=None it should, so that two calls "
            "give two texts.",
            "own_seed_without_generator",
        )
    return got.long()


def _continuation(rule: tuple[int, ...], ids: torch.Tensor, new: int) -> torch.Tensor:
    """What Follows makes certain."""
    V, block_size, first, last, offset = rule
    for _ in range(new):
        seen = ids[:, -block_size:]
        ids = torch.cat([ids, (first * seen[:, :1] + last * seen[:, -1:] + offset) % V], 1)
    return ids


def _prompt(B: int, T: int, V: int) -> torch.Tensor:
    return (normal(B, T).abs() * 1000).long() % V


def _certain(student: Student, rule: tuple[int, ...], B: int, T: int, new: int, **how: Any) -> None:
    where = f"for B = {B}, T = {T}, max_new_tokens = {new}, block_size = {rule[1]}, when each next token is certain"
    model = student.call(student.probe("follows", _MODELS), list(rule), keep=True)["value"]
    ids = _prompt(B, T, rule[0])
    got = _generated(student, model, ids, new, 3, where, **how)["value"]
    longest = max([call[0] for call in student.value(student.probe("notes", _NOTES), model)["calls"]], default=0)
    if longest > rule[1]:
        raise Wrong(
            f"The model was given more than block_size tokens {where}: pass it only the last block_size of them.",
            "not_cropped",
        )
    if not torch.equal(got.long(), _continuation(rule, ids, new)):
        raise ValuesDiffer(
            f"The new tokens are not those that the model makes certain {where}: each is drawn from the logits of the "
            "last position, and appended before the next is asked for."
        )


_TABLE = [
    [2.0, 0.5, -1.0, 1.2, 0.0],
    [0.3, 2.2, 1.1, -0.7, 0.8],
    [-0.5, 0.6, 1.9, 0.1, 1.4],
    [1.0, -1.2, 0.4, 0.9, 2.1],
    [0.7, 1.8, 0.0, 1.3, -0.9],
]


def _generate_certain(student: Student) -> None:
    for rule, B, T, new, how in (
        ((11, 40, 0, 3, 1), 1, 4, 6, {}),
        ((7, 30, 2, 3, 1), 3, 5, 9, {"temperature": 0.8}),
        ((13, 25, 1, 5, 2), 2, 1, 12, {"temperature": 0}),
        ((9, 20, 3, 1, 4), 3, 3, 1, {"top_k": 4}),
        ((17, 32, 1, 1, 1), 2, 6, 4, {"top_p": 0.9, "temperature": 1.3}),
    ):
        with student.case():
            _certain(student, rule, B, T, new, **how)


def _generate_cropped(student: Student) -> None:
    for rule, B, T, new in (
        ((11, 5, 2, 3, 1), 2, 3, 9),  # the prompt fits, the text outgrows the block
        ((7, 4, 1, 2, 1), 3, 9, 5),  # the prompt is too long already
        ((13, 6, 3, 1, 2), 1, 6, 3),  # the prompt just fits
        ((9, 1, 0, 2, 1), 2, 2, 6),  # a model that sees one token
        ((11, 40, 2, 3, 1), 2, 33, 12),
        ((11, 1024, 2, 3, 1), 1, 1030, 2),  # GPT-2's block
    ):
        with student.case():
            _certain(student, rule, B, T, new)


def _generate_drawn(student: Student) -> None:
    """Each transition of 1,200 rows or more as often as it should be, up to six standard deviations and a little.

    A right answer fails with a probability below 1e-6, whatever its way of sampling.
    """
    table = torch.tensor(_TABLE)
    for how, said, symptom in (
        (None, "without options", "other_defaults"),
        ({}, "with temperature = 1", "wrong_frequencies"),
        ({"temperature": 0.5}, "with temperature = 0.5", "temperature_ignored"),
        ({"temperature": 3.0}, "with temperature = 3", "temperature_ignored"),
        ({"top_k": 2}, "with top_k = 2", "top_k_ignored"),
        ({"top_p": 0.6}, "with top_p = 0.6", "top_p_ignored"),
        (
            {"temperature": 2.0, "top_k": 4, "top_p": 0.7},
            "with temperature = 2, top_k = 4 and top_p = 0.7",
            "wrong_frequencies",
        ),
    ):
        with student.case():
            model = student.call(student.probe("draws", _MODELS), [table, 8], keep=True)["value"]
            ids = (torch.arange(1200) % 5)[:, None]
            if how is None:
                got = _by_default(student, model, ids.repeat(5, 1), 2, f"{said}, for 6,000 rows")
            else:
                got = _generated(student, model, ids, 2, 17, f"{said}, for 1,200 rows", **how)["value"].long()
            if not ((got >= 0) & (got < 5)).all():
                raise Wrong("There are ids outside the vocabulary.")
            pairs = torch.stack([got[:, :-1].flatten(), got[:, 1:].flatten()])
            counts = torch.bincount(pairs[0] * 5 + pairs[1], minlength=25).view(5, 5)
            probs = next_token_distribution(table, **(how or {}))
            if counts[probs == 0].any():
                raise Wrong(f"Tokens are drawn {said} that this excludes.", symptom)
            expected = counts.sum(1, keepdim=True) * probs
            if ((counts - expected).abs() > 6 * (expected * (1 - probs)).sqrt() + 5).any():
                raise Wrong(f"The new tokens are not drawn as often as they should be {said}.", symptom)


def _generate_rows(student: Student) -> None:
    model = student.call(student.probe("draws", _MODELS), [torch.zeros(9, 9), 50], keep=True)["value"]
    got = _generated(student, model, torch.full((5, 3), 4), 20, 23, "for equal prompts")["value"]
    if len({tuple(row) for row in got.tolist()}) < 5:  # by chance once in 9 ** 20 / 10
        raise Wrong("Rows with equal prompts get equal texts: each row draws its own tokens.", "rows_alike")


def _generate_modes(student: Student) -> None:
    for training in (True, False):
        for new in (4, 1):
            with student.case():
                said = "training" if training else "eval"
                rule = (11, 6, 2, 3, 1)
                model = student.call(student.probe("follows", _MODELS), list(rule), keep=True)["value"]
                student.call(student.probe("mode", _MODE), [model, training])
                ids = _prompt(2, 3, 11)
                answer = _generated(student, model, ids, new, 3, f"for a model in {said} mode")
                got = answer["value"]
                if not torch.equal(got.long(), _continuation(rule, ids, new)):
                    raise ValuesDiffer("The new tokens are not those that the model makes certain.")
                notes = student.value(student.probe("notes", _NOTES), model)
                if any(call[1] for call in notes["calls"]):
                    raise Wrong(
                        "The model is in training mode while it generates, so dropout is at work: call model.eval() "
                        "first.",
                        "training_mode",
                    )
                if any(call[2] for call in notes["calls"]):
                    raise Wrong(
                        "Parts of the model are still in training mode while it generates: model.eval() reaches all "
                        "of them, setting `model.training` does not.",
                        "training_flag",
                    )
                if any(call[3] for call in notes["calls"]):
                    raise Wrong(
                        "Gradients are recorded while generating, so each token makes the graph longer: "
                        "torch.no_grad().",
                        "gradients_on",
                    )
                if not answer["gradients_on"]:
                    raise Wrong(
                        "Gradients stay switched off after the call, so nothing can be trained any more: `with "
                        "torch.no_grad():` switches them back on.",
                        "gradients_off_for_good",
                    )
                if notes["afterwards"] != [training, training]:
                    raise Wrong(
                        f"The model was in {said} mode before the call and is not afterwards: remember "
                        "`model.training` and go back with model.train(…).",
                        "mode_not_restored",
                    )


def _generate_chance(student: Student) -> None:
    texts = []  # two texts of 2 × 30 tokens agree by chance once in 9 ** 60
    ids, where = torch.tensor([[1, 2], [3, 4]]), "when all tokens are equally likely"
    model = student.call(student.probe("draws", _MODELS), [torch.zeros(9, 9), 50], keep=True)["value"]
    for seed in (11, 11, 12, 13):
        answer = _generated(student, model, ids, 30, seed, where)
        texts.append(answer["value"].tolist())
        if answer["rng_moved"]:
            raise Wrong(
                "Your code draws from the global random generator: pass `generator=generator` on to the sampling, and "
                "seed nothing.",
                "global_generator",
            )
    if texts[0] != texts[1]:
        raise Wrong(
            "Two generators with the same seed give different texts: some chance comes from elsewhere (`random`, "
            "NumPy).",
            "other_source",
        )
    if texts[0] == texts[2] == texts[3]:
        raise Wrong(
            "Generators with different seeds give the same text: is the generator not used, or seeded anew inside?",
            "generator_ignored",
        )
    generator = their_generator(student, 11)
    first, second = (_generated(student, model, ids, 30, 0, where, generator)["value"].tolist() for _ in range(2))
    if first == second:
        raise Wrong(
            "Two calls with one generator give the same text: draw from the generator that is passed, do not seed it "
            "(or another) anew.",
            "seeded_anew",
        )


def _generate_manners(student: Student) -> None:
    rule = (11, 6, 2, 3, 1)
    for T, new in ((4, 0), (9, 0), (1, 0), (8, 3)):
        with student.case():
            where = f"for T = {T} and max_new_tokens = {new}"
            model = student.call(student.probe("follows", _MODELS), list(rule), keep=True)["value"]
            ids = _prompt(3, T, 11)
            answer = _generated(student, model, ids, new, 3, where)
            unchanged(answer["inputs"][:1], [ids], "ids")
            same_tensor(answer["value"], _continuation(rule, ids, new), "The result", where)
            notes = student.value(student.probe("notes", _NOTES), model)
            if notes["afterwards"] != [True, True]:
                raise Wrong(
                    f"The model was in training mode before the call and is not afterwards {where}.",
                    "mode_not_restored",
                )
    model = student.call(student.probe("follows", _MODELS), list(rule), keep=True)["value"]
    kwargs = {"max_new_tokens": 5, **_ANYTHING, "generator": their_generator(student, 3)}
    try:
        device_is_kept(student, "generate", [model, _prompt(2, 3, 11)], kwargs)
    finally:
        student.value(student.probe("gradients_back", _GRADIENTS_BACK))


EXERCISE = Exercise(
    points=5,
    checks=[
        Check("the prompt, then one token after the other", 1.5, _generate_certain),
        Check("the context cropped to block_size", 1.0, _generate_cropped),
        Check("drawn with temperature, top_k and top_p", 0.75, _generate_drawn),
        Check("each row draws its own", 0.25, _generate_rows, further=True),
        Check("eval mode, no gradients, the earlier mode restored", 0.75, _generate_modes),
        Check("chance comes from the generator alone", 0.5, _generate_chance, further=True),
        Check("no new token; prompt unchanged, device", 0.25, _generate_manners, further=True),
    ],
    working=r"""
import torch

def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, generator=None):
    training = model.training
    model.eval()
    with torch.inference_mode():
        for _ in range(max_new_tokens):
            logits = model(ids[:, -model.config.block_size :])[0][:, -1]
            if temperature == 0:
                new = logits.argmax(-1, keepdim=True)
            else:
                probs, order = torch.softmax(logits / temperature, -1).sort(-1, descending=True)
                if top_k is not None:
                    probs[:, top_k:] = 0
                    probs = probs / probs.sum(-1, keepdim=True)
                if top_p is not None:
                    probs[probs.cumsum(-1) - probs >= top_p] = 0
                new = order.gather(-1, torch.multinomial(probs, 1, generator=generator))
            ids = torch.cat([ids, new], 1)
    model.train(training)
    return ids.clone()
""",
    gives="tensor",
)
