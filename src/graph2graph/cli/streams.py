"""Input files of the commands: `-` is standard input, and text is read line by line."""

import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from graph2graph.errors import DataError
from graph2graph.treebank import conllu

_INVALID = re.compile("[\udc80-\udcff]")  # what the bytes that are not UTF-8 are decoded to


def source(file: Path) -> Path | IO[bytes]:
    """The file to read, or standard input for `-`."""
    return sys.stdin.buffer if str(file) == "-" else file


def lines(given: Path | IO[bytes], name: str, *, limit: int = -1) -> Iterator[str]:
    """The lines of a text file, plain or gzip, with their ends; one longer than the limit comes in parts."""
    try:
        with conllu.opened(given) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="\n")
            try:
                yield from _checked(iter(lambda: text.readline(limit), ""), name)
            finally:
                text.detach()  # or standard input would be closed with it
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{name}: broken gzip data: {error}") from error
    except OSError as error:
        raise DataError(f"{name}: {error.strerror or error}") from error


def _checked(parts: Iterator[str], name: str) -> Iterator[str]:
    number, column = 1, 0
    for part in parts:
        if invalid := _INVALID.search(part):
            raise DataError(f"{name}:{number}: invalid UTF-8 at position {column + invalid.start() + 1}")
        yield part
        number, column = (number + 1, 0) if part.endswith("\n") else (number, column + len(part))
