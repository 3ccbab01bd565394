"""Finds the machine's best device, the number format to compute in, and the peak speed."""

import functools

import torch
from torch.utils.benchmark import Timer


def best_device() -> str:
    """Return "cuda" for an NVIDIA or AMD GPU, "mps" for Apple's, else "cpu"."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def default_precision(device: str) -> str:
    """Return the number format of matrix products: bfloat16 on a GPU that has it, float16 on others, else float32."""
    if device != "cuda":
        return "float32"
    return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float16"


def synchronize(device: str) -> None:
    """Wait until the GPU has finished, as timings need."""
    if device != "cpu":
        torch.accelerator.synchronize()


@functools.cache
def peak_flops(device: str, precision: str) -> float:
    """Measure the FLOP per second of one large matrix product. Utilisation is a share of it."""
    n = 8_192 if device == "cuda" else 1_024
    one = torch.randn(n, n, device=device, dtype=getattr(torch, precision))
    names = {"one": one, "synchronize": synchronize, "device": device}
    timer = Timer("one @ one; synchronize(device)", globals=names, num_threads=torch.get_num_threads())
    timer.timeit(1)  # a warm-up
    return 2 * n**3 / min(timer.blocked_autorange(min_run_time=0.5).times)
