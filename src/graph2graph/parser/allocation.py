"""Keeping the memory of a process constant while it parses for hours on a CPU.

Batches of many sizes fragment the memory. So glibc keeps large blocks for reuse, the rest is returned to the system now and
then, and oneDNN caches few kernels, which would lie scattered among the blocks.
"""

import contextlib
import ctypes
import os

RETAINED = 31 << 20  # bytes: just below the largest block that glibc learns to keep
KERNELS = 128  # in oneDNN's cache, one for each size of matrix product


def limit_kernel_cache() -> None:
    """Limit oneDNN's cache, unless the environment sets it; call this before torch computes anything."""
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(KERNELS))


def retain_blocks() -> None:
    """Make glibc keep large blocks for reuse, which it does once one of that size has been freed."""
    import torch  # here, because the command line calls limit_kernel_cache in every command

    torch.empty(RETAINED, dtype=torch.uint8)


def return_freed() -> None:
    """Return freed memory to the system, where glibc is the allocator."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
