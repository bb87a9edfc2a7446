"""The machine: its description, its speed, and clocks for the other benchmarks."""

import time
from collections.abc import Callable
from pathlib import Path

import torch


def describe() -> str:
    """The processor, its instructions and the threads in use, for the caption of a table."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    instructions = torch.backends.cpu.get_cpu_capability()
    return f"{names[0] if names else 'unknown CPU'}, {instructions}, {torch.get_num_threads()} threads"


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """How long a call takes."""
    start = clock()
    work()
    return clock() - start


def matmul_gflops(size: int = 2048) -> float:
    """The speed of fp32 matrix products, best of five, with as many threads as torch has."""
    a = torch.randn(size, size)
    return max(2 * size**3 / seconds(lambda: a @ a) / 1e9 for _ in range(5))
