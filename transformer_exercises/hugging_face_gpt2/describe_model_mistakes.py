"""Wrong and right answers to `describe_model`. The reference (10-hugging-face-gpt2):

def describe_model(model):
    config = model.config
    return {
        "parameters": sum(p.numel() for p in model.parameters()),  # parameters() gives a shared matrix only once
        "vocab_size": config.vocab_size,
        "context": config.n_positions,
        "layers": config.n_layer,
        "heads": config.n_head,
        "d_model": config.n_embd,
        "head_dim": config.n_embd // config.n_head,
    }
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

COUNT = "sum(p.numel() for p in model.parameters())"

# Right answers in other styles


class from_the_layers(RightAnswer):
    code = """
    transformer, attention = model.transformer, model.transformer.h[0].attn
    return dict(
        parameters=model.num_parameters(), vocab_size=model.lm_head.out_features,
        context=transformer.wpe.num_embeddings, layers=len(transformer.h), heads=attention.num_heads,
        d_model=transformer.wte.embedding_dim, head_dim=attention.head_dim,
    )
    """


class general_names(RightAnswer):
    edits = {
        "n_positions": "max_position_embeddings",
        "n_layer": "num_hidden_layers",
        "n_head": "num_attention_heads",
        "n_embd": "hidden_size",
        "p.numel() for p in model.parameters()": (
            "math.prod(p.shape) for p in {id(p): p for p in model.parameters()}.values()"
        ),
    }


class from_shapes(RightAnswer):
    edits = {
        "config = model.config": """
            shapes = {name: tuple(p.shape) for name, p in model.named_parameters()}
            V, C = shapes["transformer.wte.weight"]
        """,
        COUNT: "sum(map(math.prod, shapes.values()))",
        "config.vocab_size": "V",
        "config.n_positions": 'shapes["transformer.wpe.weight"][0]',
        "config.n_layer": 'len({name.split(".")[2] for name in shapes if name.startswith("transformer.h.")})',
        "config.n_embd": "C",
        "config.n_head": 'model.config.to_dict()["n_head"]',
    }


# Mistakes


class tied_counted_twice(Minor):
    """The output layer is the token embedding once more: `model.parameters()` gives it only once."""

    variants = [
        {"p.numel() for p in model.parameters": "t.numel() for t in model.state_dict().values"},
        {"p in model.parameters()": "_, p in model.named_parameters(remove_duplicate=False)"},
        {")),": ")) + model.lm_head.weight.numel(),"},
    ]


class head_never_counted(Minor):
    """An output layer with a matrix of its own is missing: count the whole model's parameters."""

    edits = {"in model.": "in model.transformer."}


class only_trainable(Minor):
    """Frozen parameters are left out: a parameter counts whether or not it is being trained."""

    edits = {"parameters()": "parameters() if p.requires_grad"}


class buffers_counted(Minor):
    """Buffers (masks, say) are counted too: they are saved with the model, but not learned."""

    edits = {")),": ")) + sum(b.numel() for b in model.buffers()),"}


class embeddings_left_out(Misconception):
    """Some parameters are left out of the count: embeddings, biases and the norms' weights are parameters like any
    other.
    """

    variants = [
        {"in model.": "in model.transformer.h."},
        {"p in model.parameters()": 'n, p in model.named_parameters() if "wte" not in n and "wpe" not in n'},
        {")),": [")) - model.transformer.wpe.weight.numel(),", ")) - model.transformer.wte.weight.numel(),"]},
        {"parameters()": "parameters() if p.dim() == 2"},
        {"p in model.parameters()": 'n, p in model.named_parameters() if "bias" not in n'},
    ]


class tensors_counted(Misconception):
    """You count the parameter tensors, not the numbers in them: add up `p.numel()`."""

    variants = [{COUNT: ["len(list(model.parameters()))", "len(model.state_dict())"]}, {"p.numel()": "len(p)"}]


class millions(Minor):
    """The count is in another unit, rounded to millions or as memory in bytes: the exact number of parameters is asked
    for.
    """

    variants = [
        {COUNT: [f"round({COUNT} / 1e6)", f"{COUNT} / 1e6"]},
        {"for": "* p.element_size() for"},
        {COUNT: "model.get_memory_footprint()"},
    ]


class formula_of_four_c(Misconception):
    """Your formula takes the feed-forward network to be 4C wide: count the model's own parameters."""

    edits = {
        COUNT: """
            (config.vocab_size * (1 if config.tie_word_embeddings else 2) + config.n_positions + 2) * config.n_embd
            + config.n_layer * (12 * config.n_embd + 13) * config.n_embd
        """
    }


class head_dim_by_layers(Minor):
    """head_dim is the width divided by the number of heads, not of layers (GPT-2 has 12 of both)."""

    edits = {"// config.n_head": "// config.n_layer"}


class head_dim_is_d_model(Misconception):
    """head_dim is the width of one head: the heads share d_model among them."""

    edits = {"n_embd // config.n_head": ["n_embd", "n_head", "n_embd * config.n_head", "n_embd * 3 // config.n_head"]}


class head_dim_constant(Misconception):
    """head_dim is a constant in your code: 64 is the published model's; others have other heads."""

    edits = {"config.n_embd // config.n_head": "64"}


class float_head_dim(Misconception):
    """head_dim is a float: `/` always gives one, `//` divides whole numbers."""

    edits = {"//": "/"}


class layers_and_heads_swapped(Minor):
    """layers and heads are swapped: n_layer counts the blocks, n_head the heads in each."""

    variants = [
        {"n_layer": "n_head", '"heads": config.n_head': '"heads": config.n_layer'},
        {"n_layer": "n_head"},
        {": config.n_head": ": config.n_layer"},
    ]


class modules_counted(Misconception):
    """layers is the number of blocks, the length of `model.transformer.h`: nothing else in the model counts."""

    edits = {
        "config.n_layer": [
            "config.n_layer + 1",
            "len(list(model.transformer.children()))",
            "len(list(model.children()))",
            "len(list(model.modules()))",
        ]
    }


class key_missing(Minor):
    """A key is missing or has another name: parameters, vocab_size, context, layers, heads, d_model, head_dim."""

    variants = [
        {'"head_dim": config.n_embd // config.n_head,': ""},
        {'"layers": config.n_layer,': ""},
        {'"context": config.n_positions,': ""},
        {"context": "context_length"},
        {'"parameters"': '"params"'},
        {"layers": "num_layers"},
        {'"layers"': '"n_layer"', '"heads"': '"n_head"'},
        {'"heads"': '"n_head"'},
        {'"vocab_size"': '"vocab"'},
        "return model.config.to_dict() | {'parameters': sum(p.numel() for p in model.parameters())}",
    ]


class all_heads(Minor):
    """heads is the number of heads in one layer, not in all of them."""

    variants = [
        {": config.n_head": ": config.n_head * config.n_layer"},
        {
            ": config.n_head": ": config.n_head * config.n_layer",
            "// config.n_head": "// (config.n_head * config.n_layer)",
        },
    ]


class context_is_not_the_width(Minor):
    """context is the number of positions (n_positions): how many tokens the model can read."""

    variants = [
        {"config.n_positions": ["config.n_embd", "config.vocab_size", "config.n_positions - 1", "1024"]},
        {"n_positions": "n_embd", '"d_model": config.n_embd': '"d_model": config.n_positions'},
    ]


class d_model_is_the_inner_width(Misconception):
    """d_model is the width of the residual stream (n_embd), not that of the feed-forward network."""

    edits = {
        "config.n_embd,": [
            "4 * config.n_embd,",
            "3 * config.n_embd,",
            "config.n_inner or 4 * config.n_embd,",
            "config.n_embd // config.n_head,",
        ]
    }


class published_numbers(Fundamental):
    """These are the published model's, whatever model is given: read them from `model.config`."""

    variants = [
        """
        return {"parameters": 124439808, "vocab_size": 50257, "context": 1024,
                "layers": 12, "heads": 12, "d_model": 768, "head_dim": 64}
        """,
        {"config = model.config": "from transformers import GPT2Config\nconfig = GPT2Config()"},
    ]


class not_an_int(Minor):
    """A number is a float, a tensor or a string: each value is an int, and commas are put in when it is printed."""

    variants = [
        {COUNT: [f"float({COUNT})", "torch.tensor([p.numel() for p in model.parameters()]).sum()"]},
        {COUNT: f'f"{{{COUNT}:,}}"'},
        {COUNT: f"str({COUNT})", "config.vocab_size": "str(config.vocab_size)"},
    ]


class not_a_dict(Misconception):
    """A dict is asked for, with the sizes under their names."""

    variants = [{"return {": "return tuple({", "}": "}.values())"}, "return model.config"]


class model_frozen(shared_mistakes.model_frozen):
    edits = {
        "numel() for p in model": [
            "requires_grad_(False).numel() for p in model",
            "numel() for p in model.eval().requires_grad_(False)",
        ]
    }


class always_tied(Misconception):
    """One matrix is taken off as if lm_head were always the token table: an untied one counts."""

    edits = {COUNT: "sum(t.numel() for t in model.state_dict().values()) - config.vocab_size * config.n_embd"}
