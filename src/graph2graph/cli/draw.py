"""`g2g draw`: trees as text or as a picture."""

from itertools import islice
from pathlib import Path
from typing import Literal

import typer

from graph2graph.cli.printing import report
from graph2graph.cli.streams import OutputFile, name_of, output, source
from graph2graph.errors import DataError
from graph2graph.treebank import conllu, drawing


def draw(
    file: Path = typer.Argument(metavar="FILE", help="A CoNLL-U file, plain or gzip; - is standard input."),
    sent_id: str | None = typer.Option(None, "--sent-id", help="Draw only the sentence with this sent_id."),
    output_format: Literal["text", "svg"] = typer.Option(
        "text", "--format", "-f", help="Box characters (text), or a picture of one sentence (svg)."
    ),
    target: OutputFile = Path("-"),
) -> None:
    """Draw the trees of a file.

    As text, all sentences are drawn; as SVG, the first one. --sent-id chooses another.

    Example: g2g draw train.conllu --sent-id weblog-1 -f svg -o tree.svg
    """
    sentences = conllu.read(source(file), check="forest")
    if sent_id is not None:
        sentences = islice((sentence for sentence in sentences if sentence.sent_id == sent_id), 1)
    first = next(sentences, None)
    if first is None:
        raise DataError(f"{name_of(file)}: no sentence{'' if sent_id is None else f' with sent_id {sent_id!r}'}")
    with output(target) as stream:
        if output_format == "svg":
            stream.write(drawing.svg(first).encode())
        else:
            stream.write(f"{drawing.text(first)}\n".encode())
            for sentence in sentences:
                stream.write(f"\n{drawing.text(sentence)}\n".encode())
    if next(sentences, None) is not None:
        report(f"{file} has more sentences; the first is drawn, choose another with --sent-id")
