"""The page of a table: our figures beside the paper's as Markdown, and a picture of the relative error reductions."""

from collections.abc import Collection, Mapping, Sequence
from itertools import compress
from statistics import mean

from graph2graph.analysis import figures
from graph2graph.analysis.tables import Table
from graph2graph.reproduce.lines import Line, gains, lines_of, reduction
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.plans import Plans, titles
from graph2graph.reproduce.results import SPLITS
from graph2graph.reproduce.rows import Figures

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


def page(plans: Plans, paths: Paths) -> str:
    """The whole page."""
    lines = lines_of(plans, paths)
    parts = [*_introduction(plans, lines), *_sections(plans, lines)]
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


def _sections(plans: Plans, lines: Mapping[str, Line]) -> list[str]:
    """The sections of the table; the first names the treebanks."""
    sections: dict[str, list[Line]] = {}
    for line in lines.values():
        sections.setdefault(line.row.section, []).append(line)
    treebanks = [_treebanks(plans)] + [{}] * (len(sections) - 1)
    return [
        _section(title, section, lines, plans, names)
        for (title, section), names in zip(sections.items(), treebanks, strict=True)
    ]


def _section(
    title: str, section: Sequence[Line], lines: Mapping[str, Line], plans: Plans, treebanks: Mapping[str, str]
) -> str:
    columns = {"": [line.row.title for line in section]}
    for split in SPLITS:
        columns[f"{split}, here"] = [_figures(line.ours(split)) for line in section]
        columns[f"{split}, paper"] = [_figures(line.theirs(split)) for line in section]
    comparisons, note = _comparisons(section, lines)
    columns |= comparisons
    if not _has_several_seeds(lines):
        columns["core min / epochs"] = [_length(line) for line in section]
    if treebanks:
        columns["treebank"] = [treebanks.get(line.name, "") for line in section]
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    if plans.table.average:
        rows.append(_average(section, _in_all_sections(lines), len(columns)))
    is_filled = [n == 0 or any(row[n] not in ("", "–") for row in rows) for n in range(len(columns))]
    header, *rows = (list(compress(row, is_filled)) for row in (columns, *rows))
    return Table(plans.name, title or "Scores", header, rows, note).markdown()


def _comparisons(section: Sequence[Line], lines: Mapping[str, Line]) -> tuple[dict[str, list[str]], str]:
    """The columns that compare rows, and a note that names the other row if it is the same for all."""
    others, note, columns = [_other(line, lines) for line in section], "", {}
    if not any(others):
        return {}, ""
    if len(set(others)) == 1:
        note = f"The other row is that of {others[0]}."
    else:
        columns["against"] = others
    for whose in ("here", "paper"):
        columns[f"RER {whose}"] = [_percent(reduction(line, lines, ours=whose == "here")) for line in section]
    return columns, note


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
    """The treebank of each row and how it differs from the paper's; empty if all rows have the same."""
    names = {run.row: run.treebank for run in plans.runs()}
    if len(set(names.values())) == 1:
        return {}
    facts = plans.table.treebanks if plans.profile_name == "cpu" else {}
    notes = {name: facts[name].note for name in names.values() if name in facts}
    return {row: f"{name}: {notes[name]}" if notes.get(name) else name for row, name in names.items()}


def _in_all_sections(lines: Mapping[str, Line]) -> set[str]:
    """The titles of the paper's rows that were run in every section, so that averages compare."""
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
        for scores in ([line.ours(split) for line in chosen], [line.theirs(split) for line in chosen]):
            cells.append(_figures(_mean(scores)))
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
