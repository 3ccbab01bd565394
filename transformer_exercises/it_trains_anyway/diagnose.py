"""`diagnose`: some thirty small models, sound ones and such as have one bug, told apart by what they do."""

import re
from collections.abc import Callable
from typing import Any

import torch

from autograder.spec import (
    Check,
    CheckFunction,
    Exercise,
    Kept,
    Student,
    ValuesDiffer,
    Wrong,
    kind,
    normal,
    sentence_of,
    unchanged,
)

WORDS = ("healthy", "empty", "noise", "half", "leak", "padding", "shift", "copy")

_MODEL = """
import math

inf, F = float("inf"), nn.functional

def make(seed, V, C, H, L, T, training):
    def earlier(x):
        return torch.cat([x[:, :1] * 0, x[:, :-1]], 1)

    def sharing(scores, seen):
        return scores.masked_fill(~seen, -inf).softmax(-1)

    def by_hand(scores, seen, least=0.0):
        e = scores.masked_fill(~seen, -inf).exp()
        return e / e.sum(-1, keepdim=True).clamp(min=least)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.token_embedding, self.position_embedding = nn.Embedding(V, C), nn.Embedding(T, C)
            norm, linear = lambda: nn.LayerNorm(C), lambda i, o: nn.Linear(i * C, o * C)
            parts = lambda: [norm(), linear(1, 3), linear(1, 1), norm(), linear(1, 2), linear(2, 1)]
            self.blocks = nn.ModuleList(nn.ModuleList(parts()) for _ in range(L))
            self.final_norm, self.lm_head = nn.LayerNorm(C), nn.Linear(C, V, bias=False)
            self.dropout = nn.Dropout(0.2)
            self.lm_head.weight = self.token_embedding.weight
            generator = torch.Generator().manual_seed(seed)
            for p in self.parameters():
                if p.dim() == 2:
                    scale = 1 if p.shape[0] in (V, T) else 1.5 * p.shape[1] ** -0.5
                    p.data = torch.randn(p.shape, generator=generator) * scale
            for module in self.modules():
                if isinstance(module, nn.Linear) and module.bias is not None:
                    module.bias.data = 0.2 * torch.randn(module.bias.shape, generator=generator)
            self.final_norm.weight.data = 0.5 + torch.rand(C, generator=generator)
            table = self.token_embedding.weight.detach().clone()
            ⟨PREPARE: pass⟩

        def drop(self, x):
            return ⟨DROP: self.dropout(x)⟩

        def forward(self, ids, real):
            n = ids.shape[1]
            s, t = torch.arange(n, device=ids.device), torch.arange(n, device=ids.device)[:, None]
            x = self.token_embedding(ids) + self.position_embedding.weight[:n]  # (B, T, C)
            keys, there = real[:, None, None, :], real[..., None].to(x.dtype)
            x = self.drop(⟨MIXED: x⟩)
            for layer, (norm1, qkv, out, norm2, wide, narrow) in enumerate(self.blocks):
                q, k, v = (part.unflatten(-1, (H, -1)).transpose(1, 2) for part in qkv(norm1(x)).chunk(3, -1))
                scores = q @ k.mT / math.sqrt(q.shape[-1])  # (B, H, T, T)
                low = torch.tensor(-1e9).to(scores.dtype)
                seen = ⟨SEEN: (s <= t) & keys⟩
                shares = ⟨SHARES: sharing(scores, seen).masked_fill(~seen, 0.0)⟩
                x = x + out((shares @ v).transpose(1, 2).flatten(2))
                x = x + self.drop(narrow(F.gelu(wide(norm2(x)))))
            logits = F.linear(self.final_norm(x), ⟨HEAD: self.lm_head.weight⟩)
            ⟨ALSO: pass⟩
            shift = ⟨SHIFT: 1⟩
            counts = ⟨COUNTS: real[:, : n - shift]⟩  # padding stands in front: whatever follows a token is one
            here, there = logits[:, : n - shift], ids[:, shift:]
            loss = F.cross_entropy(here[counts].float(), there[counts])
            return logits, ⟨LOSS: loss⟩

    return Model().train(training)
"""

# A model's finding, its layers, what it is in words, and what stands at which ⟨place⟩ instead. One of the sound ones
# rounds as large sums do whose last digits get lost; some give inf and no NaN, or none in what the loss counts.
_MODELS = """
healthy 2 that is sound
healthy 2 that is sound, and blocks with the least number that its dtype has
    => SHARES: scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1)
healthy 1 that is sound, and mixes each token with the one before it => MIXED: x + 0.7 * earlier(x * there)
healthy 2 that is sound, with a softmax by hand
    => SHARES: by_hand(scores - scores.masked_fill(~seen, -inf).amax(-1, True).nan_to_num(neginf=0.0), seen, 1e-4)
healthy 2 that is sound, whose padding sees itself => SEEN: (s <= t) & keys | (s == t) => SHARES: sharing(scores, seen)
healthy 1 that is sound, with small logits => HEAD: self.lm_head.weight / (100 * math.sqrt(C))
healthy 2 that is sound, whose last norm has biases => PREPARE: self.final_norm.bias.data = torch.linspace(-1, 2, C)
healthy 1 that is sound, and rounds on the way => MIXED: (x + 4 * x.mean(1, keepdim=True)) - 4 * x.mean(1, keepdim=True)
    => LOSS: loss + 2e-5 * ids.float().sum().sin()
healthy 1 that is sound, whose last norm is as it was made => PREPARE: self.final_norm.weight.data = torch.ones(C)
empty 2 whose rows of nothing but padding are divided by 0 => SHARES: sharing(scores, seen)
empty 1 with one layer, whose padding is divided by 0 => SHARES: sharing(scores, seen)
empty 2 whose softmax by hand divides by 0 => SHARES: by_hand(scores * 0.3, seen)
empty 2 whose loss divides by the number of tokens in each text
    => LOSS: sum(F.cross_entropy(here[b][counts[b]].float(), there[b][counts[b]]) for b in range(len(ids))) / len(ids)
empty 1 that divides by the number of tokens so far => ALSO: logits = logits / there.cumsum(1)
noise 2 that calls F.dropout without `training` => DROP: F.dropout(x, 0.1)
noise 2 whose dropout eval() does not reach => PREPARE: self.others = [nn.Dropout(0.1)] => DROP: self.others[0](x)
noise 1 whose dropout is on in eval mode and off in training => DROP: F.dropout(x, 0.1, training=not self.training)
noise 2 that always drops attention weights => SHARES: F.dropout(sharing(scores, seen).masked_fill(~seen, 0), 0.06)
noise 1 whose last answer, which no loss counts, is noisy => ALSO: logits[:, -1] = F.dropout(logits[:, -1], 0.1)
noise 1 whose logits differ by 0.00001 at each call => ALSO: logits = logits + 1e-5 * torch.randn_like(logits)
half 2 that adds a mask times −10⁹ => SHARES: (scores + (1 - seen.to(scores.dtype)) * low).softmax(-1)
half 2 that fills in −10⁹ in the model's dtype => SHARES: torch.where(seen, scores, low).softmax(-1)
half 1 with one layer, that fills in −10⁹ in the model's dtype => SHARES: torch.where(seen, scores, low).softmax(-1)
half 2 whose softmax does not take the largest score away => SHARES: by_hand(scores + 15.0, seen, 1e-4)
half 1 whose logits at padding are large on the way => ALSO: logits = torch.where(there > 0, logits, logits * 1e5 / 1e5)
leak 2 without a causal mask => SEEN: keys.expand(scores.shape)
leak 1 whose mask begins one token too late => SEEN: (s <= t + 1) & keys
leak 2 whose last layer alone has no causal mask => SEEN: ((s <= t) | (layer == L - 1)) & keys
leak 2 with a finite number in its causal mask => SHARES: sharing(scores - 6 * (s > t), keys).masked_fill(~keys, 0.0)
leak 2 whose mask covers the first positions only => SEEN: ((s <= t) | (t > n // 2)) & keys
leak 2 whose first positions all see one another => SEEN: ((s <= t) | (s < n - 2) & (t < n - 2)) & keys
leak 1 whose mask begins one token too late from the fourth place on => SEEN: (s <= t + (t > 2)) & keys
leak 1 whose score of token 0 falls with the ids that are still to come
    => ALSO: logits[..., 0] -= 0.01 * ((ids * real).flip(1).cumsum(1).flip(1) - ids * real)
leak 1 whose first place reads the second => SEEN: ((s <= t) | (t == 0) & (s == 1)) & keys
leak 1 whose first place reads the last => SEEN: ((s <= t) | (t == 0) & (s == n - 1)) & keys
leak 2 that mixes a token with both neighbours => MIXED: x + earlier(x * there) / 2 + earlier(x.flip(1)).flip(1) / 2
leak 1 that centres each feature over the text => MIXED: x - (x * there).sum(1, True) / there.sum(1, True).clamp(min=1)
padding 2 whose loss counts padding => COUNTS: real[:, : n - shift] | True
padding 2 whose attention reads padding => SEEN: (s <= t).expand(scores.shape)
padding 1 that mixes the first token with the padding before it => MIXED: x + 0.7 * earlier(x)
shift 2 whose targets are shifted twice => SHIFT: 2
shift 1 whose targets are not shifted => SHIFT: 0
copy 2 whose output layer has a copy of the table => PREPARE: self.lm_head.weight = nn.Parameter(table)
copy 1 that has a tanh and a copy of the table => MIXED: x.tanh() => PREPARE: self.lm_head.weight = nn.Parameter(table)
copy 1 that keeps the table of its first day for the output => PREPARE: self.kept = table => HEAD: self.kept.to(x.dtype)
"""

# By words: its finding, what takes which place of the sound text, its layers.
MODELS: dict[str, tuple[str, dict[str, str], int]] = {
    words: (finding, dict(change.split(": ", 1) for change in changes.split(" => ")[1:]), int(layers))
    for finding, layers, words, changes in re.findall(
        r"^(\w+) (\d) (.+?)((?: => .+)?)$", re.sub(r"\n +", " ", _MODELS), re.MULTILINE
    )
}
_HEALTHY = [words for words, (finding, *_) in MODELS.items() if finding == "healthy"]
_SIZES = ((23, 16, 2, 9), (29, 12, 3, 8), (19, 20, 4, 7), (31, 16, 4, 11))  # V, C, H, T

_LENGTHS: dict[str, Callable[[int], tuple[int, ...]]] = {  # of the texts, where they are not the usual ones
    "that is sound, with small logits": lambda T: (T, T, T),
    "that is sound, whose padding sees itself": lambda T: (T, 0, T),
    "that is sound, whose last norm has biases": lambda T: (T - 2, T - 2, T - 2),  # the mean of their means is the mean
    "without a causal mask": lambda T: (T, 0, 1),
    "whose last layer alone has no causal mask": lambda T: (1, 0, T - 1),
}

_LAST_TOKEN_OCCURS = "that keeps the table of its first day for the output"  # and some first ones do not

_LEFT = ("model_halved", "weights_changed", "mode_changed", "gradients_left")  # what a state tells, in its order
_STATE = """
def state(model):
    facts = [(str(p.dtype), p.tolist(), p.grad is None) for p in model.parameters()]
    dtypes, weights, gradients = zip(*facts)
    return dtypes, weights, [m.training for m in model.modules()], gradients
"""


def source(words: str) -> str:
    """Return the source of a model."""
    return re.sub(r"⟨(\w+): (.*?)⟩", lambda position: MODELS[words][1].get(position[1], position[2]), _MODEL)


def a_batch(V: int, T: int, *lengths: int) -> tuple[torch.Tensor, torch.Tensor]:
    """ids and what is real of texts padded in front with token 0; one is empty, and some tokens do not occur."""
    lengths = lengths or (T - 2, T, 0, 3, T - 1)
    real = torch.arange(T) >= T - torch.tensor(lengths)[:, None]
    ids = 1 + (normal(len(lengths), T).abs() * 7.3).long() % (V - 6)
    return torch.where(real, ids, 0), real


def made(student: Student, words: str, size: int, training: bool) -> tuple[Kept, tuple[torch.Tensor, torch.Tensor]]:
    """Return a fresh model in the student's process, and a batch for it."""
    V, C, H, T = _SIZES[size % len(_SIZES)]
    given = [int(1e6 * normal(1).abs().item()), V, C, H, MODELS[words][2], T, training]
    ids, real = a_batch(V, T, *_LENGTHS.get(words, lambda T: ())(T))
    if words == _LAST_TOKEN_OCCURS:
        ids = torch.where(real, V - ids, 0)
        ids[1, -1] = V - 1
    return student.call(student.probe("make", source(words)), given, keep=True, record=False)["value"], (ids, real)


def _word(got: Any, words: str) -> None:
    if not isinstance(got, str):
        raise Wrong(f"The finding should be one of the eight words, a string; yours is {kind(got)}.", "form")
    if got not in WORDS:
        raise Wrong(f"The finding should be one of the eight words, as they stand in the box; yours is {got[:40]!r}.")
    if got != MODELS[words][0]:
        raise ValuesDiffer(f"You found {got!r} in a model {words}.")


def _about(finding: str, *sound: int) -> CheckFunction:
    """Ask about sound models, by their numbers, and about all that have this bug."""
    names = [_HEALTHY[number] for number in (0, *sound)] + [words for words in MODELS if MODELS[words][0] == finding]

    def check(student: Student) -> None:
        given = [
            (words, *made(student, words, position, training=position % 2 == 0)) for position, words in enumerate(names)
        ]
        for words, model, batch in student.in_any_order(given):
            with student.case():
                _word(student.value("diagnose", model, batch), words)

    return check


def _side_effects(student: Student) -> None:
    probe, first = student.probe("state", _STATE), {finding: words for words, (finding, *_) in reversed(MODELS.items())}
    asked = [first[finding] for finding in ("healthy", "noise", "half", "padding", "copy") * 2]
    given = [(words, *made(student, words, number, training=number < 5)) for number, words in enumerate(asked)]
    for words, model, (ids, real) in student.in_any_order(given):
        with student.case():
            before = student.call(probe, [model], record=False)["value"]
            answer = student.call("diagnose", [model, (ids, real)])
            _word(answer["value"], words)
            unchanged(answer["inputs"], [ids, real], "batch")
            after = student.call(probe, [model])["value"]
            for name, old, new in zip(_LEFT, before, after, strict=True):
                if old != new:
                    raise Wrong(sentence_of("diagnose", name), name)


EXERCISE = Exercise(
    Check("sound models, and a later token that moves an earlier answer", 1.5, _about("leak", 1, 2, 3, 4, 5, 6, 7)),
    Check("dropout that eval mode does not switch off", 0.75, _about("noise")),
    Check("rows that may look at nothing", 0.75, _about("empty", 3)),
    Check("numbers that float16 does not have", 0.75, _about("half", 1)),
    Check("padding that counts", 0.75, _about("padding", 2, 7)),
    Check("a loss of another token than the next", 0.5, _about("shift", 7)),
    Check("an output layer with a copy of the table", 0.75, _about("copy", 8)),
    Check("the model and the batch stay as they were", 0.25, _side_effects, dependent=True),
    takes="other",
    gives="text",
    harmless=("other_signature", "global_generator"),
)
