"""`g2g compress`: store a model in 8 bits per weight."""

from pathlib import Path

import typer

from graph2graph import __version__
from graph2graph.errors import DataError
from graph2graph.files import errors_naming, write_bytes
from graph2graph.parser import catalogue, checksums

EXTRAS = "README.md", "text.udpipe", "language.json"  # what a model may have beside the files that every model has
NOTE = (
    "\nThe weights were then stored in 8 bits, by `g2g compress` of graph2graph {}; the scores are from before that.\n"
)


def compress(
    model: str = typer.Argument(
        metavar="MODEL", help="A shipped or downloaded model, or the directory of a trained one."
    ),
    output: Path = typer.Option(..., "--output", "-o", metavar="DIR", help="Directory of the small model, a new one."),
) -> None:
    """Store a model in 8 bits per weight: half the size of half precision, and almost the same trees.

    The small model is used like any other. Its text model and its card go with it.

    Example: g2g compress en -o en-small && g2g parse --model en-small --text "The dog barks."
    """
    source = catalogue.find(model)
    with errors_naming(output):
        if output.exists() and (not output.is_dir() or any(output.iterdir())):
            raise DataError(f"{output}: already there; name a new directory")
    from graph2graph.parser import model_directory
    from graph2graph.parser.compression import read_stored
    from graph2graph.parser.parser import Parser

    if read_stored(source / model_directory.WEIGHTS).precision == "int8":
        raise DataError(f"{source}: already stored in 8 bits; once more would only lose accuracy")
    parser = Parser.load(source, precision="fp32")
    model_directory.write_compressed(output, parser.model)
    with errors_naming(source):
        for name in EXTRAS:
            if (file := source / name).is_file():
                note = NOTE.format(__version__).encode() if name == "README.md" else b""
                write_bytes(output / name, file.read_bytes() + note)
    parser.save_settings(output)
    checksums.write(output)
