"""`g2g evaluate`: score parsed files against gold treebanks."""

from pathlib import Path
from statistics import mean

import typer
from rich.markup import escape
from rich.table import Column, Table

from graph2graph import scoring
from graph2graph.cli.printing import print_json, print_table, report
from graph2graph.cli.streams import name_of, source
from graph2graph.errors import DataError
from graph2graph.treebank import conllu

COUNTS = ("words", "sentences")  # the values that are no scores


def evaluate(
    files: list[Path] = typer.Argument(
        metavar="GOLD PRED",
        help="A gold treebank in CoNLL-U and its parsed file, or several such pairs; plain or gzip, - is standard input.",
    ),
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
    """Score parsed files against gold treebanks.

    UAS, LAS and CLAS are those of the official CoNLL 2018 scorer; UCM and LCM are the shares of sentences without an error.
    Of several pairs, the macro average is printed too: the mean of their scores, whatever their sizes.

    Example: g2g evaluate dev.conllu parsed.conllu
    """
    if len(files) % 2:
        raise typer.BadParameter(f"expected pairs of a gold and a parsed file; {files[-1]} has no partner")
    if [str(file) for file in files].count("-") > 1:
        raise typer.BadParameter("only one of the files can be standard input")
    pairs = list(zip(files[::2], files[1::2], strict=True))
    found = [_score(gold, predicted, punct=punct, align=align) for gold, predicted in pairs]
    if len(pairs) == 1:
        if as_json:
            print_json(_as_json(found[0]))
        else:
            print_table(_table(found[0]))
        return
    rows = [_as_json(scores) for scores in found]
    macro = {name: mean(row[name] for row in rows) for name in rows[0] if name not in COUNTS}
    if as_json:
        named = [
            {"gold": str(gold), "predicted": str(file)} | row for (gold, file), row in zip(pairs, rows, strict=True)
        ]
        print_json({"macro": macro, "pairs": named})
    else:
        print_table(_table_of_pairs([str(predicted) for _, predicted in pairs], rows, macro))


def _score(gold: Path, predicted: Path, *, punct: scoring.Punct, align: bool) -> scoring.Scores:
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
    return scores


def _as_json(scores: scoring.Scores) -> dict[str, float]:
    values = scores.as_dict() | {"words": scores.words, "sentences": scores.sentences}
    aligned = ("Tokens", "Words", "Sentences", "UPOS", "XPOS", "Lemmas")
    return values | {f"{name.lower()}_f1": scores.metrics[name].f1 for name in aligned if name in scores.metrics}


def _table_of_pairs(names: list[str], rows: list[dict[str, float]], macro: dict[str, float]) -> Table:
    """The scores of each pair in a row, and their means in the last."""
    table = Table("", *(Column(name.replace("_", " ").upper(), justify="right") for name in rows[0]))
    for name, row in zip(names, rows, strict=True):
        table.add_row(escape(name), *(f"{row[key]:,}" if key in COUNTS else f"{row[key]:.2f}" for key in row))
    table.add_section()
    table.add_row("macro average", *("" if key in COUNTS else f"{macro[key]:.2f}" for key in rows[0]))
    return table


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
