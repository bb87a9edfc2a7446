"""Files: one atomic writer, one reader of plain or gzip files, and readers of JSON and TOML.

A new file replaces the old one only when it is complete and on disk, so a file can be rewritten while it is being read.
Links and permissions are kept. Pipes and devices are written directly.
"""

import gzip
import io
import json
import os
import re
import stat
import tempfile
import tomllib
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any

from graph2graph.errors import DataError, one_line

FilePath = str | os.PathLike[str]
Stream = IO[bytes] | IO[str]

GZIP_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error)
_UNDECODED = re.compile("[\udc80-\udcff]")  # what "surrogateescape" decodes invalid bytes to


@contextmanager
def errors_naming(path: object) -> Iterator[None]:
    """Turn system errors into errors that name the file; a broken pipe is left to the caller."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DataError(f"{one_line(str(path))}: {error.strerror or error}") from error


@contextmanager
def reading(source: FilePath | Stream) -> Iterator[Any]:
    """Open a file or use an open stream, unpacked if it is gzip; text streams are returned as they are."""
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            yield _unpacked(file)
    elif is_text(source):
        yield source
    elif hasattr(source, "peek"):
        yield _unpacked(source)
    else:
        buffered = io.BufferedReader(source)  # type: ignore[type-var]
        try:
            yield _unpacked(buffered)
        finally:
            if not buffered.closed:
                buffered.detach()  # so that the caller's stream is not closed with it


def is_text(stream: Any) -> bool:
    """Whether a stream has text, not bytes; streams of codecs and tempfile do not inherit from `io.TextIOBase`."""
    return hasattr(stream, "encoding")


def _unpacked(stream: Any) -> Any:
    is_gzip = stream.peek(2)[:2] == b"\x1f\x8b"
    return io.BufferedReader(gzip.GzipFile(fileobj=stream)) if is_gzip else stream


def read_lines(source: FilePath | IO[bytes], name: str, *, limit: int = -1) -> Iterator[str]:
    """The lines of a UTF-8 file with their line ends; lines of more than `limit` characters are split."""
    with errors_naming(name):
        try:
            with reading(source) as stream:
                text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="\n")
                try:
                    yield from _checked(iter(lambda: text.readline(limit), ""), name)
                finally:
                    text.detach()  # so that standard input is not closed with it
        except GZIP_ERRORS as error:
            raise DataError(f"{name}: broken gzip data: {error}") from error


def _checked(parts: Iterator[str], name: str) -> Iterator[str]:
    """The same parts of lines; raise an error at the first invalid byte."""
    line, column = 1, 0
    for part in parts:
        if invalid := _UNDECODED.search(part):
            raise DataError(f"{name}:{line}: invalid UTF-8 at position {column + invalid.start() + 1}")
        yield part
        line, column = (line + 1, 0) if part.endswith("\n") else (line, column + len(part))


@contextmanager
def writing(path: FilePath, *, keep_partial: bool = False) -> Iterator[IO[bytes]]:
    """Open a file to be replaced when the block ends without an error; gzip if the name ends in `.gz`.

    If the block fails, the old file stays as it was. With `keep_partial`, what was written so far is kept as `NAME.part`,
    unless that file exists.
    """
    name, target = Path(path), Path(os.path.realpath(path))
    with errors_naming(name):
        is_special = target.exists() and not target.is_file()
        opened = target.open("wb") if is_special else _replacing(target, keep_partial=keep_partial)
        with opened as stream:
            content: AbstractContextManager[Any] = nullcontext(stream)
            if name.suffix == ".gz":  # without a time stamp, so that equal contents give equal files
                content = gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0)
            with content as given:
                yield given


@contextmanager
def _replacing(target: Path, *, keep_partial: bool) -> Iterator[IO[bytes]]:
    """A temporary file in the target's directory, renamed to the target at the end."""
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            os.chmod(temporary, _mode(target))
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        partial = target.with_name(f"{target.name}.part")
        if keep_partial and os.path.getsize(temporary) and not partial.exists():
            os.replace(temporary, partial)
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _mode(target: Path) -> int:
    """The permissions of the file to be replaced, or the default of new files."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def write_bytes(path: FilePath, content: bytes) -> None:
    """Write a file, and its directory if there is none."""
    parent = Path(path).parent
    with errors_naming(parent):
        parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as stream:
        stream.write(content)


def write_text(path: FilePath, text: str) -> None:
    """Write a UTF-8 file, and its directory if there is none."""
    write_bytes(path, text.encode())


def write_json(path: FilePath, value: Any, *, indent: int = 2) -> None:
    """Write a JSON file, and its directory if there is none."""
    write_text(path, json.dumps(value, indent=indent, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """The content of a JSON file."""
    return _parsed(path, json.loads, "JSON")


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file."""
    return dict(_parsed(path, tomllib.loads, "TOML"))


def _parsed(path: Path, parse: Callable[[str], Any], language: str) -> Any:
    with errors_naming(path):
        try:
            return parse(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DataError(f"{path}: not {language}: {error}") from error


def user_cache() -> Path | None:
    """The directory for what can be made or downloaded again: G2G_HOME, or graph2graph in the user's cache, if there is one."""
    if chosen := os.environ.get("G2G_HOME"):
        return Path(chosen).expanduser()
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen) / "graph2graph"
    try:
        return Path.home() / ".cache" / "graph2graph"
    except RuntimeError:
        return None
