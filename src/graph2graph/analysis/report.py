"""A report that compares several systems on one gold file: Figure 3 and its tables, significance, frequent errors."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from graph2graph import scoring
from graph2graph.analysis import figures, significance
from graph2graph.analysis.error_analysis import Bin, ErrorCounts, count_errors
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
from graph2graph.files import write_bytes, write_text
from graph2graph.treebank.sentence import Sentence

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; display: block; overflow-x: auto; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
th { border-bottom: 2px solid #888; }
svg { max-width: 100%; height: auto; background: #fff; }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818; } th, td { border-color: #444; } }
"""


LENGTH_TITLE, DISTANCE_TITLE = "Labelled F by dependency length", "Labelled F by distance to root"


@dataclass(frozen=True)
class Report:
    """Scores, tables, and figures by name, each as SVG and PNG."""

    scores: dict[str, scoring.Scores]
    errors: dict[str, ErrorCounts]
    differences: dict[str, significance.Difference]
    tables: list[Table]
    figures: dict[str, dict[str, bytes]]

    def write(self, directory: Path) -> None:
        """Write each table as CSV, each figure as SVG and PNG, and everything as report.html and report.md."""
        for table in self.tables:
            write_text(directory / f"{table.name}.csv", table.csv())
        for name, kinds in self.figures.items():
            for kind, content in kinds.items():
                write_bytes(directory / f"{name}.{kind}", content)
        write_text(directory / "report.md", self.markdown())
        write_text(directory / "report.html", self.html())

    def markdown(self) -> str:
        """All tables, each followed by its figure if it has one."""
        parts = ["# Error analysis\n"]
        for table in self.tables:
            parts.append(table.markdown())
            if table.name in self.figures:
                parts.append(f"![{table.title}]({table.name}.svg)\n")
        return "\n".join(parts)

    def html(self) -> str:
        """The report as one page that needs no other file."""
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
    """The report on these systems; the first is the reference for the others.

    Without examples the report quotes no sentence of the treebank.
    """
    found = {name: count_errors(gold, trees) for name, trees in systems.items()}
    scores = {name: scoring.score(gold, trees) for name, trees in systems.items()}
    first, *others = systems
    differences = {name: significance.compare(gold, systems[first], systems[name]) for name in others}
    tables = [scores_table(scores), *([significance_table(first, differences)] if others else [])]
    tables += _bin_tables(found)
    for name, one in found.items():
        tables += [confusion_table(name, one), patterns_table(name, one, examples=examples)]
    return Report(scores, found, differences, tables, figure_3(found))


def figure_3(found: Mapping[str, ErrorCounts]) -> dict[str, dict[str, bytes]]:
    """The three panels of Figure 3: scores by dependency length, by distance to root and by sentence length."""
    by_length = {name: one.by_length for name, one in found.items()}
    by_distance = {name: one.by_distance for name, one in found.items()}
    by_sentence = {name: one.by_sentence_length for name, one in found.items()}
    return {
        "dependency_length": _figure(LENGTH_TITLE, "labelled F", by_length, "f"),
        "distance_to_root": _figure(DISTANCE_TITLE, "labelled F", by_distance, "f"),
        "sentence_length": _figure("LAS by sentence length", "LAS", by_sentence, "recall"),
    }


def _bin_tables(found: Mapping[str, ErrorCounts]) -> list[Table]:
    """Appendix Tables 10 to 15, and a table of projective and non-projective arcs, which the paper does not have."""
    projectivity = {name: one.by_projectivity for name, one in found.items()}
    return [
        bins_table("dependency_length", LENGTH_TITLE, {name: one.by_length for name, one in found.items()}),
        bins_table("distance_to_root", DISTANCE_TITLE, {name: one.by_distance for name, one in found.items()}),
        sentences_table({name: one.by_sentence_length for name, one in found.items()}),
        labels_table({name: one.by_label for name, one in found.items()}),
        bins_table("projectivity", "Projective and non-projective arcs", projectivity),
    ]


def _figure(title: str, unit: str, systems: Mapping[str, Mapping[str, Bin]], value: str) -> dict[str, bytes]:
    """One panel: an attribute of each bin that has gold arcs."""
    bins = list(next(iter(systems.values())))
    values = {
        name: [getattr(table[b], value) if table[b].gold else None for b in bins] for name, table in systems.items()
    }
    sizes = [next(iter(systems.values()))[b].gold for b in bins]
    return figures.lines(title, unit, bins, values, sizes)
