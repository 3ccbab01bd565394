"""Wrong and right answers to `cached_attention`. The reference (09-gpt-further):

def cached_attention(attention, x, num_heads, cache=None):
    projections = (attention.q_proj, attention.k_proj, attention.v_proj)
    q, k, v = (layer(x).unflatten(-1, (num_heads, -1)).transpose(1, 2) for layer in projections)  # each (B, H, T, d_k)
    if cache is not None:
        k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)  # (B, H, S + T, d_k)
    T = x.shape[1]
    S = k.shape[2] - T
    allowed = torch.ones(T, S + T, dtype=torch.bool, device=x.device).tril(S)
    heads = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)  # (B, H, T, d_k)
    return attention.out_proj(heads.transpose(1, 2).flatten(2)), (k, v)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class one_token_needs_no_mask(RightAnswer):
    edits = {
        "if cache is not None:": "if cache:",
        "torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)": (
            "(torch.cat(p, -2) for p in zip(cache, (k, v)))"
        ),
        "S = k.shape[2] - T": "places = torch.arange(k.shape[2], device=x.device)",
        "torch.ones(T, S + T, dtype=torch.bool, device=x.device).tril(S)": (
            "places <= places[-T:, None] if T > 1 else None"
        ),
    }


class query_by_query(RightAnswer):
    edits = {
        "allowed = torch.ones(T, S + T, dtype=torch.bool, device=x.device).tril(S)": """
            rows = []
            for t in range(T):
                seen = slice(0, S + t + 1)
                weights = (q[:, :, t : t + 1] @ k[:, :, seen].mT / q.shape[-1] ** 0.5).softmax(-1)
                rows.append(weights @ v[:, :, seen])
        """,
        "F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)": "torch.cat(rows, dim=2)",
        "(k, v)": "[k, v]",
    }


class einsum(RightAnswer):
    edits = {
        "F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)": (
            'torch.einsum("bhtd,bhsd->bhts", q, k).masked_fill(~allowed, -torch.inf) * q.shape[-1] ** -0.5'
        ),
        "return": 'heads = torch.einsum("bhts,bhsd->bhtd", heads.softmax(-1), v)\nreturn',
    }


class pytorchs_own_mask(RightAnswer):
    edits = {
        "T = x.shape[1]": "from torch.nn.attention.bias import causal_lower_right\nT = x.shape[1]",
        "torch.ones(T, S + T, dtype=torch.bool, device=x.device).tril(S)": "causal_lower_right(T, S + T)",
    }


# Mistakes


class no_mask(Fundamental):
    """There is no mask, so a new token sees those after it: it sees kept ones, and new ones up to itself."""

    edits = {", attn_mask=allowed": ""}


class mask_without_a_cache_only(Misconception):
    """Only the first piece gets a mask (`is_causal=cache is None`): behind a cache, too, a new token must not see the
    new ones after it.
    """

    edits = {"=allowed": "=allowed if cache is None else None"}


class mask_from_the_top_left(Misconception):
    """The mask starts at the first key (as `is_causal=True` does): move its diagonal S to the right."""

    variants = [{"(S)": "()"}, {"attn_mask=allowed": "is_causal=T > 1"}]


class mask_of_a_fixed_size(Minor):
    """The mask has a fixed size, and a text may have more tokens: make it [T, S + T]."""

    edits = {
        "(T, S + T, dtype=torch.bool, device=x.device).tril(S)": (
            "(512, 512, dtype=torch.bool, device=x.device).tril()[S : S + T, : S + T]"
        )
    }


class one_token_ahead(Minor):
    """The mask is one place off: a new token sees everything up to and including itself, and no further; the diagonal
    is S places to the right.
    """

    variants = [
        {"(S)": ["(S + 1)", "(S - 1)", "(S - 1 if S else 0)"]},
        einsum.edited({"(S)": "(S - 1)"}),
        einsum.edited({"(S)": "(S - 1)", "-torch.inf": "-1e9"}),
    ]


class mask_inverted(Misconception):
    """The mask is the wrong way round: PyTorch's function takes True for what may be seen."""

    edits = {"=allowed": "=~allowed"}


class cache_ignored(Fundamental):
    """The kept keys and values are not used: the new tokens see only one another."""

    variants = [
        {"torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)": "k, v"},
        {"None:": "None and x.shape[1] == 1:"},
    ]


class new_ones_in_front(Minor):
    """The new keys and values are put in front of the kept ones: they come after them."""

    variants = [
        {"cache[0], k], dim=2), torch.cat([cache[1], v": "k, cache[0]], dim=2), torch.cat([v, cache[1]"},
        {
            "cache[0], k], dim=2), torch.cat([cache[1], v": "k, cache[0]], dim=2), torch.cat([v, cache[1]",
            "tril(S)": "tril(S).roll(T, 1)",
        },
    ]


class keys_and_values_swapped(Minor):
    """Keys and values are mixed up on the way in or out of the cache: (keys, values)."""

    variants = [
        {"0], k], dim=2), torch.cat([cache[1": "1], k], dim=2), torch.cat([cache[0"},
        {"cache[1]": "cache[0]"},
        {"(k, v)": "(v, k)"},
        {"0], k], dim=2), torch.cat([cache[1": "1], k], dim=2), torch.cat([cache[0", "(k, v)": "(v, k)"},
    ]


class new_ones_returned(Misconception):
    """Only the new keys and values, or only the old ones, are returned: the next call needs those of all tokens so
    far.
    """

    edits = {"(k, v)": ["(k[:, :, S:], v[:, :, S:])", "(cache or (k, v))"]}


class heads_not_split_in_the_cache(Minor):
    """The cache has another form: a pair (keys, values), each [B, H, S, d_k], its heads split."""

    edits = {
        "(k, v)": [
            "(k.transpose(1, 2), v.transpose(1, 2))",
            "(k.transpose(1, 2).flatten(2), v.transpose(1, 2).flatten(2))",
            "torch.stack([k, v])",
        ]
    }


class last_token_only(Misconception):
    """Only the last new token is answered: out has a row for each of them."""

    edits = {"(2))": "(2)[:, -1:])"}


class no_scale(Minor):
    """The scores are not divided by the root of d_k, the width of a head (but not at all, or by the root of the whole
    width).
    """

    edits = {"=allowed": ["=allowed, scale=1.0", "=allowed, scale=x.shape[-1] ** -0.5"]}


class heads_cut_wrongly(Misconception):
    """The heads are split or merged without the transpose: the shape is right, and rows mix tokens."""

    variants = [
        {"transpose(1, 2).flatten(2))": "reshape(x.shape))"},
        {"unflatten(-1, (num_heads, -1)).transpose(1, 2)": "reshape(x.shape[0], num_heads, x.shape[1], -1)"},
        {
            "unflatten(-1, (num_heads, -1)).transpose(1, 2)": "reshape(x.shape[0], num_heads, x.shape[1], -1)",
            "transpose(1, 2).flatten(2))": "reshape(x.shape))",
        },
    ]


class no_out_proj(Minor):
    """out_proj is forgotten: it is the last step."""

    edits = {"attention.out_proj(": "("}


class wrong_projection(Minor):
    """A projection is used for something else: q_proj gives queries, k_proj keys, v_proj values."""

    variants = [
        {"q_proj, attention.k_proj": "k_proj, attention.q_proj"},
        {"v_proj": "k_proj"},
        {"k_proj": "v_proj"},
        {"k_proj, attention.v_proj": "v_proj, attention.k_proj"},
    ]


class gradient_cut_off(common_mistakes.gradient_cut_off):
    variants = [
        {"), (": ").detach(), ("},
        {", k], dim=2), torch.cat([cache[1]": ".detach(), k], dim=2), torch.cat([cache[1].detach()"},
    ]


class computed_again(Misconception):
    """Tokens go through the projections a second time, which the cache is there to save."""

    edits = {"heads =": "attention.k_proj(x); attention.v_proj(x); heads ="}


class device_dropped(Minor, shared_mistakes.device_dropped):
    edits = {", device=x.device": ""}


class only_out(Fundamental):
    """Only out is returned: without the grown cache the next call cannot go on."""

    edits = {", (k, v)": ""}
