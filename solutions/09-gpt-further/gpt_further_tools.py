"""Draw the figures and tables of notebook 09-gpt-further, and fit its curves."""

from notebook_tools import BLUE, GREEN, ORANGE, RED, SKY, show, subplots

from html import escape

LOOKS = ((BLUE, "-", "o"), (RED, "--", "s"), (GREEN, "-.", "D"), (ORANGE, ":", "^"))


def draw_curves(curves, title, x, y, marks=False, **limits):
    """Draw curves, {name: (places, values)}. marks: also a mark at each value."""
    fig, ax = subplots(figsize=(8.5, 3.8))
    for (name, (places, values)), (colour, style, mark) in zip(curves.items(), LOOKS):  # noqa: B905
        ax.plot(places, values, style, color=colour, marker=mark if marks else None, ms=4, label=name)
    ax.set(title=title, xlabel=x, ylabel=y, **limits)
    ax.legend(frameon=False)
    ends = (f"{name}: from {v[0]:.2g} to {v[-1]:.2g}, at most {max(v):.2g}" for name, (_, v) in curves.items())
    show(fig, f"{title}. Line plot. {'; '.join(ends)}.")


def draw_grid(grid, floor):
    """Draw what is left to learn, by size and by amount of text: {(parameters, tokens): loss}."""
    fig, ax = subplots(figsize=(8.5, 4))
    sizes, amounts = (sorted(set(side)) for side in zip(*grid, strict=True))
    for D, colour, mark in zip(amounts, (SKY, ORANGE, GREEN, BLUE), "osD^", strict=True):
        ax.plot(sizes, [grid[N, D] - floor for N in sizes], color=colour, marker=mark, label=f"{D / 1e6:.2g} M tokens")
    ax.set(title="What is left to learn, by size and by amount of text", xscale="log", yscale="log",
           xlabel="parameters N (logarithmic)", ylabel="nats per token above\nthe floor (logarithmic)")  # fmt: skip
    ax.set_xticks(sizes, [f"{N:,}" for N in sizes], minor=False)
    ax.set_yticks([0.15, 0.2, 0.3, 0.5, 1, 2], ["0.15", "0.2", "0.3", "0.5", "1", "2"], minor=False)
    ax.minorticks_off()
    ax.legend(frameon=False)
    about = (f"{N:,} parameters, {D / 1e6:.2g} million tokens: {grid[N, D] - floor:.2f}" for N, D in sorted(grid))
    show(fig, "Loss above the floor against parameters, both logarithmic, a line for each amount of text. "
              + "; ".join(about))  # fmt: skip


def fitted_floor(grid):
    """Return E of the law E + A / N^alpha + B / D^beta with the smallest relative errors (squared) for these losses."""
    import torch

    exponents = torch.cartesian_prod(*[torch.arange(0.06, 3.0, 0.03, dtype=torch.float64)] * 2)
    N, D = torch.tensor(list(grid), dtype=torch.float64).T
    L = torch.tensor(list(grid.values()), dtype=torch.float64)
    alpha, beta = exponents.T[:, :, None]
    X = torch.stack([(N / 1e5) ** -alpha, (D / 1e6) ** -beta, torch.ones_like(alpha * N)], -1) / L[:, None]
    found = torch.linalg.lstsq(X, torch.ones(len(X), len(L), 1, dtype=torch.float64)).solution  # linear in A, B and E
    errors = ((X @ found)[..., 0] - 1).square().mean(-1)
    errors[(found < 0).any(1)[:, 0]] = float("inf")  # no term may be negative
    return found[errors.argmin(), 2, 0].item()


def draw_floors(fits, floor):
    """Draw fitted floors beside the true one: {which runs: (of all of them, those with one run left out)}."""
    fig, ax = subplots(figsize=(8.5, 3))
    for y, (whole, one_less) in enumerate(fits.values()):
        ax.plot(one_less, [y - 0.12] * len(one_less), "x", color=RED, label=None if y else "one run left out")
        ax.plot(whole, y + 0.12, "D", color=RED, label=None if y else "fitted")
    ax.axvline(floor, color=BLUE, label="true floor")
    ax.set(title="Which floor does a fit end at?", xlabel="E (nats per token)", yticks=range(len(fits)),
           yticklabels=list(fits), ylim=(-0.6, 1.9))  # fmt: skip
    ax.legend(frameon=False, ncols=3, loc="upper center")
    show(fig, f"True floor {floor:.2f}. " + "; ".join(f"{name}: fitted {whole:.2f}, with one run left out "
              f"{min(less):.2f} to {max(less):.2f}" for name, (whole, less) in fits.items()))  # fmt: skip


def draw_published(models, floor):
    """Draw the loss above the floor against minutes, as kept in bangla.json: {name: what was measured}."""
    fig, ax = subplots(figsize=(8.5, 3.8))
    for (name, one), (colour, style, mark) in zip(models.items(), LOOKS):  # noqa: B905
        minutes, left = zip(*((p["minutes"], p["validation"] - floor) for p in one["points"]), strict=True)
        label = f"{name}, {sum(one['parts'].values()) / 1e6:.1f} million parameters"
        ax.plot(minutes, left, style, color=colour, marker=mark, ms=4, label=label)
    ax.set(title="What is left to learn: a published size and a small one", xscale="log", yscale="log",
           xlabel="minutes on one core (logarithmic)",
           ylabel="nats per token above\nthe floor (logarithmic)")  # fmt: skip
    ax.set_xticks([0.5, 1, 2, 5, 10, 20], ["0.5", "1", "2", "5", "10", "20"], minor=False)
    ax.set_yticks([0.02, 0.05, 0.1, 0.2, 0.5, 1, 2], ["0.02", "0.05", "0.1", "0.2", "0.5", "1", "2"], minor=False)
    ax.minorticks_off()
    ax.legend(frameon=False)
    show(fig, "Loss above the floor against minutes, both logarithmic. " + " ".join(
              f"{name}: {one['points'][0]['validation'] - floor:.2f} nats at first, {one['best'] - floor:.3f} in the "
              f"end, after {one['minutes']:.0f} minutes." for name, one in models.items()))  # fmt: skip


def show_verbs(published, prefixes):
    """Show what grammar and models expect at the verb. Not a figure: Matplotlib's font has no Bangla letters."""
    from IPython.display import HTML, display

    def bn(text):
        return f"<span lang='bn'>{escape(text)}</span>"  # tells fonts and screen readers the language

    def line(row, tag):
        return "<tr>" + "".join(f"<{tag} style='text-align: left'>{cell}</{tag}>" for cell in row) + "</tr>"

    rows = [line(("before the verb", "", *map(bn, published["forms"])), "th")]
    for kept in (published["at_the_verb"][i] for i in prefixes):
        for who, name in (("grammar", "exact"), ("bangla", "published"), ("laptop", "laptop")):
            shares = [f"<b>{p:.2f}</b>" if p == max(kept[who]) else f"{p:.2f}" for p in kept[who]]
            rows.append(line((bn(kept["prefix"]) + " …" if who == "grammar" else "", name, *shares), "td"))
    display(HTML("<table>" + "".join(rows) + "</table>"))
