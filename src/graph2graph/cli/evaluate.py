"""`g2g evaluate`: score a parsed file against a gold treebank."""

from pathlib import Path

import typer
from rich.table import Column, Table

from graph2graph import scoring
from graph2graph.cli.printing import print_json, print_table, report
from graph2graph.cli.streams import name_of, source
from graph2graph.errors import DataError
from graph2graph.treebank import conllu


def evaluate(
    gold: Path = typer.Argument(
        metavar="GOLD", help="The gold treebank in CoNLL-U, plain or gzip; - is standard input."
    ),
    predicted: Path = typer.Argument(metavar="PRED", help="The parsed file; - is standard input."),
    as_json: bool = typer.Option(False, "--json", help="Print a JSON object, scores in percent."),
    punct: scoring.Punct = typer.Option(
        "include",
        help="include: score punctuation, and ignore label subtypes (CoNLL 2018). unicode, ptb: leave out punctuation, by "
        "Unicode class (CoNLL-X) or by Penn tag, and compare whole labels.",
    ),
    align: bool = typer.Option(
        False, "--align", help="Align words by characters, for files whose words and sentences differ."
    ),
) -> None:
    """Score a parsed file against a gold treebank.

    UAS, LAS and CLAS are those of the official CoNLL 2018 scorer; UCM and LCM are the shares of sentences without an error.

    Example: g2g evaluate dev.conllu parsed.conllu
    """
    if str(gold) == str(predicted) == "-":
        raise typer.BadParameter("only one of the two files can be standard input")
    compare = scoring.score_aligned if align else scoring.score
    scores = compare(
        conllu.read(source(gold)),
        conllu.read(source(predicted), check="forest"),
        punct=punct,
        names=(name_of(gold), name_of(predicted)),
    )
    if not scores.sentences:
        raise DataError(f"{name_of(gold)}: no sentences")
    if scores.several_roots:
        found = f"sentences with several roots: {scores.several_roots}, scored as they are (g2g validate lists them)"
        report(f"warning: {name_of(predicted)}: {found}")
    if as_json:
        print_json(_as_json(scores))
    else:
        print_table(_table(scores))


def _as_json(scores: scoring.Scores) -> dict[str, float]:
    values = scores.as_dict() | {"words": scores.words, "sentences": scores.sentences}
    aligned = ("Tokens", "Words", "Sentences", "UPOS", "XPOS", "Lemmas")
    return values | {f"{name.lower()}_f1": scores.metrics[name].f1 for name in aligned if name in scores.metrics}


def _table(scores: scoring.Scores) -> Table:
    """All scores in one row; for aligned files, one row of precision, recall and F1 for each."""
    caption = f"{scores.words:,} words, {scores.sentences:,} sentences"
    if "Words" not in scores.metrics:
        values = scores.as_dict()
        table = Table(*(Column(name.upper(), justify="right") for name in values), caption=caption)
        table.add_row(*(f"{value:.2f}" for value in values.values()))
        return table
    table = Table("metric", *(Column(name, justify="right") for name in ("precision", "recall", "F1")), caption=caption)
    for name, metric in scores.metrics.items():
        table.add_row(name, *(f"{value:.2f}" for value in (metric.precision, metric.recall, metric.f1)))
    table.add_section()
    table.add_row("UCM", "", f"{scores.ucm:.2f}", "")
    table.add_row("LCM", "", f"{scores.lcm:.2f}", "")
    return table
