"""The lines of a table: the paper's figures for each row beside ours, and the relative error reductions of both."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from statistics import mean
from typing import Any, NamedTuple

from graph2graph.analysis.error_analysis import rer
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.plans import Plans
from graph2graph.reproduce.results import row_results
from graph2graph.reproduce.rows import Figures, TableRow


@dataclass(frozen=True)
class Line:
    """A row with its results."""

    name: str
    row: TableRow
    against: str | None  # in the profile that was run
    results: Mapping[int, dict[str, Any]] = field(repr=False)  # by seed

    def ours(self, split: str, seeds: Collection[int] | None = None) -> Figures:
        """The mean of our scores over these seeds, by default over all; empty if there are none."""
        chosen = [result[split] for seed, result in self.results.items() if seeds is None or seed in seeds]
        return Figures(**{key: mean(scores[key] for scores in chosen) for key in ("uas", "las")} if chosen else {})

    def theirs(self, split: str) -> Figures:
        """The published scores."""
        published: Figures = getattr(self.row.published, split)
        return published


def lines_of(plans: Plans, paths: Paths) -> dict[str, Line]:
    """The lines of a table by row."""
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


class Gain(NamedTuple):
    """The relative error reduction of a row against another, in LAS on dev."""

    row: TableRow
    other: TableRow
    ours: float
    theirs: float


def gains(lines: Mapping[str, Line]) -> list[Gain]:
    """The reductions that both we and the paper have."""
    found = []
    for line in lines.values():
        ours, theirs = (reduction(line, lines, ours=whose) for whose in (True, False))
        if line.against and ours is not None and theirs is not None:
            found.append(Gain(line.row, lines[line.against].row, ours, theirs))
    return found
