"""Several systems compared on one gold file: everything that is written to a directory."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from graph2graph import scoring
from graph2graph.analysis import figures, significance
from graph2graph.analysis.error_analysis import Bin, Errors, errors
from graph2graph.analysis.tables import (
    Table,
    bins_table,
    confusion_table,
    labels_table,
    patterns_table,
    scores_table,
    sentences_table,
    significance_table,
)
from graph2graph.errors import DataError
from graph2graph.treebank.conllu import Sentence

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; display: block; overflow-x: auto; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
th { border-bottom: 2px solid #888; }
svg { max-width: 100%; height: auto; background: #fff; }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818; } th, td { border-color: #444; } }
"""


@dataclass(frozen=True)
class Report:
    """The comparison: tables, and figures by their name, as SVG and PNG."""

    scores: dict[str, scoring.Scores]
    errors: dict[str, Errors]
    differences: dict[str, significance.Difference]
    tables: list[Table]
    figures: dict[str, dict[str, bytes]]

    def write(self, directory: Path) -> None:
        """Tables as Markdown and CSV, figures as SVG and PNG, and all of it in report.html and report.md."""
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for table in self.tables:
                (directory / f"{table.name}.csv").write_text(table.csv(), encoding="utf-8")
            for name, kinds in self.figures.items():
                for kind, content in kinds.items():
                    (directory / f"{name}.{kind}").write_bytes(content)
            (directory / "report.md").write_text(self.markdown(), encoding="utf-8")
            (directory / "report.html").write_text(self.html(), encoding="utf-8")
        except OSError as error:
            raise DataError(f"{directory}: {error.strerror}") from error

    def markdown(self) -> str:
        """All tables, with the figures where they belong."""
        parts = ["# Error analysis\n"]
        for table in self.tables:
            parts.append(table.markdown())
            if table.name in self.figures:
                parts.append(f"![{table.title}]({table.name}.svg)\n")
        return "\n".join(parts)

    def html(self) -> str:
        """One page that needs no other file."""
        parts = []
        for table in self.tables:
            parts.append(f"<h2>{html.escape(table.title)}</h2>")
            if table.name in self.figures:
                svg = self.figures[table.name]["svg"].decode()
                parts.append(svg[svg.index("<svg") :])
            parts.append(table.html())
        body = "\n".join(parts)
        return (
            '<!doctype html>\n<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>Error analysis</title><style>{STYLE}</style>\n<h1>Error analysis</h1>\n{body}\n</html>\n"
        )


def compare(gold: Sequence[Sentence], systems: Mapping[str, Sequence[Sentence]], *, examples: bool = True) -> Report:
    """Everything there is to say about these systems; the first is what the others are compared with.

    Without examples the report has no sentence of the treebank in it.
    """
    found = {name: errors(gold, trees) for name, trees in systems.items()}
    scores = {name: scoring.score(gold, trees) for name, trees in systems.items()}
    first, *others = systems
    differences = {name: significance.compare(gold, systems[first], systems[name]) for name in others}
    kinds = {
        "dependency_length": ("Labelled F by dependency length", {name: one.by_length for name, one in found.items()}),
        "distance_to_root": ("Labelled F by distance to root", {name: one.by_distance for name, one in found.items()}),
    }
    by_sentence = {name: one.by_sentence_length for name, one in found.items()}
    tables = [scores_table(scores), *([significance_table(first, differences)] if others else [])]
    tables += [bins_table(name, title, table) for name, (title, table) in kinds.items()]
    tables.append(sentences_table(by_sentence))
    tables.append(labels_table({name: one.by_label for name, one in found.items()}))
    projectivity = {name: one.by_projectivity for name, one in found.items()}
    tables.append(bins_table("projectivity", "Projective and non-projective arcs", projectivity))
    for name, one in found.items():
        tables += [confusion_table(name, one), patterns_table(name, one, examples=examples)]
    pictures = {name: _figure(title, "labelled F", table, "f") for name, (title, table) in kinds.items()}
    pictures["sentence_length"] = _figure("LAS by sentence length", "LAS", by_sentence, "recall")
    return Report(scores, found, differences, tables, pictures)


def _figure(title: str, unit: str, systems: Mapping[str, Mapping[str, Bin]], value: str) -> dict[str, bytes]:
    bins = list(next(iter(systems.values())))
    values = {
        name: [getattr(table[b], value) if table[b].gold else None for b in bins] for name, table in systems.items()
    }
    sizes = [next(iter(systems.values()))[b].gold for b in bins]
    return figures.lines(title, unit, bins, values, sizes)
