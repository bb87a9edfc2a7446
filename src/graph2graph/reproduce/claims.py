"""The paper's claims, tested with our own results.

A claim has one or more comparisons of two rows. Each compares how many words of each sentence of dev and test the rows have
right. Runs are paired by seed, and a sentence's differences are added up over the seeds, since several seeds are not
independent evidence about a sentence. A comparison holds if the row that should be better is significantly better, and does
not hold if the other one is. Otherwise it is undecided.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from graph2graph.analysis import significance
from graph2graph.analysis.significance import LEVEL, Counts
from graph2graph.analysis.tables import Table
from graph2graph.config import FrozenModel
from graph2graph.files import read_toml
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.plans import Plans, titles
from graph2graph.reproduce.results import SPLITS, row_results, words_right
from graph2graph.reproduce.rows import ProfileName

Results = Mapping[int, dict[str, Any]]  # of a row, by seed


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
    return [{"claim": claim.text} | _outcome(one, plans, paths) for one, claim in chosen]


def _outcome(comparison: Comparison, plans: Mapping[str, Plans], paths: Paths) -> dict[str, Any]:
    places = [place.split("/", 1) for place in (comparison.better, comparison.worse)]
    better, worse = (plans[table].rows[row] for table, row in places)
    results = [row_results(plans[table], paths, row) for table, row in places]
    return {
        "better": comparison.better,
        "worse": comparison.worse,
        "titles": list(titles(better, worse)),
        "table": plans[places[0][0]].table.title,
    } | _test(*results)


def _test(better: Results, worse: Results) -> dict[str, Any]:
    """The differences and p-values of two rows, over the seeds that both have."""
    seeds = sorted(better.keys() & worse.keys())
    if not seeds:
        return {"verdict": "not run", "seeds": []}
    ahead: dict[str, Counts] = {
        split: np.sum([words_right(better[seed], split) - words_right(worse[seed], split) for seed in seeds], axis=0)
        for split in SPLITS
    }
    n_words = {split: better[seeds[0]][split]["words"] * len(seeds) for split in SPLITS}
    ahead["both"], n_words["both"] = np.concatenate(list(ahead.values())), sum(n_words.values())
    tested = {
        split: {
            "las": round(100 * float(counts.sum()) / n_words[split], 3),
            "bootstrap": significance.bootstrap(counts),
            "randomisation": round(significance.randomisation(counts), 4),
        }
        for split, counts in ahead.items()
    }
    by_seed = {
        str(seed): [round(better[seed][split]["las"] - worse[seed][split]["las"], 2) for split in SPLITS]
        for seed in seeds
    }
    verdict_of_both = verdict(tested["both"]["las"], tested["both"]["randomisation"])
    return {"verdict": verdict_of_both, "seeds": seeds, **tested, "las_by_seed": by_seed}


def verdict(points: float, p_value: float) -> str:
    """The verdict on a difference in LAS.

    >>> verdict(0.8, 0.01), verdict(-0.8, 0.01), verdict(0.2, 0.3)
    ('holds', 'does not hold', 'undecided')
    """
    if p_value >= LEVEL:
        return "undecided"
    return "holds" if points > 0 else "does not hold"


COLUMNS = (
    "better in the paper",
    "than",
    "LAS dev",
    "LAS test",
    "p dev",
    "p test",
    "p both",
    "bootstrap",
    "seeds",
    "here",
)
LEGEND = (
    "LAS: the difference in points. p: approximate randomisation over sentences, two-sided. The verdict is that of dev and "
    f"test together (`both`); with p = {LEVEL} or more a difference is not significant. Bootstrap: the share of draws of "
    "sentences from dev and test in which the first row is not better. Differences are summed over the seeds that both rows "
    "have, so these numbers do not show how much a score varies from seed to seed. Made by `g2g reproduce claims`."
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
        return [*names, *["–"] * 7, row["verdict"]]
    differences = [f"{row[split]['las']:+.2f}" for split in SPLITS]
    p_values = [f"{row[split]['randomisation']:.4f}" for split in (*SPLITS, "both")]
    seeds = ", ".join(map(str, row["seeds"]))
    return [*names, *differences, *p_values, f"{row['both']['bootstrap']:.4f}", seeds, row["verdict"]]
