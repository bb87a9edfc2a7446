"""A lock file: one process at a time holds it, and the system releases it when that process ends, even by a kill."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from graph2graph.files import errors_naming

if sys.platform == "win32":
    import msvcrt

    def _acquire(file: IO[Any], *, wait: bool) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _acquire(file: IO[Any], *, wait: bool) -> None:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold a lock file, and yield True; yield False if another process holds it and this one is not to wait."""
    with errors_naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a")
    with file:
        yield _is_acquired(file, wait=wait)


def is_locked(path: Path) -> bool:
    """Whether a process holds a lock file."""
    if not path.exists():
        return False
    with path.open() as file:
        return not _is_acquired(file, wait=False)


def _is_acquired(file: IO[Any], *, wait: bool) -> bool:
    try:
        _acquire(file, wait=wait)
    except (BlockingIOError, PermissionError):  # the latter on Windows
        return False
    return True
