"""Notebook 11: the encoder–decoder of 2017, its schedule and loss, how it writes, and how translations are scored."""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from .compare import a_tensor, close, kind, same_gradients, same_tensor, unchanged
from .declare import Alternative, Check, Exercise, Mistake, Question, Wrong, edited, source_of, written
from .draw import device_is_kept, gradients_of, normal, quietly_called

# --- given by a locked cell of the notebook ---------------------------------------------------------------------------


class Attention(nn.Module):
    """PyTorch's multi-head attention, called as in notebook 07: attn(x, mask, context) -> [B, T, C].

    x: [B, T, C] gives the queries; context: [B, S, C] gives keys and values (x itself, if it is None).
    mask: boolean, True = blocked, broadcastable to (B, H, T, S), or None.
    """

    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.inner = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)

    def forward(self, x, mask=None, context=None):
        context = x if context is None else context
        mask = for_torch(mask, x, context, self.inner.num_heads)
        return self.inner(x, context, context, attn_mask=mask, need_weights=False)[0]


def for_torch(mask, x, context, num_heads):
    """A mask as nn.MultiheadAttention wants it: (B * H, T, S), the heads inside the batch dimension."""
    if mask is None:
        return None
    return mask.expand(len(x), num_heads, x.shape[1], context.shape[1]).flatten(0, 1)


class EncoderBlock(nn.Module):
    """Self-attention and feed-forward network, post-norm: PyTorch's own, with the masks of the course.

    forward: x [B, S, C] -> [B, S, C]; mask: True = blocked, broadcastable to (B, H, S, S).
    """

    def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.0):
        super().__init__()
        self.inner = nn.TransformerEncoderLayer(embed_dim, num_heads, ff_dim, dropout, batch_first=True)

    def forward(self, x, mask=None):
        return self.inner(x, src_mask=for_torch(mask, x, x, self.inner.self_attn.num_heads))


class Translator(nn.Module):
    """The encoder–decoder of Vaswani et al. 2017: model(source_ids [B, S], target_ids [B, T]) -> logits [B, T, V].

    target_ids begin with the id of <bos>; the logits at position t are those of the token after target_ids[:, t].
    pad_id fills up short sentences of both languages; decoder_block: a class with DecoderBlock's signature (None: PyTorch's).
    Tokens are embedded, times the root of C, plus sinusoids; the output layer uses the target embedding's matrix.
    """

    def __init__(
        self,
        source_vocab,
        target_vocab,
        embed_dim,
        num_heads,
        ff_dim,
        num_layers,
        dropout=0.1,
        max_len=256,
        pad_id=0,
        decoder_block=None,
    ):
        super().__init__()
        self.max_len, self.pad_id = max_len, pad_id
        sizes = embed_dim, num_heads, ff_dim, dropout
        self.source_embedding = nn.Embedding(source_vocab, embed_dim)
        self.target_embedding = nn.Embedding(target_vocab, embed_dim)
        rates = torch.exp(torch.arange(0, embed_dim, 2) * (-math.log(10000.0) / embed_dim))  # (C / 2,)
        angles = torch.outer(torch.arange(max_len), rates)  # (max_len, C / 2)
        sinusoids = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
        self.register_buffer("positions", sinusoids, persistent=False)
        self.encoder = nn.ModuleList(EncoderBlock(*sizes) for _ in range(num_layers))
        self.decoder = nn.ModuleList(
            nn.TransformerDecoderLayer(*sizes, batch_first=True) if decoder_block is None else decoder_block(*sizes)
            for _ in range(num_layers)
        )
        self.output_bias = nn.Parameter(torch.zeros(target_vocab))
        self.dropout = nn.Dropout(dropout)

        for name, parameter in self.named_parameters():
            if "embedding" in name:
                nn.init.normal_(parameter, std=embed_dim**-0.5)  # times the root of C, later: about 1
            elif parameter.dim() == 2:
                nn.init.xavier_uniform_(parameter)

    def embed(self, ids, embedding):
        if ids.shape[1] > self.max_len:
            raise ValueError(f"ids has {ids.shape[1]} positions, more than max_len = {self.max_len}")
        x = embedding(ids) * math.sqrt(embedding.embedding_dim)  # (B, T, C)
        return self.dropout(x + self.positions[: ids.shape[1]])

    def encode(self, source_ids):
        """What the source says, read once for the whole translation. Returns (memory [B, S, C], mask [B, 1, 1, S])."""
        padding = (source_ids == self.pad_id)[:, None, None]  # (B, 1, 1, S), True = blocked: for all heads and queries
        x = self.embed(source_ids, self.source_embedding)
        for block in self.encoder:
            x = block(x, padding)
        return x, padding

    def decode(self, target_ids, memory, memory_mask):
        """Logits [B, T, V] of the token after each one. Padding needs no mask here: it only stands after the others."""
        T = target_ids.shape[1]
        future = torch.ones(T, T, dtype=torch.bool, device=target_ids.device).triu(diagonal=1)  # (T, T)
        x = self.embed(target_ids, self.target_embedding)
        for block in self.decoder:
            if isinstance(block, nn.TransformerDecoderLayer):
                heads = block.self_attn.num_heads
                x = block(x, memory, tgt_mask=future, memory_mask=for_torch(memory_mask, x, memory, heads))
            else:
                x = block(x, memory, mask=future, memory_mask=memory_mask)
        return F.linear(x, self.target_embedding.weight, self.output_bias)  # (B, T, V)

    def forward(self, source_ids, target_ids):
        return self.decode(target_ids, *self.encode(source_ids))


def attention_weights(model, source_ids, target_ids):
    """The weights [B, H, T, S] of every nn.MultiheadAttention inside a Translator, by the module's name, in one call.

    Names of the given parts: encoder.0.inner.self_attn, decoder.0.self_attn.inner, decoder.0.cross_attn.inner, …
    """
    found, hooks = {}, []

    def ask(module, args, kwargs):
        return args, {**kwargs, "need_weights": True, "average_attn_weights": False}

    for name, module in model.named_modules():
        if isinstance(module, nn.MultiheadAttention):

            def keep(module, args, result, name=name):
                found[name] = result[1].detach()

            hooks += [module.register_forward_pre_hook(ask, with_kwargs=True), module.register_forward_hook(keep)]
    try:
        with torch.no_grad():
            model(source_ids, target_ids)
    finally:
        for hook in hooks:
            hook.remove()
    return found


GIVEN = "\n\n".join(source_of(thing) for thing in (Attention, for_torch, EncoderBlock, Translator, attention_weights))


# --- references -------------------------------------------------------------------------------------------------------


def noam_rate(step, d_model, warmup):
    """The learning rate of Vaswani et al. 2017, section 5.3: linear warm-up, then as the inverse root of the step.

    d_model^-0.5 * min(step^-0.5, step * warmup^-1.5); step counts from 1 (a smaller one is a ValueError).
    Returns a float; the peak, (d_model * warmup)^-0.5, is at step = warmup.
    Example: d_model 4, warmup 4: steps 1, 2, 4, 16 -> 0.0625, 0.125, 0.25, 0.125
    """
    if step < 1:
        raise ValueError(f"step counts from 1; got {step}")
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def label_smoothed_loss(logits, targets, smoothing, pad_id):
    """Cross-entropy against targets of which a share `smoothing` is spread evenly over all V tokens.

    logits: [..., V]; targets: ids [...]. The right token keeps 1 - smoothing and has its smoothing / V like all others.
    Returns a scalar, the mean over the targets that are not pad_id (an id of the vocabulary, or none of it: -100).
    Equals F.cross_entropy(…, label_smoothing=smoothing, ignore_index=pad_id).
    ValueError unless 0 <= smoothing <= 1. Source: Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4.
    Example: V = 2, logits [0, 0] and any smoothing -> ln 2
    """
    if not 0 <= smoothing <= 1:
        raise ValueError(f"smoothing must be between 0 and 1; got {smoothing}")
    real = targets != pad_id  # (...)
    log_probs = torch.log_softmax(logits[real], dim=-1)  # (N, V): the N targets that count
    right = log_probs.gather(-1, targets[real][:, None]).squeeze(-1)  # (N,)
    evenly = log_probs.mean(dim=-1)  # (N,): each token with weight 1 / V
    return -((1 - smoothing) * right + smoothing * evenly).mean()


class DecoderBlock(nn.Module):
    """Self-attention, cross-attention and a feed-forward network, post-norm: norm(x + dropout(part(x))) for each.

    Parts: self_attn and cross_attn, modules called as attn(x, mask, context) (your own from notebook 07 fit); ff:
    Linear, ReLU, Linear; norm1, norm2, norm3, in the order of use.
    forward: x [B, T, C] -> [B, T, C]; memory [B, S, C], what the encoder made: keys and values of cross-attention.
    mask and memory_mask: boolean, True = blocked, broadcastable to (B, H, T, T) and (B, H, T, S).
    Source: Vaswani et al. 2017, section 3.1 and figure 1; equals nn.TransformerDecoderLayer with the same weights.
    """

    def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.0):
        super().__init__()
        self.self_attn = Attention(embed_dim, num_heads)
        self.cross_attn = Attention(embed_dim, num_heads)
        self.ff = nn.Sequential(nn.Linear(embed_dim, ff_dim), nn.ReLU(), nn.Linear(ff_dim, embed_dim))
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.norm3 = nn.LayerNorm(embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, mask=None, memory_mask=None):
        x = self.norm1(x + self.dropout(self.self_attn(x, mask)))  # (B, T, C): what has been written
        x = self.norm2(x + self.dropout(self.cross_attn(x, memory_mask, context=memory)))  # queries x, the rest memory
        return self.norm3(x + self.dropout(self.ff(x)))  # (B, T, C)


@torch.no_grad()  # nothing is trained here: keep no graph
def greedy_decode(model, source_ids, bos_id, eos_id, max_len):
    """Translate a batch one token at a time, always the likeliest one.

    source_ids: [B, S]; model(source_ids, target_ids [B, T]) -> logits [B, T, V], called in the mode it is in;
    target_ids begin with bos_id, and the logits at position t are those of the token after it.
    A row ends at its first eos_id, or after max_len new tokens; once all rows have ended, the model is not asked again.
    Returns B lists of ids, of different lengths: without bos_id, without eos_id and what follows it.
    Example: rows that would continue as 7 8 eos and 5 eos -> [[7, 8], [5]]
    """
    B = len(source_ids)
    target_ids = torch.full((B, 1), bos_id, device=source_ids.device)  # (B, 1)
    ended = torch.zeros(B, dtype=torch.bool, device=source_ids.device)  # (B,)
    for _ in range(max_len):
        logits = model(source_ids, target_ids)  # (B, T, V)
        next_ids = logits[:, -1].argmax(dim=-1)  # (B,): the last position only
        target_ids = torch.cat([target_ids, next_ids[:, None]], dim=1)  # (B, T + 1)
        ended |= next_ids == eos_id
        if ended.all():
            break
    rows = target_ids[:, 1:].tolist()
    return [row[: row.index(eos_id)] if eos_id in row else row for row in rows]


@torch.no_grad()
def beam_search(model, source_ids, bos_id, eos_id, beam_size, max_len, length_penalty=0.6):
    """Translate one sentence, with the beam_size likeliest beginnings side by side.

    source_ids: [1, S]; the rest as in greedy_decode. Returns one list of ids, without bos_id and eos_id.
    Each step keeps the likeliest of all continuations of all beams; one that ends in eos_id is finished: it is set
    aside and keeps its place. Of the finished ones (of all, if none is) that with the highest score
    log p / ((5 + length) / 6) ** length_penalty wins; length counts the new tokens, eos_id included.
    ValueError unless beam_size >= 1. Source: Wu et al. 2016, section 7.
    Example: P(a) = 0.6, P(b) = 0.4, P(eos | a) = 0.5, P(eos | b) = 1: greedy writes a, beam_size 2 writes b
    """
    if beam_size < 1:
        raise ValueError(f"beam_size must be at least 1; got {beam_size}")
    beams, finished = [([bos_id], 0.0)], []  # pairs: tokens, and the log-probability of all of them together
    for _ in range(max_len):
        target_ids = torch.tensor([tokens for tokens, _ in beams], device=source_ids.device)  # (K, T)
        logits = model(source_ids.expand(len(beams), -1), target_ids)[:, -1]  # (K, V)
        so_far = torch.tensor([log_prob for _, log_prob in beams], device=logits.device)  # (K,)
        log_probs = so_far[:, None] + torch.log_softmax(logits, dim=-1)  # (K, V): of whole beginnings
        places_left = min(beam_size - len(finished), log_probs.numel())
        best = log_probs.flatten().topk(places_left)  # across all beams: one may have several heirs, another none

        candidates = []
        for log_prob, place in zip(best.values.tolist(), best.indices.tolist(), strict=True):
            beam, token = divmod(place, logits.shape[-1])
            candidates.append(([*beams[beam][0], token], log_prob))
        finished += [candidate for candidate in candidates if candidate[0][-1] == eos_id]
        beams = [candidate for candidate in candidates if candidate[0][-1] != eos_id]
        if not beams:
            break

    def score(candidate):
        tokens, log_prob = candidate
        return log_prob / ((5 + len(tokens) - 1) / 6) ** length_penalty  # bos is not counted

    tokens, _ = max(finished or beams, key=score)
    return [token for token in tokens[1:] if token != eos_id]


def bleu(hypotheses, references):
    """Corpus BLEU-4 with one reference each, from 0 to 100 (Papineni et al. 2002), as sacrebleu computes it.

    hypotheses, references: lists of sentences, each a list of tokens (strings); unequal numbers are a ValueError.
    Precision of n-grams, n = 1 to 4: matches (each n-gram at most as often as in its reference) by n-grams, both summed
    over the corpus. Result: their geometric mean, times exp(1 - r / h) if all hypotheses together have fewer tokens, h,
    than all references, r.
    Smoothing: the first order without a match counts as 1 / 2 of one, the next as 1 / 4, and so on. But 0.0 if nothing
    matches at all, or if no hypothesis has four tokens.
    Example: one hypothesis a b c d e with the reference a b c d f: 100 * (4/5 * 3/4 * 2/3 * 1/2) ** (1/4) = 66.87
    """
    if len(hypotheses) != len(references):
        raise ValueError(f"hypotheses and references must be equally many; got {len(hypotheses)} and {len(references)}")
    matches, totals = [0] * 4, [0] * 4
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        for n in range(1, 5):
            ours = Counter(tuple(hypothesis[i : i + n]) for i in range(len(hypothesis) - n + 1))
            theirs = Counter(tuple(reference[i : i + n]) for i in range(len(reference) - n + 1))
            matches[n - 1] += (ours & theirs).total()  # & takes the smaller count of each
            totals[n - 1] += ours.total()
    if not any(matches) or not all(totals):
        return 0.0

    log_precisions, penalty = [], 1
    for matched, total in zip(matches, totals, strict=True):
        if matched == 0:
            penalty *= 2  # 1/2, 1/4, … of a match
        log_precisions.append(math.log((matched or 1 / penalty) / total))
    h, r = (sum(map(len, sentences)) for sentences in (hypotheses, references))
    brevity = 1.0 if h >= r else math.exp(1 - r / h)
    return 100 * brevity * math.exp(sum(log_precisions) / 4)


# --- how mistakes are written down, and what the checks share ---------------------------------------------------------

Coding = str | tuple[str, str] | list[tuple[str, str]]


def _coded(reference: Any, coding: Coding) -> str:
    """The source of another version: one edit of the reference, a list of edits, a new body, or a whole definition."""
    if not isinstance(coding, str):
        return edited(reference, *(coding if isinstance(coding, list) else [coding]))
    coding = textwrap.dedent(coding).strip()
    if re.search(rf"^(def|class) {reference.__name__}\b", coding, re.MULTILINE):
        return written(coding)
    before, signature = source_of(reference).split("def ", 1)  # a decorator stays where it is
    return written(f"{before}def {signature.splitlines()[0]}\n" + textwrap.indent(coding, "    "))


def _mistakes(reference: Any, *rows: tuple) -> list[Mistake]:
    """A table of mistakes. Each row: the name, the sentence, and one or more codings."""
    return [
        Mistake(name, sentence, _coded(reference, first), tuple(_coded(reference, other) for other in others))
        for name, sentence, first, *others in rows
    ]


def _alternatives(reference: Any, **codings: Coding) -> list[Alternative]:
    return [Alternative(name, _coded(reference, coding)) for name, coding in codings.items()]


def _refused(student: Any, name: str, args: list, what: str) -> None:
    """A ValueError, and no other error, for bad input."""
    try:
        student.call(name, args)
    except Wrong as wrong:
        facts = getattr(wrong, "facts", {})
        if facts.get("kind") != "raised" or facts.get("type") == "NotImplementedError":
            raise
        if facts.get("type") != "ValueError":
            raise Wrong(
                f"{what} should raise a ValueError that names the argument; yours raised {facts.get('type')}.",
                "error_of_another_type",
            ) from None
    else:
        raise Wrong(f"{what} should raise a ValueError; yours returned something.", "bad_input_accepted")


def _float(student: Any, name: str, args: list, expected: float, what: str, where: str, digits: float = 1e-5) -> dict:
    """A call that should give this number, however it is wrapped; whether it is a plain float is said last."""
    answer = student.call(name, args, where=where, after=True)
    got = answer["value"]
    number = got.item() if isinstance(got, torch.Tensor) and got.numel() == 1 else got
    if type(number) not in (int, float):
        raise Wrong(f"{what} should be a number {where}; yours is {kind(got)}.")
    if math.isfinite(number) and type(got) is float:
        list(student.record.values())[-1][-1]["value"] = float(f"{number:.5g}")  # the last digits vary with the coding
    if not math.isfinite(number):
        raise Wrong(f"{what} is not a finite number {where}.")
    if abs(number - expected) > digits * max(abs(expected), 1e-12):
        raise Wrong(f"{what} is too {'large' if number > expected else 'small'} {where}.")
    if type(got) is not float and expected:
        raise Wrong(f"A plain float is asked for; yours is {kind(got)}.", "not_a_float")
    return answer


_NOTHING = "Nothing is returned (None): end with `return`, not with `print` or an assignment."


# --- noam_rate --------------------------------------------------------------------------------------------------------


def _noam(student: Any, step: int, d_model: int, warmup: int) -> None:
    where = f"at step {step} with d_model = {d_model} and warmup = {warmup}"
    _float(student, "noam_rate", [step, d_model, warmup], noam_rate(step, d_model, warmup), "The rate", where)


def _noam_at(*steps: int) -> Any:
    def ask(student: Any) -> None:
        for d_model, warmup in ((512, 4000), (64, 100), (7, 30), (300, 50), (20, 200)):
            for step in steps or (warmup - 1, warmup, warmup + 1, 2 * warmup, 10 * warmup):
                with student.case():
                    _noam(student, step, d_model, warmup)

    return ask


def _noam_edges(student: Any) -> None:
    for case in ((1, 512, 1), (9, 1, 1), (1, 1, 5), (10**9, 64, 4000), (3, 1024, 10**6), (5, 5, 5)):
        with student.case():
            _noam(student, *case)
    with student.case():
        got = student.call("noam_rate", [], {"warmup": 30, "step": 7, "d_model": 16}, "with arguments by name")["value"]
        if isinstance(got, float) and abs(got - noam_rate(7, 16, 30)) > 1e-5 * noam_rate(7, 16, 30):
            raise Wrong("The arguments by name are mixed up: noam_rate(step, d_model, warmup).")


def _noam_refusals(student: Any) -> None:
    _noam(student, 1, 16, 10)
    for step in (0, -1, -20):
        with student.case():
            _refused(student, "noam_rate", [step, 16, 10], f"step = {step} (steps count from 1)")


_SCHEDULE = "return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)"
_STEP_CHECK = '    if step < 1:\n        raise ValueError(f"step counts from 1; got {step}")\n'

NOAM_RATE = Exercise(
    name="noam_rate",
    notebook="11-translation",
    points=2,
    reference=noam_rate,
    checks=[
        Check("the warm-up, a straight line", 0.75, _noam_at(1, 2, 3, 17)),
        Check("the peak and the decay after it", 0.75, _noam_at()),
        Check("warmup of 1, very many steps, arguments by name", 0.25, _noam_edges),
        Check("a step below 1 is a ValueError", 0.25, _noam_refusals),
    ],
    working=written(
        """
        import math

        def noam_rate(step, d_model, warmup):
            if step < 1:
                raise ValueError("step must be at least 1")
            return min(1 / math.sqrt(step), step / math.sqrt(warmup**3)) / math.sqrt(d_model)
        """
    ),
    mistakes=_mistakes(
        noam_rate,
        (
            "max_for_min",
            "The larger of the two terms is taken: it is the smaller one, so that the rate rises first and falls afterwards.",
            ("min(", "max("),
        ),
        (
            "terms_added",
            "The two terms are added (or averaged): the rate is the smaller of them.",
            (_SCHEDULE, "return d_model**-0.5 * (step**-0.5 + step * warmup**-1.5)"),
            (_SCHEDULE, "return d_model**-0.5 * (step**-0.5 + step * warmup**-1.5) / 2"),
            (_SCHEDULE, "return d_model**-0.5 * step**-0.5 * step * warmup**-1.5"),
        ),
        (
            "d_model_upside_down",
            "The rate grows with d_model: it is d_model to the power of *minus* 0.5, so wider models take smaller steps.",
            ("d_model**-0.5", "d_model**0.5"),
        ),
        (
            "d_model_missing",
            "d_model is not used: the whole schedule is multiplied by d_model^-0.5.",
            ("d_model**-0.5 * ", ""),
        ),
        (
            "d_model_without_root",
            "The exponent of d_model is wrong: -0.5, one over the root.",
            ("d_model**-0.5", "d_model**-1"),
            ("d_model**-0.5", "d_model**-1.5"),
        ),
        (
            "d_model_on_one_term",
            "d_model^-0.5 multiplies only one of the two terms: it stands before the minimum, for both.",
            (_SCHEDULE, "return min(d_model**-0.5 * step**-0.5, step * warmup**-1.5)"),
            (_SCHEDULE, "return min(step**-0.5, d_model**-0.5 * step * warmup**-1.5)"),
        ),
        (
            "warmup_exponent",
            "The exponent of warmup is not -1.5: only with that one do the two terms meet at step = warmup.",
            ("warmup**-1.5", "warmup**-0.5"),
            ("warmup**-1.5", "warmup**-1"),
            ("warmup**-1.5", "warmup**-2"),
        ),
        (
            "step_exponent",
            "The decay has another exponent: step to the power of -0.5.",
            ("min(step**-0.5", "min(step**-1"),
            ("min(step**-0.5", "min(step**0.5"),
            ("min(step**-0.5", "min(step**-1.5"),
        ),
        (
            "no_warmup",
            "There is no warm-up: until step = warmup the rate rises in a straight line, step * warmup^-1.5.",
            (_SCHEDULE, "return d_model**-0.5 * step**-0.5"),
            ("warmup**-1.5", "warmup**1.5"),
        ),
        (
            "no_decay",
            "The rate does not fall as step^-0.5 after the warm-up.",
            (_SCHEDULE, "return d_model**-0.5 * step * warmup**-1.5"),
            (_SCHEDULE, "return d_model**-0.5 * min(warmup**-0.5, step * warmup**-1.5)"),
        ),
        (
            "another_decay",
            "After the warm-up the rate falls along another curve (a straight line, a cosine): here it falls as step^-0.5.",
            (_SCHEDULE, "return (d_model * warmup) ** -0.5 * min(warmup / step, step / warmup)"),
            (
                _SCHEDULE,
                "peak, end = (d_model * warmup) ** -0.5, 10 * warmup\n"
                "    return peak * step / warmup if step < warmup else peak * max(0.0, 1 - (step - warmup) / end)",
            ),
            (
                _SCHEDULE,
                "peak, share = (d_model * warmup) ** -0.5, min(1.0, (step - warmup) / (10 * warmup))\n"
                "    return peak * step / warmup if step < warmup else peak * (1 + math.cos(math.pi * share)) / 2",
            ),
        ),
        (
            "counted_from_zero",
            "The steps are counted as if the first were 0 (or shifted by one): step counts from 1 here, so use it as it comes.",
            (_SCHEDULE, "step = step + 1\n    " + _SCHEDULE),
            (
                _SCHEDULE,
                "step = step - 1\n    return d_model**-0.5 * min((step or 1) ** -0.5, step * warmup**-1.5)",
            ),
        ),
        (
            "peak_of_one",
            "The schedule is scaled so that its peak is 1 (or another number): the peak is (d_model * warmup)^-0.5.",
            (_SCHEDULE, "return min((warmup / step) ** 0.5, step / warmup)"),
            (_SCHEDULE, "return d_model**-0.5 * min((warmup / step) ** 0.5, step / warmup)"),
        ),
        (
            "fixed_numbers",
            "The numbers of the paper (d_model 512, warmup 4000) are written into the code: use the arguments.",
            ("warmup**-1.5", "4000**-1.5"),
            ("d_model**-0.5", "512**-0.5"),
            [("warmup**-1.5", "4000**-1.5"), ("d_model**-0.5", "512**-0.5")],
        ),
        (
            "whole_division",
            "A division is rounded down to whole numbers (`//`, int): the rate comes out as 0, or in stairs.",
            (_SCHEDULE, "return d_model**-0.5 * min(step**-0.5, (step // warmup) * warmup**-0.5)"),
            (_SCHEDULE, "return int(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))"),
        ),
        (
            "rounded",
            "The rate is rounded: return it as it is.",
            (_SCHEDULE, _SCHEDULE.replace("return ", "return round(") + ", 4)"),
            (_SCHEDULE, _SCHEDULE.replace("return ", "return round(") + ", 6)"),
        ),
        (
            "arguments_swapped",
            "The parameters are not (step, d_model, warmup), in this order and with these names.",
            ("(step, d_model, warmup)", "(step, warmup, d_model)"),
            ("(step, d_model, warmup)", "(d_model, step, warmup)"),
            ("(step, d_model, warmup):", "(step, dim, warmup_steps):\n    d_model, warmup = dim, warmup_steps"),
        ),
        (
            "not_a_float",
            "The result is not a plain float (a tensor, a text): optimisers and logs want a number.",
            (_SCHEDULE, _SCHEDULE.replace("return ", "return torch.tensor(") + ")"),
            (_SCHEDULE, _SCHEDULE.replace("return ", "return str(") + ")"),
        ),
        (
            "bad_step_accepted",
            "A step below 1 is accepted: it should be a ValueError that names step.",
            (_STEP_CHECK, "    step = max(step, 1)\n"),
            (_STEP_CHECK, "    if step < 1:\n        return 0.0\n"),
            ("if step < 1:", "if step < 0:"),
            ("if step < 1:", "if step == 0:"),
        ),
        (
            "error_of_another_type",
            "A step below 1 stops with another error than ValueError: check it at the start (not with `assert`).",
            (_STEP_CHECK, "    assert step >= 1\n"),
            (_STEP_CHECK, "    if step < 1:\n        raise IndexError(step)\n"),
        ),
        (
            "first_step_refused",
            "Step 1 is refused: it is the first.",
            ("if step < 1:", "if step <= 1:"),
        ),
        ("nothing_returned", _NOTHING, (_SCHEDULE, _SCHEDULE.replace("return ", "print(") + ")")),
    ),
    alternatives=_alternatives(
        noam_rate,
        two_branches="""
        if step < 1:
            raise ValueError("step must be 1 or more")
        peak = (d_model * warmup) ** -0.5
        if step <= warmup:
            return peak * step / warmup
        return peak * (warmup / step) ** 0.5
        """,
        logarithms="""
        if not step >= 1:
            raise ValueError(f"bad step {step}")
        return math.exp(min(-math.log(step) / 2, math.log(step) - 1.5 * math.log(warmup)) - math.log(d_model) / 2)
        """,
        tensors="""
        if step <= 0:
            raise ValueError("step")
        s, w, d = (torch.tensor(float(n)) for n in (step, warmup, d_model))
        return (d.rsqrt() * torch.minimum(s.rsqrt(), s / w**1.5)).item()
        """,
    ),
)


# --- label_smoothed_loss ----------------------------------------------------------------------------------------------

_LOSS = "The loss"


def _torchs_loss(logits: torch.Tensor, targets: torch.Tensor, smoothing: float, pad_id: int) -> torch.Tensor:
    V = logits.shape[-1]
    flat = logits.reshape(-1, V), targets.reshape(-1)
    return F.cross_entropy(*flat, label_smoothing=smoothing, ignore_index=pad_id)


def _some_targets(*shape: int, V: int, pads: float = 0.0, pad_id: int = 0) -> torch.Tensor:
    """Ids other than pad_id, and a share of pad_id; the very first target is none."""
    targets = (normal(1, *shape)[0].abs() * 1000).long() % V
    if 0 <= pad_id < V:
        targets = torch.where(targets == pad_id, (pad_id + 1) % V, targets)
    padding = normal(*shape).argsort(-1).argsort(-1) < round(pads * shape[-1]) if shape else torch.tensor(False)
    return torch.where(padding, pad_id, targets)


def _same_loss(
    student: Any, logits: torch.Tensor, targets: torch.Tensor, smoothing: float, pad_id: int, where: str, **how: Any
) -> dict:
    answer = student.call("label_smoothed_loss", [logits, targets, smoothing, pad_id], where=where)
    same_tensor(answer["value"], _torchs_loss(logits, targets, smoothing, pad_id), _LOSS, where, **how)
    return answer


def _loss_values(student: Any) -> None:
    for shape, V, smoothing in (
        ((6,), 5, 0.1),
        ((3, 4), 7, 0.3),
        ((5, 2), 11, 0.0),
        ((2, 3, 4), 6, 0.2),
        ((4,), 3, 1.0),
        ((1,), 8, 0.1),
        ((3, 3), 3, 0.5),
        ((2, 6), 2, 0.1),
        ((), 9, 0.4),
    ):
        with student.case():
            where = f"for logits of shape {(*shape, V)} and smoothing = {smoothing}, without padding"
            logits = normal(*shape, V, scale=2)
            _same_loss(student, logits, _some_targets(*shape, V=V, pad_id=0), smoothing, 0, where)


def _loss_padding(student: Any) -> None:
    for shape, V, smoothing, pad_id in (
        ((2, 6), 5, 0.1, 0),
        ((3, 5), 7, 0.3, 3),
        ((8,), 6, 0.2, 5),
        ((4, 7), 9, 0.0, 0),
        ((2, 3, 5), 4, 0.6, 1),
        ((3, 6), 8, 1.0, 2),
    ):
        with student.case():
            where = f"for targets of shape {shape}, V = {V}, smoothing = {smoothing} and pad_id = {pad_id}"
            targets = _some_targets(*shape, V=V, pads=0.4, pad_id=pad_id)
            if len(shape) == 2:
                targets[0] = _some_targets(shape[1], V=V, pad_id=pad_id)  # rows of different lengths
            _same_loss(student, normal(*shape, V, scale=2), targets, smoothing, pad_id, where)
    with student.case():
        targets = torch.full((3, 4), 2)
        targets[1] = 0
        _same_loss(student, normal(3, 4, 6), targets, 0.1, 0, "for a row that is padding throughout")
    with student.case():
        logits = normal(2, 5, 6)
        logits[..., 0] += 20
        where = "where padding is the likeliest prediction (pad_id as a target is left out, not as a prediction)"
        _same_loss(student, logits, _some_targets(2, 5, V=6, pads=0.4), 0.1, 0, where)


def _loss_outside(student: Any) -> None:
    for pad_id in (-100, -1):
        with student.case():
            targets = _some_targets(2, 5, V=6, pads=0.4, pad_id=pad_id)
            _same_loss(student, normal(2, 5, 6), targets, 0.1, pad_id, f"for pad_id = {pad_id}")


def _loss_extremes(student: Any) -> None:
    for scale, offset, where in (
        (1e4, 0.0, "for logits of about 1e4"),
        (1.0, 1e4, "for logits with a large common offset"),
        (1.0, -1e4, "for logits with a large negative offset"),
        (200.0, 0.0, "for logits of about 200 (their exponentials overflow)"),
    ):
        with student.case():
            logits, targets = normal(3, 4, 5, scale=scale) + offset, _some_targets(3, 4, V=5, pads=0.25)
            _same_loss(student, logits, targets, 0.1, 0, where, rough=True)


def _loss_gradient(student: Any) -> None:
    for shape, V, smoothing, pad_id, dtype in (
        ((2, 5), 6, 0.1, 0, torch.float32),
        ((7,), 4, 0.0, 2, torch.float64),
        ((2, 2, 4), 5, 0.4, 1, torch.float64),
    ):
        with student.case():
            logits = normal(*shape, V, dtype=dtype)
            targets = _some_targets(*shape, V=V, pads=0.4, pad_id=pad_id)
            args = [targets, smoothing, pad_id]
            where = f"for logits of shape {(*shape, V)}"
            _same_loss(student, logits, *args, where)
            leaf, weight = logits.clone().requires_grad_(True), torch.tensor(1.7, dtype=dtype)
            expected = torch.autograd.grad(weight * _torchs_loss(leaf, *args), [leaf])
            answer = student.call("label_smoothed_loss", [logits, *args], where=where, upstream=[weight])
            same_gradients(answer["gradients"].get("inputs", []), list(expected), ["logits"], where)


def _loss_manners(student: Any) -> None:
    for dtype in (torch.float32, torch.float64):
        with student.case():
            logits, targets = normal(3, 5, 6, dtype=dtype), _some_targets(3, 5, V=6, pads=0.4, pad_id=2)
            where = "in " + str(dtype).removeprefix("torch.")
            answer = _same_loss(student, logits, targets, 0.1, 2, where)
            unchanged(answer["inputs"], [logits, targets], "logits or targets")
            quietly_called(answer)
    with student.case():
        logits, targets = normal(6, 3, 5).permute(1, 2, 0), _some_targets(5, 3, V=6, pads=0.4).mT
        _same_loss(student, logits, targets, 0.1, 0, "for tensors that are not contiguous")
    with student.case():
        device_is_kept(student, "label_smoothed_loss", [normal(3, 5, 6), _some_targets(3, 5, V=6, pads=0.4), 0.1, 0])


def _loss_refusals(student: Any) -> None:
    logits, targets = normal(4, 3), torch.tensor([1, 2, 0, 1])
    for smoothing in (0.0, 1.0):
        with student.case():
            _same_loss(student, logits, targets, smoothing, 0, f"for smoothing = {smoothing}")
    for smoothing in (-0.1, 1.1, 10.0):
        with student.case():
            _refused(student, "label_smoothed_loss", [logits, targets, smoothing, 0], f"smoothing = {smoothing}")


_REAL = "real = targets != pad_id  # (...)"
_LOGS = "log_probs = torch.log_softmax(logits[real], dim=-1)  # (N, V): the N targets that count"
_RIGHT = "right = log_probs.gather(-1, targets[real][:, None]).squeeze(-1)  # (N,)"
_EVENLY = "evenly = log_probs.mean(dim=-1)  # (N,): each token with weight 1 / V"
_LOSS_END = "return -((1 - smoothing) * right + smoothing * evenly).mean()"
_SMOOTHING_CHECK = (
    '    if not 0 <= smoothing <= 1:\n        raise ValueError(f"smoothing must be between 0 and 1; got {smoothing}")\n'
)


def _masked(*lines: str) -> str:
    """The loss of every position first, and the padding taken out afterwards."""
    return (
        _SMOOTHING_CHECK.replace("\n        ", "\n    ").replace("    if", "if", 1)
        + "V = logits.shape[-1]\nreal = targets != pad_id\nindex = targets.masked_fill(~real, 0)\n"
        + "log_probs = torch.log_softmax(logits, dim=-1)\n"
        + "\n".join(lines)
    )


_NLL = "nll = -log_probs.gather(-1, index[..., None])[..., 0]"
_SMOOTH = "smooth = -log_probs.mean(-1)"
_BOTH = "loss = (1 - smoothing) * nll + smoothing * smooth"
_OVER_REAL = "return (loss * real).sum() / real.sum()"

LABEL_SMOOTHED_LOSS = Exercise(
    name="label_smoothed_loss",
    notebook="11-translation",
    points=4,
    reference=label_smoothed_loss,
    checks=[
        Check("equals PyTorch's, for any shape and smoothing", 1.25, _loss_values),
        Check("padding is left out, of the sum and of the mean", 1.0, _loss_padding),
        Check("stable for large logits", 0.5, _loss_extremes),
        Check("gradients, none at padding", 0.5, _loss_gradient),
        Check("a pad_id outside the vocabulary", 0.25, _loss_outside),
        Check("inputs unchanged, float64, any layout and device", 0.25, _loss_manners),
        Check("smoothing from 0 to 1, else a ValueError", 0.25, _loss_refusals),
    ],
    working=written(
        """
        import torch.nn.functional as F

        def label_smoothed_loss(logits, targets, smoothing, pad_id):
            if smoothing < 0 or smoothing > 1:
                raise ValueError("smoothing must be from 0 to 1")
            logits, targets = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
            return F.cross_entropy(logits, targets, label_smoothing=smoothing, ignore_index=pad_id)
        """
    ),
    mistakes=_mistakes(
        label_smoothed_loss,
        (
            "smoothing_ignored",
            "smoothing makes no difference: a share `smoothing` of each target is spread evenly over all tokens.",
            (_LOSS_END, "return -right.mean()"),
            (_LOSS_END, "return -((1 - smoothing) * right + smoothing * right).mean()"),
        ),
        (
            "right_token_only",
            "Only the right token counts, with weight 1 - smoothing: the share that was taken from it goes to all tokens evenly.",
            (_LOSS_END, "return -((1 - smoothing) * right).mean()"),
            (_LOSS_END, "return -((1 - smoothing + smoothing / logits.shape[-1]) * right).mean()"),
        ),
        (
            "shares_swapped",
            "The two shares are swapped: the right token has 1 - smoothing, the even part smoothing.",
            (_LOSS_END, "return -(smoothing * right + (1 - smoothing) * evenly).mean()"),
        ),
        (
            "right_token_keeps_all",
            "The right token keeps its full weight of 1, so the weights add up to more than 1: it gives away the share that is spread.",
            (_LOSS_END, "return -(right + smoothing * evenly).mean()"),
        ),
        (
            "spread_over_the_others",
            "The share is spread over the *other* tokens only (smoothing / (V - 1) each), as some implementations do: here, as in PyTorch, "
            "every token has smoothing / V, the right one too.",
            (
                _EVENLY,
                "evenly = (log_probs.sum(dim=-1) - right) / (logits.shape[-1] - 1)",
            ),
            (
                _EVENLY,
                "evenly = (log_probs.sum(dim=-1) - right) / max(logits.shape[-1] - 1, 1)",
            ),
            (
                _EVENLY,
                "evenly = (log_probs.sum(dim=-1) - right) / logits.shape[-1]",
            ),
        ),
        (
            "spread_without_padding",
            "The share is not spread over the padding token: here, as in PyTorch, every token of the vocabulary has smoothing / V; pad_id only says "
            "which *targets* to leave out.",
            (
                _EVENLY,
                "others = torch.arange(logits.shape[-1], device=logits.device) != pad_id\n    evenly = log_probs[:, others].mean(dim=-1)",
            ),
            (
                _EVENLY,
                "others = torch.arange(logits.shape[-1], device=logits.device) != pad_id\n"
                "    evenly = log_probs[:, others].sum(dim=-1) / logits.shape[-1]",
            ),
            (
                _EVENLY,
                "others = torch.arange(logits.shape[-1], device=logits.device) != pad_id\n"
                "    evenly = (log_probs[:, others].sum(dim=-1) - right) / max(logits.shape[-1] - 2, 1)",
            ),
        ),
        (
            "even_part_summed",
            "The even part is a sum over the V tokens, without the weight 1 / V: each token has smoothing / V.",
            ("log_probs.mean(dim=-1)", "log_probs.sum(dim=-1)"),
        ),
        (
            "mean_of_probabilities",
            "The even part takes the mean of the probabilities (or the logarithm of that mean): it is the mean of the *log*-probabilities.",
            ("log_probs.mean(dim=-1)", "log_probs.exp().mean(dim=-1)"),
            ("log_probs.mean(dim=-1)", "log_probs.exp().mean(dim=-1).log()"),
            ("log_probs.mean(dim=-1)", "logits[real].mean(dim=-1)"),
        ),
        (
            "probabilities_smoothed",
            "The *predictions* are smoothed: label smoothing changes the targets, the loss is a mixture of two logarithms.",
            (
                _LOSS_END,
                "return -((1 - smoothing) * right.exp() + smoothing / logits.shape[-1]).log().mean()",
            ),
        ),
        (
            "kl_divergence",
            "The entropy of the smoothed targets is subtracted (a KL divergence): the gradients agree, the value does not. Cross-entropy is asked for.",
            _masked(
                "wanted = F.one_hot(index, V).to(logits.dtype) * (1 - smoothing) + smoothing / V",
                "loss = F.kl_div(log_probs, wanted, reduction='none').sum(-1)",
                _OVER_REAL,
            ),
        ),
        (
            "padding_in_the_mean",
            "Padding is left out of the sum but counted in the mean: divide by the number of targets that are not padding.",
            _masked(_NLL, _SMOOTH, _BOTH, "return (loss * real).mean()"),
            _masked(_NLL, _SMOOTH, _BOTH, "return (loss * real).sum() / targets.numel()"),
            _masked(_NLL, _SMOOTH, _BOTH, "return loss.masked_fill(~real, 0).mean()"),
        ),
        (
            "padding_counted",
            "Padding counts like any other target: targets equal to pad_id are left out.",
            (_REAL, "real = torch.ones_like(targets, dtype=torch.bool)"),
        ),
        (
            "padding_hidden_in_the_logits",
            "Padding is hidden by changing logits (or log-probabilities) there: such a position still counts in the mean; leave it out.",
            _masked(
                "log_probs = torch.log_softmax(logits * real[..., None], dim=-1)",
                _NLL,
                _SMOOTH,
                _BOTH,
                "return loss.mean()",
            ),
        ),
        (
            "padding_in_one_part",
            "Padding is left out of one of the two parts only: both are means over the targets that are not padding.",
            (_EVENLY, "evenly = torch.log_softmax(logits, dim=-1).mean()"),
            (
                _RIGHT,
                "index = targets.clamp(min=0).unsqueeze(-1)\n    right = torch.log_softmax(logits, dim=-1).gather(-1, index).mean()",
            ),
            _masked(
                _NLL, _SMOOTH, "return (1 - smoothing) * (nll * real).sum() / real.sum() + smoothing * smooth.mean()"
            ),
            _masked(
                _NLL, _SMOOTH, "return ((1 - smoothing) * (nll * real).sum() + smoothing * smooth.sum()) / real.sum()"
            ),
        ),
        (
            "only_padding",
            "The condition is the wrong way round: what is *not* padding counts.",
            ("targets != pad_id", "targets == pad_id"),
        ),
        (
            "padding_is_zero",
            "pad_id is taken to be 0 (or larger ids are): compare with the pad_id that is given.",
            ("targets != pad_id", "targets != 0"),
            ("targets != pad_id", "targets > 0"),
            ("targets != pad_id", "targets > pad_id"),
        ),
        (
            "predicted_padding",
            "Positions are left out where the model *predicts* padding: it is the targets that say what is padding.",
            (_REAL, "real = logits.argmax(dim=-1) != pad_id"),
            (_REAL, "real = (targets != pad_id) & (logits.argmax(dim=-1) != pad_id)"),
        ),
        (
            "row_by_row",
            "The mean is taken for each row first and then over the rows: all targets that are not padding have the same weight.",
            _masked(_NLL, _SMOOTH, _BOTH, "return ((loss * real).sum(-1) / real.sum(-1).clamp(min=1)).mean()"),
            _masked(_NLL, _SMOOTH, _BOTH, "return ((loss * real).sum(-1) / real.sum(-1)).mean()"),
        ),
        (
            "summed",
            "The losses are added up: their mean is asked for.",
            (_LOSS_END, _LOSS_END.replace(".mean()", ".sum()")),
            _masked(_NLL, _SMOOTH, _BOTH, "return (loss * real).sum() / len(targets)"),
        ),
        (
            "not_reduced",
            "The losses of the positions are returned one by one: their mean is asked for.",
            (_LOSS_END, _LOSS_END.replace(".mean()", "")),
            _masked(_NLL, _SMOOTH, _BOTH, "return loss * real"),
        ),
        (
            "sign",
            "The sign is wrong: log-probabilities are negative, a loss is positive.",
            ("return -(", "return ("),
            ("smoothing * evenly", "-smoothing * evenly"),
        ),
        (
            "log_base",
            "The logarithm is not the natural one.",
            (_LOSS_END, _LOSS_END + " / math.log(2)"),
            (_LOSS_END, _LOSS_END + " / math.log(10)"),
        ),
        (
            "softmax_of_another_dimension",
            "The softmax runs over the wrong dimension: over the vocabulary, the last one.",
            ("torch.log_softmax(logits[real], dim=-1)", "torch.log_softmax(logits[real], dim=0)"),
            ("torch.log_softmax(logits[real], dim=-1)", "torch.log_softmax(logits, dim=0)[real]"),
            ("torch.log_softmax(logits[real], dim=-1)", "torch.log_softmax(logits, dim=1)[real]"),
        ),
        (
            "softmax_twice",
            "A softmax is taken of what is one already (or the logits are taken for log-probabilities): logits, then log_softmax, once.",
            (
                "torch.log_softmax(logits[real], dim=-1)",
                "torch.log_softmax(torch.softmax(logits[real], dim=-1), dim=-1)",
            ),
            ("torch.log_softmax(logits[real], dim=-1)", "logits[real]"),
            ("torch.log_softmax(logits[real], dim=-1)", "torch.softmax(logits[real], dim=-1)"),
        ),
        (
            "log_of_softmax",
            "log(softmax(…)) gives −∞ or NaN for large logits: torch.log_softmax does both at once, stably.",
            ("torch.log_softmax(logits[real], dim=-1)", "torch.softmax(logits[real], dim=-1).log()"),
            (
                "torch.log_softmax(logits[real], dim=-1)",
                "logits[real] - logits[real].exp().sum(-1, keepdim=True).log()",
            ),
        ),
        (
            "epsilon",
            "A small number is added inside the logarithm, or probabilities are clipped: that changes the loss where a probability is small. "
            "torch.log_softmax needs nothing of the kind.",
            ("torch.log_softmax(logits[real], dim=-1)", "(torch.softmax(logits[real], dim=-1) + 1e-9).log()"),
            ("torch.log_softmax(logits[real], dim=-1)", "torch.softmax(logits[real], dim=-1).clamp(min=1e-8).log()"),
        ),
        (
            "fixed_shape",
            "Only one number of dimensions works: logits [..., V] may have any number of leading ones, or none.",
            (_REAL, "B, T, V = logits.shape\n    " + _REAL),
            (_REAL, "N, V = logits.shape\n    " + _REAL),
            (_REAL, "assert logits.dim() > 1\n    " + _REAL),
        ),
        (
            "padding_as_index",
            "A pad_id outside the vocabulary (-100, say) is used as an index: take the padding out first, or put any id in its place.",
            _masked(_NLL.replace("index", "targets"), _SMOOTH, _BOTH, _OVER_REAL),
            _masked(
                _NLL.replace("index[..., None]", "(targets % V)[..., None]"),
                _SMOOTH,
                _BOTH,
                "return loss[targets >= 0].mean()",
            ),
            _masked(
                "wanted = F.one_hot(targets, V) * (1 - smoothing) + smoothing / V",
                "loss = -(wanted * log_probs).sum(-1)",
                _OVER_REAL,
            ),
        ),
        (
            "detached",
            "No gradient comes through (`detach`, `.item()`, `no_grad`, a new tensor built from numbers).",
            (_LOSS_END, _LOSS_END + ".detach()"),
            (_LOSS_END, _LOSS_END.replace("return ", "return torch.tensor(") + ".item(), dtype=logits.dtype)"),
            (_EVENLY, _EVENLY.replace(".mean(dim=-1)", ".detach().mean(dim=-1)")),
        ),
        (
            "a_number",
            "A Python number is returned: a scalar tensor is asked for, or there is nothing to train by.",
            (_LOSS_END, _LOSS_END + ".item()"),
        ),
        (
            "dimension_kept",
            "The result has a dimension (shape (1,)): a scalar is asked for.",
            (_LOSS_END, _LOSS_END + "[None]"),
        ),
        (
            "input_changed",
            "targets or logits are changed in place: the caller's tensors stay as they are.",
            (
                _REAL,
                _REAL + "\n    targets[~real] = 0",
            ),
            (_REAL, _REAL + "\n    logits.data.sub_(1.0)"),
        ),
        (
            "dtype_changed",
            "The dtype is not kept (a `.float()`, `.double()`): float64 goes in, float64 comes out.",
            (_LOGS, _LOGS.replace("logits[real]", "logits[real].float()")),
            (_LOSS_END, _LOSS_END + ".float()"),
            (_LOSS_END, _LOSS_END + ".double()"),
        ),
        (
            "device_not_kept",
            "A tensor is made without `device=…`, so this fails on a GPU.",
            _masked(
                "wanted = torch.full(logits.shape, 1.0, dtype=logits.dtype) * smoothing / V",
                "wanted = wanted.scatter_add(-1, index[..., None], torch.full((*index.shape, 1), 1 - smoothing, dtype=logits.dtype))",
                "loss = -(wanted * log_probs).sum(-1)",
                _OVER_REAL,
            ),
        ),
        (
            "not_contiguous",
            "`.view` fails for tensors that are not contiguous: use `.reshape` or `.flatten`.",
            (_REAL, "logits, targets = logits.view(-1, logits.shape[-1]), targets.view(-1)\n    " + _REAL),
        ),
        (
            "bad_smoothing_accepted",
            "A smoothing below 0 or above 1 is accepted: it should be a ValueError that names it.",
            (_SMOOTHING_CHECK, ""),
            ("if not 0 <= smoothing <= 1:", "if smoothing < 0:"),
            ("if not 0 <= smoothing <= 1:", "if smoothing > 1:"),
        ),
        (
            "error_of_another_type",
            "A smoothing out of range stops with another error: a ValueError is asked for (not `assert`).",
            (_SMOOTHING_CHECK, "    assert 0 <= smoothing <= 1\n"),
            ("raise ValueError", "raise RuntimeError"),
        ),
        (
            "limits_refused",
            "smoothing = 0 or smoothing = 1 is refused: both are allowed.",
            ("if not 0 <= smoothing <= 1:", "if not 0 < smoothing <= 1:"),
            ("if not 0 <= smoothing <= 1:", "if not 0 <= smoothing < 1:"),
            ("if not 0 <= smoothing <= 1:", "if not 0 < smoothing < 1:"),
        ),
        (
            "nothing_returned",
            _NOTHING,
            (_LOSS_END, _LOSS_END.replace("return ", "loss = ")),
            (_LOSS_END, _LOSS_END.replace("return ", "print(") + ")"),
        ),
    ),
    alternatives=_alternatives(
        label_smoothed_loss,
        masked=_masked(_NLL, _SMOOTH, _BOTH, _OVER_REAL),
        smoothed_targets=_masked(
            "wanted = F.one_hot(index, V).to(logits) * (1 - smoothing) + smoothing / V",
            "return -(wanted * log_probs).sum(-1)[real].mean()",
        ),
        logsumexp="""
        if smoothing > 1 or smoothing < 0:
            raise ValueError("smoothing out of range")
        V = logits.size(-1)
        logits, targets = logits.reshape(-1, V), targets.reshape(-1)
        keep = torch.nonzero(targets != pad_id)[:, 0]
        logits, targets = logits[keep], targets[keep]
        chosen = logits[torch.arange(len(keep), device=logits.device), targets]
        return (logits.logsumexp(-1) - (1 - smoothing) * chosen - smoothing * logits.sum(-1) / V).mean()
        """,
        loop="""
        if not (smoothing >= 0 and smoothing <= 1):
            raise ValueError("smoothing")
        losses = []
        for row, target in zip(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1).tolist()):
            if target != pad_id:
                log_p = row - torch.logsumexp(row, 0)
                losses.append(-(1 - smoothing) * log_p[target] - smoothing * log_p.mean())
        return sum(losses) / len(losses)
        """,
        divergence_and_entropy=_masked(
            "wanted = torch.full_like(logits, smoothing / V)",
            "wanted.scatter_(-1, index.unsqueeze(-1), 1 - smoothing + smoothing / V)",
            "entropy = -torch.special.xlogy(wanted, wanted).sum(-1)",
            "loss = F.kl_div(log_probs, wanted.detach(), reduction='none').sum(-1) + entropy",
            "return torch.where(real, loss, 0).sum() / real.sum()",
        ),
    ),
)


# --- DecoderBlock -----------------------------------------------------------------------------------------------------

_OUTPUT = "The output"
_ATTENTIONS = ("self_attn", "cross_attn")
_NORMS = ("norm1", "norm2", "norm3")
_PROJECTIONS = ("q_proj", "k_proj", "v_proj")

BLOCKS = (  # B, T, S, embed_dim, num_heads, ff_dim
    (2, 4, 3, 6, 3, 9),
    (3, 2, 5, 8, 2, 5),
    (1, 1, 4, 4, 1, 7),
    (2, 5, 1, 6, 6, 10),
    (4, 3, 3, 10, 5, 8),
    (1, 7, 20, 4, 2, 16),
    (5, 6, 2, 12, 4, 1),
)

_OUTLINE = """
def outline(module):
    if not isinstance(module, nn.Module):
        raise TypeError("not a module")
    return sorted(
        [name.split(".")[0], list(p.shape), p.requires_grad, bool((p == p.flatten()[:1]).all())]
        for name, p in module.named_parameters()
    )
"""


def _outline(student: Any, module: Any) -> None:
    """Put on record what parameters there are, without the names inside the parts, which may be chosen freely."""
    student.value(student.probe("outline", _OUTLINE), module)


def _state(student: Any, module: Any) -> dict:
    """A module's state, off the record: names that may be chosen freely must not hide a mistake."""
    return student._request("", record=False, do="state", target=module)


def _shape(tensor: Any) -> tuple:
    return tuple(tensor.shape) if isinstance(tensor, torch.Tensor) else ()


def _block_weights(C: int, F_: int, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    """Weights for a block under names of ours."""
    state = {}
    for attn in _ATTENTIONS:
        for name in (*_PROJECTIONS, "out_proj"):
            state[f"{attn}.{name}.weight"] = normal(C, C, scale=1.5 / C**0.5, dtype=dtype)
            state[f"{attn}.{name}.bias"] = normal(C, dtype=dtype)
    for name, shape in (("up", (F_, C)), ("down", (C, F_))):
        state[f"{name}.weight"] = normal(*shape, scale=0.5, dtype=dtype)
        state[f"{name}.bias"] = normal(shape[0], scale=0.5, dtype=dtype)
    for name in _NORMS:
        state[f"{name}.weight"] = 1 + normal(C, scale=0.5, dtype=dtype)
        state[f"{name}.bias"] = normal(C, scale=0.5, dtype=dtype)
    return state


def _stacked(attn: str, part: str, values: dict) -> Any:
    """Three projections of ours as nn.MultiheadAttention keeps them, in one parameter."""
    parts = [values[f"{attn}.{name}.{part}"] for name in _PROJECTIONS]
    return None if any(value is None for value in parts) else torch.cat(parts)


def _layout(parameters: dict, C: int, F_: int) -> dict[str, Any]:
    """For each parameter of a student's block, how its value is made of ours.

    The attentions may keep their projections in three layers (q_proj, k_proj, v_proj) or stacked, as
    nn.MultiheadAttention does; ff may have any names inside: its layers are found by their shapes (C and F differ).
    """
    makers: dict[str, Any] = {}

    def put(part: str, ending: str, shape: tuple, maker: Any) -> bool:
        for name, value in parameters.items():
            inner = str(name).removeprefix(part)
            if str(name).startswith(part) and f".{inner}".endswith(f".{ending}") and _shape(value) == shape:
                makers[name] = maker
                return True
        return False

    for attn in _ATTENTIONS:
        stacked = any(str(name).startswith(f"{attn}.") and "in_proj" in str(name) for name in parameters)
        for part, shape in (("weight", (C,)), ("bias", ())):
            wanted = {
                f"{name}.{part}": lambda values, key=f"{attn}.{name}.{part}": values[key]
                for name in (("out_proj",) if stacked else (*_PROJECTIONS, "out_proj"))
            }
            found = [put(f"{attn}.", ending, (C, *shape), maker) for ending, maker in wanted.items()]
            if stacked:
                found.append(
                    put(
                        f"{attn}.",
                        f"in_proj_{part}",
                        (3 * C, *shape),
                        lambda values, attn=attn, part=part: _stacked(attn, part, values),
                    )
                )
            if not all(found):
                raise Wrong(
                    f"{attn} has not the parameters of an attention of width {C}, its own ones: make it "
                    "Attention(embed_dim, num_heads), which is given, or your own module with q_proj, k_proj, v_proj and out_proj."
                )
    for role, shape in (("up", (F_, C)), ("down", (C, F_))):
        for name, value in parameters.items():
            if str(name).startswith("ff.") and str(name).endswith("weight") and _shape(value) == shape:
                bias = str(name).removesuffix("weight") + "bias"
                if _shape(parameters.get(bias)) == shape[:1]:
                    makers[name] = lambda values, key=f"{role}.weight": values[key]
                    makers[bias] = lambda values, key=f"{role}.bias": values[key]
                    break
        else:
            raise Wrong(
                f"With embed_dim = {C} and ff_dim = {F_}, ff should have a layer nn.Linear({shape[1]}, {shape[0]}), with a bias; none is found."
            )
    for norm in _NORMS:
        for part in ("weight", "bias"):
            key = f"{norm}.{part}"
            if _shape(parameters.get(key)) != (C,):
                raise Wrong(
                    f"The block has no `{key}` of shape ({C},): make `self.{norm} = nn.LayerNorm(embed_dim)`, one for each of the three norms."
                )
            makers[key] = lambda values, key=key: values[key]
    return makers


def _block(student: Any, C: int, H: int, F_: int, *args: Any, dtype: str = "") -> tuple[Any, dict, dict]:
    """A block, its new weights under names of ours, and how its parameters are made of them."""
    module = student.call("DecoderBlock", [C, H, F_, *args], {}, "while building it", keep=True)["value"]
    if dtype:
        student.move(module, dtype)
    try:
        makers = _layout(_state(student, module)["parameters"], C, F_)
    except Wrong:
        _outline(student, module)
        raise
    state = _block_weights(C, F_, torch.float64 if dtype else torch.float32)
    student.load(module, {name: maker(state) for name, maker in makers.items()})
    return module, state, makers


def _torchs_output(
    state: dict,
    H: int,
    x: torch.Tensor,
    memory: torch.Tensor,
    mask: torch.Tensor | None = None,
    memory_mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """What PyTorch's own block gives with the same weights."""
    F_, C = state["up.weight"].shape
    theirs = nn.TransformerDecoderLayer(C, H, F_, dropout=0.0, batch_first=True, dtype=x.dtype)
    own = {f"{norm}.{part}": state[f"{norm}.{part}"] for norm in _NORMS for part in ("weight", "bias")}
    for part in ("weight", "bias"):
        own |= {f"linear1.{part}": state[f"up.{part}"], f"linear2.{part}": state[f"down.{part}"]}
        for mine, name in zip(_ATTENTIONS, ("self_attn", "multihead_attn"), strict=True):
            own[f"{name}.in_proj_{part}"] = _stacked(mine, part, state)
            own[f"{name}.out_proj.{part}"] = state[f"{mine}.out_proj.{part}"]
    theirs.load_state_dict(own)
    masks = for_torch(mask, x, x, H), for_torch(memory_mask, x, memory, H)
    return theirs(x, memory, tgt_mask=masks[0], memory_mask=masks[1]).detach()


def _decoded(
    state: dict,
    H: int,
    x: torch.Tensor,
    memory: torch.Tensor,
    mask: torch.Tensor | None = None,
    memory_mask: torch.Tensor | None = None,
    nothing: bool = False,
) -> torch.Tensor:
    """The block written out, differentiable in the weights. With `nothing`, its three parts give zeros."""

    def attend(attn: str, x: torch.Tensor, context: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        q, k, v = (
            torch.stack(F.linear(y, state[f"{attn}.{p}.weight"], state[f"{attn}.{p}.bias"]).chunk(H, dim=-1), dim=1)
            for p, y in zip(_PROJECTIONS, (x, context, context), strict=True)
        )
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=None if mask is None else ~mask)
        merged = torch.cat(heads.unbind(1), dim=-1)
        return F.linear(merged, state[f"{attn}.out_proj.weight"], state[f"{attn}.out_proj.bias"])

    def feed(x: torch.Tensor) -> torch.Tensor:
        hidden = F.relu(F.linear(x, state["up.weight"], state["up.bias"]))
        return F.linear(hidden, state["down.weight"], state["down.bias"])

    def add_and_norm(number: int, x: torch.Tensor, part: Any) -> torch.Tensor:
        x = x if nothing else x + part(x)
        return F.layer_norm(x, x.shape[-1:], state[f"norm{number}.weight"], state[f"norm{number}.bias"])

    x = add_and_norm(1, x, lambda x: attend("self_attn", x, x, mask))
    x = add_and_norm(2, x, lambda x: attend("cross_attn", x, memory, memory_mask))
    return add_and_norm(3, x, feed)


def _same_block(got: Any, expected: torch.Tensor, where: str = "") -> None:
    if isinstance(got, (tuple, list)):
        raise Wrong(f"forward should return one tensor (B, T, C); yours returned {kind(got)}.")
    same_tensor(got, expected, _OUTPUT, where)


def _future(T: int) -> torch.Tensor:
    return torch.ones(T, T, dtype=torch.bool).triu(1)


def _some_mask(*shape: int) -> torch.Tensor:
    """Blocks about a third, never a whole row."""
    mask = normal(*shape) > 0.4
    mask[..., 0] &= ~mask.all(dim=-1)
    return mask


def _block_parts(student: Any) -> None:
    for C, H, F_ in ((6, 3, 9), (4, 1, 7)):
        with student.case():
            module = student.build("DecoderBlock", C, H, F_)
            _outline(student, module)
            state = _state(student, module)
            parameters = state["parameters"]
            for name in (*_ATTENTIONS, "ff", *_NORMS):
                if name not in state["children"] and not any(str(p).startswith(name + ".") for p in parameters):
                    raise Wrong(
                        f"The block has no part `{name}`: its parts are called self_attn, cross_attn, ff, norm1, norm2 and norm3."
                    )
            makers = _layout(parameters, C, F_)
            frozen = sorted(set(makers) - set(state["trainable"]))
            if frozen:
                raise Wrong(f"`{frozen[0]}` is frozen (requires_grad=False), so it cannot be trained.")
            extra = sorted(map(str, set(parameters) - set(makers)))
            if extra:
                raise Wrong(f"There are parameters that do not belong here: {', '.join(extra)[:120]}.")
    with student.case():
        student.build("DecoderBlock", embed_dim=4, num_heads=2, ff_dim=6, dropout=0.1)


def _block_values(student: Any) -> None:
    for B, T, S, C, H, F_ in BLOCKS:
        with student.case():
            module, state, _ = _block(student, C, H, F_)
            x, memory = normal(B, T, C), 2 * normal(B, S, C)
            where = f"for B = {B}, T = {T}, S = {S}, embed_dim = {C}, num_heads = {H}, ff_dim = {F_}, without masks"
            _same_block(student.value(module, x, memory, where=where), _torchs_output(state, H, x, memory), where)


def _block_masks(student: Any) -> None:
    for B, T, S, C, H, F_ in ((2, 4, 5, 6, 3, 9), (3, 3, 3, 6, 2, 8)):
        module, state, _ = _block(student, C, H, F_)
        x, memory = normal(B, T, C), 2 * normal(B, S, C)
        padding = torch.arange(S) >= torch.tensor([S, S - 2, S - 1])[:B, None]  # (B, S)
        for mask, memory_mask, where in (
            (_future(T), None, "with a causal mask (T, T)"),
            (None, padding[:, None, None], "with a memory_mask (B, 1, 1, S) that blocks padding"),
            (_future(T), padding[:, None, None], "with both masks, (T, T) and (B, 1, 1, S)"),
            (_some_mask(B, 1, T, T), None, "with a mask (B, 1, T, T), one for each sequence"),
            (None, _some_mask(T, S), "with a memory_mask (T, S)"),
            (_some_mask(T, T), _some_mask(B, 1, T, S), "with a mask (T, T) and a memory_mask (B, 1, T, S)"),
            (torch.zeros(T, T, dtype=torch.bool), torch.zeros(T, S, dtype=torch.bool), "with masks that block nothing"),
            (None, None, "without masks, after calls with some"),
        ):
            with student.case():
                place = f"{where}, for B = {B}, T = {T}, S = {S}"
                named = {"mask": mask, "memory_mask": memory_mask}
                kwargs = {name: value for name, value in named.items() if value is not None}
                got = student.call(module, [x, memory], kwargs, where=place)["value"]
                _same_block(got, _torchs_output(state, H, x, memory, mask, memory_mask), place)
    with student.case():
        where, masks = "with both masks given by position", [_future(3), padding[:, None, None]]
        _same_block(
            student.value(module, x, memory, *masks, where=where), _torchs_output(state, 2, x, memory, *masks), where
        )


def _block_leaks(student: Any) -> None:
    """With masks, no output depends on later tokens or on padding of the source; all depend on the rest."""
    module, state, _ = _block(student, 6, 2, 8)
    x, memory, masks = normal(2, 5, 6), normal(2, 4, 6), [_future(5), torch.tensor([False, False, False, True])[None]]
    masks[1] = masks[1].expand(2, 4)[:, None, None]
    before = student.value(module, x, memory, *masks)
    _same_block(before, _torchs_output(state, 2, x, memory, *masks))
    for t in range(1, 5):
        with student.case():
            changed = x.clone()
            changed[:, t] = 3 * normal(2, 6)
            after = a_tensor(student.value(module, changed, memory, *masks), _OUTPUT)
            if after.shape != before.shape or not close(after[:, :t], before[:, :t]):
                raise Wrong(f"With a causal mask, earlier outputs move when token {t} is changed: the future leaks in.")
            if close(after[:, t:], before[:, t:]):
                raise Wrong(f"Changing token {t} changes no output at all.")
    for s in range(4):
        with student.case():
            changed = memory.clone()
            changed[:, s] = 3 * normal(2, 6)
            after = a_tensor(student.value(module, x, changed, *masks), _OUTPUT)
            moved = after.shape != before.shape or not close(after, before)
            if moved and s == 3:
                raise Wrong(
                    "Outputs move when a blocked position of memory is changed: padding of the source leaks in."
                )
            if not moved and s < 3:
                raise Wrong(f"Changing position {s} of memory changes no output at all.")


def _block_dropout(student: Any) -> None:
    """Where (nearly) everything is dropped, three norms of x are left.

    With p = 1 − 1e-9 the few hundred numbers that are drawn survive with a probability below 1e-6.
    """
    for B, T, S in ((2, 4, 3), (1, 6, 5)):
        with student.case():
            x, memory = normal(B, T, 6), normal(B, S, 6)
            module, state, _ = _block(student, 6, 3, 8, 1 - 1e-9)
            expected = _decoded(state, 3, x, memory, nothing=True)
            where = "in training with a dropout close to 1"
            got = student.call(module, [x, memory], training=True, where=where)["value"]
            if _shape(got) == _shape(expected) and not close(got, expected):
                raise Wrong(
                    "In training with a dropout close to 1, only norm3(norm2(norm1(x))) should be left; yours gives something else. Dropout "
                    "acts on what each of the three parts gives, before it is added, and nowhere on x itself."
                )
            _same_block(got, expected, where)


def _block_modes(student: Any) -> None:
    x, memory = normal(2, 5, 6), normal(2, 3, 6)
    for args, training, where in (
        ([0.9], False, "in evaluation mode with dropout = 0.9"),
        ([0.0], True, "in training mode with dropout = 0.0"),
        ([], True, "in training mode with the default dropout of 0"),
    ):
        with student.case():
            module, state, _ = _block(student, 6, 3, 8, *args)
            answer = student.call(module, [x, memory], where=where, training=training)
            _same_block(answer["value"], _torchs_output(state, 3, x, memory), where)
            if not training:
                quietly_called(answer)


def _block_gradient(student: Any) -> None:
    for masks, dtype in (
        ([], torch.float32),
        ([_future(5), _some_mask(2, 1, 1, 3)], torch.float64),
    ):
        with student.case():
            module, state, makers = _block(student, 8, 2, 5, dtype="float64" if dtype == torch.float64 else "")
            inputs, names = [normal(2, 5, 8, dtype=dtype), normal(2, 3, 8, dtype=dtype)], list(state)
            where = "with masks" if masks else "without masks"
            got = student.value(module, *inputs, *masks, where=where)
            _same_block(got, _torchs_output(state, 2, *inputs, *masks), where)
            expected, upstream = gradients_of(
                lambda x, memory, *leaves, masks=masks: _decoded(
                    dict(zip(names, leaves, strict=True)), 2, x, memory, *masks
                ),
                [*inputs, *state.values()],
            )
            answer = student.call(module, [*inputs, *masks], upstream=upstream, where=where)
            rough = dtype == torch.float32
            same_gradients(answer["gradients"].get("inputs", []), expected[:2], ["x", "memory"], where, rough)
            ours = dict(zip(names, expected[2:], strict=True))
            mine = [answer["gradients"].get("parameters", {}).get(name) for name in makers]
            same_gradients(
                mine, [maker(ours) for maker in makers.values()], [f"`{name}`" for name in makers], where, rough
            )


def _block_manners(student: Any) -> None:
    x, memory, masks = normal(2, 5, 6), normal(2, 3, 6), [_future(5), _some_mask(2, 1, 1, 3)]
    with student.case():
        module, state, makers = _block(student, 6, 2, 9)
        other, other_state, _ = _block(student, 6, 2, 9)
        for given in ([x, memory], [x, memory, *masks]):
            answer = student.call(module, given)
            unchanged(answer["inputs"], given, "x, memory or a mask")
            _same_block(answer["value"], _torchs_output(state, 2, *given))
        _same_block(student.value(other, x, memory), _torchs_output(other_state, 2, x, memory), "of a second block")
        after = _state(student, module)["parameters"]
        if any(name in after and not torch.equal(after[name], maker(state)) for name, maker in makers.items()):
            raise Wrong("A call changes the module's parameters: only training may do that.")
    with student.case():
        wide, wide_state, _ = _block(student, 8, 2, 4, dtype="float64")
        given = [normal(2, 4, 8, dtype=torch.float64), normal(2, 3, 8, dtype=torch.float64), _future(4)]
        _same_block(
            student.value(wide, *given, where="in float64"), _torchs_output(wide_state, 2, *given), "in float64"
        )
    with student.case():
        module = student.build("DecoderBlock", 6, 2, 9)
        device_is_kept(student, module, [x, memory])
        device_is_kept(student, module, [x, memory, *masks])


_SELF = "self.self_attn = Attention(embed_dim, num_heads)"
_CROSS = "self.cross_attn = Attention(embed_dim, num_heads)"
_FF = "self.ff = nn.Sequential(nn.Linear(embed_dim, ff_dim), nn.ReLU(), nn.Linear(ff_dim, embed_dim))"
_NORM = {n: f"self.norm{n} = nn.LayerNorm(embed_dim)" for n in (1, 2, 3)}
_DROPOUT = "self.dropout = nn.Dropout(dropout)"
_LINE1 = "x = self.norm1(x + self.dropout(self.self_attn(x, mask)))"
_LINE2 = "x = self.norm2(x + self.dropout(self.cross_attn(x, memory_mask, context=memory)))"
_LINE3 = "return self.norm3(x + self.dropout(self.ff(x)))"
_CROSSED = "self.cross_attn(x, memory_mask, context=memory)"
_FORWARD = "    def forward(self, x, memory, mask=None, memory_mask=None):\n"
_INIT = "embed_dim, num_heads, ff_dim, dropout=0.0"
_SUPER = "        super().__init__()\n"


def _lines(first: str = _LINE1, second: str = _LINE2, third: str = _LINE3) -> list[tuple[str, str]]:
    return [(_LINE1, first), (_LINE2, second), (_LINE3, third)]


def _ff(*layers: str) -> tuple[str, str]:
    return _FF, f"self.ff = nn.Sequential({', '.join(layers)})"


_UP, _DOWN = "nn.Linear(embed_dim, ff_dim)", "nn.Linear(ff_dim, embed_dim)"

DECODER_BLOCK = Exercise(
    name="DecoderBlock",
    notebook="11-translation",
    points=8,
    reference=DecoderBlock,
    checks=[
        Check("self_attn, cross_attn, ff, norm1 to norm3, and nothing else that trains", 1.0, _block_parts),
        Check("equals nn.TransformerDecoderLayer with the same weights", 2.5, _block_values),
        Check("mask for self-attention, memory_mask for cross-attention", 1.5, _block_masks),
        Check("nothing leaks from later tokens or from padding", 0.75, _block_leaks),
        Check("dropout acts on the three parts, not on x", 0.5, _block_dropout),
        Check("no dropout in evaluation, nor with dropout = 0", 0.5, _block_modes),
        Check("gradients reach x, memory and every parameter", 0.75, _block_gradient),
        Check("inputs unchanged, blocks independent, float64, device", 0.5, _block_manners),
    ],
    working=written(
        """
        from torch import nn

        class DecoderBlock(nn.Module):
            def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.0):
                super().__init__()
                self.num_heads = num_heads
                self.self_attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)
                self.cross_attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)
                self.ff = nn.Sequential(
                    nn.Linear(embed_dim, ff_dim), nn.ReLU(), nn.Linear(ff_dim, embed_dim), nn.Dropout(dropout)
                )
                self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(embed_dim) for _ in range(3))
                self.dropout = nn.Dropout(dropout)

            def attend(self, attn, x, context, mask):
                if mask is not None:
                    mask = mask.expand(x.shape[0], self.num_heads, x.shape[1], context.shape[1]).flatten(0, 1)
                return self.dropout(attn(x, context, context, attn_mask=mask, need_weights=False)[0])

            def forward(self, x, memory, mask=None, memory_mask=None):
                x = self.norm1(x + self.attend(self.self_attn, x, x, mask))
                x = self.norm2(x + self.attend(self.cross_attn, x, memory, memory_mask))
                return self.norm3(x + self.ff(x))
        """
    ),
    mistakes=_mistakes(
        DecoderBlock,
        # --- the three parts and their order
        (
            "cross_attention_missing",
            "Cross-attention is not used, so memory makes no difference: between self-attention and ff, x attends to memory.",
            (_LINE2, "x = self.norm2(x)"),
            (_LINE2 + "  # queries x, the rest memory\n", "\n"),
        ),
        (
            "cross_attends_to_itself",
            "Cross-attention takes its keys and values from x: they come from memory (context=memory), only the queries come from x.",
            (_CROSSED, "self.cross_attn(x)"),
            (_CROSSED, "self.cross_attn(x, memory_mask)"),
            (_CROSSED, "self.cross_attn(x, mask)"),
        ),
        (
            "cross_roles_swapped",
            "Queries and context are the wrong way round in cross-attention: x asks (queries), memory answers (keys and values).",
            (_CROSSED, "self.cross_attn(memory, memory_mask, context=x)"),
            (_CROSSED, "self.cross_attn(memory, context=x)"),
        ),
        (
            "memory_attends_to_itself",
            "Cross-attention takes its queries from memory as well: they come from x.",
            (_CROSSED, "self.cross_attn(memory, memory_mask, context=memory)"),
            (_CROSSED, "self.cross_attn(memory, memory_mask)"),
            (_CROSSED, "self.cross_attn(memory)"),
        ),
        (
            "keys_and_values_differ",
            "Keys come from one sequence and values from another: in cross-attention both come from memory.",
            [
                (_CROSS, "self.cross_attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)"),
                (_CROSSED, "self.cross_attn(x, memory, x)[0]"),
            ],
            [
                (_CROSS, "self.cross_attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)"),
                (_CROSSED, "self.cross_attn(x, x, memory)[0]"),
            ],
        ),
        (
            "self_attends_to_memory",
            "Self-attention takes its keys and values from memory: in self-attention all three come from x.",
            ("self.self_attn(x, mask)", "self.self_attn(x, mask, memory)"),
            ("self.self_attn(x, mask)", "self.self_attn(x, memory_mask, memory)"),
            ("self.self_attn(x, mask)", "self.self_attn(x, None, memory)"),
        ),
        (
            "self_attention_missing",
            "Self-attention is not used: the block begins with it.",
            (_LINE1, "x = self.norm1(x)"),
            (_LINE1 + "  # (B, T, C): what has been written\n", "\n"),
        ),
        (
            "attentions_swapped",
            "The two attentions are swapped: self_attn reads x, cross_attn reads memory (each has weights of its own).",
            [
                ("self.self_attn(x", "self.other(x"),
                ("self.cross_attn(x", "self.self_attn(x"),
                ("self.other(x", "self.cross_attn(x"),
            ],
        ),
        (
            "cross_attention_first",
            "Cross-attention comes before self-attention: first self-attention, then cross-attention, then ff.",
            _lines(
                "x = self.norm1(x + self.dropout(self.cross_attn(x, memory_mask, context=memory)))",
                "x = self.norm2(x + self.dropout(self.self_attn(x, mask)))",
            ),
            _lines(
                "x = self.norm2(x + self.dropout(self.cross_attn(x, memory_mask, context=memory)))",
                "x = self.norm1(x + self.dropout(self.self_attn(x, mask)))",
            ),
        ),
        (
            "feed_forward_early",
            "The feed-forward network stands in the wrong place (before cross-attention, or first): it comes last.",
            _lines(
                _LINE1,
                "x = self.norm3(x + self.dropout(self.ff(x)))",
                "return self.norm2(x + self.dropout(self.cross_attn(x, memory_mask, context=memory)))",
            ),
            _lines(
                _LINE1,
                "x = self.norm2(x + self.dropout(self.ff(x)))",
                "return self.norm3(x + self.dropout(self.cross_attn(x, memory_mask, context=memory)))",
            ),
        ),
        (
            "one_attention_for_both",
            "One attention does both jobs: self_attn and cross_attn have weights of their own.",
            (_CROSSED, "self.self_attn(x, memory_mask, context=memory)"),
            (_CROSS, "self.cross_attn = self.self_attn"),
            ("self.self_attn(x, mask)", "self.cross_attn(x, mask)"),
        ),
        (
            "in_parallel",
            "Both attentions start from the same x and their results are added together: cross-attention reads what comes out of norm1.",
            _lines(
                "y = self.norm1(x + self.dropout(self.self_attn(x, mask)))",
                "x = self.norm2(y + self.dropout(self.cross_attn(x, memory_mask, context=memory)))",
            ),
            _lines(
                "x = self.norm1(x + self.dropout(self.self_attn(x, mask)) + self.dropout(self.cross_attn(x, memory_mask, context=memory)))",
                "x = self.norm2(x)",
            ),
        ),
        (
            "memory_added",
            "memory is added to x, or appended to it: cross-attention is the only way from memory to x.",
            (_FORWARD, _FORWARD + "        x = x + memory\n"),
            (_CROSSED, "memory"),
            (_CROSSED, "memory.mean(dim=1, keepdim=True)"),
            (_LINE2, _LINE2 + "\n        x = torch.cat([memory, x], dim=1)"),
        ),
        (
            "feed_forward_missing",
            "The feed-forward network is not used.",
            (_LINE3, "return self.norm3(x)"),
            (_LINE3, "return x"),
        ),
        # --- residuals and norms
        (
            "residual_missing",
            "x is not added to what a part gives (no residual connection): norm(x + part(x)), three times.",
            _lines(
                "x = self.norm1(self.dropout(self.self_attn(x, mask)))",
                f"x = self.norm2(self.dropout({_CROSSED}))",
                "return self.norm3(self.dropout(self.ff(x)))",
            ),
            (_LINE1, "x = self.norm1(self.dropout(self.self_attn(x, mask)))"),
            (_LINE2, f"x = self.norm2(self.dropout({_CROSSED}))"),
            (_LINE3, "return self.norm3(self.dropout(self.ff(x)))"),
        ),
        (
            "residual_from_the_start",
            "The block's own input is added again later on: each residual connection goes around one part only, from what went into that part.",
            [
                (_LINE1, "start = x\n        " + _LINE1),
                (_LINE2, _LINE2.replace("norm2(x +", "norm2(start +")),
                (_LINE3, _LINE3.replace("norm3(x +", "norm3(start +")),
            ],
            [(_LINE1, "start = x\n        " + _LINE1), (_LINE2, _LINE2.replace("norm2(x +", "norm2(start +"))],
            [(_LINE1, "start = x\n        " + _LINE1), (_LINE3, _LINE3.replace("norm3(x +", "norm3(start +"))],
        ),
        (
            "residual_of_memory",
            "memory is added where x should be: the residual connection of cross-attention goes around it, from x.",
            (_LINE2, _LINE2.replace("norm2(x +", "norm2(memory +")),
        ),
        (
            "pre_norm",
            "The norms stand before the parts (pre-norm): here they come after each sum, norm(x + part(x)), as in 2017.",
            _lines(
                "x = x + self.dropout(self.self_attn(self.norm1(x), mask))",
                "x = x + self.dropout(self.cross_attn(self.norm2(x), memory_mask, context=memory))",
                "return x + self.dropout(self.ff(self.norm3(x)))",
            ),
        ),
        (
            "part_normalised",
            "The norm is applied to what a part gives, before it is added: it is the *sum* that is normalised.",
            _lines(
                "x = x + self.norm1(self.dropout(self.self_attn(x, mask)))",
                f"x = x + self.norm2(self.dropout({_CROSSED}))",
                "return x + self.norm3(self.dropout(self.ff(x)))",
            ),
            (_LINE2, f"x = x + self.norm2(self.dropout({_CROSSED}))"),
        ),
        (
            "norm_missing",
            "A norm is not applied: each of the three sums is followed by its own.",
            (_LINE1, "x = x + self.dropout(self.self_attn(x, mask))"),
            (_LINE2, f"x = x + self.dropout({_CROSSED})"),
            (_LINE3, "return x + self.dropout(self.ff(x))"),
            _lines(
                "x = x + self.dropout(self.self_attn(x, mask))",
                f"x = x + self.dropout({_CROSSED})",
                _LINE3,
            ),
        ),
        (
            "norm_used_twice",
            "One norm is used in several places: norm1 belongs to self-attention, norm2 to cross-attention, norm3 to ff.",
            (_LINE2, _LINE2.replace("norm2", "norm1")),
            (_LINE3, _LINE3.replace("norm3", "norm2")),
            (_LINE3, _LINE3.replace("norm3", "norm1")),
            [(_LINE2, _LINE2.replace("norm2", "norm1")), (_LINE3, _LINE3.replace("norm3", "norm1"))],
            (_NORM[2], "self.norm2 = self.norm1"),
            [
                (_NORM[1], "self.norm1, self.norm2, self.norm3 = [nn.LayerNorm(embed_dim)] * 3"),
                (_NORM[2], "pass"),
                (_NORM[3], "pass"),
            ],
            (_NORM[3], "self.norm3 = self.norm2"),
        ),
        (
            "norms_out_of_order",
            "The norms are in another order: norm1 after self-attention, norm2 after cross-attention, norm3 after ff.",
            [(_LINE2, _LINE2.replace("norm2", "norm3")), (_LINE3, _LINE3.replace("norm3", "norm2"))],
            [(_LINE1, _LINE1.replace("norm1", "norm2")), (_LINE2, _LINE2.replace("norm2", "norm1"))],
            [(_LINE1, _LINE1.replace("norm1", "norm3")), (_LINE3, _LINE3.replace("norm3", "norm1"))],
        ),
        (
            "memory_normalised",
            "memory is normalised (or dropped out): it is used as it comes from the encoder.",
            (_FORWARD, _FORWARD + "        memory = F.layer_norm(memory, memory.shape[-1:])\n"),
            ("context=memory", "context=self.norm2(memory)"),
        ),
        # --- masks
        (
            "masks_ignored",
            "The masks (or one of them) are not passed on to the attention.",
            [("self.self_attn(x, mask)", "self.self_attn(x)"), (_CROSSED, "self.cross_attn(x, None, memory)")],
        ),
        (
            "mask_ignored",
            "mask is not passed on to self-attention, so every token sees the ones after it.",
            ("self.self_attn(x, mask)", "self.self_attn(x)"),
        ),
        (
            "memory_mask_ignored",
            "memory_mask is not passed on to cross-attention, so it reads the padding of the source.",
            (_CROSSED, "self.cross_attn(x, None, memory)"),
        ),
        (
            "masks_swapped",
            "The masks are swapped: mask (T, T) is for self-attention, memory_mask (T, S) for cross-attention.",
            [
                ("self.self_attn(x, mask)", "self.self_attn(x, memory_mask)"),
                (_CROSSED, "self.cross_attn(x, mask, memory)"),
            ],
            ("mask=None, memory_mask=None", "memory_mask=None, mask=None"),
        ),
        (
            "mask_for_both",
            "mask is used in cross-attention too: it has a mask of its own, memory_mask. A translation may look at the whole source.",
            (_CROSSED, "self.cross_attn(x, mask, memory)"),
            (
                _CROSSED,
                "self.cross_attn(x, memory_mask if mask is None or mask.shape[-1] != memory.shape[1] else mask if memory_mask is None else mask | memory_mask, memory)",
            ),
        ),
        (
            "memory_mask_for_both",
            "memory_mask is used in self-attention: it belongs to cross-attention, mask to self-attention.",
            ("self.self_attn(x, mask)", "self.self_attn(x, memory_mask)"),
        ),
        (
            "mask_inverted",
            "A mask is turned round: True means blocked, here as in nn.MultiheadAttention.",
            ("self.self_attn(x, mask)", "self.self_attn(x, None if mask is None else ~mask)"),
            (_CROSSED, "self.cross_attn(x, None if memory_mask is None else ~memory_mask, memory)"),
            [
                ("self.self_attn(x, mask)", "self.self_attn(x, None if mask is None else ~mask)"),
                (_CROSSED, "self.cross_attn(x, None if memory_mask is None else ~memory_mask, memory)"),
            ],
        ),
        (
            "mask_made_numbers",
            "A mask is turned into the numbers 0 and 1, which are added to the scores: it stays boolean, True = blocked.",
            ("self.self_attn(x, mask)", "self.self_attn(x, None if mask is None else mask.to(x.dtype))"),
            (_CROSSED, "self.cross_attn(x, None if memory_mask is None else memory_mask.to(x.dtype), context=memory)"),
        ),
        (
            "cross_only_with_a_mask",
            "Cross-attention happens only if there is a memory_mask: None means that nothing is blocked.",
            (_LINE2, "if memory_mask is not None:\n            " + _LINE2),
        ),
        (
            "always_causal",
            "A causal mask is made inside, whatever mask says: the block blocks what the masks it is given block, no more.",
            (
                _FORWARD,
                _FORWARD
                + "        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)\n",
            ),
            (
                _FORWARD,
                _FORWARD
                + "        if mask is None:\n            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)\n",
            ),
        ),
        (
            "masks_as_torch_wants_them",
            "nn.MultiheadAttention is given the masks as they come: it wants (T, S) or (B·H, T, S), and rejects (B, 1, T, S). Attention, which is "
            "given, sees to it.",
            [
                (_SELF, "self.self_attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)"),
                (_CROSS, "self.cross_attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)"),
                ("self.self_attn(x, mask)", "self.self_attn(x, x, x, attn_mask=mask)[0]"),
                (_CROSSED, "self.cross_attn(x, memory, memory, attn_mask=memory_mask)[0]"),
            ],
        ),
        (
            "batch_not_first",
            "nn.MultiheadAttention without batch_first=True takes the first dimension for the tokens: (B, T, C) needs batch_first=True.",
            [
                (_SELF, "self.self_attn = nn.MultiheadAttention(embed_dim, num_heads)"),
                ("self.self_attn(x, mask)", "self.self_attn(x, x, x)[0]"),
            ],
            [
                (_SELF, "self.self_attn = nn.MultiheadAttention(embed_dim, num_heads)"),
                (_CROSS, "self.cross_attn = nn.MultiheadAttention(embed_dim, num_heads)"),
                ("self.self_attn(x, mask)", "self.self_attn(x, x, x, attn_mask=mask)[0]"),
                (_CROSSED, "self.cross_attn(x, memory, memory, attn_mask=memory_mask)[0]"),
            ],
        ),
        (
            "pair_not_unpacked",
            "nn.MultiheadAttention returns a pair (output, weights): take the first.",
            [
                (_SELF, "self.self_attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)"),
                ("self.self_attn(x, mask)", "self.self_attn(x, x, x, attn_mask=mask)"),
            ],
        ),
        # --- parts as built
        (
            "other_names",
            "The parts have other names: they are called self_attn, cross_attn, ff, norm1, norm2 and norm3.",
            [
                (_CROSS, _CROSS.replace("cross_attn", "multihead_attn")),
                (_CROSSED, _CROSSED.replace("cross_attn", "multihead_attn")),
            ],
            [("self.ff", "self.feed_forward")],
            [("self.norm1", "self.ln1"), ("self.norm2", "self.ln2"), ("self.norm3", "self.ln3")],
            """
            class DecoderBlock(nn.TransformerDecoderLayer):
                def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.0):
                    super().__init__(embed_dim, num_heads, ff_dim, dropout, batch_first=True)

                def forward(self, x, memory, mask=None, memory_mask=None):
                    return super().forward(x, memory, tgt_mask=mask, memory_mask=memory_mask)
            """,
        ),
        (
            "one_head",
            "num_heads does not reach the attention (or only one of the two): Attention(embed_dim, num_heads).",
            [(_SELF, _SELF.replace("num_heads", "1")), (_CROSS, _CROSS.replace("num_heads", "1"))],
            (_SELF, _SELF.replace("num_heads", "1")),
            (_CROSS, _CROSS.replace("num_heads", "1")),
        ),
        (
            "ff_dim_ignored",
            "ff_dim is not used: the hidden width is the ff_dim that is given (not 4 * embed_dim), in ff alone.",
            _ff("nn.Linear(embed_dim, 4 * embed_dim)", "nn.ReLU()", "nn.Linear(4 * embed_dim, embed_dim)"),
            _ff("nn.Linear(embed_dim, embed_dim)", "nn.ReLU()", "nn.Linear(embed_dim, embed_dim)"),
        ),
        (
            "no_activation",
            "ff has no ReLU between its two layers (or another activation, or one more after them).",
            _ff(_UP, _DOWN),
            _ff(_UP, "nn.GELU()", _DOWN),
            _ff(_UP, "nn.ReLU()", _DOWN, "nn.ReLU()"),
            _ff(_UP, "nn.Tanh()", _DOWN),
        ),
        (
            "no_biases",
            "ff has no biases: nn.Linear with its default bias.",
            _ff("nn.Linear(embed_dim, ff_dim, bias=False)", "nn.ReLU()", "nn.Linear(ff_dim, embed_dim, bias=False)"),
        ),
        (
            "norm_inside_ff",
            "There are parts too many (a fourth norm, say): three norms, one after each part, are all.",
            _ff(_UP, "nn.ReLU()", _DOWN, "nn.LayerNorm(embed_dim)"),
            [(_DROPOUT, _DROPOUT + "\n        self.norm4 = nn.LayerNorm(embed_dim)")],
            [
                (_DROPOUT, _DROPOUT + "\n        self.out = nn.Linear(embed_dim, embed_dim)"),
                (_LINE3, _LINE3.replace("return ", "return self.out(") + ")"),
            ],
        ),
        (
            "norm_of_another_kind",
            "A norm is of another kind or eps: nn.LayerNorm(embed_dim), with its default eps.",
            (_NORM[2], "self.norm2 = nn.LayerNorm(embed_dim, eps=0.1)"),
            (_NORM[2], "self.norm2 = nn.LayerNorm(embed_dim, dropout)"),
            (_NORM[2], "self.norm2 = nn.BatchNorm1d(embed_dim)"),
            [
                (
                    "self.norm3(x + self.dropout(self.ff(x)))",
                    "(lambda y: F.layer_norm(y, y.shape[-2:]) * self.norm3.weight + self.norm3.bias)(x + self.dropout(self.ff(x)))",
                )
            ],
        ),
        (
            "norm_is_not_layer_norm",
            "The norms are not layer norms over embed_dim features: nn.LayerNorm(embed_dim), three of them.",
            [
                (line, line.replace("nn.LayerNorm(embed_dim)", "nn.LayerNorm(embed_dim, elementwise_affine=False)"))
                for line in _NORM.values()
            ],
            [(line, line.replace("nn.LayerNorm(embed_dim)", "nn.LayerNorm(ff_dim)")) for line in _NORM.values()],
        ),
        (
            "layers_in_a_list",
            "Layers stand in a Python list (or inside a lambda), where nn.Module does not find their parameters: nn.Sequential or nn.ModuleList.",
            (
                _FF,
                "layers = [nn.Linear(embed_dim, ff_dim), nn.Linear(ff_dim, embed_dim)]\n        self.ff = lambda x: layers[1](layers[0](x).relu())",
            ),
            [
                (_FF, "self.ff = [nn.Linear(embed_dim, ff_dim), nn.ReLU(), nn.Linear(ff_dim, embed_dim)]"),
                ("self.ff(x)", "self.ff[2](self.ff[1](self.ff[0](x)))"),
            ],
        ),
        (
            "made_in_forward",
            "A part is made anew in every forward pass, so nothing that is learned or loaded is ever used: make parts in __init__.",
            (_CROSSED, "Attention(x.shape[-1], self.cross_attn.inner.num_heads).to(x)(x, memory_mask, context=memory)"),
            (_LINE3, "return nn.LayerNorm(x.shape[-1]).to(x)(x + self.dropout(self.ff(x)))"),
        ),
        # --- dropout
        (
            "no_dropout",
            "Dropout is missing after one of the three parts (or after all): it acts on what a part gives, before it is added.",
            [
                ("self.dropout(self.self_attn(x, mask))", "self.self_attn(x, mask)"),
                (f"self.dropout({_CROSSED})", _CROSSED),
                ("self.dropout(self.ff(x))", "self.ff(x)"),
            ],
            ("self.dropout(self.self_attn(x, mask))", "self.self_attn(x, mask)"),
            (f"self.dropout({_CROSSED})", _CROSSED),
            ("self.dropout(self.ff(x))", "self.ff(x)"),
        ),
        (
            "dropout_on_the_sum",
            "Dropout acts on the sum or on the result: it acts on what a part gives, before x is added.",
            _lines(
                "x = self.norm1(self.dropout(x + self.self_attn(x, mask)))",
                f"x = self.norm2(self.dropout(x + {_CROSSED}))",
                "return self.norm3(self.dropout(x + self.ff(x)))",
            ),
            _lines(
                "x = self.dropout(self.norm1(x + self.self_attn(x, mask)))",
                f"x = self.dropout(self.norm2(x + {_CROSSED}))",
                "return self.dropout(self.norm3(x + self.ff(x)))",
            ),
            (_LINE3, "return self.dropout(self.norm3(x + self.dropout(self.ff(x))))"),
            (_FORWARD, _FORWARD + "        x = self.dropout(x)\n"),
        ),
        (
            "dropout_in_evaluation",
            "Dropout is at work in evaluation mode too: F.dropout needs `training=self.training`; nn.Dropout sees to it by itself.",
            [(_DROPOUT, "self.p = dropout"), ("self.dropout(", "F.dropout(p=self.p, input=")],
        ),
        (
            "dropout_keeps",
            "`dropout` is taken for the probability of keeping: it is that of dropping, as in nn.Dropout.",
            (_DROPOUT, "self.dropout = nn.Dropout(1 - dropout)"),
        ),
        (
            "dropout_fixed",
            "The probability of dropout is a fixed number, or its default is not 0.",
            (_DROPOUT, "self.dropout = nn.Dropout(0.1)"),
            (_DROPOUT, "self.dropout = nn.Dropout()"),
            ("dropout=0.0", "dropout=0.1"),
        ),
        (
            "arguments_reordered",
            "The parameters of `__init__` are not (embed_dim, num_heads, ff_dim, dropout=0.0), in this order and with these names.",
            (_INIT, "embed_dim, ff_dim, num_heads, dropout=0.0"),
            (_INIT, "embed_dim, num_heads, ff_dim, dropout"),
            [
                (_INIT, "d_model, nhead, ff_dim, dropout=0.0"),
                (_SUPER, _SUPER + "        embed_dim, num_heads = d_model, nhead\n"),
            ],
        ),
        (
            "memory_first",
            "The parameters of `forward` are not (x, memory, mask=None, memory_mask=None): x first, then memory.",
            ("(self, x, memory, mask=None, memory_mask=None)", "(self, memory, x, mask=None, memory_mask=None)"),
        ),
        (
            "masks_required",
            "mask and memory_mask are required: their default is None.",
            ("mask=None, memory_mask=None", "mask, memory_mask"),
            ("mask=None, memory_mask=None", "mask, memory_mask=None"),
        ),
        # --- manners
        (
            "in_place",
            "x (or memory, or a mask) is changed in place: the caller's tensor is different afterwards. Write `x = x + …`.",
            (_LINE1, "x += self.dropout(self.self_attn(x, mask))\n        x = self.norm1(x)"),
            (_FORWARD, _FORWARD + "        memory.data.mul_(1.0).add_(1e-3)\n"),
        ),
        (
            "detached",
            "Part of the computation is cut off (`detach`, `.data`, `no_grad`), so that no gradient comes through it.",
            (_LINE3, _LINE3 + ".detach()"),
            ("context=memory", "context=memory.detach()"),
            ("self.self_attn(x, mask)", "self.self_attn(x.detach(), mask)"),
            (_CROSSED, _CROSSED + ".detach()"),
        ),
        (
            "frozen",
            "Parameters do not train (requires_grad=False).",
            (_DROPOUT, _DROPOUT + "\n        self.requires_grad_(False)"),
            (_DROPOUT, _DROPOUT + "\n        self.cross_attn.requires_grad_(False)"),
        ),
        (
            "dtype_changed",
            "The dtype is not kept (a `.float()`): float64 goes in, float64 comes out.",
            (_LINE3, _LINE3 + ".float()"),
            (_FORWARD, _FORWARD + "        x = x.float()\n"),
        ),
        (
            "device_not_kept",
            "A tensor is made without `device=…`, so this fails on a GPU.",
            (_FORWARD, _FORWARD + "        x = x + torch.zeros(x.shape[1:], dtype=x.dtype)\n"),
        ),
        (
            "more_than_one_returned",
            "More than one thing is returned: forward gives one tensor of x's shape.",
            (_LINE3, _LINE3 + ", memory"),
        ),
        (
            "memory_returned",
            "The result has the shape of memory (or is memory): the block gives a new x, of x's shape.",
            (_LINE3, "return memory"),
        ),
        (
            "nothing_returned",
            _NOTHING,
            (_LINE3, _LINE3.replace("return ", "x = ")),
            (_LINE3, _LINE3.replace("return ", "print(") + ")"),
        ),
        (
            "no_super",
            "`super().__init__()` is missing: nn.Module must be set up before parts can be assigned.",
            (_SUPER, ""),
        ),
        (
            "not_a_module",
            "The class does not inherit from nn.Module: its parameters cannot be found, moved, saved or trained.",
            [("class DecoderBlock(nn.Module)", "class DecoderBlock"), (_SUPER, ""), ("def forward", "def __call__")],
        ),
        (
            "forward_misspelt",
            "There is no method `forward`: nn.Module calls the method of exactly this name.",
            ("def forward", "def foward"),
        ),
    ),
    alternatives=_alternatives(
        DecoderBlock,
        own_attention="""
        class MultiHead(nn.Module):
            def __init__(self, embed_dim, num_heads):
                super().__init__()
                self.H = num_heads
                self.q_proj = nn.Linear(embed_dim, embed_dim)
                self.k_proj = nn.Linear(embed_dim, embed_dim)
                self.v_proj = nn.Linear(embed_dim, embed_dim)
                self.out_proj = nn.Linear(embed_dim, embed_dim)

            def forward(self, x, mask=None, context=None):
                context = x if context is None else context
                q, k, v = [
                    y.unflatten(-1, (self.H, -1)).transpose(1, 2)
                    for y in (self.q_proj(x), self.k_proj(context), self.v_proj(context))
                ]
                scores = q @ k.mT / q.shape[-1] ** 0.5
                if mask is not None:
                    scores = scores.masked_fill(mask, -torch.inf)
                return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


        class FeedForward(nn.Module):
            def __init__(self, C, hidden, p):
                super().__init__()
                self.w2, self.w1, self.p = nn.Linear(hidden, C), nn.Linear(C, hidden), nn.Dropout(p)

            def forward(self, x):
                return self.p(self.w2(self.p(F.relu(self.w1(x)))))


        class DecoderBlock(nn.Module):
            def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.0):
                super().__init__()
                self.norm1, self.norm2, self.norm3 = [nn.LayerNorm(embed_dim) for _ in range(3)]
                self.dropout1, self.dropout2 = nn.Dropout(dropout), nn.Dropout(dropout)
                self.self_attn = MultiHead(embed_dim, num_heads)
                self.cross_attn = MultiHead(embed_dim, num_heads)
                self.ff = FeedForward(embed_dim, ff_dim, dropout)

            def forward(self, x, memory, mask=None, memory_mask=None):
                a = self.self_attn(x, mask=mask)
                x = self.norm1(self.dropout1(a) + x)
                b = self.cross_attn(x, context=memory, mask=memory_mask)
                x = self.norm2(self.dropout2(b) + x)
                return self.norm3(self.ff(x) + x)
        """,
        torchs_attention_inside="""
        class DecoderBlock(nn.Module):
            def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.0):
                super().__init__()
                self.heads = num_heads
                self.self_attn = nn.MultiheadAttention(embed_dim, num_heads, dropout, batch_first=True)
                self.cross_attn = nn.MultiheadAttention(embed_dim, num_heads, dropout, batch_first=True)
                self.ff = nn.Sequential(
                    nn.Linear(embed_dim, ff_dim), nn.ReLU(), nn.Dropout(dropout), nn.Linear(ff_dim, embed_dim), nn.Dropout(dropout)
                )
                self.norm1 = nn.LayerNorm(embed_dim)
                self.norm2 = nn.LayerNorm(embed_dim)
                self.norm3 = nn.LayerNorm(embed_dim)
                self.drop = nn.Dropout(dropout)

            def per_head(self, mask, B, T, S):
                if mask is None:
                    return None
                while mask.dim() < 4:
                    mask = mask.unsqueeze(0)
                return mask.expand(B, self.heads, T, S).reshape(B * self.heads, T, S)

            def forward(self, x, memory, mask=None, memory_mask=None):
                B, T, _ = x.shape
                S = memory.shape[1]
                y, _ = self.self_attn(x, x, x, attn_mask=self.per_head(mask, B, T, T))
                x = self.norm1(x + self.drop(y))
                y, _ = self.cross_attn(query=x, key=memory, value=memory, attn_mask=self.per_head(memory_mask, B, T, S))
                x = self.norm2(x + self.drop(y))
                return self.norm3(x + self.ff(x))
        """,
        functional_dropout=[
            (_DROPOUT, "self.p = dropout"),
            ("self.dropout(self.self_attn(x, mask))", "F.dropout(self.self_attn(x, mask=mask), self.p, self.training)"),
            (f"self.dropout({_CROSSED})", f"F.dropout({_CROSSED}, self.p, self.training)"),
            ("self.dropout(self.ff(x))", "F.dropout(self.ff(x), self.p, self.training)"),
        ],
        one_helper=[
            (
                _LINE1,
                "parts = [lambda x: self.self_attn(x, mask), lambda x: self.cross_attn(x, memory_mask, memory), self.ff]",
            ),
            (
                _LINE2,
                "for part, norm in zip(parts, (self.norm1, self.norm2, self.norm3)):\n            x = norm(x + self.dropout(part(x)))",
            ),
            (_LINE3, "return x"),
        ],
    ),
)


# --- greedy_decode ----------------------------------------------------------------------------------------------------

# A model for decoding, in the student's process and here. What follows depends on the source and on every token so far,
# in whatever batch they stand; bos is never written. It notes how often it was asked.
_SCRIPTED = """
class Scripted(nn.Module):
    def __init__(self, V, bos_id, eos_id, eos_bonus, seed):
        super().__init__()
        self.anchor = nn.Parameter(torch.zeros(()))
        self.V, self.bos_id, self.eos_id, self.eos_bonus, self.seed = V, bos_id, eos_id, eos_bonus, seed
        self.calls, self.trained = 0, False

    def forward(self, source_ids, target_ids):
        self.calls += 1
        self.trained = self.trained or self.training
        for name, ids in (("source_ids", source_ids), ("target_ids", target_ids)):
            if ids.dim() != 2:
                raise ValueError(f"the model wants {name} of shape [batch, length], not {list(ids.shape)}")
        if len(source_ids) != len(target_ids):
            raise ValueError(f"the model got {len(source_ids)} rows of source_ids and {len(target_ids)} of target_ids")
        if len(target_ids) > 1000:
            raise RuntimeError("the model got more than 1000 rows at once")
        if not target_ids.numel():
            raise LookupError("the model got no target_ids: they begin with bos_id")
        if self.calls > 500:
            raise RuntimeError("the model was asked more than 500 times")
        state = (source_ids * torch.arange(1, source_ids.shape[1] + 1, device=source_ids.device)).sum(1)  # (B,)
        state = (31 * state + self.seed) % 10007
        states = []
        for t in range(target_ids.shape[1]):
            state = (37 * state + 101 * target_ids[:, t] + 11) % 10007
            states.append(state)
        states = torch.stack(states, 1)[:, :, None]  # (B, T, 1)
        tokens = torch.arange(self.V, device=target_ids.device)
        logits = (states * (2 * tokens + 3) * 97 + 53 * tokens * tokens) % 10007 / 2000.0  # from 0 to 5
        logits = logits + self.eos_bonus * (tokens == self.eos_id) - 40.0 * (tokens == self.bos_id)
        return logits + self.anchor

def scripted(*args):
    return Scripted(*args).eval()

def calls(model):
    return model.calls

def trained(model):
    return model.trained or model.training
"""
_here: dict[str, Any] = {"torch": torch, "nn": nn}
exec(_SCRIPTED, _here)


def _ids_lists(got: Any, rows: int, where: str) -> list[list[int]]:
    """A list of as many lists of whole numbers."""
    if not isinstance(got, list) or len(got) != rows:
        raise Wrong(f"A list of {rows} lists is asked for, one for each row, {where}; yours is {kind(got)}.")
    for row in got:
        _id_list(row, where)
    return got


def _id_list(got: Any, where: str) -> list[int]:
    if not isinstance(got, list):
        raise Wrong(f"The ids of a sentence should be a list of ints {where}; yours is {kind(got)}.")
    strange = [token for token in got if type(token) is not int]
    if strange:
        raise Wrong(f"The ids should be ints {where}; among yours is {kind(strange[0])}.", "not_ints")
    return got


def _same_ids(got: list[int], expected: list[int], bos_id: int, eos_id: int, max_len: int, where: str) -> None:
    """The sentence says what is remarkable about a wrong list of ids."""
    if got == expected:
        return
    if bos_id in got:
        raise Wrong(f"bos_id is in the result {where}: it is only what the model is given first.", "bos_kept")
    if eos_id in got:
        raise Wrong(f"eos_id is in the result {where}: leave it out, and all that would follow it.", "eos_kept")
    if len(got) > max_len:
        raise Wrong(f"The result has more than max_len new tokens {where}.", "too_long")
    if got[: len(expected)] == expected:
        raise Wrong(f"The result goes on after its end {where}: a sentence ends at its first eos_id.", "too_long")
    if expected[: len(got)] == got:
        raise Wrong(
            f"The result stops too early {where}: only its own eos_id, or max_len, ends a sentence.", "too_short"
        )
    raise Wrong(f"The tokens are not the right ones {where}.")


def _source(*shape: int) -> torch.Tensor:
    return 3 + (normal(*shape).abs() * 1000).long() % 20


def _scripted(student: Any, args: tuple) -> Any:
    return student.call(student.probe("scripted", _SCRIPTED), list(args), keep=True)["value"]


def _decoded_on_device(student: Any, name: str, args: list) -> None:
    """Every tensor that is made must name its device. Here those that do not are put on the meta device, apart."""
    try:
        student.call(name, args, strict_device=True)
    except Wrong as wrong:
        text = str(getattr(wrong, "facts", {}).get("text", ""))
        if "expected device" in text or "same device" in text:
            raise Wrong(
                "A tensor is made without `device=…`: on a GPU it would be on the CPU, apart from source_ids and the model.",
                "device_not_kept",
            ) from None


def _left_in_eval_mode(student: Any, model: Any) -> None:
    if student.value(student.probe("trained", _SCRIPTED), model):
        raise Wrong(
            "The model was in eval mode and is put into training mode, so dropout would be at work: leave its mode alone.",
            "training_mode",
        )


def _greedy(student: Any, args: tuple, source: torch.Tensor, max_len: int, where: str) -> tuple[dict, Any, list]:
    """The answer to a call, the model that was asked, and what is right."""
    _, bos_id, eos_id, *_ = args
    model = _scripted(student, args)
    given = {"source_ids": source, "bos_id": bos_id, "eos_id": eos_id, "max_len": max_len}
    answer = student.call("greedy_decode", [model, *given.values()], where=where)
    expected = greedy_decode(_here["Scripted"](*args), *given.values())
    got = _ids_lists(answer["value"], len(source), where)
    for mine, right in zip(got, expected, strict=True):
        _same_ids(mine, right, bos_id, eos_id, max_len, where)
    return answer, model, expected


def _greedy_one(student: Any) -> None:
    for args, S in (((9, 1, 2, 1.0, 3), 4), ((12, 1, 2, 0.5, 8), 1), ((30, 1, 2, 2.0, 1), 7), ((7, 1, 2, 0.0, 5), 3)):
        with student.case():
            _greedy(student, args, _source(1, S), 25, f"for one sentence and V = {args[0]}")


def _greedy_rows(student: Any) -> None:
    for args, B, S in (
        ((9, 1, 2, 1.0, 4), 6, 3),
        ((11, 1, 2, 0.6, 2), 9, 5),
        ((8, 1, 2, 2.5, 7), 12, 2),
        ((25, 1, 2, 1.5, 9), 4, 4),
        ((6, 1, 2, 30.0, 6), 3, 3),
        ((9, 1, 2, -40.0, 6), 3, 4),
    ):
        with student.case():
            ends = {30.0: ", all of which end at once", -40.0: ", none of which ends"}.get(
                args[3], " that end at different times"
            )
            _greedy(student, args, _source(B, S), 20, f"for {B} rows{ends}")


def _greedy_max_len(student: Any) -> None:
    for max_len in (7, 1, 2, 0):
        with student.case():
            where = f"with max_len = {max_len}, when no row ends before"
            _greedy(student, (9, 1, 2, -40.0, 3), _source(3, 4), max_len, where)
    for max_len in (3, 4, 5, 6):
        with student.case():
            where = f"with max_len = {max_len}, when some rows end before"
            _greedy(student, (9, 1, 2, 0.8, 4), _source(8, 3), max_len, where)


def _greedy_other_ids(student: Any) -> None:
    for V, bos_id, eos_id, pad in ((9, 0, 1, 8), (10, 5, 0, 1), (8, 7, 6, 0), (9, 2, 3, 1)):
        with student.case():
            source = _source(5, 4)
            source[1:3, 2:] = pad
            where = f"with bos_id = {bos_id} and eos_id = {eos_id}"
            _greedy(student, (V, bos_id, eos_id, 1.0, 2), source, 15, where)


def _greedy_stops(student: Any) -> None:
    for args, B in (((9, 1, 2, 1.5, 4), 4), ((9, 1, 2, 30.0, 4), 3), ((11, 1, 2, 3.0, 5), 1)):
        with student.case():
            _, model, expected = _greedy(student, args, _source(B, 3), 60, f"for {B} rows, with max_len = 60")
            asked = student.value(student.probe("calls", _SCRIPTED), model)
            if asked > sum(len(row) + 1 for row in expected):
                raise Wrong(
                    "The model is asked again although all rows have ended: decoding stops then, or short sentences cost as much as long ones.",
                    "never_stops",
                )


def _greedy_manners(student: Any) -> None:
    args = (9, 1, 2, 1.0, 4)
    with student.case():
        source = _source(4, 3)
        answer, model, _ = _greedy(student, args, source, 12, "for 4 rows")
        unchanged(answer["inputs"][:1], [source], "source_ids")
        quietly_called(answer)
        _left_in_eval_mode(student, model)
    with student.case():
        _decoded_on_device(student, "greedy_decode", [_scripted(student, args), _source(4, 3), 1, 2, 12])


_START = "target_ids = torch.full((B, 1), bos_id, device=source_ids.device)  # (B, 1)"
_ASK = "logits = model(source_ids, target_ids)  # (B, T, V)"
_LIKELIEST = "next_ids = logits[:, -1].argmax(dim=-1)  # (B,): the last position only"
_APPEND = "target_ids = torch.cat([target_ids, next_ids[:, None]], dim=1)  # (B, T + 1)"
_ENDED = "ended |= next_ids == eos_id"
_STOP = "        if ended.all():\n            break\n"
_ROWS = "rows = target_ids[:, 1:].tolist()"
_CUT = "return [row[: row.index(eos_id)] if eos_id in row else row for row in rows]"
_ENDED_INIT = "    ended = torch.zeros(B, dtype=torch.bool, device=source_ids.device)  # (B,)\n"

GREEDY_DECODE = Exercise(
    name="greedy_decode",
    notebook="11-translation",
    points=4,
    reference=greedy_decode,
    checks=[
        Check("one sentence, the likeliest token each time", 1.0, _greedy_one),
        Check("many rows, each up to its own end", 1.25, _greedy_rows),
        Check("at most max_len new tokens", 0.75, _greedy_max_len),
        Check("any bos_id and eos_id", 0.5, _greedy_other_ids),
        Check("stops when all rows have ended", 0.25, _greedy_stops),
        Check("source_ids and the model's mode unchanged, device", 0.25, _greedy_manners),
    ],
    working=written(
        """
        import torch

        def greedy_decode(model, source_ids, bos_id, eos_id, max_len):
            written = []
            for row in source_ids:
                target = torch.full((1, 1), bos_id, device=source_ids.device)
                while target.shape[1] <= max_len:
                    with torch.no_grad():
                        best = model(row[None], target)[0, -1].topk(1).indices
                    if best == eos_id:
                        break
                    target = torch.cat([target, best[None]], 1)
                written.append(target[0, 1:].tolist())
            return written
        """
    ),
    mistakes=_mistakes(
        greedy_decode,
        (
            "bos_kept",
            "bos_id is part of the result: it is only what the model is given first, leave it out.",
            ("target_ids[:, 1:].tolist()", "target_ids.tolist()"),
        ),
        (
            "eos_kept",
            "eos_id is part of the result: a row goes up to its first eos_id, without it.",
            ("row[: row.index(eos_id)]", "row[: row.index(eos_id) + 1]"),
        ),
        (
            "bos_and_eos_kept",
            "bos_id and eos_id are part of the result: leave both out.",
            [
                ("target_ids[:, 1:].tolist()", "target_ids.tolist()"),
                ("row[: row.index(eos_id)]", "row[: row.index(eos_id) + 1]"),
            ],
        ),
        (
            "last_token_cut",
            "The last token is cut off too: only eos_id and what follows it does not belong to a row.",
            ("row[: row.index(eos_id)]", "row[: row.index(eos_id) - 1]"),
            (_CUT, "return [row[:-1] for row in rows]"),
        ),
        (
            "eos_filtered",
            "eos_id is taken out, but what was written after it stays: a row ends at its first eos_id.",
            (_CUT, "return [[token for token in row if token != eos_id] for row in rows]"),
            (_CUT, "return [[token for token in row if token not in (bos_id, eos_id)] for row in rows]"),
        ),
        (
            "not_cut",
            "Rows are not cut at their eos_id: what the model writes after it does not belong to the sentence.",
            (_CUT, "return rows"),
            (_CUT, "return [row[: row.index(eos_id)] if row and row[-1] == eos_id else row for row in rows]"),
            (_CUT, "return [row[:-1] if row and row[-1] == eos_id else row for row in rows]"),
        ),
        (
            "cut_at_the_last_eos",
            "A row is cut at its last eos_id: the first one ends it.",
            (_CUT, "return [row[: len(row) - 1 - row[::-1].index(eos_id)] if eos_id in row else row for row in rows]"),
        ),
        (
            "first_row_to_end_stops_all",
            "Decoding stops for all rows as soon as one ends: the others go on to their own eos_id (`.all()`, not `.any()`).",
            ("if ended.all()", "if ended.any()"),
            (_STOP, "        if (next_ids == eos_id).any():\n            break\n"),
        ),
        (
            "first_row_decides",
            "Only the first row's (or the last row's) eos_id is looked at: each row has its own end.",
            ("if ended.all()", "if ended[0]"),
            ("if ended.all()", "if ended[-1]"),
        ),
        (
            "all_at_the_same_time",
            "Decoding stops only when all rows write eos_id in the same step: remember which rows have ended.",
            (_ENDED, "ended = next_ids == eos_id"),
        ),
        (
            "never_stops",
            "The model is asked again and again until max_len although all rows have ended.",
            (_STOP, ""),
            [(_ENDED, "ended = next_ids == eos_id"), ("if ended.all()", "if B == 1 and ended.all()")],
        ),
        (
            "wrong_position",
            "The logits of the wrong position are used: the next token follows the last one, `logits[:, -1]`.",
            ("logits[:, -1]", "logits[:, 0]"),
            ("logits[:, -1]", "logits[:, max(logits.shape[1] - 2, 0)]"),
            ("logits[:, -1]", "logits.mean(dim=1)"),
            ("logits[:, -1]", "logits[:, -2]"),
            ("logits[:, -1]", "logits.sum(dim=1)"),
        ),
        (
            "new_tokens_do_not_fit",
            "The new tokens do not fit target_ids: the maximum over the vocabulary (dim=-1) of the last position gives (B,); as a column (B, 1) it is "
            "appended along dim=1.",
            ("argmax(dim=-1)", "argmax(dim=0)"),
            ("logits[:, -1].argmax(dim=-1)", "logits[-1].argmax(dim=-1)"),
            (_APPEND, "target_ids = torch.cat([target_ids, next_ids], dim=1)"),
            (_APPEND, "target_ids = torch.cat([target_ids, next_ids])"),
        ),
        (
            "wrong_dimension",
            "The maximum is taken over the wrong dimension: over the vocabulary, the last one.",
            ("argmax(dim=-1)", "argmax().expand(B)"),
            ("logits[:, -1].argmax(dim=-1)", "logits[:, -1].softmax(dim=0).argmax(dim=-1)"),
        ),
        (
            "first_row_for_all",
            "All rows get the first row's token: each row has logits of its own.",
            ("logits[:, -1].argmax(dim=-1)", "logits[0, -1].argmax(dim=-1).expand(B)"),
            ("logits[:, -1].argmax(dim=-1)", "logits[:1, -1].argmax(dim=-1).repeat(B)"),
        ),
        (
            "least_likely",
            "The least likely token is taken.",
            ("argmax", "argmin"),
        ),
        (
            "sampled",
            "The tokens are drawn at random: greedy takes the likeliest one.",
            (_LIKELIEST, "next_ids = torch.multinomial(logits[:, -1].softmax(dim=-1), 1)[:, 0]"),
            (_LIKELIEST, "next_ids = torch.distributions.Categorical(logits=logits[:, -1]).sample()"),
        ),
        (
            "last_token_only",
            "The model is given only the last token: it has no memory, so give it everything written so far.",
            ("model(source_ids, target_ids)", "model(source_ids, target_ids[:, -1:])"),
        ),
        (
            "bos_left_out",
            "The model is no longer given bos_id once there are tokens: target_ids begin with it always, as in training.",
            (
                "model(source_ids, target_ids)",
                "model(source_ids, target_ids if target_ids.shape[1] == 1 else target_ids[:, 1:])",
            ),
        ),
        (
            "not_appended",
            "What is written does not get longer: append each new token to target_ids.",
            (_APPEND, "target_ids = next_ids[:, None]"),
            ("target_ids = torch.cat(", "torch.cat("),
        ),
        (
            "put_in_front",
            "New tokens are put in front: append them at the end.",
            (_APPEND, "target_ids = torch.cat([next_ids[:, None], target_ids], dim=1)"),
        ),
        (
            "stacked_as_rows",
            "New tokens are appended as rows: torch.cat along dim=1, of (B, T) and (B, 1).",
            (_APPEND, "target_ids = torch.cat([target_ids, next_ids[:, None]], dim=0)"),
        ),
        (
            "starts_with_eos",
            "target_ids begin with something else than bos_id.",
            ("bos_id, device", "eos_id, device"),
            (_START, "target_ids = torch.zeros(B, 1, dtype=torch.long, device=source_ids.device)"),
            [(_START, "target_ids = source_ids[:, :1]")],
        ),
        (
            "empty_start",
            "target_ids are empty at the start: the model is given bos_id first.",
            [
                (_START, "target_ids = torch.zeros(B, 0, dtype=torch.long, device=source_ids.device)"),
                ("target_ids[:, 1:].tolist()", "target_ids.tolist()"),
            ],
        ),
        (
            "source_continued",
            "The source is continued, as a GPT would do: the translation begins anew, with bos_id, and the source is the model's first argument.",
            [(_START, "target_ids = source_ids"), ("target_ids[:, 1:]", "target_ids[:, source_ids.shape[1] :]")],
            [
                (
                    _START,
                    "target_ids = torch.cat([source_ids, torch.full((B, 1), bos_id, device=source_ids.device)], dim=1)",
                ),
                ("target_ids[:, 1:]", "target_ids[:, source_ids.shape[1] + 1 :]"),
            ],
        ),
        (
            "model_arguments_swapped",
            "The model's arguments are the wrong way round (or one is missing): model(source_ids, target_ids).",
            ("model(source_ids, target_ids)", "model(target_ids, source_ids)"),
            ("model(source_ids, target_ids)", "model(target_ids)"),
            ("model(source_ids, target_ids)", "model(source_ids)"),
            ("model(source_ids, target_ids)", "model(target_ids, target_ids)"),
        ),
        (
            "one_too_few",
            "A row that never ends is one token short: max_len counts the new tokens, bos_id is not among them, and all are kept.",
            (
                "row.index(eos_id)] if eos_id in row else row for",
                "row.index(eos_id)] if eos_id in row else row[:-1] for",
            ),
            ("range(max_len)", "range(max_len - 1)"),
            ("range(max_len)", "range(1, max_len)"),
        ),
        (
            "one_too_many",
            "One token too many is written: at most max_len new ones.",
            ("range(max_len)", "range(max_len + 1)"),
        ),
        (
            "max_len_ignored",
            "max_len is not kept to: a row that never writes eos_id goes on.",
            ("range(max_len)", "range(100)"),
            ("for _ in range(max_len):", "while True:"),
        ),
        (
            "source_length_as_limit",
            "The length of the source limits the translation: max_len does, and languages differ in length.",
            ("range(max_len)", "range(min(max_len, source_ids.shape[1]))"),
        ),
        (
            "fixed_ids",
            "The ids of bos and eos (or of padding) are written into the code: use bos_id and eos_id.",
            [("== eos_id", "== 2"), ("row.index(eos_id)", "row.index(2)"), ("if eos_id in row", "if 2 in row")],
            ("bos_id, device", "1, device"),
            (_START, "target_ids = torch.ones(B, 1, dtype=torch.long, device=source_ids.device)"),
            (
                _CUT,
                "return [[token for token in (row[: row.index(eos_id)] if eos_id in row else row) if token != 0] for row in rows]",
            ),
        ),
        (
            "rows_out_of_order",
            "The rows come back in another order than they were given in (by the time at which they end, say).",
            (_CUT, _CUT.replace("return [", "return sorted([").replace("rows]", "rows], key=len)")),
        ),
        (
            "empty_rows_dropped",
            "Rows that end at once are missing in the result: they are empty lists.",
            (_CUT, _CUT.replace("rows]", "rows if row[:1] != [eos_id]]")),
        ),
        (
            "first_row_only",
            "Only one row comes back: a list for each row of source_ids.",
            (_CUT, _CUT + "[0]"),
            (_CUT, _CUT + "[:1]"),
            ("B = len(source_ids)", "source_ids = source_ids[:1]\n    B = 1"),
        ),
        (
            "tensors",
            "Tensors are returned: lists of ints are asked for (`.tolist()`).",
            (_CUT, "return target_ids[:, 1:]"),
            (_CUT, _CUT.replace("return [", "return [torch.tensor(x) for x in [").replace("rows]", "rows]]")),
            [(_ROWS, "rows = [list(row) for row in target_ids[:, 1:]]")],
        ),
        (
            "tuples",
            "The rows are tuples: a list of lists is asked for.",
            (_CUT, _CUT.replace("return [", "return [tuple(row) for row in [").replace("rows]", "rows]]")),
            (_CUT, _CUT.replace("return [", "return tuple([").replace("rows]", "rows])")),
        ),
        (
            "shared_list",
            "All rows share one list (`[[]] * B`): make a list for each, `[[] for _ in range(B)]`.",
            """
            rows, ended = [[]] * len(source_ids), [False] * len(source_ids)
            target_ids = torch.full((len(source_ids), 1), bos_id, device=source_ids.device)
            for _ in range(max_len):
                next_ids = model(source_ids, target_ids)[:, -1].argmax(dim=-1)
                target_ids = torch.cat([target_ids, next_ids[:, None]], dim=1)
                for b, token in enumerate(next_ids.tolist()):
                    ended[b] = ended[b] or token == eos_id
                    if not ended[b]:
                        rows[b].append(token)
                if all(ended):
                    break
            return rows
            """,
        ),
        (
            "training_mode",
            "The model is put into training mode, so dropout would be at work: it is called in the mode it is in.",
            (_START, "model.train()\n    " + _START),
            (_ROWS, "model.train()\n    " + _ROWS),
        ),
        (
            "padded_rows",
            "All rows come back equally long, filled up: each list ends where its row ends.",
            (
                _CUT,
                "rows = "
                + _CUT.removeprefix("return ")
                + "\n    return [row + [0] * (max(map(len, rows)) - len(row)) for row in rows]",
            ),
            (
                _CUT,
                "rows = "
                + _CUT.removeprefix("return ")
                + "\n    return [row + [eos_id] * (max(map(len, rows)) - len(row)) for row in rows]",
            ),
        ),
        (
            "flattened",
            "One long list comes back: a list of lists is asked for.",
            (_CUT, "return sum((" + _CUT.removeprefix("return ") + "), [])"),
        ),
        (
            "nothing_left_at_zero",
            "max_len = 0 fails: it gives an empty list for each row.",
            (_ROWS, "next_ids = next_ids + 0\n    " + _ROWS),
            (_START, "assert max_len > 0\n    " + _START),
        ),
        (
            "input_changed",
            "source_ids are changed in place: the caller's tensor stays as it is.",
            (_ENDED, _ENDED + "\n        source_ids[ended] = 0"),
            (_CUT, "source_ids.zero_()\n    " + _CUT),
        ),
        (
            "device_not_kept",
            "target_ids are made without `device=…`: on a GPU they would be on the CPU.",
            ("bos_id, device=source_ids.device", "bos_id"),
        ),
        (
            "nothing_returned",
            _NOTHING,
            (_CUT, _CUT.replace("return ", "print(") + ")"),
            (_CUT, _CUT.replace("return ", "rows = ")),
            ("            break\n", "            return\n"),
        ),
    ),
    alternatives=_alternatives(
        greedy_decode,
        lists="""
        results = [[] for _ in range(len(source_ids))]
        active = list(range(len(source_ids)))
        with torch.no_grad():
            for _ in range(max_len):
                if not active:
                    break
                targets = torch.tensor([[bos_id] + results[i] for i in active], device=source_ids.device)
                best = model(source_ids[active], targets)[:, -1].max(dim=-1).indices.tolist()
                still = []
                for i, token in zip(active, best):
                    if token != eos_id:
                        results[i].append(token)
                        still.append(i)
                active = still
        return results
        """,
        filled_with_eos="""
        model.eval()
        device = next(model.parameters()).device
        B = source_ids.size(0)
        out = torch.empty(B, max_len + 1, dtype=torch.long, device=device).fill_(bos_id)
        done = torch.zeros_like(out[:, 0], dtype=torch.bool)
        n = 0
        while n < max_len and not bool(done.all()):
            probs = torch.softmax(model(source_ids, out[:, : n + 1])[:, n, :], dim=-1)
            token = probs.argmax(-1).masked_fill(done, eos_id)
            n += 1
            out[:, n] = token
            done = done | token.eq(eos_id)
        lengths = (out[:, 1 : n + 1] != eos_id).sum(1).tolist()
        return [row[1 : 1 + length] for row, length in zip(out.tolist(), lengths)]
        """,
        one_by_one="""
        def translate(row):
            tokens = [bos_id]
            while len(tokens) - 1 < max_len:
                logits = model(row, torch.tensor(tokens, device=row.device).unsqueeze(0))
                token = int(torch.argmax(logits[0, -1, :]))
                if token == eos_id:
                    return tokens[1:]
                tokens.append(token)
            return tokens[1:]

        return [translate(source_ids[b : b + 1]) for b in range(source_ids.shape[0])]
        """,
        buffer="""
        B = source_ids.shape[0]
        target = source_ids.new_zeros(B, max_len + 1)
        target[:, 0] = bos_id
        alive = source_ids.new_ones(B).bool()
        length = source_ids.new_zeros(B)
        for t in range(max_len):
            target[:, t + 1] = model(source_ids, target)[:, t].detach().topk(1).indices.squeeze(-1)
            alive = alive & (target[:, t + 1] != eos_id)
            length += alive
            if not alive.any():
                break
        return [target[b, 1 : 1 + int(length[b])].tolist() for b in range(B)]
        """,
    ),
)


# --- beam_search ------------------------------------------------------------------------------------------------------

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
exec(_TREE, _here)

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


# Each is so clear-cut that all ways of pruning and stopping agree: finished beams that hold a place, that hold none, that
# may be pushed out; stopping with the first beam_size of them or at max_len; lengths with eos or without.
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


def _best(got: Any, expected: list[int], bos_id: int, eos_id: int, max_len: int, where: str) -> None:
    got = _id_list(got, where)
    if got == expected:
        return
    if bos_id in got:
        raise Wrong(f"bos_id is in the result {where}: it is only what the model is given first.", "bos_kept")
    if eos_id in got:
        raise Wrong(
            f"eos_id is in the result {where}: leave it out; a beam that has ended is not continued.", "eos_kept"
        )
    if len(got) > max_len:
        raise Wrong(f"The result has more than max_len new tokens {where}.", "too_long")
    raise Wrong(f"Another sentence should win {where}.")


def _beam_tree(student: Any, text: str, beam_size: int, words: str, what: str, max_len: int = 10, **how: Any) -> None:
    args = [_rules(text), len(_LETTERS), 1, 2]
    model = student.call(student.probe("tree", _TREE), args, keep=True)["value"]
    said = "".join(f" and {name} = {value}" for name, value in how.items())
    where = f"with beam_size = {beam_size}{said}, {what}"
    source = torch.tensor([[4, 3, 5]])
    got = student.call("beam_search", [model, source, 1, 2, beam_size, max_len], how, where=where)["value"]
    expected = beam_search(_here["Tree"](*args), source, 1, 2, beam_size, max_len, **how)
    assert expected == [_LETTERS.index(x) for x in words], f"{what}: {expected}"
    _best(got, expected, 1, 2, max_len, where)


def _beam_scripted(
    student: Any, args: tuple, source: list[int], beam_size: int, max_len: int, where: str, *penalty: float
) -> tuple[dict, Any]:
    """The answer to a call, and the model that was asked."""
    _, bos_id, eos_id, *_ = args
    model, source_ids = _scripted(student, args), torch.tensor([source])
    rest = [source_ids, bos_id, eos_id, beam_size, max_len, *penalty]
    answer = student.call("beam_search", [model, *rest], where=where)
    expected = beam_search(_here["Scripted"](*args), *rest)
    _best(answer["value"], expected, bos_id, eos_id, max_len, where)
    return answer, model


def _beam_greedy(student: Any) -> None:
    for args, source, max_len in (
        ((9, 1, 2, 1.0, 3), [4, 9, 17], 12),
        ((12, 1, 2, 0.5, 8), [11], 15),
        ((9, 1, 2, -40.0, 5), [5, 12, 3, 8], 7),
        ((7, 1, 2, 2.0, 6), [19, 3, 4, 14, 6], 10),
        ((20, 1, 2, 1.5, 2), [6, 7], 9),
    ):
        with student.case():
            _beam_scripted(student, args, source, 1, max_len, f"with beam_size = 1 and V = {args[0]}")


def _beam_finds(student: Any) -> None:
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


def _beam_finished(student: Any) -> None:
    for text, beam_size, words, what, how in (
        (_SHORT_WINS, 2, "a", "when the best sentence is the first to end", {"length_penalty": 0.0}),
        (_SHORT_WINS, 3, "a", "when the best sentence is the first to end", {"length_penalty": 0.0}),
        (_SHORT_WINS, 2, "a", "when the best sentence is the first to end", {}),
        (_AT_ONCE, 2, "", "when the best sentence is empty", {}),
        (_AT_ONCE, 3, "", "when the best sentence is empty", {}),
        (_LONG_AT_06, 2, "bcde", "when the best sentence is not the first to end", {}),
    ):
        with student.case():
            _beam_tree(student, text, beam_size, words, what, **how)
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
            where = f"with beam_size = {beam_size}, V = {V} and length_penalty = {penalty}, when sentences end at different times"
            _beam_scripted(student, (V, 1, 2, bonus, seed), source, beam_size, max_len, where, penalty)


def _beam_penalty(student: Any) -> None:
    what = "for a short sentence against a long one"
    for text, beam_size, words, how in (
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
    ):
        with student.case():
            _beam_tree(student, text, beam_size, words, what, **how)


def _beam_limits(student: Any) -> None:
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


def _beam_extremes(student: Any) -> None:
    with student.case():
        where = "for a long sentence (the product of its probabilities is below 1e-45)"
        _beam_scripted(student, (300, 1, 2, -40.0, 12), [4, 9, 17], 2, 45, where)
    for beam_size in (9, 40):
        with student.case():
            what = "more than there are tokens"
            _beam_tree(student, _GARDEN_PATH, beam_size, "bc", what)


def _beam_manners(student: Any) -> None:
    args = (9, 1, 2, 0.5, 175)
    with student.case():
        answer, model = _beam_scripted(student, args, [15, 15, 12, 8], 2, 10, "with beam_size = 2")
        unchanged(answer["inputs"][:1], [torch.tensor([[15, 15, 12, 8]])], "source_ids")
        quietly_called(answer)
        _left_in_eval_mode(student, model)
    for beam_size in (0, -1):
        with student.case():
            model = _scripted(student, args)
            _refused(
                student, "beam_search", [model, torch.tensor([[15, 8]]), 1, 2, beam_size, 5], f"beam_size = {beam_size}"
            )
    with student.case():
        _decoded_on_device(
            student, "beam_search", [_scripted(student, args), torch.tensor([[15, 15, 12, 8]]), 1, 2, 2, 10]
        )


_BEAMS = "beams, finished = [([bos_id], 0.0)], []  # pairs: tokens, and the log-probability of all of them together"
_TARGETS = "target_ids = torch.tensor([tokens for tokens, _ in beams], device=source_ids.device)  # (K, T)"
_LOGITS = "logits = model(source_ids.expand(len(beams), -1), target_ids)[:, -1]  # (K, V)"
_SO_FAR = "so_far = torch.tensor([log_prob for _, log_prob in beams], device=logits.device)  # (K,)"
_LOG_PROBS = "log_probs = so_far[:, None] + torch.log_softmax(logits, dim=-1)  # (K, V): of whole beginnings"
_PLACES = "places_left = min(beam_size - len(finished), log_probs.numel())"
_TOP = "best = log_probs.flatten().topk(places_left)  # across all beams: one may have several heirs, another none"
_HEIR = "candidates.append(([*beams[beam][0], token], log_prob))"
_DIVMOD = "beam, token = divmod(place, logits.shape[-1])"
_FINISHED = "finished += [candidate for candidate in candidates if candidate[0][-1] == eos_id]"
_ALIVE = "beams = [candidate for candidate in candidates if candidate[0][-1] != eos_id]"
_BEAM_STOP = "        if not beams:\n            break\n"
_SCORE = "return log_prob / ((5 + len(tokens) - 1) / 6) ** length_penalty  # bos is not counted"
_WINNER = "tokens, _ = max(finished or beams, key=score)"
_WORDS = "return [token for token in tokens[1:] if token != eos_id]"
_SIZE_CHECK = '    if beam_size < 1:\n        raise ValueError(f"beam_size must be at least 1; got {beam_size}")\n'

BEAM_SEARCH = Exercise(
    name="beam_search",
    notebook="11-translation",
    points=8,
    reference=beam_search,
    checks=[
        Check("beam_size 1 equals greedy decoding", 1.0, _beam_greedy),
        Check("finds sentences that greedy decoding misses", 2.5, _beam_finds),
        Check("finished beams are kept", 1.5, _beam_finished),
        Check("the length penalty", 1.25, _beam_penalty),
        Check("any bos_id and eos_id, at most max_len new tokens", 0.75, _beam_limits),
        Check("long sentences, and more beams than tokens", 0.5, _beam_extremes),
        Check("source_ids and mode unchanged, beam_size below 1 refused, device", 0.5, _beam_manners),
    ],
    working=written(
        """
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
        """
    ),
    mistakes=_mistakes(
        beam_search,
        # --- the search
        (
            "greedy",
            "Only one beam is followed, so this is greedy decoding: keep beam_size of them at each step.",
            (_PLACES, "places_left = 1"),
            (_ALIVE, _ALIVE + "[:1]"),
        ),
        (
            "equal_beams",
            "The search starts with beam_size copies of one beam, so all beams stay equal: start with one.",
            [
                (_BEAMS, _BEAMS.replace("[([bos_id], 0.0)], []", "[([bos_id], 0.0) for _ in range(beam_size)], []")),
                (_PLACES, "per_beam = torch.log_softmax(logits, dim=-1).argmax(dim=-1).tolist()"),
                (
                    _TOP,
                    "best = torch.return_types.topk((log_probs.max(dim=-1).values, torch.tensor([i * logits.shape[-1] + t for i, t in enumerate(per_beam)])))",
                ),
            ],
            [(_BEAMS, _BEAMS.replace("[([bos_id], 0.0)], []", "[([bos_id], 0.0) for _ in range(beam_size)], []"))],
        ),
        (
            "each_beam_its_own_heir",
            "Each beam keeps its own likeliest continuation: the beam_size best are chosen across all beams together.",
            (
                _TOP,
                "best = log_probs.flatten().topk(places_left)\n"
                "        if len(beams) > 1:\n"
                "            top = log_probs.max(dim=-1)\n"
                "            best = torch.return_types.topk((top.values, top.indices + torch.arange(len(beams)) * logits.shape[-1]))",
            ),
        ),
        (
            "beams_not_cut",
            "More beams are kept than beam_size (all continuations of all beams, say): the likeliest beam_size of them.",
            (_PLACES, "places_left = min(2 * beam_size - len(finished), log_probs.numel())"),
            (_PLACES, "places_left = min(beam_size * len(beams), log_probs.numel())"),
            (_PLACES, "places_left = min(beam_size + 1 - len(finished), log_probs.numel())"),
        ),
        (
            "one_beam_fewer",
            "One beam fewer than beam_size is kept.",
            (_PLACES, "places_left = min(max(beam_size - 1, 1) - len(finished), log_probs.numel())"),
        ),
        (
            "beams_fixed",
            "beam_size is not used: a fixed number of beams is kept.",
            (_PLACES, "places_left = min(5 - len(finished), log_probs.numel())"),
            (_PLACES, "places_left = min(2 - len(finished), log_probs.numel())"),
            (_PLACES, "places_left = min(3 - len(finished), log_probs.numel())"),
        ),
        (
            "last_step_only",
            "Beams are compared by the probability of their last token alone: add up the log-probabilities of all their tokens.",
            (_LOG_PROBS, "log_probs = torch.log_softmax(logits, dim=-1)"),
            (_SO_FAR, "so_far = torch.zeros(len(beams), device=logits.device)"),
        ),
        (
            "logits_added",
            "Logits are added up: only log-probabilities (log_softmax) can be compared between beams.",
            (_LOG_PROBS, "log_probs = so_far[:, None] + logits"),
        ),
        (
            "probabilities_added",
            "Probabilities are added up: add their logarithms (or multiply).",
            (_LOG_PROBS, "log_probs = so_far[:, None] + torch.softmax(logits, dim=-1)"),
        ),
        (
            "probabilities_multiplied",
            "Probabilities are multiplied, and for long sentences the product becomes 0 in float32: add up logarithms.",
            [
                ("[([bos_id], 0.0)], []", "[([bos_id], 1.0)], []"),
                (_LOG_PROBS, "log_probs = so_far[:, None] * torch.softmax(logits, dim=-1)"),
                (_SCORE, "return math.log(max(log_prob, 1e-300)) / ((5 + len(tokens) - 1) / 6) ** length_penalty"),
            ],
        ),
        (
            "softmax_over_the_beams",
            "The softmax runs over the beams, or over all continuations together: each beam has a distribution of its own, over the vocabulary.",
            ("torch.log_softmax(logits, dim=-1)", "torch.log_softmax(logits, dim=0)"),
            ("torch.log_softmax(logits, dim=-1)", "torch.log_softmax(logits.flatten(), dim=0).view_as(logits)"),
        ),
        (
            "wrong_parent",
            "A continuation is attached to the wrong beam: of a place in the flattened (K, V), place // V is the beam and place % V the token.",
            (_HEIR, "candidates.append(([*beams[len(candidates) % len(beams)][0], token], log_prob))"),
            (_HEIR, "candidates.append(([*beams[0][0], token], log_prob))"),
            (_DIVMOD, "beam, token = place % len(beams), place % logits.shape[-1]"),
            (_DIVMOD, "token, beam = divmod(place, len(beams))"),
        ),
        (
            "shared_list",
            "A list of tokens is changed in place (`append`), although several continuations share it: make a new list for each.",
            (_HEIR, "beams[beam][0].append(token)\n            candidates.append((beams[beam][0], log_prob))"),
        ),
        (
            "worst_kept",
            "The unlikeliest are kept, or win: log-probabilities are negative, the best is the largest.",
            (_TOP, "best = log_probs.flatten().topk(places_left, largest=False)"),
            ("max(finished or beams", "min(finished or beams"),
        ),
        (
            "sampled",
            "Beams are drawn at random: the likeliest are kept.",
            (
                _TOP,
                "drawn = torch.multinomial(log_probs.flatten().softmax(0), places_left)\n"
                "        best = torch.return_types.topk((log_probs.flatten()[drawn], drawn))",
            ),
        ),
        # --- finished beams
        (
            "finished_dropped",
            "Beams that have ended are lost: set them aside, one of them may be the best in the end.",
            (_FINISHED, "finished = [candidate for candidate in candidates if candidate[0][-1] == eos_id]"),
            [(_FINISHED, ""), (_WINNER, "tokens, _ = max(beams or [([bos_id], 0.0)], key=score)")],
            [(_WINNER, "tokens, _ = max(beams or finished, key=score)")],
        ),
        (
            "first_to_end_wins",
            "The first beam that ends is returned: others may end later and be better.",
            (_BEAM_STOP, "        if finished or not beams:\n            break\n"),
            (_WINNER, "tokens, _ = finished[0] if finished else max(beams, key=score)"),
        ),
        (
            "last_to_end_wins",
            "The last beam that ends wins, whatever its score: take the best of all finished ones.",
            (_WINNER, "tokens, _ = finished[-1] if finished else max(beams, key=score)"),
        ),
        (
            "continued_after_eos",
            "Beams that have ended are continued: what follows eos_id is rubbish, and costs them probability.",
            [
                (_FINISHED, ""),
                (_ALIVE, "beams = candidates"),
                (_WORDS, "return tokens[1 : tokens.index(eos_id)] if eos_id in tokens else tokens[1:]"),
            ],
            [(_FINISHED, ""), (_ALIVE, "beams = candidates")],
        ),
        (
            "unfinished_wins",
            "A beam that has not ended is preferred to finished ones.",
            (_WINNER, "tokens, _ = max(finished + beams, key=lambda c: c[1] if c[0][-1] == eos_id else 0.0)"),
        ),
        (
            "finished_too_early",
            "A beam counts as finished as soon as eos_id is among its likely continuations, whether that one is kept or not.",
            (
                _FINISHED,
                _FINISHED
                + "\n        finished += [([*tokens, eos_id], log_probs[i, eos_id].item()) for i, (tokens, _) in enumerate(beams)]\n"
                "        finished = sorted(finished, key=lambda c: -c[1])[:beam_size]",
            ),
        ),
        (
            "unfinished_lost",
            "When no beam has ended by max_len, nothing comes back: then the best unfinished one is the result.",
            (_WINNER, "if not finished:\n        return []\n    tokens, _ = max(finished, key=score)"),
            ("max(finished or beams", "max(finished"),
            (_WINNER, "if not finished:\n        return None\n    tokens, _ = max(finished, key=score)"),
        ),
        # --- length penalty
        (
            "penalty_ignored",
            "length_penalty makes no difference: the log-probability of each beam is divided by ((5 + length) / 6) ** length_penalty, with the length of "
            "that beam.",
            (_SCORE, "return log_prob / ((5 + max_len) / 6) ** length_penalty"),
            (_SCORE, "return log_prob"),
            (_WINNER, "tokens, _ = max(finished or beams, key=lambda c: c[1])"),
        ),
        (
            "penalty_multiplied",
            "The log-probability is multiplied by the penalty: it is divided, so that long sentences lose less.",
            (_SCORE, _SCORE.replace("log_prob / ", "log_prob * ")),
            (_SCORE, _SCORE.replace("** length_penalty", "** -length_penalty")),
        ),
        (
            "penalty_of_the_length_alone",
            "The log-probability is divided by length ** length_penalty: here it is ((5 + length) / 6) ** length_penalty.",
            (_SCORE, "return log_prob / max(len(tokens) - 1, 1) ** length_penalty"),
            (_SCORE, "return log_prob / len(tokens) ** length_penalty"),
        ),
        (
            "mean_log_probability",
            "The log-probability is divided by the length, whatever length_penalty says.",
            (_SCORE, "return log_prob / max(len(tokens) - 1, 1)"),
            (_SCORE, "return log_prob / len(tokens)"),
            (_SCORE, "return log_prob / ((5 + len(tokens) - 1) / 6)"),
        ),
        (
            "penalty_subtracted",
            "The penalty is subtracted, added, or multiplied by the length: the log-probability is divided by ((5 + length) / 6) ** length_penalty.",
            (_SCORE, "return log_prob - length_penalty * len(tokens)"),
            (_SCORE, "return log_prob + length_penalty * len(tokens)"),
            (_SCORE, "return log_prob / (length_penalty * max(len(tokens) - 1, 1) or 1)"),
            (_SCORE, "return log_prob / ((5 + length_penalty) / 6) ** (len(tokens) - 1)"),
        ),
        (
            "penalty_at_every_step",
            "The penalty is applied anew at each step to what has been divided already: keep log-probabilities, and divide only to compare.",
            (
                _HEIR,
                "candidates.append(([*beams[beam][0], token], log_prob / ((5 + len(beams[beam][0])) / 6) ** length_penalty))",
            ),
            (
                _HEIR,
                "candidates.append(([*beams[beam][0], token], log_prob / ((5 + 1) / 6) ** length_penalty / len(beams[beam][0]) ** length_penalty))",
            ),
        ),
        (
            "penalty_default",
            "The default of length_penalty is not 0.6.",
            ("length_penalty=0.6", "length_penalty=1.0"),
            ("length_penalty=0.6", "length_penalty=0.0"),
            ("length_penalty=0.6", "length_penalty"),
        ),
        (
            "penalty_fixed",
            "length_penalty is not used: its place is taken by a fixed 0.6.",
            ("** length_penalty", "** 0.6"),
        ),
        # --- what goes in and comes out
        (
            "bos_kept",
            "bos_id is part of the result: leave it out.",
            ("tokens[1:]", "tokens"),
        ),
        (
            "eos_kept",
            "eos_id is part of the result: leave it out.",
            (_WORDS, "return tokens[1:]"),
        ),
        (
            "last_token_cut",
            "The last token is cut off although it is not eos_id (or the first one, which is not bos_id).",
            (_WORDS, "return tokens[1:-1]"),
            ("tokens[1:] if", "tokens[2:] if"),
        ),
        (
            "one_too_few",
            "The loop has one step too few: max_len counts the new tokens, bos_id is not among them.",
            ("range(max_len)", "range(max_len - 1)"),
            ("range(max_len)", "range(1, max_len)"),
        ),
        (
            "one_too_many",
            "The loop has one step too many: at most max_len new tokens.",
            ("range(max_len)", "range(max_len + 1)"),
        ),
        (
            "max_len_ignored",
            "max_len is not kept to.",
            ("range(max_len)", "range(50)"),
            ("range(max_len)", "range(2 * source_ids.shape[1])"),
            ("range(max_len)", "range(source_ids.shape[1])"),
        ),
        (
            "nothing_at_zero",
            "max_len = 0 fails: it gives an empty list.",
            (_WINNER, "finished = finished + candidates[:0]\n    " + _WINNER),
            ("    beams, finished", "    assert max_len > 0\n    beams, finished"),
        ),
        (
            "fixed_ids",
            "The ids of bos and eos are written into the code: use bos_id and eos_id.",
            [("== eos_id", "== 2"), ("!= eos_id", "!= 2")],
            ("[([bos_id], 0.0)]", "[([1], 0.0)]"),
            ("[([bos_id], 0.0)]", "[([0], 0.0)]"),
        ),
        (
            "starts_with_eos",
            "The beams begin with eos_id: they begin with bos_id.",
            ("[([bos_id], 0.0)]", "[([eos_id], 0.0)]"),
        ),
        (
            "bos_not_given",
            "The model is not given bos_id: target_ids begin with it, as in training.",
            [("[([bos_id], 0.0)]", "[([], 0.0)]"), ("tokens[1:]", "tokens")],
        ),
        (
            "last_token_given",
            "The model is given only the last token of each beam: it has no memory, so give it all of them.",
            (_TARGETS, "target_ids = torch.tensor([tokens[-1:] for tokens, _ in beams], device=source_ids.device)"),
        ),
        (
            "wrong_position",
            "The logits of the wrong position are used: the next token follows the last one, `[:, -1]`.",
            ("target_ids)[:, -1]", "target_ids)[:, 0]"),
            ("target_ids)[:, -1]", "target_ids).mean(dim=1)"),
        ),
        (
            "source_not_repeated",
            "The model is given one source and several beams: repeat the source for each of them (`expand`, `repeat`), both have as many rows.",
            ("source_ids.expand(len(beams), -1)", "source_ids"),
            ("source_ids.expand(len(beams), -1)", "source_ids.expand(beam_size, -1)"),
        ),
        (
            "model_arguments_swapped",
            "The model's arguments are the wrong way round: model(source_ids, target_ids).",
            ("source_ids.expand(len(beams), -1), target_ids", "target_ids, source_ids.expand(len(beams), -1)"),
        ),
        (
            "too_many_asked_for",
            "topk is asked for more than there is: with beam_size above V, a beam has only V continuations (`min(beam_size, …)`).",
            (_PLACES, "places_left = beam_size - len(finished)"),
            (_LOG_PROBS, _LOG_PROBS + "\n        log_probs.topk(beam_size, dim=-1)  # the candidates of each beam"),
        ),
        (
            "score_too",
            "More than the ids is returned: one list of ints is asked for.",
            (_WORDS, "return [token for token in tokens[1:] if token != eos_id], _"),
            (_WORDS, "return _, [token for token in tokens[1:] if token != eos_id]"),
        ),
        (
            "all_beams",
            "All beams are returned (or a list around the one): one list of ints is asked for.",
            (_WORDS, "return [[token for token in tokens[1:] if token != eos_id]]"),
            (
                _WORDS,
                "return [[t for t in tokens[1:] if t != eos_id] for tokens, _ in sorted(finished or beams, key=score, reverse=True)]",
            ),
        ),
        (
            "tensor",
            "A tensor is returned, or a list of tensors: a list of ints is asked for (`.tolist()`, `int(…)`).",
            (_WORDS, "return torch.tensor([token for token in tokens[1:] if token != eos_id])"),
            (_WORDS, "return [torch.tensor(token) for token in tokens[1:] if token != eos_id]"),
        ),
        (
            "input_changed",
            "source_ids are changed in place: the caller's tensor stays as it is.",
            (_WINNER, "source_ids.zero_()\n    " + _WINNER),
            (_WINNER, "source_ids.resize_(len(finished) + 1, source_ids.shape[1])\n    " + _WINNER),
        ),
        (
            "training_mode",
            "The model is put into training mode, so dropout would be at work: it is called in the mode it is in.",
            ("    beams, finished", "    model.train()\n    beams, finished"),
        ),
        (
            "device_not_kept",
            "A tensor is made without `device=…`: on a GPU it would be on the CPU.",
            (_TARGETS, "target_ids = torch.tensor([tokens for tokens, _ in beams])"),
            (_SO_FAR, "so_far = torch.tensor([log_prob for _, log_prob in beams])"),
        ),
        (
            "bad_size_accepted",
            "A beam_size below 1 is accepted: it should be a ValueError that names beam_size.",
            (_SIZE_CHECK, "    beam_size = max(beam_size, 1)\n"),
            (_SIZE_CHECK, "    if beam_size < 1:\n        return []\n"),
        ),
        (
            "error_of_another_type",
            "A beam_size below 1 stops with another error than ValueError: check it at the start (not with `assert`).",
            (_SIZE_CHECK, ""),
            (_SIZE_CHECK, "    assert beam_size >= 1\n"),
        ),
        (
            "nothing_returned",
            _NOTHING,
            (_WORDS, _WORDS.replace("return ", "print(") + ")"),
            (_WORDS, "tokens = tokens[1:]"),
        ),
    ),
    alternatives=_alternatives(
        beam_search,
        wide_until_enough="""
        if beam_size < 1:
            raise ValueError("beam_size must be positive")
        model.eval()
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
        """,
        ended_beams_compete="""
        import heapq

        def beam_search(model, source_ids, bos_id, eos_id, beam_size, max_len, length_penalty=0.6):
            if beam_size <= 0:
                raise ValueError(f"beam_size: {beam_size}")

            def normalised(entry):
                log_p, tokens = entry
                return log_p * (6 / (5 + len([t for t in tokens if t != eos_id]))) ** length_penalty

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
        """,
        to_the_end="""
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
        """,
        tensors="""
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
    ),
)


# --- bleu -------------------------------------------------------------------------------------------------------------

_WORDS_OF = ["the", "cat", "sat", "on", "a", "mat", "while", "dogs", "and", "birds", "sang", "in", "old", "trees"]


def _sentence(length: int, words: int = len(_WORDS_OF)) -> list[str]:
    """Words in an order of their own; the first few, where only few are asked for."""
    return [_WORDS_OF[i] for i in (normal(length).abs() * 1000).long() % words]


def _worsened(sentence: list[str], share: float, longer: int = 0) -> list[str]:
    """Some words replaced by others, and the sentence made longer or shorter at its end."""
    kept = (normal(len(sentence)).abs() > share * 1.5).tolist() if sentence else []
    worse = [word if keep else "zebra" for word, keep in zip(sentence, kept, strict=True)]
    return worse + ["again"] * longer if longer >= 0 else worse[:longer]


def _scored(student: Any, hypotheses: list, references: list, where: str) -> dict:
    expected = bleu(hypotheses, references)
    answer = _float(student, "bleu", [hypotheses, references], expected, "The score", where, 1e-6)
    if answer["after"] and list(answer["after"][:2]) != [hypotheses, references]:
        raise Wrong("The lists of tokens are changed: the caller's are different afterwards.", "input_changed")
    return answer


def _bleu_one(student: Any) -> None:
    for hypothesis, reference, what in (
        ("a b c d e", "a b c d f", "for five tokens, four of them right"),
        ("the cat sat on the mat", "the cat sat on a mat", "for one wrong word in the middle"),
        ("a b c d", "a b c d", "for a perfect sentence of four tokens"),
        ("the dog ran to the big house", "the dog ran to the big house", "for a perfect sentence"),
        ("a b c d a b c d a b c d", "a b c d e f g h i j k l", "for a phrase that is repeated"),
        ("x a b c d e y", "a b c d e f g", "for a phrase in another place"),
        ("The cat sat on it .", "the cat sat on it .", "where a capital letter differs"),
        ("of of the the the the of of", "of the the of", "for words that are repeated too often"),
    ):
        with student.case():
            _scored(student, [hypothesis.split()], [reference.split()], what)


def _bleu_corpus(student: Any) -> None:
    for count, words, share in ((2, 14, 0.2), (5, 14, 0.15), (8, 5, 0.3), (20, 3, 0.4), (3, 2, 0.2)):
        with student.case():
            references = [_sentence(5 + (7 * i) % 9, words) for i in range(count)]
            hypotheses = [_worsened(reference, share) for reference in references]
            _scored(student, hypotheses, references, f"for {count} sentences with {words} different words")
    with student.case():
        references = [_sentence(12), _sentence(6), _sentence(3), _sentence(2), _sentence(1)]
        hypotheses = [references[0], _worsened(references[1], 0.2), references[2], _sentence(2), references[4]]
        _scored(student, hypotheses, references, "for sentences of different lengths, some shorter than four tokens")
    with student.case():
        references = [_sentence(9), _sentence(6), _sentence(7)]
        hypotheses = [_worsened(reference, 0.25) for reference in references]
        where = "for a corpus in which a pair of sentences comes three times"
        _scored(
            student, [*hypotheses, hypotheses[0], hypotheses[0]], [*references, references[0], references[0]], where
        )
    with student.case():
        references = [_sentence(9, 4), _sentence(7, 4)]
        where = "for two sentences that were exchanged"
        _scored(student, references[::-1], references, where)


def _bleu_brevity(student: Any) -> None:
    for longer, what in (
        (-1, "for hypotheses one token shorter than their references"),
        (-4, "for hypotheses much shorter than their references"),
        (0, "for hypotheses as long as their references"),
        (1, "for hypotheses one token longer than their references"),
        (3, "for hypotheses longer than their references"),
    ):
        with student.case():
            references = [_sentence(8), _sentence(11), _sentence(9)]
            hypotheses = [_worsened(reference, 0.1, longer) for reference in references]
            _scored(student, hypotheses, references, what)
    for hypothesis, reference in (("a b c d e f", "a b c d e"), ("a b c d e", "a b c d e f")):
        with student.case():
            where = "for one sentence that is a token longer or shorter"
            _scored(student, [hypothesis.split()], [reference.split()], where)
    with student.case():
        references = [_sentence(8), _sentence(12)]
        hypotheses = [_worsened(references[0], 0.0, -3), _worsened(references[1], 0.0, 3)]
        _scored(student, hypotheses, references, "where one hypothesis is too short and the other as much too long")
    with student.case():
        references = [_sentence(8), _sentence(12)]
        hypotheses = [_worsened(references[0], 0.0, -4), _worsened(references[1], 0.0, 2)]
        _scored(student, hypotheses, references, "where one hypothesis is too short and the other less too long")


def _bleu_smoothing(student: Any) -> None:
    for hypotheses, references, what in (
        (["a b c x d e f y"], ["a b c d e f g h"], "when no 4-gram matches"),
        (["a b x c d y e"], ["a b c d e f g"], "when no 3-gram and no 4-gram matches"),
        (["a x b y c z"], ["a b c d e f"], "when only single words match"),
        (["a x b y c z", "q r s t u"], ["a b c d e f", "a b c d e"], "when only single words of one sentence match"),
        (["b a d c f e"], ["a b c d e f"], "when all words are right and in the wrong order"),
        (["a b c x d e f", "the x"], ["a b c d e f g", "the cat"], "when no 4-gram of two sentences matches"),
        (
            ["a b x c d", "a b c x"],
            ["a b c d e", "a b c d e f"],
            "when no 4-gram matches and the hypotheses are too short",
        ),
    ):
        with student.case():
            _scored(student, [h.split() for h in hypotheses], [r.split() for r in references], what)


def _bleu_nothing(student: Any) -> None:
    for hypotheses, references, what in (
        (["v w x y z"], ["a b c d e"], "when nothing matches"),
        (["a b c"], ["a b c"], "when no hypothesis has four tokens"),
        (["a b", "c"], ["a b c d e", "c d e f"], "when no hypothesis has four tokens"),
        ([""], ["a b c d"], "for an empty hypothesis"),
        (["", ""], ["", ""], "for empty sentences"),
        (["a b c d e", ""], ["a b c d e", "a b c"], "when one hypothesis of two is empty"),
        (["a b c d e", "a b"], ["a b c d e", ""], "when one reference of two is empty"),
        (["a b c d e", ""], ["a b c d f", ""], "when both sentences of a pair are empty"),
    ):
        with student.case():
            _scored(student, [h.split() for h in hypotheses], [r.split() for r in references], what)


def _bleu_manners(student: Any) -> None:
    with student.case():
        long_one = _sentence(7)
        _scored(
            student, [_worsened(long_one, 0.2), long_one], [long_one, _worsened(long_one, 0.1)], "for two sentences"
        )
    for hypotheses, references in (
        (["a b c d", "e f"], ["a b c d"]),
        (["a b c d"], ["a b c d", "e f g h"]),
        ([], ["a b"]),
    ):
        with student.case():
            args = [[h.split() for h in hypotheses], [r.split() for r in references]]
            _refused(student, "bleu", args, f"{len(hypotheses)} hypotheses for {len(references)} references")


_LENGTHS_CHECK = (
    "    if len(hypotheses) != len(references):\n"
    '        raise ValueError(f"hypotheses and references must be equally many; got {len(hypotheses)} and {len(references)}")\n'
)
_OURS = "ours = Counter(tuple(hypothesis[i : i + n]) for i in range(len(hypothesis) - n + 1))"
_THEIRS = "theirs = Counter(tuple(reference[i : i + n]) for i in range(len(reference) - n + 1))"
_MATCHES = "matches[n - 1] += (ours & theirs).total()  # & takes the smaller count of each"
_TOTALS = "totals[n - 1] += ours.total()"
_ZERO = "    if not any(matches) or not all(totals):\n        return 0.0\n"
_SMOOTHED = "        if matched == 0:\n            penalty *= 2  # 1/2, 1/4, … of a match\n"
_LOG = "log_precisions.append(math.log((matched or 1 / penalty) / total))"
_LENGTHS = "h, r = (sum(map(len, sentences)) for sentences in (hypotheses, references))"
_BREVITY = "brevity = 1.0 if h >= r else math.exp(1 - r / h)"
_RESULT = "return 100 * brevity * math.exp(sum(log_precisions) / 4)"
_ALONE = "def bleu(hypotheses, references):\n" + _LENGTHS_CHECK


def _averaged(weights: str) -> str:
    """The mean of the scores of single sentences, with these weights."""
    inner = source_of(bleu).replace("def bleu(", "def corpus_bleu(")
    return (
        inner
        + "\n\n"
        + _ALONE
        + "    scores = [corpus_bleu([h], [r]) for h, r in zip(hypotheses, references)]\n"
        + f"    weights = [{weights} for h, r in zip(hypotheses, references)]\n"
        + "    return sum(s * w for s, w in zip(scores, weights)) / max(sum(weights), 1e-9)\n"
    )


def _prepared(*lines: str) -> tuple[str, str]:
    """The same after the sentences were treated in some way."""
    return _LENGTHS_CHECK, _LENGTHS_CHECK + "".join(f"    {line}\n" for line in lines)


BLEU = Exercise(
    name="bleu",
    notebook="11-translation",
    points=6,
    reference=bleu,
    checks=[
        Check("one sentence: n-grams of 1 to 4, counted as often as in the reference", 1.5, _bleu_one),
        Check("a corpus: counts are summed over its sentences", 1.25, _bleu_corpus),
        Check("the brevity penalty, over the corpus", 1.0, _bleu_brevity),
        Check("smoothing, as sacrebleu does it", 1.0, _bleu_smoothing),
        Check("nothing matches, short and empty sentences", 0.75, _bleu_nothing),
        Check("lists unchanged, unequal numbers refused", 0.5, _bleu_manners),
    ],
    working=written(
        """
        import math
        from collections import Counter

        def bleu(hypotheses, references):
            if len(hypotheses) != len(references):
                raise ValueError("hypotheses and references differ in number")
            def grams(tokens, n):
                return Counter(zip(*(tokens[i:] for i in range(n))))
            pairs, smooth, logs = list(zip(hypotheses, references)), 1, 0.0
            for n in range(1, 5):
                right = sum(min(c, grams(r, n)[g]) for h, r in pairs for g, c in grams(h, n).items())
                total = sum(max(len(h) - n + 1, 0) for h, _ in pairs)
                if total == 0 or (n == 1 and right == 0):
                    return 0.0
                if right == 0:
                    smooth *= 2
                logs += math.log((right or 1 / smooth) / total)
            h, r = sum(len(h) for h, _ in pairs), sum(len(r) for _, r in pairs)
            return 100 * math.exp(min(0, 1 - r / h) + logs / 4)
        """
    ),
    mistakes=_mistakes(
        bleu,
        # --- counting
        (
            "not_clipped",
            "Matches are not clipped: an n-gram counts at most as often as it stands in the reference, or `the the the` would be perfect.",
            (_MATCHES, "matches[n - 1] += sum(count for gram, count in ours.items() if gram in theirs)"),
        ),
        (
            "sets",
            "n-grams are counted once only (a set): each counts as often as it stands there, up to its number in the reference.",
            (_MATCHES, "matches[n - 1] += len(set(ours) & set(theirs))"),
            [(_OURS, "ours = Counter(set(tuple(hypothesis[i : i + n]) for i in range(len(hypothesis) - n + 1)))")],
            [(_MATCHES, "matches[n - 1] += len(set(ours) & set(theirs))"), (_TOTALS, "totals[n - 1] += len(ours)")],
        ),
        (
            "recall",
            "The matches are divided by the n-grams of the reference (recall): precision divides by those of the hypothesis.",
            (_TOTALS, "totals[n - 1] += theirs.total()"),
        ),
        (
            "arguments_swapped",
            "Hypotheses and references are the wrong way round: bleu(hypotheses, references); precision and brevity are the hypotheses'.",
            ("def bleu(hypotheses, references)", "def bleu(references, hypotheses)"),
        ),
        (
            "unigrams_only",
            "Not all of the n-grams of 1 to 4 tokens are used.",
            [("[0] * 4, [0] * 4", "[0] * 1, [0] * 1"), ("range(1, 5)", "range(1, 2)"), ("/ 4)", "/ 1)")],
            [("[0] * 4, [0] * 4", "[0] * 3, [0] * 3"), ("range(1, 5)", "range(1, 4)"), ("/ 4)", "/ 3)")],
            [("[0] * 4, [0] * 4", "[0] * 2, [0] * 2"), ("range(1, 5)", "range(1, 3)"), ("/ 4)", "/ 2)")],
            [("range(1, 5)", "range(1, 4)")],
        ),
        (
            "four_grams_only",
            "Only the 4-grams are used: the geometric mean of all four precisions is asked for.",
            (_RESULT, "return 100 * brevity * math.exp(log_precisions[3])"),
        ),
        (
            "five_grams",
            "n-grams of five tokens are used as well: 1 to 4.",
            [("[0] * 4, [0] * 4", "[0] * 5, [0] * 5"), ("range(1, 5)", "range(1, 6)"), ("/ 4)", "/ 5)")],
        ),
        (
            "last_n_gram_missing",
            "The last n-gram of each sentence is left out: there are length - n + 1 of them.",
            [("len(hypothesis) - n + 1", "len(hypothesis) - n"), ("len(reference) - n + 1", "len(reference) - n")],
            ("len(hypothesis) - n + 1", "len(hypothesis) - n"),
            ("len(reference) - n + 1", "len(reference) - n"),
        ),
        (
            "short_n_grams",
            "Pieces at the end of a sentence that are shorter than n count as n-grams.",
            [("len(hypothesis) - n + 1", "len(hypothesis)"), ("len(reference) - n + 1", "len(reference)")],
            ("len(hypothesis) - n + 1", "len(hypothesis)"),
        ),
        (
            "n_grams_side_by_side",
            "The sentences are cut into pieces of n tokens side by side: n-grams overlap, one begins at each token.",
            [
                ("range(len(hypothesis) - n + 1)", "range(0, len(hypothesis) - n + 1, n)"),
                ("range(len(reference) - n + 1)", "range(0, len(reference) - n + 1, n)"),
            ],
        ),
        (
            "order_ignored",
            "The order inside an n-gram does not count (sorted, or a set): it must.",
            [
                ("Counter(tuple(hypothesis[i : i + n])", "Counter(tuple(sorted(hypothesis[i : i + n]))"),
                ("Counter(tuple(reference[i : i + n])", "Counter(tuple(sorted(reference[i : i + n]))"),
            ],
        ),
        (
            "positions_compared",
            "Tokens count only if they stand in the same place in both sentences: an n-gram may stand anywhere.",
            (
                _MATCHES,
                "matches[n - 1] += sum(hypothesis[i : i + n] == reference[i : i + n] for i in range(min(len(hypothesis), len(reference)) - n + 1))",
            ),
        ),
        (
            "characters",
            "The n-grams are made of characters: a sentence is a list of tokens.",
            _prepared("hypotheses = [''.join(h) for h in hypotheses]", "references = [''.join(r) for r in references]"),
            _prepared(
                "hypotheses = [' '.join(h) for h in hypotheses]", "references = [' '.join(r) for r in references]"
            ),
        ),
        (
            "across_sentences",
            "All sentences are strung together, so that n-grams cross from one to the next, or match in another sentence: count within each pair.",
            _prepared("hypotheses, references = [sum(hypotheses, [])], [sum(references, [])]"),
        ),
        (
            "any_reference",
            "n-grams may match in any reference of the corpus: each hypothesis has its own reference.",
            (
                _MATCHES,
                "everywhere = Counter()\n            for other in references:\n                everywhere |= Counter(tuple(other[i : i + n]) for i in range(len(other) - n + 1))\n            "
                "matches[n - 1] += (ours & everywhere).total()",
            ),
        ),
        (
            "lower_case",
            "Capital letters are changed: tokens are compared as they are.",
            _prepared(
                "hypotheses = [[t.lower() for t in h] for h in hypotheses]",
                "references = [[t.lower() for t in r] for r in references]",
            ),
        ),
        (
            "duplicates_dropped",
            "Pairs of sentences that come more than once are counted once: each counts.",
            _prepared(
                "pairs = dict.fromkeys((tuple(h), tuple(r)) for h, r in zip(hypotheses, references))",
                "hypotheses, references = [list(h) for h, r in pairs], [list(r) for h, r in pairs]",
            ),
        ),
        (
            "last_sentence_only",
            "Only one sentence counts (a variable is overwritten in the loop, or the `return` stands inside it).",
            [("matches[n - 1] +=", "matches[n - 1] ="), ("totals[n - 1] +=", "totals[n - 1] =")],
            _prepared("hypotheses, references = hypotheses[:1], references[:1]"),
        ),
        # --- putting it together
        (
            "mean_of_sentences",
            "The scores of the sentences are averaged: corpus BLEU sums the counts over all sentences first, and scores once.",
            _averaged("1"),
            _averaged("len(r)"),
            _averaged("len(h)"),
        ),
        (
            "mean_of_precisions",
            "The precisions of the sentences are averaged: matches and n-grams are summed over the corpus, then divided.",
            [
                (
                    _TOTALS,
                    "totals[n - 1] += ours.total()\n            shares[n - 1].append((ours & theirs).total() / max(ours.total(), 1))",
                ),
                ("matches, totals = [0] * 4, [0] * 4", "matches, totals, shares = [0] * 4, [0] * 4, [[], [], [], []]"),
                (
                    _RESULT,
                    "means = [sum(s) / len(s) for s in shares]\n    return 100 * brevity * math.prod(means) ** 0.25",
                ),
            ],
        ),
        (
            "arithmetic_mean",
            "The arithmetic mean of the precisions is taken: it is the geometric one.",
            (_RESULT, "return 100 * brevity * sum(math.exp(p) for p in log_precisions) / 4"),
        ),
        (
            "product",
            "The precisions are multiplied, but the fourth root is missing (or another one is taken).",
            (_RESULT, "return 100 * brevity * math.exp(sum(log_precisions))"),
            (_RESULT, "return 100 * brevity * math.exp(sum(log_precisions) / 2)"),
        ),
        (
            "harmonic_mean",
            "The harmonic mean is taken: it is the geometric one.",
            (_RESULT, "return 100 * brevity * 4 / sum(math.exp(-p) for p in log_precisions)"),
        ),
        (
            "log_base",
            "The logarithm and the exponential do not belong together (log2 or log10 with exp).",
            ("math.log(", "math.log2("),
            ("math.log(", "math.log10("),
        ),
        (
            "scale_of_one",
            "The score goes from 0 to 1: it is to go from 0 to 100.",
            ("100 * brevity", "brevity"),
        ),
        (
            "pooled_counts",
            "The n-grams of all four lengths are thrown together: a precision for each n, then their geometric mean.",
            (_RESULT, "return 100 * brevity * sum(matches) / sum(totals)"),
        ),
        # --- brevity
        (
            "no_brevity_penalty",
            "The brevity penalty is missing (or compares numbers of sentences, which are equal): hypotheses with fewer tokens than their references lose.",
            (_BREVITY, "brevity = 1.0"),
            (_LENGTHS, "h, r = len(hypotheses), len(references)"),
        ),
        (
            "brevity_upside_down",
            "The fraction in the brevity penalty is upside down: exp(1 - r / h), where r is the length of the references.",
            (_BREVITY, "brevity = 1.0 if h >= r else math.exp(1 - h / r)"),
            (_BREVITY, "brevity = 1.0 if h >= r else math.exp(h / r - 1)"),
            (_BREVITY, "brevity = 1.0 if h >= r else h / r"),
        ),
        (
            "long_ones_punished",
            "Hypotheses that are *longer* lose (or gain): the penalty is 1 for them, exp(1 - r / h) for shorter ones.",
            (_BREVITY, "brevity = 1.0 if h <= r else math.exp(1 - h / r)"),
            (_BREVITY, "brevity = math.exp(1 - r / h)"),
            (_BREVITY, "brevity = math.exp(-abs(1 - r / h))"),
            (_BREVITY, "brevity = 1.0 if h < r else math.exp(1 - r / h)"),
        ),
        (
            "brevity_by_sentence",
            "The brevity penalty is worked out for each sentence: it takes the lengths of the whole corpus.",
            (
                _BREVITY,
                "each = [math.exp(min(0.0, 1 - len(b) / max(len(a), 1e-9))) for a, b in zip(hypotheses, references)]\n    brevity = sum(each) / len(each)",
            ),
            (
                _BREVITY,
                "shorter = sum(max(len(b) - len(a), 0) for a, b in zip(hypotheses, references))\n    brevity = math.exp(-shorter / h)",
            ),
        ),
        (
            "sentences_for_tokens",
            "The brevity penalty compares the wrong lengths: the numbers of tokens, of all hypotheses and of all references.",
            (_LENGTHS, "h, r = (sum(len(' '.join(s)) for s in sentences) for sentences in (hypotheses, references))"),
            (_LENGTHS, "h, r = totals[3], sum(max(len(s) - 3, 0) for s in references)"),
            (_LENGTHS, "h, r = (sum(len(set(s)) for s in sentences) for sentences in (hypotheses, references))"),
        ),
        # --- smoothing
        (
            "no_smoothing",
            "There is no smoothing: where an order has no match, it counts as 1/2, 1/4, … of one, and the score is not 0.",
            (_ZERO, "    if not all(matches):\n        return 0.0\n"),
            [
                (_ZERO, "    if not all(totals):\n        return 0.0\n"),
                (_SMOOTHED, ""),
                (_LOG, "log_precisions.append(math.log(matched / total) if matched else -1e9)"),
            ],
        ),
        (
            "log_of_zero",
            "The logarithm of 0 is taken where an order has no match: smoothing sees to it.",
            [(_SMOOTHED, ""), (_LOG, "log_precisions.append(math.log(matched / total))")],
        ),
        (
            "always_half",
            "Each order without a match counts as 1/2: the second counts as 1/4, the third as 1/8.",
            ("penalty *= 2", "penalty = 2"),
        ),
        (
            "halved_by_order",
            "The smoothing goes by n: it is the first order *without a match* that counts as 1/2, the next as 1/4.",
            (_SMOOTHED, "        penalty *= 2\n"),
            (_SMOOTHED, "        penalty = 2 ** (len(log_precisions))\n"),
        ),
        (
            "smoothing_starts_at_one",
            "The first order without a match counts as one match: it counts as 1/2, the next as 1/4.",
            [(_SMOOTHED, ""), (_LOG, _LOG + "\n        if matched == 0:\n            penalty *= 2")],
        ),
        (
            "add_one",
            "1 is added to matches and n-grams: here, as in sacrebleu's default, only orders without a match are smoothed, by 1/2, 1/4 and so on.",
            [(_SMOOTHED, ""), (_LOG, "log_precisions.append(math.log((matched + 1) / (total + 1)))")],
            [
                (_SMOOTHED, ""),
                (
                    _LOG,
                    "one = 1 if log_precisions else 0\n        log_precisions.append(math.log(max(matched + one, 1e-9) / (total + one)))",
                ),
            ],
            [(_SMOOTHED, ""), (_LOG, "log_precisions.append(math.log((matched or 1) / total))")],
        ),
        (
            "small_number",
            "A small number takes the place of 0 matches: here the first order without a match counts as 1/2, the next as 1/4.",
            [(_SMOOTHED, ""), (_LOG, "log_precisions.append(math.log(max(matched, 0.1) / total))")],
            [(_SMOOTHED, ""), (_LOG, "log_precisions.append(math.log(matched / total + 1e-9))")],
            [(_SMOOTHED, ""), (_LOG, "log_precisions.append(math.log(max(matched, 1e-9) / total))")],
        ),
        (
            "smoothed_without_division",
            "A smoothed precision is not divided by the number of n-grams: 1/2 (or 1/4, …) takes the place of the matches, not of the precision.",
            ("(matched or 1 / penalty) / total", "matched / total if matched else 1 / penalty"),
        ),
        (
            "orders_skipped",
            "Orders without a match are left out of the mean: they are smoothed, and there are always four.",
            [
                (_LOG, "if matched:\n            log_precisions.append(math.log(matched / total))"),
                ("/ 4)", "/ len(log_precisions))"),
            ],
            [(_LOG, "if matched:\n            log_precisions.append(math.log(matched / total))")],
        ),
        (
            "smoothed_by_sentence",
            "Orders without a match are smoothed in each sentence: only those that have none in the whole corpus are.",
            (_MATCHES, "matches[n - 1] += (ours & theirs).total() or (0.5 if ours else 0)"),
        ),
        (
            "smoothing_without_any_match",
            "Where nothing matches at all, smoothing still gives points: the score is 0 then.",
            (_ZERO, "    if not all(totals):\n        return 0.0\n"),
        ),
        (
            "short_ones_divide_by_zero",
            "Hypotheses of fewer than four tokens (or empty ones) stop it with an error: there are no 4-grams, and the score is 0.",
            (_ZERO, "    if totals[0] and not any(matches):\n        return 0.0\n"),
            (_ZERO, "    if not any(matches):\n        return 0.0\n"),
            (_ZERO, ""),
            (
                _ZERO,
                "    if not matches[0] / totals[0]:\n        return 0.0\n    if not all(totals):\n        return 0.0\n",
            ),
        ),
        (
            "not_zero",
            "Where the score is 0, something else comes back: return 0.0.",
            ("return 0.0", "return None"),
        ),
        (
            "short_ones_scored",
            "Where no hypothesis has four tokens, fewer orders are averaged: the score is 0 then, as sacrebleu's is for a corpus.",
            [
                (_ZERO, "    if not any(matches):\n        return 0.0\n"),
                (
                    "in zip(matches, totals, strict=True):\n",
                    "in zip(matches, totals, strict=True):\n        if total == 0:\n            break\n",
                ),
                ("/ 4)", "/ len(log_precisions))"),
            ],
            (_ZERO, "    if not any(matches):\n        return 0.0\n    totals = [total or 1 for total in totals]\n"),
        ),
        (
            "perfect_is_perfect",
            "Equal lists are given 100 without a look: without 4-grams the score is 0.",
            _prepared("if hypotheses == references:", "    return 100.0"),
        ),
        (
            "empty_skipped",
            "Pairs with an empty sentence are skipped: the lengths of both still count for the brevity penalty.",
            _prepared(
                "pairs = [(h, r) for h, r in zip(hypotheses, references) if h and r]",
                "hypotheses, references = [h for h, r in pairs], [r for h, r in pairs]",
            ),
            _prepared(
                "pairs = [(h, r) for h, r in zip(hypotheses, references) if h]",
                "hypotheses, references = [h for h, r in pairs], [r for h, r in pairs]",
            ),
            _prepared(
                "pairs = [(h, r) for h, r in zip(hypotheses, references) if len(h) >= 4]",
                "hypotheses, references = [h for h, r in pairs], [r for h, r in pairs]",
            ),
        ),
        # --- manners
        (
            "rounded",
            "The score is rounded: return it as it is.",
            (_RESULT, _RESULT.replace("return ", "return round(") + ", 2)"),
            (_RESULT, _RESULT.replace("return ", "return float(round(") + "))"),
        ),
        (
            "not_a_float",
            "The result is not a plain float (an int, a tensor, a text).",
            (_RESULT, _RESULT.replace("return ", "return int(") + ")"),
            (_RESULT, _RESULT.replace("return ", "return torch.tensor(") + ")"),
            (_RESULT, _RESULT.replace("return ", "return str(") + ")"),
        ),
        (
            "details_too",
            "More than the score is returned: one float is asked for.",
            (_RESULT, _RESULT + ", log_precisions"),
            (_RESULT, "return {'bleu': 100 * brevity * math.exp(sum(log_precisions) / 4)}"),
        ),
        (
            "nothing_returned",
            _NOTHING,
            (_RESULT, _RESULT.replace("return ", "print(") + ")"),
            (_RESULT, _RESULT.replace("return ", "score = ")),
        ),
        (
            "input_changed",
            "The lists of tokens are changed in place (pop, remove, append): the caller's lists stay as they are.",
            (
                _MATCHES,
                _MATCHES
                + "\n            if n == 4:\n                hypothesis.append('<eos>')\n                hypothesis.pop(0)",
            ),
            (_LENGTHS, _LENGTHS + "\n    hypotheses.clear()"),
        ),
        (
            "unequal_numbers_accepted",
            "Unequal numbers of hypotheses and references are accepted: they should be a ValueError.",
            [(_LENGTHS_CHECK, ""), ("in zip(hypotheses, references, strict=True)", "in zip(hypotheses, references)")],
            (
                _LENGTHS_CHECK,
                "    n = min(len(hypotheses), len(references))\n    hypotheses, references = hypotheses[:n], references[:n]\n",
            ),
            (_LENGTHS_CHECK, "    if len(hypotheses) != len(references):\n        return 0.0\n"),
        ),
        (
            "error_of_another_type",
            "Unequal numbers of hypotheses and references stop with another error than ValueError (not `assert`).",
            (_LENGTHS_CHECK, "    assert len(hypotheses) == len(references)\n"),
            [
                (_LENGTHS_CHECK, ""),
                (
                    "in zip(hypotheses, references, strict=True)",
                    "in [(hypotheses[k], references[k]) for k in range(max(len(hypotheses), len(references)))]",
                ),
            ],
        ),
    ),
    alternatives=_alternatives(
        bleu,
        loops="""
        if len(hypotheses) != len(references):
            raise ValueError("numbers differ")
        score, missing = 1.0, 0
        h_length = sum([len(h) for h in hypotheses])
        r_length = sum([len(r) for r in references])
        for n in (1, 2, 3, 4):
            correct, total = 0, 0
            for h, r in zip(hypotheses, references):
                left = [r[j : j + n] for j in range(0, len(r) - n + 1)]
                for i in range(0, len(h) - n + 1):
                    total += 1
                    if h[i : i + n] in left:
                        left.remove(h[i : i + n])
                        correct += 1
            if total == 0 or (n == 1 and correct == 0):
                return 0.0
            if correct == 0:
                missing += 1
                correct = 0.5**missing
            score *= correct / total
        if h_length < r_length:
            return 100 * score**0.25 * math.exp(1 - r_length / h_length)
        return 100 * score**0.25
        """,
        dictionaries="""
        if len(references) - len(hypotheses):
            raise ValueError("each hypothesis has one reference")

        def count(tokens):
            table = defaultdict(int)
            for n in range(1, 5):
                for i in range(len(tokens) + 1 - n):
                    table[" ".join(tokens[i : i + n]), n] += 1
            return table

        matched, possible = defaultdict(float), defaultdict(int)
        for h, r in zip(map(count, hypotheses), map(count, references)):
            for (gram, n), c in h.items():
                possible[n] += c
                matched[n] += min(c, r.get((gram, n), 0))
        if not matched[1] or not possible[4]:
            return 0.0
        k = 1.0
        for n in range(1, 5):
            if not matched[n]:
                k /= 2
                matched[n] = k
        c, r = sum(len(x) for x in hypotheses), sum(len(x) for x in references)
        mean = math.exp(sum(math.log(matched[n]) - math.log(possible[n]) for n in range(1, 5)) / 4)
        return 100.0 * mean * min(1.0, math.exp(1.0 - r / c))
        """,
        tensors="""
        if len(hypotheses) != len(references):
            raise ValueError("unequal")
        right, total = torch.zeros(4, dtype=torch.float64), torch.zeros(4, dtype=torch.float64)
        for hyp, ref in zip(hypotheses, references):
            for n in range(4):
                grams = lambda s: Counter(zip(*[s[k:] for k in range(n + 1)]))
                ours, theirs = grams(hyp), grams(ref)
                right[n] += sum(min(ours[g], theirs[g]) for g in ours)
                total[n] += max(0, len(hyp) - n)
        if right.sum() == 0 or total.min() == 0:
            return 0.0
        empty = right == 0
        right = torch.where(empty, 0.5 ** empty.cumsum(0), right)
        ratio = sum(map(len, references)) / sum(map(len, hypotheses))
        return float(100 * (right / total).log().mean().exp() * math.exp(min(1 - ratio, 0)))
        """,
    ),
)


EXERCISES = [NOAM_RATE, LABEL_SMOOTHED_LOSS, DECODER_BLOCK, GREEDY_DECODE, BEAM_SEARCH, BLEU]
QUESTIONS = [
    Question(
        name="q12_1",
        notebook="11-translation",
        points=1,
        key="B",
        explanations={
            "A": (
                "In self-attention it is so: there, later positions hold what is still to be written. But cross- "
                "attention looks at another sentence, which is known from its first word to its last. Those "
                "weights were not zero, and they were useful."
            ),
            "B": (
                "Right. Word t may now look at the source words 0 to t only. A language that puts a word earlier "
                "than English does could not read it in time, and a question mark or a negation at the end would "
                "come too late. The source holds no answers, so nothing needs to be hidden in it."
            ),
            "C": (
                "A leak needs a way to the answers, and those are Igbo words. The source is English, and "
                "blocking part of it can only take knowledge away. Ask yourself in which direction the loss "
                "would move then."
            ),
            "D": (
                "Padding does stand at the end, but so do the last real words of every sentence. Draw the mask "
                "for six target words and nine source words, and see how many real words it covers in the first "
                "row."
            ),
        },
    ),
    Question(
        name="q12_2",
        notebook="11-translation",
        points=1,
        key="D",
        explanations={
            "A": (
                "It sounds as if the true words had to be fed one by one. But they are all known beforehand, so "
                "they can be laid side by side under a causal mask. Count the passes of both once more: who has "
                "to wait for a word?"
            ),
            "B": (
                "The held-out pairs are new, so it feels like a real test of writing. Look at held_out_loss, "
                "though: which words does it hand to the decoder at every position? A model can do well there "
                "and still lose its way alone."
            ),
            "C": (
                "When it writes there is indeed nothing to hide, because the later words do not exist yet. But "
                "the mask also shapes how the earlier positions are computed: without it they would be computed "
                "otherwise than in training. A causal decoder keeps its mask."
            ),
            "D": (
                "Right. In training every beginning is a true one. When it writes, a wrong word becomes part of "
                "its own input, and it has never learnt to go on from there. This gap is known as exposure bias, "
                "and it grows with the length of the sentence."
            ),
        },
    ),
    Question(
        name="q12_3",
        notebook="11-translation",
        points=1,
        key="A",
        explanations={
            "A": (
                "Right. The target gives every other token the weight 0.1 / V. As the right one nears 1, the "
                "others near 0 and their −ln p grows without bound. The minimum lies near p = 0.9, and beyond it "
                "certainty costs more than it brings."
            ),
            "B": (
                "With ε = 0 it would be so, and the first term of the formula does vanish. But there is a second "
                "term, which asks about all the other tokens. What becomes of their logarithms when the right "
                "one takes nearly everything?"
            ),
            "C": (
                "You have found the place where the curve is lowest. But a loss that stays level would mean no "
                "gradient beyond it. Put p = 0.9999 into both terms of the formula and compare the sum with the "
                "one for 0.9."
            ),
            "D": (
                "Whether a word is counted as correct is a matter of the argmax. The loss looks at "
                "probabilities: it changes whenever they do, for right words as well as for wrong ones."
            ),
        },
    ),
    Question(
        name="q12_4",
        notebook="11-translation",
        points=1,
        key="C",
        explanations={
            "A": (
                "The four precisions are indeed all 1, since whatever it says is right. If that were everything, "
                "one safe word per sentence would be a perfect translation. Which factor of the formula is there "
                "to stop that?"
            ),
            "B": (
                "Half of the reference is found, and a measure of recall would say so. But BLEU divides by the "
                "n-grams of the hypothesis, not of the reference, and treats what is missing in another way."
            ),
            "C": (
                "Right. Every p is 1 and so is their mean. The hypotheses are half as long as the references, so "
                "the brevity penalty is e^(1 − 2) = 0.368. BLEU rewards precision, and the penalty stands in for "
                "the recall that it does not measure."
            ),
            "D": (
                "The 4-grams of the second half are missing, but who counts them? Only n-grams that the system "
                "has said are looked up. Those of the first half are all there, the 4-grams too."
            ),
        },
    ),
    Question(
        name="q12_5",
        notebook="11-translation",
        points=1,
        key="B",
        explanations={
            "A": (
                "A larger beam found sentences with a higher log-probability: that is exactly what it is asked "
                "for, so the search did its work. BLEU was not what it searched for. Why should the two agree?"
            ),
            "B": (
                "Right. The search got better and showed what the model believes: some poor sentences, often too "
                "short or even empty, have the largest probability of all. A small beam never comes across them. "
                "It is an error of the model, hidden by an error of the search."
            ),
            "C": (
                "Unlikely words may enter a wide beam, but at the end the best of all is taken, and here its "
                "log-probability was even higher than before. A sentence full of unlikely words would not have "
                "won."
            ),
            "D": (
                "A wide beam does hold more sentences, but one is returned, and BLEU compares its words with "
                "those of the reference. No probability enters that count, whatever the width of the beam."
            ),
        },
    ),
]
