"""Draw the figures of notebook 09, and stand in for answers that are not written yet."""

from notebook_tools import BLACK, BLUE, GREEN, GREY, ORANGE, RED, SKY, show, subplots

import torch

MINE = {"07-multi-head": "split_heads merge_heads MultiHeadAttention",
        "08-blocks": "LayerNorm FeedForward TransformerBlock"}  # fmt: skip
LOOKS = {"√(1 + additions)": {"color": BLACK, "ls": ":"}, "scaled": {"ls": "--"}, "plain 2e-3": {"ls": "--"}}
LOOKS |= {"each batch": {"color": "#BBBBBB", "lw": 0.8}, "validation": {"color": BLUE, "marker": "o", "ms": 4}}


def draw_machine():
    """Draw a GPT from top to bottom with the shape after each part, and the inside of a block."""
    fig, ax = subplots(figsize=(9.5, 5.6))
    names = "ids", "token_embedding", "+ position_embedding", "blocks[0]", "blocks[1]", "…", "final_norm", "lm_head"
    inside, colours = ("x", "x + attention(norm1(x))", "x + feed_forward(norm2(x))"), [GREY, SKY, SKY, *[ORANGE] * 3]
    for x, top, column, fills in ((0.0, 0.0, names, [*colours, GREEN, SKY]), (3.3, -3.6, inside, [ORANGE] * 3)):
        for i, (name, fill) in enumerate(zip(column, fills, strict=True)):
            box = {"boxstyle": "round,pad=0.45", "fc": fill, "alpha": 0.4}
            ax.text(x, top - i, name, ha="center", va="center", bbox=box)
            if i:
                ax.annotate("", (x, top - i + 0.3), (x, top - i + 0.7), arrowprops={"arrowstyle": "->"})
            if not x and name != "…":
                ax.text(-1.4, -i, f"[B, T{['', ', C', ', V'][(i > 0) + (i == 7)]}]", ha="right", va="center")
    ax.plot([0.56, 1.75, 4.85, 4.85, 1.75, 1.75], [-3, -2.75, -2.75, -6.1, -6.1, -2.75], color=GREY, ls=":")
    ax.text(3.3, -3.1, "inside one block (pre-norm)", ha="center", style="italic")
    ax.plot([-2.45, -3.05, -3.05, -2.45], [-1, -1, -7, -7], color=RED)
    ax.text(-3.2, -4, "one matrix,\nif the weights\nare tied", ha="right", va="center", color=RED)
    ax.set(xlim=(-4.5, 5), ylim=(-7.6, 0.6), title="A GPT from top to bottom, and the shape after each part")
    ax.axis("off")
    show(fig, "Boxes from top to bottom: ids [B, T]; token_embedding, plus position_embedding, and a stack of blocks, "
              "all [B, T, C]; final_norm; lm_head [B, T, V]. Inside a block: x, x + attention(norm1(x)), x + feed_"
              "forward(norm2(x)). A line joins token_embedding and lm_head: one matrix, if they are tied.")  # fmt: skip


def draw_shares(sizes):
    """Draw where the parameters of some models are: {model: {part: number}}."""
    fig, ax = subplots(figsize=(9, 3.8))
    for i, parts in enumerate(sizes.values()):
        left, whole = 0.0, sum(parts.values())
        for (part, number), colour in zip(parts.items(), (SKY, BLACK, ORANGE, GREEN), strict=True):
            ax.barh(i, number / whole, left=left, color=colour, ec="white", label=None if i else part)
            if number > 0.05 * whole:
                ax.text(left + number / whole / 2, i, f"{number / whole:.0%}", ha="center", va="center")
            left += number / whole
    ax.set(title="Where the parameters of GPT-2 are (norms: too few to see)", xlim=(0, 1), ylim=(3.5, -0.5))
    ax.set_yticks(range(4), [f"{name}\n{sum(p.values()) / 1e6:,.0f} M" for name, p in sizes.items()])
    ax.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.17), frameon=False, fontsize=10)
    show(fig, "Stacked bars. " + " ".join(f"{name}: " + ", ".join(f"{part} {n / sum(p.values()):.1%}" for part, n in
              p.items()) + "." for name, p in sizes.items()))  # fmt: skip


def draw_lines(curves, title, x, y, levels=None, **limits):
    """Draw curves {name: (places, values)} against x, with named heights."""
    fig, ax = subplots(figsize=(9, 4.2))
    for (name, (places, values)), colour in zip(curves.items(), (BLUE, ORANGE, GREEN, RED, BLACK), strict=False):
        ax.plot(places, values, label=name, **{"color": colour} | LOOKS.get(name, {}))
    for (name, height), style in zip((levels or {}).items(), (":", "-.", (0, (5, 3)), "-")):  # noqa: B905
        ax.axhline(height, color=BLACK, ls=style, lw=1)
        ax.text(1.01, height, f"{name} {height:.2f}", va="center", transform=ax.get_yaxis_transform())
    ax.set(title=title, xlabel=x, ylabel=y, **limits)
    ax.legend(frameon=False)
    show(fig, f"{title}. Line plot. " + "; ".join(f"{name}: {v[0]:.2f} to {v[-1]:.2f}" for name, (_, v) in
              curves.items() if len(v)) + "".join(f"; {n}: {h:.2f}" for n, h in (levels or {}).items()))  # fmt: skip


def draw_dials(table, spelled):
    """Draw the nine likeliest tokens under each dial: {prompt: {dial: probabilities}}; spelled: id -> text."""
    fig, axes = subplots(2, 5, figsize=(13, 5.6), sharex=True, layout="constrained")
    for row, (prompt, dials) in zip(axes, table.items(), strict=True):
        best = next(iter(dials.values())).topk(9).indices
        for ax, (name, p) in zip(row, dials.items(), strict=True):
            ax.barh(range(9), p[best], color=BLUE)
            ax.set(yticks=range(9), yticklabels=[spelled(i) if ax is row[0] else "" for i in best.tolist()],
                   ylim=(8.6, -0.6), title=f"{name}\n{(p > 1e-3).sum()} tokens above 0.001")  # fmt: skip
        row[0].set_ylabel(f"“{prompt.strip()} …”")
    fig.supxlabel("probability of the nine likeliest next tokens, under each dial")
    show(fig, "Bar charts. Tokens above 0.001: " + "; ".join(f"{prompt.strip()}, {name}: {(p > 1e-3).sum()}"
              for prompt, dials in table.items() for name, p in dials.items()))  # fmt: skip


def story_now(model, ids, decode):
    """Continue ids [1, T] by 60 tokens, with the same dice at each call, and return the first line of what is new."""
    dice, given = torch.Generator().manual_seed(4), ids.shape[1]
    for _ in range(60):  # the largest ratio of p to exponential noise is a draw from p
        p = (model(ids)[0][0, -1].detach().cpu() / 0.7).softmax(-1)
        ids = torch.cat([ids, (p / p.clone().exponential_(generator=dice)).argmax().to(ids).view(1, 1)], 1)
    return decode(ids[0, given:].tolist()).split("\n")[0]


def ready(name, works):
    """Return whether your answer is there and works() holds, and say so."""
    try:
        good, why = works(), "it gives something else than asked for"
    except Exception as error:
        good, why = False, "not answered yet" if "Not answered" in str(error) else f"{type(error).__name__}: {error}"
    print(f"{name}: " + ("yours" if good else f"not used ({why})"))
    return bool(good)


def own_block(theirs, config):
    """Return a block made of your answers to 07 and 08, if it runs and sees no future; else PyTorch's. Say which."""
    import json
    from pathlib import Path

    found: dict = {}

    def own(config):
        C = config.n_embd
        block = found["TransformerBlock"](C, config.n_head, 4 * C, config.dropout, norm_first=True)
        block.attn = found["MultiHeadAttention"](C, config.n_head)
        block.ff = found["FeedForward"](C, 4 * C, config.dropout, torch.nn.GELU("tanh"))
        return block

    def works():
        exec("import math, torch\nimport torch.nn.functional as F\nfrom torch import nn", found)
        for name, names in MINE.items():
            for cell in json.loads(Path(f"../{name}/{name}.ipynb").read_text("utf-8"))["cells"]:
                if cell["metadata"].get("nbgrader", {}).get("grade_id") in names.split():
                    exec("".join(cell["source"]), found)
            found["Attention"] = found.get("MultiHeadAttention")  # what the block of notebook 08 calls
        x, future, block = torch.randn(2, 1, 9, config.n_embd), torch.ones(9, 9).triu(1).bool(), own(config).eval()
        x[1, :, :5] = x[0, :, :5]
        first, second = block(x[0], future), block(x[1], future)
        return first.shape == x[0].shape and torch.allclose(first[:, :5], second[:, :5], atol=1e-4)

    usable = ready("the blocks, from notebooks 07 and 08", works)
    return (lambda config: own(config) if config.bias else theirs(config)) if usable else theirs


def library_gpt(config):
    """Return GPT-2 of the transformers library, untrained, to be called as the GPT of the notebook is."""
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes: dict = {"n_embd": config.n_embd, "n_layer": config.n_layer, "n_head": config.n_head, "bos_token_id": 0}
    off: dict = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "eos_token_id": 0, "use_cache": False}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=config.vocab_size, n_positions=config.block_size, **sizes, **off))
    called, model.blocks, model.config.block_size = model.forward, model.transformer.h, config.block_size

    def forward(ids, targets=None):
        logits = called(ids).logits
        return logits, None if targets is None else torch.nn.functional.cross_entropy(logits.transpose(1, 2), targets)

    model.forward = forward
    return model
