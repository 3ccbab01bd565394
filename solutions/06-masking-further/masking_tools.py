# Copy of transformer_exercises/shared_modules/masking_tools.py: edit that file, then run `autograder release`.
"""Draw the figures of notebook 06 and of its optional notebook."""

from notebook_tools import BLACK, BLUE, GREY, ORANGE, RED, SKY, heat_map, show, subplots


def draw_shifted(words):
    """Draw a sentence as inputs, and below them as targets, moved on by one step. One target is linked to its input."""
    fig, ax = subplots(figsize=(11, 2.4))
    for t, pair in enumerate(zip(["<s>", *words], words, strict=False)):
        for y, word, colour in zip((1, 0), pair, (SKY, ORANGE), strict=True):
            box = {"boxstyle": "round,pad=0.4", "fc": colour, "alpha": 0.45}
            ax.text(t, y, word, ha="center", va="center", bbox=box)
        ax.annotate("", (t, 0.25), (t, 0.75), arrowprops={"arrowstyle": "->", "color": GREY})
        ax.text(t, -0.5, str(t), ha="center", va="center", color=GREY)
    linked = 3
    arrow = {"arrowstyle": "->", "color": RED, "lw": 2.5, "mutation_scale": 18}
    ax.annotate("", (linked + 0.72, 0.8), (linked + 0.28, 0.2), arrowprops=arrow)
    for height, label in ((1, "inputs"), (0, "targets"), (-0.5, "position t")):
        ax.text(-0.8, height, label, ha="right", va="center", weight="bold")
    ax.set(xlim=(-1.6, 8.6), ylim=(-0.7, 1.4), title="Teacher forcing: below each input is the word that comes next")
    ax.axis("off")
    show(fig, f"Two rows of words. Inputs: start sign, {', '.join(words[:-1])}. Targets below them, one step on: "
              f"{', '.join(words[:-1])}, full stop. An arrow leads from each input to its target. A red one links the "
              f"target {words[linked]}, at position {linked}, to the same input, at {linked + 1}.")  # fmt: skip


def draw_floor(losses, floor):
    """Draw the loss of the best reader at each position, and their mean."""
    fig, ax = subplots(figsize=(8, 3))
    said = [f"{abs(loss):.2f}" for loss in losses]
    ax.bar(range(len(losses)), losses, color=BLUE)
    for t, loss in enumerate(losses):  # in the bar if there is room, so that no number crosses the line
        style = {"va": "top", "color": "white"} if loss > 0.3 else {"va": "bottom", "color": BLACK}
        ax.annotate(said[t], (t, loss), (0, -3 if loss > 0.3 else 2), textcoords="offset points", ha="center", **style)
    ax.axhline(floor, color=BLACK, ls="--", zorder=0)
    ax.text(len(losses) - 0.3, floor, f"mean = floor\n{floor:.3f}", va="center")
    ax.set(title="The lowest expected loss of a reader of all words so far", xlabel="position t", ylabel="loss (nats)",
           xticks=range(len(losses)), xlim=(-0.6, len(losses) - 0.4), ylim=(0, 1.7))  # fmt: skip
    show(fig, f"Bar chart of the best reader's loss at positions 0 to 8: {', '.join(said)} nats. A dashed line marks "
              f"their mean, the floor, {floor:.3f} nats per token.")  # fmt: skip


def draw_losses(masked, unmasked, lines):
    """Draw two curves of training loss among the lines of weaker readers and of the floor."""
    fig, ax = subplots(figsize=(9, 4.8))
    steps = range(1, len(masked) + 1)
    ax.plot(steps, masked, color=BLUE, lw=1.8, label="with the causal mask")
    ax.plot(steps, unmasked, color=RED, ls="--", lw=1.8, label="without a mask")
    for (name, value), style in zip(lines.items(), (":", "-.", (0, (5, 3)), "-"), strict=True):
        ax.axhline(value, color=BLACK, ls=style, lw=1)
        ax.text(steps[-1] * 1.03, value, f"{name} {value:.2f}", va="center")
    ax.axhspan(0, lines["true floor"], color=GREY, alpha=0.18)
    ax.text(5, lines["true floor"] / 2, "impossible without seeing the answer", ha="center", va="center")
    ax.set(title="Training loss of two identical models", xlabel="training step (logarithmic scale)",
           ylabel="loss (nats per token)", xscale="log", xlim=(1, steps[-1]), ylim=(0, 4.2))  # fmt: skip
    ax.legend(loc="upper right", bbox_to_anchor=(1.0, 0.8))
    heights = ", ".join(f"{name} {value:.2f}" for name, value in lines.items())
    show(fig, f"Training loss against step. Horizontal lines at {heights}. The masked model falls below the bigram "
              "line and levels off just above the true floor. The unmasked model falls through, to zero.")  # fmt: skip


def draw_masks(*masks, size=5):
    """Draw masks side by side, each given as (title, rows, labels).

    rows: a boolean tensor (True is blocked), or lines of text with × for blocked and · for open.
    """
    fig, axes = subplots(1, len(masks), figsize=(size * len(masks), size), squeeze=False, layout="constrained")
    fig.get_layout_engine().set(wspace=0.08)
    about = []
    for ax, (title, rows, labels) in zip(axes[0], masks, strict=True):
        blocked = [[cell == "×" if isinstance(cell, str) else bool(cell) for cell in row] for row in rows]
        heat_map(ax, blocked, labels, labels, lambda cell: "×" if cell else "·", "cividis_r", vmin=-0.2, vmax=1.2)
        for t, row in enumerate(blocked):
            if all(row):
                ax.text(len(row) - 0.3, t, "← no key left", va="center")
        ax.set(title=title, xlabel="key s (looked at)", ylabel="query t (looking)")
        about.append(f"{title}. Open keys from the first query to the last: {[row.count(False) for row in blocked]}")
    show(fig, f"Tables of queries against keys. {'; '.join(about)}.".replace("[", "").replace("]", ""))


def draw_recipes(curves, scores):
    """Draw, for each recipe of masking, the weights of three kinds of keys against the hidden key's score."""
    fig, axes = subplots(1, len(curves), figsize=(14, 4.5), sharey=True, layout="constrained")
    keys = ((1, "visible key, score 2", BLUE, "-"), (0, "visible keys, score 1 (two lines in one)", SKY, "-"),
            (3, "hidden key", RED, "--"))  # fmt: skip
    about = []
    for ax, (name, weights) in zip(axes, curves.items(), strict=True):
        for key, label, colour, style in keys:
            ax.plot(scores, weights[:, key], color=colour, ls=style, lw=2.5, label=label)
        ax.set(title=name, xlabel="score of the hidden key", ylim=(-0.03, 0.72))
        moves = (f"{label} from {weights[0, key]:.2f} to {weights[-1, key]:.2f}" for key, label, _, _ in keys)
        about.append(f"{name}: {', '.join(moves)}")
    axes[0].set_ylabel("weight")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(keys))
    fig.suptitle("What moves when the hidden score grows?")
    show(fig, f"Line plots of weights against the hidden key's score, {scores[0]:g} to {scores[-1]:g}. "
              f"{'; '.join(about)}.")  # fmt: skip


def draw_reach(levels, rows, words):
    """Draw which vectors of each level the last output depends on. levels: booleans, inputs first; rows: as masks."""
    fig, ax = subplots(figsize=(11, 4.6))
    for level, felt in enumerate(levels):
        for t, on in enumerate(map(bool, felt)):
            for s, cell in enumerate(rows[t]):
                if level and cell == "·":
                    style = {"color": RED, "lw": 2} if on else {"color": GREY, "lw": 0.6, "alpha": 0.4}
                    ax.plot([s, t], [level - 1, level], zorder=1, **style)
            colours = {"mfc": ORANGE, "mec": BLACK} if on else {"mfc": "white", "mec": GREY}
            ax.plot(t, level, "o", ms=15, zorder=2, **colours)
    ax.set_xticks(range(len(words)), words)
    ax.set_yticks(range(len(levels)), ["inputs", *(f"layer {level}" for level in range(1, len(levels)))])
    ax.set(title="A window of 3 in each layer: what can reach the last output?", xlabel="position", ylabel="depth",
           ylim=(-0.4, len(levels) - 0.6))  # fmt: skip
    counts = ", ".join(str(int(sum(felt))) for felt in reversed(levels))
    show(fig, "A lattice of positions by levels. Each circle is linked to at most three of the level below. Coloured "
              f"are those that the last output depends on, from the top level down, like a fan: {counts}.")  # fmt: skip
