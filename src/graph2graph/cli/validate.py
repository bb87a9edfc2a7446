"""`g2g validate`: everything that is wrong with CoNLL-U files."""

from pathlib import Path

import typer

from graph2graph import conllu
from graph2graph.cli.streams import source


def validate(
    files: list[Path] = typer.Argument(help="CoNLL-U or CoNLL-X files, plain or gzip; - for standard input."),
) -> None:
    """Check files for malformed lines and trees; print each problem with file, line and sent_id; exit 1 if any.

    Example: g2g validate train.conllu dev.conllu
    """
    n_problems = 0
    for file in files:
        for problem in conllu.problems(source(file)):
            typer.echo(str(problem))
            n_problems += 1
    if n_problems:
        typer.echo(f"{n_problems} problem{'s' if n_problems > 1 else ''}", err=True)
        raise typer.Exit(1)
