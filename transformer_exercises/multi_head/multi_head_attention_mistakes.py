"""Wrong and right answers to `MultiHeadAttention`. The reference (07-multi-head):

class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim must be divisible by num_heads; got {embed_dim} and {num_heads}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.k_proj = nn.Linear(embed_dim, embed_dim)
        self.v_proj = nn.Linear(embed_dim, embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None, context=None):
        source = x if context is None else context  # (B, S, C)
        Q = split_heads(self.q_proj(x), self.num_heads)  # (B, H, T, d_k)
        K = split_heads(self.k_proj(source), self.num_heads)  # (B, H, S, d_k)
        V = split_heads(self.v_proj(source), self.num_heads)  # (B, H, S, d_k)
        allowed = None if mask is None else ~mask  # PyTorch's function means True = allowed
        heads = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)  # (B, H, T, d_k), divided by the root of d_k
        return self.out_proj(merge_heads(heads))  # (B, T, C): the only step in which heads meet
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

SOURCE = "x if context is None else context"
OUTPUT = "self.out_proj(merge_heads(heads))"

# Right answers in other styles


class written_out(RightAnswer):
    edits = {
        "allowed = None if mask is None else ~mask": "d_k = Q.shape[-1]",
        "heads = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)": """
            scores = torch.einsum('bhtd,bhsd->bhts', Q, K) * d_k**-0.5
            if mask is not None: scores = scores.masked_fill(mask, -torch.inf)
            heads = torch.einsum('bhts,bhsd->bhtd', scores.softmax(-1), V)
        """,
    }


class sum_of_heads(RightAnswer):
    edits = {
        "~mask": "mask.logical_not()",
        OUTPUT: (
            "(heads @ self.out_proj.weight.T.reshape(self.num_heads, -1, x.shape[-1])).sum(dim=1) + self.out_proj.bias"
        ),
    }


class loop_over_heads(RightAnswer):
    edits = {
        "heads = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)": """
            heads = []
            for h in range(self.num_heads):
                scores = Q[:, h] @ K[:, h].transpose(1, 2) / Q.shape[-1] ** 0.5
                if mask is not None: scores[mask.expand(*Q.shape[:3], K.shape[2])[:, h]] = float('-inf')
                heads.append(scores.softmax(dim=2) @ V[:, h])
        """,
        "merge_heads(heads)": "torch.cat(heads, dim=-1)",
    }


class fused_by_hand(RightAnswer):
    edits = {
        "Q = split_heads(self.q_proj(x), self.num_heads)": "B, T, C = x.shape",
        "K = split_heads(self.k_proj(source), self.num_heads)": "q, k, v = self.q_proj, self.k_proj, self.v_proj",
        "V = split_heads(self.v_proj(source), self.num_heads)": """
            weight, bias = torch.cat([q.weight, k.weight, v.weight]), torch.cat([q.bias, k.bias, v.bias])
            Q, K, V = F.linear(x, weight, bias).split(C, dim=2) if context is None else (q(x), k(source), v(source))
            Q, K, V = (y.view(B, -1, self.num_heads, C // self.num_heads).transpose(1, 2) for y in (Q, K, V))
        """,
        "~mask": "torch.zeros(mask.shape, dtype=x.dtype, device=x.device).masked_fill(mask, float('-inf'))",
        "merge_heads(heads)": "heads.transpose(1, 2).contiguous().view(B, T, C)",
    }


# Splitting into heads and merging them


class split_without_transpose(Misconception):
    """The split cuts straight into (B, H, T, d_k), so a head sees pieces of other tokens: transpose."""

    edits = {
        "K = split_heads": (
            "K = (lambda tokens, H: tokens.reshape(tokens.shape[0], self.num_heads, tokens.shape[1], -1))"
        ),
        "split_heads": "(lambda tokens, H: tokens.reshape(tokens.shape[0], self.num_heads, tokens.shape[1], -1))",
    }


class merge_without_transpose(Misconception):
    """The heads are merged without a transpose: a row of the output mixes tokens, later ones too."""

    edits = {"merge_heads(heads)": "heads.reshape(x.shape)"}


class merge_by_view(Misconception):
    """`view` fails after a transpose, which moves no numbers in memory: use `reshape`, or merge_heads."""

    edits = {"merge_heads(heads)": "heads.transpose(1, 2).view(x.shape)"}


class neither_transposed(Misconception):
    """Neither split nor merge transposes. It trains, but every head sees pieces of other tokens."""

    based_on = split_without_transpose
    edits = {"merge_heads(heads)": "heads.reshape(x.shape)"}


class heads_interleaved(Misconception):
    """Each head gets every H-th column: cut into (B, T, H, d_k), not (B, T, d_k, H)."""

    edits = {
        "K = split_heads": "K = (lambda tokens, H: tokens.unflatten(-1, (-1, H)).permute(0, 3, 1, 2))",
        "split_heads": "(lambda tokens, H: tokens.unflatten(-1, (-1, H)).permute(0, 3, 1, 2))",
        "merge_heads(heads)": "heads.permute(0, 2, 3, 1).flatten(2)",
    }


class merge_interleaved(Misconception):
    """The merge mixes the heads' columns: all columns of head 0 come first, then those of head 1."""

    edits = {"merge_heads(heads)": "heads.permute(0, 2, 3, 1).flatten(2)"}


class one_wide_head(Misconception):
    """There is one head, as wide as x: num_heads plays no part. Split queries, keys and values first."""

    edits = {", self.num_heads": ", 1"}


class heads_attend_to_heads(Misconception):
    """Each token's heads attend to one another: the scores must be (B, H, T, S)."""

    edits = {
        "K = split_heads": "K = (lambda tokens, H: tokens.unflatten(-1, (H, -1)))",
        "split_heads": "(lambda tokens, H: tokens.unflatten(-1, (H, -1)))",
        "merge_heads(heads)": "heads.flatten(2)",
    }


class heads_averaged(Misconception):
    """The heads are added up or averaged: they stand side by side, C columns in all."""

    edits = {
        "merge_heads(heads)": [
            "heads.mean(dim=1).repeat(1, 1, self.num_heads)",
            "heads.sum(dim=1).repeat(1, 1, self.num_heads)",
            "heads.mean(dim=1)",
        ]
    }


class width_for_heads(Misconception):
    """The number of heads and their width are swapped: num_heads heads, each embed_dim / num_heads wide."""

    edits = {"= num_heads": "= embed_dim // num_heads"}


class heads_fixed(Misconception):
    """The number of heads is a fixed number, whatever num_heads says."""

    edits = {"= num_heads": ["= 8", "= 2", "= 4"]}


# The scale and the softmax


class scale_of_whole_width(Misconception):
    """The scores are divided by √embed_dim: a head's dot products run over its own width, √d_k."""

    edits = {
        "heads = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)": """
            scores = Q @ K.transpose(-2, -1) / math.sqrt(x.shape[-1])
            if mask is not None: scores = scores.masked_fill(mask, float('-inf'))
            heads = torch.softmax(scores, dim=-1) @ V
        """
    }


class no_scale(Minor):
    """The scores are not divided by the root of the head's width d_k."""

    based_on = scale_of_whole_width
    edits = {"math.sqrt(x.shape[-1])": "1.0"}


class scaled_twice(Minor):
    """The scores are divided by √d_k twice, or by d_k (F.scaled_dot_product_attention divides already)."""

    based_on = scale_of_whole_width
    edits = {"math.sqrt(x.shape[-1])": ["Q.shape[-1]", "Q.shape[-1] ** 0.25"]}


class multiplied_by_root(Minor):
    """The scores are multiplied by the root of d_k: they are divided by it."""

    based_on = scale_of_whole_width
    edits = {"math.sqrt(x.shape[-1])": "Q.shape[-1] ** -0.5"}


class scale_of_other_size(Misconception):
    """The scores are divided by the root of the number of heads or tokens: a head's width is asked for."""

    based_on = scale_of_whole_width
    edits = {"x.shape[-1]": ["self.num_heads", "K.shape[-2]"]}


class scale_fixed(Misconception):
    """The scores are divided by a fixed number: use the root of the head's width, embed_dim / num_heads."""

    based_on = scale_of_whole_width
    edits = {"math.sqrt(x.shape[-1])": ["8.0", "4.0", "2.0"]}


class softmax_over_queries(Misconception):
    """The softmax runs over the queries: each query shares its attention among the keys, dim=-1."""

    based_on = scale_of_whole_width
    edits = {"sqrt(x.shape": "sqrt(Q.shape", "dim=-1) @": "dim=-2) @"}


class softmax_over_heads(Misconception):
    """The softmax runs over the heads or the batch: (B, H, T, S) is normalised along S, dim=-1."""

    based_on = softmax_over_queries
    edits = {"dim=-2": ["dim=1", "dim=0"]}


class no_softmax(Misconception):
    """There is no softmax: scores become weights that sum to 1 before they meet the values."""

    based_on = softmax_over_queries
    edits = {"float('-inf')": "0.0", "torch.softmax(scores, dim=-2)": "scores"}


# The mask


class mask_not_inverted(Misconception):
    """The mask is read the wrong way round: True = blocked here, *allowed* in PyTorch's function (`~mask`)."""

    edits = {"None if mask is None else ~mask": "mask"}


class mask_ignored(Misconception):
    """The mask is not used: a key that it blocks must get weight 0, in every head."""

    edits = {"None if mask is None else ~mask": "None"}


class mask_of_zeros(Misconception):
    """Blocked scores are set to 0, which is a score like any other: set them to −inf before the softmax."""

    based_on = no_softmax
    edits = {"= scores @": "= torch.softmax(scores, dim=-1) @"}


class mask_finite(shared_mistakes.mask_finite):
    based_on = mask_of_zeros
    edits = {"(mask, 0.0)": ["(mask, -1e9)", "(mask, -10.0)"]}


class mask_added(Misconception):
    """A large number is taken off blocked scores: a larger score still gets through. Set them to −inf."""

    based_on = mask_of_zeros
    edits = {".masked_fill(mask, 0.0)": "- 1e9 * mask"}


class mask_after_softmax(Misconception):
    """Blocked weights are set to 0 after the softmax, so the others no longer sum to 1: block before it."""

    edits = {
        "heads = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)": """
            weights = torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1]), dim=-1)
            if mask is not None: weights = weights.masked_fill(mask, 0.0)
            heads = weights @ V
        """
    }


class renormalised_afterwards(Misconception):
    """Weights are zeroed after the softmax and renormalised, 0/0 if a blocked score is far above."""

    based_on = mask_after_softmax
    edits = {"weights @": "weights / weights.sum(dim=-1, keepdim=True) @"}


class truth_of_a_tensor(Minor):
    """`if mask:` or `context or x` asks whether a tensor is true, which fails: use `is not None`."""

    variants = [{"None if mask is None else ~mask": "~mask if mask else None"}, {SOURCE: "context or x"}]


class mask_transposed(shared_mistakes.mask_transposed):
    edits = {"~mask": "~mask.mT"}


class mask_unsqueezed(Misconception):
    """The mask gets further dimensions (`unsqueeze`, `view`), so some shapes no longer fit: it broadcasts."""

    edits = {
        "~mask": ["~mask.unsqueeze(1)", "~mask[:, None, None, :]", "~mask.view(1, 1, x.shape[1], source.shape[1])"]
    }


class mask_shapes(Misconception):
    """Some shapes of masks fail or are misread: any that broadcasts to (B, H, T, S) is right; hand it on."""

    variants = [
        {
            "allowed =": """
                if mask is not None and mask.dim() not in (2, 4): raise ValueError("a mask has two or four dimensions")
                allowed =
            """
        },
        {"~mask": "~mask.unsqueeze(1) if mask.dim() == 3 else ~mask"},
    ]


class mask_cut_to_tokens(Misconception):
    """The mask is cut to (T, T), as if there were as many keys as queries: with a context it is (T, S)."""

    edits = {
        "~mask": [
            "~mask[..., : x.shape[1]]",
            "F.pad(~mask[..., : x.shape[1]], (0, max(0, source.shape[1] - x.shape[1])), value=True)",
        ]
    }


class mask_not_for_one(Misconception):
    """The mask is not used for a single query (T = 1): it may block keys of the context, or padding."""

    edits = {"else ~": "or x.shape[1] == 1 else ~"}


class other_signature(Minor):
    """A parameter has another name: (embed_dim, num_heads) and forward(x, mask=None, context=None)."""

    variants = [
        {
            "(self, x, mask=None, context=None):": [
                "(self, query, mask=None, context=None):\n    x = query",
                "(self, x, mask=None, memory=None):\n    context = memory",
            ]
        },
        {"(self, embed_dim, num_heads):": "(self, C, H):\n    embed_dim, num_heads = C, H"},
    ]


class beginning_of_memory(shared_mistakes.beginning_of_memory):
    edits = {"(x)": "(torch.as_strided(x, x.shape, x.stride(), 0))"}


class mask_of_first(Misconception):
    """Only one part of the mask is used (that of the first sequence or head): it is broadcast to (B, H, T, S)."""

    edits = {"~mask": [f"~mask[{part}] if mask.dim() == 4 else ~mask" for part in (":1", ":, :1", "0, 0")]}


class always_causal(shared_mistakes.always_causal):
    edits = {"attn_mask=allowed": ["is_causal=True", "attn_mask=allowed, is_causal=mask is None"]}


class causal_instead_of_mask(Misconception):
    """Whatever the mask says, a causal one is applied: use the mask that is given."""

    edits = {"attn_mask=allowed": "is_causal=mask is not None"}


class mask_sometimes(Misconception):
    """The mask is used in one mode only (training or evaluation): what is blocked is blocked in both."""

    edits = {
        "None if mask is None else ~mask": [
            "~mask if mask is not None and self.training else None",
            "~mask if mask is not None and not self.training else None",
        ]
    }


class mask_not_with_context(Misconception):
    """The mask is not used where there is a context: both may be given."""

    edits = {"else ~": "or context is not None else ~"}


class mask_remembered(shared_mistakes.mask_remembered):
    edits = {
        "source =": [
            "mask = self.mask = self.mask if mask is None else mask\nsource =",
            "mask = self.mask = mask if self.mask is None else self.mask\nsource =",
        ],
        "super().__init__()": "super().__init__()\nself.mask = None",
    }


class mask_required(Minor, shared_mistakes.mask_required):
    variants = [
        {"=None, context=None": [", context=None", ", context", "=None, *, context"]},
        {"None if mask is None else ~": "~"},
    ]


# The context


class parameters_of_forward(Fundamental):
    """forward's parameters have other names or another order: (x, mask=None, context=None)."""

    variants = [
        {"mask=None, context": "context=None, mask"},
        {", context=None": "", SOURCE: "x"},
        mask_ignored.edited({"mask=None, context": "context"}),
        mask_ignored.edited({", mask=None, context=None": "", SOURCE: "x"}),
    ]


class context_ignored(Misconception):
    """The context is not used: keys and values come from it when it is given."""

    edits = {SOURCE: "x"}


class context_for_one(Misconception):
    """Keys and values come from different places: both come from the context when it is given."""

    based_on = scale_of_whole_width
    variants = [
        {"k_proj(source)": "k_proj(x)", "x.shape": "Q.shape"},
        {"v_proj(source)": "v_proj(x)", "x.shape": "Q.shape"},
    ]


class queries_from_context(Misconception):
    """The queries come from the context: they come from x, keys and values from the context."""

    variants = [{"(x)": "(source)"}, {"(x)": "(source)", "k_proj(source)": "k_proj(x)", "v_proj(source)": "v_proj(x)"}]


class context_appended(Misconception):
    """The context is joined to x: keys and values come from the context alone."""

    edits = {"else context": "else torch.cat([x, context], dim=1)"}


class context_of_equal_length(Misconception):
    """The context is taken to be as long as x: it has a length S of its own."""

    variants = [{"else context": "else context[:, : x.shape[1]]"}, {"k_proj(source)": "k_proj(source).view(x.shape)"}]


class context_remembered(Misconception):
    """An earlier context is used in later calls too: without a context, keys and values come from x."""

    edits = {
        "super().__init__()": "super().__init__()\nself.context = None",
        "source =": """
            context = self.context = self.context if context is None else context
            source =
        """,
    }


# The projections


class out_proj_unused(Minor):
    """out_proj is never applied: the merged heads go through it at the end."""

    edits = {OUTPUT: "merge_heads(heads)"}


class no_out_proj(Misconception):
    """There is no out_proj: after merging, one more nn.Linear(embed_dim, embed_dim) mixes the heads."""

    based_on = out_proj_unused
    edits = {"self.out_proj = nn.Linear(embed_dim, embed_dim)": ""}


class no_bias(Minor, shared_mistakes.no_bias):
    variants = [
        {"embed_dim, embed_dim": "embed_dim, embed_dim, bias=False"},
        {
            "embed_dim, embed_dim": "embed_dim, embed_dim, bias=False",
            "out_proj = nn.Linear(embed_dim, embed_dim, bias=False)": "out_proj = nn.Linear(embed_dim, embed_dim)",
        },
        {"q_proj = nn.Linear(embed_dim, embed_dim": "q_proj = nn.Linear(embed_dim, embed_dim, bias=False"},
        {"k_proj = nn.Linear(embed_dim, embed_dim": "k_proj = nn.Linear(embed_dim, embed_dim, bias=False"},
        {"v_proj = nn.Linear(embed_dim, embed_dim": "v_proj = nn.Linear(embed_dim, embed_dim, bias=False"},
        {"out_proj = nn.Linear(embed_dim, embed_dim": "out_proj = nn.Linear(embed_dim, embed_dim, bias=False"},
    ]


class narrow_projections(Misconception):
    """The projections end in d_k features, enough for one head: embed_dim makes the columns of all heads."""

    edits = {
        "embed_dim, embed_dim)": "embed_dim, embed_dim // num_heads)",
        "out_proj = nn.Linear(embed_dim, embed_dim // num_heads)": "out_proj = nn.Linear(embed_dim, embed_dim)",
    }


class split_before_projecting(Misconception):
    """x is split before it is projected, so a head sees its own columns only: project first."""

    edits = {
        "Linear(embed_dim, embed_dim)": "Linear(embed_dim // num_heads, embed_dim // num_heads)",
        "out_proj = nn.Linear(embed_dim // num_heads, embed_dim // num_heads)": (
            "out_proj = nn.Linear(embed_dim, embed_dim)"
        ),
        "split_heads(self.q_proj(x), self.num_heads)": "self.q_proj(split_heads(x, self.num_heads))",
        "split_heads(self.k_proj(source), self.num_heads)": "self.k_proj(split_heads(source, self.num_heads))",
        "split_heads(self.v_proj(source), self.num_heads)": "self.v_proj(split_heads(source, self.num_heads))",
    }


class out_proj_for_one_head(Misconception):
    """out_proj takes one head only (d_k features): merge the heads first, then C to C."""

    edits = {
        "merge_heads(heads)": ["heads).sum(dim=1", "heads.mean(dim=1)"],
        "out_proj = nn.Linear(embed_dim": "out_proj = nn.Linear(embed_dim // num_heads",
    }


class wide_projections(Misconception):
    """The projections are num_heads times too wide: the heads share the width embed_dim."""

    edits = {
        "Linear(embed_dim, embed_dim": "Linear(embed_dim, embed_dim * num_heads",
        "out_proj = nn.Linear(embed_dim, embed_dim * num_heads": (
            "out_proj = nn.Linear(embed_dim * num_heads, embed_dim"
        ),
    }


class sizes_fixed(Fundamental):
    """The sizes of the layers are fixed numbers: they come from embed_dim."""

    edits = {"embed_dim, embed_dim": ["512, 512", "64, 64", "32, 32"]}


# How parameters are kept


class fused(Misconception):
    """One layer makes queries, keys and values, as real code does; here q_proj, k_proj and v_proj are asked for."""

    edits = {
        "self.q_proj = nn.Linear(embed_dim, embed_dim)": "self.qkv_proj = nn.Linear(embed_dim, 3 * embed_dim)",
        "self.k_proj = nn.Linear(embed_dim, embed_dim)": "",
        "self.v_proj = nn.Linear(embed_dim, embed_dim)": "",
        "self.q_proj(x)": "self.qkv_proj(x).chunk(3, dim=-1)[0]",
        "self.k_proj(source)": "self.qkv_proj(source).chunk(3, dim=-1)[1]",
        "self.v_proj(source)": "self.qkv_proj(source).chunk(3, dim=-1)[2]",
    }


class torchs_module(Fundamental):
    """nn.MultiheadAttention does the work: here q_proj, k_proj, v_proj and out_proj are your own."""

    code = """
    class MultiHeadAttention(nn.Module):
        def __init__(self, embed_dim, num_heads):
            super().__init__()
            if embed_dim % num_heads != 0: raise ValueError("embed_dim")
            self.attention = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)

        def forward(self, x, mask=None, context=None):
            context = x if context is None else context
            if mask is not None:
                sizes = len(x), self.attention.num_heads, x.shape[1], context.shape[1]
                mask = mask.expand(sizes).flatten(0, 1)
            return self.attention(x, context, context, attn_mask=mask)[0]
    """


class separate_heads(Misconception):
    """Each head has small layers of its own: here one layer of full width serves all heads."""

    edits = {
        "self.q_proj = nn.Linear(embed_dim, embed_dim)": """
            small = lambda: nn.Linear(embed_dim, embed_dim // num_heads)
            heads = (nn.ModuleDict({"q_proj": small(), "k_proj": small(), "v_proj": small()}) for _ in range(num_heads))
            self.heads = nn.ModuleList(heads)
        """,
        "self.k_proj = nn.Linear(embed_dim, embed_dim)": "",
        "self.v_proj = nn.Linear(embed_dim, embed_dim)": "",
        "Q = split_heads(self.q_proj(x), self.num_heads)": (
            "qkv = [(head.q_proj(x), head.k_proj(source), head.v_proj(source)) for head in self.heads]"
        ),
        "K = split_heads(self.k_proj(source), self.num_heads)": "",
        "V = split_heads(self.v_proj(source), self.num_heads)": "",
        "F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)": (
            "[F.scaled_dot_product_attention(*each, attn_mask=allowed) for each in qkv]"
        ),
        "merge_heads(heads)": "torch.cat(heads, dim=-1)",
    }


class other_names(Minor):
    """The layers have other names: weights are loaded into q_proj, k_proj, v_proj and out_proj."""

    variants = [
        {"q_proj": "query", "k_proj": "key", "v_proj": "value", "out_proj": "out"},
        {"out_proj": ["o_proj", "proj"]},
    ]


class bare_parameters(Misconception):
    """The projections are bare matrices: nn.Linear(embed_dim, embed_dim) holds a weight and a bias."""

    edits = {
        "Linear(embed_dim, embed_dim)": "Parameter(torch.randn(embed_dim, embed_dim))",
        "self.q_proj(x)": "(x @ self.q_proj)",
        "self.k_proj(source)": "(source @ self.k_proj)",
        "self.v_proj(source)": "(source @ self.v_proj)",
        OUTPUT: "(merge_heads(heads) @ self.out_proj)",
    }


class shared_layers(Misconception):
    """Several projections are one and the same layer: each has weights of its own."""

    variants = [
        {
            "k_proj = nn.Linear(embed_dim, embed_dim)": "k_proj = self.q_proj",
            "v_proj = nn.Linear(embed_dim, embed_dim)": "v_proj = self.q_proj",
        },
        {"k_proj = nn.Linear(embed_dim, embed_dim)": "k_proj = self.q_proj"},
        {"v_proj = nn.Linear(embed_dim, embed_dim)": "v_proj = self.k_proj"},
    ]


class layers_in_a_list(shared_mistakes.layers_in_a_list):
    edits = {
        "super().__init__()": "super().__init__()\nself.layers = {}",
        "self.q_proj": 'self.layers["q"]',
        "self.k_proj": 'self.layers["k"]',
        "self.v_proj": 'self.layers["v"]',
        "self.out_proj": 'self.layers["out"]',
    }


class layers_made_in_forward(shared_mistakes.layers_made_in_forward):
    edits = {
        "self.q_proj(x)": "nn.Linear(x.shape[-1], x.shape[-1])(x)",
        "self.k_proj(source)": "nn.Linear(x.shape[-1], x.shape[-1])(source)",
        "self.v_proj(source)": "nn.Linear(x.shape[-1], x.shape[-1])(source)",
    }


# Queries, keys and values


class query_key_swapped(Minor):
    """q_proj and k_proj are swapped: q_proj makes the queries from x, k_proj the keys."""

    variants = [
        scale_of_whole_width.edited({"Q @ K.transpose(-2, -1) / math.sqrt(x": "K @ Q.transpose(-2, -1) / math.sqrt(Q"}),
        {"q_proj(x)": "k_proj(x)", "k_proj(source)": "q_proj(source)"},
    ]


class key_value_swapped(Minor):
    """Keys and values are swapped: k_proj makes what is compared, v_proj what is averaged."""

    edits = {"K, V": "V, K"}


class query_value_swapped(Minor):
    """Queries and values are swapped."""

    based_on = scale_of_whole_width
    edits = {"Q @ K.transpose(-2, -1) / math.sqrt(x": "V @ K.transpose(-2, -1) / math.sqrt(Q", ") @ V": ") @ Q"}


class one_projection_for_two(Misconception):
    """One projection is used twice and another never: queries, keys and values each have their own."""

    variants = [
        {"v_proj(source)": ["k_proj(source)", "q_proj(source)"]},
        {"k_proj(source)": "q_proj(source)"},
        {"k_proj(source)": "q_proj(source)", "v_proj(source)": "q_proj(source)"},
    ]


class unprojected(Misconception):
    """Tokens go in as they are where a projection belongs: q_proj, k_proj and v_proj come first."""

    variants = [
        {"self.v_proj(source)": "source"},
        {"self.q_proj(x)": "x"},
        {"self.k_proj(source)": "source"},
        {"self.q_proj(x)": "x", "self.k_proj(source)": "source", "self.v_proj(source)": "source"},
    ]


class values_split_by_hand_twice(Misconception):
    """Values are projected twice: v_proj comes before the split, out_proj after the merge."""

    variants = [
        out_proj_unused.edited({"v_proj(source)": "out_proj(self.v_proj(source))"}),
        {"v_proj(source)": "v_proj(self.v_proj(source))"},
    ]


# What belongs elsewhere


class residual(Minor):
    """x is added to the output: the residual connection belongs to the block of notebook 08."""

    edits = {"return": "return x +"}


class normalised(Misconception):
    """A layer norm is applied to the input or the output: it belongs to the block of notebook 08."""

    variants = [
        {"source =": "x = F.layer_norm(x, x.shape[-1:])\nsource ="},
        {OUTPUT: f"F.layer_norm({OUTPUT}, x.shape[-1:])"},
    ]


class dropout(Minor):
    """Dropout is at work in training mode: none is asked for here."""

    variants = [
        {OUTPUT: f"F.dropout({OUTPUT}, 0.1, self.training)"},
        {"=allowed": ["=allowed, dropout_p=0.1 if self.training else 0.0", "=allowed, dropout_p=0.1"]},
    ]


class activation(Misconception):
    """An activation function is applied: projections and output are linear."""

    variants = [
        {OUTPUT: f"torch.relu({OUTPUT})"},
        {
            "self.q_proj(x)": "torch.relu(self.q_proj(x))",
            "self.k_proj(source)": "torch.relu(self.k_proj(source))",
            "self.v_proj(source)": "torch.relu(self.v_proj(source))",
        },
    ]


class weights_too(Minor):
    """The weights are returned as well: forward gives one tensor, (B, T, C)."""

    edits = {
        "return self.out_proj(merge_heads(heads))": [
            "return self.out_proj(merge_heads(heads)), torch.softmax(Q @ K.mT, dim=-1)",
            "return self.out_proj(merge_heads(heads)), None",
        ]
    }


class heads_returned(Misconception):
    """The heads are never merged: the output is (B, T, C), with the heads side by side and then projected."""

    edits = {OUTPUT: ["heads", "heads.transpose(1, 2)"]}


class batch_second(Misconception):
    """Attention runs over the batch: x is (B, T, C) here (nn.MultiheadAttention's default has the tokens first)."""

    edits = {
        "source =": """
            x = x.transpose(0, 1)
            context = None if context is None else context.transpose(0, 1)
            source =
        """,
        "(merge_heads(heads))": "(merge_heads(heads)).transpose(0, 1)",
    }


# Sizes, refusals, devices and the module itself


class length_limited(Misconception):
    """The number of tokens is limited by a fixed maximum: any T and S are allowed."""

    variants = [
        {
            "source =": [
                "x = x[:, :16]\nsource =",
                "if x.shape[1] > 32: raise ValueError('too long')\nsource =",
                "assert x.shape[1] <= 16\nsource =",
                "assert x.shape[1] <= 512\nsource =",
            ]
        },
        {"else context": "else context[:, :512]"},
        {"~mask": "~mask[..., :128, :128]"},
    ]


class not_refused(Misconception):
    """A width that num_heads does not divide gives no ValueError, or one only when the module is called."""

    variants = [{"!= 0": "< 0"}, {"raise ValueError": ["raise AssertionError", "raise TypeError"]}]


class refused_without_reason(Fundamental):
    """Sizes are refused that are right: every num_heads that divides embed_dim is allowed."""

    variants = [
        {"embed_dim % num_heads": "num_heads % embed_dim"},
        {"!= 0": ["== 0", "!= 0 or num_heads == 1", "!= 0 or num_heads > 8", "!= 0 or embed_dim // num_heads % 2"]},
    ]


class device_dropped(shared_mistakes.device_dropped):
    variants = [
        scale_of_whole_width.edited({"math.sqrt(x.shape[-1])": "torch.full((1,), Q.shape[-1] ** 0.5, dtype=x.dtype)"}),
        {"~mask": "torch.zeros(mask.shape, dtype=x.dtype).masked_fill(mask, float('-inf'))"},
    ]


class parameters_changed(Misconception):
    """Every call changes the parameters (`weight.data.div_`), so the next gives another result."""

    based_on = no_scale
    edits = {
        "source =": """
            self.q_proj.weight.data.div_((x.shape[-1] // self.num_heads) ** 0.5)
            self.q_proj.bias.data.div_((x.shape[-1] // self.num_heads) ** 0.5)
            source =
        """
    }


class same_start(Misconception):
    """Layers start alike (copied or constant weights): each needs random weights of its own, as nn.Linear makes."""

    edits = {
        "out_proj = nn.Linear(embed_dim, embed_dim)": [
            """
            out_proj = nn.Linear(embed_dim, embed_dim)
            for layer in self.children(): nn.init.zeros_(layer.weight)
            """,
            """
            out_proj = nn.Linear(embed_dim, embed_dim)
            for layer in self.children(): nn.init.ones_(layer.weight)
            """,
            "out_proj = nn.Linear(embed_dim, embed_dim)\nnn.init.zeros_(self.out_proj.weight)",
            """
            out_proj = nn.Linear(embed_dim, embed_dim)
            self.k_proj.load_state_dict(self.q_proj.state_dict())
            """,
        ]
    }


class no_super(Fundamental, shared_mistakes.no_super):
    edits = {"super().__init__()": ""}


class not_a_module(Fundamental, shared_mistakes.not_a_module):
    based_on = no_super
    edits = {"(nn.Module)": "", "forward": "__call__"}


class forward_misspelt(Fundamental, shared_mistakes.forward_misspelt):
    edits = {"forward": "foward"}


class gradient_cut_off(common_mistakes.gradient_cut_off):
    variants = [
        {"k_proj(source)": "k_proj(source).detach()"},
        {SOURCE: "x.detach() if context is None else context.detach()"},
    ]


class single_precision(common_mistakes.single_precision):
    variants = [
        {"source =": "x = x.float()\nsource ="},
        {", K, V, attn_mask=allowed": ".float(), K.float(), V.float(), attn_mask=allowed).to(x.dtype"},
    ]


class input_changed(common_mistakes.input_changed):
    edits = {
        "source = x if context is None else context": [
            "x -= x.mean()\nsource = x if context is None else context",
            "source = x if context is None else context.mul_(1.5)",
        ]
    }
