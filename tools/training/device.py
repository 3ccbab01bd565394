"""Finds the machine's best device, the number format to compute in, and the peak speed."""

from __future__ import annotations

import functools
import math
import time

import torch


def best_device() -> str:
    """Return the best device: "cuda" for an NVIDIA or AMD GPU, "mps" for Apple's, else "cpu"."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def default_precision(device: str) -> str:
    """Return the default number format of matrix products.

    It is bfloat16 on GPUs that support it; float16 on older ones, with a scaled loss; float32 on CPUs, many of which
    are slower in 16 bits, and on MPS, where nothing else has been tried.
    """
    if device != "cuda":
        return "float32"
    return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float16"


def synchronize(device: str) -> None:
    """Wait until the GPU has finished. It runs asynchronously, so timings need this."""
    if device == "cuda":
        torch.cuda.synchronize()
    elif device == "mps":
        torch.mps.synchronize()


@functools.cache
def peak_flops(device: str, precision: str) -> float:
    """Measure the FLOP per second of one large matrix product. Utilisation is a share of it.

    It is measured because a data sheet (nanoGPT uses the A100's) covers neither every processor nor its other load.
    """
    n = 8_192 if device == "cuda" else 1_024
    one = torch.randn(n, n, device=device, dtype=getattr(torch, precision))
    fastest, until = math.inf, time.perf_counter() + 0.5
    for turn in range(1_000):
        started = time.perf_counter()
        one @ one
        synchronize(device)
        if turn:  # the first is a warm-up
            fastest = min(fastest, time.perf_counter() - started)
        if turn and time.perf_counter() > until:
            break
    return 2 * n**3 / fastest
