"""Draw the figures of notebook 08, and read what its models learnt."""

from notebook_tools import BLACK, BLUE, GREEN, GREY, ORANGE, RED, SKY, heat_map, show, subplots

import torch

LIGHT = {"attention": "#FBE3B3", "feed-forward": "#BCE3D6", "norm": "#E6D5EC"}
LOOKS = {"replaced": (RED, "--"), "added": (BLUE, "-"), "post-norm": (RED, "--"), "pre-norm": (BLUE, "-")}
LOOKS |= {"replaced, with norm": (ORANGE, "-."), "no feed-forward": (GREEN, "-.")}
LOOKS |= {"no additions": (BLACK, ":"), "added, with norm": (GREEN, ":"), "half the rate": (SKY, ":")}
LOOKS |= {"warm-up": (ORANGE, "-."), "half after ten full steps": (GREEN, "--")}
LOOKS |= {"right": (BLUE, "-"), "A": (GREEN, ":"), "B": (ORANGE, "-."), "C": (RED, "--")}
LOOKS |= {"ReLU": (BLUE, "-"), "GELU": (RED, "--"), "SiLU": (GREEN, "-.")}
LOOKS |= {"p = 0.0": (RED, "--"), "p = 0.1": (ORANGE, "-."), "p = 0.2": (GREEN, ":"), "p = 0.5": (BLUE, "-")}
LOOKS |= {"no feed-forward, 84 wide": (ORANGE, "--")}


def draw_curves(panels, x, levels=None, start=0, at=None, last=1):
    """Draw a plot for each panel, {(title, label of y): {name of a curve: values}}.

    x: label; levels: named heights; last: each value is drawn as the mean of so many, up to and with it.
    """
    size, logs = (min(3 + 5 * len(panels), 15), 4.2), ["gradient" in y or "share" in y for _, y in panels]
    fig, axes = subplots(1, len(panels), figsize=size, squeeze=False, sharey=all(logs), layout="constrained")
    about = []
    for ax, log, ((title, y), curves) in zip(axes[0], logs, panels.items(), strict=True):
        for name, values in curves.items():
            colour, style = LOOKS.get(name, (BLACK, "-"))  # for a curve of the reader's
            recent = [values[max(0, i - last) : i] for i in range(1, len(values) + 1)]
            values = [sum(part) / len(part) for part in recent]
            ax.plot(at or range(start, start + len(values)), values, style, color=colour, lw=2.2, label=name)
            about.append(f"{title}, {name}: from {values[0]:.2g} to {values[-1]:.2g}")
        title += f", mean of the last {last} steps" * (last > 1)
        ax.set(title=title, xlabel=x, ylabel=y, yscale="log" if log else "linear")
    for name, height in (levels or {}).items():
        for ax, (_, y) in zip(axes[0], panels, strict=True):
            if "nats" in y:
                ax.axhline(height, color=BLACK, ls=":", lw=1)
        axes[0][0].text(1.01, height, f"{name} {height:.2f}", va="center", transform=axes[0][0].get_yaxis_transform())
    place = {"loc": "lower left", "bbox_to_anchor": (0, 0.08)} if len(levels or {}) > 1 else {"loc": "best"}
    axes[0][0].legend(**place)
    show(fig, f"Line plots. x: {x}. " + "; ".join(about) + ".")


def draw_bars(stages):
    """Draw the features of a vector as bars, once for each stage, {name: vector}."""
    fig, axes = subplots(1, len(stages), figsize=(12.5, 3.2), sharey=True, layout="constrained")
    for ax, (name, vector) in zip(axes, stages.items(), strict=True):
        bars = ax.bar(range(1, len(vector) + 1), vector.tolist(), color=[BLUE, ORANGE, GREEN, SKY])
        ax.bar_label(bars, [f"{value:.2g}" for value in vector.tolist()], padding=2)
        ax.axhline(0, color=BLACK, lw=1)
        ax.set(title=name, xlabel="feature", xticks=range(1, len(vector) + 1))
        ax.margins(y=0.15)
    show(fig, "Bars. " + "; ".join(f"{name}: {[round(v, 2) for v in one.tolist()]}" for name, one in stages.items()))


def draw_stream(*orders):
    """Draw two blocks along the residual stream, once for each order: None (no norms), "post" or "pre"."""
    fig, axes = subplots(len(orders), 1, figsize=(13, 3 * len(orders)), squeeze=False, layout="constrained")
    titles = {None: "The residual stream of one word: two blocks read from it and write to it",
              "post": "Post-norm: the norms stand on the stream",
              "pre": "Pre-norm: the norms stand on the branches, and one at the very end"}  # fmt: skip
    for ax, order in zip(axes[:, 0], orders, strict=True):
        arrow = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", (13.5, 0), (0, 0), arrowprops=arrow | {"lw": 8, "color": SKY, "mutation_scale": 28})
        norms = [(12.8, 0.0)] if order == "pre" else []
        for i, name in enumerate(("attention", "feed-forward") * 2):
            x = 0.75 + 2.95 * i
            ax.plot([x, x, x + 2, x + 2], [0.1, 1.6, 1.6, 1.2], color=BLACK, lw=1.2)
            ax.annotate("", (x + 2, 0.2), (x + 2, 1.2), arrowprops=arrow | {"color": BLACK})
            for at, word, look in ((x + 1, name, {"fc": LIGHT[name]}), (x + 2, "+", {"fc": "white"})):
                ax.text(at, 1.6 * (word == name), word, ha="center", va="center", bbox=look | {"pad": 6}, zorder=4)
            norms += [(x, 0.8)] * (order == "pre") + [(x + 2.5, 0.0)] * (order == "post")
            if order is None:
                ax.text(x - 0.08, 0.75, "read", rotation=90, ha="right", va="center")
                ax.text(x + 2.08, 0.75, "write", rotation=270, ha="left", va="center")
            if i % 2:
                ax.plot([x - 2.95] * 2 + [x + 2.8] * 2, [-0.5, -0.62, -0.62, -0.5], color=GREY, lw=1.2)
                ax.text(x - 0.1, -0.7, f"block {i // 2 + 1}", ha="center", va="top", color=GREY)
        for x, y in norms:
            ax.text(x, y, "norm", ha="center", va="center", zorder=4, bbox={"fc": LIGHT["norm"], "pad": 4})
        ax.text(-0.1, 0, "embedding", ha="right", va="center")
        ax.text(13.6, 0, "output", ha="left", va="center")
        ax.set(title=titles[order], xlim=(-1.3, 14.4), ylim=(-1, 2.1), xticks=[], yticks=[], frame_on=False)
    show(fig, "A thick arrow, the stream, runs from embedding to output. Attention and feed-forward stand along "
              "it, twice: a thin line leads up into each of them and back down to a plus on the stream. "
              + ". ".join(titles[order] for order in orders) + ".")  # fmt: skip


@torch.no_grad()
def tell(model, data, chars, n=150, T=32):
    """Return the text's first T characters and n more, each drawn from what a model of notebook 08 predicts."""
    ids, generator = data[:T].tolist(), torch.Generator().manual_seed(0)
    for _ in range(n):
        rows = torch.tensor([[*ids[-T:], 0]], device=model.head.weight.device)  # the 0 is only a target
        logits = model.head(model.read(model.streams(rows)[-1], rows)[1])[0, -1]
        ids.append(torch.multinomial(logits.softmax(-1).cpu(), 1, generator=generator).item())
    return "".join(chars[i] for i in ids)


def draw_maps(maps, *labels):
    """Draw tables of how strongly output t depends on input s, {title: [T, T]}; labels: the words of each."""
    widths = [len(words) for words in labels]
    fig, axes = subplots(1, len(maps), figsize=(13, 5), width_ratios=widths, layout="constrained")
    about = []
    for ax, (name, sizes), words in zip(axes, maps.items(), labels, strict=True):
        heat_map(ax, sizes.tolist(), words, words, lambda size: f"{size:.1f}" if size else "0", vmin=0)
        ax.set(title=f"|∂ out_t / ∂ in_s|, {name}", xlabel="input s", ylabel="output t", anchor="N")
        about.append(f"{name}: {(sizes == 0).sum()} of {sizes.numel()} cells are zero")
    show(fig, f"Tables of derivatives. {'; '.join(about)}.")


def draw_to_scale(C=768):
    """Draw the matrices of a block of GPT-2 small: a square for C² weights."""
    fig, ax = subplots(figsize=(10, 4.4))
    squares = [(f"$W_{name}$", 1.15 * (i % 2), 1.15 * (i // 2), 1, 1) for i, name in enumerate("VOQK")]
    for name, x, y, width, height in (*squares, ("$W_1$", 3.3, 0, 1, 4), ("$W_2$", 4.9, 0, 4, 1)):
        part = "feed-forward" if width * height > 1 else "attention"
        ax.bar(x, height, width, y, align="edge", color=LIGHT[part], ec=BLACK)
        ax.text(x + width / 2, y + height / 2, name, ha="center", va="center", fontsize=13)
    ax.text(1.1, 2.3, f"attention: 4 squares,\n4 · {C}² = {4 * C * C:,}", ha="center", va="bottom")
    ax.text(6.9, 1.3, f"feed-forward network: 8 squares,\n8 · {C}² = {8 * C * C:,}", ha="center", va="bottom")
    ax.set(aspect="equal", title="The weights of one block of GPT-2 small, to scale")
    ax.axis("off")
    show(fig, "Matrices to scale. Attention: four squares. Feed-forward network: one four squares high, one four wide.")
