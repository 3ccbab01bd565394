"""Draw the figures of notebook 07."""

from notebook_tools import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, heat_map, show, subplots

FOUR = (SKY, ORANGE, GREEN, PURPLE)


def draw_bars(losses, guessing, title):
    """Draw the loss of a layer for each number of heads, as bars, and the loss of guessing as a line."""
    fig, ax = subplots(figsize=(8, 3))
    said = [f"{loss:.2f}" for loss in losses.values()]
    ax.bar_label(ax.bar(range(len(losses)), losses.values(), 0.6, color=BLUE), said, padding=2)
    ax.axhline(guessing, color=BLACK, ls="--", lw=1)
    ax.text(len(losses) - 0.45, guessing, f"guessing\n{guessing:.2f}", va="center")
    ax.set(title=title, xlabel="number of heads", ylabel="loss (nats per answer)",
           xticks=range(len(losses)), xticklabels=losses, ylim=(0, 2.3), xlim=(-0.6, len(losses) - 0.5))  # fmt: skip
    show(fig, f"{title}. Bars of the loss for {', '.join(map(str, losses))} heads: {', '.join(said)} nats. "
              f"A dashed line marks guessing, {guessing:.2f}.")  # fmt: skip


def draw_tables(*tables, x, y, size=5.2, tall=4.4, numbers=True):
    """Draw heat maps of shares side by side, each given as (title, values, rows, columns)."""
    fig, axes = subplots(1, len(tables), figsize=(size * len(tables), tall), squeeze=False, layout="constrained")
    about = []
    for ax, (name, values, rows, columns) in zip(axes[0], tables, strict=True):
        labels = [str(column).replace(": ", ":\n") for column in columns]
        words = "{:.2f}".format if numbers else "".format
        heat_map(ax, values, rows, labels, words, vmin=0, vmax=1).axes.set_aspect("auto")
        ax.set(title=name, xlabel=x, ylabel=y)
        places = zip(rows, values, (columns[int(line.argmax())] for line in values), strict=True)
        best = (f"{row}: {place} {line.max():.2f}" if numbers else str(place) for row, line, place in places)
        about.append(f"{name}. Brightest in each row: {', '.join(best)}")
    show(fig, f"Heat maps, {y} against {x}. {'. '.join(about)}.")


def draw_four_steps():
    """Draw how matrices are split into four heads, attend, are merged and projected."""
    import torch
    from matplotlib.patches import Rectangle

    def block(x, y, colours, size=0.3):
        for j, colour in enumerate(colours):
            for i in range(4):
                ax.add_patch(Rectangle((x + j * size, y + (1 - i) * size), size, size, fc=colour, ec="white", lw=0.8))

    def arrow(left, y_left, right, y_right):
        ax.annotate("", (right, y_right), (left, y_left), arrowprops={"arrowstyle": "-|>", "color": GREY, "lw": 1.2})

    by_head = [colour for colour in FOUR for _ in range(2)]
    fig, ax = subplots(figsize=(13, 5.2))
    for y, name in ((5.4, "Q"), (3.6, "K"), (1.8, "V")):
        block(0.5, y, by_head)
        ax.text(0.35, y, name, ha="right", va="center", fontsize=13)
        arrow(3, y, 4.1, 3.6)
    for h, (y, colour) in enumerate(zip((6.0, 4.4, 2.8, 1.2), FOUR, strict=True)):
        for x, name in ((4.5, "Q"), (5.4, "K"), (6.3, "V"), (9.9, "")):
            block(x, y, (colour, colour))
            ax.text(x + 0.3, y + 0.62, f"${name}_{h}$" if name else "", ha="center", va="bottom", fontsize=10)
        arrow(7.1, y, 8.1, y)
        weights = torch.softmax(2 * torch.randn(4, 4, generator=torch.Generator().manual_seed(h)), -1)
        ax.imshow(weights, cmap="Greys", vmin=0, vmax=1.2, extent=(8.3, 9.5, y - 0.6, y + 0.6), zorder=2)
        arrow(10.7, y, 11.9, 3.6)
    block(12.1, 3.6, by_head)
    arrow(14.7, 3.6, 15.7, 3.6)
    ax.text(15.2, 3.75, "$W_O$", ha="center", va="bottom", fontsize=12)
    block(15.9, 3.6, ["#BBBBBB"] * 8)
    for x, label in ((1.7, "queries, keys, values\n(T, C) each"), (5.7, "1  split\n(T, $d_k$) each"),
                     (9.4, "2  attend\n(T, T) weights · values"), (13.3, "3  merge\n(T, C)"),
                     (17.1, "4  project\n(T, C)")):  # fmt: skip
        ax.text(x, 7.3, label, ha="center", va="bottom", fontsize=12)
    ax.set(xlim=(-0.3, 18.6), ylim=(0.3, 8.4), aspect="equal", title="Four heads, T = 4, C = 8: a colour for each head")
    ax.axis("off")
    show(fig, "Diagram from left to right. Queries, keys and values, four rows by eight columns, two columns in the "
              "colour of each head. Split: every head has its own two columns of all three. Attend: every head has its "
              "own 4 by 4 weights, times its values. Merge: the four results stand side by side. Project: one linear "
              "map mixes all columns.")  # fmt: skip


def draw_labels(title, *groups):
    """Draw arrays of labels such as "dog 3" as boxes, coloured by word. Each group {heading: array} is a column."""
    from matplotlib.patches import Rectangle

    fig, ax = subplots(figsize=(13, 4.8))
    colours: dict[str, str] = {}
    left, about = 0.0, []
    for group in groups:
        top = 0.0 if len(group) > 1 else 2.7
        for heading, rows in group.items():
            ax.text(left, top - 0.15, heading, weight="bold", va="bottom")
            for i, j in ((i, j) for i, row in enumerate(rows) for j, _ in enumerate(row)):
                word, number = rows[i][j].split()
                colour = colours.setdefault(word, FOUR[len(colours) % 4])
                ax.add_patch(Rectangle((left + j, top + i), 1, 1, fc=colour, ec=BLACK, alpha=0.55, lw=0.7))
                ax.text(left + j + 0.5, top + i + 0.5, f"{word}\n{number}", ha="center", va="center", fontsize=9)
            about.append(f"{heading}: " + "; ".join(" ".join(row) for row in rows))
            top += len(rows) + 1.4
        left += len(rows[0]) + 1.5
    ax.set(xlim=(-0.2, left - 1.3), ylim=(9.6, -1), title=title)
    ax.axis("off")
    show(fig, f"Boxes with labels, row by row. {'. '.join(about)}.")


def draw_curves(curves, lines):
    """Draw curves of training loss, as means of ten steps, among the lines of weaker readers and of the floor."""
    fig, ax = subplots(figsize=(9, 4.6))
    for (name, losses), (colour, style) in zip(curves.items(), ((BLUE, "-"), (RED, "--")), strict=True):
        smooth = [sum(losses[step - 10 : step]) / 10 for step in range(10, len(losses) + 1)]
        ax.plot(range(10, len(losses) + 1), smooth, style, color=colour, lw=2, label=name)
    for (name, line), dashes in zip(lines.items(), (":", "-.", (0, (5, 3)), "-"), strict=True):
        ax.axhline(line, color=BLACK, ls=dashes, lw=1)
        ax.annotate(f"{name} {line:.2f}", (1.01, line), xycoords=("axes fraction", "data"), va="center")
    ax.axhspan(0, lines["true floor"], color=GREY, alpha=0.18)
    ax.set(title="Two training runs, one of them right", xlabel="training step", ylabel="loss (nats per word)",
           xlim=(0, None), ylim=(0, 3.8))  # fmt: skip
    ax.legend(loc="upper right", bbox_to_anchor=(1.0, 0.78))
    ends = ", ".join(f"{name} {sum(losses[-10:]) / 10:.2f}" for name, losses in curves.items())
    show(fig, f"Training loss against step, with lines at {', '.join(f'{n} {v:.2f}' for n, v in lines.items())}. Both "
              f"curves fall, to {ends} at the end.")  # fmt: skip


def draw_formation(every, runs, choosing, sharing):
    """Draw the loss at repeated verbs and the weight of the later induction head in several trainings."""
    fig, axes = subplots(1, 2, figsize=(12, 3.8), layout="constrained")
    about = []
    for run, colour, style in zip(runs, (BLUE, RED, GREEN, BLACK, BLACK), ("-", "--", "-.", ":", "-"), strict=True):
        for ax, values in zip(axes, (run["loss"], run["weight"]), strict=True):
            ax.plot(range(0, every * len(values), every), values, color=colour, ls=style, label=f"seed {run['seed']}")
        low = next(place for place, loss in enumerate(run["loss"]) if loss < 0.1)
        about.append(f"seed {run['seed']}: below 0.1 at step {every * low}, weight then {run['weight'][low]:.2f}")
    for ax, line, name in zip(axes, (choosing, sharing), ("choosing", "equal shares"), strict=True):
        ax.axhline(line, color=GREY)
        ax.annotate(f"{name} {line:.2f}", (800, line), (0, -4), textcoords="offset points", ha="right", va="top")
    titles = ("Loss at repeated verbs", "Weight of the later induction head on the right verb")
    for ax, title, label, top in zip(axes, titles, ("loss (nats)", "share of weight"), (2, 1.03), strict=True):
        ax.set(title=title, xlabel="training step", ylabel=label, ylim=(0, top))
    axes[1].legend(loc="lower right")
    show(fig, f"Loss at repeated verbs, and weight of the later induction head, over steps. {'. '.join(about)}.")
