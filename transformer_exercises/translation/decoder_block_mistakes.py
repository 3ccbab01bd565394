"""Wrong and right answers to `DecoderBlock`. The reference (11-translation):

class DecoderBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.0):
        super().__init__()
        self.self_attn = Attention(embed_dim, num_heads)
        self.cross_attn = Attention(embed_dim, num_heads)
        self.ff = nn.Sequential(nn.Linear(embed_dim, ff_dim), nn.ReLU(), nn.Linear(ff_dim, embed_dim))
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.norm3 = nn.LayerNorm(embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, mask=None, memory_mask=None):
        x = self.norm1(x + self.dropout(self.self_attn(x, mask)))  # (B, T, C): what has been written
        x = self.norm2(x + self.dropout(self.cross_attn(x, memory_mask, context=memory)))  # queries x, the rest memory
        return self.norm3(x + self.dropout(self.ff(x)))  # (B, T, C)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class own_attention(RightAnswer):
    edits = {
        "class DecoderBlock(nn.Module):": """
            class MultiHead(nn.Module):
                def __init__(self, C, H):
                    super().__init__()
                    self.H = H
                    self.q_proj, self.k_proj, self.v_proj, self.out_proj = [nn.Linear(C, C) for _ in range(4)]

                def forward(self, x, mask=None, context=None):
                    context = x if context is None else context
                    q, k, v = self.q_proj(x), self.k_proj(context), self.v_proj(context)
                    q, k, v = [y.unflatten(-1, (self.H, -1)).transpose(1, 2) for y in (q, k, v)]
                    scores = q @ k.mT / q.shape[-1] ** 0.5
                    if mask is not None: scores = scores.masked_fill(mask, -torch.inf)
                    return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

            class FeedForward(nn.Module):
                def __init__(self, C, hidden):
                    super().__init__()
                    self.w2, self.w1 = nn.Linear(hidden, C), nn.Linear(C, hidden)

                def forward(self, x):
                    return self.w2(F.relu(self.w1(x)))

            class DecoderBlock(nn.Module):
        """,
        "= Attention(": "= MultiHead(",
        "nn.Sequential(nn.Linear(embed_dim, ff_dim), nn.ReLU(), nn.Linear(ff_dim, embed_dim))": (
            "FeedForward(embed_dim, ff_dim)"
        ),
    }


class torchs_attention_inside(RightAnswer):
    edits = {
        "self.self_attn = Attention(embed_dim, num_heads)": """
            self.heads = num_heads
            self.self_attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)
        """,
        "= Attention(embed_dim, num_heads)": ("= nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)"),
        "def forward(self, x, memory, mask=None, memory_mask=None):": """
            def attend(self, attn, x, y, mask):
                if mask is not None:
                    while mask.dim() < 4: mask = mask.unsqueeze(0)
                    mask = mask.expand(len(x), self.heads, x.size(1), y.size(1)).reshape(-1, x.size(1), y.size(1))
                return attn(query=x, key=y, value=y, attn_mask=mask)[0]

            def forward(self, x, memory, mask=None, memory_mask=None):
        """,
        "self.self_attn(x, mask)": "self.attend(self.self_attn, x, x, mask)",
        "self.cross_attn(x, memory_mask, context=memory)": "self.attend(self.cross_attn, x, memory, memory_mask)",
    }


class functional_dropout(RightAnswer):
    edits = {
        "dropout = nn.Dropout(dropout)": "p = dropout",
        "self.dropout(": "F.dropout(p=self.p, training=self.training, input=",
    }


class layers_named_twice(RightAnswer):
    edits = {
        "self.ff = nn.Sequential(nn.Linear(embed_dim, ff_dim), nn.ReLU(), nn.Linear(ff_dim, embed_dim))": """
            self.up, self.down = nn.Linear(embed_dim, ff_dim), nn.Linear(ff_dim, embed_dim)
            self.ff = nn.Sequential(self.up, nn.ReLU(), self.down)
        """
    }


class norms_in_a_list_too(RightAnswer):
    edits = {
        "self.norm1 = nn.LayerNorm(embed_dim)": "self.norms = nn.ModuleList(nn.LayerNorm(embed_dim) for _ in range(3))",
        "self.norm2 = nn.LayerNorm(embed_dim)": "self.norm1, self.norm2, self.norm3 = self.norms",
        "self.norm3 = nn.LayerNorm(embed_dim)": "",
    }


class own_norm(RightAnswer):
    edits = {
        "class DecoderBlock(nn.Module):": """
            class Norm(nn.Module):
                def __init__(self, C):
                    super().__init__()
                    self.gamma, self.beta = nn.Parameter(torch.ones(C)), nn.Parameter(torch.zeros(C))

                def forward(self, x):
                    x = x - x.mean(-1, keepdim=True)
                    return self.gamma * x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() + self.beta

            class DecoderBlock(nn.Module):
        """,
        "nn.LayerNorm(": "Norm(",
    }


class one_helper(RightAnswer):
    edits = {
        "x = self.norm1(x + self.dropout(self.self_attn(x, mask)))": (
            "parts = [lambda x: self.self_attn(x, mask), lambda x: self.cross_attn(x, memory_mask, memory), self.ff]"
        ),
        "x = self.norm2(x + self.dropout(self.cross_attn(x, memory_mask, context=memory)))": (
            "for part, norm in zip(parts, (self.norm1, self.norm2, self.norm3)): x = norm(x + self.dropout(part(x)))"
        ),
        "self.norm3(x + self.dropout(self.ff(x)))": "x",
    }


# Mistakes


class cross_attention_missing(Misconception):
    """memory makes no difference: x attends to it between self-attention and ff."""

    variants = [
        {"x + self.dropout(self.cross_attn(x, memory_mask, context=memory))": "x"},
        {"x = self.norm2(x + self.dropout(self.cross_attn(x, memory_mask, context=memory)))": ""},
    ]


class cross_attends_to_itself(Misconception):
    """Cross-attention reads x: its keys and values come from memory (context=memory)."""

    edits = {"x, memory_mask, context=memory": ["x", "x, memory_mask", "x, mask"]}


class cross_roles_swapped(Misconception):
    """Cross-attention takes its queries from memory: x asks, and memory gives keys and values."""

    edits = {
        "x, memory_mask, context=memory": [
            "memory, memory_mask, context=x",
            "memory, context=x",
            "memory, memory_mask, context=memory",
            "memory",
        ]
    }


class attention_arguments_swapped(Misconception):
    """memory stands where attention takes its mask: attn(x, mask, context)."""

    edits = {"memory_mask, context=memory": ["memory, memory_mask", "memory"]}


class self_attends_to_memory(Misconception):
    """Self-attention takes keys and values from memory: here all three come from x."""

    edits = {"x, mask": ["x, mask, memory", "x, memory_mask, memory", "x, None, memory"]}


class self_attention_missing(Misconception):
    """Self-attention is not used: the block begins with it."""

    variants = [
        {"x + self.dropout(self.self_attn(x, mask))": "x"},
        {"x = self.norm1(x + self.dropout(self.self_attn(x, mask)))": ""},
    ]


class cross_attention_first(Misconception):
    """The parts are in another order: it is self-attention, cross-attention, ff."""

    variants = [
        {
            "self_attn(x, mask)": "cross_attn(x, memory_mask, context=memory)",
            "norm2(x + self.dropout(self.cross_attn(x, memory_mask, context=memory": (
                "norm2(x + self.dropout(self.self_attn(x, mask"
            ),
        },
        {
            "norm2(x + self.dropout(self.cross_attn(x, memory_mask, context=memory": (
                "norm1(x + self.dropout(self.self_attn(x, mask"
            )
        },
        {
            "cross_attn(x, memory_mask, context=memory)": "ff(x)",
            "norm3(x + self.dropout(self.ff(x)))": (
                "norm3(x + self.dropout(self.cross_attn(x, memory_mask, context=memory)))"
            ),
        },
    ]


class one_attention_for_both(Misconception):
    """One attention does both jobs: self_attn and cross_attn have weights of their own."""

    variants = [
        {".cross_attn(": ".self_attn("},
        {"cross_attn = Attention(embed_dim, num_heads)": "cross_attn = self.self_attn"},
        {"self_attn(x, mask)": "cross_attn(x, mask)"},
    ]


class in_parallel(Misconception):
    """Two parts start from the same x: cross-attention reads what norm1 gives, and ff what norm2 gives."""

    variants = [
        {"x = self.norm1": "y = self.norm1", "norm2(x +": "norm2(y +"},
        {"x = self.norm2": "y = self.norm2", "norm3(x +": "norm3(y +"},
        cross_attention_missing.edited(
            {"mask))": "mask)) + self.dropout(self.cross_attn(x, memory_mask, context=memory))"}
        ),
    ]


class memory_added(Misconception):
    """memory is added or appended to x: cross-attention is its only way to x."""

    variants = [
        {"x = self.norm1": "x = x + memory\nx = self.norm1"},
        {"self.cross_attn(x, memory_mask, context=memory)": ["memory", "memory.mean(dim=1, keepdim=True)"]},
        {"memory)))  # queries": "memory)))\nx = torch.cat([memory, x], dim=1)  # queries"},
    ]


class memory_normalised(Misconception):
    """memory is normalised before cross-attention reads it: it comes as the encoder gives it, and norm2 follows the
    sum.
    """

    edits = {"context=memory": ["context=self.norm2(memory)", "context=F.layer_norm(memory, memory.shape[-1:])"]}


class feed_forward_missing(Misconception):
    """The feed-forward network is not used."""

    edits = {"self.norm3(x + self.dropout(self.ff(x)))": ["self.norm3(x)", "x"]}


class residual_missing(Misconception):
    """x is not added to what a part gives: norm(x + part(x)), three times."""

    variants = [{"x + self": "self"}, {"norm1(x +": "norm1("}, {"norm2(x +": "norm2("}, {"norm3(x +": "norm3("}]


class residual_twice(Misconception):
    """x is added to a part twice, inside it too: a part gives its change alone, and the sum adds x once."""

    variants = [
        {"self.ff(x)": "x + self.ff(x)"},
        {"self.self_attn(x, mask)": "x + self.self_attn(x, mask)"},
        {"self.cross_attn(x, memory_mask, context=memory)": "x + self.cross_attn(x, memory_mask, context=memory)"},
    ]


class residual_from_the_start(Misconception):
    """A sum adds an earlier x, or memory: each adds the input of its own part, which is what the norm before gave. Call
    every result x, and nothing can be mixed up.
    """

    variants = [
        {"x = self.norm1": "start = x\nx = self.norm1", "norm2(x +": "norm2(start +"},
        {"x = self.norm1": "start = x\nx = self.norm1", "norm3(x +": "norm3(start +"},
        {"x = self.norm1": "start = x\nx = self.norm1", "norm2(x +": "norm2(start +", "norm3(x +": "norm3(start +"},
        {"x = self.norm2": "y = self.norm2", "self.ff(x)": "self.ff(y)"},
        {"norm2(x +": "norm2(memory +"},
        {"x = self.norm1": "start = x\nx = self.norm1", "norm2(x +": "norm2(start + x +"},
        {"x = self.norm1": "start = x\nx = self.norm1", "norm3(x +": "norm3(start + x +"},
    ]


class pre_norm(Misconception):
    """The norms stand before the parts (pre-norm): here they come after each sum, norm(x + part(x))."""

    edits = {
        "self.norm1(x +": "(x +",
        "self.norm2(x +": "(x +",
        "self.norm3(x +": "(x +",
        "self_attn(x": "self_attn(self.norm1(x)",
        "cross_attn(x": "cross_attn(self.norm2(x)",
        "ff(x": "ff(self.norm3(x)",
    }


class part_normalised(Misconception):
    """What a part gives is normalised before it is added: it is the *sum* that is normalised."""

    variants = [
        {"self.norm1(x +": "x + self.norm1(", "self.norm2(x +": "x + self.norm2(", "self.norm3(x +": "x + self.norm3("},
        *({f"self.norm{n}(x +": f"x + self.norm{n}("} for n in (1, 2, 3)),
    ]


class norm_missing(Misconception):
    """A norm is not applied: each of the three sums is followed by its own."""

    variants = [
        {"self.norm1(": "("},
        {"self.norm2(": "("},
        {"self.norm3(": "("},
        {"self.norm1(": "(", "self.norm2(": "("},
    ]


class another_epsilon(Minor):
    """The norms have another eps than PyTorch's 1e-5, so the block is only nearly PyTorch's."""

    edits = {"nn.LayerNorm(embed_dim)": [f"nn.LayerNorm(embed_dim, eps={eps})" for eps in ("1e-6", "1e-12", "1e-3")]}


class norm_used_twice(Misconception):
    """One norm serves several parts: norm1 is self-attention's, norm2 cross-attention's, norm3 ff's."""

    variants = [
        {"= self.norm2": ["= self.norm1", "= self.norm3"]},
        {"return self.norm3": ["return self.norm2", "return self.norm1"]},
        {"= self.norm2": "= self.norm1", "return self.norm3": "return self.norm1"},
        {"norm2 = nn.LayerNorm(embed_dim)": "norm2 = self.norm1"},
        {
            "norm3 = nn.LayerNorm(embed_dim)": [
                "norm3 = nn.LayerNorm(embed_dim)\nself.norm2 = self.norm3 = self.norm1",
                "norm3 = self.norm2",
            ]
        },
    ]


class mask_ignored(Misconception):
    """mask does not reach self-attention, so every token sees the ones after it."""

    # A line of its own can be merged with another mistake in the line that calls the attention.
    variants = [{"x, mask": "x"}, {"x = self.norm1": "mask = None\nx = self.norm1"}]


class memory_mask_ignored(Misconception):
    """memory_mask does not reach cross-attention, so it reads the padding of the source."""

    variants = [
        {"memory_mask, context=memory": "None, memory"},
        {"x = self.norm1": "memory_mask = None\nx = self.norm1"},
    ]


class mask_for_both(Misconception):
    """One mask is used in both attentions: mask is for self-attention, memory_mask for cross-attention, which may look
    at the whole source.
    """

    variants = [{"x, mask": "x, memory_mask"}, {"memory_mask, context=memory": "mask, memory"}]


class masks_swapped(Minor):
    """The masks are swapped: mask is for self-attention, memory_mask for cross-attention."""

    variants = [
        mask_for_both.edited({"memory_mask, context=memory": "mask, memory"}),
        {"mask=None, memory_mask": "memory_mask=None, mask"},
        {"x = self.norm1": "mask, memory_mask = memory_mask, mask\nx = self.norm1"},
    ]


class mask_inverted(Minor):
    """A mask is turned round: True means blocked, here as in nn.MultiheadAttention."""

    variants = [
        {"x, mask": "x, None if mask is None else ~mask"},
        {"memory_mask, context=memory": "None if memory_mask is None else ~memory_mask, memory"},
        {
            "x, mask": "x, None if mask is None else ~mask",
            "memory_mask, context=memory": "None if memory_mask is None else ~memory_mask, memory",
        },
    ]


class always_causal(Misconception):
    """A causal mask is made inside: the block blocks what its masks block, no more."""

    edits = {
        "x = self.norm1": [
            """
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
            x = self.norm1
            """,
            """
            if mask is None: mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
            x = self.norm1
            """,
        ]
    }


class masks_as_torch_wants_them(Misconception):
    """nn.MultiheadAttention rejects masks of (B, 1, T, S): Attention, which is given, takes them."""

    edits = {
        "Attention(embed_dim, num_heads)": "nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)",
        "(x, mask)": "(x, x, x, attn_mask=mask)[0]",
        "(x, memory_mask, context=memory)": "(x, memory, memory, attn_mask=memory_mask)[0]",
    }


class batch_not_first(Minor):
    """nn.MultiheadAttention needs batch_first=True, and returns a pair (output, weights), of which the first is meant:
    Attention, which is given, asks for neither.
    """

    variants = [
        {"self_attn = Attention": "self_attn = nn.MultiheadAttention", "(x, mask)": "(x, x, x)[0]"},
        masks_as_torch_wants_them.edited({", batch_first=True": ""}),
        {
            "self_attn = Attention(embed_dim, num_heads)": (
                "self_attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)"
            ),
            "x, mask": "x, x, x, attn_mask=mask",
        },
    ]


class other_names(Minor):
    """The parts have other names: they are called self_attn, cross_attn, ff, norm1, norm2 and norm3."""

    variants = [
        {"cross_attn": "multihead_attn"},
        {".ff": ".feed_forward"},
        {"norm1": "ln1", "norm2": "ln2", "norm3": "ln3"},
        """
        class DecoderBlock(nn.TransformerDecoderLayer):
            def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.0):
                super().__init__(embed_dim, num_heads, ff_dim, dropout, batch_first=True)

            def forward(self, x, memory, mask=None, memory_mask=None):
                return super().forward(x, memory, tgt_mask=mask, memory_mask=memory_mask)
        """,
    ]


class one_head(Minor):
    """num_heads does not reach both attentions: Attention(embed_dim, num_heads)."""

    variants = [
        {"(embed_dim, num_heads)": "(embed_dim, 1)"},
        {"self_attn = Attention(embed_dim, num_heads)": "self_attn = Attention(embed_dim, 1)"},
        {"cross_attn = Attention(embed_dim, num_heads)": "cross_attn = Attention(embed_dim, 1)"},
    ]


class ff_dim_ignored(Misconception):
    """ff_dim is not used: it is the hidden width of ff."""

    variants = [
        {", ff_dim)": ", 4 * embed_dim)", "(ff_dim": "(4 * embed_dim"},
        {", ff_dim)": ", embed_dim)", "(ff_dim": "(embed_dim"},
    ]


class ff_without_biases(Minor):
    """A layer of ff has no bias: both are nn.Linear as it comes, with one."""

    variants = [
        {
            "(embed_dim, ff_dim)": "(embed_dim, ff_dim, bias=False)",
            "(ff_dim, embed_dim)": "(ff_dim, embed_dim, bias=False)",
        },
        {"(embed_dim, ff_dim)": "(embed_dim, ff_dim, bias=False)"},
        {"(ff_dim, embed_dim)": "(ff_dim, embed_dim, bias=False)"},
    ]


class no_activation(Misconception):
    """ff lacks the ReLU between its layers (or has another activation, or one more after them)."""

    variants = [
        {
            ".ReLU(), nn.": [
                ".",
                *(f".{name}(), nn." for name in ("GELU", "Tanh", "LeakyReLU", "SiLU", "ELU", "Sigmoid")),
            ]
        },
        {"(ff_dim, embed_dim)": "(ff_dim, embed_dim), nn.ReLU()"},
    ]


class no_dropout(Misconception):
    """Dropout is missing after a part: it acts on what each part gives, before the sum."""

    variants = [
        {"self.dropout(": "("},
        {"self.dropout(self.self_attn": "(self.self_attn"},
        {"self.dropout(self.cross_attn": "(self.cross_attn"},
        {"self.dropout(self.ff": "(self.ff"},
    ]


class dropout_on_the_sum(Misconception):
    """Dropout acts on the sum or on the result: it acts on what a part gives, before x is added."""

    variants = [
        *({f"x + self.dropout({part}": f"self.dropout(x + {part}"} for part in ("", "self.self_attn", "self.ff")),
        {"self.norm1(": "self.dropout(x)\nx = self.norm1("},
        {
            "self.dropout(": "(",
            "self.norm1(x + (self.self_attn(x, mask)))": "self.dropout(self.norm1(x + self.self_attn(x, mask)))",
            "self.norm2(x + (self.cross_attn(x, memory_mask, context=memory)))": (
                "self.dropout(self.norm2(x + self.cross_attn(x, memory_mask, context=memory)))"
            ),
            "self.norm3(x + (self.ff(x)))": "self.dropout(self.norm3(x + self.ff(x)))",
        },
    ]


class dropout_elsewhere(Minor):
    """Dropout acts inside a part too, or twice on what a part gives: it acts once, on what each part gives, and nowhere
    else.
    """

    variants = [
        {"nn.ReLU(), ": "nn.ReLU(), nn.Dropout(dropout), "},
        {
            "self.self_attn(x, mask)": "self.dropout(self.self_attn(x, mask))",
            "self.cross_attn(x, memory_mask, context=memory)": (
                "self.dropout(self.cross_attn(x, memory_mask, context=memory))"
            ),
            "self.ff(x)": "self.dropout(self.ff(x))",
        },
        torchs_attention_inside.edited({"num_heads, batch": "num_heads, dropout, batch"}),
    ]


class dropout_in_evaluation(shared_mistakes.dropout_in_evaluation):
    based_on = functional_dropout
    edits = {"p, training=self.training": "p"}


class dropout_fixed(Minor):
    """The probability of dropout is a fixed number, or its default is not 0."""

    variants = [{"(dropout)": ["(0.1)", "()"]}, {"0.0": "0.1"}]


class device_not_kept(shared_mistakes.device_not_kept):
    edits = {"x = self.norm1": "x = x + torch.zeros(x.shape[1:], dtype=x.dtype)\nx = self.norm1"}


class no_super(Fundamental, shared_mistakes.no_super):
    edits = {"super().__init__()": ""}


class not_a_module(Fundamental, shared_mistakes.not_a_module):
    based_on = no_super
    edits = {"(nn.Module)": "", "forward": "__call__"}


class forward_misspelt(Fundamental, shared_mistakes.forward_misspelt):
    edits = {"forward": "foward"}


class input_changed(common_mistakes.input_changed):
    edits = {"= self.norm1(x +": "+=", "mask)))": "mask))\nx = self.norm1(x)"}


class gradient_cut_off(common_mistakes.gradient_cut_off):
    variants = [{"=memory": ["=memory.detach()", "=memory).detach("]}, {"x, mask": "x.detach(), mask"}]
