"""`g2g draw`: trees as text or as a picture."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import typer

from graph2graph.cli.streams import source
from graph2graph.errors import DataError
from graph2graph.treebank import conllu, drawing


class DrawingChoice(StrEnum):
    """What is drawn."""

    TEXT = "text"
    SVG = "svg"


def draw(
    file: Path = typer.Argument(help="A CoNLL-U file, plain or gzip; - for standard input."),
    sent_id: str | None = typer.Option(None, "--sent-id", help="Draw only this sentence."),
    output: DrawingChoice = typer.Option(DrawingChoice.TEXT, help="Box characters, or an SVG picture of one sentence."),
    target: Path = typer.Option(Path("-"), "-o", metavar="FILE", help="Where to write; - for standard output."),
) -> None:
    """Draw the trees of a file: as text all of them, as SVG the first, or in either the one with the sent_id.

    Example: g2g draw train.conllu --sent-id weblog-1 --output svg -o tree.svg
    """
    sentences = _chosen(file, sent_id)
    if output is DrawingChoice.TEXT:
        _write((("\n" if i else "") + drawing.text(sentence) + "\n" for i, sentence in enumerate(sentences)), target)
        return
    first = next(sentences)
    _write(iter([drawing.svg(first)]), target)
    if sent_id is None and next(sentences, None) is not None:
        typer.echo(f"g2g: {file} has more sentences; the first is drawn, choose another with --sent-id", err=True)


def _chosen(file: Path, sent_id: str | None) -> Iterator[conllu.Sentence]:
    """All sentences, or the first one with the sent_id; at least one."""
    found = False
    for sentence in conllu.read(source(file), check="forest"):
        if sent_id is None or sentence.sent_id == sent_id:
            found = True
            yield sentence
            if sent_id is not None:
                return
    if not found:
        name = "<stdin>" if str(file) == "-" else file
        raise DataError(f"{name}: no sentence" + (f" with sent_id {sent_id!r}" if sent_id is not None else ""))


def _write(pieces: Iterator[str], target: Path) -> None:
    """Write piece by piece to standard output, as they come; to a file when all are there."""
    if str(target) == "-":
        for piece in pieces:
            typer.echo(piece.encode(), nl=False)
        return
    content = "".join(pieces)
    try:
        target.write_bytes(content.encode())
    except OSError as error:
        raise DataError(f"{target}: {error.strerror}") from error
