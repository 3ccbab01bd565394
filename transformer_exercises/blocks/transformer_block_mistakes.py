"""Wrong and right answers to `TransformerBlock`. The reference (08-blocks):

class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.0, norm_first=False):
        super().__init__()
        self.norm_first = norm_first
        self.attn = Attention(embed_dim, num_heads)
        self.ff = FeedForward(embed_dim, ff_dim, dropout)  # has its dropout inside
        self.norm1 = LayerNorm(embed_dim)
        self.norm2 = LayerNorm(embed_dim)
        self.dropout = nn.Dropout(dropout)  # for what attention gives

    def forward(self, x, mask=None):
        if self.norm_first:
            x = x + self.dropout(self.attn(self.norm1(x), mask))  # the stream itself is never normalised
            return x + self.ff(self.norm2(x))
        x = self.norm1(x + self.dropout(self.attn(x, mask)))  # (B, T, C)
        return self.norm2(x + self.ff(x))  # (B, T, C)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

ATTENTION = "x + self.dropout(self.attn(self.norm1(x), mask))"
RETURN = "return x + self.ff(self.norm2(x))"

# Right answers in other styles


class torchs_attention_inside(RightAnswer):
    code = """
    class TransformerBlock(nn.Module):
        def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.0, norm_first=False):
            super().__init__()
            self.num_heads, self.norm_first, self.drop = num_heads, norm_first, nn.Dropout(dropout)
            self.attn = nn.MultiheadAttention(embed_dim, num_heads, dropout=dropout, batch_first=True)
            self.norm1, self.norm2 = nn.LayerNorm(embed_dim), nn.LayerNorm(embed_dim)
            up, down = nn.Linear(embed_dim, ff_dim), nn.Linear(ff_dim, embed_dim)
            self.ff = nn.Sequential(up, nn.ReLU(), nn.Dropout(dropout), down, nn.Dropout(dropout))

        def attend(self, x, mask):
            if mask is not None and mask.dim() == 4: mask = mask.repeat(1, self.num_heads, 1, 1).flatten(0, 1)
            output, _ = self.attn(x, x, x, attn_mask=mask)
            return self.drop(output)

        def forward(self, x, mask=None):
            if self.norm_first: x = x + self.attend(self.norm1(x), mask); x = x + self.ff(self.norm2(x))
            else: x = self.norm1(x + self.attend(x, mask)); x = self.norm2(x + self.ff(x))
            return x
    """


class own_attention(RightAnswer):
    edits = {
        "class": """
            class MyAttention(nn.Module):
                def __init__(self, embed_dim, num_heads):
                    super().__init__()
                    self.H = num_heads
                    for name in "qkv": self.add_module(f"{name}_proj", nn.Linear(embed_dim, embed_dim))
                    self.out_proj = nn.Linear(embed_dim, embed_dim)

                def forward(self, x, mask=None):
                    projected = self.q_proj(x), self.k_proj(x), self.v_proj(x)
                    q, k, v = (y.unflatten(-1, (self.H, -1)).transpose(1, 2) for y in projected)
                    scores = q @ k.mT / q.shape[-1] ** 0.5
                    if mask is not None: scores = scores.masked_fill(mask, -torch.inf)
                    return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

            class
        """,
        "= Attention(": "= MyAttention(",
    }


class functional_dropout(RightAnswer):
    edits = {
        "dropout = nn.Dropout(dropout)": "p = dropout",
        "self.dropout(self.attn(self.norm1(x), mask))": (
            "F.dropout(self.attn(self.norm1(x), mask=mask), self.p, self.training)"
        ),
        "self.dropout(self.attn(x, mask))": "F.dropout(self.attn(x, mask=mask), self.p, self.training)",
    }


class one_helper(RightAnswer):
    edits = {
        "if self.norm_first": "def sublayer(x, norm, part)",
        "x = x + self.dropout(self.attn(self.norm1(x), mask": (
            "return x + part(norm(x)) if self.norm_first else norm(x + part(x"
        ),
        RETURN: "",
        "self.norm1(x + self.dropout(self.attn(x": (
            "sublayer(x, self.norm1, lambda h: self.dropout(self.attn(h) if mask is None else self.attn(h"
        ),
        "self.norm2(x + self.ff(x)": "sublayer(x, self.norm2, self.ff",
    }


# Where the norms stand


class norm_first_ignored(Misconception):
    """norm_first makes no difference: False is norm(x + part(x)), True is x + part(norm(x))."""

    edits = {"self.norm_first:": ["True:", "False:"]}


class orders_swapped(Minor):
    """Pre-norm and post-norm are swapped, or pre-norm is the default: norm_first=True normalises before each part, and
    False, the order of 2017, is the default.
    """

    variants = [{"if self": "if not self"}, {"False": "True"}]


class stream_normalised(Misconception):
    """In pre-norm, x itself is normalised: the norm is for what goes into a part; x is added as it was."""

    variants = [
        {
            ATTENTION: "self.norm1(x)\nx = x + self.dropout(self.attn(x, mask))",
            RETURN: "x = self.norm2(x)\nreturn x + self.ff(x)",
        },
        {ATTENTION: "self.norm1(x)\nx = x + self.dropout(self.attn(x, mask))"},
        {RETURN: "x = self.norm2(x)\nreturn x + self.ff(x)"},
    ]


class part_normalised(Misconception):
    """A part's result is normalised before it is added: post-norm takes the *sum*, pre-norm what goes in."""

    edits = {"self.norm1(x +": "x + self.norm1(", "self.norm2(x +": "x + self.norm2("}


class second_norm_missing(Misconception):
    """A norm is missing: each of the two parts has its own."""

    variants = [
        {"return self.norm2(": "return ("},
        {"self.norm2(x)": "x"},
        {"= self.norm1(": "= ("},
        {"self.norm1(x)": "x"},
    ]


class norm_used_twice(Misconception):
    """One norm is used in both places: norm1 belongs to the attention, norm2 to ff."""

    variants = [
        {"return self.norm2": "return self.norm1"},
        {"norm2(x)": "norm1(x)"},
        {"norm2 = LayerNorm(embed_dim)": "norm2 = self.norm1"},
    ]


class norms_swapped(Minor):
    """norm1 and norm2 are swapped: norm1 belongs to the attention, norm2 to ff."""

    variants = [
        {"norm1(x)": "norm2(x)", "(self.norm2(x))": "(self.norm1(x))"},
        norm_used_twice.edited({"= self.norm1": "= self.norm2"}),
    ]


class norm_too_many(Misconception):
    """There is a norm too many: each order has two. (A final norm comes after the last block, in notebook 09.)"""

    variants = [
        {"x + self.ff(self.norm2(x))": "self.norm2(x + self.ff(self.norm2(x)))"},
        {"attn(x": "attn(self.norm1(x)"},
        {"attn(x": "attn(self.norm1(x)", "ff(x)": "ff(self.norm2(x))"},
        {"ff(x)": "ff(self.norm2(x))"},
    ]


class norm_elsewhere(Misconception):
    """A norm stands in the wrong place: post-norm is norm1(x + attn(x)), pre-norm x + attn(norm1(x))."""

    variants = [
        {"self.norm2(x + self.ff(x))": ["x + self.ff(self.norm2(x))", "self.norm2(x) + ( self.ff(x))"]},
        {"norm1(x +": "norm1(x) + (", "norm2(x +": "norm2(x) + ("},
        {"= self.norm1(": "= (", "x + self.ff(x)": "self.norm1(x + self.ff(x))"},
        {"self.norm1(x)": "x", "norm2(x)": "norm2(self.norm1(x))"},
        {"x + self.ff(self.norm2(x))": "self.norm2(x + self.ff(x))"},
        {ATTENTION: "self.norm1(x + self.dropout(self.attn(x, mask)))"},
        {"self.norm1(x + self.dropout(self.attn(x, mask)))": "x + self.dropout(self.attn(self.norm1(x), mask))"},
    ]


# The residual connections


class no_residual(Misconception):
    """A residual connection is missing: what a part gives is *added* to what went in, twice in a block."""

    variants = [
        {"x + self.dropout": "self.dropout"},
        {"= x + self": "= self", "return x + self": "return self"},
        {"(x + self": "(self"},
        {"norm1(x + self": "norm1(self"},
        {"x = x + self": "x = self"},
        {"return x + self": "return self"},
        {"x + self.ff(x)": "self.ff(x)"},
        {"x + self.ff(": "self.ff("},
    ]


class residual_from_the_start(Misconception):
    """The second residual connection adds the block's input: it adds x as the first part left it."""

    variants = [
        {"x = self": "start = x\nx = self", "x + self.ff(x)": "start + self.ff(x)"},
        {"x = x": "start = x\nx = x", "return x": "return start"},
    ]


class parallel(Misconception):
    """ff works on the block's input, beside attention or before it: attention comes first, then ff, on
    x + attention.
    """

    variants = [
        {"x = x": "return x", "self.norm1(x), mask))": "self.norm1(x), mask)) + self.ff(self.norm2(x))"},
        {
            "x = x": "return x",
            "self.norm1(x), mask))": "self.norm1(x), mask)) + self.ff(self.norm2(x))",
            "x = self.norm1(x + self.dropout(self.attn(x, mask)))": (
                "after = self.norm1(x + self.dropout(self.attn(x, mask)))"
            ),
            "return self.norm2(x": "return self.norm2(after",
        },
        {
            "dropout(self.attn(self.norm1(x), mask))": "ff(self.norm1(x))",
            "ff(self.norm2(x))": "dropout(self.attn(self.norm2(x), mask))",
            "dropout(self.attn(x, mask))": "ff(x)",
            "norm2(x + self.ff(x))": "norm2(x + self.dropout(self.attn(x, mask)))",
        },
    ]


class part_missing(Misconception):
    """One of the two parts is never applied: a block is attention *and* a feed-forward network."""

    variants = [
        {"x + self.ff(self.norm2(x))": "x", "self.norm2(x + self.ff(x))": "x"},
        {
            "x = x + self.dropout(self.attn(self.norm1(x), mask))": "pass",
            "x = self.norm1(x + self.dropout(self.attn(x, mask)))": "pass",
        },
    ]


# The mask


class mask_dropped(Misconception):
    """The mask is not passed on to attn."""

    variants = [{", mask)": ", None)"}, {"(x), mask": "(x)"}, {"(x, mask)": "(x)"}]


class mask_inverted(Misconception):
    """The mask is inverted on the way: True = blocked all through the course, and in nn.MultiheadAttention too."""

    edits = {", mask)": ", None if mask is None else ~mask)"}


class always_causal(shared_mistakes.always_causal):
    edits = {
        "if": [
            """
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
            if
            """,
            """
            if mask is None: mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
            if
            """,
        ]
    }


class mask_as_padding(Misconception):
    """The mask goes to nn.MultiheadAttention as key_padding_mask, of shape (B, S): here it is attn_mask."""

    edits = {
        "Attention(embed_dim, num_heads)": "nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)",
        "(self.norm1(x), mask)": "(*[self.norm1(x)] * 3, key_padding_mask=mask)[0]",
        "(x, mask)": "(x, x, x, key_padding_mask=mask)[0]",
    }


class mask_four_dimensions(Misconception):
    """Masks of one shape only are accepted: both (T, T) and (B, 1, T, T) go to attn as they come."""

    variants = [
        {
            ", mask)": [
                f", None if mask is None else {part})"
                for part in ("mask[:, 0]", "mask[0, 0]", "mask.squeeze(1)", "mask.unsqueeze(0)", "mask[None, None]")
            ]
        },
        mask_as_padding.edited({"key_padding_mask": "attn_mask"}),
    ]


class mask_of_the_first(Misconception):
    """Every sequence gets the mask of the first one: a mask (B, 1, T, T) holds one for each, and goes to attn as it
    comes.
    """

    edits = {", mask)": ", mask if mask is None or mask.dim() == 2 else mask[0, 0])"}


class truth_of_a_tensor(Minor):
    """`if mask:` asks a tensor of several numbers whether it is true, which fails: `is not None`."""

    edits = {"if": "if mask: mask = mask.bool()\nif"}


class mask_required(Minor, shared_mistakes.mask_required):
    variants = [{"=None)": ")"}, {"if": "mask = mask.bool()\nif"}]


class no_mask_parameter(Minor):
    """forward takes no mask, or its parameters have other names: forward(x, mask=None)."""

    variants = [
        {", mask=None)": ")", ", mask": ""},
        {"mask=None)": "attn_mask=None)", ", mask": ", attn_mask"},
        {"(self, x, mask=None):": "(self, tokens, mask=None):\n    x = tokens"},
    ]


# How attention is called


class batch_first_forgotten(Minor):
    """nn.MultiheadAttention without batch_first=True takes (T, B, C): sequences see one another."""

    variants = [
        {
            "Attention(embed_dim, num_heads)": """
                nn.MultiheadAttention(embed_dim, num_heads)
                self.num_heads = num_heads
            """,
            "(self.norm1(x), mask)": "(*[self.norm1(x)] * 3, attn_mask=mask)[0]",
            "(x, mask)": "(x, x, x, attn_mask=mask)[0]",
            "if self": """
    if mask is not None and mask.dim() == 4: mask = mask.expand(len(x), self.num_heads, *mask.shape[2:]).flatten(0, 1)
    if self
            """,
        },
        mask_as_padding.edited({"key_padding_mask": "attn_mask", ", batch_first=True": ""}),
    ]


class causal_hint(Misconception):
    """`is_causal=True` is no mere hint: nn.MultiheadAttention may then leave the mask aside and block every later token
    instead, without an error. Pass attn_mask alone, which holds for any mask.
    """

    variants = [
        batch_first_forgotten.edited(
            {
                "attn_mask=mask)[0]": "attn_mask=mask, is_causal=mask is not None, need_weights=False)[0]",
                "num_heads)": "num_heads, batch_first=True)",
            }
        ),
        mask_as_padding.edited(
            {"key_padding_mask=mask": "attn_mask=mask, is_causal=mask is not None, need_weights=False"}
        ),
    ]


class pair_not_taken_apart(Minor):
    """Attention, called attn(x, mask), returns one tensor. nn.MultiheadAttention, called attn(x, x, x,
    attn_mask=mask), returns a pair (output, weights): take the first.
    """

    variants = [
        mask_as_padding.edited({"key_padding_mask=mask)[0]": "attn_mask=mask)"}),
        {", mask)": ", mask)[0]"},
        {"Attention(embed_dim, num_heads)": "nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)"},
    ]


class values_not_normed(Misconception):
    """In pre-norm only some of queries, keys and values are normalised: all three are made of norm1(x)."""

    variants = [
        batch_first_forgotten.edited(
            {
                "*[self.norm1(x)] * 3": [
                    "self.norm1(x), x, x",
                    "x, self.norm1(x), self.norm1(x)",
                    "x, x, self.norm1(x)",
                ],
                "num_heads)": "num_heads, batch_first=True)",
            }
        ),
        mask_as_padding.edited(
            {
                "*[self.norm1(x)] * 3": [
                    "self.norm1(x), x, x",
                    "x, self.norm1(x), self.norm1(x)",
                    "x, x, self.norm1(x)",
                ],
                "key_padding_mask": "attn_mask",
            }
        ),
    ]


# The parts


class other_names(Minor):
    """The parts have other names: attn, ff, norm1 and norm2 let weights be loaded and attn be replaced."""

    variants = [
        {"attn": "attention", ".ff": ".feed_forward", "norm1": "ln1", "norm2": "ln2"},
        {".ff": [".mlp", ".ffn"]},
        {"attn": "self_attn", ".ff": ".ffn"},
        {".norm": ".ln"},
        {"attn": ["attention", "mha"]},
    ]


class torchs_layer(Fundamental):
    """nn.TransformerEncoderLayer does the work: here the parts are your own."""

    code = """
    class TransformerBlock(nn.Module):
        def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.0, norm_first=False):
            super().__init__()
            options = {"batch_first": True, "norm_first": norm_first}
            self.layer = nn.TransformerEncoderLayer(embed_dim, num_heads, ff_dim, dropout, **options)

        def forward(self, x, mask=None): return self.layer(x, src_mask=mask)
    """


class ff_dim_ignored(Misconception):
    """num_heads or ff_dim is not the one that is given, but a fixed number, the width of a head, or 4 · embed_dim."""

    variants = [
        {"embed_dim, ff_dim": ["embed_dim, 4 * embed_dim", "embed_dim, 2048"]},
        {"(embed_dim, num_heads)": ["(embed_dim, 1)", "(embed_dim, embed_dim // num_heads)", "(embed_dim, 8)"]},
    ]


class shapes_do_not_fit(Fundamental):
    """Shapes of a part do not fit: FeedForward(embed_dim, ff_dim, dropout), LayerNorm(embed_dim)."""

    edits = {"embed_dim, ff_dim": "ff_dim, embed_dim"}


class ff_without_activation(Misconception):
    """ff is a single linear layer, or has no activation between its layers, or another than ReLU: it is a FeedForward,
    two layers with ReLU between them.
    """

    variants = [
        {
            "FeedForward(embed_dim, ff_dim, dropout": [
                "nn.Sequential(nn.Linear(embed_dim, ff_dim), nn.Linear(ff_dim, embed_dim), nn.Dropout(dropout)",
                "FeedForward(embed_dim, ff_dim, dropout, F.gelu",
            ]
        },
        {
            "FeedForward(embed_dim, ff_dim, dropout)": [
                "nn.Linear(embed_dim, embed_dim)",
                "nn.Linear(embed_dim, ff_dim)",
            ]
        },
    ]


class parts_made_in_forward(Misconception):
    """A part is made anew in every forward pass, so nothing that is learned or loaded is ever used."""

    variants = [
        {"if": "self.norm2 = nn.LayerNorm(x.shape[-1], dtype=x.dtype, device=x.device)\nif"},
        {"self.attn(": "Attention(x.shape[-1], self.attn.num_heads)("},
    ]


# The norms themselves


# Dropout


class no_dropout(Misconception):
    """Dropout is not applied to what attention gives (or to what ff gives), before it is added."""

    variants = [
        {"self.dropout(": "("},
        {"embed_dim, ff_dim, dropout": "embed_dim, ff_dim"},
        {"embed_dim, ff_dim, dropout": "embed_dim, ff_dim", "self.dropout(": "("},
        batch_first_forgotten.edited(
            {"num_heads)": "num_heads, dropout=dropout, batch_first=True)", "self.dropout(": "("}
        ),
    ]


class dropout_twice(Misconception):
    """Dropout acts twice on what a part gives: FeedForward has its own inside, so the block adds none for ff."""

    variants = [
        {"self.dropout(self.attn": "self.dropout(self.dropout(self.attn", "mask))": "mask)))"},
        {"self.ff(self.norm2(x))": "self.dropout(self.ff(self.norm2(x)))", "self.ff(x)": "self.dropout(self.ff(x))"},
    ]


class dropout_on_stream(Misconception):
    """Dropout acts on the residual stream, or on what goes into attention: it acts on what a part gives, before it is
    added.
    """

    variants = [
        {"x + self.dropout(": "self.dropout(x +"},
        {
            "x + self.dropout(": "self.dropout(x +",
            "x + self.ff(self.norm2(x))": "self.dropout(x + self.ff(self.norm2(x)))",
            "x + self.ff(x)": "self.dropout(x + self.ff(x))",
        },
        {
            "norm1(x + self.dropout(self.attn(x, mask)))": "dropout(self.norm1(x + self.attn(x, mask)))",
            "norm2(x + self.ff(x))": "dropout(self.norm2(x + self.ff(x)))",
        },
        {"if": "x = self.dropout(x)\nif"},
        {
            "x + self.ff(self.norm2(x))": "self.dropout(x + self.ff(self.norm2(x)))",
            "norm2(x + self.ff(x))": "dropout(self.norm2(x + self.ff(x)))",
        },
        {
            "dropout(self.attn(self.norm1(x), mask))": "attn(self.dropout(self.norm1(x)), mask)",
            "dropout(self.attn(x, mask))": "attn(self.dropout(x), mask)",
        },
    ]


class dropout_in_evaluation(shared_mistakes.dropout_in_evaluation):
    edits = {"self.dropout(": "F.dropout(p=self.dropout.p, input="}


class dropout_fixed(Minor):
    """The probability of dropout is a fixed number, or its default is not 0: use nn.Dropout(dropout)."""

    variants = [
        {"(dropout)": ["(0.1)", "()"]},
        {"0.0": "0.1"},
        {"embed_dim, ff_dim, dropout": "embed_dim, ff_dim, 0.1"},
    ]


# Arguments, sizes and the module itself


class arguments_reordered(Misconception):
    """The parameters of `__init__` are not (embed_dim, num_heads, ff_dim, dropout=0.0, norm_first=False)."""

    variants = [
        {"num_heads, ff_dim": "ff_dim, num_heads"},
        {"dropout=0.0, norm_first=False": ["norm_first=False, dropout=0.0", "dropout, norm_first"]},
        {"norm_first=": "pre_norm=", "= norm_first": "= pre_norm"},
        {", norm_first=False": "", "= norm_first": "= False"},
    ]


class both_orders(Minor):
    """After the pre-norm branch, the post-norm lines run as well (a `return` or an `else` is missing)."""

    edits = {"return x": "x = x"}


class no_super(Fundamental, shared_mistakes.no_super):
    edits = {"super().__init__()": ""}


class not_a_module(Fundamental, shared_mistakes.not_a_module):
    based_on = no_super
    edits = {"(nn.Module)": "", "forward": "__call__"}


class forward_misspelt(Fundamental, shared_mistakes.forward_misspelt):
    edits = {"forward": "foward"}


class nothing_returned(common_mistakes.nothing_returned):
    edits = {RETURN: "return"}
