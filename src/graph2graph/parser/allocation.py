"""Keeping the memory of a process constant while it parses for hours on a CPU.

Batches of ever new sizes make freed memory hard to reuse. glibc is made to keep large blocks, the rest is returned to the
system now and then, and oneDNN caches few kernels, whose memory would otherwise lie scattered among the blocks.
"""

import contextlib
import ctypes
import os

RETAINED = 31 << 20  # bytes: just below the largest block that glibc learns to keep
KERNELS = 16  # that oneDNN caches, one for each size of matrix product


def limit_kernel_cache() -> None:
    """Limit oneDNN's cache, unless the environment does; call this before torch computes anything."""
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(KERNELS))


def retain_blocks() -> None:
    """Make glibc keep large blocks for reuse, which it does once one of that size has been freed."""
    import torch  # here, because the command line calls limit_kernel_cache in every command

    torch.empty(RETAINED, dtype=torch.uint8)


def return_freed() -> None:
    """Return freed memory to the system, where glibc is the allocator."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
