"""`g2g validate`: list all errors in CoNLL-U files."""

from collections.abc import Iterator
from pathlib import Path

import typer

from graph2graph.cli.streams import source
from graph2graph.errors import DataError
from graph2graph.treebank import conllu


def validate(
    files: list[Path] = typer.Argument(
        metavar="FILE", help="CoNLL-U or CoNLL-X files, plain or gzip; - is standard input."
    ),
) -> None:
    """Check files for malformed lines and trees. Print each problem with its file, line and sent_id, and exit 1 if any.

    Example: g2g validate train.conllu dev.conllu
    """
    n_problems = 0
    for file in files:
        for problem in _problems(file):
            typer.echo(problem)
            n_problems += 1
    if n_problems > 1:
        typer.echo(f"{n_problems} problems", err=True)
    if n_problems:
        raise typer.Exit(1)


def _problems(file: Path) -> Iterator[str]:
    """The problems of a file, one a line. A file that cannot be read is a problem too, so that the others are checked."""
    try:
        yield from map(str, conllu.problems(source(file)))
    except DataError as error:
        yield str(error)
