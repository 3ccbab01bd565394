"""Wrong and right answers to `GPT`. The reference (09-gpt):

class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        C = config.n_embd
        self.token_embedding = nn.Embedding(config.vocab_size, C)
        self.position_embedding = nn.Embedding(config.block_size, C)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layer))
        self.final_norm = nn.LayerNorm(C, bias=config.bias)
        self.lm_head = nn.Linear(C, config.vocab_size, bias=False)
        if config.tie_weights:
            self.lm_head.weight = self.token_embedding.weight  # one tensor, used twice

        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                ends_a_branch = name.endswith("out_proj.weight") or parameter.shape == (C, 4 * C)
                scale = math.sqrt(2 * config.n_layer) if ends_a_branch else 1  # 2 n_layer branches add up
                nn.init.normal_(parameter, std=0.02 / scale)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, ids, targets=None):
        T = ids.shape[1]
        if self.config.block_size < T:
            raise ValueError(f"ids has {T} positions, more than block_size = {self.config.block_size}")
        positions = torch.arange(T, device=ids.device)  # (T,)
        x = self.token_embedding(ids) + self.position_embedding(positions)  # (B, T, C) + (T, C)
        x = self.dropout(x)
        future = torch.ones(T, T, dtype=torch.bool, device=ids.device).triu(diagonal=1)  # (T, T), True = blocked
        for block in self.blocks:
            x = block(x, future)  # (B, T, C)
        logits = self.lm_head(self.final_norm(x))  # (B, T, V)
        if targets is None:
            return logits, None
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())  # (B T, V) against (B T,)
        return logits, loss
"""

from autograder.spec.catalogue import Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class pytorch_layers(RightAnswer):
    edits = {
        "class GPT(nn.Module):": "from functools import partial\nclass GPT(nn.Module):",
        "nn.ModuleList(Block(config) for _ in range(config.n_layer))": """
            nn.ModuleList(
                nn.TransformerEncoderLayer(
                    d_model=C, nhead=config.n_head, dim_feedforward=4 * C,
                    dropout=config.dropout,  # must be passed on: the layer's own default is 0.1
                    activation=partial(F.gelu, approximate="tanh"), batch_first=True, norm_first=True, bias=config.bias,
                ) for _ in range(config.n_layer))
        """,
        'name.endswith("out_proj.weight") or parameter.shape == (C, 4 * C)': (
            'name.endswith(("out_proj.weight", "linear2.weight"))'
        ),
        "block(x, future)": "block(x, src_mask=future, is_causal=True)",
    }


class own_blocks(RightAnswer):
    edits = {
        "class GPT(nn.Module):": """
            class Block(nn.Module):
                def __init__(self, config):
                    super().__init__()
                    C = config.n_embd
                    self.n_head = config.n_head
                    self.norm1, self.norm2 = nn.LayerNorm(C, bias=config.bias), nn.LayerNorm(C, bias=config.bias)
                    self.qkv = nn.Linear(C, 3 * C, bias=config.bias)
                    self.out_proj = nn.Linear(C, C, bias=config.bias)
                    self.up, self.down = nn.Linear(C, 4 * C, bias=config.bias), nn.Linear(4 * C, C, bias=config.bias)
                    self.dropout = nn.Dropout(config.dropout)

                def attend(self, x):
                    B, T, C = x.shape
                    q, k, v = (t.view(B, T, self.n_head, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
                    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
                    future = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
                    weights = scores.masked_fill(future, float("-inf")).softmax(dim=-1)
                    y = self.dropout(weights) @ v
                    return self.dropout(self.out_proj(y.transpose(1, 2).reshape(B, T, C)))

                def forward(self, x):
                    x = x + self.attend(self.norm1(x))
                    return x + self.dropout(self.down(F.gelu(self.up(self.norm2(x)))))

            class GPT(nn.Module):
        """,
        "future = torch.ones(T, T, dtype=torch.bool, device=ids.device).triu(diagonal=1)  # (T, T), True = blocked": "",
        "block(x, future)": "block(x)",
    }


class contract_blocks(RightAnswer):
    based_on = own_blocks
    edits = {
        "self.qkv(x).chunk(3, dim=-1)": "self.qkv(x).split(C, -1)",
        "scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])": "",
        "future = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)": "",
        'weights = scores.masked_fill(future, float("-inf")).softmax(dim=-1)': "",
        "self.dropout(weights) @ v": "F.scaled_dot_product_attention(q, k, v, attn_mask=~mask)",
        "attend(self, x)": "attend(self, x, mask)",
        "forward(self, x)": "forward(self, x, mask=None)",
        "self.norm1(x))": "self.norm1(x), mask)",
        "self.up(self.norm2(x)))))": 'self.up(self.norm2(x)), approximate="tanh"))), None',
        "self.blocks = nn": """
            self.register_buffer("mask", torch.ones(config.block_size, config.block_size).triu(1) > 0)
            self.blocks = nn
        """,
        "self.lm_head.weight = self.token_embedding.weight  #": "self.token_embedding.weight = self.lm_head.weight  #",
        "x = block(x)": "x, _ = block(x, mask=self.mask[:T, :T])",
        "nn.init.normal_": "nn.init.trunc_normal_",
        "position_embedding(positions)": "position_embedding(positions.expand_as(ids))",
    }


class position_parameter(RightAnswer):
    edits = {
        "nn.Embedding(config.block_size, C)": [
            "nn.Parameter(torch.zeros(config.block_size, C))",
            "nn.Parameter(0.02 * torch.randn(1, config.block_size, C))",
        ],
        "self.position_embedding(positions)": "self.position_embedding[..., :T, :]",
    }


class exact_gelu(RightAnswer):
    based_on = pytorch_layers
    edits = {
        'partial(F.gelu, approximate="tanh")': "nn.GELU()",
        "torch.ones(T, T, dtype=torch.bool, device=ids.device).triu(diagonal=1)": (
            "nn.Transformer.generate_square_subsequent_mask(T, device=ids.device)"
        ),
        ", is_causal=True": "",
    }


# The causal mask


class no_causal_mask(Misconception):
    """Every token sees the ones it is to predict: give each block a mask that is True above the diagonal.
    (PyTorch's layer wants src_mask; is_causal=True alone is only a hint.)
    """

    variants = [
        {", future": ""},
        own_blocks.edited({'masked_fill(future, float("-inf")).': ""}),
        pytorch_layers.edited({"src_mask=future, is_causal": "is_causal"}),
    ]


class mask_inverted(Misconception):
    """The mask is the wrong way round: True = blocked, above the diagonal (triu, diagonal=1)."""

    variants = [{"triu(diagonal=1)": ["tril()", "tril(diagonal=-1)"]}, own_blocks.edited({"triu(": "tril(-"})]


class one_token_ahead(Minor):
    """The mask is one place off: it blocks what comes after a token (diagonal=1), so neither leaves the next one open
    nor blocks the token itself (NaN for the first).
    """

    variants = [{"=1": "=2"}, own_blocks.edited({"(1)": "(2)"}), {"=1": "=0"}]


class finite_mask(Misconception):
    """The mask adds a finite number that is not small enough: use −∞, or a boolean mask."""

    variants = [
        {"torch.ones(T, T, dtype=torch.bool, device=ids.device)": "-1e4 * torch.ones(T, T, device=ids.device)"},
        {"dtype=torch.bool, device": "device"},
        {"dtype=torch.bool, device=ids.device).triu(diagonal=1": "device=ids.device).tril("},
        own_blocks.edited({'float("-inf")': ["-1e4", "0.0"]}),
    ]


# The blocks


class post_norm(Misconception):
    """The blocks are post-norm: GPT-2 normalises before attention and feed-forward network (norm_first=True)."""

    variants = [
        pytorch_layers.edited({"norm_first=True": "norm_first=False"}),
        own_blocks.edited(
            {
                "x + self.attend(self.norm1": "self.norm1(x + self.attend",
                "x + self.dropout(self.down(F.gelu(self.up(self.norm2": (
                    "self.norm2(x + self.dropout(self.down(F.gelu(self.up"
                ),
            }
        ),
    ]


class batch_second(Minor):
    """batch_first=True is missing, so the blocks take the batch for the time: tokens see other rows."""

    based_on = pytorch_layers
    variants = [
        {"batch_first=True": "batch_first=False"},
        {"batch_first=True": "batch_first=False", ", src_mask=future, is_causal=True": ""},
    ]


class other_activation(Misconception):
    """The activation is not GELU: pass F.gelu (or its tanh form)."""

    variants = [
        pytorch_layers.edited(
            {'partial(F.gelu, approximate="tanh")': ["F.silu", "lambda x: x * torch.sigmoid(1.702 * x)"]}
        ),
        own_blocks.edited({"gelu(": "silu("}),
    ]


class feed_forward_width(Minor):
    """The feed-forward network is not GPT-2's, which is 4 · n_embd wide and uses GELU; the layer's own defaults are
    2048 and ReLU.
    """

    variants = [
        pytorch_layers.edited({"dim_feedforward=4 * C,": ["", "dim_feedforward=C,"]}),
        own_blocks.edited({"4 * C, bias=config.bias), nn.Linear(4 *": "2 * C, bias=config.bias), nn.Linear(2 *"}),
        pytorch_layers.edited({'partial(F.gelu, approximate="tanh")': "F.relu"}),
        own_blocks.edited({"gelu(": "relu("}),
    ]


class one_block_shared(Misconception):
    """All layers are one and the same block (`[block] * n`) and share weights: build each anew."""

    variants = [
        pytorch_layers.edited(
            {
                "nn.TransformerEncoderLayer(": "[nn.TransformerEncoderLayer(",
                "for _ in range(config.n_layer)": "] * config.n_layer",
            }
        ),
        own_blocks.edited({"Block(config) for _ in range(config.n_layer)": "[Block(config)] * config.n_layer"}),
    ]


class result_of_blocks_dropped(Misconception):
    """x does not go through all of the blocks by `x = block(x, …)`: each works on the last one's result, and adds its
    input by itself.
    """

    variants = [{"x = block": "block"}, {"blocks:": ["blocks[:1]:", "blocks[:-1]:"]}, {"= block": "= x + block"}]


class python_list(Misconception):
    """A Python list hides the blocks' parameters from the model (and from the optimiser): nn.ModuleList."""

    variants = [{"nn.ModuleList(": "list("}, own_blocks.edited({"nn.ModuleList(": "list("})]


# The embeddings


class no_positions(Misconception):
    """The position embedding is not added, so the model cannot tell orders apart."""

    edits = {"+ self.position_embedding(positions)": ""}


class embedding_scaled(Minor):
    """The embeddings are scaled by √C, as in the transformer of 2017: here they are added as they are."""

    variants = [
        {
            "self.token_embedding(ids)": [
                "self.token_embedding(ids) * math.sqrt(self.config.n_embd)",
                "self.token_embedding(ids) / math.sqrt(self.config.n_embd)",
            ]
        },
        {"self.dropout(x)": "self.dropout(x * math.sqrt(self.config.n_embd))"},
    ]


class all_positions(Misconception):
    """Other positions are looked up than 0 to T − 1 in this order (all block_size, as many as the batch has rows,
    or the ids): torch.arange(T), with T = ids.shape[1].
    """

    variants = [
        {"T, device": "self.config.block_size, device"},
        {"T, device=ids.device)": "T, device=ids.device).flip(0)"},
        {"[1]": "[0]"},
        {"(positions)": ["(ids)", "(ids % self.config.block_size)"]},
        {"(ids)": "(positions)"},
    ]


# The final norm and the logits


class no_final_norm(Minor):
    """The final norm is not applied, or before the blocks: it comes between the last block and lm_head."""

    variants = [
        {"self.final_norm(x)": "x"},
        {"self.final_norm(x)": "x", "dropout(x)": "final_norm(self.dropout(x))"},
    ]


class softmax(Minor):
    """The model returns probabilities (or their logarithms): logits are asked for."""

    edits = {
        "(self.final_norm(x))": ["(self.final_norm(x)).softmax(dim=-1)", "(self.final_norm(x)).log_softmax(dim=-1)"]
    }


class softmax_before_loss(Misconception):
    """The loss is taken of probabilities: cross_entropy wants the logits, and takes the softmax itself."""

    edits = {"logits.": "logits.softmax(dim=-1)."}


class last_logits_only(Misconception):
    """The logits come back flattened, or of the last position alone: [B, T, V] is asked for, with and without targets
    (flatten them for the loss only).
    """

    variants = [
        {", None": ["[:, [-1]], None", "[:, -1], None", ".flatten(0, 1), None"]},
        {
            "loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())": [
                "logits = logits.flatten(0, 1)\nloss = F.cross_entropy(logits, targets.flatten())",
                "logits = logits.transpose(1, 2)\nloss = F.cross_entropy(logits, targets)",
            ]
        },
    ]


# The loss


class shifted_inside(Misconception):
    """The targets are shifted once more: they are one step on already, position t belongs to target t."""

    edits = {".flatten(0, 1), targets": "[:, :-1].flatten(0, 1), targets[:, 1:]"}


class last_position_loss(Misconception):
    """The loss is that of a single position: the mean over all positions is asked for."""

    edits = {".flatten(0, 1), targets.flatten()": ["[:, -1], targets[:, -1]", "[:, 0], targets[:, 0]"]}


class sum_(Minor):
    """The loss is a sum, or has one number for each position: the mean over all positions, a scalar, is asked for."""

    variants = [
        {"flatten()": ["flatten(), reduction='sum'", "flatten(), reduction='sum') / len(ids"]},
        {"(logits.flatten(0, 1), targets.flatten())": "(logits.flatten(0, 1), targets.flatten()) / T"},
        {"flatten(0, 1), targets.flatten()": "transpose(1, 2), targets, reduction='none'"},
        {"flatten()": "flatten(), reduction='none'"},
    ]


class token_zero_ignored(Misconception):
    """Token 0 is left out of the loss (ignore_index=0): here it is a token like any other."""

    edits = {"flatten()": "flatten(), ignore_index=0"}


class view_needed(Minor, shared_mistakes.view_needed):
    edits = {"flatten()": "view(-1)"}


class own_input_as_target(Misconception):
    """The loss compares with the input instead of the targets."""

    edits = {"targets.": "ids."}


class classes_in_the_wrong_place(Misconception):
    """F.cross_entropy wants classes second: flatten to (B · T, V), or transpose to (B, V, T)."""

    variants = [
        {".flatten(0, 1), targets.flatten()": ", targets"},
        {"flatten(0, 1)": ["view(-1, T)", "transpose(1, 2).reshape(-1, logits.shape[-1])"]},
    ]


class loss_cut_off(Misconception):
    """The loss cannot be differentiated (`.item()`, `.detach()`, `no_grad`): nothing could be trained with it."""

    variants = [
        {"(logits.flatten(0, 1), targets.flatten())": "(logits.flatten(0, 1), targets.flatten()).detach()"},
        {"(self.final_norm(x))": "(self.final_norm(x)).detach()"},
        {"(logits.flatten(0, 1), targets.flatten())": "(logits.flatten(0, 1), targets.flatten()).item()"},
    ]


class logits_only(Minor):
    """One thing is returned, or the pair is the wrong way round: (logits, loss), with None for the loss without
    targets.
    """

    variants = [
        {", None": ""},
        {", None": "", ", loss": ""},
        {"logits, loss": "loss"},
        {"logits, loss": "loss, logits"},
        {"logits, loss": "loss, logits", "logits, None": "None, logits"},
    ]


class loss_without_targets(Misconception):
    """Without targets the loss is not None: there is nothing to compare with."""

    variants = [
        {", None": [", torch.tensor(0.0)", ", 0.0"]},
        {"if targets is None:": "targets = ids if targets is None else targets\nif False:"},
    ]


class targets_needed(Minor):
    """`targets` may be left out or None: write the default, `targets=None`, and ask `if targets is None` (`if targets:`
    asks for the truth of a whole tensor, which has none).
    """

    variants = [{"=None": ""}, {"if targets is None:": "if False:"}, {"targets is None": "not targets"}]


# The length


class too_long_accepted(Misconception):
    """A text longer than block_size is accepted, silently cropped, or stops otherwise: raise a ValueError that says so
    (generate crops).
    """

    variants = [
        {"if self.config.block_size < T:": "if False:"},
        {"ValueError(": ["RuntimeError(", "AssertionError("]},
        {
            "if self.config.block_size < T:": "if False:",
            "[1]": [
                """
                [1]
                ids = ids[:, -self.config.block_size :]
                T = ids.shape[1]
                """,
                """
                [1]
                ids = ids[:, : self.config.block_size]
                T = ids.shape[1]
                """,
            ],
        },
        {
            "if self.config.block_size < T:": "if False:",
            "T, device=ids.device)": "T, device=ids.device).clamp(max=self.config.block_size - 1)",
        },
    ]


class full_length_refused(Minor):
    """T = block_size is refused: only longer texts are."""

    edits = {"<": "<="}


# Tied weights, biases and the configuration


class not_tied(Misconception):
    """lm_head has a matrix of its own, or a copy: self.lm_head.weight = self.token_embedding.weight."""

    edits = {"self.lm_head.weight = self.token_embedding.weight  # one tensor, used twice": "pass"}


class always_tied(Misconception):
    """The weights are tied although config.tie_weights is False: yours are tied always, or the wrong way round."""

    variants = [
        {"config.tie_weights": "True"},
        {"if config": "if not config"},
        {"self.lm_head(self.final_norm(x))": "self.final_norm(x) @ self.token_embedding.weight.T"},
    ]


class head_bias(Minor):
    """lm_head has a bias: as in GPT-2 it has none, bias=False."""

    edits = {"bias=False": ["bias=True", "bias=config.bias", "bias=not config.tie_weights"]}


class bias_ignored(Misconception):
    """config.bias does not decide in every layer (the blocks', the norms): with bias=True each but lm_head has a bias,
    with bias=False none, the norms neither.
    """

    variants = [
        pytorch_layers.edited({"bias=config.bias,": "", ", bias=config.bias": ""}),
        pytorch_layers.edited({"bias=config.bias,": ""}),
        {", bias=config.bias": ""},
        {"config.bias": "False"},
        own_blocks.edited({", bias=config.bias), nn.LayerNorm(C, bias=config.bias": "), nn.LayerNorm(C"}),
    ]


class config_not_kept(Misconception):
    """The model does not keep its configuration: self.config = config."""

    edits = {".config": ".cfg"}


class other_names(Minor):
    """The parts have other names than the box says."""

    variants = [
        {"token_embedding": "wte"},
        {"position_embedding": "wpe"},
        {"blocks": "layers"},
        {"final_norm": "ln_f"},
        {"lm_head": "head"},
    ]


class positions_one_short(Minor):
    """The table has block_size rows, for the positions 0 to block_size − 1: yours has another number of rows, or the
    first token gets position 1.
    """

    variants = [
        {"block_size,": ["block_size - 1,", "block_size + 1,", "vocab_size,"]},
        {"config.block_size,": "1024,"},
        {
            "T, device=ids.device": [
                "1, T + 1, device=ids.device",
                "1, T + 1, device=ids.device).clamp(max=self.config.block_size - 1",
            ]
        },
    ]


# The initialisation


class default_start(Misconception):
    """All matrices start as N(0, 0.02); some keep PyTorch's own start: embeddings, the blocks, lm_head, or attention's
    `in_proj_weight`, which is in no nn.Linear.
    """

    variants = [
        {"self.named_parameters()": "()"},
        {
            "== 2": [
                '== 2 and "embedding" not in name and "head" not in name',
                '== 2 and "blocks" not in name',
                '== 2 and "in_proj" not in name',
                '== 2 and "head" not in name',
            ]
        },
    ]


class wrong_spread(Misconception):
    """The weights start with another standard deviation than 0.02. (`normal_(parameter, 0.02)` sets the mean; uniform
    numbers between ±0.02 have a spread of 0.0115.)
    """

    variants = [
        {"0.02": ["0.2", "0.002", "math.sqrt(0.02)"]},
        {"normal_": "uniform_", ", std=0": ", -0.02 / scale, 0"},
        {"std=": ""},
    ]


class sizes_swapped(Minor):
    """The sizes of a table or of the output matrix are swapped: nn.Embedding(rows, C), nn.Linear(C, vocab_size)."""

    variants = [
        {"(config.vocab_size, C)": "(C, config.vocab_size)"},
        {"(config.block_size, C)": "(C, config.block_size)"},
        {"(C, config.vocab_size": "(config.vocab_size, C"},
    ]


class residuals_not_scaled(Misconception):
    """Other matrices than the last of each branch start smaller, or none does, or by another factor: attention's output
    and the feed-forward network's second matrix start with 0.02 / √(2 · n_layer), all others with 0.02.
    """

    variants = [
        {"02 / scale": ["02", "02 * scale"]},
        {"2 * config": "config"},
        {"math.sqrt": ""},
        {"math.sqrt(2 * config.n_layer)": "config.n_layer"},
        {") or parameter.shape == (C, 4 * C": ""},
        {'name.endswith("out_proj.weight") or parameter': "parameter"},
        {"C, 4 *": "4 * C,"},
        pytorch_layers.edited({"out_proj.weight": "linear1.weight"}),
        pytorch_layers.edited({'name.endswith(("out_proj.weight", "linear2.weight"))': '"blocks" in name'}),
    ]


class norms_zeroed(Misconception):
    """The norms' weights start at 1: only biases start at 0, and only matrices as N(0, 0.02)."""

    variants = [{'elif name.endswith("bias")': "else"}, {"parameter.dim() == 2": 'not name.endswith("bias")'}]


class biases_not_zero(Misconception):
    """The biases keep PyTorch's own start: they begin at 0."""

    edits = {'elif name.endswith("bias"):': "", "nn.init.zeros_(parameter)": ""}


# Dropout


class dropout_default(Misconception):
    """config.dropout is not passed on (a fixed number, or a layer whose own default is 0.1): with dropout = 0 it still
    drops.
    """

    variants = [
        pytorch_layers.edited({"dropout=config.dropout,  # must be passed on: the layer's own default is 0.1": ""}),
        {"config.dropout": "0.1"},
    ]


class dropout_in_eval(Misconception):
    """Dropout is at work in eval mode too: F.dropout needs training=self.training."""

    variants = [
        {"self.dropout(x)": "F.dropout(x, self.config.dropout)"},
        {
            "(self.final_norm(x))": """
                (self.final_norm(x))
                logits = logits + torch.empty_like(logits).normal_() * 0.1
            """
        },
    ]


class no_dropout_in_blocks(Misconception):
    """There is no dropout inside the blocks: pass config.dropout on to them."""

    based_on = pytorch_layers
    edits = {"=config.dropout": "=0.0"}


class no_dropout(Misconception):
    """config.dropout is not used: it acts on the sum of the embeddings and in the blocks."""

    based_on = no_dropout_in_blocks
    edits = {"x = self.dropout(x)": "pass"}


class no_dropout_of_embeddings(Misconception):
    """Dropout misses the sum of the embeddings, or one of them: it acts before the blocks, too."""

    edits = {
        "x = self.dropout(x)": [
            "pass",
            "x = self.dropout(self.token_embedding(ids)) + self.position_embedding(positions)",
            "x = self.token_embedding(ids) + self.dropout(self.position_embedding(positions))",
        ]
    }


# Precision, devices and sizes


class single_precision(Minor):
    """The logits are float32 even for a model in float64 (a `.float()`?)."""

    edits = {"(self.final_norm(x))": "(self.final_norm(x)).float()"}


class device_not_kept(shared_mistakes.device_not_kept):
    edits = {"T, device=ids.device": "T"}


class mask_of_the_first_call(Misconception):
    """The mask is made once, for the first T that came along: make it for each T."""

    variants = [
        {"future =": 'if not hasattr(self, "future"): self.future =', "for block": "future = self.future\nfor block"},
        {"T, T, dtype": "self.config.block_size, self.config.block_size, dtype"},
    ]
