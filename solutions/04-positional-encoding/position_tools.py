"""Draw the figures of notebook 04."""

from notebook_tools import BLACK, BLUE, GREEN, GREY, ORANGE, RED, heat_map, show, subplots

import math

import numpy as np

RING = np.linspace(0, 2 * np.pi, 200)
THREE = ((BLUE, "-"), (RED, "--"), (BLACK, ":"))
MARKED = ((GREY, "d:"), (ORANGE, "s--"), (BLUE, "^-."), (GREEN, "o-"))


def draw_blend(vectors, shares, blend):
    """Draw how the last word's blend takes its share of each word. vectors: {word: two features}."""
    fig, ax = subplots(figsize=(8.5, 3))
    looking, said = list(vectors)[-1], [f"{share:.2f}" for share in shares]
    new = "({:.2f}, {:.2f})".format(*blend)
    box = {"boxstyle": "round,pad=0.5", "fc": "white", "ec": BLUE}
    for j, (word, vector) in enumerate(vectors.items()):
        arrow = {"arrowstyle": "-|>", "color": ORANGE, "lw": 1 + 9 * float(shares[j]), "mutation_scale": 16}
        ax.annotate("", (1, 0.78), (j, 0.14), arrowprops=arrow)
        ax.text(1.04 + 0.6 * (j - 1), 0.42, said[j], va="center", bbox={"fc": "white", "ec": "none", "pad": 1.5})
        ax.text(j, 0, f"{word} ({vector[0]:g}, {vector[1]:g})", ha="center", va="center", bbox=box)
    box |= {"fc": "#F0E442", "ec": BLACK}
    ax.text(1, 0.92, f"blend of “{looking}” {new}", ha="center", va="center", bbox=box)
    ax.set(title=f"“{looking}” looks round: a blend of three vectors", xlim=(-0.6, 2.6), ylim=(-0.18, 1.1))
    ax.axis("off")
    show(fig, f"Boxes with the words {', '.join(vectors)} and their vectors. Arrows lead from them to the blend of "
              f"{looking}, {new}. Their widths are the shares: {', '.join(said)}.")  # fmt: skip


def draw_clocks(speeds, positions):
    """Draw one column of clocks for each position, and one row for each speed."""
    fig, axes = subplots(len(speeds), len(positions), figsize=(1.5 * len(positions), 6.4), squeeze=False)
    for (i, j), ax in np.ndenumerate(axes):
        angle = positions[j] * speeds[i]
        ax.plot(1.12 * np.cos(RING), 1.12 * np.sin(RING), color=GREY, lw=1)
        ax.plot([0, math.sin(angle)], [0, math.cos(angle)], color=BLUE, lw=3, solid_capstyle="round")
        ax.plot([0, 0], [1.02, 1.12], color=BLACK)
        ax.text(0, -1.25, f"({math.sin(angle):.2f}, {math.cos(angle):.2f})", ha="center", va="top", fontsize=9.5)
        ax.set(xlim=(-1.2, 1.2), ylim=(-1.65, 1.2), aspect="equal", title="" if i else f"t = {positions[j]}")
        ax.axis("off")
        if j == 0:
            ax.text(-1.5, 0, f"{speeds[i]:g} rad\nper word", ha="right", va="center", fontsize=10)
    fig.suptitle("Four clocks at seven positions; below each: (sine, cosine) of its hand", y=0.97)
    show(fig, f"A grid of clocks: a row for each speed, {speeds} radians per word, and a column for each "
              f"of the positions {positions}. At 0 all hands point up; each row is slower than the last.")  # fmt: skip


def draw_waves(pe, features):
    """Draw position vectors as columns, and some of their features as curves."""
    fig, axes = subplots(2, 1, figsize=(9.5, 6), sharex=True, layout="constrained", height_ratios=(2, 1))
    image = axes[0].imshow(pe.T, cmap="cividis", aspect="auto", vmin=-1, vmax=1)
    axes[0].set(title="Sinusoidal positions: each column is one position vector", ylabel="feature")
    fig.colorbar(image, ax=axes, label="value", aspect=35, pad=0.05)
    for feature, (colour, style) in zip(features, (*THREE, (GREEN, "-.")), strict=True):
        axes[0].annotate("", (len(pe) - 0.5, feature), (len(pe) + 2.5, feature), annotation_clip=False,
                         arrowprops={"arrowstyle": "-|>", "color": colour, "shrinkA": 0, "shrinkB": 0})  # fmt: skip
        axes[1].plot(pe[:, feature], color=colour, ls=style, lw=2, label=f"feature {feature}")
    axes[1].set(title="Four rows of it (at the arrows) as curves", xlabel="position", ylabel="value")
    axes[1].legend(loc="upper center", bbox_to_anchor=(0.5, -0.3), ncols=4, frameon=False)
    show(fig, f"Above, a heat map of features by {len(pe)} positions: fast stripes in the first features, then wider "
              "waves, and hardly any change in the last. Below, four features as curves, each slower.")  # fmt: skip


def draw_peak(similarity, places):
    """Draw some rows of a table of dot products against the distance."""
    fig, ax = subplots(figsize=(8, 3.6))
    for p, (colour, style) in zip(places, THREE, strict=True):
        along = np.arange(len(similarity)) - p
        ax.plot(along, similarity[p], color=colour, ls=style, lw=2, label=f"position {p} with the others")
    ax.set(title="How alike two positions are", xlabel="distance (positions)", ylabel="dot product", xlim=(-29, 29))
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    show(fig, f"The dot products of positions {places} with the others, against distance, fall on one curve: a peak "
              "at distance 0, and equal values to both sides.")  # fmt: skip


def draw_tables(tables, across, down, words=None, **limits):
    """Draw tables of numbers side by side. tables: {title: numbers}; words writes a number into its cell."""
    fig, axes = subplots(1, len(tables), figsize=(11, 8.5 / len(tables) + 0.2), layout="constrained")
    for ax, (title, rows) in zip(axes, tables.items(), strict=True):
        columns = range(len(rows[0]))
        image = heat_map(ax, rows, range(len(rows)), columns, words or (lambda number: ""), **limits)
        ax.set(title=title, xlabel=across, ylabel=down, xticks=columns[:: 1 + len(columns) // 10])
    fig.colorbar(image, ax=axes, label="value", shrink=0.8)
    bright = (f"{title}: {[int(row.argmax()) for row in rows]}" for title, rows in tables.items())
    show(fig, f"Heat maps of {down} against {across}. The column of each row's largest number: {'; '.join(bright)}.")


def draw_turn(query, key, speed, places):
    """Draw a query and a key, turned by their positions, and their score, for some pairs of positions."""
    fig, axes = subplots(1, len(places), figsize=(13, 4.4), layout="constrained")
    scores = []
    for ax, (m, n) in zip(axes, places, strict=True):
        tips = [complex(*vector) * np.exp(1j * speed * t) for vector, t in ((query, m), (key, n))]
        for tip, t, name, (colour, style) in zip(tips, (m, n), "qk", THREE, strict=False):
            arrow = {"arrowstyle": "-|>", "color": colour, "lw": 2.5, "ls": style, "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", (tip.real, tip.imag), (0, 0), arrowprops=arrow)
            ax.text(1.32 * tip.real, 1.32 * tip.imag, f"{name} at {t}", color=colour, ha="center", va="center")
        scores.append(f"m = {m}, n = {n}: score {(tips[0] * tips[1].conjugate()).real:.2f}")
        ax.axhline(0, color=GREY, lw=0.5, zorder=0)
        ax.axvline(0, color=GREY, lw=0.5, zorder=0)
        ax.set(title=scores[-1], xlabel="feature 0", ylabel="feature 1", aspect="equal")
        ax.set(xlim=(-1.5, 1.5), ylim=(-0.9, 1.4))
    show(fig, f"A query arrow and a key arrow, turned by their positions. {'; '.join(scores)}.")


def draw_maps(maps, distance):
    """Draw scores at all pairs of positions, and those at one distance as curves. maps: {title: numbers}."""
    fig, axes = subplots(1, 3, figsize=(13, 4), layout="constrained", width_ratios=(1, 1, 0.9))
    for ax, (title, scores), (colour, style) in zip(axes, maps.items(), THREE, strict=False):
        image, last, along = ax.imshow(scores, cmap="cividis"), len(scores) - 1, scores.diagonal(-distance)
        ax.plot((0, last - distance), (distance, last), style, color=colour, lw=2)
        ax.set(title=title, xlabel="position n of the key", ylabel="position m of the query")
        fig.colorbar(image, ax=ax, label="score", shrink=0.85)
        axes[2].plot(range(distance, last + 1), along - along.mean(), style, color=colour, lw=2, label=title)
    axes[2].set(title=f"Along the line: {distance} places back", ylabel="score, less its mean", ylim=(-6, 9))
    axes[2].set_xlabel("position m of the query")
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
        ax.set_xticks((8, 16, 32, 64, 128), (8, 16, 32, 64, 128))
        ax.minorticks_off()
    axes[1].legend(loc="lower left", title="positions")
    ends = (f"{task}, {name}: {found[-1]:.2f}" for task, curves in accuracy.items() for name, found in curves.items())
    show(fig, f"Accuracy against text length, with a band at those trained. At {lengths[-1]}: {'; '.join(ends)}.")
