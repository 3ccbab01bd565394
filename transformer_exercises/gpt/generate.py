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
    slips=(
        "nothing_returned",
        "double_precision",
        "squeezed",
        "rounded",
        "list_returned",
        "array_returned",
        "global_generator",
    ),
    wrong=r"""
not_cropped: The whole text is given to the model, which has positions for block_size tokens only: crop the context to the last block_size.
- context = ids[:, -model.config.block_size :] => context = ids
- context = ids[:, -model.config.block_size :] => context = ids[:, -model.config.block_size - 1 :]
- context = ids[:, -model.config.block_size :] => context = ids if ids.shape[1] <= 2 * model.config.block_size else ids[:, -model.config.block_size :]
cropped_at_the_wrong_end: The context is the first block_size tokens, so the newest ones are never seen: take the last.
- context = ids[:, -model.config.block_size :] => context = ids[:, : model.config.block_size]
cropped_too_short (slip): The context is shorter than it could be: the model can see block_size tokens.
- context = ids[:, -model.config.block_size :] => context = ids[:, -max(model.config.block_size - 1, 1) :]
- context = ids[:, -model.config.block_size :] => context = ids[:, -(model.config.block_size // 2 + 1) :]
- context = ids[:, -model.config.block_size :] => context = ids[:, -8:] if model.config.block_size > 8 else ids[:, -model.config.block_size :]
- context = ids[:, -model.config.block_size :] => context = ids[:, 1 - model.config.block_size :]
- context = ids[:, -model.config.block_size :] => context = ids[:, -min(model.config.block_size, 256) :]
text_cropped (slip): The text itself is cropped: only the model's context is, the result keeps the whole prompt and all new tokens.
- return ids => return ids[:, -model.config.block_size :]
- context = ids[:, -model.config.block_size :] => ids = ids[:, -model.config.block_size :]
  model(context) => model(ids)
last_token_only: The model is given only the last token each time: it has no memory, so give it the whole context.
- context = ids[:, -model.config.block_size :] => context = ids[:, -1:]
context_not_updated: The model always sees the prompt alone: each new token belongs to the context of the next.
- in cropped_at_the_wrong_end
  model.eval() =>
      model.eval()  # no dropout
      context = ids[:, -model.config.block_size :]
  context = ids[:, : model.config.block_size] => pass
first_position: The logits of the wrong position are used: the next token follows the last one, so `logits[:, -1]`.
- logits[:, -1] => logits[:, 0] || logits[:, max(logits.shape[1] - 2, 0)] || logits.mean(dim=1)
second_to_last_position (slip): `logits[:, -2]` is the position before the last: the next token follows the last one, `logits[:, -1]`.
- logits[:, -1] => logits[:, -2]
last_row: `logits[-1]` is the last row of the batch: the last position of every row is `logits[:, -1]`.
- logits[:, -1] => logits[-1]
first_row_only: Only the first row of the batch is continued (or all rows get its token): every row has logits of its own.
- logits[:, -1] => logits[:1, -1].expand(len(ids), -1)
- logits[:, -1] => logits[0, -1]
  probs, num_samples=1, generator=generator) => probs, num_samples=1, generator=generator).expand(len(ids), 1)
- |
  ids = ids[:1]
  was_training = model.training
  model.eval()  # no dropout
  for _ in range(max_new_tokens):
      context = ids[:, -model.config.block_size :]  # (B, up to block_size): older tokens have no position
      logits, _ = model(context)  # (B, up to block_size, V)
      probs = next_token_distribution(logits[0, -1], temperature, top_k, top_p)  # (B, V): the last position only
      next_ids = torch.multinomial(probs, num_samples=1, generator=generator)  # (B, 1): each row draws its own
      ids = torch.cat([ids, next_ids[None]], dim=1)  # (B, T + 1): a new tensor, the prompt stays as it was
  model.train(was_training)
  return ids
- next_ids = torch.multinomial(probs, num_samples=1, generator=generator) => next_ids = torch.tensor([[torch.multinomial(probs[0], 1, generator=generator).item()]])
rows_alike: All rows get the same random number, so rows with equal prompts get equal texts: each row draws its own token.
- next_ids = torch.multinomial(probs, num_samples=1, generator=generator) =>
      u = torch.rand((), generator=generator)
      next_ids = (probs.cumsum(-1) < u).sum(-1, keepdim=True).clamp(max=probs.shape[-1] - 1)
prompt_left_out (slip): Only the new tokens are returned: the prompt comes first.
- |
  T = ids.shape[1]
  was_training = model.training
  model.eval()  # no dropout
  for _ in range(max_new_tokens):
      context = ids[:, -model.config.block_size :]  # (B, up to block_size): older tokens have no position
      logits, _ = model(context)  # (B, up to block_size, V)
      probs = next_token_distribution(logits[:, -1], temperature, top_k, top_p)  # (B, V): the last position only
      next_ids = torch.multinomial(probs, num_samples=1, generator=generator)  # (B, 1): each row draws its own
      ids = torch.cat([ids, next_ids], dim=1)  # (B, T + 1): a new tensor, the prompt stays as it was
  model.train(was_training)
  return ids[:, T:]
new_tokens_in_front (slip): The new tokens are put in front of the text: append them at the end.
- ids = torch.cat([ids, next_ids], dim=1) => ids = torch.cat([next_ids, ids], dim=1)
stacked_as_rows (slip): The new tokens are appended as rows: the text grows along the second dimension, dim=1.
- ids = torch.cat([ids, next_ids], dim=1) => ids = torch.cat([ids, next_ids], dim=0)
one_too_few (slip): One token too few is made: max_new_tokens of them.
- range(max_new_tokens) => range(max_new_tokens - 1)
one_too_many (slip): One token too many is made: max_new_tokens of them.
- range(max_new_tokens) => range(max_new_tokens + 1)
length_in_all (slip): The prompt is counted among max_new_tokens: that many tokens are *added*.
- for _ in range(max_new_tokens): => while ids.shape[1] < max_new_tokens:
length_limited: The text stops growing at block_size: only the context is cropped, the text may become longer.
- for _ in range(max_new_tokens): => for _ in range(min(max_new_tokens, model.config.block_size - ids.shape[1])):
returns_too_early (slip): The `return` stands inside the loop, so only one token is made.
- ids = torch.cat([ids, next_ids], dim=1) =>
      ids = torch.cat([ids, next_ids], dim=1)
      model.train(was_training)
      return ids
stops_at_zero: Generation stops at a certain token: there is no end token here, max_new_tokens are asked for.
- ids = torch.cat([ids, next_ids], dim=1) =>
      ids = torch.cat([ids, next_ids], dim=1)
      if (next_ids == 0).all():
          break
- ids = torch.cat([ids, next_ids], dim=1) =>
      ids = torch.cat([ids, next_ids], dim=1)
      if (next_ids == 0).any():
          break
greedy: The likeliest token is always taken (argmax): draw from the distribution; temperature 0 gives the greedy choice.
- next_ids = torch.multinomial(probs, num_samples=1, generator=generator) => next_ids = probs.argmax(dim=-1, keepdim=True)
uniform: All tokens that are left are drawn alike: their probabilities decide.
- probs = next_token_distribution(logits[:, -1], temperature, top_k, top_p) =>
      probs = next_token_distribution(logits[:, -1], temperature, top_k, top_p)
      probs = (probs > 0).float()
softmax_twice: The probabilities go through a softmax once more, which flattens them: next_token_distribution returns probabilities already.
- probs = next_token_distribution(logits[:, -1], temperature, top_k, top_p) =>
      probs = next_token_distribution(logits[:, -1], temperature, top_k, top_p)
      probs = torch.softmax(probs, dim=-1)
- probs = next_token_distribution(logits[:, -1], temperature, top_k, top_p) => probs = next_token_distribution(torch.softmax(logits[:, -1], dim=-1), temperature, top_k, top_p)
logits_drawn_from: torch.multinomial is given logits: it takes probabilities.
- probs = next_token_distribution(logits[:, -1], temperature, top_k, top_p) => probs = logits[:, -1] || probs = logits[:, -1].log_softmax(dim=-1)
- probs = next_token_distribution(logits[:, -1], temperature, top_k, top_p) => probs = logits[:, -1].clamp(min=0)
temperature_ignored: The temperature is not passed on.
- (logits[:, -1], temperature, top_k, top_p) => (logits[:, -1], 1.0, top_k, top_p)
temperature_twice: The temperature is applied twice: next_token_distribution divides by it already.
- probs = next_token_distribution(logits[:, -1], temperature, top_k, top_p) => probs = next_token_distribution(logits[:, -1] / (temperature or 1.0), temperature, top_k, top_p)
temperature_zero_divided (slip): The logits are divided by the temperature here as well, and temperature 0 divides by zero: next_token_distribution takes
    care of it.
- probs = next_token_distribution(logits[:, -1], temperature, top_k, top_p) => probs = next_token_distribution(logits[:, -1] / temperature, 1.0, top_k, top_p)
top_k_ignored: top_k is not passed on to next_token_distribution.
- temperature, top_k, top_p) => temperature, None, top_p)
top_p_ignored: top_p is not passed on to next_token_distribution.
- temperature, top_k, top_p) => temperature, top_k)
top_k_and_top_p_ignored: top_k and top_p are not passed on.
- temperature, top_k, top_p) => temperature)
all_ignored: Temperature, top_k and top_p are not passed on: next_token_distribution needs them.
- logits[:, -1], temperature, top_k, top_p => logits[:, -1]
arguments_mixed_up (slip): The arguments of next_token_distribution are in another order: logits, temperature, top_k, top_p.
- temperature, top_k, top_p) => temperature, top_p, top_k) || top_k, top_p, temperature)
training_mode: The model stays in training mode while it generates, so dropout is at work: call model.eval() first.
- was_training = model.training =>
  model.eval() =>
  model.train(was_training) =>
mode_not_restored: The model is in another mode after the call than before: remember `model.training` before eval() and go back with model.train(…).
- model.train(was_training) =>
always_training_afterwards: The model is always put into training mode in the end, also if it was in eval mode before: remember `model.training`.
- model.train(was_training) => model.train()
mode_inverted: The earlier mode is restored the wrong way round.
- model.train(was_training) => model.train(not was_training)
training_flag: Only the flag of the outermost module is set (`model.training = False`), so the dropout layers inside stay in training mode:
    model.eval() and model.train(…) reach all parts.
- model.eval() => model.training = False
  model.train(was_training) => model.training = was_training
eval_once_only: The mode changes inside the loop, so that some tokens are made in training mode: eval() before the loop, back after it.
- model.train(was_training) =>
  ids = torch.cat([ids, next_ids], dim=1) =>
      ids = torch.cat([ids, next_ids], dim=1)
      model.train(was_training)
gradients_on: Gradients are recorded while generating, so every token makes the graph longer: torch.no_grad().
- @torch.no_grad()  # nothing is trained here: keep no graph =>
gradients_off_for_good: torch.set_grad_enabled(False) stays in force after the call, so nothing can be trained any more: `with torch.no_grad():` (or
    the decorator) switches gradients back on.
- in prompt_left_out
  @torch.no_grad() =>
  T = ids.shape[1] => torch.set_grad_enabled(False)
  return ids[:, T:] => return ids
defaults_left_out (slip): The options have no defaults any more, so `generate(model, ids, 20)` fails: leave the signature as it is.
- temperature=1.0, top_k=None, top_p=None, generator=None => temperature, top_k, top_p, generator
other_defaults (slip): Without options something else is drawn from than the model's own distribution: the defaults are temperature 1, and no top_k and
    no top_p.
- temperature=1.0, => temperature=0.7,
- top_k=None, => top_k=3,
own_seed_without_generator: Without a generator one is made with a fixed seed, so that every call gives the same text: hand on None, and torch draws from
    its global one.
- model.eval()  # no dropout =>
      model.eval()
      generator = torch.Generator().manual_seed(0) if generator is None else generator
other_source: Chance comes from elsewhere (`random`, NumPy), so the generator decides nothing: torch.multinomial with generator=generator.
- next_ids = torch.multinomial(probs, num_samples=1, generator=generator) => next_ids = torch.tensor([__import__('random').choices(range(probs.shape[1]), p)[0] for p in probs.tolist()])[:, None]
- next_ids = torch.multinomial(probs, num_samples=1, generator=generator) => next_ids = torch.tensor([__import__('numpy').random.choice(probs.shape[1], p=[q / sum(p) for q in p]) for p in probs.tolist()])[:, None]
generator_ignored: A generator of its own, with a fixed seed, is used: the one that is passed decides.
- in prompt_left_out
  T = ids.shape[1] => generator = torch.Generator().manual_seed(0)
  [:, T:] =>
- in prompt_left_out
  T = ids.shape[1] => generator.manual_seed(0)
  [:, T:] =>
- in prompt_left_out
  T = ids.shape[1] => generator.manual_seed(42)
  [:, T:] =>
seeded_each_step: The generator is seeded anew before each token: draw from it as it comes.
- next_ids = torch.multinomial(probs, num_samples=1, generator=generator) =>
      generator.manual_seed(0)
      next_ids = torch.multinomial(probs, num_samples=1, generator=generator)
- next_ids = torch.multinomial(probs, num_samples=1, generator=generator) =>
      generator.manual_seed(generator.initial_seed())
      next_ids = torch.multinomial(probs, num_samples=1, generator=generator)
- next_ids = torch.multinomial(probs, num_samples=1, generator=generator) =>
      generator.manual_seed(42)
      next_ids = torch.multinomial(probs, num_samples=1, generator=generator)
pair_not_unpacked (missed): The model returns the pair (logits, loss): take the logits out of it, they are the first.
- logits, _ = model(context) => logits = model(context)
dimension_lost (missed): The new tokens have shape (B,): torch.cat needs (B, 1), so keep the dimension.
- next_ids = torch.multinomial(probs, num_samples=1, generator=generator) => next_ids = torch.multinomial(probs, num_samples=1, generator=generator).squeeze(-1)
one_row_only: The text comes back without its batch dimension: [B, T + max_new_tokens] is asked for.
- return ids => return ids[0] || return ids.squeeze(0)
list_returned: A list is returned: a tensor [B, T + max_new_tokens] is asked for.
- return ids => return ids.tolist()
floats (slip): The ids are floats: whole numbers are asked for.
- return ids => return ids.float()
logits_returned (missed): Something else than the ids is returned: the text [B, T + max_new_tokens] alone is asked for.
- return ids => return ids, was_training || return next_ids if max_new_tokens else ids
prompt_changed: The prompt itself is changed: its tokens come back as they were, and the caller's tensor stays as it is.
- ids = torch.cat([ids, next_ids], dim=1) =>
      ids[:, -1:] = next_ids
      ids = torch.cat([ids, next_ids], dim=1)
- ids = torch.cat([ids, next_ids], dim=1) => ids = torch.cat([ids[:, 1:], next_ids, next_ids], dim=1)
input_changed: The caller's prompt is changed in place: make a new tensor (torch.cat does).
- in prompt_left_out
  T = ids.shape[1] =>
      given = ids
      ids = ids.clone()
  return ids[:, T:] =>
      given.zero_()
      return ids
- in prompt_left_out
  T = ids.shape[1] => given = ids
  return ids[:, T:] =>
      given.resize_(ids.shape).copy_(ids)
      return given
nothing_to_do: For max_new_tokens = 0 the call fails or gives something else: the prompt itself comes back.
- return ids => return ids if max_new_tokens else None || return ids if next_ids is not None else ids
- in generator_ignored
  generator = torch.Generator().manual_seed(0) => assert max_new_tokens > 0
- in generator_ignored
  generator = torch.Generator().manual_seed(0) =>
      if max_new_tokens < 1:
          raise ValueError('max_new_tokens')
block_size_of_the_model (missed): The model keeps its sizes in `model.config`: model.config.block_size.
- context = ids[:, -model.config.block_size :] => context = ids[:, -model.block_size :] || context = ids[:, -config.block_size :]
device_not_kept: The result does not stay on the device of the prompt: a tensor is made without `device=…`.
- ids = torch.cat([ids, next_ids], dim=1) =>
      longer = torch.zeros(ids.shape[0], ids.shape[1] + 1, dtype=ids.dtype)
      longer[:, :-1] = ids
      longer[:, -1:] = next_ids
      ids = longer
global_generator:
- num_samples=1, generator=generator => num_samples=1
- in generator_ignored
  = torch.Generator().manual_seed(0 => .manual_seed(generator.initial_seed()
rounded (missed):
""",
    right=r"""
context_manager:
- |
  def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, generator=None):
      mode = model.training
      model.eval()
      try:
          with torch.no_grad():
              while max_new_tokens > 0:
                  size = model.config.block_size
                  x = ids if ids.size(1) <= size else ids[:, -size:]
                  p = next_token_distribution(model(x)[0][:, -1, :], temperature=temperature, top_k=top_k, top_p=top_p)
                  ids = torch.cat((ids, torch.multinomial(p, 1, generator=generator)), dim=-1)
                  max_new_tokens -= 1
      finally:
          model.train(mode)
      return ids
buffer:
- |
  B, T = ids.shape
  modes = {name: module.training for name, module in model.named_modules()}
  model.eval()
  text = ids.new_zeros(B, T + max_new_tokens)
  text[:, :T] = ids
  for t in range(T, T + max_new_tokens):
      logits, loss = model(text[:, max(0, t - model.config.block_size) : t])
      probs = next_token_distribution(logits[:, -1], temperature, top_k, top_p)
      text[:, t] = torch.multinomial(probs, 1, generator=generator).squeeze(1)
  for name, module in model.named_modules():
      module.training = modes[name]
  return text
race:
- |
  before = model.training
  model.train(False)
  new = [ids]
  for _ in range(max_new_tokens):
      logits = model(torch.cat(new, 1)[:, -model.config.block_size :])[0]
      probs = next_token_distribution(logits, temperature, top_k, top_p)[:, -1]
      clocks = torch.empty_like(probs).exponential_(generator=generator)
      new.append((probs / clocks).argmax(-1, keepdim=True))
  if before:
      model.train()
  return torch.cat(new, 1)
recursion:
- |
  import torch

  def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, generator=None):
      if max_new_tokens == 0:
          return ids
      training = model.training
      model.eval()
      with torch.inference_mode():
          logits = model(ids[:, -model.config.block_size :])[0]
      model.train(training)
      probs = next_token_distribution(logits[:, -1].clone(), temperature, top_k, top_p)
      ids = torch.cat([ids, torch.multinomial(probs, 1, generator=generator)], 1)
      return generate(model, ids, max_new_tokens - 1, temperature, top_k, top_p, generator)
""",
)
