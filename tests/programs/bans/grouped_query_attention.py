"""What grouped_query_attention bans, as somebody uses it, and right answers that only mention it."""


# %% banned scaled_dot_product: with its own groups
def grouped_query_attention(Q, K, V, mask=None):
    if Q.shape[1] % K.shape[1]:
        raise ValueError
    allowed = None if mask is None else ~mask
    return F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed, enable_gqa=True)


# %% banned scaled_dot_product: with repeated keys
def grouped_query_attention(Q, K, V, mask=None):
    size, rest = divmod(Q.shape[1], K.shape[1])
    if rest:
        raise ValueError("the groups must divide the heads")
    K, V = K.repeat_interleave(size, dim=1), V.repeat_interleave(size, dim=1)
    allowed = None if mask is None else ~mask
    return F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)


# %% banned scaled_dot_product: another name
from torch.nn.functional import scaled_dot_product_attention as sdpa


def grouped_query_attention(Q, K, V, mask=None):
    size, rest = divmod(Q.shape[1], K.shape[1])
    if rest:
        raise ValueError("the groups must divide the heads")
    K, V = K.repeat_interleave(size, dim=1), V.repeat_interleave(size, dim=1)
    allowed = None if mask is None else ~mask
    return sdpa(Q, K, V, allowed)


# %% banned scaled_dot_product: a head at a time
def grouped_query_attention(Q, K, V, mask=None):
    size, rest = divmod(Q.shape[1], K.shape[1])
    if rest:
        raise ValueError("the groups must divide the heads")
    K, V = K.repeat_interleave(size, dim=1), V.repeat_interleave(size, dim=1)
    allowed = None if mask is None else ~mask
    heads = zip(*(t.unbind(1) for t in (Q, K, V)))
    allowed = allowed if mask is None or mask.dim() == 2 else allowed[:, 0]
    return torch.stack([F.scaled_dot_product_attention(*qkv, attn_mask=allowed) for qkv in heads], 1)


# %% banned scaled_dot_product: the operation
def grouped_query_attention(Q, K, V, mask=None):
    size, rest = divmod(Q.shape[1], K.shape[1])
    if rest:
        raise ValueError("the groups must divide the heads")
    K, V = K.repeat_interleave(size, dim=1), V.repeat_interleave(size, dim=1)
    allowed = None if mask is None else ~mask
    return torch.ops.aten.scaled_dot_product_attention(Q, K, V, allowed)


# %% banned scaled_dot_product: by pieces
def grouped_query_attention(Q, K, V, mask=None):
    size, rest = divmod(Q.shape[1], K.shape[1])
    if rest:
        raise ValueError("the groups must divide the heads")
    K, V = K.repeat_interleave(size, dim=1), V.repeat_interleave(size, dim=1)
    allowed = None if mask is None else ~mask
    return torch.ops.aten._scaled_dot_product_attention_math(Q, K, V, allowed)[0]


# %% banned scaled_dot_product: compiled
_attention = torch.compile(F.scaled_dot_product_attention, backend="eager")


def grouped_query_attention(Q, K, V, mask=None):
    size, rest = divmod(Q.shape[1], K.shape[1])
    if rest:
        raise ValueError("the groups must divide the heads")
    K, V = K.repeat_interleave(size, dim=1), V.repeat_interleave(size, dim=1)
    allowed = None if mask is None else ~mask
    return _attention(Q, K, V, allowed)


# %% right: in words
def grouped_query_attention(Q, K, V, mask=None):
    """F.scaled_dot_product_attention(Q, K, V, attn_mask=~mask, enable_gqa=True) by hand, without nn.MultiheadAttention."""
    H, G = Q.shape[1], K.shape[1]
    if H % G:
        raise ValueError("attention: the groups must divide the heads")
    print("attention of", Q.shape)
    K, V = K.repeat_interleave(H // G, 1), V.repeat_interleave(H // G, 1)
    scores = Q @ K.mT / Q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask, -torch.inf)
    return scores.softmax(-1) @ V


# %% right: as names of variables
def grouped_query_attention(Q, K, V, mask=None):
    if Q.shape[1] % K.shape[1]:
        raise ValueError
    flash_attention, attention = (t.repeat_interleave(Q.shape[1] // K.shape[1], 1) for t in (K, V))
    scaled_dot_product = Q @ flash_attention.mT * Q.shape[-1] ** -0.5
    if mask is not None:
        scaled_dot_product = torch.where(mask, -torch.inf, scaled_dot_product)
    attention_weights = F.softmax(scaled_dot_product, -1)
    return attention_weights @ attention


# %% right: as one's own helper
import math


def scaled_dot_product_attention(Q, K, V, mask):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ V


def grouped_query_attention(Q, K, V, mask=None):
    size, rest = divmod(Q.shape[1], K.shape[1])
    if rest:
        raise ValueError("the groups must divide the heads")
    K, V = K.repeat_interleave(size, dim=1), V.repeat_interleave(size, dim=1)
    allowed = None if mask is None else ~mask
    return scaled_dot_product_attention(Q, K, V, mask)


# %% right: imported and replaced
from torch.nn.functional import scaled_dot_product_attention


def grouped_query_attention(Q, K, V, mask=None):
    if isinstance(Q, nn.MultiheadAttention) or Q.shape[1] % K.shape[1] != 0:
        raise ValueError("these are no queries for these keys")
    n = Q.shape[1] // K.shape[1]
    scores = torch.einsum("bhtd,bhsd->bhts", Q, K.repeat_interleave(n, 1)) / Q.shape[-1] ** 0.5
    scores = scores if mask is None else scores.masked_fill(mask, float("-inf"))
    return torch.einsum("bhts,bhsd->bhtd", scores.softmax(-1), V.repeat_interleave(n, 1))


# %% right: with the softmax by hand
def grouped_query_attention(Q, K, V, mask=None):
    size, rest = divmod(Q.shape[1], K.shape[1])
    if rest:
        raise ValueError("the groups must divide the heads")
    K, V = K.repeat_interleave(size, dim=1), V.repeat_interleave(size, dim=1)
    allowed = None if mask is None else ~mask
    scores = Q @ K.mT / Q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True) @ V
