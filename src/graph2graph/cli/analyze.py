"""`g2g analyze`: what systems get wrong, and whether one is better than another."""

import json
from itertools import zip_longest
from pathlib import Path

import typer

from graph2graph.errors import DataError
from graph2graph.treebank import conllu
from graph2graph.treebank.conllu import Sentence


def analyze(
    gold: Path = typer.Argument(metavar="GOLD", help="The gold treebank in CoNLL-U, plain or gzip."),
    systems: list[str] = typer.Argument(
        metavar="SYSTEM…", help="Parsed files, or NAME=FILE; the first is what the others are compared with."
    ),
    output: Path = typer.Option(..., "--output", "-o", metavar="DIR", help="Where to write the report."),
    examples: bool = typer.Option(
        True,
        help="Sentences with the most frequent errors; without them the report can be shown where the treebank cannot.",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print scores and differences as a JSON object."),
) -> None:
    """Compare parsed files: errors by dependency length, distance to root, sentence length, label and projectivity.

    Also the labels most often confused, the most frequent kinds of errors with examples, and tests of significance. DIR gets
    report.html (one page, nothing else needed), report.md, each table as CSV, each figure as SVG and PNG.

    Example: g2g analyze dev.conllu SentTr=sent.conllu G2GTr=g2g.conllu --output analysis
    """
    from graph2graph.analysis.report import compare

    expected = list(conllu.read(gold))
    if not expected:
        raise DataError(f"{gold}: no sentences")
    found: dict[str, list[Sentence]] = {}
    for given in systems:
        name, equals, file = given.partition("=")
        path = Path(file if equals else given)
        name = name if equals else path.name.removesuffix(".gz").removesuffix(".conllu")
        if name in found:
            raise typer.BadParameter(f"two systems are called {name}; give them names: NAME=FILE")
        found[name] = list(conllu.read(path, check="forest"))
        _check(gold, expected, path, found[name])
    report = compare(expected, found, examples=examples)
    report.write(output)
    if as_json:
        values = {name: scores.as_dict("uas", "las", "clas") for name, scores in report.scores.items()}
        differences = {
            name: {"las": one.points, "bootstrap": one.bootstrap, "randomisation": one.randomisation}
            for name, one in report.differences.items()
        }
        typer.echo(json.dumps({"scores": values, "differences": differences}, indent=2, ensure_ascii=False))
    else:
        typer.echo(f"{output / 'report.html'}")


def _check(gold_file: Path, gold: list[Sentence], file: Path, system: list[Sentence]) -> None:
    """The same sentences with the same words, all parsed."""
    for number, (one, other) in enumerate(zip_longest(gold, system), 1):
        if one is None or other is None:
            raise DataError(f"{file}: {len(system)} sentences, {gold_file} has {len(gold)}")
        name = one.sent_id or f"number {number}"
        if one.forms != other.forms:
            raise DataError(f"{file}: sentence {name} has other words than in {gold_file}")
        if not (one.parsed and other.parsed):
            raise DataError(f"{file if one.parsed else gold_file}: sentence {name} has words without a head")
