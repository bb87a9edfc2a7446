"""Claims, from made-up results and from the committed ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import ROOT
from graph2graph.analysis import significance
from graph2graph.reproduce.claims import comparisons, read_claims
from graph2graph.reproduce.paths import Paths
from toy_table import write_result


def compared(clone: Path) -> dict[str, Any]:
    paths = Paths.find()
    [row] = comparisons(read_claims(paths.experiments), paths, "cpu")
    return row


def test_differences_of_a_sentence_are_added_up_over_seeds(clone: Path) -> None:
    rng = np.random.default_rng(1)
    for seed, gain in ((1, 1), (2, 0)):
        low = {split: rng.integers(5, 9, 60).tolist() for split in ("dev", "test")}
        write_result(clone, "sent", seed, low)
        write_result(clone, "graph", seed, {split: [n + gain for n in some] for split, some in low.items()})
    row = compared(clone)
    assert (row["verdict"], row["seeds"]) == ("undecided", [1, 2])  # significant, but not better with seed 2
    assert row["test"]["las"] == pytest.approx(5.0)  # ten points with one seed, none with the other
    assert row["test"]["p"] == pytest.approx(significance.randomisation(np.ones(60, dtype=np.int64)), abs=1e-4)


def test_a_verdict_needs_the_same_sign_with_every_seed(clone: Path) -> None:
    low = {split: [5] * 60 for split in ("dev", "test")}
    for seed, gain in ((1, 2), (2, 1)):
        write_result(clone, "sent", seed, low)
        write_result(clone, "graph", seed, {split: [n + gain for n in some] for split, some in low.items()})
    assert compared(clone)["verdict"] == "holds"
    write_result(clone, "graph", 2, {split: [n - 1 for n in some] for split, some in low.items()})
    assert compared(clone)["verdict"] == "undecided"
    write_result(clone, "graph", 1, {split: [n - 2 for n in some] for split, some in low.items()})
    assert compared(clone)["verdict"] == "does not hold"
    write_result(clone, "graph", 1, low, valid=False)
    assert compared(clone)["seeds"] == [2]


@pytest.mark.parametrize("profile", ["cpu", "paper"])
@pytest.mark.slow
def test_all_claims_of_the_repository_are_about_rows_that_exist(profile: Any) -> None:
    rows = comparisons(read_claims(ROOT / "experiments"), Paths.find(start=ROOT), profile)
    verdicts = {row["verdict"] for row in rows}
    assert verdicts == ({"not run"} if profile == "paper" else {"holds", "does not hold", "undecided"})
