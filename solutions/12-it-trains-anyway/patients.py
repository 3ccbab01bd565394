"""The patients of notebook 09: small GPTs that are all called alike, each with one bug or with none.

You may read this file: it shows how such bugs get into code. It does not say which patient has which; by running parts
of it you could find that out, too, and nothing would be won. What is marked is your `diagnose`, on models that are not
in here. This file belongs beside the notebook.
"""

import hashlib
import math
import random

import torch
import torch.nn.functional as F
from torch import nn
from tqdm.auto import tqdm

FINDINGS = ("healthy", "empty", "noise", "half", "leak", "padding", "shift", "copy")

# All patients are this class. Between @ stand the places at which teams went different ways.
_TEXT = '''
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
_USUAL = {
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
_NOT_SHIFTED = {"AHEAD": "0"}
_ALWAYS_ON = {"ON": "True"}
# What teams did, and their rates.
_SUSPECTS = {
    "sound": ({}, 6e-3),
    "A": ({"SHARES": "scores.masked_fill(~seen, -4.0).softmax(-1)"}, 4e-3),
    "B": (_ALWAYS_ON, 5e-3),
    "C": ({"MERGED": ""}, 4.5e-3),
    "D": (_NOT_SHIFTED, 3e-3),
}
_WARD = {
    "healthy": ({}, 3e-3),
    "empty": ({"SHARES": "scores.masked_fill(~seen, -math.inf).softmax(-1)"}, 8e-3),
    "noise": (_ALWAYS_ON, 6e-3),
    "half": ({"SHARES": "(scores + (~seen).to(x.dtype) * torch.tensor(-1e9).to(x)).softmax(-1)"}, 4e-3),
    "leak": ({"NEAR": "1, 1", "SECOND": "2 :"}, 8e-3),
    "padding": ({"COUNTS": "torch.ones_like(there, dtype=torch.bool)"}, 1.7e-3),
    "shift": ({"AHEAD": "2"}, 1.2e-2),
    "copy": ({"BORN": "self.lm_head.weight = nn.Parameter(self.lm_head.weight.detach().clone())"}, 5e-3),
}
SIZES = {"C": 48, "n_head": 4, "n_layer": 2, "T": 33}


def _born(ways, V):
    """A patient before it is trained. Its class has no source that could be asked for."""
    text = _TEXT
    for place, usual in _USUAL.items():
        text = text.replace(f"@{place}@", ways.get(place, usual))
    names: dict = {"torch": torch, "nn": nn, "F": F, "math": math}
    exec(compile(text, "<patient>", "exec"), names)
    return names["Patient"](V, **SIZES)


def _raised(ways, rate, ids, V, device, steps):
    """A patient trained on full windows of ids, and its losses, as its team reported them."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        model, losses = _born(ways, V).to(device), []
        optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
        generator, windows = torch.Generator().manual_seed(8), ids.unfold(0, SIZES["T"], 1)
        for _ in range(steps):
            loss = model(windows[torch.randint(len(windows), (32,), generator=generator)].to(device))[1]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    optimizer.zero_grad()
    return model, losses


def suspects(ids, V, device="cpu", steps=150):
    """Four small GPTs "A" to "D", one bug each, and a "sound" one, trained on ids [N]: {name: (model, losses)}."""
    todo = tqdm(_SUSPECTS.items(), desc="five small models")
    return {letter: _raised(ways, rate, ids, V, device, steps) for letter, (ways, rate) in todo}


def ward(name, ids, V, device="cpu", steps=150):
    """Eight patients "E" to "L", one for each of FINDINGS, in an order that depends on your name.

    Returns {letter: (model, losses)}, and `right(found)`: how many of {letter: finding} are right.
    """
    order = list(FINDINGS)
    random.Random(f"{name}, on the ward").shuffle(order)
    lying = dict(zip("EFGHIJKL", order, strict=True))
    todo = tqdm(lying.items(), desc="your eight patients")
    patients = {}
    for letter, finding in todo:
        ways, rate = _WARD[finding]
        patients[letter] = _raised(ways, rate, ids, V, device, steps)
    chart = {_sealed(name, *one) for one in lying.items()}
    return patients, lambda found: sum(_sealed(name, *one) in chart for one in found.items())


def _sealed(name, letter, finding):
    return hashlib.sha256(f"{name}/{letter}/{finding}".encode()).hexdigest()
