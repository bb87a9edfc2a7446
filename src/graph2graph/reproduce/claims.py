"""What the paper claims, put to the test with our own results.

A claim is one or several comparisons of two rows. Each is tested over the sentences of dev and test by the words that both
have right, seeds in pairs, and the seeds of a sentence added up, since they are no independent evidence about sentences.
It holds if the row that should be better is, and exchanging the two at random gives so great a difference in fewer than 5 %
of the cases; it does not hold if the other one is better by that measure; all else is undecided.
"""

from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from graph2graph.analysis import significance
from graph2graph.analysis.significance import Counts
from graph2graph.analysis.tables import Table
from graph2graph.reproduce.places import Places
from graph2graph.reproduce.plans import Plans, ProfileName, read_toml, titles
from graph2graph.reproduce.results import SPLITS, results, right_words

LEVEL = 0.05


class Comparison(BaseModel):
    """Two rows, TABLE/ROW each: the first should be the better one."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    better: str
    worse: str
    only: ProfileName | None = None


class Claim(BaseModel):
    """Something the paper says."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    text: str
    note: str = ""
    comparisons: list[Comparison]


class Claims(BaseModel):
    """All of them, in experiments/claims.toml."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    about: str = ""
    claims: list[Claim]


def read(experiments: Path) -> Claims:
    """The claims to be tested."""
    return read_toml(experiments / "claims.toml", Claims)


def comparisons(
    claims: Claims, places: Places, profile: ProfileName, *, minutes: float | None = None
) -> list[dict[str, Any]]:
    """All comparisons with what came out of them."""
    plans: dict[str, Plans] = {}
    found = []
    for claim in claims.claims:
        for comparison in claim.comparisons:
            if comparison.only not in (None, profile):
                continue
            sides = []
            for place in (comparison.better, comparison.worse):
                table, name = place.split("/", 1)
                if table not in plans:
                    plans[table] = Plans.read(places.experiments, table, profile, minutes=minutes)
                sides.append((plans[table].rows[name], results(plans[table], places, name)))
            (better, of_better), (worse, of_worse) = sides
            row: dict[str, Any] = {"claim": claim.text, "better": comparison.better, "worse": comparison.worse}
            row |= {
                "titles": list(titles(better, worse)),
                "table": plans[comparison.better.split("/", 1)[0]].table.title,
            }
            found.append(row | _test(of_better, of_worse))
    return found


def _test(better: dict[int, dict[str, Any]], worse: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """One comparison, over the seeds that both have."""
    seeds = sorted(better.keys() & worse.keys())
    if not seeds:
        return {"verdict": "not run", "seeds": []}
    ahead: dict[str, Counts] = {
        split: np.sum([right_words(better[s], split) - right_words(worse[s], split) for s in seeds], axis=0)
        for split in SPLITS
    }
    n_words = {split: better[seeds[0]][split]["words"] * len(seeds) for split in SPLITS}
    ahead["both"], n_words["both"] = np.concatenate([ahead[split] for split in SPLITS]), sum(n_words.values())
    found: dict[str, Any] = {"seeds": seeds}
    for split, counts in ahead.items():
        found[split] = {
            "las": round(100 * float(counts.sum()) / n_words[split], 3),
            "bootstrap": significance.bootstrap(counts),
            "randomisation": round(significance.randomisation(counts), 4),
        }
    found["las_by_seed"] = {
        str(s): [round(better[s][split]["las"] - worse[s][split]["las"], 2) for split in SPLITS] for s in seeds
    }
    return {"verdict": verdict(found["both"]["las"], found["both"]["randomisation"])} | found


def verdict(points: float, p_value: float) -> str:
    """What a difference says.

    >>> verdict(0.8, 0.01), verdict(-0.8, 0.01), verdict(0.2, 0.3)
    ('holds', 'does not hold', 'undecided')
    """
    if p_value >= LEVEL:
        return "undecided"
    return "holds" if points > 0 else "does not hold"


def page(claims: Claims, rows: list[dict[str, Any]]) -> str:
    """The claims table as Markdown."""
    header = [
        "better, says the paper",
        "than",
        "LAS dev",
        "LAS test",
        "p dev",
        "p test",
        "p both",
        "bootstrap",
        "seeds",
        "here",
    ]
    parts = ["# What the paper claims", claims.about]
    for claim in claims.claims:
        cells = [_cells(row) for row in rows if row["claim"] == claim.text]
        parts.append(Table("claims", claim.text, header, cells, claim.note).markdown())
    parts.append(
        "LAS: the difference in points. p: approximate randomisation over sentences, two-sided; `both`, dev and test together, "
        f"decides, at {LEVEL}. Bootstrap: the share of draws of sentences, of both, in which the first is not better. "
        "Seeds are paired, and added up for each sentence; how much a score varies from seed to seed is not in these numbers. "
        "Made by `g2g reproduce claims`."
    )
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def _cells(row: dict[str, Any]) -> list[str]:
    names = [f"{title} ({row['table']})" if number == 0 else title for number, title in enumerate(row["titles"])]
    if not row["seeds"]:
        return [*names, *["–"] * 7, row["verdict"]]
    differences = [f"{row[split]['las']:+.2f}" for split in SPLITS]
    p_values = [f"{row[split]['randomisation']:.4f}" for split in (*SPLITS, "both")]
    seeds = ", ".join(map(str, row["seeds"]))
    return [*names, *differences, *p_values, f"{row['both']['bootstrap']:.4f}", seeds, row["verdict"]]
