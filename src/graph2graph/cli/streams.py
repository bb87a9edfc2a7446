"""Files on the command line: `-` is standard input or output, `-o/--output` a path, `-f/--format` a format."""

import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Annotated, Any

import typer
from typer.core import TyperCommand

from graph2graph import files
from graph2graph.cli.printing import report_error
from graph2graph.errors import DataError
from graph2graph.treebank import drawing
from graph2graph.treebank.sentence import Sentence

OutputFile = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="File to write; - is standard output.")
]
FORMATS = ("conllu", "json", "tree", "svg", "text")
STANDARD = Path("-")  # standard input or output
MAX_IN_PICTURE = 500  # sentences
TERMINATED = 143  # the exit code of a process that SIGTERM ended


class FormatCommand(TyperCommand):
    """A command whose `--output` used to name a format and is now a path.

    `--output tree` is refused, because it would silently write a file instead of drawing a tree on the screen. `-o tree` and
    `--output ./tree` write files.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, unless `--output` is given the name of a format."""
        if (name := _format_after_output(args)) is not None:
            report_error(
                f"--output is a path now; write `-f {name}` for the format, or `-o {name}` for a file of that name"
            )
            raise typer.Exit(2)
        return super().parse_args(ctx, args)


def _format_after_output(args: Sequence[str]) -> str | None:
    """The format that follows `--output`, if one does; arguments after `--` are file names."""
    options = args[: args.index("--")] if "--" in args else args
    for option, value in zip(options, [*options[1:], ""], strict=True):
        given = value if option == "--output" else option.removeprefix("--output=")
        if option.startswith("--output") and given in FORMATS:
            return given
    return None


def source(file: Path) -> Path | IO[bytes]:
    """The file to read, or standard input for `-`."""
    return sys.stdin.buffer if str(file) == "-" else file


def name_of(file: Path) -> str:
    """The name of a file in messages."""
    return "<stdin>" if str(file) == "-" else str(file)


@contextmanager
def output(file: Path) -> Iterator[IO[bytes]]:
    """Open a file to write, or standard output for `-`.

    The file is replaced once everything is written, so it may be the input. If the command fails or is stopped, what it had
    written by then is kept in FILE.part.
    """
    if str(file) in ("-", "/dev/stdout"):
        with files.errors_naming("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
    else:
        with _cleaning_up_when_terminated(), files.writing(file, keep_partial=True) as stream:
            yield stream


@contextmanager
def _cleaning_up_when_terminated() -> Iterator[None]:
    """Let SIGTERM end the block as an exception does."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def write_drawings(sentences: Iterable[Sentence], stream: IO[bytes]) -> None:
    """Write the trees in box characters, with blank lines between them."""
    for index, sentence in enumerate(sentences):
        stream.write(b"\n" * bool(index) + f"{drawing.text(sentence)}\n".encode())


def write_picture(sentences: Iterable[Sentence], stream: IO[bytes]) -> None:
    """Write one SVG picture with all trees, one below the other; without a tree, nothing."""
    drawn = list(islice(sentences, MAX_IN_PICTURE + 1))
    if len(drawn) > MAX_IN_PICTURE:
        raise DataError(
            f"a picture has up to {MAX_IN_PICTURE} sentences; g2g draw FILE -f svg --output-dir DIR makes one of each"
        )
    if drawn:
        stream.write(drawing.svg(*drawn).encode())
