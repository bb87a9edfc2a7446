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
    assert (row["verdict"], row["seeds"]) == ("holds", [1, 2])
    assert row["both"]["las"] == pytest.approx(5.0)  # ten points with one seed, none with the other
    p_value = significance.randomisation(np.ones(120, dtype=np.int64))
    assert row["both"]["randomisation"] == pytest.approx(p_value, abs=1e-4)
    write_result(clone, "graph", 1, {"dev": [0] * 60, "test": [0] * 60})
    assert compared(clone)["verdict"] == "does not hold"
    write_result(clone, "graph", 1, {"dev": [0] * 60, "test": [0] * 60}, valid=False)
    row = compared(clone)
    assert (row["verdict"], row["seeds"]) == ("undecided", [2])


@pytest.mark.parametrize("profile", ["cpu", "paper"])
@pytest.mark.slow
def test_all_claims_of_the_repository_are_about_rows_that_exist(profile: Any) -> None:
    rows = comparisons(read_claims(ROOT / "experiments"), Paths.find(start=ROOT), profile)
    verdicts = {row["verdict"] for row in rows}
    assert verdicts == ({"not run"} if profile == "paper" else {"holds", "does not hold", "undecided"})
