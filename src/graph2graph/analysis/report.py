"""A report that compares several systems on one gold file: Figure 3 and its tables, significance, frequent errors."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from graph2graph import scoring
from graph2graph.analysis import figures, significance, tables
from graph2graph.analysis.error_analysis import BINS, count_errors
from graph2graph.analysis.tables import Bins, Table
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
TITLES = {
    "dependency_length": "Labelled F by dependency length",
    "distance_to_root": "Labelled F by distance to root",
    "sentence_length": "LAS by sentence length",
    "projectivity": "Projective and non-projective arcs",
}
# The score in each panel; by sentence length, gold and system arcs have the same bins, so F is LAS.
FIGURE_3 = {"dependency_length": "labelled F", "distance_to_root": "labelled F", "sentence_length": "LAS"}


@dataclass(frozen=True)
class Report:
    """The scores of each system, the differences from the first, tables, and figures as SVG and PNG."""

    scores: dict[str, scoring.Scores]
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
    """The report on these systems, with the others against the first; without examples, it quotes no sentence."""
    found = {name: count_errors(gold, trees) for name, trees in systems.items()}
    scores = {name: scoring.score(gold, trees) for name, trees in systems.items()}
    first, *others = systems
    differences = {name: significance.compare(gold, systems[first], systems[name]) for name in others}
    bins = {table: {name: one.bins[table] for name, one in found.items()} for table in BINS}
    shown = [tables.scores_table(scores)]
    if others:
        shown.append(tables.significance_table(first, differences))
    for table, unit in FIGURE_3.items():
        shown.append(tables.bins_table(table, TITLES[table], bins[table], unit=unit))
    shown.append(tables.labels_table(bins["dependency_type"]))
    shown.append(tables.bins_table("projectivity", TITLES["projectivity"], bins["projectivity"]))
    for name, one in found.items():
        shown += [tables.confusion_table(name, one), tables.patterns_table(name, one, examples=examples)]
    return Report(scores, differences, shown, figure_3(bins))


def figure_3(bins: Mapping[str, Bins]) -> dict[str, dict[str, bytes]]:
    """The panels of Figure 3, with a line for each system; bins without gold arcs have no point."""
    panels = {}
    for table, unit in FIGURE_3.items():
        values = {name: [one.f if one.gold else None for one in found.values()] for name, found in bins[table].items()}
        first = next(iter(bins[table].values()))
        panels[table] = figures.lines(TITLES[table], unit, list(first), values, [one.gold for one in first.values()])
    return panels
