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

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

SOURCE = "x if context is None else context"
OUTPUT = "self.out_proj(merge_heads(heads))"
SCORES = "(Q @ K.mT / math.sqrt(Q.shape[-1]))"
BLOCKED = "torch.tensor(False, device=x.device) if mask is None else mask"
WEIGHTS = f"{SCORES}.masked_fill({BLOCKED}, -torch.inf).softmax(dim=-1)"
CUT_STRAIGHT = {
    "K = split_heads": "K = (lambda tokens, H: tokens.reshape(tokens.shape[0], self.num_heads, tokens.shape[1], -1))",
    "split_heads": "(lambda tokens, H: tokens.reshape(tokens.shape[0], self.num_heads, tokens.shape[1], -1))",
}

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


class slices_of_weights(RightAnswer):
    edits = {
        "Q = split_heads(self.q_proj(x), self.num_heads)": (
            "parts = (self.q_proj, x), (self.k_proj, source), (self.v_proj, source)"
        ),
        "K = split_heads(self.k_proj(source), self.num_heads)": "d_k, heads = x.shape[-1] // self.num_heads, []",
        "V = split_heads(self.v_proj(source), self.num_heads)": "",
        "allowed = None if mask is None else ~mask": """
            if mask is not None: mask = mask.expand(len(x), self.num_heads, x.shape[1], source.shape[1])
        """,
        "heads = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)": """
            for h in range(self.num_heads):
                own = slice(h * d_k, (h + 1) * d_k)
                q, k, v = (F.linear(tokens, layer.weight[own], layer.bias[own]) for layer, tokens in parts)
                scores = torch.bmm(q, k.mT) / math.sqrt(d_k)
                if mask is not None: scores = torch.where(mask[:, h], -torch.inf, scores)
                heads.append(torch.bmm(scores.softmax(dim=2), v))
        """,
        "merge_heads(heads)": "torch.cat(heads, dim=-1)",
    }


# Splitting into heads and merging them


class split_without_transpose(Misconception):
    """The split cuts straight into (B, H, T, d_k), so a head sees pieces of other tokens, and still trains if the
    merge undoes it: transpose.
    """

    variants = [CUT_STRAIGHT, {**CUT_STRAIGHT, "merge_heads(heads)": "heads.reshape(x.shape)"}]


class merge_without_transpose(Misconception):
    """The heads are merged without a transpose: a row of the output mixes tokens, later ones too."""

    edits = {"merge_heads(heads)": "heads.reshape(x.shape)"}


class merge_by_view(Misconception):
    """`view` fails after a transpose, which moves no numbers in memory: use `reshape`, or merge_heads."""

    edits = {"merge_heads(heads)": "heads.transpose(1, 2).view(x.shape)"}


class heads_interleaved(Misconception):
    """Columns of the heads are mixed (every H-th): the split cuts into (B, T, H, d_k), not (B, T, d_k, H), and in the
    merge all columns of head 0 come first.
    """

    variants = [
        {
            "K = split_heads": "K = (lambda tokens, H: tokens.unflatten(-1, (-1, H)).permute(0, 3, 1, 2))",
            "split_heads": "(lambda tokens, H: tokens.unflatten(-1, (-1, H)).permute(0, 3, 1, 2))",
            "merge_heads(heads)": "heads.permute(0, 2, 3, 1).flatten(2)",
        },
        {"merge_heads(heads)": "heads.permute(0, 2, 3, 1).flatten(2)"},
        {
            "K = split_heads": "K = (lambda tokens, H: tokens.unflatten(-1, (-1, H)).permute(0, 3, 1, 2))",
            "split_heads": "(lambda tokens, H: tokens.unflatten(-1, (-1, H)).permute(0, 3, 1, 2))",
        },
    ]


class heads_attend_to_heads(Misconception):
    """Each token's heads attend to one another: the scores must be (B, H, T, S)."""

    edits = {
        "K = split_heads": "K = (lambda tokens, H: tokens.unflatten(-1, (H, -1)))",
        "split_heads": "(lambda tokens, H: tokens.unflatten(-1, (H, -1)))",
        "merge_heads(heads)": "heads.flatten(2)",
    }


class heads_averaged(Misconception):
    """The heads are added up or averaged: they stand side by side, C columns in all, and out_proj goes from C to C."""

    variants = [
        {
            "merge_heads(heads)": [
                "heads.mean(dim=1).repeat(1, 1, self.num_heads)",
                "heads.sum(dim=1).repeat(1, 1, self.num_heads)",
                "heads.mean(dim=1)",
            ]
        },
        {
            "merge_heads(heads)": ["heads).sum(dim=1", "heads.mean(dim=1)"],
            "out_proj = nn.Linear(embed_dim": "out_proj = nn.Linear(embed_dim // num_heads",
        },
    ]


class heads_fixed(Misconception):
    """The number of heads is not num_heads, but one, a fixed number, or the width of a head: num_heads heads, each
    embed_dim / num_heads wide.
    """

    variants = [{", self.num_heads": ", 1"}, {"= num_heads": ["= embed_dim // num_heads", "= 8", "= 2", "= 4"]}]


# The scale and the softmax


class scale_of_whole_width(Misconception):
    """The scores are divided by √embed_dim, the root of another size, or a fixed number: a head's dot products run
    over its own width, √d_k.
    """

    edits = {
        "heads = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)": [
            f"""
            scores = Q @ K.transpose(-2, -1) / {divisor}
            if mask is not None: scores = scores.masked_fill(mask, float('-inf'))
            heads = torch.softmax(scores, dim=-1) @ V
            """
            for divisor in (
                "math.sqrt(x.shape[-1])",
                "math.sqrt(self.num_heads)",
                "math.sqrt(K.shape[-2])",
                "8.0",
                "4.0",
                "2.0",
            )
        ]
    }


class no_scale(Minor):
    """The scores are not divided by the root of the head's width d_k, or are even multiplied by it."""

    based_on = scale_of_whole_width
    edits = {"math.sqrt(x.shape[-1])": ["1.0", "Q.shape[-1] ** -0.5"]}


class scaled_twice(Minor):
    """The scores are divided by √d_k twice, or by d_k (F.scaled_dot_product_attention divides already)."""

    based_on = scale_of_whole_width
    edits = {"math.sqrt(x.shape[-1])": ["Q.shape[-1]", "Q.shape[-1] ** 0.25"]}


class softmax_over_queries(Misconception):
    """The softmax runs over the queries, the heads or the batch: each query shares its attention among the keys,
    dim=-1.
    """

    variants = [
        scale_of_whole_width.edited(
            {"sqrt(x.shape": "sqrt(Q.shape", "dim=-1) @": ["dim=-2) @", "dim=1) @", "dim=0) @"]}
        ),
        scale_of_whole_width.edited(
            {"sqrt(x.shape": "sqrt(Q.shape", "dim=-1) @": "dim=-2) @", "float('-inf')": "-1e9"}
        ),
    ]


class no_softmax(Misconception):
    """There is no softmax: scores become weights that sum to 1 before they meet the values."""

    based_on = softmax_over_queries
    edits = {"float('-inf')": "0.0", "torch.softmax(scores, dim=-2)": "scores"}


# The mask


class mask_not_inverted(Misconception):
    """The mask is read the wrong way round: True = blocked here, *allowed* in PyTorch's function (`~mask`)."""

    variants = [
        {"None if mask is None else ~mask": "mask"},
        written_out.edited({"fill(mask, -torch.inf": ["fill(~mask, -torch.inf", "fill(~mask, -1e9"]}),
    ]


class mask_ignored(Misconception):
    """The mask is not used, or not when there is a context: a key that it blocks must get weight 0, in every head."""

    edits = {"None if mask is None else ~mask": ["None", "None if mask is None or context is not None else ~mask"]}


class mask_finite(Misconception):
    """Blocked scores are set to a finite number (0, −1e9), or lowered by one: where the allowed scores are lower
    still, a blocked key gets the weight. Fill with −inf.
    """

    variants = [
        no_softmax.edited({"= scores @": "= torch.softmax(scores, dim=-1) @"}),
        no_softmax.edited(
            {"= scores @": "= torch.softmax(scores, dim=-1) @", "(mask, 0.0)": ["(mask, -1e9)", "(mask, -10.0)"]}
        ),
        no_softmax.edited(
            {"= scores @": "= torch.softmax(scores, dim=-1) @", ".masked_fill(mask, 0.0)": "- 1e9 * mask"}
        ),
    ]


class mask_after_softmax(Misconception):
    """Blocked weights are set to 0 after the softmax: the others no longer sum to 1, and to divide by their sum gives
    0/0 if a blocked score is far above. Block before it.
    """

    edits = {
        "heads = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)": [
            f"""
            weights = torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1]), dim=-1)
            if mask is not None: weights = weights.masked_fill(mask, 0.0)
            heads = {weights} @ V
            """
            for weights in ("weights", "weights / weights.sum(dim=-1, keepdim=True)")
        ]
    }


class truth_of_a_tensor(Minor):
    """`if mask:` or `context or x` asks whether a tensor is true, which fails: use `is not None`."""

    variants = [{"None if mask is None else ~mask": "~mask if mask else None"}, {SOURCE: "context or x"}]


class mask_transposed(shared_mistakes.mask_transposed):
    edits = {"~mask": "~mask.mT"}


class mask_unsqueezed(Misconception):
    """Masks of some shapes fail, or get further dimensions (`unsqueeze`, `view`) that no longer fit: any that
    broadcasts to (B, H, T, S) is right; hand it on.
    """

    variants = [
        {"~mask": ["~mask.unsqueeze(1)", "~mask[:, None, None, :]", "~mask.view(1, 1, x.shape[1], source.shape[1])"]},
        {
            "allowed =": """
                if mask is not None and mask.dim() not in (2, 4): raise ValueError("a mask has two or four dimensions")
                allowed =
            """
        },
        {"~mask": "~mask.unsqueeze(1) if mask.dim() == 3 else ~mask"},
    ]


class mask_of_the_first(Misconception):
    """Every text, or every head, gets the mask of the first one: a mask (B, H, T, S) may hold one for each; hand it on
    as it comes.
    """

    edits = {
        "~mask ": [
            "~mask[(0,) * (mask.dim() - 2)] ",
            "~(mask if mask.dim() < 4 else mask[:1]) ",
            "~(mask if mask.dim() < 3 else mask[..., :1, :, :]) ",
        ]
    }


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


class always_causal(Misconception):
    """Later tokens are blocked, whatever the mask says: apply the mask that is given, or none."""

    edits = {
        "attn_mask=allowed": [
            "is_causal=True",
            "attn_mask=allowed, is_causal=mask is None",
            "is_causal=mask is not None",
        ]
    }


class mask_required(Minor, shared_mistakes.mask_required):
    variants = [
        {"=None, context=None": [", context=None", ", context", "=None, *, context"]},
        {"None if mask is None else ~": "~"},
    ]


class causal_hint(Misconception):
    """`is_causal=True` is no mere hint: F.scaled_dot_product_attention blocks every later key, beside what the mask
    blocks, or stops with an error. Pass the mask alone, which holds for any mask.
    """

    edits = {
        "=allowed": [
            "=allowed, is_causal=mask is not None",
            "=allowed, is_causal=mask is not None and context is None",
            "=allowed, is_causal=True",
        ]
    }


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


class queries_from_context(Misconception):
    """The queries come from the context, or only one of keys and values does: queries come from x, keys and values
    both from the context when it is given.
    """

    variants = [
        {"(x)": "(source)"},
        {"k_proj(source)": "k_proj(x)"},
        {"(x)": "(source)", "k_proj(source)": "k_proj(x)", "v_proj(source)": "v_proj(x)"},
        written_out.edited({"(x)": "(source)", "k_proj(source)": "k_proj(x)", "v_proj(source)": "v_proj(x)"}),
        scale_of_whole_width.edited({"k_proj(source)": "k_proj(x)", "x.shape": "Q.shape"}),
        scale_of_whole_width.edited({"v_proj(source)": "v_proj(x)", "x.shape": "Q.shape"}),
    ]


class context_of_equal_length(Misconception):
    """The context is taken to be as long as x: it has a length S of its own."""

    edits = {"k_proj(source)": "k_proj(source).view(x.shape)"}


# The projections


class out_proj_unused(Minor):
    """out_proj is never applied: the merged heads go through it at the end."""

    edits = {OUTPUT: "(merge_heads(heads))"}


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
        {"k_proj = nn.Linear(embed_dim, embed_dim": "k_proj = nn.Linear(embed_dim, embed_dim, bias=False"},
        {"out_proj = nn.Linear(embed_dim, embed_dim": "out_proj = nn.Linear(embed_dim, embed_dim, bias=False"},
    ]


class narrow_projections(Misconception):
    """The projections end in d_k features, enough for one head, or are num_heads times too wide: embed_dim makes the
    columns of all heads.
    """

    variants = [
        {
            "embed_dim, embed_dim)": "embed_dim, embed_dim // num_heads)",
            "out_proj = nn.Linear(embed_dim, embed_dim // num_heads)": "out_proj = nn.Linear(embed_dim, embed_dim)",
        },
        {
            "Linear(embed_dim, embed_dim": "Linear(embed_dim, embed_dim * num_heads",
            "out_proj = nn.Linear(embed_dim, embed_dim * num_heads": (
                "out_proj = nn.Linear(embed_dim * num_heads, embed_dim"
            ),
        },
    ]


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


# How parameters are kept


class fused(Misconception):
    """One layer makes queries, keys and values, as in real code, or each head has small layers of its own: here
    q_proj, k_proj and v_proj are asked for, each from C to C.
    """

    variants = [
        {
            "self.q_proj = nn.Linear(embed_dim, embed_dim)": "self.qkv_proj = nn.Linear(embed_dim, 3 * embed_dim)",
            "self.k_proj = nn.Linear(embed_dim, embed_dim)": "",
            "self.v_proj = nn.Linear(embed_dim, embed_dim)": "",
            "self.q_proj(x)": "self.qkv_proj(x).chunk(3, dim=-1)[0]",
            "self.k_proj(source)": "self.qkv_proj(source).chunk(3, dim=-1)[1]",
            "self.v_proj(source)": "self.qkv_proj(source).chunk(3, dim=-1)[2]",
            "out_proj": ["out_proj", "c_proj"],
        },
        {
            "self.q_proj = nn.Linear(embed_dim, embed_dim)": """
                small = lambda: nn.Linear(embed_dim, embed_dim // num_heads)
                head = lambda: nn.ModuleDict({"q_proj": small(), "k_proj": small(), "v_proj": small()})
                self.heads = nn.ModuleList(head() for _ in range(num_heads))
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
        },
    ]


class same_start(shared_mistakes.same_start):
    edits = {
        "out_proj = nn.Linear(embed_dim, embed_dim)": [
            """
            out_proj = nn.Linear(embed_dim, embed_dim)
            for layer in self.children(): nn.init.zeros_(layer.weight)
            """,
            """
            out_proj = nn.Linear(embed_dim, embed_dim)
            self.k_proj.load_state_dict(self.q_proj.state_dict())
            """,
        ]
    }


class own_initialisation(shared_mistakes.own_initialisation):
    based_on = same_start
    edits = {
        "zeros_(layer.weight)": [
            "xavier_uniform_(layer.weight)",
            "normal_(layer.weight, std=0.02)",
            "zeros_(layer.bias)",
            "xavier_uniform_(layer.weight); nn.init.zeros_(layer.bias)",
        ]
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


class other_names(Minor):
    """The layers have other names: weights are loaded into q_proj, k_proj, v_proj and out_proj."""

    variants = [
        {"q_proj": "query", "k_proj": "key", "v_proj": "value", "out_proj": "out"},
        {"out_proj": "o_proj"},
        {
            "self.q_proj = nn.Linear(embed_dim, embed_dim)": """
                import copy
                layer = nn.Linear(embed_dim, embed_dim)
                self.linears = nn.ModuleList(copy.deepcopy(layer) for _ in range(4))
            """,
            "self.k_proj = nn.Linear(embed_dim, embed_dim)": "",
            "self.v_proj = nn.Linear(embed_dim, embed_dim)": "",
            "self.out_proj = nn.Linear(embed_dim, embed_dim)": "",
            "self.q_proj(": "self.linears[0](",
            "self.k_proj(": "self.linears[1](",
            "self.v_proj(": "self.linears[2](",
            "self.out_proj(": "self.linears[3](",
        },
    ]


# Queries, keys and values


class key_value_swapped(Minor):
    """Queries, keys and values are mixed up: q_proj makes the queries from x, k_proj what they are compared with,
    v_proj what is averaged.
    """

    variants = [
        {"K, V": "V, K"},
        {"q_proj(x)": "k_proj(x)", "k_proj(source)": "q_proj(source)"},
        scale_of_whole_width.edited({"Q @ K.transpose(-2, -1) / math.sqrt(x": "K @ Q.transpose(-2, -1) / math.sqrt(Q"}),
        scale_of_whole_width.edited(
            {"Q @ K.transpose(-2, -1) / math.sqrt(x": "V @ K.transpose(-2, -1) / math.sqrt(Q", ") @ V": ") @ Q"}
        ),
    ]


class one_projection_for_two(Misconception):
    """One projection is used twice and another never, or both are the same layer: queries, keys and values each have
    their own.
    """

    variants = [
        {"v_proj(source)": ["k_proj(source)", "q_proj(source)"]},
        {"k_proj(source)": ["q_proj(source)", "v_proj(source)"]},
        {"q_proj(x)": ["k_proj(x)", "v_proj(x)"]},
        {"k_proj(source)": "q_proj(source)", "v_proj(source)": "q_proj(source)"},
        {
            "k_proj = nn.Linear(embed_dim, embed_dim)": "k_proj = self.q_proj",
            "v_proj = nn.Linear(embed_dim, embed_dim)": "v_proj = self.q_proj",
        },
        {"k_proj = nn.Linear(embed_dim, embed_dim)": "k_proj = self.q_proj"},
        {"v_proj = nn.Linear(embed_dim, embed_dim)": "v_proj = self.k_proj"},
    ]


class unprojected(Misconception):
    """Tokens go in as they are where a projection belongs: q_proj, k_proj and v_proj come first."""

    variants = [
        {"self.v_proj(source)": "source"},
        {"self.q_proj(x)": "x"},
        {"self.k_proj(source)": "source"},
        {"self.q_proj(x)": "x", "self.k_proj(source)": "source", "self.v_proj(source)": "source"},
    ]


# What belongs elsewhere


class residual(Minor):
    """x is added to the output, or dropout is at work in training: neither is asked for here, both belong to the block
    of notebook 08.
    """

    variants = [
        {"return": "return x +"},
        {OUTPUT: f"F.dropout({OUTPUT}, 0.1, self.training)"},
        {"=allowed": ["=allowed, dropout_p=0.1 if self.training else 0.0", "=allowed, dropout_p=0.1"]},
    ]


class weights_too(Minor):
    """The weights are returned as well: forward gives one tensor, (B, T, C)."""

    edits = {
        "return self.out_proj(merge_heads(heads))": [
            "return self.out_proj(merge_heads(heads)), torch.softmax(Q @ K.mT, dim=-1)",
            "return self.out_proj(merge_heads(heads)), None",
            f"return self.out_proj(merge_heads(heads)), {WEIGHTS}",
            f"return self.out_proj(merge_heads(heads)), {WEIGHTS}.mean(dim=1)",  # as nn.MultiheadAttention does
        ]
    }


# Sizes, refusals, devices and the module itself


class not_refused(Misconception):
    """A width that num_heads does not divide gives no ValueError, or one only when the module is called."""

    variants = [
        {"!= 0": "< 0"},
        {"raise ValueError": ["raise AssertionError", "raise TypeError"]},
        {
            'raise ValueError(f"embed_dim must be divisible by num_heads; got {embed_dim} and {num_heads}")': (
                "raise AssertionError"  # as a bare `assert` does
            )
        },
    ]


class refused_without_reason(Fundamental):
    """Sizes are refused that are right: every num_heads that divides embed_dim is allowed."""

    variants = [{"embed_dim % num_heads": "num_heads % embed_dim"}, {"!= 0": ["== 0", "!= 0 or num_heads == 1"]}]


class no_super(Fundamental, shared_mistakes.no_super):
    edits = {"super().__init__()": ""}


class not_a_module(Fundamental, shared_mistakes.not_a_module):
    based_on = no_super
    edits = {"(nn.Module)": "", "forward": "__call__"}


class forward_misspelt(Fundamental, shared_mistakes.forward_misspelt):
    edits = {"forward": "foward"}
