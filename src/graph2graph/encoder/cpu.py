"""The CPU of this machine: its name and its instructions."""

import platform
from functools import cache
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
INTEGER_PRODUCTS = {"avx512_vnni", "avx_vnni", "amx_int8"}  # of 8 bits, added up in 32


@cache
def name() -> str:
    """The model, as the system calls it."""
    return _lines().get("model name") or platform.processor() or platform.machine() or "unknown CPU"


@cache
def flags() -> frozenset[str]:
    """The instruction sets of an x86 CPU on Linux; empty elsewhere."""
    return frozenset(_lines().get("flags", "").split())


def multiplies_integers() -> bool:
    """Whether products of 8-bit integers are added up in 32 bits, so that they cannot overflow."""
    return bool(flags() & INTEGER_PRODUCTS)


def _lines() -> dict[str, str]:
    """The description of the first core."""
    try:
        first = CPUINFO.read_text(errors="replace").partition("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}
