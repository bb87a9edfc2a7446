"""`g2g validate`: everything that is wrong with CoNLL-U files."""

from collections.abc import Iterator
from pathlib import Path

import typer

from graph2graph.cli.streams import source
from graph2graph.errors import DataError
from graph2graph.treebank import conllu


def validate(
    files: list[Path] = typer.Argument(help="CoNLL-U or CoNLL-X files, plain or gzip; - for standard input."),
) -> None:
    """Check files for malformed lines and trees; print each problem with file, line and sent_id; exit 1 if any.

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
    """What is wrong with a file, one line each; a file that cannot be read is one problem more, not the end."""
    try:
        yield from map(str, conllu.problems(source(file)))
    except DataError as error:
        yield str(error)
