"""The memory of a process that parses for hours on a CPU: freed blocks are used again, and what is left over is given back."""

import contextlib
import ctypes
import os

import torch

RETAINED = 31 << 20  # bytes, just under the most that glibc learns from

# What oneDNN remembers of each size of product it has seen would lie scattered in memory and keep freed blocks from being one.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "16")


def retain_blocks() -> None:
    """Free one large block: from then on glibc keeps blocks of that size instead of asking for untouched memory again."""
    torch.empty(RETAINED, dtype=torch.uint8)


def return_freed() -> None:
    """Give freed memory back to the system, where that is known how: batches of ever new sizes leave gaps in it."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
