"""Load the stories and the models of notebook 12, and draw its figures.

The models are packed in `broken_models.packed`, so that a glance at neither file tells which model has which bug. Who
unpacks them finds out what experiments would have told. What is marked is `diagnose`, on other models.
"""

from notebook_tools import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, cells_of, show, subplots

GROUPS = {"suspects": "ABCD", "ward": "EFGHIJKL"}
COLOURS = (BLACK, ORANGE, SKY, GREEN, BLUE, PURPLE, GREY, "#8C6D31")
STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1)), (0, (7, 3)), (0, (3, 1, 1, 1, 1, 1)))


def read_stories():
    """Return the ids of the training and the validation text, V, the lines of comparison, and the tokenizer."""
    import json
    import math
    from pathlib import Path

    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    texts = [Path(name).read_text(encoding="utf-8") for name in ("stories.txt", "stories-validation.txt")]
    tokenizer = Tokenizer(models.BPE())  # byte-level BPE, as in notebooks 02 and 09
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator([texts[0]], trainers.BpeTrainer(vocab_size=1000, show_progress=False))
    V = tokenizer.get_vocab_size()
    train, new = (torch.tensor(tokenizer.encode(text).ids) for text in texts)
    pairs = torch.bincount(train[:-1] * V + train[1:], minlength=V * V).view(V, V).double() + 0.01
    floor = json.loads(Path("stories.json").read_text(encoding="utf-8"))["validation"]["floor"]  # nats per character
    lines = {
        "ln V": math.log(V),
        "unigram": -(pairs.sum(0) / pairs.sum())[new].log().mean().item(),
        "bigram": -(pairs / pairs.sum(1, keepdim=True))[new[:-1], new[1:]].log().mean().item(),
        "floor": floor * len(texts[1]) / len(new),
    }
    return train, new, V, lines, tokenizer


def broken_models(group, name, V, T=33):
    """Return the models of "suspects" or of "ward", untrained: {letter: (model, learning rate)}, and `right`.

    Their order depends on your name, and is drawn anew each time if you give none. `right(found)` says how many
    findings of {letter: finding} are right. Among the suspects is one called "sound".
    """
    import base64
    import json
    import math
    import random
    import zlib
    from pathlib import Path

    import torch
    from torch import nn

    packed = Path("broken_models.packed").read_text("ascii").replace("\n", "")
    kept = json.loads(zlib.decompress(base64.b85decode(packed)))
    order = [finding for finding in kept[group] if finding != "sound"]  # as they lie in the file
    random.Random(f"{name}: {group}" if name else None).shuffle(order)
    lying = dict(zip(GROUPS[group], order, strict=True))
    made = {}
    for letter, finding in (({"sound": "sound"} if group == "suspects" else {}) | lying).items():
        source, rate = kept[group][finding]
        names: dict = {"torch": torch, "nn": nn, "F": nn.functional, "math": math}
        exec(compile(source, "<broken model>", "exec"), names)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(7)
            made[letter] = names["Patient"](V, 48, 4, 2, T), rate

    def right(found):
        if set(found) != set(lying):
            raise ValueError(f"right counts the findings of all: give one for each of {', '.join(lying)}")
        return sum(found[letter] == lying[letter] for letter in lying)

    return made, right


def draw_losses(losses, lines, title, controls):
    """Draw {name: losses} over the steps, horizontal lines {name: height}, and the band of {rate: losses}."""
    fig, ax = subplots(figsize=(9, 4.4))
    means, sound = (
        {name: [sum(values[i : i + 5]) / 5 for i in range(len(values) - 4)] for name, values in group.items()}
        for group in (losses, controls)
    )
    low, high = ([choose(step) for step in zip(*sound.values(), strict=True)] for choose in (min, max))
    ax.fill_between(range(len(low)), low, high, color=GREY, alpha=0.3, label=f"sound, rate {min(sound)}–{max(sound)}")
    for (name, values), colour, style in zip(means.items(), COLOURS, STYLES, strict=False):
        ax.plot(values, color=colour, ls=style, lw=1.8, label=name)
    for name, height in lines.items():
        ax.axhline(height, color=RED if name == "floor" else GREY, lw=2 if name == "floor" else 1)
        ax.text(len(low), height, f" {name} {height:.2f}", va="center")
    ax.set(title=title, xlabel="training step", ylabel="training loss (nats per token)", ylim=(0, None))
    ax.set_xlim(0, len(low))
    ax.legend(loc="upper right", bbox_to_anchor=(1, 0.91), ncols=3, fontsize=10)
    ends = ", ".join(f"{name} {values[-1]:.2f}" for name, values in means.items())
    drawn = ", ".join(f"{name} {height:.2f}" for name, height in lines.items())
    alt = f"{len(means)} losses over {len(low) + 4} steps, all falling, among lines. Ends: {ends}. Lines: {drawn}."
    show(fig, f"{alt} Grey band, sound models at several rates: {low[-1]:.2f} to {high[-1]:.2f}.")


def draw_influence(moved, name):
    """Draw how far the answer at t (row) moves when the token at s (column) changes; dark: not at all."""
    fig, ax = subplots(figsize=(5, 4.2), layout="constrained")
    T = len(moved)
    image = ax.imshow(moved.clamp(min=1e-7).log10(), cmap="cividis", vmin=-5, vmax=1)
    ax.plot([-0.5, T - 0.5], [-0.5, T - 0.5], color="white", lw=1, ls=":")
    ax.set(title=f"{name}:\nwhich answers move?", xlabel="changed token s", ylabel="answer t")
    fig.colorbar(image, label="largest change (logarithm to base 10)")
    future, past = (moved.triu(1) > 1e-5).sum(), (moved.tril() > 1e-5).sum()
    show(fig, f"Heat map. Above the diagonal, in the future, {future} cells are not zero; on and below it {past}.")


def own_gpt(V, T=33):
    """Return your GPT if notebook 09 lies in the folder beside this one, else GPT-2 of the library, both untrained."""
    import ast

    wanted = {"GPTConfig", "TorchBlock", "Block", "GPT"}
    found: dict = {}
    try:
        exec("import math, torch\nimport torch.nn.functional as F\nfrom dataclasses import dataclass\n"
             "from functools import partial\nfrom torch import nn", found)  # fmt: skip
        for cell in cells_of("09-gpt"):
            source = "".join(cell["source"])
            if any(f"class {name}" in source for name in wanted):
                parts = [node for node in ast.parse(source).body if getattr(node, "name", "") in wanted]
                exec(compile(ast.Module(parts, []), "<09>", "exec"), found)
        gpt = found["GPT"](found["GPTConfig"](V, T, 2, 4, 48))
        gpt(found["torch"].zeros(1, 2, dtype=int), found["torch"].tensor([[0, -100]]))
        print("your own GPT, from notebook 09")
    except Exception as error:  # not there, not answered yet, or it stops
        from transformers import GPT2Config, GPT2LMHeadModel

        class Library(GPT2LMHeadModel):  # called as yours is
            def forward(self, ids, targets):
                logits = super().forward(ids).logits
                return logits, found["F"].cross_entropy(logits.flatten(0, 1), targets.flatten())

        sizes = {"vocab_size": V, "n_positions": T, "n_embd": 48, "n_layer": 2, "n_head": 4}
        gpt = Library(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))
        gpt.token_embedding, gpt.position_embedding = gpt.transformer.wte, gpt.transformer.wpe
        print(f"GPT-2 of the transformers library: your GPT of 09 does not run here ({type(error).__name__}: {error})")
    return gpt
