"""`g2g evaluate`: score a parsed file against a gold one."""

import json
from enum import StrEnum
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from graph2graph import scoring
from graph2graph.cli.streams import source
from graph2graph.errors import DataError
from graph2graph.treebank import conllu


class PunctChoice(StrEnum):
    """Which words count."""

    INCLUDE = "include"
    UNICODE = "unicode"
    PTB = "ptb"


def evaluate(
    gold: Path = typer.Argument(
        metavar="GOLD", help="The gold treebank in CoNLL-U, plain or gzip; - for standard input."
    ),
    predicted: Path = typer.Argument(metavar="PRED", help="The parsed file; - for standard input."),
    as_json: bool = typer.Option(False, "--json", help="Print a JSON object, scores in percent."),
    punct: PunctChoice = typer.Option(
        PunctChoice.INCLUDE,
        help="Count punctuation and strip label subtypes (CoNLL 2018), or leave it out by Unicode class (CoNLL-X) or "
        "Penn tag, and compare labels whole.",
    ),
    align: bool = typer.Option(False, "--align", help="Align by characters: words and sentence ends may differ."),
) -> None:
    """Score a parsed file: UAS, LAS and CLAS as the official CoNLL 2018 scorer, UCM and LCM (sentences wholly right).

    Example: g2g evaluate dev.conllu parsed.conllu
    """
    if str(gold) == str(predicted) == "-":
        raise typer.BadParameter("only one of the two files can be standard input")
    compare = scoring.score_aligned if align else scoring.score
    scores = compare(
        conllu.read(source(gold)),
        conllu.read(source(predicted), check="forest"),
        punct=punct.value,
        names=(_name(gold), _name(predicted)),
    )
    if not scores.sentences:
        raise DataError(f"{_name(gold)}: no sentences")
    if scores.several_roots:
        found = f"sentences with several roots: {scores.several_roots}, scored as they are (g2g validate lists them)"
        typer.echo(f"g2g: warning: {_name(predicted)}: {found}", err=True)
    if as_json:
        typer.echo(json.dumps(_as_json(scores), indent=2))
    else:
        Console(width=None if Console().is_terminal else 160).print(_table(scores))


def _name(file: Path) -> str:
    return "<stdin>" if str(file) == "-" else str(file)


def _as_json(scores: scoring.Scores) -> dict[str, float]:
    values = scores.as_dict() | {"words": scores.words, "sentences": scores.sentences}
    found = ("Tokens", "Words", "Sentences", "UPOS", "XPOS", "Lemmas")
    return values | {f"{name.lower()}_f1": scores.metrics[name].f1 for name in found if name in scores.metrics}


def _table(scores: scoring.Scores) -> Table:
    """The scores in one row; with precision, recall and F1 in a row each for aligned files."""
    caption = f"{scores.words:,} words, {scores.sentences:,} sentences"
    if "Words" not in scores.metrics:
        values = scores.as_dict()
        table = Table(*map(str.upper, values), caption=caption)
        table.add_row(*(f"{value:.2f}" for value in values.values()))
    else:
        table = Table("metric", "precision", "recall", "F1", caption=caption)
        for name, metric in scores.metrics.items():
            table.add_row(name, *(f"{value:.2f}" for value in (metric.precision, metric.recall, metric.f1)))
        table.add_section()
        table.add_row("UCM", "", f"{scores.ucm:.2f}", "")
        table.add_row("LCM", "", f"{scores.lcm:.2f}", "")
    for column in table.columns:
        column.justify = "left" if column.header == "metric" else "right"
    return table
