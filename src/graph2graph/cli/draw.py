"""`g2g draw`: trees as text or as pictures."""

import re
from collections.abc import Iterable
from itertools import chain, islice
from pathlib import Path
from typing import Literal

import typer

from graph2graph import files
from graph2graph.cli.streams import STANDARD, OutputFile, name_of, output, source, write_drawings, write_picture
from graph2graph.errors import DataError
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

DrawingFormat = Literal["text", "svg"]


def draw(
    file: Path = typer.Argument(metavar="FILE", help="A CoNLL-U file, plain or gzip; - is standard input."),
    sent_id: str | None = typer.Option(None, "--sent-id", help="Draw only the sentence with this sent_id."),
    output_format: DrawingFormat = typer.Option(
        "text", "--format", "-f", help="Box characters (text), or a picture (svg)."
    ),
    target: OutputFile = STANDARD,
    directory: Path | None = typer.Option(
        None,
        "--output-dir",
        metavar="DIR",
        help="Draw each sentence to a file of its own in this directory, named after its sent_id.",
    ),
) -> None:
    """Draw the trees of a file: all of them, or the one that --sent-id chooses.

    They are drawn one below the other, as text or as one picture; with --output-dir, each has its own file.

    Example: g2g draw train.conllu --sent-id weblog-1 -f svg -o tree.svg
    """
    if directory is not None and target != STANDARD:
        raise typer.BadParameter("give --output or --output-dir, not both")
    sentences = conllu.read(source(file), check="forest")
    if sent_id is not None:
        sentences = islice((sentence for sentence in sentences if sentence.sent_id == sent_id), 1)
    first = next(sentences, None)
    if first is None:
        raise DataError(f"{name_of(file)}: no sentence{'' if sent_id is None else f' with sent_id {sent_id!r}'}")
    if directory is None:
        with output(target) as stream:
            (write_picture if output_format == "svg" else write_drawings)(chain([first], sentences), stream)
    else:
        _draw_each(chain([first], sentences), directory, output_format)


def _draw_each(sentences: Iterable[Sentence], directory: Path, output_format: DrawingFormat) -> None:
    """Draw each sentence to its own file: DIR/SENT_ID.svg, or its number where it has no sent_id that could be a name."""
    files.make_directory(directory)
    used: set[str] = set()
    for number, sentence in enumerate(sentences, 1):
        name = re.sub(r"[^\w.,+@=-]", "_", sentence.sent_id or "")[:60].lstrip(".") or str(number)
        while name.lower() in used:
            name += f"-{number}"
        used.add(name.lower())
        with output(directory / f"{name}.{'svg' if output_format == 'svg' else 'txt'}") as stream:
            (write_picture if output_format == "svg" else write_drawings)([sentence], stream)
