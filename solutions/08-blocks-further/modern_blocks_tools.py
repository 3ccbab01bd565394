"""Draw the figures of notebook 08-blocks-further."""

from notebook_tools import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, show, subplots

import cmath
import math

TWO = ((BLUE, "-"), (RED, "--"))
MARKED = ((GREY, "d:"), (ORANGE, "s--"), (BLUE, "^-."), (GREEN, "o-"))
SHARED = (ORANGE, SKY, "#8FD1BC", PURPLE, "#F0E442", "#8FB8D8", "#EFA77F", "#BBBBBB")


def draw_norms(panels, words):
    """Draw the features of four words as dots, with mean and root mean square: {title of a plot: a tensor}."""
    fig, axes = subplots(1, len(panels), figsize=(15, 3.8), sharey=True, layout="constrained")
    about = []
    for ax, (title, values) in zip(axes, panels.items(), strict=True):
        for i, (row, marker, colour) in enumerate(zip(values, "osD^", (BLUE, RED, GREEN, PURPLE), strict=True)):
            mean, size = round(row.mean().item(), 1) + 0.0, row.square().mean().sqrt().item()
            ax.plot(row, [i + 0.14] * len(row), marker, color=colour, ms=4.5, alpha=0.5)
            ax.plot(mean, i - 0.14, marker="|", color=BLACK, ms=12, mew=2)
            ax.text(mean, i - 0.27, f"mean {mean:.1f}, RMS {size:.1f}", ha="center", va="bottom", fontsize=9)
            about.append(f"{title}, {words[i]}: mean {mean:.1f}, root mean square {size:.1f}")
        ax.axvline(0, color=GREY, lw=0.8, zorder=0)
        ax.set(title=title, xlabel="value of a feature", yticks=range(4), yticklabels=words[:4], ylim=(3.5, -0.75))
        ax.set_xlim(-8.5, 12) if ax is axes[0] else ax.set_xlim(-3.6, 3.6)
    axes[0].set_ylabel("word (stroke: its mean)")
    show(fig, f"Dot plots of the features of four words. {'; '.join(about)}.")


def draw_swiglu(gates, curves):
    """Draw the two branches of SwiGLU, and one hidden feature against its gate: {what up offers: values}."""
    fig, (scheme, plot) = subplots(1, 2, figsize=(14, 4.6), width_ratios=(6, 5), layout="constrained")
    arrow = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0}
    for y, name, colour in ((1, "gate", "#FBE3B3"), (-1, "up", "#BCE3D6")):
        scheme.plot([0.4, 1.2, 1.2], [0, 0, y], color=BLACK, lw=1)
        scheme.annotate("", (5.8, 0.2 * y), (5.8, y), arrowprops=arrow)
        scheme.plot([1.2, 5.8], [y, y], color=BLACK, lw=1, zorder=1)
        scheme.text(2.4, y, f"$W_{{{name}}}$", ha="center", va="center", bbox={"fc": colour, "pad": 8})
    scheme.text(4.2, 1, "SiLU", ha="center", va="center", bbox={"fc": "#FBE3B3", "pad": 8})
    scheme.annotate("", (9, 0), (6.1, 0), arrowprops=arrow)
    scheme.text(7.5, 0, "$W_{down}$", ha="center", va="center", bbox={"fc": "#E6D5EC", "pad": 8})
    scheme.text(5.8, 0, "⊙", ha="center", va="center", fontsize=24)
    scheme.text(5.9, 1.1, "how much?  F", color=RED)
    scheme.text(5.9, -1.2, "what?  F", color=GREEN)
    scheme.text(0.3, 0, "x, C", ha="right", va="center")
    scheme.text(9.1, 0, "out, C", va="center")
    scheme.set(xlim=(-0.6, 10.2), ylim=(-1.7, 1.9), title="SwiGLU: two branches meet in a product")
    scheme.axis("off")
    looks = ((RED, "-"), (BLUE, "--"), (BLACK, ":"), (GREEN, "-."))
    for (offered, values), (colour, style) in zip(curves.items(), looks, strict=True):
        plot.plot(gates, values, style, color=colour, lw=2, label=f"up offers {offered}".replace("-", "−"))
    plot.set(title="One hidden feature", xlabel="gate, before the SiLU", ylabel="SiLU(gate) · up")
    plot.legend()
    show(fig, "A diagram: x goes into two matrices, gate and up; the gate's result passes a SiLU, the two are "
              "multiplied, and a third matrix, down, leads back to C. Curves of one hidden feature: far left, all "
              "are close to 0, to the right they fan out with what up offers.")  # fmt: skip


def draw_groups(*groups, H=8):
    """Draw which heads of keys and values the H query heads read, once for each number of groups."""
    fig, axes = subplots(1, len(groups), figsize=(14, 3.2), layout="constrained")
    for ax, G in zip(axes, groups, strict=True):
        for h in range(H):
            g = h // (H // G)
            at = (g + 0.5) * H / G - 0.5
            ax.plot([h, at], [1, 0], color=BLACK, lw=1, zorder=1)
            box = {"boxstyle": "round,pad=0.3", "fc": SHARED[g]}
            ax.text(h, 1, f"Q{h}", ha="center", va="center", fontsize=9.5, bbox=box)
            ax.text(at, 0, f"K{g}\nV{g}", ha="center", va="center", fontsize=9.5, bbox=box)
        ax.set(title=f"H = {H} heads ask, G = {G} are kept", xlim=(-0.7, H - 0.3), ylim=(-0.45, 1.3))
        ax.axis("off")
    show(fig, f"Diagrams of {H} query heads above, and the heads of keys and values that they read below: "
              f"{', then '.join(map(str, groups))} of them. Neighbouring query heads share one.")  # fmt: skip


def draw_cache(sizes, words):
    """Draw the memory that the cache of some models takes, in GiB: {model: (as it is, with G = H)}."""
    fig, ax = subplots(figsize=(9, 3.4), layout="constrained")
    for i, (kept, whole) in enumerate(sizes.values()):
        ax.barh(i, whole, color="white", ec=GREY, hatch="//", label=None if i else "with a group for each head")
        ax.barh(i, kept, color=BLUE, label=None if i else "as published")
        ax.text(whole, i, f" {kept:.3g} of {whole:.3g}", va="center")
    ax.set(title=f"Keys and values of {words:,} words, in half precision", xlabel="GiB")
    ax.set(xlim=(0, 1.15 * max(map(max, sizes.values()))), yticks=range(len(sizes)), yticklabels=list(sizes))
    ax.invert_yaxis()
    ax.legend()
    about = (f"{name}: {kept:g} of {whole:g} GiB" for name, (kept, whole) in sizes.items())
    show(fig, f"Bars of memory. {'; '.join(about)}.")


def draw_turn(query, key, speed, places):
    """Draw a query and a key, turned by their positions, and their score, for some pairs of positions."""
    fig, axes = subplots(1, len(places), figsize=(13, 4.4), layout="constrained")
    scores = []
    for ax, (m, n) in zip(axes, places, strict=True):
        tips = [complex(*vector) * cmath.rect(1, speed * t) for vector, t in ((query, m), (key, n))]
        for tip, t, name, (colour, style) in zip(tips, (m, n), "qk", TWO, strict=True):
            arrow = {"arrowstyle": "-|>", "color": colour, "lw": 2.5, "ls": style, "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", (tip.real, tip.imag), (0, 0), arrowprops=arrow)
            ax.text(1.32 * tip.real, 1.32 * tip.imag, f"{name} at {t}", color=colour, ha="center", va="center")
        scores.append(f"m = {m}, n = {n}: score {(tips[0] * tips[1].conjugate()).real:.2f}")
        ax.set(title=scores[-1], xlabel="feature 0", ylabel="feature 1", xlim=(-1.5, 1.5), ylim=(-0.9, 1.4), aspect=1)
    show(fig, f"A query arrow and a key arrow, turned by their positions. {'; '.join(scores)}.")


def draw_maps(maps, distance):
    """Draw scores at all pairs of positions, and those at one distance as curves. maps: {title: numbers}."""
    fig, axes = subplots(1, 3, figsize=(13, 4), layout="constrained", width_ratios=(1, 1, 0.9))
    for ax, (title, scores), (colour, style) in zip(axes, maps.items(), TWO, strict=False):
        image, last, along = ax.imshow(scores, cmap="cividis"), len(scores) - 1, scores.diagonal(-distance)
        ax.plot((0, last - distance), (distance, last), style, color=colour, lw=2)
        ax.set(title=title, xlabel="position n of the key", ylabel="position m of the query")
        fig.colorbar(image, ax=ax, label="score", shrink=0.85)
        axes[2].plot(range(distance, last + 1), along - along.mean(), style, color=colour, lw=2, label=title)
    axes[2].set(title=f"{distance} places back", xlabel="position m of the query", ylabel="score − mean", ylim=(-6, 9))
    axes[2].legend(loc="upper center", frameon=False)
    show(fig, "Two heat maps of the scores of one query and one key. With added positions the diagonals are blotched; "
              "with turned vectors each has one colour, and the scores at one distance are level.")  # fmt: skip


def draw_reach(accuracy, lengths, chances, trained):
    """Draw accuracy against text length. accuracy: {task: {scheme: numbers}}; chances: what guessing brings."""
    fig, axes = subplots(1, 2, figsize=(13.5, 4.6), sharey=True, layout="constrained")
    for ax, (task, curves), chance in zip(axes, accuracy.items(), chances, strict=True):
        for (scheme, values), (colour, style) in zip(curves.items(), MARKED, strict=True):
            ax.plot(lengths, values, style, color=colour, lw=2, label=scheme)
        ax.axvspan(*trained, color=GREY, alpha=0.15)
        ax.text(math.sqrt(trained[0] * trained[1]), 1.07, "trained", ha="center")
        ax.axhline(chance, color=BLACK, lw=1)
        ax.text(1.01, chance, "guessing", transform=ax.get_yaxis_transform(), va="center", fontsize=9)
        ax.set(title=f"Task: {task}", xlabel="length (symbols)", ylabel="accuracy", xscale="log", ylim=(0, 1.14))
        ax.set_xticks((), minor=True)
        ax.set_xticks(ticks := (8, 16, 32, 64, 128), ticks)
    axes[1].legend(loc="lower left", title="positions")
    ends = (f"{task}, {name} {found[-1]:.2f}" for task, curves in accuracy.items() for name, found in curves.items())
    show(fig, f"Accuracy against text length, with a band at those trained. At {lengths[-1]}: {'; '.join(ends)}.")
