"""Input files of the commands: `-` is standard input."""

import sys
from pathlib import Path
from typing import IO


def source(file: Path) -> Path | IO[bytes]:
    """The file to read, or standard input for `-`."""
    return sys.stdin.buffer if str(file) == "-" else file


def name_of(file: Path) -> str:
    """The name of a file in messages."""
    return "<stdin>" if str(file) == "-" else str(file)
