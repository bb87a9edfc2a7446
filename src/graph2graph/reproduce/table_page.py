"""The page of a table: our figures beside the paper's as Markdown, and a picture of the relative error reductions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from statistics import mean
from typing import Any, NamedTuple

from graph2graph.analysis import figures
from graph2graph.analysis.error_analysis import rer
from graph2graph.analysis.tables import Table
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.plans import Plans, titles
from graph2graph.reproduce.results import SPLITS, row_results
from graph2graph.reproduce.rows import Figures, TableRow

NBSP = "\u00a0"  # keeps the figures of a cell on one line
PUNCTUATION = {
    "include": "Punctuation counts and subtypes of labels do not, as in the CoNLL 2018 scorer, which the paper used here.",
    "unicode": "Punctuation is left out by its Unicode class, as in the CoNLL-X scorer (eval.pl), which the paper used here.",
    "ptb": "Punctuation is left out by its Penn tag.",
}
RER = (
    "RER: relative error reduction in LAS on dev, (LAS − LAS of the other row) / (100 − LAS of the other row); ours uses the "
    "seeds that both rows have."
)


@dataclass(frozen=True)
class Line:
    """A row with its results."""

    name: str
    row: TableRow
    against: str | None  # in the profile that was run
    results: Mapping[int, dict[str, Any]]  # by seed

    def ours(self, split: str, seeds: Collection[int] | None = None) -> Figures:
        """The mean of our scores over these seeds, by default over all; empty if there are none."""
        chosen = [result[split] for seed, result in self.results.items() if seeds is None or seed in seeds]
        return _mean([Figures(uas=scores["uas"], las=scores["las"]) for scores in chosen])

    def theirs(self, split: str) -> Figures:
        """The published scores."""
        return self.row.published.dev if split == "dev" else self.row.published.test


class Gain(NamedTuple):
    """The relative error reduction of a row against another, in LAS on dev."""

    row: TableRow
    other: TableRow
    ours: float
    theirs: float


def lines_of(plans: Plans, paths: Paths) -> dict[str, Line]:
    """The rows of a table with their results."""
    return {
        name: Line(name, row, plans.against(name), row_results(plans, paths, name)) for name, row in plans.rows.items()
    }


def reduction(line: Line, lines: Mapping[str, Line], *, ours: bool) -> float | None:
    """The relative error reduction in LAS on dev, as in the paper's text; ours over the seeds that both rows have."""
    other = lines.get((line.against if ours else line.row.against) or "")
    if other is None:
        return None
    seeds = line.results.keys() & other.results.keys()
    score, reference = (one.ours("dev", seeds).las if ours else one.theirs("dev").las for one in (line, other))
    return None if score is None or reference is None else rer(score, reference)


def gains(lines: Mapping[str, Line]) -> list[Gain]:
    """The reductions that both we and the paper have."""
    found = []
    for line in lines.values():
        ours, theirs = (reduction(line, lines, ours=whose) for whose in (True, False))
        if line.against and ours is not None and theirs is not None:
            found.append(Gain(line.row, lines[line.against].row, ours, theirs))
    return found


def page(plans: Plans, paths: Paths) -> str:
    """The whole page."""
    lines = lines_of(plans, paths)
    parts, treebanks = _introduction(plans, lines), _treebanks(plans)
    sections: dict[str, list[Line]] = {}
    for line in lines.values():
        sections.setdefault(line.row.section, []).append(line)
    parts += [_section(title, section, lines, plans, treebanks) for title, section in sections.items()]
    if gains(lines):
        file = paths.page(plans.name, plans.label, ".svg").name
        parts += ["## Relative error reductions", f"![Relative error reductions, ours beside the paper's]({file})"]
    parts += _reversed_orders(lines)
    if _has_several_seeds(lines):
        parts.append(_seeds(lines))
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def picture(plans: Plans, paths: Paths) -> str | None:
    """The relative error reductions, ours beside the paper's, as SVG; None if there are none yet."""
    found = gains(lines_of(plans, paths))
    if not found:
        return None
    names = [
        gain.row.title if gain.row.title == gain.other.title else f"{gain.row.title}\nagainst {gain.other.title}"
        for gain in found
    ]
    unit = "relative error reduction in LAS on dev, %\n(beyond ±10 the scale is logarithmic)"
    series = {"here": [gain.ours for gain in found], "paper": [gain.theirs for gain in found]}
    return figures.pairs(unit, names, series)["svg"].decode()


def _introduction(plans: Plans, lines: Mapping[str, Line]) -> list[str]:
    table = plans.table
    command = f"g2g reproduce {plans.name} --profile {plans.profile_name}"
    command += "" if plans.minutes is None else f" --minutes {plans.minutes:g}"
    made = (
        f"{PUNCTUATION[table.scorers[0]]} Cells are UAS / LAS. Made by `{command}`; the result of each run, with settings "
        f"and command, is in `experiments/results/{plans.name}/{plans.label}/`."
    )
    source = f"{table.source} of the paper. {table.about}"
    has_comparisons = any(line.against for line in lines.values())
    return [f"# {table.title}", source, plans.profile.about, made, RER if has_comparisons else ""]


def _section(
    title: str, section: Sequence[Line], lines: Mapping[str, Line], plans: Plans, treebanks: Mapping[str, str]
) -> str:
    """A section of the table, without the columns that would be empty."""
    others = [_other(line, lines) for line in section]
    has_one_other = len(set(others)) == 1
    columns = {"": [line.row.title for line in section]}
    for split in SPLITS:
        columns[f"{split}, here"] = [_figures(line.ours(split)) for line in section]
        columns[f"{split}, paper"] = [_figures(line.theirs(split)) for line in section]
    if not has_one_other:
        columns["against"] = others
    for whose in ("here", "paper"):
        columns[f"RER {whose}"] = [_percent(reduction(line, lines, ours=whose == "here")) for line in section]
    if not _has_several_seeds(lines):
        columns["core min / epochs"] = [_length(line) for line in section]
    columns["treebank"] = [treebanks.get(line.name, "") for line in section]
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    if plans.table.average:
        rows.append(_average(section, _in_all_sections(lines), len(columns)))
    is_filled = [n == 0 or any(row[n] not in ("", "–") for row in rows) for n in range(len(columns))]
    header, *rows = (list(compress(row, is_filled)) for row in (columns, *rows))
    note = f"The other row is that of {others[0]}." if has_one_other and others[0] else ""
    return Table(plans.name, title or "Scores", header, rows, note).markdown()


def _other(line: Line, lines: Mapping[str, Line]) -> str:
    """The row that a row is compared with: its title or, if both have the same, its section."""
    if not line.against:
        return ""
    other = lines[line.against].row
    return other.section if other.title == line.row.title else other.title


def _has_several_seeds(lines: Mapping[str, Line]) -> bool:
    return any(len(line.results) > 1 for line in lines.values())


def _seeds(lines: Mapping[str, Line]) -> str:
    """The LAS of each run; runs that several rows show are listed once."""
    once: dict[str, Line] = {}
    for line in lines.values():
        once.setdefault(line.row.same_as or line.name, line)
    rows = []
    for line in once.values():
        cell = ", ".join(
            f"{seed}:{NBSP}{result['dev']['las']:.2f}{NBSP}({result['epochs']:.1f})"
            for seed, result in line.results.items()
        )
        rows.append([line.row.title, cell, _minutes(line)])
    note = "Seeds may have run on machines of different speed, so that more or fewer epochs fitted into the time."
    return Table("seeds", "Each seed", ["", "seed: LAS on dev (epochs)", "core min"], rows, note).markdown()


def _minutes(line: Line) -> str:
    results = line.results.values()
    return f"{mean(result['seconds'] * result['threads'] / 60 for result in results):.0f}" if results else ""


def _length(line: Line) -> str:
    results = line.results.values()
    return f"{_minutes(line)} / {mean(result['epochs'] for result in results):.1f}" if results else ""


def _treebanks(plans: Plans) -> dict[str, str]:
    """The treebank of each row of the first section, and how it differs from the paper's; empty if all rows have the same."""
    names = {run.row: run.treebank for run in plans.runs()}
    if len(set(names.values())) == 1:
        return {}
    first = next(iter(plans.rows.values())).section
    facts = plans.table.treebanks if plans.profile_name == "cpu" else {}
    notes = {name: f": {treebank.note}" for name, treebank in facts.items() if treebank.note}
    return {row: name + notes.get(name, "") for row, name in names.items() if plans.rows[row].section == first}


def _in_all_sections(lines: Mapping[str, Line]) -> set[str]:
    """The titles of the paper's rows that were run in every section, so that averages are comparable."""
    was_run: dict[str, set[str]] = {line.row.section: set() for line in lines.values()}
    for line in lines.values():
        if line.results and line.row.only is None:
            was_run[line.row.section].add(line.row.title)
    return set.intersection(*was_run.values())


def _average(section: Sequence[Line], wanted: Collection[str], width: int) -> list[str]:
    """A row of averages over the rows with the wanted titles, ours and the paper's."""
    chosen = [line for line in section if line.row.title in wanted]
    cells = [f"average of the {len(chosen)} that all models have" if chosen else "average"]
    for split in SPLITS:
        cells.append(_figures(_mean([line.ours(split) for line in chosen])))
        cells.append(_figures(_mean([line.theirs(split) for line in chosen])))
    return cells + [""] * (width - len(cells))


def _mean(scores: Sequence[Figures]) -> Figures:
    """The means of scores; empty where a score is missing."""
    means = {}
    for key in ("uas", "las"):
        values = [getattr(one, key) for one in scores]
        means[key] = mean(values) if values and None not in values else None
    return Figures(**means)


def _reversed_orders(lines: Mapping[str, Line]) -> list[str]:
    """The comparisons whose sign is not the paper's."""
    found = []
    for gain in gains(lines):
        if gain.ours * gain.theirs < 0:
            row, other = titles(gain.row, gain.other)
            found.append(f"- {row} against {other}: RER {gain.ours:+.1f} % here, {gain.theirs:+.1f} % in the paper")
    return ["## Where the order differs from the paper's", "\n".join(found)] if found else []


def _figures(scores: Figures) -> str:
    if scores.uas is None and scores.las is None:
        return "–"
    return f"{NBSP}/{NBSP}".join("–" if value is None else f"{value:.2f}" for value in (scores.uas, scores.las))


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:+.1f}{NBSP}%"
