"""Wrong and right answers to `load_gpt2_weights`. The reference (10-hugging-face-gpt2):

def load_gpt2_weights(model, hf_model):
    theirs = hf_model.transformer
    if len(theirs.h) != len(model.blocks):
        raise ValueError(f"hf_model has {len(theirs.h)} layers, model has {len(model.blocks)}")

    pairs = [
        (model.token_embedding.weight, theirs.wte.weight),  # (V, C)
        (model.position_embedding.weight, theirs.wpe.weight),  # (context, C)
        (model.final_norm.weight, theirs.ln_f.weight),
        (model.final_norm.bias, theirs.ln_f.bias),
        (model.lm_head.weight, hf_model.lm_head.weight),  # (V, C); when tied, the token embedding once more
    ]
    for block, source in zip(model.blocks, theirs.h, strict=True):
        pairs += [
            (block.norm1.weight, source.ln_1.weight),  # before attention
            (block.norm1.bias, source.ln_1.bias),
            (block.self_attn.in_proj_weight, source.attn.c_attn.weight.T),  # (3C, C)
            (block.self_attn.in_proj_bias, source.attn.c_attn.bias),  # (3C,)
            (block.self_attn.out_proj.weight, source.attn.c_proj.weight.T),  # (C, C): square, so no error without .T
            (block.self_attn.out_proj.bias, source.attn.c_proj.bias),
            (block.norm2.weight, source.ln_2.weight),  # before the feed-forward network
            (block.norm2.bias, source.ln_2.bias),
            (block.linear1.weight, source.mlp.c_fc.weight.T),  # (4C, C)
            (block.linear1.bias, source.mlp.c_fc.bias),
            (block.linear2.weight, source.mlp.c_proj.weight.T),  # (C, 4C)
            (block.linear2.bias, source.mlp.c_proj.bias),
        ]

    for mine, other in pairs:
        if mine.shape != other.shape:
            raise ValueError(f"hf_model has a weight {tuple(other.shape)} where model has one {tuple(mine.shape)}")
    with torch.no_grad():  # copying is not part of any computation to be differentiated
        for mine, other in pairs:
            mine.copy_(other)
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

# Right answers in other styles


class by_state_dict(RightAnswer):
    code = """
    names = {"wte": "token_embedding", "wpe": "position_embedding", "ln_f": "final_norm", "ln_1": "norm1",
             "ln_2": "norm2", "mlp.c_fc": "linear1", "mlp.c_proj": "linear2", "attn.c_proj": "self_attn.out_proj"}
    state = {}
    for name, value in hf_model.state_dict().items():
        name = name.removeprefix("transformer.")
        name = name.replace("h.", "blocks.", 1) if name.startswith("h.") else name
        if name.endswith("weight") and ".c_" in name: value = value.T
        name = name.replace("attn.c_attn.", "self_attn.in_proj_")
        for theirs, mine in names.items(): name = name.replace(theirs + ".", mine + ".")
        state[name] = value
    try: model.load_state_dict(state)
    except RuntimeError as error: raise ValueError(f"hf_model does not fit: {error}") from None
    """


class by_clones(RightAnswer):
    code = """
    theirs = hf_model.transformer
    if len(theirs.h) != len(model.blocks): raise ValueError("hf_model: other number of layers")
    def copy(mine, other):
        if mine.shape != other.shape: raise ValueError(f"hf_model: {other.shape}")
        mine.data = other.detach().clone()
    def linear(weight, bias, conv):
        copy(weight, conv.weight.permute(1, 0))
        copy(bias, conv.bias)
    copy(model.position_embedding.weight, theirs.wpe.weight)
    copy(model.token_embedding.weight, theirs.wte.weight)
    copy(model.lm_head.weight, hf_model.lm_head.weight)
    norms = [(model.final_norm, theirs.ln_f)]
    for b, h in zip(model.blocks, theirs.h):
        norms += [(b.norm1, h.ln_1), (b.norm2, h.ln_2)]
        linear(b.self_attn.in_proj_weight, b.self_attn.in_proj_bias, h.attn.c_attn)
        linear(b.self_attn.out_proj.weight, b.self_attn.out_proj.bias, h.attn.c_proj)
        linear(b.linear1.weight, b.linear1.bias, h.mlp.c_fc)
        linear(b.linear2.weight, b.linear2.bias, h.mlp.c_proj)
    for mine, other in norms: copy(mine.weight, other.weight); copy(mine.bias, other.bias)
    model.eval()
    """


class activation_set_too(RightAnswer):
    based_on = by_clones
    edits = {
        "model.eval()": """
            names = {"gelu_new": "tanh", "gelu": "none"}
            for block in model.blocks:
                if hf_model.config.activation_function in names:
                    block.activation = partial(F.gelu, approximate=names[hf_model.config.activation_function])
        """
    }


class returns_the_model(RightAnswer):
    based_on = by_clones
    edits = {"model.eval()": "return model"}


# Mistakes


class layers_not_compared(Misconception):
    """An hf_model with another number of layers is loaded in part, unnoticed: raise a ValueError."""

    edits = {"if len(theirs.h) != len(model.blocks):": "if False:", ", strict=True": ""}


class shapes_not_compared(Misconception):
    """Other sizes should be a ValueError: PyTorch's own comes after half of the model is overwritten."""

    variants = [{"if mine.shape != other.shape:": "if False:"}, by_state_dict.edited({"RuntimeError": "KeyError"})]


class reshaped(Misconception):
    """The weights are reshaped, not transposed: the shapes fit, but the numbers stand in other places. Use `.T`."""

    variants = [
        shapes_not_compared.edited({"weight.T": "weight", "copy_(other)": "copy_(other.reshape(mine.shape))"}),
        {"c_attn.weight.T": "c_attn.weight.reshape(-1, source.attn.c_attn.weight.shape[0])"},
        {"c_fc.weight.T": "c_fc.weight.view(block.linear1.weight.shape)"},
        {"mlp.c_proj.weight.T": "mlp.c_proj.weight.reshape(source.mlp.c_proj.weight.shape[::-1])"},
        {
            "c_fc.weight.T": "c_fc.weight.reshape(source.mlp.c_fc.weight.shape[::-1])",
            "mlp.c_proj.weight.T": "mlp.c_proj.weight.reshape(source.mlp.c_proj.weight.shape[::-1])",
        },
        {
            "c_attn.weight.T": "c_attn.weight.reshape(source.attn.c_attn.weight.shape[::-1])",
            "c_fc.weight.T": "c_fc.weight.reshape(source.mlp.c_fc.weight.shape[::-1])",
            "mlp.c_proj.weight.T": "mlp.c_proj.weight.reshape(source.mlp.c_proj.weight.shape[::-1])",
        },
    ]


class nothing_transposed(Fundamental):
    """Weights are copied as they stand: Conv1D keeps [in, out], nn.Linear [out, in]: use `.T`."""

    variants = [{"weight.T": "weight"}, shapes_not_compared.edited({"weight.T": "weight"})]


class square_projection_not_transposed(Minor):
    """Attention's output projection is square, so no shape complains: transpose it."""

    variants = [
        {"attn.c_proj.weight.T": "attn.c_proj.weight"},
        {
            "weight.T": "weight",
            "for mine, other in pairs:": (
                "for mine, other in ((m, o if m.shape == o.shape else o.T) for m, o in pairs):"
            ),
        },
    ]


class transposed_by_shape(Minor):
    """A matrix is transposed only where its shape does not fit, and a square one fits either way (where n_inner = C,
    linear1 and linear2 do): transpose all four Conv1D weights.
    """

    edits = {
        "mlp.c_fc.weight.T": "mlp.c_fc.weight",
        "mlp.c_proj.weight.T": "mlp.c_proj.weight",
        "for mine, other in pairs:": "for mine, other in ((m, o if m.shape == o.shape else o.T) for m, o in pairs):",
    }


class one_not_transposed(Minor):
    """One of the Conv1D weights is not transposed: all four of a block need it."""

    variants = [
        {"c_fc.weight.T": "c_fc.weight"},
        {"mlp.c_proj.weight.T": "mlp.c_proj.weight"},
        shapes_not_compared.edited({"c_fc.weight.T": "c_fc.weight"}),
        shapes_not_compared.edited({"mlp.c_proj.weight.T": "mlp.c_proj.weight"}),
    ]


class everything_transposed(Fundamental):
    """More is transposed than the Conv1D weights: embeddings and head are alike on both sides."""

    variants = [
        {"hf_model.lm_head.weight": "hf_model.lm_head.weight.T"},
        {"wpe.weight": "wpe.weight.T"},
        shapes_not_compared.edited({"wpe.weight": "wpe.weight.T"}),
        shapes_not_compared.edited({"hf_model.lm_head.weight": "hf_model.lm_head.weight.T"}),
    ]


class k_and_v_swapped(Minor):
    """Queries, keys and values are in another order: in_proj_weight stacks them in that of c_attn."""

    variants = [
        {
            "pairs = [": [
                "order = (0, 2, 1)\npairs = [",
                "order = (1, 0, 2)\npairs = [",
                "order = (2, 1, 0)\npairs = [",
                "order = (1, 2, 0)\npairs = [",
                "order = (2, 0, 1)\npairs = [",
            ],
            "source.attn.c_attn.weight.T": "torch.cat([source.attn.c_attn.weight.T.chunk(3)[i] for i in order])",
            "source.attn.c_attn.bias": "torch.cat([source.attn.c_attn.bias.chunk(3)[i] for i in order])",
        },
        {
            "source.attn.c_attn.weight.T": [
                "torch.cat([source.attn.c_attn.weight.T.chunk(3)[i] for i in (0, 2, 1)])",
                "torch.cat([source.attn.c_attn.weight.T.chunk(3)[i] for i in (1, 0, 2)])",
            ]
        },
    ]


class thirds_not_transposed(Misconception):
    """The parts of c_attn are stacked, but not transposed: each is [in, out] and becomes [out, in]."""

    edits = {"source.attn.c_attn.weight.T": "torch.cat(source.attn.c_attn.weight.chunk(3, dim=1))"}


class split_wrongly(Misconception):
    """c_attn is cut in wrong places: queries, keys and values are blocks of C columns each."""

    variants = [
        {"source.attn.c_attn.weight.T": "torch.cat([source.attn.c_attn.weight.T[i::3] for i in range(3)])"},
        {
            "c_attn.weight.T": [
                (
                    "c_attn.weight.T.unflatten(0, (model.config.n_head, 3, -1)).transpose(0, 1).reshape(-1, "
                    "model.config.n_embd)"
                ),
                (
                    "c_attn.weight.T.unflatten(0, (3, model.config.n_head, -1)).transpose(0, 1).reshape(-1, "
                    "model.config.n_embd)"
                ),
                "c_attn.weight.T[: model.config.n_embd].repeat(3, 1)",
            ]
        },
        {
            "source.attn.c_attn.weight.T": "torch.cat([source.attn.c_attn.weight.T[i::3] for i in range(3)])",
            "source.attn.c_attn.bias": "torch.cat([source.attn.c_attn.bias[i::3] for i in range(3)])",
        },
        {
            "source.attn.c_attn.weight.T": (
                "source.attn.c_attn.weight.T.unflatten(0, (model.config.n_head, 3, -1)).transpose(0, 1).flatten(0, 2)"
            ),
            "source.attn.c_attn.bias": (
                "source.attn.c_attn.bias.unflatten(0, (model.config.n_head, 3, -1)).transpose(0, 1).flatten()"
            ),
        },
    ]


class layers_of_the_published_model(Fundamental):
    """The published model's 12 layers stand in your code: count the model's own."""

    variants = [
        {
            "zip(model.blocks, theirs.h, strict=True)": [
                "((model.blocks[i], theirs.h[i]) for i in range(12))",
                "((model.blocks[i], theirs.h[i]) for i in range(6))",
                "((block, theirs.h[i]) for i, block in zip(range(12), model.blocks, strict=True))",
            ]
        },
        {
            "if len(theirs.h) != len(model.blocks):": "if False:",
            "zip(model.blocks, theirs.h, strict=True)": "((model.blocks[i], theirs.h[i]) for i in range(12))",
        },
    ]


class biases_forgotten(Minor):
    """Biases are not copied: attention's c_attn and c_proj, the feed-forward network's layers and the norms have one
    each.
    """

    variants = [
        {
            "source.ln_1.bias": "block.norm1.bias",
            "source.ln_2.bias": "block.norm2.bias",
            "theirs.ln_f.bias": "model.final_norm.bias",
            "source.attn.c_attn.bias": "block.self_attn.in_proj_bias",
            "source.attn.c_proj.bias": "block.self_attn.out_proj.bias",
            "source.mlp.c_fc.bias": "block.linear1.bias",
            "source.mlp.c_proj.bias": "block.linear2.bias",
        },
        {
            "source.attn.c_attn.bias": "block.self_attn.in_proj_bias",
            "source.attn.c_proj.bias": "block.self_attn.out_proj.bias",
        },
        {"source.attn.c_attn.bias": "block.self_attn.in_proj_bias"},
        {"source.attn.c_proj.bias": "block.self_attn.out_proj.bias"},
        {"source.mlp.c_fc.bias": "block.linear1.bias", "source.mlp.c_proj.bias": "block.linear2.bias"},
        {
            "source.attn.c_attn.bias": "block.self_attn.in_proj_bias",
            "source.attn.c_proj.bias": "block.self_attn.out_proj.bias",
            "source.mlp.c_fc.bias": "block.linear1.bias",
            "source.mlp.c_proj.bias": "block.linear2.bias",
        },
        {"source.mlp.c_fc.bias": "block.linear1.bias"},
        {"source.mlp.c_proj.bias": "block.linear2.bias"},
        {
            "source.ln_1.bias": "block.norm1.bias",
            "source.ln_2.bias": "block.norm2.bias",
            "theirs.ln_f.bias": "model.final_norm.bias",
        },
        {"source.ln_1.bias": "block.norm1.bias", "source.ln_2.bias": "block.norm2.bias"},
    ]


class attention_forgotten(Misconception):
    """A layer of each block is not copied: attention's in_proj and out_proj, linear1 and linear2, from c_attn, c_proj,
    mlp.c_fc and mlp.c_proj.
    """

    variants = [
        {"source.attn.c_proj.weight.T": "block.self_attn.out_proj.weight"},
        {
            "source.attn.c_proj.weight.T": "block.self_attn.out_proj.weight",
            "source.attn.c_proj": "block.self_attn.out_proj",
        },
        {"source.attn.c_attn.weight.T": "block.self_attn.in_proj_weight"},
        {
            "source.attn.c_attn.bias": "block.self_attn.in_proj_bias",
            "source.attn.c_proj.bias": "block.self_attn.out_proj.bias",
            "source.attn.c_attn.weight.T": "block.self_attn.in_proj_weight",
            "source.attn.c_proj.weight.T": "block.self_attn.out_proj.weight",
        },
        {
            "source.attn.c_attn.weight.T": "block.self_attn.in_proj_weight",
            "source.attn.c_attn.bias": "block.self_attn.in_proj_bias",
        },
        {
            "source.mlp.c_fc.bias": "block.linear1.bias",
            "source.mlp.c_proj.bias": "block.linear2.bias",
            "source.mlp.c_fc.weight.T": "block.linear1.weight",
            "source.mlp.c_proj.weight.T": "block.linear2.weight",
        },
        {"source.mlp.c_fc.weight.T": "block.linear1.weight", "source.mlp.c_fc": "block.linear1"},
        {"source.mlp.c_proj.weight.T": "block.linear2.weight", "source.mlp.c_proj": "block.linear2"},
    ]


class norms_swapped(Minor):
    """A block's two norms are swapped: ln_1 (norm1) stands before attention, ln_2 (norm2) after it."""

    variants = [{"ln_1": "ln_X", "ln_2": "ln_1", "ln_X": "ln_2"}, {"ln_2": "ln_1"}, {"ln_1": "ln_2"}]


class norms_forgotten(Misconception):
    """The blocks' norms are not copied: norm1 and norm2 have learned weights and biases."""

    variants = [
        {"source.ln_1": "block.norm1", "source.ln_2": "block.norm2"},
        {"source.ln_1": "block.norm1"},
        {"source.ln_2": "block.norm2"},
    ]


class final_norm_forgotten(Minor):
    """The final norm (ln_f) is not copied: a fresh one has weights of 1 and biases of 0."""

    variants = [
        {"theirs.ln_f": "model.final_norm"},
        {"theirs.ln_f.weight": "model.final_norm.weight"},
        {"theirs.ln_f.bias": "model.final_norm.bias"},
    ]


class head_forgotten(Minor):
    """The output layer is not copied: with tie_word_embeddings=False it has a matrix of its own."""

    edits = {"hf_model.lm_head": ["model.lm_head", "theirs.wte"]}


class tokens_forgotten(Minor):
    """An embedding is not copied, of tokens (wte) or positions (wpe): both are learned, and without tying, lm_head's is
    another matrix.
    """

    variants = [
        {"theirs.wte": ["model.token_embedding", "hf_model.lm_head"]},
        head_forgotten.edited({"theirs.wte": "model.token_embedding"}),
        {"theirs.wpe": "model.position_embedding"},
    ]


class one_layer_for_all(Misconception):
    """Some blocks do not get the weights of their own layer, but of another or none: the i-th block belongs to the i-th
    layer, for all n_layer of them.
    """

    edits = {
        "zip(model.blocks, theirs.h, strict=True)": [
            "((block, theirs.h[0]) for block in model.blocks)",
            "((block, theirs.h[-1]) for block in model.blocks)",
            "[(model.blocks[0], theirs.h[0])]",
            "list(zip(model.blocks, theirs.h))[:-1]",
            "list(zip(model.blocks, theirs.h))[1:]",
            "list(zip(model.blocks, theirs.h))[-1:]",
        ]
    }


class order_of_layers(Minor):
    """The layers are in another order: as text, "10" comes before "2"."""

    edits = {
        "theirs.h, strict=True": [
            "[theirs.h[int(i)] for i in sorted(map(str, range(len(theirs.h))))]",
            "reversed(theirs.h)",
        ]
    }


class projections_mixed_up(Misconception):
    """A block's layers are mixed up: attn.c_proj is out_proj, mlp.c_fc widens (linear1), and mlp.c_proj, a layer of the
    same name, comes back (linear2).
    """

    variants = [
        {"attn.c_proj.bias": "mlp.c_proj.bias"},
        {"mlp.c_proj.bias": "attn.c_proj.bias"},
        {"attn.c_proj.bias": "mlp.c_proj.bias", "linear2.bias, source.mlp": "linear2.bias, source.attn"},
        {"c_fc.weight.T": "c_proj.weight", "mlp.c_proj.weight.T": "mlp.c_fc.weight"},
    ]


class nothing_copied(Fundamental):
    """Names are bound to other tensors, but nothing is copied into the model."""

    variants = [
        {".copy_(other": "= other.clone("},
        "model.load_state_dict(hf_model.state_dict(), strict=False)",
        by_state_dict.edited(
            {
                "(model, hf_model):": """
                    (model, hf_model):
                        model = type(model)(hf_model.config)
                """
            }
        ),
    ]


class names_as_they_are(Fundamental):
    """Hugging Face's parameters have other names: load_state_dict needs the model's own."""

    code = "model.load_state_dict(hf_model.state_dict())"


class in_the_order_of_the_list(Fundamental):
    """The parameters are paired by their order, but the models list them in other orders."""

    variants = [
        """
        with torch.no_grad():
            for mine, other in zip(model.parameters(), hf_model.parameters()): mine.copy_(other)
        """,
        """
        with torch.no_grad():
            for mine, other in zip(model.parameters(), hf_model.parameters()):
                if mine.shape == other.shape: mine.copy_(other)
        """,
        """
        nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(hf_model.parameters()).detach(), model.parameters())
        """,
    ]


class without_no_grad(Fundamental):
    """No parameter can be changed while gradients are recorded: copy under `torch.no_grad()`."""

    edits = {"with torch.no_grad():  # copying is not part of any computation to be differentiated": "if True:"}


class parameters_replaced(Misconception):
    """The model gets new parameters: an optimizer would go on with the old ones. Copy into those."""

    based_on = by_clones
    edits = {
        "model.eval()": [
            """
            for module in model.modules():
                for name, p in list(module.named_parameters(recurse=False)):
                    setattr(module, name, nn.Parameter(p.detach().clone()))
            if model.config.tie_word_embeddings: model.lm_head.weight = model.token_embedding.weight
            """,
            "model.position_embedding.weight = nn.Parameter(theirs.wpe.weight.clone())",
            (
                "for block, h in zip(model.blocks, theirs.h): block.linear1.weight = "
                "nn.Parameter(h.mlp.c_fc.weight.T.clone())"
            ),
            """
            model.blocks = nn.ModuleList(list(model.blocks))
            import copy
            model.final_norm = copy.deepcopy(model.final_norm)
            """,
        ]
    }


class untied(Misconception):
    """The output layer gets its own matrix although weights are tied: they drift apart. Copy into the shared one."""

    variants = [
        {
            "theirs = hf_model.transformer": """
                theirs = hf_model.transformer
                model.lm_head.weight = nn.Parameter(hf_model.lm_head.weight.detach().clone())
            """
        },
        by_clones.edited(
            {
                "model.eval()": [
                    "model.lm_head.weight = nn.Parameter(model.token_embedding.weight.detach().clone())",
                    "model.token_embedding.weight = nn.Parameter(theirs.wte.weight.detach().clone())",
                    """
                    model.lm_head = nn.Linear(model.config.n_embd, model.config.vocab_size, bias=False)
                    model.lm_head.weight.data.copy_(hf_model.lm_head.weight)
                    """,
                ]
            }
        ),
    ]


class always_tied(Misconception):
    """The output layer is tied to the token embedding whatever the configuration says."""

    based_on = by_clones
    edits = {"model.eval()": "model.lm_head.weight = model.token_embedding.weight"}


class memory_shared(Misconception):
    """The parameters share their memory with hf_model's, or its layers are put into the model: training one would
    change the other. Copy values.
    """

    variants = [
        {"copy_(other)": "data = other.data"},
        by_clones.edited(
            {
                "model.eval()": [
                    "model.token_embedding = theirs.wte\nmodel.lm_head = hf_model.lm_head",
                    "model.final_norm = theirs.ln_f",
                    "model.position_embedding = theirs.wpe",
                    (
                        "for block, source in zip(model.blocks, theirs.h): "
                        "block.norm1, block.norm2 = source.ln_1, source.ln_2"
                    ),
                ]
            }
        ),
    ]


class requires_grad_lost(Misconception):
    """The model cannot be trained after loading (requires_grad=False): only copying needs no_grad()."""

    variants = [
        {"with torch.no_grad()": "if True", "copy_": "requires_grad_(False).copy_"},
        by_clones.edited({"model.eval()": "for p in model.parameters(): p.requires_grad = False"}),
    ]


class hf_model_changed(Misconception):
    """hf_model is changed: whoever passed it still needs it. Transpose a view (`.T`), not its own weights."""

    based_on = by_clones
    edits = {
        "model.eval()": [
            "for source in theirs.h: source.mlp.c_fc.weight.data = source.mlp.c_fc.weight.data.T",
            "hf_model.transformer.h = nn.ModuleList()",
            "hf_model.transformer.wte.weight.data.zero_()",
            "hf_model.requires_grad_(False)",
        ]
    }


class hf_model_inside(Fundamental):
    """hf_model is put into the model, or answers in its place: the weights belong into the model's own parameters."""

    variants = [
        """
        model.hf_model = hf_model
        model.forward = lambda ids, targets=None: (model.hf_model(ids).logits, None)
        """,
        "model.forward = lambda ids, targets=None: (hf_model(ids).logits, None)",
        "model.transformer = hf_model.transformer",
    ]


class activation_overwritten(Misconception):
    """The activation or the norms' epsilon is set to one value for all: the model has its configuration's already."""

    based_on = by_clones
    edits = {
        "model.eval()": [
            'for block in model.blocks: block.activation = partial(F.gelu, approximate="tanh")',
            "for block in model.blocks: block.activation = F.gelu",
            "model.final_norm.eps = 1e-5",
            """
            for module in model.modules():
                if isinstance(module, nn.LayerNorm): module.eps = 1e-5
            """,
        ]
    }


class precision_lost(Misconception):
    """The numbers are rounded on the way (`.half()`, `.float()`, NumPy), or the model's dtype is changed: float64
    should arrive in float64.
    """

    variants = [
        {"other)": ["other.float())", "other.half())", "other.bfloat16())"]},
        by_clones.edited({"eval(": "float("}),
    ]


class spread_by_broadcasting(Minor):
    """`copy_` spreads a single row over all rows, without an error: compare the shapes."""

    edits = {
        "if mine.shape != other.shape:": "if False:",
        "mine.copy_(other)": """
            try: mine.copy_(other)
            except RuntimeError as error: raise ValueError("the sizes do not fit") from error
        """,
    }
