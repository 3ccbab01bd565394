"""Tests that answers of notebooks 04 to 06 are named, and cost the same, however a mistake in them is spelt."""

import pytest
from edited_answers import marked

NO_BIAS = {"(embed_dim, head_dim)": "(embed_dim, head_dim, bias=False)"}
OTHER_NAMES = {"q_proj": "query", "k_proj": "key", "v_proj": "value"}
TABLE = "nn.Parameter(0.02 * torch.randn(max_len, embed_dim))"
LOSS = "F.cross_entropy(logits.flatten(0, 1), answers.flatten())"
ATTENTION = "return scaled_dot_product_attention(Q, K, V, mask)"
UNSCALED = """
weights = (Q @ K.transpose(-2, -1) if mask is None else (Q @ K.mT).masked_fill(mask, -torch.inf)).softmax(-1)
return weights @ V
""".strip()
DROPPED = """
_, weights = scaled_dot_product_attention(Q, K, V, mask)
return F.dropout(weights, 0.2, self.training) @ V, weights
""".strip()
BLOG = {
    "= angles.sin()": "= (positions[:, None] / 10000 ** (2 * torch.arange(0, d_model, 2) / d_model)).sin()",
    "= angles.cos()": "= (positions[:, None] / 10000 ** (2 * torch.arange(1, d_model, 2) / d_model)).cos()",
}
BY_GRADIENTS = """
def sees_the_future(attend, T=6, C=8):
    g = torch.Generator().manual_seed(1)
    for size in (1, 10) * 5:
        x = (torch.randn(1, T, C, generator=g) * size).requires_grad_()
        for t in range(T - 1):
            (gradient,) = torch.autograd.grad(attend(x)[0, t].sum(), x)
            if gradient[0, t + 1 :].abs().max() > 1e-6:
                return True
    return False
"""
FITTED = """
def shift_matrix(k, d_model):
    if d_model % 2:
        raise ValueError("odd")
    table = sinusoidal_encoding(200 + abs(k), d_model)
    old, new = (table[:200], table[k : k + 200]) if k >= 0 else (table[-k:], table[:200])
    return torch.linalg.pinv(old) @ new
"""
FITTED_EXACTLY = """
def shift_matrix(k, d_model):
    if d_model % 2:
        raise ValueError("odd")
    angles = torch.arange(3000).double()[:, None] * 10000 ** (-torch.arange(0, d_model, 2).double() / d_model)
    far = angles + k * 10000 ** (-torch.arange(0, d_model, 2).double() / d_model)
    old, new = (torch.stack([t.sin(), t.cos()], -1).flatten(1) for t in (angles, far))
    return torch.linalg.lstsq(old, new).solution.float()
"""
NO_COPIES = """
def sees_the_future(attend, T=6, C=8):
    g = torch.Generator().manual_seed(3)
    for size in (1, 10) * 6:
        x = torch.randn(1, T, C, generator=g) * size
        for t in range(1, T):
            before = attend(x)
            x[:, t] = torch.randn(C, generator=g) * size
            if not torch.allclose(attend(x)[:, :t], before[:, :t], atol=1e-5):
                return True
    return False
"""
EMPTY_IS_FULL = """
def padding_mask(lengths, max_len):
    mask = torch.zeros(len(lengths), max_len, dtype=torch.bool, device=lengths.device)
    for row, length in zip(mask, lengths.tolist()):
        if length:
            row[length:] = True
    return mask
"""
WIDE_AND_INVERTED = """
def sliding_window_mask(T, window):
    behind = torch.arange(T)[:, None] - torch.arange(T)
    return (behind >= 0) & (behind <= window)
"""
ON_AND_ABOVE = """
def attention_mask(lengths, max_len):
    t = torch.arange(max_len, device=lengths.device)
    return (t >= t[:, None]).expand(len(lengths), 1, max_len, max_len)
"""
COLUMNS_CLEANED = """
def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.mT / Q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask, -math.inf)
    weights = scores.softmax(-2).nan_to_num()
    return weights @ V, weights
"""
CAUSAL_ALONE = """
future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
return scaled_dot_product_attention(Q, K, V, future)
""".strip()
INVERTED_WITH_NAN = """
def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -torch.inf), -1)
"""
IN_PLACE_WITH_NAN = """
def masked_softmax(scores, mask):
    scores.masked_fill_(mask, -torch.inf)
    return scores.softmax(-1)
"""
DIAGONAL_OPEN = {
    "return future": "mask = future",
    ":]  # (B, 1, T, T)": ":]\nreturn mask & ~torch.eye(max_len, dtype=torch.bool, device=mask.device)",
}
WHOLE = """
def softmax(scores, dim=-1):
    exps = (scores - scores.max()).exp()
    return exps / exps.sum()
"""
COLUMNS_BY_EXP = """
def simple_attention(x):
    exps = torch.exp(x @ x.mT)
    return exps / exps.sum(-2, keepdim=True) @ x
"""
ALONE_ON_THE_CPU = """
def simple_attention(x):
    scores = x @ x.mT / x.shape[-1] ** 0.5
    return scores.masked_fill(torch.eye(x.shape[-2], dtype=torch.bool), -torch.inf).softmax(-1) @ x
"""
EVALUATED = {"optimizer.zero_grad()": "model.eval()", "optimizer.st": "optimizer.zero_grad()\noptimizer.st"}
INTERMIXED = {"logits.flatten(0, 1), answers.flatten()": "logits.reshape(len(logits), -1, logits.shape[1]), answers"}
SIZES = "(1.0, 10.0) * 5"
FROM_THE_END = """
def padding_mask(lengths, max_len):
    mask = torch.zeros(len(lengths), max_len, device=lengths.device)
    for row, length in zip(mask, lengths):
        row[-(max_len - length):] = 1
    return mask == 1
"""
PAGE_BY_PAGE = """
def recall_step(model, optimizer, pages, answers):
    total = 0.0
    for b in range(len(pages)):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(pages[b : b + 1])[0].squeeze(0), answers[b])
        loss.backward()
        optimizer.step()
        total += float(loss)
    return total / len(pages)
"""
AROUND_AND_INVERTED = """
def sliding_window_mask(T, window):
    t = torch.arange(T)
    return (t[:, None] - t).abs() < window
"""
RUNS_ON = """
def shift_targets(ids):
    B, T = ids.shape
    tokens = ids.reshape(-1)
    return tokens[: B * (T - 1)].reshape(B, -1), tokens[1 : B * (T - 1) + 1].reshape(B, -1)
"""
AS_IN_BERT = """
class LearnedPositionalEmbedding(nn.Module):
    def __init__(self, max_len, embed_dim):
        super().__init__()
        self.max_len = max_len
        self.position_embeddings = nn.Embedding(max_len, embed_dim)
        self.LayerNorm = nn.LayerNorm(embed_dim)

    def forward(self, x):
        assert x.shape[1] <= self.max_len, "too long"
        rows = self.position_embeddings(torch.arange(x.shape[1], device=x.device))
        return self.LayerNorm(x + rows)
"""
TURNED = {"(max_len, embed_dim))": "(embed_dim, max_len))", "shape[0]": "shape[1]", "table[:T]": "table[:, :T].t()"}
PROJECTED = """
class SelfAttention(nn.Module):
    def __init__(self, embed_dim, head_dim):
        super().__init__()
        self.q_proj = nn.Linear(embed_dim, head_dim)
        self.k_proj = nn.Linear(embed_dim, head_dim)
        self.v_proj = nn.Linear(embed_dim, head_dim)
        self.fc = nn.Linear(head_dim, head_dim)

    def forward(self, x, mask=None):
        scores = self.q_proj(x) @ self.k_proj(x).mT / self.q_proj.out_features**0.5
        scores = scores if mask is None else scores.masked_fill(mask, -torch.inf)
        weights = scores.softmax(-1)
        return self.fc(weights @ self.v_proj(x)), weights
"""
NORMALISED = {
    "super().__init__()": "super().__init__()\nself.norm = nn.LayerNorm(embed_dim)",
    "Q =": "x = self.norm(x)\nQ =",
}
INVERTED = {"V, mask)": "V, None if mask is None else ~mask)"}
FLOORED = """
def masked_softmax(scores, mask):
    empty = mask.all(-1, keepdim=True)
    weights = scores.masked_fill(mask, -torch.inf).masked_fill(empty, 0.0).softmax(-1)
    return weights.masked_fill(empty, 0.0).clamp(min=1e-12)
"""
FUTURE_OPEN_AND_NARROW = """
def sliding_window_mask(T, window):
    return torch.ones(T, T, dtype=torch.bool).tril(1 - window)
"""
NUMBERS_AND_NO_WIDE_WINDOW = """
def sliding_window_mask(T, window):
    mask = torch.ones(T, T, dtype=torch.int)
    for back in range(window):
        mask -= torch.diag(torch.ones(T - back, dtype=torch.int), -back)
    return mask
"""
LAST_AND_EVALUATED = {".flatten(0, 1), answers.flatten()": "[:, -1], answers[:, -1]", "step()": "step(); model.eval()"}
HALF = {"loss =": "n = answers.shape[1] // 2; logits, answers = logits[:, n:], answers[:, n:]; loss ="}
WRONG = [  # an exercise, edits of its reference or a whole answer, the mistakes, and the points
    ("sees_the_future", {SIZES: "(1.0, 10.0)"}, {"too_few_inputs"}, 5.61),
    ("sees_the_future", {SIZES: "(1.0, 10.0) * 4"}, {"too_few_inputs"}, 5.61),
    ("sees_the_future", {SIZES: "(10.0,) * 12"}, {"too_few_inputs"}, 5.61),
    ("sees_the_future", {SIZES: "(1.0,) * 7"}, {"one_size_only"}, 5.61),
    ("sees_the_future", {"torch.allclose": "torch.equal", ", atol=1e-6": ""}, {"compared_exactly"}, 5.61),
    ("sees_the_future", {"if not": "return not", "6):": "6)", "return True": ""}, {"first_change_only"}, 4.5),
    ("sees_the_future", BY_GRADIENTS, {"gradients_only"}, 3.68),
    ("LearnedPositionalEmbedding", {"(max_len, e": "(max_len, 1, e", "[1]": "[0]"}, {"length_first"}, 2),
    ("LearnedPositionalEmbedding", {TABLE: "torch.randn(max_len, embed_dim)"}, {"not_a_parameter"}, 2.25),
    ("LearnedPositionalEmbedding", {TABLE: "torch.zeros(max_len, embed_dim)"}, {"not_a_parameter"}, 2.25),
    ("LearnedPositionalEmbedding", {TABLE: "torch.rand(max_len, embed_dim) - 0.5"}, {"not_a_parameter"}, 2.25),
    ("sinusoidal_encoding", BLOG, {"exponent_halved"}, 2),
    ("shift_matrix", FITTED, {"fitted_to_few_positions"}, 1),
    ("simple_attention", {"x @ x": "torch.bmm(x, x", "(-2, -1)": "(1, 2))"}, {"batch_only"}, 1.5),
    ("simple_attention", {"scores =": "batch, length, width = x.shape\nscores ="}, {"batch_only"}, 1.5),
    ("recall_step", INTERMIXED, {"classes_in_dimension_one"}, 2),
    ("recall_step", {LOSS: "-logits.softmax(-1).log().gather(-1, answers.unsqueeze(-1)).mean()"}, {"unstable"}, 2.5),
    (
        "recall_step",
        {LOSS: "-(logits.softmax(-1).gather(-1, answers[..., None]) + 1e-9).log().mean()"},
        {"unstable"},
        2,
    ),
    (
        "recall_step",
        {"optimizer.st": "nn.utils.clip_grad_norm_(model.parameters(), 1)\noptimizer.st"},
        {"by_hand"},
        2.5,
    ),
    ("recall_step", EVALUATED, {"zeroed_too_late", "eval_mode"}, 1),
    ("softmax", WHOLE, {"whole_tensor"}, 2),
    ("simple_attention", COLUMNS_BY_EXP, {"softmax_over_queries"}, 1.5),
    ("simple_attention", ALONE_ON_THE_CPU, {"no_self", "scaled", "device_not_kept"}, 0.25),
    ("SelfAttention", {ATTENTION: DROPPED}, {"dropout"}, 6),
    ("SelfAttention", NO_BIAS | OTHER_NAMES, {"no_bias", "other_names"}, 4),
    ("SelfAttention", {ATTENTION: UNSCALED}, {"output_only", "no_scale"}, 4),
    ("attention_mask", {"future |": "future ^"}, {"exclusive_or"}, 2),
    ("attention_mask", DIAGONAL_OPEN, {"reopened"}, 2),
    ("masked_softmax", INVERTED_WITH_NAN, {"inverted", "nan_rows"}, 1.25),
    ("masked_softmax", IN_PLACE_WITH_NAN, {"in_place", "nan_rows"}, 3.25),
    ("shift_matrix", FITTED_EXACTLY, {"fitted_to_few_positions"}, 4.5),
    ("sees_the_future", NO_COPIES, {"in_place_view"}, 5.23),
    ("padding_mask", EMPTY_IS_FULL, {"zero_is_full"}, 1.5),
    ("sliding_window_mask", WIDE_AND_INVERTED, {"one_too_wide", "inverted"}, 0.75),
    ("attention_mask", ON_AND_ABOVE, {"diagonal_blocked", "causal_only"}, 1),
    ("scaled_dot_product_attention", COLUMNS_CLEANED, {"softmax_queries"}, 4),
    ("SelfAttention", {ATTENTION: CAUSAL_ALONE}, {"always_causal"}, 4),
    ("shift_targets", {":-1], ids[:, 1:": ":-1:2], ids[:, 1::2"}, {"without_overlap"}, 1),
    ("sees_the_future", {"generator=generator) *": "generator=generator).abs() *"}, {"positive_only"}, 5.61),
    ("padding_mask", FROM_THE_END, {"negative_slice"}, 1.5),
    ("recall_step", PAGE_BY_PAGE, {"page_by_page"}, 2),
    ("recall_step", {LOSS: f"{LOSS[:-1]}, label_smoothing=0.1)"}, {"more_than_cross_entropy"}, 2),
    ("sliding_window_mask", AROUND_AND_INVERTED, {"both_sides", "inverted"}, 0),
    ("shift_targets", RUNS_ON, {"flattened"}, 1),
    ("simple_attention", {"torch.softmax(scores, dim=-1)": "nn.functional.softmax(scores)"}, {"softmax_dim_zero"}, 1.5),
    ("LearnedPositionalEmbedding", AS_IN_BERT, {"extra_parameters", "error_of_another_type"}, 1.25),
    ("LearnedPositionalEmbedding", TURNED, {"table_transposed"}, 3),
    ("SelfAttention", PROJECTED, {"output_projection"}, 4),
    ("SelfAttention", PROJECTED.replace("softmax(-1)", "softmax(1)"), {"output_projection", "softmax_queries"}, 0.25),
    ("SelfAttention", NORMALISED | INVERTED, {"activation", "mask_inverted"}, 0.75),
    ("masked_softmax", FLOORED, {"floor"}, 5),
    ("sliding_window_mask", FUTURE_OPEN_AND_NARROW, {"future_open", "one_too_narrow"}, 0.75),
    ("sliding_window_mask", NUMBERS_AND_NO_WIDE_WINDOW, {"other_dtype"}, 1.25),
    ("recall_step", LAST_AND_EVALUATED, {"last_question_only", "eval_mode"}, 1.5),
    ("recall_step", HALF, {"last_question_only"}, 2),
    ("sees_the_future", {", after[:, :t]": ".mean(-1), after[:, :t].mean(-1)"}, {"sums_compared"}, 5.23),
]
RIGHT = [
    ("sees_the_future", {"attend(x.clone()).detach().clone()": "attend(x).clone()"}),  # attend keeps its input
    ("sees_the_future", {"atol=1e-6": "atol=1e-5"}),
    ("sees_the_future", {"=generator)": "=generator, dtype=torch.float64)"}),
    ("LearnedPositionalEmbedding", {"(max_len, embed_dim))": "(max_len, 1, embed_dim))", "[:T]": "[:T, 0]"}),
    (
        "LearnedPositionalEmbedding",
        {"(max_len, embed_dim))": "(1, max_len, embed_dim))", "shape[0]": "shape[1]", "[:T]": "[:, :T]"},
    ),
]


@pytest.mark.parametrize(("name", "answer", "mistakes", "points"), WRONG)
def test_a_spelling_is_named_and_costs_what_the_mistake_does(name, answer, mistakes, points):
    verdict = marked(name, answer)
    assert {diagnosis.mistake for diagnosis in verdict.diagnoses} == mistakes
    assert round(verdict.earned, 2) == points


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_a_right_answer_in_another_form_keeps_its_marks(name, answer):
    assert marked(name, answer).full
