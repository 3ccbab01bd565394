# Copy of transformer_exercises/shared_modules/tokenisation_tools.py: edit that file, then run `autograder release`.
"""Draw the figures of notebook 02 and of its optional notebook."""

from notebook_tools import BLACK, BLUE, GREEN, GREY, ORANGE, RED, SKY, heat_map, show, subplots

import time


def if_answered(function, *args):
    """Return what your function returns, or None (and print a note) as long as it is not ready."""
    try:
        return function(*args)
    except Exception as error:  # so that the cells below run even before you have answered
        print(f"(An answer that this cell would use is not ready yet: {type(error).__name__}. It goes on without.)")
        return None


def timed(function, *args):
    """Return how long a call takes; of a short one, the best of three, since other programs disturb it."""
    times: list[float] = []
    while len(times) < 3 and sum(times) < 1:
        start = time.perf_counter()
        function(*args)
        times.append(time.perf_counter() - start)
    return min(times)


def _boxes(title, rows, said, size):
    """Draw rows of boxes: {label: [(x, width, text, colour)]}."""
    from matplotlib.patches import Rectangle

    fig, ax = subplots(figsize=size, layout="constrained")
    for row, boxes in enumerate(rows.values()):
        for x, width, text, colour in boxes:
            ax.add_patch(Rectangle((x + 0.05, -row - 0.38), width - 0.1, 0.76, fc=colour, ec=BLACK, alpha=0.5))
            ax.text(x + width / 2, -row, text, ha="center", va="center", family="DejaVu Sans Mono")
    ends = (x + width for boxes in rows.values() for x, width, _, _ in boxes)
    ax.set(xlim=(0, max(ends)), ylim=(0.6 - len(rows), 0.6), xticks=[], title=title)
    ax.set_yticks([-row for row in range(len(rows))], list(rows))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    show(fig, said)


def draw_cuts(sentence, cuts):
    """Draw a sentence in pieces, several times: {name: pieces}."""
    rows, said = {}, []
    for (name, pieces), colour in zip(cuts.items(), (SKY, ORANGE, GREEN, GREY, BLUE), strict=False):
        x, boxes = 0, []
        for piece in pieces:
            x = sentence.index(piece, x)
            boxes.append((x, len(piece), piece.replace(" ", "␣"), colour))
            x += len(piece)
        rows[f"{name}: {len(pieces)}"] = boxes
        said.append(f"{name}, {len(pieces)} tokens" + (f" ({', '.join(pieces)})" if len(pieces) < 20 else ""))
    title = f"One sentence, cut in {len(cuts)} ways: how many tokens? (␣ is a space)"
    told = f"The sentence {sentence!r} in boxes, {len(cuts)} times: {'; '.join(said)}."
    _boxes(title, rows, told, (12.5, 0.5 + 0.55 * len(cuts)))


def draw_merges(title, rounds):
    """Draw words in pieces after each merge: {merge: words in pieces}."""
    rows: dict[str, list] = {}
    for name, words in rounds.items():
        rows[name], x = [], 0.0
        for word in words:
            for piece in word.split():
                rows[name].append((x, len(piece), piece, SKY if len(piece) == 1 else ORANGE))
                x += len(piece)
            x += 1.5
    said = "; ".join(f"{name}: {', '.join(word.replace(' ', '+') for word in words)}" for name, words in rounds.items())
    _boxes(title, rows, f"Words in pieces. {title}. {said}.", (11, 0.6 + 0.5 * len(rounds)))


def draw_bytes(glyphs):
    """Draw the UTF-8 bytes of texts: {name: text}. Each code point has another colour than the one before it."""
    rows, said = {}, []
    for name, text in glyphs.items():
        data = [(byte, (SKY, ORANGE)[k % 2]) for k, c in enumerate(text) for byte in c.encode("utf-8")]
        rows[name] = [(x, 1, str(byte), colour) for x, (byte, colour) in enumerate(data)]
        said.append(f"{name}: {', '.join(str(byte) for byte, _ in data)}")
    title, told = "Texts in UTF-8, byte by byte (another colour: another code point)", "; ".join(said)
    _boxes(title, rows, f"Rows of boxes with the values of UTF-8 bytes. {told}.", (10, 0.6 + 0.4 * len(glyphs)))


def draw_lines(lines, title, xlabel, ylabel, power=False):
    """Draw lines {name: (x, y)} on logarithmic scales; with `power`, a straight dotted one through the first."""
    import numpy as np
    from matplotlib.ticker import LogLocator

    fig, ax = subplots(figsize=(9.5, 4.4), layout="constrained")
    said = []
    for (name, (x, y)), colour, mark in zip(lines.items(), (BLUE, ORANGE, GREEN, RED), "os^D", strict=False):
        ax.plot(x, y, color=colour, marker=mark, label=name)
        first, last = (f"{value:,.0f}" if value >= 10 else f"{value:.2g}" for value in (y[0], y[-1]))
        said.append(f"{name}: from {first} at {x[0]:,} to {last} at {x[-1]:,}")
        if power and len(said) == 1:
            beta, log_k = np.polyfit(np.log(x), np.log(y), 1)
            label = f"{np.exp(log_k):.1f} · n$^{{{beta:.2f}}}$"
            ax.plot(x, np.exp(log_k) * np.array(x) ** beta, color=BLACK, ls=":", label=label)
            said.append(f"close to a straight line of slope {beta:.2f}")
    ax.set(title=title, xlabel=f"{xlabel} (logarithmic scale)", ylabel=f"{ylabel} (logarithmic scale)",
           xscale="log", yscale="log", xmargin=0.03)  # fmt: skip
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
        axis.set_major_formatter("{x:,g}")
    ax.minorticks_off()
    ax.grid(alpha=0.3)
    ax.legend()
    show(fig, f"{title}: lines on logarithmic scales. {'; '.join(said)}.")


def draw_table(spent, rows, columns, title):
    """Draw a table of tokens per word, [rows, columns], darker for more."""
    from matplotlib.colors import LogNorm

    fig, ax = subplots(figsize=(7.5, 7), layout="constrained")
    # Up to 99, so that only the light part of the colours is taken, on which black text is read well
    heat_map(ax, spent, rows, columns, "{:.1f}".format, "YlOrBr", aspect="auto", norm=LogNorm(vmax=99))
    ax.set(title=title, xlabel="tokeniser, by what it has learnt from", ylabel="language")
    said = (f"{name}: {', '.join(f'{value:.1f}' for value in row)}" for name, row in zip(rows, spent, strict=True))
    show(fig, f"Table of tokens per word for tokenisers that learnt from: {', '.join(columns)}. {'; '.join(said)}.")


def draw_dots(prices, labels):
    """Draw two prices of each language, in multiples of English: {name: {language: price}}, sorted by the first."""
    first, second = prices.values()
    order = sorted(first, key=first.get)
    fig, axes = subplots(1, 2, figsize=(13, 7.6), layout="constrained")
    half = (len(order) + 1) // 2
    for ax, part in zip(axes, (order[:half], order[half:]), strict=True):
        for (name, price), mark, colour in zip(prices.items(), "oD", (ORANGE, BLUE), strict=True):
            ax.plot([price[one] for one in part], range(len(part)), mark, color=colour, label=name, zorder=2)
        ax.hlines(range(len(part)), *zip(*((first[one], second[one]) for one in part), strict=True), color=GREY, lw=1)
        ax.axvline(1, color=BLACK, ls="--", lw=1)
        ax.set_yticks(range(len(part)), [labels[one] for one in part])
        ax.set(xlabel="tokens, in multiples of English (logarithmic scale)", xscale="log", xlim=(0.7, 9))
        ax.set(ylim=(half, -1))
        ax.set_xticks([1, 2, 3, 5, 7], ["1", "2", "3", "5", "7"])
        ax.minorticks_off()
    axes[1].legend(loc="lower left")
    fig.suptitle(f"The same five sentences in {len(order)} languages, compared with English")
    said = "; ".join(f"{one} {first[one]:.1f} and {second[one]:.1f}" for one in order)
    show(fig, f"Dots for {len(order)} languages: what they cost in multiples of English, learnt from "
              f"{' and from '.join(prices)}. {said}.")  # fmt: skip
