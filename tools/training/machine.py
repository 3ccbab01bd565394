"""What the machine can do: its device, the format it computes best in, and how fast it is at its best."""

from __future__ import annotations

import importlib.util
import math
import time

import torch


def device_here() -> str:
    """The best there is: an NVIDIA or AMD GPU, Apple's, or the processor."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def precision_for(device: str) -> str:
    """In which format matrix products are made, unless somebody says.

    bfloat16 where a GPU computes in it; float16 on older ones, with a scaled loss; float32 on processors, many of which
    are slower in 16 bits, and on MPS, where we could not try anything else.
    """
    if device != "cuda":
        return "float32"
    return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float16"


def compiles(device: str) -> bool:
    """Whether torch.compile helps: on a GPU with Triton. On a processor the minute it takes is seldom won back."""
    return device == "cuda" and importlib.util.find_spec("triton") is not None


def wait_for(device: str) -> None:
    """GPUs work ahead of Python; a clock must wait for them."""
    if device == "cuda":
        torch.cuda.synchronize()
    elif device == "mps":
        torch.mps.synchronize()


def peak_flops(device: str, precision: str, seconds: float = 0.5) -> float:
    """FLOP per second that the device reaches in one large matrix product: what utilisation is a share of.

    Measured, since data sheets (of which nanoGPT takes the A100's) know neither your processor nor its other work.
    """
    n = 8_192 if device == "cuda" else 1_024
    one = torch.randn(n, n, device=device, dtype=getattr(torch, precision))
    fastest, until = math.inf, time.perf_counter() + seconds
    for turn in range(1_000):
        started = time.perf_counter()
        one @ one
        wait_for(device)
        if turn:  # the first is for warming up
            fastest = min(fastest, time.perf_counter() - started)
        if turn and time.perf_counter() > until:
            break
    return 2 * n**3 / fastest
