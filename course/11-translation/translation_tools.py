"""Prepare the texts of notebook 11, draw its figures, and stand in for answers that are not written yet."""

from notebook_tools import BLUE, GREEN, GREY, ORANGE, RED, SKY, heat_map, show, subplots

import random
import re
import unicodedata
from collections import Counter
from pathlib import Path

PAD, BOS, EOS, UNK = range(4)
SPECIAL = ["<pad>", "<bos>", "<eos>", "<unk>"]
WORD = re.compile(r"(?:[^\W_]|[\u0300-\u036f\u0900-\u0dff'’-])+|[^\w\s]")  # a word with its marks, or one sign
VERBS = {"brought": ("brought", "wetara", "আনল"), "saw": ("saw", "hụrụ", "দেখল"), "ate": ("ate", "riri", "খেল"),
         "had": ("had", "nwere")}  # fmt: skip
LOOKS = ((RED, "--", "s"), (BLUE, "-", "o"), (GREEN, "-.", "^"), (ORANGE, ":", "d"))
COLOURS = {"self": ORANGE, "cros": ORANGE, "feed": GREEN, "embe": SKY}  # of parts, by the first letters


def read_pairs(file, source, target):
    """Return all different (source, target) sentences of a table with tabs whose first line names the columns."""
    names, *rows = (line.split("\t") for line in Path(file).read_text("utf-8").splitlines() if line.strip())
    columns = names.index(source), names.index(target)
    return list(dict.fromkeys(tuple(unicodedata.normalize("NFC", row[c].strip()) for c in columns) for row in rows))


def split(pairs, longest, new_shape, held_out=300):
    """Return training pairs and three tests with known words: held out, new shape, longer than `longest` tokens."""
    words = {p: tuple(WORD.findall(sentence) for sentence in p) for p in pairs}
    pairs = [p for p in pairs if max(map(len, words[p])) <= 2 * longest]
    fits, shape = [p for p in pairs if len(words[p][0]) <= longest], re.compile(new_shape)
    short, new = ([p for p in fits if any(map(shape.fullmatch, p)) == odd] for odd in (False, True))
    random.Random(1).shuffle(short)
    counts = [Counter(word for p in short for word in words[p][side]) for side in (0, 1)]
    held = [p for p in short if all(counts[side][word] > 5 for side in (0, 1) for word in words[p][side])][:held_out]
    train = [p for p in short if p not in set(held)]
    known = [{word for p in train for word in words[p][side]} for side in (0, 1)]
    tests = {"held out": held, "new shape": new, "longer": [p for p in pairs if p not in set(fits)]}
    return train, {name: [p for p in part if all(set(words[p][side]) <= known[side] for side in (0, 1))]
                   for name, part in tests.items()}  # fmt: skip


def three_clauses(pairs, verb="brought"):
    """Return the pairs like `A brought …, B brought … and C brought …`, with this verb in both languages."""
    shape = re.compile(r".+ brought .+, .+ brought .+ and .+ brought .+")
    forms = dict(zip(VERBS["brought"], VERBS[verb], strict=False))
    return [tuple(re.sub("|".join(forms), lambda match: forms[match[0]], text) for text in pair)
            for pair in pairs if any(map(shape.fullmatch, pair))]  # fmt: skip


class Vocabulary:
    """The words of some sentences, with an id for each; any other word is <unk>."""

    def __init__(self, sentences):
        self.words = SPECIAL + sorted({word for sentence in sentences for word in WORD.findall(sentence)})
        self.ids = {word: i for i, word in enumerate(self.words)}

    def encode(self, sentence):
        return [self.ids.get(word, UNK) for word in WORD.findall(sentence)]

    def decode(self, ids):
        """Return the words as a person would write them."""
        return re.sub(r" ([,.?!।])", r"\1", " ".join(self.words[i] for i in ids))


def batches(examples, batch_size, seed):
    """Yield lists of examples without end, each once a round; examples of like length are together."""
    generator = random.Random(seed)
    while True:
        order, groups = generator.sample(range(len(examples)), len(examples)), []
        for start in range(0, len(order), 20 * batch_size):  # sorted in pieces of 20 batches, so that rounds differ
            piece = sorted(order[start : start + 20 * batch_size], key=lambda i: len(examples[i][1]))
            groups += [piece[k : k + batch_size] for k in range(0, len(piece), batch_size)]
        yield from ([examples[i] for i in group] for group in generator.sample(groups, len(groups)))


def yours(name, answer, works, otherwise):
    """Return the student's answer if works(answer) holds, else what stands in for it; say which."""
    try:
        good = bool(works(answer))
    except Exception:
        good = False
    print(f"{name}: {'yours' if good else 'not ready, so something else stands in for it'}")
    return answer if good else otherwise


def words_in_place(ours, right):
    """Stand in for bleu: the percentage of the references' words that stand at the same place in ours."""
    same = sum(a == b for pair in zip(ours, right, strict=True) for a, b in zip(*pair, strict=False))
    return 100 * same / sum(map(len, right))


def draw_lines(panels, labels, levels=None, scale="linear", **limits):
    """Draw a plot for each of {title: {name of a curve: (xs, ys)}}; labels: (x, y) of each; levels: in the first."""
    size, alike = (2 + 5 * len(panels), 4.2), len({y for _, y in labels}) == 1
    fig, axes = subplots(1, len(panels), figsize=size, squeeze=False, sharey=alike, layout="constrained")
    about = [f"levels: {', '.join(f'{name} {height:.2f}' for name, height in (levels or {}).items()) or 'none'}"]
    for ax, (title, curves), (x, y) in zip(axes[0], panels.items(), labels, strict=True):
        for (name, (xs, ys)), (colour, style, marker) in zip(curves.items(), LOOKS, strict=False):
            ax.plot(xs, ys, style, color=colour, marker=marker if len(xs) < 30 else "", lw=1.8, label=name)
            about += [f"{title}, {name}: from {ys[0]:.3g} to {ys[-1]:.3g}"] if len(ys) else []
        ax.set(title=title, xlabel=x, ylabel=y, xscale=scale)
        if len(curves) > 1:
            ax.legend(frameon=False)
    for name, height in (levels or {}).items():
        axes[0][0].axhline(height, color=GREY, ls=":", lw=1)
        axes[0][0].annotate(f"{name} {height:.2f}", (1, height), (4, 0), ("axes fraction", "data"), "offset points",
                            va="center", size=9)  # fmt: skip
    axes[0][0].set(**limits)
    show(fig, f"Line plots; {'; '.join(about)}.")


def draw_masks(masks):
    """Draw masks side by side: {title: (blocked, labels of keys, labels of queries)}."""
    fig, axes = subplots(1, len(masks), figsize=(14, 5), layout="constrained")
    for ax, (title, (blocked, keys, queries)) in zip(axes, masks.items(), strict=True):
        heat_map(ax, blocked, queries, keys, lambda cell: "×" if cell else "·", "cividis_r", vmin=-0.2, vmax=1.2)
        ax.set(title=title, xlabel="key (looked at)", ylabel="query (looking)")
    sizes = (f"{title}: {len(blocked)} queries by {len(blocked[0])} keys" for title, (blocked, *_) in masks.items())
    show(fig, f"Three masks, a cross means blocked. {'; '.join(sizes)}. Blocked are columns of padding in the first "
              "and third, and everything above the diagonal in the second.")  # fmt: skip


def draw_machine(source, target):
    """Draw encoder and decoder, and where they meet."""
    fig, ax = subplots(figsize=(9.5, 5.4))
    left = (f"{source} ids", "embedding + positions", "1  self-attention", "feed-forward", "memory  [B, S, C]")
    right = (f"{target} ids so far", "embedding + positions", "2  self-attention, causal", "3  cross-attention",
             "feed-forward", "scores of the next token")  # fmt: skip
    for x, names, height, half in ((0, left, 1.9, "encoder: reads"), (5, right, 2.9, "decoder: writes")):
        for y, name in enumerate(names):
            box = {"boxstyle": "round,pad=0.5", "fc": COLOURS.get(name.lstrip("123 ")[:4], GREY), "alpha": 0.4}
            ax.text(x, y, name, ha="center", va="center", bbox=box)
            if y:
                ax.annotate("", (x, y - 0.3), (x, y - 0.7), arrowprops={"arrowstyle": "->"})
        ax.bar(x, height, 3.5, 1.55, fill=False, ls=":", ec=GREY)
        ax.text(x + 1.85, 1.65, "× N")
        ax.text(x, -0.75, half, ha="center", weight="bold")
    ax.annotate("", (3.65, 3), (1.3, 4), arrowprops={"arrowstyle": "->", "color": RED, "lw": 2})
    ax.text(2.35, 3.75, "keys and values", color=RED, ha="center", rotation=-15)
    ax.text(5.15, 2.5, "queries", color=RED, va="center")
    ax.set(xlim=(-2.2, 7.6), ylim=(-1, 5.5), title="Encoder and decoder (add and norm: after every part)")
    ax.axis("off")
    show(fig, f"Two columns of boxes, from the bottom. Encoder: {', '.join(left)}. Decoder: {', '.join(right)}. A red "
              "arrow leads from the memory to the cross-attention: keys and values.")  # fmt: skip
