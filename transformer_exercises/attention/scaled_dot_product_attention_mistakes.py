"""Wrong and right answers to `scaled_dot_product_attention`. The reference (05-attention):

def scaled_dot_product_attention(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k)  # (..., T, S)
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))  # exp(-inf) is exactly 0
    weights = torch.softmax(scores, dim=-1)  # (..., T, S)
    return weights @ V, weights  # (..., T, d_v), (..., T, S)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

SCORES = "Q @ K.transpose(-2, -1) / math.sqrt(d_k)"
MASKED = 'scores.masked_fill(mask, float("-inf"))'

# Right answers in other styles


class einsum(RightAnswer):
    edits = {
        SCORES: 'torch.einsum("...td,...sd->...ts", Q, K) * d_k ** -0.5',
        MASKED: 'torch.where(mask, torch.tensor(float("-inf"), dtype=scores.dtype), scores)',
        "weights @ V": 'torch.einsum("...ts,...sd->...td", weights, V)',
    }


class scaled_query_additive_mask(RightAnswer):
    edits = {
        SCORES: "(Q / d_k ** 0.5) @ K.mT",
        MASKED: "scores + torch.zeros_like(scores).masked_fill(mask, -torch.inf)",
        "torch.softmax(scores, dim=-1)": "F.softmax(scores, dim=-1)",
        "weights @ V": "weights.matmul(V)",
    }


class float64_inside(RightAnswer):
    edits = {
        "d_k =": """
            kind = Q.dtype
            Q, K, V = (t.to(torch.float64) for t in (Q, K, V))
            d_k =
        """,
        "weights @ V, weights": "torch.matmul(weights, V).to(kind), weights.to(kind)",
    }


class own_softmax(RightAnswer):
    edits = {"torch.softmax(": "softmax("}


# The scale


class no_scale(Minor):
    """This is attention without its scale: the scores are not divided by √d_k."""

    edits = {"/ math.sqrt(d_k)": ""}


class scale_d_k(Minor):
    """The scores are divided by another power or multiple of d_k (itself, its square, fourth root): use √d_k."""

    variants = [
        {"math.sqrt(d_k)": "d_k"},
        {"math.sqrt(d_k)": "d_k**2"},
        {"math.sqrt(d_k)": ["(d_k * 0.5)", "(2 * math.sqrt(d_k))", "math.sqrt(2 * d_k)"]},
        {"math.sqrt(d_k)": "d_k ** 0.25"},
    ]


class scale_up(Minor):
    """The scores are multiplied by √d_k instead of divided by it."""

    edits = {"/": "*"}


class scale_d_v(Misconception):
    """The scores are divided by √d_v, the width of the values: what makes dot products grow is d_k."""

    edits = {"Q.shape": "V.shape"}


class scale_keys(Misconception):
    """The scores are divided by the root of the number of keys or queries: what makes dot products grow is the width
    d_k.
    """

    variants = [
        {"Q.shape[-1]": "K.shape[-2]"},
        {"[-1]": "[-2]"},
    ]


class scale_fixed(Misconception):
    """The scores are always divided by the same number (√64 = 8, as in the paper), whatever the width of Q."""

    edits = {"math.sqrt(d_k)": ["math.sqrt(64)", "math.sqrt(512)", "2.0"]}


class scale_rounded(Minor):
    """The root is rounded, or taken of nearly d_k (d_k − 1, an added ε): divide by √d_k itself."""

    variants = [
        {"math.sqrt(d_k)": ["int(math.sqrt(d_k))", "round(math.sqrt(d_k))", "math.ceil(math.sqrt(d_k))"]},
        {
            "math.sqrt(d_k)": [
                "math.sqrt(d_k - 1)",
                "math.sqrt(d_k + 1)",
                "(math.sqrt(d_k) + 1e-6)",
                "(math.sqrt(d_k) + 1e-8)",
            ]
        },
    ]


class vectors_normalised(Misconception):
    """Queries and keys are scaled to length 1 (cosine similarity): Q Kᵀ / √d_k is asked for."""

    edits = {
        SCORES: [
            "F.normalize(Q, dim=-1) @ F.normalize(K, dim=-1).mT / math.sqrt(d_k)",
            "F.normalize(Q, dim=-1) @ F.normalize(K, dim=-1).mT",
        ]
    }


class scale_first_dim(Minor):
    """The width is read from shape[0] or shape[1], the batch or the number of queries: take shape[-1]."""

    variants = [
        {"[-1]": "[0]"},
        {"[-1]": "[1]"},
    ]


class scale_after(Misconception):
    """The weights or the output are divided, after the softmax: divide the scores, so that weights sum to 1."""

    variants = [
        {
            "(scores, dim=-1)": ["(scores, dim=-1) / math.sqrt(d_k)", "(scores, dim=-1) / math.sqrt(K.shape[-2])"],
            "scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k)": "scores = Q @ K.transpose(-2, -1)",
        },
        no_scale.edited({"@ V": "@ V / math.sqrt(d_k)"}),
    ]


# The softmax


class softmax_queries(Misconception):
    """The softmax runs over the queries (dim=-2): each query shares out its attention over the keys, dim=-1."""

    variants = [{"=-1": "=-2"}, {"=-1)": "=-2).nan_to_num()"}]


class softmax_dim_one(Misconception):
    """The softmax runs over a dimension counted from the front, or guessed: each query shares over the keys, dim=-1."""

    variants = [
        {"=-": "="},
        {"=-1": "=0"},
        {"torch.softmax(scores, dim=-1)": "F.softmax(scores)"},
    ]


class softmax_everywhere(shared_mistakes.softmax_everywhere):
    edits = {", dim=-1": [".flatten(-2), dim=-1).reshape(scores.shape", ".flatten(), dim=-1).reshape(scores.shape"]}


class softmax_twice(Misconception):
    """The softmax is applied twice, which flattens the weights."""

    edits = {"scores,": "torch.softmax(scores, dim=-1),"}


class one_only(Misconception):
    """Each query takes only the best key (argmax), and no gradient reaches Q and K: a softmax blends all."""

    edits = {"torch.softmax(scores, dim=-1)": "F.one_hot(scores.argmax(dim=-1), K.shape[-2]).to(Q.dtype)"}


# The mask


class mask_ignored(Misconception):
    """The mask is ignored: a key that it blocks must get a weight of exactly 0."""

    edits = {"mask is not None": "False"}


class mask_inverted(Misconception):
    """The mask is read the wrong way round: here True = blocked."""

    edits = {"(mask": "(~mask"}


class mask_inverted_and_finite(Misconception):
    """`mask == 0` with −1e9 is the Annotated Transformer's way, where 1 = allowed. Here True = blocked, and the fill is
    −inf: `masked_fill(mask, float("-inf"))`.
    """

    based_on = mask_inverted
    edits = {'float("-inf")': ["-1e9", "-1e20"]}


class mask_after(Misconception):
    """Blocked weights are set to zero after the softmax, so rows no longer sum to 1: block the scores with −inf."""

    edits = {
        "weights = torch.softmax(scores, dim=-1)": "",
        "if mask is not None:": "weights = torch.softmax(scores, dim=-1)\nif mask is not None:",
        'scores = scores.masked_fill(mask, float("-inf"))': "weights = weights.masked_fill(mask, 0.0)",
    }


class mask_output_only(Misconception):
    """The mask reaches only one of the two results, the weights or the output."""

    edits = {
        "return weights": """
            free = torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(d_k), dim=-1)
            return free
        """
    }


class weights_before_mask(Misconception):
    """The weights that are returned are those before masking: return the ones that made the output."""

    based_on = mask_output_only
    edits = {"free @ V, weights": "weights @ V, free"}


class mask_multiplied(Misconception):
    """The scores are multiplied by the mask, or filled with 0 or 1e-9: exp(0) = 1 is not small. Fill with −inf."""

    variants = [
        {MASKED: ["scores * ~mask", "scores.masked_fill(mask, 1e-9)"]},
        {MASKED: "scores * mask"},
    ]


class mask_plus_infinity(Misconception):
    """Blocked scores become +inf, or the mask times −inf, where 0 × −inf is NaN: use masked_fill with −inf."""

    variants = [
        {"-inf": "inf"},
        {MASKED: 'scores + mask * float("-inf")'},
    ]


class mask_after_renormalised(Misconception):
    """Weights are zeroed after the softmax and renormalised, 0/0 if a blocked score is far above."""

    based_on = mask_after
    edits = {
        "weights.masked_fill(mask, 0.0)": [
            "weights * ~mask\nweights = weights / weights.sum(-1, keepdim=True)",
            "weights * ~mask\nweights = weights / (weights.sum(-1, keepdim=True) + 1e-9)",
            "weights * ~mask\nweights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)",
        ]
    }


class mask_convention(Misconception):
    """The output comes from PyTorch's function, whose mask says True = *allowed*: it is the opposite."""

    edits = {"weights @ V": "F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)"}


class mask_indexed(Misconception):
    """`scores[mask] = …` needs a mask of the shape of the scores. It may be smaller: use masked_fill."""

    edits = {'scores = scores.masked_fill(mask, float("-inf"))': 'scores[mask] = float("-inf")'}


class mask_as_condition(Minor):
    """`if mask:` asks a whole tensor for one truth value, which fails: `if mask is not None:`."""

    edits = {"mask is not None": "mask"}


class mask_sometimes(Misconception):
    """The mask is used, cut or unsqueezed for some shapes only: it broadcasts by itself, whatever its leading
    dimensions.
    """

    variants = [
        {
            "not None": [
                f"not None and {part}"
                for part in (
                    "scores.dim() == 3",
                    "scores.dim() == 2",
                    "scores.dim() == 4",
                    "mask.dim() == 2",
                    "mask.dim() == 3",
                    "Q.shape == K.shape",
                )
            ]
        },
        {"(mask": "(mask.expand(*Q.shape[:-2], Q.shape[-2], Q.shape[-2])"},
        {"(mask": "(mask.reshape(-1, *mask.shape[-2:])[0]"},
        {
            "mask,": [
                "mask.unsqueeze(0),",
                "mask.unsqueeze(0) if mask.dim() == 2 else mask,",
                "mask.unsqueeze(1) if mask.dim() == 3 else mask,",
                "mask.unsqueeze(1),",
                "mask.unsqueeze(1) if mask.dim() == 3 and scores.dim() == 4 else mask,",
            ]
        },
    ]


class mask_finite(shared_mistakes.mask_finite):
    edits = {'float("-inf")': "-1e9"}


class mask_too_small(Misconception):
    """Blocked scores get a finite penalty (−10, −1e9 times the mask), which a large gap overcomes. Use −inf."""

    variants = [
        {'float("-inf")': ["-10.0", "-1.0", "-5.0"]},
        {MASKED: ["scores - 1e9 * mask", "scores - 10 * mask"]},
    ]


class mask_added(Misconception):
    """The boolean mask is added to the scores, which adds 1 to blocked scores. Fill them with −inf."""

    edits = {MASKED: "scores + mask"}


class mask_transposed(shared_mistakes.mask_transposed):
    edits = {"(mask": ["(mask.transpose(-2, -1)", "(mask.mT", "(mask.T"]}


# What is returned


class swapped_results(Minor):
    """The two results are the wrong way round: (output, weights) is asked for."""

    edits = {"weights @ V, weights": "weights, weights @ V"}


class output_only(Minor):
    """Two tensors are asked for, `return output, weights`: not the output alone, the raw scores, three things, a list
    or a dictionary.
    """

    variants = [
        {", weights": ""},
        {", weights": ", weights, scores"},
        {", weights": ", scores"},
        {"weights @ V, weights": "[weights @ V, weights]"},
        {
            "weights @ V, weights": [
                "list(weights @ V), list(weights)",
                "(weights @ V, weights) if mask is None else (list(weights @ V), list(weights))",
                "(weights @ V).tolist(), weights.tolist()",
            ]
        },
        {
            "weights @ V, weights": [
                "{'output': weights @ V, 'weights': weights}",
                "torch.cat([weights @ V, weights], dim=-1)",
            ]
        },
    ]


# Shapes


class matrix_only(Misconception):
    """`K.T` and `transpose(0, 1)` move the batch dimension: use `K.transpose(-2, -1)` or `K.mT`."""

    edits = {"transpose(-2, -1)": "T"}


class one_batch_dimension_only(Misconception):
    """Dimensions are counted from the front or listed, so only some numbers of them work: `transpose(-2, -1)`, dim=-1,
    `@`.
    """

    variants = [
        {"-2, -1": "1, 2"},
        {"=-1": "=2"},
        {"Q @ K.transpose(-2, -1)": "torch.bmm(Q, K.transpose(-2, -1))", "weights @ V": "torch.bmm(weights, V)"},
        {"Q @ K.transpose(-2, -1)": "torch.bmm(Q, K.transpose(1, 2))", "weights @ V": "torch.bmm(weights, V)"},
        {"-2, -1": "2, 3"},
        {"=-1": "=3"},
        {
            "d_k =": [
                "if Q.dim() > 4: raise ValueError('dimensions')\nd_k =",
                "if Q.dim() > 3: raise ValueError('dimensions')\nd_k =",
                "if Q.dim() > 4: raise UnboundLocalError('K_transposed')\nd_k =",
                "assert Q.dim() <= 4\nd_k =",
                "B, T, d = Q.shape\nd_k =",
                "B, H, T, d = Q.shape\nd_k =",
                "T, d = Q.shape\nd_k =",
            ]
        },
    ]


class view_needed(shared_mistakes.view_needed):
    edits = {"d_k =": "Q, K, V = (t.view(-1, *t.shape[-2:]).view(t.shape) for t in (Q, K, V))\nd_k ="}


class batch_flattened(Misconception):
    """The batch is flattened into one long sequence, so queries of one sequence look at keys of another."""

    edits = {
        "d_k =": """
            shape = Q.shape
            Q, K, V = (t.reshape(-1, t.shape[-1]) for t in (Q, K, V))
            d_k =
        """,
        "weights @ V": "(weights @ V).reshape(*shape[:-1], V.shape[-1])",
    }


class reshape_for_transpose(Misconception):
    """`view` or `reshape` re-cuts the numbers of K into other rows: use `transpose(-2, -1)`."""

    edits = {"transpose(-2, -1)": "reshape(*K.shape[:-2], K.shape[-1], K.shape[-2])"}


class keys_as_queries(Misconception):
    """Queries and keys are swapped: the scores are K Qᵀ, so rows and columns change places."""

    variants = [
        {"Q @ K": "K @ Q"},
        {"Q @ K.transpose(-2, -1)": "(K @ Q.transpose(-2, -1)).reshape(*Q.shape[:-1], K.shape[-2])"},
    ]


# The formula


class values_ignored(Misconception):
    """The output is made of the keys instead of the values."""

    edits = {"@ V": "@ K"}


class query_ignored(Fundamental):
    """The keys are compared with themselves: Q plays no part in the scores."""

    edits = {"Q @": "K @"}


class uniform(Fundamental):
    """All weights are equal: Q and K play no part."""

    edits = {SCORES: "0 * (Q @ K.transpose(-2, -1))"}


class no_softmax(Misconception):
    """The scaled scores are used as weights without a softmax."""

    edits = {"torch.softmax(scores, dim=-1)": "scores"}


class exponentials_only(Misconception):
    """Each score went through exp, a sigmoid or log_softmax: in a softmax over the keys each row sums to 1."""

    variants = [
        {"softmax(scores, dim=-1)": "exp(scores)"},
        {"softmax(scores, dim=-1)": "sigmoid(scores)"},
        {"softmax": "log_softmax"},
    ]


class unstable(Misconception):
    """The exponential is taken of the raw scores, which overflows for large ones. Use a stable softmax."""

    edits = {"torch.softmax(scores, dim=-1)": "scores.exp() / scores.exp().sum(-1, keepdim=True)"}


class epsilon(Misconception):
    """A small number is added to the sum that the weights are divided by, so the rows sum to less than 1."""

    variants = [
        {
            "weights = torch.softmax(scores, dim=-1)": [
                """
                e = torch.exp(scores - scores.amax(-1, keepdim=True))
                weights = e / (e.sum(-1, keepdim=True) + 1e-8)
                """,
                """
                e = torch.exp(scores - scores.amax(-1, keepdim=True))
                weights = e / (e.sum(-1, keepdim=True) + 1e-5)
                """,
                """
                e = torch.exp(scores - scores.amax(-1, keepdim=True))
                weights = e / (e.sum(-1, keepdim=True) + 1e-6)
                """,
            ]
        },
        {
            "(scores, dim=-1)": [
                "(scores, dim=-1)\nweights = weights / (weights.sum(-1, keepdim=True) + 1e-6)",
                "(scores, dim=-1)\nweights = weights / (weights.sum(-1, keepdim=True) + 1e-8)",
            ]
        },
    ]


# Side effects, gradients, precision and devices


class query_in_place(Misconception):
    """Q or the mask is changed in place (`Q /= …`, `logical_not_`): the caller and the next layer get others."""

    variants = [
        {
            "scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k)": """
            Q /= math.sqrt(d_k)
            scores = Q @ K.transpose(-2, -1)
        """
        },
        mask_inverted.edited({"scores = scores": "mask.logical_not_()\nscores = scores"}),
        {'(mask, float("-inf"))': '(mask, float("-inf"))\nmask.zero_()'},
    ]


class detached_weights(Misconception):
    """The weights, or one of Q, K and V, are cut off from the gradient (`.detach()`, `.data`): they cannot learn."""

    variants = [
        {"(scores, dim=-1)": "(scores, dim=-1).detach()"},
        {"weights @": "weights.detach() @"},
        {"@ V": "@ V.detach()"},
        {"Q @ K": ["Q @ K.detach()", "Q.detach() @ K"]},
        {", weights": ", weights.detach()"},
    ]


class overwritten(shared_mistakes.overwritten):
    edits = {
        "(scores, dim=-1)": [
            "(scores, dim=-1)\nif mask is not None: weights.masked_fill_(mask, 0.0)",
            "(scores, dim=-1)\nweights *= 1.0",
        ]
    }


class device_dropped(shared_mistakes.device_dropped):
    based_on = mask_added
    edits = {"scores + mask": 'torch.where(mask, torch.full(scores.shape, float("-inf"), dtype=scores.dtype), scores)'}


class dropout(Minor):
    """Chance plays a part (dropout or noise): the result must depend on the inputs only."""

    variants = [
        {"torch.softmax(scores, dim=-1)": "F.dropout(torch.softmax(scores, dim=-1), 0.1)"},
        {"if": "scores = scores + 1e-3 * torch.randn_like(scores)\nif"},
    ]


class causal_always(Misconception):
    """Later keys are blocked even when no mask asks for it: apply the mask that is given, nothing else."""

    variants = [
        {
            "if": """
                scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), float('-inf'))
                if
            """
        },
        {
            "not None": """
                None: mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=Q.device).triu(1)
                if True
            """
        },
    ]


class output_like_queries(Misconception):
    """The output is made with the shape of Q, but its width is that of V, (..., T, d_v)."""

    edits = {
        "return weights @ V": """
            output = torch.zeros_like(Q)
            for t in range(Q.shape[-2]): output[..., t, :] = (weights[..., t, :].unsqueeze(-1) * V).sum(dim=-2)
            return output
        """
    }


class loops_to_T(Minor):
    """The keys are cut to T, the number of queries (by a loop or a slice): there are S keys."""

    edits = {
        "Q @ K.transpose(-2, -1)": (
            "torch.stack([(Q * K[..., s, None, :]).sum(-1) for s in range(Q.shape[-2])], dim=-1)"
        )
    }


class products_not_summed(Fundamental):
    """The products of queries and keys are taken element by element (`*`): use `@`."""

    edits = {"@ K.transpose(-2, -1)": "* K"}


class transposed_output(Misconception):
    """The weights are transposed before they meet V, or returned so: row t belongs to query t."""

    edits = {
        "weights @ V, weights": ["weights.mT @ V, weights", "weights @ V, weights.mT", "(weights @ V).mT, weights"]
    }


class single_precision(common_mistakes.single_precision):
    variants = [
        {"d_k =": "Q, K, V = Q.float(), K.float(), V.float()\nd_k ="},
        {
            "weights @ V": ["weights.to(V.dtype) @ V", "weights @ V.float()", "weights @ V"],
            "if": "scores = scores.float()\nif",
        },
        {"weights @ V": "(weights @ V).float()"},
    ]


class double_precision(common_mistakes.double_precision):
    edits = {"d_k =": "Q, K, V = Q.double(), K.double(), V.double()\nd_k ="}


class rounded(common_mistakes.rounded):
    edits = {
        "softmax(scores, dim=-1)": [
            "round(torch.softmax(scores, dim=-1), decimals=4)",
            "round(torch.softmax(scores, dim=-1), decimals=3)",
        ]
    }


class single_precision_inside(common_mistakes.single_precision_inside):
    edits = {", dim=-1": ".float(), dim=-1).to(V.dtype"}


class squeezed(common_mistakes.squeezed):
    edits = {
        "weights @ V, weights": [
            "(weights @ V).squeeze(), weights",
            "(weights @ V).squeeze(0), weights.squeeze(0)",
            "(weights @ V).squeeze(-2), weights.squeeze(-2)",
            "weights @ V, weights.squeeze()",
        ]
    }
