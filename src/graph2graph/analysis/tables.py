"""Tables that compare systems, as Markdown, CSV and HTML: among them, Table 3 and Appendix Tables 10 to 15 of the paper."""

import csv
import html
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph2graph import markdown, scoring
from graph2graph.analysis.error_analysis import Bin, ErrorCounts, rer
from graph2graph.analysis.significance import LEVEL, Difference, described

N_PATTERNS, N_CONFUSIONS = 20, 20
Bins = Mapping[str, Mapping[str, Bin]]  # of each system


@dataclass(frozen=True)
class Table:
    """Rows of cells under a header, with a title and a note."""

    name: str  # of the table's files
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def markdown(self) -> str:
        """The table as Markdown, with its title."""
        note = f"{self.note}\n\n" if self.note else ""
        return f"## {self.title}\n\n{note}{markdown.table(self.header, self.rows)}"

    def csv(self) -> str:
        """The cells as CSV."""
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows([self.header, *self.rows])
        return stream.getvalue()

    def html(self) -> str:
        """The table as HTML, without its title."""
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in self.header)
        cells = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in self.rows]
        rows = "".join(f"<tr>{row}</tr>\n" for row in cells)
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table>{note}"


def scores_table(scores: Mapping[str, scoring.Scores]) -> Table:
    """UAS, LAS, CLAS, UCM and LCM of each system."""
    rows = [[name, *(f"{value:.2f}" for value in found.as_dict().values())] for name, found in scores.items()]
    return Table("scores", "Scores", ["system", "UAS", "LAS", "CLAS", "UCM", "LCM"], rows)


def significance_table(first: str, differences: Mapping[str, Difference]) -> Table:
    """Each other system against the first, with both tests."""
    rows = [
        [name, f"{found.points:+.2f}", f"{found.bootstrap:.4f}", described(found.randomisation)]
        for name, found in differences.items()
    ]
    note = (
        "Bootstrap: the share of draws in which the system is not better than the first (one-sided). "
        f"Randomisation: the share of random exchanges of trees that differ as much (two-sided); significant below {LEVEL}."
    )
    header = ["system", f"LAS minus that of {first}", "paired bootstrap", "approximate randomisation"]
    return Table("significance", f"Against {first}", header, rows, note)


def bins_table(name: str, title: str, systems: Bins, *, unit: str = "labelled F") -> Table:
    """The scores of each system in each bin, then the number of arcs in it; with LAS, only the number of words.

    Appendix Tables 10 and 11 by dependency length, 12 and 13 by distance to root, 14 by sentence length.
    """
    first = next(iter(systems.values()))
    rows = [[system, *(_shown(one) for one in bins.values())] for system, bins in systems.items()]
    if unit != "LAS":
        rows += [[f"{system}: arcs", *(str(one.system) for one in bins.values())] for system, bins in systems.items()]
    rows.append([f"gold: {'words' if unit == 'LAS' else 'arcs'}", *(str(one.gold) for one in first.values())])
    return Table(name, title, [unit, *first], rows)


def labels_table(systems: Bins) -> Table:
    """Labelled F by label, with the relative error reduction against the first system: Table 3 and Appendix Table 15."""
    first, *others = systems
    rows = []
    for label in sorted({label for table in systems.values() for label in table}):
        bins = [table.get(label, Bin()) for table in systems.values()]
        cells = [f"{bins[0].f:.2f}"]
        for one in bins[1:]:
            reduction = rer(one.f, bins[0].f)
            cells.append(f"{one.f:.2f}" + ("" if reduction is None else f" ({reduction:+.1f} %)"))
        rows.append([label, *cells, str(bins[0].gold)])
    note = f"In brackets, the relative error reduction against {first}: (F - F of {first}) / (100 - F of {first})."
    note = f"Table 3 and Appendix Table 15 of the paper. {note if others else ''}".strip()
    return Table("dependency_type", "Labelled F by dependency type", ["label", *systems, "gold arcs"], rows, note)


def confusion_table(name: str, errors: ErrorCounts) -> Table:
    """The labels most often confused, among words whose head is right."""
    pairs = [(pair, n) for pair, n in errors.confusion.most_common() if pair[0] != pair[1]][:N_CONFUSIONS]
    totals = {label: sum(n for (gold, _), n in errors.confusion.items() if gold == label) for (label, _), _ in pairs}
    rows = [[g, s, str(n), f"{100 * n / totals[g]:.1f} %"] for (g, s), n in pairs]
    note = "Among words whose head is right; the share is of all such words with that gold label."
    header = ["gold label", "label", "words", "share"]
    return Table(f"confusion_{_slug(name)}", f"Labels most often confused: {name}", header, rows, note)


def patterns_table(name: str, errors: ErrorCounts, *, examples: bool = True) -> Table:
    """The most frequent kinds of errors, each with an example unless `examples` is false."""
    rows = []
    for pattern, n in errors.patterns.most_common(N_PATTERNS):
        row = [str(n), f"{pattern.gold_label} → {pattern.system_label}", pattern.tag]
        row += [f"{pattern.gold_head} → {pattern.system_head}", pattern.heads]
        if examples:
            row += errors.examples[pattern]
        rows.append(row)
    header = ["words", "label", "word", "head", "system's head", *(["example", "sentence"] if examples else [])]
    return Table(f"patterns_{_slug(name)}", f"The {N_PATTERNS} most frequent errors: {name}", header, rows)


def _shown(one: Bin) -> str:
    return f"{one.f:.2f}" if one.gold or one.system else "–"


def _slug(name: str) -> str:
    """The name with only the characters that every file system allows."""
    return re.sub(r"[^\w.+-]", "_", name)
