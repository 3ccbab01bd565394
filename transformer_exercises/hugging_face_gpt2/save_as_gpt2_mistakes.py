"""Wrong and right answers to `save_as_gpt2`. The reference (10-hugging-face-gpt2):

from safetensors.torch import save_file


def save_as_gpt2(model, folder):
    folder = Path(folder)
    settings_file, weights_file = folder / "config.json", folder / "model.safetensors"
    for file in (settings_file, weights_file):
        if file.exists():
            raise FileExistsError(f"{file} is there already")
    names = ["vocab_size", "n_positions", "n_embd", "n_layer", "n_head", "n_inner"]
    names += ["activation_function", "layer_norm_epsilon", "tie_word_embeddings"]
    settings = {"model_type": "gpt2"} | {name: getattr(model.config, name) for name in names}
    tensors = {
        "transformer.wte.weight": model.token_embedding.weight,  # (V, C)
        "transformer.wpe.weight": model.position_embedding.weight,  # (context, C)
        "transformer.ln_f.weight": model.final_norm.weight,
        "transformer.ln_f.bias": model.final_norm.bias,
    }
    for i, block in enumerate(model.blocks):
        parts = {
            "ln_1.weight": block.norm1.weight,  # before attention
            "ln_1.bias": block.norm1.bias,
            "attn.c_attn.weight": block.self_attn.in_proj_weight.T,  # (C, 3C)
            "attn.c_attn.bias": block.self_attn.in_proj_bias,  # (3C,)
            "attn.c_proj.weight": block.self_attn.out_proj.weight.T,  # (C, C): square, so no error without .T
            "attn.c_proj.bias": block.self_attn.out_proj.bias,
            "ln_2.weight": block.norm2.weight,  # before the feed-forward network
            "ln_2.bias": block.norm2.bias,
            "mlp.c_fc.weight": block.linear1.weight.T,  # (C, 4C)
            "mlp.c_fc.bias": block.linear1.bias,
            "mlp.c_proj.weight": block.linear2.weight.T,  # (4C, C)
            "mlp.c_proj.bias": block.linear2.bias,
        }
        tensors |= {f"transformer.h.{i}.{name}": tensor for name, tensor in parts.items()}
    if not model.config.tie_word_embeddings:
        tensors["lm_head.weight"] = model.lm_head.weight  # (V, C); when tied, it is wte once more
    folder.mkdir(parents=True, exist_ok=True)
    settings_file.write_text(json.dumps(settings, indent=2), encoding="utf-8")
    save_file({name: t.detach().contiguous() for name, t in tensors.items()}, weights_file, metadata={"format": "pt"})
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

# Right answers in other styles


class by_the_library(RightAnswer):
    code = """
    from transformers import GPT2LMHeadModel
    folder = Path(folder)
    if any((folder / name).exists() for name in ("config.json", "model.safetensors")):
        raise FileExistsError(folder)
    theirs = GPT2LMHeadModel(model.config)
    names = {"token_embedding": "wte", "position_embedding": "wpe", "final_norm": "ln_f", "norm1": "ln_1",
             "norm2": "ln_2", "linear1": "mlp.c_fc", "linear2": "mlp.c_proj", "self_attn.out_proj": "attn.c_proj",
             "self_attn.in_proj_": "attn.c_attn."}
    state = {}
    for name, value in model.state_dict().items():
        for mine, other in names.items(): name = name.replace(mine, other)
        if ".c_" in name and value.dim() == 2: value = value.T
        state[name if name == "lm_head.weight" else "transformer." + name.replace("blocks.", "h.")] = value
    theirs.load_state_dict(state)
    theirs.save_pretrained(folder)
    """


class without_prefix(RightAnswer):
    edits = {"transformer.": ""}


class tied_head_written(RightAnswer):
    edits = {
        "if not model.config.tie_word_embeddings": "if True",
        "= model.lm_head.weight": "= model.lm_head.weight.clone()",
    }


class every_setting(RightAnswer):
    edits = {"json.dumps(settings, indent=2)": ["model.config.to_json_string()", "json.dumps(model.config.to_dict())"]}


class settings_by_known_names(RightAnswer):
    edits = {
        "tensors = {": """
            settings["num_hidden_layers"] = settings.pop("n_layer")
            settings["num_attention_heads"] = settings.pop("n_head")
            if settings["activation_function"] == "gelu_new":
                settings["activation_function"] = "gelu_pytorch_tanh"
            if settings["n_inner"] is None:
                settings["n_inner"] = 4 * settings["n_embd"]
            tensors = {
        """
    }


class masks_written(RightAnswer):
    edits = {
        '"mlp.c_proj.bias": block.linear2.bias,': """
            "mlp.c_proj.bias": block.linear2.bias,
            "attn.bias": torch.ones(1, 1, model.config.n_positions, model.config.n_positions).tril(),
        """
    }


class without_metadata(RightAnswer):
    edits = {', metadata={"format": "pt"}': ""}


class by_hand(RightAnswer):
    edits = {
        "save_file({name: t.detach().contiguous() for name, t in tensors.items()}, ": "(",
        '(weights_file, metadata={"format": "pt"})': """
            header, numbers = {}, b""
            for name, t in tensors.items():
                data = t.detach().contiguous().numpy().tobytes()
                place = [len(numbers), len(numbers) + len(data)]
                header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": place}
                numbers += data
            text = json.dumps(header).encode()
            weights_file.write_bytes(len(text).to_bytes(8, "little") + text + numbers)
        """,
    }


class through_other_names(RightAnswer):
    edits = {
        "weights_file, metadata": 'folder / "part", metadata',
        '{"format": "pt"})': """
            {"format": "pt"})
            (folder / "part").rename(weights_file)
        """,
    }


# Mistakes


class nothing_transposed(Fundamental):
    """The matrices are written as nn.Linear keeps them, [out, in]: a Conv1D keeps [in, out], so transpose them."""

    edits = {"weight.T": "weight"}


class square_projection_not_transposed(Minor):
    """Attention's output projection is square, so no shape complains: transpose it."""

    edits = {"out_proj.weight.T": "out_proj.weight"}


class some_not_transposed(Misconception):
    """Of a block's four matrices some are written as nn.Linear keeps them, [out, in]: transpose all four."""

    variants = [
        {"linear1.weight.T": "linear1.weight", "linear2.weight.T": "linear2.weight"},
        {
            "out_proj.weight.T": "out_proj.weight",
            "linear1.weight.T": "linear1.weight",
            "linear2.weight.T": "linear2.weight",
        },
        {"linear1.weight.T": "linear1.weight"},
        {"linear2.weight.T": "linear2.weight"},
        {"in_proj_weight.T": "in_proj_weight"},
        {"in_proj_weight.T": "in_proj_weight", "out_proj.weight.T": "out_proj.weight"},
    ]


class reshaped(Misconception):
    """The matrices are reshaped, not transposed: the shapes fit, but the numbers stand in other places. Use `.T`."""

    variants = [
        {"in_proj_weight.T": "in_proj_weight.reshape(block.self_attn.in_proj_weight.T.shape)"},
        {"linear1.weight.T": "linear1.weight.reshape(block.linear1.weight.T.shape)"},
        {"linear2.weight.T": "linear2.weight.reshape(block.linear2.weight.T.shape)"},
    ]


class thirds_not_transposed(Misconception):
    """Queries, keys and values stand side by side, but each third is still [out, in]: transpose it."""

    edits = {"block.self_attn.in_proj_weight.T": "torch.cat(block.self_attn.in_proj_weight.chunk(3), dim=1)"}


class parts_in_another_order(Misconception):
    """Queries, keys and values are joined in another order: `c_attn` has the queries' columns first, then the keys',
    then the values'.
    """

    variants = [
        {
            "block.self_attn.in_proj_weight.T": [
                "torch.cat([block.self_attn.in_proj_weight.chunk(3)[i] for i in (1, 0, 2)]).T",
                "torch.cat([block.self_attn.in_proj_weight.chunk(3)[i] for i in (2, 1, 0)]).T",
                "torch.cat([block.self_attn.in_proj_weight.chunk(3)[i] for i in (0, 2, 1)]).T",
            ]
        },
        {
            "block.self_attn.in_proj_weight.T": (
                "torch.cat([block.self_attn.in_proj_weight.chunk(3)[i] for i in (1, 0, 2)]).T"
            ),
            "block.self_attn.in_proj_bias": (
                "torch.cat([block.self_attn.in_proj_bias.chunk(3)[i] for i in (1, 0, 2)])"
            ),
        },
    ]


class parts_interleaved(Misconception):
    """The columns of `c_attn` are interleaved: all queries come first, then all keys, then all values."""

    edits = {
        "block.self_attn.in_proj_weight.T": [
            (
                "block.self_attn.in_proj_weight.unflatten(0, (3, model.config.n_head, -1)).transpose(0, 1)"
                ".reshape(-1, model.config.n_embd).T"
            ),
            "block.self_attn.in_proj_weight.unflatten(0, (3, -1)).transpose(0, 1).reshape(-1, model.config.n_embd).T",
        ]
    }


class parts_apart(Misconception):
    """Queries, keys and values are written as three tensors: GPT-2 keeps them in one, `attn.c_attn`."""

    edits = {
        '"attn.c_attn.weight": block.self_attn.in_proj_weight.T,': (
            '**{f"attn.{part}.weight": w.T for part, w in zip("qkv", block.self_attn.in_proj_weight.chunk(3))},'
        ),
        '"attn.c_attn.bias": block.self_attn.in_proj_bias,': (
            '**{f"attn.{part}.bias": b for part, b in zip("qkv", block.self_attn.in_proj_bias.chunk(3))},'
        ),
    }


class embeddings_transposed(Misconception):
    """An embedding is transposed: only the blocks have Conv1D layers, embeddings are written as they are."""

    variants = [
        {"_embedding.weight": "_embedding.weight.T"},
        {"token_embedding.weight": "token_embedding.weight.T"},
        {"position_embedding.weight": "position_embedding.weight.T"},
    ]


class head_transposed(Minor):
    """`lm_head` is written transposed: it is an nn.Linear in both models, so it is written as it is."""

    edits = {"model.lm_head.weight": "model.lm_head.weight.T"}


# Mistakes: names


class own_names(Fundamental):
    """The tensors are written under the names of your GPT: from_pretrained looks for those of section 2."""

    edits = {"folder.mkdir(": "tensors = {n: t.clone() for n, t in model.state_dict().items()}\nfolder.mkdir("}


class another_prefix(Misconception):
    """The names have another beginning than `transformer.`, so from_pretrained finds none of them."""

    edits = {"transformer.": "model."}


class layers_from_one(Misconception):
    """The layers are counted from 1: the first one is `h.0`."""

    edits = {"h.{i}": "h.{i + 1}"}


class blocks_for_h(Minor):
    """The blocks have another name than in GPT-2, where they are `h.0`, `h.1`, and so on."""

    edits = {"transformer.h.": "transformer.blocks."}


class biases_forgotten(Minor):
    """Biases are missing: c_attn and both c_proj, c_fc and the norms have one each."""

    variants = [
        {
            '"attn.c_attn.bias": block.self_attn.in_proj_bias,': "",
            '"attn.c_proj.bias": block.self_attn.out_proj.bias,': "",
            '"mlp.c_fc.bias": block.linear1.bias,': "",
            '"mlp.c_proj.bias": block.linear2.bias,': "",
        },
        {'"attn.c_attn.bias": block.self_attn.in_proj_bias,': ""},
        {'"attn.c_proj.bias": block.self_attn.out_proj.bias,': ""},
        {'"mlp.c_fc.bias": block.linear1.bias,': ""},
        {'"mlp.c_proj.bias": block.linear2.bias,': ""},
        {'"ln_1.bias": block.norm1.bias,': "", '"ln_2.bias": block.norm2.bias,': ""},
    ]


class layer_forgotten(Misconception):
    """A layer of each block is missing: attention has c_attn and c_proj, the feed-forward network c_fc and c_proj."""

    variants = [
        {
            '"attn.c_proj.weight": block.self_attn.out_proj.weight.T,': "",
            '"attn.c_proj.bias": block.self_attn.out_proj.bias,': "",
        },
        {'"mlp.c_proj.weight": block.linear2.weight.T,': "", '"mlp.c_proj.bias": block.linear2.bias,': ""},
        {
            '"attn.c_attn.weight": block.self_attn.in_proj_weight.T,': "",
            '"attn.c_attn.bias": block.self_attn.in_proj_bias,': "",
        },
    ]


class norms_forgotten(Misconception):
    """The blocks' norms are missing: `ln_1` and `ln_2` have learned weights and biases."""

    edits = {
        '"ln_1.weight": block.norm1.weight,': "",
        '"ln_1.bias": block.norm1.bias,': "",
        '"ln_2.weight": block.norm2.weight,': "",
        '"ln_2.bias": block.norm2.bias,': "",
    }


class norms_swapped(Minor):
    """A block's two norms are swapped: ln_1 (norm1) stands before attention, ln_2 (norm2) after it."""

    edits = {"block.norm1": "block.normX", "block.norm2": "block.norm1", "block.normX": "block.norm2"}


class final_norm_forgotten(Minor):
    """The final norm is missing: `ln_f` has learned weights and biases, too."""

    variants = [
        {
            '"transformer.ln_f.weight": model.final_norm.weight,': "",
            '"transformer.ln_f.bias": model.final_norm.bias,': "",
        },
        {'"transformer.ln_f.bias": model.final_norm.bias,': ""},
        {"transformer.ln_f": "transformer.final_norm"},
    ]


class positions_forgotten(Minor):
    """The table of positions is missing: `wpe` is learned."""

    edits = {'"transformer.wpe.weight": model.position_embedding.weight,': ""}


class projections_mixed_up(Misconception):
    """A block's layers are mixed up: `attn.c_proj` is out_proj, `mlp.c_fc` widens (linear1), `mlp.c_proj` comes back
    (linear2).
    """

    variants = [
        {"linear1": "linearX", "linear2": "linear1", "linearX": "linear2"},
        {
            "block.linear2.bias": "block.other.bias",
            "block.self_attn.out_proj.bias": "block.linear2.bias",
            "block.other.bias": "block.self_attn.out_proj.bias",
        },
    ]


class one_layer_for_all(Misconception):
    """Some blocks are missing, or get the weights of another: the i-th block is `h.i`, for all n_layer of them."""

    edits = {
        "enumerate(model.blocks)": [
            "enumerate(model.blocks[:1])",
            "enumerate(model.blocks[:-1])",
            "enumerate([model.blocks[0]] * len(model.blocks))",
        ]
    }


class order_of_layers(Minor):
    """The layers are in another order."""

    edits = {
        "enumerate(model.blocks)": [
            "enumerate(reversed(model.blocks))",
            "zip(sorted(range(len(model.blocks)), key=str), model.blocks)",
        ]
    }


class layers_of_the_published_model(Fundamental):
    """The published model's 12 layers stand in your code: count the model's own."""

    edits = {"enumerate(model.blocks)": "((i, model.blocks[i]) for i in range(12))"}


# Mistakes: the output layer


class head_forgotten(Minor):
    """An untied model's `lm_head.weight` is missing, so from_pretrained starts it at random."""

    edits = {"if not model.config.tie_word_embeddings:": "if False:"}


class head_is_the_embedding(Misconception):
    """The token embedding is written as `lm_head.weight`: in an untied model that is another matrix."""

    edits = {"= model.lm_head.weight": "= model.token_embedding.weight.clone()"}


class tied_head_shares_memory(Minor):
    """A tied `lm_head.weight` is the token embedding's own tensor, and save_file refuses one memory under two names:
    leave it out, or write a copy.
    """

    edits = {"if not model.config.tie_word_embeddings:": "if True:"}


class tying_not_said(Minor):
    """config.json does not say `tie_word_embeddings` as the model has it: without the setting, true counts."""

    variants = [
        {', "tie_word_embeddings"]': "]"},
        {"tensors = {": 'settings["tie_word_embeddings"] = False\ntensors = {'},
    ]


# Mistakes: the format


class not_contiguous(Fundamental):
    """A transposed tensor is a view, which save_file refuses: `.contiguous()` puts its numbers in order."""

    edits = {"t.detach().contiguous()": "t.detach()"}


class pickled(Fundamental):
    """`torch.save` writes a pickle, whatever the file is called: safetensors' own function is `save_file`."""

    edits = {"save_file({": "torch.save({", ', metadata={"format": "pt"}': ""}


class other_file_names(Minor):
    """The files have other names than from_pretrained looks for: `config.json` and `model.safetensors`."""

    edits = {
        '"config.json", folder / "model.safetensors"': [
            '"config.json", folder / "gpt2.safetensors"',
            '"gpt2.json", folder / "model.safetensors"',
        ]
    }


class one_file_only(Misconception):
    """Only one of the two files is written: from_pretrained needs the settings and the numbers."""

    variants = [
        {"settings_file.write_text(": "(lambda *args, **more: None)("},
        {"save_file({": "len({", ', weights_file, metadata={"format": "pt"}': ""},
    ]


class nothing_written(Fundamental):
    """No file is written: the two files are what is asked for."""

    code = "pass"


class half_precision(Minor):
    """The numbers are rounded to 16 bits: the logits then differ by more than 1e-4. Write float32."""

    variants = [
        {"t.detach()": ["t.detach().half()", "t.detach().bfloat16()"]},
        {"t.detach()": ["t.detach().half().float()", "t.detach().bfloat16().float()"]},
        {"tensors = {": 'settings["dtype"] = "float16"\ntensors = {'},
    ]


class numbers_rounded(Minor):
    """The numbers are rounded: write all digits that they have."""

    edits = {"t.detach()": ["t.detach().round(decimals=3)", "t.detach().round(decimals=2)"]}


# Mistakes: the settings


class heads_missing(Minor):
    """`n_head` is missing: then the published model's 12 heads count, and no tensor shows how many there are."""

    edits = {', "n_head"': ""}


class sizes_missing(Misconception):
    """A size is missing in config.json, or wrong: a missing one is the published model's. The tensors do not fit."""

    variants = [
        {', "n_layer"': ""},
        {', "n_positions"': ""},
        {'"vocab_size", ': ""},
        {', "n_embd"': ""},
        {"tensors = {": 'settings["n_positions"] -= 1\ntensors = {'},
    ]


class inner_missing(Minor):
    """`n_inner` is missing: then 4 · n_embd counts, and the feed-forward network may have another width."""

    edits = {', "n_inner"': ""}


class activation_missing(Minor):
    """`activation_function` is missing or fixed: without it the tanh form of GELU counts, and this model may have
    another.
    """

    variants = [
        {'"activation_function", ': ""},
        {
            "tensors = {": [
                'settings["activation_function"] = "gelu"\ntensors = {',
                'settings["activation_function"] = "relu"\ntensors = {',
            ]
        },
    ]


class epsilon_missing(Minor):
    """`layer_norm_epsilon` is missing or fixed at 1e-5: this model's norms may have another."""

    edits = {'"layer_norm_epsilon", ': ""}


class settings_of_the_published_model(Fundamental):
    """The settings are the published model's: this model has its own, in `model.config`."""

    edits = {"{name: getattr(model.config, name) for name in names}": "{}"}


class settings_by_other_names(Misconception):
    """config.json has names that from_pretrained does not know: those of `model.config` are meant."""

    edits = {
        "tensors = {": """
            sizes = {"layers": "n_layer", "heads": "n_head", "d_model": "n_embd", "context": "n_positions"}
            settings = {name: settings[own] for name, own in sizes.items()} | {"vocab_size": settings["vocab_size"]}
            tensors = {
        """
    }


class settings_not_json(Misconception):
    """config.json is not JSON: a dictionary's text in Python has other quotes, True and None. Use `json.dumps`."""

    edits = {"json.dumps(settings, indent=2)": "str(settings)"}


class settings_as_text(Minor):
    """The settings are written as texts: numbers and true or false have to stay what they are."""

    edits = {"getattr(model.config, name) for": "str(getattr(model.config, name)) for"}


# Mistakes: the folder


class overwritten(Misconception):
    """Files that are there already are overwritten: somebody's model is lost. Raise a FileExistsError first."""

    edits = {"if file.exists():": "if False:"}


class one_file_looked_for(Minor):
    """Only one of the two files is looked for, and the other is overwritten: either is a FileExistsError."""

    variants = [
        {"for file in (settings_file, weights_file)": ["for file in (settings_file,)", "for file in (weights_file,)"]},
        {"if file.exists():": "if settings_file.exists() and weights_file.exists():"},
    ]


class error_too_late(Minor):
    """The error comes when one of the files is written already: look for both first."""

    edits = {
        """    for file in (settings_file, weights_file):
        if file.exists():
            raise FileExistsError(f"{file} is there already")
""": "",
        'settings_file.write_text(json.dumps(settings, indent=2), encoding="utf-8")': [
            """
            with settings_file.open("x", encoding="utf-8") as file:
                file.write(json.dumps(settings, indent=2))
            if weights_file.exists():
                raise FileExistsError(weights_file)
            """,
            """
            settings_file.touch(exist_ok=False)
            weights_file.touch(exist_ok=False)
            settings_file.write_text(json.dumps(settings, indent=2), encoding="utf-8")
            """,
        ],
    }


class other_error(Minor):
    """The error is another one than FileExistsError: callers catch errors by their type."""

    edits = {"raise FileExistsError(": "raise ValueError("}


class not_refused(Minor):
    """If a file is there, nothing is written, and nobody is told: raise a FileExistsError."""

    edits = {'raise FileExistsError(f"{file} is there already")': "return"}


class folder_refused(Minor):
    """A folder that is there is refused, or one with other files in it: only the two files may not be there."""

    variants = [
        {"if file.exists():": "if folder.exists():"},
        {"if file.exists():": "if folder.exists() and any(folder.iterdir()):"},
    ]


class folder_not_made(Minor):
    """The folder is not made: if it is not there, nothing can be written into it."""

    edits = {"folder.mkdir(parents=True, exist_ok=True)": ""}


class path_or_text_alone(Minor):
    """`folder` may be a str or a Path, and the code takes only one of them: begin with `folder = Path(folder)`."""

    variants = [
        {"folder = Path(folder)": ""},
        {
            "folder = Path(folder)": "",
            'folder / "config.json", folder / "model.safetensors"': (
                'Path(folder + "/config.json"), Path(folder + "/model.safetensors")'
            ),
            "folder.mkdir(": "Path(folder).mkdir(",
        },
    ]


class another_file(Minor):
    """Another file is written into the folder, which is not asked for: config.json and model.safetensors are all."""

    edits = {
        "folder.mkdir(parents=True, exist_ok=True)": """
            folder.mkdir(parents=True, exist_ok=True)
            torch.save(model.state_dict(), folder / "pytorch_model.bin")
        """
    }


class folder_emptied(Misconception):
    """The folder is emptied first: what else is in it is lost, and only the two files may be written."""

    edits = {
        "folder.mkdir(parents=True, exist_ok=True)": """
            import shutil
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        """
    }


# Mistakes: the model


class model_changed(Misconception):
    """The model is changed (`.double()`, or a transposed `.data`): it is still in use. Only read from it."""

    variants = [
        {"tensors = {": "model.double()\ntensors = {"},
        {
            "tensors = {": """
                for block in model.blocks: block.linear1.weight.data = block.linear1.weight.data.T.contiguous()
                tensors = {
            """,
            "linear1.weight.T": "linear1.weight",
        },
    ]


class model_frozen(Minor):
    """The model cannot be trained afterwards: its parameters lost requires_grad. `.detach()` is enough."""

    edits = {"tensors = {": "model.requires_grad_(False)\ntensors = {"}


class mode_changed(Minor):
    """The model is in eval mode afterwards: training would go on without dropout. Saving needs no `model.eval()`."""

    edits = {"tensors = {": "model.eval()\ntensors = {"}


class model_replaced(Misconception):
    """Parts of the model are replaced or untied: what it shares, and what an optimizer holds, has to stay."""

    edits = {
        "tensors = {": [
            "model.lm_head.weight = nn.Parameter(model.lm_head.weight.detach().clone())\ntensors = {",
            "model.final_norm.bias = nn.Parameter(model.final_norm.bias.detach().clone())\ntensors = {",
        ]
    }
