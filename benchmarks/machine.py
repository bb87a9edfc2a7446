"""What the machine can do: the yardstick of the other benchmarks."""

import time

import torch


def matmul_gflops(size: int = 2048) -> float:
    """The best of five fp32 products, with as many threads as torch has."""
    a = torch.randn(size, size)
    best = 0.0
    for _ in range(5):
        begin = time.perf_counter()
        a @ a
        best = max(best, 2 * size**3 / (time.perf_counter() - begin) / 1e9)
    return best
