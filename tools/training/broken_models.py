"""Packs the broken models of notebook 12, which students find out about by experiments.

    python -m tools.training.broken_models

The file next to the notebook holds them compressed, so that nobody reads by chance what is wrong with which.
"""

import base64
import hashlib
import json
import textwrap
import zlib
from pathlib import Path

PACKED = Path(__file__).resolve().parents[2] / "solutions" / "12-it-trains-anyway" / "broken_models.packed"

# All models are this class. Names between @ mark where they differ. Any other change of the text, the class's
# name included, changes the order of the packed models, and with it whose letter is which in the saved outputs.
TEXT = '''
class Patient(nn.Module):
    """A small GPT: (ids [B, T], real [B, T], True = no padding) -> logits [B, T, V] and the loss of its team."""

    def __init__(self, V, C, n_head, n_layer, T):
        super().__init__()
        self.n_head = n_head
        self.token_embedding, self.position_embedding = nn.Embedding(V, C), nn.Embedding(T, C)
        nn.init.normal_(self.token_embedding.weight, std=0.06)
        nn.init.normal_(self.position_embedding.weight, std=0.06)
        self.neighbours = nn.Parameter(torch.zeros(2, C))  # how much of two near tokens is added to each
        self.layers = nn.ModuleList(nn.ModuleList([
            nn.LayerNorm(C), nn.Linear(C, 3 * C), nn.Linear(C, C),
            nn.LayerNorm(C), nn.Linear(C, 2 * C), nn.Linear(2 * C, C)]) for _ in range(n_layer))
        self.final_norm, self.lm_head = nn.LayerNorm(C), nn.Linear(C, V, bias=False)
        self.lm_head.weight = self.token_embedding.weight
        @BORN@

    def forward(self, ids, real=None):
        B, T = ids.shape
        real = torch.ones_like(ids, dtype=torch.bool) if real is None else real
        x = self.token_embedding(ids) + self.position_embedding.weight[:T]
        near = F.pad(x * real[..., None], (0, 0, @NEAR@))  # [B, T + 2, C]
        x = x + self.neighbours[0] * near[:, :T] + self.neighbours[1] * near[:, @SECOND@]
        x = F.dropout(x, 0.1, training=@ON@)
        t = torch.arange(T, device=ids.device)
        seen = (t <= t[:, None]) & real[:, None, None, :]  # [B, 1, T, T]
        for norm1, qkv, out, norm2, wide, narrow in self.layers:
            q, k, v = (p.unflatten(-1, (self.n_head, -1)).transpose(1, 2) for p in qkv(norm1(x)).chunk(3, -1))
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # [B, H, T, T]
            mixed = @SHARES@ @ v
            x = x + out(mixed@MERGED@.reshape(B, T, -1))
            x = x + narrow(F.relu(wide(norm2(x))))
        logits = F.linear(self.final_norm(x), @HEAD@)
        here, there = logits[:, : T - @AHEAD@], ids[:, @AHEAD@ :]
        counts = @COUNTS@
        return logits, F.cross_entropy(here[counts].float(), there[counts])
'''
USUAL = {
    "BORN": "",
    "NEAR": "2, 0",
    "SECOND": "1 : T + 1",
    "ON": "self.training",
    "SHARES": "scores.masked_fill(~seen, torch.finfo(x.dtype).min).softmax(-1)",
    "MERGED": ".transpose(1, 2)",
    "HEAD": "self.lm_head.weight",
    "AHEAD": "1",
    "COUNTS": "real[:, : here.shape[1]]",
}
# For each finding: the text written at which parts, and the learning rate of its team
SUSPECTS: dict[str, tuple[dict[str, str], float]] = {
    "sound": ({}, 4e-3),
    "finite": ({"SHARES": "scores.masked_fill(~seen, -4.0).softmax(-1)"}, 4e-3),
    "dropout": ({"ON": "True"}, 3e-3),
    "merge": ({"MERGED": ""}, 4.5e-3),
    "unshifted": ({"AHEAD": "0"}, 3e-3),
}
WARD: dict[str, tuple[dict[str, str], float]] = {
    "healthy": ({}, 3e-3),
    "empty": ({"SHARES": "scores.masked_fill(~seen, -math.inf).softmax(-1)"}, 8e-3),
    "noise": ({"ON": "True"}, 6e-3),
    "half": ({"SHARES": "(scores + (~seen).to(x.dtype) * torch.tensor(-1e9).to(x)).softmax(-1)"}, 4e-3),
    "leak": ({"NEAR": "1, 1", "SECOND": "2 :"}, 8e-3),
    "padding": ({"COUNTS": "torch.ones_like(there, dtype=torch.bool)"}, 1.7e-3),
    "shift": ({"AHEAD": "2"}, 1.2e-2),
    "copy": ({"BORN": "self.lm_head.weight = nn.Parameter(self.lm_head.weight.detach().clone())"}, 5e-3),
}


def source(ways: dict[str, str]) -> str:
    """Return the source of the model that differs from a sound one in these ways."""
    text = TEXT
    for spot, usual in USUAL.items():
        text = text.replace(f"@{spot}@", ways.get(spot, usual))
    return text


def models() -> dict[str, dict[str, tuple[str, float]]]:
    """Return the source and the learning rate of each model, by group and finding, in an order that nobody guesses."""
    made: dict[str, dict[str, tuple[str, float]]] = {}
    for group, found in {"suspects": SUSPECTS, "ward": WARD}.items():
        sources = {finding: (source(ways), rate) for finding, (ways, rate) in found.items()}
        order = sorted(sources, key=lambda finding: hashlib.sha256(sources[finding][0].encode()).digest())
        made[group] = {finding: sources[finding] for finding in order}
    return made


def packed() -> str:
    text = base64.b85encode(zlib.compress(json.dumps(models()).encode(), 9)).decode()
    return "\n".join(textwrap.wrap(text, 100)) + "\n"


if __name__ == "__main__":
    PACKED.write_bytes(packed().encode())
