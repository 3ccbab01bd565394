"""Bring answers and models of notebook 09 into notebook 10, where they lie in the folder beside it."""

import copy
import os
from pathlib import Path
from types import SimpleNamespace

import torch

NINE = Path("../09-gpt")
OURS = "gpt2-stories"
PARTS = {  # the answers of which a block is made
    "07-multi-head": ("split_heads", "merge_heads", "MultiHeadAttention", "copy_from_torch"),
    "08-blocks": ("LayerNorm", "FeedForward", "TransformerBlock"),
}
AROUND = """
import math, torch, torch.nn.functional as F
from functools import partial
from torch import nn
class Block(nn.TransformerEncoderLayer):  # around which notebook 09 asks for a GPT
    def __init__(self, config):
        gelu, sizes = partial(F.gelu, approximate="tanh"), (config.n_embd, config.n_head, 4 * config.n_embd)
        super().__init__(*sizes, config.dropout, gelu, batch_first=True, norm_first=True, bias=config.bias)
    def forward(self, x, mask=None):
        return super().forward(x, src_mask=mask)
"""


def own_answers(answers):
    """Return what these of your answers define: {notebook: their names}."""
    from notebook_tools import cells_of

    found: dict = {"GPTConfig": SimpleNamespace}
    exec(AROUND, found)
    for notebook, names in answers.items():
        for cell in cells_of(notebook):
            if cell["metadata"].get("nbgrader", {}).get("grade_id") in names:
                exec("".join(cell["source"]), found)
    return found


def own_gpt(config):
    """Return a new GPT of your notebook 09, of the sizes in a GPT2Config."""
    more = {"block_size": config.n_positions, "dropout": 0.0, "bias": True, "tie_weights": True}
    return own_answers({"09-gpt": ["GPT"]})["GPT"](SimpleNamespace(**config.to_dict() | more))


def filled(given, load, model):
    """Return (a GPT with the numbers of `model`, whose it is): yours if it is there, else a `given` one; or None."""
    config = copy.deepcopy(model.config)
    config.block_size = config.n_positions  # 09's name for it, which `generate` reads
    for make, whose in ((own_gpt, "your own GPT, from notebook 09"), (given, "the given GPT")):
        try:
            gpt = make(config).to(model.device).eval()
            load(gpt, model)
            return gpt, whose
        except (FileNotFoundError, NotImplementedError):  # no notebook 09 here, or not answered yet
            continue
        except Exception as error:
            if make is given:
                raise
            print(f"Your own GPT could not be filled ({type(error).__name__}: {error}), so the given one is.")
    print("load_gpt2_weights is not answered yet: answer it, then run this cell again.")
    return None, "nobody's GPT"


def own_blocks(gpt):
    """Return {their name: blocks} made of your answers to 07 and 08, with the numbers of those of your GPT; or {}."""
    theirs = gpt.blocks
    if type(theirs[0]) is torch.nn.TransformerEncoderLayer:
        return {}  # the given GPT
    C, device = theirs[0].self_attn.embed_dim, next(gpt.parameters()).device
    x, future = torch.randn(1, 9, C, device=device), torch.ones(9, 9, dtype=torch.bool, device=device).triu(1)
    try:
        found = own_answers(PARTS)
        found["Attention"] = found["MultiHeadAttention"]  # what the block of notebook 08 calls
        blocks = torch.nn.ModuleList(_remade(block, found).to(device).eval() for block in theirs)
        pairs = zip(blocks, theirs, strict=True)
        with torch.no_grad():
            same = [torch.allclose(a(x, future), b(x, future), atol=1e-3, rtol=1e-4) for a, b in pairs]
        assert all(same), "they give something else than PyTorch's"
        return {"your blocks, of notebooks 07 and 08": blocks}
    except (FileNotFoundError, NotImplementedError):  # not here, or not answered yet
        return {}
    except Exception as error:
        print(f"Your blocks of notebooks 07 and 08 are not used ({type(error).__name__}: {error}).")
        return {}


@torch.no_grad()
def _remade(theirs, found):
    """Return a block of these answers with the numbers of PyTorch's block."""
    attention, C, wide = theirs.self_attn, theirs.self_attn.embed_dim, theirs.linear1.out_features
    block = found["TransformerBlock"](C, attention.num_heads, wide, norm_first=True)
    block.attn = found["MultiHeadAttention"](C, attention.num_heads)
    found["copy_from_torch"](block.attn, attention)  # cuts in_proj into q_proj, k_proj and v_proj
    block.norm1, block.norm2 = found["LayerNorm"](C), found["LayerNorm"](C)
    block.norm1.load_state_dict(theirs.norm1.state_dict())
    block.norm2.load_state_dict(theirs.norm2.state_dict())
    block.ff = found["FeedForward"](C, wide, activation=torch.nn.GELU("tanh"))
    numbers = {p.shape: p for layer in (theirs.linear1, theirs.linear2) for p in layer.parameters()}
    for p in block.ff.parameters():  # its names are free, and the four shapes differ
        p.copy_(numbers[p.shape])
    return block


class _Even(torch.nn.Module):
    """A model of three tokens that are always equally likely, to try a `generate` with."""

    config = SimpleNamespace(block_size=4)

    def forward(self, ids):
        return torch.zeros(*ids.shape, 3), None


def own_generate():
    """Return (generate, whose it is): that of your notebook 09 if it works, else a plain one with temperature only."""
    try:
        found = own_answers({"09-gpt": ["next_token_distribution", "generate"]})["generate"]
        ids = torch.zeros(2, 1, dtype=torch.long)
        written = found(_Even(), ids, 5, temperature=0.5, top_k=2, generator=torch.Generator())
        assert written.shape == (2, 6), f"it gives ids of shape {tuple(written.shape)} where (2, 6) are asked for"
        return found, "your own generate, from notebook 09"
    except (FileNotFoundError, KeyError, NotImplementedError):
        pass
    except Exception as error:
        print(f"Your own generate is not used ({type(error).__name__}: {error}).")
    return _generate, "a given generate"


@torch.no_grad()
def _generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, generator=None):
    for _ in range(max_new_tokens):  # the largest ratio of p to exponential noise is a draw from p
        p = (model(ids[:, -model.config.block_size :])[0][:, -1] / max(temperature, 1e-4)).softmax(-1)
        noise = torch.empty_like(p).exponential_(generator=generator) if temperature else 1.0
        ids = torch.cat([ids, (p / noise).argmax(-1, keepdim=True)], 1)
    return ids


def kept_gpt(make, folder=NINE / "my-models"):
    """Return the model that notebook 09 kept last, or ours: gpt, tokenizer, the start of a text, name.

    make: the class of a GPT with 09's attribute names, to be built from a GPT2Config.
    """
    temporary = os.environ.get("COURSE_MODELS") == "temporary"  # outputs that are compared depend on nobody's files
    files = [] if temporary else sorted(folder.glob("gpt-*.pt"), key=lambda file: file.stat().st_mtime)
    if not files:
        print(f"Notebook 09 has kept no model in {folder.as_posix()}, so here is ours, {OURS}.")
        return _ours()
    try:
        return _opened(make, files[-1])
    except Exception as error:  # somebody's file may hold anything, and the notebook goes on
        print(f"{files[-1].as_posix()} cannot be opened ({type(error).__name__}: {error}), so here is ours, {OURS}.")
        return _ours()


def _opened(make, file):
    from tokenizers import Tokenizer
    from transformers import GPT2Config

    kept = torch.load(file, map_location="cpu", weights_only=True)  # no code from it is run
    sizes = kept["config"]
    names = {"n_positions": "block_size", "tie_word_embeddings": "tie_weights"}
    shared = ("vocab_size", "n_embd", "n_layer", "n_head")
    config = GPT2Config(**{name: sizes[names.get(name, name)] for name in (*shared, *names)})
    config.block_size = sizes["block_size"]
    gpt = make(config).eval()
    biases = {name: torch.zeros_like(t) for name, t in gpt.state_dict().items() if name.endswith("bias")}
    gpt.load_state_dict(biases | _for_torch_blocks(kept["state"]))  # a model without biases has zeros there
    tokenizer = Tokenizer.from_str(kept["vocabulary"])
    return SimpleNamespace(gpt=gpt, tokenizer=tokenizer, start="\n", name=f"yours, {file.name}")


def _for_torch_blocks(state):
    """Return the weights with the names of PyTorch's block, where the blocks were answers to 07 and 08."""
    renamed, fused = {}, {}
    for name, t in state.items():
        block, _, part = name.rpartition(".attn.")
        kind = name.rsplit(".", 1)[-1]
        if block and part.startswith(("q_proj", "k_proj", "v_proj")):
            fused.setdefault(f"{block}.self_attn.in_proj_{kind}", {})[part[0]] = t
        elif block:
            renamed[f"{block}.self_attn.{part}"] = t
        elif ".ff." in name:  # its names are free: the wide layer has a bias of 4C numbers and a matrix [4C, C]
            wide = t.shape[0] == 4 * state["final_norm.weight"].shape[0]
            renamed[f"{name.split('.ff.')[0]}.linear{1 if wide else 2}.{kind}"] = t
        else:
            renamed[name] = t
    return renamed | {name: torch.cat([parts[letter] for letter in "qkv"]) for name, parts in fused.items()}


class _Library(torch.nn.Module):
    """A model of the library's, called as the GPT of notebook 09 is."""

    def __init__(self, model):
        super().__init__()
        self.model, self.config = model, model.config
        self.config.block_size = model.config.n_positions

    def forward(self, ids):
        return self.model(ids).logits, None


def _ours():
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(OURS), AutoModelForCausalLM.from_pretrained(OURS)
    start = tokenizer.eos_token
    return SimpleNamespace(gpt=_Library(model.eval()), tokenizer=tokenizer.backend_tokenizer, start=start, name=OURS)
