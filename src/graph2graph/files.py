"""Files: one writer, one reader of plain or gzip files, and readers of JSON and TOML.

A new file replaces the old one only when it is complete and on disk, so a file can be rewritten while it is being read, and
several processes can write the same file. Links, permissions and owners are kept. Pipes and devices are written directly.

Lines and sentences have a maximum length, so that a broken or hostile file cannot take all memory.
"""

import gzip
import io
import json
import os
import re
import secrets
import stat
import tomllib
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import IO, Any

from graph2graph.errors import DataError, notes_of, one_line

FilePath = str | os.PathLike[str]
Stream = IO[bytes] | IO[str]

GZIP_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error)
_UNDECODED = re.compile("[\udc80-\udcff]")  # what "surrogateescape" decodes invalid bytes to
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr|fd/.*)|/proc/.*")  # open files under another name


class TooLongError(DataError):
    """A line or sentence over its limit; `line` is where it begins."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Limit:
    """A maximum length, which an environment variable can change. Text counts in characters, of which bytes are no fewer."""

    what: str
    variable: str
    default: int

    def value(self) -> int:
        """The length allowed now."""
        given = os.environ.get(self.variable, str(self.default))
        if not re.fullmatch("[1-9][0-9]{0,17}", given):
            raise DataError(f"{self.variable}: expected a number of bytes, found {one_line(given)}")
        return int(given)

    def error(self, line: int) -> TooLongError:
        """The error about something longer that begins at this line."""
        return TooLongError(
            f"{self.what} of more than {self.value():,} bytes; set {self.variable} to read it all the same", line
        )


LINE = Limit("a line", "G2G_MAX_LINE", 1_000_000)
SENTENCE = Limit("a sentence", "G2G_MAX_SENTENCE", 5_000_000)


@contextmanager
def errors_naming(path: object) -> Iterator[None]:
    """Turn system errors into errors that name the file; a broken pipe is left to the caller."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        named = DataError(f"{one_line(str(path))}: {error.strerror or error}")
        for note in notes_of(error):
            named.add_note(note)
        raise named from error


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


def whole_lines(stream: Any) -> Iterator[Any]:
    r"""The lines of a stream of bytes or text, which end at `\n` only; raise `TooLongError` at one over the limit."""
    limit = LINE.value()
    for number in count(1):
        line = stream.readline(limit + 1)
        end = b"\n" if isinstance(line, bytes) else "\n"
        while (
            line and line[-1:] != end and len(line) <= limit
        ):  # at the end, or where a text stream also splits at others
            more = stream.readline(limit + 1 - len(line))
            if not more:
                break
            line += more
        if len(line) > limit:
            raise LINE.error(number)
        if not line:
            return
        yield line


def read_lines(source: FilePath | IO[bytes], name: str, *, limit: int | None = None) -> Iterator[str]:
    """The lines of a UTF-8 file with their line ends; lines of more than `limit` characters are split."""
    with errors_naming(name):
        try:
            with reading(source) as stream:
                text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="\n")
                try:
                    lines = whole_lines(text) if limit is None else iter(lambda: text.readline(limit), "")
                    yield from _checked(lines, name)
                finally:
                    text.detach()  # so that standard input is not closed with it
        except TooLongError as error:
            raise DataError(f"{name}:{error.line}: {error}") from error
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

    If the block fails, the old file stays as it was. With `keep_partial`, what was written so far is kept as `NAME.part`, or
    `NAME.2.part` if there is such a file already; a note of the error says where.
    """
    name = Path(path)
    with errors_naming(name):
        is_special = (name.exists() and not name.is_file()) or _DESCRIPTOR.fullmatch(str(name))
        target = Path(os.path.realpath(name))
        opened = name.open("wb") if is_special else _replacing(target, keep_partial=keep_partial)
        with opened as stream:
            content: AbstractContextManager[Any] = nullcontext(stream)
            if name.suffix.lower() == ".gz":  # without a time stamp, so that equal contents give equal files
                content = gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0)
            with content as given:
                yield given


@contextmanager
def _replacing(target: Path, *, keep_partial: bool) -> Iterator[IO[bytes]]:
    """A temporary file in the target's directory, renamed to the target at the end."""
    temporary = target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.part")  # no file's own name
    old = target.stat() if target.exists() else None
    # A new file has the usual permissions; one that replaces a private file must never be readable by others.
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if old else 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            if old:
                _take_over(handle, old)
            yield stream
            stream.flush()
            os.fsync(handle)
        os.replace(temporary, target)
    except BaseException as error:
        if keep_partial and os.path.getsize(temporary):
            error.add_note(f"what was written by then is in {one_line(str(_kept(temporary, target)))}")
        else:
            with suppress(OSError):
                os.unlink(temporary)
        raise


def _take_over(handle: int, old: os.stat_result) -> None:
    """Give an open file the owner and the permissions of another."""
    with suppress(PermissionError):  # only root can give files away
        os.fchown(handle, old.st_uid, old.st_gid)
    os.fchmod(handle, stat.S_IMODE(old.st_mode))


def _kept(temporary: Path, target: Path) -> Path:
    """Give an unfinished file a lasting name that no other file has; return it."""
    for ending in chain([".part"], (f".{number}.part" for number in count(2))):
        partial = target.with_name(target.name + ending)
        try:
            os.link(temporary, partial)  # fails where a rename would replace
        except FileExistsError:
            continue
        except OSError:  # a file system without links, or a name that would be too long
            break
        os.unlink(temporary)
        return partial
    return temporary


def make_directory(path: Path) -> None:
    """Make a directory and those above it, where there are none."""
    with errors_naming(path):
        path.mkdir(parents=True, exist_ok=True)


def write_bytes(path: FilePath, content: bytes) -> None:
    """Write a file, and its directory if there is none."""
    make_directory(Path(path).parent)
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
