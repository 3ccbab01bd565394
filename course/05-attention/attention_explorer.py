# Copy of transformer_exercises/shared_modules/attention_explorer.py: edit that file, then run `autograder release`.
"""Show the attention weights of all layers and heads in an interactive figure, for mouse, finger and keyboard.

Once shown, it needs neither a kernel nor a network.
"""

import base64
import hashlib
import json
from html import escape
from pathlib import Path

import numpy as np
from IPython.display import display
from jinja2 import Template

TEMPLATE = Path(__file__).with_suffix(".html.j2")
# Every 32nd colour of matplotlib's cividis (Nuñez, Anderton and Renslow 2018), which colour-blind eyes see alike.
CIVIDIS = ["#00224e", "#1a386f", "#434e6c", "#61656f", "#7d7c78", "#9b9476", "#bcae6c", "#dec958", "#fee838"]


def explore(weights, looking, looked_at=None, title="Attention", also=None):
    """Show attention weights to touch: tokens with arcs, heat maps, a grid of all layers and heads.

    weights: [T, S], [H, T, S] or [L, H, T, S], each row a share of 1; a tensor, an array or nested lists.
    looking: the T tokens that look; looked_at: the S tokens that are looked at, the same ones if left out.
    title: what stands above. also: more of the kind, to switch to: {title: (weights, looking, looked_at)}.
    """
    kinds = {title: (weights, looking, looked_at)} | (also or {})
    data = [_kind(name, *given) for name, given in kinds.items()]
    written = json.dumps({"kinds": data, "colours": CIVIDIS}, ensure_ascii=False).replace("<", "\\u003c")
    name = hashlib.sha256(written.encode()).hexdigest()[:12]
    template = Template(TEMPLATE.read_text("utf-8"), keep_trailing_newline=True)
    page = template.render(name=name, still=_still(data[0]), data=written)
    said = f"Attention explorer: {', '.join(kinds)}. " + _said(data[0])
    display({"text/html": page, "text/plain": said}, raw=True)


def _kind(name, weights, looking, looked_at=None):
    """Return what the page needs to know of one kind of attention; weights as bytes, 255 is 1."""
    looking = [str(token) for token in looking]
    looked_at = looking if looked_at is None else [str(token) for token in looked_at]
    values = np.asarray(weights.detach().cpu() if hasattr(weights, "detach") else weights, dtype=float)
    if not 2 <= values.ndim <= 4:
        raise ValueError(f"weights must have 2 to 4 dimensions, [L, H, T, S] at most; these have {values.ndim}.")
    values = values.reshape((1,) * (4 - values.ndim) + values.shape)
    if values.shape[2:] != (len(looking), len(looked_at)):
        raise ValueError(
            f"There are {len(looking)} tokens that look and {len(looked_at)} that are looked at, "
            f"but the weights are {values.shape[2]} by {values.shape[3]}."
        )
    if not np.isfinite(values).all() or values.min() < -1e-6 or values.max() > 1 + 1e-4:
        raise ValueError("Attention weights are shares from 0 to 1; some of these are not.")
    numbers = np.rint(255 * values.clip(0, 1)).astype(np.uint8)
    layers, heads = values.shape[:2]
    packed = base64.b64encode(numbers.tobytes()).decode()
    return {"name": name, "looking": looking, "looked": looked_at, "L": layers, "H": heads, "weights": packed}


def _first(kind):
    """Return the last layer's mean over its heads, [T, S]: what is shown first, and where no script runs."""
    numbers = np.frombuffer(base64.b64decode(kind["weights"]), np.uint8)
    shape = kind["L"], kind["H"], len(kind["looking"]), len(kind["looked"])
    return numbers.reshape(shape)[-1].mean(0) / 255


def _said(kind):
    """Put the picture in words: where each token looks most, in the last layer on average."""
    best = _first(kind)
    rows = zip(kind["looking"], best, strict=True)
    parts = [f"{token}: {kind['looked'][row.argmax()]} {row.max():.2f}" for token, row in rows]
    return "Where each token looks most, in the last layer, mean of its heads: " + "; ".join(parts) + "."


def _still(kind, size=22):
    """Draw the heat map without a script, as SVG."""
    best, left = _first(kind), 8 + 7 * max(len(token) for token in kind["looking"])
    top = 8 + 7 * max(len(token) for token in kind["looked"])
    height, width = top + size * best.shape[0], left + size * best.shape[1]
    parts = [f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="']
    parts += [escape(_said(kind), quote=True), '">']
    for t, token in enumerate(kind["looking"]):
        y = top + size * (t + 0.65)
        parts.append(f'<text x="{left - 4}" y="{y}" text-anchor="end">{escape(token)}</text>')
        for s, value in enumerate(best[t]):
            colour = CIVIDIS[round(8 * float(value))]
            place = f'x="{left + size * s}" y="{top + size * t}" width="{size}" height="{size}"'
            parts.append(f'<rect {place} fill="{colour}"/>')
    for s, token in enumerate(kind["looked"]):
        x = left + size * (s + 0.65)
        parts.append(f'<text transform="translate({x} {top - 4}) rotate(-90)">{escape(token)}</text>')
    return "".join([*parts, "</svg>"])
