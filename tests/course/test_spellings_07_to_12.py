"""Tests that answers of notebooks 07 to 12 are named, and cost the same, however a mistake in them is spelt."""

import pytest
from edited_answers import marked

NORM = """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps, self.weight, self.bias = eps, nn.Parameter(torch.ones(dim)), nn.Parameter(torch.{start}(dim))

    def forward(self, x):
        {moments}
        return (x - mean) / (var + self.eps) ** 0.5 * self.weight + self.bias
"""
ONE_STEP = "var, mean = torch.var_mean(x, dim=-1, keepdim=True)"
OVER_ALL = "dims = (-2, -1) if x.dim() > 1 else -1; var, mean = torch.var_mean(x, dims, correction=0, keepdim=True)"
OTHER_NAMES = {"linear1": "up", "linear2": "down"}
INSIDE = {"self.activation(self.linear1(x))": "self.dropout(self.activation(self.linear1(x)))"}
AT_THE_END = {"self.dropout(self.linear2(hidden))": "self.activation(self.linear2(hidden))"}
ROPE = """
def apply_rope(x, positions, base=10000.0):
    rates = [base ** (-{i} / x.shape[-1]) for i in range(x.shape[-1] // 2)]
    angles = {positions}.to(x.device)[:, None] * torch.tensor(rates, device=x.device)
    (u, v), cos, sin = x.unflatten(-1, (-1, 2)).unbind(-1), angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.stack([u * cos {sign} v * sin, v * cos {other} u * sin], -1).flatten(-2)
"""
LAYERS = """
class FeedForward(nn.Module):
    def __init__(self, embed_dim, ff_dim, dropout=0.0, activation=F.relu):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(embed_dim, ff_dim), nn.Linear(ff_dim, embed_dim)])
        self.drop, self.act = nn.Dropout(dropout), activation

    def forward(self, x):
        return x + self.drop(self.layers[1](self.act(self.layers[0](x))))
"""
ATTENTION = """
class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("num_heads")
        self.H = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(embed_dim, embed_dim) for _ in range(4))

    def forward(self, x, mask=None, context=None):
        source = x if context is None else context
        q, k, v = {projected}
        q, k, v = (part.unflatten(-1, (self.H, -1)).transpose(1, 2) for part in (q, k, v))
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill({mask}, -torch.inf)
        return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
"""
UPRIGHT = ATTENTION.replace("scores.softmax(-1)", "scores.softmax(-2)").replace("-torch.inf", "-1e30")
PROJECTED = "self.q_proj(x), self.k_proj(source), self.v_proj(source)"
SWAPPED = "self.q_proj(source), self.k_proj(x), self.v_proj(x)"
UNNORMALISED = """
def label_smoothed_loss(logits, targets, smoothing, pad_id):
    if not 0 <= smoothing <= 1:
        raise ValueError("smoothing")
    log_probs, real = logits.log_softmax(-1)[targets != pad_id], targets[targets != pad_id]
    wanted = torch.full_like(log_probs, smoothing / (log_probs.shape[-1] {less}))
    wanted[torch.arange(len(real)), real] += 1 - smoothing
    return -(wanted * log_probs){mean}
"""
SORTED = {
    "so_far[:, None] + torch": "torch",
    "log_probs.flatten().topk(places_left)": "log_probs.flatten().sort(descending=True, stable=True)",
    "best.values.tolist()": "best.values[:places_left].tolist()",
    "best.indices.tolist(), strict=True": "best.indices.tolist()",
}
BEAMS_SORTED = {old: new for old, new in SORTED.items() if old != "so_far[:, None] + torch"}
EVERY_POSITION = """
def label_smoothed_loss(logits, targets, smoothing, pad_id):
    if not 0 <= smoothing <= 1:
        raise ValueError("smoothing")
    V, real = logits.shape[-1], targets != pad_id
    wanted = F.one_hot(targets.masked_fill(~real, 0), V).to(logits)
    wanted = wanted * (1 - smoothing) + (1 - wanted) * smoothing / (V - 1)
    return (-(wanted * logits.log_softmax(-1)).sum(-1) * real).mean()
"""
BLEU_3 = "matches, totals = matches[:3], totals[:3]\nfor matched, total in zip("
DRAWN = """
drawn = torch.multinomial(probs, k).tolist()
return sorted(((tokenizer.decode([i]), probs[i].item()) for i in drawn), key=lambda pair: -pair[1])
"""
BY_SHAPE = {
    "weight.T": "weight",
    "for mine, other in pairs:": "for mine, other in ((m, o if m.shape == o.shape else o.T) for m, o in pairs):",
}
MISCOUNTED = {"in model.parameters())": "in model.state_dict().values()) - model.lm_head.weight.numel()"}
ROWS = ".weight.flatten().unflatten(0, source.{}.weight.T.shape)"
RESHAPED = {f"{part}.weight.T": part + ROWS.format(part) for part in ("mlp.c_fc", "mlp.c_proj")}
SPREAD = "torch.distributions.Categorical(logits=predicted).entropy().mean()"
RENORMALISED_INSIDE = {
    "logits = logits / temperature": "probs = (logits / temperature).softmax(-1)",
    "kth = logits.topk(top_k,": "kth = probs.topk(top_k,",
    'logits = logits.masked_fill(logits < kth, float("-inf"))': "probs = probs * (probs >= kth)",
    "probs, order = torch.softmax(logits, dim=-1).sort(dim=-1, descending=True)": (
        "probs = probs / probs.sum(-1, keepdim=True); ranked, order = probs.sort(dim=-1, descending=True)"
    ),
    "probs.cumsum(dim=-1) - probs": "ranked.cumsum(dim=-1) - ranked",
    'logits = logits.masked_fill(beyond.scatter(-1, order, beyond), float("-inf"))': (
        "probs = probs.masked_fill(beyond.scatter(-1, order, beyond), 0)"
    ),
    "return torch.softmax(logits, dim=-1)": "return probs",
}
FORWARDS = {"sign": "-", "other": "+"}
BACKWARDS = {"sign": "+", "other": "-"}
WRONG = [  # an exercise, edits of its reference or a whole answer, the mistakes, and the points
    ("LayerNorm", NORM.format(start="zeros", moments=ONE_STEP), {"unbiased_variance"}, 3.75),
    ("LayerNorm", NORM.format(start="ones", moments=ONE_STEP), {"unbiased_variance", "other_start"}, 3.0),
    ("LayerNorm", NORM.format(start="zeros", moments=OVER_ALL), {"over_everything"}, 2.5),
    ("FeedForward", INSIDE | AT_THE_END | OTHER_NAMES, {"activation_last", "dropout_inside"}, 1.56),
    (
        "FeedForward",
        {"self.dropout(": "x + (", "n(self.linear1(x)": "n(self.dropout(self.linear1(x))"} | OTHER_NAMES,
        {"residual", "dropout_inside"},
        2.56,
    ),
    ("FeedForward", LAYERS, {"residual"}, 3),
    ("MultiHeadAttention", ATTENTION.format(projected=PROJECTED, mask="~mask"), {"mask_not_inverted"}, 4),
    ("MultiHeadAttention", ATTENTION.format(projected=SWAPPED, mask="mask"), {"queries_from_context"}, 5),
    ("label_smoothed_loss", UNNORMALISED.format(less="- 1", mean=".sum(-1).mean()"), {"even_part_summed"}, 2),
    ("label_smoothed_loss", UNNORMALISED.format(less="", mean=".mean()"), {"vocabulary_averaged"}, 3),
    ("label_smoothed_loss", EVERY_POSITION, {"spread_over_the_others", "padding_in_the_mean"}, 2),
    ("beam_search", SORTED, {"last_step_only"}, 4),
    ("beam_search", {"=-1": "=0"} | BEAMS_SORTED, {"softmax_over_the_beams"}, 4),
    ("beam_search", {"log_softmax": "softmax"} | BEAMS_SORTED, {"probabilities_added"}, 4),
    (
        "greedy_decode",
        {"@torch.no_grad()  # nothing is trained here: keep no graph": "", "[:, 1:]": ""},
        {"bos_kept", "graphs_kept"},
        2.75,
    ),
    ("bleu", {"/ 4)": "/ 3)", "for matched, total in zip(": BLEU_3}, {"four_grams_left_out"}, 3),
    ("top_next_tokens", {"best = probs.topk(k)  # sorted, the largest first": DRAWN}, {"sampled"}, 0),
    (
        "text_perplexity",
        {"model.train(was_training)": "", "predicted, targets =": "torch.full((1, 1), None)\npredicted, targets ="},
        {"stops_with_an_error"},
        0,
    ),
    (
        "load_gpt2_weights",
        BY_SHAPE | {"hf_model has a weight": "there is a weight"},
        {"square_projection_not_transposed"},
        6,
    ),
    (
        "save_as_gpt2",
        {', "n_inner"': "", '"activation_function", ': ""},
        {"inner_missing", "activation_missing"},
        3,
    ),
    ("attention_maps", {"(attentions)": "([*reversed(attentions)])"}, {"order_of_layers"}, 3),
    ("DecoderBlock", {"self.norm1(x +": "x + self.norm1("}, {"part_normalised"}, 4),
    ("DecoderBlock", {"nn.ReLU(), ": "nn.GELU(), nn.Identity(), "}, {"no_activation"}, 4),
    ("DecoderBlock", {"nn.ReLU(), ": "nn.LeakyReLU(0.01), nn.Identity(), "}, {"no_activation"}, 4),
    ("DecoderBlock", {"(embed_dim, ff_dim)": "(embed_dim, ff_dim, False)"}, {"ff_without_biases"}, 6),
    (
        "save_as_gpt2",
        {
            "if not model.config.tie_word_embeddings": "if True",
            "= model.lm_head.weight": "= model.lm_head.weight.clone()",
            "exist_ok=True": "exist_ok=False",
        },
        {"folder_refused"},
        3,
    ),
    ("diagnose", {"(moved & real)[:, :s]": "(moved & real).narrow(1, s - 1, 1)"}, {"later_answers_compared"}, 4.5),
    (
        "label_smoothed_loss",
        {"real =": "logits, targets = logits.flatten(end_dim=-2), targets.ravel()\nreal ="},
        {"one_target_alone"},
        3.75,
    ),
    (
        "describe_model",
        {
            ": config.n_head,": ": sum(block.attn.num_heads for block in model.transformer.h),",
            "// ": "// config.n_layer // ",
        },
        {"all_heads"},
        1.5,
    ),
    (
        "describe_model",
        MISCOUNTED | {"n_positions": "n_positions - 1"},
        {"always_tied", "context_is_not_the_width"},
        0.5,
    ),
    ("load_gpt2_weights", RESHAPED, {"reshaped"}, 4),
    ("bleu", {"tuple(h": "str().join(h", "tuple(r": "str().join(r"}, {"letters_joined"}, 4.5),
    ("text_perplexity", {"F.cross_entropy(predicted, targets)": SPREAD}, {"entropy_of_the_predictions"}, 1.5),
    ("noam_rate", {"step * warmup**-1.5": "(step // warmup) / math.sqrt(warmup)"}, {"whole_numbers"}, 1.5),
    ("noam_rate", {"min(": "(step * warmup**-0.5 if step < warmup else step**-0.5) or min("}, {"warmup_exponent"}, 1.5),
    ("count_parameters", {"norm = C + biases * C": "norm = C"}, {"biases_never"}, 1.5),
    ("cached_attention", {"cache[1]": "cache[0]"}, {"keys_and_values_swapped"}, 3.75),
    (
        "cached_attention",
        {"attention.out_proj(heads.transpose(1, 2).flatten(2))": "heads.reshape(x.shape)"},
        {"heads_cut_wrongly", "no_out_proj"},
        1.25,
    ),
    (
        "block_parameters",
        {
            "4 * (e": "3 * (e",
            "(embed_dim * ff_dim + ff_dim) + (ff_dim * embed_dim + embed_dim)": "8 * embed_dim**2 + 5 * embed_dim",
        },
        {"output_projection", "ff_dim_ignored"},
        0.5,
    ),
    ("apply_rope", ROPE.format(positions="positions", i="i", **FORWARDS), {"exponent"}, 3),
    (
        "apply_rope",
        ROPE.format(positions="torch.arange(x.shape[-2])", i="2 * i", **BACKWARDS),
        {"backwards", "positions_ignored"},
        1.5,
    ),
    ("LayerNorm", {"nn.Parameter(torch.zeros(dim))": "torch.full((dim,), 0.0)"}, {"not_parameters"}, 2.5),
    (
        "MultiHeadAttention",
        ATTENTION.format(projected=PROJECTED, mask="mask & torch.tensor(context is None, device=x.device)"),
        {"mask_ignored"},
        5.6,
    ),
    ("MultiHeadAttention", UPRIGHT.format(projected=PROJECTED, mask="mask"), {"softmax_over_queries"}, 4),
    (
        "MultiHeadAttention",
        ATTENTION.format(projected=PROJECTED, mask="mask").rstrip() + ", scores.softmax(-1)",
        {"weights_too"},
        6,
    ),
    ("SwiGLU", {"F.silu(": "F.gelu(approximate='tanh', input="}, {"other_activation"}, 2.25),
    (
        "TransformerBlock",
        {", mask)": ", mask[:1].flatten(0, -3)[0] if mask is not None and mask.dim() > 2 else mask)"},
        {"mask_of_the_first"},
        5.89,
    ),
    (
        "TransformerBlock",
        {"self.dropout(self.attn(": "(self.attn(", "x + self.ff(": "self.ff("},
        {"no_residual", "no_dropout"},
        3.58,
    ),
    (
        "attention_parameters",
        {"4 * (weights + biases)": "(2 * embed_dim + 2 * embed_dim ^ 2) + 4 * biases"},
        {"caret"},
        1,
    ),
    ("block_parameters", {"(embed_dim * embed_dim": "(embed_dim ^ 2"}, {"caret"}, 1),
    ("count_parameters", {"4 * (C * C": "4 * (C ^ 2"}, {"caret"}, 1.5),
    (
        "block_parameters",
        {"(embed_dim * embed_dim + embed_dim)": "embed_dim**2", "(embed_dim + embed_dim)": "embed_dim"},
        {"four_embed_dim_missing", "norms_halved"},
        0.5,
    ),
    ("merge_heads", "merge_heads = lambda x: torch.cat(list(x.unbind(1))[::-1], -1)", {"heads_reversed"}, 2.25),
    ("split_heads", {"transpose(1, 2)": "flip(2).transpose(1, 2)"}, {"heads_reversed"}, 2.25),
    (
        "make_checkpoint",
        {"states = {": "generator.manual_seed(generator.initial_seed()); states = {"},
        {"training_disturbed"},
        1.5,
    ),
    (
        "parameter_groups",
        {
            "parameter in model.parameters": "name, parameter in model.named_parameters",
            "parameter.dim() >= 2 and id(parameter) not in tables": 'name[-7:] == ".weight"',
        },
        {"by_name"},
        1.5,
    ),
    (
        "train_step",
        {"optimizer.zero_grad()": "for p in model.parameters(): p.grad = None if p.grad is None else 0.0 * p.grad"},
        {"multiplied_by_zero"},
        3.25,
    ),
    (
        "generate",
        {
            "model.eval()": "model.eval(); new = []",
            "ids = torch.cat(": "new += [next_ids]; ids = torch.cat(",
            "return ids": "return torch.cat(new, 1)",
        },
        {"prompt_left_out"},
        3.75,
    ),
    (
        "learning_rate",
        {"return floor": "return 0 * floor", "0 * floor + (peak - floor)": "peak"},
        {"cosine_to_zero"},
        2.25,
    ),
    ("grouped_query_attention", {"dim=-1": "dim=-2", 'float("-inf")': "-1e30"}, {"softmax_axis"}, 1.5),
    (
        "cached_attention",
        {
            "k, v = torch": "v, k = torch",
            "0], k], dim=2), torch.cat([cache[1], v": "0], v], dim=2), torch.cat([cache[1], k",
            "(k, v)": "(v, k)",
        },
        {"keys_and_values_swapped"},
        3.75,
    ),
    ("cached_attention", {"tril(S)": "tril(max(S - 1, 0))"}, {"one_token_ahead"}, 3.75),
    ("parameter_groups", {"parameter.dim()": "sum(n > 1 for n in parameter.shape)"}, {"size_one_spared"}, 2.25),
    (
        "parameter_groups",
        {"decay if matrix else rest": "rest if matrix else decay", ": weight_decay": ": 0.1"},
        {"groups_swapped", "weight_decay_fixed"},
        1.75,
    ),
    ("count_parameters", {"config.block_size * C": "config.vocab_size * C"}, {"positions_by_vocabulary"}, 2.25),
    (
        "SwiGLU",
        {"self.up = nn.Linear(embed_dim, ff_dim, bias=False)": "self.up = self.gate"},
        {"one_matrix_for_two"},
        1.5,
    ),
    ("get_batch", {"len(data) - block_size, (": "len(data), (", "data[": "data.repeat(2)["}, {"past_the_end"}, 2.25),
    (
        "LayerNorm",
        {
            "mean =": "x = torch.addcmul(self.bias, self.weight, x); mean =",
            "self.weight * normalised + self.bias": "normalised",
        },
        {"weight_and_bias_first"},
        2.5,
    ),
    (
        "train_step",
        {
            "nn.utils": "norm = nn.utils",
            "max_norm)": "1e9)",
            "optimizer.step()": "optimizer.step() if norm <= max_norm else 0",
        },
        {"step_left_out"},
        2.25,
    ),
    (
        "MultiHeadAttention",
        ATTENTION.format(projected=PROJECTED, mask="mask.reshape(-1, *mask.shape[-2:])[0]"),
        {"mask_of_the_first"},
        6.8,
    ),
    (
        "make_checkpoint",
        {'"scheduler": scheduler.state_dict(),': "", '"model": model.state_dict()': '"model": model'},
        {"scheduler_left_out", "objects_kept"},
        0.75,
    ),
    (
        "make_checkpoint",
        {'"generator": generator.get_state(),': "", "copy.deepcopy(states)": "dict(states)"},
        {"generator_left_out", "no_copy"},
        0.5,
    ),
    (
        "next_token_distribution",
        RENORMALISED_INSIDE,
        {"not_renormalised"},
        4.5,
    ),
    (
        "next_token_distribution",
        RENORMALISED_INSIDE | {"temperature == 0": "False"},
        {"not_renormalised", "zero_divided"},
        3.25,
    ),
    ("next_token_distribution", {"temperature == 0": "not temperature > 0.08"}, {"greedy_too_early"}, 5),
    (
        "copy_from_torch",
        {
            "layer.weight.copy_(weight)": "layer.weight.data = weight.data",
            "layer.bias.copy_(bias)": "",
            "mine.out_proj.weight.copy_(theirs.out_proj.weight)": "mine.out_proj.weight.data = theirs.out_proj.weight",
            "mine.out_proj.bias.copy_(theirs.out_proj.bias)": "",
        },
        {"biases_forgotten", "shared"},
        2.25,
    ),
    (
        "TransformerBlock",
        {
            "self.ff(self.norm2(x))": "self.dropout(self.ff(self.norm2(x)))",
            "self.ff(x)": "self.dropout(self.ff(x))",
            ", mask)": ")",
        },
        {"dropout_twice", "mask_dropped"},
        4.21,
    ),
    (
        "apply_rope",
        """
def apply_rope(x, positions, base=10000.0):
    angles = positions.to(x)[:, None] * base ** (-torch.arange(0, x.shape[-1], 2).to(x) / x.shape[-1])
    u, v = x[..., 0::2], x[..., 1::2]
    x[..., 0::2] = u * angles.cos() - v * angles.sin()
    x[..., 1::2] = u * angles.sin() + v * angles.cos()
    return x
""",
        {"overwritten_in_x"},
        3,
    ),
    (
        "LayerNorm",
        NORM.format(
            start="zeros",
            moments="var, mean = torch.var_mean(x, [*range(1, x.dim())] or -1, correction=0, keepdim=True)",
        ),
        {"over_everything"},
        2.5,
    ),
    (
        "block_parameters",
        "block_parameters = lambda embed_dim, ff_dim: (2 * embed_dim + 1) * (2 * embed_dim + ff_dim) - embed_dim",
        {"four_embed_dim_missing"},
        1,
    ),
]


@pytest.mark.parametrize(("name", "answer", "mistakes", "points"), WRONG)
def test_a_spelling_is_named_and_costs_what_the_mistake_does(name, answer, mistakes, points):
    verdict = marked(name, answer)
    assert {diagnosis.mistake for diagnosis in verdict.diagnoses} == mistakes
    assert round(verdict.earned, 2) == points
