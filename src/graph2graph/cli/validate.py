"""`g2g validate`: list all errors in CoNLL-U files."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import typer

from graph2graph.cli.streams import source
from graph2graph.errors import DataError
from graph2graph.treebank import conllu
from graph2graph.treebank.checking import MALFORMED


def validate(
    files: list[Path] = typer.Argument(
        metavar="FILE", help="CoNLL-U or CoNLL-X files, plain or gzip; - is standard input."
    ),
    strict: bool = typer.Option(False, "--strict", help="Also find words with two subjects or two objects."),
) -> None:
    """Check files for malformed lines and trees. Print each problem with its file, line and sent_id, and exit 1 if any.

    Example: g2g validate train.conllu dev.conllu
    """
    counts: Counter[str] = Counter()
    for file in files:
        for kind, problem in _problems(file, strict=strict):
            typer.echo(problem)
            counts[kind] += 1
    n_problems = counts.total()
    if n_problems > 1:
        kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items()) if strict else ""
        typer.echo(f"{n_problems} problems" + (f": {kinds}" if kinds else ""), err=True)
    if n_problems:
        raise typer.Exit(1)


def _problems(file: Path, *, strict: bool) -> Iterator[tuple[str, str]]:
    """The problems of a file, each with its kind. A file that cannot be read is one too, so that the others are checked."""
    try:
        for problem in conllu.problems(source(file), strict=strict):
            yield problem.kind, str(problem)
    except DataError as error:
        yield MALFORMED, str(error)
