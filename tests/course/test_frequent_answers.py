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
TYPED = [
    ("SelfAttention", SELF_ATTENTION.format(keys="k.T", fill="mask, -torch.inf"), {"keys_transposed_whole"}),
    ("SelfAttention", SELF_ATTENTION.format(keys="k.mT", fill="mask == 0, -1e9"), {"mask_inverted_and_finite"}),
    ("scaled_dot_product_attention", ANNOTATED, {"mask_inverted_and_finite"}),
    ("merge_pair", VECTORISED, {"found_before_merging"}),
    ("merge_pair", DELETING, {"deleted_while_walking"}),
    ("apply_rope", ROTATE_HALF, {"halves"}),
    ("shift_matrix", COLUMNS, {"transposed", "error_of_another_type"}),
    ("count_bigrams", COUNTS, {"repeats_counted_once_on_the_cpu"}),
]


@pytest.mark.parametrize(("name", "source", "mistakes"), TYPED, ids=[row[0] for row in TYPED])
def test_a_frequent_answer_is_named_however_it_is_spelt(name, source, mistakes):
    verdict = mark(name, student_with_answer(exercise(name), source))
    assert {diagnosis.mistake for diagnosis in verdict.diagnoses} == mistakes
    assert 0 < verdict.earned < verdict.points


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
