"""Tests that the commonest wrong answers are named as they are typed, and that no line blames what was done rightly."""

import pytest
from conftest import cell_of, read

from autograder.judge.mark import mark
from autograder.judge.run_check import namespace_with, student_with_answer
from autograder.nbgrader_plugin.hidden_tests import HIDDEN
from autograder.spec.course import exercise

SELF_ATTENTION = """
class SelfAttention(nn.Module):
    def __init__(self, embed_dim, head_dim):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(embed_dim, head_dim) for _ in range(3))

    def forward(self, x, mask=None):
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        scores = q @ {keys} / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill({fill})
        weights = torch.softmax(scores, dim=-1)
        return weights @ v, weights
"""
ANNOTATED = (
    """
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    return torch.matmul(p_attn, value), p_attn
""".replace("query", "Q")
    .replace("key", "K")
    .replace("value", "V")
)
VECTORISED = """
def merge_pair(symbols, pair):
    out = list(symbols)
    found = [i for i, two in enumerate(zip(symbols, symbols[1:])) if two == pair]
    for i in found:
        out[i] = "".join(pair)
    return tuple(symbol for i, symbol in enumerate(out) if i - 1 not in found)
"""
DELETING = """
def merge_pair(symbols, pair):
    out = list(symbols)
    for i in range(len(out) - 1):
        if (out[i], out[i + 1]) == pair:
            out[i] += out.pop(i + 1)
    return tuple(out)
"""
ROTATE_HALF = """
def apply_rope(x, positions, base=10000.0):
    speeds = 1.0 / base ** (torch.arange(0, x.shape[-1], 2, device=x.device).float() / x.shape[-1])
    angles = torch.outer(positions.float(), speeds)
    angles = torch.cat([angles, angles], -1)
    left, right = x.chunk(2, -1)
    return (x * angles.cos() + torch.cat([-right, left], -1) * angles.sin()).to(x.dtype)
"""
COLUMNS = """
def shift_matrix(k, d_model):
    M = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        angle = k / 10000 ** (i / d_model)
        M[i, i], M[i, i + 1] = math.cos(angle), math.sin(angle)
        M[i + 1, i], M[i + 1, i + 1] = -math.sin(angle), math.cos(angle)
    return M
"""
COUNTS = """
def count_bigrams(ids, vocab_size):
    counts = torch.zeros(vocab_size, vocab_size, dtype=torch.int64)
    counts[ids[:-1], ids[1:]] += 1
    return counts
"""
FIXED_GELU = """
class FeedForward(nn.Module):
    def __init__(self, embed_dim, ff_dim, dropout=0.0, activation=F.relu):
        super().__init__()
        layers = nn.Linear(embed_dim, ff_dim), nn.GELU(), nn.Linear(ff_dim, embed_dim), nn.Dropout(dropout)
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)
"""
MASKED_AT_FIRST = """
def cached_attention(attention, x, num_heads, cache=None):
    layers = attention.q_proj, attention.k_proj, attention.v_proj
    q, k, v = (layer(x).unflatten(-1, (num_heads, -1)).transpose(1, 2) for layer in layers)
    if cache is not None:
        k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
    return attention.out_proj(y.transpose(1, 2).flatten(2)), (k, v)
"""
UNSET = """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.full((dim,), 1e9))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)
"""
NO_BIASES = """
def block_parameters(embed_dim, ff_dim):
    return 2 * embed_dim + 4 * embed_dim**2 + 2 * embed_dim * ff_dim
"""
TYPED = [
    ("SelfAttention", SELF_ATTENTION.format(keys="k.T", fill="mask, -torch.inf"), {"keys_transposed_whole"}),
    ("SelfAttention", SELF_ATTENTION.format(keys="k.mT", fill="mask == 0, -1e9"), {"mask_inverted_and_finite"}),
    ("scaled_dot_product_attention", ANNOTATED, {"mask_inverted_and_finite"}),
    ("merge_pair", VECTORISED, {"found_before_merging"}),
    ("merge_pair", DELETING, {"deleted_while_walking"}),
    ("apply_rope", ROTATE_HALF, {"halves"}),
    ("shift_matrix", COLUMNS, {"transposed", "error_of_another_type"}),
    ("count_bigrams", COUNTS, {"repeats_counted_once_on_the_cpu"}),
    ("FeedForward", FIXED_GELU, {"other_default"}),
    ("cached_attention", MASKED_AT_FIRST, {"mask_without_a_cache_only"}),
    ("RMSNorm", UNSET, {"other_start"}),
    ("block_parameters", NO_BIASES, {"no_biases"}),
]


@pytest.mark.parametrize(("name", "source", "mistakes"), TYPED, ids=[row[0] for row in TYPED])
def test_a_frequent_answer_is_named_however_it_is_spelt(name, source, mistakes):
    verdict = mark(name, student_with_answer(exercise(name), source))
    assert {diagnosis.mistake for diagnosis in verdict.diagnoses} == mistakes
    assert 0 < verdict.earned < verdict.points


CENTRED = """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(dim))

    def forward(self, x):
        x = x - x.mean(-1, keepdim=True)
        return self.weight * x * torch.rsqrt((x**2).mean(-1, keepdim=True) + self.eps)
"""
UNSCALED = """
class FeedForward(nn.Module):
    def __init__(self, embed_dim, ff_dim, dropout=0.0, activation=F.relu):
        super().__init__()
        self.up, self.down = nn.Linear(embed_dim, ff_dim), nn.Linear(ff_dim, embed_dim)
        self.p, self.activation = dropout, activation

    def forward(self, x):
        y = self.down(self.activation(self.up(x)))
        return y * (torch.rand_like(y) > self.p) if self.training else y
"""
NUCLEUS = """
def next_token_distribution(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0 or (top_k is not None and top_k < 1) or (top_p is not None and not 0 < top_p <= 1):
        raise ValueError("temperature, top_k or top_p")
    if temperature == 0:
        return torch.zeros_like(logits).scatter_(-1, logits.argmax(-1, keepdim=True), 1.0)
    logits = logits / temperature
    if top_k is not None:
        v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
        logits = logits.masked_fill(logits < v[..., -1:], -float("inf"))
    if top_p is not None:
        ordered, indices = torch.sort(logits, descending=True)
        remove = torch.cumsum(ordered.softmax(-1), dim=-1) > top_p
        remove[..., 0] = False
        logits = logits.masked_fill(remove.scatter(-1, indices, remove), -float("inf"))
    return logits.softmax(-1)
"""
CACHED = """
def cached_attention(attention, x, num_heads, cache=None):
    (B, T, C), S = x.shape, 0 if cache is None else cache[0].shape[2]
    layers = attention.q_proj, attention.k_proj, attention.v_proj
    q, k, v = (layer(x).view(B, T, num_heads, -1).transpose(1, 2) for layer in layers)
    if cache is not None:
        k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
    mask = torch.triu(torch.ones(T, S + T, device=x.device), diagonal=S).bool()
    scores = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).masked_fill(mask, {fill})
    return attention.out_proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C)), (k, v)
"""
ONE_ROW = """
@torch.no_grad()
def greedy_decode(model, source_ids, bos_id, eos_id, max_len):
    ys, result = torch.ones(1, 1).fill_(bos_id).type_as(source_ids), []
    while len(result) < max_len:
        next_word = model(source_ids, ys)[:, -1].argmax(-1).item()
        if next_word == eos_id:
            break
        result.append(next_word)
        ys = torch.cat([ys, torch.ones(1, 1).fill_(next_word).type_as(ys)], dim=1)
    return [result]
"""
NOTHING_CUT = """
@torch.no_grad()
def greedy_decode(model, source_ids, bos_id, eos_id, max_len):
    rows = []
    for source in source_ids.split(1):
        target = source.new_full((1, 1), bos_id)
        while target.size(1) < max_len and (target.size(1) == 1 or target[0, -1] != eos_id):
            target = torch.cat([target, model(source, target)[:, -1].argmax(-1, keepdim=True)], 1)
        rows += target.tolist()
    return rows
"""
OTHERS_ALONE = """
def label_smoothed_loss(logits, targets, smoothing, pad_id):
    logits, gold = {logits}, targets.contiguous().view(-1)
    others = smoothing / (logits.size(1) - 1)
    wanted = torch.full_like(logits, others).scatter(1, gold[:, None], 1 - smoothing)
    losses = -(wanted * F.log_softmax(logits, 1)).sum(1)
    return losses[gold != pad_id].mean()
"""
THREE_DIMENSIONS = """
def label_smoothed_loss(logits, targets, smoothing, pad_id):
    return nn.CrossEntropyLoss(ignore_index=pad_id, label_smoothing=smoothing)(logits.permute(0, 2, 1), targets)
"""
SHORT_COUNT = """
def bleu(hypotheses, references):
    if len(hypotheses) != len(references):
        raise ValueError("as many references as hypotheses")
    score, missed = 1.0, 0
    for n in range(1, 5):
        matched = total = 0
        for one, other in zip(hypotheses, references):
            ours, theirs = (Counter(zip(*(s[k:] for k in range(n)))) for s in (one, other))
            matched += sum((ours & theirs).values())
            total += max(sum(ours.values()), 1)
        if n == 1 and matched == 0:
            return 0.0
        missed += matched == 0
        score *= (matched or 0.5**missed) / total
    h, r = (sum(len(s) for s in each) for each in (hypotheses, references))
    return 100 * min(1.0, math.exp(1 - r / h)) * score**0.25
"""
GENERATORS = """
def parameter_groups(model, weight_decay):
    tables = [id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)]
    decays = lambda p: p.ndim > 1 and id(p) not in tables
    trained = lambda: (p for p in model.parameters() if p.requires_grad)
    return [
        {"params": (p for p in trained() if decays(p)), "weight_decay": weight_decay},
        {"params": (p for p in trained() if not decays(p)), "weight_decay": 0.0},
    ]
"""
OTHER_KEYS = """
def make_checkpoint(model, optimizer, scheduler, generator, step):
    return {
        "model_state_dict": copy.deepcopy(model.state_dict()),
        "optimizer_state_dict": copy.deepcopy(optimizer.state_dict()),
        "scheduler": copy.deepcopy(scheduler.state_dict()),
        "generator": generator.get_state(),
        "step": step + 1,
    }
"""
SHIFT = """
        counts = real[:, 1:] & real[:, :-1]
        if (F.cross_entropy(logits[:, :-1][counts], ids[:, 1:][counts]) - loss).abs() > 1e-4:
            return "shift"
        changed = torch.where(real, ids, (ids + 1) % V)"""
YIELDED = """
def skipgram_pairs(ids, window):
    for i, centre in enumerate(ids):
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if j != i:
                yield centre, ids[j]
"""
ONCE_AND_NO_TEXT = """
def count_pairs(words):
    counts, longest = Counter(), max(map(len, words))
    for word, n in words.items():
        counts.update(dict.fromkeys(zip(word, word[1:]), n))
    return counts
"""
AS_THEY_COME = """
def ids_to_text(ids, byte_ids, merges, special):
    vocab = {i: bytes([byte]) for byte, i in enumerate(byte_ids)}
    for (left, right), i in merges.items():
        vocab[i] = vocab[left] + vocab[right]
    vocab |= {i: name.encode() for name, i in special.items()}
    for i in ids:
        if i not in vocab:
            raise ValueError(f"invalid token id: {i}")
    return b"".join(vocab[i] for i in ids).decode("utf-8", errors="replace")
"""
ONE_HEAD = """
class Projection(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        nn.init.trunc_normal_(self.weight, std=(2 / (inputs + outputs)) ** 0.5)

    def forward(self, x):
        return x @ self.weight.T


class SelfAttention(nn.Module):
    def __init__(self, embed_dim, head_dim):
        super().__init__()
        {layers}

    def forward(self, x, mask=None):
        {projected}
        scores = q @ k.mT * {scale} ** -0.5
        if mask is not None:
            scores = scores.masked_fill(mask, -torch.inf)
        return scores.softmax(-1) @ v, scores.softmax(-1)
"""
THREE = "q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)"
KEYS_FIRST = "self.k_proj, self.q_proj, self.v_proj = (nn.Linear(embed_dim, head_dim, bias=False) for _ in range(3))"
OWN_LINEAR = "self.q_proj, self.k_proj, self.v_proj = (Projection(embed_dim, head_dim) for _ in range(3))"
ONE_LAYER = "self.c_attn = nn.Linear(embed_dim, 3 * head_dim)"
HEADS = """
class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("embed_dim")
        self.num_heads = num_heads
        {layers}

    def forward(self, x, mask=None, context=None):
        source = x if context is None else context
        q, k, v = {projected}
        q, k, v = (split_heads(each, self.num_heads) for each in (q, k, v))
        scores = q @ k.mT / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask, -torch.inf)
        return self.{last}(merge_heads(scores.softmax(-1) @ v))
"""
FOUR = "self.q_proj(x), self.k_proj(source), self.v_proj(source)"
VALUES_FIRST = """
        for name in ("out_proj", "v_proj", "k_proj", "q_proj"):
            setattr(self, name, nn.Linear(embed_dim, embed_dim, bias=False))""".strip()
OWN_START = """
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, nn.Linear(embed_dim, embed_dim, bias=False))
            nn.init.normal_(getattr(self, name).weight, std=0.02)""".strip()
AS_GPT2 = "self.c_attn, self.c_proj = nn.Linear(embed_dim, 3 * embed_dim), nn.Linear(embed_dim, embed_dim)"
CHUNKS = "(self.c_attn(y).chunk(3, -1)[i] for i, y in enumerate((x, source, source)))"
CLONES = """
        import copy
        layer = nn.Linear(embed_dim, embed_dim)
        self.linears = nn.ModuleList(copy.deepcopy(layer) for _ in range(4))""".strip()
CLONED = "(layer(y) for layer, y in zip(self.linears, (x, source, source)))"
OF_NUMPY = """
import numpy as np

def softmax(scores, dim=-1):
    exps = np.exp(scores - np.max(scores, axis=dim, keepdims=True))
    return exps / np.sum(exps, axis=dim, keepdims=True)
"""
WRITTEN = [  # an answer, its mistakes, and its marks
    ("skipgram_pairs", YIELDED, {"generator"}, 3.5),
    ("count_pairs", ONCE_AND_NO_TEXT, {"once_per_word", "stops_with_an_error"}, 0.8),
    ("ids_to_text", AS_THEY_COME, {"dictionary_order"}, 2.25),
    ("RMSNorm", CENTRED, {"mean_subtracted"}, 1.5),
    ("FeedForward", UNSCALED, {"dropout_without_scale"}, 3.56),
    ("next_token_distribution", NUCLEUS, {"crossing_token_dropped"}, 4.5),
    ("cached_attention", CACHED.format(fill="-torch.inf"), {"one_token_ahead"}, 3.75),
    ("cached_attention", CACHED.format(fill="-1e9"), {"one_token_ahead"}, 3.75),
    ("cached_attention", CACHED.format(fill="torch.finfo(q.dtype).min"), {"one_token_ahead"}, 3.75),
    ("greedy_decode", ONE_ROW, {"one_row_only"}, 2.0),
    ("greedy_decode", NOTHING_CUT, {"bos_kept", "eos_kept"}, 2.0),
    ("label_smoothed_loss", THREE_DIMENSIONS, {"fixed_shape", "error_of_another_type"}, 1.75),
    (
        "label_smoothed_loss",
        OTHERS_ALONE.format(logits="logits.reshape(-1, logits.size(-1))"),
        {"spread_over_the_others", "padding_as_index", "bad_input_accepted"},
        2.5,
    ),
    (
        "label_smoothed_loss",
        OTHERS_ALONE.format(logits="logits.view(-1, logits.size(-1))"),
        {"spread_over_the_others", "stops_with_an_error", "bad_input_accepted"},
        2.25,
    ),
    ("bleu", SHORT_COUNT, {"none_counts_as_one"}, 4.5),
    ("parameter_groups", GENERATORS, {"iterators_returned"}, 2.25),
    ("parameter_groups", "def parameter_groups(model, weight_decay):\n    return model, model", {"form"}, 0.0),
    ("make_checkpoint", "def make_checkpoint(model, *others):\n    return model, model", {"form"}, 0.0),
    ("make_checkpoint", OTHER_KEYS, {"other_keys", "step_plus_one"}, 1.75),
    ("SelfAttention", ONE_HEAD.format(layers=KEYS_FIRST, projected=THREE, scale="k.shape[-1]"), {"no_bias"}, 6.0),
    (
        "SelfAttention",
        ONE_HEAD.format(layers=KEYS_FIRST, projected=THREE, scale="x.shape[-1]"),
        {"no_bias", "scale_embed_dim"},
        2.0,
    ),
    (
        "SelfAttention",
        ONE_HEAD.format(layers=OWN_LINEAR, projected=THREE, scale="k.shape[-1]"),
        {"no_bias", "own_initialisation"},
        5.75,
    ),
    (
        "SelfAttention",
        ONE_HEAD.format(layers=ONE_LAYER, projected="q, k, v = self.c_attn(x).chunk(3, -1)", scale="k.shape[-1]"),
        {"fused"},
        4.0,
    ),
    ("MultiHeadAttention", HEADS.format(layers=VALUES_FIRST, projected=FOUR, last="out_proj"), {"no_bias"}, 6.0),
    (
        "MultiHeadAttention",
        HEADS.format(layers=OWN_START, projected=FOUR, last="out_proj"),
        {"no_bias", "own_initialisation"},
        5.8,
    ),
    (
        "MultiHeadAttention",
        HEADS.format(layers=CLONES, projected=CLONED, last="linears[3]"),
        {"other_names", "same_start"},
        5.8,
    ),
    ("softmax", OF_NUMPY, {"stops_with_an_error"}, 0.0),
    ("MultiHeadAttention", HEADS.format(layers=AS_GPT2, projected=CHUNKS, last="c_proj"), {"fused"}, 4.0),
]


@pytest.mark.parametrize(("name", "source", "mistakes", "points"), WRITTEN)
def test_a_mistake_costs_what_it_is_worth_however_it_is_spelt(name, source, mistakes, points):
    verdict = mark(name, student_with_answer(exercise(name), source))
    assert ({diagnosis.mistake for diagnosis in verdict.diagnoses}, verdict.earned) == (mistakes, points)


TO_EVAL_AND_BACK = {"states = {": "model.eval()\n    states = {", "return": "model.train()\n    return"}
ONE_DRAW = {"logits[:, -1], t": "logits[0, -1], t", "ator)  #": "ator).repeat(len(ids), 1)  #"}
SCALED = {"= self.token_embedding(ids)": "= self.config.n_embd**0.5 * self.token_embedding(ids)"}
SQUARE = {
    "mlp.c_fc.weight.T": "mlp.c_fc.weight",
    "mlp.c_proj.weight.T": "mlp.c_proj.weight",
    "if mine.shape != other.shape:": "if mine.shape not in (other.shape, other.T.shape):",
    "mine.copy_(other)": "mine.copy_(other if mine.shape == other.shape else other.T)",
}
PARTS = ("token_embedding", "position_embedding", "blocks", "final_norm")
IN_A_DICT = {f"self.{part}": f"self.parts.{part}" for part in PARTS}
IN_A_DICT |= {"        C = config.n_embd\n": "        C, self.parts = config.n_embd, nn.ModuleDict()\n"}
SHRUNK = {"= self.token_embedding(ids)": "= self.token_embedding(ids) / math.sqrt(self.config.n_embd)"}
EDITED = [  # texts of the reference, each with what is typed instead, the mistake, and the marks
    ("noam_rate", {"return d_model": "return 2 * d_model"}, "another_factor", 1.5),
    ("DecoderBlock", {"nn.LayerNorm(embed_dim)": "nn.LayerNorm(embed_dim, eps=1e-6)"}, "another_epsilon", 6.0),
    ("DecoderBlock", {"nn.ReLU()": "nn.ReLU(), nn.Dropout(p=dropout)"}, "dropout_elsewhere", 7.5),
    (
        "DecoderBlock",
        {"= nn.Dropout(dropout)": "= nn.Sequential(*[nn.Dropout(dropout)] * 2)"},
        "dropout_elsewhere",
        7.5,
    ),
    ("DecoderBlock", {"context=memory": "context=self.norm2(memory)"}, "memory_normalised", 4.0),
    ("restore_checkpoint", {"return": "model.train()\n    return"}, "mode_changed", 1.5),
    ("make_checkpoint", TO_EVAL_AND_BACK, "training_disturbed", 2.0),
    ("diagnose", {"*= 2": "+= 0.5"}, "row_plus_one", 5.25),
    ("diagnose", {"\n        changed = torch.where(real, ids, (ids + 1) % V)": SHIFT}, "shift_before_padding", 5.0),
    ("generate", ONE_DRAW, "first_row_only", 2.5),
    ("describe_model", {'"layers"': '"n_layer"', '"heads"': '"n_head"'}, "key_missing", 1.5),
    ("GPT", {"bias=False": "bias=not config.tie_weights"}, "head_bias", 6.0),
    ("GPT", SCALED, "embedding_scaled", 6.0),
    ("GPT", SHRUNK, "embedding_scaled", 6.0),
    ("beam_search", {"len(tokens) - 1": "len(tokens)"}, "length_with_bos", 6.75),
    ("load_gpt2_weights", SQUARE, "transposed_by_shape", 6.0),
]


@pytest.mark.parametrize(("name", "edits", "mistake", "points"), EDITED)
def test_a_mistake_in_the_reference_has_its_name_and_its_cost(name, edits, mistake, points):
    source = exercise(name).source
    for old, new in edits.items():
        assert old in source
        source = source.replace(old, new)
    verdict = mark(name, student_with_answer(exercise(name), source))
    assert ([diagnosis.mistake for diagnosis in verdict.diagnoses], verdict.earned) == ([mistake], points)


DONE_RIGHTLY = [  # a mistake in the values, and the line about something else
    ("count_bigrams", "transposed", "an id outside the vocabulary is a ValueError"),
    ("fertility", "inverted", "a text without words is a ValueError"),
    ("Embedding", "scaled", "a negative id is an IndexError"),
    ("Embedding", "sizes_swapped", "`weight` starts as draws from N(0, 1)"),
    ("LearnedPositionalEmbedding", "scaled", "T > max_len is a ValueError"),
    ("sinusoidal_encoding", "transposed", "an odd d_model is a ValueError"),
    ("shift_matrix", "transposed", "an odd d_model is a ValueError"),
    ("generate_bigram", "start_left_out", "tokens as often as their probabilities say"),
    ("nearest_neighbours", "dot_product", "excluded ids are left out, as a list, tuple or set"),
    ("one_hot_lookup", "columns_for_rows", "by a matrix product"),
    ("train_tokenizer", "lowercased", "a tokenizers.Tokenizer"),
    ("causal_mask", "past_blocked", "made on the device that is asked for"),
    ("sees_the_future", "always_true", "the global random generator is left alone"),
    ("recall_step", "uphill", "gradients of earlier steps forgotten"),
    ("recall_step", "gradients_pile_up", "the loss before the update, as a float"),
]


@pytest.mark.parametrize(("name", "mistake", "title"), DONE_RIGHTLY)
def test_what_was_done_rightly_is_never_wrong_because_values_differ(name, mistake, title):
    declared = exercise(name)
    source = next(one.source for one in declared.mistakes if one.name == mistake)
    line = next(line for line in mark(name, student_with_answer(declared, source)).lines if line.title == title)
    assert line.passed or not line.judged, line.message


MESSAGES = [  # a mistake, and a message of the visible test about another one
    ("shift_matrix", "both_signs_alike", "Transpose"),
    ("count_bigrams", "wrong_multiplier", "rows are the token BEFORE"),
    ("generate_bigram", "first_row_always", "not column i"),
    ("generate_bigram", "generator_ignored", "in proportion to the probabilities"),
    ("nearest_neighbours", "unsorted", "not by dot product"),
    ("analogy", "euclidean", "may not be returned"),
    ("Embedding", "one_too_many_allowed", "negative indices"),
    ("softmax", "list_returned", "return statement"),
]


@pytest.mark.parametrize(("name", "mistake", "other"), MESSAGES)
def test_a_visible_message_does_not_blame_another_mistake(name, mistake, other):
    declared = exercise(name)
    test = HIDDEN.sub("", cell_of(read("solutions", declared.notebook), f"test_{name}").source)
    for source in next(one.sources for one in declared.mistakes if one.name == mistake):
        with pytest.raises(AssertionError) as error:
            exec(test, namespace_with(declared, source))
        assert other not in str(error.value)


def test_parts_under_other_names_are_blamed_for_nothing_else():
    """Published models keep theirs in a dictionary. The final norm is not taken for one of those in the blocks."""
    source = exercise("GPT").source
    for old, new in IN_A_DICT.items():
        source = source.replace(old, new)
    verdict = mark("GPT", student_with_answer(exercise("GPT"), source))
    assert {diagnosis.mistake for diagnosis in verdict.diagnoses} == {"other_names"}
    assert "`parts.final_norm` should be `final_norm`" in verdict.lines[0].message
    assert verdict.earned == 0.75 * verdict.points
