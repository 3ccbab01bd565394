"""Draw the figures of notebook 05, and measure time and memory."""

from notebook_tools import BLUE, GREEN, GREY, ORANGE, RED, heat_map, show, subplots

LOOKS = ((BLUE, "-"), (GREEN, "-"), (ORANGE, "--"), (RED, ":"))


def milliseconds(f):
    """Return the best time of a few runs, after one to warm up."""
    import timeit

    return 1e3 * min(timeit.repeat(f, number=1, repeat=6)[1:])


def mebibytes(f):
    """Return how much memory f keeps for the backward pass."""
    from torch.autograd.graph import saved_tensors_hooks

    kept = {}  # by address: views of one tensor count once
    with saved_tensors_hooks(lambda tensor: kept.setdefault(tensor.data_ptr(), tensor), lambda tensor: tensor):
        f()
    return sum(tensor.nbytes for tensor in kept.values()) / 2**20


def draw_paths(words):
    """Draw how “it” comes by “dog”: through a chain of states, and in one step."""
    fig, axes = subplots(1, 2, figsize=(13, 2.6), layout="constrained")
    yellow, arrow, it = {"fc": "#F0E442"}, {"arrowstyle": "->", "color": ORANGE}, words.index("it")
    for ax, title in zip(axes, ("Recurrence: everything passes through one vector",
                                "Attention: one step from any word to any word"), strict=True):  # fmt: skip
        for i, word in enumerate(words):
            ax.text(i, 0, word, ha="center", va="center", fontsize=9.5, bbox={"boxstyle": "round", "fc": "white"})
        ax.set(xlim=(-0.6, len(words) - 0.4), ylim=(-0.4, 1.9), title=title)
        ax.axis("off")
    for i, word in enumerate(words):
        axes[0].text(i, 1, f"$h_{i + 1}$", ha="center", va="center", bbox={"boxstyle": "circle"} | yellow)
        axes[0].annotate("", (i, 0.72), (i, 0.22), arrowprops={"arrowstyle": "->"})
        if i + 1 < len(words):
            axes[0].annotate("", (i + 0.75, 1), (i + 0.25, 1), arrowprops=arrow | {"lw": 2})
        axes[1].annotate("", (it, 1.28), (i, 0.22), arrowprops=arrow | {"lw": 5 if word == "dog" else 1})
    axes[1].text(it, 1.5, "new vector for “it”", ha="center", va="center", bbox={"boxstyle": "round"} | yellow)
    show(fig, "Two diagrams over the words. Left: each word feeds a hidden state, and the states form a chain. Right: "
              "every word has its own arrow to the new vector for it; the thickest comes from dog.")  # fmt: skip


def draw_curves(curves, title, x, y, levels=None, **limits):
    """Draw curves that are given by name over 1, 2, 3 …, and named levels. x and y are labels."""
    fig, ax = subplots(figsize=(9, 4), layout="constrained")
    for (name, curve), (colour, style) in zip(curves.items(), LOOKS, strict=False):
        ax.plot(range(1, len(curve) + 1), curve, style, color=colour, lw=1.8, label=name)
    for name, level in (levels or {}).items():
        ax.axhline(level, color=GREY, lw=1, ls=":")
        ax.text(1.01, level, name, transform=ax.get_yaxis_transform(), va="center", color=GREY)
    ax.set(title=title, xlabel=x, ylabel=y, **limits)
    ax.legend(loc="center left", frameon=False)
    said = "; ".join(f"{name}: from {curve[0]:.2g} to {curve[-1]:.2g}" for name, curve in curves.items())
    show(fig, f"Line chart. {title}: {y} against {x}, from the first to the last. {said}.")


def draw_shares(words, scores):
    """Draw the scores of a word that looks, their exponentials, and its shares."""
    panels = {"score": scores, "exp(score)": scores.exp(), "share": scores.softmax(0)}
    fig, axes = subplots(1, 3, figsize=(12, 3.3), sharey=True, layout="constrained")
    about = []
    for ax, (name, values), (colour, _) in zip(axes, panels.items(), LOOKS, strict=False):
        said = [f"{value:.2f}" if name == "share" else f"{value:.0f}" for value in values]
        ax.bar_label(ax.barh(words, values, color=colour), said, padding=3)
        ax.set(title=name, xlabel=name, xlim=(0, values.max() * 1.18))
        about.append(f"{name}: " + ", ".join(map(" ".join, zip(words, said, strict=True))))
    axes[0].set_ylabel("word")
    axes[0].invert_yaxis()
    show(fig, f"Three bar charts over the words. {'. '.join(about)}.")


def draw_weights(*maps, size=5.6, numbers="{:.2f}"):
    """Draw heat maps, each given as (title, weights, words that look, words looked at, what to frame in each row)."""
    tall = size * min(1, len(maps[0][2]) / len(maps[0][3]) + 0.2)
    fig, axes = subplots(1, len(maps), figsize=(size * len(maps), tall), squeeze=False, layout="constrained")
    about = []
    for ax, (title, weights, looking, looked, *framed) in zip(axes.flat, maps, strict=True):
        heat_map(ax, weights, looking, looked, numbers.format, vmin=0, vmax=1)
        for row, column in enumerate(framed):
            ax.add_patch(_frame(column - 0.47, row - 0.44, 0.94, 0.88))
        ax.set(title=title, xlabel="word looked at", ylabel="word that looks")
        best = [f"{word} at {looked[row.argmax()]} {row.max():.2f}" for word, row in zip(looking, weights, strict=True)]
        about.append(f"{title}. Each row looks most: {', '.join(best)}")
    show(fig, f"Heat map of {len(looking)} rows by {len(looked)} columns. {'. '.join(about)}.")


def draw_steps(words, Q, K, V, row, features, parts):
    """Draw the matrices of the five steps, and frame what one word gets. Features name Q's columns, parts V's."""
    scaled = Q @ K.T / Q.shape[1] ** 0.5
    shares = scaled.softmax(-1)
    panels = [("1 roles\nQ (T, $d_k$)", Q, "·", features), ("1 roles\n$K^T$ ($d_k$, S)", K.T, "=", words),
              ("2 score, 3 scale\n(T, S)", scaled, "→", words), ("4 softmax\n(T, S)", shares, "·", words),
              ("1 roles\nV (S, $d_v$)", V, "=", parts), ("5 blend\n(T, $d_v$)", shares @ V, "", parts)]  # fmt: skip
    fig, ax = subplots(figsize=(13, 4.5))
    left = 0.0
    for place, (name, values, sign, columns) in enumerate(panels):
        tall, wide = values.shape
        image = ax.imshow(values, cmap="cividis", extent=(left, left + wide, tall, 0), vmin=0)
        if place in (0, 2, 3, 5):
            ax.add_patch(_frame(left, row, wide, 1))
        ax.text(left + wide / 2, -0.5, name, ha="center", va="bottom")
        for column, word in enumerate(columns):
            ax.text(left + column + 0.5, tall + 0.3, word, rotation=90, ha="center", va="top", fontsize=9)
            for line, value in enumerate(values[:, column].tolist()):
                said, colour = f"{value:.1f}".strip("0").rstrip("."), "white" if image.norm(value) < 0.5 else "black"
                ax.text(left + column + 0.5, line + 0.5, said, ha="center", va="center", color=colour, fontsize=7.5)
        ax.text(left + wide + 1.2, 4, sign, ha="center", va="center", fontsize=20)
        left += wide + 2.4
    ax.set(xlim=(-0.2, left - 2), ylim=(10.6, -2.6), xticks=[], aspect="equal")
    ax.set_yticks([i + 0.5 for i in range(len(words))], words)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(f"The five steps on the sentence. Blanks are below 0.05, the frame follows “{words[row]}”", pad=12)
    show(fig, f"Six heat maps with numbers: Q times K transposed gives scores, a softmax weights, times V the output. "
              f"The row of {words[row]} is framed; its largest weight: {words[shares[row].argmax()]}.")  # fmt: skip


def draw_bands(widths, signals):
    """Draw, for each recipe of scaling, how large the gradients of the queries are: median, mean, 8 of 10."""
    fig, axes = subplots(1, len(signals), figsize=(13, 3.8), sharey=True, layout="constrained")
    about = []
    for ax, (name, sizes), colour in zip(axes, signals.items(), (RED, BLUE, GREEN), strict=True):
        low, middle, high = ([size.quantile(share) for size in sizes] for share in (0.1, 0.5, 0.9))
        ax.fill_between(widths, low, high, color=colour, alpha=0.25, label="8 of 10 queries")
        ax.plot(widths, middle, color=colour, lw=2.5, label="median")
        ax.plot(widths, [size.mean() for size in sizes], "k--", lw=1.5, label="mean")
        ax.set(title=name, xlabel="width $d_k$", yscale="log", ylim=(1e-5, 20))
        ax.set_xscale("log", base=2)
        about.append(f"{name}: mean {sizes[-1].mean():.2g}, 8 of 10 from {low[-1]:.1g} to {high[-1]:.1g}")
    axes[0].set_ylabel("size of the gradient")
    axes[0].text(0.97, 0.03, "goes on\nbelow ↓", transform=axes[0].transAxes, ha="right")
    axes[1].legend(loc="lower left")
    fig.suptitle("The signal from which a query learns")
    show(fig, f"Panels of the gradient's size against the width. At width {widths[-1]}: {'; '.join(about)}.")


def _frame(x, y, wide, tall):
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), wide, tall, fill=False, ec=ORANGE, lw=2.5, zorder=5)
