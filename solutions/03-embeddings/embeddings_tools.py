"""Draw the figures of notebook 03."""

from notebook_tools import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, heat_map, show, subplots

import math

import numpy as np

THIN = {"arrowstyle": "-", "color": GREY, "lw": 0.6, "shrinkA": 0, "shrinkB": 3}  # from a label to its place


def yours(answer, ours, call, expected):
    """Return the student's answer, any callable, if a call with it gives the expected tensors, else ours; say which."""
    try:
        good = all(np.allclose(*pair, atol=1e-3) for pair in zip(call(answer), expected, strict=True))
    except Exception:  # not answered yet, or not working yet
        good = False
    instead = "so ours is used" if ours else "so this run waits for it"
    print(f"{getattr(answer, '__name__', 'Your answer')}: {'yours is used' if good else f'not right yet, {instead}'}")
    return answer if good else ours


def draw_lookup(table, words, chosen):
    """Draw one-hot rows of the chosen words, the table [V, C] of all words, and the rows that the product gives."""
    hot, components = [[float(word == one) for word in words] for one in chosen], range(table.shape[1])
    parts = (("one-hot rows", hot, chosen, words), ("table", table, words, components),
             ("product", [table[words.index(one)] for one in chosen], chosen, components))  # fmt: skip
    fig, axes = subplots(1, 3, figsize=(12, 4.2), width_ratios=[len(part[3]) for part in parts], layout="constrained")
    for ax, (title, values, rows, columns), sign in zip(axes, parts, ("", "×", "="), strict=True):
        say = "{:.1f}".format if sign else "{:.0f}".format
        heat_map(ax, values, rows, columns, say, "PuOr", vmin=-2.5, vmax=2.5)
        ax.set(title=f"{title} [{len(rows)}, {len(columns)}]", xlabel="component" if sign else "word of the vocabulary")
        ax.text(-0.5 if sign == "×" else -0.48, 0.5, sign, transform=ax.transAxes, size=20, ha="center", va="center")
    show(fig, f"Three grids of numbers. One-hot rows for {', '.join(chosen)}, times a table of {len(words)} words and "
              f"{len(components)} components, equal the rows of the table for these words.")  # fmt: skip


def draw_rows(lengths, vocab):
    """Draw the length of the gradient in each row of a table, with the words of the rows where it is not zero."""
    fig, ax = subplots(figsize=(11, 3.6))
    used, V = [i for i, length in enumerate(lengths) if length], len(vocab)
    ax.plot(range(V), lengths, ".", color=GREY, ms=3)
    ax.bar(used, [lengths[i] for i in used], color=BLUE, width=max(1, V / 250))
    places = [float(i) for i in used]  # of the labels: at their bars, or a little to the right if that is taken
    for n in range(1, len(used)):
        places[n] = max(places[n], places[n - 1] + V * 0.035)
    back = max(0, places[-1] - V)
    for i, place in zip(used, places, strict=True):
        word, at = "full stop" if vocab[i] == "." else vocab[i], (place - back, 2.3)
        ax.annotate(word, (i, lengths[i]), at, ha="center", va="bottom", rotation=90, arrowprops=THIN)
    ax.set(title="Length of the gradient in each row of the table, after one sentence", xlabel="row of the table (id)")
    ax.set(ylabel="length of gradient", ylim=(-0.1, 3.6), yticks=(0, 1, 2), xlim=(-V * 0.02, V * 1.03))
    about = ", ".join(f"{vocab[i]} {lengths[i]:.0f}" for i in used)
    show(fig, f"Gradient length for each of the {V} rows. All are exactly zero but these: {about}.")


def draw_arrows(arrows):
    """Draw vectors of two components as arrows from the origin."""
    fig, ax = subplots(figsize=(6.2, 4.2))
    for (name, (x, y)), colour, style in zip(arrows.items(), (BLUE, ORANGE, GREEN), ("-", "-", "--"), strict=True):
        look = {"arrowstyle": "-|>", "color": colour, "lw": 2.5, "ls": style, "mutation_scale": 18}
        ax.annotate("", (x, y), (0, 0), zorder=3 - x, arrowprops=look)
        ax.text(x + 0.1, y + (0.08 if name != "u" else -0.28), f"{name} = ({x}, {y})")
    ax.set(title="Which two are most alike?", xlabel="component 0", ylabel="component 1")
    ax.set(xlim=(0, 5.2), ylim=(0, 4), aspect="equal")
    about = ", ".join(f"{name} = ({x}, {y})" for name, (x, y) in arrows.items())
    show(fig, f"Arrows from the origin: {about}. u and v have the same direction, w has another one.")


def draw_costs():
    """Draw what one yes/no answer costs, against its score."""
    fig, ax = subplots(figsize=(7.5, 3.6))
    scores = np.linspace(-6, 6, 200)
    ax.plot(scores, np.log1p(np.exp(-scores)), color=BLUE, lw=2, label=r"true pair, $-\log\,\sigma(s)$")
    ax.plot(scores, np.log1p(np.exp(scores)), color=RED, ls="--", lw=2, label=r"negative, $-\log\,\sigma(-s)$")
    ax.annotate("no opinion: ln 2 = 0.69", (0, math.log(2)), (0, 2.6), ha="center", arrowprops={"arrowstyle": "->"})
    ax.set(title="What one answer costs", xlabel="score s = dot product", ylabel="loss (nats)", ylim=(0, 6.2))
    ax.legend(loc="upper center")
    show(fig, "Loss of one answer. A true pair's falls from 6 at score -6 to almost 0 at 6; a negative's rises.")


def draw_steps(found, chance):
    """Draw the share of neighbours of a word's own kind; found: {steps: (the three nearest to dog, the share)}."""
    fig, ax = subplots(figsize=(11, 4.6))
    ax.plot(range(len(found)), [share for _, share in found.values()], "o-", color=BLUE, lw=2)
    for at, (near, share) in enumerate(found.values()):
        ax.annotate("\n".join(near), (at, share), (at, -0.15), ha="center", va="top", arrowprops=THIN)
        ax.text(at + 0.06, share - 0.08, f"{share:.2f}", color=BLUE)
    ax.text(-0.95, -0.15, "nearest\nto dog:", va="top")
    ax.axhline(chance, color=BLACK, lw=1, ls="--")
    ax.text(len(found) - 1.5, chance + 0.02, f"by chance: {chance:.2f}", ha="center")
    ax.set(title="Neighbours of the same kind, as your steps go on", xlabel="steps of 1,024 pairs (not to scale)")
    ax.set(ylim=(-0.5, 1.03), xlim=(-1, len(found) - 0.6), yticks=(0, 0.25, 0.5, 0.75, 1))
    ax.set_xticks(range(len(found)), found)
    ax.set_ylabel("share of the three nearest\nwords that are of its kind", y=0.66)
    about = "; ".join(f"after {n} steps {share:.2f}, {', '.join(near)}" for n, (near, share) in found.items())
    show(fig, f"Share of the three nearest that are of a word's kind, and those nearest to dog: {about}.")


def draw_map(rows, kinds):
    """Draw vectors in the two directions along which they spread the most; rows: in the order of the kinds' words."""
    _, size, directions = np.linalg.svd((rows - rows.mean(0)).numpy(), full_matrices=False)
    directions *= np.sign(directions.sum(1, keepdims=True))  # or another machine might mirror the picture
    points, kept = rows.numpy() @ directions[:2].T, 100 * size**2 / (size**2).sum()
    fig, ax = subplots(figsize=(12, 8))
    colours, start, extent = (BLACK, ORANGE, SKY, GREEN, BLUE, RED, PURPLE, GREY, "#882255"), 0, np.ptp(points, axis=0)
    angles = np.linspace(0, 2 * math.pi, 17)[:-1]
    turns = [(r, math.cos(t), math.sin(t)) for r in np.arange(0.012, 0.3, 0.008) for t in angles]
    taken = [(point, 0.024 * extent) for point in points]  # centre and full size of what no label may cover
    for (kind, words), marker, colour in zip(kinds.items(), "os^Dv<>P*", colours, strict=True):
        ax.scatter(*points[start : start + len(words)].T, marker=marker, color=colour, s=45, label=kind)
        for word, point in zip(words, points[start:], strict=False):
            box = extent * (0.0105 * (len(word) + 1), 0.03)
            places = [point + r * extent * (x, y) + (math.copysign(box[0] / 2, x), 0) for r, x, y in turns]
            free = (q for q in places if all((np.abs(q - c) > (box + b) / 2).any() for c, b in taken))
            taken.append((next(free, places[0]), box))
            ax.annotate(word, point, taken[-1][0], ha="center", va="center", arrowprops=THIN)
        start += len(words)
    first, second = (f"direction {n + 1} ({kept[n]:.0f} % of the variance)" for n in (0, 1))
    ax.set(title="The trained vectors, seen in their two main directions", xlabel=first, ylabel=second)
    ax.margins(0.1)
    ax.legend(bbox_to_anchor=(1.0, 0.5), loc="center left")
    show(fig, f"Scatter plot of the words by kind. Most words of a kind lie together. Kinds: {', '.join(kinds)}.")


def draw_reader(cosines):
    """Draw two bars for each vector of "it"; cosines: {vector: {word: cosine}}."""
    fig, ax = subplots(figsize=(8.5, 4))
    for n, (word, colour) in enumerate((("chicken", ORANGE), ("road", SKY))):
        heights, places = [found[word] for found in cosines.values()], np.arange(len(cosines)) + 0.36 * n - 0.18
        bars = ax.bar(places, heights, 0.34, color=colour, edgecolor=BLACK, hatch="//" * n, label=f"with “{word}”")
        ax.bar_label(bars, [f"{height:.2f}" for height in heights], padding=2)
    ax.axhline(0, color=BLACK, lw=0.8)
    ax.set_xticks(range(len(cosines)), cosines)
    ax.set(title="The chicken did not cross the road because it was too …", ylabel="cosine", ylim=(-0.4, 1))
    ax.set_xlabel("vector of “it”")
    ax.legend(loc="upper left")
    about = (f"{name}: chicken {found['chicken']:.2f}, road {found['road']:.2f}" for name, found in cosines.items())
    alt = f"Bars: cosine of the vector of it with the rows of chicken and of road. {'; '.join(about)}."
    show(fig, alt.replace("\n", " "))
