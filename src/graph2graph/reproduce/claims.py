"""The paper's claims, tested with our own results.

A claim has one or more comparisons of two rows. Each compares how many words of each test sentence the rows have right. Runs
are paired by seed, and a sentence's differences are added up over the seeds, since several seeds are not independent evidence
about a sentence. A comparison holds if the row that should be better is better with every seed, and significantly so after a
correction for the number of comparisons. It does not hold if the other row is. Otherwise it is undecided.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graph2graph.analysis import significance
from graph2graph.analysis.significance import LEVEL
from graph2graph.analysis.tables import Table
from graph2graph.config import FrozenModel
from graph2graph.files import read_toml
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.plans import Plans, titles
from graph2graph.reproduce.results import SPLITS, row_results, words_right
from graph2graph.reproduce.rows import ProfileName


class Comparison(FrozenModel):
    """Two rows, each TABLE/ROW."""

    better: str  # according to the paper
    worse: str
    only: ProfileName | None = None


class Claim(FrozenModel):
    """A claim of the paper."""

    text: str
    note: str = ""
    comparisons: list[Comparison]


class Claims(FrozenModel):
    """The content of experiments/claims.toml."""

    about: str = ""
    claims: list[Claim]


def read_claims(experiments: Path) -> Claims:
    """The claims to be tested."""
    path = experiments / "claims.toml"
    return Claims.parse(read_toml(path), str(path))


def comparisons(
    claims: Claims, paths: Paths, profile: ProfileName, *, minutes: float | None = None
) -> list[dict[str, Any]]:
    """All comparisons of a profile with their outcomes."""
    chosen = [(one, claim) for claim in claims.claims for one in claim.comparisons if one.only in (None, profile)]
    tables = {place.split("/")[0] for one, _ in chosen for place in (one.better, one.worse)}
    plans = {name: Plans.read(paths.experiments, name, profile, minutes=minutes) for name in tables}
    rows = [{"claim": claim.text} | _outcome(one, plans, paths) for one, claim in chosen]
    tested = [row for row in rows if row["seeds"]]
    for row, p_value in zip(tested, significance.holm([row["test"]["p"] for row in tested]), strict=True):
        row["p_corrected"] = round(p_value, 4)
        row["verdict"] = verdict([test for _, test in row["las_by_seed"].values()], p_value)
    return rows


def _outcome(comparison: Comparison, plans: Mapping[str, Plans], paths: Paths) -> dict[str, Any]:
    """The differences and p-values of two rows, over the seeds that both have."""
    places = [place.split("/", 1) for place in (comparison.better, comparison.worse)]
    better, worse = (row_results(plans[table], paths, row) for table, row in places)
    seeds = sorted(better.keys() & worse.keys())
    found: dict[str, Any] = {
        "better": comparison.better,
        "worse": comparison.worse,
        "titles": list(titles(*(plans[table].rows[row] for table, row in places))),
        "table": plans[places[0][0]].table.title,
        "verdict": "not run",
        "seeds": seeds,
    }
    for split in SPLITS if seeds else ():
        pairs = [(better[seed], worse[seed]) for seed in seeds]
        ahead = np.sum([words_right(ours, split) - words_right(theirs, split) for ours, theirs in pairs], axis=0)
        points = 100 * float(ahead.sum()) / (better[seeds[0]][split]["words"] * len(seeds))
        found[split] = {"las": round(points, 3), "p": round(significance.randomisation(ahead), 4)}
    found["las_by_seed"] = {
        str(seed): [round(better[seed][split]["las"] - worse[seed][split]["las"], 2) for split in SPLITS]
        for seed in seeds
    }
    return found


def verdict(by_seed: Sequence[float], p_value: float) -> str:
    """The verdict on differences in LAS, one for each seed.

    >>> verdict([0.8, 0.1], 0.01), verdict([-0.8], 0.01), verdict([0.9, -0.1], 0.01), verdict([0.2], 0.3)
    ('holds', 'does not hold', 'undecided', 'undecided')
    """
    if p_value < LEVEL and min(by_seed) > 0:
        return "holds"
    return "does not hold" if p_value < LEVEL and max(by_seed) < 0 else "undecided"


COLUMNS = ("better in the paper", "than", "dev", "test", "test, by seed", "p", "p corrected", "here")
LEGEND = (
    "Differences in LAS, over the seeds that both rows have. p: approximate randomisation over the sentences of test, "
    "two-sided; corrected for the number of comparisons by Holm's method. A verdict needs a corrected p below "
    f"{LEVEL} and the same sign with every seed. Made by `g2g reproduce claims`."
)


def claims_page(claims: Claims, rows: list[dict[str, Any]]) -> str:
    """The tested claims as Markdown."""
    tables = (
        Table("claims", claim.text, COLUMNS, [_cells(row) for row in rows if row["claim"] == claim.text], claim.note)
        for claim in claims.claims
    )
    parts = ["# The paper's claims", claims.about, *(table.markdown() for table in tables), LEGEND]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def _cells(row: dict[str, Any]) -> list[str]:
    better, worse = row["titles"]
    names = [f"{better} ({row['table']})", worse]
    if not row["seeds"]:
        return [*names, *["–"] * 5, row["verdict"]]
    differences = [f"{row[split]['las']:+.2f}" for split in SPLITS]
    by_seed = ", ".join(f"{seed}: {test:+.2f}" for seed, (_, test) in row["las_by_seed"].items())
    return [*names, *differences, by_seed, f"{row['test']['p']:.4f}", f"{row['p_corrected']:.4f}", row["verdict"]]
