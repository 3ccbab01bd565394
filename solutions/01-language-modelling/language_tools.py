"""Draw the figures of notebook 01, and test whether answers work."""

from notebook_tools import BLACK, BLUE, GREEN, GREY, ORANGE, RED, SKY, show, subplots

import torch

UNITS = {"M": 1e6, "B": 1e9, "T": 1e12}
KINDS = {"n-gram": (ORANGE, "s"), "network": (GREEN, "^"), "transformer": (BLUE, "o")}
HISTORY = """1992 word trigrams|n-gram||583 M; 2003 neural n-gram|network||14 M; 2006 web 5-grams|n-gram|3.8 B|1.02 T
2007 web-scale n-grams|n-gram|300 B|2 T; 2008 one network, many tasks|network||631 M; 2010 recurrent|network||6.4 M
2015 attention and recurrence|network||348 M; 2017 Transformer (big)|transformer|213 M|; 2018 GPT-1|transformer|117 M|
2018 BERT (large)|transformer|340 M|3.3 B; 2019 GPT-2|transformer|1.5 B|; 2019 T5 (largest)|transformer|11 B|
2020 GPT-3|transformer|175 B|300 B; 2022 Chinchilla|transformer|70 B|1.4 T; 2023 GPT-4|transformer|?|?
2023 Gemini (Ultra)|transformer|?|?; 2023 LLaMA|transformer|65 B|1.4 T; 2023 Llama 2|transformer|70 B|2 T
2024 DeepSeek LLM|transformer|67 B|2 T; 2024 DeepSeek-V2|transformer|236 B|8.1 T; 2024 Llama 3|transformer|405 B|15 T
2024 DeepSeek-V3|transformer|671 B|14.8 T; 2025 GPT-4.5|transformer|?|?"""


def works(call, wanted):
    """Return whether a call gives the wanted numbers, detached; not if it fails, as an answer not written yet."""
    try:
        return not (x := torch.as_tensor(call())).requires_grad and torch.allclose(x, torch.tensor(wanted), atol=1e-4)
    except Exception:
        return False


def draw_shares(shares):
    """Draw, side by side, which words follow: {prompt: {word: share}}."""
    fig, axes = subplots(1, len(shares), figsize=(12, 3), sharex=True, layout="constrained")
    told = []
    for ax, (prompt, words), colour in zip(axes, shares.items(), (SKY, BLUE), strict=True):
        ax.bar_label(ax.barh(list(words), words.values(), color=colour), fmt="%.2f", padding=3)
        ax.set(title=prompt, xlabel="share of the stories' next words", xlim=(0, 0.3))
        ax.invert_yaxis()
        told.append(f"After “{prompt}”: {', '.join(f'{word} {share:.2f}' for word, share in words.items())}.")
    show(fig, f"Bar charts of the next word. {' '.join(told)}")


def draw_tree(fork):
    """Draw a language as a tree that begins with The: {word: (probability, {next word: probability})}."""
    fig, ax = subplots(figsize=(10, 3.6))
    leaves = []
    for i, (animal, (p, verbs)) in enumerate(fork.items()):
        for j, (verb, q) in enumerate(verbs.items()):
            y, z = 2.5 - 2 * i, 3 - 2 * i - j
            ax.plot([0, 2.2, 4.5], [1.5, y, z], color=GREY, zorder=1)
            for x, height, number, upper in ((1, (y + 1.5) / 2, p, i == 0), (3.3, (y + z) / 2, q, j == 0)):
                ax.text(x, height, number, color=RED, ha="right", va="bottom" if upper else "top")
            for x, height, word in ((0, 1.5, "The"), (2.2, y, animal), (4.5, z, verb)):
                box = {"boxstyle": "round,pad=0.35", "fc": "white", "ec": BLUE}
                ax.text(x, height, word, ha="center", va="center", bbox=box, zorder=2)
            leaves.append(f"p(The {animal} {verb}) = {p} × {q} = {p * q:.2f}")
            ax.text(5.3, z, leaves[-1], va="center")
    ax.set(xlim=(-0.5, 9), ylim=(-0.3, 3.3), title="Multiply along the path: four sentences share a probability of 1")
    ax.axis("off")
    show(fig, f"A tree begins with The and forks twice, with a probability at each branch: {'; '.join(leaves)}.")


def draw_pairs(counts, names, most=20):
    """Draw how often the most frequent characters follow each other, as a heat map on a logarithmic scale."""
    often = counts.sum(1).argsort(descending=True)[:most]
    shown, labels = counts[often][:, often], [names[i] for i in often]
    fig, ax = subplots(figsize=(7.6, 6.4))
    picture = ax.imshow(shown.log10().where(shown > 0, torch.nan), cmap="cividis", vmin=0)
    ax.set(title=f"How often does one character follow another?\nThe {most} most frequent (white: never)",
           xlabel="character after", ylabel="character before")  # fmt: skip
    ax.set_xticks(range(most), labels)
    ax.set_yticks(range(most), labels, va="center_baseline")
    fig.colorbar(picture, ax=ax, label="log₁₀ of the count", shrink=0.8)
    never = f"{(shown == 0).float().mean():.0%} of these pairs never occur"
    show(fig, f"A heat map of the {most} most frequent characters. {never}; the row and column of the space are full.")


def draw_loss(curves, lines, unit, **labels):
    """Draw losses, {name: {x: loss}}, among horizontal lines, {name: loss}."""
    fig, ax = subplots(figsize=(9.5, 4.8))
    told = []
    for (name, curve), colour, mark in zip(curves.items(), (BLUE, RED, ORANGE), "osD", strict=False):
        mark = mark if len(curve) < 20 else ""
        ax.plot(*zip(*curve.items(), strict=True), marker=mark, color=colour, lw=2, label=name, clip_on=False)
        told.append(f"{name} from {curve[1]:.2f} to {curve[max(curve)]:.2f}, at best {min(curve.values()):.2f}")
    for name, loss in lines.items():
        name = name.replace("ln", "log₂") if unit == "bits" else name
        ax.axhline(loss, color=BLACK, ls="--", lw=1, zorder=0)
        ax.text(1.02, loss, f"{name} {loss:.2f}", va="center", transform=ax.get_yaxis_transform())
    limits = {"ylim": (0, 1.1 * max(lines.values())), "xlim": (1, max(curve))}
    ax.set(ylabel=f"cross-entropy ({unit} per character)", **limits, **labels)
    ax.legend(loc="center right", bbox_to_anchor=(1, 0.61))
    drawn = ", ".join(f"{name} {loss:.2f}" for name, loss in lines.items())
    show(fig, f"Cross-entropy in {unit}, by {labels['xlabel']}. {'; '.join(told)}. Horizontal lines: {drawn}.")


def draw_surprise(sentence, surprise):
    """Draw how surprised models are at each character of a sentence: {model: bits for each character}."""
    fig, axes = subplots(len(surprise), 1, figsize=(13, 4.6), sharex=True, sharey=True, layout="constrained")
    for ax, (name, bits), colour in zip(axes, surprise.items(), (ORANGE, BLUE), strict=True):
        ax.bar(range(len(sentence)), bits, color=colour)
        ax.set(title=f"{name}: {sum(bits):.0f} bits in all", ylabel="surprise (bits)", xlim=(-0.8, len(sentence) - 0.2))
    ax.set_xticks(range(len(sentence)), sentence.replace(" ", "␣"))
    ax.set_xlabel("character (␣ is a space)")
    told = "; ".join(f"{name}: {', '.join(f'{abs(b):.0f}' for b in bits)}" for name, bits in surprise.items())
    show(fig, f"Bar charts of the surprise, in bits, at each character of “{sentence}” {told}.")


def draw_learnt(counts, counted, learnt):
    """Draw, for each pair that occurs, its learnt against its counted probability. learnt: {steps: table}."""
    fig, ax = subplots(figsize=(6.4, 5))
    for (steps, table), colour, marker in zip(learnt.items(), (ORANGE, BLUE), "^o", strict=True):
        pairs = counted[counts > 0], table[counts > 0]
        ax.plot(*pairs, marker, color=colour, ms=4, alpha=0.5, label=f"after {steps:,} steps")
    ax.plot(limits := [1.5e-3, 1.3], limits, color=BLACK, lw=1)
    ax.set(title="Every pair that occurs: its p(after | before)", xlabel="counted", ylabel="learnt, from the logits",
           xscale="log", yscale="log", xlim=limits, ylim=limits)  # fmt: skip
    ax.legend(loc="lower right")
    show(fig, "Learnt against counted probabilities: first most lie in a flat band near 1/V, then on the diagonal.")


def draw_years():
    """Draw what published models stored, and how much text they were trained on, from 1992 to 2025."""
    entries = [entry.strip().split("|") for entry in HISTORY.replace("\n", ";").split(";")]
    fig, axes = subplots(1, 2, figsize=(13, 7), sharey=True, layout="constrained")
    panels = (("What the model stores", "n-grams or parameters", (3e7, 9e12)),
              ("What it was trained on", "words or tokens of text", (3e6, 3e14)))  # fmt: skip
    for column, (title, what, limits) in enumerate(panels):
        ax = axes[column]
        for y, (_, kind, *said) in enumerate(entries):
            number, _, unit = said[column].partition(" ")
            if unit:
                ax.plot(size := float(number) * UNITS[unit], y, KINDS[kind][1], color=KINDS[kind][0], ms=9)
                ax.annotate(said[column], (size, y), (9, 0), textcoords="offset points", va="center", fontsize=10)
            elif number:
                ax.text(2 * limits[0], y, "unpublished", va="center", color=RED, style="italic")
        ax.set(title=title, xlabel=f"{what} (logarithmic scale)", xscale="log", xlim=limits)
        ax.grid(axis="x", alpha=0.3)
    axes[0].set_yticks(range(len(entries)), [entry[0] for entry in entries])
    axes[0].set_ylim(len(entries) - 0.4, -0.6)
    fig.suptitle("■ tables of n-grams   ▲ networks before transformers   ● transformers")
    told = "; ".join(", ".join((name, *(part or "–" for part in said))) for name, _, *said in entries)
    show(fig, f"A timeline on two logarithmic scales: {told.replace('?', 'unpublished')}.")
