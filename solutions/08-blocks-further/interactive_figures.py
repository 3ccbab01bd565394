# Copy of transformer_exercises/shared_modules/interactive_figures.py: edit that file, then run `autograder release`.
"""Show interactive figures, for mouse, finger and keyboard: merges step by step, hands that turn.

Once shown, they need neither a kernel nor a network.
"""

import hashlib
import json
from html import escape
from pathlib import Path

import numpy as np
from IPython.display import display
from jinja2 import Template

TEMPLATE = Path(__file__).with_suffix(".html.j2")


def step_merges(merges, cuts, tokens):
    """Show how merges of byte-pair encoding join pieces, one merge after the other.

    merges: M pairs of pieces, in the order in which they were learnt.
    cuts: {word: M + 1 lists of pieces}, the word after 0, 1, …, M merges.
    tokens: M + 1 numbers, the tokens of the whole text after as many merges.
    """
    steps = len(merges) + 1
    for word, stages in cuts.items():
        if len(stages) != steps:
            raise ValueError(f"{len(merges)} merges make {steps} stages of each word; {word!r} has {len(stages)}.")
    if len(tokens) != steps:
        raise ValueError(f"{len(merges)} merges make {steps} numbers of tokens; these are {len(tokens)}.")
    for word, stages in cuts.items():
        if spoilt := [pieces for pieces in stages if "".join(pieces) != word]:
            raise ValueError(f"The pieces of a word spell it; {spoilt[0]} do not spell {word!r}.")
    words = []
    for word, stages in cuts.items():  # only where something changes: most merges leave most words alone
        changes = [0, *(k for k in range(1, steps) if stages[k] != stages[k - 1])]
        words.append({"word": word, "changes": [[k, list(stages[k])] for k in changes]})
    stops = sorted({k for word in words for k, _ in word["changes"]} | {len(merges)})
    control = {"name": "merges", "values": [f"{k}" for k in range(steps)], "at": 0, "stops": stops}
    data = {"merges": [list(pair) for pair in merges], "words": words, "tokens": [int(n) for n in tokens]}
    columns = sorted({0, len(merges) // 10, len(merges) // 3, len(merges)})
    rows = [[word, *(" | ".join(stages[k]) for k in columns)] for word, stages in cuts.items()]
    rows.append(["tokens of the text", *(f"{tokens[k]:,}" for k in columns)])
    head = ["word", *(f"{k} merges" for k in columns)]
    _show("merges", [control], data, "Words, cut by more and more merges", head, rows)


def turn(hands, speeds, scores=None):
    """Show pairs of features as hands that turn with the position; with scores, those of one vector with another.

    hands: {name: [T, d]}, one or two of them: a vector at each of T positions, its features in pairs (2i, 2i + 1).
    speeds: d / 2 numbers, radians per position. scores: {name: [T, T]}, of the first vector at m with the second at n;
    each pair of hands must add up to the first of them.
    """
    tables = {name: np.asarray(rows, dtype=float) for name, rows in hands.items()}
    shapes = {rows.shape for rows in tables.values()}
    if len(tables) not in (1, 2) or len(shapes) != 1 or len(next(iter(shapes))) != 2:
        raise ValueError("hands needs one or two tables of the same shape, [T, d].")
    T, d = shapes.pop()
    if d != 2 * len(speeds):
        raise ValueError(f"{d} features are {d / 2:g} pairs, but there are {len(speeds)} speeds.")
    grids = {name: np.asarray(grid, dtype=float) for name, grid in (scores or {}).items()}
    if bool(grids) != (len(tables) == 2) or any(grid.shape != (T, T) for grid in grids.values()):
        raise ValueError(f"Two vectors have scores, [{T}, {T}] for these; one vector has none.")
    if grids:
        first, second = tables.values()
        if not np.allclose(first @ second.T, next(iter(grids.values())), atol=1e-4):
            raise ValueError("The first of the scores must be the dot products of the two vectors.")
    names = [f"position of {name}" for name in tables] if grids else ["position"]
    places = [f"{t}" for t in range(T)]
    controls = [{"name": name, "values": places, "at": min(at, T - 1)} for name, at in zip(names, (6, 4), strict=False)]
    if grids:  # a third slider moves both, so that the distance stays
        earlier = min(control["at"] for control in controls)
        controls.append({"name": "both", "values": places, "at": earlier, "together": True})
    data = {
        "hands": [[name, np.round(rows, 4).tolist()] for name, rows in tables.items()],
        "speeds": [f"{speed:g}" for speed in speeds],
        "scores": [[name, np.round(grid, 3).tolist()] for name, grid in grids.items()],
    }
    shown = sorted({0, 1, 2, T // 4, T // 2, T - 1})
    if grids:
        head = ["positions", *grids]
        pairs = [(m, m - back) for back in (0, 2, 5) for m in shown if m >= back]
        rows = [[f"{m} and {n}", *(f"{grid[m, n]:.2f}" for grid in grids.values())] for m, n in pairs]
    else:
        head = ["position", *(f"{speed:g} radians per word" for speed in speeds)]
        [table] = tables.values()
        rows = [[f"{t}", *(f"({table[t, i]:.2f}, {table[t, i + 1]:.2f})" for i in range(0, d, 2))] for t in shown]
    _show("dials", controls, data, "Scores at pairs of positions" if grids else "The tips of the hands", head, rows)


def _show(kind, controls, data, caption, head, rows):
    """Display the page with these data; where no script runs the table stands in its place, and in plain text, too."""
    written = json.dumps({"kind": kind, "controls": controls, "data": data}, ensure_ascii=False, separators=(",", ":"))
    written = written.replace("<", "\\u003c")
    name = hashlib.sha256(written.encode()).hexdigest()[:12]
    template = Template(TEMPLATE.read_text("utf-8"), keep_trailing_newline=True)
    page = template.render(name=name, still=_table(caption, head, rows), data=written)
    plain = "\n".join([caption, *("  ".join(row) for row in [head, *rows])])
    display({"text/html": page, "text/plain": plain}, raw=True)


def _table(caption, head, rows):
    """Write an HTML table; the first cell of each row is its head."""
    parts = [f"<table><caption>{escape(caption)}</caption><thead><tr>"]
    parts += [f'<th scope="col">{escape(cell)}</th>' for cell in head]
    parts.append("</tr></thead><tbody>")
    for first, *others in rows:
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in others)
        parts.append(f'<tr><th scope="row">{escape(first)}</th>{cells}</tr>')
    return "".join([*parts, "</tbody></table>"])
