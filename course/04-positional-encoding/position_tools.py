"""Draw the figures of notebook 04."""

from notebook_tools import BLACK, BLUE, GREEN, GREY, ORANGE, RED, heat_map, show, subplots

import math

import numpy as np

RING = np.linspace(0, 2 * np.pi, 200)
MARKED = ((GREY, "d:"), (ORANGE, "s--"), (BLUE, "^-."), (GREEN, "o-"))
THREE = ((BLUE, "-"), (RED, "--"), (BLACK, ":"))


def works(name, call, expected):
    """Return whether a student's function gives the expected tensor, and say whether it is used."""
    try:
        good = expected.allclose(call(), atol=1e-3)
    except Exception:  # not answered yet, or not working yet
        good = False
    print(f"{name}: " + ("this is yours." if good else "this is ours, because yours does not work yet."))
    return good


def draw_blend(vectors, shares, blend):
    """Draw how the last word's blend takes its share of each word. vectors: {word: two features}."""
    fig, ax = subplots(figsize=(8.5, 3))
    looking, said = list(vectors)[-1], [f"{share:.2f}" for share in shares]
    new = "({:.2f}, {:.2f})".format(*blend)
    box = {"boxstyle": "round,pad=0.5", "fc": "white", "ec": BLUE}
    for j, (word, vector) in enumerate(vectors.items()):
        arrow = {"arrowstyle": "-|>", "color": ORANGE, "lw": 1 + 9 * float(shares[j]), "mutation_scale": 10}
        arrow |= {} if shares[j] else {"arrowstyle": "-", "color": GREY, "ls": ":"}
        ax.annotate("", (1, 0.78), (j, 0.14), arrowprops=arrow)
        ax.text(1 + 0.65 * (j - 1) + 0.04 * (j == 1), 0.42, said[j], va="center", ha="left" if j else "right")
        ax.text(j, 0, f"{word} ({vector[0]:g}, {vector[1]:g})", ha="center", va="center", bbox=box)
    box |= {"fc": "#F0E442", "ec": BLACK}
    ax.text(1, 0.92, f"blend of “{looking}” {new}", ha="center", va="center", bbox=box)
    ax.set(title=f"“{looking}” takes a blend of three vectors", xlim=(-0.6, 2.6), ylim=(-0.18, 1.1))
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


def draw_tables(tables, across, down, words=None, trained=None, **limits):
    """Draw tables of numbers side by side. tables: {title: numbers}; words writes a number into its cell.

    trained: how many rows training reached, where the tables compare rows with rows; white lines close them off.
    """
    fig, axes = subplots(1, len(tables), figsize=(11, 8.5 / len(tables) + 0.2), layout="constrained")
    for ax, (title, rows) in zip(axes, tables.items(), strict=True):
        columns = range(len(rows[0]))
        image = heat_map(ax, rows, range(len(rows)), columns, words or (lambda number: ""), **limits)
        ax.set(title=title, xlabel=across, ylabel=down, xticks=columns[:: 1 + len(columns) // 10])
        for line in (ax.axhline, ax.axvline) if trained else ():
            line(trained - 0.5, color="white", lw=2, ls="--")
        if not (words or trained):  # nothing else shows where the largest number of a row is
            ax.plot(rows.argmax(-1), range(len(rows)), ".", color=BLACK, ms=8)
    fig.colorbar(image, ax=axes, label="cosine" if trained else "value", shrink=0.8)
    bright = (f"{title}: {[int(row.argmax()) for row in rows]}" for title, rows in tables.items())
    first = (f"{title}: {[round(float(number), 2) for number in rows[0]]}" for title, rows in tables.items())
    told = "Their first rows" if trained else "The column of each row's largest number"
    show(fig, f"Heat maps of {down} against {across}. {told}: {'; '.join(first if trained else bright)}.")


def draw_readers(curves, every, guessing):
    """Draw accuracy against training steps. curves: {positions: accuracies}; guessing: what a coin brings."""
    fig, ax = subplots(figsize=(8.5, 4), layout="constrained")
    steps = [every * i for i in range(len(next(iter(curves.values()))))]
    for (name, values), (colour, style) in zip(curves.items(), MARKED):  # noqa: B905 (up to four of them)
        ax.plot(steps, values, style, color=colour, lw=2, label=name)
    ax.axhline(guessing, color=BLACK, lw=1)
    ax.text(steps[-1], guessing - 0.045, "a coin for one of the two animals", ha="right", va="top", fontsize=9)
    ax.set(title="Who chased whom? Readers that differ in one thing", xlabel="training step", ylabel="accuracy")
    ax.set_ylim(0, 1.05)
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, title="positions")
    ends = ", ".join(f"{name} {values[-1]:.2f}" for name, values in curves.items())
    show(fig, f"Accuracy against training step. At the end: {ends}. Without positions it stays at {guessing:g}.")


def draw_longer(shares, lengths, trained, guessing):
    """Draw accuracy against the length of sentences. shares: {positions: accuracies}; trained: that of training."""
    fig, ax = subplots(figsize=(8.5, 4), layout="constrained")
    for (name, values), (colour, style) in zip(shares.items(), MARKED, strict=True):
        ax.plot(lengths, values, style, color=colour, lw=2, label=name)
    ax.axhline(guessing, color=BLACK, lw=1)
    ax.axvline(trained, color=BLACK, lw=1, ls="--")
    ax.text(trained + 0.2, 0.03, "the length in training", fontsize=9)
    ax.set(title="The same readers, with other lengths", xlabel="words in a sentence", ylabel="accuracy")
    ax.set(xticks=lengths, ylim=(0, 1.05))
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, title="positions")
    about = "; ".join(f"{name} {', '.join(f'{value:.2f}' for value in values)}" for name, values in shares.items())
    show(fig, f"Accuracy in sentences of {', '.join(map(str, lengths))} words: {about}.")
