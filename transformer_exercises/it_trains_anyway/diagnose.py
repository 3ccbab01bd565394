"""`diagnose`: some thirty small models, sound ones and such as have one bug, told apart by what they do.

None of them stands in the notebook or in what lies beside it, and none carries a name of its bug: each has a source of its
own, made of one text by an edit. Every line asks about sound models too, so that no constant answer earns anything. The
mistakes: experiments in an order in which one bug hides another, places that were not looked at, and models that are
not what they were before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from autograder.spec.compare import kind, unchanged
from autograder.spec.exercise import Asking, Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import normal
from autograder.spec.student import Kept, Student

WORDS = ("healthy", "empty", "noise", "half", "leak", "padding", "shift", "copy")

_MODEL = """
def make(seed, V, C, H, L, T, dropout, training):
    import math
    F = nn.functional
    inf = float("inf")

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.token_embedding, self.position_embedding = nn.Embedding(V, C), nn.Embedding(T, C)
            parts = lambda: [nn.LayerNorm(C), nn.Linear(C, 3 * C), nn.Linear(C, C), nn.LayerNorm(C), nn.Linear(C, 2 * C), nn.Linear(2 * C, C)]
            self.blocks = nn.ModuleList(nn.ModuleList(parts()) for _ in range(L))
            self.final_norm, self.lm_head = nn.LayerNorm(C), nn.Linear(C, V, bias=False)
            self.dropout = nn.Dropout(dropout)
            self.lm_head.weight = self.token_embedding.weight
            generator = torch.Generator().manual_seed(seed)
            for p in self.parameters():
                if p.dim() == 2:
                    p.data = torch.randn(p.shape, generator=generator) * (1 if p.shape[0] in (V, T) else 1.5 * p.shape[1] ** -0.5)
            for module in self.modules():
                if isinstance(module, nn.Linear) and module.bias is not None:
                    module.bias.data = 0.2 * torch.randn(module.bias.shape, generator=generator)
            self.final_norm.weight.data = 0.5 + torch.rand(C, generator=generator)
            PREPARE

        def drop(self, x):
            return DROP

        def attend(self, q, k, v, real, layer):
            n = q.shape[2]
            s, t = torch.arange(n, device=q.device), torch.arange(n, device=q.device)[:, None]
            scores = q @ k.mT / math.sqrt(q.shape[-1])  # (B, H, T, T)
            keys = real[:, None, None, :]
            seen = SEEN
            shares = SHARES
            return (shares @ v).transpose(1, 2).flatten(2)

        def forward(self, ids, real):
            x = self.token_embedding(ids) + self.position_embedding.weight[: ids.shape[1]]  # (B, T, C)
            there = real[..., None].to(x.dtype)
            x = MIXED
            x = self.drop(x)
            for layer, (norm1, qkv, out, norm2, wide, narrow) in enumerate(self.blocks):
                q, k, v = (part.unflatten(-1, (H, -1)).transpose(1, 2) for part in qkv(norm1(x)).chunk(3, -1))
                x = x + out(self.attend(q, k, v, real, layer))
                x = x + self.drop(narrow(F.gelu(wide(norm2(x)))))
            x = self.final_norm(x)
            logits = F.linear(x, HEAD)
            ALSO
            shift = SHIFT
            counts = COUNTS
            here = logits[:, : ids.shape[1] - shift]
            there = ids[:, shift:]
            return logits, LOSS

    return Model().train(training)
"""

_SOUND = {
    "PREPARE": "pass",
    "DROP": "self.dropout(x)",
    "SEEN": "(s <= t) & keys",
    "SHARES": "scores.masked_fill(~seen, -inf).softmax(-1).masked_fill(~seen, 0.0)",
    "MIXED": "x",
    "HEAD": "self.lm_head.weight",
    "ALSO": "pass",
    "SHIFT": "1",
    "LOSS": "F.cross_entropy(here[counts].float(), there[counts])",
    "COUNTS": "real[:, : ids.shape[1] - shift]",  # padding stands in front: whatever follows a token is one
}
_EARLIER = "torch.cat([{0}[:, :1] * 0, {0}[:, :-1]], 1)"
_LATER = "torch.cat([{0}[:, 1:], {0}[:, :1] * 0], 1)"
_BY_HAND = "(lambda e: e / e.sum(-1, keepdim=True){0})((scores{1}).masked_fill(~seen, -inf).exp())"

# What a model is, in words; its bug; how it differs from the sound text; how many layers it has.
MODELS: dict[str, tuple[str, dict[str, str], int]] = {
    "that is sound": ("healthy", {}, 2),
    "that is sound, whose padding sees itself": ("healthy", {"SEEN": "(s <= t) & keys | (s == t)", "SHARES": "scores.masked_fill(~seen, -inf).softmax(-1)"}, 2),
    "that is sound, and blocks with the least number that its dtype has": (
        "healthy",
        {"SHARES": "scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1)"},
        2,
    ),
    "that is sound, and mixes each token with the one before it": (
        "healthy",
        {"MIXED": "x + 0.7 * " + _EARLIER.format("(x * there)")},
        1,
    ),
    "that is sound, with a softmax by hand": (
        "healthy",
        {"SHARES": _BY_HAND.format(".clamp(min=1e-4)", " - scores.masked_fill(~seen, -inf).amax(-1, keepdim=True).nan_to_num(neginf=0.0)")},
        2,
    ),
    "that is sound, with small logits": ("healthy", {"HEAD": "self.lm_head.weight / (100 * math.sqrt(C))"}, 1),
    "that is sound, whose last norm has biases": (
        "healthy",
        {"PREPARE": "self.final_norm.bias.data = torch.randn(C, generator=generator)"},
        2,
    ),
    "that is sound, and rounds on the way": (  # as large sums do whose last digits get lost
        "healthy",
        {
            "MIXED": "(x + 4 * x.mean(1, keepdim=True)) - 4 * x.mean(1, keepdim=True)",
            "LOSS": "F.cross_entropy(here[counts].float(), there[counts]) + 2e-5 * ids.float().sum().sin()",
        },
        1,
    ),
    # rows that may look at nothing
    "whose rows of nothing but padding are divided by 0": (
        "empty",
        {"SHARES": "scores.masked_fill(~seen, -inf).softmax(-1)"},
        2,
    ),
    "with one layer, whose padding is divided by 0": (
        "empty",
        {"SHARES": "scores.masked_fill(~seen, -inf).softmax(-1)"},
        1,
    ),
    "whose softmax by hand divides by 0": ("empty", {"SHARES": _BY_HAND.format("", " * 0.3")}, 2),
    "whose loss divides by the number of tokens in each text": (
        "empty",
        {"LOSS": "torch.stack([F.cross_entropy(here[b][counts[b]].float(), there[b][counts[b]]) for b in range(len(ids))]).mean()"},
        2,
    ),
    "that divides by the number of tokens so far": ("empty", {"ALSO": "logits = logits / there.cumsum(1)"}, 1),  # inf, no NaN
    # dropout that is left on
    "that calls F.dropout without `training`": ("noise", {"DROP": "F.dropout(x, 0.1)"}, 2),
    "whose dropout hangs in a plain list, which eval() does not reach": (
        "noise",
        {"PREPARE": "self.others = [nn.Dropout(0.1)]", "DROP": "self.others[0](x)"},
        2,
    ),
    "whose dropout is on in eval mode and off in training": (
        "noise",
        {"DROP": "F.dropout(x, 0.1, training=not self.training)"},
        1,
    ),
    "that drops a few attention weights always": (
        "noise",
        {"SHARES": "F.dropout(" + _SOUND["SHARES"] + ", 0.06)"},
        2,
    ),
    "whose last answer is drawn anew each time, which no loss counts": (
        "noise",
        {"ALSO": "logits = torch.cat([logits[:, :-1], F.dropout(logits[:, -1:], 0.1)], 1)"},
        1,
    ),
    # numbers that float16 does not have
    "that adds a mask times −10⁹": (
        "half",
        {"SHARES": "(scores + (1 - seen.to(scores.dtype)) * torch.tensor(-1e9).to(scores.dtype)).softmax(-1)"},
        2,
    ),
    "that fills in −10⁹ in the model's dtype": (
        "half",
        {"SHARES": "torch.where(seen, scores, torch.tensor(-1e9).to(scores.dtype)).softmax(-1)"},
        2,
    ),
    "with one layer, that fills in −10⁹ in the model's dtype": (
        "half",
        {"SHARES": "torch.where(seen, scores, torch.tensor(-1e9).to(scores.dtype)).softmax(-1)"},
        1,
    ),
    "whose softmax does not take the largest score away": (
        "half",
        {"SHARES": _BY_HAND.format(".clamp(min=1e-4)", " + 15.0")},
        2,
    ),
    "whose logits at padding go through large numbers": (  # inf, no NaN, and none in the loss
        "half",
        {"ALSO": "logits = torch.where(there > 0, logits, logits * 1e5 / 1e5)"},
        1,
    ),
    # the future
    "without a causal mask": ("leak", {"SEEN": "keys.expand(scores.shape)"}, 2),
    "whose mask begins one token too late": ("leak", {"SEEN": "(s <= t + 1) & keys"}, 1),
    "whose last layer alone has no causal mask": ("leak", {"SEEN": "((s <= t) | (layer == L - 1)) & keys"}, 2),
    "with a finite number in its causal mask": (
        "leak",
        {"SHARES": "(scores - 6.0 * (s > t).to(scores.dtype)).masked_fill(~keys, -inf).softmax(-1).masked_fill(~keys, 0.0)"},
        2,
    ),
    "whose mask covers the first positions only": ("leak", {"SEEN": "((s <= t) | (t > n // 2)) & keys"}, 2),
    "whose first positions all see one another": ("leak", {"SEEN": "((s <= t) | (s < n - 2) & (t < n - 2)) & keys"}, 2),
    "whose mask begins one token too late from the fourth place on": ("leak", {"SEEN": "(s <= t + (t > 2)) & keys"}, 1),
    "whose score of token 0 falls with the ids that are still to come": (
        "leak",
        {"ALSO": "logits = logits - 0.01 * ((ids * real).flip(1).cumsum(1).flip(1) - ids * real)[..., None] * (torch.arange(V) == 0).to(x)"},
        1,
    ),
    "whose first place reads the second": ("leak", {"SEEN": "((s <= t) | (t == 0) & (s == 1)) & keys"}, 1),
    "whose first place reads the last": ("leak", {"SEEN": "((s <= t) | (t == 0) & (s == n - 1)) & keys"}, 1),
    "that mixes each token with both its neighbours": (
        "leak",
        {"MIXED": "x + 0.5 * " + _EARLIER.format("(x * there)") + " + 0.5 * " + _LATER.format("x")},
        2,
    ),
    "that centres each feature over the text": (
        "leak",
        {"MIXED": "x - (x * there).sum(1, keepdim=True) / there.sum(1, keepdim=True).clamp(min=1)"},
        1,
    ),
    # padding
    "whose loss counts padding": ("padding", {"COUNTS": "real[:, : ids.shape[1] - shift] | True"}, 2),
    "whose attention reads padding": ("padding", {"SEEN": "(s <= t).expand(scores.shape)"}, 2),
    "that mixes the first token with the padding before it": (
        "padding",
        {"MIXED": "x + 0.7 * " + _EARLIER.format("x")},
        1,
    ),
    # another token than the next
    "whose targets are shifted twice": ("shift", {"SHIFT": "2"}, 2),
    "whose targets are not shifted": ("shift", {"SHIFT": "0"}, 1),
    # a table that is not the table
    "whose output layer has a copy of the table": (
        "copy",
        {"PREPARE": "self.lm_head.weight = nn.Parameter(self.token_embedding.weight.detach().clone())"},
        2,
    ),
    "that squashes what it reads, and has a copy of the table for the output": (
        "copy",
        {
            "PREPARE": "self.lm_head.weight = nn.Parameter(self.token_embedding.weight.detach().clone())",
            "MIXED": "x.tanh()",
        },
        1,
    ),
    "that keeps the table of its first day for the output": (
        "copy",
        {
            "PREPARE": "self.kept = self.token_embedding.weight.detach().clone()",
            "HEAD": "self.kept.to(x.dtype)",
        },
        1,
    ),
}  # fmt: skip
_SIZES = ((23, 16, 2, 9), (29, 12, 3, 8), (19, 20, 4, 7), (31, 16, 4, 11))  # V, C, H, T

_LENGTHS: dict[str, Callable[[int], tuple[int, ...]]] = {  # of the texts, where they are not the usual ones
    "that is sound, with small logits": lambda T: (T, T, T),
    "that is sound, whose padding sees itself": lambda T: (T, 0, T),
    "that is sound, whose last norm has biases": lambda T: (T - 2, T - 2, T - 2),  # the mean of their means is the mean
    "without a causal mask": lambda T: (T, 0, 1),
    "whose last layer alone has no causal mask": lambda T: (1, 0, T - 1),
}

_STATE = """
def state(model):
    return {"weights": [p.detach().clone() for p in model.parameters()], "dtypes": [str(p.dtype) for p in model.parameters()],
            "modes": [m.training for m in model.modules()], "gradients": any(p.grad is not None for p in model.parameters())}
"""


def source(words: str) -> str:
    """The source of a model."""
    text = _MODEL
    for place, code in {**_SOUND, **MODELS[words][1]}.items():
        text = text.replace(place, code)
    return text


def _number() -> int:
    return int(1e6 * normal(1).abs().item())


def a_batch(V: int, T: int, *lengths: int) -> tuple[torch.Tensor, torch.Tensor]:
    """ids and what is real of texts padded in front with token 0; one is empty, and some tokens do not occur."""
    lengths = lengths or (T - 2, T, 0, 3, T - 1)
    real = torch.arange(T) >= T - torch.tensor(lengths)[:, None]
    ids = 1 + (normal(len(lengths), T).abs() * 7.3).long() % (V - 6)
    return torch.where(real, ids, 0), real


def made(student: Student, words: str, size: int, training: bool) -> tuple[Kept, tuple[torch.Tensor, torch.Tensor]]:
    """A fresh model in the student's process, and a batch for it."""
    V, C, H, T = _SIZES[size % len(_SIZES)]
    making = student.probe("make", source(words))
    given = [_number(), V, C, H, MODELS[words][2], T, 0.2, training]
    batch = a_batch(V, T, *_LENGTHS.get(words, lambda T: ())(T))
    return student.call(making, given, keep=True, record=False)["value"], batch


def _word(got: Any, expected: str, where: str) -> None:
    if got is None:
        raise Wrong("Your function returned nothing. Does it end with `return`?")
    if not isinstance(got, str):
        raise Wrong(f"The finding should be one of the eight words, a string; yours is {kind(got)}.", "form")
    if got not in WORDS:
        raise Wrong(f"The finding should be one of the eight words, as they stand in the box; yours is {got[:40]!r}.")
    if got != expected:
        raise ValuesDiffer(f"You found {got!r} in a model {where}.")


def _ask_about(*names: str) -> Asking:
    def ask(student: Student) -> None:
        for place, words in enumerate(names):
            with student.case():
                model, batch = made(student, words, place, training=place % 2 == 0)
                _word(student.value("diagnose", model, batch), MODELS[words][0], words)

    return ask


def _of(finding: str, *sound: str) -> Sequence[str]:
    """Sound models, and all that have this bug."""
    return ["that is sound", *sound, *(words for words, (bug, _, _) in MODELS.items() if bug == finding)]


_MANNERS = (
    "that is sound",
    "that calls F.dropout without `training`",
    "that fills in −10⁹ in the model's dtype",
    "whose loss counts padding",
    "whose output layer has a copy of the table",
)


def _manners(student: Student) -> None:
    probe = student.probe("state", _STATE)
    for place, words in enumerate(_MANNERS):
        for training in (True, False):
            with student.case():
                model, (ids, real) = made(student, words, place, training)
                before = student.call(probe, [model], record=False)["value"]
                answer = student.call("diagnose", [model, (ids, real)])
                _word(answer["value"], MODELS[words][0], words)
                unchanged(answer["inputs"], [ids, real], "batch")
                after = student.call(probe, [model])["value"]
                if after["dtypes"] != before["dtypes"]:
                    raise Wrong(
                        "The model has another dtype afterwards: `half()` changes the module itself, so try it on a copy.",
                        "model_halved",
                    )
                if not all(map(torch.equal, after["weights"], before["weights"])):
                    raise Wrong(
                        "The model has other weights afterwards: experiment on a copy, or set them back.",
                        "weights_changed",
                    )
                if after["modes"] != before["modes"]:
                    raise Wrong(
                        "The model is in another mode afterwards: eval() on a copy, or set it back.", "mode_changed"
                    )
                if after["gradients"]:
                    raise Wrong("Gradients are left behind in the model's parameters.", "gradients_left")  # fmt: skip


EXERCISE = Exercise(
    points=6,
    checks=[
        Check(
            "sound models, and a later token that moves an earlier answer",
            1.5,
            _ask_about(
                *_of(
                    "leak",
                    "that is sound, and blocks with the least number that its dtype has",
                    "that is sound, and mixes each token with the one before it",
                    "that is sound, with a softmax by hand",
                    "that is sound, whose padding sees itself",
                    "that is sound, with small logits",
                    "that is sound, whose last norm has biases",
                    "that is sound, and rounds on the way",
                )
            ),
        ),
        Check("dropout that eval mode does not switch off", 0.75, _ask_about(*_of("noise"))),
        Check(
            "rows that may look at nothing",
            0.75,
            _ask_about(*_of("empty", "that is sound, with a softmax by hand")),
        ),
        Check(
            "numbers that float16 does not have",
            0.75,
            _ask_about(*_of("half", "that is sound, and blocks with the least number that its dtype has")),
        ),
        Check(
            "padding that counts",
            0.75,
            _ask_about(
                *_of(
                    "padding",
                    "that is sound, and mixes each token with the one before it",
                    "that is sound, and rounds on the way",
                )
            ),
        ),
        Check(
            "a loss of another token than the next",
            0.5,
            _ask_about(*_of("shift", "that is sound, and rounds on the way")),
        ),
        Check(
            "an output layer with a copy of the table",
            0.75,
            _ask_about(*_of("copy", "that is sound, whose last norm has biases")),
        ),
        Check("the model and the batch stay as they were", 0.25, _manners, further=True),
    ],
    working=r"""
import copy
import torch

def diagnose(model, batch):
    ids, real = batch
    m = copy.deepcopy(model)
    m.eval()
    with torch.no_grad():
        logits, loss = m(ids, real)
        V = logits.shape[-1]
        if not torch.isfinite(logits).all() or not torch.isfinite(loss):
            return "empty"
        if (m(ids, real)[0] != logits).any():
            return "noise"
        halved = copy.deepcopy(m).half()(ids, real)
        if not (torch.isfinite(halved[0]).all() and torch.isfinite(halved[1])):
            return "half"
        for place in range(ids.shape[1]):
            other = ids.clone()
            other[:, place] = (other[:, place] + 3) % V
            for row, gap in enumerate((m(other, real)[0] - logits).abs().amax(-1)):
                if (gap[:place][real[row, :place]] > 1e-4).any():
                    return "leak"
        if (m(torch.where(real, ids, V - 1), real)[1] - loss).abs() > 1e-4:
            return "padding"
        counted = real[:, :-1]
        mine = torch.nn.functional.cross_entropy(logits[:, :-1][counted], ids[:, 1:][counted])
        if (mine - loss).abs() > 1e-4:
            return "shift"
        [never] = [v for v in range(V) if v not in ids.tolist() and not (ids == v).any()][:1]
        m.token_embedding.weight[never] *= -1
        if torch.allclose(m(ids, real)[0][..., never], logits[..., never], atol=1e-4):
            return "copy"
        return "healthy"
""",
    gives="text",
)
