"""`g2g analyze`: the errors of parsed files, and whether one is better than another."""

from pathlib import Path

import typer

from graph2graph.cli.printing import print_json
from graph2graph.errors import DataError
from graph2graph.scoring.pairing import paired
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence


def analyze(
    gold: Path = typer.Argument(metavar="GOLD", help="The gold treebank in CoNLL-U, plain or gzip."),
    systems: list[str] = typer.Argument(
        metavar="SYSTEM", help="Parsed files, as FILE or NAME=FILE; the others are compared with the first."
    ),
    output: Path = typer.Option(..., "--output", "-o", metavar="DIR", help="Directory of the report."),
    examples: bool = typer.Option(
        True,
        help="Show sentences with the most frequent errors. Without them, the report holds no text of the treebank.",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print scores and differences as a JSON object."),
) -> None:
    """Compare parsed files: errors by dependency length, distance to root, sentence length, label and projectivity.

    The report also has the labels that are confused most often, the most frequent kinds of errors with examples, and tests of
    significance. It is written to DIR as report.html (a single file), report.md, CSV tables, and figures in SVG and PNG.

    Example: g2g analyze dev.conllu SentTr=sent.conllu G2GTr=g2g.conllu -o analysis
    """
    from graph2graph.analysis.report import compare

    expected = list(conllu.read(gold))
    if not expected:
        raise DataError(f"{gold}: no sentences")
    parsed: dict[str, list[Sentence]] = {}
    for system in systems:
        name, equals, file = system.partition("=")
        path = Path(file if equals else system)
        if not equals:
            name = path.name.removesuffix(".gz").removesuffix(".conllu")
        if name in parsed:
            raise typer.BadParameter(f"two systems are called {name}; give them names: NAME=FILE")
        pairs = paired(expected, conllu.read(path, check="forest"), names=(str(gold), str(path)))
        parsed[name] = [sentence for _, sentence in pairs]
    report = compare(expected, parsed, examples=examples)
    report.write(output)
    if not as_json:
        typer.echo(output / "report.html")
        return
    scores = {name: scores.as_dict("uas", "las", "clas") for name, scores in report.scores.items()}
    differences = {
        name: {"las": found.points, "bootstrap": found.bootstrap, "randomisation": found.randomisation}
        for name, found in report.differences.items()
    }
    print_json({"scores": scores, "differences": differences})
