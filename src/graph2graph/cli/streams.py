"""What the commands share: `-` for standard input and output."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from graph2graph.errors import DataError


def source(file: Path) -> Path | IO[bytes]:
    """The file to read, or standard input for `-`."""
    return sys.stdin.buffer if str(file) == "-" else file


@contextmanager
def output(file: Path) -> Iterator[IO[bytes]]:
    """The file to write, or standard output for `-`.

    What is written goes to a file beside it, which takes its name when all is there: so the input may be overwritten. If it
    never comes to that, what there is stays under the other name.
    """
    if str(file) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    part = file.with_name(f"{file.name}.part")
    try:
        with part.open("wb") as stream:
            yield stream
        os.replace(part, file)
    except OSError as error:
        raise DataError(f"{file}: {error.strerror or error}") from error
