"""A table of the paper with our figures beside it, as Markdown, and a picture of what each row gains."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from statistics import mean
from typing import Any, NamedTuple

from graph2graph.analysis import figures
from graph2graph.analysis.error_analysis import rer
from graph2graph.analysis.tables import Table
from graph2graph.reproduce.places import Places
from graph2graph.reproduce.plans import Figures, Plans, Row, titles
from graph2graph.reproduce.results import SPLITS, results

NBSP = "\u00a0"  # in cells, which else break where it hurts
PUNCTUATION = {
    "include": "Punctuation counts and subtypes of labels do not, as in the CoNLL 2018 scorer, which the paper used here.",
    "unicode": "Punctuation is left out by its Unicode class, as in the CoNLL-X scorer (eval.pl), which the paper used here.",
    "ptb": "Punctuation is left out by its Penn tag.",
}
RER = (
    "RER: relative error reduction in LAS on dev, (LAS − LAS of the other) / (100 − LAS of the other), ours over the seeds "
    "that both rows have."
)


@dataclass(frozen=True)
class Line:
    """A row: the paper's figures, and ours, each the mean over its seeds."""

    name: str
    row: Row
    against: str | None  # in the profile that was run
    results: Mapping[int, dict[str, Any]] = field(repr=False)

    def ours(self, split: str, seeds: Collection[int] | None = None) -> Figures:
        """Our scores, of these seeds or of all there are, if there are any."""
        chosen = [one[split] for seed, one in self.results.items() if seeds is None or seed in seeds]
        return Figures(**{key: mean(one[key] for one in chosen) for key in ("uas", "las")}) if chosen else Figures()

    def theirs(self, split: str) -> Figures:
        """The published scores."""
        published: Figures = getattr(self.row.published, split)
        return published


def lines_of(plans: Plans, places: Places) -> dict[str, Line]:
    """All rows of a table."""
    return {
        name: Line(name, row, plans.against(name), results(plans, places, name)) for name, row in plans.rows.items()
    }


def reduction(line: Line, lines: Mapping[str, Line], *, ours: bool) -> float | None:
    """Relative error reduction in LAS on the development set, as the paper has it in its text; ours over the seeds of both."""
    other = lines.get((line.against if ours else line.row.against) or "")
    if other is None:
        return None
    seeds = line.results.keys() & other.results.keys()
    score, reference = (one.ours("dev", seeds).las if ours else one.theirs("dev").las for one in (line, other))
    return None if score is None or reference is None else rer(score, reference)


def page(plans: Plans, places: Places) -> str:
    """The whole page."""
    table, profile, lines = plans.table, plans.profile, lines_of(plans, places)
    command = f"g2g reproduce {plans.name} --profile {plans.profile_name}"
    command += "" if plans.minutes is None else f" --minutes {plans.minutes:g}"
    parts = [f"# {table.title}", f"{table.source} of the paper. {table.about}".strip(), profile.about]
    parts.append(
        f"{PUNCTUATION[table.scorers[0]]} Cells are UAS / LAS. Made by `{command}`; the result of each run, with settings "
        f"and command, is in `experiments/results/{plans.name}/{plans.label}/`."
    )
    if any(line.against for line in lines.values()):
        parts.append(RER)
    sections: dict[str, list[Line]] = {}
    for line in lines.values():
        sections.setdefault(line.row.section, []).append(line)
    treebanks = [_treebanks(plans)] + [{}] * (len(sections) - 1)  # said once
    parts += [
        _section(title, some, lines, plans, known)
        for (title, some), known in zip(sections.items(), treebanks, strict=True)
    ]
    if gains(lines):
        file = places.page(plans.name, plans.label, ".svg").name
        parts += ["## Relative error reductions", f"![Relative error reductions, ours beside the paper's]({file})"]
    parts += _orderings(lines)
    if _several_seeds(lines):
        parts.append(_seeds(lines))
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


class Gain(NamedTuple):
    """What a row gains on the one it is compared with: relative error reductions in LAS on dev."""

    row: Row
    other: Row
    ours: float
    theirs: float


def gains(lines: Mapping[str, Line]) -> list[Gain]:
    """Those that both we and the paper have."""
    found = []
    for line in lines.values():
        ours, theirs = (reduction(line, lines, ours=whose) for whose in (True, False))
        if line.against and ours is not None and theirs is not None:
            found.append(Gain(line.row, lines[line.against].row, ours, theirs))
    return found


def picture(plans: Plans, places: Places) -> str | None:
    """The gains, ours beside the paper's, as SVG; nothing where there are none yet."""
    found = gains(lines_of(plans, places))
    if not found:
        return None
    names = [
        one.row.title if one.row.title == one.other.title else f"{one.row.title}\nagainst {one.other.title}"
        for one in found
    ]
    unit = "relative error reduction in LAS on dev, %\n(beyond ±10 the scale is logarithmic)"
    series = {"here": [one.ours for one in found], "paper": [one.theirs for one in found]}
    return figures.pairs(unit, names, series)["svg"].decode()


def _section(
    title: str, some: Sequence[Line], lines: Mapping[str, Line], plans: Plans, treebanks: Mapping[str, str]
) -> str:
    columns = {"": [line.row.title for line in some]}
    for split in SPLITS:
        columns[f"{split}, here"] = [_figures(line.ours(split)) for line in some]
        columns[f"{split}, paper"] = [_figures(line.theirs(split)) for line in some]
    note = ""
    others = [_other(line, lines) for line in some]
    if any(others):
        if len(set(others)) == 1:
            note = f"The other is {others[0]}."
        else:
            columns["against"] = others
        for whose in ("here", "paper"):
            columns[f"RER {whose}"] = [_percent(reduction(line, lines, ours=whose == "here")) for line in some]
    if not _several_seeds(lines):
        columns["core min / epochs"] = [_length(line) for line in some]
    if treebanks:
        columns["treebank"] = [treebanks.get(line.name, "") for line in some]
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    if plans.table.average:
        rows.append(_average(some, _in_all_sections(lines), len(columns)))
    telling = [n == 0 or any(row[n] not in ("", "–") for row in rows) for n in range(len(columns))]
    header, *rows = (list(compress(row, telling)) for row in (columns, *rows))
    return Table(plans.name, title or "Scores", header, rows, note).markdown()


def _other(line: Line, lines: Mapping[str, Line]) -> str:
    """What a row is compared with: its title or, where that is the same, its section."""
    if not line.against:
        return ""
    other = lines[line.against].row
    return other.section if other.title == line.row.title else other.title


def _several_seeds(lines: Mapping[str, Line]) -> bool:
    return any(len(line.results) > 1 for line in lines.values())


def _seeds(lines: Mapping[str, Line]) -> str:
    """Each run; a row that is shown again, as that of another table, once."""
    once: dict[str, Line] = {}
    for line in lines.values():
        once.setdefault(line.row.same_as or line.name, line)
    rows = []
    for line in once.values():
        found = line.results.items()
        cell = ", ".join(f"{seed}:{NBSP}{one['dev']['las']:.2f}{NBSP}({one['epochs']:.1f})" for seed, one in found)
        rows.append([line.row.title, cell, _minutes(line)])
    note = "How many epochs fit into the minutes depends on the machine, which the seeds of a row need not share."
    return Table("seeds", "Each seed", ["", "seed: LAS on dev (epochs)", "core min"], rows, note).markdown()


def _minutes(line: Line) -> str:
    found = line.results.values()
    return f"{mean(one['seconds'] * one['threads'] / 60 for one in found):.0f}" if found else ""


def _length(line: Line) -> str:
    found = line.results.values()
    return f"{_minutes(line)} / {mean(one['epochs'] for one in found):.1f}" if found else ""


def _treebanks(plans: Plans) -> dict[str, str]:
    """What each row was trained on, and how that differs from the paper; nothing, where all have the same."""
    names = {run.row: run.treebank for run in plans.runs()}
    if len(set(names.values())) == 1:
        return {}
    known = plans.table.treebanks if plans.profile_name == "cpu" else {}
    notes = {name: known[name].note for name in names.values() if name in known}
    return {row: f"{name}: {notes[name]}" if notes.get(name) else name for row, name in names.items()}


def _in_all_sections(lines: Mapping[str, Line]) -> set[str]:
    """The titles whose rows have been run in every section, so that averages compare; the paper's rows only."""
    run: dict[str, set[str]] = {line.row.section: set() for line in lines.values()}
    for line in lines.values():
        if line.results and line.row.only is None:
            run[line.row.section].add(line.row.title)
    return set.intersection(*run.values())


def _average(some: Sequence[Line], wanted: Collection[str], width: int) -> list[str]:
    """Over the rows with the wanted titles, ours and the paper's."""
    run = [line for line in some if line.row.title in wanted]
    cells = [f"average of the {len(run)} that all models have" if run else "average"]
    for split in SPLITS:
        for whose in ([line.ours(split) for line in run], [line.theirs(split) for line in run]):
            values = [[getattr(one, key) for one in whose] for key in ("uas", "las")]
            known = [mean(some) if some and None not in some else None for some in values]
            cells.append(_figures(Figures(uas=known[0], las=known[1])))
    return cells + [""] * (width - len(cells))


def _orderings(lines: Mapping[str, Line]) -> list[str]:
    """Where the order of two rows is not the paper's."""
    found = []
    for gain in gains(lines):
        if gain.ours * gain.theirs < 0:
            row, other = titles(gain.row, gain.other)
            found.append(f"- {row} against {other}: RER {gain.ours:+.1f} % here, {gain.theirs:+.1f} % in the paper")
    return ["## Where the order differs from the paper's", "\n".join(found)] if found else []


def _figures(figures: Figures) -> str:
    if figures.uas is None and figures.las is None:
        return "–"
    return f"{NBSP}/{NBSP}".join("–" if value is None else f"{value:.2f}" for value in (figures.uas, figures.las))


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:+.1f}{NBSP}%"
