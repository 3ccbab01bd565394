"""Wrong and right answers to `SelfAttention`. The reference (05-attention):

class SelfAttention(nn.Module):
    def __init__(self, embed_dim, head_dim):
        super().__init__()
        self.q_proj = nn.Linear(embed_dim, head_dim)
        self.k_proj = nn.Linear(embed_dim, head_dim)
        self.v_proj = nn.Linear(embed_dim, head_dim)

    def forward(self, x, mask=None):
        Q = self.q_proj(x)  # (B, T, head_dim)
        K = self.k_proj(x)  # (B, T, head_dim)
        V = self.v_proj(x)  # (B, T, head_dim)
        return scaled_dot_product_attention(Q, K, V, mask)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

V_PROJ = "v_proj = nn.Linear(embed_dim, head_dim)"
RETURN = "return scaled_dot_product_attention(Q, K, V, mask)"

# Right answers in other styles


class written_out(RightAnswer):
    edits = {
        RETURN: """
            att = torch.einsum("btd,bsd->bts", Q, K) * self.scale
            att = (att if mask is None else torch.where(mask, float("-inf"), att)).softmax(-1)
            return att.bmm(V), att
        """,
        "super().__init__()": "super().__init__()\nself.scale = head_dim ** -0.5",
    }


class private_helper(RightAnswer):
    edits = {
        RETURN: "weights = self._weights(Q, K, mask)\nreturn weights @ V, weights",
        "super().__init__()": """
            super().__init__()
            self.register_buffer("root", torch.tensor(float(head_dim)).sqrt(), persistent=False)
        """,
        "def forward": """
            def _weights(self, Q, K, mask):
                scores = Q @ K.mT / self.root
                return softmax(scores if mask is None else scores.masked_fill(mask, -torch.inf))

            def forward
        """,
    }


class functional_and_pytorch(RightAnswer):
    edits = {
        "Q = self.q_proj(x)": "q, k, v = [p(x) for p in (self.q_proj, self.k_proj, self.v_proj)]",
        "K = self.k_proj(x)": (
            "out = F.scaled_dot_product_attention(q, k, v, attn_mask=None if mask is None else ~mask)"
        ),
        "V = self.v_proj(x)": "_, weights = scaled_dot_product_attention(q, k, v, mask=mask)",
        "scaled_dot_product_attention(Q, K, V, mask)": "out, weights",
    }


# Mistakes


class no_bias(Minor, shared_mistakes.no_bias):
    edits = {"(embed_dim, head_dim)": "(embed_dim, head_dim, bias=False)"}


class square_projections(Misconception):
    """A projection is nn.Linear(embed_dim, embed_dim): all three should end in head_dim features."""

    variants = [
        {"(embed_dim, head_dim)": "(embed_dim, embed_dim)"},
        {V_PROJ: "v_proj = nn.Linear(embed_dim, embed_dim)"},
    ]


class sizes_swapped(Misconception):
    """The two sizes are swapped: SelfAttention(embed_dim, head_dim) makes layers from embed_dim to head_dim."""

    variants = [
        {"(embed_dim, head_dim)": "(head_dim, embed_dim)"},
        *(
            {f"{name}_proj = nn.Linear(embed_dim, head_dim": f"{name}_proj = nn.Linear(head_dim, embed_dim"}
            for name in "qkv"
        ),
    ]


class some_bias_missing(Minor):
    """One of the projections has no bias: all three have nn.Linear's default bias."""

    variants = [
        {"k_proj = nn.Linear(embed_dim, head_dim": "k_proj = nn.Linear(embed_dim, head_dim, bias=False"},
        {"q_proj = nn.Linear(embed_dim, head_dim": "q_proj = nn.Linear(embed_dim, head_dim, bias=False"},
        {"v_proj = nn.Linear(embed_dim, head_dim": "v_proj = nn.Linear(embed_dim, head_dim, bias=False"},
        no_bias.edited(
            {"v_proj = nn.Linear(embed_dim, head_dim, bias=False)": "v_proj = nn.Linear(embed_dim, head_dim)"}
        ),
    ]


class bare_parameters(Misconception):
    """The projections are bare matrices: nn.Linear(embed_dim, head_dim) holds a weight and a bias."""

    edits = {
        "Linear(embed_dim, head_dim)": [
            "Parameter(torch.randn(embed_dim, head_dim) / math.sqrt(embed_dim))",
            "Parameter(torch.randn(embed_dim, head_dim))",
            "Parameter(torch.rand(embed_dim, head_dim))",
        ],
        "self.q_proj(x)": "x @ self.q_proj",
        "self.k_proj(x)": "x @ self.k_proj",
        "self.v_proj(x)": "x @ self.v_proj",
    }


class sizes_fixed(Fundamental):
    """The sizes of the layers are fixed numbers: they come from embed_dim and head_dim."""

    edits = {"(embed_dim, head_dim)": ["(32, 16)", "(64, 64)", "(512, 64)"]}


class several_heads(Fundamental):
    """nn.MultiheadAttention does the work: here q_proj, k_proj and v_proj are your own."""

    edits = {
        "self.q_proj = nn.Linear(embed_dim, head_dim)": [
            "self.attention = nn.MultiheadAttention(embed_dim, embed_dim // head_dim, batch_first=True)",
            "self.attention = nn.MultiheadAttention(embed_dim, 1, batch_first=True)",
        ],
        "self.k_proj = nn.Linear(embed_dim, head_dim)": "",
        "self.v_proj = nn.Linear(embed_dim, head_dim)": "",
        "Q = self.q_proj(x)": "return self.attention(x, x, x, attn_mask=mask)",
    }


class no_mask_parameter(Misconception):
    """forward does not take a mask: keep the signature forward(x, mask=None)."""

    edits = {", mask=None": "", ", mask": ""}


class mask_required(Minor, shared_mistakes.mask_required):
    variants = [{"=None": ""}, {"V, mask": "V, mask.bool()"}]


class mask_unsqueezed(Misconception):
    """The mask is given a further dimension (unsqueeze), so shapes no longer fit: it broadcasts by itself."""

    edits = {
        "V, mask": [
            "V, None if mask is None else mask.unsqueeze(0)",
            "V, None if mask is None else mask.unsqueeze(1)",
            "V, None if mask is None else mask[:, None, None, :]",
        ]
    }


class mask_convention(Misconception):
    """PyTorch's function reads True as *allowed*: under a mask the output does not belong to the weights."""

    edits = {"return": "_, weights =", "mask)": "mask)\nreturn F.scaled_dot_product_attention(Q, K, V, mask), weights"}


class mask_zero(Misconception):
    """Blocked scores are filled with 0 instead of −inf: exp(0) = 1 is no small weight."""

    edits = {
        RETURN: """
            scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
            if mask is not None: scores = scores.masked_fill(mask, 0.0)
            weights = torch.softmax(scores, dim=-1)
            return weights @ V, weights
        """
    }


class mask_finite(shared_mistakes.mask_finite):
    based_on = mask_zero
    edits = {"(mask, 0.0)": ["(mask, -1e9)", "(mask, -10.0)"]}


class batch_second(Misconception):
    """Attention runs over the batch: x is (B, T, C) here, with the batch first."""

    variants = [
        {
            "Q =": "x = x.transpose(0, 1)\nQ =",
            "return": "output, weights =",
            "mask)": "mask)\nreturn output.transpose(0, 1), weights",
        },
        {"Q =": "x = x.transpose(0, 1)\nQ ="},
    ]


class same_start(shared_mistakes.same_start):
    edits = {
        V_PROJ: [
            """
            v_proj = nn.Linear(embed_dim, head_dim)
            for layer in self.children(): nn.init.zeros_(layer.weight)
            """,
            """
            v_proj = nn.Linear(embed_dim, head_dim)
            self.k_proj.load_state_dict(self.q_proj.state_dict())
            """,
        ]
    }


class scale_fixed(Misconception):
    """The scores are divided by a fixed number whatever head_dim is: use √head_dim."""

    based_on = mask_finite
    edits = {"math.sqrt(Q.shape[-1])": ["8.0", "4.0", "2.0"], "-1e9)": "float('-inf'))"}


class other_names(Minor):
    """The layers have other names (query, W_q …): weights are loaded into q_proj, k_proj and v_proj."""

    variants = [
        {"q_proj": "query", "k_proj": "key", "v_proj": "value"},
    ]


class shared_projection(Misconception):
    """One layer serves for two or all of queries, keys and values: three separate layers are needed."""

    variants = [
        {"k_proj = nn.Linear(embed_dim, head_dim)": "k_proj = self.q_proj", V_PROJ: "v_proj = self.q_proj"},
        {"k_proj = nn.Linear(embed_dim, head_dim)": "k_proj = self.q_proj"},
    ]


class fused(Misconception):
    """One layer makes queries, keys and values, as real code does; here q_proj, k_proj and v_proj are asked for."""

    variants = [
        several_heads.edited(
            {
                "attention = nn.MultiheadAttention(embed_dim, embed_dim // head_dim, batch_first=True)": (
                    f"qkv_proj = nn.Linear(embed_dim, 3 * head_dim{bias})"
                ),
                "return self.attention(x, x, x, attn_mask=mask)": """
                    Q, K, V = self.qkv_proj(x).chunk(3, dim=-1)
                    return scaled_dot_product_attention(Q, K, V, mask)
                """,
            }
        )
        for bias in ("", ", bias=False")
    ]


class output_projection(Misconception):
    """There is a further layer after attention: an output projection comes in notebook 07."""

    variants = [
        {  # in lines of its own, so that it can be joined to a mistake in the attention
            V_PROJ: f"""
                v_proj = nn.Linear(embed_dim, head_dim)
                self.out_proj = nn.Linear(head_dim, {width})
            """,
            "def forward": """
                def __call__(self, x, mask=None):
                    output, weights = super().__call__(x, mask)
                    return self.out_proj(output), weights

                def forward
            """,
        }
        for width in ("head_dim", "embed_dim")
    ]


class no_super(Fundamental, shared_mistakes.no_super):
    edits = {"super().__init__()": ""}


class not_a_module(Fundamental, shared_mistakes.not_a_module):
    based_on = no_super
    edits = {"(nn.Module)": "", "forward": "__call__"}


class fresh_layers_each_time(Misconception):
    """The layers are made anew in every forward pass, so nothing that is learned is ever used."""

    edits = {
        "Q = self.q_proj": """
            make = lambda: nn.Linear(x.shape[-1], self.q_proj.out_features)
            Q = make()
        """,
        "= self.k_proj": "= make()",
        "= self.v_proj": "= make()",
    }


class layers_in_a_list(shared_mistakes.layers_in_a_list):
    based_on = fused
    edits = {
        "qkv_proj = nn.Linear(embed_dim, 3 * head_dim)": "layers = [nn.Linear(embed_dim, head_dim) for _ in range(3)]",
        "self.qkv_proj(x).chunk(3, dim=-1": "(layer(x) for layer in self.layers",
    }


class query_is_input(Misconception):
    """The tokens themselves serve as queries or values: q_proj(x) and v_proj(x) belong there."""

    variants = [{"Q = self.q_proj(x)": "Q = x"}, {"V = self.v_proj(x)": "V = x"}]


class key_value_swapped(Minor):
    """Two of the three are swapped: q_proj makes what asks, k_proj what is compared, v_proj what is averaged."""

    variants = [
        {f"{one} = self.{name}_proj": f"{one} = self.{other}_proj" for one, name, other in swap}
        for swap in (("Kkv", "Vvk"), ("Qqk", "Kkq"), ("Qqv", "Vvq"))
    ]


class values_from_keys(Misconception):
    """One projection is used twice: each of the three, for queries, keys and values, plays its own part."""

    variants = [
        {f"{one} = self.{one.lower()}_proj": f"{one} = self.{other}_proj"}
        for one, other in ("Vk", "Kq", "Vq", "Kv", "Qk", "Qv")
    ]


class mask_dropped(Misconception):
    """The mask is not passed on to the attention: a blocked key must get weight 0."""

    edits = {"V, mask": "V"}


class mask_in_training_only(Misconception):
    """The mask acts in training mode only: what is blocked stays blocked in evaluation mode too."""

    edits = {"V, mask": "V, mask if self.training else None"}


class mask_inverted(Misconception):
    """The mask is inverted on the way: here True = blocked all through."""

    variants = [
        {"V, mask": "V, None if mask is None else ~mask"},
        {
            RETURN: """
                scores = Q @ K.mT / math.sqrt(K.shape[-1])
                if mask is not None: scores = scores.masked_fill(~mask, float("-inf"))
                return scores.softmax(-1) @ V, scores.softmax(-1)
            """
        },
    ]


class mask_inverted_and_finite(Misconception):
    """`mask == 0` with −1e9 is the Annotated Transformer's way, where 1 = allowed. Here True = blocked, and the fill is
    −inf: `masked_fill(mask, float("-inf"))`.
    """

    based_on = mask_finite
    edits = {"(mask, -1e9)": ["(~mask, -1e9)", "(~mask, -1e20)"]}


class mask_transposed(shared_mistakes.mask_transposed):
    edits = {"V, mask": "V, None if mask is None else mask.expand(x.shape[0], x.shape[1], x.shape[1]).mT"}


class always_causal(shared_mistakes.always_causal):
    edits = {
        ", mask)": [", future if mask is None else mask | future)", ", future if mask is None else mask)", ", future)"],
        "return": """
            future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
            return
        """,
    }


class scale_embed_dim(Misconception):
    """The scores are divided by √embed_dim or √T: the dot products run over head_dim numbers."""

    variants = [
        scale_fixed.edited({"8.0": "math.sqrt(x.shape[-1])"}),
        scale_fixed.edited({"8.0": "math.sqrt(x.shape[1])"}),
    ]


class no_scale(Minor):
    """This is self-attention without its scale: the scores are not divided by √head_dim."""

    based_on = scale_fixed
    edits = {"8.0": "1.0"}


class scale_head_dim(Minor):
    """The scores are divided by head_dim instead of its root (here, and once more by your function?)."""

    based_on = scale_fixed
    edits = {"8.0": "Q.shape[-1]"}


class keys_transposed_whole(Misconception):
    """`K.T` and `transpose(0, 1)` move the batch dimension: use `K.transpose(-2, -1)` or `K.mT`."""

    based_on = mask_finite
    edits = {"-1e9)": "float('-inf'))", "transpose(-2, -1)": ["T", "transpose(0, 1)"]}


class keys_not_transposed(Misconception):
    """The keys are not transposed: the scores are `Q @ K.transpose(-2, -1)`, one for each query and key."""

    based_on = mask_finite
    edits = {"-1e9)": "float('-inf'))", ".transpose(-2, -1)": ""}


class softmax_queries(Misconception):
    """The softmax runs over the queries: each column of the weights sums to 1 instead of each row."""

    based_on = mask_finite
    variants = [
        {"-1e9)": "float('-inf'))", "dim=-1)": "dim=1)"},
        {"-1e9)": "float('-inf'))", "dim=-1)": "dim=1).nan_to_num()"},
    ]


class mask_after(Misconception):
    """The mask is applied after the softmax, so rows with blocked keys no longer sum to 1."""

    edits = {
        ", mask)": """
            )
            if mask is not None: weights = weights.masked_fill(mask, 0.0)
            return weights @ V, weights
        """,
        "return scaled": "output, weights = scaled",
    }


class no_softmax(Misconception):
    """The scaled scores are used as weights without a softmax."""

    edits = {
        RETURN: """
            weights = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
            return weights @ V, weights
        """
    }


class output_only(Minor):
    """Only the output, or a list, is returned: return the tuple (output, weights)."""

    variants = [
        {"(Q, K, V, mask)": "(Q, K, V, mask)[0]"},
        {"scaled_dot_product_attention(Q, K, V, mask)": "list(scaled_dot_product_attention(Q, K, V, mask))"},
        {  # in lines of its own, so that it can be joined to a mistake in the attention
            "def forward": """
                def __call__(self, x, mask=None):
                    return super().__call__(x, mask)[0]

                def forward
            """
        },
    ]


class swapped_results(Minor):
    """The two results are the wrong way round: (output, weights) is asked for."""

    edits = {"(Q, K, V, mask)": "(Q, K, V, mask)[::-1]"}


class weights_detached(Misconception):
    """The input, the projections or the weights are detached: q_proj and k_proj, or what comes before, could never
    learn.
    """

    variants = [
        {", K": ".detach(), K.detach()"},
        {"return": "output, weights =", "mask)": "mask)\nreturn output, weights.detach()"},
        {"Q =": "x = x.detach()\nQ ="},
    ]


class residual(Misconception):
    """The tokens or values are added to the output (a residual connection): that comes in notebook 08."""

    variants = [
        {
            "mask)": [
                "mask)\nreturn output + x[..., :1], weights",
                "mask)\nreturn output + x, weights",
                "mask)\nreturn (output + x if output.shape == x.shape else output), weights",
            ],
            "return scaled": "output, weights = scaled",
        },
        {
            "def forward": """
                def __call__(self, x, mask=None):
                    output, weights = super().__call__(x, mask)
                    return output + self.v_proj(x), weights

                def forward
            """
        },
    ]


class dropout(Minor):
    """Dropout is applied to the weights or the output: it is not part of this module."""

    variants = [
        residual.edited(
            {
                "output + x[..., :1]": [
                    f"nn.functional.dropout(output, {p}, self.training)" for p in (0.1, 0.2, 0.3, 0.5)
                ]
            }
        ),
        {
            "return": "_, weights =",
            "mask)": [
                f"""
                mask)
                weights = F.dropout(weights, {p}, self.training)
                return weights @ V, weights
                """
                for p in (0.1, 0.2, 0.3, 0.5)
            ],
        },
        {
            "return": "_, weights =",
            "mask)": [
                f"mask)\nreturn F.dropout(weights, {p}, self.training) @ V, weights" for p in (0.1, 0.2, 0.3, 0.5)
            ],
        },
    ]


class activation(Misconception):
    """The tokens are normalised first, or a non-linearity (ReLU, tanh …) follows the projections: nothing of that is
    asked.
    """

    variants = [
        {"self.q_proj(x)": "torch.relu(self.q_proj(x))", "self.k_proj(x)": "torch.relu(self.k_proj(x))"},
        {"self.v_proj(x)": "torch.relu(self.v_proj(x))"},
        residual.edited({"output + x[..., :1]": ["torch.relu(output)", "torch.tanh(output)"]}),
        {"Q =": "x = F.layer_norm(x, x.shape[-1:])\nQ ="},
        {
            "super().__init__()": "super().__init__()\nself.norm = nn.LayerNorm(embed_dim)",
            "Q =": "x = self.norm(x)\nQ =",
        },
    ]


class frozen(Minor, shared_mistakes.frozen):
    edits = {V_PROJ: "v_proj = nn.Linear(embed_dim, head_dim)\nself.requires_grad_(False)"}


class single_precision(common_mistakes.single_precision):
    edits = {"Q =": "x = x.float()\nQ ="}


class squeezed(common_mistakes.squeezed):
    based_on = residual
    edits = {
        "output + x[..., :1], weights": [
            "output, weights.squeeze(0)",
            "output, weights.squeeze()",
            "output.squeeze(), weights",
            "output.squeeze(), weights.squeeze()",
            "output.squeeze(0), weights.squeeze(0)",
        ]
    }


class input_changed(common_mistakes.input_changed):
    edits = {"Q =": ["x -= x.mean(-1, keepdim=True)\nQ =", "x *= x.shape[-1] ** 0.5\nQ ="]}


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


class view_needed(Minor, shared_mistakes.view_needed):
    edits = {"q_proj(x)": "q_proj(x.view(-1, x.shape[-1])).view(*x.shape[:-1], -1)"}


class other_signature(Minor):
    """The arguments have other names: SelfAttention(embed_dim, head_dim) and forward(x, mask=None)."""

    variants = [
        {"(self, x, mask=None):": "(self, tokens, mask=None):\n    x = tokens"},
        {"embed_dim": "d_model", "head_dim": "d_k"},
    ]
